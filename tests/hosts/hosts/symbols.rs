//! The definitions that a plugin gets: those of the program and its libraries first, then those of
//! the plugin and its libraries, breadth first. And the references that stay undefined.

use super::kit::{Case, Target, app, cases, fails, opens, so};
use crate::support::Lab;

pub(crate) const CASES: &[Case] = cases![
    a_program_that_exports,
    a_program_that_does_not,
    a_library_of_the_host,
    the_host_comes_before_a_dependency,
    the_host_comes_before_the_plugin_itself,
    a_symbolic_plugin,
    a_symbolic_dependency,
    a_weak_definition_of_the_host,
    a_protected_function,
    a_weak_reference,
    a_dependency_calls_the_plugin,
    a_dependency_misses_a_symbol,
    breadth_first,
    data_and_function_are_missing,
    preloaded,
    a_copied_variable,
    a_canonical_address,
    a_thread_local_variable,
    an_ifunc,
    a_missing_version,
    a_version_of_a_renamed_library,
    an_older_version,
    a_weak_version,
    unique_in_the_host,
    unique_in_the_plugin,
    unique_in_two_dependencies,
    unique_and_symbolic,
    sysv_hash_only,
    hidden_stays_inside,
];

const CALL_HOST: &str = "int host(void); int p(void) { return host(); }";

fn a_program_that_exports(lab: &Lab) -> Vec<Target> {
    app(lab, "int host(void) { return 1; }", "-rdynamic");
    so(lab, "plug.so", CALL_HOST, "");
    vec![opens("./plug.so").binds("host", "app")]
}

fn a_program_that_does_not(lab: &Lab) -> Vec<Target> {
    app(lab, "int host(void) { return 1; }", "");
    so(lab, "plug.so", CALL_HOST, "");
    vec![fails("./plug.so", &[("undefined-symbol", "host")])]
}

fn a_library_of_the_host(lab: &Lab) -> Vec<Target> {
    so(lab, "libx.so", "int host(void) { return 1; }", "soname=libx.so");
    app(lab, "int host(void); int use(void) { return host(); }", "libx.so runpath=$ORIGIN");
    so(lab, "plug.so", CALL_HOST, "");
    vec![opens("./plug.so").binds("host", "libx.so")]
}

fn the_host_comes_before_a_dependency(lab: &Lab) -> Vec<Target> {
    app(lab, "int host(void) { return 1; }", "-rdynamic");
    so(
        lab,
        "libq.so",
        "int host(void) { return 2; } int q(void) { return host(); }",
        "soname=libq.so",
    );
    let source = "int host(void); int q(void); int p(void) { return host() + q(); }";
    so(lab, "plug.so", source, "libq.so runpath=$ORIGIN");
    vec![opens("./plug.so").binds("host", "app").binds("q", "libq.so")]
}

fn the_host_comes_before_the_plugin_itself(lab: &Lab) -> Vec<Target> {
    app(lab, "int host(void) { return 1; }", "-rdynamic");
    let source = "int host(void) { return 2; } int own(void) { return 3; }\
                  int p(void) { return host() + own(); }";
    so(lab, "plug.so", source, "");
    vec![opens("./plug.so").binds("host", "app").binds("own", "plug.so")]
}

fn a_symbolic_plugin(lab: &Lab) -> Vec<Target> {
    app(lab, "int host(void) { return 1; } int other(void) { return 1; }", "-rdynamic");
    // The linker binds calls itself; an address that is asked for in data stays a relocation.
    let source = "int host(void) { return 2; } int other(void);\
                  int (*table[])(void) = { host, other };";
    so(lab, "plug.so", source, "");
    super::retag_symbolic(lab, "plug.so");
    vec![opens("./plug.so").binds("host", "plug.so").binds("other", "app")]
}

fn a_symbolic_dependency(lab: &Lab) -> Vec<Target> {
    app(lab, "int host(void) { return 1; }", "-rdynamic");
    let source = "int host(void) { return 2; } int q(void) { return host(); }";
    so(lab, "libq.so", source, "soname=libq.so");
    super::retag_symbolic(lab, "libq.so");
    let source = "int host(void); int q(void); int p(void) { return host() + q(); }";
    so(lab, "plug.so", source, "libq.so runpath=$ORIGIN");
    vec![opens("./plug.so").binds("host", "libq.so").binds("host", "app")]
}

fn a_weak_definition_of_the_host(lab: &Lab) -> Vec<Target> {
    app(lab, "__attribute__((weak)) int host(void) { return 1; }", "-rdynamic");
    so(lab, "libq.so", "int host(void) { return 2; }", "soname=libq.so");
    so(lab, "plug.so", CALL_HOST, "libq.so runpath=$ORIGIN");
    vec![opens("./plug.so").binds("host", "app")]
}

fn a_protected_function(lab: &Lab) -> Vec<Target> {
    app(lab, "int host(void) { return 1; }", "-rdynamic");
    let source = "__attribute__((visibility(\"protected\"))) int host(void) { return 2; }\
                  int (*p(void))(void) { return host; }";
    so(lab, "libq.so", source, "soname=libq.so");
    so(lab, "plug.so", CALL_HOST, "libq.so runpath=$ORIGIN");
    vec![opens("./plug.so").binds("host", "app")]
}

fn a_weak_reference(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    let source =
        "__attribute__((weak)) int nobody(void); int p(void) { return nobody ? nobody() : 0; }";
    so(lab, "plug.so", source, "");
    vec![opens("./plug.so")]
}

fn a_dependency_calls_the_plugin(lab: &Lab) -> Vec<Target> {
    app(lab, "int callback(void) { return 1; }", "");
    so(lab, "libq.so", "int callback(void); int q(void) { return callback(); }", "soname=libq.so");
    let source = "int q(void); int callback(void) { return 1; } int p(void) { return q(); }";
    so(lab, "plug.so", source, "libq.so runpath=$ORIGIN");
    vec![opens("./plug.so").binds("callback", "plug.so")]
}

fn a_dependency_misses_a_symbol(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(lab, "libq.so", "int nobody(void); int q(void) { return nobody(); }", "soname=libq.so");
    so(lab, "plug.so", "int q(void); int p(void) { return q(); }", "libq.so runpath=$ORIGIN");
    vec![fails("./plug.so", &[("undefined-symbol", "nobody")])]
}

fn breadth_first(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(lab, "libc1.so", "int f(void) { return 1; }", "soname=libc1.so");
    so(lab, "libb.so", "int f(void) { return 2; }", "soname=libb.so");
    so(
        lab,
        "liba.so",
        "int f(void); int a(void) { return f(); }",
        "soname=liba.so libc1.so runpath=$ORIGIN",
    );
    let source = "int a(void); int f(void); int p(void) { return a() + f(); }";
    so(lab, "plug.so", source, "liba.so libb.so runpath=$ORIGIN");
    vec![opens("./plug.so").binds("f", "libb.so")]
}

fn data_and_function_are_missing(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(
        lab,
        "plug.so",
        "extern int data; int call(void); int p(void) { return data + call(); }",
        "",
    );
    vec![fails("./plug.so", &[("undefined-symbol", "data"), ("undefined-symbol", "call")])]
}

fn preloaded(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(lab, "pre.so", "int host(void) { return 1; }", "soname=pre.so");
    so(lab, "plug.so", CALL_HOST, "");
    vec![
        opens("./plug.so").with("LD_PRELOAD", "./pre.so").binds("host", "pre.so"),
        fails("./plug.so", &[("undefined-symbol", "host")]),
    ]
}

fn a_copied_variable(lab: &Lab) -> Vec<Target> {
    so(lab, "libx.so", "int data = 7;", "soname=libx.so");
    app(
        lab,
        "extern int data; int use(void) { return data; }",
        "-no-pie -fno-pic libx.so runpath=$ORIGIN",
    );
    so(lab, "plug.so", "extern int data; int p(void) { return data; }", "libx.so");
    vec![opens("./plug.so").binds("data", "app")]
}

fn a_canonical_address(lab: &Lab) -> Vec<Target> {
    so(lab, "libx.so", "int f(void) { return 1; }", "soname=libx.so");
    let source = "int f(void); int (*use(void))(void) { return f; }";
    app(lab, source, "-no-pie -fno-pic libx.so runpath=$ORIGIN");
    let source = "int f(void); int (*p(void))(void) { return f; } int q(void) { return f(); }";
    so(lab, "plug.so", source, "libx.so");
    vec![opens("./plug.so").binds("f", "app")]
}

fn a_thread_local_variable(lab: &Lab) -> Vec<Target> {
    so(lab, "libx.so", "__thread int data = 7;", "soname=libx.so");
    app(lab, "extern __thread int data; int use(void) { return data; }", "libx.so runpath=$ORIGIN");
    so(lab, "plug.so", "extern __thread int data; int p(void) { return data; }", "");
    vec![opens("./plug.so").binds("data", "libx.so")]
}

fn an_ifunc(lab: &Lab) -> Vec<Target> {
    let source = "static int one(void) { return 1; } static void *pick(void) { return one; }\
                  int host(void) __attribute__((ifunc(\"pick\")));";
    so(lab, "libx.so", source, "soname=libx.so");
    app(lab, "int host(void); int use(void) { return host(); }", "libx.so runpath=$ORIGIN");
    so(lab, "plug.so", CALL_HOST, "");
    vec![opens("./plug.so").binds("host", "libx.so")]
}

/// `libv.so.1` with the versions of `map`, in `dir`.
fn versioned(lab: &Lab, dir: &str, soname: &str, map: &str) {
    let name = format!("{dir}/{soname}");
    lab.write("map", map);
    so(
        lab,
        &name,
        "int f(void) { return 1; } int g(void) { return 1; }",
        &format!("soname={soname} map=map"),
    );
}

const V1: &str = "V1 { global: f; local: *; };";
const V1_V2: &str = "V1 { global: f; local: *; }; V2 { global: g; } V1;";
const CALL_G: &str = "int g(void); int p(void) { return g(); }";

fn a_missing_version(lab: &Lab) -> Vec<Target> {
    versioned(lab, "h", "libv.so.1", V1);
    versioned(lab, "p", "libv.so.1", V1_V2);
    app(lab, "int f(void); int use(void) { return f(); }", "h/libv.so.1 runpath=$ORIGIN/h");
    so(lab, "plug.so", CALL_G, "p/libv.so.1 runpath=$ORIGIN/p");
    vec![fails("./plug.so", &[("missing-version", "V2"), ("undefined-symbol", "g")])]
}

fn a_version_of_a_renamed_library(lab: &Lab) -> Vec<Target> {
    versioned(lab, "h", "libv.so.1", V1_V2);
    versioned(lab, "p", "liby.so.1", V1_V2);
    app(lab, "int f(void); int use(void) { return f(); }", "h/libv.so.1 runpath=$ORIGIN/h");
    so(lab, "plug.so", CALL_G, "p/liby.so.1 runpath=$ORIGIN/p");
    std::fs::remove_file(lab.path("p/liby.so.1")).expect("the file was there");
    std::fs::hard_link(lab.path("h/libv.so.1"), lab.path("p/liby.so.1")).expect("a hard link");
    vec![opens("./plug.so").binds("g", "h/libv.so.1")]
}

fn an_older_version(lab: &Lab) -> Vec<Target> {
    versioned(lab, "h", "libv.so.1", "V1 { global: g; local: *; };");
    versioned(lab, "p", "libw.so.1", V1_V2);
    app(lab, "int g(void); int use(void) { return g(); }", "h/libv.so.1 runpath=$ORIGIN/h");
    // The host's `g` has another version, and is skipped.
    so(lab, "plug.so", CALL_G, "p/libw.so.1 runpath=$ORIGIN/p");
    vec![opens("./plug.so").binds("g", "p/libw.so.1")]
}

fn a_weak_version(lab: &Lab) -> Vec<Target> {
    versioned(lab, "p", "libv.so.1", V1_V2);
    app(lab, "", "");
    let source = "__attribute__((weak)) int g(void); int p(void) { return g ? 1 : 0; }";
    so(lab, "plug.so", source, "p/libv.so.1 runpath=$ORIGIN/p");
    versioned(lab, "p", "libv.so.1", V1);
    vec![fails("./plug.so", &[("missing-version", "V2")])]
}

/// A unique variable, and a function `NAME` that asks for it.
fn unique(name: &str) -> String {
    format!(
        "__asm__(\".globl u\\n.type u, @gnu_unique_object\\n.size u, 4\\n.data\\nu: .long 1\\n.text\");\
         extern int u; int *{name}(void) {{ return &u; }}"
    )
}

fn unique_in_the_host(lab: &Lab) -> Vec<Target> {
    so(lab, "libx.so", &unique("x"), "soname=libx.so");
    app(lab, "int *x(void); int *use(void) { return x(); }", "libx.so runpath=$ORIGIN");
    so(lab, "plug.so", &unique("p"), "");
    vec![opens("./plug.so").binds("u", "libx.so")]
}

fn unique_in_the_plugin(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(lab, "plug.so", &unique("p"), "");
    vec![opens("./plug.so").binds("u", "plug.so")]
}

fn unique_in_two_dependencies(lab: &Lab) -> Vec<Target> {
    app(lab, "", "");
    so(lab, "libb.so", &unique("b"), "soname=libb.so");
    super::retag_symbolic(lab, "libb.so");
    so(lab, "liba.so", &unique("a"), "soname=liba.so");
    let source = "int *a(void); int *b(void); int *p(void) { return a() + *b(); }";
    so(lab, "plug.so", source, "liba.so libb.so runpath=$ORIGIN");
    vec![opens("./plug.so")]
}

fn unique_and_symbolic(lab: &Lab) -> Vec<Target> {
    so(lab, "libx.so", &unique("x"), "soname=libx.so");
    app(lab, "int *x(void); int *use(void) { return x(); }", "libx.so runpath=$ORIGIN");
    so(lab, "plug.so", &unique("p"), "");
    super::retag_symbolic(lab, "plug.so");
    vec![opens("./plug.so").binds("u", "libx.so")]
}

fn sysv_hash_only(lab: &Lab) -> Vec<Target> {
    app(lab, "int host(void) { return 1; }", "-rdynamic -Wl,--hash-style=sysv");
    so(lab, "plug.so", CALL_HOST, "-Wl,--hash-style=sysv");
    vec![opens("./plug.so").binds("host", "app")]
}

fn hidden_stays_inside(lab: &Lab) -> Vec<Target> {
    app(lab, "int host(void) { return 1; }", "-rdynamic");
    let source = "__attribute__((visibility(\"hidden\"))) int host(void) { return 2; }\
                  int p(void) { return host(); }";
    so(lab, "plug.so", source, "");
    vec![opens("./plug.so")]
}
