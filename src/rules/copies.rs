//! Evidence about several files of one process, for the rules about interposed symbols, libraries
//! loaded twice and mixed runtimes. This module makes no findings.

use super::query::Query;
use crate::diagnosis::Site;
use crate::finding::{Evidence, EvidenceKind};
use crate::id::{FileId, ModuleId, RootId};
use crate::resolve::{LOADER, ROOT};
use crate::text::{show, show_path};
use std::borrow::Cow;

/// A file that a process loads, and its module in the closure of one entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LoadedCopy {
    /// The loaded file.
    pub(super) file: FileId,
    /// The entry point of the process, and the module of the file in its closure.
    pub(super) at: (RootId, ModuleId),
}

impl LoadedCopy {
    pub(super) fn site(self) -> Site {
        Site { root: self.at.0, module: self.at.1 }
    }
}

impl Query<'_> {
    /// The DT_SONAME of a file; the file name if it has none.
    pub(super) fn library_name(&self, file: FileId) -> &[u8] {
        self.facts(file).library_name()
    }

    /// [`Self::library_name`] as text.
    pub(super) fn library_text(&self, file: FileId) -> String {
        show(self.library_name(file))
    }

    /// Evidence about one loaded file: its path, and the reason why the process loads it.
    pub(super) fn copy(&self, loaded: LoadedCopy) -> Evidence {
        let (root, module) = loaded.at;
        let closure = self.closure(root);
        let of_module = closure.module(module);
        let needed_by = of_module.requester.and_then(|by| closure.module(by).file);
        let reason = match (module, needed_by) {
            (ROOT, _) => "the program".to_owned(),
            (LOADER, _) => "the loader".to_owned(),
            (_, Some(by)) => {
                let name = show(self.text(of_module.name));
                format!("{name} needed by {}", show_path(self.path(by)))
            }
            (_, None) => String::new(),
        };
        Evidence {
            name: Some(self.library_name(loaded.file).to_vec()),
            how: Some(Cow::Borrowed(of_module.how.name())),
            reason: Some(reason).filter(|reason| !reason.is_empty()),
            ..Evidence::at(EvidenceKind::Copy, self.shared_path(loaded.file))
        }
    }
}
