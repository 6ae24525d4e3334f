//! Definitions of one name in two libraries that are no defect: declared interposition, vague linkage of
//! C++, and parts of one C library.

use super::query::Query;
use crate::demangle::demangle;
use crate::format::elf::Object;
use crate::format::elf::tables::Symbol;
use crate::id::FileId;
use object::elf;

/// Names that libraries are meant to replace (the replacement of malloc in glibc's manual), and names
/// that every linker or start file defines.
const NAMES: [&[u8]; 36] = [
    b"malloc",
    b"free",
    b"calloc",
    b"realloc",
    b"reallocarray",
    b"memalign",
    b"aligned_alloc",
    b"posix_memalign",
    b"valloc",
    b"pvalloc",
    b"cfree",
    b"malloc_usable_size",
    b"mallinfo",
    b"mallinfo2",
    b"mallopt",
    b"malloc_trim",
    b"malloc_stats",
    b"__libc_memalign",
    b"main",
    b"_start",
    b"_init",
    b"_fini",
    b"__bss_start",
    b"__data_start",
    b"data_start",
    b"_edata",
    b"edata",
    b"_end",
    b"end",
    b"_etext",
    b"etext",
    b"_fp_hw",
    b"__dso_handle",
    b"_IO_stdin_used",
    b"__gmon_start__",
    b"_DYNAMIC",
];

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

/// True for a name whose replacement is normal.
pub(super) fn name(name: &[u8]) -> bool {
    NAMES.contains(&name) || is_operator_new(name)
}

/// `operator new` and `operator delete` in all forms, which programs may replace ([new.delete]).
fn is_operator_new(name: &[u8]) -> bool {
    [&b"_Znw"[..], b"_Zna", b"_Zdl", b"_Zda"].iter().any(|begin| name.starts_with(begin))
}

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

/// Vague linkage: the compiler emits inline functions, templates, class data and their variables in each
/// object that uses them, and any of them will do (Itanium C++ ABI 5.2). They are weak or unique, but
/// optimisation at link time makes some of them strong. Data must have one size; functions need not, since
/// each object may be optimised differently.
fn is_vague(name: &[u8], old: &Symbol<'_>, new: &Symbol<'_>) -> bool {
    let is_weak = |symbol: &Symbol<'_>| {
        matches!(elf::SymbolBind(symbol.bind), elf::STB_WEAK | elf::STB_GNU_UNIQUE)
    };
    let is_function = elf::SymbolType(old.kind) == elf::STT_FUNC;
    let is_cxx = name.starts_with(b"_Z");
    let may_stand = old.kind == new.kind && (old.size == new.size || is_function && is_cxx);
    match (is_weak(old), is_weak(new)) {
        (true, true) => may_stand,
        (false, false) => may_stand && (is_class_data(name) || is_cxx && is_template(name)),
        _ => may_stand && is_cxx,
    }
}

/// True for type information, type names and vtables, and for variables of functions.
fn is_class_data(name: &[u8]) -> bool {
    [&b"_ZTI"[..], b"_ZTS", b"_ZTV", b"_ZTT", b"_ZZ"].iter().any(|begin| name.starts_with(begin))
}

/// True for an instance of a template: its demangled name has template arguments.
fn is_template(name: &[u8]) -> bool {
    demangle(name).is_some_and(|text| text.contains('<') && !text.contains("operator<"))
}

/// Parts of one C library define a name for each other: libpthread, libc, libm and the loader.
fn of_one_libc(query: &Query<'_>, loser: FileId, winner: FileId) -> bool {
    let is_private = |file| {
        let object = query.facts(file).object();
        object.is_some_and(has_private_versions)
    };
    is_private(loser) && is_private(winner)
}

/// True if an object defines versions `GLIBC_PRIVATE`, as all libraries of glibc do.
fn has_private_versions(object: &Object) -> bool {
    object.versions.defs.iter().any(|def| object.str(def.name) == b"GLIBC_PRIVATE")
}
