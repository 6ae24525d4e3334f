//! Valid policies: they load, fit the schema that editors read, and read back as the same policy
//! from the output of `policy show`.

use super::kit::{Memory, bare, file, json, one, right};
use linkaudit::policy::{builtin, schema};
use linkaudit::rules::catalogue;
use std::collections::BTreeSet;
use std::path::Path;

/// The validator of the shipped schema.
pub(crate) fn validator() -> jsonschema::Validator {
    let schema = serde_json::from_str(&schema(catalogue())).expect("the schema is JSON");
    jsonschema::meta::validate(&schema).expect("it is a JSON Schema");
    jsonschema::validator_for(&schema).expect("it can be used")
}

#[test]
fn right_policies_load_and_fit_the_schema() {
    let validator = validator();
    let policies = right();
    for (name, text) in &policies {
        one(text).unwrap_or_else(|error| panic!("{name}:\n{error}"));
        let errors: Vec<String> = validator
            .iter_errors(&json(text))
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    println!("{} policies, 0 refused by the schema", policies.len());
}

#[test]
fn the_schema_refuses_what_the_parser_refuses_by_shape() {
    let validator = validator();
    let (mut refused, mut all) = (0, 0);
    for topic in ["keys", "types", "names"] {
        for case in file(&format!("broken/{topic}.txt")).split("== ").skip(1) {
            let (_, text) = case.split_once('\n').expect("a title");
            let text = text.split("-- says\n").next().expect("a policy");
            all += 1;
            refused += usize::from(!validator.is_valid(&json(text)));
        }
    }
    // A JSON Schema cannot refuse a float that is 1, a number in another base, or a part of a
    // version that is too large for its type.
    let passed = all - refused;
    println!("{all} broken policies, {passed} that the schema lets pass");
    assert!(passed <= 12, "{passed} of {all}");
}

#[test]
fn the_shipped_schema_is_the_one_that_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policy.schema.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, schema(catalogue())).expect("the schema is written");
    }
    let shipped = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(shipped == schema(catalogue()), "docs/policy.schema.json differs; UPDATE=1 writes it");
}

#[test]
fn what_show_writes_reads_back_as_the_same_policy() {
    for (name, text) in right() {
        let memory = Memory::default().with("d/p.toml", &text);
        let policy = memory.load(&["d/p.toml"]).unwrap_or_else(|error| panic!("{name}:\n{error}"));
        let shown = policy.show();
        let again = one(&shown).unwrap_or_else(|error| panic!("{name}:\n{error}\n{shown}"));
        assert_eq!(bare(policy.clone()), bare(again.clone()), "{name}:\n{shown}");
        assert_eq!(bare(again.clone()), bare(one(&again.show()).expect("it is right")), "{name}");
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{name}");
    }
}

#[test]
fn show_says_where_each_entry_came_from() {
    let base = "schema = 1\n[levels]\nsymbol = \"warn\"\nlibrary = \"warn\"\n[provided]\nlibraries = [\"a\"]\n";
    let next = "schema = 1\nextends = [\"base.toml\"]\n[levels]\nsymbol = \"deny\"\n";
    let memory = Memory::default().with("base.toml", base).with("p.toml", next);
    let shown = memory.load(&["p.toml"]).expect("they are right").show();
    for line in [
        "# merged from default, base.toml, p.toml\n",
        "library = \"warn\" # base.toml:4\n",
        "symbol = \"deny\" # p.toml:4\n",
        "    \"a\", # base.toml:6\n",
        "[[provider]] # built-in default:",
    ] {
        assert!(shown.contains(line), "{line:?} is not in\n{shown}");
    }
    assert!(!shown.contains("base.toml:3"), "{shown}");
    // Long lists are wrapped; a single pattern may be longer than a line.
    let long = shown.lines().filter(|line| line.len() > 100 && line.contains("\", "));
    assert_eq!(long.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn everything_is_in_the_fixture_and_in_the_template() {
    let schema: serde_json::Value = serde_json::from_str(&schema(catalogue())).expect("JSON");
    let mut keys = BTreeSet::new();
    collect(&schema, &mut keys);
    for text in [file("valid/everything.toml"), super::kit::template()] {
        let mut used = BTreeSet::new();
        names(&json(&text), &mut used);
        // The template names the selectors of a waiver in its prose.
        let missing: Vec<&String> =
            keys.difference(&used).filter(|key| !text.contains(*key)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

/// Keys that the schema describes.
fn collect(schema: &serde_json::Value, keys: &mut BTreeSet<String>) {
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (key, inner) in properties {
        if inner.get("description").is_some() {
            keys.insert(key.clone());
            collect(inner, keys);
            collect(&inner["items"], keys);
        }
    }
}

fn names(value: &serde_json::Value, out: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| {
            out.insert(key.clone());
            names(value, out);
        }),
        serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, out)),
        _ => {}
    }
}

#[test]
fn built_in_policies_are_the_files_on_disk_and_give_reasons() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    let disk: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("policies")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("UTF-8"))
        .collect();
    let table = builtin::BUILT_IN.iter().map(|policy| format!("{}.toml", policy.name));
    let of_auditwheel = ["LICENSE.auditwheel", "manylinux-policy.json", "musllinux-policy.json"];
    assert_eq!(disk, table.chain(of_auditwheel.map(str::to_owned)).collect());
    for policy in builtin::BUILT_IN {
        assert!(policy.text.starts_with("# "), "{} does not say what it is", policy.name);
        // A reason is above the first line to which it applies; consecutive lines may share one
        // reason.
        for part in policy.text.split("\n\n").filter(|part| part.contains(" = ")) {
            let fine = part.contains('#') || part.contains("schema = 1");
            assert!(fine, "{}: no reason for\n{part}", policy.name);
        }
    }
    println!("{} built-in policies", disk.len());
}
