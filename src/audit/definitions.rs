//! Looks up definitions in archives by a predicate on the name of the symbol. Most names that
//! members define are not stored (`symbol_names`), so the indexes of the archives are read again.
//! Rules and the view `archive` use this module to find definitions whose names resemble an
//! undefined name.

use super::Audit;
use crate::format::archive::{self, DefiningMember};
use crate::id::{ArchiveId, FileId};
use crate::parallel;
use crate::tree::{Opened, Tree};
use std::cell::RefCell;

thread_local! {
    /// The bytes of an archive index. Each thread reuses its buffer for all archives.
    static INDEX: RefCell<Vec<u8>> = RefCell::default();
}

impl Audit {
    /// The definitions whose names `is_wanted` accepts, in the order of `archives`. An archive that
    /// has changed, or cannot be read, yields none.
    pub fn definitions_like(
        &self,
        tree: &dyn Tree,
        archives: &[ArchiveId],
        is_wanted: &(dyn Fn(&[u8]) -> bool + Sync),
    ) -> Vec<(FileId, DefiningMember)> {
        let one = |archive: &ArchiveId| {
            let entry = self.library.entry(*archive);
            let file = entry.file;
            let facts = &self.corpus.files[file];
            let handle = match tree.open(&facts.path) {
                Ok(Opened::File(handle)) if handle.stat() == facts.stat => handle,
                _ => return Vec::new(),
            };
            // The audit has already reported defects of this archive.
            let found = INDEX.with_borrow_mut(|memory| {
                archive::matching(&handle, is_wanted, &entry.members, memory).unwrap_or_default()
            });
            found.into_iter().map(|definition| (file, definition)).collect()
        };
        parallel::map(archives, one).into_iter().flatten().collect()
    }
}
