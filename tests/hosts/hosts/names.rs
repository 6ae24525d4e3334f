//! The files that a plugin loads: names that the host program has loaded, search paths of the
//! program and of the plugin, files that cannot be loaded.

use super::kit::{Case, Target, app, cases, fails, opens, so};
use crate::support::Lab;

pub(crate) const CASES: &[Case] = cases![
    nothing_but_libc,
    a_name_of_the_host_is_reused,
    a_soname_of_the_host_is_reused,
    an_inode_of_the_host_is_reused,
    the_host_has_loaded_it,
    rpath_of_the_program,
    runpath_of_the_program,
    runpath_of_the_plugin_stops_rpaths,
    rpath_of_the_plugin_is_inherited,
    rpath_of_the_plugin_comes_before_the_programs,
    runpath_of_a_dependency_stops_rpaths,
    origin_of_the_plugin,
    library_path,
    a_chain_of_new_libraries,
    a_plugin_needs_another,
    a_circle_with_the_plugin,
    an_auxiliary_comes_first,
    an_auxiliary_may_be_missing,
    a_filter_may_not,
    an_auxiliary_of_the_host,
    a_linker_script,
    refuses_dlopen,
    a_dependency_refuses_dlopen,
    no_default_directories,
    another_class_is_passed_over,
    a_missing_library_explains,
    a_path_as_need,
];

fn nothing_but_libc(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(lab, "plug.so", "int puts(const char *); int p(void) { return puts(\"\"); }", "");
    vec![opens("./plug.so").binds("puts", "libc.so.6")]
}

fn a_name_of_the_host_is_reused(lab: &Lab) -> Vec<Target> {
    so(lab, "h/libx.so.1", "int x(void) { return 1; }", "soname=libx.so.1");
    so(
        lab,
        "p/libx.so.1",
        "int x(void) { return 2; } int more(void) { return 3; }",
        "soname=libx.so.1",
    );
    app(lab, "int x(void); int use(void) { return x(); }", "h/libx.so.1 runpath=$ORIGIN/h");
    so(lab, "one.so", "int x(void); int p(void) { return x(); }", "p/libx.so.1 runpath=$ORIGIN/p");
    so(
        lab,
        "two.so",
        "int more(void); int p(void) { return more(); }",
        "p/libx.so.1 runpath=$ORIGIN/p",
    );
    vec![
        opens("./one.so").binds("x", "h/libx.so.1"),
        fails("./two.so", &[("undefined-symbol", "more")]),
    ]
}

fn a_soname_of_the_host_is_reused(lab: &Lab) -> Vec<Target> {
    so(lab, "h/libfoo.so", "int x(void) { return 1; }", "");
    app(lab, "int x(void); int use(void) { return x(); }", "-Lh -lfoo runpath=$ORIGIN/h");
    so(lab, "h/libfoo.so", "int x(void) { return 1; }", "soname=libbar.so.1");
    so(lab, "plug.so", "int x(void); int p(void) { return x(); }", "h/libfoo.so");
    vec![opens("./plug.so").binds("x", "h/libfoo.so")]
}

fn an_inode_of_the_host_is_reused(lab: &Lab) -> Vec<Target> {
    so(lab, "h/libx.so.1", "int x(void) { return 1; }", "soname=libx.so.1");
    app(lab, "int x(void); int use(void) { return x(); }", "h/libx.so.1 runpath=$ORIGIN/h");
    so(lab, "p/liby.so.1", "int x(void) { return 1; }", "soname=liby.so.1");
    so(lab, "plug.so", "int x(void); int p(void) { return x(); }", "p/liby.so.1 runpath=$ORIGIN/p");
    std::fs::remove_file(lab.path("p/liby.so.1")).expect("the file was there");
    std::fs::hard_link(lab.path("h/libx.so.1"), lab.path("p/liby.so.1")).expect("a hard link");
    vec![opens("./plug.so").binds("x", "h/libx.so.1")]
}

fn the_host_has_loaded_it(lab: &Lab) -> Vec<Target> {
    so(lab, "h/libx.so.1", "int x(void) { return 1; }", "soname=libx.so.1");
    app(lab, "int x(void); int use(void) { return x(); }", "h/libx.so.1 runpath=$ORIGIN/h");
    std::fs::hard_link(lab.path("h/libx.so.1"), lab.path("plug.so")).expect("a hard link");
    vec![opens("./h/libx.so.1").by_glob(), opens("./plug.so").by_glob()]
}

/// A library in `dir` and a plugin that needs it.
fn library(lab: &Lab, dir: &str, flags: &str) {
    so(lab, &format!("{dir}/libq.so.1"), "int q(void) { return 1; }", "soname=libq.so.1");
    let needs = format!("{dir}/libq.so.1 {flags}");
    so(lab, "plug.so", "int q(void); int p(void) { return q(); }", &needs);
}

fn rpath_of_the_program(lab: &Lab) -> Vec<Target> {
    app(lab, "", "rpath=$ORIGIN/h");
    library(lab, "h", "");
    vec![opens("./plug.so").binds("q", "h/libq.so.1")]
}

fn runpath_of_the_program(lab: &Lab) -> Vec<Target> {
    app(lab, "", "runpath=$ORIGIN/h");
    library(lab, "h", "");
    vec![fails("./plug.so", &[("missing-library", "libq.so.1")])]
}

fn runpath_of_the_plugin_stops_rpaths(lab: &Lab) -> Vec<Target> {
    app(lab, "", "rpath=$ORIGIN/h");
    library(lab, "h", "runpath=$ORIGIN/p");
    vec![fails("./plug.so", &[("missing-library", "libq.so.1")])]
}

fn rpath_of_the_plugin_is_inherited(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(lab, "p/libr.so.1", "int r(void) { return 1; }", "soname=libr.so.1");
    so(
        lab,
        "p/libq.so.1",
        "int r(void); int q(void) { return r(); }",
        "soname=libq.so.1 p/libr.so.1",
    );
    so(lab, "plug.so", "int q(void); int p(void) { return q(); }", "p/libq.so.1 rpath=$ORIGIN/p");
    vec![opens("./plug.so").binds("r", "p/libr.so.1")]
}

fn rpath_of_the_plugin_comes_before_the_programs(lab: &Lab) -> Vec<Target> {
    app(lab, "", "rpath=$ORIGIN/h");
    library(lab, "h", "");
    library(lab, "p", "rpath=$ORIGIN/p");
    vec![opens("./plug.so").binds("q", "p/libq.so.1")]
}

fn runpath_of_a_dependency_stops_rpaths(lab: &Lab) -> Vec<Target> {
    app(lab, "", "rpath=$ORIGIN/p");
    so(lab, "p/libr.so.1", "int r(void) { return 1; }", "soname=libr.so.1");
    let flags = "soname=libq.so.1 p/libr.so.1 runpath=$ORIGIN/nowhere";
    so(lab, "p/libq.so.1", "int r(void); int q(void) { return r(); }", flags);
    so(lab, "plug.so", "int q(void); int p(void) { return q(); }", "p/libq.so.1 rpath=$ORIGIN/p");
    vec![fails("./plug.so", &[("missing-library", "libr.so.1")])]
}

fn origin_of_the_plugin(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    library(lab, "p", "");
    so(
        lab,
        "d/plug.so",
        "int q(void); int p(void) { return q(); }",
        "p/libq.so.1 runpath=$ORIGIN/../p",
    );
    lab.link("d/plug.so", "link.so");
    vec![
        opens("./d/plug.so").binds("q", "p/libq.so.1"),
        fails("./link.so", &[("missing-library", "libq.so.1")]),
    ]
}

fn library_path(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    library(lab, "p", "");
    let found = opens("./plug.so").binds("q", "p/libq.so.1");
    vec![
        found.with("LD_LIBRARY_PATH", "p"),
        fails("./plug.so", &[("missing-library", "libq.so.1")]),
    ]
}

fn a_chain_of_new_libraries(lab: &Lab) -> Vec<Target> {
    app(lab, "int puts2(void) { return 1; }", "-rdynamic");
    so(lab, "libd.so", "int puts2(void); int d(void) { return puts2(); }", "soname=libd.so");
    so(
        lab,
        "libc1.so",
        "int d(void); int c(void) { return d(); }",
        "soname=libc1.so libd.so runpath=$ORIGIN",
    );
    so(
        lab,
        "libb.so",
        "int d(void); int b(void) { return d(); }",
        "soname=libb.so libd.so runpath=$ORIGIN",
    );
    let source = "int b(void); int c(void); int p(void) { return b() + c(); }";
    so(lab, "plug.so", source, "libb.so libc1.so runpath=$ORIGIN");
    vec![opens("./plug.so").binds("puts2", "app").binds("d", "libd.so")]
}

fn a_plugin_needs_another(lab: &Lab) -> Vec<Target> {
    app(lab, "int host(void) { return 1; }", "-rdynamic");
    so(lab, "one.so", "int host(void); int one(void) { return host(); }", "soname=one.so");
    so(lab, "two.so", "int one(void); int two(void) { return one(); }", "one.so runpath=$ORIGIN");
    vec![opens("./two.so").binds("one", "one.so").binds("host", "app"), opens("./one.so")]
}

fn a_circle_with_the_plugin(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(lab, "libq.so", "int q(void) { return 1; }", "soname=libq.so");
    so(
        lab,
        "plug.so",
        "int q(void); int p(void) { return q(); }",
        "soname=plug.so libq.so runpath=$ORIGIN",
    );
    so(
        lab,
        "libq.so",
        "int p(void); int q(void) { return p(); }",
        "soname=libq.so plug.so runpath=$ORIGIN",
    );
    vec![opens("./plug.so").binds("p", "plug.so")]
}

fn an_auxiliary_comes_first(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(lab, "libaux.so", "int q(void) { return 1; }", "soname=libaux.so");
    so(
        lab,
        "libq.so",
        "int q(void) { return 2; }",
        "soname=libq.so -Wl,-f,libaux.so runpath=$ORIGIN",
    );
    so(lab, "plug.so", "int q(void); int p(void) { return q(); }", "libq.so runpath=$ORIGIN");
    vec![opens("./plug.so").binds("q", "libaux.so")]
}

fn an_auxiliary_may_be_missing(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(
        lab,
        "libq.so",
        "int q(void) { return 2; }",
        "soname=libq.so -Wl,-f,libaux.so runpath=$ORIGIN",
    );
    so(lab, "plug.so", "int q(void); int p(void) { return q(); }", "libq.so runpath=$ORIGIN");
    vec![opens("./plug.so").binds("q", "libq.so")]
}

fn a_filter_may_not(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(
        lab,
        "libq.so",
        "int q(void) { return 2; }",
        "soname=libq.so -Wl,-F,libfilt.so runpath=$ORIGIN",
    );
    so(lab, "plug.so", "int q(void); int p(void) { return q(); }", "libq.so runpath=$ORIGIN");
    vec![fails("./plug.so", &[("missing-library", "libfilt.so")])]
}

fn an_auxiliary_of_the_host(lab: &Lab) -> Vec<Target> {
    so(lab, "libaux.so", "int q(void) { return 1; }", "soname=libaux.so");
    app(lab, "int q(void); int use(void) { return q(); }", "libaux.so runpath=$ORIGIN");
    so(lab, "plug.so", "int q(void) { return 2; } int p(void) { return q(); }", "-Wl,-f,libaux.so");
    vec![opens("./plug.so").binds("q", "libaux.so")]
}

fn a_linker_script(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    library(lab, "p", "runpath=$ORIGIN/p");
    lab.write(
        "p/libq.so.1",
        "GROUP ( /lib/libq.so.1 )                                              \n",
    );
    vec![fails("./plug.so", &[("bad-library-file", "invalid ELF header")])]
}

fn refuses_dlopen(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(lab, "plug.so", "int p(void) { return 1; }", "z=nodlopen");
    vec![fails("./plug.so", &[("bad-library-file", "shared object cannot be dlopen()ed")])]
}

fn a_dependency_refuses_dlopen(lab: &Lab) -> Vec<Target> {
    so(lab, "libq.so", "int q(void) { return 1; }", "soname=libq.so z=nodlopen");
    so(lab, "libr.so", "int r(void) { return 1; }", "soname=libr.so z=nodlopen");
    app(lab, "int r(void); int use(void) { return r(); }", "libr.so runpath=$ORIGIN");
    so(lab, "one.so", "int q(void); int p(void) { return q(); }", "libq.so runpath=$ORIGIN");
    so(lab, "two.so", "int r(void); int p(void) { return r(); }", "libr.so runpath=$ORIGIN");
    vec![
        fails("./one.so", &[("bad-library-file", "shared object cannot be dlopen()ed")]),
        opens("./two.so").binds("r", "libr.so"),
    ]
}

fn no_default_directories(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(
        lab,
        "plug.so",
        "double sin(double); double p(double x) { return sin(x); }",
        "-lm z=nodefaultlib",
    );
    vec![fails("./plug.so", &[("missing-library", "libm.so.6")])]
}

fn another_class_is_passed_over(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    library(lab, "p", "runpath=$ORIGIN/small:$ORIGIN/p");
    so(lab, "small/libq.so.1", "int q(void) { return 1; }", "-m32 -nostdlib");
    vec![opens("./plug.so").binds("q", "p/libq.so.1")]
}

fn a_missing_library_explains(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    library(lab, "p", "");
    std::fs::remove_file(lab.path("p/libq.so.1")).expect("the file was there");
    vec![fails("./plug.so", &[("missing-library", "libq.so.1")])]
}

fn a_path_as_need(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    let library = lab.path("p/libq.so");
    so(lab, "p/libq.so", "int q(void) { return 1; }", "");
    let flags = library.to_str().expect("a path in UTF-8");
    so(lab, "plug.so", "int q(void); int p(void) { return q(); }", flags);
    vec![opens("./plug.so").binds("q", "p/libq.so")]
}
