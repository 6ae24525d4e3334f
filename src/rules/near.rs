//! Near misses: definitions in the scope of an entry point that nearly fit an undefined symbol.
//! They have the same name with another version, tag or parameter list. If there are no such
//! definitions, other members of the symbol's class or namespace are listed. One pass over the
//! tables of the scopes serves all symbols; without undefined symbols there is no pass.
//! `undefined-symbol` adds near misses as evidence, and `why` shows them. The view `archive` and
//! the module `near_archives` look up definitions in archives in the same way.

use super::mangled::{Parts, class_component, first_component, is_in_std, leading_name, parts};
use crate::audit::Audit;
use crate::cover::ArchiveSet;
use crate::format::archive;
use crate::format::elf::tables::Symbol;
use crate::format::elf::{Object, Target};
use crate::id::{ArchiveId, FastMap, FastSet, FileId, MemberId, RootId};
use crate::order::Arrange as _;
use crate::parallel;
use crate::tree::Tree;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Maximum number of definitions that are stored for one key and file.
const MOST_OF_FILE: usize = 16;
/// Maximum number of definitions that are stored for one key, over all files.
const MOST_OF_ALL: usize = 512;
/// Maximum number of definitions that are listed for one symbol.
const MOST: usize = 3;
/// Maximum number of other class members that are listed for one symbol.
const MOST_MEMBERS: usize = 2;

/// The difference between a definition and the undefined symbol. Reports list earlier variants
/// first. `Machine` occurs only if there is no other near miss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Miss {
    Machine,
    Version,
    Tag,
    Qualifiers,
    Parameters,
    Member,
}

impl Miss {
    fn reason(self) -> &'static str {
        match self {
            Self::Machine => "another class or machine",
            Self::Version => "another version",
            Self::Tag => "another [abi:…] tag",
            Self::Qualifiers => "other qualifiers",
            Self::Parameters => "other parameters",
            Self::Member => "same class or namespace",
        }
    }
}

/// A definition that nearly fits an undefined symbol.
#[derive(Clone, Copy)]
pub(crate) struct NearMiss<'a> {
    /// The file that has the definition.
    pub(crate) file: FileId,
    /// The name of the definition, not demangled and without version.
    pub(crate) symbol: &'a [u8],
    /// The version of the definition; `None` if it has none.
    pub(crate) version: Option<&'a [u8]>,
    /// The archive member that has the definition; `None` for a shared object.
    pub(crate) member: Option<&'a [u8]>,
    /// The difference from the undefined symbol, in words for reports.
    pub(crate) reason: &'static str,
    /// True for another member of the class, false for a variant of the symbol itself.
    pub(crate) is_minor: bool,
}

/// A definition in a file of a scope, or in a member of an archive.
#[derive(Clone, Copy)]
struct CandidateDefinition<'a> {
    file: FileId,
    name: &'a [u8],
    version: Option<&'a [u8]>,
    member: Option<&'a [u8]>,
    target: Option<Target>,
}

/// A key by which definitions are looked up. `Name` has the whole name, `Member` the scope and the
/// last component, and `Class` the scope alone.
#[derive(Clone, PartialEq, Eq, Hash)]
enum NearKey {
    Name(Vec<u8>),
    Member(Vec<u8>, Vec<u8>),
    Class(Vec<u8>),
}

/// Definitions that nearly fit undefined symbols, by their keys.
pub(crate) struct NearMisses<'a> {
    found: FastMap<NearKey, Vec<CandidateDefinition<'a>>>,
    /// The files in the scope of each entry point; empty if [`Self::in_link`] made the table.
    scopes: FastMap<RootId, FastSet<FileId>>,
}

/// The undefined names whose near misses are wanted, and their keys.
#[derive(Default)]
pub(crate) struct NearQuery {
    names: FastSet<Vec<u8>>,
    keys: FastSet<NearKey>,
    first_components: FastMap<Vec<u8>, Seconds>,
    /// True if a wanted name is a C++ name outside of the namespace `std`.
    has_own_scope: bool,
}

/// The second components of the wanted names that share one first component.
#[derive(Default)]
struct Seconds {
    names: FastSet<Vec<u8>>,
    /// True if every second component is wanted, whatever `names` has.
    all: bool,
}

impl Seconds {
    /// Adds a wanted name, split after its first component. If the second component is part of the
    /// scope, all names of that scope have this component. Otherwise, any second component is
    /// wanted.
    fn add(&mut self, (first, rest): (&[u8], &[u8]), parts: Option<&Parts<'_>>) {
        let is_shared = |second: &&[u8]| {
            parts.is_none_or(|parts| {
                let own = parts.scope.strip_prefix(first);
                !parts.has_class() && first == b"St" || own.is_some_and(|s| s.starts_with(second))
            })
        };
        match leading_name(rest).filter(is_shared) {
            Some(second) => drop(self.names.insert(second.to_vec())),
            None => self.all = true,
        }
    }
}

impl NearQuery {
    /// The query for the near misses of these undefined names.
    pub(crate) fn new<'n>(undefined: impl Iterator<Item = &'n [u8]>) -> Self {
        let mut out = Self::default();
        for symbol in undefined {
            out.names.insert(symbol.to_vec());
            let parts = parts(symbol);
            out.keys.extend(parts.iter().flat_map(keys));
            out.has_own_scope |= parts.is_some() && !is_in_std(symbol);
            if let Some(lead) = first_component(symbol).or_else(|| class_component(symbol)) {
                out.first_components.entry_ref(lead.0).or_default().add(lead, parts.as_ref());
            }
        }
        out
    }

    /// True if a definition with this name has a wanted key.
    pub(crate) fn is_near(&self, name: &[u8]) -> bool {
        let name = split(name).0;
        match first_component(name) {
            Some(lead) if !self.may_share_scope(lead) => false,
            _ => !self.of(name).is_empty(),
        }
    }

    /// A quick test before a name is split into parts: false for most names of other scopes.
    fn may_share_scope(&self, (first, rest): (&[u8], &[u8])) -> bool {
        self.first_components.get(first).is_some_and(|seconds| {
            // A tag may precede the second component.
            seconds.all
                || rest.starts_with(b"B")
                || leading_name(rest).is_some_and(|second| seconds.names.contains(second))
        })
    }

    /// The definitions in `archives` that nearly fit a wanted name, in the order of `archives`.
    /// Definitions in the namespace `std` are searched for only in archives of the C++ library,
    /// because all other archives have instances of the same templates. Only indices that may list
    /// a near name are read.
    pub(crate) fn in_archives(
        &self,
        (audit, tree): (&Audit, &dyn Tree),
        archives: &[ArchiveId],
    ) -> Vec<(FileId, archive::DefiningMember)> {
        let library = &audit.library;
        let is_std = |archive: &ArchiveId| is_cxx_library(&library.entry(*archive).path);
        let (std, other): (Vec<ArchiveId>, Vec<ArchiveId>) =
            archives.iter().partition(|a| is_std(a));
        let is_listed = |name: &[u8]| self.is_near(name) && !self.names.contains(name);
        let mut out = Vec::new();
        if !self.keys.is_empty() || is_versioned(library, &std) {
            out = audit.definitions_like(tree, &std, &is_listed);
        }
        if self.has_own_scope || is_versioned(library, &other) {
            let is_listed = |name: &[u8]| !is_in_std(name) && is_listed(name);
            out.extend(audit.definitions_like(tree, &other, &is_listed));
        }
        // Definitions of the wanted names themselves come from the table of names.
        let given: FastSet<ArchiveId> = archives.iter().copied().collect();
        for name in &self.names {
            let found = library.find(name).into_iter().flat_map(|id| library.definitions(id));
            let members = found.map(|definition| definition.member);
            let mut members: Vec<MemberId> =
                members.filter(|member| given.contains(&library.archive_of(*member))).collect();
            members.sort_unstable();
            out.extend(members.into_iter().map(|member| {
                let definition = archive::DefiningMember {
                    symbol: name.as_slice().into(),
                    member: library.member_name(member).into(),
                    target: library.member(member).target,
                };
                (library.entry(library.archive_of(member)).file, definition)
            }));
        }
        // Only the first definitions of a key are kept and shown, so they must be in the order of
        // `archives`.
        let files = archives.iter().enumerate().map(|(at, a)| (library.entry(*a).file, at));
        let places: FastMap<FileId, usize> = files.collect();
        out.arrange_by_key(|(file, _)| places.get(file).copied());
        out
    }

    /// The keys that a definition with this name shares with a wanted name.
    fn of(&self, name: &[u8]) -> Vec<NearKey> {
        let mut out: Vec<NearKey> = Vec::new();
        let lead = first_component(name);
        // A wanted name passes this test, because it shares its own scope. The test is cheaper than
        // hashing a whole name.
        if lead.is_some_and(|lead| !self.may_share_scope(lead)) {
            return out;
        }
        if self.names.contains(name) {
            out.push(NearKey::Name(name.to_vec()));
        }
        let parts = if lead.is_some() { parts(name) } else { None };
        let near = parts.iter().flat_map(keys);
        out.extend(near.filter(|key| self.keys.contains(key)));
        out
    }
}

/// True if one of the archives defines a name with a version.
fn is_versioned(library: &ArchiveSet, archives: &[ArchiveId]) -> bool {
    archives.iter().any(|archive| library.entry(*archive).members.versioned)
}

/// True for an archive of GCC's or LLVM's C++ library, by its name.
fn is_cxx_library(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    let begins: [&[u8]; 3] = [b"libstdc++", b"libsupc++", b"libc++"];
    begins.iter().any(|begin| name.starts_with(begin))
}

fn keys(parts: &Parts<'_>) -> impl Iterator<Item = NearKey> + use<> {
    let member = NearKey::Member(parts.scope.clone(), parts.member.clone());
    let class = parts.has_class().then(|| NearKey::Class(parts.scope.clone()));
    std::iter::once(member).chain(class)
}

impl<'a> NearMisses<'a> {
    /// Scans the scopes of the entry points under which symbols are `undefined`.
    pub(crate) fn find(audit: &'a Audit, undefined: &[(&[u8], RootId)]) -> Self {
        let view = audit.view();
        let mut scopes: FastMap<RootId, FastSet<FileId>> = FastMap::default();
        for (_, root) in undefined {
            let closure = &audit.closures.roots[*root];
            let files = || closure.in_scope().map(|(_, file)| file).collect();
            scopes.entry(*root).or_insert_with(files);
        }
        let mut files: Vec<FileId> = scopes.values().flatten().copied().collect();
        files.arrange();
        files.dedup();
        let wanted = NearQuery::new(undefined.iter().map(|(symbol, _)| *symbol));
        let of_files: Vec<Vec<(NearKey, CandidateDefinition<'a>)>> =
            parallel::map(&files, |file| {
                view.object(*file).map(|object| scan(*file, object, &wanted)).unwrap_or_default()
            });
        Self { found: gathered(of_files), scopes }
    }

    /// Scans shared objects, and those definitions of archive members that [`NearQuery`] selected.
    pub(crate) fn in_link(
        wanted: &NearQuery,
        objects: impl Iterator<Item = (FileId, &'a Object)>,
        members: impl Iterator<Item = (FileId, &'a archive::DefiningMember)>,
    ) -> Self {
        let mut of_files: Vec<_> =
            objects.map(|(file, object)| scan(file, object, wanted)).collect();
        for (file, found) in members {
            let (name, version) = split(&found.symbol);
            let (member, target) = (Some(&*found.member), found.target);
            let definition = CandidateDefinition { file, name, version, member, target };
            of_files.push(wanted.of(name).into_iter().map(|key| (key, definition)).collect());
        }
        Self { found: gathered(of_files), scopes: FastMap::default() }
    }

    /// The definitions in all files that are nearest to a symbol, the nearest first. `target` is
    /// the target of the object that refers to the symbol; with `None`, every target fits. Exact
    /// definitions are left out: those with the same name and machine, and with the same version or
    /// no version. If nothing else is near, the result has definitions of the name for another
    /// machine.
    pub(crate) fn of_link(&self, symbol: &[u8], target: Option<Target>) -> Vec<NearMiss<'a>> {
        let (name, version) = split(symbol);
        let links = |definition: &CandidateDefinition<'a>| match (target, definition.target) {
            (Some(target), Some(other)) => target.links_with(other),
            _ => true,
        };
        let found = self.nearest(name, &|definition| {
            links(definition)
                && (definition.name != name
                    || definition.version.is_some() && definition.version != version)
        });
        let mut out: Vec<NearMiss<'a>> = found
            .into_iter()
            .filter(|near| near.symbol != name || near.version.is_some())
            .collect();
        if out.is_empty() {
            let same = self.found.get(&NearKey::Name(name.to_vec())).into_iter().flatten();
            let other = same.filter(|definition| !links(definition)).take(MOST);
            out.extend(other.map(|definition| near_miss(Miss::Machine, definition)));
        }
        out
    }

    /// The definitions nearest to a symbol that `file` refers to, in the scope of an entry point,
    /// the nearest first. A definition of the same name in `file` itself is left out. That
    /// definition only reserves space for a variable that the program copies from a library.
    pub(crate) fn of(&self, file: FileId, symbol: &[u8], root: RootId) -> Vec<NearMiss<'a>> {
        let Some(scope) = self.scopes.get(&root) else { return Vec::new() };
        self.nearest(symbol, &|definition| {
            let is_own = definition.file == file && definition.name == symbol;
            scope.contains(&definition.file) && !is_own
        })
    }

    fn nearest(
        &self,
        symbol: &[u8],
        is_inside: &dyn Fn(&CandidateDefinition<'a>) -> bool,
    ) -> Vec<NearMiss<'a>> {
        let inside = |key: &NearKey| -> Vec<CandidateDefinition<'a>> {
            let all = self.found.get(key).into_iter().flatten();
            all.filter(|definition| is_inside(definition)).copied().collect()
        };
        let whole = inside(&NearKey::Name(symbol.to_vec()));
        let mut near: Vec<(Miss, CandidateDefinition<'a>)> =
            whole.into_iter().map(|definition| (Miss::Version, definition)).collect();
        if let Some(own) = parts(symbol) {
            let members = inside(&NearKey::Member(own.scope.clone(), own.member.clone()));
            let others = members.into_iter().filter(|other| other.name != symbol);
            near.extend(others.filter_map(|other| Some((differs(&own, other.name)?, other))));
            if near.is_empty() && own.has_class() {
                let members = inside(&NearKey::Class(own.scope.clone())).into_iter();
                near.extend(members.take(MOST_MEMBERS).map(|member| (Miss::Member, member)));
            }
        }
        near.arrange_by_key(|(miss, _)| *miss);
        near.truncate(MOST);
        near.iter().map(|(miss, definition)| near_miss(*miss, definition)).collect()
    }
}

fn near_miss<'a>(miss: Miss, definition: &CandidateDefinition<'a>) -> NearMiss<'a> {
    NearMiss {
        file: definition.file,
        symbol: definition.name,
        version: definition.version,
        member: definition.member,
        reason: miss.reason(),
        is_minor: miss == Miss::Member,
    }
}

/// Splits the name of an archive's symbol: `foo@V1` and `foo@@V1` are `foo` and its version.
fn split(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    let Some(at) = memchr::memchr(b'@', name) else { return (name, None) };
    let version = &name[at + 1..];
    (&name[..at], Some(version.strip_prefix(b"@").unwrap_or(version)))
}

/// Definitions by their keys, in the order of the files, at most [`MOST_OF_ALL`] for each key.
fn gathered(
    of_files: Vec<Vec<(NearKey, CandidateDefinition<'_>)>>,
) -> FastMap<NearKey, Vec<CandidateDefinition<'_>>> {
    let mut found: FastMap<NearKey, Vec<CandidateDefinition<'_>>> = FastMap::default();
    for (key, definition) in of_files.into_iter().flatten() {
        let all = found.entry(key).or_default();
        if all.len() < MOST_OF_ALL {
            all.push(definition);
        }
    }
    found
}

/// The way in which `other`, with the same scope and last component, differs from `own`. `None` if
/// the name `other` has no parts.
fn differs(own: &Parts<'_>, other: &[u8]) -> Option<Miss> {
    let other = parts(other)?;
    Some(if other.parameters != own.parameters {
        Miss::Parameters
    } else if other.qualifiers != own.qualifiers {
        Miss::Qualifiers
    } else {
        Miss::Tag
    })
}

/// The definitions of one file that have a wanted key, at most [`MOST_OF_FILE`] for each key.
fn scan<'a>(
    file: FileId,
    object: &'a Object,
    wanted: &NearQuery,
) -> Vec<(NearKey, CandidateDefinition<'a>)> {
    let mut counts: FastMap<NearKey, usize> = FastMap::default();
    let mut out = Vec::new();
    let visit = |symbol: Symbol<'a>| {
        for key in wanted.of(symbol.name) {
            let count = counts.entry(key.clone()).or_default();
            *count += 1;
            if *count <= MOST_OF_FILE {
                let version = object.versions.entry(symbol.versym & 0x7fff);
                let version = version.map(|entry| object.str(entry.name));
                let (name, target) = (symbol.name, Some(object.header.target()));
                out.push((key, CandidateDefinition { file, name, version, member: None, target }));
            }
        }
    };
    if let Some(tables) = &object.tables {
        // Without a wanted member or class, only exports with a wanted name are near.
        if wanted.keys.is_empty() {
            let names = wanted.names.iter().map(Vec::as_slice);
            tables.exports_of(names).into_iter().for_each(visit);
        } else {
            tables.exports().for_each(visit);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{NearKey, NearQuery, class_component, first_component, keys, parts};
    use crate::id::FastSet;

    const NAMES: &[&str] = &[
        "malloc",
        "malloc_usable_size",
        "_Z3fooi",
        "_Z3foo5Color",
        "_Z3fooIiEvT_",
        "_ZN5ColorC1Ev",
        "_ZNK5Color3rgbEi",
        "_ZNK5Color3rgbEv",
        "_ZN5Color3rgbB5cxx11Ei",
        "_ZN5ColorB5cxx113rgbEi",
        "_ZN5ColorIiE3rgbEi",
        "_ZN5ColorIiE3rgbEl",
        "_ZN5Color5Inner3rgbEi",
        "_ZN5Color5Inner3hueEi",
        "_ZN5Color5InnerIcE3hueEi",
        "_ZN5Color5OtherplERKS_",
        "_ZN5Color5OthermiERKS_",
        "_ZTV5Color",
        "_ZTVN5Color5InnerE",
        "_ZTIN5Color5InnerE",
        "_ZTISt9exception",
        "_ZNKSt9exception4whatEv",
        "_ZSt4endlIcEvv",
        "_ZSt4endlIwEvv",
        "_ZStplIcEvv",
        "_ZNSt6vectorIiSaIiEE9push_backEOi",
        "_ZNSt6vectorIiSaIiEE9push_backERKi",
        "_ZNSt6vectorIiSaIiEE7reserveEm",
        "_ZNSt7__cxx1112basic_stringIcE7reserveEm",
        "_ZNSt7__cxx1112basic_stringIcE6appendEm",
        "_ZNSt7__cxx114listIcE6appendEm",
        "_ZNSs6appendEm",
        "_ZN5Col",
        "_ZN5ColorUlvE_clEv",
    ];

    /// The quick test never rejects a name that has a wanted key.
    #[test]
    fn the_filter_rejects_no_near_name() {
        let (mut cases, mut near) = (0, 0);
        for first in NAMES {
            for second in NAMES {
                let pair = [first.as_bytes(), second.as_bytes()];
                let wanted = NearQuery::new(pair.into_iter());
                let of = |name: &'static str| parts(name.as_bytes());
                let all: FastSet<NearKey> =
                    [*first, *second].into_iter().filter_map(of).flat_map(|p| keys(&p)).collect();
                let lead = |name: &str| first_component(name.as_bytes()).map(|(f, _)| f.to_vec());
                let class = |name: &str| class_component(name.as_bytes()).map(|(f, _)| f.to_vec());
                let leads = [first, second].map(|name| lead(name).or_else(|| class(name)));
                for name in NAMES {
                    let shares = lead(name).is_some() && leads.contains(&lead(name));
                    let expected = pair.contains(&name.as_bytes())
                        || shares && of(name).iter().flat_map(keys).any(|key| all.contains(&key));
                    assert_eq!(wanted.is_near(name.as_bytes()), expected, "{name} near {pair:?}");
                    cases += 1;
                    near += usize::from(expected);
                }
            }
        }
        assert!(cases > 1000 && near > 100, "{cases} cases, {near} of them near");
    }
}
