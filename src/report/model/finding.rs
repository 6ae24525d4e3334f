//! A reported finding: a rule's finding with its level, fingerprint and cause.

use crate::catalogue::Level;
use crate::finding::{Evidence, EvidenceKind, Finding, Fix, When};
use crate::package::Located;
use crate::text::{Text, raw, raw_option};
use serde::de::Deserializer;
use serde::ser::{SerializeStruct as _, Serializer};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A finding of a report. Optional fields that do not apply are `None`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReportFinding {
    /// The rule's id. In a report that was read back, this version of linkaudit may not have the
    /// rule.
    pub rule: Cow<'static, str>,
    /// The level of the finding: warning or error.
    #[serde(with = "level")]
    pub level: Level,
    /// The file that the finding is about.
    #[serde(flatten)]
    pub file: Arc<Located>,
    /// The first entry point, in byte order of paths, under which the finding occurs.
    #[serde(with = "raw_option")]
    pub root: Option<Arc<Path>>,
    /// The raw name of the symbol that the finding is about.
    #[serde(with = "raw_option")]
    pub symbol: Option<Vec<u8>>,
    /// The symbol version that the finding is about, such as `GLIBC_2.34`.
    #[serde(with = "raw_option")]
    pub version: Option<Vec<u8>>,
    /// The library that the finding is about, by its name in DT_NEEDED.
    #[serde(with = "raw_option")]
    pub library: Option<Vec<u8>>,
    /// The GPU target that the finding is about.
    #[serde(with = "raw_option")]
    pub target: Option<Vec<u8>>,
    /// The archive member that the finding is about, if the file is an archive.
    #[serde(with = "raw_option")]
    pub member: Option<Vec<u8>>,
    /// A further part of the subject, such as `PT_INTERP`. It is the whole subject if no other
    /// field fits.
    #[serde(with = "raw_option")]
    pub detail: Option<Vec<u8>>,
    /// When the defect takes effect: at load or at a call. `None` if the rule does not say.
    pub when: Option<When>,
    /// The message, one line without demangled names.
    pub message: String,
    /// The evidence of this finding alone. Evidence that all findings of its cause share is moved
    /// to the cause. [`super::Causes::evidence`] looks in the finding first, then in the cause.
    pub evidence: Vec<Evidence>,
    /// Fixes that would remove the finding, verified or not.
    pub fix: Vec<Fix>,
    /// A command that shows the defect with another tool; `None` if there is no such command.
    pub witness: Option<String>,
    /// The fingerprint, stable across rebuilds of the package.
    pub fingerprint: String,
    /// The id of the cause. [`super::Report::causes`] lacks causes with only waived findings.
    #[serde(default)]
    pub cause: Arc<str>,
}

impl ReportFinding {
    /// Converts the finding of a rule. The cause stays empty, and is named later.
    pub(crate) fn of(fact: Finding, level: Level, fingerprint: String) -> Self {
        Self {
            rule: Cow::Borrowed(fact.rule.as_str()),
            level,
            file: fact.file,
            root: fact.root,
            symbol: fact.symbol,
            version: fact.version,
            library: fact.library,
            target: fact.target,
            member: fact.member,
            detail: fact.detail,
            when: fact.when,
            message: fact.message,
            evidence: fact.evidence,
            fix: fact.fix,
            witness: fact.witness,
            fingerprint,
            cause: Arc::default(),
        }
    }

    /// The evidence of one kind in the finding itself, without the evidence of its cause.
    pub fn evidence_of(&self, kind: EvidenceKind) -> impl Iterator<Item = &Evidence> {
        self.evidence.iter().filter(move |evidence| evidence.kind == kind)
    }

    /// True if the finding has fixes, and all of them are verified.
    pub fn has_proven_fix(&self) -> bool {
        !self.fix.is_empty() && self.fix.iter().all(Fix::is_proven)
    }

    /// The full path of the file: the prefix, if any, and the path below it.
    pub fn full_path(&self) -> PathBuf {
        self.file.full_path()
    }
}

/// A waived finding.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WaivedFinding {
    /// The finding, with all of its evidence.
    #[serde(flatten)]
    pub finding: ReportFinding,
    /// The waiver that applies, shared by all findings that it waives.
    pub waiver: Arc<ReportWaiver>,
}

/// A policy entry or baseline line that waives findings.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReportWaiver {
    /// The kind of the source: policy or baseline.
    pub by: WaivedBy,
    /// The reason that the waiver states; `None` for a baseline line without a reason.
    pub reason: Option<String>,
    /// The name of the policy or baseline.
    pub source: String,
    /// The line in the source, from 1; `None` if the source has no lines.
    pub line: Option<u32>,
    /// The last day on which the waiver applies, as `2025-12-31`; `None` if it never expires.
    pub expires: Option<String>,
}

/// Sources of waivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaivedBy {
    /// An entry of a policy.
    Policy,
    /// A line of a baseline.
    Baseline,
}

/// Writes and reads levels by their names in reports.
pub(super) mod level {
    use crate::catalogue::Level;
    use serde::de::{Deserialize as _, Deserializer, Error as _};
    use serde::ser::Serializer;
    use std::borrow::Cow;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    pub(crate) fn serialize<S: Serializer>(level: &Level, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(level.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Level, D::Error> {
        let name = Cow::<str>::deserialize(from)?;
        let all = [Level::Allow, Level::Warning, Level::Error];
        let found = all.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| D::Error::custom(format!("unknown level `{name}`")))
    }
}

// A location is serialised as two keys of the finding.
impl Serialize for Located {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut out = to.serialize_struct("Located", 2)?;
        out.serialize_field("prefix", &self.prefix.as_deref().map(Text::path))?;
        out.serialize_field("path", &Text::path(&self.path))?;
        out.end()
    }
}

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct SerializedPath {
            #[serde(with = "raw_option")]
            prefix: Option<PathBuf>,
            #[serde(with = "raw")]
            path: PathBuf,
        }
        let SerializedPath { prefix, path } = SerializedPath::deserialize(from)?;
        Ok(Self { prefix, path })
    }
}
