//! Finds the names that several objects of one scope define. It compares the 32-bit words of their
//! hash tables and reads no text. If two names share a word, the later lookup distinguishes them;
//! such a collision costs only time.

use crate::facts::View;
use crate::format::elf::{Object, Tables};
use crate::id::{FastMap, FastSet, FileId, Id as _, IdSet};
use crate::resolve::{Closure, ROOT};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A hash word, salted with the machine of its object: objects of two machines share no scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Word(u32);

/// The salt for the words of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Salt(u32);

impl Salt {
    /// Spreads small numbers over 32 bits: 2^32 divided by the golden ratio.
    const SPREAD: u32 = 0x9e37_79b1;

    pub(super) fn of(object: &Object) -> Self {
        let class = u32::from(object.header.is_64) << 16;
        Self((u32::from(object.header.machine) | class).wrapping_mul(Self::SPREAD))
    }

    /// The salted word of a name with this GNU hash.
    pub(super) fn word(self, hash: u32) -> Word {
        Word((hash & !1) ^ self.0)
    }
}

/// Bits of a [`WordSet`] for each expected word.
const BITS: usize = 8;

/// A set of hash words with false positives, as a Bloom filter. All threads add to it, and its
/// content does not depend on their order.
pub(super) struct WordSet {
    bits: Vec<AtomicU64>,
}

impl WordSet {
    fn new(words: usize) -> Self {
        let len = (words * BITS / 64).next_power_of_two();
        Self { bits: (0..len).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The lowest bit is the same in all words of a machine.
    fn place(&self, Word(word): Word) -> (usize, u64) {
        let at = (word >> 1) as usize;
        ((at / 64) & (self.bits.len() - 1), 1 << (at % 64))
    }

    /// Adds `word`; true if it may have been present.
    pub(super) fn insert(&self, word: Word) -> bool {
        let (at, bit) = self.place(word);
        let has = |bits: u64| bits & bit != 0;
        has(self.bits[at].load(Ordering::Relaxed))
            || has(self.bits[at].fetch_or(bit, Ordering::Relaxed))
    }

    pub(super) fn contains(&self, word: Word) -> bool {
        let (at, bit) = self.place(word);
        self.bits[at].load(Ordering::Relaxed) & bit != 0
    }
}

/// The tables of an object, if it has any, with the salt of their words.
fn hashed(object: &Object) -> Option<(Salt, &Tables)> {
    Some((Salt::of(object), object.tables.as_ref()?))
}

/// Facts about hash words, before any name is known.
pub(super) struct Words {
    /// Words that occur more than once.
    twice: WordSet,
    /// Words of `twice` or `open` that some object refers to.
    used: WordSet,
    /// Words that some object refers to without a definition in its own closure.
    open: WordSet,
}

impl Words {
    /// Reads the hash tables. A word of an entry point counts only if a library has it too: no two
    /// entry points share a scope.
    pub(super) fn count(view: View<'_>, libraries: &[FileId], entries: &[FileId]) -> Self {
        let tables = |file: &FileId| view.object(*file).and_then(hashed);
        let hashed = |(_, tables): (Salt, &Tables)| {
            let all = tables.indices();
            let hashed = all.end - tables.unhashed_end().min(all.end);
            // Without a GNU table any symbol may be found.
            if hashed == 0 { all.len() } else { hashed as usize }
        };
        let total = libraries.iter().filter_map(tables).map(hashed).sum();
        let (once, twice) = (WordSet::new(total), WordSet::new(total));
        libraries.par_iter().filter_map(tables).for_each(|(salt, tables)| {
            tables.each_word(|hash| {
                let word = salt.word(hash);
                if once.insert(word) {
                    twice.insert(word);
                }
            });
        });
        entries.par_iter().filter_map(tables).for_each(|(salt, tables)| {
            tables.each_word(|hash| {
                let word = salt.word(hash);
                if once.contains(word) {
                    twice.insert(word);
                }
            });
        });
        Self { twice, used: WordSet::new(total / 4), open: WordSet::new(total / 16) }
    }

    /// Records that an object refers to `word`; true if the word may occur more than once.
    pub(super) fn note_used(&self, word: Word) -> bool {
        let is_twice = self.twice.contains(word);
        if is_twice {
            self.used.insert(word);
        }
        is_twice
    }

    /// Records that an object refers to `word` and has no definition in its own closure.
    pub(super) fn note_open(&self, word: Word) {
        self.used.insert(word);
        self.open.insert(word);
    }
}

/// A word whose standalone binding may not hold under every entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Name(u32);

impl Name {
    /// Index into tables of [`Names::len`] entries.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    /// The word of a [`NameSet`] and the bit in it.
    fn place(self) -> (usize, u64) {
        (self.0 as usize / 64, 1 << (self.0 % 64))
    }
}

/// A set of names, one bit for each name.
#[derive(Default)]
pub(super) struct NameSet {
    bits: Vec<u64>,
}

impl NameSet {
    /// Empties the set and makes room for `names` names.
    pub(super) fn clear(&mut self, names: usize) {
        self.bits.clear();
        self.bits.resize(names.div_ceil(64), 0);
    }

    /// Adds `name`; true if it was present.
    pub(super) fn insert(&mut self, name: Name) -> bool {
        let (at, bit) = name.place();
        let had = self.bits[at] & bit != 0;
        self.bits[at] |= bit;
        had
    }

    pub(super) fn contains(&self, name: Name) -> bool {
        let (at, bit) = name.place();
        self.bits[at] & bit != 0
    }

    /// Adds the names of `other`.
    pub(super) fn add(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(to, from)| *to |= from);
    }

    /// Adds the names that are in both.
    pub(super) fn add_common(&mut self, a: &Self, b: &Self) {
        let both = a.bits.iter().zip(&b.bits).map(|(a, b)| a & b);
        self.bits.iter_mut().zip(both).for_each(|(to, from)| *to |= from);
    }
}

/// The names in the hash table of one file.
pub(super) enum InFile {
    Few(Vec<Name>),
    /// So many that the union of two sets is faster than a loop over a list.
    Many(NameSet),
}

/// A word in the hash table of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Defined {
    word: Word,
    file: FileId,
}

impl Defined {
    /// The word and the file in one number: it is compared faster than two.
    fn key(self) -> u64 {
        u64::from(self.word.0) << 32 | self.file.index() as u64
    }
}

/// The number of parts that are sorted independently of one another, as a power of two.
const PARTS_LOG2: u32 = 8;

/// Sorts by word and file, each pair once. Hash words are spread evenly over the parts.
fn grouped(defined: &[Defined]) -> Vec<Defined> {
    let part = |Defined { word: Word(word), .. }: &Defined| word >> (u32::BITS - PARTS_LOG2);
    let mut ends = [0_usize; 1 << PARTS_LOG2];
    for one in defined {
        ends[part(one) as usize] += 1;
    }
    let lengths = ends;
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut out = defined.to_vec();
    for one in defined {
        let place = &mut ends[part(one) as usize];
        out[*place] = *one;
        *place += 1;
    }
    let mut parts = Vec::with_capacity(lengths.len());
    let mut rest = &mut out[..];
    for length in lengths {
        let (part, behind) = rest.split_at_mut(length);
        parts.push(part);
        rest = behind;
    }
    let sort = |part: &mut [Defined]| part.sort_unstable_by_key(|one| one.key());
    parts.into_par_iter().with_min_len(8).for_each(sort);
    out.dedup();
    out
}

/// All words whose binding may vary, and the files whose hash tables contain each.
#[derive(Default)]
pub(super) struct Names {
    by_word: FastMap<Word, Name>,
    /// The names in each file's hash table, by file.
    defined: Vec<InFile>,
    /// By name, ascending: the files that other objects load.
    libraries: Vec<Box<[FileId]>>,
    /// By name, ascending: the files that are entry points only.
    entries: Vec<Box<[FileId]>>,
}

impl Names {
    /// Collects the words that two files of one scope have, or that an object has no definition
    /// for.
    pub(super) fn find(
        view: View<'_>,
        files: &[FileId],
        roots: &[&Closure],
        words: &Words,
    ) -> Self {
        let in_file = |file: &FileId| {
            let mut out: Vec<Defined> = Vec::new();
            if let Some((salt, tables)) = view.object(*file).and_then(hashed) {
                tables.each_word(|hash| {
                    let word = salt.word(hash);
                    if words.used.contains(word) {
                        out.push(Defined { word, file: *file });
                    }
                });
            }
            out
        };
        let (defined, together): (Vec<Defined>, Together) = rayon::join(
            || files.par_iter().flat_map_iter(in_file).collect(),
            || Together::new(files, roots),
        );
        let defined = grouped(&defined);
        let groups: Vec<&[Defined]> = defined.chunk_by(|a, b| a.word == b.word).collect();
        let is_taken = |row: &mut Vec<u64>, group: &&[Defined]| {
            words.open.contains(group[0].word) || together.has_two_of(group, row)
        };
        let is_taken: Vec<bool> =
            groups.par_iter().with_min_len(AT_LEAST).map_init(Vec::new, is_taken).collect();
        let taken = groups.into_iter().zip(is_taken).filter(|(_, is_taken)| *is_taken);
        Self::number(files, taken.map(|(group, _)| group), &together)
    }

    /// Numbers the words of `groups`.
    fn number<'d>(
        files: &[FileId],
        groups: impl Iterator<Item = &'d [Defined]>,
        together: &Together,
    ) -> Self {
        let last = files.iter().map(|file| file.index() + 1).max().unwrap_or(0);
        let mut out = Self::default();
        let mut lists: Vec<Vec<Name>> = vec![Vec::new(); last];
        for group in groups {
            let Ok(number) = u32::try_from(out.by_word.len()) else { break };
            out.by_word.insert(group[0].word, Name(number));
            for Defined { file, .. } in group {
                lists[file.index()].push(Name(number));
            }
            let files = || group.iter().map(|defined| defined.file);
            let is_library = |file: &FileId| together.columns[file.index()].is_some();
            out.libraries.push(files().filter(is_library).collect());
            out.entries.push(files().filter(|file| !is_library(file)).collect());
        }
        let names = out.by_word.len();
        let in_file = |list: Vec<Name>| {
            if list.len() < names / 64 {
                return InFile::Few(list);
            }
            let mut set = NameSet::default();
            set.clear(names);
            for name in list {
                set.insert(name);
            }
            InFile::Many(set)
        };
        out.defined = lists.into_iter().map(in_file).collect();
        out
    }

    /// Number of names.
    pub(super) fn len(&self) -> usize {
        self.by_word.len()
    }

    pub(super) fn of_word(&self, word: Word) -> Option<Name> {
        self.by_word.get(&word).copied()
    }

    /// The names in the hash table of `file`.
    pub(super) fn in_file(&self, file: FileId) -> Option<&InFile> {
        self.defined.get(file.index())
    }

    /// Adds to `out` the files of a scope that have `name`, in no particular order. `files` are the
    /// files of the scope, `root` is the file of the entry point, and `is_present` tests if a
    /// file is in the scope.
    pub(super) fn in_scope(
        &self,
        name: Name,
        (root, files): (Option<FileId>, &[FileId]),
        is_present: impl Fn(FileId) -> bool,
        out: &mut Vec<FileId>,
    ) {
        let libraries = &*self.libraries[name.index()];
        let has = |list: &[FileId], file: &FileId| list.binary_search(file).is_ok();
        out.extend(root.filter(|file| has(&self.entries[name.index()], file)));
        // Hundreds of libraries may define a template function.
        if libraries.len() > MANY * files.len() {
            out.extend(files.iter().filter(|file| has(libraries, file)));
        } else {
            out.extend(libraries.iter().filter(|file| is_present(**file)));
        }
    }
}

/// If a list is this many times longer than a scope, each file of the scope is searched in the
/// list.
const MANY: usize = 8;

/// Fewest groups that a thread takes at once.
const AT_LEAST: usize = 512;

/// Groups of up to this many files are compared pair by pair.
const FEW: usize = 6;

/// Pairs of files that share a scope: one bit for each pair of a file and a library.
struct Together {
    /// Row of each file.
    rows: Vec<usize>,
    /// Column of each library, by file. Programs have none: no two are loaded together.
    columns: Vec<Option<usize>>,
    /// Number of 64-bit words in a row.
    width: usize,
    bits: Vec<u64>,
}

impl Together {
    fn new(files: &[FileId], roots: &[&Closure]) -> Self {
        let last = files.iter().map(|file| file.index() + 1).max().unwrap_or(0);
        let (mut rows, mut columns) = (vec![0; last], vec![None; last]);
        for (row, file) in files.iter().enumerate() {
            rows[file.index()] = row;
        }
        let mut count = 0_usize;
        let mut seen: IdSet<FileId> = IdSet::default();
        let is_known = |file: &FileId| file.index() < last;
        for closure in roots {
            for (module, file) in closure.in_scope().filter(|(_, file)| is_known(file)) {
                if module != ROOT && seen.insert(file) {
                    columns[file.index()] = Some(count);
                    count += 1;
                }
            }
        }
        let width = count.div_ceil(64);
        let bits = vec![0; width * files.len()];
        let mut out = Self { rows, columns, width, bits };
        let mut row = Vec::new();
        let mut known: FastSet<usize> = FastSet::default();
        for closure in roots {
            let scope = || closure.in_scope().map(|(_, file)| file).filter(is_known);
            out.set_row(&mut row, scope());
            // The libraries of shared links are already marked.
            let others = known.insert(closure.links_id()).then(scope).into_iter().flatten();
            let root = Some(closure.root.file).filter(is_known);
            for file in root.into_iter().chain(others) {
                let start = out.rows[file.index()] * width;
                for (bits, scope) in out.bits[start..start + width].iter_mut().zip(&row) {
                    *bits |= scope;
                }
            }
        }
        out
    }

    fn set_row(&self, row: &mut Vec<u64>, files: impl Iterator<Item = FileId>) {
        row.clear();
        row.resize(self.width, 0);
        for column in files.filter_map(|file| self.columns[file.index()]) {
            row[column / 64] |= 1 << (column % 64);
        }
    }

    /// True if `library` shares a scope with `file`, in which it is not the first object.
    fn knows(&self, file: FileId, library: FileId) -> bool {
        self.columns[library.index()].is_some_and(|column| {
            let word = self.bits[self.rows[file.index()] * self.width + column / 64];
            word >> (column % 64) & 1 != 0
        })
    }

    /// True if two of these files share a scope; `row` is scratch space.
    fn has_two_of(&self, group: &[Defined], row: &mut Vec<u64>) -> bool {
        if group.len() <= FEW {
            for (place, Defined { file, .. }) in group.iter().enumerate() {
                let knows = |other: &Defined| {
                    self.knows(*file, other.file) || self.knows(other.file, *file)
                };
                if group[..place].iter().any(knows) {
                    return true;
                }
            }
            return false;
        }
        self.set_row(row, group.iter().map(|defined| defined.file));
        group.iter().any(|Defined { file, .. }| {
            let start = self.rows[file.index()] * self.width;
            let own = self.columns[file.index()];
            let row = self.bits[start..start + self.width].iter().zip(&*row);
            row.enumerate().any(|(at, (bits, group))| {
                let own = own.filter(|own| own / 64 == at).map_or(0, |own| 1 << (own % 64));
                bits & group & !own != 0
            })
        })
    }
}
