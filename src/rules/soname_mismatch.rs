//! `soname-mismatch`: no file or link beside a library has the soname of the library as its name.

use super::query::last_part;
use super::{Query, Rule};
use crate::catalogue::LINK_HYGIENE;
use crate::finding::{Finding, Findings};
use crate::format::elf::Role;
use crate::id::{FastMap, FastSet, FileId};
use crate::package::is_private;
use crate::resolve::ROOT;
use crate::text::{self, show};
use std::path::Path;

pub(super) static RULE: Rule = Rule::new(
    "soname-mismatch",
    LINK_HYGIENE,
    "no ELF file beside a library has the library's soname as its name",
    DOCS,
    check,
)
.keys(&["library"]);

const DOCS: &str = "\
## What it does

Reports a library (`lib*.so*`) in an audited directory if its soname is not the name of a file or link there. A link
in another audited directory counts too if it leads to this library and has the soname as its name. A package may keep
the file in `libexec` and the link in `lib`. A linker script of that name does not count, because the loader
rejects it. Sonames that do not match `lib*.so*` are not checked.

## Why it matters

A linker records the soname of the library, and the loader searches for a file with that name. If there is none, the
program does not start: `cannot open shared object file`.

## Example

```text
warning[soname-mismatch] lib/libfoo.so: its soname is libfoo.so.1, and no ELF file beside it has that name
```

## How to fix

Install the link `libfoo.so.1` beside the file, or correct the soname (`-Wl,-soname`, CMake's `SOVERSION`).
`patchelf --set-soname` changes a built file.

## Limits

Files that were given by name are not checked, because the links beside them are not known. Files in private
directories such as `lib/NAME/plugins` are not checked, because programs open them by path. A link in such a directory
counts only if the loader takes the library through it. Files beside the metadata
of a Python wheel (`NAME.dist-info/METADATA`), or below that directory, are not checked either. A library that is
needed and not found is a `missing-library`.
";

fn check(query: &Query<'_>) -> Findings {
    let given = query.given_files();
    let wheels = query.wheels();
    let mut asked: Vec<ExpectedName<'_>> = Vec::new();
    for (file, object) in query.audited_objects() {
        let Some(soname) = object.soname().filter(|_| object.role == Role::Shared) else {
            continue;
        };
        let path = query.path(file);
        let is_library =
            |name: &[u8]| name.starts_with(b"lib") && memchr::memmem::find(name, b".so").is_some();
        // The walk may have found the file through a link from another directory. In that case, the
        // walk did not list the file's own directory.
        let is_here = !query.facts(file).by_link && !given.contains(&file);
        let is_named = last_part(path) == soname;
        let directory = path.parent().unwrap_or(path);
        let may = is_here && !is_named && is_library(soname) && is_library(last_part(path));
        if may && !is_private(directory) && !wheels.contain(directory) {
            asked.push(ExpectedName { file, directory, soname });
        }
    }
    let there = names(query, &asked);
    asked.retain(|one| !there.contains(&(one.directory, one.soname)) && !is_linked(query, one));
    let loaded = loaded_by_soname(query, &asked);
    let missing = asked.iter().filter(|one| !loaded.contains(&one.file));
    missing.map(|one| finding(query, one)).collect()
}

/// True if a link to the library has the soname as its name, and lies in a directory where loaders
/// may search.
fn is_linked(query: &Query<'_>, one: &ExpectedName<'_>) -> bool {
    let facts = query.facts(one.file);
    let links = facts.names.iter().map(|name| &*name.path).chain([&*facts.typed]);
    let mut named = links.filter(|path| last_part(path) == one.soname);
    named.any(|path| path.parent().is_some_and(|directory| !is_private(directory)))
}

/// The libraries in `asked` that an entry point loads by a path that ends with the soname.
fn loaded_by_soname(query: &Query<'_>, asked: &[ExpectedName<'_>]) -> FastSet<FileId> {
    let mut out = FastSet::default();
    if asked.is_empty() {
        return out;
    }
    let sonames: FastMap<FileId, &[u8]> = asked.iter().map(|one| (one.file, one.soname)).collect();
    // Entry points with the same needs share a link map.
    let mut met = FastSet::default();
    for (_, closure) in query.entry_points().filter(|(_, one)| met.insert(one.links_id())) {
        for (module, file) in closure.found().filter(|(module, _)| *module != ROOT) {
            let path = query.text(closure.module(module).path);
            if sonames.get(&file).is_some_and(|soname| text::last_part(path) == *soname) {
                out.insert(file);
            }
        }
    }
    out
}

/// A library, and the name that a file or link in its directory must have.
struct ExpectedName<'q> {
    file: FileId,
    directory: &'q Path,
    soname: &'q [u8],
}

fn finding(
    query: &Query<'_>,
    ExpectedName { file, soname, .. }: &ExpectedName<'_>,
) -> Box<Finding> {
    let message =
        format!("its soname is {}, and no ELF file beside it has that name", show(soname));
    let mut finding = query.about(RULE.id, *file, message);
    finding.library = Some(soname.to_vec());
    finding.witness = query.quoted(*file).map(|file| format!("readelf -d {file} | grep SONAME"));
    finding
}

/// The names of audited files that are sonames in `asked`, as pairs of directory and file name.
fn names<'q>(query: &'q Query<'_>, asked: &[ExpectedName<'q>]) -> FastSet<(&'q Path, &'q [u8])> {
    let sonames: FastSet<&[u8]> = asked.iter().map(|one| one.soname).collect();
    let mut out = FastSet::default();
    for (_, facts) in query.files().filter(|(_, facts)| facts.audited) {
        let others = facts.names.iter().map(|name| &*name.path);
        for path in others.chain([&*facts.path, &*facts.typed]) {
            let name = last_part(path);
            if sonames.contains(name)
                && let Some(directory) = path.parent()
            {
                out.insert((directory, name));
            }
        }
    }
    out
}
