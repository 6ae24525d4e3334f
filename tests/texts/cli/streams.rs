//! Streams: reports go to stdout, timings and progress to stderr. A run ends quietly if its reader
//! has closed the stream.

use super::kit::{Run, run, three_trees};
use crate::support::{Lab, linkaudit};
use std::io::Read as _;
use std::process::Stdio;

/// A library with so many undefined symbols that no pipe holds its report.
fn long_report() -> Lab {
    let lab = Lab::new();
    let names: Vec<String> = (0..3000).map(|i| format!("gone_number_{i}")).collect();
    let declared: String = names.iter().map(|name| format!("void {name}(void);")).collect();
    let called: String = names.iter().map(|name| format!("{name}();")).collect();
    lab.so("p/libmany.so", &format!("{declared} void many(void) {{ {called} }}"), &[]);
    lab
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let lab = long_report();
    for args in [
        &["p", "-v"][..],
        &["p", "--format", "json"],
        &["p", "--format", "ldd"],
        &["p", "--format", "json", "--facts", "-o", "human=report"],
    ] {
        let mut child = linkaudit()
            .current_dir(lab.root())
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("linkaudit runs");
        let mut first = [0; 1];
        child.stdout.as_mut().expect("stdout").read_exact(&mut first).expect("a report");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("linkaudit ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", output.status);
    }
}

#[test]
fn nobody_ever_read() {
    let lab = long_report();
    for args in [&["p"][..], &["p", "--format", "json"], &["--help"], &["explain"], &["--version"]]
    {
        let mut child = linkaudit()
            .current_dir(lab.root())
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("linkaudit runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("linkaudit ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{args:?}: {}", output.status);
    }
}

#[test]
fn nobody_hears_of_a_mistake() {
    let lab = three_trees();
    for args in [&["nosuch"][..], &["fine", "--nosuch"], &["fine", "--timings"]] {
        let mut child = linkaudit()
            .current_dir(lab.root())
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("linkaudit runs");
        drop(child.stderr.take());
        let status = child.wait().expect("linkaudit ends");
        let expected = if args.contains(&"--timings") { 0 } else { 2 };
        assert_eq!(status.code(), Some(expected), "{args:?}: {status}");
    }
}

#[test]
fn timings_go_to_stderr() {
    let lab = three_trees();
    for format in ["human", "json", "ldd"] {
        let (plain, timed) = (
            run(&lab, &["broken", "--format", format]),
            run(&lab, &["broken", "--format", format, "--timings"]),
        );
        assert_eq!(plain.out, timed.out);
        assert_eq!(plain.status, timed.status);
        assert_eq!(plain.err, "");
        for stage in ["walk and read", "resolve", "bind", "total"] {
            assert!(timed.err.contains(stage), "{stage} is not in {}", timed.err);
        }
        assert!(timed.err.lines().all(|line| line.contains(" ms ")), "{}", timed.err);
    }
}

#[test]
fn progress_goes_to_stderr_and_leaves_no_trace() {
    let lab = three_trees();
    let plain = run(&lab, &["broken"]);
    for when in ["always", "never", "auto"] {
        let run = run(&lab, &["broken", "--progress", when]);
        assert_eq!((run.status, &run.out), (1, &plain.out), "{when}");
        // A longer run writes the line, and removes it at the end.
        let end = if when == "always" { run.err.rsplit("\r\u{1b}[K").next() } else { None };
        assert_eq!(end.unwrap_or(&run.err), "", "{when}: {}", run.err);
    }
}

#[test]
fn quiet_shows_errors_and_the_summary() {
    let lab = three_trees();
    let quiet = run(&lab, &["broken", "-q"]).out;
    assert!(quiet.contains("error[undefined-symbol]") && quiet.contains("1 error"), "{quiet}");
    let quiet = run(&lab, &["broken", "-q", "-W", "symbol"]).out;
    assert!(!quiet.contains("[undefined-symbol]") && quiet.contains("1 warning"), "{quiet}");
    let quiet = run(&lab, &["odd", "-q"]).out;
    assert!(quiet.contains("incomplete"), "{quiet}");
    assert_eq!(run(&lab, &["broken", "--quiet"]).out, run(&lab, &["broken", "-q"]).out);
}

#[test]
fn verbose_shows_everything() {
    let lab = long_report();
    let (short, long) = (run(&lab, &["p"]), run(&lab, &["p", "-v"]));
    let symbols = |run: &Run| run.out.matches("gone_number_").count();
    assert_eq!(symbols(&short), 20);
    assert!(short.out.contains("and 2980 more symbols (-v shows all)"), "{}", short.out);
    assert_eq!(symbols(&long), 3000);
    assert!(!long.out.contains("more symbols"));
    assert_eq!(run(&lab, &["p", "--verbose"]).out, long.out);
}

#[test]
fn raw_names_stand_beside_readable_ones() {
    let lab = Lab::new();
    let source = "void _ZN3foo3barEv(void); void call(void) { _ZN3foo3barEv(); }";
    lab.so("p/libcpp.so", source, &[]);
    let short = run(&lab, &["p"]).out;
    assert!(short.contains("foo::bar()") && short.contains("_ZN3foo3barEv"), "{short}");
    let long = run(&lab, &["p", "-v"]).out;
    assert!(long.contains("foo::bar()") && long.contains("_ZN3foo3barEv"), "{long}");
}
