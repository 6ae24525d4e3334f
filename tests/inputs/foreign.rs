//! Files of other systems: in a directory they are only counted by kind, and a file given by name
//! has the finding `undecided`.
//!
//! Most are built by the C compiler and patched; `foreign/published` has files from packages.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

mod absent;
use crate::support::debian;
use crate::support::elf_file;
mod published;
use crate::support::report;

use elf_file::ElfFile;
use object::elf;
use report::{Report, text};
use serde_json::json;
use std::path::Path;
use support::Lab;

const PT_NOTE: u32 = 4;
const OSABI: usize = 7;
const MACHINE: usize = 18;
const GONE: &str = "int gone(void); int here(void) { return gone(); }";

/// A file of another system.
struct Case {
    /// Its path below the directory.
    path: &'static str,
    /// The key of its count.
    kind: &'static str,
    /// The finding for the file if it is given by name.
    answer: &'static str,
    make: fn(&Lab, &str),
}

macro_rules! cases {
    ($($path:literal $kind:literal $answer:literal $make:expr;)*) => {
        &[$(Case { path: $path, kind: $kind, answer: $answer, make: $make }),*]
    };
}

const CASES: &[Case] = cases![
    "goops.go" "standalone" "standalone code, " |lab, at| with_byte(lab, at, OSABI, 255);
    "libf.so" "freebsd" "a FreeBSD library: " |lab, at| with_byte(lab, at, OSABI, 9);
    "libn.so" "netbsd" "a NetBSD library: " |lab, at| with_byte(lab, at, OSABI, 2);
    "libo.so" "openbsd" "an OpenBSD library: " |lab, at| with_byte(lab, at, OSABI, 12);
    "libs.so" "solaris" "a Solaris library: " |lab, at| with_byte(lab, at, OSABI, 6);
    "f.so" "freebsd" "a FreeBSD library: " |lab, at| with_note(lab, at, "FreeBSD", 1_400_097);
    "n.so" "netbsd" "a NetBSD library: " |lab, at| with_note(lab, at, "NetBSD", 1);
    "o.so" "openbsd" "an OpenBSD library: " |lab, at| with_note(lab, at, "OpenBSD", 0);
    "d.so" "dragonfly" "a DragonFly BSD library: " |lab, at| with_note(lab, at, "DragonFly", 1);
    "a.so" "android" "an Android library: " |lab, at| with_note(lab, at, "Android", 21);
    "h.so" "hurd" "a GNU/Hurd library: " |lab, at| with_note(lab, at, "GNU", 1);
    "s.so" "solaris" "a Solaris library: " |lab, at| with_note(lab, at, "GNU", 2);
    "k.so" "freebsd" "a FreeBSD library: " |lab, at| with_note(lab, at, "GNU", 3);
    "bin/f" "freebsd" "a FreeBSD program: " |lab, at| with_interp(lab, at, "/libexec/ld-elf.so.1");
    "bin/n" "netbsd" "a NetBSD program: " |lab, at| with_interp(lab, at, "/usr/libexec/ld.elf_so");
    "bin/o" "openbsd" "an OpenBSD program: " |lab, at| with_interp(lab, at, "/usr/libexec/ld.so");
    "bin/a" "android" "an Android program: " |lab, at| with_interp(lab, at, "/system/bin/linker64");
    "bin/b" "android" "an Android program: " |lab, at| with_interp(lab, at, "/system/bin/linker");
    "bin/s" "solaris" "a Solaris program: " |lab, at| with_interp(lab, at, "/usr/lib/amd64/ld.so.1");
    "bin/old" "solaris" "a Solaris program: " old_solaris;
    "liba.so" "android" "an Android library: " |lab, at| needing(lab, at, &["libc.so", "libm.so"]);
    "libl.so" "android" "an Android library: " |lab, at| needing(lab, at, &["liblog.so", "libc.so"]);
    "libv.so" "android" "an Android library: " versioned_bionic;
    "libh.so" "hurd" "a GNU/Hurd library: " |lab, at| needing(lab, at, &["libc.so.0.3"]);
    "kernel/x.ko" "kernel-module" "a kernel module, " relocatable;
    "lib/firmware/x/fw.so" "firmware" "firmware, " |lab, at| with_byte(lab, at, MACHINE, 3);
    "prog.bpf.o" "bpf" "BPF code, " |lab, at| object_of(lab, at, 247);
    "kernel.hsaco" "gpu" "code for a GPU" |lab, at| with_byte(lab, at, MACHINE, 224);
    "kernel.cubin" "gpu" "code for a GPU" |lab, at| object_of(lab, at, 190);
    "core.123" "core" "a core file" |lab, at| with_byte(lab, at, 16, 4);
    "libx.so.debug" "debug" "the debug companion" companion;
    "libavr.so" "machine" "loader rules of machine 83 " |lab, at| with_byte(lab, at, MACHINE, 83);
];

#[test]
fn in_a_directory_they_are_counted() {
    for case in CASES {
        let lab = Lab::new();
        (case.make)(&lab, &format!("p/{}", case.path));
        let report = Report::of(support::linkaudit().arg(lab.path("p")));
        assert_eq!(report.status, 0, "{}: {}", case.path, report.outline());
        assert_eq!(report.findings().count(), 0, "{}", report.outline());
        let foreign = &report.value["totals"]["foreign"];
        assert_eq!(*foreign, json!({ case.kind: 1 }), "{}", case.path);
        assert_eq!(report.total("elf") + report.total("audited") + report.total("roots"), 0);
        assert!(report.complete());
    }
    println!("foreign: {} files counted", CASES.len());
}

#[test]
fn by_name_they_are_answered() {
    for case in CASES {
        let lab = Lab::new();
        let path = format!("p/{}", case.path);
        (case.make)(&lab, &path);
        for report in [
            Report::of(support::linkaudit().arg(lab.path(&path))),
            Report::of(support::linkaudit().args([lab.path("p"), lab.path(&path)])),
        ] {
            assert_eq!(report.status, 3, "{}: {}", case.path, report.outline());
            let [finding] = report.findings().collect::<Vec<_>>()[..] else {
                panic!("{}: {}", case.path, report.outline());
            };
            assert_eq!(finding["rule"], "undecided");
            let message = text(&finding["message"]);
            assert!(message.starts_with(case.answer), "{}: {message}", case.path);
        }
    }
}

#[test]
fn the_summary_counts_them_where_nothing_else_is() {
    let lab = Lab::new();
    with_byte(&lab, "p/a.so", OSABI, 9);
    with_byte(&lab, "p/b.so", OSABI, 9);
    with_byte(&lab, "p/c.go", OSABI, 255);
    let line = "3 foreign ELF files not audited: 2 freebsd, 1 standalone\n";
    let says = |args: &[&str]| String::from_utf8(lab.linkaudit(args).stdout).expect("text");
    assert!(says(&["p"]).contains(line));
    lab.so("p/ours.so", "int x;", &[]);
    assert!(!says(&["p"]).contains("foreign"));
    assert!(says(&["-v", "p"]).contains(line));
}

/// Objects that look foreign, but are of this system.
#[test]
fn what_only_looks_foreign() {
    let lab = Lab::new();
    // The kernel looks at PT_INTERP alone.
    lab.exe("p/linux", "", &[]);
    patch(&lab, "p/linux", |bytes| bytes[OSABI] = 9);
    // musl's libc has no versions, and comes alone.
    needing(&lab, "p/musl.so", &["libc.so"]);
    needing(&lab, "p/uclibc.so", &["libc.so.1"]);
    lab.so("p/linux.so", "int x;", &[]);
    with_note(&lab, "p/tagged.so", "GNU", 0);
    lab.cc("p/plain.o", GONE, &["-c"], &[]);
    lab.so("p/lib.ko", "int x;", &[]);
    let report = Report::of(support::linkaudit().arg(lab.path("p")));
    assert_eq!(report.value["totals"]["foreign"], json!({}), "{}", report.outline());
    assert_eq!(report.total("audited"), 7);
}

/// A file that the loader maps is checked, even if it looks foreign.
#[test]
fn what_a_program_loads_is_judged_whatever_it_is() {
    let lab = Lab::new();
    let source = format!("{} {GONE}", note("Android", 21));
    lab.so("p/liba.so", &source, &[]);
    let flags = ["-Lp", "-l:liba.so", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed"];
    lab.exe("p/prog", "int here(void); int f(void) { return here(); }", &flags);
    let report = Report::of(support::linkaudit().arg(lab.path("p")));
    assert_eq!(report.value["totals"]["foreign"], json!({ "android": 1 }));
    let names: Vec<_> = report.of_rule("undefined-symbol").map(|f| text(&f["symbol"])).collect();
    assert_eq!(names, ["gone"], "{}", report.outline());
}

/// `ldd` runs the loader on any file, and the loader decides.
#[test]
fn ldd_asks_the_loader() {
    let lab = Lab::new();
    with_note(&lab, "a.so", "Android", 21);
    with_byte(&lab, "f.so", OSABI, 9);
    for file in ["a.so", "f.so"] {
        let ours = lab.linkaudit(&["--as-ldd", "--format", "ldd", file]).stdout;
        let theirs = lab.ldd_r(&format!("./{file}"));
        let ours = String::from_utf8(ours).expect("text");
        assert_eq!(support::difference(&ours, &theirs), None, "{file}");
    }
}

/// Malformed notes: an object is foreign only if a note names a system within its own bounds. None
/// costs time or memory.
#[test]
fn hostile_notes() {
    let lab = Lab::new();
    lab.so("good.so", &note("Android", 21), &[]);
    let good = std::fs::read(lab.path("good.so")).expect("a library");
    let name = good.windows(8).position(|part| part == b"Android\0").expect("a note");
    let header = name - 12;
    let elf = ElfFile::new(good.clone()).expect("an ELF file");
    let segment = elf.segments().into_iter().find(|segment| {
        segment.kind == PT_NOTE && (segment.offset..segment.offset + segment.size).contains(&header)
    });
    let segment = segment.expect("a PT_NOTE");
    let (size, place) = (segment.at + 32, segment.at + 8);
    // The offset and width of the changed field, its new value, and true if the note still
    // counts.
    let cases: &[(&str, usize, usize, u64, bool)] = &[
        ("as it is", header, 4, 8, true),
        ("a name of 4 GB", header, 4, u64::from(u32::MAX), false),
        ("content of 4 GB", header + 4, 4, u64::from(u32::MAX), false),
        ("content that ends just behind the segment", header + 4, 4, 1 << 12, false),
        ("an empty name", header, 4, 0, false),
        ("another type", header + 8, 4, 2, false),
        ("a segment of 4 GB", size, 8, 4 << 30, true),
        ("a segment of all addresses", size, 8, u64::MAX, true),
        ("a segment that ends in the note", size, 8, (header + 14 - segment.offset) as u64, false),
        ("a segment that is empty", size, 8, 0, false),
        ("a segment behind the end", place, 8, 1 << 40, false),
        ("a segment at the last address", place, 8, u64::MAX, false),
        ("an alignment that no note has", segment.at + 48, 8, 3 << 20, false),
    ];
    for (what, at, width, value, counts) in cases {
        let mut elf = ElfFile::new(good.clone()).expect("an ELF file");
        assert!(elf.put(*at, *width, *value));
        lab.write("p/x.so", &elf.bytes);
        let report = Report::of(support::linkaudit().arg(lab.path("p")));
        assert_eq!(report.status, 0, "{what}: {}", report.outline());
        let expected = if *counts { json!({ "android": 1 }) } else { json!({}) };
        assert_eq!(report.value["totals"]["foreign"], expected, "{what}");
    }
    println!("hostile notes: {} cases", cases.len());
}

/// A truncated file is foreign only if its remaining bytes show it.
#[test]
fn cut_files() {
    let lab = Lab::new();
    lab.so("f.so", GONE, &[]);
    patch(&lab, "f.so", |bytes| bytes[OSABI] = 9);
    let whole = std::fs::read(lab.path("f.so")).expect("a library");
    for len in [64, 100, 600, 1000, 4096, 9000] {
        let name = format!("p/{len}.so");
        lab.write(&name, &whole[..len]);
        let report = Report::of(support::linkaudit().arg(lab.path(&name)));
        let messages: Vec<&str> = report.findings().map(|f| text(&f["message"])).collect();
        assert_eq!(
            messages,
            ["a FreeBSD library: its loader's rules are not known"].map(|message| {
                // Without its program headers the kind of the object is unknown.
                if len < 600 {
                    "a FreeBSD object: its loader's rules are not known"
                } else {
                    message
                }
            })
        );
        assert_eq!(report.status, 3);
    }
    let report = Report::of(support::linkaudit().arg(lab.path("p")));
    assert_eq!(report.value["totals"]["foreign"], json!({ "freebsd": 6 }));
    assert_eq!(report.status, 0, "{}", report.outline());
}

fn patch(lab: &Lab, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(lab.path(path)).expect("a file");
    change(&mut bytes);
    lab.write(path, bytes);
}

/// A library that lacks a symbol, with one byte changed.
fn with_byte(lab: &Lab, path: &str, at: usize, value: u8) {
    lab.so(path, GONE, &[]);
    patch(lab, path, |bytes| bytes[at] = value);
}

/// The source of a note of type 1 with one word.
fn note(owner: &str, word: u32) -> String {
    let text = format!(
        ".pushsection .note.x,\\\"a\\\",%note; .balign 4; .long 2f-1f, 4, 1; 1: .asciz \\\"{owner}\\\"; \
         2: .balign 4; .long {word}; .popsection"
    );
    format!("__asm__(\"{text}\");")
}

fn with_note(lab: &Lab, path: &str, owner: &str, word: u32) {
    let lacks = if word == 0 && owner == "GNU" { "" } else { GONE };
    lab.so(path, &format!("{} {lacks}", note(owner, word)), &[]);
}

fn with_interp(lab: &Lab, path: &str, interp: &str) {
    lab.exe(path, GONE, &["-nostdlib", &format!("-Wl,--dynamic-linker={interp}"), "-pie", "-fPIE"]);
}

/// A library that needs libraries of these names.
fn needing(lab: &Lab, path: &str, names: &[&str]) {
    let mut flags = vec!["-nostdlib".to_owned(), "-Wl,--no-as-needed".to_owned()];
    for name in names {
        let stub = format!("stub/{name}");
        lab.so(&stub, "int x;", &["-nostdlib", &format!("-Wl,-soname,{name}")]);
        flags.push(stub_path(lab, name));
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    lab.so(path, "int y;", &flags);
}

fn stub_path(lab: &Lab, name: &str) -> String {
    lab.path("stub").join(name).to_str().expect("a path in UTF-8").to_owned()
}

/// bionic's own versions are enough.
fn versioned_bionic(lab: &Lab, path: &str) {
    lab.write("map", "LIBC { global: gone; };\n");
    let flags = ["-nostdlib", "-Wl,-soname,libc.so", "-Wl,--version-script=$PWD/map"];
    lab.so("stub/libc.so", "int gone(void) { return 0; }", &flags);
    lab.so(path, GONE, &["-nostdlib", &stub_path(lab, "libc.so")]);
}

/// Old Linux ports have the same loader path, but another name of the libc.
fn old_solaris(lab: &Lab, path: &str) {
    lab.so("stub/libc.so.1", "int x;", &["-nostdlib", "-Wl,-soname,libc.so.1"]);
    let libc = stub_path(lab, "libc.so.1");
    let flags = ["-nostdlib", "-Wl,--no-as-needed", &libc, "-Wl,--dynamic-linker=/lib/ld.so.1"];
    lab.exe(path, GONE, &flags);
}

fn relocatable(lab: &Lab, path: &str) {
    lab.cc(path, GONE, &["-c"], &[]);
}

fn object_of(lab: &Lab, path: &str, machine: u8) {
    relocatable(lab, path);
    patch(lab, path, |bytes| bytes[MACHINE] = machine);
}

fn companion(lab: &Lab, path: &str) {
    lab.so("x.so", GONE, &["-g"]);
    let mut objcopy = support::clean("objcopy");
    objcopy.arg("--only-keep-debug").arg(lab.path("x.so")).arg(made(&lab.path(path)));
    assert!(objcopy.status().expect("objcopy runs").success());
}

/// A path whose directory exists.
fn made(path: &Path) -> &Path {
    let dir = path.parent().expect("a directory");
    std::fs::create_dir_all(dir).expect("a directory in the laboratory");
    path
}

/// Checks the numbers in the cases.
#[test]
fn numbers_are_those_of_the_format() {
    assert_eq!(elf::EM_BPF.0, 247);
    assert_eq!(elf::EM_AMDGPU.0, 224);
    assert_eq!(elf::EM_CUDA.0, 190);
    assert_eq!(elf::ET_CORE.0, 4);
    assert_eq!(elf::EM_AVR.0, 83);
}
