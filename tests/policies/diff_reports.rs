//! `linkaudit diff` with a report of the old side that was written with other options than those of
//! the comparison.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use serde_json::Value;
use support::Lab;

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
