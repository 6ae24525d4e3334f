//! Every symbol of fifty programs of this machine: the bindings in linkaudit's JSON must be those
//! that the loader makes, symbol for symbol and provider for provider.
//!
//! The programs are not run: the loader is asked in its trace mode, which binds everything and
//! ends before the program begins. A few harmless ones do run, to show that the two are the same.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::doc_markdown,
    clippy::format_push_string,
    unreachable_pub,
    reason = "tests build, run and report; what they read is the machine's own"
)]

mod support;

#[path = "support/report.rs"]
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, elf};
use report::Report;

/// The interpreter whose trace mode is asked. A program with any other is not started at all.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
const PROGRAMS: usize = 50;
const SET_ID: u32 = 0o6000;

/// File that refers, symbol, version it asks for, file that provides: each as the loader names it.
type Binding = (String, String, Option<String>, String);

#[test]
fn fifty_programs() {
    let all = programs();
    assert!(all.len() >= PROGRAMS, "/usr/bin has only {} fitting programs", all.len());
    let chosen: Vec<&PathBuf> = (0..PROGRAMS).map(|n| &all[n * all.len() / PROGRAMS]).collect();
    let said = said(&chosen, &["--as-ldd"]);
    let (mut bindings, mut differences) = (0, Vec::new());
    for program in chosen {
        let traced = traced(program);
        bindings += traced.len();
        differences.extend(difference(program, &traced, &said[program]));
    }
    println!(
        "bindings: {PROGRAMS} programs, {bindings} bindings, {} differences",
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A run binds what the trace says, and besides what the loader looks up for itself once it really
/// starts a program: that is the difference between `--as-ldd` and the default.
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

/// Programs that the glibc of this machine starts, without privileges of their own, in byte order.
fn programs() -> Vec<PathBuf> {
    let entries = Path::new("/usr/bin").read_dir().expect("/usr/bin can be listed");
    let mut paths: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path())
        .filter(|path| path.to_str().is_some() && is_fitting(path))
        .collect();
    paths.sort_unstable();
    paths
}

/// True if the kernel would hand the file to [`LOADER`], so that no code of its own runs in trace
/// mode. A loader that runs a set-id program ignores the trace mode's variables.
fn is_fitting(path: &Path) -> bool {
    let set_id = path.metadata().map_or(true, |data| data.mode() & SET_ID != 0);
    !set_id && std::fs::read(path).is_ok_and(|bytes| interpreter(&bytes) == Some(LOADER.as_bytes()))
}

fn interpreter(bytes: &[u8]) -> Option<&[u8]> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return None;
    }
    let segments = header.program_headers(endian, bytes).ok()?;
    let interp = segments.iter().find(|segment| segment.p_type(endian) == PT_INTERP)?;
    interp.data(endian, bytes).ok()?.strip_suffix(b"\0")
}

/// What the loader binds in trace mode.
fn traced(program: &Path) -> BTreeSet<Binding> {
    let output = support::clean(program)
        .envs([("LD_TRACE_LOADED_OBJECTS", "1"), ("LD_WARN", "yes")])
        .envs([("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings")])
        .output()
        .expect("the loader runs");
    bindings(&String::from_utf8_lossy(&output.stderr), "")
}

/// What the loader binds when it runs the program.
fn ran(program: &Path, args: &[&str]) -> BTreeSet<Binding> {
    let child = support::clean(program)
        .args(args)
        .envs([("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings")])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    // Lines begin with the process that wrote them: what a child of the program binds is its own.
    let process = format!("{}:\t", child.id());
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "{}: {}", program.display(), output.status);
    bindings(&String::from_utf8_lossy(&output.stderr), &process)
}

/// Reads the lines `binding file A [0] to B [0]: normal symbol ...` of one process. Those of the
/// vdso are the kernel's: it is no file.
fn bindings(text: &str, process: &str) -> BTreeSet<Binding> {
    let lines = text.lines().filter(|line| line.trim_start().starts_with(process));
    lines
        .filter_map(|line| line.split_once("binding file "))
        .map(|(_, line)| binding(line).unwrap_or_else(|| panic!("cannot be read: {line}")))
        .filter(|(file, ..)| file != "linux-vdso.so.1")
        .collect()
}

fn binding(line: &str) -> Option<Binding> {
    let (file, rest) = line.split_once(" [0] to ")?;
    let (provider, rest) = rest.split_once(" [0]: ")?;
    let (symbol, version) = rest.split_once(" symbol `")?.1.split_once('\'')?;
    let version = version.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    Some((file.to_owned(), symbol.to_owned(), version.map(str::to_owned), provider.to_owned()))
}

/// What linkaudit says of each program, asked in one run.
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
