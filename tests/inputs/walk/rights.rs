//! Files that may not be read are reported and counted, and never treated as clean.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::report::{Report, text, whole_path};
use super::{broken, found_broken, is_root};
use crate::support::{self, Lab};

const NOBODY: &str = "65534";

/// The program under test as a user without permissions. Root becomes another user, and the program
/// is copied to a directory that this user can reach.
fn unprivileged(lab: &Lab) -> Command {
    if !is_root() {
        return support::linkaudit();
    }
    let program = lab.path("linkaudit");
    // A child process of another test could inherit a file that this process writes (ETXTBSY).
    let copy = lab.sh(concat!("cp '", env!("CARGO_BIN_EXE_linkaudit"), "' linkaudit"));
    assert!(copy.status.success());
    allow(&lab.root(), 0o755);
    allow(&program, 0o755);
    let mut command = support::clean("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(program);
    command
}

fn allow(path: &Path, mode: u32) {
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions).expect("permissions can be set");
}

#[test]
fn an_unreadable_file_and_directory() {
    let lab = Lab::new();
    let file = broken(&lab, "tree/open/libbroken.so");
    let closed = broken(&lab, "tree/open/libclosed.so");
    broken(&lab, "tree/shut/libinside.so");
    for dir in ["tree", "tree/open"] {
        allow(&lab.path(dir), 0o755);
    }
    allow(&file, 0o644);
    allow(&closed, 0);
    allow(&lab.path("tree/shut"), 0);
    let report = Report::of(unprivileged(&lab).arg(lab.path("tree")));
    allow(&lab.path("tree/shut"), 0o755);

    assert_eq!(found_broken(&report), [file], "{}", report.outline());
    let mut unreadable: Vec<_> = report.of_rule("unreadable").map(whole_path).collect();
    unreadable.sort_unstable();
    assert_eq!(unreadable, [closed, lab.path("tree/shut")], "{}", report.outline());
    for finding in report.of_rule("unreadable") {
        assert_eq!(text(&finding["message"]), "permission denied");
    }
    assert_eq!(report.skipped("permission denied"), 2);
    assert!(!report.complete());
    assert_eq!(report.status, 1);
}

#[test]
fn only_unreadable_files_are_no_clean_bill() {
    let lab = Lab::new();
    let closed = broken(&lab, "tree/libclosed.so");
    allow(&lab.path("tree"), 0o755);
    allow(&closed, 0);
    let report = Report::of(unprivileged(&lab).arg(lab.path("tree")));
    assert_eq!(report.status, 3, "{}", report.outline());
    let never = unprivileged(&lab).args(["--fail-on", "never"]).arg(lab.path("tree")).status();
    let never = never.expect("linkaudit runs").code();
    assert_eq!(never, Some(3), "--fail-on never is about findings, not about what was not read");
    let tree = lab.path("tree");
    let diff = unprivileged(&lab).args(["diff", "--isolated"]).args([&tree, &tree]).output();
    let diff = diff.expect("linkaudit runs");
    assert_eq!(diff.status.code(), Some(3), "{diff:?}");
    // A prefix in which all files could be read has none to compare.
    std::fs::remove_file(closed).expect("the file is removed");
    let diff = unprivileged(&lab).args(["diff", "--isolated"]).args([&tree, &tree]).status();
    assert_eq!(diff.expect("linkaudit runs").code(), Some(2));
}

/// The loader of such a user skips a file that it may not read: the report must not call the file
/// absent.
#[test]
fn a_needed_library_that_may_not_be_read() {
    let lab = Lab::new();
    let needed =
        lab.so("tree/libneeded.so", "int f(void){return 0;}", &["-Wl,-soname,libneeded.so"]);
    let user = lab.so(
        "tree/libuser.so",
        "int f(void); int g(void){return f();}",
        &["$PWD/tree/libneeded.so", "-Wl,-rpath,$ORIGIN"],
    );
    allow(&lab.path("tree"), 0o755);
    allow(&user, 0o644);
    allow(&needed, 0);
    let report = Report::of(unprivileged(&lab).arg(&user));
    let missing: Vec<_> = report.of_rule("missing-library").collect();
    assert_eq!(missing.len(), 1, "{}", report.outline());
    assert_eq!(missing[0]["library"], "libneeded.so");
    let reasons: Vec<_> = super::report::evidence(missing[0], "tried")
        .filter(|tried| super::report::path(&tried["path"]) == needed)
        .map(|tried| text(&tried["reason"]))
        .collect();
    assert_eq!(reasons, ["permission denied"], "{}", missing[0]);
}
