//! Options of linkers on the line: their spellings, repeated and opposite options, options without
//! effect, and options that are refused. The linkers that know an option link the same files.

use super::kit::{ar, archive, has_linker, object, run, undefined};
use super::libraries::{LINKERS, check, code, theirs};
use crate::support::{Lab, clean, has};
use std::collections::BTreeSet;

fn lab() -> Lab {
    let lab = Lab::new();
    code(&lab, "m.o", "main", "used");
    code(&lab, "st.o", "_start", "main missing");
    code(&lab, "used.o", "used", "");
    code(&lab, "zz.o", "zz", "nosuch");
    code(&lab, "s.o", "_start", "");
    object(&lab, "h.o", ".section .text.h,\"ax\"\n.globl h\nh: .quad nosuch\n");
    for (name, member) in [("st", "st.o"), ("used", "used.o"), ("zz", "zz.o"), ("d", "zz.o")] {
        ar(&lab, "rc", &format!("lib{name}.a"), &[member]);
    }
    run(clean("ld").current_dir(lab.root()).args(["-shared", "-o", "libd.so", "used.o"]));
    lab.write("versions", "V1 { global: *; };\n");
    lab
}

/// mold 1.10 accepts `-NAME=VALUE`, but not `-NAME VALUE`.
#[test]
fn options_with_one_dash() {
    check(
        &lab(),
        &[
            ("lld", "m.o -entry main libused.a", &[]),
            ("gnu", "m.o -entry main libused.a", &[]),
            ("all", "m.o -entry=main libused.a", &[]),
            ("lld", "s.o -undefined=zz libzz.a", &["nosuch"]),
            ("gnu", "s.o -undefined zz libzz.a", &["nosuch"]),
            ("gnu", "s.o -require-defined=zz libzz.a", &["nosuch"]),
            ("mold", "s.o --require-defined absent libzz.a", &["absent"]),
            ("lld", "s.o -u zz -L. -call_shared -ld", &[]),
            ("gnu", "s.o -u zz -L. -non_shared -ld", &["nosuch"]),
            ("lld", "s.o -u zz -L. -n -ld", &["nosuch"]),
            ("all", "s.o -u zz -L. -N -ld", &["nosuch"]),
        ],
    );
}

/// The last of an option and its opposite counts.
#[test]
fn repeated_options() {
    check(
        &lab(),
        &[
            ("all", "-pie -pie --gc-sections --gc-sections s.o h.o", &[]),
            (
                "all",
                "-shared --allow-shlib-undefined --allow-shlib-undefined -shared h.o",
                &["nosuch"],
            ),
            ("all", "-pie --gc-sections --no-gc-sections s.o h.o", &["nosuch"]),
            ("all", "-pie -no-pie s.o h.o", &["nosuch"]),
            ("all", "--gc-sections -pie s.o -E --no-export-dynamic h.o", &[]),
        ],
    );
}

/// GNU ld exports no name from a program without dynamic sections.
#[test]
fn exported_names_keep_sections() {
    check(
        &lab(),
        &[
            ("all", "--gc-sections s.o h.o", &[]),
            ("lld", "--gc-sections s.o -E h.o", &["nosuch"]),
            ("gnu", "--gc-sections s.o -E h.o", &[]),
            ("mold", "--gc-sections s.o --export-dynamic h.o", &["nosuch"]),
            ("all", "--gc-sections -pie s.o -E h.o", &["nosuch"]),
            ("all", "--gc-sections s.o -E h.o libd.so", &["nosuch"]),
        ],
    );
}

/// `--export-dynamic` counts only with `--gc-sections`.
#[test]
fn exporting_without_dropping_sections() {
    let lab = lab();
    let note = |options: &[&str]| {
        let output = lab.linkaudit(&[&["archive", "--linker", "lld", "s.o"], options].concat());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let expected = "options without effect here: --export-dynamic\n";
    let alone = note(&["-E"]);
    assert!(alone.contains(expected), "{alone}");
    let one_dash = note(&["-export-dynamic"]);
    assert!(one_dash.contains(expected), "{one_dash}");
    let words = ["m.o", "-export-dynamic", "libst.a", "libused.a"];
    for (program, linker) in LINKERS {
        let (answer, _) = archive(&lab.root(), &[&["-q", "--linker", linker], &words[..]].concat());
        let missing = BTreeSet::from(["missing".to_owned()]);
        assert_eq!(undefined(&answer), missing, "{linker}");
        if has_linker(program) {
            assert_eq!(theirs(&lab, program, &words), missing, "{program}");
        }
    }
    let both = note(&["-E", "--gc-sections"]);
    assert!(!both.contains("without effect"), "{both}");
}

#[test]
fn options_without_effect() {
    let lab = lab();
    let expected = BTreeSet::from(["nosuch".to_owned()]);
    let of_all = "-O1|-O 1|--sort-common|--export-dynamic|-E|--no-gc-sections|--exclude-libs ALL|\
        -Bsymbolic-functions|-Bsymbolic|--warn-common|--fatal-warnings|--no-undefined-version|\
        -rpath-link /x|-Map=map|-Map map|-X|-x|-S|-s|-soname x|--version-script versions|\
        -version-script=versions|-Ttext=0x400000|--stats|-znow|-z now|--hash-style gnu|\
        --hash-style=both|--build-id=none|--emit-relocs|--sysroot=/|--no-demangle|--eh-frame-hdr|\
        --compress-debug-sections=none|--compress-debug-sections none|--undefined-version|--export-dynamic-symbol zz";
    let of_gnu = "-d|-t|-y used|-I /lib/ld.so|-flto|--sort-section name|-Ttext 0x400000|-R .|\
        --dynamic-list-cpp-new|-plugin-opt=x|-G 8|--unique";
    let of_lld = "-w|--icf=all|--threads=2|-t|--color-diagnostics=never|--error-limit=0|--lto-O2|-R v|\
        --threads 2|--shuffle-sections .text=1|--call-graph-profile-sort=none|\
        --unique|--no-call-graph-profile-sort|--rsp-quoting=posix|\
        --no-fortran-common";
    let of_mold = "--icf all|--unique x|--package-metadata {}|--threads|--icf=all|--threads=2|--color-diagnostics=never|--no-fork|--thread-count 1";
    for (only, list) in [("all", of_all), ("gnu", of_gnu), ("lld", of_lld), ("mold", of_mold)] {
        for (program, linker) in LINKERS.iter().filter(|(_, name)| ["all", name].contains(&only)) {
            for option in list.split('|') {
                let option = option.split(' ');
                let words: Vec<&str> =
                    ["s.o", "-u", "zz"].into_iter().chain(option).chain(["libzz.a"]).collect();
                let (answer, status) =
                    archive(&lab.root(), &[&["-q", "--linker", linker], &words[..]].concat());
                assert_eq!(undefined(&answer), expected, "{linker} {words:?}");
                assert_eq!(status, Some(1), "{linker} {words:?}");
                // GNU ld refuses `-plugin-opt` without a plugin.
                if has_linker(program) && !words.contains(&"-plugin-opt=x") {
                    assert_eq!(theirs(&lab, program, &words), expected, "{program} {words:?}");
                }
            }
        }
    }
}

#[test]
fn options_that_are_not_followed() {
    let lab = lab();
    for (line, option) in [
        ("-r s.o", "-r"),
        ("s.o -T versions", "-T versions"),
        ("s.o --script=versions", "--script=versions"),
        ("s.o -z nodefs", "-z nodefs"),
        ("s.o --fortran-common", "--fortran-common"),
        ("s.o --unresolved-symbols=ignore-all", "--unresolved-symbols=ignore-all"),
        ("s.o --warn-unresolved-symbols", "--warn-unresolved-symbols"),
        ("s.o --noinhibit-exec", "--noinhibit-exec"),
        ("s.o -Y P,.", "-Y P,."),
        ("s.o -b elf64-x86-64", "-b elf64-x86-64"),
        ("s.o --task-link zz", "--task-link zz"),
        ("s.o --undefined-glob z* libzz.a", "--undefined-glob z*"),
        ("s.o -R used.o", "-R used.o"),
        ("s.o --sysroot /x", "--sysroot /x"),
        ("s.o --gc-sections --dynamic-list=versions", "--dynamic-list=versions"),
        ("-shared s.o --gc-sections -version-script=versions", "-version-script=versions"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let output = lab.linkaudit(&[&["archive", "--linker", "gnu"], &words[..]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.starts_with(&format!("error: {option}: ")), "{line}: {error}");
        assert!(error.contains("\nhelp: "), "{line}: {error}");
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
    }
}

/// With `--fortran-common`, lld extracts the member that defines a common symbol of an object.
#[test]
fn fortran_common_extracts_members() {
    if !has("ld.lld-19") {
        return crate::support::skip("fortran_common_extracts_members", "there is no ld.lld-19");
    }
    let lab = lab();
    object(&lab, "c.o", ".globl _start\n_start: nop\n.comm blk,4,4\n");
    object(&lab, "blk.o", ".data\n.globl blk\nblk: .quad nosuch\n");
    ar(&lab, "rc", "libblk.a", &["blk.o"]);
    let nosuch = BTreeSet::from(["nosuch".to_owned()]);
    for (options, expected) in [
        (&[][..], BTreeSet::new()),
        (&["--no-fortran-common"], BTreeSet::new()),
        (&["--fortran-common"], nosuch),
    ] {
        let words = [options, &["c.o", "libblk.a"]].concat();
        assert_eq!(theirs(&lab, "ld.lld-19", &words), expected, "{options:?}");
        let args = [&["archive", "-q", "--linker", "lld"], &*words].concat();
        let output = lab.linkaudit(&args);
        let is_refused = options == ["--fortran-common"];
        assert_eq!(output.status.code(), Some(if is_refused { 2 } else { 0 }), "{options:?}");
    }
}

/// An option at the end of the line has no value.
#[test]
fn options_without_their_value() {
    let lab = lab();
    for option in ["-m", "--soname", "-entry", "--version-script"] {
        let output = lab.linkaudit(&["archive", "--linker", "gnu", "s.o", option]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option}: {error}");
        assert!(error.starts_with("error: "), "{option}: {error}");
    }
}

/// The line of `gcc -static-pie` has `-pie` twice.
#[test]
fn the_line_of_a_compiler_can_be_used() {
    let lab = lab();
    for kind in ["-static-pie", "-rdynamic", "-shared"] {
        let mut gcc = clean("gcc");
        gcc.current_dir(lab.root()).args([kind, "-nostdlib", "-###", "-o", "out", "s.o"]);
        let output = gcc.output().expect("gcc runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = text.lines().rfind(|line| line.contains("s.o")).expect("a line");
        let (_, words) = line.trim().split_once(' ').expect("words");
        lab.write("line", words);
        let (answer, status) = archive(&lab.root(), &["-q", "--linker", "gnu", "@line"]);
        assert_eq!(status, Some(0), "{kind} {line}: {answer}");
    }
}

/// In mold, the last `-Bstatic` or `-Bdynamic` is also the state before the first, and
/// `--pop-state` does not undo it.
#[test]
fn the_last_state_is_the_first() {
    check(
        &lab(),
        &[
            ("mold", "-e main m.o -L. -ld -static", &["used"]),
            ("lld", "-e main m.o -L. -ld -static", &[]),
            ("gnu", "-e main m.o -L. -ld -static", &[]),
            ("mold", "-e main m.o -L. -ld -static -Bdynamic", &[]),
            ("mold", "-e main m.o -L. -Bstatic -ld -Bdynamic", &["used"]),
            ("mold", "-e main m.o -L. -ld --push-state -Bstatic -lzz --pop-state", &["used"]),
        ],
    );
}
