//! `gitlab`: a Code Quality report of GitLab. An issue is a cause in one file. Fingerprints are
//! unique, because GitLab shows one issue for each fingerprint.

use super::Rendering;
use super::alerts::{self, Alert, FailingLine, STALE_LINE};
use super::model::Report;
use crate::catalogue::Level;
use crate::text::{json, show_path};
use serde_json::{Value, json};
use std::io::{self, Write};

pub(super) fn render(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let alerts = alerts::reported(report);
    let lines = alerts::failing_lines(report, how);
    let lines = lines.iter().map(stale);
    let issues: Vec<Value> = alerts.iter().map(|alert| issue(alert, how)).chain(lines).collect();
    json(out, &issues)?;
    writeln!(out)
}

fn stale(line: &FailingLine) -> Value {
    json!({
        "description": line.text,
        "check_name": STALE_LINE,
        "fingerprint": line.fingerprint,
        "severity": "major",
        "location": { "path": line.path, "lines": { "begin": 1 } },
    })
}

fn issue(alert: &Alert<'_>, how: &Rendering<'_>) -> Value {
    let severity = match alert.level {
        _ if alert.is_input => "critical",
        Level::Error => "major",
        _ => "minor",
    };
    json!({
        "description": alert.headline(),
        "check_name": alert.rule,
        "fingerprint": alert.fingerprint,
        "severity": severity,
        "content": { "body": alert.lines().join("\n") },
        "location": {
            "path": show_path(&how.paths.relative(&alert.path)),
            "lines": { "begin": 1 },
        },
    })
}
