//! Removes names that only the symbol tables show as undefined. The linker defines such a name
//! because of a section, or no relocation in the output refers to the name. lld looks only at
//! relocations of loaded sections (`scanRelocations` in `lld/ELF/Relocations.cpp`). GNU ld and mold
//! look at debug sections too. `gc` finds the sections that `--gc-sections` drops.

use super::checked::CheckedReferences;
use super::gc::KeptSections;
use super::object_facts::ObjectFacts;
use super::position::{Demand, demand};
use super::read_order::read_order;
use super::unwind::UnwindTable;
use super::{Coverage, CoverageQuestion, Linker, LinkerDefined, ReferredBy};
use crate::format::archive::{self, Global, LinkFacts};
use crate::id::{FastMap, FastSet, MemberId};
use crate::parallel;
use object::elf;

/// Mask of the low bits of a hash, by which [`rivals`] rejects most hashes quickly.
const SEEN: u64 = (1 << 16) - 1;

/// Members whose facts [`Refining`] needs. Usually, these are the members that refer to undefined
/// names. If [`decides_by_sections`] is true, these are all needed members.
pub fn referring(question: &CoverageQuestion<'_>, coverage: &Coverage) -> Vec<MemberId> {
    if decides_by_sections(question, coverage) {
        return coverage.order.clone();
    }
    let by = coverage.undefined.iter().flat_map(|undefined| &undefined.by);
    let mut out: Vec<MemberId> = by
        .filter_map(|by| match by {
            ReferredBy::Member(member) => Some(*member),
            ReferredBy::Asked
            | ReferredBy::EntryPoint
            | ReferredBy::LibraryCall
            | ReferredBy::Root(_) => None,
        })
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// The names by which an object may refer to a name in `undefined`: that name itself, and names
/// that `--wrap` redirects to it.
pub fn referring_names<'n>(
    question: &'n CoverageQuestion<'_>,
    undefined: &'n FastSet<Box<[u8]>>,
) -> FastSet<&'n [u8]> {
    let mut out: FastSet<&[u8]> = undefined.iter().map(|name| &**name).collect();
    for wrap in question.link.iter().flat_map(|link| &link.wraps) {
        out.extend(undefined.contains(&wrap.wrapper).then_some(&*wrap.name));
        out.extend(undefined.contains(&wrap.name).then_some(&*wrap.real));
    }
    out
}

/// The undefined name to which `--wrap` redirects a reference to `name`, or else `name` itself. lld
/// ignores `--wrap` for names that no file has.
fn counted<'n>(
    question: &'n CoverageQuestion<'_>,
    undefined: &FastSet<Box<[u8]>>,
    name: &'n [u8],
) -> &'n [u8] {
    let redirected = question.link.map_or(name, |link| link.reference(name));
    if undefined.contains(redirected) { redirected } else { name }
}

/// True if the sections of all needed members decide which names stay undefined. This is so with
/// `--gc-sections`, or if the linker defines a name only because of a section.
pub fn decides_by_sections(question: &CoverageQuestion<'_>, coverage: &Coverage) -> bool {
    let decides = |name: &[u8]| {
        !matches!(question.linker_defines(name), LinkerDefined::No | LinkerDefined::Always)
    };
    let mut names = coverage.undefined.iter().map(|undefined| &*undefined.symbol);
    if question.gc_sections { names.next().is_some() } else { names.any(decides) }
}

/// Needed members without facts that may have a copy of a COMDAT group of an object in `facts`.
/// Only members that the linker reads before that object are returned, because the linker keeps the
/// first copy. Groups without a reference in `checked` are ignored.
pub fn rivals(
    question: &CoverageQuestion<'_>,
    coverage: &Coverage,
    facts: &ObjectFacts,
    checked: &CheckedReferences<'_>,
) -> Vec<MemberId> {
    let library = question.library;
    let is_checked = |by: ReferredBy, name: &[u8]| {
        let redirected = question.link.map_or(name, |link| link.reference(name));
        checked.has(by, name) || checked.has(by, redirected)
    };
    let places = read_order(question, coverage);
    let groups = parallel::map(&places, |by| -> (Vec<u64>, bool) {
        let groups = facts.of(*by).map(|facts| facts.group_names(|name| is_checked(*by, name)));
        let groups = groups.unwrap_or_default();
        (groups.names.into_iter().map(|name| library.hash(name)).collect(), groups.may_differ)
    });
    // The last place with a group whose copies may have no name in common. Every object before this
    // place may have a copy of the group.
    let end = groups.iter().rposition(|(_, may_differ)| *may_differ).unwrap_or(0);
    let last: FastMap<u64, usize> = (0..)
        .zip(groups)
        .flat_map(|(place, (of, _))| of.into_iter().map(move |hash| (hash, place)))
        .collect();
    if last.is_empty() {
        return Vec::new();
    }
    // The groups are few: a table of low bits rejects most other hashes.
    let mut seen = vec![false; 1 << 16];
    last.keys().for_each(|hash| seen[(*hash & SEEN) as usize] = true);
    let is_later = |hash: &u64, place: usize| {
        seen[(*hash & SEEN) as usize] && last.get(hash).is_some_and(|last| *last > place)
    };
    let unread: Vec<(usize, MemberId)> = places
        .iter()
        .enumerate()
        .filter_map(|(place, by)| Some((place, by.member()?)))
        .filter(|(_, member)| !facts.members.contains_key(member))
        .collect();
    let found = parallel::map(&unread, |(place, member)| {
        *place < end || library.hashes(*member).iter().any(|hash| is_later(hash, *place))
    });
    let found = unread.into_iter().zip(found).filter(|(_, is_rival)| *is_rival);
    let mut out: Vec<MemberId> = found.map(|((_, member), _)| member).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// True if the linker also looks at relocations of sections that are not loaded.
pub fn counts_every_section(question: &CoverageQuestion<'_>) -> bool {
    matches!(question.output.linker, Some(Linker::Gnu | Linker::Mold))
}

/// The undefined names that [`Refining::refine`] checks.
pub struct Refining<'a> {
    /// The question whose coverage is refined.
    pub question: &'a CoverageQuestion<'a>,
    /// The names that are undefined before references are checked.
    pub undefined: &'a FastSet<Box<[u8]>>,
}

impl Refining<'_> {
    /// Removes references that the linker does not report, names that have no reference left, and
    /// names that the linker defines. References that are not in `checked` stay.
    pub fn refine(
        &self,
        coverage: &mut Coverage,
        facts: &ObjectFacts,
        checked: &CheckedReferences<'_>,
    ) {
        let Self { question, undefined } = *self;
        let places = read_order(question, coverage);
        let owners = owners(&places, facts, decides_by_sections(question, coverage));
        let live = Live { question, facts, owners: &owners, undefined, kept: None };
        let is_discarded = |by: ReferredBy, section: usize| {
            facts.of(by).is_some_and(|of| live.is_discarded(by, of, section))
        };
        let (forgotten, valueless) = (&coverage.forgotten, &coverage.valueless);
        let kept = question
            .gc_sections
            .then(|| KeptSections::find(question, (facts, &places), forgotten, &is_discarded));
        let live = Live { kept, ..live };
        let mut referrers: Vec<ReferredBy> = coverage
            .undefined
            .iter()
            .flat_map(|one| one.by.iter().filter(|by| checked.has(**by, &one.symbol)))
            .copied()
            .collect();
        referrers.sort_unstable();
        referrers.dedup();
        let names = parallel::map(&referrers, |by| live.references(*by));
        let references: FastMap<ReferredBy, CountedNames<'_>> =
            referrers.into_iter().zip(names).filter_map(|(by, names)| Some((by, names?))).collect();
        let counts = |by: &ReferredBy, name: &[u8]| {
            references.get(by).is_none_or(|names| names.get(name).is_none_or(|counts| *counts))
        };
        coverage.undefined.retain_mut(|undefined| {
            if live.is_linker_defined(&undefined.symbol, &places) {
                return false;
            }
            let (name, by) = (&undefined.symbol, &mut undefined.by);
            if valueless.contains(name) {
                let is_known = by.iter().any(|by| live.may_give_value(*by, name));
                by.retain(|by| *by == ReferredBy::Asked);
                return !is_known;
            }
            by.retain(|by| !checked.has(*by, name) || counts(by, name));
            undefined.unread = by.iter().filter(|by| !checked.has(**by, name)).count();
            !by.is_empty()
        });
    }
}

/// The undefined names of one object. The value is true if a relocation in the output refers to the
/// name, or if the linker needs a definition without one.
type CountedNames<'f> = FastMap<&'f [u8], bool>;

/// For each COMDAT group, the first object in `places` that has a copy of the group: the linker
/// keeps this copy. Unless `every` is set, the result has only groups with a relocation that was
/// read.
fn owners<'f>(
    places: &[ReferredBy],
    facts: &'f ObjectFacts,
    every: bool,
) -> FastMap<&'f [u8], ReferredBy> {
    let objects = || places.iter().filter_map(|by| facts.of(*by));
    let wanted: FastSet<&[u8]> =
        if every { FastSet::default() } else { objects().flat_map(LinkFacts::referring).collect() };
    let found = parallel::map(places, |by| -> Vec<&'f [u8]> {
        let all = facts.of(*by).into_iter().flat_map(LinkFacts::signatures);
        all.filter(|signature| every || wanted.contains(signature)).collect()
    });
    let mut out = FastMap::default();
    for (by, signatures) in places.iter().zip(found) {
        for signature in signatures {
            out.entry(signature).or_insert(*by);
        }
    }
    out
}

struct Live<'a> {
    question: &'a CoverageQuestion<'a>,
    facts: &'a ObjectFacts,
    owners: &'a FastMap<&'a [u8], ReferredBy>,
    /// The names that are undefined before references are checked.
    undefined: &'a FastSet<Box<[u8]>>,
    /// The sections that `--gc-sections` keeps; `None` without that option.
    kept: Option<KeptSections<'a>>,
}

impl Live<'_> {
    fn is_discarded(&self, by: ReferredBy, facts: &LinkFacts, section: usize) -> bool {
        let is_gnu = self.question.output.linker == Some(Linker::Gnu);
        let group = facts.group_of(section);
        let group = group.filter(|group| is_gnu || !group.starts_with(archive::LINK_ONCE));
        group.is_some_and(|group| self.owners.get(group).is_some_and(|owner| *owner != by))
    }

    fn is_dropped(&self, by: ReferredBy, section: usize) -> bool {
        self.kept.as_ref().is_some_and(|kept| !kept.has(by, section))
    }

    /// The undefined names of an object. The value is true if a relocation of a kept section refers
    /// to the name. `None` if the object could not be read.
    fn references(&self, by: ReferredBy) -> Option<CountedNames<'_>> {
        let facts = self.facts.of(by)?;
        let every_section = counts_every_section(self.question);
        let counted = |name| counted(self.question, self.undefined, name);
        let globals = facts.globals.iter();
        let names = globals.map(|global| (counted(facts.name(global)), self.is_required(global)));
        let mut out: CountedNames<'_> =
            names.filter(|(name, _)| self.undefined.contains(*name)).collect();
        let mut tables: FastMap<usize, bool> = FastMap::default();
        for (at, relocation) in facts.relocations.iter().enumerate() {
            let global = relocation.global.and_then(|global| facts.globals.get(global));
            let name = global.map(|global| counted(facts.name(global)));
            let Some((name, known)) = name.and_then(|name| Some((name, out.get_mut(name)?))) else {
                continue;
            };
            let section = relocation.section;
            *known = *known
                || !self.is_marker(relocation.kind)
                    && !self.is_relaxed(facts, at)
                    && !self.is_unwrapped(facts, section, name)
                    && (facts.is_loaded(section) || every_section && facts.is_kept(section))
                    && !self.is_discarded(by, facts, section)
                    && !self.is_dropped(by, section)
                    && !*tables
                        .entry(section)
                        .or_insert_with(|| self.is_silent_table(by, facts, section));
        }
        Some(out)
    }

    /// True if a relocation of the object makes the linker copy the data `name` from a shared object
    /// to the program, or gives the function `name` an address there. True for objects that were
    /// not read and for machines without a table.
    fn may_give_value(&self, by: ReferredBy, name: &[u8]) -> bool {
        let question = self.question;
        if !question.makes_program() || matches!(by, ReferredBy::Asked | ReferredBy::EntryPoint) {
            return false;
        }
        let (Some(facts), Some(target)) = (self.facts.of(by), question.target()) else {
            return true;
        };
        // GNU ld takes the address of an entry in the procedure linkage table.
        let is_gnu = question.output.linker == Some(Linker::Gnu);
        let is_x86_64 = elf::Machine(target.machine) == elf::EM_X86_64;
        facts.relocations.iter().any(|relocation| {
            let (kind, section) = (relocation.kind, relocation.section);
            let gives = match demand(target, kind) {
                None | Some(Demand::Address | Demand::Distance) => true,
                Some(Demand::Word) => !facts.is_writable(section),
                Some(Demand::Nothing) => is_gnu && (!is_x86_64 || kind == elf::R_X86_64_PLT32.0),
                Some(Demand::ProgramTls) => false,
            };
            let global = relocation.global.and_then(|global| facts.globals.get(global));
            let meant = global.map(|global| counted(question, self.undefined, facts.name(global)));
            gives
                && meant == Some(name)
                && facts.is_loaded(section)
                && !self.is_discarded(by, facts, section)
                && !self.is_dropped(by, section)
        })
    }

    /// True for a strong reference that GNU ld reports even if no relocation refers to the symbol,
    /// because its visibility is restricted (`elf_link_output_extsym`).
    fn is_required(&self, global: &Global) -> bool {
        self.question.output.linker == Some(Linker::Gnu)
            && !self.question.gc_sections
            && elf::SymbolVisibility(global.visibility) != elf::STV_DEFAULT
            && elf::SymbolBind(global.bind) != elf::STB_WEAK
    }

    /// True for an unwind table whose references the linker does not report. mold 1.10 reports no
    /// reference of unwind tables. GNU ld drops a table if it discards or drops all functions of
    /// the table, but reports all references of any other table (`_bfd_elf_discard_section_eh_frame`
    /// in `bfd/elf-eh-frame.c`).
    fn is_silent_table(&self, by: ReferredBy, facts: &LinkFacts, section: usize) -> bool {
        let is_table = facts.sections.get(section).is_some_and(|section| section.is_unwind_table);
        let linker = self.question.output.linker;
        if !is_table || linker != Some(Linker::Gnu) {
            return is_table && linker == Some(Linker::Mold);
        }
        let functions = UnwindTable::new(facts, section, linker).functions;
        let is_gone = |function: &usize| {
            self.is_discarded(by, facts, *function) || self.is_dropped(by, *function)
        };
        !functions.is_empty() && functions.iter().all(is_gone)
    }

    /// True for a relocation of type NONE under lld and mold: it changes nothing. GNU ld counts it
    /// as a reference, and reports its symbol if it is undefined.
    fn is_marker(&self, kind: u32) -> bool {
        kind == elf::R_X86_64_NONE.0
            && matches!(self.question.output.linker, Some(Linker::Lld | Linker::Mold))
    }

    /// True for a reference to the wrapper of `--wrap` in a debug section: GNU ld lets such a
    /// reference go to the wrapped name (`unwrap_hash_lookup` in `bfd/linker.c`).
    fn is_unwrapped(&self, facts: &LinkFacts, section: usize, name: &[u8]) -> bool {
        self.question.output.linker == Some(Linker::Gnu)
            && facts.sections.get(section).is_some_and(|section| section.is_debug)
            && self.question.link.is_some_and(|link| link.is_wrapper(name))
    }

    /// True for the call of a thread-local access that the linker replaces by an offset, because
    /// the output is a program. lld and mold keep the call if the data is undefined. mold also
    /// keeps the call if the data is in a shared object. Only lld replaces calls on other machines
    /// than x86.
    fn is_relaxed(&self, facts: &LinkFacts, relocation: usize) -> bool {
        let question = self.question;
        let Some(data) = facts.tls_calls.get(&relocation) else { return false };
        let machine = question.target().map(|target| elf::Machine(target.machine));
        let is_x86 = matches!(machine, Some(elf::EM_X86_64 | elf::EM_386));
        let linker = question.output.linker;
        let is_kept = question.link.is_some_and(|link| link.keeps_tls_calls);
        if is_kept || !question.makes_program() || !is_x86 && linker != Some(Linker::Lld) {
            return false;
        }
        let name = data.and_then(|at| facts.globals.get(at)).map(|global| facts.name(global));
        let Some(name) = name.filter(|_| linker != Some(Linker::Gnu)) else { return true };
        let name = question.link.map_or(name, |link| link.reference(name));
        !self.undefined.contains(name) && (linker == Some(Linker::Lld) || !question.is_shared(name))
    }

    /// True if the linker defines `name`: in every link, or because of a section of some object. An
    /// object that could not be read may have that section.
    fn is_linker_defined(&self, name: &[u8], places: &[ReferredBy]) -> bool {
        let decides: &dyn Fn(&archive::ObjectSection) -> bool =
            match self.question.linker_defines(name) {
                LinkerDefined::No => return false,
                LinkerDefined::Always => return true,
                LinkerDefined::WithSection(wanted) => {
                    &move |section| section.name.as_deref() == Some(wanted)
                }
                LinkerDefined::WithTls => &|section| section.is_tls(),
            };
        places.iter().any(|by| {
            let Some(facts) = self.facts.of(*by) else { return self.is_unknown(*by) };
            facts.sections.iter().enumerate().any(|(at, section)| {
                decides(section)
                    && facts.is_kept(at)
                    && !self.is_discarded(*by, facts, at)
                    && !self.is_dropped(*by, at)
            })
        })
    }

    /// True for an object that could not be read. False for a linked root: the output does not get
    /// its sections.
    fn is_unknown(&self, by: ReferredBy) -> bool {
        match by {
            ReferredBy::Root(at) => !self.question.roots[at].linked,
            ReferredBy::Asked
            | ReferredBy::EntryPoint
            | ReferredBy::LibraryCall
            | ReferredBy::Member(_) => true,
        }
    }
}
