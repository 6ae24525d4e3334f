//! The difference of two reports: the findings that a new version of a prefix adds, fixes and
//! keeps. This module opens no file.
//!
//! - `sides` holds the reports, and `pairs` finds the new version of each file.
//! - `names` finds lost file names, `search_paths` finds lost entries of search paths, `symbols`
//!   compares exports, and `users` finds the files that a change breaks. `numbers` replaces version
//!   numbers in paths.
//! - `given` applies levels and waivers to reports that were read.
//! - `fresh` compares the findings of the audits.
//! - `compare` makes the findings, with texts from `words`. `undecided` lists the comparisons that
//!   could not be made, and `unread` the paths that one side could not read.
//! - `worse` puts the new findings into a report, because every output can write a report. `human`
//!   and `json` add the fixed findings and the added files; `human` also has the table and the
//!   Markdown page.

mod compare;
mod fresh;
mod given;
mod human;
mod json;
mod names;
mod numbers;
mod pairs;
mod search_paths;
mod sides;
mod symbols;
mod undecided;
mod unread;
mod users;
mod words;
mod worse;

pub use compare::compare;
pub use given::{allows_unread, apply_policy, find_unread};
pub use human::{markdown, render as human, table};
pub use json::{SCHEMA, render as json};
pub use sides::{PolicyDecisions, Side, SideSymbols};

use crate::report::Report;
use crate::report::model::ReportFinding;

/// The result of a comparison of two reports.
pub struct Difference {
    /// The old and the new report or prefix, as typed.
    pub names: [String; 2],
    /// The new findings, as a report.
    pub worse: Report,
    /// Findings that only the old report has.
    pub fixed: Vec<ReportFinding>,
    /// Paths of new files without an old version, below their prefix.
    pub added: Vec<String>,
    /// Number of findings that both reports have.
    pub unchanged: usize,
    /// Number of new files that do not differ from their old version. A file differs if a finding
    /// about the file or one of its names is new, fixed or waived.
    pub same_files: usize,
    /// False if a report has no exports. Files that count as unchanged may then have changed
    /// symbols.
    pub compares_symbols: bool,
    /// True if a new finding says that a file, file name, exported symbol, symbol version or GPU
    /// target is gone.
    pub is_any_gone: bool,
    /// Number of new findings of the group `compatibility` that a waiver accepts.
    pub waived: usize,
    /// Comparisons that could not be made, with the reason.
    pub undecided: Vec<String>,
}
