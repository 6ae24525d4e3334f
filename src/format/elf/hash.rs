//! The two hash functions of dynamic symbol names.

/// Bytes that [`gnu`] processes in one step.
const STEP: usize = 8;

/// Powers of 33: first the factor for the previous hash, then the factor for each byte of a step.
const POWERS: [u32; STEP + 1] = {
    let mut powers = [1_u32; STEP + 1];
    let mut at = STEP;
    while at > 0 {
        powers[at - 1] = powers[at].wrapping_mul(33);
        at -= 1;
    }
    powers
};

/// The function of DT_GNU_HASH (`elf/dl-new-hash.h`): h = h * 33 + c, starting at 5381. This code
/// processes eight bytes in each step. With one byte in each step, each product would have to wait
/// for the previous product.
pub fn gnu(name: &[u8]) -> u32 {
    let (steps, rest) = name.as_chunks::<STEP>();
    let h = steps.iter().fold(5381_u32, |h, step| {
        let sum =
            step.iter().zip(&POWERS[1..]).map(|(c, power)| u32::from(*c).wrapping_mul(*power));
        sum.fold(h.wrapping_mul(POWERS[0]), u32::wrapping_add)
    });
    rest.iter().fold(h, |h, c| h.wrapping_mul(33).wrapping_add(u32::from(*c)))
}

/// The function of DT_HASH, also used for version names (gABI, "Hash Table Section").
pub fn sysv(name: &[u8]) -> u32 {
    object::elf::hash(name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_of_the_specifications() {
        assert_eq!(super::gnu(b""), 5381);
        assert_eq!(super::gnu(b"printf"), 0x156b_2bb8);
        let name: Vec<u8> = (0..200_u8).map(|i| i.wrapping_mul(7)).collect();
        for len in 0..name.len() {
            let slow = |h: u32, c: &u8| h.wrapping_mul(33).wrapping_add(u32::from(*c));
            assert_eq!(super::gnu(&name[..len]), name[..len].iter().fold(5381, slow));
        }
        assert_eq!(super::sysv(b"GLIBC_2.2.5"), 0x0969_1a75);
        assert_eq!(super::sysv(b"GLIBC_ABI_DT_RELR"), 0x00fd_0e42);
    }
}
