//! The answers of a tree and of the kernel about a path.

use linkaudit::tree::{DirEntryKind, EntryType, Errno, Opened, Special, Tree};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, openat, openat2};
use std::ffi::OsString;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// All answers about one path.
#[derive(Debug, PartialEq, Eq)]
pub struct Answers {
    /// Kind with links followed, and the content of a file.
    pub open: Result<(EntryType, Option<Vec<u8>>), Errno>,
    pub look: Result<(EntryType, Option<u64>), Errno>,
    pub node: Result<DirEntryKind, Errno>,
    pub link: Result<PathBuf, Errno>,
    pub real: Result<PathBuf, Errno>,
    pub list: Result<Vec<(OsString, DirEntryKind)>, Errno>,
}

/// The answers of `tree` about `path`; paths in them are relative to `top`.
pub fn of_tree(tree: &dyn Tree, path: &Path, top: &Path) -> Answers {
    let open = tree.open(path).map(|opened| match opened {
        Opened::File(handle) => {
            let all = handle.read_new(usize::try_from(handle.stat().len).expect("small"), 0);
            (EntryType::File, Some(all.expect("it can be read")))
        }
        Opened::Directory => (EntryType::Directory, None),
        Opened::Special(special) => (EntryType::Special(special), None),
    });
    let len = |(kind, stat): (EntryType, linkaudit::tree::Stat)| {
        (kind, (kind == EntryType::File).then_some(stat.len))
    };
    let look = tree.look(path);
    let real = tree.real_path(path);
    if let (Ok((kind, stat)), Ok(real)) = (look, &real) {
        assert_eq!(tree.look(real), Ok((kind, stat)), "{}", path.display());
    }
    assert_eq!(tree.is_link(path), tree.node(path) == Ok(DirEntryKind::Link), "{}", path.display());
    let mut list = Vec::new();
    let listed = tree.list(path, &mut |name, node| list.push((name.to_owned(), node)));
    list.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Answers {
        open,
        look: look.map(len),
        node: tree.node(path),
        link: tree.read_link(path),
        real: real.map(|real| without(&real, top)),
        list: listed.map(|()| list),
    }
}

/// A path inside `top`.
pub fn without(path: &Path, top: &Path) -> PathBuf {
    let rest = path.strip_prefix(top).ok();
    let rest = rest.unwrap_or_else(|| panic!("{} is outside", path.display()));
    Path::new("/").join(rest)
}

/// The kernel, asked with a directory as `/`.
pub struct Kernel {
    top: PathBuf,
    fd: OwnedFd,
}

impl Kernel {
    pub fn new(top: &Path) -> Self {
        let fd = openat(CWD, top, OFlags::PATH | OFlags::DIRECTORY, Mode::empty());
        Self { top: top.to_path_buf(), fd: fd.expect("a directory") }
    }

    fn open(&self, path: &Path, more: OFlags, how: ResolveFlags) -> Result<OwnedFd, Errno> {
        openat2(&self.fd, path, OFlags::PATH | OFlags::CLOEXEC | more, Mode::empty(), how)
    }

    /// True if the path leads out of the directory when the directory is not treated as `/`.
    pub fn climbs(&self, path: &Path) -> bool {
        let path = path.strip_prefix("/").expect("an absolute path");
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.open(path, OFlags::empty(), ResolveFlags::BENEATH).err() == Some(Errno::XDEV)
    }

    /// The path of the opened file on this machine.
    fn place(file: &OwnedFd) -> PathBuf {
        std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("an open file")
    }

    pub fn answers(&self, path: &Path) -> Answers {
        let inside = ResolveFlags::IN_ROOT;
        let file = self.open(path, OFlags::empty(), inside);
        let kind = file.as_ref().map_err(|errno| *errno).map(|file| {
            let stat = rustix::fs::fstat(file).expect("an open file");
            match node_of(FileType::from_raw_mode(stat.st_mode)) {
                DirEntryKind::Kind(kind) => kind,
                DirEntryKind::Link => panic!("a link was followed"),
            }
        });
        let real = file.as_ref().map_err(|errno| *errno).map(Self::place);
        let content = |kind| {
            let read = || std::fs::read(real.as_ref().expect("it was opened")).expect("a file");
            (kind, (kind == EntryType::File).then(read))
        };
        let itself = self.open(path, OFlags::NOFOLLOW, inside);
        let node = itself.as_ref().map_err(|errno| *errno).map(|file| {
            let stat = rustix::fs::statat(file, "", AtFlags::EMPTY_PATH).expect("an open file");
            node_of(FileType::from_raw_mode(stat.st_mode))
        });
        let link = match (&itself, node) {
            (Ok(file), Ok(DirEntryKind::Link)) => rustix::fs::readlinkat(file, "", Vec::new())
                .map(|text| PathBuf::from(std::ffi::OsStr::from_bytes(text.to_bytes()))),
            (Ok(_), _) => Err(Errno::INVAL),
            (Err(errno), _) => Err(*errno),
        };
        let list = kind.and_then(|kind| match kind {
            EntryType::Directory => Ok(listed(real.as_ref().expect("it was opened"))),
            EntryType::File | EntryType::Special(_) => Err(Errno::NOTDIR),
        });
        let open = kind.map(content);
        Answers {
            look: open
                .as_ref()
                .map(|(kind, bytes)| (*kind, bytes.as_ref().map(|bytes| bytes.len() as u64)))
                .map_err(|errno| *errno),
            open,
            node,
            link,
            real: real.map(|real| without(&real, &self.top)),
            list,
        }
    }
}

fn listed(dir: &Path) -> Vec<(OsString, DirEntryKind)> {
    let entries = std::fs::read_dir(dir).expect("a directory").map(|entry| {
        let entry = entry.expect("an entry");
        let stat = rustix::fs::lstat(entry.path()).expect("an entry");
        (entry.file_name(), node_of(FileType::from_raw_mode(stat.st_mode)))
    });
    let mut list: Vec<_> = entries.collect();
    list.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    list
}

fn node_of(kind: FileType) -> DirEntryKind {
    match kind {
        FileType::Symlink => DirEntryKind::Link,
        FileType::Directory => DirEntryKind::Kind(EntryType::Directory),
        FileType::Fifo => DirEntryKind::Kind(EntryType::Special(Special::Fifo)),
        FileType::Socket => DirEntryKind::Kind(EntryType::Special(Special::Socket)),
        _ => DirEntryKind::Kind(EntryType::File),
    }
}
