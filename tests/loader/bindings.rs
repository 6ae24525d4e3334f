//! Every symbol of fifty programs of this machine: the bindings in linkaudit's JSON must be those
//! of the loader, for each symbol and definition.
//!
//! The programs are not run: the loader's trace mode binds everything and ends before the program
//! starts. A few harmless programs do run, to show that both bind alike.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::ld_debug;
use crate::support::random::is_sweep;
use crate::support::report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ld_debug::{Binding, PROGRAMS, is_fitting, programs, ran, spread, traced};
use report::Report;

/// `LINKAUDIT_SWEEP=all` takes all programs.
#[test]
fn programs_of_this_machine() {
    let all = programs();
    assert!(all.len() >= PROGRAMS, "/usr/bin has only {} fitting programs", all.len());
    let chosen = if is_sweep() { all } else { spread(&all) };
    let said = said(&chosen.iter().collect::<Vec<_>>(), &["--as-ldd"]);
    let (mut bindings, mut differences) = (0, Vec::new());
    for program in &chosen {
        let traced = traced(program);
        bindings += traced.len();
        differences.extend(difference(program, &traced, &said[program]));
    }
    println!(
        "bindings: {} programs, {bindings} bindings, {} differences",
        chosen.len(),
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A run has the bindings of the trace, and those that the loader looks up for itself when it
/// starts a program. That is the difference between `--as-ldd` and the default.
#[test]
fn trace_and_run_agree() {
    let commands: [(&str, &[&str]); 8] = [
        ("/usr/bin/true", &[]),
        ("/usr/bin/ls", &["--version"]),
        ("/usr/bin/sed", &["--version"]),
        ("/usr/bin/sort", &["--version"]),
        ("/usr/bin/tar", &["--version"]),
        ("/usr/bin/ld", &["--version"]),
        ("/usr/bin/perl", &["--version"]),
        ("/usr/bin/python3", &["--version"]),
    ];
    let present: Vec<(PathBuf, &[&str])> = commands
        .into_iter()
        .filter_map(|(program, args)| Some((Path::new(program).canonicalize().ok()?, args)))
        .filter(|(program, _)| is_fitting(program))
        .collect();
    assert!(present.len() >= 4, "too few programs to run: {present:?}");
    let said = said(&present.iter().map(|(program, _)| program).collect::<Vec<_>>(), &[]);
    for (program, args) in &present {
        let ran = ran(program, args);
        assert_eq!(difference(program, &ran, &said[program]), None, "the report is not the run");
        println!("bindings: {}: {} bindings in a run", program.display(), ran.len());
    }
}

/// linkaudit's bindings for each program, from one run.
fn said(programs: &[&PathBuf], options: &[&str]) -> BTreeMap<PathBuf, BTreeSet<Binding>> {
    let report = Report::of(support::linkaudit().arg("--facts").args(options).args(programs));
    let mut said: BTreeMap<PathBuf, BTreeSet<Binding>> = BTreeMap::new();
    for root in report::list(&report.value["bindings"]) {
        let bound = report::list(&root["bound"]).map(|bound| {
            let parts: Vec<_> = report::list(bound).collect();
            let [file, symbol, version, provider] = parts[..] else {
                panic!("a binding of other than four parts: {bound}");
            };
            let text = |value| report::text(value).to_owned();
            (text(file), text(symbol), version.as_str().map(str::to_owned), text(provider))
        });
        said.insert(report::path(&root["root"]), bound.collect());
    }
    let roots: BTreeSet<&PathBuf> = programs.iter().copied().collect();
    assert_eq!(said.keys().collect::<BTreeSet<_>>(), roots, "each program is a root");
    said
}

fn difference(
    program: &Path,
    real: &BTreeSet<Binding>,
    said: &BTreeSet<Binding>,
) -> Option<String> {
    let mut text = String::new();
    for binding in real.difference(said) {
        text += &format!("{}: only the loader binds {binding:?}\n", program.display());
    }
    for binding in said.difference(real) {
        text += &format!("{}: the loader does not bind {binding:?}\n", program.display());
    }
    assert!(!real.is_empty(), "{}: nothing is bound", program.display());
    (!text.is_empty()).then_some(text)
}
