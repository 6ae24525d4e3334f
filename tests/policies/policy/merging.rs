//! The result of several policies: order, tables by key, lists. Order changes nothing if they do
//! not contradict each other.

use super::kit::{Memory, bare};
use super::random::Random;
use linkaudit::catalogue::Level;
use linkaudit::policy::Policy;
use linkaudit::rules::RULES;

/// Policies that do not contradict each other.
const APART: [(&str, &str); 6] = [
    ("a.toml", "schema = 1\n[levels]\nsymbol = \"deny\"\n[require]\nfiles = [\"a\", \"b\"]\n"),
    ("b.toml", "schema = 1\nextends = [\"nix\"]\n[levels]\nundefined-symbol = \"warn\"\n"),
    ("c.toml", "schema = 1\n[gpu]\ntargets = [\"gfx90a\"]\n[require]\nfiles = [\"b\", \"c\"]\n"),
    (
        "d.toml",
        "schema = 1\nextends = [\"a.toml\"]\n[[waive]]\nrule = \"malformed\"\npath = \"a\"\nreason = \"r\"\n",
    ),
    (
        "e.toml",
        "schema = 1\n[[waive]]\nrule = \"malformed\"\npath = \"a\"\nreason = \"r\"\n[provided]\nlibraries = [\"x\"]\n",
    ),
    (
        "f.toml",
        "schema = 1\nextends = [\"nix\", \"c.toml\"]\n[limits.symbol-versions]\nGLIBC = \"2.17\"\n",
    ),
];

/// The demands of a policy as a set, and the resulting levels.
fn meaning(policy: &Policy) -> (Vec<String>, Vec<Level>) {
    let bare = bare(policy.clone());
    let mut said: Vec<String> = Vec::new();
    said.extend(bare.waivers.iter().map(|e| format!("{e:?}")));
    said.extend(bare.required_files.iter().map(|e| format!("{e:?}")));
    said.extend(bare.required_packages.iter().map(|e| format!("{e:?}")));
    said.extend(bare.hosts.iter().map(|e| format!("{e:?}")));
    said.extend(bare.providers.iter().map(|e| format!("{e:?}")));
    said.extend(bare.provided.iter().map(|e| format!("{e:?}")));
    said.extend(bare.version_limits.iter().map(|e| format!("{e:?}")));
    said.push(format!("{:?} {:?}", bare.gpu, bare.search_path));
    said.sort();
    (said, RULES.iter().map(|rule| policy.level_of(&rule.known())).collect())
}

#[test]
fn without_contradictions_the_order_decides_nothing() {
    let memory = APART.iter().fold(Memory::default(), |m, (name, text)| m.with(name, text));
    let names = APART.map(|(name, _)| name);
    let expected = meaning(&memory.load(&names).expect("they are right"));
    let orders = 200;
    for seed in 0..orders {
        let random = &mut Random::new(seed);
        let mut order = names;
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at + 1));
        }
        let found = meaning(&memory.load(&order).expect("they are right"));
        assert_eq!(found, expected, "{order:?}");
    }
    println!("{orders} orders of {} policies, 0 differences", names.len());
}

#[test]
fn a_rule_wins_over_its_group_and_the_last_over_the_first() {
    let level = |files: &[&str]| {
        let set = |what: &str| format!("schema = 1\n[levels]\n{what}\n");
        let memory = Memory::default()
            .with("rule-warn", set("undefined-symbol = \"warn\""))
            .with("rule-allow", set("undefined-symbol = \"allow\""))
            .with("group-deny", set("symbol = \"deny\""))
            .with("group-allow", set("symbol = \"allow\""));
        let policy = memory.load(files).expect("they are right");
        let rule = RULES.iter().find(|rule| rule.id == *"undefined-symbol").expect("a rule");
        policy.level_of(&rule.known())
    };
    assert_eq!(level(&[]), Level::Error);
    assert_eq!(level(&["rule-warn", "rule-allow"]), Level::Allow);
    assert_eq!(level(&["rule-allow", "rule-warn"]), Level::Warning);
    assert_eq!(level(&["group-deny", "group-allow"]), Level::Allow);
    assert_eq!(level(&["group-allow", "group-deny"]), Level::Error);
    assert_eq!(level(&["rule-warn", "group-allow"]), Level::Warning);
    assert_eq!(level(&["group-allow", "rule-warn"]), Level::Warning);
}

#[test]
fn lists_append_and_what_stands_for_itself_is_replaced() {
    let text = |targets: &str, allow: &str, file: &str, version: &str| {
        format!(
            "schema = 1\n[gpu]\ntargets = [{targets}]\nloader = \"nix\"\n[search-path]\nallow = [{allow}]\n\
             [require]\nfiles = [\"{file}\"]\n[limits.symbol-versions]\nGLIBC = \"{version}\"\n"
        )
    };
    let memory = Memory::default()
        .with("a.toml", text("\"gfx90a\"", "\"/a\"", "a", "2.17"))
        .with("b.toml", text("\"gfx1030\"", "", "b", "2.28"))
        .with(
            "c.toml",
            "schema = 1\n[gpu]\nloader = \"stock\"\n[limits.symbol-versions]\nGCC = \"3\"\n",
        );
    let policy = memory.load(&["a.toml", "b.toml", "c.toml"]).expect("they are right");
    assert_eq!(policy.gpu.targets.expect("targets").0, ["gfx1030"]);
    assert_eq!(policy.gpu.loader.expect("a loader").0, "stock");
    assert_eq!(policy.search_path.allow.expect("entries").0, [""; 0]);
    let files: Vec<_> = policy.required_files.iter().map(|file| file.path.text()).collect();
    assert_eq!(files, ["a", "b"]);
    let limits: Vec<_> =
        policy.version_limits.iter().map(|l| (l.family.as_str(), l.newest.as_slice())).collect();
    assert_eq!(limits, [("GLIBC", [2, 28].as_slice()), ("GCC", &[3])]);
}

#[test]
fn paths_are_relative_to_the_policy_that_names_them() {
    let text = "schema = 1\n[[archive]]\nmatch = \"a.a\"\ndeps-list = \"l.cmake\"\nfrom = { s = \"lib\", t = \"/t\" }\n";
    let memory = Memory::default()
        .with("x/y/p.toml", text)
        .with("x/q.toml", "schema = 1\nextends = [\"y/p.toml\"]\n");
    let policy = memory.load(&["x/q.toml"]).expect("they are right");
    let archive = &policy.archives[0];
    assert_eq!(archive.deps_list.as_deref(), Some("x/y/l.cmake".as_ref()));
    let from: Vec<_> = archive.from.iter().map(|(set, dir)| (set.as_str(), dir.to_str())).collect();
    assert_eq!(from, [("s", Some("x/y/lib")), ("t", Some("/t"))]);
}
