//! The report model: the result of a run, as data. `Report::new` (`build`) makes it, and renderers
//! only render it. `json` writes it and reads it back. The JSON file is enough to render the report
//! again, so the model holds names and paths, never the indices of [`crate::id`].
//!
//! The data of `--facts` can be far larger than the rest: exports and imports of files, and
//! bindings. A [`StreamedFacts`] streams this data, and the model of a run does not hold it.

mod build;
mod cause;
mod definers;
mod facts;
mod file;
mod finding;
mod group;
mod layers;
mod platform;
mod replaced;
mod scope;

pub use build::Parts;
pub use cause::{AffectedDirectory, Cause, CauseKind, Causes};
pub use facts::AuditFacts;
pub use file::{
    AuditedArchive, Export, ExportKind, File, Imports, Name, ReportedNeed, RootBindings,
    StreamedFacts, SymbolBinding,
};
pub use finding::{ReportFinding, ReportWaiver, WaivedBy, WaivedFinding};
pub use group::CauseGroup;
pub use layers::{LayerFile, Layers, LikeStage};
pub use platform::{Blocker, BlockerKind, PlatformResult};
pub use scope::{ScopeFile, SearchedScope};

use crate::catalogue::Level;
use crate::id::FastMap;
use crate::text::{raw, raw_option, show};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the schema, `docs/report.schema.json`. Later versions of the schema `/1` may add
/// keys, and keep all existing keys.
pub const SCHEMA: &str = "linkaudit.report/1";

/// The result of a run. [`super::json`] writes the keys in this order.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Report {
    /// The name of the schema: [`SCHEMA`].
    pub schema: String,
    /// The program that made the report.
    pub tool: Tool,
    /// The policies by name, in the order in which they were merged.
    pub policies: Vec<String>,
    /// True if the run could read all files and decide all questions.
    pub complete: bool,
    /// Counts of the walk, and of undefined references without findings.
    pub totals: Totals,
    /// Numbers of findings by level and state, and of unused waivers.
    #[serde(default)]
    pub counts: Counts,
    /// The rules that ran, with their levels.
    #[serde(default)]
    pub rules: Vec<RuleRun>,
    /// Assumed references, by provider. A host program or library that was not read may define
    /// them.
    #[serde(default)]
    pub assumptions: Vec<Assumption>,
    /// The causes, sorted by level and then by number of findings, descending.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Groups of similar causes, sorted by level and then by number of findings, descending.
    #[serde(default)]
    pub groups: Vec<CauseGroup>,
    /// The lookup scopes of entry points with undefined symbols, sorted by path.
    #[serde(default)]
    pub scopes: Vec<SearchedScope>,
    /// The reported findings, sorted by prefix, path, rule and subject.
    pub findings: Vec<ReportFinding>,
    /// The waived findings, sorted by prefix, path, rule and subject.
    pub waived: Vec<WaivedFinding>,
    /// The ELF files that were read, sorted by path. Empty if no output writes them.
    pub files: Vec<File>,
    /// The audited archives, sorted by path. Empty if no output writes them.
    pub archives: Vec<AuditedArchive>,
    /// Links to directories below the audited paths; `None` without `--facts`.
    #[serde(default)]
    pub directory_links: Option<Vec<DirectoryLink>>,
    /// Stale lines of the baseline, in file order: the run checked the file and the rule of such a
    /// line, and has no finding for the line.
    #[serde(default)]
    pub stale: Vec<StaleLine>,
    /// The platforms that the files satisfy; empty if no policy names a platform.
    #[serde(default)]
    pub platform: Vec<PlatformResult>,
    /// The libraries that entry points load, by layer; `None` without `--staged`.
    #[serde(default)]
    pub layers: Option<Layers>,
    /// PATHs of the command line that look like staging directories.
    #[serde(default)]
    pub like_stages: Vec<LikeStage>,
    /// True if the findings were compared with a baseline or an older version. Then the findings
    /// that are not waived are new.
    #[serde(default)]
    pub compared: bool,
    /// The result of `--cross-check`; `None` without that option.
    #[serde(default)]
    pub cross_check: Option<ReportCrossCheck>,
    /// All bindings. `Some` only in a report with `--facts` that was read back.
    #[serde(default)]
    pub bindings: Option<Vec<RootBindings<'static>>>,
}

/// A symbolic link to a directory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DirectoryLink {
    /// The path of the link, with links resolved in the directories that contain it.
    #[serde(with = "raw")]
    pub path: Arc<Path>,
    /// The path of the directory, with links resolved.
    #[serde(with = "raw")]
    pub target: Arc<Path>,
}

/// The program that made a report.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tool {
    /// The name of the program: `linkaudit`.
    pub name: String,
    /// The version of the program, such as `1.2.0`.
    pub version: String,
}

/// Counts of walked and read entries.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Totals {
    /// Number of entries that the walk found: the sum of `elf`, `archives`, `other`, `links`,
    /// `special`, `partial`, `foreign` and `skipped`.
    pub entries: usize,
    /// Number of ELF files, except those in `partial` and `foreign`.
    pub elf: usize,
    /// Number of static archives, except those in `partial`.
    pub archives: usize,
    /// Number of regular files of other kinds.
    pub other: usize,
    /// Number of symbolic links.
    pub links: usize,
    /// Number of FIFOs, sockets and devices.
    pub special: usize,
    /// Number of files that could be read only in part.
    pub partial: usize,
    /// Number of ELF files of other systems, by kind. They were not audited.
    #[serde(default)]
    pub foreign: BTreeMap<String, usize>,
    /// Number of entries that were not read, by reason.
    pub skipped: BTreeMap<String, usize>,
    /// Number of entry points.
    pub roots: usize,
    /// Number of code objects for GPUs.
    pub code_objects: usize,
    /// Number of undefined references that missing libraries explain. Assumed references are not
    /// included.
    pub explained: usize,
    /// Number of assumed references; [`Report::assumptions`] names the providers.
    pub assumed: usize,
    /// Number of assumed references for each `[[host]]` entry of a policy, by its name.
    pub assumed_by_host: BTreeMap<String, usize>,
    /// Number of audited ELF files, including those that the walk reached only through links.
    #[serde(default)]
    pub audited: usize,
    /// Number of audited archives, including those that the walk reached only through links.
    #[serde(default)]
    pub audited_archives: usize,
    /// Number of audited archives whose members were not read.
    #[serde(default)]
    pub unread_archives: usize,
}

/// Numbers of findings by level and state, and of unused waivers.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Number of reported errors, except those in `incomplete`.
    pub errors: usize,
    /// Number of reported warnings, except those in `incomplete`.
    pub warnings: usize,
    /// Number of findings that make the run incomplete, of any level.
    pub incomplete: usize,
    /// Number of waived findings.
    pub waived: usize,
    /// Number of findings that a baseline waives. `waived` includes them.
    pub waived_by_baseline: usize,
    /// Number of unused waivers and baseline lines about files outside of this run.
    pub unused_elsewhere: usize,
}

/// A rule that ran.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RuleRun {
    /// The id of the rule, such as `missing-library`.
    pub id: String,
    /// The name of the rule's group.
    pub group: String,
    /// The level of the rule in this run.
    #[serde(with = "finding::level")]
    pub level: Level,
    /// True if findings of the rule make the run incomplete.
    pub input: bool,
}

/// Kinds of assumed providers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssumedBy {
    /// A host program that the command line does not name.
    HostProgram,
    /// A library that the target system is assumed to provide.
    ProvidedLibrary,
    /// The missing libraries whose findings are waived or have the level `allow`, counted together.
    AcceptedMissingLibrary,
    /// A host program that linkaudit inferred from the references of its plugins.
    InferredHost,
}

/// Assumed references of one provider.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Assumption {
    /// The kind of provider.
    pub by: AssumedBy,
    /// The name or path of the host program, or the soname of the library. `None` for missing
    /// libraries, which are counted together.
    pub name: Option<String>,
    /// Number of assumed references.
    pub references: usize,
    /// Number of files with these references; `None` if it was not counted.
    pub files: Option<usize>,
    /// The plugins of an inferred host program, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<InferredPlugin>,
}

/// A plugin of an inferred host program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct InferredPlugin {
    /// The path of the plugin.
    #[serde(with = "raw")]
    pub path: Arc<Path>,
    /// The pattern for `--host`: the path of the plugin below its prefix, with special characters
    /// escaped.
    #[serde(with = "raw")]
    pub pattern: Vec<u8>,
}

/// A stale line of a baseline: the run checked its file and rule, and has no finding for the line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StaleLine {
    /// The number of the line in the baseline, from 1.
    pub line: u32,
    /// The fingerprint in the line.
    pub fingerprint: String,
    /// The id of the rule in the line. This version may not know the rule.
    pub rule: String,
    /// The path of the finding's file, relative to its prefix.
    #[serde(with = "raw")]
    pub path: Vec<u8>,
    /// The subject of the finding: a symbol, library, target, member or detail, with `@` and a
    /// version if it has one.
    #[serde(with = "raw")]
    pub name: Vec<u8>,
    /// True if the run has no file at the path of the line.
    #[serde(default)]
    pub gone: bool,
    /// The full path of the file; `None` if several prefixes of the run may contain it.
    #[serde(with = "raw_option", default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

impl Report {
    /// The stale lines, each with the reason why its finding may still occur. The reason is that
    /// the rule is unknown, or that another line waives the finding. `None` if the finding no
    /// longer occurs.
    pub fn stale_lines(&self) -> Vec<(&StaleLine, Option<String>)> {
        let mut used: FastMap<(&str, &Path), Option<u32>> = FastMap::default();
        for waived in self.waived.iter().filter(|waived| waived.waiver.by == WaivedBy::Baseline) {
            let finding = &waived.finding;
            let place = (&*finding.fingerprint, &*finding.file.path);
            used.entry(place).or_insert(waived.waiver.line);
        }
        let reason = |line: &StaleLine| {
            if crate::rules::find(&line.rule).is_none() {
                return Some("unknown rule".to_owned());
            }
            let place = (&*line.fingerprint, Path::new(OsStr::from_bytes(&line.path)));
            let other = (*used.get(&place)?)?;
            Some(format!("repeats line {other}"))
        };
        self.stale.iter().map(|line| (line, reason(line))).collect()
    }
}

impl StaleLine {
    /// The line for people: rule, path and name, without the fingerprint. `reason` comes from
    /// [`Report::stale_lines`].
    pub fn words(&self, reason: Option<&str>) -> String {
        let name = show(&self.name);
        let name = if name.is_empty() { name } else { format!(" {name}") };
        let reason = match reason {
            Some(reason) => format!(": {reason}"),
            None if self.gone => " (file gone)".to_owned(),
            None => String::new(),
        };
        format!("{} {}{name}{reason}", self.rule, show(&self.path))
    }
}

/// The result of the cross-check.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReportCrossCheck {
    /// Number of files that were compared.
    pub read: usize,
    /// Number of skipped files, by reason.
    pub not_read: BTreeMap<String, usize>,
}

impl Report {
    /// True if the rule of `finding` makes runs incomplete instead of failing them.
    pub fn is_input(&self, finding: &ReportFinding) -> bool {
        self.rules.iter().any(|rule| rule.input && rule.id == finding.rule)
    }

    /// Findings that make the run incomplete.
    pub fn inputs(&self) -> impl Iterator<Item = &ReportFinding> {
        self.findings.iter().filter(|finding| self.is_input(finding))
    }

    /// Findings that can fail the run: all except [`Self::inputs`].
    pub fn faults(&self) -> impl Iterator<Item = &ReportFinding> {
        self.findings.iter().filter(|finding| !self.is_input(finding))
    }
}
