//! Objects so large that they are read in another way: string tables of megabytes, which stay in
//! their file, and programs that export hundreds of names.

use std::fmt::Write as _;

use super::kit::{Case, Targets, cases, exe, run, see, so};
use crate::support::Lab;

#[test]
fn large_objects() {
    run("large", CASES);
}

const CASES: &[Case] = cases![
    large_string_table,
    large_program,
    program_that_shows_much,
    program_that_shows_much_and_relocates_much,
];

/// Names of all lengths up to 200, and a few longer than a page or than sixteen pages.
fn names() -> Vec<String> {
    let long = [4_000, 5_000, 70_000].map(|len| format!("long_{len}_{}", "x".repeat(len)));
    let name = |n: usize| format!("fig_{n}_{}", "y".repeat(n * 7 % 190));
    (0..12_000).map(name).chain(long).collect()
}

/// `asm` text that `each` makes of every name, such as a function or a pointer.
fn assembler(names: impl Iterator<Item = String>, each: impl Fn(&str) -> String) -> String {
    let mut text = names.fold(String::from("__asm__("), |mut text, name| {
        let _ = writeln!(text, "\"{}\\n\"", each(&name));
        text
    });
    text.push_str("\".text\\n\");");
    text
}

fn function(name: &str) -> String {
    format!(".globl {name}; .type {name},@function; .text; {name}: ret")
}

fn datum(name: &str) -> String {
    format!(".globl {name}; .type {name},@object; .size {name},4; .data; {name}: .long 1")
}

fn pointer(name: &str) -> String {
    format!(".data; .dc.a {name}")
}

/// Every third name, and some undefined names that begin or end like a defined one.
fn asked() -> impl Iterator<Item = String> {
    let other = |name: &String| {
        let shorter = name[..name.len() - 1].to_owned();
        [format!("{name}z"), format!("z{name}"), shorter]
    };
    let all = names();
    let absent: Vec<String> = all.iter().rev().step_by(500).flat_map(other).collect();
    all.into_iter().rev().step_by(3).chain(absent)
}

fn large_string_table(lab: &Lab) -> Targets {
    so(lab, "libfig.so", &assembler(names().into_iter(), function), "soname=libfig.so");
    let user = assembler(asked(), pointer);
    so(lab, "libuser.so", &user, "libfig.so soname=libuser.so runpath=$PWD");
    exe(
        lab,
        "prog",
        "int main(void){return 0;}",
        "-Wl,--no-as-needed libuser.so runpath=$PWD -Wl,--unresolved-symbols=ignore-all",
    );
    let shows = ["undefined symbol: long_70000_", "undefined symbol: zfig_", "!fig_3\t"];
    vec![see("libuser.so", &shows), see("prog", &shows), see("libfig.so", &["!undefined"])]
}

/// The undefined names of a program are among a megabyte of its own names.
fn large_program(lab: &Lab) -> Targets {
    let own = assembler(names().into_iter(), function);
    let lacks = assembler((0..40).map(|n| format!("plum_{n}")), pointer);
    let flags = "-rdynamic -Wl,--unresolved-symbols=ignore-all";
    exe(lab, "prog", &format!("{own} {lacks} int main(void){{return 0;}}"), flags);
    vec![see("prog", &["undefined symbol: plum_0\t", "undefined symbol: plum_39\t", "!fig_"])]
}

/// A program that exports data, some of which a library defines too, besides copied data.
fn shows_much(lab: &Lab, also: &str) -> Targets {
    let stub = "int a[4]={1}; int b[4]={1}; int c[4]={1}; int d[4]={1};";
    so(lab, "stub/libfig.so", stub, "soname=libfig.so");
    let real = "int a[4]={1}; int b[2]={1}; int c[8]={1}; int own_7[9]={1}; int own_8[1]={1};";
    so(lab, "d/libfig.so", real, "soname=libfig.so");
    let own = assembler((0..300).map(|n| format!("own_{n}")), datum);
    let main = "extern int a[4],b[4],c[4],d[4]; int main(void){return a[0]+b[0]+c[0]+d[0];}";
    let flags = "-rdynamic -no-pie -fno-pic stub/libfig.so runpath=$PWD/d -Wl,--unresolved-symbols=ignore-all";
    exe(lab, "prog", &format!("{own} {main} {also}"), flags);
    let shows = ["Symbol `b' has", "Symbol `c' has", "undefined symbol: d\t", "!`a'", "!own_"];
    vec![see("prog", &shows)]
}

fn program_that_shows_much(lab: &Lab) -> Targets {
    shows_much(lab, "")
}

fn program_that_shows_much_and_relocates_much(lab: &Lab) -> Targets {
    let table = ".section .table,\\\"aw\\\"; .rept 4000; .dc.a plum; .endr";
    shows_much(lab, &format!("__asm__(\"{table}; .text\");"))
}
