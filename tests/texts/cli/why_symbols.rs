//! `why` for symbols: partial names, versions, and undefined references. It must agree with
//! `check`.

use super::kit::{
    BROKEN, CALLS_FOO, FOO, at, each, object, of_rule, only, report, run, run_ar, text,
};
use crate::support::Lab;
use serde_json::{Value, json};

const KEEP: &str = "-Wl,--no-as-needed";
const HERE: &str = "-Wl,-rpath,$ORIGIN";

fn why(lab: &Lab, name: &str, args: &[&str]) -> Value {
    let run = run(lab, &[&["why", name, "--format", "json"], args].concat());
    assert_eq!(run.err, "");
    serde_json::from_str(&run.out).expect("JSON")
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key} in {value}"))
}

fn strings(list: &[Value]) -> Vec<&str> {
    list.iter().map(text).collect()
}

fn symbols<'v>(why: &'v Value, key: &str) -> Vec<&'v str> {
    list(why, key).iter().map(|one| text(&one["symbol"])).collect()
}

/// `Shape::id()` is undefined, and `Shape::id(int)` is defined.
fn shapes() -> Lab {
    let lab = Lab::with_short_path();
    let source =
        "int _ZN5Shape2idEi(int i) { return i; } int _ZNK2ns5Shape2idEi(int i) { return i; }
                  int _Z5plaini(int i) { return i; } int _ZN5Shape4areaEv(void) { return 1; }";
    lab.so("p/libshape.so.1", source, &["-Wl,-soname,libshape.so.1"]);
    let source = "int _ZN5Shape2idEv(void); int _ZNK2ns5Shape2idEi(int); int _Z5plaini(int);
                  int use(void) { return _ZN5Shape2idEv() + _ZNK2ns5Shape2idEi(1) + _Z5plaini(1); }";
    lab.so("p/libuse.so", source, &[KEEP, "-Lp", "-l:libshape.so.1", HERE]);
    lab
}

#[test]
fn names_in_part() {
    let lab = shapes();
    let all = ["_ZN5Shape2idEi", "_ZNK2ns5Shape2idEi"];
    for (name, defined, asked) in [
        ("Shape::id", &all[..], &["_ZN5Shape2idEv", "_ZNK2ns5Shape2idEi"][..]),
        ("Shape::id(int)", &all, &["_ZNK2ns5Shape2idEi"]),
        ("Shape::id(int) const", &all[1..], &["_ZNK2ns5Shape2idEi"]),
        ("ns::Shape::id", &all[1..], &["_ZNK2ns5Shape2idEi"]),
        ("Shape::id()", &[], &["_ZN5Shape2idEv"]),
        ("_ZN5Shape2idEv", &[], &["_ZN5Shape2idEv"]),
        // No symbol has this name, but one function has it.
        ("plain", &["_Z5plaini"], &["_Z5plaini"]),
    ] {
        let found = why(&lab, name, &["p"]);
        assert_eq!(found["kind"], "symbol", "{name}");
        assert_eq!(symbols(&found, "providers"), defined, "{name}");
        assert_eq!(symbols(&found, "requesters"), asked, "{name}");
    }
    // Members are suggested only.
    for (name, near) in [("id", "Shape::id"), ("area", "Shape::area"), ("Shape::idd", "Shape::id")]
    {
        let page = run(&lab, &["why", name, "p"]);
        assert_eq!((page.status, page.err.as_str()), (1, ""), "{name}");
        assert!(page.out.contains(&format!("next: linkaudit why {near} p")), "{}", page.out);
    }
    let near = why(&lab, "Shape::id(char)", &["p"]);
    assert_eq!(strings(list(&near, "near")), ["Shape::id", "ns::Shape::id"]);
}

/// A destructor has several symbols with one text. The raw names tell them apart.
#[test]
fn symbols_with_the_same_text() {
    let lab = Lab::new();
    let source = "int _ZN1SD0Ev(void) { return 0; } int _ZN1SD1Ev(void) { return 1; }
                  int plain(void) { return 1; }";
    lab.so("p/libs.so.1", source, &["-Wl,-soname,libs.so.1"]);
    let page = run(&lab, &["why", "S::~S", "p"]).out;
    for raw in ["S::~S() [_ZN1SD0Ev]", "S::~S() [_ZN1SD1Ev]"] {
        assert!(page.contains(raw), "{page}");
    }
    for (name, near) in
        [("S", "S::~S"), ("S::", "S::~S"), ("plain()", "plain"), ("::plain", "plain")]
    {
        assert_eq!(strings(list(&why(&lab, name, &["p"]), "near")), [near], "{name}");
    }
    run(&lab, &["why", "", "p"]).refused(&["NAME is empty"]).in_style();
}

/// References of objects that are not linked are a question for `archive`.
#[test]
fn archives_and_objects_are_not_searched() {
    let lab = Lab::new();
    object(&lab, "p/f.o", "int g(void); int f(void) { return g(); }");
    run_ar(&lab, &["rc", "p/libf.a", "p/f.o"]);
    for path in ["p/f.o", "p/libf.a"] {
        let page = run(&lab, &["why", "g", path]);
        assert_eq!(page.status, 1);
        assert!(page.out.contains("not searched: 1 archive or object file"), "{}", page.out);
        assert!(page.out.contains("linkaudit archive FILE"), "{}", page.out);
    }
}

#[test]
fn names_of_rust_with_and_without_hash() {
    let lab = Lab::new();
    let raw = "_ZN3app4core3run17h0123456789abcdefE";
    lab.so("p/libapp.so", &format!("int {raw}(void) {{ return 1; }}"), &[]);
    for name in ["app::core::run", "core::run", "app::core::run::h0123456789abcdef", raw] {
        assert_eq!(symbols(&why(&lab, name, &["p"]), "providers"), [raw], "{name}");
    }
    assert_eq!(why(&lab, "core::run::h0123456789abcde0", &["p"])["kind"], "unknown");
}

/// A library with two versions of `foo`, and objects that refer to each.
fn versions() -> Lab {
    let lab = Lab::new();
    lab.write("map", "V1 { global: foo; local: *; }; V2 { } V1;");
    let source = "int one(void) { return 1; } int two(void) { return 2; } \
                  __asm__(\".symver one, foo@V1\"); __asm__(\".symver two, foo@@V2\");";
    lab.so("p/libv.so", source, &["-Wl,--version-script,map"]);
    let flags = [KEEP, "-Lp", "-lv", HERE];
    lab.so("p/libnew.so", "int foo(void); int n(void) { return foo(); }", &flags);
    let old = "int foo(void); __asm__(\".symver foo, foo@V1\"); int o(void) { return foo(); }";
    lab.so("p/libold.so", old, &flags);
    lab
}

/// A program that was linked before the library had versions gets the oldest one.
#[test]
fn a_reference_without_a_version_is_listed_under_the_one_that_it_gets() {
    let lab = versions();
    lab.so("stub/libv.so", "int foo(void) { return 0; }", &[]);
    let flags = [KEEP, "-Lstub", "-lv", "-Wl,-rpath,$ORIGIN/p"];
    lab.exe("first", "int foo(void); int main(void) { return foo(); }", &flags);
    let status = std::process::Command::new(lab.path("first")).status().expect("a program");
    assert_eq!(status.code(), Some(1), "the loader takes foo@V1");
    let users = |name: &str| {
        let found = why(&lab, name, &["p", "first"]);
        let requesters = list(&found, "requesters").iter();
        requesters.map(|one| one["path"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(users("foo@V1"), [at(&lab, "first"), at(&lab, "p/libold.so")]);
    assert_eq!(users("foo@V2"), [at(&lab, "p/libnew.so")]);
}

#[test]
fn a_version_restricts_the_answer() {
    let lab = versions();
    for (name, version, file) in [
        ("foo@V1", "V1", "p/libold.so"),
        ("foo@@V2", "V2", "p/libnew.so"),
        ("foo, version V2", "V2", "p/libnew.so"),
    ] {
        let found = why(&lab, name, &["p"]);
        let (providers, requesters) = (list(&found, "providers"), list(&found, "requesters"));
        assert_eq!((providers.len(), requesters.len()), (1, 1), "{name}");
        assert_eq!(
            (&providers[0]["version"], &requesters[0]["version"]),
            (&json!(version), &json!(version))
        );
        assert_eq!(requesters[0]["path"], at(&lab, file), "{name}");
        assert_eq!(requesters[0]["bound"][0]["provider"], at(&lab, "p/libv.so"), "{name}");
    }
    let unknown = why(&lab, "foo@V3", &["p"]);
    assert_eq!(strings(list(&unknown, "near")), ["foo@V1", "foo@V2"]);
    // The definition with the wanted version is gone.
    lab.write("map", "V1 { global: foo; local: *; };");
    let source = "int one(void) { return 1; } __asm__(\".symver one, foo@@V1\");";
    lab.so("p/libv.so", source, &["-Wl,--version-script,map"]);
    let found = why(&lab, "foo@V2", &["p"]);
    let near = list(&list(&found, "requesters")[0], "near_misses");
    assert_eq!(near.len(), 1);
    assert_eq!(
        (&near[0]["version"], &near[0]["reason"]),
        (&json!("V1"), &json!("another version"))
    );
}

#[test]
fn an_undefined_symbol_says_what_check_says() {
    let lab = shapes();
    let checked = report(&lab, &["p"]);
    let finding = only(&checked, "undefined-symbol");
    let found = why(&lab, "_ZN5Shape2idEv", &["p"]);
    let requester = &list(&found, "requesters")[0];
    assert_eq!(
        requester["bound"][0]["fate"],
        json!({ "kind": "finding", "name": null, "by": null })
    );
    assert_eq!(requester["bound"][0]["searched"], json!(null));
    assert_eq!(list(requester, "near_misses").len(), 1);
    for key in ["path", "symbol", "reason"] {
        let theirs = each(finding, "near-miss", key);
        assert_eq!(text(&requester["near_misses"][0][key]), theirs[0], "{key}");
    }
    assert_eq!(found["searched"], checked["scopes"]);
    let page = run(&lab, &["why", "Shape::id()", "p"]).out.replace(&at(&lab, ""), "");
    let expected = "names\n   \
        Shape::id()  _ZN5Shape2idEv\n\
        referred to by\n   \
        p/libuse.so  Shape::id()  UNDEFINED\n      \
        check    reports undefined-symbol\n      \
        near     Shape::id(int) [_ZN5Shape2idEi] in p/libshape.so.1: other parameters\n\
        searched for it\n      \
        under    p/libuse.so\n               \
        4 files: libuse.so, libshape.so.1, libc.so.6, ld-linux-x86-64.so.2\n\
        reported by check\n\
        error[undefined-symbol] Shape::id(): undefined in p/libuse.so\n  \
        help: rebuild p/libuse.so against p/libshape.so.1\n\n\
        Shape::id(): a symbol; referred to by 1 file, undefined for 1; 0 definitions\n";
    assert_eq!(page, expected);
    let help = "help: rebuild libuse.so against libshape.so.1";
    assert!(run(&lab, &["p"]).out.contains(help), "{}", run(&lab, &["p"]).out);
}

#[test]
fn why_check_is_silent() {
    let fate = |lab: &Lab, name: &str, args: &[&str]| {
        let found = why(lab, name, args);
        list(&found, "requesters")[0]["bound"][0]["fate"].clone()
    };
    let page =
        |lab: &Lab, name: &str, args: &[&str]| run(lab, &[&["why", name], args].concat()).out;
    // Waived, and switched off.
    let lab = Lab::new();
    lab.so("p/libbroken.so", BROKEN, &[]);
    lab.write(
        "waive.toml",
        "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\nsymbol = \"gone\"\nreason = \"known\"\n",
    );
    let none = |kind: &str| json!({ "kind": kind, "name": null, "by": null });
    assert_eq!(fate(&lab, "gone", &["p", "--policy", "waive.toml"]), none("waived"));
    assert_eq!(fate(&lab, "gone", &["p", "-A", "undefined-symbol"]), none("allowed"));
    assert_eq!(fate(&lab, "gone", &["p"]), none("finding"));
    let text = page(&lab, "gone", &["p", "--policy", "waive.toml"]);
    assert!(text.contains("check    silent: the finding undefined-symbol is waived"), "{text}");
    // A missing library explains it, and its candidate is named as `check` names it.
    let lab = Lab::new();
    lab.so("p/libfoo.so.1", FOO, &["-Wl,-soname,libfoo.so.1"]);
    lab.exe("p/app", CALLS_FOO, &[KEEP, "-Lp", "-l:libfoo.so.1"]);
    std::fs::create_dir(lab.path("p/m")).expect("a directory");
    std::fs::rename(lab.path("p/libfoo.so.1"), lab.path("p/m/libfoo.so.1")).expect("moved");
    assert_eq!(of_rule(&report(&lab, &["p"]), "undefined-symbol").len(), 0);
    let expected =
        json!({ "kind": "missing-library", "name": "libfoo.so.1", "by": at(&lab, "p/app") });
    assert_eq!(fate(&lab, "foo", &["p"]), expected);
    let text = page(&lab, "foo", &["p"]);
    for part in
        ["explained by libfoo.so.1, which", "m/libfoo.so.1", "linkaudit fix p --emit patchelf"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    // A host program is assumed to define it.
    let lab = Lab::new();
    let source = "void PyErr_Clear(void); void PyInit_a(void) { PyErr_Clear(); }";
    lab.so("p/a.so", source, &[]);
    let expected = json!({ "kind": "host-program", "name": "python", "by": null });
    assert_eq!(fate(&lab, "PyErr_Clear", &["p"]), expected);
    let text = page(&lab, "PyErr_Clear", &["p"]);
    assert!(text.contains("check    assumed: the host program python defines it"), "{text}");
    // A program is inferred.
    let lab = Lab::new();
    let source = "#include <dlfcn.h>\nint host_call(void) { return 1; } \
                  int main(int n, char **v) { return !dlopen(v[1], RTLD_NOW); }";
    lab.exe("p/bin/daemon", source, &["-rdynamic"]);
    let source = "int host_call(void); int plugin(void) { return host_call(); }";
    lab.so("p/lib/daemon/cpu.so", source, &[]);
    let expected = json!({ "kind": "inferred-host", "name": at(&lab, "p/bin/daemon"), "by": null });
    assert_eq!(fate(&lab, "host_call", &["p"]), expected);
    assert_eq!(fate(&lab, "host_call", &["p", "--no-inferred-hosts"]), none("finding"));
}

#[test]
fn no_line_is_longer_than_it_must_be() {
    let lab = Lab::new();
    let long =
        "_ZN9namespace5ShapeIN9namespace8argumentENS_5otherEE10memberNameERKNS_4typeES5_S5_S5_";
    lab.so("p/libuse.so", &format!("int {long}(void); int u(void) {{ return {long}(); }}"), &[]);
    let page = run(&lab, &["why", long, "p"]).out;
    let shortest = |line: &&str| line.split(' ').filter(|word| !word.is_empty()).count() > 1;
    for line in page.lines().filter(shortest).filter(|line| !line.contains(long)) {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(!page.contains('…'), "{page}");
}

#[test]
fn without_a_path() {
    let lab = Lab::new();
    let expected =
        "no PATH given to search for foo\nhelp: add a PATH: linkaudit why foo /usr/lib\n";
    run(&lab, &["why", "foo"]).refused(&[expected]).in_style();
}
