//! Decides if the links of files get a new name. The result depends on the sets that the name joins,
//! because commands may also read a name as a condition. `place` calls this module.

use super::branches::{Tests, parts_of};
use super::place::{Choice, Output};
use super::targets::{Linked, Neighbours, is_named_like};
use crate::format::deps_list::{Fate, Joins, Links, Set, Trace};
use crate::id::FastSet;
use crate::text::{show, show_path};
use std::collections::BTreeSet;
use std::rc::Rc;

/// A variable or target, with the indices of its sets that a name joins.
type Joined<'a> = (&'a [u8], Vec<usize>);

/// The result of following a new name to the links of files.
pub(super) struct Traced<'a> {
    pub(super) trace: Trace<'a>,
    /// For each file, the links of the targets with the file's name. `None` if no target has this
    /// name.
    pub(super) links: Vec<Option<Links>>,
}

impl Traced<'_> {
    /// The archives that the new name needs, but that links get only before it. True if links get an
    /// archive that refers to the new one only after it.
    pub(super) fn misplaced(&self, neighbours: &Neighbours<'_>) -> (BTreeSet<Vec<u8>>, bool) {
        let (mut earlier, mut is_before) = (BTreeSet::new(), false);
        let variables = self.links.iter().any(Option::is_none).then(|| self.trace.variables());
        for links in self.links.iter().flatten().chain(&variables) {
            earlier.extend(links.earlier(&neighbours.needed).into_iter().map(<[u8]>::to_vec));
            is_before |= !links.later(&neighbours.referrers).is_empty();
        }
        (earlier, is_before)
    }
}

impl<'a> Choice<'a> {
    /// Follows the values of the sets to the links of `outputs`. The result is empty if the file has
    /// too many commands to follow.
    pub(super) fn linked(&self, outputs: &[Output<'_>], name: &[u8]) -> Rc<Linked> {
        let sets = self.list.sets().iter().enumerate();
        let paths = outputs.iter().map(|output| output.path.to_path_buf()).collect();
        let followed = sets.map(|(at, _)| self.list.spelled(at, name).is_some()).collect();
        self.needs.linked((paths, followed), || {
            let Traced { trace, links } = self.trace(outputs, name, &|_| false);
            let linked = || Linked::new(links, trace.unknown_links());
            if trace.is_whole() { linked() } else { Linked::default() }
        })
    }

    /// Decides if links get a new name of the set. The links are those of the files that the
    /// variable or target of the set makes. If the variable or target makes no file, the links are
    /// those that get values of the set, and those of the files whose variables and targets are
    /// unknown.
    pub(super) fn fate(&self, traced: &Traced<'_>, outputs: &[Output<'_>], set: usize) -> Fate {
        let Some(set) = self.list.sets().get(set) else { return Fate::Unknown };
        let all = || outputs.iter().zip(&traced.links);
        let is_any = all().any(|(output, _)| output.own.contains(&*set.name));
        let has_set = |links: &Option<Links>| links.as_ref().is_some_and(|links| links.has(set));
        let is_own = |(output, links): &(&Output<'_>, &Option<Links>)| {
            if is_any {
                output.own.contains(&*set.name)
            } else {
                output.own.is_empty() || has_set(links)
            }
        };
        let own = all().filter(is_own);
        let mut fates = own.map(|(_, links)| traced.trace.fate(set, links.as_ref()));
        let first = fates.next().unwrap_or_else(|| traced.trace.fate(set, None));
        // A doubt about one file makes the result for all files doubtful.
        fates.fold(first, |all, fate| match (all, fate) {
            (Fate::Kept, Fate::Removed(line)) | (Fate::Removed(line), Fate::Kept) => {
                Fate::MayBeRemoved(line)
            }
            (Fate::Kept | Fate::Removed(_), other) | (other, _) => other,
        })
    }

    /// The reason why a link may lack the name in a set of `group` with this fate, if it may.
    pub(super) fn fate_doubt(&self, fate: Fate, (group, name): (&[u8], &[u8])) -> Option<String> {
        match fate {
            Fate::Kept | Fate::Removed(_) | Fate::Elsewhere => None,
            Fate::MayBeRemoved(line) => {
                let (name, path) = (show(name), show_path(&self.entry.path));
                Some(format!("a later command may remove {name} ({path}:{line})"))
            }
            Fate::Unknown => Some(format!("the link may not get the names of {}", show(group))),
        }
    }

    /// The reason why new names in all of `parts`, sets of `group`, may have no effect on a link or
    /// too much effect, if there is one. The fates of the sets do not tell such reasons.
    pub(super) fn flow_doubt(
        &self,
        traced: &Traced<'_>,
        (group, parts): (&[u8], &[usize]),
        fate: &dyn Fn(usize) -> Fate,
    ) -> Option<String> {
        let group = show(group);
        if !parts.is_empty() && parts.iter().all(|set| fate(*set) == Fate::Elsewhere) {
            return Some(format!(
                "the command with the names of {group} runs only on other systems"
            ));
        }
        let sets: Vec<&Set> = parts.iter().filter_map(|set| self.list.sets().get(*set)).collect();
        if sets.iter().any(|set| traced.trace.is_repeated(set)) {
            return Some(format!("a command adds the names of {group} several times"));
        }
        let mut links = traced.links.iter().flatten();
        let why = || format!("the link may get the archives of {group} from another command");
        links.any(|links| traced.trace.is_partial(&sets, links)).then(why)
    }

    /// Follows a new name of the sets whose indices `joins` accepts to the links of `outputs`.
    pub(super) fn trace(
        &self,
        outputs: &[Output<'_>],
        name: &[u8],
        joins: &Joins<'_>,
    ) -> Traced<'a> {
        let trace = self.needs.trace((self.whole(), self.list), (name, joins));
        let links = |output: &Output<'_>| {
            let file = (output.path, output.soname);
            let own = trace.targets().filter(|target| is_named_like(self.whole(), target, file));
            let mut own: Vec<&[u8]> = own.collect();
            // A target whose name has an unknown variable may make another file.
            let is_open = |target: &&[u8]| target.contains(&b'$');
            if !own.iter().all(is_open) {
                own.retain(|target| !is_open(target));
            }
            (!own.is_empty()).then(|| trace.links(&own))
        };
        let links = outputs.iter().map(links).collect();
        Traced { trace, links }
    }

    /// For each group, the indices of the sets that the name joins, and the result of following the
    /// name from these sets only.
    pub(super) fn joined(
        &self,
        outputs: &[Output<'_>],
        (groups, now): (&[&'a [u8]], &Linked),
        (name, neighbours): (&[u8], &Neighbours<'_>),
    ) -> (Vec<Joined<'a>>, Traced<'a>) {
        let sets = self.list.sets().iter().enumerate();
        let all = sets.filter(|(_, set)| groups.contains(&&*set.name)).map(|(at, _)| at);
        let all: FastSet<usize> = all.collect();
        let traced = self.trace(outputs, name, &|set| all.contains(&set));
        let is = |at: usize, is: &dyn Fn(&Set) -> bool| self.list.sets().get(at).is_some_and(is);
        let is_linked = |set: usize| is(set, &|set| now.has(set));
        let parts = |group: &'a [u8]| {
            let mut sets = self.list.sets().iter().filter(|set| set.name == group);
            let is_any = sets.any(|set| now.has(set));
            let is_kept = |set: usize| {
                let is_removed = matches!(self.fate(&traced, outputs, set), Fate::Removed(_));
                !is_removed && (!is_any || is(set, &|set| now.may_have(set)))
            };
            let tests = Tests { is_kept: &is_kept, is_linked: &is_linked };
            let word = (group, name, tests);
            (group, parts_of(self.audit, self.list, word, self.fat, neighbours))
        };
        let joined: Vec<Joined<'a>> = groups.iter().copied().map(parts).collect();
        let parts: FastSet<usize> =
            joined.iter().flat_map(|(_, parts)| parts.iter().copied()).collect();
        if parts == all {
            return (joined, traced);
        }
        let traced = self.trace(outputs, name, &|set| parts.contains(&set));
        (joined, traced)
    }
}
