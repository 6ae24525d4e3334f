//! `why LIBRARY --under ENTRY`: other files of the library in the same process, and files that the
//! loader would take if LD_LIBRARY_PATH contained their directory.

use super::under::position;
use crate::audit::Audit;
use crate::facts::FileFacts;
use crate::id::{FastSet, FileId, RootId};
use crate::order::Arrange as _;
use crate::resolve::FoundBy;
use crate::rules::stem;
use crate::text::last_part;
use std::os::unix::ffi::OsStrExt as _;

/// Maximum number of files that are listed for one need.
const MOST: usize = 4;

/// Another file of the library in the same process. Its soname is equal, or differs only in the
/// version.
#[derive(Debug)]
pub struct Copy {
    /// The other file.
    pub file: FileId,
    /// The entry point of the process.
    pub root: RootId,
    /// The index of the file in the scope; `None` for a file that is not in the scope.
    pub position: Option<u32>,
    /// How the loader found the file, such as by DT_RUNPATH.
    pub how: FoundBy,
    /// The file whose need loaded it; `None` for a plugin, the loader, or a library that musl
    /// preloads.
    pub needed_by: Option<FileId>,
}

/// Other copies of the libraries in `known`: files that the entry points `under` load and whose
/// soname is the same without its version. The copies are ordered by entry point, then as in the
/// link map.
pub(super) fn copies(audit: &Audit, known: &FastSet<FileId>, under: &[RootId]) -> Vec<Copy> {
    let name = |file: &FileId| stem(audit.corpus.files[*file].library_name());
    let stems: FastSet<&[u8]> = known.iter().map(name).collect();
    let mut out = Vec::new();
    for root in under {
        let closure = &audit.closures.roots[*root];
        for (module, file) in closure.found() {
            let facts = &audit.corpus.files[file];
            let is_library = facts.object().is_some_and(|object| object.soname().is_some());
            if known.contains(&file) || !is_library || !stems.contains(stem(facts.library_name())) {
                continue;
            }
            let of_module = closure.module(module);
            let needed_by = of_module.requester.and_then(|by| closure.module(by).file);
            let position = position(closure, module);
            out.push(Copy { file, root: *root, position, how: of_module.how, needed_by });
        }
    }
    out
}

/// At most [`MOST`] files with the needed `name`, except `found`, the file that satisfies the need
/// of `requester`. The loader would take one of these files if LD_LIBRARY_PATH contained the
/// directory of that file.
pub(super) fn instead(
    audit: &Audit,
    name: &[u8],
    requester: FileId,
    found: Option<FileId>,
) -> Vec<FileId> {
    let has_name = |facts: &FileFacts| {
        let mut names = facts.names.iter().map(|other| &*other.path).chain([&*facts.path]);
        names.any(|path| last_part(path.as_os_str().as_bytes()) == name)
    };
    let target = audit.corpus.files[requester].object().map(|object| object.header.target());
    let is_alike = |facts: &FileFacts| {
        facts.object().is_some_and(|object| {
            object.is_dynamic() && target.is_some_and(|target| target == object.header.target())
        })
    };
    let files = audit.corpus.files.entries();
    let alike =
        files.filter(|(file, facts)| Some(*file) != found && is_alike(facts) && has_name(facts));
    let mut out: Vec<FileId> = alike.map(|(file, _)| file).collect();
    out.arrange_by_key(|file| audit.corpus.files[*file].path.as_os_str());
    out.truncate(MOST);
    out
}
