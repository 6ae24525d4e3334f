//! Threads that the system does not grant: the run uses those that it gets, and gives the same
//! report.

use super::report::Report;
use super::tiny::Tiny;
use super::{ended, limited};
use crate::support::{self, Lab};

/// More files than one batch of the walk, in a directory and below `--lib-path`.
fn lab() -> Lab {
    let lab = Lab::new();
    for n in 0..100 {
        let library = Tiny::library(&format!("lib{n}.so"), ["libabsent.so"]).refers("absent");
        lab.write(&format!("p/lib{n}.so"), library.bytes());
        let provider = Tiny::library(&format!("libgiven{n}.so"), Vec::<String>::new());
        lab.write(&format!("more/libgiven{n}.so"), provider.defines("absent").bytes());
    }
    lab
}

const ARGS: [&str; 5] = ["p", "--lib-path", "more", "--format", "json"];

#[test]
fn a_limit_of_address_space_takes_threads_and_nothing_else() {
    let lab = lab();
    let plain = Report::of(support::linkaudit().current_dir(lab.root()).args(&ARGS[..3]));
    let mut cases = 0;
    for kilobytes in [2_097_152, 1_000_000, 500_000, 300_000, 200_000] {
        for jobs in ["1", "2", "64", "10000"] {
            let limits = format!("ulimit -v {kilobytes};");
            let args = [&ARGS[..], &["-j", jobs]].concat();
            let report = Report::from(limited(&lab, &limits, &args).output().expect("a run"));
            assert_eq!(report.bytes, plain.bytes, "{kilobytes} KB, -j {jobs}");
            cases += 1;
        }
    }
    println!("limits of address space: {cases} runs, 0 differences");
}

/// Root may have any number of processes, so the run belongs to another user without processes.
#[test]
fn no_thread_at_all() {
    const USER: &str = "61234";
    let lab = lab();
    let run = |prefix: &[&str]| {
        let mut command = support::clean(prefix[0]);
        command.current_dir(lab.root()).args(&prefix[1..]);
        command.args(if prefix.len() > 1 { &[env!("CARGO_BIN_EXE_linkaudit")][..] } else { &[] });
        command.args(ARGS).args(["-j", "4"]).output().expect("a run")
    };
    let plain = run(&[env!("CARGO_BIN_EXE_linkaudit")]);
    let user = format!("--reuid={USER}");
    let setpriv = ["setpriv", &user, "--clear-groups"];
    let probe = support::clean("prlimit").args(["--nproc=1"]).args(setpriv).arg("true").output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        return support::skip("no_thread_at_all", "needs root, prlimit and setpriv");
    }
    let open = "chmod -R a+rX . && chmod a+x \"$0\"";
    let opened = support::clean("sh").current_dir(lab.root()).args(["-c", open, "."]).output();
    assert!(opened.is_ok_and(|opened| opened.status.success()));
    let none = run(&[&["prlimit", "--nproc=1"][..], &setpriv].concat());
    assert_eq!(ended(&none).0, 1, "{}", ended(&none).1);
    assert!(none.stdout == plain.stdout, "another report without threads");
}
