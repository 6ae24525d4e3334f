//! Finds the variables and targets from which a link gets archives.

use super::{DepsList, ListedArchive, Set, SetCommand};
use crate::id::FastMap;
use std::collections::BTreeSet;

/// The sets of each variable or target, as indices into the sets of the file.
pub(super) type Flow = FastMap<Vec<u8>, Vec<usize>>;

/// The variables and targets from which a link gets archives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkParts<'l> {
    /// The variables and targets from which the link gets all archives.
    pub all: BTreeSet<&'l [u8]>,
    /// The targets from which the link gets all archives except those after `PRIVATE`.
    pub public: BTreeSet<&'l [u8]>,
}

impl LinkParts<'_> {
    /// True if the link gets the values of `set`.
    pub fn has(&self, set: &Set) -> bool {
        self.all.contains(&*set.name) || (!set.is_private && self.public.contains(&*set.name))
    }
}

impl DepsList {
    fn flow(&self) -> &Flow {
        self.flow.get_or_init(|| {
            let mut out = Flow::default();
            for (at, set) in self.sets.iter().enumerate() {
                out.entry(set.name.clone()).or_default().push(at);
            }
            out
        })
    }

    /// The sets of a variable or target, in the file's order.
    pub fn sets_of(&self, name: &[u8]) -> impl Iterator<Item = &Set> {
        self.flow().get(name).into_iter().flatten().filter_map(|at| self.sets.get(*at))
    }

    /// True if a command gives archives to a target of this name.
    pub fn is_target(&self, name: &[u8]) -> bool {
        self.sets_of(name).any(|set| set.origin == SetCommand::Link)
    }

    /// The target that a value names, directly or by an alias.
    fn target<'l>(&'l self, entry: &'l ListedArchive) -> &'l [u8] {
        let word = entry.spelling.write(&entry.name).unwrap_or_default();
        self.aliases.get(&word).map_or(&entry.name, Vec::as_slice)
    }

    /// The interface library that a value names. `None` if the value does not name one. A target
    /// that links an interface library gets the archives of that library.
    pub fn interface<'l>(&'l self, entry: &'l ListedArchive) -> Option<&'l [u8]> {
        Some(self.target(entry)).filter(|target| self.interfaces.contains(*target))
    }

    /// True for a target of `add_library(NAME INTERFACE)`, and for an imported target.
    pub fn is_interface(&self, name: &[u8]) -> bool {
        self.interfaces.contains(name)
    }

    /// The variables and targets from which a link gets archives. The search starts from `from`:
    /// the linked target and variables. If `is_transitive` is true, the search also follows links
    /// from target to target.
    pub fn parts<'l>(
        &'l self,
        from: impl Iterator<Item = &'l [u8]>,
        is_transitive: bool,
    ) -> LinkParts<'l> {
        let own: BTreeSet<&[u8]> = from.collect();
        let mut out = LinkParts { all: own.clone(), public: BTreeSet::new() };
        let mut todo: Vec<(&[u8], bool)> = out.all.iter().map(|name| (*name, true)).collect();
        while let Some((name, is_whole)) = todo.pop() {
            let is_interface = self.interfaces.contains(name);
            let is_linked = |set: &&Set| {
                (is_whole || !set.is_private)
                    && (is_interface || !set.is_interface || !own.contains(name))
            };
            for set in self.sets_of(name).filter(is_linked) {
                let parts = set.references.iter().map(|(_, part)| &**part);
                let interfaces = set.entries.iter().filter_map(|entry| self.interface(entry));
                for part in parts.chain(interfaces) {
                    if out.all.insert(part) {
                        todo.push((part, true));
                    }
                }
                let targets = set.entries.iter().map(|entry| self.target(entry));
                for target in targets.filter(|target| is_transitive && self.is_target(target)) {
                    // A link with a static library also gets the private archives of that library.
                    let is_whole = !self.shared.contains(target);
                    let found = if is_whole { &mut out.all } else { &mut out.public };
                    if found.insert(target) {
                        todo.push((target, is_whole));
                    }
                }
            }
        }
        out
    }
}
