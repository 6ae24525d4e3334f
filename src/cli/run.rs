//! One audit with its judged findings, and what every command does with one. It strings the stages
//! together and knows no rule of its own; the commands call it.

use super::Shared;
use super::baseline::Baselines;
use super::progress::Progress;
use crate::audit::{self, Audit};
use crate::facts::FileFacts;
use crate::fix::propose::{Proposal, propose};
use crate::fix::solve::Solved;
use crate::judge::{Judging, Levels, Scope, Sonames, Verdict, judge};
use crate::plan::Plan;
use crate::report::Report;
use crate::rules;
use crate::tree::DiskTree;
use anyhow::{Result, bail};
use std::io::Write as _;
use std::time::Instant;

/// One audit with its judged findings.
pub(super) struct Run {
    pub(super) plan: Plan,
    pub(super) audit: Audit,
    pub(super) verdict: Verdict,
    pub(super) sonames: Sonames,
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
