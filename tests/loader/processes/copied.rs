//! Programs that copy data of a library or fix the address of its function, and then meet a later
//! release of the library. The loader prints a message or stops, and the program prints another
//! value than a program that is linked with the new release.

use crate::support::report::{Report, text};
use crate::support::{self, Lab, clean};

use serde_json::{Value, json};

const SONAME: &str = "-Wl,-soname,liba.so";
const PROTECTED: &str = "__attribute__((visibility(\"protected\")))";

/// Rule, symbol, detail, level and time of each finding of the two rules.
fn found(report: &Report) -> Vec<Value> {
    let rules = ["copy-size-mismatch", "protected-symbol"];
    let of_rules = report.findings().filter(|finding| rules.contains(&text(&finding["rule"])));
    let keys = ["rule", "symbol", "detail", "level", "when"];
    of_rules.map(|finding| keys.map(|key| finding[key].clone()).into()).collect()
}

/// Links a program with `old`, replaces the library by `new`, and runs the program.
#[track_caller]
fn check(main: &str, old: &str, (new, flag): (&str, &str), said: &str, expected: &[Value]) {
    let lab = Lab::new();
    lab.so("liba.so", old, &[SONAME]);
    let flags = ["-fno-pie", "-no-pie", "liba.so", "-Wl,-z,lazy", "-Wl,-rpath,$ORIGIN"];
    let app = lab.exe("app", main, &flags);
    let first = clean(&app).output().expect("the program runs");
    assert!(first.status.success() && first.stderr.is_empty(), "{first:?}");
    let report = Report::of(support::linkaudit().arg(&app));
    assert!(found(&report).is_empty(), "{}", report.outline());
    lab.so("liba.so", new, &[SONAME, flag]);
    let second = clean(&app).output().expect("the program starts");
    let relinked = lab.exe("new", main, &["-fPIC", "-pie", "liba.so", "-Wl,-rpath,$ORIGIN"]);
    let right = clean(&relinked).output().expect("the program runs");
    assert!(right.status.success() && right.stderr.is_empty(), "{right:?}");
    assert_ne!(second.stdout, right.stdout, "{new} {flag}");
    let error = String::from_utf8_lossy(&second.stderr);
    assert!(error.contains(said), "{new} {flag}: {error}");
    let report = Report::of(support::linkaudit().arg(&app));
    assert_eq!(found(&report), expected, "{new} {flag}: {}", report.outline());
}

#[test]
fn copied_data_that_grows() {
    let release = |count: usize| {
        let values = vec!["1"; count].join(", ");
        format!(
            "int table[{count}] = {{{values}}}; int sum(void) {{ int all = 0; \
             for (int n = 0; n < {count}; n++) all += table[n]; return all; }}"
        )
    };
    let main = "#include <stdio.h>\nextern int table[]; int sum(void); \
                int main(void) { printf(\"%d\\n\", table[0] + sum()); return 0; }";
    let finding = json!(["copy-size-mismatch", "table", null, "warning", null]);
    let said = "Symbol `table' has different size in shared object";
    check(main, &release(4), (&release(8), "-O1"), said, &[finding]);
}

#[test]
fn copied_data_that_is_protected() {
    let main = "#include <stdio.h>\nextern int state; int get(void); \
                int main(void) { state = 5; printf(\"%d\\n\", get()); return 0; }";
    let old = "int state = 1; int get(void) { return state; }";
    let new = format!("{PROTECTED} {old}");
    for (flag, said, when) in [
        ("-O1", "copy relocation against non-copyable protected symbol `state'", Value::Null),
        ("-mno-direct-extern-access", "NEEDED_INDIRECT_EXTERN_ACCESS", json!("load")),
    ] {
        let finding = json!(["protected-symbol", "state", "copy", "error", when]);
        check(main, old, (&new, flag), said, &[finding]);
    }
}

#[test]
fn a_function_that_is_protected() {
    let main = "#include <stdio.h>\nint work(void); void *address(void); \
                int main(void) { int is_same = (void *)work == address(); \
                printf(\"%d\\n\", work() * is_same); return 0; }";
    let old = "int work(void) { return 7; } void *address(void) { return (void *)work; }";
    let new = format!("{PROTECTED} {old}");
    for (flag, said, level, when) in [
        ("-O1", "", "warning", Value::Null),
        ("-mno-direct-extern-access", "NEEDED_INDIRECT_EXTERN_ACCESS", "error", json!("call")),
    ] {
        let finding = json!(["protected-symbol", "work", "address", level, when]);
        check(main, old, (&new, flag), said, &[finding]);
    }
}

/// A program that is started under two names has one finding for each symbol. Both names are
/// entry points.
#[test]
fn a_program_with_two_names() {
    let lab = Lab::new();
    let release = |count| format!("{PROTECTED} int state = 1; int table[{count}] = {{1}};");
    lab.so("liba.so", "int state = 1; int table[4] = {1};", &[SONAME]);
    let main = "extern int state, table[]; int main(void) { return state + table[0]; }";
    let flags = ["-fno-pie", "-no-pie", "liba.so", "-Wl,-rpath,$ORIGIN"];
    let app = lab.exe("app", main, &flags);
    lab.so("liba.so", &release(8), &[SONAME]);
    let link = lab.path("app-1.0");
    std::os::unix::fs::symlink("app", &link).expect("a link");
    let report = Report::of(support::linkaudit().arg(&app).arg(&link));
    let expected = [
        json!(["copy-size-mismatch", "table", null, "warning", null]),
        json!(["protected-symbol", "state", "copy", "error", null]),
    ];
    let mut found = found(&report);
    found.sort_by_key(|finding| finding[0].to_string());
    assert_eq!(found, expected, "{}", report.outline());
}

/// The loader starts the program without a message. `ldd -r` prints it.
#[test]
fn copied_data_that_shrinks() {
    let lab = Lab::new();
    let release = |count| format!("int table[{count}] = {{1, 1, 1, 1}};");
    lab.so("liba.so", &release(8), &[SONAME]);
    let main = "extern int table[]; int main(void) { return table[3] * 10 + table[7]; }";
    let flags = ["-fno-pie", "-no-pie", "liba.so", "-Wl,-rpath,$ORIGIN"];
    let app = lab.exe("app", main, &flags);
    lab.so("liba.so", &release(4), &[SONAME]);
    let output = clean(&app).output().expect("the program runs");
    assert_eq!((output.status.code(), &*output.stderr), (Some(10), &b""[..]));
    let ldd = clean("ldd").arg("-r").arg(&app).output().expect("ldd runs");
    let said = [ldd.stdout, ldd.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("Symbol `table' has different size in shared object"), "{said}");
    let report = Report::of(support::linkaudit().arg(&app));
    let finding = json!(["copy-size-mismatch", "table", null, "warning", null]);
    assert_eq!(found(&report), [finding], "{}", report.outline());
}
