//! The difference of two reports: the findings that a new version of a prefix adds, fixes and
//! keeps. `sides` holds the reports, and `pairs` finds the counterpart of each file. `names` finds
//! lost file names, `search_paths` finds lost entries of search paths, `symbols` compares exports,
//! and `users` finds the files that a change breaks. `fresh` compares the findings of the audits.
//! `compare` makes the findings, with texts from `words`, and `undecided` lists the comparisons
//! that could not be made. `worse` makes a report of the new findings, so that every output can
//! write it; `human` and `json` add the fixed findings and the added files. No file is opened here.

mod compare;
mod fresh;
mod human;
mod json;
mod names;
mod pairs;
mod search_paths;
mod sides;
mod symbols;
mod undecided;
mod users;
mod words;
mod worse;

pub use compare::compare;
pub use human::render as human;
pub use json::{SCHEMA, render as json};
pub use sides::{PolicyDecisions, Side, SideSymbols};

use crate::report::Report;
use crate::report::model::ReportFinding;

/// The result of a comparison.
pub struct Difference {
    /// The names of the old and the new side, as typed.
    pub names: [String; 2],
    /// The new findings, as a report.
    pub worse: Report,
    /// Findings of the old side that the new side does not have.
    pub fixed: Vec<ReportFinding>,
    /// Paths of the files of the new side that have no counterpart.
    pub added: Vec<String>,
    /// Number of findings that both sides have.
    pub unchanged: usize,
    /// Number of new files with a counterpart and without a difference: no finding about the file
    /// or a name of it is new, fixed or waived.
    pub same_files: usize,
    /// True if a new finding is about a file, a name of a file, an exported symbol, one of its
    /// versions or a GPU target that is gone.
    pub is_any_gone: bool,
    /// Number of new findings of the group `compatibility` that a waiver accepts.
    pub waived: usize,
    /// Comparisons that could not be made, with the reason.
    pub undecided: Vec<String>,
}
