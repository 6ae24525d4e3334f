//! The interface through which the resolver asks for facts. A fact is known, is not read yet, or
//! cannot be read because of a system error. [`View`](super::View) is the store of a run; a test
//! provides its own store.

use super::{FileFacts, Need, PathState, ProbeBatch};
use crate::format::elf::Object;
use crate::format::elf::interpreter::Interpreter;
use crate::id::FileId;
use crate::tree::Errno;

/// Facts by file and by path. The result for a fact that was not read yet is `None` or a [`Need`].
/// The result after a system error is a [`PathState::Failed`] or an error number.
pub trait FactStore {
    /// The facts of a file that was read.
    fn file(&self, file: FileId) -> &FileFacts;
    /// The ELF object in a file, if it holds one.
    fn object(&self, file: FileId) -> Option<&Object>;
    /// The entry at `path`; `None` until the collector has probed it.
    fn place(&self, path: &[u8]) -> Option<PathState>;
    /// True if all paths of a batch were probed. Then the paths without a stored entry do not
    /// exist.
    fn is_looked_through(&self, batch: &ProbeBatch) -> bool;
    /// True if `path` is a directory.
    fn is_directory(&self, path: &[u8]) -> Result<bool, Need>;
    /// The content of a configuration file of the loader, or the error number if it cannot be read.
    fn bytes(&self, path: &[u8]) -> Result<Result<&[u8], Errno>, Need>;
    /// The strings of a loader binary.
    fn interpreter(&self, file: FileId) -> Result<&Interpreter, Need>;
    /// A new id for a list of directories. A [`ProbeBatch`] names the list by this id.
    fn new_list(&self) -> u64;
}
