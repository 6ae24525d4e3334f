//! Device code in members of static archives: it equals that of the members alone, which LLVM's
//! tools list. The output has the names of the members.

use super::oracle::{bundler, llvm};
use super::{DEEP, LISTING, device, read, targets};
use crate::support::{Lab, clean, linkaudit, skip};
use linkaudit::format::gpu::{self, ContainerKind, DeviceCode};
use linkaudit::tree::{MemTree, Opened, Tree as _};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn read_archive(bytes: &[u8]) -> DeviceCode {
    let mut tree = MemTree::new();
    tree.file("/lib.a", bytes.to_vec());
    let Ok(Opened::File(handle)) = tree.open("/lib.a".as_ref()) else { panic!("a file") };
    gpu::read_archive(&handle, DEEP).expect("memory can be read")
}

/// Objects as compilers write them: without device code, with bundles in `.hip_fatbin`, with an
/// offload binary (`-fgpu-rdc`, new driver), and with a section for each entry (`-fgpu-rdc`, old
/// driver).
fn members(lab: &Lab) -> Vec<(&'static str, PathBuf, &'static [&'static str])> {
    let plain = lab.write("plain.bundle", device::bundle(&["gfx90a", "gfx1030"], 4096));
    let small = device::ccob(&device::bundle(&["gfx1100"], 4096), 2, "zstd");
    let small = lab.write("small.bundle", small);
    let binary = lab.write("binary", device::offload_binary(1, "gfx906"));
    let code = lab.write("code", device::code_object("gfx908"));
    let text = |path: &Path| path.display().to_string();
    let hip = device::host_source("work", &[&text(&plain), &text(&small)]);
    let rdc = format!(
        "__asm__(\".section .llvm.offloading,\\\"e\\\",@0x6fff4c0b\\n.p2align 3\\n\
         .incbin \\\"{}\\\"\\n.text\"); int rdc(void) {{ return 0; }}",
        text(&binary)
    );
    let section = |id: &str, content: &str| {
        format!(
            "__asm__(\".section \\\"__CLANG_OFFLOAD_BUNDLE__{id}\\\",\\\"e\\\",@progbits\\n{content}\\n.text\");"
        )
    };
    let old = [
        section("hip-amdgcn-amd-amdhsa--gfx908", &format!(".incbin \\\"{}\\\"", text(&code))),
        section("host-x86_64-unknown-linux-gnu-", ".byte 0"),
        "int old(void) { return 0; }".to_owned(),
    ];
    let object = |name: &str, source: &str| lab.cc(name, source, &["-c", "-fPIC"], &[]);
    vec![
        ("host.o", object("host.o", "int host(void) { return 1; }"), &[]),
        ("hip.o", object("hip.o", &hip), &["gfx90a", "gfx1030", "gfx1100"]),
        ("relocatable_device_code.o", object("relocatable_device_code.o", &rdc), &["gfx906"]),
        ("old.o", object("old.o", &old.join("\n")), &["gfx908"]),
    ]
}

fn archive(lab: &Lab, name: &str) -> PathBuf {
    let out = lab.path(name);
    let files: Vec<PathBuf> = members(lab).into_iter().map(|(_, path, _)| path).collect();
    let status = clean("ar").arg("rcs").arg(&out).args(&files).status().expect("ar runs");
    assert!(status.success());
    out
}

#[test]
fn members_are_read_as_files() {
    let lab = Lab::new();
    let bytes = std::fs::read(archive(&lab, "lib.a")).expect("an archive");
    let found = read_archive(&bytes);
    assert_eq!((found.faults.len(), found.unread), (0, None));
    let mut containers = 0;
    for (name, path, expected) in members(&lab) {
        let alone = read(&std::fs::read(path).expect("an object"), DEEP);
        assert_eq!(targets(&alone), expected, "{name}");
        let of_member = |c: &&gpu::Container| c.member.as_deref() == Some(name.as_bytes());
        let inside: Vec<_> = found.containers.iter().filter(of_member).collect();
        assert_eq!(inside.len(), alone.containers.len(), "{name}");
        let base = inside.first().zip(alone.containers.first());
        let base = base.map_or(0, |(inside, alone)| inside.offset - alone.offset);
        for (inside, alone) in inside.iter().zip(&alone.containers) {
            let moved = gpu::Container {
                member: None,
                offset: inside.offset - base,
                ..gpu::Container::clone(inside)
            };
            assert_eq!(&moved, alone, "{name}");
            containers += 1;
        }
    }
    assert_eq!(found.containers.len(), containers);
    println!("archives: {containers} containers in 4 members, each as in the object alone");
}

#[test]
fn members_as_llvm_lists_them() {
    let lab = Lab::new();
    let tools = bundler(&lab).and_then(|tool| {
        let objdump = llvm("llvm-objdump").ok_or("no llvm-objdump from LLVM 19 on")?;
        Ok((tool, objdump))
    });
    let (bundler, objdump) = match tools {
        Ok(tools) => tools,
        Err(why) => return skip("members_as_llvm_lists_them", &why),
    };
    let bytes = std::fs::read(archive(&lab, "lib.a")).expect("an archive");
    let found = read_archive(&bytes);
    let mut cases = 0;
    // `ar` extracts each member; LLVM's tools list what it has.
    let out = lab.mkdir("extracted");
    let status = clean("ar").arg("x").arg(lab.path("lib.a")).current_dir(&out).status();
    assert!(status.expect("ar runs").success());
    for (name, ..) in members(&lab) {
        let file = out.join(name);
        let of_member = |c: &&gpu::Container| c.member.as_deref() == Some(name.as_bytes());
        let inside: Vec<_> = found.containers.iter().filter(of_member).collect();
        let mut theirs = BTreeSet::new();
        let list = |input: &Path, out: &mut BTreeSet<String>| {
            let input = format!("--input={}", input.display());
            let run = clean(&bundler).args(["--list", "--type=o", &input]).output();
            let run = run.expect("the bundler runs");
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            out.extend(String::from_utf8_lossy(&run.stdout).lines().map(str::to_owned));
        };
        match name {
            "relocatable_device_code.o" => {
                let run = clean(&objdump).arg("--offloading").arg(&file).output().expect("it runs");
                let text = String::from_utf8_lossy(&run.stdout).into_owned();
                let word = |key: &str| {
                    let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
                    line[key.len()..].trim().to_owned()
                };
                let id = format!("{}-{}--{}", word("producer"), word("triple"), word("arch"));
                theirs.insert(id);
            }
            "old.o" => list(&file, &mut theirs),
            // The tool reads one bundle of a section: the parts are given to it.
            "hip.o" => {
                for container in &inside {
                    let (start, size) = (container.offset as usize, container.size as usize);
                    list(&lab.write("part", &bytes[start..start + size]), &mut theirs);
                }
            }
            _ => {}
        }
        let entries = inside.iter().flat_map(|container| &container.entries);
        let ours: BTreeSet<String> =
            entries.map(|entry| String::from_utf8_lossy(&entry.id).into_owned()).collect();
        assert_eq!(ours, theirs, "{name}");
        cases += ours.len();
    }
    println!("archives: {cases} entries of 4 members as LLVM lists them, 0 differences");
}

/// Names of every form, equal names, members that are not objects, and damage.
#[test]
fn every_form_of_archive() {
    let header = |name: &str, size: usize| {
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
    };
    let code = device::code_object("gfx90a");
    let bundle = device::bundle(&["gfx1030", "gfx1100"], 1);
    let mut bytes = b"!<arch>\n".to_vec();
    let mut add = |name: &str, before: &[u8], content: &[u8]| {
        bytes.extend(header(name, before.len() + content.len()));
        bytes.extend([before, content].concat());
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    };
    add("/", b"", &[0, 0, 0, 0]);
    add("//", b"", b"a_long_name_of_a_member.co/\n");
    add("/0", b"", &code);
    add("#1/12", b"bsd_name.co\0", &bundle);
    add("same.co/", b"", &code);
    add("same.co/", b"", &bundle);
    add("text/", b"", b"no device code");
    let found = read_archive(&bytes);
    let name = |c: &gpu::Container| {
        String::from_utf8_lossy(c.member.as_deref().expect("a member")).into_owned()
    };
    let names: Vec<String> = found.containers.iter().map(name).collect();
    assert_eq!(names, ["a_long_name_of_a_member.co", "bsd_name.co", "same.co", "same.co"]);
    assert_eq!(targets(&found), ["gfx90a", "gfx1030", "gfx1100", "gfx90a", "gfx1030", "gfx1100"]);
    for container in &found.containers {
        let magic = match container.kind {
            ContainerKind::Elf => &b"\x7fELF"[..],
            _ => b"__CLANG",
        };
        assert!(bytes[container.offset as usize..].starts_with(magic));
    }
    // An archive that is cut anywhere is reported as cut, or ends between two members.
    let (mut cuts, mut between) = (0, 0);
    for len in 8..bytes.len() {
        let cut = read_archive(&bytes[..len]);
        cuts += 1;
        between += usize::from(cut.unread.is_none());
    }
    assert!(between <= 2 * 7, "{between} of {cuts} cuts are not named");
    let thin = read_archive(b"!<thin>\n");
    assert_eq!(thin.unread, Some("a thin archive, whose members are other files"));
    println!("archives: {cuts} cuts, {between} of them between members, the others named");
}

/// The command names members, counts the archive in the matrix, and the policy's targets hold for
/// it.
#[test]
fn archives_in_the_outputs() {
    let lab = Lab::new();
    lab.mkdir("p/lib");
    archive(&lab, "p/lib/libkernels.a");
    let run = |args: &[&str]| {
        let out = linkaudit().current_dir(lab.root()).args(args).output().expect("it runs");
        (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned())
    };
    for path in ["p", "p/lib/libkernels.a"] {
        let (status, text) = run(&["gpu", path]);
        assert_eq!(status, Some(0), "{text}");
        for line in [
            "libkernels.a(hip.o)\n    1 bundle, ",
            "libkernels.a(relocatable_device_code.o)\n    1 offload binary v1, ",
            "libkernels.a(old.o)\n    1 bundle, ",
            "target              1\n",
            "gfx908              E\n",
            "1 file with device code, 4 containers, 5 targets\n",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
        assert!(!text.contains("host.o"), "{text}");
    }
    let (status, text) = run(&["gpu", "p", "--target", "gfx1201"]);
    assert_eq!(status, Some(1));
    assert!(text.contains("libkernels.a\n    has no code for gfx1201; has"), "{text}");
    // An audit reads members if the policy lists targets, and only then.
    lab.write("targets.toml", "schema = 1\n[gpu]\ntargets = [\"gfx90a\", \"gfx1201\"]\n");
    let (status, text) = run(&["p", "--policy", "targets.toml", "--format", "json"]);
    assert_eq!(status, Some(1));
    assert!(text.contains("no code for gfx1201"), "{text}");
    assert!(!text.contains("no code for gfx90a"), "{text}");
    assert_eq!(run(&["p"]).0, Some(0));
    // A damaged member is named.
    let mut bytes = std::fs::read(lab.path("p/lib/libkernels.a")).expect("an archive");
    let found = read_archive(&bytes);
    let small =
        found.containers.iter().find(|c| c.kind == ContainerKind::Ccob).expect("it is there");
    bytes[small.offset as usize + 4] = 9;
    lab.write("p/lib/libkernels.a", &bytes);
    let (status, text) = run(&["gpu", "p"]);
    assert_eq!(status, Some(1));
    let line = "error[gpu-object-mismatch] lib/libkernels.a(hip.o): the container at ";
    assert!(text.contains(line), "{text}");
    // A part that cannot be read is not clean.
    bytes.truncate(bytes.len() - 1000);
    lab.write("p/lib/libkernels.a", &bytes);
    let (_, text) = run(&["gpu", "p", "--format", "json"]);
    assert!(text.contains("\"complete\":false"), "{text}");
    let empty = read(&std::fs::read(lab.path("host.o")).expect("an object"), LISTING);
    assert_eq!(empty, DeviceCode::default());
}
