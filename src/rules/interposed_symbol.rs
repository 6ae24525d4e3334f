//! `interposed-symbol`: a reference binds to a definition other than the expected one. An object
//! expects its own definition, or the one that it would find if it were loaded alone. The binding
//! query (`bind::query`) finds names that several objects of a scope define. `interchangeable`
//! recognises harmless duplicates.

use super::copies::LoadedCopy;
use super::interchangeable::{self, CxxFacts};
use super::{Query, Rule};
use crate::bind::query::{Definition, DuplicateName, Referrer};
use crate::catalogue::SYMBOL;
use crate::finding::{Evidence, EvidenceKind, Finding, Findings};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{NeedKind, Role};
use crate::id::{FastMap, FastSet, FileId, ModuleId, RootId};
use crate::order::Arrange as _;
use crate::resolve::{Closure, Edge, FoundBy, ROOT};
use crate::text::show;
use crate::wants::Wants;
use object::elf;
use std::collections::{BTreeMap, VecDeque};
use std::os::unix::ffi::OsStrExt;

pub(super) static RULE: Rule = Rule::new(
    "interposed-symbol",
    SYMBOL,
    "references of a library are bound to the wrong library's definitions",
    DOCS,
    check,
)
.keys(&["library", "symbol", "detail"])
.of_all_loaded()
.wants(Wants::DUPLICATE_DEFINITIONS);

const DOCS: &str = "\
## What it does

Binds every reference as the loader does, and reports two cases:

- An object defines a symbol and refers to it, but the reference is bound to another library's definition.
- An object takes a symbol from a library that it needs, but in this process another library's definition comes
  first in the search scope.

For a copy relocation or a canonical PLT address in the program, the library's definition counts as the one that is
used. A copy counts under all names of the data (`environ` and `__environ`).

There is one finding for each pair of libraries: `path` is the library whose definition is not used, `library`
the one whose definition is used. The evidence names at most 20 symbols and 20 files that use them, and counts the
others. Data with different sizes has a finding of its own. If all definitions have the
same type and size in both libraries, they were probably built from one source, and the finding is a warning.

Some definitions replace others on purpose or without harm. These are not reported:

- definitions of the program, of preloaded libraries, of sanitizers and allocators, of libraries that are made for
  LD_PRELOAD (`libfakeroot`), and of libraries that the program opens from a list (`dependentlibs.list` of Firefox)
- definitions of libraries that are linked with `-z interpose` (DF_1_INTERPOSE); the loader ignores this flag, so such a
  library replaces symbols only if it comes first
- for plugins, definitions of the program's own library. Such a library has the program's name and perhaps a version
  (`libpython3.11.so.1.0` of `python3.11`). Or the program loads it, and its name begins with the same letters
  (`libqgis_core.so.3` of `qgis.bin`)
- the functions of `malloc`, `mmap` and `operator new`, `xerbla_` of BLAS, all of CBLAS, and the COMMON blocks of MPI
- weak definitions of equal size on both sides (in C++, of any size: inline functions and templates); in C++, also a
  weak and a strong function
- strong code of C++ headers in libraries that GCC may have optimised at link time; see below
- parts of one glibc; the dispatch libraries of libglvnd, and those of Wayland, count as one library
- references of a filter (DT_FILTER, DT_AUXILIARY) that are bound to its filtee
- weak functions that a strong function of another library replaces, if their own library exports the same code under a
  longer name that ends with theirs. Profiling tools replace `MPI_Send` in this way, and call `PMPI_Send`. A weak
  function with a longer name may replace such functions too: glibc and libunwind both have a weak `backtrace`
- symbols that cannot be bound to each other: hidden, protected, with other versions, or in a library linked with
  `-Bsymbolic`

GCC's link-time optimisation (`-flto`) makes all weak C++ definitions of a library strong. Strong instances of
templates are not reported, and neither are explicit specialisations, which look the same. Members of a class are not
reported if both of these conditions hold:

- One of the two libraries has no weak C++ definitions.
- One of the two libraries takes the constructors or the vtable of the class from another library.

Functions of the C++ library are not reported in objects that need `libstdc++.so.6` either. Most wheels are built with
GCC Toolset, which links a static part of libstdc++ into each object.

## Why it matters

The library calls code that it was not built with. Two copies of LLVM, protobuf or zlib in one process share some of
their functions and keep two sets of data. This leads to crashes in destructors, options that are registered twice,
and wrong results.

## Example

```text
error[interposed-symbol] lib/libdevice.so: 2 functions are bound to libLLVM.so.19
```

## How to fix

Hide the copy: link it with `-Wl,--exclude-libs,ALL`, compile it with `-fvisibility=hidden`, or give it symbol
versions. If both files should be one library, link both users to the same file. `-Wl,-Bsymbolic` binds a library's
references to its own definitions, but the process then has two copies of the data.

## Limits

Only the scope of each entry point is searched. Plugins that a program loads with RTLD_GLOBAL or RTLD_DEEPBIND change
the scope at run time. Calls within an object that the compiler bound without a relocation are not seen: such a library
may use both definitions.

A weak C++ function counts as inline. A strong function of that name may be the same code: link-time optimisation
makes inline functions strong, and some libraries also work as headers alone. Therefore the rule reports a weak
definition that hides a strong one only for C symbols.
";

/// Maximum number of symbols that a finding lists, and maximum number of referring files that it
/// lists.
const MOST: usize = 20;

/// The interposed symbols of two libraries, over all entry points.
#[derive(Default)]
struct Pair {
    /// Symbols whose two definitions are data of different sizes; `other` has all other symbols.
    resized: InterposedList,
    other: InterposedList,
    roots: Vec<RootId>,
    /// The winner and the loser in the closure of the first entry point.
    copies: Vec<LoadedCopy>,
}

/// The symbols of one finding.
#[derive(Default)]
struct InterposedList {
    symbols: BTreeMap<Box<[u8]>, Interposed>,
    /// All files that refer to at least one of the symbols.
    referrers: FastSet<FileId>,
}

/// The facts about one interposed symbol, from the first reference that is interposed.
struct Interposed {
    kind: &'static str,
    /// The first file that refers to the symbol.
    referrer: FileId,
    /// True if both definitions have the same type and size, and the size is not 0.
    alike: bool,
    /// st_size of the loser and of the winner, if both are data and their sizes differ.
    sizes: Option<(u64, u64)>,
}

/// Pairs by the loser, whose definition is not used, and the winner, whose definition is used.
type PairsByFile = BTreeMap<(FileId, FileId), Pair>;

fn check(query: &Query<'_>) -> Findings {
    let mut pairs = PairsByFile::new();
    let mut cxx = CxxFacts::default();
    let opened = opened(query);
    let is_program = |host: FileId| {
        query.facts(host).object().is_some_and(|object| object.role == Role::Program)
    };
    for (root, closure) in query.entry_points() {
        // The program that loads this plugin is unknown, and the host is only one of its libraries.
        // The loader searches the scope of the program first, so the bindings are unknown too.
        if closure.root.host.is_some_and(|host| !is_program(host)) {
            continue;
        }
        let mut alone = Alone { closure, order: FastMap::default(), cxx: &mut cxx };
        for name in query.duplicate_definitions(root) {
            note(query, (root, &mut alone), name, &mut pairs);
        }
    }
    let mut out = Findings::new();
    // A host program that opens libraries with RTLD_GLOBAL chooses their order, so the
    // interposition is wanted. Firefox, for example, opens libraries that define stubs of optional
    // libraries.
    pairs.retain(|(loser, winner), _| !opened.contains(loser) && !opened.contains(winner));
    for ((loser, winner), pair) in pairs {
        out.extend(findings(query, (loser, winner), &pair));
    }
    out
}

/// Libraries that host programs open with RTLD_GLOBAL.
fn opened(query: &Query<'_>) -> FastSet<FileId> {
    let (mut seen, mut out) = (FastSet::default(), FastSet::default());
    for host in query.entry_points().filter_map(|(_, closure)| closure.host()) {
        if seen.insert(host.links_id()) {
            let is_opened = |module: &ModuleId| host.module(*module).how == FoundBy::Dlopen;
            out.extend(host.found().filter(|(module, _)| is_opened(module)).map(|(_, file)| file));
        }
    }
    out
}

/// For each object of a closure, the search order of the loader if it loaded the object alone.
struct Alone<'a, 'q> {
    closure: &'a Closure,
    order: FastMap<ModuleId, FastMap<ModuleId, usize>>,
    /// Facts about the C++ code of files. All closures share them.
    cxx: &'a mut CxxFacts<'q>,
}

impl Alone<'_, '_> {
    /// The definition that `module` would bind to if it were loaded alone: the first definition
    /// among the needs of `module`, breadth first.
    fn first<'d>(&mut self, module: ModuleId, all: &'d [Definition]) -> Option<&'d Definition> {
        let closure = self.closure;
        let order = self.order.entry(module).or_insert_with(|| breadth_first(closure, module));
        let placed = all.iter().filter_map(|d| Some((*order.get(&d.module)?, d)));
        placed.min_by_key(|(place, _)| *place).map(|(_, definition)| definition)
    }
}

/// The breadth-first order of `start` and the modules that it loads. Filtees precede the object
/// whose DT_FILTER or DT_AUXILIARY names them.
fn breadth_first(closure: &Closure, start: ModuleId) -> FastMap<ModuleId, usize> {
    let mut order: FastMap<ModuleId, usize> = FastMap::default();
    let mut seen: FastSet<ModuleId> = [start].into_iter().collect();
    let mut next = VecDeque::from([start]);
    while let Some(module) = next.pop_front() {
        let needs = closure.needs(module).iter();
        let found: Vec<&Edge> =
            needs.filter(|edge| closure.module(edge.to).file.is_some()).collect();
        for edge in found.iter().filter(|edge| edge.kind != NeedKind::Needed) {
            if seen.insert(edge.to) {
                order.insert(edge.to, order.len());
            }
        }
        let place = order.len();
        order.entry(module).or_insert(place);
        for edge in found.iter().filter(|edge| edge.kind == NeedKind::Needed) {
            if seen.insert(edge.to) {
                next.push_back(edge.to);
            }
        }
    }
    order
}

/// Adds to `pairs` the references to one name that are interposed under one entry point.
fn note<'q>(
    query: &Query<'q>,
    (root, alone): (RootId, &mut Alone<'_, 'q>),
    name: &DuplicateName,
    pairs: &mut PairsByFile,
) {
    for referrer in &name.referrers {
        let Some((loser, winner)) = interposed(alone, name, *referrer) else { continue };
        let closure = alone.closure;
        let file = |module: ModuleId| closure.module(module).file;
        let (Some(lost), Some(won), Some(by)) =
            (file(loser.module), file(winner.module), file(referrer.module))
        else {
            continue;
        };
        let (Some(old), Some(new)) =
            (symbol(query, closure, loser), symbol(query, closure, winner))
        else {
            continue;
        };
        let both = [(lost, &old), (won, &new)];
        if lost == won
            || is_of_host(query, closure, won)
            || interchangeable::definitions(query, &name.name, both, alone.cxx)
        {
            continue;
        }
        let pair = pairs.entry((lost, won)).or_default();
        if pair.roots.last() != Some(&root) {
            pair.roots.push(root);
        }
        if pair.copies.is_empty() {
            let loaded =
                |definition: &Definition, file| LoadedCopy { file, at: (root, definition.module) };
            pair.copies = vec![loaded(winner, won), loaded(loser, lost)];
        }
        let is_data = has_size(&old) && has_size(&new);
        let sizes = (is_data && old.size != new.size).then_some((old.size, new.size));
        let list = if sizes.is_some() { &mut pair.resized } else { &mut pair.other };
        list.referrers.insert(by);
        list.symbols.entry(name.name.clone()).or_insert_with(|| Interposed {
            kind: kind(&old),
            referrer: by,
            alike: old.kind == new.kind && old.size == new.size && old.size > 0,
            sizes,
        });
    }
}

/// The loser and the winner of the reference, if it is interposed. The winner is the definition to
/// which the reference binds. The loser is the referrer's own definition. If the referrer has none,
/// the loser is the definition to which the reference would bind if the referrer were loaded alone.
fn interposed<'d>(
    alone: &mut Alone<'_, '_>,
    name: &'d DuplicateName,
    referrer: Referrer,
) -> Option<(&'d Definition, &'d Definition)> {
    let closure = alone.closure;
    let all = &name.definitions;
    let of = |module: ModuleId| all.iter().find(|definition| definition.module == module);
    let found = of(referrer.winner)?;
    // For a copy of data or a canonical PLT entry in the program, the winner is the original
    // definition.
    let winner = found.source.map_or(Some(found), of)?;
    // Programs interpose callbacks and allocators on purpose.
    let declared = winner.module == ROOT
        || winner.is_address
        || closure.module(winner.module).how == FoundBy::Preload;
    // Filtees define the symbols of a filter in its place.
    let is_filtee = |edge: &Edge| edge.kind != NeedKind::Needed && edge.to == winner.module;
    if declared
        || winner.module == referrer.module
        || closure.needs(referrer.module).iter().any(is_filtee)
    {
        return None;
    }
    let loser = match of(referrer.module) {
        Some(own) => own,
        None => alone.first(referrer.module, all)?,
    };
    (loser.module != winner.module && loser.module != ROOT).then_some((loser, winner))
}

/// True for a library that holds the code of a plugin's host program. Plugins may define functions
/// that other versions of this library lack. The names of the library and the program begin with
/// the same letters. After these letters, the library's name has only a version (`libperl.so.5.36`
/// for `perl5.36.0`). If the name has more than a version, the program must load the library
/// (`libqgis_core.so.3` for `qgis.bin`).
fn is_of_host(query: &Query<'_>, closure: &Closure, library: FileId) -> bool {
    let name = |host: FileId| query.facts(host).path.file_name().map(OsStrExt::as_bytes);
    let Some(program) = closure.root.host.and_then(name) else { return false };
    let name = query.library_name(library).strip_prefix(b"lib").unwrap_or_default();
    // The program and the library spell versions differently, so only the letters are compared.
    let word = |name: &[u8]| name.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let (of_program, (of_library, rest)) = (&program[..word(program)], name.split_at(word(name)));
    let is_loaded = || closure.host().is_some_and(|host| host.found().any(|(_, f)| f == library));
    !of_program.is_empty() && of_program == of_library && (is_version(rest) || is_loaded())
}

/// True if a library's name has only a version after its letters: `3.11.so.1.0`, `-3.1.so.3.1`.
fn is_version(rest: &[u8]) -> bool {
    let end = memchr::memmem::find(rest, b".so").unwrap_or(rest.len());
    let is_flag = |byte: &&u8| b"dmtu".contains(byte);
    // Letters after the version of Python are its ABI flags: `libpython3.13td.so.1.0`.
    let flags = rest[..end].iter().rev().take_while(is_flag).count();
    rest[..end - flags].iter().all(|byte| byte.is_ascii_digit() || b".-".contains(byte))
}

fn symbol<'q>(query: &Query<'q>, closure: &Closure, definition: &Definition) -> Option<Symbol<'q>> {
    let object = query.facts(closure.module(definition.module).file?).object()?;
    object.tables.as_ref()?.symbol(definition.symbol)
}

/// True for data of a known size. Assembler code may leave out the type or the size.
fn has_size(symbol: &Symbol<'_>) -> bool {
    let kind = elf::SymbolType(symbol.kind);
    symbol.size > 0 && matches!(kind, elf::STT_OBJECT | elf::STT_COMMON | elf::STT_TLS)
}

/// The kind of a definition, as a word.
fn kind(symbol: &Symbol<'_>) -> &'static str {
    match (elf::SymbolBind(symbol.bind), elf::SymbolType(symbol.kind)) {
        (_, elf::STT_TLS) => "TLS",
        (elf::STB_GNU_UNIQUE, _) => "unique",
        (_, elf::STT_FUNC | elf::STT_GNU_IFUNC) => "function",
        _ => "data",
    }
}

/// At most two findings about a pair of libraries: one about data of different sizes, and one about
/// all other symbols.
fn findings(query: &Query<'_>, files: (FileId, FileId), pair: &Pair) -> Findings {
    let winner = query.library_text(files.1);
    let mut out = Findings::new();
    if let Some((name, first)) = pair.resized.symbols.first_key_value() {
        let (here, there) = first.sizes.unwrap_or_default();
        let more = match pair.resized.symbols.len() {
            1 => String::new(),
            n => format!("; {} more differ", n - 1),
        };
        let message = format!(
            "{} has {here} bytes here and {there} in {winner}, which is used{more}",
            show(name)
        );
        out.push(finding(query, files, pair, (&pair.resized, "size", message)));
    }
    let all = &pair.other.symbols;
    if let Some((name, _)) = all.first_key_value() {
        let message = match all.len() {
            1 => format!("{} is bound to {winner}", show(name)),
            _ => format!("{} are bound to {winner}", pair.other.counts()),
        };
        let kinds = pair.other.kinds().into_keys().collect::<Vec<_>>().join(" ");
        let mut finding = finding(query, files, pair, (&pair.other, &kinds, message));
        finding.mild = all.values().all(|symbol| symbol.alike);
        out.push(finding);
    }
    out
}

impl InterposedList {
    fn kinds(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for symbol in self.symbols.values() {
            *kinds.entry(symbol.kind).or_default() += 1;
        }
        kinds
    }

    /// The number of symbols of each kind, in words: `30 functions, 2 data symbols`.
    fn counts(&self) -> String {
        let words = |(kind, count): (&'static str, usize)| match (kind, count) {
            ("function", 1) => "1 function".to_owned(),
            ("function", n) => format!("{n} functions"),
            (kind, 1) => format!("1 {kind} symbol"),
            (kind, n) => format!("{n} {kind} symbols"),
        };
        self.kinds().into_iter().rev().map(words).collect::<Vec<_>>().join(", ")
    }

    /// The symbols by name, transaction clones last.
    fn ordered(&self) -> impl Iterator<Item = (&[u8], &Interposed)> {
        let of = |is_clone| {
            let symbols = self.symbols.iter().map(|(name, symbol)| (&**name, symbol));
            symbols.filter(move |(name, _)| is_transaction_clone(name) == is_clone)
        };
        of(false).chain(of(true))
    }

    /// Evidence: the first symbols, the first files that refer to any of them, and the numbers of
    /// symbols and files that these lists leave out.
    fn evidence(&self, query: &Query<'_>) -> Vec<Evidence> {
        let mut out = Vec::new();
        for (name, symbol) in self.ordered().take(MOST) {
            let sizes =
                symbol.sizes.map(|(old, new)| format!("{old} bytes, {new} in the definition used"));
            out.push(Evidence {
                symbol: Some(name.to_vec()),
                reason: sizes,
                ..Evidence::at(EvidenceKind::Bound, query.shared_path(symbol.referrer))
            });
        }
        out.extend(Evidence::beyond(MOST, EvidenceKind::Bound, self.symbols.len()));
        // Files that refer to a listed symbol come first, so that the limit does not drop them.
        let first: FastSet<FileId> =
            self.ordered().take(MOST).map(|(_, symbol)| symbol.referrer).collect();
        let mut files: Vec<FileId> = self.referrers.iter().copied().collect();
        files.arrange_by_key(|file| (!first.contains(file), query.path(*file).as_os_str()));
        let at = |file: &FileId| Evidence::at(EvidenceKind::Reference, query.shared_path(*file));
        out.extend(files.iter().take(MOST).map(at));
        out.extend(Evidence::beyond(MOST, EvidenceKind::Reference, files.len()));
        out
    }
}

/// True for a name that the Itanium ABI gives to a transaction clone of a function. Only programs
/// with transactional memory call it.
fn is_transaction_clone(name: &[u8]) -> bool {
    name.starts_with(b"_ZGTt") || name.starts_with(b"_ZGTn")
}

fn finding(
    query: &Query<'_>,
    (loser, winner): (FileId, FileId),
    pair: &Pair,
    (list, detail, message): (&InterposedList, &str, String),
) -> Box<Finding> {
    let mut finding = query.about(RULE.id, loser, message);
    finding.library = Some(query.library_name(winner).to_vec());
    finding.detail = Some(detail.into());
    let first = list.ordered().next().map(|(name, _)| name);
    finding.symbol = first.filter(|_| list.symbols.len() == 1).map(<[u8]>::to_vec);
    finding.root = query.first_root(&pair.roots);
    finding.evidence.extend(query.roots(&pair.roots, pair.copies.last().map(|copy| copy.site())));
    finding.evidence.extend(pair.copies.iter().map(|copy| query.copy(*copy)));
    finding.evidence.extend(list.evidence(query));
    finding.witness = first.and_then(|name| witness(query, pair, name));
    finding
}

/// A command that makes the loader print the binding of a symbol. `None` under musl, whose loader
/// does not print bindings, and for an entry point that cannot be started.
fn witness(query: &Query<'_>, pair: &Pair, symbol: &[u8]) -> Option<String> {
    let closure = query.closure(*pair.roots.first()?);
    let file = closure.root.file;
    let is_started = query.facts(file).object().is_some_and(|object| object.interp().is_some());
    if !is_started || query.loader(closure).is_musl() {
        return None;
    }
    let (variables, name) = (query.loader_variables()?, super::typeable(symbol)?);
    let file = query.quoted(file)?;
    Some(format!("{variables}LD_DEBUG=bindings LD_BIND_NOW=1 {file} 2>&1 | grep -w {name}"))
}
