//! `truncated-file`: a file ends before the end of its section headers. The rule reads the file
//! header, not the section headers.

use super::{Query, Rule};
use crate::catalogue::INTEGRITY;
use crate::finding::{CauseHint, Findings};
use crate::format::elf::Role;

pub(super) static RULE: Rule = Rule::new(
    "truncated-file",
    INTEGRITY,
    "an ELF file ends before its section headers",
    DOCS,
    check,
)
.keys(&[]);

const DOCS: &str = "\
## What it does

Compares the size of the file with the end of the section headers, as given in the ELF header. Section headers
are the last part of nearly every ELF file. Their content is not read.

## Why it matters

The loader does not need section headers and starts such a file. But the file is incomplete: a download or a
copy ended early, or the disk was full. Debuggers, `strip`, `objcopy` and package tools fail on it.

## Example

```text
warning[truncated-file] lib/libfoo.so: ends at 15000 bytes, its section headers at 15632
```

## How to fix

Build or copy the file again. A tool that removes section headers must set `e_shoff` to 0.

## Limits

A file without section headers (`e_shoff` is 0) cannot be checked. If a file also lacks parts that the loader
reads, `malformed` reports it instead. `malformed` also reports truncated relocatable objects, because their
section headers are essential.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (file, facts) in query.files() {
        let Some(object) = facts.object().filter(|object| object.role != Role::Relocatable) else {
            continue;
        };
        let ((_, end), len) = (object.header.sections, facts.stat.len);
        let is_cut = facts.all_defects().any(|defect| defect.end.is_some());
        if !facts.audited || facts.foreign().is_some() || end <= len || is_cut {
            continue;
        }
        let message = format!("ends at {len} bytes, its section headers at {end}");
        let mut finding = query.about(RULE.id, file, message);
        finding.cause = Some(CauseHint::DamagedFile);
        out.push(finding);
    }
    out
}
