//! Kinds of text in policies: what each may be, what is wrong with text that is not, and what would
//! be right. Nothing here knows in which key a text stands.

use super::Pattern;
use crate::rules::catalogue::{self, CATALOGUE, GROUPS};
use crate::text::show;

/// One kind of text.
pub(super) struct Word {
    /// What it is, with an article.
    pub(super) what: &'static str,
    /// One that is right, for messages.
    pub(super) example: &'static str,
    /// What is wrong with a text.
    pub(super) check: fn(&str) -> Result<(), Fault>,
    /// All texts that are right, where they can be listed.
    pub(super) all: fn() -> Vec<&'static str>,
    /// A regular expression that every right text matches; it may match more.
    pub(super) regex: Option<&'static str>,
}

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

/// No end of texts.
fn many() -> Vec<&'static str> {
    Vec::new()
}

/// Text with something to read in it.
const VISIBLE: Option<&str> = Some(r"\S");
/// Text without white space.
const SOLID: Option<&str> = Some(r"^\S+$");

pub(super) const LEVEL: Word = Word {
    what: "a level",
    example: "warn",
    check: |text| one_of(text, &LEVEL),
    all: || vec!["allow", "warn", "deny"],
    regex: None,
};
pub(super) const RULE: Word = Word {
    what: "a rule",
    example: "undefined-symbol",
    check: rule,
    all: || CATALOGUE.iter().map(|known| known.id).collect(),
    regex: None,
};
pub(super) const RULE_OR_GROUP: Word = Word {
    what: "a rule or group",
    example: "undefined-symbol",
    check: |text| one_of(text, &RULE_OR_GROUP),
    all: || {
        let ids = CATALOGUE.iter().map(|known| known.id);
        ids.chain(GROUPS.iter().map(|group| group.name)).collect()
    },
    regex: None,
};
pub(super) const SEARCH_TAG: Word = Word {
    what: "a tag",
    example: "runpath",
    check: |text| one_of(text, &SEARCH_TAG),
    all: || vec!["rpath", "runpath", "none"],
    regex: None,
};
pub(super) const GPU_LOADER: Word = Word {
    what: "a runtime",
    example: "stock",
    check: |text| one_of(text, &GPU_LOADER),
    all: || vec!["stock", "debian", "nix"],
    regex: None,
};
pub(super) const EXTENDS: Word =
    Word { what: "a policy", example: "rocm", check: solid_line, all: many, regex: VISIBLE };
pub(super) const REASON: Word = Word {
    what: "a reason",
    example: "taken from the interpreter",
    check: reason,
    all: many,
    regex: VISIBLE,
};
pub(super) const PATH: Word = Word {
    what: "a pattern over paths",
    example: "lib/*.so",
    check: path,
    all: many,
    regex: Some(r"^[^/\s]"),
};
pub(super) const ANY_PATH: Word = Word {
    what: "a pattern over paths",
    example: "**/libfat.a",
    check: any_path,
    all: many,
    regex: VISIBLE,
};
pub(super) const FILE_BELOW: Word = Word {
    what: "a path below the prefix",
    example: "bin/python3",
    check: file_below,
    all: many,
    regex: Some(r"^[^/\s]"),
};
pub(super) const FILE: Word = Word {
    what: "a path",
    example: "cmake/deps.cmake",
    check: solid_line,
    all: many,
    regex: VISIBLE,
};
pub(super) const FILE_NAME: Word = Word {
    what: "a file name",
    example: "deps.cmake",
    check: file_name,
    all: many,
    regex: Some(r"^[^/]+$"),
};
pub(super) const NAME: Word =
    Word { what: "a pattern over names", example: "Py*", check: name, all: many, regex: SOLID };
pub(super) const LINE: Word =
    Word { what: "a pattern", example: "PT_INTERP", check: line, all: many, regex: VISIBLE };
pub(super) const SYMBOL: Word = Word {
    what: "a symbol",
    example: "miopenCreate",
    check: symbol,
    all: many,
    regex: Some(r"^[^\s*?\[\]{}\\]+$"),
};
pub(super) const TEMPLATE: Word = Word {
    what: "a symbol",
    example: "LLVMInitialize{T}TargetInfo",
    check: template,
    all: many,
    regex: SOLID,
};
pub(super) const ARCHIVE_NAME: Word = Word {
    what: "an archive's bare name",
    example: "LLVM{T}Info",
    check: archive_name,
    all: many,
    regex: Some(r"^[^\s/]+$"),
};
pub(super) const FAMILY: Word =
    Word { what: "a family of versions", example: "GLIBC", check: family, all: many, regex: SOLID };
pub(super) const NUMBER: Word = Word {
    what: "a version number",
    example: "2.17",
    check: number,
    all: many,
    regex: Some(r"^[0-9]+(\.[0-9]+)*$"),
};
pub(super) const SEARCH_ENTRY: Word = Word {
    what: "the beginning of a search path entry",
    example: "$ORIGIN",
    check: search_entry,
    all: many,
    regex: Some(r"^[/$]"),
};
pub(super) const GPU_TARGET: Word = Word {
    what: "a GPU target",
    example: "gfx90a",
    check: gpu_target,
    all: many,
    regex: Some(r"^gfx[0-9]"),
};
pub(super) const HOST_NAME: Word =
    Word { what: "a name", example: "python", check: solid_line, all: many, regex: VISIBLE };
pub(super) const SET: Word = Word {
    what: "a set of the list",
    example: "__mlir_libs",
    check: |text| no_space(text, "a name of a set"),
    all: many,
    regex: SOLID,
};

/// The nearest of `known` to what was typed, if it is near.
pub(super) fn nearest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let near = |name: &'a str| {
        let score = strsim::damerau_levenshtein(&typed.to_lowercase().replace('_', "-"), name);
        (score <= 1 + name.len() / 4).then_some((score, name))
    };
    // The distance is a product of lengths, and nobody mistypes a page of text.
    let sane = typed.len() <= 64;
    known.into_iter().filter(|_| sane).filter_map(near).min().map(|(_, name)| name)
}

/// `did you mean …?`, or all there are.
pub(super) fn suggestion(typed: &str, known: &[&str]) -> String {
    match nearest(typed, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.len() <= 12 => format!("there are {}", known.join(", ")),
        None => "`linkaudit policy schema` lists all there are".to_owned(),
    }
}

fn one_of(text: &str, word: &Word) -> Result<(), Fault> {
    let known = (word.all)();
    if known.contains(&text) {
        return Ok(());
    }
    fault(
        format!("names no {}: `{}`", bare(word.what), show(text.as_bytes())),
        suggestion(text, &known),
    )
}

/// Without its article.
fn bare(what: &str) -> &str {
    what.split_once(' ').map_or(what, |(_, bare)| bare)
}

fn rule(text: &str) -> Result<(), Fault> {
    if catalogue::group(text).is_some() && catalogue::known(text).is_none() {
        return fault(format!("is a group: `{text}`"), "name one rule: a waiver is for one fact");
    }
    one_of(text, &RULE)
}

fn solid_line(text: &str) -> Result<(), Fault> {
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

fn reason(text: &str) -> Result<(), Fault> {
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

fn any_path(text: &str) -> Result<(), Fault> {
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

fn path(text: &str) -> Result<(), Fault> {
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

fn file_below(text: &str) -> Result<(), Fault> {
    path(text)?;
    if text.contains(['*', '?', '[', '{']) {
        return fault("is a pattern", "name one file");
    }
    Ok(())
}

fn file_name(text: &str) -> Result<(), Fault> {
    solid_line(text)?;
    match text.rsplit_once('/') {
        Some((_, base)) => {
            fault("is a path", format!("write the file name alone: `{}`", show(base.as_bytes())))
        }
        None => Ok(()),
    }
}

fn no_space(text: &str, what: &str) -> Result<(), Fault> {
    if text.is_empty() {
        return fault("is empty", "write something, or leave the key out");
    }
    if text.contains(char::is_whitespace) {
        return fault("can never match: it holds white space", format!("{what} has none"));
    }
    solid_line(text)
}

fn name(text: &str) -> Result<(), Fault> {
    no_space(text, "a name")?;
    glob(text, Pattern::name(text))
}

fn line(text: &str) -> Result<(), Fault> {
    solid_line(text)?;
    glob(text, Pattern::name(text))
}

fn symbol(text: &str) -> Result<(), Fault> {
    no_space(text, "a symbol")?;
    if text.contains(['*', '?', '[', ']', '{', '}', '\\']) {
        return fault("is a pattern", "name one symbol: a required one is looked up as it stands");
    }
    Ok(())
}

/// `{T}` is the only thing in braces.
fn template(text: &str) -> Result<(), Fault> {
    no_space(text, "a symbol")?;
    if text.replacen("{T}", "", 1).contains(['{', '}', '*', '?']) {
        return fault("is no template", "`{T}`, once, is all that can stand for other text");
    }
    Ok(())
}

fn archive_name(text: &str) -> Result<(), Fault> {
    template(text)?;
    let base = text.rsplit('/').next().unwrap_or(text);
    let bare = base.strip_suffix(".a").map(|base| base.strip_prefix("lib").unwrap_or(base));
    match bare {
        Some(bare) => fault("is a file name", format!("write `{}`", show(bare.as_bytes()))),
        None if base != text => fault("is a path", format!("write `{}`", show(base.as_bytes()))),
        None => Ok(()),
    }
}

fn family(text: &str) -> Result<(), Fault> {
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

fn number(text: &str) -> Result<(), Fault> {
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

fn search_entry(text: &str) -> Result<(), Fault> {
    solid_line(text)?;
    if text.starts_with('/') || text.starts_with('$') {
        return Ok(());
    }
    fault("is neither absolute nor a token", "write `$ORIGIN` or a path that begins with `/`")
}

/// `gfx90a`, `gfx11-generic`, `gfx90a:sramecc+:xnack-` (AMDGPUUsage, target id).
fn gpu_target(text: &str) -> Result<(), Fault> {
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
