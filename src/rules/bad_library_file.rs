//! `bad-library-file`: a file at which the loader stops.

use super::{Query, Rule, missing_library};
use crate::catalogue::LIBRARY;
use crate::finding::{CauseHint, Evidence, EvidenceKind, Finding, Findings, When};
use crate::resolve::loader::{InterpFault, NoLoader};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

pub(super) static RULE: Rule =
    Rule::new("bad-library-file", LIBRARY, "the loader stops at a file it was led to", DOCS, check)
        .keys(&["library", "detail"])
        .of_all_loaded();

const DOCS: &str = "\
## What it does

Reports the file at which the loader gives up while it maps the objects of a root: a linker script,
an empty or short file, an executable, a debug companion, a file for another byte order. The text is
the loader's own. Also reported are files with which the loader aborts by assertion: versions needed
of a file that nothing loaded answers to, DT_RELR without its marker.

## Why it matters

Unlike a missing file, such a file is not passed over: later directories are not tried, even if they
hold a good copy. Nothing more can be said of that root.

## Example

```text
error[bad-library-file] lib/libfoo.so: invalid ELF header
    the loader is led to it by bin/app
```

## How to fix

Take the file out of the directory the loader searches, or the directory out of the search path.
Linker scripts belong where only the linker looks.

## Limits

The loader's text is that of an untranslated glibc. What the kernel would refuse later, while it
maps segments, is not foreseen.
";

fn check(query: &Query<'_>) -> Findings {
    let stopped = query.stopped().iter().map(|stop| {
        let mut finding = query.about(RULE.id, stop.file, stop.text.to_owned());
        // Where no file was opened (a directory in its place), the place itself is the fact.
        let path = Path::new(OsStr::from_bytes(&stop.object));
        let place = (!stop.opened).then(|| query.prefixes().locate(path).path);
        finding.detail = Some(match place {
            Some(place) => [place.as_os_str().as_bytes(), b": ", stop.text.as_bytes()].concat(),
            None => stop.text.as_bytes().to_vec(),
        });
        finding.cause = Some(CauseHint::DamagedFile);
        finding.root = query.first_root(&stop.roots);
        finding.when = Some(When::Load);
        finding.evidence.extend(query.roots(&stop.roots, Some(stop.site)));
        finding.evidence.push(Evidence::at(EvidenceKind::Tried, path.into()));
        finding.witness = query.quoted(stop.file).map(|file| format!("file {file}"));
        finding
    });
    let interpreters = missing_library::interpreters_with(query, RULE.id, |fault| match fault {
        InterpFault::NoLoader(text) => Some(format!("not a loader: {text}")),
        InterpFault::Absent | InterpFault::WrongArchitecture => None,
    });
    stopped.chain(refused(query)).chain(interpreters).collect()
}

/// Roots that a loader would not start from.
fn refused<'a>(query: &'a Query<'_>) -> impl Iterator<Item = Box<Finding>> + 'a {
    query.without_loader().iter().filter_map(|(file, why)| {
        let NoLoader::Refused(text) = why else { return None };
        let mut finding = query.about(RULE.id, *file, (*text).to_owned());
        finding.when = Some(When::Load);
        finding.root = Some(query.shared_path(*file));
        Some(finding)
    })
}
