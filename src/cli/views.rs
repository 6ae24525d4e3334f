//! The commands `tree` and `why`: they audit like `check`, and answer one question.

use super::exit::{self, Exit};
use super::plan::{Sinks, prepare, real_path, sinks};
use super::progress::Progress;
use super::run::{AuditRun, walk};
use super::{FailOn, SharedOptions, WhyOptions, baseline, out, output_conflicts};
use crate::plan::Plan;
use crate::report::model::Parts;
use crate::report::{Paths, Style};
use crate::rules::typeable;
use crate::tree::Tree;
use crate::views::why::{Under, Why};
use crate::views::{self, ViewOutput};
use anyhow::{Context as _, Result, bail};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Instant;

/// Runs `linkaudit tree`.
pub(super) fn tree(shared: &SharedOptions, paths: &[PathBuf]) -> Result<Exit> {
    baseline::refuse(shared, "tree")?;
    let sinks = || sinks(shared, "tree", views::tree::OUTPUTS);
    let make = |run: &mut AuditRun, _: &dyn Tree| {
        Ok(views::tree::LoadTree::new(&mut run.audit, &run.plan))
    };
    let status = |run: &AuditRun, _: &_| exit::of_tree(&run.report, shared.fail_on);
    show(shared, paths, sinks, |plan| plan, make, status)
}

/// Runs `linkaudit why`.
pub(super) fn why(shared: &SharedOptions, options: &WhyOptions) -> Result<Exit> {
    baseline::refuse(shared, "why")?;
    let name = options.name.as_bytes();
    if name.is_empty() {
        bail!("NAME is empty");
    }
    let is_listed = shared.files_from.is_some() || shared.nix_closure.is_some();
    if options.paths.is_empty() && !is_listed && shared.staged.is_empty() {
        let word = typeable(name).unwrap_or_else(|| "NAME".to_owned());
        bail!(
            "no PATH given to search for {}\nhelp: add a PATH: linkaudit why {word} /usr/lib",
            crate::text::show(name)
        );
    }
    let sinks = || sinks(shared, "why", views::why::OUTPUTS);
    let plan = |plan| Plan { definitions: true, ..plan };
    let make = |run: &mut AuditRun, tree: &dyn Tree| {
        let under = |entry: &PathBuf| {
            let real = real_path(shared, entry, tree);
            Under::find(entry, real.as_deref(), &run.audit).map_err(anyhow::Error::msg)
        };
        let under = options.under.as_ref().map(under).transpose()?;
        Ok(Why::new(name, under, &mut run.audit, &run.plan, tree))
    };
    let status = |run: &AuditRun, why: &Why| {
        exit::of_answer(&run.report, !why.is_known() && shared.fail_on != FailOn::Never)
    };
    show(shared, &options.paths, sinks, plan, make, status)
}

/// Audits `paths`, makes a view of the audit with `make`, and writes the view. `plan` changes the
/// plan before the audit, and `status` returns the exit status.
pub(super) fn show<T: 'static>(
    shared: &SharedOptions,
    paths: &[PathBuf],
    sinks: impl Fn() -> Result<Sinks<ViewOutput<T>>>,
    plan: impl Fn(Plan) -> Plan,
    make: impl Fn(&mut AuditRun, &dyn Tree) -> Result<T>,
    status: impl Fn(&AuditRun, &T) -> Exit,
) -> Result<Exit> {
    let start = Instant::now();
    let prepared = prepare(shared, paths)?;
    let sinks = sinks()?;
    output_conflicts::check(&prepared.plan, &*prepared.tree, shared, &[])?;
    prepared.refuse_other_files(shared, paths)?;
    prepared.say_what_is_assumed(shared);
    let plan = plan(Plan { facts: false, ..prepared.plan.clone() });
    let progress = Progress::new(prepared.progress);
    let walked = walk(&plan, &*prepared.tree, &progress);
    let (tree, baselines) = (&*prepared.tree, &prepared.baselines);
    let mut run = AuditRun::new(plan, tree, walked, baselines, Parts::default());
    run.require_elf(shared)?;
    output_conflicts::after(&run.audit, shared, &[])?;
    let rendering = Instant::now();
    let view = make(&mut run, &*prepared.tree)?;
    drop(progress);
    write(&sinks, &run, &view, (prepared.style, &prepared.paths))?;
    let status = status(&run, &view);
    run.finish(shared, rendering, start);
    Ok(status)
}

fn write<T: 'static>(
    sinks: &Sinks<ViewOutput<T>>,
    run: &AuditRun,
    view: &T,
    (style, paths): (Style, &Paths),
) -> Result<()> {
    let subject = run.subject(paths);
    for (output, file) in &sinks.files {
        let shown = crate::text::show_path(file);
        out::file(file, |w| (output.render)(&subject, view, style.plain(), w))
            .with_context(|| format!("cannot write {shown}"))?;
    }
    out::stdout(|w| (sinks.stdout.render)(&subject, view, style, w))
        .context("cannot write the report to stdout")
}
