//! Whole libraries of wheels as the newest LLVM reads them. From release 23 on, LLVM reads all
//! versions of compressed bundles. `llvm-objdump --offloading` lists and extracts the entries of
//! all bundles of a file, `clang-offload-bundler --list` lists those of one bundle, and
//! `llvm-readobj --notes` has targets and kernels.

use super::wheels::{Wheel, fetch};
use crate::support::debian::{self, Debian};
use crate::support::{self, Lab, clean, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// LLVM's tools of Debian sid, run by the loader of the same release.
struct Llvm {
    root: PathBuf,
    version: u32,
}

impl Llvm {
    fn newest(lab: &Lab) -> Result<Self, String> {
        let sid = Debian::new("sid", "amd64")?;
        let mut why = String::new();
        for version in (23..=27).rev() {
            let tools = [format!("llvm-{version}"), format!("libclang-cpp{version}")];
            let fetched = sid.fetch(&tools.each_ref().map(String::as_str)).and_then(|mut files| {
                files.extend(sid.download(&[&format!("clang-tools-{version}")])?);
                Ok(files)
            });
            match fetched {
                Ok(files) => {
                    let root = lab.mkdir("llvm");
                    debian::unpack(&files, &root)?;
                    return Ok(Self { root, version });
                }
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    fn tool(&self, name: &str) -> Command {
        let libraries = self.root.join("usr/lib/x86_64-linux-gnu");
        let mut command = clean(libraries.join("ld-linux-x86-64.so.2"));
        let own = self.root.join(format!("usr/lib/llvm-{}", self.version));
        command.arg("--library-path");
        command.arg(format!("{}:{}", libraries.display(), own.join("lib").display()));
        command.arg(own.join("bin").join(name));
        command
    }
}

#[derive(Default)]
struct Tally {
    files: usize,
    bundles: usize,
    entries: usize,
    kernels: usize,
    differences: Vec<String>,
}

pub(super) fn wheels_as_the_newest_llvm_reads_them(wheels: &[Wheel]) {
    let tools = Lab::new();
    let llvm = match Llvm::newest(&tools) {
        Ok(llvm) => llvm,
        Err(why) => return skip("wheels_as_llvm_reads_them", &why),
    };
    let mut tally = Tally::default();
    for wheel in wheels {
        let lab = Lab::new();
        if let Err(why) = fetch(&lab, wheel) {
            return skip("wheels_as_llvm_reads_them", &why);
        }
        let run = support::linkaudit()
            .current_dir(lab.root())
            .args(["gpu", "--deep", "--format", "json", "tree"])
            .output()
            .expect("linkaudit runs");
        let found = support::whole(&run.stdout);
        let files = found["files"].as_array().expect("files");
        assert!(!files.is_empty(), "{}: no device code", wheel.requirement);
        for file in files {
            compare(&lab, file, &llvm, &mut tally);
        }
    }
    println!(
        "wheels read by LLVM {}: {} wheels, {} files, {} bundles, {} entries, {} kernels, {} differences",
        llvm.version,
        wheels.len(),
        tally.files,
        tally.bundles,
        tally.entries,
        tally.kernels,
        tally.differences.len()
    );
    assert!(tally.kernels > 0 && tally.differences.is_empty(), "{:#?}", tally.differences);
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a number")).expect("a size")
}

fn compare(lab: &Lab, file: &Value, llvm: &Llvm, tally: &mut Tally) {
    let path = lab.root().join(file["path"].as_str().expect("a path"));
    let bytes = std::fs::read(&path).expect("a file");
    let shown = path.display().to_string();
    if file["faults"] != serde_json::json!([]) {
        tally.differences.push(format!("{shown}: {}", file["faults"]));
    }
    // The extracted entries lie beside the file.
    let run = llvm.tool("llvm-objdump").arg("--offloading").arg(&path).output().expect("it runs");
    assert!(run.status.success(), "{shown}: {}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let extracted: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("Extracting offload bundle: ")).collect();
    let bundles = file["bundles"].as_array().expect("bundles");
    let count: usize = bundles.iter().map(|b| b["entries"].as_array().map_or(0, Vec::len)).sum();
    if count != extracted.len() {
        tally.differences.push(format!("{shown}: {count} entries, {}", extracted.len()));
        return;
    }
    tally.files += 1;
    let mut next = extracted.into_iter();
    for bundle in bundles {
        let (offset, size) = (number(&bundle["offset"]), number(&bundle["size"]));
        let part = lab.write("part", &bytes[offset..offset + size]);
        let list = llvm
            .tool("clang-offload-bundler")
            .args(["--list", "--type=o"])
            .arg(format!("--input={}", part.display()))
            .output()
            .expect("it runs");
        assert!(list.status.success(), "{shown}: {}", String::from_utf8_lossy(&list.stderr));
        let listed = String::from_utf8_lossy(&list.stdout).into_owned();
        let entries = bundle["entries"].as_array().expect("entries");
        let id = |entry: &Value| entry["id"].as_str().expect("an id").to_owned();
        let own: BTreeSet<String> = entries.iter().map(id).collect();
        if own != listed.lines().map(str::to_owned).collect() {
            tally.differences.push(format!("{shown}: {own:?}: {listed}"));
        }
        tally.bundles += 1;
        for (entry, place) in entries.iter().zip(&mut next) {
            let plain = (bundle["kind"] == "bundle").then_some(&bytes[offset..]);
            let same_id = place.ends_with(&format!(".{}", id(entry)));
            if !same_id || !one(Path::new(place), entry, plain, llvm, tally) {
                tally.differences.push(format!("{shown}: {entry}: {place}"));
            }
            tally.entries += 1;
            let _ = std::fs::remove_file(place);
        }
    }
}

/// True if an extracted entry has the size, content and kernels that were read.
fn one(place: &Path, entry: &Value, plain: Option<&[u8]>, llvm: &Llvm, tally: &mut Tally) -> bool {
    let content = std::fs::read(place).expect("an extracted entry");
    let (at, size) = (number(&entry["offset"]), number(&entry["size"]));
    let is_there = plain.is_none_or(|bytes| bytes.get(at..at + size) == Some(&content));
    if content.is_empty() {
        return size == 0;
    }
    let notes = llvm.tool("llvm-readobj").arg("--notes").arg(place).output().expect("it runs");
    let text = String::from_utf8_lossy(&notes.stdout).into_owned();
    let name =
        |line: &str| Some(line.strip_prefix("    .name:")?.trim().trim_matches('\'').to_owned());
    let theirs: Vec<String> = text.lines().filter_map(name).collect();
    let kernels = entry["kernels"].as_array().into_iter().flatten();
    let ours: Vec<&str> = kernels.map(|kernel| kernel.as_str().expect("a name")).collect();
    tally.kernels += ours.len();
    size == content.len() && is_there && ours == theirs
}
