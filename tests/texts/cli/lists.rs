//! `--files-from`: paths in a file or on stdin, one per line or terminated by NUL.

use super::kit::{Run, at, findings, report, run, summary, three_trees, whole_path};
use crate::support::{Lab, linkaudit};
use std::io::Write as _;
use std::process::Stdio;

fn with_stdin(lab: &Lab, args: &[&str], text: &[u8]) -> Run {
    let mut child = linkaudit()
        .current_dir(lab.root())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("linkaudit runs");
    child.stdin.take().expect("stdin").write_all(text).expect("a list");
    Run::new(&child.wait_with_output().expect("linkaudit ends"))
}

#[test]
fn a_list_is_as_good_as_arguments() {
    let lab = three_trees();
    lab.write("list", "broken\nfine/libfine.so\n");
    let expected = run(&lab, &["broken", "fine/libfine.so"]);
    assert_eq!(expected.status, 1);
    assert_eq!(run(&lab, &["--files-from", "list"]).out, expected.out);
    assert_eq!(
        with_stdin(&lab, &["--files-from", "-"], b"broken\nfine/libfine.so").out,
        expected.out
    );
    let null = with_stdin(&lab, &["-0", "--files-from", "-"], b"broken\0fine/libfine.so\0");
    assert_eq!(null.out, expected.out);
    lab.write("rest", "fine/libfine.so\n");
    assert_eq!(run(&lab, &["broken", "--files-from", "rest"]).out, expected.out);
}

#[test]
fn names_with_newlines_need_nul() {
    let lab = Lab::new();
    lab.so("a\nb/lib\n.so", super::kit::BROKEN, &[]);
    let run = with_stdin(&lab, &["--files-from", "-", "--null", "--format", "json"], b"a\nb\0");
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.out.contains(r#""path":"lib\n.so""#), "{}", run.out);
}

#[test]
fn what_is_not_there_is_a_finding_and_no_mistake() {
    let lab = three_trees();
    lab.write("list", "fine\nnosuch\nfine/libfine.so/x\n");
    let report = report(&lab, &["--files-from", "list"]);
    assert_eq!(report["complete"], false);
    let found = summary(&report);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|line| line.starts_with("unreadable ")), "{found:?}");
    let mut paths: Vec<String> = findings(&report).iter().map(whole_path).collect();
    paths.sort();
    assert_eq!(paths, ["fine/libfine.so/x", "nosuch"].map(|name| at(&lab, name)));
    assert_eq!(run(&lab, &["--files-from", "list"]).status, 3);
    assert_eq!(run(&lab, &["--files-from", "list", "-A", "unreadable"]).status, 0);
    assert_eq!(report["totals"]["skipped"]["no such file or directory"], 1);
}

#[test]
fn an_empty_list() {
    let lab = Lab::new();
    lab.write("list", "");
    let run = run(&lab, &["--files-from", "list"]);
    assert_eq!(run.status, 0);
    assert!(run.out.contains("no ELF files"), "{}", run.out);
    super::kit::run(&lab, &["--files-from", "list", "--require-elf"]).refused(&["0 ELF files"]);
}

#[test]
fn a_list_that_is_not_there() {
    let lab = three_trees();
    run(&lab, &["fine", "--files-from", "nosuch"]).refused(&["nosuch"]).in_style();
    run(&lab, &["fine", "--files-from", "broken"]).refused(&["broken"]).in_style();
}

/// A list has all files of a package, as a directory has: foreign files are only counted.
#[test]
fn a_foreign_file_in_a_list_is_counted() {
    let lab = Lab::new();
    lab.so("p/libe.so", "int f(void) { return 1; }", &["-nostdlib"]);
    let mut bytes = std::fs::read(lab.path("p/libe.so")).expect("the library");
    // e_ident[EI_OSABI] is FreeBSD.
    bytes[7] = 9;
    lab.write("p/libe.so", bytes);
    lab.write("list", "p/libe.so\n");
    let quiet = ["-A", "link-hygiene", "--require-elf"];
    let named = report(&lab, &["p/libe.so"]);
    assert_eq!(named["complete"], false, "{named:#}");
    for paths in [&["p"][..], &["--files-from", "list"]] {
        let own = run(&lab, &[paths, &quiet].concat());
        assert_eq!(own.status, 0, "{paths:?}: {}{}", own.out, own.err);
    }
}
