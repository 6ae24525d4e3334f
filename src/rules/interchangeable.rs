//! Definitions of one name in two libraries that are no defect: declared interposition, vague linkage of
//! C++, and parts of one C library.

use super::query::Query;
use crate::bind::query::alike::{are_alike, is_part_of_libc};
use crate::demangle::demangle;
use crate::format::elf::tables::Symbol;
use crate::id::FileId;
use object::elf;

/// Begins of libraries that are made to replace functions of others: sanitizers and allocators.
const REPLACING: [&[u8]; 8] = [
    b"libasan",
    b"libtsan",
    b"libubsan",
    b"liblsan",
    b"libhwasan",
    b"libclang_rt.",
    b"libtcmalloc",
    b"libjemalloc",
];

/// The libraries of libglvnd: each exports entry points of OpenGL that call libGLdispatch.
const DISPATCH: [&[u8]; 6] = [
    b"libGL.so.1",
    b"libGLX.so.0",
    b"libOpenGL.so.0",
    b"libGLESv1_CM.so.1",
    b"libGLESv2.so.2",
    b"libEGL.so.1",
];

/// True for two definitions of `name` that may stand for each other.
pub(super) fn definitions(
    query: &Query<'_>,
    name: &[u8],
    (loser, old): (FileId, &Symbol<'_>),
    (winner, new): (FileId, &Symbol<'_>),
) -> bool {
    is_vague(name, old, new) || of_one_implementation(query, loser, winner) || {
        let library = query.library_name(winner);
        REPLACING.iter().any(|begin| library.starts_with(begin))
    }
}

/// True for two libraries whose common names lead to one implementation.
pub(super) fn of_one_implementation(query: &Query<'_>, a: FileId, b: FileId) -> bool {
    let names = [query.library_name(a), query.library_name(b)];
    let are_dispatch = names.iter().all(|name| DISPATCH.contains(name));
    // libc.so.6 of i386 and others has entry points of libgcc_s, which call libgcc_s
    // (`sysdeps/generic/framestate.c`).
    let are_unwinder = names.contains(&&b"libc.so.6"[..]) && names.contains(&&b"libgcc_s.so.1"[..]);
    are_dispatch || are_unwinder || of_one_libc(query, a, b)
}

/// True if either definition will do: as for the query, or two strong instances of a template.
fn is_vague(name: &[u8], old: &Symbol<'_>, new: &Symbol<'_>) -> bool {
    let may_stand = || {
        let is_function = elf::SymbolType(old.kind) == elf::STT_FUNC;
        old.kind == new.kind && (old.size == new.size || is_function)
    };
    are_alike(&[old, new].into_iter())
        || name.starts_with(b"_Z") && may_stand() && is_template(name)
}

/// True for an instance of a template: its demangled name has template arguments.
fn is_template(name: &[u8]) -> bool {
    demangle(name).is_some_and(|text| text.contains('<') && !text.contains("operator<"))
}

/// Parts of one C library define a name for each other.
fn of_one_libc(query: &Query<'_>, loser: FileId, winner: FileId) -> bool {
    let is_part = |file| query.facts(file).object().is_some_and(is_part_of_libc);
    is_part(loser) && is_part(winner)
}
