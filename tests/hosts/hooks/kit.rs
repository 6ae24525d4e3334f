//! A laboratory with a small package in `src`, linkaudit on the PATH, and the files of one system
//! in `hook`. The library of the package lacks two functions, unless the payload is the fixed one.

use std::path::{Path, PathBuf};

use crate::support::{Lab, clean, linkaudit};

/// Definitions of the functions that the broken payload lacks.
const FIXED: &str =
    "void LLVMInitializeX86Target(void) {}\nvoid LLVMInitializeX86TargetInfo(void) {}\n";

/// A policy that waives all findings of the broken payload.
pub const WAIVER: &str = "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\n\
    path = \"**/libdemo.so*\"\nsymbol = \"LLVMInitializeX86*\"\nreason = \"a test\"\n";

/// The payload of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    Broken,
    Fixed,
}

pub struct Kit {
    pub lab: Lab,
    /// The lines before the command: variables of all runs.
    pub environment: String,
}

/// A finished run.
pub struct Ran {
    pub status: i32,
    /// Both streams, with the directory of the laboratory as `/build`.
    pub log: String,
}

impl Kit {
    /// The payload in `src`, and the files of `systems` in `hook`.
    pub fn new(payload: Payload, systems: &[&str]) -> Self {
        let kit = Self { lab: Lab::new(), environment: String::new() };
        copy(&payload_dir(), &kit.lab.path("src"));
        if payload == Payload::Fixed {
            kit.lab.write("src/fixed.h", FIXED);
        }
        // Another user may run it: a link into the build directory may be closed to them.
        kit.lab.mkdir("bin");
        std::fs::copy(env!("CARGO_BIN_EXE_linkaudit"), kit.lab.path("bin/linkaudit"))
            .expect("a copy of the program");
        kit.lab.mkdir("hook");
        for system in systems {
            kit.install(system, "hook");
        }
        kit
    }

    /// `linkaudit hook SYSTEM --install DIR`
    pub fn install(&self, system: &str, dir: &str) {
        let run = linkaudit()
            .args(["hook", system, "--install"])
            .arg(self.lab.path(dir))
            .output()
            .expect("linkaudit runs");
        assert!(run.status.success(), "{system}: {}", String::from_utf8_lossy(&run.stderr));
    }

    /// Runs a script of bash in `src`. linkaudit and the programs of the hook are on the PATH.
    pub fn run(&self, script: &str) -> Ran {
        let root = self.lab.root();
        let root = root.to_str().expect("a path in UTF-8");
        let whole = format!("exec 2>&1\nLAB={root}\n{}\n{script}\n", self.environment);
        let path = std::env::var("PATH").expect("a PATH");
        let output = clean("bash")
            .current_dir(self.lab.path("src"))
            .env("PATH", format!("{root}/bin:{root}/hook/usr/bin:{path}"))
            .env("HOME", root)
            .env("TMPDIR", root)
            .env_remove("MAKEFLAGS")
            .args(["-c", &whole])
            .output()
            .expect("bash runs");
        let log = String::from_utf8_lossy(&output.stdout).replace(root, "/build");
        Ran { status: output.status.code().unwrap_or(-1), log }
    }
}

impl Ran {
    /// Fails with the log unless the status is this one.
    #[track_caller]
    pub fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{}", self.log);
        self
    }

    /// Fails unless the log has the symbol that the broken payload lacks, and its last ten lines
    /// have the library and no command to run after it.
    #[track_caller]
    pub fn tells(self) -> Self {
        assert!(self.log.contains("LLVMInitializeX86TargetInfo"), "{}", self.log);
        self
    }

    /// The last ten lines.
    pub fn end(&self) -> String {
        let lines: Vec<&str> = self.log.trim_end().lines().map(str::trim_end).collect();
        lines[lines.len().saturating_sub(10)..].join("\n") + "\n"
    }
}

fn payload_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/hooks/payload")
}

/// Copies a directory with the modes of its files.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in from.read_dir().expect("a directory") {
        let entry = entry.expect("an entry");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            std::fs::copy(&source, &target).expect("a copy");
        }
    }
}
