//! Builds objects, archives and libraries in a laboratory, and runs the real tools on them.

use crate::support::{self, Lab};
use std::ffi::OsStr;
use std::process::Output;

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a script that must succeed.
pub(crate) fn tool(lab: &Lab, script: &str) -> String {
    let output = lab.sh(script);
    assert!(output.status.success(), "{script}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Compiles C into an object.
pub(crate) fn object(lab: &Lab, name: &str, source: &str) {
    lab.cc(name, source, &["-c", "-fPIC", "-ffunction-sections"], &[]);
}

/// Puts an object into an archive of any name.
pub(crate) fn archive(lab: &Lab, name: &OsStr, members: &[&str]) {
    let path = lab.root().join(name);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    let mut ar = support::clean("ar");
    ar.current_dir(lab.root()).arg("rcs").arg(&path).args(members);
    assert!(ar.status().expect("ar runs").success(), "ar {}", name.display());
}

/// A library linked from `libfat.a`, which was merged from `user` and `base`; `one` needs `two`,
/// which lies in another archive and needs `base` again.
pub(crate) fn three() -> Lab {
    let lab = Lab::new();
    object(&lab, "user.o", "int one(void), base(void); int user(void) { return one() + base(); }");
    object(&lab, "base.o", "int base(void) { return 1; }");
    object(&lab, "base2.o", "int base2(void) { return 1; }");
    object(&lab, "one.o", "int two(void); int one(void) { return two(); }");
    object(&lab, "two.o", "int base2(void); int two(void) { return base2(); }");
    object(&lab, "other.o", "int other(void) { return 4; }");
    for (name, members) in [
        ("own/libuser.a", &["user.o"][..]),
        ("parts/libbase.a", &["base.o", "base2.o"]),
        ("parts/libone.a", &["one.o"]),
        ("parts/libtwo.a", &["two.o"]),
        ("parts/libother.a", &["other.o"]),
        ("own/libfat.a", &["user.o", "base.o", "base2.o"]),
    ] {
        archive(&lab, OsStr::new(name), members);
    }
    lab.write("deps.cmake", "# the parts\nset(parts\nbase\n)\nset(own\nuser\n)\n");
    tool(&lab, "cc -shared -o own/libuser.so -Wl,-u,user own/libfat.a");
    lab
}

pub(crate) const PLACES: [&str; 4] = ["--lib-path", "own", "--lib-path", "parts"];

pub(crate) fn fix(lab: &Lab, more: &[&str]) -> Output {
    lab.linkaudit(&[&["fix", "own/libuser.so"], &PLACES[..], more].concat())
}
