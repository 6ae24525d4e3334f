//! Fingerprints: a finding keeps its fingerprint when its package is rebuilt, even as another
//! version or in another prefix. A fingerprint depends only on the finding and on the soname of
//! the file that the finding is about. A baseline may have several lines with one fingerprint.
//!
//! The first eight digits depend only on the name of the package. From these digits, a run knows
//! which baseline lines are about packages that it did not audit.

use crate::facts::FileFacts;
use crate::finding::Finding;
use crate::id::FastMap;
use crate::package::{Located, Prefixes, without_hashes};
use crate::parallel;
use sha2::{Digest, Sha256};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of digits at the start of a fingerprint that identify the package.
pub(super) const PACKAGE: usize = 8;
/// Number of hexadecimal digits of a fingerprint.
pub(super) const DIGITS: usize = 32;

/// The fingerprints of `findings`, in their order. Several findings may have the same
/// fingerprint.
pub(super) fn all(findings: &[Box<Finding>], sonames: &Sonames) -> Vec<String> {
    // Findings about one file share a hash of the package and the path, which is computed once.
    let mut places: FastMap<usize, FingerprintFile> = FastMap::default();
    for finding in findings {
        let place = || FingerprintFile::new(finding, sonames);
        places.entry(Arc::as_ptr(&finding.file).addr()).or_insert_with(place);
    }
    let place = |finding: &Finding| &places[&Arc::as_ptr(&finding.file).addr()];
    parallel::map(findings, |finding| place(finding).fingerprint(finding))
}

/// The fingerprint of one finding, computed without the soname of its file. The file name is then
/// not shortened, so the fingerprint may differ from the one in reports.
pub fn fingerprint_of(finding: &Finding) -> String {
    FingerprintFile::new(finding, &Sonames::default()).fingerprint(finding)
}

/// The digits that identify the package `name` in a fingerprint. `name` is empty for a prefix that
/// is not a package.
pub(super) fn package_digits(name: &str) -> String {
    digits(Sha256::digest(name.as_bytes()).as_slice(), PACKAGE)
}

/// The name of the package whose prefix is `prefix`. Empty if `prefix` is `None` or is not the
/// prefix of a package.
pub(super) fn package_name(prefix: Option<&Path>) -> String {
    prefix.map(|prefix| Prefixes::package(prefix).name).unwrap_or_default()
}

/// The first `count` hexadecimal digits of the SHA-256 of `parts`. The length of each part is
/// hashed before the part.
pub fn digest(parts: &[&[u8]], count: usize) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    digits(hasher.finalize().as_slice(), count)
}

fn digits(bytes: &[u8], count: usize) -> String {
    let digits =
        |byte: &u8| [byte >> 4, byte & 15].map(|d| char::from(b"0123456789abcdef"[usize::from(d)]));
    bytes.iter().take(count / 2).flat_map(digits).collect()
}

/// The fingerprints that a finding has under the other hard links of its file. A run over a part of
/// the tree may see only one of the links.
pub(super) fn of_links(finding: &Finding, sonames: &Sonames) -> Vec<String> {
    let full = finding.full_path();
    let print = |below: &Path| {
        let path = shortened(below.as_os_str().as_bytes(), sonames.of(&full));
        FingerprintFile::at(&finding.file, &path).fingerprint(finding)
    };
    sonames.links_of(finding).map(print).collect()
}

/// The DT_SONAME and the other hard links of each file, keyed by the full path at which the file
/// was read.
#[derive(Debug, Default)]
pub struct Sonames {
    by_path: FastMap<Vec<u8>, Vec<u8>>,
    links: FastMap<Vec<u8>, Vec<PathBuf>>,
}

impl Sonames {
    /// Stores the soname of every file that has one.
    pub fn new<'a>(files: impl Iterator<Item = (&'a Path, Option<Vec<u8>>)>) -> Self {
        let known = |(path, soname): (&Path, Option<_>)| {
            soname.map(|soname| (path.as_os_str().as_bytes().to_vec(), soname))
        };
        Self { by_path: files.filter_map(known).collect(), links: FastMap::default() }
    }

    /// Adds the other hard links of `files`.
    #[must_use]
    pub fn with_links<'a>(mut self, files: impl Iterator<Item = &'a FileFacts>) -> Self {
        for file in files {
            for link in file.names.iter().filter(|name| !name.is_link) {
                let path = file.path.as_os_str().as_bytes().to_vec();
                self.links.entry(path).or_default().push(link.path.clone());
            }
        }
        self
    }

    /// The other hard links of the file of a finding, as paths below its prefix. Links outside of
    /// the prefix are skipped.
    pub(super) fn links_of<'s>(
        &'s self,
        finding: &'s Finding,
    ) -> impl Iterator<Item = &'s Path> + use<'s> {
        let full = finding.full_path();
        let links = self.links.get(full.as_os_str().as_bytes()).into_iter().flatten();
        links.filter_map(move |link| match &finding.file.prefix {
            Some(prefix) => link.strip_prefix(prefix).ok(),
            None => Some(link),
        })
    }

    fn of(&self, full: &Path) -> Option<&[u8]> {
        self.by_path.get(full.as_os_str().as_bytes()).map(Vec::as_slice)
    }

    /// The path `below` of the file at `full`, with the file name shortened to the soname.
    pub(super) fn stable(&self, full: &Path, below: &Path) -> Vec<u8> {
        shortened(below.as_os_str().as_bytes(), self.of(full))
    }
}

/// Cuts the file name of `path` to the soname if it starts with the soname: `libMIOpen.so.1` for
/// `libMIOpen.so.1.0.60202`.
fn shortened(path: &[u8], soname: Option<&[u8]>) -> Vec<u8> {
    let cut = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    match soname {
        Some(soname) if !soname.is_empty() && path[cut..].starts_with(soname) => {
            [&path[..cut], soname].concat()
        }
        _ => path.to_vec(),
    }
}

/// The package name and path, which all findings about a file share in their fingerprints.
struct FingerprintFile {
    package: String,
    hasher: Sha256,
}

fn part(hasher: &mut Sha256, name: &str, value: &[u8]) {
    hasher.update(name.as_bytes());
    hasher.update((value.len() as u64).to_le_bytes());
    hasher.update(value);
}

impl FingerprintFile {
    fn new(finding: &Finding, sonames: &Sonames) -> Self {
        let path = sonames.stable(&finding.full_path(), &finding.file.path);
        Self::at(&finding.file, &path)
    }

    /// `path` is the path below the prefix, with the file name shortened to the soname.
    fn at(file: &Located, path: &[u8]) -> Self {
        let name = package_name(file.prefix.as_deref());
        let mut hasher = Sha256::new();
        part(&mut hasher, "package", name.as_bytes());
        part(&mut hasher, "path", &without_hashes(path));
        Self { package: package_digits(&name), hasher }
    }

    /// The fingerprint of a finding about this file. It covers the rule and all keys of the
    /// finding. Store paths in the keys are reduced to package names.
    fn fingerprint(&self, finding: &Finding) -> String {
        let mut hasher = self.hasher.clone();
        part(&mut hasher, "rule", finding.rule.as_str().as_bytes());
        for (name, value) in finding.keys() {
            if let Some(value) = value {
                part(&mut hasher, name, &without_hashes(value));
            }
        }
        let rest = digits(hasher.finalize().as_slice(), DIGITS - PACKAGE);
        format!("{}{rest}", self.package)
    }
}
