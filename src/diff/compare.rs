//! Makes the findings of a comparison: findings of the new audit that the old report lacks, and
//! findings of the group `compatibility` about incompatible changes.

use super::Difference;
use super::fresh::{Audited, audited, consequences_apart, same_files};
use super::names;
use super::pairs::{FilePairs, pairs};
use super::search_paths::{self, Swapped};
use super::sides::{
    PolicyDecisions, Side, below, file_names, is_library, is_wheel, located, named, soname, stem,
};
use super::symbols::{self, Change, Changes};
use super::undecided::{UndecidedComparison, questions};
use super::unread::{DAMAGED, reason};
use super::users::Users;
use super::words::{
    CHANGED, GONE, SymbolPhrases, also_changed, directory, evidence, message_of, symbols_of, user,
};
use super::worse::report;
use crate::catalogue::Level;
use crate::finding::{Evidence, EvidenceKind, Finding};
use crate::format::gpu::TargetId;
use crate::gpu::compat::{Profile, TargetCode, serves};
use crate::id::{FastMap, FastSet};
use crate::order::Arrange as _;
use crate::package::Located;
use crate::parallel;
use crate::report::model::{Export, File, ReportFinding};
use crate::rules;
use crate::text::show;
use crate::triage::fingerprint_of;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of removed symbols, and of changed symbols, in the evidence of one finding.
const MOST: usize = 10_000;
/// Maximum number of pieces of evidence about symbols in one finding. Each pair of a symbol and a
/// file that uses it has one piece.
const MOST_PIECES: usize = 50_000;

/// Compares two reports. The reports in `against` list other files, which may use libraries of
/// the old report.
pub fn compare(
    old: &Side<'_>,
    new: &Side<'_>,
    against: &[Side<'_>],
    judge: &PolicyDecisions<'_>,
) -> Difference {
    let pairs = pairs(old, new);
    let mut comparison = Comparison {
        old,
        new,
        against,
        judge,
        users: Users::default(),
        names: new.names(),
        needers: needers(against, new),
        findings: Vec::new(),
        changed: FastSet::default(),
        waived: 0,
        not_compared: BTreeSet::new(),
        is_any_gone: false,
    };
    comparison.run(&pairs);
    let Audited { fresh, fixed, unchanged, apart, unread } = audited(old, new, &pairs);
    let unread = pairs.unread.iter().map(|(_, finding)| *finding).chain(unread);
    comparison.not_compared.extend(unread.map(|one| (one.full_path(), reason(one))));
    let mut findings = std::mem::take(&mut comparison.findings);
    let same_files = same_files(&pairs, &comparison.changed, [&fixed, &fresh]);
    let fresh = consequences_apart(fresh, &findings);
    findings.extend(fresh);
    let questions = questions([old, new], against, &apart, &comparison.not_compared);
    findings.extend(questions.iter().filter_map(UndecidedComparison::finding));
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
        compares_symbols: old.has_exports() && new.has_exports(),
        waived: comparison.waived,
        is_any_gone: comparison.is_any_gone,
        undecided: questions.iter().map(UndecidedComparison::line).collect(),
    }
}

struct Comparison<'a, 's> {
    old: &'a Side<'s>,
    new: &'a Side<'s>,
    against: &'a [Side<'s>],
    judge: &'a PolicyDecisions<'a>,
    /// The files that use removed or changed symbols.
    users: Users<'a>,
    /// All sonames and file names of the new report.
    names: FastSet<&'a [u8]>,
    /// For each library name, the files of the new report and of `against` that need it.
    needers: FastMap<&'a [u8], Vec<&'a File>>,
    findings: Vec<ReportFinding>,
    /// New files with a difference, waived or not, and new files that could not be compared.
    changed: FastSet<&'a Path>,
    /// Number of findings that a waiver accepts.
    waived: usize,
    /// Full paths in either report that are not compared, each with the reason.
    not_compared: BTreeSet<(PathBuf, &'static str)>,
    is_any_gone: bool,
}

impl<'a> Comparison<'a, '_> {
    fn run(&mut self, pairs: &FilePairs<'a>) {
        let changes: Vec<Changes> = parallel::map(&pairs.both, |(old, new)| self.changes(old, new));
        self.find_users(&changes);
        for file in &pairs.gone {
            self.gone(file);
        }
        self.lost_names(pairs);
        self.dropped(pairs);
        let (before, now) = (self.old.missing(), self.new.missing());
        for (&(old, new), changes) in pairs.both.iter().zip(changes) {
            let damaged = [(old, self.old), (new, self.new)];
            let damaged = damaged.iter().filter(|(file, side)| side.unread.is_damaged(file));
            let damaged: Vec<PathBuf> = damaged.map(|(file, _)| file.path.to_path_buf()).collect();
            if !damaged.is_empty() {
                self.not_compared.extend(damaged.into_iter().map(|path| (path, DAMAGED)));
                self.changed.insert(&new.path);
                continue;
            }
            let is_worse = now.get(&*new.path) > before.get(&*old.path);
            let changes = self.that_count([old, new], changes);
            self.about(new, |this| {
                if old.machine != new.machine && this.other_machine(old, new) {
                    return;
                }
                if this.is_renamed(old, new) {
                    this.soname(old, new, &changes);
                } else if soname(old) == soname(new) || !is_wheel(old, new) {
                    let pair = [old, new];
                    this.symbols("removed-symbol", named(old, new), pair, (&changes.gone, &GONE));
                    this.symbols("changed-symbol", new, pair, (&changes.changed, &CHANGED));
                }
                this.needs(old, new);
                this.paths(old, new, is_worse);
                this.targets(old, new);
            });
        }
    }

    /// Makes findings about a new file. If `find` makes a finding or a waiver accepts one, the file
    /// counts as changed.
    fn about(&mut self, new: &'a File, find: impl FnOnce(&mut Self)) {
        let before = (self.findings.len(), self.waived);
        find(self);
        if (self.findings.len(), self.waived) != before {
            self.changed.insert(&new.path);
        }
    }

    /// True if loaders do not find the new library by the soname of the old one. If the old library
    /// has no soname, or both libraries are copies in wheels, another file must also need the old
    /// name.
    fn is_renamed(&self, old: &File, new: &File) -> bool {
        let differs = is_library(old) && soname(old) != soname(new);
        // If the new library has a link named like the old soname, loaders still find it.
        let differs = differs && !file_names(new).any(|name| name == soname(old));
        // A library of a wheel has another name after each build.
        let differs = differs && (!is_wheel(old, new) || self.is_needed(soname(old), &new.path));
        // Files need a library without a soname by its file name. No file needs a plugin.
        differs && (old.soname.is_some() || self.is_needed(soname(old), &new.path))
    }

    /// The differences between the exports of two files. If a symbol moved to a library that the
    /// new file loads, only a change of type or size is a difference. Empty if a report has no
    /// exports.
    fn changes(&self, old: &'a File, new: &'a File) -> Changes {
        if !self.old.has_exports() || !self.new.has_exports() {
            return Changes::default();
        }
        if self.old.same_exports(old, self.new, new) {
            return Changes::default();
        }
        let mut changes = symbols::compare((old, &self.old.exports(old)), &self.new.exports(new));
        if !changes.gone.is_empty() {
            let beside: Vec<_> =
                self.new.loaded_by(new).into_iter().map(|file| self.new.exports(file)).collect();
            let beside: Vec<Export<'_>> =
                beside.iter().flat_map(|own| own.iter().cloned()).collect();
            changes.take_moved(&self.old.exports(old), &self.new.exports(new), &beside);
        }
        changes
    }

    /// The changes to report. For a library, these are all changes. For a program, these are
    /// changes that break a plugin: programs also export symbols that no plugin uses, such as
    /// copies of library data.
    fn that_count(&self, pair: [&File; 2], mut changes: Changes) -> Changes {
        if !is_library(pair[0]) {
            let is_used = |change: &Change| !self.users.of(change, pair).is_empty();
            changes.gone.retain(is_used);
            changes.changed.retain(is_used);
        }
        changes
    }

    /// Adds a finding if the new version of a library no longer loads a dependency that the old
    /// version loads. A dependency is reported only if a file of `against` uses symbols of the
    /// dependency and loads it only through the library.
    fn dropped(&mut self, pairs: &FilePairs<'a>) {
        let mut dropped: Vec<[&'a File; 3]> = Vec::new();
        for &(old, new) in pairs.both.iter().filter(|(old, _)| is_library(old)) {
            let needs = |file: &'a File| file.needed.iter().map(|need| &*need.name);
            let now: FastSet<&[u8]> = needs(new).collect();
            if self.against.is_empty() || needs(old).all(|name| now.contains(name)) {
                continue;
            }
            let now: FastSet<&[u8]> = self.new.loaded_by(new).into_iter().map(soname).collect();
            let before = self.old.loaded_by(old).into_iter();
            let is_unread = |one: &File| self.new.lacks_file(one).is_some();
            let gone = before.filter(|one| !now.contains(soname(one)) && !is_unread(one));
            dropped.extend(gone.map(|one| [old, new, one]));
        }
        let libraries: FastMap<&Path, &File> =
            dropped.iter().map(|[.., one]| (&*one.path, *one)).collect();
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
        for [old, new, library] in dropped {
            let exports = &exports[&*library.path];
            self.about(new, |this| this.unreached(named(old, new), library, exports, &users));
        }
    }

    /// Adds one finding about `file`, which no longer loads `library`. Other files found symbols of
    /// `library` through `file`; these symbols are evidence.
    fn unreached(&mut self, file: &File, library: &File, all: &[Change], users: &Users<'_>) {
        let users = |change: &Change| users.without(change, soname(library));
        let library = show(soname(library));
        let detail = format!("through {library}").into_bytes();
        let used = all.iter().filter(|change| !users(change).is_empty());
        let used = self.not_waived("removed-symbol", file, Some(&detail), used);
        if used.is_empty() {
            return;
        }
        let words = if used.len() == 1 { "symbol" } else { "symbols" };
        let message = format!("no longer loads {library}: {} {words} in use not found", used.len());
        let finding =
            self.finding("removed-symbol", file, message, |fact| fact.detail = Some(detail));
        let evidence = used.iter().take(MOST).flat_map(|change| evidence(change, &users(change)));
        if let Some(mut finding) = finding {
            finding.evidence = evidence.take(MOST_PIECES).collect();
            self.add_gone(finding);
        }
    }

    fn find_users(&mut self, changes: &[Changes]) {
        let all = changes.iter().flat_map(|own| own.gone.iter().chain(&own.changed));
        let names: FastSet<&[u8]> = all.map(|change| &*change.name).collect();
        self.users = Users::new(self.against, (self.old, self.new), &names);
    }

    /// True if a file other than `but` needs a library with this name.
    fn is_needed(&self, library: &[u8], but: &Path) -> bool {
        self.needers.get(library).is_some_and(|all| all.iter().any(|file| *file.path != *but))
    }

    /// Files other than `but` that need a library with this name.
    fn needed_by(&self, library: &[u8], but: &Path) -> BTreeSet<PathBuf> {
        let all = self.needers.get(library).into_iter().flatten();
        all.filter(|file| *file.path != *but).map(|file| file.path.to_path_buf()).collect()
    }

    fn gone(&mut self, file: &File) {
        let library = soname(file).to_vec();
        let mut users = BTreeSet::new();
        if is_library(file) {
            users.extend(
                file_names(file)
                    .chain([&*library])
                    .flat_map(|name| self.needed_by(name, &file.path)),
            );
        }
        let finding = self.finding("removed-library", file, "gone".to_owned(), |fact| {
            fact.library = is_library(file).then_some(library);
        });
        self.removed(finding, users);
    }

    /// Adds a finding for a file that is now for another machine or ELF class. The loaders of
    /// programs that use the old file skip the new file. True if the finding is made or waived:
    /// the finding covers all other changes of the file.
    fn other_machine(&mut self, old: &File, new: &File) -> bool {
        let library = is_library(old).then(|| soname(old).to_vec());
        let names = library.iter().flat_map(|own| file_names(new).chain([&**own]));
        let needers = names.filter_map(|name| self.needers.get(name)).flatten();
        let users = needers.filter(|file| file.machine == old.machine && file.path != new.path);
        let users: BTreeSet<PathBuf> = users.map(|file| file.path.to_path_buf()).collect();
        let message = format!("for {} now, for {} before", new.machine, old.machine);
        let waived = self.waived;
        let finding =
            self.finding("removed-library", old, message, |fact| fact.library.clone_from(&library));
        let is_settled = finding.is_some() || self.waived != waived;
        self.removed(finding, users);
        is_settled
    }

    /// Adds findings for lost names of files that still exist, and for lost links to directories.
    fn lost_names(&mut self, pairs: &FilePairs<'a>) {
        let (old, new) = (self.old, self.new);
        let (before, now) = (names::Paths::of(old), names::Paths::of(new));
        let is_needed = |name: &[u8], but: &File| self.is_needed(name, &but.path);
        for lost in names::lost(pairs, new, [&before, &now], is_needed) {
            let (name, message) = (lost.name().to_vec(), message_of(&lost));
            let users = self.needed_by(&name, &lost.new.path);
            let at = located(lost.old, lost.path);
            self.about(lost.new, |this| {
                let finding = this.finding_at("removed-library", at, &name, message, |fact| {
                    fact.library = is_library(lost.old).then(|| name.clone());
                });
                this.removed(finding, users);
            });
        }
        for link in names::lost_links((old, new), [&before, &now]) {
            let path = link.path.strip_prefix(link.prefix).unwrap_or(link.path).to_path_buf();
            let at = Located { prefix: Some(link.prefix.to_path_buf()), path };
            let message = format!("gone, a link to {}", directory(&link.target));
            let finding = self.finding_at("removed-library", at, &link.below, message, |_| {});
            self.removed(finding, BTreeSet::new());
        }
    }

    fn removed(&mut self, finding: Option<ReportFinding>, users: BTreeSet<PathBuf>) {
        let Some(mut finding) = finding else { return };
        finding.evidence.extend(users.into_iter().map(user));
        self.add_gone(finding);
    }

    /// Adds a finding that says that something is gone.
    fn add_gone(&mut self, mut finding: ReportFinding) {
        if self.judge.fails_on_gone {
            finding.level = Level::Error;
        }
        self.findings.push(finding);
        self.is_any_gone = true;
    }

    /// Adds a finding for a changed soname. Files that use the library must be rebuilt anyway, so
    /// removed and changed symbols are evidence of this finding, and get no finding of their own.
    fn soname(&mut self, old: &File, new: &File, changes: &Changes) {
        let (before, now) = (soname(old).to_vec(), soname(new).to_vec());
        let users = self.needed_by(&before, &new.path);
        let message = match (&old.soname, &new.soname) {
            (Some(_), Some(_)) => format!("soname {} became {}", show(&before), show(&now)),
            (Some(_), None) => format!("soname {} is gone", show(&before)),
            (None, _) => format!("was needed as {}, and is now {}", show(&before), show(&now)),
        };
        let message = format!("{message}{}", also_changed(changes));
        let Some(mut finding) = self.finding("changed-soname", old, message, |fact| {
            fact.library = Some(before);
            fact.detail = Some(now);
        }) else {
            return;
        };
        for list in [&changes.gone, &changes.changed] {
            let own = list.iter().take(MOST).flat_map(|change| evidence(change, &[]));
            finding.evidence.extend(own);
        }
        finding.evidence.extend(users.into_iter().map(user));
        if changes.gone.is_empty() {
            self.findings.push(finding);
        } else {
            self.add_gone(finding);
        }
    }

    /// Adds one finding for the removed or changed symbols of a file. If no file of the new report
    /// or of `against` breaks, the finding is at most a warning.
    fn symbols(
        &mut self,
        rule: &'static str,
        file: &File,
        pair: [&File; 2],
        (changes, words): (&[Change], &SymbolPhrases),
    ) {
        let changes: Vec<&Change> = self.not_waived(rule, file, None, changes.iter());
        if changes.is_empty() {
            return;
        }
        let users: Vec<Vec<PathBuf>> =
            changes.iter().map(|change| self.users.of(change, pair)).collect();
        let used = users.iter().filter(|users| !users.is_empty()).count();
        let noun = if changes.len() == 1 { words.one } else { words.many };
        let in_use = match used {
            0 => words.unused.to_owned(),
            used => format!("{used} {}", words.used),
        };
        let classes: Vec<String> = symbols::by_class(&changes)
            .into_iter()
            .filter(|(class, _)| !class.is_empty() && changes.len() > 1)
            .take(3)
            .map(|(class, count)| format!("{count} of {class}"))
            .collect();
        let classes =
            if classes.is_empty() { String::new() } else { format!("; {}", classes.join(", ")) };
        let first = symbols_of(&changes, &users);
        let message = format!("{} {noun}, {in_use}{classes}: {first}", changes.len());
        let Some(mut finding) = self.finding(rule, file, message, |_| {}) else { return };
        if used == 0 {
            finding.level = finding.level.min(Level::Warning);
        }
        // Symbols that a file uses come first.
        let mut order: Vec<usize> = (0..changes.len()).collect();
        order.arrange_by_key(|at| users[*at].is_empty());
        let own = order.into_iter().take(MOST).flat_map(|at| evidence(changes[at], &users[at]));
        finding.evidence = own.take(MOST_PIECES).collect();
        if changes.iter().any(|change| change.is_gone()) {
            self.add_gone(finding);
        } else {
            self.findings.push(finding);
        }
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

    /// Adds findings for entries of search paths that are lost or in another order. Findings
    /// about the order are at most warnings. Findings about lost entries are at most warnings
    /// too, unless the file has more missing libraries than before.
    fn paths(&mut self, old: &File, new: &File, is_worse: bool) {
        if let Some(Swapped { first, then, library }) = search_paths::swapped(old, new) {
            let (first, then, library) = (show(&first), show(&then), show(&library));
            let message = format!("{first} is searched before {then}: another {library} is found");
            let detail = format!("{first} before {then}").into_bytes();
            let finding =
                self.finding("lost-search-path", new, message, |fact| fact.detail = Some(detail));
            self.findings.extend(finding.map(|mut finding| {
                finding.level = finding.level.min(Level::Warning);
                finding
            }));
        }
        for entry in search_paths::lost(old, new) {
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

    /// Adds findings for GPU targets that the new device code does not serve. Code for a generic
    /// target serves all processors of that target.
    fn targets(&mut self, old: &File, new: &File) {
        let id = |text: &String| TargetId::parse(text.as_bytes());
        let now: Vec<TargetCode> = new
            .targets
            .iter()
            .filter_map(id)
            .map(|target| TargetCode { target, compressed: true })
            .collect();
        for target in old.targets.iter().filter_map(id) {
            if serves(&target, &now, Profile::Stock) {
                continue;
            }
            let message = format!("no code for {target} any more");
            let text = target.to_string().into_bytes();
            let finding =
                self.finding("lost-target", new, message, |fact| fact.target = Some(text));
            if let Some(finding) = finding {
                self.add_gone(finding);
            }
        }
    }

    /// The symbols that no waiver accepts. A waiver with the key `symbol` accepts single symbols of
    /// a finding, and all other symbols stay in the finding. If waivers accept all symbols, they
    /// accept the finding.
    fn not_waived<'c>(
        &mut self,
        rule: &'static str,
        file: &File,
        detail: Option<&[u8]>,
        changes: impl Iterator<Item = &'c Change>,
    ) -> Vec<&'c Change> {
        let rule = rules::find(rule).filter(|rule| (self.judge.level)(rule) != Level::Allow);
        let Some(rule) = rule else { return Vec::new() };
        let at = Arc::new(located(file, &file.path));
        let mut fact = Finding::new(rule.id, at, String::new());
        fact.detail = detail.map(<[u8]>::to_vec);
        let (mut out, mut is_any_waived) = (Vec::new(), false);
        for change in changes {
            fact.symbol = Some(change.name.clone());
            fact.version.clone_from(&change.version);
            let is_waived = (self.judge.waived)(&fact);
            is_any_waived |= is_waived;
            if !is_waived {
                out.push(change);
            }
        }
        self.waived += usize::from(out.is_empty() && is_any_waived);
        out
    }

    /// A finding of `rule` about a file; `None` if the level is `allow` or a waiver accepts the
    /// finding.
    fn finding(
        &mut self,
        rule: &'static str,
        file: &File,
        message: String,
        fill: impl FnOnce(&mut Finding),
    ) -> Option<ReportFinding> {
        self.finding_at(rule, located(file, &file.path), soname(file), message, fill)
    }

    /// A finding about a path. Its evidence has a name: the library of the finding, else the
    /// detail, else `subject`.
    fn finding_at(
        &mut self,
        rule: &'static str,
        at: Located,
        subject: &[u8],
        message: String,
        fill: impl FnOnce(&mut Finding),
    ) -> Option<ReportFinding> {
        let rule = rules::find(rule)?;
        let level = (self.judge.level)(rule);
        if level == Level::Allow {
            return None;
        }
        let mut fact = Finding::new(rule.id, Arc::new(at), message);
        fill(&mut fact);
        if (self.judge.waived)(&fact) {
            self.waived += 1;
            return None;
        }
        let fingerprint = fingerprint_of(&fact);
        let own = fact.library.as_ref().or(fact.detail.as_ref());
        let name = own.map_or_else(|| subject.to_vec(), Clone::clone);
        let reason = Some(fact.message.clone());
        fact.evidence =
            vec![Evidence { name: Some(name), reason, ..Evidence::new(EvidenceKind::Change) }];
        let cause = format!("finding:{fingerprint}").into();
        Some(ReportFinding { cause, ..ReportFinding::of(*fact, level, fingerprint) })
    }
}

/// For each library name, the files of `against` and of the new report that need it.
fn needers<'a>(against: &'a [Side<'_>], new: &'a Side<'_>) -> FastMap<&'a [u8], Vec<&'a File>> {
    let mut out: FastMap<&[u8], Vec<&File>> = FastMap::default();
    for file in against.iter().chain([new]).flat_map(Side::own) {
        for need in &file.needed {
            out.entry(&need.name).or_default().push(file);
        }
    }
    out
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
