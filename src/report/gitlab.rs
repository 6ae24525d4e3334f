//! `gitlab`: a Code Quality report of GitLab. An issue is a cause in one file. Fingerprints are
//! unique, because GitLab shows one issue for each fingerprint.

use super::Rendering;
use super::alerts::{self, Alert};
use super::model::Report;
use crate::catalogue::Level;
use crate::text::{json, show_path};
use serde_json::{Value, json};
use std::io::{self, Write};

pub(super) fn render(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let alerts = alerts::reported(report);
    let issues: Vec<Value> = alerts.iter().map(|alert| issue(alert, how)).collect();
    json(out, &issues)?;
    writeln!(out)
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
