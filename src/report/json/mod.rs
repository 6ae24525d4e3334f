//! `json`: everything, by the schema `linkaudit.report/1` that lies in `docs/report.schema.json`.
//! The bytes depend on nothing but the input: no times, no thread counts, no verbosity.

mod bindings;
mod files;

use super::{Report, Style};
use crate::finding::{Evidence, EvidenceKind, When};
use crate::judge::Judged;
use crate::text::Text;
use bindings::Bindings;
use files::{Files, Loaders};
use rayon::prelude::*;
use serde::Serialize;
use serde::ser::Serializer;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// The name of the schema.
pub const SCHEMA: &str = "linkaudit.report/1";

/// Findings that are rendered at a time, and those that one thread renders of them.
const WAVE: usize = 4096;
const SHARE: usize = 256;

pub(super) fn render(report: &Report<'_>, _: Style, out: &mut dyn Write) -> io::Result<()> {
    let head = Head {
        schema: SCHEMA,
        tool: Tool { name: "linkaudit", version: env!("CARGO_PKG_VERSION") },
        policies: [],
        complete: report.verdict.complete,
        totals: Totals::new(report),
    };
    let head = serde_json::to_vec(&head)?;
    out.write_all(head.strip_suffix(b"}").unwrap_or(&head))?;
    out.write_all(b",\"findings\":[")?;
    findings(report, out)?;
    out.write_all(b"],")?;
    let loaders = Loaders::new(report);
    let tail = Tail {
        waived: [],
        files: Files { report, loaders: &loaders },
        archives: [],
        bindings: report.plan.facts.then_some(Bindings { report }),
    };
    let tail = serde_json::to_vec(&tail)?;
    out.write_all(tail.strip_prefix(b"{").unwrap_or(&tail))?;
    out.write_all(b"\n")
}

/// The findings, separated by commas. A large report is mostly this, so threads share it; the order
/// is that of the findings.
fn findings(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut separator: &[u8] = b"";
    for wave in report.verdict.findings.chunks(WAVE) {
        let shares: Vec<_> = wave
            .par_chunks(SHARE)
            .map(|share| serde_json::to_vec(&Each(share, Finding::new)))
            .collect();
        for share in shares {
            let share = share?;
            out.write_all(separator)?;
            out.write_all(share.get(1..share.len() - 1).unwrap_or_default())?;
            separator = b",";
        }
    }
    Ok(())
}

/// What stands before the findings.
#[derive(Serialize)]
struct Head<'a> {
    schema: &'static str,
    tool: Tool,
    policies: [(); 0],
    complete: bool,
    totals: Totals<'a>,
}

/// What stands behind the findings.
#[derive(Serialize)]
struct Tail<'a> {
    waived: [(); 0],
    files: Files<'a>,
    archives: [(); 0],
    #[serde(skip_serializing_if = "Option::is_none")]
    bindings: Option<Bindings<'a>>,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Totals<'a> {
    entries: usize,
    elf: usize,
    archives: usize,
    other: usize,
    links: usize,
    special: usize,
    partial: usize,
    skipped: &'a BTreeMap<String, usize>,
    roots: usize,
    code_objects: usize,
    explained: usize,
    assumed: usize,
}

impl<'a> Totals<'a> {
    fn new(report: &Report<'a>) -> Self {
        let totals = &report.audit.totals;
        Self {
            entries: totals.entries(),
            elf: totals.elf,
            archives: totals.archives,
            other: totals.other,
            links: totals.links,
            special: totals.special,
            partial: totals.partial,
            skipped: &totals.skipped,
            roots: report.audit.closures.roots.len(),
            code_objects: 0,
            explained: report.audit.blame.explained - report.verdict.assumed,
            assumed: report.verdict.assumed,
        }
    }
}

/// A list whose items are made while it is written.
struct Each<'a, T, U>(&'a [T], fn(&'a T) -> U);

impl<T, U: Serialize> Serialize for Each<'_, T, U> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(self.1))
    }
}

#[derive(Serialize)]
struct Finding<'a> {
    rule: &'static str,
    level: &'static str,
    prefix: Option<Text<'a>>,
    path: Text<'a>,
    root: Option<Text<'a>>,
    symbol: Option<Text<'a>>,
    version: Option<Text<'a>>,
    library: Option<Text<'a>>,
    target: Option<()>,
    member: Option<()>,
    detail: Option<Text<'a>>,
    when: Option<When>,
    message: &'a str,
    evidence: Each<'a, Evidence, EvidenceOut<'a>>,
    fix: [(); 0],
    witness: Option<&'a str>,
    fingerprint: &'a str,
}

fn text(bytes: Option<&Vec<u8>>) -> Option<Text<'_>> {
    bytes.map(|bytes| Text(bytes))
}

fn path(path: Option<&Path>) -> Option<Text<'_>> {
    path.map(Text::path)
}

impl<'a> Finding<'a> {
    fn new(judged: &'a Judged) -> Self {
        let finding = &judged.finding;
        Self {
            rule: finding.rule,
            level: judged.level.name(),
            prefix: path(finding.file.prefix.as_deref()),
            path: Text::path(&finding.file.path),
            root: path(finding.root.as_deref()),
            symbol: text(finding.symbol.as_ref()),
            version: text(finding.version.as_ref()),
            library: text(finding.library.as_ref()),
            target: None,
            member: None,
            detail: text(finding.detail.as_ref()),
            when: finding.when,
            message: &finding.message,
            evidence: Each(&finding.evidence, EvidenceOut::new),
            fix: [],
            witness: finding.witness.as_deref(),
            fingerprint: &judged.fingerprint,
        }
    }
}

#[derive(Serialize)]
struct EvidenceOut<'a> {
    kind: Option<EvidenceKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> EvidenceOut<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        Self {
            kind: evidence.kind,
            path: path(evidence.path.as_deref()),
            name: text(evidence.name.as_ref()),
            symbol: text(evidence.symbol.as_ref()),
            version: text(evidence.version.as_ref()),
            member: text(evidence.member.as_ref()),
            how: evidence.how,
            reason: evidence.reason.as_deref(),
        }
    }
}
