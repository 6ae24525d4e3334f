//! Probes below and beside each directory: hwcap subdirectories, directories and files that cannot
//! be opened, and objects that exclude the default directories.

use std::os::unix::net::UnixListener;

use object::elf::{DF_1_NODEFLIB, DT_FLAGS_1};

use super::kit::{Case, Targets, cases, copy, exe, lib, prog, run, see, so};
use super::patch::edit;
use crate::support::Lab;

#[test]
fn directories_and_their_subdirectories() {
    run("directories", CASES);
}

const CASES: &[Case] = cases![
    highest_level_first,
    each_level_alone,
    unknown_levels,
    level_of_an_earlier_directory,
    levels_of_an_inherited_rpath,
    levels_and_names_with_slash,
    level_of_the_wrong_class,
    level_that_is_a_bad_file,
    levels_behind_links,
    levels_that_are_files,
    origin_inside_a_level,
    levels_for_small_programs,
    legacy_subdirectories,
    legacy_subdirectories_of_small_programs,
    legacy_names_of_other_machines,
    directory_that_is_a_file,
    directory_that_loops,
    names_too_long,
    candidate_that_dangles,
    candidate_that_loops,
    candidate_behind_a_file,
    candidate_with_endless_name,
    candidate_that_is_a_socket,
    candidate_that_is_a_device,
    candidate_without_permission,
    abandoned_list_of_one_object,
    abandoned_list_and_the_system,
    no_default_directories,
    no_default_directories_in_a_library,
    no_default_directories_but_a_list,
];

fn level(name: &str) -> String {
    format!("d/glibc-hwcaps/x86-64-{name}/libpear.so")
}

fn highest_level_first(lab: &Lab) -> Targets {
    for name in ["v2", "v3", "v4"] {
        lib(lab, &level(name), &[], "");
    }
    lib(lab, "d/libpear.so", &[], "");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/d");
    prog(lab, "origin", &["d/libpear.so"], "runpath=$ORIGIN/d");
    vec![see("prog", &["libpear.so => $PWD/d/"]), see("origin", &["$PWD/./d/"])]
}

fn each_level_alone(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    for name in ["v1", "v2", "v3", "v4", "v5"] {
        copy(lab, "d/libpear.so", &format!("{name}/glibc-hwcaps/x86-64-{name}/libpear.so"));
        copy(lab, "d/libpear.so", &format!("{name}/libpear.so"));
        prog(lab, &format!("prog_{name}"), &["d/libpear.so"], &format!("runpath=$PWD/{name}"));
    }
    vec![
        see("prog_v1", &["libpear.so => $PWD/v1/libpear.so"]),
        see("prog_v2", &["libpear.so => $PWD/v2/"]),
        see("prog_v3", &["libpear.so => $PWD/v3/"]),
        see("prog_v4", &["libpear.so => $PWD/v4/"]),
        see("prog_v5", &["libpear.so => $PWD/v5/libpear.so"]),
    ]
}

fn unknown_levels(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    for name in ["", "power9/", "z13/", "x86-64-v3x/", "X86-64-V2/", "x86-64-v2/sub/"] {
        copy(lab, "d/libpear.so", &format!("e/glibc-hwcaps/{name}libpear.so"));
    }
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/e");
    prog(lab, "then", &["d/libpear.so"], "runpath=$PWD/e:$PWD/d");
    prog(lab, "inside", &["d/libpear.so"], "runpath=$PWD/e/glibc-hwcaps/power9");
    vec![
        see("prog", &["not found"]),
        see("then", &["=> $PWD/d/libpear.so"]),
        see("inside", &["=> $PWD/e/glibc-hwcaps/power9/libpear.so"]),
    ]
}

fn level_of_an_earlier_directory(lab: &Lab) -> Targets {
    lib(lab, "e/libpear.so", &[], "");
    copy(lab, "e/libpear.so", &level("v2"));
    prog(lab, "bare_first", &["e/libpear.so"], "runpath=$PWD/e:$PWD/d");
    prog(lab, "level_first", &["e/libpear.so"], "runpath=$PWD/d:$PWD/e");
    vec![see("bare_first", &["=> $PWD/e/libpear.so"]), see("level_first", &["libpear.so => $PWD/"])]
}

fn levels_of_an_inherited_rpath(lab: &Lab) -> Targets {
    lib(lab, &level("v2"), &[], "");
    lib(lab, "e/libfig.so", &[&level("v2")], "");
    prog(lab, "prog", &["e/libfig.so"], "rpath=$PWD/d:$PWD/e");
    vec![see("prog", &["libfig.so => $PWD/e/libfig.so"])]
}

fn levels_and_names_with_slash(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "soname=d/libpear.so");
    copy(lab, "d/libpear.so", &level("v2"));
    prog(lab, "prog", &["d/libpear.so"], "");
    vec![see("prog", &["\td/libpear.so\n"])]
}

fn level_of_the_wrong_class(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, &level("v2"), &[], "-m32");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/d");
    vec![see("prog", &["=> $PWD/d/libpear.so"])]
}

fn level_that_is_a_bad_file(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.write(
        &level("v2"),
        "not a library at all, and longer than the header of an ELF file is: 64 bytes",
    );
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/d");
    vec![see("prog", &["libpear.so"])]
}

fn levels_behind_links(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.link("../other", "d/glibc-hwcaps");
    copy(lab, "d/libpear.so", "other/x86-64-v2/libpear.so");
    prog(lab, "linked", &["d/libpear.so"], "runpath=$PWD/d");
    // A level that leads back to the directory itself, so that one file has two names.
    lib(lab, "e/libfig.so", &[], "");
    lab.link("..", "e/glibc-hwcaps/x86-64-v2");
    lab.link("../../e", "e/glibc-hwcaps/x86-64-v3");
    prog(lab, "loop", &["e/libfig.so"], "runpath=$PWD/e");
    vec![see("linked", &["libpear.so => $PWD/d"]), see("loop", &["libfig.so => $PWD/e"])]
}

fn levels_that_are_files(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.write("d/glibc-hwcaps", "");
    lab.write("d/tls", "");
    lib(lab, "e/libfig.so", &["d/libpear.so"], "");
    lab.write("e/glibc-hwcaps/x86-64-v2", "");
    prog(lab, "prog", &["d/libpear.so", "e/libfig.so"], "runpath=$PWD/e:$PWD/d");
    vec![see("prog", &["=> $PWD/d/libpear.so", "=> $PWD/e/libfig.so"])]
}

fn origin_inside_a_level(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libplum.so", &[], "");
    copy(lab, "d/libplum.so", "d/glibc-hwcaps/x86-64-v2/libplum.so");
    lib(lab, "d/libfig.so", &["d/libpear.so", "d/libplum.so"], "runpath=$ORIGIN");
    std::fs::rename(lab.path("d/libfig.so"), lab.path("d/glibc-hwcaps/x86-64-v2/libfig.so"))
        .expect("a library moved into its level");
    prog(lab, "prog", &["d/glibc-hwcaps/x86-64-v2/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libfig.so"])]
}

fn levels_for_small_programs(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "-m32");
    for name in ["x86-64-v2", "i686", "i386"] {
        copy(lab, "d/libpear.so", &format!("d/glibc-hwcaps/{name}/libpear.so"));
    }
    prog(lab, "prog", &["d/libpear.so"], "-m32 runpath=$PWD/d");
    vec![see("prog", &["=> $PWD/d/libpear.so"])]
}

/// One directory per name, each without the names that come before in the list.
fn fewer_and_fewer(lab: &Lab, names: &[&str], flags: &str) -> Targets {
    lib(lab, "d/libpear.so", &[], flags);
    let mut targets = Vec::new();
    for first in 0..names.len() {
        for name in &names[first..] {
            copy(lab, "d/libpear.so", &format!("n{first}/{name}/libpear.so"));
        }
        copy(lab, "d/libpear.so", &format!("n{first}/libpear.so"));
        let out = format!("prog{first}");
        prog(lab, &out, &["d/libpear.so"], &format!("{flags} runpath=$PWD/n{first}"));
        targets.push(see(&out, &[">2.37 /libpear.so"]));
    }
    targets
}

fn legacy_subdirectories(lab: &Lab) -> Targets {
    let names = [
        "tls/haswell/avx512_1/x86_64",
        "tls/haswell/x86_64",
        "tls/avx512_1/x86_64/x86_64",
        "tls/x86_64/x86_64",
        "tls/haswell",
        "tls/avx512_1",
        "tls/x86_64",
        "tls",
        "haswell/x86_64",
        "avx512_1/x86_64",
        "x86_64/x86_64",
        "haswell",
        "xeon_phi",
        "avx512_1",
        "x86_64",
    ];
    fewer_and_fewer(lab, &names, "")
}

fn legacy_subdirectories_of_small_programs(lab: &Lab) -> Targets {
    let names =
        ["tls/i686/sse2", "tls/i686", "tls/sse2", "tls", "i686/sse2", "i686", "i586", "sse2"];
    fewer_and_fewer(lab, &names, "-m32")
}

fn legacy_names_of_other_machines(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    for name in ["i686", "sse2", "power9", "aarch64", "atomics", "x86-64", "x86_64/tls", "lib"] {
        copy(lab, "d/libpear.so", &format!("e/{name}/libpear.so"));
    }
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/e:$PWD/d");
    vec![see("prog", &["=> $PWD/d/libpear.so"])]
}

fn directory_that_is_a_file(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.write("plain", "x");
    lab.link("plain", "linked");
    prog(lab, "file", &["d/libpear.so"], "runpath=$PWD/plain:$PWD/d");
    prog(lab, "below", &["d/libpear.so"], "runpath=$PWD/plain/sub:$PWD/d");
    prog(lab, "link", &["d/libpear.so"], "runpath=$PWD/linked/:$PWD/d");
    prog(lab, "library", &["d/libpear.so"], "runpath=$PWD/d/libpear.so:$PWD/d");
    let found = "libpear.so => $PWD/d/libpear.so";
    vec![
        see("file", &[found]),
        see("below", &[found]),
        see("link", &[found]),
        see("library", &[found]),
    ]
}

fn directory_that_loops(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.link("loop", "loop");
    lab.link("gone", "dangling");
    prog(lab, "self", &["d/libpear.so"], "runpath=$PWD/loop:$PWD/d");
    prog(lab, "below", &["d/libpear.so"], "runpath=$PWD/loop/sub:$PWD/d");
    prog(lab, "gone_link", &["d/libpear.so"], "runpath=$PWD/dangling:$PWD/d");
    let found = "libpear.so => $PWD/d/libpear.so";
    vec![see("self", &[found]), see("below", &[found]), see("gone_link", &[found])]
}

fn names_too_long(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    let long = "n".repeat(300);
    prog(lab, "component", &["d/libpear.so"], &format!("runpath=$PWD/{long}:$PWD/d"));
    let longer = "./".repeat(3000);
    prog(lab, "whole", &["d/libpear.so"], &format!("runpath=$PWD/{longer}d:$PWD/d"));
    so(lab, "stub/long.so", "", &format!("soname={long}.so"));
    prog(lab, "need", &["d/libpear.so"], "stub/long.so runpath=$PWD/d");
    so(lab, "stub/path.so", "", &format!("soname=./{longer}d/libpear.so"));
    prog(lab, "path", &[], "stub/path.so");
    let found = "libpear.so => $PWD/d/libpear.so";
    vec![
        see("component", &[found]),
        see("whole", &[found]),
        see("need", &[found, "nnn.so => not found"]),
        see("path", &["libpear.so => not found"]),
    ]
}

fn candidate_that_dangles(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.link("nothing.so", "e/libpear.so");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/e:$PWD/d");
    vec![see("prog", &["=> $PWD/d/libpear.so"])]
}

fn candidate_that_loops(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.link("libpear.so", "e/libpear.so");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/e:$PWD/d");
    prog(lab, "after", &["d/libpear.so"], "runpath=$PWD/d:$PWD/e");
    vec![see("prog", &["not found"]), see("after", &["=> $PWD/d/libpear.so"])]
}

fn candidate_behind_a_file(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.write("plain", "x");
    lab.link("../plain/libpear.so", "e/libpear.so");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/e:$PWD/d");
    vec![see("prog", &["<2.39 not found", ">2.39 => $PWD/d/libpear.so"])]
}

fn candidate_with_endless_name(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.link(&"n".repeat(300), "e/libpear.so");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/e:$PWD/d");
    vec![see("prog", &["not found"])]
}

fn candidate_that_is_a_socket(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.mkdir("e");
    drop(UnixListener::bind(lab.path("e/libpear.so")).expect("a socket"));
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/e:$PWD/d");
    vec![see("prog", &["not found"])]
}

fn candidate_that_is_a_device(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.link("/dev/null", "null/libpear.so");
    prog(lab, "empty", &["d/libpear.so"], "runpath=$PWD/null:$PWD/d");
    vec![see("empty", &["null/libpear.so: file too short"])]
}

fn candidate_without_permission(lab: &Lab) -> Targets {
    use std::os::unix::fs::PermissionsExt;
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "e/libpear.so", &[], "");
    std::fs::set_permissions(lab.path("e/libpear.so"), PermissionsExt::from_mode(0o000))
        .expect("mode 0");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/e:$PWD/d");
    // Root can read the file anyway, so only the two sides are compared, without an expected text.
    vec![see("prog", &["libpear.so"])]
}

fn abandoned_list_of_one_object(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lab.link("libpear.so", "e/libpear.so");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "rpath=$PWD/e:$PWD/d");
    lib(lab, "d/libkiwi.so", &["d/libpear.so"], "rpath=$PWD/e");
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d");
    prog(lab, "stays", &["d/libkiwi.so"], "runpath=$PWD/d");
    vec![see("prog", &["libpear.so => $PWD/d/libpear.so"]), see("stays", &["not found"])]
}

fn abandoned_list_and_the_system(lab: &Lab) -> Targets {
    lib(lab, "d/libutil.so.1", &[], "");
    lab.link("libutil.so.1", "e/libutil.so.1");
    prog(lab, "prog", &["d/libutil.so.1"], "runpath=$PWD/e:$PWD/d");
    vec![see("prog", &["libutil.so.1 => /", "!$PWD"])]
}

fn no_default_directories(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    // Without start files, the program needs no version of libc.
    let source = "int pear(void); void _start(void){pear();}";
    exe(lab, "prog", source, "d/libpear.so -nostartfiles z=nodefaultlib runpath=$PWD/d");
    vec![see("prog", &["libc.so.6 => not found", "libpear.so => $PWD/d", "libc.so.6 => /"])]
}

fn no_default_directories_in_a_library(lab: &Lab) -> Targets {
    so(
        lab,
        "d/libpear.so",
        "double sin(double);double pear(double x){return sin(x);}",
        "soname=libpear.so z=nodefaultlib -lm",
    );
    prog(lab, "prog", &[], "d/libpear.so runpath=$PWD/d");
    prog(lab, "already", &[], "-lm d/libpear.so runpath=$PWD/d");
    prog(lab, "later", &[], "d/libpear.so -lm runpath=$PWD/d");
    vec![
        see("prog", &["libm.so.6 => not found", "!libc.so.6 => not found"]),
        see("already", &["!not found"]),
        see("later", &["!not found"]),
    ]
}

fn no_default_directories_but_a_list(lab: &Lab) -> Targets {
    lib(lab, "stub/libutil.so.1", &[], "");
    lib(lab, "d/libfig.so", &["stub/libutil.so.1"], "runpath=/usr/lib/x86_64-linux-gnu:/usr/lib64");
    lib(lab, "d/libold.so", &["stub/libutil.so.1"], "");
    for name in ["d/libfig.so", "d/libold.so"] {
        edit(lab, name, |elf| elf.set_flag(DT_FLAGS_1, DF_1_NODEFLIB.0));
    }
    prog(lab, "own", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "inherited", &["d/libold.so"], "rpath=$PWD/d:/usr/lib/x86_64-linux-gnu:/usr/lib64");
    vec![
        see("own", &["libutil.so.1 => /usr/lib", "!not found"]),
        see("inherited", &["libutil.so.1 => /usr/lib", "!not found"]),
    ]
}
