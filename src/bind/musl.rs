//! Binding by musl's rules (`ldso/dynlink.c`, `do_relocs`): every relocation is bound at load, and
//! the versions of references are ignored. The first object that defines the name wins. Definitions
//! with a hidden version are skipped.
//!
//! `audit` calls this module for entry points whose loader is musl's. The closures under musl's
//! loader are small, so entry points share no results.

use super::{Binding, MOST_REPORTS, RelocationMessage, RootBinding};
use crate::facts::{Need, View};
use crate::format::elf::machine::LookupClass;
use crate::format::elf::relocs::Relocation;
use crate::format::elf::{MuslVersion, Object, SymbolIndex};
use crate::id::{FastSet, ModuleId};
use crate::resolve::{Closure, LOADER, ROOT};
use object::elf;

/// The first release that resolves names such as `open64` to `open` in libc (246f1c811448).
const LFS64: MuslVersion = MuslVersion::new(1, 2, 4);
/// Functions of libc to which names with the suffix `64` resolve.
const LFS64_NAMES: &[&str] = &[
    "__fxstat",
    "__fxstatat",
    "__lxstat",
    "__xstat",
    "aio_cancel",
    "aio_error",
    "aio_fsync",
    "aio_read",
    "aio_return",
    "aio_suspend",
    "aio_write",
    "alphasort",
    "creat",
    "fallocate",
    "fgetpos",
    "fopen",
    "freopen",
    "fseeko",
    "fsetpos",
    "fstat",
    "fstatat",
    "fstatfs",
    "fstatvfs",
    "ftello",
    "ftruncate",
    "ftw",
    "getdents",
    "getrlimit",
    "glob",
    "globfree",
    "lio_listio",
    "lockf",
    "lseek",
    "lstat",
    "mkostemp",
    "mkostemps",
    "mkstemp",
    "mkstemps",
    "mmap",
    "nftw",
    "open",
    "openat",
    "posix_fadvise",
    "posix_fallocate",
    "pread",
    "preadv",
    "prlimit",
    "pwrite",
    "pwritev",
    "readdir",
    "scandir",
    "sendfile",
    "setrlimit",
    "stat",
    "statfs",
    "statvfs",
    "tmpfile",
    "truncate",
    "versionsort",
];

/// Binds one entry point, or returns the missing facts. `bindings` requests all bindings.
pub fn bind(
    closure: &Closure,
    view: View<'_>,
    release: MuslVersion,
    bindings: bool,
) -> Result<RootBinding, Vec<Need>> {
    if closure.fatal().is_some() {
        return Ok(RootBinding::default());
    }
    let mut needs = Vec::new();
    let mut scope: Vec<(ModuleId, &Object)> = Vec::new();
    for (module, file) in closure.in_scope() {
        let Some(object) = view.object(file) else { continue };
        if object.tables.is_none() {
            needs.push(Need::Tables(file));
        }
        scope.push((module, object));
    }
    for (_, file) in closure.found().filter(|(module, _)| *module != LOADER) {
        if let Err(need) = view.relocations(file) {
            needs.push(need);
        }
    }
    if !needs.is_empty() {
        return Err(needs);
    }
    let mut out = RootBinding::default();
    let mut load = Musl { scope: &scope, release, bindings: bindings.then_some(&mut out.bindings) };
    for module in closure.order().iter().filter(|module| **module != LOADER) {
        let Some(file) = closure.module(*module).file else { continue };
        let (Some(object), Ok(relocations)) = (view.object(file), view.relocations(file)) else {
            continue;
        };
        let slot = |class| class == LookupClass::Plt { slot: true };
        let (mut reports, mut left_out, mut reported) = (Vec::new(), 0, FastSet::default());
        // musl relocates the PLT's table first.
        let (first, rest): (Vec<Relocation>, Vec<Relocation>) =
            relocations.list.iter().partition(|relocation| slot(relocation.class()));
        for relocation in first.into_iter().chain(rest) {
            let (symbol, class) = (relocation.symbol(), relocation.class());
            if !load.lookup(*module, object, symbol, class) && reported.insert(symbol) {
                let (version, version_known) = (0, false);
                let report =
                    RelocationMessage::Undefined { symbol, version, version_known, at_load: true };
                if reports.len() < MOST_REPORTS {
                    reports.push(report);
                } else {
                    left_out += 1;
                }
            }
        }
        if left_out > 0 {
            out.left_out.push((*module, left_out));
        }
        if !reports.is_empty() {
            out.reports.push((*module, reports));
        }
    }
    out.bindings.sort_unstable();
    out.bindings.dedup();
    Ok(out)
}

struct Musl<'a, 'v> {
    scope: &'a [(ModuleId, &'v Object)],
    release: MuslVersion,
    bindings: Option<&'a mut Vec<Binding>>,
}

impl Musl<'_, '_> {
    /// Looks up the symbol of one relocation. False if no object defines the symbol, unless the
    /// reference is weak.
    fn lookup(
        &mut self,
        module: ModuleId,
        object: &Object,
        symbol: SymbolIndex,
        class: LookupClass,
    ) -> bool {
        let Some(entry) = object.tables.as_ref().and_then(|tables| tables.symbol(symbol)) else {
            return true;
        };
        if elf::SymbolBind(entry.bind) == elf::STB_LOCAL {
            return true;
        }
        let need_def = class == (LookupClass::Plt { slot: true });
        let copy = class == LookupClass::Copy;
        let mut scope = self.scope.iter().filter(|(module, _)| !(copy && *module == ROOT));
        let found = scope.find(|(_, object)| object.find_musl(entry.name, need_def).is_some());
        let provider = found.map(|(module, _)| *module).or_else(|| self.lfs64(entry.name));
        if let (Some(provider), Some(bindings)) = (provider, &mut self.bindings) {
            bindings.push(Binding { module, symbol, provider });
        }
        let may_stay =
            entry.section == elf::SHN_UNDEF.0 && elf::SymbolBind(entry.bind) == elf::STB_WEAK;
        provider.is_some() || may_stay
    }

    /// `get_lfs64`: looks up a function with the suffix `64` in libc, under the name without this
    /// suffix.
    fn lfs64(&self, name: &[u8]) -> Option<ModuleId> {
        let plain = match name {
            b"readdir64_r" => b"readdir_r",
            _ => name
                .strip_suffix(b"64")
                .filter(|plain| LFS64_NAMES.iter().any(|listed| listed.as_bytes() == *plain))?,
        };
        let (module, libc) = self.scope.iter().find(|(module, _)| *module == LOADER)?;
        (self.release >= LFS64 && libc.find_musl(plain, true).is_some()).then_some(*module)
    }
}
