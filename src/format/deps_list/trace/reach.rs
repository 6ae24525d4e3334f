//! The words that the link of a target gets, also from the targets that it links.

use super::super::values::words;
use super::commands::COMPONENTS;
use super::state::Scope;
use super::value::Word;
use super::{Links, Trace};
use crate::id::FastSet;
use std::sync::Arc;

impl Trace<'_> {
    /// The words that the links of the targets `own` get.
    pub fn links(&self, own: &[&[u8]]) -> Links {
        let mut links = Links::default();
        let mut seen: FastSet<(Vec<u8>, bool)> = FastSet::default();
        let mut todo: Vec<(Vec<u8>, bool, u64)> =
            own.iter().map(|target| (target.to_vec(), true, 0)).collect();
        todo.push((COMPONENTS.to_vec(), true, 0));
        while let Some((target, is_own, doubt)) = todo.pop() {
            if !seen.insert((target.clone(), is_own)) {
                continue;
            }
            for scope in Scope::ALL {
                let is_linked = match scope {
                    Scope::Public => true,
                    // A link with a static library also gets the private archives of that library.
                    Scope::Private => is_own || !self.list.shared.contains(&target),
                    Scope::Interface => !is_own,
                };
                let values = self.state.link(&target, scope);
                if is_own && let Some(value) = self.state.links.get(&(target.clone(), scope)) {
                    links.values.push(Arc::clone(value));
                }
                for word in values.iter().filter(|_| is_linked) {
                    let word = if doubt == 0 { word.clone() } else { word.under(doubt) };
                    links.add(&word);
                    let names = self.names(&word);
                    todo.extend(names.into_iter().map(|name| (name, false, word.doubt)));
                }
            }
        }
        links
    }

    /// The targets that a word names.
    fn names(&self, word: &Word) -> Vec<Vec<u8>> {
        let (parts, _) = words(&word.text);
        let target =
            |part: &[u8]| self.list.aliases.get(part).cloned().unwrap_or_else(|| part.to_vec());
        let is_target = |name: &Vec<u8>| {
            Scope::ALL.iter().any(|scope| self.state.links.contains_key(&(name.clone(), *scope)))
        };
        parts.into_iter().map(target).filter(is_target).collect()
    }
}
