//! All archives that a question may be about, with one table of the names that their members
//! define or refer to. It chooses nothing.

use crate::format::archive::{Member, Members, Symbol, SymbolKind, hash};
use crate::id::{ArchiveId, FileId, Id as _, IdVec, MemberId, NameId};
use hashbrown::HashTable;
use std::path::Path;
use std::sync::Arc;

/// The end of a chain of definitions.
const NONE: u32 = u32::MAX;

/// One archive.
pub struct Shelf {
    /// The file, by its id in the corpus.
    pub file: FileId,
    /// Its path.
    pub path: Arc<Path>,
    /// Its members.
    pub members: Arc<Members>,
    /// Names of the archive to names of the library.
    names: Vec<NameId>,
    first: u32,
}

/// A definition of a name.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The member that has it.
    pub member: MemberId,
    /// What kind of definition it is.
    pub kind: SymbolKind,
    /// It is a function.
    pub function: bool,
    next: u32,
}

/// Archives and the names in them.
#[derive(Default)]
pub struct Library {
    shelves: IdVec<ArchiveId, Shelf>,
    /// The archive of each member.
    owners: IdVec<MemberId, ArchiveId>,
    /// Where the text of each name stands first.
    texts: IdVec<NameId, (ArchiveId, u32)>,
    table: HashTable<u32>,
    /// The last definition of each name, and from there to the one before.
    heads: IdVec<NameId, u32>,
    definitions: Vec<Definition>,
}

impl Library {
    /// Puts archives into one library, in the given order.
    pub fn new(archives: Vec<(FileId, Arc<Path>, Arc<Members>)>) -> Self {
        let mut out = Self::default();
        let names: usize = archives.iter().map(|(_, _, members)| members.names()).sum();
        out.table = HashTable::with_capacity(names / 2);
        for (file, path, members) in archives {
            out.add(file, path, members);
        }
        out
    }

    fn add(&mut self, file: FileId, path: Arc<Path>, members: Arc<Members>) {
        let archive = ArchiveId::from_index(self.shelves.len());
        let first = u32::try_from(self.owners.len()).unwrap_or(NONE);
        let count = u32::try_from(members.names()).unwrap_or(NONE);
        let names = (0..count).map(|name| self.intern(archive, &members, name)).collect();
        let shelf = Shelf { file, path, members, names, first };
        for member in &shelf.members.list {
            let id = self.owners.push(archive);
            for symbol in shelf.members.symbols(member) {
                if symbol.kind.is_definition() {
                    let head = &mut self.heads[shelf.names[symbol.name as usize]];
                    let next = *head;
                    *head = u32::try_from(self.definitions.len()).unwrap_or(NONE);
                    let (kind, function) = (symbol.kind, symbol.function);
                    self.definitions.push(Definition { member: id, kind, function, next });
                }
            }
        }
        self.shelves.push(shelf);
    }

    fn intern(&mut self, archive: ArchiveId, members: &Arc<Members>, name: u32) -> NameId {
        let (text, hash) = (members.text(name), members.hash(name));
        let (shelves, texts) = (&self.shelves, &self.texts);
        let of = |at: u32| {
            let (owner, name) = texts[NameId::from_index(at as usize)];
            // The archive that is being added has no shelf yet.
            if owner == archive { (members, name) } else { (&shelves[owner].members, name) }
        };
        let same = |at: &u32| {
            let (members, name) = of(*at);
            members.hash(name) == hash && members.text(name) == text
        };
        if let Some(at) = self.table.find(hash, same) {
            return NameId::from_index(*at as usize);
        }
        let at = u32::try_from(self.texts.len()).unwrap_or(NONE);
        self.table.insert_unique(hash, at, |at| {
            let (members, name) = of(*at);
            members.hash(name)
        });
        self.heads.push(NONE);
        self.texts.push((archive, name))
    }

    /// The id of a name, if a member defines it or refers to it.
    pub fn find(&self, name: &[u8]) -> Option<NameId> {
        let same = |at: &u32| self.text(NameId::from_index(*at as usize)) == name;
        self.table.find(hash(name), same).map(|at| NameId::from_index(*at as usize))
    }

    /// The text of a name.
    pub fn text(&self, name: NameId) -> &[u8] {
        let (archive, name) = self.texts[name];
        self.shelves[archive].members.text(name)
    }

    /// How many names there are.
    pub fn names(&self) -> usize {
        self.texts.len()
    }

    /// Definitions of a name, the last first.
    pub fn definitions(&self, name: NameId) -> impl Iterator<Item = Definition> {
        let mut at = self.heads[name];
        std::iter::from_fn(move || {
            let definition = *self.definitions.get(at as usize)?;
            at = definition.next;
            Some(definition)
        })
    }

    /// An archive.
    pub fn shelf(&self, archive: ArchiveId) -> &Shelf {
        &self.shelves[archive]
    }

    /// All archives in their order.
    pub fn shelves(&self) -> impl Iterator<Item = (ArchiveId, &Shelf)> {
        self.shelves.entries()
    }

    /// The archive that was read from `file`.
    pub fn archive(&self, file: FileId) -> Option<ArchiveId> {
        self.shelves.entries().find(|(_, shelf)| shelf.file == file).map(|(id, _)| id)
    }

    /// How many members there are in all archives.
    pub fn members(&self) -> usize {
        self.owners.len()
    }

    /// The members of an archive, in the order of its headers.
    pub fn members_of(&self, archive: ArchiveId) -> impl Iterator<Item = MemberId> + use<> {
        let shelf = &self.shelves[archive];
        let first = shelf.first as usize;
        (first..first + shelf.members.list.len()).map(MemberId::from_index)
    }

    /// The archive of a member.
    pub fn archive_of(&self, member: MemberId) -> ArchiveId {
        self.owners[member]
    }

    /// What is known of a member.
    pub fn member(&self, member: MemberId) -> &Member {
        let shelf = self.shelf(self.owners[member]);
        &shelf.members.list[member.index() - shelf.first as usize]
    }

    /// A member's name.
    pub fn member_name(&self, member: MemberId) -> &[u8] {
        self.shelf(self.owners[member]).members.name(self.member(member))
    }

    /// The symbols of a member with the ids of their names.
    pub fn symbols(&self, member: MemberId) -> impl Iterator<Item = (NameId, &Symbol)> {
        let shelf = self.shelf(self.owners[member]);
        let symbols = shelf.members.symbols(self.member(member)).iter();
        symbols.map(|symbol| (shelf.names[symbol.name as usize], symbol))
    }
}
