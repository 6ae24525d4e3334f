//! Several outputs of one run: each equals that of a separate run.

use super::kit::{BROKEN, CALLS_FOO, FOO, Run, run, three_trees};
use crate::support::Lab;
use std::path::Path;

/// A program, its library, and a library that no object loads: outputs differ in the entry points.
fn program() -> Lab {
    let lab = Lab::new();
    lab.so("p/lib/libfoo.so", &format!("{FOO} {BROKEN}"), &[]);
    lab.so("p/lib/libplugin.so", BROKEN, &[]);
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lfoo", "-Wl,-rpath,$ORIGIN/../lib"];
    lab.exe("p/bin/app", CALLS_FOO, &flags);
    lab
}

fn read(lab: &Lab, name: &str) -> String {
    std::fs::read_to_string(lab.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn alone(lab: &Lab, format: &str) -> String {
    let run = run(lab, &["p", "--format", format]);
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    run.out
}

#[test]
fn every_output_of_a_run_is_what_it_is_alone() {
    let lab = program();
    let formats = ["human", "json", "ldd"];
    for stdout in formats {
        let args = ["p", "--format", stdout, "-o", "json=j", "-o", "ldd=l", "-o", "human=h"];
        let run = run(&lab, &args);
        assert_eq!((run.status, run.err.as_str()), (1, ""), "{stdout}");
        assert_eq!(run.out, alone(&lab, stdout), "{stdout} on stdout");
        for (format, file) in [("human", "h"), ("json", "j"), ("ldd", "l")] {
            assert_eq!(read(&lab, file), alone(&lab, format), "{format} beside {stdout}");
        }
    }
}

#[test]
fn outputs_that_agree_on_the_roots() {
    let lab = program();
    let run = run(&lab, &["p", "--format", "json", "--output", "human=h", "-ojson=j"]);
    assert_eq!((run.status, run.out.as_str()), (1, alone(&lab, "json").as_str()));
    assert_eq!(read(&lab, "h"), alone(&lab, "human"));
    assert_eq!(read(&lab, "j"), alone(&lab, "json"));
}

#[test]
fn one_format_to_two_files() {
    let lab = three_trees();
    let run = run(&lab, &["broken", "-q", "-o", "json=a", "-o", "json=with=equals"]);
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    assert_eq!(read(&lab, "a"), read(&lab, "with=equals"));
}

#[test]
fn a_file_is_made_anew() {
    let lab = three_trees();
    lab.write("report", "x".repeat(1 << 16));
    run(&lab, &["broken", "-o", "human=report"]);
    let text = read(&lab, "report");
    assert!(text.starts_with("in ") && text.ends_with("explain undefined-symbol\n"), "{text}");
}

#[test]
fn a_file_has_no_colours() {
    let lab = three_trees();
    let run = run(&lab, &["broken", "--color", "always", "-o", "human=report"]);
    assert!(run.out.contains('\x1b'));
    assert!(!read(&lab, "report").contains('\x1b'));
}

/// A message of SARIF begins with a capital letter, but a symbol keeps its case.
#[test]
fn symbols_keep_their_case_in_sarif() {
    let lab = Lab::new();
    for (name, elements) in [("a", 4), ("b", 64)] {
        let source = format!("int big[{elements}] = {{1}}; int {name}(void) {{ return big[0]; }}");
        let (file, soname) = (format!("lib{name}.so"), format!("-Wl,-soname,lib{name}.so"));
        lab.so(&file, &source, &[&soname]);
    }
    let main = "int a(void), b(void); int main(void) { return a() + b(); }";
    lab.exe("app", main, &["liba.so", "libb.so", "-Wl,-rpath,$ORIGIN"]);
    let text = run(&lab, &["app", "--isolated", "--format", "sarif"]).out;
    assert!(text.contains("\"big has 256 bytes here and 16 in liba.so"), "{text}");
    assert!(text.contains("\"References of a library are bound to "), "{text}");
}

#[test]
fn an_output_without_file() {
    let lab = three_trees();
    for output in ["json", "report.json", "", "json=", "nosuch=", "="] {
        run(&lab, &["broken", "-o", output]).refused(&["NAME=FILE"]).in_style();
    }
    run(&lab, &["broken", "-o", "=x"]).refused(&[]).in_style();
}

#[test]
fn a_place_that_cannot_be_written() {
    let lab = three_trees();
    for place in ["nosuch/report", "fine", "fine/libfine.so/report"] {
        let run = run(&lab, &["broken", "-o", &format!("json={place}")]);
        run.refused(&[place, "cannot write"]).in_style();
    }
    if Path::new("/dev/full").exists() {
        run(&lab, &["broken", "-o", "json=/dev/full"]).refused(&["/dev/full"]).in_style();
    }
}

#[test]
fn a_report_that_cannot_be_written_is_no_success() {
    let lab = three_trees();
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    for args in [&["fine"][..], &["broken"], &["fine", "--format", "json"], &["explain"]] {
        let output = crate::support::linkaudit()
            .current_dir(lab.root())
            .args(args)
            .stdout(full.try_clone().expect("a second handle"))
            .output()
            .expect("linkaudit runs");
        Run::new(&output).refused(&["no space left"]).in_style();
    }
}

#[test]
fn machine_formats_do_not_depend_on_how_they_are_asked_for() {
    let lab = program();
    for format in ["json", "ldd"] {
        let expected = alone(&lab, format);
        for options in [
            &["-q"][..],
            &["-v"],
            &["-j1"],
            &["-j7"],
            &["--color", "always"],
            &["--progress", "always"],
            &["--timings"],
        ] {
            let run = run(&lab, &[&["p", "--format", format], options].concat());
            assert_eq!(run.out, expected, "{format} {options:?}");
        }
    }
}

/// Two files lack three symbols of one library, and waivers with two reasons accept two of them.
#[test]
fn partly_waived_causes_are_two_alerts() {
    let lab = Lab::new();
    let names = ["one", "two", "three"];
    let source = names.map(|name| format!("int {name}(void) {{ return 1; }}")).concat();
    lab.so("p/libprovider.so", &source, &["-Wl,-soname,libprovider.so"]);
    for file in ["a", "b"] {
        let source = format!(
            "int one(void), two(void), three(void);
             int {file}(void) {{ return one() + two() + three(); }}"
        );
        lab.so(&format!("p/lib{file}.so"), &source, &[]);
    }
    let waive = |name: &str, reason: &str| {
        format!(
            "[[waive]]\nrule = \"undefined-symbol\"\nsymbol = \"{name}\"\nreason = \"{reason}\"\n"
        )
    };
    let waivers = waive("one", "first reason") + &waive("two", "second reason");
    lab.write("waive.toml", format!("schema = 1\n{waivers}"));
    let shown = |format: &str| {
        let args = ["p", "--isolated", "--policy", "waive.toml", "-A", "link-hygiene"];
        run(&lab, &[&args[..], &["--format", format]].concat()).out
    };
    let sarif: serde_json::Value = serde_json::from_str(&shown("sarif")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let reasons = |result: &serde_json::Value| -> Vec<String> {
        let all = result["suppressions"].as_array().into_iter().flatten();
        all.map(|one| one["justification"].as_str().expect("a reason").to_owned()).collect()
    };
    let both = ["first reason (waive.toml)", "second reason (waive.toml)"].map(str::to_owned);
    for file in ["p/liba.so", "p/libb.so"] {
        let own = results.iter().filter(|result| {
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == *file
        });
        let own: Vec<(u64, Vec<String>)> = own
            .map(|one| (one["properties"]["findings"].as_u64().expect("a number"), reasons(one)))
            .collect();
        assert_eq!(own, [(1, Vec::new()), (2, both.to_vec())], "{file}: {sarif:#}");
    }
    let junit = shown("junit");
    let mut names: Vec<&str> = junit
        .lines()
        .filter_map(|line| line.split("<testcase ").nth(1)?.split(" time").next())
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "{junit}");
    assert_eq!(
        junit.matches("message=\"waived: first reason; second reason\"").count(),
        2,
        "{junit}"
    );
    assert_eq!(junit.matches("<failure ").count(), 2, "{junit}");
    // Outputs without waived findings show the others.
    assert_eq!(shown("github").lines().count(), 2);
    let gitlab: serde_json::Value = serde_json::from_str(&shown("gitlab")).expect("JSON");
    assert_eq!(gitlab.as_array().map(Vec::len), Some(2), "{gitlab:#}");
}

#[test]
fn warnings_that_fail_the_run_are_failures_in_junit() {
    let lab = Lab::new();
    lab.so("p/libfoo.so", FOO, &["-Wl,-soname,libfoo.so.1"]);
    for (fail_on, failures, status) in [("error", 0, 0), ("warning", 1, 1)] {
        let run = run(&lab, &["p", "--format", "junit", "--fail-on", fail_on]);
        assert_eq!(run.status, status, "{}", run.out);
        assert_eq!(run.out.matches("<failure ").count(), failures, "{}", run.out);
        assert!(run.out.contains(&format!(" failures=\"{failures}\" ")), "{}", run.out);
    }
}

#[test]
fn no_output_is_a_file_named_like_stdout() {
    let lab = program();
    run(&lab, &["p", "-o", "json=-"]).refused(&["--output json=-", "./-"]).in_style();
    run(&lab, &["fix", "p", "-o", "policy-waivers=-"]).refused(&["--emit"]).in_style();
    assert!(!lab.path("-").exists());
    assert_eq!(run(&lab, &["p", "-q", "-o", "json=./-"]).status, 1);
    assert!(lab.path("-").exists());
}

#[test]
fn a_library_that_the_run_reads_is_not_overwritten() {
    let lab = program();
    let library = std::fs::read(lab.path("p/lib/libfoo.so")).expect("the library");
    let output = "json=p/lib/libfoo.so";
    for args in [&["p/bin/app", "-o", output][..], &["tree", "p/bin/app", "-o", output]] {
        run(&lab, args).refused(&["this run reads it"]).in_style();
        assert_eq!(std::fs::read(lab.path("p/lib/libfoo.so")).expect("the library"), library);
    }
}
