//! The command `fix`: audits files, attaches fixes to the findings, and writes the fixes in files
//! for other tools. This module opens the outputs; `crate::emit` makes their contents.

use super::check::render;
use super::exit::{self, Exit};
use super::plan::{prepare_with, real_path, refuse_stdout, sinks_of};
use super::progress::Progress;
use super::run::{AuditRun, walk};
use super::{FixOptions, SharedOptions, baseline, lists, message, out, output_conflicts, scripts};
use crate::emit::{EMITTERS, Emission, Emitter};
use crate::fix::propose::Proposal;
use crate::plan::{FixRequest, MergedFrom, Plan, Which};
use crate::report::model::Parts;
use crate::report::{OUTPUTS, Output, Paths, Style, fix_plan};
use crate::text::{did_you_mean, show, show_path};
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The destinations of all outputs.
struct Sinks {
    /// The emitter that writes to stdout; `None` if stdout gets a report.
    emitted: Option<&'static Emitter>,
    report: &'static Output,
    emitters: Vec<(&'static Emitter, PathBuf)>,
    reports: Vec<(&'static Output, PathBuf)>,
}

impl Sinks {
    /// The parts of the report that the outputs need besides findings. The human format on stdout
    /// shows only a summary of the fixes, and needs none of these parts.
    fn parts(&self, style: Style) -> Parts {
        let files = self.reports.iter().map(|(output, _)| *output);
        let stdout = Some(self.report).filter(|report| report.name != "human");
        let parts = files.chain(stdout).map(|output| output.parts(style));
        let emitters = self.emitted.into_iter().chain(self.emitters.iter().map(|(one, _)| *one));
        let files = emitters.into_iter().any(|emitter| emitter.needs_files);
        let own = Parts { files, ..Parts::default() };
        parts.fold(own, Parts::and)
    }
}

/// Runs `linkaudit fix`: writes the fixes and reports, and returns the exit status.
pub(super) fn fix(shared: &SharedOptions, options: &FixOptions) -> Result<Exit> {
    let start = Instant::now();
    baseline::refuse(shared, "fix")?;
    let sinks = sinks(shared, options)?;
    let all = || sinks.emitted.iter().chain(sinks.emitters.iter().map(|(emitter, _)| emitter));
    let list = match &options.deps_list {
        Some(file) => Some((file, lists::read(file).map_err(anyhow::Error::msg)?)),
        None => None,
    };
    let places: Vec<PathBuf> = options.archive.iter().cloned().collect();
    let prepared = prepare_with(shared, &options.paths, &places, &[])?;
    prepared.say_what_is_assumed(shared);
    let archive = options.archive.as_ref().and_then(|_| prepared.plan.lib_paths.first().cloned());
    // `--deps-list` replaces the lists that policies name.
    let lists = match list {
        None => Arc::clone(&prepared.plan.lists),
        Some((path, list)) => {
            let which = archive.clone().map_or(Which::Found, Which::File);
            let entries = prepared.plan.policy.archives.iter();
            let mut from: Vec<_> = entries.flat_map(|entry| entry.from.clone()).collect();
            lists::translate(&mut from, |dir| real_path(shared, dir, &*prepared.tree));
            Arc::new(vec![MergedFrom { which, path: path.clone(), list: Ok(list), from }])
        }
    };
    if let Some(emitter) = all().find(|emitter| emitter.needs_list && lists.is_empty()) {
        bail!("{}: no list of archives to change\nhelp: add --deps-list FILE", emitter.name);
    }
    let request = FixRequest {
        archive,
        must_find: options.minimal || all().any(|emitter| emitter.needs_archive),
        minimal: options.minimal,
        merged_only: false,
        is_list_named: options.deps_list.is_some() || all().any(|emitter| emitter.needs_list),
    };
    let plan = Plan {
        facts: false,
        members: true,
        lists,
        fix: Some(Arc::new(request)),
        ..prepared.plan.clone()
    };
    output_conflicts::check(&plan, &*prepared.tree, shared, &[])?;
    prepared.refuse_other_files(shared, &options.paths)?;
    let progress = Progress::new(prepared.progress);
    let mut walked = walk(&plan, &*prepared.tree, &progress);
    let named = scripts::named(&*prepared.tree, walked.scripts(), &plan.lib_paths);
    output_conflicts::apart_from(&*prepared.tree, shared, &[], named.all())?;
    walked.add_providers(&plan, &*prepared.tree, &named.files);
    let parts = sinks.parts(prepared.style);
    let mut run = AuditRun::new(plan, &*prepared.tree, walked, &prepared.baselines, parts);
    drop(progress);
    run.require_elf(shared)?;
    output_conflicts::after(&run.audit, shared, &[])?;
    let rendering = Instant::now();
    let proposal = run.proposal.take().unwrap_or_else(|| Ok(Proposal::default()));
    let proposal = proposal.map_err(anyhow::Error::msg)?;
    let whole = write(shared, &sinks, &run, &proposal, (prepared.style, &prepared.paths))?;
    let status = exit::of_fix(&run.report, shared.fail_on, whole);
    run.finish(shared, rendering, start);
    Ok(status)
}

/// The destinations that the options request. Fails for an unknown name, or if two outputs would go
/// to stdout.
fn sinks(shared: &SharedOptions, options: &FixOptions) -> Result<Sinks> {
    let emitter = |name: &str| EMITTERS.iter().find(|emitter| emitter.name == name);
    // `sinks_of` refuses a pair without a file.
    let is_emitter = |pair: &&String| {
        let named = pair.split_once('=').filter(|(_, file)| !file.is_empty());
        named.is_some_and(|(name, _)| emitter(name).is_some())
    };
    let (ours, theirs): (Vec<String>, Vec<String>) =
        shared.output.iter().cloned().partition(|pair| is_emitter(&pair));
    let names: Vec<&str> = EMITTERS.iter().map(|emitter| emitter.name).collect();
    let reports = sinks_of((&shared.format, &theirs), "fix", OUTPUTS, &names)?;
    let mut emitters = Vec::new();
    for (name, file) in ours.iter().filter_map(|pair| pair.split_once('=')) {
        refuse_stdout((name, file), "--emit")?;
        emitters.extend(emitter(name).map(|emitter| (emitter, PathBuf::from(file))));
    }
    let mut emitted = None;
    for name in &options.emit {
        let found = emitter(name).with_context(|| {
            let all = "list the emitters: linkaudit fix --help";
            let right = did_you_mean(name, names.iter().copied(), all);
            format!("unknown emitter `{name}`\nhelp: {right}")
        })?;
        if emitters.iter().any(|(emitter, _)| emitter.name == found.name) {
            continue;
        }
        if emitted.replace(found).is_some_and(|other| other.name != found.name) {
            bail!(
                "only one emitter can write to stdout\nhelp: give each other emitter a file: -o NAME=FILE"
            );
        }
    }
    if let Some(emitter) = emitted.filter(|_| shared.format != "human") {
        let (format, name) = (&shared.format, emitter.name);
        bail!("--format {format} and --emit {name} both write to stdout\nhelp: use -o {name}=FILE");
    }
    Ok(Sinks { emitted, report: reports.stdout, emitters, reports: reports.files })
}

/// Writes all outputs. Returns false if a format could not represent a name.
fn write(
    shared: &SharedOptions,
    sinks: &Sinks,
    run: &AuditRun,
    proposal: &Proposal,
    (style, paths): (Style, &Paths),
) -> Result<bool> {
    let emission = Emission { remedy: &proposal.remedy, report: &run.report, paths };
    let mut whole = true;
    let mut emit = |emitter: &Emitter| {
        let emitted = (emitter.render)(&emission);
        for refused in &emitted.refused {
            whole = false;
            let (name, reason) = (show(&refused.name), refused.reason);
            message::warning(&format!("{}: {name} {reason}", emitter.name));
        }
        emitted.bytes
    };
    for (emitter, file) in &sinks.emitters {
        let bytes = emit(emitter);
        out::file(file, |w| w.write_all(&bytes))
            .with_context(|| format!("cannot write {}", show_path(file)))?;
    }
    for (output, file) in &sinks.reports {
        out::file(file, |w| render(output, run, style.plain(), paths, w))
            .with_context(|| format!("cannot write {}", show_path(file)))?;
    }
    match sinks.emitted {
        Some(emitter) => {
            let bytes = emit(emitter);
            if bytes.is_empty() && !shared.quiet {
                message::fact(&format!("{}: nothing to change", emitter.name));
            }
            let bytes = if out::is_terminal() { shown(&bytes) } else { bytes };
            out::stdout(|w| w.write_all(&bytes)).context("cannot write the fix to stdout")?;
            if !shared.quiet {
                let _ =
                    fix_plan::write(proposal, &run.report, (style, paths), &mut std::io::stderr());
            }
        }
        None => out::stdout(|w| {
            if sinks.report.name == "human" {
                return fix_plan::write(proposal, &run.report, (style, paths), w);
            }
            render(sinks.report, run, style, paths, w)
        })
        .context("cannot write the report to stdout")?,
    }
    Ok(whole)
}

/// The output of an emitter with control bytes escaped, for a terminal.
fn shown(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.split(|b| *b == b'\n').map(show).collect::<Vec<_>>();
    lines.join("\n").into_bytes()
}
