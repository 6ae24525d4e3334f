//! The sonames of glibc and of GCC's runtime libraries, with what stages and rules assume about the
//! libraries. This table is about names only: a file of that name need not be part of glibc.

use crate::policy::Libc;

/// A library of glibc or GCC. Every symbol that it exports has a version.
struct RuntimeLibrary {
    soname: &'static [u8],
    /// True if the library shares private data with glibc's loader: it works only with the loader
    /// of the same build.
    is_tied: bool,
}

const fn tied(soname: &'static [u8]) -> RuntimeLibrary {
    RuntimeLibrary { soname, is_tied: true }
}

const fn free(soname: &'static [u8]) -> RuntimeLibrary {
    RuntimeLibrary { soname, is_tied: false }
}

const LIBRARIES: [RuntimeLibrary; 18] = [
    tied(b"libc.so.6"),
    tied(b"libm.so.6"),
    tied(b"libmvec.so.1"),
    tied(b"libpthread.so.0"),
    tied(b"libdl.so.2"),
    tied(b"librt.so.1"),
    tied(b"libutil.so.1"),
    tied(b"libresolv.so.2"),
    tied(b"libanl.so.1"),
    free(b"libnsl.so.1"),
    free(b"libthread_db.so.1"),
    free(b"libBrokenLocale.so.1"),
    free(b"libcrypt.so.1"),
    free(b"libgcc_s.so.1"),
    free(b"libstdc++.so.6"),
    free(b"libatomic.so.1"),
    free(b"libgomp.so.1"),
    free(b"libquadmath.so.0"),
];

/// True for the name of a library whose exported symbols all have versions. An unversioned
/// reference was never linked against it.
pub(crate) fn is_all_versioned(name: &[u8]) -> bool {
    LIBRARIES.iter().any(|library| library.soname == name)
}

/// True for the name of a library that works only with the loader of the same build of glibc, and
/// for the name of the loader.
pub(crate) fn is_of_glibc(name: &[u8]) -> bool {
    LIBRARIES.iter().any(|library| library.is_tied && library.soname == name)
        || Libc::Glibc.has_loader(name)
}
