//! `image-span`: an object that is so large that 32-bit displacements hardly reach across it.

use super::{Query, Rule};
use crate::catalogue::SIZE;
use crate::finding::{Evidence, EvidenceKind, Findings};
use crate::format::elf::{Object, Role, Segment};
use object::elf;

pub(super) static RULE: Rule =
    Rule::new("image-span", SIZE, "an object is near the 2 GiB reach of its code", DOCS, check)
        .keys(&[]);

/// The reach of a signed 32-bit displacement, in bytes.
const REACH: u64 = 1 << 31;
/// The share of it, in percent, from which an object is reported.
const NEAR: u64 = 75;

const DOCS: &str = "\
## What it does

Reports x86-64 objects whose loaded segments span at least 1.5 GiB, and names the largest segments.

## Why it matters

Code of the small and medium code models reaches data with signed 32-bit displacements. If the image grows past
2 GiB, its next link fails: `relocation R_X86_64_PC32 out of range`. An object near that limit stops linking as
soon as a few more kernels or GPU targets are added.

## Example

```text
warning[image-span] lib/libkernels.so: spans 1945 MiB, 94 % of the 2 GiB that its code can reach
```

## How to fix

Split the library. For GPU code, build for fewer targets, compress the code objects (`--offload-compress`) or
keep them in files beside the library. `-mcmodel=large` and `.ldata` sections move data out of reach of the
limit, at a cost.

## Limits

The span counts, not the displacements in the code. Sections are not read, so the page of a segment does not name
its parts.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (file, object) in query.audited_objects() {
        let Some(span) = span(object).filter(|span| *span >= REACH / 100 * NEAR) else { continue };
        let share = u128::from(span) * 100 / u128::from(REACH);
        let message =
            format!("spans {} MiB, {share} % of the 2 GiB that its code can reach", span >> 20);
        let mut finding = query.about(RULE.id, file, message);
        let mut loads: Vec<&Segment> = loads(object).collect();
        loads.sort_by_key(|load| std::cmp::Reverse((load.memsz, load.vaddr)));
        for load in loads.into_iter().take(3) {
            let text = format!(
                "the {} segment at {:#x}: {} MiB",
                kind(load),
                load.vaddr,
                load.memsz >> 20
            );
            let evidence = Evidence::new(EvidenceKind::Reference);
            finding.evidence.push(Evidence { reason: Some(text), ..evidence });
        }
        finding.witness = query.quoted(file).map(|file| format!("readelf -lW {file}"));
        out.push(finding);
    }
    out
}

fn loads(object: &Object) -> impl Iterator<Item = &Segment> {
    object.segments.iter().filter(|s| s.kind == elf::PT_LOAD.0)
}

/// Bytes from the first to the last loaded address.
fn span(object: &Object) -> Option<u64> {
    let is_code = matches!(object.role, Role::Program | Role::Shared | Role::Static);
    if !is_code || object.header.machine != elf::EM_X86_64.0 {
        return None;
    }
    let first = loads(object).map(|s| s.vaddr).min()?;
    let last = loads(object).map(|s| s.vaddr.saturating_add(s.memsz)).max()?;
    last.checked_sub(first)
}

fn kind(load: &Segment) -> &'static str {
    match (load.flags & elf::PF_X.0 != 0, load.flags & elf::PF_W.0 != 0) {
        (true, _) => "code",
        (false, true) => "writable",
        (false, false) => "read-only",
    }
}
