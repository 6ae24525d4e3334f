//! Judging: the level of every finding, the exit status, the fingerprint. Levels act here and
//! nowhere before. Rules find, `judge` weighs, `report` writes.

use crate::finding::{EvidenceKind, Finding};
use crate::id::{FastMap, FastSet};
use crate::package::{Prefixes, without_hashes};
use crate::rules::{self, Level, Rule};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Levels of rules for one run.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// Settings in the order in which they were given, by rule or group; the last that applies
    /// wins, and one for a rule wins over one for its group.
    pub settings: Vec<(String, Level)>,
}

impl Levels {
    /// The level of `rule`.
    pub fn of(&self, rule: &Rule) -> Level {
        let last = |name: &str| {
            self.settings.iter().rev().find(|(set, _)| set == name).map(|(_, level)| *level)
        };
        last(rule.id).or_else(|| last(rule.group.name)).unwrap_or(rule.group.level)
    }

    /// True if `name` is a rule or a group.
    pub fn knows(name: &str) -> bool {
        rules::find(name).is_some() || rules::GROUPS.iter().any(|group| group.name == name)
    }
}

/// A finding with its level.
#[derive(Debug)]
pub struct Judged {
    /// The finding.
    pub finding: Finding,
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
pub fn judge(findings: Vec<Finding>, levels: &Levels, sonames: &Sonames) -> Verdict {
    let judged = |finding: Finding| {
        let rule = rules::find(finding.rule)?;
        let level = levels.of(rule);
        let fingerprint = fingerprint(&finding, sonames, false);
        Some(Judged { finding, rule, level, fingerprint })
    };
    let all: Vec<Judged> = findings.into_par_iter().filter_map(judged).collect();
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
            judged.fingerprint = fingerprint(&judged.finding, sonames, true);
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

/// Made of rule, package name, path and every key that says what the fact is about; store items in
/// them count by package name only.
/// With `whole` everything counts as it is.
fn fingerprint(finding: &Finding, sonames: &Sonames, whole: bool) -> String {
    let reduced = |text: &[u8]| if whole { text.to_vec() } else { without_hashes(text) };
    let package =
        finding.file.prefix.as_deref().map(Prefixes::package).map_or(String::new(), |p| p.name);
    let path = sonames.stable(&finding.full_path(), &finding.file.path);
    let mut hasher = Sha256::new();
    let mut part = |name: &str, value: &[u8]| {
        hasher.update(name.as_bytes());
        hasher.update((value.len() as u64).to_le_bytes());
        hasher.update(value);
    };
    part("rule", finding.rule.as_bytes());
    part("package", package.as_bytes());
    part("path", &reduced(&path));
    if whole {
        part("prefix", finding.full_path().as_os_str().as_bytes());
    }
    let keys = [
        ("symbol", &finding.symbol),
        ("version", &finding.version),
        ("library", &finding.library),
        ("detail", &finding.detail),
    ];
    for (name, value) in keys {
        if let Some(value) = value {
            part(name, &reduced(value));
        }
    }
    hasher.finalize().iter().take(16).fold(String::with_capacity(32), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    })
}
