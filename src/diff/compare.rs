//! The findings of a comparison. A new finding of the audit is one of the new side that the old side does
//! not have. The rules of the group `compatibility` find what became incompatible.

use super::Difference;
use super::fresh::{Audited, audited, consequences_apart};
use super::pairs::{Pairs, pairs, without_numbers};
use super::sides::{Judge, Side, below, is_library, soname, stem};
use super::symbols::{self, Change, Changes};
use super::undecided::{Question, questions};
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
use crate::report::model::{Export, File, Finding};
use crate::rules;
use crate::text::{last_part, show};
use crate::triage::fingerprint_of;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
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
/// Symbols in the message of a finding.
const MOST_NAMED: usize = 3;
/// Users of one symbol in the evidence.
const MOST_USERS: usize = 100;
/// Pairs of symbol and user in the evidence of one finding.
const MOST_PIECES: usize = 50_000;

/// Compares two sides. Files of `against` count as users of the old one.
pub fn compare(
    old: &Side<'_>,
    new: &Side<'_>,
    against: &[Side<'_>],
    judge: &Judge<'_>,
) -> Difference {
    let pairs = pairs(old, new);
    let mut comparison = Comparison {
        old,
        new,
        against,
        judge,
        users: Users::default(),
        names: new.names(),
        findings: Vec::new(),
        same_files: Vec::new(),
        waived: 0,
        damaged: Vec::new(),
        is_any_gone: false,
    };
    comparison.run(&pairs);
    let Audited { fresh, fixed, unchanged, apart } = audited(old, new, &pairs);
    let mut findings = std::mem::take(&mut comparison.findings);
    let fresh = consequences_apart(fresh, &findings);
    let worse: FastSet<PathBuf> = fresh.iter().map(Finding::full_path).collect();
    let unchanged_files = comparison.same_files.iter().filter(|path| !worse.contains(**path));
    let same_files = unchanged_files.count();
    findings.extend(fresh);
    let questions = questions([old, new], against, &apart, &comparison.damaged);
    findings.extend(questions.iter().filter_map(Question::finding));
    findings.arrange_by(|a, b| {
        (a.full_path(), &a.rule, &a.fingerprint).cmp(&(b.full_path(), &b.rule, &b.fingerprint))
    });
    Difference {
        names: [old.name.to_owned(), new.name.to_owned()],
        worse: report(new, findings, questions.is_empty(), judge),
        fixed,
        added: pairs.added.iter().map(|file| show(&below(file))).collect(),
        unchanged,
        same_files,
        waived: comparison.waived,
        is_any_gone: comparison.is_any_gone,
        undecided: questions.iter().map(Question::line).collect(),
    }
}

struct Comparison<'a, 's> {
    old: &'a Side<'s>,
    new: &'a Side<'s>,
    against: &'a [Side<'s>],
    judge: &'a Judge<'a>,
    /// The users of symbols that are gone or changed.
    users: Users<'a>,
    /// Sonames and file names of the new side.
    names: FastSet<&'a [u8]>,
    findings: Vec<Finding>,
    /// New files whose comparison found nothing.
    same_files: Vec<&'a Path>,
    /// Number of findings that a waiver accepts.
    waived: usize,
    /// New files that are damaged, or whose counterpart is.
    damaged: Vec<&'a Path>,
    is_any_gone: bool,
}

impl<'a> Comparison<'a, '_> {
    fn run(&mut self, pairs: &Pairs<'a>) {
        let changes: Vec<Changes> = parallel::map(&pairs.both, |(old, new)| self.changes(old, new));
        self.find_users(&changes);
        for file in &pairs.gone {
            self.gone(file);
        }
        self.dropped(pairs);
        let (before, now) = (self.old.missing(), self.new.missing());
        let damaged = [self.old.damaged(), self.new.damaged()];
        for ((old, new), changes) in pairs.both.iter().zip(changes) {
            if damaged[0].contains(&*old.path) || damaged[1].contains(&*new.path) {
                self.damaged.push(&new.path);
                continue;
            }
            let findings = self.findings.len();
            let is_worse = now.get(&*new.path) > before.get(&*old.path);
            if self.is_renamed(old, new) {
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
            if self.findings.len() == findings {
                self.same_files.push(&new.path);
            }
        }
    }

    /// True if the name by which users need a library is another one.
    fn is_renamed(&self, old: &File, new: &File) -> bool {
        let differs = is_library(old) && soname(old) != soname(new);
        // A library without a soname is needed by its file name, and a plugin by nobody.
        differs && (old.soname.is_some() || !self.needed_by(soname(old), &new.path).is_empty())
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
            let beside: Vec<_> =
                self.new.loaded_by(new).into_iter().map(|file| self.new.exports(file)).collect();
            let beside: Vec<Export<'_>> =
                beside.iter().flat_map(|own| own.iter().cloned()).collect();
            changes.take_moved(&self.old.exports(old), &self.new.exports(new), &beside);
        }
        changes
    }

    /// Libraries that the users of a library loaded through it, and do not load any more.
    fn dropped(&mut self, pairs: &Pairs<'a>) {
        let mut dropped: Vec<(&'a File, &'a File)> = Vec::new();
        for (old, new) in pairs.both.iter().filter(|(old, _)| is_library(old)) {
            let needs = |file: &'a File| file.needed.iter().map(|need| &*need.name);
            let now: FastSet<&[u8]> = needs(new).collect();
            if self.against.is_empty() || needs(old).all(|name| now.contains(name)) {
                continue;
            }
            let now: FastSet<&[u8]> = self.new.loaded_by(new).into_iter().map(soname).collect();
            let before = self.old.loaded_by(old).into_iter();
            dropped.extend(before.filter(|one| !now.contains(soname(one))).map(|one| (*old, one)));
        }
        let libraries: FastMap<&Path, &File> =
            dropped.iter().map(|(_, one)| (&*one.path, *one)).collect();
        let exports: FastMap<&Path, Vec<Change>> = libraries
            .into_iter()
            .map(|(path, one)| {
                let exports = self.old.exports(one);
                let symbols = exports.iter().filter(|export| !symbols::is_marker(export));
                (path, symbols.map(Change::unreached).collect())
            })
            .collect();
        let names = exports.values().flatten().map(|change| &*change.name).collect();
        let users = Users::of_dropped(self.against, (self.old, self.new), &names);
        for (file, library) in dropped {
            self.unreached(file, library, &exports[&*library.path], &users);
        }
    }

    /// One finding for the symbols of a library that nobody loads through `file` any more.
    fn unreached(&mut self, file: &File, library: &File, all: &[Change], users: &Users<'_>) {
        let used: Vec<(&Change, Vec<PathBuf>)> = all
            .iter()
            .map(|change| (change, users.without(change, soname(library))))
            .filter(|(_, users)| !users.is_empty())
            .collect();
        if used.is_empty() {
            return;
        }
        let library = show(soname(library));
        let words = if used.len() == 1 { "symbol" } else { "symbols" };
        let message = format!("no longer loads {library}: {} {words} in use not found", used.len());
        let finding = self.finding("removed-symbol", file, message, |fact| {
            fact.detail = Some(format!("through {library}").into_bytes());
        });
        let evidence = used.iter().take(MOST).flat_map(|(change, users)| evidence(change, users));
        if let Some(mut finding) = finding {
            finding.evidence = evidence.take(MOST_PIECES).collect();
            self.findings.push(finding);
            self.is_any_gone = true;
        }
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
        let message = match (&old.soname, &new.soname) {
            (Some(_), Some(_)) => format!("soname {} became {}", show(&before), show(&now)),
            (Some(_), None) => format!("soname {} is gone", show(&before)),
            (None, _) => format!("is needed as {}, and is now {}", show(&before), show(&now)),
        };
        let Some(mut finding) = self.finding("changed-soname", old, message, |fact| {
            fact.library = Some(before);
            fact.detail = Some(now);
        }) else {
            return;
        };
        self.is_any_gone |= !gone.is_empty();
        finding.evidence.extend(gone.iter().take(MOST).flat_map(|change| evidence(change, &[])));
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
        let first = symbols_of(changes, &users);
        let message = format!("{} {noun}, {in_use}{classes}: {first}", changes.len());
        let Some(mut finding) = self.finding(rule, file, message, |_| {}) else { return };
        if used == 0 {
            finding.level = finding.level.min(Level::Warning);
        }
        // Symbols in use first.
        let mut order: Vec<usize> = (0..changes.len()).collect();
        order.arrange_by_key(|at| users[*at].is_empty());
        let own = order.into_iter().take(MOST).flat_map(|at| evidence(&changes[at], &users[at]));
        finding.evidence = own.take(MOST_PIECES).collect();
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
        // Entries below the prefix, which may be another one, and of another release.
        let plain = |file: &File, entry: &[u8]| {
            let path = Path::new(OsStr::from_bytes(entry));
            let below = file.prefix.as_deref().and_then(|prefix| path.strip_prefix(prefix).ok());
            let below = below.map(|below| [b"=", below.as_os_str().as_bytes()].concat());
            without_numbers(&below.unwrap_or_else(|| entry.to_vec()))
        };
        let now: FastSet<Vec<u8>> = entries(new).iter().map(|entry| plain(new, entry)).collect();
        let is_lost = |entry: &Vec<u8>| !entry.is_empty() && !now.contains(&plain(old, entry));
        let lost: BTreeSet<Vec<u8>> = order::set(entries(old).into_iter().filter(is_lost));
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
        &mut self,
        rule: &'static str,
        file: &File,
        message: String,
        fill: impl FnOnce(&mut Fact),
    ) -> Option<Finding> {
        let rule = rules::find(rule)?;
        let level = (self.judge.level)(rule);
        if level == Level::Allow {
            return None;
        }
        let mut fact = Fact::new(rule.id, Arc::new(located(file)), message);
        fill(&mut fact);
        if (self.judge.waived)(&fact) {
            self.waived += 1;
            return None;
        }
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

/// The first symbols in words, those with users first, for outputs that show no evidence.
fn symbols_of(changes: &[Change], users: &[Vec<PathBuf>]) -> String {
    let mut order: Vec<usize> = (0..changes.len()).collect();
    order.arrange_by_key(|at| users[*at].is_empty());
    let base = |path: &Path| show(last_part(path.as_os_str().as_bytes()));
    let words = |at: usize| {
        let by = match &users[at][..] {
            [] => String::new(),
            [user] => format!(" (used by {})", base(user)),
            [user, others @ ..] => format!(" (used by {} and {} more)", base(user), others.len()),
        };
        format!("{}{by}", show(&changes[at].name))
    };
    let mut words: Vec<String> = order.into_iter().take(MOST_NAMED).map(words).collect();
    if changes.len() > MOST_NAMED {
        words.push(format!("and {} more", changes.len() - MOST_NAMED));
    }
    words.join(", ")
}

/// Evidence for a user of a library.
fn user(path: PathBuf) -> Evidence {
    Evidence::at(EvidenceKind::Change, Arc::from(path))
}

/// Evidence for a symbol: one piece for each user, or one without.
fn evidence(change: &Change, users: &[PathBuf]) -> Vec<Evidence> {
    let piece = |user: Option<&PathBuf>| Evidence {
        symbol: Some(change.name.clone()),
        version: change.version.clone(),
        reason: Some(change.reason.clone()),
        path: user.map(|path| Arc::from(&**path)),
        ..Evidence::new(EvidenceKind::Change)
    };
    match users {
        [] => vec![piece(None)],
        users => users.iter().take(MOST_USERS).map(|user| piece(Some(user))).collect(),
    }
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
