//! Bad files with several defects, bad files that the search does not reach, and bad main files.

use object::LittleEndian as Le;
use object::elf::{EM_AARCH64, ET_CORE, ET_REL};

use super::bad_files::{all, before_a_good_one};
use super::kit::{Case, Targets, cases, executable, lib, prog, remove, run, see, so};
use super::patch::{Elf, edit};
use crate::support::Lab;

#[test]
fn reached_bad_files_and_bad_mains() {
    run("reach of bad files", CASES);
}

const CASES: &[Case] = cases![
    order_of_the_checks,
    only_a_bad_one,
    bad_one_is_never_reached,
    bad_one_found_through_an_ancestor,
    bad_one_of_a_deep_need,
    bad_one_after_a_missing_one,
    bad_one_by_path,
    bad_one_answered_by_name,
    bad_main_files,
    flags_that_do_not_matter,
];

fn order_of_the_checks(lab: &Lab) -> Targets {
    before_a_good_one(lab, "endian_machine", |elf| {
        *elf.byte(5) = 2;
        elf.header().e_machine.set(Le, EM_AARCH64);
    });
    before_a_good_one(lab, "machine_type", |elf| {
        elf.header().e_machine.set(Le, EM_AARCH64);
        elf.header().e_type.set(Le, ET_REL);
    });
    before_a_good_one(lab, "osabi_machine", |elf| {
        *elf.byte(7) = 9;
        elf.header().e_machine.set(Le, EM_AARCH64);
    });
    before_a_good_one(lab, "version_machine", |elf| {
        elf.header().e_version.set(Le, 5);
        elf.header().e_machine.set(Le, EM_AARCH64);
    });
    before_a_good_one(lab, "type_entsize", |elf| {
        elf.header().e_type.set(Le, ET_REL);
        elf.header().e_phentsize.set(Le, 7);
    });
    before_a_good_one(lab, "all_of_ident", |elf| {
        for at in 5..16 {
            *elf.byte(at) = 9;
        }
    });
    before_a_good_one(lab, "after_endian", |elf| {
        for at in 6..16 {
            *elf.byte(at) = 9;
        }
    });
    before_a_good_one(lab, "after_version", |elf| {
        for at in 7..16 {
            *elf.byte(at) = 9;
        }
    });
    // Debian's loader checks the machine before the identification, the upstream loader after it.
    // So these two cases have no expected text.
    all(&[
        ("endian_machine", ""),
        ("machine_type", "=> $PWD/good/"),
        ("osabi_machine", ""),
        ("version_machine", "does not match"),
        ("type_entsize", "only ET_DYN"),
        ("all_of_ident", "error while loading"),
        ("after_endian", "error while loading"),
        ("after_version", "error while loading"),
    ])
}

fn only_a_bad_one(lab: &Lab) -> Targets {
    before_a_good_one(lab, "endian", |elf| *elf.byte(5) = 2);
    prog(lab, "prog", &["good/libpear.so"], "rpath=$PWD/bad/endian");
    vec![see(
        "prog",
        &["./prog: error while loading shared libraries: $PWD/bad/endian/libpear.so: ", "!libc"],
    )]
}

fn bad_one_is_never_reached(lab: &Lab) -> Targets {
    lib(lab, "good/libpear.so", &[], "");
    lab.write("bad/text/libpear.so", "short");
    prog(lab, "prog", &["good/libpear.so"], "runpath=$PWD/good:$PWD/bad/text");
    vec![see("prog", &["=> $PWD/good/libpear.so"])]
}

fn bad_one_found_through_an_ancestor(lab: &Lab) -> Targets {
    lib(lab, "good/libpear.so", &[], "");
    lab.write("bad/text/libpear.so", "short");
    lib(lab, "d/libfig.so", &["good/libpear.so"], "");
    lib(lab, "d/libkiwi.so", &["good/libpear.so"], "rpath=$PWD/good");
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d:$PWD/bad/text:$PWD/good");
    prog(lab, "safe", &["d/libkiwi.so"], "rpath=$PWD/d:$PWD/bad/text");
    prog(lab, "new", &["d/libfig.so"], "runpath=$PWD/d:$PWD/bad/text");
    vec![
        see("prog", &["bad/text/libpear.so: file too short"]),
        see("safe", &["=> $PWD/good/"]),
        see("new", &["libpear.so => not found"]),
    ]
}

fn bad_one_of_a_deep_need(lab: &Lab) -> Targets {
    lib(lab, "good/libpear.so", &[], "");
    lab.write("bad/text/libpear.so", "short");
    lib(lab, "d/libelm.so", &["good/libpear.so"], "runpath=$PWD/bad/text");
    lib(lab, "d/liboak.so", &["d/libelm.so"], "");
    lib(lab, "d/libfig.so", &["d/liboak.so"], "");
    prog(lab, "sub/prog", &["d/libfig.so"], "rpath=$PWD/d");
    vec![
        see("sub/prog", &["sub/prog: error while loading shared libraries: $PWD/bad"]),
        see("d/libelm.so", &["d/libelm.so: error while loading shared libraries: "]),
    ]
}

fn bad_one_after_a_missing_one(lab: &Lab) -> Targets {
    lab.write("bad/text/libpear.so", "short");
    lib(lab, "stub/libgone.so", &[], "");
    lib(lab, "stub/libpear.so", &[], "");
    prog(lab, "prog", &["stub/libgone.so", "stub/libpear.so"], "runpath=$PWD/bad/text");
    vec![see("prog", &["!not found", "file too short"])]
}

fn bad_one_by_path(lab: &Lab) -> Targets {
    lab.write("bad/text/libpear.so", "short");
    lab.mkdir("bad/dir");
    let mut targets = Vec::new();
    for (out, name) in [
        ("relative", "bad/text/libpear.so"),
        ("absolute", "$PWD/bad/text/libpear.so"),
        ("dir", "./bad/dir"),
        ("slash", "bad/dir/"),
    ] {
        lib(lab, "stub/libpear.so", &[], &format!("soname={name}"));
        prog(lab, out, &["stub/libpear.so"], "");
        targets.push(see(out, &["error while loading shared libraries: "]));
    }
    targets
}

fn bad_one_answered_by_name(lab: &Lab) -> Targets {
    lib(lab, "good/libpear.so", &[], "");
    lab.write("bad/text/libpear.so", "short");
    lib(lab, "d/libfig.so", &["good/libpear.so"], "runpath=$PWD/bad/text");
    prog(lab, "before", &["good/libpear.so", "d/libfig.so"], "runpath=$PWD/good:$PWD/d");
    prog(lab, "after", &["d/libfig.so", "good/libpear.so"], "runpath=$PWD/good:$PWD/d");
    vec![see("before", &["!error"]), see("after", &["!error"])]
}

type Change = (&'static str, fn(&mut Elf));

fn bad_main_files(lab: &Lab) -> Targets {
    let mut targets = Vec::new();
    before_a_good_one(lab, "unused", |_| {});
    let changes: [Change; 17] = [
        ("m_endian", |elf| *elf.byte(5) = 2),
        ("m_class", |elf| *elf.byte(4) = 1),
        ("m_class9", |elf| *elf.byte(4) = 9),
        ("m_osabi", |elf| *elf.byte(7) = 9),
        ("m_padding", |elf| *elf.byte(9) = 9),
        ("m_version", |elf| *elf.byte(6) = 0),
        ("m_abi", |elf| *elf.byte(8) = 1),
        ("m_gnu", |elf| *elf.byte(7) = 3),
        ("m_gnu_abi", |elf| {
            *elf.byte(7) = 3;
            *elf.byte(8) = 200;
        }),
        ("m_header_version", |elf| elf.header().e_version.set(Le, 9)),
        ("m_machine", |elf| elf.header().e_machine.set(Le, EM_AARCH64)),
        ("m_type", |elf| elf.header().e_type.set(Le, ET_REL)),
        ("m_core", |elf| elf.header().e_type.set(Le, ET_CORE)),
        ("m_phentsize", |elf| elf.header().e_phentsize.set(Le, 7)),
        ("m_short", |elf| elf.truncate(60)),
        ("m_header", |elf| elf.truncate(64)),
        ("m_sections", Elf::drop_sections),
    ];
    for (name, change) in changes {
        prog(lab, name, &[], "");
        edit(lab, name, change);
        targets.push(see(name, &[]));
    }
    lab.write("text", "#!/bin/sh\nexit 0\n");
    lab.write("empty", "");
    executable(lab, "text");
    executable(lab, "empty");
    let text = "\tnot a dynamic executable\n";
    targets.extend([see("text", &[text]), see("empty", &[text])]);
    remove(lab, "unused");
    targets
}

fn flags_that_do_not_matter(lab: &Lab) -> Targets {
    let flags = "z=nodlopen z=nodelete z=initfirst z=origin z=now z=global";
    so(lab, "d/libpear.so", "int pear(void){return 1;}", &format!("soname=libpear.so {flags}"));
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/d z=nodump z=execstack");
    vec![see("prog", &["=> $PWD/d/libpear.so"])]
}
