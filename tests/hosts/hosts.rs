//! Plugins under a host program: the bindings, libraries and errors of a real dlopen must be those
//! that linkaudit reports with `--host`.
//!
//! `kit` opens small plugins for each rule in a small program; `musl` does the same under musl's
//! loader. `python` imports extension modules of this machine's Python, and `programs` runs other
//! programs that open plugins. `whole` is about whole reports.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::elf_file;
use crate::support::musl as musl_files;
use crate::support::notation;

mod kit;
mod musl;
mod names;
mod programs;
mod python;
mod symbols;
mod whole;

use elf_file::ElfFile;
use support::Lab;

#[test]
fn opened_plugins() {
    let mut counts = kit::Counts::default();
    for cases in [names::CASES, symbols::CASES] {
        kit::run(cases, &mut counts);
    }
    let kit::Counts { cases, bindings, files, differences } = counts;
    let n = differences.len();
    println!("hosts: {cases} plugins opened, {bindings} bindings, {files} files, {n} differences");
    assert!(cases >= 25 && bindings > 100, "too little was compared");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Gives an object DT_SYMBOLIC in the place of its DT_FINI: a linker that is told to make a
/// symbolic object binds most of it itself.
fn retag_symbolic(lab: &Lab, name: &str) {
    const DT_FINI: u64 = 13;
    const DT_SYMBOLIC: u64 = 16;
    let path = lab.path(name);
    let bytes = std::fs::read(&path).expect("the library");
    let mut file = ElfFile::new(bytes).expect("an ELF file");
    let entries = file.dynamic();
    let fini = entries.iter().find(|entry| entry.tag == DT_FINI).expect("DT_FINI");
    file.bytes[fini.at..fini.at + 8].copy_from_slice(&DT_SYMBOLIC.to_le_bytes());
    std::fs::write(path, &file.bytes).expect("the library can be written");
}
