//! Properties of baselines: two facts never share a line, a baseline fits the next build of a
//! package in a store, and order changes nothing.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod company;
use crate::support;
use crate::support::random;
use crate::support::report;
use crate::support::rule_fixtures;

use random::Random;
use report::{Report, list, text};
use rule_fixtures::Fixture;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use support::{Lab, linkaudit};

/// The fields that distinguish a finding from all others.
fn fact(finding: &Value) -> String {
    let keys =
        ["rule", "prefix", "path", "symbol", "version", "library", "target", "member", "detail"];
    keys.map(|key| finding[key].to_string()).join(" ")
}

/// Fails if two facts of a report have one fingerprint, or one fact is reported twice.
fn all_differ(what: &str, report: &Report) -> usize {
    let mut prints: BTreeMap<String, String> = BTreeMap::new();
    let mut facts = BTreeSet::new();
    for finding in list(&report.value["findings"]).chain(list(&report.value["waived"])) {
        let fact = fact(finding);
        let print = text(&finding["fingerprint"]).to_owned();
        if let Some(other) = prints.insert(print, fact.clone()) {
            panic!("{what}: one fingerprint for\n{other}\n{fact}");
        }
        assert!(facts.insert(fact.clone()), "{what}: told twice: {fact}");
    }
    facts.len()
}

#[test]
fn no_two_facts_share_a_fingerprint() {
    let (mut reports, mut facts) = (0, 0);
    for fixture in Fixture::some(4) {
        let built = fixture.build();
        for more in [&[][..], &["--as-ldd"], &["--cross-check"]] {
            if more.iter().any(|more| built.audit.iter().any(|arg| arg == more)) {
                continue;
            }
            let run = built.lab.linkaudit(
                &[
                    &built.audit.iter().map(String::as_str).collect::<Vec<_>>()[..],
                    more,
                    &["--format", "json"],
                ]
                .concat(),
            );
            facts += all_differ(&fixture.name(), &Report::from(run));
            reports += 1;
        }
    }
    for dir in ["/usr/lib/x86_64-linux-gnu", "/usr/bin", "/usr/lib"] {
        let report = Report::of(linkaudit().args(["--isolated", dir]));
        facts += all_differ(dir, &report);
        reports += 1;
    }
    println!("fingerprints: {facts} facts of {reports} reports, 0 shared");
}

/// A baseline that a run writes waives exactly what that run finds, for every fixture.
#[test]
fn a_baseline_of_every_fixture_waives_all_of_it() {
    let mut lines = 0;
    for fixture in Fixture::some_bad(4) {
        let built = fixture.build();
        let audit: Vec<&str> = built.audit.iter().map(String::as_str).collect();
        let run = |more: &[&str]| built.lab.linkaudit(&[&audit[..], more].concat());
        let before = built.report(&[]).0;
        run(&["--write-baseline", "../known"]);
        let known = built.lab.root().join("../known");
        let text = std::fs::read_to_string(&known).expect("a baseline");
        std::fs::remove_file(&known).expect("it was written");
        let here = built.lab.path(".known");
        std::fs::write(&here, &text).expect("the baseline");
        let after = Report::from(run(&["--baseline", ".known", "--format", "json"]));
        let found = before["findings"].as_array().expect("findings").len();
        assert_eq!(after.value["findings"], serde_json::json!([]), "{}", fixture.name());
        assert_eq!(list(&after.value["waived"]).count(), found, "{}", fixture.name());
        assert_eq!((text.lines().count(), after.status), (found, 0), "{}", fixture.name());
        assert!(after.complete() && after.value["stale"].is_null(), "{}", fixture.name());
        lines += found;
    }
    println!("baselines of fixtures: {lines} lines, each waives its finding");
}

/// A file of any bytes is a baseline that is written back byte for byte, or its broken lines are
/// reported.
#[test]
fn any_bytes_are_a_baseline_or_broken() {
    use linkaudit::triage::{Baseline, Triage, rewrite};
    let print = "0123456789abcdef0123456789abcdef";
    let good = format!(
        "# one\n\n{print} undefined-symbol lib/a.so gone  # why\n# two\n\
         f{} missing-library - libfoo%20x.so\n\n# end\n",
        &print[1..]
    );
    let mut random = Random::new(11);
    let (mut read, mut broken) = (0, 0);
    for _ in 0..20_000 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = u8::try_from(random.below(256)).expect("a byte"),
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"\n #%-\t\r"[random.below(7)]),
                _ => bytes.truncate(at.max(4)),
            }
        }
        match Baseline::parse("known", &bytes) {
            Ok(baseline) => {
                let written = rewrite(Some(&baseline), &Triage::default(), true);
                let mut expected = bytes.clone();
                if !expected.ends_with(b"\n") {
                    expected.push(b'\n');
                }
                assert_eq!(written.text, expected);
                read += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("known:"), "{error}");
                broken += 1;
            }
        }
    }
    println!("baselines with accidents: {read} read, {broken} told to be broken");
    assert!(read > 2000 && broken > 2000);
}

const HASHES: [&str; 4] = [
    "0123456789abcdfghijklmnpqrsvwxyz",
    "zyxwvsrqpnmlkjihgfdcba9876543210",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
];

/// A system with a store: a library of one package that lacks symbols and a library, and a program
/// of another package that needs it. Everything of a build has the build's hashes and version.
struct Build {
    lab: Lab,
    math: String,
    app: String,
}

impl Build {
    /// `lacks` are the undefined functions of the library.
    fn new(hash: usize, version: &str, lacks: &[&str]) -> Self {
        let lab = Lab::new();
        let math = format!("nix/store/{}-libmath-{version}", HASHES[hash]);
        let app = format!("nix/store/{}-app-{version}", HASHES[hash + 1]);
        let gone = format!("/nix/store/{}-gone-{version}/lib", HASHES[hash]);
        lab.so("libgone.so.3", "int gone(void) { return 1; }", &["-Wl,-soname,libgone.so.3"]);
        let gone = format!("-Wl,-rpath,{gone}");
        let flags = ["-nostdlib", "-Wl,--no-as-needed", "$PWD/libgone.so.3", &gone];
        lab.so(&format!("{math}/lib/libplus.so"), "int plus(void) { return 1; }", &flags);
        std::fs::remove_file(lab.path("libgone.so.3")).expect("the library");
        let mut source = String::from("int last(void) { return 1; }\n");
        for name in lacks {
            source += &format!("void {name}(void); void of_{name}(void) {{ {name}(); }}\n");
        }
        let flags = ["-Wl,-soname,libmath.so.1", &gone, "-nostdlib"];
        lab.so(&format!("{math}/lib/libmath.so.1.{version}"), &source, &flags);
        lab.link(&format!("libmath.so.1.{version}"), &format!("{math}/lib/libmath.so.1"));
        let main = format!("$PWD/{math}/lib/libmath.so.1");
        let search = format!("-Wl,-rpath,/{math}/lib");
        lab.exe(
            &format!("{app}/bin/app"),
            "int last(void); int main(void) { return last(); }",
            &["-nostdlib", "-e", "main", "-Wl,--no-as-needed", &main, &search],
        );
        // The loader is part of what is audited: no system lies around the store.
        let loader = "/lib64/ld-linux-x86-64.so.2";
        std::fs::create_dir_all(lab.path("lib64")).expect("a directory");
        std::fs::copy(loader, lab.path(&loader[1..])).expect("the loader");
        Self { lab, math: format!("/{math}"), app: format!("/{app}") }
    }

    fn run(&self, args: &[&str]) -> Command {
        let mut command = linkaudit();
        command.current_dir(self.lab.root()).args(["--isolated", "--root", "."]).args(args);
        command
    }

    fn report(&self, paths: &[&str], known: &Path) -> Report {
        let known = known.to_str().expect("a path in UTF-8");
        let policy = self.lab.write("policy.toml", POLICY);
        let policy = policy.to_str().expect("a path in UTF-8").to_owned();
        let more = ["--baseline", known, "--policy", &policy];
        Report::of(&mut self.run(&[paths, &more].concat()))
    }

    fn write(&self, paths: &[&str]) -> std::path::PathBuf {
        let policy = self.lab.write("policy.toml", POLICY);
        let policy = policy.to_str().expect("a path in UTF-8").to_owned();
        let args = [paths, &["--write-baseline", "known", "--policy", &policy]].concat();
        self.run(&args).output().expect("linkaudit runs");
        self.lab.path("known")
    }
}

/// Its findings have store items in their details.
const POLICY: &str = "schema = 1\n[search-path]\nallow = [\"$ORIGIN\"]\n";

fn count(report: &Report, key: &str) -> usize {
    report.value[key].as_array().map_or(0, Vec::len)
}

#[test]
fn a_baseline_fits_the_next_build_of_a_store_item() {
    let old = Build::new(0, "6.2.2", &["one", "two"]);
    let both = [&*old.math, &*old.app];
    let known = old.write(&both);
    let text = std::fs::read_to_string(&known).expect("a baseline");
    assert!(text.contains(" missing-library lib/libplus.so libgone.so.3\n"), "{text}");
    assert!(text.contains(" undefined-symbol lib/libmath.so.1.6.2.2 two\n"), "{text}");
    let first = old.report(&both, &known);
    let lines = count(&first, "waived");
    assert_eq!(lines, text.lines().count(), "{}", first.outline());
    // Two functions, a library, and two search paths at least.
    assert!(lines >= 5 && count(&first, "findings") == 0, "{}", first.outline());

    let new = Build::new(2, "7.0.1", &["one", "two"]);
    let report = new.report(&[&new.math, &new.app], &known);
    assert_eq!((report.status, count(&report, "waived")), (0, lines), "{}", report.outline());
    assert_eq!(count(&report, "stale"), 0, "{}", report.value["stale"]);

    let fixed = Build::new(2, "7.0.2", &["one"]);
    let report = fixed.report(&[&fixed.math, &fixed.app], &known);
    assert_eq!((report.status, count(&report, "findings")), (0, 0), "{}", report.outline());
    assert_eq!(count(&report, "stale"), 1);
    assert_eq!(report.value["stale"][0]["name"], "two");

    let worse = Build::new(2, "7.0.3", &["one", "two", "three"]);
    let report = worse.report(&[&worse.math, &worse.app], &known);
    assert_eq!((report.status, count(&report, "stale")), (1, 0));
    let new: Vec<&Value> = report.findings().collect();
    assert_eq!((new.len(), &new[0]["symbol"]), (1, &Value::from("three")), "{}", report.outline());
    println!("store: {lines} lines fit a build of another version and hash");
}

#[test]
fn other_packages_of_a_store_are_out_of_scope() {
    let old = Build::new(0, "1.0", &["one"]);
    let known = old.write(&[&old.math, &old.app]);
    let fixed = Build::new(2, "1.1", &[]);
    // An audit of the program's package does not check the search path of the library. But it reads
    // the library, whose function is no longer missing.
    let report = fixed.report(&[&fixed.app], &known);
    assert_eq!(count(&report, "stale"), 1, "{}", report.value["stale"]);
    let other = Build::new(2, "1.1", &["one"]);
    std::fs::remove_file(other.lab.path(&other.app[1..]).join("bin/app")).expect("the program");
    other.lab.so(&format!("{}/lib/libother.so", &other.app[1..]), "int a;", &["-nostdlib"]);
    let report = other.report(&[&other.app], &known);
    let stale: Vec<&str> = list(&report.value["stale"]).map(|line| text(&line["path"])).collect();
    assert!(stale.iter().all(|path| path.starts_with("bin/")), "{stale:?}");
}

/// Files, policies and the lines of a baseline in any order, any number of threads, any verbosity.
#[test]
fn order_changes_nothing() {
    let lab = Lab::new();
    let mut random = Random::new(7);
    let policies: Vec<String> = (0..6).map(policy).collect();
    for (at, text) in policies.iter().enumerate() {
        lab.write(&format!("policy{at}.toml"), text);
    }
    for n in 0..24 {
        let source = format!(
            "void lacks{n}(void); void lacks{}(void); void f{n}(void) {{ lacks{n}(); lacks{}(); }}",
            n + 1,
            n + 1
        );
        let search = format!("-Wl,-rpath,/opt/{}:$ORIGIN", n % 5);
        lab.so(&format!("p/d{}/lib{n}.so", n % 3), &source, &[&search]);
    }
    let run = |order: &[usize], dirs: &[&str], more: &[&str]| {
        let files: Vec<String> = order.iter().map(|at| format!("policy{at}.toml")).collect();
        let policies = files.iter().flat_map(|file| ["--policy", file]);
        let mut command = linkaudit();
        command.current_dir(lab.root()).arg("check").args(dirs).args(policies).args(more);
        let mut report = Report::of(&mut command);
        report.value["policies"] = Value::Null;
        report
    };
    let order: Vec<usize> = (0..policies.len()).collect();
    let mut dirs = ["p/d0", "p/d1", "p/d2"];
    run(&order, &dirs, &["--write-baseline", "all"]);
    // Half of the lines, in another order, stay known.
    let all = std::fs::read_to_string(lab.path("all")).expect("a baseline");
    let mut known: Vec<&str> = all.lines().step_by(2).collect();
    random.shuffle(&mut known);
    lab.write("known", known.join("\n"));
    let baseline = ["--baseline", "known"];
    let first = run(&order, &dirs, &baseline);
    assert!(count(&first, "findings") > 3 && count(&first, "waived") > 3, "{}", first.outline());
    let mut cases = 0;
    for round in 0..20_usize {
        let mut order = order.clone();
        random.shuffle(&mut order);
        random.shuffle(&mut dirs);
        let jobs = ["1", "2", "8"][round % 3];
        let display = [&["-v"][..], &["-q"], &["--color", "always"], &["--fail-on", "never"]];
        let more = [&baseline[..], &["-j", jobs], display[round % 4]].concat();
        let report = run(&order, &dirs, &more);
        assert_eq!(report.value, first.value, "{order:?} {dirs:?} {more:?}");
        cases += 1;
    }
    println!("order: {cases} runs, 0 differences");
}

/// Entries that do not contradict those of other numbers.
fn policy(number: usize) -> String {
    let mut text = String::from("schema = 1\n");
    for n in (number..26).step_by(4) {
        text += &format!(
            "[[waive]]\nrule = \"undefined-symbol\"\nsymbol = \"lacks{n}\"\nreason = \"accepted\"\n"
        );
    }
    text += &format!("[[forbid.symbols]]\nsymbol = \"f{number}\"\n");
    if number == 3 {
        text += "[search-path]\nallow = [\"$ORIGIN\", \"/opt/1\"]\n";
    }
    text
}

/// A PATH below another one has its own paths: lines about the outer paths are not stale.
#[test]
fn a_line_about_an_outer_path_is_not_stale() {
    let lab = Lab::new();
    lab.so("p/lib/libe.so", "int u(void); int f(void) { return u(); }", &[]);
    lab.linkaudit(&["p", "--write-baseline", "known"]);
    let mut command = linkaudit();
    command.current_dir(lab.root()).args(["p", "p/lib", "--baseline", "known"]);
    let report = Report::of(&mut command);
    assert!(report.value["stale"].is_null(), "{}", report.value["stale"]);
    std::fs::remove_file(lab.path("p/lib/libe.so")).expect("the library");
    let mut command = linkaudit();
    command.current_dir(lab.root()).args(["p", "--baseline", "known"]);
    let stale = Report::of(&mut command).value["stale"].clone();
    assert!(list(&stale).count() > 0 && list(&stale).all(|line| line["gone"] == true), "{stale}");
}

#[test]
fn new_lines_of_a_baseline_with_crlf_end_with_crlf() {
    let lab = Lab::new();
    lab.so("p/liba.so", "int one(void); int f(void) { return one(); }", &[]);
    lab.linkaudit(&["p", "--write-baseline", "known"]);
    lab.sh("sed -i 's/$/\\r/' known");
    lab.so("p/libb.so", "int two(void); int g(void) { return two(); }", &[]);
    lab.linkaudit(&["p", "--write-baseline", "known"]);
    let known = std::fs::read_to_string(lab.path("known")).expect("a baseline");
    assert!(known.contains("two\r\n") && known.contains("one\r\n"), "{known:?}");
    assert_eq!(known.matches('\n').count(), known.matches("\r\n").count(), "{known:?}");
}
