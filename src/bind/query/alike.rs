//! Recognises interchangeable definitions of one name: a reference may get any of them.

use crate::format::elf::Object;
use crate::format::elf::tables::Symbol;
use object::elf;

/// True if these definitions of a name are interchangeable. All must have the same type. They must
/// have the same size too, unless they are C++ functions: each object optimises its own copy.
///
/// Compilers emit inline functions, instances of templates, class data and local variables of
/// inline functions in each object that uses them (Itanium C++ ABI 5.2). These definitions are weak
/// or unique, but link-time optimisation makes some of them strong. One C++ definition may be
/// strong: a library exports a function, and other objects emit the inline definition from its
/// headers.
pub fn are_alike<'s>(symbols: &(impl Iterator<Item = &'s Symbol<'s>> + Clone)) -> bool {
    let Some(first) = symbols.clone().next() else { return true };
    let is_cxx = symbols.clone().all(|symbol| symbol.name.starts_with(b"_Z"));
    let any_size = is_cxx && elf::SymbolType(first.kind) == elf::STT_FUNC;
    let is_same =
        |other: &Symbol<'_>| other.kind == first.kind && (any_size || other.size == first.size);
    let strong = symbols.clone().filter(|symbol| !is_weak(symbol)).count();
    let may_be_strong = match strong {
        0 => true,
        1 => is_cxx,
        _ => symbols.clone().all(|symbol| is_class_data(symbol.name)),
    };
    may_be_strong && symbols.clone().all(is_same)
}

/// True for a weak or unique definition.
pub fn is_weak(symbol: &Symbol<'_>) -> bool {
    matches!(elf::SymbolBind(symbol.bind), elf::STB_WEAK | elf::STB_GNU_UNIQUE)
}

/// True for type information, type names, vtables and VTTs, and for local variables of functions
/// with their guards.
fn is_class_data(name: &[u8]) -> bool {
    let begins = [&b"_ZTI"[..], b"_ZTS", b"_ZTV", b"_ZTT", b"_ZZ", b"_ZGV"];
    begins.iter().any(|begin| name.starts_with(begin))
}

/// True for a part of glibc: libc, libm, libpthread, the loader. Several parts define the same
/// names on purpose. A part defines the version GLIBC_PRIVATE, or it defines public versions and
/// needs GLIBC_PRIVATE, as libm does.
pub fn is_part_of_libc(object: &Object) -> bool {
    let is_private = |name: &[u8]| name == b"GLIBC_PRIVATE";
    let defs = || object.versions.defs.iter().map(|def| object.str(def.name));
    let mut entries = object.versions.by_index.iter().filter(|entry| entry.file.is_some());
    defs().any(is_private)
        || defs().any(|name| name.starts_with(b"GLIBC_"))
            && entries.any(|entry| is_private(object.str(entry.name)))
}
