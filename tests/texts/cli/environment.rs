//! Options about the environment of programs: they find libraries and decide questions, and errors
//! in them are refused.

use super::kit::{FOO, evidence, findings, of_rule, only, report, run, text};
use crate::support::Lab;

/// `app` needs libfoo.so.1, which is in `d`, outside of all search paths.
fn app(flags: &[&str]) -> Lab {
    let lab = Lab::new();
    lab.so("d/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    let needs = ["-Wl,--no-as-needed", "-Ld", "-l:libfoo.so.1"];
    lab.exe("app", "int main(void) { return 0; }", &[&needs, flags].concat());
    lab
}

#[test]
fn a_library_is_found_through_the_library_path_only() {
    let lab = app(&[]);
    let missing = report(&lab, &["app"]);
    let finding = only(&missing, "missing-library");
    assert!(evidence(finding, "tried").iter().all(|piece| piece["how"] != "ld-library-path"));
    let dir = lab.path("d");
    let dir = dir.to_str().expect("a path in UTF-8");
    let found = report(&lab, &["--ld-library-path", dir, "app"]);
    assert_eq!(findings(&found).len(), 0, "{found:#}");
    let how = found["files"].as_array().into_iter().flatten().find_map(|file| {
        let needs = file["needed"].as_array()?;
        needs.iter().find(|need| need["name"] == "libfoo.so.1").map(|need| need["how"].clone())
    });
    assert_eq!(how.expect("app needs it"), "ld-library-path");
    let elsewhere = report(&lab, &["--ld-library-path", "/none", "app"]);
    let tried = evidence(only(&elsewhere, "missing-library"), "tried");
    assert_eq!(tried[0]["how"], "ld-library-path");
    assert_eq!(tried[0]["reason"], "no such directory");
}

#[test]
fn the_environment_of_the_run_itself_is_never_read() {
    let lab = app(&[]);
    let mut command = crate::support::linkaudit();
    command.current_dir(lab.root()).env("LD_LIBRARY_PATH", lab.path("d")).arg("app");
    let output = command.output().expect("linkaudit runs");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_library_that_cannot_be_preloaded_is_a_finding_and_one_that_can_is_loaded() {
    let lab = app(&["-Wl,-rpath,$ORIGIN/d"]);
    let here = lab.root();
    let here = here.to_str().expect("a path in UTF-8");
    let report = report(&lab, &["--cwd", here, "--ld-preload", "none.so d/libfoo.so.1", "app"]);
    let finding = only(&report, "missing-preload");
    assert_eq!(finding["library"], "none.so");
    assert_eq!((&finding["detail"], &finding["level"]), (&"LD_PRELOAD".into(), &"warning".into()));
    assert!(text(&finding["message"]).contains("cannot open shared object file"));
    // The loader prints an error and runs the program.
    let tree = run(&lab, &["tree", "--cwd", here, "--ld-preload", "none.so", "app"]);
    let line = "skipped none.so  named by LD_PRELOAD: cannot open shared object file\n";
    assert!(tree.out.contains(line), "{}", tree.out);
    assert_eq!(tree.status, 0);
    let mut program = crate::support::clean(lab.path("app"));
    let output = program.env("LD_PRELOAD", "none.so").output().expect("the program runs");
    assert!(output.status.success());
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("'none.so' from LD_PRELOAD cannot be preloaded"), "{err}");
}

#[test]
fn a_preload_that_is_missing_and_needed_by_the_same_name_is_searched_for_each() {
    let lab = app(&[]);
    let report = report(&lab, &["--ld-preload", "libfoo.so.1", "app"]);
    // The file lies in a directory that no search comes to.
    for (rule, detail) in
        [("missing-preload", "LD_PRELOAD"), ("missing-library", "candidate-in-prefix")]
    {
        let found = of_rule(&report, rule);
        assert_eq!((found.len(), &found[0]["detail"]), (1, &detail.into()));
    }
}

#[test]
fn what_depends_on_the_directory_is_decided_by_naming_it() {
    let lab = app(&["-Wl,-rpath,d"]);
    let open = report(&lab, &["app"]);
    let finding = only(&open, "undecided");
    assert!(text(&finding["message"]).contains("--cwd"), "{finding:#}");
    let here = lab.root();
    let here = here.to_str().expect("a path in UTF-8");
    assert_eq!(findings(&report(&lab, &["--cwd", here, "app"])).len(), 0);
    run(&lab, &["--cwd", "d", "app"]).refused(&["--cwd d", "absolute"]).in_style();
}

/// The kernel looks for a relative interpreter in the current directory.
#[test]
fn a_relative_interpreter_depends_on_the_directory() {
    let lab = app(&["-Wl,-rpath,$ORIGIN/d", "-Wl,--dynamic-linker=ld/ld.so"]);
    let here = lab.root();
    let here = here.to_str().expect("a path in UTF-8");
    let starts = |dir: &str| {
        let mut program = crate::support::clean(lab.path("app"));
        program.current_dir(dir).status().is_ok_and(|status| status.success())
    };
    let findings_in = |dir: &str| findings(&report(&lab, &["--cwd", dir, "app"])).len();
    assert!(!starts(here) && !starts("/") && findings_in(here) == 1 && findings_in("/") == 1);
    let open = report(&lab, &["app"]);
    assert_eq!(
        (findings(&open).len(), only(&open, "undecided")["rule"].clone()),
        (1, "undecided".into())
    );
    lab.mkdir("ld");
    lab.link("/lib64/ld-linux-x86-64.so.2", "ld/ld.so");
    assert!(starts(here) && !starts("/") && findings_in(here) == 0 && findings_in("/") == 1);
    let open = report(&lab, &["app"]);
    let finding = only(&open, "undecided");
    assert!(text(&finding["message"]).contains("--cwd"), "{finding:#}");
}

#[test]
fn what_depends_on_the_processor_is_decided_by_naming_it() {
    let lab = app(&["-Wl,-rpath,$ORIGIN/d"]);
    let level = "d/glibc-hwcaps/x86-64-v2/libfoo.so.1";
    lab.so(level, FOO, &["-Wl,-soname,libfoo.so.1"]);
    let path = |cpu: &str| {
        let report = report(&lab, &["--cpu", cpu, "app"]);
        assert_eq!(findings(&report).len(), 0, "{report:#}");
        let files = report["files"].as_array().expect("files");
        let needs = files.iter().flat_map(|file| file["needed"].as_array().expect("needs"));
        let need = needs.into_iter().find(|need| need["name"] == "libfoo.so.1");
        text(&need.expect("app needs it")["path"]).to_owned()
    };
    assert!(path("x86-64-v2").ends_with(level));
    assert!(path("x86-64-v4").ends_with(level));
    assert!(path("baseline").ends_with("/d/libfoo.so.1"));
    assert!(path("x86-64").ends_with("/d/libfoo.so.1"));
    run(&lab, &["--cpu", "x86-64-v9", "app"])
        .refused(&["unknown processor `x86-64-v9`", "did you mean `x86-64-v"])
        .in_style();
}

/// glibc gives `$PLATFORM` another value on Intel processors from Haswell on.
#[test]
fn the_platform_is_that_of_the_named_processor() {
    let lab = app(&["-Wl,-rpath,$ORIGIN/$PLATFORM"]);
    for platform in ["x86_64", "haswell"] {
        lab.so(&format!("{platform}/libfoo.so.1"), FOO, &["-Wl,-soname,libfoo.so.1"]);
    }
    let found = |cpu: &str| {
        let run = run(&lab, &["--cpu", cpu, "--as-ldd", "--format", "ldd", "app"]);
        ["x86_64", "haswell"].map(|platform| run.out.contains(&format!("/{platform}/libfoo.so.1")))
    };
    for cpu in ["baseline", "x86-64-v2", "x86-64-v3", "x86-64-v4"] {
        assert_eq!(found(cpu), [true, false], "{cpu}");
    }
    for cpu in ["haswell", "skylake-avx512"] {
        assert_eq!(found(cpu), [false, true], "{cpu}");
    }
}
