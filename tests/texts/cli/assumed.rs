//! Symbols that plugins take from programs that are not given: they are assumed and counted by
//! host, only as far as a profile of the policy permits.

use super::kit::{FOO, each, of_rule, only, report, run, text};
use crate::support::Lab;
use serde_json::{Value, json};

/// C text of a library that calls `names` and defines `exports`.
fn calls(names: &[&str], exports: &[&str]) -> String {
    let declared: String = names.iter().map(|name| format!("void {name}(void);\n")).collect();
    let called: String = names.iter().map(|name| format!("{name}();")).collect();
    let exported: String = exports.iter().map(|name| format!("void {name}(void) {{}}\n")).collect();
    format!("{declared}{exported}void calls(void) {{ {called} }}")
}

/// `assumed` and `assumed_by_host` of a report.
#[track_caller]
fn assert_assumed(report: &Value, by_host: &Value) {
    let totals = &report["totals"];
    assert_eq!(totals["assumed_by_host"], *by_host, "{totals}");
    let sum: u64 = by_host.as_object().expect("counts").values().filter_map(Value::as_u64).sum();
    assert_eq!(totals["assumed"], sum, "{totals}");
}

#[track_caller]
fn assert_undefined(report: &Value, symbols: &[&str]) {
    let undefined = of_rule(report, "undefined-symbol");
    let names: Vec<&str> = undefined.iter().map(|finding| text(&finding["symbol"])).collect();
    assert_eq!(names, symbols);
}

const BESIDE: [&str; 2] = ["-Lp", "-Wl,-rpath,$ORIGIN"];

#[test]
fn a_path_makes_a_plugin() {
    let lab = Lab::new();
    lab.so(
        "p/lib/python3/dist-packages/a/b.so",
        &calls(&["PyErr_Clear", "_PyObject_New"], &[]),
        &[],
    );
    let found = report(&lab, &["p"]);
    assert_eq!(found["findings"], json!([]));
    assert_assumed(&found, &json!({ "python": 2 }));
    let run = run(&lab, &["p"]);
    assert_eq!(run.status, 0);
    let text = "nothing wrong: 1 ELF file, 1 entry point\n2 references assumed to be in host \
                programs that were not given: python (2)\n";
    assert_eq!(run.out, text);
}

/// The parts of pyarrow's library for Python lie beside its modules, under each version.
#[test]
fn so_does_the_name_of_a_library_for_python() {
    let lab = Lab::new();
    let names = ["libarrow_python.so", "libarrow_python_flight.so", "libarrow_python_flight.so.26"];
    for name in names {
        lab.so(&format!("p/pyarrow/{name}"), &calls(&["PyErr_Clear"], &[]), &[]);
    }
    let found = report(&lab, &["p"]);
    assert_eq!(found["findings"], json!([]));
    assert_assumed(&found, &json!({ "python": 3 }));
    lab.so("q/libpython_calls.so", &calls(&["PyErr_Clear"], &[]), &[]);
    assert_undefined(&report(&lab, &["q"]), &["PyErr_Clear"]);
}

#[test]
fn so_does_a_link_to_it() {
    let lab = Lab::new();
    lab.so("p/lib/liblua5.4-x.so.0", &calls(&["lua_call"], &[]), &[]);
    lab.mkdir("p/lib/lua/5.4");
    lab.link("../../liblua5.4-x.so.0", "p/lib/lua/5.4/x.so");
    assert_assumed(&report(&lab, &["p"]), &json!({ "lua": 1 }));
}

#[test]
fn an_export_makes_a_plugin_wherever_it_lies() {
    let lab = Lab::new();
    lab.so("p/any.so", &calls(&["PyErr_Clear"], &["PyInit_any"]), &[]);
    for path in ["p", "p/any.so"] {
        let found = report(&lab, &[path]);
        assert_eq!(found["findings"], json!([]));
        assert_assumed(&found, &json!({ "python": 1 }));
    }
    // A name to which a library only refers is not an export.
    lab.so("q/any.so", &calls(&["PyErr_Clear", "PyInit_other"], &[]), &[]);
    assert_undefined(&report(&lab, &["q"]), &["PyErr_Clear", "PyInit_other"]);
}

#[test]
fn other_names_stay_findings() {
    let lab = Lab::new();
    lab.so("p/a.so", &calls(&["PyErr_Clear", "lost", "xPy"], &["PyInit_a"]), &[]);
    let found = report(&lab, &["p"]);
    assert_undefined(&found, &["lost", "xPy"]);
    assert_assumed(&found, &json!({ "python": 1 }));
    assert_eq!(run(&lab, &["p"]).status, 1);
}

#[test]
fn what_is_no_plugin_takes_nothing() {
    let lab = Lab::new();
    lab.so("p/libfoo.so", &calls(&["PyErr_Clear"], &[]), &[]);
    let found = report(&lab, &["p"]);
    assert_undefined(&found, &["PyErr_Clear"]);
    assert_assumed(&found, &json!({}));
}

#[test]
fn a_version_names_a_library_and_no_program() {
    let lab = Lab::new();
    lab.write("both", "PY_1 { global: PyErr_Clear; PyErr_Print; };\n");
    lab.write("one", "PY_1 { global: PyErr_Print; };\n");
    let define = |names: &[&str], script: &str| {
        let script = format!("-Wl,--version-script=$PWD/{script}");
        lab.so("p/libpy.so", &calls(&[], names), &[&script]);
    };
    define(&["PyErr_Clear", "PyErr_Print"], "both");
    let source = calls(&["PyErr_Clear", "PyErr_Print"], &["PyInit_a"]);
    lab.so("p/a.so", &source, &[&BESIDE[..], &["-lpy"]].concat());
    define(&["PyErr_Print"], "one");
    let found = report(&lab, &["p"]);
    assert_undefined(&found, &["PyErr_Clear"]);
    assert_eq!(of_rule(&found, "undefined-symbol")[0]["version"], "PY_1");
    // With the library gone both are its own.
    std::fs::remove_file(lab.path("p/libpy.so")).expect("the library");
    let found = report(&lab, &["p"]);
    assert_eq!(each(only(&found, "missing-library"), "explained", "symbol").len(), 2);
    assert_assumed(&found, &json!({}));
}

#[test]
fn a_plugin_of_two_programs_takes_from_both() {
    let lab = Lab::new();
    let source =
        calls(&["PyErr_Clear", "lua_call", "lua_error", "R_alloc"], &["PyInit_a", "luaopen_a"]);
    lab.so("p/a.so", &source, &[]);
    let found = report(&lab, &["p"]);
    assert_undefined(&found, &["R_alloc"]);
    assert_assumed(&found, &json!({ "lua": 2, "python": 1 }));
    let all = run(&lab, &["p", "-v"]).out;
    assert!(all.contains("given:\n    lua          2 references of 1 file\n"), "{all}");
    assert!(all.contains("    python       1 reference of 1 file\n"), "{all}");
}

/// `help/libhelp.so` calls `PyErr_Clear`, and `p/a.so`, a plugin, needs it.
fn helped(dir: &str) -> Lab {
    let lab = Lab::new();
    lab.so(
        &format!("{dir}/libhelp.so"),
        &calls(&["PyErr_Clear"], &["help"]),
        &["-Wl,-soname,libhelp.so"],
    );
    let rpath = format!("-Wl,-rpath,$PWD/{dir}");
    lab.so("p/a.so", &calls(&["help"], &["PyInit_a"]), &[&format!("-L{dir}"), "-lhelp", &rpath]);
    lab
}

#[test]
fn a_library_that_only_plugins_load_takes_what_they_take() {
    let lab = helped("p");
    let found = report(&lab, &["p"]);
    assert_eq!(found["findings"], json!([]));
    assert_assumed(&found, &json!({ "python": 1 }));
    // Another file loads the library too, and lacks the function.
    for (name, is_program) in [("p/program", true), ("p/libother.so", false)] {
        let lab = helped("p");
        let flags = [&BESIDE[..], &["-Wl,--no-as-needed", "-lhelp"]].concat();
        if is_program {
            lab.exe(name, "int main(void) { return 0; }", &flags);
        } else {
            lab.so(name, FOO, &flags);
        }
        let found = report(&lab, &["p"]);
        assert_undefined(&found, &["PyErr_Clear"]);
        assert_assumed(&found, &json!({}));
    }
}

#[test]
fn a_library_from_outside_takes_nothing() {
    let lab = helped("outside");
    let found = report(&lab, &["p"]);
    assert_undefined(&found, &["PyErr_Clear"]);
    assert_assumed(&found, &json!({}));
}

#[test]
fn a_program_that_is_linked_with_a_plugin_opens_nothing() {
    let lab = Lab::new();
    lab.so("p/a.so", &calls(&["PyErr_Clear"], &["PyInit_a"]), &["-Wl,-soname,a.so"]);
    let flags = [&BESIDE[..], &["-Wl,--no-as-needed", "-l:a.so"]].concat();
    lab.exe("p/program", "int main(void) { return 0; }", &flags);
    assert_undefined(&report(&lab, &["p"]), &["PyErr_Clear"]);
}

#[test]
fn a_missing_library_explains_what_the_program_does_not() {
    let lab = Lab::new();
    lab.so("p/libfoo.so", FOO, &[]);
    let source = calls(&["foo", "PyErr_Clear"], &["PyInit_a"]);
    lab.so("p/a.so", &source, &[&BESIDE[..], &["-lfoo"]].concat());
    std::fs::remove_file(lab.path("p/libfoo.so")).expect("the library");
    let found = report(&lab, &["p"]);
    assert_eq!(each(only(&found, "missing-library"), "explained", "symbol"), ["foo"]);
    assert_assumed(&found, &json!({ "python": 1 }));
    assert_eq!(found["totals"]["explained"], 1);
    // Allowed, the library and the program are counted together and named apart.
    let allowed = ["p", "-A", "missing-library"];
    let totals = &report(&lab, &allowed)["totals"];
    assert_eq!((&totals["assumed"], &totals["explained"]), (&json!(2), &json!(0)));
    let text = run(&lab, &allowed).out;
    assert!(text.contains("1 undefined reference assumed to be in missing libraries"), "{text}");
    assert!(text.contains("programs that were not given: python (1)\n"), "{text}");
}

#[test]
fn with_the_program_nothing_is_assumed() {
    let lab = Lab::new();
    lab.so("p/a.so", &calls(&["PyErr_Clear", "PyErr_Print"], &["PyInit_a"]), &[]);
    lab.exe("python", "void PyErr_Clear(void) {} int main(void) { return 0; }", &["-rdynamic"]);
    let found = report(&lab, &["p", "--host", "python"]);
    assert_undefined(&found, &["PyErr_Print"]);
    assert_assumed(&found, &json!({}));
}

#[test]
fn a_policy_may_add_a_program_and_add_to_one() {
    let lab = Lab::new();
    let policy = "schema = 1\n\
                  [[host]]\nname = \"traceevent\"\nplugins = \"plugins/*.so\"\nsymbols = [\"tep_*\"]\n\
                  [[host]]\nname = \"python\"\nexports = [\"PyInit_*\"]\nsymbols = [\"embed_*\"]\n";
    lab.write("more.toml", policy);
    lab.so("p/plugins/kvm.so", &calls(&["tep_find", "tep_read", "lost"], &[]), &[]);
    lab.so("p/a.so", &calls(&["PyErr_Clear", "embed_call"], &["PyInit_a"]), &[]);
    let found = report(&lab, &["p", "--policy", "more.toml"]);
    assert_undefined(&found, &["lost"]);
    assert_assumed(&found, &json!({ "python": 2, "traceevent": 2 }));
}

#[test]
fn ldd_prints_them_all() {
    let lab = Lab::new();
    lab.so("a.so", &calls(&["PyErr_Clear", "lost"], &["PyInit_a"]), &[]);
    let ours = run(&lab, &["a.so", "--as-ldd", "--format", "ldd"]).out;
    let theirs = lab.ldd_r("a.so");
    assert!(ours.contains("undefined symbol: PyErr_Clear\t(./a.so)\n"), "{ours}");
    assert_eq!(crate::support::difference(&ours, &theirs), None);
}
