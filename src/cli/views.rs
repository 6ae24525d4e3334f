//! The commands `tree` and `why`: an audit as for `check`, of which one question is answered. What the
//! answers hold and how they look is in `crate::views`.

use super::exit::{self, Exit};
use super::plan::{Prepared, Sinks, prepare, sinks};
use super::progress::Progress;
use super::run::{Run, start_threads};
use super::{Shared, out};
use crate::plan::Plan;
use crate::report::Style;
use crate::views::{self, Output};
use anyhow::{Context as _, Result};
use std::path::PathBuf;
use std::time::Instant;

/// `linkaudit tree`
pub(super) fn tree(shared: &Shared, paths: Vec<PathBuf>) -> Result<Exit> {
    let start = Instant::now();
    let Prepared { plan, levels, style, progress } = prepare(shared, paths)?;
    let sinks = sinks(shared, "tree", views::tree::OUTPUTS)?;
    start_threads(&plan);
    let progress = Progress::new(progress);
    let mut run = Run::new(Plan { facts: false, ..plan }, &levels, &progress);
    drop(progress);
    run.require_elf(shared)?;
    let rendering = Instant::now();
    let tree = views::tree::Tree::new(&mut run.audit, &run.plan);
    write(&sinks, &run, &tree, style)?;
    let status = exit::of_tree(&run.verdict, shared.fail_on);
    run.finish(shared, rendering, start);
    Ok(status)
}

fn write<T>(sinks: &Sinks<Output<T>>, run: &Run, view: &T, style: Style) -> Result<()> {
    for (output, file) in &sinks.files {
        let shown = crate::text::show_path(file);
        out::file(file, |w| (output.render)(&run.report(), view, style.plain(), w))
            .with_context(|| format!("{shown} cannot be written"))?;
    }
    out::stdout(|w| (sinks.stdout.render)(&run.report(), view, style, w))
        .context("the report cannot be written")
}
