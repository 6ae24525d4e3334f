//! `text-relocations`: the loader must write to read-only segments to relocate a file.

use super::{Query, Rule};
use crate::catalogue::HARDENING;
use crate::finding::Findings;

pub(super) static RULE: Rule = Rule::new(
    "text-relocations",
    HARDENING,
    "relocations modify read-only parts of a file",
    DOCS,
    check,
)
.keys(&[]);

const DOCS: &str = "\
## What it does

Reports objects with DT_TEXTREL or DF_TEXTREL: some relocations lie in segments that are not writable.

## Why it matters

The loader makes the code writable while it relocates it, and each process gets its own copy of the changed
pages. SELinux forbids that (`execmod`), and musl and Android refuse such files.

## Example

```text
warning[text-relocations] lib/libfoo.so: relocations modify read-only segments (DT_TEXTREL)
```

## How to fix

Compile all code of a library with `-fPIC`, and that of a program with `-fPIE`. Assembler sources must use the
GOT or PC-relative addresses. With `-Wl,-z,text`, such a link fails.

## Limits

The rule trusts the flag that the linker set. It does not read the relocations themselves.
";

fn check(query: &Query<'_>) -> Findings {
    let marked = query.audited_objects().filter(|(_, object)| object.textrel);
    marked
        .map(|(file, _)| {
            let message = "relocations modify read-only segments (DT_TEXTREL)".to_owned();
            let mut finding = query.about(RULE.id, file, message);
            finding.witness =
                query.quoted(file).map(|file| format!("readelf -d {file} | grep TEXTREL"));
            finding
        })
        .collect()
}
