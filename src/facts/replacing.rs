//! Recognises libraries that replace functions of other libraries by design: sanitizer runtimes,
//! allocators, and libraries for LD_PRELOAD. `fix` does not link these libraries, and
//! `interposed-symbol` does not report their definitions.

/// Prefixes of the names of sanitizer runtimes.
const SANITIZERS: [&[u8]; 6] =
    [b"libasan", b"libtsan", b"libubsan", b"liblsan", b"libhwasan", b"libclang_rt."];

/// Prefixes of the names that sanitizer runtimes define for themselves.
const OF_SANITIZERS: [&[u8]; 11] = [
    b"__asan_",
    b"__tsan_",
    b"__ubsan_",
    b"__lsan_",
    b"__hwasan_",
    b"__msan_",
    b"__dfsan_",
    b"__memprof_",
    b"__sanitizer_",
    b"__llvm_profile_",
    b"__xray_",
];

/// Prefixes of the names of allocators.
const ALLOCATORS: [&[u8]; 3] = [b"libtcmalloc", b"libjemalloc", b"libmimalloc"];

/// Prefixes of the names of libraries that only LD_PRELOAD loads.
const PRELOADED: [&[u8]; 18] = [
    b"libSegFault.",
    b"libcowdancer.",
    b"libdatefudge.",
    b"libeatmydata.",
    b"libfakechroot.",
    b"libfakeroot",
    b"libfaketime",
    b"libheaptrack_preload.",
    b"libmemusage.",
    b"libnss_wrapper.",
    b"libpam_wrapper.",
    b"libpcprofile.",
    b"libproxychains",
    b"libresolv_wrapper.",
    b"libsocket_wrapper.",
    b"libtorsocks.",
    b"libtsocks.",
    b"libuid_wrapper.",
];

/// Names that programs and libraries may replace (glibc manual, "Replacing malloc"), and names that
/// linkers, start files and all programs define.
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
    // BLAS, section 8; `xerbla.f`). R and Octave replace it.
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

/// Prefixes of names that several objects of a process define by design.
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

/// True for a name that several objects of a process define by design, such as `malloc` or `_end`.
pub fn is_replaceable(name: &[u8]) -> bool {
    REPLACEABLE.contains(&name) || is_in(&REPLACEABLE_PREFIXES, name)
}

/// True if the library with this name replaces functions of other libraries by design.
pub fn replaces_functions(library: &[u8]) -> bool {
    let lists = [&SANITIZERS[..], &ALLOCATORS, &PRELOADED];
    lists.iter().any(|list| is_in(list, library))
}

/// True if the library with this name only replaces the definition of `symbol` in another library.
pub fn is_replacement(library: &[u8], symbol: &[u8]) -> bool {
    is_in(&SANITIZERS, library) && !is_in(&OF_SANITIZERS, symbol)
        || is_in(&ALLOCATORS, library) && is_replaceable(symbol)
        || is_in(&PRELOADED, library)
}

fn is_in(prefixes: &[&[u8]], name: &[u8]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}
