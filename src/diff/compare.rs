//! The findings of a comparison. A new finding of the audit is one of the new side that the old side does
//! not have. The rules of the group `compatibility` find what became incompatible.

use super::Difference;
use super::pairs::{Pairs, pairs};
use super::sides::{Levels, Side, below, is_library, soname, stem};
use super::symbols::{self, Change, Changes};
use super::users::Users;
use super::worse::report;
use crate::catalogue::Level;
use crate::finding::{Evidence, EvidenceKind, Finding as Fact};
use crate::format::gpu::TargetId;
use crate::gpu::compat::{Offer, Profile, serves};
use crate::id::{FastMap, FastSet};
use crate::order;
use crate::order::Arrange as _;
use crate::package::{Located, without_hashes};
use crate::parallel;
use crate::report::model::{File, Finding};
use crate::rules;
use crate::text::show;
use crate::triage::fingerprint_of;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The words of a finding about symbols.
struct Words {
    one: &'static str,
    many: &'static str,
    unused: &'static str,
    used: &'static str,
}

const GONE: Words = Words {
    one: "symbol gone",
    many: "symbols gone",
    unused: "none in use by the audited files",
    used: "in use",
};

const CHANGED: Words = Words {
    one: "symbol changed",
    many: "symbols changed",
    unused: "no audited file depends on that",
    used: "with users",
};

/// Symbols in the evidence of one finding.
const MOST: usize = 10_000;

/// Compares two sides. Files of `against` count as users of the old one.
pub fn compare(
    old: &Side<'_>,
    new: &Side<'_>,
    against: &[Side<'_>],
    levels: &Levels<'_>,
) -> Difference {
    let pairs = pairs(old, new);
    let mut comparison = Comparison {
        old,
        new,
        against,
        levels,
        users: Users::default(),
        names: new.names(),
        findings: Vec::new(),
        same_files: 0,
        is_any_gone: false,
    };
    comparison.run(&pairs);
    let (fresh, fixed, unchanged) = audited(old, new, &pairs);
    let mut findings = std::mem::take(&mut comparison.findings);
    findings.extend(consequences_apart(fresh, &findings));
    findings.arrange_by(|a, b| {
        (a.full_path(), &a.rule, &a.fingerprint).cmp(&(b.full_path(), &b.rule, &b.fingerprint))
    });
    let mut undecided = Vec::new();
    let users = against.iter().chain([new]).filter(|side| side.has_exports());
    for side in users.filter(|side| !side.has_imports()) {
        undecided.push(format!("{}: no imports, users are not found (--facts)", side.name));
    }
    for side in [old, new] {
        if !side.has_exports() {
            undecided
                .push(format!("{}: no exports, symbols are not compared (--facts)", side.name));
        }
        if !side.report.complete {
            undecided.push(format!("{}: some files were not read or decided", side.name));
        }
    }
    Difference {
        names: [old.name.to_owned(), new.name.to_owned()],
        worse: report(new, findings, undecided.is_empty(), levels),
        fixed,
        added: pairs.added.iter().map(|file| show(&below(file))).collect(),
        unchanged,
        same_files: comparison.same_files,
        is_any_gone: comparison.is_any_gone,
        undecided,
    }
}

struct Comparison<'a, 's> {
    old: &'a Side<'s>,
    new: &'a Side<'s>,
    against: &'a [Side<'s>],
    levels: &'a Levels<'a>,
    /// The users of symbols that are gone or changed.
    users: Users<'a>,
    /// Sonames and file names of the new side.
    names: FastSet<&'a [u8]>,
    findings: Vec<Finding>,
    same_files: usize,
    is_any_gone: bool,
}

impl<'a> Comparison<'a, '_> {
    fn run(&mut self, pairs: &Pairs<'a>) {
        let changes: Vec<Changes> = parallel::map(&pairs.both, |(old, new)| self.changes(old, new));
        self.find_users(&changes);
        for file in &pairs.gone {
            self.gone(file);
        }
        let (before, now) = (self.old.missing(), self.new.missing());
        for ((old, new), changes) in pairs.both.iter().zip(changes) {
            let findings = self.findings.len();
            let is_worse = now.get(&*new.path) > before.get(&*old.path);
            if is_library(old) && old.soname.is_some() && old.soname != new.soname {
                self.soname(old, new, &changes.gone);
            } else if !changes.gone.is_empty() {
                self.symbols("removed-symbol", old, &changes.gone, &GONE);
            }
            if !changes.changed.is_empty() {
                self.symbols("changed-symbol", new, &changes.changed, &CHANGED);
            }
            self.needs(old, new);
            self.paths(old, new, is_worse);
            self.targets(old, new);
            self.same_files += usize::from(self.findings.len() == findings);
        }
    }

    /// The differences of the exports, without symbols that moved to a library which the new one needs.
    fn changes(&self, old: &'a File, new: &'a File) -> Changes {
        if !self.old.has_exports() || !self.new.has_exports() || !is_library(old) {
            return Changes::default();
        }
        if self.old.same_exports(old, self.new, new) {
            return Changes::default();
        }
        let mut changes = symbols::compare(&self.old.exports(old), &self.new.exports(new));
        if !changes.gone.is_empty() {
            let needed: FastSet<&[u8]> = new.needed.iter().map(|need| &*need.name).collect();
            let others = self.new.own().filter(|file| needed.contains(soname(file)));
            for other in others {
                let exports = self.new.exports(other);
                let moved: FastSet<&[u8]> = exports.iter().map(|export| &*export.name).collect();
                changes.gone.retain(|change| !moved.contains(&*change.name));
            }
        }
        changes
    }

    fn find_users(&mut self, changes: &[Changes]) {
        let all = changes.iter().flat_map(|own| own.gone.iter().chain(&own.changed));
        let names: FastSet<&[u8]> = all.map(|change| &*change.name).collect();
        self.users = Users::new(self.against, (self.old, self.new), &names);
    }

    /// Files that need a library by name, outside of the file itself.
    fn needed_by(&self, library: &[u8], but: &Path) -> BTreeSet<PathBuf> {
        let sides = self.against.iter().chain([self.new]);
        let files = sides.flat_map(Side::own).filter(|file| &*file.path != but);
        let needs = |file: &&File| file.needed.iter().any(|need| need.name == library);
        files.filter(needs).map(|file| file.path.to_path_buf()).collect()
    }

    fn gone(&mut self, file: &File) {
        let library = soname(file).to_vec();
        let users =
            if is_library(file) { self.needed_by(&library, &file.path) } else { BTreeSet::new() };
        let Some(mut finding) = self.finding("removed-library", file, "gone".to_owned(), |fact| {
            fact.library = is_library(file).then_some(library);
        }) else {
            return;
        };
        finding.evidence.extend(users.into_iter().map(user));
        self.findings.push(finding);
        self.is_any_gone = true;
    }

    fn soname(&mut self, old: &File, new: &File, gone: &[Change]) {
        let (before, now) = (soname(old).to_vec(), soname(new).to_vec());
        let users = self.needed_by(&before, &new.path);
        let message = format!("soname {} became {}", show(&before), show(&now));
        let Some(mut finding) = self.finding("changed-soname", old, message, |fact| {
            fact.library = Some(before);
            fact.detail = Some(now);
        }) else {
            return;
        };
        self.is_any_gone |= !gone.is_empty();
        finding.evidence.extend(gone.iter().take(MOST).map(|change| evidence(change, &[])));
        finding.evidence.extend(users.into_iter().map(user));
        self.findings.push(finding);
    }

    /// One finding for the symbols of a library. It is a warning if it breaks no file of the new side or of
    /// `against`.
    fn symbols(&mut self, rule: &'static str, file: &File, changes: &[Change], words: &Words) {
        let of = |change| self.users.of(change, soname(file), &file.path);
        let users: Vec<Vec<PathBuf>> = changes.iter().map(of).collect();
        let used = users.iter().filter(|users| !users.is_empty()).count();
        let noun = if changes.len() == 1 { words.one } else { words.many };
        let in_use = match used {
            0 => words.unused.to_owned(),
            used => format!("{used} {}", words.used),
        };
        let classes: Vec<String> = symbols::by_class(changes)
            .into_iter()
            .filter(|(class, _)| !class.is_empty() && changes.len() > 1)
            .take(3)
            .map(|(class, count)| format!("{count} of {class}"))
            .collect();
        let classes =
            if classes.is_empty() { String::new() } else { format!("; {}", classes.join(", ")) };
        let message = format!("{} {noun}, {in_use}{classes}", changes.len());
        let Some(mut finding) = self.finding(rule, file, message, |_| {}) else { return };
        if used == 0 {
            finding.level = finding.level.min(Level::Warning);
        }
        // Symbols in use first.
        let mut order: Vec<usize> = (0..changes.len()).collect();
        order.arrange_by_key(|at| users[*at].is_empty());
        let own = order.into_iter().take(MOST).map(|at| evidence(&changes[at], &users[at]));
        finding.evidence = own.collect();
        self.findings.push(finding);
        self.is_any_gone |= changes.iter().any(Change::is_gone);
    }

    fn needs(&mut self, old: &File, new: &File) {
        let before: FastSet<&[u8]> = old.needed.iter().map(|need| &*need.name).collect();
        let now: FastSet<&[u8]> = new.needed.iter().map(|need| &*need.name).collect();
        for need in &new.needed {
            let name = &*need.name;
            if before.contains(name) || self.names.contains(name) {
                continue;
            }
            let replaced = old.needed.iter().map(|need| &*need.name);
            let replaced = { replaced }.find(|old| !now.contains(old) && stem(old) == stem(name));
            let message = match replaced {
                Some(old) => format!("needs {} instead of {}", show(name), show(old)),
                None => format!("needs {}, which it did not need before", show(name)),
            };
            let own = name.to_vec();
            let finding = self.finding("added-need", new, message, |fact| fact.library = Some(own));
            self.findings.extend(finding);
        }
    }

    /// Entries of search paths that are gone; warnings if the file still finds what it needs.
    fn paths(&mut self, old: &File, new: &File, is_worse: bool) {
        let entries = |file: &File| -> Vec<Vec<u8>> {
            let lists = file.rpath.iter().chain(&file.runpath);
            let parts = lists.flat_map(|list| list.split(|b| *b == b':'));
            parts.map(|entry| without_hashes(entry).into_owned()).collect()
        };
        let now: FastSet<Vec<u8>> = entries(new).into_iter().collect();
        let lost: BTreeSet<Vec<u8>> =
            order::set(entries(old).into_iter().filter(|e| !e.is_empty() && !now.contains(e)));
        for entry in lost {
            let list = if old.runpath.is_some() { "RUNPATH" } else { "RPATH" };
            let message = format!("{} is no longer in its {list}", show(&entry));
            let finding =
                self.finding("lost-search-path", new, message, |fact| fact.detail = Some(entry));
            if let Some(mut finding) = finding {
                if !is_worse {
                    finding.level = finding.level.min(Level::Warning);
                }
                self.findings.push(finding);
            }
        }
    }

    /// GPU targets that the new device code does not serve. Generic code serves its members.
    fn targets(&mut self, old: &File, new: &File) {
        let id = |text: &String| TargetId::parse(text.as_bytes());
        let now: Vec<Offer> = new
            .targets
            .iter()
            .filter_map(id)
            .map(|target| Offer { target, compressed: true })
            .collect();
        for target in old.targets.iter().filter_map(id) {
            if serves(&target, &now, Profile::Stock) {
                continue;
            }
            let message = format!("no code for {target} any more");
            let text = target.to_string().into_bytes();
            let finding =
                self.finding("lost-target", new, message, |fact| fact.target = Some(text));
            self.is_any_gone |= finding.is_some();
            self.findings.extend(finding);
        }
    }

    /// A finding of a rule about a file, unless the rule is allowed.
    fn finding(
        &self,
        rule: &'static str,
        file: &File,
        message: String,
        fill: impl FnOnce(&mut Fact),
    ) -> Option<Finding> {
        let rule = rules::find(rule)?;
        let level = (self.levels)(rule);
        if level == Level::Allow {
            return None;
        }
        let mut fact = Fact::new(rule.id, Arc::new(located(file)), message);
        fill(&mut fact);
        let fingerprint = fingerprint_of(&fact);
        let subject = fact.library.as_ref().or(fact.detail.as_ref());
        let name = subject.map_or_else(|| soname(file).to_vec(), Clone::clone);
        let reason = Some(fact.message.clone());
        fact.evidence =
            vec![Evidence { name: Some(name), reason, ..Evidence::new(EvidenceKind::Change) }];
        let cause = format!("finding:{fingerprint}").into();
        Some(Finding { cause, ..Finding::of(*fact, level, fingerprint) })
    }
}

fn located(file: &File) -> Located {
    let prefix = file.prefix.as_deref();
    match prefix.and_then(|prefix| Some((prefix, file.path.strip_prefix(prefix).ok()?))) {
        Some((prefix, path)) => {
            Located { prefix: Some(prefix.to_path_buf()), path: path.to_path_buf() }
        }
        None => Located { prefix: None, path: file.path.to_path_buf() },
    }
}

/// Evidence for a user of a library.
fn user(path: PathBuf) -> Evidence {
    Evidence::at(EvidenceKind::Change, Arc::from(path))
}

/// Evidence for a symbol, with its first user.
fn evidence(change: &Change, users: &[PathBuf]) -> Evidence {
    Evidence {
        symbol: Some(change.name.clone()),
        version: change.version.clone(),
        reason: Some(change.reason.clone()),
        path: users.first().map(|path| Arc::from(&**path)),
        ..Evidence::new(EvidenceKind::Change)
    }
}

/// New findings of the audit, those that are gone, and the number of those that stay.
fn audited(
    old: &Side<'_>,
    new: &Side<'_>,
    pairs: &Pairs<'_>,
) -> (Vec<Finding>, Vec<Finding>, usize) {
    let mut known: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in &old.report.findings {
        known.entry(&finding.fingerprint).or_default().push(finding);
    }
    let mut fresh: Vec<&Finding> = Vec::new();
    for finding in &new.report.findings {
        if known.get_mut(&*finding.fingerprint).and_then(Vec::pop).is_none() {
            fresh.push(finding);
        }
    }
    // A file that was renamed keeps its findings.
    let counterpart: FastMap<&Path, &Path> =
        pairs.both.iter().map(|(old, new)| (&*new.path, &*old.path)).collect();
    let mut left: BTreeMap<_, Vec<&Finding>> = BTreeMap::new();
    for finding in known.into_values().flatten() {
        left.entry(facts(finding, finding.full_path())).or_default().push(finding);
    }
    fresh.retain(|finding| {
        let path = finding.full_path();
        let before = counterpart.get(&*path).map_or(path, |path| path.to_path_buf());
        left.get_mut(&facts(finding, before)).and_then(Vec::pop).is_none()
    });
    let fixed: Vec<Finding> = left.into_values().flatten().cloned().collect();
    let unchanged = new.report.findings.len() - fresh.len();
    (fresh.into_iter().cloned().collect(), fixed, unchanged)
}

/// New findings without those that only follow from a library or symbol that is gone: the finding about
/// that names the users.
fn consequences_apart(fresh: Vec<Finding>, gone: &[Finding]) -> Vec<Finding> {
    let is = |finding: &&Finding, rules: &[&str]| rules.contains(&&*finding.rule);
    let libraries: FastSet<&[u8]> = gone
        .iter()
        .filter(|finding| is(finding, &["removed-library", "changed-soname"]))
        .filter_map(|finding| finding.library.as_deref())
        .collect();
    let symbols: FastSet<&[u8]> = gone
        .iter()
        .filter(|finding| is(finding, &["removed-symbol"]))
        .flat_map(|finding| finding.evidence_of(EvidenceKind::Change))
        .filter(|evidence| evidence.path.is_some())
        .filter_map(|evidence| evidence.symbol.as_deref())
        .collect();
    let follows = |finding: &Finding| match &*finding.rule {
        "missing-library" => finding.library.as_deref().is_some_and(|l| libraries.contains(l)),
        "undefined-symbol" => finding.symbol.as_deref().is_some_and(|s| symbols.contains(s)),
        _ => false,
    };
    fresh.into_iter().filter(|finding| !follows(finding)).collect()
}

type Facts<'f> = (PathBuf, &'f str, [Option<&'f [u8]>; 6]);

fn facts(finding: &Finding, path: PathBuf) -> Facts<'_> {
    let Finding { rule, symbol, version, library, target, member, detail, .. } = finding;
    let keys = [symbol, version, library, target, member, detail].map(Option::as_deref);
    (path, rule, keys)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_rule_of_a_comparison_is_found() {
        for rule in ["removed-library", "removed-symbol", "changed-soname", "changed-symbol"] {
            assert!(crate::rules::find(rule).is_some_and(crate::rules::Rule::is_of_diff), "{rule}");
        }
    }
}
