//! Definitions that the rule `interposed-symbol` tells apart: copies of a program, and C++ code that may
//! come from a header. The loader shows the bindings, the compiler the kinds of symbols.

use super::{real, resolved};
use crate::support::ld_debug::traced;
use crate::support::report::{Report, text};
use crate::support::{self, Lab, clean};

use std::collections::BTreeSet;

/// Details and winners of the findings about libraries.
fn found(report: &Report) -> BTreeSet<(&str, &str)> {
    let all = report.of_rule("interposed-symbol");
    all.map(|finding| (text(&finding["detail"]), text(&finding["library"]))).collect()
}

/// A program that copies data of a library, or fixes the address of its function, defines neither. The
/// program prints what the other library gets. Only a program with its own definitions interposes.
#[test]
fn copies_of_a_program() {
    let main = |own: &str| {
        format!(
            "#include <stdio.h>\n{own} int a(void), b(void); int main(void) {{ \
             int (*volatile address)(void) = work; \
             volatile int other = a() + table[0] + address(); printf(\"%d\\n\", b()); return 0; }}"
        )
    };
    let taken = main("extern int table[]; int work(void);");
    let own = main("int table[2] = {5, 6}; int work(void) { return 3; }");
    let both = BTreeSet::from([("size", "liba.so"), ("function", "liba.so")]);
    let fixed = ["-fno-pie", "-no-pie"];
    let cases = [
        (&taken, fixed, "11", true, &both),
        (&taken, ["-fPIC", "-pie"], "11", false, &both),
        (&own, fixed, "53", false, &BTreeSet::new()),
    ];
    for (main, flags, printed, through_program, expected) in cases {
        let lab = Lab::new();
        let a = "int table[2] = {1, 2}; int work(void) { return 1; } \
                 int a(void) { return table[0] + work(); }";
        lab.so("liba.so", a, &["-Wl,-soname,liba.so"]);
        let b = "int table[400] = {7}; int work(void) { volatile int n = 1; return n + 1; } \
                 int b(void) { int (*volatile f)(void) = work; return table[0] * 10 + f(); }";
        lab.so("libb.so", b, &["-Wl,-soname,libb.so"]);
        let libraries = ["liba.so", "libb.so", "-Wl,-rpath,$ORIGIN"];
        let app = lab.exe("app", main, &[&flags[..], &libraries].concat());
        let output = clean(&app).output().expect("the program runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), printed, "{flags:?}");
        let bindings = resolved(&traced(&app));
        let [app, a, b] =
            ["app", "liba.so", "libb.so"].map(|name| real(&lab.path(name).to_string_lossy()));
        for symbol in ["table", "work"] {
            let is_bound = |from, to| bindings.contains(&(from, symbol.to_owned(), to));
            let is_through = is_bound(b.clone(), app.clone()) && is_bound(app.clone(), a.clone());
            assert_eq!(is_through, through_program, "{symbol} {flags:?}");
        }
        let report = Report::of(support::linkaudit().arg(&app));
        assert_eq!(found(&report), *expected, "{flags:?}: {}", report.outline());
    }
}
