//! `gpu-bundle-unloadable`: device code in a format that the HIP runtime of the process cannot
//! read.

use super::{Query, Rule};
use crate::catalogue::GPU;
use crate::finding::{Evidence, EvidenceKind, Finding, Findings};
use crate::format::gpu::{Container, ContainerEntry, ContainerKind, DeviceCode, TargetId};
use crate::gpu::compat::blocked;
use crate::gpu::{Process, Profile, Runtime, Unit};
use crate::id::{FileId, RootId};
use crate::wants::Wants;
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule::new(
    "gpu-bundle-unloadable",
    GPU,
    "the HIP runtime cannot load device code in this format",
    DOCS,
    check,
)
.keys(&["target", "member", "detail"])
.of_all_loaded()
.wants(Wants::DEVICE_CODE);

const DOCS: &str = "\
## What it does

Compares the bundles of each program and library with the version of the HIP runtime (libamdhip64) that the same
process loads:

- compressed bundles under a runtime up to 6.0, which does not know them
- compressed bundles of version 1 under 6.2 and 6.3, which read the size in the header wrongly
- compressed bundles of version 3 under upstream's runtime before 7.0
- generic targets in compressed bundles under 6.4
- code objects of version 6, such as all generic ones, under a runtime up to 6.0
- for targets of the policy: code for a similar GPU in a compressed bundle. The runtimes of distributions accept
  such code only outside of compressed bundles
- the magic number `CCOB` inside a compressed payload (a warning): LLVM's readers without a fix of 2026 take it
  for the next bundle

## Why it matters

Programs link and load. The first kernel launch fails with `hipErrorInvalidKernelFile` or
`hipErrorNoBinaryForGpu`, or the process crashes.

## Example

```text
error[gpu-bundle-unloadable] lib/libkernels.so: 12 compressed bundles (version 2): HIP runtime 6.0 does not
read compressed bundles
```

## How to fix

Build with `--no-offload-compress` (in CMake, the package's option for compression), or use a newer runtime. For old
runtimes, you can also build with `COMPRESSED_BUNDLE_FORMAT_VERSION=2` in the environment.

## Limits

The rule takes the version from the file name of libamdhip64: `libamdhip64.so.6.2.41134`. The name may give only a
major version, or a release between two known ones, such as 6.1. The rule then reports only what is certain. It knows
a distributor's patches to the runtime only from the profile in `[gpu] loader` of the policy.
";

fn check(query: &Query<'_>) -> Findings {
    let mut found: BTreeMap<(FileId, String), (Vec<RootId>, Option<Runtime>)> = BTreeMap::new();
    let devices = query.devices();
    for process in &devices.processes {
        for (unit, _) in &process.units {
            let Unit::File(file) = unit else { continue };
            let Some(code) = devices.files.get(file) else { continue };
            let Some(runtime) = process.runtime else { continue };
            for what in unloadable(code, process, runtime) {
                let entry = found.entry((*file, what)).or_default();
                entry.0.push(process.root);
                entry.1 = Some(runtime);
            }
        }
    }
    let mut out = Findings::new();
    for ((file, what), (roots, runtime)) in found {
        let mut finding = query.about(RULE.id, file, what.clone());
        finding.detail = Some(what.into_bytes());
        finding.root = query.first_root(&roots);
        finding.evidence.extend(query.roots(&roots, None));
        if let Some(runtime) = runtime {
            let path = query.shared_path(runtime.file);
            finding.evidence.push(Evidence::at(EvidenceKind::Provider, path));
        }
        out.push(finding);
    }
    out.extend(devices.files.iter().filter_map(|(file, code)| magic(query, *file, code)));
    out.extend(hidden(query));
    out
}

/// One message for each format that the runtime cannot read, among the formats of a file's device
/// code.
fn unloadable(code: &DeviceCode, process: &Process, runtime: Runtime) -> Vec<String> {
    let mut forms: BTreeMap<String, usize> = BTreeMap::new();
    let mut out = Vec::new();
    // LLVM has read code objects of version 6 since 02/2024, after ROCm 6.0.
    if runtime.is_at_most(6, 0) {
        let objects = code.containers.iter().flat_map(|container| &container.entries);
        let is_new =
            |entry: &&ContainerEntry| entry.code.as_ref().is_some_and(|code| code.version >= 6);
        let count = objects.filter(is_new).count();
        if count > 0 {
            let objects = if count == 1 { "code object" } else { "code objects" };
            let name = runtime.version_text();
            out.push(format!("{count} {objects} of version 6: {name} reads versions up to 5"));
        }
    }
    for container in
        code.containers.iter().filter(|container| container.kind == ContainerKind::Ccob)
    {
        if let Some(why) = refused(container, process.profile, runtime) {
            let version = container.version.unwrap_or(0);
            let text = format!("(version {version}): {} {why}", runtime.version_text());
            *forms.entry(text).or_default() += 1;
        }
    }
    let text = |(text, count): (String, usize)| {
        let bundles = if count == 1 { "bundle" } else { "bundles" };
        format!("{count} compressed {bundles} {text}")
    };
    out.extend(forms.into_iter().map(text));
    out
}

/// The reason why a runtime cannot read a compressed bundle. `None` if the runtime can read the
/// bundle. Also `None` if neither the runtime's profile nor the version in the runtime's file name
/// shows that the runtime cannot read it. Source: the code of clr and comgr in each release.
fn refused(container: &Container, profile: Profile, runtime: Runtime) -> Option<&'static str> {
    let is_generic =
        || container.entries.iter().filter_map(ContainerEntry::target_id).any(|id| id.is_generic());
    // clr up to ROCm 6.0 reads a compressed bundle as an ELF file (NixOS/nixpkgs#299589).
    if runtime.is_at_most(6, 0) {
        return Some("does not read compressed bundles");
    }
    let is_62_or_63 = runtime.is_at_least(6, 2) && runtime.is_at_most(6, 3);
    match container.version {
        Some(1) if is_62_or_63 => Some("reads the size of version 1 wrongly"),
        // LLVM has read version 3 since 01/2025 (llvm/llvm-project#122307), after ROCm 6.4.
        // Distributions link the runtime with another release of LLVM, so only upstream's runtime
        // is checked.
        Some(3) if runtime.is_at_most(6, 4) && profile == Profile::Stock => {
            Some("reads versions 1 and 2")
        }
        // See ROCm/legacy-rocm-build#4602.
        _ if runtime.is_at_least(6, 4) && runtime.is_at_most(6, 4) && is_generic() => {
            Some("finds no generic code in compressed bundles")
        }
        _ => None,
    }
}

/// A finding about a compressed payload that contains the magic number of a bundle (`CCOB`). It is
/// at most a warning, because LLVM's readers with the fix of 2026 accept the payload.
fn magic(query: &Query<'_>, file: FileId, code: &DeviceCode) -> Option<Box<Finding>> {
    let (container, inside) =
        code.containers.iter().find_map(|container| Some((container, container.magic_inside?)))?;
    let at = container.offset;
    let message = format!(
        "the compressed bundle at {at:#x} has the bytes CCOB at {inside:#x} of its payload, where LLVM's \
         readers without the fix of 2026 expect the next bundle"
    );
    let mut finding = query.about(RULE.id, file, message);
    finding.member = container.member.as_deref().map(<[u8]>::to_vec);
    finding.detail = Some(format!("CCOB inside the bundle at {at:#x}").into_bytes());
    finding.mild = true;
    Some(finding)
}

/// Findings about files that serve a GPU target of the policy only with code for a similar GPU, in
/// a compressed bundle. A patched runtime accepts such code, but does not look for it in compressed
/// bundles.
fn hidden(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    let Some((targets, _)) = &query.policy().gpu.targets else { return out };
    let devices = query.devices();
    for unit in devices.units().into_iter().filter(|unit| query.is_audited_unit(*unit)) {
        let (offers, profile) = (devices.offers(unit), devices.profile(unit));
        for target in targets.iter().filter_map(|text| TargetId::parse(text.as_bytes())) {
            let Some(offer) = blocked(&target, &offers, profile) else { continue };
            let message = format!(
                "the code for {}, which the {} runtime accepts for {target}, is in a compressed bundle, where \
                 that runtime does not look for it",
                offer.target,
                profile.name()
            );
            let mut finding = Finding::new(RULE.id, query.locate_unit(unit), message);
            finding.target = Some(target.to_string().into_bytes());
            out.push(finding);
        }
    }
    out
}
