//! `json`: the whole model, by the schema `linkaudit.report/1` that lies in `docs/report.schema.json`,
//! written piece by piece and read back. The bytes depend on nothing but the model: no times, no
//! thread counts, no verbosity.

use super::Style;
use super::model::{Export, Facts, File, Report, SCHEMA};
use crate::text::json;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Items that one thread renders at a time, and room for them in bytes.
const SHARE: usize = 128;
const ROOM: usize = 128 << 10;
/// Shares for each thread between two writes: more would only fill memory.
const SHARES: usize = 4;

/// Writes a report. What `facts` has stands in for exports and bindings that the report holds itself.
pub(super) fn render(
    report: &Report,
    facts: Option<&dyn Facts>,
    _: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut object = Object { out, begun: false };
    object.value("schema", &report.schema)?;
    object.value("tool", &report.tool)?;
    object.value("policies", &report.policies)?;
    object.value("complete", &report.complete)?;
    object.value("totals", &report.totals)?;
    object.value("counts", &report.counts)?;
    object.value("rules", &report.rules)?;
    object.value("assumptions", &report.assumptions)?;
    object.list("causes", SHARE, report.causes.len(), |at| &report.causes[at])?;
    object.list("findings", SHARE, report.findings.len(), |at| &report.findings[at])?;
    object.list("waived", SHARE, report.waived.len(), |at| &report.waived[at])?;
    match facts {
        Some(facts) => {
            // One file may have a hundred thousand exports.
            let file =
                |at: usize| FileWithExports { file: &report.files[at], exports: facts.exports(at) };
            object.list("files", 1, report.files.len(), file)?;
        }
        None => object.list("files", SHARE, report.files.len(), |at| &report.files[at])?,
    }
    object.value("archives", &report.archives)?;
    if !report.stale.is_empty() {
        object.value("stale", &report.stale)?;
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

/// Why a report cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is no JSON, or not of this shape.
    #[error("not a linkaudit report: {0}")]
    Shape(#[from] serde_json::Error),
    /// Another schema.
    #[error("the report has the schema {0:?}; this version reads {SCHEMA:?}")]
    Schema(String),
}

/// Reads a report back. Keys that this version does not know are left out.
pub fn read(bytes: &[u8]) -> Result<Report, Unreadable> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    // Another schema is told by its name, not by what its shape lacks.
    let Head { schema } = serde_json::from_slice(bytes)?;
    if schema != SCHEMA {
        return Err(Unreadable::Schema(schema));
    }
    Ok(serde_json::from_slice(bytes)?)
}

#[derive(Serialize)]
struct FileWithExports<'a> {
    #[serde(flatten)]
    file: &'a File,
    exports: Vec<Export<'a>>,
}

/// An object that is written key by key.
struct Object<'a> {
    out: &'a mut dyn Write,
    begun: bool,
}

impl Object<'_> {
    fn key(&mut self, key: &str) -> io::Result<()> {
        let before = if self.begun { "," } else { "{" };
        self.begun = true;
        write!(self.out, "{before}\"{key}\":")
    }

    fn value(&mut self, key: &str, value: &impl Serialize) -> io::Result<()> {
        self.key(key)?;
        Ok(json(self.out, value)?)
    }

    /// A list of `len` items, which threads make and render `share` at a time; the order is that of
    /// their places.
    fn list<T: Serialize>(
        &mut self,
        key: &str,
        share: usize,
        len: usize,
        item: impl Fn(usize) -> T + Sync,
    ) -> io::Result<()> {
        self.key(key)?;
        let mut before: &[u8] = b"[";
        let wave = share * SHARES * rayon::current_num_threads();
        for begin in (0..len).step_by(wave) {
            let end = len.min(begin + wave);
            let places: Vec<usize> = (begin..end).collect();
            let rendered: Vec<io::Result<Vec<u8>>> =
                places.par_chunks(share).map(|places| items(places, &item)).collect();
            for bytes in rendered {
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

/// Items separated by commas.
fn items<T: Serialize>(places: &[usize], item: impl Fn(usize) -> T) -> io::Result<Vec<u8>> {
    // Room that need not grow for most shares.
    let mut out = Vec::with_capacity(ROOM);
    for at in places {
        if !out.is_empty() {
            out.push(b',');
        }
        json(&mut out, &item(*at))?;
    }
    Ok(out)
}
