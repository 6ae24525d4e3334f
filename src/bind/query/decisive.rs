//! Finds entry points with equal answers to the query about duplicate definitions. The answer
//! depends only on the loader, on the modules that define or use a contested name, and on their
//! order. If a contested name is unique (STB_GNU_UNIQUE), the answer for a plugin also depends on
//! its host program. If all of these are equal for several entry points, the answer is computed
//! for the first of them. The others get a copy in which only the module ids differ.

use super::DuplicateName;
use crate::id::{FastMap, FileId, Id as _, ModuleId};
use crate::resolve::ROOT;

/// The properties of an entry point that determine its answer.
#[derive(Debug, Default)]
pub(super) struct Decisive {
    /// Loader, host program, files, version limits and orders. Entry points with equal keys have
    /// equal answers.
    key: Vec<u64>,
    /// The modules in the key, each once.
    modules: Vec<ModuleId>,
}

/// In a key: marks a relocated module that [`Decisive::add`] did not add.
const NO_PLACE: u64 = 1 << 32;

impl Decisive {
    /// A key without modules; `loader` is the number of the loader.
    pub(super) fn new(loader: usize) -> Self {
        Self { key: vec![loader as u64], modules: Vec::new() }
    }

    /// Adds a number, such as the id of a host program, on which the answer depends.
    pub(super) fn add_number(&mut self, number: usize) {
        self.key.push(number as u64);
    }

    /// Adds the next module of the scope.
    pub(super) fn add(&mut self, module: ModuleId, file: FileId, version_limit: u16) {
        let is_root = u64::from(module == ROOT);
        self.key.push(u64::from(version_limit) << 33 | is_root << 32 | file.index() as u64);
        self.modules.push(module);
    }

    /// Adds the module that is relocated next.
    pub(super) fn add_relocated(&mut self, module: ModuleId, file: FileId) {
        if let Some(place) = self.modules.iter().position(|known| *known == module) {
            self.key.push(place as u64);
        } else {
            self.key.push(NO_PLACE | file.index() as u64);
            self.modules.push(module);
        }
    }

    /// Translates the `answer` of `other`, which has the same key, to the module ids of this entry
    /// point.
    pub(super) fn adopt(&self, other: &Self, answer: &[DuplicateName]) -> Vec<DuplicateName> {
        let own: FastMap<ModuleId, ModuleId> =
            other.modules.iter().copied().zip(self.modules.iter().copied()).collect();
        let own = |module: ModuleId| own.get(&module).copied().unwrap_or(module);
        let mut out = answer.to_vec();
        for name in &mut out {
            for definition in &mut name.definitions {
                definition.module = own(definition.module);
                definition.source = definition.source.map(own);
            }
            for referrer in &mut name.referrers {
                referrer.module = own(referrer.module);
                referrer.winner = own(referrer.winner);
            }
            name.referrers.sort_unstable();
        }
        out
    }
}

/// For each entry point, the first entry point with the same key; `None` for an empty key.
pub(super) fn firsts(all: &[Decisive]) -> Vec<Option<usize>> {
    let mut known: FastMap<&[u64], usize> = FastMap::default();
    let keys = all.iter().map(|one| &one.key[..]).enumerate();
    keys.map(|(at, key)| (!key.is_empty()).then(|| *known.entry(key).or_insert(at))).collect()
}
