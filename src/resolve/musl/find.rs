//! musl's search for a library (`load_library`, `path_open`, `fixup_rpath` of `ldso/dynlink.c`):
//! LD_LIBRARY_PATH, the search paths of the requester and of the requesters above it, then the
//! system's directories.

use super::{Loaded, MuslLoad};
use crate::facts::{Need, PathState, ProbeBatch};
use crate::id::{Id as _, ModuleId, StrId};
use crate::resolve::probe_batch::{self, batch};
use crate::resolve::trace::TriedOutcome;
use crate::resolve::{FoundBy, ROOT, tokens};
use crate::tree::Errno;
use std::os::unix::ffi::OsStrExt as _;

/// Maximum number of requests from one entry point in a round. One request may have hundreds of
/// paths.
const MOST_ASKED: usize = 512;

/// The result of the search in one list of directories.
enum DirSearchResult {
    At(StrId, PathState),
    Not,
    /// `open` failed with an error that ends the whole search.
    Stop(Errno),
    Unknown,
}

impl MuslLoad<'_> {
    /// The first path, in search order, at which a file of this name can be opened. A name with a
    /// slash is opened as a path.
    pub(super) fn find(
        &mut self,
        name: StrId,
        requester: Option<ModuleId>,
    ) -> Result<(StrId, PathState, FoundBy), Loaded> {
        if self.search.strings.text(name).contains(&b'/') {
            self.by_cwd |= !self.search.strings.text(name).starts_with(b"/");
            return match self.look(name, FoundBy::Path) {
                Some(PathState::Failed(errno)) => Err(Loaded::Failed(None, errno_text(errno))),
                Some(place) => Ok((name, place, FoundBy::Path)),
                None => Err(Loaded::Unknown),
            };
        }
        let mut lists = vec![(self.search.plan.ld_library_path.clone(), FoundBy::LdLibraryPath)];
        let mut here = requester;
        while let Some(module) = here {
            let how = self.search_path_of(module, requester);
            lists.extend(self.rpath(module).map(|list| (list, how)));
            here = self.modules[module.index()].requester;
        }
        let loader = self.search.loader;
        let system = loader.system_dirs.iter().map(|dir| self.search.strings.text(*dir));
        lists.push((system.collect::<Vec<_>>().join(&b':'), FoundBy::Default));
        for (list, how) in lists {
            match self.open_in(&list, name, how) {
                DirSearchResult::At(path, place) => return Ok((path, place, how)),
                DirSearchResult::Not => {}
                DirSearchResult::Stop(errno) => {
                    return Err(Loaded::Failed(None, errno_text(errno)));
                }
                DirSearchResult::Unknown => return Err(Loaded::Unknown),
            }
        }
        Err(Loaded::Failed(None, self.errno))
    }

    /// How reports say that a need of `requester` was found in the search path of `module`.
    fn search_path_of(&self, module: ModuleId, requester: Option<ModuleId>) -> FoundBy {
        let object = self.modules[module.index()].file.and_then(|f| self.search.store.object(f));
        let has_runpath = object.is_some_and(|object| object.runpath.is_some());
        if has_runpath && requester == Some(module) {
            FoundBy::Runpath
        } else {
            FoundBy::Rpath(module)
        }
    }

    /// Tries `name` in each directory of a list (`path_open`).
    fn open_in(&mut self, list: &[u8], name: StrId, how: FoundBy) -> DirSearchResult {
        let dirs: Vec<&[u8]> =
            list.split(|b| matches!(b, b':' | b'\n')).filter(|dir| !dir.is_empty()).collect();
        let number = (dirs.len() > probe_batch::FIRST).then(|| self.number(list));
        let key = number.map(|number| (number, name));
        // A search with a trace starts at the first directory.
        let known = key.filter(|_| self.trace.is_none());
        let known = known.and_then(|key| self.search.cache.passed.get(&key).copied());
        let mut passed = known.unwrap_or_default();
        self.by_cwd |= dirs[..passed.done].iter().any(|dir| !dir.starts_with(b"/"));
        let name_text = self.search.strings.text(name).to_vec();
        let path = |dir: &[u8]| [dir, b"/", &name_text].concat();
        for (at, dir) in dirs.iter().enumerate().skip(passed.done) {
            self.by_cwd |= !dir.starts_with(b"/");
            let path_here = path(dir);
            passed.done = at;
            match self.place(&path_here, key.and_then(|(list, name)| batch(list, name, at))) {
                Some(PathState::Failed(errno)) => {
                    self.errno = errno_text(errno);
                    let goes_on = [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS, Errno::NAMETOOLONG];
                    if !goes_on.contains(&errno) {
                        if let Some(trace) = &mut self.trace {
                            trace.push(how, TriedOutcome::Ended(errno), false, || path_here);
                        }
                        return DirSearchResult::Stop(errno);
                    }
                    self.tell(&path_here, PathState::Failed(errno), how);
                }
                Some(place) => {
                    self.tell(&path_here, place, how);
                    return DirSearchResult::At(self.search.strings.id(&path_here), place);
                }
                None => {
                    self.search.cache.passed.extend(key.map(|key| (key, passed)));
                    // One request covers the rest of the batch.
                    let end = probe_batch::end_of(at).min(dirs.len());
                    let batch = key.and_then(|(list, name)| batch(list, name, at));
                    if self.search.needs.len() < MOST_ASKED {
                        let paths = dirs[at..end].iter().map(|dir| path(dir)).collect();
                        self.search.needs.push(Need::First { paths, target: None, batch });
                    }
                    return DirSearchResult::Unknown;
                }
            }
        }
        self.search.cache.passed.extend(key.map(|key| (key, passed)));
        DirSearchResult::Not
    }

    /// The id of a long list of directories, by its text.
    fn number(&mut self, list: &[u8]) -> u64 {
        let text = self.search.strings.id(list);
        let store = self.search.store;
        *self.search.cache.long.entry(text).or_insert_with(|| store.new_list())
    }

    /// The state of a path in the file system; `None` if the state is not known yet. In a batch
    /// that was already probed, a path without a stored state does not exist.
    fn place(&self, path: &[u8], batch: Option<ProbeBatch>) -> Option<PathState> {
        self.search.store.place(path).or_else(|| {
            let absent = self.search.store.is_looked_through(&batch?);
            absent.then_some(PathState::Failed(Errno::NOENT))
        })
    }

    fn look(&mut self, path: StrId, how: FoundBy) -> Option<PathState> {
        let text = self.search.strings.text(path).to_vec();
        let Some(place) = self.search.store.place(&text) else {
            self.search.needs.push(Need::path(text, None));
            return None;
        };
        self.tell(&text, place, how);
        Some(place)
    }

    /// Records the outcome of a path in the trace, if the search has a trace.
    fn tell(&mut self, path: &[u8], place: PathState, how: FoundBy) {
        if let Some(trace) = &mut self.trace {
            let outcome = match place {
                PathState::OfProcess => TriedOutcome::OfProcess,
                PathState::Failed(errno) => TriedOutcome::Failed(errno),
                PathState::File(_) => TriedOutcome::Taken,
                PathState::Directory => TriedOutcome::Fatal("Is a directory"),
                PathState::Special(special) => TriedOutcome::Fatal(special.describe()),
            };
            trace.push(how, outcome, false, || path.to_vec());
        }
    }

    /// The search path of a module with `$ORIGIN` replaced (`fixup_rpath`): DT_RUNPATH, or else
    /// DT_RPATH. `None` if there is neither, or if the path has another token.
    fn rpath(&self, module: ModuleId) -> Option<Vec<u8>> {
        let m = &self.modules[module.index()];
        let object = self.search.store.object(m.file?)?;
        let text = object.str(object.runpath.or(object.rpath)?);
        let path = if module == ROOT && !self.search.plan.as_ldd {
            // The kernel mapped the program: musl reads its path from /proc/self/exe.
            self.search.store.file(self.root.file).real.as_os_str().as_bytes()
        } else {
            self.search.strings.text(m.path)
        };
        let origin = path.iter().rposition(|b| *b == b'/').map_or(&b"."[..], |at| &path[..at]);
        tokens::expand_musl(text, origin)
    }
}

/// musl's text for an error number (`src/errno/__strerror.h`).
pub(super) fn errno_text(errno: Errno) -> &'static str {
    match errno {
        Errno::NOENT => "No such file or directory",
        Errno::NOTDIR => "Not a directory",
        Errno::ACCESS => "Permission denied",
        Errno::LOOP => "Symbolic link loop",
        Errno::NAMETOOLONG => "Filename too long",
        Errno::NXIO => "No such device or address",
        _ => "I/O error",
    }
}
