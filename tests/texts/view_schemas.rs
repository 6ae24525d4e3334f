//! Checks `docs/tree.schema.json` and `docs/why.schema.json` with real answers, and with broken
//! ones, which they must refuse.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;
use crate::support::rule_fixtures;

use jsonschema::Validator;
use rule_fixtures::Fixture;
use serde_json::{Value, json};
use std::path::Path;
use support::Lab;

fn validator(name: &str) -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{name}.schema.json"));
    let schema = std::fs::read_to_string(path).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("the schema is JSON");
    jsonschema::meta::validate(&schema).expect("the schema is a schema");
    jsonschema::validator_for(&schema).expect("the schema is a schema")
}

#[track_caller]
fn assert_valid(validator: &Validator, what: &str, value: &Value) {
    let text = |e: jsonschema::ValidationError<'_>| format!("{}: {e}", e.instance_path());
    let errors: Vec<String> = validator.iter_errors(value).map(text).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}");
}

fn answer(cwd: &Path, args: &[&str]) -> Value {
    let output = support::linkaudit()
        .current_dir(cwd)
        .args(args)
        .args(["--format", "json"])
        .output()
        .expect("linkaudit runs");
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A program, a library that it loads, one that is missing, and symbols with and without
/// definition.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.so("p/lib/libgone.so", "int g(void) { return 1; }", &[]);
    let source = "int g(void); void gone(void) __attribute__((weak)); \
                  int foo(void) { if (gone) gone(); return g(); }";
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lgone", "-Wl,-soname,libfoo.so"];
    lab.so("p/lib/libfoo.so", source, &flags);
    let old = "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib";
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lfoo", old];
    lab.exe("p/bin/app", "int foo(void); int main(void) { return foo(); }", &flags);
    std::fs::remove_file(lab.path("p/lib/libgone.so")).expect("the library");
    lab
}

#[test]
fn trees_of_all_fixtures_and_of_the_system() {
    let validator = validator("tree");
    let mut cases = 0;
    for fixture in Fixture::some(4) {
        let built = fixture.build();
        for options in [&[][..], &["--as-ldd"]] {
            let audit = built.audit.iter().map(String::as_str);
            let args: Vec<&str> = ["tree"].into_iter().chain(audit).collect();
            let tree = answer(&built.lab.root(), &[&args, options].concat());
            assert_valid(&validator, &fixture.name(), &tree);
            cases += 1;
        }
    }
    assert_valid(&validator, "/usr/bin", &answer(Path::new("/"), &["tree", "/usr/bin"]));
    println!("tree schema: {} cases, 0 differences", cases + 1);
}

#[test]
fn answers_about_libraries_symbols_and_nothing() {
    let (validator, lab) = (validator("why"), lab());
    let kinds = [
        ("libfoo.so", "library"),
        ("libgone.so", "library"),
        ("app", "library"),
        ("g", "symbol"),
        ("gone", "symbol"),
        ("foo", "symbol"),
        ("__libc_start_main", "symbol"),
        ("nosuch", "unknown"),
        ("libfooo.so", "unknown"),
    ];
    for (name, kind) in kinds {
        let why = answer(&lab.root(), &["why", name, "p"]);
        assert_valid(&validator, name, &why);
        assert_eq!(why["kind"], kind, "{name}");
    }
    for name in ["libc.so.6", "malloc", "stdout", "ld-linux-x86-64.so.2", "operator delete(void*)"]
    {
        let why = answer(Path::new("/"), &["why", name, "/usr/bin"]);
        assert_valid(&validator, name, &why);
        assert!(why["requesters"].as_array().is_some_and(|list| !list.is_empty()), "{name}");
    }
}

/// An answer about a symbol that is defined with another parameter list.
fn near_miss(lab: &Lab) -> Value {
    lab.so("q/libone.so", "int _ZN1A1fEi(int i) { return i; }", &[]);
    let source = "int _ZN1A1fEv(void); int use(void) { return _ZN1A1fEv(); }";
    let flags = ["-Wl,--no-as-needed", "-Lq", "-lone", "-Wl,-rpath,$ORIGIN"];
    lab.so("q/libuse.so", source, &flags);
    answer(&lab.root(), &["why", "A::f()", "q"])
}

/// An answer of `archive` with something in every list.
fn archives(lab: &Lab) -> Value {
    let source = "void def(void); void gone(void); void use(void) { def(); gone(); }";
    lab.cc("use.o", source, &["-c"], &[]);
    lab.cc("def.o", "void def(void) {}", &["-c"], &[]);
    lab.write("code.bc", b"BC\xc0\xde");
    for (archive, members) in [
        ("one.a", &["use.o", "code.bc"][..]),
        ("from/two.a", &["def.o"]),
        ("from/three.a", &["def.o"]),
    ] {
        lab.mkdir("from");
        let mut ar = support::clean("ar");
        let status = ar.current_dir(lab.root()).arg("rc").arg(archive).args(members).status();
        assert!(status.expect("ar runs").success());
    }
    let roots = ["--root-symbol", "use", "--root-object", "use.o"];
    let value =
        answer(&lab.root(), &[&["archive", "one.a", "--from", "from"], &roots[..]].concat());
    for list in ["roots", "archives", "needed", "unknown", "ties", "opaque"] {
        assert!(value[list].as_array().is_some_and(|list| !list.is_empty()), "{list}: {value}");
    }
    value
}

/// Every object of a document, as pointers; one item stands for all of a list.
fn objects(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            out.push(at.to_owned());
            map.iter().for_each(|(key, value)| objects(value, &format!("{at}/{key}"), out));
        }
        Value::Array(list) => {
            list.iter().take(1).for_each(|first| objects(first, &format!("{at}/0"), out));
        }
        _ => {}
    }
}

#[test]
fn an_unknown_and_a_missing_key_are_refused_everywhere() {
    let lab = lab();
    let mut tree = answer(&lab.root(), &["tree", "p"]);
    let edges = tree["edges"].as_array().expect("edges").clone();
    let missing = edges.iter().find(|edge| edge["how"] == "missing").expect("a missing library");
    tree["edges"] = json!([missing]);
    tree["roots"][0]["stopped"] = json!({ "object": "x", "by": null, "reason": "no" });
    let mut cases = vec![("tree", tree)];
    for name in ["libgone.so", "libfoo.so", "g", "foo", "__libc_start_main"] {
        cases.push(("why", answer(&lab.root(), &["why", name, "p"])));
    }
    cases.push(("why", answer(&lab.root(), &["why", "foo", "p", "--under", "app"])));
    let undefined = near_miss(&lab);
    for list in ["/searched", "/requesters/0/near_misses"] {
        let list = undefined.pointer(list).and_then(Value::as_array);
        assert!(list.is_some_and(|list| !list.is_empty()), "{undefined:#}");
    }
    cases.push(("why", undefined));
    cases.push(("archive", archives(&lab)));
    cases.push(("archive", answer(&lab.root(), &["archive", "--self", "."])));
    let mut refused = 0;
    for (schema, value) in cases {
        let validator = validator(schema);
        assert_valid(&validator, schema, &value);
        let mut places = Vec::new();
        objects(&value, "", &mut places);
        for place in &places {
            let mut broken = value.clone();
            broken.pointer_mut(place).expect("an object")["surprise"] = json!(1);
            assert!(!validator.is_valid(&broken), "{schema}: a surprise in {place:?}");
            let object = value.pointer(place).and_then(Value::as_object).expect("an object");
            for key in object.keys() {
                let mut broken = value.clone();
                let object = broken.pointer_mut(place).and_then(Value::as_object_mut);
                object.expect("an object").remove(key);
                assert!(!validator.is_valid(&broken), "{schema}: {place} without {key}");
                refused += 1;
            }
        }
    }
    println!("view schemas: {refused} answers without a key, all refused");
    assert!(refused > 80, "{refused}");
}

#[test]
fn wrong_values_are_refused() {
    let lab = lab();
    let (validator, tree) = (validator("tree"), answer(&lab.root(), &["tree", "p"]));
    let wrong = [
        ("/schema", json!("linkaudit.tree/2")),
        ("/edges/0/how", json!("found")),
        ("/edges/0/how", json!("root")),
        ("/edges/0/from", json!(null)),
        ("/edges/0/loads", json!("yes")),
        ("/edges/0/tag", json!("wanted")),
        ("/nodes/0/path", json!(3)),
        ("/roots/0/loader", json!(null)),
    ];
    for (place, value) in wrong {
        let mut broken = tree.clone();
        *broken.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value.clone();
        assert!(!validator.is_valid(&broken), "{place} may be {value}");
    }
}
