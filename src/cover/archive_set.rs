//! All archives that a [`super::CoverageQuestion`] can name, with one table of the names that
//! their members define or refer to. The set only stores archives, members and names: `order` and
//! `order_independent` choose members.

use crate::format::archive::{Member, MemberSymbol, Members, NAMELESS, SymbolKind};
use crate::id::{ArchiveId, FastMap, FileId, Id as _, IdVec, MemberId, NameId};
use crate::parallel;
use crate::symbol_names::SymbolNames;
use rayon::prelude::*;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Marks the end of a chain of definitions.
const NONE: u32 = u32::MAX;

/// The index of a definition or member, in 32 bits. Panics if it is 2^32 - 1 or more: [`NONE`]
/// marks the end of a chain.
fn number(place: usize) -> u32 {
    u32::try_from(place).ok().filter(|place| *place != NONE).expect("fewer than 2^32 of one kind")
}

/// An archive of the set, with its members.
pub struct ArchiveEntry {
    /// The file, by its id in the corpus.
    pub file: FileId,
    /// The path by which the archive was read.
    pub path: Arc<Path>,
    /// The members of the archive.
    pub members: Arc<Members>,
    first: u32,
}

/// A definition of a name in a member of an archive.
#[derive(Clone, Copy, Debug)]
pub struct MemberDefinition {
    /// The member that has the definition.
    pub member: MemberId,
    /// The kind of the definition: strong, weak, common or unique.
    pub kind: SymbolKind,
    /// True if the symbol is a function.
    pub function: bool,
    /// True for a strong definition that may lie in a COMDAT group without being its signature.
    pub beside_weak: bool,
    next: u32,
}

/// Archives in the order of [`ArchiveSet::new`], with all names that their members define or refer
/// to.
#[derive(Default)]
pub struct ArchiveSet {
    entries: IdVec<ArchiveId, ArchiveEntry>,
    by_file: FastMap<FileId, ArchiveId>,
    /// The archive of each member.
    owners: IdVec<MemberId, ArchiveId>,
    names: Arc<SymbolNames>,
    parts: Vec<DefinitionShard>,
    /// Members by their [`ArchiveSet::definitions_key`].
    keys: OnceLock<MemberKeys>,
    /// The names that members without a strong definition define. The key is the hash of a name.
    /// The value is the number of definitions of this name in all archives.
    weak: OnceLock<FastMap<u64, usize>>,
}

/// The [`ArchiveSet::definitions_key`] of all members.
struct MemberKeys {
    of: IdVec<MemberId, Option<u64>>,
    /// Members with a definition, sorted by their key, then by their id.
    sorted: Vec<(u64, MemberId)>,
}

/// The definitions of all names whose ids leave the same remainder when divided by [`PARTS`].
struct DefinitionShard {
    /// For each name, the index of its last definition. The `next` of a definition is the index of
    /// the one before it, or [`NONE`].
    heads: Vec<u32>,
    definitions: Vec<MemberDefinition>,
}

/// The definitions in one archive, each with the id of its name. Names without an id are left out.
type Gathered = Vec<(NameId, MemberDefinition)>;

impl DefinitionShard {
    fn new(part: usize, found: &[Gathered], bound: usize) -> Self {
        let mut out = Self { heads: vec![NONE; bound.div_ceil(PARTS)], definitions: Vec::new() };
        for (name, definition) in
            found.iter().flatten().filter(|(name, _)| name.index() % PARTS == part)
        {
            let head = &mut out.heads[name.index() / PARTS];
            let next = *head;
            *head = number(out.definitions.len());
            out.definitions.push(MemberDefinition { next, ..*definition });
        }
        out
    }
}

/// Mask of the low bits of a hash, by which [`ArchiveSet::fewest`] rejects most hashes quickly.
const SEEN: u64 = (1 << 16) - 1;

/// Number of parts over which the names are spread. The parts are filled in parallel.
const PARTS: usize = 2;

impl ArchiveSet {
    /// A set of archives in the given order. `names` holds the names of their symbols.
    pub fn new(names: Arc<SymbolNames>, archives: Vec<(FileId, Arc<Path>, Arc<Members>)>) -> Self {
        let mut out = Self { names, ..Self::default() };
        for (file, path, members) in archives {
            let archive = ArchiveId::from_index(out.entries.len());
            let first = number(out.owners.len());
            for _ in &members.list {
                out.owners.push(archive);
            }
            out.by_file.entry(file).or_insert(archive);
            out.entries.push(ArchiveEntry { file, path, members, first });
        }
        let archives: Vec<ArchiveId> = out.entries.ids().collect();
        let gather = |archive: &ArchiveId| out.gather(*archive);
        let found: Vec<Gathered> = parallel::map_single(&archives, gather);
        let part = |part| DefinitionShard::new(part, &found, out.names.bound());
        out.parts = (0..PARTS).into_par_iter().map(part).collect();
        out
    }

    /// Collects the definitions of an archive's members.
    fn gather(&self, archive: ArchiveId) -> Gathered {
        let members = &self.entries[archive].members;
        let mut out = Vec::new();
        for member in self.members_of(archive) {
            let symbols = members.symbols(self.member(member)).iter();
            let named = symbols.filter(|one| one.kind.is_definition() && one.name != NAMELESS);
            out.extend(named.map(|symbol| {
                let MemberSymbol { name, kind, beside_weak, .. } = *symbol;
                let function = symbol.is_function();
                (name, MemberDefinition { member, kind, function, beside_weak, next: NONE })
            }));
        }
        out
    }

    /// The id of a name that some member refers to, or that the run requested before members were
    /// read. `None` for any other name.
    pub fn find(&self, name: &[u8]) -> Option<NameId> {
        self.names.find(name)
    }

    /// The text of a name, by its id.
    pub fn text(&self, name: NameId) -> &[u8] {
        self.names.text(name)
    }

    /// Exclusive upper bound of the ids of names.
    pub fn names(&self) -> usize {
        self.names.bound()
    }

    /// The definitions of a name in all archives, the last one first.
    pub fn definitions(&self, name: NameId) -> impl Iterator<Item = MemberDefinition> {
        let part = self.parts.get(name.index() % PARTS);
        let mut at = part.map_or(NONE, |part| part.heads[name.index() / PARTS]);
        std::iter::from_fn(move || {
            let definition = *part?.definitions.get(at as usize)?;
            at = definition.next;
            Some(definition)
        })
    }

    /// The archive with this id.
    pub fn entry(&self, archive: ArchiveId) -> &ArchiveEntry {
        &self.entries[archive]
    }

    /// All archives in their order.
    pub fn entries(&self) -> impl Iterator<Item = (ArchiveId, &ArchiveEntry)> {
        self.entries.entries()
    }

    /// The archive that was read from `file`; `None` if `file` was not read as an archive.
    pub fn archive(&self, file: FileId) -> Option<ArchiveId> {
        self.by_file.get(&file).copied()
    }

    /// Number of members in all archives.
    pub fn members(&self) -> usize {
        self.owners.len()
    }

    /// True if an archive has at least one member.
    pub fn has_members(&self, archive: ArchiveId) -> bool {
        !self.entries[archive].members.list.is_empty()
    }

    /// The members of an archive, in the order of their headers.
    pub fn members_of(&self, archive: ArchiveId) -> impl Iterator<Item = MemberId> + use<> {
        let entry = &self.entries[archive];
        let first = entry.first as usize;
        (first..first + entry.members.list.len()).map(MemberId::from_index)
    }

    /// The archive of a member.
    pub fn archive_of(&self, member: MemberId) -> ArchiveId {
        self.owners[member]
    }

    /// The facts of a member.
    pub fn member(&self, member: MemberId) -> &Member {
        let entry = self.entry(self.owners[member]);
        &entry.members.list[member.index() - entry.first as usize]
    }

    /// The name of a member in its archive.
    pub fn member_name(&self, member: MemberId) -> &[u8] {
        self.entry(self.owners[member]).members.name(self.member(member))
    }

    /// True if the index of the member's archive lists `name` for the member. False for an index of
    /// BSD's form, which GNU ld does not read, and if the index was not read.
    pub fn is_listed(&self, member: MemberId, name: &[u8]) -> bool {
        let index = self.entry(self.owners[member]).members.index.as_ref();
        index.is_some_and(|index| !index.is_bsd && index.has(name, self.member(member).offset))
    }

    /// The symbols of a member, each with the id of its name. All references of the member are
    /// included. A definition is included only if some member refers to its name or the run
    /// requested the name.
    pub fn symbols(&self, member: MemberId) -> impl Iterator<Item = (NameId, &MemberSymbol)> {
        let entry = self.entry(self.owners[member]);
        let symbols = entry.members.symbols(self.member(member)).iter();
        symbols.filter(|symbol| symbol.name != NAMELESS).map(|symbol| (symbol.name, symbol))
    }

    /// The definitions of a member that have a default version, each as `NAME@VERSION`.
    pub fn default_versions(
        &self,
        member: MemberId,
    ) -> impl Iterator<Item = (&[u8], &MemberSymbol)> {
        self.entry(self.owners[member]).members.default_versions(self.member(member))
    }

    /// The functions of the C library to which a member may refer without a symbol.
    pub fn unlisted(&self, member: MemberId) -> impl Iterator<Item = &'static str> {
        self.entry(self.owners[member]).members.unlisted(self.member(member))
    }

    /// True if a member has a strong definition.
    pub fn is_strong(&self, member: MemberId) -> bool {
        let entry = self.entry(self.owners[member]);
        let mut symbols = entry.members.symbols(self.member(member)).iter();
        symbols.any(|symbol| symbol.kind == SymbolKind::Strong)
    }

    /// Hashes of all names that a member defines, in the order of its symbol table.
    pub fn hashes(&self, member: MemberId) -> &[u64] {
        self.entry(self.owners[member]).members.hashes(self.member(member))
    }

    /// Hashes of the names for which a member has a strong or unique definition.
    pub fn strong_hashes(&self, member: MemberId) -> impl Iterator<Item = u64> {
        self.hashes_of(member, |kind| matches!(kind, SymbolKind::Strong | SymbolKind::Unique))
    }

    /// Hashes of the names for which a member has a definition of a kind that `is_wanted` accepts.
    pub fn hashes_of(
        &self,
        member: MemberId,
        is_wanted: impl Fn(SymbolKind) -> bool,
    ) -> impl Iterator<Item = u64> {
        let symbols = self.entry(self.owners[member]).members.symbols(self.member(member)).iter();
        let definitions = symbols.filter(|symbol| symbol.kind.is_definition());
        let all = definitions.zip(self.hashes(member));
        all.filter(move |(symbol, _)| is_wanted(symbol.kind)).map(|(_, hash)| *hash)
    }

    /// The hash of a name, as in [`Self::hashes`].
    pub fn hash(&self, name: &[u8]) -> u64 {
        self.names.hash(name)
    }

    /// The number of definitions, in all archives, of the rarest name that a member defines. The
    /// member must not have a strong definition. `usize::MAX` if the member defines nothing.
    pub fn fewest(&self, member: MemberId) -> usize {
        let count = || {
            let weak = self.owners.ids().filter(|member| !self.is_strong(*member));
            let names = weak.flat_map(|member| self.hashes(member).iter().copied());
            let mut out: FastMap<u64, usize> = names.map(|hash| (hash, 0)).collect();
            // These names are few: a table of low bits rejects most other hashes.
            let mut seen = vec![false; 1 << 16];
            out.keys().for_each(|hash| seen[(*hash & SEEN) as usize] = true);
            for member in self.owners.ids() {
                for hash in self.hashes(member) {
                    if seen[(*hash & SEEN) as usize] {
                        out.entry(*hash).and_modify(|count| *count += 1);
                    }
                }
            }
            out
        };
        let weak = self.weak.get_or_init(count);
        let counts = self.hashes(member).iter().filter_map(|hash| weak.get(hash));
        counts.copied().min().unwrap_or(usize::MAX)
    }

    /// A number that is equal for members that define the same names, and nearly always different
    /// for others. `None` for a member that defines nothing.
    pub fn definitions_key(&self, member: MemberId) -> Option<u64> {
        self.keys().of[member]
    }

    fn keys(&self) -> &MemberKeys {
        self.keys.get_or_init(|| {
            let members: Vec<MemberId> = self.owners.ids().collect();
            let keys = parallel::map(&members, |member| key(self.hashes(*member)));
            let mut of = IdVec::default();
            let mut sorted = Vec::with_capacity(members.len());
            for (key, member) in keys.into_iter().zip(members) {
                of.push(key);
                sorted.extend(key.map(|key| (key, member)));
            }
            sorted.sort_unstable();
            MemberKeys { of, sorted }
        })
    }

    /// All members with the [`Self::definitions_key`] of `member`, including `member`, in the
    /// order of their ids. These members may define the same names. Empty for a member that
    /// defines nothing.
    pub fn alike(&self, member: MemberId) -> impl Iterator<Item = MemberId> {
        let all = &self.keys().sorted;
        let key = self.definitions_key(member);
        let start = all.partition_point(|(other, _)| Some(*other) < key);
        let same = all[start..].iter().take_while(move |(other, _)| Some(*other) == key);
        same.map(|(_, member)| *member)
    }
}

/// The key of a member whose names have these hashes; see [`ArchiveSet::definitions_key`].
fn key(hashes: &[u64]) -> Option<u64> {
    // The key uses minima and maxima, because they do not depend on the order and repetition of
    // names in a table. One minimum is not enough: thousands of members share the least hash,
    // because they define the same inline function.
    let first = *hashes.first()?;
    let (mut least, mut most) = (first, first);
    let (mut least_turned, mut most_turned) = (first.rotate_left(32), first.rotate_left(32));
    for hash in hashes {
        let turned = hash.rotate_left(32);
        (least, most) = (least.min(*hash), most.max(*hash));
        (least_turned, most_turned) = (least_turned.min(turned), most_turned.max(turned));
    }
    let key = least ^ most.rotate_left(16);
    Some(key ^ least_turned.rotate_left(24) ^ most_turned.rotate_left(40))
}
