//! The files and options that the advice of a report names.

use super::kit::FOO;
use crate::support::Lab;

/// The report on the prefix, without line breaks.
fn said(lab: &Lab) -> String {
    let output = lab.linkaudit(&["p", "--isolated"]).stdout;
    String::from_utf8_lossy(&output).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The library that lacks a version may be one of the audited files. It is named by its path.
#[test]
fn the_library_that_lacks_a_version_is_named() {
    let lab = Lab::new();
    let flags = ["-Wl,-soname,libv.so.1", "-Wl,--version-script,v.map"];
    lab.write("v.map", "V2 { global: foo; };\n");
    lab.so("p/lib/libv.so.1", FOO, &flags);
    let link = ["-Lp/lib", "-l:libv.so.1", "-Wl,-rpath,$ORIGIN/../lib"];
    let source = "int foo(void); int main(void) { return foo(); }";
    lab.exe("p/bin/app", source, &link);
    lab.write("v.map", "V1 { global: foo; };\n");
    lab.so("p/lib/libv.so.1", FOO, &flags);
    assert_eq!(lab.sh("p/bin/app").status.code(), Some(1), "the loader finds the version");
    let help = |who: &str| {
        format!("install a release of libv.so.1 that defines V2, or rebuild {who} against lib/libv")
    };
    assert!(said(&lab).contains(&help("bin/app")), "{}", said(&lab));
    for number in 0..8 {
        std::fs::copy(lab.path("p/bin/app"), lab.path(&format!("p/bin/app{number}")))
            .expect("a copy");
    }
    assert!(said(&lab).contains(&help("each of these files")), "{}", said(&lab));
}

/// `--host` names a program that loads plugins. It does not help programs.
#[test]
fn programs_are_no_plugins() {
    let lab = Lab::new();
    let path = "p/lib/libs.so";
    let all: String =
        (0..8).map(|number| format!("int lost{number}(void) {{ return 0; }}")).collect();
    lab.so(path, &all, &["-Wl,-soname,libs.so"]);
    for number in 0..8 {
        let source = format!("int lost{number}(void); int main(void) {{ return lost{number}(); }}");
        let link = ["-Lp/lib", "-l:libs.so", "-Wl,-rpath,$ORIGIN/../lib"];
        lab.exe(&format!("p/bin/app{number}"), &source, &link);
    }
    lab.so(path, FOO, &["-Wl,-soname,libs.so"]);
    assert!(said(&lab).contains("--lib-path DIR") || said(&lab).contains("link each of these"));
    assert!(!said(&lab).contains("--host"), "{}", said(&lab));
    for number in 0..8 {
        let source = format!("int lost{number}(void); int f(void) {{ return lost{number}(); }}");
        lab.so(&format!("p/plugins/lib{number}.so"), &source, &[]);
    }
    std::fs::remove_dir_all(lab.path("p/bin")).expect("the programs");
    assert!(said(&lab).contains("--host PROGRAM='plugins/*.so'"), "{}", said(&lab));
}

/// The process takes another file of the soname. The candidate is one of the audited files, and not
/// an installed one.
#[test]
fn a_shadowed_candidate_is_audited() {
    let lab = Lab::new();
    let soname = ["-Wl,-soname,libs.so.1"];
    lab.so("p/b/libs.so.1", FOO, &soname);
    lab.exe(
        "p/bin/app",
        "int foo(void); int main(void) { return foo(); }",
        &["-Wl,--no-as-needed", "-Lp/b", "-l:libs.so.1", "-Wl,-rpath,$ORIGIN/../a"],
    );
    lab.so("p/a/libs.so.1", "int other(void) { return 1; }", &soname);
    let text = said(&lab);
    let file = lab.path("p/b/libs.so.1").canonicalize().expect("a file");
    assert!(text.contains(&format!("candidate {}", file.display())), "{text}");
    assert!(!text.contains("installed"), "{text}");
}
