//! `writable-code`: a segment is writable and executable.

use super::{Query, Rule};
use crate::catalogue::HARDENING;
use crate::finding::Findings;
use crate::format::elf::Role;
use object::elf;

pub(super) static RULE: Rule =
    Rule::new("writable-code", HARDENING, "a segment is writable and executable", DOCS, check)
        .keys(&[]);

const DOCS: &str = "\
## What it does

Reports programs and libraries with a PT_LOAD that is both writable and executable.

## Why it matters

Code that can be overwritten is an easy target. SELinux and other systems refuse to map such a segment.

## Example

```text
warning[writable-code] lib/libfoo.so: the segment at 0x0 is writable and executable
```

## How to fix

Remove `-Wl,-N` (`--omagic`) and linker scripts that put code and data into one segment. Assembler sections with
the flags `awx` need separate sections for code and data.

## Limits

Memory that a program makes executable while it runs is not known.
";

fn check(query: &Query<'_>) -> Findings {
    const BOTH: u32 = elf::PF_W.0 | elf::PF_X.0;
    let mut out = Findings::new();
    for (file, object) in query.audited_objects() {
        if !matches!(object.role, Role::Program | Role::Shared | Role::Static) {
            continue;
        }
        let mut loads = object.segments.iter().filter(|s| s.kind == elf::PT_LOAD.0);
        if let Some(load) = loads.find(|s| s.flags & BOTH == BOTH && s.memsz > 0) {
            let message = format!("the segment at {:#x} is writable and executable", load.vaddr);
            let mut finding = query.about(RULE.id, file, message);
            finding.witness =
                query.quoted(file).map(|file| format!("readelf -lW {file} | grep 'LOAD.*RWE'"));
            out.push(finding);
        }
    }
    out
}
