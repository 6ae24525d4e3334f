//! dlopen under musl's loader, which prints no bindings: the number that a plugin returns shows
//! whose function it called. The error for a plugin that cannot be opened is compared too.

use super::kit::bound;
use super::musl_files::{exe, is_there, so};
use crate::support::{Lab, clean};
use serde_json::Value;

const APP: &str = "#include <dlfcn.h>\n#include <stdio.h>\n\
    int main(int n, char **args) {\n\
    void *plugin = dlopen(args[1], RTLD_NOW | RTLD_LOCAL);\n\
    if (!plugin) { puts(dlerror()); return 0; }\n\
    int (*p)(void) = (int (*)(void)) dlsym(plugin, \"p\");\n\
    printf(\"%d\\n\", p()); return 0; }\n";
const CALL: &str = "int f(void); int p(void) { return f(); }";

/// A case by name: how it is built, what the program prints, and whose `f` that is, or the rule and
/// the name that are reported.
type Case =
    (&'static str, fn(&Lab), &'static str, Result<&'static str, (&'static str, &'static str)>);

const CASES: &[Case] = &[
    ("a program that exports", exports, "1", Ok("app")),
    (
        "a program that does not",
        mute,
        "plug.so: f: symbol not found",
        Err(("undefined-symbol", "f")),
    ),
    ("a library of the host", library, "2", Ok("h/libx.so")),
    ("a name is reused", reused, "2", Ok("h/libx.so")),
    ("a soname is not", soname, "libbar.so: No such file", Err(("missing-library", "libbar.so"))),
    ("a path of the program is inherited", inherited, "3", Ok("h/libq.so")),
    ("the host comes first", host_first, "1", Ok("app")),
    ("then the plugin itself", own, "4", Ok("plug.so")),
    ("DT_SYMBOLIC says nothing", symbolic, "1", Ok("app")),
    ("a missing library", missing, "libq.so: No such file", Err(("missing-library", "libq.so"))),
    ("a version says nothing", version, "2", Ok("h/libx.so")),
];

#[test]
fn musl_plugins() {
    if !is_there("hosts: musl") {
        return;
    }
    let mut differences = Vec::new();
    for (name, build, prints, comes_to) in CASES {
        let lab = Lab::new();
        lab.write("linkaudit.toml", super::kit::ONLY_ERRORS);
        build(&lab);
        // Relative paths of plugins would make what `$ORIGIN` finds depend on the directory.
        let plugin = lab.path("plug.so");
        let plugin = plugin.to_str().expect("a path in UTF-8");
        let real = clean("./app").current_dir(lab.root()).arg(plugin).output();
        let real = real.expect("the host runs").stdout;
        let real = String::from_utf8_lossy(&real).trim().to_owned();
        if !real.contains(prints) {
            differences.push(format!("{name}: the program prints {real:?}"));
        }
        let args = ["--facts", "--format", "json", "--host", "./app", plugin];
        let output = lab.linkaudit(&args);
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        let found: Vec<(&str, &str)> =
            report["findings"].as_array().expect("findings").iter().map(about).collect();
        match comes_to {
            Ok(provider) => {
                let bound = bound(&report, plugin);
                let is = |b: &super::kit::Binding| {
                    b.0 == plugin && b.1 == "f" && b.3.ends_with(provider)
                };
                if !bound.iter().any(is) || !found.is_empty() {
                    differences.push(format!("{name}: {bound:?} {found:?}"));
                }
            }
            Err(finding) if found != [*finding] => differences.push(format!("{name}: {found:?}")),
            Err(_) => {}
        }
    }
    let (cases, n) = (CASES.len(), differences.len());
    println!("hosts: {cases} plugins opened under musl, {n} differences");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn about(finding: &Value) -> (&str, &str) {
    let name = finding["symbol"].as_str().or(finding["library"].as_str());
    (finding["rule"].as_str().expect("a rule"), name.unwrap_or_default())
}

fn app(lab: &Lab, more: &str, flags: &[&str]) {
    exe(lab, "app", &format!("{APP}{more}"), flags);
}

fn exports(lab: &Lab) {
    app(lab, "int f(void) { return 1; }", &["-rdynamic"]);
    so(lab, "plug.so", CALL, &[]);
}

fn mute(lab: &Lab) {
    app(lab, "int f(void) { return 1; }", &[]);
    so(lab, "plug.so", CALL, &[]);
}

const H: &str = "-Wl,-rpath,$ORIGIN/h";

fn library(lab: &Lab) {
    so(lab, "h/libx.so", "int f(void) { return 2; }", &[]);
    app(lab, "int f(void); int use(void) { return f(); }", &["-Lh", "-lx", H]);
    so(lab, "plug.so", CALL, &[]);
}

fn reused(lab: &Lab) {
    library(lab);
    so(lab, "p/libx.so", "int f(void) { return 9; }", &[]);
    so(lab, "plug.so", CALL, &["-Lp", "-lx", "-Wl,-rpath,$ORIGIN/p"]);
}

fn soname(lab: &Lab) {
    library(lab);
    so(lab, "h/libbar.so", "int f(void) { return 2; }", &[]);
    so(lab, "plug.so", CALL, &["-Lh", "-lbar"]);
    std::fs::remove_file(lab.path("h/libbar.so")).expect("the file was there");
    so(lab, "h/libx.so", "int f(void) { return 2; }", &["-Wl,-soname,libbar.so"]);
}

fn inherited(lab: &Lab) {
    app(lab, "", &["-Wl,--enable-new-dtags", H]);
    so(lab, "h/libq.so", "int f(void) { return 3; }", &[]);
    so(lab, "plug.so", CALL, &["-Lh", "-lq", "-Wl,-rpath,$ORIGIN/none"]);
}

fn host_first(lab: &Lab) {
    app(lab, "int f(void) { return 1; }", &["-rdynamic"]);
    so(lab, "plug.so", "int f(void) { return 4; } int p(void) { return f(); }", &[]);
}

fn own(lab: &Lab) {
    app(lab, "", &[]);
    so(lab, "p/libq.so", "int f(void) { return 5; }", &[]);
    let flags = ["-Lp", "-lq", "-Wl,-rpath,$ORIGIN/p"];
    so(lab, "plug.so", "int f(void) { return 4; } int p(void) { return f(); }", &flags);
}

fn symbolic(lab: &Lab) {
    app(lab, "int f(void) { return 1; }", &["-rdynamic"]);
    so(
        lab,
        "plug.so",
        "int f(void) { return 4; } int p(void) { return f(); }",
        &["-Wl,-init,p,-fini,p"],
    );
    super::retag_symbolic(lab, "plug.so");
}

fn missing(lab: &Lab) {
    app(lab, "", &[]);
    so(lab, "h/libq.so", "int f(void) { return 3; }", &[]);
    so(lab, "plug.so", CALL, &["-Lh", "-lq"]);
    std::fs::remove_file(lab.path("h/libq.so")).expect("the file was there");
}

fn version(lab: &Lab) {
    lab.write("map", "V2 { global: f; };");
    so(lab, "h/libx.so", "int f(void) { return 2; }", &["-Wl,--version-script,map"]);
    so(lab, "plug.so", CALL, &["-Lh", "-lx"]);
    lab.write("map", "V1 { global: f; };");
    so(lab, "h/libx.so", "int f(void) { return 2; }", &["-Wl,--version-script,map"]);
    app(lab, "int f(void); int use(void) { return f(); }", &["-Lh", "-lx", H]);
}
