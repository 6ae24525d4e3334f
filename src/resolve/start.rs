//! The file of an entry point, and the name by which it is started or opened.

use crate::id::FileId;

/// A file with the name that it is started or opened by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The file.
    pub file: FileId,
    /// The name by which it is started, or opened as a plugin.
    pub path: Vec<u8>,
}
