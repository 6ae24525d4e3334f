//! Links: in circles, to ancestors, to nothing, out of the prefix; and several names of one inode.

use std::path::PathBuf;

use serde_json::Value;

use super::report::{Report, list, path, text, whole_path};
use super::{audit, broken, found_broken};
use crate::support::{self, Lab};

#[test]
fn loops_and_ancestors_are_walked_once() {
    let lab = Lab::new();
    let file = broken(&lab, "tree/a/b/libbroken.so");
    let links = [
        ("round", "round"),
        ("there", "back"),
        ("back", "there"),
        ("a/up", ".."),
        ("a/b/top", "../.."),
        ("a/b/here", "."),
        ("a/b/sibling", "../b"),
        ("a/nothing", "no/such/file"),
        ("a/b/libother.so", "libbroken.so"),
    ];
    for (name, target) in links {
        lab.link(target, &format!("tree/{name}"));
    }
    let absolute = lab.path("tree");
    lab.link(absolute.to_str().expect("UTF-8"), "tree/a/absolute");
    let report = audit(&lab, "tree");
    assert_eq!(found_broken(&report), [file], "{}", report.outline());
    assert_eq!(report.total("links"), links.len() as u64 + 1);
    assert_eq!(report.total("elf"), 1);
    assert_eq!(report.rules().len(), 1, "a link to nothing is no loss: {}", report.outline());
    assert!(report.complete());
}

/// Links with the names of libraries: to nothing, in circles, and into `/etc/alternatives` of a
/// sysroot, which are made after the installation.
#[test]
fn links_of_libraries_that_lead_to_no_file() {
    let lab = Lab::new();
    let links = [
        ("libalone.so", "libalone.so", true),
        ("libback.so", "libthere.so", true),
        ("libthere.so", "libback.so", true),
        ("libgone.so", "libgone.so.1", true),
        ("libelsewhere.so", "../etc/alternatives/libelsewhere.so", true),
        ("libabsolute.so", "/etc/alternatives/libabsolute.so", false),
        ("librelative.so", "../../etc/alternatives/librelative.so", false),
        ("libtwice.so", "libabsolute.so", false),
        ("libchain.so", "libchain.so.1", true),
        ("libchain.so.1", "libchain.so.1.2", true),
    ];
    for (name, target, _) in links {
        lab.link(target, &format!("root/usr/lib/{name}"));
    }
    let report = Report::of(support::linkaudit().current_dir(lab.root()).args([
        "check",
        "--isolated",
        "--root",
        "root",
        "/usr/lib",
    ]));
    let found: Vec<String> =
        report.of_rule("dangling-link").map(|one| text(&one["path"]).to_owned()).collect();
    let mut expected: Vec<&str> =
        links.iter().filter(|(.., reported)| *reported).map(|(name, ..)| *name).collect();
    expected.sort_unstable();
    assert_eq!(found, expected, "{}", report.outline());
    let messages: Vec<&str> =
        report.of_rule("dangling-link").map(|one| text(&one["message"])).collect();
    assert_eq!(messages[0], "links to libalone.so: too many levels of symbolic links");
    // In the order of the paths: libalone.so, libback.so, libchain.so, …
    let chain = "links to libchain.so.1, which leads to libchain.so.1.2: no such file";
    assert_eq!(messages[2], chain);
    assert_eq!(messages[3], "links to libchain.so.1.2, which does not exist");
    assert_eq!(messages[5], "links to libgone.so.1, which does not exist");
}

/// Twelve directories, each with links to all others: there are endless paths through them.
#[test]
fn directories_linked_to_each_other() {
    const N: usize = 12;
    let lab = Lab::new();
    let file = broken(&lab, "tree/d00/libbroken.so");
    for from in 0..N {
        for to in (0..N).filter(|to| *to != from) {
            lab.link(&format!("../d{to:02}"), &format!("tree/d{from:02}/to{to:02}"));
        }
    }
    let report = audit(&lab, "tree");
    assert_eq!(found_broken(&report), [file]);
    assert_eq!(report.total("links"), (N * (N - 1)) as u64);
    assert_eq!(report.total("elf"), 1);
}

#[test]
fn a_link_out_to_a_file_is_audited_under_its_own_path() {
    let lab = Lab::new();
    let outside = broken(&lab, "store/real/libbroken.so");
    lab.mkdir("profile/lib");
    lab.link(outside.to_str().expect("UTF-8"), "profile/lib/libbroken.so");
    lab.link("../../store/real/libbroken.so", "profile/lib/libsecond.so");
    let report = audit(&lab, "profile");
    // One file, so one finding, at the first of its names.
    assert_eq!(
        found_broken(&report),
        [lab.path("profile/lib/libbroken.so")],
        "{}",
        report.outline()
    );
    assert_eq!(report.total("links"), 2);
    assert_eq!(report.total("elf"), 0, "links are counted as links");
    assert_eq!(report.total("roots"), 1);
    assert_eq!(report.status, 1);
}

#[test]
fn a_link_out_to_a_directory_is_walked_once() {
    let lab = Lab::new();
    broken(&lab, "store/real/sub/libbroken.so");
    lab.link("..", "store/real/sub/up");
    lab.mkdir("profile");
    lab.link("../store/real", "profile/first");
    lab.link("../store/real", "profile/second");
    lab.link("../store/real/sub", "profile/third");
    let report = audit(&lab, "profile");
    // Like a file that is linked to, it is known by the path that leads to it.
    let file = lab.path("profile/first/sub/libbroken.so");
    assert_eq!(found_broken(&report), [file], "{}", report.outline());
    assert_eq!(report.total("elf"), 1, "one file, whatever leads to it");
    assert_eq!(report.total("roots"), 1);
}

/// The tree is given twice, by a link and by its parts: the findings stay the same.
#[test]
fn paths_that_overlap() {
    let lab = Lab::new();
    let file = broken(&lab, "tree/lib/libbroken.so");
    lab.link("tree", "alias");
    for paths in [&["tree", "tree"][..], &["tree", "tree/lib"], &["alias", "tree"], &["alias"]] {
        let report =
            Report::of(support::linkaudit().current_dir(lab.root()).arg("check").args(paths));
        assert_eq!(found_broken(&report), [&*file], "{paths:?}: {}", report.outline());
    }
}

#[test]
fn hard_links_are_one_file_with_several_names() {
    let lab = Lab::new();
    let first = broken(&lab, "tree/lib/liba.so");
    let others = ["tree/lib/libb.so", "tree/other/libz.so"].map(|name| lab.path(name));
    lab.mkdir("tree/other");
    for name in &others {
        std::fs::hard_link(&first, name).expect("a hard link");
    }
    let report = audit(&lab, "tree");
    assert_eq!(found_broken(&report), [&*first], "{}", report.outline());
    let finding = report.findings().next().expect("one finding");
    let names: Vec<PathBuf> = list(&finding["evidence"])
        .filter(|entry| entry["path"] != Value::Null)
        .map(|entry| path(&entry["path"]))
        .collect();
    for name in &others {
        assert!(names.contains(name), "{} is evidence: {finding}", name.display());
    }
    let files: Vec<PathBuf> = list(&report.value["files"])
        .map(|file| path(&file["path"]))
        .filter(|path| path.starts_with(lab.root()))
        .collect();
    assert_eq!(files, [first], "it is read once");
    assert_eq!(report.total("elf"), 3, "each name is an entry");
    assert_eq!(report.total("roots"), 1);
}

/// A hard link between two given prefixes is one file.
#[test]
fn hard_links_in_two_prefixes() {
    let lab = Lab::new();
    let first = broken(&lab, "one/liba.so");
    lab.mkdir("two");
    std::fs::hard_link(&first, lab.path("two/liba.so")).expect("a hard link");
    let report = Report::of(support::linkaudit().current_dir(lab.root()).args(["two", "one"]));
    assert_eq!(report.findings().map(whole_path).collect::<Vec<_>>(), [first]);
    assert_eq!(text(&report.findings().next().expect("one")["rule"]), "missing-library");
}

/// A link that leads above the tree is counted and not followed.
#[test]
fn a_link_upwards_is_not_followed() {
    let lab = Lab::new();
    let file = broken(&lab, "work/tree/lib/libbroken.so");
    let damaged = lab.write("work/tree/damaged.so", &b"\x7fELF\x02\x01\x01"[..]);
    let fifo = lab.path("work/tree/fifo");
    assert!(support::clean("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    lab.write("work/beside/damaged.so", &b"\x7fELF\x02\x01\x01 other"[..]);
    lab.link("../..", "work/tree/lib/up");
    lab.link("/", "work/tree/lib/top");
    let report = audit(&lab, "work/tree");
    assert_eq!(found_broken(&report), [file]);
    let unreadable: Vec<PathBuf> = report
        .findings()
        .filter(|found| found["rule"] != "missing-library")
        .map(whole_path)
        .collect();
    let mut expected = vec![damaged, fifo];
    expected.sort();
    let mut found = unreadable.clone();
    found.sort();
    assert_eq!(found, expected, "{}", report.outline());
    let totals = ["special", "partial", "links", "entries"].map(|kind| report.total(kind));
    assert_eq!(totals, [1, 1, 2, 5]);
    let first = lab.linkaudit(&["work/tree", "--write-baseline", "known"]);
    assert_eq!(first.status.code(), Some(1));
    let again = lab.linkaudit(&["work/tree", "--baseline", "known"]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
}

/// A special file with two names on the command line counts once.
#[test]
fn a_special_file_under_two_names() {
    let lab = Lab::new();
    lab.mkdir("tree/a");
    let fifo = lab.path("tree/a/fifo");
    assert!(support::clean("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    lab.link("tree/a", "alias");
    let mut command = support::linkaudit();
    let report = Report::of(command.current_dir(lab.root()).args(["check", "tree", "alias"]));
    assert_eq!(report.findings().map(whole_path).collect::<Vec<_>>(), [fifo]);
}
