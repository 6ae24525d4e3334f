//! `mri`: a script for `ar -M` that makes the merged archive anew in the current directory, with
//! what it held and what it lacked. The language has no quotes (binutils `arlex.l`), so most
//! characters cannot be written in it.

use super::{Emission, Emitted};
use std::os::unix::ffi::OsStrExt as _;

/// True if `ar -M` of binutils and of LLVM read the name as it is. Two more characters would pass
/// them, `$` and `\`, but not the shell that such a script is often written by.
fn plain(name: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/._+-:~".contains(b);
    name.iter().all(plain) && !name.ends_with(b"+")
}

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let mut out = Emitted::default();
    let Some(merged) = &emission.remedy.merged else { return out };
    let reason = "cannot be written in a script for ar -M, which knows no quotes";
    let name = merged.file_name().unwrap_or_default().as_bytes();
    let archives = std::iter::once(merged).chain(&emission.remedy.add);
    let archives: Vec<&[u8]> = archives.map(|path| path.as_os_str().as_bytes()).collect();
    // Without its first line a script would fill the archive that is open.
    if !plain(name) || !plain(archives[0]) {
        out.refuse(archives[0], reason);
        return out;
    }
    let mut line = |words: &[&[u8]]| {
        out.bytes.extend(words.concat());
        out.bytes.push(b'\n');
    };
    // A name alone could be a word of the language.
    line(&[b"create ./", name]);
    for archive in archives.iter().filter(|archive| plain(archive)) {
        line(&[b"addlib ", archive]);
    }
    line(&[b"save"]);
    line(&[b"end"]);
    for archive in archives.iter().filter(|archive| !plain(archive)) {
        out.refuse(archive, reason);
    }
    out
}
