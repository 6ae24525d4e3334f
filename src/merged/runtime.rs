//! Archives of the C library, of compilers and of tools, known by their names and directories.

use crate::format::deps_list::bare_name;
use std::ffi::OsStr;
use std::path::Path;

/// Directories that belong to a compiler, which adds their archives itself.
const COMPILER_DIRS: &[&str] = &["gcc", "gcc-cross", "clang"];
/// Directories that belong to a tool. Only that tool links the archives in them: they have a C
/// library of their own.
const TOOL_DIRS: &[&str] = &["valgrind"];
/// Archives of glibc. Dynamically linked files use glibc's shared libraries instead.
const LIBC: &[&str] = &[
    "libc.a",
    "libm.a",
    "libmvec.a",
    "libpthread.a",
    "libdl.a",
    "librt.a",
    "libutil.a",
    "libanl.a",
    "libresolv.a",
    "libBrokenLocale.a",
];

/// Names of libraries that compilers bring, without `lib`.
const COMPILER: &[&str] = &["atomic", "gcc", "gcc_eh", "gcc_s", "stdc++"];

/// True for the bare name of a library that the C library or the compiler provides (`pthread`).
/// Linkers find such a library without help, and builds do not merge its archive into another one.
pub fn is_system_name(name: &[u8]) -> bool {
    LIBC.iter().any(|archive| bare_name(archive.as_bytes()) == Some(name))
        || COMPILER.iter().any(|known| known.as_bytes() == name)
}

/// True for an archive that no fix links into a dynamically linked file: an archive of the C
/// library, or one that a compiler or tool has for itself.
pub fn is_runtime(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_libc = LIBC.contains(&name) || name.starts_with("libm-");
    is_libc || lies_in(path, COMPILER_DIRS) || is_of_tool(path)
}

/// True for an archive, or the directory of archives, that only one tool links.
pub fn is_of_tool(path: &Path) -> bool {
    lies_in(path, TOOL_DIRS)
}

/// True for a path in a directory with one of these names. A project may have the name of a compiler,
/// but a compiler's directory is inside a library directory.
fn lies_in(path: &Path, names: &[&str]) -> bool {
    let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap_or_default()).collect();
    let is_library_dir = |part: &str| part.starts_with("lib") || part.contains("-linux-");
    let is_one =
        |pair: &[&str]| matches!(pair, [dir, name] if is_library_dir(dir) && names.contains(name));
    parts.windows(2).any(is_one)
}
