//! `ldflags`: linker options that add the missing archives, quoted for a shell or a response file.
//! In shells and response files, a backslash quotes the next character, and single quotes quote a
//! newline (POSIX shell, section 2.2; libiberty's `buildargv`; LLVM's `TokenizeGNUCommandLine`).

use super::{Emission, Emitted};
use std::os::unix::ffi::OsStrExt as _;

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let mut out = Emitted::default();
    let remedy = emission.remedy;
    if remedy.added().next().is_none() {
        return out;
    }
    // Archives may refer to each other in a cycle. A linker that reads each archive once resolves a
    // cycle only in a group.
    out.bytes.extend(b"-Wl,--start-group");
    for archive in remedy.merged.iter().chain(remedy.added()) {
        out.bytes.push(b' ');
        quote(remedy.link_path(archive).as_os_str().as_bytes(), &mut out.bytes);
    }
    out.bytes.extend(b" -Wl,--end-group\n");
    out
}

/// Writes a word, quoted for shells and response files.
pub(super) fn quote(word: &[u8], out: &mut Vec<u8>) {
    for b in word {
        match b {
            b'\n' => out.extend(b"'\n'"),
            b if b.is_ascii_alphanumeric() || b"-_./+=:,@%".contains(b) || !b.is_ascii() => {
                out.push(*b);
            }
            b => out.extend([b'\\', *b]),
        }
    }
}
