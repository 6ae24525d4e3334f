//! `mixed-runtime` about a libc.so.6 and the ld.so that starts its program. The kernel runs the
//! programs.

use super::{evidence, real};
use crate::support::debian::{self, Debian};
use crate::support::report::{Report, text};
use crate::support::{self, Lab, clean, skip};

use serde_json::Value;

/// A libc.so.6 of another release, found by RUNPATH. The program fails under the system's ld.so,
/// and runs under the ld.so beside that libc.
#[test]
fn a_libc_under_the_loader_of_another_build() {
    let fetched = Debian::new("trixie", "amd64").and_then(|debian| debian.fetch(&["libc6"]));
    let packages = match fetched {
        Ok(packages) => packages,
        Err(reason) => return skip("processes: libc6 of trixie", &reason),
    };
    let lab = Lab::new();
    debian::unpack_merged(&packages, &lab.path("root")).expect("packages that unpack");
    let store = lab.mkdir("store");
    for name in ["libc.so.6", "ld-linux-x86-64.so.2"] {
        let file = lab.path("root/usr/lib/x86_64-linux-gnu").join(name);
        std::fs::copy(&file, store.join(name)).expect("a file of libc6");
    }
    let main = "int main(void) { return 0; }";
    let runpath = format!("-Wl,-rpath,{}", store.display());
    let own = format!("-Wl,--dynamic-linker={}", store.join("ld-linux-x86-64.so.2").display());
    lab.exe("mixed", main, &[&runpath]);
    lab.exe("whole", main, &[&runpath, &own]);
    let found = |program: &str, options: &[&str]| {
        let report = Report::of(support::linkaudit().args(options).arg(lab.path(program)));
        let of_rule: Vec<&Value> = report.of_rule("mixed-runtime").collect();
        of_rule.iter().map(|finding| text(&finding["detail"]).to_owned()).collect::<Vec<_>>()
    };
    let runs = |program: &str| {
        let status = clean(lab.path(program)).stderr(std::process::Stdio::null()).status();
        status.expect("the kernel starts it").success()
    };
    assert_eq!((found("mixed", &[]), runs("mixed")), (vec!["ld.so".to_owned()], false));
    assert_eq!((found("whole", &[]), runs("whole")), (vec![], true));
    // `ldd` runs the system's loader for either.
    assert_eq!(found("whole", &["--as-ldd"]), ["ld.so"]);
}

/// An image in which links became copies: the ld.so of the program and the one beside libc.so.6 are
/// equal.
#[test]
fn a_libc_under_a_copy_of_its_own_loader() {
    let lab = Lab::new();
    let system = real("/lib64/ld-linux-x86-64.so.2");
    let store = lab.mkdir("store");
    let loader = store.join("ld-linux-x86-64.so.2");
    std::fs::copy(&system, &loader).expect("the system's loader");
    std::fs::copy(system.with_file_name("libc.so.6"), store.join("libc.so.6")).expect("its libc");
    let runpath = format!("-Wl,-rpath,{}", store.display());
    let program = lab.exe("copies", "int main(void) { return 0; }", &[&runpath]);
    let count = || Report::of(support::linkaudit().arg(&program)).of_rule("mixed-runtime").count();
    assert!(clean(&program).status().expect("the kernel starts it").success());
    assert_eq!(count(), 0);
    // The same size with other content is another build.
    let mut bytes = std::fs::read(&loader).expect("the copy");
    *bytes.last_mut().expect("a loader is not empty") ^= 1;
    std::fs::write(&loader, bytes).expect("the copy");
    assert_eq!(count(), 1);
    // Only the files that the process loads are listed as loaded.
    let report = Report::of(support::linkaudit().arg(&program));
    let finding = report.of_rule("mixed-runtime").next().expect("a finding");
    let one = |kind, at: usize| real(text(&evidence(finding, kind)[at]["path"]));
    assert_eq!((evidence(finding, "copy").len(), one("copy", 1)), (2, system));
    assert_eq!(one("candidate", 0), real(&loader.to_string_lossy()));
}
