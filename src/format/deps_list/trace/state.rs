//! The variables and links at one point of a file.

use super::value::{Value, Word, merged};
use crate::id::{FastMap, FastSet};
use std::sync::Arc;

/// The variables of a function or of the file.
pub(super) type Variables = FastMap<Vec<u8>, Value>;

/// The scope of a target's values: the targets that get them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    /// The target and the targets that link it.
    Public,
    /// The target alone.
    Private,
    /// The targets that link it, but not the target itself.
    Interface,
}

impl Scope {
    pub(super) const ALL: [Self; 3] = [Self::Public, Self::Private, Self::Interface];
}

/// The state between two commands. A clone shares the values until one of the two changes.
#[derive(Clone, Default)]
pub(super) struct State {
    /// The variables of the file, then those of the open functions and `block()`s.
    pub(super) scopes: Vec<Arc<Variables>>,
    /// The values that commands give to targets. The links of unknown targets have the empty name.
    pub(super) links: Arc<FastMap<(Vec<u8>, Scope), Value>>,
    /// The global properties.
    pub(super) properties: Arc<Variables>,
}

impl State {
    pub(super) fn get(&self, name: &[u8]) -> Option<&Value> {
        self.scopes.last()?.get(name)
    }

    pub(super) fn set(&mut self, name: &[u8], words: Vec<Word>) {
        if let Some(scope) = self.scopes.last_mut() {
            Arc::make_mut(scope).insert(name.to_vec(), Arc::new(words));
        }
    }

    pub(super) fn unset(&mut self, name: &[u8]) {
        if let Some(scope) = self.scopes.last_mut().filter(|scope| scope.contains_key(name)) {
            Arc::make_mut(scope).remove(name);
        }
    }

    /// Applies `change` to the words of the variable `name`, if the current scope has this
    /// variable.
    pub(super) fn change(&mut self, name: &[u8], change: impl FnOnce(&mut Vec<Word>)) {
        let Some(scope) = self.scopes.last_mut().filter(|scope| scope.contains_key(name)) else {
            return;
        };
        if let Some(value) = Arc::make_mut(scope).get_mut(name) {
            change(Arc::make_mut(value));
        }
    }

    /// All values of the current scope and of the global properties.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.scopes.last().into_iter().chain([&self.properties]).flat_map(|scope| scope.values())
    }

    /// The values of a target in one scope.
    pub(super) fn link(&self, target: &[u8], scope: Scope) -> &[Word] {
        self.links.get(&(target.to_vec(), scope)).map_or(&[], |value| value)
    }

    pub(super) fn add_link(&mut self, target: &[u8], scope: Scope, words: Vec<Word>) {
        let links = Arc::make_mut(&mut self.links);
        let value = links.entry((target.to_vec(), scope)).or_default();
        Arc::make_mut(value).extend(words);
    }

    /// Drops the private or the interface values of a target. Public values count in both scopes,
    /// so they stay in the scope that is not dropped.
    pub(super) fn clear_link(&mut self, target: &[u8], scope: Scope) {
        let other = if scope == Scope::Private { Scope::Interface } else { Scope::Private };
        let words = self.link(target, Scope::Public).to_vec();
        let links = Arc::make_mut(&mut self.links);
        for gone in [scope, Scope::Public] {
            links.remove(&(target.to_vec(), gone));
        }
        self.add_link(target, other, words);
    }

    /// Merges `other`, the state after the other way of a condition, into this state. `condition`
    /// is a hash of that condition. Inner scopes that only one of the two states has are dropped.
    pub(super) fn merge(&mut self, other: &Self, condition: u64) {
        self.scopes.truncate(other.scopes.len());
        for (own, other) in self.scopes.iter_mut().zip(&other.scopes) {
            merge(own, other, condition);
        }
        merge(&mut self.links, &other.links, condition);
        merge(&mut self.properties, &other.properties, condition);
    }
}

fn merge<K: Clone + Eq + std::hash::Hash>(
    own: &mut Arc<FastMap<K, Value>>,
    other: &Arc<FastMap<K, Value>>,
    condition: u64,
) {
    if Arc::ptr_eq(own, other) {
        return;
    }
    let empty = Value::default();
    let names: FastSet<K> = own.keys().chain(other.keys()).cloned().collect();
    let own = Arc::make_mut(own);
    for name in names {
        let (first, second) =
            (own.get(&name).unwrap_or(&empty), other.get(&name).unwrap_or(&empty));
        if !Arc::ptr_eq(first, second) && first != second {
            let words = merged(first, second, condition);
            own.insert(name, Arc::new(words));
        }
    }
}

impl State {
    /// Closes the scopes above `level`. The variables `handed` keep their values from the innermost
    /// scope.
    pub(super) fn leave(&mut self, level: usize, handed: &[Vec<u8>]) {
        let values: Vec<Option<Value>> =
            handed.iter().map(|name| self.get(name).cloned()).collect();
        self.scopes.truncate(level);
        for (name, value) in handed.iter().zip(values) {
            match value {
                Some(value) => self.set(name, value.to_vec()),
                None => self.unset(name),
            }
        }
    }
}
