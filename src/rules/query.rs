//! The read-only interface of rules to the facts and the plan of an audit. The modules `words`,
//! `demand` and others add methods that make findings and evidence.

use super::near::NearMisses;
use crate::audit::trace::{Traced, Traces};
use crate::audit::{
    Audit, CMakePackage, DanglingLink, Explained, Installed, LeftOut, MissingDlopen, PackageText,
    SearchEntries,
};
use crate::bind::RelocationMessage;
use crate::bind::query::{BoundLibrary, DuplicateName};
use crate::catalogue::RuleId;
use crate::cmake::Event;
use crate::cover::ArchiveSet;
use crate::diagnosis::{MissingLibrary, MissingVersion, Stopped, UndefinedSymbol};
use crate::facts::providers::Provider;
use crate::facts::{CrossCheck, FileFacts, View};
use crate::finding::{Finding, Findings};
use crate::format::elf::{Foreign, Object, Target};
use crate::gpu::{Devices, Unit};
use crate::id::{ArchiveId, FastMap, FastSet, FileId, Id as _, RootId, StrId};
use crate::merged::solve::{Solution, Solved};
use crate::order::Arrange as _;
use crate::package::{Located, Prefixes, wheel_directory};
use crate::plan::{HostFile, MergedFrom, Plan};
use crate::policy::Policy;
use crate::resolve::hosts::Unhosted;
use crate::resolve::loader::{ConfigDefect, InterpreterDefect, Loader, NoLoader};
use crate::resolve::trace::Tried;
use crate::resolve::{Chain, Closure, ROOT};
use crate::tree::walk::UnreadablePath;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Files by file name and by soname.
type LibrariesByName = FastMap<Box<[u8]>, Vec<FileId>>;

/// The directories into which Python wheels were unpacked.
pub(super) struct Wheels<'a>(FastSet<&'a Path>);

impl Wheels<'_> {
    /// True if a file in `directory` belongs to a wheel.
    pub(super) fn contain(&self, directory: &Path) -> bool {
        directory.ancestors().any(|dir| self.0.contains(dir))
    }
}

/// The facts and the plan of one audit, for rules.
pub struct Query<'a> {
    audit: &'a Audit,
    plan: &'a Plan,
    explained: &'a Explained,
    solved: &'a Solved,
    /// The location of each file (prefix and path below it), computed on first use.
    located: Vec<OnceLock<Arc<Located>>>,
    /// Files that can satisfy a need, by file name and soname; computed on first use.
    by_name: OnceLock<LibrariesByName>,
}

impl<'a> Query<'a> {
    pub(super) fn new(
        audit: &'a Audit,
        plan: &'a Plan,
        explained: &'a Explained,
        solved: &'a Solved,
    ) -> Self {
        let located = (0..audit.corpus.files.len()).map(|_| OnceLock::new()).collect();
        Self { audit, plan, explained, solved, located, by_name: OnceLock::new() }
    }

    /// The facts as the resolver sees them.
    pub(super) fn view(&self) -> View<'a> {
        self.audit.view()
    }

    /// All files of the audit, including those that could not be read.
    pub(super) fn files(&self) -> impl Iterator<Item = (FileId, &'a FileFacts)> {
        self.audit.corpus.files.entries()
    }

    /// Audited ELF files, without those that are not for this system ([`Foreign`]).
    pub(super) fn audited_objects(&self) -> impl Iterator<Item = (FileId, &'a Object)> {
        let is_ours = |facts: &FileFacts| facts.audited && facts.foreign().is_none();
        let audited = self.files().filter(move |(_, facts)| is_ours(facts));
        audited.filter_map(|(file, facts)| Some((file, facts.object()?)))
    }

    pub(super) fn facts(&self, file: FileId) -> &'a FileFacts {
        &self.audit.corpus.files[file]
    }

    pub(super) fn path(&self, file: FileId) -> &'a Path {
        &self.facts(file).path
    }

    /// A file's path, as a shared pointer.
    pub(super) fn shared_path(&self, file: FileId) -> Arc<Path> {
        Arc::clone(&self.facts(file).path)
    }

    /// The location of a file: its prefix and its path below that prefix.
    pub(super) fn locate(&self, file: FileId) -> Arc<Located> {
        let locate = || Arc::new(self.prefixes().locate(self.path(file)));
        Arc::clone(self.located[file.index()].get_or_init(locate))
    }

    /// The prefixes of the run: the directories to which the paths of findings are relative.
    pub(super) fn prefixes(&self) -> &'a Prefixes {
        &self.audit.prefixes
    }

    /// The file to which `path` leads; `None` if no walk found the path and no search probed it.
    pub(super) fn file_at(&self, path: &Path) -> Option<FileId> {
        self.audit.corpus.file_at(path)
    }

    /// The text of an interned name.
    pub(super) fn text(&self, id: StrId) -> &'a [u8] {
        self.audit.text(id)
    }

    pub(super) fn policy(&self) -> &'a Policy {
        &self.plan.policy
    }

    pub(super) fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// The program of the `--host` option with the index `number`.
    pub(super) fn host_option(&self, number: usize) -> &'a HostFile {
        &self.plan.hosts[number]
    }

    /// Needs for which the loader finds no file, each with the paths that it tried.
    pub(super) fn missing(&self) -> Vec<(&'a MissingLibrary, &'a [Tried])> {
        let missing = self.audit.diagnosis.missing.iter();
        missing.zip(self.explained.tried.iter().map(Vec::as_slice)).collect()
    }

    /// True if the prefix of the object with the need has a file with the name of the missing
    /// library.
    pub(super) fn lies_in_prefix(&self, missing: &MissingLibrary) -> bool {
        let Audit { candidates, corpus, prefixes, .. } = self.audit;
        candidates.holds(corpus, prefixes, missing.file, &missing.name)
    }

    /// Files with the name of the missing library, audited or not, in the prefix of the object with
    /// the need.
    pub(super) fn in_prefix(
        &self,
        missing: &MissingLibrary,
    ) -> impl Iterator<Item = (FileId, &'a Path)> {
        let Audit { candidates, corpus, prefixes, .. } = self.audit;
        let paths = candidates.in_prefix(corpus, prefixes, missing.file, &missing.name);
        paths.iter().filter_map(|path| Some((corpus.file_at(path)?, path.as_path())))
    }

    /// True if the policy has a whitelist, and [`Self::lies_in_prefix`] is false for the missing
    /// library.
    pub(super) fn is_outside(&self, missing: &MissingLibrary) -> bool {
        self.plan.policy.is_closed() && !self.lies_in_prefix(missing)
    }

    /// Undefined symbols not explained by a missing library.
    pub(super) fn undefined(&self) -> &'a [UndefinedSymbol] {
        &self.audit.diagnosis.undefined
    }

    /// Definitions that nearly fit the undefined symbols. The search covers the scope of each
    /// symbol's first entry point.
    pub(super) fn near_misses(&self) -> NearMisses<'a> {
        let undefined = self.undefined().iter();
        let places = undefined.filter_map(|one| Some((&*one.symbol, *one.roots.first()?)));
        NearMisses::find(self.audit, &places.collect::<Vec<_>>())
    }

    /// Needed symbol versions that the loaded library does not define.
    pub(super) fn missing_versions(&self) -> &'a [MissingVersion] {
        &self.audit.diagnosis.versions
    }

    /// Errors at which the loader stops, each with the entry points that do not start.
    pub(super) fn stopped(&self) -> &'a [Stopped] {
        &self.audit.diagnosis.stopped
    }

    /// All entry points with their closures.
    pub(super) fn entry_points(&self) -> impl Iterator<Item = (RootId, &'a Closure)> {
        self.audit.closures.roots.entries()
    }

    /// The closure of one entry point.
    pub(super) fn closure(&self, root: RootId) -> &'a Closure {
        &self.audit.closures.roots[root]
    }

    /// The loader's messages about the relocation of programs: each with the entry point whose
    /// first module is the program.
    pub(super) fn relocation_messages(
        &self,
    ) -> impl Iterator<Item = (RootId, &'a RelocationMessage)> {
        let Audit { closures, bindings, .. } = self.audit;
        closures.roots.ids().zip(bindings).flat_map(|(root, binding)| {
            let of_root = binding.reports.iter().filter(|(module, _)| *module == ROOT);
            of_root.flat_map(move |(_, messages)| messages.iter().map(move |one| (root, one)))
        })
    }

    /// The chain of needs from a site's entry point to the site's module.
    pub(super) fn chain(&self, site: crate::diagnosis::Site) -> Chain {
        crate::diagnosis::chain(&self.audit.closures, site)
    }

    /// The loader of an entry point.
    pub(super) fn loader(&self, closure: &Closure) -> &'a Loader {
        self.audit.resolver.loaders.get(closure.root.loader)
    }

    /// Defects in the configuration files of loaders and in the caches of Guix packages, without
    /// duplicates.
    pub(super) fn config_faults(&self) -> Vec<&'a ConfigDefect> {
        let loaders = self.entry_points().map(|(_, closure)| self.loader(closure));
        let own = loaders.flat_map(|loader| &loader.config_faults);
        let mut faults: Vec<_> = own.chain(self.audit.resolver.package_faults()).collect();
        faults.arrange_by(|a, b| (&a.path, &a.what).cmp(&(&b.path, &b.what)));
        faults.dedup_by(|a, b| (&a.path, &a.what) == (&b.path, &b.what));
        faults
    }

    /// Programs whose PT_INTERP cannot be used, with the reason.
    pub(super) fn bad_interpreters(&self) -> &'a [(FileId, InterpreterDefect)] {
        &self.audit.closures.bad_interps
    }

    /// Files for which no loader was chosen, with the reason.
    pub(super) fn without_loader(&self) -> &'a [(FileId, NoLoader)] {
        &self.audit.closures.no_loader
    }

    /// Files that have more needs or unbound symbols than the audit checks.
    pub(super) fn left_out(&self) -> Vec<LeftOut> {
        self.audit.left_out()
    }

    /// Files that the command line names and that are not for this system.
    pub(super) fn foreign(&self) -> &'a [(FileId, Foreign)] {
        &self.audit.closures.foreign
    }

    /// Host programs and plugins that could not be combined as requested.
    pub(super) fn unhosted(&self) -> &'a Unhosted {
        &self.audit.closures.unhosted
    }

    /// Archives whose members were read.
    pub(super) fn library(&self) -> &'a ArchiveSet {
        &self.audit.library
    }

    /// The archive that `file` was probably linked from, and the archive's members that refer to
    /// `symbol`, which `file` leaves undefined. `None` if no archive refers to the symbol.
    pub(super) fn trace(&self, file: FileId, symbol: &[u8]) -> Option<&'a Traced> {
        let traces: &'a Traces = &self.explained.traces;
        traces.get(&(file, symbol.to_vec()))
    }

    /// Lists of archives in CMake files, each with the archives that were merged from it.
    pub(super) fn merged(&self) -> impl Iterator<Item = (&'a MergedFrom, &'a [ArchiveId])> {
        self.solved.merged(self.audit, self.plan)
    }

    /// The archives that would define the undefined symbols of the library `file`, if it was linked
    /// from `archive`. `None` if `file` is not an ELF object.
    pub(super) fn lacking(&self, file: FileId, archive: ArchiveId) -> Option<Arc<Solution>> {
        self.solved.solve(self.audit, file, Some(archive))
    }

    /// Candidates that define a symbol for an object of `target`, except the file `not`.
    pub(super) fn definers(
        &self,
        name: &[u8],
        not: FileId,
        target: Target,
    ) -> impl Iterator<Item = &'a Provider> {
        self.audit.providers.of(name, not, target)
    }

    /// Installed files that define undefined symbols or have the names of missing libraries.
    pub(super) fn installed(&self) -> &'a Installed {
        &self.audit.installed
    }

    /// Audited files, and files below `--lib-path`, whose file name or soname is `name`.
    pub(super) fn libraries_named(&self, name: &[u8]) -> &[FileId] {
        let found = self.by_name.get_or_init(|| self.libraries_by_name()).get(name);
        found.map(Vec::as_slice).unwrap_or_default()
    }

    fn libraries_by_name(&self) -> LibrariesByName {
        let mut out = LibrariesByName::default();
        for (file, facts) in self.files().filter(|(_, facts)| facts.audited || facts.provider) {
            let Some(object) = facts.object().filter(|object| object.is_dynamic()) else {
                continue;
            };
            let paths = facts.names.iter().map(|name| name.path.as_path()).chain([&*facts.path]);
            for name in object.soname().into_iter().chain(paths.map(last_part)) {
                let files = out.entry(name.into()).or_default();
                if files.last() != Some(&file) {
                    files.push(file);
                }
            }
        }
        out
    }

    /// Names that several libraries in the scope of an entry point define. Names with
    /// interchangeable definitions are left out. Each name comes with the libraries that refer to
    /// it, and with the definitions to which these references bind. For rules that declare
    /// `Wants::DUPLICATE_DEFINITIONS`.
    pub fn duplicate_definitions(&self, root: RootId) -> &'a [DuplicateName] {
        self.audit.duplicate_definitions(root)
    }

    /// The libraries that each object under an entry point binds to; for rules that declare
    /// `Wants::BOUND_LIBRARIES`.
    pub fn bound_libraries(&self, root: RootId) -> &'a [BoundLibrary] {
        self.audit.bound_libraries(root)
    }

    /// The dynamic loader in the directory of `libc`, if `loader` loads this libc and is in another
    /// directory. `None` otherwise. For rules that declare `Wants::OWN_LOADERS`.
    pub(super) fn own_loader(&self, libc: FileId, loader: FileId) -> Option<FileId> {
        self.audit.own_loader(libc, loader)
    }

    /// Libraries that dlopen notes of objects require and that dlopen does not find. For rules that
    /// declare `Wants::DLOPEN_NOTES`.
    pub(super) fn missing_dlopens(&self) -> &'a [MissingDlopen] {
        &self.audit.missing_dlopens
    }

    /// For each audited object that an entry point loads, the entries of its search path that may
    /// be dead or unsafe. For rules that declare `Wants::SEARCH_ENTRIES`.
    pub(super) fn search_entries(&self) -> impl Iterator<Item = (FileId, &'a SearchEntries)> {
        self.audit.search_entries.iter().map(|(file, entries)| (*file, entries))
    }

    /// All GPU code of the audit. For rules that declare `Wants::DEVICE_CODE`.
    pub(super) fn devices(&self) -> &'a Devices {
        &self.audit.devices
    }

    /// The location of device code: a file, or a data directory.
    pub(super) fn locate_unit(&self, unit: Unit) -> Arc<Located> {
        match unit {
            Unit::File(file) => self.locate(file),
            Unit::Data(set) => {
                let dir = self.devices().sets.get(set).map_or(Path::new(""), |set| &*set.dir);
                self.prefixes().locate(dir).into()
            }
        }
    }

    /// True if the file is audited, or if the data directory is in an audited prefix.
    pub(super) fn is_audited_unit(&self, unit: Unit) -> bool {
        match unit {
            Unit::File(file) => self.facts(file).audited,
            Unit::Data(set) => {
                self.devices().sets.get(set).is_some_and(|set| self.prefixes().contain(&set.dir))
            }
        }
    }

    /// CMake and pkg-config packages, headers and other text files, with their defects. For rules
    /// that declare the `Wants` of a kind of text file.
    pub(super) fn package_text(&self) -> &'a PackageText {
        &self.audit.package_text
    }

    /// A finding about a text file, which is not in the corpus.
    pub(super) fn about_text(&self, rule: RuleId, path: &Path, message: String) -> Box<Finding> {
        Finding::new(rule, Arc::new(self.prefixes().locate(path)), message)
    }

    /// Findings about CMake packages. `word` returns the message and the detail for an event, or
    /// `None` if the rule does not report the event.
    pub(super) fn about_cmake(
        &self,
        rule: RuleId,
        word: impl Fn(&Event) -> Option<(String, Vec<u8>)>,
    ) -> Findings {
        let mut out = Findings::new();
        for event in self.package_text().cmake.iter().flat_map(CMakePackage::events) {
            let Some((message, detail)) = word(event) else { continue };
            let mut finding = self.about_text(rule, &event.site.file, message);
            finding.detail = Some(detail);
            out.push(finding);
        }
        out.arrange_by(|a, b| a.key().cmp(&b.key()));
        // If several packages include one file, they have the same finding.
        out.dedup_by(|b, a| a.key() == b.key());
        out
    }

    /// Paths that the walk could not read.
    pub(super) fn problems(&self) -> &'a [UnreadablePath] {
        &self.audit.problems
    }

    /// Paths of all files that a policy may require by name, whatever their content, and of the
    /// metadata of Python wheels.
    pub(super) fn named_files(&self) -> &'a [PathBuf] {
        &self.audit.named
    }

    /// The directories of Python wheels.
    pub(super) fn wheels(&self) -> Wheels<'a> {
        Wheels(self.named_files().iter().filter_map(|path| wheel_directory(path)).collect())
    }

    /// Dangling links with the name of a library.
    pub(super) fn dangling_links(&self) -> &'a [DanglingLink] {
        &self.audit.dangling
    }

    /// The names in `names` that the walk met in some directory. The walk keeps only hashes of
    /// names, so the result may, rarely, have a wrong name. For rules that declare
    /// `Wants::NAMES_MET`.
    pub(super) fn names_met(&self, names: impl Iterator<Item = OsString>) -> FastSet<OsString> {
        self.audit.names_met(names.collect())
    }

    /// The files that the command line names. The walk did not list the links beside them.
    pub(super) fn given_files(&self) -> FastSet<FileId> {
        self.audit.given_files()
    }

    /// Links to directories, with the real paths of their targets. The links are resolved only if a
    /// policy selects files by path, or if the report lists links to directories.
    pub(super) fn linked_directories(&self) -> &'a [(PathBuf, PathBuf)] {
        &self.audit.linked
    }

    /// The result of `--cross-check`; `None` without that option.
    pub(super) fn second_reading(&self) -> Option<&'a CrossCheck> {
        self.audit.cross_check.as_ref()
    }
}

/// The file name of a path.
pub(super) fn last_part(path: &Path) -> &[u8] {
    crate::text::last_part(path.as_os_str().as_bytes())
}
