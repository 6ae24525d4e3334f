//! Links that linkers refuse because of options, scripts or visibility. Only the exit status is
//! compared with that of lld 19, GNU ld and mold.

use super::kit::{ar, object, run};
use super::libraries::{LINKERS, code, shared};
use crate::support::{Lab, clean, has};

/// Links a line with the linkers in `names`. linkaudit must refuse it if the linker does.
#[track_caller]
fn same(lab: &Lab, names: &str, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    for (program, linker) in LINKERS.iter().filter(|(_, name)| names.contains(name)) {
        if !has(program) {
            continue;
        }
        let mut link = clean(program);
        let link = link.current_dir(lab.root()).args(["-o", "out"]).args(&words);
        let theirs = link.output().expect("a linker runs");
        let ours = lab.linkaudit(&[&["archive", "--linker", linker], &words[..]].concat());
        let is_clean = ours.status.code() == Some(0);
        assert_eq!(is_clean, theirs.status.success(), "{linker} {line}: {theirs:?} {ours:?}");
    }
}

/// With `-Bstatic` before the first file, GNU ld links no shared object into a program.
#[test]
fn the_first_static_link_counts() {
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "foo");
    code(&lab, "foo.o", "foo", "");
    code(&lab, "e.o", "", "");
    ar(&lab, "rc", "libe.a", &["e.o"]);
    shared(&lab, "libfoo.so", &["foo.o"]);
    for line in [
        "-Bstatic -le -Bdynamic m.o -lfoo",
        "m.o -Bstatic -le -Bdynamic -lfoo",
        "-le -Bstatic -Bdynamic m.o -lfoo",
        "-Bstatic -Bdynamic m.o -lfoo",
        "-Bstatic m.o -le -Bdynamic -lfoo",
        "--push-state -Bstatic --pop-state m.o -lfoo",
        "-Bstatic -le -Bdynamic m.o libfoo.so",
        "-shared -Bstatic -le -Bdynamic m.o -lfoo",
        "-pie -Bstatic -le -Bdynamic m.o -lfoo",
        "-dn -le -dy m.o -lfoo",
        "-u x -Bstatic -Bdynamic m.o -lfoo",
        "m.o -lfoo -Bstatic -Bdynamic",
    ] {
        same(&lab, "lld gnu", &format!("-L. {line}"));
    }
}
