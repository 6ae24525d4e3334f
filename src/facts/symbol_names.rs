//! The names of symbols of all archives of a run, each stored once. Archives are read with names of
//! their own, each on its thread; here they get the names of the run, in the order of the files.
//! `collect` fills it, `cover::Library` and rules read it.

use crate::format::archive::{Members, Spare, hash};
use crate::id::{Id as _, NameId};
use hashbrown::HashTable;

/// Names by id.
#[derive(Clone, Debug, Default)]
pub struct SymbolNames {
    /// In pieces: a text of a hundred megabytes that grows would be copied, and be there twice.
    text: Vec<Vec<u8>>,
    names: Vec<Name>,
    table: HashTable<u32>,
}

/// Bytes of a piece of text; a longer name is a piece of its own.
const PIECE: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
struct Name {
    hash: u64,
    piece: u32,
    start: u32,
    len: u32,
}

impl Name {
    fn of(self, text: &[Vec<u8>]) -> &[u8] {
        let start = self.start as usize;
        let piece = text.get(self.piece as usize).map(Vec::as_slice).unwrap_or_default();
        piece.get(start..start + self.len as usize).unwrap_or_default()
    }
}

impl SymbolNames {
    /// The text of a name.
    pub fn text(&self, name: NameId) -> &[u8] {
        self.names.get(name.index()).map_or(&[], |name| name.of(&self.text))
    }

    /// The id of a name, if an archive has it.
    pub fn find(&self, name: &[u8]) -> Option<NameId> {
        let hash = hash(name);
        let found = self.table.find(hash, |at| self.is(*at, hash, name))?;
        Some(NameId::from_index(*found as usize))
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    fn is(&self, at: u32, hash: u64, name: &[u8]) -> bool {
        let known = self.names[at as usize];
        known.hash == hash && known.of(&self.text) == name
    }

    /// Takes over the names of an archive, whose symbols carry names of the run from here on.
    pub(super) fn adopt(&mut self, members: &mut Members) -> Spare {
        let count = u32::try_from(members.names()).unwrap_or(u32::MAX);
        let ids: Vec<Option<u32>> =
            (0..count).map(|name| self.id(members.text(name), members.hash(name))).collect();
        members.rename(&ids)
    }

    /// The id of a name; nothing once there are 2^32 of them.
    fn id(&mut self, name: &[u8], hash: u64) -> Option<u32> {
        if let Some(at) = self.table.find(hash, |at| self.is(*at, hash, name)) {
            return Some(*at);
        }
        let at = u32::try_from(self.names.len()).ok()?;
        let len = u32::try_from(name.len()).ok()?;
        let fits = |piece: &Vec<u8>| piece.capacity() - piece.len() >= name.len();
        if !self.text.last().is_some_and(fits) {
            self.text.push(Vec::with_capacity(name.len().max(PIECE)));
        }
        let piece = u32::try_from(self.text.len() - 1).ok()?;
        let last = self.text.last_mut()?;
        let start = u32::try_from(last.len()).ok()?;
        last.extend_from_slice(name);
        self.names.push(Name { hash, piece, start, len });
        let names = &self.names;
        self.table.insert_unique(hash, at, |at| names[*at as usize].hash);
        Some(at)
    }
}
