//! Finds the merged archive that a run repairs. Also finds the position at which an archive is
//! added to the list of the merged archive. `propose` calls this module.

use super::branches::{is_loop_body, listed_elsewhere, reaches};
use super::targets::{
    EVERYWHERE, LinkNeeds, Linked, Neighbours, fullest, in_link_order, largest, of_file,
};
use crate::audit::Audit;
use crate::format::deps_list::{DepsList, Fate, LinkParts, Set, SetCommand, can_list};
use crate::id::ArchiveId;
use crate::merged::list::{listed_name, merged};
use crate::merged::solve::Solved;
use crate::order;
use crate::plan::FixRequest;
use crate::plan::MergedFrom;
use crate::plan::Plan;
use crate::text::{show, show_path};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The position of an archive on a list.
pub(super) struct ListPosition {
    /// The indices of the sets that the archive joins; empty if no set fits. There are several sets
    /// if several files need the archive, or if the archives do not decide which branch of a
    /// condition applies.
    pub(super) sets: Vec<usize>,
    /// The name by which lists refer to the archive; `None` if it cannot be written in a list.
    pub(super) name: Option<Vec<u8>>,
    /// The reason why the position is uncertain; `None` if it is certain.
    pub(super) doubt: Option<String>,
    /// The names of archives that the new archive needs, but that links get only before it.
    pub(super) earlier: BTreeSet<Vec<u8>>,
    /// The indices in `sets` to which the name is added, because their links do not list it yet.
    pub(super) open: Vec<usize>,
    /// The message for a fix that adds nothing, because the links of all `sets` list the name
    /// already. `None` for any other fix.
    pub(super) listed: Option<String>,
    /// The reason why no set fits, as the end of a sentence. It is used only if `sets` is empty.
    pub(super) refusal: &'static str,
}

/// A list that the run uses: the entry of the plan that names it, and its content.
pub(super) struct Listed<'a> {
    pub(super) entry: &'a MergedFrom,
    pub(super) list: DepsList,
}

/// The merged archive and its list, as named by options, or the only archive and list that fit. A
/// list named by an option may be for a link without a merged archive. An error if the request
/// requires an archive or a list, and none or several fit.
pub(super) fn find_merged<'a>(
    audit: &Audit,
    plan: &'a Plan,
    request: &FixRequest,
    solved: &Solved,
) -> Result<(Option<ArchiveId>, Option<Listed<'a>>), String> {
    let library = &audit.library;
    let named = match &request.archive {
        None => None,
        Some(path) => {
            let found = audit.corpus.file_at(path).and_then(|file| library.archive(file));
            Some(found.ok_or_else(|| format!("{}: not a static archive", show_path(path)))?)
        }
    };
    let mut found: Vec<(ArchiveId, Option<&MergedFrom>)> = Vec::new();
    for (entry, archives) in solved.merged(audit, plan) {
        let fits =
            archives.iter().copied().filter(|archive| named.is_none_or(|named| named == *archive));
        found.extend(fits.map(|archive| (archive, Some(entry))));
    }
    if found.is_empty() {
        found = match named {
            Some(named) => vec![(named, None)],
            None if plan.lists.is_empty() => {
                merged(library, None).into_iter().map(|archive| (archive, None)).collect()
            }
            None => Vec::new(),
        };
    }
    match found.as_slice() {
        [(archive, entry)] => {
            let listed =
                |entry: &'a MergedFrom| entry.listed(library).map(|list| Listed { entry, list });
            Ok((Some(*archive), entry.map(listed).transpose()?))
        }
        _ if !request.must_find && !request.is_list_named => Ok((None, None)),
        [] if !request.must_find => Ok((None, Some(list_without_archive(audit, plan, request)?))),
        [] => Err(no_candidate(plan, request)),
        several => {
            let paths = several.iter().map(|(archive, _)| show_path(&library.entry(*archive).path));
            let paths: Vec<String> = paths.collect();
            Err(format!(
                "several archives may be the merged one: {}\nhelp: name one with --archive FILE",
                paths.join(", ")
            ))
        }
    }
}

/// The deps list of a library that is linked with the listed archives directly, without a merged
/// archive. An error if none of the listed archives is a candidate.
fn list_without_archive<'a>(
    audit: &Audit,
    plan: &'a Plan,
    request: &FixRequest,
) -> Result<Listed<'a>, String> {
    let entry = plan.lists.first().ok_or_else(|| no_candidate(plan, request))?;
    let list = entry.listed(&audit.library)?;
    let is_known = list.sets().iter().any(|set| set.known() > 0);
    if is_known {
        return Ok(Listed { entry, list });
    }
    Err(format!(
        "{}: no known command names a candidate archive{}\n{READ}; \
         --lib-path DIR names the directory of the candidate archives",
        show_path(&entry.path),
        entry.why(&audit.library)
    ))
}

/// Help text: the commands from which archive names are read.
const READ: &str = "help: set(), list(APPEND), target_link_libraries() and LINK_LIBS are read";

pub(super) fn no_candidate(plan: &Plan, request: &FixRequest) -> String {
    let is_empty =
        |entry: &&MergedFrom| entry.list.as_ref().is_ok_and(|list| list.sets().is_empty());
    if let Some(entry) = plan.lists.first().filter(is_empty) {
        let path = show_path(&entry.path);
        return format!("{path}: not a list of archive names\n{READ}");
    }
    let what = match plan.lists.first() {
        Some(entry) => format!("holds members of archives that {} lists", show_path(&entry.path)),
        None => "is merged from others".to_owned(),
    };
    let why = if request.minimal {
        "--minimal drops names from the list of a merged archive, but "
    } else {
        ""
    };
    format!("{why}no candidate archive {what}\nhelp: name it with --archive FILE")
}

/// Refusal of a name that cannot be written in any list.
const UNNAMED: &str = "cannot be written as a name in CMake";
// Reasons why no set fits, as the end of a sentence about the archive.
const NO_SET: &str =
    "cannot be placed: no variable or target of the list names a candidate archive";
const UNSPELLED: &str = "cannot be written like the other names of its variable or target";
const CONTINUED: &str =
    "cannot be placed: string(APPEND) may continue the last name of its variable";
const INTERFACE: &str = "cannot be placed: its target has candidate archives only after INTERFACE, \
     and the list does not create the target with add_library(… INTERFACE)";
const IN_LOOP: &str = "cannot be placed: a loop makes the names of its variable or target";
const REMOVED: &str = "cannot be placed: a later command of the list removes it";
/// The reason for a doubt: the link may get the names of a set in another order.
const REORDERED: &str = "a command may change the order of the names";

/// Finds the sets that an archive joins, and the archive's name in them.
pub(super) fn place(
    audit: &Audit,
    (listed, fat): (Option<&Listed<'_>>, Option<ArchiveId>),
    archive: ArchiveId,
    needs: &LinkNeeds,
) -> ListPosition {
    let name = listed_name(&audit.library, archive).filter(|name| can_list(name));
    let name = name.map(<[u8]>::to_vec);
    let mut out = ListPosition {
        sets: Vec::new(),
        name,
        doubt: None,
        earlier: BTreeSet::new(),
        open: Vec::new(),
        listed: None,
        refusal: UNNAMED,
    };
    let Some(Listed { entry, list }) = listed else { return out };
    let Some(name) = &out.name else {
        out.doubt = Some("the archive's name cannot be written in a list".to_owned());
        return out;
    };
    let dir = audit.library.entry(archive).path.parent().unwrap_or(Path::new("/"));
    let said = entry.from.iter().find(|(_, from)| dir == from).map(|(set, _)| set.as_bytes());
    let choice = Choice { audit, entry, list, fat, needs };
    let outputs = choice.outputs(archive);
    let neighbours = match fat {
        Some(_) => Neighbours::default(),
        None => needs.neighbours(archive, &|name| choice.is_placed(&outputs, name)),
    };
    let now = choice.linked(&outputs, name);
    let (groups, doubt) = match said {
        Some(said) => (vec![said], None),
        None => choice.groups((&outputs, &now), (dir, name), &neighbours),
    };
    out.doubt = doubt;
    let mut lines: Vec<Option<u32>> = Vec::new();
    let mut removed = None;
    let (joined, traced) = choice.joined(&outputs, (&groups, &now), (name, &neighbours));
    let (earlier, is_before) = traced.misplaced(&needs.neighbours(archive, &|_| true));
    out.earlier = earlier;
    out.doubt = out.doubt.or_else(|| is_before.then(|| REORDERED.to_owned()));
    for (group, parts) in joined {
        let links = choice.links(&outputs, group);
        let fate = |set: usize| choice.fate(&traced, &outputs, set);
        let flow_doubt = || choice.flow_doubt(&traced, (group, &parts), &fate);
        out.doubt = out.doubt.or_else(flow_doubt);
        let is_certain = traced.links.iter().all(Option::is_some)
            && parts.iter().any(|set| fate(*set) == Fate::Kept);
        for set in parts {
            let line = choice.listed_on(&links, set, name, &fate);
            match fate(set) {
                _ if line.is_some() => {}
                Fate::Removed(line) => removed = removed.or(Some(line)),
                // Other sets give the link the name.
                Fate::Unknown if is_certain => {}
                fate => {
                    let fate_doubt = || choice.fate_doubt(fate, (group, name));
                    out.doubt = out.doubt.or_else(fate_doubt);
                }
            }
            let order_doubt = || choice.order_doubt(&links, (set, group), (name, &neighbours));
            out.doubt = out.doubt.or_else(order_doubt);
            out.sets.push(set);
            lines.push(line);
        }
    }
    let is_link = |set: &usize| {
        fat.is_none() || list.sets().get(*set).is_some_and(|s| s.origin == SetCommand::Link)
    };
    if out.sets.is_empty() {
        let is_text = |set: &Set| set.origin == SetCommand::Text && set.known() > 0;
        let is_body = |set: &Set| set.known() > 0 && is_loop_body(list, set);
        let any = |is: &dyn Fn(&Set) -> bool| list.sets().iter().any(is);
        out.refusal = if any(&is_text) {
            CONTINUED
        } else if any(&is_body) {
            IN_LOOP
        } else if any(&|set| set.known() > 0 && set.is_interface) {
            INTERFACE
        } else {
            NO_SET
        };
    } else if name.starts_with(b"-") && out.sets.iter().any(is_link) {
        // A linker would read a name such as `-lfoo` as an option.
        out.sets.clear();
    } else if out.sets.iter().any(|set| list.spelled(*set, name).is_none()) {
        out.sets.clear();
        out.refusal = UNSPELLED;
    }
    if removed.is_some() {
        out.sets.clear();
        out.refusal = REMOVED;
    }
    out.doubt = out.doubt.or_else(|| choice.spelling_doubt(&out.sets, name));
    let open = out.sets.iter().zip(&lines).filter(|(_, line)| line.is_none());
    out.open = open.map(|(set, _)| *set).collect();
    if out.sets.is_empty() {
        let at = removed.map(|line| format!(" ({}:{line})", show_path(&entry.path)));
        out.doubt = Some(format!("{} {}{}", show(name), out.refusal, at.unwrap_or_default()));
    } else if let (true, Some(Some(line))) = (out.open.is_empty(), lines.first()) {
        let (name, path) = (show(name), show_path(&entry.path));
        let again = if fat.is_some() { "merge the archive" } else { "link" };
        out.listed = Some(format!(
            "{path}:{line} already lists {name}: {again} again, or add {name} where it has an effect"
        ));
    }
    out
}

/// Adds a doubt to each archive that links get after an archive that it needs, unless the fix adds
/// the needed archive too. Other archives that it needs are in the link already.
pub(super) fn doubt_order(places: &mut BTreeMap<ArchiveId, ListPosition>) {
    let listed = places.values().filter(|place| place.open.is_empty());
    let listed: BTreeSet<Vec<u8>> = listed.filter_map(|place| place.name.clone()).collect();
    for place in places.values_mut() {
        if !place.earlier.is_disjoint(&listed) {
            place.doubt.get_or_insert_with(|| REORDERED.to_owned());
        }
    }
}

/// A file that is made from the list.
pub(super) struct Output<'a> {
    pub(super) path: &'a Path,
    pub(super) soname: Option<&'a [u8]>,
    /// The variables and targets that make the file: those named after the file or its soname, and
    /// the variables to which these refer. Empty if no variable or target is named after the file.
    pub(super) own: BTreeSet<&'a [u8]>,
}

/// The data from which variables and targets are chosen.
pub(super) struct Choice<'a> {
    pub(super) audit: &'a Audit,
    pub(super) entry: &'a MergedFrom,
    pub(super) list: &'a DepsList,
    pub(super) fat: Option<ArchiveId>,
    pub(super) needs: &'a LinkNeeds,
}

impl<'a> Choice<'a> {
    /// The variables or targets that an archive of `dir` with this name joins, one for each file
    /// that needs the archive. Also the reason why the choice is uncertain, if it is.
    fn groups(
        &self,
        (outputs, now): (&[Output<'a>], &Linked),
        archive: (&Path, &[u8]),
        neighbours: &Neighbours<'_>,
    ) -> (Vec<&'a [u8]>, Option<String>) {
        let sets = self.list.sets().iter();
        let sets = sets.filter(|set| set.known() > 0 && !is_loop_body(self.list, set));
        let all: BTreeSet<&[u8]> = order::set(sets.map(|set| &*set.name));
        let (mut groups, mut doubt) = (Vec::new(), None);
        for (at, Output { path, own, .. }) in outputs.iter().enumerate() {
            let linked = self.list.sets().iter().filter(|set| now.output_has(at, set));
            let linked: BTreeSet<&[u8]> = order::set(linked.map(|set| &*set.name));
            let among: BTreeSet<&[u8]> = order::set(all.intersection(own).copied());
            let is_named = !among.is_empty();
            let (group, why) =
                self.group(archive, (if is_named { &among } else { &all }, &linked), neighbours);
            doubt = doubt.or(why);
            let Some(group) = group else { continue };
            let is_linked = linked.contains(group);
            if !is_named
                && !is_linked
                && self.fat.is_none()
                && (!own.is_empty() || self.is_guess(group))
            {
                let file = show_path(Path::new(path.file_name().unwrap_or_default()));
                let group = show(group);
                doubt = Some(format!(
                    "no target named like {file} lists candidate archives; {group} is used"
                ));
            }
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        (groups, doubt)
    }

    /// The files that are made from the list: the merged archive, or the files that need `archive`.
    fn outputs(&self, archive: ArchiveId) -> Vec<Output<'a>> {
        let output = |path: &'a Path, soname: Option<&'a [u8]>| {
            let own = of_file(self.whole(), (path, soname), self.fat.is_some());
            Output { path, soname, own }
        };
        if let Some(fat) = self.fat {
            return vec![output(&self.audit.library.entry(fat).path, None)];
        }
        let files = self.needs.files(archive).map(|file| {
            let facts = &self.audit.corpus.files[file];
            output(&facts.path, facts.object().and_then(|object| object.soname()))
        });
        files.collect()
    }

    /// The parts of each link that gets the archives of `group`. Empty if no such link is known.
    fn links(&self, outputs: &[Output<'a>], group: &[u8]) -> Vec<LinkParts<'a>> {
        let own = outputs.iter().map(|output| &output.own).filter(|own| own.contains(group));
        let mut links: Vec<BTreeSet<&[u8]>> = own.cloned().collect();
        if links.is_empty() && self.fat.is_none() {
            links = self.needs.links(self.whole(), group);
        }
        let parts = |link: BTreeSet<&'a [u8]>| {
            self.whole().parts(link.into_iter().chain(EVERYWHERE), self.fat.is_none())
        };
        links.into_iter().map(parts).collect()
    }

    /// The line that already lists the name for the links of the set. Each of `links` must have the
    /// name in a set that applies wherever `set` applies. If `links` is empty, all variables are
    /// searched. `None` if a link lacks the name.
    fn listed_on(
        &self,
        links: &[LinkParts<'_>],
        set: usize,
        name: &[u8],
        fate: &dyn Fn(usize) -> Fate,
    ) -> Option<u32> {
        let sets = self.list.sets().iter().enumerate();
        let sets = sets.filter(|(at, from)| from.holds(name) && reaches(self.list, *at, set));
        let holding: Vec<(usize, &Set)> = sets.collect();
        let line = |link: Option<&LinkParts<'_>>| {
            let is_linked = |set: &Set| link.is_none_or(|link| link.has(set));
            let is_kept = |at: usize| !matches!(fate(at), Fate::Removed(_) | Fate::Unknown);
            let sets = holding.iter().filter(|(at, set)| is_linked(set) && is_kept(*at));
            let mut entries = sets.flat_map(|(_, set)| &set.entries);
            entries.find(|entry| entry.name == name).map(|entry| entry.line)
        };
        let Some((first, rest)) = links.split_first() else { return line(None) };
        line(Some(first)).filter(|_| rest.iter().all(|link| line(Some(link)).is_some()))
    }

    /// The reason why the order of the names in a link is uncertain, if it is.
    fn order_doubt(
        &self,
        links: &[LinkParts<'_>],
        (set, group): (usize, &[u8]),
        (name, neighbours): (&[u8], &Neighbours<'_>),
    ) -> Option<String> {
        if self.fat.is_none() && self.may_reorder(links, set, neighbours) {
            return Some(REORDERED.to_owned());
        }
        let other = listed_elsewhere(self.list, group, neighbours)?;
        Some(format!("another target links {}, which refers to {}", show(other), show(name)))
    }

    /// True if a command may change the order of names in a link. Either it reorders values that
    /// include the values of `set`, or names whose order matters for the new name. Or it removes
    /// duplicates of names whose order matters. If `links` is empty, all variables are checked.
    fn may_reorder(
        &self,
        links: &[LinkParts<'_>],
        set: usize,
        neighbours: &Neighbours<'_>,
    ) -> bool {
        let is_linked = |name: &[u8]| {
            let is_part = |link: &LinkParts<'_>| link.all.contains(name);
            links.is_empty() || links.iter().any(is_part)
        };
        let matters =
            |name: &[u8]| neighbours.referrers.contains(name) || neighbours.needed.contains(name);
        let has = |name: &[u8]| {
            let parts = self.whole().parts(std::iter::once(name), false);
            let mut sets = self.list.sets().iter().enumerate().filter(|(_, one)| parts.has(one));
            sets.any(|(at, one)| at == set || one.names().any(matters))
        };
        let has_twice = |name: &[u8]| {
            let parts = self.whole().parts(std::iter::once(name), false);
            let sets = self.list.sets().iter().filter(|one| parts.has(one));
            let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
            sets.flat_map(Set::names).any(|name| matters(name) && !seen.insert(name))
        };
        // A helper function may reorder its arguments, which it has in variables.
        let is_argument = |name: &[u8]| {
            name == b"ARGN" || name.ends_with(b"_LINK_LIBS") || self.whole().is_argument(name)
        };
        let is_link = self.list.sets().get(set).is_some_and(|set| set.origin == SetCommand::Link);
        let is_reordered = || self.whole().reordered().any(is_argument);
        let matters_here = !neighbours.referrers.is_empty() || !neighbours.needed.is_empty();
        is_link && matters_here && is_reordered()
            || self.whole().reordered().any(|name| is_linked(name) && has(name))
            || self.whole().deduplicated().any(|name| is_linked(name) && has_twice(name))
    }

    /// The reason why the spelling of the new name in `sets` is uncertain, if it is: prefixes that
    /// differ, or a target of another name.
    fn spelling_doubt(&self, sets: &[usize], name: &[u8]) -> Option<String> {
        let mut all = sets.iter().filter_map(|set| self.list.sets().get(*set));
        if let Some(set) = all.find(|set| set.is_ambiguous) {
            let name = show(&set.name);
            return Some(format!("the list uses the names of {name} with different prefixes"));
        }
        if self.fat.is_some() {
            return None;
        }
        if let Some(target) = self.whole().target_of_output(name) {
            return Some(format!(
                "{} is the OUTPUT_NAME of the target {}",
                show(name),
                show(target)
            ));
        }
        let mut spelled = sets.iter().filter_map(|set| self.list.spelled(*set, name));
        let alias = spelled.find(|spelled| self.whole().lacks_alias(spelled))?;
        Some(format!("the list defines no alias {}", show(&alias)))
    }

    /// True if the links of `outputs` get the name already: one of their variables or targets lists
    /// it without a condition or in all branches.
    fn is_placed(&self, outputs: &[Output<'a>], name: &[u8]) -> bool {
        let is_linked = |group: &[u8]| {
            let is = |output: &Output<'_>| output.own.is_empty() || output.own.contains(group);
            EVERYWHERE.contains(&group) || outputs.iter().any(is)
        };
        let lists = |set: &&Set| set.holds(name) && is_linked(&set.name);
        let mut holding: BTreeMap<&[u8], usize> = BTreeMap::new();
        for set in self.list.sets().iter().filter(lists) {
            if !set.is_conditional() {
                return true;
            }
            *holding.entry(&set.name).or_default() += 1;
        }
        let is_whole = |group: &[u8], holding| self.whole().sets_of(group).count() == holding;
        holding.into_iter().any(|(group, holding)| holding > 1 && is_whole(group, holding))
    }

    /// True if `group` is one of several targets with candidates, so that its choice is a guess.
    fn is_guess(&self, group: &[u8]) -> bool {
        let sets = self.list.sets().iter();
        let targets = sets.filter(|set| set.origin == SetCommand::Link && set.known() > 0);
        let targets: BTreeSet<&[u8]> = order::set(targets.map(|set| &*set.name));
        targets.len() > 1 && targets.contains(group)
    }

    /// The list with all sets. `self.list` has only the relevant and readable ones.
    pub(super) fn whole(&self) -> &'a DepsList {
        self.entry.list.as_ref().unwrap_or(self.list)
    }

    /// The variables and targets of `among` with a set that can write the name.
    fn that_write(&self, name: &[u8], among: &BTreeSet<&'a [u8]>) -> BTreeSet<&'a [u8]> {
        let sets = self.list.sets().iter().enumerate();
        let sets = sets.filter(|(_, set)| set.known() > 0 && among.contains(&*set.name));
        let sets = sets.filter(|(at, _)| self.list.spelled(*at, name).is_some());
        order::set(sets.map(|(_, set)| &*set.name))
    }

    /// The variable or target of `among` that an archive of `dir` joins, and the reason why the
    /// choice is uncertain. Variables and targets that can write the archive's name are preferred,
    /// then those of `linked`, from which the link gets archives already.
    fn group(
        &self,
        (dir, name): (&Path, &[u8]),
        (among, linked): (&BTreeSet<&'a [u8]>, &BTreeSet<&[u8]>),
        neighbours: &Neighbours<'_>,
    ) -> (Option<&'a [u8]>, Option<String>) {
        let is_compared = Cell::new(true);
        let in_order = |among: &BTreeSet<&'a [u8]>| {
            if self.fat.is_some() {
                return among.clone();
            }
            let lists = (self.whole(), self.list);
            let (found, is_whole) = in_link_order(lists, among, self.needs, neighbours);
            is_compared.set(is_compared.get() && is_whole);
            found
        };
        let can_write = self.that_write(name, among);
        let mut fitting = in_order(among);
        if !can_write.is_empty() {
            fitting.retain(|group| can_write.contains(group));
        }
        if fitting.is_empty() {
            fitting = in_order(&can_write);
        }
        if fitting.iter().any(|group| linked.contains(group)) {
            fitting.retain(|group| linked.contains(group));
        }
        let group = fullest((self.audit, self.needs), self.list, dir, &fitting);
        let doubt = (group.is_none() && fitting.len() > 1).then(|| {
            format!(
                "no variable or target lists mainly archives of {}; the largest is used",
                show_path(dir)
            )
        });
        let unordered = || "the list has too many variables to find their order".to_owned();
        let doubt = doubt.or_else(|| (!is_compared.get()).then(unordered));
        (group.or_else(|| largest(self.list, &fitting)), doubt)
    }
}
