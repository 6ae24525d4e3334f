//! Evidence of `missing-library`, `wrong-architecture` and `missing-version`: the paths that were
//! tried in the loader's order, candidates, and the chain of needs.

use super::kit::{CALLS_FOO, FOO, at, each, evidence, has_m32, of_rule, only, report, run, text};
use crate::support::{Lab, skip};
use serde_json::{Value, json};

/// `bin/app` needs `lib/libmid.so`, which needs the absent `libfoo.so.1`.
fn broken_chain(runpath_of_mid: &str) -> Lab {
    let lab = Lab::new();
    lab.so("p/lib/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    let path = format!("-Wl,-rpath,{runpath_of_mid}");
    let flags = ["-Wl,--no-as-needed", "-nostdlib", "-Lp/lib", "-l:libfoo.so.1", &path];
    lab.so("p/lib/libmid.so", "int mid(void) { return 1; }", &flags);
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lmid", "-Wl,-rpath,$ORIGIN/../lib"];
    lab.exe("p/bin/app", "int mid(void); int main(void) { return mid(); }", &flags);
    std::fs::remove_file(lab.path("p/lib/libfoo.so.1")).expect("the library");
    lab
}

/// `path how reason` of each path that was tried below the laboratory. All others must be the cache
/// and the default directories.
fn tried(lab: &Lab, finding: &Value) -> Vec<String> {
    let here = at(lab, "");
    let line = |piece: &&Value| {
        let path = text(&piece["path"]).strip_prefix(&here)?;
        Some(format!("{path} {} {}", text(&piece["how"]), text(&piece["reason"])))
    };
    let all = evidence(finding, "tried");
    let own: Vec<String> = all.iter().filter_map(line).collect();
    // The system's places come after those that the object names, the cache first.
    let (cache, defaults) = all[own.len()..].split_first().expect("the cache");
    assert_eq!((&cache["how"], &cache["reason"]), (&json!("cache"), &json!("no entry")));
    for piece in defaults {
        assert_eq!(piece["how"], "default", "{all:#?}");
        assert_eq!(piece["reason"], "no such file or directory", "{all:#?}");
    }
    assert!(!defaults.is_empty(), "no default directory was tried: {all:#?}");
    own
}

#[test]
fn what_was_tried_in_the_order_of_the_loader() {
    let lab = broken_chain("$ORIGIN:$ORIGIN/../absent:$ORIGIN/../etc");
    lab.mkdir("p/etc");
    let report = report(&lab, &["p"]);
    let finding = only(&report, "missing-library");
    let expected = [
        "p/bin/../lib/libfoo.so.1 runpath no such file or directory",
        "p/bin/../lib/../absent/libfoo.so.1 runpath no such directory",
        "p/bin/../lib/../etc/libfoo.so.1 runpath no such file or directory",
    ];
    assert_eq!(tried(&lab, finding), expected);
}

/// At a loop of links the loader leaves the list: it does not search the next directory, which has
/// the library, and would not search one at the end of the list.
#[test]
fn a_loop_of_links_ends_the_search_of_the_list() {
    let lab = Lab::new();
    lab.so("p/b/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    lab.link("libfoo.so.1", "p/a/libfoo.so.1");
    let flags =
        ["-Wl,--no-as-needed", "-Lp/b", "-l:libfoo.so.1", "-Wl,-rpath,$ORIGIN/../a:$ORIGIN/../b"];
    lab.exe("p/bin/app", "int main(void) { return 0; }", &flags);
    assert_eq!(lab.sh("p/bin/app").status.code(), Some(127), "the loader goes on");
    let report = report(&lab, &["p"]);
    let found = of_rule(&report, "missing-library");
    let expected = "p/bin/../a/libfoo.so.1 runpath too many levels of symbolic links, and the \
                    loader skips the rest of the list";
    assert_eq!(tried(&lab, found[0]), [expected]);
    let output = lab.linkaudit(&["p", "--isolated"]).stdout;
    let output = String::from_utf8_lossy(&output);
    assert!(output.contains("help: repair or remove"), "{output}");
    assert!(!output.contains("patchelf"), "{output}");
}

/// With a RUNPATH alone, the loader of the system would load the libc of the prefix.
#[test]
fn a_libc_in_a_prefix_needs_its_loader() {
    let lab = Lab::new();
    lab.exe("p/bin/app", "int main(void) { return 0; }", &[]);
    let flags = ["-nostdlib", "-Wl,-soname,libc.so.6"];
    lab.so("p/lib/libc.so.6", "int libc(void) { return 1; }", &flags);
    let output = lab.linkaudit(&["p", "--isolated"]).stdout;
    let output = String::from_utf8_lossy(&output);
    let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.contains("warning[outside-closure] libc.so.6: found on the system"), "{output}");
    let help = "give each program that loader as its interpreter, together with a RUNPATH with /";
    assert!(output.contains(help) && !output.contains("patchelf"), "{output}");
}

/// With a search-path entry for the directory, the loader would also take its old libm.
#[test]
fn a_directory_with_an_old_library_is_not_proposed() {
    let lab = Lab::new();
    lab.so("p/lib/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    let source = "#include <math.h>\nint main(int n, char **v) { return (int)pow(n, n) - 1; }";
    let flags = ["-Wl,--no-as-needed", "-fno-builtin", "-Lp/lib", "-l:libfoo.so.1", "-lm"];
    lab.exe("p/bin/app", source, &flags);
    let command = "add $ORIGIN/../lib to the RUNPATH of bin/app; for a verified script: \
                   linkaudit fix p --emit patchelf";
    let said = |lab: &Lab| {
        let output = lab.linkaudit(&["p", "--isolated"]).stdout;
        String::from_utf8_lossy(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(said(&lab).contains(command), "{}", said(&lab));
    lab.write("old.map", "GLIBC_2.2.5 { global: pow; };\n");
    let flags = ["-Wl,-soname,libm.so.6", "-Wl,--version-script,old.map"];
    lab.so("p/lib/libm.so.6", "double pow(double a, double b) { return a + b; }", &flags);
    assert!(!said(&lab).contains(command), "{}", said(&lab));
    assert!(
        said(&lab).contains("beside it, libm.so.6 does not define version GLIBC_2.29"),
        "{}",
        said(&lab)
    );
    let mut program = crate::support::clean(lab.path("p/bin/app"));
    let program = program.env("LD_LIBRARY_PATH", lab.path("p/lib"));
    let error = program.output().expect("the program starts").stderr;
    assert!(String::from_utf8_lossy(&error).contains("version `GLIBC_2.29' not found"));
}

#[test]
fn rpaths_are_tried_from_the_requester_up() {
    let lab = Lab::new();
    lab.so("p/lib/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    let old = "-Wl,--disable-new-dtags";
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-l:libfoo.so.1", old, "-Wl,-rpath,$ORIGIN/m"];
    lab.so("p/lib/libmid.so", "int mid(void) { return 1; }", &flags);
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lmid", old, "-Wl,-rpath,$ORIGIN/../lib"];
    lab.exe("p/bin/app", "int mid(void); int main(void) { return mid(); }", &flags);
    std::fs::remove_file(lab.path("p/lib/libfoo.so.1")).expect("the library");
    lab.mkdir("p/lib/m");
    let report = report(&lab, &["p"]);
    let expected = [
        "p/bin/../lib/m/libfoo.so.1 rpath no such file or directory",
        "p/bin/../lib/libfoo.so.1 rpath no such file or directory",
    ];
    assert_eq!(tried(&lab, only(&report, "missing-library")), expected);
}

#[test]
fn the_chain_leads_from_the_root_to_the_requester() {
    let lab = broken_chain("$ORIGIN");
    let report = report(&lab, &["p"]);
    let finding = only(&report, "missing-library");
    assert_eq!(finding["prefix"], at(&lab, "p"));
    assert_eq!(finding["path"], "lib/libmid.so");
    assert_eq!(finding["library"], "libfoo.so.1");
    assert_eq!(finding["root"], at(&lab, "p/bin/app"));
    assert_eq!(finding["when"], "load");
    assert_eq!(each(finding, "root", "path"), [at(&lab, "p/bin/app")]);
    assert_eq!(
        each(finding, "chain", "path"),
        [at(&lab, "p/bin/app"), at(&lab, "p/lib/libmid.so")]
    );
    assert_eq!(evidence(finding, "chain")[1]["name"], "libmid.so");
    assert_eq!(each(finding, "chain", "how"), ["root", "runpath"]);
    let witness = text(&finding["witness"]);
    assert_eq!(witness, format!("readelf -d {} | grep NEEDED", at(&lab, "p/lib/libmid.so")));
}

#[test]
fn candidates_by_soname_and_by_file_name_in_the_prefix_and_beside_it() {
    let lab = broken_chain("$ORIGIN");
    let other = "int other(void) { return 1; }";
    lab.so("p/lib64/libby-soname.so", other, &["-Wl,-soname,libfoo.so.1"]);
    lab.so("more/libfoo.so.1", other, &["-Wl,-soname,libother.so"]);
    lab.so("more/libfoo.so.2", other, &["-Wl,-soname,libfoo.so.2"]);
    lab.so("beside/libby-link.so", other, &[]);
    lab.link("libby-link.so", "beside/libfoo.so.1");
    let at_hand = |args: &[&str]| {
        let report = report(&lab, args);
        let mut found = each(only(&report, "missing-library"), "candidate", "path");
        found.sort();
        found
    };
    let inside = at(&lab, "p/lib64/libby-soname.so");
    assert_eq!(at_hand(&["p"]), [inside.as_str()]);
    let by_name = at(&lab, "more/libfoo.so.1");
    assert_eq!(at_hand(&["p", "--lib-path", "more"]), [by_name.as_str(), inside.as_str()]);
    // The loader would find the link.
    let by_link = at(&lab, "beside/libfoo.so.1");
    let all = ["p", "--lib-path", "more", "--lib-path", "beside"];
    assert_eq!(at_hand(&all), [by_link.as_str(), by_name.as_str(), inside.as_str()]);
}

/// A file of the prefix that is not audited is a candidate too, even if it would define no
/// symbol.
#[test]
fn a_candidate_beside_the_audited_files() {
    let lab = Lab::new();
    lab.so("p/b/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    for main in [CALLS_FOO, "int main(void) { return 0; }"] {
        lab.exe("p/bin/app", main, &["-Wl,--no-as-needed", "-Lp/b", "-l:libfoo.so.1"]);
        let args = ["--prefix", "p", "p/bin"];
        let report = report(&lab, &args);
        let found = only(&report, "missing-library");
        assert_eq!(found["detail"], "candidate-in-prefix");
        assert_eq!(each(found, "candidate", "path"), [at(&lab, "p/b/libfoo.so.1")]);
        let output = lab.linkaudit(&args).stdout;
        let output = String::from_utf8_lossy(&output);
        assert!(output.contains("add $ORIGIN/../b to the RUNPATH of "), "{output}");
        let command = "linkaudit fix p/bin --prefix p --emit patchelf";
        assert!(output.contains(command), "{output}");
    }
}

#[test]
fn lib_path_changes_no_resolution_and_is_not_audited() {
    let lab = broken_chain("$ORIGIN");
    lab.so("more/libfoo.so.1", "void lost(void); int foo(void) { lost(); return 1; }", &[]);
    let (without, with) = (report(&lab, &["p"]), report(&lab, &["p", "--lib-path", "more"]));
    assert_eq!(only(&with, "missing-library")["path"], "lib/libmid.so");
    assert_eq!(with["totals"], without["totals"]);
}

#[test]
fn a_missing_interpreter() {
    let lab = Lab::new();
    let interpreter = "/nonexistent/ld-stranger.so.1";
    let flag = format!("-Wl,--dynamic-linker={interpreter}");
    lab.exe("p/bin/app", "int main(void) { return 0; }", &[&flag]);
    let finding = report(&lab, &["p"]);
    let finding = only(&finding, "missing-library");
    assert_eq!(finding["library"], interpreter);
    assert_eq!(finding["path"], "bin/app");
    assert_eq!(finding["root"], at(&lab, "p/bin/app"));
    assert_eq!(finding["when"], "load");
    assert!(text(&finding["message"]).contains(interpreter));
    // `ldd` runs the system's loader and does not look at it.
    assert_eq!(report(&lab, &["p", "--as-ldd"])["findings"], json!([]));
}

#[test]
fn another_class_is_passed_over() {
    let lab = Lab::new();
    if !has_m32(&lab) {
        return skip("another_class_is_passed_over", "the compiler makes no 32-bit objects");
    }
    lab.so("p/lib/libfoo.so", FOO, &[]);
    let flags =
        ["-Wl,--no-as-needed", "-Lp/lib", "-lfoo", "-Wl,-rpath,$ORIGIN/../lib32:$ORIGIN/../x"];
    lab.exe("p/bin/app", CALLS_FOO, &flags);
    std::fs::remove_file(lab.path("p/lib/libfoo.so")).expect("the library");
    lab.mkdir("p/x");
    lab.cc("lib32/libfoo.so", FOO, &["-m32", "-nostdlib", "-shared", "-fPIC"], &[]);
    lab.link("../lib32", "p/lib32");
    let report = report(&lab, &["p/bin/app"]);
    let finding = only(&report, "wrong-architecture");
    let expected = [
        "p/bin/../lib32/libfoo.so runpath another ELF class",
        "p/bin/../x/libfoo.so runpath no such file or directory",
    ];
    assert_eq!(tried(&lab, finding), expected);
    assert_eq!(finding["library"], "libfoo.so");
    // The missing library explains the reference.
    assert_eq!(each(finding, "explained", "symbol"), ["foo"]);
}

#[test]
fn another_machine_is_passed_over() {
    let lab = Lab::new();
    let flags = ["-Wl,--no-as-needed", "-Lother", "-lfoo", "-Wl,-rpath,$ORIGIN/../../other"];
    lab.so("other/libfoo.so", FOO, &[]);
    lab.exe("p/bin/app", CALLS_FOO, &flags);
    let mut bytes = std::fs::read(lab.path("other/libfoo.so")).expect("the library");
    bytes[18] = 183;
    std::fs::write(lab.path("other/libfoo.so"), bytes).expect("the library");
    let report = report(&lab, &["p"]);
    let finding = only(&report, "wrong-architecture");
    let expected = ["p/bin/../../other/libfoo.so runpath another machine"];
    assert_eq!(tried(&lab, finding), expected);
}

#[test]
fn a_file_for_another_machine_is_no_candidate() {
    let lab = Lab::new();
    lab.so("p/lib/libfoo.so", FOO, &[]);
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lfoo", "-Wl,-rpath,$ORIGIN/../nowhere"];
    lab.exe("p/bin/app", CALLS_FOO, &flags);
    let mut bytes = std::fs::read(lab.path("p/lib/libfoo.so")).expect("the library");
    bytes[18] = 183;
    std::fs::write(lab.path("p/lib/libfoo.so"), bytes).expect("the library");
    let report = report(&lab, &["p", "-A", "undecided"]);
    // A library for another machine defines nothing for the program, so the missing library
    // explains all references.
    let finding = only(&report, "missing-library");
    assert_eq!(each(finding, "candidate", "path"), [""; 0]);
    assert_eq!(each(finding, "explained", "symbol"), ["foo"]);
}

/// `bin/app` needs `libmid.so`, which needs the version FOO_2 of a `libfoo.so` that has only FOO_1.
fn old_version() -> Lab {
    let lab = Lab::new();
    lab.write("newer", "FOO_1 { global: foo; };\nFOO_2 { global: more; } FOO_1;\n");
    lab.write("older", "FOO_1 { global: foo; };\n");
    let both = format!("{FOO} int more(void) {{ return 2; }}");
    lab.so("p/lib/libfoo.so", &both, &["-Wl,--version-script=$PWD/newer", "-Wl,-soname,libfoo.so"]);
    let mid = "int more(void) __attribute__((weak)); int mid(void) { return more ? more() : 0; }";
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lfoo", "-Wl,-rpath,$ORIGIN"];
    lab.so("p/lib/libmid.so", mid, &flags);
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lmid", "-Wl,-rpath,$ORIGIN/../lib"];
    lab.exe("p/bin/app", "int mid(void); int main(void) { return mid(); }", &flags);
    lab.so("p/lib/libfoo.so", FOO, &["-Wl,--version-script=$PWD/older", "-Wl,-soname,libfoo.so"]);
    lab
}

#[test]
fn a_missing_version() {
    let lab = old_version();
    let report = report(&lab, &["p"]);
    let finding = only(&report, "missing-version");
    assert_eq!(finding["path"], "lib/libmid.so");
    assert_eq!(finding["version"], "FOO_2");
    assert_eq!(finding["library"], "libfoo.so");
    assert_eq!(finding["when"], "load");
    assert_eq!(finding["root"], at(&lab, "p/bin/app"));
    assert_eq!(each(finding, "provider", "path"), [at(&lab, "p/lib/libfoo.so")]);
    assert_eq!(
        each(finding, "chain", "path"),
        [at(&lab, "p/bin/app"), at(&lab, "p/lib/libmid.so")]
    );
    assert!(of_rule(&report, "undefined-symbol").is_empty());
}

/// A later directory of the search path has a library that defines the version. The program starts
/// if this directory comes first.
#[test]
fn a_version_in_a_later_directory() {
    let lab = old_version();
    lab.mkdir("p/new");
    let both = format!("{FOO} int more(void) {{ return 2; }}");
    let flags = ["-Wl,--version-script=$PWD/newer", "-Wl,-soname,libfoo.so"];
    lab.so("p/new/libfoo.so", &both, &flags);
    let report = report(&lab, &["p"]);
    let finding = only(&report, "missing-version");
    assert_eq!(each(finding, "candidate", "path"), [at(&lab, "p/new/libfoo.so")]);
    let said = run(&lab, &["p"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("p/new/libfoo.so: defines FOO_2, but the loader takes"), "{said}");
    assert!(!run(&lab, &["fix", "p"]).out.contains("--lib-path"));
    assert!(!lab.sh("p/bin/app").status.success());
    let repaired = lab.sh("LD_LIBRARY_PATH=p/new p/bin/app || test $? = 2");
    assert!(repaired.status.success());
}

/// With the candidate first in the search path, another version would be missing, so there is no
/// advice about the search path. The same holds if another object has brought in the library, or
/// for a need with a slash.
#[test]
fn a_candidate_that_would_not_help() {
    let advice = "comes first";
    let lab = old_version();
    let both = format!("{FOO} int more(void) {{ return 2; }}");
    lab.write("newest", "FOO_2 { global: more; };\n");
    let flags = ["-Wl,--version-script=$PWD/newest", "-Wl,-soname,libfoo.so"];
    lab.so("p/new/libfoo.so", &both, &flags);
    let mid = "int foo(void), more(void); int mid(void) { return foo() + more(); }";
    let newer = ["-Wl,--version-script=$PWD/newer", "-Wl,-soname,libfoo.so"];
    lab.so("full/libfoo.so", &both, &newer);
    lab.so("p/lib/libmid.so", mid, &["-Lfull", "-lfoo", "-Wl,-rpath,$ORIGIN"]);
    assert!(!lab.sh("LD_LIBRARY_PATH=p/new p/bin/app || test $? = 3").status.success());
    let said = || run(&lab, &["p"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!said().contains(advice), "{}", said());
    // A file with all versions is a candidate.
    lab.so("p/new/libfoo.so", &both, &newer);
    assert!(said().contains(advice), "{}", said());
    // The program searches first, so the search path of the library has no effect.
    let source = "int foo(void), mid(void); int main(void) { return foo() - mid(); }";
    let flags = [
        "-Wl,--no-as-needed,--allow-shlib-undefined",
        "-Lp/lib",
        "-lfoo",
        "-lmid",
        "-Wl,-rpath,$ORIGIN/../lib",
    ];
    lab.exe("p/bin/app", source, &flags);
    assert!(!said().contains(advice), "{}", said());
    assert!(said().contains("loader takes the file that"), "{}", said());
}

/// The name of the link that would give a candidate the needed name may be in use.
#[test]
fn a_needed_name_in_use() {
    let lab = Lab::new();
    lab.so("p/lib/libfoo-1.so", FOO, &["-Wl,-soname,libfoo.so.1"]);
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-l:libfoo-1.so", "-Wl,-rpath,$ORIGIN/../lib"];
    lab.exe("p/bin/app", CALLS_FOO, &flags);
    let command = || {
        let said = run(&lab, &["p", "--isolated"]).out;
        let line = said.lines().find_map(|line| line.find("ln -s").map(|at| &line[at..]));
        line.map(str::to_owned)
    };
    let repair = |start: &str| {
        let command = command().expect("a command");
        assert!(command.starts_with(start), "{command}");
        assert!(lab.sh(&command).status.success(), "{command}");
        assert_ne!(lab.sh("p/bin/app").status.code(), Some(127), "{command}");
        std::fs::remove_file(lab.path("p/lib/libfoo.so.1")).expect("the link");
    };
    repair("ln -s ");
    lab.link("nowhere", "p/lib/libfoo.so.1");
    repair("ln -sfn ");
    lab.write("p/lib/libfoo.so.1", "INPUT(libfoo-1.so)");
    lab.exe("p/bin/app", CALLS_FOO, &["-Wl,--no-as-needed", "-Lp/lib", "-l:libfoo-1.so"]);
    let said = run(&lab, &["p", "--isolated"]).out;
    assert!(said.contains("remove the other file of the needed name"), "{said}");
    assert_eq!(command(), None);
}

/// The file with the soname as its name is a linker script, which the loader rejects.
#[test]
fn a_linker_script_named_as_the_soname() {
    let lab = Lab::new();
    lab.so("p/lib/libfoo.so.1.0", FOO, &["-Wl,-soname,libfoo.so"]);
    lab.write("p/lib/libfoo.so", "INPUT(libfoo.so.1.0)");
    let said = run(&lab, &["p", "--format", "json"]).out;
    let report: Value = serde_json::from_str(&said).expect("JSON");
    let finding = only(&report, "soname-mismatch");
    let message = "its soname is libfoo.so, and no ELF file beside it has that name";
    assert_eq!(finding["message"], message);
    lab.exe("app", CALLS_FOO, &["-Lp/lib", "-lfoo", "-Wl,-rpath,$ORIGIN/p/lib"]);
    assert!(!lab.sh("./app").status.success());
}

/// Libraries that lack the same library are one entry, and each path that was tried occurs once.
#[test]
fn what_was_tried_is_told_once() {
    let lab = Lab::new();
    lab.so("p/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    let needs = ["-Wl,--no-as-needed", "-nostdlib", "-Lp", "-l:libfoo.so.1"];
    for name in ["liba.so", "libb.so", "libc.so", "libd.so"] {
        // One library searches another directory first.
        let own = if name == "libc.so" { "-Wl,-rpath,$ORIGIN/own" } else { "-Wl,-rpath,$ORIGIN" };
        lab.so(&format!("p/{name}"), "int x;", &[&needs[..], &[own]].concat());
    }
    std::fs::remove_file(lab.path("p/libfoo.so.1")).expect("the library");
    let human = |options: &[&str]| {
        let output = lab.linkaudit(&[options, &["p"]].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = human(&[]);
    assert_eq!(text.matches("libfoo.so.1: not found\n").count(), 1, "{text}");
    assert!(text.contains("  needed by  liba.so, libb.so, libc.so, libd.so\n"), "{text}");
    assert_eq!(text.matches("/libfoo.so.1 (RUNPATH)").count(), 2, "{text}");
    assert!(!text.contains("libd.so: libfoo.so.1: not found"), "{text}");
    let all = human(&["-v"]);
    for name in ["liba.so", "libb.so", "libc.so", "libd.so"] {
        assert!(all.contains(&format!("{name}: libfoo.so.1: not found by the loader")), "{all}");
    }
}

#[test]
fn a_forbidden_library_is_the_title_of_its_findings() {
    let lab = Lab::new();
    lab.so("p/libfoo.so.1", "int foo(void) { return 1; }", &["-Wl,-soname,libfoo.so.1"]);
    lab.so("p/libbar.so.1", "int bar(void) { return 1; }", &["-Wl,-soname,libbar.so.1"]);
    let flags = ["-Wl,--no-as-needed", "-Lp", "-l:libfoo.so.1", "-Wl,-rpath,$ORIGIN"];
    for name in ["p/liba.so", "p/libb.so"] {
        lab.so(name, "", &flags);
    }
    let heading = |library: &str| {
        let text = format!("schema = 1\n\n[forbid]\nlibraries = [{{ name = \"{library}\" }}]\n");
        lab.write("policy.toml", text);
        let page = run(&lab, &["--isolated", "--policy", "policy.toml", "p"]).out;
        let line = page.lines().find(|line| line.starts_with("error[forbidden-library]"));
        line.unwrap_or_else(|| panic!("{page}")).to_owned()
    };
    let expected =
        "error[forbidden-library] libfoo.so.1: forbidden by policy.toml:4, needed by 2 files";
    assert_eq!(heading("libfoo.so.1"), expected);
    // A pattern may forbid several libraries.
    lab.so("p/libb.so", "", &[&flags[..], &["-l:libbar.so.1"]].concat());
    let expected = "error[forbidden-library] policy.toml:4: 3 findings in 2 files";
    assert_eq!(heading("lib[fb]*.so.1"), expected);
}

/// A candidate behind a link to a directory outside of the prefix counts for a part of the prefix
/// as for the whole.
#[test]
fn a_candidate_behind_a_link_to_a_directory() {
    let lab = Lab::new();
    lab.so("ext/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    let flags = ["-Wl,--no-as-needed", "$PWD/ext/libfoo.so.1"];
    lab.so("app/lib/libuser.so", CALLS_FOO, &flags);
    lab.link("../../ext", "app/lib/priv");
    for args in [&["app"][..], &["app/lib/libuser.so", "--prefix", "app"]] {
        let report = report(&lab, args);
        let found = of_rule(&report, "missing-library");
        assert_eq!(found.len(), 1, "{args:?}");
        assert_eq!(found[0]["detail"], "candidate-in-prefix", "{args:?}: {report:#}");
    }
}
