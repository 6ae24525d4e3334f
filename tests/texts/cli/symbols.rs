//! `undefined-symbol`: the time of the failure, candidates, and one finding for one fact.

use super::kit::{BROKEN, at, each, evidence, of_rule, only, report, run, text};
use crate::support::Lab;
use serde_json::{Value, json};

fn when(report: &Value) -> Vec<(&str, &str)> {
    let findings = of_rule(report, "undefined-symbol");
    findings.iter().map(|f| (text(&f["symbol"]), text(&f["when"]))).collect()
}

#[test]
fn at_load_or_at_the_first_call() {
    let lab = Lab::new();
    let source = "extern int data; int *address = &data; void called(void); void taken(void); \
                  void *pointer = taken; void f(void) { called(); }";
    lab.so("p/liblazy.so", source, &["-Wl,-z,lazy"]);
    let expected = [("called", "call"), ("data", "load"), ("taken", "load")];
    assert_eq!(when(&report(&lab, &["p"])), expected);
    // Bound at load, everything fails at load.
    lab.so("p/liblazy.so", source, &["-Wl,-z,now"]);
    let expected = [("called", "load"), ("data", "load"), ("taken", "load")];
    assert_eq!(when(&report(&lab, &["p"])), expected);
    let text = run(&lab, &["p"]).out;
    assert!(text.contains("at load    called"), "{text}");
}

#[test]
fn a_symbol_used_in_both_ways_fails_at_load() {
    let lab = Lab::new();
    let source = "void gone(void); void *pointer = gone; void f(void) { gone(); }";
    lab.so("p/liba.so", source, &["-Wl,-z,lazy"]);
    assert_eq!(when(&report(&lab, &["p"])), [("gone", "load")]);
}

#[test]
fn all_keys_of_a_finding() {
    let lab = Lab::new();
    lab.so("p/lib/liba.so", BROKEN, &["-Wl,-z,lazy"]);
    let report = report(&lab, &["p"]);
    let finding = only(&report, "undefined-symbol");
    let path = at(&lab, "p/lib/liba.so");
    let expected = json!({
        "rule": "undefined-symbol", "level": "error", "prefix": at(&lab, "p"),
        "path": "lib/liba.so", "root": path, "symbol": "gone", "version": null, "library": null,
        "target": null, "member": null, "detail": null, "when": "call",
        "message": "undefined symbol: gone (fails at the first call)",
        "evidence": [{ "kind": "root", "path": path }], "fix": [],
        "witness": format!("readelf -W --dyn-syms {path} | grep -w gone"),
        "fingerprint": finding["fingerprint"],
        "cause": "provider-not-linked:unknown lib/liba.so",
    });
    assert_eq!(*finding, expected);
}

#[test]
fn the_witness_shows_the_fact() {
    let lab = Lab::new();
    lab.so("p/it's here/liba.so", BROKEN, &[]);
    let report = report(&lab, &["p"]);
    let witness = text(&only(&report, "undefined-symbol")["witness"]);
    let output = crate::support::clean("sh").args(["-c", witness]).output().expect("sh runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("UND gone"), "{witness}: {shown}");
}

#[test]
fn a_library_of_two_programs_is_one_finding() {
    let lab = Lab::new();
    lab.so("p/lib/liba.so", BROKEN, &[]);
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-la", "-Wl,-rpath,$ORIGIN/../lib"];
    // The programs are made in another order than that of their names.
    for name in ["p/bin/two", "p/bin/one", "p/bin/three"] {
        lab.exe(name, "int main(void) { return 0; }", &flags);
    }
    let report = report(&lab, &["p"]);
    let finding = only(&report, "undefined-symbol");
    assert_eq!(finding["path"], "lib/liba.so");
    assert_eq!(finding["root"], at(&lab, "p/bin/one"));
    let roots = ["p/bin/one", "p/bin/three", "p/bin/two"].map(|root| at(&lab, root));
    assert_eq!(each(finding, "root", "path"), roots);
    let chain = [at(&lab, "p/bin/one"), at(&lab, "p/lib/liba.so")];
    assert_eq!(each(finding, "chain", "path"), chain);
    assert!(run(&lab, &["p"]).out.contains("affects    3 entry points: one, three, two\n"));
}

#[test]
fn one_root_defines_what_another_lacks() {
    let lab = Lab::new();
    lab.so("p/lib/liba.so", BROKEN, &[]);
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-la", "-Wl,-rpath,$ORIGIN/../lib", "-rdynamic"];
    lab.exe("p/bin/has", "void gone(void) {} int main(void) { return 0; }", &flags);
    lab.exe("p/bin/lacks", "int main(void) { return 0; }", &flags);
    let report = report(&lab, &["p"]);
    let finding = only(&report, "undefined-symbol");
    assert_eq!(each(finding, "root", "path"), [at(&lab, "p/bin/lacks")]);
}

#[test]
fn five_symbols_are_five_findings_and_one_group() {
    let lab = Lab::new();
    let names = ["five", "four", "one", "three", "two"];
    let declared: String = names.iter().map(|name| format!("void {name}(void);")).collect();
    let called: String = names.iter().map(|name| format!("{name}();")).collect();
    lab.so("p/liba.so", &format!("{declared} void f(void) {{ {called} }}"), &[]);
    let report = report(&lab, &["p"]);
    let symbols: Vec<&str> = when(&report).iter().map(|(symbol, _)| *symbol).collect();
    assert_eq!(symbols, names);
    let text = run(&lab, &["p"]).out;
    assert_eq!(text.matches("[undefined-symbol]").count(), 1, "{text}");
    assert!(text.contains("liba.so: 5 undefined symbols\n"), "{text}");
}

#[test]
fn weak_references_and_local_definitions_are_none() {
    let lab = Lab::new();
    let source = "void maybe(void) __attribute__((weak)); void here(void) {} \
                  void f(void) { here(); if (maybe) maybe(); }";
    lab.so("p/liba.so", source, &[]);
    assert_eq!(report(&lab, &["p"])["findings"], json!([]));
}

#[test]
fn a_version_and_the_library_that_should_have_it() {
    let lab = Lab::new();
    lab.write("versions", "FOO_1 { global: foo; lost; };\n");
    let script = "-Wl,--version-script=$PWD/versions";
    lab.so("p/libfoo.so", "void foo(void) {} void lost(void) {}", &[script]);
    let flags = ["-Wl,--no-as-needed", "-Lp", "-lfoo", "-Wl,-rpath,$ORIGIN"];
    lab.so("p/libbar.so", "void lost(void); void bar(void) { lost(); }", &flags);
    lab.so("p/libfoo.so", "void foo(void) {}", &[script]);
    let report = report(&lab, &["p"]);
    let finding = only(&report, "undefined-symbol");
    assert_eq!((text(&finding["symbol"]), text(&finding["version"])), ("lost", "FOO_1"));
    assert_eq!(finding["library"], "libfoo.so");
    let provider = evidence(finding, "provider");
    assert_eq!(provider.len(), 1);
    assert_eq!(provider[0]["name"], "libfoo.so");
}

#[test]
fn libraries_at_hand_that_define_it() {
    let lab = Lab::new();
    lab.so("p/liba.so", BROKEN, &[]);
    let defines = "void gone(void) {}";
    lab.so("p/libinside.so", defines, &[]);
    lab.so("more/libbeside.so", defines, &["-Wl,--hash-style=sysv"]);
    lab.so("more/libhidden.so", "__attribute__((visibility(\"hidden\"))) void gone(void) {}", &[]);
    lab.so("more/libneeds.so", BROKEN, &[]);
    let at_hand = |args: &[&str]| {
        let report = report(&lab, args);
        let finding = only(&report, "undefined-symbol");
        for piece in evidence(finding, "candidate") {
            assert_eq!(piece["symbol"], "gone");
            assert_eq!(piece["member"], Value::Null);
        }
        let mut paths = each(finding, "candidate", "path");
        paths.sort();
        paths
    };
    let (inside, beside) = (at(&lab, "p/libinside.so"), at(&lab, "more/libbeside.so"));
    assert_eq!(at_hand(&["p"]), [inside.as_str()]);
    assert_eq!(at_hand(&["p", "--lib-path", "more"]), [beside.as_str(), inside.as_str()]);
    assert_eq!(at_hand(&["p", "--lib-path", "more/libbeside.so"]).len(), 2);
}

/// A program copies `counter` from a library whose next release lacks it. The program's own copy is
/// not a near miss, and the advice names the library.
#[test]
fn a_variable_that_the_program_copies_and_its_library_lost() {
    let lab = Lab::new();
    lab.write("map", "V1 { global: *; };");
    let map = "-Wl,--version-script,map";
    let source = "extern int counter; int use(void); int main(void) { return counter + use(); }";
    let before = "int counter = 7; int use(void) { return counter; }";
    let after = "int use(void) { return 1; }";
    for (flags, help) in [
        (
            &["-Wl,-soname,libl.so.1", map][..],
            "help: install a release of libl.so.1 that defines it",
        ),
        (&["-Wl,-soname,libl.so.1"], "help: name directories with more libraries"),
    ] {
        lab.so("p/libl.so.1", before, flags);
        let links = ["-no-pie", "-Lp", "-l:libl.so.1", "-Wl,-rpath,$ORIGIN"];
        lab.exe("p/app", source, &links);
        lab.so("p/libl.so.1", after, flags);
        let found = report(&lab, &["p"]);
        let finding = only(&found, "undefined-symbol");
        assert_eq!(finding["symbol"], "counter");
        assert_eq!(evidence(finding, "near-miss").len(), 0, "{finding:#}");
        let page = run(&lab, &["p"]).out;
        assert!(page.contains(help) && !page.contains("against app"), "{page}");
        let loader = crate::support::clean(lab.path("p/app")).output().expect("the program runs");
        let err = String::from_utf8_lossy(&loader.stderr);
        assert!(err.contains("undefined symbol: counter"), "{err}");
    }
}
