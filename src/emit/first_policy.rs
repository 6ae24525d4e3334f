//! A first policy for a prefix that has findings: it accepts all of them, in few entries. An entry stands
//! for the findings of one rule and one cause, and each has a reason that people must replace.

use super::Emitted;
use super::policy_waivers::{pattern, string};
use crate::order::Arrange as _;
use crate::report::Report;
use crate::report::model::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Files that are named one by one; more become a glob.
const MOST_FILES: usize = 4;

/// The policy. `day` is the date that the reasons state.
pub fn first_policy(report: &Report, day: &str) -> Emitted {
    let mut out = Emitted::default();
    let mut text = format!(
        "# Accepts the findings of {day}. Replace each reason by the real one, or mend the cause and \
         remove the entry.\n# `linkaudit policy check` reports errors.\nschema = 1\n"
    );
    let mut seen = BTreeSet::new();
    let mut groups: BTreeMap<(&str, &str), Vec<&Finding>> = BTreeMap::new();
    // A waiver does not make an unread file read.
    for finding in report.faults() {
        groups.entry((&finding.rule, &finding.cause)).or_default().push(finding);
    }
    for ((rule, cause), findings) in groups {
        let title = report.causes.iter().find(|known| &*known.id == cause);
        let title = title.map(|cause| cause.title.replace(['\n', '\r'], " ")).unwrap_or_default();
        match entries(rule, &findings, day) {
            Ok(mut entries) => {
                // Two causes may come to one glob.
                entries.retain(|entry| seen.insert(entry.clone()));
                if !entries.is_empty() {
                    let _ = write!(text, "\n# {}: {title}\n{}", findings.len(), entries.concat());
                }
            }
            Err(name) => out.refuse(&name, "is not UTF-8, as TOML must be"),
        }
    }
    out.bytes = text.into_bytes();
    out
}

/// The entries for the findings of one rule and cause; the name that cannot be written, if there is one.
fn entries(rule: &str, findings: &[&Finding], day: &str) -> Result<Vec<String>, Vec<u8>> {
    let mut paths: Vec<&Path> = findings.iter().map(|finding| &*finding.file.path).collect();
    paths.arrange();
    paths.dedup();
    let globs = if paths.len() <= MOST_FILES {
        let exact =
            |path: &&Path| utf8(path.as_os_str().as_bytes()).map(|text| pattern(text, false));
        paths.iter().map(exact).collect::<Result<Vec<_>, _>>()?
    } else {
        vec![around(&paths)?]
    };
    let library = common(findings, |finding| finding.library.as_deref());
    let symbol = common(findings, |finding| finding.symbol.as_deref());
    let mut all = Vec::new();
    for glob in globs {
        let mut out = String::new();
        let _ = writeln!(out, "[[waive]]\nrule = \"{rule}\"\npath = \"{}\"", string(&glob));
        for (key, value) in [("library", library), ("symbol", symbol)] {
            if let Some(value) = value {
                let _ = writeln!(out, "{key} = \"{}\"", string(&pattern(utf8(value)?, true)));
            }
        }
        let _ = writeln!(out, "reason = \"known on {day}: state why it is accepted\"");
        all.push(out);
    }
    Ok(all)
}

/// The value that all findings have.
fn common<'f>(
    findings: &[&'f Finding],
    key: impl Fn(&'f Finding) -> Option<&'f [u8]>,
) -> Option<&'f [u8]> {
    let first = key(findings.first()?)?;
    findings.iter().all(|finding| key(finding) == Some(first)).then_some(first)
}

/// The glob for all files below the deepest directory that holds all of `paths`.
fn around(paths: &[&Path]) -> Result<String, Vec<u8>> {
    let mut base = paths.first().and_then(|path| path.parent()).unwrap_or(Path::new(""));
    while !paths.iter().all(|path| path.starts_with(base)) {
        base = base.parent().unwrap_or(Path::new(""));
    }
    let glob = if paths.iter().all(|path| path.parent() == Some(base)) { "*" } else { "**" };
    let base = pattern(utf8(base.as_os_str().as_bytes())?, false);
    Ok(match &*base {
        "" => glob.to_owned(),
        "/" => format!("/{glob}"),
        base => format!("{base}/{glob}"),
    })
}

fn utf8(bytes: &[u8]) -> Result<&str, Vec<u8>> {
    std::str::from_utf8(bytes).map_err(|_| bytes.to_vec())
}
