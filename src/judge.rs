//! Judging: the level of every finding, the exit status, the fingerprint. Levels act here and
//! nowhere before. Rules find, `judge` weighs, `report` writes.

use crate::finding::{EvidenceKind, Finding, Findings};
use crate::id::{FastMap, FastSet};
use crate::package::{Prefixes, without_hashes};
pub use crate::policy::Levels;
use crate::rules::{self, Level, Rule};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// A finding with its level.
#[derive(Debug)]
pub struct Judged {
    /// The finding.
    pub finding: Box<Finding>,
    /// Its rule.
    pub rule: &'static Rule,
    /// Warning or error.
    pub level: Level,
    /// What stays the same when the package is built again.
    pub fingerprint: String,
}

/// What is to be reported of a run.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Findings that are not allowed, in the order of reports.
    pub findings: Vec<Judged>,
    /// No finding says that something could not be read or decided.
    pub complete: bool,
    /// References without version that only an allowed missing library could satisfy: it is
    /// assumed that it does.
    pub assumed: usize,
}

/// Gives every finding its level and drops those that are allowed. `sonames` maps paths below
/// prefixes to DT_SONAME.
pub fn judge(findings: Findings, levels: &Levels, sonames: &Sonames) -> Verdict {
    let ranks: FastMap<&str, (&'static Rule, Level)> =
        rules::RULES.iter().map(|rule| (rule.id, (*rule, levels.of(rule)))).collect();
    // Findings about one file share its place.
    let mut places: FastMap<usize, Place> = FastMap::default();
    for finding in &findings {
        let place = || Place::new(finding, sonames, false);
        places.entry(Arc::as_ptr(&finding.file).addr()).or_insert_with(place);
    }
    let judged = |finding: Box<Finding>| {
        let (rule, level) = ranks[finding.rule];
        let fingerprint = places[&Arc::as_ptr(&finding.file).addr()].fingerprint(&finding, false);
        Judged { finding, rule, level, fingerprint }
    };
    let all: Vec<Judged> = findings.into_par_iter().map(judged).collect();
    let (mut findings, allowed): (Vec<Judged>, Vec<Judged>) =
        all.into_iter().partition(|judged| judged.level != Level::Allow);
    tell_apart(&mut findings, sonames);
    let complete = findings.iter().all(|judged| !judged.rule.group.is_input);
    let explained = allowed.iter().flat_map(|j| j.finding.evidence_of(EvidenceKind::Explained));
    let assumed = explained.filter(|evidence| evidence.version.is_none()).count();
    Verdict { findings, complete, assumed }
}

/// Facts of one report whose fingerprints coincide, two versions of one package for example, get
/// ones that hold the whole prefix.
fn tell_apart(findings: &mut [Judged], sonames: &Sonames) {
    let mut order: Vec<u32> = (0..u32::try_from(findings.len()).unwrap_or(u32::MAX)).collect();
    order.par_sort_unstable_by(|a, b| {
        findings[*a as usize].fingerprint.cmp(&findings[*b as usize].fingerprint)
    });
    let same = |pair: &&[u32]| {
        findings[pair[0] as usize].fingerprint == findings[pair[1] as usize].fingerprint
    };
    let twins: FastSet<u32> = order.windows(2).filter(same).flatten().copied().collect();
    for (at, judged) in findings.iter_mut().enumerate() {
        if u32::try_from(at).is_ok_and(|at| twins.contains(&at)) {
            let place = Place::new(&judged.finding, sonames, true);
            judged.fingerprint = place.fingerprint(&judged.finding, true);
        }
    }
}

/// DT_SONAME by the whole path of the file.
#[derive(Debug, Default)]
pub struct Sonames {
    by_path: FastMap<Vec<u8>, Vec<u8>>,
    /// Shortened names that two files of the report share; those keep their whole names.
    shared: FastSet<Vec<u8>>,
}

impl Sonames {
    /// Remembers the soname of every file that has one.
    pub fn new<'a>(files: impl Iterator<Item = (&'a Path, Option<Vec<u8>>)>) -> Self {
        let mut out = Self::default();
        let mut seen: FastSet<Vec<u8>> = FastSet::default();
        for (path, soname) in files {
            let short = shortened(path.as_os_str().as_bytes(), soname.as_deref());
            if !seen.insert(short.clone()) {
                out.shared.insert(short);
            }
            if let Some(soname) = soname {
                out.by_path.insert(path.as_os_str().as_bytes().to_vec(), soname);
            }
        }
        out
    }

    /// The path with its file name cut to the soname, unless another file's is the same then.
    fn stable(&self, full: &Path, below: &Path) -> Vec<u8> {
        let full = full.as_os_str().as_bytes();
        let soname = self.by_path.get(full).map(Vec::as_slice);
        let soname = soname.filter(|_| !self.shared.contains(&shortened(full, soname)));
        shortened(below.as_os_str().as_bytes(), soname)
    }
}

/// `libMIOpen.so.1.0.60202` with the soname `libMIOpen.so.1` is `libMIOpen.so.1`.
fn shortened(path: &[u8], soname: Option<&[u8]>) -> Vec<u8> {
    let cut = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    match soname {
        Some(soname) if !soname.is_empty() && path[cut..].starts_with(soname) => {
            [&path[..cut], soname].concat()
        }
        _ => path.to_vec(),
    }
}

/// The parts of a fingerprint that all facts about one file share: package name and path.
#[derive(Clone)]
struct Place(Sha256);

fn part(hasher: &mut Sha256, name: &str, value: &[u8]) {
    hasher.update(name.as_bytes());
    hasher.update((value.len() as u64).to_le_bytes());
    hasher.update(value);
}

fn reduced(text: &[u8], whole: bool) -> Cow<'_, [u8]> {
    if whole { Cow::Borrowed(text) } else { without_hashes(text) }
}

impl Place {
    /// The place a finding is about. With `whole` it counts as it is, else a store item counts by its
    /// package's name only.
    fn new(finding: &Finding, sonames: &Sonames, whole: bool) -> Self {
        let full = finding.full_path();
        let package = finding.file.prefix.as_deref().map(Prefixes::package);
        let path = sonames.stable(&full, &finding.file.path);
        let mut hasher = Sha256::new();
        part(&mut hasher, "package", package.map_or(String::new(), |p| p.name).as_bytes());
        part(&mut hasher, "path", &reduced(&path, whole));
        if whole {
            part(&mut hasher, "prefix", full.as_os_str().as_bytes());
        }
        Self(hasher)
    }

    /// The fingerprint of a finding at this place: the rule and every key that says what the fact is
    /// about are added.
    fn fingerprint(&self, finding: &Finding, whole: bool) -> String {
        let mut hasher = self.0.clone();
        part(&mut hasher, "rule", finding.rule.as_bytes());
        let keys = [
            ("symbol", &finding.symbol),
            ("version", &finding.version),
            ("library", &finding.library),
            ("member", &finding.member),
            ("detail", &finding.detail),
        ];
        for (name, value) in keys {
            if let Some(value) = value {
                part(&mut hasher, name, &reduced(value, whole));
            }
        }
        let digits = |byte: &u8| {
            [byte >> 4, byte & 15].map(|d| char::from(b"0123456789abcdef"[usize::from(d)]))
        };
        hasher.finalize().iter().take(16).flat_map(digits).collect()
    }
}
