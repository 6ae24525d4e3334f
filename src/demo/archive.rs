//! Writes a GNU archive with an index and a table of long names: names that do not fit a member's
//! header (`ar(5)` of System V).

/// Makes an archive from members. Each tuple has the file name of a member, its bytes and the names
/// that it defines.
pub(super) fn write(members: &[(&str, Vec<u8>, &[&str])]) -> Vec<u8> {
    let mut long = Vec::new();
    let named: Vec<String> = members
        .iter()
        .map(|(name, ..)| {
            if name.len() < 16 {
                return format!("{name}/");
            }
            let at = long.len();
            long.extend_from_slice(name.as_bytes());
            long.extend_from_slice(b"/\n");
            format!("/{at}")
        })
        .collect();
    // Some readers of archives require an even size of this table.
    if long.len() % 2 == 1 {
        long.push(b'\n');
    }
    let symbols: usize = members.iter().map(|(.., defines)| defines.len()).sum();
    let texts: usize = members.iter().flat_map(|(.., defines)| *defines).map(|n| n.len() + 1).sum();
    let padded = |len: usize| 60 + len.next_multiple_of(2);
    let mut at = 8 + padded(4 + 4 * symbols + texts);
    if !long.is_empty() {
        at += padded(long.len());
    }
    let mut index = u32::try_from(symbols).unwrap_or(0).to_be_bytes().to_vec();
    for (_, bytes, defines) in members {
        for _ in *defines {
            index.extend(u32::try_from(at).unwrap_or(0).to_be_bytes());
        }
        at += padded(bytes.len());
    }
    for name in members.iter().flat_map(|(.., defines)| *defines) {
        index.extend_from_slice(name.as_bytes());
        index.push(0);
    }
    if index.len() % 2 == 1 {
        index.push(0);
    }
    let mut out = b"!<arch>\n".to_vec();
    member(&mut out, "/", &index);
    if !long.is_empty() {
        member(&mut out, "//", &long);
    }
    for ((_, bytes, _), name) in members.iter().zip(&named) {
        member(&mut out, name, bytes);
    }
    out
}

fn member(out: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, bytes.len());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(bytes);
    if bytes.len() % 2 == 1 {
        out.push(b'\n');
    }
}
