//! `json`: everything, by the schema `linkaudit.report/1` that lies in `docs/report.schema.json`.
//! The bytes depend on nothing but the input: no times, no thread counts, no verbosity.

mod bindings;
mod files;

use super::{Report, Style};
use crate::audit::Line;
use crate::facts;
use crate::finding::{Evidence, EvidenceKind, When};
use crate::finding::{Fix, Intent, Proof};
use crate::judge::{Entry, Judged, Waived};
use crate::text::{Text, json};
use bindings::Bindings;
use files::Files;
use rayon::prelude::*;
use serde::Serialize;
use serde::ser::Serializer;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// The name of the schema.
pub const SCHEMA: &str = "linkaudit.report/1";

/// Items that one thread renders at a time, and room for them in bytes.
const SHARE: usize = 128;
const ROOM: usize = 128 << 10;
/// Shares for each thread between two writes: more would only fill memory.
const SHARES: usize = 4;

pub(super) fn render(report: &Report<'_>, _: Style, out: &mut dyn Write) -> io::Result<()> {
    let head = Head {
        schema: SCHEMA,
        tool: Tool { name: "linkaudit", version: env!("CARGO_PKG_VERSION") },
        policies: report.plan.policy.sources.iter().map(|name| &**name).collect(),
        complete: report.verdict.complete,
        totals: Totals::new(report),
    };
    let head = to_vec(&head)?;
    out.write_all(head.strip_suffix(b"}").unwrap_or(&head))?;
    out.write_all(b",\"findings\":[")?;
    list(&report.verdict.findings, Finding::new, out)?;
    out.write_all(b"],\"waived\":[")?;
    list(&report.verdict.waived, WaivedFinding::new, out)?;
    out.write_all(b"],\"files\":[")?;
    let files = Files::new(report);
    list(&files.objects(), |object| files.file(*object), out)?;
    out.write_all(b"],")?;
    let stale = &report.verdict.stale;
    let tail = Tail {
        archives: report
            .audit
            .archive_lines()
            .iter()
            .map(|line| ArchiveOut::new(report, line))
            .collect(),
        stale: stale.iter().map(StaleLine::new).collect(),
        cross_check: report.audit.cross_check.as_ref().map(CrossCheck::new),
        bindings: report.plan.facts.then_some(Bindings { report }),
    };
    let tail = to_vec(&tail)?;
    out.write_all(tail.strip_prefix(b"{").unwrap_or(&tail))?;
    out.write_all(b"\n")
}

/// Items separated by commas. A large report is mostly findings and files, so threads share them;
/// the order is that of `items`.
fn list<'a, T: Sync, U: Serialize>(
    items: &'a [T],
    make: impl Fn(&'a T) -> U + Sync,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut separator: &[u8] = b"";
    for wave in items.chunks(SHARE * SHARES * rayon::current_num_threads()) {
        let shares: Vec<_> =
            wave.par_chunks(SHARE).map(|share| to_vec(&Each(share, &make))).collect();
        for share in shares {
            let share = share?;
            out.write_all(separator)?;
            out.write_all(share.get(1..share.len() - 1).unwrap_or_default())?;
            separator = b",";
        }
    }
    Ok(())
}

/// Renders into a buffer that need not grow for most shares.
fn to_vec(items: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(ROOM);
    json(&mut out, items)?;
    Ok(out)
}

/// What stands before the findings.
#[derive(Serialize)]
struct Head<'a> {
    schema: &'static str,
    tool: Tool,
    policies: Vec<&'a str>,
    complete: bool,
    totals: Totals<'a>,
}

/// What stands behind the files.
#[derive(Serialize)]
struct Tail<'a> {
    archives: Vec<ArchiveOut<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stale: Vec<StaleLine<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cross_check: Option<CrossCheck<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bindings: Option<Bindings<'a>>,
}

/// One line of coverage; the counts are null for an archive whose members nobody asked about.
#[derive(Serialize)]
struct ArchiveOut<'a> {
    path: Text<'a>,
    members: Option<usize>,
    opaque: Option<usize>,
    references: Option<usize>,
}

impl<'a> ArchiveOut<'a> {
    fn new(report: &Report<'a>, line: &Line) -> Self {
        Self {
            path: Text::path(&report.audit.corpus.files[line.file].path),
            members: line.counts.map(|(members, ..)| members),
            opaque: line.counts.map(|(_, opaque, _)| opaque),
            references: line.counts.map(|(.., references)| references),
        }
    }
}

/// What second readers read. It is no part of the totals, whose line sums up to the entries.
#[derive(Serialize)]
struct CrossCheck<'a> {
    read: usize,
    not_read: &'a BTreeMap<&'static str, usize>,
}

impl<'a> CrossCheck<'a> {
    fn new(found: &'a facts::CrossCheck) -> Self {
        Self { read: found.read, not_read: &found.gave_up }
    }
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
    assumed_by_host: BTreeMap<&'a str, usize>,
}

impl<'a> Totals<'a> {
    fn new(report: &Report<'a>) -> Self {
        let totals = &report.audit.totals;
        let hosts = report.audit.blame.assumed.iter();
        let provided: usize = report.audit.blame.provided.iter().map(|p| p.references).sum();
        let assumed_by_host: BTreeMap<_, _> =
            hosts.map(|host| (&*host.host, host.references)).collect();
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
            assumed: report.verdict.assumed + provided + assumed_by_host.values().sum::<usize>(),
            assumed_by_host,
        }
    }
}

/// A list whose items are made while it is written.
struct Each<'a, T, F>(&'a [T], F);

impl<'a, T, U: Serialize, F: Fn(&'a T) -> U> Serialize for Each<'a, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(&self.1))
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
    member: Option<Text<'a>>,
    detail: Option<Text<'a>>,
    when: Option<When>,
    message: &'a str,
    evidence: Each<'a, Evidence, fn(&'a Evidence) -> EvidenceOut<'a>>,
    fix: Each<'a, Fix, fn(&'a Fix) -> FixOut<'a>>,
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
            member: text(finding.member.as_ref()),
            detail: text(finding.detail.as_ref()),
            when: finding.when,
            message: &finding.message,
            evidence: Each(&finding.evidence, EvidenceOut::new),
            fix: Each(&finding.fix, FixOut::new),
            witness: finding.witness.as_deref(),
            fingerprint: &judged.fingerprint,
        }
    }
}

#[derive(Serialize)]
struct WaivedFinding<'a> {
    #[serde(flatten)]
    finding: Finding<'a>,
    waiver: Waiver<'a>,
}

/// Who waives a finding.
#[derive(Serialize)]
struct Waiver<'a> {
    by: &'static str,
    reason: Option<&'a str>,
    source: &'a str,
    line: Option<u32>,
    expires: Option<String>,
}

impl<'a> WaivedFinding<'a> {
    fn new(Waived { judged, by }: &'a Waived) -> Self {
        let waiver = Waiver {
            by: if by.baseline { "baseline" } else { "policy" },
            reason: by.reason.as_deref(),
            source: &by.origin.source,
            line: Some(by.origin.line).filter(|line| *line > 0),
            expires: by.expires.map(|day| day.to_string()),
        };
        Self { finding: Finding::new(judged), waiver }
    }
}

/// What is left of a baseline; only there if there is one to tell of.
#[derive(Serialize)]
struct StaleLine<'a> {
    line: u32,
    fingerprint: &'a str,
    rule: &'a str,
    path: Text<'a>,
    name: Text<'a>,
}

impl<'a> StaleLine<'a> {
    fn new(entry: &'a Entry) -> Self {
        let Entry { line, fingerprint, rule, path, name, .. } = entry;
        Self { line: *line, fingerprint, rule, path: Text(path), name: Text(name) }
    }
}

#[derive(Serialize)]
struct FixOut<'a> {
    intent: Intent,
    list: Option<Text<'a>>,
    set: Option<Text<'a>>,
    entry: Option<Text<'a>>,
    level: &'static str,
    proven: bool,
    unknown: Option<&'a str>,
}

impl<'a> FixOut<'a> {
    fn new(fix: &'a Fix) -> Self {
        Self {
            intent: fix.intent,
            list: path(fix.list.as_deref()),
            set: text(fix.set.as_ref()),
            entry: text(fix.entry.as_ref()),
            level: fix.level(),
            proven: fix.is_proven(),
            unknown: match &fix.proof {
                Proof::Proven(_) => None,
                Proof::Unknown(what) => Some(what),
            },
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
    archive: Option<Text<'a>>,
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
            archive: path(evidence.archive.as_deref()),
            member: text(evidence.member.as_ref()),
            how: evidence.how,
            reason: evidence.reason.as_deref(),
        }
    }
}
