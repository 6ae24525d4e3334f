//! `policy-waivers`: `[[waive]]` entries to paste into a policy file. Findings about unread files
//! get no entry. Equal entries are written once. The reasons are empty. A policy with an empty
//! reason is invalid, so a person must state each reason.

use super::{Emission, Emitted};
use crate::report::model::ReportFinding;
use crate::text::is_demangled;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let mut out = Emitted::default();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut text = String::new();
    // Findings about unread files get no waiver, because the files would stay unread.
    for finding in emission.report.faults() {
        match waiver(finding) {
            Ok(waiver) => {
                if seen.insert(waiver.clone()) {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(&waiver);
                }
            }
            Err(name) => out.refuse(&name, "is not UTF-8, as TOML must be"),
        }
    }
    out.bytes = text.into_bytes();
    out
}

/// The waiver of one finding. The error is a name that cannot be written.
fn waiver(finding: &ReportFinding) -> Result<String, Vec<u8>> {
    let mut out = format!("[[waive]]\nrule = \"{}\"\n", finding.rule);
    let selectors = [
        ("path", Some(finding.file.path.as_os_str().as_bytes())),
        ("symbol", finding.symbol.as_deref()),
        ("version", finding.version.as_deref()),
        ("library", finding.library.as_deref()),
        ("target", finding.target.as_deref()),
        ("member", finding.member.as_deref()),
        ("detail", finding.detail.as_deref()),
    ];
    for (key, value) in selectors {
        let Some(value) = value else { continue };
        let text = std::str::from_utf8(value).map_err(|_| value.to_vec())?;
        let is_name = !matches!(key, "path" | "detail");
        let _ = writeln!(out, "{key} = \"{}\"", string(&pattern(text, is_name)));
    }
    out.push_str("reason = \"\"\n");
    Ok(out)
}

/// A pattern that matches `text`. Policies reject white space in patterns for names, and names that
/// look demangled. Therefore `?` replaces white space in names, and `(` and `:` in names that look
/// demangled. No other character becomes a wildcard.
pub(super) fn pattern(text: &str, is_name: bool) -> String {
    let looks_demangled = is_name && is_demangled(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_name && c.is_whitespace() || looks_demangled && matches!(c, '(' | ':') {
            out.push('?');
            continue;
        }
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The text between the quotes of a basic TOML string. All characters except printable ASCII are
/// escaped, because they could control a terminal.
pub(super) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            c => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
    out
}
