//! The answer by lld's rule, for which the order of archives counts. The symbol table goes through
//! the states of `lld/ELF/Symbols.cpp` (`resolve`): the members of every archive stand ready from
//! the moment the archive is met, and the first definition of a name takes its member as soon as
//! somebody refers to the name strongly, before or after. What a member refers to is followed at
//! once, before the rest of the archive is looked at.

use super::order_independent::referrers;
use super::{By, Coverage, Needed, Question};
use crate::format::archive::{MemberKind, SymbolKind};
use crate::format::elf::Target;
use crate::id::{FastMap, FastSet, Id as _, MemberId};

/// Answers a question: the archives that are linked anyway come first, then the candidates.
/// `Coverage::needed` is in the order in which lld reports it: a member stands behind those that it
/// led to.
pub fn in_order(question: &Question<'_>) -> Coverage {
    let mut run = Run {
        question,
        target: question.target(),
        table: FastMap::default(),
        hidden: FastSet::default(),
        taken: vec![false; question.library.members()],
        out: Coverage::default(),
    };
    run.roots();
    for archive in question.archives.iter().chain(question.candidates) {
        for member in question.library.members_of(*archive) {
            run.ready(member);
        }
    }
    run.finish()
}

/// What the symbol table says of a name.
#[derive(Clone, Copy)]
enum State {
    /// Somebody refers to it. `weak` while that is not strongly; `firm` once an object did.
    Undefined { weak: bool, firm: bool, by: By },
    /// A member that was not taken defines it.
    Lazy { member: MemberId },
    /// A tentative definition. Since lld 17 no member is taken to replace it
    /// (`--no-fortran-common`).
    Common { by: Option<MemberId> },
    /// Defined by a shared object.
    Shared,
    /// Defined, by a member or by a root.
    Defined { weak: bool, by: Option<MemberId> },
}

/// A member that is being followed.
struct Frame<'q> {
    references: Vec<(&'q [u8], bool)>,
    at: usize,
    member: MemberId,
    /// Why it was taken; it is reported when everything it leads to is.
    reason: (By, &'q [u8]),
}

/// True for members that lld does not look into.
fn is_passed_over(kind: MemberKind) -> bool {
    matches!(kind, MemberKind::SlimLto | MemberKind::GccLto)
}

struct Run<'q> {
    question: &'q Question<'q>,
    target: Option<Target>,
    table: FastMap<&'q [u8], State>,
    /// Names whose visibility some object restricts: no shared object satisfies them.
    hidden: FastSet<&'q [u8]>,
    taken: Vec<bool>,
    out: Coverage,
}

impl<'q> Run<'q> {
    /// The roots stand before all archives, so that nothing is taken yet.
    fn roots(&mut self) {
        let question = self.question;
        for name in question.symbols {
            self.refer(name, false, true, By::Asked);
        }
        for (at, root) in question.roots.iter().enumerate() {
            let defined = |kind: &SymbolKind| kind.is_definition();
            let (definitions, references): (Vec<_>, Vec<_>) =
                root.symbols.iter().partition(|(_, kind)| defined(kind));
            if root.linked {
                // A shared library's references are read before its definitions, and neither
                // displaces what is there.
                for (name, kind) in references {
                    let weak = *kind == SymbolKind::WeakUndefined;
                    self.table.entry(name).or_insert(State::Undefined {
                        weak,
                        firm: false,
                        by: By::Root(at),
                    });
                }
                for name in question.exports(at) {
                    let hidden = self.hidden.contains(name);
                    let state = self.table.entry(name).or_insert(State::Shared);
                    if matches!(state, State::Undefined { .. }) && !hidden {
                        *state = State::Shared;
                    }
                }
                continue;
            }
            for name in &root.hidden {
                self.hide(name, By::Root(at));
            }
            for (name, kind) in definitions {
                self.define(name, *kind, None);
            }
            for (name, kind) in references {
                self.refer(name, *kind == SymbolKind::WeakUndefined, true, By::Root(at));
            }
        }
    }

    /// A reference or definition with restricted visibility: a shared object that was met does not
    /// count (`Symbol::resolve` of `Undefined`).
    fn hide(&mut self, name: &'q [u8], by: By) {
        self.hidden.insert(name);
        if let Some(state @ State::Shared) = self.table.get_mut(name) {
            *state = State::Undefined { weak: true, firm: false, by };
        }
    }

    /// A definition of an object that is linked (`Symbol::resolve` of `Defined` and `CommonSymbol`).
    fn define(&mut self, name: &'q [u8], kind: SymbolKind, by: Option<MemberId>) {
        let weak = matches!(kind, SymbolKind::Weak | SymbolKind::Unique);
        let common = kind == SymbolKind::Common;
        let new = if common { State::Common { by } } else { State::Defined { weak, by } };
        let state = self.table.entry(name).or_insert(new);
        let replaced = match *state {
            State::Undefined { .. } | State::Lazy { .. } | State::Shared => true,
            State::Common { .. } => !common && kind != SymbolKind::Weak,
            State::Defined { weak: known, .. } => known && (common || !weak),
        };
        if replaced {
            *state = new;
        }
    }

    /// A reference of an object; answers the member that it takes.
    fn refer(&mut self, name: &'q [u8], weak: bool, object: bool, by: By) -> Option<MemberId> {
        let state = self.table.entry(name).or_insert(State::Undefined { weak, firm: object, by });
        match state {
            State::Lazy { member } if !weak => return Some(*member),
            State::Undefined { weak: known, firm, .. } if object => {
                if !weak || !*firm {
                    *known = weak;
                }
                *firm = true;
            }
            _ => {}
        }
        None
    }

    /// The definitions of a member of an archive that is met: the first that somebody waits for
    /// takes it (`ObjFile::parseLazy`).
    fn ready(&mut self, member: MemberId) {
        let library = self.question.library;
        let target = library.member(member).target;
        let fits = self.target.is_none_or(|t| target.is_none_or(|other| t.links_with(other)));
        if !fits || is_passed_over(library.member(member).kind) {
            return;
        }
        for (name, symbol) in library.symbols(member) {
            if !symbol.kind.is_definition() {
                continue;
            }
            let name = library.text(name);
            let state = self.table.entry(name).or_insert(State::Lazy { member });
            match *state {
                State::Undefined { weak: true, .. } => *state = State::Lazy { member },
                State::Undefined { weak: false, by, .. } => {
                    self.take(member, by, name);
                    return;
                }
                _ => {}
            }
        }
    }

    /// Links a member and all that it leads to, depth first.
    fn take(&mut self, member: MemberId, by: By, symbol: &'q [u8]) {
        let mut stack = vec![self.enter(member, (by, symbol))];
        while let Some(frame) = stack.last_mut() {
            let Some((name, weak)) = frame.references.get(frame.at).copied() else {
                let ((by, symbol), member) = (frame.reason, frame.member);
                let holder = match self.table.get(symbol) {
                    Some(State::Common { by: Some(by) } | State::Defined { by: Some(by), .. }) => {
                        *by
                    }
                    _ => member,
                };
                self.out.needed.push(Needed { member, symbol: symbol.into(), by, holder });
                stack.pop();
                continue;
            };
            frame.at += 1;
            let by = By::Member(frame.member);
            if let Some(next) = self.refer(name, weak, true, by)
                && !self.taken[next.index()]
            {
                let frame = self.enter(next, (by, name));
                stack.push(frame);
            }
        }
    }

    /// Defines what a member defines, before anything that it refers to is followed.
    fn enter(&mut self, member: MemberId, reason: (By, &'q [u8])) -> Frame<'q> {
        let library = self.question.library;
        self.taken[member.index()] = true;
        self.out.order.push(member);
        if library.member(member).is_unknown() {
            self.out.opaque.push(member);
        }
        let mut references = Vec::new();
        for (name, symbol) in library.symbols(member) {
            let name = library.text(name);
            if symbol.is_restricted() {
                self.hide(name, By::Member(member));
            }
            match symbol.kind {
                SymbolKind::Undefined => references.push((name, false)),
                SymbolKind::WeakUndefined => references.push((name, true)),
                kind => self.define(name, kind, Some(member)),
            }
        }
        Frame { references, at: 0, member, reason }
    }

    fn finish(mut self) -> Coverage {
        let is_open = |(name, state): (&&'q [u8], &State)| {
            let open = matches!(state, State::Undefined { weak: false, .. });
            let question = self.question;
            let shared = || (question.provided)(name) || question.is_exported(name);
            let open = open && !question.is_linker_defined(name);
            (open && (self.hidden.contains(name) || !shared())).then_some(*name)
        };
        let undefined: FastSet<&[u8]> = self.table.iter().filter_map(is_open).collect();
        let needed = self.out.needed.iter().map(|needed| needed.member);
        self.out.undefined = referrers(self.question, needed, &undefined);
        self.out.opaque.sort_unstable();
        self.out
    }
}
