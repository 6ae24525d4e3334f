//! The result of the search for one need, and the properties of the requesting object on which this
//! result depends.

use super::FoundBy;
use super::cache::Cache;
use super::paths::DirList;
use crate::id::{ContextId, FileId, Id as _, ModuleId, StrId};
use std::sync::Arc;

/// The result of the search for one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchOutcome {
    /// The file that was found, the path by which it is opened, and the step that found it.
    File(FileId, StrId, FoundBy),
    /// No file was found.
    Nothing,
    /// The loader stops: the path in its message, the file if there is one, and the message.
    Stop(StrId, Option<FileId>, &'static str),
}

/// The result of a call of dlopen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The library opens: it is already loaded, it is found, or the policy provides it.
    Opened,
    /// No file of that name is found.
    NotFound,
    /// The loader finds a file, refuses it, and stops with this message.
    Stopped(&'static str),
}

/// The result of the search for one name, and the properties of the tried paths.
#[derive(Clone, Copy)]
pub(super) struct SearchResult {
    pub(super) found: SearchOutcome,
    pub(super) seen: SearchFlags,
}

/// Properties of the paths that a search tried.
#[derive(Clone, Copy, Default)]
pub(super) struct SearchFlags {
    /// The file was found in a hwcaps directory, or by a hwcaps entry of the cache.
    pub(super) by_cpu: bool,
    /// A tried path was relative to the current directory.
    pub(super) by_cwd: bool,
    /// A tried path leads to a different file in each process.
    pub(super) by_process: bool,
    /// A file of another ELFCLASS was skipped.
    pub(super) other_class: bool,
}

/// The properties of an object that determine how its needs are searched for.
#[derive(Clone, Default)]
pub(super) struct Requester {
    /// DT_RPATH lists in search order: the list of the object, of its requester and so on, each
    /// with the module that has the list. Empty if the object has DT_RUNPATH.
    pub(super) rpaths: Vec<(ModuleId, Arc<DirList>)>,
    /// Directories of LD_LIBRARY_PATH; `None` if it is empty.
    pub(super) library_path: Option<Arc<DirList>>,
    /// Directories of DT_RUNPATH; `None` if the object has no DT_RUNPATH.
    pub(super) runpath: Option<Arc<DirList>>,
    /// DF_1_NODEFLIB: default directories are not searched.
    pub(super) nodeflib: bool,
    /// The cache of the program's package, if the loader uses caches of packages.
    pub(super) package_cache: Option<Arc<Cache>>,
    /// Requesters with the same id have the same search results. `None` if the loader uses a
    /// package's cache.
    pub(super) context: Option<ContextId>,
}

impl SearchResult {
    /// The form in which the result is memoised: the index of the DT_RPATH list in
    /// `requester.rpaths` replaces the module of that list.
    pub(super) fn by_place(self, requester: &Requester) -> Self {
        let SearchOutcome::File(file, path, FoundBy::Rpath(module)) = self.found else {
            return self;
        };
        let place = requester.rpaths.iter().position(|(other, _)| *other == module);
        let how = FoundBy::Rpath(place.map_or(module, ModuleId::from_index));
        Self { found: SearchOutcome::File(file, path, how), ..self }
    }

    /// The reverse of `by_place`, for any requester with the same lists.
    pub(super) fn under(self, requester: &Requester) -> Self {
        let SearchOutcome::File(file, path, FoundBy::Rpath(place)) = self.found else {
            return self;
        };
        let how = FoundBy::Rpath(requester.rpaths.get(place.index()).map_or(place, |(at, _)| *at));
        Self { found: SearchOutcome::File(file, path, how), ..self }
    }
}
