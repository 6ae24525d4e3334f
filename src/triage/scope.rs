//! The scope of a run: the files that the run checked, and the rules that ran. The scope decides
//! if an unused waiver or baseline line is stale. A line about a file outside of the run is not
//! stale.
//!
//! Some findings about a file depend on the entry points that load the file, and on candidates for
//! missing libraries. A run over a part of a prefix may miss these findings although the defects
//! still exist. In that case, a line is stale only if its file no longer names the symbol or
//! library.

use super::baseline::BaselineLine;
use super::fingerprint::{Sonames, package_digits, package_name};
use super::undecided::{UndecidedFacts, may_have};
use super::values::Values;
use crate::audit::Audit;
use crate::catalogue::RuleId;
use crate::facts::{Content, Corpus, FileFacts};
use crate::id::{FastMap, FastSet, FileId};
use crate::order::Arrange as _;
use crate::package::{Prefixes, holds_store};
use crate::plan::Plan;
use crate::policy::{Pattern, Waiver};
use crate::rules::{self, CheckedFiles, Rule};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The digits of a fingerprint that identify the package of a prefix, and a path below that prefix.
type Below = (String, Vec<u8>);

/// The files and rules that a run covered.
#[derive(Default)]
pub struct RunScope<'a> {
    /// The corpus of the run.
    corpus: Option<&'a Corpus>,
    /// Each path of an audited file, with the files that have this path. Several versions of a
    /// package have the same paths.
    audited: FastMap<Below, Vec<FileId>>,
    /// Paths of files that were loaded but not audited. Only some rules check these files.
    dependencies: FastMap<Below, Vec<FileId>>,
    /// Paths with the file name cut to the soname, for files with a longer name.
    cut: FastSet<Below>,
    /// Facts that the run did not decide. The run may lack findings about these facts.
    undecided: UndecidedFacts,
    /// Directories of the command line: the digits of the package, and the path below its prefix. A
    /// directory that contains a store also has an entry with `None`, which covers all packages.
    dirs: Vec<(Option<String>, Vec<u8>)>,
    /// Directories of the command line that are inside another such directory, as paths below the
    /// outer directory. In this run, findings about their files have paths below the inner
    /// directory. A line from a run over the outer directory alone has a longer path, and is not
    /// stale.
    nested: FastSet<Below>,
    /// Paths that could not be read. The run may lack findings about files at and below these
    /// paths.
    blind: FastSet<Below>,
    /// The prefixes of the directories of the command line, by the digits of the package.
    prefixes: FastMap<String, Vec<PathBuf>>,
    /// Rules that ran.
    ran: FastSet<RuleId>,
}

/// Rules whose findings are about a prefix or policy, not about a file of the prefix.
const WITHOUT_FILE: [&str; 4] =
    ["required-file", "deps-list-drift", "stale-waiver", "expired-waiver"];

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

fn place(prefixes: &Prefixes, path: &Path) -> Below {
    let located = prefixes.locate(path);
    (package_digits(&package_name(located.prefix.as_deref())), bytes(&located.path))
}

/// The directories of the command line that are inside another one, as paths below the outer
/// directory.
fn nested(prefixes: &Prefixes) -> FastSet<Below> {
    let prefix_of = |dir: &Path| prefixes.locate(&dir.join("x")).prefix;
    let own: Vec<&PathBuf> =
        prefixes.dirs().iter().filter(|dir| prefix_of(dir).as_ref() == Some(*dir)).collect();
    let mut out = FastSet::default();
    for outer in &own {
        let digits = package_digits(&package_name(Some(outer)));
        let below = own.iter().filter_map(|inner| inner.strip_prefix(outer).ok());
        let below = below.filter(|below| !below.as_os_str().is_empty());
        out.extend(below.map(|below| (digits.clone(), bytes(below))));
    }
    out
}

/// True if `path` is `dir` or below it. An empty `dir` is the whole prefix; absolute paths are not
/// below the prefix.
fn is_below(path: &[u8], dir: &[u8]) -> bool {
    match path.strip_prefix(dir) {
        Some(rest) if dir.is_empty() => !rest.starts_with(b"/"),
        Some(rest) => rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }
}

/// The directories above `path` for which [`is_below`] is true.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let cuts = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/');
    let first = (!path.is_empty() && !path.starts_with(b"/")).then_some(&path[..0]);
    first.into_iter().chain(cuts.map(|(at, _)| &path[..at]))
}

/// True if a rule's result for a file depends on the entry points that load the file.
fn depends_on_company(rule: &Rule) -> bool {
    rule.checked_files == CheckedFiles::Loaded || rule.id == *"undecided"
}

/// The paths of a scope, sorted on first use to match waivers quickly.
pub(super) struct ScopeNames<'s> {
    scope: &'s RunScope<'s>,
    /// Paths of audited files, then paths of dependencies.
    sorted: OnceLock<[Values<'s>; 2]>,
    /// Paths of files with undecided facts.
    undecided: OnceLock<Vec<(&'s [u8], FileId)>>,
}

impl<'s> ScopeNames<'s> {
    pub(super) fn of(scope: &'s RunScope<'s>) -> Self {
        Self { scope, sorted: OnceLock::new(), undecided: OnceLock::new() }
    }

    /// True if this run would have made the finding of the unused `waiver`, if the defect still
    /// existed. The rule must have run, and the waiver's path must match a file that the rule
    /// checks. For a waiver without a path, the run must have audited a directory. The run must
    /// also have decided all facts that the waiver could match.
    pub(super) fn concern(&self, waiver: &Waiver) -> bool {
        self.scope.is_active(&waiver.rule)
            && match &waiver.path {
                Some(pattern) => self.hold(pattern, checks_loaded(&waiver.rule)),
                None => !self.scope.dirs.is_empty(),
            }
            && !self.hides_match(waiver)
    }

    /// True if the run could not read a path or decide a fact that `waiver` could match.
    fn hides_match(&self, waiver: &Waiver) -> bool {
        let scope = self.scope;
        let Some(rule) = rules::find(&waiver.rule).filter(|rule| !rule.group.is_input) else {
            return false;
        };
        let fits = |path: &[u8]| waiver.path.as_ref().is_none_or(|pattern| pattern.matches(path));
        // `begin`, the literal start of the pattern, may end inside of a file name.
        let begin = waiver.path.as_ref().map_or(&b""[..], |pattern| pattern.ends().0);
        let may_be_below = |dir: &[u8]| is_below(begin, dir) || dir.starts_with(begin);
        if !WITHOUT_FILE.contains(&rule.id.as_str())
            && scope.blind.iter().any(|(_, path)| fits(path) || may_be_below(path))
        {
            return true;
        }
        let in_company = depends_on_company(rule);
        self.undecided().iter().any(|(path, file)| {
            let object = scope.corpus.and_then(|corpus| corpus.files[*file].object());
            fits(path)
                && scope.is_judged(&waiver.rule, *file)
                && scope.undecided.hides(*file, object, waiver, in_company)
        })
    }

    fn undecided(&self) -> &[(&'s [u8], FileId)] {
        self.undecided.get_or_init(|| {
            let scope = self.scope;
            let files = scope.undecided.files();
            let all = scope.audited.iter().chain(&scope.dependencies);
            let paths = all.filter(|_| !files.is_empty()).flat_map(|((_, path), own)| {
                let own = own.iter().copied().filter(|file| files.contains(file));
                own.map(|file| (&**path, file))
            });
            paths.collect()
        })
    }

    fn hold(&self, pattern: &Pattern, of_dependencies: bool) -> bool {
        let sorted = |names: &'s FastMap<Below, Vec<FileId>>| {
            Values::new(names.keys().map(|(_, path)| (&**path, 0)))
        };
        let scope = self.scope;
        let all = [&scope.audited, &scope.dependencies];
        let sorted = self.sorted.get_or_init(|| all.map(sorted));
        let asked = sorted.iter().take(if of_dependencies { 2 } else { 1 });
        let mut candidates = asked.flat_map(|values| values.candidates(pattern));
        candidates.any(|(path, _)| pattern.matches(path))
    }
}

/// True if a rule also checks files that were loaded but not audited.
fn checks_loaded(rule: &str) -> bool {
    rules::find(rule).is_some_and(|rule| rule.checked_files == CheckedFiles::Loaded)
}

impl<'a> RunScope<'a> {
    /// The scope of the run that made `audit`. `plan` decides which rules ran.
    pub fn of(audit: &'a Audit, sonames: &Sonames, plan: &Plan) -> Self {
        let prefixes = &audit.prefixes;
        let ran = rules::RULES.iter().filter(|rule| rule.runs(plan)).map(|rule| rule.id).collect();
        let undecided = UndecidedFacts::of(audit, plan);
        let mut out = Self { ran, corpus: Some(&audit.corpus), undecided, ..Self::default() };
        for (file, facts) in audit.corpus.files.entries() {
            out.add_file(file, facts, prefixes, sonames);
        }
        for dir in prefixes.dirs() {
            let (package, inside) = place(prefixes, &dir.join("x"));
            let end = inside.len().saturating_sub("/x".len());
            if let Some(prefix) = prefixes.locate(&dir.join("x")).prefix {
                let known = out.prefixes.entry(package.clone()).or_default();
                if !known.contains(&prefix) {
                    known.push(prefix);
                }
            }
            out.dirs.push((Some(package), inside[..end].to_vec()));
            if holds_store(dir) {
                out.dirs.push((None, Vec::new()));
            }
        }
        out.nested = nested(prefixes);
        out.blind = audit.problems.iter().map(|p| place(prefixes, &p.path)).collect();
        out
    }

    fn add_file(
        &mut self,
        file: FileId,
        facts: &FileFacts,
        prefixes: &Prefixes,
        sonames: &Sonames,
    ) {
        if matches!(facts.content, Content::Other(_)) && facts.unreadable.is_none() {
            return;
        }
        let (package, path) = place(prefixes, &facts.path);
        let stable = sonames.stable(&facts.path, Path::new(std::ffi::OsStr::from_bytes(&path)));
        let cut = (stable != path).then(|| (package.clone(), stable));
        self.cut.extend(cut.clone());
        let mut names = vec![(package, path)];
        names.extend(cut);
        names.extend(facts.names.iter().map(|name| place(prefixes, &name.path)));
        names.arrange();
        names.dedup();
        let files = if facts.audited { &mut self.audited } else { &mut self.dependencies };
        for name in names {
            files.entry(name).or_default().push(file);
        }
    }

    fn is_active(&self, rule: &str) -> bool {
        rules::find(rule).is_some_and(|rule| self.ran.contains(&rule.id))
    }

    fn is_judged(&self, rule: &str, file: FileId) -> bool {
        checks_loaded(rule) || self.corpus.is_some_and(|corpus| corpus.files[file].audited)
    }

    /// The files to which a line about `at` may refer. In a store, several versions of a package
    /// may have a file at this path. In a package, the file name may differ after the soname
    /// (`libfoo.so.1.3`).
    fn files_at(&self, at: &Below) -> Vec<FileId> {
        let of = |at: &Below| -> Vec<FileId> {
            let all = [&self.audited, &self.dependencies].into_iter();
            all.filter_map(|files| files.get(at)).flatten().copied().collect()
        };
        let (package, path) = at;
        let exact = of(at);
        if !exact.is_empty() || *package == package_digits("") {
            return exact;
        }
        let name = path.iter().rposition(|b| *b == b'/').map_or(0, |slash| slash + 1);
        let mut cut =
            (name + 1..path.len()).rev().map(|end| (package.clone(), path[..end].to_vec()));
        cut.find(|at| self.cut.contains(at)).map(|at| of(&at)).unwrap_or_default()
    }

    /// True if the run has no file at the path of a stale line, and no other version of the
    /// library. False for rules that are not about a file of a prefix.
    pub(super) fn lacks_file(&self, entry: &BaselineLine) -> bool {
        let is_of_file = rules::find(&entry.rule)
            .is_some_and(|rule| !rule.group.is_input && !WITHOUT_FILE.contains(&rule.id.as_str()));
        let at: Below = (entry.package().to_owned(), entry.path.clone());
        let digits = at.0 == package_digits("");
        let name = at.1.iter().rposition(|b| *b == b'/').map_or(0, |slash| slash + 1);
        let mut ends = (name + 1..at.1.len()).rev();
        let mut another =
            || ends.any(|end| self.cut.contains(&(at.0.clone(), at.1[..end].to_vec())));
        is_of_file && self.files_at(&at).is_empty() && !(digits && another())
    }

    /// The full path of the file of a stale line. `None` if several prefixes may contain it.
    pub(super) fn full_path(&self, entry: &BaselineLine) -> Option<PathBuf> {
        let path = Path::new(std::ffi::OsStr::from_bytes(&entry.path));
        if path.is_absolute() {
            return Some(path.to_path_buf());
        }
        match &self.prefixes.get(entry.package())?[..] {
            [prefix] => Some(prefix.join(path)),
            _ => None,
        }
    }

    /// True if the run could not read another version of the library at a path. File names are
    /// compared up to `.so`, because the soname of an unread file is not known.
    fn has_blind_release(&self, (package, path): &Below) -> bool {
        let name = path.iter().rposition(|b| *b == b'/').map_or(0, |slash| slash + 1);
        let Some(at) = memchr::memmem::find(&path[name..], b".so") else { return false };
        let begin = &path[..name + at + ".so".len()];
        let is_release = |other: &[u8]| {
            let rest = other.strip_prefix(begin);
            rest.is_some_and(|rest| !rest.contains(&b'/'))
        };
        self.blind.iter().any(|(of, other)| of == package && is_release(other))
    }

    /// True if a directory of the command line is the prefix of the package with the digits
    /// `package`, or contains a store.
    fn covers(&self, package: &str) -> bool {
        let mut whole = self.dirs.iter().filter(|(_, dir)| dir.is_empty());
        whole.any(|(of, _)| of.as_ref().is_none_or(|of| of == package))
    }

    /// The number of `files` that no longer name the symbol or library of `entry`.
    fn repaired(&self, files: &[FileId], entry: &BaselineLine) -> usize {
        let object = |file: &FileId| self.corpus?.files[*file].object();
        let objects = files.iter().filter_map(object);
        objects.filter(|object| !may_have(object, &entry.rule, &entry.name)).count()
    }

    /// Upper bound for the number of findings with the fingerprint of `entry` that this run could
    /// have made. The bound is the larger of two numbers: the checked files at the path of
    /// `entry`, and the directories of the command line that contain this path. Exceptions:
    /// - unlimited if this version of linkaudit does not have the rule, or if one of these
    ///   directories is outside of all packages or contains a store
    /// - 0 if the rule did not run or could not check the file
    /// - the number of files that no longer name the symbol or library, for a rule that depends on
    ///   entry points, if the run does not cover the whole package or leaves the fact undecided
    pub(super) fn looked_at(&self, entry: &BaselineLine) -> usize {
        if !entry.has_known_rule() {
            return usize::MAX;
        }
        let at: Below = (entry.package().to_owned(), entry.path.clone());
        let input = rules::find(&entry.rule).is_some_and(|rule| rule.group.is_input);
        let mut files = self.files_at(&at);
        let is_partial = files.iter().any(|file| self.undecided.partial.contains(file));
        if !self.is_active(&entry.rule) || (is_partial && !input) {
            return 0;
        }
        let is_blind = |path: &[u8]| self.blind.contains(&(at.0.clone(), path.to_vec()));
        if above(&at.1).any(is_blind) || (!input && is_blind(&at.1)) {
            return 0;
        }
        let is_nested = || {
            let mut dirs = above(&at.1);
            dirs.any(|dir| self.nested.contains(&(at.0.clone(), dir.to_vec())))
        };
        if files.is_empty() && (is_nested() || !input && self.has_blind_release(&at)) {
            return 0;
        }
        files.retain(|file| self.is_judged(&entry.rule, *file));
        let in_company = rules::find(&entry.rule).is_some_and(depends_on_company);
        let is_open = |file: &FileId| self.undecided.leaves_open(*file, &entry.rule, &entry.name);
        if in_company && !files.is_empty() && (!self.covers(&at.0) || files.iter().any(is_open)) {
            return self.repaired(&files, entry);
        }
        let walked = |(package, dir): &&(Option<String>, Vec<u8>)| {
            package.as_ref().is_none_or(|package| *package == at.0) && is_below(&at.1, dir)
        };
        let no_package = package_digits("");
        let whole = |(package, _): &(Option<String>, _)| {
            package.as_ref().is_none_or(|package| *package == no_package)
        };
        let dirs: Vec<_> = self.dirs.iter().filter(walked).collect();
        if dirs.iter().any(|dir| whole(dir)) {
            return usize::MAX;
        }
        dirs.len().max(files.len())
    }
}
