//! Section headers do not matter: their content does not change the report. If the file ends before
//! them, the only new finding is `truncated-file`.

use super::random::{Random, step};
use crate::support::Lab;

#[test]
fn section_headers_do_not_matter() {
    let lab = Lab::new();
    let source =
        "int puts(const char *); int none(void); int f(void) { return puts(\"\") + none(); }";
    let path = lab.so("lib.so", source, &[]);
    let good = std::fs::read(&path).expect("it was built");
    let word = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().expect("eight bytes"));
    let start = word(40) as usize;
    let count = usize::from(u16::from_le_bytes([good[60], good[61]]));
    let answer = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("a library");
        let output =
            lab.linkaudit(&["--format", "json", "--facts", "-A", "truncated-file", "lib.so"]);
        assert!(output.status.code() == Some(1), "{}", String::from_utf8_lossy(&output.stdout));
        output.stdout
    };
    let expected = answer(&good);
    let mut cases = 0;
    let mut same = |bytes: &[u8], what: &str| {
        cases += 1;
        assert!(answer(bytes) == expected, "{what}");
    };
    for value in [0, 1, u64::MAX, good.len() as u64] {
        let mut bytes = good.clone();
        bytes[40..48].copy_from_slice(&value.to_le_bytes());
        same(&bytes, "e_shoff");
    }
    for value in [0u16, 1, u16::MAX] {
        for at in [58, 60, 62] {
            let mut bytes = good.clone();
            bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
            same(&bytes, "e_shentsize, e_shnum, e_shstrndx");
        }
    }
    for fill in [0, 0xff] {
        let mut bytes = good.clone();
        bytes[start..start + 64 * count].fill(fill);
        same(&bytes, "all section headers");
    }
    for seed in (0..100).step_by(step(5)) {
        let random = &mut Random::new(seed);
        let mut bytes = good.clone();
        for byte in &mut bytes[start..start + 64 * count] {
            *byte = random.below(256) as u8;
        }
        same(&bytes, "random section headers");
    }
    println!("sections: {cases} cases, 0 differences");
}
