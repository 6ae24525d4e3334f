//! `json`: everything, by the schema `linkaudit.report/1` that lies in `docs/report.schema.json`.
//! The bytes depend on nothing but the input: no times, no thread counts, no verbosity.

use super::{Report, Style};
use crate::facts::{Content, FileFacts};
use crate::finding::{Evidence, EvidenceKind, When};
use crate::format::elf::{Object, machine};
use crate::id::{FastMap, FileId, Id as _, RootId};
use crate::judge::Judged;
use crate::text::Text;
use rayon::prelude::*;
use serde::Serialize;
use serde::ser::{SerializeSeq, SerializeTuple, Serializer};
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
            explained: report.audit.blame.explained,
            assumed: 0,
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

/// The first root that loads each file, and the file's needs under it.
struct Loaders {
    root: FastMap<FileId, RootId>,
    needs: FastMap<FileId, Vec<usize>>,
}

impl Loaders {
    fn new(report: &Report<'_>) -> Self {
        let closures = &report.audit.closures;
        let root = crate::blame::first_loader(closures);
        let mut needs: FastMap<FileId, Vec<usize>> = FastMap::default();
        for (id, closure) in closures.roots.entries() {
            for (at, edge) in closure.edges.iter().enumerate() {
                let Some(file) = closure.module(edge.from).file else { continue };
                if root.get(&file) == Some(&id) {
                    needs.entry(file).or_default().push(at);
                }
            }
        }
        Self { root, needs }
    }
}

struct Files<'a> {
    report: &'a Report<'a>,
    loaders: &'a Loaders,
}

impl Serialize for Files<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let corpus = &self.report.audit.corpus;
        let mut files: Vec<FileId> = corpus
            .files
            .entries()
            .filter(|(_, facts)| matches!(facts.content, Content::Elf(_)))
            .map(|(file, _)| file)
            .collect();
        files.sort_by(|a, b| corpus.files[*a].path.cmp(&corpus.files[*b].path));
        let mut list = serializer.serialize_seq(Some(files.len()))?;
        for file in files {
            let facts = &corpus.files[file];
            if let Some(object) = facts.object() {
                list.serialize_element(&self.file(file, facts, object))?;
            }
        }
        list.end()
    }
}

#[derive(Serialize)]
struct FileOut<'a> {
    path: Text<'a>,
    soname: Option<Text<'a>>,
    root: Option<Text<'a>>,
    needed: Vec<NeedOut<'a>>,
    rpath: Option<Text<'a>>,
    runpath: Option<Text<'a>>,
    interpreter: Option<Text<'a>>,
    machine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exports: Option<Vec<Export<'a>>>,
}

#[derive(Serialize)]
struct NeedOut<'a> {
    name: Text<'a>,
    path: Option<Text<'a>>,
    how: &'static str,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct Export<'a> {
    #[serde(serialize_with = "bytes")]
    name: &'a [u8],
    #[serde(serialize_with = "optional_bytes")]
    version: Option<&'a [u8]>,
}

fn bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    Text(bytes).serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde passes the field by reference")]
fn optional_bytes<S: Serializer>(bytes: &Option<&[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    bytes.map(Text).serialize(serializer)
}

impl<'a> Files<'a> {
    fn file(&self, file: FileId, facts: &'a FileFacts, object: &'a Object) -> FileOut<'a> {
        let string = |s: Option<crate::format::elf::Str>| s.map(|s| Text(object.str(s)));
        let audit = self.report.audit;
        let root = self.loaders.root.get(&file).copied();
        FileOut {
            path: Text::path(&facts.path),
            soname: string(object.soname),
            root: root.map(|root| Text::path(audit.root_path(root))),
            needed: match root {
                Some(root) => self.resolved(file, root),
                None => declared(object),
            },
            rpath: string(object.rpath),
            runpath: string(object.runpath),
            interpreter: string(object.interp),
            machine: machine::name(&object.header),
            exports: self.report.plan.facts.then(|| exports(object)),
        }
    }

    fn resolved(&self, file: FileId, root: RootId) -> Vec<NeedOut<'a>> {
        let audit = self.report.audit;
        let closure = &audit.closures.roots[root];
        let needs = self.loaders.needs.get(&file).map_or(&[][..], Vec::as_slice);
        needs
            .iter()
            .map(|at| {
                let edge = closure.edges[*at];
                let module = closure.module(edge.to);
                NeedOut {
                    name: Text(audit.text(edge.name)),
                    path: module.file.map(|_| Text(audit.text(module.path))),
                    how: edge.how.name(),
                }
            })
            .collect()
    }
}

/// Needs of a file that no root loads: names only.
fn declared(object: &Object) -> Vec<NeedOut<'_>> {
    object
        .needs
        .iter()
        .map(|need| NeedOut { name: Text(object.str(need.name)), path: None, how: "missing" })
        .collect()
}

fn exports(object: &Object) -> Vec<Export<'_>> {
    let Some(tables) = &object.tables else { return Vec::new() };
    let mut out: Vec<Export<'_>> = tables
        .symbols()
        .filter(crate::format::elf::tables::Symbol::is_export)
        .map(|symbol| Export {
            name: symbol.name,
            version: object.versions.entry(symbol.versym & 0x7fff).map(|e| object.str(e.name)),
        })
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

struct Bindings<'a> {
    report: &'a Report<'a>,
}

#[derive(Serialize)]
struct RootBindings<'a> {
    root: Text<'a>,
    bound: Vec<Bound<'a>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Bound<'a>(&'a [u8], &'a [u8], Option<&'a [u8]>, &'a [u8]);

impl Serialize for Bound<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(4)?;
        tuple.serialize_element(&Text(self.0))?;
        tuple.serialize_element(&Text(self.1))?;
        tuple.serialize_element(&self.2.map(Text))?;
        tuple.serialize_element(&Text(self.3))?;
        tuple.end()
    }
}

impl Serialize for Bindings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let roots = &self.report.audit.closures.roots;
        let mut list = serializer.serialize_seq(Some(roots.len()))?;
        for root in roots.ids() {
            list.serialize_element(&self.root(root))?;
        }
        list.end()
    }
}

impl<'a> Bindings<'a> {
    fn root(&self, root: RootId) -> RootBindings<'a> {
        let audit = self.report.audit;
        let closure = &audit.closures.roots[root];
        let path = |module: u32| audit.text(closure.module(module).path);
        let mut bound: Vec<Bound<'a>> = audit.bindings[root.index()]
            .bindings
            .iter()
            .filter_map(|binding| {
                let object = audit.corpus.files[closure.module(binding.module).file?].object()?;
                let symbol = object.tables.as_ref()?.symbol(binding.symbol)?;
                let version = object.versions.entry(symbol.versym & 0x7fff);
                Some(Bound(
                    path(binding.module),
                    symbol.name,
                    version.map(|entry| object.str(entry.name)),
                    path(binding.provider),
                ))
            })
            .collect();
        bound.sort_unstable();
        bound.dedup();
        RootBindings { root: Text::path(audit.root_path(root)), bound }
    }
}
