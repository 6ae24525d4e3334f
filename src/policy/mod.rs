//! Policies: what a run is told about the audited files beyond what they say themselves. This file
//! is the model, valid and merged; [`crate::plan::Plan`] holds it and every stage may read it. It
//! opens no file and knows no TOML.
//!
//! Files become the model in `load` (names, `extends`, order), `tree` (what may stand where, by the
//! table in `shape`, and the kinds of text in `words` and `faults`), `build` (what values mean together) and
//! `merge`; `problem` shows what is wrong with them. `wheel` reads those of auditwheel, `platform` says what they
//! mean for one architecture; `schema` and
//! `show` write what files may hold and what all of them come to.

mod build;
pub mod builtin;
mod faults;
mod levels;
mod load;
mod merge;
mod pattern;
mod platform;
mod problem;
mod provider;
mod schema;
mod shape;
mod show;
mod simple;
mod syntax;
mod tree;
mod unchecked;
mod wheel;
mod words;

pub use load::{Files, load};
pub use pattern::Pattern;
pub use platform::{Arch, Libc, Platform, Rules};
pub use problem::Mistakes;
pub use schema::schema;
pub use unchecked::Unchecked;
pub use wheel::built_in_platforms;

use crate::catalogue::Level;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// A policy to begin with, in which everything is a comment.
pub const TEMPLATE: &str = include_str!("template.toml");

/// The begin of the sources of built-in policies.
const BUILT_IN_ORIGIN: &str = "built-in ";

/// Where an entry stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The policy's name: a file as it was named, `built-in NAME`, or `command line`.
    pub source: Arc<str>,
    /// The line, from 1; 0 where there are no lines.
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

/// A day of the calendar, which compares as days do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    /// The year.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
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
    /// The id as it is written.
    pub old: String,
    /// The id that counts.
    pub new: &'static str,
    /// Where it stands.
    pub origin: Origin,
}

/// All policies of a run in one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The names of what was merged, in order, the default first.
    pub sources: Vec<Arc<str>>,
    /// Entries that name a rule by an id that it had before.
    pub renamed: Vec<Renamed>,
    /// Levels of rules and groups, each set once; [`Policy::level_of`] says which applies.
    pub levels: Vec<LevelSetting>,
    /// `[[waive]]`
    pub waivers: Vec<Waiver>,
    /// `[require] files`
    pub required_files: Vec<RequiredFile>,
    /// `[require] symbols`
    pub required_symbols: Vec<SymbolAt>,
    /// `[forbid] libraries`
    pub forbidden_libraries: Vec<ForbiddenLibrary>,
    /// `[forbid] symbols`
    pub forbidden_symbols: Vec<SymbolAt>,
    /// `[limits.symbol-versions]`
    pub version_limits: Vec<VersionLimit>,
    /// `[search-path]`
    pub search_path: SearchPath,
    /// `[gpu]`
    pub gpu: Gpu,
    /// `[[host]]`
    pub hosts: Vec<Host>,
    /// `[[archive]]`
    pub archives: Vec<ArchivePolicy>,
    /// `[[provider]]`
    pub providers: Vec<Provider>,
    /// `[provided] libraries`: sonames that the target system provides, neither opened nor missing.
    /// Policies of auditwheel name them.
    pub provided: Vec<Provided>,
    /// `[provided] only`: no other library outside of the prefix may be needed.
    pub provided_only: Option<(bool, Origin)>,
    /// Platforms that are demanded by name.
    pub platforms: Vec<Platform>,
}

/// The level of a rule or group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelSetting {
    /// The rule or group.
    pub name: String,
    /// Its level.
    pub level: Level,
    /// Where it was set.
    pub origin: Origin,
}

/// A `[[waive]]` entry: findings of one rule that are known and accepted. All selectors that are set
/// must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// The rule's id; it may be one that no built rule has yet.
    pub rule: String,
    /// Over the path below the prefix.
    pub path: Option<Pattern>,
    /// Over the raw symbol.
    pub symbol: Option<Pattern>,
    /// Over the version.
    pub version: Option<Pattern>,
    /// Over the library's name as it was asked for.
    pub library: Option<Pattern>,
    /// Over the GPU target.
    pub target: Option<Pattern>,
    /// Over the archive member.
    pub member: Option<Pattern>,
    /// Over the detail.
    pub detail: Option<Pattern>,
    /// Why it is accepted.
    pub reason: String,
    /// The last day on which it waives.
    pub expires: Option<Day>,
    /// Where it stands.
    pub origin: Origin,
}

impl Waiver {
    /// The selectors that are set, by key.
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

/// A file that a prefix must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredFile {
    /// Over paths below the prefix; one match is enough.
    pub path: Pattern,
    /// Where it stands.
    pub origin: Origin,
}

/// A symbol that the files at a path must define, or must neither define nor refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolAt {
    /// Over paths below the prefix; every file without it.
    pub path: Option<Pattern>,
    /// Over needed names, where the symbol is forbidden: only references by objects that need such a
    /// library count, and definitions do not.
    pub library: Option<Pattern>,
    /// A raw name where it is required, a pattern where it is forbidden.
    pub symbol: Pattern,
    /// Why, if the policy says so.
    pub reason: Option<String>,
    /// Where it stands.
    pub origin: Origin,
}

/// A library that nothing may need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForbiddenLibrary {
    /// Over the needed name.
    pub name: Pattern,
    /// Why, if the policy says so.
    pub reason: Option<String>,
    /// Where it stands.
    pub origin: Origin,
}

/// The newest version of a family that may be needed: `GLIBC` up to `2.17`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionLimit {
    /// What stands before the underscore and the number.
    pub family: String,
    /// The newest number, part by part.
    pub newest: Vec<u32>,
    /// All versions that may be needed, without the family, where a platform lists them.
    pub listed: Option<BTreeSet<String>>,
    /// Where it stands.
    pub origin: Origin,
}

/// What search paths of objects may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath {
    /// The tag that objects must use, if they have a search path.
    pub require: Option<(SearchTag, Origin)>,
    /// How entries may begin, part by part; nothing to allow everything.
    pub allow: Option<(Vec<String>, Origin)>,
}

impl SearchPath {
    /// True if it asks for anything.
    pub fn is_set(&self) -> bool {
        self.require.is_some() || self.allow.is_some()
    }
}

/// `[search-path] require`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchTag {
    /// DT_RPATH
    Rpath,
    /// DT_RUNPATH
    Runpath,
    /// Neither.
    None,
}

/// `[gpu]`; no rule reads it yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    /// Processors that must be served.
    pub targets: Option<(Vec<String>, Origin)>,
    /// `stock`, `debian` or `nix`: which code objects the HIP runtime accepts.
    pub loader: Option<(String, Origin)>,
}

/// A `[[host]]` entry: shared objects that one kind of program loads, and that take symbols from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The name, such as `python`.
    pub name: String,
    /// Over paths below the prefix: files that are its plugins.
    pub plugins: Vec<Pattern>,
    /// Over defined names: a shared object that defines a matching one is a plugin.
    pub exports: Vec<Pattern>,
    /// Over names that the host provides to its plugins.
    pub symbols: Vec<Pattern>,
    /// The program, as a path below the prefix; with it the scope is real.
    pub executable: Option<String>,
    /// Libraries that the program loads before its plugins, as paths below a plugin's directory or
    /// one above it.
    pub loads: Vec<String>,
    /// Where it stands.
    pub origin: Origin,
}

/// An `[[archive]]` entry: what is demanded of a static archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivePolicy {
    /// Over the path below the prefix, or the whole path.
    pub matches: Pattern,
    /// References with such names must be defined inside.
    pub covers: Vec<Pattern>,
    /// The list of archives it is merged from.
    pub deps_list: Option<PathBuf>,
    /// Set of the list to the directory of its archives.
    pub from: Vec<(String, PathBuf)>,
    /// Where it stands.
    pub origin: Origin,
}

/// A `[[provider]]` entry: where a symbol is known to be defined without the archive at hand.
/// `{T}` stands for the same text wherever it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The symbol, with `{T}` in it or not.
    pub symbol: String,
    /// The archive's bare name, without `lib` and `.a`.
    pub archive: String,
    /// The list it belongs on, by file name.
    pub list: Option<String>,
    /// Over the path, below the prefix, of files that refer to it; every file without it.
    pub path: Option<Pattern>,
    /// Where it stands.
    pub origin: Origin,
}

/// A soname that the target system provides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provided {
    /// The soname.
    pub soname: String,
    /// Where it stands.
    pub origin: Origin,
}
