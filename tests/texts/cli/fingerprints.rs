//! Fingerprints, which baselines store. They survive a rebuild, a new version and another
//! directory, and depend only on their own findings.

use super::kit::{BROKEN, at, report, run, text};
use super::rule_fixtures::Fixture;
use crate::support::Lab;
use linkaudit::catalogue::RuleId;
use linkaudit::finding::{Finding, Findings};
use linkaudit::package::Located;
use linkaudit::plan::Plan;
use linkaudit::triage::{RunScope, Sonames, TriageInput, sort_findings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Fingerprints of a report, in the order of its findings.
fn prints(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().map(|finding| text(&finding["fingerprint"]).to_owned()).collect()
}

#[test]
fn they_are_32_hexadecimal_digits() {
    for fixture in Fixture::some_bad(4) {
        let found = prints(&fixture.build().report(&[]).0);
        assert!(!found.is_empty());
        for print in found {
            assert_eq!(print.len(), 32, "{print}");
            assert!(
                print.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f')),
                "{print}"
            );
        }
    }
}

#[test]
fn different_facts_never_share_one() {
    let mut facts: BTreeMap<String, String> = BTreeMap::new();
    for fixture in Fixture::some_bad(4) {
        let built = fixture.build();
        let (report, _) = built.report(&[]);
        for (print, line) in prints(&report).into_iter().zip(built.lines(&report)) {
            let other = facts.insert(print, line.clone());
            assert!(other.as_ref().is_none_or(|other| *other == line), "{other:?} and {line}");
        }
    }
    assert!(facts.len() >= Fixture::some_bad(4).len());
}

#[test]
fn they_do_not_depend_on_the_place_of_the_tree() {
    for fixture in Fixture::some_bad(4) {
        // Two builds lie in two temporary directories.
        let (one, two) = (fixture.build(), fixture.build());
        assert_ne!(one.lab.root(), two.lab.root());
        assert_eq!(prints(&one.report(&[]).0), prints(&two.report(&[]).0), "{}", fixture.name());
    }
}

#[test]
fn they_do_not_depend_on_how_the_path_was_typed() {
    let lab = Lab::new();
    lab.so("p/lib/libfoo.so", super::kit::FOO, &[]);
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lfoo", "-Wl,-rpath,$ORIGIN/../lib"];
    lab.exe("p/bin/app", super::kit::CALLS_FOO, &flags);
    lab.so("p/lib/libbroken.so", BROKEN, &[]);
    lab.write("p/lib/libfoo.so", "INPUT(x)\n");
    let expected = prints(&report(&lab, &["p"]));
    assert_eq!(expected.len(), 2);
    for typed in ["./p", "p/", "p/lib/../../p", &at(&lab, "p")] {
        assert_eq!(prints(&report(&lab, &[typed])), expected, "{typed}");
    }
    let inside = crate::support::linkaudit()
        .current_dir(lab.path("p"))
        .args([".", "--format", "json"])
        .output()
        .expect("linkaudit runs");
    let inside: Value = serde_json::from_slice(&inside.stdout).expect("a JSON report");
    assert_eq!(prints(&inside), expected);
}

#[test]
fn they_do_not_depend_on_levels() {
    let lab = Lab::new();
    lab.so("p/liba.so", BROKEN, &[]);
    let expected = prints(&report(&lab, &["p"]));
    assert_eq!(prints(&report(&lab, &["p", "-W", "symbol"])), expected);
    assert_eq!(run(&lab, &["p", "-W", "symbol"]).status, 0);
}

/// `p/NAME` with the soname `libm.so.1`, and further files.
fn versioned(names: &[&str]) -> Vec<String> {
    let lab = Lab::new();
    for name in names {
        lab.so(&format!("p/{name}"), BROKEN, &["-Wl,-soname,libm.so.1"]);
    }
    prints(&report(&lab, &["p"]))
}

#[test]
fn they_survive_a_new_version_of_the_library() {
    let one = versioned(&["libm.so.1.0.60202"]);
    assert_eq!(one, versioned(&["libm.so.1.0.60303"]));
    assert_eq!(one, versioned(&["libm.so.1"]));
    assert_ne!(one, versioned(&["libother.so.1"]));
}

#[test]
fn two_versions_beside_each_other_have_what_each_has_alone() {
    let alone = versioned(&["libm.so.1.0"]);
    assert_eq!(versioned(&["libm.so.1.0", "libm.so.1.1"]), [&alone[..], &alone].concat());
}

/// The fingerprint of the need for a library that does not exist.
fn missing(library: &str) -> String {
    let lab = Lab::new();
    lab.so("libgone.so", "int gone;", &[&format!("-Wl,-soname,{library}")]);
    lab.so("p/liba.so", "int a;", &["-Wl,--no-as-needed", "-L.", "-lgone"]);
    let report = report(&lab, &["p"]);
    assert_eq!(report["findings"][0]["library"], library);
    prints(&report)[0].clone()
}

const HASHES: [&str; 2] = ["0123456789abcdfghijklmnpqrsvwxyz", "zyxwvsrqpnmlkjihgfdcba9876543210"];

#[test]
fn store_items_count_by_their_packages() {
    let item =
        |hash: usize, name: &str| format!("/nix/store/{}-{name}/lib/libfoo.so", HASHES[hash]);
    let expected = missing(&item(0, "foo-1.2.3"));
    assert_eq!(missing(&item(1, "foo-1.2.3")), expected, "another hash");
    assert_eq!(missing(&item(0, "foo-1.3")), expected, "another version");
    assert_ne!(missing(&item(0, "foobar-1.2.3")), expected, "another package");
    assert_ne!(missing("/opt/foo/lib/libfoo.so"), expected);
    assert_eq!(missing(&item(0, "foo-1").replace("/nix", "/gnu")), expected, "another store");
}

/// The fingerprints of findings that need no file.
fn judged(findings: Findings) -> Vec<String> {
    let files: Vec<PathBuf> = findings.iter().map(|finding| finding.full_path()).collect();
    let sonames = Sonames::new(files.iter().map(|path| (path.as_path(), None)));
    let plan = Plan::new(Vec::new(), PathBuf::new());
    let scope = RunScope::default();
    let how = TriageInput { plan: &plan, known: None, scope: &scope, sonames: &sonames };
    let triage = sort_findings(findings, &how);
    triage.findings.into_iter().map(|judged| judged.fingerprint).collect()
}

fn in_package(package: &str) -> Box<Finding> {
    let file = Located { prefix: Some(PathBuf::from(package)), path: PathBuf::from("lib/liba.so") };
    let mut finding =
        Finding::new(RuleId::new("undefined-symbol"), file.into(), "nothing defines it".to_owned());
    finding.symbol = Some(b"gone".to_vec());
    finding
}

#[test]
fn a_rebuilt_package_keeps_them() {
    let item = |hash: usize, name: &str| format!("/nix/store/{}-{name}", HASHES[hash]);
    let print = |package: &str| judged(vec![in_package(package)])[0].clone();
    let expected = print(&item(0, "miopen-6.2.2"));
    assert_eq!(print(&item(1, "miopen-6.2.2")), expected, "a rebuild");
    assert_eq!(print(&item(1, "miopen-7.0")), expected, "a new version");
    assert_ne!(print(&item(0, "miopen-hip-6.2.2")), expected, "another package");
    assert_ne!(print("/opt/miopen"), expected);
    assert_eq!(print("/opt/miopen"), print("/srv/miopen"), "a directory is no package");
}

#[test]
fn two_versions_of_one_package_in_one_report_share_them() {
    let items = ["foo-1.0", "foo-1.1"].map(|name| format!("/nix/store/{}-{name}", HASHES[0]));
    let both = judged(items.iter().map(|item| in_package(item)).collect());
    let alone = judged(vec![in_package(&items[0])]);
    assert_eq!(both, [&alone[..], &alone].concat());
}

/// A library that the search misses is a different fact from an absent library.
#[test]
fn a_candidate_in_the_prefix_counts() {
    let lab = Lab::new();
    lab.so("libgone.so", "int gone;", &["-Wl,-soname,libgone.so.1"]);
    lab.so("p/lib/liba.so", "int a;", &["-Wl,--no-as-needed", "-L.", "-lgone"]);
    let args = ["--prefix", "p"];
    let gone = report(&lab, &[&args[..], &["p/lib/liba.so"]].concat());
    assert_eq!(gone["findings"][0]["detail"], Value::Null);
    run(&lab, &["p", "--write-baseline", "known"]);
    assert_eq!(run(&lab, &["p", "--baseline", "known"]).status, 0);
    // The file with this name is not a library, and is not audited.
    lab.write("p/share/x/libgone.so.1", "text");
    let missed = report(&lab, &[&args[..], &["p/lib/liba.so"]].concat());
    assert_eq!(missed["findings"][0]["detail"], "candidate-in-prefix");
    assert_ne!(prints(&missed), prints(&gone));
    assert_eq!(prints(&missed), prints(&report(&lab, &["p"])), "audited or not");
    let now = run(&lab, &["p", "--baseline", "known"]);
    assert_eq!(now.status, 1, "the baseline of the one does not hide the other: {}", now.out);
    // Without --prefix the prefix of a file is its directory.
    let alone = report(&lab, &["p/lib/liba.so"]);
    assert_eq!(alone["findings"][0]["detail"], Value::Null);
    // A file beside the prefix is not in the prefix.
    std::fs::rename(lab.path("p/share"), lab.path("q")).expect("the directory");
    assert_eq!(prints(&report(&lab, &[&args[..], &["p/lib"]].concat())), prints(&gone));
}

#[test]
fn every_key_counts_for_itself() {
    let located = || Located { prefix: None, path: Path::new("/p/a").to_path_buf() };
    let base = || Finding::new(RuleId::new("missing-library"), located().into(), "m".to_owned());
    let mut findings =
        vec![base(), Finding::new(RuleId::new("malformed"), located().into(), "m".to_owned())];
    for value in [&b""[..], b"a", b"ab", b"symbol", b"\xff", b"\xfe"] {
        let mut four = [base(), base(), base(), base()];
        four[0].symbol = Some(value.to_vec());
        four[1].version = Some(value.to_vec());
        four[2].library = Some(value.to_vec());
        four[3].detail = Some(value.to_vec());
        findings.extend(four);
    }
    // The end of one key may be the start of another.
    for (symbol, version) in [("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc")] {
        let mut finding = base();
        finding.symbol = Some(symbol.into());
        finding.version = Some(version.into());
        findings.push(finding);
    }
    let count = findings.len();
    let mut prints = judged(findings);
    prints.sort();
    prints.dedup();
    assert_eq!(prints.len(), count);
}

#[test]
fn messages_and_evidence_do_not_count() {
    let mut other = in_package("/p");
    other.message = "worded otherwise".to_owned();
    other.root = Some(PathBuf::from("/p/bin/app").into());
    other.witness = Some("nm".to_owned());
    assert_eq!(judged(vec![in_package("/p")]), judged(vec![other]));
}
