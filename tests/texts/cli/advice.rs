//! The files and options that the advice of a report names.

use super::kit::FOO;
use crate::support::{Lab, clean, has, skip};

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

/// The command of the help repairs all programs, also in directories whose names begin with a
/// hyphen. A report without known PATHs names only few directories, and then no command.
#[test]
fn commands_name_all_audited_files() {
    if !has("patchelf") {
        return skip("commands_name_all_audited_files", "patchelf is not installed");
    }
    let many = ["a", "b", "c", "d", "e"];
    let cases: [(&[&str], &str); 4] = [
        (&["-p"], "-- -p"),
        (&["-p"], "--staged=-p"),
        (&many[..4], "a b c d"),
        (&many, "a b c d e"),
    ];
    for (prefixes, paths) in cases {
        let lab = Lab::new();
        let mut programs = Vec::new();
        for prefix in prefixes {
            let library = format!("{prefix}/opt/lib/libf.so.1");
            let library = lab.so(&library, FOO, &["-Wl,-soname,libf.so.1"]);
            let source = "int foo(void); int main(void) { return foo() < 0; }";
            let program = format!("{prefix}/opt/bin/app");
            programs.push(lab.exe(&program, source, &[library.to_str().expect("UTF-8")]));
        }
        let args: Vec<&str> = ["--isolated"].into_iter().chain(paths.split(' ')).collect();
        let text = String::from_utf8_lossy(&lab.linkaudit(&args).stdout).into_owned();
        let command = text.lines().find_map(|line| line.split_once("linkaudit fix "));
        assert_eq!(command.is_some(), prefixes.len() < 5, "{text}");
        let Some((_, words)) = command else { continue };
        let linkaudit = env!("CARGO_BIN_EXE_linkaudit");
        let run = lab.sh(&format!("{linkaudit} fix {words} > script && sh script"));
        assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stderr));
        for program in programs {
            let run = clean(&program).output().expect("it starts");
            assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stderr));
        }
    }
}

/// A search-path entry cannot name a directory whose name the loader replaces.
#[test]
fn directories_named_like_tokens_are_not_proposed() {
    for (directory, is_token) in [("$LIB", true), ("${ORIGIN}", true), ("$LIBS", false)] {
        let lab = Lab::new();
        let library = lab.so(&format!("p/{directory}/libf.so.1"), FOO, &["-Wl,-soname,libf.so.1"]);
        let library = library.to_str().expect("UTF-8");
        let source = "int foo(void); int main(void) { return foo() < 0; }";
        let entry = format!("$ORIGIN/../{directory}");
        let runs = |flags: &[&str]| {
            let program = lab.exe("p/bin/app", source, &[&[library], flags].concat());
            clean(program).status().expect("it starts").success()
        };
        assert_eq!(runs(&[&format!("-Wl,-rpath,{entry}")]), !is_token, "{directory}");
        assert!(!runs(&[]), "{directory}");
        let text = said(&lab);
        assert_eq!(text.contains(&format!("add {entry} to the RUNPATH")), !is_token, "{text}");
        assert_eq!(text.contains("linkaudit fix"), !is_token, "{text}");
    }
}
