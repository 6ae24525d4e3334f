//! Published wheels with device code, pinned by hash: places, ids and sizes of bundles equal what
//! LLVM's tools read, and kernels equal `llvm-readobj --notes`. The default is the two smallest;
//! `LINKAUDIT_WHEELS=all` reads the large ones too, with the newest LLVM of Debian sid
//! (`newest`).

use super::newest;
use super::oracle::{bundler, llvm};
use crate::support::{self, Lab, clean, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A wheel: its requirement, and the Python and platform that it is for.
pub(super) struct Wheel {
    pub(super) requirement: &'static str,
    pub(super) python: &'static str,
    pub(super) platform: &'static str,
}

const WHEELS: &[Wheel] = &[
    Wheel {
        requirement: "jax-rocm7-plugin==0.10.2 \
            --hash=sha256:b3b48436c4536724213bcf152c2706674ef46ef85478b6870b2695d0ef3c69b9\n",
        python: "3.12",
        platform: "manylinux_2_27_x86_64",
    },
    Wheel {
        requirement: "jax-rocm60-plugin==0.5.0 \
            --hash=sha256:05414df017d473b77cae3b04e69d199cbdaa2ddb7cff0801edbae84f37a74308\n",
        python: "3.11",
        platform: "manylinux_2_28_x86_64",
    },
    Wheel {
        requirement: "jax-rocm60-pjrt==0.5.0 \
            --hash=sha256:e8097aa9dde2b759604e7b3f163e50dc83380968002e32fc770a8f91126d1b55\n",
        python: "3.11",
        platform: "manylinux_2_28_x86_64",
    },
    Wheel {
        requirement: "jax-rocm7-pjrt==0.12.0 \
            --hash=sha256:4551d0714523355f2946ca1958c3f584e95661e467a641d36b726f718a1c7934\n",
        python: "3.12",
        platform: "manylinux_2_27_x86_64",
    },
    Wheel {
        requirement: "onnxruntime-rocm==1.22.2.post3 \
            --hash=sha256:705596b48933446ae6766921c5c8a46ef42f0c735bf158b6eb44a60bf7f95230\n",
        python: "3.11",
        platform: "manylinux_2_34_x86_64",
    },
];

#[derive(Default)]
struct Tally {
    files: usize,
    bundles: usize,
    entries: usize,
    kernels: usize,
    newer: usize,
}

/// Processors that LLVM 19 does not know, so that its bundler cannot be asked for them.
const NEWER: [&str; 5] = ["gfx1153", "gfx950", "gfx1250", "gfx1251", "gfx9-4-generic"];

#[test]
fn wheels_as_llvm_reads_them() {
    if std::env::var("LINKAUDIT_WHEELS").is_ok_and(|which| which == "all") {
        return newest::wheels_as_the_newest_llvm_reads_them(WHEELS);
    }
    let lab = Lab::new();
    let (bundler, readobj) = match (bundler(&lab), llvm("llvm-readobj")) {
        (Ok(bundler), Some(readobj)) => (bundler, readobj),
        (Err(why), _) => return skip("wheels_as_llvm_reads_them", &why),
        (_, None) => return skip("wheels_as_llvm_reads_them", "no llvm-readobj from LLVM 19 on"),
    };
    let mut tally = Tally::default();
    for wheel in &WHEELS[..2] {
        let lab = Lab::new();
        if let Err(why) = fetch(&lab, wheel) {
            return skip("wheels_as_llvm_reads_them", &why);
        }
        let run = support::linkaudit()
            .current_dir(lab.root())
            .args(["gpu", "--deep", "--format", "json", "tree"])
            .output()
            .expect("linkaudit runs");
        assert!(matches!(run.status.code(), Some(0 | 1 | 3)), "{run:?}");
        let found = support::whole(&run.stdout);
        let files = found["files"].as_array().expect("files");
        assert!(!files.is_empty(), "{}: no device code", wheel.requirement);
        for file in files {
            compare(&lab, file, (&bundler, &readobj), &mut tally);
        }
    }
    println!(
        "wheels read by LLVM 19: {} files, {} bundles, {} entries, {} kernels, 0 differences; \
         {} entries only listed, for processors that it does not know",
        tally.files, tally.bundles, tally.entries, tally.kernels, tally.newer
    );
    assert!(tally.bundles > 0 && tally.entries > 0 && tally.kernels > 0);
}

pub(super) fn fetch(lab: &Lab, wheel: &Wheel) -> Result<(), String> {
    lab.write("requirements", wheel.requirement);
    let run = clean("python3")
        .current_dir(lab.root())
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"])
        .args(["--only-binary=:all:", "--dest=wheels", "--requirement=requirements"])
        .args(["--python-version", wheel.python, "--platform", wheel.platform])
        .output()
        .map_err(|error| error.to_string())?;
    if !run.status.success() {
        return Err(format!(
            "the wheel cannot be fetched: {}",
            String::from_utf8_lossy(&run.stderr)
        ));
    }
    let mut files = lab.path("wheels").read_dir().map_err(|error| error.to_string())?;
    let file = files.next().ok_or("no wheel")?.map_err(|error| error.to_string())?.path();
    let run = clean("python3")
        .args(["-m", "zipfile", "-e"])
        .args([&file, &lab.mkdir("tree")])
        .status()
        .map_err(|error| error.to_string())?;
    if run.success() { Ok(()) } else { Err("the wheel cannot be unpacked".to_owned()) }
}

fn compare(lab: &Lab, file: &Value, tools: (&Path, &str), tally: &mut Tally) {
    let path = PathBuf::from(file["path"].as_str().expect("a path"));
    let path = if path.is_absolute() { path } else { lab.path("tree").join(path) };
    let bytes = std::fs::read(&path).expect("a file");
    assert_eq!(file["faults"], Value::Array(Vec::new()), "{}", path.display());
    let bundles: Vec<&Value> = file["bundles"].as_array().expect("bundles").iter().collect();
    let own = |value: &Value| usize::try_from(value.as_u64().expect("a number")).expect("a size");
    // Every bundle is at a page, and its magic number occurs nowhere else at one.
    let starts: BTreeSet<usize> = bundles
        .iter()
        .filter(|b| matches!(b["kind"].as_str(), Some("bundle" | "ccob")))
        .map(|bundle| own(&bundle["offset"]))
        .collect();
    let is_magic = |at: &usize| {
        let rest = &bytes[*at..];
        rest.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") || rest.starts_with(b"CCOB")
    };
    let theirs: BTreeSet<usize> = (0..bytes.len()).step_by(4096).filter(is_magic).collect();
    assert_eq!(starts, theirs, "{}", path.display());
    tally.files += 1;
    for bundle in bundles {
        let (offset, size) = (own(&bundle["offset"]), own(&bundle["size"]));
        let mut content = bytes[offset..offset + size].to_vec();
        if bundle["kind"] == "ccob" && bundle["version"] == 3 {
            content = as_version_2(&content);
        }
        let part = lab.write("part", content);
        if bundle["kind"] == "elf" {
            kernels(&part, &bundle["entries"][0], tools.1, tally);
            continue;
        }
        one_bundle(lab, &part, bundle, tools, tally);
    }
}

/// The same payload with a header of version 2: LLVM 19 is older than version 3, whose header
/// differs in the width of its sizes.
fn as_version_2(content: &[u8]) -> Vec<u8> {
    let low = |at: usize| {
        assert_eq!(content[at + 4..at + 8], [0; 4], "less than 4 GiB");
        u32::from_le_bytes(content[at..at + 4].try_into().expect("four bytes"))
    };
    let mut out = b"CCOB\x02\0".to_vec();
    out.extend(&content[6..8]);
    out.extend((low(8) - 8).to_le_bytes());
    out.extend(low(16).to_le_bytes());
    out.extend(&content[24..]);
    out
}

/// Compares the listed ids, and each unbundled entry.
fn one_bundle(lab: &Lab, part: &Path, bundle: &Value, tools: (&Path, &str), tally: &mut Tally) {
    let entries = bundle["entries"].as_array().expect("entries");
    let input = format!("--input={}", part.display());
    let list = clean(tools.0).args(["--list", "--type=o", &input]).output().expect("it runs");
    assert!(list.status.success(), "{}", String::from_utf8_lossy(&list.stderr));
    let theirs: BTreeSet<String> =
        String::from_utf8_lossy(&list.stdout).lines().map(str::to_owned).collect();
    let id = |entry: &Value| entry["id"].as_str().expect("an id").to_owned();
    assert_eq!(entries.iter().map(id).collect::<BTreeSet<_>>(), theirs);
    tally.bundles += 1;
    for entry in entries.iter().filter(|entry| !entry["target"].is_null()) {
        if NEWER.contains(&entry["target"].as_str().unwrap_or_default()) {
            tally.newer += 1;
            continue;
        }
        let out = lab.path("out");
        let run = clean(tools.0)
            .args(["--unbundle", "--type=o", &input])
            .arg(format!("--output={}", out.display()))
            .arg(format!("--targets={}", id(entry)))
            .output()
            .expect("it runs");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let theirs = std::fs::read(&out).expect("an output");
        assert_eq!(entry["size"].as_u64(), Some(theirs.len() as u64), "{entry}");
        if bundle["kind"] == "bundle" {
            let bytes = std::fs::read(part).expect("the part");
            let at = usize::try_from(entry["offset"].as_u64().expect("an offset")).expect("a size");
            assert!(bytes[at..at + theirs.len()] == theirs, "{entry}");
        }
        kernels(&out, entry, tools.1, tally);
        tally.entries += 1;
    }
}

/// The kernels in the notes, as llvm-readobj prints them.
fn kernels(code: &Path, entry: &Value, readobj: &str, tally: &mut Tally) {
    let run = clean(readobj).arg("--notes").arg(code).output().expect("it runs");
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let name = |line: &str| {
        let name = line.strip_prefix("    .name:")?.trim();
        Some(name.trim_matches('\'').to_owned())
    };
    let theirs: Vec<String> = text.lines().filter_map(name).collect();
    let ours: Vec<String> = entry["kernels"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|kernel| kernel.as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(ours, theirs, "{entry}");
    tally.kernels += ours.len();
}
