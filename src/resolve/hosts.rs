//! Pairs of a host program and a plugin that it loads with dlopen. The pairs come from `--host` and
//! from `[[host]]` entries. A `[[host]]` entry names a program of the prefix, libraries that a host
//! program loads before its plugins, or a list of libraries. `audit` finds the pairs before entry
//! points are chosen. A `--host` program without a pattern is an exception: its plugins are the
//! objects that no other object needs, and `entry_points` finds them. `entry_points` resolves every
//! plugin once for each of its host programs.

use super::start::Start;
use crate::facts::plugins::{can_be_plugin, is_plugin};
use crate::facts::{FactStore, Need, PathState};
use crate::format::elf::{Object, Role};
use crate::id::{FastMap, FastSet, FileId};
use crate::order;
use crate::order::Arrange as _;
use crate::package::{Located, Prefixes};
use crate::plan::Plan;
use crate::text::last_part;
use std::collections::BTreeSet;
use std::iter::repeat;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Maximum number of directories searched for a library, from the directory of the plugin upwards.
const MOST_ABOVE: usize = 8;

/// A shared object that could be a plugin, with the location of each of its paths.
type PluginCandidate = (FileId, Vec<Located>);

/// A program that loads plugins, or a library that such programs load before their plugins. The
/// library then stands for all programs that load it.
#[derive(Clone, Debug)]
pub struct HostProgram {
    /// The program or library.
    pub file: FileId,
    /// The path by which the program is started or the library is opened.
    pub path: Vec<u8>,
    /// The index of the program in `Plan::hosts`, if `--host` names the program.
    option: Option<usize>,
    /// Set if the program has opened a library with RTLD_GLOBAL. The first field is the index in
    /// `HostPrograms::list` of the program before it opened the library. The second field is the
    /// library.
    pub(super) after: Option<(usize, Start)>,
}

impl HostProgram {
    /// A host that no `--host` option names.
    pub(super) fn new(file: FileId, path: Vec<u8>) -> Self {
        Self { file, path, option: None, after: None }
    }
}

/// Host programs and plugins that could not be combined as requested.
#[derive(Clone, Debug, Default)]
pub struct Unhosted {
    /// Indices in `Plan::hosts` of paths at which there is no dynamically linked program and no
    /// shared object.
    pub unusable: Vec<usize>,
    /// `--host` programs without a plugin, each with its index in `Plan::hosts` and its file. The
    /// pattern of the program matches no candidate, or the program has no pattern and got no
    /// plugin.
    pub idle: Vec<(usize, FileId)>,
    /// Plugins that are not for the machine of their `--host` program, each with that program.
    pub foreign: Vec<(FileId, FileId)>,
    /// Host programs that the loader stops before they can load a plugin, each with its number of
    /// plugins.
    pub stopped: Vec<(FileId, usize)>,
}

/// All host programs of a run.
#[derive(Default)]
pub struct HostPrograms {
    /// The host programs. A program has one more entry for each library that it opens with
    /// RTLD_GLOBAL.
    pub list: Vec<HostProgram>,
    /// Host programs and plugins that could not be combined.
    pub unhosted: Unhosted,
    /// The index in `list` of each host. The key is the host's file and, from `after`, the index
    /// and the library's file.
    known: FastMap<(FileId, Option<(usize, FileId)>), usize>,
    /// For each plugin, its hosts as indices in `list`.
    plugins: FastMap<FileId, Vec<usize>>,
    /// Indices in `list` of `--host` programs without a pattern. Such a program may load every
    /// object that no other object needs.
    of_rest: Vec<usize>,
}

impl HostPrograms {
    /// Finds the host programs, and their plugins among the files in `audited`. The error has the
    /// missing facts.
    pub fn find(
        plan: &Plan,
        store: &dyn FactStore,
        audited: impl Iterator<Item = FileId>,
        prefixes: &Prefixes,
    ) -> Result<Self, Vec<Need>> {
        let mut out = Self::default();
        let by_policy = plan.policy.hosts.iter().any(|entry| entry.executable.is_some());
        let by_libraries = plan.policy.hosts.iter().any(|entry| !entry.loads.is_empty());
        let by_lists = plan.policy.hosts.iter().any(|entry| entry.list.is_some());
        let by_programs = !plan.hosts.is_empty() || by_policy;
        if plan.every_file_is_root || !(by_programs || by_libraries || by_lists) {
            return Ok(out);
        }
        let mut needs = Vec::new();
        let audited: Vec<FileId> = audited.collect();
        // Without host programs, only objects that need a library of `[[host]] loads` are
        // candidates.
        let loads = plan.policy.hosts.iter().flat_map(|entry| &entry.loads);
        let loads: FastSet<&[u8]> = loads.map(|path| last_part(path.as_bytes())).collect();
        let needs_loaded =
            |object: &Object| object.needs.iter().any(|need| loads.contains(object.str(need.name)));
        let concerns = |object: &Object| by_programs || needs_loaded(object);
        let read = audited.iter().map(|file| (*file, store.file(*file)));
        let candidates: Vec<PluginCandidate> = read
            .filter(|(_, facts)| {
                facts.object().is_some_and(|object| can_be_plugin(object) && concerns(object))
            })
            .map(|(file, facts)| {
                let others = facts.names.iter().map(|name| name.path.as_path());
                let names = std::iter::once(&*facts.path).chain(others);
                (file, names.map(|name| prefixes.locate(name)).collect())
            })
            .collect();
        for number in 0..plan.hosts.len() {
            out.add_option(number, plan, store, &candidates, &mut needs);
        }
        out.add_policies(plan, store, &candidates, &mut needs);
        out.add_libraries(plan, store, &candidates, &mut needs);
        out.add_lists(plan, store, &audited, &mut needs);
        if needs.is_empty() { Ok(out) } else { Err(needs) }
    }

    /// Hosts of `file`, as indices in `list`; empty if no option or policy makes the file a plugin.
    pub(super) fn of(&self, file: FileId) -> &[usize] {
        self.plugins.get(&file).map_or(&[], Vec::as_slice)
    }

    /// True if a `--host` program has no pattern. Such a program may load every object that no
    /// other object needs.
    pub(super) fn take_rest(&self) -> bool {
        !self.of_rest.is_empty()
    }

    /// For a shared object that no other object needs: the `--host` programs without a pattern that
    /// may load it, as indices in `list`.
    pub(super) fn of_rest(&self, store: &dyn FactStore, file: FileId) -> Vec<usize> {
        let fits = |host: &usize| self.list[*host].file != file && self.fits(store, *host, file);
        let is_plugin = store.object(file).is_some_and(can_be_plugin);
        self.of_rest.iter().copied().filter(|host| is_plugin && fits(host)).collect()
    }

    /// Records in `unhosted.idle` each `--host` program without a pattern that got no plugin.
    /// `used` returns true if the host at an index of `list` has a plugin.
    pub(super) fn note_idle(&mut self, used: impl Fn(usize) -> bool) {
        let idle = self.of_rest.iter().filter(|host| !used(**host));
        let named = |host: &usize| Some((self.list[*host].option?, self.list[*host].file));
        self.unhosted.idle.extend(idle.filter_map(named));
        self.unhosted.idle.arrange();
    }

    fn add_option(
        &mut self,
        number: usize,
        plan: &Plan,
        store: &dyn FactStore,
        candidates: &[PluginCandidate],
        needs: &mut Vec<Need>,
    ) {
        let host = &plan.hosts[number];
        let bytes = host.path.as_os_str().as_bytes();
        let path = if bytes.contains(&b'/') { bytes.to_vec() } else { [b"./", bytes].concat() };
        let Some(place) = store.place(&path) else {
            return needs.push(Need::path(path, None));
        };
        let Some(file) = program_at(store, place).or_else(|| library_at(store, place)) else {
            return self.unhosted.unusable.push(number);
        };
        let at = self.add(HostProgram { option: Some(number), ..HostProgram::new(file, path) });
        let Some(pattern) = &host.plugins else {
            self.list[at].option = Some(number);
            if !self.of_rest.contains(&at) {
                self.of_rest.push(at);
            }
            return;
        };
        let mut idle = true;
        for (plugin, names) in candidates {
            let is_named = |name: &Located| pattern.matches(name.path.as_os_str().as_bytes());
            if *plugin != file && names.iter().any(is_named) {
                idle = false;
                if self.fits(store, at, *plugin) {
                    self.pair(*plugin, at);
                } else {
                    self.unhosted.foreign.push((*plugin, file));
                }
            }
        }
        if idle {
            self.unhosted.idle.push((number, file));
        }
    }

    /// Adds each program that a `[[host]]` entry names and that exists in the prefix of a plugin
    /// candidate. A program that no loader starts, such as a script, is ignored.
    fn add_policies(
        &mut self,
        plan: &Plan,
        store: &dyn FactStore,
        candidates: &[PluginCandidate],
        needs: &mut Vec<Need>,
    ) {
        let names = candidates.iter().flat_map(|(_, names)| names);
        let prefixes: BTreeSet<&PathBuf> =
            order::set(names.filter_map(|located| located.prefix.as_ref()));
        for entry in &plan.policy.hosts {
            let Some(executable) = &entry.executable else { continue };
            for prefix in &prefixes {
                let path = prefix.join(executable).into_os_string();
                let path = path.as_bytes().to_vec();
                let Some(place) = store.place(&path) else {
                    needs.push(Need::path(path, None));
                    continue;
                };
                let Some(file) = program_at(store, place) else { continue };
                let at = self.add(HostProgram::new(file, path));
                let names =
                    candidates.iter().flat_map(|(file, names)| names.iter().zip(repeat(*file)));
                for (located, plugin) in names.filter(|(l, _)| l.prefix.as_ref() == Some(*prefix)) {
                    match is_plugin(entry, plugin, store.file(plugin), &located.path) {
                        Ok(true) if self.fits(store, at, plugin) => self.pair(plugin, at),
                        Ok(_) => {}
                        Err(need) => needs.push(need),
                    }
                }
            }
        }
    }

    /// Adds hosts for `[[host]]` entries with `loads`. The host of a plugin is the nearest library
    /// in `loads` that the plugin needs. Plugins that already have a host are skipped.
    fn add_libraries(
        &mut self,
        plan: &Plan,
        store: &dyn FactStore,
        candidates: &[PluginCandidate],
        needs: &mut Vec<Need>,
    ) {
        let entries = plan.policy.hosts.iter().filter(|entry| !entry.loads.is_empty());
        for entry in entries {
            for (plugin, names) in candidates {
                if !self.of(*plugin).is_empty() {
                    continue;
                }
                let Some(object) = store.object(*plugin) else { continue };
                let paths: Vec<&str> = needed_of(object, &entry.loads).collect();
                if paths.is_empty() {
                    continue;
                }
                let facts = store.file(*plugin);
                let found = names.iter().find_map(|located| {
                    match is_plugin(entry, *plugin, facts, &located.path) {
                        Ok(true) => nearest(store, located, &paths, needs),
                        Ok(false) => None,
                        Err(need) => {
                            needs.push(need);
                            None
                        }
                    }
                });
                let Some((file, path)) = found.filter(|(file, _)| file != plugin) else { continue };
                let host = self.add(HostProgram::new(file, path));
                if self.fits(store, host, *plugin) {
                    self.pair(*plugin, host);
                }
            }
        }
    }

    /// Adds a host and returns its index in `list`. A program with several names is one host.
    pub(super) fn add(&mut self, host: HostProgram) -> usize {
        let after = host.after.as_ref().map(|(before, library)| (*before, library.file));
        let at = *self.known.entry((host.file, after)).or_insert(self.list.len());
        if at == self.list.len() {
            self.list.push(host);
        }
        at
    }

    pub(super) fn pair(&mut self, plugin: FileId, host: usize) {
        let hosts = self.plugins.entry(plugin).or_default();
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }

    /// True if a plugin has the class, byte order and machine of a host.
    pub(super) fn fits(&self, store: &dyn FactStore, host: usize, plugin: FileId) -> bool {
        let target = |file| store.object(file).map(|object: &Object| object.header.target());
        let pair = target(plugin).zip(target(self.list[host].file));
        pair.is_some_and(|(plugin, host)| plugin.links_with(host))
    }
}

/// The file at a path, if it is a dynamically linked program.
fn program_at(store: &dyn FactStore, place: PathState) -> Option<FileId> {
    let PathState::File(file) = place else { return None };
    is_program(store, file).then_some(file)
}

pub(super) fn is_program(store: &dyn FactStore, file: FileId) -> bool {
    let is_program = |object: &Object| object.role == Role::Program && object.is_dynamic();
    store.object(file).is_some_and(is_program)
}

/// The file at a path, if it is a shared object that can be a plugin.
pub(super) fn library_at(store: &dyn FactStore, place: PathState) -> Option<FileId> {
    let PathState::File(file) = place else { return None };
    store.object(file).is_some_and(can_be_plugin).then_some(file)
}

/// The `paths` whose file name is a DT_NEEDED of the object.
fn needed_of<'a>(object: &'a Object, paths: &'a [String]) -> impl Iterator<Item = &'a str> {
    let is_needed = |path: &&str| {
        let name = last_part(path.as_bytes());
        object.needs.iter().any(|need| object.str(need.name) == name)
    };
    paths.iter().map(String::as_str).filter(is_needed)
}

/// The nearest library: tries each of `paths` relative to the plugin's directory, then relative to
/// each directory above it in the prefix. `None` if no library exists at these paths, or if facts
/// are missing.
fn nearest(
    store: &dyn FactStore,
    plugin: &Located,
    paths: &[&str],
    needs: &mut Vec<Need>,
) -> Option<(FileId, Vec<u8>)> {
    let whole = plugin.full_path();
    let within = |dir: &&Path| plugin.prefix.as_ref().is_none_or(|prefix| dir.starts_with(prefix));
    let mut unknown = Vec::new();
    for dir in whole.ancestors().skip(1).take(MOST_ABOVE).take_while(within) {
        for path in paths {
            let path = dir.join(path).into_os_string().into_vec();
            match store.place(&path) {
                None => unknown.push(Need::path(path, None)),
                Some(place) => {
                    if let Some(file) = library_at(store, place).filter(|_| unknown.is_empty()) {
                        return Some((file, path));
                    }
                }
            }
        }
    }
    needs.append(&mut unknown);
    None
}
