//! The JSON output of `gpu`, with the schema `linkaudit.gpu/1` (`docs/gpu.schema.json`). Files are
//! in byte order of their paths, containers by offset, and entries in the order of their tables.

use super::{CoverageScope, Gpu};
use crate::audit::Audit;
use crate::format::gpu::{Container, ContainerEntry, DeviceCode};
use crate::gpu::databases::Database;
use crate::id::FileId;
use crate::report::Style;
use crate::text::Text;
use crate::views::Subject;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The name and version of the schema of the JSON output.
pub const SCHEMA: &str = "linkaudit.gpu/1";

#[derive(Serialize)]
struct GpuOut<'a> {
    schema: &'static str,
    complete: bool,
    target: Option<String>,
    files: Vec<FileOut<'a>>,
    databases: Vec<DatabaseOut<'a>>,
    matrix: Vec<ScopeOut<'a>>,
}

#[derive(Serialize)]
struct FileOut<'a> {
    path: Text<'a>,
    wrappers: usize,
    kpack: usize,
    kpack_paths: Vec<Text<'a>>,
    bundles: Vec<BundleOut<'a>>,
    faults: Vec<DefectOut<'a>>,
    unchecked: Vec<DefectOut<'a>>,
}

#[derive(Serialize)]
struct BundleOut<'a> {
    member: Option<Text<'a>>,
    kind: &'static str,
    version: Option<u16>,
    offset: u64,
    size: u64,
    compression: Option<&'static str>,
    uncompressed_size: Option<u64>,
    entries: Vec<EntryOut<'a>>,
}

#[derive(Serialize)]
struct EntryOut<'a> {
    id: Text<'a>,
    target: Option<Text<'a>>,
    offset: u64,
    size: u64,
    code_object_version: Option<u8>,
    kernels: Option<Vec<Text<'a>>>,
}

#[derive(Serialize)]
struct DatabaseOut<'a> {
    path: Text<'a>,
    kind: &'static str,
    target: Option<String>,
    compute_units: Option<u32>,
    size: u64,
    page_size: Option<u32>,
    pages: Option<u64>,
    fault: Option<&'static str>,
}

#[derive(Serialize)]
struct DefectOut<'a> {
    member: Option<Text<'a>>,
    offset: u64,
    entry: Option<Text<'a>>,
    what: &'static str,
}

#[derive(Serialize)]
struct ScopeOut<'a> {
    root: Option<Text<'a>>,
    runtime: Option<Text<'a>>,
    loader: &'static str,
    reason: &'a str,
    libraries: Vec<LibraryOut<'a>>,
}

#[derive(Serialize)]
struct LibraryOut<'a> {
    path: Text<'a>,
    targets: BTreeMap<String, &'static str>,
}

pub(super) fn render(
    subject: &Subject<'_>,
    view: &Gpu,
    _: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let audit = subject.audit;
    let mut files: Vec<FileOut<'_>> =
        audit.devices.files.iter().map(|(file, code)| file_out(audit, *file, code)).collect();
    files.sort_by(|a, b| a.path.0.cmp(b.path.0));
    let whole = GpuOut {
        schema: SCHEMA,
        complete: subject.report.complete,
        target: view.target.as_ref().map(ToString::to_string),
        files,
        databases: audit.devices.databases.iter().map(database).collect(),
        matrix: view.scopes.iter().map(scope).collect(),
    };
    crate::text::json(out, &whole)?;
    out.write_all(b"\n")
}

fn file_out<'a>(audit: &'a Audit, file: FileId, code: &'a DeviceCode) -> FileOut<'a> {
    let fault = |fault: &'a crate::format::gpu::DeviceDefect| DefectOut {
        member: fault.member.as_deref().map(Text),
        offset: fault.offset,
        entry: fault.entry.as_deref().map(Text),
        what: fault.what,
    };
    FileOut {
        path: Text::path(&audit.corpus.files[file].path),
        wrappers: code.wrappers,
        kpack: code.kpack,
        kpack_paths: code.kpack_paths.iter().map(|path| Text(path)).collect(),
        bundles: code.containers.iter().map(bundle).collect(),
        faults: code.faults.iter().map(fault).collect(),
        unchecked: code.unchecked.iter().map(fault).collect(),
    }
}

fn database(database: &Database) -> DatabaseOut<'_> {
    let header = database.header.and_then(Result::ok);
    DatabaseOut {
        path: Text::path(&database.path),
        kind: database.name.kind.name(),
        target: database.name.target.as_ref().map(ToString::to_string),
        compute_units: database.name.compute_units,
        size: database.size,
        page_size: header.map(|header| header.page_size),
        pages: header.map(|header| header.pages),
        fault: database.header.and_then(Result::err),
    }
}

fn bundle(container: &Container) -> BundleOut<'_> {
    BundleOut {
        member: container.member.as_deref().map(Text),
        kind: container.kind.name(),
        version: container.version,
        offset: container.offset,
        size: container.size,
        compression: container.compression.map(crate::format::gpu::Compression::name),
        uncompressed_size: container.uncompressed_size,
        entries: container.entries.iter().map(entry).collect(),
    }
}

fn entry(entry: &ContainerEntry) -> EntryOut<'_> {
    let metadata = entry.code.as_ref().and_then(|code| code.metadata.as_ref());
    EntryOut {
        id: Text(&entry.id),
        target: entry.target().map(Text),
        offset: entry.offset,
        size: entry.size,
        code_object_version: entry.code.as_ref().map(|code| code.version),
        kernels: metadata.map(|metadata| metadata.kernels.iter().map(|k| Text(k)).collect()),
    }
}

fn scope<'a>(scope: &'a CoverageScope) -> ScopeOut<'a> {
    let targets = |row: &super::CoverageRow| {
        let pairs = scope.targets.iter().zip(&row.coverage);
        pairs.map(|(target, coverage)| (target.to_string(), coverage.name())).collect()
    };
    let library = |row: &'a super::CoverageRow| LibraryOut {
        path: Text::path(&row.path),
        targets: targets(row),
    };
    ScopeOut {
        root: scope.root.as_deref().map(Text::path),
        runtime: scope.runtime.as_deref().map(Text::path),
        loader: scope.profile.name(),
        reason: &scope.reason,
        libraries: scope.rows.iter().map(library).collect(),
    }
}
