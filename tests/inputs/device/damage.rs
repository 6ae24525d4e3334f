//! Damaged device code: truncated at every byte of headers and tables, wrong sizes, bombs, and
//! random mutants. Each has a reported defect or reads as the intact file, in bounded time and
//! memory.

use super::{DEEP, LISTING, device, read, samples};
use crate::support::random::{self, Random};
use std::time::{Duration, Instant};

#[test]
fn cut_files_are_named() {
    let (mut cuts, mut named) = (0, 0);
    for (name, bytes) in samples() {
        let step = (bytes.len() / 400).max(1);
        let places = (4..bytes.len().min(600)).chain((600..bytes.len()).step_by(step));
        for len in places {
            let found = read(&bytes[..len], DEEP);
            let codes =
                found.containers.iter().flat_map(|c| &c.entries).filter_map(|e| e.code.as_ref());
            let is_told = !found.faults.is_empty() || codes.into_iter().any(|c| c.defect.is_some());
            cuts += 1;
            named += usize::from(is_told);
            // A file whose magic number is cut is of no kind; a note may be followed by padding
            // only.
            let is_whole = len + 4 > bytes.len();
            let has_no_magic = found.containers.is_empty();
            assert!(is_told || is_whole || has_no_magic, "{name} cut at {len}: {found:?}");
        }
    }
    println!(
        "device code: {cuts} cut files, {named} with a fault, the others without a magic number"
    );
}

#[test]
fn sizes_that_lie_are_named() {
    let plain = device::bundle(&["gfx90a"], 4096);
    let good = device::ccob(&plain, 2, "zstd");
    let fault = |bytes: &[u8]| -> Vec<&'static str> {
        read(bytes, DEEP).faults.iter().map(|fault| fault.what).collect()
    };
    let with = |at: usize, word: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        bytes
    };
    assert_eq!(fault(&with(8, u32::MAX)), ["is larger by its header than the space it has"]);
    assert_eq!(fault(&with(8, 3)), ["has a total size that is smaller than its header"]);
    assert_eq!(
        fault(&with(12, plain.len() as u32 + 1)),
        ["is smaller when inflated than its header states"]
    );
    assert_eq!(fault(&with(16, 0)), ["has another sum than its header states"]);
    let short = fault(&with(12, plain.len() as u32 - 100));
    assert!(short.contains(&"is damaged, or larger when inflated than stated"), "{short:?}");
    let mut many = plain.clone();
    many[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(fault(&many), ["ends inside its table of entries"]);
    let mut far = plain;
    far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
    far[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(fault(&far), ["ends beyond the end of the bundle"]);
}

/// Small files that inflate to gigabytes, or state such sizes.
#[test]
fn bombs_end_early() {
    let zeros = vec![0; 64 << 20];
    let start = Instant::now();
    for method in ["zlib", "zstd"] {
        let bomb = device::ccob(&zeros, 3, method);
        assert!(bomb.len() < 1 << 20, "{} bytes", bomb.len());
        for depth in [LISTING, DEEP] {
            assert!(!read(&bomb, depth).faults.is_empty());
        }
        // It states 4 GiB, and 1 TiB.
        for size in [4_u64 << 30, 1 << 40] {
            let mut liar = bomb.clone();
            liar[16..24].copy_from_slice(&size.to_le_bytes());
            assert!(!read(&liar, DEEP).faults.is_empty());
        }
    }
    // A window of 1 GiB in the header of a zstd frame.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0xa0];
    frame.extend([1, 0, 0]);
    let bytes = device::ccob_of(2, 1, 1 << 30, &[0; 8], &frame);
    assert!(!read(&bytes, DEEP).faults.is_empty());
    let took = start.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[test]
fn mutants_never_panic() {
    let samples = samples();
    let wanted = random::number("LINKAUDIT_MUTANTS", 500) * 10;
    let random = &mut Random::new(random::number("LINKAUDIT_SEED", 1));
    let (mut changed, start) = (0, Instant::now());
    for number in 0..wanted {
        let (_, bytes) = &samples[number as usize % samples.len()];
        let mut mutant = bytes.clone();
        for _ in 0..=random.below(4) {
            // Headers and tables are at the begin.
            let within = if random.chance(70) { mutant.len().min(300) } else { mutant.len() };
            let at = random.below(within.max(1));
            match random.below(5) {
                0 => mutant.truncate(at),
                1 => drop(mutant.splice(at..at, [0xff; 8])),
                2 if at + 8 <= mutant.len() => mutant[at..at + 8].fill(0xff),
                _ if at < mutant.len() => mutant[at] = *random.pick(&[0, 1, 2, 0x7f, 0x80, 0xff]),
                _ => {}
            }
        }
        let depth = if number % 2 == 0 { LISTING } else { DEEP };
        let found = read(&mutant, depth);
        changed += usize::from(found != read(bytes, depth));
        let entries: usize = found.containers.iter().map(|c| c.entries.len()).sum();
        assert!(entries <= mutant.len(), "{entries} entries");
    }
    println!(
        "device code: {wanted} mutants, {changed} of them read as something else or with a fault, \
         none panicked, {:?}",
        start.elapsed()
    );
}
