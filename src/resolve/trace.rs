//! Records the paths that a search tried, as evidence for findings. `search` and musl's search
//! record the paths; rules and views put these records into words.

use super::FoundBy;
use crate::tree::Errno;

/// Maximum number of recorded paths of one entry point, shared equally among its needs. Further
/// missing paths are only counted: thousands of needs in thousands of directories would be millions
/// of paths.
const MOST_OF_ROOT: usize = 1 << 16;
/// Minimum number of paths that are recorded for one need.
const LEAST: usize = 16;
/// Maximum number of missing paths that are recorded for one need.
const MOST: usize = 512;

/// One path that was tried, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The path.
    pub path: Vec<u8>,
    /// The step of the search that tried the path.
    pub how: FoundBy,
    /// The loader's reaction.
    pub outcome: TriedOutcome,
    /// True if the path is in one of the loader's subdirectories, not in the search directory
    /// itself.
    pub subdir: bool,
}

/// The loader's reaction to one tried path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriedOutcome {
    /// The loader accepts the file.
    Taken,
    /// `open` failed with this error, and the search continues.
    Failed(Errno),
    /// `open` failed with this error, which ends the search of the list of directories; under musl,
    /// the error ends the whole search.
    Ended(Errno),
    /// The path leads to a different file in each process, such as a path below `/proc/self`.
    OfProcess,
    /// The loader skips the file, which has another ELF class.
    WrongClass,
    /// The loader skips the file, which is for another machine.
    WrongMachine,
    /// The loader stops with this message.
    Fatal(&'static str),
    /// The search directory does not exist.
    NoDirectory,
    /// The loader skips a path of ld.so.cache in a default directory, because of DF_1_NODEFLIB.
    Forbidden,
    /// The ld.so.cache at this path has no entry for the name.
    NoEntry,
    /// There is no usable ld.so.cache at this path.
    NoCache,
    /// The path does not exist. This number of further paths of the same step do not exist either.
    LeftOut(usize),
}

/// The paths that one search tried, in order.
#[derive(Debug)]
pub struct Trace {
    pub(super) kept: Vec<Tried>,
    most: usize,
}

impl Trace {
    /// An empty trace for one need. `needs` is the number of traced needs of the entry point, which
    /// share `MOST_OF_ROOT`.
    pub(super) fn of_one_in(needs: usize) -> Self {
        Self { kept: Vec::new(), most: (MOST_OF_ROOT / needs.max(1)).clamp(LEAST, MOST) }
    }

    /// Records one tried path. Once `most` paths are kept, further missing paths are only counted.
    pub(super) fn push(
        &mut self,
        how: FoundBy,
        outcome: TriedOutcome,
        subdir: bool,
        path: impl FnOnce() -> Vec<u8>,
    ) {
        let absent =
            matches!(outcome, TriedOutcome::NoDirectory | TriedOutcome::Failed(Errno::NOENT));
        if !absent || self.kept.len() < self.most {
            return self.kept.push(Tried { path: path(), how, outcome, subdir });
        }
        match self.kept.last_mut() {
            Some(Tried { how: last, outcome: TriedOutcome::LeftOut(more), .. }) if *last == how => {
                *more += 1;
            }
            _ => {
                let outcome = TriedOutcome::LeftOut(0);
                self.kept.push(Tried { path: path(), how, outcome, subdir: false });
            }
        }
    }
}
