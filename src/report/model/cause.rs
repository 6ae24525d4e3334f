//! Causes. A cause is one repair that removes a group of findings. Each finding has the id of its
//! cause, and a cause holds the evidence that all of its findings share. `group` joins similar
//! causes.
//!
//! The cause of a finding is the first of these that applies:
//! - a soname that was not found
//! - an archive that a fix adds to a list
//! - a file that defines the symbol and is not linked
//! - the cause in the rule's hint: a damaged file, a policy entry, a missing loader, a missing
//!   option, or an object with undefined symbols
//! - the finding itself

use super::definers::Definers;
use super::finding::{ReportFinding, level};
use crate::catalogue::Level;
use crate::finding::{CauseHint, Evidence, EvidenceKind, Fix, FixKind};
use crate::id::{FastMap, FastSet};
use crate::order::Arrange as _;
use crate::package::{Prefixes, without_hashes};
use crate::text::last_part;
use crate::text::{raw, show, show_path};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A group of findings that one repair would remove.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cause {
    /// The kind and the key of the cause, separated by a colon; stable across runs.
    pub id: Arc<str>,
    /// The kind of the cause, which is also the first part of `id`.
    pub kind: CauseKind,
    /// The subject and the defect in one line for people.
    pub title: String,
    /// The rule of the finding with the highest level. Among equal levels, a finding about a symbol
    /// comes first.
    #[serde(default)]
    pub rule: Cow<'static, str>,
    /// The highest level of its findings.
    #[serde(with = "level")]
    pub level: Level,
    /// Number of findings of the cause.
    pub findings: usize,
    /// Number of distinct files that the findings are about.
    pub files: usize,
    /// Number of distinct entry points under which the findings occur.
    pub roots: usize,
    /// Number of distinct symbols that the findings are about.
    #[serde(default)]
    pub symbols: usize,
    /// Directories of the files, sorted by number of findings, descending.
    #[serde(default)]
    pub places: Vec<AffectedDirectory>,
    /// The id of the [`super::CauseGroup`] that has this cause; `None` if the cause is in no group.
    #[serde(default)]
    pub group: Option<Arc<str>>,
    /// The fixes of its findings, each once.
    pub fix: Vec<Fix>,
    /// The evidence that all of its findings share. Empty for a single finding.
    pub evidence: Vec<Evidence>,
}

impl Cause {
    /// True if the cause is about all undefined symbols of an object, because no file that defines
    /// them is known.
    pub fn lacks_provider(&self) -> bool {
        let key = self.id.strip_prefix(CauseKind::ProviderNotLinked.name());
        key.is_some_and(|key| key.starts_with(UNKNOWN_KEY))
    }
}

/// A directory with files of a cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AffectedDirectory {
    /// The path of the directory. It is relative if the files have relative paths and belong to no
    /// prefix.
    #[serde(with = "raw")]
    pub path: PathBuf,
    /// Number of files of the cause in this directory.
    pub files: usize,
    /// Number of findings of the cause in this directory.
    pub findings: usize,
}

/// The text after the kind in the id of a cause without a known provider. The key of the object
/// follows.
const UNKNOWN_KEY: &str = ":unknown ";

/// Kinds of causes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// A soname or interpreter that was not found, cannot be used, or lies outside of the closure.
    LibraryNotFound,
    /// An archive missing from a list of archives.
    ArchiveNotListed,
    /// A file that defines undefined symbols and is not linked. If no such file is known, all
    /// undefined symbols of an object have one cause.
    ProviderNotLinked,
    /// A file that is damaged or cannot be read.
    DamagedFile,
    /// An entry of a policy that a file violates.
    PolicyEntry,
    /// The system has no loader for a machine. All objects of the machine have one cause.
    NoLoader,
    /// The result depends on an option that the command line lacks. All findings that lack the same
    /// option have one cause.
    MissingOption,
    /// A finding that is its own cause.
    Finding,
}

impl CauseKind {
    /// The name of the kind, which is the first part of ids.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::LibraryNotFound => "library-not-found",
            Self::ArchiveNotListed => "archive-not-listed",
            Self::ProviderNotLinked => "provider-not-linked",
            Self::DamagedFile => "damaged-file",
            Self::PolicyEntry => "policy-entry",
            Self::NoLoader => "no-loader",
            Self::MissingOption => "missing-option",
            Self::Finding => "finding",
        }
    }
}

/// A cause by kind and key, with its title.
pub(super) struct NamedCause {
    pub(super) kind: CauseKind,
    key: String,
    pub(super) title: String,
    /// The file that the key identifies, if any. Two files with equal keys have two causes.
    pub(super) file: Option<PathBuf>,
}

impl NamedCause {
    fn new(kind: CauseKind, key: String, title: String) -> Self {
        Self { kind, key, title, file: None }
    }

    fn of_file(self, file: PathBuf) -> Self {
        Self { file: Some(file), ..self }
    }

    /// Kind and key. The key of a file is its package and its path below the prefix. The key of a
    /// policy entry is its TOML key and name. Neither key depends on the directory in which
    /// linkaudit runs.
    pub(super) fn id(&self) -> String {
        format!("{}:{}", self.kind.name(), self.key)
    }
}

/// The cause of one finding, by kind, key and title. `hint` comes from the finding's rule.
pub(super) fn name(
    finding: &ReportFinding,
    hint: Option<&CauseHint>,
    prefixes: &Prefixes,
    definers: &Definers,
) -> NamedCause {
    let whole = |kind, key| NamedCause::new(kind, key, title_of(finding));
    match hint {
        Some(CauseHint::LibraryNotFound(name)) => return not_found(finding, name),
        Some(CauseHint::FoundOutside { name, title }) => {
            return NamedCause::new(CauseKind::LibraryNotFound, show(name), title.clone());
        }
        _ => {}
    }
    if let Some(listed) = unlisted(finding, prefixes) {
        return listed;
    }
    if let Some(provider) = provider(finding, prefixes, definers) {
        return provider;
    }
    let place = || {
        let path = finding.file.path.as_os_str().as_bytes();
        let package = finding.file.prefix.as_deref().map(|prefix| Prefixes::package(prefix).name);
        in_package(&package.unwrap_or_default(), path)
    };
    match hint {
        Some(CauseHint::NoLoader(machine)) => {
            let title = format!("no loader for {machine} on this system");
            NamedCause::new(CauseKind::NoLoader, machine.clone(), title)
        }
        Some(CauseHint::MissingOption { option, title }) => {
            NamedCause::new(CauseKind::MissingOption, (*option).to_owned(), title.clone())
        }
        Some(CauseHint::DamagedFile) => {
            whole(CauseKind::DamagedFile, place()).of_file(finding.full_path())
        }
        Some(CauseHint::PolicyEntry { key, origin }) => {
            let origin = show(origin.to_string().as_bytes());
            let title = format!("{origin}: {}", finding.rule);
            NamedCause::new(CauseKind::PolicyEntry, show(key.as_bytes()), title)
        }
        Some(CauseHint::UndefinedIn) => {
            let path = show_path(&finding.file.path);
            let title = format!("{path}: undefined symbols, provider unknown");
            let key = format!("{}{}", UNKNOWN_KEY.trim_start_matches(':'), place());
            NamedCause::new(CauseKind::ProviderNotLinked, key, title).of_file(finding.full_path())
        }
        Some(CauseHint::LibraryNotFound(_) | CauseHint::FoundOutside { .. }) | None => {
            // Files below two PATHs may have the same relative path, and so the same fingerprint.
            whole(CauseKind::Finding, finding.fingerprint.clone()).of_file(finding.full_path())
        }
    }
}

/// The cause for a soname or interpreter that was not found, or for which every file that was found
/// is unusable.
fn not_found(finding: &ReportFinding, name: &[u8]) -> NamedCause {
    let key = show(name);
    let title = match &*finding.rule {
        "wrong-architecture" => format!("{key}: wrong architecture"),
        "bad-library-file" => format!("{key}: {}", finding.message),
        // The message ends with the policy that does not provide the file.
        "outside-closure" => match finding.message.split_once(": ") {
            Some((_, lacks)) => format!("{key}: {lacks}"),
            None => format!("{key}: not found"),
        },
        _ if finding.detail.as_deref() == Some(b"PT_INTERP") => {
            format!("{key}: interpreter not found")
        }
        _ => format!("{key}: not found"),
    };
    NamedCause::new(CauseKind::LibraryNotFound, key, title)
}

/// The text for a path in a package, in the ids of causes: the package and the path, without the
/// hashes of store items. If `package` is empty, only the path.
fn in_package(package: &str, path: &[u8]) -> String {
    let path = show(&without_hashes(path));
    if package.is_empty() { path } else { format!("{package}/{path}") }
}

/// The text for a file in the ids of causes: package and path below the prefix. For a file outside
/// of all prefixes, the text is the file name, because the directory may depend on the build.
fn file_key(path: &Path, prefixes: &Prefixes) -> String {
    let located = prefixes.locate(path);
    match &located.prefix {
        Some(prefix) => {
            let path = located.path.as_os_str().as_bytes();
            in_package(&Prefixes::package(prefix).name, path)
        }
        None => show_path(path.file_name().map_or(path, Path::new)),
    }
}

/// The cause of an archive missing from a list: the archive of the first fix that adds to a list.
/// This archive defines the symbol, and the other fixes add its dependencies. `None` if no fix adds
/// to a list.
fn unlisted(finding: &ReportFinding, prefixes: &Prefixes) -> Option<NamedCause> {
    let fix = finding.fix.iter().find(|fix| fix.intent == FixKind::AddToList)?;
    let entry = show(fix.entry.as_deref()?);
    let list = fix.list.as_deref();
    let file = list.and_then(Path::file_name).map(Path::new);
    let title = format!("{entry}: not in {}", file.map(show_path).unwrap_or_default());
    let key = list.map(|list| file_key(list, prefixes)).unwrap_or_default();
    let named = NamedCause::new(CauseKind::ArchiveNotListed, format!("{key} {entry}"), title);
    Some(NamedCause { file: list.map(Path::to_path_buf), ..named })
}

/// The cause of an undefined symbol: a file that defines the symbol and is not linked. The file is
/// the one that a fix links, else the candidate that `definers` prefers. `None` if there is no such
/// file.
fn provider(
    finding: &ReportFinding,
    prefixes: &Prefixes,
    definers: &Definers,
) -> Option<NamedCause> {
    finding.symbol.as_ref()?;
    let is_shadowed = |entry: &[u8]| {
        let path = Some(Path::new(OsStr::from_bytes(entry)));
        let mut of_system = finding.evidence.iter().filter(|evidence| evidence.is_of_system());
        of_system.any(|evidence| evidence.path.as_deref() == path)
    };
    let fix = finding.fix.iter().find(|fix| fix.intent != FixKind::AddToList);
    let fix = fix.filter(|fix| !fix.entry.as_deref().is_some_and(is_shadowed));
    let linked = fix.and_then(|fix| fix.entry.as_deref());
    let candidate = || definers.preferred(finding).map(|path| path.as_os_str().as_bytes());
    let path = linked.or_else(candidate)?;
    let base = last_part(path);
    let title = format!("{}: not linked", show(base));
    let path = Path::new(OsStr::from_bytes(path));
    let key = file_key(path, prefixes);
    Some(NamedCause::new(CauseKind::ProviderNotLinked, key, title).of_file(path.to_path_buf()))
}

/// The causes of `findings`. `known` has the kind and title of each cause id. Evidence that all
/// findings of a cause share moves to the cause.
pub(super) fn gather(
    findings: &mut [ReportFinding],
    known: &FastMap<Arc<str>, (CauseKind, String)>,
) -> Vec<Cause> {
    let mut of_cause: FastMap<Arc<str>, Vec<usize>> = FastMap::default();
    let mut order: Vec<Arc<str>> = Vec::new();
    for (at, finding) in findings.iter().enumerate() {
        let places = of_cause.entry(Arc::clone(&finding.cause)).or_insert_with(|| {
            order.push(Arc::clone(&finding.cause));
            Vec::new()
        });
        places.push(at);
    }
    let mut out = Vec::with_capacity(order.len());
    for id in order {
        let (Some((kind, title)), Some(places)) = (known.get(&id), of_cause.get(&id)) else {
            continue;
        };
        let (kind, title) = (*kind, title.clone());
        let mut cause = weigh(id, kind, title, findings, places);
        cause.evidence = share(findings, places);
        out.push(cause);
    }
    out.arrange_by(|a, b| {
        let weight = |cause: &Cause| Reverse((cause.level, cause.findings));
        weight(a).cmp(&weight(b)).then_with(|| a.id.cmp(&b.id))
    });
    out
}

/// The causes of `findings`. A cause that is also in `before` keeps its kind, title and evidence.
/// Any other cause gets the kind [`CauseKind::Finding`].
pub(super) fn gather_again(findings: &mut [ReportFinding], before: &[Cause]) -> Vec<Cause> {
    let same = |cause: &Cause| (Arc::clone(&cause.id), (cause.kind, cause.title.clone()));
    let mut known: FastMap<Arc<str>, (CauseKind, String)> = before.iter().map(same).collect();
    for finding in &*findings {
        let made = || (CauseKind::Finding, title_of(finding));
        known.entry(Arc::clone(&finding.cause)).or_insert_with(made);
    }
    let mut causes = gather(findings, &known);
    let shared: FastMap<&str, &Vec<Evidence>> =
        before.iter().map(|cause| (&*cause.id, &cause.evidence)).collect();
    for cause in &mut causes {
        let evidence = shared.get(&*cause.id).copied().into_iter().flatten().cloned();
        cause.evidence.splice(0..0, evidence);
    }
    causes
}

/// The title of a cause that is a single finding.
fn title_of(finding: &ReportFinding) -> String {
    format!("{}: {}", show_path(&finding.file.path), finding.message)
}

/// The cause of the findings with the indices `places`, with all counts.
fn weigh(
    id: Arc<str>,
    kind: CauseKind,
    title: String,
    findings: &[ReportFinding],
    places: &[usize],
) -> Cause {
    let own = || places.iter().map(|at| &findings[*at]);
    let files: FastSet<_> =
        own().map(|finding| (&finding.file.prefix, &finding.file.path)).collect();
    let in_evidence = own().flat_map(|finding| {
        let roots = finding.evidence_of(EvidenceKind::Root).filter(|root| root.how.is_none());
        roots.filter_map(|root| root.path.as_deref())
    });
    let roots: FastSet<&Path> =
        own().filter_map(|finding| finding.root.as_deref()).chain(in_evidence).collect();
    let symbols: FastSet<_> = own().filter_map(|finding| finding.symbol.as_deref()).collect();
    let mut fix: Vec<&Fix> = own().flat_map(|finding| &finding.fix).collect();
    fix.arrange();
    fix.dedup();
    let key = |finding: &&ReportFinding| (Reverse(finding.level), finding.symbol.is_none());
    let worst = own().min_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.rule.cmp(&b.rule)));
    Cause {
        kind,
        title,
        rule: worst.map(|finding| finding.rule.clone()).unwrap_or_default(),
        level: worst.map_or(Level::Allow, |finding| finding.level),
        findings: places.len(),
        files: files.len(),
        roots: roots.len(),
        symbols: symbols.len(),
        places: by_directory(own()),
        group: None,
        fix: fix.into_iter().cloned().collect(),
        evidence: Vec::new(),
        id,
    }
}

/// Counts files and findings by directory.
fn by_directory<'f>(findings: impl Iterator<Item = &'f ReportFinding>) -> Vec<AffectedDirectory> {
    let mut directories: FastMap<PathBuf, (FastSet<PathBuf>, usize)> = FastMap::default();
    for finding in findings {
        let path = finding.full_path();
        let directory = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let (files, count) = directories.entry(directory).or_default();
        files.insert(path);
        *count += 1;
    }
    let place = |(path, (files, findings)): (PathBuf, (FastSet<PathBuf>, usize))| {
        AffectedDirectory { path, files: files.len(), findings }
    };
    let mut out: Vec<AffectedDirectory> = directories.into_iter().map(place).collect();
    out.arrange_by(|a, b| b.findings.cmp(&a.findings).then_with(|| a.path.cmp(&b.path)));
    out
}

/// Removes evidence from the findings with the indices `places` and returns it. A kind of evidence
/// is removed if all of the findings have the same evidence of that kind.
fn share(findings: &mut [ReportFinding], places: &[usize]) -> Vec<Evidence> {
    let [first, others @ ..] = places else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for kind in EvidenceKind::ALL {
        let of_first = || findings[*first].evidence_of(kind);
        let any = of_first().next().is_some();
        if any && others.iter().all(|at| findings[*at].evidence_of(kind).eq(of_first())) {
            let of_kind = |evidence: &mut Evidence| evidence.kind == kind;
            out.extend(findings[*first].evidence.extract_if(.., of_kind));
            for at in others {
                findings[*at].evidence.retain(|evidence| evidence.kind != kind);
            }
        }
    }
    out
}

/// Causes by id, for renderers that show findings with all of their evidence.
pub struct Causes<'r>(FastMap<&'r str, &'r Cause>);

impl<'r> Causes<'r> {
    /// The causes of a report.
    pub fn of(report: &'r super::Report) -> Self {
        Self(report.causes.iter().map(|cause| (&*cause.id, cause)).collect())
    }

    /// The evidence of one kind for a finding: the finding's own evidence, or else the evidence of
    /// its cause. A waived finding holds all of its evidence itself.
    pub fn evidence<'f>(
        &self,
        finding: &'f ReportFinding,
        kind: EvidenceKind,
    ) -> impl Iterator<Item = &'f Evidence> + use<'f, 'r>
    where
        'r: 'f,
    {
        let has_own = finding.evidence_of(kind).next().is_some();
        let cause = self.0.get(&*finding.cause).filter(|_| !has_own);
        let shared: &'f [Evidence] = cause.map(|cause| &cause.evidence[..]).unwrap_or_default();
        shared.iter().chain(&finding.evidence).filter(move |evidence| evidence.kind == kind)
    }
}
