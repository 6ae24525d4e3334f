//! `linkaudit gpu`: audits files with their device code, and shows the device code.

use super::exit::{self, Exit};
use super::run::AuditRun;
use super::views::show;
use super::{FailOn, GpuOptions, SharedOptions, baseline, message};
use crate::cli::plan::sinks;
use crate::format::gpu::TargetId;
use crate::plan::{GpuRequest, Plan};
use crate::tree::Tree;
use crate::views;
use crate::views::gpu::Gpu;
use anyhow::{Context as _, Result};

/// Runs `linkaudit gpu`. Fails for a `--target` that is not the name of a GPU target.
pub(super) fn gpu(shared: &SharedOptions, options: &GpuOptions) -> Result<Exit> {
    baseline::refuse(shared, "gpu")?;
    let parse = |text: &String| {
        TargetId::named(text).with_context(|| {
            let shown = crate::text::show(text.as_bytes());
            format!(
                "--target {shown}: not a GPU target\nhelp: name a processor, as rocminfo prints it: \
                 --target gfx1030"
            )
        })
    };
    let target = options.target.as_ref().map(parse).transpose()?;
    if let Some(target) = target.as_ref().filter(|target| !target.is_known()) {
        message::warning(&format!("--target {}: unknown processor", target.processor));
    }
    let request = GpuRequest { deep: options.deep, target };
    let sinks = || sinks(shared, "gpu", views::gpu::OUTPUTS);
    let plan = |plan| Plan { gpu: Some(request.clone()), ..plan };
    let make = |run: &mut AuditRun, _: &dyn Tree| Ok(Gpu::new(&run.audit, &run.plan));
    let status = |run: &AuditRun, view: &Gpu| match exit::of_gpu(&run.report, shared.fail_on) {
        Exit::Findings => Exit::Findings,
        _ if view.fails() && shared.fail_on != FailOn::Never => Exit::Findings,
        other => other,
    };
    show(shared, &options.paths, sinks, plan, make, status)
}
