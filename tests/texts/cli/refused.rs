//! Given files that linkaudit does not read: exit 2, and a message with their kind. Directories
//! without ELF files are valid, and have no audited files.

use super::kit::{FOO, run, three_trees};
use crate::support::Lab;

/// A Debian package that ends after its first member.
const DEB: &[u8] = b"!<arch>\ndebian-binary   0           0     0     100644  4         `\n2.0\n";

#[test]
fn a_file_that_is_not_read_is_named_with_what_helps() {
    let lab = Lab::new();
    lab.write("dist/x.whl", b"PK\x03\x04rest");
    lab.write("x.deb", DEB);
    lab.write("x.rpm", b"\xed\xab\xee\xdb\x03");
    lab.write("a b.tar.xz", b"\xfd7zXZ\0\0");
    lab.write("run", "#!/bin/sh\nexec bin/app\n");
    lab.write("notes.txt", "some text\n");
    lab.write("none", "");
    lab.write("foo.pc", "Name: foo\nVersion: 1\nLibs: -L/none -lfoo\n");
    lab.write("FooConfig.cmake", "include(\"${CMAKE_CURRENT_LIST_DIR}/FooTargets.cmake\")\n");
    lab.write("FooMacros.cmake", "set(a b)\n");
    let cases = [
        (
            "dist/x.whl",
            "dist/x.whl: a wheel (zip archive)\nhelp: unpack it: unzip -d DIR dist/x.whl\n",
        ),
        ("x.deb", "x.deb: a Debian package\nhelp: unpack it: dpkg-deb -x x.deb DIR\n"),
        ("x.rpm", "x.rpm: an RPM package\nhelp: unpack it: rpm2cpio x.rpm | cpio -idm -D DIR\n"),
        (
            "a b.tar.xz",
            "a b.tar.xz: a tar archive (xz)\nhelp: unpack it: tar -C DIR -xf 'a b.tar.xz'\n",
        ),
        ("run", "run: a script (#!/bin/sh)\nhelp: name the program or library that it starts\n"),
        ("notes.txt", "notes.txt: a text file, neither an ELF file nor a static archive\n"),
        (
            "foo.pc",
            "foo.pc: a package file of pkg-config\n\
             help: to read it, enable its rules: -W package-text\n",
        ),
        (
            "FooConfig.cmake",
            "FooConfig.cmake: a configuration file of CMake\n\
             help: to read it, enable its rules: -W package-text\n",
        ),
        (
            "FooMacros.cmake",
            "FooMacros.cmake: a file of CMake that find_package does not read\n\
             help: name the *Config.cmake file that includes it\n",
        ),
        ("none", "none: an empty file, neither an ELF file nor a static archive\n"),
    ];
    for (file, message) in cases {
        for command in ["check", "tree"] {
            run(&lab, &[command, file]).refused(&[message]).in_style();
        }
    }
}

#[test]
fn every_command_that_audits_a_file_refuses_packages() {
    let lab = Lab::new();
    lab.so("app/libfoo.so", FOO, &[]);
    lab.write("app/libfoo.a", "!<arch>\n");
    lab.write("x.deb", DEB);
    lab.write("x.rpm", b"\xed\xab\xee\xdb\x03");
    lab.write("x.whl", b"PK\x03\x04rest");
    lab.write("x.tar.xz", b"\xfd7zXZ\0\0");
    for (file, kind) in [
        ("x.deb", "a Debian package"),
        ("x.rpm", "an RPM package"),
        ("x.whl", "a wheel (zip archive)"),
        ("x.tar.xz", "a tar archive (xz)"),
    ] {
        let commands: [&[&str]; 11] = [
            &["diff", file, "app"],
            &["diff", "app", file],
            &["diff", file, file],
            &["diff", "app", "app", "--against", file],
            &["archive", "--self", file],
            &["archive", "--self", "app", "--from", file],
            &["archive", "app/libfoo.a", "--all-members", "--from", file],
            &["archive", "app/libfoo.a", "--all-members", "--lib-path", file],
            &["app", "--lib-path", file],
            &["fix", "app", "--archive", file],
            &["policy", "init", "p.toml", "--from", file],
        ];
        for command in commands {
            let message = format!("{file}: {kind}\nhelp: unpack it: ");
            run(&lab, command).refused(&[&message]).in_style();
        }
    }
    assert!(!lab.path("p.toml").exists());
}

#[test]
fn a_directory_of_packages_has_nothing_to_audit() {
    let lab = Lab::new();
    lab.write("debs/x.deb", DEB);
    let shown = run(&lab, &["debs"]);
    assert_eq!((shown.status, &*shown.out), (0, "no ELF files: 1 entry seen\n"));
    run(&lab, &["debs", "--require-elf"]).refused(&["0 ELF files"]).in_style();
    run(&lab, &["diff", "debs", "debs"]).refused(&["debs: no ELF files"]).in_style();
    run(&lab, &["archive", "--self", "debs"]).refused(&["no static archive found"]).in_style();
}

#[test]
fn a_package_file_is_read_if_its_rules_are_enabled() {
    let lab = Lab::new();
    lab.write("FooConfig.cmake", "include(\"${CMAKE_CURRENT_LIST_DIR}/FooTargets.cmake\")\n");
    let pc = format!(
        "prefix={}\nName: foo\nVersion: 1\nCflags: -I${{prefix}}/none\n",
        lab.root().display()
    );
    lab.write("foo.pc", pc);
    for (file, rule) in
        [("foo.pc", "[pkgconfig-missing-file]"), ("FooConfig.cmake", "[cmake-missing-file]")]
    {
        let out = run(&lab, &[file, "-D", "package-text", "--format", "gcc"]);
        assert_eq!(out.status, 1, "{file}");
        assert!(out.out.contains(rule), "{file}: {}", out.out);
    }
}

#[test]
fn lists_and_ldd_answer_for_any_file() {
    let lab = three_trees();
    lab.write("run", "#!/bin/sh\n");
    lab.write("list", "run\nfine\n");
    let listed = run(&lab, &["--files-from", "list"]);
    assert_eq!(listed.status, 0, "{}", listed.err);
    let ldd = run(&lab, &["run", "--format", "ldd"]);
    assert_eq!(ldd.out, "\tnot a dynamic executable\n", "{}", ldd.err);
}

#[test]
fn a_directory_without_elf_files() {
    let lab = Lab::new();
    lab.write("share/doc/README", "text");
    let shown = run(&lab, &["share"]);
    assert_eq!((shown.status, &*shown.out), (0, "no ELF files: 1 entry seen\n"));
    lab.mkdir("empty");
    assert_eq!(run(&lab, &["empty"]).out, "no ELF files: 0 entries seen\n");
    assert_eq!(run(&lab, &["empty", "--require-elf"]).status, 2);
}

#[test]
fn the_executable_of_the_process_itself() {
    let lab = Lab::new();
    let own = run(&lab, &["/proc/self/exe"]);
    own.refused(&["/proc/self/exe: leads to another file in each process"]).in_style();
}
