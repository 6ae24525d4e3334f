//! Reports: what a run found, written in one format each. A report is one file and one row in
//! [`OUTPUTS`]. It formats and decides nothing; it opens no file and writes only where it is told.

mod human;
pub mod json;
mod ldd;
mod ldd_musl;
pub mod remedy;
mod style;
mod summary;
mod table;
mod waived;

pub use style::Style;
pub(crate) use summary::incomplete;

use crate::audit::Audit;
use crate::judge::Verdict;
use crate::plan::Plan;
use std::io::{self, Write};

/// What a report is made of.
pub struct Report<'a> {
    /// The facts.
    pub audit: &'a Audit,
    /// The judged findings.
    pub verdict: &'a Verdict,
    /// What was asked for.
    pub plan: &'a Plan,
}

/// A format, as options name it.
pub trait Named {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
}

impl Named for Output {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// One format.
pub struct Output {
    /// Its name on the command line.
    pub name: &'static str,
    /// Every file is a root of its own in this format.
    pub every_file_is_root: bool,
    /// It is read by people, and ends with what a baseline and waivers came to.
    pub for_people: bool,
    /// Writes the report.
    pub render: fn(&Report<'_>, Style, &mut dyn Write) -> io::Result<()>,
}

/// All formats.
pub const OUTPUTS: &[Output] = &[
    Output { name: "human", every_file_is_root: false, for_people: true, render: human::render },
    Output { name: "table", every_file_is_root: false, for_people: true, render: table::render },
    Output { name: "json", every_file_is_root: false, for_people: false, render: json::render },
    Output { name: "ldd", every_file_is_root: true, for_people: false, render: ldd::render },
];
