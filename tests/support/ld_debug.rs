//! The bindings of this machine's loader, as LD_DEBUG=bindings prints them. [`traced`] runs no
//! program: trace mode binds everything and ends before the program starts.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, elf};

use crate::support;

/// The interpreter whose trace mode is used. A program with another interpreter is never started.
pub const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// Number of programs in a test.
pub const PROGRAMS: usize = 50;
const SET_ID: u32 = 0o6000;

/// Referring file, symbol, version and defining file, as the loader names them.
pub type Binding = (String, String, Option<String>, String);

/// [`PROGRAMS`] of `all`, evenly spread.
pub fn spread(all: &[PathBuf]) -> Vec<PathBuf> {
    (0..PROGRAMS).map(|n| all[n * all.len() / PROGRAMS].clone()).collect()
}

/// Programs in `/usr/bin` that this machine's glibc starts and that have no set-id bit, in byte
/// order.
pub fn programs() -> Vec<PathBuf> {
    let entries = Path::new("/usr/bin").read_dir().expect("/usr/bin can be listed");
    let mut paths: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path())
        .filter(|path| path.to_str().is_some() && is_fitting(path))
        .collect();
    paths.sort_unstable();
    // A file with several names is one entry point.
    let mut seen = BTreeSet::new();
    let id = |path: &Path| path.metadata().map(|meta| (meta.dev(), meta.ino())).ok();
    paths.retain(|path| id(path).is_some_and(|id| seen.insert(id)));
    paths
}

/// True if the kernel would start [`LOADER`] for the file: in trace mode, no code of the file runs.
/// Set-id programs are left out, because the loader ignores the variables of trace mode for them.
pub fn is_fitting(path: &Path) -> bool {
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

/// The bindings of the loader in trace mode.
pub fn traced(program: &Path) -> BTreeSet<Binding> {
    let output = support::clean(program)
        .envs([("LD_TRACE_LOADED_OBJECTS", "1"), ("LD_WARN", "yes")])
        .envs([("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings")])
        .output()
        .expect("the loader runs");
    bindings(&String::from_utf8_lossy(&output.stderr), "")
}

/// The bindings of the loader when it runs the program.
pub fn ran(program: &Path, args: &[&str]) -> BTreeSet<Binding> {
    let child = support::clean(program)
        .args(args)
        .envs([("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings")])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    // Each line begins with a process id: the bindings of child processes are skipped.
    let process = format!("{}:\t", child.id());
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "{}: {}", program.display(), output.status);
    bindings(&String::from_utf8_lossy(&output.stderr), &process)
}

/// A dlopen that loaded something.
#[derive(Default)]
pub struct Opening {
    /// The files that were loaded, in the order of their relocation: the opened one is the last.
    pub files: Vec<String>,
    /// The bindings of their relocations.
    pub bound: BTreeSet<Binding>,
}

/// The bindings of the loader while a program runs.
#[derive(Default)]
pub struct Run {
    /// Bindings before control passes to the program.
    pub start: BTreeSet<Binding>,
    /// Bindings of each dlopen, without lookups of dlsym.
    pub opened: Vec<Opening>,
}

/// Runs a program, which may call dlopen. `None` if it fails.
pub fn run(program: &Path, args: &[String]) -> Option<Run> {
    let child = support::clean(program)
        .args(args)
        .envs([("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings,files,reloc")])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let process = format!("{}:\t", child.id());
    let output = child.wait_with_output().expect("the program ends");
    output.status.success().then(|| phases(&String::from_utf8_lossy(&output.stderr), &process))
}

/// Assigns the bindings of one process to its start and to the calls of dlopen.
fn phases(text: &str, process: &str) -> Run {
    let mut run = Run::default();
    let mut is_started = false;
    // The object that is being relocated. Without such an object, a lookup is that of a dlsym.
    let mut current: Option<&str> = None;
    for line in text.lines().filter_map(|line| line.trim_start().strip_prefix(process)) {
        let line = line.trim();
        if line.starts_with("transferring control: ") {
            (is_started, current) = (true, None);
        } else if line.contains(";  dynamically loaded by ") {
            run.opened.push(Opening::default());
            current = None;
        } else if let Some(file) = line.strip_prefix("relocation processing: ") {
            let file = file.strip_suffix(" (lazy)").unwrap_or(file);
            current = Some(file);
            if let Some(opening) = run.opened.last_mut().filter(|_| is_started) {
                opening.files.push(file.to_owned());
            }
        } else if ["calling init: ", "calling fini: ", "opening file="]
            .iter()
            .any(|begin| line.starts_with(begin))
        {
            current = None;
        } else {
            let into = match run.opened.last_mut() {
                _ if !is_started => &mut run.start,
                Some(opening) => &mut opening.bound,
                None => continue,
            };
            let of_current = |binding: &Binding| current == Some(&binding.0);
            into.extend(bindings(line, "").into_iter().filter(of_current));
        }
    }
    run.opened.retain(|opening| !opening.files.is_empty());
    run
}

/// Reads the lines `binding file A [0] to B [0]: normal symbol ...` of one process. Lines about the
/// vdso are skipped: it is not a file.
pub fn bindings(text: &str, process: &str) -> BTreeSet<Binding> {
    let lines = text.lines().filter(|line| line.trim_start().starts_with(process));
    lines
        .filter_map(|line| line.split_once("binding file "))
        .map(|(_, line)| binding(line).unwrap_or_else(|| panic!("cannot be read: {line}")))
        .filter(|(file, ..)| !["linux-vdso.so.1", "linux-gate.so.1"].contains(&file.as_str()))
        .collect()
}

fn binding(line: &str) -> Option<Binding> {
    let (file, rest) = line.split_once(" [0] to ")?;
    let (provider, rest) = rest.split_once(" [0]: ")?;
    let (symbol, version) = rest.split_once(" symbol `")?.1.split_once('\'')?;
    let version = version.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    Some((file.to_owned(), symbol.to_owned(), version.map(str::to_owned), provider.to_owned()))
}
