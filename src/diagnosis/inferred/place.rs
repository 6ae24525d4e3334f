//! Judges paths of plugins and programs: default and private directories, and directories that are
//! named after a program or library.

use super::super::{DiagnosisInput, stem};
use crate::id::FileId;
use crate::resolve::Closure;
use crate::text::directory_and_name;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The directory that contains a file.
pub(super) fn dir(source: DiagnosisInput<'_>, file: FileId) -> &Path {
    let path: &Path = &source.view.file(file).path;
    directory_and_name(path).map_or(path, |(dir, _)| dir)
}

/// True for a file in a default directory of the loader.
pub(super) fn is_default(source: DiagnosisInput<'_>, closure: &Closure, path: &Path) -> bool {
    let dir = directory_and_name(path).map_or(path, |(dir, _)| dir).as_os_str().as_encoded_bytes();
    let mut system = source.loaders.get(closure.root.loader).system_dirs.iter();
    system.any(|known| source.strings.text(*known).strip_suffix(b"/") == Some(dir))
}

/// Number of path components in the longest of the loader's default directories that contain
/// `path`; 0 if no default directory contains `path`.
pub(super) fn system_dir(source: DiagnosisInput<'_>, closure: &Closure, path: &Path) -> usize {
    let system = source.loaders.get(closure.root.loader).system_dirs.iter();
    let dirs = system.map(|dir| Path::new(OsStr::from_bytes(source.strings.text(*dir))));
    dirs.filter(|dir| path.starts_with(dir)).map(|dir| dir.components().count()).max().unwrap_or(0)
}

/// True if a directory of `plugin` is named after `program` or its first words: `qemu` for
/// `qemu-system-arm`. Two parts of the path are skipped: its first `system` components, and the
/// components with which both paths begin.
pub(super) fn is_named_after(plugin: &Path, system: usize, program: &Path) -> bool {
    let (Some(dir), Some(name)) = (plugin.parent(), program.file_name()) else { return false };
    let common = dir.components().zip(program.components()).take_while(|(a, b)| a == b).count();
    let mut dirs = dir.components().skip(common.max(system));
    dirs.any(|dir| begins(name.as_bytes(), dir.as_os_str().as_bytes(), b"-"))
}

/// True if a directory of `plugin` is named after `library`: `slang` or `libslang` for
/// `libslang.so.2`, `ceph` for `libceph-common.so.2`, `kres_modules` for `libkres.so.9`. The first
/// `system` directories are skipped.
pub(super) fn is_named_after_library(plugin: &Path, system: usize, library: &Path) -> bool {
    let Some(dir) = plugin.parent() else { return false };
    let name = stem(library.as_os_str().as_bytes());
    let mut dirs = dir.components().skip(system).map(|dir| dir.as_os_str().as_bytes());
    dirs.any(|dir| {
        let dir = dir.strip_prefix(b"lib").unwrap_or(dir);
        !dir.is_empty() && (begins(name, dir, b"-") || begins(dir, name, b"-_"))
    })
}

/// True if `name` is `start`, or begins with `start` followed by one of the separators.
fn begins(name: &[u8], start: &[u8], separators: &[u8]) -> bool {
    let rest = name.strip_prefix(start);
    rest.is_some_and(|rest| rest.first().is_none_or(|byte| separators.contains(byte)))
}

/// True for a file in a private directory of its package. Such a directory is below a default
/// directory of the loader, and linkers do not search it. Its name is not `lib`, `lib32`, `lib64`
/// or `libx32`.
pub(super) fn is_private(source: DiagnosisInput<'_>, closure: &Closure, path: &Path) -> bool {
    let dir = path.parent().unwrap_or(path);
    let name = dir.file_name().unwrap_or_default().as_bytes();
    let system = system_dir(source, closure, path);
    let is_lib = [&b"lib"[..], b"lib32", b"lib64", b"libx32"].contains(&name);
    system > 0 && dir.components().count() > system && !is_lib
}

#[cfg(test)]
mod tests {
    use super::{is_named_after, is_named_after_library};
    use std::path::Path;

    #[test]
    fn directories_that_bear_the_name_of_a_program() {
        for (plugin, system, program, expected) in [
            ("/usr/lib/x86_64-linux-gnu/qemu/ui-gtk.so", 4, "/usr/bin/qemu-system-arm", true),
            ("/usr/lib/qemu/ui-gtk.so", 3, "/usr/bin/qemu", true),
            ("/opt/qemu/lib/ui-gtk.so", 0, "/opt/qemu/bin/qemu-img", false),
            ("/usr/lib/x86_64-linux-gnu/foo/a.so", 4, "/usr/bin/x86_64-linux-gnu-gdb", false),
            ("/usr/lib/qemu-x/a.so", 3, "/usr/bin/qemu", false),
            ("/usr/lib/qem/a.so", 3, "/usr/bin/qemu-img", false),
        ] {
            let found = is_named_after(Path::new(plugin), system, Path::new(program));
            assert_eq!(found, expected, "{plugin} {program}");
        }
    }

    #[test]
    fn directories_that_bear_the_name_of_a_library() {
        for (plugin, library, expected) in [
            ("/usr/lib/x86_64-linux-gnu/slang/v2/modules/png.so", "libslang.so.2.3.3", true),
            ("/usr/lib/x86_64-linux-gnu/libnfsidmap/static.so", "libnfsidmap.so.1.0.0", true),
            ("/usr/lib/x86_64-linux-gnu/ceph/crypto/isal.so", "libceph-common.so.2", true),
            ("/usr/lib/x86_64-linux-gnu/knot/kres_modules/nsid.so", "libkres.so.9", true),
            ("/usr/lib/x86_64-linux-gnu/singular/a.so", "libsingular-polys-4.3.1.so", true),
            ("/usr/lib/x86_64-linux-gnu/slang/png.so", "libslangx.so.2", false),
            ("/usr/lib/x86_64-linux-gnu/png.so", "libx86_64.so.2", false),
            ("/usr/lib/x86_64-linux-gnu/lib/png.so", "liblib.so.2", false),
        ] {
            let found = is_named_after_library(Path::new(plugin), 4, Path::new(library));
            assert_eq!(found, expected, "{plugin} {library}");
        }
    }
}
