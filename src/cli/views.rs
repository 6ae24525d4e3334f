//! The commands `tree` and `why`: an audit as for `check`, of which one question is answered. What the
//! answers hold and how they look is in `crate::views`.

use super::exit::{self, Exit};
use super::plan::{Sinks, prepare, sinks};
use super::progress::Progress;
use super::run::{Run, walk};
use super::{FailOn, Shared, apart, baseline, out, threads};
use crate::plan::Plan;
use crate::report::Style;
use crate::report::model::Parts;
use crate::tree::Tree;
use crate::views::why::Why;
use crate::views::{self, Output};
use anyhow::{Context as _, Result};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Instant;

/// `linkaudit tree`
pub(super) fn tree(shared: &Shared, paths: &[PathBuf]) -> Result<Exit> {
    baseline::refuse(shared, "tree")?;
    let sinks = || sinks(shared, "tree", views::tree::OUTPUTS);
    let make = |run: &mut Run, _: &dyn Tree| views::tree::Tree::new(&mut run.audit, &run.plan);
    let status = |run: &Run, _: &_| exit::of_tree(&run.report, shared.fail_on);
    show(shared, paths, sinks, |plan| plan, make, status)
}

/// `linkaudit why`
pub(super) fn why(shared: &Shared, name: &OsStr, paths: &[PathBuf]) -> Result<Exit> {
    baseline::refuse(shared, "why")?;
    let sinks = || sinks(shared, "why", views::why::OUTPUTS);
    let plan = |plan| Plan { definitions: true, ..plan };
    let name = name.as_bytes();
    let make = |run: &mut Run, tree: &dyn Tree| Why::new(name, &mut run.audit, &run.plan, tree);
    let fails = |why: &Why| !why.is_known() && shared.fail_on != FailOn::Never;
    let status = |_: &Run, why: &Why| if fails(why) { Exit::Findings } else { Exit::Clean };
    show(shared, paths, sinks, plan, make, status)
}

/// Audits, makes a view of the audit, and writes that.
fn show<T: 'static>(
    shared: &Shared,
    paths: &[PathBuf],
    sinks: impl Fn() -> Result<Sinks<Output<T>>>,
    plan: impl Fn(Plan) -> Plan,
    make: impl Fn(&mut Run, &dyn Tree) -> T,
    status: impl Fn(&Run, &T) -> Exit,
) -> Result<Exit> {
    let start = Instant::now();
    let prepared = prepare(shared, paths)?;
    let sinks = sinks()?;
    apart::check(&prepared.plan, &*prepared.tree, shared, &[])?;
    prepared.refuse_other_files(shared, paths)?;
    prepared.say_what_is_assumed(shared);
    let mut plan = plan(Plan { facts: false, ..prepared.plan.clone() });
    threads::start(&mut plan);
    let progress = Progress::new(prepared.progress);
    let walked = walk(&plan, &*prepared.tree, &progress);
    let (tree, baselines) = (&*prepared.tree, &prepared.baselines);
    let mut run = Run::new(plan, tree, walked, baselines, Parts::default());
    run.require_elf(shared)?;
    let rendering = Instant::now();
    let view = make(&mut run, &*prepared.tree);
    drop(progress);
    write(&sinks, &run, &view, prepared.style)?;
    let status = status(&run, &view);
    run.finish(shared, rendering, start);
    Ok(status)
}

fn write<T: 'static>(sinks: &Sinks<Output<T>>, run: &Run, view: &T, style: Style) -> Result<()> {
    for (output, file) in &sinks.files {
        let shown = crate::text::show_path(file);
        out::file(file, |w| (output.render)(&run.subject(), view, style.plain(), w))
            .with_context(|| format!("{shown} cannot be written"))?;
    }
    out::stdout(|w| (sinks.stdout.render)(&run.subject(), view, style, w))
        .context("the report cannot be written")
}
