//! `linkaudit diff` on renamed files: the names that it reports as gone. Each case has two scripts
//! that run in the directories of the two sides. `so FILE SONAME` makes a library, `so FILE` one
//! without soname, `prog FILE` a program, and `static FILE` one without a dynamic section.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::Lab;
use serde_json::Value;

/// Name, old side, new side, and the paths that are gone.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    ("a program becomes a link", "prog bin/gzip", "ln -s box bin/gzip", &[]),
    ("a program becomes a hard link", "prog bin/gzip", "ln bin/box bin/gzip", &[]),
    (
        "a second copy becomes a link",
        "so a/libfoo.so.1 libfoo.so.1; so b/libfoo.so.1 libfoo.so.1",
        "so a/libfoo.so.1 libfoo.so.1; mkdir b; ln -s ../a/libfoo.so.1 b/libfoo.so.1",
        &[],
    ),
    (
        "a link with a number is gone, and another program is new",
        "prog bin/python3.11; ln -s python3.11 bin/python3",
        "prog bin/python3.11; prog bin/python3.12",
        &["bin/python3"],
    ),
    (
        "another release",
        "prog bin/python3.11; ln -s python3.11 bin/python3",
        "prog bin/python3.12; ln -s python3.12 bin/python3",
        &[],
    ),
    (
        "links of another release",
        "prog llvm-18/bin/clang; ln -s ../llvm-18/bin/clang bin/clang-18",
        "prog llvm-19/bin/clang; ln -s ../llvm-19/bin/clang bin/clang-19",
        &[],
    ),
    (
        "one of many names of a program",
        "prog bin/mke2fs; ln -s mke2fs bin/mkfs.ext2; ln -s mke2fs bin/mkfs.ext3",
        "prog bin/mke2fs; ln -s mke2fs bin/mkfs.ext4; ln -s mke2fs bin/mkfs.ext3",
        &["bin/mkfs.ext2"],
    ),
    ("programs with numbers in words", "prog bin/sha1sum", "prog bin/sha256sum", &["bin/sha1sum"]),
    (
        "one of some plugins with the same exports",
        "so security/pam_ldap.so; so security/pam_unix.so",
        "so security/pam_unix.so; so security/pam_sss.so",
        &["security/pam_ldap.so"],
    ),
    (
        "the link of a soname, and a private copy is new",
        "so lib/libfoo.so.1.0 libfoo.so.1; ln -s libfoo.so.1.0 lib/libfoo.so.1",
        "so lib/libfoo.so.1.0 libfoo.so.1; so lib/private/libfoo.so.1 libfoo.so.1",
        &["lib/libfoo.so.1"],
    ),
    (
        "two libraries of one soname in other directories",
        "so lib/libfoo.so.1 libfoo.so.1; so lib/glibc-hwcaps/x86-64-v3/libfoo.so.1 libfoo.so.1",
        "so lib64/libfoo.so.1 libfoo.so.1; so lib64/glibc-hwcaps/x86-64-v3/libfoo.so.1 libfoo.so.1",
        &[],
    ),
    (
        "a link for linkers to a library without soname",
        "so lib/libbar-1.2.so; ln -s libbar-1.2.so lib/libbar.so",
        "so lib/libbar-1.2.so",
        &["lib/libbar.so"],
    ),
    (
        "another soname with a link of the old one",
        "so lib/libfoo.so.1 libfoo.so.1",
        "so lib/libfoo.so.2 libfoo.so.2; ln -s libfoo.so.2 lib/libfoo.so.1",
        &[],
    ),
    (
        "directories of links become links to directories",
        "so lib/libfoo.so.1 libfoo.so.1; prog bin/tool; mkdir lib64 sbin
            ln -s ../lib/libfoo.so.1 lib64/libfoo.so.1; ln -s ../bin/tool sbin/tool",
        "so lib/libfoo.so.1 libfoo.so.1; prog bin/tool; ln -s lib lib64; ln -s bin sbin",
        &[],
    ),
    (
        "a file below a link to a directory, and links of links",
        "so lib/x/libfoo.so.1 libfoo.so.1; ln -s . lib/y; ln -s y/x lib/z; mkdir d
            ln -s ../lib/x/libfoo.so.1 d/libfoo.so.1",
        "so lib/x/libfoo.so.1 libfoo.so.1; ln -s . lib/y; ln -s y/x lib/z; ln -s lib/z d",
        &[],
    ),
    (
        "a link to a directory is gone",
        "so lib/libfoo.so.1 libfoo.so.1; ln -s lib lib64; ln -s . self; mkdir doc; ln -s doc d",
        "so lib/libfoo.so.1 libfoo.so.1",
        &["lib64", "self"],
    ),
    (
        "a link to a directory becomes a directory",
        "so lib/libfoo.so.1 libfoo.so.1; ln -s lib lib64",
        "so lib/libfoo.so.1 libfoo.so.1; mkdir lib64; ln -s ../lib/libfoo.so.1 lib64/",
        &[],
    ),
    (
        "a link of a soname leads to another library",
        "so lib/libfoo.so.1.0 libfoo.so.1; ln -s libfoo.so.1.0 lib/libfoo.so.1",
        "so lib/libfoo.so.1.0 libfoo.so.1; so lib/libfoo.so.2 libfoo.so.2
            ln -s libfoo.so.2 lib/libfoo.so.1",
        &["lib/libfoo.so.1"],
    ),
    (
        "files and links change places",
        "so lib/libfoo.so.1 libfoo.so.1; ln -s libfoo.so.1 lib/libfoo.so.1.2",
        "so lib/libfoo.so.1.2 libfoo.so.1; ln -s libfoo.so.1.2 lib/libfoo.so.1",
        &[],
    ),
    (
        "debug files and links have the names of build ids",
        "so lib/libfoo.so.1 libfoo.so.1; static bin/st; mkdir -p debug/.build-id/9c lib/.build-id/9c
            objcopy --only-keep-debug lib/libfoo.so.1 debug/.build-id/9c/ecdd.debug
            objcopy --only-keep-debug bin/st debug/.build-id/9c/51bf.debug
            ln -s ../../../bin/box lib/.build-id/9c/ba5e",
        "so lib/libfoo.so.1 libfoo.so.1; static bin/st; mkdir -p debug/.build-id/af lib/.build-id/af
            objcopy --only-keep-debug lib/libfoo.so.1 debug/.build-id/af/d58e.debug
            objcopy --only-keep-debug bin/st debug/.build-id/af/e3b7.debug
            ln -s ../../../bin/box lib/.build-id/af/da7a",
        &[],
    ),
    (
        "a debug file and an object for linkers are gone",
        "so lib/libfoo.so.1 libfoo.so.1; echo 'int a;' | gcc -x c - -c -o lib/crt1.o
            objcopy --only-keep-debug lib/libfoo.so.1 lib/libfoo.so.1.debug",
        "so lib/libfoo.so.1 libfoo.so.1",
        &[],
    ),
    (
        "a library is gone, and its debug file has its name",
        "so lib/libfoo.so.1 libfoo.so.1",
        "so debug/lib/libfoo.so.1 libfoo.so.1; objcopy --only-keep-debug debug/lib/libfoo.so.1",
        &["lib/libfoo.so.1"],
    ),
];

const TOOLS: &str = r#"
so() { mkdir -p "$(dirname "$1")"
    echo 'int a,b,c,d,e,f;' | gcc -w -shared -fPIC -x c - -o "$1" ${2:+-Wl,-soname,"$2"}; }
prog() { mkdir -p "$(dirname "$1")"; echo 'int main(void) { return 0; }' | gcc -x c - -o "$1"; }
static() { echo 'void _start(void) {}' | gcc -x c - -nostdlib -static -no-pie -o "$1"; }
mkdir -p bin; prog bin/box
"#;

#[test]
fn names_that_are_gone_are_said() {
    let mut wrong = Vec::new();
    for (name, old, new, gone) in CASES {
        let lab = Lab::new();
        for (side, script) in [("old", old), ("new", new)] {
            lab.mkdir(side);
            let built = lab.sh(&format!("set -e; cd {side}; {TOOLS}\n{script}"));
            assert!(built.status.success(), "{name}: {built:?}");
        }
        let leads_elsewhere = new.contains("libfoo.so.2 lib/libfoo.so.1");
        for path in gone.iter().filter(|_| !leads_elsewhere) {
            assert!(!lab.path(&format!("new/{path}")).exists(), "{name}: {path} is there");
        }
        for side in ["old", "new"] {
            let output = lab.linkaudit(&["--isolated", "--facts", "--format", "json", side]);
            lab.write(&format!("{side}.json"), &output.stdout);
        }
        let diff = |old: &str, new: &str| {
            let output = lab.linkaudit(&["diff", old, new, "--isolated", "--format", "json"]);
            serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
        };
        let value = diff("old", "new");
        // Reports say the same.
        assert_eq!(diff("old.json", "new.json")["findings"], value["findings"], "{name}");
        let findings = value["findings"].as_array().expect("findings");
        let errors = findings.iter().filter(|finding| finding["level"] == "error");
        let said: Vec<String> = errors
            .map(|finding| {
                let path = finding["path"].as_str().expect("a path");
                let path = path.split_once("/old/").map_or(path, |(_, below)| below);
                match finding["rule"].as_str() {
                    Some("removed-library") => path.to_owned(),
                    rule => format!("{rule:?} {path}"),
                }
            })
            .collect();
        if said != *gone {
            wrong.push(format!("{name}: {said:?}, and {gone:?} are gone"));
        }
    }
    println!("names that are gone: {} cases, {} differences", CASES.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Three files of one soname have findings with one fingerprint. The file that is repaired, as
/// readelf shows, is the one under `fixed`.
#[test]
fn of_files_with_one_soname_the_repaired_one_is_fixed() {
    let names = ["libfoo.so.1.0", "libfoo.so.1.1", "libfoo.so.1.2"];
    let soname = "-Wl,-soname,libfoo.so.1";
    for repaired in names {
        let lab = Lab::new();
        for name in names {
            let source = "int foo(void) { return 1; }";
            lab.so(&format!("old/{name}"), source, &[soname, "-Wl,-z,execstack"]);
            let flag = if name == repaired { "-Wl,-z,noexecstack" } else { "-Wl,-z,execstack" };
            lab.so(&format!("new/{name}"), source, &[soname, flag]);
        }
        let shown = lab.sh("for f in new/*; do readelf -lW $f | grep -q RWE || basename $f; done");
        assert_eq!(String::from_utf8_lossy(&shown.stdout).trim(), repaired);
        let warn = ["--warn", "executable-stack", "--isolated", "--format", "json"];
        let output = lab.linkaudit(&[&["diff", "old", "new"][..], &warn].concat());
        let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let fixed = value["fixed"].as_array().expect("a list");
        let fixed: Vec<&str> = fixed.iter().filter_map(|one| one["path"].as_str()).collect();
        assert_eq!(fixed, [repaired]);
        assert_eq!(value["findings"].as_array().map(Vec::len), Some(0));
    }
}

/// The next command to type comes after the totals.
#[test]
fn a_comparison_ends_with_the_next_command() {
    let lab = Lab::new();
    lab.so("old/libfoo.so.1", "int foo(void) { return 1; }", &["-Wl,-soname,libfoo.so.1"]);
    lab.so("new/libbar.so.1", "int bar(void) { return 1; }", &["-Wl,-soname,libbar.so.1"]);
    let output = lab.linkaudit(&["diff", "old", "new"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let next = text.lines().filter(|line| line.starts_with("next: ")).collect::<Vec<_>>();
    assert_eq!(next.len(), 1, "{text}");
    assert_eq!(text.lines().last(), next.first().copied(), "{text}");
}

/// Only directories below a prefix are those of debuggers.
#[test]
fn a_prefix_may_be_in_a_directory_of_build_ids() {
    let lab = Lab::new();
    lab.so(".build-id/old/libfoo.so.1", "int foo;", &["-Wl,-soname,libfoo.so.1"]);
    lab.so(".build-id/new/libbar.so.1", "int bar;", &["-Wl,-soname,libbar.so.1"]);
    let prefixes = [".build-id/old", ".build-id/new"];
    let json = ["--isolated", "--format", "json"];
    let output = lab.linkaudit(&[&["diff"][..], &prefixes, &json].concat());
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = value["findings"].as_array().expect("findings").iter();
    let gone = findings.filter(|finding| finding["rule"] == "removed-library");
    let gone: Vec<_> = gone.filter_map(|finding| finding["path"].as_str()).collect();
    assert_eq!(gone, ["libfoo.so.1"]);
    assert_eq!(value["added"], serde_json::json!(["libbar.so.1"]));
}
