//! `gpu-target-missing`: device code does not serve the GPUs that the policy lists.

use super::demand::by_policy;
use super::{Query, Rule};
use crate::catalogue::GPU;
use crate::finding::{Finding, Findings, NOT_LISTED};
use crate::format::gpu::{SPIRV, TargetId};
use crate::gpu::compat::{blocked, coverage, members};
use crate::gpu::{DeviceCoverage, TargetCode, Unit};
use crate::wants::Wants;
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule::new(
    "gpu-target-missing",
    GPU,
    "device code lacks a GPU that the policy lists",
    DOCS,
    check,
)
.keys(&["target", "detail"])
.wants(Wants::DEVICE_CODE)
.asked_if(|plan| plan.policy.gpu.targets.as_ref().is_some_and(|(list, _)| !list.is_empty()));

const DOCS: &str = "\
## What it does

Checks each library with device code, and each directory of code objects, against `[gpu] targets` of the policy. Four
kinds of code serve a target: its own code, generic code of its family, SPIR-V, and code that the runtime of
`[gpu] loader` accepts for it. With `exact = true`, code for targets that the policy does not list is reported too; the
`detail` of such a finding is `not-listed`.

## Why it matters

A program that finds no code for the GPU fails at its first kernel launch: `hipErrorNoBinaryForGpu`, or `invalid
device function`. Some build systems silently ignore requested targets: composable_kernel with `INSTANCES_ONLY=ON`
builds its default list.

## Example

```text
error[gpu-target-missing] lib/libkernels.so: no code for gfx1030; has gfx900 gfx90a
```

## How to fix

Build the package again with the target in its list: `-DGPU_TARGETS=`, `-DAMDGPU_TARGETS=` or
`-DCMAKE_HIP_ARCHITECTURES=`.

## Limits

A library serves a target if any of its bundles does, and a static archive if any of its members does. Kernels that
are compiled at run time are not known.
";

fn check(query: &Query<'_>) -> Findings {
    let mut out = Findings::new();
    let gpu = &query.policy().gpu;
    let Some((listed, origin)) = &gpu.targets else { return out };
    let wanted: BTreeSet<TargetId> =
        listed.iter().filter_map(|text| TargetId::parse(text.as_bytes())).collect();
    let devices = query.devices();
    for unit in devices.units().into_iter().filter(|unit| query.is_audited_unit(*unit)) {
        let (offers, profile) = (devices.offers(unit), devices.profile(unit));
        for target in &wanted {
            let is_hidden = || blocked(target, &offers, profile).is_some();
            if coverage(target, &offers, profile) == DeviceCoverage::None && !is_hidden() {
                let message = format!("no code for {target}; has {}", words(&offers));
                out.push(finding(query, unit, target, message));
            }
        }
        if gpu.exact.as_ref().is_some_and(|(exact, _)| *exact) {
            let extra = offers.iter().filter(|offer| !serves_any(offer, &wanted));
            out.extend(extra.map(|offer| {
                let message =
                    format!("has code for {}, which the policy does not list", offer.target);
                let mut finding = finding(query, unit, &offer.target, message);
                finding.detail = Some(NOT_LISTED.as_bytes().to_vec());
                finding
            }));
        }
    }
    for finding in &mut out {
        by_policy(finding, "gpu targets".to_owned(), origin);
    }
    out
}

/// True if the offered code serves a listed target. Always true for SPIR-V, which is not specific
/// to one GPU.
fn serves_any(offer: &TargetCode, wanted: &BTreeSet<TargetId>) -> bool {
    let code = &*offer.target.processor;
    code == SPIRV
        || wanted.iter().any(|target| {
            let name = &*target.processor;
            (name == code || members(code).contains(&name)) && offer.target.settings_fit(target)
        })
}

/// The GPU targets of a file or data directory, as text.
pub(super) fn words(offers: &[TargetCode]) -> String {
    let own: Vec<String> = offers.iter().map(|offer| offer.target.to_string()).collect();
    own.join(" ")
}

fn finding(query: &Query<'_>, unit: Unit, target: &TargetId, message: String) -> Box<Finding> {
    let mut finding = Finding::new(RULE.id, query.locate_unit(unit), message);
    finding.target = Some(target.to_string().into_bytes());
    finding
}
