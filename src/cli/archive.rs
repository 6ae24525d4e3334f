//! The command `archive`: reads the archives, the places to look for more and what is linked, asks
//! one question, and writes the answer; with `--order` also the tables that lld writes.

use super::exit::Exit;
use super::plan::{Prepared, prepare_with, sinks};
use super::progress::Progress;
use super::run::{Run, walk};
use super::{ArchiveOptions, FailOn, Shared, baseline, out, output_conflicts, scripts};
use crate::cover::{Output, OutputKind};
use crate::plan::Plan;
use crate::report::model::Parts;
use crate::text::show_path;
use crate::views::archive::{Archive, Asked, OUTPUTS, lld};
use anyhow::{Context as _, Result, bail};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// `linkaudit archive`
pub(super) fn archive(shared: &Shared, options: &ArchiveOptions) -> Result<Exit> {
    let start = Instant::now();
    baseline::refuse(shared, "archive")?;
    if options.archives.is_empty() {
        bail!(
            "no archive given\nhelp: name one: linkaudit archive libfoo.a --from /usr/lib --root-object libbar.so"
        );
    }
    if options.root_object.is_empty() && options.root_symbol.is_empty() && !options.all_members {
        bail!(
            "nothing that links the archive was given\nhelp: add --root-object FILE (a shared library, \
             program or object) or --root-symbol NAME, or list every reference with --all-members"
        );
    }
    let order = options.order.as_deref().unwrap_or_default();
    let typed: Vec<PathBuf> =
        options.archives.iter().chain(&options.root_object).cloned().collect();
    let places: Vec<PathBuf> = order.iter().chain(&options.from).cloned().collect();
    let tables = options.why_extract.iter().chain(&options.archive_stats);
    let tables: Vec<&Path> = tables.map(PathBuf::as_path).collect();
    let prepared = prepare_with(shared, &typed, &places, &tables)?;
    let sinks = sinks(shared, "archive", OUTPUTS)?;
    prepared.say_what_is_assumed(shared);
    output_conflicts::check(&prepared.plan, &*prepared.tree, shared, &tables)?;
    let (asked, plan) = ask(options, &prepared)?;
    // What linker scripts name is read too.
    output_conflicts::check(&plan, &*prepared.tree, shared, &tables)?;
    let progress = Progress::new(prepared.progress);
    let walked = walk(&plan, &*prepared.tree, &progress);
    let run = Run::new(plan, &*prepared.tree, walked, &prepared.baselines, Parts::default());
    let rendering = Instant::now();
    let view = Archive::new(&run.audit, &*prepared.tree, &asked).map_err(anyhow::Error::msg)?;
    drop(progress);
    for (output, file) in &sinks.files {
        write(file, |w| (output.render)(&run.subject(), &view, prepared.style.plain(), w))?;
    }
    let library = &run.audit.library;
    if let Some(file) = &options.why_extract {
        write(file, |w| lld::why_extract(&view, library, w))?;
    }
    if let Some(file) = &options.archive_stats {
        write(file, |w| lld::archive_stats(&view, library, w))?;
    }
    out::stdout(|w| (sinks.stdout.render)(&run.subject(), &view, prepared.style, w))
        .context("cannot write the answer to stdout")?;
    let fails = view.fails() && shared.fail_on != FailOn::Never;
    let status = match (fails, view.is_complete(run.report.complete)) {
        (true, _) => Exit::Findings,
        (false, false) => Exit::Incomplete,
        (false, true) => Exit::Clean,
    };
    run.finish(shared, rendering, start);
    Ok(status)
}

/// The question, and the plan of the audit that it is asked of; linker scripts are replaced by
/// what they name.
fn ask(options: &ArchiveOptions, prepared: &Prepared) -> Result<(Asked, Plan)> {
    let order = options.order.as_ref().map_or(0, Vec::len);
    let (archives, objects) = prepared.plan.paths.split_at(options.archives.len());
    let (order, places) = prepared.plan.lib_paths.split_at(order);
    let archives = scripts::expand(&*prepared.tree, archives, places)?;
    let order = scripts::expand(&*prepared.tree, order, places)?;
    let symbols: Vec<Box<[u8]>> =
        options.root_symbol.iter().map(|name| name.as_bytes().into()).collect();
    let plan = Plan {
        paths: archives.iter().chain(objects).cloned().collect(),
        lib_paths: order.iter().chain(places).cloned().collect(),
        facts: false,
        definitions: true,
        members: true,
        symbols: symbols.clone(),
        ..prepared.plan.clone()
    };
    let tables = options.why_extract.is_some() || options.archive_stats.is_some();
    let asked = Asked {
        archives,
        // lld's tables are about an order: that of the archives as typed.
        order: (options.order.is_some() || tables).then_some(order),
        objects: objects.to_vec(),
        symbols,
        all_members: options.all_members,
        output: output(options),
    };
    Ok((asked, plan))
}

/// The kind of output file.
fn output(options: &ArchiveOptions) -> Output {
    let kind = match (options.shared, options.pie) {
        (true, _) => OutputKind::Shared,
        (false, true) => OutputKind::Pie,
        (false, false) => OutputKind::Any,
    };
    Output { kind, linker: None }
}

fn write(file: &Path, render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    out::file(file, render).with_context(|| format!("cannot write {}", show_path(file)))
}
