//! Recognises interchangeable definitions of one name: it does not matter which one a reference
//! gets.

use crate::format::elf::Object;
use crate::format::elf::tables::Symbol;
use object::elf;

/// Names that programs and libraries may replace (the replacement of malloc in glibc's manual), and
/// names that linkers, start files and all programs define.
const REPLACEABLE: [&[u8]; 42] = [
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
    // Allocators wrap these functions to see which pages the program maps (tcmalloc's
    // `malloc_hook.cc`).
    b"mmap",
    b"mmap64",
    b"munmap",
    b"mremap",
    b"sbrk",
    // The error handler of BLAS and LAPACK, which a program or its runtime may replace (Level 3
    // BLAS, section 8; `xerbla.f`). R and Octave do.
    b"xerbla_",
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

/// Prefixes of names that are often replaced.
const REPLACEABLE_PREFIXES: [&[u8]; 8] = [
    // The forms of `operator new` and `operator delete` ([new.delete]).
    b"_Znw",
    b"_Zna",
    b"_Zdl",
    b"_Zda",
    // GSL has its own CBLAS, which any other library with that interface may replace (GSL manual,
    // section 13).
    b"cblas_",
    // COMMON blocks of `mpif.h` in Open MPI and MPICH. Every Fortran object has them, and MPI
    // recognises special arguments by their addresses: all objects must share one definition.
    b"mpi_fortran_",
    b"mpipriv",
    b"mpifcmb",
];

/// True for a name that is often replaced.
pub fn is_replaceable(name: &[u8]) -> bool {
    REPLACEABLE.contains(&name)
        || REPLACEABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// True if these definitions of a name are interchangeable. All must have the same type. They must
/// have the same size too, unless they are C++ functions: each object optimises its own copy.
///
/// Compilers emit inline functions, templates, class data and their variables in each object that
/// uses them (Itanium C++ ABI 5.2). These definitions are weak or unique, but link-time
/// optimisation makes some of them strong. One C++ definition may be strong: a library may export a
/// function that other objects take from its headers.
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
