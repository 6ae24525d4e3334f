//! `deps-list-drift`: a list of archives disagrees with the archive that is merged from the list.

use super::{Query, Rule};
use crate::catalogue::{ARCHIVE, RuleId};
use crate::cover::Referrers;
use crate::finding::{Evidence, EvidenceKind, Finding, Findings};
use crate::format::deps_list::DepsList;
use crate::id::{ArchiveId, FastSet, FileId, Id as _};
use crate::merged::list::{Sources, listed_name};
use crate::merged::runtime::{is_system_library, is_system_name};
use crate::merged::solve::Solution;
use crate::order;
use crate::plan::MergedFrom;
use crate::text::{show, show_path};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub(super) static RULE: Rule = Rule::new(
    "deps-list-drift",
    ARCHIVE,
    "a merged archive and the list of its parts differ",
    DOCS,
    check,
)
.asked_if(|plan| !plan.lists.is_empty());

const DOCS: &str = "\
## What it does

Compares a merged archive with the list of the archives that it is merged from. A policy (`[[archive]]` with
`deps-list`) or `fix --deps-list` names the list. The rule reports:

- a listed archive without a member in the merged archive;
- members in the merged archive that come from an archive that is not listed;
- an archive that is not listed and defines an undefined symbol of a library that was linked from the merged
  archive.

linkaudit finds the origin of a member by the symbols that it defines.

## Why it matters

Such a list is written once, for one configuration of a build. Another configuration needs more archives. The
merge and the link succeed, and the library fails when it is used.

## Example

```text
error[deps-list-drift] librockCompiler.a: LLVMX86Info is not in librockcompiler_deps.cmake; it
    defines LLVMInitializeX86TargetInfo, undefined in libMIOpen.so
```

## How to fix

`linkaudit fix --deps-list FILE --emit cmake-deps` inserts the missing names. If the archive is out of date,
merge it again. Or build for fewer targets, so that no code refers to the missing archives.

## Limits

linkaudit looks for archives among the audited files, in `--lib-path`, and in `from` of the policy. If none of these
places has an archive for a listed name, the name is not compared. One finding counts such names. Names of the C library
and of the compiler's libraries (`pthread`, `dl`, `m`, `gcc`, `stdc++` and others) need no member in the merged archive.
Builds link these libraries and do not merge them. If a project has an archive with such a name, linkaudit compares it.
Members that define no symbol have no known origin. Names in generator expressions, after `debug` or `optimized`, and in
variables that the file sets count as listed. A value may have unknown names, such as a variable of another file. The
list may then have more names than linkaudit knows. `undecided` reports the value, and the rule does not report archives
that are not listed.
";

/// Maximum number of names in the evidence of one finding: listed names for which there is no
/// candidate archive.
const MOST_NAMED: usize = 100;

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (entry, archives) in query.merged() {
        for &archive in archives {
            match entry.listed(query.library()) {
                Ok(list) => {
                    out.extend(Drift::new(query, entry, &list, archive).findings());
                }
                Err(reason) => {
                    let file = query.library().entry(archive).file;
                    let mut finding = query.about(RULE.id, file, reason);
                    finding.detail = Some(b"list".to_vec());
                    out.push(finding);
                }
            }
        }
    }
    out
}

/// Findings of `rule` about lists with a value whose names are unknown, such as a variable of
/// another file.
pub(super) fn unanswered(query: &Query<'_>, rule: RuleId) -> Findings {
    let mut out = Findings::new();
    for (entry, archives) in query.merged() {
        for &archive in archives {
            let Ok(list) = entry.listed(query.library()) else { continue };
            let Some(value) = list.first_unknown() else { continue };
            let (path, line) = (show_path(&entry.path), value.line);
            let value = show(value.reason.as_bytes());
            let reason = format!("{path}:{line}: unknown value of `{value}`");
            let mut finding = query.about(rule, query.library().entry(archive).file, reason);
            finding.detail = Some(b"list".to_vec());
            out.push(finding);
        }
    }
    out
}

/// A merged archive, for comparison with the list of the archives that it is merged from.
struct Drift<'a> {
    query: &'a Query<'a>,
    list_name: String,
    archive: ArchiveId,
    /// The listed names that are plain values and that the list does not remove again.
    names: BTreeSet<&'a [u8]>,
    /// True if the list has a value whose names are unknown. The list may then name further
    /// archives.
    is_open: bool,
    /// Candidate archives that the list names, even if only under a condition. `unlisted` has the
    /// other candidate archives.
    listed: Vec<ArchiveId>,
    unlisted: Vec<ArchiveId>,
}

impl<'a> Drift<'a> {
    fn new(
        query: &'a Query<'a>,
        entry: &MergedFrom,
        list: &'a DepsList,
        archive: ArchiveId,
    ) -> Self {
        let library = &query.library();
        let all: BTreeSet<&[u8]> = order::set(list.names());
        let names: BTreeSet<&[u8]> = order::set(list.plain_names());
        let is_open = list.first_unknown().is_some();
        let others = library.entries().map(|(other, _)| other).filter(|other| *other != archive);
        let (listed, unlisted): (Vec<_>, Vec<_>) =
            others.partition(|other| listed_name(library, *other).is_some_and(|n| all.contains(n)));
        let list_name = entry.path.file_name().map_or(&*entry.path, Path::new);
        Self { query, list_name: show_path(list_name), archive, names, is_open, listed, unlisted }
    }

    fn name(&self, archive: ArchiveId) -> String {
        let library = &self.query.library();
        listed_name(library, archive).map_or_else(|| show_path(&library.entry(archive).path), show)
    }

    fn finding(&self, detail: &str, message: String) -> Box<Finding> {
        let file = self.query.library().entry(self.archive).file;
        let mut finding = self.query.about(RULE.id, file, message);
        finding.detail = Some(detail.as_bytes().to_vec());
        finding
    }

    fn findings(&self) -> Findings {
        let mut out = Findings::new();
        let (found, solutions) = rayon::join(|| self.origins(), || self.solutions());
        let library = &self.query.library();
        let at_hand: BTreeSet<&[u8]> =
            order::set(self.listed.iter().filter_map(|archive| listed_name(library, *archive)));
        let inside: BTreeSet<&[u8]> =
            order::set(found.keys().filter_map(|archive| listed_name(library, *archive)));
        let is_absent = |name: &&&[u8]| {
            self.names.contains(**name) && !inside.contains(**name) && !self.is_of_system(name)
        };
        for name in at_hand.iter().filter(is_absent) {
            let name = show(name);
            let list = &self.list_name;
            out.push(self.finding(
                &name,
                format!("{name} is in {list}, but none of its members is in the merged archive"),
            ));
        }
        let missing = self.names.difference(&at_hand).copied();
        let missing: Vec<&[u8]> = missing.filter(|name| !is_system_name(name)).collect();
        if !missing.is_empty() {
            let (count, list) = (missing.len(), &self.list_name);
            let message = if count == 1 {
                format!("1 name in {list} has no candidate archive and was not compared")
            } else {
                format!("{count} names in {list} have no candidate archive and were not compared")
            };
            let mut finding = self.finding("not compared", message);
            let names = missing.into_iter().take(MOST_NAMED);
            finding.evidence.extend(names.map(|name| Evidence {
                name: Some(name.to_vec()),
                ..Evidence::new(EvidenceKind::Provider)
            }));
            out.push(finding);
        }
        if self.is_open {
            return out;
        }
        let listed: FastSet<ArchiveId> = self.listed.iter().copied().collect();
        for (origin, members) in found.iter().filter(|(origin, _)| !listed.contains(*origin)) {
            let (name, list) = (self.name(*origin), &self.list_name);
            let come = if *members == 1 { " comes" } else { "s come" };
            let path = Arc::clone(&library.entry(*origin).path);
            let mut finding = self.finding(
                &name,
                format!("{members} member{come} from {name}, which is not in {list}"),
            );
            finding.evidence.push(Evidence::at(EvidenceKind::Candidate, path));
            out.push(finding);
        }
        out.extend(self.needed(&found, &solutions));
        out
    }

    /// True if builds link `name` instead of merging it. This holds for libraries of the compiler.
    /// It also holds for a library of the C library, unless the listed archive with this name
    /// belongs to a project.
    fn is_of_system(&self, name: &[u8]) -> bool {
        let library = &self.query.library();
        let is_there = |path: &Path| library.entries().any(|(_, entry)| *entry.path == *path);
        let is_it = |archive: &&ArchiveId| listed_name(library, **archive) == Some(name);
        let found = self.listed.iter().filter(is_it);
        is_system_library(name, found.map(|archive| &*library.entry(*archive).path), &is_there)
    }

    /// For each candidate archive, the number of members of the merged archive that come from it.
    /// Listed archives are searched first.
    fn origins(&self) -> BTreeMap<ArchiveId, usize> {
        let library = &self.query.library();
        let sources = |archives: &[ArchiveId]| Sources::new(library, archives.iter().copied());
        let (mut listed, mut unlisted) = (sources(&self.listed), sources(&self.unlisted));
        let mut out: BTreeMap<ArchiveId, usize> = BTreeMap::new();
        for member in library.members_of(self.archive) {
            if let Some(found) = listed.of(member).or_else(|| unlisted.of(member)) {
                *out.entry(found).or_default() += 1;
            }
        }
        out
    }

    /// For each library with undefined symbols, the archives that would define these symbols if the
    /// library was linked from the merged archive.
    fn solutions(&self) -> Vec<(FileId, Arc<Solution>)> {
        let files: BTreeSet<FileId> = order::set(self.query.undefined().iter().map(|u| u.file));
        let solve = |file: FileId| {
            let solution = self.query.lacking(file, self.archive)?;
            Some((file, solution))
        };
        files.into_iter().filter_map(solve).collect()
    }

    /// Findings about archives that are missing from the list. Such an archive is neither listed
    /// nor merged. It defines an undefined symbol of a library, or is needed by an archive that
    /// defines this symbol. Symbols to which the merged archive does not refer are ignored.
    fn needed(
        &self,
        inside: &BTreeMap<ArchiveId, usize>,
        solutions: &[(FileId, Arc<Solution>)],
    ) -> Findings {
        let library = &self.query.library();
        let mut listed = vec![false; library.entries().count()];
        for archive in &self.listed {
            listed[archive.index()] = true;
        }
        let mut found: BTreeMap<ArchiveId, (FileId, Vec<u8>, bool)> = BTreeMap::new();
        let asked = solutions.iter().flat_map(|(_, solution)| solution.by_symbol.keys());
        let referrers =
            Referrers::new(library, [self.archive].into_iter(), asked.map(Vec::as_slice));
        let refers = |name: &[u8]| !referrers.of(name).is_empty();
        for (file, solution) in solutions {
            for (symbol, part) in solution.by_symbol.iter().filter(|(symbol, _)| refers(symbol)) {
                for archive in &part.archives {
                    let direct = part.provider == Some(*archive);
                    let first = found.entry(*archive).or_insert((*file, symbol.clone(), direct));
                    if direct && !first.2 {
                        *first = (*file, symbol.clone(), true);
                    }
                }
            }
        }
        let new = found
            .into_iter()
            .filter(|(archive, _)| !listed[archive.index()] && !inside.contains_key(archive));
        new.map(|(archive, (file, symbol, direct))| {
            let (name, list, text) = (self.name(archive), &self.list_name, show(&symbol));
            let user = self.query.path(file).file_name().unwrap_or_default();
            let user = show_path(Path::new(user));
            let how = if direct { "defines" } else { "is needed for" };
            let message = format!("{name} is not in {list}; it {how} {text}, undefined in {user}");
            let mut finding = self.finding(&name, message);
            let path = Arc::clone(&library.entry(archive).path);
            let symbol = direct.then_some(symbol);
            finding
                .evidence
                .push(Evidence { symbol, ..Evidence::at(EvidenceKind::Candidate, path) });
            finding
        })
        .collect()
    }
}
