//! Shared objects with the same name in DT_NEEDED entries: linkers drop all but the first.

use super::kit::ar;
use super::libraries::{check, code, shared};
use crate::support::Lab;

fn lab() -> Lab {
    let lab = Lab::new();
    code(&lab, "case.o", "_start", "");
    code(&lab, "uses.o", "_start", "foo");
    code(&lab, "foo.o", "foo", "");
    code(&lab, "bar.o", "bar", "");
    code(&lab, "gone.o", "gone", "nosuch");
    ar(&lab, "rc", "foo.a", &["foo.o"]);
    lab
}

/// A dropped library neither defines names nor refers to them. GNU ld keeps the later library if
/// the earlier one is not part of the link.
#[test]
fn libraries_with_one_soname_count_once() {
    let lab = lab();
    for (name, object) in [("libbar.so", "bar.o"), ("libfoo.so", "foo.o"), ("libgone.so", "gone.o")]
    {
        shared(&lab, name, &["-soname", "x.so", object]);
    }
    check(
        &lab,
        &[
            ("all", "uses.o libbar.so libfoo.so", &["foo"]),
            ("all", "--shared uses.o libbar.so libfoo.so", &["foo"]),
            ("all", "uses.o libfoo.so libbar.so", &[]),
            ("all", "uses.o libbar.so libfoo.so foo.a", &[]),
            ("all", "uses.o libbar.so foo.a libfoo.so", &[]),
            ("lld", "case.o libgone.so libbar.so", &["nosuch"]),
            ("gnu", "case.o libgone.so libbar.so", &["nosuch"]),
            ("all", "case.o libbar.so libgone.so", &[]),
            ("all", "case.o libbar.so libbar.so", &[]),
            ("lld", "uses.o --as-needed libbar.so libfoo.so", &["foo"]),
            ("gnu", "uses.o --as-needed libbar.so libfoo.so", &[]),
            ("mold", "uses.o --as-needed libbar.so libfoo.so", &["foo"]),
            ("lld", "uses.o --as-needed libbar.so --no-as-needed libfoo.so", &["foo"]),
            ("gnu", "uses.o --as-needed libbar.so --no-as-needed libfoo.so", &[]),
            ("mold", "uses.o --as-needed libbar.so --no-as-needed libfoo.so", &["foo"]),
            ("all", "uses.o libbar.so --as-needed libfoo.so", &["foo"]),
            ("gnu", "uses.o --start-group --as-needed libbar.so libfoo.so --end-group", &[]),
        ],
    );
}

/// Without DT_SONAME, the name is the path as on the command line, or the file name for `-l`.
#[test]
fn libraries_without_a_soname_have_their_path_as_name() {
    let lab = lab();
    for dir in ["p", "q", "named"] {
        lab.mkdir(dir);
    }
    shared(&lab, "p/libx.so", &["bar.o"]);
    shared(&lab, "q/libx.so", &["foo.o"]);
    shared(&lab, "named/file.so", &["-soname", "libx.so", "foo.o"]);
    shared(&lab, "named/path.so", &["-soname", "p/libx.so", "foo.o"]);
    check(
        &lab,
        &[
            ("all", "uses.o p/libx.so q/libx.so", &[]),
            ("all", "uses.o -L p -l x q/libx.so", &[]),
            ("all", "uses.o p/libx.so named/file.so", &[]),
            ("all", "uses.o -L p -l x named/file.so", &["foo"]),
            ("all", "uses.o p/libx.so named/path.so", &["foo"]),
            ("all", "uses.o ./p/libx.so named/path.so", &[]),
            ("all", "uses.o -L p -l x named/path.so", &[]),
            ("all", "uses.o named/file.so -L p -l x", &[]),
            ("all", "uses.o -L q -l x -L p -l x p/libx.so", &[]),
        ],
    );
}

/// GNU ld reads the libraries that a dropped one needs.
#[test]
fn needs_of_dropped_libraries_count() {
    let lab = lab();
    code(&lab, "user.o", "user", "gone");
    shared(&lab, "libgone.so", &["-soname", "libgone.so", "gone.o"]);
    shared(&lab, "libfoo.so", &["-soname", "x.so", "foo.o"]);
    shared(&lab, "libuser.so", &["-soname", "x.so", "user.o", "libgone.so"]);
    check(
        &lab,
        &[
            ("gnu", "uses.o libfoo.so libuser.so", &["nosuch"]),
            ("gnu", "uses.o libfoo.so --as-needed libuser.so", &[]),
            ("lld", "uses.o libfoo.so libuser.so", &[]),
            ("mold", "uses.o libfoo.so libuser.so", &[]),
        ],
    );
}

/// Linkers read the tables of shared objects by their section headers.
#[test]
fn libraries_without_section_headers_define_nothing() {
    let lab = lab();
    for (name, parts) in [("foo.so", &["foo.o"][..]), ("gone.so", &["gone.o"])] {
        shared(&lab, name, parts);
        let mut bytes = std::fs::read(lab.path(name)).expect("a shared object");
        // e_shoff, then e_shnum and e_shstrndx.
        bytes[0x28..0x30].fill(0);
        bytes[0x3c..0x40].fill(0);
        lab.write(&format!("bare{name}"), bytes);
    }
    check(
        &lab,
        &[
            ("all", "uses.o foo.so", &[]),
            ("all", "uses.o barefoo.so", &["foo"]),
            ("all", "--shared uses.o barefoo.so", &["foo"]),
            ("all", "uses.o barefoo.so foo.a", &[]),
            ("all", "uses.o barefoo.so foo.so", &[]),
            ("all", "uses.o --as-needed barefoo.so", &["foo"]),
            ("all", "case.o baregone.so", &[]),
        ],
    );
}
