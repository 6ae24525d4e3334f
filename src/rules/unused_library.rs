//! `unused-library`: a needed library to which no reference of the object binds.

use super::copies::LoadedCopy;
use super::{Query, Rule};
use crate::bind::lookup;
use crate::catalogue::{LINK_HYGIENE, Level};
use crate::finding::{Evidence, EvidenceKind, Findings};
use crate::format::elf::find::SymbolQuery;
use crate::format::elf::{NeedKind, Object, RefKind, Reference};
use crate::id::{FastMap, FastSet, FileId};
use crate::resolve::{Closure, LOADER, ROOT};
use crate::text::show;
use crate::wants::Wants;
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule::new(
    "unused-library",
    LINK_HYGIENE,
    "an object needs a library that it does not use",
    DOCS,
    check,
)
.at(Level::Allow)
.keys(&["library"])
.wants(Wants::BOUND_LIBRARIES);

const DOCS: &str = "\
## What it does

Binds all references of each audited object as the loader does, under every entry point that loads it. Reports a
DT_NEEDED entry if none of these references is bound to its library. Weak references count as use. The program may have
a copy of data, or the canonical PLT address of a function. A reference to such data or to such a function counts as a
use of the library that defines it. If the used library is a filtee, the filter that loads it (DT_FILTER, DT_AUXILIARY)
counts as used, unless the object needs the filtee itself.

## Why it matters

The library is loaded into each process for nothing, costs time at every start, and becomes a dependency of the
package. A new major version of it forces a rebuild of an object that does not use it.

## Example

```text
warning[unused-library] bin/app: libm.so.6 is needed, but no reference is bound to it
```

## How to fix

Link with `-Wl,--as-needed` before the libraries, or remove the library from the link. `patchelf --remove-needed`
changes a built file: `linkaudit fix --warn unused-library` verifies that and writes the commands.

## Limits

A library may be needed for its constructors, or because other libraries find their symbols in it. If another library
with the same symbol comes first in the scope, the reference counts as a use of that library. Libraries that define
nothing, such as glibc's `libpthread.so.0` since 2.34, are not reported.
";

/// An object and a library that it needs.
type Pair = (FileId, FileId);

fn check(query: &Query<'_>) -> Findings {
    let mut used: FastSet<Pair> = FastSet::default();
    let mut needs: BTreeMap<Pair, (LoadedCopy, Vec<u8>)> = BTreeMap::new();
    let mut filtees: FastMap<FileId, FastSet<FileId>> = FastMap::default();
    for (root, closure) in query.entry_points() {
        if closure.fatal().is_some() {
            continue;
        }
        let file = |module| closure.module(module).file;
        for bound in query.bound_libraries(root) {
            used.extend(file(bound.module).zip(file(bound.provider)));
        }
        for edge in closure.whole_edges().filter(|edge| edge.kind != NeedKind::Needed) {
            let Some((filter, filtee)) = file(edge.from).zip(file(edge.to)) else { continue };
            filtees.entry(filter).or_default().insert(filtee);
        }
        for edge in closure.edges().iter().filter(|edge| edge.kind == NeedKind::Needed) {
            let Some((from, to)) = file(edge.from).zip(file(edge.to)) else { continue };
            if query.facts(from).audited && edge.from != LOADER {
                let loaded = LoadedCopy { file: to, at: (root, edge.to) };
                let name = || (loaded, query.text(edge.raw).to_vec());
                needs.entry((from, to)).or_insert_with(name);
            }
        }
    }
    let needed: FastSet<Pair> = needs.keys().copied().collect();
    let is_unused = |(from, to): &Pair| {
        let is_used_below = |filtee: &FileId| {
            used.contains(&(*from, *filtee)) && !needed.contains(&(*from, *filtee))
        };
        !used.contains(&(*from, *to))
            && !all_filtees(&filtees, *to).iter().any(is_used_below)
            && query.facts(*from).foreign().is_none()
            && query.facts(*to).object().is_some_and(defines_any)
    };
    let mut unused: BTreeMap<_, _> =
        needs.into_iter().filter(|(pair, _)| is_unused(pair)).collect();
    let pairs: Vec<Pair> = unused.keys().copied().collect();
    for pair in used_through_program(query, &used, &pairs) {
        unused.remove(&pair);
    }
    unused
        .into_iter()
        .map(|((from, _), (loaded, name))| {
            let message = format!("{} is needed, but no reference is bound to it", show(&name));
            let mut finding = query.about(RULE.id, from, message);
            finding.library = Some(name);
            let provider = Evidence::at(EvidenceKind::Provider, query.shared_path(loaded.file));
            finding.evidence.push(provider);
            // musl's ldd has no option that lists unused libraries.
            let is_glibc = !query.loader(query.closure(loaded.at.0)).is_musl();
            let words = query.loader_variables().zip(query.quoted(from)).filter(|_| is_glibc);
            finding.witness = words.map(|(variables, file)| format!("{variables}ldd -u {file}"));
            finding
        })
        .collect()
}

/// The filtees of `library`, directly or through other filtees.
fn all_filtees(filtees: &FastMap<FileId, FastSet<FileId>>, library: FileId) -> FastSet<FileId> {
    let mut out = FastSet::default();
    let mut next = vec![library];
    while let Some(filter) = next.pop() {
        let of_filter = filtees.get(&filter).into_iter().flatten();
        next.extend(of_filter.copied().filter(|filtee| out.insert(*filtee)));
    }
    out
}

/// Pairs of an object in `unused` and a library whose symbol the object uses through the program.
/// The program then has a copy of the data, or fixes the address of the function. The result may
/// also have pairs that are not in `unused`.
fn used_through_program(query: &Query<'_>, used: &FastSet<Pair>, unused: &[Pair]) -> Vec<Pair> {
    // For each object, the hashes of its undefined symbols.
    let mut referred: FastMap<FileId, FastSet<u32>> = FastMap::default();
    for (from, _) in unused {
        let Some(object) = query.facts(*from).object() else { continue };
        let plain = |kind| matches!(kind, RefKind::Strong | RefKind::Weak);
        let hashes = object.references.iter().filter(|one| plain(one.kind)).map(|one| one.hash);
        referred.entry(*from).or_insert_with(|| hashes.collect());
    }
    let mut out = Vec::new();
    for (_, closure) in query.entry_points().filter(|(_, closure)| closure.fatal().is_none()) {
        let Some(program) = closure.module(ROOT).file else { continue };
        let Some(object) = query.facts(program).object() else { continue };
        let users = closure.in_scope();
        let users: Vec<(FileId, &FastSet<u32>)> =
            users.filter_map(|(_, file)| Some((file, referred.get(&file)?))).collect();
        let stands = |kind| matches!(kind, RefKind::Copy { .. } | RefKind::Canonical);
        for one in object.references.iter().filter(|one| stands(one.kind)) {
            let users = users.iter().filter(|(_, hashes)| hashes.contains(&one.hash));
            let users: Vec<FileId> = users.map(|(file, _)| *file).collect();
            if users.is_empty() {
                continue;
            }
            // The program's own data has no origin in a library.
            let origin = origin(query, closure, object, one);
            if let Some(origin) = origin.filter(|origin| used.contains(&(program, *origin))) {
                out.extend(users.into_iter().map(|user| (user, origin)));
            }
        }
    }
    out
}

/// The library with the original definition for `reference`: the data that `program` copies, or the
/// function whose address `program` fixes. `None` if no library in scope has the definition.
fn origin(
    query: &Query<'_>,
    closure: &Closure,
    program: &Object,
    reference: &Reference,
) -> Option<FileId> {
    let version = lookup::wanted(program, reference.version, closure.module(ROOT).version_limit);
    let name = program.reference_name(reference);
    let wanted = SymbolQuery::new(name, reference.hash, version);
    let mut libraries = closure.in_scope().filter(|(module, _)| *module != ROOT);
    let found = libraries.find(|(module, file)| {
        let limit = closure.module(*module).version_limit;
        let object = query.facts(*file).object();
        object.is_some_and(|object| lookup::definition(object, &wanted, limit).is_some())
    });
    found.map(|(_, file)| file)
}

/// True if an object exports a symbol other than the names of its versions and the placeholders of
/// glibc's empty libraries (`__libpthread_version_placeholder`).
fn defines_any(object: &Object) -> bool {
    let Some(tables) = &object.tables else { return false };
    let versions: FastSet<&[u8]> =
        object.versions.defs.iter().map(|version| object.str(version.name)).collect();
    let is_version =
        |name: &[u8]| versions.contains(name) || name.ends_with(b"_version_placeholder");
    tables.exports().any(|symbol| !is_version(symbol.name))
}
