//! Coverage of static archives: which members of which archives something that is linked needs, for
//! which symbol and for whom, and what stays undefined. No link is made and no file opened: the
//! members come from the corpus ([`crate::facts::Need::Members`]).
//!
//! [`cover`] answers without regard to the order of archives, [`in_order`] by the rules of a linker,
//! [`lacking()`] for all archives of a system at once. A
//! [`Question`] names archives of a [`ArchiveSet`]; it may be asked of any set of them, so that a fix is
//! proven by asking again. `audit`, the view `archive` and fixes are the callers.

mod archive_set;
mod contained;
mod gc;
mod lacking;
mod link;
mod linker_defined;
mod object_facts;
mod order;
mod order_independent;
mod origin;
mod position;
mod refine;
mod trace;

pub use archive_set::{ArchiveEntry, ArchiveSet, Definition};
pub use contained::contained;
pub use lacking::{LackingReference, lacking};
pub use link::{Defined, Input, Link, Linker, Wrap};
pub use linker_defined::{LinkerDefined, Output, OutputKind};
pub use object_facts::Facts;
pub use order::{ENTRY, in_order};
pub use order_independent::cover;
pub use origin::Origins;
pub use position::{Demand, demand};
pub use refine::{referring, refine, rivals};
pub use trace::{Referrers, Referring};

use crate::format::archive::SymbolKind;
use crate::format::elf::tables::Symbol;
use crate::format::elf::{Object, Tables, Target};
use crate::id::{ArchiveId, MemberId};
use object::elf;
use std::path::Path;
use std::sync::Arc;

/// The bit of a version index that says that it is not the default (`VERSYM_HIDDEN`).
const HIDDEN: u16 = 0x8000;

/// A definition in a shared object.
struct Export<'a> {
    name: &'a [u8],
    bind: u8,
    kind: u8,
}

impl Export<'_> {
    fn is_weak(&self) -> bool {
        elf::SymbolBind(self.bind) == elf::STB_WEAK
    }

    fn is_function(&self) -> bool {
        [elf::STT_FUNC, elf::STT_GNU_IFUNC].contains(&elf::SymbolType(self.kind))
    }
}

/// Something that was linked, or will be, and asks for definitions.
#[derive(Clone, Debug)]
pub struct Root {
    /// The file.
    pub path: Arc<Path>,
    /// A shared library or program: what is undefined in it asks, and its definitions answer last.
    /// A relocatable object's answer first.
    pub linked: bool,
    /// A shared library that is an input of the link: its own undefined names extract members and are
    /// not reported.
    pub input: bool,
    /// Intermediate language, which linkers read with a plugin.
    pub lto: bool,
    /// What it is built for.
    pub target: Option<Target>,
    /// Its global symbols; what it exports left out if it is linked.
    pub symbols: Vec<(Box<[u8]>, SymbolKind)>,
    /// Names to which it refers with hidden, internal or protected visibility, sorted: no shared
    /// object satisfies them.
    pub hidden: Vec<Box<[u8]>>,
}

/// What is asked.
pub struct Question<'a> {
    /// The archives that are known.
    pub library: &'a ArchiveSet,
    /// Who asks.
    pub roots: &'a [Root],
    /// Names that are asked for by themselves.
    pub symbols: &'a [Box<[u8]>],
    /// Every member of the archives that are linked anyway is taken.
    pub all_members: bool,
    /// The archives that are linked anyway, in order.
    pub archives: &'a [ArchiveId],
    /// The archives that may be added, in order.
    pub candidates: &'a [ArchiveId],
    /// What the linked roots export, each in its place among `roots`: it may be a hundred thousand
    /// names, and nobody may ask for one. None where it answers for nothing.
    pub objects: &'a [Option<&'a Object>],
    /// True for what the roots' own libraries define.
    pub provided: &'a dyn Fn(&[u8]) -> bool,
    /// What the linker makes, which decides the names that it defines itself.
    pub output: Output,
    /// `--gc-sections`: sections that nothing refers to are dropped.
    pub gc_sections: bool,
    /// The link, if its order counts.
    pub link: Option<&'a Link>,
}

impl<'a> Question<'a> {
    /// What a linked root exports, by its place in `roots`.
    fn exports(&self, root: usize) -> impl Iterator<Item = Export<'a>> {
        let object = self.objects.get(root).copied().flatten();
        let symbols = object.and_then(|object| object.tables.as_ref()).map(Tables::symbols);
        let is_default = |symbol: &Symbol<'_>| symbol.is_export() && symbol.versym & HIDDEN == 0;
        let exports = symbols.into_iter().flatten().filter(is_default);
        let exports = exports.map(|s| Export { name: s.name, bind: s.bind, kind: s.kind });
        exports.filter(|export| !export.name.is_empty())
    }

    /// True if a linked root defines `name` for a linker.
    fn is_exported(&self, name: &[u8]) -> bool {
        self.objects.iter().flatten().any(|object| object.satisfies_link(name))
    }

    /// True if the linker defines `name` when no file does.
    fn is_linker_defined(&self, name: &[u8]) -> bool {
        self.output.defines(self.target(), name) == LinkerDefined::Always
    }

    /// What members must be built for: what the first root that says so is, else what the first
    /// object of an archive is.
    pub fn target(&self) -> Option<Target> {
        let archives = || self.archives.iter().chain(self.candidates);
        self.roots.iter().find_map(|root| root.target).or_else(|| {
            archives().find_map(|archive| {
                self.library.entry(*archive).members.list.iter().find_map(|member| member.target)
            })
        })
    }
}

/// Who refers to a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum By {
    /// It was asked for by name.
    Asked,
    /// A root, by its place in [`Question::roots`].
    Root(usize),
    /// A member that is needed itself.
    Member(MemberId),
}

impl By {
    /// The member, if one refers to the symbol.
    pub fn member(self) -> Option<MemberId> {
        match self {
            Self::Member(member) => Some(member),
            Self::Asked | Self::Root(_) => None,
        }
    }
}

/// A member that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The member.
    pub member: MemberId,
    /// The symbol for which it was taken; empty where every member is.
    pub symbol: Box<[u8]>,
    /// Who referred to the symbol first.
    pub by: By,
    /// Whose definition of the symbol holds once all that the member leads to is linked: where the
    /// order of archives counts, one of those may replace a weak one. lld's table names it.
    pub holder: MemberId,
}

/// A symbol that no archive defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    /// The symbol.
    pub symbol: Box<[u8]>,
    /// Everybody that refers to it: roots, then members in their order.
    pub by: Vec<By>,
}

/// A symbol that several archives define alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tie {
    /// The symbol.
    pub symbol: Box<[u8]>,
    /// The archive it was taken from.
    pub taken: ArchiveId,
    /// The others, in the order of their names.
    pub others: Vec<ArchiveId>,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Members that are needed: in the order of archives and offsets, or where the order of
    /// archives counts in the order in which they are taken.
    pub needed: Vec<Needed>,
    /// The members that are needed, in the order in which a linker reads them.
    pub order: Vec<MemberId>,
    /// What stays undefined, by name.
    pub undefined: Vec<Undefined>,
    /// Choices that only the order of names made, by symbol.
    pub ties: Vec<Tie>,
    /// Needed members of which it is not known what they refer to.
    pub opaque: Vec<MemberId>,
}

impl Coverage {
    /// The archives of needed members, each with how many of its members are needed, in the order
    /// of the library.
    pub fn archives(&self, library: &ArchiveSet) -> Vec<(ArchiveId, usize)> {
        let mut out: std::collections::BTreeMap<ArchiveId, usize> =
            std::collections::BTreeMap::new();
        for needed in &self.needed {
            *out.entry(library.archive_of(needed.member)).or_default() += 1;
        }
        out.into_iter().collect()
    }
}
