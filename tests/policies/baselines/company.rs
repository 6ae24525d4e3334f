//! Compares fingerprints and baselines of a part of a tree with those of the whole tree. Other
//! audited files change no fingerprint, and a baseline of a part holds for the whole.

use super::random::{Random, amount, number, step};
use super::report::{Report, list, text};
use super::rule_fixtures::Fixture;
use crate::support::{Lab, linkaudit};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The subject of a finding, without the `detail` of a missing library, which is compared.
fn fact(finding: &Value) -> String {
    let keys = ["rule", "prefix", "path", "symbol", "version", "library", "target", "member"];
    let detail = match (text(&finding["rule"]), finding["detail"].as_str()) {
        ("missing-library", Some("candidate-in-prefix") | None) => String::new(),
        _ => finding["detail"].to_string(),
    };
    keys.map(|key| finding[key].to_string()).join(" ") + &detail
}

/// A tree of which parts are audited.
struct Tree {
    prefix: PathBuf,
    files: Vec<PathBuf>,
    /// For lists of files and baselines.
    scratch: Lab,
    options: Vec<String>,
}

#[derive(Default)]
struct Tally {
    subsets: usize,
    findings: usize,
    baselines: usize,
    lines: usize,
    /// Lines of the whole that a part neither uses nor calls stale.
    kept: usize,
    candidates: usize,
}

impl Tree {
    fn run(&self, files: &[&PathBuf], more: &[&str]) -> Report {
        let mut text = Vec::new();
        for file in files {
            text.extend_from_slice(file.as_os_str().as_bytes());
            text.push(0);
        }
        let listed = self.scratch.write("files", text);
        let mut command: Command = linkaudit();
        command.current_dir(&self.prefix).arg("--isolated").args(&self.options).args(more);
        command.arg("-0").arg("--files-from").arg(listed).arg("--prefix").arg(&self.prefix);
        Report::of(&mut command)
    }

    /// Audits `count` random parts. For each `every`th, writes a baseline and compares it with the
    /// whole.
    fn compare(&self, seed: u64, count: usize, every: usize, tally: &mut Tally) {
        let mut random = Random::new(seed);
        let all: Vec<&PathBuf> = self.files.iter().collect();
        let whole = self.run(&all, &[]);
        let mut prints: BTreeMap<String, (Value, Value)> = BTreeMap::new();
        prints.extend(whole.findings().map(|finding| (fact(finding), identity(finding))));
        let known = self.scratch.path("known");
        let known = known.to_str().expect("a path in UTF-8");
        let of_whole = self.scratch.path("known-of-whole");
        let of_whole = of_whole.to_str().expect("a path in UTF-8");
        let _ = std::fs::remove_file(of_whole);
        self.run(&all, &["--write-baseline", of_whole]);
        for round in 0..count {
            let mut part = all.clone();
            random.shuffle(&mut part);
            part.truncate(1 + random.below(all.len().min(60)));
            let writes = round % every == 0;
            let _ = std::fs::remove_file(known);
            let more = if writes { &["--write-baseline", known][..] } else { &[] };
            let report = self.run(&part, more);
            for finding in report.findings() {
                tally.findings += 1;
                tally.candidates += usize::from(finding["detail"] == "candidate-in-prefix");
                let expected = prints.entry(fact(finding)).or_insert_with(|| identity(finding));
                assert_eq!(*expected, identity(finding), "{}", fact(finding));
            }
            tally.subsets += 1;
            if writes {
                self.holds(&all, known, (&report, &whole));
                tally.kept += self.keeps(&part, of_whole, (&report, &whole));
                tally.baselines += 1;
                tally.lines += report.findings().count();
            }
        }
    }

    /// A baseline of a part waives exactly the findings of the part that the whole has too. Its
    /// other lines may be stale.
    fn holds(&self, all: &[&PathBuf], known: &str, (part, whole): (&Report, &Report)) {
        let judged = self.run(all, &["--baseline", known]);
        let both = in_both(part, whole);
        assert_eq!(facts_of(&judged, "waived"), both, "{}", judged.outline());
        assert_eq!(judged.findings().count() + both.len(), whole.findings().count());
        let stale = judged.value["stale"].as_array().map_or(0, Vec::len);
        assert!(stale <= part.findings().count() - both.len(), "{}", judged.value["stale"]);
    }

    /// A baseline of the whole waives exactly the findings of the part that the whole has too. None
    /// of its lines is stale: the tree is the same. Returns the number of lines without a finding.
    fn keeps(&self, part: &[&PathBuf], known: &str, (of_part, whole): (&Report, &Report)) -> usize {
        let judged = self.run(part, &["--baseline", known]);
        let both = in_both(of_part, whole);
        assert_eq!(facts_of(&judged, "waived"), both, "{}", judged.outline());
        assert_eq!(judged.value["stale"], Value::Null, "{part:?}");
        whole.findings().count() - both.len()
    }
}

fn facts_of(report: &Report, key: &str) -> BTreeSet<String> {
    list(&report.value[key]).map(fact).collect()
}

fn in_both(one: &Report, other: &Report) -> BTreeSet<String> {
    &facts_of(one, "findings") & &facts_of(other, "findings")
}

/// The parts of a finding that must not depend on other audited files.
fn identity(finding: &Value) -> (Value, Value) {
    (finding["fingerprint"].clone(), finding["detail"].clone())
}

fn elf_files(below: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut todo = vec![below.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let kind = entry.file_type().expect("a kind of file");
            if kind.is_dir() {
                todo.push(entry.path());
            } else if kind.is_file() {
                let mut head = [0; 4];
                let file = std::fs::File::open(entry.path());
                let read =
                    file.and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
                if read.is_ok() && head == *b"\x7fELF" {
                    out.push(entry.path());
                }
            }
        }
    }
    out.sort();
    out
}

const HASHES: [&str; 2] = ["0123456789abcdfghijklmnpqrsvwxyz", "zyxwvsrqpnmlkjihgfdcba9876543210"];

/// Libraries that lack symbols and libraries, some of which are outside of all search paths. Copies
/// of them, and two versions of a store item.
fn prefix() -> Lab {
    let lab = Lab::new();
    for name in ["near", "gone"] {
        let soname = format!("-Wl,-soname,lib{name}.so.1");
        lab.so(&format!("stub/lib{name}.so"), "", &["-nostdlib", &soname]);
    }
    lab.write("p/share/deep/er/libnear.so.1", "not audited");
    let needs = ["-Wl,--no-as-needed", "$PWD/stub/libnear.so", "$PWD/stub/libgone.so"];
    let flags = [&["-nostdlib"], &needs[..]].concat();
    for n in 0..40 {
        let mut source = String::new();
        for symbol in 0..4 {
            let name = format!("lacks{}", (n * 3 + symbol) % 50);
            source += &format!("void {name}(void); void f{n}_{symbol}(void) {{ {name}(); }}\n");
        }
        let soname = format!("-Wl,-soname,lib{n}.so.1");
        let flags = if n % 2 == 0 { &flags[..] } else { &["-nostdlib"][..] };
        lab.so(&format!("p/a/lib{n}.so.1.{n}"), &source, &[flags, &[&soname]].concat());
    }
    std::fs::create_dir_all(lab.path("p/b")).expect("a directory");
    for entry in std::fs::read_dir(lab.path("p/a")).expect("libraries").flatten() {
        let number = entry.file_name();
        std::fs::copy(entry.path(), lab.path("p/b").join(number)).expect("a copy");
        // Beside its own, with the same soname.
        let name = format!("{}.9", entry.file_name().display());
        std::fs::copy(entry.path(), lab.path("p/b").join(name)).expect("a copy");
    }
    std::fs::remove_dir_all(lab.path("stub")).expect("the stubs");
    lab
}

#[test]
fn company_changes_no_fingerprint_of_a_prefix() {
    let lab = prefix();
    let prefix = lab.path("p");
    let files = elf_files(&prefix);
    let tree = Tree { prefix, files, scratch: Lab::new(), options: Vec::new() };
    let mut tally = Tally::default();
    let count = usize::try_from(amount("LINKAUDIT_SUBSETS", 200)).expect("a number");
    tree.compare(number("LINKAUDIT_SEED", 13), count, 1, &mut tally);
    assert!(tally.findings > 25 * count && tally.candidates > 2 * count);
    tally.print("a prefix of copies");
}

#[test]
fn company_changes_no_fingerprint_of_usr() {
    let prefix = PathBuf::from("/usr");
    let mut files = elf_files(&prefix.join("bin"));
    files.extend(elf_files(&prefix.join("lib")));
    let tree = Tree { prefix, files, scratch: Lab::new(), options: Vec::new() };
    let mut tally = Tally::default();
    let count = usize::try_from(amount("LINKAUDIT_SUBSETS", 200)).expect("a number");
    tree.compare(number("LINKAUDIT_SEED", 17), count, 10, &mut tally);
    tally.print("/usr");
}

#[test]
fn company_changes_no_fingerprint_of_fixtures() {
    let mut tally = Tally::default();
    for (seed, fixture) in (0..).zip(Fixture::some(10)) {
        // Its own options say what is audited.
        let built = fixture.build();
        let prefix = built.lab.root();
        let files = elf_files(&prefix);
        if built.audit.iter().any(|arg| arg.starts_with('-')) || files.is_empty() {
            continue;
        }
        let tree = Tree { prefix, files, scratch: Lab::new(), options: Vec::new() };
        tree.compare(seed, 10, 1, &mut tally);
    }
    assert!(tally.subsets >= 200 / step(10), "{}", tally.subsets);
    tally.print("fixtures");
}

impl Tally {
    fn print(&self, what: &str) {
        println!(
            "company: {what}: {} parts, {} findings ({} with a candidate), 0 differ; {} baselines \
             of {} lines hold on the whole, whose baseline holds on them: {} lines wait",
            self.subsets, self.findings, self.candidates, self.baselines, self.lines, self.kept
        );
    }
}

/// Two versions of a package, whose facts share their fingerprints: alone and together.
#[test]
fn versions_of_a_store_item_count_as_many_as_there_are() {
    let lab = Lab::new();
    let items = ["1.0", "1.1"].map(|version| {
        let item = format!("nix/store/{}-foo-{version}", HASHES[usize::from(version == "1.1")]);
        let source = "void gone(void); void f(void) { gone(); }";
        lab.so(&format!("{item}/lib/libfoo.so"), source, &["-nostdlib"]);
        format!("/{item}")
    });
    let loader = "/lib64/ld-linux-x86-64.so.2";
    std::fs::create_dir_all(lab.path("lib64")).expect("a directory");
    std::fs::copy(loader, lab.path(&loader[1..])).expect("the loader");
    let run = |args: &[&str]| {
        let mut command = linkaudit();
        command.current_dir(lab.root()).args(["--isolated", "--root", "."]).args(args);
        Report::of(&mut command)
    };
    let prints = |report: &Report| -> Vec<Value> {
        let of_rule = report.of_rule("undefined-symbol");
        of_rule.map(|finding| finding["fingerprint"].clone()).collect()
    };
    let alone = items.each_ref().map(|item| prints(&run(&[item])));
    let both = run(&[&items[0], &items[1]]);
    assert_eq!(prints(&both), [&alone[0][..], &alone[1][..]].concat());
    assert_eq!(alone[0], alone[1]);
    // A line of one waives one of two; two lines waive both.
    let counts = |report: &Report| {
        let list = |key: &str| report.value[key].as_array().map_or(0, Vec::len);
        [list("findings"), list("waived"), list("stale")]
    };
    let with = |paths: &[&str], more: &[&str]| run(&[paths, more].concat());
    with(&[&items[0]], &["--write-baseline", "one"]);
    assert_eq!(counts(&with(&[&items[0], &items[1]], &["--baseline", "one"])), [1, 1, 0]);
    with(&[&items[0], &items[1]], &["--write-baseline", "two"]);
    assert_eq!(counts(&with(&[&items[0], &items[1]], &["--baseline", "two"])), [0, 2, 0]);
    // One alone says nothing about the other.
    assert_eq!(counts(&with(&[&items[1]], &["--baseline", "two"])), [0, 1, 0]);
}
