//! The exit status.

use crate::catalogue::Level;
use crate::cli::FailOn;
use crate::judge::{Judged, Verdict};
use std::process::ExitCode;

/// What a run came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Nothing at or above `--fail-on`.
    Clean,
    /// Findings.
    Findings,
    /// The command line or a named file is wrong.
    Usage,
    /// Something could not be read or decided.
    Incomplete,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Clean => 0,
            Exit::Findings => 1,
            Exit::Usage => 2,
            Exit::Incomplete => 3,
        })
    }
}

/// `EX_SOFTWARE` of sysexits.h: a fault of linkaudit itself.
pub const INTERNAL: u8 = 70;

/// The status for judged findings.
pub fn of(verdict: &Verdict, fail_on: FailOn) -> Exit {
    status(verdict, fail_on, |judged| !judged.rule.group.is_input)
}

/// Rules that say that a library is missing or makes the loader stop.
const MISSING: [&str; 3] = ["missing-library", "wrong-architecture", "bad-library-file"];

/// The status of `tree`, for which only libraries count.
pub fn of_tree(verdict: &Verdict, fail_on: FailOn) -> Exit {
    status(verdict, fail_on, |judged| MISSING.contains(&judged.rule.id))
}

/// The status of `fix`: whether every finding that counts has a proven fix, and every file that was
/// written is whole.
pub fn of_fix(verdict: &Verdict, fail_on: FailOn, whole: bool) -> Exit {
    let open = |judged: &Judged| !judged.rule.group.is_input && !judged.finding.has_proven_fix();
    if whole { status(verdict, fail_on, open) } else { Exit::Findings }
}

fn status(verdict: &Verdict, fail_on: FailOn, counts: impl Fn(&Judged) -> bool) -> Exit {
    let lowest = match fail_on {
        FailOn::Error => Some(Level::Error),
        FailOn::Warning => Some(Level::Warning),
        FailOn::Never => None,
    };
    let fails = lowest.is_some_and(|lowest| {
        verdict.findings.iter().any(|judged| counts(judged) && judged.level >= lowest)
    });
    if fails {
        Exit::Findings
    } else if verdict.complete {
        Exit::Clean
    } else {
        Exit::Incomplete
    }
}
