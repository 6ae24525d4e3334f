//! Derives the prefixes of the walked files, and corrects the walk's counts of files by kind.

use crate::facts::Corpus;
use crate::package::Prefixes;
use crate::plan::Plan;
use crate::tree::walk::{GivenPath, UnreadablePath, WalkTotals};
use crate::tree::{EntryType, Tree};
use std::collections::BTreeSet;

/// The prefix that the user stated, the prefixes of the given paths, and the prefixes of all
/// packages that have a file in the corpus.
pub(super) fn prefixes(
    plan: &Plan,
    given: &[GivenPath],
    tree: &dyn Tree,
    corpus: &Corpus,
    problems: &[UnreadablePath],
) -> Prefixes {
    let mut prefixes = Prefixes::stated(plan.prefix.clone());
    for GivenPath { path, kind, .. } in given {
        let known = corpus.file_at(path).map(|file| &*corpus.files[file].path);
        match (kind, known) {
            (Ok(EntryType::Directory), _) => {
                prefixes.add_dir(tree.real_path(path).unwrap_or_else(|_| plan.cwd.join(path)));
            }
            (_, Some(file)) => prefixes.add_dir_of(file),
            (_, None) => {}
        }
    }
    let packages = corpus.files.iter().filter_map(|facts| facts.package.as_ref());
    for package in packages.collect::<BTreeSet<_>>() {
        prefixes.add_dir(package.prefix.clone());
    }
    // The directory of a given file is its prefix, even if the file cannot be read.
    if given.iter().any(|given| given.kind.is_err()) {
        for problem in problems {
            prefixes.add_dir_of(&problem.path);
        }
    }
    prefixes
}

/// Corrects the counts of the walk. Audited files with defects are counted as read in part. Files
/// of another system are counted by kind, not as ELF files.
pub(super) fn count_kinds(corpus: &Corpus, totals: &mut WalkTotals) {
    for facts in corpus.files.iter().filter(|facts| facts.audited) {
        if let Some(foreign) = facts.foreign() {
            if totals.elf > 0 {
                totals.elf -= 1;
                *totals.foreign.entry(foreign.name()).or_default() += 1;
            }
        } else if facts.unreadable.is_some() || facts.all_defects().next().is_some() {
            let kind = match facts.content {
                crate::facts::Content::Elf(_) => &mut totals.elf,
                crate::facts::Content::Archive(_) => &mut totals.archives,
                crate::facts::Content::Other(_) => &mut totals.elf,
            };
            if *kind > 0 {
                *kind -= 1;
                totals.partial += 1;
            }
        }
    }
}
