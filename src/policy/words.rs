//! Kinds of text in policies: what each is called, and what is right, for the parser, for messages and
//! for the JSON Schema. Nothing here knows in which key a text stands.

use super::faults::{self, Fault};
use crate::catalogue::{CATALOGUE, GROUPS};

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
    check: |text| faults::one_of(text, &LEVEL),
    all: || vec!["allow", "warn", "deny"],
    regex: None,
};
pub(super) const RULE: Word = Word {
    what: "a rule",
    example: "undefined-symbol",
    check: faults::rule,
    all: || CATALOGUE.iter().map(|known| known.id).collect(),
    regex: None,
};
pub(super) const RULE_OR_GROUP: Word = Word {
    what: "a rule or group",
    example: "undefined-symbol",
    check: |text| faults::one_of(text, &RULE_OR_GROUP),
    all: || {
        let ids = CATALOGUE.iter().map(|known| known.id);
        ids.chain(GROUPS.iter().map(|group| group.name)).collect()
    },
    regex: None,
};
pub(super) const SEARCH_TAG: Word = Word {
    what: "a tag",
    example: "runpath",
    check: |text| faults::one_of(text, &SEARCH_TAG),
    all: || vec!["rpath", "runpath", "none"],
    regex: None,
};
pub(super) const GPU_LOADER: Word = Word {
    what: "a runtime",
    example: "stock",
    check: |text| faults::one_of(text, &GPU_LOADER),
    all: || vec!["stock", "debian", "nix"],
    regex: None,
};
pub(super) const EXTENDS: Word = Word {
    what: "a policy",
    example: "rocm",
    check: faults::solid_line,
    all: many,
    regex: VISIBLE,
};
pub(super) const REASON: Word = Word {
    what: "a reason",
    example: "taken from the interpreter",
    check: faults::reason,
    all: many,
    regex: VISIBLE,
};
pub(super) const PATH: Word = Word {
    what: "a pattern over paths",
    example: "lib/*.so",
    check: faults::path,
    all: many,
    regex: Some(r"^[^/]"),
};
pub(super) const ANY_PATH: Word = Word {
    what: "a pattern over paths",
    example: "**/libfat.a",
    check: faults::any_path,
    all: many,
    regex: VISIBLE,
};
pub(super) const FILE_BELOW: Word = Word {
    what: "a path below the prefix",
    example: "bin/python3",
    check: faults::file_below,
    all: many,
    regex: Some(r"^[^/]"),
};
pub(super) const FILE: Word = Word {
    what: "a path",
    example: "cmake/deps.cmake",
    check: faults::solid_line,
    all: many,
    regex: VISIBLE,
};
pub(super) const FILE_NAME: Word = Word {
    what: "a file name",
    example: "deps.cmake",
    check: faults::file_name,
    all: many,
    regex: Some(r"^[^/]+$"),
};
pub(super) const NAME: Word = Word {
    what: "a pattern over names",
    example: "Py*",
    check: faults::name,
    all: many,
    regex: SOLID,
};
pub(super) const LINE: Word = Word {
    what: "a pattern",
    example: "PT_INTERP",
    check: faults::line,
    all: many,
    regex: VISIBLE,
};
pub(super) const SONAME: Word = Word {
    what: "a soname",
    example: "libc.so.6",
    check: faults::soname,
    all: many,
    regex: Some(r"^[^\s*?\[\]{}\\]+$"),
};
pub(super) const SYMBOL: Word = Word {
    what: "a symbol",
    example: "miopenCreate",
    check: faults::symbol,
    all: many,
    regex: Some(r"^[^\s*?\[\]{}\\]+$"),
};
pub(super) const TEMPLATE: Word = Word {
    what: "a symbol",
    example: "LLVMInitialize{T}TargetInfo",
    check: faults::template,
    all: many,
    regex: SOLID,
};
pub(super) const ARCHIVE_NAME: Word = Word {
    what: "an archive's bare name",
    example: "LLVM{T}Info",
    check: faults::archive_name,
    all: many,
    regex: Some(r"^[^\s/]+$"),
};
pub(super) const FAMILY: Word = Word {
    what: "a family of versions",
    example: "GLIBC",
    check: faults::family,
    all: many,
    regex: SOLID,
};
pub(super) const NUMBER: Word = Word {
    what: "a version number",
    example: "2.17",
    check: faults::number,
    all: many,
    regex: Some(r"^[0-9]+(\.[0-9]+)*$"),
};
pub(super) const SEARCH_ENTRY: Word = Word {
    what: "the beginning of a search path entry",
    example: "$ORIGIN",
    check: faults::search_entry,
    all: many,
    regex: Some(r"^[/$]"),
};
pub(super) const GPU_TARGET: Word = Word {
    what: "a GPU target",
    example: "gfx90a",
    check: faults::gpu_target,
    all: many,
    regex: Some(r"^gfx[0-9]"),
};
pub(super) const HOST_NAME: Word = Word {
    what: "a name",
    example: "python",
    check: faults::solid_line,
    all: many,
    regex: VISIBLE,
};
pub(super) const SET: Word = Word {
    what: "a set of the list",
    example: "__mlir_libs",
    check: |text| faults::no_space(text, "a name of a set"),
    all: many,
    regex: SOLID,
};
