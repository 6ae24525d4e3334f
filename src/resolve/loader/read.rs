//! Reads the rules of one loader from its binary and its configuration files. [`super::Loaders`]
//! calls [`read`] once for each loader.

use super::config;
use super::rules::{Family, Loader, NoLoader, file_for};
use crate::facts::{FactStore, Need};
use crate::format::elf::{GlibcVersion, MuslVersion, Target};
use crate::id::{FileId, StrId, Strings};
use crate::plan::{LoaderRules, Plan};
use crate::resolve::{MachineRow, hwcaps};
use crate::tree::Errno;

/// The release that is assumed for glibc if neither the loader nor the libc states one.
const ASSUMED_RELEASE: GlibcVersion = GlibcVersion::new(2, 36);

/// Reads the rules of the loader at `path`. The inner error is the reason why the file cannot be
/// used as a loader.
pub(super) fn read(
    store: &dyn FactStore,
    plan: &Plan,
    strings: &mut Strings,
    path: StrId,
    target: Target,
    machine: MachineRow,
) -> Result<Result<Loader, NoLoader>, Need> {
    let text = strings.text(path).to_vec();
    let Some(file) = file_for(store, &text, target)? else {
        return Ok(Err(NoLoader::NotHere));
    };
    let own = store.interpreter(file)?;
    if let Some(release) = own.musl {
        return Ok(Ok(musl(store, strings, (path, file), target, machine, release)?));
    }
    if own.cache.is_none() && own.release.is_none() {
        return Ok(Err(NoLoader::UnknownFamily));
    }
    let mut guessed = None;
    let mut dirs = own.system_dirs.clone();
    if dirs.is_empty() {
        dirs = machine.dirs.iter().map(|dir| dir.as_bytes().to_vec()).collect();
        guessed = Some("the loader's default directories are guessed");
    }
    let (release, debian) = match own.release {
        Some(release) => (release, own.debian),
        None => release_of_libc(store, &dirs, target)?.unwrap_or((ASSUMED_RELEASE, false)),
    };
    let mut config_faults = Vec::new();
    let cache = match &own.cache {
        Some(path) => config::cache(store, path, target.big, &mut config_faults)?,
        None => None,
    };
    let preload = match &own.preload {
        Some(path) => config::bytes(store, path, &mut config_faults)?,
        None => None,
    };
    let preload = preload.map(without_comments).unwrap_or_default();
    // gnu/packages/patches/glibc-dl-cache.patch
    let package_cache = match plan.loader {
        Some(rules) => rules == LoaderRules::Guix,
        None => text.starts_with(b"/gnu/store/"),
    };
    Ok(Ok(Loader {
        family: Family::Glibc,
        path,
        file: Some(file),
        target: Target { machine_first: debian, ..target },
        machine,
        release,
        system_dirs: dirs.iter().map(|dir| strings.id(dir)).collect(),
        lib: own.lib.clone().unwrap_or_else(|| b"lib".to_vec()),
        platform: hwcaps::platform(machine, &plan.cpu),
        subdirs: hwcaps::subdirs(machine, &plan.cpu, release)
            .iter()
            .map(|dir| strings.id(dir))
            .collect(),
        active: hwcaps::active(machine, &plan.cpu, release),
        cache_path: own.cache.as_ref().filter(|_| !package_cache).map(|path| strings.id(path)),
        cache,
        preload: preload
            .split(|b| matches!(b, b':' | b' ' | b'\t' | b'\n'))
            .filter(|entry| !entry.is_empty())
            .map(|entry| strings.id(entry))
            .collect(),
        package_cache,
        is_absent: false,
        config_faults,
        guessed,
    }))
}

/// The rules of musl's loader at `path`. The file `../etc/ld-musl-ARCH.path`, relative to the
/// loader's directory, lists the default directories.
fn musl(
    store: &dyn FactStore,
    strings: &mut Strings,
    (path, file): (StrId, FileId),
    target: Target,
    machine: MachineRow,
    release: MuslVersion,
) -> Result<Loader, Need> {
    let text = strings.text(path);
    let mut parts = text.rsplitn(3, |b| *b == b'/');
    let name = parts.next().unwrap_or_default();
    let prefix = parts.nth(1).unwrap_or_default();
    let stem = name.split(|b| *b == b'.').next().unwrap_or_default();
    let list = [prefix, b"/etc/", stem, b".path"].concat();
    let dirs: &[u8] = match store.bytes(&list)? {
        Ok(bytes) => bytes,
        Err(Errno::NOENT | Errno::XDEV) => b"/lib:/usr/local/lib:/usr/lib",
        Err(_) => b"",
    };
    let dirs = dirs.split(|b| matches!(b, b':' | b'\n' | 0)).filter(|dir| !dir.is_empty());
    Ok(Loader {
        family: Family::Musl(release),
        path,
        file: Some(file),
        target,
        machine,
        release: GlibcVersion::default(),
        system_dirs: dirs.map(|dir| strings.id(dir)).collect(),
        lib: Vec::new(),
        platform: None,
        subdirs: Vec::new(),
        active: Vec::new(),
        cache_path: None,
        cache: None,
        preload: Vec::new(),
        package_cache: false,
        is_absent: false,
        config_faults: Vec::new(),
        guessed: None,
    })
}

/// The release of a glibc, and true if that glibc has Debian's patches.
type LibcRelease = (GlibcVersion, bool);

/// For a loader whose binary does not state its release (before 2.33): the release according to the
/// strings of the libc in the loader's directories. If these strings lack the release, the result
/// is the highest version that the libc defines. `None` if there is no libc, or if the libc states
/// no release.
fn release_of_libc(
    store: &dyn FactStore,
    dirs: &[Vec<u8>],
    target: Target,
) -> Result<Option<LibcRelease>, Need> {
    for dir in dirs {
        let Some(file) = file_for(store, &[&dir[..], b"libc.so.6"].concat(), target)? else {
            continue;
        };
        let libc = store.interpreter(file)?;
        let defined = || {
            let object = store.object(file)?;
            let versions = object.versions.defs.iter().map(|def| object.str(def.name));
            versions.filter_map(|name| GlibcVersion::parse(name.strip_prefix(b"GLIBC_")?)).max()
        };
        return Ok(libc.release.or_else(defined).map(|release| (release, libc.debian)));
    }
    Ok(None)
}

/// The preload list with comments blanked, as in `elf/rtld.c`. The loader searches for each `#`
/// from the start of the file, but only over as many bytes as remain after the previous comment.
/// The loader may therefore miss a comment, and so does this function.
fn without_comments(bytes: &[u8]) -> Vec<u8> {
    let mut text = bytes.to_vec();
    let mut rest = text.len();
    while let Some(at) = text[..rest].iter().position(|b| *b == b'#') {
        rest -= at;
        let mut here = at;
        loop {
            text[here] = b' ';
            rest -= 1;
            here += 1;
            if rest == 0 || text.get(here).is_none_or(|b| *b == b'\n') {
                break;
            }
        }
        if rest == 0 {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_of_the_preload_list() {
        assert_eq!(without_comments(b"/a # x\n/b"), b"/a    \n/b");
        assert_eq!(without_comments(b"/a/b/c/d #x\n/e #y"), b"/a/b/c/d   \n/e #y");
        assert_eq!(without_comments(b"#"), b" ");
    }
}
