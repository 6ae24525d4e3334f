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

#[test]
fn an_output_without_file() {
    let lab = three_trees();
    for output in ["json", "report.json", ""] {
        run(&lab, &["broken", "-o", output]).refused(&["NAME=FILE"]).in_style();
    }
    for output in ["json=", "nosuch=", "=x", "="] {
        run(&lab, &["broken", "-o", output]).refused(&[]).in_style();
    }
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
        Run::new(&output).refused(&["No space left"]).in_style();
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
