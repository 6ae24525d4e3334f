//! `linkaudit diff` with a report of the old side that was written with other options than those of
//! the comparison.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use serde_json::Value;
use std::collections::BTreeSet;
use support::Lab;

/// Rules about search paths and links are off: libraries of laboratories have no links.
const OFF: &[&str] = &["-A", "search-path", "-A", "link-hygiene"];

/// Writes the report of `prefix` to `file`.
fn report(lab: &Lab, file: &str, prefix: &str, options: &[&str]) {
    let all = ["--isolated", "--facts", "--format", "json", prefix];
    let output = lab.linkaudit(&[&all, options].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    lab.write(file, &output.stdout);
}

fn diff(lab: &Lab, old: &str, new: &str, options: &[&str]) -> (Value, Option<i32>) {
    let all = ["diff", old, new, "--isolated", "--format", "json"];
    let output = lab.linkaudit(&[&all, options].concat());
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{old} {new}: {e}: {output:?}"));
    (value, output.status.code())
}

/// The strings of a list, or the rules of a list of findings.
fn words(value: &Value, key: &str) -> Vec<String> {
    let list = value[key].as_array().unwrap_or_else(|| panic!("no list {key} in {value}")).iter();
    list.map(|one| one.as_str().or(one["rule"].as_str()).expect("a string").to_owned()).collect()
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The old report, the new side, options, new findings, the side in question, and the status.
type Case<'a> = (&'a str, &'a str, &'a [&'a str], &'a [&'a str], Option<&'a str>, i32);

#[test]
fn a_rule_that_one_side_did_not_run_is_named_if_the_new_side_may_be_worse() {
    let lab = Lab::new();
    for (side, flag) in [("good", "-Wl,-z,relro"), ("lost", "-Wl,-z,norelro")] {
        lab.so(&format!("{side}/libf.so.1"), "int f;", &["-Wl,-soname,libf.so.1", flag]);
    }
    let more = &["-W", "missing-relro"][..];
    report(&lab, "more.json", "good", more);
    report(&lab, "less.json", "good", &[]);
    let cases: [Case<'_>; 7] = [
        ("more.json", "lost", &[], &["undecided"], Some("lost"), 3),
        ("more.json", "good", &[], &["undecided"], Some("good"), 3),
        ("more.json", "lost", more, &["missing-relro"], None, 0),
        ("more.json", "good", more, &[], None, 0),
        ("less.json", "lost", more, &["undecided"], Some("less.json"), 3),
        ("less.json", "good", more, &[], None, 0),
        ("less.json", "lost", &[], &[], None, 0),
    ];
    for (old, new, options, findings, subject, status) in cases {
        let case = format!("{old} {new} {options:?}");
        let (value, code) = diff(&lab, old, new, options);
        assert_eq!((words(&value, "findings"), code), (strings(findings), Some(status)), "{case}");
        let line = |side: &str| {
            format!("{side}: these rules did not run and are not compared: missing-relro")
        };
        let expected: Vec<String> = subject.map(line).into_iter().collect();
        assert_eq!(words(&value, "undecided"), expected, "{case}");
    }
}

#[test]
fn findings_that_the_old_report_waives_are_not_new() {
    let lab = Lab::new();
    let library = |path: &str, name: &str| {
        let source = format!("int {name}(void); int f_{name}(void) {{ return {name}(); }}");
        let file = path.rsplit('/').next().expect("a file name");
        lab.so(path, &source, &[&*format!("-Wl,-soname,{file}")]);
    };
    for prefix in ["p", "moved", "worse"] {
        library(&format!("{prefix}/libone.so.1"), "lost");
    }
    library("worse/libtwo.so.1", "gone");
    lab.so("mended/libone.so.1", "int f_lost(void) { return 1; }", &["-Wl,-soname,libone.so.1"]);
    let written = lab.linkaudit(&[&["p", "--isolated", "--write-baseline", "known"], OFF].concat());
    assert_eq!(written.status.code(), Some(1), "{written:?}");
    let policy =
        "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\nsymbol = \"lost\"\nreason = \"r\"\n";
    lab.write("waive.toml", policy);
    report(&lab, "baseline.json", "p", &[OFF, &["--baseline", "known"]].concat());
    report(&lab, "policy.json", "p", &[OFF, &["--policy", "waive.toml"]].concat());
    for old in ["baseline.json", "policy.json"] {
        // The new side, and its numbers of new and common findings.
        for (new, fresh, unchanged) in
            [("p", 0, 1), ("moved", 0, 1), ("worse", 1, 1), ("mended", 0, 0)]
        {
            let (value, code) = diff(&lab, old, new, OFF);
            let case = format!("{old} {new}: {value}");
            assert_eq!(words(&value, "findings"), vec!["undefined-symbol"; fresh], "{case}");
            assert_eq!(words(&value, "fixed"), [""; 0], "{case}");
            assert_eq!(value["unchanged"].as_u64(), Some(unchanged), "{case}");
            assert_eq!(code, Some(i32::from(fresh > 0)), "{case}");
        }
    }
}

/// A hidden first version is a change only if the old report knows that it was the default. Reports
/// of earlier releases do not know this, and have no kinds of files.
#[test]
fn a_report_of_an_earlier_release_shows_no_change_of_an_equal_prefix() {
    let lab = Lab::new();
    lab.write("v.map", "V1 { global: f; local: *; }; V2 { global: g; } V1;");
    let default = "int f(void) { return 1; } int g(void) { return 2; }";
    let hidden = default.replace("int f(void)", "__asm__(\".symver f1, f@V1\"); int f1(void)");
    for (prefix, source) in [("default", default), ("hidden", &*hidden)] {
        let options = ["-Wl,-soname,libx.so.1", "-Wl,--version-script,v.map"];
        lab.so(&format!("{prefix}/libx.so.1"), source, &options);
        let made = lab.sh(&format!(
            "set -e; cd {prefix}; echo 'int a;' | gcc -x c - -c -o crt1.o
             objcopy --only-keep-debug libx.so.1 libx.so.1.debug"
        ));
        assert!(made.status.success(), "{made:?}");
        report(&lab, &format!("{prefix}.json"), prefix, OFF);
    }
    let text = std::fs::read(lab.path("hidden.json")).expect("a report");
    let mut earlier: Value = serde_json::from_slice(&text).expect("JSON");
    let list = |value: &mut Value| value.as_array_mut().map(std::mem::take).unwrap_or_default();
    let mut files = list(&mut earlier["files"]);
    let mut removed = 0;
    for file in files.iter_mut().filter_map(Value::as_object_mut) {
        let keys = [file.remove("kind"), file.remove("first_version")];
        let exports = file.get_mut("exports").and_then(Value::as_array_mut).into_iter().flatten();
        let exports = exports.filter_map(Value::as_object_mut);
        let of_exports = exports.filter_map(|export| export.remove("first")).count();
        removed += keys.into_iter().flatten().count() + of_exports;
    }
    assert!(removed >= 4, "two kinds, a first version and a hidden export");
    earlier["files"] = Value::Array(files);
    lab.write("earlier.json", earlier.to_string());
    for (old, new, expected) in [
        ("earlier.json", "hidden", &[][..]),
        ("hidden.json", "hidden", &[]),
        ("default.json", "default", &[]),
        ("default.json", "hidden", &["changed-symbol"]),
    ] {
        let (value, _) = diff(&lab, old, new, OFF);
        assert_eq!(words(&value, "findings"), strings(expected), "{old} {new}: {value}");
    }
}

#[test]
fn levels_and_waivers_apply_to_reports_as_to_directories() {
    let lab = Lab::new();
    lab.so("old/libe.so", "int f(void) { return 1; }", &[]);
    lab.so("new/libe.so", "int u3(void); int f(void) { return u3(); }", &[]);
    report(&lab, "old.json", "old", OFF);
    report(&lab, "new.json", "new", OFF);
    lab.write(
        "w.toml",
        "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\nsymbol = \"u3\"\nreason = \"r\"\n",
    );
    let found = ["undefined-symbol"];
    let cases: [(&[&str], &[&str], i32); 5] = [
        (&[], &found, 1),
        (&["-A", "undefined-symbol"], &[], 0),
        (&["-A", "symbol"], &[], 0),
        (&["-W", "undefined-symbol"], &found, 0),
        (&["--policy", "w.toml"], &[], 0),
    ];
    for (options, findings, status) in cases {
        for (old, new) in
            [("old", "new"), ("old.json", "new.json"), ("old.json", "new"), ("old", "new.json")]
        {
            let (value, code) = diff(&lab, old, new, &[OFF, options].concat());
            let case = format!("{old} {new} {options:?}: {value:#}");
            assert_eq!(
                (words(&value, "findings"), code),
                (strings(findings), Some(status)),
                "{case}"
            );
            let back = diff(&lab, new, old, &[OFF, options].concat()).0;
            assert_eq!(words(&back, "fixed"), strings(findings), "{case}");
        }
    }
    // The run of a report may have enabled a rule that is off by default.
    report(&lab, "hard.json", "new", &[OFF, &["-D", "hardening"]].concat());
    let (value, _) = diff(&lab, "hard.json", "new.json", OFF);
    assert!(value["undecided"].to_string().contains("did not run"), "{value:#}");
}

#[test]
fn a_pipe_is_read_as_a_report() {
    let lab = Lab::new();
    lab.so("p/libe.so", "int u3(void); int f(void) { return u3(); }", &[]);
    report(&lab, "p.json", "p", OFF);
    let (program, off) = (env!("CARGO_BIN_EXE_linkaudit"), OFF.join(" "));
    let run = |line: &str| {
        lab.sh(&format!(
            "la() {{ env -i {program} diff \"$@\" {off} --isolated --format json; }}; {line}"
        ))
    };
    for line in ["cat p.json | la /dev/stdin p", "cat p.json | la p /dev/fd/0"] {
        let output = run(line);
        let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((output.status.code(), &value["unchanged"]), (Some(0), &1.into()), "{line}");
    }
    let output = run("mkfifo f; cat p.json > f & la f p");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for line in
        [": | la /dev/stdin p", "echo x | la /dev/stdin p", "la /dev/null p", "la p /dev/null"]
    {
        let output = run(line);
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{line}");
    }
}

#[test]
fn two_sides_of_one_name_are_said_once() {
    let lab = Lab::new();
    lab.so("p/libe.so", "int f(void) { return 1; }", &[]);
    lab.sh("head -c 30 p/libe.so > p/libd.so");
    let (value, code) = diff(&lab, "p", "p", OFF);
    let lines = words(&value, "undecided");
    let distinct: BTreeSet<&String> = lines.iter().collect();
    assert_eq!((distinct.len(), code), (lines.len(), Some(3)), "{lines:?}");
    assert!(lines.contains(&"p: some files were not read or decided".to_owned()), "{lines:?}");
}
