//! `pkg-config`: the line `Libs.private` of a library's `.pc` file, in link order. pkg-config and
//! pkgconf keep the order of the words and of linker options. The line has the merged archive
//! only if an added archive refers to it. An archive beside a shared library of its name is
//! written as `-l:FILE`, because linkers prefer the shared library. A shared library is written
//! by the name of its development link.

use super::{Emission, Emitted};
use crate::fix::fix_plan::{LinkBy, shared_name};
use crate::format::deps_list::bare_name;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

const REASON: &str = "cannot be written in a .pc file";

/// A word with escaped blanks. `None` if pkg-config and pkgconf read one of its characters
/// differently, or as the start of a comment or variable.
fn word(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    for b in text {
        match b {
            b' ' => out.extend(b"\\ "),
            b if b.is_ascii_alphanumeric() || b"-_./+=:,@%~".contains(b) => out.push(*b),
            _ => return None,
        }
    }
    Some(out)
}

/// The option that links a file: `-lNAME` for `libNAME.a` and `libNAME.so`, else `-l:FILE`. `None`
/// if linkers must get the path.
fn option(file: &[u8], form: Option<LinkBy>) -> Option<Vec<u8>> {
    let name = bare_name(file).or_else(|| shared_name(file));
    match (form, name) {
        (None, Some(name)) => Some([b"-l", name].concat()),
        (Some(LinkBy::Path), _) => None,
        _ => Some([b"-l:", file].concat()),
    }
}

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let mut out = Emitted::default();
    let remedy = emission.remedy;
    let mut words: Vec<Vec<u8>> = Vec::new();
    for circle in &remedy.order {
        let is_group = circle.len() > 1;
        if !is_group && circle.first() == remedy.merged.as_ref() {
            continue;
        }
        if is_group {
            words.push(b"-Wl,--start-group".to_vec());
        }
        for archive in circle {
            let link = remedy.link_path(archive);
            let dir = link.parent().unwrap_or(Path::new("/"));
            let file = link.file_name().unwrap_or_default().as_bytes();
            let Some(option) = option(file, remedy.link_by.get(archive).copied()) else {
                match word(link.as_os_str().as_bytes()) {
                    Some(path) => words.push(path),
                    None => out.refuse(archive.as_os_str().as_bytes(), REASON),
                }
                continue;
            };
            let dir = word(&[b"-L", dir.as_os_str().as_bytes()].concat());
            let (Some(dir), Some(option)) = (dir, word(&option)) else {
                out.refuse(archive.as_os_str().as_bytes(), REASON);
                continue;
            };
            if !words.contains(&dir) {
                words.push(dir);
            }
            words.push(option);
        }
        if is_group {
            words.push(b"-Wl,--end-group".to_vec());
        }
    }
    if !words.is_empty() {
        out.bytes = [b"Libs.private: ".as_slice(), &words.join(&b' '), b"\n"].concat();
    }
    out
}
