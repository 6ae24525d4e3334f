//! Every rule on its fixtures: on `bad` only that rule has findings, on `good` none has. The
//! folders of `testdata/rules` are those of the rule table. `UPDATE=1` writes `expect` again.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::rule_fixtures;

use rule_fixtures::{Fixture, folder, rules};

#[test]
fn every_rule_has_a_folder_and_every_folder_a_rule() {
    // Rules about two reports have their cases in `diffs`.
    let of_audits = linkaudit::rules::RULES.iter().filter(|rule| !rule.is_of_diff());
    let mut table: Vec<&str> = of_audits.map(|rule| rule.id.as_str()).collect();
    table.sort_unstable();
    assert_eq!(rules(), table);
    for fixture in Fixture::bad().into_iter().chain(Fixture::good()) {
        assert!(fixture.path("build").is_file(), "{} has no `build`", fixture.name());
    }
    for rule in rules() {
        let mut kinds: Vec<_> = std::fs::read_dir(folder().join(&rule))
            .expect("the folder of a rule")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        kinds.sort();
        assert_eq!(kinds, ["bad", "good"], "{rule}");
    }
}

#[test]
fn on_bad_exactly_that_rule_fires() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    for fixture in Fixture::bad() {
        let name = fixture.name();
        let built = fixture.build();
        let (report, status) = built.report(&[]);
        let found = built.lines(&report);
        wrong.extend(unexpected_keys(&report).map(|key| format!("{name}: {key}")));
        let others = found.iter().filter(|line| !line.starts_with(&format!("{} ", fixture.rule)));
        let others: Vec<&String> = others.collect();
        if found.is_empty() {
            wrong.push(format!("{name}: nothing fires"));
        }
        if !others.is_empty() {
            wrong.push(format!("{name}: other rules fire: {others:#?}"));
        }
        let expected = match linkaudit::rules::find(&fixture.rule) {
            Some(rule) if rule.group.is_input => 3,
            Some(rule) if rule.level == linkaudit::catalogue::Level::Error => 1,
            // The whitelist of its policy makes it an error.
            Some(rule) if rule.id == *"outside-closure" => 1,
            _ => 0,
        };
        if status != Some(expected) {
            wrong.push(format!("{name}: the exit status is {status:?}"));
        }
        let text: String = found.iter().map(|line| format!("{line}\n")).collect();
        if update {
            std::fs::write(fixture.path("expect"), &text).expect("`expect` is written");
        }
        let expected = std::fs::read_to_string(fixture.path("expect")).unwrap_or_default();
        if text != expected {
            wrong.push(format!("{name}: finds\n{text}instead of\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Keys of findings that the catalogue lacks: waivers with these keys would be refused.
fn unexpected_keys(report: &serde_json::Value) -> impl Iterator<Item = String> {
    let findings = report["findings"].as_array().expect("findings").iter();
    findings.flat_map(|finding| {
        let rule = finding["rule"].as_str().expect("a rule");
        let settled = linkaudit::rules::catalogue().known(rule).and_then(|known| known.keys);
        let keys = ["symbol", "version", "library", "target", "member", "detail"].into_iter();
        let strange = keys
            .filter(|key| !finding[key].is_null())
            .filter(move |key| settled.is_some_and(|settled| !settled.contains(key)));
        strange.map(move |key| format!("the catalogue says that {rule} has no {key}"))
    })
}

#[test]
fn on_good_nothing_fires() {
    let mut wrong = Vec::new();
    for fixture in Fixture::good() {
        let name = fixture.name();
        let built = fixture.build();
        let (report, status) = built.report(&[]);
        // A fixture on which nothing is audited would prove nothing.
        if report["totals"]["roots"].as_u64().unwrap_or(0) == 0 {
            wrong.push(format!("{name}: there is nothing to audit"));
        }
        let found = built.lines(&report);
        if !found.is_empty() || status != Some(0) || report["complete"] != true {
            wrong.push(format!("{name}: exit status {status:?}, findings {found:#?}"));
        }
        if fixture.path("expect").exists() {
            wrong.push(format!("{name}: `expect` is for `bad` only"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
