//! Finds the strings in the binary of glibc's loader: search directories, the paths of the cache
//! and of the preload list, the value of `$LIB`, and the release. From musl's loader, only the
//! release is used.
//!
//! These strings are compiled into the loader (`elf/dl-load.c` SYSTEM_DIRS, `elf/dl-cache.h`
//! LD_SO_CACHE, `elf/dl-dst.h` DL_DST_LIB). Because the audit reads them from the binary, it needs
//! no table of distributions for Nix, Guix, sysroots and biarch installs.

use super::{GlibcVersion, MuslVersion};
use crate::format::{ReadError, read_range};
use crate::tree::Handle;
use memchr::memmem;

/// Upper bound, in bytes, for a loader binary. Real loaders have a few hundred kilobytes.
const MOST: u64 = 16 << 20;

/// Length of `LIB`, the shortest relevant string, in bytes.
const SHORTEST: usize = 3;

/// The strings of a loader binary that influence how the loader searches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interpreter {
    /// The search directories, each with a trailing slash: the longest run of such strings in the
    /// binary.
    pub system_dirs: Vec<Vec<u8>>,
    /// The path of ld.so.cache. `None` if the binary contains no such path.
    pub cache: Option<Vec<u8>>,
    /// The path of ld.so.preload. `None` if the binary contains no such path.
    pub preload: Option<Vec<u8>>,
    /// The value of `$LIB`. `None` if the binary contains neither the value nor search directories.
    pub lib: Option<Vec<u8>>,
    /// The release of glibc, if the binary states it.
    pub release: Option<GlibcVersion>,
    /// True if the text with the release names Debian or Ubuntu, whose glibc has patches.
    pub debian: bool,
    /// The release of musl, if this is musl's loader; 0.0.0 if the binary does not state it.
    pub musl: Option<MuslVersion>,
}

/// Reads a loader binary into one buffer and searches its strings. At most 16 MiB are read.
pub fn read(file: &Handle) -> Result<Interpreter, ReadError> {
    Ok(scan(&read_range(file, 0, MOST)?))
}

/// Searches the strings of a loader binary, given as `bytes`.
pub fn scan(bytes: &[u8]) -> Interpreter {
    let mut out = Interpreter::default();
    let mut run: Vec<Vec<u8>> = Vec::new();
    let mut after_lib = false;
    let (mut is_musl, mut musl) = (false, None);
    let mark = memmem::Finder::new(MARK);
    for text in bytes.split(|b| *b == 0) {
        // Most of a binary is not text, and no relevant string is this short.
        if text.len() < SHORTEST {
            after_lib &= text.is_empty();
            if !run.is_empty() {
                take_longer(&mut out.system_dirs, &mut run);
            }
            continue;
        }
        if let Some(dir) = directory(text, run.is_empty()) {
            run.push(dir.to_vec());
        } else {
            take_longer(&mut out.system_dirs, &mut run);
        }
        if text.starts_with(b"/") && text.is_ascii() {
            if text.ends_with(b"/ld.so.cache") {
                out.cache.get_or_insert_with(|| text.to_vec());
            } else if text.ends_with(b".so.preload") {
                out.preload.get_or_insert_with(|| text.to_vec());
            }
        }
        // dl-load.c compares token names in the order ORIGIN, PLATFORM, LIB. In the binary, the
        // value of $LIB follows the string `LIB`.
        if after_lib && out.lib.is_none() && text.starts_with(b"lib") && text.is_ascii() {
            out.lib = Some(text.to_vec());
        }
        after_lib = text == b"LIB";
        is_musl |= text.starts_with(b"musl libc (");
        musl = musl.or_else(|| MuslVersion::parse(text));
        if out.release.is_none() {
            out.release = release_behind(&mark, text);
            out.debian = out.release.is_some()
                && [&b"Debian GLIBC"[..], b"Ubuntu GLIBC"].iter().any(|name| contains(text, name));
        }
    }
    if is_musl {
        out.musl = Some(musl.unwrap_or_default());
    }
    take_longer(&mut out.system_dirs, &mut run);
    if out.lib.is_none() {
        out.lib = out.system_dirs.first().map(|dir| lib_of(dir, bytes));
    }
    out
}

/// Keeps the longer of two runs of directories. A loader may contain its list of directories twice.
/// Other bytes may look like a path, and form a short run.
fn take_longer(best: &mut Vec<Vec<u8>>, run: &mut Vec<Vec<u8>>) {
    let run = std::mem::take(run);
    if run.len() > best.len() {
        *best = run;
    }
}

/// The search directory at the end of `text`; `None` if there is none. If `first` is true, the
/// directory may be the first of a run, and other bytes may precede it in `text`: code, or a
/// big-endian length.
fn directory(text: &[u8], first: bool) -> Option<&[u8]> {
    if !text.ends_with(b"/") {
        return None;
    }
    let is_path = |b: &u8| b.is_ascii_alphanumeric() || b"/._-+=@:,~%^".contains(b);
    let start = text.iter().rposition(|b| first && !is_path(b)).map_or(0, |at| at + 1);
    let dir = &text[start..];
    let is_dir = (5..4096).contains(&dir.len())
        && dir.starts_with(b"/")
        && dir.iter().all(is_path)
        && !dir.windows(2).any(|pair| pair == b"//");
    is_dir.then_some(dir)
}

/// The value of `$LIB` if the binary has no value after the string `LIB`. `dir` is the loader's
/// first search directory. The value is the longest string of the loader that starts with `lib` and
/// is the end of `dir`. If no string matches, the value is the last part of `dir`, as glibc's
/// Makefile derives it from slibdir.
fn lib_of(dir: &[u8], bytes: &[u8]) -> Vec<u8> {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    let is_end = |text: &&[u8]| {
        let before = dir.strip_suffix(*text);
        text.starts_with(b"lib") && before.is_some_and(|before| before.ends_with(b"/"))
    };
    let last = || dir.split(|b| *b == b'/').next_back().unwrap_or(b"lib");
    let found = bytes.split(|b| *b == 0).filter(is_end).max_by_key(|text| text.len());
    found.unwrap_or_else(last).to_vec()
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    memmem::find(text, what).is_some()
}

/// The release in `… release version 2.36.`, the banner of ld.so (since 2.33) and of libc.so.6.
/// `None` if `text` contains no release.
pub fn release(text: &[u8]) -> Option<GlibcVersion> {
    release_behind(&memmem::Finder::new(MARK), text)
}

/// The text before a release.
const MARK: &[u8] = b"release version ";

fn release_behind(mark: &memmem::Finder<'_>, text: &[u8]) -> Option<GlibcVersion> {
    let at = mark.find(text)? + MARK.len();
    GlibcVersion::parse(&text[at..])
}

#[cfg(test)]
mod tests {
    use super::{GlibcVersion, scan};

    #[test]
    fn strings_of_a_debian_loader() {
        let found = scan(
            b"\x7fELF\0junk\0/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0\
              \0ORIGIN\0PLATFORM\0\0LIB\0lib/x86_64-linux-gnu\0/etc/ld.so.cache\0/etc/ld.so.preload\0\
              ld.so (Debian GLIBC 2.36-9) stable release version 2.36.\n\0",
        );
        assert_eq!(found.system_dirs.len(), 4);
        assert_eq!(found.system_dirs[0], b"/lib/x86_64-linux-gnu/");
        assert_eq!(found.lib.as_deref(), Some(&b"lib/x86_64-linux-gnu"[..]));
        assert_eq!(found.cache.as_deref(), Some(&b"/etc/ld.so.cache"[..]));
        assert_eq!(found.preload.as_deref(), Some(&b"/etc/ld.so.preload"[..]));
        assert_eq!(found.release, Some(GlibcVersion::new(2, 36)));
        assert!(found.debian);
    }

    #[test]
    fn what_stands_in_front_of_the_directories() {
        let found = scan(b"\0\x09/lib/m68k-linux-gnu/\0/usr/lib/\0\0/-/\0//\0/a b/\0");
        assert_eq!(found.system_dirs, [b"/lib/m68k-linux-gnu/".to_vec(), b"/usr/lib/".to_vec()]);
    }

    #[test]
    fn a_store_loader_has_its_own_places() {
        let found =
            scan(b"/nix/store/abc-glibc-2.40/lib/\0\0/nix/store/abc-glibc-2.40/etc/ld.so.cache\0");
        assert_eq!(found.system_dirs, [b"/nix/store/abc-glibc-2.40/lib/".to_vec()]);
        assert_eq!(found.lib.as_deref(), Some(&b"lib"[..]));
        assert_eq!(found.release, None);
    }
}
