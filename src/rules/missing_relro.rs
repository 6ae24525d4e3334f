//! `missing-relro`: data that only relocations change stays writable.

use super::{Query, Rule};
use crate::catalogue::HARDENING;
use crate::finding::Findings;
use crate::format::elf::Segment;
use object::elf;

pub(super) static RULE: Rule =
    Rule::new("missing-relro", HARDENING, "relocated data stays writable", DOCS, check).keys(&[]);

const DOCS: &str = "\
## What it does

Reports programs and libraries with a dynamic section and a writable segment, but without PT_GNU_RELRO. A PT_GNU_RELRO
that begins and ends in one page counts as absent: the loader rounds both addresses down to a page, and protects
nothing.

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

/// The smallest page size, in bytes. If the data covers no end of a page of this size, it covers no
/// end of a larger page, and the loader protects nothing.
const PAGE: u64 = 4096;

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (file, object) in query.audited_objects().filter(|(_, object)| object.is_dynamic()) {
        let is_writable = |s: &Segment| s.kind == elf::PT_LOAD.0 && s.flags & elf::PF_W.0 != 0;
        // If there are several headers, loaders use the last.
        let relro = object.segments.iter().rfind(|s| s.kind == elf::PT_GNU_RELRO.0);
        let message = match relro {
            None => "has no PT_GNU_RELRO",
            Some(relro) if protects_any(relro) => continue,
            Some(_) => "its PT_GNU_RELRO ends in the page where it begins: nothing is protected",
        };
        if object.segments.iter().any(is_writable) {
            let mut finding = query.about(RULE.id, file, message.to_owned());
            finding.witness =
                query.quoted(file).map(|file| format!("readelf -lW {file} | grep GNU_RELRO"));
            out.push(finding);
        }
    }
    out
}

/// True if a loader makes a page of `relro` read-only (`_dl_protect_relro`).
fn protects_any(relro: &Segment) -> bool {
    relro.vaddr / PAGE != relro.vaddr.wrapping_add(relro.memsz) / PAGE
}

#[cfg(test)]
mod tests {
    use super::protects_any;
    use crate::format::elf::Segment;
    use object::elf;

    #[test]
    fn a_part_of_one_page_protects_nothing() {
        let cases = [
            (0x3db0, 0x250, true),
            (0x3db0, 0x24f, false),
            (0x3000, 0x1000, true),
            (0x3000, 0xfff, false),
            (0x3db0, 0, false),
        ];
        for (vaddr, memsz, expected) in cases {
            let relro = Segment {
                kind: elf::PT_GNU_RELRO.0,
                flags: elf::PF_R.0,
                vaddr,
                filesz: memsz,
                memsz,
            };
            assert_eq!(protects_any(&relro), expected, "{vaddr:#x} {memsz:#x}");
        }
    }
}
