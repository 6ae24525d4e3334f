//! Sysroots of Debian releases, unpacked and never configured, under `--root`. For every file,
//! linkaudit's output must equal that of the release's own loader in a chroot.
//!
//! The audited copy lacks ld.so.cache and the links of a merged `/usr`; the loader's copy has the
//! links. So one side may open a library below `/lib`, and the other the same library below
//! `/usr/lib`. The comparison treats both paths as one file.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::debian;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use debian::Debian;
use support::{Lab, Tally, clean, normalise, skip};

const FEW: &[&str] = &["bash", "coreutils", "git", "openssh-client"];
/// With their dependencies, some 340 packages.
const MANY: &[&str] = &[
    "bash",
    "coreutils",
    "curl",
    "ffmpeg",
    "gdb",
    "git",
    "imagemagick",
    "nginx",
    "openssh-client",
    "postgresql-client",
    "python3-numpy",
    "vim",
];
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
const SINGLE: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

#[test]
fn bookworm() {
    compare("bookworm");
}

#[test]
fn trixie() {
    compare("trixie");
}

#[test]
fn bullseye() {
    compare("bullseye");
}

#[test]
fn sid() {
    compare("sid");
}

fn compare(suite: &str) {
    let chroot = clean("chroot").args(["/", "true"]).status();
    if !chroot.is_ok_and(|status| status.success()) {
        return skip("debian_roots", "needs root for chroot");
    }
    let packages = match std::env::var_os("LINKAUDIT_ROOTS") {
        Some(_) => MANY,
        None => FEW,
    };
    let fetched = Debian::new(suite, "amd64").and_then(|debian| debian.fetch(packages));
    let files = match fetched {
        Ok(files) => files,
        Err(reason) => return skip(&format!("debian_roots: {suite}"), &reason),
    };
    let lab = Lab::new();
    let (root, copy) = (lab.path("root"), lab.path("copy"));
    debian::unpack(&files, &root).expect("packages that unpack");
    debian::unpack_merged(&files, &copy).expect("packages that unpack");
    // Later releases carry the links in a package.
    for name in SINGLE {
        if root.join(name).is_symlink() {
            std::fs::remove_file(root.join(name)).expect("a link");
        }
    }
    let list = elf_files(&root);
    assert!(list.len() > 100, "{} files are no release", list.len());
    let mut ours = ours(&root, &list);
    let mut tally = Tally::default();
    for file in &list {
        let theirs = theirs(&copy, file);
        tally.compare(file, &merged(&ours.remove(file).unwrap_or_default()), &merged(&theirs));
    }
    println!("{suite}: {} packages", files.len());
    tally.finish(&format!("debian roots: {suite}"));
}

/// Paths inside of the 64-bit programs and libraries below `root`.
fn elf_files(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(root).into_iter().flatten() {
        let mut head = [0; 20];
        let is_elf = entry.file_type().is_file()
            && std::fs::File::open(entry.path()).is_ok_and(|mut f| f.read_exact(&mut head).is_ok())
            && head.starts_with(b"\x7fELF\x02")
            && matches!(head[16], 2 | 3);
        if is_elf {
            let inside = entry.path().strip_prefix(root).expect("a path below the root");
            files.push(format!("/{}", inside.to_str().expect("a name in UTF-8")));
        }
    }
    files.sort();
    files
}

fn ours(root: &Path, list: &[String]) -> BTreeMap<String, String> {
    let lab = Lab::new();
    let names: PathBuf = lab.write("list", list.join("\n"));
    let mut command = support::linkaudit();
    command.arg("--root").arg(root).args(["--as-ldd", "--format", "ldd", "--files-from"]);
    let output = command.arg(names).output().expect("linkaudit runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut answers: BTreeMap<String, String> = BTreeMap::new();
    let mut next = list.iter().peekable();
    let mut here = String::new();
    for line in text.lines() {
        if next.next_if(|file| line == format!("{file}:")).is_some() {
            line.trim_end_matches(':').clone_into(&mut here);
        } else {
            let answer = answers.entry(here.clone()).or_default();
            answer.push_str(line);
            answer.push('\n');
        }
    }
    answers
}

fn theirs(copy: &Path, file: &str) -> String {
    let verify = clean("chroot").arg(copy).args([LOADER, "--verify", file]).output();
    if !matches!(verify.expect("chroot runs").status.code(), Some(0 | 2)) {
        return "\tnot a dynamic executable\n".to_owned();
    }
    let variables = ["-i", "LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes", "LD_BIND_NOW=yes"];
    let mut command = clean("chroot");
    command.arg(copy).arg("/usr/bin/env").args(variables).args([LOADER, file]);
    let output = command.output().expect("chroot runs");
    let text = [output.stdout, output.stderr].concat();
    normalise(&String::from_utf8_lossy(&text))
}

/// The text with the paths of a merged `/usr`: `/usr/lib` for `/lib`.
fn merged(text: &str) -> String {
    let mut out = text.to_owned();
    for name in SINGLE {
        for before in ["=> ", "\t", "(", " "] {
            out = out.replace(&format!("{before}/{name}/"), &format!("{before}/usr/{name}/"));
        }
    }
    out
}
