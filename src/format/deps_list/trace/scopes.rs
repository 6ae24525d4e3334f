//! Runs the commands that set and unset variables of the current scope, of callers and of the cache.

use super::arguments::{Words, joined};
use super::run::Run;
use super::state::{Scope, State};
use super::value::{Word, distinct, hash, is_open, merged};
use std::sync::Arc;

impl Run<'_> {
    /// Runs `set()`.
    pub(super) fn set(&mut self, name: &Words, values: &[Words]) {
        let is_end = |word: &Words| matches!(word.keyword(), b"CACHE" | b"PARENT_SCOPE");
        let end = values.iter().position(is_end).unwrap_or(values.len());
        let mut words = distinct(joined(&values[..end]));
        let is_forced =
            values[end..].iter().any(|word| matches!(word.keyword(), b"FORCE" | b"INTERNAL"));
        let is_cached = |name: &[u8]| self.cached.contains(name) && self.state.get(name).is_some();
        match values.get(end).map(Words::keyword) {
            // A cache variable keeps its first value.
            Some(b"CACHE") if !is_forced && name.name().is_some_and(is_cached) => return,
            Some(b"CACHE") => {
                // Policy CMP0126 decides if a variable outside of the cache keeps its value.
                let own = name.name().and_then(|name| self.state.get(name));
                if let Some(own) = own.filter(|_| !name.name().is_some_and(is_cached)) {
                    words = merged(own, &words, hash(&self.line) | 1);
                }
                self.cache(name, &words);
            }
            Some(_) => return self.hand_up(name, words),
            None => {}
        }
        let is_unset = values.is_empty();
        self.named(
            name,
            move |state, name| {
                if is_unset { state.unset(name) } else { state.set(name, words.clone()) }
            },
        );
    }

    /// Sets a cache variable. Callers read it if they have no other variable of this name.
    pub(super) fn cache(&mut self, name: &Words, words: &[Word]) {
        let Some(name) = name.name().filter(|name| !is_open(name)).map(<[u8]>::to_vec) else {
            return;
        };
        let is_known = !self.cached.insert(name.clone());
        let value = Arc::new(words.to_vec());
        let outer = self.state.scopes.len().saturating_sub(1);
        for scope in &mut self.state.scopes[..outer] {
            if is_known || !scope.contains_key(&name) {
                Arc::make_mut(scope).insert(name.clone(), Arc::clone(&value));
            }
        }
    }

    /// Sets a variable of the caller. Outside of functions, the caller is perhaps another file,
    /// which may link the words.
    fn hand_up(&mut self, name: &Words, words: Vec<Word>) {
        if self.state.scopes.len() < 2 {
            return self.state.add_link(b"", Scope::Public, words);
        }
        self.in_caller(|run| run.named(name, |state, name| state.set(name, words.clone())));
    }

    /// Runs `unset(NAME [CACHE | PARENT_SCOPE])`.
    pub(super) fn unset(&mut self, name: &Words, rest: &[Words]) {
        match rest.first().map(Words::keyword) {
            Some(b"PARENT_SCOPE") => self.in_caller(|run| run.named(name, State::unset)),
            // The command does not change a variable that is not in the cache.
            Some(b"CACHE") if name.name().is_some_and(|name| !self.cached.contains(name)) => {}
            _ => self.named(name, State::unset),
        }
    }

    /// Runs `return(PROPAGATE NAME …)`. Policy CMP0140 decides if callers get the values, which
    /// therefore are doubtful.
    pub(super) fn propagate(&mut self, names: &[Words]) {
        let outer = self.state.scopes.len().saturating_sub(1);
        for name in names.iter().filter_map(Words::name) {
            let words = self.state.get(name).cloned().unwrap_or_default();
            for scope in &mut self.state.scopes[..outer] {
                let old = scope.get(name).cloned().unwrap_or_default();
                if old != words {
                    let both = merged(&old, &words, hash(&self.line) | 1);
                    Arc::make_mut(scope).insert(name.to_vec(), Arc::new(both));
                }
            }
        }
    }

    /// Runs `change` with the variables of the caller.
    fn in_caller(&mut self, change: impl FnOnce(&mut Self)) {
        let outer = self.state.scopes.len().saturating_sub(1).max(1);
        let inner: Vec<_> = self.state.scopes.drain(outer..).collect();
        change(self);
        self.state.scopes.extend(inner);
    }
}
