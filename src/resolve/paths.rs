//! Parses lists of search directories (`fillin_rpath`, `decompose_rpath`), and finds the
//! directories that exist. `search` looks for libraries in these directories.

use super::hwcaps;
use super::loader::Loader;
use super::tokens::{self, Tokens};
use crate::facts::{FactStore, Need};
use crate::id::{FastMap, FastSet, StrId, Strings};
use std::sync::{Arc, OnceLock};

/// A list with more directories than this is probed in two steps: first the directories, then their
/// subdirectories.
const LONG: usize = 128;

/// A list of search directories. After [`DirLists::prepare`], it also has the directories to try,
/// with the loader's subdirectories.
pub(super) struct DirList {
    /// An id of the list, unique within one fact store.
    pub(super) id: u64,
    pub(super) dirs: Vec<StrId>,
    ready: OnceLock<Box<[Probe]>>,
}

/// One directory to try: a search directory with one of the loader's subdirectories.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    /// The path with a trailing slash; empty for the current directory.
    pub(super) path: StrId,
    /// Index of its search directory in `DirList::dirs`.
    pub(super) dir: usize,
    /// True for a subdirectory that the loader searches only on some processors
    /// (`hwcaps::is_by_cpu`).
    pub(super) by_cpu: bool,
    /// True for one of the loader's subdirectories, false for the search directory itself.
    pub(super) subdir: bool,
    /// True if the path starts at the current directory.
    pub(super) relative: bool,
}

/// All lists of search directories of a run, cached.
#[derive(Default)]
pub(super) struct DirLists {
    /// Lists by the text of the search path, the value of `$ORIGIN`, and the loader's path.
    by_text: FastMap<(StrId, StrId, StrId), Arc<DirList>>,
    /// The lists of default directories, by the loader's path.
    system: FastMap<StrId, Arc<DirList>>,
    /// Lists whose missing facts were requested in this round.
    asked: FastSet<u64>,
}

/// The inputs from which lists of directories are made.
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

    /// The directories to try; `None` until they are known.
    pub(super) fn probes(&self) -> Option<&[Probe]> {
        self.ready.get().map(|probes| &**probes)
    }
}

impl DirLists {
    /// Starts a round: missing facts have been read.
    pub(super) fn new_round(&mut self) {
        self.asked.clear();
    }

    /// The directories of a DT_RPATH, DT_RUNPATH or LD_LIBRARY_PATH text, with `origin` as
    /// `$ORIGIN`.
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

    /// Finds the directories that a search of the list tries: all that exist, and all relative
    /// ones. Returns false if a fact is missing.
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
    /// One element of a path list: expands its tokens and reduces trailing slashes to one. An empty
    /// element is the current directory. `None` for an element that the loader drops: it expands to
    /// nothing, or has a token without a value.
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
            // Most directories of a long list may be missing. The loader's subdirectories are
            // looked up only below existing directories.
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
                    let by_cpu = hwcaps::is_by_cpu(self.loader.machine, subdir);
                    let subdir = !subdir.is_empty();
                    let path = self.strings.id(&text);
                    probes.push(Probe { path, dir: number, by_cpu, subdir, relative });
                }
            }
        }
        known.then(|| probes.into())
    }

    /// True if a directory exists; `None` if it was not looked up yet and has been requested.
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

/// The entries of a search path, as the loader splits it. musl skips empty entries, and also splits
/// at line breaks.
pub(crate) fn entries<'t>(list: &'t [u8], loader: &Loader) -> impl Iterator<Item = &'t [u8]> {
    let is_musl = loader.is_musl();
    let entries = list.split(move |b| *b == b':' || (is_musl && *b == b'\n'));
    entries.filter(move |entry| !(is_musl && entry.is_empty()))
}

/// Expands the tokens in an entry of a search path. `origin` is the directory of the object that
/// has the path. `None` if a token has no value. musl knows only `$ORIGIN`, and ignores the whole
/// path if there is another token.
pub(crate) fn expanded(entry: &[u8], loader: &Loader, origin: &[u8]) -> Option<Vec<u8>> {
    if loader.is_musl() {
        return tokens::expand_musl(entry, origin);
    }
    tokens::expand(entry, values(loader, origin))
}

/// True if an entry of a search path begins with `$ORIGIN`.
pub(crate) fn is_of_origin(entry: &[u8], loader: &Loader) -> bool {
    if loader.is_musl() {
        return tokens::begins_with_musl_origin(entry);
    }
    tokens::begins_with_origin(entry)
}

/// The values of tokens in an object whose directory is `origin`.
pub(super) fn values<'t>(loader: &'t Loader, origin: &'t [u8]) -> Tokens<'t> {
    Tokens { origin, lib: &loader.lib, platform: loader.platform.map(str::as_bytes) }
}
