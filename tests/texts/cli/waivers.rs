//! Waivers: the findings that they match, the effect on those, and stale waivers.

use super::kit::{BROKEN, FOO, findings, report, run, summary, text};
use crate::support::Lab;
use serde_json::{Value, json};

/// A `[[waive]]` entry.
fn waive(lines: &str) -> String {
    format!("[[waive]]\n{lines}\nreason = \"known\"\n")
}

/// Writes the policy file of the laboratory.
fn policy(lab: &Lab, entries: &[String]) {
    lab.write("linkaudit.toml", format!("schema = 1\n{}", entries.concat()));
}

/// `p/liba.so` lacks the function `gone`, `p/lib/libb.so` the functions `one` and `two`.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.so("p/liba.so", BROKEN, &[]);
    let source = "void one(void); void two(void); void b(void) { one(); two(); }";
    lab.so("p/lib/libb.so", source, &[]);
    lab
}

/// Symbols of open and of waived findings.
fn symbols(report: &Value) -> (Vec<&str>, Vec<&str>) {
    let list = |key: &str| -> Vec<&str> {
        let list = report[key].as_array().expect("a list");
        list.iter().filter_map(|finding| finding["symbol"].as_str()).collect()
    };
    (list("findings"), list("waived"))
}

#[test]
fn all_selectors_must_match() {
    let lab = lab();
    let rule = "rule = \"undefined-symbol\"\n";
    let cases: &[(&str, &[&str])] = &[
        ("symbol = \"gone\"", &["gone"]),
        ("symbol = \"*o*\"", &["one", "two", "gone"]),
        ("path = \"*.so\"", &["gone"]),
        ("path = \"**/*.so\"", &["one", "two", "gone"]),
        ("path = \"lib/*\"", &["one", "two"]),
        ("path = \"lib/*\"\nsymbol = \"t*\"", &["two"]),
        ("path = \"liba.so\"\nsymbol = \"t*\"", &[]),
        // There is no version, so no pattern matches it.
        ("version = \"*\"", &[]),
        ("symbol = \"gone\"\nlibrary = \"*\"", &[]),
    ];
    for (selectors, expected) in cases {
        policy(&lab, &[waive(&format!("{rule}{selectors}"))]);
        let report = report(&lab, &["p"]);
        let (found, waived) = symbols(&report);
        assert_eq!(waived, *expected, "{selectors}");
        assert_eq!(found.len() + waived.len(), 3, "{selectors}: nothing is lost");
    }
}

#[test]
fn who_waives_is_told() {
    let lab = lab();
    let entry = waive("rule = \"undefined-symbol\"\nsymbol = \"gone\"\nexpires = 2999-01-31");
    policy(&lab, &[entry]);
    let report = report(&lab, &["p"]);
    let expected = json!({
        "by": "policy", "reason": "known", "source": "linkaudit.toml", "line": 2,
        "expires": "2999-01-31"
    });
    assert_eq!(report["waived"][0]["waiver"], expected);
    let human = run(&lab, &["p", "-v"]).out;
    assert!(human.contains("1 waived (0 by baseline)\n"), "{human}");
    assert!(human.contains("    by linkaudit.toml:2: known\n"), "{human}");
    assert!(run(&lab, &["p"]).out.contains("1 waived (0 by baseline)\n"));
}

#[test]
fn two_waivers_for_one_finding_are_both_used() {
    let lab = lab();
    let rule = "rule = \"undefined-symbol\"\n";
    let one = format!("schema = 1\n{}", waive(&format!("{rule}symbol = \"*\"")));
    let two = format!("schema = 1\n{}", waive(&format!("{rule}path = \"**\"")));
    lab.write("one.toml", one);
    lab.write("two.toml", two);
    let run = |order: [&str; 2]| {
        let mut value = report(&lab, &["p", "--policy", order[0], "--policy", order[1]]);
        assert_eq!(value["findings"], json!([]));
        value["policies"] = Value::Null;
        value
    };
    let first = run(["one.toml", "two.toml"]);
    assert_eq!(first, run(["two.toml", "one.toml"]));
    assert_eq!(first["waived"][0]["waiver"]["source"], "one.toml");
}

#[test]
fn a_waiver_and_a_line_of_the_baseline_are_both_used() {
    let lab = lab();
    run(&lab, &["p", "--write-baseline", "known", "--isolated"]);
    policy(&lab, &[waive("rule = \"undefined-symbol\"\nsymbol = \"gone\"")]);
    let report = report(&lab, &["p", "--baseline", "known"]);
    assert_eq!(report["findings"], json!([]));
    assert_eq!(report["stale"], Value::Null);
    let by = |symbol: &str| {
        let waived = report["waived"].as_array().expect("waived");
        let finding = waived.iter().find(|finding| finding["symbol"] == symbol);
        finding.expect("the finding")["waiver"]["by"].clone()
    };
    assert_eq!((by("gone"), by("one")), (json!("policy"), json!("baseline")));
}

#[test]
fn an_expired_waiver_waives_nothing() {
    let lab = lab();
    let entry = "rule = \"undefined-symbol\"\nsymbol = \"gone\"\nexpires = 2020-01-31";
    policy(&lab, &[waive(entry)]);
    let report = report(&lab, &["p"]);
    assert_eq!(symbols(&report), (vec!["one", "two", "gone"], vec![]));
    let expired = &findings(&report)[0];
    assert_eq!(expired["rule"], "expired-waiver");
    assert_eq!(expired["level"], "warning");
    assert!(text(&expired["message"]).contains("expired on 2020-01-31"), "{expired}");
}

#[test]
fn the_last_day_still_counts() {
    let lab = lab();
    let day = |words: &str| {
        let date = crate::support::clean("date").args(["-u", "+%F", "-d", words]).output();
        String::from_utf8(date.expect("date runs").stdout).expect("a date").trim().to_owned()
    };
    for (words, waives) in [("tomorrow", true), ("today", true), ("yesterday", false)] {
        let expires = day(words);
        let entry = format!("rule = \"undefined-symbol\"\nsymbol = \"gone\"\nexpires = {expires}");
        policy(&lab, &[waive(&entry)]);
        let report = report(&lab, &["p"]);
        // If the day changed during the run, the result is not compared.
        if expires == day(words) {
            assert_eq!(symbols(&report).1.len(), usize::from(waives), "{words}: {expires}");
        }
    }
}

#[test]
fn stale_only_where_it_was_looked() {
    let lab = lab();
    let rule = "rule = \"undefined-symbol\"\n";
    let stale = |entry: &str, paths: &[&str]| {
        policy(&lab, &[waive(entry)]);
        let report = report(&lab, paths);
        findings(&report).iter().any(|finding| finding["rule"] == "stale-waiver")
    };
    let by_symbol = format!("{rule}symbol = \"never\"");
    let by_path = format!("{rule}path = \"lib/libb.so\"\nsymbol = \"never\"");
    assert!(stale(&by_symbol, &["p"]));
    assert!(!stale(&by_symbol, &["p/liba.so"]), "only a part was looked at");
    assert!(stale(&by_path, &["p"]));
    assert!(!stale(&by_path, &["p/liba.so"]));
    assert!(!stale(&format!("{rule}path = \"share/**\""), &["p"]), "no such file was read");
    let text = run(&lab, &["p", "-v"]).out;
    assert!(
        text.contains("1 unused waiver or baseline line for files that were not audited"),
        "{text}"
    );
    // A waiver is stale only if its rule ran.
    assert!(!stale("rule = \"readers-disagree\"\npath = \"**\"", &["p"]));
    assert!(stale("rule = \"readers-disagree\"\npath = \"**\"", &["p", "--cross-check"]));
    assert!(!stale("rule = \"unused-library\"\npath = \"**\"", &["p"]));
}

#[test]
fn what_is_said_of_waivers_can_be_waived() {
    let lab = lab();
    let stale = waive("rule = \"undefined-symbol\"\nsymbol = \"never\"");
    let meta = waive("rule = \"stale-waiver\"\ndetail = \"undefined-symbol symbol=never\"");
    policy(&lab, &[stale, meta.clone()]);
    let both = report(&lab, &["p"]);
    assert!(!summary(&both).iter().any(|line| line.starts_with("stale-waiver")), "{both:#}");
    assert_eq!(both["waived"][0]["rule"], "stale-waiver");
    policy(&lab, &[meta]);
    let alone = report(&lab, &["p"]);
    assert_eq!(findings(&alone)[0]["rule"], "stale-waiver", "it waives nothing itself");
}

#[test]
fn levels_and_exit_status() {
    let lab = lab();
    policy(&lab, &[waive("rule = \"undefined-symbol\"\nsymbol = \"*\"")]);
    assert_eq!(run(&lab, &["p"]).status, 0);
    assert_eq!(run(&lab, &["p", "--isolated"]).status, 1);
    lab.so("p/liba.so", FOO, &[]);
    lab.so("p/lib/libb.so", FOO, &[]);
    assert_eq!(run(&lab, &["p"]).status, 0, "a stale waiver is a warning");
    assert_eq!(run(&lab, &["p", "-D", "waivers"]).status, 1);
    assert_eq!(run(&lab, &["p", "-D", "stale-waiver"]).status, 1);
    assert_eq!(run(&lab, &["p", "--fail-on", "warning"]).status, 1);
}

#[test]
fn a_waived_input_finding_leaves_the_run_complete() {
    let lab = Lab::new();
    lab.so("p/libfine.so", FOO, &[]);
    super::kit::fifo(&lab, "p/pipe");
    assert_eq!(run(&lab, &["p"]).status, 3);
    policy(&lab, &[waive("rule = \"unreadable\"\npath = \"pipe\"")]);
    assert_eq!(run(&lab, &["p"]).status, 0);
    assert_eq!(report(&lab, &["p"])["complete"], true);
}

#[test]
fn references_that_a_waived_missing_library_explains_are_assumed() {
    let lab = Lab::new();
    lab.so("p/libgone.so", "int foo(void) { return 1; }", &[]);
    let source = "int foo(void); int bar(void) { return foo(); }";
    lab.so("p/libbar.so", source, &["-Wl,--no-as-needed", "-Lp", "-lgone"]);
    std::fs::remove_file(lab.path("p/libgone.so")).expect("the library");
    let totals = |report: &Value| {
        ["explained", "assumed"].map(|key| report["totals"][key].as_u64().expect("a count"))
    };
    assert_eq!(totals(&report(&lab, &["p"])), [1, 0]);
    policy(&lab, &[waive("rule = \"missing-library\"\nlibrary = \"libgone.so\"")]);
    assert_eq!(totals(&report(&lab, &["p"])), [0, 1]);
    assert!(run(&lab, &["p"]).out.contains("1 undefined reference assumed"));
}
