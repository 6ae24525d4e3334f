//! Options: directories that are not stages, paths inside and outside of stages, shared files,
//! outputs, and the line for a directory that looks like a stage.

use super::report::Report;
use super::system::bare;
use crate::support::{Lab, linkaudit};

const FOO: &str = "int foo(void) { return 1; }";
const APP: &str = "int foo(void); int main(void) { return foo(); }";

/// A system with libfoo.so.1, and a stage with another one and a program.
fn lab() -> Lab {
    let lab = Lab::new();
    bare(&lab, "root");
    let soname = "-Wl,-soname,libfoo.so.1";
    lab.so("root/usr/lib/libfoo.so.1", FOO, &[soname]);
    lab.so("stage/usr/lib/libfoo.so.1", "int bar;", &[soname]);
    lab.exe("stage/usr/bin/app", APP, &["-Wl,--no-as-needed", "root/usr/lib/libfoo.so.1"]);
    lab.mkdir("empty");
    lab.write("text", "text");
    lab
}

fn run(lab: &Lab, args: &[&str]) -> (Option<i32>, String, String) {
    let output = lab.linkaudit(&[&["--isolated", "--root", "root"], args].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn elf(lab: &Lab, args: &[&str]) -> u64 {
    let mut command = linkaudit();
    command.current_dir(lab.root()).args(["--isolated", "--root", "root"]).args(args);
    Report::of(&mut command).total("elf")
}

#[test]
fn mistakes_are_refused() {
    let lab = lab();
    lab.so("other/usr/lib/libfoo.so.1", FOO, &[]);
    lab.write("clash/usr", "a file where another stage has a directory");
    let cases: [(&[&str], &str); 10] = [
        (&["--staged", "none"], "--staged none: no such file or directory"),
        (&["--staged", "text"], "--staged text: not a directory"),
        (&["--staged", "."], "contains --root"),
        (&["--staged", "root"], "contains --root"),
        (&["--staged", "stage", "--staged", "other"], "stages must not share files"),
        (&["--staged", "stage", "--staged", "clash"], "stages must not share files"),
        (&["--staged", "stage", "--staged", "stage"], "stages must not share files"),
        (&["--staged", "stage", "stage/none"], "stage/none: no such file or directory"),
        (&["--staged", "stage", "empty"], "empty: not below --root"),
        (&["--staged", "stage", "--replaces", "none"], "--replaces none: no such file"),
    ];
    for (args, expected) in cases {
        let (status, _, stderr) = run(&lab, args);
        assert_eq!(status, Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(expected), "{args:?}: {stderr}");
    }
    let alone = lab.linkaudit(&["--replaces", "text", "stage"]);
    assert_eq!(alone.status.code(), Some(2));
    println!("{} mistakes, all refused", cases.len() + 1);
}

#[test]
fn paths_are_installed_or_below_the_stage() {
    let lab = lab();
    assert_eq!(elf(&lab, &["--staged", "stage"]), 2);
    assert_eq!(elf(&lab, &["--staged", "stage", "stage"]), 2);
    assert_eq!(elf(&lab, &["--staged", "stage", "stage/usr/lib"]), 1);
    assert_eq!(elf(&lab, &["--staged", "stage", "stage/usr/../usr/bin/app"]), 1);
    assert_eq!(elf(&lab, &["--staged", "stage", "/usr/bin/app"]), 1);
    // A directory of the system is listed whole, as it will be.
    assert_eq!(elf(&lab, &["--staged", "stage", "/usr/bin"]), 2, "app and env");
    assert_eq!(elf(&lab, &["--staged", "empty", "/usr/bin/env"]), 1);
    let (status, stdout, _) = run(&lab, &["--staged", "empty"]);
    assert_eq!((status, stdout.starts_with("no ELF files")), (Some(0), true), "{stdout}");
    let (status, _, stderr) = run(&lab, &["--staged", "empty", "--require-elf"]);
    assert_eq!(status, Some(2), "{stderr}");
}

#[test]
fn nothing_is_written_into_a_stage() {
    let lab = lab();
    let (status, _, stderr) = run(&lab, &["--staged", "stage", "-o", "json=stage/report.json"]);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("this run audits its directory"), "{stderr}");
}

#[test]
fn a_directory_that_looks_like_a_stage() {
    let lab = lab();
    std::fs::rename(lab.path("stage"), lab.path("root/stage")).expect("a directory of the root");
    let (_, stdout, _) = run(&lab, &["/stage"]);
    let help = stdout.split_once("help: ").map(|(_, help)| help.replace("\n      ", " "));
    let help = help.unwrap_or_else(|| panic!("no help: {stdout}"));
    assert!(help.contains("/usr/lib/libfoo.so.1 was loaded and not /stage/usr/lib/libfoo.so.1"));
    assert!(help.contains("linkaudit --staged /stage"), "{help}");
    let (status, stdout, _) = run(&lab, &["--staged", "root/stage"]);
    assert_eq!((status, stdout.contains("help: /usr")), (Some(1), false), "{stdout}");
    assert!(stdout.contains("undefined in /usr/bin/app"), "{stdout}");
    assert!(stdout.contains("loaded: 1 library of the stage, 2 of the system"), "{stdout}");
}

#[test]
fn other_commands_know_the_stage() {
    let lab = lab();
    let (status, stdout, stderr) = run(&lab, &["--staged", "stage", "why", "libfoo.so.1"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stdout.contains("/usr/lib/libfoo.so.1"), "{stdout}");
    let (status, stdout, _) = run(&lab, &["--staged", "stage", "why", "foo"]);
    assert_eq!(status, Some(0));
    assert!(stdout.contains("/usr/bin/app"), "{stdout}");
    let (status, stdout, _) = run(&lab, &["--staged", "stage", "tree"]);
    assert_eq!(status, Some(0), "{stdout}");
    assert!(stdout.contains("/usr/bin/app") && !stdout.contains("stage/"), "{stdout}");
    // A stage that is taken for a system has no loader.
    let wrong = lab.linkaudit(&["--isolated", "--root", "stage", "/usr"]);
    let words = String::from_utf8_lossy(&wrong.stdout).into_owned();
    let flat: Vec<&str> = words.split_whitespace().collect();
    assert!(flat.join(" ").contains("if DIR is a staging directory, use --staged DIR"), "{words}");
}

/// Under a whitelist the system below the stage is not read.
#[test]
fn a_whitelist_sees_the_stage_alone() {
    let lab = Lab::new();
    bare(&lab, "root");
    let soname = "-Wl,-soname,libfoo.so.1";
    lab.so("root/usr/lib/libfoo.so.1", FOO, &["-nostdlib", soname]);
    let flags = ["-nostdlib", "-Wl,--no-as-needed", "root/usr/lib/libfoo.so.1"];
    lab.so("stage/usr/lib/libapp.so", "int foo(void); int app(void) { return foo(); }", &flags);
    lab.write("policy.toml", "schema = 1\n[provided]\nlibraries = [\"libc.so.6\"]\nonly = true\n");
    let (status, stdout, _) = run(&lab, &["--staged", "stage"]);
    assert_eq!(status, Some(0), "{stdout}");
    let (status, stdout, _) = run(&lab, &["--staged", "stage", "--policy", "policy.toml"]);
    assert_eq!(status, Some(1), "{stdout}");
    assert!(stdout.contains("error[outside-closure] libfoo.so.1"), "{stdout}");
    // Where glibc's own build looks.
    lab.so("stage/usr/lib64/libfoo.so.1", FOO, &["-nostdlib", soname]);
    let (status, stdout, _) = run(&lab, &["--staged", "stage", "--policy", "policy.toml"]);
    assert_eq!(status, Some(0), "{stdout}");
}
