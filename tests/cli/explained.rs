//! References that a missing library explains: evidence of that finding, none of their own.

use crate::kit::{FOO, at, each, evidence, of_rule, only, report, run, text};
use crate::support::Lab;
use serde_json::{Value, json};

/// `p/libbar.so` uses `foo` and `more` of `libfoo.so`, which is gone.
fn lab(flags: &[&str]) -> Lab {
    let lab = Lab::new();
    lab.write("versions", "FOO_1 { global: foo; more; };\n");
    lab.so("p/libfoo.so", &format!("{FOO} int more(void) {{ return 2; }}"), flags);
    let source = "int foo(void); int more(void); int bar(void) { return foo() + more(); }";
    lab.so("p/libbar.so", source, &["-Wl,--no-as-needed", "-Lp", "-lfoo", "-Wl,-rpath,$ORIGIN"]);
    std::fs::remove_file(lab.path("p/libfoo.so")).expect("the library");
    lab
}

const VERSIONS: &[&str] = &["-Wl,--version-script=$PWD/versions"];

#[test]
fn they_are_evidence_and_counted() {
    let lab = lab(&[]);
    let report = report(&lab, &["p"]);
    let finding = only(&report, "missing-library");
    assert_eq!(each(finding, "explained", "symbol"), ["foo", "more"]);
    assert_eq!(
        each(finding, "explained", "path"),
        [at(&lab, "p/libbar.so"), at(&lab, "p/libbar.so")]
    );
    assert_eq!(report["totals"]["explained"], 2);
    assert_eq!(report["totals"]["assumed"], 0);
    let text = run(&lab, &["p"]).out;
    assert!(text.contains("explains 2 undefined references that only it could satisfy"), "{text}");
    assert!(text.contains("2 undefined references are explained by missing libraries"), "{text}");
    assert!(run(&lab, &["p", "-v"]).out.contains("             more\n"));
}

#[test]
fn ldd_prints_them_all() {
    let lab = lab(&[]);
    let text = run(&lab, &["p/libbar.so", "--as-ldd", "--format", "ldd"]).out;
    for name in ["foo", "more"] {
        assert!(text.contains(&format!("undefined symbol: {name}\t(p/libbar.so)\n")), "{text}");
    }
}

#[test]
fn a_version_names_the_library_that_explains_it() {
    let lab = lab(VERSIONS);
    // Another file defines the names; but the version says where they were to come from.
    lab.so("p/libother.so", &format!("{FOO} int more(void) {{ return 2; }}"), &[]);
    let report = report(&lab, &["p"]);
    let finding = only(&report, "missing-library");
    assert_eq!(each(finding, "explained", "symbol"), ["foo", "more"]);
    assert_eq!(each(finding, "explained", "version"), ["FOO_1", "FOO_1"]);
}

#[test]
fn a_name_that_a_file_at_hand_defines_is_a_finding() {
    let lab = lab(&[]);
    lab.so("more/libmore.so", "int more(void) { return 2; }", &[]);
    for paths in [&["p", "--lib-path", "more"][..], &["p", "more"]] {
        let report = report(&lab, paths);
        let missing = of_rule(&report, "missing-library");
        assert_eq!(each(missing[0], "explained", "symbol"), ["foo"]);
        let undefined = of_rule(&report, "undefined-symbol");
        assert_eq!(undefined.len(), 1);
        assert_eq!(undefined[0]["symbol"], "more");
        assert_eq!(each(undefined[0], "candidate", "path"), [at(&lab, "more/libmore.so")]);
        assert_eq!(report["totals"]["explained"], 1);
    }
}

#[test]
fn the_first_missing_library_in_load_order_explains() {
    let lab = Lab::new();
    for name in ["second", "first"] {
        lab.so(&format!("p/lib{name}.so"), "void unused(void) {}", &[]);
    }
    let flags = ["-Wl,--no-as-needed", "-Lp", "-lsecond", "-lfirst", "-Wl,-rpath,$ORIGIN"];
    lab.so("p/libbar.so", crate::kit::BROKEN, &flags);
    for name in ["first", "second"] {
        std::fs::remove_file(lab.path(&format!("p/lib{name}.so"))).expect("the library");
    }
    let report = report(&lab, &["p"]);
    let explained = |library: &str| {
        let missing = of_rule(&report, "missing-library");
        let finding = missing.iter().find(|finding| finding["library"] == library);
        evidence(finding.expect("the finding"), "explained").len()
    };
    assert_eq!((explained("libsecond.so"), explained("libfirst.so")), (1, 0));
}

#[test]
fn two_roots_explain_one_reference_once() {
    let lab = lab(&[]);
    let flags = ["-Wl,--no-as-needed", "-Lp", "-lbar", "-Wl,-rpath,$ORIGIN"];
    for name in ["p/one", "p/two"] {
        lab.exe(name, "int main(void) { return 0; }", &flags);
    }
    let report = report(&lab, &["p"]);
    assert_eq!(report["totals"]["explained"], 2);
    assert_eq!(evidence(only(&report, "missing-library"), "explained").len(), 2);
}

#[test]
fn undefined_for_its_own_sake_under_another_root() {
    let lab = Lab::new();
    lab.so("p/libbroken.so", crate::kit::BROKEN, &[]);
    lab.so("p/libfoo.so", FOO, &[]);
    let flags = ["-Wl,--no-as-needed", "-Lp", "-lbroken", "-Wl,-rpath,$ORIGIN"];
    lab.exe("p/plain", "int main(void) { return 0; }", &flags);
    lab.exe("p/lacking", "int main(void) { return 0; }", &[&flags[..], &["-lfoo"]].concat());
    std::fs::remove_file(lab.path("p/libfoo.so")).expect("the library");
    let report = report(&lab, &["p"]);
    let undefined = of_rule(&report, "undefined-symbol");
    assert_eq!(undefined.len(), 1);
    assert_eq!(each(undefined[0], "root", "path"), [at(&lab, "p/plain")]);
    assert_eq!(report["totals"]["explained"], 0);
}

#[test]
fn allowed_with_their_library_they_are_assumed() {
    let lab = lab(&[]);
    let report = report(&lab, &["p", "-A", "missing-library"]);
    assert_eq!(report["findings"], json!([]));
    assert_eq!(report["totals"]["assumed"], 2, "{}", report["totals"]);
    assert_eq!(report["totals"]["explained"], 0, "{}", report["totals"]);
    let summary = run(&lab, &["p", "-A", "missing-library"]).out;
    assert!(summary.contains("assumed") && !summary.contains("explained"), "{summary}");
}

#[test]
fn nothing_is_dropped() {
    let lab = lab(&[]);
    let report = report(&lab, &["p"]);
    let needed = report["files"]
        .as_array()
        .expect("files")
        .iter()
        .find(|file| text(&file["path"]).ends_with("p/libbar.so"))
        .map(|file| file["needed"][0].clone());
    assert_eq!(needed, Some(json!({ "name": "libfoo.so", "path": Value::Null, "how": "missing" })));
}
