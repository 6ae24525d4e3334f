//! The defect that linkaudit was written for, in miniature and in a real Nix store: a library
//! linked from a merged archive that lacks some parts, and a program that depends on it.
//!
//! `nix-build` builds the items from `nix_store/birth.nix` without sandbox, network or nixpkgs.
//! They stay in the store until it is garbage-collected.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::report;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use report::{Report, evidence, text, whole_path};
use serde_json::Value;
use support::{Lab, skip};

const EXPRESSIONS: &str = include_str!("nix_store/birth.nix");

/// The undefined symbols, in the order of the report.
const LACKING: [&str; 5] = [
    "LLVMInitializeX86AsmParser",
    "LLVMInitializeX86AsmPrinter",
    "LLVMInitializeX86Target",
    "LLVMInitializeX86TargetInfo",
    "LLVMInitializeX86TargetMC",
];

/// The store, with the facts that a build needs.
struct Store {
    lab: Lab,
}

impl Store {
    /// `None` if no item can be built here.
    fn open() -> Option<Self> {
        if !support::has("nix-build") {
            skip("nix_store_without_nix", "there is no nix-build");
            return None;
        }
        let lab = Lab::new();
        lab.write("birth.nix", EXPRESSIONS);
        lab.write(
            "nix.conf",
            "build-users-group =\nsandbox = false\nsubstitute = false\nsubstituters =\n",
        );
        let store = Self { lab };
        match store.try_build("zlib", &[]) {
            Ok(_) => Some(store),
            Err(reason) if !is_root() => {
                skip("nix_store", &reason);
                None
            }
            Err(reason) => panic!("nix-build: {reason}"),
        }
    }

    fn try_build(&self, item: &str, options: &[&str]) -> Result<PathBuf, String> {
        let mut command = support::clean("nix-build");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("NIX_") {
                command.env_remove(name);
            }
        }
        let output = command
            .env("NIX_CONF_DIR", self.lab.root())
            .env("NIX_REMOTE", "")
            .args(["--no-out-link", "-A", item])
            .args(options.iter().flat_map(|option| ["--arg", option, "true"]))
            .arg(self.lab.path("birth.nix"))
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end()))
    }

    fn build(&self, item: &str, options: &[&str]) -> PathBuf {
        self.try_build(item, options).unwrap_or_else(|error| panic!("{item}: {error}"))
    }

    /// The output of `nix-store -qR`.
    fn requisites(&self, item: &Path) -> Vec<u8> {
        self.query("nix-store", &["-qR"], item)
    }

    /// The output of `nix path-info`.
    fn path_info(&self, item: &Path) -> Vec<u8> {
        let features = ["--extra-experimental-features", "nix-command", "path-info"];
        self.query("nix", &[&features[..], &["--json", "--recursive"]].concat(), item)
    }

    fn query(&self, program: &str, args: &[&str], item: &Path) -> Vec<u8> {
        let mut command = support::clean(program);
        command.env("NIX_CONF_DIR", self.lab.root()).env("NIX_REMOTE", "").args(args).arg(item);
        let output = command.output().expect("Nix runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    fn audit(&self, args: &[&str], path: &Path) -> Report {
        Report::of(support::linkaudit().current_dir(self.lab.root()).args(args).arg(path))
    }
}

fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|process| process.uid() == 0)
}

#[test]
fn nix_store() {
    let Some(store) = Store::open() else { return };
    library(&store);
    program(&store);
    complete(&store);
    ghost(&store);
    closure(&store);
}

/// The closure as Nix lists it. The compiler's archives are not runtime references: the report
/// names the archive if the inputs of the build are given with `--lib-path`.
fn closure(store: &Store) {
    for (options, undefined) in [(&["complete"][..], 0), (&[][..], LACKING.len())] {
        let program = store.build("program", options);
        let (old, new) = (store.requisites(&program), store.path_info(&program));
        let inputs = store.build("archives", &[]).join("lib");
        for list in [&old, &new] {
            store.lab.write("closure", list);
            let inputs = inputs.to_str().expect("a store path in UTF-8");
            let options = ["--policy", "nix", "--nix-closure", "closure", "--lib-path", inputs];
            let mut command = support::linkaudit();
            let report = Report::of(command.current_dir(store.lab.root()).args(options));
            let found: Vec<&Value> = report.of_rule("undefined-symbol").collect();
            assert_eq!(found.len(), undefined, "{}", report.outline());
            assert_eq!(report.findings().count(), undefined, "{}", report.outline());
            let named = found.iter().all(|finding| evidence(finding, "candidate").count() == 1);
            assert!(named, "{}", report.outline());
        }
    }
}

/// The library alone: exactly the five symbols, and their archives if these are given.
fn library(store: &Store) {
    let item = store.build("math", &[]);
    for path in [item.clone(), item.join("lib/libmath.so.1"), item.join("lib")] {
        let report = store.audit(&[], &path);
        exactly_the_five(&report, &item);
        assert!(report.complete(), "{}", report.outline());
    }
    // The linker let it pass and so does the loader's own checker, as far as the exit status goes.
    let real = support::ldd_r(&item, "lib/libmath.so.1.0".as_ref());
    for symbol in LACKING {
        assert!(real.contains(&format!("undefined symbol: {symbol}\t")), "{real}");
    }
    assert_eq!(real.matches("undefined symbol").count(), LACKING.len(), "{real}");
    candidates(store, &item);
}

/// The program: the same five findings about the library's item, with the chain from the program.
fn program(store: &Store) {
    let (item, library) = (store.build("program", &[]), store.build("math", &[]));
    for path in [item.clone(), item.join("bin/program")] {
        let report = store.audit(&[], &path);
        exactly_the_five(&report, &library);
        for finding in report.findings() {
            let hops: Vec<PathBuf> =
                evidence(finding, "chain").map(|hop| report::path(&hop["path"])).collect();
            let real = [item.join("bin/program"), library.join("lib/libmath.so.1.0")];
            assert_eq!(hops, real, "{finding}");
            assert_eq!(report::path(&finding["root"]), real[0], "{finding}");
        }
    }
    // An audit of both gives the same facts, and names the first entry point in byte order.
    let both = Report::of(support::linkaudit().args([&library, &item]));
    exactly_the_five(&both, &library);
}

/// With a complete list there are no findings.
fn complete(store: &Store) {
    for name in ["math", "program"] {
        let item = store.build(name, &["complete"]);
        let report = store.audit(&["--require-elf", "--policy", "nix"], &item);
        assert_eq!(report.findings().count(), 0, "{}", report.outline());
        assert_eq!(report.status, 0, "{}", report.outline());
        assert!(report.complete());
    }
    let program = store.build("program", &["complete"]).join("bin/program");
    let run = support::clean(program).arg("create").status().expect("the program runs");
    assert!(run.success(), "what linkaudit calls good does not run: {run}");
}

/// A further needed library does not exist: it might define `ghostly`. By the built-in policy,
/// archives define the five symbols.
fn ghost(store: &Store) {
    let item = store.build("math", &["ghost"]);
    let report = store.audit(&[], &item);
    assert_eq!(report.status, 1);
    let missing: Vec<&Value> = report.of_rule("missing-library").collect();
    let [missing] = missing[..] else { panic!("{}", report.outline()) };
    assert_eq!(missing["library"], "libghost.so.7");
    assert_eq!(whole_path(missing), item.join("lib/libmath.so.1.0"));
    let explained: Vec<&str> =
        evidence(missing, "explained").map(|entry| text(&entry["symbol"])).collect();
    assert_eq!(explained, ["ghostly"], "{}", report.outline());
    assert_eq!(report.total("explained"), 1);
    let undefined = report.of_rule("undefined-symbol");
    let undefined: Vec<&str> = undefined.map(|finding| text(&finding["symbol"])).collect();
    assert_eq!(undefined, LACKING, "{}", report.outline());
    assert_eq!(report.findings().count(), 1 + LACKING.len());
    candidates(store, &item);
}

/// With the archives given, each of the five is an undefined symbol of its own, with the archive
/// and the member that define it.
fn candidates(store: &Store, item: &Path) {
    let archives = store.build("archives", &[]).join("lib");
    let at_hand = archives.to_str().expect("a store path in UTF-8");
    let report = store.audit(&["--lib-path", at_hand], item);
    let undefined: Vec<&Value> = report.of_rule("undefined-symbol").collect();
    let symbols: Vec<&str> = undefined.iter().map(|finding| text(&finding["symbol"])).collect();
    assert_eq!(symbols, LACKING, "{}", report.outline());
    for finding in undefined {
        let symbol = text(&finding["symbol"]);
        let part = symbol.strip_prefix("LLVMInitialize").expect("a name of that shape");
        let archive = match part {
            "X86TargetInfo" => "libLLVMX86Info.a",
            "X86TargetMC" => "libLLVMX86Desc.a",
            "X86AsmParser" => "libLLVMX86AsmParser.a",
            _ => "libLLVMX86CodeGen.a",
        };
        let found: Vec<(PathBuf, &str)> = evidence(finding, "candidate")
            .map(|candidate| (report::path(&candidate["path"]), text(&candidate["member"])))
            .collect();
        assert_eq!(found, [(archives.join(archive), &*format!("{part}.o"))], "{finding}");
    }
}

fn exactly_the_five(report: &Report, library: &Path) {
    let symbols: Vec<&str> = report.findings().filter_map(|f| f["symbol"].as_str()).collect();
    assert_eq!(symbols, LACKING, "{}", report.outline());
    assert_eq!(report.findings().count(), LACKING.len(), "{}", report.outline());
    assert_eq!(report.status, 1);
    for finding in report.findings() {
        assert_eq!(finding["rule"], "undefined-symbol");
        assert_eq!(finding["level"], "error");
        assert_eq!(finding["when"], "call", "functions of a library that is not bound now");
        assert_eq!(report::path(&finding["prefix"]), library);
        assert_eq!(finding["path"], "lib/libmath.so.1.0");
    }
}
