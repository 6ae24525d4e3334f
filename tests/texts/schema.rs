//! Checks `docs/report.schema.json` with real reports, and with broken ones, which it must refuse.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;
use crate::support::random::is_sweep;
use crate::support::rule_fixtures;

use jsonschema::Validator;
use linkaudit::report::{self, MadeOf, OUTPUTS, Paths, Rendering, Style};
use rule_fixtures::Fixture;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use support::Lab;

/// The schema as it is shipped.
fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/report.schema.json");
    let schema = std::fs::read_to_string(path).expect("the schema");
    serde_json::from_str(&schema).expect("the schema is JSON")
}

fn compiled(schema: &Value) -> Validator {
    jsonschema::meta::validate(schema).expect("the schema is a schema");
    jsonschema::validator_for(schema).expect("the schema is a schema")
}

/// The schema for reports of this version, which refuses keys that it does not describe.
fn validator() -> Validator {
    let mut schema = schema();
    close(&mut schema);
    compiled(&schema)
}

/// Closes every object that lists its keys.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(close);
            let lists_keys = map.get("properties").is_some_and(Value::is_object);
            let is_open = map.contains_key("type") && !map.contains_key("additionalProperties");
            if lists_keys && is_open && !map.contains_key("$ref") {
                map.insert("additionalProperties".to_owned(), json!(false));
            }
            // Findings are facts with more keys, so that facts stay open.
            if let Some(defs) = map.get_mut("$defs").and_then(Value::as_object_mut) {
                if let Some(fact) = defs.get_mut("fact").and_then(Value::as_object_mut) {
                    fact.remove("additionalProperties");
                }
                for name in ["finding", "waived"] {
                    defs[name]["unevaluatedProperties"] = json!(false);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}

/// All errors of a report.
fn errors(validator: &Validator, report: &Value) -> Vec<String> {
    let text =
        |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
    validator.iter_errors(report).map(text).collect()
}

fn assert_valid(validator: &Validator, what: &str, report: &Value) {
    let errors = errors(validator, report);
    assert!(errors.is_empty(), "{what}: {errors:#?}");
}

/// The report of a run in `lab`.
fn report(lab: &Lab, args: &[&OsStr]) -> Value {
    let output = support::linkaudit()
        .current_dir(lab.root())
        .args(["--format", "json"])
        .args(args)
        .output()
        .expect("linkaudit runs");
    serde_json::from_slice(&output.stdout).expect("a JSON report")
}

#[test]
fn reports_of_all_fixtures() {
    let validator = validator();
    for fixture in Fixture::some(4) {
        let built = fixture.build();
        for options in [&[][..], &["--facts"], &["--as-ldd"]] {
            let (report, _) = built.report(options);
            assert_valid(&validator, &format!("{} {options:?}", fixture.name()), &report);
        }
    }
}

/// Reads a report back and renders it as every output made of reports does.
fn renders_as_before(
    (what, here): (&str, &Path),
    run: impl Fn(&[&str]) -> Vec<u8>,
    wrong: &mut Vec<String>,
) {
    for facts in [&[][..], &["--facts"]] {
        let bytes = run(&[&["--format", "json"], facts].concat());
        let report = report::json::read(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        for output in OUTPUTS {
            let MadeOf::Report { render, .. } = output.made_of else { continue };
            // The outputs for other programs know neither option.
            let plain = !output.for_people && output.name != "json";
            if plain && !facts.is_empty() {
                continue;
            }
            for verbose in [false, true].into_iter().take(if plain { 1 } else { 2 }) {
                let style = Style {
                    color: false,
                    verbose,
                    quiet: false,
                    next_step: true,
                    warnings_fail: false,
                    stale_fails: false,
                    gone_fails: false,
                    width: None,
                };
                let mut later = Vec::new();
                let paths = Paths { base: Some("/".into()), here: here.into(), ..Paths::default() };
                let how = Rendering { style, paths: &paths, facts: None };
                render(&report, &how, &mut later).expect("a vector takes all");
                let options = [
                    &["--relative-to", "/", "--format", output.name],
                    facts,
                    &["-v"][..usize::from(verbose)],
                ];
                if later != run(&options.concat()) {
                    wrong.push(format!("{what}: {} {facts:?} verbose: {verbose}", output.name));
                }
            }
        }
    }
}

/// A report alone suffices to render it a month later.
#[test]
fn a_report_that_is_read_back_renders_the_same() {
    let mut wrong = Vec::new();
    let fixtures = Fixture::some(20);
    for fixture in &fixtures {
        let built = fixture.build();
        let run = |options: &[&str]| {
            let mut args: Vec<&str> = built.audit.iter().map(String::as_str).collect();
            args.extend(options);
            built.lab.linkaudit(&args).stdout
        };
        renders_as_before((&fixture.name(), &built.lab.root()), run, &mut wrong);
    }
    let lab = Lab::new();
    // All of /usr/bin takes much longer than the fixtures.
    let system = if is_sweep() { "/usr/bin" } else { "/usr/lib/python3" };
    renders_as_before(
        ("the system", &lab.root()),
        |options| lab.linkaudit(&[&[system], options].concat()).stdout,
        &mut wrong,
    );
    let n = fixtures.len() + 1;
    println!("{n} reports read back, each in 3 formats, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_no_report_is_refused_with_a_reason() {
    let report = rich();
    let refused = |report: &Value| {
        let error = report::json::read(report.to_string().as_bytes()).expect_err("it is no report");
        error.to_string()
    };
    let mut other = report.clone();
    other["schema"] = json!("linkaudit.report/2");
    other["findings"] = json!("not a list");
    assert!(refused(&other).contains("linkaudit.report/2"), "{}", refused(&other));
    let mut broken = report.clone();
    broken["findings"][0]["level"] = json!("bad");
    assert!(refused(&broken).contains("unknown level `bad`"), "{}", refused(&broken));
    assert!(refused(&json!([])).contains("not a linkaudit report"));
    let mut later = report;
    later["surprise"] = json!({ "a": 1 });
    later["findings"][0]["surprise"] = json!(1);
    later["findings"][0]["rule"] = json!("rule-of-a-later-version");
    assert!(report::json::read(later.to_string().as_bytes()).is_ok(), "keys may come");
}

#[test]
fn a_sample_of_the_system_with_facts() {
    let mut programs: Vec<_> = std::fs::read_dir("/usr/bin")
        .expect("/usr/bin")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    programs.sort();
    // A few dozen programs, spread over the alphabet, reach most libraries of a system.
    let sample: Vec<_> = programs.iter().step_by(programs.len() / 40 + 1).collect();
    let lab = Lab::new();
    // Scripts among them may be listed, and not named.
    let list: Vec<&[u8]> = sample.iter().map(|path| path.as_os_str().as_bytes()).collect();
    lab.write("list", list.join(&b'\n'));
    let args = ["--facts", "--files-from", "list"].map(OsStr::new);
    let report = report(&lab, &args);
    assert_valid(&validator(), "/usr/bin", &report);
    let bound = &report["bindings"][0]["bound"];
    assert!(bound.as_array().is_some_and(|bound| !bound.is_empty()), "nothing is bound");
    let exports = |file: &Value| file["exports"].as_array().is_some_and(|e| !e.is_empty());
    assert!(report["files"].as_array().expect("files").iter().any(exports), "nothing is exported");
}

#[test]
fn names_that_are_not_text() {
    let lab = Lab::new();
    lab.so("p/lib.so", "void gone(void); void here(void) { gone(); }", &["-Wl,-soname,N_NAME"]);
    // No compiler writes such names; what has them is made by hand.
    let mut bytes = std::fs::read(lab.path("p/lib.so")).expect("the library");
    for (name, other) in [(&b"gone\0"[..], &b"g\xffne\0"[..]), (b"N_NAME\0", b"N\xfe\xffME\0")] {
        let places: Vec<usize> = bytes
            .windows(name.len())
            .enumerate()
            .filter(|(_, window)| *window == name)
            .map(|(at, _)| at)
            .collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at..at + other.len()].copy_from_slice(other);
        }
    }
    std::fs::remove_file(lab.path("p/lib.so")).expect("the library");
    let name = OsStr::from_bytes(b"l\xf0b.so");
    std::fs::write(lab.path("p").join(name), bytes).expect("the library");
    let report = report(&lab, &[OsStr::new("p"), OsStr::new("--facts")]);
    assert_valid(&validator(), "names", &report);
    let finding = &report["findings"][0];
    assert_eq!(finding["path"], json!({ "bytes": "bPBiLnNv" }));
    assert_eq!(finding["symbol"], json!({ "bytes": "Z/9uZQ==" }));
    assert_eq!(report["files"][0]["soname"], json!({ "bytes": "Tv7/TUU=" }));
}

#[test]
fn an_empty_prefix() {
    let lab = Lab::new();
    lab.mkdir("empty");
    let report = report(&lab, &[OsStr::new("empty")]);
    assert_valid(&validator(), "an empty directory", &report);
    assert_eq!(report["totals"]["entries"], 0);
    assert_eq!(report["files"], json!([]));
    assert_eq!(report["complete"], true);
}

#[test]
fn entries_are_the_sum_of_their_line() {
    for fixture in Fixture::some(4) {
        let (report, _) = fixture.build().report(&[]);
        let totals = &report["totals"];
        let number = |value: &Value| value.as_u64().expect("a count");
        let keys = ["elf", "archives", "other", "links", "special", "partial"];
        let of = |key: &str| totals[key].as_object().expect("counts").values().map(number);
        let kinds = of("foreign").chain(of("skipped")).sum::<u64>();
        let sum = keys.iter().map(|key| number(&totals[*key])).sum::<u64>() + kinds;
        assert_eq!(number(&totals["entries"]), sum, "{}", fixture.name());
    }
}

/// A report with a finding, evidence, needs, exports and bindings.
fn rich() -> Value {
    let fixture = Fixture { rule: "missing-library".to_owned(), kind: "bad" };
    let built = fixture.build();
    let (mut report, _) = built.report(&["--facts"]);
    let waived = || {
        built.lab.linkaudit(&["bin", "--write-baseline", "known"]);
        let known = std::fs::read_to_string(built.lab.path("known")).expect("a baseline");
        let gone = format!("{}{} undefined-symbol a b\n", &known[..8], "0".repeat(24));
        built.lab.write("known", known + &gone);
        let args = ["bin", "--baseline", "known", "--format", "json"];
        let output = built.lab.linkaudit(&args);
        serde_json::from_slice::<Value>(&output.stdout).expect("a JSON report")
    };
    let waived = waived();
    report["compared"] = waived["compared"].clone();
    assert_eq!(report["compared"], true);
    for key in ["waived", "stale"] {
        report[key] = waived[key].clone();
        assert!(report[key].as_array().is_some_and(|list| !list.is_empty()), "{key}: {waived}");
    }
    let bound = &mut report["bindings"][0]["bound"];
    if bound.as_array().is_none_or(Vec::is_empty) {
        *bound = json!([["/a", "b", null, "/c"]]);
    }
    report
}

/// Every object of a document, as paths of `serde_json`'s pointers.
fn objects(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            out.push(at.to_owned());
            for (key, value) in map {
                objects(value, &format!("{at}/{}", key.replace('/', "~1")), out);
            }
        }
        // One item stands for all.
        Value::Array(list) => {
            if let Some(first) = list.first() {
                objects(first, &format!("{at}/0"), out);
            }
        }
        _ => {}
    }
}

/// True for objects whose keys are data.
fn is_data(place: &str) -> bool {
    ["/foreign", "/skipped", "/assumed_by_host"].iter().any(|end| place.ends_with(end))
}

#[test]
fn an_unknown_key_is_refused_everywhere() {
    let (validator, report) = (validator(), rich());
    let mut places = Vec::new();
    objects(&report, "", &mut places);
    assert!(places.len() > 8, "{places:?}");
    for place in places.iter().filter(|place| !is_data(place)) {
        let mut broken = report.clone();
        broken.pointer_mut(place).expect("an object")["surprise"] = json!(1);
        assert!(!errors(&validator, &broken).is_empty(), "a surprise in {place:?} is accepted");
    }
}

#[test]
fn a_key_of_a_later_version_is_accepted_everywhere() {
    let (validator, report) = (compiled(&schema()), rich());
    let mut places = Vec::new();
    objects(&report, "", &mut places);
    for place in places.iter().filter(|place| !is_data(place)) {
        let mut later = report.clone();
        later.pointer_mut(place).expect("an object")["surprise"] = json!(1);
        assert_valid(&validator, &format!("a new key in {place:?}"), &later);
    }
}

#[test]
fn a_missing_key_is_refused_everywhere() {
    let (validator, report) = (validator(), rich());
    let mut places = Vec::new();
    objects(&report, "", &mut places);
    // Only these may leave keys out: those that do not apply.
    let optional = |place: &str, key: &str| {
        (place.contains("/evidence/") && key != "kind")
            || (place.starts_with("/files/") && ["prefix", "kind", "size"].contains(&key))
            || (place.contains("/imports/") && key != "names")
            || (place.starts_with("/stale/") && key == "file")
            || (place.is_empty()
                && ["bindings", "compared", "stale", "directory_links"].contains(&key))
    };
    for place in &places {
        let object = report.pointer(place).and_then(Value::as_object).expect("an object");
        for key in object.keys().filter(|key| !optional(place, key)) {
            let mut broken = report.clone();
            let object = broken.pointer_mut(place).and_then(Value::as_object_mut);
            object.expect("an object").remove(key);
            assert!(!errors(&validator, &broken).is_empty(), "{place} without {key} is accepted");
        }
    }
}

#[test]
fn wrong_values_are_refused() {
    let (validator, report) = (validator(), rich());
    assert_valid(&validator, "the report before it is broken", &report);
    let wrong = [
        ("/schema", json!("linkaudit.report/2")),
        ("/tool/name", json!("ldd")),
        ("/complete", json!("yes")),
        ("/totals/elf", json!(-1)),
        ("/totals/roots", json!(1.5)),
        ("/totals/skipped", json!({ "permission denied": 0 })),
        ("/findings/0/rule", json!("Missing Library")),
        ("/findings/0/level", json!("allow")),
        ("/findings/0/level", json!("deny")),
        ("/findings/0/when", json!("later")),
        ("/findings/0/path", json!(null)),
        ("/findings/0/path", json!({ "bytes": "not base64!" })),
        ("/findings/0/path", json!({ "bytes": "Z/9uZQ==", "text": "" })),
        ("/findings/0/message", json!(null)),
        ("/findings/0/symbol", json!(3)),
        ("/findings/0/fingerprint", json!("D0CFA4C0DD851BB729777952BBB7755D")),
        ("/findings/0/fingerprint", json!("d0cfa4c0")),
        ("/findings/0/evidence", json!(null)),
        ("/findings/0/evidence/0/kind", json!("proof")),
        ("/findings/0/evidence/0/kind", json!(null)),
        ("/findings/0/fix", json!([{ "intent": "add-to-list" }])),
        ("/files/0/needed/0/how", json!("found")),
        ("/files/0/needed/0/how", json!("root")),
        ("/files/0/machine", json!(62)),
        ("/files/0/exports", json!([{ "name": "a" }])),
        ("/waived", json!([report["findings"][0]])),
        ("/stale", json!([])),
        ("/waived/0/waiver/by", json!("nobody")),
        ("/waived/0/waiver/line", json!(0)),
        ("/archives", json!([{ "path": "lib/liba.a" }])),
        ("/bindings/0/bound", json!([["/a", "b", null]])),
        ("/bindings/0/bound", json!([["/a", "b", null, "/c", "/d"]])),
        ("/bindings/0/bound", json!([["/a", "b", null, null]])),
    ];
    for (place, value) in wrong {
        let mut broken = report.clone();
        *broken.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value.clone();
        assert!(!errors(&validator, &broken).is_empty(), "{place} may be {value}");
    }
}

#[test]
fn what_is_promised_for_later_is_accepted() {
    let (validator, report) = (validator(), rich());
    let mut waived = report["findings"][0].clone();
    waived["waiver"] = json!({
        "by": "policy", "reason": "it comes with the host", "source": "linkaudit.toml", "line": 3,
        "expires": "2027-06-01"
    });
    let mut fixed = report["findings"][0].clone();
    fixed["fix"] = json!([{
        "intent": "add-to-list", "list": "deps.cmake", "set": "__mlir_libs", "entry": "LLVMX86Info",
        "level": "safe", "proven": true, "unknown": null
    }]);
    let mut later = report;
    later["waived"] = json!([waived]);
    later["findings"] = json!([fixed]);
    later["policies"] = json!(["default", "linkaudit.toml"]);
    let archive = json!({ "path": "/p/a.a", "members": 2, "opaque": 0, "references": 5 });
    later["archives"] = json!([archive]);
    assert_valid(&validator, "a report of a later version", &later);
}
