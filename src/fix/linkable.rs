//! Finds members that linkers reject for an output:
//! - their code is not position-independent, or uses the local-exec TLS model
//! - their strong definitions are duplicates
//! - they are built for another ABI
//! - they define a symbol version that the output lacks
//! - they mix thread-local and ordinary symbols
//! - they refer to symbols of libraries as if these were in the output
//! - another copy of a COMDAT group lacks their definitions, or the local symbols that they need,
//!   or weakly defines a symbol that they define strongly
//! - they have a hidden reference that no object satisfies, or a weak reference to a name that a
//!   needed library also leaves undefined
//!
//! `prove` and `as_linked` leave a fix with such a member unverified.

use super::inside::{Duplicate, Inside};
use super::{groups, hidden, imports, mixed_tls, sections, weak_copies, weak_references};
use crate::audit::{Audit, Libraries};
use crate::cover::{Demand, OutputKind, TLS_MODULE_BASE, demand, relocation_name};
use crate::format::archive::{Global, LinkFacts, RelocationFilter, SymbolKind};
use crate::format::elf::symtab::{LinkedSymbol, each_defined};
use crate::format::elf::{Object, Target};
use crate::id::{ArchiveId, FastMap, FastSet, FileId, MemberId};
use crate::merged::link::output_kind;
use crate::merged::solve::Solution;
use crate::parallel;
use crate::text::{show, show_path};
use crate::tree::{Opened, Tree};
use object::elf;
use std::cell::OnceCell;
use std::sync::Arc;

/// Parts of solutions that cannot be linked, by library and first member of the part, each with the
/// reason.
pub(super) type Refusals = FastMap<(FileId, MemberId), String>;

/// Finds the parts of `solutions` that cannot be linked. Duplicate definitions in members of the
/// merged archive `fat` are ignored, because these members may already be in the object of the
/// solution.
pub(super) fn refusals(
    audit: &Audit,
    tree: &dyn Tree,
    solutions: &[Arc<Solution>],
    fat: Option<ArchiveId>,
) -> Refusals {
    let mut out = Refusals::default();
    for solution in solutions {
        let Some(object) = audit.corpus.files[solution.file].object() else { continue };
        let mut members = solution.members();
        // A member that is already in the object has been linked before.
        let is_of_fat = |member: MemberId| Some(audit.library.archive_of(member)) == fat;
        members.retain(|member| !(is_of_fat(*member) && is_inside(audit, object, *member)));
        let new = members.iter().copied().filter(|member| !is_of_fat(*member)).collect();
        let mut check = LinkableCheck::new(audit, tree, (solution, object), (&members, new));
        if fat.is_none() {
            check.inside = check.defined_inside(tree, solution.file);
        }
        let refused = check.refused(tree, &members);
        for (first, member) in solution.reaching(&refused) {
            if let Some(why) = refused.get(&member) {
                out.insert((solution.file, first), why.clone());
            }
        }
    }
    out
}

/// Members that do not link with the object and each other, each with the reason.
pub(super) fn check(
    audit: &Audit,
    tree: &dyn Tree,
    (solution, object): (&Solution, &Object),
    members: &[MemberId],
) -> FastMap<MemberId, String> {
    let all = (members, members.to_vec());
    let mut check = LinkableCheck::new(audit, tree, (solution, object), all);
    check.inside = check.defined_inside(tree, solution.file);
    check.refused(tree, members)
}

/// True if the object exports a strong definition of a name that the member defines strongly.
fn is_inside(audit: &Audit, object: &Object, member: MemberId) -> bool {
    let library = &audit.library;
    let mut symbols = library.symbols(member).filter(|(_, s)| s.kind == SymbolKind::Strong);
    let tables = object.tables.as_ref();
    tables
        .is_some_and(|tables| symbols.any(|(name, _)| tables.exports_strongly(library.text(name))))
}

/// True if linkers may reject a relocation of this target and type, in a section with `flags`, for
/// this kind of output. `is_global` is true if the relocation refers to a global symbol.
fn may_refuse(kind: OutputKind, of: (Target, u32), flags: u64, is_global: bool) -> bool {
    match kind {
        OutputKind::Any => return false,
        // A program at a fixed address knows the addresses of all local symbols.
        OutputKind::Executable if !is_global => return false,
        OutputKind::Executable | OutputKind::Pie | OutputKind::Shared => {}
    }
    match demand(of.0, of.1) {
        None => kind != OutputKind::Executable,
        Some(Demand::Address) => true,
        Some(Demand::Nothing) => false,
        Some(Demand::Word) => flags & elf::SHF_WRITE.0 == 0,
        Some(Demand::Distance) => is_global,
        Some(Demand::ProgramTls) => is_global || kind == OutputKind::Shared,
    }
}

struct LinkableCheck<'a> {
    audit: &'a Audit,
    object: &'a Object,
    kind: OutputKind,
    facts: FastMap<MemberId, LinkFacts>,
    new: Vec<MemberId>,
    /// The libraries in which the link of the object finds definitions.
    libraries: Libraries<'a>,
    /// Names in the symbol table of the object, each with its binding there. Three kinds of names
    /// are kept. First, names that new members define strongly, or in a COMDAT group that defines
    /// names other than its signature. Second, names to which new members refer weakly or as
    /// hidden. Third, signatures of the two groups of a reference in a new member: one group has
    /// the local symbol, and the other group, if any, refers to it.
    inside: FastMap<Box<[u8]>, Inside>,
}

impl<'a> LinkableCheck<'a> {
    /// Reads the facts of `members`. The members in `new` are not in the object yet, so a second
    /// definition of their symbols is a defect.
    fn new(
        audit: &'a Audit,
        tree: &dyn Tree,
        (solution, object): (&Solution, &'a Object),
        (members, new): (&[MemberId], Vec<MemberId>),
    ) -> Self {
        let (kind, target) = (output_kind(object), object.header.target());
        let wanted = |flags: u64, relocation: u32, is_global: bool| {
            may_refuse(kind, (target, relocation), flags, is_global)
        };
        let facts = audit.link_facts(tree, members, RelocationFilter::Loaded(&wanted));
        let mut libraries = audit.linked_libraries(solution.file);
        libraries.add(audit, &solution.libraries);
        Self { audit, object, kind, facts, new, libraries, inside: FastMap::default() }
    }

    /// Reads the names of `inside`. Local symbols are read too, because they may have been global
    /// before the object was linked. The dynamic symbol table does not suffice, because programs
    /// export few of their global symbols.
    fn defined_inside(&self, tree: &dyn Tree, file: FileId) -> FastMap<Box<[u8]>, Inside> {
        let facts = self.new.iter().filter_map(|member| self.facts.get(member));
        let is_wanted = |global: &&Global| {
            is_strong(global)
                || is_weak_reference(global)
                || imports::is_reference(global) && global.visibility != 0
        };
        let mut names: FastSet<&[u8]> = FastSet::default();
        for facts in facts {
            let wanted = facts.globals.iter().filter(is_wanted);
            names.extend(wanted.map(|global| facts.name(global)));
            for (signature, of_group) in facts.odd_groups() {
                names.insert(signature);
                names.extend(of_group);
            }
            for (signature, from) in facts.entered_groups() {
                names.extend(std::iter::once(signature).chain(from));
            }
        }
        let mut out = FastMap::default();
        if let Ok(Opened::File(handle)) = tree.open(&self.audit.corpus.files[file].path) {
            let visit = |symbol: LinkedSymbol<'_>| {
                if names.contains(symbol.name) {
                    let new = Inside::new(self.object, &symbol);
                    let all = out.entry(Box::from(symbol.name)).or_insert(new);
                    *all = all.and(new);
                }
            };
            // A stripped object has no `.symtab`.
            each_defined(&handle, visit).ok();
        }
        out
    }

    /// The definition of the object that duplicates the symbol of a member; `None` if linkers accept
    /// both.
    fn duplicate(&self, facts: &LinkFacts, global: &Global, name: &[u8]) -> Option<Duplicate> {
        let tables = self.object.tables.as_ref();
        let inside = self.inside.get(name);
        if let Some(exported) = tables.and_then(|tables| tables.find_strong_export(name)) {
            let is_zero_filled = self.object.is_zero_filled(exported.kind, exported.value);
            return Some(Duplicate::of_zero_filled(is_zero_filled));
        }
        // A linker keeps one copy of a COMDAT group, and compilers put STB_GNU_UNIQUE definitions
        // into groups. A linked object does not record the groups.
        let is_of_group = elf::SymbolBind(global.bind) == elf::STB_GNU_UNIQUE
            && facts.group_of(global.section).is_some();
        match inside {
            Some(inside) if inside.bind == elf::STB_GNU_UNIQUE => {
                (!is_of_group).then_some(Duplicate::Certain)
            }
            Some(inside) if inside.bind != elf::STB_WEAK && inside.was_local != Some(true) => {
                Some(inside.duplicate())
            }
            _ => {
                let is_unique = !is_of_group && tables.is_some_and(|t| t.exports_uniquely(name));
                is_unique.then_some(Duplicate::Certain)
            }
        }
    }

    /// The binding of a name in the symbol table of the object.
    fn bind(&self, name: &[u8]) -> Option<elf::SymbolBind> {
        self.inside.get(name).map(|inside| inside.bind)
    }

    fn name(&self, member: MemberId) -> String {
        let library = &self.audit.library;
        let archive = &library.entry(library.archive_of(member)).path;
        format!("{}({})", show_path(archive), show(library.member_name(member)))
    }

    /// Members that cannot be linked, each with the reason.
    fn refused(&self, tree: &dyn Tree, members: &[MemberId]) -> FastMap<MemberId, String> {
        let mut out = FastMap::default();
        let restricted = OnceCell::new();
        let is_restricted =
            |name: &[u8]| restricted.get_or_init(|| self.restricted()).contains(name);
        for member in members {
            let why = match self.facts.get(member) {
                None => Some("could not be read again".to_owned()),
                Some(facts) => {
                    let why = self.wrong_abi(*member).or_else(|| self.unknown_version(facts));
                    why.or_else(|| self.misplaced(facts, &is_restricted))
                }
            };
            if let Some(why) = why {
                out.insert(*member, format!("{} {why}", self.name(*member)));
            }
        }
        for (member, why) in self.twice() {
            out.entry(member).or_insert(why);
        }
        let is_inside =
            |name: &[u8]| self.object.satisfies_link(name) || self.inside.contains_key(name);
        let of = (self.audit, tree);
        for found in groups::discardable(of, self.object, &self.facts, &is_inside) {
            let why = || found.reason(|member| self.name(member));
            out.entry(found.member).or_insert_with(why);
        }
        for found in groups::entering(&self.facts, &is_inside) {
            let why = || found.reason(|member| self.name(member));
            out.entry(found.member).or_insert_with(why);
        }
        let is_weak_inside = |name: &[u8]| self.bind(name) == Some(elf::STB_WEAK);
        for found in weak_copies::strong_copies(self.audit, &self.facts, &is_weak_inside) {
            let why = || found.reason(|member| self.name(member));
            out.entry(found.member).or_insert_with(why);
        }
        let linked = (self.object, &self.libraries);
        let mixed = mixed_tls::members(self.audit, linked, &self.facts);
        let is_defined = |name: &[u8]| self.is_defined(name);
        let hidden = hidden::members(self.audit, linked, &self.facts, &is_defined);
        let weak = weak_references::members(self.audit, linked, &self.facts, &is_defined);
        for (member, why) in mixed.into_iter().chain(hidden).chain(weak) {
            out.entry(member).or_insert_with(|| format!("{} {why}", self.name(member)));
        }
        out
    }

    /// Names that are hidden, internal or protected in some member: definitions of other objects
    /// cannot replace them.
    fn restricted(&self) -> FastSet<&[u8]> {
        let names = self.facts.values().flat_map(|facts| {
            let restricted = facts.globals.iter().filter(|global| global.visibility != 0);
            restricted.map(move |global| facts.name(global))
        });
        names.collect()
    }

    /// True if the object or a member of the link defines the name, or a linker does because of a
    /// section of a member.
    fn is_defined(&self, name: &[u8]) -> bool {
        self.is_defined_in_file(name) || sections::define_bound(self.facts.values(), name)
    }

    /// True if the object or a member of the link defines the name. Local symbols of the object are
    /// ignored, because they define nothing for a member.
    fn is_defined_in_file(&self, name: &[u8]) -> bool {
        let library = &self.audit.library;
        let mut found = library.find(name).into_iter().flat_map(|id| library.definitions(id));
        self.object.satisfies_link(name)
            || self.bind(name).is_some_and(|bind| bind != elf::STB_LOCAL)
            || found.any(|found| self.facts.contains_key(&found.member))
    }

    /// True for a weak reference that no definition satisfies, so that its value is 0. The distance
    /// to address 0 is unknown in code that may be loaded anywhere.
    fn is_nothing(&self, global: &Global, name: &[u8]) -> bool {
        // No library satisfies a reference with restricted visibility.
        is_weak_reference(global)
            && !self.is_defined(name)
            && (global.visibility != 0 || !self.libraries.define(name))
    }

    /// True for a reference to a section bound (`__start_foo`) that no file defines, if a member
    /// has the section.
    fn is_bound(&self, global: &Global, name: &[u8]) -> bool {
        global.section == 0
            && sections::define_bound(self.facts.values(), name)
            && !self.is_defined_in_file(name)
    }

    fn wrong_abi(&self, member: MemberId) -> Option<String> {
        let library = self.object.header.target();
        let target = self.audit.library.member(member).target?;
        let differs = abi(library) != abi(target);
        differs.then(|| "is built for another ABI (e_flags)".to_owned())
    }

    /// The first version of the member's definitions that the object does not define, in words.
    /// `None` if there is none. Linkers reject the version in a shared object, because the version
    /// script does not have it.
    fn unknown_version(&self, facts: &LinkFacts) -> Option<String> {
        let object = self.object;
        let is_defined = |version: &[u8]| {
            let mut defs = object.versions.defs.iter().filter(|def| !def.base);
            defs.any(|def| object.str(def.name) == version)
        };
        let mut versions = facts.versions.iter().filter(|_| self.kind == OutputKind::Shared);
        let version = show(versions.find(|version| !is_defined(version))?);
        Some(format!(
            "defines a symbol of version {version}: linkers require a version script that has {version}"
        ))
    }

    /// The first relocation that the kind of output does not allow, in words; `None` if there is
    /// none.
    fn misplaced(
        &self,
        facts: &LinkFacts,
        is_restricted: &dyn Fn(&[u8]) -> bool,
    ) -> Option<String> {
        if self.kind == OutputKind::Any {
            return None;
        }
        let is_shared = self.kind == OutputKind::Shared;
        let target = self.object.header.target();
        for relocation in &facts.relocations {
            let section = relocation.section;
            if !facts.is_loaded(section) {
                continue;
            }
            let Some(demand) = demand(target, relocation.kind) else {
                return Some("has relocations of an unknown machine".to_owned());
            };
            let global = relocation.global.and_then(|global| facts.globals.get(global));
            let use_of_name = (demand, relocation.kind, facts.is_writable(section));
            let named = global.filter(|global| imports::is_reference(global));
            let named = named.map(|global| (global, facts.name(global)));
            if let Some(why) = named.and_then(|named| self.unreachable(use_of_name, named)) {
                return Some(why);
            }
            if self.kind == OutputKind::Executable {
                continue;
            }
            // With `-Bsymbolic`, the output's own definitions cannot be replaced.
            let is_symbolic =
                |global: &Global| self.object.symbolic && !imports::is_reference(global);
            let replaceable = || {
                global.is_some_and(|global| {
                    let name = facts.name(global);
                    is_replaceable(global, name, is_restricted)
                        && !is_symbolic(global)
                        && !self.is_bound(global, name)
                })
            };
            let nothing = global.filter(|_| demand == Demand::Distance);
            let nothing = nothing.filter(|global| self.is_nothing(global, facts.name(global)));
            if let Some(nothing) = nothing {
                let name = show(facts.name(nothing));
                let kind = relocation_name(target, relocation.kind);
                let who = match nothing.visibility {
                    _ if sections::may_define(facts.name(nothing)) => {
                        "a linker accepts it only if the library has that section"
                    }
                    0 => rejecting(target, demand),
                    _ => "GNU ld or mold rejects it",
                };
                let state = match self.bind(facts.name(nothing)) {
                    Some(elf::STB_LOCAL) => "undefined or local",
                    _ => "undefined",
                };
                return Some(format!(
                    "needs the distance to the {state} symbol {name} ({kind}): {who}"
                ));
            }
            let refused = match demand {
                Demand::Nothing => false,
                Demand::Address => !relocation.absolute,
                Demand::Word => !relocation.absolute && !facts.is_writable(section),
                Demand::Distance => is_shared && replaceable(),
                Demand::ProgramTls => is_shared,
            };
            if refused {
                let what = match demand {
                    Demand::ProgramTls => "uses the local-exec TLS model",
                    _ => "is not position-independent",
                };
                let of = global.map(|global| format!(" for {}", show(facts.name(global))));
                let kind = relocation_name(target, relocation.kind);
                let of = of.unwrap_or_default();
                let who = if imports::is_unloadable(target, (relocation.kind, use_of_name.2)) {
                    "glibc does not load the output of GNU ld and lld"
                } else {
                    rejecting(target, demand)
                };
                // A linked file records neither its version script nor -Bsymbolic-functions.
                let is_hideable = |global: &&Global| {
                    let is_own = !imports::is_reference(global);
                    demand == Demand::Distance
                        && (is_own || self.is_defined_in_file(facts.name(global)))
                };
                let hidden = global.filter(is_hideable);
                let unless = hidden.map(|global| imports::unless_bound(global, facts.name(global)));
                let unless = unless.unwrap_or_default();
                return Some(format!("{what} ({kind}{of}): {who}{unless}"));
            }
        }
        None
    }

    /// The reason why a relocation cannot refer to a name that its member does not define, in
    /// words. `None` if linkers accept the relocation.
    fn unreachable(
        &self,
        (demand, kind, is_writable): (Demand, u32, bool),
        (global, name): (&Global, &[u8]),
    ) -> Option<String> {
        let kind = || relocation_name(self.object.header.target(), kind);
        if name == TLS_MODULE_BASE {
            // Only thread-local relocations may refer to this symbol.
            return imports::holds_address(demand, is_writable).then(|| {
                let (name, kind) = (show(name), kind());
                format!("needs the address of {name} ({kind}): GNU ld rejects it")
            });
        }
        if self.kind == OutputKind::Shared {
            return None;
        }
        // No library satisfies a reference with restricted visibility.
        let symbol = || self.libraries.definition(name).filter(|_| global.visibility == 0);
        if imports::holds_address(demand, is_writable) {
            let output = (self.kind, self.object.header.target());
            let why =
                imports::refusal(&symbol()?, output).filter(|_| !self.is_defined_in_file(name))?;
            let (name, kind) = (show(name), kind());
            return Some(format!("needs the address of {name} of a library ({kind}), {why}"));
        }
        // The offset of a name without a definition is 0 in a program at a fixed address.
        let is_outside = demand == Demand::ProgramTls
            && (self.kind == OutputKind::Pie || symbol().is_some())
            && !self.is_defined_in_file(name);
        is_outside.then(|| {
            let (name, kind) = (show(name), kind());
            format!(
                "uses the local-exec TLS model for {name}, which the program does not define \
                 ({kind}): lld rejects it"
            )
        })
    }

    /// New members with a strong definition of a name that another new member or the object also
    /// defines, each with the reason.
    fn twice(&self) -> Vec<(MemberId, String)> {
        let repeated = self.repeated();
        let mut defined: FastMap<&[u8], (MemberId, Option<&[u8]>)> = FastMap::default();
        let of_library = parallel::map(&self.new, |member| {
            let facts = self.facts.get(member)?;
            let mut found = strong(facts).enumerate();
            found.find_map(|(at, (global, name))| Some((at, self.duplicate(facts, global, name)?)))
        });
        let mut out = Vec::new();
        for (member, of_library) in self.new.iter().zip(of_library) {
            let Some(facts) = self.facts.get(member) else { continue };
            if of_library.is_none() && !repeated.contains(member) {
                continue;
            }
            for (at, (global, name)) in strong(facts).enumerate() {
                if let Some((_, duplicate)) = of_library.filter(|(first, _)| *first == at) {
                    let why = duplicate.reason(&self.name(*member), &show(name));
                    out.push((*member, why));
                }
                let group = facts.group_of(global.section);
                let Some((other, of)) = defined.insert(name, (*member, group)) else { continue };
                // The linker keeps one copy of a group.
                if other != *member && (group.is_none() || group != of) {
                    for (one, other) in [(*member, other), (other, *member)] {
                        let (word, other) = (self.name(one), self.name(other));
                        out.push((
                            one,
                            format!(
                                "{word} duplicates a definition of {other}: no linker accepts both"
                            ),
                        ));
                    }
                }
            }
        }
        out
    }

    /// New members that share the hash of a strongly defined name with another new member. Both may
    /// define the same name.
    fn repeated(&self) -> FastSet<MemberId> {
        let library = &self.audit.library;
        let mut first: FastMap<u64, MemberId> = FastMap::default();
        first.reserve(self.new.iter().map(|member| library.strong_hashes(*member).count()).sum());
        let mut out = FastSet::default();
        for member in &self.new {
            for hash in library.strong_hashes(*member) {
                let other = *first.entry(hash).or_insert(*member);
                if other != *member {
                    out.extend([*member, other]);
                }
            }
        }
        out
    }
}

/// The linkers that reject a relocation, in words. Demands are computed by the rules of lld. Other
/// linkers leave some relocations to the loader, even in read-only sections.
fn rejecting(target: Target, demand: Demand) -> &'static str {
    match demand {
        Demand::Word => "lld rejects it, GNU ld and mold make text relocations",
        _ if target.machine == elf::EM_X86_64.0 => "no linker accepts it",
        _ => "lld rejects it",
    }
}

/// The strong definitions of a member, each with its name.
fn strong(facts: &LinkFacts) -> impl Iterator<Item = (&Global, &[u8])> {
    let strong = facts.globals.iter().filter(|global| is_strong(global));
    strong.map(move |global| (global, facts.name(global)))
}

/// True for a definition or reference that another object's definition may replace.
fn is_replaceable(global: &Global, name: &[u8], is_restricted: &dyn Fn(&[u8]) -> bool) -> bool {
    global.visibility == 0 && !global.absolute && !is_restricted(name)
}

fn is_weak_reference(global: &Global) -> bool {
    let is_defined = global.section != 0 || global.absolute || global.common;
    elf::SymbolBind(global.bind) == elf::STB_WEAK && !is_defined
}

fn is_strong(global: &Global) -> bool {
    let defined = global.section != 0 || global.absolute;
    let is_strong = [elf::STB_GLOBAL, elf::STB_GNU_UNIQUE].contains(&elf::SymbolBind(global.bind));
    is_strong && defined && !global.common
}

/// The bits of e_flags that must be equal in all objects of a link.
fn abi(target: Target) -> u32 {
    let mask = if target.machine == elf::EM_RISCV.0 {
        // The floating-point calling convention (0x6), and RVE, the ABI with 16 registers (0x8).
        0x6 | 0x8
    } else if target.machine == elf::EM_ARM.0 {
        elf::EF_ARM_EABIMASK
    } else if target.machine == elf::EM_PPC64.0 {
        // Objects may omit the ABI version.
        0
    } else if target.machine == elf::EM_LOONGARCH.0 {
        0x7
    } else {
        0
    };
    target.flags & mask
}
