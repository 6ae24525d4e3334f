//! The file of an entry point, and the name by which it is started or opened.

use crate::id::FileId;

/// A file that may become an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The file.
    pub file: FileId,
    /// The path by which the file is started, or opened with dlopen.
    pub path: Vec<u8>,
}
