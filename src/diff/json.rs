//! The JSON output of a comparison, with the schema `linkaudit.diff/1` (`docs/diff.schema.json`).

use super::Difference;
use crate::report::model::{Cause, ReportFinding, RuleRun};
use crate::text::json;
use serde::Serialize;
use std::io::{self, Write};

/// The name and version of the schema of the JSON output.
pub const SCHEMA: &str = "linkaudit.diff/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'a str,
    complete: bool,
    old: &'a str,
    new: &'a str,
    rules: &'a [RuleRun],
    causes: &'a [Cause],
    findings: &'a [ReportFinding],
    fixed: &'a [ReportFinding],
    added: &'a [String],
    unchanged: usize,
    waived: usize,
    same_files: usize,
    undecided: &'a [String],
}

/// Writes the comparison as one JSON document.
pub fn render(difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    let Difference { names: [old, new], worse, .. } = difference;
    json(
        out,
        &Document {
            schema: SCHEMA,
            complete: worse.complete,
            old,
            new,
            rules: &worse.rules,
            causes: &worse.causes,
            findings: &worse.findings,
            fixed: &difference.fixed,
            added: &difference.added,
            unchanged: difference.unchanged,
            waived: difference.waived,
            same_files: difference.same_files,
            undecided: &difference.undecided,
        },
    )?;
    writeln!(out)
}
