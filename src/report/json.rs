//! `json`: writes the whole model by the schema `linkaudit.report/1` (`docs/report.schema.json`),
//! and reads it back. The bytes depend only on the model: thread counts and `-v` do not change
//! them.

use super::Rendering;
use super::model::{Export, File, Imports, Report, SCHEMA};
use crate::parallel;
use crate::text::json;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Number of items in a share, which one thread renders.
const SHARE: usize = 128;
/// Initial size of the buffer for a rendered share, in bytes.
const ROOM: usize = 128 << 10;
/// Number of shares that each thread renders between two writes. A larger number uses more memory.
const SHARES: usize = 4;

/// Writes a report. If `facts` is given, exports, imports and bindings come from `facts` instead of
/// the report.
pub(super) fn render(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let facts = how.facts;
    let mut object = ObjectWriter { out, begun: false };
    object.value("schema", &report.schema)?;
    object.value("tool", &report.tool)?;
    object.value("policies", &report.policies)?;
    object.value("complete", &report.complete)?;
    object.value("totals", &report.totals)?;
    object.value("counts", &report.counts)?;
    object.value("rules", &report.rules)?;
    object.value("assumptions", &report.assumptions)?;
    object.list("causes", SHARE, report.causes.len(), |at| &report.causes[at])?;
    object.value("groups", &report.groups)?;
    object.value("scopes", &report.scopes)?;
    object.list("findings", SHARE, report.findings.len(), |at| &report.findings[at])?;
    object.list("waived", SHARE, report.waived.len(), |at| &report.waived[at])?;
    match facts {
        Some(facts) => {
            // Each share has one file, because a file may have a hundred thousand exports.
            let file = |at: usize| FileWithSymbols {
                file: &report.files[at],
                exports: facts.exports(at),
                imports: facts.imports(at),
            };
            object.list("files", 1, report.files.len(), file)?;
        }
        None => object.list("files", SHARE, report.files.len(), |at| &report.files[at])?,
    }
    object.value("archives", &report.archives)?;
    if let Some(links) = &report.directory_links {
        object.value("directory_links", links)?;
    }
    if !report.stale.is_empty() {
        object.value("stale", &report.stale)?;
    }
    if !report.platform.is_empty() {
        object.value("platform", &report.platform)?;
    }
    if let Some(layers) = &report.layers {
        object.value("layers", layers)?;
    }
    if !report.like_stages.is_empty() {
        object.value("like_stages", &report.like_stages)?;
    }
    if report.compared {
        object.value("compared", &report.compared)?;
    }
    if let Some(found) = &report.cross_check {
        object.value("cross_check", found)?;
    }
    match (facts, &report.bindings) {
        (Some(facts), _) => object.list("bindings", 1, facts.roots(), |at| facts.bindings(at))?,
        (None, Some(bindings)) => object.list("bindings", 1, bindings.len(), |at| &bindings[at])?,
        (None, None) => {}
    }
    object.end()
}

/// The reason why bytes cannot be read as a report.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Invalid JSON, or JSON that does not match the schema.
    #[error("not a linkaudit report: {0}")]
    Shape(serde_json::Error),
    /// The report has another schema.
    #[error("unsupported schema {0:?}; this version reads {SCHEMA:?}")]
    Schema(String),
}

/// Reads a JSON report. Unknown keys are ignored. Fails for invalid JSON and for another schema.
pub fn read(bytes: &[u8]) -> Result<Report, Unreadable> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let report = serde_json::from_slice::<Report>(bytes);
    let schema = match &report {
        Ok(report) => report.schema.clone(),
        // A report of another schema may lack keys of this schema. An error about the schema is
        // more useful than an error about a missing key.
        Err(_) => serde_json::from_slice::<Head>(bytes).map_err(Unreadable::Shape)?.schema,
    };
    if schema != SCHEMA {
        return Err(Unreadable::Schema(schema));
    }
    report.map_err(Unreadable::Shape)
}

/// The key of the bindings, and the start of their list. The writer puts the bindings last, because
/// they are nine tenths of a report with `--facts`. These bytes occur only as a key, because JSON
/// escapes quotes in strings.
pub const BINDINGS: &[u8] = b",\"bindings\":[";

/// The last bytes of a complete report that has the bindings of at least one entry point.
pub const END: &[u8] = b"}]}\n";

/// Reads a report without its bindings. `bytes` are the bytes of the report before [`BINDINGS`].
/// Fails like [`read`].
pub fn read_without_bindings(mut bytes: Vec<u8>) -> Result<Report, Unreadable> {
    bytes.push(b'}');
    read(&bytes)
}

#[derive(Serialize)]
struct FileWithSymbols<'a> {
    #[serde(flatten)]
    file: &'a File,
    exports: Vec<Export<'a>>,
    imports: Vec<Imports<'a>>,
}

/// Appends the item with the given index to the buffer.
type ItemWriter<'a> = dyn Fn(usize, &mut Vec<u8>) -> io::Result<()> + Sync + 'a;

/// A JSON object, written key by key.
struct ObjectWriter<'a> {
    out: &'a mut dyn Write,
    begun: bool,
}

impl ObjectWriter<'_> {
    fn key(&mut self, key: &str) -> io::Result<()> {
        let before = if self.begun { "," } else { "{" };
        self.begun = true;
        write!(self.out, "{before}\"{key}\":")
    }

    fn value(&mut self, key: &str, value: &impl Serialize) -> io::Result<()> {
        self.key(key)?;
        Ok(json(self.out, value)?)
    }

    /// Writes a list of `len` items in the order of their indices. Each thread renders `share`
    /// items at a time.
    fn list<T: Serialize>(
        &mut self,
        key: &str,
        share: usize,
        len: usize,
        item: impl Fn(usize) -> T + Sync,
    ) -> io::Result<()> {
        self.rendered(key, share, len, &|at, out| Ok(json(out, &item(at))?))
    }

    fn rendered(
        &mut self,
        key: &str,
        share: usize,
        len: usize,
        item: &ItemWriter<'_>,
    ) -> io::Result<()> {
        self.key(key)?;
        let mut before: &[u8] = b"[";
        let wave = share * SHARES * rayon::current_num_threads();
        for begin in (0..len).step_by(wave) {
            let end = len.min(begin + wave);
            let places: Vec<usize> = (begin..end).collect();
            let shares: Vec<&[usize]> = places.chunks(share).collect();
            for bytes in parallel::map(&shares, |places| items(places, item)) {
                self.out.write_all(before)?;
                self.out.write_all(&bytes?)?;
                before = b",";
            }
        }
        if len == 0 {
            self.out.write_all(before)?;
        }
        self.out.write_all(b"]")
    }

    fn end(self) -> io::Result<()> {
        self.out.write_all(b"}\n")
    }
}

/// Renders the items with the indices `places`, separated by commas.
fn items(places: &[usize], item: &ItemWriter<'_>) -> io::Result<Vec<u8>> {
    // The initial size is enough for most shares.
    let mut out = Vec::with_capacity(ROOM);
    for at in places {
        if !out.is_empty() {
            out.push(b',');
        }
        item(*at, &mut out)?;
    }
    Ok(out)
}
