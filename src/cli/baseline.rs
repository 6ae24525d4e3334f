//! Reads the files of `--baseline` and `--write-baseline` before the audit. After the audit, writes
//! the file of `--write-baseline`, and shows its added and removed lines on stderr. The module
//! `triage` defines the format of baselines.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for what options name")]

use super::{SharedOptions, message, named, out};
use crate::report::model::Report;
use crate::text::show_path;
use crate::triage::{Baseline, BaselineUse, Rewrite, Triage, rewrite};
use anyhow::{Context as _, Result, bail};
use std::fmt::Write as _;
use std::path::Path;

/// Maximum size of a baseline in bytes.
const MOST_BYTES: u64 = 256 << 20;

pub(super) struct Baselines {
    /// The baseline with which findings are compared.
    known: Option<Baseline>,
    /// True if `known` waives findings (`--baseline`). False if `known` is only the old content of
    /// the file of `--write-baseline`.
    waives: bool,
    is_written: bool,
}

impl Baselines {
    /// Reads the files that `--baseline` and `--write-baseline` name. If the file of
    /// `--write-baseline` exists, it must be a baseline.
    pub(super) fn new(shared: &SharedOptions) -> Result<Self> {
        let of_lines =
            [("--fail-on-stale", shared.fail_on_stale), ("--fail-on-gone", shared.fail_on_gone)];
        let typed = of_lines.iter().find(|(_, is_typed)| *is_typed && shared.baseline.is_none());
        if let Some((option, _)) = typed {
            bail!("{option} needs a baseline\nhelp: add --baseline FILE");
        }
        let target = shared.write_baseline.as_deref();
        if target == Some(Path::new("-")) {
            bail!(
                "--write-baseline cannot write to stdout\nhelp: name a file; for a file with this name, ./-"
            );
        }
        let old = target.filter(|file| is_there(file));
        let old = old.map(|file| read("--write-baseline", file)).transpose()?;
        let known = match &shared.baseline {
            Some(file) => Some(read("--baseline", file)?),
            None => old,
        };
        Ok(Self { known, waives: shared.baseline.is_some(), is_written: target.is_some() })
    }

    pub(super) fn known(&self) -> Option<BaselineUse<'_>> {
        self.known.as_ref().map(|baseline| BaselineUse { baseline, waives: self.waives })
    }

    /// The new content of the file of `--write-baseline`; `None` without this option. If
    /// `--baseline` is also given, lines are only removed.
    pub(super) fn rewrite(&self, triage: &Triage) -> Option<Rewrite> {
        let new = || rewrite(self.known.as_ref(), triage, !self.waives);
        self.is_written.then(new)
    }
}

/// Writes the file of `--write-baseline`, if requested.
pub(super) fn write(shared: &SharedOptions, written: Option<&Rewrite>) -> Result<()> {
    let (Some(file), Some(written)) = (&shared.write_baseline, written) else { return Ok(()) };
    let shown = show_path(file);
    out::file(file, |to| to.write_all(&written.text))
        .with_context(|| format!("cannot write {shown}"))?;
    message::fact(&said(&shown, written));
    Ok(())
}

fn is_there(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|meta| meta.is_symlink() || meta.is_file())
        && file.metadata().is_ok_and(|meta| meta.is_file())
}

fn read(option: &str, file: &Path) -> Result<Baseline> {
    let shown = show_path(file);
    let typed = format!("{option} {shown}");
    let bytes = named::read(file, MOST_BYTES).map_err(|why| named::refused(&typed, &why))?;
    Ok(Baseline::parse(&shown, &bytes)?)
}

/// The message about a written baseline: its added and removed lines.
fn said(file: &str, written: &Rewrite) -> String {
    let Rewrite { added, removed, left_out, .. } = written;
    let mut text =
        format!("{file}: {} added, {} removed", lines(added.len()), lines(removed.len()));
    text.extend(added.iter().map(|line| format!("\n  + {line}")));
    text.extend(removed.iter().map(|line| format!("\n  - {line}")));
    if *left_out > 0 {
        let what = if *left_out == 1 { "finding" } else { "findings" };
        let help = "to add new findings, use --write-baseline without --baseline";
        let _ = write!(text, "\n  {left_out} new {what} not added\nhelp: {help}");
    }
    text
}

fn lines(count: usize) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

/// Refuses baseline options that `command` does not support.
pub(super) fn refuse(shared: &SharedOptions, command: &str) -> Result<()> {
    if shared.write_baseline.is_some() {
        bail!(
            "`{command}` does not write a baseline\nhelp: use linkaudit check --write-baseline FILE"
        );
    }
    if shared.fail_on_stale {
        bail!(
            "`{command}` does not check for stale lines\nhelp: use linkaudit check --fail-on-stale"
        );
    }
    if shared.fail_on_gone {
        bail!(
            "`{command}` does not check for files that are gone\nhelp: use linkaudit check or diff with --fail-on-gone"
        );
    }
    Ok(())
}

/// Reports stale lines on stderr, for outputs that do not show them.
pub(super) fn say_stale(report: &Report, known: &BaselineUse<'_>) {
    let name = &known.baseline.name;
    for (stale, reason) in report.stale_lines() {
        let words = stale.words(reason.as_deref());
        message::warning(&format!("{name}:{}: stale line: {words}", stale.line));
    }
}
