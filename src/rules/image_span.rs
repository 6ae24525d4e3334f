//! `image-span`: an object whose size is near or above the reach of 32-bit displacements.

use super::{Query, Rule};
use crate::catalogue::SIZE;
use crate::finding::{Evidence, EvidenceKind, Findings, LARGEST};
use crate::format::elf::sections::{LARGE, span};
use crate::format::elf::{Object, Section, Segment};
use crate::text::show;
use object::elf;

pub(super) static RULE: Rule = Rule::new(
    "image-span",
    SIZE,
    "an object is near or above the 2 GiB that its code can address",
    DOCS,
    check,
)
.keys(&[]);

/// The reach of a signed 32-bit displacement, in bytes.
const REACH: u64 = 1 << 31;
/// Maximum number of sections or segments that a finding names.
const MOST: usize = 3;

const DOCS: &str = "\
## What it does

Reports x86-64 objects whose loaded segments span at least 1.5 GiB. Names the largest sections, how far code and data
are apart, and which sections hold code for GPUs. Large sections, such as `.lbss` of `-mcmodel=medium`, do not count:
code reaches them with 64-bit addresses (`SHF_X86_64_LARGE`).

## Why it matters

Code of the small and medium code models reaches data with signed 32-bit displacements. If the image grows past
2 GiB, its next link fails: `relocation R_X86_64_PC32 out of range`. An object near that limit stops linking as
soon as a few more kernels or GPU targets are added.

## Example

```text
warning[image-span] lib/libkernels.so: spans 1945 MiB, 94 % of the 2 GiB that its code can reach; code and
data are up to 1940 MiB apart
  largest    the section .hip_fatbin at 0x200000: 1800 MiB of GPU code
```

## How to fix

Split the library. For GPU code, build for fewer targets, compress the code objects (`--offload-compress`) or
keep them in files beside the library. `-mcmodel=medium` and `.ldata` sections lift the limit for data, at the cost
of larger code.

## Limits

The reported distance is the largest between code and any other section, because a linked object does not record
which data its code refers to. Without section headers, the report names segments, and large sections count.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (file, object) in query.audited_objects() {
        let is_x86_64 = object.header.machine == elf::EM_X86_64.0;
        let Some(span) = reached(object).filter(|span| is_x86_64 && *span >= LARGE) else {
            continue;
        };
        let share = u128::from(span) * 100 / u128::from(REACH);
        let apart = apart(&object.sections)
            .map(|bytes| format!("; code and data are up to {} MiB apart", bytes >> 20));
        let message = format!(
            "spans {} MiB, {share} % of the 2 GiB that its code can reach{}",
            span >> 20,
            apart.unwrap_or_default()
        );
        let mut finding = query.about(RULE.id, file, message);
        finding.evidence.extend(largest(object).into_iter().map(|text| {
            let evidence = Evidence::new(EvidenceKind::Reference);
            Evidence { reason: Some(text), how: Some(LARGEST.into()), ..evidence }
        }));
        let tool = if object.sections.is_empty() { "readelf -lW" } else { "readelf -SW" };
        finding.witness = query.quoted(file).map(|file| format!("{tool} {file}"));
        out.push(finding);
    }
    out
}

/// The sections without `SHF_X86_64_LARGE`: code reaches them with 32-bit displacements.
fn near(sections: &[Section]) -> impl Iterator<Item = &Section> {
    sections.iter().filter(|section| !section.is_far)
}

/// Bytes from the start of the first to the end of the last [`near`] section. If no section has
/// `SHF_X86_64_LARGE`, the span of the segments. `None` if the object has no such sections or
/// segments.
fn reached(object: &Object) -> Option<u64> {
    let sections = &object.sections;
    if near(sections).count() == sections.len() {
        return span(object);
    }
    let first = near(sections).map(|section| section.address).min()?;
    near(sections).map(Section::end).max()?.checked_sub(first)
}

/// Descriptions of the largest sections without `SHF_X86_64_LARGE`, or of the largest segments if
/// the object has no known sections.
fn largest(object: &Object) -> Vec<String> {
    let mut parts: Vec<(u64, String)> = Vec::new();
    for section in near(&object.sections) {
        let (name, mib) = (show(&section.name), section.size >> 20);
        let device = if is_device(&section.name) { " of GPU code" } else { "" };
        let text = format!("the section {name} at {:#x}: {mib} MiB{device}", section.address);
        parts.push((section.size, text));
    }
    let loads = object.segments.iter().filter(|s| s.kind == elf::PT_LOAD.0);
    for load in loads.filter(|_| object.sections.is_empty()) {
        let (kind, mib) = (kind(load), load.memsz >> 20);
        parts.push((load.memsz, format!("the {kind} segment at {:#x}: {mib} MiB", load.vaddr)));
    }
    parts.retain(|(size, _)| size >> 20 > 0);
    parts.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    parts.truncate(MOST);
    parts.into_iter().map(|(_, text)| text).collect()
}

/// The largest distance between code and data in [`near`] sections, in bytes: from the start of one
/// to the end of the other. `None` without code or without data.
fn apart(sections: &[Section]) -> Option<u64> {
    let extent = |is_code: bool| {
        let some = || near(sections).filter(move |section| section.is_code == is_code);
        Some((some().map(|s| s.address).min()?, some().map(Section::end).max()?))
    };
    let (code, data) = (extent(true)?, extent(false)?);
    Some(data.1.saturating_sub(code.0).max(code.1.saturating_sub(data.0)))
}

/// True for the names of sections with GPU code (HIP, CUDA, LLVM's offloading).
fn is_device(name: &[u8]) -> bool {
    [&b".hip_fatbin"[..], b".nv_fatbin", b"__nv_relfatbin", b".llvm.offloading"].contains(&name)
}

fn kind(load: &Segment) -> &'static str {
    match (load.flags & elf::PF_X.0 != 0, load.flags & elf::PF_W.0 != 0) {
        (true, _) => "code",
        (false, true) => "writable",
        (false, false) => "read-only",
    }
}
