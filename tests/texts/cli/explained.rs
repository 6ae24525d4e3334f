//! References that a missing library explains are evidence of its finding, and have no findings of
//! their own.

use super::kit::{FOO, at, each, evidence, of_rule, only, report, run, text};
use crate::support::{Lab, musl};
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
    assert!(text.contains("explains   2 undefined references: foo, more\n"), "{text}");
    assert!(text.contains("2 undefined references explained by missing libraries"), "{text}");
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
    // Another file defines the names, but the version names the library that should define them.
    lab.so("p/libother.so", &format!("{FOO} int more(void) {{ return 2; }}"), &[]);
    let report = report(&lab, &["p"]);
    let finding = only(&report, "missing-library");
    assert_eq!(each(finding, "explained", "symbol"), ["foo", "more"]);
    assert_eq!(each(finding, "explained", "version"), ["FOO_1", "FOO_1"]);
}

/// The symbols that the missing library explains, and those that are findings.
fn explained(lab: &Lab, paths: &[&str]) -> (Vec<String>, Vec<String>) {
    let report = report(lab, paths);
    let missing = of_rule(&report, "missing-library");
    let library = missing.iter().find(|finding| finding["library"] == "libfoo.so");
    let symbols = each(library.expect("the library"), "explained", "symbol");
    let undefined = of_rule(&report, "undefined-symbol");
    (symbols, undefined.iter().map(|finding| text(&finding["symbol"]).to_owned()).collect())
}

fn both(explained: &[&str], undefined: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    (owned(explained), owned(undefined))
}

#[test]
fn another_library_at_hand_that_defines_a_name_proves_nothing() {
    let lab = lab(&[]);
    lab.so("more/libmore.so", "int more(void) { return 2; }", &[]);
    for paths in [&["p", "--lib-path", "more"][..], &["p", "more"]] {
        assert_eq!(explained(&lab, paths), both(&["foo", "more"], &[]), "{paths:?}");
    }
}

#[test]
fn a_candidate_explains_what_it_defines_and_no_more() {
    let lab = lab(&[]);
    lab.so("other/libfoo.so", FOO, &[]);
    lab.so("third/libmore.so", "int more(void) { return 2; }", &[]);
    for paths in [&["p", "--lib-path", "other"][..], &["p", "other"], &["p", "other", "third"]] {
        assert_eq!(explained(&lab, paths), both(&["foo"], &["more"]), "{paths:?}");
    }
    assert_eq!(explained(&lab, &["p"]), both(&["foo", "more"], &[]));
}

#[test]
fn a_candidate_is_known_by_its_soname() {
    let lab = lab(&[]);
    lab.so("other/renamed.so", FOO, &["-Wl,-soname,libfoo.so"]);
    assert_eq!(explained(&lab, &["p", "other"]), both(&["foo"], &["more"]));
}

#[test]
fn a_candidate_in_the_prefix_counts_whether_it_is_audited_or_not() {
    let lab = lab(&[]);
    lab.so("p/private/libfoo.so", FOO, &[]);
    for paths in [&["p"][..], &["--prefix", "p", "p/libbar.so"], &["p/libbar.so", "p/private"]] {
        assert_eq!(explained(&lab, paths), both(&["foo"], &["more"]), "{paths:?}");
    }
}

#[test]
fn a_candidate_explains_what_it_brings() {
    let lab = lab(&[]);
    lab.so("third/libmore.so", "int more(void) { return 2; }", &[]);
    let flags = ["-Wl,--no-as-needed", "-Lthird", "-lmore"];
    lab.so("other/libfoo.so", FOO, &flags);
    assert_eq!(explained(&lab, &["p", "other", "third"]), both(&["foo", "more"], &[]));
    // A need of the candidate is missing, so the symbols that it would bring are unknown.
    assert_eq!(explained(&lab, &["p", "--lib-path", "other"]), both(&["foo", "more"], &[]));
}

#[test]
fn a_candidate_for_another_machine_is_none() {
    let lab = lab(&[]);
    let mut bytes = std::fs::read(lab.so("other/libfoo.so", FOO, &[])).expect("the library");
    // e_machine of AArch64.
    bytes[18..20].copy_from_slice(&[183, 0]);
    lab.write("other/libfoo.so", bytes);
    assert_eq!(explained(&lab, &["p", "other"]), both(&["foo", "more"], &[]));
}

#[test]
fn what_no_candidate_defines_belongs_to_a_library_without_candidate() {
    let lab = lab(&[]);
    lab.so("p/libgone.so", "void unused(void) {}", &[]);
    let source = "int foo(void); int more(void); int bar(void) { return foo() + more(); }";
    let flags = ["-Wl,--no-as-needed", "-Lp", "-l:libgone.so", "-Wl,-rpath,$ORIGIN"];
    lab.so("p/libfoo.so", FOO, &[]);
    lab.so("p/libbar.so", source, &[&flags[..], &["-lfoo"]].concat());
    for name in ["p/libfoo.so", "p/libgone.so"] {
        std::fs::remove_file(lab.path(name)).expect("the library");
    }
    lab.so("other/libfoo.so", FOO, &[]);
    assert_eq!(explained(&lab, &["p", "other"]), both(&["foo"], &[]));
    let report = report(&lab, &["p", "other"]);
    let missing = of_rule(&report, "missing-library");
    let gone = missing.iter().find(|finding| finding["library"] == "libgone.so");
    assert_eq!(each(gone.expect("the library"), "explained", "symbol"), ["more"]);
}

#[test]
fn an_archive_or_a_policy_claims_a_lost_name() {
    let lab = lab(&[]);
    lab.write("more.c", "int more(void) { return 2; }");
    let made = lab.sh("gcc -c more.c -o more.o && mkdir a && ar rcs a/libmore.a more.o");
    assert!(made.status.success());
    let lost = both(&["foo"], &["more"]);
    for paths in [&["p", "--lib-path", "a"][..], &["p", "a"]] {
        assert_eq!(explained(&lab, paths), lost, "{paths:?}");
    }
    let provider = "schema = 1\n[[provider]]\nsymbol = \"mo{T}\"\narchive = \"x{T}\"\n";
    let covers = "schema = 1\n[[archive]]\nmatch = \"**/libx.a\"\ncovers = [\"mor*\"]\n";
    for policy in [provider, covers] {
        lab.write("policy.toml", policy);
        assert_eq!(explained(&lab, &["p", "--policy", "policy.toml"]), lost, "{policy}");
    }
}

#[test]
fn a_provided_library_takes_no_reference_that_it_could_not_define() {
    let lab = Lab::new();
    let source = "#include <string.h>\n#include <pthread.h>\n\
        void gone(void); void use(char *text) { strcpy(text, \"some text\"); gone(); }";
    lab.so("p/libuse.so", source, &["-Wl,--no-as-needed", "-l:libpthread.so.0", "-l:libz.so.1"]);
    let policy = |libraries: &str| {
        let text = format!("schema = 1\n[provided]\nlibraries = [{libraries}]\n");
        lab.write("policy.toml", text);
        report(&lab, &["p", "--policy", "policy.toml"])
    };
    // libc has a needed version; libpthread has none, and all of its symbols have versions.
    let found = policy("\"libc.so.6\", \"libpthread.so.0\"");
    assert_eq!(only(&found, "undefined-symbol")["symbol"], "gone");
    // Another library might define it.
    let found = policy("\"libc.so.6\", \"libz.so.1\"");
    assert_eq!(found["findings"], json!([]));
    assert_eq!(found["totals"]["assumed"], 1);
}

#[test]
fn the_first_missing_library_in_load_order_explains() {
    let lab = Lab::new();
    for name in ["second", "first"] {
        lab.so(&format!("p/lib{name}.so"), "void unused(void) {}", &[]);
    }
    let flags = ["-Wl,--no-as-needed", "-Lp", "-lsecond", "-lfirst", "-Wl,-rpath,$ORIGIN"];
    lab.so("p/libbar.so", super::kit::BROKEN, &flags);
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
    lab.so("p/libbroken.so", super::kit::BROKEN, &[]);
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

/// Objects for musl refer to GCC's libraries with or without versions. musl ignores versions.
#[test]
fn libraries_of_gcc_explain_references_under_musl() {
    if !musl::is_there("libraries_of_gcc_explain_references_under_musl") {
        return;
    }
    let lab = Lab::new();
    lab.write("versions", "GLIBCXX_3.4 { global: foo; more; };\n");
    let source = format!("{FOO} int more(void) {{ return 2; }}");
    let main = "int foo(void); int more(void); int main(void) { return foo() + more(); }";
    for versions in [&[][..], VERSIONS] {
        let flags = [&["-Wl,-soname,libstdc++.so.6"], versions].concat();
        musl::so(&lab, "p/libstdc++.so.6", &source, &flags);
        musl::exe(&lab, "p/app", main, &["-Lp", "-l:libstdc++.so.6", "-Wl,-rpath,$ORIGIN"]);
        std::fs::remove_file(lab.path("p/libstdc++.so.6")).expect("the library");
        let report = report(&lab, &["p"]);
        assert_eq!(of_rule(&report, "undefined-symbol").len(), 0, "{report:#}");
        let finding = only(&report, "missing-library");
        assert_eq!(each(finding, "explained", "symbol"), ["foo", "more"]);
        let loader = crate::support::clean(lab.path("p/app")).output().expect("the program runs");
        let err = String::from_utf8_lossy(&loader.stderr);
        assert!(err.contains("Error loading shared library libstdc++.so.6"), "{err}");
    }
}
