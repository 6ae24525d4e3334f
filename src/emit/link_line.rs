//! `link-line`: the archives to link, in an order for linkers that read each archive once. Archives
//! that refer to each other in a cycle are in a group. The words are quoted as in `ldflags`.

use super::ldflags::quote;
use super::{Emission, Emitted};
use std::os::unix::ffi::OsStrExt as _;

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let mut out = Emitted::default();
    for circle in &emission.remedy.order {
        let mut word = |word: &[u8]| {
            if !out.bytes.is_empty() {
                out.bytes.push(b' ');
            }
            quote(word, &mut out.bytes);
        };
        let is_group = circle.len() > 1;
        if is_group {
            word(b"-Wl,--start-group");
        }
        for archive in circle {
            word(emission.remedy.link_path(archive).as_os_str().as_bytes());
        }
        if is_group {
            word(b"-Wl,--end-group");
        }
    }
    if !out.bytes.is_empty() {
        out.bytes.push(b'\n');
    }
    out
}
