//! mold ranks all definitions of a name. Definitions of objects come before those of members and
//! shared objects, and common symbols come last. The position of the file decides between equal
//! ranks (`get_rank` in `elf/input-files.cc` of mold 1.10). Then mold marks the files that define
//! names to which objects refer, and so on from each marked file. It drops the unmarked members,
//! and the unmarked shared objects of `--as-needed`.

use super::{ChosenDefinition, Resolved, repeated};
use crate::cover::{Coverage, CoverageQuestion, Link, LinkInput, NeededMember, ReferredBy};
use crate::format::archive::{MemberSymbol, SymbolKind};
use crate::format::elf::Target;
use crate::id::{FastMap, FastSet, Id as _, MemberId};
use std::collections::VecDeque;

pub(super) fn link<'q>(
    question: &'q CoverageQuestion<'q>,
    link: &'q Link,
    versioned: &'q [&'q [u8]],
) -> Resolved<'q> {
    let mut run = Run {
        question,
        link,
        versioned,
        target: question.target(),
        best: FastMap::default(),
        places: Vec::new(),
        taken: vec![false; question.library.members()],
        repeated: repeated(question, link),
        forgotten: shared_as_needed(question, link),
        queue: VecDeque::new(),
        out: Coverage::default(),
    };
    run.rank();
    run.mark();
    let Resolved { found, may_stay, strong, unclaimed, .. } = run.settle();
    let (coverage, mut forgotten) = (run.out, run.forgotten);
    forgotten.extend(run.repeated);
    let of_names = Resolved { found, strong, may_stay, unclaimed, ..Resolved::default() };
    Resolved { coverage, forgotten, ..of_names }
}

/// The shared objects of `--as-needed`, as indices of roots.
fn shared_as_needed(question: &CoverageQuestion<'_>, link: &Link) -> FastSet<usize> {
    let roots = link.as_needed.iter().copied();
    roots.filter(|at| question.roots[*at].linked).collect()
}

/// The kind of file that has the best definition of a name.
#[derive(Clone, Copy)]
enum Holder {
    /// An object that is linked in any case, or an option.
    Object,
    /// A shared object, by its index among the roots.
    Shared(usize),
    Member(MemberId),
}

/// A file of the link.
#[derive(Clone, Copy)]
enum Holds {
    Root(usize),
    Member(MemberId),
}

/// The best definition of a name: the one with the lowest rank.
#[derive(Clone, Copy)]
struct Best {
    rank: (u8, usize),
    common: bool,
    holder: Holder,
}

struct Run<'q> {
    question: &'q CoverageQuestion<'q>,
    link: &'q Link,
    /// Names of the form `NAME@VERSION` to which the link refers.
    versioned: &'q [&'q [u8]],
    target: Option<Target>,
    best: FastMap<&'q [u8], Best>,
    /// Roots and members, each with its position in the link.
    places: Vec<(usize, Holds)>,
    taken: Vec<bool>,
    /// Shared objects with the DT_NEEDED name of an earlier shared object.
    repeated: FastSet<usize>,
    /// Shared objects of `--as-needed` to which no marked file refers.
    forgotten: FastSet<usize>,
    /// Marked files whose references were not followed yet.
    queue: VecDeque<Holds>,
    out: Coverage,
}

impl<'q> Run<'q> {
    /// Ranks the definitions of all files.
    fn rank(&mut self) {
        let (question, link) = (self.question, self.link);
        for defined in &link.defined {
            self.enter(&defined.name, (0, 0), false, Holder::Object);
        }
        let mut place = 1;
        for input in &link.inputs {
            match input {
                LinkInput::Root(at) if self.repeated.contains(at) => {}
                LinkInput::Root(at) => self.rank_root(*at, place),
                LinkInput::Archive(archive) | LinkInput::Whole(archive) => {
                    let whole = matches!(input, LinkInput::Whole(_));
                    for member in question.library.members_of(*archive) {
                        place += 1;
                        self.rank_member(member, place, whole);
                    }
                }
                LinkInput::Define(_)
                | LinkInput::Request(_)
                | LinkInput::StartGroup
                | LinkInput::EndGroup => {}
            }
            place += 1;
        }
    }

    fn rank_root(&mut self, at: usize, place: usize) {
        let question = self.question;
        self.places.push((place, Holds::Root(at)));
        for (name, kind) in question.roots[at].symbols.iter().filter(|(_, k)| defines(*k)) {
            self.enter(name, (rank(*kind, false), place), is_common(*kind), Holder::Object);
        }
        self.enter_exports(at, place);
    }

    /// Enters the definitions of a linked file. A definition with a default version is entered only
    /// under its plain name (`SharedFile<E>::parse`).
    fn enter_exports(&mut self, at: usize, place: usize) {
        let question = self.question;
        let is_shared = question.is_shared_input(at);
        let holder = if is_shared { Holder::Shared(at) } else { Holder::Object };
        for export in question.exports(at, self.versioned) {
            if !(export.is_default && export.unversioned().is_some()) {
                let rank = rank(export.symbol_kind(), is_shared);
                self.enter(export.name, (rank, place), false, holder);
            }
        }
    }

    fn rank_member(&mut self, member: MemberId, place: usize, whole: bool) {
        if self.taken[member.index()] || !self.fits(member) {
            return;
        }
        let library = self.question.library;
        self.places.push((place, Holds::Member(member)));
        if whole {
            self.take(member, ReferredBy::Asked, b"");
        }
        for (name, symbol) in library.symbols(member).filter(|(_, s)| defines(s.kind)) {
            let rank = (rank(symbol.kind, !whole), place);
            let holder = if whole { Holder::Object } else { Holder::Member(member) };
            self.enter(library.text(name), rank, is_common(symbol.kind), holder);
        }
    }

    /// False if mold skips the member: it is for another machine, or a thin archive names it by its
    /// position in another archive.
    fn fits(&self, member: MemberId) -> bool {
        let member = self.question.library.member(member);
        let fits = self.target.is_none_or(|t| member.target.is_none_or(|own| t.is_linkable(own)));
        fits && !member.in_other_archive
    }

    fn enter(&mut self, name: &'q [u8], rank: (u8, usize), common: bool, holder: Holder) {
        let new = Best { rank, common, holder };
        let best = self.best.entry(name).or_insert(new);
        if new.rank < best.rank {
            *best = new;
        }
    }

    /// Marks the files that define names to which options and roots refer, and so on from each
    /// marked file.
    fn mark(&mut self) {
        let (question, link) = (self.question, self.link);
        let asked = question.symbols.iter().chain(&link.undefined).map(|name| &**name);
        for name in asked.chain(link.expressions()) {
            self.follow(name, ReferredBy::Asked);
        }
        self.follow(link.entry(), ReferredBy::EntryPoint);
        let is_as_needed = |at: &usize| link.as_needed.contains(at) && question.roots[*at].linked;
        for at in (0..question.roots.len()).filter(|at| !is_as_needed(at)) {
            if !self.repeated.contains(&at) {
                self.references(Holds::Root(at));
            }
        }
        while let Some(file) = self.queue.pop_front() {
            self.references(file);
        }
    }

    /// Marks the files that define names to which a marked file refers.
    fn references(&mut self, file: Holds) {
        let question = self.question;
        match file {
            // References of a shared object are followed even if they are weak. mold ignores their
            // versions, and `--wrap` affects objects only. These references lead to members, not to
            // other shared objects (`SharedFile<E>::mark_live_objects`).
            Holds::Root(at) if question.is_shared_input(at) => {
                for (name, _) in &question.roots[at].symbols {
                    let end = memchr::memchr(b'@', name).unwrap_or(name.len());
                    let name = &name[..end];
                    let holder = self.best.get(name).map(|best| best.holder);
                    if !matches!(holder, Some(Holder::Shared(_))) {
                        self.follow(name, ReferredBy::Root(at));
                    }
                }
            }
            Holds::Root(at) => {
                for (name, kind) in &question.roots[at].symbols {
                    self.symbol(name, *kind, ReferredBy::Root(at));
                }
            }
            Holds::Member(member) => {
                let library = question.library;
                for (name, symbol) in library.symbols(member) {
                    self.symbol(library.text(name), symbol.kind, ReferredBy::Member(member));
                }
            }
        }
    }

    /// Resolves all names again among the files that are linked. If the output is a shared object,
    /// a name may stay undefined if a weak reference precedes all strong ones
    /// (`claim_unresolved_symbols`). For a program, mold reports each strong reference. A weak
    /// reference with restricted visibility is treated as strong if a shared object defines the
    /// name.
    fn settle(&mut self) -> Resolved<'q> {
        let question = self.question;
        let places = std::mem::take(&mut self.places);
        self.best.clear();
        let (mut weak, mut strong) = (FastSet::default(), FastSet::default());
        let mut restricted: FastSet<&'q [u8]> = FastSet::default();
        for (place, holds) in places {
            let symbols: Vec<(&'q [u8], SymbolKind)> = match holds {
                Holds::Root(at) if self.forgotten.contains(&at) => continue,
                Holds::Root(at) if question.is_shared_input(at) => {
                    self.enter_exports(at, place);
                    continue;
                }
                Holds::Root(at) => {
                    self.enter_exports(at, place);
                    restricted.extend(question.roots[at].hidden.iter().map(|name| &**name));
                    question.roots[at].symbols.iter().map(|(name, kind)| (&**name, *kind)).collect()
                }
                Holds::Member(member) if !self.taken[member.index()] => continue,
                Holds::Member(member) => {
                    let library = question.library;
                    let is_weak = |s: &MemberSymbol| s.kind == SymbolKind::WeakUndefined;
                    let weak = library.symbols(member);
                    let weak = weak.filter(|(_, s)| is_weak(s) && s.is_restricted());
                    restricted.extend(weak.map(|(name, _)| library.text(name)));
                    library.symbols(member).map(|(name, s)| (library.text(name), s.kind)).collect()
                }
            };
            for (name, kind) in symbols {
                let meant = self.link.reference(name);
                match kind {
                    SymbolKind::Undefined if !weak.contains(meant) => drop(strong.insert(meant)),
                    SymbolKind::WeakUndefined if !strong.contains(meant) => {
                        weak.insert(meant);
                    }
                    kind if !defines(kind) => {}
                    kind => self.enter(name, (rank(kind, false), place), false, Holder::Object),
                }
            }
        }
        for defined in &self.link.defined {
            self.enter(&defined.name, (0, 0), false, Holder::Object);
        }
        let found = self.best.iter().map(|(name, best)| match best.holder {
            Holder::Shared(_) => (*name, ChosenDefinition::Shared),
            Holder::Object | Holder::Member(_) => (*name, ChosenDefinition::Object),
        });
        let found: FastMap<&'q [u8], ChosenDefinition> = found.collect();
        let may_stay = if question.makes_program() { FastSet::default() } else { weak };
        let unclaimed = self.versioned.iter().copied().filter(|name| !self.is_claimed(name));
        let unclaimed = unclaimed.collect();
        let strong = restricted.into_iter().map(|name| self.link.reference(name));
        let strong = strong.filter(|name| found.get(name) == Some(&ChosenDefinition::Shared));
        Resolved { strong: strong.collect(), found, may_stay, unclaimed, ..Resolved::default() }
    }

    /// False for `NAME@VERSION` if the definition of NAME that mold chose is not that of a shared
    /// object with the version. mold then looks at no other definition
    /// (`claim_unresolved_symbols`).
    fn is_claimed(&self, name: &[u8]) -> bool {
        let plain = memchr::memchr(b'@', name).and_then(|at| self.best.get(&name[..at]));
        plain.is_none_or(|best| match best.holder {
            Holder::Object | Holder::Member(_) => false,
            Holder::Shared(at) => {
                let object = self.question.objects.get(at).copied().flatten();
                object.is_some_and(|object| object.satisfies_link(name))
            }
        })
    }

    fn symbol(&mut self, name: &'q [u8], kind: SymbolKind, by: ReferredBy) {
        match kind {
            SymbolKind::Undefined => {
                let link = self.link;
                self.follow(link.reference(name), by);
            }
            SymbolKind::Common if self.best.get(name).is_some_and(|best| !best.common) => {
                self.follow(name, by);
            }
            _ => {}
        }
    }

    fn follow(&mut self, name: &'q [u8], by: ReferredBy) {
        match self.best.get(name).map(|best| best.holder) {
            Some(Holder::Member(member)) if !self.taken[member.index()] => {
                self.take(member, by, name);
            }
            Some(Holder::Shared(at)) if self.forgotten.remove(&at) => {
                self.queue.push_back(Holds::Root(at));
            }
            _ => {}
        }
    }

    fn take(&mut self, member: MemberId, by: ReferredBy, symbol: &'q [u8]) {
        let library = self.question.library;
        self.taken[member.index()] = true;
        self.queue.push_back(Holds::Member(member));
        self.out.order.push(member);
        self.out.needed.push(NeededMember { member, symbol: symbol.into(), by, holder: member });
        if library.member(member).is_unknown() {
            self.out.opaque.push(member);
        }
    }
}

/// True for a definition that mold accepts. mold treats the section index of a machine-specific
/// common symbol as the index of a real section, and no such section exists
/// (`ObjectFile<E>::resolve_symbols`).
fn defines(kind: SymbolKind) -> bool {
    kind.is_definition() && kind != SymbolKind::MachineCommon
}

fn is_common(kind: SymbolKind) -> bool {
    kind == SymbolKind::Common
}

/// The rank of a definition; `late` is true for a definition in a shared object or in a member that
/// is not linked yet.
fn rank(kind: SymbolKind, late: bool) -> u8 {
    match (kind, late) {
        (SymbolKind::Common, false) => 5,
        (SymbolKind::Common, true) => 6,
        (SymbolKind::Weak, false) => 2,
        (SymbolKind::Weak, true) => 4,
        (_, false) => 1,
        (_, true) => 3,
    }
}
