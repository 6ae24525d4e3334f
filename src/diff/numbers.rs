//! Paths without version numbers, so that files of two releases can be compared.

/// True if a letter follows the number with the digit at `at`. Such numbers are not versions:
/// `sha1sum` and `sha256sum` are different programs.
fn is_of_word(path: &[u8], at: usize) -> bool {
    let rest = path[at..].iter().find(|byte| !byte.is_ascii_digit());
    rest.is_some_and(u8::is_ascii_alphabetic)
}

/// A path with `0` in place of each version number: `lib/python0` for `lib/python3.11`. A number
/// stays if a letter follows it.
pub(super) fn without_numbers(path: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(path.len());
    for (at, byte) in path.iter().enumerate() {
        let in_number = out.last() == Some(&b'0');
        let next_is_digit = path.get(at + 1).is_some_and(u8::is_ascii_digit);
        match byte {
            b'0'..=b'9' if is_of_word(path, at) => out.push(*byte),
            b'0'..=b'9' if in_number => {}
            b'0'..=b'9' => out.push(b'0'),
            b'.' if in_number && next_is_digit => {}
            _ => out.push(*byte),
        }
    }
    out
}
