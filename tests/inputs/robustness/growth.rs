//! Inputs that once took quadratic time. Each must end within a few seconds of processor time, too
//! few for quadratic time, also without optimisation. `benches/growth.sh` measures slopes.

use super::tiny::Tiny;
use super::{ended, limited};
use crate::support::Lab;
use std::fmt::Write as _;

const MANY: usize = 20_000;

/// A run within `seconds` of the processor; a run that takes longer is killed.
fn quick(lab: &Lab, seconds: u32, args: &[&str], expected: i32) -> String {
    let output = limited(lab, &format!("ulimit -t {seconds};"), args).output().expect("a run");
    let (status, error) = ended(&output);
    assert_eq!(status, expected, "{args:?}: {error:.2000}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn policy(lab: &Lab, entry: impl Fn(usize) -> String) {
    let mut text = "schema = 1\n".to_owned();
    for number in 0..MANY {
        let entry = entry(number);
        let _ = write!(text, "[[waive]]\n{entry}\nreason = \"known\"\n");
    }
    lab.write("policy.toml", text);
}

#[test]
fn policies_of_many_entries() {
    let lab = Lab::new();
    policy(&lab, |number| format!("rule = \"undefined-symbol\"\nsymbol = \"f{number}\""));
    quick(&lab, 20, &["policy", "check", "policy.toml"], 0);
    quick(&lab, 20, &["policy", "show", "policy.toml"], 0);
    policy(&lab, |number| format!("rule = \"undefined-symbol\"\nsymbl = \"f{number}\""));
    quick(&lab, 20, &["policy", "check", "policy.toml"], 2);
}

#[test]
fn waivers_and_baselines_against_findings() {
    let lab = Lab::new();
    let refers = (0..MANY).map(|number| format!("f{number}")).collect();
    let library = Tiny { refers, ..Tiny::library("lib.so", Vec::<String>::new()) };
    lab.write("p/lib.so", library.bytes());
    let args = ["p", "--policy", "policy.toml"];
    for glob in ["", "*"] {
        policy(&lab, |number| format!("rule = \"undefined-symbol\"\nsymbol = \"f{number}{glob}\""));
        quick(&lab, 40, &args, 0);
    }
    // None of them matches a finding, and each is about an audited file.
    policy(&lab, |number| {
        format!("rule = \"missing-library\"\npath = \"p/lib.s*\"\nlibrary = \"l{number}\"")
    });
    let text =
        quick(&lab, 40, &["--policy", "policy.toml", "-A", "symbol", "--prefix", ".", "p"], 0);
    assert!(text.contains("20000 warnings"), "{text:.2000}");
    quick(&lab, 20, &["--isolated", "-q", "p", "--write-baseline", "known"], 1);
    quick(&lab, 20, &["--isolated", "p", "--baseline", "known", "--fail-on-stale"], 0);
}

#[test]
fn archives_of_equal_members() {
    let lab = Lab::new();
    let made = lab.sh("printf 'void f(void){g();}' | cc -w -O0 -c -x c -o m.o -");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let member = std::fs::read(lab.path("m.o")).expect("an object");
    let archive = |count: usize| {
        let head =
            format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "m.o/", 0, 0, 0, 644, member.len());
        let mut bytes = b"!<arch>\n".to_vec();
        for _ in 0..count {
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(&member);
            bytes.resize(bytes.len().next_multiple_of(2), b'\n');
        }
        bytes
    };
    lab.write("lib.a", archive(MANY));
    quick(&lab, 30, &["archive", "lib.a", "--all-members", "--format", "json"], 0);
    let parts = 3_000;
    let mut list = "set(PARTS\n".to_owned();
    for number in 0..parts {
        lab.write(&format!("parts/lib{number}.a"), archive(1));
        let _ = writeln!(list, "  {number}");
    }
    lab.write("list.cmake", list + ")\n");
    lab.write("p/libmerged.a", archive(parts));
    let entry = "[[archive]]\nmatch = \"**/libmerged.a\"\ndeps-list = \"list.cmake\"\nfrom = { PARTS = \"parts\" }\n";
    lab.write("policy.toml", format!("schema = 1\n{entry}"));
    quick(&lab, 30, &["p", "--policy", "policy.toml", "--fail-on", "never"], 0);
}

/// Each library refers to a symbol of the next, the last to one of the first, and to an undefined
/// one.
#[test]
fn a_chain_of_libraries() {
    let lab = Lab::new();
    let count = 6_000;
    for number in 0..count {
        let next = Some(number + 1).filter(|next| *next < count);
        let needs = next.map(|next| format!("l{next}.so"));
        let library = Tiny::library(&format!("l{number}.so"), needs);
        let library = library.runpath("$ORIGIN").defines(&format!("f{number}"));
        let library = library.refers(&format!("f{}", next.unwrap_or(0))).refers("gone");
        lab.write(&format!("l{number}.so"), library.bytes());
    }
    let text = quick(&lab, 40, &["--isolated", "l0.so"], 1);
    assert!(text.contains("6000 findings"), "{text:.4000}");
}
