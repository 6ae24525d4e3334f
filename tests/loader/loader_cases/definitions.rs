//! References that are looked up, and definitions that are accepted for them.

use object::LittleEndian as Le;
use object::elf::{
    DF_SYMBOLIC, DT_FLAGS, DT_GNU_HASH, DT_HASH, DT_SYMBOLIC, SHN_ABS, SHN_COMMON, SHN_UNDEF,
    SymbolSection,
};

use super::kit::{Case, Targets, cases, copy, exe, lib, prog, run, see, so};
use super::patch::{Elf, UNUSED_TAG, edit};
use crate::support::Lab;

#[test]
fn references_and_definitions() {
    run("binding", CASES);
}

const CASES: &[Case] = cases![
    hidden_definition,
    hidden_definition_hides_only_its_object,
    protected_definition,
    definition_types,
    definition_bindings,
    definition_values,
    weak_definition_is_taken_at_once,
    breadth_first,
    main_is_first,
    main_that_exports_nothing,
    symbolic_library,
    symbolic_library_with_a_hidden_definition,
    unique_definitions,
    not_exported_by_map,
    hash_tables,
    no_hash_table,
    program_without_hash_table,
    library_without_exports,
    common_symbols,
];

/// `d/libpear.so` defines pear and other; a program refers to pear.
fn changed_definition(lab: &Lab, out: &str, change: impl FnOnce(&mut Elf)) {
    let dir = format!("{out}.d");
    so(
        lab,
        &format!("{dir}/libpear.so"),
        "int pear(void){return 1;} int other(void){return 2;}",
        "soname=libpear.so",
    );
    prog(lab, out, &[&format!("{dir}/libpear.so")], &format!("z=lazy runpath=$PWD/{dir}"));
    edit(lab, &format!("{dir}/libpear.so"), change);
}

fn hidden_definition(lab: &Lab) -> Targets {
    for (out, visibility) in [("default", 0), ("internal", 1), ("hidden", 2), ("protected", 3)] {
        changed_definition(lab, out, |elf| elf.set_visibility("pear", visibility));
    }
    changed_definition(lab, "other_bits", |elf| elf.set_visibility("pear", 0x80));
    let text = "undefined symbol: pear";
    vec![
        see("default", &["!undefined"]),
        see("internal", &[text]),
        see("hidden", &[text]),
        see("protected", &["!undefined"]),
        see("other_bits", &["!undefined"]),
    ]
}

fn hidden_definition_hides_only_its_object(lab: &Lab) -> Targets {
    changed_definition(lab, "unused", |elf| elf.set_visibility("pear", 2));
    so(lab, "e/libkiwi.so", "int pear(void){return 3;}", "soname=libkiwi.so");
    prog(lab, "prog", &["unused.d/libpear.so"], "e/libkiwi.so runpath=$PWD/unused.d:$PWD/e");
    vec![see("prog", &["!undefined"])]
}

fn protected_definition(lab: &Lab) -> Targets {
    let source = "__attribute__((visibility(\"protected\"))) int pear(void){return 1;} int fig(void){return pear();} void *where(void){return pear;} __attribute__((visibility(\"protected\"))) int size[4];";
    so(lab, "d/libfig.so", source, "soname=libfig.so");
    so(lab, "d/libpear.so", "int pear(void){return 2;} int size[2];", "soname=libpear.so");
    let main = "int pear(void); int fig(void); extern int size[4]; int main(void){return pear()+fig()+size[0];}";
    exe(lab, "prog", main, "-pie -fPIC d/libpear.so d/libfig.so runpath=$PWD/d");
    exe(lab, "own", main, "-pie -fPIC d/libfig.so runpath=$PWD/d");
    vec![see("prog", &["!undefined"]), see("own", &["!undefined"])]
}

fn definition_types(lab: &Lab) -> Targets {
    let mut targets = Vec::new();
    for kind in 0..16 {
        if kind == 10 {
            continue; // An indirect function whose resolver it is not.
        }
        let out = format!("type{kind}");
        changed_definition(lab, &out, |elf| elf.set_info("pear", 1, kind));
        targets.push(see(
            &out,
            &[if matches!(kind, 0 | 1 | 2 | 5 | 6) {
                "!undefined"
            } else {
                "undefined symbol: pear"
            }],
        ));
    }
    targets
}

fn definition_bindings(lab: &Lab) -> Targets {
    let mut targets = Vec::new();
    for bind in (0..16).filter(|bind| *bind != 10) {
        let out = format!("bind{bind}");
        changed_definition(lab, &out, |elf| elf.set_info("pear", bind, 2));
        targets.push(see(
            &out,
            &[if matches!(bind, 1 | 2) { "!undefined" } else { "undefined symbol: pear" }],
        ));
    }
    changed_definition(lab, "unique", |elf| elf.set_info("pear", 10, 1));
    targets.push(see("unique", &["!undefined"]));
    targets
}

fn definition_values(lab: &Lab) -> Targets {
    let set = |value, section: SymbolSection| {
        move |elf: &mut Elf| {
            elf.symbol("pear").st_value.set(Le, value);
            elf.symbol("pear").st_shndx.set(Le, section);
        }
    };
    changed_definition(lab, "nil", set(0, SymbolSection(1)));
    changed_definition(lab, "nil_absolute", set(0, SHN_ABS));
    changed_definition(lab, "absolute", set(0x1234, SHN_ABS));
    changed_definition(lab, "common", set(8, SHN_COMMON));
    changed_definition(lab, "undefined", set(0, SHN_UNDEF));
    changed_definition(lab, "canonical", set(0x1234, SHN_UNDEF));
    changed_definition(lab, "reserved", set(0x1234, SymbolSection(0xff10)));
    changed_definition(lab, "no_section", set(0x1234, SymbolSection(0x7777)));
    let text = "undefined symbol: pear";
    vec![
        see("nil", &[text]),
        see("nil_absolute", &["!undefined"]),
        see("absolute", &["!undefined"]),
        see("common", &["!undefined"]),
        see("undefined", &[text]),
        see("canonical", &[text]),
        see("reserved", &["!undefined"]),
        see("no_section", &["!undefined"]),
    ]
}

/// Libraries that define `size` with different sizes: the warning about the copy relocation shows
/// which one was used.
fn sizes(lab: &Lab) {
    so(lab, "d/libtwo.so", "int size[2]={1}; int two(void){return 2;}", "soname=libtwo.so");
    so(lab, "d/libfour.so", "int size[4]={1}; int four(void){return 4;}", "soname=libfour.so");
    so(lab, "d/libweak.so", "__attribute__((weak)) int size[8]={1};", "soname=libweak.so");
}

const COPIES: &str = "extern int size[]; int main(void){return size[0];}";
const DIFFERS: &str = "Symbol `size' has different size in shared object, consider re-linking";

fn weak_definition_is_taken_at_once(lab: &Lab) -> Targets {
    sizes(lab);
    // Linked against the lengths of two, bound to the weak one that comes first.
    so(lab, "stub/libweak.so", "int size[2]={1};", "soname=libweak.so");
    exe(lab, "weak_first", COPIES, "-no-pie -fno-pic stub/libweak.so d/libtwo.so runpath=$PWD/d");
    exe(lab, "strong_first", COPIES, "-no-pie -fno-pic d/libtwo.so d/libweak.so runpath=$PWD/d");
    vec![see("weak_first", &[DIFFERS]), see("strong_first", &["!different"])]
}

fn breadth_first(lab: &Lab) -> Targets {
    sizes(lab);
    lib(lab, "d/libdeep.so", &[], "d/libfour.so runpath=$PWD/d");
    exe(lab, "prog", COPIES, "-no-pie -fno-pic d/libtwo.so d/libdeep.so runpath=$PWD/d");
    // Depth first would meet the library of four before the one of two.
    lib(lab, "stub/libdeep.so", &[], "soname=libdeep.so");
    exe(lab, "swapped", COPIES, "-no-pie -fno-pic stub/libdeep.so d/libtwo.so runpath=$PWD/d");
    vec![see("prog", &["!different"]), see("swapped", &["libfour.so", "!different"])]
}

fn main_is_first(lab: &Lab) -> Targets {
    so(lab, "d/libfig.so", "int pear(void); int fig(void){return pear();}", "soname=libfig.so");
    exe(
        lab,
        "prog",
        "int fig(void); int pear(void){return 1;} int main(void){return fig();}",
        "d/libfig.so runpath=$PWD/d",
    );
    vec![see("prog", &["!undefined"]), see("d/libfig.so", &["undefined symbol: pear"])]
}

fn main_that_exports_nothing(lab: &Lab) -> Targets {
    so(lab, "d/libfig.so", "int pear(void); int fig(void){return pear();}", "soname=libfig.so");
    lib(lab, "stub/libfig.so", &[], "");
    // The linker saw no library that refers to the symbol, so it is not in the dynamic table.
    let main = "int fig(void); int pear(void){return 1;} int main(void){return fig();}";
    exe(lab, "prog", main, "stub/libfig.so runpath=$PWD/d");
    exe(lab, "exported", main, "stub/libfig.so -rdynamic runpath=$PWD/d");
    vec![
        see("prog", &["undefined symbol: pear\t($PWD/d/libfig.so)"]),
        see("exported", &["!undefined"]),
    ]
}

fn symbolic_library(lab: &Lab) -> Targets {
    let source = "int pear(void){return 1;} int gone(void); int fig(void){return pear()+gone();}";
    so(lab, "d/libfig.so", source, "soname=libfig.so");
    copy(lab, "d/libfig.so", "d/libflag.so");
    edit(lab, "d/libfig.so", |elf| elf.push(DT_SYMBOLIC, 0));
    edit(lab, "d/libflag.so", |elf| elf.set_flag(DT_FLAGS, DF_SYMBOLIC.0));
    exe(
        lab,
        "prog",
        "int fig(void); int pear(void){return 2;} int main(void){return fig();}",
        "d/libfig.so runpath=$PWD/d",
    );
    vec![see("prog", &["undefined symbol: gone"]), see("d/libflag.so", &["undefined symbol: gone"])]
}

fn symbolic_library_with_a_hidden_definition(lab: &Lab) -> Targets {
    let source = "int pear(void){return 1;} int fig(void){return pear();}";
    so(lab, "d/libfig.so", source, "soname=libfig.so");
    edit(lab, "d/libfig.so", |elf| {
        elf.push(DT_SYMBOLIC, 0);
        elf.symbol("pear").st_shndx.set(Le, SHN_UNDEF);
        elf.symbol("pear").st_value.set(Le, 0);
    });
    let main = "int fig(void); int pear(void){return 2;} int main(void){return fig();}";
    exe(lab, "helped", main, "d/libfig.so -rdynamic runpath=$PWD/d");
    prog(lab, "alone", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("helped", &["!undefined"]), see("alone", &["undefined symbol: pear"])]
}

fn unique_definitions(lab: &Lab) -> Targets {
    let unique = "__asm__(\".globl pear\\n.type pear,@gnu_unique_object\\n.data\\npear: .long 1\\n.size pear,4\\n.text\");";
    for name in ["fig", "oak"] {
        let source = format!("{unique} extern int pear; int {name}(void){{return pear;}}");
        so(lab, &format!("d/lib{name}.so"), &source, &format!("soname=lib{name}.so"));
    }
    so(
        lab,
        "d/libelm.so",
        "extern int pear; extern int gone; int elm(void){return pear+gone;}",
        "soname=libelm.so",
    );
    prog(lab, "prog", &["d/libelm.so", "d/libfig.so", "d/liboak.so"], "runpath=$PWD/d");
    prog(lab, "without", &["d/libelm.so"], "runpath=$PWD/d");
    vec![
        see("prog", &["!symbol: pear", "undefined symbol: gone"]),
        see("without", &["undefined symbol: pear"]),
    ]
}

fn not_exported_by_map(lab: &Lab) -> Targets {
    lab.write("plain", "{ global: fig; local: *; };");
    so(
        lab,
        "d/libfig.so",
        "int pear(void){return 1;} int fig(void){return 2;}",
        "soname=libfig.so map=plain",
    );
    so(
        lab,
        "stub/libfig.so",
        "int pear(void){return 1;} int fig(void){return 2;}",
        "soname=libfig.so",
    );
    exe(
        lab,
        "prog",
        "int pear(void); int fig(void); int main(void){return pear()+fig();}",
        "stub/libfig.so runpath=$PWD/d",
    );
    vec![see("prog", &["undefined symbol: pear", "!symbol: fig"])]
}

const HASHED: &str = "int pear(void){return 1;} int extra(void){return 2;}";
const ASKS: &str = "int pear(void); int extra(void); int gone(void); int main(void){return pear()+extra()+gone();}";

fn hash_tables(lab: &Lab) -> Targets {
    so(
        lab,
        "stub/libpear.so",
        &format!("{HASHED} int gone(void){{return 0;}}"),
        "soname=libpear.so",
    );
    let mut targets = Vec::new();
    for style in ["sysv", "gnu", "both"] {
        so(
            lab,
            &format!("{style}.d/libpear.so"),
            HASHED,
            &format!("soname=libpear.so -Wl,--hash-style={style}"),
        );
        exe(
            lab,
            style,
            ASKS,
            &format!("stub/libpear.so runpath=$PWD/{style}.d -Wl,--hash-style={style}"),
        );
        targets.push(see(style, &["!symbol: pear", "!symbol: extra", "undefined symbol: gone"]));
    }
    // The library has both hash tables, and each copy loses one of them.
    for (out, tag) in [("only_sysv", DT_GNU_HASH), ("only_gnu", DT_HASH)] {
        copy(lab, "both.d/libpear.so", &format!("{out}.d/libpear.so"));
        edit(lab, &format!("{out}.d/libpear.so"), |elf| elf.retag(tag, UNUSED_TAG));
        exe(lab, out, ASKS, &format!("stub/libpear.so runpath=$PWD/{out}.d"));
        targets.push(see(out, &["!symbol: pear", "undefined symbol: gone"]));
    }
    targets
}

fn no_hash_table(lab: &Lab) -> Targets {
    so(lab, "d/libpear.so", HASHED, "soname=libpear.so -Wl,--hash-style=gnu");
    so(lab, "e/libpear.so", HASHED, "soname=libpear.so -Wl,--hash-style=sysv");
    so(lab, "f/libkiwi.so", "int pear(void){return 3;}", "soname=libkiwi.so");
    edit(lab, "d/libpear.so", |elf| elf.retag(DT_GNU_HASH, UNUSED_TAG));
    edit(lab, "e/libpear.so", |elf| elf.retag(DT_HASH, UNUSED_TAG));
    so(lab, "stub/libpear.so", HASHED, "soname=libpear.so");
    let main = "int pear(void); int extra(void); int main(void){return pear()+extra();}";
    exe(lab, "gnu", main, "stub/libpear.so runpath=$PWD/d");
    exe(lab, "sysv", main, "stub/libpear.so runpath=$PWD/e");
    exe(lab, "helped", main, "stub/libpear.so f/libkiwi.so runpath=$PWD/d:$PWD/f");
    let texts = ["undefined symbol: pear", "undefined symbol: extra"];
    vec![see("gnu", &texts), see("sysv", &texts), see("helped", &["!symbol: pear", texts[1]])]
}

fn program_without_hash_table(lab: &Lab) -> Targets {
    so(lab, "d/libfig.so", "int pear(void); int fig(void){return pear();}", "soname=libfig.so");
    let main = "int fig(void); int pear(void){return 1;} int main(void){return fig();}";
    exe(lab, "prog", main, "d/libfig.so -rdynamic -Wl,--hash-style=gnu runpath=$PWD/d");
    edit(lab, "prog", |elf| elf.retag(DT_GNU_HASH, UNUSED_TAG));
    vec![see("prog", &["undefined symbol: pear\t($PWD/d/libfig.so)"])]
}

fn library_without_exports(lab: &Lab) -> Targets {
    so(lab, "stub/libpear.so", HASHED, "soname=libpear.so");
    for style in ["gnu", "sysv"] {
        so(
            lab,
            &format!("{style}.d/libpear.so"),
            "static int x; int *p(void) __attribute__((visibility(\"hidden\"))); int *p(void){return &x;}",
            &format!("soname=libpear.so -nostdlib -Wl,--hash-style={style}"),
        );
        exe(
            lab,
            style,
            "int pear(void); int main(void){return pear();}",
            &format!("stub/libpear.so runpath=$PWD/{style}.d"),
        );
    }
    vec![see("gnu", &["undefined symbol: pear"]), see("sysv", &["undefined symbol: pear"])]
}

fn common_symbols(lab: &Lab) -> Targets {
    so(lab, "d/libpear.so", "int pear;", "soname=libpear.so -fcommon");
    so(
        lab,
        "d/libfig.so",
        "extern int pear; extern int gone; int fig(void){return pear+gone;}",
        "soname=libfig.so",
    );
    prog(lab, "prog", &["d/libfig.so"], "d/libpear.so runpath=$PWD/d");
    vec![see("prog", &["!symbol: pear", "symbol: gone"])]
}
