//! Checks for the texts of a policy, with one function for each kind of text. Each error states a
//! correction. [`super::words`] lists the kinds.

use super::Pattern;
use crate::text::{is_demangled, nearest, show};

/// An error in a value, with its correction.
pub(super) struct ValueError {
    /// The value that is the subject of the sentence; `None` if the key is the subject.
    value: Option<String>,
    /// The error, as a sentence without its subject.
    wrong: String,
    /// The correction, as an instruction to the author.
    pub(super) right: String,
}

fn fault<T>(wrong: impl Into<String>, right: impl Into<String>) -> Result<T, ValueError> {
    Err(ValueError { value: None, wrong: wrong.into(), right: right.into() })
}

/// An error whose subject is `value`.
fn fault_of(value: &str, wrong: impl Into<String>, right: impl Into<String>) -> ValueError {
    let value = Some(show(value.as_bytes()));
    ValueError { value, wrong: wrong.into(), right: right.into() }
}

impl ValueError {
    /// The error, as a sentence about `key`.
    pub(super) fn about(&self, key: &str) -> String {
        match &self.value {
            Some(value) => format!("`{value}` in {key} {}", self.wrong),
            None => format!("{key} {}", self.wrong),
        }
    }
}

/// A correction for an unknown text: `did you mean …?`, or else the known texts. Only rules and
/// groups have more than 12 known texts: for these, the correction is the command that lists them.
pub(super) fn suggestion(typed: &str, known: &[&str]) -> String {
    match nearest(typed, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.len() <= 12 => format!("use one of {}", known.join(", ")),
        None => "list the rules and groups: linkaudit explain".to_owned(),
    }
}

/// Checks that a text is one of `known`; `what` is the kind of these texts, with an article.
pub(super) fn one_of(text: &str, what: &str, known: &[&str]) -> Result<(), ValueError> {
    if known.contains(&text) {
        return Ok(());
    }
    let wrong = format!("names an unknown {}: `{}`", bare(what), show(text.as_bytes()));
    fault(wrong, suggestion(text, known))
}

/// The noun of `what`, without its article.
fn bare(what: &str) -> &str {
    what.split_once(' ').map_or(what, |(_, bare)| bare)
}

/// The error for the name of a group where a rule is required.
pub(super) fn group_for_rule(text: &str) -> Result<(), ValueError> {
    fault(format!("is a group: `{text}`"), "name one rule: a waiver cannot name a group")
}

pub(super) fn solid_line(text: &str) -> Result<(), ValueError> {
    if text.trim().is_empty() {
        return fault("is empty", "write something, or remove the key");
    }
    match text.chars().find(|c| c.is_control()) {
        Some(c) => fault(
            format!("holds the control character {}", c.escape_unicode()),
            "write one line of text",
        ),
        None => Ok(()),
    }
}

pub(super) fn reason(text: &str) -> Result<(), ValueError> {
    if text.trim().is_empty() {
        return fault("is empty", "write the reason");
    }
    Ok(())
}

/// Checks the pattern `text`; `made` is the result of parsing it.
fn glob(text: &str, made: Result<Pattern, String>) -> Result<(), ValueError> {
    let right = r"write `\` before a literal `[`, `]`, `{`, `}` or `\`";
    made.map(drop).map_err(|error| fault_of(text, format!("is not a pattern: {error}"), right))
}

pub(super) fn any_path(text: &str) -> Result<(), ValueError> {
    solid_line(text)?;
    let parts = || text.strip_prefix('/').unwrap_or(text).split('/');
    if parts().any(|part| part == "..") {
        return fault("cannot match: it contains `..`", "paths of findings have no `..`");
    }
    if parts().any(|part| part == ".") {
        return fault("cannot match: it contains `.`", "remove `./`");
    }
    if text.ends_with('/') {
        let right = format!("write `{}**` for all files in it", show(text.as_bytes()));
        return fault("cannot match: it ends with `/`", right);
    }
    if parts().any(str::is_empty) {
        return fault("cannot match: it contains `//`", "write one `/`");
    }
    glob(text, Pattern::path(text))
}

pub(super) fn path(text: &str) -> Result<(), ValueError> {
    if text.starts_with('/') {
        let base = text.rsplit('/').next().filter(|base| !base.is_empty()).unwrap_or("*");
        let right = format!(
            "paths are relative to the prefix; `**/{}` matches at any depth",
            show(base.as_bytes())
        );
        return fault("begins with `/`", right);
    }
    any_path(text)
}

pub(super) fn file_below(text: &str) -> Result<(), ValueError> {
    path(text)?;
    if text.contains(['*', '?', '[', '{']) {
        return fault("is a pattern", "name one file");
    }
    Ok(())
}

pub(super) fn file_name(text: &str) -> Result<(), ValueError> {
    solid_line(text)?;
    match text.rsplit_once('/') {
        Some((_, base)) => {
            fault("is a path", format!("write the file name alone: `{}`", show(base.as_bytes())))
        }
        None => Ok(()),
    }
}

pub(super) fn no_space(text: &str, what: &str) -> Result<(), ValueError> {
    if text.is_empty() {
        return fault("is empty", "write something, or remove the key");
    }
    if text.contains(char::is_whitespace) {
        return fault("cannot match: it contains white space", format!("{what} has none"));
    }
    solid_line(text)
}

pub(super) fn name(text: &str) -> Result<(), ValueError> {
    no_space(text, "a name")?;
    glob(text, Pattern::name(text))
}

/// The correction for a name that is not a raw symbol.
const RAW: &str = "write the raw name: `linkaudit why NAME PATH` shows it";

/// The correction for a pattern that looks like a demangled name. The raw names of some compilers
/// look like this too.
const RAW_PATTERN: &str = "write the raw name: `linkaudit why NAME PATH` shows it; if the raw name \
                           looks so, write `?` for `(` and `:`";

/// Rejects a demangled name, because policies compare raw names; `right` is the correction.
fn raw_name(text: &str, right: &str) -> Result<(), ValueError> {
    if is_demangled(text) {
        return fault("looks like a demangled name, and names in files are raw", right);
    }
    match text.trim() {
        // For example, `operator new`.
        name if name.contains(char::is_whitespace) => {
            fault("cannot match: it contains white space", RAW)
        }
        _ => Ok(()),
    }
}

/// Checks a pattern that is compared with raw symbols.
pub(super) fn symbols(text: &str) -> Result<(), ValueError> {
    raw_name(text, RAW_PATTERN)?;
    name(text)
}

pub(super) fn line(text: &str) -> Result<(), ValueError> {
    solid_line(text)?;
    glob(text, Pattern::name(text))
}

/// Checks text that is compared literally.
fn plain(text: &str, what: &str) -> Result<(), ValueError> {
    no_space(text, what)?;
    if text.contains(['*', '?', '[', ']', '{', '}', '\\']) {
        return fault("is a pattern", format!("write one name: {what} is compared literally"));
    }
    Ok(())
}

pub(super) fn symbol(text: &str) -> Result<(), ValueError> {
    raw_name(text, RAW)?;
    match text.split_once('@') {
        Some((name, _)) => {
            let name = show(name.as_bytes());
            fault("has a version", format!("write the name alone: `{name}` of any version counts"))
        }
        None => plain(text, "a required symbol"),
    }
}

pub(super) fn package_name(text: &str) -> Result<(), ValueError> {
    plain(text, "the name of a package")?;
    file_name(text)
}

pub(super) fn soname(text: &str) -> Result<(), ValueError> {
    plain(text, "a soname")
}

/// Checks the symbol of a `[[provider]]` entry: a raw name that may have `{T}`.
pub(super) fn symbol_template(text: &str) -> Result<(), ValueError> {
    raw_name(text, RAW)?;
    template(text)
}

/// Checks a template: `{T}` may occur once. Other braces, `*` and `?` are errors.
pub(super) fn template(text: &str) -> Result<(), ValueError> {
    no_space(text, "a symbol")?;
    if text.replacen("{T}", "", 1).contains(['{', '}', '*', '?']) {
        return fault("is not a template", "write `{T}` exactly once, and no other wildcard");
    }
    Ok(())
}

pub(super) fn archive_name(text: &str) -> Result<(), ValueError> {
    template(text)?;
    let base = text.rsplit('/').next().unwrap_or(text);
    let bare = base.strip_suffix(".a").map(|base| base.strip_prefix("lib").unwrap_or(base));
    match bare {
        Some(bare) => fault("is a file name", format!("write `{}`", show(bare.as_bytes()))),
        None if base != text => fault("is a path", format!("write `{}`", show(base.as_bytes()))),
        None => Ok(()),
    }
}

pub(super) fn family(text: &str) -> Result<(), ValueError> {
    no_space(text, "a family")?;
    if let Some((family, number)) = text.rsplit_once('_')
        && number.starts_with(|c: char| c.is_ascii_digit())
        && !family.is_empty()
    {
        let (family, number) = (show(family.as_bytes()), show(number.as_bytes()));
        return fault("holds a number", format!("write `{family} = \"{number}\"`"));
    }
    if text.contains(['*', '?', '@']) {
        return fault(
            "is not a version family",
            "write the part of versions before `_`, as in `GLIBC`",
        );
    }
    Ok(())
}

/// The parts of a version number; `None` if a part is not a number.
pub(super) fn parts(text: &str) -> Option<Vec<u32>> {
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    text.split('.').map(|part| part.parse().ok().filter(|_| digits(part))).collect()
}

pub(super) fn number(text: &str) -> Result<(), ValueError> {
    if parts(text).is_some() {
        return Ok(());
    }
    let shown = show(text.as_bytes());
    let bare = text.rsplit_once('_').map(|(_, number)| number).filter(|n| parts(n).is_some());
    let right = match bare {
        Some(number) => format!("write \"{number}\""),
        None => "write numbers with dots between them, as in \"2.17\"".to_owned(),
    };
    fault(format!("is not a version number: `{shown}`"), right)
}

pub(super) fn search_entry(text: &str) -> Result<(), ValueError> {
    solid_line(text)?;
    if text.starts_with('/') || text.starts_with('$') {
        return Ok(());
    }
    fault("is neither absolute nor a token", "write `$ORIGIN` or a path that begins with `/`")
}

/// Checks a target id: `gfx90a`, `gfx11-generic`, `gfx90a:sramecc+:xnack-` (AMDGPUUsage, target
/// id).
pub(super) fn gpu_target(text: &str) -> Result<(), ValueError> {
    let mut parts = text.split(':');
    let processor = parts.next().unwrap_or_default();
    let known = processor.strip_prefix("gfx").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    });
    let switches = ["sramecc+", "sramecc-", "xnack+", "xnack-"];
    if known && parts.all(|part| switches.contains(&part)) {
        return Ok(());
    }
    let right = "write a processor, as in `gfx90a`, `gfx11-generic` or `gfx90a:xnack+`";
    Err(fault_of(text, "is not a GPU target", right))
}
