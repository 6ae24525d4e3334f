//! Policies: requirements for the audited files, and facts that the files do not contain, such as
//! the host programs of plugins. This file defines the model: the valid policies of a run, merged.
//! [`crate::plan::Plan`] holds the model, and every stage may read it.
//!
//! These modules read files into the model, or write text from it:
//! - `load` finds policies by name, with the policies that they extend, and decides their order.
//! - `tree` checks keys and values against the table in `shape`; `words` and `value_errors` define
//!   the kinds of text.
//! - `build` checks how values fit together, `merge` merges policies, and `errors` shows errors.
//! - `wheel` reads policies of auditwheel, and `platform` applies them to one architecture.
//! - `schema` writes the JSON Schema of policy files, and `show` the merged policy.

mod automaton;
mod build;
pub mod builtin;
mod errors;
mod glob;
mod levels;
mod load;
mod merge;
mod pattern;
mod platform;
mod provider;
mod schema;
mod shape;
mod show;
mod simple;
mod syntax;
mod tree;
mod value_errors;
mod wheel;
mod words;

pub use errors::PolicyErrors;
pub use load::{PolicyFiles, built_in_names, is_built_in, load, split_tag};
pub use pattern::Pattern;
pub use platform::{Arch, Libc, Platform, PlatformRules};
pub use schema::schema;
pub use wheel::built_in_platforms;

use crate::catalogue::Level;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// A policy template, in which every line except `schema` is a comment.
pub const TEMPLATE: &str = include_str!("template.toml");

/// The start of [`Origin::source`] for built-in policies.
const BUILT_IN_ORIGIN: &str = "built-in ";

/// The location of a policy entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The policy's name: a file as given, `built-in NAME`, or `command line`.
    pub source: Arc<str>,
    /// The line, from 1; 0 if the source has no lines.
    pub line: u32,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.source),
            line => write!(f, "{}:{line}", self.source),
        }
    }
}

/// [`Origin::source`] inside of a sentence.
pub fn source_in_words(source: &str) -> String {
    match source.strip_prefix(BUILT_IN_ORIGIN) {
        Some(name) => format!("the built-in policy `{name}`"),
        None => source.to_owned(),
    }
}

/// A calendar day; days compare chronologically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    /// The year of the Gregorian calendar.
    pub year: u16,
    /// The month, 1 to 12.
    pub month: u8,
    /// The day of the month, 1 to 31.
    pub day: u8,
}

impl std::fmt::Display for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// An entry that names a rule by an old id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The old id, as the policy spells it.
    pub old: String,
    /// The current id of the same rule.
    pub new: &'static str,
    /// The source and line of the entry.
    pub origin: Origin,
}

/// All policies of a run, merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The names of the merged policies in order, the default first.
    pub sources: Vec<Arc<str>>,
    /// Entries that use an old id of a rule.
    pub renamed: Vec<Renamed>,
    /// Levels of rules and groups, each name once; [`Policy::level_of`] selects the level that
    /// applies to a rule.
    pub levels: Vec<LevelSetting>,
    /// The `[[waive]]` entries: findings that the policy accepts.
    pub waivers: Vec<Waiver>,
    /// `[require] files`, `headers`, `pkgconfig` and `programs`: files that a prefix must have.
    pub required_files: Vec<RequiredFile>,
    /// `[require] cmake-packages`: CMake packages that a prefix must have.
    pub required_packages: Vec<RequiredPackage>,
    /// `[require] symbols`: symbols that certain files must define.
    pub required_symbols: Vec<SymbolAt>,
    /// `[forbid] libraries`: libraries that no object may need.
    pub forbidden_libraries: Vec<ForbiddenLibrary>,
    /// `[forbid] symbols`: symbols that certain files may neither define nor refer to.
    pub forbidden_symbols: Vec<SymbolAt>,
    /// `[limits.symbol-versions]`: the newest symbol versions that objects may need.
    pub version_limits: Vec<VersionLimit>,
    /// `[search-path]`: requirements for DT_RPATH and DT_RUNPATH.
    pub search_path: SearchPath,
    /// The `[gpu]` table: requirements for device code.
    pub gpu: Gpu,
    /// The `[[host]]` entries: host programs, with patterns that recognise their plugins.
    pub hosts: Vec<HostEntry>,
    /// The `[[archive]]` entries: requirements for static archives.
    pub archives: Vec<ArchivePolicy>,
    /// The `[[provider]]` entries: names of archives that define symbols.
    pub providers: Vec<ProviderEntry>,
    /// `[provided] libraries`: sonames that the target system provides. The libraries are not
    /// opened, and not reported as missing. [`Self::platforms`] has the sonames that a platform of
    /// auditwheel provides.
    pub provided: Vec<Provided>,
    /// `[provided] only`: true if objects may not need any other library from outside of the
    /// prefix. `None` if no policy sets it.
    pub provided_only: Option<(bool, Origin)>,
    /// Platforms that the policy demands by name, such as `manylinux_2_28`.
    pub platforms: Vec<Platform>,
}

/// The level of a rule or group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelSetting {
    /// The id of a rule, or the name of a group.
    pub name: String,
    /// The level of the rule, or of all rules of the group.
    pub level: Level,
    /// The source and line of the entry.
    pub origin: Origin,
}

/// A `[[waive]]` entry: accepted findings of one rule. All selectors that are set must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// The id of the rule whose findings are accepted.
    pub rule: String,
    /// Matches the path below the prefix; not compared if `None`.
    pub path: Option<Pattern>,
    /// Matches the raw symbol; not compared if `None`.
    pub symbol: Option<Pattern>,
    /// Matches the symbol version; not compared if `None`.
    pub version: Option<Pattern>,
    /// Matches the needed name of the library; not compared if `None`.
    pub library: Option<Pattern>,
    /// Matches the GPU target; not compared if `None`.
    pub target: Option<Pattern>,
    /// Matches the archive member; not compared if `None`.
    pub member: Option<Pattern>,
    /// Matches the `detail` of a finding, as in JSON reports; not compared if `None`.
    pub detail: Option<Pattern>,
    /// The reason why the findings are accepted.
    pub reason: String,
    /// The last day on which the waiver applies; `None` if it does not expire.
    pub expires: Option<Day>,
    /// The source and line of the entry.
    pub origin: Origin,
}

impl Waiver {
    /// The selectors that are set, with their keys.
    pub fn selectors(&self) -> impl Iterator<Item = (&'static str, &Pattern)> {
        let all = [
            ("path", &self.path),
            ("symbol", &self.symbol),
            ("version", &self.version),
            ("library", &self.library),
            ("target", &self.target),
            ("member", &self.member),
            ("detail", &self.detail),
        ];
        all.into_iter().filter_map(|(key, pattern)| Some((key, pattern.as_ref()?)))
    }
}

/// A list of files that a prefix must have; each list is a key of `[require]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileList {
    /// Files by their paths.
    Files,
    /// Headers by their names in `#include`.
    Headers,
    /// Package files of pkg-config by their names.
    PkgConfig,
    /// Programs by their names.
    Programs,
}

impl FileList {
    /// All lists, in the order in which `policy show` writes them.
    pub const ALL: [Self; 4] = [Self::Files, Self::Headers, Self::PkgConfig, Self::Programs];

    /// The key of the list in the table `[require]`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Headers => "headers",
            Self::PkgConfig => "pkgconfig",
            Self::Programs => "programs",
        }
    }

    /// The pattern over paths below the prefix for an entry of the list.
    fn path(self, text: &str) -> String {
        match self {
            Self::Files => text.to_owned(),
            Self::Headers => format!("**/include/{text}"),
            Self::PkgConfig => format!("**/pkgconfig/{text}.pc"),
            Self::Programs => format!("**/bin/{text}"),
        }
    }
}

impl Policy {
    /// True if a `[[provider]]` entry about this file or a `covers` pattern matches `symbol`.
    /// `path` returns the path of the file below its prefix.
    pub fn claims(&self, symbol: &[u8], path: impl Fn() -> PathBuf) -> bool {
        let provider = |known: &ProviderEntry| known.claims(symbol) && known.is_about(&path());
        let covers =
            |entry: &ArchivePolicy| entry.covers.iter().any(|pattern| pattern.matches(symbol));
        self.providers.iter().any(provider) || self.archives.iter().any(covers)
    }

    /// The components that the policy requires of a CMake package. The case of the package name is
    /// ignored.
    pub fn components_of(&self, package: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        let is_it = |one: &&RequiredPackage| one.name.as_bytes().eq_ignore_ascii_case(package);
        let required = self.required_packages.iter().filter(is_it);
        required.flat_map(|one| one.components.iter().map(|name| name.clone().into_bytes()))
    }
}

/// A CMake package that a prefix must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredPackage {
    /// The name for `find_package`.
    pub name: String,
    /// Components that must be found.
    pub components: Vec<String>,
    /// The reason that the entry gives, for reports; `None` if it gives none.
    pub reason: Option<String>,
    /// The source and line of the entry.
    pub origin: Origin,
}

/// A file that a prefix must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredFile {
    /// The list of `[require]` that names the file.
    pub list: FileList,
    /// The path or name of the file, as written in the policy.
    pub text: String,
    /// Matches paths below the prefix; one match is enough.
    pub path: Pattern,
    /// The source and line of the entry.
    pub origin: Origin,
}

/// A symbol that certain files must define, or that they must neither define nor refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolAt {
    /// Matches paths below the prefix. `None`: any file may define a required symbol, and every
    /// file is checked for a forbidden symbol.
    pub path: Option<Pattern>,
    /// Matches needed names, for forbidden symbols. If a pattern is set, the entry applies only to
    /// strong references of objects that need a matching library.
    pub library: Option<Pattern>,
    /// A raw name if the symbol is required, a pattern if it is forbidden.
    pub symbol: Pattern,
    /// The reason that the entry gives, for reports; `None` if it gives none.
    pub reason: Option<String>,
    /// The source and line of the entry.
    pub origin: Origin,
}

/// A library that no object may need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForbiddenLibrary {
    /// Matches the needed name.
    pub name: Pattern,
    /// The reason that the entry gives, for reports; `None` if it gives none.
    pub reason: Option<String>,
    /// The source and line of the entry.
    pub origin: Origin,
}

/// The newest version of a family that objects may need: `GLIBC` up to `2.17`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionLimit {
    /// The text before the underscore and the number: `GLIBC` in `GLIBC_2.17`.
    pub family: String,
    /// The newest allowed version number: `2.17` is `[2, 17]`. Not compared if `listed` is set.
    pub newest: Vec<u32>,
    /// The numbers of all versions that objects may need, if a platform lists them; otherwise
    /// `None`.
    pub listed: Option<BTreeSet<String>>,
    /// The source and line of the entry.
    pub origin: Origin,
}

/// Requirements for the search paths of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath {
    /// The tag that objects with a search path must use; `None` accepts both tags.
    pub require: Option<(SearchTag, Origin)>,
    /// Allowed starts of entries, compared component by component; `None` allows everything.
    pub allow: Option<(Vec<String>, Origin)>,
}

impl SearchPath {
    /// True if the policy has a requirement for search paths.
    pub fn is_set(&self) -> bool {
        self.require.is_some() || self.allow.is_some()
    }
}

/// The value of `[search-path] require`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchTag {
    /// Search paths must be DT_RPATH.
    Rpath,
    /// Search paths must be DT_RUNPATH.
    Runpath,
    /// No search path is allowed.
    None,
}

/// The `[gpu]` table: requirements for device code, and the HIP runtime that loads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    /// GPU targets, such as `gfx90a`, that all device code must serve; `None` requires none.
    pub targets: Option<(Vec<String>, Origin)>,
    /// True if the device code may serve no other targets; `None` if no policy sets it.
    pub exact: Option<(bool, Origin)>,
    /// `stock`, `debian` or `nix`: the profile of the HIP runtime, which decides which code objects
    /// the runtime accepts. `None` if no policy sets it.
    pub loader: Option<(String, Origin)>,
}

/// A `[[host]]` entry: one kind of program that loads shared objects as plugins, and the symbols
/// that it provides to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    /// The name of the host program in reports, such as `python`.
    pub name: String,
    /// Patterns for paths below the prefix: matching files are plugins of the program.
    pub plugins: Vec<Pattern>,
    /// Patterns for names of definitions: a shared object that defines a matching name is a plugin.
    pub exports: Vec<Pattern>,
    /// Patterns for names that the host program provides to its plugins.
    pub symbols: Vec<Pattern>,
    /// The program, as a path below the prefix. If the program exists, plugins are resolved in its
    /// real scope. `None` if the entry names no program.
    pub executable: Option<String>,
    /// Libraries that the program loads before its plugins, as paths below the directory of a
    /// plugin or one of its parents.
    pub loads: Vec<String>,
    /// The name of a file beside the program. Each line of the file names a library that the
    /// program opens before its plugins. `None` if the entry names no file.
    pub list: Option<String>,
    /// The source and line of the entry.
    pub origin: Origin,
}

/// An `[[archive]]` entry: requirements for a static archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivePolicy {
    /// Matches the path below the prefix, or the full path.
    pub matches: Pattern,
    /// If a member refers to a symbol with a matching name, a member of the archive must define
    /// the symbol.
    pub covers: Vec<Pattern>,
    /// The path of the list of archives that the archive is merged from; `None` if the policy
    /// names no list.
    pub deps_list: Option<PathBuf>,
    /// Variables of the list that hold archives, each with the directory of these archives.
    pub from: Vec<(String, PathBuf)>,
    /// The source and line of the entry.
    pub origin: Origin,
}

/// A `[[provider]]` entry: the name of an archive that defines a symbol, for archives that were not
/// read. `{T}` stands for the same text in the symbol and in the name of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderEntry {
    /// The symbol, with or without `{T}`.
    pub symbol: String,
    /// The archive's bare name, without `lib` and `.a`.
    pub archive: String,
    /// The file name of the list that should have the archive; `None` if the entry names no list.
    pub list: Option<String>,
    /// Matches the path, below the prefix, of files that refer to the symbol; `None` for every
    /// file.
    pub path: Option<Pattern>,
    /// The source and line of the entry.
    pub origin: Origin,
}

/// A soname that the target system provides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provided {
    /// The DT_SONAME of the library.
    pub soname: String,
    /// The source and line of the entry.
    pub origin: Origin,
}
