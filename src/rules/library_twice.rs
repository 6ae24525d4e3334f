//! `library-twice`: two files of one library, or of one code base, in one process.

use super::copies::Loaded;
use super::{Query, Rule, interchangeable, mixed_runtime};
use crate::catalogue::SYMBOL;
use crate::finding::{Finding, Findings};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{Object, Tables};
use crate::id::{FastMap, FastSet, FileId, ModuleId, RootId};
use crate::resolve::{Closure, LOADER};
use crate::text::show_path;
use object::elf;
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) static RULE: Rule =
    Rule::new("library-twice", SYMBOL, "a process loads two copies of one library", DOCS, check)
        .keys(&["library", "detail"])
        .of_all_loaded();

const DOCS: &str = "\
## What it does

Looks at all files that one process loads, and reports two files

- with the same soname, from two places
- with the same soname up to the version (`libfoo.so.1` and `libfoo.so.2`), if they export common symbols
- that export at least 1,000 common symbols, which are a tenth of the symbols of the smaller one, such as
  `libLLVM.so.19` and a library that contains LLVM

Symbols count as common only if a reference can be bound to either: both are strong and visible, and their
versions are equal or absent.

## Why it matters

Both copies run, each with a part of the calls. Registries, caches and locks exist twice, and objects that one
copy made are freed by the other. LLVM stops with `CommandLine Error: Option registered more than once`.

## Example

```text
error[library-twice] lib/libdevice.so: 12043 symbols in common with libLLVM.so.19
```

## How to fix

For one soname from two places, remove the bundled copy or make all users find the same one (one search path, or
one `LD_LIBRARY_PATH`). For two versions, rebuild the users of the older one. For an embedded copy, hide its symbols
(`-Wl,--exclude-libs,ALL`, a version script) or link the shared library instead.

## Limits

A copy whose symbols are all hidden or versioned does no harm and is not reported. Libraries that a program loads
with dlopen are not known. C libraries and compiler runtimes are in `mixed-runtime`.
";

/// Common symbols of two libraries with different names.
const MANY: usize = 1000;
/// Common symbols of two versions of one library.
const SOME: usize = 20;
/// Names that are probed before two libraries are compared in full.
const SAMPLE: usize = 512;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Soname,
    Version(usize),
    Symbols(usize),
}

struct Fact {
    copies: [Loaded; 2],
    roots: Vec<RootId>,
}

/// Two files of one process, the first by path first.
type Two = (FileId, FileId);

/// What two files have in common, each pair compared once.
#[derive(Default)]
struct Compared(FastMap<Two, Option<Kind>>);

fn check(query: &Query<'_>) -> Findings {
    let mut facts: BTreeMap<Two, (Kind, Fact)> = BTreeMap::new();
    let mut compared = Compared::default();
    let mut known: FastMap<usize, Vec<(Kind, [ModuleId; 2])>> = FastMap::default();
    let mut of_files = FilesByName::default();
    for (root, closure) in query.entry_points() {
        // Closures with the same libraries differ in the entry point alone.
        let found = match known.get(&closure.links_id()) {
            Some(found) if closure.host().is_none() && !of_files.may_repeat(query, closure) => {
                found
            }
            _ => {
                let found = twice(query, closure, &mut compared, &mut of_files);
                known.insert(closure.links_id(), found);
                &known[&closure.links_id()]
            }
        };
        for (kind, modules) in found {
            let loaded = modules
                .map(|at| closure.module(at).file.map(|file| Loaded { file, at: (root, at) }));
            let [Some(a), Some(b)] = loaded else { continue };
            let mut copies = [a, b];
            copies.sort_by_key(|copy| query.path(copy.file).as_os_str());
            let fact = facts.entry((copies[0].file, copies[1].file));
            let fact = fact.or_insert_with(|| (*kind, Fact { copies, roots: Vec::new() }));
            fact.1.roots.push(root);
        }
    }
    facts.into_values().map(|(kind, fact)| finding(query, kind, &fact)).collect()
}

/// The names that make a file comparable.
#[derive(Default)]
struct FilesByName(FastMap<FileId, Option<Box<[u8]>>>);

impl FilesByName {
    /// The soname up to `.so`, without a version behind a hyphen; `None` for a file that cannot be a
    /// copy.
    fn stem(&mut self, query: &Query<'_>, file: FileId) -> Option<&[u8]> {
        let stem = self.0.entry(file).or_insert_with(|| {
            let object = query.facts(file).object()?;
            let soname = object.soname().filter(|name| !name.is_empty())?;
            (!mixed_runtime::is_single(soname)).then(|| stem(soname).into())
        });
        stem.as_deref()
    }

    /// True if the entry point itself may be a copy of one of its libraries.
    fn may_repeat(&mut self, query: &Query<'_>, closure: &Closure) -> bool {
        let file = closure.root.file;
        let is_large = query.facts(file).object().is_some_and(|object| exported(object) >= MANY);
        is_large || self.stem(query, file).is_some()
    }
}

/// `libfoo` of `libfoo.so.1` and of `libfoo-1.2.so.0`.
fn stem(soname: &[u8]) -> &[u8] {
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

/// The copies in one closure.
fn twice(
    query: &Query<'_>,
    closure: &Closure,
    compared: &mut Compared,
    of_files: &mut FilesByName,
) -> Vec<(Kind, [ModuleId; 2])> {
    let mut out = Vec::new();
    let mut by_stem: FastMap<Box<[u8]>, Vec<(FileId, ModuleId)>> = FastMap::default();
    let mut large: Vec<(FileId, ModuleId)> = Vec::new();
    let mut seen: FastSet<FileId> = FastSet::default();
    for (module, file) in closure.in_scope().filter(|(module, _)| *module != LOADER) {
        if !seen.insert(file) {
            continue;
        }
        if query.facts(file).object().is_some_and(|object| exported(object) >= MANY) {
            large.push((file, module));
        }
        if let Some(stem) = of_files.stem(query, file) {
            if let Some(known) = by_stem.get_mut(stem) {
                for (other, at) in &*known {
                    if let Some(kind) = compared.by_name(query, (*other, file)) {
                        out.push((kind, [*at, module]));
                    }
                }
                known.push((file, module));
            } else {
                by_stem.insert(stem.into(), vec![(file, module)]);
            }
        }
    }
    for (at, (file, module)) in large.iter().enumerate() {
        for (other, before) in &large[..at] {
            let kind = compared.by_symbols(query, (*other, *file));
            let is_known = |(_, modules): &(Kind, [ModuleId; 2])| *modules == [*before, *module];
            if let Some(kind) = kind.filter(|_| !out.iter().any(is_known)) {
                out.push((kind, [*before, *module]));
            }
        }
    }
    out
}

impl Compared {
    /// Two files with one stem.
    fn by_name(&mut self, query: &Query<'_>, two: Two) -> Option<Kind> {
        *self.0.entry(two).or_insert_with(|| {
            let objects = objects(query, two)?;
            if query.library_name(two.0) == query.library_name(two.1) {
                return Some(Kind::Soname);
            }
            let common = common(objects);
            (common >= SOME).then_some(Kind::Version(common))
        })
    }

    /// Two files with many exports.
    fn by_symbols(&mut self, query: &Query<'_>, two: Two) -> Option<Kind> {
        *self.0.entry(two).or_insert_with(|| {
            let objects = objects(query, two)?;
            if !may_share(objects) || interchangeable::of_one_implementation(query, two.0, two.1) {
                return None;
            }
            let common = common(objects);
            let smaller = exported(objects.0).min(exported(objects.1));
            (common >= MANY && common >= smaller / 10).then_some(Kind::Symbols(common))
        })
    }
}

fn objects<'q>(query: &Query<'q>, two: Two) -> Option<(&'q Object, &'q Object)> {
    let objects = (query.facts(two.0).object()?, query.facts(two.1).object()?);
    (objects.0.header.target() == objects.1.header.target()).then_some(objects)
}

/// Indices of the symbols that the GNU hash table holds, or of all.
fn hashed(tables: &Tables) -> Range<u32> {
    let all = tables.indices();
    let start = tables.unhashed_end();
    if start < all.end { start..all.end } else { all }
}

/// Number of hashed symbols, which are nearly all definitions.
fn exported(object: &Object) -> usize {
    object.tables.as_ref().map_or(0, |tables| hashed(tables).len())
}

/// False if a sample of the smaller object's names shows that few are in the other one.
fn may_share((a, b): (&Object, &Object)) -> bool {
    let (small, large) = if exported(a) <= exported(b) { (a, b) } else { (b, a) };
    let (Some(small), Some(large)) = (&small.tables, &large.tables) else { return false };
    let range = hashed(small);
    let step = (range.len() / SAMPLE).max(1);
    let words = range.step_by(step).filter_map(|index| small.word(index));
    let (mut hits, mut all) = (0, 0);
    for word in words {
        all += 1;
        // The filter uses bit 0 of the hash, which the table does not keep.
        hits += usize::from(large.bloom().may_hold(word) || large.bloom().may_hold(word | 1));
    }
    hits * 10 >= all
}

/// Number of symbols of the smaller object that the other one defines too, where a reference can be
/// bound to either.
fn common((a, b): (&Object, &Object)) -> usize {
    let (small, large) = if exported(a) <= exported(b) { (a, b) } else { (b, a) };
    let (Some(from), Some(into)) = (&small.tables, &large.tables) else { return 0 };
    let in_large = strong(large, into);
    strong(small, from)
        .iter()
        .filter(|(name, version)| {
            in_large.get(*name).is_some_and(|other| match (version, other) {
                (Some(one), Some(other)) => one == other,
                _ => true,
            })
        })
        .count()
}

/// Strong exported functions and data with their versions.
fn strong<'o>(object: &'o Object, tables: &'o Tables) -> FastMap<&'o [u8], Option<&'o [u8]>> {
    let is_strong = |symbol: &Symbol<'_>| {
        elf::SymbolBind(symbol.bind) == elf::STB_GLOBAL
            && matches!(elf::SymbolType(symbol.kind), elf::STT_FUNC | elf::STT_OBJECT)
            && elf::SymbolVisibility(symbol.visibility) == elf::STV_DEFAULT
    };
    let version = |symbol: &Symbol<'_>| {
        let entry = object.versions.entry(symbol.versym & 0x7fff);
        let is_versioned = object.versions.has_verdef && symbol.versym & 0x7fff > 1;
        entry.filter(|_| is_versioned).map(|entry| object.str(entry.name))
    };
    let exports = tables.exports().filter(is_strong);
    exports.map(|symbol| (symbol.name, version(&symbol))).collect()
}

fn finding(query: &Query<'_>, kind: Kind, fact: &Fact) -> Box<Finding> {
    let [first, other] = fact.copies;
    let names = [query.library_text(first.file), query.library_text(other.file)];
    let (message, detail) = match kind {
        Kind::Soname => {
            let other = show_path(query.path(other.file));
            (format!("{} is loaded twice, here and from {other}", names[0]), "soname")
        }
        Kind::Version(common) => (
            format!("{} and {} in one process, with {common} common symbols", names[0], names[1]),
            "version",
        ),
        Kind::Symbols(common) => {
            (format!("{common} symbols in common with {}", names[1]), "symbols")
        }
    };
    let mut finding = query.about(RULE.id, first.file, message);
    finding.library = Some(query.library_name(other.file).to_vec());
    finding.detail = Some(detail.into());
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
