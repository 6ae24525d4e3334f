//! The real loaders of other machines, run by qemu's user-mode emulators in sysroots of the cross
//! packages. linkaudit runs in the same sysroots: the text of `ldd -r` and every binding must be
//! the same.
//!
//! chroot requires root. Emulators and packages are unpacked below `target`, never installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use linkaudit::format::elf::interpreter;
use serde_json::Value;

use super::packages::Machine;
use super::{label, packages, read};
use crate::support::random::is_sweep;
use crate::support::{Lab, Tally, clean, normalise};

/// The emulator of each machine. The emulator of sh4 crashes in the loader, and there is none for
/// arc. Other tests run x32 and i386.
const EMULATORS: &[(&str, &str)] = &[
    ("aarch64", "aarch64"),
    ("alpha", "alpha"),
    ("armel", "arm"),
    ("armhf", "arm"),
    ("hppa", "hppa"),
    ("m68k", "m68k"),
    ("mips", "mips"),
    ("mips-nan2008", "mips"),
    ("mips64", "mips64"),
    ("mips64el", "mips64el"),
    ("mips64el-nan2008", "mips64el"),
    ("mipsel", "mipsel"),
    ("mipsn32", "mipsn32"),
    ("mipsn32el", "mipsn32el"),
    ("ppc", "ppc"),
    ("ppc64", "ppc64"),
    ("ppc64le", "ppc64le"),
    ("riscv64", "riscv64"),
    ("s390x", "s390x"),
    ("sparc", "sparc32plus"),
    ("sparc64", "sparc64"),
];

/// One binding: referring file, symbol, version, defining file.
type Binding = (String, String, Option<String>, String);

/// A root for one machine, with the emulator, linkaudit and the host's libraries for it.
struct Root {
    lab: Lab,
    loader: String,
    files: Vec<String>,
}

impl Root {
    /// Puts `libraries` into the directory that their loader searches first, and the loader at the
    /// path of the C library's PT_INTERP.
    fn new(machine: &Machine, emulator: &Path) -> Self {
        let lab = Lab::new();
        let libc = machine.file("libc.so.6");
        let loader = read(&libc).1.interp().map(|path| String::from_utf8_lossy(path).into_owned());
        let loader = loader.expect("the C library names its loader");
        let name = loader.rsplit('/').next().expect("a name");
        let bytes = std::fs::read(machine.file(name)).expect("the loader");
        let dirs = interpreter::scan(&bytes).system_dirs;
        let dir = String::from_utf8_lossy(dirs.first().expect("a directory")).into_owned();
        let inside = |path: &str| path.trim_start_matches('/').to_owned();
        let mut files = Vec::new();
        for path in &machine.files {
            let file = path.file_name().expect("a name").to_string_lossy().into_owned();
            let name = soname(path).unwrap_or(file);
            lab.write(&inside(&format!("{dir}{name}")), std::fs::read(path).expect("a library"));
            files.push(format!("{dir}{name}"));
        }
        // The emulator starts only what may be executed, as the original may.
        lab.write(&inside(&loader), "");
        std::fs::copy(machine.file(name), lab.path(&inside(&loader))).expect("the loader");
        let own = Path::new(env!("CARGO_BIN_EXE_linkaudit"));
        for (from, to) in [(own, "linkaudit"), (emulator, "emulator")] {
            std::fs::copy(from, lab.path(to)).expect("a program");
        }
        lab.mkdir("out");
        lab.mkdir("host");
        let listed = clean("ldd").arg(own).output().expect("ldd runs").stdout;
        for word in String::from_utf8_lossy(&listed).split_whitespace() {
            if word.starts_with('/') {
                let name = word.rsplit('/').next().expect("a name");
                std::fs::copy(word, lab.path(&format!("host/{name}"))).expect("a library");
            }
        }
        Self { lab, loader, files }
    }

    fn chroot(&self) -> std::process::Command {
        let mut command = clean("chroot");
        command.arg(self.lab.root());
        command
    }

    /// The loader's text for `ldd -r FILE`, and its bindings.
    fn real(&self, file: &str) -> (String, BTreeSet<Binding>) {
        let mut command = self.chroot();
        command.arg("/emulator");
        for variable in
            ["LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes", "LD_BIND_NOW=yes", "LD_DEBUG=bindings"]
        {
            command.args(["-E", variable]);
        }
        let output = command.args([&self.loader, file]).output().expect("chroot runs");
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut bindings = BTreeSet::new();
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            match line.split_once(":\t") {
                Some((pid, debug)) if pid.trim().bytes().all(|b| b.is_ascii_digit()) => {
                    bindings.extend(binding(debug));
                }
                _ => text.extend([line, "\n"]),
            }
        }
        (normalise(&text), bindings)
    }

    /// linkaudit's text for `ldd -r FILE`, and its bindings.
    fn said(&self, file: &str) -> (String, BTreeSet<Binding>) {
        let loader = "/host/ld-linux-x86-64.so.2";
        let output = self
            .chroot()
            .args([loader, "--library-path", "/host", "/linkaudit", "--as-ldd", "--facts"])
            .args(["--format", "ldd", "-o", "json=/out/report.json", file])
            .output()
            .expect("chroot runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        let bytes = std::fs::read(self.lab.path("out/report.json"))
            .unwrap_or_else(|error| panic!("{file}: {error}: {errors}"));
        let report: Value = serde_json::from_slice(&bytes).expect("JSON");
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let bound = report["bindings"].as_array().expect("bindings").iter();
        let bindings = bound
            .flat_map(|root| root["bound"].as_array().expect("a list"))
            .map(|b| {
                let name = |index: usize| text(&b[index]).unwrap_or_default();
                (name(0), name(1), text(&b[2]), name(3))
            })
            .collect();
        (String::from_utf8_lossy(&output.stdout).into_owned(), bindings)
    }

    /// Compares both answers for `files`; returns the number of bindings.
    fn compare(&self, files: &[String], name: &str, tally: &mut Tally) -> usize {
        let mut count = 0;
        for file in files {
            let ((theirs, real), (ours, said)) = (self.real(file), self.said(file));
            let name = format!("{name} {file}");
            tally.compare(&name, &ours, &theirs);
            // Only a program that runs looks up the allocator, and the loader relocates itself.
            let counts = |b: &&Binding| {
                b.0 != self.loader
                    && !["malloc", "calloc", "realloc", "free"].contains(&b.1.as_str())
            };
            let real: BTreeSet<&Binding> = real.iter().filter(counts).collect();
            let said: BTreeSet<&Binding> = said.iter().filter(counts).collect();
            count += real.len();
            if real != said && !theirs.contains("error while loading") {
                let only = |a: &BTreeSet<&Binding>, b: &BTreeSet<&Binding>| {
                    a.difference(b).take(3).map(|b| format!("{b:?}")).collect::<Vec<_>>()
                };
                let (a, b) = (only(&said, &real), only(&real, &said));
                tally.differences.push(format!("{name}: bindings: ours {a:?}, loader {b:?}"));
            }
        }
        count
    }
}

fn soname(path: &Path) -> Option<String> {
    read(path).1.soname().map(|name| String::from_utf8_lossy(name).into_owned())
}

/// Reads `binding file A [0] to B [0]: normal symbol `S' [V]`.
fn binding(text: &str) -> Option<Binding> {
    let (from, rest) = text.trim().strip_prefix("binding file ")?.split_once(" [0] to ")?;
    let (to, rest) = rest.split_once(" [0]: ")?;
    let (symbol, version) = rest.split_once(" symbol `")?.1.split_once('\'')?;
    let version = version.trim().strip_prefix('[').and_then(|v| v.strip_suffix(']'));
    Some((from.to_owned(), symbol.to_owned(), version.map(str::to_owned), to.to_owned()))
}

fn by_machine(files: &[PathBuf]) -> BTreeMap<String, Machine> {
    let mut machines: BTreeMap<String, Machine> = BTreeMap::new();
    for path in files {
        let deep =
            path.parent().is_some_and(|dir| dir.ends_with("gconv") || dir.ends_with("audit"));
        if !deep {
            let machine = machines.entry(label(&read(path).1)).or_default();
            machine.files.push(path.clone());
        }
    }
    machines
}

#[test]
fn emulated_loaders() {
    let name = "emulated_loaders";
    let Some(files) = packages::files(name) else { return };
    if !clean("chroot").args(["/", "true"]).status().is_ok_and(|status| status.success()) {
        return crate::support::skip(name, "chroot is not permitted");
    }
    let (machines, mut tally) = (by_machine(&files), Tally::default());
    let (mut emulated, mut bindings) = (0, 0);
    for (machine, emulator) in EMULATORS {
        let emulator = packages::emulator(emulator);
        let Some(libraries) = machines.get(*machine) else { continue };
        let root = Root::new(libraries, &emulator);
        emulated += 1;
        let step = if is_sweep() { 1 } else { 5 };
        let chosen: Vec<String> = root.files.iter().step_by(step).cloned().collect();
        bindings += root.compare(&chosen, machine, &mut tally);
        // The stub of a missing library has no PT_MIPS_ABIFLAGS, and beside it this machine's
        // loader takes no object at all; linkaudit does not look at them.
        if *machine == "mips-nan2008" {
            continue;
        }
        // Without the mathematical library much is undefined, lazy stubs among it.
        let users: Vec<String> =
            root.files.iter().filter(|file| file.contains("libstdc++")).cloned().collect();
        if let Some(libm) = root.files.iter().find(|file| file.contains("/libm.so.6")) {
            std::fs::remove_file(root.lab.path(libm.trim_start_matches('/'))).expect("a file");
            bindings += root.compare(&users, &format!("{machine} without libm"), &mut tally);
        }
    }
    println!("emulated loaders: {emulated} machines, {bindings} bindings");
    assert!(emulated >= 12, "{emulated} machines");
    tally.finish("emulated loaders");
}
