//! Waivers by each key of a finding.

use crate::support::Lab;
use crate::support::report::list;
use crate::support::rule_fixtures::Fixture;
use std::collections::BTreeSet;

const KEYS: [&str; 7] = ["path", "symbol", "version", "library", "target", "member", "detail"];

/// A TOML string in which no character of the value has a meaning for patterns.
fn literal(value: &str) -> String {
    let mut pattern = String::new();
    for c in value.chars() {
        if "\\*?[]{}!".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    serde_json::to_string(&pattern).expect("a string")
}

/// Each key of each finding of every fixture, in a waiver of its own: all findings are waived, and
/// no waiver is stale.
#[test]
fn every_key_waives_its_finding() {
    let (mut waivers, mut wrong) = (0, Vec::new());
    let mut by_target = 0;
    for fixture in Fixture::some_bad(4) {
        let built = fixture.build();
        let option = built.audit.iter().position(|argument| argument == "--policy");
        let file = option.map_or("linkaudit.toml", |at| &built.audit[at + 1]);
        let policy = std::fs::read_to_string(built.lab.path(file));
        let policy = policy.unwrap_or_else(|_| "schema = 1\n".to_owned());
        let before = built.report(&[]).0;
        for key in KEYS {
            let mut entries = BTreeSet::new();
            let mut expected = 0;
            for finding in list(&before["findings"]) {
                let (Some(rule), Some(value)) = (finding["rule"].as_str(), finding[key].as_str())
                else {
                    continue;
                };
                // Policies have no empty patterns.
                if value.is_empty() {
                    continue;
                }
                let value = literal(value);
                entries.insert(format!(
                    "[[waive]]\nrule = \"{rule}\"\n{key} = {value}\nreason = \"accepted\"\n"
                ));
                expected += 1;
            }
            if expected == 0 {
                continue;
            }
            let entries: String = entries.into_iter().collect();
            built.lab.write(file, format!("{policy}{entries}"));
            let after = built.report(&[]).0;
            let waived = list(&after["waived"]).count();
            let stale = list(&after["findings"])
                .filter(|finding| finding["rule"] == "stale-waiver")
                .count();
            if waived != expected || stale > 0 {
                let name = fixture.name();
                wrong.push(format!("{name} by {key}: {waived} of {expected}, {stale} stale"));
            }
            waivers += expected;
            by_target += if key == "target" { expected } else { 0 };
        }
    }
    println!("waivers by one key: {waivers} waivers, {} differ", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(by_target > 0, "no fixture has a target");
}

/// A baseline line about a policy fits however the path of the policy is typed.
#[test]
fn the_path_of_a_policy_is_the_same_however_it_is_typed() {
    let lab = Lab::new();
    lab.so("p/libe.so", "int f(void) { return 1; }", &[]);
    lab.write(
        "o/p.toml",
        "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\nsymbol = \"no\"\nreason = \"r\"\n",
    );
    let full = lab.path("o/p.toml");
    let full = full.to_str().expect("a path in UTF-8");
    let run = |policy: &str, more: &[&str]| {
        let all = ["p", "--policy", policy, "-A", "link-hygiene", "--fail-on", "warning"];
        lab.linkaudit(&[&all, more].concat())
    };
    run("o/p.toml", &["--write-baseline", "known"]);
    let known = std::fs::read_to_string(lab.path("known")).expect("a baseline");
    assert!(known.contains(" stale-waiver o/p.toml "), "{known}");
    for policy in ["o/p.toml", "./o/p.toml", full] {
        let output = run(policy, &["--baseline", "known", "--fail-on-stale"]);
        assert_eq!(output.status.code(), Some(0), "{policy}: {output:?}");
        let output = run(policy, &["--relative-to", "o", "--format", "gcc"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with("p.toml: "), "{policy}: {text}");
    }
}
