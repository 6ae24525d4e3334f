//! The command `diff`: for each of OLD and NEW, reads a report or audits a directory. Writes the
//! new findings and the findings that disappeared. `crate::diff` compares OLD and NEW.

use super::exit::{self, Exit};
use super::plan::{Prepared, prepare, sinks};
use super::progress::Progress;
use super::run::{AuditRun, walk};
use super::{
    DiffOptions, Sandbox, SharedOptions, baseline, message, named, out, output_conflicts, plan,
    policy, sandbox, threads,
};
use crate::diff::{self, Difference, PolicyDecisions, Side, SideSymbols};
use crate::facts::FileFacts;
use crate::finding::Finding;
use crate::policy::Policy;
use crate::report::model::{AuditFacts, Parts, ReportFinding};
use crate::report::{self, NamedFormat, Rendering, Report, json};
use crate::text::show_path;
use crate::tree::DiskTree;
use crate::triage::{self, Sonames};
use anyhow::{Context as _, Result, bail};
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Upper bound in bytes for a report. A report of a whole system with `--facts` has several hundred
/// MiB.
const MOST_REPORT: u64 = 4 << 30;

/// One output format of `diff`.
pub(super) struct DiffOutput {
    name: &'static str,
    render: fn(&Difference, &Rendering<'_>, &mut dyn Write) -> io::Result<()>,
}

impl NamedFormat for DiffOutput {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// The output formats of `diff`. `human` and `json` show the whole comparison, `table` and
/// `markdown` the new findings and the counts. All other outputs show the new findings as a report
/// of `check`.
pub(super) const DIFF_OUTPUTS: &[DiffOutput] = &[
    DiffOutput { name: "human", render: diff::human },
    DiffOutput { name: "json", render: |difference, _, out| diff::json(difference, out) },
    DiffOutput { name: "table", render: diff::table },
    DiffOutput { name: "sarif", render: |d, how, out| of_report("sarif", d, how, out) },
    DiffOutput { name: "junit", render: |d, how, out| of_report("junit", d, how, out) },
    DiffOutput { name: "github", render: |d, how, out| of_report("github", d, how, out) },
    DiffOutput { name: "gitlab", render: |d, how, out| of_report("gitlab", d, how, out) },
    DiffOutput { name: "gcc", render: |d, how, out| of_report("gcc", d, how, out) },
    DiffOutput { name: "markdown", render: diff::markdown },
];

/// Writes the new findings as a report of `check`.
fn of_report(
    name: &str,
    difference: &Difference,
    how: &Rendering<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    report::render(name, &difference.worse, how, out)
}

/// OLD, NEW or `--against` before the comparison: a report, or an audited directory.
struct SideSource {
    name: String,
    of: SideInput,
    /// Findings about unread paths that the policy allows: the result of [`diff::apply_policy`].
    allowed: Vec<ReportFinding>,
}

enum SideInput {
    Report(Box<Report>),
    Run(Box<AuditRun>),
}

impl SideSource {
    fn report(&self) -> &Report {
        match &self.of {
            SideInput::Report(report) => report,
            SideInput::Run(run) => &run.report,
        }
    }

    /// Applies the levels and waivers of `policy` to the findings of a report. Does nothing for an
    /// audited directory: the audit has already applied them.
    fn apply(&mut self, policy: &Policy) {
        if let SideInput::Report(report) = &mut self.of {
            self.allowed = diff::apply_policy(report, policy, plan::today());
        }
    }

    /// The facts of all files of an audited directory; empty for a report.
    fn files(&self) -> impl Iterator<Item = &FileFacts> {
        let run = match &self.of {
            SideInput::Report(_) => None,
            SideInput::Run(run) => Some(run),
        };
        run.into_iter().flat_map(|run| run.audit.corpus.files.iter())
    }
}

/// Runs `linkaudit diff`: writes the comparison, and returns the exit status.
pub(super) fn diff(shared: &SharedOptions, options: &DiffOptions) -> Result<Exit> {
    let fails_on_gone = shared.fail_on_gone;
    let shared = &SharedOptions { fail_on_gone: false, ..shared.clone() };
    baseline::refuse(shared, "diff")?;
    refuse_lists(shared)?;
    let sinks = sinks(shared, "diff", DIFF_OUTPUTS)?;
    let color = plan::colored(shared, io::stderr().is_terminal());
    let policy = policy::of_run(shared, color)?;
    let sides = [&options.old, &options.new].into_iter().chain(&options.against);
    let inputs = sides.map(PathBuf::as_path).chain(policy.files());
    output_conflicts::apart_from(&DiskTree::new(), shared, &[], inputs)?;
    // OLD and NEW may be in different directories, so the sandbox does not restrict reading.
    sandbox::enter(&SharedOptions { root: None, staged: Vec::new(), ..shared.clone() }, &[]);
    let shared = &SharedOptions { sandbox: Sandbox::Off, ..shared.clone() };
    threads::start(plan::wanted_threads(shared));
    let source = |path: &Path, read: Option<Report>, staged| match read {
        Some(report) => Ok(SideSource {
            name: show_path(path),
            of: SideInput::Report(Box::new(report)),
            allowed: Vec::new(),
        }),
        None => audit(shared, path, staged),
    };
    let (old, new) = rayon::join(|| read(&options.old), || read(&options.new));
    let mut old = source(&options.old, old?, options.stages)?;
    let mut new = source(&options.new, new?, options.stages)?;
    let other = |path: &PathBuf| source(path, read(path)?, false);
    let against: Vec<SideSource> = options.against.iter().map(other).collect::<Result<_>>()?;
    // Waivers may name any hard link of a file, as in `check`. Only audited directories provide
    // hard links: reports do not distinguish them from symbolic links.
    let names = Sonames::default().with_links(old.files().chain(new.files()));
    old.apply(&policy);
    new.apply(&policy);
    let difference = {
        let against: Vec<Side<'_>> = against.iter().map(side).collect();
        let level = |rule: &crate::rules::Rule| policy.level_of(&rule.known());
        let waived = |finding: &Finding| {
            triage::waiver_of(&policy, plan::today(), finding, &names).is_some()
        };
        let judge = PolicyDecisions { level: &level, waived: &waived, fails_on_gone };
        diff::compare(&side(&old), &side(&new), &against, &judge)
    };
    let (style, paths) = (plan::style(shared), plan::output_paths(shared)?);
    for (output, file) in &sinks.files {
        let rendering = Rendering { style: style.plain(), paths: &paths, facts: None };
        out::file(file, |w| (output.render)(&difference, &rendering, w))
            .with_context(|| format!("cannot write {}", show_path(file)))?;
    }
    let rendering = Rendering { style, paths: &paths, facts: None };
    out::stdout(|w| (sinks.stdout.render)(&difference, &rendering, w))
        .context("cannot write the comparison to stdout")?;
    let status = match exit::of(&difference.worse, shared.fail_on) {
        _ if fails_on_gone && difference.is_any_gone => Exit::Findings,
        status => status,
    };
    // The process ends: freeing all facts would only take time.
    std::mem::forget((old, new, against));
    Ok(status)
}

/// Refuses options that name files to audit: `diff` audits only the files in OLD and NEW.
fn refuse_lists(shared: &SharedOptions) -> Result<()> {
    if !shared.staged.is_empty() {
        bail!("`diff` has no --staged\nhelp: if OLD and NEW are staging directories, use --stages");
    }
    let lists = [("--files-from", &shared.files_from), ("--nix-closure", &shared.nix_closure)];
    match lists.into_iter().find(|(_, list)| list.is_some()) {
        Some((option, _)) => bail!(
            "`diff` has no {option}\nhelp: compare two reports: linkaudit {option} FILE --facts --format json"
        ),
        None => Ok(()),
    }
}

/// The JSON report at `path`, or the report of an audit if `path` is a prefix.
pub(super) fn report_of(shared: &SharedOptions, path: &Path) -> Result<Report> {
    if let Some(report) = read(path)? {
        return Ok(report);
    }
    Ok(audit(shared, path, false)?.report().clone())
}

/// Audits the directory `path`. `staged` is true for a staging directory.
fn audit(shared: &SharedOptions, path: &Path, staged: bool) -> Result<SideSource> {
    let name = show_path(path);
    let (mut own, mut paths) = (shared.clone(), vec![path.to_path_buf()]);
    if staged {
        own.staged = std::mem::take(&mut paths);
    }
    let mut prepared = prepare(&own, &paths)?;
    // Compare the exports of programs too: plugins use them.
    prepared.plan.definitions = true;
    let policy = Arc::clone(&prepared.plan.policy);
    let allows_unread = diff::allows_unread(&policy);
    if allows_unread {
        diff::find_unread(Arc::make_mut(&mut prepared.plan.policy), &policy::command_line());
    }
    output_conflicts::check(&prepared.plan, &*prepared.tree, &own, &[])?;
    prepared.refuse_other_files(&own, &paths).map_err(|error| match error.to_string() {
        text if text.contains("\nhelp: ") => error,
        text => anyhow::anyhow!("{text}\nhelp: name a directory or a JSON report"),
    })?;
    if let [path] = &prepared.plan.paths[..]
        && !staged
    {
        named::refuse_unreadable(&*prepared.tree, path, &name)?;
    }
    let Prepared { plan, tree, baselines, .. } = &prepared;
    let progress = Progress::new(prepared.progress);
    let walked = walk(plan, &**tree, &progress);
    let parts = Parts { files: true, archives: false };
    let mut run = AuditRun::new(plan.clone(), &**tree, walked, baselines, parts);
    drop(progress);
    run.require_elf(&own)?;
    output_conflicts::after(&run.audit, &own, &[])?;
    // A file that could not be read may be an ELF file: the comparison is then incomplete.
    if run.report.complete && run.has_nothing_to_audit() {
        bail!(
            "{name}: no ELF files\nhelp: name a prefix with programs or libraries, or a JSON report"
        );
    }
    let allowed = if allows_unread {
        diff::apply_policy(&mut run.report, &policy, plan::today())
    } else {
        Vec::new()
    };
    Ok(SideSource { name, of: SideInput::Run(Box::new(run)), allowed })
}

/// Reads the JSON report in the file or pipe at `path`. `None` if `path` is a directory, a file of
/// another kind, or unreadable.
fn read(path: &Path) -> Result<Option<Report>> {
    const HEAD: usize = 16;
    let refused = |why: String| named::refused(&show_path(path), &why);
    if let Some(content) = named::pipe(path, MOST_REPORT) {
        let report = json::read(&content.map_err(refused)?).with_context(|| show_path(path))?;
        return Ok(Some(listing_files(report, path)));
    }
    // An unreadable path is not an error yet: with --root, it may exist in the sysroot. If it does
    // not exist there, the audit reports the error.
    let head = named::read_head(path, HEAD).ok().flatten().unwrap_or_default();
    let first = head.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(b'{') {
        return Ok(None);
    }
    let short = named::read_before(path, json::BINDINGS, json::END).map_err(refused)?;
    let report = match short.map(json::read_without_bindings) {
        Some(Ok(report)) => report,
        // Another program may have written keys after the bindings.
        _ => json::read(&named::read(path, MOST_REPORT).map_err(refused)?)
            .with_context(|| show_path(path))?,
    };
    Ok(Some(listing_files(report, path)))
}

/// Returns the report, after a warning if it lists no files.
fn listing_files(report: Report, path: &Path) -> Report {
    if report.files.is_empty() {
        message::warning(&format!("{}: lists no files", show_path(path)));
    }
    report
}

fn side(source: &SideSource) -> Side<'_> {
    let report = source.report();
    let symbols = match &source.of {
        SideInput::Run(run) => SideSymbols::Audit(AuditFacts::new(&run.audit)),
        SideInput::Report(_) => SideSymbols::Report(report),
    };
    Side::new(&source.name, report, &source.allowed, symbols)
}
