//! One side of a comparison: a report with its files, and the symbols that these files export and
//! import.

use super::unread::UnreadPaths;
use crate::catalogue::Level;
use crate::finding::Finding;
use crate::id::{FastMap, FastSet};
use crate::order;
use crate::package::{Located, without_hashes};
use crate::report::Report;
use crate::report::model::{AuditFacts, Export, File, Imports, ReportFinding, StreamedFacts as _};
use crate::rules::Rule;
use crate::text::last_part;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The decisions of a policy about rules and findings.
pub struct PolicyDecisions<'a> {
    /// Returns the level of a rule.
    pub level: &'a (dyn Fn(&Rule) -> Level + Sync),
    /// Returns true for a finding that a waiver accepts.
    pub waived: &'a (dyn Fn(&Finding) -> bool + Sync),
    /// True if each file, symbol and target that is gone is an error (`--fail-on-gone`).
    pub fails_on_gone: bool,
}

/// The exports and imports of the files of a report, by index in [`Report::files`]. All these
/// symbols together can be larger than the rest of the report. For an audit of this run, they are
/// therefore computed one file at a time.
pub enum SideSymbols<'a> {
    /// Computed from the facts of an audit of this run.
    Audit(AuditFacts<'a>),
    /// Read from a report of another run.
    Report(&'a Report),
}

impl SideSymbols<'_> {
    fn exports(&self, file: usize) -> Cow<'_, [Export<'_>]> {
        match self {
            Self::Audit(audit) => Cow::Owned(audit.exports(file)),
            Self::Report(report) => {
                Cow::Borrowed(report.files[file].exports.as_deref().unwrap_or_default())
            }
        }
    }

    fn imports(&self, file: usize) -> Cow<'_, [Imports<'_>]> {
        match self {
            Self::Audit(audit) => Cow::Owned(audit.imports(file)),
            Self::Report(report) => {
                Cow::Borrowed(report.files[file].imports.as_deref().unwrap_or_default())
            }
        }
    }

    /// True if two files have the same exports in the same order. This fast test is true for nearly
    /// all files of two releases. False if one side is an audit and the other is a report.
    fn same_exports(&self, file: usize, other: &SideSymbols<'_>, of_other: usize) -> bool {
        match (self, other) {
            (Self::Audit(old), SideSymbols::Audit(new)) => {
                old.exports_in_order(file).eq(new.exports_in_order(of_other))
            }
            (Self::Report(old), SideSymbols::Report(new)) => {
                old.files[file].exports == new.files[of_other].exports
            }
            _ => false,
        }
    }
}

/// One side of a comparison: a report, or an audit of this run.
pub struct Side<'a> {
    /// The path of the report or prefix, as typed.
    pub name: &'a str,
    /// The report, with its files.
    pub report: &'a Report,
    symbols: SideSymbols<'a>,
    /// The index of each file in the report, by path.
    indices: FastMap<&'a Path, usize>,
    /// For each soname, the first audited file that has it. For files without a soname, the file
    /// name is the key.
    by_soname: FastMap<&'a [u8], &'a File>,
    links: Vec<PrefixLink<'a>>,
    /// Paths that could not be read in full.
    pub(super) unread: UnreadPaths<'a>,
}

/// A link in a prefix to a directory of the same prefix.
pub(super) struct PrefixLink<'a> {
    pub(super) prefix: &'a Path,
    pub(super) path: &'a Path,
    /// The path below the prefix, without store hashes.
    pub(super) below: Vec<u8>,
    /// The target directory, below the prefix and without store hashes.
    pub(super) target: Vec<u8>,
}

impl<'a> Side<'a> {
    /// A side with a report and the symbols of its files. `allowed` is the result of
    /// [`apply_policy`](super::apply_policy).
    pub fn new(
        name: &'a str,
        report: &'a Report,
        allowed: &'a [ReportFinding],
        symbols: SideSymbols<'a>,
    ) -> Self {
        let files = report.files.iter().enumerate();
        let indices: FastMap<&Path, usize> = files.map(|(at, file)| (&*file.path, at)).collect();
        let (by_soname, links) = (FastMap::default(), links(report));
        let unread = UnreadPaths::of(report, allowed, |path| indices.contains_key(path));
        let mut side = Self { name, report, symbols, indices, by_soname, links, unread };
        let mut by_soname = FastMap::default();
        for file in side.own() {
            by_soname.entry(soname(file)).or_insert(file);
        }
        side.by_soname = by_soname;
        side
    }

    /// True if the exports of the files are known. A report has them only if `--facts` was given.
    pub(super) fn has_exports(&self) -> bool {
        self.knows(|file| file.exports.is_some())
    }

    /// True if the imports of the files are known. A report has them only if `--facts` was given.
    pub(super) fn has_imports(&self) -> bool {
        self.knows(|file| file.imports.is_some())
    }

    /// True if the kinds of the files are known. Reports of earlier releases of linkaudit have
    /// neither kinds nor first versions.
    pub(super) fn has_kinds(&self) -> bool {
        self.knows(|file| file.kind.is_some() || file.first_version.is_some())
    }

    fn knows(&self, is_there: impl Fn(&File) -> bool) -> bool {
        let files = &self.report.files;
        matches!(self.symbols, SideSymbols::Audit(_))
            || files.is_empty()
            || files.iter().any(is_there)
    }

    /// The exports of a file of this side.
    pub(super) fn exports(&self, file: &File) -> Cow<'_, [Export<'_>]> {
        match self.indices.get(&*file.path) {
            Some(at) => self.symbols.exports(*at),
            None => Cow::Borrowed(&[]),
        }
    }

    /// The symbols that a file of this side refers to.
    pub(super) fn imports(&self, file: &File) -> Cow<'_, [Imports<'_>]> {
        match self.indices.get(&*file.path) {
            Some(at) => self.symbols.imports(*at),
            None => Cow::Borrowed(&[]),
        }
    }

    /// True if a file and a file of another side have the same exports in the same order.
    pub(super) fn same_exports(&self, file: &File, other: &Side<'_>, of_other: &File) -> bool {
        let at = |side: &Side<'_>, file: &File| side.indices.get(&*file.path).copied();
        match (at(self, file), at(other, of_other)) {
            (Some(old), Some(new)) => self.symbols.same_exports(old, &other.symbols, new),
            _ => false,
        }
    }

    /// The audited programs and libraries. Separate debug files, cores and objects for linkers are
    /// not compared: no loader opens them, and debug files have another name after each build.
    pub(super) fn own(&self) -> impl Iterator<Item = &'a File> + use<'a> {
        // Reports of earlier versions have no prefixes, so all of their files are included.
        let report = self.report;
        let states = report.files.iter().any(|file| file.prefix.is_some());
        let own = report.files.iter().filter(move |file| !states || file.prefix.is_some());
        own.filter(|file| file.kind.is_none() && !is_by_build_id(file, &file.path))
    }

    /// All sonames and file names of this side.
    pub(super) fn names(&self) -> FastSet<&'a [u8]> {
        let sonames = self.own().filter_map(|file| file.soname.as_deref());
        sonames.chain(self.own().flat_map(file_names)).collect()
    }

    /// The links in a prefix to directories of the same prefix.
    pub(super) fn links(&self) -> &[PrefixLink<'a>] {
        &self.links
    }

    /// All names that files of this side need.
    pub(super) fn needed_names(&self) -> FastSet<&'a [u8]> {
        self.own().flat_map(|file| file.needed.iter().map(|need| &*need.name)).collect()
    }

    /// The first audited file with this soname. A file without a soname is found by its file name.
    pub(super) fn library(&self, soname: &[u8]) -> Option<&'a File> {
        self.by_soname.get(soname).copied()
    }

    /// The audited libraries that a file loads, directly or not. They are looked up by soname,
    /// because resolved paths may be wrong. If a package was unpacked apart from its dependencies,
    /// these paths point to system files, or do not exist.
    pub(super) fn loaded_by(&self, file: &File) -> Vec<&'a File> {
        let mut met: FastSet<&[u8]> = FastSet::default();
        let (mut out, mut open) = (Vec::new(), vec![file]);
        while let Some(file) = open.pop() {
            for need in &file.needed {
                let found = self.by_soname.get(&*need.name);
                if let Some(found) = found.filter(|_| met.insert(&need.name)) {
                    out.push(*found);
                    open.push(found);
                }
            }
        }
        out
    }

    /// The finding of this side about an unread path that is a name of `file`, a file of the other
    /// side.
    pub(super) fn lacks_file(&self, file: &File) -> Option<&'a ReportFinding> {
        let mut names = all_names(file).filter(|_| !self.unread.is_empty());
        names.find_map(|path| self.unread.lacks(&below_prefix(file, path)))
    }

    /// As [`Self::lacks_file`], but the version numbers in the paths may differ.
    pub(super) fn lacks_release(&self, file: &File) -> Option<&'a ReportFinding> {
        let mut names = all_names(file).filter(|_| !self.unread.is_empty());
        names.find_map(|path| self.unread.lacks_release(&below_prefix(file, path)))
    }

    /// For each file, the number of its needed libraries that were not found.
    pub(super) fn missing(&self) -> FastMap<&'a Path, usize> {
        let mut out = FastMap::default();
        for file in self.own() {
            let missing = file.needed.iter().filter(|need| need.path.is_none()).count();
            out.insert(&*file.path, missing);
        }
        out
    }
}

fn links(report: &Report) -> Vec<PrefixLink<'_>> {
    let prefixes: BTreeSet<&Path> =
        order::set(report.files.iter().filter_map(|file| file.prefix.as_deref()));
    let split = |path: &Path| {
        let prefix = path.ancestors().find_map(|dir| prefixes.get(dir).copied())?;
        let below = path.strip_prefix(prefix).ok()?;
        Some((prefix, without_hashes(below.as_os_str().as_bytes()).into_owned()))
    };
    let links = report.directory_links.iter().flatten().filter_map(|link| {
        let ((prefix, below), (of_target, target)) = (split(&link.path)?, split(&link.target)?);
        (prefix == of_target).then(|| PrefixLink { prefix, path: &link.path, below, target })
    });
    links.collect()
}

/// The name of a file without its directories.
pub(super) fn name(file: &File) -> &[u8] {
    last_part(file.path.as_os_str().as_bytes())
}

/// All paths of a file.
pub(super) fn all_names(file: &File) -> impl Iterator<Item = &Path> {
    let others = file.names.iter().map(|name| Path::new(OsStr::from_bytes(&name.0)));
    std::iter::once(&*file.path).chain(others)
}

/// True for a path that debuggers look up by build id: `usr/lib/debug/.build-id/9c/ecdd51.debug`,
/// or a link such as `usr/lib/.build-id/9c/ecdd51`. The build id differs in each build. The path
/// also identifies debug files of static programs, which have no PT_DYNAMIC. Directories above the
/// prefix are ignored.
pub(super) fn is_by_build_id(file: &File, path: &Path) -> bool {
    in_prefix(file, path).components().any(|part| part.as_os_str() == ".build-id")
}

/// The file name in each path of a file.
pub(super) fn file_names(file: &File) -> impl Iterator<Item = &[u8]> {
    all_names(file).map(|path| last_part(path.as_os_str().as_bytes()))
}

/// The path of a file below its prefix, without store hashes.
pub(super) fn below(file: &File) -> Vec<u8> {
    below_prefix(file, &file.path)
}

/// `path` below the prefix of `file`, without store hashes.
pub(super) fn below_prefix(file: &File, path: &Path) -> Vec<u8> {
    without_hashes(in_prefix(file, path).as_os_str().as_bytes()).into_owned()
}

/// `path` below the prefix of `file`; the whole path if the file has no prefix.
fn in_prefix<'p>(file: &File, path: &'p Path) -> &'p Path {
    let prefix = file.prefix.as_deref();
    prefix.and_then(|prefix| path.strip_prefix(prefix).ok()).unwrap_or(path)
}

/// The location of a file at `path`, one of its paths.
pub(super) fn located(file: &File, path: &Path) -> Located {
    let prefix = file.prefix.as_deref();
    match prefix.and_then(|prefix| Some((prefix, path.strip_prefix(prefix).ok()?))) {
        Some((prefix, path)) => {
            Located { prefix: Some(prefix.to_path_buf()), path: path.to_path_buf() }
        }
        None => Located { prefix: None, path: path.to_path_buf() },
    }
}

/// The file that a finding about lost symbols names. This is the new file if its path is a
/// further name of the old file, else the old file.
pub(super) fn named<'f>(old: &'f File, new: &'f File) -> &'f File {
    let path = below(new);
    let is_name = all_names(old).skip(1).any(|name| below_prefix(old, name) == path);
    if is_name { new } else { old }
}

/// True for a file that has a soname or the name of a library.
pub(super) fn is_library(file: &File) -> bool {
    let name = name(file);
    file.soname.is_some() || name.ends_with(b".so") || memchr::memmem::find(name, b".so.").is_some()
}

/// The soname, or the file name if the file has none.
pub(super) fn soname(file: &File) -> &[u8] {
    file.soname.as_deref().unwrap_or_else(|| name(file))
}

/// A soname without its version and hash: `libfoo` of `libfoo.so.2`, `libfoo-3.so`,
/// `libfoo-3.1.so.0` and `libfoo-1d2c3b4a.so.2`.
pub(super) fn stem(soname: &[u8]) -> &[u8] {
    let end = memchr::memmem::find(soname, b".so").unwrap_or(soname.len());
    let base = without_wheel_hashes(&soname[..end]);
    let digits = base.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    match base.len().checked_sub(digits + 1).map(|at| (at, base[at])) {
        Some((at, b'-' | b'_')) if digits > 0 => &base[..at],
        _ => base,
    }
}

/// True if the sonames of both libraries have hashes of wheels and the same stem. auditwheel and
/// delocate copy a library into a wheel and add a hash of the file to its name. Only files of
/// that wheel can need the copy, because its name differs in each build.
pub(super) fn is_wheel(old: &File, new: &File) -> bool {
    is_same_wheel_library(soname(old), soname(new))
}

fn is_same_wheel_library(old: &[u8], new: &[u8]) -> bool {
    let has_hash = |soname: &[u8]| {
        let end = memchr::memmem::find(soname, b".so").unwrap_or(soname.len());
        without_wheel_hashes(&soname[..end]).len() < end
    };
    has_hash(old) && has_hash(new) && stem(old) == stem(new)
}

/// A file name before `.so` without hashes of wheels: `libfoo` of `libfoo-1d2c3b4a`. A library that
/// was copied twice has two hashes. One in 43 hashes has only digits, so eight digits are a hash
/// unless they look like a date (`libabsl-20240722`).
fn without_wheel_hashes(mut base: &[u8]) -> &[u8] {
    /// Length of a hash in characters.
    const HASH: usize = 8;
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    while let Some((name, hash)) = base.len().checked_sub(HASH).map(|at| base.split_at(at)) {
        let is_date = (hash.starts_with(b"19") || hash.starts_with(b"20"))
            && hash.iter().all(u8::is_ascii_digit);
        let is_hash = hash.iter().all(is_digit) && !is_date;
        match name.strip_suffix(b"-").filter(|name| is_hash && !name.is_empty()) {
            Some(name) => base = name,
            None => break,
        }
    }
    base
}

#[cfg(test)]
mod tests {
    use super::{is_same_wheel_library, stem};

    #[test]
    fn a_stem_has_no_version() {
        for (soname, expected) in [
            ("libfoo.so.2", "libfoo"),
            ("libfoo-3.1.so.0", "libfoo"),
            ("libicuuc.so.72", "libicuuc"),
            ("libx264.so.164", "libx264"),
            ("libLLVM-19.so.1", "libLLVM"),
            ("ld-linux-x86-64.so.2", "ld-linux-x86"),
            ("libz.so", "libz"),
            ("libtiff-4da6744b.so.6.0.2", "libtiff"),
            ("libgfortran-105e6576-4da6744b.so.5.0.0", "libgfortran"),
            ("libavcodec-71-4da6744b.so", "libavcodec"),
        ] {
            assert_eq!(stem(soname.as_bytes()), expected.as_bytes(), "{soname}");
        }
    }

    #[test]
    fn libraries_of_wheels_have_hashes() {
        let is_same = |old: &str, new: &str| is_same_wheel_library(old.as_bytes(), new.as_bytes());
        assert!(is_same("libtiff-4da6744b.so.6.0.2", "libtiff-0a86184d.so.6.1.0"));
        assert!(!is_same("libtiff-4da6744b.so.6", "libjpeg-0a86184d.so.6"));
        assert!(!is_same("libtiff.so.6", "libtiff-0a86184d.so.6"));
        assert!(is_same("libfoo-40127745.so.1", "libfoo-0a86184d.so.1"));
        assert!(!is_same("libabsl-20230125.so", "libabsl-20240722.so"));
        assert!(!is_same("libfoo-deadbee.so.1", "libfoo-defaced.so.1"));
    }
}
