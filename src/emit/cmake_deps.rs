//! `cmake-deps`: the CMake list of archives, with the missing archives inserted.

use super::{Emission, Emitted};
use std::os::unix::ffi::OsStrExt as _;

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let mut out = Emitted::default();
    let Some(change) = &emission.remedy.list else { return out };
    out.bytes = change.list.regenerated(&change.changes);
    for (archive, reason) in &change.unlisted {
        out.refuse(archive.as_os_str().as_bytes(), reason);
    }
    out
}
