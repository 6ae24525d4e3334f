//! Findings: one fact each, with the evidence for it. Rules make them, `judge` gives them a level,
//! `report` writes them. A finding holds names, never ids.

use crate::catalogue::RuleId;
use crate::package::Located;
use crate::policy::Origin;
use crate::text::raw_option;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// When a finding strikes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// The program does not start, or the library cannot be loaded.
    Load,
    /// The program ends when the function is first called.
    Call,
}

/// What a piece of evidence is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// A root under which the fact holds.
    Root,
    /// One hop of the chain from the first root, in order.
    Chain,
    /// A path that was tried.
    Tried,
    /// A file that could satisfy it.
    Candidate,
    /// Who refers to the symbol.
    Reference,
    /// Who should provide it.
    Provider,
    /// A reference that this finding explains.
    Explained,
    /// A definition in the scope that nearly fits.
    NearMiss,
}

impl EvidenceKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Root,
        Self::Chain,
        Self::Tried,
        Self::Candidate,
        Self::Reference,
        Self::Provider,
        Self::Explained,
        Self::NearMiss,
    ];
}

/// One piece of evidence; fields that do not apply are empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// What it is.
    pub kind: EvidenceKind,
    /// A file, by path.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub path: Option<Arc<Path>>,
    /// A name as it was asked for.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub name: Option<Vec<u8>>,
    /// A symbol.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub symbol: Option<Vec<u8>>,
    /// Its version.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub version: Option<Vec<u8>>,
    /// The archive that the member was merged from.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub archive: Option<Arc<Path>>,
    /// A member of the archive at `path`.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub member: Option<Vec<u8>>,
    /// How a file was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<Cow<'static, str>>,
    /// Why it was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A detail that is shown to people only when they want everything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub minor: bool,
}

impl Evidence {
    /// Evidence of one kind with nothing else set.
    pub fn new(kind: EvidenceKind) -> Self {
        Self {
            kind,
            path: None,
            name: None,
            symbol: None,
            version: None,
            archive: None,
            member: None,
            how: None,
            reason: None,
            minor: false,
        }
    }

    /// With a path.
    pub fn at(kind: EvidenceKind, path: Arc<Path>) -> Self {
        Self { path: Some(path), ..Self::new(kind) }
    }
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    /// An archive joins a list of archives that are merged.
    AddToList,
    /// An archive joins the link of a library or program.
    LinkArchive,
}

/// How sure a fix is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Proof {
    /// Resolving and binding ran again with it: what they showed.
    Proven(Arc<str>),
    /// It is a suggestion: what is not known.
    Unknown(Arc<str>),
}

/// One thing to do about a finding. Fields that do not apply are empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(from = "FixData", into = "FixData")]
pub struct Fix {
    /// What.
    pub intent: Intent,
    /// The list it is about.
    pub list: Option<Arc<Path>>,
    /// The set of that list.
    pub set: Option<Vec<u8>>,
    /// The name on the list, or the archive's path.
    pub entry: Option<Vec<u8>>,
    /// How sure it is.
    pub proof: Proof,
}

impl Fix {
    /// True if it was shown to help.
    pub fn is_proven(&self) -> bool {
        matches!(self.proof, Proof::Proven(_))
    }

    /// The word for how sure it is: `safe` if it was proven.
    pub fn level(&self) -> &'static str {
        if self.is_proven() { "safe" } else { "suggestion" }
    }
}

/// A fix in a report. The results of its verification are evidence of the finding.
#[derive(Serialize, Deserialize)]
struct FixData {
    intent: Intent,
    #[serde(with = "raw_option")]
    list: Option<Arc<Path>>,
    #[serde(with = "raw_option")]
    set: Option<Vec<u8>>,
    #[serde(with = "raw_option")]
    entry: Option<Vec<u8>>,
    level: Cow<'static, str>,
    proven: bool,
    unknown: Option<Arc<str>>,
}

impl From<Fix> for FixData {
    fn from(fix: Fix) -> Self {
        let (level, proven) = (fix.level().into(), fix.is_proven());
        let Fix { intent, list, set, entry, proof } = fix;
        let unknown = match proof {
            Proof::Proven(_) => None,
            Proof::Unknown(what) => Some(what),
        };
        Self { intent, list, set, entry, level, proven, unknown }
    }
}

impl From<FixData> for Fix {
    fn from(data: FixData) -> Self {
        let FixData { intent, list, set, entry, proven, unknown, .. } = data;
        let said = unknown.unwrap_or_default();
        let proof = if proven { Proof::Proven(said) } else { Proof::Unknown(said) };
        Self { intent, list, set, entry, proof }
    }
}

/// A rule's hint at the repair that would remove a finding. The report names the cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CauseHint {
    /// This soname, or interpreter, is not found.
    LibraryNotFound(Vec<u8>),
    /// This soname, or interpreter, is found outside of the package's closure.
    FoundOutside {
        /// The needed name.
        name: Vec<u8>,
        /// The title of the cause.
        title: String,
    },
    /// The file is damaged or cannot be read.
    DamagedFile,
    /// The file violates an entry of a policy.
    PolicyEntry {
        /// The entry's key and name, which do not depend on where the policy lies.
        key: String,
        /// Where the entry stands.
        origin: Origin,
    },
    /// The system has no loader for this machine.
    NoLoader(String),
    /// The object has undefined symbols, and their provider is unknown.
    UndefinedIn,
}

/// Findings on their way from rules to reports: each is large, and they are sorted.
pub type Findings = Vec<Box<Finding>>;

/// One fact that a rule states.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule's id.
    pub rule: RuleId,
    /// The file it is about.
    pub file: Arc<Located>,
    /// The first root, in byte order, under which it holds.
    pub root: Option<Arc<Path>>,
    /// A symbol, raw.
    pub symbol: Option<Vec<u8>>,
    /// A version.
    pub version: Option<Vec<u8>>,
    /// A library by the name it was asked for.
    pub library: Option<Vec<u8>>,
    /// A GPU target.
    pub target: Option<Vec<u8>>,
    /// A member of the file, which is an archive.
    pub member: Option<Vec<u8>>,
    /// What it is about where no other key fits.
    pub detail: Option<Vec<u8>>,
    /// When it strikes.
    pub when: Option<When>,
    /// One sentence without names of demangled symbols.
    pub message: String,
    /// What proves it.
    pub evidence: Vec<Evidence>,
    /// A command that shows the fact with another tool.
    pub witness: Option<String>,
    /// What would make it go away.
    pub fix: Vec<Fix>,
    /// The rule's hint at the cause.
    pub cause: Option<CauseHint>,
}

impl Finding {
    /// A finding of `rule` about `file` with nothing else set. It is large and moved often.
    pub fn new(rule: RuleId, file: Arc<Located>, message: String) -> Box<Self> {
        Box::new(Self {
            rule,
            file,
            root: None,
            symbol: None,
            version: None,
            library: None,
            target: None,
            member: None,
            detail: None,
            when: None,
            message,
            evidence: Vec::new(),
            witness: None,
            fix: Vec::new(),
            cause: None,
        })
    }

    /// Evidence of one kind.
    pub fn evidence_of(&self, kind: EvidenceKind) -> impl Iterator<Item = &Evidence> {
        self.evidence.iter().filter(move |evidence| evidence.kind == kind)
    }

    /// The file's whole path.
    pub fn full_path(&self) -> PathBuf {
        self.file.full_path()
    }

    /// What the fact is about, by the names that JSON, fingerprints and waivers have for it.
    pub fn keys(&self) -> [(&'static str, Option<&[u8]>); 6] {
        [
            ("symbol", self.symbol.as_deref()),
            ("version", self.version.as_deref()),
            ("library", self.library.as_deref()),
            ("target", self.target.as_deref()),
            ("member", self.member.as_deref()),
            ("detail", self.detail.as_deref()),
        ]
    }

    /// The order of a report: by place, rule, and what the fact is about.
    pub fn key(&self) -> impl Ord + use<'_> {
        // Paths compare by bytes here; `Path` itself compares part by part.
        (
            self.file.prefix.as_deref().map(Path::as_os_str),
            self.file.path.as_os_str(),
            self.rule,
            (&self.library, &self.symbol, &self.version, &self.target, &self.member, &self.detail),
        )
    }
}
