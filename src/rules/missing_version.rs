//! `missing-version`: a needed version that the library does not define.

use super::words::typeable;
use super::{Query, Rule};
use crate::catalogue::LIBRARY;
use crate::finding::{Evidence, EvidenceKind, Findings, When};
use crate::text::{show, show_path};

pub(super) static RULE: Rule = Rule::new(
    "missing-version",
    LIBRARY,
    "a library does not define a needed symbol version",
    DOCS,
    check,
)
.keys(&["version", "library"])
.of_all_loaded();

const DOCS: &str = "\
## What it does

Compares every version that an object needs of a library (`.gnu.version_r`) with the versions that the
library defines (`.gnu.version_d`). The library is the file that the loader takes.

## Why it matters

The program does not start: ``version `GLIBC_2.38' not found (required by …)``. The usual cause is a program
that was built on a newer system, or an older copy of a library that the loader finds first.

## Example

```text
error[missing-version] bin/app: version GLIBC_2.38: not found in /lib/x86_64-linux-gnu/libc.so.6
```

## How to fix

Build against the older library, or change the search path so that the loader finds the newer one.

## Limits

Weak needs, and needs of libraries without versions, are not reported: the loader prints a warning at most.
";

fn check(query: &Query<'_>) -> Findings {
    let versions = &query.missing_versions();
    versions
        .iter()
        .map(|missing| {
            let provider = query.path(missing.provider);
            let message =
                format!("version {}: not found in {}", show(&missing.version), show_path(provider));
            let mut finding = query.about(RULE.id, missing.file, message);
            finding.version = Some(missing.version.clone());
            finding.library = query
                .view()
                .object(missing.provider)
                .and_then(|object| object.soname().map(<[u8]>::to_vec));
            finding.root = query.first_root(&missing.roots);
            finding.when = Some(When::Load);
            finding.evidence.extend(query.roots(&missing.roots, Some(missing.site)));
            finding
                .evidence
                .push(Evidence::at(EvidenceKind::Provider, query.shared_path(missing.provider)));
            let words = query.quoted(missing.provider).zip(typeable(&missing.version));
            finding.witness =
                words.map(|(file, name)| format!("readelf -V {file} | grep -w {name}"));
            finding
        })
        .collect()
}
