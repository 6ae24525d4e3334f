//! Files that patchelf cannot change, and changes by which patchelf would damage a file. A change
//! with an obstacle is not verified, even if the loader would accept the result.

use crate::audit::Audit;
use crate::format::elf::patchable::{Patchable, patchable};
use crate::id::{FastMap, FileId};
use crate::tree::Tree;

const NO_SECTIONS: &str =
    "patchelf cannot change the file, because it has no section headers for its dynamic section";

const NO_END: &str = "patchelf cannot change the file, because its dynamic section has no DT_NULL";

const PAYLOAD: &str = "patchelf would append tables behind the data at the end of the file, and the program \
                       may look for this data there";

/// The facts of the files that one `Patcher` looked at; `None` for a file that patchelf cannot
/// change.
#[derive(Default)]
pub(super) struct Obstacles {
    files: FastMap<FileId, Option<Patchable>>,
}

impl Obstacles {
    /// The reason why patchelf cannot make a change of `file`; `None` if it can. `grows` is true if
    /// the change needs more room than the file has.
    pub(super) fn of(
        &mut self,
        (audit, tree): (&Audit, &dyn Tree),
        file: FileId,
        grows: impl FnOnce(Patchable) -> bool,
    ) -> Option<&'static str> {
        let path = &audit.corpus.files[file].path;
        let read = || patchable(&tree.open_regular(path).ok()?);
        match self.files.entry(file).or_insert_with(read) {
            None => Some(NO_SECTIONS),
            Some(facts) if !facts.has_end => Some(NO_END),
            Some(facts) if facts.has_payload && grows(*facts) => Some(PAYLOAD),
            Some(_) => None,
        }
    }
}
