//! Damaged archives: an archive of any bytes is read without a panic, and the ranges of its members
//! lie inside of it.

use super::kit::{ar, object};
use super::random::{Random, number};
use crate::support::Lab;
use linkaudit::format::archive::{External, MemberKind, Options, Scratch, members, read};
use linkaudit::symbol_names::Growing;
use linkaudit::tree::{MemTree, Opened, Tree as _};
use std::path::Path;

const MUTANTS: u64 = 2000;

fn bases(lab: &Lab) -> Vec<Vec<u8>> {
    object(lab, "use.o", ".globl use\nuse: .quad def\n.comm tentative,8,8\n");
    object(lab, "a_member_with_a_long_name.o", ".weak def\ndef: .quad 0\n.hidden def\n");
    let parts = ["use.o", "a_member_with_a_long_name.o", "use.o"];
    let bases = [("rc", "index.a"), ("qcS", "none.a"), ("rcT", "thin.a")];
    bases
        .iter()
        .map(|(letters, name)| {
            ar(lab, letters, name, &parts);
            std::fs::read(lab.path(name)).expect("an archive")
        })
        .collect()
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.between(1, 4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = *random.pick(&[0, 0xff, b' ', b'/', b'0', b'9', b'\n']),
            // Words of tables and digits of headers.
            2 => {
                let value = *random.pick(&[0_u64, 1, u64::MAX, 1 << 31, u64::from(u32::MAX)]);
                for (offset, byte) in value.to_le_bytes().into_iter().enumerate() {
                    if let Some(place) = bytes.get_mut(at + offset) {
                        *place = byte;
                    }
                }
            }
            3 => {
                let digits = *random.pick(&[&b"9999999999"[..], b"0         ", b"-1        "]);
                for (offset, byte) in digits.iter().enumerate() {
                    if let Some(place) = bytes.get_mut(at + offset) {
                        *place = *byte;
                    }
                }
            }
            4 => {
                let end = bytes.len().min(at + random.between(1, 80));
                bytes.drain(at..end);
            }
            _ => bytes.truncate(at.max(8)),
        }
        if bytes.len() < 16 {
            return;
        }
    }
}

#[test]
fn mutants_are_read_to_an_end() {
    let lab = Lab::new();
    let bases = bases(&lab);
    let count = number("LINKAUDIT_MUTANTS", MUTANTS).max(MUTANTS);
    let (mut damaged, mut listed) = (0, 0);
    for seed in 0..count {
        let mut random = Random::new(seed);
        let mut bytes = random.pick(&bases).clone();
        mutate(&mut bytes, &mut random);
        let len = bytes.len() as u64;
        let mut tree = MemTree::new();
        tree.file("/x.a", bytes.clone());
        let Ok(Opened::File(file)) = tree.open(Path::new("/x.a")) else { panic!("no file") };
        let _ = read(&bytes);
        let names = Growing::default();
        let options = Options { index: true, open: &|_| External::Missing, names: &names };
        let found = members(&file, &options, &mut Scratch::default()).expect("it can be read");
        let names = names.close();
        for member in &found.list {
            // The index lists members behind the end of a cut archive.
            let is_behind = member.kind == MemberKind::Damaged && !found.damage.is_empty();
            assert!(member.offset < len || is_behind, "seed {seed}");
            listed +=
                found.symbols(member).iter().filter(|s| !names.text(s.name).is_empty()).count();
        }
        damaged += usize::from(!found.damage.is_empty());
    }
    println!("mutants of archives: {count} cases, {damaged} damaged, {listed} symbols, 0 panics");
    assert!(damaged > 100 && listed > 100);
}
