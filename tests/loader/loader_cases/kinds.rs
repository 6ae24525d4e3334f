//! Kinds of main files: static, without needs, relocatable, text, of the other word size, foreign.

use object::LittleEndian as Le;
use object::elf::{EM_AARCH64, ET_EXEC, PT_DYNAMIC, PT_INTERP, PT_NULL};

use super::kit::{
    Case, Targets, cases, copy, exe, executable, lib, prog, relocatable, run, see, so,
};
use super::patch::edit;
use crate::support::{self, Lab};

#[test]
fn kinds_of_main_files() {
    run("kinds", CASES);
}

const CASES: &[Case] = cases![
    static_programs,
    no_needs,
    no_needs_but_references,
    not_position_independent,
    not_dynamic,
    core_and_foreign,
    foreign_library,
    archive_and_object,
    debug_companions,
    stripped_of_sections,
    programs_without_interpreter,
    interpreter_without_dynamic_section,
    fixed_address_library,
    the_loader_and_libc,
    system_programs,
    linker_script_as_libc,
    small_program,
    small_program_missing_things,
    small_program_inherits,
    small_program_versions,
    small_program_symbols,
    small_library,
    large_library_in_a_small_search_list,
    odd_symbol_names,
    auditors_are_not_listed,
];

fn static_programs(lab: &Lab) -> Targets {
    let source = "int main(void){return 0;}";
    exe(lab, "fixed", source, "-static");
    exe(lab, "pie", source, "-static-pie -fPIE");
    exe(lab, "bare", "void _start(void){}", "-static -nostdlib");
    exe(lab, "small", "void _start(void){}", "-m32 -static -nostdlib");
    let text = "\tnot a dynamic executable\n";
    vec![
        see("fixed", &[text]),
        see("pie", &["\tstatically linked\n"]),
        see("bare", &[text]),
        see("small", &[text]),
    ]
}

fn no_needs(lab: &Lab) -> Targets {
    so(lab, "d/libpear.so", "int pear(void){return 1;}", "-nostdlib soname=libpear.so");
    so(lab, "empty.so", "", "-nostdlib");
    exe(lab, "prog", "void _start(void){}", "-nostdlib -pie");
    exe(
        lab,
        "one",
        "int pear(void); void _start(void){pear();}",
        "-nostdlib d/libpear.so runpath=$PWD/d",
    );
    let text = "\tstatically linked\n";
    vec![
        see("d/libpear.so", &[text]),
        see("empty.so", &[text]),
        see("prog", &[]),
        see("one", &["libpear.so => $PWD/d/libpear.so", "!libc.so.6"]),
    ]
}

fn no_needs_but_references(lab: &Lab) -> Targets {
    let source = "int gone(void); extern int lost; extern int perhaps __attribute__((weak)); int call(void){return gone()+lost+perhaps;}";
    so(lab, "lib.so", source, "-nostdlib");
    so(lab, "now.so", source, "-nostdlib z=now");
    so(lab, "small.so", source, "-nostdlib -m32");
    let shows = ["\tstatically linked\n", "undefined symbol: gone\t(./lib.so)", "!perhaps"];
    vec![
        see("lib.so", &shows),
        see("now.so", &["undefined symbol: lost"]),
        see("small.so", &["undefined symbol: lost"]),
    ]
}

fn not_position_independent(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    prog(lab, "fixed", &["d/libpear.so"], "-no-pie -fno-pic runpath=$ORIGIN/d");
    prog(lab, "pie", &["d/libpear.so"], "-pie -fPIE runpath=$ORIGIN/d");
    let found = "libpear.so => $PWD/./d/libpear.so";
    vec![see("fixed", &[found]), see("pie", &[found])]
}

fn not_dynamic(lab: &Lab) -> Targets {
    lab.write("script", "#!/bin/sh\necho never run\n");
    lab.write("script.so", "INPUT(-lc)\n");
    lab.write("zeroes", [0; 5000]);
    lab.write("half", b"\x7fELF\x02\x01\x01");
    for name in ["script", "script.so", "zeroes", "half"] {
        executable(lab, name);
    }
    let text = "\tnot a dynamic executable\n";
    vec![
        see("script", &[text]),
        see("script.so", &[text]),
        see("zeroes", &[text]),
        see("half", &[text]),
    ]
}

fn core_and_foreign(lab: &Lab) -> Targets {
    prog(lab, "prog", &[], "");
    copy(lab, "prog", "arm");
    edit(lab, "arm", |elf| elf.header().e_machine.set(Le, EM_AARCH64));
    copy(lab, "prog", "big");
    edit(lab, "big", |elf| *elf.byte(5) = 2);
    lib(lab, "libpear.so", &[], "");
    edit(lab, "libpear.so", |elf| elf.header().e_machine.set(Le, EM_AARCH64));
    let text = "\tnot a dynamic executable\n";
    vec![
        see("arm", &[text]),
        see("big", &[text]),
        see("libpear.so", &[text]),
        see("prog", &["!not a"]),
    ]
}

fn foreign_library(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/d");
    edit(lab, "d/libpear.so", |elf| elf.header().e_machine.set(Le, EM_AARCH64));
    vec![see("prog", &["libpear.so => not found", "undefined symbol: pear"])]
}

fn archive_and_object(lab: &Lab) -> Targets {
    relocatable(lab, "x.o", "int x; int gone(void); int y(void){return gone();}");
    lab.write("libx.a", b"!<arch>\n");
    executable(lab, "libx.a");
    let text = "\tnot a dynamic executable\n";
    vec![see("x.o", &[text]), see("libx.a", &[text])]
}

fn debug_companions(lab: &Lab) -> Targets {
    lib(lab, "libpear.so", &[], "-g");
    prog(lab, "prog", &[], "-g");
    exe(lab, "fixed", "int main(void){return 0;}", "-g -no-pie");
    for name in ["libpear.so", "prog", "fixed"] {
        let out = format!("{name}.debug");
        let mut objcopy = support::clean("objcopy");
        objcopy.current_dir(lab.root()).args(["--only-keep-debug", name, &out]);
        assert!(objcopy.status().expect("objcopy runs").success());
        executable(lab, &out);
    }
    vec![see("libpear.so.debug", &[]), see("prog.debug", &[]), see("fixed.debug", &[])]
}

fn stripped_of_sections(lab: &Lab) -> Targets {
    so(lab, "stub/libgone.so", "int gone(void){return 0;}", "soname=libgone.so");
    lib(lab, "d/libpear.so", &["stub/libgone.so"], "");
    prog(lab, "prog", &["d/libpear.so", "stub/libgone.so"], "runpath=$PWD/d");
    edit(lab, "prog", super::patch::Elf::drop_sections);
    edit(lab, "d/libpear.so", super::patch::Elf::drop_sections);
    vec![see("prog", &["libgone.so => not found", "undefined symbol: gone\t($PWD/d/libpear.so)"])]
}

fn programs_without_interpreter(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    prog(lab, "pie", &["d/libpear.so"], "-pie -fPIE runpath=$PWD/d -Wl,--no-dynamic-linker");
    prog(lab, "fixed", &["d/libpear.so"], "-no-pie runpath=$PWD/d");
    edit(lab, "fixed", |elf| {
        let interp = elf.segments().iter_mut().find(|s| s.p_type.get(Le) == PT_INTERP);
        interp.expect("a PT_INTERP").p_type.set(Le, PT_NULL);
    });
    vec![see("pie", &["libpear.so =>"]), see("fixed", &[])]
}

fn interpreter_without_dynamic_section(lab: &Lab) -> Targets {
    prog(lab, "prog", &[], "");
    edit(lab, "prog", |elf| {
        let dynamic = elf.segments().iter_mut().find(|s| s.p_type.get(Le) == PT_DYNAMIC);
        dynamic.expect("a PT_DYNAMIC").p_type.set(Le, PT_NULL);
    });
    vec![see("prog", &[])]
}

fn fixed_address_library(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "-Wl,-Ttext-segment=0x60000000");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/d");
    lib(lab, "libfig.so", &[], "");
    edit(lab, "libfig.so", |elf| elf.header().e_type.set(Le, ET_EXEC));
    vec![see("prog", &["libpear.so => $PWD/d/libpear.so"]), see("libfig.so", &[])]
}

fn the_loader_and_libc(_lab: &Lab) -> Targets {
    vec![
        see("/lib64/ld-linux-x86-64.so.2", &["statically linked"]),
        see("/lib/x86_64-linux-gnu/libc.so.6", &[]),
        see("/lib/x86_64-linux-gnu/libm.so.6", &[]),
    ]
}

fn system_programs(lab: &Lab) -> Targets {
    lab.link("/bin/sh", "shell");
    vec![
        see("/bin/sh", &["libc.so.6"]),
        see("shell", &["libc.so.6"]),
        see("/usr/bin/env", &["libc.so.6"]),
    ]
}

fn linker_script_as_libc(lab: &Lab) -> Targets {
    // The case of a musl program on a glibc system: its libc.so is the linker script.
    so(lab, "stub/libc.so", "", "-nostdlib soname=libc.so");
    exe(
        lab,
        "prog",
        "int main(void){return 0;}",
        "stub/libc.so -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1",
    );
    vec![see("prog", &["libc.so"])]
}

fn small_program(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "-m32");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "-m32 runpath=$ORIGIN");
    prog(lab, "prog", &["d/libfig.so"], "-m32 runpath=$ORIGIN/d");
    prog(lab, "fixed", &["d/libfig.so"], "-m32 -no-pie -fno-pic rpath=d");
    vec![
        see("prog", &["libpear.so => $PWD/./d/libpear.so", "ld-linux.so.2"]),
        see("fixed", &["libfig.so => d/libfig.so"]),
    ]
}

fn small_program_missing_things(lab: &Lab) -> Targets {
    lib(lab, "stub/libgone.so", &[], "-m32");
    let source = "int gone(void); extern int lost; int fig(void){return gone()+lost;}";
    so(lab, "d/libfig.so", source, "-m32 soname=libfig.so stub/libgone.so");
    prog(lab, "prog", &["d/libfig.so", "stub/libgone.so"], "-m32 runpath=$PWD/d");
    vec![see(
        "prog",
        &[
            "libgone.so => not found",
            "undefined symbol: lost\t($PWD/d/libfig.so)",
            "undefined symbol: gone\t(./prog)",
        ],
    )]
}

fn small_program_inherits(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "-m32");
    lib(lab, "d/libkiwi.so", &["d/libpear.so"], "-m32");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "-m32 runpath=$PWD/none");
    prog(lab, "prog", &["d/libkiwi.so"], "-m32 rpath=$PWD/d");
    prog(lab, "blocked", &["d/libfig.so"], "-m32 rpath=$PWD/d");
    vec![see("prog", &["libpear.so => $PWD/d"]), see("blocked", &["libpear.so => not found"])]
}

fn small_program_versions(lab: &Lab) -> Targets {
    lab.write("both", "PEAR_1 { global: pear; }; PEAR_2 { global: extra; } PEAR_1;");
    lab.write("old", "PEAR_1 { global: pear; extra; };");
    let source = "int pear(void){return 1;} int extra(void){return 2;}";
    so(lab, "stub/libpear.so", source, "-m32 soname=libpear.so -Wl,--version-script=$PWD/both");
    so(lab, "d/libpear.so", source, "-m32 soname=libpear.so -Wl,--version-script=$PWD/old");
    let main = "int pear(void); int extra(void); int main(void){return pear()+extra();}";
    exe(lab, "prog", main, "-m32 stub/libpear.so runpath=$PWD/d");
    vec![see(
        "prog",
        &[
            "version `PEAR_2' not found (required by ./prog)",
            "undefined symbol: extra, version PEAR_2",
        ],
    )]
}

fn small_program_symbols(lab: &Lab) -> Targets {
    let stub = "int pear(void){return 0;} int size[4]={1}; int gone; __thread int t;";
    so(lab, "stub/libpear.so", stub, "-m32 soname=libpear.so");
    let source = "int pear(void){return 0;} int size[8]={1}; int *where(void){return size;} void *f(void){return pear;}";
    so(lab, "d/libpear.so", source, "-m32 soname=libpear.so");
    let main = "int pear(void); extern int size[4]; extern int gone; extern __thread int t; int (*p)(void)=pear; int main(void){return size[0]+gone+t+p();}";
    exe(lab, "fixed", main, "-m32 -no-pie -fno-pic stub/libpear.so runpath=$PWD/d");
    exe(lab, "pie", main, "-m32 -pie -fPIE stub/libpear.so runpath=$PWD/d");
    vec![
        see("fixed", &["Symbol `size' has different size", "undefined symbol: gone"]),
        see("pie", &["undefined symbol: gone"]),
    ]
}

fn small_library(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "-m32");
    so(
        lab,
        "libfig.so",
        "int pear(void); int gone(void); int fig(void){return pear()+gone();}",
        "-m32 d/libpear.so rpath=$ORIGIN/d",
    );
    vec![see("libfig.so", &["libpear.so => $PWD/./d/libpear.so", "undefined symbol: gone"])]
}

fn large_library_in_a_small_search_list(lab: &Lab) -> Targets {
    lib(lab, "small/libpear.so", &[], "-m32");
    lib(lab, "large/libpear.so", &[], "");
    prog(lab, "first", &["small/libpear.so"], "-m32 runpath=$PWD/large:$PWD/small");
    prog(lab, "only", &["small/libpear.so"], "-m32 runpath=$PWD/large");
    vec![see("first", &["libpear.so => $PWD/small"]), see("only", &["libpear.so => not found"])]
}

fn odd_symbol_names(lab: &Lab) -> Targets {
    let names = [
        "a b",
        "tab@x",
        "per%cent",
        "_ZN3foo3barEv",
        "dollar$",
        "star*",
        "dot.part.0",
        "caf\u{e9}",
        "(paren)",
        "semi;x",
        "quote'x",
        "comma, version V_1",
    ];
    let mut source = String::new();
    for (index, name) in names.iter().enumerate() {
        source += &format!("int f{index:04}padding_to_some_length(void);\n");
        assert!(name.len() < 20);
    }
    source += "int all(void){return 0";
    for index in 0..names.len() {
        source += &format!("+f{index:04}padding_to_some_length()");
    }
    so(lab, "lib.so", &(source + ";}"), "");
    edit(lab, "lib.so", |elf| {
        for (index, name) in names.iter().enumerate() {
            let mut bytes = name.as_bytes().to_vec();
            bytes.resize("f0000padding_to_some_length".len(), 0);
            elf.respell(&format!("f{index:04}padding_to_some_length"), &bytes);
        }
    });
    vec![see("lib.so", &["undefined symbol: a b\t(./lib.so)", "comma, version V_1\t("])]
}

fn auditors_are_not_listed(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "-Wl,--depaudit=libgone.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["!libgone.so"])]
}
