//! The directories that ldconfig reads, in its order: the directories that `/etc/ld.so.conf` and
//! its included files name, then the built-in directories (`elf/ldconfig.c`, `parse_conf` and
//! `main`).

use crate::format::elf::interpreter::Interpreter;
use crate::format::ld_so_conf::{self, Line};
use crate::id::FastSet;
use crate::order::Arrange as _;
use crate::policy::Pattern;
use crate::tree::{EntryType, Opened, Tree};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// The configuration file of ldconfig, which may include others.
const CONF: &str = "/etc/ld.so.conf";

/// Largest configuration file that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Maximum number of configuration files that are read.
const MOST_FILES: usize = 1_000;

/// The existing directories that ldconfig reads in `tree`. The built-in directories come from
/// `loader`, because ldconfig and the loader are built with the same directories.
pub(super) fn directories(tree: &dyn Tree, loader: &Interpreter) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    let mut read = FastSet::default();
    add(tree, Path::new(CONF), &mut read, &mut dirs);
    for dir in &loader.system_dirs {
        let dir = dir.strip_suffix(b"/").unwrap_or(dir);
        // Debian's ldconfig reads the loader's directories. Other builds also read the directories
        // of other ABIs, such as `/usr/lib` beside `/usr/lib64` (`add_system_dir` in the machines'
        // `dl-cache.h`).
        let ends: &[&[u8]] = if loader.debian { &[b""] } else { &[b"", b"64", b"x32"] };
        let base = if loader.debian { dir } else { without_abi(dir) };
        let ends = ends.iter().filter(|end| end.is_empty() || base.ends_with(b"/lib"));
        dirs.extend(ends.map(|end| PathBuf::from(OsString::from_vec([base, end].concat()))));
        dirs.push(PathBuf::from(OsString::from_vec(dir.to_vec())));
    }
    dirs.retain(|dir| tree.kind(dir) == Ok(EntryType::Directory));
    dirs
}

/// The directory without its ABI suffix: `/usr/lib` for `/usr/lib64`.
fn without_abi(dir: &[u8]) -> &[u8] {
    let base = dir.strip_suffix(b"64").or_else(|| dir.strip_suffix(b"x32"));
    base.filter(|base| base.ends_with(b"/lib")).unwrap_or(dir)
}

/// The content of a file; `None` if it has more than `most` bytes or cannot be read.
pub(super) fn bytes(tree: &dyn Tree, path: &Path, most: u64) -> Option<Vec<u8>> {
    let Ok(Opened::File(handle)) = tree.open(path) else { return None };
    let len = handle.stat().len;
    let len = usize::try_from(len).ok().filter(|_| len <= most)?;
    handle.read_new(len, 0).ok()
}

/// Adds the directories of one configuration file and of its included files.
fn add(tree: &dyn Tree, path: &Path, read: &mut FastSet<PathBuf>, dirs: &mut Vec<PathBuf>) {
    // Each file is read once: a second read would add no directory, because ldconfig reads each
    // directory once.
    if read.len() == MOST_FILES || !read.insert(path.to_path_buf()) {
        return;
    }
    let Some(text) = bytes(tree, path, MOST_BYTES) else { return };
    for line in text.split(|byte| *byte == b'\n') {
        match ld_so_conf::read(line) {
            Some(Line::Include(patterns)) => {
                for pattern in patterns {
                    for file in matching(tree, &beside(path, pattern)) {
                        add(tree, &file, read, dirs);
                    }
                }
            }
            Some(Line::Directory(dir)) => dirs.push(PathBuf::from(OsStr::from_bytes(dir))),
            None => {}
        }
    }
}

/// The pattern of an `include` line in the file at `path`. A relative pattern starts from the
/// directory of that file.
fn beside(path: &Path, pattern: &[u8]) -> PathBuf {
    let pattern = Path::new(OsStr::from_bytes(pattern));
    path.parent().map_or_else(|| pattern.to_path_buf(), |dir| dir.join(pattern))
}

/// The files that a pattern of glob(3) matches. The files are sorted as whole strings, as in the C
/// locale. The locale in which ldconfig will run is unknown.
fn matching(tree: &dyn Tree, pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name),
        std::path::Component::ParentDir => Some(OsStr::new("..")),
        _ => None,
    }) {
        if !part.as_bytes().iter().any(|byte| b"*?[".contains(byte)) {
            for dir in &mut found {
                dir.push(part);
            }
            continue;
        }
        let Some(matcher) = part.to_str().and_then(|text| Pattern::name(text).ok()) else {
            return Vec::new();
        };
        let mut names: Vec<PathBuf> = Vec::new();
        for dir in &found {
            let mut here: FastSet<OsString> = FastSet::default();
            // After an error, the names listed before it are still used.
            let _ = tree.list(dir, &mut |name, _| {
                let hidden =
                    name.as_bytes().starts_with(b".") && !part.as_bytes().starts_with(b".");
                if !hidden && matcher.matches(name.as_bytes()) {
                    here.insert(name.to_owned());
                }
            });
            names.extend(here.into_iter().map(|name| dir.join(name)));
        }
        found = names;
    }
    found.retain(|path| tree.kind(path).is_ok());
    found.arrange_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    found
}

#[cfg(test)]
mod tests {
    use super::directories;
    use crate::format::elf::interpreter::Interpreter;
    use crate::tree::MemTree;
    use std::path::PathBuf;

    #[test]
    fn directories_in_the_order_of_ldconfig() {
        let mut tree = MemTree::default();
        tree.file(
            "/etc/ld.so.conf",
            &b" /opt/a/ # one\nhwcap 0 x\ninclude ld.so.conf.d/*.conf\n"[..],
        );
        tree.file("/etc/ld.so.conf.d/b.conf", &b"/opt/b//\n/gone\n"[..]);
        tree.file("/etc/ld.so.conf.d/a.conf", &b"/opt/c\ninclude /etc/ld.so.conf\n"[..]);
        tree.file("/etc/ld.so.conf.d/.hidden.conf", &b"/opt/d\n"[..]);
        for dir in ["/opt/a", "/opt/b", "/opt/c", "/opt/d", "/usr/lib"] {
            tree.directory(dir);
        }
        let system_dirs = vec![b"/lib64/".to_vec(), b"/usr/lib64/".to_vec()];
        let found = directories(&tree, &Interpreter { system_dirs, ..Interpreter::default() });
        assert_eq!(found.first(), Some(&PathBuf::from("/opt/a")));
        assert_eq!(found.last(), Some(&PathBuf::from("/usr/lib")));
        assert!(
            found.contains(&PathBuf::from("/opt/b")) && found.contains(&PathBuf::from("/opt/c"))
        );
        assert!(
            !found.contains(&PathBuf::from("/gone")) && !found.contains(&PathBuf::from("/opt/d"))
        );
    }

    /// The order of `ldconfig -v -r DIR` in the C locale: `a-b/` comes before `a/`.
    #[test]
    fn included_files_are_sorted_as_whole_paths() {
        let mut tree = MemTree::default();
        tree.file("/etc/ld.so.conf", &b"include c/*/*.conf c/*.conf\n"[..]);
        let files = [("a/l", "/opt/1"), ("a-b/l", "/opt/2"), ("a", "/opt/3"), ("Z", "/opt/4")];
        for (file, dir) in files {
            tree.file(format!("/etc/c/{file}.conf"), dir.as_bytes());
            tree.directory(dir);
        }
        let found = directories(&tree, &Interpreter::default());
        assert_eq!(found, ["/opt/2", "/opt/1", "/opt/4", "/opt/3"].map(PathBuf::from));
    }
}
