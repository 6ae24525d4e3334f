//! The spellings of archive names in a list: bare names, files, paths, options of the linker,
//! imported targets, and components of LLVM. A new name copies the spelling of the most similar
//! name in its set.

use super::{ListedArchive, Set};
use crate::order;
use std::collections::{BTreeMap, BTreeSet};

/// The form in which a list writes the name of an archive. The bare name `z` may be written as `z`,
/// `-lz`, `dir/libz.a` or `NS::z`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spelling {
    /// The text before the name: `-l`, `dir/lib`, `NS::`.
    prefix: Vec<u8>,
    /// The prefix of the bare name that the word omits: `absl_` for `absl::base`.
    cut: Vec<u8>,
    /// The text after the name: `.a`.
    suffix: Vec<u8>,
    /// True if the word writes the archive's name in lower case.
    is_lower: bool,
}

/// Variables of CMake that make file names of archives, with their values on systems with ELF
/// files.
pub(super) const STATIC_LIBRARY: [(&[u8], &[u8]); 2] =
    [(b"CMAKE_STATIC_LIBRARY_PREFIX", b"lib"), (b"CMAKE_STATIC_LIBRARY_SUFFIX", b".a")];

/// The start of the expression for the path of a target's file.
pub(super) const TARGET_FILE: &[u8] = b"$<TARGET_FILE:";

impl Spelling {
    fn new(prefix: &[u8], suffix: &[u8]) -> Self {
        Self { prefix: prefix.to_vec(), suffix: suffix.to_vec(), ..Self::default() }
    }

    /// Splits a word into a bare name and a spelling. [`identify`] corrects both once the archives
    /// are known. `None` if the word cannot name an archive.
    pub(super) fn read(word: &[u8]) -> Option<(&[u8], Self)> {
        if let Some(name) = word.strip_prefix(b"-l:lib").and_then(|rest| rest.strip_suffix(b".a")) {
            return is_plain(name).then(|| (name, Self::new(b"-l:lib", b".a")));
        }
        if let Some(name) = word.strip_prefix(b"-l") {
            return is_plain(name).then(|| (name, Self::new(b"-l", b"")));
        }
        // These prefixes begin options of the linker.
        if word.starts_with(b"LINKER:") || word.starts_with(b"SHELL:") {
            return None;
        }
        let slash = memchr::memrchr(b'/', word).map_or(0, |slash| slash + 1);
        let (dir, file) = word.split_at(slash);
        if let Some((start, name, end)) = file_name(file).filter(|(_, name, _)| is_plain(name)) {
            let odd = |b: &u8| matches!(b, b'\\' | b';' | b'"' | b'<' | b'>');
            if dir.iter().any(odd) || dir.starts_with(b"-") {
                return None;
            }
            return Some((name, Self::new(&[dir, start].concat(), end)));
        }
        if let Some(colon) = memchr::memmem::rfind(word, b"::") {
            let (space, name) = word.split_at(colon + 2);
            let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-:".contains(b);
            let is = space.len() > 2 && space.iter().all(plain) && is_plain(name);
            return is.then(|| (name, Self::new(space, b"")));
        }
        is_plain(word).then(|| (word, Self::default()))
    }

    /// True for a bare name. This test is much cheaper than a comparison of empty texts, for which
    /// some processors take a hundred nanoseconds.
    pub(super) fn is_bare(&self) -> bool {
        self.prefix.is_empty() && self.cut.is_empty() && self.suffix.is_empty() && !self.is_lower
    }

    /// The same spelling inside of `$<TARGET_FILE:…>`, which expands to the path of a target's
    /// file.
    pub(super) fn as_target_file(&self) -> Self {
        let prefix = [TARGET_FILE, &self.prefix].concat();
        Self { prefix, suffix: [&*self.suffix, b">"].concat(), ..self.clone() }
    }

    /// True for a name inside of `$<TARGET_FILE:…>`.
    pub(super) fn is_target_file(&self) -> bool {
        self.prefix.starts_with(TARGET_FILE)
    }

    /// The word for the archive with the bare name `name`. `None` if this spelling cannot write the
    /// name.
    pub fn write(&self, name: &[u8]) -> Option<Vec<u8>> {
        let rest = name.strip_prefix(&*self.cut).filter(|rest| !rest.is_empty())?;
        let rest = if self.is_lower { rest.to_ascii_lowercase() } else { rest.to_vec() };
        Some([&*self.prefix, &rest, &*self.suffix].concat())
    }
}

/// The start of an archive's name that a component of LLVM omits: `Core` stands for `LLVMCore`.
const LLVM: &[u8] = b"LLVM";

impl Set {
    /// Reads the values as components of LLVM.
    pub(super) fn name_components(&mut self) {
        self.is_components = true;
        self.begin(Some(LLVM));
    }

    /// Prepends to the names the text `start`, which the words omit. An empty `start` changes
    /// nothing. The set becomes ambiguous if `start` is `None`, if the set has no names, or if a
    /// word is not a bare name.
    pub(super) fn begin(&mut self, start: Option<&[u8]>) {
        match start {
            None => self.is_ambiguous = true,
            Some(b"") => {}
            Some(start) => {
                self.is_ambiguous |= self.entries.is_empty();
                for entry in &mut self.entries {
                    self.is_ambiguous |= !entry.begin(start);
                }
            }
        }
    }
}

impl ListedArchive {
    /// Prepends to the name the text `start`, which the word omits. False if the word is not a bare
    /// name.
    fn begin(&mut self, start: &[u8]) -> bool {
        let is_bare = self.spelling == Spelling::default();
        if is_bare {
            self.name = [start, &self.name].concat();
            self.spelling.cut = start.to_vec();
        }
        is_bare
    }

    /// True if the word omits the start of the name.
    pub(super) fn omits_start(&self) -> bool {
        !self.spelling.cut.is_empty()
    }

    /// Marks the entry if it is a component of LLVM that names an archive. The component may be in
    /// lower case. `folded` has the archives, keyed by their names in lower case.
    fn identify_component(&mut self, folded: &BTreeMap<Vec<u8>, &[u8]>) {
        let found = folded.get(&self.name.to_ascii_lowercase()).copied();
        let Some(name) = found.filter(|name| name.starts_with(LLVM)) else { return };
        let is_lower = name != &*self.name;
        let word = &self.name[LLVM.len()..];
        if self.spelling.cut != LLVM || (is_lower && word.iter().any(u8::is_ascii_uppercase)) {
            return;
        }
        self.spelling.is_lower = is_lower;
        self.name = name.to_vec();
        self.is_known = true;
    }
}

/// The parts of an archive's file name: `lib`, the bare name and `.a`. The variables of CMake with
/// these values may stand for `lib` and `.a`. `None` for other file names.
fn file_name(file: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let start: &[u8] = [b"lib".as_slice(), b"${CMAKE_STATIC_LIBRARY_PREFIX}"]
        .into_iter()
        .find(|start| file.starts_with(start))?;
    let end: &[u8] = [b".a".as_slice(), b"${CMAKE_STATIC_LIBRARY_SUFFIX}"]
        .into_iter()
        .find(|end| file.ends_with(end))?;
    let name = file.strip_prefix(start)?.strip_suffix(end)?;
    Some((start, name, end))
}

/// True for a name without slashes, commas, and characters that CMake interprets.
fn is_plain(name: &[u8]) -> bool {
    let odd = |b: &u8| b"$\\;@\"()[]#<>/,".contains(b) || b.is_ascii_whitespace() || *b == 0;
    !name.is_empty() && !name.iter().any(odd)
}

/// Marks the entries that name one of `archives`, and gives them the name of that archive.
pub(super) fn identify(sets: &mut [Set], archives: &BTreeSet<&[u8]>) {
    let mut folded: Option<BTreeMap<Vec<u8>, &[u8]>> = None;
    let fold = || order::map(archives.iter().map(|name| (name.to_ascii_lowercase(), *name)));
    for set in sets {
        if set.is_components {
            let folded = folded.get_or_insert_with(fold);
            set.entries.iter_mut().for_each(|entry| entry.identify_component(folded));
            continue;
        }
        for entry in set.entries.iter_mut().chain(&mut set.mentions) {
            entry.is_known = archives.contains(&*entry.name);
            if !entry.is_known
                && let Some((name, cut, prefix)) = variant(&entry.name, &entry.spelling, archives)
            {
                entry.spelling = Spelling { prefix, cut, ..entry.spelling.clone() };
                entry.name = name;
                entry.is_known = true;
            }
        }
        let is_new = |set: &Set| set.entries.len() > 1 && set.known() == 0;
        if is_new(set) {
            components(set, archives, folded.get_or_insert_with(fold));
        }
    }
}

/// Finds the archive for a word whose bare name no archive has:
///
/// - `NS::name` may name `NSname`, `NS_name` or `NS-name`, also with `NS` in lower case.
/// - `libname` may name `name`.
///
/// Returns the archive's bare name, the prefix of that name which the word omits (`NS_`), and the
/// prefix of the word (`NS::` or `lib`).
fn variant(
    name: &[u8],
    spelling: &Spelling,
    archives: &BTreeSet<&[u8]>,
) -> Option<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    let prefix = &*spelling.prefix;
    if prefix.is_empty() && spelling.suffix.is_empty() {
        let rest = name.strip_prefix(b"lib").filter(|rest| archives.contains(rest))?;
        if spelling.cut.is_empty() {
            return Some((rest.to_vec(), Vec::new(), b"lib".to_vec()));
        }
        // The word already omits `lib`: it is an item of a loop that links `lib${item}`.
        let cut = spelling.cut.strip_prefix(b"lib")?;
        return Some((rest.to_vec(), cut.to_vec(), Vec::new()));
    }
    let space = prefix.strip_suffix(b"::")?;
    let space = space.rsplit(|b| *b == b':').next()?;
    let cuts = [space.to_vec(), space.to_ascii_lowercase()];
    let cuts =
        cuts.iter().flat_map(|space| [b"".as_slice(), b"_", b"-"].map(|and| [space, and].concat()));
    cuts.map(|cut| ([&cut, name].concat(), cut))
        .find(|(whole, _)| archives.contains(&**whole))
        .map(|(whole, cut)| (whole, cut, prefix.to_vec()))
}

/// Maximum number of entries from which the common prefix is inferred.
const ASKED: usize = 8;

/// Finds the prefix that the names of a set omit, as LLVM's components do (`Core` or `core` for
/// `LLVMCore`). The set changes only if at least half of its names become names of archives with
/// this prefix.
fn components(set: &mut Set, archives: &BTreeSet<&[u8]>, folded: &BTreeMap<Vec<u8>, &[u8]>) {
    let bare = |spelling: &Spelling| *spelling == Spelling::default();
    let mut cuts: BTreeMap<&[u8], usize> = BTreeMap::new();
    let words = set.entries.iter().filter(|entry| bare(&entry.spelling) && entry.name.len() > 1);
    for word in words.take(ASKED) {
        let ends = |name: &&&[u8]| {
            let at = name.len().saturating_sub(word.name.len());
            at > 0 && name[at..].eq_ignore_ascii_case(&word.name)
        };
        for name in archives.iter().filter(ends) {
            *cuts.entry(&name[..name.len() - word.name.len()]).or_default() += 1;
        }
    }
    let Some((cut, count)) = cuts.into_iter().max_by_key(|(cut, count)| (*count, cut.len())) else {
        return;
    };
    if count < 2 || !cut.iter().all(u8::is_ascii_alphabetic) {
        return;
    }
    let find = |word: &[u8]| {
        let whole = [cut, word].concat().to_ascii_lowercase();
        folded.get(&whole).copied().filter(|name| name.starts_with(cut))
    };
    let found: Vec<Option<&[u8]>> = set
        .entries
        .iter()
        .map(|entry| find(&entry.name).filter(|_| bare(&entry.spelling)))
        .collect();
    if 2 * found.iter().flatten().count() < set.entries.len() {
        return;
    }
    for (entry, name) in set.entries.iter_mut().zip(found) {
        let Some(name) = name else { continue };
        let is_lower = !name.ends_with(&entry.name);
        if is_lower && entry.name.iter().any(u8::is_ascii_uppercase) {
            continue;
        }
        entry.spelling = Spelling { cut: cut.to_vec(), is_lower, ..Spelling::default() };
        entry.name = name.to_vec();
        entry.is_known = true;
    }
}
