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
    /// DT_RPATH of the module with this index. Under musl also its DT_RUNPATH, if another module
    /// has the need: a module inherits both from its requesters.
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
    /// True if a library in LD_LIBRARY_PATH can change the result: the loader searches it no later
    /// than the step that found the library. glibc searches DT_RPATH before it (`elf/dl-load.c`,
    /// `_dl_map_new_object`), musl after it (`ldso/dynlink.c`, `load_library`).
    pub fn yields_to_ld_library_path(self, is_musl: bool) -> bool {
        match self {
            Self::LdLibraryPath | Self::Runpath | Self::Cache | Self::Default | Self::Missing => {
                true
            }
            Self::Rpath(_) => is_musl,
            Self::Root | Self::Dlopen | Self::Loaded | Self::Path => false,
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
