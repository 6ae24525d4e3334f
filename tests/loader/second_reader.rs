//! Independent second readers: goblin reads the same ELF files, the `ar` crate the same archives,
//! and names, paths and symbols must be the same. The loader comparisons are elsewhere.
#![cfg(target_os = "linux")]

use crate::support;

use crate::support::elf_file;
use crate::support::random;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use goblin::elf::{Elf, section_header::SHN_UNDEF, sym};
use linkaudit::format::archive::{RequestedNames, definitions};
use linkaudit::tree::{DiskTree, Opened, Tree as _};

/// Every `STEP`th file of /usr is read again.
const STEP: usize = 12;

fn files(extension: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = walkdir::WalkDir::new("/usr")
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file() && extension(entry.path()))
        .map(walkdir::DirEntry::into_path)
        .collect();
    out.sort();
    out
}

fn is_elf(path: &Path) -> bool {
    use std::io::Read as _;
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

/// One line for each fact that both readers have.
fn ours(file: &serde_json::Value) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    for key in ["soname", "rpath", "runpath", "interpreter"] {
        out.extend(text(&file[key]).map(|value| format!("{key} {value}")));
    }
    for need in file["needed"].as_array().into_iter().flatten() {
        out.insert(format!("needed {}", need["name"].as_str().unwrap_or_default()));
    }
    for export in file["exports"].as_array().into_iter().flatten() {
        out.insert(format!("export {}", export["name"].as_str().unwrap_or_default()));
    }
    out
}

fn goblins(elf: &Elf<'_>) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    out.extend(elf.soname.map(|name| format!("soname {name}")));
    out.extend(elf.interpreter.map(|name| format!("interpreter {name}")));
    // goblin splits the lists at colons; a DT_RPATH next to a DT_RUNPATH is shown by both.
    let joined = |list: &[&str]| (!list.is_empty()).then(|| list.join(":"));
    out.extend(joined(&elf.rpaths).map(|list| format!("rpath {list}")));
    out.extend(joined(&elf.runpaths).map(|list| format!("runpath {list}")));
    out.extend(elf.libraries.iter().map(|name| format!("needed {name}")));
    for symbol in elf.dynsyms.iter().skip(1) {
        let kind = sym::st_type(symbol.st_info);
        let placed = symbol.st_value != 0 || symbol.st_shndx == 0xfff1 || kind == sym::STT_TLS;
        let bound = matches!(
            sym::st_bind(symbol.st_info),
            sym::STB_GLOBAL | sym::STB_WEAK | sym::STB_GNU_UNIQUE
        );
        let known = matches!(kind, 0 | 1 | 2 | 5 | 6 | 10);
        let seen =
            matches!(sym::st_visibility(symbol.st_other), sym::STV_DEFAULT | sym::STV_PROTECTED);
        if symbol.st_shndx != SHN_UNDEF as usize && placed && bound && known && seen {
            let name = elf.dynstrtab.get_at(symbol.st_name).unwrap_or_default();
            out.insert(format!("export {name}"));
        }
    }
    out
}

#[test]
fn goblin_reads_the_same() {
    let sample: Vec<PathBuf> = files(is_elf).into_iter().step_by(STEP).collect();
    let output = support::linkaudit()
        .args(["--format", "json", "--facts"])
        .args(&sample)
        .output()
        .expect("linkaudit runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (mut read, mut unread, mut differences) = (0, 0, Vec::new());
    for file in report["files"].as_array().expect("files") {
        let path = file["path"].as_str().unwrap_or_default();
        let bytes = std::fs::read(path).expect("a file that was read before");
        let Ok(elf) = Elf::parse(&bytes) else {
            unread += 1;
            continue;
        };
        let debug = elf.program_headers.iter().any(|ph| ph.p_type == 2 && ph.p_filesz == 0);
        if elf.dynamic.is_none() || debug {
            continue;
        }
        read += 1;
        let (a, b) = (ours(file), goblins(&elf));
        if a != b {
            let only = |x: &BTreeSet<String>, y: &BTreeSet<String>| {
                x.difference(y).take(5).cloned().collect::<Vec<_>>()
            };
            differences.push(format!("{path}: ours {:?}, goblin {:?}", only(&a, &b), only(&b, &a)));
        }
    }
    println!("goblin: {read} files, {} differences, {unread} it cannot read", differences.len());
    assert!(read > 50, "nothing was compared");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn ar_reads_the_same_index() {
    let archives = files(|path| path.extension().is_some_and(|e| e == "a"));
    let (mut read, mut symbols, mut differences) = (0, 0, Vec::new());
    for path in archives.iter().take(60) {
        let file = std::fs::File::open(path).expect("an archive");
        let mut archive = ar::Archive::new(std::io::BufReader::new(file));
        let Ok(index) = archive.symbols() else { continue };
        let expected: BTreeSet<Vec<u8>> = index.map(<[u8]>::to_vec).collect();
        if expected.is_empty() {
            continue;
        }
        read += 1;
        symbols += expected.len();
        let mut names = RequestedNames::default();
        for name in &expected {
            names.insert(name, linkaudit::format::elf::hash::gnu(name));
        }
        let Ok(Opened::File(handle)) = DiskTree::new().open(path) else {
            panic!("{} is gone", path.display())
        };
        let mut defects = Vec::new();
        let found = definitions(&handle, &names, &mut defects).expect("a readable archive");
        let named = found.iter().all(|definition| !definition.member.is_empty());
        let ours: BTreeSet<Vec<u8>> = found.into_iter().map(|d| d.symbol.into_vec()).collect();
        if ours != expected || !defects.is_empty() || !named {
            differences.push(format!("{}: {} of {}", path.display(), ours.len(), expected.len()));
        }
    }
    println!("ar: {read} archives, {symbols} symbols, {} differences", differences.len());
    assert!(read > 3, "nothing was compared");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn cross_check(lab: &support::Lab, args: &[&str]) -> (serde_json::Value, Vec<String>) {
    let output = lab.linkaudit(&[&["--format", "json", "--cross-check"], args].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.is_empty(), "stderr: {error}");
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}", output.status);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").iter();
    let found = findings
        .filter(|finding| finding["rule"] == "readers-disagree")
        .map(|finding| format!("{}: {}", finding["path"], finding["message"]))
        .collect();
    (report, found)
}

/// On a sound system two readers that share no code agree.
#[test]
fn cross_check_of_the_system() {
    let lab = support::Lab::new();
    let (report, found) = cross_check(&lab, &["/usr/lib"]);
    let read = report["cross_check"]["read"].as_u64().expect("a count");
    println!("cross-check: {read} files, {} differences", found.len());
    println!("not read: {}", report["cross_check"]["not_read"]);
    assert!(read > 300, "nothing was compared");
    assert!(found.is_empty(), "{}", found.join("\n"));
    let output = lab.linkaudit(&["--format", "json", "/usr/lib/x86_64-linux-gnu/libc.so.6"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report.get("cross_check").is_none(), "without the option nothing is read again");
}

/// goblin reads versions by the section headers: if these are two bytes off, the cross-check must
/// report that every version differs.
#[test]
fn cross_check_holds_versions_against_each_other() {
    let lab = support::Lab::new();
    lab.write("map", "V1 { global: a; };\nV2 { global: b; } V1;\n");
    let library = lab.so(
        "libv.so",
        "int a(void) { return 1; } int b(void) { return 2; }",
        &["-nostdlib", "-Wl,--version-script,$PWD/map"],
    );
    assert!(cross_check(&lab, &["libv.so"]).1.is_empty());
    let bytes = std::fs::read(&library).expect("it was built");
    let mut elf = elf_file::ElfFile::new(bytes).expect("an ELF file");
    let number = |elf: &elf_file::ElfFile, at: usize, size: usize| {
        usize::try_from(elf.get(at, size).expect("a field")).expect("a number")
    };
    let (table, count) = (number(&elf, 40, 8), number(&elf, 60, 2));
    let versym =
        (0..count).map(|i| table + 64 * i).find(|at| number(&elf, at + 4, 4) == 0x6fff_ffff);
    let at = versym.expect("a section of versions") + 24;
    let offset = elf.get(at, 8).expect("its offset");
    assert!(elf.put(at, 8, offset + 2));
    std::fs::write(&library, elf.bytes).expect("the library");
    let (_, found) = cross_check(&lab, &["libv.so"]);
    println!("cross-check: {} shifted versions seen", found.len());
    assert!(found.iter().any(|text| text.contains("V1") && text.contains("V2")), "{found:?}");
}

/// linkaudit continues if a second reader fails on a damaged file.
#[test]
fn cross_check_survives_damage() {
    let lab = support::Lab::new();
    lab.so("base.so", "int a(void) { return 1; }", &[]);
    lab.cc("base.o", "int a(void) { return 1; }", &["-c"], &[]);
    let mut ar = support::clean("ar");
    let status = ar.current_dir(lab.root()).args(["rc", "base.a", "base.o"]).status();
    assert!(status.expect("ar runs").success());
    for base in ["base.so", "base.a"] {
        let bytes = std::fs::read(lab.path(base)).expect("it was built");
        for seed in 0..300 {
            let random = &mut random::Random::new(seed);
            let mut bytes = bytes.clone();
            for _ in 0..=random.below(8) {
                // Headers and tables lie in the first part of both.
                let at = random.below(bytes.len().min(2048));
                bytes[at] = *random.pick(&[0, 1, 0x7f, 0x80, 0xff]);
            }
            lab.write(&format!("tree/{seed}-{base}"), bytes);
        }
    }
    let (report, found) = cross_check(&lab, &["./tree"]);
    let second = &report["cross_check"];
    println!("cross-check of 600 damaged files: {second}, {} differences", found.len());
    assert!(second["read"].as_u64() > Some(50), "{second}");
}
