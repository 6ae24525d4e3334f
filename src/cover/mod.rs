//! Coverage of static archives: the members that a link needs, each with the symbol for which it is
//! needed and a referrer of this symbol. Also the names that stay undefined. No linker runs and no
//! file is opened: the members come from the corpus ([`crate::facts::Need::Members`]).
//!
//! [`cover`] answers a [`CoverageQuestion`] independently of link order, [`in_order`] by the rules
//! of one linker. [`lacking()`] checks all archives of a system at once. A question can name any
//! archives of an [`ArchiveSet`], so a fix is verified by a second question. `audit`, the view
//! `archive` and `fix` call this module.

mod archive_set;
mod checked;
mod contained;
mod discarded;
mod expression;
mod gc;
mod lacking;
mod link;
mod linker_defined;
mod object_facts;
mod order;
mod order_independent;
mod origin;
mod position;
mod read_order;
mod refine;
mod trace;
mod unwind;

pub use archive_set::{ArchiveEntry, ArchiveSet, MemberDefinition};
pub use checked::{CheckedReferences, ShownReferrers};
pub use contained::contained;
pub use discarded::{GroupDefined, may_share_groups};
pub use lacking::{LackingReference, lacking};
pub use link::{DefsymOption, ENTRY, Link, LinkInput, Linker, Wrap};
pub use linker_defined::{LinkOutput, LinkerDefined, OutputKind, TLS_MODULE_BASE};
pub use object_facts::ObjectFacts;
pub use order::{in_order, library_calls};
pub use order_independent::cover;
pub use origin::Origins;
pub use position::{Demand, demand, relocation_name};
pub use refine::{
    Refining, counts_every_section, decides_by_sections, referring, referring_names, rivals,
};
pub use trace::{ArchiveReferences, Referrers};

use crate::format::archive::{MemberKind, SymbolKind};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{Object, Tables, Target};
use crate::id::{ArchiveId, FastSet, MemberId};
use object::elf;
use std::path::Path;
use std::sync::Arc;

/// A definition in a shared object, under one of its names.
struct Export<'a> {
    /// NAME, or `NAME@VERSION`. A definition with a default version may be listed under both
    /// names.
    name: &'a [u8],
    /// True if references without a version bind to the definition.
    is_default: bool,
    bind: u8,
    kind: u8,
    /// True for data without bytes in the file, such as data in `.bss`.
    is_zeroed: bool,
}

impl<'a> Export<'a> {
    fn new(object: &'a Object, symbol: &Symbol<'a>) -> Self {
        let Symbol { name, bind, kind, size, value, .. } = *symbol;
        let is_default = symbol.is_default_version();
        let mut out = Self { name, is_default, bind, kind, is_zeroed: false };
        out.is_zeroed = size > 0 && !out.is_function() && object.is_zero_filled(kind, value);
        out
    }

    /// True for data that GNU ld treats as a common symbol (`newdyncommon` of
    /// `_bfd_elf_merge_symbol`).
    fn is_common_like(&self) -> bool {
        self.is_zeroed && !self.is_weak()
    }

    fn is_weak(&self) -> bool {
        elf::SymbolBind(self.bind) == elf::STB_WEAK
    }

    fn symbol_kind(&self) -> SymbolKind {
        match elf::SymbolBind(self.bind) {
            elf::STB_WEAK => SymbolKind::Weak,
            elf::STB_GNU_UNIQUE => SymbolKind::Unique,
            _ => SymbolKind::Strong,
        }
    }

    fn is_function(&self) -> bool {
        [elf::STT_FUNC, elf::STT_GNU_IFUNC].contains(&elf::SymbolType(self.kind))
    }

    /// NAME in `NAME@VERSION`; `None` if `name` has no version.
    fn unversioned(&self) -> Option<&[u8]> {
        memchr::memchr(b'@', self.name).map(|at| &self.name[..at])
    }
}

/// A file whose undefined names need definitions: an object, a shared library or a program.
#[derive(Clone, Debug)]
pub struct ReferringFile {
    /// The path of the file.
    pub path: Arc<Path>,
    /// True for a shared library or program, false for a relocatable object. In [`cover`], the
    /// definitions of relocatable objects precede all others. The definitions of linked roots count
    /// only for names that no archive in [`CoverageQuestion::archives`] defines.
    pub linked: bool,
    /// True for a shared library that is an input of the link: its undefined names extract members,
    /// but are not reported. A linked root that is not an input is treated like the objects that it
    /// was linked from.
    pub input: bool,
    /// True for a file of compiler intermediate language (LTO).
    pub lto: bool,
    /// The kind of an object in intermediate language whose symbols are unknown: it may define and
    /// refer to any name.
    pub opaque: Option<MemberKind>,
    /// The target that the file is built for, if known.
    pub target: Option<Target>,
    /// The global symbols of the file. For a linked file, without its exports.
    pub symbols: Vec<(Box<[u8]>, SymbolKind)>,
    /// The definitions of an object that have a default version, as `NAME@VERSION`.
    pub default_versions: Vec<(Box<[u8]>, SymbolKind)>,
    /// Functions of the C library to which intermediate language may refer without a symbol.
    pub unlisted: Vec<&'static str>,
    /// Names to which the file refers with hidden, internal or protected visibility, sorted. No
    /// shared object satisfies these references.
    pub hidden: Vec<Box<[u8]>>,
    /// Names with hidden or internal visibility, sorted: the output does not export them.
    pub unexported: Vec<Box<[u8]>>,
    /// The names of strong definitions that may lie in a COMDAT group without being its signature,
    /// sorted.
    pub beside_weak: Vec<Box<[u8]>>,
}

impl ReferringFile {
    /// True for LLVM bitcode. GCC's intermediate language is in ELF files, whose target is known.
    fn is_bitcode(&self) -> bool {
        self.lto && self.target.is_none()
    }
}

/// A question: which members do these roots need?
pub struct CoverageQuestion<'a> {
    /// The archives that the question can name, with their members.
    pub library: &'a ArchiveSet,
    /// The files whose undefined names need definitions.
    pub roots: &'a [ReferringFile],
    /// Names that need a definition even if no root refers to them.
    pub symbols: &'a [Box<[u8]>],
    /// True if the link takes every member of `archives`.
    pub all_members: bool,
    /// The archives that are linked in any case, in order.
    pub archives: &'a [ArchiveId],
    /// The archives that may be added, in order.
    pub candidates: &'a [ArchiveId],
    /// The objects of linked roots, by index in `roots`. Their exports are looked up here instead
    /// of being listed in [`ReferringFile::symbols`], because one object may have 100,000 exports.
    /// `None` for a root whose exports are ignored.
    pub objects: &'a [Option<&'a Object>],
    /// True for a name that is defined by a library loaded together with a root.
    pub provided: &'a (dyn Fn(&[u8]) -> bool + Sync),
    /// The output of the link, which decides the linker-defined symbols.
    pub output: LinkOutput,
    /// `--gc-sections`: sections that nothing refers to are dropped.
    pub gc_sections: bool,
    /// The link with its inputs in order; `None` if the order does not matter.
    pub link: Option<&'a Link>,
}

impl<'a> CoverageQuestion<'a> {
    /// True if the root is a shared object among the inputs of the link. `root` is an index in
    /// `roots`.
    fn is_shared_input(&self, root: usize) -> bool {
        self.roots.get(root).is_some_and(|root| root.linked && root.input)
    }

    /// The name that DT_NEEDED entries have for a shared object that is an input of `link`.
    /// `root` is an index in `roots`.
    fn needed_name(&self, link: &Link, root: usize) -> &'a [u8] {
        let object = self.objects.get(root).copied().flatten();
        link.needed_name(root, &self.roots[root], object)
    }

    /// The exports of a linked root: definitions with a default version, and definitions whose name
    /// is in `versioned`. `root` is an index in `roots`. A definition with a default version may be
    /// listed twice, as NAME and as `NAME@VERSION`.
    fn exports<'n>(
        &self,
        root: usize,
        versioned: &'n [&'a [u8]],
    ) -> impl Iterator<Item = Export<'a>> + use<'a, 'n> {
        let object = self.objects.get(root).copied().flatten();
        let is_gnu = self.link.is_some_and(|link| link.linker == Linker::Gnu);
        let with_version = object.into_iter().flat_map(move |object| {
            versioned.iter().filter_map(move |name| {
                let base = || object.base_definition(name).filter(|_| is_gnu);
                let symbol = object.link_definition(name).or_else(base)?;
                Some(Export { name, ..Export::new(object, &symbol) })
            })
        });
        let is_default =
            |symbol: &Symbol<'_>| symbol.is_link_definition() && symbol.is_default_version();
        let exports = object.into_iter().flat_map(move |object| {
            let symbols = object.tables.iter().flat_map(Tables::symbols);
            symbols.filter(is_default).map(move |symbol| Export::new(object, &symbol))
        });
        exports.filter(|export| !export.name.is_empty()).chain(with_version)
    }

    /// True if an export of a linked root satisfies a reference to `name` in a link. The roots in
    /// `not` are ignored.
    fn is_exported(&self, name: &[u8], not: &FastSet<usize>) -> bool {
        let objects = self.objects.iter().enumerate().filter(|(at, _)| !not.contains(at));
        objects.filter_map(|(_, object)| *object).any(|object| object.satisfies_link(name))
    }

    /// The condition under which the linker defines `name` if no file does.
    fn linker_defines<'n>(&self, name: &'n [u8]) -> LinkerDefined<'n> {
        if name == linker_defined::DYNAMIC && self.makes_static_program() {
            return LinkerDefined::No;
        }
        self.output.defines(self.target(), name)
    }

    /// True if the linker defines `name` in every link in which no file defines it.
    fn is_linker_defined(&self, name: &[u8]) -> bool {
        self.linker_defines(name) == LinkerDefined::Always
    }

    /// True if an option requests a definition of `name`.
    fn requests(&self, name: &[u8]) -> bool {
        self.symbols.iter().any(|symbol| **symbol == *name)
    }

    /// True if a shared object that is given or loaded defines `name`.
    fn is_shared(&self, name: &[u8]) -> bool {
        (self.provided)(name) || self.is_exported(name, &FastSet::default())
    }

    /// True if lld or GNU ld makes a program without a dynamic section.
    fn makes_static_program(&self) -> bool {
        self.link.is_some()
            && matches!(self.output.linker, Some(Linker::Lld | Linker::Gnu))
            && self.output.kind != OutputKind::Pie
            && self.makes_program()
            && !self.roots.iter().any(|root| root.linked)
    }

    /// True if the link makes a program. Linkers do so unless an option requests another output.
    fn makes_program(&self) -> bool {
        match self.output.kind {
            OutputKind::Executable | OutputKind::Pie => true,
            OutputKind::Shared => false,
            OutputKind::Any => {
                let is_output = |root: &ReferringFile| root.linked && !root.input;
                self.link.is_some() && !self.roots.iter().any(is_output)
            }
        }
    }

    /// The target with which members must link: the first known target of a root, or else the first
    /// known target of a member.
    pub fn target(&self) -> Option<Target> {
        let archives = || self.archives.iter().chain(self.candidates);
        self.roots.iter().find_map(|root| root.target).or_else(|| {
            archives().find_map(|archive| {
                self.library.entry(*archive).members.list.iter().find_map(|member| member.target)
            })
        })
    }
}

/// The reason why a symbol needs a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReferredBy {
    /// An option or the question requests the symbol by name.
    Asked,
    /// The program starts at the symbol.
    EntryPoint,
    /// lld links a member in bitcode because the code that LTO generates may call the symbol.
    LibraryCall,
    /// A root refers to the symbol. The value is an index in [`CoverageQuestion::roots`].
    Root(usize),
    /// A member that the link needs refers to the symbol.
    Member(MemberId),
}

impl ReferredBy {
    /// The member; `None` for any other referrer.
    pub fn member(self) -> Option<MemberId> {
        match self {
            Self::Member(member) => Some(member),
            Self::Asked | Self::EntryPoint | Self::LibraryCall | Self::Root(_) => None,
        }
    }
}

/// A member that the link needs, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededMember {
    /// The id of the member.
    pub member: MemberId,
    /// The symbol for which the member was taken; empty if all members of its archive are taken.
    pub symbol: Box<[u8]>,
    /// The first referrer of the symbol.
    pub by: ReferredBy,
    /// The member whose definition of `symbol` the link uses. For lld, this may be a later member
    /// that replaces a weak definition. The table of lld's `--why-extract` names the holder.
    pub holder: MemberId,
}

/// A symbol that stays undefined, with its referrers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndefinedName {
    /// The name of the symbol.
    pub symbol: Box<[u8]>,
    /// All referrers of the symbol: options, then roots, then members in their order.
    pub by: Vec<ReferredBy>,
    /// Number of members in `by` whose relocations were not read. The linker may not report the
    /// references of these members.
    pub unread: usize,
}

/// A symbol that several archives define, with the archive that the answer chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tie {
    /// The symbol that several archives define.
    pub symbol: Box<[u8]>,
    /// The archive whose definition was taken.
    pub taken: ArchiveId,
    /// The other archives, in the order of their paths.
    pub others: Vec<ArchiveId>,
}

/// The answer to a [`CoverageQuestion`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The needed members, in the order of archives and offsets. With a link order, they are in the
    /// order in which they are taken; for lld, in the order in which lld reports them.
    pub needed: Vec<NeededMember>,
    /// The members that are needed, in the order in which a linker reads them.
    pub order: Vec<MemberId>,
    /// The symbols that stay undefined, sorted by name.
    pub undefined: Vec<UndefinedName>,
    /// The symbols that several archives define, sorted by symbol.
    pub ties: Vec<Tie>,
    /// Needed members whose references are unknown, sorted.
    pub opaque: Vec<MemberId>,
    /// Members for another class or machine that GNU ld tries to extract: GNU ld then refuses the
    /// link. The other linkers refuse such members even if no reference needs them.
    pub refused: Vec<MemberId>,
    /// Shared objects that are not part of the link, as indices of roots. No file needs them under
    /// `--as-needed`, or an earlier shared object has the same DT_NEEDED name.
    pub forgotten: FastSet<usize>,
    /// Names in `undefined` that a shared object defines, but whose values an expression needs. Only
    /// a copy of the data, or an address of the function in the program, gives them a value.
    pub valueless: FastSet<Box<[u8]>>,
    /// Names in `undefined` that intermediate language defines, and to which no machine code of an
    /// object refers: LTO may drop these definitions.
    pub only_lto_defines: FastSet<Box<[u8]>>,
    /// The objects of a link of lld, in the order in which lld reads them: those that lld links
    /// before it looks up the entry point and other late references. Empty for other linkers.
    pub read_first: Vec<ReferredBy>,
    /// True if a shared object refers to a name that an object of the output defines, or if LTO
    /// keeps a definition only because the output exports it. The linker may report such a name if
    /// an option hides it.
    pub needs_exports: bool,
}

impl Coverage {
    /// The archives of needed members, each with the number of its needed members, in the order of
    /// the archive set.
    pub fn archives(&self, library: &ArchiveSet) -> Vec<(ArchiveId, usize)> {
        let mut out: std::collections::BTreeMap<ArchiveId, usize> =
            std::collections::BTreeMap::new();
        for needed in &self.needed {
            *out.entry(library.archive_of(needed.member)).or_default() += 1;
        }
        out.into_iter().collect()
    }
}
