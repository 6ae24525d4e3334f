//! Fixes whose members share a name with the linked library or with each other. The shared name
//! changes the symbol of the whole link: its visibility, or the copy of a COMDAT group that
//! defines it. Each case is linked with three linkers, and `ldd -r` checks the result.

use super::kit::{archive, tool};
use super::linkable::{member, verified};
use crate::support::{Lab, has, skip};
use std::ffi::OsStr;

/// The code of the library besides its call of `g`, the members of `libg.a` and `libh.a`, and
/// true if all linkers make a library in which `g` is defined.
const CASES: &[(&str, &str, &str, bool)] = &[
    // Hidden references, to a name that nothing defines.
    (".quad n\n", "", "", true),
    (".quad n\n", ".hidden n\n.weak n\n.quad n\n", "", false),
    (".quad n\n", ".hidden n\n.quad n\n", "", false),
    (".quad n\n", ".protected n\n.weak n\n.quad n\n", "", false),
    (".weak n\n.quad n\n", ".hidden n\n.weak n\n.quad n\n", "", true),
    ("", ".hidden n\n.weak n\n.quad n\n", "", true),
    // Copies of a COMDAT group with a strong and a weak definition. In the other order, all linkers
    // make the library, but a fix has no order.
    (".quad h\n.quad k\n", WEAK, WEAK, true),
    (".quad h\n.quad k\n", WEAK, STRONG, false),
];
const WEAK: &str = ".section .text.k,\"axG\",@progbits,k,comdat\n.weak k\nk: nop\n";
const STRONG: &str = ".section .text.k,\"axG\",@progbits,k,comdat\n.globl k\nk: nop\n";

#[test]
fn names_that_several_objects_use() {
    let linkers = ["ld", "ld.lld-19", "mold"];
    if !linkers.iter().all(|linker| has(linker)) {
        return skip("names_that_several_objects_use", "needs three linkers");
    }
    let lab = Lab::new();
    let (mut wrong, mut links) = (Vec::new(), 0);
    for (at, (own, g, h, takes)) in CASES.iter().enumerate() {
        tool(&lab, "rm -rf parts");
        member(&lab, "user", &format!(".data\n.globl own\nown: .quad g\n{own}"));
        tool(&lab, "ld -shared -o libuser.so user.o");
        for (name, content) in [("g", g), ("h", h)] {
            member(&lab, name, &format!(".data\n.globl {name}\n{name}: .quad 0\n{content}"));
            archive(&lab, OsStr::new(&format!("parts/lib{name}.a")), &[&format!("{name}.o")]);
        }
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        let all = linkers.map(|linker| {
            links += 1;
            let script = format!(
                "{linker} -shared --unresolved-symbols=ignore-all -o new.so user.o parts/lib?.a"
            );
            let left = || lab.undefined("new.so");
            lab.sh(&script).status.success() && left().iter().all(|name| name == "n")
        });
        if is_verified != *takes || all.iter().all(|links| *links) != *takes {
            wrong.push(format!("case {at}: verified {is_verified} ({doubts}), links {all:?}"));
        }
    }
    println!("merged symbols: {} cases, {links} links, {} differences", CASES.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// GNU ld counts the references of libraries too, and lld does not.
#[test]
fn a_library_refers_to_a_hidden_name() {
    let hidden = ".hidden n\n.weak n\n.quad n\n";
    let cases = [
        (".quad n\n", "", true),
        (".quad n\n", hidden, false),
        (".weak n\n.quad n\n", hidden, true),
    ];
    with_needed_library("a_library_refers_to_a_hidden_name", "", &cases);
}

/// With `-z defs`, GNU ld reports a weak reference that only a library needs strongly.
#[test]
fn a_library_refers_to_a_weak_name() {
    let weak = ".weak n\n.quad n\n";
    let defined = ".weak n\n.quad n\nn: .quad 0\n";
    let cases = [
        (".quad n\n", "", true),
        (".quad n\n", weak, false),
        (".quad n\n", defined, true),
        (weak, weak, true),
        ("", weak, true),
    ];
    with_needed_library("a_library_refers_to_a_weak_name", "-z defs", &cases);
}

/// Each case has code of a needed library and of a member. It also tells if GNU ld links the
/// member with `options`, and so if the fix is verified; lld always links the member.
fn with_needed_library(test: &str, options: &str, cases: &[(&str, &str, bool)]) {
    if !has("ld") || !has("ld.lld-19") {
        return skip(test, "needs GNU ld and lld");
    }
    let lab = Lab::new();
    for (needed, member_has, takes) in cases {
        tool(&lab, "rm -rf parts");
        member(&lab, "needed", &format!(".data\n.globl m\nm: .quad 0\n{needed}"));
        tool(&lab, "ld -shared -o needed.so needed.o");
        member(&lab, "user", ".data\n.globl own\nown: .quad g\n.quad m\n");
        tool(&lab, "ld -shared -rpath '$ORIGIN' -o libuser.so user.o needed.so");
        member(&lab, "g", &format!(".data\n.globl g\ng: .quad 0\n{member_has}"));
        archive(&lab, OsStr::new("parts/libg.a"), &["g.o"]);
        let (is_verified, doubts) = verified(&lab, "libuser.so");
        let links = |linker: &str| {
            let inputs = "user.o parts/libg.a needed.so";
            lab.sh(&format!("{linker} -shared {options} -o new.so {inputs}")).status.success()
        };
        assert_eq!((is_verified, links("ld")), (*takes, *takes), "{needed}{member_has}: {doubts}");
        assert!(links("ld.lld-19"), "{needed}{member_has}");
    }
}
