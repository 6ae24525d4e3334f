//! Programs with a sanitizer of GCC. Its runtime defines functions of the C library again, which
//! is not an error. A runtime that is both in the program and in a shared library of the process
//! is an error: the address sanitizer refuses to start.

use crate::support::report::Report;
use crate::support::{self, Lab, clean, skip};

use std::collections::BTreeSet;

/// A sanitizer, and the option that links its runtime into the program.
const SANITIZERS: &[(&str, &str)] = &[
    ("address", "-static-libasan"),
    ("thread", "-static-libtsan"),
    ("undefined", "-static-libubsan"),
    ("leak", "-static-liblsan"),
];

const LIBRARY: &str = "#include <string>\n#include <vector>\n#include <stdexcept>\n\
    extern \"C\" int own(int n) { std::vector<std::string> all(n, \"one\");\n\
    try { all.at(n + 1); } catch (const std::out_of_range &) { return 0; } return 1; }\n";
const PROGRAM: &str =
    "extern \"C\" int own(int n); int main(int argc, char **) { return own(argc); }\n";

/// Rules about two copies of something in a process.
const RULES: [&str; 3] = ["interposed-symbol", "library-twice", "mixed-runtime"];

#[test]
fn sanitizers_are_no_findings() {
    let lab = Lab::new();
    lab.write("own.cc", LIBRARY);
    lab.write("main.cc", PROGRAM);
    let (mut cases, mut twice, mut skipped) = (0, 0, Vec::new());
    for (name, as_archive) in SANITIZERS {
        for (with_library, of_program) in
            [(false, ""), (false, *as_archive), (true, ""), (true, *as_archive)]
        {
            let option = format!("-fsanitize={name}");
            let library = if with_library { &*option } else { "" };
            let build = format!(
                "g++ {library} -shared -fPIC -o libown.so own.cc -Wl,-soname,libown.so\n\
                 g++ {option} {of_program} -o app main.cc -L. -lown -Wl,-rpath,'$ORIGIN'"
            );
            if !lab.sh(&build).status.success() {
                skipped.push(*name);
                continue;
            }
            let report = Report::of(support::linkaudit().arg(lab.path("app")));
            let found: BTreeSet<&str> =
                RULES.into_iter().filter(|rule| report.of_rule(rule).next().is_some()).collect();
            let run = clean(lab.path("app")).output().expect("the program");
            let is_refused = String::from_utf8_lossy(&run.stderr).contains("incompatible ASan");
            if found.is_empty() {
                assert!(!is_refused, "{build}: {run:?}");
            } else {
                // The address sanitizer notices two runtimes, the thread sanitizer does not.
                let is_twice = with_library && !of_program.is_empty();
                assert!(
                    is_twice && (is_refused || *name == "thread"),
                    "{build}: {found:?} {run:?}"
                );
                assert_eq!(found, BTreeSet::from(["library-twice"]), "{build}");
                twice += 1;
            }
            cases += 1;
        }
    }
    if !skipped.is_empty() {
        return skip("sanitizers_are_no_findings", &format!("no runtime of {skipped:?}"));
    }
    println!("sanitizers: {cases} programs, {twice} with two runtimes, 0 differ");
    assert_eq!((cases, twice), (16, 2));
}
