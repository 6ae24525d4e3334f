//! Builds device code byte by byte: code objects with notes, plain and compressed bundles, offload
//! binaries, and fat binaries of NVIDIA. It also writes C sources of libraries that register
//! bundles as hipcc's output does.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

use md5::{Digest as _, Md5};
use std::fmt::Write as _;
use std::io::Write as _;

/// Numbers in `e_flags` of the processors that tests use.
const MACHS: &[(&str, u32)] = &[
    ("gfx803", 0x2a),
    ("gfx900", 0x2c),
    ("gfx906", 0x2f),
    ("gfx908", 0x30),
    ("gfx90a", 0x3f),
    ("gfx942", 0x4c),
    ("gfx1010", 0x33),
    ("gfx1030", 0x36),
    ("gfx1031", 0x37),
    ("gfx1036", 0x45),
    ("gfx1100", 0x41),
    ("gfx1101", 0x46),
    ("gfx1200", 0x48),
    ("gfx1201", 0x4e),
    ("gfx9-generic", 0x51),
    ("gfx10-3-generic", 0x53),
    ("gfx11-generic", 0x54),
];

/// A code object for `target`, such as `gfx90a:xnack+`. The code object version is 6 for a generic
/// target, else 5.
pub fn code_object(target: &str) -> Vec<u8> {
    code_object_with(target, target, &[Some("kernel")])
}

/// A code object with the target `noted` in its notes, and with these kernels. `None` is a kernel
/// whose name an assembler wrote as a boolean.
pub fn code_object_with(target: &str, noted: &str, kernels: &[Option<&str>]) -> Vec<u8> {
    let (processor, settings) = target.split_once(':').unwrap_or((target, ""));
    let mach = MACHS.iter().find(|(name, _)| *name == processor).expect("a known processor").1;
    let setting = |name: &str| match () {
        () if settings.contains(&format!("{name}+")) => 3_u32,
        () if settings.contains(&format!("{name}-")) => 2,
        () => 1,
    };
    let is_generic = processor.ends_with("-generic");
    let flags = mach
        | setting("xnack") << 8
        | setting("sramecc") << 10
        | if is_generic { 1 << 24 } else { 0 };
    let note = note(&metadata(noted, kernels));
    let mut out = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 64, if is_generic { 4 } else { 3 }];
    out.resize(16, 0);
    out.extend(3_u16.to_le_bytes());
    out.extend(224_u16.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    for word in [0_u64, 64, 0] {
        out.extend(word.to_le_bytes());
    }
    out.extend(flags.to_le_bytes());
    for half in [64_u16, 56, 1, 64, 0, 0] {
        out.extend(half.to_le_bytes());
    }
    out.extend(4_u32.to_le_bytes());
    out.extend(4_u32.to_le_bytes());
    for word in [120_u64, 120, 120, note.len() as u64, note.len() as u64, 4] {
        out.extend(word.to_le_bytes());
    }
    out.extend(note);
    out
}

fn note(desc: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [7, desc.len() as u32, 32] {
        out.extend(word.to_le_bytes());
    }
    out.extend(b"AMDGPU\0\0");
    out.extend(desc);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend([0xd9, text.len() as u8]);
    out.extend(text.as_bytes());
}

fn metadata(target: &str, kernels: &[Option<&str>]) -> Vec<u8> {
    let mut out = vec![0x83];
    text(&mut out, "amdhsa.kernels");
    out.extend([0xdc, 0, kernels.len() as u8]);
    for kernel in kernels {
        out.push(0x83);
        text(&mut out, ".args");
        out.extend([0x91, 0x82]);
        text(&mut out, ".name");
        text(&mut out, "x");
        text(&mut out, ".size");
        out.push(8);
        text(&mut out, ".name");
        match kernel {
            Some(name) => text(&mut out, name),
            None => out.push(0xc3),
        }
        text(&mut out, ".symbol");
        text(&mut out, &format!("{}.kd", kernel.unwrap_or("y")));
    }
    text(&mut out, "amdhsa.target");
    text(&mut out, &format!("amdgcn-amd-amdhsa--{target}"));
    text(&mut out, "amdhsa.version");
    out.extend([0x92, 1, 2]);
    out
}

/// A bundle of the host's empty entry and code objects for `targets`, with payloads at multiples of
/// `align`.
pub fn bundle(targets: &[&str], align: usize) -> Vec<u8> {
    let objects: Vec<_> = targets.iter().map(|target| (*target, code_object(target))).collect();
    let objects: Vec<_> = objects.iter().map(|(target, code)| (*target, &**code)).collect();
    bundle_of(&objects, align)
}

/// A bundle of these code objects, each with the target of its id.
pub fn bundle_of(objects: &[(&str, &[u8])], align: usize) -> Vec<u8> {
    let host = ("host-x86_64-unknown-linux-gnu-".to_owned(), &b""[..]);
    let device = |(target, code): &(&str, _)| (format!("hipv4-amdgcn-amd-amdhsa--{target}"), *code);
    let mut entries = vec![host];
    for object in objects {
        entries.push(device(object));
    }
    let head: usize = 32 + entries.iter().map(|(id, _)| 24 + id.len()).sum::<usize>();
    let mut at = head.next_multiple_of(align);
    let mut out = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    out.extend((entries.len() as u64).to_le_bytes());
    for (id, code) in &entries {
        for word in [at as u64, code.len() as u64, id.len() as u64] {
            out.extend(word.to_le_bytes());
        }
        out.extend(id.as_bytes());
        at = (at + code.len()).next_multiple_of(align);
    }
    for (_, code) in entries.iter().filter(|(_, code)| !code.is_empty()) {
        out.resize(out.len().next_multiple_of(align), 0);
        out.extend(*code);
    }
    out
}

/// A bundle compressed by `zlib` or `zstd`, in version 1, 2 or 3 of the header.
pub fn ccob(plain: &[u8], version: u16, method: &str) -> Vec<u8> {
    let (number, payload) = match method {
        "zlib" => {
            let mut encoder =
                flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(plain).expect("memory");
            (0_u16, encoder.finish().expect("memory"))
        }
        "zstd" => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            (1, ruzstd::encoding::compress_to_vec(plain, level))
        }
        other => panic!("{other}: no such compression"),
    };
    let sum = Md5::digest(plain);
    ccob_of(version, number, plain.len() as u64, &sum[..8], &payload)
}

/// A compressed bundle with any header.
pub fn ccob_of(version: u16, method: u16, size: u64, hash: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = b"CCOB".to_vec();
    out.extend(version.to_le_bytes());
    out.extend(method.to_le_bytes());
    match version {
        1 => out.extend((size as u32).to_le_bytes()),
        2 => {
            out.extend((24 + payload.len() as u32).to_le_bytes());
            out.extend((size as u32).to_le_bytes());
        }
        _ => {
            out.extend((32 + payload.len() as u64).to_le_bytes());
            out.extend(size.to_le_bytes());
        }
    }
    out.extend(hash);
    out.extend(payload);
    out
}

/// An offload binary of version 1 or 2 with one image for `target`.
pub fn offload_binary(version: u32, target: &str) -> Vec<u8> {
    let code = code_object(target);
    let width = if version == 1 { 16 } else { 24 };
    let strings_at = 32 + 40;
    let text_at = strings_at + 2 * width;
    let triple = "amdgcn-amd-amdhsa";
    let texts = [
        b"triple\0".to_vec(),
        triple.bytes().chain([0]).collect(),
        b"arch\0".to_vec(),
        target.bytes().chain([0]).collect(),
    ];
    let offsets: Vec<usize> = texts
        .iter()
        .scan(text_at, |at, text| {
            let here = *at;
            *at += text.len();
            Some(here)
        })
        .collect();
    let image_at = (text_at + texts.concat().len()).next_multiple_of(8);
    let size = (image_at + code.len()).next_multiple_of(8);
    let mut out = vec![0x10, 0xff, 0x10, 0xad];
    out.extend(version.to_le_bytes());
    for word in [size as u64, 32, if version == 1 { 40 } else { 1 }] {
        out.extend(word.to_le_bytes());
    }
    out.extend([1, 0, 1, 0, 0, 0, 0, 0]);
    for word in [strings_at, 2, image_at, code.len()] {
        out.extend((word as u64).to_le_bytes());
    }
    for pair in [0, 2] {
        out.extend((offsets[pair] as u64).to_le_bytes());
        out.extend((offsets[pair + 1] as u64).to_le_bytes());
        if version == 2 {
            out.extend((texts[pair + 1].len() as u64 - 1).to_le_bytes());
        }
    }
    out.extend(texts.concat());
    out.resize(image_at, 0);
    out.extend(code);
    out.resize(size, 0);
    out
}

/// A fat binary of NVIDIA with PTX and cubins of these sizes, by kind (1 PTX, 2 cubin) and SM.
pub fn nv_fatbin(images: &[(u16, u32, usize)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, sm, size) in images {
        body.extend(kind.to_le_bytes());
        body.extend(0x101_u16.to_le_bytes());
        body.extend(64_u32.to_le_bytes());
        body.extend((*size as u64).to_le_bytes());
        body.extend([0; 12]);
        body.extend(sm.to_le_bytes());
        body.extend([0; 32]);
        body.resize(body.len() + size, 7);
    }
    let mut out = 0xba55_ed50_u32.to_le_bytes().to_vec();
    out.extend(1_u16.to_le_bytes());
    out.extend(16_u16.to_le_bytes());
    out.extend((body.len() as u64).to_le_bytes());
    out.extend(body);
    out
}

/// C source of a library that defines `name`. It embeds the files `bundles` in `.hip_fatbin` and
/// registers each, as the host code of hipcc does.
pub fn host_source(name: &str, bundles: &[&str]) -> String {
    let mut out = String::from("void __hipRegisterFatBinary(const void *);\n");
    for (number, file) in bundles.iter().enumerate() {
        let _ = write!(
            out,
            "__asm__(\".pushsection .hip_fatbin,\\\"a\\\",@progbits\\n.p2align 12\\n\"\n\
             \".hidden bundle{number}\\n.globl bundle{number}\\nbundle{number}:\\n\"\n\
             \".incbin \\\"{file}\\\"\\n.popsection\");\n\
             extern const char bundle{number}[] __attribute__((visibility(\"hidden\")));\n\
             static struct {{ unsigned magic, version; const void *bundle, *reserved; }}\n\
             wrapper{number} __attribute__((section(\".hipFatBinSegment\"), used)) =\n\
             {{ 0x48495046, 1, bundle{number}, 0 }};\n"
        );
    }
    let _ = writeln!(out, "int {name}(void) {{");
    for number in 0..bundles.len() {
        let _ = writeln!(out, "__hipRegisterFatBinary(&wrapper{number});");
    }
    out + "return 0; }\n"
}

/// A Tensile index that names these libraries, in the format of lazy loading.
pub fn index(names: &[&str]) -> Vec<u8> {
    let mut out = vec![0x81];
    text(&mut out, "library");
    out.extend([0xdc, 0, names.len() as u8]);
    for name in names {
        out.push(0x82);
        text(&mut out, "type");
        text(&mut out, "Placeholder");
        text(&mut out, "value");
        text(&mut out, name);
    }
    out
}

fn short(out: &mut Vec<u8>, value: &str) {
    out.push(0xa0 | value.len() as u8);
    out.extend(value.as_bytes());
}

/// The reference to kpack files to which a wrapper with the magic number `HIPK` points.
pub fn kpack_reference(name: &str, paths: &[&str]) -> Vec<u8> {
    let mut out = vec![0x82];
    short(&mut out, "kernel_name");
    short(&mut out, name);
    short(&mut out, "kpack_search_paths");
    out.push(0x90 | paths.len() as u8);
    for path in paths {
        text(&mut out, path);
    }
    out
}

/// A kpack file without code. Its table lists the targets of `entries` for one library, that of the
/// first entry.
pub fn kpack(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut table = vec![0x83];
    short(&mut table, "format_version");
    table.push(1);
    short(&mut table, "gfx_arches");
    table.push(0x90 | entries.len() as u8);
    for (_, target) in entries {
        short(&mut table, target);
    }
    short(&mut table, "toc");
    table.push(0x81);
    short(&mut table, entries[0].0);
    table.push(0x80 | entries.len() as u8);
    for (number, (_, target)) in entries.iter().enumerate() {
        short(&mut table, target);
        table.push(0x83);
        short(&mut table, "type");
        short(&mut table, "hsaco");
        short(&mut table, "ordinal");
        table.push(number as u8);
        short(&mut table, "original_size");
        table.extend([0xcd, 0x20, 0]);
    }
    let mut out = b"KPAK".to_vec();
    out.extend(1_u32.to_le_bytes());
    out.extend(64_u64.to_le_bytes());
    out.resize(64, 0);
    out.extend(table);
    out
}
