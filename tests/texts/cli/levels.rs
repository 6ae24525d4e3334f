//! `-A`, `-W`, `-D`, by rule and by group: the last setting wins, and a setting for a rule wins
//! over one for its group.

use super::kit::{report, run, three_trees};
use crate::support::Lab;

/// The level of the one finding of `broken`: allow, warning or error.
fn level(lab: &Lab, args: &[&str]) -> String {
    let report = report(lab, &[&["broken"], args].concat());
    let findings = report["findings"].as_array().expect("findings");
    findings.first().map_or("allow", |f| f["level"].as_str().expect("a level")).to_owned()
}

#[track_caller]
fn check(lab: &Lab, args: &[&str], expected: &str) {
    assert_eq!(level(lab, args), expected, "{args:?}");
}

#[test]
fn by_rule_and_by_group_short_and_long() {
    let lab = three_trees();
    check(&lab, &[], "error");
    for name in ["undefined-symbol", "symbol"] {
        for (short, long, expected) in
            [("-A", "--allow", "allow"), ("-W", "--warn", "warning"), ("-D", "--deny", "error")]
        {
            check(&lab, &[short, name], expected);
            check(&lab, &[long, name], expected);
            check(&lab, &[&format!("{short}{name}")], expected);
            check(&lab, &[&format!("{long}={name}")], expected);
        }
    }
}

#[test]
fn other_rules_and_groups_are_not_touched() {
    let lab = three_trees();
    check(&lab, &["-A", "library", "-A", "input", "-A", "missing-library"], "error");
}

#[test]
fn the_last_setting_wins() {
    let lab = three_trees();
    let options = [("-A", "allow"), ("-W", "warning"), ("-D", "error")];
    for name in ["undefined-symbol", "symbol"] {
        for (first, _) in options {
            for (last, expected) in options {
                check(&lab, &[first, name, last, name], expected);
                check(&lab, &["-A", "library", first, name, last, name, "-D", "input"], expected);
            }
        }
    }
}

#[test]
fn a_rule_wins_over_its_group_in_any_order() {
    let lab = three_trees();
    let options = [("-A", "allow"), ("-W", "warning"), ("-D", "error")];
    for (group, _) in options {
        for (rule, expected) in options {
            check(&lab, &[group, "symbol", rule, "undefined-symbol"], expected);
            check(&lab, &[rule, "undefined-symbol", group, "symbol"], expected);
        }
    }
}

#[test]
fn several_names_in_one_option() {
    let lab = three_trees();
    check(&lab, &["-A", "library,undefined-symbol"], "allow");
    check(&lab, &["-W", "symbol,library,input"], "warning");
    run(&lab, &["broken", "-A", "library,nosuch"]).refused(&["`nosuch`", "explain"]).in_style();
}

#[test]
fn what_is_allowed_is_not_shown() {
    let lab = three_trees();
    let text = run(&lab, &["broken", "-A", "symbol"]).out;
    assert!(!text.contains("gone"), "{text}");
    assert!(text.contains("nothing wrong"), "{text}");
}

#[test]
fn every_rule_and_group_of_explain_can_be_set() {
    let lab = three_trees();
    for rule in linkaudit::rules::RULES {
        for name in [rule.id.as_str(), rule.group.name] {
            assert_eq!(run(&lab, &["fine", "-W", name]).status, 0, "{name}");
        }
    }
}

#[test]
fn an_old_id_is_taken_with_a_warning() {
    let lab = three_trees();
    let audit = run(&lab, &["fine", "-A", "hijacked-symbol"]);
    assert_eq!(audit.status, 0, "{}", audit.err);
    let words = "rule `hijacked-symbol` was renamed to `interposed-symbol`";
    assert!(audit.err.contains(&format!("warning: command line: {words}")), "{}", audit.err);
    let page = run(&lab, &["explain", "hijacked-symbol"]);
    assert!(page.status == 0 && page.out.starts_with("# interposed-symbol\n"), "{}", page.err);
    assert_eq!(page.err, format!("warning: {words}\n"));
}

#[test]
fn explain_takes_an_old_id_with_a_warning() {
    let lab = three_trees();
    let [old, new] = ["hijacked-symbol", "interposed-symbol"].map(|id| run(&lab, &["explain", id]));
    assert_eq!((old.status, &old.out), (0, &new.out));
    let words = "warning: rule `hijacked-symbol` was renamed to `interposed-symbol`";
    assert!(old.err.contains(words), "{}", old.err);
}
