//! `why`: the objects that need a library or refer to a symbol, the file or definition that they
//! get, and those that were skipped.

use super::kit::{BROKEN, CALLS_FOO, FOO, at, object, run, run_ar, text};
use crate::support::Lab;
use serde_json::{Value, json};

const KEEP: &str = "-Wl,--no-as-needed";
const HERE: &str = "-Wl,-rpath,$ORIGIN";

fn why(lab: &Lab, name: &str, args: &[&str]) -> Value {
    let run = run(lab, &[&["why", name, "--format", "json"], args].concat());
    assert_eq!(run.err, "");
    assert_eq!(run.status, i32::from(run.out.contains("\"kind\":\"unknown\"")));
    serde_json::from_str(&run.out).expect("JSON")
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key} in {value}"))
}

/// A path below the laboratory.
fn short(lab: &Lab, value: &Value) -> String {
    let path = value.as_str().unwrap_or("-");
    path.strip_prefix(&at(lab, "")).unwrap_or(path).to_owned()
}

/// `path symbol[@version] place/taken` of the definitions, under their first entry point.
fn definitions(lab: &Lab, why: &Value) -> Vec<String> {
    let line = |provider: &Value| {
        let version = provider["version"].as_str().map(|version| {
            let at = if provider["default"] == true { "@@" } else { "@" };
            format!("{at}{version}")
        });
        let root = provider["roots"].get(0);
        let place = root.map(|root| format!("{}/{}", root["position"], root["taken"]));
        format!(
            "{} {}{} {}",
            short(lab, &provider["path"]),
            text(&provider["symbol"]),
            version.unwrap_or_default(),
            place.unwrap_or_else(|| "outside".to_owned())
        )
    };
    list(why, "providers").iter().map(line).collect()
}

/// `path [version] -> provider` of the references, under their first entry point.
fn references(lab: &Lab, why: &Value) -> Vec<String> {
    let line = |requester: &Value| {
        let version = requester["version"].as_str().unwrap_or("-");
        let bound = &requester["bound"][0];
        format!(
            "{} {version} -> {}",
            short(lab, &requester["path"]),
            short(lab, &bound["provider"])
        )
    };
    list(why, "requesters").iter().map(line).collect()
}

#[test]
fn a_definition_that_shadows_others() {
    let lab = Lab::new();
    lab.so("p/liba.so", FOO, &[]);
    lab.so("p/libb.so", FOO, &[]);
    lab.so("p/libuser.so", "int foo(void); int use(void) { return foo(); }", &[]);
    let flags = [KEEP, "-Lp", "-luser", "-la", "-lb", HERE];
    lab.exe("p/app", CALLS_FOO, &flags);
    let found = why(&lab, "foo", &["p/app"]);
    assert_eq!(found["kind"], "symbol");
    assert_eq!(definitions(&lab, &found), ["p/liba.so foo 2/2", "p/libb.so foo 3/0"]);
    assert_eq!(references(&lab, &found), ["p/app - -> p/liba.so", "p/libuser.so - -> p/liba.so"]);
    let page = run(&lab, &["why", "foo", "p/app"]).out.replace(&at(&lab, ""), "");
    let expected = "in the order of lookup of p/app\n     \
                    2  p/liba.so  foo  taken by 2 files\n     \
                    3  p/libb.so  foo  shadowed\n\
                    referred to by\n   \
                    p/app         foo  -> p/liba.so\n   \
                    p/libuser.so  foo  -> p/liba.so\n\n\
                    foo: a symbol; referred to by 2 files; 2 definitions\n";
    assert_eq!(page, expected);
    // The program's own definition comes first of all.
    let source = "int foo(void) { return 2; } int main(void) { return foo(); }";
    lab.exe("p/app", source, &[&flags[..], &["-rdynamic"]].concat());
    let found = why(&lab, "foo", &["p/app"]);
    assert_eq!(definitions(&lab, &found)[0], "p/app foo 0/1");
    assert_eq!(references(&lab, &found), ["p/libuser.so - -> p/app"]);
}

#[test]
fn versions_of_one_symbol() {
    let lab = Lab::new();
    lab.write("map", "V1 { global: foo; local: *; }; V2 { } V1;");
    let source = "int one(void) { return 1; } int two(void) { return 2; } \
                  __asm__(\".symver one, foo@V1\"); __asm__(\".symver two, foo@@V2\");";
    lab.so("p/libv.so", source, &["-Wl,--version-script,map"]);
    lab.so(
        "p/libnew.so",
        "int foo(void); int n(void) { return foo(); }",
        &[KEEP, "-Lp", "-lv", HERE],
    );
    let old = "int foo(void); __asm__(\".symver foo, foo@V1\"); int o(void) { return foo(); }";
    lab.so("p/libold.so", old, &[KEEP, "-Lp", "-lv", HERE]);
    let found = why(&lab, "foo", &["p"]);
    let providers = definitions(&lab, &found);
    assert_eq!(providers, ["p/libv.so foo@V1 1/0", "p/libv.so foo@@V2 1/1"], "{found:#}");
    assert_eq!(
        references(&lab, &found),
        ["p/libnew.so V2 -> p/libv.so", "p/libold.so V1 -> p/libv.so"]
    );
    let bound = |at: usize| list(&found, "requesters")[at]["bound"][0]["version"].clone();
    assert_eq!((bound(0), bound(1)), (json!("V2"), json!("V1")));
}

#[test]
fn weak_unused_and_undefined_references() {
    let lab = Lab::new();
    let weak = "void gone(void) __attribute__((weak)); void w(void) { if (gone) gone(); }";
    lab.so("p/libweak.so", weak, &[]);
    lab.so("p/libstrong.so", BROKEN, &[]);
    let found = why(&lab, "gone", &["p"]);
    assert_eq!(references(&lab, &found), ["p/libstrong.so - -> -", "p/libweak.so - -> -"]);
    let weak: Vec<&Value> = list(&found, "requesters").iter().map(|r| &r["weak"]).collect();
    assert_eq!(weak, [false, true]);
    let page = run(&lab, &["why", "gone", "p"]);
    assert_eq!(page.status, 0);
    let lines: Vec<&str> = page.out.lines().collect();
    assert!(
        lines[1].ends_with("gone         UNDEFINED") && lines[1].contains("libstrong"),
        "{lines:#?}"
    );
    assert_eq!(lines[2], "      check    reports undefined-symbol", "{lines:#?}");
    assert!(lines[3].ends_with("gone (weak)  undefined, allowed"), "{lines:#?}");
    assert_eq!(
        lines.last(),
        Some(&"gone: a symbol; referred to by 2 files, undefined for 1; 0 definitions")
    );
}

#[test]
fn definitions_at_hand_outside_of_every_scope() {
    let lab = Lab::new();
    lab.so("p/libbroken.so", BROKEN, &[]);
    lab.so("more/libgone.so", "void gone(void) {}", &[]);
    object(&lab, "gone.o", "void gone(void) {}");
    run_ar(&lab, &["qcs", "more/libgone.a", "gone.o"]);
    let found = why(&lab, "gone", &["p", "--lib-path", "more"]);
    assert_eq!(
        definitions(&lab, &found),
        ["more/libgone.a gone outside", "more/libgone.so gone outside"]
    );
    assert_eq!(list(&found, "providers")[0]["member"], "gone.o");
    let page = run(&lab, &["why", "gone", "p", "--lib-path", "more"]).out;
    assert!(page.contains("definitions that no entry point loads"), "{page}");
    assert!(page.contains("more/libgone.a(gone.o)"), "{page}");
}

#[test]
fn demangled_names() {
    let lab = Lab::new();
    let source = "void _ZN2ns3fooEi(int); void _ZN2ns3fooEv(void); void f(void) \
                  { _ZN2ns3fooEi(1); _ZN2ns3fooEv(); }";
    lab.so("p/libuser.so", source, &[]);
    let symbols = |name: &str| -> Vec<String> {
        let found = why(&lab, name, &["p"]);
        list(&found, "requesters").iter().map(|r| text(&r["symbol"]).to_owned()).collect()
    };
    assert_eq!(symbols("ns::foo(int)"), ["_ZN2ns3fooEi"]);
    assert_eq!(symbols("ns::foo"), ["_ZN2ns3fooEi", "_ZN2ns3fooEv"]);
    assert_eq!(symbols("_ZN2ns3fooEv"), ["_ZN2ns3fooEv"]);
    assert!(run(&lab, &["why", "ns::foo", "p"]).out.contains("ns::foo(int)"));
}

#[test]
fn who_needs_a_library() {
    let lab = Lab::new();
    lab.so("p/lib/m/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    let flags = [KEEP, "-nostdlib", "-Lp/lib/m", "-l:libfoo.so.1"];
    lab.so("p/lib/libmid.so", "int foo(void); int mid(void) { return foo(); }", &flags);
    let old = "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib:$ORIGIN/../lib/m";
    let source = "int mid(void); int main(void) { return mid(); }";
    lab.exe("p/bin/app", source, &[KEEP, "-Lp/lib", "-lmid", old]);
    let found = why(&lab, "libfoo.so.1", &["p"]);
    let requester = &list(&found, "requesters")[0];
    assert_eq!(list(&found, "requesters").len(), 1);
    assert_eq!(requester["how"], "rpath");
    assert_eq!(short(&lab, &requester["rpath_of"]), "p/bin/app");
    let chain: Vec<String> = list(requester, "chain").iter().map(|hop| short(&lab, hop)).collect();
    assert_eq!(chain, ["p/bin/app", "p/lib/libmid.so"]);
    assert_eq!(short(&lab, &requester["tried"][0]["path"]), "p/bin/../lib/libfoo.so.1");
    let provider = &list(&found, "providers")[0];
    assert_eq!(short(&lab, &provider["path"]), "p/lib/m/libfoo.so.1");
    assert_eq!(provider["roots"][0]["position"], 3);
    // By path, and by file name.
    for name in [&*at(&lab, "p/lib/m/libfoo.so.1"), "p/lib/m/libfoo.so.1"] {
        assert_eq!(why(&lab, name, &["p"])["requesters"], found["requesters"], "{name}");
    }
    std::fs::rename(lab.path("p/lib/m/libfoo.so.1"), lab.path("p/libfoo.so.1")).expect("moved");
    let page = run(&lab, &["why", "libfoo.so.1", "p"]);
    assert_eq!(page.status, 0);
    for part in ["NOT FOUND", "chain", "tried", "p/libfoo.so.1  an entry point", "missing for 1"] {
        assert!(page.out.contains(part), "{part}: {}", page.out);
    }
}

#[test]
fn a_name_that_nothing_knows() {
    let lab = Lab::new();
    lab.so("p/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    lab.so(
        "p/libuser.so",
        "int foo(void); int u(void) { return foo(); }",
        &[KEEP, "-Lp", "-l:libfoo.so.1", HERE],
    );
    for (name, near) in [("libfoo.so.2", "libfoo.so.1"), ("libfoo", "libfoo.so.1"), ("fooo", "foo")]
    {
        let page = run(&lab, &["why", name, "p"]);
        assert_eq!((page.status, page.err.as_str()), (1, ""), "{name}");
        assert!(page.out.starts_with(&format!("{name}: unknown name; none of ")), "{}", page.out);
        assert!(page.out.contains(&format!("next: linkaudit why {near} p")), "{}", page.out);
        assert_eq!(why(&lab, name, &["p"])["near"][0], near, "{name}");
    }
    run(&lab, &["why"]).refused(&["error: "]);
    run(&lab, &["why", "foo"]).refused(&["no PATH given"]).in_style();
    run(&lab, &["why", "foo", "nosuch"]).refused(&["no such file"]).in_style();
    run(&lab, &["why", "foo", "p", "--format", "dot"]).refused(&["unknown output `dot` of `why`"]);
}

#[test]
fn the_same_bytes_however_it_is_asked() {
    let lab = Lab::new();
    lab.so("p/liba.so", FOO, &["-Wl,-soname,liba.so"]);
    lab.exe("p/app", CALLS_FOO, &[KEEP, "-Lp", "-la", HERE]);
    for name in ["foo", "liba.so", "nosuch"] {
        let whole = why(&lab, name, &["p"]).to_string();
        for options in [&["-q"][..], &["-v"], &["-j1"], &["-j7"], &["--color", "always"]] {
            assert_eq!(why(&lab, name, &[options, &["p"]].concat()).to_string(), whole);
        }
    }
}

/// Libraries define a symbol with the name of each version. This symbol is not the answer.
#[test]
fn the_name_of_a_version_leads_to_symbols_with_it() {
    let lab = Lab::new();
    lab.write("map", "V_1 { global: foo; };");
    lab.so("p/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1,--version-script,$PWD/map"]);
    let marker = lab.sh("readelf -W --dyn-syms p/libfoo.so.1 | grep -w V_1$");
    assert!(String::from_utf8_lossy(&marker.stdout).contains("ABS"), "{marker:?}");
    lab.so(
        "p/libuser.so",
        "int foo(void); int u(void) { return foo(); }",
        &[KEEP, "-Lp", "-l:libfoo.so.1", HERE],
    );
    let page = run(&lab, &["why", "V_1", "p"]);
    let expected = "V_1: a version of symbols, not a symbol\nneeded for: foo@V_1\n\
                    next: linkaudit why foo@V_1 p\n";
    assert_eq!((page.status, page.out.as_str()), (1, expected));
    assert_eq!(why(&lab, "V_1", &["p"])["near"][0], "foo@V_1");
    assert_eq!(run(&lab, &["why", "foo@V_1", "p"]).status, 0);
}

/// Seven functions with one version. Each program needs some of them.
#[test]
fn the_symbols_with_a_version_are_those_of_the_entry_point() {
    let lab = Lab::new();
    lab.write("map", "V_1 { global: f*; };");
    let all: Vec<String> = (1..8).map(|n| format!("int f{n}(void) {{ return {n}; }}")).collect();
    let script = "-Wl,-soname,libf.so.1,--version-script,$PWD/map";
    lab.so("p/libf.so.1", &all.concat(), &[script]);
    for (program, functions) in [("all", 1..8), ("one", 7..8)] {
        let declared = functions.clone().map(|n| format!("int f{n}(void); ")).collect::<String>();
        let sum = functions.map(|n| format!("f{n}()")).collect::<Vec<_>>().join(" + ");
        let source = format!("{declared}int main(void) {{ return {sum}; }}");
        lab.exe(&format!("p/{program}"), &source, &[KEEP, "-Lp", "-l:libf.so.1", HERE]);
    }
    let needed = "needed for: f1@V_1, f2@V_1, f3@V_1, f4@V_1, f5@V_1, and 2 more\n";
    let page = run(&lab, &["why", "V_1", "p"]).out;
    assert!(page.contains(needed), "{page}");
    let page = run(&lab, &["why", "V_1", "--under", "p/one", "p"]).out;
    assert!(page.contains("needed for: f7@V_1\n"), "{page}");
    // A function with the name of the version: no file refers to it.
    lab.so("p/libother.so", "int V_1(void) { return 2; }", &[]);
    assert_eq!(why(&lab, "V_1", &["p"])["kind"], "symbol");
}
