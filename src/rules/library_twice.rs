//! `library-twice`: two files of one library, or of one code base, in one process.

use super::copies::LoadedCopy;
use super::{Query, Rule, interchangeable, mixed_runtime};
use crate::catalogue::SYMBOL;
use crate::finding::{Finding, Findings};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{Object, SymbolIndex, Tables, hash};
use crate::id::{FastMap, FileId, IdSet, ModuleId, RootId};
use crate::parallel;
use crate::resolve::LOADER;
use crate::resolve::loader::Loader;
use crate::text::show_path;
use crate::wants::Wants;
use object::elf;
use std::collections::BTreeMap;

pub(super) static RULE: Rule =
    Rule::new("library-twice", SYMBOL, "a process loads two copies of one library", DOCS, check)
        .keys(&["library", "detail"])
        .of_all_loaded()
        // `may_load` adds evidence from dlopen notes.
        .wants(Wants::DLOPEN_NOTES);

const DOCS: &str = "\
## What it does

Looks at all files that one process loads, and reports two files

- with the same soname, in two directories
- without a soname, but with the same file name, if they export at least 20 common symbols
- with the same soname up to the version (`libfoo.so.1` and `libfoo.so.2`), if they export at least 20 common
  symbols
- that export at least 1,000 common symbols, and at least a tenth of the symbols of the smaller one, such as
  `libLLVM.so.19` and a library that contains LLVM

Symbols count as common only if a reference can be bound to either: both are strong and visible, and their
versions are equal or absent. musl's loader ignores versions: under it, all default versions of a name are common.

If all common symbols of two libraries with different names are functions, each of the same size in both, the finding is
a warning. The copies were probably built from one source, and they share no data.

## Why it matters

Each copy gets some of the calls. Registries, caches and locks exist twice, and one copy frees objects that the
other one made. LLVM stops with `CommandLine Error: Option registered more than once`.

## Example

```text
error[library-twice] lib/libdevice.so: 12043 symbols in common with libLLVM.so.19
```

## How to fix

For one soname from two places, remove the bundled copy or make all users find the same one (one search path, or
one `LD_LIBRARY_PATH`). For two versions, rebuild the users of the older one. For an embedded copy, hide its symbols
(`-Wl,--exclude-libs,ALL`, a version script) or link the shared library instead.

## Limits

An embedded copy whose symbols are all hidden, or have other versions, does no harm and is not reported. Two versions
of a library with fewer common symbols are not reported, although each has its own data. Libraries that are loaded
with dlopen make no finding. A finding lists files that may load one more copy (`may load`). These files use dlopen, and
have the library's name in their dlopen notes or among the strings of their first 64 MiB. Libraries with DT_HASH alone
are compared by name only. `mixed-runtime` reports C libraries and compiler runtimes.
";

/// Minimum number of common symbols of two libraries with different names.
const MANY: usize = 1000;
/// Minimum number of common symbols of two versions of one library, or of two libraries with the
/// same file name and without a soname.
const SOME: usize = 20;
/// A sample has about one in this many names of a library. If the sonames of two libraries differ
/// by more than the version, their samples are compared first. The libraries are compared in full
/// only if the samples have [`SHARED`] common names.
const SAMPLED: u32 = 64;
/// Minimum number of names that two samples must share: half of the number that two libraries with
/// [`MANY`] common symbols share on average.
const SHARED: usize = MANY / SAMPLED as usize / 2;
/// A sampled name that more than this many libraries define is frequent. The number of pairs of
/// such libraries would grow with the square of the number of files, although few of these pairs
/// are in one process.
const MOST: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CopyKind {
    Soname,
    Version(usize),
    Symbols(Common),
}

/// Facts about the names that two libraries both define.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Common {
    count: usize,
    /// True if all these names are functions, each of the same size in both libraries.
    are_same_functions: bool,
}

struct Fact {
    copies: [LoadedCopy; 2],
    roots: Vec<RootId>,
}

/// Two files, the one with the lower id first.
type Two = (FileId, FileId);

fn check(query: &Query<'_>) -> Findings {
    let candidates = CopyCandidates::find(query);
    let mut facts: BTreeMap<Two, Fact> = BTreeMap::new();
    let mut here: Vec<(FileId, ModuleId)> = Vec::new();
    for (root, closure) in query.entry_points() {
        here.clear();
        for (module, file) in closure.in_scope().filter(|(module, _)| *module != LOADER) {
            let is_new = || here.iter().all(|(known, _)| *known != file);
            if candidates.involved.contains(file) && is_new() {
                here.push((file, module));
            }
        }
        for (at, (file, module)) in here.iter().enumerate() {
            for (other, before) in &here[..at] {
                let two = (*other.min(file), *other.max(file));
                if !candidates.hold(two) {
                    continue;
                }
                let loaded = |file: FileId, module| LoadedCopy { file, at: (root, module) };
                let mut copies = [loaded(*other, *before), loaded(*file, *module)];
                copies.sort_by_key(|copy| query.path(copy.file).as_os_str());
                let fact = || Fact { copies, roots: Vec::new() };
                facts.entry(two).or_insert_with(fact).roots.push(root);
            }
        }
    }
    let facts: Vec<(Two, Fact)> = facts.into_iter().collect();
    let kinds = parallel::map_single(&facts, |(two, fact)| {
        let (root, _) = fact.copies[0].at;
        compare(query, *two, Versions::of(query.loader(query.closure(root))))
    });
    let kinds = kinds.into_iter().zip(facts);
    let mut facts: Vec<(CopyKind, Fact)> =
        kinds.filter_map(|(kind, (_, fact))| Some((kind?, fact))).collect();
    facts.sort_by_key(|(_, fact)| fact.copies.map(|copy| query.path(copy.file).as_os_str()));
    facts.into_iter().map(|(kind, fact)| finding(query, kind, &fact)).collect()
}

/// Pairs of files that may be copies of one library or code base. Most files are in no pair.
#[derive(Default)]
struct CopyCandidates {
    involved: IdSet<FileId>,
    /// For each file that shares its [`stem`] with another file, the number of the stem. The stem
    /// is made from the soname, or from the file name if there is no soname.
    stems: FastMap<FileId, usize>,
    /// Number of names that two samples share, without [`Self::frequent`] names.
    shared: FastMap<Two, usize>,
    /// For each file, the hash values in its sample that belong to more than [`MOST`] libraries, in
    /// ascending order. They are compared only for libraries of one process.
    frequent: FastMap<FileId, Vec<u32>>,
}

impl CopyCandidates {
    fn find(query: &Query<'_>) -> Self {
        let objects = query.files().filter_map(|(file, facts)| Some((file, facts.object()?)));
        let objects: Vec<(FileId, &Object)> =
            objects.filter(|(_, object)| object.is_dynamic()).collect();
        let mut out = Self::default();
        out.add_stems(query, &objects);
        out.add_samples(&objects);
        out
    }

    fn add_stems(&mut self, query: &Query<'_>, objects: &[(FileId, &Object)]) {
        let mut by_stem: FastMap<&[u8], Vec<FileId>> = FastMap::default();
        for (file, _) in objects.iter().filter(|(_, object)| object.is_library()) {
            let name = query.library_name(*file);
            if mixed_runtime::single_of(name).is_none() {
                by_stem.entry(stem(name)).or_default().push(*file);
            }
        }
        for (number, files) in by_stem.into_values().filter(|files| files.len() > 1).enumerate() {
            self.involved.extend(files.iter().copied());
            self.stems.extend(files.into_iter().map(|file| (file, number)));
        }
    }

    fn add_samples(&mut self, objects: &[(FileId, &Object)]) {
        let samples: Vec<Vec<(u32, FileId)>> = parallel::map(objects, |(file, object)| {
            sample(object).map(|word| (word, *file)).collect()
        });
        let mut words = samples.concat();
        words.sort_unstable();
        words.dedup();
        for group in words.chunk_by(|a, b| a.0 == b.0) {
            if group.len() > MOST {
                for (word, file) in group {
                    self.frequent.entry(*file).or_default().push(*word);
                }
                continue;
            }
            each_pair(group.iter().map(|(_, file)| *file), |two| {
                *self.shared.entry(two).or_default() += 1;
            });
        }
        // For each file, the largest number of names that it shares with one other file.
        let mut most: FastMap<FileId, usize> = FastMap::default();
        for (two, count) in &self.shared {
            for file in [two.0, two.1] {
                let known = most.entry(file).or_default();
                *known = (*known).max(*count);
            }
        }
        for (file, words) in &self.frequent {
            *most.entry(*file).or_default() += words.len();
        }
        let enough = most.into_iter().filter(|(_, count)| *count >= SHARED);
        self.involved.extend(enough.map(|(file, _)| file));
    }

    fn frequent_of(&self, file: FileId) -> &[u32] {
        self.frequent.get(&file).map_or(&[], Vec::as_slice)
    }

    /// True if two files of one process must be compared in full.
    fn hold(&self, two: Two) -> bool {
        let stems = [two.0, two.1].map(|file| self.stems.get(&file));
        if stems[0].is_some() && stems[0] == stems[1] {
            return true;
        }
        let shared = self.shared.get(&two).copied().unwrap_or_default();
        if shared >= SHARED {
            return true;
        }
        let [ours, theirs] = [two.0, two.1].map(|file| self.frequent_of(file));
        let is_common = |word: &&u32| theirs.binary_search(word).is_ok();
        shared + ours.iter().filter(is_common).count() >= SHARED
    }
}

/// Calls `each` with every pair of the files.
fn each_pair(files: impl Iterator<Item = FileId>, mut each: impl FnMut(Two)) {
    let files: Vec<FileId> = files.collect();
    for (at, file) in files.iter().enumerate() {
        for other in &files[..at] {
            each((*other.min(file), *other.max(file)));
        }
    }
}

/// A sample of the GNU hash values of an object with at least [`MANY`] symbols; empty for other
/// objects. A name that is in the sample of one object is in the sample of every object that
/// defines it. As in [`common`], only strong functions and variables are used.
fn sample(object: &Object) -> impl Iterator<Item = u32> {
    let tables = object.tables.as_ref();
    let tables = tables.filter(|tables| tables.hashed_indices().len() >= MANY);
    // The lowest bits of a hash select its bucket; bits 8 and above are well mixed.
    let is_sampled = |word: &u32| (word >> 8).is_multiple_of(SAMPLED);
    tables.into_iter().flat_map(move |tables| {
        tables.hashed_indices().filter_map(move |index| {
            tables.word(index).filter(|word| is_sampled(word) && tables.is_strong(index))
        })
    })
}

/// The way in which two files of one process are copies of one library or code base; `None` if the
/// files are not copies.
fn compare(query: &Query<'_>, two: Two, versions: Versions) -> Option<CopyKind> {
    let objects = (query.facts(two.0).object()?, query.facts(two.1).object()?);
    let names = [query.library_name(two.0), query.library_name(two.1)];
    if objects.0.header.target() != objects.1.header.target() {
        return None;
    }
    // `mixed-runtime` reports two files of these runtimes.
    let runtimes =
        [objects.0, objects.1].map(|one| one.soname().and_then(mixed_runtime::single_of));
    if runtimes[0].is_some() && runtimes[0] == runtimes[1] {
        return None;
    }
    let has_soname = |object: &Object| object.soname().is_some_and(|name| !name.is_empty());
    let is_one_name = names[0] == names[1];
    if is_one_name && has_soname(objects.0) && has_soname(objects.1) {
        return Some(CopyKind::Soname);
    }
    if interchangeable::of_one_implementation(query, two.0, two.1) {
        return None;
    }
    let common = common(objects, versions);
    if stem(names[0]) == stem(names[1]) && common.count >= SOME {
        let version = CopyKind::Version(common.count);
        return Some(if is_one_name { CopyKind::Soname } else { version });
    }
    let smaller = [objects.0, objects.1].map(exported).into_iter().min().unwrap_or_default();
    (common.count >= MANY && common.count >= smaller / 10).then_some(CopyKind::Symbols(common))
}

/// A soname without its version: `libfoo` for `libfoo.so.1` and for `libfoo-1.2.so.0`.
pub(crate) fn stem(soname: &[u8]) -> &[u8] {
    let end = memchr::memmem::find(soname, b".so").unwrap_or(soname.len());
    let name = &soname[..end];
    match name.iter().rposition(|b| *b == b'-') {
        Some(at)
            if at + 1 < name.len()
                && name[at + 1..].iter().all(|b| b.is_ascii_digit() || *b == b'.') =>
        {
            &name[..at]
        }
        _ => name,
    }
}

/// Number of symbols in the GNU hash table; nearly all are definitions.
fn exported(object: &Object) -> usize {
    object.tables.as_ref().map_or(0, |tables| tables.hashed_indices().len())
}

/// Counts the symbols that both objects define, if a reference can bind to either definition. This
/// is possible if the versions are equal, if one definition has no version, or if the loader
/// ignores versions.
fn common((a, b): (&Object, &Object), versions: Versions) -> Common {
    let mut out = Common { count: 0, are_same_functions: true };
    let (Some(first), Some(second)) = (&a.tables, &b.tables) else { return out };
    let (ours, theirs) = rayon::join(|| sorted_words(first), || sorted_words(second));
    let mut rest = theirs.as_slice();
    for group in ours.chunk_by(|one, other| one.0 == other.0) {
        let word = group[0].0;
        rest = &rest[rest.partition_point(|(other, _)| *other < word)..];
        let others = &rest[..rest.partition_point(|(other, _)| *other == word)];
        let mut counted: Vec<&[u8]> = Vec::new();
        let strong_of = |object, tables, list: &[(u32, SymbolIndex)]| -> Vec<Strong<'_>> {
            list.iter().filter_map(|(_, index)| strong(object, tables, *index, versions)).collect()
        };
        if others.is_empty() {
            continue;
        }
        let (group, others) = (strong_of(a, first, group), strong_of(b, second, others));
        for one in &group {
            let mut same = others.iter().filter(|other| {
                let versions = one.version.zip(other.version);
                other.name == one.name && versions.is_none_or(|(one, other)| one == other)
            });
            let Some(other) = same.next().filter(|_| !counted.contains(&one.name)) else {
                continue;
            };
            counted.push(one.name);
            out.count += 1;
            out.are_same_functions &= one.function.is_some() && one.function == other.function;
        }
    }
    out
}

/// The symbols of a library, sorted by their GNU hash without its lowest bit. The hashes are
/// computed if the library has no GNU hash table.
fn sorted_words(tables: &Tables) -> Vec<(u32, SymbolIndex)> {
    let words = tables.hashed_indices().filter_map(|at| Some((tables.word(at)?, at)));
    let mut out: Vec<(u32, SymbolIndex)> = words.collect();
    if out.is_empty() {
        out.extend(tables.exports().map(|symbol| (hash::gnu(symbol.name) & !1, symbol.index)));
    }
    out.sort_unstable();
    out
}

/// The effect of versions on the lookup of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    /// A reference is bound to a definition with the version of the reference.
    Compared,
    /// A reference is bound to any definition with a default version (`sysv_lookup` and
    /// `gnu_lookup` of musl).
    Ignored,
}

impl Versions {
    fn of(loader: &Loader) -> Self {
        if loader.is_musl() { Self::Ignored } else { Self::Compared }
    }
}

/// A strong exported function or variable.
struct Strong<'o> {
    name: &'o [u8],
    version: Option<&'o [u8]>,
    /// The size of a function in bytes; `None` for a variable.
    function: Option<u64>,
}

/// The symbol at `index`; `None` if it is not a strong exported function or variable, or if no
/// reference can bind to it.
fn strong<'o>(
    object: &'o Object,
    tables: &'o Tables,
    index: SymbolIndex,
    versions: Versions,
) -> Option<Strong<'o>> {
    if !tables.is_strong(index) {
        return None;
    }
    let symbol = tables.symbol(index).filter(Symbol::is_export)?;
    let is_function = elf::SymbolType(symbol.kind) == elf::STT_FUNC;
    let version = symbol.versym & elf::VERSYM_VERSION;
    let entry = object.versions.entry(version).filter(|_| versions == Versions::Compared);
    let entry = entry.filter(|_| object.versions.has_verdef && version > 1);
    let may_bind = versions == Versions::Compared || symbol.is_default_version();
    may_bind.then(|| Strong {
        name: symbol.name,
        version: entry.map(|entry| object.str(entry.name)),
        function: is_function.then_some(symbol.size),
    })
}

fn finding(query: &Query<'_>, kind: CopyKind, fact: &Fact) -> Box<Finding> {
    let [first, other] = fact.copies;
    let names = [query.library_text(first.file), query.library_text(other.file)];
    let (message, detail) = match kind {
        CopyKind::Soname => {
            let other = show_path(query.path(other.file));
            (format!("{} is loaded twice, here and from {other}", names[0]), "soname")
        }
        CopyKind::Version(common) => (
            format!("{} and {} in one process, with {common} common symbols", names[0], names[1]),
            "version",
        ),
        CopyKind::Symbols(common) => {
            (format!("{} symbols in common with {}", common.count, names[1]), "symbols")
        }
    };
    let mut finding = query.about(RULE.id, first.file, message);
    finding.library = Some(query.library_name(other.file).to_vec());
    finding.detail = Some(detail.into());
    finding.mild = matches!(kind, CopyKind::Symbols(common) if common.are_same_functions);
    finding.root = query.first_root(&fact.roots);
    finding.evidence.extend(query.roots(&fact.roots, None));
    finding.evidence.extend(fact.copies.iter().map(|copy| query.copy(*copy)));
    finding
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn stems_have_no_version() {
        for (soname, expected) in [
            ("libfoo.so.1", "libfoo"),
            ("libfoo-1.2.so.0", "libfoo"),
            ("libfoo-bar.so.2", "libfoo-bar"),
            ("libgtk-3.so.0", "libgtk"),
            ("libgtk-x11-2.0.so.0", "libgtk-x11"),
            ("libfoo.so", "libfoo"),
            ("foo", "foo"),
            ("libfoo-.so", "libfoo-"),
        ] {
            assert_eq!(stem(soname.as_bytes()), expected.as_bytes(), "{soname}");
        }
    }
}
