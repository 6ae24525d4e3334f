//! Groups of causes. Reports for people show the causes of a group as one entry. A group has the
//! objects of one directory with the same kind of defect, or the archives that one list omits. The
//! causes of a group have the same rule, level, kind and host program. Grouping changes a cause
//! only in its field `group`, which gets the group's id.

use super::cause::{Cause, CauseKind};
use super::finding::{ReportFinding, level};
use crate::catalogue::Level;
use crate::finding::{EvidenceKind, FixKind};
use crate::id::{FastMap, FastSet};
use crate::order::Arrange as _;
use crate::package::{Prefixes, without_hashes};
use crate::text::{raw_option, show};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Minimum number of causes in one directory that form a group.
const MANY: usize = 5;
/// If there are more similar causes than this, neighbouring directories share a group.
const CROWD: usize = 20;

/// A group of similar causes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CauseGroup {
    /// The kind, the rule, the list or directory, and the host program; stable across runs. If two
    /// groups would have the same id, the second one gets a number.
    pub id: Arc<str>,
    /// The kind of its causes.
    pub kind: CauseKind,
    /// The rule of its causes.
    pub rule: Cow<'static, str>,
    /// The level of its causes.
    #[serde(with = "level")]
    pub level: Level,
    /// The list that omits archives, if the group is about a list.
    #[serde(with = "raw_option")]
    pub list: Option<Arc<Path>>,
    /// The directory that contains its files, if the group is about a directory.
    #[serde(with = "raw_option")]
    pub directory: Option<PathBuf>,
    /// The host program of its files, if they are plugins.
    #[serde(with = "raw_option")]
    pub host: Option<Arc<Path>>,
    /// Number of causes in the group.
    pub causes: usize,
    /// Number of findings of all causes in the group.
    pub findings: usize,
    /// Number of distinct files that the findings are about.
    pub files: usize,
    /// Number of distinct symbols that the findings are about.
    pub symbols: usize,
}

/// Properties that all causes of a group share.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Alike {
    kind: CauseKind,
    level: Level,
    rule: Cow<'static, str>,
    host: Option<Arc<Path>>,
}

/// The subject of a group: the list that omits archives, or the directory that contains the
/// objects.
enum Subject {
    List(Arc<Path>),
    Directory(PathBuf),
}

/// Makes the groups of `causes`, and stores the group's id in each cause. `findings` must already
/// have the ids of their causes.
pub(super) fn gather(causes: &mut [Cause], findings: &[ReportFinding]) -> Vec<CauseGroup> {
    let mut of_cause: FastMap<&str, Vec<&ReportFinding>> = FastMap::default();
    for finding in findings {
        of_cause.entry(&*finding.cause).or_default().push(finding);
    }
    let of_cause = |cause: &Cause| of_cause.get(&*cause.id).map_or(&[][..], Vec::as_slice);
    let mut lists: BTreeMap<(Alike, Arc<Path>), Vec<usize>> = BTreeMap::new();
    let mut directories: BTreeMap<Alike, Vec<(PathBuf, usize)>> = BTreeMap::new();
    for (at, cause) in causes.iter().enumerate() {
        let alike = Alike {
            kind: cause.kind,
            level: cause.level,
            rule: cause.rule.clone(),
            host: host(cause, of_cause(cause)),
        };
        if let Some(list) = list(cause) {
            lists.entry((alike, list)).or_default().push(at);
        } else if let (true, [place]) = (is_of_one_object(cause), &cause.places[..]) {
            directories.entry(alike).or_default().push((place.path.clone(), at));
        }
    }
    let mut found: Vec<(Alike, Subject, Vec<usize>)> = Vec::new();
    let several = lists.into_iter().filter(|(_, members)| members.len() > 1);
    found.extend(several.map(|((alike, list), all)| (alike, Subject::List(list), all)));
    for (alike, members) in directories {
        let rolled = roll_up(members).into_iter();
        found.extend(rolled.map(|(dir, all)| (alike.clone(), Subject::Directory(dir), all)));
    }
    let mut out = Vec::with_capacity(found.len());
    let mut known: FastMap<Arc<str>, usize> = FastMap::default();
    for (alike, subject, members) in found {
        let all = members.iter().flat_map(|at| of_cause(&causes[*at]));
        let mut group = group(alike, subject, members.len(), &all.copied().collect::<Vec<_>>());
        let same = known.entry(Arc::clone(&group.id)).or_default();
        *same += 1;
        if *same > 1 {
            group.id = format!("{}#{same}", group.id).into();
        }
        for at in members {
            causes[at].group = Some(Arc::clone(&group.id));
        }
        out.push(group);
    }
    out.arrange_by(|a, b| {
        let weight = |group: &CauseGroup| Reverse((group.level, group.findings));
        weight(a).cmp(&weight(b)).then_with(|| a.id.cmp(&b.id))
    });
    out
}

/// True for a cause about one object. These causes are grouped by directory, because a large system
/// has hundreds of them.
fn is_of_one_object(cause: &Cause) -> bool {
    match cause.kind {
        CauseKind::ProviderNotLinked => cause.lacks_provider(),
        CauseKind::DamagedFile | CauseKind::Finding => true,
        _ => false,
    }
}

/// The list to which a fix adds the archive; `None` if the cause is not about a list.
fn list(cause: &Cause) -> Option<Arc<Path>> {
    let of_list = cause.kind == CauseKind::ArchiveNotListed;
    let mut fixes = cause.fix.iter().filter(|fix| of_list && fix.intent == FixKind::AddToList);
    fixes.find_map(|fix| fix.list.clone())
}

/// The host program of a cause's files, if they are plugins.
fn host(cause: &Cause, findings: &[&ReportFinding]) -> Option<Arc<Path>> {
    let own = findings.first().into_iter().flat_map(|finding| &finding.evidence);
    let mut roots = cause.evidence.iter().chain(own).filter(|e| e.kind == EvidenceKind::Root);
    roots.find(|root| root.how.is_some()).and_then(|root| root.path.clone())
}

/// Directories that have at least [`MANY`] causes, with the indices of these causes. If there are
/// more than [`CROWD`] causes in all, a directory with fewer than [`MANY`] passes its causes to its
/// parent.
fn roll_up(members: Vec<(PathBuf, usize)>) -> Vec<(PathBuf, Vec<usize>)> {
    let is_crowd = members.len() > CROWD;
    let key = |path: PathBuf| (Reverse(path.components().count()), path);
    let mut pending: BTreeMap<(Reverse<usize>, PathBuf), Vec<usize>> = BTreeMap::new();
    for (path, at) in members {
        pending.entry(key(path)).or_default().push(at);
    }
    let mut out = Vec::new();
    while let Some(((_, path), mut causes)) = pending.pop_first() {
        let parent = path.parent().filter(|parent| parent.parent().is_some());
        if causes.len() >= MANY {
            causes.arrange();
            out.push((path, causes));
        } else if let Some(parent) = parent.filter(|_| is_crowd) {
            pending.entry(key(parent.to_path_buf())).or_default().extend(causes);
        }
    }
    out
}

fn group(alike: Alike, subject: Subject, causes: usize, findings: &[&ReportFinding]) -> CauseGroup {
    let Alike { kind, level, rule, host } = alike;
    let (list, directory) = match subject {
        Subject::List(list) => (Some(list), None),
        Subject::Directory(directory) => (None, Some(directory)),
    };
    let name = |path: &Path| show(path.file_name().unwrap_or_default().as_bytes());
    let in_list = list.as_deref().map(name);
    let in_directory = directory.as_deref().map(|path| below(path, findings));
    let place = in_list.or(in_directory).unwrap_or_default();
    let under = host.as_deref().map(|host| format!(" under {}", name(host)));
    let files: FastSet<_> =
        findings.iter().map(|finding| (&finding.file.prefix, &finding.file.path)).collect();
    let symbols: FastSet<_> = findings.iter().filter_map(|f| f.symbol.as_deref()).collect();
    CauseGroup {
        id: format!("{}:{rule} {place}{}", kind.name(), under.unwrap_or_default()).into(),
        kind,
        rule,
        level,
        list,
        directory,
        host,
        causes,
        findings: findings.len(),
        files: files.len(),
        symbols: symbols.len(),
    }
}

/// The text for a directory in the ids of groups: the package, and the path below the prefix of the
/// first finding. For a directory outside of that prefix, the whole path.
fn below(directory: &Path, findings: &[&ReportFinding]) -> String {
    let prefix = findings.first().and_then(|finding| finding.file.prefix.as_deref());
    let inside = prefix.and_then(|prefix| Some((prefix, directory.strip_prefix(prefix).ok()?)));
    let (package, path) = match inside {
        Some((prefix, path)) => (Prefixes::package(prefix).name, path),
        None => (String::new(), directory),
    };
    let path = show(&without_hashes(path.as_os_str().as_bytes()));
    if package.is_empty() { path } else { format!("{package}/{path}") }
}
