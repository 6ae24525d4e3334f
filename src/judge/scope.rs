//! What a run looked at: whether a waiver or a line of a baseline that matches nothing may be called
//! stale. What is about other files than the run's says nothing when it stays silent.

use super::baseline::Entry;
use super::fingerprint::{Sonames, package_digits, package_name};
use crate::audit::Audit;
use crate::catalogue::RuleId;
use crate::facts::{Content, FileFacts};
use crate::id::{FastMap, FastSet};
use crate::package::{Prefixes, holds_store};
use crate::plan::Plan;
use crate::policy::Waiver;
use crate::rules::{self, Judges};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A place: the digits of a package, and a path below its prefix.
type Below = (String, Vec<u8>);

/// The files and rules that a run covered.
#[derive(Debug, Default)]
pub struct Scope {
    /// Every name of every audited file, and its number of files. Versions of one package share
    /// names.
    audited: FastMap<Below, usize>,
    /// The same of dependencies outside, which not every rule judges.
    dependencies: FastMap<Below, usize>,
    /// Those of files that were read in part only: what is missing about them proves nothing.
    partial: FastSet<Below>,
    /// Given directories below their prefixes; nothing instead of a package for every package.
    dirs: Vec<(Option<String>, Vec<u8>)>,
    /// What could not be looked at.
    blind: Vec<Below>,
    /// Rules that ran.
    ran: FastSet<RuleId>,
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

fn place(prefixes: &Prefixes, path: &Path) -> Below {
    let located = prefixes.locate(path);
    (package_digits(&package_name(located.prefix.as_deref())), bytes(&located.path))
}

/// True if `path` is `dir` or lies below it; everything but an absolute path lies below nothing.
fn is_below(path: &[u8], dir: &[u8]) -> bool {
    match path.strip_prefix(dir) {
        Some(rest) if dir.is_empty() => !rest.starts_with(b"/"),
        Some(rest) => rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }
}

impl Scope {
    /// What `audit` looked at.
    pub fn of(audit: &Audit, sonames: &Sonames, plan: &Plan) -> Self {
        let prefixes = &audit.prefixes;
        let ran = rules::RULES.iter().filter(|rule| rule.runs(plan)).map(|rule| rule.id).collect();
        let mut out = Self { ran, ..Self::default() };
        for facts in &audit.corpus.files {
            out.add_file(facts, prefixes, sonames);
        }
        for dir in prefixes.dirs() {
            let (package, inside) = place(prefixes, &dir.join("x"));
            let end = inside.len().saturating_sub("/x".len());
            out.dirs.push((Some(package), inside[..end].to_vec()));
            if holds_store(dir) {
                out.dirs.push((None, Vec::new()));
            }
        }
        out.blind = audit.problems.iter().map(|p| place(prefixes, &p.path)).collect();
        out
    }

    fn add_file(&mut self, facts: &FileFacts, prefixes: &Prefixes, sonames: &Sonames) {
        if matches!(facts.content, Content::Other(_)) && facts.unreadable.is_none() {
            return;
        }
        let (package, path) = place(prefixes, &facts.path);
        let stable = sonames.stable(&facts.path, Path::new(std::ffi::OsStr::from_bytes(&path)));
        let mut names = vec![(package.clone(), stable), (package, path)];
        names.extend(facts.names.iter().map(|name| place(prefixes, &name.path)));
        if facts.unreadable.is_some() || facts.all_defects().next().is_some() {
            self.partial.extend(names.iter().cloned());
        }
        names.sort_unstable();
        names.dedup();
        let files = if facts.audited { &mut self.audited } else { &mut self.dependencies };
        for name in names {
            *files.entry(name).or_default() += 1;
        }
    }

    /// Names of files that a rule judges.
    fn judged(&self, rule: &str) -> impl Iterator<Item = &FastMap<Below, usize>> {
        let outside = rules::find(rule).is_some_and(|rule| rule.judges == Judges::Loaded);
        [&self.audited, &self.dependencies].into_iter().take(if outside { 2 } else { 1 })
    }

    fn is_active(&self, rule: &str) -> bool {
        rules::find(rule).is_some_and(|rule| self.ran.contains(&rule.id))
    }

    /// True if `waiver`, which matches nothing, could have matched something: it names a path of
    /// what was read, or no path at all where directories were given.
    pub(super) fn concerns(&self, waiver: &Waiver) -> bool {
        let met = match &waiver.path {
            Some(pattern) => {
                let mut names = self.judged(&waiver.rule).flatten();
                names.any(|((_, path), _)| pattern.matches(path))
            }
            None => !self.dirs.is_empty(),
        };
        met && self.is_active(&waiver.rule)
    }

    /// Upper bound for the findings like `entry` that this run could have made: the audited files
    /// of that name, or items of that package. It is unlimited if a given directory outside any
    /// package contains their path.
    pub(super) fn looked_at(&self, entry: &Entry) -> usize {
        let at: Below = (entry.package().to_owned(), entry.path.clone());
        let input = rules::find(&entry.rule).is_some_and(|rule| rule.group.is_input);
        if !self.is_active(&entry.rule) || (self.partial.contains(&at) && !input) {
            return 0;
        }
        let mut blind = self.blind.iter();
        if blind.any(|(package, dir)| *package == at.0 && at.1 != *dir && is_below(&at.1, dir)) {
            return 0;
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
        let files = self.judged(&entry.rule).filter_map(|files| files.get(&at)).sum();
        dirs.len().max(files)
    }
}
