//! Fingerprints: what stays the same of a fact when its package is built again, in another version
//! or at another place, and what no other fact has. A baseline holds them.
//!
//! The first eight digits stand for the package alone, so that a line of a baseline can be told to
//! be about a package that a run did not look at.

use crate::finding::Finding;
use crate::id::{FastMap, FastSet};
use crate::package::{Prefixes, without_hashes, without_item_hashes};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// Digits that stand for the package.
pub(super) const PACKAGE: usize = 8;
/// Digits of a fingerprint.
pub(super) const DIGITS: usize = 32;

/// How much of a fact counts. Facts of one report that coincide get more of it, two versions of one
/// package for example.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// A store item counts by its package's name only.
    Package,
    /// By its name with the version.
    Version,
    /// Everything counts as it is, and the sentence about it.
    Whole,
}

impl Detail {
    fn of(self, text: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Package => without_hashes(text),
            Self::Version => without_item_hashes(text),
            Self::Whole => Cow::Borrowed(text),
        }
    }
}

/// The fingerprints of `findings`, in their order.
pub(super) fn all(findings: &[Box<Finding>], sonames: &Sonames) -> Vec<String> {
    // Findings about one file share its place.
    let mut places: FastMap<usize, Place> = FastMap::default();
    for finding in findings {
        let place = || Place::new(finding, sonames, Detail::Package);
        places.entry(Arc::as_ptr(&finding.file).addr()).or_insert_with(place);
    }
    let place = |finding: &Finding| &places[&Arc::as_ptr(&finding.file).addr()];
    let mut prints: Vec<String> =
        findings.par_iter().map(|finding| place(finding).fingerprint(finding)).collect();
    for detail in [Detail::Version, Detail::Whole] {
        let twins = twins(&prints);
        if twins.is_empty() {
            break;
        }
        for at in twins {
            let finding = &findings[at];
            prints[at] = Place::new(finding, sonames, detail).fingerprint(finding);
        }
    }
    prints
}

/// Places of texts that stand there more than once.
fn twins(prints: &[String]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..prints.len()).collect();
    order.par_sort_unstable_by(|a, b| prints[*a].cmp(&prints[*b]));
    let same = order.chunk_by(|a, b| prints[*a] == prints[*b]);
    same.filter(|group| group.len() > 1).flatten().copied().collect()
}

/// The digits that stand for the package with this name; empty for a prefix that is none.
pub(super) fn package_digits(name: &str) -> String {
    digits(Sha256::digest(name.as_bytes()).as_slice(), PACKAGE)
}

/// The name of the package that a prefix is.
pub(super) fn package_name(prefix: Option<&Path>) -> String {
    prefix.map(|prefix| Prefixes::package(prefix).name).unwrap_or_default()
}

fn digits(bytes: &[u8], count: usize) -> String {
    let digits =
        |byte: &u8| [byte >> 4, byte & 15].map(|d| char::from(b"0123456789abcdef"[usize::from(d)]));
    bytes.iter().take(count / 2).flat_map(digits).collect()
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

    /// The path `below` its prefix, of the file at `full`, with its file name cut to the soname,
    /// unless another file's is the same then.
    pub(super) fn stable(&self, full: &Path, below: &Path) -> Vec<u8> {
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
struct Place {
    package: String,
    hasher: Sha256,
    detail: Detail,
}

fn part(hasher: &mut Sha256, name: &str, value: &[u8]) {
    hasher.update(name.as_bytes());
    hasher.update((value.len() as u64).to_le_bytes());
    hasher.update(value);
}

impl Place {
    fn new(finding: &Finding, sonames: &Sonames, detail: Detail) -> Self {
        let full = finding.full_path();
        let name = package_name(finding.file.prefix.as_deref());
        let path = sonames.stable(&full, &finding.file.path);
        let mut hasher = Sha256::new();
        part(&mut hasher, "package", name.as_bytes());
        part(&mut hasher, "path", &detail.of(&path));
        if detail != Detail::Package {
            part(&mut hasher, "prefix", &detail.of(full.as_os_str().as_bytes()));
        }
        Self { package: package_digits(&name), hasher, detail }
    }

    /// The fingerprint of a finding at this place: the rule and every key that says what the fact is
    /// about are added.
    fn fingerprint(&self, finding: &Finding) -> String {
        let mut hasher = self.hasher.clone();
        part(&mut hasher, "rule", finding.rule.as_bytes());
        for (name, value) in finding.keys() {
            if let Some(value) = value {
                part(&mut hasher, name, &self.detail.of(value));
            }
        }
        if self.detail == Detail::Whole {
            part(&mut hasher, "message", finding.message.as_bytes());
        }
        let rest = digits(hasher.finalize().as_slice(), DIGITS - PACKAGE);
        format!("{}{rest}", self.package)
    }
}
