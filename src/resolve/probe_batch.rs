//! Splits the probes of a long directory list into batches, and each round requests one batch.
//! Failures are cached by path only in the first batch: thousands of needs in thousands of
//! directories are millions of paths, and all may fail. `search` and musl's search use this module.

use crate::facts::ProbeBatch;
use crate::id::StrId;

/// Number of paths in the first batch. Each result is cached by its path. Ordinary lists are
/// shorter.
pub(super) const FIRST: usize = 256;
/// Number of paths in each later batch.
const FURTHER: usize = 512;

/// Progress of the search for one name in a list that is longer than [`FIRST`].
#[derive(Clone, Copy, Default)]
pub(super) struct Passed {
    /// Number of probes that are done; the search continues after them.
    pub(super) done: usize,
    /// Flags of the probes that are done, as in `SearchFlags`.
    pub(super) by_cwd: bool,
    pub(super) by_process: bool,
    pub(super) other_class: bool,
}

/// Index of the first probe after the batch of the probe at `at`.
pub(super) fn end_of(at: usize) -> usize {
    if at < FIRST { FIRST } else { FIRST + ((at - FIRST) / FURTHER + 1) * FURTHER }
}

/// The batch of the probe at `at`; `None` for the first batch, which is cached by path.
pub(super) fn batch(list: u64, name: StrId, at: usize) -> Option<ProbeBatch> {
    (at >= FIRST).then(|| ProbeBatch { list, name, end: end_of(at) })
}
