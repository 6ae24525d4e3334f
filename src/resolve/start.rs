//! A file from which an entry point starts.

use crate::id::FileId;

/// A file with the name that it is started or opened by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The file.
    pub file: FileId,
    /// The name by which it is started, or opened as a plugin.
    pub path: Vec<u8>,
}
