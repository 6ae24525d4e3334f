//! References that are looked up and reported.

use super::kit::{Case, Targets, cases, exe, lib, prog, run, see, so};
use super::patch::edit;
use crate::support::Lab;

#[test]
fn references_that_are_looked_up() {
    run("references", CASES);
}

const CASES: &[Case] = cases![
    weak_references,
    weak_in_one_object_strong_in_another,
    reference_without_relocation,
    functions_data_and_pointers,
    every_object_reports_for_itself,
    lazy_and_now,
    hidden_and_local_references,
    protected_reference,
    plugin_of_a_program,
    dangling_reference_in_a_cycle,
    missing_library_leaves_its_symbols,
    many_references,
    very_long_name,
    function_as_data_and_back,
    names_that_share_an_end,
];

fn weak_references(lab: &Lab) -> Targets {
    let source = "extern int soft __attribute__((weak)); int also(void) __attribute__((weak)); int hard(void); extern int stone; int f(void){return (&soft?soft:0)+(also?also():0)+hard()+stone;}";
    so(lab, "lib.so", source, "");
    vec![see("lib.so", &["undefined symbol: hard", "undefined symbol: stone", "!soft", "!also"])]
}

fn weak_in_one_object_strong_in_another(lab: &Lab) -> Targets {
    so(
        lab,
        "d/libfig.so",
        "int pear(void) __attribute__((weak)); int fig(void){return pear?pear():0;}",
        "soname=libfig.so",
    );
    so(lab, "d/liboak.so", "int pear(void); int oak(void){return pear();}", "soname=liboak.so");
    prog(lab, "prog", &["d/libfig.so", "d/liboak.so"], "runpath=$PWD/d");
    vec![see("prog", &["undefined symbol: pear\t($PWD/d/liboak.so)", "!libfig.so)"])]
}

fn reference_without_relocation(lab: &Lab) -> Targets {
    so(lab, "lib.so", "int x;", "-Wl,-u,never_used -Wl,-u,nor_this");
    exe(lab, "prog", "int main(void){return 0;}", "-Wl,-u,never_used");
    vec![see("lib.so", &["!undefined"]), see("prog", &["!undefined"])]
}

fn functions_data_and_pointers(lab: &Lab) -> Targets {
    let source = "int call(void); extern int data; int pointer(void); extern int address; int both(void);
        int (*p)(void)=pointer; int *q=&address; int (*r)(void)=both; int f(void){return call()+data+both();}";
    for (out, flags) in [
        ("lazy.so", "z=lazy"),
        ("now.so", "z=now"),
        ("no_plt.so", "-fno-plt"),
        ("large.so", "-mcmodel=large"),
    ] {
        so(lab, out, source, flags);
    }
    let shows = [
        "symbol: call\t",
        "symbol: data\t",
        "symbol: pointer\t",
        "symbol: address\t",
        "symbol: both\t",
    ];
    vec![
        see("lazy.so", &shows),
        see("now.so", &shows),
        see("no_plt.so", &shows),
        see("large.so", &shows),
    ]
}

fn every_object_reports_for_itself(lab: &Lab) -> Targets {
    for name in ["fig", "oak", "elm"] {
        let source = format!(
            "int gone(void); extern int lost; int {name}(void){{return gone()+gone()+lost;}} int *p=&lost,*q=&lost;"
        );
        so(lab, &format!("d/lib{name}.so"), &source, &format!("soname=lib{name}.so"));
    }
    prog(lab, "prog", &["d/libfig.so", "d/liboak.so", "d/libelm.so"], "runpath=$PWD/d");
    vec![see(
        "prog",
        &["lost\t($PWD/d/libfig.so)", "gone\t($PWD/d/liboak.so)", "lost\t($PWD/d/libelm.so)"],
    )]
}

fn lazy_and_now(lab: &Lab) -> Targets {
    lib(lab, "stub/libpear.so", &[], "");
    so(lab, "d/libpear.so", "int other;", "soname=libpear.so");
    prog(lab, "lazy", &["stub/libpear.so"], "z=lazy runpath=$PWD/d");
    prog(lab, "now", &["stub/libpear.so"], "z=now runpath=$PWD/d");
    let text = "undefined symbol: pear";
    vec![see("lazy", &[text]), see("now", &[text])]
}

fn hidden_and_local_references(lab: &Lab) -> Targets {
    let source = "extern int one,two,three,four,five; int *p[]={&one,&two,&three,&four,&five}; int call(void); int f(void){return call();}";
    so(lab, "lib.so", source, "z=lazy");
    edit(lab, "lib.so", |elf| {
        elf.set_visibility("one", 2);
        elf.set_visibility("two", 1);
        elf.set_info("three", 0, 0);
        elf.set_visibility("call", 2);
    });
    vec![see("lib.so", &["!one", "!two", "!three", "symbol: four", "symbol: five", "!call"])]
}

fn protected_reference(lab: &Lab) -> Targets {
    so(lab, "lib.so", "extern int one,two; int *p[]={&one,&two};", "");
    edit(lab, "lib.so", |elf| elf.set_visibility("one", 3));
    vec![see("lib.so", &["symbol: two"])]
}

fn plugin_of_a_program(lab: &Lab) -> Targets {
    so(lab, "plugin.so", "int host_call(void); int plug(void){return host_call();}", "");
    exe(lab, "host", "int host_call(void){return 1;} int main(void){return 0;}", "-rdynamic");
    vec![
        see("plugin.so", &["undefined symbol: host_call\t(./plugin.so)"]),
        see("host", &["!undefined"]),
    ]
}

fn dangling_reference_in_a_cycle(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    so(
        lab,
        "d/libfig.so",
        "int pear(void); int gone(void); int fig(void){return pear()+gone();}",
        "soname=libfig.so d/libpear.so rpath=$PWD/d",
    );
    so(
        lab,
        "d/libpear.so",
        "int fig(void); int lost(void); int pear(void){return fig()+lost();}",
        "soname=libpear.so d/libfig.so rpath=$PWD/d",
    );
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["gone\t($PWD/d/libfig.so)", "lost\t($PWD/d/libpear.so)"])]
}

fn missing_library_leaves_its_symbols(lab: &Lab) -> Targets {
    lib(lab, "stub/libgone.so", &[], "");
    so(lab, "d/libkiwi.so", "int gone(void){return 5;}", "soname=libkiwi.so");
    lib(lab, "d/libfig.so", &["stub/libgone.so"], "");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "helped", &["d/libfig.so"], "d/libkiwi.so runpath=$PWD/d");
    vec![
        see("prog", &["undefined symbol: gone"]),
        see("helped", &["libgone.so => not found", "!undefined"]),
    ]
}

fn many_references(lab: &Lab) -> Targets {
    let mut source = String::new();
    for index in 0..400 {
        source += &format!("int gone{index}(void); int f{index}(void){{return gone{index}();}}\n");
    }
    so(lab, "lib.so", &source, "");
    so(lab, "now.so", &source, "z=now -Wl,--hash-style=sysv");
    vec![see("lib.so", &["gone399\t"]), see("now.so", &["gone0\t"])]
}

fn very_long_name(lab: &Lab) -> Targets {
    let long = "x".repeat(9000);
    so(lab, "lib.so", &format!("int {long}(void); int f(void){{return {long}();}}"), "");
    so(
        lab,
        "d/libpear.so",
        &format!("int {long}(void){{return 1;}} int pear(void){{return 2;}}"),
        "soname=libpear.so",
    );
    exe(
        lab,
        "prog",
        &format!("int {long}(void); int main(void){{return {long}();}}"),
        "d/libpear.so runpath=$PWD/d",
    );
    vec![see("lib.so", &["undefined symbol: xxx"]), see("prog", &["!undefined"])]
}

fn function_as_data_and_back(lab: &Lab) -> Targets {
    // The kinds of definition and reference need not agree.
    so(lab, "d/libpear.so", "int pear; int kiwi(void){return 1;}", "soname=libpear.so");
    so(lab, "stub/libpear.so", "int pear(void){return 1;} int kiwi;", "soname=libpear.so");
    exe(
        lab,
        "prog",
        "int pear(void); extern int kiwi; int main(void){return pear()+kiwi;}",
        "-pie -fPIC stub/libpear.so runpath=$PWD/d",
    );
    vec![see("prog", &["!undefined"])]
}

fn names_that_share_an_end(lab: &Lab) -> Targets {
    // The linker stores only the longer of two such names.
    so(lab, "d/libpear.so", "int long_pear(void){return 1;}", "soname=libpear.so");
    so(
        lab,
        "lib.so",
        "int long_pear(void); int pear(void); int f(void){return long_pear()+pear();}",
        "d/libpear.so runpath=$PWD/d",
    );
    vec![see("lib.so", &["undefined symbol: pear\t", "!long_pear"])]
}
