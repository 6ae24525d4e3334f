//! The `files` of a JSON report: one ELF file that was read an entry, with its needs as the first root
//! that loads it met them.

use crate::blame::FirstLoader;
use crate::facts::FileFacts;
use crate::format::elf::{Object, machine};
use crate::id::{FileId, RootId};
use crate::report::Report;
use crate::resolve::Edge;
use crate::text::Text;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// What makes the entries.
pub(super) struct Files<'a> {
    report: &'a Report<'a>,
    loaders: FirstLoader,
}

#[derive(Serialize)]
pub(super) struct FileOut<'a> {
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

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Export<'a> {
    name: &'a [u8],
    version: Option<&'a [u8]>,
}

impl Serialize for Export<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Export", 2)?;
        out.serialize_field("name", &Text(self.name))?;
        out.serialize_field("version", &self.version.map(Text))?;
        out.end()
    }
}

impl<'a> Files<'a> {
    pub(super) fn new(report: &'a Report<'a>) -> Self {
        Self { report, loaders: FirstLoader::new(&report.audit.closures) }
    }

    /// All ELF files in the order of their paths.
    pub(super) fn objects(&self) -> Vec<(FileId, &'a FileFacts, &'a Object)> {
        let files = self.report.audit.corpus.files.entries();
        let mut out: Vec<_> =
            files.filter_map(|(file, facts)| Some((file, facts, facts.object()?))).collect();
        out.sort_by(|(_, a, _), (_, b, _)| a.path.as_os_str().cmp(b.path.as_os_str()));
        out
    }

    /// The entry of one file.
    pub(super) fn file(
        &self,
        (file, facts, object): (FileId, &'a FileFacts, &'a Object),
    ) -> FileOut<'a> {
        let string = |s: Option<crate::format::elf::Str>| s.map(|s| Text(object.str(s)));
        let audit = self.report.audit;
        let root = self.loaders.of(file);
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
        let own = |edge: &&Edge| closure.module(edge.from).file == Some(file);
        let needs = closure.edges.iter().filter(own);
        needs
            .map(|edge| {
                let module = closure.module(edge.to);
                NeedOut {
                    name: Text(audit.text(edge.raw)),
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
        .exports()
        .map(|symbol| Export {
            name: symbol.name,
            version: object.versions.entry(symbol.versym & 0x7fff).map(|e| object.str(e.name)),
        })
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}
