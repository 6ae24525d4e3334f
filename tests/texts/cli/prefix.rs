//! `--prefix`: paths and fingerprints are relative to one directory, for any given paths below it.

use super::kit::{BROKEN, FOO, at, findings, report, run, text};
use crate::support::Lab;
use serde_json::Value;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.so("p/lib/liba.so", BROKEN, &[]);
    lab.so("p/lib/sub/libb.so", BROKEN, &[]);
    lab
}

/// Prefix, path and fingerprint of each finding.
fn places(report: &Value) -> Vec<[String; 3]> {
    let keys = ["prefix", "path", "fingerprint"];
    findings(report).iter().map(|f| keys.map(|key| text(&f[key]).to_owned())).collect()
}

#[test]
fn paths_are_relative_to_it() {
    let lab = lab();
    let all = places(&report(&lab, &["p"]));
    assert_eq!(all.len(), 2);
    let prefix = at(&lab, "p");
    assert_eq!([&*all[0][0], &*all[0][1]], [&*prefix, "lib/liba.so"]);
    for typed in ["p", "./p/", &*prefix] {
        let with = |paths: &[&str]| places(&report(&lab, &[&["--prefix", typed], paths].concat()));
        assert_eq!(with(&["p"]), all);
        assert_eq!(with(&["p/lib/liba.so"]), all[..1]);
        assert_eq!(with(&["p/lib/sub"]), all[1..]);
        assert_eq!(with(&["p/lib/sub", "p/lib/liba.so"]), all);
    }
    lab.write("list", "p/lib/sub/libb.so\n");
    assert_eq!(places(&report(&lab, &["--prefix", "p", "--files-from", "list"])), all[1..]);
    // A link inside may lead out, and a link from elsewhere into it.
    lab.so("q/libq.so", BROKEN, &[]);
    lab.link("../../q/libq.so", "p/lib/libq.so");
    lab.link("p/lib/liba.so", "here.so");
    assert_eq!(places(&report(&lab, &["--prefix", "p", "here.so"])), all[..1]);
    assert_eq!(run(&lab, &["--prefix", "p", "p/lib/libq.so"]).status, 1);
}

#[test]
fn all_paths_lie_below_it() {
    let lab = lab();
    lab.so("q/libq.so", FOO, &[]);
    lab.write("list", "q\nnone\n");
    let help = "not below --prefix";
    run(&lab, &["--prefix", "p", "q"]).refused(&["q: ", help]).in_style();
    run(&lab, &["--prefix", "p/lib", "p"]).refused(&["p: ", help]);
    run(&lab, &["--prefix", "p", "p/../q/libq.so"]).refused(&[help]);
    for above in ["p/..", "p/lib/../.."] {
        run(&lab, &["--prefix", "p", above]).refused(&[help]);
    }
    run(&lab, &["--prefix", "p", "p", "--files-from", "list"]).refused(&["q: ", help]);
    run(&lab, &["--prefix", "p/lib/liba.so", "p"]).refused(&["--prefix", "not a directory"]);
    run(&lab, &["--prefix", "none", "p"]).refused(&["none: no such file"]).in_style();
    // A path that does not exist is a finding, in any directory.
    lab.write("list", "q/none\n");
    assert_eq!(run(&lab, &["--prefix", "p", "--files-from", "list"]).status, 3);
}

/// A system whose only defect is a function that `path` lacks.
fn system(path: &str) -> Lab {
    let lab = Lab::new();
    lab.so(path, BROKEN, &["-nostdlib"]);
    let loader = "/lib64/ld-linux-x86-64.so.2";
    std::fs::create_dir_all(lab.path("lib64")).expect("a directory");
    std::fs::copy(loader, lab.path(&loader[1..])).expect("the loader");
    lab
}

#[test]
fn it_lies_inside_the_root() {
    let lab = system("p/lib/sub/liba.so");
    let with = |prefix: &str, path: &str| {
        places(&report(&lab, &["--root", ".", "--prefix", prefix, path]))
    };
    let all = places(&report(&lab, &["--root", ".", "/p"]));
    assert_eq!([&*all[0][0], &*all[0][1]], ["/p", "lib/sub/liba.so"]);
    for (prefix, path) in [("/p", "/p/lib"), ("p", "p/lib"), (&*at(&lab, "p"), "/p")] {
        assert_eq!(with(prefix, path), all, "{prefix}");
    }
    let below = with("/", "/p/lib/sub");
    assert_eq!([&*below[0][0], &*below[0][1]], ["/", "p/lib/sub/liba.so"]);
}

#[test]
fn an_item_of_a_store_is_its_own_prefix() {
    let item = "nix/store/0123456789abcdfghijklmnpqrsvwxyz-foo-1.0";
    let lab = system(&format!("{item}/lib/liba.so"));
    let found = places(&report(&lab, &["--root", ".", "--prefix", "/", "/nix"]));
    assert_eq!([&*found[0][0], &*found[0][1]], [&*format!("/{item}"), "lib/liba.so"]);
}
