//! Typed indices, vectors indexed by them, and hash maps whose order does not change between runs.
//!
//! Ids are valid within one run; all output has names and paths instead.

use std::hash::BuildHasher as _;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A hash map whose hasher has a fixed seed: the same input gives the same table on every run.
pub type FastMap<K, V> = hashbrown::HashMap<K, V, foldhash::fast::FixedState>;
/// A hash set whose hasher has a fixed seed, like [`FastMap`].
pub type FastSet<K> = hashbrown::HashSet<K, foldhash::fast::FixedState>;

/// A `u32` index of one type of item.
pub trait Id: Copy + Eq {
    /// The id of the item at `index`.
    fn from_index(index: usize) -> Self;
    /// The index of the item in its [`IdVec`].
    fn index(self) -> usize;
}

macro_rules! define_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(u32);

        impl Id for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("fewer than 2^32 things of one kind"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

impl NameId {
    /// A reserved id: no run has this many names.
    pub const LAST: Self = Self(u32::MAX);
}

impl ModuleId {
    /// The program: the first object of a link map, or the host program of a plugin.
    pub const ROOT: Self = Self(0);
    /// The loader: the second object of a link map.
    pub const LOADER: Self = Self(1);
}

define_id! {
    /// A file that was read. One inode has one id, whatever its names.
    FileId,
    /// A byte string of the resolver: a needed name, a soname, a path or a directory.
    StrId,
    /// An entry point with its closure.
    RootId,
    /// An archive whose members were read.
    ArchiveId,
    /// A member of an archive.
    MemberId,
    /// A name that members of archives define or refer to.
    NameId,
    /// An object of a link map, in mapping order; see `resolve::Closure`.
    ModuleId,
    /// The interpreter, soname and needs of an object that has neither search paths nor tokens.
    /// Together with the loader, these three determine how the needs are resolved.
    SignatureId,
    /// Everything on which the search for a library depends, except the needed name; see
    /// `resolve::search`.
    ContextId,
    /// A set of loader rules, read from an interpreter or assumed.
    LoaderId,
}

/// A vector indexed by one type of id.
#[derive(Debug, Clone)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self { items: Vec::new(), kind: PhantomData }
    }
}

impl<I: Id, T> IdVec<I, T> {
    /// Appends `item` and returns its id.
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }

    /// Keeps only the first `len` items.
    pub fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }

    /// Removes and returns the items from index `from` on, and drops the items before `from`. The
    /// vector keeps its capacity.
    pub fn take_from(&mut self, from: usize) -> Vec<T> {
        let out = self.items.drain(from..).collect();
        self.items.clear();
        out
    }

    /// Reserves room for `more` items.
    pub fn reserve(&mut self, more: usize) {
        self.items.reserve(more);
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if the vector is empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All items in the order of their ids.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// All items with their ids.
    pub fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(index, item)| (I::from_index(index), item))
    }

    /// All ids in order.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<'v, I: Id, T> IntoIterator for &'v IdVec<I, T> {
    type Item = &'v T;
    type IntoIter = std::slice::Iter<'v, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Self { items: items.into_iter().collect(), kind: PhantomData }
    }
}

/// A set of ids. Ids are small numbers, so a vector of `bool` replaces a hash table.
#[derive(Debug, Clone)]
pub struct IdSet<I> {
    holds: Vec<bool>,
    kind: PhantomData<fn(I)>,
}

impl<I> Default for IdSet<I> {
    fn default() -> Self {
        Self { holds: Vec::new(), kind: PhantomData }
    }
}

impl<I: Id> IdSet<I> {
    /// Adds `id`; false if it was present.
    pub fn insert(&mut self, id: I) -> bool {
        if id.index() >= self.holds.len() {
            self.holds.resize((id.index() + 1).next_power_of_two(), false);
        }
        !std::mem::replace(&mut self.holds[id.index()], true)
    }

    /// True if `id` is present.
    pub fn contains(&self, id: I) -> bool {
        self.holds.get(id.index()) == Some(&true)
    }
}

impl<I: Id> Extend<I> for IdSet<I> {
    fn extend<A: IntoIterator<Item = I>>(&mut self, ids: A) {
        for id in ids {
            self.insert(id);
        }
    }
}

/// Byte strings and their ids. Equal strings have equal ids, so that the loader's `strcmp` becomes
/// an integer comparison.
#[derive(Default)]
pub struct Strings {
    /// Ids by the hash of their text; each text is stored once.
    by_text: hashbrown::HashTable<StrId>,
    texts: IdVec<StrId, Box<[u8]>>,
    state: foldhash::fast::FixedState,
}

impl Strings {
    /// The id of `text`; a new text is stored.
    pub fn id(&mut self, text: &[u8]) -> StrId {
        let Self { by_text, texts, state } = self;
        let hash = state.hash_one(text);
        let is_same = |id: &StrId| &*texts[*id] == text;
        if let Some(id) = by_text.find(hash, is_same) {
            return *id;
        }
        let id = texts.push(text.into());
        by_text.insert_unique(hash, id, |id| state.hash_one(&*texts[*id]));
        id
    }

    /// Reserves room for `more` strings.
    pub fn reserve(&mut self, more: usize) {
        let Self { by_text, texts, state } = self;
        by_text.reserve(more, |id| state.hash_one(&*texts[*id]));
        texts.reserve(more);
    }

    /// The id of `text`, if it is stored.
    pub fn find(&self, text: &[u8]) -> Option<StrId> {
        let is_same = |id: &StrId| &*self.texts[*id] == text;
        self.by_text.find(self.state.hash_one(text), is_same).copied()
    }

    /// The text of `id`.
    pub fn text(&self, id: StrId) -> &[u8] {
        &self.texts[id]
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// True if no string is stored.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
