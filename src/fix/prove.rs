//! The proof of a fix: the library is linked again in the model, with the members that the fix adds,
//! and resolving and binding run on that. What it no longer refers to from outside, and what it refers
//! to then, both come from the members; the loader's rules say what is undefined then.

use super::solve::Solution;
use crate::audit::{Audit, Fault};
use crate::facts::Edits;
use crate::format::elf::edit::Relink;
use crate::id::{FastSet, FileId};
use crate::plan::Plan;
use crate::tree::Tree;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What resolving and binding showed.
#[derive(Default)]
pub struct Shown {
    /// Libraries that could be linked again in the model.
    edited: FastSet<FileId>,
    /// What goes wrong then.
    after: BTreeSet<Fault>,
    /// What goes wrong only then.
    new: BTreeSet<Fault>,
}

impl Shown {
    /// Why it is not known that `symbol` of `file` is defined then and nothing else goes wrong.
    pub fn doubt(&self, file: FileId, symbol: &[u8]) -> Option<String> {
        let fault = (file, "undefined", symbol.to_vec(), None);
        if !self.edited.contains(&file) {
            return Some("the library could not be read again".to_owned());
        }
        if self.after.contains(&fault) {
            return Some("it stays undefined with the fix".to_owned());
        }
        let (_, _, name, _) = self.new.first()?;
        let more = match self.new.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        Some(format!("with the fix {}{more} would be undefined", crate::text::show(name)))
    }
}

/// Applies all solutions at once to the model and looks again.
pub fn prove(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    solutions: &[Arc<Solution>],
) -> Shown {
    let files: Vec<FileId> = solutions.iter().map(|solution| solution.file).collect();
    audit.read_for_edits(plan, tree, &files);
    let mut edits = Edits::default();
    for solution in solutions {
        let outside: Vec<&[u8]> = solution.outside.iter().map(Vec::as_slice).collect();
        let inside = |name: &[u8]| solution.defines(&audit.library, name);
        let relink = Relink { inside: &inside, outside: &outside };
        let object = audit.corpus.files[solution.file].object();
        let relocations = audit.corpus.relocations(solution.file).ok();
        let edited = object.zip(relocations).and_then(|(o, r)| o.linked_again(r, &relink));
        if let Some(edited) = edited {
            edits.insert(solution.file, edited);
        }
    }
    if edits.is_empty() {
        return Shown::default();
    }
    let edited = files.into_iter().filter(|file| edits.contains_key(file)).collect();
    let before = Audit::faults(&audit.blame);
    let after = audit.again(plan, tree, &edits);
    let new = after.difference(&before).cloned().collect();
    Shown { edited, after, new }
}
