//! Evaluates the CMake files that packages install for `find_package`. This module finds the files
//! that the CMake files include, the targets that they define, and the files and packages that the
//! targets name. No program is executed. A value is unknown if it depends on a program, or on the
//! consumer: the project that calls `find_package`. If a condition depends on an unknown value,
//! both branches are evaluated, and defects in them are not reported.
//!
//! Files are looked up through a [`CMakeHost`], which `audit::package_text` implements. The
//! modelled consumer calls `find_package(NAME CONFIG)` on the audited system, with CMake 3.25.

mod arguments;
mod budget;
mod commands;
mod condition;
mod config;
mod eval;
mod find;
mod lists;
mod modules;
mod outer;
mod parsed;
mod paths;
mod pattern;
mod state;
mod strings;
mod targets;
mod value;

pub use budget::Work;
pub use config::{Config, evaluate};
pub use outer::{PackageScope, ScopeAnswer, ScopeLookup};
pub use parsed::Parsed;
pub use state::CommandSite;
pub use value::Truth;

use state::{Function, Text};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use value::MaybeText;

/// True if a regular expression of CMake matches a part of `text`. `None` if the expression has an
/// error, or if the search takes too long.
pub(crate) fn matches(expression: &[u8], text: &[u8]) -> Option<bool> {
    let found = pattern::Regex::new(expression)?.find(text, 0).ok()?;
    Some(found.is_some())
}

/// A placeholder for the component that a consumer requests. If a package searches a list for the
/// placeholder, the items of that list are the components that the package knows.
pub(crate) const COMPONENT: &[u8] = b"\x01component";

/// The kind of entry that exists at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathEntry {
    /// The path leads to a regular file.
    File,
    /// The path leads to a directory.
    Directory,
    /// The path does not exist.
    Absent,
    /// Unknown: the path is a special file, cannot be read, or may exist only on the machine of the
    /// consumer.
    Unknown,
}

/// Access to the file system and the packages of the audited system.
pub trait CMakeHost {
    /// The kind of entry at a path, with links followed.
    fn look(&mut self, path: &Path) -> PathEntry;
    /// The parsed content of a file; `None` if it cannot be read.
    fn file(&mut self, path: &Path) -> Option<Arc<Parsed>>;
    /// The names in a directory, sorted; `None` if they are not known.
    fn list(&mut self, path: &Path) -> Option<Vec<Vec<u8>>>;
    /// True if a path is a symbolic link, `None` if that is not known.
    fn is_link(&mut self, path: &Path) -> Option<bool>;
    /// A path with links resolved; `None` if they cannot be resolved.
    fn real_path(&mut self, path: &Path) -> Option<PathBuf>;
    /// The result of `find_package`. `depth` is the number of blocks, calls, files and packages
    /// that enclose the request. `scope` belongs to the requesting package, and is returned
    /// unchanged.
    fn package(
        &mut self,
        wanted: &PackageRequest,
        manner: Manner,
        scope: PackageScope,
        depth: usize,
    ) -> (Package, PackageScope);
    /// Looks up a name in the scopes of the packages that request the evaluated package,
    /// beginning with the innermost. The first answer of [`PackageScope::answer`] is the result.
    fn enclosing(&self, sought: &ScopeLookup) -> ScopeAnswer;
}

/// The options of a request that the configuration file gets as variables, such as
/// `NAME_FIND_QUIETLY`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Manner {
    /// True if the request has the option QUIET.
    pub quiet: Truth,
    /// True if the request has the option REQUIRED.
    pub required: Truth,
}

impl Manner {
    /// A request without options.
    pub const PLAIN: Self = Self { quiet: Truth::False, required: Truth::False };
}

/// A package that a file requests.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PackageRequest {
    /// The name of the requested package.
    pub name: Vec<u8>,
    /// The version, or a range of versions; `None` if the request has none.
    pub version: Option<Vec<u8>>,
    /// The required components of the request.
    pub components: Vec<Vec<u8>>,
    /// False if a find module may handle the request instead of a configuration file.
    pub config_only: bool,
    /// Absolute directories of HINTS and PATHS of the request.
    pub hints: Vec<PathBuf>,
    /// False if an argument of the request is unknown, or if the request has NAMES, CONFIGS or
    /// PATH_SUFFIXES: the search knows only the default names of files and directories.
    pub is_known: bool,
}

/// A package as `find_package` returns it to the requester.
#[derive(Clone, Default)]
pub struct Package {
    /// The result of the search for the package.
    pub found: FindResult,
    /// The text of a fatal error with which the configuration of the consumer fails; `None` if
    /// there is none.
    pub fatal: Option<Vec<u8>>,
    /// Required packages for which a find module searches. They are assumed to be found.
    pub assumed: Vec<Vec<u8>>,
    pub(crate) has_modules: bool,
    /// True if the package may define targets of any name.
    pub(crate) is_open: bool,
    /// Commands that the package calls, and that the requesting package must have defined. The flag
    /// is true if the package certainly calls the command.
    pub(crate) strange: Vec<(String, bool)>,
    /// Variables that the package changes, with their new values; `None` for an unknown value.
    pub(crate) variables: Vec<(Text, MaybeText)>,
    /// Variables of the requesting packages that this package unsets.
    pub(crate) removed: Vec<Text>,
    /// Targets of other packages, each with a property that the package may set.
    pub(crate) touched: Vec<(Text, Text)>,
    /// True if the package calls `execute_process`. Its results are unknown.
    pub(crate) has_processes: bool,
    /// Targets that the package defines. The flag is true if the package certainly defines the
    /// target.
    pub(crate) targets: Vec<(Text, bool)>,
    pub(crate) functions: Vec<(String, Function)>,
    pub(crate) namespaces: Vec<Text>,
}

/// The result of a search for a package.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum FindResult {
    /// The package was found.
    Yes,
    /// The configuration file sets `NAME_FOUND` to false, or fails.
    Refused,
    /// CMake finds no configuration file of that name.
    Absent,
    /// All configuration files of that name have another version.
    OtherVersion {
        /// The path of a configuration file with another version.
        path: PathBuf,
        /// The version that its version file states; empty if the version is unknown.
        version: Vec<u8>,
    },
    /// Not known: a module, a cycle, or a file that could not be evaluated.
    #[default]
    Unknown,
}

/// A definite defect: a package refers to something that does not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The position of the command with the defect.
    pub site: CommandSite,
    /// The kind of the defect.
    pub kind: EventKind,
}

/// The kinds of definite defects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum EventKind {
    /// `include` of a file that does not exist.
    Include(PathBuf),
    /// A property of a target names a file or directory that does not exist.
    Property {
        /// The name of the target.
        target: Vec<u8>,
        /// The name of the property.
        property: Vec<u8>,
        /// The path that does not exist.
        path: PathBuf,
    },
    /// The package itself checks for a file, and fails because the file does not exist.
    Check(PathBuf),
    /// A target links to a target that is not defined.
    Target {
        /// The name of the target with the link.
        from: Vec<u8>,
        /// The name of the target that is not defined.
        to: Vec<u8>,
    },
    /// A required package that is not found.
    Dependency {
        /// The request for the package.
        wanted: PackageRequest,
        /// The result of the search.
        found: FindResult,
    },
}

/// The reason why an evaluation does not reach the end of the package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GaveUp {
    /// A file that cannot be read or parsed. The host reports the file.
    Unread(&'static str),
    /// A limit is reached, or it is unknown which code runs next.
    Undecided(&'static str),
}

impl GaveUp {
    /// The reason why the evaluation gave up, in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unread(reason) | Self::Undecided(reason) => reason,
        }
    }
}

/// The result of the evaluation of one package.
#[derive(Clone)]
pub struct PackageOutcome {
    /// True if a consumer finds the package; `None` after a fatal error.
    pub found: Option<Truth>,
    /// Definite defects of the package.
    pub events: Vec<Event>,
    /// The components that the package knows; empty if it does not list them.
    pub components: Vec<Vec<u8>>,
    /// The reason why the evaluation did not reach the end of the package; `None` if it did.
    pub gave_up: Option<GaveUp>,
    /// The header directories that the package's targets name.
    pub includes: Vec<PathBuf>,
    /// The text of the fatal error, or of the reason why the package is not found. Empty if there
    /// is neither.
    pub message: Vec<u8>,
    /// The variables, targets and commands that other packages use.
    pub package: Package,
    /// The work of the evaluation, without the work for packages that it requested.
    pub spent: Work,
}

#[cfg(test)]
mod tests {
    use super::{
        CMakeHost, Config, EventKind, Manner, Package, PackageOutcome, PackageRequest,
        PackageScope, Parsed, PathEntry, ScopeAnswer, ScopeLookup, Truth, Work, evaluate,
    };
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    /// Files in memory; all other paths are absent.
    struct MemoryFiles(Vec<(&'static str, String)>);

    impl CMakeHost for MemoryFiles {
        fn look(&mut self, path: &Path) -> PathEntry {
            let is_it = |(name, _): &(&str, String)| Path::new(name) == path;
            if self.0.iter().any(is_it) { PathEntry::File } else { PathEntry::Absent }
        }

        fn file(&mut self, path: &Path) -> Option<Arc<Parsed>> {
            let found = self.0.iter().find(|(name, _)| Path::new(name) == path)?;
            Some(Arc::new(Parsed::new(found.1.clone().into_bytes())))
        }

        fn list(&mut self, _: &Path) -> Option<Vec<Vec<u8>>> {
            Some(Vec::new())
        }

        fn is_link(&mut self, _: &Path) -> Option<bool> {
            Some(false)
        }

        fn real_path(&mut self, path: &Path) -> Option<PathBuf> {
            Some(path.to_path_buf())
        }

        fn package(
            &mut self,
            wanted: &PackageRequest,
            _: Manner,
            scope: PackageScope,
            depth: usize,
        ) -> (Package, PackageScope) {
            let path = format!("/p/{}Config.cmake", String::from_utf8_lossy(&wanted.name));
            let path = Path::new(&path);
            if self.look(path) != PathEntry::File {
                return (Package::default(), scope);
            }
            let config = Config { depth, alone: false, ..config(&wanted.name, path) };
            (evaluate(self, &config).package, scope)
        }

        fn enclosing(&self, _: &ScopeLookup) -> ScopeAnswer {
            ScopeAnswer::Absent
        }
    }

    fn config<'c>(name: &'c [u8], path: &'c Path) -> Config<'c> {
        Config {
            name,
            path,
            version_file: None,
            version: None,
            depth: 0,
            alone: true,
            manner: Manner::PLAIN,
            work: Work::MOST,
            components: &[],
            architecture: None,
            pointer: 8,
        }
    }

    fn outcome(text: &str, others: &[(&'static str, &str)]) -> PackageOutcome {
        let others = others.iter().map(|(name, text)| (*name, (*text).to_owned()));
        let files = others.chain([("/p/fooConfig.cmake", text.to_owned())]);
        let path = Path::new("/p/fooConfig.cmake");
        evaluate(&mut MemoryFiles(files.collect()), &config(b"foo", path))
    }

    fn included(text: &str) -> Vec<String> {
        let outcome = outcome(text, &[]);
        let path = |kind: &EventKind| match kind {
            EventKind::Include(path) => path.display().to_string(),
            other => format!("{other:?}"),
        };
        outcome.events.iter().map(|event| path(&event.kind)).collect()
    }

    #[test]
    fn only_what_is_certain_is_claimed() {
        assert_eq!(included("include(/p/a.cmake)"), ["/p/a.cmake"]);
        assert_eq!(included("if(CMAKE_BUILD_TYPE)\n include(/p/a.cmake)\nendif()"), [""; 0]);
        let both = "if($ENV{X})\n set(v a)\nelse()\n set(v b)\nendif()\ninclude(/p/${v}.cmake)";
        assert_eq!(included(both), [""; 0]);
        let same = "if($ENV{X})\n set(v a)\nelse()\n set(v a)\nendif()\ninclude(/p/${v}.cmake)";
        assert_eq!(included(same), ["/p/a.cmake"]);
        let left = "if($ENV{X})\n return()\nendif()\ninclude(/p/a.cmake)";
        assert_eq!(included(left), [""; 0]);
        let failed = "if($ENV{X})\n message(FATAL_ERROR no)\nendif()\ninclude(/p/a.cmake)";
        assert_eq!(included(failed), ["/p/a.cmake"]);
    }

    #[test]
    fn conditions_without_words_and_modules() {
        let found = |text: &str| outcome(text, &[]).found;
        assert_eq!(included("if()\n include(/p/a.cmake)\nendif()"), [""; 0]);
        assert_eq!(
            found("set(e \"\")\nif(${e})\n include(/p/a.cmake)\nendif()"),
            Some(Truth::True)
        );
        assert_eq!(found("if($ENV{X})\n include(/p/a.cmake)\nendif()"), Some(Truth::Unknown));
        assert_eq!(found("include(MacroAddFileDependencies)"), Some(Truth::True));
        assert_eq!(found("include(FindPkgConfig)\ninclude(CheckSymbolExists)"), Some(Truth::True));
        assert_eq!(found("include(FindNone)"), Some(Truth::Unknown));
        assert_eq!(found("include(CheckNone)"), Some(Truth::Unknown));
        assert_eq!(found("find_package(None MODULE REQUIRED)"), Some(Truth::Unknown));
        let open = "list(APPEND CMAKE_MODULE_PATH /m $ENV{X})\ninclude(None)";
        assert_eq!(found(open), Some(Truth::Unknown));
        assert_eq!(outcome(open, &[("/m/None.cmake", "")]).found, Some(Truth::True));
    }

    #[test]
    fn what_is_not_known_decides_only_where_it_must() {
        let found = |text: &str| outcome(text, &[]).found;
        let fails = "if(NOT v)\n message(FATAL_ERROR no)\nendif()";
        assert_eq!(found(&format!("find_library(v z)\n{fails}")), Some(Truth::True));
        let process = "execute_process(COMMAND x OUTPUT_VARIABLE v)";
        assert_eq!(found(&format!("{process}\n{fails}")), Some(Truth::Unknown));
        let refused = format!("{fails}\nset(foo_FOUND 0)");
        assert_eq!(found(&format!("find_library(v z)\n{refused}")), Some(Truth::Unknown));
        let in_loop = "set(l $ENV{X})\nforeach(i ${l})\n message(FATAL_ERROR no)\n\
            endforeach()\nset(foo_FOUND 0)";
        assert_eq!(found(in_loop), Some(Truth::Unknown));
        let property = "add_library(t INTERFACE IMPORTED)\ntarget_compile_options(t INTERFACE A)\n\
            get_target_property(x t INTERFACE_COMPILE_OPTIONS)\nset(foo_FOUND ${x})";
        assert_eq!(found(property), Some(Truth::Unknown));
        // The host of this test does not know the result of any other package.
        assert_eq!(found("find_package(other CONFIG)"), Some(Truth::True));
        assert_eq!(found("find_package(other CONFIG REQUIRED)"), Some(Truth::Unknown));
        assert_eq!(found("find_dependency(other CONFIG)"), Some(Truth::Unknown));
    }

    #[test]
    fn undefined_commands_of_a_package_fail_only_if_they_run() {
        let found = |part: &str| {
            outcome("find_package(part CONFIG)", &[("/p/partConfig.cmake", part)]).found
        };
        assert_eq!(found("not_defined()"), None);
        assert_eq!(found("if($ENV{X})\n not_defined()\nendif()"), Some(Truth::Unknown));
        assert_eq!(found("if(0)\n not_defined()\nendif()"), Some(Truth::True));
    }

    #[test]
    fn standard_args_handle_components() {
        let found = |more: &str| {
            let text = format!(
                "set(foo_FIND_COMPONENTS a b)\nset(v 1)\n{more}\n\
                find_package_handle_standard_args(foo REQUIRED_VARS v HANDLE_COMPONENTS)"
            );
            outcome(&text, &[]).found
        };
        let required = "set(foo_FIND_REQUIRED_a 1)\nset(foo_FIND_REQUIRED_b 1)\n";
        assert_eq!(found(""), Some(Truth::True));
        assert_eq!(found(required), Some(Truth::False));
        assert_eq!(found(&format!("{required}set(foo_a_FOUND 1)")), Some(Truth::False));
        let both = format!("{required}set(foo_a_FOUND 1)\nset(foo_b_FOUND 1)");
        assert_eq!(found(&both), Some(Truth::True));
        assert_eq!(found(&format!("{both}\nset(v 0)")), Some(Truth::False));
        let open = format!("{required}set(foo_a_FOUND 1)\nset(foo_b_FOUND $ENV{{X}})");
        assert_eq!(found(&open), Some(Truth::Unknown));
    }

    #[test]
    fn results_of_unknown_commands_are_unknown() {
        let after = |command: &str| {
            let text = format!(
                "set(h x)\nset(keep x)\n{command}\nif(h STREQUAL x)\n include(/p/a.cmake)\nendif()\n\
                if(keep STREQUAL x AND NOT 3 EQUAL 4)\n include(/p/b.cmake)\nendif()"
            );
            included(&text)
        };
        let writers = [
            "string(MD5 h text)",
            "string(SHA256 h keep)",
            "string(TIMESTAMP h)",
            "string(UUID h NAMESPACE a NAME b TYPE MD5)",
            "string(HEX keep h)",
            "string(CONFIGURE keep h)",
            "string(GENEX_STRIP keep h)",
            "string(REPEAT keep 3 h)",
            "string(RANDOM LENGTH 3 h)",
            "string(ASCII 65 66 h)",
            "execute_process(COMMAND 3 OUTPUT_VARIABLE h)",
            "find_program(h keep)",
        ];
        for command in writers {
            assert_eq!(after(command), ["/p/b.cmake"], "{command}");
        }
        assert_eq!(after("string(LENGTH keep n)"), ["/p/a.cmake", "/p/b.cmake"]);
    }

    #[test]
    fn macros_functions_and_lists() {
        let text = "macro(m x)\n include(/p/${x}.cmake)\nendmacro()\n\
            function(f)\n set(r ${ARGN} PARENT_SCOPE)\nendfunction()\n\
            f(a b)\nforeach(i IN LISTS r)\n m(${i})\nendforeach()\n\
            string(REGEX REPLACE \"^lib(.*)\\\\.so$\" \"\\\\1\" n libz.so)\nm(${n})";
        assert_eq!(included(text), ["/p/a.cmake", "/p/b.cmake", "/p/z.cmake"]);
        let ranges = "foreach(i RANGE 3 1)\n include(/p/${i}.cmake)\nendforeach()\n\
            foreach(i RANGE -1)\n include(/p/${i}.cmake)\nendforeach()";
        let expected = ["3", "2", "1", "0", "-1"].map(|i| format!("/p/{i}.cmake"));
        assert_eq!(included(ranges), expected);
    }

    /// CMake 3.25 gives `bbb`, CMake 4.1 with policy CMP0186 gives `baa`.
    #[test]
    fn a_match_that_depends_on_a_policy_is_unknown() {
        let replaced = |pattern: &str| {
            let file = "include(/p/${r}.cmake)";
            included(&format!("string(REGEX REPLACE \"{pattern}\" b r aaa)\n{file}"))
        };
        assert_eq!(replaced("^a"), [""; 0]);
        assert_eq!(replaced("^aaa"), ["/p/b.cmake"]);
        assert_eq!(replaced("a"), ["/p/bbb.cmake"]);
    }

    #[test]
    fn hostile_files_end() {
        let deep = "if(1)\n".repeat(100_000) + &"endif()\n".repeat(100_000);
        let cases = [
            ("include(/p/fooConfig.cmake)".to_owned(), true),
            ("macro(m)\n m()\nendmacro()\nm()".to_owned(), true),
            ("while(1)\nendwhile()".to_owned(), true),
            ("set(a x)\nwhile(1)\n set(a ${a}${a})\nendwhile()".to_owned(), true),
            (deep, true),
            ("foreach(i RANGE 1000000000)\nendforeach()".to_owned(), false),
            (format!("set(a {})", "${".repeat(100_000)), false),
            (format!("set(a \"{}\")", "x".repeat(10_000_000)), false),
            (format!("set(a {})", "(".repeat(1_000_000)), true),
            ("set(a \0\u{1}b)".to_owned(), false),
            ("if(".to_owned() + &"NOT ".repeat(100_000) + "1)\nendif()", false),
            ("if(".to_owned() + &"( ".repeat(10_000) + &") ".repeat(10_000) + ")\nendif()", false),
        ];
        for (text, must_give_up) in cases {
            let start: String = text.chars().take(40).collect();
            let outcome = outcome(&text, &[]);
            assert_eq!(outcome.gave_up.is_some(), must_give_up, "{start}: {:?}", outcome.gave_up);
            assert!(outcome.found != Some(Truth::False), "{start}");
        }
    }
}
