//! The static program of docs/static.md: how it is linked, that it runs in an empty root, and that
//! its output equals that of the dynamic one. It runs with `--include-ignored`; `LINKAUDIT_STATIC`
//! names a program that is built already. QEMU runs a program of another machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::kit::{Kit, Payload};
use super::nix;
use crate::support::rule_fixtures::Fixture;
use crate::support::{Lab, clean, skip};

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Upper bound for the program that is published, in bytes.
const MOST: u64 = 10_000_000;

/// The program, and true if it was built here by the command of the page.
fn program() -> (PathBuf, bool) {
    if let Some(built) = std::env::var_os("LINKAUDIT_STATIC") {
        return (built.into(), false);
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/static.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let command = page.lines().find(|line| line.starts_with("RUSTFLAGS=")).expect("the command");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("static");
    let run = clean("sh")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", &target)
        .args(["-ec", command])
        .output()
        .expect("sh runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && !said.contains("warning"), "{said}");
    (target.join(TARGET).join("dist/linkaudit"), true)
}

fn output(command: &mut Command) -> String {
    let run = command.output().expect("it runs");
    String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr)
}

#[test]
#[ignore = "builds the program with all optimisations"]
fn static_program() {
    let (program, is_published) = program();
    let emulator = emulator(&program);
    linked_statically(&program, is_published);
    says_the_same(&program, emulator);
    if emulator.is_none() {
        runs_alone(&program);
        runs_in_the_sandbox(&program);
    }
}

/// The emulator for a program of another machine; `None` for this machine's.
fn emulator(program: &Path) -> Option<&'static str> {
    let headers = output(clean("readelf").arg("-hW").arg(program));
    let machine = headers.lines().find_map(|line| line.trim().strip_prefix("Machine:"));
    match machine.expect("an ELF file").trim() {
        "AArch64" => Some("qemu-aarch64-static"),
        _ => None,
    }
}

fn linked_statically(program: &Path, is_published: bool) {
    let headers = output(clean("readelf").arg("-lW").arg(program));
    assert!(!headers.contains("INTERP"), "{headers}");
    assert!(!is_published || headers.contains("DYN (Position-Independent"), "{headers}");
    let dynamic = output(clean("readelf").arg("-dW").arg(program));
    assert!(!dynamic.contains("(NEEDED)"), "{dynamic}");
    let size = program.metadata().expect("it is there").len();
    println!("static program: {size} bytes");
    assert!(!is_published || size <= MOST, "{size} bytes are more than {MOST}");
}

/// JSON of both programs on all fixtures of rules.
fn says_the_same(program: &Path, emulator: Option<&str>) {
    let own = Path::new(env!("CARGO_BIN_EXE_linkaudit"));
    let mut count = 0;
    for fixture in Fixture::bad().into_iter().chain(Fixture::good()) {
        let built = fixture.build();
        let report = |program: &Path, emulator: Option<&str>| {
            let mut command = clean(emulator.map_or(program, Path::new));
            let run = command
                .args(emulator.map(|_| program))
                .current_dir(built.lab.root())
                .args(["--format", "json"])
                .args(&built.audit)
                .output()
                .expect("linkaudit runs");
            (run.status.code(), String::from_utf8_lossy(&run.stdout).into_owned())
        };
        let (dynamic, other) = (report(own, None), report(program, emulator));
        assert!(dynamic == other, "{} differs: {other:?}", fixture.name());
        count += 1;
    }
    println!("static and dynamic program: {count} cases, 0 differ");
}

/// A root with the payload and the program, and no libc, no shell, no /proc.
fn runs_alone(program: &Path) {
    let chroot = clean("chroot").args(["/", "true"]).status();
    if !chroot.is_ok_and(|status| status.success()) {
        return skip("static_program_alone", "needs root for chroot");
    }
    for (payload, status) in [(Payload::Broken, 1), (Payload::Fixed, 0)] {
        let kit = Kit::new(payload, &[]);
        kit.run(
            "make -s install DESTDIR=$LAB/alone
            for file in /lib64/ld-linux-x86-64.so.2 /usr/lib/x86_64-linux-gnu/libc.so.6; do
              install -D \"$(readlink -f $file)\" $LAB/alone$file
            done",
        )
        .expect(0);
        std::fs::copy(program, kit.lab.path("alone/linkaudit")).expect("a copy");
        let run = |command: &mut Command| {
            let run = command.args(["--isolated", "--format", "json"]).output().expect("it runs");
            assert_eq!(run.status.code(), Some(status), "{}", String::from_utf8_lossy(&run.stderr));
            run.stdout
        };
        let alone = run(clean("chroot").arg(kit.lab.path("alone")).args(["/linkaudit", "/usr"]));
        assert!(!alone.is_empty());
        let list = clean("chroot").arg(kit.lab.path("alone")).args(["/linkaudit", "hook"]).output();
        assert!(list.expect("it runs").status.success());
    }
}

/// A derivation whose builder is the program: the sandbox has no shell and no /lib64.
fn runs_in_the_sandbox(program: &Path) {
    let Some(_turn) = nix::turn("static_program_in_the_sandbox") else { return };
    let lab = Lab::new();
    lab.write(
        "nix.conf",
        "build-users-group =\nsandbox = true\nsubstitute = false\nsubstituters =\n",
    );
    std::fs::copy(program, lab.path("linkaudit")).expect("a copy");
    lab.write(
        "sandbox.nix",
        "derivation {
          name = \"sandboxed-audit\";
          system = \"x86_64-linux\";
          builder = \"${builtins.path { path = ./linkaudit; name = \"linkaudit\"; }}\";
          args = [ \"--isolated\" \"--require-elf\" \"-o\" \"json=${placeholder \"out\"}\"
                   \"${builtins.path { path = ./linkaudit; name = \"linkaudit\"; }}\" ];
        }",
    );
    let run = clean("nix-build")
        .env("NIX_CONF_DIR", lab.root())
        .env("NIX_REMOTE", "")
        .args(["--no-out-link"])
        .arg(lab.path("sandbox.nix"))
        .output()
        .expect("Nix runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    let item = String::from_utf8_lossy(&run.stdout).trim_end().to_owned();
    let report = std::fs::read_to_string(item).expect("a report");
    assert!(report.contains("linkaudit.report/1"), "{report}");
}
