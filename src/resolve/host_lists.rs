//! Host programs that read a list of libraries and open each library with RTLD_GLOBAL, one after
//! another, before they load plugins. Mozilla's programs read `dependentlibs.list` in their own
//! directory (`xpcom/glue/standalone/nsXPCOMGlue.cpp`). The listed libraries have no search path.
//! The loader finds the needs of a listed library among the objects that are already loaded.

use super::hosts::{HostProgram, HostPrograms, is_program, library_at};
use super::start::Start;
use crate::facts::plugins::can_be_plugin;
use crate::facts::{FactStore, Need};
use crate::id::{FastSet, FileId};
use crate::plan::Plan;
use crate::text::directory_and_name;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Maximum number of libraries read from a list. The link map of each library also holds the
/// objects of all libraries before it in the list.
const MOST_LISTED: usize = 200;

impl HostPrograms {
    /// Adds the host programs of `[[host]]` entries with a `list`. A host program is in the
    /// directory of the list file, and its bytes contain the file name of the list. Its plugins are
    /// the listed libraries, the libraries of `loads`, and all shared objects below the directory
    /// that have no other host program.
    pub(super) fn add_lists(
        &mut self,
        plan: &Plan,
        store: &dyn FactStore,
        audited: &[FileId],
        needs: &mut Vec<Need>,
    ) {
        let entries = plan.policy.hosts.iter();
        let lists: Vec<_> = entries.filter_map(|e| Some((e.list.as_deref()?, &e.loads))).collect();
        if lists.is_empty() {
            return;
        }
        let is_library = |file: &FileId| store.object(*file).is_some_and(can_be_plugin);
        let shared: Vec<FileId> = audited.iter().copied().filter(is_library).collect();
        for (dir, programs) in &directories(store, audited, &shared) {
            for (list, loads) in &lists {
                match listed(store, dir, list) {
                    Ok(mut libraries) if !libraries.is_empty() => {
                        libraries.extend(loads.iter().map(|path| dir.join(path)));
                        let programs = programs_with(store, programs, list, needs);
                        for program in programs {
                            self.add_list(store, program, &libraries, (dir, &shared), needs);
                        }
                    }
                    Ok(_) => {}
                    Err(need) => needs.push(need),
                }
            }
        }
    }

    /// Adds a program that opens `libraries` in this order. The objects of `shared` in `dir` and
    /// below become plugins of this program, unless they have another host program.
    fn add_list(
        &mut self,
        store: &dyn FactStore,
        program: FileId,
        libraries: &[PathBuf],
        (dir, shared): (&Path, &[FileId]),
        needs: &mut Vec<Need>,
    ) {
        let path = store.file(program).real.as_os_str().as_bytes().to_vec();
        let mut host = self.add(HostProgram::new(program, path.clone()));
        let mut opened = BTreeSet::new();
        for library in libraries {
            let bytes = library.as_os_str().as_bytes().to_vec();
            let Some(place) = store.place(&bytes) else {
                needs.push(Need::path(bytes, None));
                continue;
            };
            // The program skips a library that does not exist.
            let Some(file) = library_at(store, place) else { continue };
            if !self.fits(store, host, file) || !opened.insert(file) {
                continue;
            }
            self.pair(file, host);
            let start = Start { file, path: bytes };
            let mut next = HostProgram::new(program, path.clone());
            next.after = Some((host, start));
            host = self.add(next);
        }
        for plugin in shared {
            let is_below = store.file(*plugin).real.starts_with(dir);
            if is_below && self.of(*plugin).is_empty() && self.fits(store, host, *plugin) {
                self.pair(*plugin, host);
            }
        }
    }
}

/// The directories that hold both audited programs and objects of `shared`, each with its programs.
fn directories<'s>(
    store: &'s dyn FactStore,
    audited: &[FileId],
    shared: &[FileId],
) -> BTreeMap<&'s Path, Vec<FileId>> {
    let dir = |file: &FileId| Some(directory_and_name(&store.file(*file).real)?.0);
    // The hash of a path takes longer, because it splits the path.
    let text = |file: &FileId| dir(file).map(Path::as_os_str);
    let with_libraries: FastSet<&OsStr> = shared.iter().filter_map(text).collect();
    let mut out: BTreeMap<&Path, Vec<FileId>> = BTreeMap::new();
    for program in audited.iter().filter(|file| is_program(store, **file)) {
        if let Some(dir) = dir(program).filter(|dir| with_libraries.contains(dir.as_os_str())) {
            out.entry(dir).or_default().push(*program);
        }
    }
    out
}

/// Paths of the libraries that the file `list` in `dir` names, one per line; empty if the file
/// cannot be read.
fn listed(store: &dyn FactStore, dir: &Path, list: &str) -> Result<Vec<PathBuf>, Need> {
    let path = dir.join(list).into_os_string();
    let Ok(text) = store.bytes(path.as_bytes())? else { return Ok(Vec::new()) };
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let names = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    let is_name = |name: &&[u8]| !name.contains(&b'/') && !name.contains(&0);
    let names = names.filter(is_name).take(MOST_LISTED);
    Ok(names.map(|name| dir.join(OsStr::from_bytes(name))).collect())
}

/// The programs that contain the name of the list, and may therefore read the list. Only the part
/// before the last dot is searched for: a compiler may turn the end of a constant into immediate
/// operands.
fn programs_with(
    store: &dyn FactStore,
    programs: &[FileId],
    list: &str,
    needs: &mut Vec<Need>,
) -> Vec<FileId> {
    let mut out = Vec::new();
    let stem = list.rfind('.').map_or(list, |dot| &list[..dot]);
    for program in programs {
        let path = store.file(*program).real.as_os_str().as_bytes();
        match store.bytes(path) {
            Ok(Ok(bytes)) if memchr::memmem::find(bytes, stem.as_bytes()).is_some() => {
                out.push(*program);
            }
            Ok(_) => {}
            Err(need) => needs.push(need),
        }
    }
    out
}
