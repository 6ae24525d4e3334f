//! Finds the archives of a list that no object needs. The symbol tables of the libraries show which
//! members came from the merged archive. These members, the members that they refer to, and the
//! members that a fix adds are needed. A name without a candidate archive stays on the list.

use super::place::Listed;
use super::targets::{is_named_like, of_file};
use crate::audit::Audit;
use crate::cover::{CoverageQuestion, LinkOutput, cover};
use crate::format::archive::SymbolKind;
use crate::format::deps_list::{Set, SetCommand};
use crate::format::elf::symtab::each_defined;
use crate::id::{ArchiveId, FastSet, FileId, MemberId};
use crate::merged::list::{Sources, listed_name};
use crate::merged::solve::Solution;
use crate::text::show_path;
use crate::tree::{Opened, Tree};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The names of the listed archives that no object needs. An error if a file has no readable symbol
/// table.
pub(super) fn needless(
    audit: &Audit,
    tree: &dyn Tree,
    fat: ArchiveId,
    names: &BTreeSet<&[u8]>,
    solutions: &[Arc<Solution>],
) -> Result<BTreeSet<Vec<u8>>, String> {
    let library = &audit.library;
    let taken = taken(audit, tree, fat)?;
    let files: Vec<FileId> = linked_files(audit).collect();
    let libraries = audit.libraries_of(&files);
    let coverage = cover(&CoverageQuestion {
        library,
        roots: &[],
        symbols: &taken,
        all_members: false,
        archives: &[fat],
        candidates: &[],
        objects: &[],
        provided: &|name| libraries.define(name),
        output: LinkOutput::default(),
        gc_sections: false,
        link: None,
    });
    let later = solutions.iter().flat_map(|solution| &solution.coverage.needed);
    let needed: FastSet<MemberId> =
        coverage.needed.iter().chain(later).map(|needed| needed.member).collect();
    let is_listed = |archive: &ArchiveId| {
        *archive != fat && listed_name(library, *archive).is_some_and(|n| names.contains(n))
    };
    let listed: Vec<ArchiveId> =
        library.entries().map(|(archive, _)| archive).filter(is_listed).collect();
    let mut kept: BTreeSet<ArchiveId> = BTreeSet::new();
    let members = library.members_of(fat).filter(|member| needed.contains(member));
    let mut sources = Sources::new(library, listed.iter().copied());
    kept.extend(members.filter_map(|member| sources.of(member)));
    kept.extend(solutions.iter().flat_map(|solution| solution.archives()));
    let gone = listed.into_iter().filter(|archive| !kept.contains(archive));
    let names = gone.filter_map(|archive| listed_name(library, archive));
    Ok(names.map(<[u8]>::to_vec).collect())
}

/// The variables and targets of a list that belong to other targets than the merged archive `fat`,
/// or that commands for other purposes use. They may need names that the audited files do not need.
/// If the fix adds names to the variables `chosen`, these are the list of the archive. Commands of
/// other files may then use all variables that are not a part of its target.
pub(super) fn of_others(
    audit: &Audit,
    (Listed { entry, list }, chosen): (&Listed<'_>, &BTreeSet<&[u8]>),
    fat: ArchiveId,
) -> BTreeSet<Vec<u8>> {
    let path = &audit.library.entry(fat).path;
    let whole = entry.list.as_ref().unwrap_or(list);
    let is_other = |set: &&Set| {
        set.origin == SetCommand::Link && !is_named_like(whole, &set.name, (path, None))
    };
    let others = whole.sets().iter().filter(is_other).map(|set| &*set.name);
    let used = whole.used_by_others(&|word| is_named_like(whole, word, (path, None)));
    let mut all = whole.parts(others.chain(used), false).all;
    if !chosen.is_empty() {
        let own = of_file(whole, (path, None), true);
        let names = whole.sets().iter().map(|set| &*set.name);
        all.extend(names.filter(|name| !chosen.contains(name) && !own.contains(name)));
    }
    all.into_iter().map(<[u8]>::to_vec).collect()
}

fn linked_files(audit: &Audit) -> impl Iterator<Item = FileId> {
    let linked = audit.corpus.files.entries().filter(|(_, facts)| {
        facts.audited && facts.object().is_some_and(crate::format::elf::Object::is_dynamic)
    });
    linked.map(|(file, _)| file)
}

/// Strong symbols of the merged archive that audited files contain. An error if a file has no
/// readable symbol table.
fn taken(audit: &Audit, tree: &dyn Tree, fat: ArchiveId) -> Result<Vec<Box<[u8]>>, String> {
    let library = &audit.library;
    let mut out: BTreeSet<&[u8]> = BTreeSet::new();
    for file in linked_files(audit) {
        let path = &audit.corpus.files[file].path;
        let whole = match tree.open(path) {
            Ok(Opened::File(handle)) => each_defined(&handle, |symbol| {
                let Some(id) = library.find(symbol.name) else { return };
                let inside = library.definitions(id).any(|found| {
                    found.kind == SymbolKind::Strong && library.archive_of(found.member) == fat
                });
                if inside {
                    out.insert(library.text(id));
                }
            }),
            _ => Ok(false),
        };
        if !whole.unwrap_or(false) {
            return Err(format!(
                "--minimal: {} has no readable symbol table (.symtab), \
                 which shows what it took from the merged archive",
                show_path(path)
            ));
        }
    }
    Ok(out.into_iter().map(Into::into).collect())
}
