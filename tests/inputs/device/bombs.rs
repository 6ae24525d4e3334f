//! Bombs under `gpu --deep`: small files that inflate to gigabytes, or state such sizes. The run
//! reports each, in bounded memory for any number of threads.

use super::device;
use crate::support::{Lab, linkaudit, peak};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::Value;
use std::io::Write as _;
use std::process::Stdio;

const GIB: u64 = 1 << 30;
/// The size of one block of zstd.
const BLOCK: u64 = 128 << 10;
/// Upper bound for the memory of a run: the buffers of all bundles that are inflated at once, and
/// the program.
const MOST_KB: u64 = 704 << 10;

/// The first bytes of a bundle with one entry, which has `size` bytes.
fn table(size: u64) -> Vec<u8> {
    let mut out = device::bundle_of(&[("gfx90a", &[])], 4096);
    let code = device::code_object("gfx90a");
    out.resize(4096, 0);
    // The size of the second entry, behind that of the host.
    let second = 32 + 24 + "host-x86_64-unknown-linux-gnu-".len();
    out[second + 8..second + 16].copy_from_slice(&(size - 4096).to_le_bytes());
    out.extend(code);
    out.resize(BLOCK as usize, 0);
    out
}

/// A zstd frame of a table and zeros: a raw block, then blocks of one repeated byte.
fn zstd(size: u64) -> Vec<u8> {
    // Eight bytes of content size, and a window of 1 MiB.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x50];
    out.extend(size.to_le_bytes());
    let block = |kind: u64, is_last: bool| {
        let word = BLOCK << 3 | kind << 1 | u64::from(is_last);
        word.to_le_bytes()[..3].to_vec()
    };
    out.extend(block(0, false));
    out.extend(table(size));
    let count = size / BLOCK - 1;
    for number in 0..count {
        out.extend(block(1, number + 1 == count));
        out.push(0);
    }
    out
}

/// The same as a zlib stream.
fn zlib(size: u64) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&table(size)).expect("memory");
    let zeros = vec![0; BLOCK as usize];
    for _ in 1..size / BLOCK {
        encoder.write_all(&zeros).expect("memory");
    }
    encoder.finish().expect("memory")
}

/// A compressed bundle of version 3 that states `size`.
fn bundle(method: u16, size: u64, payload: &[u8]) -> Vec<u8> {
    device::ccob_of(3, method, size, &[0; 8], payload)
}

/// The answer in JSON, all messages, and the peak memory in kilobytes.
fn deep(lab: &Lab, threads: &str) -> (Value, String, u64) {
    let mut command = linkaudit();
    command.current_dir(lab.root()).args(["gpu", "p", "--deep", "-j", threads]);
    command.args(["--format", "json", "-o", "human=human"]);
    let out = std::fs::File::create(lab.path("out")).expect("a file");
    let mut child = command.stdout(Stdio::from(out)).spawn().expect("linkaudit runs");
    let peak = peak::memory(child.id());
    child.wait().expect("it ends");
    let text = std::fs::read_to_string(lab.path("out")).expect("an answer");
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:.500}"));
    let human = std::fs::read_to_string(lab.path("human")).expect("a text");
    (json, human, peak)
}

/// The reason that the answer gives for each file, by the file's name.
fn told(answer: &Value) -> Vec<(String, String)> {
    let files = answer["files"].as_array().expect("files").iter();
    let text = |file: &Value| {
        let list = ["faults", "unchecked"].map(|key| file[key].as_array().expect(key).clone());
        let list: Vec<String> =
            list.iter().flatten().filter_map(|f| f["what"].as_str().map(str::to_owned)).collect();
        let path = file["path"].as_str().expect("a path");
        (path.rsplit('/').next().unwrap_or_default().to_owned(), list.join(", "))
    };
    files.map(text).collect()
}

/// Bundles of the size that they state: one too large for a bundle, others large enough to fill the
/// memory.
#[test]
fn bundles_that_inflate_to_gigabytes() {
    let lab = Lab::new();
    let all = zstd(4 * GIB);
    // The table of 128 KiB apart, 131 KB.
    assert_eq!(all.len() as u64, 14 + 3 + BLOCK + 4 * (4 * GIB / BLOCK - 1));
    lab.write("p/a-4-gib.hsaco", bundle(1, 4 * GIB, &all));
    let size = GIB / 4;
    lab.write("p/b-zstd.hsaco", bundle(1, size, &zstd(size)));
    lab.write("p/c-zlib.hsaco", bundle(0, size, &zlib(size)));
    lab.write("p/d-zstd.hsaco", bundle(1, size, &zstd(size)));
    // More zlib than its bytes can hold, and 1 TiB.
    lab.write("p/e-liar.hsaco", bundle(0, 4 * GIB, &zlib(64 << 20)[..131_000]));
    lab.write("p/f-liar.hsaco", bundle(1, GIB << 10, &all));
    let (answer, human, peak) = deep(&lab, "8");
    let sum = "has another sum than its header states";
    let liar = "states an inflated size that its compressed bytes cannot reach";
    let expected = [
        ("a-4-gib.hsaco", "is larger than 1 GiB when inflated"),
        ("b-zstd.hsaco", sum),
        ("c-zlib.hsaco", sum),
        ("d-zstd.hsaco", sum),
        ("e-liar.hsaco", liar),
        ("f-liar.hsaco", liar),
    ];
    let expected = expected.map(|(name, what)| (name.to_owned(), what.to_owned()));
    assert_eq!(told(&answer), expected);
    assert_eq!(answer["complete"], false);
    for entry in ["b-zstd.hsaco", "a-4-gib.hsaco"] {
        assert!(human.contains(entry), "{human}");
    }
    assert!(human.contains("1 compressed bundle not inflated"), "{human}");
    assert!(peak <= MOST_KB, "{peak} KB");
    println!("bombs: 4 GiB stated, 3 of 256 MiB inflated, 2 liars; {peak} KB");
}

/// Many small files that each state 1 GiB: four of them are inflated, as many as a run may.
#[test]
fn many_bundles_that_state_a_gigabyte() {
    let lab = Lab::new();
    // Compressed bytes that could hold 1 GiB, and hold 64 MiB.
    let mut short = zstd(64 << 20);
    short[6..14].copy_from_slice(&GIB.to_le_bytes());
    for number in 0..40 {
        lab.write(&format!("p/{number:02}.hsaco"), bundle(1, GIB, &short));
    }
    let (answer, human, peak) = deep(&lab, "1");
    let told_by_one = told(&answer);
    let is = |what: &str| told_by_one.iter().filter(|(_, told)| told == what).count();
    let counts = [
        is("is smaller when inflated than its header states"),
        is("is behind 4 GiB of other inflated bundles"),
    ];
    assert_eq!(counts, [4, 36], "{told_by_one:#?}");
    let first = told_by_one.iter().take(4).all(|(_, what)| what.starts_with("is smaller"));
    assert!(first, "the first four are inflated: {told_by_one:#?}");
    assert!(human.contains("1 compressed bundle not inflated"), "{human}");
    assert!(peak <= MOST_KB, "{peak} KB");
    // The number of threads does not decide which files are inflated.
    let (again, _, peak_of_eight) = deep(&lab, "8");
    assert_eq!(again, answer);
    assert!(peak_of_eight <= MOST_KB, "{peak_of_eight} KB");
    println!("bombs: 40 bundles of 1 GiB stated, 4 inflated; {peak} KB and {peak_of_eight} KB");
}
