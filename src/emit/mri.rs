//! `mri`: a script for `ar -M` that makes a new archive in the current directory, from the merged
//! archive and the missing archives. The new archive has a different name, because a script that
//! reads its own output would add the same members again in each run. The script language has no
//! quotes (binutils `arlex.l`), so the script cannot contain most special characters.

use super::{Emission, Emitted};
use std::os::unix::ffi::OsStrExt as _;

/// True if `ar -M` of binutils and of LLVM read the name as it is. Both also accept `$` and `\`,
/// but a shell would change these in a here-document.
fn plain(name: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/._+-:~".contains(b);
    name.iter().all(plain) && !name.ends_with(b"+")
}

/// The name of the new archive: `libfat.fixed.a` for `libfat.a`.
fn new_name(old: &[u8]) -> Vec<u8> {
    let stem = old.strip_suffix(b".a").unwrap_or(old);
    [stem, b".fixed.a"].concat()
}

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let mut out = Emitted::default();
    let Some(merged) = &emission.remedy.merged else { return out };
    let reason = "cannot be written in a script for ar -M, which knows no quotes";
    let old = merged.file_name().unwrap_or_default().as_bytes();
    let name = new_name(old);
    let archives = std::iter::once(merged).chain(emission.remedy.added());
    let archives: Vec<&[u8]> = archives.map(|path| path.as_os_str().as_bytes()).collect();
    // The script is useless without the name of the new archive or the merged archive.
    if !plain(&name) || !plain(archives[0]) {
        out.refuse(archives[0], reason);
        return out;
    }
    let mut line = |words: &[&[u8]]| {
        out.bytes.extend(words.concat());
        out.bytes.push(b'\n');
    };
    line(&[b"* makes ", &name, b" out of ", old, b", which stays as it is"]);
    // `./` keeps the name from being read as a keyword of the language.
    line(&[b"create ./", &name]);
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
