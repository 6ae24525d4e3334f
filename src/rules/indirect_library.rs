//! `indirect-library`: an object uses symbols of a library that it does not need itself.

use super::{Query, Rule};
use crate::bind::lookup;
use crate::catalogue::{LINK_HYGIENE, Level};
use crate::finding::{Evidence, EvidenceKind, Finding, Findings};
use crate::format::elf::find::SymbolQuery;
use crate::format::elf::machine::LookupClass;
use crate::format::elf::{Object, RefKind, Reference, SymbolIndex};
use crate::id::{FastSet, FileId, ModuleId};
use crate::resolve::{Closure, LOADER, ROOT};
use crate::text::show;
use crate::wants::Wants;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(super) static RULE: Rule = Rule::new(
    "indirect-library",
    LINK_HYGIENE,
    "an object uses a library that it does not need directly",
    DOCS,
    check,
)
.at(Level::Allow)
.keys(&["library", "symbol"])
// Copy relocations show which data symbols of a program come from a library.
.wants(Wants::BOUND_LIBRARIES);

const DOCS: &str = "\
## What it does

Looks up each strong reference of an audited object in the libraries that its DT_NEEDED entries name, as a linker
does. If none of these libraries defines the symbol, but a library that they need does, the rule reports that library.
Data that a program copies, and functions for which it has the canonical PLT address, are references too.

## Why it matters

The object works as long as one of its libraries needs that library. If a new version drops the need, or a new build
hides it (`Requires.private`), the object has undefined symbols. `ld` refuses to link such a program: `DSO missing
from command line`.

## Example

```text
warning[indirect-library] bin/app: uses libm.so.6, which only its libraries need: cos
```

## How to fix

Add the library to the link of the object: `-lm`, or in CMake `target_link_libraries`. `patchelf --add-needed` changes
a built file.

## Limits

Symbols of the loader are not reported, and neither are symbols that the program or a preloaded library defines. As for
a linker, the default version of a symbol counts as its definition, even if the object needs another version. A
definition with exactly the version that the object needs counts too.
";

/// Maximum number of symbols that a finding lists.
const MOST: usize = 20;

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    let mut seen: FastSet<FileId> = FastSet::default();
    for (_, closure) in query.entry_points() {
        for (module, file) in closure.in_scope().filter(|(module, _)| *module != LOADER) {
            let facts = query.facts(file);
            let Some(object) = facts.object().filter(|_| facts.audited) else { continue };
            if closure.fatal().is_none() && seen.insert(file) {
                let found = indirect(query, closure, module, object);
                out.extend(
                    found.into_iter().map(|(library, names)| finding(query, file, library, &names)),
                );
            }
        }
    }
    out
}

type Names = BTreeSet<Vec<u8>>;

/// The symbols that `module` uses from indirect libraries, by library. `module` does not need an
/// indirect library itself: libraries that `module` needs load it, directly or through others.
/// Empty if a direct need was not found.
fn indirect(
    query: &Query<'_>,
    closure: &Closure,
    module: ModuleId,
    object: &Object,
) -> BTreeMap<FileId, Names> {
    let object_of = |module: &ModuleId| query.facts(closure.module(*module).file?).object();
    let direct: Vec<ModuleId> = closure.needs(module).iter().map(|edge| edge.to).collect();
    // A library that was not found could define any symbol.
    if direct.iter().any(|need| object_of(need).is_none()) {
        return BTreeMap::new();
    }
    let below = below(closure, module, &direct);
    let mut out: BTreeMap<FileId, Names> = BTreeMap::new();
    for reference in &object.references {
        let is_copy = match reference.kind {
            RefKind::Strong | RefKind::Canonical => false,
            RefKind::Copy { weak, .. } if !weak => true,
            _ => continue,
        };
        let name = object.reference_name(reference);
        let defines = |module: &&ModuleId| {
            object_of(module).is_some_and(|object| object.satisfies_link(name))
        };
        // The program also defines a copied symbol, as the copy. That definition does not count
        // here.
        let program = (!is_copy).then_some(&ROOT);
        let mut near = program.into_iter().chain([&LOADER]).chain(&direct);
        if near.clone().any(|module| defines(&module)) {
            continue;
        }
        let file = below.iter().find(defines).and_then(|far| closure.module(*far).file);
        let mut binds_near =
            || near.any(|near| has_version(query, closure, *near, (module, reference)));
        let is_used = || !is_copy || copies(query, closure.module(module).file, reference.symbol);
        if let Some(file) = file.filter(|_| !binds_near() && is_used()) {
            out.entry(file).or_default().insert(name.to_vec());
        }
    }
    out
}

/// True if the reference has a version and `near` defines the name in exactly this version. The
/// linker may have bound the reference to `near`: this version may have been the default when the
/// object was linked.
fn has_version(
    query: &Query<'_>,
    closure: &Closure,
    near: ModuleId,
    (module, reference): (ModuleId, &Reference),
) -> bool {
    let object_of = |module: ModuleId| query.facts(closure.module(module).file?).object();
    let Some((object, definer)) = object_of(module).zip(object_of(near)) else { return false };
    let limit = |module| closure.module(module).version_limit;
    let version = lookup::wanted(object, reference.version, limit(module));
    // musl's loader ignores needed versions and skips definitions whose version is not the default.
    if version.is_none() || query.loader(closure).is_musl() {
        return false;
    }
    let wanted = SymbolQuery::new(object.reference_name(reference), reference.hash, version);
    lookup::definition(definer, &wanted, limit(near)).is_some()
}

/// True if a copy relocation of the file uses the symbol. False if the relocations cannot be read.
fn copies(query: &Query<'_>, file: Option<FileId>, symbol: SymbolIndex) -> bool {
    let relocations = file.and_then(|file| query.view().relocations(file).ok());
    relocations.is_some_and(|all| {
        all.list.iter().any(|one| one.symbol() == symbol && one.class() == LookupClass::Copy)
    })
}

/// The modules that the direct needs of `module` load, directly or through other modules, breadth
/// first.
fn below(closure: &Closure, module: ModuleId, direct: &[ModuleId]) -> Vec<ModuleId> {
    let mut seen: FastSet<ModuleId> = direct.iter().copied().chain([module]).collect();
    let mut next: VecDeque<ModuleId> = direct.iter().copied().collect();
    let mut out = Vec::new();
    while let Some(module) = next.pop_front() {
        for edge in closure.needs(module).iter().filter(|edge| seen.insert(edge.to)) {
            out.push(edge.to);
            next.push_back(edge.to);
        }
    }
    out
}

fn finding(query: &Query<'_>, file: FileId, library: FileId, names: &Names) -> Box<Finding> {
    let first = names.first().cloned().unwrap_or_default();
    let more = match names.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let message = format!(
        "uses {}, which only its libraries need: {}{more}",
        query.library_text(library),
        show(&first)
    );
    let mut finding = query.about(RULE.id, file, message);
    finding.library = Some(query.library_name(library).to_vec());
    if names.len() == 1 {
        finding.symbol = Some(first);
    }
    let at = |name: &Vec<u8>| Evidence {
        symbol: Some(name.clone()),
        ..Evidence::at(EvidenceKind::Bound, query.shared_path(file))
    };
    let provider = Evidence::at(EvidenceKind::Provider, query.shared_path(library));
    finding.evidence.push(provider);
    finding.evidence.extend(names.iter().take(MOST).map(at));
    finding.evidence.extend(Evidence::beyond(MOST, EvidenceKind::Bound, names.len()));
    finding
}
