//! Members that no linker takes: one defines strongly what the library, or another new member, defines
//! strongly too. `prove` asks; a fix with such a member is not proven.

use crate::audit::Audit;
use crate::facts::members;
use crate::format::elf::Tables;
use crate::id::{ArchiveId, FastMap, FileId, MemberId};
use crate::merged::solve::{Part, Solution};
use crate::text::{show, show_path};
use crate::tree::Tree;
use std::sync::Arc;

/// What is wrong with the parts of solutions, by library and first member.
pub(super) type Clashes = FastMap<(FileId, MemberId), String>;

/// Finds them. Only of members that define what the library asks for itself it is certain that a linker
/// takes them; those of `fat` are in the link already.
pub(super) fn clashes(
    audit: &Audit,
    tree: &dyn Tree,
    solutions: &[Arc<Solution>],
    fat: Option<ArchiveId>,
) -> Clashes {
    let mut out = Clashes::default();
    for solution in solutions {
        let firsts = solution.parts().into_iter().map(|Part { first, .. }| *first);
        let taken: Vec<MemberId> =
            firsts.filter(|first| Some(audit.library.archive_of(*first)) != fat).collect();
        let found =
            twice(audit, &taken).into_iter().chain(again(audit, tree, solution.file, &taken));
        for (member, what) in found {
            out.entry((solution.file, member)).or_insert(what);
        }
    }
    out
}

fn name(audit: &Audit, member: MemberId) -> String {
    let library = &audit.library;
    let archive = &library.shelf(library.archive_of(member)).path;
    format!("{}({})", show_path(archive), show(library.member_name(member)))
}

/// What two of the members define.
fn twice(audit: &Audit, taken: &[MemberId]) -> Vec<(MemberId, String)> {
    let mut defined: FastMap<u64, MemberId> = FastMap::default();
    let mut out = Vec::new();
    for first in taken {
        for hash in audit.library.strong_hashes(*first) {
            let other = defined.insert(hash, *first).filter(|other| other != first);
            for (one, other) in
                other.into_iter().flat_map(|other| [(*first, other), (other, *first)])
            {
                let (word, other) = (name(audit, one), name(audit, other));
                out.push((
                    one,
                    format!("{word} defines again what {other} does: no linker takes both"),
                ));
            }
        }
    }
    out
}

/// What the members define and the library too.
fn again<'a>(
    audit: &'a Audit,
    tree: &'a dyn Tree,
    file: FileId,
    taken: &'a [MemberId],
) -> impl Iterator<Item = (MemberId, String)> + 'a {
    let tables = audit.corpus.files[file].object().and_then(|object| object.tables.as_ref());
    let of_member = move |(tables, member): (&Tables, MemberId)| {
        let word = || name(audit, member);
        let Some(names) = strong_names(audit, tree, member) else {
            return Some((member, format!("{} could not be read again", word())));
        };
        let symbol = show(names.iter().find(|name| tables.exports_strongly(name))?);
        Some((member, format!("{} defines {symbol} again: no linker takes both", word())))
    };
    let each = tables.into_iter().flat_map(|tables| taken.iter().map(move |one| (tables, *one)));
    each.filter_map(of_member)
}

/// The names of what a member defines strongly; nothing if its archive cannot be read again.
fn strong_names(audit: &Audit, tree: &dyn Tree, member: MemberId) -> Option<Vec<Vec<u8>>> {
    let library = &audit.library;
    let shelf = library.shelf(library.archive_of(member));
    let of = (&*shelf.members, library.member(member));
    members::strong_names(tree, &audit.corpus.files[shelf.file], of, audit.corpus.symbol_names())
}
