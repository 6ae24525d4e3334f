//! The table of keys that a policy file may contain. The parser checks files against this table,
//! and the JSON Schema for editors is generated from it. The table describes single values;
//! `build` checks how the values fit together.

use super::words::{self, TextKind};

/// A key that a table of a policy file may have.
pub(super) struct PolicyKey {
    /// The key as written.
    pub(super) name: &'static str,
    /// The description of the key in the JSON Schema, which editors show: one or two sentences.
    pub(super) doc: &'static str,
    /// The kind of value that the key takes.
    pub(super) kind: ValueKind,
    /// True if a table without the key is an error.
    pub(super) required: bool,
}

/// The kind of value that a key takes.
pub(super) enum ValueKind {
    /// The version of the policy format, an integer.
    Schema,
    /// Text of one kind.
    Text(&'static TextKind),
    /// A TOML local date.
    Date,
    /// True or false.
    Truth,
    /// A list of texts of one kind.
    List(&'static TextKind),
    /// One text of a kind, or a list of them.
    OneOrMore(&'static TextKind),
    /// A table with these keys.
    Table(&'static [PolicyKey]),
    /// Tables with these keys: `[[…]]`, or a list of inline tables.
    Tables(&'static [PolicyKey]),
    /// A table whose keys are of one kind of text, and its values of another.
    Map(&'static TextKind, &'static TextKind),
}

const fn optional(name: &'static str, kind: ValueKind, doc: &'static str) -> PolicyKey {
    PolicyKey { name, doc, kind, required: false }
}

const fn required(name: &'static str, kind: ValueKind, doc: &'static str) -> PolicyKey {
    PolicyKey { name, doc, kind, required: true }
}

/// The top-level keys of a policy file.
pub(super) const FILE: &[PolicyKey] = &[
    required("schema", ValueKind::Schema, "The version of this format: 1."),
    optional(
        "extends",
        ValueKind::List(&words::EXTENDS),
        "Policies that are merged before this one: built-in names, or files relative to this one.",
    ),
    optional(
        "levels",
        ValueKind::Map(&words::RULE_OR_GROUP, &words::LEVEL),
        "Levels of rules and groups. A level for a rule wins over one for its group.",
    ),
    optional(
        "waive",
        ValueKind::Tables(WAIVE),
        "Findings of one rule that are known and accepted.",
    ),
    optional(
        "require",
        ValueKind::Table(REQUIRE),
        "Required files, packages and symbols of a prefix.",
    ),
    optional("forbid", ValueKind::Table(FORBID), "Forbidden libraries and symbols."),
    optional(
        "provided",
        ValueKind::Table(PROVIDED),
        "Libraries of the system on which the files will run.",
    ),
    optional("limits", ValueKind::Table(LIMITS), "The newest versions that files may need."),
    optional("search-path", ValueKind::Table(SEARCH_PATH), "Allowed search paths of objects."),
    optional("gpu", ValueKind::Table(GPU), "GPUs that the device code must serve."),
    optional(
        "host",
        ValueKind::Tables(HOST),
        "A program that loads plugins, and the symbols that it provides to them.",
    ),
    optional(
        "archive",
        ValueKind::Tables(ARCHIVE),
        "A static archive that must be complete, or that is merged from a list of archives.",
    ),
    optional(
        "provider",
        ValueKind::Tables(PROVIDER),
        "The archive that defines a symbol, if no candidate does: a suggestion that is not verified.",
    ),
];

/// The keys of `[[waive]]` that select findings.
pub(super) const SELECTORS: &[&str] =
    &["path", "symbol", "version", "library", "target", "member", "detail"];

/// At least one of these keys must be set in each entry of the list `table`. `None` for a list
/// without this condition.
pub(super) fn one_of(table: &str) -> Option<&'static [&'static str]> {
    match table {
        "waive" => Some(SELECTORS),
        "host" => Some(&["plugins", "exports", "list"]),
        "archive" => Some(&["covers", "deps-list"]),
        _ => None,
    }
}

const WAIVE: &[PolicyKey] = &[
    required("rule", ValueKind::Text(&words::RULE), "The rule whose findings are accepted."),
    optional(
        "path",
        ValueKind::Text(&words::PATH),
        "A pattern for the path below the prefix; `*` does not cross `/`, `**` does.",
    ),
    optional("symbol", ValueKind::Text(&words::SYMBOLS), "A pattern for the raw symbol."),
    optional("version", ValueKind::Text(&words::NAME), "A pattern for the version."),
    optional(
        "library",
        ValueKind::Text(&words::LIBRARY),
        "A pattern for the needed name of the library.",
    ),
    optional("target", ValueKind::Text(&words::NAME), "A pattern for the GPU target."),
    optional("member", ValueKind::Text(&words::LINE), "A pattern for the archive member."),
    optional(
        "detail",
        ValueKind::Text(&words::LINE),
        "A pattern for the key `detail` of the JSON report.",
    ),
    required("reason", ValueKind::Text(&words::REASON), "Why the findings are accepted."),
    optional(
        "expires",
        ValueKind::Date,
        "The last day on which the entry waives. Afterwards, the entry itself is reported.",
    ),
];

const REQUIRE: &[PolicyKey] = &[
    optional(
        "files",
        ValueKind::List(&words::PATH),
        "Patterns for paths below the prefix, each of which must match a file.",
    ),
    optional(
        "headers",
        ValueKind::List(&words::HEADER),
        "Patterns for paths below a directory `include`, each of which must match a file.",
    ),
    optional(
        "pkgconfig",
        ValueKind::List(&words::PACKAGE_NAME),
        "Names of pkg-config packages, each of which must have a package file.",
    ),
    optional(
        "programs",
        ValueKind::List(&words::FILE_NAME),
        "Names of programs, each of which must be in a directory `bin`.",
    ),
    optional(
        "cmake-packages",
        ValueKind::Tables(REQUIRED_PACKAGE),
        "CMake packages that `find_package` must find.",
    ),
    optional("symbols", ValueKind::Tables(REQUIRED_SYMBOL), "Symbols that files must define."),
];

const REQUIRED_PACKAGE: &[PolicyKey] = &[
    required("name", ValueKind::Text(&words::PACKAGE_NAME), "The name for `find_package`."),
    optional(
        "components",
        ValueKind::OneOrMore(&words::PACKAGE_NAME),
        "Components, each of which must be found.",
    ),
    optional("reason", ValueKind::Text(&words::REASON), "Why it must be there."),
];

const REQUIRED_SYMBOL: &[PolicyKey] = &[
    optional(
        "path",
        ValueKind::Text(&words::PATH),
        "A pattern for paths below the prefix; without it any file may define the symbol.",
    ),
    required("symbol", ValueKind::Text(&words::SYMBOL), "The raw symbol."),
    optional("reason", ValueKind::Text(&words::REASON), "Why it must be there."),
];

const FORBID: &[PolicyKey] = &[
    optional("libraries", ValueKind::Tables(FORBIDDEN_LIBRARY), "Libraries that no file may need."),
    optional(
        "symbols",
        ValueKind::Tables(FORBIDDEN_SYMBOL),
        "Symbols that no file may define or refer to.",
    ),
];

const FORBIDDEN_LIBRARY: &[PolicyKey] = &[
    required("name", ValueKind::Text(&words::LIBRARY), "A pattern for the needed name."),
    optional("reason", ValueKind::Text(&words::REASON), "Why it is forbidden."),
];

const FORBIDDEN_SYMBOL: &[PolicyKey] = &[
    optional(
        "path",
        ValueKind::Text(&words::PATH),
        "A pattern for paths below the prefix; without it every file.",
    ),
    optional(
        "library",
        ValueKind::Text(&words::LIBRARY),
        "A pattern for needed names: only references by objects that need such a library count.",
    ),
    required("symbol", ValueKind::Text(&words::SYMBOLS), "A pattern for the raw symbol."),
    optional("reason", ValueKind::Text(&words::REASON), "Why it is forbidden."),
];

const PROVIDED: &[PolicyKey] = &[
    optional(
        "libraries",
        ValueKind::List(&words::SONAME),
        "Sonames of libraries that are neither opened nor reported as missing.",
    ),
    optional(
        "only",
        ValueKind::Truth,
        "Every other library outside the prefix is a finding, and none is opened.",
    ),
];

const LIMITS: &[PolicyKey] = &[optional(
    "symbol-versions",
    ValueKind::Map(&words::FAMILY, &words::NUMBER),
    "The newest version of each family that may be needed.",
)];

const SEARCH_PATH: &[PolicyKey] = &[
    optional(
        "require",
        ValueKind::Text(&words::SEARCH_TAG),
        "The tag that an object with a search path must have; `none` forbids search paths.",
    ),
    optional(
        "allow",
        ValueKind::List(&words::SEARCH_ENTRY),
        "Directories in or below which each entry must lie.",
    ),
];

const GPU: &[PolicyKey] = &[
    optional("targets", ValueKind::List(&words::GPU_TARGET), "GPUs that must be served."),
    optional("exact", ValueKind::Truth, "True to report code for targets that are not listed."),
    optional(
        "loader",
        ValueKind::Text(&words::GPU_LOADER),
        "The HIP runtime that loads the code objects.",
    ),
];

const HOST: &[PolicyKey] = &[
    required(
        "name",
        ValueKind::Text(&words::HOST_NAME),
        "The name of the host program in reports.",
    ),
    optional(
        "plugins",
        ValueKind::OneOrMore(&words::PATH),
        "Patterns for paths of its plugins below the prefix.",
    ),
    optional(
        "exports",
        ValueKind::OneOrMore(&words::SYMBOLS),
        "Patterns for defined symbols: a shared object that defines one is a plugin.",
    ),
    optional(
        "symbols",
        ValueKind::OneOrMore(&words::SYMBOLS),
        "Patterns for the symbols that the host provides to its plugins.",
    ),
    optional(
        "executable",
        ValueKind::Text(&words::FILE_BELOW),
        "The path of the program below the prefix. If it exists, plugins are resolved together with it.",
    ),
    optional(
        "loads",
        ValueKind::OneOrMore(&words::LIBRARY_BELOW),
        "Libraries that it loads before its plugins: paths below a plugin's directory or below a parent of it.",
    ),
    optional(
        "list",
        ValueKind::Text(&words::FILE_NAME),
        "A file beside the program: each line names a library that the program opens before its plugins.",
    ),
];

const ARCHIVE: &[PolicyKey] = &[
    required(
        "match",
        ValueKind::Text(&words::ANY_PATH),
        "A pattern for the path below the prefix, or the whole path.",
    ),
    optional(
        "covers",
        ValueKind::OneOrMore(&words::SYMBOLS),
        "Patterns for symbols. If members refer to such a symbol, a member must define it.",
    ),
    optional(
        "deps-list",
        ValueKind::Text(&words::FILE),
        "The list of archives it is merged from, relative to this file.",
    ),
    optional(
        "from",
        ValueKind::Map(&words::SET, &words::FILE),
        "The key is a variable of the list, the value the directory of its archives, relative to this file.",
    ),
];

const PROVIDER: &[PolicyKey] = &[
    required(
        "symbol",
        ValueKind::Text(&words::TEMPLATE),
        "The raw symbol. `{T}` stands for the same text as in `archive`.",
    ),
    required(
        "archive",
        ValueKind::Text(&words::ARCHIVE_NAME),
        "The archive that defines it, without `lib` and `.a`.",
    ),
    optional(
        "list",
        ValueKind::Text(&words::FILE_NAME),
        "The file name of the list to which the archive belongs.",
    ),
    optional(
        "path",
        ValueKind::Text(&words::PATH),
        "A pattern for paths below the prefix: only references by these files count.",
    ),
];
