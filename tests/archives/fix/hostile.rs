//! Names that are special to the tools that read emitted files: they are quoted, or refused by
//! name.

use super::kit::{archive, fix, object, text, tool};
use super::tiny::Tiny;
use crate::support::{self, Lab};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Output;

/// Names that are special to a shell, CMake, `ar -M`, TOML or a linker.
const HOSTILE: &[&[u8]] = &[
    b"a b",
    b"semi;colon",
    b"$(touch pwned)",
    b"`touch pwned`",
    b"quo\"te's",
    b"]]brackets[[",
    b"new\nline",
    b"back\\slash",
    b"#hash",
    b"(paren)",
    b"*star?",
    b"${VAR}",
    b"-dash",
    b"@at",
    b"tab\ttab",
    b"\xff\xfe",
    "bidi\u{202e}".as_bytes(),
    b"CACHE",
    b"plain",
];

/// A library that lacks one function of each archive with a hostile name.
fn hostile() -> Lab {
    let lab = Lab::new();
    let mut calls = String::from("int user(void) { return 0");
    let mut declared = String::new();
    for (at, name) in HOSTILE.iter().enumerate() {
        object(&lab, &format!("m{at}.o"), &format!("int f{at}(void) {{ return {at}; }}"));
        let file = [b"parts/lib", *name, b".a"].concat();
        archive(&lab, OsStr::from_bytes(&file), &[&format!("m{at}.o")]);
        declared += &format!("int f{at}(void);\n");
        calls += &format!(" + f{at}()");
    }
    object(&lab, "user.o", &format!("{declared}{calls}; }}"));
    object(&lab, "base.o", "int base(void) { return 1; }");
    archive(&lab, OsStr::new("own/libuser.a"), &["user.o"]);
    archive(&lab, OsStr::new("parts/libbase.a"), &["base.o"]);
    archive(&lab, OsStr::new("own/libfat.a"), &["user.o", "base.o"]);
    lab.write("deps.cmake", "set(parts\nbase\n)\nset(own\nuser\n)\n");
    tool(&lab, "cc -shared -o own/libuser.so -Wl,-u,user own/libfat.a");
    assert_eq!(lab.undefined("own/libuser.so").len(), HOSTILE.len());
    lab
}

fn not_run(lab: &Lab) {
    assert!(!lab.path("pwned").exists(), "a name was run");
}

#[test]
fn hostile_names_as_flags_of_a_link() {
    let lab = hostile();
    let run = fix(&lab, &["--emit", "ldflags", "-o", "ldflags=flags"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let link = "cc -shared -o %.so -Wl,-u,user own/libfat.a";
    let flags = std::fs::read(lab.path("flags")).expect("flags");
    let script = [link.replace('%', "shell").as_bytes(), b" ", flags.as_slice()].concat();
    std::fs::write(lab.path("script"), script).expect("a script");
    tool(&lab, "sh -e ./script");
    tool(&lab, &format!("{} @flags", link.replace('%', "response")));
    for library in ["shell.so", "response.so"] {
        assert_eq!(lab.undefined(library), BTreeSet::new(), "{library}");
    }
    not_run(&lab);
    println!("ldflags: {} names, 2 ways, 0 differences", HOSTILE.len());
}

/// The number of names that the run reports as left out.
fn refused(run: &Output, emitter: &str) -> usize {
    let start = format!("warning: {emitter}: ");
    text(&run.stderr).lines().filter(|line| line.starts_with(&start)).count()
}

#[test]
fn hostile_names_in_a_script_for_ar() {
    let lab = hostile();
    let run = fix(&lab, &["--emit", "mri", "-o", "mri=script"]);
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    tool(&lab, "ar -M <script");
    let members = tool(&lab, "ar t libfat.fixed.a");
    let count = members.lines().count();
    assert_eq!(count + refused(&run, "mri"), 2 + HOSTILE.len(), "{members}{}", text(&run.stderr));
    assert!(members.contains("m12.o") && members.contains("m18.o"), "{members}");
    not_run(&lab);
    println!("mri: {} names, {} refused by name", HOSTILE.len(), refused(&run, "mri"));
}

#[test]
fn hostile_names_in_a_list() {
    if !support::has("cmake") {
        return support::skip("hostile_names_in_a_list", "needs cmake");
    }
    let lab = hostile();
    let run = fix(
        &lab,
        &["--deps-list", "deps.cmake", "--emit", "cmake-deps", "-o", "cmake-deps=new.cmake"],
    );
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stdout));
    lab.write("print.cmake", "include(new.cmake)\nmessage(\"${parts}\")\n");
    let output = lab.sh("cmake -P print.cmake");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).trim(), "-dash;base;plain");
    assert_eq!(refused(&run, "cmake-deps"), HOSTILE.len() - 2, "{}", text(&run.stderr));
    not_run(&lab);
    println!("cmake-deps: {} names, {} refused by name", HOSTILE.len(), HOSTILE.len() - 2);
}

#[test]
fn hostile_symbols_in_waivers() {
    let lab = Lab::new();
    let names = [
        "plain",
        "a b",
        "quo\"te",
        "back\\slash",
        "new\nline",
        "bidi\u{202e}",
        "$(touch pwned)",
        "*[x]?{a,b}",
        "]]",
        "ünï",
        "-dash",
        "#x",
        "f(int)",
        "a::b",
    ];
    let library = names.iter().fold(Tiny::library("odd.so", [""; 0]), |t, name| t.refers(name));
    lab.write("p/li[b]*.so", library.bytes());
    let run = lab.linkaudit(&["fix", "p", "--emit", "policy-waivers"]);
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    let waivers = text(&run.stdout);
    assert_eq!(waivers.matches("[[waive]]\n").count(), names.len(), "{waivers}");
    // As written, the waivers have empty reasons, which no policy accepts. They have no other
    // error.
    lab.write("empty.toml", format!("schema = 1\n{waivers}"));
    lab.write(
        "full.toml",
        format!("schema = 1\n{}", waivers.replace("reason = \"\"", "reason = \"known\"")),
    );
    let check = lab.linkaudit(&["policy", "check", "empty.toml"]);
    assert_eq!(check.status.code(), Some(2), "{}", text(&check.stdout));
    let check = lab.linkaudit(&["policy", "check", "full.toml"]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
    not_run(&lab);
    println!("policy-waivers: {} symbols, 0 differences", names.len());
}
