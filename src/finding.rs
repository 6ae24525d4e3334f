//! A finding is one fact about a file, with its evidence. Rules make findings, `triage` gives
//! each a level, and `report` writes them. A finding holds paths and names, never ids such as
//! `FileId`: ids are valid only within one run.

use crate::catalogue::RuleId;
use crate::package::Located;
use crate::policy::Origin;
use crate::text::raw_option;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The time at which a defect takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// The program does not start, or the library cannot be loaded.
    Load,
    /// The program fails at its first call of the function.
    Call,
}

/// The role of a piece of evidence in its finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// An entry point under which the finding holds, or the host program of that entry point.
    Root,
    /// An object of the chain of needs from the first entry point to the subject. The finding lists
    /// these objects in the order of the chain.
    Chain,
    /// A path that the loader tries or opens.
    Tried,
    /// A file that could satisfy the need or the reference.
    Candidate,
    /// A file that refers to the symbol.
    Reference,
    /// A file that should define the symbol.
    Provider,
    /// An undefined symbol that the missing library of this finding probably defines.
    Explained,
    /// A definition that nearly fits an undefined symbol, such as one with another version.
    NearMiss,
    /// In a comparison of two reports: a symbol or name that changed or is gone, or a file that the
    /// change breaks.
    Change,
    /// One of several files of a process that are copies of one library or define the same symbols.
    /// The finding lists these files in scope order.
    Copy,
    /// A reference that binds to a definition in an unexpected library, or in a library that is
    /// not among the file's own needs.
    Bound,
    /// A file of the process that may load the library `name` with dlopen.
    MayLoad,
}

impl EvidenceKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 12] = [
        Self::Root,
        Self::Chain,
        Self::Tried,
        Self::Candidate,
        Self::Reference,
        Self::Provider,
        Self::Explained,
        Self::NearMiss,
        Self::Change,
        Self::Copy,
        Self::Bound,
        Self::MayLoad,
    ];
}

/// A target that a CMake package defines.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CMakeTarget {
    /// The name of the package, for `find_package`.
    pub package: String,
    /// The name of the target, for `target_link_libraries`.
    pub target: String,
}

/// One piece of evidence; fields that do not apply are empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// The role of this evidence in the finding.
    pub kind: EvidenceKind,
    /// The file that the evidence is about.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub path: Option<Arc<Path>>,
    /// A needed or requested name, such as a soname.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub name: Option<Vec<u8>>,
    /// A symbol, by its raw name.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub symbol: Option<Vec<u8>>,
    /// The version of `symbol`.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub version: Option<Vec<u8>>,
    /// The archive that `member` was merged from.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub archive: Option<Arc<Path>>,
    /// A member of the archive at `path`.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub member: Option<Vec<u8>>,
    /// A word that says how the file was found, or how the file relates to the finding, such as
    /// [`PROGRAM`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<Cow<'static, str>>,
    /// The package that installed the file, such as a Debian package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The pkg-config package that links an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pkg_config: Option<Box<str>>,
    /// The CMake package that imports an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmake: Option<Box<CMakeTarget>>,
    /// For a candidate: the search-path entry with which the loader would find the file.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub entry: Option<Vec<u8>>,
    /// A remark, such as the reason why the loader did not load the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of further items of this kind that the finding does not list. If this number is
    /// set, the other fields are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<usize>,
    /// True for a detail that human-readable reports show only with `-v`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub minor: bool,
}

impl Evidence {
    /// Evidence of one kind with all other fields empty.
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
            package: None,
            pkg_config: None,
            cmake: None,
            entry: None,
            reason: None,
            more: None,
            minor: false,
        }
    }

    /// Evidence about the file at a path, with all other fields empty.
    pub fn at(kind: EvidenceKind, path: Arc<Path>) -> Self {
        Self { path: Some(path), ..Self::new(kind) }
    }

    /// Evidence that states how many of `all` items a list of at most `most` items omits. `None` if
    /// the list has all items.
    pub fn beyond(most: usize, kind: EvidenceKind, all: usize) -> Option<Self> {
        (all > most).then(|| Self { more: Some(all - most), ..Self::new(kind) })
    }

    /// True for a candidate of this system outside of the audited files, and for a shadowed
    /// library. Causes, levels and fixes ignore both. Candidates of the system depend on the
    /// machine that runs the audit, and linking a shadowed library changes nothing.
    pub fn is_of_system(&self) -> bool {
        let system = [INSTALLED, SHADOWED, REMOVED, INSTALLED_PROGRAM];
        self.how.as_deref().is_some_and(|how| system.contains(&how))
    }

    /// True for an archive of an installed package whose members were not read.
    pub fn is_unread_archive(&self) -> bool {
        let path = self.path.as_deref().filter(|_| self.is_of_system() && self.symbol.is_none());
        path.and_then(Path::extension).is_some_and(|extension| extension == "a")
    }

    /// True if the loader did not take this candidate for the reason `why`.
    pub fn is_rejected(&self, why: Rejection) -> bool {
        self.reason.as_deref().is_some_and(|reason| why.is_in(reason))
    }

    /// True for a candidate that is a program.
    pub fn is_program(&self) -> bool {
        matches!(self.how.as_deref(), Some(PROGRAM | INSTALLED_PROGRAM))
    }
}

/// End of the `reason` of a tried path at which the loader stops searching a list of directories.
pub const ENDS_LIST: &str = "the loader skips the rest of the list";
/// A reason why the loader did not take a candidate. Reports have it as a part of the text in
/// `reason`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// The loader does not search the directory of the candidate.
    NotSearched,
    /// Another file beside the candidate has the needed name.
    NameTaken,
    /// A dangling link beside the candidate has the needed name.
    NameDangles,
    /// The candidate does not define a needed version, which follows in the text.
    LacksVersion,
    /// The object would load the candidate if it came first in the search.
    TakesAnother,
}

impl Rejection {
    /// The words of `reason`.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotSearched => "its directory is not searched",
            Self::NameTaken => "another file beside it has that name",
            Self::NameDangles => "a dangling link beside it has that name",
            Self::LacksVersion => "does not define version ",
            Self::TakesAnother => "but the loader takes another file",
        }
    }

    /// True if a `reason` states this reason. Names in the text may contain the words of another
    /// one, so only whole clauses count.
    fn is_in(self, reason: &str) -> bool {
        let words = self.words();
        match self {
            Self::LacksVersion => reason.starts_with(words),
            Self::TakesAnother => {
                reason.strip_suffix(words).is_some_and(|rest| rest.ends_with(", "))
            }
            _ => reason.split(REASON_AND).any(|clause| clause == words),
        }
    }
}

/// The words between the clauses of the `reason` of a candidate.
pub const REASON_AND: &str = ", and ";

/// `detail` of a finding about device code for a target that the policy does not list.
pub const NOT_LISTED: &str = "not-listed";
/// `how` of evidence for one of the largest sections or segments of a large image.
pub const LARGEST: &str = "largest";
/// `how` of a candidate that is a program: it may load the object, but cannot be linked.
pub const PROGRAM: &str = "program";
/// `how` of a candidate that is a program outside of the audited files.
pub const INSTALLED_PROGRAM: &str = "installed-program";
/// `how` of a candidate that is a library or archive outside of the audited files.
pub const INSTALLED: &str = "installed";
/// `how` of a candidate library if the process loads another file with the same soname.
pub const SHADOWED: &str = "shadowed";
/// `how` of a candidate that does not exist, although an installed package lists it.
pub const REMOVED: &str = "removed";

/// The kind of change that a fix makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FixKind {
    /// Add an archive to a list of archives that are merged.
    AddToList,
    /// Add an archive to the link of a library or program.
    LinkArchive,
    /// Add a shared library to the link of a library or program.
    LinkLibrary,
    /// Add an entry to the search path of a library or program.
    AddSearchPath,
    /// Drop an entry from the search path of a library or program.
    DropSearchEntry,
    /// Change the tag of the search path: DT_RPATH or DT_RUNPATH.
    SetSearchTag,
    /// Remove a DT_NEEDED entry from a library or program.
    DropNeed,
    /// Replace the name in a DT_NEEDED entry of a library or program.
    RenameNeed,
    /// Install a missing file that installed files name.
    InstallFile,
    /// Build and install a component of the package.
    BuildComponent,
}

/// The end of the text of a [`Proof::Proven`] whose file has no symbol table (`.symtab`): a hidden
/// symbol of the file may be a duplicate of a symbol of an added member.
pub const STRIPPED: &str = "the file is stripped, so duplicates of its hidden symbols are not seen";

/// A part of the text of a [`Proof::Proven`]: the file does not need the C library, and the added
/// members do.
pub const COMPILER_ADDS_LIBC: &str =
    "assuming that a compiler links the file again, which adds libc.so.6";

/// The verification of a fix.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Proof {
    /// Verified: the audit resolved and bound again with the fix. The text states the result.
    Proven(Arc<str>),
    /// Not verified: the fix is a suggestion. The text says what is unknown.
    Unknown(Arc<str>),
}

/// A fix for a finding. Fields that do not apply are empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(from = "FixData", into = "FixData")]
pub struct Fix {
    /// The kind of change.
    pub intent: FixKind,
    /// The path of the list of archives that the fix changes.
    pub list: Option<Arc<Path>>,
    /// The name of the set of archives, in `list`, that the fix changes.
    pub set: Option<Vec<u8>>,
    /// The subject of the change: the name to add to the list, or an archive, library, entry of a
    /// search path, needed name, file or component.
    pub entry: Option<Vec<u8>>,
    /// A file of the same name that exists elsewhere, for `InstallFile`.
    pub from: Option<Arc<Path>>,
    /// The file to change, if it differs from the subject of the finding.
    pub file: Option<Arc<Path>>,
    /// The result of the verification.
    pub proof: Proof,
}

impl Fix {
    /// A fix with this kind, entry and verification; all other fields are empty.
    pub fn new(intent: FixKind, entry: Option<Vec<u8>>, proof: Proof) -> Self {
        Self { intent, list: None, set: None, entry, from: None, file: None, proof }
    }

    /// True if the fix was verified.
    pub fn is_proven(&self) -> bool {
        matches!(self.proof, Proof::Proven(_))
    }

    /// `safe` if the fix was verified, otherwise `suggestion`.
    pub fn level(&self) -> &'static str {
        if self.is_proven() { "safe" } else { "suggestion" }
    }
}

/// The JSON form of a fix. The text of a successful verification is left out: the evidence of the
/// finding has the result.
#[derive(Serialize, Deserialize)]
struct FixData {
    intent: FixKind,
    #[serde(with = "raw_option")]
    list: Option<Arc<Path>>,
    #[serde(with = "raw_option")]
    set: Option<Vec<u8>>,
    #[serde(with = "raw_option")]
    entry: Option<Vec<u8>>,
    #[serde(default, with = "raw_option")]
    from: Option<Arc<Path>>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "raw_option")]
    file: Option<Arc<Path>>,
    level: Cow<'static, str>,
    proven: bool,
    unknown: Option<Arc<str>>,
}

impl From<Fix> for FixData {
    fn from(fix: Fix) -> Self {
        let (level, proven) = (fix.level().into(), fix.is_proven());
        let Fix { intent, list, set, entry, from, file, proof } = fix;
        let unknown = match proof {
            Proof::Proven(_) => None,
            Proof::Unknown(what) => Some(what),
        };
        Self { intent, list, set, entry, from, file, level, proven, unknown }
    }
}

impl From<FixData> for Fix {
    fn from(data: FixData) -> Self {
        let FixData { intent, list, set, entry, from, file, proven, unknown, .. } = data;
        let said = unknown.unwrap_or_default();
        let proof = if proven { Proof::Proven(said) } else { Proof::Unknown(said) };
        Self { intent, list, set, entry, from, file, proof }
    }
}

/// A rule's hint at the repair that would remove a finding. The report derives the finding's cause
/// from the hint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CauseHint {
    /// This soname, or interpreter, was not found.
    LibraryNotFound(Vec<u8>),
    /// This soname, or interpreter, was found outside of the package's closure.
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
        /// The entry's key and name, which do not depend on the location of the policy.
        key: String,
        /// The location of the entry.
        origin: Origin,
    },
    /// With this option, the audit could decide the rule's question for this and other files.
    MissingOption {
        /// The option, as typed on the command line.
        option: &'static str,
        /// The title of the cause.
        title: String,
    },
    /// The system has no loader for this machine, such as `aarch64` or `aarch64 with musl`.
    NoLoader(String),
    /// The object has undefined symbols, and their provider is unknown.
    UndefinedIn,
}

/// Findings on their way from rules to reports. Each is boxed, because findings are large and
/// sorting moves them.
pub type Findings = Vec<Box<Finding>>;

/// One fact that a rule states about a file.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The id of the rule that states the fact.
    pub rule: RuleId,
    /// The file that the finding is about, with the prefix that contains it.
    pub file: Arc<Located>,
    /// The first entry point, in byte order, under which the finding holds. `None` if the finding
    /// does not depend on an entry point.
    pub root: Option<Arc<Path>>,
    /// The symbol that the finding is about, by its raw name.
    pub symbol: Option<Vec<u8>>,
    /// The version of `symbol`, such as `GLIBC_2.34`. Without a symbol, the version that the
    /// finding is about.
    pub version: Option<Vec<u8>>,
    /// The library that the finding is about, by its needed name.
    pub library: Option<Vec<u8>>,
    /// The GPU target that the finding is about, such as `gfx90a`.
    pub target: Option<Vec<u8>>,
    /// The member that the finding is about; `file` is then an archive.
    pub member: Option<Vec<u8>>,
    /// The subject of the finding within the file, if no other key fits.
    pub detail: Option<Vec<u8>>,
    /// When the defect takes effect; `None` if the rule does not say.
    pub when: Option<When>,
    /// True if the level of this finding is at most a warning, even if the level of the rule is an
    /// error.
    pub mild: bool,
    /// The message: one sentence, with raw names of symbols.
    pub message: String,
    /// The facts that support the finding.
    pub evidence: Vec<Evidence>,
    /// A shell command that shows the fact with another tool, such as `readelf`.
    pub witness: Option<String>,
    /// Verified or suggested fixes that would remove the finding.
    pub fix: Vec<Fix>,
    /// The rule's hint at the cause.
    pub cause: Option<CauseHint>,
}

impl Finding {
    /// A finding of `rule` about `file` with all other fields empty. It is boxed because it is
    /// large and moved often.
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
            mild: false,
            message,
            evidence: Vec::new(),
            witness: None,
            fix: Vec::new(),
            cause: None,
        })
    }

    /// The evidence of one kind, in the order of `evidence`.
    pub fn evidence_of(&self, kind: EvidenceKind) -> impl Iterator<Item = &Evidence> {
        self.evidence.iter().filter(move |evidence| evidence.kind == kind)
    }

    /// The absolute path of the subject file.
    pub fn full_path(&self) -> PathBuf {
        self.file.full_path()
    }

    /// The keys of the finding and their values. The keys have the names that JSON, fingerprints
    /// and waivers use.
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

    /// The key by which a report sorts findings: prefix, path, rule, library, symbol, version,
    /// target, member and detail.
    pub fn key(&self) -> impl Ord + use<'_> {
        // Paths compare by bytes here; `Path` itself compares component by component.
        (
            self.file.prefix.as_deref().map(Path::as_os_str),
            self.file.path.as_os_str(),
            self.rule,
            (&self.library, &self.symbol, &self.version, &self.target, &self.member, &self.detail),
        )
    }
}
