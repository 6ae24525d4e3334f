//! Weak names of functions that have a longer name too: defaults that other libraries replace. The
//! programs print which definition they get.

use super::interposed::found;
use crate::support::report::Report;
use crate::support::{self, Lab, clean};

use std::collections::BTreeSet;

/// MPI's profiling interface: a tool replaces the weak name of a function, and calls the longer
/// one. A weak function without a longer name is a part of its library: no tool calls `setup`.
#[test]
fn a_weak_function_with_a_longer_name() {
    let weak = "__attribute__((weak))";
    let twin = format!(
        "int PMPI_Init(void) {{ return 1; }} \
         int MPI_Init(void) {weak} __attribute__((alias(\"PMPI_Init\"))); \
         int go(void) {{ return MPI_Init(); }}"
    );
    let single = format!(
        "int PMPI_Init(void) {{ return 1; }} {weak} int MPI_Init(void) {{ return 2; }} \
         int go(void) {{ return MPI_Init(); }}"
    );
    let aliases = |code: &str, names: [&str; 2], own: &str| {
        let alias = |name| format!("int {name}(void) {weak} __attribute__((alias(\"{code}\"))); ");
        let aliases = names.map(alias).concat();
        format!(
            "int {code}(void) {{ return 1; }} {aliases} {own} int go(void) {{ return MPI_Init(); }}"
        )
    };
    // Open MPI's Fortran functions have two weak names.
    let weak_twin = aliases("ompi_init_f", ["MPI_Init", "PMPI_Init"], "");
    let unrelated = aliases("setup", ["MPI_Init", "start"], "int PMPI_Init(void) { return 1; }");
    let both = BTreeSet::from([("function", "libtrace.so")]);
    for (source, expected) in [
        (twin, BTreeSet::new()),
        (weak_twin, BTreeSet::new()),
        (single, both.clone()),
        (unrelated, both),
    ] {
        let lab = Lab::new();
        lab.so("libmpi.so", &source, &["-Wl,-soname,libmpi.so"]);
        let trace = "int PMPI_Init(void); int MPI_Init(void) { return 100 + PMPI_Init(); }";
        lab.so("libtrace.so", trace, &["-Wl,-soname,libtrace.so", "libmpi.so"]);
        let main = "#include <stdio.h>\nint go(void); \
                    int main(void) { printf(\"%d\\n\", go()); return 0; }";
        let flags = ["-Wl,--no-as-needed", "libtrace.so", "libmpi.so", "-Wl,-rpath,$ORIGIN"];
        let app = lab.exe("app", main, &flags);
        let output = clean(&app).output().expect("the program runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "101", "{source}");
        let report = Report::of(support::linkaudit().arg(&app));
        assert_eq!(found(&report), expected, "{source}: {}", report.outline());
    }
}

/// Both libraries have the function as a weak alias, as glibc and libunwind have `backtrace`. A
/// weak alias whose code has no longer name is not a default that other libraries replace.
#[test]
fn weak_aliases_on_both_sides() {
    let alias = |code: &str, body: &str| {
        format!(
            "int {code}(int a) {{ {body} }} \
             int trace(int) __attribute__((weak, alias(\"{code}\")));"
        )
    };
    let ours = alias("unw_trace", "return a + 1;");
    let long = "for (volatile int i = 0; i < 3; i++) a *= 5; return a;";
    let unrelated = BTreeSet::from([("function", "libfirst.so")]);
    for (code, expected) in [("__trace", BTreeSet::new()), ("walk", unrelated)] {
        let lab = Lab::new();
        lab.so("libunw.so", &ours, &["-Wl,-soname,libunw.so"]);
        lab.so("libfirst.so", &alias(code, long), &["-Wl,-soname,libfirst.so"]);
        let user = "int trace(int); int user(void) { return trace(1); }";
        lab.so("libuser.so", user, &["-Wl,-soname,libuser.so", "-Wl,--no-as-needed", "libunw.so"]);
        let main = "int user(void); int main(void) { return user(); }";
        let flags = [
            "-Wl,--no-as-needed",
            "libfirst.so",
            "libuser.so",
            "-Wl,-rpath-link,.",
            "-Wl,-rpath,$ORIGIN",
        ];
        let app = lab.exe("app", main, &flags);
        let output = clean(&app).env("LD_LIBRARY_PATH", lab.root()).status().expect("a program");
        assert_eq!(output.code(), Some(125), "libuser gets the first one");
        let report =
            Report::of(support::linkaudit().arg("--ld-library-path").arg(lab.root()).arg(&app));
        assert_eq!(found(&report), expected, "{code}: {}", report.outline());
    }
}
