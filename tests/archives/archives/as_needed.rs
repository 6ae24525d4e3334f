//! Libraries of `--as-needed` that GNU ld leaves out because another shared object needs them.

use super::kit::{ar, archive, members};
use super::libraries::{check, code, shared};
use crate::support::Lab;

/// GNU ld forgets a library to which only shared objects refer, if one of these objects has the
/// library in DT_NEEDED.
#[test]
fn needed_libraries_of_shared_objects_are_forgotten() {
    let lab = Lab::new();
    code(&lab, "main.o", "_start", "user");
    code(&lab, "late.o", "late", "foo");
    code(&lab, "foo.o", "foo", "");
    code(&lab, "user.o", "user", "foo");
    code(&lab, "other.o", "other", "");
    shared(&lab, "libfoo.so.1", &["foo.o", "-soname", "libfoo.so.1"]);
    shared(&lab, "libuser.so", &["user.o", "./libfoo.so.1"]);
    shared(&lab, "libplain.so", &["user.o"]);
    // `libother.so` needs `libfoo.so.1`, and the link needs `libother.so` only through another
    // library.
    shared(&lab, "libother.so", &["other.o", "./libfoo.so.1"]);
    shared(&lab, "libchain.so", &["user.o", "libother.so"]);
    ar(&lab, "rc", "foo.a", &["foo.o"]);
    let forgets = |line: &'static str, is_forgotten: bool| {
        let expected: &[&str] = if is_forgotten { &["foo"] } else { &[] };
        check(&lab, &[("gnu", line, expected), ("lld", line, &[]), ("mold", line, &[])]);
    };
    forgets("main.o libuser.so --as-needed ./libfoo.so.1 --no-as-needed late.o", true);
    forgets("main.o libuser.so --as-needed libfoo.so.1 late.o", true);
    forgets("main.o late.o libuser.so --as-needed libfoo.so.1", false);
    forgets("main.o libuser.so libfoo.so.1 late.o", false);
    forgets("main.o libplain.so --as-needed libfoo.so.1 late.o", false);
    forgets("main.o libplain.so --as-needed libother.so libfoo.so.1 late.o", false);
    forgets("main.o libchain.so --as-needed libother.so libfoo.so.1 late.o", true);
    let line = ["main.o", "libuser.so", "--as-needed", "libfoo.so.1", "foo.a"];
    let (answer, _) = archive(&lab.root(), &[&["--linker", "gnu"], &line[..]].concat());
    assert!(members(&answer).iter().any(|member| member.contains("foo.o")), "{answer}");
}
