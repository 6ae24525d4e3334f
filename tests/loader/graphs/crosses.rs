//! Many needs times many directories: a small file may need probes of millions of paths. None of
//! these paths may stay in memory, and the files found must be those that the real loader finds.

use super::peak;
use super::tiny::Tiny;
use crate::support::random::step;
use crate::support::{self, Lab, Tally};
use std::process::Stdio;

/// Peak memory for one hostile file, in kilobytes.
const MEMORY: u64 = 256 << 10;

fn joined(count: usize, dir: impl Fn(usize) -> String) -> String {
    (0..count).map(dir).collect::<Vec<_>>().join(":")
}

#[test]
fn a_small_file_takes_little() {
    let needs = |count: usize| (0..count).map(|i| format!("libq{i}.so"));
    let crossed = |count, dir: &dyn Fn(usize) -> String| {
        Tiny::library("libx.so", needs(count)).runpath(&joined(count, dir))
    };
    let cases = [
        ("absent", crossed(1_500, &|i| format!("/nonexist/d{i}"))),
        // Relative directories count as there.
        ("relative", crossed(300, &|i| format!("d{i}"))),
        (
            "tokens",
            Tiny::library("libx.so", needs(2))
                .runpath(&joined(20_000, |i| format!("{}{i}", "$ORIGIN".repeat(50)))),
        ),
    ];
    for (name, file) in cases.iter().step_by(step(3)) {
        let lab = Lab::new();
        lab.write("libx.so", file.bytes());
        let musl = ["libx.so", "--loader", "musl", "-q"];
        for args in
            [&musl[..], &["libx.so"], &["libx.so", "--format", "json"], &["tree", "libx.so", "-v"]]
        {
            let mut child = support::linkaudit()
                .current_dir(lab.root())
                .args(args)
                .stdout(Stdio::null())
                .spawn()
                .expect("linkaudit runs");
            let peak = peak::memory(child.id());
            assert_eq!(child.wait().expect("it ends").code(), Some(1), "{name} {args:?}");
            assert!(peak <= MEMORY, "{name} {args:?}: {peak} KB");
            println!("{name} {args:?}: {peak} KB");
        }
    }
}

/// Number of directories: more than two probe batches.
const DIRS: usize = 1_300;

/// Omitted evidence is counted.
#[test]
fn what_is_left_out_is_said() {
    let lab = Lab::new();
    let dirs = joined(DIRS, |i| format!("/nonexist/d{i}"));
    lab.write("libx.so", Tiny::library("libx.so", ["libq.so"]).runpath(&dirs).bytes());
    let run = lab.linkaudit(&["libx.so", "--format", "json", "-A", "search-path"]);
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let evidence = report["findings"][0]["evidence"].as_array().expect("evidence");
    let tried: Vec<_> = evidence.iter().filter(|e| e["kind"] == "tried").collect();
    let own: Vec<_> = tried.iter().filter(|e| e["how"] == "runpath").collect();
    let last = own.last().expect("the last of the RUNPATH");
    let more = DIRS - own.len();
    assert!(own.len() < DIRS && more > 0, "{}", own.len());
    let words = format!("no such file or directory, like {more} more paths that are not listed");
    assert_eq!(last["reason"], words.as_str());
    assert_eq!(own[0]["path"], "/nonexist/d0/libq.so");
}

#[test]
fn what_lies_far_behind_is_found() {
    let lab = Lab::new();
    let dir = |i: usize| format!("d{i}");
    for i in (0..DIRS).filter(|i| i % 7 != 3) {
        lab.mkdir(&dir(i));
    }
    let library = |name: &str| Tiny::library(name, [] as [&str; 0]).bytes();
    let mut other_class = library("libother.so");
    other_class[4] = 1;
    // Around the ends of probe batches, and behind files that the search skips.
    let places = [0, 254, 255, 256, 257, 500, 766, 767, 768, 769, 1_000, DIRS - 1];
    let mut needs: Vec<String> = Vec::new();
    for i in places {
        let name = format!("libat{i}.so");
        lab.write(&format!("{}/{name}", dir(i)), library(&name));
        if i > 300 {
            lab.write(&format!("{}/{name}", dir(299)), &other_class);
            lab.write(&format!("{}/{name}", dir(i - 1)), &other_class);
        }
        needs.extend([name, format!("libnot{i}.so")]);
    }
    let mut tally = Tally::default();
    for (name, path) in [
        ("libabs.so", joined(DIRS, |i| format!("{}/d{i}", lab.root().display()))),
        ("librel.so", joined(DIRS, dir)),
        ("liborigin.so", joined(DIRS, |i| format!("$ORIGIN/d{i}"))),
    ] {
        let plain = Tiny::library(name, needs.clone());
        for (kind, file) in
            [("runpath", plain.clone().runpath(&path)), ("rpath", plain.rpath(&path))]
        {
            lab.write(name, file.bytes());
            let ours = lab.linkaudit(&["--as-ldd", "--format", "ldd", name]);
            let ours = String::from_utf8_lossy(&ours.stdout).into_owned();
            tally.compare(&format!("{name} {kind}"), &ours, &lab.ldd_r(&format!("./{name}")));
        }
    }
    // A directory of the library's name and a text end a search.
    for (name, at) in [("libdir.so", 400), ("libtext.so", 600)] {
        let path = joined(DIRS, |i| format!("$ORIGIN/d{i}"));
        lab.write("libstop.so", Tiny::library("libstop.so", [name]).runpath(&path).bytes());
        match name {
            "libdir.so" => drop(lab.mkdir(&format!("d{at}/{name}"))),
            _ => drop(lab.write(&format!("d{at}/{name}"), "-".repeat(100))),
        }
        lab.write(&format!("d{}/{name}", at + 2), library(name));
        let ours = lab.linkaudit(&["--as-ldd", "--format", "ldd", "libstop.so"]);
        let ours = String::from_utf8_lossy(&ours.stdout).into_owned();
        tally.compare(name, &ours, &lab.ldd_r("./libstop.so"));
    }
    tally.finish("long lists of directories");
}
