//! GNU ld searches each archive at its position, in passes over the index until a pass adds no
//! undefined name (`elf_link_add_archive_symbols` in `bfd/elflink.c`). A group is searched until a
//! pass over all its archives adds no undefined name (`open_input_bfds` in `ld/ldlang.c`). A
//! member is not extracted if its archive precedes the first reference to it. A shared object of
//! `--as-needed` is forgotten if it precedes the first reference to it. With LTO, later archives are
//! searched once more for machine code, because the plugin's output may refer to it
//! (`lang_process`).

use super::{ChosenDefinition, Resolved};
use crate::cover::{
    Coverage, CoverageQuestion, DefsymOption, Export, Link, LinkInput, NeededMember, OutputKind,
    ReferredBy,
};
use crate::format::archive::{MemberSymbol, SymbolKind};
use crate::format::elf::{NeedKind, Target};
use crate::id::{ArchiveId, FastMap, FastSet, Id as _, MemberId};
use std::cell::LazyCell;

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
        table: FastMap::default(),
        hidden: FastSet::default(),
        taken: vec![false; question.library.members()],
        undefined: 0,
        last_object: None,
        rescan: None,
        again: false,
        is_before_rescan: false,
        provided: FastSet::default(),
        forgotten: FastSet::default(),
        referred: FastSet::default(),
        referred_by_shared: FastSet::default(),
        needs: Vec::new(),
        known: FastSet::default(),
        out: Coverage::default(),
    };
    // A shared object has an entry point only with `--entry`.
    let has_entry = question.output.kind != OutputKind::Shared || link.entry.is_some();
    if has_entry {
        run.refer_plain(link.entry(), false, ReferredBy::EntryPoint);
    }
    for name in question.symbols.iter().chain(&link.undefined) {
        run.refer_plain(name, false, ReferredBy::Asked);
    }
    run.inputs(&link.inputs, true);
    if run.rescan.is_some() {
        run.again = true;
        run.is_before_rescan = run.rescan != Some(Rescan::All);
        run.inputs(&link.inputs, false);
    }
    run.define_late();
    let unprovided = run.provide_late();
    let found = run.table.iter().filter_map(|(name, state)| {
        let found = match state {
            State::Undefined { .. } => return None,
            State::Shared { .. } => ChosenDefinition::Shared,
            State::Common | State::Defined { .. } | State::Script => ChosenDefinition::Object,
        };
        Some((*name, found))
    });
    // If a shared object or an option refers to a name strongly, all references to this name are
    // strong.
    let strong =
        run.table.iter().filter(|(_, state)| matches!(state, State::Undefined { weak: false, .. }));
    // Libraries that the inputs need satisfy references of shared objects, so that they leave the
    // name as weak as it is in objects (`ldelf_after_open`).
    let strong = strong.map(|(name, _)| *name);
    let strong = strong.filter(|name| !link.defined_behind.contains(*name)).collect();
    Resolved {
        found: found.collect(),
        strong,
        unprovided,
        forgotten: run.forgotten,
        coverage: run.out,
        ..Resolved::default()
    }
}

/// The number of inputs before the end of a group; `inputs` starts after its `StartGroup`.
fn group_len(inputs: &[LinkInput]) -> usize {
    let mut depth = 1_usize;
    let ends = |input: &LinkInput| {
        match input {
            LinkInput::StartGroup => depth += 1,
            LinkInput::EndGroup => depth -= 1,
            _ => {}
        }
        depth == 0
    };
    inputs.iter().position(ends).unwrap_or(inputs.len())
}

/// The state of a name in the symbol table (`bfd_link_hash_type`).
#[derive(Clone, Copy)]
enum State {
    Undefined {
        weak: bool,
        by: ReferredBy,
    },
    Common,
    /// `firm` is false for a weak definition, a function, and data that the linker treats as a
    /// common symbol: a common symbol of an object replaces these definitions.
    Shared {
        firm: bool,
    },
    Defined {
        weak: bool,
    },
    /// Defined by an option or a linker script. A later definition of the name is entered as if
    /// the name were undefined (`ldscript_def` in `bfd/linker.c`), but no member is extracted for
    /// the name.
    Script,
}

/// True if the definition of a shared object replaces a common symbol (`_bfd_elf_merge_symbol`).
fn is_firm(export: &Export<'_>) -> bool {
    !export.is_weak() && !export.is_function() && !export.is_common_like()
}

/// The inputs that are processed again after LTO: those after the position at which the linker
/// inserts the plugin's output (`find_replacements_insert_point` in `ld/ldlang.c`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rescan {
    /// The inputs after the root with this index: the first object that the plugin reads, or the
    /// last object before the archive that has it.
    After(usize),
    /// All inputs: an archive that precedes all objects has the first object that the plugin reads.
    All,
}

struct Run<'q> {
    question: &'q CoverageQuestion<'q>,
    link: &'q Link,
    /// Names of the form `NAME@VERSION` to which the link refers.
    versioned: &'q [&'q [u8]],
    target: Option<Target>,
    table: FastMap<&'q [u8], State>,
    /// Names whose visibility some object restricts.
    hidden: FastSet<&'q [u8]>,
    taken: Vec<bool>,
    /// Number of times that a new name became common, or that a strong reference made a name
    /// undefined. If it grows, archives are searched again.
    undefined: usize,
    /// The last root that was read.
    last_object: Option<usize>,
    /// Set when the linker's plugin reads its first object.
    rescan: Option<Rescan>,
    /// True during the second search, after LTO.
    again: bool,
    /// True until the second search comes to the inputs after `rescan`.
    is_before_rescan: bool,
    /// The PROVIDEs that defined their names, as indices of [`Link::defined`].
    provided: FastSet<usize>,
    /// Shared objects of `--as-needed` that define no undefined name, and shared objects with the
    /// DT_NEEDED name of an earlier shared object that is part of the link.
    forgotten: FastSet<usize>,
    /// Names to which objects refer strongly; empty without `--as-needed`.
    referred: FastSet<&'q [u8]>,
    /// Names to which shared objects refer strongly; empty without `--as-needed`.
    referred_by_shared: FastSet<&'q [u8]>,
    /// The names in DT_NEEDED of the shared objects that were read, each with the index of its
    /// root.
    needs: Vec<(&'q [u8], usize)>,
    /// The names of the shared objects that are part of the link, as in DT_NEEDED.
    known: FastSet<&'q [u8]>,
    out: Coverage,
}

impl<'q> Run<'q> {
    /// Processes the inputs of the link or of a group; `first` is false if only archives and
    /// forgotten shared objects are processed again.
    fn inputs(&mut self, inputs: &'q [LinkInput], first: bool) {
        let mut at = 0;
        while let Some(input) = inputs.get(at) {
            at += 1;
            if self.is_before_rescan && !matches!(input, LinkInput::StartGroup) {
                let Some(Rescan::After(last)) = self.rescan else { return };
                self.is_before_rescan = !matches!(input, LinkInput::Root(root) if *root == last);
                continue;
            }
            match input {
                LinkInput::Archive(archive) => self.search(*archive),
                LinkInput::StartGroup => {
                    let len = group_len(&inputs[at..]);
                    self.group(&inputs[at..at + len], first);
                    at += len;
                }
                LinkInput::EndGroup => {}
                LinkInput::Root(root) if self.forgotten.contains(root) => self.root(*root),
                _ if !first => {}
                LinkInput::Root(root) => self.root(*root),
                LinkInput::Whole(archive) => self.whole(*archive),
                LinkInput::Define(defined) => self.define_by_option(*defined),
                LinkInput::Request(at) => self.request(&self.link.requested[*at]),
            }
        }
    }

    /// Processes the inputs of a group, which may contain groups, until a pass adds no undefined
    /// name.
    fn group(&mut self, inputs: &'q [LinkInput], mut first: bool) {
        loop {
            let before = self.undefined;
            self.inputs(inputs, first);
            first = false;
            if before == self.undefined {
                break;
            }
        }
    }

    /// True if the shared object at `at` defines a name that is undefined now, or data for a
    /// common symbol. References of options are ignored (`ref_regular_nonweak` in
    /// `bfd/elflink.c`). References of shared objects are ignored if the DT_NEEDED of a shared
    /// object of the link names the tested one.
    fn is_needed(&self, at: usize) -> bool {
        let is_listed = LazyCell::new(|| self.is_on_needed_list(at));
        let is_referred = |name: &[u8]| {
            self.referred.contains(name) || self.referred_by_shared.contains(name) && !*is_listed
        };
        let is_open = |export: &Export<'_>| match self.table.get(export.name) {
            Some(State::Undefined { .. }) => !self.is_replaced(export) && is_referred(export.name),
            Some(State::Common) => is_firm(export),
            _ => false,
        };
        let mut exports = self.question.exports(at, self.versioned);
        exports.any(|export| is_open(&export) && !self.hidden.contains(export.name))
    }

    /// True if a shared object of the link needs the shared object at `at` (`on_needed_list`). The
    /// needs of a forgotten library count only if an earlier need names that library.
    fn is_on_needed_list(&self, at: usize) -> bool {
        let mut listed: FastSet<&[u8]> = FastSet::default();
        for (name, by) in &self.needs {
            let is_idle = self.forgotten.contains(by) && self.link.as_needed.contains(by);
            if !is_idle || listed.contains(self.question.needed_name(self.link, *by)) {
                listed.insert(name);
            }
        }
        listed.contains(self.question.needed_name(self.link, at))
    }

    /// True if an earlier definition of NAME replaces the default version of NAME, so that
    /// references to `NAME@VERSION` bind to the earlier definition (`_bfd_elf_add_default_symbol`).
    fn is_replaced(&self, export: &Export<'_>) -> bool {
        let plain = export.unversioned().filter(|_| export.is_default);
        let state = plain.and_then(|name| self.table.get(name));
        matches!(state, Some(State::Shared { .. } | State::Defined { .. } | State::Script))
    }

    fn root(&mut self, at: usize) {
        let question = self.question;
        let root = &question.roots[at];
        if root.lto {
            self.rescan = self.rescan.or(Some(Rescan::After(at)));
        }
        self.last_object = Some(at);
        if root.linked && !self.forgotten.contains(&at) {
            self.add_needs(at);
        }
        if question.is_shared_input(at) {
            // `elf_link_add_object_symbols` ignores a shared object whose name is in DT_NEEDED of
            // the output. A library of `--as-needed` that is not needed leaves no entry there.
            let name = question.needed_name(self.link, at);
            self.forgotten.insert(at);
            let is_idle = self.link.as_needed.contains(&at) && !self.is_needed(at);
            if self.known.contains(name) || is_idle {
                return;
            }
            self.known.insert(name);
            self.forgotten.remove(&at);
        }
        if !root.linked {
            root.hidden.iter().for_each(|name| self.hide(name, ReferredBy::Root(at)));
        }
        for (name, kind) in &root.symbols {
            match kind {
                SymbolKind::Undefined => self.refer(name, false, ReferredBy::Root(at)),
                SymbolKind::WeakUndefined => self.refer(name, true, ReferredBy::Root(at)),
                kind => self.define(name, *kind),
            }
        }
        for (name, kind) in &root.default_versions {
            self.define(name, *kind);
        }
        let is_shared = question.is_shared_input(at);
        for export in question.exports(at, self.versioned) {
            if is_shared {
                self.export(&export);
            } else {
                self.define(export.name, export.symbol_kind());
            }
        }
    }

    fn add_needs(&mut self, at: usize) {
        if let Some(object) = self.question.objects.get(at).copied().flatten() {
            let needs = object.needs.iter().filter(|need| need.kind == NeedKind::Needed);
            self.needs.extend(needs.map(|need| (object.str(need.name), at)));
        }
    }

    fn whole(&mut self, archive: ArchiveId) {
        for member in self.question.library.members_of(archive) {
            if !self.is_of_target(member) {
                self.out.refused.push(member);
            } else if !self.taken[member.index()] && self.fits(member) {
                self.take(member, ReferredBy::Asked, b"");
            }
        }
    }

    /// Enters a symbol of `--defsym` or of a script. If its value is not known yet, the assignment
    /// defines only a name that no file had before, and PROVIDE defines nothing (`exp_fold_tree_1`
    /// in `ld/ldexp.c`).
    fn define_by_option(&mut self, at: usize) {
        let defined = &self.link.defined[at];
        if defined.is_nameless {
            return;
        }
        let old = self.table.get(&*defined.name);
        let (is_new, is_undefined) = (old.is_none(), matches!(old, Some(State::Undefined { .. })));
        if defined.provided && !is_undefined {
            return;
        }
        self.request_for(defined);
        let is_known = self.is_known(defined);
        if defined.provided && is_known {
            self.provided.insert(at);
        }
        // An expression of the symbol itself defines it only at the end of the link.
        let is_own = !defined.provided && defined.refers.contains(&defined.name);
        if (is_known || is_new) && !is_own {
            self.table.insert(&defined.name, State::Script);
        }
    }

    /// True if the linker can compute the expression before all inputs are read. The branches of an
    /// expression are taken for known.
    fn is_known(&self, defined: &DefsymOption) -> bool {
        let has_value = |name: &[u8]| {
            let state = self.table.get(self.link.in_expression(name));
            matches!(state, Some(State::Shared { .. } | State::Defined { .. } | State::Script))
        };
        let is_plain =
            || !defined.needs_layout && defined.refers.iter().all(|name| has_value(name));
        defined.has_branches || is_plain()
    }

    /// Defines the symbols of assignments whose values were not known at their positions.
    fn define_late(&mut self) {
        let link = self.link;
        let assigned = link.defined.iter().filter(|of| !of.provided);
        for defined in assigned.filter(|of| !of.refers.contains(&of.name)) {
            self.table.insert(&defined.name, State::Script);
        }
    }

    /// Defines the names of PROVIDE that became undefined after the position of their PROVIDE, also
    /// because of other expressions: GNU ld evaluates all expressions several times. Returns the
    /// PROVIDEs without effect, as indices of [`Link::defined`].
    fn provide_late(&mut self) -> FastSet<usize> {
        let all = self.link.defined.iter().enumerate();
        let mut waiting: Vec<(usize, &DefsymOption)> = all.filter(|(_, d)| d.provided).collect();
        loop {
            waiting.retain(|(at, _)| !self.provided.contains(at));
            let before = self.provided.len();
            for (at, defined) in &waiting {
                let Some(state @ State::Undefined { .. }) = self.table.get_mut(&*defined.name)
                else {
                    continue;
                };
                *state = State::Script;
                self.provided.insert(*at);
                self.request_for(defined);
            }
            if before == self.provided.len() {
                return waiting.into_iter().map(|(at, _)| at).collect();
            }
        }
    }

    /// Adds the references of an expression.
    fn request_for(&mut self, defined: &'q DefsymOption) {
        let link = self.link;
        defined.refers.iter().for_each(|name| self.request(link.in_expression(name)));
    }

    /// True if the linker may use the member. After LTO, the plugin reads no further member.
    fn fits(&self, member: MemberId) -> bool {
        !(self.again && self.question.library.member(member).kind.is_lto())
    }

    fn is_of_target(&self, member: MemberId) -> bool {
        let target = self.question.library.member(member).target;
        self.target.is_none_or(|own| target.is_none_or(|other| own.is_linkable(other)))
    }

    fn search(&mut self, archive: ArchiveId) {
        let library = self.question.library;
        loop {
            let before = self.undefined;
            for member in library.members_of(archive) {
                if !self.taken[member.index()]
                    && self.fits(member)
                    && let Some((name, by)) = self.wanted(member)
                {
                    if self.is_of_target(member) {
                        self.take(member, by, name);
                    } else if !self.out.refused.contains(&member) {
                        self.out.refused.push(member);
                    }
                }
            }
            if before == self.undefined {
                break;
            }
        }
    }

    /// The first name that `member` defines and the link needs, with its referrer. `None` if the
    /// link needs no such name, or if the archive's index lacks the name. The default version of a
    /// name defines `NAME@VERSION` too (`_bfd_elf_archive_symbol_lookup`).
    fn wanted(&self, member: MemberId) -> Option<(&'q [u8], ReferredBy)> {
        let library = self.question.library;
        let definitions = library.symbols(member).filter(|(_, symbol)| symbol.kind.is_definition());
        let definitions = definitions.map(|(name, symbol)| (library.text(name), symbol));
        let mut all = definitions.chain(library.default_versions(member));
        // An index lists a default version under NAME alone.
        let is_listed = |name: &[u8]| !self.link.indexed || library.is_listed(member, name);
        let is_default = |name: &[u8]| name.split(|b| *b == b'@').next().is_some_and(is_listed);
        all.find_map(|(name, symbol)| {
            let by = self.wants(name, *symbol)?;
            (is_listed(name) || is_default(name)).then_some((name, by))
        })
    }

    /// Returns the referrer if the link needs this definition of `name`, else `None`. A common
    /// symbol needs a definition of data (`is_global_data_symbol_definition`).
    fn wants(&self, name: &[u8], symbol: MemberSymbol) -> Option<ReferredBy> {
        let is_data =
            matches!(symbol.kind, SymbolKind::Strong | SymbolKind::Unique) && !symbol.is_function();
        match self.table.get(name)? {
            State::Undefined { weak: false, by } => Some(*by),
            State::Common if is_data => Some(ReferredBy::Asked),
            _ => None,
        }
    }

    fn take(&mut self, member: MemberId, by: ReferredBy, symbol: &'q [u8]) {
        let library = self.question.library;
        self.taken[member.index()] = true;
        self.out.order.push(member);
        self.out.needed.push(NeededMember { member, symbol: symbol.into(), by, holder: member });
        let facts = library.member(member);
        if facts.kind.is_lto() && self.rescan.is_none() {
            self.rescan = Some(self.last_object.map_or(Rescan::All, Rescan::After));
        }
        if facts.is_unknown() {
            self.out.opaque.push(member);
        }
        for (name, symbol) in library.symbols(member) {
            let name = library.text(name);
            if symbol.is_restricted() {
                self.hide(name, ReferredBy::Member(member));
            }
            match symbol.kind {
                SymbolKind::Undefined => self.refer(name, false, ReferredBy::Member(member)),
                SymbolKind::WeakUndefined => self.refer(name, true, ReferredBy::Member(member)),
                kind => self.define(name, kind),
            }
        }
        for (name, symbol) in library.default_versions(member) {
            self.define(name, symbol.kind);
        }
    }

    /// Adds a reference of an object, which `--wrap` may redirect.
    fn refer(&mut self, name: &'q [u8], weak: bool, by: ReferredBy) {
        let link = self.link;
        let meant = link.reference(name);
        if !weak && !link.as_needed.is_empty() {
            let question = self.question;
            let is_shared = matches!(by, ReferredBy::Root(at) if question.is_shared_input(at));
            let referred =
                if is_shared { &mut self.referred_by_shared } else { &mut self.referred };
            referred.insert(meant);
        }
        self.refer_plain(meant, weak, by);
    }

    /// Adds a reference of an expression or EXTERN. An earlier weak reference to the name stays
    /// weak (`fold_name` in `ld/ldexp.c`, `insert_undefined` in `ld/ldlang.c`).
    fn request(&mut self, name: &'q [u8]) {
        if !self.table.contains_key(name) {
            self.refer_plain(name, false, ReferredBy::Asked);
        }
    }

    fn refer_plain(&mut self, name: &'q [u8], weak: bool, by: ReferredBy) {
        let state = match self.table.get(name) {
            None => State::Undefined { weak, by },
            Some(State::Undefined { weak: true, .. }) if !weak => State::Undefined { weak, by },
            Some(_) => return,
        };
        self.undefined += usize::from(!weak);
        self.table.insert(name, state);
    }

    /// Adds a definition of an object, by the rows of `link_action` in `bfd/linker.c`. For a
    /// common symbol that a shared object also defines, `_bfd_elf_merge_symbol` decides.
    fn define(&mut self, name: &'q [u8], kind: SymbolKind) {
        let (weak, common) = (kind == SymbolKind::Weak, kind.is_tentative());
        let old = self.table.get(name).copied();
        let keeps = match old {
            None | Some(State::Undefined { .. } | State::Script) => false,
            Some(State::Shared { firm }) => common && firm,
            Some(State::Common) => common || weak,
            Some(State::Defined { weak: was_weak }) => !was_weak || weak,
        };
        if keeps {
            return;
        }
        self.undefined += usize::from(common && old.is_none());
        let new = if common { State::Common } else { State::Defined { weak } };
        self.table.insert(name, new);
    }

    /// Adds a definition of a shared object. It may replace a common symbol of an object, but no
    /// other definition.
    fn export(&mut self, export: &Export<'q>) {
        let (name, firm) = (export.name, is_firm(export));
        let replaces = match self.table.get(name) {
            None => true,
            Some(State::Undefined { .. }) => !self.hidden.contains(name),
            Some(State::Common) => firm && !self.hidden.contains(name),
            Some(State::Shared { .. } | State::Defined { .. } | State::Script) => false,
        };
        if replaces {
            self.table.insert(name, State::Shared { firm });
        }
    }

    fn hide(&mut self, name: &'q [u8], by: ReferredBy) {
        self.hidden.insert(name);
        if let Some(state @ State::Shared { .. }) = self.table.get_mut(name) {
            *state = State::Undefined { weak: true, by };
        }
    }
}
