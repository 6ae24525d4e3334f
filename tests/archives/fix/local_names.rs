//! Names that a fix defines and that the symbol table of the file has as local symbols. Such a
//! symbol is either local in its object or hidden. Each case is linked again with the members.

use super::kit::{archive, object, text, tool};
use super::linkable::{member, verified};
use crate::support::{Lab, has, skip};
use std::ffi::OsStr;

const STATIC: &str = "int g(void); static int __attribute__((noinline, used)) h(void) { return 1; }\n\
                      int own(void) { return g() + h(); }";
const HIDDEN: &str = "int g(void); int __attribute__((visibility(\"hidden\"))) h(void) { return 1; }\n\
                      int own(void) { return g() + h(); }";
const HIDDEN_ALONE: &str = "int __attribute__((visibility(\"hidden\"))) h(void) { return 1; }";
const OTHER: &str = "int other(void) { return 2; }";

/// Those of `linkers` that are installed.
fn installed<'l>(test: &str, linkers: &[&'l str]) -> Vec<&'l str> {
    let is_there = |linker: &&&str| {
        let found = has(linker);
        if !found {
            skip(test, &format!("{linker} is not installed"));
        }
        found
    };
    linkers.iter().filter(is_there).copied().collect()
}

#[test]
fn local_and_hidden_names() {
    let linkers = installed("local_and_hidden_names", &["ld.bfd", "ld.lld"]);
    let lab = Lab::new();
    object(&lab, "g.o", "int h(void) { return 2; } int g(void) { return h(); }");
    archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
    for (user, more, links) in [
        (STATIC, OTHER, true),
        (HIDDEN, OTHER, false),
        (STATIC, HIDDEN_ALONE, false),
        (OTHER, STATIC, true),
        (HIDDEN_ALONE, STATIC, false),
    ] {
        object(&lab, "user.o", user);
        object(&lab, "more.o", more);
        for linker in linkers.iter().filter_map(|linker| linker.strip_prefix("ld.")) {
            let link = format!("cc -fuse-ld={linker} -shared");
            tool(&lab, &format!("{link} -o libuser.so user.o more.o"));
            let (is_verified, doubts) = verified(&lab, "libuser.so");
            let again = format!("{link} -Wl,-z,defs -o new.so user.o more.o parts/libg.a");
            let is_linked = lab.sh(&format!("{again} 2>/dev/null")).status.success();
            assert_eq!(is_linked, links, "{again} {user} {more}");
            // Other linkers than GNU ld do not say which symbols were local.
            let is_known = linker == "bfd" || !links;
            assert_eq!(is_verified, links && is_known, "{linker} {user} {more}: {doubts}");
            let words = match (links, is_known) {
                (true, true) => "",
                (true, false) => "may duplicate the definition of h: the file has a local symbol",
                (false, _) => "duplicates the definition of h: no linker accepts both",
            };
            assert!(doubts.contains(words), "{linker} {user} {more}: {doubts}");
        }
    }
}

/// `-Bsymbolic-functions` binds functions. The distance to another object's definition is left to
/// the loader if it has 64 bits and is in writable data, but glibc does not compute it.
#[test]
fn distances_in_shared_objects() {
    let linkers = installed("distances_in_shared_objects", &["ld.bfd", "ld.lld"]);
    let lab = Lab::new();
    let function = ".globl h\n.type h, @function\nh: ret\n";
    member(&lab, "user", ".globl own\nown: call g@PLT\nret\n");
    member(&lab, "near", &format!(".globl g\ng: leaq h(%rip), %rax\nret\n{function}"));
    member(&lab, "far", &format!(".globl g\ng: ret\n.data\n.quad h - .\n.text\n{function}"));
    lab.write("m.c", "int main(void) { return 0; }\n");
    tool(&lab, "gcc -o m m.c");
    tool(&lab, "ld -shared -o lib.so user.o");
    for (name, links, expected) in [
        ("near", false, "(R_X86_64_PC32 for h): no linker accepts it"),
        ("far", true, "(R_X86_64_PC64 for h): glibc does not load the output of GNU ld and lld"),
    ] {
        tool(&lab, "rm -rf parts");
        archive(&lab, OsStr::new("parts/libg.a"), &[&*format!("{name}.o")]);
        for linker in &linkers {
            for (option, is_bound) in [("", false), ("-Bsymbolic-functions", true)] {
                let link = format!("{linker} -shared {option} -o new.so user.o parts/libg.a");
                let is_linked = lab.sh(&format!("{link} 2>/dev/null"));
                assert_eq!(is_linked.status.success(), links || is_bound, "{link}");
                let is_loaded = lab.sh(&format!("{link} 2>/dev/null && LD_PRELOAD=./new.so ./m"));
                assert_eq!(is_loaded.status.success(), is_bound, "{link}");
            }
        }
        let (is_verified, doubts) = verified(&lab, "lib.so");
        let expected =
            format!("{expected} unless a version script hides h or -Bsymbolic-functions binds it");
        assert!(!is_verified && doubts.contains(&expected), "{doubts}");
    }
}

/// A linked file does not record its version script, which may hide a definition. Linkers then
/// accept the distance to it.
#[test]
fn version_scripts_may_hide_definitions() {
    let linkers = installed("version_scripts_may_hide_definitions", &["ld.bfd", "ld.lld", "mold"]);
    let lab = Lab::new();
    lab.write("script", "{ global: own; local: *; };\n");
    member(&lab, "user", ".globl own\nown: call g@PLT\nret\n");
    member(&lab, "g", ".globl g\ng: leaq v(%rip), %rax\nret\n.data\n.globl v\nv: .quad 0\n");
    member(&lab, "far", ".globl g\ng: leaq v(%rip), %rax\nret\n");
    member(&lab, "v", ".data\n.globl v\nv: .quad 0\n");
    for members in [&["g.o"][..], &["far.o", "v.o"]] {
        tool(&lab, "rm -rf parts");
        archive(&lab, OsStr::new("parts/libg.a"), members);
        for (option, links) in [("", false), ("--version-script=script", true)] {
            tool(&lab, &format!("ld -shared {option} -o lib.so user.o"));
            for linker in &linkers {
                let link = format!("{linker} -shared -z defs {option} -o new.so user.o");
                let is_linked = lab.sh(&format!("{link} parts/libg.a 2>/dev/null"));
                assert_eq!(is_linked.status.success(), links, "{link} {members:?}");
            }
            let (is_verified, doubts) = verified(&lab, "lib.so");
            let expected = "(R_X86_64_PC32 for v): no linker accepts it unless a version script \
                            hides v";
            assert!(!is_verified && doubts.contains(expected), "{doubts}");
        }
    }
}

/// A tentative definition does not conflict with a strong one. A linked file does not record that a
/// definition was tentative, so that the fix says "may". It is never verified, because linkers
/// reject two strong definitions.
#[test]
fn tentative_definitions() {
    let lab = Lab::new();
    let code = |own: &str| {
        format!(".globl f\nf: call g@PLT\nmovq v@GOTPCREL(%rip), %rax\nret\n{own}\n.size v, 4\n")
    };
    let may = "may duplicate the definition of v: linkers accept both only if";
    let does = "duplicates the definition of v: no linker accepts both";
    let strong = ".data\n.globl v\nv: .long 1";
    let weak = ".data\n.weak v\nv: .long 1";
    let common = ".comm v, 4, 4";
    // The definition in the library and the one in the member, what the fix says, and true if
    // linkers accept both.
    let cases = [
        (common, strong, Some(may), true),
        (".bss\n.globl v\nv: .long 0", strong, Some(may), false),
        (strong, strong, Some(does), false),
        (common, weak, None, true),
        (common, common, None, true),
        (strong, common, None, true),
        (weak, common, None, true),
        (weak, strong, None, true),
    ];
    for (own, others, said, is_accepted) in cases {
        member(&lab, "lib", &code(&format!(".type v, @object\n{own}")));
        member(&lab, "g", &format!(".globl g\ng: ret\n.type v, @object\n{others}\n.size v, 4\n"));
        archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
        for strip in ["true", "strip lib.so"] {
            tool(&lab, &format!("ld.bfd -shared -o lib.so lib.o && {strip}"));
            let run = lab.linkaudit(&["fix", "lib.so", "--lib-path", "parts", "-v"]);
            let text = text(&run.stdout).replace('\n', " ");
            assert!(said.is_none_or(|said| text.contains(said)), "{own} {others}: {text}");
            assert!(
                said.is_some() || !text.contains("the definition of v"),
                "{own} {others}: {text}"
            );
        }
        for linker in installed("tentative_definitions", &["ld.bfd", "ld.lld", "mold"]) {
            let link = format!("{linker} -shared -o out.so lib.o parts/libg.a");
            let links = lab.sh(&format!("{link} 2>/dev/null")).status.success();
            assert_eq!(links, is_accepted, "{own} {others}: {link}");
        }
    }
}

/// A member refers to a name that the file defines and does not export. Linkers take the definition
/// if it is global in its object.
#[test]
fn references_to_names_of_the_file() {
    let lab = Lab::new();
    object(&lab, "g.o", "int h(void); int g(void) { return h(); }");
    archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
    lab.write("map", "{ global: own; local: *; };");
    let global = "int g(void); int h(void) { return 1; } int own(void) { return g() + h(); }";
    let none = "int g(void); int own(void) { return g(); }";
    let defined = "is defined in the file and not exported";
    let perhaps = "would be undefined unless the local symbol of the file is hidden";
    // The source, options of the link, what the fix says with GNU ld and lld, and true if the link
    // with the archive succeeds.
    for (source, options, said, links) in [
        (HIDDEN, "", [defined, defined], true),
        (global, "--version-script=map", [defined, perhaps], true),
        (STATIC, "", ["would be undefined", perhaps], false),
        (none, "", ["would be undefined", "would be undefined"], false),
    ] {
        object(&lab, "own.o", source);
        for (linker, said) in ["ld.bfd", "ld.lld"].into_iter().zip(said) {
            if installed("references_to_names_of_the_file", &[linker]).is_empty() {
                continue;
            }
            let link = format!("{linker} -shared {options} own.o");
            let linked = lab.sh(&format!("{link} -z defs parts/libg.a -o out.so 2>&1"));
            assert_eq!(linked.status.success(), links, "{link}: {}", text(&linked.stdout));
            for (strip, said) in [
                ("true", said),
                (
                    "strip lib.so",
                    "would be undefined unless a hidden symbol of the file defines it",
                ),
            ] {
                tool(&lab, &format!("{link} -o lib.so && {strip}"));
                let run = lab.linkaudit(&["fix", "lib.so", "--lib-path", "parts", "-v"]);
                let text = text(&run.stdout).replace('\n', " ");
                let expected = format!("h, referenced by the added members, {said}");
                assert!(text.contains(&expected), "{link} {strip}: {text}");
                assert_eq!(text.contains(" unless "), said.contains(" unless "), "{link}: {text}");
            }
        }
    }
}
