//! Lists of search directories: parses their texts (`fillin_rpath`, `decompose_rpath`) and finds
//! the directories that exist. `search` walks them.

use super::loader::Loader;
use super::tokens::{self, Tokens};
use crate::facts::{FactStore, Need};
use crate::id::{FastMap, FastSet, StrId, Strings};
use std::sync::{Arc, OnceLock};

/// Lists of more directories than this are asked for those first, and for what is below them later.
const LONG: usize = 128;

/// A list of search directories and, once it is known which of them exist, the places to try.
pub(super) struct DirList {
    /// Unique among the lists of one fact store.
    pub(super) id: u64,
    pub(super) dirs: Vec<StrId>,
    ready: OnceLock<Box<[Probe]>>,
}

/// One directory to try: a search directory with one of the loader's subdirectories.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    /// With its slash at the end; empty for the current directory.
    pub(super) path: StrId,
    /// Which of the search directories it belongs to.
    pub(super) dir: usize,
    /// It is a subdirectory that not every processor makes the loader try.
    pub(super) by_cpu: bool,
    /// It is a subdirectory.
    pub(super) subdir: bool,
    /// It depends on the current directory.
    pub(super) relative: bool,
}

/// All lists of a run.
#[derive(Default)]
pub(super) struct DirLists {
    /// By text, origin and the loader's path.
    by_text: FastMap<(StrId, StrId, StrId), Arc<DirList>>,
    /// Default directories by loader path.
    system: FastMap<StrId, Arc<DirList>>,
    /// Lists whose missing facts were requested in this round.
    asked: FastSet<u64>,
}

/// The tools that make lists.
pub(super) struct Ask<'a> {
    pub(super) store: &'a dyn FactStore,
    pub(super) loader: &'a Loader,
    pub(super) strings: &'a mut Strings,
    pub(super) needs: &'a mut Vec<Need>,
}

impl DirList {
    fn new(dirs: Vec<StrId>, store: &dyn FactStore) -> Arc<Self> {
        Arc::new(Self { id: store.new_list(), dirs, ready: OnceLock::new() })
    }

    /// The paths to try, once they are known.
    pub(super) fn probes(&self) -> Option<&[Probe]> {
        self.ready.get().map(|probes| &**probes)
    }
}

impl DirLists {
    /// Starts a round: missing facts have been read.
    pub(super) fn new_round(&mut self) {
        self.asked.clear();
    }

    /// The directories of a DT_RPATH or DT_RUNPATH text of an object whose `$ORIGIN` is `origin`.
    pub(super) fn of(&mut self, text: StrId, origin: StrId, ask: &mut Ask<'_>) -> Arc<DirList> {
        let key = (text, origin, ask.loader.path);
        if let Some(list) = self.by_text.get(&key) {
            return Arc::clone(list);
        }
        let raw = ask.strings.text(text).to_vec();
        let origin = ask.strings.text(origin).to_vec();
        let (mut list, mut seen) = (Vec::new(), FastSet::default());
        if !raw.is_empty() {
            for element in raw.split(|b| *b == b':') {
                if let Some(dir) = ask.element(element, &origin)
                    && seen.insert(dir)
                {
                    list.push(dir);
                }
            }
        }
        let list = DirList::new(list, ask.store);
        self.by_text.insert(key, Arc::clone(&list));
        list
    }

    /// The loader's default directories.
    pub(super) fn system(&mut self, loader: &Loader, store: &dyn FactStore) -> Arc<DirList> {
        let new = || DirList::new(loader.system_dirs.clone(), store);
        Arc::clone(self.system.entry(loader.path).or_insert_with(new))
    }

    /// Finds the directories of a list that exist; false if a fact is missing. Relative ones always
    /// count as existing.
    pub(super) fn prepare(&mut self, list: &DirList, ask: &mut Ask<'_>) -> bool {
        if list.ready.get().is_some() {
            return true;
        }
        if !self.asked.insert(list.id) {
            return false;
        }
        let Some(probes) = ask.probes(list) else { return false };
        list.ready.get_or_init(|| probes);
        true
    }
}

impl Ask<'_> {
    /// One element of a path list: tokens replaced, slashes at the end made one. An empty element
    /// is the current directory; one that becomes empty is dropped.
    fn element(&mut self, element: &[u8], origin: &[u8]) -> Option<StrId> {
        if element.is_empty() {
            return Some(self.strings.id(b""));
        }
        let mut dir = tokens::expand(element, values(self.loader, origin))?;
        if dir.is_empty() {
            return None;
        }
        while dir.len() > 1 && dir.ends_with(b"/") {
            dir.pop();
        }
        if !dir.ends_with(b"/") {
            dir.push(b'/');
        }
        Some(self.strings.id(&dir))
    }

    fn probes(&mut self, list: &DirList) -> Option<Box<[Probe]>> {
        let (mut probes, mut known) = (Vec::new(), true);
        let is_long = list.dirs.len() > LONG;
        for (number, dir) in list.dirs.iter().enumerate() {
            let base = self.strings.text(*dir).to_vec();
            let relative = !base.starts_with(b"/");
            // Of thousands that may not be there only those that are lead to more.
            if is_long && !relative {
                match self.exists(&base) {
                    Some(true) => {}
                    Some(false) => continue,
                    None => {
                        known = false;
                        continue;
                    }
                }
            }
            for subdir in &self.loader.subdirs {
                let text = [&*base, self.strings.text(*subdir)].concat();
                let exists = relative
                    || self.exists(&text).unwrap_or_else(|| {
                        known = false;
                        false
                    });
                if exists {
                    let subdir = self.strings.text(*subdir);
                    let (by_cpu, is_subdir) =
                        (!subdir.is_empty() && !subdir.starts_with(b"tls/"), !subdir.is_empty());
                    let path = self.strings.id(&text);
                    let (dir, subdir) = (number, is_subdir);
                    probes.push(Probe { path, dir, by_cpu, subdir, relative });
                }
            }
        }
        known.then(|| probes.into())
    }

    /// True if a directory exists; a missing fact is requested. Below a directory that does not
    /// exist nothing does.
    fn exists(&mut self, dir: &[u8]) -> Option<bool> {
        match self.store.is_directory(dir) {
            Ok(is) => Some(is),
            Err(need) => {
                self.needs.push(need);
                None
            }
        }
    }
}

/// The values of tokens in an object with this origin.
pub(super) fn values<'t>(loader: &'t Loader, origin: &'t [u8]) -> Tokens<'t> {
    Tokens { origin, lib: &loader.lib, platform: loader.platform.map(str::as_bytes) }
}
