//! The values that a link gets: the variables and targets that are parts of it, and the commands
//! that remove a name on its way to the link.

use super::{DepsList, ListedArchive, Removal, Set, SetCommand};
use crate::id::{FastMap, FastSet};
use std::collections::BTreeSet;

/// The sets and removals of a file by the variables that they are about, as indices.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// The sets of each variable or target.
    sets: FastMap<Vec<u8>, Vec<usize>>,
    /// The sets that have `${NAME}` as a value.
    users: FastMap<Vec<u8>, Vec<usize>>,
    /// The removals from each variable.
    removals: FastMap<Vec<u8>, Vec<usize>>,
}

impl Flow {
    fn new(sets: &[Set], removals: &[Removal]) -> Self {
        let mut out = Self::default();
        for (at, set) in sets.iter().enumerate() {
            out.sets.entry(set.name.clone()).or_default().push(at);
            for (_, part) in set.references.iter().filter(|(_, part)| *part != set.name) {
                out.users.entry(part.clone()).or_default().push(at);
            }
        }
        for (at, removal) in removals.iter().enumerate() {
            out.removals.entry(removal.list.clone()).or_default().push(at);
        }
        out
    }
}

/// The variables and targets whose archives a link gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkParts<'l> {
    /// Those whose archives it gets all.
    pub all: BTreeSet<&'l [u8]>,
    /// Targets that keep the archives after `PRIVATE` to themselves.
    pub public: BTreeSet<&'l [u8]>,
}

impl LinkParts<'_> {
    /// True if the link gets the values of `set`.
    pub fn has(&self, set: &Set) -> bool {
        self.all.contains(&*set.name) || (!set.is_private && self.public.contains(&*set.name))
    }
}

/// A command that removes a name on its way to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The line, from 1.
    pub line: u32,
    /// False if the link may get the name nevertheless.
    pub is_certain: bool,
}

impl DepsList {
    fn flow(&self) -> &Flow {
        self.flow.get_or_init(|| Flow::new(&self.sets, &self.removals))
    }

    /// The sets of a variable or target, in the file's order.
    pub fn sets_of(&self, name: &[u8]) -> impl Iterator<Item = &Set> {
        self.flow().sets.get(name).into_iter().flatten().filter_map(|at| self.sets.get(*at))
    }

    /// True if a command gives archives to a target of this name.
    pub fn is_target(&self, name: &[u8]) -> bool {
        self.sets_of(name).any(|set| set.origin == SetCommand::Link)
    }

    /// The target that a value names, also by an alias.
    fn target<'l>(&'l self, entry: &'l ListedArchive) -> &'l [u8] {
        let word = entry.spelling.write(&entry.name).unwrap_or_default();
        self.aliases.get(&word).map_or(&entry.name, Vec::as_slice)
    }

    /// The interface library that a value names. Those that link it get the archives of its list.
    pub fn interface<'l>(&'l self, entry: &'l ListedArchive) -> Option<&'l [u8]> {
        Some(self.target(entry)).filter(|target| self.interfaces.contains(*target))
    }

    /// The variables and targets of a link that has the parts `from`. With `is_transitive`, the link
    /// also gets the archives of other targets that it links.
    pub fn parts<'l>(
        &'l self,
        from: impl Iterator<Item = &'l [u8]>,
        is_transitive: bool,
    ) -> LinkParts<'l> {
        let mut out = LinkParts { all: from.collect(), public: BTreeSet::new() };
        let mut todo: Vec<(&[u8], bool)> = out.all.iter().map(|name| (*name, true)).collect();
        while let Some((name, is_whole)) = todo.pop() {
            for set in self.sets_of(name).filter(|set| is_whole || !set.is_private) {
                let parts = set.references.iter().map(|(_, part)| &**part);
                let interfaces = set.entries.iter().filter_map(|entry| self.interface(entry));
                for part in parts.chain(interfaces) {
                    if out.all.insert(part) {
                        todo.push((part, true));
                    }
                }
                let targets = set.entries.iter().map(|entry| self.target(entry));
                for target in targets.filter(|target| is_transitive && self.is_target(target)) {
                    // A static library hands on its private archives too.
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

    /// The command that removes a name of `set` before a link gets it. `link` has the parts of the
    /// link; without it, every command that uses the values may be the link. `removes` tells if the
    /// removal with an index removes the name, or returns `None` if that is unknown.
    pub fn loss(
        &self,
        set: &Set,
        link: Option<&LinkParts<'_>>,
        removes: &dyn Fn(usize, &Removal) -> Option<bool>,
    ) -> Option<Loss> {
        let flow = self.flow();
        let (mut found, mut arrives): (Option<Loss>, bool) = (None, false);
        let (mut todo, mut seen): (Vec<&Set>, FastSet<usize>) = (vec![set], FastSet::default());
        while let Some(here) = todo.pop() {
            if here.origin == SetCommand::Link {
                arrives = true;
                continue;
            }
            let removals = flow.removals.get(&here.name).into_iter().flatten();
            let removals = removals.filter_map(|at| {
                let removal = self.removals.get(*at).filter(|removal| removal.follows(here))?;
                let is_certain = match removes(*at, removal) {
                    Some(false) => return None,
                    Some(true) => removal.is_certain_for(here),
                    None => false,
                };
                Some((removal.at, Loss { line: removal.line, is_certain }))
            });
            let removals: Vec<(usize, Loss)> = removals.collect();
            let users = flow.users.get(&here.name).into_iter().flatten();
            let users = users.filter_map(|at| self.sets.get(*at));
            let users = users.filter(|user| link.is_none_or(|link| link.has(user)));
            let mut ends: Vec<(usize, Option<&Set>)> =
                users.filter_map(|user| Some((time(user, here)?, Some(user)))).collect();
            if ends.is_empty() || link.is_none() {
                ends.push((usize::MAX, None));
            }
            for (end, user) in ends {
                let lost = removals.iter().filter(|(at, _)| *at < end).map(|(_, loss)| *loss);
                match (lost.max_by_key(|loss| loss.is_certain), user) {
                    (Some(loss), _) => {
                        let is_certain = found.is_none_or(|found| found.is_certain);
                        let line = found.map_or(loss.line, |found| found.line);
                        found = Some(Loss { line, is_certain: is_certain && loss.is_certain });
                    }
                    (None, Some(user)) if seen.insert(user.number) => todo.push(user),
                    (None, Some(_)) => {}
                    (None, None) => arrives = true,
                }
            }
        }
        match (found, link) {
            (Some(_), Some(_)) if arrives => None,
            (Some(loss), _) => Some(Loss { is_certain: loss.is_certain && !arrives, ..loss }),
            (None, _) => None,
        }
    }
}

/// The offset at which `user` gets the values of `set`: after all others if the commands of `user`
/// run where a function is called. `None` if it runs before `set`.
fn time(user: &Set, set: &Set) -> Option<usize> {
    let mut calls = user.blocks.iter().filter(|block| block.is_function || block.is_macro);
    if calls.any(|block| !set.blocks.contains(block)) {
        return Some(usize::MAX);
    }
    (user.body.start > set.body.start).then_some(user.body.start)
}
