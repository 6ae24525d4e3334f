//! The command `check`: audits the given files and writes the requested reports.

use super::exit::{self, Exit};
use super::plan::{Prepared, Sinks, prepare, sinks};
use super::progress::Progress;
use super::run::{AuditRun, walk};
use super::{FailOn, SharedOptions, baseline, out, output_conflicts};
use crate::plan::{FixRequest, Plan};
use crate::report::model::Parts;
use crate::report::{MadeOf, OUTPUTS, Output, Paths, Rendering, Style};
use anyhow::{Context as _, Result};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Runs `linkaudit` or `linkaudit check`: writes the reports, and returns the exit status.
pub(super) fn check(shared: &SharedOptions, paths: &[PathBuf]) -> Result<Exit> {
    let start = Instant::now();
    let prepared = prepare(shared, paths)?;
    let sinks = sinks(shared, "check", OUTPUTS)?;
    output_conflicts::check(&prepared.plan, &*prepared.tree, shared, &[])?;
    prepared.refuse_other_files(shared, paths)?;
    prepared.say_what_is_assumed(shared);
    let Prepared { plan, baselines, .. } = &prepared;
    let tree = &*prepared.tree;
    let mut progress = Progress::new(prepared.progress);
    let mut walked = Some(walk(plan, tree, &progress));
    let mut status = Exit::Clean;
    // Outputs of link maps (`ldd`) treat every file as an entry point. They get a second run of
    // their own, because this run reads files that the other outputs must not show.
    for every_file_is_root in [false, true] {
        let Some(share) = Share::of(&sinks, every_file_is_root, plan) else { continue };
        let Some(ground) = walked.take() else { break };
        let request = FixRequest { merged_only: true, ..FixRequest::default() };
        let plan = Plan { every_file_is_root, fix: Some(Arc::new(request)), ..plan.clone() };
        let run = AuditRun::new(plan, tree, ground, baselines, share.parts(prepared.style));
        progress.end();
        run.require_elf(shared)?;
        output_conflicts::after(&run.audit, shared, &[])?;
        let rendering = Instant::now();
        share.write(&run, prepared.style, &prepared.paths)?;
        if let Some(stdout) = share.stdout {
            status = finish(shared, &prepared, &run)?;
            if status == Exit::Clean
                && stdout.is_of_link_maps()
                && shared.fail_on != FailOn::Never
                && lacks_link_map(&run, paths)
            {
                status = Exit::Findings;
            }
        }
        if share.is_last {
            run.finish(shared, rendering, start);
        } else {
            walked = Some(run.into_walked());
        }
    }
    Ok(status)
}

/// Writes the file of `--write-baseline`, and returns the exit status of the run. Reports stale
/// lines of `--baseline` on stderr if the output on stdout does not show them.
fn finish(shared: &SharedOptions, prepared: &Prepared, run: &AuditRun) -> Result<Exit> {
    let baselines = &prepared.baselines;
    baseline::write(shared, run.rewrite.as_ref())?;
    let is_for_people = OUTPUTS.iter().any(|o| o.name == shared.format && o.for_people);
    if let Some(known) = baselines.known().filter(|known| known.waives && !is_for_people) {
        baseline::say_stale(&run.report, &known);
    }
    Ok(match exit::of(&run.report, shared.fail_on) {
        _ if run.report.stale.iter().any(|line| prepared.style.fails(line)) => Exit::Findings,
        status => status,
    })
}

/// True if a PATH has no link map. `ldd` exits with 1 for a PATH without a link map, and so does a
/// run that writes link maps to stdout.
fn lacks_link_map(run: &AuditRun, paths: &[PathBuf]) -> bool {
    let listing = &run.audit.listing;
    listing.iter().any(|(path, root)| root.is_none() && paths.contains(path))
}

/// The outputs that one run writes.
struct Share<'a> {
    stdout: Option<&'static Output>,
    files: Vec<&'a (&'static Output, PathBuf)>,
    /// True if no other run follows.
    is_last: bool,
}

impl<'a> Share<'a> {
    /// The outputs that need an audit with this value of `every_file_is_root`; `None` if there are
    /// none.
    fn of(sinks: &'a Sinks<Output>, every_file_is_root: bool, plan: &Plan) -> Option<Self> {
        let every = |output: &Output| plan.as_ldd || output.is_of_link_maps();
        let is_here = |output: &Output| every(output) == every_file_is_root;
        let files: Vec<_> = sinks.files.iter().filter(|(output, _)| is_here(output)).collect();
        let stdout = Some(sinks.stdout).filter(|output| is_here(output));
        let all = sinks.files.len() + 1;
        let here = files.len() + usize::from(stdout.is_some());
        let is_last = every_file_is_root || here == all;
        (here > 0).then_some(Self { stdout, files, is_last })
    }

    fn parts(&self, style: Style) -> Parts {
        let files = self.files.iter().map(|(output, _)| *output);
        let parts = files.chain(self.stdout).map(|output| output.parts(style));
        parts.fold(Parts::default(), Parts::and)
    }

    fn write(&self, run: &AuditRun, style: Style, paths: &Paths) -> Result<()> {
        for (output, file) in &self.files {
            let shown = crate::text::show_path(file);
            out::file(file, |w| render(output, run, style.plain(), paths, w))
                .with_context(|| format!("cannot write {shown}"))?;
        }
        let Some(output) = self.stdout else { return Ok(()) };
        out::stdout(|w| render(output, run, style, paths, w))
            .context("cannot write the report to stdout")
    }
}

/// Writes one output of a run.
pub(super) fn render(
    output: &Output,
    run: &AuditRun,
    style: Style,
    paths: &Paths,
    out: &mut dyn Write,
) -> io::Result<()> {
    match output.made_of {
        MadeOf::Report { render, .. } => {
            run.with_facts(|facts| render(&run.report, &Rendering { style, paths, facts }, out))
        }
        MadeOf::LinkMaps(render) => render(&run.audit, out),
    }
}
