//! The sections that `--gc-sections` keeps. An undefined name is reported only if a kept section
//! refers to it; `refine` checks each reference.
//!
//! A linker keeps the sections of the entry point and of exported names, sections that a linker
//! script keeps, and all sections to which kept sections refer (`lld/ELF/MarkLive.cpp`;
//! `bfd/elflink.c`, `bfd_elf_gc_sections`). In doubt a section is kept. An object that could not be
//! read, or that is intermediate language, keeps all sections to which it refers. `unwind` has the
//! references of an `.eh_frame`.

use super::object_facts::ObjectFacts;
use super::unwind::{RelocationTarget, UnwindTable};
use super::{CoverageQuestion, ENTRY, Link, Linker, OutputKind, ReferredBy};
use crate::format::archive::{LinkFacts, ObjectSection, SymbolKind};
use crate::id::{FastMap, FastSet};
use object::elf;

/// A section of an object, by its index.
type SectionNode = (ReferredBy, usize);

/// The sections that `--gc-sections` keeps.
pub(super) struct KeptSections<'a> {
    facts: &'a ObjectFacts,
    live: FastSet<SectionNode>,
    /// Objects with a kept, loaded section other than notes and unwind tables.
    used: FastSet<ReferredBy>,
    is_gnu: bool,
}

/// The section that defines a name.
#[derive(Clone, Copy)]
struct DefiningSection {
    node: SectionNode,
    is_weak: bool,
    is_exported: bool,
}

struct Marker<'a> {
    question: &'a CoverageQuestion<'a>,
    facts: &'a ObjectFacts,
    places: &'a [ReferredBy],
    /// Shared objects that are not part of the link, as indices of roots.
    forgotten: &'a FastSet<usize>,
    discarded: &'a dyn Fn(ReferredBy, usize) -> bool,
    defined: FastMap<&'a [u8], DefiningSection>,
    /// For GNU ld: each symbol that `--defsym` or a script makes equal to other symbols, with
    /// these other symbols.
    copies: FastMap<&'a [u8], Vec<&'a [u8]>>,
    live: FastSet<SectionNode>,
    todo: Vec<SectionNode>,
    /// Each unwind table, with the sections of its functions.
    unwound: Vec<(SectionNode, Vec<usize>)>,
}

impl<'a> KeptSections<'a> {
    /// Marks the kept sections of the objects in `places`, which is in link order. The shared
    /// objects in `forgotten` keep no sections.
    pub(super) fn find(
        question: &'a CoverageQuestion<'a>,
        (facts, places): (&'a ObjectFacts, &'a [ReferredBy]),
        forgotten: &'a FastSet<usize>,
        discarded: &'a dyn Fn(ReferredBy, usize) -> bool,
    ) -> Self {
        let mut marker = Marker {
            question,
            facts,
            places,
            forgotten,
            discarded,
            defined: FastMap::default(),
            copies: FastMap::default(),
            live: FastSet::default(),
            todo: Vec::new(),
            unwound: Vec::new(),
        };
        marker.define();
        marker.copy();
        marker.begin();
        marker.spread();
        let is_gnu = question.output.linker == Some(Linker::Gnu);
        let Marker { mut live, unwound, .. } = marker;
        // GNU ld drops an unwind table without entries for kept functions.
        for (node, functions) in unwound.iter().filter(|_| is_gnu) {
            let is_kept = |section: &usize| live.contains(&(node.0, *section));
            if !functions.is_empty() && !functions.iter().any(is_kept) {
                live.remove(node);
            }
        }
        let is_loaded = |(by, section): &SectionNode| {
            facts.of(*by).is_some_and(|facts| {
                let is_other = facts.sections.get(*section).is_some_and(|section| {
                    section.is_unwind_table || section.kind == elf::SHT_NOTE.0
                });
                facts.is_loaded(*section) && !is_other
            })
        };
        let used = live.iter().filter(|node| is_loaded(node)).map(|(by, _)| *by).collect();
        Self { facts, live, used, is_gnu }
    }

    /// True if a section of an object is in the output, or if the object could not be read. lld
    /// and mold keep all sections that are not loaded. Of the sections that are not loaded, GNU ld
    /// keeps only debug sections. GNU ld drops a debug section if it drops all loaded sections of
    /// the object, or the other sections of the debug section's group
    /// (`_bfd_elf_gc_mark_extra_sections`).
    pub(super) fn has(&self, by: ReferredBy, section: usize) -> bool {
        let Some(facts) = self.facts.of(by) else { return true };
        if self.live.contains(&(by, section)) {
            // GNU ld drops a section together with its SHF_LINK_ORDER parent, even if another
            // section refers to it.
            let parent = facts.sections.get(section).and_then(|section| section.ordered_by);
            let parent = parent.map(|parent| parent as usize);
            return !self.is_gnu || parent.is_none_or(|parent| self.live.contains(&(by, parent)));
        }
        let is_debug = || self.used.contains(&by) && is_free_debug_section(facts, section);
        !facts.is_loaded(section) && (!self.is_gnu || is_debug())
    }
}

impl<'a> Marker<'a> {
    fn objects(&self) -> impl Iterator<Item = (ReferredBy, &'a LinkFacts)> + use<'a> {
        let facts = self.facts;
        self.places.iter().filter_map(move |by| Some((*by, facts.of(*by)?)))
    }

    /// Records the section that defines each name: the section of the first strong definition, or
    /// else of the first definition.
    fn define(&mut self) {
        for (by, facts) in self.objects() {
            for global in facts.globals.iter().filter(|global| global.section > 0) {
                let node = (by, global.section);
                if global.common || global.absolute || (self.discarded)(by, global.section) {
                    continue;
                }
                let hidden = [elf::STV_HIDDEN.0, elf::STV_INTERNAL.0];
                let new = DefiningSection {
                    node,
                    is_weak: global.bind == elf::STB_WEAK.0,
                    is_exported: !hidden.contains(&global.visibility),
                };
                let known = self.defined.entry(facts.name(global)).or_insert(new);
                if known.is_weak && !new.is_weak {
                    *known = new;
                }
            }
        }
    }

    /// Records the symbols that `--defsym` and scripts make equal to another symbol. In GNU ld,
    /// such a symbol lies in the section of the other symbol (`exp_fold_tree_1` in `ld/ldexp.c`,
    /// in the phase `lang_mark_phase_enum`). The symbol replaces an object's definition of the
    /// same name, except with PROVIDE.
    fn copy(&mut self) {
        if self.question.output.linker != Some(Linker::Gnu) {
            return;
        }
        for defined in self.question.link.into_iter().flat_map(|link| &link.defined) {
            let name = &*defined.name;
            if defined.provided && self.defined.contains_key(name) {
                continue;
            }
            // An expression of the symbol itself has its section too.
            if defined.refers.iter().chain(&defined.guarded).any(|other| **other == *name) {
                continue;
            }
            let copied = defined.copied.iter().map(|name| &**name);
            self.copies.insert(name, copied.collect());
        }
    }

    /// Adds the sections that are kept without a reference from another section.
    fn begin(&mut self) {
        let question = self.question;
        let link = question.link;
        let options = link.into_iter().flat_map(|link| &link.undefined).map(|name| &**name);
        // A name in an expression of `--defsym` keeps its section in lld.
        let is_lld = matches!(question.output.linker, None | Some(Linker::Lld));
        let expressions = link.filter(|_| is_lld).into_iter().flat_map(Link::expressions);
        let asked: Vec<&[u8]> = options.chain(expressions).collect();
        let is_shared = question.output.kind == OutputKind::Shared
            || question.output.kind == OutputKind::Any
                && question.roots.iter().any(|root| root.linked && !root.input);
        let mut names: FastSet<&[u8]> = asked.iter().copied().collect();
        names.extend(question.symbols.iter().map(|name| &**name));
        names.extend([&b"_init"[..], b"_fini"]);
        // If the start files are not among the inputs, `main` takes the place of the entry point.
        let start = link.map_or(ENTRY, Link::entry);
        let main: Option<&[u8]> = (start == ENTRY).then_some(b"main");
        let mut starts = std::iter::once(start).chain(main);
        let entry = starts.find(|name| self.defined.contains_key(*name));
        names.extend(entry);
        names.extend(self.of_linked());
        names.extend(self.of_unread());
        if question.output.linker == Some(Linker::Gnu) {
            names.extend(self.marked_by_debuggers());
        }
        for name in names {
            self.name(name);
        }
        if is_shared || self.exports_names_of_program() {
            let exported = self.defined.values().filter(|definition| definition.is_exported);
            self.todo.extend(exported.map(|definition| definition.node));
            if question.output.linker == Some(Linker::Gnu) {
                self.exported_markers().into_iter().for_each(|node| self.add(node));
            }
        }
        let is_blind = entry.is_none() && !is_shared && names_nothing(question, &asked);
        for (by, facts) in self.objects() {
            for (at, section) in facts.sections.iter().enumerate() {
                let is_root = is_blind && matches!(by, ReferredBy::Root(_));
                // mold keeps all sections whose start a `__start_` symbol could mark.
                let is_mold = question.output.linker == Some(Linker::Mold);
                let is_marked = is_mold && section.name.is_some();
                let is_reserved = section.is_reserved() && !(is_mold && section.is_jcr);
                if facts.is_loaded(at) && (is_reserved || is_marked || is_root) {
                    self.add((by, at));
                }
            }
        }
    }

    /// The names whose definitions are kept because of a linked root. A shared object keeps each
    /// exported definition of a name to which it refers or that it defines itself. The definition
    /// in the output replaces the shared object's own definition: `exportDynamic` in
    /// `lld/ELF/Symbols.cpp`, `ref_dynamic` in `bfd/elflink.c`
    /// (`bfd_elf_gc_mark_dynamic_ref_symbol`), and `compute_import_export` of mold.
    fn of_linked(&self) -> Vec<&'a [u8]> {
        let question = self.question;
        let roots = question.roots.iter().enumerate().filter(|(_, root)| root.linked);
        let mut out: Vec<&'a [u8]> = Vec::new();
        for (at, root) in roots.filter(|(at, _)| !self.forgotten.contains(at)) {
            let undefined = root.symbols.iter().filter(|(_, kind)| *kind != SymbolKind::Strong);
            let undefined = undefined.map(|(name, _)| &**name);
            let is_exported = |name: &&[u8]| self.defined.get(name).map(|of| of.is_exported);
            // A linked root that is not an input is treated like the objects that it was linked
            // from. References of these objects bind to hidden definitions too.
            out.extend(undefined.filter(|name| !root.input || is_exported(name) != Some(false)));
            let exports = root.input.then(|| question.exports(at, &[])).into_iter().flatten();
            out.extend(exports.map(|of| of.name).filter(|name| is_exported(name) == Some(true)));
        }
        out
    }

    /// True if a program exports all its names (`--export-dynamic`). GNU ld exports none from a
    /// program that has no dynamic sections.
    fn exports_names_of_program(&self) -> bool {
        let question = self.question;
        let is_dynamic = question.output.kind == OutputKind::Pie
            || question.output.linker != Some(Linker::Gnu)
            || question.roots.iter().any(|root| root.linked);
        is_dynamic && question.link.is_some_and(|link| link.export_dynamic)
    }

    /// The names to which objects without facts may refer: all names in their symbol tables.
    fn of_unread(&self) -> Vec<&'a [u8]> {
        let question = self.question;
        let mut out: Vec<&'a [u8]> = Vec::new();
        for by in self.places.iter().filter(|by| self.facts.of(**by).is_none()) {
            match by {
                ReferredBy::Member(member) => {
                    let symbols = question.library.symbols(*member);
                    out.extend(symbols.map(|(name, _)| question.library.text(name)));
                }
                ReferredBy::Root(at) => {
                    let root = question.roots.get(*at).filter(|root| !root.linked);
                    let symbols = root.into_iter().flat_map(|root| &root.symbols);
                    out.extend(symbols.map(|(name, _)| &**name));
                }
                ReferredBy::Asked | ReferredBy::EntryPoint | ReferredBy::LibraryCall => {}
            }
        }
        let link = question.link;
        out.into_iter().map(|name| link.map_or(name, |link| link.reference(name))).collect()
    }

    /// The names `__start_SECTION` and `__stop_SECTION` to which debug sections refer. With GNU
    /// ld, such a reference keeps the sections named SECTION.
    fn marked_by_debuggers(&self) -> Vec<&'a [u8]> {
        let of_object = |(_, facts): (ReferredBy, &'a LinkFacts)| {
            let relocations = facts.relocations.iter().filter(|relocation| {
                facts.sections.get(relocation.section).is_some_and(|section| section.is_debug)
            });
            relocations.filter_map(move |r| Some(facts.name(facts.globals.get(r.global?)?)))
        };
        let names = self.objects().flat_map(of_object);
        names.filter(|n| n.starts_with(b"__start_") || n.starts_with(b"__stop_")).collect()
    }

    /// The sections at which the exported symbols `__start_SECTION` and `__stop_SECTION` are
    /// defined: for each SECTION, the first section with this name. GNU ld defines and exports
    /// these symbols if any object refers to them (`bfd_elf_define_start_stop`), and exported
    /// symbols keep their sections.
    fn exported_markers(&self) -> Vec<SectionNode> {
        let marked =
            |name: &'a [u8]| name.strip_prefix(b"__start_").or(name.strip_prefix(b"__stop_"));
        let (mut names, mut hidden) = (FastSet::default(), FastSet::default());
        for (_, facts) in self.objects() {
            for global in facts.globals.iter().filter(|global| global.section == 0) {
                let name = facts.name(global);
                let Some(section) = marked(name).filter(|_| !self.defined.contains_key(name))
                else {
                    continue;
                };
                let is_hidden =
                    [elf::STV_HIDDEN.0, elf::STV_INTERNAL.0].contains(&global.visibility);
                if is_hidden {
                    hidden.insert(name)
                } else {
                    names.insert((name, section))
                };
            }
        }
        names.retain(|(name, _)| !hidden.contains(name));
        let names: FastSet<&[u8]> = names.into_iter().map(|(_, section)| section).collect();
        let mut out: FastMap<&[u8], SectionNode> = FastMap::default();
        for (by, facts) in self.objects().filter(|_| !names.is_empty()) {
            for (at, section) in facts.sections.iter().enumerate() {
                if let Some(name) = section.name.as_deref().and_then(|name| names.get(name)) {
                    out.entry(*name).or_insert((by, at));
                }
            }
        }
        out.into_values().collect()
    }

    /// Adds the sections that a reference to `name` keeps.
    fn name(&mut self, name: &[u8]) {
        // The symbols that `name` is equal to are followed once.
        let mut rest: Vec<&'a [u8]> = match self.copies.get_mut(name) {
            Some(others) => std::mem::take(others),
            None => return self.plain_name(name),
        };
        while let Some(name) = rest.pop() {
            match self.copies.get_mut(name) {
                Some(others) => rest.append(others),
                None => self.plain_name(name),
            }
        }
    }

    fn plain_name(&mut self, name: &[u8]) {
        if let Some(definition) = self.defined.get(name) {
            self.add(definition.node);
        }
        let Some(section) = name.strip_prefix(b"__start_").or(name.strip_prefix(b"__stop_")) else {
            return;
        };
        // lld follows `-z start-stop-gc`, except for glibc's sections. The other linkers keep all
        // sections with this name, and so does a link by an unknown linker.
        let is_kept =
            self.question.output.linker != Some(Linker::Lld) || section.starts_with(b"__libc_");
        if is_kept && !self.defined.contains_key(name) {
            for (by, facts) in self.objects() {
                for (at, other) in facts.sections.iter().enumerate() {
                    if other.name.as_deref() == Some(section) {
                        self.add((by, at));
                    }
                }
            }
        }
    }

    fn add(&mut self, node: SectionNode) {
        if !(self.discarded)(node.0, node.1) {
            self.todo.push(node);
        }
    }

    /// Marks all sections to which marked sections refer.
    fn spread(&mut self) {
        let linker = self.question.output.linker;
        let is_mold = linker == Some(Linker::Mold);
        let first: FastSet<SectionNode> = self.todo.iter().copied().collect();
        let mut by_section: FastMap<SectionNode, Vec<RelocationTarget>> = FastMap::default();
        for (by, facts) in self.objects() {
            for relocation in &facts.relocations {
                let to = (relocation.global, relocation.target);
                by_section.entry((by, relocation.section)).or_default().push(to);
            }
            // Sections of one group are kept together. A SHF_LINK_ORDER section is kept with its
            // parent. mold 1.10 follows neither rule.
            let mut groups: FastMap<u32, Vec<usize>> = FastMap::default();
            for (at, section) in facts.sections.iter().enumerate() {
                if let Some(group) = section.unit.filter(|_| !is_mold) {
                    groups.entry(group).or_default().push(at);
                }
                if let Some(parent) = section.ordered_by.filter(|_| !is_mold) {
                    by_section.entry((by, parent as usize)).or_default().push((None, at));
                }
            }
            for sections in groups.values() {
                for at in sections {
                    let others = sections.iter().filter(|other| *other != at);
                    let others = others.map(|other| (None, *other));
                    by_section.entry((by, *at)).or_default().extend(others);
                }
            }
            // Every unwind table is kept, but its references do not keep code.
            for (at, section) in facts.sections.iter().enumerate() {
                if section.is_unwind_table && self.live.insert((by, at)) {
                    by_section.remove(&(by, at));
                    let table = UnwindTable::new(facts, at, linker);
                    for to in table.always {
                        self.refer(by, facts, to, true);
                    }
                    for to in table.routines {
                        self.refer(by, facts, to, false);
                    }
                    for (function, to) in table.of_functions {
                        by_section.entry((by, function)).or_default().push(to);
                    }
                    self.unwound.push(((by, at), table.functions));
                }
            }
        }
        while let Some(node) = self.todo.pop() {
            if !self.live.insert(node) {
                continue;
            }
            let Some(facts) = self.facts.of(node.0) else { continue };
            // GNU ld follows the references of sections that are not loaded. lld does so only for
            // sections that it marks because of a name. It marks them before it keeps the remaining
            // sections (`MarkLive::run`).
            let is_followed = match linker {
                Some(Linker::Gnu) => true,
                Some(Linker::Mold) => false,
                None | Some(Linker::Lld) => first.contains(&node),
            };
            if !facts.is_loaded(node.1) && !is_followed {
                continue;
            }
            for to in by_section.remove(&node).unwrap_or_default() {
                self.refer(node.0, facts, to, false);
            }
        }
    }

    fn refer(
        &mut self,
        by: ReferredBy,
        facts: &'a LinkFacts,
        (global, target): RelocationTarget,
        is_unwinding: bool,
    ) {
        let global = global.and_then(|global| facts.globals.get(global));
        let node = match global {
            // The definition of another object may replace the one of this object.
            Some(global) => {
                let name = facts.name(global);
                let name = self.question.link.map_or(name, |link| link.reference(name));
                match self.defined.get(name).filter(|_| !self.copies.contains_key(name)) {
                    Some(definition) => definition.node,
                    None => return self.name(name),
                }
            }
            None if target > 0 => (by, target),
            None => return,
        };
        let section = self.facts.of(node.0).and_then(|facts| facts.sections.get(node.1));
        let is_code = section.is_some_and(|section| {
            section.flags & (elf::SHF_EXECINSTR.0 | elf::SHF_LINK_ORDER.0) != 0
                || section.unit.is_some()
        });
        // An entry of an unwind table does not keep its function.
        if !(is_unwinding && is_code && global.is_none()) {
            self.add(node);
        }
    }
}

/// True for a debug section that GNU ld keeps or drops independently of a parent or group. Such a
/// section has no SHF_LINK_ORDER parent. It is in no group, or in a group that has only debug
/// sections.
fn is_free_debug_section(facts: &LinkFacts, section: usize) -> bool {
    let Some(section) = facts.sections.get(section) else { return false };
    let of_unit = || facts.sections.iter().filter(|other| other.unit == section.unit);
    let is_content =
        |other: &&ObjectSection| ![elf::SHT_REL.0, elf::SHT_RELA.0].contains(&other.kind);
    section.is_debug
        && section.ordered_by.is_none()
        && (section.unit.is_none() || of_unit().filter(is_content).all(|other| other.is_debug))
}

/// True if neither the question nor an option names a symbol to keep, and no root is linked.
fn names_nothing(question: &CoverageQuestion<'_>, asked: &[&[u8]]) -> bool {
    let linked = question.roots.iter().any(|root| root.linked);
    question.symbols.is_empty() && asked.is_empty() && !linked
}
