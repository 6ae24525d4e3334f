//! Archives of the C library, of compilers and of tools, known by their names and directories.

use crate::format::deps_list::bare_name;
use std::ffi::OsStr;
use std::path::Path;

/// Directories that belong to a compiler. The compiler links their archives by itself.
const COMPILER_DIRS: &[&str] = &["gcc", "gcc-cross", "clang"];
/// Directories that belong to a tool. Only that tool links the archives in them, with its own C
/// library instead of glibc.
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

/// Archives of glibc with names that projects also use. The audit takes such an archive as glibc's
/// only if `libc.a` or `libc.so` is in the same directory.
const COMMON: &[&str] =
    &["libm.a", "libpthread.a", "libdl.a", "librt.a", "libutil.a", "libresolv.a"];

/// Libraries that compilers provide, by name without `lib`.
const COMPILER: &[&str] = &["atomic", "gcc", "gcc_eh", "gcc_s", "stdc++"];

/// True for the bare name of a library that the C library or the compiler provides (`pthread`).
/// Linkers find such a library without help, and builds do not merge its archive into another
/// archive. An archive of a project may have the same name.
pub fn is_system_name(name: &[u8]) -> bool {
    LIBC.iter().any(|archive| bare_name(archive.as_bytes()) == Some(name))
        || COMPILER.iter().any(|known| known.as_bytes() == name)
}

/// True for the bare name of a library that the compiler provides. Also true for a library of the C
/// library, if none of the archives at `paths` belongs to a project. `is_there` is true for paths
/// of existing files.
pub fn is_system_library<'p>(
    name: &[u8],
    mut paths: impl Iterator<Item = &'p Path>,
    is_there: &dyn Fn(&Path) -> bool,
) -> bool {
    COMPILER.iter().any(|known| known.as_bytes() == name)
        || is_system_name(name) && paths.all(|path| is_runtime(path, is_there))
}

/// True for an archive that no fix links into a dynamically linked file. It is an archive of the C
/// library, or only a compiler or a tool uses it. `is_there` is true for paths of existing files.
pub fn is_runtime(path: &Path, is_there: &dyn Fn(&Path) -> bool) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let beside = |name: &str| is_there(&path.with_file_name(name));
    let is_libc = LIBC.contains(&name) || name.starts_with("libm-");
    is_libc && (!COMMON.contains(&name) || beside("libc.a") || beside("libc.so"))
        || lies_in(path, COMPILER_DIRS, 2)
        || is_of_tool(path)
}

/// True for an archive that only one tool links, and for a directory of such archives.
pub fn is_of_tool(path: &Path) -> bool {
    lies_in(path, TOOL_DIRS, 0)
}

/// True if a directory with one of these names is directly in a library directory, and if at least
/// `below` components of the path follow that directory. A compiler keeps its archives in a
/// subdirectory for a machine or a version. `below` therefore excludes a project directory that is
/// merely called `gcc` or `clang`.
fn lies_in(path: &Path, names: &[&str], below: usize) -> bool {
    let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap_or_default()).collect();
    let is_library_dir = |part: &str| part.starts_with("lib") || part.contains("-linux-");
    let is_one =
        |pair: &[&str]| matches!(pair, [dir, name] if is_library_dir(dir) && names.contains(name));
    parts[..parts.len().saturating_sub(below)].windows(2).any(is_one)
}
