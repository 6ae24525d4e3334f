//! Runs the functions of the fuzz targets (`fuzz/src/lib.rs`) on seeds and damaged seeds, without a
//! fuzzer and on stable Rust. A panic fails the test.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    unreachable_pub,
    dead_code,
    reason = "a test reads, writes and runs what it likes"
)]

mod support;

use crate::support::random;
#[path = "../fuzz/src/lib.rs"]
mod targets;
use crate::support::{device, tiny};

use random::Random;
use tiny::Tiny;

const MUTANTS: u64 = 400;

type Target = fn(&[u8]);

/// Runs a target on a seed, and on copies of it with bytes changed, removed or inserted.
fn run(what: &str, target: Target, seed: &[u8]) {
    target(seed);
    for number in 0..MUTANTS {
        let random = &mut Random::new(number);
        let mut bytes = seed.to_vec();
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len().max(1)).min(bytes.len());
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => drop(bytes.splice(at..at, [0xff; 8])),
                _ if at < bytes.len() => bytes[at] = *random.pick(&[0, 1, 2, 0x7f, 0x80, 0xff]),
                _ => {}
            }
        }
        target(&bytes);
    }
    println!("{what}: 1 seed, {MUTANTS} damaged ones, 0 panics");
}

fn library() -> Vec<u8> {
    Tiny::library("lib.so", ["libb.so"]).runpath("$ORIGIN").defines("f").refers("g").bytes()
}

#[test]
fn elf() {
    run("elf", targets::elf, &library());
}

#[test]
fn archive() {
    let lab = support::Lab::new();
    lab.cc("f.o", "int f(void) { return 1; }", &["-c"], &[]);
    let mut ar = support::clean("ar");
    let status = ar.current_dir(lab.root()).args(["rc", "a.a", "f.o"]).status();
    assert!(status.expect("ar runs").success());
    run("archive", targets::archive, &std::fs::read(lab.path("a.a")).expect("an archive"));
}

#[test]
fn ld_so_cache() {
    let bytes = std::fs::read("/etc/ld.so.cache").expect("this system has a cache");
    run("ld.so.cache", targets::ld_so_cache, &bytes);
}

#[test]
fn policies() {
    let seeds: [&[u8]; 3] = [
        include_bytes!("policies/policy/valid/everything.toml"),
        b"schema = 1\nextends = [\"b.toml\"]\n\0schema = 1\nextends = [\"c.toml\"]\n\0schema = 1\n",
        br#"[{"name": "small_1", "aliases": [], "priority": 1, "lib_whitelist": ["a", "b"],
             "symbol_versions": {"x86_64": {"GLIBC": ["2.5"]}}, "blacklist": {"a": ["f"]}}]"#,
    ];
    for seed in seeds {
        run("policy", targets::policies, seed);
    }
}

#[test]
fn device_code() {
    let plain = device::bundle(&["gfx90a:xnack+", "gfx1030"], 4096);
    let seeds = [
        device::code_object("gfx90a"),
        device::ccob(&plain, 2, "zstd"),
        device::ccob(&plain, 3, "zlib"),
        device::offload_binary(2, "gfx1030"),
        device::nv_fatbin(&[(1, 90, 40)]),
        database(),
        plain,
    ];
    for seed in &seeds {
        run("device", targets::device, seed);
    }
}

/// Two pages of SQLite, with the header that its library writes.
fn database() -> Vec<u8> {
    let mut bytes = b"SQLite format 3\0\x02\0\x01\x01\0\x40\x20\x20\0\0\0\x01\0\0\0\x02".to_vec();
    bytes.resize(1024, 0);
    bytes[95] = 1;
    bytes
}

#[test]
fn specs() {
    let seed = b"%include <a.spec>\n\n*lib:\n%{pthread:-lpthread} -lm %(old) %:f(a b)\\\n -lc # d\n\n*a:\n\n\n";
    run("specs", targets::specs, seed);
}

#[test]
fn pipeline() {
    let files = [library(), library(), Tiny::library("libb.so", ["lib.so"]).defines("g").bytes()];
    // The fourth file is the cache, which is empty.
    let sizes = files.iter().map(Vec::len).chain([0]);
    let sizes: Vec<u8> = sizes.flat_map(|size| (size as u16).to_le_bytes()).collect();
    let seed = [sizes, files.concat()].concat();
    run("pipeline", targets::pipeline, &seed);
}

/// The seeds with which the fuzzer starts, by the name of their target.
#[test]
fn corpus() {
    let targets: [(&str, Target); 9] = [
        ("archive", targets::archive),
        ("deps_list", targets::deps_list),
        ("device", targets::device),
        ("elf", targets::elf),
        ("ld_so_cache", targets::ld_so_cache),
        ("object", targets::object),
        ("policy", targets::policies),
        ("script", targets::script),
        ("specs", targets::specs),
    ];
    let mut size = 0;
    for (name, target) in targets {
        let dir = format!("{}/fuzz/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{dir}: {error}"));
        for file in files.map(|file| file.expect("a seed")) {
            if file.file_name().to_string_lossy().starts_with("seed-") {
                let bytes = std::fs::read(file.path()).expect("a seed");
                size += bytes.len();
                run(name, target, &bytes);
            }
        }
    }
    assert!((1..200_000).contains(&size), "{size} bytes of seeds");
}
