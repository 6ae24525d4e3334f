//! Writes a relocatable object for x86-64 (System V ABI, AMD64 supplement). Its first function
//! calls all names that the object refers to. Its other functions only return.

use super::bytes::{Bytes, StringTable};

/// The relocation type R_X86_64_PLT32.
const PLT32: u64 = 4;
/// Sections in the order of their headers, with type, flags and entry size.
const SECTIONS: [(&str, u32, u64, u64); 7] = [
    ("", 0, 0, 0),
    (".text", 1, 6, 0),
    (".rela.text", 4, 0x40, 24),
    (".symtab", 2, 0, 24),
    (".strtab", 3, 0, 0),
    (".note.GNU-stack", 1, 0, 0),
    (".shstrtab", 3, 0, 0),
];

/// Makes an object with a function for each name in `defines`. The first function calls every name
/// in `refers`.
pub(super) fn write(defines: &[&str], refers: &[&str]) -> Vec<u8> {
    let mut names = StringTable::new();
    let (mut text, mut relocations, mut symbols) =
        (Bytes::default(), Bytes::default(), Bytes(vec![0; 24]));
    for (at, name) in defines.iter().enumerate() {
        let start = text.len();
        text.put(b"\x48\x83\xec\x08");
        for (index, _) in refers.iter().enumerate().filter(|_| at == 0) {
            let symbol = (1 + defines.len() + index) as u64;
            relocations.longs(&[text.len() + 1, symbol << 32 | PLT32, (-4i64).cast_unsigned()]);
            text.put(b"\xe8\0\0\0\0");
        }
        text.put(b"\x48\x83\xc4\x08\xc3");
        symbols.symbol(names.add(name), 1, start, text.len() - start);
    }
    for name in refers {
        symbols.symbol(names.add(name), 0, 0, 0);
    }
    let mut titles = StringTable::new();
    let titled: Vec<u32> = SECTIONS.iter().map(|(name, ..)| titles.add(name)).collect();
    let contents = [vec![], text.0, relocations.0, symbols.0, names.0, vec![], titles.0];

    let mut out = Bytes(vec![0; 64]);
    let places: Vec<(u64, u64)> = contents
        .iter()
        .map(|content| {
            out.align(8);
            let at = out.len();
            out.put(content);
            (at, content.len() as u64)
        })
        .collect();
    out.align(8);
    let headers = out.len();
    for (at, (_, kind, flags, entry)) in SECTIONS.iter().enumerate() {
        let (offset, size) = places[at];
        // `sh_link` and `sh_info`. For `.rela.text`: the indices of `.symtab` and `.text`. For
        // `.symtab`: the index of `.strtab`, and the number of local symbols.
        let (link, info) = match at {
            2 => (3, 1),
            3 => (4, 1),
            _ => (0, 0),
        };
        out.words(&[titled[at], *kind]);
        out.longs(&[*flags, 0, if at == 0 { 0 } else { offset }, size]);
        out.words(&[link, info]);
        out.longs(&[if at == 0 { 0 } else { 8 }, *entry]);
    }
    let mut head = Bytes(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec());
    head.halfs(&[1, 62]);
    head.words(&[1]);
    head.longs(&[0, 0, headers]);
    head.words(&[0]);
    head.halfs(&[64, 0, 0, 64, 7, 6]);
    out.0[..64].copy_from_slice(&head.0);
    out.0
}
