//! Cases about rules of GNU ld that the other linkers do not have.

use super::{LINKERS, Link, compare, ours, theirs};
use crate::archives::kit::{ar, has_linker, object};
use crate::support::Lab;

fn check(cases: &[(&str, &str)], except: &[&'static str]) {
    let links: Vec<Link> = cases.iter().map(|(o, line)| Link::new(o, line, except)).collect();
    let (compared, wrong) = compare(&links);
    assert!(compared > 0 && wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A hidden definition in the base version of a shared object has the name `f@`.
#[test]
fn references_to_the_base_version() {
    const CASES: &[(&str, &str)] = &[
        ("m: !f@ | d: f@", "m (d)"),
        ("m: !f@ | d: f@", "exe (d) m"),
        ("m: !f@ | d: f@", "m --as-needed (d)"),
        ("m: !f@ | d: f", "m (d)"),
        ("m: !f@ | d: f@V0", "m (d)"),
        ("m: !f | d: f@", "m (d)"),
        ("m: !f@ | a: f@", "m [a]"),
        ("m: !f@ | d: f@ | a: f@", "m (d) [a]"),
        ("m: !f@ | n: f", "m n"),
    ];
    check(CASES, &[]);
}

/// Data in `.bss` of a shared object is like a common symbol.
#[test]
fn common_symbols_and_zeroed_data_of_libraries() {
    const CASES: &[(&str, &str)] = &[
        ("m: f% | d: f=0 | a: f=", "m (d) [a]"),
        ("m: f% | d: f=0 | a: f=", "(d) m [a]"),
        ("m: f% | d: f=0 | a: f=", "exe m (d) [a]"),
        ("m: f% | d: f=0 | a: f=", "pie m (d) [a]"),
        ("m: f% | d: f=1 | a: f=", "pie m (d) [a]"),
        ("m: f% | d: f=1 | a: f=", "(d) m [a]"),
        ("m: f% | d: f=0 !h | a: h", "m --as-needed (d) --no-as-needed [a]"),
        ("m: !f | n: f% | d: f=0 | a: f=", "m (d) n [a]"),
        ("m: !g | d: f=0 | a: g f% | b: f=", "m (d) [a] [b]"),
        ("m: f%.h | d: f=0 | a: f=", "m (d) [a]"),
    ];
    check(CASES, &[]);
}

/// An assignment whose value is not known at its position.
#[test]
fn assignments_before_their_values() {
    const CASES: &[(&str, &str)] = &[
        ("m: !f | a: f | b: g", "m --defsym=f=g [a] [b]"),
        ("m: !f | a: f | b: g", "m --defsym=f=g [b a]"),
        ("m: !f | a: f | b: g", "m --defsym=f=g+1 [a b]"),
        ("m: !f | a: f | b: g", "--defsym=f=g m [a b]"),
        ("m: !f g | a: f", "m --defsym=f=g [a]"),
        ("m: !f g | a: f", "m --defsym=f=g+1 [a]"),
        ("m: !f | n: g% | a: f", "m n --defsym=f=g [a]"),
        ("m: ?f | a: f | b: g", "m --defsym=f=g [a b]"),
        ("m: !f | a: f", "m --defsym=f=_end [a]"),
        ("m: !f | a: f", "m --defsym=f=SIZEOF_HEADERS [a]"),
        ("m: !f", "m --defsym=f=_end"),
        ("m: !f", "m --defsym=f=nosuch"),
        ("m: f% | a: f=", "m --defsym=f=_end [a]"),
        ("m: f% | a: f=", "m --defsym=f=5 [a]"),
        ("m: x | n: !f | a: f", "m --defsym=f=_end n [a]"),
        ("m: !f | a: f", "m --defsym=g=_end --defsym=f=g [a]"),
        ("m: !f !g | n: !f | a: f | b: g", "m --defsym=g=_end --defsym=f=g n [a b]"),
        ("m: !f | a: f !h | d: f", "m --defsym=f=_end (d) [a]"),
        ("m: !f | a: f !g | b: g !h", "m --defsym=f=g [a b]"),
    ];
    check(CASES, &["lld", "mold"]);
}

/// Linkers skip the other branch of `?` after a constant condition. lld also skips the second
/// operand of `&&` and `||` if the first one decides, but extracts the members for it.
#[test]
fn constant_conditions_of_expressions() {
    const EXPRESSIONS: &[&str] = &[
        "1?3:f",
        "0?f:3",
        "0?3:f",
        "2-2?f:(0x1?1:g)",
        "0?1:(1?2:f)",
        "0&&f",
        "1&&f",
        "1||f",
        "0||f",
        "(1==1)||f",
        "!0||f",
        "3<<1>=6?1:f",
        "-1?1:f",
        "1K?1:f",
        "0*f",
        "1?DEFINED(f):f",
        "DEFINED(f)?f:2",
    ];
    let lab = Lab::new();
    lab.write("versions", "V0 { };\n");
    object(&lab, "m.o", ".globl _start\n_start: nop\n");
    object(&lab, "f.o", ".globl f\nf: nop\n");
    ar(&lab, "rc", "f.a", &["f.o"]);
    for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
        // mold only knows numbers and names.
        for expression in EXPRESSIONS.iter().filter(|_| *linker != "mold") {
            for end in ["", " f.a"] {
                let line = format!("exe m.o --defsym=q={expression}{end}");
                let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
                let theirs = theirs(&lab, program, &words, "map").expect("the linker ends");
                assert_eq!(ours(&lab, linker, &words), theirs, "{linker}: {line}");
            }
        }
    }
}
