//! Tables of the files and names in the scope of one entry point. A thread reuses these tables for
//! the next entry point.

use super::names::{InFile, NameSet, VaryingName, VaryingNames};
use crate::id::{FileId, Id as _, ModuleId};
use crate::resolve::Closure;

/// A table entry. An entry with an old stamp is empty, so a new stamp clears all entries in
/// constant time.
#[derive(Clone, Copy, Default)]
pub(super) struct Stamped<T> {
    pub(super) stamp: u32,
    pub(super) value: T,
}

/// The files and names of one scope.
#[derive(Default)]
pub(super) struct Present {
    pub(super) stamp: u32,
    /// The files in scope order.
    pub(super) files: Vec<FileId>,
    /// Index in the scope, by file.
    places: Vec<Stamped<usize>>,
    /// Module, by index in the scope.
    modules: Vec<ModuleId>,
    /// Names that an object of the scope defines.
    seen: NameSet,
    /// Names that at least two objects of the scope define.
    twice: NameSet,
}

impl Present {
    /// Fills the tables with the scope of `closure`; true if two modules share a file.
    pub(super) fn enter(&mut self, closure: &Closure, names: &VaryingNames) -> bool {
        let mut has_twins = false;
        self.stamp += 1;
        self.seen.clear(names.len());
        self.twice.clear(names.len());
        self.files.clear();
        self.modules.clear();
        for (module, file) in closure.in_scope() {
            if file.index() >= self.places.len() {
                self.places.resize((file.index() + 1).next_power_of_two(), Stamped::default());
            }
            let entry = Stamped { stamp: self.stamp, value: self.files.len() };
            let before = std::mem::replace(&mut self.places[file.index()], entry);
            has_twins |= before.stamp == self.stamp;
            self.files.push(file);
            self.modules.push(module);
            match names.in_file(file) {
                None => {}
                Some(InFile::Few(list)) => {
                    for name in list {
                        if self.seen.insert(*name) {
                            self.twice.insert(*name);
                        }
                    }
                }
                Some(InFile::Many(set)) => {
                    self.twice.add_common(&self.seen, set);
                    self.seen.add(set);
                }
            }
        }
        has_twins
    }

    pub(super) fn place(&self, file: FileId) -> Option<usize> {
        let entry = self.places.get(file.index())?;
        (entry.stamp == self.stamp).then_some(entry.value)
    }

    pub(super) fn module(&self, file: FileId) -> Option<ModuleId> {
        self.place(file).map(|place| self.modules[place])
    }

    pub(super) fn is_seen(&self, name: Option<VaryingName>) -> bool {
        name.is_some_and(|name| self.seen.contains(name))
    }

    pub(super) fn is_twice(&self, name: Option<VaryingName>) -> bool {
        name.is_some_and(|name| self.twice.contains(name))
    }
}
