//! Objects of a machine whose loader the system lacks, here an empty sysroot. Facts that the files
//! and the policy decide are reported, and the rest has one cause.

use super::report::{Report, text};
use crate::support::{self, Lab};
use serde_json::{Value, json};

const POLICY: &str = "schema = 1\n[provided]\nlibraries = [\"libc.so.6\", \"libone.so\"]\n";

/// `p/lib` with libraries that need each other and the C library, in an otherwise empty sysroot.
fn root() -> Lab {
    let lab = Lab::new();
    lab.so("p/lib/libtwo.so", "int two(void) { return 0; }", &[]);
    let flags = ["-Lp/lib", "-l:libtwo.so", "-Wl,-rpath,$ORIGIN"];
    let calls = "int puts(const char *); int two(void);";
    lab.so(
        "p/lib/good.so",
        &format!("{calls} int f(void) {{ return two() + puts(\"\"); }}"),
        &flags,
    );
    let lost = format!("{calls} int lost(void); int f(void) {{ return lost() + puts(\"\"); }}");
    lab.so("p/lib/bad.so", &lost, &[]);
    lab
}

fn audit(lab: &Lab, args: &[&str]) -> Report {
    let mut command = support::linkaudit();
    Report::of(command.current_dir(lab.root()).args(["--root", "."]).args(args).arg("p"))
}

fn of(report: &Report, rule: &str) -> Vec<String> {
    report.of_rule(rule).map(|finding| text(&finding["path"]).to_owned()).collect()
}

#[test]
fn one_cause_for_all_files_of_a_machine() {
    let lab = root();
    let report = audit(&lab, &[]);
    assert_eq!(of(&report, "undecided"), ["lib/bad.so", "lib/good.so"], "{}", report.outline());
    let causes = report.value["causes"].as_array().expect("causes");
    let ours: Vec<&Value> = causes.iter().filter(|cause| cause["kind"] == "no-loader").collect();
    let [cause] = ours[..] else { panic!("{causes:#?}") };
    assert_eq!(cause["id"], "no-loader:x86_64");
    assert_eq!(cause["title"], "no loader for x86_64 on this system");
    assert_eq!((&cause["findings"], &cause["roots"]), (&json!(2), &json!(2)));
    // Every symbol of the C library has a version, so no unversioned symbol comes from it.
    assert_eq!(of(&report, "undefined-symbol"), ["lib/bad.so"]);
    assert_eq!((report.status, of(&report, "missing-library").len()), (1, 0));
}

#[test]
fn a_policy_that_provides_the_rest_leaves_nothing_open() {
    let lab = root();
    lab.write("policy.toml", POLICY);
    let report = audit(&lab, &["--policy", "policy.toml"]);
    assert_eq!(report.rules().into_iter().collect::<Vec<_>>(), ["undefined-symbol"]);
    assert_eq!(of(&report, "undefined-symbol"), ["lib/bad.so"]);
    std::fs::remove_file(lab.path("p/lib/bad.so")).expect("a library");
    let report = audit(&lab, &["--policy", "policy.toml"]);
    assert_eq!((report.status, report.findings().count()), (0, 0), "{}", report.outline());
    assert!(report.complete());
}

/// An absent library may define an unversioned symbol.
#[test]
fn libraries_that_are_not_there_define_what_they_may() {
    let lab = Lab::new();
    lab.so("stub/libone.so", "int one(void) { return 0; }", &["-Wl,-soname,libone.so"]);
    let source = "int one(void); int f(void) { return one(); }";
    lab.so("p/libx.so", source, &["-Lstub", "-lone"]);
    let report = audit(&lab, &[]);
    assert_eq!(of(&report, "undefined-symbol"), [""; 0]);
    assert_eq!((report.status, of(&report, "undecided").len()), (3, 1), "{}", report.outline());
    lab.write("policy.toml", POLICY);
    let report = audit(&lab, &["--policy", "policy.toml"]);
    assert_eq!((report.status, report.total("assumed")), (0, 1), "{}", report.outline());
}

#[test]
fn musl_that_is_not_here() {
    let lab = Lab::new();
    let soname = "-Wl,-soname,libc.musl-x86_64.so.1";
    lab.so("stub/libc.so", "int puts(void) { return 0; }", &["-nostdlib", soname]);
    lab.so("p/libtwo.so", "int two(void) { return 0; }", &["-nostdlib"]);
    let source = "int puts(void); int two(void); int f(void) { return puts() + two(); }";
    let flags = ["-nostdlib", "-Lp", "-ltwo", "$PWD/stub/libc.so", "-Wl,-rpath,$ORIGIN"];
    lab.so("p/libx.so", source, &flags);
    let report = Report::of(support::linkaudit().arg(lab.path("p")));
    if std::fs::exists("/lib/ld-musl-x86_64.so.1").expect("a look at /lib") {
        assert_eq!(report.status, 0, "{}", report.outline());
    } else {
        assert_eq!(report.status, 3, "{}", report.outline());
    }
    let report = audit(&lab, &[]);
    let messages: Vec<&str> = report.findings().map(|f| text(&f["message"])).collect();
    let libc = "libc.musl-x86_64.so.1 cannot be searched for";
    let expected = format!("this system has no loader for x86_64 with musl: {libc}");
    assert_eq!(messages, [expected], "{}", report.outline());
    let provides = "schema = 1\n[provided]\nlibraries = [\"libc.musl-x86_64.so.1\"]\n";
    lab.write("policy.toml", provides);
    let report = audit(&lab, &["--policy", "policy.toml"]);
    assert_eq!((report.status, report.total("assumed")), (0, 1), "{}", report.outline());
}

/// A program's missing loader is not a finding if all of its system is absent.
#[test]
fn a_program_of_that_machine() {
    let lab = Lab::new();
    lab.exe("p/prog", "", &[]);
    let report = audit(&lab, &[]);
    assert_eq!(report.rules().into_iter().collect::<Vec<_>>(), ["undecided"]);
    assert_eq!(report.status, 3);
    // `ldd` needs a loader.
    let ldd = lab.linkaudit(&["--root", ".", "--as-ldd", "--format", "ldd", "p/prog"]);
    assert_eq!(String::from_utf8_lossy(&ldd.stdout), "\tnot a dynamic executable\n");
}
