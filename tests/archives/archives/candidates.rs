//! The choice among archives of `--from`, which have no given order.

use super::kit::{ar, archive, members, object, undefined};
use crate::support::Lab;
use serde_json::Value;

/// `p/k.a` refers to `f`, and other archives define `f`.
fn lab() -> Lab {
    let lab = Lab::new();
    object(&lab, "k.o", ".globl k\nk: .quad f\n");
    object(&lab, "weak.o", ".weak f\nf: nop\n");
    object(&lab, "strong.o", ".globl f\nf: .quad missing\n");
    lab.mkdir("p/more");
    ar(&lab, "rc", "p/k.a", &["k.o"]);
    lab
}

fn ask(lab: &Lab, more: &[&str]) -> Value {
    archive(&lab.root(), &[&["p/k.a", "--root-symbol", "k"], more].concat()).0
}

/// lld and GNU ld take the first definition, and mold the strong one.
#[test]
fn a_weak_definition_counts_like_a_strong_one() {
    let lab = lab();
    ar(&lab, "rc", "p/liba.a", &["weak.o"]);
    ar(&lab, "rc", "p/libz.a", &["strong.o"]);
    let answer = ask(&lab, &["--from", "p"]);
    assert_eq!(members(&answer), ["k.a(k.o)", "liba.a(weak.o)"], "{answer}");
    assert!(undefined(&answer).is_empty(), "{answer}");
    let tie = &answer["ties"][0];
    assert!(tie["symbol"] == "f" && tie["others"].as_array().expect("others").len() == 1, "{tie}");
}

/// The first path is `p/more/liba.a`, and `p/libz.a` is nearer to `p/k.a`.
#[test]
fn the_nearest_archive_wins() {
    let lab = lab();
    ar(&lab, "rc", "p/more/liba.a", &["strong.o"]);
    ar(&lab, "rc", "p/more.a", &["weak.o"]);
    let answer = ask(&lab, &["--from", "p"]);
    assert_eq!(members(&answer), ["k.a(k.o)", "more.a(weak.o)"], "{answer}");
}

/// Only valgrind's own tools link its archives.
#[test]
fn archives_of_a_tool_are_no_candidates() {
    let lab = lab();
    lab.mkdir("lib/valgrind");
    ar(&lab, "rc", "lib/valgrind/libcore.a", &["weak.o"]);
    let answer = ask(&lab, &["--from", "lib"]);
    assert_eq!(undefined(&answer).into_iter().collect::<Vec<_>>(), ["f"], "{answer}");
    let answer = ask(&lab, &["--from", "lib/valgrind"]);
    assert_eq!(members(&answer), ["k.a(k.o)", "libcore.a(weak.o)"], "{answer}");
}

/// The compiler's start files define `_start`, and archives of other programs do too.
#[test]
fn the_start_of_a_program_is_searched_for_only_on_request() {
    let lab = lab();
    object(&lab, "s.o", ".globl s\ns: .quad _start\n");
    object(&lab, "main.o", ".globl _start\n_start: nop\n");
    ar(&lab, "rc", "p/s.a", &["s.o"]);
    ar(&lab, "rc", "p/libother.a", &["main.o"]);
    let of = |more: &[&str]| {
        let args = ["p/s.a", "--root-symbol", "s", "--from", "p"];
        archive(&lab.root(), &[&args, more].concat()).0
    };
    let answer = of(&[]);
    assert_eq!(members(&answer), ["s.a(s.o)"], "{answer}");
    assert_eq!(undefined(&answer).into_iter().collect::<Vec<_>>(), ["_start"], "{answer}");
    let answer = of(&["--root-symbol", "_start"]);
    assert_eq!(members(&answer), ["libother.a(main.o)", "s.a(s.o)"], "{answer}");
}
