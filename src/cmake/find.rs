//! Evaluates the `find_package` and `find_dependency` calls of a package.

use super::eval::{Eval, Flow};
use super::value::{ArgumentWord, Truth, constant, known};
use super::{EventKind, FindResult, Manner, PackageRequest, PackageScope, modules};
use crate::tree::without_dots;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Keywords of `find_package`. Each ends the list of components, directories or names before it.
const KEYS: [&str; 30] = [
    "EXACT",
    "QUIET",
    "REQUIRED",
    "COMPONENTS",
    "OPTIONAL_COMPONENTS",
    "CONFIG",
    "NO_MODULE",
    "MODULE",
    "GLOBAL",
    "NO_POLICY_SCOPE",
    "BYPASS_PROVIDER",
    "NAMES",
    "CONFIGS",
    "HINTS",
    "PATHS",
    "REGISTRY_VIEW",
    "PATH_SUFFIXES",
    "NO_DEFAULT_PATH",
    "NO_PACKAGE_ROOT_PATH",
    "NO_CMAKE_PATH",
    "NO_CMAKE_ENVIRONMENT_PATH",
    "NO_SYSTEM_ENVIRONMENT_PATH",
    "NO_CMAKE_PACKAGE_REGISTRY",
    "NO_CMAKE_BUILDS_PATH",
    "NO_CMAKE_SYSTEM_PATH",
    "NO_CMAKE_SYSTEM_PACKAGE_REGISTRY",
    "CMAKE_FIND_ROOT_PATH_BOTH",
    "ONLY_CMAKE_FIND_ROOT_PATH",
    "NO_CMAKE_FIND_ROOT_PATH",
    "NO_CMAKE_INSTALL_PREFIX",
];

/// Keywords of `find_package` after which an unknown argument is a name or a directory, not an
/// option.
const LISTS: [&str; 5] = ["NAMES", "CONFIGS", "HINTS", "PATHS", "PATH_SUFFIXES"];

/// The parsed arguments of `find_package` or `find_dependency`.
struct Request {
    wanted: PackageRequest,
    quiet: bool,
    required: bool,
    module_only: bool,
    /// True if an argument is unknown and may be an option.
    has_unknown: bool,
}

impl Eval<'_> {
    /// Evaluates a request. `is_dependency` is true for `find_dependency` of
    /// CMakeFindDependencyMacro. This macro returns from the calling file if the package is not
    /// found.
    pub(super) fn find_package(&mut self, words: &[ArgumentWord], is_dependency: bool) -> Flow {
        let Some(request) = request(words) else {
            self.obscure(words);
            self.state.clouds.insert(b""[..].into());
            return Flow::Next;
        };
        let name = request.wanted.name.clone();
        let found_name = [name.as_slice(), b"_FOUND"].concat();
        if is_dependency {
            // If the package was found before, evaluating its file again changes nothing.
            let before = self.value_of(&found_name);
            let is_found = self.defined(&found_name) == Truth::True
                && before.is_some_and(|value| constant(&value).unwrap_or(true));
            if is_found && request.wanted.components.is_empty() && request.wanted.version.is_none()
            {
                return Flow::Next;
            }
        }
        if self.is_module(&request) {
            self.has_modules = true;
            // The consumer may have the missing module, or may fail here.
            self.may_fail |= (is_dependency || request.required) && self.lacks_module(&name);
            // Targets of CMake's modules have known prefixes. Other modules may define any target.
            self.is_open |= !modules::finds(&name);
            self.obscure_package(&name);
            if is_dependency || request.required {
                // Without the required package, the configuration fails at this command. The rest
                // of the file is evaluated as if the package was found.
                self.state.set(&found_name, known(&b"TRUE"[..]));
                self.assumed.push(name);
            }
            return Flow::Next;
        }
        let manner = self.manner(&request, is_dependency);
        let scope = PackageScope { state: std::mem::take(&mut self.state) };
        let (package, scope) = self.host.package(&request.wanted, manner, scope, self.depth);
        self.state = scope.state;
        let (found, fatal) = (package.found.clone(), package.fatal.clone());
        for (command, is_certain) in &package.strange {
            if self.strange_command(command, *is_certain) == Flow::Stop {
                return Flow::Stop;
            }
        }
        self.take(package);
        if let Some(fatal) = fatal {
            if self.certain() {
                self.fatal = Some(fatal);
                return Flow::Stop;
            }
            self.may_fail = true;
        }
        match found {
            FindResult::Yes => self.state.set(&found_name, known(&b"1"[..])),
            FindResult::Unknown => {
                self.may_fail |= is_dependency || request.required;
                self.obscure_package(&name);
            }
            FindResult::Refused | FindResult::Absent | FindResult::OtherVersion { .. } => {
                self.state.set(&found_name, known(&b"0"[..]));
                return self.lost(request, found, is_dependency);
            }
        }
        Flow::Next
    }

    /// The options of a request. `find_dependency` adds QUIET and REQUIRED if the calling package
    /// was itself requested with these options.
    fn manner(&self, request: &Request, is_dependency: bool) -> Manner {
        let of = |is_set: bool, end: &str| {
            let own = [self.package.as_slice(), end.as_bytes()].concat();
            let own = if is_dependency { self.truth_of(&own) } else { Truth::False };
            let other = if request.has_unknown { Truth::Unknown } else { Truth::False };
            Truth::of(is_set).or(own).or(other)
        };
        Manner {
            quiet: of(request.quiet, "_FIND_QUIETLY"),
            required: of(request.required, "_FIND_REQUIRED"),
        }
    }

    /// Handles a package that was not found. If the package was requested with REQUIRED or by
    /// `find_dependency`, the evaluation of the file ends.
    fn lost(&mut self, request: Request, found: FindResult, is_dependency: bool) -> Flow {
        let Request { wanted, required, .. } = request;
        if !is_dependency && !required {
            return Flow::Next;
        }
        let name = wanted.name.clone();
        if found != FindResult::Refused {
            self.event(EventKind::Dependency { wanted, found });
        }
        if !is_dependency {
            if self.certain() {
                self.fatal = Some(
                    [b"Could not find a package configuration file provided by ", &name[..]]
                        .concat(),
                );
            }
            return Flow::Stop;
        }
        let own = |end: &[u8]| [self.package.as_slice(), end].concat();
        let (found, message) = (own(b"_FOUND"), own(b"_NOT_FOUND_MESSAGE"));
        let text = [b"could not be found because dependency ", &name[..], b" could not be found."]
            .concat();
        self.state.set(&found, known(&b"False"[..]));
        self.state.set(&message, known(text));
        Flow::Return
    }

    /// Makes the variables `name` and `name_…` unknown, also in capitals: a module or file that was
    /// not evaluated may set them. Targets of the package become unknown too.
    fn obscure_package(&mut self, name: &[u8]) {
        let upper = name.to_ascii_uppercase();
        self.obscure_name(name);
        self.obscure_name(&upper);
        // Targets are assumed to be in the namespace `name::`. Some modules of CMake define other
        // names, which are assumed to start with `name` or with one of the prefixes below.
        let mut spaces = vec![[name, b"::"].concat()];
        if name == b"OpenGL" || name == b"X11" {
            spaces.push(b"GL".to_vec());
        }
        if name.starts_with(b"Python") {
            spaces.push(b"Python".to_vec());
        }
        if name == b"PkgConfig" || modules::finds(name) {
            spaces.push(name.to_vec());
        }
        self.state.namespaces.extend(spaces.into_iter().map(Into::into));
    }

    /// True if a find module handles the request, or may handle it: a module of CMake, or one in a
    /// directory of CMAKE_MODULE_PATH.
    fn is_module(&mut self, request: &Request) -> bool {
        if request.wanted.config_only && !request.module_only {
            return false;
        }
        request.module_only || !self.lacks_module(&request.wanted.name)
    }

    /// True if neither CMake nor a directory of CMAKE_MODULE_PATH has a module for a package.
    /// False if a module exists, or if this is not known.
    fn lacks_module(&mut self, name: &[u8]) -> bool {
        if modules::finds(name) {
            return false;
        }
        let Some(dirs) = self.value_of(b"CMAKE_MODULE_PATH") else { return false };
        let file = [b"Find", name, b".cmake"].concat();
        !super::value::items(&dirs, true).iter().any(|dir| {
            let path = Path::new(OsStr::from_bytes(dir)).join(OsStr::from_bytes(&file));
            path.is_absolute() && self.host.look(&without_dots(&path)) != super::PathEntry::Absent
        })
    }
}

/// Parses a request; `None` if the name is unknown.
fn request(words: &[ArgumentWord]) -> Option<Request> {
    let name = words.first()?.text()?.to_vec();
    let mut wanted = PackageRequest {
        name,
        version: None,
        components: Vec::new(),
        config_only: false,
        hints: Vec::new(),
        is_known: true,
    };
    let (mut quiet, mut required, mut module_only) = (false, false, false);
    let mut has_unknown = false;
    let mut list = "";
    for word in &words[1..] {
        let Some(text) = word.text() else {
            wanted.is_known = false;
            // In a list of paths or names, the unknown argument is not an option.
            has_unknown |= !LISTS.contains(&list);
            continue;
        };
        let key = KEYS.iter().find(|key| key.as_bytes() == text);
        match key {
            Some(&key) => {
                list = key;
                quiet |= key == "QUIET";
                required |= key == "REQUIRED";
                module_only |= key == "MODULE";
                let is_config = [
                    "CONFIG",
                    "NO_MODULE",
                    "NAMES",
                    "CONFIGS",
                    "HINTS",
                    "PATHS",
                    "PATH_SUFFIXES",
                    "NO_DEFAULT_PATH",
                ];
                wanted.config_only |= is_config.contains(&key);
            }
            None if list.is_empty() && text.first().is_some_and(u8::is_ascii_digit) => {
                wanted.version.get_or_insert_with(|| text.to_vec());
            }
            None => match list {
                "COMPONENTS" | "REQUIRED" => wanted.components.push(text.to_vec()),
                "HINTS" | "PATHS" => {
                    let path = Path::new(OsStr::from_bytes(text));
                    let path: PathBuf = without_dots(path);
                    if path.is_absolute() {
                        wanted.hints.push(path);
                    }
                }
                "OPTIONAL_COMPONENTS" => {}
                // The search knows only the default names of files and directories.
                "NAMES" | "CONFIGS" | "PATH_SUFFIXES" => wanted.is_known = false,
                _ => {}
            },
        }
    }
    Some(Request { wanted, quiet, required, module_only, has_unknown })
}
