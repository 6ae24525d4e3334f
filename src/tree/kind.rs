//! Identity and kind of the entry at a path, known without opening the file.

/// Identity, size, times and permission bits of a file. If two values are equal, they are for the
/// same version of the same file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stat {
    /// Device number. glibc and musl identify a file by its device and inode.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes.
    pub len: u64,
    /// Last change of the content, in nanoseconds since the epoch.
    pub mtime: i128,
    /// Last change of the inode, in nanoseconds since the epoch.
    pub ctime: i128,
    /// The permission bits, including the set-ID bits; 0 for a file in memory.
    pub mode: u32,
}

/// True for the permission bits of a set-ID program: it runs with the rights of its owner or group,
/// whichever user starts it.
pub fn is_set_id(mode: u32) -> bool {
    const SETUID: u32 = 0o4000;
    // If the group may not execute the file, the set-group-ID bit has another meaning.
    const SETGID: u32 = 0o2010;
    mode & SETUID != 0 || mode & SETGID == SETGID
}

/// A special file: loaders never map one, and opening it may block or have side effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
}

impl Special {
    /// The kind in words, such as `a FIFO`.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
        }
    }
}

/// The kind of the entry at a path, links followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A FIFO, socket or device.
    Special(Special),
}

/// The type of a directory entry, links not followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirEntryKind {
    /// A symbolic link.
    Link,
    /// An entry that is not a symbolic link.
    Kind(EntryType),
}

/// The layer of a tree that holds a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileOrigin {
    /// A staging directory, whose files will be installed.
    Stage,
    /// The sysroot that the stage will be installed in.
    Sysroot,
}

impl FileOrigin {
    /// The word in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stage => "stage",
            Self::Sysroot => "sysroot",
        }
    }
}
