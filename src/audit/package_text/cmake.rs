//! Evaluates the configuration files of CMake packages, as `find_package` in a consumer's project
//! on the audited system would. Results are memoised (`memo`).

use super::memo::Memo;
use super::{Texts, read};
use crate::cmake::{
    self, CMakeHost, Config, Event, EventKind, FindResult, GaveUp, Manner, Package, PackageOutcome,
    PackageRequest, PackageScope, Parsed, PathEntry, ScopeAnswer, ScopeLookup, Truth, Work,
};
use crate::id::FastMap;
use crate::order::Arrange as _;
use crate::package::Prefixes;
use crate::policy::Policy;
use crate::sniff::Class;
use crate::tree::walk::UnreadablePath;
use crate::tree::{EntryType, Errno, Tree};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A CMake package: an audited configuration file, and the results of its evaluation.
pub struct CMakePackage {
    /// The path of the configuration file.
    pub path: PathBuf,
    /// The name of the package, in the spelling for which the evaluation has the best result.
    pub name: Vec<u8>,
    /// The result for a consumer that requests no component.
    pub outcome: PackageOutcome,
    /// For each component that the package lists or that a policy requires, the result for a
    /// consumer that requests only this component.
    pub components: Vec<(Vec<u8>, PackageOutcome)>,
}

/// Maximum size of a CMake file that is read, in bytes.
const MOST: u64 = 16 << 20;
/// Maximum depth of packages that are evaluated because another package requires them.
const DEEPEST: usize = 24;
/// Maximum number of components of one package that are evaluated.
const MOST_COMPONENTS: usize = 256;
/// Estimate of the work to begin an evaluation, in steps of the evaluator.
const EVALUATION: usize = 1_000;
/// Estimate of the work to compare one memoised answer, as a number of bytes.
const ANSWER: usize = 256;
/// Maximum number of evaluations in a run. Further packages are reported as undecided.
const MOST_PACKAGES: usize = 20_000;

/// A configuration file whose evaluation reached a limit or could not be decided, with the reason.
pub type Undecided = (PathBuf, &'static str);

/// Evaluates each audited configuration file that was given by name or that CMake would find.
/// The second list of the result has the files whose evaluation reached a limit or could not be
/// decided. Files that cannot be read are added to `problems`. Header directories that these
/// files and their dependencies name are added to `dirs`.
pub(super) fn find(
    tree: &dyn Tree,
    prefixes: &Prefixes,
    texts: &Texts,
    policy: &Policy,
    problems: &mut Vec<UnreadablePath>,
    dirs: &mut Vec<PathBuf>,
) -> (Vec<CMakePackage>, Vec<Undecided>) {
    let judged = texts.judged(Class::CMake, tree, prefixes);
    let mut files = PackageFiles::new(tree, prefixes);
    for path in texts.all(Class::CMake) {
        if let Some((name, dir)) = searched(path) {
            files.configs.entry(name.to_ascii_lowercase()).or_default().push(path.to_path_buf());
            files.roots.push(dir);
        }
    }
    files.roots.arrange();
    files.roots.dedup();
    let mut out = Vec::new();
    for path in judged {
        let is_given = texts.given.contains(&path);
        let name = cmake_package_name(&path).filter(|_| is_given || searched(&path).is_some());
        let Some(name) = name.map(<[u8]>::to_vec) else { continue };
        let (name, outcome) = files.spelled(&path, name);
        let mut components = Vec::new();
        let has_list = files.file(&path).is_some_and(|file| file.mentions(b"IN_LIST"));
        let probe = has_list.then(|| files.outcome(&path, &name, &[cmake::COMPONENT.to_vec()]));
        let mut known = probe.map(|probe| probe.components).unwrap_or_default();
        if known.len() > MOST_COMPONENTS {
            known.truncate(MOST_COMPONENTS);
            files.undecided.push((path.clone(), "it has too many components"));
        }
        known.extend(policy.components_of(&name));
        known.arrange();
        known.dedup();
        for component in &known {
            let outcome = files.outcome(&path, &name, std::slice::from_ref(component));
            components.push((component.clone(), outcome));
        }
        out.push(CMakePackage { path, name, outcome, components });
    }
    dirs.extend(files.includes);
    problems.extend(files.problems);
    // One reason for each file is enough.
    files.undecided.arrange();
    files.undecided.dedup_by(|b, a| a.0 == b.0);
    (out, files.undecided)
}

/// The name of the package that a configuration file is for, by its file name; `None` for other
/// files.
pub fn cmake_package_name(path: &Path) -> Option<&[u8]> {
    let file = path.file_name()?.as_bytes();
    let name =
        file.strip_suffix(b"Config.cmake").or_else(|| file.strip_suffix(b"-config.cmake"))?;
    (!name.is_empty()).then_some(name)
}

/// The name of the package that a configuration file is for, with the prefix in which CMake finds
/// this package. The file must be in `PREFIX/(lib/ARCH|lib*|share)/cmake/NAME*/` or
/// `PREFIX/(lib/ARCH|lib*|share)/NAME*/[cmake/]` (cmake-commands(7), `find_package`, section Config
/// Mode Search Procedure). `None` for files in other directories.
fn searched(path: &Path) -> Option<(Vec<u8>, PathBuf)> {
    let name = cmake_package_name(path)?;
    let is_name = |dir: &Path| {
        let dir = dir.file_name().map(OsStr::as_bytes).unwrap_or_default();
        dir.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let is = |dir: &Path, name: &str| {
        dir.file_name().is_some_and(|last| last.eq_ignore_ascii_case(name))
    };
    let mut dir = path.parent()?;
    let in_cmake = is(dir, "cmake") && dir.parent().is_some_and(is_name);
    if in_cmake {
        dir = dir.parent()?;
    }
    let above = dir.parent().filter(|_| is_name(dir))?;
    let mut lib = above;
    if !in_cmake && above.file_name() == Some(OsStr::new("cmake")) {
        lib = above.parent()?;
    }
    let is_lib = |dir: &Path| {
        ["lib", "lib64", "lib32", "libx32", "share"].iter().any(|name| dir.ends_with(name))
    };
    let prefix = if is_lib(lib) {
        lib.parent()?
    } else if lib.parent().is_some_and(is_lib) {
        lib.parent()?.parent()?
    } else {
        return None;
    };
    Some((name.to_vec(), prefix.to_path_buf()))
}

/// The host of the evaluator: answers its questions about files and directories, and caches the
/// answers and the evaluated packages.
struct PackageFiles<'a> {
    tree: &'a dyn Tree,
    prefixes: &'a Prefixes,
    /// Configuration files of the walk, by the lower-case name of the package.
    configs: FastMap<Vec<u8>, Vec<PathBuf>>,
    /// The prefixes of walked packages, sorted.
    roots: Vec<PathBuf>,
    parsed: FastMap<PathBuf, Option<Arc<Parsed>>>,
    entries: FastMap<PathBuf, PathEntry>,
    lists: FastMap<PathBuf, Option<Arc<Vec<Vec<u8>>>>>,
    memo: Memo,
    evaluated: usize,
    /// Work that may still be done for the audited package and all packages that it requests.
    work: Work,
    /// Work that may still be done in the run.
    left: Work,
    /// Header directories that evaluated packages name.
    includes: BTreeSet<PathBuf>,
    problems: Vec<UnreadablePath>,
    undecided: Vec<Undecided>,
}

impl<'a> PackageFiles<'a> {
    fn new(tree: &'a dyn Tree, prefixes: &'a Prefixes) -> Self {
        Self {
            tree,
            prefixes,
            configs: FastMap::default(),
            roots: Vec::new(),
            parsed: FastMap::default(),
            entries: FastMap::default(),
            lists: FastMap::default(),
            memo: Memo::default(),
            evaluated: 0,
            work: Work::MOST,
            left: Work::MOST_IN_ALL,
            includes: BTreeSet::new(),
            problems: Vec::new(),
            undecided: Vec::new(),
        }
    }

    fn outcome(&mut self, path: &Path, name: &[u8], components: &[Vec<u8>]) -> PackageOutcome {
        let wanted = PackageRequest {
            name: name.to_vec(),
            version: None,
            components: components.to_vec(),
            config_only: true,
            hints: Vec::new(),
            is_known: true,
        };
        self.work = Work::MOST.at_most(self.left);
        (*self.evaluated(path, &wanted, Manner::PLAIN, None)).clone()
    }

    /// Finds the spelling of a package's name with the best result, and returns the spelling and
    /// its result. The best result is one in which the package is found, with the fewest defects.
    /// CMake finds `foo-config.cmake` for each spelling of `foo`, and the requested spelling may
    /// select other files: `${CMAKE_FIND_PACKAGE_NAME}-targets.cmake`.
    fn spelled(&mut self, path: &Path, name: Vec<u8>) -> (Vec<u8>, PackageOutcome) {
        let rank = |outcome: &PackageOutcome| {
            let found = match outcome.found {
                Some(Truth::True) => 0,
                Some(Truth::Unknown) => 1,
                // A version file may refuse a spelling before the package is read.
                _ if matches!(outcome.package.found, FindResult::OtherVersion { .. }) => 3,
                Some(Truth::False) | None => 2,
            };
            (found, outcome.events.len())
        };
        let outcome = self.outcome(path, &name, &[]);
        let mut best = (name, outcome);
        if !path.as_os_str().as_bytes().ends_with(b"-config.cmake") || rank(&best.1) == (0, 0) {
            return best;
        }
        for other in self.spellings(path, &best.0) {
            let outcome = self.outcome(path, &other, &[]);
            if rank(&outcome) < rank(&best.1) {
                best = (other, outcome);
            }
        }
        best
    }

    /// Other spellings of a package name: the upper-case one, and those with which names of files
    /// beside the configuration file begin.
    fn spellings(&mut self, path: &Path, name: &[u8]) -> Vec<Vec<u8>> {
        let mut out = vec![name.to_ascii_uppercase()];
        let beside = self.names(path.parent().unwrap_or(path));
        let starts = beside.iter().filter_map(|file| file.get(..name.len()));
        out.extend(starts.filter(|start| start.eq_ignore_ascii_case(name)).map(<[u8]>::to_vec));
        out.arrange();
        out.dedup();
        out.retain(|other| other != name);
        out
    }

    /// The result for a request, evaluated or memoised. `asked` is the depth of the package that
    /// makes the request; `None` if a consumer makes it.
    fn evaluated(
        &mut self,
        path: &Path,
        wanted: &PackageRequest,
        manner: Manner,
        asked: Option<usize>,
    ) -> Arc<PackageOutcome> {
        let key = (
            path.to_path_buf(),
            wanted.name.clone(),
            wanted.components.clone(),
            wanted.version.clone(),
            manner,
            asked.is_none(),
        );
        let (known, compared) = self.memo.get(&key);
        self.spend(Work { steps: 0, bytes: compared * ANSWER });
        if let Some(known) = known {
            return known;
        }
        self.evaluated += 1;
        self.memo.begin(path.to_path_buf());
        let stem = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        let stem = stem.strip_suffix(b".cmake").unwrap_or(stem);
        let version = [&b"-version.cmake"[..], b"Version.cmake"].into_iter().find_map(|end| {
            let file = path.with_file_name(OsStr::from_bytes(&[stem, end].concat()));
            (self.look(&file) == PathEntry::File).then_some(file)
        });
        let architecture = path.iter().find_map(|part| {
            let ends = ["-linux-gnu", "-linux-gnueabihf", "-linux-gnueabi"];
            part.to_str().filter(|part| ends.iter().any(|end| part.ends_with(end)))
        });
        let config = Config {
            name: &wanted.name,
            path,
            version_file: version,
            version: wanted.version.as_deref(),
            depth: asked.unwrap_or(0),
            alone: asked.is_none(),
            manner,
            work: self.work,
            components: &wanted.components,
            architecture,
            pointer: architecture.map_or(8, pointer_size),
        };
        let outcome = Arc::new(cmake::evaluate(self, &config));
        let Work { steps, bytes } = outcome.spent;
        self.spend(Work { steps: steps + EVALUATION, bytes });
        // If the limit of work ended an evaluation early, its result is not memoised: a later
        // request may get further.
        let is_whole = self.work.steps > 0 && self.work.bytes > 0;
        self.memo.end(key, Arc::clone(&outcome), is_whole);
        if let Some(GaveUp::Undecided(reason)) = outcome.gave_up {
            self.undecided.push((path.to_path_buf(), reason));
        }
        self.includes.extend(outcome.includes.iter().cloned());
        outcome
    }

    /// The result of a `find_package` call in the package that is being evaluated.
    fn requested(&mut self, wanted: &PackageRequest, manner: Manner, depth: usize) -> Package {
        let limit = if self.memo.depth() >= DEEPEST {
            Some("the packages that require it are nested too deeply")
        } else if self.evaluated >= MOST_PACKAGES {
            Some("too many packages are evaluated before it")
        } else {
            None
        };
        let candidates = self.candidates(wanted);
        let mut other = None;
        for path in &candidates {
            if self.memo.is_open(path) {
                return Package::default();
            }
            if let Some(reason) = limit {
                self.undecided.push((path.clone(), reason));
                return Package::default();
            }
            let outcome = self.evaluated(path, wanted, manner, Some(depth));
            match &outcome.package.found {
                FindResult::OtherVersion { .. } => {
                    other.get_or_insert_with(|| outcome.package.clone());
                }
                _ => return outcome.package.clone(),
            }
        }
        if let Some(other) = other {
            return other;
        }
        let found = if wanted.is_known { FindResult::Absent } else { FindResult::Unknown };
        Package { found, ..Package::default() }
    }

    fn spend(&mut self, work: Work) {
        self.work = self.work.less(work);
        self.left = self.left.less(work);
    }

    /// The configuration files that fit a request, in the order in which CMake would find them.
    fn candidates(&mut self, wanted: &PackageRequest) -> Vec<PathBuf> {
        let mut out = Vec::new();
        let mut dirs: Vec<PathBuf> = Vec::new();
        for hint in &wanted.hints {
            dirs.push(hint.clone());
            self.below(hint, &wanted.name, &mut dirs);
        }
        let from = self.memo.innermost().and_then(|path| Some(searched(path)?.1));
        let roots = from.into_iter().chain(self.roots.clone());
        let roots: Vec<PathBuf> =
            roots.chain(["/usr/local", "/usr", "/"].map(PathBuf::from)).collect();
        for root in &roots {
            self.below(root, &wanted.name, &mut dirs);
        }
        let lower = wanted.name.to_ascii_lowercase();
        let names =
            [[&wanted.name[..], b"Config.cmake"].concat(), [&lower[..], b"-config.cmake"].concat()];
        for dir in dirs {
            for name in &names {
                let path = dir.join(OsStr::from_bytes(name));
                if self.look(&path) == PathEntry::File && !out.contains(&path) {
                    out.push(path);
                }
            }
        }
        // CMake finds a walked package in another directory if the consumer names that directory.
        let walked = self.configs.get(&lower).cloned().unwrap_or_default();
        out.extend(walked);
        out
    }

    /// Adds the directories below a prefix in which CMake looks for a package.
    fn below(&mut self, prefix: &Path, name: &[u8], dirs: &mut Vec<PathBuf>) {
        let mut bases = Vec::new();
        for lib in ["lib", "lib64", "share"] {
            let lib = prefix.join(lib);
            if lib.ends_with("lib") {
                let names = self.names(&lib);
                let is_triplet = |name: &&Vec<u8>| memchr::memmem::find(name, b"-linux-").is_some();
                let triplets = names.iter().filter(is_triplet);
                bases.extend(triplets.map(|name| lib.join(OsStr::from_bytes(name))));
            }
            bases.push(lib);
        }
        let starts = |one: &Vec<u8>| {
            one.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        for base in bases {
            for dir in [base.join("cmake"), base] {
                let names = self.names(&dir);
                for one in names.iter().filter(|one| starts(one)) {
                    let found = dir.join(OsStr::from_bytes(one));
                    dirs.push(found.join("cmake"));
                    dirs.push(found);
                }
            }
        }
    }

    fn names(&mut self, dir: &Path) -> Arc<Vec<Vec<u8>>> {
        let list = self.listed(dir);
        list.unwrap_or_default()
    }

    fn listed(&mut self, dir: &Path) -> Option<Arc<Vec<Vec<u8>>>> {
        if let Some(known) = self.lists.get(dir) {
            return known.clone();
        }
        let mut names = Vec::new();
        let listed = self.tree.list(dir, &mut |name, _| names.push(name.as_bytes().to_vec()));
        names.sort();
        let list = listed.ok().map(|()| Arc::new(names));
        self.lists.insert(dir.to_path_buf(), list.clone());
        list
    }
}

impl CMakeHost for PackageFiles<'_> {
    fn look(&mut self, path: &Path) -> PathEntry {
        if let Some(known) = self.entries.get(path) {
            return *known;
        }
        let entry = match self.tree.kind(path) {
            Ok(EntryType::File) => PathEntry::File,
            Ok(EntryType::Directory) => PathEntry::Directory,
            Err(Errno::NOENT | Errno::NOTDIR) => {
                // The state of files in other store items, and of files that a running system
                // creates, is unknown.
                let volatile = ["/run", "/var", "/tmp", "/proc", "/sys", "/dev"];
                let is_own = self.prefixes.contain(path);
                let stores = ["/nix/store", "/gnu/store"];
                let is_foreign = stores.iter().any(|store| path.starts_with(store));
                if !is_own && (is_foreign || volatile.iter().any(|dir| path.starts_with(dir))) {
                    PathEntry::Unknown
                } else {
                    PathEntry::Absent
                }
            }
            Ok(EntryType::Special(_)) | Err(_) => PathEntry::Unknown,
        };
        self.entries.insert(path.to_path_buf(), entry);
        entry
    }

    fn file(&mut self, path: &Path) -> Option<Arc<Parsed>> {
        if let Some(known) = self.parsed.get(path) {
            return known.clone();
        }
        let parsed = match read(self.tree, path, MOST) {
            Ok(text) => Some(Arc::new(Parsed::new(text))),
            Err(reason) => {
                self.problems.push(UnreadablePath { path: path.to_path_buf(), reason });
                None
            }
        };
        if let Some(reason) = parsed.as_ref().and_then(|parsed| parsed.defect) {
            let reason = format!("cannot be read as a CMake file: {reason}");
            self.problems.push(UnreadablePath { path: path.to_path_buf(), reason });
        }
        self.parsed.insert(path.to_path_buf(), parsed.clone());
        parsed
    }

    fn list(&mut self, path: &Path) -> Option<Vec<Vec<u8>>> {
        self.listed(path).map(|list| (*list).clone())
    }

    fn is_link(&mut self, path: &Path) -> Option<bool> {
        match self.tree.read_link(path) {
            Ok(_) => Some(true),
            Err(Errno::INVAL) => Some(false),
            Err(Errno::NOENT | Errno::NOTDIR) if self.look(path) == PathEntry::Absent => {
                Some(false)
            }
            Err(_) => None,
        }
    }

    fn real_path(&mut self, path: &Path) -> Option<PathBuf> {
        self.tree.real_path(path).ok()
    }

    fn package(
        &mut self,
        wanted: &PackageRequest,
        manner: Manner,
        scope: PackageScope,
        depth: usize,
    ) -> (Package, PackageScope) {
        self.memo.keep(scope);
        let package = self.requested(wanted, manner, depth);
        (package, self.memo.take())
    }

    fn enclosing(&self, sought: &ScopeLookup) -> ScopeAnswer {
        self.memo.enclosing(sought)
    }
}

impl CMakePackage {
    /// The first missing file that the package includes for one component but not for a consumer
    /// without components; `None` if there is none. `outcome` is the result for this component.
    pub fn lost_component<'o>(&self, outcome: &'o PackageOutcome) -> Option<(&'o Event, &'o Path)> {
        outcome.events.iter().find_map(|event| match &event.kind {
            EventKind::Include(path) if !self.outcome.events.contains(event) => {
                Some((event, path.as_path()))
            }
            _ => None,
        })
    }

    /// The defects for consumers that request components, and for those that request none. The
    /// missing file of a component (`lost_component`) is left out.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        let lost =
            |outcome: &PackageOutcome| self.lost_component(outcome).map(|(event, _)| event.clone());
        let of_components = self.components.iter().flat_map(move |(_, outcome)| {
            let lost = lost(outcome);
            outcome.events.iter().filter(move |event| Some(*event) != lost.as_ref())
        });
        self.outcome.events.iter().chain(of_components)
    }
}

/// The size of a pointer, in bytes, on the architecture of a directory name
/// (`arm-linux-gnueabihf`).
fn pointer_size(architecture: &str) -> u8 {
    let is_64 = |machine: &&str| architecture.starts_with(*machine);
    let is_64 = architecture.contains("64") || ["s390x", "alpha"].iter().any(is_64);
    if is_64 { 8 } else { 4 }
}

#[cfg(test)]
mod tests {
    use super::searched;
    use std::path::Path;

    #[test]
    fn places_where_cmake_searches() {
        let found = |path: &str| {
            searched(Path::new(path)).map(|(name, prefix)| {
                (String::from_utf8(name).expect("text"), prefix.to_str().expect("text").to_owned())
            })
        };
        let foo = |prefix: &str| Some(("Foo".to_owned(), prefix.to_owned()));
        assert_eq!(found("/p/lib/cmake/Foo-1/FooConfig.cmake"), foo("/p"));
        assert_eq!(found("/p/lib/x86_64-linux-gnu/cmake/foo/FooConfig.cmake"), foo("/p"));
        assert_eq!(found("/p/share/Foo/cmake/FooConfig.cmake"), foo("/p"));
        assert_eq!(found("/p/lib/Foo/Foo-config.cmake"), foo("/p"));
        assert_eq!(found("/p/lib/cmake/bar/FooConfig.cmake"), None);
        assert_eq!(found("/p/src/Foo/FooConfig.cmake"), None);
    }
}
