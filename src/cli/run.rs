//! Runs one audit and makes its report, for all commands that audit.

use super::SharedOptions;
use super::baseline::Baselines;
use super::progress::Progress;
use crate::audit::{self, Audit, Ground};
use crate::facts::FileFacts;
use crate::fix::owners;
use crate::fix::propose::{Proposal, propose};
use crate::merged::solve::Solved;
use crate::plan::Plan;
use crate::report::model::{AuditFacts, Parts, Report, StreamedFacts};
use crate::report::{self, Paths, count};
use crate::rules::{self, RuleInput};
use crate::text::show_path;
use crate::tree::Tree;
use crate::triage::{Rewrite, RunScope, Sonames, TriageInput, sort_findings};
use crate::views::Subject;
use anyhow::{Result, bail};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A finished audit, with its report and fixes.
pub(super) struct AuditRun {
    pub(super) plan: Plan,
    pub(super) audit: Audit,
    pub(super) report: Report,
    /// The new content for `--write-baseline`; `None` without this option.
    pub(super) rewrite: Option<Rewrite>,
    /// The fixes, or the error that prevented them; `None` if the plan requests no fixes.
    pub(super) proposal: Option<Result<Proposal, String>>,
}

/// The files of a run, walked and read.
pub(super) struct WalkedRun {
    ground: Ground,
    took: Duration,
}

impl WalkedRun {
    /// Files that may be linker scripts.
    pub(super) fn scripts(&self) -> impl Iterator<Item = &Path> {
        self.ground.scripts()
    }

    /// Reads `paths`, which linker scripts name, as candidates.
    pub(super) fn add_providers(&mut self, plan: &Plan, tree: &dyn Tree, paths: &[PathBuf]) {
        self.ground.add_providers(plan, tree, paths);
    }
}

/// Walks and reads the files of a plan.
pub(super) fn walk(plan: &Plan, tree: &dyn Tree, progress: &Progress) -> WalkedRun {
    let start = Instant::now();
    let input = audit::read(plan, tree, progress.seen());
    let took = start.elapsed();
    WalkedRun { ground: audit::collect(plan, tree, input), took }
}

impl AuditRun {
    /// Audits the walked files. `parts` are the parts of the report that the outputs render besides
    /// findings.
    pub(super) fn new(
        plan: Plan,
        tree: &dyn Tree,
        walked: WalkedRun,
        baselines: &Baselines,
        parts: Parts,
    ) -> Self {
        let closed = walked.ground.closed(&plan, tree);
        let tree: &dyn Tree = closed.as_ref().map_or(tree, |closed| closed);
        let mut audit = audit::audit(&plan, tree, walked.ground);
        audit.timings.insert(0, ("walk and read", walked.took));
        let judging = Instant::now();
        let (explained, solved) = (audit.explain(&plan), Solved::default());
        let given = RuleInput { explained: &explained, solved: &solved };
        let mut findings = rules::check(&audit, &plan, given);
        rules::near_archives::attach(&audit, tree, &mut findings);
        rules::may_load::attach(&audit, tree, &mut findings);
        let mut proposal = plan
            .fix
            .clone()
            .map(|request| propose(&mut audit, &plan, tree, &request, (&mut findings, &solved)));
        let found = proposal.as_mut().and_then(|proposal| proposal.as_mut().ok());
        owners::attach((&audit, &plan, tree), &mut findings, found);
        let soname = |f: &FileFacts| f.object().and_then(|o| o.soname()).map(<[u8]>::to_vec);
        let files = audit.corpus.files.iter().map(|f| (&*f.path, soname(f)));
        let sonames = Sonames::new(files).with_links(audit.corpus.files.iter());
        let known = baselines.known();
        let scope = if known.is_some() || !plan.policy.waivers.is_empty() {
            RunScope::of(&audit, &sonames, &plan)
        } else {
            RunScope::default()
        };
        let how = TriageInput { plan: &plan, known, scope: &scope, sonames: &sonames };
        let triage = sort_findings(findings, &how);
        let rewrite = baselines.rewrite(&triage);
        let mut report = Report::new(&audit, &plan, triage, parts);
        report.compared = known.is_some();
        audit.timings.push(("rules", judging.elapsed()));
        Self { plan, audit, report, rewrite, proposal }
    }

    /// Calls `render` with all exports and bindings if the plan requests them, else with `None`.
    pub(super) fn with_facts<T>(&self, render: impl FnOnce(Option<&dyn StreamedFacts>) -> T) -> T {
        if self.plan.facts {
            return render(Some(&AuditFacts::new(&self.audit)));
        }
        render(None)
    }

    /// The audit, its plan and its report, as views read them.
    pub(super) fn subject<'r>(&'r self, paths: &'r Paths) -> Subject<'r> {
        Subject { audit: &self.audit, plan: &self.plan, report: &self.report, paths }
    }

    /// Ends the run, and keeps its facts for another run with the same files.
    pub(super) fn into_walked(self) -> WalkedRun {
        WalkedRun { ground: self.audit.into_ground(), took: Duration::ZERO }
    }

    /// Fails if `--require-elf` is given and the run had nothing to audit.
    pub(super) fn require_elf(&self, shared: &SharedOptions) -> Result<()> {
        // Foreign ELF files, such as debug files and kernel modules, show that the path is right.
        let totals = &self.report.totals;
        if shared.require_elf && self.has_nothing_to_audit() && totals.foreign.is_empty() {
            let entries = count(totals.entries, "entry", "entries");
            let unread = self.report.inputs().next();
            let unread =
                unread.map(|one| format!("; {}: {}", show_path(&one.full_path()), one.message));
            let unread = unread.unwrap_or_default();
            bail!("nothing to audit: 0 ELF files and archives in {entries}{unread}");
        }
        Ok(())
    }

    /// True if no ELF file and no archive was found, and no file was read only partly. A file that
    /// was read partly may be an ELF file or an archive.
    pub(super) fn has_nothing_to_audit(&self) -> bool {
        report::is_empty(&self.report) && self.report.totals.partial == 0
    }

    /// Ends the run: records the time of the report, and prints all times with `--timings`.
    pub(super) fn finish(mut self, shared: &SharedOptions, rendering: Instant, start: Instant) {
        self.audit.timings.push(("report", rendering.elapsed()));
        if shared.timings {
            timings(&self.audit, start);
        }
        // The process ends: freeing all facts would only take time.
        std::mem::forget(self);
    }
}

fn timings(audit: &Audit, start: Instant) {
    let last = [("total", start.elapsed())];
    let lines: Vec<String> = audit
        .timings
        .iter()
        .chain(&last)
        .map(|(name, time)| format!("{:>9.1} ms  {name}\n", time.as_secs_f64() * 1e3))
        .collect();
    // A failed write to stderr is ignored: the figures are not part of the result.
    let _ = std::io::stderr().write_all(lines.concat().as_bytes());
}
