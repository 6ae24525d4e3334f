//! `unused-library`: a needed library to which no reference of the object binds.

use super::copies::LoadedCopy;
use super::{Query, Rule};
use crate::catalogue::{LINK_HYGIENE, Level};
use crate::finding::{Evidence, EvidenceKind, Findings};
use crate::format::elf::{NeedKind, Object};
use crate::id::{FastSet, FileId};
use crate::resolve::LOADER;
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
DT_NEEDED entry if none of these references is bound to its library. Weak references count as use.

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

fn check(query: &Query<'_>) -> Findings {
    let mut used: FastSet<(FileId, FileId)> = FastSet::default();
    let mut needs: BTreeMap<(FileId, FileId), (LoadedCopy, Vec<u8>)> = BTreeMap::new();
    for (root, closure) in query.entry_points() {
        if closure.fatal().is_some() {
            continue;
        }
        let file = |module| closure.module(module).file;
        for bound in query.bound_libraries(root) {
            used.extend(file(bound.module).zip(file(bound.provider)));
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
    let is_unused = |(from, to): &(FileId, FileId)| {
        !used.contains(&(*from, *to))
            && query.facts(*from).foreign().is_none()
            && query.facts(*to).object().is_some_and(defines_any)
    };
    let unused = needs.into_iter().filter(|(pair, _)| is_unused(pair));
    unused
        .map(|((from, _), (loaded, name))| {
            let message = format!("{} is needed, but no reference is bound to it", show(&name));
            let mut finding = query.about(RULE.id, from, message);
            finding.library = Some(name);
            let provider = Evidence::at(EvidenceKind::Provider, query.shared_path(loaded.file));
            finding.evidence.push(provider);
            finding.witness = query.quoted(from).map(|file| format!("ldd -u {file}"));
            finding
        })
        .collect()
}

/// True if an object exports a symbol that is neither the name of one of its versions nor a
/// placeholder of glibc's empty libraries (`__libpthread_version_placeholder`).
fn defines_any(object: &Object) -> bool {
    let Some(tables) = &object.tables else { return false };
    let versions: FastSet<&[u8]> =
        object.versions.defs.iter().map(|version| object.str(version.name)).collect();
    let is_version =
        |name: &[u8]| versions.contains(name) || name.ends_with(b"_version_placeholder");
    tables.exports().any(|symbol| !is_version(symbol.name))
}
