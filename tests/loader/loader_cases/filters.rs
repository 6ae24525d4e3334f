//! DT_AUXILIARY and DT_FILTER, and tags that seem to load libraries.

use object::elf::{
    DT_AUDIT, DT_AUXILIARY, DT_CONFIG, DT_DEPAUDIT, DT_FILTER, DT_NEEDED, DT_NULL, DynamicTag,
};

use super::kit::{Case, Targets, cases, exe, lib, prog, run, see, so};
use super::patch::{UNUSED_TAG, edit};
use crate::support::Lab;

#[test]
fn filters_and_auxiliaries() {
    run("filters", CASES);
}

/// The real loader maps the library again and again, until a signal ends it or memory runs out: it
/// is not run.
#[test]
fn filters_of_themselves_come_to_an_end() {
    let lab = Lab::new();
    so(&lab, "self.so", "int fig(void){return 1;}", "-Wl,-f,self.so runpath=$ORIGIN");
    for (name, other) in [("liboak.so", "libelm.so"), ("libelm.so", "liboak.so")] {
        filters(&lab, name, &format!("-Wl,-f,{other} runpath=$ORIGIN"));
    }
    prog(&lab, "prog", &["liboak.so"], "runpath=$ORIGIN");
    let real = std::process::Command::new(lab.path("prog")).output().expect("prog starts");
    assert_eq!(real.status.code(), None, "the real loader gets to an end");
    for target in ["self.so", "liboak.so", "libelm.so", "prog", "."] {
        let output = lab.linkaudit(&[target]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{target}: {text}");
        assert!(text.contains("error[bad-library-file]"), "{target}: {text}");
        assert!(text.contains("is a filter of itself"), "{target}: {text}");
    }
}

/// The filtee of a program is in its search scope, but not in the loader's list, where needed
/// versions are looked up first. If another program opens the library, the library is not the
/// main file.
#[test]
fn versions_of_the_roots_own_filtee() {
    let lab = Lab::new();
    lab.write("map", b"V1 { fig; };");
    lib(&lab, "libfig.so", &[], "map=map");
    for option in ["-f", "-F"] {
        let flags = format!("-Wl,{option},libfig.so runpath=$ORIGIN");
        lib(&lab, "liboak.so", &["libfig.so"], &flags);
        exe(
            &lab,
            "prog",
            "#include <dlfcn.h>\nint main(void){return !dlopen(\"liboak.so\", RTLD_NOW);}",
            "runpath=$ORIGIN",
        );
        let real = std::process::Command::new(lab.path("prog")).output().expect("prog starts");
        assert!(real.status.success(), "{option}: dlopen fails");
        let output = lab.linkaudit(&["liboak.so"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{option}: {text}");
    }
}

const CASES: &[Case] = cases![
    auxiliary_found,
    auxiliary_missing,
    filter_found,
    filter_missing,
    several_auxiliaries,
    auxiliary_after_and_before_needs,
    auxiliary_queued_for_later,
    auxiliary_loaded_earlier,
    auxiliary_is_the_main_file,
    auxiliary_of_itself,
    auxiliary_of_itself_by_another_name,
    auxiliary_has_needs_of_its_own,
    auxiliary_of_an_auxiliary,
    auxiliary_in_a_dependency,
    auxiliary_wins_the_symbol,
    filter_wins_the_symbol,
    auxiliary_with_slash_and_origin,
    auxiliary_through_the_inherited_rpath,
    auxiliary_that_is_a_bad_file,
    auxiliary_of_the_wrong_class,
    missing_filtee_of_the_main_file,
    tags_behind_the_end,
    tags_that_load_nothing,
];

/// A library whose filtees come from linker options.
fn filters(lab: &Lab, out: &str, options: &str) {
    lib(lab, out, &[], options);
}

fn auxiliary_found(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "");
    filters(lab, "d/libfig.so", "-Wl,-f,libaux.so runpath=$PWD/d");
    lib(lab, "d/liboak.so", &[], "");
    prog(lab, "prog", &["d/liboak.so", "d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libaux.so => $PWD/d/libaux.so"])]
}

fn auxiliary_missing(lab: &Lab) -> Targets {
    filters(lab, "d/libfig.so", "-Wl,-f,libgone.so");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libgone.so => not found"])]
}

fn filter_found(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "");
    filters(lab, "d/libfig.so", "-Wl,-F,libaux.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libaux.so => $PWD/d/libaux.so"])]
}

fn filter_missing(lab: &Lab) -> Targets {
    filters(lab, "d/libfig.so", "-Wl,-F,libgone.so");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libgone.so => not found"])]
}

fn several_auxiliaries(lab: &Lab) -> Targets {
    for name in ["d/libone.so", "d/libtwo.so"] {
        lib(lab, name, &[], "");
    }
    filters(
        lab,
        "d/libfig.so",
        "-Wl,-f,libone.so -Wl,-f,libgone.so -Wl,-f,libtwo.so runpath=$PWD/d",
    );
    filters(lab, "d/libelm.so", "-Wl,-F,libtwo.so -Wl,-f,libone.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "mixed", &["d/libelm.so"], "runpath=$PWD/d");
    vec![
        see("prog", &["libone.so => $PWD/d", "libtwo.so => $PWD/d", "libgone.so => not found"]),
        see("mixed", &["libtwo.so => $PWD/d", "libone.so => $PWD/d"]),
    ]
}

fn auxiliary_after_and_before_needs(lab: &Lab) -> Targets {
    for name in ["d/libaux.so", "d/libpear.so"] {
        lib(lab, name, &[], "");
    }
    lib(lab, "d/libfig.so", &["d/libpear.so"], "-Wl,-f,libaux.so runpath=$PWD/d");
    lib(lab, "d/libelm.so", &["d/libpear.so"], "-Wl,-f,libaux.so runpath=$PWD/d");
    // The linker puts the filter tags behind the needs; here they come first.
    edit(lab, "d/libelm.so", |elf| swap(elf.dynamic(), DT_NEEDED, DT_AUXILIARY));
    prog(lab, "after", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "before", &["d/libelm.so"], "runpath=$PWD/d");
    vec![see("after", &["libaux.so =>"]), see("before", &["libaux.so =>"])]
}

/// Exchanges the first entries of two tags.
fn swap(
    entries: &mut [object::elf::Dyn64<object::LittleEndian>],
    one: DynamicTag,
    other: DynamicTag,
) {
    let find = |tag| entries.iter().position(|entry| entry.d_tag.get(object::LittleEndian) == tag);
    let (one, other) = (find(one).expect("the first tag"), find(other).expect("the second tag"));
    entries.swap(one, other);
}

fn auxiliary_queued_for_later(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "");
    lib(lab, "d/liboak.so", &[], "");
    filters(lab, "d/libfig.so", "-Wl,-f,libaux.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so", "d/liboak.so", "d/libaux.so"], "runpath=$PWD/d");
    prog(lab, "twice", &["d/liboak.so", "d/libfig.so", "d/libaux.so"], "runpath=$PWD/d");
    vec![see("prog", &["libaux.so =>"]), see("twice", &["libaux.so =>"])]
}

fn auxiliary_loaded_earlier(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "");
    lib(lab, "d/liboak.so", &[], "");
    filters(lab, "d/libfig.so", "-Wl,-f,libaux.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libaux.so", "d/liboak.so", "d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libaux.so =>"])]
}

fn auxiliary_is_the_main_file(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "");
    filters(lab, "d/libfig.so", "-Wl,-f,libaux.so runpath=$PWD/d");
    lib(lab, "d/libaux.so", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "prog", &["d/libaux.so"], "runpath=$PWD/d");
    vec![see("d/libaux.so", &["libfig.so => $PWD/d"]), see("prog", &["libfig.so => $PWD/d"])]
}

fn auxiliary_of_itself(lab: &Lab) -> Targets {
    filters(lab, "d/libfig.so", "-Wl,-f,libfig.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libfig.so => $PWD/d"]), see("d/libfig.so", &[])]
}

fn auxiliary_of_itself_by_another_name(lab: &Lab) -> Targets {
    so(lab, "d/libfig.so", "int fig(void){return 1;}", "-Wl,-f,libfig.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "");
    vec![see("prog", &["d/libfig.so", "!error"])]
}

fn auxiliary_has_needs_of_its_own(lab: &Lab) -> Targets {
    lib(lab, "e/libpear.so", &[], "");
    lib(lab, "stub/libgone.so", &[], "");
    lib(lab, "d/libaux.so", &["e/libpear.so", "stub/libgone.so"], "runpath=$PWD/e");
    lib(lab, "d/libkiwi.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libkiwi.so"], "-Wl,-f,libaux.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see(
        "prog",
        &["libpear.so => $PWD/e", "libgone.so => not found", "undefined symbol: gone"],
    )]
}

fn auxiliary_of_an_auxiliary(lab: &Lab) -> Targets {
    lib(lab, "d/libdeep.so", &[], "");
    filters(lab, "d/libaux.so", "-Wl,-f,libdeep.so runpath=$PWD/d");
    filters(lab, "d/libfig.so", "-Wl,-f,libaux.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libdeep.so => $PWD/d", "libaux.so => $PWD/d"])]
}

fn auxiliary_in_a_dependency(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "");
    filters(lab, "d/libpear.so", "-Wl,-f,libaux.so");
    lib(lab, "d/liboak.so", &["d/libpear.so"], "");
    lib(lab, "d/libfig.so", &[], "");
    prog(lab, "inherits", &["d/liboak.so", "d/libfig.so"], "rpath=$PWD/d");
    vec![see("inherits", &["libaux.so => $PWD/d"])]
}

fn auxiliary_wins_the_symbol(lab: &Lab) -> Targets {
    let source = "int shape(void){return 2;} int color;";
    so(lab, "d/libaux.so", source, "soname=libaux.so");
    so(
        lab,
        "d/libfig.so",
        "int shape(void){return 1;} int only(void){return 1;}",
        "soname=libfig.so -Wl,-f,libaux.so runpath=$PWD/d",
    );
    let main = "int shape(void); int only(void); extern int color; int gone(void); int main(void){return shape()+only()+color+gone();}";
    so(lab, "stub/libgone.so", "int gone(void){return 0;} int color;", "soname=libgone.so");
    exe(lab, "prog", main, "d/libfig.so d/libaux.so stub/libgone.so runpath=$PWD/d");
    vec![see("prog", &["libaux.so", "undefined symbol: gone"])]
}

fn filter_wins_the_symbol(lab: &Lab) -> Targets {
    // The symbol is only in the filtee, whose version table makes the binding visible.
    lab.write("map", "FIG_2 { global: shape; local: *; };");
    so(lab, "d/libaux.so", "int other(void){return 2;}", "soname=libaux.so");
    so(
        lab,
        "d/libfig.so",
        "int shape(void){return 1;}",
        "soname=libfig.so -Wl,-F,libaux.so runpath=$PWD/d -Wl,--version-script=$PWD/map",
    );
    exe(
        lab,
        "prog",
        "int shape(void); int main(void){return shape();}",
        "d/libfig.so runpath=$PWD/d",
    );
    so(lab, "d/libaux.so", "int shape(void){return 2;}", "soname=libaux.so");
    vec![see("prog", &["libaux.so => $PWD/d", "!undefined"])]
}

fn auxiliary_with_slash_and_origin(lab: &Lab) -> Targets {
    lib(lab, "d/plugins/libaux.so", &[], "");
    filters(lab, "d/libfig.so", "-Wl,-f,$ORIGIN/plugins/libaux.so");
    filters(lab, "d/libelm.so", "-Wl,-F,d/plugins/libaux.so -Wl,-f,./none/libaux.so");
    prog(lab, "origin", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "relative", &["d/libelm.so"], "runpath=$PWD/d");
    vec![
        see("origin", &["$PWD/d/plugins/libaux.so"]),
        see("relative", &["d/plugins/libaux.so", "./none/libaux.so => not found"]),
    ]
}

fn auxiliary_through_the_inherited_rpath(lab: &Lab) -> Targets {
    lib(lab, "e/libaux.so", &[], "");
    filters(lab, "d/libfig.so", "-Wl,-f,libaux.so");
    prog(lab, "old", &["d/libfig.so"], "rpath=$PWD/d:$PWD/e");
    prog(lab, "new", &["d/libfig.so"], "runpath=$PWD/d:$PWD/e");
    vec![see("old", &["libaux.so => $PWD/e"]), see("new", &["libaux.so => not found"])]
}

fn auxiliary_that_is_a_bad_file(lab: &Lab) -> Targets {
    lab.write(
        "d/libaux.so",
        "nothing that could be loaded by anybody, but long enough to be looked at",
    );
    filters(lab, "d/libfig.so", "-Wl,-f,libaux.so runpath=$PWD/d");
    filters(lab, "d/libelm.so", "-Wl,-F,libaux.so runpath=$PWD/d");
    prog(lab, "auxiliary", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "filter", &["d/libelm.so"], "runpath=$PWD/d");
    vec![see("auxiliary", &["!libaux.so"]), see("filter", &["libaux.so: invalid ELF header"])]
}

fn auxiliary_of_the_wrong_class(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "-m32");
    filters(lab, "d/libfig.so", "-Wl,-f,libaux.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libaux.so => not found"])]
}

fn missing_filtee_of_the_main_file(lab: &Lab) -> Targets {
    // A filtee of the main file would come before it in the list, and the printed list begins after
    // it.
    lib(lab, "d/libfig.so", &[], "");
    for (out, tag) in [("auxiliary", DT_AUXILIARY), ("filter", DT_FILTER)] {
        prog(lab, out, &["d/libfig.so"], "runpath=$PWD/d -Wl,--audit=libgone.so");
        edit(lab, out, |elf| elf.retag(DT_AUDIT, tag));
    }
    filters(lab, "d/libelm.so", "-Wl,-f,libgone.so");
    let silent = "!libgone.so";
    vec![see("auxiliary", &[silent]), see("filter", &[silent]), see("d/libelm.so", &[silent])]
}

fn tags_behind_the_end(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &[], "-Wl,-f,libpear.so runpath=$PWD/d");
    edit(lab, "d/libfig.so", |elf| {
        let name = elf.value(DT_AUXILIARY);
        elf.retag(DT_AUXILIARY, UNUSED_TAG);
        let entries = elf.dynamic();
        let end = entries.iter().position(|e| e.d_tag.get(object::LittleEndian) == DT_NULL);
        let behind = &mut entries[end.expect("a closing DT_NULL") + 1];
        behind.d_tag.set(object::LittleEndian, DT_NEEDED);
        behind.d_val.set(object::LittleEndian, name);
    });
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["!libpear.so"])]
}

fn tags_that_load_nothing(lab: &Lab) -> Targets {
    let mut targets = Vec::new();
    lib(lab, "d/libpear.so", &[], "");
    for (out, tag) in
        [("config", DT_CONFIG), ("depaudit", DT_DEPAUDIT), ("used", DynamicTag(0x7fff_fffe))]
    {
        let path = format!("d/lib{out}.so");
        lib(lab, &path, &[], "-Wl,-f,libpear.so runpath=$PWD/d");
        edit(lab, &path, |elf| elf.retag(DT_AUXILIARY, tag));
        prog(lab, out, &[&path], "runpath=$PWD/d");
        targets.push(see(out, &["!libpear.so"]));
    }
    targets
}
