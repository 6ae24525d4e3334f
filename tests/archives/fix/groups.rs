//! Fixes with members that have copies of one COMDAT group. Each case is linked with three linkers.

use super::kit::{archive, tool};
use super::linkable::{member, verified};
use crate::support::{Lab, has, skip};
use std::ffi::OsStr;

/// A linker keeps one copy of a COMDAT group. The other may have a name that the link needs.
#[test]
fn copies_of_groups_with_other_names() {
    let linkers = ["ld", "ld.lld-19", "mold"];
    if !linkers.iter().all(|linker| has(linker)) {
        return skip("copies_of_groups_with_other_names", "needs three linkers");
    }
    let lab = Lab::new();
    let (small, large) = (".weak q\nq: ret\n", ".weak q, h\nq: ret\nh: ret\n");
    // The groups of the object, of `a` and of `b`; and what needs `h`.
    for (of_user, a, b, by, takes) in [
        ("", small, small, "", true),
        ("", large, large, "b", true),
        ("", small, large, "", true),
        ("", small, large, "user", false),
        ("", small, large, "b", false),
        ("", small, large, "d", false),
        (small, "", large, "user", false),
        (small, "", large, "b", false),
        (large, "", large, "b", true),
    ] {
        tool(&lab, "rm -rf parts");
        let object = |name: &str, code: &str, content: &str| {
            let call = if name == by { "call h@PLT\n" } else { "" };
            let start = format!(".text\n.globl {name}\n{name}: {code}{call}ret\n");
            let group = ".section .text.q,\"axG\",@progbits,q,comdat\n";
            let group =
                if content.is_empty() { String::new() } else { format!("{group}{content}") };
            member(&lab, name, &format!("{start}{group}"));
        };
        object("user", "call a@PLT\ncall b@PLT\ncall d@PLT\n", of_user);
        object("a", "", a);
        object("b", "", b);
        object("d", "", "");
        for name in ["a", "b", "d"] {
            archive(&lab, OsStr::new(&format!("parts/lib{name}.a")), &[&format!("{name}.o")]);
        }
        tool(&lab, "ld -shared -o libuser.so user.o");
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        assert_eq!(is_verified, takes, "{of_user}{a}{b}{by}: {doubts}");
        assert!(takes || doubts.contains("COMDAT group"), "{doubts}");
        // lld 19 accepts a reference to the discarded weak definition.
        let all = linkers.map(|linker| {
            let link = format!("{linker} -shared -z defs -o new.so user.o parts/lib?.a");
            lab.sh(&link).status.success()
        });
        assert_eq!(all == [true; 3], takes, "{of_user}{a}{b}{by}: {all:?}");
    }
}

/// A section outside of a COMDAT group may refer to a local symbol of the group only if the
/// linker keeps that copy. Each case has the code that the second member adds, the object that
/// has another copy of the group (empty for none), and true if linkers accept the link.
#[test]
fn local_symbols_of_groups() {
    let linkers = ["ld", "ld.lld-19", "mold"];
    if !linkers.iter().all(|linker| has(linker)) {
        return skip("local_symbols_of_groups", "needs three linkers");
    }
    let lab = Lab::new();
    let group = ".section .text.q,\"axG\",@progbits,q,comdat\n.weak q\nq: nop\nlocal: ret\n";
    let unwind = ".cfi_startproc\nret\n.cfi_endproc\n";
    for (more, by, takes) in [
        (".text\ncall local\n", "", true),
        (".text\ncall local\n", "a", false),
        (".text\ncall local\n", "user", false),
        (".text\ncall q@PLT\n", "a", true),
        (".data\n.quad local\n", "a", false),
        (".section .init_array,\"aw\"\n.quad .text.q\n", "a", false),
        (".section .debug_x,\"\"\n.quad local\n", "a", true),
        (".section .more,\"aG\",@progbits,q,comdat\n.long local - .\n", "a", true),
        (
            ".section .text.q,\"axG\",@progbits,q,comdat\n.cfi_startproc\nret\n.cfi_endproc\n",
            "a",
            true,
        ),
    ] {
        tool(&lab, "rm -rf parts");
        let object = |name: &str, code: &str, more: &str| {
            let group = if name == by || name == "b" { group } else { "" };
            member(
                &lab,
                name,
                &format!(".text\n.globl {name}\n{name}: {code}{unwind}{group}{more}"),
            );
        };
        object("user", "call a@PLT\ncall b@PLT\n", "");
        object("a", "", "");
        object("b", "", more);
        archive(&lab, OsStr::new("parts/liba.a"), &["a.o"]);
        archive(&lab, OsStr::new("parts/libb.a"), &["b.o"]);
        tool(&lab, "ld -shared -o libuser.so user.o");
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        assert_eq!(is_verified, takes, "{more}{by}: {doubts}");
        assert!(takes || doubts.contains("COMDAT group q from outside"), "{doubts}");
        // mold writes a number that marks the symbol as discarded.
        let all = linkers.map(|linker| {
            let link = format!("{linker} -shared -z defs -o new.so user.o parts/lib?.a");
            lab.sh(&link).status.success()
        });
        assert_eq!(all, [takes, takes, true], "{more}{by}");
    }
}
