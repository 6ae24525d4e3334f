//! Recognises paths that are special to Python, GCC and ldconfig.

use memchr::memmem;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Names of the directories in a prefix below which GCC keeps its files: library directories, and
/// `libexec`.
pub(super) const LIB_DIRS: [&str; 5] = ["lib", "lib32", "lib64", "libx32", "libexec"];

/// True for the name of a directory in which Python reads `*.pth`.
pub(super) fn is_site(dir: Option<&[u8]>) -> bool {
    dir == Some(b"site-packages") || dir == Some(b"dist-packages")
}

/// True for `lib/gcc/TARGET/VERSION/specs` and `lib/gcc/TARGET/specs`, which GCC reads without an
/// option.
pub(super) fn is_main_specs(file: &Path) -> bool {
    let mut above = file.ancestors().skip(2);
    let ends = |dir: Option<&Path>| {
        let is_gcc = |lib: &&str| dir.is_some_and(|dir| dir.ends_with(Path::new(lib).join("gcc")));
        LIB_DIRS.iter().any(is_gcc)
    };
    file.ends_with("specs") && (ends(above.next()) || ends(above.next()))
}

/// True if a specs file is for a compiler whose target is Linux, by the path. Compilers for other
/// targets link more libraries by default.
pub(super) fn is_for_linux(file: &Path) -> bool {
    let mut parts = file.iter().skip_while(|part| *part != "gcc").skip(1);
    parts.next().is_some_and(|target| memmem::find(target.as_bytes(), b"-linux").is_some())
}

/// True for directories that the loader searches by default, or that may be absent. These are
/// directories such as `/lib` and `/usr/lib64`, their multiarch directories, and all directories
/// below `/usr/local`.
pub(super) fn is_system_dir(dir: &Path) -> bool {
    let is_lib = |dir: &Path| {
        let above =
            dir.parent().filter(|above| *above == Path::new("/") || *above == Path::new("/usr"));
        above.is_some() && LIB_DIRS[..4].iter().any(|lib| dir.ends_with(lib))
    };
    let is_target =
        dir.file_name().is_some_and(|name| memmem::find(name.as_bytes(), b"-linux-").is_some());
    dir.starts_with("/usr/local") || is_lib(dir) || is_target && dir.parent().is_some_and(is_lib)
}
