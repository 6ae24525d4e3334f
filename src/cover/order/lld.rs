//! lld enters the definitions of all members at the position of their archive, as lazy symbols. The
//! first lazy definition of a name extracts its member as soon as an object refers to the name
//! strongly, before or after that position. The references of an extracted member are followed at
//! once, before the rest of the archive. The symbol table goes through the states of
//! `lld/ELF/Symbols.cpp` (`resolve`).

use super::{ChosenDefinition, Resolved, libcalls, repeated};
use crate::cover::{
    Coverage, CoverageQuestion, DefsymOption, Link, LinkInput, NeededMember, ReferredBy,
    ReferringFile,
};
use crate::format::archive::{MemberKind, SymbolKind};
use crate::format::elf::Target;
use crate::id::{FastMap, FastSet, Id as _, MemberId};

pub(super) fn link<'q>(
    question: &'q CoverageQuestion<'q>,
    link: &'q Link,
    versioned: &'q [&'q [u8]],
) -> Resolved<'q> {
    let mut run = Run {
        question,
        versioned,
        target: question.target(),
        table: FastMap::default(),
        hidden: FastSet::default(),
        suffixed: versioned.iter().copied().collect(),
        taken: vec![false; question.library.members()],
        repeated: repeated(question, link),
        read: Vec::new(),
        out: Coverage::default(),
    };
    for name in question.symbols.iter().chain(&link.undefined) {
        run.refer(name, false, true, ReferredBy::Asked);
    }
    for input in &link.inputs {
        run.input(input);
    }
    let read_first = run.read.clone();
    let unwrapped = run.ask_late(link);
    let unprovided = run.unprovided(link);
    let mut found: FastMap<&[u8], ChosenDefinition> =
        run.table.iter().filter_map(State::found).collect();
    let defined = link.defined.iter().enumerate().filter(|(at, _)| !unprovided.contains(at));
    found.extend(defined.map(|(_, defined)| (&*defined.name, ChosenDefinition::Object)));
    let names = link.versioned.iter();
    let unversioned = names.filter(|of| !run.may_have_version(&of.with_version));
    let unversioned = unversioned.map(|of| &*of.name);
    let unversioned = unversioned.filter(|name| !run.may_have_version(name));
    let is_object = |name: &&[u8]| found.get(name) == Some(&ChosenDefinition::Object);
    let unversioned = unversioned.filter(|name| !is_object(name)).collect();
    let is_strong = |state: &State| matches!(state, State::Undefined { weak: false, .. });
    // If an option refers to a name strongly, all references to this name are strong.
    let strong = run.table.iter().filter(|(_, state)| is_strong(state)).map(|(name, _)| *name);
    let mut strong: FastSet<&[u8]> = strong.collect();
    let suffixed: FastSet<&[u8]> = run.suffixed.difference(&strong).copied().collect();
    strong.extend(&suffixed);
    let (coverage, forgotten) = (Coverage { read_first, ..run.out }, run.repeated);
    let of_names = Resolved {
        found,
        strong,
        suffixed,
        unwrapped,
        unprovided,
        unversioned,
        ..Resolved::default()
    };
    Resolved { coverage, forgotten, ..of_names }
}

/// The state of a name in the symbol table.
#[derive(Clone, Copy)]
enum State {
    /// Referred to. `firm` is true once an object or `--undefined` refers to the name. From then
    /// on, `weak` is true if all references from objects and `--undefined` are weak. Until then,
    /// `weak` is true if the first reference is weak.
    Undefined { weak: bool, firm: bool, by: ReferredBy },
    /// Defined by a member that was not taken; `weak` is true once a file refers to the name
    /// weakly.
    Lazy { member: MemberId, weak: bool },
    /// A tentative definition. No archive member is extracted to replace it: lld does so only with
    /// `--fortran-common`.
    Common { by: Option<MemberId> },
    /// Defined by a shared object. `weak` and `firm` are those of the references, as in
    /// `Undefined`; without an earlier reference, `weak` is that of the definition.
    Shared { weak: bool, firm: bool },
    /// Defined by the member `by`, or by a root if `by` is `None`.
    Defined { weak: bool, unique: bool, by: Option<MemberId> },
}

impl State {
    /// True if lld gives the symbol the binding `STB_WEAK`.
    fn is_weak(&self) -> bool {
        matches!(
            self,
            Self::Undefined { weak: true, .. }
                | Self::Lazy { weak: true, .. }
                | Self::Shared { weak: true, .. }
                | Self::Defined { weak: true, unique: false, .. }
        )
    }

    fn found<'q>((name, state): (&&'q [u8], &Self)) -> Option<(&'q [u8], ChosenDefinition)> {
        match state {
            Self::Undefined { .. } | Self::Lazy { .. } => None,
            Self::Shared { .. } => Some((*name, ChosenDefinition::Shared)),
            Self::Common { .. } | Self::Defined { .. } => Some((*name, ChosenDefinition::Object)),
        }
    }
}

/// A member whose references are being followed.
struct Frame<'q> {
    references: Vec<(&'q [u8], bool)>,
    at: usize,
    member: MemberId,
    /// The referrer and the name for which the member was taken. lld reports a member after all
    /// members that it pulls in.
    reason: (ReferredBy, &'q [u8]),
}

/// True for members whose symbols lld does not read.
fn is_passed_over(kind: MemberKind) -> bool {
    matches!(kind, MemberKind::SlimLto | MemberKind::GccLto)
}

struct Run<'q> {
    question: &'q CoverageQuestion<'q>,
    /// Names of the form `NAME@VERSION` to which the link refers.
    versioned: &'q [&'q [u8]],
    target: Option<Target>,
    table: FastMap<&'q [u8], State>,
    /// Names whose visibility some object restricts: no shared object satisfies them.
    hidden: FastSet<&'q [u8]>,
    /// Names with a version to which files refer, and names that a member defines with a default
    /// version. If such a name stays undefined, lld reports its weak references too (`maybeReportUndefined` in `lld/ELF/Relocations.cpp`).
    suffixed: FastSet<&'q [u8]>,
    taken: Vec<bool>,
    /// Shared objects with the DT_NEEDED name of an earlier shared object.
    repeated: FastSet<usize>,
    /// The objects that were read, in order.
    read: Vec<ReferredBy>,
    out: Coverage,
}

impl<'q> Run<'q> {
    fn input(&mut self, input: &LinkInput) {
        let library = self.question.library;
        match input {
            LinkInput::Root(at) if self.repeated.contains(at) => {}
            LinkInput::Root(at) if self.question.is_shared_input(*at) => self.shared(*at),
            LinkInput::Root(at) => self.object(*at),
            LinkInput::Archive(archive) => {
                library.members_of(*archive).for_each(|member| self.ready(member));
            }
            LinkInput::Whole(archive) => {
                for member in library.members_of(*archive) {
                    if self.fits(member) && !self.taken[member.index()] {
                        self.take(member, ReferredBy::Asked, b"");
                    }
                }
            }
            // Groups change nothing, and `--defsym` comes after all inputs.
            LinkInput::StartGroup
            | LinkInput::EndGroup
            | LinkInput::Define(_)
            | LinkInput::Request(_) => {}
        }
    }

    /// Adds an object. A linked root that is not an input is added in place of the objects that it
    /// was linked from.
    fn object(&mut self, at: usize) {
        self.read.push(ReferredBy::Root(at));
        let root = &self.question.roots[at];
        for name in &root.hidden {
            self.hide(name, ReferredBy::Root(at));
        }
        for (name, kind) in root.symbols.iter().filter(|(_, kind)| kind.is_definition()) {
            self.define(name, *kind, None);
        }
        for export in self.question.exports(at, self.versioned) {
            self.define(export.name, export.symbol_kind(), None);
        }
        for (name, kind) in root.symbols.iter().filter(|(_, kind)| !kind.is_definition()) {
            let weak = *kind == SymbolKind::WeakUndefined;
            self.follow(name, weak, true, ReferredBy::Root(at));
        }
    }

    /// Adds a shared object. Its references are read before its definitions, and neither replaces
    /// an existing definition.
    fn shared(&mut self, at: usize) {
        for (name, kind) in &self.question.roots[at].symbols {
            let weak = *kind == SymbolKind::WeakUndefined;
            self.follow(name, weak, false, ReferredBy::Root(at));
        }
        for export in self.question.exports(at, self.versioned) {
            let name = export.name;
            let hidden = self.hidden.contains(name);
            let weak = export.symbol_kind() == SymbolKind::Weak;
            let state = self.table.entry(name).or_insert(State::Shared { weak, firm: false });
            match *state {
                State::Undefined { weak, firm, .. } if !hidden => {
                    *state = State::Shared { weak, firm };
                }
                State::Lazy { weak, .. } if !hidden => *state = State::Shared { weak, firm: weak },
                _ => {}
            }
        }
    }

    /// Adds a reference. If the reference extracts a member, links this member and all members that
    /// it needs.
    fn follow(&mut self, name: &'q [u8], weak: bool, object: bool, by: ReferredBy) {
        if let Some(member) = self.refer(name, weak, object, by) {
            self.take(member, by, name);
        }
    }

    /// True if PROVIDE defines the name: a file or an expression refers to it, and no object defines
    /// it (`shouldAddProvideSym`).
    fn is_provided(&self, name: &[u8]) -> bool {
        let state = self.table.get(name);
        !matches!(state, None | Some(State::Common { .. } | State::Defined { .. }))
    }

    /// The PROVIDEs without effect, as indices of [`Link::defined`]. The first assignment of a name
    /// defines it for all later PROVIDEs (`LinkerScript::shouldDefineSym`).
    fn unprovided(&self, link: &'q Link) -> FastSet<usize> {
        let mut assigned: FastSet<&[u8]> = FastSet::default();
        let has_no_effect = |(_, defined): &(usize, &'q DefsymOption)| {
            let has_effect = !defined.provided
                || self.is_provided(&defined.name) && !assigned.contains(&*defined.name);
            if has_effect {
                assigned.insert(&defined.name);
            }
            !has_effect
        };
        link.defined.iter().enumerate().filter(has_no_effect).map(|(at, _)| at).collect()
    }

    /// True if a version script may name the symbol: an object or a member that was not extracted
    /// defines it, or lld itself because a file refers to it (`canBeVersioned`).
    fn may_have_version(&self, name: &[u8]) -> bool {
        match self.table.get(name) {
            None => false,
            Some(State::Undefined { .. } | State::Shared { .. }) => {
                self.question.is_linker_defined(name)
            }
            Some(State::Lazy { .. } | State::Common { .. } | State::Defined { .. }) => true,
        }
    }

    /// Adds the references that follow all inputs: the entry point, the symbols of expressions and
    /// the names of `--wrap` (`LinkerDriver::link`, `addWrappedSymbols`). Returns the names of
    /// `--wrap` that no file mentions: they have no effect.
    fn ask_late(&mut self, link: &'q Link) -> FastSet<&'q [u8]> {
        if matches!(self.table.get(link.entry()), Some(State::Lazy { .. })) {
            self.follow(link.entry(), false, false, ReferredBy::EntryPoint);
        }
        self.ask_for_expressions(link);
        self.link_library_calls();
        let mut unwrapped = FastSet::default();
        for wrap in &link.wraps {
            let Some(state) = self.table.get(&*wrap.name) else {
                unwrapped.insert(&*wrap.name);
                continue;
            };
            let weak = state.is_weak();
            if weak && !self.table.contains_key(&*wrap.wrapper) {
                // If the wrapped name is weak, its wrapper is weak too, and may stay undefined.
                self.table.insert(&wrap.wrapper, State::Shared { weak, firm: true });
            }
            self.follow(&wrap.wrapper, weak, false, ReferredBy::Asked);
            if let Some(is_real_weak) = self.table.get(&*wrap.real).map(State::is_weak) {
                self.follow(&wrap.name, weak, false, ReferredBy::Asked);
                // Only the references to `__real_NAME` go to NAME from now on.
                if let Some(State::Undefined { weak, .. }) = self.table.get_mut(&*wrap.name) {
                    *weak = is_real_weak;
                }
            }
        }
        unwrapped
    }

    /// Adds the references of `--defsym` and of scripts. The expression of a PROVIDE counts only if
    /// the PROVIDE defines its name, also for another expression
    /// (`addScriptReferencedSymbolsToSymTable`).
    fn ask_for_expressions(&mut self, link: &'q Link) {
        let mut provided: FastMap<&'q [u8], Vec<&'q [u8]>> = FastMap::default();
        for defined in &link.defined {
            let names = defined.refers.iter().chain(&defined.guarded).map(|name| &**name);
            if defined.provided {
                provided.entry(&defined.name).or_default().extend(names);
            } else {
                names.for_each(|name| self.follow(name, false, false, ReferredBy::Asked));
            }
        }
        let names = link.defined.iter().map(|defined| &*defined.name);
        let names: Vec<&[u8]> = names.filter(|name| self.is_provided(name)).collect();
        let mut waiting: Vec<Vec<&[u8]>> =
            names.into_iter().filter_map(|name| provided.remove(name)).collect();
        while let Some(names) = waiting.pop() {
            for name in names {
                self.follow(name, false, false, ReferredBy::Asked);
                if self.is_provided(name) {
                    waiting.extend(provided.remove(name));
                }
            }
        }
    }

    /// Once the link has bitcode, links the members in bitcode that define a function which code
    /// generation may call, even if nothing refers to it (`handleLibcall` in `lld/ELF/Driver.cpp`).
    fn link_library_calls(&mut self) {
        let library = self.question.library;
        let is_bitcode = |member: MemberId| library.member(member).kind.is_bitcode();
        let mut roots = self.question.roots.iter();
        if !roots.any(ReferringFile::is_bitcode)
            && !self.out.order.iter().any(|member| is_bitcode(*member))
        {
            return;
        }
        for name in libcalls::names(self.target) {
            if let Some(State::Lazy { member, .. }) = self.table.get(name).copied()
                && is_bitcode(member)
            {
                // lld reports this member before those that it pulls in.
                let reported = self.out.needed.len();
                self.take(member, ReferredBy::LibraryCall, name);
                self.out.needed[reported..].rotate_right(1);
            }
        }
    }

    /// Restricts the visibility of a name, because of a reference or a definition. A definition in
    /// an earlier shared object is then ignored (`Symbol::resolve` of `Undefined`).
    fn hide(&mut self, name: &'q [u8], by: ReferredBy) {
        self.hidden.insert(name);
        if let Some(state @ State::Shared { .. }) = self.table.get_mut(name) {
            *state = State::Undefined { weak: true, firm: false, by };
        }
    }

    /// Adds a definition of an object that is linked (`Symbol::resolve` of `Defined` and
    /// `CommonSymbol`).
    fn define(&mut self, name: &'q [u8], kind: SymbolKind, by: Option<MemberId>) {
        let weak = matches!(kind, SymbolKind::Weak | SymbolKind::Unique);
        let common = kind == SymbolKind::Common;
        let new = if common {
            State::Common { by }
        } else {
            State::Defined { weak, unique: kind == SymbolKind::Unique, by }
        };
        let state = self.table.entry(name).or_insert(new);
        let replaced = match *state {
            State::Undefined { .. } | State::Lazy { .. } | State::Shared { .. } => true,
            State::Common { .. } => !common && kind != SymbolKind::Weak,
            State::Defined { weak: known, .. } => known && (common || !weak),
        };
        if replaced {
            *state = new;
        }
    }

    /// Adds a reference; returns the member that it extracts. `object` is true for references that
    /// make the name `firm`.
    fn refer(
        &mut self,
        name: &'q [u8],
        weak: bool,
        object: bool,
        by: ReferredBy,
    ) -> Option<MemberId> {
        let state = self.table.entry(name).or_insert(State::Undefined { weak, firm: object, by });
        match state {
            State::Lazy { member, .. } if !weak => return Some(*member),
            State::Lazy { weak, .. } => *weak = true,
            State::Undefined { weak: known, firm, .. } | State::Shared { weak: known, firm }
                if object =>
            {
                if !weak || !*firm {
                    *known = weak;
                }
                *firm = true;
            }
            _ => {}
        }
        None
    }

    fn fits(&self, member: MemberId) -> bool {
        let member = self.question.library.member(member);
        let fits = self.target.is_none_or(|t| member.target.is_none_or(|own| t.is_linkable(own)));
        fits && !is_passed_over(member.kind)
    }

    /// Adds the definitions of a member as lazy symbols. The first definition that satisfies an
    /// earlier strong reference extracts the member (`ObjFile::parseLazy`).
    fn ready(&mut self, member: MemberId) {
        let library = self.question.library;
        if !self.fits(member) || self.taken[member.index()] {
            return;
        }
        let versions = library.default_versions(member);
        self.suffixed.extend(versions.map(|(_, symbol)| library.text(symbol.name)));
        for (name, symbol) in library.symbols(member) {
            if !symbol.kind.is_definition() {
                continue;
            }
            let name = library.text(name);
            let state = self.table.entry(name).or_insert(State::Lazy { member, weak: false });
            match *state {
                State::Undefined { weak: true, .. } => *state = State::Lazy { member, weak: true },
                State::Undefined { weak: false, by, .. } => {
                    self.take(member, by, name);
                    return;
                }
                _ => {}
            }
        }
    }

    /// Links a member and all members that its references extract, depth first.
    fn take(&mut self, member: MemberId, by: ReferredBy, symbol: &'q [u8]) {
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
                self.out.needed.push(NeededMember { member, symbol: symbol.into(), by, holder });
                stack.pop();
                continue;
            };
            frame.at += 1;
            let by = ReferredBy::Member(frame.member);
            if let Some(next) = self.refer(name, weak, true, by)
                && !self.taken[next.index()]
            {
                let frame = self.enter(next, (by, name));
                stack.push(frame);
            }
        }
    }

    /// Adds the definitions of a member, before its references are followed.
    fn enter(&mut self, member: MemberId, reason: (ReferredBy, &'q [u8])) -> Frame<'q> {
        let library = self.question.library;
        self.taken[member.index()] = true;
        self.out.order.push(member);
        self.read.push(ReferredBy::Member(member));
        if library.member(member).is_unknown() {
            self.out.opaque.push(member);
        }
        let mut references = Vec::new();
        for (name, symbol) in library.symbols(member) {
            let name = library.text(name);
            if symbol.is_restricted() {
                self.hide(name, ReferredBy::Member(member));
            }
            match symbol.kind {
                SymbolKind::Undefined => references.push((name, false)),
                SymbolKind::WeakUndefined => references.push((name, true)),
                kind => self.define(name, kind, Some(member)),
            }
        }
        Frame { references, at: 0, member, reason }
    }
}
