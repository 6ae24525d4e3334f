//! The ways in which a file gets into a link map, and the words for them in reports. In `resolve`,
//! only `Root`, `Missing` and `Provided` change how a module is treated. Rules and views read the
//! other variants.

use crate::id::ModuleId;

/// How a file was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoundBy {
    /// The file is the entry point itself.
    Root,
    /// The file is a plugin, and its host program opened it with dlopen.
    Dlopen,
    /// An already loaded object has the name.
    Loaded,
    /// The name has a slash, and the loader opens it as a path.
    Path,
    /// DT_RPATH of the module with this index. Under musl, a module inherits DT_RPATH and
    /// DT_RUNPATH from its requesters. This variant also covers an inherited DT_RUNPATH.
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
    /// A name that musl's loader satisfies without a file (`libm.so`, `libpthread.so`).
    Builtin,
    /// Assumed to be on the target system: no file was found here, or no search was made.
    Provided,
    /// Not found.
    Missing,
}

impl FoundBy {
    /// True if a library in a directory of LD_LIBRARY_PATH could replace the one found. glibc
    /// searches DT_RPATH before LD_LIBRARY_PATH (`elf/dl-load.c`, `_dl_map_new_object`), musl after
    /// it (`ldso/dynlink.c`, `load_library`).
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

    /// The word in human and JSON output.
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
