//! Long lists of directories. What lies in them is asked for in portions, and of what is not there only
//! the first portion is remembered path by path: thousands of needs times thousands of directories are
//! millions of paths, all of which may fail. `search` and musl's search walk by it.

use crate::facts::Portion;
use crate::id::StrId;

/// Probes that are asked for at once and remembered one by one: more than ordinary lists have.
pub(super) const FIRST: usize = 256;
/// How many are asked for at a time behind those.
const FURTHER: usize = 512;

/// How far the search for one name has come in one list that is longer than [`FIRST`].
#[derive(Clone, Copy, Default)]
pub(super) struct Passed {
    /// The probes before this one let the loader go on.
    pub(super) done: usize,
    /// What they showed.
    pub(super) by_cwd: bool,
    pub(super) by_process: bool,
    pub(super) other_class: bool,
}

/// The first probe behind the portion of the one at `at`.
pub(super) fn end_of(at: usize) -> usize {
    if at < FIRST { FIRST } else { FIRST + ((at - FIRST) / FURTHER + 1) * FURTHER }
}

/// The portion of the probe at `at`; nothing if that is remembered path by path.
pub(super) fn portion(list: u64, name: StrId, at: usize) -> Option<Portion> {
    (at >= FIRST).then(|| Portion { list, name, end: end_of(at) })
}
