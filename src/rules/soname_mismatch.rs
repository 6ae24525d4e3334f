//! `soname-mismatch`: a library has a soname under which no search finds it.

use super::query::last_part;
use super::{Query, Rule};
use crate::catalogue::LINK_HYGIENE;
use crate::finding::Findings;
use crate::format::elf::Role;
use crate::id::{FastMap, FileId};
use crate::text::show;
use std::path::Path;

pub(super) static RULE: Rule = Rule::new(
    "soname-mismatch",
    LINK_HYGIENE,
    "no file has the name that users of a library record",
    DOCS,
    check,
)
.keys(&["library"]);

const DOCS: &str = "\
## What it does

Reports libraries (`lib*.so*`) in audited directories whose soname (`lib*.so*`) is the name of no file or link in
their directory.

## Why it matters

A linker records the soname of the library. If no file has that name, the result does not start: `cannot open
shared object file`.

## Example

```text
warning[soname-mismatch] lib/libfoo.so: no file beside it is named by its soname libfoo.so.1
```

## How to fix

Install the link `libfoo.so.1` beside the file, or correct the soname (`-Wl,-soname`, CMake's `SOVERSION`).
`patchelf --set-soname` changes a built file.

## Limits

Files that were given by name are not checked, because the links beside them are not known. Plugins, which no
linker reads, are checked only if their names begin with `lib`.
";

fn check(query: &Query<'_>) -> Findings {
    let names = names(query);
    let mut out = Findings::new();
    for (file, object) in query.audited_objects() {
        let Some(soname) = object.soname().filter(|_| object.role == Role::Shared) else {
            continue;
        };
        let path = query.path(file);
        let is_library =
            |name: &[u8]| name.starts_with(b"lib") && memchr::memmem::find(name, b".so").is_some();
        // A file outside that a link names is beside files that were not listed.
        let is_here = query.facts(file).real == query.facts(file).path && query.was_listed(file);
        if !is_here || !is_library(soname) || !is_library(last_part(path)) {
            continue;
        }
        let directory = path.parent().unwrap_or(path);
        if !names.contains_key(&(directory, soname)) {
            let message = format!("no file beside it is named by its soname {}", show(soname));
            let mut finding = query.about(RULE.id, file, message);
            finding.library = Some(soname.to_vec());
            finding.witness =
                query.quoted(file).map(|file| format!("readelf -d {file} | grep SONAME"));
            out.push(finding);
        }
    }
    out
}

/// All names of audited files, by directory and last part.
fn names<'q>(query: &'q Query<'_>) -> FastMap<(&'q Path, &'q [u8]), FileId> {
    let mut out = FastMap::default();
    for (file, facts) in query.files().filter(|(_, facts)| facts.audited) {
        let others = facts.names.iter().map(|name| &*name.path);
        for path in others.chain([&*facts.path, &*facts.typed]) {
            if let Some(directory) = path.parent() {
                out.insert((directory, last_part(path)), file);
            }
        }
    }
    out
}
