//! The same files read by LLVM: `clang-offload-bundler` lists and unbundles, `llvm-objdump
//! --offloading` lists offload binaries, `llvm-readobj --notes` has targets and kernels.

use super::{DEEP, device, read, samples, targets};
use crate::support::debian::Debian;
use crate::support::{Lab, clean, has, skip};
use linkaudit::format::gpu::ContainerKind;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The directory with LLVM 19's tools for bundles, of Debian's package, which is not installed.
pub(super) fn bundler(lab: &Lab) -> Result<PathBuf, String> {
    let debian = Debian::new("bookworm", "amd64")?;
    let files = debian.download(&["clang-tools-19"])?;
    let into = lab.mkdir("tools");
    let unpacked = clean("dpkg-deb").arg("-x").args(&files).arg(&into).status();
    unpacked.map_err(|error| error.to_string())?;
    let tool = into.join("usr/lib/llvm-19/bin/clang-offload-bundler");
    let run = clean(&tool).arg("--version").output().map_err(|error| error.to_string())?;
    if run.status.success() { Ok(tool) } else { Err("it does not start".to_owned()) }
}

/// True if this release of LLVM reads the file: version 3 of the compressed form is newer.
fn is_old(name: &str) -> bool {
    name == "bundle" || name == "packed" || name.starts_with("ccob-1") || name.starts_with("ccob-2")
}

#[test]
fn bundles_as_clang_reads_them() {
    let lab = Lab::new();
    let tool = match bundler(&lab) {
        Ok(tool) => tool,
        Err(why) => return skip("bundles_as_clang_reads_them", &why),
    };
    let (mut cases, mut entries) = (0, 0);
    for (name, bytes) in samples().into_iter().filter(|(name, _)| is_old(name)) {
        let file = lab.write(&name, &bytes);
        let list = clean(&tool).args(["--list", "--type=o"]).arg(input(&file)).output();
        let list = list.expect("the bundler runs");
        assert!(list.status.success(), "{name}: {}", String::from_utf8_lossy(&list.stderr));
        let theirs: BTreeSet<String> =
            String::from_utf8_lossy(&list.stdout).lines().map(str::to_owned).collect();
        let found = read(&bytes, DEEP);
        let container = &found.containers[0];
        let ours: BTreeSet<String> =
            container.entries.iter().map(|e| String::from_utf8_lossy(&e.id).into_owned()).collect();
        assert_eq!(ours, theirs, "{name}");
        // The unbundled content of each entry must equal the bytes at its offset, with its size.
        let plain = device::bundle(
            &["gfx90a:sramecc+:xnack-", "gfx1030", "gfx10-3-generic"],
            if name == "packed" { 1 } else { 4096 },
        );
        for entry in container.entries.iter().filter(|entry| entry.target().is_some()) {
            let id = String::from_utf8_lossy(&entry.id).into_owned();
            let out = lab.path("out");
            let run = clean(&tool)
                .args(["--unbundle", "--type=o"])
                .arg(input(&file))
                .arg(format!("--output={}", out.display()))
                .arg(format!("--targets={id}"))
                .output()
                .expect("the bundler runs");
            assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
            let theirs = std::fs::read(&out).expect("an output");
            let (start, size) = (entry.offset as usize, entry.size as usize);
            assert!(plain[start..start + size] == theirs, "{name}: {id}");
            entries += 1;
        }
        cases += 1;
    }
    // And a bundle that clang writes, with and without compression.
    for compress in [false, true] {
        let file = written(&lab, &tool, compress);
        let found = read(&std::fs::read(&file).expect("a bundle"), DEEP);
        assert_eq!(found.faults, []);
        assert_eq!(targets(&found), ["gfx906", "gfx90a"]);
        let kind = if compress { ContainerKind::Ccob } else { ContainerKind::Bundle };
        assert_eq!(found.containers[0].kind, kind);
        cases += 1;
    }
    println!("bundles read by clang 19: {cases} files, {entries} entries unbundled, 0 differences");
}

fn input(file: &Path) -> String {
    format!("--input={}", file.display())
}

fn written(lab: &Lab, tool: &Path, compress: bool) -> PathBuf {
    let host = lab.write("host", "");
    let one = lab.write("one", device::code_object("gfx906"));
    let two = lab.write("two", device::code_object("gfx90a"));
    let out = lab.path("written");
    let triple = "hipv4-amdgcn-amd-amdhsa--";
    let status = clean(tool)
        .arg("--type=o")
        .arg(format!("--targets=host-x86_64-unknown-linux-gnu,{triple}gfx906,{triple}gfx90a"))
        .args([input(&host), input(&one), input(&two)])
        .arg(format!("--output={}", out.display()))
        .args(compress.then_some("--compress"))
        .status()
        .expect("the bundler runs");
    assert!(status.success());
    out
}

/// The newest of LLVM's tools of this name.
pub(super) fn llvm(name: &str) -> Option<String> {
    let versioned = (19..=30).rev().map(|version| format!("{name}-{version}"));
    versioned.into_iter().find(|tool| has(tool))
}

#[test]
fn offload_binaries_as_llvm_reads_them() {
    let Some(tool) = llvm("llvm-objdump") else {
        return skip("offload_binaries_as_llvm_reads_them", "no llvm-objdump from LLVM 19 on");
    };
    let lab = Lab::new();
    let mut cases = 0;
    for target in ["gfx90a", "gfx1030", "gfx906"] {
        let bytes = device::offload_binary(1, target);
        lab.write("image", &bytes);
        let image = lab.path("image").display().to_string();
        let source = format!(
            "__asm__(\".section .llvm.offloading,\\\"e\\\",@0x6fff4c0b\\n.p2align 3\\n\
             .incbin \\\"{image}\\\"\\n.text\"); int f(void) {{ return 0; }}"
        );
        let object = lab.cc("one.o", &source, &["-c"], &[]);
        let run = clean(&tool).arg("--offloading").arg(&object).output().expect("it runs");
        let theirs = String::from_utf8_lossy(&run.stdout).into_owned();
        let word = |key: &str| {
            let line = theirs.lines().find(|line| line.starts_with(key)).unwrap_or_default();
            line[key.len()..].trim().to_owned()
        };
        let found = read(&std::fs::read(&object).expect("an object"), DEEP);
        let [container] = &*found.containers else { panic!("one binary: {found:?}") };
        let id = String::from_utf8_lossy(&container.entries[0].id).into_owned();
        let theirs = format!("{}-{}--{}", word("producer"), word("triple"), word("arch"));
        assert_eq!(id, theirs);
        cases += 1;
    }
    println!("offload binaries read by {tool}: {cases} files, 0 differences");
}

#[test]
fn notes_as_llvm_reads_them() {
    let Some(tool) = llvm("llvm-readobj") else {
        return skip("notes_as_llvm_reads_them", "no llvm-readobj from LLVM 19 on");
    };
    let lab = Lab::new();
    let mut cases = 0;
    for target in ["gfx90a:sramecc+:xnack-", "gfx906", "gfx1030", "gfx1100", "gfx11-generic"] {
        let bytes = device::code_object_with(target, target, &[Some("alpha"), Some("beta")]);
        let file = lab.write("code", &bytes);
        let run = clean(&tool).args(["--notes", "-h"]).arg(&file).output().expect("it runs");
        let theirs = String::from_utf8_lossy(&run.stdout).replace('\'', "");
        let found = read(&bytes, DEEP);
        let code = found.containers[0].entries[0].code.as_ref().expect("a code object");
        let metadata = code.metadata.as_ref().expect("notes");
        for kernel in &metadata.kernels {
            let line = format!(".symbol:         {}.kd", String::from_utf8_lossy(kernel));
            assert!(theirs.contains(&line), "{line}\n{theirs}");
        }
        let line = format!("amdhsa.target:   {}", String::from_utf8_lossy(&metadata.target));
        assert!(theirs.contains(&line), "{line}\n{theirs}");
        let processor = &code.target.as_ref().expect("a target").processor;
        let flag = format!("EF_AMDGPU_MACH_AMDGCN_{}", processor.to_uppercase().replace('-', "_"));
        assert!(theirs.contains(&flag), "{flag}\n{theirs}");
        for (name, setting) in [
            ("XNACK", code.target.as_ref().and_then(|t| t.xnack)),
            ("SRAMECC", code.target.as_ref().and_then(|t| t.sramecc)),
        ] {
            let word = match setting {
                None => "ANY",
                Some(true) => "ON",
                Some(false) => "OFF",
            };
            let flag = format!("EF_AMDGPU_FEATURE_{name}_{word}_V4");
            assert!(theirs.contains(&flag), "{flag}\n{theirs}");
        }
        cases += 1;
    }
    println!("notes and flags read by {tool}: {cases} code objects, 0 differences");
}
