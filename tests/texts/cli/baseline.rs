//! Baselines: known findings are waived, new ones are not, lines without a finding are stale, and
//! text that a user wrote into the file stays.

use super::kit::{BROKEN, FOO, Run, findings, report, run, text};
use crate::support::Lab;
use serde_json::{Value, json};

/// `p/liba.so` and `p/libb.so`, each of which lacks a function.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.so("p/liba.so", "void one(void); void a(void) { one(); }", &[]);
    lab.so("p/libb.so", "void two(void); void b(void) { two(); }", &[]);
    lab
}

/// The libraries of these laboratories lack the links that an installation makes.
const NO_LINKS: &str = "schema = 1\n\n[levels]\nlink-hygiene = \"allow\"\n";

fn written(lab: &Lab, file: &str) -> String {
    std::fs::read_to_string(lab.path(file)).expect("a baseline")
}

/// Writes a baseline of `p`.
fn write(lab: &Lab) -> String {
    let run = run(lab, &["p", "--write-baseline", "known"]);
    assert_eq!(run.status, 1, "the findings are still findings: {}", run.err);
    written(lab, "known")
}

fn judged(lab: &Lab, more: &[&str]) -> Value {
    report(lab, &[&["p", "--baseline", "known"], more].concat())
}

#[test]
fn one_sorted_line_a_finding() {
    let lab = lab();
    let text = write(&lab);
    let report = report(&lab, &["p"]);
    let mut expected: Vec<String> = findings(&report)
        .iter()
        .map(|f| {
            let [print, path, symbol] =
                ["fingerprint", "path", "symbol"].map(|k| self::text(&f[k]));
            format!("{print} undefined-symbol {path} {symbol}\n")
        })
        .collect();
    expected.sort();
    assert_eq!(text, expected.concat());
    assert_eq!(text, write(&lab), "the second time nothing changes");
}

#[test]
fn what_is_known_is_waived() {
    let lab = lab();
    write(&lab);
    let report = judged(&lab, &[]);
    assert_eq!(report["findings"], json!([]));
    let waived = report["waived"].as_array().expect("waived");
    assert_eq!(waived.len(), 2);
    let waiver = &waived[0]["waiver"];
    assert_eq!((&waiver["by"], &waiver["source"]), (&json!("baseline"), &json!("known")));
    assert!(waiver["line"].is_u64() && waiver["reason"].is_null());
    assert_eq!(run(&lab, &["p", "--baseline", "known"]).status, 0);
    let text = run(&lab, &["p", "--baseline", "known", "-v"]).out;
    assert!(text.contains("2 waived (2 by baseline)\n"), "{text}");
    // Waived findings have relative paths, as other findings have.
    assert!(text.starts_with("in /") && text.lines().next().is_some_and(|in_| in_.ends_with("/p")));
    assert!(text.contains("\nwaived[undefined-symbol] libb.so: undefined symbol: two"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The format `ldd` has no waivers.
    let ldd = |args: &[&str]| run(&lab, &[args, &["p", "--format", "ldd"]].concat()).out;
    assert_eq!(ldd(&[]), ldd(&["--baseline", "known"]));
}

/// Line breaks do not split the demangled name of a waived finding.
#[test]
fn waived_names_stay_whole() {
    let lab = Lab::new();
    let source = "void f(void) __asm__(\"_ZN5shape4areaEiiidddPKcS1_\"); void a(void) { f(); }";
    lab.so("p/liba.so", source, &[]);
    write(&lab);
    let text = run(&lab, &["p", "--baseline", "known", "-v"]).out;
    let name = "shape::area(int, int, int, double, double, double, char const*, char const*)";
    assert!(text.contains(&format!(" [{name}]\n")), "{text}");
}

#[test]
fn a_new_finding_fails() {
    let lab = lab();
    write(&lab);
    lab.so("p/libc.so", BROKEN, &[]);
    let report = judged(&lab, &[]);
    assert_eq!(findings(&report).len(), 1);
    assert_eq!(report["findings"][0]["symbol"], "gone");
    assert_eq!(run(&lab, &["p", "--baseline", "known"]).status, 1);
}

/// With `libb.so` repaired, and `liba.so` as it was.
pub(super) fn fixed() -> Lab {
    let lab = lab();
    write(&lab);
    lab.so("p/libb.so", FOO, &[]);
    lab
}

#[test]
fn what_is_fixed_is_stale() {
    let lab = fixed();
    let report = report_with_stderr(&lab);
    assert_eq!(report["stale"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["stale"][0]["path"], "libb.so");
    assert_eq!(report["stale"][0]["name"], "two");
    let run = |more: &[&str]| run(&lab, &[&["p", "--baseline", "known"], more].concat());
    assert_eq!(run(&[]).status, 0);
    let text = run(&[]).out;
    assert!(text.contains("1 stale baseline line"), "{text}");
    assert!(text.contains("undefined-symbol libb.so two\n"), "{text}");
    for more in [&["--fail-on-stale"][..], &["--fail-on-stale", "--fail-on", "never"]] {
        assert_eq!(run(more).status, 1, "{more:?}");
    }
    // Lines that fail the run are reported with every output.
    let json = run(&["--fail-on-stale", "--format", "json"]);
    assert!(json.err.contains("undefined-symbol libb.so two\n"), "{}", json.err);
}

fn report_with_stderr(lab: &Lab) -> Value {
    let run = run(lab, &["p", "--baseline", "known", "--format", "json"]);
    assert!(run.err.starts_with("warning: known:"), "{}", run.err);
    serde_json::from_str(&run.out).expect("a JSON report")
}

/// A deleted file is distinguished from a repaired one, and from the next version of a library.
#[test]
fn gone_is_not_fixed() {
    let lab = Lab::new();
    lab.write("linkaudit.toml", NO_LINKS);
    for name in ["one", "two", "three"] {
        let source = format!("int {name}(void); int f(void) {{ return {name}(); }}");
        let soname = format!("-Wl,-soname,lib{name}.so.1");
        lab.so(&format!("p/lib/lib{name}.so.1.0"), &source, &[&soname]);
    }
    assert_eq!(run(&lab, &["p", "--write-baseline", "known"]).status, 1);
    let gone = || {
        let run = run(&lab, &["p", "--baseline", "known", "--format", "json"]);
        let report: Value = serde_json::from_str(&run.out).expect("a JSON report");
        let stale = report["stale"].as_array().cloned().unwrap_or_default();
        let pair = |line: &Value| {
            (line["path"].as_str().unwrap_or_default().to_owned(), line["gone"] == true)
        };
        stale.iter().map(pair).collect::<Vec<_>>()
    };
    let of = |name: &str, is_gone| (format!("lib/lib{name}.so.1.0"), is_gone);
    assert_eq!(gone(), []);
    // `libone` is repaired, `libtwo` has a new version that is repaired, and `libthree` is
    // deleted.
    lab.so("p/lib/libone.so.1.0", "int f(void) { return 1; }", &["-Wl,-soname,libone.so.1"]);
    lab.so("p/lib/libtwo.so.1.1", "int f(void) { return 1; }", &["-Wl,-soname,libtwo.so.1"]);
    for name in ["two", "three"] {
        std::fs::remove_file(lab.path(&format!("p/lib/lib{name}.so.1.0"))).expect("a library");
    }
    assert_eq!(gone(), [of("one", false), of("two", false), of("three", true)]);
    let args = ["p", "--baseline", "known"];
    assert_eq!(run(&lab, &args).status, 0);
    let strict = run(&lab, &[&args[..], &["--fail-on-gone"]].concat());
    assert_eq!(strict.status, 1);
    assert!(strict.out.contains("3 stale baseline lines"), "{}", strict.out);
    assert!(strict.out.contains(", 1 because the file is gone"), "{}", strict.out);
    assert!(strict.out.contains("undefined-symbol lib/libthree.so.1.0 three (file gone)\n"));
    // Outputs for programs list the line that fails the run, and only this line.
    let line = "undefined-symbol lib/libthree.so.1.0 three (file gone)";
    for format in ["junit", "sarif", "gitlab", "github"] {
        let listed = |option: &[&str]| {
            let run = run(&lab, &[&args[..], &["--format", format], option].concat());
            (run.status, run.out.matches("of the baseline: ").count(), run.out.contains(line))
        };
        let each = if format == "junit" { 3 } else { 1 };
        assert_eq!(listed(&["--fail-on-gone"]), (1, each, true), "{format}");
        assert_eq!(listed(&["--fail-on-stale"]), (1, 3 * each, true), "{format}");
        assert_eq!(listed(&[]), (0, 0, false), "{format}");
    }
    std::fs::copy(lab.path("p/lib/libone.so.1.0"), lab.path("p/lib/libthree.so.1.0")).expect("it");
    assert_eq!(run(&lab, &[&args[..], &["--fail-on-gone"]].concat()).status, 0);

    // A library that is gone and needed is a new finding.
    let lab = Lab::new();
    lab.so("p/libzed.so.1", "int z(void) { return 1; }", &["-Wl,-soname,libzed.so.1"]);
    let flags = ["p/libzed.so.1", "-Wl,--no-as-needed"];
    lab.so("p/libapp.so", "int z(void); int app(void) { return z(); }", &flags);
    assert_eq!(run(&lab, &["p", "--write-baseline", "known"]).status, 1, "it is not searched");
    std::fs::remove_file(lab.path("p/libzed.so.1")).expect("a library");
    assert_eq!(run(&lab, &["p", "--baseline", "known"]).status, 1);
}

#[test]
fn a_deleted_file_is_fixed_and_an_unread_one_is_not() {
    let lab = lab();
    write(&lab);
    lab.so("q/libq.so", FOO, &[]);
    let stale = |paths: &[&str]| {
        let run = run(&lab, &[paths, &["--baseline", "known", "--format", "json"]].concat());
        let report: Value = serde_json::from_str(&run.out).expect("a JSON report");
        report["stale"].as_array().map_or(0, Vec::len)
    };
    // A file that is given alone: nothing is known of the others.
    assert_eq!(stale(&["p/liba.so"]), 0);
    assert_eq!(stale(&["q/libq.so"]), 0);
    std::fs::remove_file(lab.path("p/libb.so")).expect("the library");
    assert_eq!(stale(&["p"]), 1);
    assert_eq!(stale(&["p/liba.so"]), 0);
    // A file that cannot be checked because it is damaged does not count as fixed.
    let lab = self::lab();
    write(&lab);
    let bytes = std::fs::read(lab.path("p/libb.so")).expect("the library");
    std::fs::write(lab.path("p/libb.so"), &bytes[..bytes.len() / 4]).expect("a part of it");
    let run = run(&lab, &["p", "--baseline", "known", "--format", "json"]);
    let report: Value = serde_json::from_str(&run.out).expect("a JSON report");
    assert_eq!(report["stale"], Value::Null, "{report:#}");
    assert_eq!(run.status, 3, "it is a finding that it is damaged");
}

/// A baseline with comments, reasons and another order.
fn annotated(lab: &Lab) -> String {
    let lines: Vec<String> = write(lab).lines().map(str::to_owned).collect();
    let text = format!(
        "# Known faults.\n\n# Nobody calls it.\n{}  # ticket 12\n\n{} # \u{e4}\r\n# The end.\n",
        lines[1], lines[0]
    );
    lab.write("known", &text);
    text
}

#[test]
fn a_rewrite_keeps_what_a_human_wrote() {
    let lab = lab();
    let text = annotated(&lab);
    let run_ = run(&lab, &["p", "--write-baseline", "known"]);
    assert_eq!(written(&lab, "known"), text);
    assert!(run_.err.contains("known: 0 lines added, 0 lines removed\n"), "{}", run_.err);
    let reasons = judged(&lab, &[])["waived"].to_string();
    assert!(reasons.contains("ticket 12"), "{reasons}");
    // Stale lines are removed with their reasons; other comments stay.
    lab.so("p/liba.so", FOO, &[]);
    lab.so("p/libb.so", FOO, &[]);
    run(&lab, &["p", "--baseline", "known", "--write-baseline", "known"]);
    let expected = "# Known faults.\n\n# Nobody calls it.\n\n# The end.\n";
    assert_eq!(written(&lab, "known"), expected);
}

#[test]
fn a_rewrite_never_adds_silently() {
    let lab = lab();
    let text = write(&lab);
    lab.so("p/libc.so", BROKEN, &[]);
    lab.so("p/libb.so", FOO, &[]);
    // With --baseline, only stale lines are removed, and new findings stay new.
    let pruned = run(&lab, &["p", "--baseline", "known", "--write-baseline", "known"]);
    assert_eq!(pruned.status, 1);
    let kept: String =
        text.lines().filter(|l| l.contains(" liba.so ")).map(|l| format!("{l}\n")).collect();
    assert_eq!(written(&lab, "known"), kept);
    let removed = text.lines().find(|line| line.contains(" libb.so ")).expect("a line");
    for part in [
        "known: 0 lines added, 1 line removed\n",
        &format!("  - {removed}\n"),
        "  1 new finding not added\nhelp: ",
    ] {
        assert!(pruned.err.contains(part), "{part:?} is not in {}", pruned.err);
    }
    // Without the option everything is written, and each line is reported.
    let all = run(&lab, &["p", "--write-baseline", "known"]);
    assert!(all.err.contains("known: 1 line added, 0 lines removed\n  + "), "{}", all.err);
    assert!(all.err.contains("undefined-symbol libc.so gone\n"), "{}", all.err);
    assert!(written(&lab, "known").contains("undefined-symbol libc.so gone\n"));
    let lines: Vec<String> = written(&lab, "known").lines().map(str::to_owned).collect();
    assert!(lines.is_sorted() && lines.len() == 2, "{lines:?}");
}

#[test]
fn broken_lines_are_all_told_and_nothing_runs() {
    let lab = lab();
    let good = write(&lab);
    let bad = format!("{good}one two three\n{} undefined-symbol - -\n", "g".repeat(32));
    for option in ["--baseline", "--write-baseline"] {
        lab.write("bad", &bad);
        let run = run(&lab, &["p", option, "bad"]);
        run.refused(&["bad: 2 invalid lines\n", "bad:3: expected 4 fields, found 3", "bad:4: "]);
        assert!(run.err.contains("    one two three\n"), "{}", run.err);
        assert_eq!(written(&lab, "bad"), bad, "what is no baseline is not written over");
    }
    run(&lab, &["p", "--baseline", "nosuch"]).refused(&["nosuch"]).in_style();
    run(&lab, &["p", "--write-baseline", "no/such/dir"]);
    run(&lab, &["p", "--fail-on-stale"]).refused(&["--baseline"]);
    run(&lab, &["tree", "p", "--write-baseline", "x"]).refused(&["does not write a baseline"]);
    assert!(!lab.path("x").exists());
}

/// A finding about a file that cannot be read makes every command incomplete, unless it is waived.
#[test]
fn views_read_baselines() {
    let lab = Lab::new();
    lab.write("p/libcut.so", b"\x7fELF\x02\x01\x01");
    let written = run(&lab, &["p", "--write-baseline", "known"]);
    assert_eq!(written.status, 3, "{}", written.out);
    for command in [&["why", "libcut.so", "p"][..], &["tree", "p"], &["gpu", "p"]] {
        let [before, after] =
            [&[][..], &["--baseline", "known"]].map(|more| run(&lab, &[command, more].concat()));
        assert_eq!((before.status, after.status), (3, 0), "{command:?} {}", after.out);
    }
}

#[test]
fn the_file_is_replaced_as_a_whole() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let lab = lab();
    lab.write("deep/real", "");
    lab.link("deep/real", "known");
    let set = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(lab.path("deep/real"), set).expect("permissions");
    let before = lab.path("deep/real").metadata().expect("the file").ino();
    write(&lab);
    let after = lab.path("deep/real").metadata().expect("the file");
    assert_ne!(before, after.ino(), "another file is renamed over it");
    assert_eq!(after.mode() & 0o777, 0o640);
    assert!(lab.path("known").is_symlink());
    assert_eq!(std::fs::read_dir(lab.path("deep")).expect("the directory").count(), 1);
    // A file that is not regular is written in place.
    let run: Run = run(&lab, &["p", "--write-baseline", "/dev/null"]);
    assert_eq!(run.status, 1, "{}", run.err);
}

#[test]
fn what_cannot_be_read_can_be_known() {
    let lab = Lab::new();
    lab.so("p/libfine.so", FOO, &[]);
    super::kit::fifo(&lab, "p/a pipe");
    assert_eq!(run(&lab, &["p", "--write-baseline", "known"]).status, 3);
    assert!(written(&lab, "known").ends_with(" unreadable a%20pipe -\n"));
    assert_eq!(run(&lab, &["p", "--baseline", "known"]).status, 0);
    assert_eq!(judged(&lab, &[])["complete"], true);
}

#[test]
fn allowed_findings_keep_their_lines() {
    let lab = lab();
    let text = write(&lab);
    let allowed = judged(&lab, &["-A", "undefined-symbol"]);
    assert_eq!((&allowed["waived"], &allowed["stale"]), (&json!([]), &Value::Null));
    run(&lab, &["p", "-A", "symbol", "--baseline", "known", "--write-baseline", "known"]);
    assert_eq!(written(&lab, "known"), text);
}

/// Copies of a library whose file names begin with its soname share their fingerprints.
fn copies(names: &[&str]) -> Lab {
    let lab = Lab::new();
    for name in names {
        lab.so(&format!("p/{name}"), BROKEN, &["-Wl,-soname,libm.so.1"]);
    }
    lab
}

/// Paths of open and of waived findings, and the number of stale lines.
fn outcome(report: &Value) -> (Vec<String>, Vec<String>, usize) {
    let paths = |key: &str| -> Vec<String> {
        let list = report[key].as_array().expect("findings");
        list.iter().map(|finding| text(&finding["path"]).to_owned()).collect()
    };
    (paths("findings"), paths("waived"), report["stale"].as_array().map_or(0, Vec::len))
}

#[test]
fn so_many_lines_waive_so_many_findings() {
    let lab = copies(&["libm.so.1", "libm.so.1.0", "libm.so.1.1"]);
    let all = write(&lab);
    let lines: Vec<&str> = all.lines().collect();
    let names = ["libm.so.1", "libm.so.1.0", "libm.so.1.1"];
    let print = lines[0].split(' ').next().expect("a fingerprint");
    let expected = names.map(|name| format!("{print} undefined-symbol {name} gone"));
    assert_eq!(lines, expected, "one fingerprint, each with its own path");
    let with = |text: &str| {
        lab.write("known", text);
        let run = run(&lab, &["p", "--baseline", "known", "--format", "json"]);
        outcome(&serde_json::from_str(&run.out).expect("a JSON report"))
    };
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(with(&all), (vec![], owned(&names), 0));
    let line = format!("{}\n", lines[0]);
    assert_eq!(with(&line), (owned(&names[1..]), owned(&names[..1]), 0), "the very path first");
    let last = format!("{}\n", lines[2]);
    assert_eq!(with(&last), (owned(&names[..2]), owned(&names[2..]), 0), "whichever that is");
    // A line with a missing path waives the first finding.
    let other = line.replace(" libm.so.1 ", " libm.so.1.9 ");
    assert_eq!(with(&other), (owned(&names[1..]), owned(&names[..1]), 0));
    assert_eq!(with(&line.repeat(4)), (vec![], owned(&names), 1), "one line too many");
    // Lines of a part waive that part of the whole.
    for name in names {
        std::fs::remove_file(lab.path("known")).expect("a baseline");
        let part = format!("p/{name}");
        run(&lab, &[&part, "--prefix", "p", "--write-baseline", "known"]);
        assert_eq!(outcome(&judged(&lab, &["--prefix", "p"])).1, owned(&[name]));
    }
}

#[test]
fn a_line_fits_the_next_version_of_its_file() {
    let lab = copies(&["libm.so.1.0"]);
    lab.write("linkaudit.toml", NO_LINKS);
    assert!(write(&lab).contains(" libm.so.1.0 gone\n"));
    std::fs::rename(lab.path("p/libm.so.1.0"), lab.path("p/libm.so.1.1")).expect("a version");
    assert_eq!(outcome(&judged(&lab, &[])), (vec![], vec!["libm.so.1.1".to_owned()], 0));
    // A baseline of an older version, with the file name cut to the soname, fits too.
    let cut = written(&lab, "known").replace(" libm.so.1.0 ", " libm.so.1 ");
    lab.write("known", cut);
    assert_eq!(outcome(&judged(&lab, &[])), (vec![], vec!["libm.so.1.1".to_owned()], 0));
    lab.so("p/libm.so.1.1", FOO, &["-Wl,-soname,libm.so.1"]);
    let fixed = with_stale(&lab, &["p", "--baseline", "known"]);
    assert_eq!(outcome(&fixed), (vec![], vec![], 1));
}

/// A report whose stale lines are on stderr too.
fn with_stale(lab: &Lab, args: &[&str]) -> Value {
    let run = run(lab, &[args, &["--format", "json"]].concat());
    serde_json::from_str(&run.out).expect("a JSON report")
}

/// `p/lib/liba.so` needs a library that the search misses. Beside it in the prefix lies a file of
/// that name, which shows that one of the two references is undefined.
fn candidate_beside() -> Lab {
    let lab = Lab::new();
    let soname = "-Wl,-soname,libfoo.so.1";
    lab.so("p/other/libfoo.so.1", FOO, &[soname, "-nostdlib"]);
    let source = "int foo(void); int bar(void); int a(void) { return foo() + bar(); }";
    let needs = ["-nostdlib", "-Wl,--no-as-needed", "$PWD/p/other/libfoo.so.1"];
    lab.so("p/lib/liba.so", source, &needs);
    lab
}

#[test]
fn a_part_of_a_prefix_calls_no_line_stale_that_the_whole_needs() {
    let lab = candidate_beside();
    let whole = |more: &[&str]| report(&lab, &[&["p", "--prefix", "p"], more].concat());
    run(&lab, &["p", "--prefix", "p", "--write-baseline", "known"]);
    let known = written(&lab, "known");
    assert!(known.contains(" undefined-symbol lib/liba.so "), "{known}");
    assert_eq!(outcome(&whole(&["--baseline", "known"])).0, Vec::<String>::new());
    let symbols = |known: &str| known.matches(" undefined-symbol ").count();
    for part in ["p/lib/liba.so", "p/lib"] {
        let args = [part, "--prefix", "p", "--baseline", "known"];
        let of_part = report(&lab, &args);
        assert_eq!(of_part["stale"], Value::Null, "{part}: {of_part:#}");
        run(&lab, &[&args[..], &["--write-baseline", "known"]].concat());
        assert_eq!(written(&lab, "known"), known, "{part}");
    }
    // Once the library does not refer to the name, no run can find it.
    lab.so("p/lib/liba.so", "int a(void) { return 1; }", &["-nostdlib"]);
    for part in ["p/lib/liba.so", "p/lib", "p"] {
        let stale = with_stale(&lab, &[part, "--prefix", "p", "--baseline", "known"]);
        let of_symbols = stale["stale"].to_string().matches("undefined-symbol").count();
        assert_eq!(of_symbols, symbols(&known), "{part}: {stale:#}");
    }
}

#[test]
fn the_whole_prefix_tells_what_another_file_repaired() {
    let lab = candidate_beside();
    run(&lab, &["p", "--prefix", "p", "--write-baseline", "known"]);
    // The library is where the loader finds it, and defines both names.
    std::fs::remove_dir_all(lab.path("p/other")).expect("the candidate");
    let soname = "-Wl,-soname,libfoo.so.1";
    lab.so(
        "p/lib/libfoo.so.1",
        "int foo(void) { return 1; } int bar(void) { return 2; }",
        &[soname, "-nostdlib"],
    );
    let source = "int foo(void); int bar(void); int a(void) { return foo() + bar(); }";
    let needs = ["-nostdlib", "$PWD/p/lib/libfoo.so.1", "-Wl,-rpath,$ORIGIN"];
    lab.so("p/lib/liba.so", source, &needs);
    let stale = |paths: &[&str]| {
        let args = [paths, &["--prefix", "p", "--baseline", "known"]].concat();
        let report = with_stale(&lab, &args);
        report["stale"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(stale(&["p"]), written(&lab, "known").lines().count());
    // A program elsewhere in the prefix may load it with another library of that name.
    assert_eq!(stale(&["p/lib/liba.so"]), 0);
}

#[test]
fn a_rewrite_counts_lines() {
    let lab = copies(&["libm.so.1", "libm.so.1.0", "libm.so.1.1"]);
    let every = write(&lab);
    let line = format!("{}\n", every.lines().next().expect("a line"));
    let again = |known: &str, more: &[&str]| {
        lab.write("known", known);
        let run = run(&lab, &[&["p", "--write-baseline", "known"], more].concat());
        (written(&lab, "known"), run.err)
    };
    let (all, said) = again(&line, &[]);
    assert_eq!(all, every);
    assert!(said.contains("known: 2 lines added, 0 lines removed\n"), "{said}");
    let (kept, said) = again(&line, &["--baseline", "known"]);
    assert_eq!(kept, line);
    assert!(said.contains("  2 new findings not added\n"), "{said}");
    std::fs::remove_file(lab.path("p/libm.so.1.0")).expect("a copy");
    // The line that a finding got keeps its reason; the other line is removed.
    let mine = line.replace(" libm.so.1 ", " libm.so.1.1 ").replace('\n', "  # mine\n");
    let (kept, said) = again(&format!("{line}{line}{mine}"), &["--baseline", "known"]);
    assert_eq!(kept, format!("{line}{mine}"));
    assert!(said.contains("known: 0 lines added, 1 line removed\n"), "{said}");
}

#[test]
fn what_a_policy_waives_takes_no_line_of_others() {
    let lab = copies(&["libm.so.1", "libm.so.1.0"]);
    let line = format!("{}\n", write(&lab).lines().next().expect("a line"));
    lab.write("known", line);
    let policy = "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\npath = \"libm.so.1\"\n\
                  reason = \"known\"\n";
    lab.write("policy.toml", policy);
    let report = judged(&lab, &["--policy", "policy.toml"]);
    assert_eq!(outcome(&report).0, Vec::<String>::new(), "{report:#}");
    assert_eq!(outcome(&report).2, 0);
}

#[test]
fn pipes_and_stdout_are_refused_with_the_next_step() {
    let lab = lab();
    lab.sh("mkfifo pipe");
    let cases: [(&[&str], &str); 4] = [
        (&["p", "--write-baseline", "-"], "help: name a file"),
        (&["p", "--baseline", "pipe"], "help: write the content of the pipe to a file"),
        (&["--files-from", "pipe"], "help: name the file `-` to read the list from stdin"),
        (
            &["--staged", "p", "--replaces", "pipe"],
            "help: name the file `-` to read the list from stdin",
        ),
    ];
    for (options, help) in cases {
        let run = run(&lab, options);
        assert_eq!(run.status, 2, "{options:?}: {}", run.err);
        assert!(run.err.contains(help), "{options:?}: {}", run.err);
    }
    assert!(!lab.path("-").exists());
}

/// `p/bin/tool` is a link out of the audited directory into the prefix. The path of the file does
/// not depend on the part of the prefix that is audited.
#[test]
fn a_link_out_of_a_part_has_the_path_of_the_whole() {
    let lab = Lab::new();
    let flags = ["-Wl,-soname,libtool.so.1", "-Wl,-z,now"];
    lab.so("p/lib/pkg/tool", "void gone(void); void t(void) { gone(); }", &flags);
    lab.mkdir("p/bin");
    lab.link("../lib/pkg/tool", "p/bin/tool");
    let lines = |part: &str, file: &str| {
        run(&lab, &[part, "--prefix", "p", "--write-baseline", file]);
        written(&lab, file)
    };
    let whole = lines("p", "whole");
    assert!(whole.contains(" undefined-symbol lib/pkg/tool gone\n"), "{whole}");
    assert_eq!(lines("p/bin", "part"), whole);
    for (part, known) in [("p", "part"), ("p/bin", "whole")] {
        let judged = report(&lab, &[part, "--prefix", "p", "--baseline", known]);
        assert_eq!((&judged["findings"], &judged["stale"]), (&json!([]), &Value::Null), "{known}");
    }
    // Without a prefix, the path is the link's own.
    let alone = report(&lab, &["p/bin"]);
    assert_eq!(findings(&alone)[0]["path"], "tool");
}

/// A file has two hard links. A part finds it only under the second one, in byte order.
#[test]
fn a_line_about_a_further_hard_link_fits() {
    let lab = Lab::new();
    lab.so("p/bin/git", "void gone(void); void t(void) { gone(); }", &["-Wl,-z,now"]);
    lab.sh("mkdir p/a; ln p/bin/git p/a/git-add");
    run(&lab, &["p/bin", "--prefix", "p", "--write-baseline", "known"]);
    assert!(written(&lab, "known").contains(" bin/git gone\n"));
    let judged = report(&lab, &["p", "--baseline", "known"]);
    assert_eq!((&judged["findings"], &judged["stale"]), (&json!([]), &Value::Null));
    assert_eq!(judged["waived"][0]["path"], "a/git-add");
    // The line stays.
    let before = written(&lab, "known");
    run(&lab, &["p", "--baseline", "known", "--write-baseline", "known"]);
    assert_eq!(written(&lab, "known"), before);
    // The path of a waiver fits too.
    let policy =
        "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\npath = \"bin/git\"\nreason = \"r\"\n";
    lab.write("waive.toml", policy);
    let waived = report(&lab, &["p", "--policy", "waive.toml"]);
    assert_eq!(
        (&waived["findings"], &waived["waived"][0]["path"]),
        (&json!([]), &json!("a/git-add"))
    );
}
