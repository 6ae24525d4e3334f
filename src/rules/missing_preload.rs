//! `missing-preload`: a library of LD_PRELOAD or ld.so.preload that the loader cannot load.

use super::{Query, Rule};
use crate::catalogue::{LIBRARY, Level};
use crate::finding::Findings;
use crate::id::RootId;
use crate::text::show;
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule::new(
    "missing-preload",
    LIBRARY,
    "the loader cannot preload a library and ignores it",
    DOCS,
    check,
)
.keys(&["library", "detail"])
.of_all_loaded()
.at(Level::Warning);

const DOCS: &str = "\
## What it does

Reports each entry of `--ld-preload` and of `/etc/ld.so.preload` that the loader cannot load. The `detail` of the
finding is `LD_PRELOAD` or `/etc/ld.so.preload`.

## Why it matters

The loader prints `ERROR: ld.so: object 'libfoo.so' from LD_PRELOAD cannot be preloaded (cannot open shared object
file): ignored.` The program runs without the library.

## Example

```text
warning[missing-preload] bin/app: LD_PRELOAD names libfoo.so, which the loader ignores: cannot open shared object file
```

## How to fix

Install the library, correct its name, or remove the entry. The loader searches for a name without a slash as it
searches for a needed library of the program.

## Limits

An entry has one finding for each reason, about the first program for which the loader ignores it. musl ignores such
an entry without a message, and linkaudit does not report it. LD_PRELOAD is not taken from the environment: use
`--ld-preload`.
";

/// One finding for each combination of name, list and the loader's reason.
fn check(query: &Query<'_>) -> Findings {
    let mut failures: BTreeMap<(&[u8], &str, &str), Vec<RootId>> = BTreeMap::new();
    for (root, closure) in query.entry_points() {
        for failure in closure.preload_failures() {
            let name = query.text(failure.name);
            failures.entry((name, failure.source, failure.text)).or_default().push(root);
        }
    }
    let finding = |((name, source, text), roots): ((&[u8], &str, &str), Vec<RootId>)| {
        let first = query.closure(*roots.first()?).root.file;
        let message = format!("{source} names {}, which the loader ignores: {text}", show(name));
        let mut finding = query.about(RULE.id, first, message);
        finding.library = Some(name.to_vec());
        finding.detail = Some(source.as_bytes().to_vec());
        finding.root = query.first_root(&roots);
        finding.evidence.extend(query.roots(&roots, None));
        Some(finding)
    };
    failures.into_iter().filter_map(finding).collect()
}
