//! `gpu-target-incoherent`: a library, or its data, serves fewer GPUs than the files that load it.

use super::gpu_target_missing::words;
use super::{Query, Rule};
use crate::catalogue::GPU;
use crate::finding::{Evidence, EvidenceKind, Finding, Findings};
use crate::format::gpu::TargetId;
use crate::gpu::compat::serves;
use crate::gpu::{Process, Unit};
use crate::id::{FileId, RootId};
use crate::wants::Wants;
use std::collections::{BTreeMap, BTreeSet};

pub(super) static RULE: Rule = Rule::new(
    "gpu-target-incoherent",
    GPU,
    "a library serves fewer GPUs than the code that needs it",
    DOCS,
    check,
)
.keys(&["target"])
.of_all_loaded()
.wants(Wants::DEVICE_CODE);

const DOCS: &str = "\
## What it does

A program or library with device code loads other libraries with device code, directly or through other libraries.
Each of these, and its data, must serve all GPUs that the loading file serves. One finding names the library and the
GPU; the entry points and the files that load it are its evidence.

## Why it matters

The program starts on such a GPU and fails later, in the library: `hipErrorNoBinaryForGpu`, or `Cannot read
TensileLibrary.dat: No such file or directory for GPU arch`. Gentoo's `ROCM_USEDEP` exists for this reason.

## Example

```text
error[gpu-target-incoherent] lib/librocblas.so.4: no code for gfx1030, which lib/libapp.so has; has gfx90a
```

## How to fix

Build the library again with the GPU in its list of targets, or remove the GPU from the targets of the code that
needs it.

## Limits

hipBLASLt and hipSPARSELt are not checked. Other libraries use these two only on the GPUs that they support, and fall
back to other libraries on all other GPUs. A library without device code, which compiles its kernels at run time, serves
every GPU. Libraries that are loaded with dlopen are not known.
";

/// Prefixes of the sonames of optional libraries. Other libraries call an optional library only on
/// GPUs for which that library has code.
const OPTIONAL: [&[u8]; 2] = [b"libhipblaslt.so", b"libhipsparselt.so"];

/// Keyed by a unit (a file or data directory) and a GPU target that the unit does not serve. The
/// value has the entry points, and the files that load the unit and have code for the target.
type Lacks = BTreeMap<(Unit, TargetId), (Vec<RootId>, BTreeSet<FileId>)>;

fn check(query: &Query<'_>) -> Findings {
    let mut lacks = Lacks::new();
    for process in &query.devices().processes {
        of_process(query, process, &mut lacks);
    }
    let mut out = Findings::new();
    for ((unit, target), (mut roots, users)) in lacks {
        roots.dedup();
        let offers = query.devices().offers(unit);
        let user = users.iter().next().map(|user| query.locate(*user));
        let user = user.map(|user| crate::text::show_path(&user.path)).unwrap_or_default();
        let has = if offers.is_empty() { "nothing".to_owned() } else { words(&offers) };
        let message = format!("no code for {target}, which {user} has; has {has}");
        let mut finding = Finding::new(RULE.id, query.locate_unit(unit), message);
        finding.target = Some(target.to_string().into_bytes());
        finding.root = query.first_root(&roots);
        finding.evidence.extend(query.roots(&roots, None));
        let evidence = |user: &FileId| Evidence {
            reason: Some(format!("has code for {target}")),
            ..Evidence::at(EvidenceKind::Reference, query.shared_path(*user))
        };
        finding.evidence.extend(users.iter().map(evidence));
        out.push(finding);
    }
    out
}

fn of_process(query: &Query<'_>, process: &Process, lacks: &mut Lacks) {
    let devices = query.devices();
    for (unit, users) in process.units.iter().filter(|(unit, _)| !is_optional(query, *unit)) {
        let offers = devices.offers(*unit);
        for user in users.iter().filter(|user| Unit::File(**user) != *unit) {
            for needed in devices.offers(Unit::File(*user)) {
                if !serves(&needed.target, &offers, process.profile) {
                    let target = TargetId::any(&needed.target.processor);
                    let (roots, files) = lacks.entry((*unit, target)).or_default();
                    roots.push(process.root);
                    files.insert(*user);
                }
            }
        }
    }
}

fn is_optional(query: &Query<'_>, unit: Unit) -> bool {
    let file = match unit {
        Unit::File(file) => Some(file),
        Unit::Data(set) => query.devices().sets.get(set).and_then(|set| set.library),
    };
    let soname = file.and_then(|file| query.facts(file).object()?.soname());
    soname.is_some_and(|name| OPTIONAL.iter().any(|start| name.starts_with(start)))
}
