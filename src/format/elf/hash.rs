//! The two hash functions of dynamic symbol names.

/// DT_GNU_HASH's function (`elf/dl-new-hash.h`): h = h * 33 + c from 5381.
pub fn gnu(name: &[u8]) -> u32 {
    name.iter().fold(5381, |h, c| h.wrapping_mul(33).wrapping_add(u32::from(*c)))
}

/// DT_HASH's function, also used for version names (gABI, "Hash Table Section").
pub fn sysv(name: &[u8]) -> u32 {
    object::elf::hash(name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_of_the_specifications() {
        assert_eq!(super::gnu(b""), 5381);
        assert_eq!(super::gnu(b"printf"), 0x156b_2bb8);
        assert_eq!(super::sysv(b"GLIBC_2.2.5"), 0x0969_1a75);
        assert_eq!(super::sysv(b"GLIBC_ABI_DT_RELR"), 0x00fd_0e42);
    }
}
