//! Files that the loader skips in its search, and files at which it stops with an error.

use object::LittleEndian as Le;
use object::elf::{
    DF_1_PIE, DT_FLAGS_1, EM_386, EM_AARCH64, EM_NONE, ET_CORE, ET_NONE, ET_REL, FileType, Machine,
    PT_DYNAMIC, PT_LOAD, PT_NULL,
};

use super::kit::{
    Case, Target, Targets, cases, copy, exe, executable, lib, prog, relocatable, run, see,
};
use super::patch::{Elf, edit};
use crate::support::{self, Lab};

#[test]
fn candidates_passed_over_and_fatal_ones() {
    run("bad files", CASES);
}

const CASES: &[Case] = cases![
    wrong_class,
    wrong_class_by_path,
    wrong_class_hides_what_follows,
    class_of_no_kind,
    wrong_machine,
    wrong_machine_by_path,
    thirty_two_bits_on_a_large_machine,
    not_elf,
    too_short,
    directories,
    identification,
    header_fields,
    kinds_of_file,
    program_headers_out_of_reach,
    segments,
    no_dynamic_section,
    debug_companion,
    programs_as_libraries,
];

/// Writes `bad/NAME/libpear.so`, a good library changed by `change`, which is searched before a
/// good one.
pub(crate) fn before_a_good_one(lab: &Lab, name: &str, change: impl FnOnce(&mut Elf)) {
    if !lab.path("good/libpear.so").exists() {
        lib(lab, "good/libpear.so", &[], "");
    }
    let bad = format!("bad/{name}/libpear.so");
    copy(lab, "good/libpear.so", &bad);
    edit(lab, &bad, change);
    asks(lab, name);
}

fn asks(lab: &Lab, name: &str) {
    if !lab.path("good/libpear.so").exists() {
        lib(lab, "good/libpear.so", &[], "");
    }
    prog(lab, name, &["good/libpear.so"], &format!("runpath=$PWD/bad/{name}:$PWD/good"));
}

pub(crate) fn all(names: &[(&str, &'static str)]) -> Vec<Target> {
    names.iter().map(|(name, shows)| see(name, &[shows])).collect()
}

fn wrong_class(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "small/libpear.so", &[], "-m32");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/small:$PWD/d");
    prog(lab, "only", &["d/libpear.so"], "runpath=$PWD/small");
    prog(lab, "system", &[], "-lm runpath=/lib32:/usr/lib32:/lib/i386-linux-gnu");
    vec![
        see("prog", &["=> $PWD/d/libpear.so"]),
        see("only", &["libpear.so => not found"]),
        see("system", &["libm.so.6 => /", "!/lib32/", "!not found"]),
    ]
}

fn wrong_class_by_path(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "soname=$PWD/small/libpear.so");
    lib(lab, "small/libpear.so", &[], "-m32");
    prog(lab, "prog", &["d/libpear.so"], "");
    vec![see("prog", &["small/libpear.so"])]
}

fn wrong_class_hides_what_follows(lab: &Lab) -> Targets {
    lib(lab, "small/libpear.so", &[], "-m32");
    lib(lab, "good/libpear.so", &[], "");
    // A file of the other class is skipped, even if it has further defects.
    let changes: [(&str, usize, u8); 4] =
        [("endian", 5, 2), ("version", 6, 7), ("osabi", 7, 9), ("machine", 18, 183)];
    for (name, at, value) in changes {
        copy(lab, "small/libpear.so", &format!("bad/{name}/libpear.so"));
        let path = lab.path(&format!("bad/{name}/libpear.so"));
        let mut bytes = std::fs::read(&path).expect("the copy");
        bytes[at] = value;
        std::fs::write(&path, bytes).expect("the changed copy");
        asks(lab, name);
    }
    let mut bytes = std::fs::read(lab.path("small/libpear.so")).expect("the library");
    bytes.truncate(70);
    lab.write("bad/stump/libpear.so", &bytes);
    bytes.truncate(52);
    lab.write("bad/header/libpear.so", &bytes);
    asks(lab, "stump");
    asks(lab, "header");
    let mut targets =
        all(&[("endian", "good/"), ("version", "good/"), ("osabi", "good/"), ("machine", "good/")]);
    targets.extend(all(&[("stump", "good/"), ("header", "file too short")]));
    targets
}

fn class_of_no_kind(lab: &Lab) -> Targets {
    before_a_good_one(lab, "class0", |elf| *elf.byte(4) = 0);
    before_a_good_one(lab, "class3", |elf| *elf.byte(4) = 3);
    before_a_good_one(lab, "claims32", |elf| *elf.byte(4) = 1);
    all(&[("class0", ""), ("class3", ""), ("claims32", "=> $PWD/good/")])
}

fn wrong_machine(lab: &Lab) -> Targets {
    let machines =
        [("arm", EM_AARCH64), ("i386", EM_386), ("none", EM_NONE), ("far", Machine(0xffff))];
    for (name, machine) in machines {
        before_a_good_one(lab, name, |elf| elf.header().e_machine.set(Le, machine));
    }
    prog(lab, "only", &["good/libpear.so"], "runpath=$PWD/bad/arm");
    let mut targets = all(&machines.map(|(name, _)| (name, "=> $PWD/good/")));
    targets.push(see("only", &["libpear.so => not found"]));
    targets
}

fn wrong_machine_by_path(lab: &Lab) -> Targets {
    before_a_good_one(lab, "arm", |elf| elf.header().e_machine.set(Le, EM_AARCH64));
    lib(lab, "stub/libpear.so", &[], "soname=bad/arm/libpear.so");
    prog(lab, "prog", &["stub/libpear.so"], "");
    vec![see("prog", &["bad/arm/libpear.so => not found"])]
}

fn thirty_two_bits_on_a_large_machine(lab: &Lab) -> Targets {
    // The x32 shape: ELFCLASS32 with the machine of 64 bits. Neither loader accepts it.
    lib(lab, "small/libpear.so", &[], "-m32");
    let mut bytes = std::fs::read(lab.path("small/libpear.so")).expect("the library");
    bytes[18] = 62;
    lab.write("x32/libpear.so", bytes);
    lib(lab, "good/libpear.so", &[], "");
    prog(lab, "large", &["good/libpear.so"], "runpath=$PWD/x32:$PWD/good");
    prog(lab, "little", &["small/libpear.so"], "-m32 runpath=$PWD/x32:$PWD/good:$PWD/small");
    vec![see("large", &["=> $PWD/good/"]), see("little", &["=> $PWD/small/libpear.so"])]
}

fn not_elf(lab: &Lab) -> Targets {
    let script = "/* GNU ld script */ GROUP ( libreal.so.1 AS_NEEDED ( libother.so ) ) and so on";
    lab.write("bad/script/libpear.so", script);
    lab.write("bad/archive/libpear.so", [&b"!<arch>\n"[..], &[b' '; 120]].concat());
    lab.write("bad/zeroes/libpear.so", [0; 4096]);
    lab.write("bad/almost/libpear.so", [&b"\x7fELG"[..], &[1; 100]].concat());
    for name in ["script", "archive", "zeroes", "almost"] {
        asks(lab, name);
    }
    let text = "/libpear.so: invalid ELF header";
    all(&[("script", text), ("archive", text), ("zeroes", text), ("almost", text)])
}

fn too_short(lab: &Lab) -> Targets {
    lab.write("bad/empty/libpear.so", "");
    lab.write("bad/byte/libpear.so", "\x7f");
    lab.write("bad/text/libpear.so", "INPUT(libreal.so)\n");
    lab.write("bad/text63/libpear.so", [b'x'; 63]);
    lab.write("bad/text64/libpear.so", [b'x'; 64]);
    lab.write("bad/archive8/libpear.so", "!<arch>\n");
    lab.write("bad/archive63/libpear.so", [&b"!<arch>\n"[..], &[b' '; 55]].concat());
    for name in ["empty", "byte", "text", "text63", "text64", "archive8", "archive63"] {
        asks(lab, name);
    }
    before_a_good_one(lab, "magic", |elf| elf.truncate(4));
    before_a_good_one(lab, "ident", |elf| elf.truncate(16));
    before_a_good_one(lab, "header63", |elf| elf.truncate(63));
    before_a_good_one(lab, "header64", |elf| elf.truncate(64));
    before_a_good_one(lab, "phdr", |elf| elf.truncate(200));
    let mut targets =
        all(&[("empty", "file too short"), ("byte", "file too short"), ("text", "file too short")]);
    targets.extend(all(&[
        ("text63", "file too short"),
        ("text64", "invalid ELF header"),
        ("magic", "file too short"),
    ]));
    targets.extend(all(&[("ident", "file too short"), ("header63", "file too short")]));
    targets.extend(all(&[("archive8", "file too short"), ("archive63", "file too short")]));
    targets.extend(all(&[("header64", "error while loading"), ("phdr", "error while loading")]));
    targets
}

fn directories(lab: &Lab) -> Targets {
    lab.mkdir("bad/dir/libpear.so");
    lab.link(".", "bad/link/libpear.so");
    asks(lab, "dir");
    asks(lab, "link");
    let text = "libpear.so: cannot read file data: ";
    all(&[("dir", text), ("link", text)])
}

fn identification(lab: &Lab) -> Targets {
    before_a_good_one(lab, "endian", |elf| *elf.byte(5) = 2);
    before_a_good_one(lab, "endian0", |elf| *elf.byte(5) = 0);
    before_a_good_one(lab, "version0", |elf| *elf.byte(6) = 0);
    before_a_good_one(lab, "version2", |elf| *elf.byte(6) = 2);
    before_a_good_one(lab, "freebsd", |elf| *elf.byte(7) = 9);
    before_a_good_one(lab, "hpux", |elf| *elf.byte(7) = 1);
    before_a_good_one(lab, "gnu", |elf| *elf.byte(7) = 3);
    before_a_good_one(lab, "abi1", |elf| *elf.byte(8) = 1);
    for (name, value) in [("gnu_abi1", 1), ("gnu_abi2", 2), ("gnu_abi3", 3), ("gnu_abi9", 9)] {
        before_a_good_one(lab, name, |elf| {
            *elf.byte(7) = 3;
            *elf.byte(8) = value;
        });
    }
    before_a_good_one(lab, "gnu_abi255", |elf| {
        *elf.byte(7) = 3;
        *elf.byte(8) = 255;
    });
    before_a_good_one(lab, "padding", |elf| *elf.byte(9) = 1);
    before_a_good_one(lab, "padding15", |elf| *elf.byte(15) = 1);
    let mut targets = all(&[("endian", "not little-endian"), ("endian0", "error while loading")]);
    targets.extend(all(&[("version0", "version ident"), ("version2", "version ident")]));
    targets.extend(all(&[
        ("freebsd", "OS ABI invalid"),
        ("hpux", "OS ABI invalid"),
        ("gnu", "bad/gnu/"),
    ]));
    targets.extend(all(&[("abi1", "ABI version invalid"), ("gnu_abi1", ""), ("gnu_abi2", "")]));
    targets.extend(all(&[
        ("gnu_abi3", ""),
        ("gnu_abi9", ""),
        ("gnu_abi255", "ABI version invalid"),
    ]));
    targets.extend(all(&[("padding", "nonzero padding"), ("padding15", "nonzero padding")]));
    targets
}

fn header_fields(lab: &Lab) -> Targets {
    before_a_good_one(lab, "version", |elf| elf.header().e_version.set(Le, 2));
    before_a_good_one(lab, "version0", |elf| elf.header().e_version.set(Le, 0));
    before_a_good_one(lab, "entsize", |elf| elf.header().e_phentsize.set(Le, 32));
    before_a_good_one(lab, "ehsize", |elf| elf.header().e_ehsize.set(Le, 1));
    before_a_good_one(lab, "flags", |elf| {
        elf.header().e_flags.set(Le, object::elf::FileFlags(0x1234));
    });
    before_a_good_one(lab, "entry", |elf| elf.header().e_entry.set(Le, u64::MAX));
    before_a_good_one(lab, "sections", Elf::drop_sections);
    before_a_good_one(lab, "far_sections", |elf| elf.header().e_shoff.set(Le, u64::MAX - 5));
    let mut targets =
        all(&[("version", "ELF file version does not match"), ("version0", "does not match")]);
    targets.extend(all(&[
        ("entsize", "phentsize"),
        ("ehsize", "bad/ehsize/"),
        ("flags", "bad/flags/"),
    ]));
    targets.extend(all(&[("entry", "bad/entry/"), ("sections", "bad/"), ("far_sections", "bad/")]));
    targets
}

fn kinds_of_file(lab: &Lab) -> Targets {
    relocatable(lab, "bad/object/libpear.so", "int pear(void){return 1;}");
    asks(lab, "object");
    let kinds = [("rel", ET_REL), ("core", ET_CORE), ("none", ET_NONE), ("os", FileType(0xfe00))];
    for (name, kind) in kinds {
        before_a_good_one(lab, name, |elf| elf.header().e_type.set(Le, kind));
    }
    let text = "only ET_DYN and ET_EXEC can be loaded";
    // A relocatable object has no program headers, which the loader reports first.
    let mut targets = all(&kinds.map(|(name, _)| (name, text)));
    targets.push(see("object", &["error while loading shared libraries: $PWD/bad/object"]));
    targets
}

fn program_headers_out_of_reach(lab: &Lab) -> Targets {
    before_a_good_one(lab, "far", |elf| elf.header().e_phoff.set(Le, 1 << 30));
    before_a_good_one(lab, "end", |elf| elf.header().e_phnum.set(Le, 60000));
    before_a_good_one(lab, "none", |elf| elf.header().e_phnum.set(Le, 0));
    all(&[
        ("far", "cannot read file data"),
        ("end", "cannot read file data"),
        ("none", "no loadable segments"),
    ])
}

fn segments(lab: &Lab) -> Targets {
    before_a_good_one(lab, "no_load", |elf| {
        for segment in elf.segments().iter_mut().filter(|s| s.p_type.get(Le) == PT_LOAD) {
            segment.p_type.set(Le, PT_NULL);
        }
    });
    before_a_good_one(lab, "skewed", |elf| {
        let load =
            elf.segments().iter_mut().find(|s| s.p_type.get(Le) == PT_LOAD).expect("a PT_LOAD");
        load.p_vaddr.set(Le, load.p_vaddr.get(Le) + 0x10);
    });
    before_a_good_one(lab, "alignment", |elf| {
        let load =
            elf.segments().iter_mut().find(|s| s.p_type.get(Le) == PT_LOAD).expect("a PT_LOAD");
        load.p_align.set(Le, 0x10);
    });
    all(&[
        ("no_load", "libpear.so: object file has no loadable segments"),
        ("skewed", "ELF load command address/offset not"),
        ("alignment", ""),
    ])
}

fn no_dynamic_section(lab: &Lab) -> Targets {
    let dynamic = |elf: &mut Elf, change: fn(&mut object::elf::ProgramHeader64<Le>)| {
        let segments = elf.segments();
        change(segments.iter_mut().find(|s| s.p_type.get(Le) == PT_DYNAMIC).expect("a PT_DYNAMIC"));
    };
    before_a_good_one(lab, "absent", |elf| dynamic(elf, |s| s.p_type.set(Le, PT_NULL)));
    before_a_good_one(lab, "empty", |elf| dynamic(elf, |s| s.p_filesz.set(Le, 0)));
    let text = "libpear.so: object file has no dynamic section";
    all(&[("absent", text), ("empty", text)])
}

fn debug_companion(lab: &Lab) -> Targets {
    lib(lab, "good/libpear.so", &[], "-g");
    lab.mkdir("bad/debug");
    let status = support::clean("objcopy")
        .current_dir(lab.root())
        .args(["--only-keep-debug", "good/libpear.so", "bad/debug/libpear.so"])
        .status();
    assert!(status.expect("objcopy runs").success());
    asks(lab, "debug");
    executable(lab, "bad/debug/libpear.so");
    vec![
        see("debug", &["error while loading shared libraries: libpear.so: "]),
        see("bad/debug/libpear.so", &[]),
    ]
}

fn programs_as_libraries(lab: &Lab) -> Targets {
    let source = "int pear(void){return 1;} int main(void){return 0;}";
    exe(lab, "bad/fixed/libpear.so", source, "-no-pie -fno-pic");
    exe(lab, "bad/pie/libpear.so", source, "-pie -fPIE");
    exe(lab, "bad/static/libpear.so", source, "-static");
    exe(lab, "bad/static_pie/libpear.so", source, "-static-pie -fPIE");
    for name in ["fixed", "pie", "static", "static_pie"] {
        asks(lab, name);
    }
    before_a_good_one(lab, "flag", |elf| elf.set_flag(DT_FLAGS_1, DF_1_PIE.0));
    let pie = "cannot dynamically load position-independent executable";
    all(&[
        ("fixed", "libpear.so: cannot dynamically load executable"),
        ("pie", pie),
        ("static", "libpear.so: "),
        ("static_pie", pie),
        ("flag", pie),
    ])
}
