//! `sarif`: SARIF 2.1.0 (OASIS), for GitHub code scanning, Azure DevOps, Jenkins and editors. A
//! result is an alert: a cause in one file. A report without findings is written too, because it
//! closes the alerts of earlier runs.

use super::alerts::{self, Alert};
use super::model::{Report, ReportFinding, WaivedBy};
use super::{Paths, Rendering};
use crate::catalogue::Level;
use crate::order::Arrange as _;
use crate::rules;
use crate::text::{json, show_path};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Maximum number of results in one run: GitHub rejects a file with more results.
const MOST: usize = 25_000;
/// Maximum number of notifications about lines of the baseline.
const MOST_LINES: usize = 100;
/// The home page of the program.
const HOME: &str = "https://docs.rs/linkaudit";
/// The `uriBaseId` of the directory that relative paths start from.
const BASE: &str = "SRCROOT";

pub(super) fn render(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut alerts = alerts::all(report);
    let left_out = alerts.len().saturating_sub(MOST);
    if left_out > 0 {
        // The sort is stable, so alerts of one severity keep the order of the report.
        alerts.arrange_by_key(|alert| (alert.is_waived(), std::cmp::Reverse(alert.severity())));
        alerts.truncate(MOST);
    }
    let mut ids: Vec<&str> = report.rules.iter().map(|rule| &*rule.id).collect();
    ids.extend(alerts.iter().map(|alert| alert.rule));
    ids.arrange();
    ids.dedup();
    let results: Vec<Value> =
        alerts.iter().map(|alert| result(alert, &ids, how.paths, report.compared)).collect();
    let mut run = json!({
        "tool": { "driver": {
            "name": report.tool.name,
            "semanticVersion": report.tool.version,
            "informationUri": HOME,
            "rules": ids.iter().map(|id| rule(report, id)).collect::<Vec<_>>(),
        }},
        "invocations": [{
            "executionSuccessful": report.complete,
            "toolExecutionNotifications": notifications(report, how, left_out),
        }],
        "columnKind": "utf16CodeUnits",
        "results": results,
    });
    if let Some(base) = how.paths.base_uri() {
        run["originalUriBaseIds"] = json!({ BASE: { "uri": base } });
    }
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    json(out, &document)?;
    writeln!(out)
}

/// The notifications of the run: that the audit is incomplete, that the file has only a part of the
/// results, and the lines of the baseline that fail the run. Empty if none is the case.
fn notifications(report: &Report, how: &Rendering<'_>, left_out: usize) -> Vec<Value> {
    let mut texts = Vec::new();
    if !report.complete {
        texts.push("The audit is incomplete: some files could not be read or decided.".to_owned());
    }
    if left_out > 0 {
        texts.push(format!("{left_out} results are left out: at most {MOST} are written."));
    }
    let lines = alerts::failing_lines(report, how);
    let mut stale: Vec<String> =
        lines.iter().take(MOST_LINES).map(|one| one.text.clone()).collect();
    if lines.len() > MOST_LINES {
        stale.push(format!("{} more lines of the baseline are stale.", lines.len() - MOST_LINES));
    }
    let notification = |level, text: String| json!({ "level": level, "message": { "text": text } });
    let warnings = texts.into_iter().map(|text| notification("warning", text));
    warnings.chain(stale.into_iter().map(|text| notification("error", text))).collect()
}

/// The SARIF description of a rule (`reportingDescriptor`), with the rule's page as help.
fn rule(report: &Report, id: &str) -> Value {
    let ran = report.rules.iter().find(|rule| rule.id == id);
    let known = rules::find(id);
    let summary = known.map_or(id, |rule| rule.summary);
    let docs = known.map_or(summary, |rule| rule.docs.trim());
    let level = ran.map(|rule| rule.level).or(known.map(|rule| rule.level));
    let group = ran.map_or("linkage", |rule| &*rule.group);
    json!({
        "id": id,
        "name": pascal(id),
        "shortDescription": { "text": ended(summary, &[]) },
        "fullDescription": { "text": ended(summary, &[]) },
        "help": { "text": docs, "markdown": docs },
        "defaultConfiguration": { "level": level_name(level.unwrap_or(Level::Warning)) },
        "properties": { "tags": [group, "linkage"] },
    })
}

fn result(alert: &Alert<'_>, ids: &[&str], paths: &Paths, compared: bool) -> Value {
    let uri = paths.uri(&alert.path);
    let mut location = json!({ "uri": uri });
    if paths.base.is_some() && !uri.starts_with("file:") {
        location["uriBaseId"] = json!(BASE);
    }
    let mut text = ended(&alert.headline(), &alert.findings);
    if alert.findings.len() > 1 {
        text = format!("{text}\n{}", alert.lines().join("\n"));
    }
    if let Some(fix) = alerts::fix_of(alert) {
        text = format!("{text}\nFix: {fix}.");
    }
    let fingerprint = &alert.fingerprint;
    let mut out = json!({
        "ruleId": alert.rule,
        "ruleIndex": ids.binary_search(&alert.rule).unwrap_or_default(),
        "level": level_name(alert.level),
        "message": { "text": text },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": location,
                // Viewers require a line, although the file is binary.
                "region": { "startLine": 1 },
            },
        }],
        "partialFingerprints": {
            "linkaudit/v1": fingerprint,
            "primaryLocationLineHash": fingerprint,
        },
        "properties": {
            "file": show_path(&alert.path),
            "findings": alert.findings.len(),
            "fingerprints": alert.findings.iter().take(100).map(|f| &f.fingerprint).collect::<Vec<_>>(),
        },
    });
    if let Some(cause) = alert.cause {
        out["properties"]["cause"] = json!(&*cause.id);
    }
    if compared {
        let known = alert.waivers.iter().any(|waiver| waiver.by == WaivedBy::Baseline);
        out["baselineState"] = json!(if known { "unchanged" } else { "new" });
    }
    if alert.is_waived() {
        let suppressions = alert.waivers.iter().map(|waiver| {
            json!({
                "kind": "external",
                "status": "accepted",
                "justification": format!("{} ({})", alerts::reason(waiver), waiver.source),
            })
        });
        out["suppressions"] = suppressions.collect();
    }
    out
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Allow => "note",
    }
}

/// `text` as a sentence, with a capital letter at the start and a full stop at the end. A symbol of
/// `findings` at the start keeps its case.
fn ended(text: &str, findings: &[&ReportFinding]) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    // A name of a file or symbol at the start keeps its case.
    let word = text.split(' ').next().unwrap_or_default().trim_end_matches([':', ',']);
    let begins_with_name =
        word.contains(['.', '_', '/']) || findings.iter().any(|finding| names(finding, word));
    let text =
        if begins_with_name { text.to_owned() } else { format!("{first}{}", chars.as_str()) };
    if text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") }
}

/// True if `word` is a symbol of the finding. Findings about several symbols have them as evidence.
fn names(finding: &ReportFinding, word: &str) -> bool {
    let listed = finding.evidence.iter().filter_map(|evidence| evidence.symbol.as_deref());
    finding.symbol.as_deref().into_iter().chain(listed).any(|symbol| symbol == word.as_bytes())
}

/// Converts `missing-library` to `MissingLibrary`. SARIF requires that a rule's name differs from
/// its id, so `malformed` becomes `MalformedFile`.
fn pascal(id: &str) -> String {
    let words = id.split('-').chain((!id.contains('-')).then_some("file"));
    let capital = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    words.map(capital).collect()
}
