//! `missing-relro`: data that only relocations change stays writable.

use super::{Query, Rule};
use crate::catalogue::HARDENING;
use crate::finding::Findings;
use object::elf;

pub(super) static RULE: Rule =
    Rule::new("missing-relro", HARDENING, "relocated data stays writable", DOCS, check).keys(&[]);

const DOCS: &str = "\
## What it does

Reports programs and libraries with a dynamic section and a writable segment, but without PT_GNU_RELRO.

## Why it matters

With PT_GNU_RELRO, the loader makes vtables, the dynamic section and parts of the GOT read-only after it has
relocated them. Without it, an attacker who can write to memory can change them.

## Example

```text
warning[missing-relro] lib/libfoo.so: has no PT_GNU_RELRO
```

## How to fix

Link with `-Wl,-z,relro`; most compilers do so by default. `-Wl,-z,now` in addition makes the whole GOT
read-only.

## Limits

Lazy binding (`-z lazy`), which leaves a part of the GOT writable, is not reported. Static programs are not
checked.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (file, object) in query.audited_objects().filter(|(_, object)| object.is_dynamic()) {
        let has_relro = object.segments.iter().any(|s| s.kind == elf::PT_GNU_RELRO.0);
        let is_writable = |s: &&crate::format::elf::Segment| {
            s.kind == elf::PT_LOAD.0 && s.flags & elf::PF_W.0 != 0
        };
        if !has_relro && object.segments.iter().any(|s| is_writable(&s)) {
            let mut finding = query.about(RULE.id, file, "has no PT_GNU_RELRO".to_owned());
            finding.witness =
                query.quoted(file).map(|file| format!("readelf -lW {file} | grep GNU_RELRO"));
            out.push(finding);
        }
    }
    out
}
