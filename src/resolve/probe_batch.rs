//! Splits the probes of one name in a long list of directories into batches. Each round requests
//! one batch. Failures are cached by path only in the first batch: thousands of needs in thousands
//! of directories are millions of paths, and all may fail. `search` and musl's search use this
//! module.

use crate::facts::ProbeBatch;
use crate::id::StrId;

/// Number of paths in the first batch, whose results are cached by path. Ordinary lists are
/// shorter.
pub(super) const FIRST: usize = 256;
/// Number of paths in each later batch.
const FURTHER: usize = 512;

/// Progress of the search for one name in a list that is longer than [`FIRST`].
#[derive(Clone, Copy, Default)]
pub(super) struct Passed {
    /// Number of probes that are done. The search continues at the probe with this index.
    pub(super) done: usize,
    /// True if a done probe was relative to the current directory.
    pub(super) by_cwd: bool,
    /// True if a done probe leads to a different file in each process.
    pub(super) by_process: bool,
    /// True if a done probe skipped a file of another ELF class.
    pub(super) other_class: bool,
}

/// Index of the first probe after the batch that contains the probe at index `at`.
pub(super) fn end_of(at: usize) -> usize {
    if at < FIRST { FIRST } else { FIRST + ((at - FIRST) / FURTHER + 1) * FURTHER }
}

/// The batch that contains the probe at index `at`; `None` for the first batch, which is cached by
/// path.
pub(super) fn batch(list: u64, name: StrId, at: usize) -> Option<ProbeBatch> {
    (at >= FIRST).then(|| ProbeBatch { list, name, end: end_of(at) })
}
