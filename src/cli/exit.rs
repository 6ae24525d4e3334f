//! The exit status of a run, and how a report decides it.

use crate::catalogue::Level;
use crate::cli::FailOn;
use crate::report::model::{Report, ReportFinding};
use std::process::ExitCode;

/// The result of a run, as an exit status from 0 to 3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Exit status 0: no finding at or above `--fail-on`, and everything was read and decided.
    Clean,
    /// Exit status 1: findings at or above `--fail-on`, or a negative answer, such as a name that
    /// `why` does not find.
    Findings,
    /// Exit status 2: an error in the command line or in a named file.
    Usage,
    /// Exit status 3: the run could not read or decide something.
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

/// The exit status after an internal error, `EX_SOFTWARE` of sysexits.h.
pub const INTERNAL: u8 = 70;

/// The exit status of a command whose status depends on all findings of the report.
pub fn of(report: &Report, fail_on: FailOn) -> Exit {
    status(report, fail_on, |_| true)
}

/// Rules about libraries that are missing or make the loader stop.
const MISSING: [&str; 3] = ["missing-library", "wrong-architecture", "bad-library-file"];

/// The exit status of `tree`, which depends only on findings about libraries.
pub fn of_tree(report: &Report, fail_on: FailOn) -> Exit {
    status(report, fail_on, |finding| MISSING.contains(&&*finding.rule))
}

/// The exit status of `gpu`, which depends only on findings about device code.
pub fn of_gpu(report: &Report, fail_on: FailOn) -> Exit {
    status(report, fail_on, |finding| finding.rule.starts_with("gpu-"))
}

/// The exit status of `fix`, which ignores findings with verified fixes. `whole` is false if an
/// output could not represent a name. The status is then [`Exit::Findings`].
pub fn of_fix(report: &Report, fail_on: FailOn, whole: bool) -> Exit {
    let is_open = |finding: &ReportFinding| !finding.has_proven_fix();
    if whole { status(report, fail_on, is_open) } else { Exit::Findings }
}

fn status(report: &Report, fail_on: FailOn, counts: impl Fn(&ReportFinding) -> bool) -> Exit {
    let lowest = match fail_on {
        FailOn::Error => Some(Level::Error),
        FailOn::Warning => Some(Level::Warning),
        FailOn::Never => None,
    };
    let fails = lowest.is_some_and(|lowest| {
        report.faults().any(|finding| counts(finding) && finding.level >= lowest)
    });
    of_answer(report, fails)
}

/// The exit status of a command that answers a question. `fails` is true for a negative answer.
pub fn of_answer(report: &Report, fails: bool) -> Exit {
    if fails {
        Exit::Findings
    } else if report.complete {
        Exit::Clean
    } else {
        Exit::Incomplete
    }
}
