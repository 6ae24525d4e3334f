//! The answer that the order of archives does not change. Each name that somebody refers to has one
//! provider: an object that asks, then the archives that are linked anyway, then the candidates; in
//! each of these a strong definition before any other, then a member and an archive that are needed
//! already, then the order of paths. Names with one provider are followed first, so that what is
//! "needed already" does not depend on who asked when.

use super::{By, Coverage, Definition, Needed, Question, Tie, Undefined, is_made};
use crate::format::archive::SymbolKind;
use crate::format::elf::Target;
use crate::id::{ArchiveId, FastSet, Id as _, MemberId, NameId};
use std::cell::OnceCell;
use std::collections::{BTreeMap, VecDeque};

/// Answers a question.
pub fn cover(question: &Question<'_>) -> Coverage {
    let mut run = Run::new(question);
    run.ask_roots();
    loop {
        while let Some((name, by)) = run.queue.pop_front() {
            run.follow(name, by);
        }
        let Some((_, (name, by))) = run.open.pop_first() else { break };
        run.choose(name, by);
    }
    run.finish()
}

/// Whether an archive takes part, and how early it is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Linked,
    Candidate,
    Out,
}

struct Run<'q> {
    question: &'q Question<'q>,
    target: Option<Target>,
    /// By archive.
    tiers: Vec<Tier>,
    used: Vec<bool>,
    /// By member.
    taken: Vec<bool>,
    /// By name.
    asked: Vec<bool>,
    /// What relocatable roots define.
    own: FastSet<&'q [u8]>,
    /// What linked roots define, once somebody asks: there may be a hundred thousand names, and what
    /// archives and libraries define is not looked for there.
    exported: OnceCell<FastSet<&'q [u8]>>,
    /// Names that somebody asked for first, and who; each is in it once.
    queue: VecDeque<(NameId, By)>,
    /// What [`Self::find_best`] found last.
    best: Vec<Definition>,
    /// Names with several providers, by their text.
    open: BTreeMap<&'q [u8], (NameId, By)>,
    undefined: FastSet<&'q [u8]>,
    out: Coverage,
}

impl<'q> Run<'q> {
    fn new(question: &'q Question<'q>) -> Self {
        let library = question.library;
        let archives = library.shelves().count();
        let mut tiers = vec![Tier::Out; archives];
        for archive in question.candidates {
            tiers[archive.index()] = Tier::Candidate;
        }
        for archive in question.archives {
            tiers[archive.index()] = Tier::Linked;
        }
        Self {
            question,
            target: question.target(),
            tiers,
            used: vec![false; archives],
            taken: vec![false; library.members()],
            asked: vec![false; library.names()],
            own: defined(question),
            exported: OnceCell::new(),
            queue: VecDeque::new(),
            best: Vec::new(),
            open: BTreeMap::new(),
            undefined: FastSet::default(),
            out: Coverage::default(),
        }
    }

    fn ask_roots(&mut self) {
        let question = self.question;
        let all = question.archives.iter().filter(|_| question.all_members);
        for member in all.flat_map(|archive| question.library.members_of(*archive)) {
            self.enter(member);
            self.out.needed.push(Needed {
                member,
                symbol: Box::default(),
                by: By::Asked,
                holder: member,
            });
        }
        for name in question.symbols {
            self.ask(name, By::Asked);
        }
        for (at, root) in question.roots.iter().enumerate() {
            for (name, kind) in &root.symbols {
                if *kind == SymbolKind::Undefined {
                    self.ask(name, By::Root(at));
                }
            }
        }
    }

    /// A name that no member may know.
    fn ask(&mut self, name: &'q [u8], by: By) {
        match self.question.library.find(name) {
            Some(id) => self.enqueue(id, by),
            None if self.is_met(name) || self.exports(name) => {}
            None => {
                self.undefined.insert(name);
            }
        }
    }

    fn enqueue(&mut self, name: NameId, by: By) {
        if !std::mem::replace(&mut self.asked[name.index()], true) {
            self.queue.push_back((name, by));
        }
    }

    /// True if a linked root defines `name`.
    fn exports(&self, name: &[u8]) -> bool {
        self.exported
            .get_or_init(|| {
                let linked = self.question.roots.iter().enumerate().filter(|(_, root)| root.linked);
                linked.flat_map(|(at, _)| self.question.exports(at)).collect()
            })
            .contains(name)
    }

    /// True if no archive is searched for `name`.
    fn is_met(&self, name: &[u8]) -> bool {
        self.own.contains(name) || is_made(name) || (self.question.provided)(name)
    }

    /// Puts the best definitions of a name into `best`.
    fn find_best(&mut self, name: NameId) {
        let library = self.question.library;
        let mut best: Option<(Tier, bool)> = None;
        self.best.clear();
        for definition in library.definitions(name) {
            let tier = self.tiers[library.archive_of(definition.member).index()];
            let rank = (tier, definition.kind != SymbolKind::Strong);
            if tier == Tier::Out || best.is_some_and(|best| rank > best) {
                continue;
            }
            let target = library.member(definition.member).target;
            if !self.target.is_none_or(|t| target.is_none_or(|other| t.links_with(other))) {
                continue;
            }
            if best.is_none_or(|best| rank < best) {
                best = Some(rank);
                self.best.clear();
            }
            self.best.push(definition);
        }
    }

    /// True if one of the best definitions is in a member that is needed anyway.
    fn is_taken(&self) -> bool {
        self.best.iter().any(|found| self.taken[found.member.index()])
    }

    fn follow(&mut self, name: NameId, by: By) {
        self.find_best(name);
        // Whoever else may define it: it is defined.
        if self.is_taken() {
            return;
        }
        let text = self.question.library.text(name);
        if self.is_met(text) {
            return;
        }
        match *self.best.as_slice() {
            [] if self.exports(text) => {}
            [] => {
                self.undefined.insert(text);
            }
            [only] => self.take(only.member, name, by),
            _ => {
                self.open.insert(text, (name, by));
            }
        }
    }

    /// Nothing but choices is left: the first by name is made.
    fn choose(&mut self, name: NameId, by: By) {
        let library = self.question.library;
        self.find_best(name);
        if self.is_taken() {
            return;
        }
        let rank = |found: &Definition| {
            let archive = library.archive_of(found.member);
            let path = library.shelf(archive).path.as_os_str();
            (!self.used[archive.index()], path, library.member(found.member).offset)
        };
        let Some(chosen) = self.best.iter().min_by_key(|found| rank(found)).copied() else {
            return;
        };
        let taken = library.archive_of(chosen.member);
        let mut others: Vec<ArchiveId> =
            self.best.iter().map(|found| library.archive_of(found.member)).collect();
        others.retain(|archive| *archive != taken);
        others.sort_unstable_by_key(|archive| library.shelf(*archive).path.as_os_str());
        others.dedup();
        if !others.is_empty() {
            self.out.ties.push(Tie { symbol: library.text(name).into(), taken, others });
        }
        self.take(chosen.member, name, by);
    }

    fn take(&mut self, member: MemberId, name: NameId, by: By) {
        let symbol = self.question.library.text(name).into();
        self.out.needed.push(Needed { member, symbol, by, holder: member });
        self.enter(member);
    }

    /// Follows what a member refers to.
    fn enter(&mut self, member: MemberId) {
        let library = self.question.library;
        self.taken[member.index()] = true;
        self.used[library.archive_of(member).index()] = true;
        if library.member(member).is_opaque() {
            self.out.opaque.push(member);
        }
        for (name, symbol) in library.symbols(member) {
            if symbol.kind == SymbolKind::Undefined {
                self.enqueue(name, By::Member(member));
            }
        }
    }

    fn finish(mut self) -> Coverage {
        self.out.needed.sort_unstable_by_key(|needed| needed.member);
        self.out.opaque.sort_unstable();
        self.out.ties.sort_unstable_by(|a, b| a.symbol.cmp(&b.symbol));
        let needed = self.out.needed.iter().map(|needed| needed.member);
        self.out.undefined = referrers(self.question, needed, &self.undefined);
        self.out
    }
}

/// What roots define that are not linked.
fn defined<'q>(question: &'q Question<'q>) -> FastSet<&'q [u8]> {
    let roots = question.roots.iter().filter(|root| !root.linked);
    let symbols = roots.flat_map(|root| &root.symbols);
    symbols.filter(|(_, kind)| kind.is_definition()).map(|(name, _)| &**name).collect()
}

/// Who refers to each of `undefined`, among roots and needed members; sorted by name.
pub(super) fn referrers(
    question: &Question<'_>,
    needed: impl Iterator<Item = MemberId>,
    undefined: &FastSet<&[u8]>,
) -> Vec<Undefined> {
    let mut by: BTreeMap<&[u8], Vec<By>> = BTreeMap::new();
    let mut names: Vec<&&[u8]> = undefined.iter().collect();
    names.sort_unstable();
    for name in names {
        by.insert(name, Vec::new());
    }
    let asked = question.symbols.iter().map(|name| (&**name, By::Asked));
    let of_root = |(at, root): (usize, &'_ super::Root)| -> Vec<(Box<[u8]>, By)> {
        let strong = root.symbols.iter().filter(|(_, kind)| *kind == SymbolKind::Undefined);
        strong.map(|(name, _)| (name.clone(), By::Root(at))).collect()
    };
    for (name, who) in asked {
        if let Some(list) = by.get_mut(name) {
            list.push(who);
        }
    }
    for (name, who) in question.roots.iter().enumerate().flat_map(of_root) {
        if let Some(list) = by.get_mut(&*name) {
            list.push(who);
        }
    }
    if !by.is_empty() {
        for member in needed {
            for (name, symbol) in question.library.symbols(member) {
                if symbol.kind == SymbolKind::Undefined
                    && let Some(list) = by.get_mut(question.library.text(name))
                {
                    list.push(By::Member(member));
                }
            }
        }
    }
    by.into_iter()
        .map(|(symbol, mut by)| {
            by.dedup();
            Undefined { symbol: symbol.into(), by }
        })
        .collect()
}
