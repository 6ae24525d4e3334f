//! Identity and kind: what a file system says of a path without opening what lies there.

/// What tells one file from another, and one version of a file from another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stat {
    /// Device number; together with `ino` the identity that glibc and musl compare.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes.
    pub len: u64,
    /// Last change of the content, in nanoseconds since the epoch.
    pub mtime: i128,
    /// Last change of the inode, in nanoseconds since the epoch.
    pub ctime: i128,
}

/// A special file: nothing that a loader maps, and possibly something that blocks or acts when opened.
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
    /// The kind in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
        }
    }
}

/// The kind of a path once links are followed, with nothing opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A FIFO, socket or device.
    Special(Special),
}

/// What a directory entry is, links not followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// A symbolic link.
    Link,
    /// Anything else.
    Kind(Kind),
}
