//! What is wrong with a text of a policy and what would be right: one function a kind of text. The
//! kinds themselves are in [`super::words`].

use super::Pattern;
use crate::text::{nearest, show};

/// What is wrong, and what would be right.
pub(super) struct Fault {
    /// What is wrong, as the rest of a sentence that begins with the key.
    pub(super) wrong: String,
    /// What would be right.
    pub(super) right: String,
}

fn fault<T>(wrong: impl Into<String>, right: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { wrong: wrong.into(), right: right.into() })
}

/// `did you mean …?`, or all there are.
pub(super) fn suggestion(typed: &str, known: &[&str]) -> String {
    match nearest(typed, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.len() <= 12 => format!("there are {}", known.join(", ")),
        None => "`linkaudit policy schema` lists all there are".to_owned(),
    }
}

/// A text that must be one of `known`, which are each `what`.
pub(super) fn one_of(text: &str, what: &str, known: &[&str]) -> Result<(), Fault> {
    if known.contains(&text) {
        return Ok(());
    }
    fault(format!("names no {}: `{}`", bare(what), show(text.as_bytes())), suggestion(text, known))
}

/// Without its article.
fn bare(what: &str) -> &str {
    what.split_once(' ').map_or(what, |(_, bare)| bare)
}

/// A group where a rule must be named.
pub(super) fn group_for_rule(text: &str) -> Result<(), Fault> {
    fault(format!("is a group: `{text}`"), "name one rule: a waiver is for one fact")
}

pub(super) fn solid_line(text: &str) -> Result<(), Fault> {
    if text.trim().is_empty() {
        return fault("is empty", "write something, or leave the key out");
    }
    match text.chars().find(|c| c.is_control()) {
        Some(c) => fault(
            format!("holds the control character {}", c.escape_unicode()),
            "write one line of text",
        ),
        None => Ok(()),
    }
}

pub(super) fn reason(text: &str) -> Result<(), Fault> {
    if text.trim().is_empty() {
        return fault("is empty", "say why, for those who come later");
    }
    Ok(())
}

/// A pattern that globset takes.
fn glob(text: &str, made: Result<Pattern, String>) -> Result<(), Fault> {
    match made {
        Ok(_) => Ok(()),
        Err(error) => fault(
            format!("is no pattern: {error}"),
            format!("write `\\` before what is meant as it stands, in `{}`", show(text.as_bytes())),
        ),
    }
}

pub(super) fn any_path(text: &str) -> Result<(), Fault> {
    solid_line(text)?;
    let parts = || text.strip_prefix('/').unwrap_or(text).split('/');
    if parts().any(|part| part == "..") {
        return fault("can never match: it holds `..`", "paths of findings have no `..`");
    }
    if parts().any(|part| part == ".") {
        return fault("can never match: it holds `.`", "leave `./` out");
    }
    if text.ends_with('/') {
        let right = format!("write `{}**` for all files in it", show(text.as_bytes()));
        return fault("can never match: it ends with `/`", right);
    }
    if parts().any(str::is_empty) {
        return fault("can never match: it holds `//`", "write one `/`");
    }
    glob(text, Pattern::path(text))
}

pub(super) fn path(text: &str) -> Result<(), Fault> {
    if text.starts_with('/') {
        let base = text.rsplit('/').next().filter(|base| !base.is_empty()).unwrap_or("*");
        let right = format!(
            "paths are those below the prefix; `**/{}` is the file wherever it lies",
            show(base.as_bytes())
        );
        return fault("begins with `/`", right);
    }
    any_path(text)
}

pub(super) fn file_below(text: &str) -> Result<(), Fault> {
    path(text)?;
    if text.contains(['*', '?', '[', '{']) {
        return fault("is a pattern", "name one file");
    }
    Ok(())
}

pub(super) fn file_name(text: &str) -> Result<(), Fault> {
    solid_line(text)?;
    match text.rsplit_once('/') {
        Some((_, base)) => {
            fault("is a path", format!("write the file name alone: `{}`", show(base.as_bytes())))
        }
        None => Ok(()),
    }
}

pub(super) fn no_space(text: &str, what: &str) -> Result<(), Fault> {
    if text.is_empty() {
        return fault("is empty", "write something, or leave the key out");
    }
    if text.contains(char::is_whitespace) {
        return fault("can never match: it holds white space", format!("{what} has none"));
    }
    solid_line(text)
}

pub(super) fn name(text: &str) -> Result<(), Fault> {
    no_space(text, "a name")?;
    glob(text, Pattern::name(text))
}

pub(super) fn line(text: &str) -> Result<(), Fault> {
    solid_line(text)?;
    glob(text, Pattern::name(text))
}

/// Text that is looked up as it stands.
fn plain(text: &str, what: &str) -> Result<(), Fault> {
    no_space(text, what)?;
    if text.contains(['*', '?', '[', ']', '{', '}', '\\']) {
        return fault("is a pattern", format!("write one name: {what} is looked up as it stands"));
    }
    Ok(())
}

pub(super) fn symbol(text: &str) -> Result<(), Fault> {
    plain(text, "a required symbol")
}

pub(super) fn soname(text: &str) -> Result<(), Fault> {
    plain(text, "a soname")
}

/// `{T}` is the only thing in braces.
pub(super) fn template(text: &str) -> Result<(), Fault> {
    no_space(text, "a symbol")?;
    if text.replacen("{T}", "", 1).contains(['{', '}', '*', '?']) {
        return fault("is no template", "`{T}`, once, is all that can stand for other text");
    }
    Ok(())
}

pub(super) fn archive_name(text: &str) -> Result<(), Fault> {
    template(text)?;
    let base = text.rsplit('/').next().unwrap_or(text);
    let bare = base.strip_suffix(".a").map(|base| base.strip_prefix("lib").unwrap_or(base));
    match bare {
        Some(bare) => fault("is a file name", format!("write `{}`", show(bare.as_bytes()))),
        None if base != text => fault("is a path", format!("write `{}`", show(base.as_bytes()))),
        None => Ok(()),
    }
}

pub(super) fn family(text: &str) -> Result<(), Fault> {
    no_space(text, "a family")?;
    if let Some((family, number)) = text.rsplit_once('_')
        && number.starts_with(|c: char| c.is_ascii_digit())
        && !family.is_empty()
    {
        let (family, number) = (show(family.as_bytes()), show(number.as_bytes()));
        return fault("holds a number", format!("write `{family} = \"{number}\"`"));
    }
    if text.contains(['*', '?', '@']) {
        return fault("is no family", "write what stands before `_` in versions, as in `GLIBC`");
    }
    Ok(())
}

/// The parts of a version number.
pub(super) fn parts(text: &str) -> Option<Vec<u32>> {
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    text.split('.').map(|part| part.parse().ok().filter(|_| digits(part))).collect()
}

pub(super) fn number(text: &str) -> Result<(), Fault> {
    if parts(text).is_some() {
        return Ok(());
    }
    let shown = show(text.as_bytes());
    let bare = text.rsplit_once('_').map(|(_, number)| number).filter(|n| parts(n).is_some());
    let right = match bare {
        Some(number) => format!("write \"{number}\""),
        None => "write numbers with dots between them, as in \"2.17\"".to_owned(),
    };
    fault(format!("is no version number: `{shown}`"), right)
}

pub(super) fn search_entry(text: &str) -> Result<(), Fault> {
    solid_line(text)?;
    if text.starts_with('/') || text.starts_with('$') {
        return Ok(());
    }
    fault("is neither absolute nor a token", "write `$ORIGIN` or a path that begins with `/`")
}

/// `gfx90a`, `gfx11-generic`, `gfx90a:sramecc+:xnack-` (AMDGPUUsage, target id).
pub(super) fn gpu_target(text: &str) -> Result<(), Fault> {
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
    fault(format!("is no GPU target: `{}`", show(text.as_bytes())), right)
}
