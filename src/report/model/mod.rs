//! The report model: what a run found, as data. [`Report::new`](build) makes it once, renderers only
//! render it, `json` writes it and reads it back, and nothing else is needed to render it again later.
//! It holds names, never ids, and no rule decides anything here.
//!
//! Two lists can be far larger than all else: the exports of files and the bindings of `--facts`. The
//! model of a run does not hold them; they are asked of a [`Facts`] while they are written.

mod build;
mod cause;
mod facts;
mod file;
mod finding;

pub use build::Parts;
pub use cause::{Cause, CauseKind, Causes};
pub use facts::AuditFacts;
pub use file::{Archive, Bound, Export, Facts, File, Need, RootBindings};
pub use finding::{Finding, Waived, WaivedBy, Waiver};

use crate::catalogue::Level;
use crate::text::{raw, show};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name of the schema, `docs/report.schema.json`. Within `/1` keys may come, and none goes.
pub const SCHEMA: &str = "linkaudit.report/1";

/// What a run found. [`super::json`] writes the keys in this order.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Report {
    /// [`SCHEMA`]
    pub schema: String,
    /// What made the report.
    pub tool: Tool,
    /// The policies by name, in the order in which they were merged.
    pub policies: Vec<String>,
    /// No finding says that something could not be read or decided.
    pub complete: bool,
    /// What was walked, and references without definition that are no findings.
    pub totals: Totals,
    /// How many findings there are of each kind.
    #[serde(default)]
    pub counts: Counts,
    /// The rules that ran, and the level that each had.
    #[serde(default)]
    pub rules: Vec<RuleRun>,
    /// What was assumed to be defined, and by whom.
    #[serde(default)]
    pub assumptions: Vec<Assumption>,
    /// What one repair each would remove, the weightiest first.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// What is reported, by place, rule and keys.
    pub findings: Vec<Finding>,
    /// What is known and accepted, in the same order.
    pub waived: Vec<Waived>,
    /// ELF files that were read, by path; empty if no output asked for them.
    pub files: Vec<File>,
    /// Audited archives by path; empty if no output asked for them.
    pub archives: Vec<Archive>,
    /// Lines of the baseline whose findings are gone.
    #[serde(default)]
    pub stale: Vec<StaleLine>,
    /// What second readers read, if they were asked.
    #[serde(default)]
    pub cross_check: Option<CrossCheck>,
    /// All bindings, where a report with them was read back.
    #[serde(default)]
    pub bindings: Option<Vec<RootBindings<'static>>>,
}

/// What made a report.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tool {
    /// `linkaudit`
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Counts of what was walked and read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Totals {
    /// Entries of the walk: the sum of the next six and all of `skipped`.
    pub entries: usize,
    /// ELF files.
    pub elf: usize,
    /// Static archives.
    pub archives: usize,
    /// Other files.
    pub other: usize,
    /// Links.
    pub links: usize,
    /// Special files.
    pub special: usize,
    /// Files that could be read in part only.
    pub partial: usize,
    /// Entries that could not be opened, by reason.
    pub skipped: BTreeMap<String, usize>,
    /// Entry points.
    pub roots: usize,
    /// Code objects for GPUs.
    pub code_objects: usize,
    /// References that missing libraries explain.
    pub explained: usize,
    /// References that are assumed to be defined; `assumptions` says by whom.
    pub assumed: usize,
    /// Those of host programs, by the name of the `[[host]]` entry.
    pub assumed_by_host: BTreeMap<String, usize>,
    /// Audited ELF files, those too that only links lead to.
    #[serde(default)]
    pub audited: usize,
    /// Audited archives whose members were not read.
    #[serde(default)]
    pub unread_archives: usize,
}

/// How many findings there are of each kind.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Findings that make the run incomplete.
    pub incomplete: usize,
    /// Waived findings.
    pub waived: usize,
    /// Of these, those that a baseline waives.
    pub waived_by_baseline: usize,
    /// Unused waivers and lines of the baseline about what this run did not look at.
    pub unused_elsewhere: usize,
}

/// A rule that ran.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RuleRun {
    /// Its id.
    pub id: String,
    /// Its group.
    pub group: String,
    /// The level that it had.
    #[serde(with = "finding::level")]
    pub level: Level,
    /// Its findings make the run incomplete.
    pub input: bool,
}

/// What is assumed to define references.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssumedBy {
    /// A program that loads plugins and was not given.
    HostProgram,
    /// A library that the target system provides.
    ProvidedLibrary,
    /// Missing libraries whose findings are allowed or waived.
    AcceptedMissingLibrary,
}

/// References that are assumed to be defined.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Assumption {
    /// By what.
    pub by: AssumedBy,
    /// The host's name or the soname; none where it stands for several libraries.
    pub name: Option<String>,
    /// How many references.
    pub references: usize,
    /// Of how many files, where that is known.
    pub files: Option<usize>,
}

/// A line of a baseline whose finding is gone.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StaleLine {
    /// The line, from 1.
    pub line: u32,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Its rule.
    pub rule: String,
    /// Its path below the prefix.
    #[serde(with = "raw")]
    pub path: Vec<u8>,
    /// What it was about.
    #[serde(with = "raw")]
    pub name: Vec<u8>,
}

impl StaleLine {
    /// The line without its comment, for people.
    pub fn words(&self) -> String {
        let name = show(&self.name);
        let name = if name.is_empty() { name } else { format!(" {name}") };
        format!("{} {}{name}", self.rule, show(&self.path))
    }
}

/// What second readers read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CrossCheck {
    /// Files that were compared.
    pub read: usize,
    /// Files that were not, by reason.
    pub not_read: BTreeMap<String, usize>,
}

impl Report {
    /// True if findings of this rule make a run incomplete instead of failing it.
    pub fn is_input(&self, finding: &Finding) -> bool {
        self.rules.iter().any(|rule| rule.input && rule.id == finding.rule)
    }

    /// Findings that say that something could not be read or decided.
    pub fn inputs(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| self.is_input(finding))
    }

    /// Findings that can fail the run.
    pub fn faults(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !self.is_input(finding))
    }
}
