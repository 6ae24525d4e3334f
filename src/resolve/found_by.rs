//! The ways in which a file gets into a link map, and their words in machine formats. In `resolve`,
//! only `Root`, `Missing` and `Provided` change how a module is treated. Rules and views read the
//! others.

use crate::id::ModuleId;

/// How a file was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoundBy {
    /// It is the entry point itself.
    Root,
    /// It is a plugin, and its host program opened it with dlopen.
    Dlopen,
    /// An object loaded before answers to the name.
    Loaded,
    /// The name has a slash, and the loader opens it as a path.
    Path,
    /// DT_RPATH of the module with this index.
    Rpath(ModuleId),
    /// A directory of LD_LIBRARY_PATH.
    LdLibraryPath,
    /// DT_RUNPATH of the requester.
    Runpath,
    /// An entry of ld.so.cache.
    Cache,
    /// A default directory of the loader.
    Default,
    /// LD_PRELOAD or ld.so.preload names it.
    Preload,
    /// Part of the loader itself: a name that musl's libc answers to.
    Builtin,
    /// Not found, or not searched for, because the target system is assumed to provide it.
    Provided,
    /// Not found.
    Missing,
}

impl FoundBy {
    /// True if a library in LD_LIBRARY_PATH can change the result under glibc: the loader searches
    /// it no later than the step that found the library (`elf/dl-load.c`, `_dl_map_new_object`:
    /// DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, cache, default).
    pub fn yields_to_ld_library_path(self) -> bool {
        match self {
            Self::LdLibraryPath | Self::Runpath | Self::Cache | Self::Default | Self::Missing => {
                true
            }
            Self::Root | Self::Dlopen | Self::Loaded | Self::Path | Self::Rpath(_) => false,
            Self::Preload | Self::Builtin | Self::Provided => false,
        }
    }

    /// The word for machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Dlopen => "dlopen",
            Self::Loaded => "loaded",
            Self::Path => "path",
            Self::Rpath(_) => "rpath",
            Self::LdLibraryPath => "ld-library-path",
            Self::Runpath => "runpath",
            Self::Cache => "cache",
            Self::Default => "default",
            Self::Preload => "preload",
            Self::Builtin => "builtin",
            Self::Provided => "provided",
            Self::Missing => "missing",
        }
    }
}
