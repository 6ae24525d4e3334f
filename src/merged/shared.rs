//! The shared libraries that a link may take definitions from, and the choice between several.
//! `fix` and [`super::solve`] use this module, so that both choose the same library.

use super::runtime::is_system_name;
use crate::audit::Audit;
use crate::bind::query::alike::{are_alike, is_part_of_libc};
use crate::cover::ArchiveSet;
use crate::facts::FileFacts;
use crate::facts::providers::Providers;
use crate::facts::replacing::is_replaceable;
use crate::format::archive::{RequestedNames, SymbolKind};
use crate::format::elf::hash;
use crate::id::{ArchiveId, FastMap, FastSet, FileId, MemberId};
use crate::package::is_private;
use crate::resolve::Closure;
use crate::text::last_part;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Symbols, keyed by the library that defines them.
pub type Definers = BTreeMap<FileId, BTreeSet<Vec<u8>>>;

/// The chosen libraries, each with the symbols that it defines for the link.
pub type Choice = BTreeMap<FileId, ChosenLibrary>;

/// A library that a link takes definitions from.
#[derive(Debug, Default)]
pub struct ChosenLibrary {
    /// The symbols that the library defines for the link.
    pub symbols: BTreeSet<Vec<u8>>,
    /// Libraries that define the same symbols differently. No evidence prefers one of them.
    pub rivals: Vec<FileId>,
}

/// The libraries in `providers` from which a link of `file` can take `symbol`.
pub fn shared_definers<'a>(
    (audit, providers): (&'a Audit, &'a Providers),
    file: FileId,
    symbol: &'a [u8],
) -> impl Iterator<Item = FileId> + 'a {
    let target = audit.corpus.files[file].object().map(|object| object.header.target());
    let found = target.into_iter().flat_map(move |target| providers.of(symbol, file, target));
    let found = found.filter(|provider| provider.member.is_none()).map(|provider| provider.file);
    found.filter(move |library| {
        let facts = &audit.corpus.files[*library];
        is_linkable(facts) && facts.object().is_some_and(|object| object.satisfies_link(symbol))
    })
}

/// True for a library that a link can name. Plugins and interpreter modules have no soname, or a
/// file name that does not start with `lib` (`_ctypes.cpython-311-x86_64-linux-gnu.so`).
fn is_linkable(facts: &FileFacts) -> bool {
    let Some(object) = facts.object().filter(|object| object.is_library()) else { return false };
    let mut names = file_names(facts);
    if object.soname().is_some() {
        names.any(|(_, name)| name.starts_with(b"lib"))
    } else {
        names.any(|(_, name)| is_development_name(name))
    }
}

/// The directory and file name of each path of a file.
fn file_names(facts: &FileFacts) -> impl Iterator<Item = (&Path, &[u8])> {
    let paths = facts.names.iter().map(|name| name.path.as_path()).chain([&*facts.path]);
    paths.map(|path| {
        let dir = path.parent().unwrap_or(Path::new("/"));
        (dir, last_part(path.as_os_str().as_bytes()))
    })
}

/// The path by which builds link the library: its development link in a public directory, else its
/// own path. Symbolic links in the directory of the file come first. In one directory, a symbolic
/// link comes before the file itself (`libfoo.so` before `libfoo-1.2.so`).
pub fn link_path(facts: &FileFacts) -> PathBuf {
    let own = (facts.path.parent(), last_part(facts.path.as_os_str().as_bytes()));
    let links =
        file_names(facts).filter(|(dir, name)| is_development_name(name) && !is_private(dir));
    let best = links.min_by_key(|(dir, name)| (own.0 != Some(*dir), own.1 == *name, *dir, *name));
    best.map_or_else(|| facts.path.to_path_buf(), |(dir, name)| dir.join(OsStr::from_bytes(name)))
}

/// True for a file name of a shared library that `-lNAME` finds.
fn is_development_name(name: &[u8]) -> bool {
    name.starts_with(b"lib") && name.ends_with(b".so")
}

/// The evidence for a library; the greatest value is the best.
type Evidence = (bool, usize, bool, bool, bool, Reverse<usize>);

/// Compares the libraries that define symbols for one file.
struct Ranking<'a> {
    audit: &'a Audit,
    /// The directory of the file for which the libraries are compared.
    dir: &'a Path,
    /// The names that audited objects need.
    needed: FastSet<&'a [u8]>,
    /// The sonames of the libraries that the file loads.
    loaded: FastSet<&'a [u8]>,
}

impl<'a> Ranking<'a> {
    fn new(audit: &'a Audit, file: FileId) -> Self {
        let files = &audit.corpus.files;
        let audited = files.iter().filter(|facts| facts.audited).filter_map(FileFacts::object);
        let needs =
            audited.flat_map(|object| object.needs.iter().map(|need| object.str(need.name)));
        let closure = audit.closures.roots.iter().find(|closure| {
            let mut found = closure.found();
            found.any(|(_, found)| found == file)
        });
        let loaded = closure.into_iter().flat_map(Closure::found);
        Self {
            audit,
            dir: files[file].path.parent().unwrap_or(Path::new("/")),
            needed: needs.collect(),
            loaded: loaded.map(|(_, file)| files[file].library_name()).collect(),
        }
    }

    /// The evidence for a library, most important first: a public directory, the number of symbols,
    /// and a system library. Then a name that `-l` finds, audited objects that need the library,
    /// and the fewest needs that the file does not load yet.
    fn evidence(&self, library: FileId, symbols: usize) -> Evidence {
        let facts = &self.audit.corpus.files[library];
        let name = facts.library_name();
        let is_public = |dir: &Path| dir == self.dir || !is_private(dir);
        let has_link =
            file_names(facts).any(|(dir, name)| is_development_name(name) && is_public(dir));
        let bare = name.strip_prefix(b"lib").unwrap_or_default();
        let bare = &bare[..memchr::memmem::find(bare, b".so").unwrap_or(bare.len())];
        let object = facts.object();
        let is_system = is_system_name(bare) || object.is_some_and(is_part_of_libc);
        let needs = object.map_or(0, |object| {
            let mut names = object.needs.iter().map(|need| object.str(need.name));
            names.by_ref().filter(|name| !self.loaded.contains(name)).count()
        });
        let is_in_public = file_names(facts).any(|(dir, _)| is_public(dir));
        (is_in_public, symbols, is_system, has_link, self.needed.contains(name), Reverse(needs))
    }

    /// True if the libraries define one of the symbols differently. Two files with the same library
    /// name never differ.
    fn differ(&self, library: FileId, other: FileId, symbols: &BTreeSet<Vec<u8>>) -> bool {
        let files = &self.audit.corpus.files;
        if files[library].library_name() == files[other].library_name() {
            return false;
        }
        symbols.iter().any(|name| {
            let definition = |file: FileId| files[file].object()?.link_definition(name);
            let both = [definition(library), definition(other)];
            !are_alike(&both.iter().flatten())
        })
    }
}

/// Selects a small set of `definers` that together define all symbols. Each step takes the
/// library with the best evidence; if several are equally good, the first by path.
pub fn choose(audit: &Audit, file: FileId, mut definers: Definers) -> Choice {
    let mut out = Choice::new();
    if definers.is_empty() {
        return out;
    }
    let ranking = Ranking::new(audit, file);
    loop {
        let path = |library: FileId| audit.corpus.files[library].path.as_os_str();
        let ranks = definers.iter().map(|(library, symbols)| {
            let evidence = ranking.evidence(*library, symbols.len());
            (evidence, Reverse(path(*library)), *library)
        });
        let ranks: Vec<(Evidence, Reverse<_>, FileId)> = ranks.collect();
        let Some((best, _, library)) = ranks.iter().max() else { return out };
        let symbols = definers.remove(library).unwrap_or_default();
        let equal =
            ranks.iter().filter(|(evidence, _, other)| evidence == best && other != library);
        let equal = equal.map(|(_, _, other)| *other);
        let rivals = equal.filter(|other| {
            definers[other] == symbols && ranking.differ(*library, *other, &symbols)
        });
        let rivals = rivals.collect();
        for others in definers.values_mut() {
            others.retain(|symbol| !symbols.contains(symbol));
        }
        definers.retain(|_, symbols| !symbols.is_empty());
        out.insert(*library, ChosenLibrary { symbols, rivals });
    }
}

/// Removes from `definers` each library that embeds another project's archive. In the directory of
/// such a library, there is an archive of the same name. This archive defines none of the symbols
/// that the link would take from the library, and other archives define all of them.
pub(super) fn drop_embedding(
    audit: &Audit,
    candidates: &[ArchiveId],
    definers: &mut BTreeMap<&[u8], Vec<FileId>>,
) {
    let archives = &audit.library;
    let by_path: FastMap<&Path, ArchiveId> =
        candidates.iter().map(|archive| (&*archives.entry(*archive).path, *archive)).collect();
    let by_id: FastSet<ArchiveId> = candidates.iter().copied().collect();
    let mut symbols: BTreeMap<FileId, Vec<&[u8]>> = BTreeMap::new();
    for (name, libraries) in definers.iter() {
        for library in libraries {
            symbols.entry(*library).or_default().push(name);
        }
    }
    symbols.retain(|library, symbols| {
        let names = file_names(&audit.corpus.files[*library]);
        let mut own =
            names.filter(|(_, name)| is_development_name(name)).filter_map(|(dir, name)| {
                let name = name.strip_suffix(b".so").unwrap_or(name);
                by_path.get(&*dir.join(OsStr::from_bytes(&[name, b".a"].concat()))).copied()
            });
        let Some(own) = own.next() else { return false };
        symbols.iter().all(|name| {
            let name = archives.find(name).into_iter();
            let found = name.flat_map(|name| archives.definitions(name));
            let found = found.map(|definition| archives.archive_of(definition.member));
            let found: Vec<ArchiveId> = found.filter(|archive| by_id.contains(archive)).collect();
            !found.is_empty() && !found.contains(&own)
        })
    });
    for libraries in definers.values_mut() {
        libraries.retain(|library| !symbols.contains_key(library));
    }
}

/// Finds the shared libraries that the link does not need, because `archives` define all symbols
/// that the link would take from these libraries. Returns these symbols. `shared` maps each
/// symbol to the libraries that define it.
pub(super) fn without_libraries<'s>(
    library: &ArchiveSet,
    archives: &BTreeSet<ArchiveId>,
    shared: &BTreeMap<&'s [u8], Vec<FileId>>,
) -> Vec<&'s [u8]> {
    if archives.is_empty() {
        return Vec::new();
    }
    let is_in_archive = |name: &[u8]| {
        let mut definitions = library.find(name).into_iter().flat_map(|n| library.definitions(n));
        definitions.any(|definition| archives.contains(&library.archive_of(definition.member)))
    };
    let (inside, outside): (Vec<_>, Vec<_>) =
        shared.iter().partition(|(name, _)| is_in_archive(name));
    let kept: FastSet<FileId> =
        outside.into_iter().flat_map(|(_, definers)| definers.iter().copied()).collect();
    let moved = inside.into_iter();
    let moved = moved.filter(|(_, definers)| definers.iter().all(|file| !kept.contains(file)));
    moved.map(|(name, _)| *name).collect()
}

/// Selects a small set of libraries that define `names`, to which the members that are added to the
/// link of `file` refer. The libraries in `banned` are left out.
pub(super) fn for_members(
    audit: &Audit,
    file: FileId,
    (names, banned): (&FastSet<&[u8]>, &FastSet<FileId>),
) -> Choice {
    let mut requested = RequestedNames::default();
    for name in names {
        requested.insert(name, hash::gnu(name));
    }
    let providers = Providers::find(&audit.corpus, &requested, Vec::new());
    // The compiler links the C library by itself.
    let is_libc =
        |library: FileId| audit.corpus.files[library].library_name().starts_with(b"libc.");
    let mut definers = Definers::new();
    for name in names {
        let found = shared_definers((audit, &providers), file, name);
        for library in found.filter(|library| !banned.contains(library) && !is_libc(*library)) {
            definers.entry(library).or_default().insert(name.to_vec());
        }
    }
    choose(audit, file, definers)
}

/// True if the library defines a name that one of the members defines strongly: the process would
/// have two copies of this code. Names for which [`is_replaceable`] is true are ignored.
pub(super) fn has_copy(audit: &Audit, library: FileId, members: &[MemberId]) -> bool {
    let Some(object) = audit.corpus.files[library].object() else { return false };
    members.iter().any(|member| {
        let symbols = audit.library.symbols(*member);
        let mut strong = symbols.filter(|(_, symbol)| symbol.kind == SymbolKind::Strong);
        strong.any(|(name, _)| {
            let name = audit.library.text(name);
            object.satisfies_link(name) && !is_replaceable(name)
        })
    })
}
