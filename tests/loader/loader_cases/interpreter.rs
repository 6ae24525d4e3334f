//! The loader as a library that is needed, and the PT_INTERP of a main file.

use object::elf::PT_INTERP;

use super::kit::{Case, Targets, cases, exe, prog, remove, run, see, so};
use super::patch::edit;
use crate::support::Lab;

#[test]
fn the_loader_and_the_interpreter() {
    run("interpreter", CASES);
}

const CASES: &[Case] = cases![
    loader_under_its_soname,
    loader_under_its_path,
    loader_under_other_strings,
    loader_copied,
    other_interpreter,
    interpreter_of_another_name,
    library_with_interpreter,
];

const LOADER: &str = "ld-linux-x86-64.so.2";

/// A program that needs the loader under `name`.
fn needs_loader(lab: &Lab, out: &str, name: &str, flags: &str) {
    so(lab, "stub/loader.so", "", &format!("soname={name}"));
    exe(lab, out, "int main(void){return 0;}", &format!("stub/loader.so {flags}"));
    remove(lab, "stub/loader.so");
}

fn loader_under_its_soname(lab: &Lab) -> Targets {
    needs_loader(lab, "prog", LOADER, "");
    needs_loader(lab, "first", LOADER, "-Wl,--as-needed");
    // A library as main has no PT_INTERP, so the loader is listed under its own path.
    so(lab, "lib.so", "int x;", "");
    vec![see("prog", &["ld-linux-x86-64.so.2"]), see("first", &[]), see("lib.so", &["ld-linux"])]
}

fn loader_under_its_path(lab: &Lab) -> Targets {
    needs_loader(lab, "prog", "/lib64/ld-linux-x86-64.so.2", "");
    so(lab, "stub/loader.so", "", "soname=/lib64/ld-linux-x86-64.so.2");
    so(lab, "lib.so", "int x;", "stub/loader.so");
    vec![see("prog", &["\t/lib64/ld-linux-x86-64.so.2\n"]), see("lib.so", &["ld-linux"])]
}

fn loader_under_other_strings(lab: &Lab) -> Targets {
    needs_loader(lab, "prog", "/lib64/../lib64/ld-linux-x86-64.so.2", "");
    needs_loader(lab, "slashes", "/lib64//ld-linux-x86-64.so.2", "");
    vec![see("prog", &["/lib64/../lib64/ld-linux"]), see("slashes", &["/lib64//ld-linux"])]
}

fn loader_copied(lab: &Lab) -> Targets {
    lab.mkdir("d");
    std::fs::copy("/lib64/ld-linux-x86-64.so.2", lab.path("d/ld-linux-x86-64.so.2"))
        .expect("a copy");
    needs_loader(lab, "prog", LOADER, "runpath=$PWD/d");
    needs_loader(lab, "path", "d/ld-linux-x86-64.so.2", "");
    vec![see("prog", &["!$PWD/d"]), see("path", &["d/ld-linux-x86-64.so.2"])]
}

fn other_interpreter(lab: &Lab) -> Targets {
    lab.mkdir("d");
    std::fs::copy("/lib64/ld-linux-x86-64.so.2", lab.path("d/ld-linux-x86-64.so.2"))
        .expect("a copy");
    let source = "int main(void){return 0;}";
    exe(lab, "real", source, "-Wl,--dynamic-linker=$PWD/d/ld-linux-x86-64.so.2");
    exe(lab, "gone", source, "-Wl,--dynamic-linker=/none/store/lib/ld-linux-x86-64.so.2");
    exe(lab, "relative", source, "-Wl,--dynamic-linker=d/ld-linux-x86-64.so.2");
    exe(lab, "link", source, "-Wl,--dynamic-linker=/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
    vec![
        see("real", &["$PWD/d/ld-linux-x86-64.so.2 => /lib64/ld-linux-x86-64.so.2"]),
        see("gone", &["/none/store/lib/ld-linux-x86-64.so.2 => /lib64"]),
        see("relative", &["d/ld-linux-x86-64.so.2 => /lib64"]),
        see("link", &["=> /lib64/ld-linux-x86-64.so.2"]),
    ]
}

fn interpreter_of_another_name(lab: &Lab) -> Targets {
    let source = "int main(void){return 0;}";
    exe(lab, "musl", source, "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1");
    exe(lab, "short", source, "-Wl,--dynamic-linker=x");
    exe(lab, "empty", source, "-Wl,--dynamic-linker=y");
    edit(lab, "empty", |elf| {
        let segment =
            elf.segments().iter().find(|s| s.p_type.get(object::LittleEndian) == PT_INTERP);
        let at = segment.expect("a PT_INTERP").p_offset.get(object::LittleEndian);
        *elf.byte(at as usize) = 0;
    });
    vec![
        see("musl", &["/lib/ld-musl-x86_64.so.1 => /lib64"]),
        see("short", &["\tx => /lib64"]),
        see("empty", &[]),
    ]
}

fn library_with_interpreter(lab: &Lab) -> Targets {
    let source = "const char interp[] __attribute__((section(\".interp\"))) = \"/some/loader.so\"; int pear(void){return 1;}";
    so(lab, "d/libpear.so", source, "soname=libpear.so");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/d");
    needs_loader(lab, "both", "/some/loader.so", "");
    vec![
        see("d/libpear.so", &["/some/loader.so => /lib64/ld-linux-x86-64.so.2"]),
        see("prog", &["!/some/loader.so"]),
        see("both", &["/some/loader.so => not found"]),
    ]
}
