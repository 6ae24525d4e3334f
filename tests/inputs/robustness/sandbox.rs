//! The sandbox starts before threads and before audited files are read, and changes no answer.

use super::ended;
use super::strace::{self, name};
use super::tiny::Tiny;
use crate::support::Lab;

const CALLS: &str = "clone,clone3,openat,landlock_restrict_self,seccomp";

fn lab() -> Lab {
    let lab = Lab::new();
    for n in 0..20 {
        let next = format!("lib{}.so", n + 1);
        lab.write(&format!("p/lib{n}.so"), Tiny::library(&format!("lib{n}.so"), [next]).bytes());
    }
    lab.mkdir("out");
    lab
}

#[test]
fn it_comes_first() {
    let lab = lab();
    for (setting, count) in [("auto", 1), ("off", 0)] {
        let args = ["--isolated", "--sandbox", setting, "-o", "json=out/report", "p"];
        let (output, calls) = strace::linkaudit(&lab.root(), &args, CALLS);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let at = |wanted: &dyn Fn(&str) -> bool| calls.iter().position(|call| wanted(call));
        for call in ["landlock_restrict_self", "seccomp"] {
            let made = calls.iter().filter(|made| name(made) == call);
            assert_eq!(made.count(), count, "{setting}: {calls:#?}");
        }
        let Some(seccomp) = at(&|call| name(call) == "seccomp") else { continue };
        let first_thread = at(&|call| name(call).starts_with("clone"));
        assert!(first_thread.is_some_and(|thread| seccomp < thread), "{calls:#?}");
    }
}

#[test]
fn answers_are_the_same() {
    let lab = lab();
    lab.write("list", "p/lib3.so\np/lib4.so\n");
    let cases: [&[&str]; 7] = [
        &["p"],
        &["--files-from", "list", "--facts"],
        &["--root", ".", "p", "--lib-path", "p"],
        &["--root", ".", "--staged", "p"],
        &["tree", "p"],
        &["why", "lib7.so", "p"],
        &["archive", "p/absent.a", "--root-object", "p/lib3.so"],
    ];
    for case in cases {
        let run = |setting: &str, more: &[&str]| {
            let args = [&["--isolated", "--format", "json", "--sandbox", setting], case, more];
            lab.linkaudit(&args.concat())
        };
        let (with, without) = (run("auto", &[]), run("off", &[]));
        assert_eq!(ended(&with), ended(&without), "{case:?}");
        assert_eq!(with.stdout, without.stdout, "{case:?}");
        // Into another directory, over a file, and into a path that is not a regular file.
        for output in ["out/new", "out/new", "/dev/null"] {
            assert_eq!(
                ended(&run("auto", &["-o", &format!("json={output}")])),
                ended(&without),
                "{case:?} to {output}"
            );
        }
    }
    println!("{} runs with and without the sandbox, 0 differences", cases.len());
}
