//! `gpu-object-mismatch`: device code whose parts contradict each other, or that is damaged.

use super::{Query, Rule};
use crate::catalogue::GPU;
use crate::finding::{CauseHint, Finding, Findings};
use crate::format::gpu::{CodeObject, ContainerEntry, ContainerKind, DeviceCode, TargetId};
use crate::gpu::{data, is_host, offers};
use crate::id::FileId;
use crate::text::show;
use crate::wants::Wants;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;

pub(super) static RULE: Rule = Rule::new(
    "gpu-object-mismatch",
    GPU,
    "device code is damaged or contradicts itself",
    DOCS,
    check,
)
.keys(&["target", "member", "detail"])
.wants(Wants::DEVICE_CODE);

const DOCS: &str = "\
## What it does

Reads the device code in programs and libraries and in separate code objects and bundles, and reports
contradictions:

- between the target in the id of a bundle entry and the ELF header or the notes of the code object
- between the name of a file and its content
- between the bundles and the wrappers that register them with the runtime

It also reports impossible sizes, unknown versions, entries without a code object, generic code without a version, and
metadata that the runtime cannot read. In the databases of MIOpen (`*.kdb`, `*.db`) and rocFFT
(`rocfft_kernel_cache*.db`), it reports damaged headers.

## Why it matters

The runtime selects code by the id of its bundle entry and then checks the ELF header. If they differ, it finds
no code, or runs the wrong code. A kernel whose name in the metadata is a boolean (an assembler read `Y` as
true) makes the runtime reject the whole code object. SQLite refuses a database that lacks pages which its header
counts.

## Example

```text
error[gpu-object-mismatch] lib/libkernels.so: the entry for gfx1030 holds code for gfx90a
error[gpu-object-mismatch] lib/kernels.co: the container at 0x0 has an impossible size in its header
error[gpu-object-mismatch] share/miopen/db/gfx90a.kdb: has fewer bytes than the pages in its header
```

## How to fix

Build the file again, or copy it again if it was cut. In assembly, quote names in metadata.

## Limits

`check` does not inflate compressed bundles: it reads their headers and their tables of entries. `linkaudit gpu
--deep` inflates them, and compares checksums, ELF headers and notes. GPUs that LLVM 23 does not know are not
compared. `linkaudit gpu` reads members of static archives; `check` reads them if the policy lists targets.
Only the headers of databases are read. An empty file is a valid database, and a missing one is not reported: MIOpen and
rocFFT compile kernels that they do not find.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    for (file, code) in &query.devices().files {
        for fault in &code.faults {
            let text = |what: &str| match &fault.entry {
                Some(entry) => {
                    let entry = show(entry);
                    format!("the entry {entry} of the container at {:#x} {what}", fault.offset)
                }
                None => format!("the container at {:#x} {what}", fault.offset),
            };
            let mut finding = damage(query, *file, text(fault.what));
            finding.message = text(sentence(fault.what));
            finding.member = fault.member.as_deref().map(<[u8]>::to_vec);
            out.push(finding);
        }
        out.extend(entries(query, *file, code));
        out.extend(name(query, *file, code));
    }
    for database in &query.devices().databases {
        let Some(Err(defect)) = database.header else { continue };
        let mut finding = query.about_text(RULE.id, &database.path, defect.to_owned());
        finding.detail = Some(defect.as_bytes().to_vec());
        finding.cause = Some(CauseHint::DamagedFile);
        out.push(finding);
    }
    out
}

/// The current wording of the defect `what`, for messages. `detail` keeps the old wording, which is
/// part of fingerprints.
fn sentence(what: &str) -> &str {
    match what {
        "is larger by its header than the space it has" => "has an impossible size in its header",
        "has another sum than its header states" => "has another checksum than its header states",
        other => other,
    }
}

fn damage(query: &Query<'_>, file: FileId, what: String) -> Box<Finding> {
    let mut finding = query.about(RULE.id, file, what.clone());
    finding.detail = Some(what.into_bytes());
    finding.cause = Some(CauseHint::DamagedFile);
    finding
}

/// The text of a contradiction, and the GPU in the id of the bundle entry; `None` if the id names
/// no AMD GPU.
type Contradiction = (String, Option<TargetId>);
/// The number of entries with the same contradiction, and the archive member of the first of these
/// entries.
type TargetContradictions<'a> = (usize, Option<&'a [u8]>);

/// Findings about bundle entries that contradict the code in them, and about defects of that code.
/// If several bundles of a file have the same contradiction, they share one finding, which names
/// the first archive member.
fn entries(query: &Query<'_>, file: FileId, code: &DeviceCode) -> Findings {
    let mut told: BTreeMap<Contradiction, TargetContradictions<'_>> = BTreeMap::new();
    for container in &code.containers {
        for entry in &container.entries {
            let Some(object) = &entry.code else { continue };
            for what in contradictions(entry, object) {
                let first = (0, container.member.as_deref());
                told.entry((what, entry.target_id())).or_insert(first).0 += 1;
            }
        }
    }
    let finding = |((what, target), (count, member)): (Contradiction, TargetContradictions<'_>)| {
        let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
        let mut finding = query.about(RULE.id, file, format!("{what}{times}"));
        finding.target = target.map(|target| target.to_string().into_bytes());
        finding.member = member.map(<[u8]>::to_vec);
        finding.detail = Some(what.into_bytes());
        finding.cause = Some(CauseHint::DamagedFile);
        finding
    };
    told.into_iter().map(finding).collect()
}

fn contradictions(entry: &ContainerEntry, object: &CodeObject) -> Vec<String> {
    let mut out = Vec::new();
    let subject = match entry.target() {
        Some(target) => format!("the entry for {}", show(target)),
        None => "a code object".to_owned(),
    };
    let agrees = |one: &TargetId, other: &TargetId| {
        one.processor == other.processor && one.settings_fit(other)
    };
    let (id, flags) = (entry.target_id(), object.target.as_ref());
    if let (Some(id), Some(flags)) = (&id, flags)
        && !agrees(id, flags)
    {
        out.push(format!("{subject} holds code for {flags}"));
    }
    // ROCR refuses generic code of a version below 1.
    if flags.is_some_and(TargetId::is_generic) && object.generic_version == 0 {
        out.push(format!("{subject} holds generic code without a version, which runtimes refuse"));
    }
    if let Some(metadata) = &object.metadata {
        if metadata.target_id().is_none() && !metadata.target.is_empty() {
            out.push(format!("{subject} has notes for {}", show(&metadata.target)));
        }
        if let (Some(noted), Some(flags)) = (metadata.target_id(), flags)
            && !agrees(&noted, flags)
        {
            out.push(format!("{subject} has notes for {noted} and an ELF header for {flags}"));
        }
        if metadata.bad_names > 0 {
            let count = metadata.bad_names;
            let names =
                if count == 1 { "name that is not a string" } else { "names that are not strings" };
            out.push(format!("{subject} has metadata with {count} {names}"));
        }
    }
    out.extend(object.defect.map(|defect| format!("{subject} {defect}")));
    out
}

/// A finding if the file name of a standalone code object or bundle names a GPU target for which
/// the file has no code.
fn name(query: &Query<'_>, file: FileId, code: &DeviceCode) -> Option<Box<Finding>> {
    let name = query.path(file).file_name()?.as_bytes();
    // A kpack file may be named after a family of GPUs.
    let is_kpack = code.containers.iter().any(|container| container.kind == ContainerKind::Kpack);
    let target = data::target_of(name).filter(|_| !is_host(code) && !is_kpack)?;
    let offers = offers(code);
    let has = offers.iter().any(|offer| offer.target.processor == target.processor);
    if has || offers.is_empty() {
        return None;
    }
    let own: Vec<String> = offers.iter().map(|offer| offer.target.to_string()).collect();
    let what = format!("has the name of {target} and code for {}", own.join(" "));
    let mut finding = damage(query, file, what);
    finding.target = Some(target.to_string().into_bytes());
    Some(finding)
}
