//! Evaluates one package: sets the variables of a consumer and of its request, evaluates the
//! version file and the configuration file, and returns the outcome.

use super::budget::{MOST_BYTES, MOST_STEPS, MOST_WORK, Work};
use super::eval::{Eval, Flow, Frame, Left, bytes};
use super::state::{EvalState, Function, Text};
use super::value::{MaybeText, Truth, constant, joined, known};
use super::{CMakeHost, COMPONENT, FindResult, Manner, Package, PackageOutcome};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A package to evaluate, with the request for it.
pub struct Config<'a> {
    /// The name of the package.
    pub name: &'a [u8],
    /// The path of the configuration file.
    pub path: &'a Path,
    /// The path of the version file beside the configuration file; `None` if there is none.
    pub version_file: Option<PathBuf>,
    /// The version in the request; `None` if the request has none.
    pub version: Option<&'a [u8]>,
    /// Number of blocks, calls, files and packages that enclose the evaluation.
    pub depth: usize,
    /// False if another package requests this package. The requesting package may have defined
    /// commands that this package calls.
    pub alone: bool,
    /// The options QUIET and REQUIRED of the request.
    pub manner: Manner,
    /// The limit of the work for this package.
    pub work: Work,
    /// The required components of the request.
    pub components: &'a [Vec<u8>],
    /// The component of `path` that names an architecture, such as `x86_64-linux-gnu`, if there is
    /// one.
    pub architecture: Option<&'a str>,
    /// Size of a pointer on the target, in bytes.
    pub pointer: u8,
}

/// The result of a version file. `text` is the version that the file states. `fits` is true if
/// the file accepts the requested version.
struct Version {
    text: MaybeText,
    fits: Truth,
}

/// Evaluates a configuration file as `find_package(NAME CONFIG)` does.
pub fn evaluate(host: &mut dyn CMakeHost, config: &Config<'_>) -> PackageOutcome {
    let mut eval = Eval::new(host, config);
    let version = config.version_file.as_deref().map(|path| eval.version(path, config));
    let refused = match &version {
        Some(Version { text, fits: Truth::False }) => {
            Some(text.as_deref().unwrap_or_default().to_vec())
        }
        // A request for a version fails without a version file.
        None => config.version.map(|_| Vec::new()),
        Some(_) => None,
    };
    if let Some(version) = refused {
        let found = FindResult::OtherVersion { path: config.path.to_path_buf(), version };
        let package = Package { found, ..Package::default() };
        let spent = eval.spent(config);
        return PackageOutcome { package, spent, ..eval.outcome(Some(Truth::False)) };
    }
    let before = eval.state.clone();
    eval.prepare(config, &version.and_then(|version| version.text));
    let flow = eval.include(config.path);
    let asked = [config.name, b"_FIND_COMPONENTS"].concat();
    eval.is_open |= eval.host.file(config.path).is_some_and(|file| file.mentions(&asked));
    let found = eval.found(config.name, flow);
    eval.judge_targets();
    let mut out = eval.outcome(found);
    out.package = eval.package_of(&before, out.found);
    out.spent = eval.spent(config);
    out
}

impl<'h> Eval<'h> {
    fn new(host: &'h mut dyn CMakeHost, config: &Config<'_>) -> Self {
        let frame = Frame { path: config.path.into(), line: 0, replaced: Vec::new() };
        let mut eval = Self {
            host,
            state: EvalState::default(),
            frame,
            events: Vec::new(),
            recorded: crate::id::FastSet::default(),
            components: Vec::new(),
            last_absent: Vec::new(),
            fatal: None,
            gave_up: None,
            assumed: Vec::new(),
            module_dirs: Vec::new(),
            has_modules: false,
            alone: config.alone,
            is_open: false,
            may_fail: false,
            has_failed_branch: false,
            has_processes: false,
            touched: BTreeSet::new(),
            strange: Vec::new(),
            left: Left::default(),
            doubts: 0,
            package: config.name.to_vec(),
            steps: config.work.steps.min(MOST_STEPS),
            bytes: MOST_BYTES,
            work: config.work.bytes.min(MOST_WORK),
            depth: config.depth,
        };
        eval.state.scope();
        // If another package requests this package, the scope of the requester has these
        // variables.
        if config.alone {
            eval.system(config);
        }
        eval
    }

    /// Sets the variables of a consumer's project on Linux.
    fn system(&mut self, config: &Config<'_>) {
        let set = [
            ("CMAKE_VERSION", "3.25.1"),
            ("CMAKE_MAJOR_VERSION", "3"),
            ("CMAKE_MINOR_VERSION", "25"),
            ("CMAKE_PATCH_VERSION", "1"),
            ("CMAKE_SYSTEM_NAME", "Linux"),
            ("CMAKE_HOST_SYSTEM_NAME", "Linux"),
            ("CMAKE_HOST_UNIX", "1"),
            ("CMAKE_CROSSCOMPILING", "FALSE"),
            ("CMAKE_SHARED_LIBRARY_PREFIX", "lib"),
            ("CMAKE_SHARED_LIBRARY_SUFFIX", ".so"),
            ("CMAKE_STATIC_LIBRARY_PREFIX", "lib"),
            ("CMAKE_STATIC_LIBRARY_SUFFIX", ".a"),
            ("CMAKE_EXECUTABLE_SUFFIX", ""),
            ("CMAKE_IMPORT_FILE_VERSION", ""),
            ("CMAKE_MODULE_PATH", ""),
            ("CMAKE_FIND_PACKAGE_PREFER_CONFIG", ""),
            ("CMAKE_DISABLE_FIND_PACKAGE_Threads", ""),
            ("CMAKE_C_COMPILER_LOADED", "1"),
            ("CMAKE_CXX_COMPILER_LOADED", "1"),
            ("CMAKE_GENERATOR_TOOLSET", ""),
            ("UNIX", "1"),
            ("LINUX", "1"),
            // `hipconfig --platform` prints this value where ROCm is installed and CUDA is not.
            ("HIP_PLATFORM", "amd"),
        ];
        for (name, value) in set {
            self.state.set(name.as_bytes(), known(value.as_bytes()));
        }
        let pointer = config.pointer.to_string();
        self.state.set(b"CMAKE_SIZEOF_VOID_P", known(pointer.as_bytes()));
        let architecture = config.architecture.map(|text| known(text.as_bytes()));
        self.state.set(b"CMAKE_LIBRARY_ARCHITECTURE", architecture.unwrap_or(None));
        for system in ["WIN32", "APPLE", "MSVC", "MINGW", "CYGWIN", "ANDROID", "IOS"] {
            self.state.set(system.as_bytes(), known(&b""[..]));
        }
    }

    /// Sets the variables that `find_package` sets before it evaluates the configuration file.
    fn prepare(&mut self, config: &Config<'_>, version: &MaybeText) {
        let name = config.name;
        let of = |end: &str| [name, end.as_bytes()].concat();
        let dir = config.path.parent().unwrap_or(config.path);
        let text = |path: &Path| known(bytes(path));
        self.state.set(&of("_DIR"), text(dir));
        self.state.set(&of("_CONFIG"), text(config.path));
        self.state.set(&of("_VERSION"), version.clone().or_else(|| known(&b""[..])));
        for (number, part) in
            ["_VERSION_MAJOR", "_VERSION_MINOR", "_VERSION_PATCH"].iter().enumerate()
        {
            let part_of =
                |version: &[u8]| version.split(|b| *b == b'.').nth(number).unwrap_or(b"").to_vec();
            self.state.set(&of(part), version.as_deref().map(|version| part_of(version).into()));
        }
        let Manner { quiet, required } = config.manner;
        for (name, truth) in [("_FIND_QUIETLY", quiet), ("_FIND_REQUIRED", required)] {
            match truth {
                Truth::True => self.state.set(&of(name), known(&b"1"[..])),
                Truth::False => {}
                Truth::Unknown => self.state.set(&of(name), None),
            }
        }
        let found = of("_FOUND");
        if self.truth_of(&found) == Truth::False {
            self.forget_variable(&found);
        }
        self.state.set(&of("_FIND_VERSION"), known(config.version.unwrap_or_default()));
        let list = joined(config.components);
        self.state.set(&of("_FIND_COMPONENTS"), known(list));
        for component in config.components {
            let name = [name, b"_FIND_REQUIRED_", component].concat();
            self.state.set(&name, known(&b"1"[..]));
        }
        self.state.set(b"CMAKE_FIND_PACKAGE_NAME", known(name));
    }

    /// Evaluates a version file. The variables that a version file sets do not reach the
    /// configuration file.
    fn version(&mut self, path: &Path, config: &Config<'_>) -> Version {
        let outside = self.state.clone();
        let wanted = config.version.unwrap_or_default();
        // For a range of versions (`1.2...2`), the lower limit.
        let lower: Vec<u8> = wanted
            .split(|b| *b == b'.')
            .take_while(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(&b'.');
        self.state.set(b"PACKAGE_FIND_NAME", known(config.name));
        self.state.set(b"PACKAGE_FIND_VERSION", known(lower.clone()));
        self.state.set(b"PACKAGE_FIND_VERSION_COMPLETE", known(wanted));
        self.state.set(b"PACKAGE_FIND_VERSION_RANGE", known(&b""[..]));
        let mut parts = lower.split(|b| *b == b'.').filter(|part| !part.is_empty());
        for name in ["MAJOR", "MINOR", "PATCH", "TWEAK"] {
            let name = format!("PACKAGE_FIND_VERSION_{name}");
            self.state.set(name.as_bytes(), known(parts.next().unwrap_or(b"0")));
        }
        let count = lower.split(|b| *b == b'.').filter(|part| !part.is_empty()).count().to_string();
        self.state.set(b"PACKAGE_FIND_VERSION_COUNT", known(count.as_bytes()));
        let flow = self.include(path);
        let truth = |eval: &Self, name: &[u8]| {
            Truth::maybe(eval.state.get(name).map(|v| constant(&v).unwrap_or(true)))
        };
        let compatible =
            truth(self, b"PACKAGE_VERSION_COMPATIBLE").or(truth(self, b"PACKAGE_VERSION_EXACT"));
        let unsuitable = truth(self, b"PACKAGE_VERSION_UNSUITABLE");
        let mut fits =
            if wanted.is_empty() { unsuitable.not() } else { compatible.and(unsuitable.not()) };
        if flow == Flow::Stop || wanted.windows(3).any(|dots| dots == b"...") {
            fits = Truth::Unknown;
        }
        let text = self.state.get(b"PACKAGE_VERSION");
        self.state = outside;
        self.doubts = 0;
        Version { text, fits }
    }

    /// True if a consumer finds the package; `None` after a fatal error.
    fn found(&self, name: &[u8], flow: Flow) -> Option<Truth> {
        if self.gave_up.is_some() {
            return Some(Truth::Unknown);
        }
        if flow == Flow::Stop || self.fatal.is_some() {
            return None;
        }
        // For `find_package`, a package is found unless its file sets `NAME_FOUND` to false.
        let variable = [name, b"_FOUND"].concat();
        let truth = match self.state.is_defined(&variable) {
            Truth::True => self.truth_of(&variable),
            Truth::False => Truth::True,
            Truth::Unknown => Truth::Unknown,
        };
        // If a branch of an unknown condition failed, the branch is assumed not to run: most
        // unknown conditions test if a library was found. The result is unknown instead if
        // `execute_process` was called, or if the package is not found even without this branch.
        let is_open = self.has_failed_branch && (self.has_processes || truth == Truth::False);
        Some(if self.may_fail || is_open { Truth::Unknown } else { truth })
    }

    fn outcome(&self, found: Option<Truth>) -> PackageOutcome {
        let why = self.state.get(&[self.package.as_slice(), b"_NOT_FOUND_MESSAGE"].concat());
        let message = self.fatal.clone().or(why.map(|why| why.to_vec())).unwrap_or_default();
        let mut components = self.components.clone();
        components.sort();
        components.dedup();
        components.retain(|component| !component.is_empty() && **component != *COMPONENT);
        PackageOutcome {
            found,
            events: self.events.clone(),
            components,
            gave_up: self.gave_up,
            includes: self.include_dirs(),
            message,
            package: Package::default(),
            spent: Work { steps: 0, bytes: 0 },
        }
    }

    fn spent(&self, config: &Config<'_>) -> Work {
        let steps = config.work.steps.min(MOST_STEPS).saturating_sub(self.steps);
        let bytes = config.work.bytes.min(MOST_WORK).saturating_sub(self.work);
        Work { steps, bytes }
    }

    /// The parts of the package that other packages use.
    fn package_of(&self, before: &EvalState, found: Option<Truth>) -> Package {
        let found = match found {
            Some(Truth::True) => FindResult::Yes,
            Some(Truth::False) | None => FindResult::Refused,
            Some(Truth::Unknown) => FindResult::Unknown,
        };
        let (Some(now), Some(old)) = (self.state.scopes.last(), before.scopes.last()) else {
            return Package { found, ..Package::default() };
        };
        let of_request = [self.package.as_slice(), b"_FIND_"].concat();
        let is_kept =
            |name: &[u8]| !name.starts_with(&of_request) && name != b"CMAKE_FIND_PACKAGE_NAME";
        let changed =
            now.iter().filter(|(name, value)| is_kept(name) && old.get(*name) != Some(*value));
        let mut variables: Vec<(Text, MaybeText)> =
            changed.map(|(name, value)| (Arc::clone(name), value.clone())).collect();
        variables.sort();
        let targets =
            self.state.targets.iter().map(|(name, target)| (Arc::clone(name), !target.maybe));
        let functions = self.state.functions.iter().map(|(name, one)| (name.clone(), one.clone()));
        let mut functions: Vec<(String, Function)> = functions.collect();
        functions.sort_by(|a, b| a.0.cmp(&b.0));
        Package {
            found,
            fatal: self.fatal.clone(),
            assumed: self.assumed.clone(),
            has_modules: self.has_modules,
            is_open: self.is_open,
            strange: self.strange.clone(),
            removed: self.state.hidden.iter().cloned().collect(),
            touched: self.touched.iter().cloned().collect(),
            has_processes: self.has_processes,
            variables,
            targets: targets.collect(),
            functions,
            namespaces: self.state.namespaces.iter().cloned().collect(),
        }
    }
}
