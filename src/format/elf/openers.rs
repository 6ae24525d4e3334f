//! Functions of glibc, GLib's libgmodule and libltdl that open plugins.

const NAMES: [&[u8]; 7] = [
    b"dlopen",
    b"dlmopen",
    b"g_module_open",
    b"g_module_open_full",
    b"lt_dlopen",
    b"lt_dlopenext",
    b"lt_dlopenadvise",
];

/// GNU hashes of [`NAMES`], in their order.
const HASHES: [u32; NAMES.len()] =
    [0xf904_0207, 0x195f_b394, 0xf668_e102, 0x1bb8_d8d4, 0xa672_35e6, 0x86c1_f1b7, 0x14f1_0462];

/// True for a function that opens plugins. `hash` is the GNU hash of `name`.
pub(super) fn is_opener(name: &[u8], hash: u32) -> bool {
    HASHES.contains(&hash) && NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::{HASHES, NAMES};
    use crate::format::elf::hash;

    #[test]
    fn hashes_are_those_of_the_names() {
        assert_eq!(NAMES.map(hash::gnu), HASHES);
    }
}
