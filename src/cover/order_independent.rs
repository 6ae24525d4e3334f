//! Answers a question independently of link order. The provider of a name is the first of these:
//! - a relocatable root
//! - a library that is loaded together with a root
//! - an archive that is linked in any case
//! - the linker or a linked root
//! - a candidate
//!
//! Among archives of one kind, the first of these wins:
//! - a member that is already needed
//! - an archive that is already needed
//! - the archive whose directory is nearest to the directory of the referring archive
//! - the archive with the first path
//!
//! Weak definitions are treated like strong ones: lld and GNU ld take the first definition. Names
//! with one possible provider are followed first, so that "already needed" does not depend on the
//! order of references.

use super::{
    Coverage, CoverageQuestion, ENTRY, Link, MemberDefinition, NeededMember, ReferredBy, Tie,
    UndefinedName,
};
use crate::format::archive::SymbolKind;
use crate::format::elf::Target;
use crate::id::{ArchiveId, FastMap, FastSet, Id as _, MemberId, NameId};
use crate::order::Arrange as _;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// Finds the members that the roots of a question need, independently of link order.
pub fn cover(question: &CoverageQuestion<'_>) -> Coverage {
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

/// The precedence of an archive in a question; `Out` archives are not searched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Linked,
    Candidate,
    Out,
}

struct Run<'q> {
    question: &'q CoverageQuestion<'q>,
    target: Option<Target>,
    /// By archive: its precedence.
    tiers: Vec<Tier>,
    used: Vec<bool>,
    /// True if an archive that is linked in any case has a member.
    has_linked: bool,
    /// By member: true if it is needed.
    taken: Vec<bool>,
    /// By name: true if a needed member is known to have one of the best definitions. The
    /// definitions of such a name, of which there may be thousands, are not searched again.
    met: Vec<bool>,
    /// By name: true if the name was queued.
    asked: Vec<bool>,
    /// By name: true if an object restricts its visibility, so that no shared object satisfies it.
    hidden: Vec<bool>,
    /// The symbol at which a program starts ([`ENTRY`]). Candidate archives do not provide it,
    /// unless the question requests it.
    start: Option<NameId>,
    /// Names that relocatable roots define.
    own: FastSet<&'q [u8]>,
    /// Names to follow, each with a referrer. A name returns to the queue if its visibility becomes
    /// restricted.
    queue: VecDeque<(NameId, ReferredBy)>,
    /// The last result of [`Self::find_best`].
    best: Vec<MemberDefinition>,
    /// Names with several possible providers, keyed by their text.
    open: BTreeMap<&'q [u8], (NameId, ReferredBy)>,
    undefined: FastSet<&'q [u8]>,
    out: Coverage,
}

impl<'q> Run<'q> {
    fn new(question: &'q CoverageQuestion<'q>) -> Self {
        let library = question.library;
        let archives = library.entries().count();
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
            has_linked: question.archives.iter().any(|archive| library.has_members(*archive)),
            taken: vec![false; library.members()],
            met: vec![false; library.names()],
            asked: vec![false; library.names()],
            hidden: vec![false; library.names()],
            start: library.find(ENTRY),
            own: defined(question),
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
            self.out.needed.push(NeededMember {
                member,
                symbol: Box::default(),
                by: ReferredBy::Asked,
                holder: member,
            });
        }
        for name in question.symbols {
            self.ask(name, ReferredBy::Asked);
        }
        for (at, root) in question.roots.iter().enumerate() {
            for name in root.hidden.iter().filter_map(|name| question.library.find(name)) {
                self.hide(name, ReferredBy::Root(at));
            }
            for (name, kind) in &root.symbols {
                if *kind == SymbolKind::Undefined {
                    self.ask(name, ReferredBy::Root(at));
                }
            }
        }
    }

    /// Queues a name, given by its text, so that its definition is looked up. A name that no member
    /// mentions has no id: it is undefined unless something outside of the archives defines it.
    fn ask(&mut self, name: &'q [u8], by: ReferredBy) {
        match self.question.library.find(name) {
            Some(id) => self.enqueue(id, by),
            None if self.own.contains(name) || self.question.is_linker_defined(name) => {}
            None if !self.is_hidden_by_root(name) && self.question.is_shared(name) => {}
            None => {
                self.undefined.insert(name);
            }
        }
    }

    fn enqueue(&mut self, name: NameId, by: ReferredBy) {
        let is_new = !std::mem::replace(&mut self.asked[name.index()], true);
        if is_new && !self.met[name.index()] {
            self.queue.push_back((name, by));
        }
    }

    /// Restricts the visibility of a name. If a shared object satisfied the name before, the name
    /// needs another definition. The name is therefore followed again.
    fn hide(&mut self, name: NameId, by: ReferredBy) {
        let new = !std::mem::replace(&mut self.hidden[name.index()], true);
        if new && self.asked[name.index()] {
            self.queue.push_back((name, by));
        }
    }

    fn is_hidden_by_root(&self, name: &[u8]) -> bool {
        let mut roots = self.question.roots.iter();
        roots.any(|root| root.hidden.binary_search_by(|known| (**known).cmp(name)).is_ok())
    }

    /// Of the definitions of a name, puts those with the highest precedence ([`Tier`]) into
    /// `best`. Members that do not link with the target are ignored.
    fn find_best(&mut self, name: NameId) {
        let library = self.question.library;
        let mut best: Option<Tier> = None;
        self.best.clear();
        // The compiler's start files define the start symbol of a program. A candidate archive of
        // another program may define this symbol too, but must not provide it.
        let is_start = Some(name) == self.start && !self.question.requests(ENTRY);
        for definition in library.definitions(name) {
            let tier = self.tiers[library.archive_of(definition.member).index()];
            let is_out = tier == Tier::Out || is_start && tier == Tier::Candidate;
            if is_out || best.is_some_and(|best| tier > best) {
                continue;
            }
            let target = library.member(definition.member).target;
            if !self.target.is_none_or(|t| target.is_none_or(|other| t.is_linkable(other))) {
                continue;
            }
            if best.is_none_or(|best| tier < best) {
                best = Some(tier);
                self.best.clear();
            }
            self.best.push(definition);
        }
    }

    /// True if one of the best definitions is in a member that is already needed.
    fn is_taken(&self) -> bool {
        self.best.iter().any(|found| self.taken[found.member.index()])
    }

    fn follow(&mut self, name: NameId, by: ReferredBy) {
        if self.met[name.index()] {
            return;
        }
        self.find_best(name);
        // A needed member defines the name, so no other provider is searched for.
        if self.is_taken() {
            return;
        }
        let (library, question) = (self.question.library, self.question);
        let text = library.text(name);
        let hidden = self.hidden[name.index()];
        if self.own.contains(text) || !hidden && (question.provided)(text) {
            return;
        }
        // The archives that are linked in any case precede linker-defined symbols, the exports of a
        // library that was linked from these archives, and candidates.
        let first = self.best.first().map(|found| library.archive_of(found.member).index());
        let is_linked = first.is_some_and(|archive| self.tiers[archive] == Tier::Linked);
        let is_elsewhere = || {
            question.is_linker_defined(text)
                || !hidden && question.is_exported(text, &FastSet::default())
        };
        if !is_linked && is_elsewhere() {
            return;
        }
        match *self.best.as_slice() {
            [] => {
                self.undefined.insert(text);
            }
            [only] => self.take(only.member, name, by),
            _ => {
                self.open.insert(text, (name, by));
            }
        }
    }

    /// Chooses among several providers of a name. This happens only when the queue is empty.
    fn choose(&mut self, name: NameId, by: ReferredBy) {
        let library = self.question.library;
        if self.met[name.index()] {
            return;
        }
        self.find_best(name);
        if self.is_taken() {
            return;
        }
        let near = self.near(by);
        let rank = |found: &MemberDefinition| {
            let archive = library.archive_of(found.member);
            let path = &library.entry(archive).path;
            let distance = near.map_or(0, |near| distance(near, path));
            let is_used = self.used[archive.index()];
            (!is_used, distance, path.as_os_str(), library.member(found.member).offset)
        };
        let Some(chosen) = self.best.iter().min_by_key(|found| rank(found)).copied() else {
            return;
        };
        let taken = library.archive_of(chosen.member);
        let mut others: Vec<ArchiveId> =
            self.best.iter().map(|found| library.archive_of(found.member)).collect();
        others.retain(|archive| *archive != taken);
        others.arrange_by_key(|archive| library.entry(*archive).path.as_os_str());
        others.dedup();
        if !others.is_empty() {
            self.out.ties.push(Tie { symbol: library.text(name).into(), taken, others });
        }
        self.take(chosen.member, name, by);
    }

    /// The path to which a provider should be near: the archive of the referrer, or else the first
    /// archive that is linked in any case. `None` if neither exists.
    fn near(&self, by: ReferredBy) -> Option<&'q Path> {
        let library = self.question.library;
        let of_member = by.member().map(|member| library.archive_of(member));
        let archive = of_member.or_else(|| self.question.archives.first().copied())?;
        Some(&library.entry(archive).path)
    }

    fn take(&mut self, member: MemberId, name: NameId, by: ReferredBy) {
        let symbol = self.question.library.text(name).into();
        self.out.needed.push(NeededMember { member, symbol, by, holder: member });
        self.enter(member);
    }

    /// True if all definitions of a member are known to be among the best definitions of their
    /// names, without a search for other definitions.
    fn is_best(&self, member: MemberId) -> bool {
        let library = self.question.library;
        let target = library.member(member).target;
        let links = self.target.is_none_or(|t| target.is_none_or(|other| t.is_linkable(other)));
        let is_first = match self.tiers[library.archive_of(member).index()] {
            Tier::Linked => true,
            Tier::Candidate => !self.has_linked,
            Tier::Out => false,
        };
        links && is_first
    }

    /// Takes a member and queues its references.
    fn enter(&mut self, member: MemberId) {
        let library = self.question.library;
        self.taken[member.index()] = true;
        self.used[library.archive_of(member).index()] = true;
        if library.member(member).is_unknown() {
            self.out.opaque.push(member);
        }
        let is_best = self.is_best(member);
        for (name, symbol) in library.symbols(member) {
            if is_best && symbol.kind.is_definition() && Some(name) != self.start {
                self.met[name.index()] = true;
            }
            if symbol.is_restricted() {
                self.hide(name, ReferredBy::Member(member));
            }
            if symbol.kind == SymbolKind::Undefined {
                self.enqueue(name, ReferredBy::Member(member));
            }
        }
    }

    fn finish(mut self) -> Coverage {
        self.out.needed.arrange_by_key(|needed| needed.member);
        self.out.opaque.sort_unstable();
        self.out.order = self.out.needed.iter().map(|needed| needed.member).collect();
        self.out.ties.arrange_by(|a, b| a.symbol.cmp(&b.symbol));
        let needed = self.out.needed.iter().map(|needed| needed.member);
        self.out.undefined =
            referrers(self.question, &References::default(), needed, &self.undefined);
        self.out
    }
}

/// Number of steps between the directories of two files.
fn distance(a: &Path, b: &Path) -> usize {
    let dirs = |file: &Path| file.parent().map_or(0, |dir| dir.components().count());
    let parents = a.parent().zip(b.parent());
    let common = parents
        .map_or(0, |(a, b)| a.components().zip(b.components()).take_while(|(a, b)| a == b).count());
    dirs(a) + dirs(b) - 2 * common
}

/// Names that relocatable roots define.
fn defined<'q>(question: &'q CoverageQuestion<'q>) -> FastSet<&'q [u8]> {
    let roots = question.roots.iter().filter(|root| !root.linked);
    let symbols = roots.flat_map(|root| &root.symbols);
    symbols.filter(|(_, kind)| kind.is_definition()).map(|(name, _)| &**name).collect()
}

/// Decides which references need a definition, and to which name each reference goes.
#[derive(Default)]
pub(super) struct References<'a> {
    /// The link, whose options may redirect references.
    pub(super) link: Option<&'a Link>,
    /// Names that need a definition even if all references to them are weak.
    pub(super) strong: FastSet<&'a [u8]>,
    /// True if a common symbol is treated as a reference to its name. mold may choose a shared
    /// object's definition of the name, but the visibility of the common symbol may forbid that.
    pub(super) common: bool,
}

impl<'a> References<'a> {
    /// The name to which the link's options redirect a reference.
    fn meant(&'a self, name: &'a [u8]) -> &'a [u8] {
        self.link.map_or(name, |link| link.reference(name))
    }

    fn count(&'a self, kind: SymbolKind, name: &'a [u8]) -> bool {
        let weak = || kind == SymbolKind::WeakUndefined && self.strong.contains(self.meant(name));
        match kind {
            SymbolKind::Common => self.common,
            kind => kind == SymbolKind::Undefined || weak(),
        }
    }
}

/// The state of a name to which members refer.
#[derive(Clone, Copy)]
enum Place {
    Unknown,
    Defined,
    /// The name is undefined; the value is its index in the result.
    Undefined(usize),
}

/// The referrers of each name in `undefined`: options, roots and needed members. Sorted by name.
pub(super) fn referrers(
    question: &CoverageQuestion<'_>,
    references: &References<'_>,
    needed: impl Iterator<Item = MemberId>,
    undefined: &FastSet<&[u8]>,
) -> Vec<UndefinedName> {
    let mut names: Vec<&[u8]> = undefined.iter().copied().collect();
    names.sort_unstable();
    let places: FastMap<&[u8], usize> = names.iter().enumerate().map(|(at, n)| (*n, at)).collect();
    let mut by: Vec<Vec<ReferredBy>> = vec![Vec::new(); names.len()];
    let expressions = references.link.into_iter().flat_map(Link::expressions);
    let versioned = references.link.into_iter().flat_map(|link| &link.versioned);
    let asked = question.symbols.iter().map(|name| references.meant(name)).chain(expressions);
    let asked = asked.chain(versioned.map(|of| &*of.name));
    let asked = asked.map(|name| (name, ReferredBy::Asked));
    let roots = question.roots.iter().enumerate();
    let of_roots = roots.filter(|(_, root)| !root.linked || !root.input).flat_map(|(at, root)| {
        let counted = root.symbols.iter().filter(|(name, kind)| references.count(*kind, name));
        counted.map(move |(name, _)| (references.meant(name), ReferredBy::Root(at)))
    });
    let checks = |link: &&Link| !link.allow_shlib_undefined;
    let of_shared = references.link.into_iter().filter(checks);
    let of_shared = of_shared.flat_map(|link| &link.shared_references);
    let of_shared = of_shared.map(|(name, at)| (&**name, ReferredBy::Root(*at)));
    for (name, who) in asked.chain(of_roots).chain(of_shared) {
        if let Some(at) = places.get(name) {
            by[*at].push(who);
        }
    }
    if !names.is_empty() {
        let library = question.library;
        // Many members refer to the same names, so each name is looked up once.
        let mut known = vec![Place::Unknown; library.names()];
        for member in needed {
            for (id, symbol) in library.symbols(member) {
                let is_common = symbol.kind == SymbolKind::Common && references.common;
                if symbol.kind.is_definition() && !is_common {
                    continue;
                }
                let name = library.text(id);
                let place = &mut known[id.index()];
                if matches!(place, Place::Unknown) {
                    let found = places.get(references.meant(name));
                    *place = found.map_or(Place::Defined, |at| Place::Undefined(*at));
                }
                if let Place::Undefined(at) = *place
                    && references.count(symbol.kind, name)
                {
                    by[at].push(ReferredBy::Member(member));
                }
            }
        }
    }
    names
        .into_iter()
        .zip(by)
        .map(|(symbol, mut by)| {
            by.dedup();
            UndefinedName { symbol: symbol.into(), by, unread: 0 }
        })
        .collect()
}
