//! Members that no linker takes: one defines strongly what the library, or another new member, defines
//! strongly too. `prove` asks; a fix with such a member is not proven.

use super::solve::{Part, Solution};
use crate::audit::Audit;
use crate::facts::members;
use crate::id::{ArchiveId, FastMap, FileId, MemberId};
use crate::text::{show, show_path};
use crate::tree::Tree;
use std::sync::Arc;

/// What is wrong with the parts of solutions, by library and first member: a sentence's end.
pub(super) type Clashes = FastMap<(FileId, MemberId), String>;

/// Finds them. Only of members that define what the library asks for itself it is certain that a linker
/// takes them; those of `fat` are in the link already.
pub(super) fn clashes(
    audit: &Audit,
    tree: &dyn Tree,
    solutions: &[Arc<Solution>],
    fat: Option<ArchiveId>,
) -> Clashes {
    let library = &audit.library;
    let name = |member: MemberId| {
        let archive = &library.shelf(library.archive_of(member)).path;
        format!("{}({})", show_path(archive), show(library.member_name(member)))
    };
    let mut out = Clashes::default();
    for solution in solutions {
        let firsts = solution.parts().into_iter().map(|Part { first, .. }| *first);
        let taken: Vec<MemberId> =
            firsts.filter(|first| Some(library.archive_of(*first)) != fat).collect();
        let mut defined: FastMap<u64, MemberId> = FastMap::default();
        for first in &taken {
            for hash in library.strong_hashes(*first) {
                let Some(other) = defined.insert(hash, *first).filter(|other| other != first)
                else {
                    continue;
                };
                for (one, other) in [(*first, other), (other, *first)] {
                    let what = format!(
                        "{} defines again what {} does: no linker takes both",
                        name(one),
                        name(other)
                    );
                    out.entry((solution.file, one)).or_insert(what);
                }
            }
        }
        let object = audit.corpus.files[solution.file].object();
        let Some(tables) = object.and_then(|object| object.tables.as_ref()) else { continue };
        for first in taken {
            let what = match strong_names(audit, tree, first) {
                None => format!("{} could not be read again", name(first)),
                Some(names) => match names.iter().find(|name| tables.exports_strongly(name)) {
                    None => continue,
                    Some(symbol) => {
                        let (name, symbol) = (name(first), show(symbol));
                        format!("{name} defines {symbol} again: no linker takes both")
                    }
                },
            };
            out.entry((solution.file, first)).or_insert(what);
        }
    }
    out
}

/// The names of what a member defines strongly; nothing if its archive cannot be read again.
fn strong_names(audit: &Audit, tree: &dyn Tree, member: MemberId) -> Option<Vec<Vec<u8>>> {
    let shelf = audit.library.shelf(audit.library.archive_of(member));
    let facts = &audit.corpus.files[shelf.file];
    let (of, names) =
        ((&*shelf.members, audit.library.member(member)), audit.corpus.symbol_names());
    members::strong_names(tree, facts, of, names)
}
