//! The paths that a search tried, as evidence. `search` and musl's search record them; rules and
//! views put them into words.

use super::FoundBy;
use crate::tree::Errno;

/// Maximum number of recorded paths of one entry point. All needs of the entry point share this
/// number equally. `LEAST` and `MOST` bound the share of one need. Further missing paths are only
/// counted: thousands of needs in thousands of directories would be millions of paths.
const MOST_OF_ROOT: usize = 1 << 16;
const LEAST: usize = 16;
const MOST: usize = 512;

/// One path that was tried, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The path.
    pub path: Vec<u8>,
    /// The step that tried it.
    pub how: FoundBy,
    /// The loader's reaction.
    pub outcome: TriedOutcome,
    /// True if the path is in one of the loader's subdirectories, not in the search directory
    /// itself.
    pub subdir: bool,
}

/// The loader's reaction to one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriedOutcome {
    /// The loader accepts the file.
    Taken,
    /// `open` failed.
    Failed(Errno),
    /// `open` failed in a way that ends the search of the list.
    Ended(Errno),
    /// The path leads to a different file in each process.
    OfProcess,
    /// The file has another ELF class.
    WrongClass,
    /// The file is for another machine.
    WrongMachine,
    /// The loader stops with this message.
    Fatal(&'static str),
    /// The search directory does not exist.
    NoDirectory,
    /// A cache entry that DF_1_NODEFLIB forbids.
    Forbidden,
    /// This path and this number of further paths of the same step do not exist.
    LeftOut(usize),
}

/// The paths that one search tried, in order.
#[derive(Debug)]
pub struct Trace {
    pub(super) kept: Vec<Tried>,
    most: usize,
}

impl Trace {
    /// A trace for one of `needs` needs of an entry point.
    pub(super) fn of_one_in(needs: usize) -> Self {
        Self { kept: Vec::new(), most: (MOST_OF_ROOT / needs.max(1)).clamp(LEAST, MOST) }
    }

    /// Records one path. Once `most` paths are kept, further missing paths are only counted.
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
