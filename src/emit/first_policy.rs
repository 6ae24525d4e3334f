//! A first policy for a prefix that has findings. A few entries accept all findings, except
//! findings about unread files and about waivers. The first policy extends the policies of the
//! report, and their waivers and levels still apply. An entry covers findings of one rule and one
//! cause. The reason of an entry is a placeholder that a person must replace.

use super::Emitted;
use super::policy_waivers::{pattern, string};
use crate::catalogue::WAIVERS;
use crate::order::Arrange as _;
use crate::report::Report;
use crate::report::model::ReportFinding;
use crate::rules;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// If a cause has at most this number of files, each file gets its own entry. More files share one
/// entry, with a glob.
const MOST_FILES: usize = 4;
/// Maximum number of symbols or targets that an entry names.
const MOST_NAMES: usize = 50;

/// Makes the text of the first policy. `extends` names the policies that it extends. `day` is the
/// date in its first comment and in the reasons. The findings of a rule and cause get no entry if
/// TOML cannot hold one of their names.
pub fn first_policy(report: &Report, extends: &[String], day: &str) -> Emitted {
    let mut out = Emitted::default();
    let mut text = format!(
        "# Accepts the findings of {day}. Replace each reason by the real one, or fix the cause and \
         remove the entry.\n# `linkaudit policy check` reports errors.\nschema = 1\n"
    );
    if !extends.is_empty() {
        let names: Vec<String> =
            extends.iter().map(|name| format!("\"{}\"", string(name))).collect();
        let _ = writeln!(text, "extends = [{}]", names.join(", "));
    }
    let mut seen = BTreeSet::new();
    let mut groups: BTreeMap<(&str, &str), Vec<&ReportFinding>> = BTreeMap::new();
    // Findings about unread files get no waiver, because the files would stay unread. Findings
    // about waivers get none either, because the user should remove the reported waiver.
    for finding in report.faults().filter(|finding| !is_about_waiver(finding)) {
        groups.entry((&finding.rule, &finding.cause)).or_default().push(finding);
    }
    for ((rule, cause), findings) in groups {
        let title = report.causes.iter().find(|known| &*known.id == cause);
        let title = title.map(|cause| cause.title.replace(['\n', '\r'], " ")).unwrap_or_default();
        match entries(rule, &findings, day) {
            Ok(mut entries) => {
                // Two causes may have the same entry.
                entries.retain(|entry| seen.insert(entry.clone()));
                if !entries.is_empty() {
                    let _ = write!(text, "\n# {}: {title}\n{}", findings.len(), entries.concat());
                }
            }
            Err(name) => out.refuse(&name, "is not UTF-8 or has a control character"),
        }
    }
    out.bytes = text.into_bytes();
    out
}

/// True for a finding about a waiver of a policy.
pub fn is_about_waiver(finding: &ReportFinding) -> bool {
    rules::find(&finding.rule).is_some_and(|rule| rule.group.name == WAIVERS.name)
}

/// The entries for the findings of one rule and cause. The error is a name that cannot be written.
fn entries(rule: &str, findings: &[&ReportFinding], day: &str) -> Result<Vec<String>, Vec<u8>> {
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
    let targets = alternatives(findings, |finding| finding.target.as_deref())?;
    let symbols = alternatives(findings, |finding| finding.symbol.as_deref())?;
    let mut all = Vec::new();
    for glob in globs {
        let mut out = String::new();
        let _ = writeln!(out, "[[waive]]\nrule = \"{rule}\"\npath = \"{}\"", string(&glob));
        if let Some(library) = library {
            let _ = writeln!(out, "library = \"{}\"", string(&pattern(utf8(library)?, true)));
        }
        for (selector, names) in [("target", &targets), ("symbol", &symbols)] {
            if let Some(names) = names {
                let _ = writeln!(out, "{selector} = \"{}\"", string(names));
            }
        }
        let _ = writeln!(out, "reason = \"known on {day}: state why it is accepted\"");
        all.push(out);
    }
    Ok(all)
}

/// The glob for the names that `key` returns. `None` if a finding has no such name. Also `None` if
/// a glob cannot hold the names: there are more than [`MOST_NAMES`], or there are several and one
/// of them has a comma. The error is a name that cannot be written.
fn alternatives<'f>(
    findings: &[&'f ReportFinding],
    key: impl Fn(&'f ReportFinding) -> Option<&'f [u8]>,
) -> Result<Option<String>, Vec<u8>> {
    let names: Option<BTreeSet<&[u8]>> = findings.iter().map(|finding| key(finding)).collect();
    let Some(names) = names.filter(|names| names.len() <= MOST_NAMES) else { return Ok(None) };
    let glob = |name| utf8(name).map(|name| pattern(name, true));
    let names = names.into_iter().map(glob).collect::<Result<Vec<String>, _>>()?;
    Ok(match &names[..] {
        [one] => Some(one.clone()),
        // A comma in a name would separate two alternatives.
        names if names.iter().any(|name| name.contains(',')) => None,
        names => Some(format!("{{{}}}", names.join(","))),
    })
}

/// The value that `key` returns for all findings; `None` if the values differ, or if a finding has
/// none.
fn common<'f>(
    findings: &[&'f ReportFinding],
    key: impl Fn(&'f ReportFinding) -> Option<&'f [u8]>,
) -> Option<&'f [u8]> {
    let first = key(findings.first()?)?;
    findings.iter().all(|finding| key(finding) == Some(first)).then_some(first)
}

/// The glob for the files in the deepest directory that holds all of `paths`. It ends with `*` if
/// all files are directly in that directory, else with `**`.
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

/// A name as text. If a policy cannot hold it, the name is the error.
fn utf8(bytes: &[u8]) -> Result<&str, Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok();
    text.filter(|text| !text.contains(char::is_control)).ok_or_else(|| bytes.to_vec())
}
