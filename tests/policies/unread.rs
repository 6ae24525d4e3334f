//! Paths and facts that a run does not read or decide: `diff` calls their files neither gone nor
//! added, and no baseline line or waiver about them is stale.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::{self, Lab};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

const NOBODY: &str = "65534";
/// A library without the function that it calls.
const LACKING: &str = "int u3(void); int f(void) { return u3(); }";

fn allow(lab: &Lab, name: &str, mode: u32) {
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(lab.path(name), permissions).expect("permissions can be set");
}

/// A run as a user who may not read the file `closed`.
fn closed(lab: &Lab, closed: &str, args: &[&str]) -> Output {
    let args = [args, &["--isolated", "--format", "json"]].concat();
    let is_root = lab.sh("id -u").stdout == b"0\n";
    if is_root {
        std::fs::copy(env!("CARGO_BIN_EXE_linkaudit"), lab.path("linkaudit")).expect("a copy");
        lab.sh("chmod -R a+rwX .");
    }
    allow(lab, closed, 0);
    let output = if is_root {
        let mut command = support::clean("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "./linkaudit"]);
        command.current_dir(lab.root()).args(&args).output().expect("setpriv runs")
    } else {
        lab.linkaudit(&args)
    };
    allow(lab, closed, 0o755);
    output
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn run(lab: &Lab, args: &[&str]) -> (Value, Option<i32>) {
    let output = lab.linkaudit(&[args, &["--isolated", "--format", "json"]].concat());
    (report(&output), output.status.code())
}

/// `rule path` of each finding in a list.
fn said(report: &Value, key: &str) -> Vec<String> {
    let list = report[key].as_array().map_or(&[][..], Vec::as_slice);
    let word = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    list.iter().map(|one| format!("{} {}", word(one, "rule"), word(one, "path"))).collect()
}

/// Two equal directories, `open` and `other`.
fn sides() -> Lab {
    let lab = Lab::new();
    lab.so("open/libf.so", LACKING, &[]);
    lab.so("open/libg.so", "int g(void) { return 1; }", &[]);
    lab.sh("cp -r open other");
    lab
}

#[test]
fn an_unreadable_file_is_neither_gone_nor_added() {
    let lab = sides();
    let output = closed(&lab, "other/libf.so", &["diff", "open", "other"]);
    let new = report(&output);
    assert_eq!(output.status.code(), Some(3), "{new:#}");
    assert!(!new["findings"].to_string().contains("removed-library"), "{new:#}");
    assert_eq!(new["fixed"], json!([]));
    assert!(new["undecided"].to_string().contains("other/libf.so: not read, not compared"));
    let output = closed(&lab, "other/libf.so", &["diff", "other", "open"]);
    let old = report(&output);
    assert_eq!(output.status.code(), Some(3), "{old:#}");
    assert_eq!(
        (&old["added"], said(&old, "fixed")),
        (&json!([]), vec!["unreadable libf.so".into()])
    );
    assert!(!old["findings"].to_string().contains("undefined-symbol"), "{old:#}");
    // A directory that cannot be listed hides all files in it.
    let output = closed(&lab, "other", &["diff", "open", "other"]);
    assert_eq!(output.status.code(), Some(3), "{}", report(&output));
    let backwards = ["diff", "other", "open", "--fail-on", "never"];
    assert_eq!(report(&closed(&lab, "other", &backwards))["added"], json!([]));
}

#[test]
fn a_damaged_file_is_named_by_its_own_path() {
    let lab = sides();
    lab.sh("head -c 30 open/libf.so > other/libf.so");
    for (sides, key) in [(["other", "open"], "added"), (["open", "other"], "fixed")] {
        let (report, status) = run(&lab, &["diff", sides[0], sides[1]]);
        assert_eq!((status, &report[key]), (Some(3), &json!([])), "{report:#}");
        let undecided = report["undecided"].to_string();
        assert!(undecided.contains("other/libf.so: damaged, not compared"), "{undecided}");
        assert!(!undecided.contains("open/libf.so"), "{undecided}");
        assert!(!report["findings"].to_string().contains("undefined-symbol"), "{report:#}");
        assert!(!report["findings"].to_string().contains("removed-library"), "{report:#}");
    }
}

#[test]
fn a_line_about_an_unreadable_file_is_not_stale() {
    let lab = sides();
    run(&lab, &["open", "--write-baseline", "known"]);
    let before = std::fs::read(lab.path("known")).expect("a baseline");
    assert!(!before.is_empty());
    let rewrite = ["open", "--baseline", "known", "--write-baseline", "known", "--fail-on-gone"];
    let output = closed(&lab, "open/libf.so", &rewrite);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(report(&output)["stale"], Value::Null);
    assert_eq!(std::fs::read(lab.path("known")).expect("a baseline"), before);
}

/// A program that loads libtop, which loads libmid. Both libraries lack a function.
fn chain() -> Lab {
    let lab = Lab::new();
    let mid = "int und(void); int mid(void) { return und(); }";
    lab.so("w/lib/libmid.so.1", mid, &["-Wl,-soname,libmid.so.1"]);
    let top = "int mid(void); int und2(void); int top(void) { return und2() + mid(); }";
    let flags = ["-Wl,-soname,libtop.so.1", "-Wl,-rpath,$ORIGIN", "$PWD/w/lib/libmid.so.1"];
    lab.so("w/lib/libtop.so.1", top, &flags);
    let main = "int top(void); int main(void) { return top(); }";
    let flags = ["-Wl,-rpath,$ORIGIN/../lib", "$PWD/w/lib/libtop.so.1"];
    lab.exe("w/bin/prog", main, &flags);
    lab
}

#[test]
fn what_a_stopped_loader_does_not_check_is_not_stale() {
    let lab = chain();
    run(&lab, &["w", "--write-baseline", "known"]);
    let before = std::fs::read_to_string(lab.path("known")).expect("a baseline");
    assert!(before.contains(" lib/libtop.so.1 und2\n"), "{before}");
    lab.write(
        "p.toml",
        "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\npath = \"lib/libtop.so.1\"\n\
         symbol = \"und2\"\nreason = \"known\"\n[[waive]]\nrule = \"undefined-symbol\"\n\
         symbol = \"und\"\nreason = \"known\"\n",
    );
    lab.sh("cp w/lib/libmid.so.1 keep; head -c 30 keep > w/lib/libmid.so.1");
    let rewrite = ["w", "--baseline", "known", "--write-baseline", "known", "--fail-on-stale"];
    let (report, _) = run(&lab, &rewrite);
    assert_eq!(report["stale"], Value::Null, "{report:#}");
    assert_eq!(std::fs::read_to_string(lab.path("known")).expect("a baseline"), before);
    let (report, _) = run(&lab, &["w", "--policy", "p.toml"]);
    assert!(!report["findings"].to_string().contains("stale-waiver"), "{report:#}");
    // Once the library is repaired, the lines are used, and lines of repaired functions are stale.
    lab.sh("cp keep w/lib/libmid.so.1");
    assert_eq!(run(&lab, &["w", "--baseline", "known", "--fail-on-stale"]).1, Some(0));
    lab.so("w/lib/libmid.so.1", "int mid(void) { return 1; }", &["-Wl,-soname,libmid.so.1"]);
    let (report, _) = run(&lab, &["w", "--baseline", "known"]);
    assert_eq!(said(&report, "stale"), ["undefined-symbol lib/libmid.so.1"], "{report:#}");
}

#[test]
fn what_a_missing_library_explains_is_not_stale() {
    let lab = chain();
    let policy = "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\npath = \"lib/libtop.so.1\"\n\
                  symbol = \"und2\"\nreason = \"known\"\n";
    lab.write("p.toml", policy);
    run(&lab, &["w", "--write-baseline", "known"]);
    lab.sh("mv w/lib/libmid.so.1 keep");
    let (report, _) = run(&lab, &["w", "--baseline", "known"]);
    let lost = ["undefined-symbol lib/libmid.so.1"];
    assert_eq!(said(&report, "stale"), lost, "{report:#}");
    let (report, _) = run(&lab, &["w", "--policy", "p.toml"]);
    assert!(!report["findings"].to_string().contains("stale-waiver"), "{report:#}");
}

#[test]
fn an_allowed_unreadable_file_is_neither_gone_nor_added() {
    let lab = sides();
    lab.sh("head -c 300 other/libf.so > cut && mv cut other/libf.so");
    let reports = ["open", "other"].map(|side| {
        let args = ["check", side, "--facts", "--format", "json", "--isolated"];
        lab.write(&format!("{side}.json"), lab.linkaudit(&args).stdout);
        format!("{side}.json")
    });
    let inputs = [["open", "other"], [&reports[0], &reports[1]]];
    for [open, other] in inputs {
        for sides in [[open, other], [other, open]] {
            let args = ["diff", sides[0], sides[1], "-A", "malformed", "-A", "unreadable"];
            let (found, _) = run(&lab, &args);
            let told = said(&found, "findings").join(" ");
            assert!(!told.contains("removed-library"), "{found:#}");
            assert_eq!((said(&found, "fixed"), &found["added"]), (vec![], &json!([])), "{found:#}");
            assert!(!told.contains("malformed"), "{found:#}");
            assert!(found["undecided"].to_string().contains("other/libf.so"), "{found:#}");
        }
    }
}
