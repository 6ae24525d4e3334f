//! The files that `--baseline` and `--write-baseline` name: read before anything runs, written anew at
//! the end, with every line that comes or goes named on stderr. The format is `judge`'s.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for what options name")]

use super::{Shared, out};
use crate::judge::{Baseline, Entry, Known, Rewrite, Sonames, Verdict, rewrite};
use crate::text::show_path;
use anyhow::{Context as _, Result, bail};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// What a run has of known findings.
pub(super) struct Baselines {
    /// What findings are held against.
    known: Option<Baseline>,
    /// They are waived; else the file is only to be written anew.
    waives: bool,
}

impl Baselines {
    /// Reads the files that were named. What is to be written over must be a baseline too.
    pub(super) fn new(shared: &Shared) -> Result<Self> {
        let target = shared.write_baseline.as_deref();
        let old = target.filter(|file| is_there(file)).map(read).transpose()?;
        let known = match &shared.baseline {
            Some(file) => Some(read(file)?),
            None => old,
        };
        Ok(Self { known, waives: shared.baseline.is_some() })
    }

    pub(super) fn known(&self) -> Option<Known<'_>> {
        self.known.as_ref().map(|baseline| Known { baseline, waives: self.waives })
    }

    /// Writes the baseline that was asked for. With `--baseline` nothing is added to it.
    pub(super) fn write(
        &self,
        shared: &Shared,
        verdict: &Verdict,
        sonames: &Sonames,
    ) -> Result<()> {
        let Some(file) = &shared.write_baseline else { return Ok(()) };
        let shown = show_path(file);
        let written = rewrite(self.known.as_ref(), verdict, sonames, !self.waives);
        out::file(file, |to| to.write_all(&written.text))
            .with_context(|| format!("{shown} cannot be written"))?;
        // Without stderr nobody reads what was written.
        let _ = std::io::stderr().write_all(said(&shown, &written).as_bytes());
        Ok(())
    }
}

fn is_there(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|meta| meta.is_symlink() || meta.is_file())
        && file.metadata().is_ok_and(|meta| meta.is_file())
}

fn read(file: &Path) -> Result<Baseline> {
    let shown = show_path(file);
    let bytes = std::fs::read(file).with_context(|| format!("{shown} cannot be read"))?;
    Ok(Baseline::parse(&shown, &bytes)?)
}

/// What became of a baseline, line by line.
fn said(file: &str, written: &Rewrite) -> String {
    let Rewrite { added, removed, left_out, .. } = written;
    let mut text = format!(
        "linkaudit: {file}: {} added, {} removed\n",
        lines(added.len()),
        lines(removed.len())
    );
    text.extend(added.iter().map(|line| format!("  + {line}\n")));
    text.extend(removed.iter().map(|line| format!("  - {line}\n")));
    if *left_out > 0 {
        let what = if *left_out == 1 { "finding is" } else { "findings are" };
        let why = "with --baseline only stale lines go; --write-baseline alone adds";
        let _ = writeln!(text, "  {left_out} new {what} not added: {why}");
    }
    text
}

fn lines(count: usize) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

/// Refuses options that only `check` has.
pub(super) fn refuse(shared: &Shared, command: &str) -> Result<()> {
    if shared.write_baseline.is_some() {
        bail!("`{command}` writes no baseline; `linkaudit check --write-baseline FILE` does");
    }
    if shared.fail_on_stale {
        bail!("`{command}` tells no stale lines; `linkaudit check --fail-on-stale` does");
    }
    Ok(())
}

/// Stale lines on stderr, for outputs that do not show them.
pub(super) fn say_stale(verdict: &Verdict, known: &Known<'_>) {
    let line = |entry: &Entry| {
        format!("linkaudit: stale: {}:{} {}\n", known.baseline.name, entry.line, entry.words())
    };
    let text: Vec<String> = verdict.stale.iter().map(line).collect();
    // Without stderr nobody reads them.
    let _ = std::io::stderr().write_all(text.concat().as_bytes());
}
