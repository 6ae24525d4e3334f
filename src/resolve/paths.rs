//! Lists of search directories: their texts taken apart (`fillin_rpath`, `decompose_rpath`), the
//! directories of them that exist, and what is remembered of searches for all roots of a run.

use super::cache::Cache;
use super::portions::Passed;
use super::search::{Found, Search};
use super::tokens;
use crate::facts::Place;
use crate::id::{FastMap, FastSet, StrId};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Lists of more directories than this are asked for those first, and for what is below them later.
const LONG: usize = 128;

/// A list of search directories and, once it is known which of them exist, the places to try.
pub struct DirList {
    /// No other list of the process has it.
    pub(super) id: u64,
    pub(super) dirs: Vec<StrId>,
    pub(super) ready: OnceLock<Box<[Probe]>>,
    /// The round in which somebody has asked for what is missing; 0 for none.
    asked: AtomicU32,
}

/// One directory to try: a search directory with one of the loader's subdirectories.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    /// With its slash at the end; empty for the current directory.
    pub(super) path: StrId,
    /// Which of the search directories it belongs to.
    pub(super) dir: u32,
    /// It is a subdirectory that not every processor makes the loader try.
    pub(super) by_cpu: bool,
    /// It is a subdirectory.
    pub(super) subdir: bool,
    /// It depends on the current directory.
    pub(super) relative: bool,
}

/// A number that no other list of the process has.
pub(super) fn new_list() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Relaxed)
}

impl DirList {
    fn new(dirs: Vec<StrId>) -> Self {
        Self { id: new_list(), dirs, ready: OnceLock::new(), asked: AtomicU32::new(0) }
    }
}

/// Results that hold for every root of a run.
#[derive(Default)]
pub struct Memo {
    /// What lies at (directory, name).
    pub(super) places: FastMap<(StrId, StrId), Place>,
    /// How far searches in long lists have come, by (list, name).
    pub(super) passed: FastMap<(u64, StrId), Passed>,
    /// Numbers of musl's long lists by their texts.
    pub(super) long: FastMap<StrId, u64>,
    /// Directory lists by (text, origin, loader path).
    pub(super) lists: FastMap<(StrId, StrId, StrId), Arc<DirList>>,
    /// Default directories by loader path.
    pub(super) system: FastMap<StrId, Arc<DirList>>,
    /// Whole searches of objects without any path of their own, by (loader path, name).
    pub(super) plain: FastMap<(StrId, StrId), (Found, bool)>,
    /// What the loader's cache has for a name, by (loader path, name).
    pub(super) cached: FastMap<(StrId, StrId), Option<(StrId, bool)>>,
    /// Caches of packages by their paths.
    pub(super) caches: FastMap<StrId, Option<Arc<Cache>>>,
    /// Such searches that wait for facts which somebody has asked for in this round.
    pub(super) asked: FastSet<(StrId, StrId)>,
    round: u32,
}

impl Memo {
    /// The facts that were missing have been read: searches may be tried again.
    pub fn new_round(&mut self) {
        self.asked.clear();
        self.round += 1;
    }
}

impl Search<'_, '_> {
    /// The directories of a DT_RPATH or DT_RUNPATH text of an object whose `$ORIGIN` is `origin`.
    pub fn dirs(&mut self, text: StrId, origin: StrId) -> Arc<DirList> {
        let key = (text, origin, self.loader.path);
        if let Some(list) = self.memo.lists.get(&key) {
            return Arc::clone(list);
        }
        let raw = self.strings.text(text).to_vec();
        let origin = self.strings.text(origin).to_vec();
        let (mut list, mut seen) = (Vec::new(), FastSet::default());
        if !raw.is_empty() {
            for element in raw.split(|b| *b == b':') {
                if let Some(dir) = self.element(element, &origin)
                    && seen.insert(dir)
                {
                    list.push(dir);
                }
            }
        }
        let list = Arc::new(DirList::new(list));
        self.memo.lists.insert(key, Arc::clone(&list));
        list
    }

    /// One element of a path list: tokens replaced, slashes at the end made one. An empty element
    /// is the current directory; one that becomes empty is dropped.
    fn element(&mut self, element: &[u8], origin: &[u8]) -> Option<StrId> {
        if element.is_empty() {
            return Some(self.strings.id(b""));
        }
        let mut dir = tokens::expand(element, self.tokens(origin))?;
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

    pub(super) fn system(&mut self) -> Arc<DirList> {
        let new = || Arc::new(DirList::new(self.loader.system_dirs.clone()));
        Arc::clone(self.memo.system.entry(self.loader.path).or_insert_with(new))
    }

    /// Finds out which directories of a list exist; false if that is not known yet. Relative ones
    /// always count as existing.
    pub(super) fn prepare(&mut self, list: &DirList) -> bool {
        if list.asked.swap(self.memo.round, Relaxed) == self.memo.round && self.memo.round > 0 {
            return false;
        }
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
                    let subdir = self.strings.text(*subdir).to_vec();
                    probes.push(Probe {
                        by_cpu: !subdir.is_empty() && !subdir.starts_with(b"tls/"),
                        path: self.strings.id(&text),
                        dir: u32::try_from(number).unwrap_or(u32::MAX),
                        subdir: !subdir.is_empty(),
                        relative,
                    });
                }
            }
        }
        // Somebody else may have been as quick; the value would be the same.
        known && list.ready.set(probes.into()).is_ok()
    }

    /// Whether a directory exists, with a missing fact asked for. Below a directory that does not
    /// exist nothing does.
    fn exists(&mut self, dir: &[u8]) -> Option<bool> {
        match self.view.is_directory(dir) {
            Ok(is) => Some(is),
            Err(need) => {
                self.needs.push(need);
                None
            }
        }
    }
}
