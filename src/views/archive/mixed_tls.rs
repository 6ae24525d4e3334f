//! Names that are thread-local in one file of a link and ordinary symbols in another. GNU ld
//! compares the symbols of all files (`_bfd_elf_merge_symbol` in `bfd/elflink.c`). lld compares the
//! symbols of objects with the definition that the link chose (`ObjFile<ELFT>::postParse`). mold
//! only warns. Both linkers that check exempt intermediate language, whose symbols have no type.

use super::ArchiveAnswer;
use super::shared_references::LinkFiles;
use crate::audit::Audit;
use crate::cover::{ArchiveSet, Coverage, Link, LinkInput, Linker, ReferredBy, ReferringFile};
use crate::format::archive::{MemberSymbol, SymbolKind, SymbolValue};
use crate::format::elf::Object;
use crate::format::elf::tables::Symbol;
use crate::id::{FastMap, FastSet, FileId, NameId};
use crate::text::show;
use crate::views::count;
use object::elf;
use std::io::{self, Write};

/// A name for which a linker rejects the link.
#[derive(Clone, Debug)]
pub struct MixedTls {
    /// The name.
    pub name: Box<[u8]>,
    /// A file in which the name is thread-local.
    pub thread_local: ReferredBy,
    /// A file in which it is an ordinary symbol.
    pub ordinary: ReferredBy,
}

/// A symbol of one file of the link.
#[derive(Clone, Copy)]
struct Use {
    by: ReferredBy,
    value: SymbolValue,
    /// `None` for a reference.
    definition: Option<Strength>,
    /// True in a shared object.
    is_shared: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Strong,
    Weak,
}

impl Use {
    fn of_object(by: ReferredBy, symbol: MemberSymbol) -> Self {
        let definition = match symbol.kind {
            SymbolKind::Undefined | SymbolKind::WeakUndefined => None,
            SymbolKind::Strong | SymbolKind::Unique => Some(Strength::Strong),
            SymbolKind::Weak | SymbolKind::Common | SymbolKind::MachineCommon => {
                Some(Strength::Weak)
            }
        };
        Self { by, value: symbol.value, definition, is_shared: false }
    }

    fn of_shared(by: ReferredBy, symbol: &Symbol<'_>) -> Self {
        let value = SymbolValue::of(elf::SymbolType(symbol.kind));
        let is_defined = symbol.section != elf::SHN_UNDEF.0;
        Self { by, value, definition: is_defined.then_some(Strength::Strong), is_shared: true }
    }

    fn is_thread_local(&self) -> bool {
        self.value == SymbolValue::ThreadLocal
    }
}

/// The names for which the linker rejects the link, sorted. Empty if the order does not matter.
/// `coverage` has the members that the link takes.
pub(super) fn find<'a>(
    audit: &'a Audit,
    (files, roots, objects): LinkFiles<'a, 'a>,
    link: Option<&'a Link>,
    coverage: &'a Coverage,
) -> Vec<MixedTls> {
    let of = |link| LinkedFiles { audit, files, roots, objects, link, coverage }.mixed();
    link.map(of).unwrap_or_default()
}

/// The files of a link, with the members that it takes.
struct LinkedFiles<'a> {
    audit: &'a Audit,
    files: &'a [FileId],
    roots: &'a [ReferringFile],
    objects: &'a [Option<&'a Object>],
    link: &'a Link,
    coverage: &'a Coverage,
}

impl<'a> LinkedFiles<'a> {
    /// The names for which the linker rejects the link, sorted.
    fn mixed(&self) -> Vec<MixedTls> {
        if self.link.linker == Linker::Mold {
            return Vec::new();
        }
        let names = self.thread_local();
        let mut out: Vec<MixedTls> = Vec::new();
        for (name, uses) in self.uses(&names) {
            let found = match self.link.linker {
                Linker::Gnu => self.mixed_for_gnu(&uses),
                Linker::Lld | Linker::Mold => mixed_for_lld(&uses),
            };
            out.extend(found.map(|(thread_local, ordinary)| MixedTls {
                name: name.into(),
                thread_local: thread_local.by,
                ordinary: ordinary.by,
            }));
        }
        out.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        out
    }

    /// The symbols of the roots that are objects.
    fn of_objects(&self) -> impl Iterator<Item = (ReferredBy, &'a [u8], &'a MemberSymbol)> {
        let names = self.audit.corpus.symbol_names();
        let roots = self.roots.iter().zip(self.files).enumerate();
        let objects = roots.filter(|(_, (root, _))| !root.linked && !root.lto);
        objects.flat_map(move |(at, (_, file))| {
            let members = self.audit.corpus.members(*file).ok();
            let symbols = members.into_iter().flat_map(|members| {
                members.list.first().into_iter().flat_map(move |only| members.symbols(only))
            });
            symbols.map(move |symbol| (ReferredBy::Root(at), names.text(symbol.name), symbol))
        })
    }

    /// The symbols of the members that the link takes.
    fn of_members(&self) -> impl Iterator<Item = (ReferredBy, NameId, &'a MemberSymbol)> {
        let library = &self.audit.library;
        let members = self.coverage.order.iter().copied();
        let members = members.filter(|member| !library.member(*member).kind.is_lto());
        members.flat_map(|member| {
            library
                .symbols(member)
                .map(move |(name, symbol)| (ReferredBy::Member(member), name, symbol))
        })
    }

    /// The shared objects of the link.
    fn shared(&self) -> impl Iterator<Item = (ReferredBy, &'a Object)> {
        let objects = self.roots.iter().zip(self.objects).enumerate();
        let shared = objects.filter(|(at, (root, _))| {
            root.linked && root.input && !self.coverage.forgotten.contains(at)
        });
        shared.filter_map(|(at, (_, object))| Some((ReferredBy::Root(at), (*object)?)))
    }

    /// The names that are thread-local in some file.
    fn thread_local(&self) -> FastSet<&'a [u8]> {
        let library = &self.audit.library;
        let is_thread_local = |symbol: &MemberSymbol| symbol.value == SymbolValue::ThreadLocal;
        let objects = self.of_objects().filter(|(_, _, symbol)| is_thread_local(symbol));
        let members = self.of_members().filter(|(_, _, symbol)| is_thread_local(symbol));
        let members = members.filter(|(_, name, _)| *name != crate::format::archive::NAMELESS);
        let mut out: FastSet<&[u8]> = objects.map(|(_, name, _)| name).collect();
        out.extend(members.map(|(_, name, _)| library.text(name)));
        for (_, object) in self.shared() {
            let symbols = object.tables.as_ref().map(|tables| tables.linked_symbols(&[]));
            out.extend(symbols.into_iter().flatten().map(|symbol| symbol.name));
        }
        out
    }

    /// The uses of `names` in all files of the link.
    fn uses(&self, names: &FastSet<&'a [u8]>) -> FastMap<&'a [u8], Vec<Use>> {
        let library = &self.audit.library;
        let mut out: FastMap<&[u8], Vec<Use>> = FastMap::default();
        if names.is_empty() {
            return out;
        }
        for (by, name, symbol) in self.of_objects().filter(|(_, name, _)| names.contains(name)) {
            out.entry(name).or_default().push(Use::of_object(by, *symbol));
        }
        let ids: FastSet<NameId> = names.iter().filter_map(|name| library.find(name)).collect();
        for (by, id, symbol) in self.of_members().filter(|(_, id, _)| ids.contains(id)) {
            out.entry(library.text(id)).or_default().push(Use::of_object(by, *symbol));
        }
        let list: Vec<&[u8]> = names.iter().copied().collect();
        for (by, object) in self.shared() {
            let symbols = object.tables.as_ref().map(|tables| tables.linked_symbols(&list));
            let symbols = symbols.into_iter().flatten();
            for symbol in symbols.filter(|symbol| names.contains(symbol.name)) {
                out.entry(symbol.name).or_default().push(Use::of_shared(by, &symbol));
            }
        }
        out
    }

    /// The first thread-local and the first ordinary symbol that GNU ld rejects together.
    fn mixed_for_gnu(&self, uses: &[Use]) -> Option<(Use, Use)> {
        let thread_local = uses.iter().filter(|one| one.is_thread_local());
        let mut pairs = thread_local.flat_map(|one| {
            let ordinary = uses.iter().filter(|other| !other.is_thread_local());
            ordinary.map(move |other| (*one, *other))
        });
        pairs.find(|(one, other)| !self.ignores(one, other) && !self.ignores(other, one))
    }

    /// True if `shared` is a definition of a shared object that GNU ld ignores because it has read
    /// the definition of the object `own` before.
    fn ignores(&self, shared: &Use, own: &Use) -> bool {
        let are_definitions = shared.definition.is_some() && own.definition.is_some();
        are_definitions
            && shared.is_shared
            && !own.is_shared
            && self.position(own.by) < self.position(shared.by)
    }

    /// The index of a file, or of a member's archive, among the inputs.
    fn position(&self, by: ReferredBy) -> Option<usize> {
        let library = &self.audit.library;
        self.link.inputs.iter().position(|input| match (input, by) {
            (LinkInput::Root(at), ReferredBy::Root(root)) => *at == root,
            (
                LinkInput::Archive(archive) | LinkInput::Whole(archive),
                ReferredBy::Member(member),
            ) => *archive == library.archive_of(member),
            _ => false,
        })
    }
}

/// The thread-local definition that lld chooses, and the first ordinary symbol of an object. lld
/// accepts symbols without a type.
fn mixed_for_lld(uses: &[Use]) -> Option<(Use, Use)> {
    let definitions = uses.iter().filter(|one| one.definition.is_some());
    // An object's definition replaces one of a shared object, and a strong one replaces a weak one.
    let chosen = definitions.min_by_key(|one| (one.is_shared, one.definition))?;
    let is_typed = |one: &&Use| matches!(one.value, SymbolValue::Function | SymbolValue::Data);
    let ordinary = uses.iter().filter(|one| !one.is_shared).find(is_typed)?;
    chosen.is_thread_local().then_some((*chosen, *ordinary))
}

/// Writes one line: the number of names, and the first one with its files.
pub(super) fn write(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(first) = view.mixed_tls.first() else { return Ok(()) };
    let linker = view.linker.map_or("", Linker::title);
    let (one, many) = (
        "name is thread-local in one file and an ordinary symbol in another",
        "names are thread-local in one file and ordinary symbols in another",
    );
    writeln!(
        out,
        "{}: {linker} refuses the link, {} in {} and {} first",
        count(view.mixed_tls.len(), one, many),
        show(&first.name),
        view.who(library, first.thread_local),
        view.who(library, first.ordinary)
    )
}
