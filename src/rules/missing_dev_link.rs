//! `missing-dev-link`: a library without the `libfoo.so` link that `-lfoo` needs.

use super::query::last_part;
use super::{Query, Rule};
use crate::catalogue::{LINK_HYGIENE, Level};
use crate::facts::FileFacts;
use crate::finding::Findings;
use crate::format::elf::Role;
use crate::id::{FastSet, FileId};
use crate::package::is_private;
use crate::text::show;
use crate::wants::Wants;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

pub(super) static RULE: Rule =
    Rule::new("missing-dev-link", LINK_HYGIENE, "a library has no development link", DOCS, check)
        .at(Level::Allow)
        .keys(&["library"])
        .wants(Wants::NAMES_MET);

const DOCS: &str = "\
## What it does

Reports shared libraries with a version in their soname (`libfoo.so.1`) and without a development link. A development
link is a file or link, in any audited directory, with the name that linkers search for (`libfoo.so`). For
`libfoo-1.2.so.0`, which the option `-release` of libtool makes, a link `libfoo.so` to the library counts too.

## Why it matters

`-lfoo` finds `libfoo.so` or `libfoo.a`, never `libfoo.so.1`. Without the link, a program that is built against the
prefix fails to link. Or the linker takes a static archive, or a library of the system.

## Example

```text
warning[missing-dev-link] lib/libfoo.so.1: no libfoo.so beside it: -lfoo does not find it
```

## How to fix

Install the link (`ln -s libfoo.so.1 lib/libfoo.so`), or a linker script of that name.

## Limits

The rule is for prefixes with their development files, and is allowed by default: distributions put the link into
another package. A file or link of the name in any audited directory counts. Files that were given by name are not
checked, and neither are libraries whose soname has no version after `.so`. Libraries in private directories such as
`lib/NAME` and libraries of Python wheels are not checked either, because nothing else is linked with them.
";

fn check(query: &Query<'_>) -> Findings {
    let given = query.given_files();
    let wheels = query.wheels();
    let libraries: Vec<(FileId, OsString)> = query
        .audited_objects()
        .filter(|(file, object)| {
            let facts = query.facts(*file);
            let is_listed = object.role == Role::Shared && !facts.by_link && !given.contains(file);
            let directory = query.path(*file).parent();
            is_listed && !directory.is_some_and(|dir| is_private(dir) || wheels.contain(dir))
        })
        .filter_map(|(file, object)| {
            let soname = object.soname()?;
            let is_linked = has_link_without_release(query.facts(file), soname);
            Some((file, link_name(soname).filter(|_| !is_linked)?))
        })
        .collect();
    let met: FastSet<OsString> = query.names_met(libraries.iter().map(|(_, name)| name.clone()));
    let missing = libraries.into_iter().filter(|(_, name)| !met.contains(name));
    let finding = |(file, name): (FileId, OsString)| {
        let link = name.as_bytes();
        let short = link.strip_prefix(b"lib").and_then(|name| name.strip_suffix(b".so"));
        let (link, short) = (show(link), show(short.unwrap_or(link)));
        let message = format!("no {link} beside it: -l{short} does not find it");
        let mut finding = query.about(RULE.id, file, message);
        finding.library = Some(name.into_encoded_bytes());
        finding
    };
    missing.map(finding).collect()
}

/// True if a link without the release in its name, such as `libfoo.so`, leads to the library
/// `libfoo-1.2.so.0` (libtool's `-release`). `-lfoo` then finds the library.
fn has_link_without_release(facts: &FileFacts, soname: &[u8]) -> bool {
    let mut links = facts.names.iter().map(|name| &*name.path).chain([&*facts.typed]);
    links.any(|path| {
        let stem = last_part(path).strip_suffix(b".so");
        let release = stem.and_then(|stem| soname.strip_prefix(stem));
        release.is_some_and(|release| release.starts_with(b"-"))
    })
}

/// The name that linkers search for (`libfoo.so`), if the soname is that name with a version
/// (`libfoo.so.1`).
fn link_name(soname: &[u8]) -> Option<OsString> {
    let end = memchr::memmem::find(soname, b".so.")? + b".so".len();
    let name = &soname[..end];
    (name.starts_with(b"lib") && !name.contains(&b'/')).then(|| OsStr::from_bytes(name).to_owned())
}
