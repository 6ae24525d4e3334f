//! The type for the rules of one loader: its directories, cache, preload list and release. `read`
//! gets the rules from the loader's binary and configuration files. Searches and bindings follow
//! these rules.

use super::config::ConfigDefect;
use crate::facts::{FactStore, Need, PathState};
use crate::format::elf::{GlibcVersion, LoaderReaction, MuslVersion, Target};
use crate::id::{FileId, StrId};
use crate::plan::Cpu;
use crate::policy::Libc;
use crate::resolve::cache::{Cache, CacheQuery};
use crate::resolve::{MachineRow, hwcaps};

/// The first glibc release that ignores cache entries of legacy hwcaps (c5aa5fd40a).
const NO_LEGACY_CACHE: GlibcVersion = GlibcVersion::new(2, 40);

/// The loader family whose rules apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// The loader of the GNU C library.
    Glibc,
    /// The loader of musl, with musl's release.
    Musl(MuslVersion),
}

/// The rules that one loader follows: where it searches, and which files it accepts.
pub struct Loader {
    /// The loader's family.
    pub family: Family,
    /// The path of the loader: PT_INTERP, the path at which it was found, or the usual path of an
    /// assumed loader.
    pub path: StrId,
    /// The loader's binary; `None` for an assumed loader.
    pub file: Option<FileId>,
    /// The class, byte order, machine and flags of the objects that the loader accepts.
    pub target: Target,
    /// The loader's row in the table of machines.
    pub machine: MachineRow,
    /// The glibc release. The default value for musl, whose release is in `family`.
    pub release: GlibcVersion,
    /// The directories that are searched by default, in order. Under glibc, each has a trailing
    /// slash.
    pub system_dirs: Vec<StrId>,
    /// The value of `$LIB`, such as `lib64`; empty for musl, which does not know this token.
    pub lib: Vec<u8>,
    /// The value of `$PLATFORM`; `None` for musl, and if the value depends on the processor.
    pub platform: Option<&'static str>,
    /// Subdirectories that are tried below every search directory, in order. The last subdirectory
    /// is empty: it stands for the search directory itself. musl has no subdirectories.
    pub subdirs: Vec<StrId>,
    /// Names of the glibc-hwcaps directories that are active on the processor, best first.
    pub active: Vec<&'static str>,
    /// The path of the ld.so.cache that all programs of this loader share; `None` if the loader has
    /// no such cache.
    pub cache_path: Option<StrId>,
    /// The content of ld.so.cache; `None` if there is no usable cache.
    pub cache: Option<Cache>,
    /// The entries of ld.so.preload, in order.
    pub preload: Vec<StrId>,
    /// True for Guix's loader. Before DT_RUNPATH, it searches the ld.so.cache of the program's
    /// package.
    pub package_cache: bool,
    /// True if the system lacks this loader. Its default directories and cache are then unknown.
    /// Needs are searched for only in LD_LIBRARY_PATH and the search paths of objects. A need that
    /// this search does not find is treated as provided.
    pub is_absent: bool,
    /// Defects in the loader's configuration files.
    pub config_faults: Vec<ConfigDefect>,
    /// The rule that had to be guessed, if any, as text for an `undecided` finding.
    pub guessed: Option<&'static str>,
}

/// The reason why the audit knows no loader rules for an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLoader {
    /// The loader belongs to a family whose rules are not built in, or the system lacks the musl
    /// loader that a library needs.
    UnknownFamily,
    /// The object is for a machine whose loader rules are not built in.
    UnknownMachine,
    /// The system has no loader for this object.
    NotHere,
    /// The loader refuses the object, with this message.
    Refused(&'static str),
}

impl Loader {
    /// True for musl's loader.
    pub fn is_musl(&self) -> bool {
        matches!(self.family, Family::Musl(_))
    }

    /// The C library of the processes that this loader starts.
    pub fn libc(&self) -> Libc {
        if self.is_musl() { Libc::Musl } else { Libc::Glibc }
    }

    /// The parameters of this loader's lookups in ld.so.cache, on the processor `cpu`.
    pub fn asker(&self, cpu: &Cpu) -> CacheQuery<'_> {
        CacheQuery {
            flags: self.machine.cache_flags,
            active: &self.active,
            isa_level: u32::from(cpu.x86_level.saturating_sub(1)),
            legacy: (self.release < NO_LEGACY_CACHE)
                .then(|| hwcaps::legacy_bits(self.machine, cpu)),
        }
    }
}

/// The file at `path`, if a loader for `target` accepts it. `None` for any other file or directory,
/// and if the path does not exist.
pub(super) fn file_for(
    store: &dyn FactStore,
    path: &[u8],
    target: Target,
) -> Result<Option<FileId>, Need> {
    match store.place(path) {
        None => Err(Need::path(path.to_vec(), None)),
        Some(PathState::File(file)) => {
            let taken = store.file(file).content.reaction(target) == LoaderReaction::Accepted;
            Ok(taken.then_some(file))
        }
        Some(
            PathState::Directory
            | PathState::Special(_)
            | PathState::OfProcess
            | PathState::Failed(_),
        ) => Ok(None),
    }
}
