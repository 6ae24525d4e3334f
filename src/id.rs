//! Small numbers that stand for things, vectors indexed by them, and the maps used everywhere.
//!
//! Ids live inside one run; what is written anywhere carries names and paths instead.

use std::hash::BuildHasher as _;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A hash map whose hasher has a fixed state: the same input gives the same table on every run.
pub type FastMap<K, V> = hashbrown::HashMap<K, V, foldhash::fast::FixedState>;
/// A hash set with the same property as [`FastMap`].
pub type FastSet<K> = hashbrown::HashSet<K, foldhash::fast::FixedState>;

/// A `u32` that indexes one kind of thing.
pub trait Id: Copy + Eq {
    /// The id of the thing at `index`.
    fn from_index(index: usize) -> Self;
    /// The place of the thing in its [`IdVec`].
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
    /// An id that no name gets: there are fewer.
    pub const LAST: Self = Self(u32::MAX);
}

impl ModuleId {
    /// The program: what the link map starts from, or the host of a plugin.
    pub const ROOT: Self = Self(0);
    /// The loader.
    pub const LOADER: Self = Self(1);
}

define_id! {
    /// One file that was read: one inode, whatever its names.
    FileId,
    /// One byte string of the resolver: a needed name, a soname, a path or a directory.
    StrId,
    /// One object that a program (or a library taken as one) starts from.
    RootId,
    /// One archive whose members are known.
    ArchiveId,
    /// One member of one archive.
    MemberId,
    /// One name that members of archives define or refer to.
    NameId,
    /// One object of one link map, by the order in which it was mapped; see `resolve::Closure`.
    ModuleId,
    /// The needs of one object with all that decides about its links besides its loader.
    SignatureId,
    /// One set of search paths that objects search with; see `resolve::search`.
    ContextId,
    /// One set of loader rules: an interpreter that was read, or the lack of one.
    LoaderId,
}

/// A vector that is indexed by one kind of id only.
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
    /// Appends `item` and answers its id.
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }

    /// Forgets the things from the one at `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }

    /// Takes the things from the one at `from` on out, and forgets those before them. The room for
    /// more stays.
    pub fn take_from(&mut self, from: usize) -> Vec<T> {
        let out = self.items.drain(from..).collect();
        self.items.clear();
        out
    }

    /// Makes room for `more` things.
    pub fn reserve(&mut self, more: usize) {
        self.items.reserve(more);
    }

    /// How many things there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if there is nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All things in the order of their ids.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// All things with their ids.
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

/// A set of ids; they are small numbers, so that none is hashed.
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
    /// Adds `id`; false if it was there.
    pub fn insert(&mut self, id: I) -> bool {
        if id.index() >= self.holds.len() {
            self.holds.resize((id.index() + 1).next_power_of_two(), false);
        }
        !std::mem::replace(&mut self.holds[id.index()], true)
    }

    /// True if `id` is there.
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

/// Byte strings and their ids. Equal strings have equal ids, so that the loader's `strcmp`
/// becomes a comparison of numbers.
#[derive(Default)]
pub struct Strings {
    /// Ids by the hashes of their texts, each of which is stored once.
    by_text: hashbrown::HashTable<StrId>,
    texts: IdVec<StrId, Box<[u8]>>,
    state: foldhash::fast::FixedState,
}

impl Strings {
    /// The id of `text`, which is remembered if it is new.
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

    /// Makes room for `more` strings.
    pub fn reserve(&mut self, more: usize) {
        let Self { by_text, texts, state } = self;
        by_text.reserve(more, |id| state.hash_one(&*texts[*id]));
        texts.reserve(more);
    }

    /// The id of `text` if it is known.
    pub fn find(&self, text: &[u8]) -> Option<StrId> {
        let is_same = |id: &StrId| &*self.texts[*id] == text;
        self.by_text.find(self.state.hash_one(text), is_same).copied()
    }

    /// The text of `id`.
    pub fn text(&self, id: StrId) -> &[u8] {
        &self.texts[id]
    }

    /// How many strings are known.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// True if none is known.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
