//! The exit status: 0 clean, 1 findings, 2 usage, 3 incomplete, and the options that change it.

use super::kit::{BROKEN, fifo, report, run, three_trees};
use crate::support::Lab;

#[track_caller]
fn status(lab: &Lab, args: &[&str], expected: i32) {
    let run = run(lab, args);
    assert_eq!(run.status, expected, "{args:?}\n{}{}", run.out, run.err);
}

#[test]
fn each_status() {
    let lab = three_trees();
    status(&lab, &["fine"], 0);
    status(&lab, &["broken"], 1);
    status(&lab, &["nosuch"], 2);
    status(&lab, &["odd"], 3);
}

#[test]
fn the_status_does_not_depend_on_the_output() {
    let lab = three_trees();
    for format in ["human", "json", "ldd"] {
        status(&lab, &["fine", "--format", format], 0);
        status(&lab, &["broken", "--format", format], 1);
        status(&lab, &["odd", "--format", format], 3);
        status(&lab, &["broken", "--quiet", "--format", format], 1);
    }
}

#[test]
fn findings_outrank_an_incomplete_audit() {
    let lab = three_trees();
    status(&lab, &["broken", "odd"], 1);
    status(&lab, &["broken", "odd", "-A", "undefined-symbol"], 3);
    status(&lab, &["broken", "odd", "-A", "input"], 1);
    status(&lab, &["broken", "odd", "-A", "undefined-symbol", "-A", "input"], 0);
}

#[test]
fn why_does_not_answer_from_an_incomplete_audit_with_success() {
    let lab = three_trees();
    lab.so("fine/libnamed.so.1", "int named(void) { return 1; }", &["-Wl,-soname,libnamed.so.1"]);
    for name in ["libnamed.so.1", "named"] {
        status(&lab, &["why", name, "fine"], 0);
        status(&lab, &["why", name, "fine", "odd"], 3);
        status(&lab, &["why", name, "fine", "odd", "--fail-on", "never"], 3);
    }
    status(&lab, &["why", "nosuch", "fine", "odd"], 1);
}

#[test]
fn fail_on() {
    let lab = three_trees();
    for (fail_on, with_error, with_warning) in [("error", 1, 0), ("warning", 1, 1), ("never", 0, 0)]
    {
        status(&lab, &["broken", "--fail-on", fail_on], with_error);
        status(&lab, &["broken", "--fail-on", fail_on, "-W", "symbol"], with_warning);
        status(&lab, &["fine", "--fail-on", fail_on], 0);
    }
}

#[test]
fn fail_on_touches_only_1() {
    let lab = three_trees();
    for fail_on in ["error", "warning", "never"] {
        status(&lab, &["odd", "--fail-on", fail_on], 3);
        status(&lab, &["odd", "--fail-on", fail_on, "-W", "input"], 3);
        status(&lab, &["nosuch", "--fail-on", fail_on], 2);
    }
    // Without the findings, the audit is still incomplete.
    status(&lab, &["broken", "odd", "--fail-on", "never"], 3);
}

#[test]
fn allowing_makes_an_incomplete_run_complete() {
    let lab = three_trees();
    assert_eq!(report(&lab, &["odd"])["complete"], false);
    for name in ["unreadable", "input"] {
        status(&lab, &["odd", "--allow", name], 0);
        let report = report(&lab, &["odd", "--allow", name]);
        assert_eq!(report["complete"], true);
        assert_eq!(report["findings"], serde_json::json!([]));
        // The totals count the file even if its findings are allowed.
        assert_eq!(report["totals"]["special"], 1);
    }
    status(&lab, &["odd", "--allow", "malformed", "--allow", "undecided"], 3);
    status(&lab, &["odd", "--allow", "symbol"], 3);
}

#[test]
fn a_warning_leaves_the_run_incomplete() {
    let lab = three_trees();
    let report = report(&lab, &["odd", "--warn", "unreadable"]);
    assert_eq!(report["complete"], false);
    assert_eq!(report["findings"][0]["level"], "warning");
    status(&lab, &["odd", "--warn", "unreadable"], 3);
}

#[test]
fn the_text_never_claims_more_than_was_audited() {
    let lab = three_trees();
    let text = run(&lab, &["odd"]).out;
    assert!(text.contains("incomplete: 1 item unread or undecided"), "{text}");
    lab.mkdir("empty");
    let text = run(&lab, &["empty"]).out;
    assert!(text.contains("no ELF files"), "{text}");
}

#[test]
fn require_elf() {
    let lab = Lab::new();
    lab.write("texts/a", "nothing to audit here\n");
    status(&lab, &["texts"], 0);
    run(&lab, &["texts", "--require-elf"])
        .refused(&["0 ELF files and archives in 1 entry\n"])
        .in_style();
    lab.so("lib/libbroken.so", BROKEN, &[]);
    status(&lab, &["texts", "lib", "--require-elf"], 1);
    // An archive, and a damaged file, are something to audit.
    lab.write("archive/a.a", "!<arch>\n");
    status(&lab, &["./archive", "--require-elf"], 0);
    lab.write("damaged/a.so", b"\x7fELF");
    status(&lab, &["damaged", "--require-elf"], 3);
}

/// `check`, `--require-elf`, `diff` and Markdown count files that only links lead to.
#[test]
fn links_to_files_are_something_to_audit() {
    let lab = Lab::new();
    lab.so("far/libfoo.so.1", "int foo;", &["-Wl,-soname,libfoo.so.1"]);
    lab.write("far/a.a", "!<arch>\n");
    for (dir, file, audited) in [
        ("library", "libfoo.so.1", "1 ELF file, 1 entry point"),
        ("archives", "a.a", "0 ELF files, 1 archive, 0 entry points"),
    ] {
        lab.link(&format!("../far/{file}"), &format!("{dir}/{file}"));
        let shown = run(&lab, &[dir, "--require-elf", "--isolated"]);
        assert!(shown.out.contains(&format!("nothing wrong: {audited}\n")), "{}", shown.out);
        status(&lab, &["diff", dir, dir, "--isolated"], 0);
        let page = run(&lab, &[dir, "--isolated", "--format", "markdown"]).out;
        assert!(page.contains(&format!("\n{audited} audited.\n")), "{page}");
    }
}

#[test]
fn a_special_file_as_path_is_not_read() {
    let lab = Lab::new();
    fifo(&lab, "pipe");
    status(&lab, &["pipe"], 3);
}
