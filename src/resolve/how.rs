//! The ways in which a file comes into a link map, and their words in machine formats. `search` and
//! `mapping` say which it was. The root and stubs answer to names in their own way; all else is for
//! messages.

use crate::id::ModuleId;

/// How a file was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// It is the root itself.
    Root,
    /// It is the root, and its host has opened it with dlopen.
    Dlopen,
    /// An object that was already there answers to the name.
    Loaded,
    /// The name has a slash and is opened as it is.
    Path,
    /// DT_RPATH of the module with this index.
    Rpath(ModuleId),
    /// LD_LIBRARY_PATH
    LdLibraryPath,
    /// DT_RUNPATH of the requester.
    Runpath,
    /// ld.so.cache
    Cache,
    /// A default directory of the loader.
    Default,
    /// LD_PRELOAD or ld.so.preload names it.
    Preload,
    /// It is part of the loader itself: a name that musl's libc answers to.
    Builtin,
    /// A policy says that the target system provides it: it is not looked for.
    Provided,
    /// Nothing was found.
    Missing,
}

impl How {
    /// The word in machine formats.
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
