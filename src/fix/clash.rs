//! Members that no linker takes: one defines strongly what the library, or another new member, defines
//! strongly too. `prove` asks; a fix with such a member is not proven.

use super::solve::{Part, Solution};
use crate::audit::Audit;
use crate::format::elf::Object;
use crate::id::{ArchiveId, FastMap, FileId, MemberId};
use crate::text::{show, show_path};
use object::elf;
use rayon::prelude::*;
use std::sync::Arc;

/// Symbols that one thread looks at before another may.
const SHARE: usize = 4096;

/// What is wrong with the parts of solutions, by library and first member: a sentence's end.
pub(super) type Clashes = FastMap<(FileId, MemberId), String>;

/// Finds them. Only of members that define what the library asks for itself it is certain that a linker
/// takes them; those of `fat` are in the link already.
pub(super) fn clashes(
    audit: &Audit,
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
        let mut defined: FastMap<u64, MemberId> = FastMap::default();
        for first in firsts.filter(|first| Some(library.archive_of(*first)) != fat) {
            for hash in library.strong_hashes(first) {
                let Some(other) = defined.insert(hash, first).filter(|other| *other != first)
                else {
                    continue;
                };
                for (one, other) in [(first, other), (other, first)] {
                    let what = format!("{} defines again what {} does", name(one), name(other));
                    out.entry((solution.file, one)).or_insert(what);
                }
            }
        }
        let object = audit.corpus.files[solution.file].object();
        let own = object.map_or_else(Vec::new, |object| met(audit, object, &defined));
        for (first, symbol) in own {
            let what = format!("{} defines {} again", name(first), show(&symbol));
            out.entry((solution.file, first)).or_insert(what);
        }
    }
    out
}

/// Strong exports of an object that members define, in the order of its table.
fn met(
    audit: &Audit,
    object: &Object,
    defined: &FastMap<u64, MemberId>,
) -> Vec<(MemberId, Vec<u8>)> {
    let Some(tables) = object.tables.as_ref().filter(|_| !defined.is_empty()) else {
        return Vec::new();
    };
    let met = |index: u32| {
        let symbol = tables.export(index)?;
        let strong = elf::SymbolBind(symbol.bind) == elf::STB_GLOBAL;
        let first = defined.get(&audit.library.hash(symbol.name)).filter(|_| strong)?;
        Some((*first, symbol.name.to_vec()))
    };
    let all = tables.indices().into_par_iter().with_min_len(SHARE);
    all.filter_map(met).collect()
}
