//! Links with LTO: some or all objects are LLVM bitcode. lld reads bitcode itself, and GNU ld
//! reads it with LLVM's plugin. mold reports only the undefined names, and is left out.

use super::{Link, PLUGIN, compare};
use crate::support::{has, skip};
use std::fmt::Write as _;

/// The module of an object, without versions and references to thread-local names.
pub(super) fn source(words: &str) -> String {
    let mut out = "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n\
        target triple = \"x86_64-pc-linux-gnu\"\n"
        .to_owned();
    let body = "{\n  ret void\n}\n";
    let is_reference = |word: &&str| word.starts_with(['!', '?']);
    let defined: Vec<&str> = words.split_whitespace().filter(|word| !is_reference(word)).collect();
    let mut used = Vec::new();
    for word in &defined {
        let end = word.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word.len());
        let (name, kind) = word.split_at(end);
        let text = match kind {
            _ if name.starts_with('t') => format!("@{name} = thread_local global i64 0\n"),
            "" => format!("define void @{name}() {body}"),
            "=" => format!("@{name} = global i64 0\n"),
            "~" => format!("define weak void @{name}() {body}"),
            "%" => format!("@{name} = common global i64 0, align 8\n"),
            "^" => format!("${name} = comdat any\ndefine weak_odr void @{name}() comdat {body}"),
            "^^" => format!("${name} = comdat any\ndefine void @{name}() comdat {body}"),
            ".h" => format!("@{name} = hidden global i64 0\n"),
            ".p" => format!("@{name} = protected global i64 0\n"),
            _ => panic!("{word} as bitcode"),
        };
        out += &text;
        // A definition stays, even if the optimizer would remove it.
        used.push(name.to_owned());
    }
    for (at, word) in words.split_whitespace().filter(is_reference).enumerate() {
        let (name, visibility) = match word[1..].split_once('.') {
            Some((name, "h")) => (name, "hidden "),
            _ => (&word[1..], ""),
        };
        let linkage = if word.starts_with('?') { "extern_weak" } else { "external" };
        let is_own = defined.iter().any(|word| {
            word.strip_prefix(name).is_some_and(|end| !end.starts_with(char::is_alphanumeric))
        });
        if !is_own {
            writeln!(out, "@{name} = {linkage} {visibility}global i64").expect("a string");
        }
        writeln!(out, "@ref{at} = internal global ptr @{name}").expect("a string");
        used.push(format!("ref{at}"));
    }
    let count = used.len();
    let used: Vec<String> = used.iter().map(|name| format!("ptr @{name}")).collect();
    let list = used.join(", ");
    writeln!(
        out,
        "@llvm.used = appending global [{count} x ptr] [{list}], section \"llvm.metadata\""
    )
    .expect("a string");
    out
}

const CASES: &[(&str, &str)] = &[
    // All objects.
    ("M: !f | A: f", "M [A]"),
    ("M: !f | A: f", "[A] M"),
    ("M: !f | A: f !g | B: g", "M [A] [B]"),
    ("M: !f | A: f !g | B: g", "M [B] [A]"),
    ("M: !f | A: f !g | B: g", "M [B A]"),
    ("M: !f | A: f !g | B: g", "M --start-group [B] [A] --end-group"),
    ("M: !f | A: f | B: f", "M [A] [B]"),
    ("M: !f | A: f !g | B: g !h | C: h !f", "M [A] [B] [C]"),
    ("M: !nosuch | A: f", "M [A]"),
    ("M: !f | A: f !nosuch", "M [A]"),
    ("M: x | A: f !nosuch", "M [A]"),
    ("M: f | A: f g", "M [A]"),
    ("M: f !g | A: f g", "M [A]"),
    // Members only, or the object only.
    ("m: !f | A: f", "m [A]"),
    ("m: !f | A: f", "[A] m"),
    ("m: !f | A: f !g | b: g", "m [A] [b]"),
    ("m: !f | A: f !g | b: g", "m [b] [A]"),
    ("m: !f | A: f !g | b: g", "m [A b]"),
    ("m: !f | a: f !g | B: g", "m [a] [B]"),
    ("m: !f | A: f | b: f", "m [A] [b]"),
    ("m: !f | A: f | b: f", "m [b] [A]"),
    ("M: !f | a: f", "M [a]"),
    ("M: !f | a: f !g | B: g", "M [a] [B]"),
    ("M: !f | n: !g | A: f | b: g", "M n [A b]"),
    ("M: x | n: !f | A: f", "M [A] n"),
    ("M: !f | n: f | A: f", "M [A] n"),
    ("M: !f | n: f | A: f", "M n [A]"),
    // Weak.
    ("M: ?f | A: f", "M [A]"),
    ("m: ?f | A: f", "m [A]"),
    ("M: ?f | n: !f | A: f", "M n [A]"),
    ("M: ?f | N: !f", "M N"),
    ("M: !f | A: f~ | B: f", "M [A] [B]"),
    ("M: !f | A: f~ | b: f", "M [A] [b]"),
    ("m: !f | A: f~ | b: f", "m [b] [A]"),
    ("M: f~ | A: f", "M [A]"),
    ("M: f~ | n: !f | A: f", "M n [A]"),
    ("M: ?f !g | A: f g", "M [A]"),
    ("M: ?f", "M"),
    // Common.
    ("M: !f | A: f%", "M [A]"),
    ("M: !f | A: f% | B: f=", "M [A] [B]"),
    ("M: !f | A: f% | b: f=", "M [A] [b]"),
    ("m: !f | A: f% | b: f=", "m [b] [A]"),
    ("m: f% | A: f=", "m [A]"),
    ("m: f% | A: f", "m [A]"),
    ("m: f% | A: f%", "m [A]"),
    ("M: f% !g | A: f= g", "M [A]"),
    // COMDAT.
    ("M: !f | A: f^", "M [A]"),
    ("M: f^ | A: f^ g", "M [A]"),
    ("M: f^ !g | A: f^ g", "M [A]"),
    ("M: f^ !g | a: f^ g", "M [a]"),
    ("M: !f | A: f^ | B: f^", "M [A] [B]"),
    ("M: !f | A: f^^ | b: f", "M [A] [b]"),
    // Visibility.
    ("M: !f.h | A: f", "M [A]"),
    ("M: !f.h | d: f", "M (d)"),
    ("M: !f.h | d: f | A: f", "M (d) [A]"),
    ("m: !f.h | d: f | A: f", "m (d) [A]"),
    ("M: !f.h", "M"),
    ("M: !f | A: f.h", "M [A]"),
    ("M: !f | A: f.p", "M [A]"),
    ("M: !f | A: f !g.h | d: g", "M [A] (d)"),
    // Shared objects.
    ("M: !f | d: f", "M (d)"),
    ("M: !f | d: f | A: f", "M (d) [A]"),
    ("M: !f | d: f | A: f", "M [A] (d)"),
    ("M: x | d: !f | A: f", "M (d) [A]"),
    ("M: !f | d: f@V0 | A: f", "M (d) [A]"),
    ("M: !f | A: f !g | d: g | B: g", "M (d) [A] [B]"),
    // Thread-local.
    ("m: !t | A: t", "m [A]"),
    // Options.
    ("M: x | A: f", "M -u f [A]"),
    ("M: x | A: f !g | B: g", "M -u f [A] [B]"),
    ("M: x | A: f", "M -u nosuch [A]"),
    ("M: x | A: f", "M --whole-archive [A] --no-whole-archive"),
    ("M: x | A: f !g | B: g", "M --whole-archive [A] --no-whole-archive [B]"),
    ("m: x | A: f !nosuch", "m --whole-archive [A]"),
    ("M: !f | A: f | B: f~", "M [A] --whole-archive [B] --no-whole-archive"),
    ("M: !f | A: f", "M --start-lib A --end-lib"),
    ("M: !f | A: f !g | B: g", "M --start-lib B A --end-lib"),
    ("m: !f | A: f", "m --start-lib A --end-lib"),
    ("M: x | A: f !nosuch", "M --start-lib A --end-lib"),
    ("M: x | A: f | B: g !f", "M --start-lib A --end-lib B"),
    ("M: !f !g | A: f | B: g", "M --start-lib A --end-lib [B]"),
    ("M: !f | A: f", "M --defsym=f=0 [A]"),
    ("m: !f | A: f", "m --defsym=f=0 [A]"),
    ("M: !f | b: __wrap_f", "--wrap=f M [b]"),
    ("m: !f | B: __wrap_f", "--wrap=f m [B]"),
    ("M: !f | A: f | B: __wrap_f", "--wrap=f M [A] [B]"),
    ("M: !f | A: f", "--wrap=f M [A]"),
    ("m: !__real_f | A: f", "--wrap=f m [A]"),
    ("M: !f | A: f | b: __wrap_f !__real_f", "--wrap=f M [A] [b]"),
];

/// Cases in which linkaudit does not follow a linker, each with the reason.
const EXCEPT: &[(&str, &str, &str)] = &[];

#[test]
fn links_with_bitcode() {
    let name = "links_with_bitcode";
    if !has("llvm-as-19") || !std::path::Path::new(PLUGIN).is_file() {
        return skip(name, "llvm-19 is not installed");
    }
    let mut links: Vec<Link> =
        CASES.iter().map(|(objects, line)| Link::new(objects, line, &["mold"])).collect();
    for (objects, line, linker) in EXCEPT {
        let mut found = links.iter_mut().filter(|l| l.objects == *objects && l.line == *line);
        found.next().expect("a case").except.push(linker);
    }
    let (cases, wrong) = compare(&links);
    println!(
        "links with bitcode: {} links by hand, {cases} cases, {} listed, {} differences",
        links.len(),
        EXCEPT.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
