//! `missing-version`: a needed version that the library does not define.

use super::words::typeable;
use super::{Context, Rule};
use crate::catalogue::LIBRARY;
use crate::finding::{Evidence, EvidenceKind, Findings, When};
use crate::text::{show, show_path};

pub(super) static RULE: Rule = Rule {
    id: "missing-version",
    group: LIBRARY,
    summary: "a library does not define a version that is needed of it",
    docs: DOCS,
    check,
};

const DOCS: &str = "\
## What it does

Compares every version that an object needs of a library (`.gnu.version_r`) with the versions that
the library defines (`.gnu.version_d`), for the library that the loader really takes.

## Why it matters

The program does not start: `version 'GLIBC_2.38' not found (required by …)`. The usual cause is a
program built on a newer system, or an older copy of a library that is found first.

## Example

```text
error[missing-version] bin/app needs version GLIBC_2.38 of /lib/x86_64-linux-gnu/libc.so.6
```

## How to fix

Build against the older library, or let the search path lead to the newer one.

## Limits

Weak needs and libraries without any versions only make the loader print a message; they are not
reported.
";

fn check(context: &Context<'_>) -> Findings {
    let versions = &context.audit.blame.versions;
    versions
        .iter()
        .map(|missing| {
            let provider = context.path(missing.provider);
            let message = format!(
                "needs version {} of {}, which does not define it",
                show(&missing.version),
                show_path(provider)
            );
            let mut finding = context.about(RULE.id, missing.file, message);
            finding.version = Some(missing.version.clone());
            finding.library = context
                .view()
                .object(missing.provider)
                .and_then(|object| object.soname().map(<[u8]>::to_vec));
            finding.root = context.first_root(&missing.roots);
            finding.when = Some(When::Load);
            finding.evidence.extend(context.roots(&missing.roots, Some(missing.site)));
            finding
                .evidence
                .push(Evidence::at(EvidenceKind::Provider, context.shared_path(missing.provider)));
            let words = context.quoted(missing.provider).zip(typeable(&missing.version));
            finding.witness =
                words.map(|(file, name)| format!("readelf -V {file} | grep -w {name}"));
            finding
        })
        .collect()
}
