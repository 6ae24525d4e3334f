//! Packages of Debian as stages over a system with all others: each is unpacked as by `dpkg -x`.
//! The oracle is the loader of the system with the package installed.

use super::debian::{Debian, unpack, unpack_merged};
use super::elf_file::with_lost_symbol;
use super::installed::Case;
use super::random::{Random, number};
use super::report::{Report, text};
use super::system::{has_chroot, ldconfig};
use crate::support::random::step;
use crate::support::{Lab, Tally, linkaudit, skip};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Programs and what they need.
const FEW: &[&str] = &["coreutils", "curl", "libc-bin", "nbdkit", "zsh"];
const MANY: &[&str] = &[
    "coreutils",
    "curl",
    "ffmpeg",
    "git",
    "imagemagick",
    "nbdkit",
    "nginx",
    "python3-numpy",
    "zsh",
];

/// Packages that are staged without the switch.
const FEW_STAGES: usize = 12;

/// Packages that every chroot needs to run a program.
const BASE: [&str; 3] = ["libc6_", "libc-bin_", "coreutils_"];

/// Installed paths of the 64-bit programs and libraries below a stage.
pub fn elf_files(stage: &Path) -> Vec<String> {
    let mut out = Vec::new();
    for entry in walkdir::WalkDir::new(stage).into_iter().flatten() {
        let mut head = [0; 20];
        let is_elf = entry.file_type().is_file()
            && std::fs::File::open(entry.path()).is_ok_and(|mut f| f.read_exact(&mut head).is_ok())
            && head.starts_with(b"\x7fELF\x02")
            && matches!(head[16], 2 | 3);
        if is_elf {
            let below = entry.path().strip_prefix(stage).expect("a path below the stage");
            let path = format!("/{}", below.to_str().expect("a name in UTF-8"));
            let links = ["/lib/", "/lib64/", "/bin/", "/sbin/"];
            let is_short = links.iter().any(|link| path.starts_with(link));
            out.push(if is_short { format!("/usr{path}") } else { path });
        }
    }
    out.sort();
    out
}

/// A line with the directories of a merged `/usr` by their own names.
fn merged(text: &str) -> String {
    let mut out = text.to_owned();
    for name in ["bin", "sbin", "lib", "lib64"] {
        for before in ["=> ", "\t", "(", " "] {
            out = out.replace(&format!("{before}/{name}/"), &format!("{before}/usr/{name}/"));
        }
    }
    out
}

/// Findings about some files, by installed path.
fn findings(args: &[&str], lab: &Lab, files: &[String]) -> Vec<String> {
    let mut command = linkaudit();
    command.current_dir(lab.path("c")).args(["--isolated", "--prefix", "/"]).args(args);
    let report = Report::of(&mut command);
    let word = |finding: &serde_json::Value| {
        let path = format!("/{}", text(&finding["path"]));
        let name = finding["symbol"].as_str().or(finding["library"].as_str()).unwrap_or_default();
        let is_here = files.contains(&path);
        is_here.then(|| format!("{} {path} {name}", text(&finding["rule"])))
    };
    let mut out: Vec<String> = report.findings().filter_map(word).collect();
    out.sort();
    out
}

/// Gives a file of the stage an undefined symbol, so that there are findings to compare.
fn lose_symbol(stage: &Path, installed: &str, random: &mut Random) {
    let places = [installed, installed.trim_start_matches("/usr")];
    let mut places = places.iter().map(|place| stage.join(place.trim_start_matches('/')));
    let place = places.find(|place| place.exists()).expect("a file of the stage");
    let bytes = std::fs::read(&place).expect("a file");
    std::fs::write(place, with_lost_symbol(bytes, |count| random.below(count))).expect("a write");
}

#[test]
fn each_package_over_all_others() {
    if !has_chroot() {
        return skip("staged", "needs root for chroot");
    }
    let many = std::env::var_os("LINKAUDIT_STAGES").is_some();
    let names = if many { MANY } else { FEW };
    let fetched = Debian::new("bookworm", "amd64").and_then(|debian| debian.fetch(names));
    let packages = match fetched {
        Ok(packages) => packages,
        Err(reason) => return skip("staged: bookworm", &reason),
    };
    let (mut tally, mut stages, mut found) = (Tally::default(), 0, 0);
    let mut order: Vec<&PathBuf> = packages.iter().collect();
    let mut random = Random::new(number("LINKAUDIT_SEED", 1));
    random.shuffle(&mut order);
    for package in order {
        if stages == FEW_STAGES / step(4) && !many {
            break;
        }
        let name = package.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if BASE.iter().any(|base| name.starts_with(base)) {
            continue;
        }
        let lab = Lab::new();
        let stage = lab.mkdir("c/stage0");
        unpack(std::slice::from_ref(package), &stage).expect("a package that unpacks");
        let files = elf_files(&stage);
        if files.is_empty() {
            continue;
        }
        stages += 1;
        let lost = random.below(files.len());
        lose_symbol(&stage, &files[lost], &mut random);
        let others: Vec<PathBuf> =
            packages.iter().filter(|other| *other != package).cloned().collect();
        let root = lab.mkdir("c/root");
        unpack_merged(&others, &root).expect("packages that unpack");
        ldconfig(&root);
        let case = Case { dir: "c".to_owned(), stages: 1, caches: true, files };
        let whole = case.install(&lab);
        let mut ours = case.ours(&lab);
        for file in &case.files {
            let theirs = super::system::traced(&whole, file);
            let own = ours.remove(file).unwrap_or_default();
            tally.compare(&format!("{name}: {file}"), &merged(&own), &merged(&theirs));
        }
        let before = findings(&["--root", "root", "--staged", "stage0"], &lab, &case.files);
        let after = findings(&["--root", "whole", "/"], &lab, &case.files);
        found += before.len();
        tally.compare(&format!("{name}: findings"), &before.join("\n"), &after.join("\n"));
    }
    assert!(found > 0, "no finding was compared");
    println!("{stages} stages of {} packages, {found} findings", packages.len());
    tally.finish("packages of Debian as stages");
}
