//! The command `check`: audits what was given and writes the reports that were asked for.

use super::exit::{self, Exit};
use super::plan::{Prepared, Sinks, prepare, sinks};
use super::progress::Progress;
use super::run::{Run, start_threads};
use super::{Shared, apart, baseline, out};
use crate::plan::{FixRequest, Plan};
use crate::report::{OUTPUTS, Output};
use anyhow::{Context as _, Result};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// `linkaudit` and `linkaudit check`
pub(super) fn check(shared: &Shared, paths: &[PathBuf]) -> Result<Exit> {
    let start = Instant::now();
    let prepared = prepare(shared, paths)?;
    let Sinks { stdout, files } = sinks(shared, "check", OUTPUTS)?;
    let Prepared { plan, tree, levels, baselines, style, .. } = &prepared;
    apart::check(plan, tree, shared, &[])?;
    prepared.say_what_is_assumed(shared);
    start_threads(plan);
    let progress = Progress::new(prepared.progress);
    // An output for which every file is a root must not change what the others say.
    let every = |output: &Output| plan.as_ldd || output.every_file_is_root;
    let request = Some(Arc::new(FixRequest { merged_only: true, ..FixRequest::default() }));
    let run = |every_file_is_root| {
        let fix = request.clone();
        let plan = Plan { every_file_is_root, fix, ..plan.clone() };
        Run::new(plan, tree, levels, baselines, &progress)
    };
    let main = run(every(stdout));
    let other = files.iter().any(|(output, _)| every(output) != every(stdout));
    let other = other.then(|| run(!every(stdout)));
    drop(progress);
    main.require_elf(shared)?;
    let rendering = Instant::now();
    for (output, file) in &files {
        let shown = crate::text::show_path(file);
        let same = every(output) == every(stdout);
        let run = if same { &main } else { other.as_ref().unwrap_or(&main) };
        out::file(file, |w| (output.render)(&run.report(), style.plain(), w))
            .with_context(|| format!("{shown} cannot be written"))?;
    }
    out::stdout(|w| (stdout.render)(&main.report(), *style, w))
        .context("the report cannot be written")?;
    baselines.write(shared, &main.verdict, &main.sonames)?;
    if let Some(known) = baselines.known().filter(|known| known.waives && !stdout.for_people) {
        baseline::say_stale(&main.verdict, &known);
    }
    let status = match exit::of(&main.verdict, shared.fail_on) {
        _ if shared.fail_on_stale && !main.verdict.stale.is_empty() => Exit::Findings,
        status => status,
    };
    std::mem::forget(other);
    main.finish(shared, rendering, start);
    Ok(status)
}
