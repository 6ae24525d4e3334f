//! The content of intact files: containers, entries, targets, notes, and the bundles of libraries
//! from a compiler and a linker.

use super::{DEEP, LISTING, device, read, samples, targets};
use crate::support::Lab;
use linkaudit::format::gpu::{Compression, ContainerKind};
use md5::Digest as _;

#[test]
fn every_format_is_listed() {
    let all = ["gfx90a:sramecc+:xnack-", "gfx1030", "gfx10-3-generic"];
    for (name, bytes) in samples() {
        for depth in [LISTING, DEEP] {
            let found = read(&bytes, depth);
            assert_eq!(found.faults, [], "{name}");
            let [container] = &*found.containers else { panic!("{name}: one container") };
            assert_eq!(container.offset, 0);
            let expected: &[&str] = match &*name {
                "elf" => &["gfx90a:xnack+"],
                "offload-1" => &["gfx90a"],
                "offload-2" => &["gfx1030"],
                "nv" => &["sm_80", "compute_90"],
                _ => &all,
            };
            assert_eq!(targets(&found), expected, "{name}");
            if !name.starts_with("ccob-1") || depth == DEEP {
                assert_eq!(container.size, bytes.len() as u64, "{name}");
            }
            let (kind, version) = match &*name {
                "elf" => (ContainerKind::Elf, None),
                "bundle" | "packed" => (ContainerKind::Bundle, None),
                "nv" => (ContainerKind::Nv, Some(1)),
                other if other.starts_with("offload") => {
                    (ContainerKind::OffloadBinary, Some(if other.ends_with('1') { 1 } else { 2 }))
                }
                other => (
                    ContainerKind::Ccob,
                    other.as_bytes().get(5).map(|digit| u16::from(digit - b'0')),
                ),
            };
            assert_eq!((container.kind, container.version), (kind, version), "{name}");
            let method = match name.rsplit('-').next() {
                Some("zlib") => Some(Compression::Zlib),
                Some("zstd") => Some(Compression::Zstd),
                _ => None,
            };
            assert_eq!(container.compression, method, "{name}");
            // The header of a code object says what its id says.
            let codes =
                container.entries.iter().filter_map(|e| Some((e.target_id()?, e.code.as_ref()?)));
            let mut count = 0;
            for (id, code) in codes {
                assert_eq!(code.target.as_ref(), Some(&id), "{name}");
                if depth == DEEP {
                    let metadata = code.metadata.as_ref().expect("notes");
                    assert_eq!(metadata.target_id().as_ref(), Some(&id), "{name}");
                    assert_eq!(metadata.kernels, [b"kernel".to_vec()]);
                }
                count += 1;
            }
            let is_read =
                kind != ContainerKind::Nv && (kind != ContainerKind::Ccob || depth == DEEP);
            assert_eq!(count > 0, is_read, "{name}");
        }
    }
}

#[test]
fn bundles_lie_one_behind_the_other() {
    let one = device::ccob(&device::bundle(&["gfx900"], 4096), 2, "zstd");
    let two = device::bundle(&["gfx906", "gfx908"], 4096);
    let three = device::ccob(&device::bundle(&["gfx1100"], 1), 3, "zlib");
    let mut whole = Vec::new();
    let mut starts = Vec::new();
    for part in [&one, &two, &three] {
        whole.resize(usize::next_multiple_of(whole.len(), 4096), 0);
        starts.push(whole.len() as u64);
        whole.extend(part);
    }
    let found = read(&whole, LISTING);
    let offsets: Vec<u64> = found.containers.iter().map(|container| container.offset).collect();
    assert_eq!(offsets, starts);
    assert_eq!(targets(&found), ["gfx900", "gfx906", "gfx908", "gfx1100"]);
}

/// A magic number in a payload is reported and does not end the bundle.
#[test]
fn a_magic_number_in_a_payload_is_no_bundle() {
    let mut code = device::code_object("gfx90a");
    code.extend(b"CCOB....__CLANG_OFFLOAD_BUNDLE__");
    let plain = device::bundle_of(&[("gfx90a", &code)], 4096);
    // A stored block keeps the bytes.
    let mut payload = vec![0x78, 0x01, 0x01];
    payload.extend((plain.len() as u16).to_le_bytes());
    payload.extend((!(plain.len() as u16)).to_le_bytes());
    payload.extend(&plain);
    payload.extend(adler(&plain).to_be_bytes());
    let sum = md5::Md5::digest(&plain);
    let bytes = device::ccob_of(2, 0, plain.len() as u64, &sum[..8], &payload);
    for depth in [LISTING, DEEP] {
        let found = read(&bytes, depth);
        assert_eq!(found.faults, []);
        let inside = found.containers[0].magic_inside.expect("it is told");
        assert_eq!(&bytes[inside as usize..][..4], b"CCOB");
        assert_eq!(found.containers.len(), 1);
    }
}

fn adler(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (a + b) % 65521)
    });
    b << 16 | a
}

/// Libraries and programs as compiler and linker make them: position-independent, with packed
/// relative relocations, at fixed addresses, relocatable, and without section headers.
#[test]
fn wrappers_lead_to_bundles() {
    let lab = Lab::new();
    let parts = [
        device::bundle(&["gfx90a", "gfx1030"], 4096),
        device::ccob(&device::bundle(&["gfx90a", "gfx1030"], 4096), 2, "zstd"),
        device::ccob(&device::bundle(&["gfx90a", "gfx1030"], 4096), 1, "zlib"),
    ];
    let names: Vec<String> = (0..parts.len()).map(|number| format!("part{number}")).collect();
    for (name, part) in names.iter().zip(&parts) {
        lab.write(name, part);
    }
    let names: Vec<String> =
        names.iter().map(|name| lab.path(name).display().to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let source = device::host_source("work", &names);
    let mut files = vec![
        ("shared", lab.so("libone.so", &source, &[])),
        ("relr", lab.so("librelr.so", &source, &["-Wl,-z,pack-relative-relocs"])),
        ("object", lab.cc("one.o", &source, &["-c", "-fPIC"], &[])),
    ];
    let main = "void __hipRegisterFatBinary(const void *p) { (void)p; }\n".to_owned()
        + &source
        + "int main(void) { return work(); }\n";
    files.push(("pie", lab.exe("pie", &main, &["-pie", "-fPIE"])));
    files.push(("fixed", lab.exe("fixed", &main, &["-no-pie"])));
    let mut stripped = std::fs::read(lab.path("libone.so")).expect("the library");
    // e_shoff, e_shnum and e_shstrndx.
    stripped[40..48].fill(0);
    stripped[60..64].fill(0);
    files.push(("no sections", lab.write("libbare.so", &stripped)));
    for (name, path) in &files {
        for depth in [LISTING, DEEP] {
            let bytes = std::fs::read(path).expect("a file");
            let found = read(&bytes, depth);
            assert_eq!(found.faults, [], "{name}");
            // An object has no addresses: its section is read as it is.
            assert_eq!(found.wrappers, if *name == "object" { 0 } else { 3 }, "{name}");
            assert_eq!(found.containers.len(), 3, "{name}");
            assert_eq!(targets(&found), ["gfx90a", "gfx1030"].repeat(3), "{name}");
            for (container, part) in found.containers.iter().zip(&parts) {
                assert!(bytes[container.offset as usize..].starts_with(part), "{name}");
            }
        }
    }
    println!("device code: 3 bundles found in each of {} kinds of host files", files.len());
}

#[test]
fn wrappers_and_bundles_are_compared() {
    let lab = Lab::new();
    lab.write("part", device::bundle(&["gfx90a"], 4096));
    let part = lab.path("part").display().to_string();
    let source = device::host_source("work", &[&part, &part]);
    let bytes = std::fs::read(lab.so("libtwo.so", &source, &[])).expect("the library");
    let sound = read(&bytes, LISTING);
    assert_eq!((sound.faults.len(), sound.containers.len()), (0, 2));
    // The second bundle loses its magic number: its wrapper points to nothing.
    let second = sound.containers[1].offset as usize;
    let mut bad = bytes.clone();
    bad[second] = b'X';
    let found = read(&bad, LISTING);
    let what: Vec<&str> = found.faults.iter().map(|fault| fault.what).collect();
    assert_eq!(what, ["is no bundle, and a wrapper points to it"]);
    // Both wrappers point to the first bundle: the second is registered by none.
    let source = source.replace("bundle1, 0", "bundle0, 0");
    let bytes = std::fs::read(lab.so("libone.so", &source, &[])).expect("the library");
    let what: Vec<&str> = read(&bytes, LISTING).faults.iter().map(|fault| fault.what).collect();
    assert_eq!(what, ["is a bundle that no wrapper points to"]);
}
