//! The rules about single entries of search paths, where musl's loader reads a path differently
//! from glibc's.

use super::kit::{LOADER, MAIN, exe, lib};
use super::musl;
use crate::support::report::{Report, text};
use crate::support::{Lab, clean};

/// A search path, the directory in which musl finds the library, and the findings: rule and entry.
type Case = (&'static str, Option<&'static str>, &'static [(&'static str, &'static str)]);

const CASES: [Case; 7] = [
    (":$PWD/none::$PWD/lib:", Some("$PWD/lib"), &[("dead-search-entry", "$PWD/none")]),
    // A line break separates entries too.
    ("$PWD/none\n$PWD/lib", Some("$PWD/lib"), &[("dead-search-entry", "$PWD/none")]),
    // Another token than $ORIGIN makes musl ignore the whole path.
    ("$PWD/none:$LIB/x:$PWD/lib", None, &[("dead-search-entry", "$LIB/x")]),
    ("$PWD/lib:$PLATFORM", None, &[("dead-search-entry", "$PLATFORM")]),
    // Letters may follow the name of a token.
    ("$ORIGINal:$PWD/lib", Some("$PWD/lib"), &[("dead-search-entry", "$ORIGINal")]),
    ("$PWD/none$ORIGINx:$PWD/lib", Some("$PWD/lib"), &[("dead-search-entry", "$PWD/none$ORIGINx")]),
    ("c:${ORIGIN}/../lib", Some("$PWD/bin/../lib"), &[("unsafe-search-entry", "c")]),
];

#[test]
fn entries_as_musl_reads_them() {
    if !musl::is_there("entries_as_musl_reads_them") {
        return;
    }
    for (path, found_in, expected) in CASES {
        let lab = Lab::new();
        lib(&lab, "lib/libfig.so", &[]);
        // The loader starts here. If it searched the current directory, it would take this file.
        lib(&lab, "cwd/libfig.so", &[]);
        exe(&lab, "bin/app", MAIN, &["-Llib", "-lfig", &format!("-Wl,-rpath,{path}")]);
        let here = lab.root().display().to_string();
        let mut loader = clean(LOADER);
        let loader = loader.args(["--list", &format!("{here}/bin/app")]);
        let theirs = loader.current_dir(lab.path("cwd")).output().expect("musl's loader runs");
        let theirs = String::from_utf8_lossy(&theirs.stdout).replace(&here, "$PWD");
        let line = found_in.map(|dir| format!("libfig.so => {dir}/libfig.so"));
        match &line {
            Some(line) => assert!(theirs.contains(line), "{path}: {theirs}"),
            None => assert!(!theirs.contains("libfig.so"), "{path}: {theirs}"),
        }
        let report = Report::from(lab.linkaudit(&["--isolated", "--format", "json", "."]));
        let entries = report.findings().filter(|finding| {
            text(&finding["rule"]).ends_with("-search-entry") && finding["path"] == "bin/app"
        });
        let ours: Vec<(String, String)> = entries
            .map(|finding| {
                let detail = text(&finding["detail"]).replace(&here, "$PWD");
                (text(&finding["rule"]).to_owned(), detail)
            })
            .collect();
        let expected: Vec<(String, String)> =
            expected.iter().map(|(rule, entry)| ((*rule).into(), (*entry).into())).collect();
        assert_eq!(ours, expected, "{path}");
    }
}
