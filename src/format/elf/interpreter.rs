//! What a glibc loader binary says of itself: where it searches, where its cache lies, what `$LIB`
//! stands for and which release it is.
//!
//! All of it is compiled in as strings (`elf/dl-load.c` SYSTEM_DIRS, `elf/dl-cache.h` LD_SO_CACHE,
//! `elf/dl-dst.h` DL_DST_LIB), so Nix, Guix, sysroots and biarch installs need no table of
//! distributions. `facts::collect` reads an interpreter; `resolve::loader` uses the answer.

use crate::format::{ReadError, read_range};
use crate::tree::Handle;

/// A loader binary is a few hundred kilobytes; nobody's is larger than this.
const MOST: u64 = 16 << 20;

/// What was found in a loader binary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interpreter {
    /// The first run of search directories, each with its slash at the end.
    pub system_dirs: Vec<Vec<u8>>,
    /// The path of ld.so.cache.
    pub cache: Option<Vec<u8>>,
    /// The path of ld.so.preload.
    pub preload: Option<Vec<u8>>,
    /// What `$LIB` stands for.
    pub lib: Option<Vec<u8>>,
    /// glibc's release, as (2, 36).
    pub release: Option<(u16, u16)>,
    /// It carries the patches of Debian and its descendants.
    pub debian: bool,
    /// musl's release, as (1, 2, 3), if it is musl's loader.
    pub musl: Option<(u16, u16, u16)>,
}

/// Reads a loader binary as one buffer and looks for its strings.
pub fn read(file: &Handle) -> Result<Interpreter, ReadError> {
    Ok(scan(&read_range(file, 0, MOST)?))
}

/// Finds the strings of a glibc loader in its bytes.
pub fn scan(bytes: &[u8]) -> Interpreter {
    let mut out = Interpreter::default();
    let mut run: Vec<Vec<u8>> = Vec::new();
    let mut after_lib = false;
    let (mut is_musl, mut musl) = (false, None);
    for text in bytes.split(|b| *b == 0) {
        let is_dir = text.len() > 1
            && text.len() < 4096
            && text.starts_with(b"/")
            && text.ends_with(b"/")
            && text.iter().all(u8::is_ascii_graphic);
        if is_dir {
            run.push(text.to_vec());
        } else if out.system_dirs.is_empty() && !run.is_empty() {
            out.system_dirs = std::mem::take(&mut run);
        }
        if text.starts_with(b"/") && text.is_ascii() {
            if text.ends_with(b"/ld.so.cache") {
                out.cache.get_or_insert_with(|| text.to_vec());
            } else if text.ends_with(b".so.preload") {
                out.preload.get_or_insert_with(|| text.to_vec());
            }
        }
        // dl-load.c compares token names in the order ORIGIN, PLATFORM, LIB; the value of $LIB
        // is the next string of the same pool.
        if after_lib && out.lib.is_none() && text.starts_with(b"lib") && text.is_ascii() {
            out.lib = Some(text.to_vec());
        }
        after_lib = text == b"LIB" || (after_lib && text.is_empty());
        is_musl |= text.starts_with(b"musl libc (");
        musl = musl.or_else(|| three_numbers(text));
        if out.release.is_none() {
            out.release = release(text);
            out.debian = out.release.is_some()
                && [&b"Debian GLIBC"[..], b"Ubuntu GLIBC"].iter().any(|name| contains(text, name));
        }
    }
    if is_musl {
        out.musl = Some(musl.unwrap_or_default());
    }
    if out.system_dirs.is_empty() {
        out.system_dirs = run;
    }
    if out.lib.is_none() {
        out.lib = out.system_dirs.first().map(|dir| lib_of(dir));
    }
    out
}

/// A text that is a release such as `1.2.3` and nothing else.
fn three_numbers(text: &[u8]) -> Option<(u16, u16, u16)> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() < 16)?;
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    let release = (numbers.next()??, numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(release)
}

/// `$LIB` as glibc's own Makefile makes it of slibdir: its last component.
fn lib_of(dir: &[u8]) -> Vec<u8> {
    dir.trim_ascii().split(|b| *b == b'/').rfind(|part| !part.is_empty()).unwrap_or(b"lib").to_vec()
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|window| window == what)
}

/// The release in `… release version 2.36.` (the banner of ld.so since 2.33 and of libc.so.6).
pub fn release(text: &[u8]) -> Option<(u16, u16)> {
    const MARK: &[u8] = b"release version ";
    let at = text.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    numbers(&text[at..])
}

/// The first two numbers of `2.36.9000`.
pub fn numbers(text: &[u8]) -> Option<(u16, u16)> {
    let mut numbers = text.split(|b| !b.is_ascii_digit());
    let mut number = || std::str::from_utf8(numbers.next()?).ok()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::scan;

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
        assert_eq!(found.release, Some((2, 36)));
        assert!(found.debian);
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
