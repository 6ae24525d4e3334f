//! A file from which an entry point starts.

use crate::id::FileId;

/// A file with the name it is started by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The file.
    pub file: FileId,
    /// The name that starts it.
    pub path: Vec<u8>,
}
