//! Carries out one command. It strings the stages together and knows no rule of its own.

use super::baseline::{self, Baselines};
use super::exit::{self, Exit};
use super::plan::{Prepared, Sinks, prepare, sinks};
use super::progress::Progress;
use super::{Cli, Command, Shared, archive, demo, fix, out, policy, views};
use crate::audit::{self, Audit};
use crate::catalogue;
use crate::facts::FileFacts;
use crate::fix::propose::{Proposal, propose};
use crate::fix::solve::Solved;
use crate::judge::{Judging, Levels, Scope, Sonames, Verdict, judge};
use crate::plan::FixRequest;
use crate::plan::Plan;
use crate::report::{OUTPUTS, Output, Report};
use crate::rules::{self, RULES};
use crate::tree::DiskTree;
use anyhow::{Context as _, Result, bail};
use comfy_table::{ContentArrangement, Table, presets};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Runs the command that was typed.
pub fn run(cli: Cli) -> Result<Exit> {
    match cli.command {
        None => check(&cli.shared, &cli.paths),
        Some(Command::Check { paths }) => check(&cli.shared, &paths),
        Some(Command::Tree { paths }) => views::tree(&cli.shared, &paths),
        Some(Command::Why { name, paths }) => views::why(&cli.shared, &name, &paths),
        Some(Command::Archive(options)) => archive::archive(&cli.shared, &options),
        Some(Command::Demo { dir }) => {
            only_human(&cli.shared, "demo")?;
            demo::demo(&cli.shared, dir.as_deref())
        }
        Some(Command::Fix(options)) => fix::fix(&cli.shared, &options),
        Some(Command::Policy { command }) => {
            only_human(&cli.shared, "policy")?;
            policy::run(&cli.shared, &command)
        }
        Some(Command::Explain { rule }) => {
            only_human(&cli.shared, "explain")?;
            match rule {
                Some(rule) => explain(&rule),
                None => explain_all(),
            }
        }
    }
}

/// A command that writes for people refuses other outputs.
fn only_human(shared: &Shared, command: &str) -> Result<()> {
    let outputs = shared.output.iter().filter_map(|pair| pair.split('=').next());
    if let Some(name) = outputs.chain([&*shared.format]).find(|name| *name != "human") {
        bail!("`{command}` has no output `{name}`; there is human");
    }
    Ok(())
}

/// One audit with its judged findings.
pub(super) struct Run {
    pub(super) plan: Plan,
    pub(super) audit: Audit,
    pub(super) verdict: Verdict,
    sonames: Sonames,
    /// What would make findings go away, if the plan asks for it.
    pub(super) proposal: Option<Result<Proposal, String>>,
}

impl Run {
    pub(super) fn new(
        plan: Plan,
        tree: &DiskTree,
        levels: &Levels,
        baselines: &Baselines,
        progress: &Progress,
    ) -> Self {
        let start = Instant::now();
        let input = audit::read_disk(&plan, tree, progress.seen());
        let walked = start.elapsed();
        let mut audit = audit::audit(&plan, tree, input);
        audit.timings.insert(0, ("walk and read", walked));
        let judging = Instant::now();
        let solved = Solved::default();
        let mut findings = rules::check(&mut audit, &plan, &solved);
        let proposal = plan
            .fix
            .clone()
            .map(|request| propose(&mut audit, &plan, tree, &request, (&mut findings, &solved)));
        let soname = |f: &FileFacts| f.object().and_then(|o| o.soname()).map(<[u8]>::to_vec);
        let files = audit.corpus.files.iter().map(|f| (&*f.path, soname(f)));
        let sonames = Sonames::new(files);
        let known = baselines.known();
        let scope = if known.is_some() || !plan.policy.waivers.is_empty() {
            Scope::of(&audit, &sonames, &plan)
        } else {
            Scope::default()
        };
        let (policy, today) = (&*plan.policy, plan.today);
        let how = Judging { levels, policy, today, known, scope: &scope, sonames: &sonames };
        let verdict = judge(findings, &how);
        audit.timings.push(("rules", judging.elapsed()));
        Self { plan, audit, verdict, sonames, proposal }
    }

    pub(super) fn report(&self) -> Report<'_> {
        Report { audit: &self.audit, verdict: &self.verdict, plan: &self.plan }
    }

    /// With `--require-elf`, a run that met nothing to audit is a mistake.
    pub(super) fn require_elf(&self, shared: &Shared) -> Result<()> {
        let totals = &self.audit.totals;
        if shared.require_elf && totals.elf + totals.archives + totals.partial == 0 {
            bail!(
                "there is nothing to audit: 0 ELF files and archives in {} entries",
                totals.entries()
            );
        }
        Ok(())
    }

    /// The report took so long: the last figure of `--timings`.
    pub(super) fn finish(mut self, shared: &Shared, rendering: Instant, start: Instant) {
        self.audit.timings.push(("report", rendering.elapsed()));
        if shared.timings {
            timings(&self.audit, start);
        }
        // The process ends: giving every fact back to the allocator would only take time.
        std::mem::forget(self);
    }
}

/// Threads for a run. A pool that exists already is as good; this only happens in tests.
pub(super) fn start_threads(plan: &Plan) {
    let _ = rayon::ThreadPoolBuilder::new().num_threads(plan.threads).build_global();
}

fn check(shared: &Shared, paths: &[PathBuf]) -> Result<Exit> {
    let start = Instant::now();
    let prepared = prepare(shared, paths)?;
    let Sinks { stdout, files } = sinks(shared, "check", OUTPUTS)?;
    let Prepared { plan, tree, levels, baselines, style, .. } = &prepared;
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

fn timings(audit: &Audit, start: Instant) {
    let last = [("in all", start.elapsed())];
    let lines: Vec<String> = audit
        .timings
        .iter()
        .chain(&last)
        .map(|(name, time)| format!("{:>9.1} ms  {name}\n", time.as_secs_f64() * 1e3))
        .collect();
    // Without stderr nobody waits for the figures.
    let _ = std::io::stderr().write_all(lines.concat().as_bytes());
}

fn explain(id: &str) -> Result<Exit> {
    let Some(rule) = rules::find(id) else {
        if catalogue::known(id).is_some() {
            bail!("the rule `{id}` is not built yet; `linkaudit explain` lists those that are");
        }
        bail!("`{id}` is no rule; `linkaudit explain` lists them");
    };
    out::stdout(|w| {
        writeln!(
            w,
            "# {}\n\n{}\n\nGroup: {}, default: {}\n",
            rule.id,
            sentence(rule.summary),
            rule.group.name,
            rule.group.level.name()
        )?;
        w.write_all(rule.docs.as_bytes())
    })?;
    Ok(Exit::Clean)
}

fn sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

fn explain_all() -> Result<Exit> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["rule", "group", "default", "what it reports"]);
    for rule in RULES {
        let default = if rule.group.is_input { "incomplete" } else { rule.group.level.name() };
        table.add_row([rule.id, rule.group.name, default, rule.summary]);
    }
    out::stdout(|w| writeln!(w, "{}", table.trim_fmt()))?;
    Ok(Exit::Clean)
}
