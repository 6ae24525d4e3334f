//! Changes between glibc releases, by rule: the same small sysroot under every release from 2.31 to
//! 2.43. Only the libc has the release number, and the loader binary has none, as before 2.33.
//! Available releases run in `debian_roots`, and `loader_cases` has recorded answers.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use support::Lab;

const FOO: &str = "int foo(void) { return 1; }";
const APP: &str = "int foo(void); int main(void) { return foo(); }";
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";
const LIBC: &str = "lib/x86_64-linux-gnu/libc.so.6";

/// A sysroot whose libc has the release number 2.`minor`, and whose loader has none.
fn root(lab: &Lab, minor: u32) {
    let mark = b"release version 2.";
    for (name, put) in [(LOADER, None), (LIBC, Some(minor))] {
        let mut bytes = std::fs::read(format!("/{name}")).expect("this machine's own");
        let found: Vec<usize> =
            (0..bytes.len() - mark.len()).filter(|at| bytes[*at..].starts_with(mark)).collect();
        assert!(!found.is_empty(), "{name} says its release");
        for at in found {
            match put {
                Some(minor) => {
                    let at = at + mark.len();
                    bytes[at..at + 2].copy_from_slice(minor.to_string().as_bytes());
                }
                None => bytes[at..at + mark.len()].fill(b'x'),
            }
        }
        lab.write(&format!("r/{name}"), bytes);
    }
}

/// The output of `--as-ldd --format ldd` for a file inside.
fn ldd(lab: &Lab, file: &str) -> String {
    let args = ["--root", "r", "--cpu", "x86-64-v3", "--as-ldd", "--format", "ldd", file];
    String::from_utf8(lab.linkaudit(&args).stdout).expect("UTF-8")
}

/// One change: texts of the answer before a release, and since it.
struct Switch {
    what: &'static str,
    since: u32,
    file: &'static str,
    before: &'static str,
    after: &'static str,
}

const SWITCHES: &[Switch] = &[
    Switch {
        what: "glibc-hwcaps subdirectories (dad90d5282)",
        since: 33,
        file: "/opt/hwcaps",
        before: "libfoo.so.1 => not found",
        after: "libfoo.so.1 => /opt/h/glibc-hwcaps/x86-64-v2/libfoo.so.1",
    },
    Switch {
        what: "no tls and platform subdirectories (6099908fb8)",
        since: 37,
        file: "/opt/legacy",
        before: "libfoo.so.1 => /opt/l/tls/libfoo.so.1",
        after: "libfoo.so.1 => not found",
    },
    Switch {
        what: "ENOTDIR does not end a path list (a8dcffb306)",
        since: 39,
        file: "/opt/notdir",
        before: "libfoo.so.1 => not found",
        after: "libfoo.so.1 => /opt/d/libfoo.so.1",
    },
    Switch {
        what: "the loader is always listed (8f8dd904c4)",
        since: 41,
        file: "/opt/nolibc.so",
        before: "\tlibfoo.so.1 => /opt/d/libfoo.so.1\n",
        after: "\t/lib64/ld-linux-x86-64.so.2\n",
    },
    Switch {
        what: "ldd resolves the program's own path for $ORIGIN (9b646f5dc9)",
        since: 42,
        file: "/linked",
        before: "libfoo.so.1 => not found",
        after: "libfoo.so.1 => /opt/d/libfoo.so.1",
    },
    Switch {
        what: "DT_RELR needs its marker (57292f5741)",
        since: 36,
        file: "/opt/relr",
        before: "libfoo.so.1 => /opt/d/libfoo.so.1",
        after: "DT_RELR without GLIBC_ABI_DT_RELR dependency",
    },
];

#[test]
fn every_switch_at_its_release() {
    let lab = Lab::new();
    build(&lab);
    let (mut cases, mut differences) = (0, Vec::new());
    for minor in 31..=43 {
        root(&lab, minor);
        for switch in SWITCHES {
            let text = ldd(&lab, switch.file);
            let (wanted, other) = if minor < switch.since {
                (switch.before, switch.after)
            } else {
                (switch.after, switch.before)
            };
            cases += 1;
            // A list of libraries may have the texts of both.
            let both = switch.since == 41 && minor >= 41;
            if !text.contains(wanted) || (text.contains(other) && !both) {
                differences.push(format!("2.{minor}: {}\n{text}", switch.what));
            }
        }
    }
    println!("release switches: {cases} cases, {} differences", differences.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn build(lab: &Lab) {
    lab.so("build/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1", "-nostdlib"]);
    let library = std::fs::read(lab.path("build/libfoo.so.1")).expect("the library");
    for dir in ["h/glibc-hwcaps/x86-64-v2", "l/tls", "d"] {
        lab.write(&format!("r/opt/{dir}/libfoo.so.1"), &library);
    }
    lab.write("r/opt/file", "a file where a directory is looked for");
    let exe = |out: &str, path: &str, more: &[&str]| {
        let path = format!("-Wl,-rpath,{path}");
        let flags = ["-Wl,--no-as-needed", "-Lbuild", "-l:libfoo.so.1", &path];
        lab.exe(out, APP, &[&flags, more].concat());
    };
    exe("r/opt/hwcaps", "/opt/h", &[]);
    exe("r/opt/legacy", "/opt/l", &[]);
    exe("r/opt/origin", "$ORIGIN/d", &[]);
    exe("r/opt/notdir", "/opt/link:/opt/d", &[]);
    lab.mkdir("r/opt/link/glibc-hwcaps/x86-64-v2");
    lab.mkdir("r/opt/link/tls");
    lab.link("/opt/file/x", "r/opt/link/libfoo.so.1");
    lab.link("/opt/origin", "r/linked");
    lab.so(
        "r/opt/nolibc.so",
        "int foo(void); int bar(void) { return foo(); }",
        &["-nostdlib", "-Wl,--no-as-needed", "-Lbuild", "-l:libfoo.so.1", "-Wl,-rpath,/opt/d"],
    );
    exe("r/opt/relr", "/opt/d", &["-Wl,-z,pack-relative-relocs"]);
    // The linker adds the marker itself; under another name, it is not a marker.
    let mut bytes = std::fs::read(lab.path("r/opt/relr")).expect("the program");
    let marker = b"GLIBC_ABI_DT_RELR";
    let at = bytes.windows(marker.len()).position(|window| window == marker);
    bytes[at.expect("the linker's marker") + marker.len() - 1] = b'X';
    lab.write("r/opt/relr", bytes);
}
