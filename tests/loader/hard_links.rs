//! Programs with several hard links. `$ORIGIN` is the directory of the link that is started, so
//! that each link may find other libraries. The oracle runs each link.

use crate::support::Lab;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// Builds a library and a program with two hard links; the library is beside one of them.
fn lab(program: &str, link: &str, library: &str) -> Lab {
    let lab = Lab::new();
    lab.so(library, "int a(void) { return 3; }", &["-Wl,-soname,liba.so.1"]);
    let file = lab.path(library).display().to_string();
    let source = "int a(void); int main(void) { return a() - 3; }";
    lab.exe(program, source, &[&file, "-Wl,-rpath,$ORIGIN/../lib"]);
    let link = lab.path(link);
    std::fs::create_dir_all(link.parent().expect("a directory")).expect("a directory");
    std::fs::hard_link(lab.path(program), link).expect("a hard link");
    lab
}

/// The entry points under which a library is missing.
fn missing(lab: &Lab, paths: &[&str]) -> BTreeSet<String> {
    let args = [&["check", "--isolated", "--format", "json", "-v"], paths].concat();
    let report: Value = serde_json::from_slice(&lab.linkaudit(&args).stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").iter();
    let missing = findings.filter(|finding| finding["rule"] == "missing-library");
    let evidence = missing.flat_map(|finding| finding["evidence"].as_array().expect("evidence"));
    let roots = evidence.filter(|evidence| evidence["kind"] == "root");
    let own = format!("{}/", lab.path("").display().to_string().trim_end_matches('/'));
    let below = |path: &str| path.strip_prefix(&*own).unwrap_or(path).to_owned();
    roots.map(|root| below(root["path"].as_str().expect("a path"))).collect()
}

fn runs(lab: &Lab, program: &str) -> bool {
    Command::new(lab.path(program)).status().expect("a process").success()
}

#[test]
fn each_link_is_an_entry_point() {
    for (program, link, library) in [
        ("bin/p", "bin/sub/q", "lib/liba.so.1"),
        ("bin/sub/p", "bin/q", "lib/liba.so.1"),
        ("pkgs/p/bin/p", "zenv/bin/p", "zenv/lib/liba.so.1"),
    ] {
        let lab = lab(program, link, library);
        let fails: BTreeSet<&str> =
            [program, link].into_iter().filter(|name| !runs(&lab, name)).collect();
        assert_eq!(fails.len(), 1, "{program}: one link runs");
        for paths in [&["."][..], &[program, link]] {
            let found = missing(&lab, paths);
            let expected: BTreeSet<String> = fails.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(found, expected, "{paths:?}");
            // The path of the finding is the first link, so the report adds a failing second one.
            let text = lab.linkaudit(&[&["check", "--isolated"], paths].concat());
            let text = String::from_utf8_lossy(&text.stdout).into_owned();
            let failing = fails.first().expect("one link");
            let says = |label: &str| {
                let values = text.lines().filter_map(|line| line.strip_prefix(label));
                values.into_iter().any(|value| failing.ends_with(value.trim()))
            };
            assert!(says("  needed by") != says("  started as"), "{text}");
        }
    }
}

/// A plugin is a library that no program needs. The loader searches beside the opened link.
#[test]
fn each_link_of_a_library_is_an_entry_point() {
    let lab = Lab::new();
    lab.so("a/dep/libdep.so", "int f(void) { return 1; }", &["-Wl,-soname,libdep.so"]);
    let flags = ["-Wl,-soname,libg.so", "-Wl,-rpath,$ORIGIN/dep", "a/dep/libdep.so"];
    lab.so("a/libg.so", "int f(void); int g(void) { return f(); }", &flags);
    std::fs::create_dir_all(lab.path("b")).expect("a directory");
    std::fs::hard_link(lab.path("a/libg.so"), lab.path("b/libg.so")).expect("a hard link");
    for (name, is_found) in [("a/libg.so", true), ("b/libg.so", false)] {
        let ldd = Command::new("ldd").arg(lab.path(name)).output().expect("ldd runs");
        let said = String::from_utf8_lossy(&ldd.stdout).into_owned();
        assert_eq!(!said.contains("libdep.so => not found"), is_found, "{said}");
    }
    for paths in [&["."][..], &["a", "b"], &["b", "a"], &["a/libg.so", "b/libg.so"]] {
        assert_eq!(missing(&lab, paths), BTreeSet::from(["b/libg.so".to_owned()]), "{paths:?}");
    }
    // A program that loads the library through one link uses the file.
    let flags = ["a/libg.so", "-Wl,-rpath,$ORIGIN/a", "-Wl,-rpath-link,a/dep"];
    lab.exe("app", "int g(void); int main(void) { return g() - 1; }", &flags);
    assert!(runs(&lab, "app"));
}
