//! The ways in which a file gets into a link map, and the names of these ways in reports. Within
//! `resolve`, only `Root`, `Missing` and `Provided` change how a module is treated. Rules and views
//! distinguish the other variants.

use crate::id::ModuleId;

/// How a file was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoundBy {
    /// The file is the entry point itself.
    Root,
    /// The file is a plugin, and its host program opened it with dlopen.
    Dlopen,
    /// No search was made: an already loaded object has the requested name.
    Loaded,
    /// No search was made: the name contains a slash, so the loader opens it as a path.
    Path,
    /// A directory in DT_RPATH of the module with this index. Under musl, a module also inherits
    /// DT_RUNPATH from its requesters. This variant covers an inherited DT_RUNPATH too.
    Rpath(ModuleId),
    /// A directory of LD_LIBRARY_PATH.
    LdLibraryPath,
    /// A directory in DT_RUNPATH of the requester.
    Runpath,
    /// An entry of ld.so.cache.
    Cache,
    /// A default directory of the loader.
    Default,
    /// An entry of LD_PRELOAD or ld.so.preload.
    Preload,
    /// musl's loader satisfies the name itself, because it contains this library (`libm.so`,
    /// `libpthread.so`).
    Builtin,
    /// Assumed to be on the target system: no file was found on this machine, or no search was
    /// made.
    Provided,
    /// Not found.
    Missing,
}

impl FoundBy {
    /// True if a file in a directory of LD_LIBRARY_PATH could replace a library that was found in
    /// this way. glibc searches DT_RPATH before LD_LIBRARY_PATH (`elf/dl-load.c`,
    /// `_dl_map_new_object`). musl searches DT_RPATH after LD_LIBRARY_PATH (`ldso/dynlink.c`,
    /// `load_library`).
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

    /// The name of this variant in human and JSON output.
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
