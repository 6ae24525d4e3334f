//! Messages lead to the next step: advice names the right file, a result without findings has a
//! reason, and an option that cannot have an effect is refused before the audit.

use super::kit::{BROKEN, FOO, report, run, text};
use crate::support::Lab;
use std::collections::BTreeSet;

/// `DIR/bin/app` needs a version that `DIR/lib/libfoo.so`, which has no soname, does not define.
fn without_version(lab: &Lab, dir: &str) {
    lab.write("newer", "FOO_1 { global: foo; }; FOO_2 { global: more; } FOO_1;");
    lab.write("older", "FOO_1 { global: foo; };");
    let library = format!("{dir}/lib/libfoo.so");
    let newer = "int foo(void) { return 1; } int more(void) { return 2; }";
    lab.so(&library, newer, &["-Wl,--version-script=$PWD/newer"]);
    let source =
        "int more(void) __attribute__((weak)); int main(void) { return more ? more() : 0; }";
    let (directory, rpath) = (format!("-L{dir}/lib"), "-Wl,-rpath,$ORIGIN/../lib");
    let options = ["-Wl,--no-as-needed", &directory, "-lfoo", rpath];
    lab.exe(&format!("{dir}/bin/app"), source, &options);
    lab.so(&library, FOO, &["-Wl,--version-script=$PWD/older"]);
}

#[test]
fn a_library_without_soname_has_its_file_name() {
    let lab = Lab::new();
    without_version(&lab, "p");
    let said = run(&lab, &["p", "--isolated"]).out;
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("install a release of libfoo.so that defines FOO_2"), "{said}");
}

/// Equal relative paths below two PATHs are two files.
#[test]
fn files_of_two_paths_are_two_causes() {
    let lab = Lab::new();
    for dir in ["old", "new"] {
        without_version(&lab, dir);
    }
    let report = report(&lab, &["old", "new"]);
    let causes = report["causes"].as_array().expect("causes");
    let of_version = causes.iter().filter(|cause| cause["rule"] == "missing-version");
    let files: Vec<_> = of_version.map(|cause| cause["files"].as_u64()).collect();
    assert_eq!(files, [Some(1), Some(1)], "{causes:#?}");
    let ids: BTreeSet<&str> = causes.iter().map(|cause| text(&cause["id"])).collect();
    assert_eq!(ids.len(), causes.len());
}

/// A rule that this version does not have, and a line that repeats another one.
#[test]
fn stale_lines_have_their_reasons() {
    let lab = Lab::new();
    lab.so("p/liba.so", BROKEN, &[]);
    let args = ["p", "-A", "link-hygiene", "--baseline", "known"];
    run(&lab, &["p", "-A", "link-hygiene", "--write-baseline", "known"]);
    let known = std::fs::read_to_string(lab.path("known")).expect("a baseline");
    let line = known.lines().find(|line| line.contains("undefined-symbol")).expect("a line");
    lab.write("known", format!("{line}\n{line}\n{}\n", line.replace("symbol", "symbl")));
    let said = run(&lab, &args).out;
    assert!(said.contains("2 stale baseline lines\n"), "{said}");
    assert!(said.contains("line 2: undefined-symbol liba.so gone: repeats line 1\n"), "{said}");
    assert!(said.contains("line 3: undefined-symbl liba.so gone: unknown rule\n"), "{said}");
    let strict = run(&lab, &[&args[..], &["--fail-on-stale", "--format", "json"]].concat());
    assert_eq!(strict.status, 1);
    assert!(strict.err.contains("gone: unknown rule\n"), "{}", strict.err);
    let rewritten = run(&lab, &[&args[..], &["--write-baseline", "known"]].concat());
    assert!(rewritten.err.contains(&format!("\n  - {line}\n")), "{}", rewritten.err);
}

#[test]
fn quiet_names_what_fails_the_run() {
    let lab = Lab::new();
    lab.so("p/liba.so", BROKEN, &[]);
    let args = ["p", "--isolated", "-q", "-W", "undefined-symbol", "-A", "link-hygiene"];
    let quiet = run(&lab, &args);
    assert!(quiet.status == 0 && !quiet.out.contains("[undefined-symbol]"), "{}", quiet.out);
    let strict = run(&lab, &[&args[..], &["--fail-on", "warning"]].concat());
    assert!(strict.status == 1 && strict.out.contains("[undefined-symbol]"), "{}", strict.out);
    lab.sh("mkdir q && head -c 100 p/liba.so > q/libcut.so");
    let unread = run(&lab, &["q", "--isolated", "-q", "-W", "input"]);
    assert!(unread.status == 3 && unread.out.contains("[malformed]"), "{}", unread.out);
    lab.sh("mkdir t; cp p/liba.so t/x.o; ar rcT t/libt.a t/x.o; rm t/x.o");
    let thin = run(&lab, &["t", "--isolated", "-W", "thin-member-missing"]);
    assert!(thin.status == 3 && thin.out.contains("\nincomplete: "), "{}{}", thin.out, thin.err);
}

#[test]
fn results_without_findings_have_a_reason() {
    let lab = Lab::new();
    lab.so("fine/libfoo.so", FOO, &[]);
    let fixed = run(&lab, &["fix", "fine", "-A", "link-hygiene"]);
    assert_eq!((fixed.status, &*fixed.out), (0, "nothing to fix\n"));
    lab.so("p/liba.so", BROKEN, &[]);
    let open = run(&lab, &["fix", "p", "-A", "link-hygiene"]);
    assert!(open.out.contains("help: `linkaudit check` shows the causes"), "{}", open.out);
    lab.write("list", "fine/gone\n");
    run(&lab, &["--files-from", "list", "--require-elf"])
        .refused(&["nothing to audit", "fine/gone: no such file or directory"])
        .in_style();
}

#[test]
fn options_without_effect_are_refused() {
    let lab = Lab::new();
    lab.so("p/libfoo.so", FOO, &[]);
    lab.write("list", "p\n");
    lab.write("list0", "p\0p\0");
    lab.write("f.c", "int f;\n");
    lab.link("loop", "loop");
    lab.link("hok", "none");
    let cases: [(&[&str], &[&str]); 8] = [
        (&["diff", "p", "p", "--staged", "p"], &["`diff` has no --staged", "--stages"]),
        (&["diff", "p", "p", "--files-from", "list"], &["`diff` has no --files-from", "help: "]),
        (&["diff", "f.c", "p"], &["f.c: ", "help: name a directory or a JSON report"]),
        (&["p", "--write-baseline", "none/x"], &["cannot write none/x: no such file or directory"]),
        (&["--files-from", "list0"], &["list0: contains NUL bytes", "add -0"]),
        (&["--root", "p", "/usr"], &["/usr: no such file or directory in --root p"]),
        (&["hok"], &["error: hok: no such file or directory\n"]),
        (&["hokk"], &["did you mean `hook`?"]),
    ];
    for (args, parts) in cases {
        run(&lab, args).refused(parts).in_style();
    }
    assert!(!run(&lab, &["loop"]).err.contains("did you mean"));
}
