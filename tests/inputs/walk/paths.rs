//! Paths on the command line: paths that do not exist, lists of paths, empty prefixes, and the exit
//! status for each.

use std::io::Write as _;
use std::process::{Output, Stdio};

use super::report::{Report, text, whole_path};
use super::{broken, found_broken};
use crate::support::{self, Lab};

fn run(lab: &Lab, args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = lab.linkaudit(&[&["check"], args].concat());
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn an_empty_prefix_says_so() {
    let lab = Lab::new();
    lab.mkdir("empty/share/doc");
    lab.write("text/README", "nothing to link here\n");
    for prefix in ["empty", "text"] {
        let (status, stdout, _) = run(&lab, &[prefix]);
        assert_eq!(status, Some(0), "{prefix}");
        assert!(stdout.contains("no ELF files"), "{prefix}: {stdout}");
        let (status, stdout, stderr) = run(&lab, &["--require-elf", prefix]);
        assert_eq!(status, Some(2), "{prefix}");
        assert_eq!(stdout, "", "{prefix}");
        assert!(stderr.contains("nothing to audit"), "{prefix}: {stderr}");
    }
    broken(&lab, "text/libbroken.so");
    assert_eq!(run(&lab, &["--require-elf", "text"]).0, Some(1));
}

#[test]
fn a_path_that_does_not_exist_stops_everything() {
    let lab = Lab::new();
    broken(&lab, "tree/libbroken.so");
    let wrong: [&[&str]; 5] = [
        &["nowhere"],
        &["tree", "nowhere"],
        &["nowhere", "tree"],
        &["tree", "tree/libbroken.so/below"],
        &["./tree", "--lib-path", "nowhere"],
    ];
    for paths in wrong {
        for format in ["human", "json", "ldd"] {
            let mut args = vec!["--format", format, "-o", "json=report.json"];
            args.extend(paths);
            let (status, stdout, stderr) = run(&lab, &args);
            assert_eq!(status, Some(2), "{paths:?}: {stderr}");
            assert_eq!(stdout, "", "{paths:?}: no part of a report");
            assert!(!lab.path("report.json").exists(), "{paths:?}: nothing is written");
            let name = if paths.contains(&"nowhere") { "nowhere" } else { "below" };
            assert!(stderr.contains(name), "{paths:?}: {stderr}");
        }
    }
    assert_eq!(run(&lab, &[]).0, Some(2), "no path at all");
    assert_eq!(run(&lab, &["--format", "nonsense", "tree"]).0, Some(2));
    assert_eq!(run(&lab, &["--nonsense", "tree"]).0, Some(2));
    assert_eq!(run(&lab, &["--files-from", "no-such-list"]).0, Some(2));
}

#[test]
fn a_listed_path_that_does_not_exist_is_a_finding() {
    let lab = Lab::new();
    let sound = lab.so("tree/libsound.so", "int f(void){return 0;}", &[]);
    lab.write("list", "tree/libsound.so\nnowhere\n");
    let report =
        Report::of(support::linkaudit().current_dir(lab.root()).args(["--files-from", "list"]));
    assert_eq!(report.status, 3, "{}", report.outline());
    let [finding] = report.findings().collect::<Vec<_>>()[..] else {
        panic!("{}", report.outline())
    };
    assert_eq!(finding["rule"], "unreadable");
    assert_eq!(text(&finding["message"]), "no such file or directory");
    assert!(whole_path(finding).ends_with("nowhere"), "{finding}");
    assert_eq!(report.skipped("no such file or directory"), 1);
    assert_eq!(report.total("elf"), 1);

    let bad = broken(&lab, "tree/libbroken.so");
    lab.write("list", format!("nowhere\n{}\n{}\n", bad.display(), sound.display()));
    let report =
        Report::of(support::linkaudit().current_dir(lab.root()).args(["--files-from", "list"]));
    assert_eq!(found_broken(&report), [bad], "the rest is audited: {}", report.outline());
    assert_eq!(report.status, 1, "an error weighs more");
}

#[test]
fn lists_from_stdin_and_with_nul() {
    let lab = Lab::new();
    let bad = broken(&lab, "tree/libbroken.so");
    let odd = lab.path("tree/lib\nodd.so");
    std::fs::copy(&bad, &odd).expect("a copy");
    let ask = |args: &[&str], list: &[u8]| {
        let mut child = support::linkaudit()
            .current_dir(lab.root())
            .args(["--format", "json", "--files-from", "-"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("linkaudit runs");
        child.stdin.take().expect("stdin").write_all(list).expect("the list is read");
        Report::from(child.wait_with_output().expect("linkaudit ends"))
    };
    let report = ask(&[], b"tree/libbroken.so\n");
    assert_eq!(found_broken(&report), [&*bad]);
    // The last line needs no line end, and empty lines are ignored.
    let report = ask(&[], b"\n\ntree/libbroken.so");
    assert_eq!(found_broken(&report), [&*bad]);
    let report = ask(&["-0"], b"tree/lib\nodd.so\0tree/libbroken.so\0");
    assert_eq!(found_broken(&report), [&*odd, &*bad], "{}", report.outline());
    let report = ask(&[], b"tree/lib\nodd.so\n");
    assert_eq!(report.of_rule("unreadable").count(), 2, "two names: {}", report.outline());
    // Options and paths of a list go together with those that are typed.
    let report = ask(&["tree/libbroken.so"], b"nowhere\n");
    assert_eq!(found_broken(&report), [&*bad]);
    assert_eq!(report.of_rule("unreadable").count(), 1);
}

/// A list is data: a name in it is never an option.
#[test]
fn a_listed_name_that_looks_like_an_option() {
    let lab = Lab::new();
    let bad = broken(&lab, "libbroken.so");
    std::fs::rename(&bad, lab.path("--version")).expect("it can be renamed");
    lab.write("list", "--version\n");
    let report =
        Report::of(support::linkaudit().current_dir(lab.root()).args(["--files-from", "list"]));
    assert_eq!(found_broken(&report), [lab.path("--version")]);
}
