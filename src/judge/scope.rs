//! What a run looked at: whether a waiver or a line of a baseline that matches nothing may be called
//! stale. What is about other files than the run's says nothing when it stays silent.

use super::baseline::Entry;
use super::fingerprint::{Sonames, package_digits, package_name};
use crate::audit::Audit;
use crate::facts::{Content, FileFacts};
use crate::id::FastSet;
use crate::package::{Prefixes, holds_store};
use crate::plan::Plan;
use crate::policy::Waiver;
use crate::rules::{self, Judges};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A place: the digits of a package, and a path below its prefix.
type Below = (String, Vec<u8>);

/// What a run looked at.
#[derive(Debug, Default)]
pub struct Scope {
    /// Every name of every file that was audited.
    audited: FastSet<Below>,
    /// The same of dependencies outside, which not every rule judges.
    dependencies: FastSet<Below>,
    /// Those of files that were read in part only: what is missing about them proves nothing.
    partial: FastSet<Below>,
    /// Given directories below their prefixes; nothing instead of a package for every package.
    dirs: Vec<(Option<String>, Vec<u8>)>,
    /// What could not be looked at.
    blind: Vec<Below>,
    /// Rules that ran.
    ran: FastSet<&'static str>,
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
        if facts.audited {
            self.audited.extend(names);
        } else {
            self.dependencies.extend(names);
        }
    }

    /// Names of files that a rule judges.
    fn judged(&self, rule: &str) -> impl Iterator<Item = &FastSet<Below>> {
        let outside = rules::find(rule).is_some_and(|rule| rule.judges == Judges::Loaded);
        [&self.audited, &self.dependencies].into_iter().take(if outside { 2 } else { 1 })
    }

    fn is_active(&self, rule: &str) -> bool {
        rules::find(rule).is_some_and(|rule| self.ran.contains(rule.id))
    }

    /// True if `waiver`, which matches nothing, could have matched something: it names a path of
    /// what was read, or no path at all where directories were given.
    pub(super) fn concerns(&self, waiver: &Waiver) -> bool {
        let met = match &waiver.path {
            Some(pattern) => {
                let mut names = self.judged(&waiver.rule).flatten();
                names.any(|(_, path)| pattern.matches(path))
            }
            None => !self.dirs.is_empty(),
        };
        met && self.is_active(&waiver.rule)
    }

    /// True if what `entry` is about was looked at: the file was read, or everything of the place
    /// where it would lie.
    pub(super) fn holds(&self, entry: &Entry) -> bool {
        let at: Below = (entry.package().to_owned(), entry.path.clone());
        let input = rules::find(&entry.rule).is_some_and(|rule| rule.group.is_input);
        if !self.is_active(&entry.rule) || (self.partial.contains(&at) && !input) {
            return false;
        }
        let mut blind = self.blind.iter();
        if blind.any(|(package, dir)| *package == at.0 && at.1 != *dir && is_below(&at.1, dir)) {
            return false;
        }
        let walked = |(package, dir): &(Option<String>, Vec<u8>)| {
            package.as_ref().is_none_or(|package| *package == at.0) && is_below(&at.1, dir)
        };
        self.judged(&entry.rule).any(|files| files.contains(&at)) || self.dirs.iter().any(walked)
    }
}
