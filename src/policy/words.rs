//! Kinds of text in policies, each with a name, an example and the valid values. The parser, its
//! messages and the JSON Schema use them.

use super::value_errors::{self, ValueError};
use crate::catalogue::{Catalogue, GROUPS, group, renamed};

/// A kind of text that keys and values of policies may have, such as a level or a pattern over
/// paths.
pub(super) struct TextKind {
    /// The kind in words, with an article.
    pub(super) what: &'static str,
    /// A valid example, for messages and the schema.
    pub(super) example: &'static str,
    /// The valid texts.
    values: Values,
    /// A regular expression that every valid text matches; it may match invalid texts too.
    pub(super) regex: Option<&'static str>,
}

/// The texts that a kind accepts. The catalogue has the names of rules.
enum Values {
    /// Texts that this function accepts.
    Checked(fn(&str) -> Result<(), ValueError>),
    OneOf(&'static [&'static str]),
    Rule,
    RuleOrGroup,
}

impl TextKind {
    /// All valid texts except old ids of rules; empty if they cannot be listed.
    pub(super) fn all(&self, catalogue: &Catalogue) -> Vec<&'static str> {
        let rules = || catalogue.rules().iter().map(|known| known.id);
        match self.values {
            Values::Checked(_) => Vec::new(),
            Values::OneOf(texts) => texts.to_vec(),
            Values::Rule => rules().collect(),
            Values::RuleOrGroup => rules().chain(GROUPS.iter().map(|group| group.name)).collect(),
        }
    }

    /// Checks that `text` is valid for this kind.
    pub(super) fn check(&self, text: &str, catalogue: &Catalogue) -> Result<(), ValueError> {
        match self.values {
            Values::Checked(check) => check(text),
            Values::Rule | Values::RuleOrGroup if renamed(text).is_some() => Ok(()),
            Values::Rule if is_group(text, catalogue) => value_errors::group_for_rule(text),
            _ => value_errors::one_of(text, self.what, &self.all(catalogue)),
        }
    }
}

fn is_group(text: &str, catalogue: &Catalogue) -> bool {
    group(text).is_some() && catalogue.known(text).is_none()
}

/// A regular expression for text with at least one visible character.
const VISIBLE: Option<&str> = Some(r"\S");
/// A regular expression for text without white space.
const SOLID: Option<&str> = Some(r"^\S+$");

pub(super) const LEVEL: TextKind = TextKind {
    what: "a level",
    example: "warn",
    values: Values::OneOf(&["allow", "warn", "deny"]),
    regex: None,
};
pub(super) const RULE: TextKind =
    TextKind { what: "a rule", example: "undefined-symbol", values: Values::Rule, regex: None };
pub(super) const RULE_OR_GROUP: TextKind = TextKind {
    what: "a rule or group",
    example: "undefined-symbol",
    values: Values::RuleOrGroup,
    regex: None,
};
pub(super) const SEARCH_TAG: TextKind = TextKind {
    what: "a tag",
    example: "runpath",
    values: Values::OneOf(&["rpath", "runpath", "none"]),
    regex: None,
};
pub(super) const GPU_LOADER: TextKind = TextKind {
    what: "a runtime",
    example: "stock",
    values: Values::OneOf(&["stock", "debian", "nix"]),
    regex: None,
};
pub(super) const EXTENDS: TextKind = TextKind {
    what: "a policy",
    example: "rocm",
    values: Values::Checked(value_errors::solid_line),
    regex: VISIBLE,
};
pub(super) const REASON: TextKind = TextKind {
    what: "a reason",
    example: "why the finding is accepted",
    values: Values::Checked(value_errors::reason),
    regex: VISIBLE,
};
pub(super) const PATH: TextKind = TextKind {
    what: "a pattern over paths",
    example: "lib/*.so",
    values: Values::Checked(value_errors::path),
    regex: Some(r"^[^/]"),
};
pub(super) const ANY_PATH: TextKind = TextKind {
    what: "a pattern over paths",
    example: "**/libfat.a",
    values: Values::Checked(value_errors::any_path),
    regex: VISIBLE,
};
pub(super) const FILE_BELOW: TextKind = TextKind {
    what: "a path below the prefix",
    example: "bin/python3",
    values: Values::Checked(value_errors::file_below),
    regex: Some(r"^[^/]"),
};
/// A pattern over symbols.
pub(super) const SYMBOLS: TextKind =
    TextKind { values: Values::Checked(value_errors::symbols), ..NAME };
pub(super) const LIBRARY_BELOW: TextKind = TextKind {
    what: "a path",
    example: "lib/server/libjvm.so",
    values: Values::Checked(value_errors::file_below),
    regex: Some(r"^[^/]"),
};
pub(super) const FILE: TextKind = TextKind {
    what: "a path",
    example: "cmake/deps.cmake",
    values: Values::Checked(value_errors::solid_line),
    regex: VISIBLE,
};
pub(super) const FILE_NAME: TextKind = TextKind {
    what: "a file name",
    example: "deps.cmake",
    values: Values::Checked(value_errors::file_name),
    regex: Some(r"^[^/]+$"),
};
pub(super) const HEADER: TextKind = TextKind {
    what: "a pattern over headers",
    example: "ck/host/*.hpp",
    values: Values::Checked(value_errors::path),
    regex: Some(r"^[^/]"),
};
pub(super) const PACKAGE_NAME: TextKind = TextKind {
    what: "the name of a package",
    example: "composable_kernel",
    values: Values::Checked(value_errors::package_name),
    regex: Some(r"^[^\s/*?\[\]{}\\]+$"),
};
pub(super) const NAME: TextKind = TextKind {
    what: "a pattern over names",
    example: "Py*",
    values: Values::Checked(value_errors::name),
    regex: SOLID,
};
/// A pattern over needed names of libraries.
pub(super) const LIBRARY: TextKind = TextKind { example: "libunwind.so.1", ..NAME };
pub(super) const LINE: TextKind = TextKind {
    what: "a pattern",
    example: "PT_INTERP",
    values: Values::Checked(value_errors::line),
    regex: VISIBLE,
};
pub(super) const SONAME: TextKind = TextKind {
    what: "a soname",
    example: "libc.so.6",
    values: Values::Checked(value_errors::soname),
    regex: Some(r"^[^\s*?\[\]{}\\]+$"),
};
pub(super) const SYMBOL: TextKind = TextKind {
    what: "a symbol",
    example: "miopenCreate",
    values: Values::Checked(value_errors::symbol),
    regex: Some(r"^[^\s*?\[\]{}\\@]+$"),
};
pub(super) const TEMPLATE: TextKind = TextKind {
    what: "a symbol",
    example: "LLVMInitialize{T}TargetInfo",
    values: Values::Checked(value_errors::symbol_template),
    regex: SOLID,
};
pub(super) const ARCHIVE_NAME: TextKind = TextKind {
    what: "an archive's bare name",
    example: "LLVM{T}Info",
    values: Values::Checked(value_errors::archive_name),
    regex: Some(r"^[^\s/]+$"),
};
pub(super) const FAMILY: TextKind = TextKind {
    what: "a family of versions",
    example: "GLIBC",
    values: Values::Checked(value_errors::family),
    regex: SOLID,
};
pub(super) const NUMBER: TextKind = TextKind {
    what: "a version number",
    example: "2.17",
    values: Values::Checked(value_errors::number),
    regex: Some(r"^[0-9]+(\.[0-9]+)*$"),
};
pub(super) const SEARCH_ENTRY: TextKind = TextKind {
    what: "the beginning of a search path entry",
    example: "$ORIGIN",
    values: Values::Checked(value_errors::search_entry),
    regex: Some(r"^[/$]"),
};
pub(super) const GPU_TARGET: TextKind = TextKind {
    what: "a GPU target",
    example: "gfx90a",
    values: Values::Checked(value_errors::gpu_target),
    regex: Some(r"^gfx[0-9]"),
};
pub(super) const HOST_NAME: TextKind = TextKind {
    what: "a name",
    example: "python",
    values: Values::Checked(value_errors::solid_line),
    regex: VISIBLE,
};
pub(super) const SET: TextKind = TextKind {
    what: "a set of the list",
    example: "__mlir_libs",
    values: Values::Checked(|text| value_errors::no_space(text, "a name of a set")),
    regex: SOLID,
};
