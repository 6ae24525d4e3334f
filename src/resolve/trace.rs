//! What a search tried, for evidence. `search` and musl's search write it down; rules and views word it.

use super::How;
use crate::tree::Errno;

/// Paths that are written down for all needs of one root, and for one need at least and at most:
/// thousands of needs in thousands of directories would be millions.
const MOST_OF_ROOT: usize = 1 << 16;
const LEAST: usize = 16;
const MOST: usize = 512;

/// One path that was tried, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The path.
    pub path: Vec<u8>,
    /// The step that tried it.
    pub how: How,
    /// What came of it.
    pub outcome: Outcome,
    /// It lies in one of the loader's subdirectories, not in the search directory itself.
    pub subdir: bool,
}

/// What came of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was taken.
    Taken,
    /// `open` failed.
    Failed(Errno),
    /// Each process finds something else there.
    OfProcess,
    /// Another ELFCLASS.
    WrongClass,
    /// Another machine.
    WrongMachine,
    /// The loader stops.
    Fatal(&'static str),
    /// The directory does not exist.
    NoDirectory,
    /// A cache entry that DF_1_NODEFLIB forbids.
    Forbidden,
    /// It and as many more of the same step are not there, and not written down one by one.
    LeftOut(usize),
}

/// What one search tried, in order.
#[derive(Debug)]
pub struct Trace {
    pub(super) kept: Vec<Tried>,
    most: usize,
}

impl Trace {
    /// Of one of so many needs of one root.
    pub(super) fn of_one_in(needs: usize) -> Self {
        Self { kept: Vec::new(), most: (MOST_OF_ROOT / needs.max(1)).clamp(LEAST, MOST) }
    }

    /// Writes one path down; of those that are not there, only the first.
    pub(super) fn push(
        &mut self,
        how: How,
        outcome: Outcome,
        subdir: bool,
        path: impl FnOnce() -> Vec<u8>,
    ) {
        let absent = matches!(outcome, Outcome::NoDirectory | Outcome::Failed(Errno::NOENT));
        if !absent || self.kept.len() < self.most {
            return self.kept.push(Tried { path: path(), how, outcome, subdir });
        }
        match self.kept.last_mut() {
            Some(Tried { how: last, outcome: Outcome::LeftOut(more), .. }) if *last == how => {
                *more += 1;
            }
            _ => {
                let outcome = Outcome::LeftOut(0);
                self.kept.push(Tried { path: path(), how, outcome, subdir: false });
            }
        }
    }
}
