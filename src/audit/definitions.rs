//! Definitions in archives by a selection of names: most names that members define are not stored
//! (`symbol_names`), so that the indices of the archives are read again. Near misses ask.

use super::Audit;
use crate::format::archive::{self, Definition};
use crate::id::{ArchiveId, FileId};
use crate::parallel;
use crate::tree::{Opened, Tree};

impl Audit {
    /// The definitions that `is_wanted` selects, by archive in their order. An archive that changed or
    /// cannot be read has none.
    pub fn definitions_like(
        &self,
        tree: &dyn Tree,
        archives: &[ArchiveId],
        is_wanted: &(dyn Fn(&[u8]) -> bool + Sync),
    ) -> Vec<(FileId, Definition)> {
        let one = |archive: &ArchiveId| {
            let file = self.library.entry(*archive).file;
            let facts = &self.corpus.files[file];
            let handle = match tree.open(&facts.path) {
                Ok(Opened::File(handle)) if handle.stat() == facts.stat => handle,
                _ => return Vec::new(),
            };
            // The audit has reported damage.
            let found = archive::matching(&handle, is_wanted, &mut Vec::new()).unwrap_or_default();
            found.into_iter().map(|definition| (file, definition)).collect()
        };
        parallel::map(archives, one).into_iter().flatten().collect()
    }
}
