//! Files that options name: FIFOs, devices and endless files are refused before they are read.
//! Messages show no lines of files that are not policies or lists.

use super::tiny::Tiny;
use super::{ended, limited};
use crate::support::Lab;
use std::time::{Duration, Instant};

const OPTIONS: [&[&str]; 5] = [
    &["--files-from"],
    &["p", "--baseline"],
    &["p", "--policy"],
    &["fix", "p/lib.so", "--emit", "cmake-deps", "--deps-list"],
    &["p", "--host"],
];

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("p/lib.so", Tiny::library("lib.so", ["libabsent.so"]).bytes());
    lab.sh("mkfifo fifo; truncate -s 8G holes; head -c 50000000 /dev/zero | tr '\\0' a > line");
    lab.mkdir("dir");
    lab
}

#[test]
fn files_that_would_block_or_never_end() {
    let lab = lab();
    let mut cases = 0;
    for file in ["fifo", "/dev/zero", "/dev/tty", "dir", "holes", "line", "absent"] {
        for option in OPTIONS {
            let args = [option, &[file]].concat();
            let start = Instant::now();
            let output = limited(&lab, "ulimit -v 2097152; ulimit -t 20;", &args).output();
            let (status, error) = ended(&output.expect("a run"));
            assert_eq!(status, 2, "{args:?}: {error}");
            assert!(error.len() < 4096 && error.contains(file), "{args:?}: {error:.400}");
            assert!(start.elapsed() < Duration::from_secs(10), "{args:?}: {:?}", start.elapsed());
            cases += 1;
        }
    }
    println!("files of options: {cases} cases, each ends with status 2");
}

#[test]
fn policies_show_no_lines_of_other_files() {
    let lab = Lab::new();
    lab.write("p/lib.so", Tiny::library("lib.so", Vec::<String>::new()).bytes());
    lab.write("secret", "token-4711:x:0:0\nroot = secret-4712\n");
    lab.write("other.toml", "[credentials]\ntoken-4711 = \"secret-4712\"\n");
    lab.write("torn.toml", "schema = 1\ntoken-4711 secret-4712\n");
    for name in ["secret", "other.toml", "torn.toml", "secret#tag", "/etc/passwd"] {
        lab.write("linkaudit.toml", format!("schema = 1\nextends = [\"{name}\"]\n"));
        let (status, error) = ended(&lab.linkaudit(&["p"]));
        assert_eq!(status, 2, "{name}: {error}");
        assert!(!error.contains("471") && !error.contains("root:"), "{name}: {error}");
        assert!(error.contains(name), "{error}");
    }
    // The errors of a policy are shown with their lines.
    lab.write("policy.toml", "schema = 1\nlevles = 4711\n");
    lab.write("linkaudit.toml", "schema = 1\nextends = [\"policy.toml\"]\n");
    let (status, error) = ended(&lab.linkaudit(&["p"]));
    assert!(status == 2 && error.contains("4711"), "{error}");
}
