//! Finds file names of libraries, and identifiers, among the strings of a file. The file may pass
//! these strings to dlopen and dlsym.

use crate::format::{ReadError, read_range};
use crate::id::FastSet;
use crate::tree::Handle;
use memchr::{memchr, memchr_iter, memmem, memrchr};
use std::collections::BTreeSet;

/// Number of bytes at the start of a file that are searched. The loaded segments of a library come
/// before its debug data, and are rarely larger than this bound.
const MOST: u64 = 64 << 20;
/// Number of bytes that are read at a time.
const CHUNK: u64 = 1 << 20;
/// NAME_MAX (`linux/limits.h`), with the NULs before and after the name.
const LONGEST: u64 = 255 + 2;

/// Strings like `libfoo.so.1` in the first 64 MiB of a file. The result includes the names in the
/// file's dynamic section.
pub fn library_names(file: &Handle) -> Result<BTreeSet<Vec<u8>>, ReadError> {
    let mut out = BTreeSet::new();
    each_part(file, |bytes| out.extend(names(bytes).map(<[u8]>::to_vec)))?;
    Ok(out)
}

/// Strings that may be names of symbols, of up to 255 bytes, in the first 64 MiB of a file. The
/// result includes the names in the file's dynamic symbol table.
pub fn identifiers(file: &Handle) -> Result<FastSet<Box<[u8]>>, ReadError> {
    let mut out = FastSet::default();
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || b"_.$".contains(b);
    each_part(file, |bytes| {
        let mut before: Option<usize> = None;
        for end in memchr_iter(0, bytes) {
            let text = before.map_or(&[][..], |nul| &bytes[nul + 1..end]);
            let fits = !text.is_empty() && text.len() <= 255;
            if fits && text.iter().all(is_part) && !out.contains(text) {
                out.insert(text.into());
            }
            before = Some(end);
        }
    })?;
    Ok(out)
}

/// Calls `each` with overlapping parts of a file. Each string of up to 255 bytes is completely
/// inside at least one part.
fn each_part(file: &Handle, mut each: impl FnMut(&[u8])) -> Result<(), ReadError> {
    let end = file.stat().len.min(MOST);
    let mut at = 0;
    while at < end {
        let start = at.saturating_sub(LONGEST);
        each(&read_range(file, start, at - start + CHUNK + LONGEST)?);
        at += CHUNK;
    }
    Ok(())
}

/// The file names of libraries in a part of a file. A NUL must precede and follow each name.
fn names(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    memmem::find_iter(bytes, b".so").filter_map(|suffix| {
        let start = memrchr(0, &bytes[..suffix])? + 1;
        let end = suffix + memchr(0, &bytes[suffix..])?;
        let name = &bytes[start..end];
        is_name(name, &bytes[suffix + 3..end]).then_some(name)
    })
}

/// True for the file name of a library. `version` is the text of the name after `.so`.
fn is_name(name: &[u8], version: &[u8]) -> bool {
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"._+-".contains(b);
    let is_version = |b: &u8| b.is_ascii_digit() || *b == b'.';
    name.len() <= 255
        && name.starts_with(b"lib")
        && name.iter().all(is_plain)
        && version.first().is_none_or(|dot| *dot == b'.')
        && version.iter().all(is_version)
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, identifiers, library_names};
    use crate::tree::{Handle, MemTree, Opened, Tree as _};
    use std::path::Path;

    fn file(bytes: &[u8]) -> Handle {
        let mut tree = MemTree::new();
        tree.file("/f", bytes.to_vec());
        let Ok(Opened::File(file)) = tree.open(Path::new("/f")) else { panic!("no file") };
        file
    }

    #[test]
    fn only_whole_identifiers() {
        let text = b"half\0run\0not this\0\0_ZN1a1bEv\0run\0%s\0end";
        let found = identifiers(&file(text)).expect("readable");
        let mut found: Vec<&[u8]> = found.iter().map(|name| &**name).collect();
        found.sort_unstable();
        assert_eq!(found, [&b"_ZN1a1bEv"[..], b"run"]);
    }

    fn found(bytes: &[u8]) -> Vec<String> {
        let names = library_names(&file(bytes)).expect("readable");
        names.into_iter().map(|name| String::from_utf8(name).expect("ASCII")).collect()
    }

    #[test]
    fn only_whole_names_of_libraries() {
        let text = b"\0libz.so.1\0/usr/lib/libcurl.so\0libfoo.so.x\0libbar.sox\0liba.so: gone\0\
                     libssl.so\0mod.so\0libc++.so.1.0\0";
        assert_eq!(found(text), ["libc++.so.1.0", "libssl.so", "libz.so.1"]);
        assert_eq!(found(b"libz.so.1\0libz.so.2"), [""; 0], "a start or an end is missing");
    }

    #[test]
    fn a_name_at_every_place_around_the_end_of_a_chunk() {
        let end = usize::try_from(CHUNK).expect("small");
        for at in end - 16..end + 4 {
            let mut bytes = vec![0; end + 64];
            bytes[at..at + 9].copy_from_slice(b"libz.so.1");
            assert_eq!(found(&bytes), ["libz.so.1"], "{at}");
        }
    }
}
