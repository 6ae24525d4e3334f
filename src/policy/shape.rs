//! The table of keys that a policy file may contain. The parser checks files against it, and the
//! JSON Schema for editors is generated from it. It describes single values; `build` checks how
//! they fit together.

use super::words::{self, Word};

/// A key of a table.
pub(super) struct Key {
    /// The key as written.
    pub(super) name: &'static str,
    /// One sentence for editors and for the schema.
    pub(super) doc: &'static str,
    /// The kind of its value.
    pub(super) kind: Kind,
    /// True if the table is invalid without it.
    pub(super) required: bool,
}

/// Kinds of values.
pub(super) enum Kind {
    /// The version of this format.
    Schema,
    /// Text of one kind.
    Text(&'static Word),
    /// A day.
    Date,
    /// True or false.
    Truth,
    /// A list of texts of one kind.
    List(&'static Word),
    /// One text of a kind, or a list of them.
    OneOrMore(&'static Word),
    /// A table with these keys.
    Table(&'static [Key]),
    /// `[[…]]`, or a list of such tables.
    Tables(&'static [Key]),
    /// A table whose keys are of one kind of text, and its values of another.
    Map(&'static Word, &'static Word),
}

const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, doc, kind, required: false }
}

const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, doc, kind, required: true }
}

/// The whole file.
pub(super) const FILE: &[Key] = &[
    required("schema", Kind::Schema, "The version of this format: 1."),
    optional(
        "extends",
        Kind::List(&words::EXTENDS),
        "Policies that are merged before this one: built-in names, or files relative to this one.",
    ),
    optional(
        "levels",
        Kind::Map(&words::RULE_OR_GROUP, &words::LEVEL),
        "Levels of rules and groups. A level for a rule wins over one for its group.",
    ),
    optional("waive", Kind::Tables(WAIVE), "Findings of one rule that are known and accepted."),
    optional("require", Kind::Table(REQUIRE), "Required files, packages and symbols of a prefix."),
    optional("forbid", Kind::Table(FORBID), "Forbidden libraries and symbols."),
    optional(
        "provided",
        Kind::Table(PROVIDED),
        "Libraries of the system on which the files will run.",
    ),
    optional("limits", Kind::Table(LIMITS), "The newest versions that files may need."),
    optional("search-path", Kind::Table(SEARCH_PATH), "Allowed search paths of objects."),
    optional("gpu", Kind::Table(GPU), "GPUs that the device code must serve."),
    optional(
        "host",
        Kind::Tables(HOST),
        "A program that loads plugins, and the symbols that it provides to them.",
    ),
    optional(
        "archive",
        Kind::Tables(ARCHIVE),
        "A static archive that must be complete, or that is merged from a list of archives.",
    ),
    optional(
        "provider",
        Kind::Tables(PROVIDER),
        "The archive that defines a symbol, if no candidate does: a suggestion that is not verified.",
    ),
];

/// The keys of `[[waive]]` that select findings.
pub(super) const SELECTORS: &[&str] =
    &["path", "symbol", "version", "library", "target", "member", "detail"];

/// The alternative keys of an entry, of which at least one must be set. `None` for other tables.
pub(super) fn one_of(table: &str) -> Option<&'static [&'static str]> {
    match table {
        "waive" => Some(SELECTORS),
        "host" => Some(&["plugins", "exports", "list"]),
        "archive" => Some(&["covers", "deps-list"]),
        _ => None,
    }
}

const WAIVE: &[Key] = &[
    required("rule", Kind::Text(&words::RULE), "The rule whose findings are accepted."),
    optional(
        "path",
        Kind::Text(&words::PATH),
        "A pattern for the path below the prefix; `*` does not cross `/`, `**` does.",
    ),
    optional("symbol", Kind::Text(&words::NAME), "A pattern for the raw symbol."),
    optional("version", Kind::Text(&words::NAME), "A pattern for the version."),
    optional("library", Kind::Text(&words::NAME), "A pattern for the needed name of the library."),
    optional("target", Kind::Text(&words::NAME), "A pattern for the GPU target."),
    optional("member", Kind::Text(&words::LINE), "A pattern for the archive member."),
    optional(
        "detail",
        Kind::Text(&words::LINE),
        "A pattern for the key `detail` of the JSON report.",
    ),
    required("reason", Kind::Text(&words::REASON), "Why the findings are accepted."),
    optional(
        "expires",
        Kind::Date,
        "The last day on which the entry waives. Afterwards, the entry itself is reported.",
    ),
];

const REQUIRE: &[Key] = &[
    optional(
        "files",
        Kind::List(&words::PATH),
        "Patterns for paths below the prefix, each of which must match a file.",
    ),
    optional(
        "headers",
        Kind::List(&words::HEADER),
        "Patterns for paths below a directory `include`, each of which must match a file.",
    ),
    optional(
        "pkgconfig",
        Kind::List(&words::PACKAGE_NAME),
        "Names of pkg-config packages, each of which must have a package file.",
    ),
    optional(
        "programs",
        Kind::List(&words::FILE_NAME),
        "Names of programs, each of which must be in a directory `bin`.",
    ),
    optional(
        "cmake-packages",
        Kind::Tables(REQUIRED_PACKAGE),
        "CMake packages that `find_package` must find.",
    ),
    optional("symbols", Kind::Tables(REQUIRED_SYMBOL), "Symbols that files must define."),
];

const REQUIRED_PACKAGE: &[Key] = &[
    required("name", Kind::Text(&words::PACKAGE_NAME), "The name for `find_package`."),
    optional(
        "components",
        Kind::OneOrMore(&words::PACKAGE_NAME),
        "Components, each of which must be found.",
    ),
    optional("reason", Kind::Text(&words::REASON), "Why it must be there."),
];

const REQUIRED_SYMBOL: &[Key] = &[
    optional(
        "path",
        Kind::Text(&words::PATH),
        "A pattern for paths below the prefix; without it any file may define the symbol.",
    ),
    required("symbol", Kind::Text(&words::SYMBOL), "The raw symbol."),
    optional("reason", Kind::Text(&words::REASON), "Why it must be there."),
];

const FORBID: &[Key] = &[
    optional("libraries", Kind::Tables(FORBIDDEN_LIBRARY), "Libraries that no file may need."),
    optional(
        "symbols",
        Kind::Tables(FORBIDDEN_SYMBOL),
        "Symbols that no file may define or refer to.",
    ),
];

const FORBIDDEN_LIBRARY: &[Key] = &[
    required("name", Kind::Text(&words::NAME), "A pattern for the needed name."),
    optional("reason", Kind::Text(&words::REASON), "Why it is forbidden."),
];

const FORBIDDEN_SYMBOL: &[Key] = &[
    optional(
        "path",
        Kind::Text(&words::PATH),
        "A pattern for paths below the prefix; without it every file.",
    ),
    optional(
        "library",
        Kind::Text(&words::NAME),
        "A pattern for needed names: only references by objects that need such a library count.",
    ),
    required("symbol", Kind::Text(&words::NAME), "A pattern for the raw symbol."),
    optional("reason", Kind::Text(&words::REASON), "Why it is forbidden."),
];

const PROVIDED: &[Key] = &[
    optional(
        "libraries",
        Kind::List(&words::SONAME),
        "Sonames of libraries that are neither opened nor reported as missing.",
    ),
    optional(
        "only",
        Kind::Truth,
        "Every other library outside the prefix is a finding, and none is opened.",
    ),
];

const LIMITS: &[Key] = &[optional(
    "symbol-versions",
    Kind::Map(&words::FAMILY, &words::NUMBER),
    "The newest version of each family that may be needed.",
)];

const SEARCH_PATH: &[Key] = &[
    optional(
        "require",
        Kind::Text(&words::SEARCH_TAG),
        "The tag that an object with a search path must have; `none` forbids search paths.",
    ),
    optional(
        "allow",
        Kind::List(&words::SEARCH_ENTRY),
        "Directories in or below which each entry must lie.",
    ),
];

const GPU: &[Key] = &[
    optional("targets", Kind::List(&words::GPU_TARGET), "GPUs that must be served."),
    optional("exact", Kind::Truth, "True to report code for targets that are not listed."),
    optional(
        "loader",
        Kind::Text(&words::GPU_LOADER),
        "The HIP runtime that loads the code objects.",
    ),
];

const HOST: &[Key] = &[
    required("name", Kind::Text(&words::HOST_NAME), "The name of the host program in reports."),
    optional(
        "plugins",
        Kind::OneOrMore(&words::PATH),
        "Patterns for paths of its plugins below the prefix.",
    ),
    optional(
        "exports",
        Kind::OneOrMore(&words::NAME),
        "Patterns for defined symbols: a shared object that defines one is a plugin.",
    ),
    optional(
        "symbols",
        Kind::OneOrMore(&words::NAME),
        "Patterns for the symbols that the host provides to its plugins.",
    ),
    optional(
        "executable",
        Kind::Text(&words::FILE_BELOW),
        "The path of the program below the prefix. If it exists, plugins are resolved together with it.",
    ),
    optional(
        "loads",
        Kind::OneOrMore(&words::LIBRARY_BELOW),
        "Libraries that it loads before its plugins: paths below a plugin's directory or below a parent of it.",
    ),
    optional(
        "list",
        Kind::Text(&words::FILE_NAME),
        "A file beside the program: each line names a library that the program opens before its plugins.",
    ),
];

const ARCHIVE: &[Key] = &[
    required(
        "match",
        Kind::Text(&words::ANY_PATH),
        "A pattern for the path below the prefix, or the whole path.",
    ),
    optional(
        "covers",
        Kind::OneOrMore(&words::NAME),
        "Patterns for symbols. If members refer to such a symbol, a member must define it.",
    ),
    optional(
        "deps-list",
        Kind::Text(&words::FILE),
        "The list of archives it is merged from, relative to this file.",
    ),
    optional(
        "from",
        Kind::Map(&words::SET, &words::FILE),
        "The key is a variable of the list, the value the directory of its archives, relative to this file.",
    ),
];

const PROVIDER: &[Key] = &[
    required(
        "symbol",
        Kind::Text(&words::TEMPLATE),
        "The raw symbol. `{T}` stands for the same text as in `archive`.",
    ),
    required(
        "archive",
        Kind::Text(&words::ARCHIVE_NAME),
        "The archive that defines it, without `lib` and `.a`.",
    ),
    optional(
        "list",
        Kind::Text(&words::FILE_NAME),
        "The file name of the list to which the archive belongs.",
    ),
    optional(
        "path",
        Kind::Text(&words::PATH),
        "A pattern for paths below the prefix: only references by these files count.",
    ),
];
