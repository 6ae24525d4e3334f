//! Finds the variables and targets of a list that an archive may join: those that belong to the
//! file that needs the archive. A linker that reads each archive once must find the archive at the
//! position of the variable or target in the link. `place` calls this module.

use super::link_order::{self, References};
use crate::audit::Audit;
use crate::cmake;
use crate::cover::ArchiveSet;
use crate::format::deps_list::{DepsList, Joins, Links, Set, SetCommand, Trace};
use crate::id::{ArchiveId, FastMap, FastSet, FileId};
use crate::merged::list::listed_name;
use crate::merged::solve::Solution;
use crate::order;
use crate::order::Arrange as _;
use std::cell::{Cell, RefCell};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

/// Variables and targets whose archives every link of their directory gets: `link_libraries()`, and
/// the components of LLVM's commands.
pub(super) const EVERYWHERE: [&[u8]; 2] = [b"link_libraries", b"LLVM_LINK_COMPONENTS"];

/// Maximum number of variables that are visited below one target.
const MOST_VISITS: usize = 1000;
/// Maximum number of variables that are visited below all targets of a file.
const MOST_IN_FILE: usize = 200_000;
/// Maximum number of steps for all comparisons of the order of variables in one run.
const MOST_COMPARED: usize = 1_000_000;
/// Maximum number of links of variables and targets, and of links of other commands, that
/// [`LinkNeeds::links`] compares.
const MOST_LINKS: usize = 100;
/// Maximum number of commands whose variables are searched for links.
const MOST_USES: usize = 1000;
/// Maximum number of variables that are searched for links in all commands together.
const MOST_USED: usize = 100_000;
/// Maximum number of steps to follow one name through a file.
const MOST_STEPS: usize = 300_000;
/// Maximum number of steps to follow all names through a file.
const MOST_STEPS_OF_ALL: usize = 10_000_000;

/// The needs of a link: which files need an archive, and which archives refer to it.
pub(super) struct LinkNeeds {
    files: BTreeMap<ArchiveId, BTreeSet<FileId>>,
    references: References,
    /// The listed archives, keyed by their names in the list.
    listed: BTreeMap<Vec<u8>, ArchiveId>,
    /// The cached result of [`Self::lines`].
    lines: OnceLock<Lines>,
    /// Number of steps that comparisons of variables may still take.
    compared: Steps,
    /// The cached result of [`Self::used`].
    used: OnceLock<Vec<BTreeSet<Vec<u8>>>>,
    /// The cached results of [`Self::in_directory`].
    in_directories: RefCell<FastMap<PathBuf, Rc<FastSet<Vec<u8>>>>>,
    /// For each regular expression, the words that were compared with it. `None` if a comparison
    /// failed.
    matched: RefCell<FastMap<Vec<u8>, Option<Matches>>>,
    /// Number of steps that all traces may still take.
    steps: Cell<usize>,
    /// The cached results of [`Self::linked`].
    linked: RefCell<FastMap<Followed, Rc<Linked>>>,
}

/// The paths of files, and for each set of the list, true if its values are followed to their links.
pub(super) type Followed = (Vec<PathBuf>, Vec<bool>);

/// The sets from which links get values before a fix adds names. The name of an added archive
/// changes nothing here, so archives that refer to each other are added to the same list.
#[derive(Default)]
pub(super) struct Linked {
    /// The links of each output. `None` if it is unknown which target makes the file.
    links: Vec<Option<Links>>,
    /// The values that unknown commands may link.
    open: Links,
}

impl Linked {
    pub(super) fn new(links: Vec<Option<Links>>, open: Links) -> Self {
        Self { links, open }
    }

    /// True if a link of the output with the index `at` gets values of `set`. False if it is
    /// unknown which target makes the file of this output.
    pub(super) fn output_has(&self, at: usize, set: &Set) -> bool {
        let links = self.links.get(at).and_then(Option::as_ref);
        links.is_some_and(|links| links.has(set))
    }

    /// True if a link gets values of `set`.
    pub(super) fn has(&self, set: &Set) -> bool {
        self.links.iter().flatten().any(|links| links.has(set))
    }

    /// True if a link gets values of `set`, or if an unknown command may link them.
    pub(super) fn may_have(&self, set: &Set) -> bool {
        self.has(set) || self.open.has(set)
    }
}

/// A budget of steps.
struct Steps(Cell<usize>);

/// The error if a comparison takes more steps than are left.
struct TooMany;

impl Steps {
    fn take(&self, steps: usize) -> Result<(), TooMany> {
        self.0.set(self.0.get().checked_sub(steps).ok_or(TooMany)?);
        Ok(())
    }
}

/// A line for each variable or target that refers to others: the variables of which it consists, in
/// the order of its values.
struct Lines {
    all: Vec<Vec<Vec<u8>>>,
    /// For each name, the lines that have it, each with the last position of the name in the line.
    places: FastMap<Vec<u8>, Vec<(usize, usize)>>,
}

impl Lines {
    fn new(all: Vec<Vec<Vec<u8>>>) -> Self {
        let mut places: FastMap<Vec<u8>, Vec<(usize, usize)>> = FastMap::default();
        for (number, line) in all.iter().enumerate() {
            for (at, name) in line.iter().enumerate() {
                let places = places.entry(name.clone()).or_default();
                match places.last_mut().filter(|(last, _)| *last == number) {
                    Some(place) => place.1 = at,
                    None => places.push((number, at)),
                }
            }
        }
        Self { all, places }
    }

    fn places(&self, name: &[u8]) -> &[(usize, usize)] {
        self.places.get(name).map_or(&[], Vec::as_slice)
    }

    /// The lines that have `name`.
    fn with(&self, name: &[u8]) -> impl Iterator<Item = &[Vec<u8>]> {
        self.places(name).iter().filter_map(|(line, _)| self.all.get(*line).map(Vec::as_slice))
    }

    /// True if the last `a` precedes the last `b` in the first line that has both names. `None` if
    /// no line has both. An error if the search takes more than `left` steps.
    fn precedes(&self, a: &[u8], b: &[u8], left: &Steps) -> Result<Option<bool>, TooMany> {
        let (a, b) = (self.places(a), self.places(b));
        left.take(a.len() + b.len() + 1)?;
        let (mut first, mut second) = (a.iter().peekable(), b.iter().peekable());
        while let (Some((line, at)), Some((other, place))) = (first.peek(), second.peek()) {
            match line.cmp(other) {
                Ordering::Less => first.next(),
                Ordering::Greater => second.next(),
                Ordering::Equal => return Ok(Some(at < place)),
            };
        }
        Ok(None)
    }
}

/// For each word, true if the expression matches it.
type Matches = FastMap<Vec<u8>, bool>;

impl LinkNeeds {
    /// The needs of the archives that the solutions add to `list`.
    pub(super) fn new(audit: &Audit, list: Option<&DepsList>, solutions: &[Arc<Solution>]) -> Self {
        let library = &audit.library;
        let mut files: BTreeMap<ArchiveId, BTreeSet<FileId>> = BTreeMap::new();
        for solution in solutions {
            for archive in solution.archives() {
                files.entry(archive).or_default().insert(solution.file);
            }
        }
        let names: BTreeSet<&[u8]> = list.map(|list| list.names().collect()).unwrap_or_default();
        let mut listed: BTreeMap<Vec<u8>, ArchiveId> = BTreeMap::new();
        for (archive, _) in library.entries() {
            if let Some(name) = listed_name(library, archive).filter(|name| names.contains(name)) {
                listed.entry(name.to_vec()).or_insert(archive);
            }
        }
        let is_needed = list.is_some() && !files.is_empty();
        let all = listed.values().chain(files.keys()).copied().filter(|_| is_needed);
        let references = link_order::between(library, &order::set(all));
        let (lines, used, matched) = (OnceLock::new(), OnceLock::new(), RefCell::default());
        let (in_directories, linked) = (RefCell::default(), RefCell::default());
        let steps = Cell::new(MOST_STEPS_OF_ALL);
        let compared = Steps(Cell::new(MOST_COMPARED));
        Self {
            files,
            references,
            listed,
            lines,
            compared,
            used,
            in_directories,
            matched,
            steps,
            linked,
        }
    }

    /// The files that need `archive`.
    pub(super) fn files(&self, archive: ArchiveId) -> impl Iterator<Item = FileId> {
        self.files.get(&archive).into_iter().flatten().copied()
    }

    /// The names by which lists may refer to the archives in `dir`.
    pub(super) fn in_directory(&self, library: &ArchiveSet, dir: &Path) -> Rc<FastSet<Vec<u8>>> {
        let find = || {
            let inside = library.entries().filter(|(_, entry)| entry.path.parent() == Some(dir));
            let names = inside.filter_map(|(archive, _)| listed_name(library, archive));
            Rc::new(names.map(<[u8]>::to_vec).collect())
        };
        let mut known = self.in_directories.borrow_mut();
        Rc::clone(known.entry_ref(dir).or_insert_with(find))
    }

    fn refers(&self, from: ArchiveId, to: ArchiveId) -> bool {
        self.references.get(&from).is_some_and(|references| references.contains(&to))
    }

    /// The names of listed archives that refer to `archive`, and of listed archives to which it
    /// refers, directly or through added archives. A name in both sets is removed from both.
    /// `is_placed` returns true for a name that the lists of this link already contain. If only
    /// lists of other links contain the name of an added archive, this archive has no position in
    /// this link and is left out.
    pub(super) fn neighbours(
        &self,
        archive: ArchiveId,
        is_placed: &dyn Fn(&[u8]) -> bool,
    ) -> Neighbours<'_> {
        let reached = |is_next: &dyn Fn(ArchiveId, ArchiveId) -> bool| {
            let (mut found, mut todo) = (BTreeSet::new(), vec![archive]);
            while let Some(here) = todo.pop() {
                for other in self.listed.values().chain(self.files.keys()) {
                    let is_new = is_next(here, *other) && found.insert(*other);
                    if is_new && self.files.contains_key(other) {
                        todo.push(*other);
                    }
                }
            }
            found
        };
        let before = reached(&|here, other| self.refers(other, here));
        let after = reached(&|here, other| self.refers(here, other));
        let names = |own: &BTreeSet<ArchiveId>, others: &BTreeSet<ArchiveId>| {
            let is = |archive: &ArchiveId| own.contains(archive) && !others.contains(archive);
            let has_place = |(name, archive): &(&Vec<u8>, &ArchiveId)| {
                is(archive) && (!self.files.contains_key(*archive) || is_placed(name))
            };
            order::set(self.listed.iter().filter(has_place).map(|(name, _)| &**name))
        };
        Neighbours { referrers: names(&before, &after), needed: names(&after, &before) }
    }

    /// For each variable or target of the list that refers to others, the variables of which it
    /// consists. `whole` is the list with all sets.
    fn lines(&self, whole: &DepsList) -> &Lines {
        self.lines.get_or_init(|| {
            let has_part = |set: &&Set| {
                let mut interfaces = set.entries.iter().map(|entry| whole.interface(entry));
                !set.references.is_empty() || interfaces.any(|found| found.is_some())
            };
            let users = whole.sets().iter().filter(has_part);
            let tops: BTreeSet<&[u8]> = order::set(users.map(|set| &*set.name));
            let mut left = MOST_IN_FILE;
            let line = |top| -> Vec<Vec<u8>> {
                sequence(whole, top, &mut left).into_iter().map(<[u8]>::to_vec).collect()
            };
            Lines::new(tops.into_iter().map(line).collect())
        })
    }

    /// For each command that makes no set, the variables of which its arguments consist. The
    /// command may link all of them.
    fn used(&self, whole: &DepsList) -> &[BTreeSet<Vec<u8>>] {
        self.used.get_or_init(|| {
            let (mut out, mut left) = (Vec::new(), MOST_USED);
            for used in order::set(whole.uses()).into_iter().take(MOST_USES) {
                let parts = whole.parts(used.iter().map(Vec::as_slice), false).all;
                let Some(rest) = left.checked_sub(parts.len()) else { break };
                left = rest;
                out.push(order::set(parts.into_iter().map(<[u8]>::to_vec)));
            }
            out
        })
    }

    /// The variables and targets of each link that may get the archives of `group`. Empty if
    /// `group` refers to no other variable, and no other command, variable or target uses it.
    pub(super) fn links<'l>(
        &'l self,
        whole: &'l DepsList,
        group: &[u8],
    ) -> Vec<BTreeSet<&'l [u8]>> {
        let lines = || self.lines(whole).with(group);
        // A variable that has `group` is treated as a link only if no target has `group`.
        let is_target = |line: &&[Vec<u8>]| line.first().is_some_and(|top| whole.is_target(top));
        let has_target = lines().any(|line| is_target(&line));
        let lines = lines().filter(|line| !has_target || is_target(line));
        let lines = lines.map(|line| order::set(line.iter().map(Vec::as_slice)));
        let uses = self.used(whole).iter().filter(|used| used.contains(group));
        let uses = uses.map(|used| order::set(used.iter().map(Vec::as_slice)));
        let mut links: Vec<BTreeSet<&[u8]>> =
            lines.take(MOST_LINKS).chain(uses.take(MOST_LINKS)).collect();
        links.arrange_by_key(|link| Reverse(link.len()));
        let mut out: Vec<BTreeSet<&[u8]>> = Vec::new();
        for link in links {
            // A link that is contained in a larger link is left out.
            if !out.iter().any(|whole| link.is_subset(whole)) {
                out.push(link);
            }
        }
        out
    }

    /// The sets from which links get values. Archives of the same files share the result of `follow`,
    /// which adds no name.
    pub(super) fn linked(&self, of: Followed, follow: impl FnOnce() -> Linked) -> Rc<Linked> {
        if let Some(known) = self.linked.borrow().get(&of) {
            return Rc::clone(known);
        }
        let linked = Rc::new(follow());
        self.linked.borrow_mut().insert(of, Rc::clone(&linked));
        linked
    }

    /// Follows a new name through the file to the links. The name joins the sets of `list` whose
    /// indices `joins` accepts. `whole` is the list with all sets.
    pub(super) fn trace<'l>(
        &self,
        (whole, list): (&'l DepsList, &DepsList),
        (name, joins): (&[u8], &Joins<'_>),
    ) -> Trace<'l> {
        let matches = |expression: &[u8], word: &[u8]| self.is_match(expression, word);
        let trace = whole.trace(list, (name, joins), &matches, self.steps.get().min(MOST_STEPS));
        self.steps.set(self.steps.get() - trace.steps);
        trace
    }

    /// True if a regular expression matches `word`. `None` if a comparison with this expression
    /// failed.
    fn is_match(&self, expression: &[u8], word: &[u8]) -> Option<bool> {
        let mut matched = self.matched.borrow_mut();
        let matches = matched.entry(expression.to_vec());
        let matches = matches.or_insert_with(|| Some(Matches::default()));
        let known = matches.as_mut()?;
        if let Some(is_match) = known.get(word) {
            return Some(*is_match);
        }
        // If one match takes too long, the expression is not tried on other words.
        let Some(is_match) = cmake::matches(expression, word) else {
            *matches = None;
            return None;
        };
        known.insert(word.to_vec(), is_match);
        Some(is_match)
    }

    /// True if an archive of `from` refers to an archive of `to`.
    fn any_refers(&self, from: &BTreeSet<&[u8]>, to: &BTreeSet<&[u8]>) -> bool {
        let archives = |names: &BTreeSet<&[u8]>| -> Vec<ArchiveId> {
            names.iter().filter_map(|name| self.listed.get(*name)).copied().collect()
        };
        let (from, to) = (archives(from), archives(to));
        from.iter().any(|from| to.iter().any(|to| self.refers(*from, *to)))
    }
}

/// The listed archives that a new archive must follow, and the listed archives that it must
/// precede.
#[derive(Default)]
pub(super) struct Neighbours<'n> {
    pub(super) referrers: BTreeSet<&'n [u8]>,
    pub(super) needed: BTreeSet<&'n [u8]>,
}

/// The variables and targets that make the file at `path`: those named after the file or its
/// soname, and the variables to which these refer. Empty if none is named after the file.
/// `is_target` limits the search to targets.
pub(super) fn of_file<'l>(
    list: &'l DepsList,
    (path, soname): (&Path, Option<&[u8]>),
    is_target: bool,
) -> BTreeSet<&'l [u8]> {
    let fits = |name: &&[u8]| is_named_like(list, name, (path, soname));
    let sets = list.sets().iter().filter(|set| !is_target || set.origin == SetCommand::Link);
    let names: BTreeSet<&[u8]> = order::set(sets.map(|set| &*set.name).filter(fits));
    list.parts(names.into_iter(), false).all
}

/// True if a variable or target has the name of the file at `path`, or its soname.
pub(super) fn is_named_like(
    list: &DepsList,
    name: &[u8],
    (path, soname): (&Path, Option<&[u8]>),
) -> bool {
    let file = path.file_name().map(OsStrExt::as_bytes);
    let mut stems = file.into_iter().chain(soname).flat_map(stems);
    stems.any(|stem| stem == name || list.outputs(name).any(|output| output == stem))
}

/// The names that a target may have if it makes the file: `m` for `libm.so.1`.
fn stems(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let cut = |end: Option<usize>| &file[..end.unwrap_or(file.len())];
    let all = [
        file,
        cut(memchr::memmem::find(file, b".so")),
        cut(file.strip_suffix(b".a").map(<[u8]>::len)),
        cut(memchr::memchr(b'.', file)),
    ];
    all.into_iter().flat_map(|name| [Some(name), name.strip_prefix(b"lib")]).flatten()
}

/// The variables and interface libraries of which a variable or target consists, in the order of
/// its values. A name appears again if more of its values follow another variable.
fn sequence<'l>(list: &'l DepsList, name: &'l [u8], in_file: &mut usize) -> Vec<&'l [u8]> {
    fn visit<'l>(
        list: &'l DepsList,
        name: &'l [u8],
        (path, out): (&mut FastSet<&'l [u8]>, &mut Vec<&'l [u8]>),
        left: &mut usize,
    ) {
        if *left == 0 || !path.insert(name) {
            return;
        }
        *left -= 1;
        let mut sets: Vec<&Set> = list.sets_of(name).collect();
        sets.arrange_by_key(|set| set.rank);
        for set in sets {
            out.push(name);
            let mut parts: Vec<(usize, &[u8])> =
                set.references.iter().map(|(before, part)| (*before, &**part)).collect();
            let entries = set.entries.iter().enumerate();
            let interfaces = entries.filter_map(|(at, e)| Some((at + 1, list.interface(e)?)));
            parts.extend(interfaces);
            parts.arrange_by_key(|(before, _)| *before);
            let is_last = parts.last().is_none_or(|(before, _)| *before == set.entries.len());
            for (_, part) in parts {
                visit(list, part, (&mut *path, &mut *out), left);
            }
            if !is_last {
                out.push(name);
            }
        }
        path.remove(name);
    }
    let most = MOST_VISITS.min(*in_file);
    let (mut out, mut left) = (Vec::new(), most);
    visit(list, name, (&mut FastSet::default(), &mut out), &mut left);
    *in_file -= most - left;
    out
}

/// The groups (variables and targets) in `among` in which a linker that reads each archive once
/// finds a new archive. A group is left out if it comes before a referrer of the new archive, or
/// after an archive that the new archive needs. If all groups are left out, the result has the
/// groups with a referrer, or else all of `among`. `whole` is the list with all sets, which may
/// refer to the groups in `among`. The flag is false if the comparison takes more than
/// `MOST_COMPARED` steps; the result then has all of `among`.
pub(super) fn in_link_order<'l>(
    (whole, list): (&DepsList, &'l DepsList),
    among: &BTreeSet<&'l [u8]>,
    needs: &LinkNeeds,
    neighbours: &Neighbours<'_>,
) -> (BTreeSet<&'l [u8]>, bool) {
    if among.len() < 2 {
        return (among.clone(), true);
    }
    let members: BTreeMap<&[u8], BTreeSet<&[u8]>> = order::map(
        among.iter().map(|group| (*group, list.sets_of(group).flat_map(Set::names).collect())),
    );
    let with = |names: &BTreeSet<&[u8]>| -> Vec<&'l [u8]> {
        let has = |group: &&&[u8]| members[**group].iter().any(|name| names.contains(*name));
        among.iter().filter(has).copied().collect()
    };
    let (before, after) = (with(&neighbours.referrers), with(&neighbours.needed));
    let lines = needs.lines(whole);
    let precedes = |a: &[u8], b: &[u8]| -> Result<bool, TooMany> {
        if let Some(is_before) = lines.precedes(a, b, &needs.compared)? {
            return Ok(is_before);
        }
        let (a, b) = (&members[a], &members[b]);
        needs.compared.take(a.len() * b.len())?;
        Ok(needs.any_refers(a, b) && !needs.any_refers(b, a))
    };
    let fits = |group: &[u8]| -> Result<bool, TooMany> {
        for other in before.iter().filter(|other| **other != group) {
            if precedes(group, other)? {
                return Ok(false);
            }
        }
        for other in after.iter().filter(|other| **other != group) {
            if precedes(other, group)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let mut out: BTreeSet<&[u8]> = BTreeSet::new();
    for group in among {
        match fits(group) {
            Err(TooMany) => return (among.clone(), false),
            Ok(true) => {
                out.insert(*group);
            }
            Ok(false) => {}
        }
    }
    match (out.is_empty(), before.is_empty()) {
        (false, _) => (out, true),
        (true, false) => (order::set(before), true),
        (true, true) => (among.clone(), true),
    }
}

/// The variable or target of `among` that names the most candidate archives. If several name
/// equally many, the first.
pub(super) fn largest<'l>(list: &'l DepsList, among: &BTreeSet<&[u8]>) -> Option<&'l [u8]> {
    let mut counts: BTreeMap<&[u8], (usize, Reverse<usize>)> = BTreeMap::new();
    let sets = list.sets().iter().enumerate();
    for (at, set) in sets.filter(|(_, set)| among.contains(&*set.name)) {
        counts.entry(&set.name).or_insert((0, Reverse(at))).0 += set.known();
    }
    counts.into_iter().max_by_key(|(_, rank)| *rank).map(|(name, _)| name)
}

/// The variable or target of `among` with more than half of its candidate archives in `dir`. If
/// there are several, the one with the most archives in `dir` wins, then the one with the largest
/// share.
pub(super) fn fullest<'l>(
    (audit, needs): (&Audit, &LinkNeeds),
    list: &'l DepsList,
    dir: &Path,
    among: &BTreeSet<&[u8]>,
) -> Option<&'l [u8]> {
    let here = needs.in_directory(&audit.library, dir);
    let mut counts: BTreeMap<&[u8], (usize, usize, usize)> = BTreeMap::new();
    let sets = list.sets().iter().enumerate();
    for (at, set) in sets.filter(|(_, set)| among.contains(&*set.name)) {
        let count = counts.entry(&set.name).or_insert((0, 0, at));
        count.0 += set.names().filter(|name| here.contains(*name)).count();
        count.1 += set.known();
    }
    let fitting = counts.into_iter().filter(|(_, (here, all, _))| 2 * here > *all);
    let best = fitting.max_by(|(_, (here_a, all_a, a)), (_, (here_b, all_b, b))| {
        here_a.cmp(here_b).then((here_a * all_b).cmp(&(here_b * all_a))).then(b.cmp(a))
    });
    best.map(|(name, _)| name)
}
