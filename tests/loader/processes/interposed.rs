//! Definitions that the rule `interposed-symbol` tells apart: copies of a program, and C++ code
//! that may come from a header. The loader shows the bindings, the compiler the kinds of symbols.

use super::{calls, evidence, real, resolved, strong};
use crate::support::ld_debug::traced;
use crate::support::report::{Report, text};
use crate::support::{self, Lab, clean, has, musl, skip};

use std::collections::BTreeSet;
use std::path::PathBuf;

/// Details and winners of the findings about libraries.
pub(super) fn found(report: &Report) -> BTreeSet<(&str, &str)> {
    let all = report.of_rule("interposed-symbol");
    all.map(|finding| (text(&finding["detail"]), text(&finding["library"]))).collect()
}

/// A program that copies data of a library, or fixes the address of its function, defines
/// neither. The program prints what the other library gets. Only a program with its own
/// definitions interposes.
#[test]
fn copies_of_a_program() {
    let main = |own: &str| {
        format!(
            "#include <stdio.h>\n{own} int a(void), b(void); int main(void) {{ \
             int (*volatile address)(void) = work; \
             volatile int other = a() + table[0] + address(); printf(\"%d\\n\", b()); return 0; }}"
        )
    };
    let taken = main("extern int table[]; int work(void);");
    let own = main("int table[2] = {5, 6}; int work(void) { return 3; }");
    let both = BTreeSet::from([("size", "liba.so"), ("function", "liba.so")]);
    let fixed = ["-fno-pie", "-no-pie"];
    let cases = [
        (&taken, fixed, "11", true, &both),
        (&taken, ["-fPIC", "-pie"], "11", false, &both),
        (&own, fixed, "53", false, &BTreeSet::new()),
    ];
    for (main, flags, printed, through_program, expected) in cases {
        let lab = Lab::new();
        let a = "int table[2] = {1, 2}; int work(void) { return 1; } \
                 int a(void) { return table[0] + work(); }";
        lab.so("liba.so", a, &["-Wl,-soname,liba.so"]);
        let b = "int table[400] = {7}; int work(void) { volatile int n = 1; return n + 1; } \
                 int b(void) { int (*volatile f)(void) = work; return table[0] * 10 + f(); }";
        lab.so("libb.so", b, &["-Wl,-soname,libb.so"]);
        let libraries = ["liba.so", "libb.so", "-Wl,-rpath,$ORIGIN"];
        let app = lab.exe("app", main, &[&flags[..], &libraries].concat());
        let output = clean(&app).output().expect("the program runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), printed, "{flags:?}");
        let bindings = resolved(&traced(&app));
        let [app, a, b] =
            ["app", "liba.so", "libb.so"].map(|name| real(&lab.path(name).to_string_lossy()));
        for symbol in ["table", "work"] {
            let is_bound = |from, to| bindings.contains(&(from, symbol.to_owned(), to));
            let is_through = is_bound(b.clone(), app.clone()) && is_bound(app.clone(), a.clone());
            assert_eq!(is_through, through_program, "{symbol} {flags:?}");
        }
        let report = Report::of(support::linkaudit().arg(&app));
        assert_eq!(found(&report), *expected, "{flags:?}: {}", report.outline());
    }
}

/// Linkers copy data under one of its names (here the strong one), and define the other name at the
/// same address. The library that defines the data is the source of both.
#[test]
fn aliases_of_copied_data() {
    let lab = Lab::new();
    let a = "int __level = 3; extern int level __attribute__((weak, alias(\"__level\"))); \
             int *a(void) { return &level; }";
    lab.so("liba.so", a, &["-Wl,-soname,liba.so"]);
    let b = "int level[8] = {77, 7}; int b(void) { return level[0]; }";
    lab.so("libb.so", b, &["-Wl,-soname,libb.so"]);
    let main = "#include <stdio.h>\nextern int level; int *a(void), b(void); \
                int main(void) { level = 5; printf(\"%d%d\\n\", *a(), b()); return 0; }";
    let flags = ["-fno-pie", "-no-pie", "liba.so", "libb.so", "-Wl,-rpath,$ORIGIN"];
    let app = lab.exe("app", main, &flags);
    let output = clean(&app).output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "55");
    let bindings = resolved(&traced(&app));
    let [program, a, b] =
        ["app", "liba.so", "libb.so"].map(|name| real(&lab.path(name).to_string_lossy()));
    for one in [(b, "level", program.clone()), (program, "__level", a)] {
        let (from, symbol, to) = one;
        assert!(bindings.contains(&(from, symbol.to_owned(), to)), "{symbol}: {bindings:?}");
    }
    let report = Report::of(support::linkaudit().arg(&app));
    let expected = BTreeSet::from([("size", "liba.so")]);
    assert_eq!(found(&report), expected, "{}", report.outline());
}

/// A static member of a template, with more elements in the second library. GCC makes it unique
/// in the process, or weak with `-fno-gnu-unique`: the finding is the same.
#[test]
fn unique_data_of_other_sizes() {
    if !has("g++") {
        return skip("processes: unique data", "g++ is not installed");
    }
    for flag in ["-fgnu-unique", "-fno-gnu-unique"] {
        let lab = Lab::new();
        for (library, elements) in [("a", 4), ("b", 64)] {
            let source = format!(
                "template<class T> struct Registry {{ static T slots[{elements}]; }}; \
                 template<class T> T Registry<T>::slots[{elements}] = {{{elements}}}; \
                 extern \"C\" int {library}() {{ return Registry<int>::slots[0]; }}"
            );
            build_cxx(&lab, library, &source, &[flag]);
        }
        let main = "#include <stdio.h>\nint a(void), b(void); \
                    int main(void) { printf(\"%d %d\\n\", a(), b()); return 0; }";
        let app = lab.exe("app", main, &["liba.so", "libb.so", "-Wl,-rpath,$ORIGIN"]);
        let output = clean(&app).output().expect("the program runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "4 4", "{flag}");
        let report = Report::of(support::linkaudit().arg(&app));
        let expected = BTreeSet::from([("size", "liba.so")]);
        assert_eq!(found(&report), expected, "{flag}: {}", report.outline());
        let finding = report.of_rule("interposed-symbol").next().expect("a finding");
        let sizes = "has 256 bytes here and 16 in liba.so";
        assert!(text(&finding["message"]).contains(sizes), "{finding}");
    }
}

/// The winner of a data symbol is a function, or data without a size: sizes are not compared.
#[test]
fn data_of_unknown_size() {
    let function = ".type v, @function; v: ret; .size v, . - v";
    let bare = ".data; .type v, @object; v: .quad 1; .text";
    for winner in [function, bare] {
        let lab = Lab::new();
        let a = format!("__asm__(\".globl v; {winner}\"); int a(void) {{ return 1; }}");
        lab.so("liba.so", &a, &["-Wl,-soname,liba.so"]);
        let b = "int v[10] = {7}; int b(void) { return v[0]; }";
        lab.so("libb.so", b, &["-Wl,-soname,libb.so"]);
        let main = "int a(void), b(void); int main(void) { return a() + b(); }";
        let app = lab.exe("app", main, &["liba.so", "libb.so", "-Wl,-rpath,$ORIGIN"]);
        let bindings = resolved(&traced(&app));
        let [a, b] = ["liba.so", "libb.so"].map(|name| real(&lab.path(name).to_string_lossy()));
        assert!(bindings.contains(&(b, "v".to_owned(), a)), "{bindings:?}");
        let report = Report::of(support::linkaudit().arg(&app));
        let expected = BTreeSet::from([("data", "liba.so")]);
        assert_eq!(found(&report), expected, "{winner}: {}", report.outline());
    }
}

/// Builds `lib<library>.so` from C++.
fn build_cxx(lab: &Lab, library: &str, source: &str, flags: &[&str]) {
    let file = lab.write(&format!("{library}.cpp"), source);
    let (out, soname) = (format!("lib{library}.so"), format!("-Wl,-soname,lib{library}.so"));
    let mut build = clean("g++");
    build.current_dir(lab.root()).args(["-w", "-O0", "-shared", "-fPIC", "-o", &out, &soname]);
    let output = build.arg(&file).args(flags).output().expect("g++ runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// C++ code of two libraries. `BODY` stands for code that is longer in the second library.
struct Shared {
    /// Declarations, as in a header.
    header: &'static str,
    /// Definitions of both libraries.
    both: &'static str,
    /// Definitions of the first library, which the second one takes.
    first: &'static str,
    /// Statements that use the symbol.
    uses: &'static str,
    symbol: &'static str,
    /// True if the symbol is reported: as compiled, and with `-flto`.
    expected: [bool; 2],
}

const SHARED: [Shared; 5] = [
    // Only the type of a parameter is an instance of a template.
    Shared {
        header: "template<class T> struct List {}; struct Config { int load(const List<int>&); };",
        both: "int Config::load(const List<int>&) { BODY }",
        first: "",
        uses: "return Config().load(List<int>());",
        symbol: "_ZN6Config4loadERK4ListIiE",
        expected: [true, true],
    },
    // An explicit specialisation. It counts as an instance, with the code of a header.
    Shared {
        header: "template<class T> struct Codec { static int version(); }; \
                 template<> int Codec<int>::version();",
        both: "template<> int Codec<int>::version() { BODY }",
        first: "",
        uses: "return Codec<int>::version();",
        symbol: "_ZN5CodecIiE7versionEv",
        expected: [false, false],
    },
    Shared {
        header: "template<class T> struct Codec { static int version() { BODY } };",
        both: "",
        first: "",
        uses: "int (*volatile f)() = &Codec<int>::version; return f();",
        symbol: "_ZN5CodecIiE7versionEv",
        expected: [false, false],
    },
    // Members of a class whose constructor the second library takes from the first.
    Shared {
        header: "struct Widget { Widget(); int paint(); };",
        both: "int Widget::paint() { BODY }",
        first: "Widget::Widget() {}",
        uses: "return Widget().paint();",
        symbol: "_ZN6Widget5paintEv",
        expected: [true, false],
    },
    Shared {
        header: "struct Widget { Widget(); int paint() { BODY } };",
        both: "",
        first: "Widget::Widget() {}",
        uses: "int (Widget::*volatile f)() = &Widget::paint; Widget w; return (w.*f)();",
        symbol: "_ZN6Widget5paintEv",
        expected: [false, false],
    },
];

impl Shared {
    /// Builds one of the libraries, `a` or `b`, which also has an inline function.
    fn build(&self, lab: &Lab, library: &str, flags: &[&str]) {
        let is_first = library == "a";
        let body = if is_first { "return 1;" } else { "volatile int n = 1; n++; return n;" };
        let first = if is_first { self.first } else { "" };
        let source = format!(
            "{} {} {first} struct Tag {{ int name() {{ return 1; }} }}; \
             int p{library}() {{ int (Tag::*volatile name)() = &Tag::name; {} }}",
            self.header, self.both, self.uses
        );
        build_cxx(lab, library, &source.replace("BODY", body), flags);
    }
}

/// Strong definitions of one name are reported unless a header may have their code. GCC makes
/// inline functions and instances of templates weak, and strong with `-flto`. Strong instances
/// are never reported.
#[test]
fn strong_code_of_headers() {
    if !has("g++") {
        return skip("processes: code of C++ headers", "g++ is not installed");
    }
    for shared in &SHARED {
        for (flags, expected) in [&[][..], &["-flto"]].into_iter().zip(shared.expected) {
            let lab = Lab::new();
            shared.build(&lab, "a", flags);
            shared.build(&lab, "b", &[flags, &["liba.so"]].concat());
            let main = "#include <stdio.h>\nint _Z2pav(void), _Z2pbv(void); \
                        int main(void) { printf(\"%d%d\\n\", _Z2pav(), _Z2pbv()); return 0; }";
            let app = lab.exe("app", main, &["liba.so", "libb.so", "-Wl,-rpath,$ORIGIN"]);
            let what = format!("{} {flags:?}", shared.symbol);
            let output = clean(&app).output().expect("the program runs");
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "11", "{what}");
            for library in ["liba.so", "libb.so"] {
                let is_strong = strong(&lab.path(library)).contains("_ZN3Tag4nameEv");
                assert_eq!(is_strong, !flags.is_empty(), "{library} {what}");
            }
            let report = Report::of(support::linkaudit().arg(&app));
            let bound = report.of_rule("interposed-symbol").flat_map(|f| evidence(f, "bound"));
            let mut symbols = bound.map(|bound| text(&bound["symbol"]));
            let is_named = symbols.any(|symbol| symbol == shared.symbol);
            assert_eq!(is_named, expected, "{what}: {}", report.outline());
        }
    }
}

/// A weak function that comes first. In C++ it counts as inline; in C, it is a default that
/// should give way.
#[test]
fn weak_before_strong() {
    for (name, expected) in [("on_error", 1), ("_Z8on_errorv", 0)] {
        let lab = Lab::new();
        let weak = format!("__attribute__((weak)) {}", calls(name, "a", false));
        lab.so("liba.so", &weak, &["-Wl,-soname,liba.so"]);
        lab.so("libb.so", &calls(name, "b", true), &["-Wl,-soname,libb.so"]);
        let main = "int a(void), b(void); int main(void) { return a() + b(); }";
        let app = lab.exe("app", main, &["liba.so", "libb.so", "-Wl,-rpath,$ORIGIN"]);
        let bindings = resolved(&traced(&app));
        let [a, b] = ["liba.so", "libb.so"].map(|name| real(&lab.path(name).to_string_lossy()));
        assert!(bindings.contains(&(b, name.to_owned(), a)), "{name}");
        let report = Report::of(support::linkaudit().arg(&app));
        assert_eq!(report.of_rule("interposed-symbol").count(), expected, "{}", report.outline());
    }
}

/// The libraries of Wayland for clients and servers share the code of lists and the tables of the
/// protocol. Other libraries with such code are copies of it.
#[test]
fn libraries_of_wayland() {
    let pair = "libwayland-client.so.0";
    for (other, expected) in [
        ("libwayland-server.so.0", BTreeSet::new()),
        ("libcompositor.so.0", BTreeSet::from([("data function", pair)])),
    ] {
        let lab = Lab::new();
        let code = "int wl_interface = 1; int wl_list_init(void) { return wl_interface; }";
        for (library, own) in [(pair, "client"), (other, "server")] {
            let source = format!("{code} int {own}(void) {{ return wl_list_init(); }}");
            lab.so(library, &source, &[&format!("-Wl,-soname,{library}")]);
        }
        let main = "int client(void), server(void); int main(void) { return client() - server(); }";
        let app = lab.exe("app", main, &[pair, other, "-Wl,-rpath,$ORIGIN"]);
        assert!(clean(&app).status().expect("the program runs").success(), "{other}");
        let report = Report::of(support::linkaudit().arg(&app));
        assert_eq!(found(&report), expected, "{other}: {}", report.outline());
    }
}

/// `-z interpose` declares that a library replaces symbols of others. The loader ignores the
/// flag: the first definition is used, whichever library has the flag.
#[test]
fn a_declared_interposer() {
    let interpose = "-Wl,-z,interpose";
    for (first, second, expected) in [
        ("-Wl,-O1", "-Wl,-O1", BTreeSet::from([("function", "liba.so")])),
        (interpose, "-Wl,-O1", BTreeSet::new()),
        ("-Wl,-O1", interpose, BTreeSet::from([("function", "liba.so")])),
    ] {
        let lab = Lab::new();
        lab.so("liba.so", "int f(void) { return 2; }", &["-Wl,-soname,liba.so", first]);
        let b = "int f(void) { volatile int n = 999; return n + 1; } int g(void) { return f(); }";
        lab.so("libb.so", b, &["-Wl,-soname,libb.so", second]);
        let main = "#include <stdio.h>\nint g(void); \
                    int main(void) { printf(\"%d\\n\", g()); return 0; }";
        let flags = ["-Wl,--no-as-needed", "liba.so", "libb.so", "-Wl,-rpath,$ORIGIN"];
        let app = lab.exe("app", main, &flags);
        let output = clean(&app).output().expect("the program runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "2", "{first} {second}");
        let report = Report::of(support::linkaudit().arg(&app));
        assert_eq!(found(&report), expected, "{first} {second}: {}", report.outline());
    }
}

/// A filter's own references are bound to the library that it names, as its author wants.
#[test]
fn a_filter_uses_its_filtee() {
    for (flag, expected) in [
        ("-Wl,--auxiliary=libreal.so", BTreeSet::new()),
        ("-Wl,--filter=libreal.so", BTreeSet::new()),
        ("-Wl,-O1", BTreeSet::from([("function", "libreal.so")])),
    ] {
        let lab = Lab::new();
        lab.so("libreal.so", "int f(void) { return 2; }", &["-Wl,-soname,libreal.so"]);
        let filter = "int f(void) { volatile int n = 999; return n + 1; } \
                      int g(void) { return f(); }";
        let origin = "-Wl,-rpath,$ORIGIN";
        lab.so("libfilter.so", filter, &["-Wl,-soname,libfilter.so", flag, origin]);
        let main = "#include <stdio.h>\nint g(void); \
                    int main(void) { printf(\"%d\\n\", g()); return 0; }";
        // Without the tag, the program itself puts the other library first.
        let first = if flag == "-Wl,-O1" { "libreal.so" } else { "-Wl,-O1" };
        let app = lab.exe("app", main, &["-Wl,--no-as-needed", first, "libfilter.so", origin]);
        let output = clean(&app).output().expect("the program runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "2", "{flag}");
        let report = Report::of(support::linkaudit().arg(&app));
        assert_eq!(found(&report), expected, "{flag}: {}", report.outline());
    }
}

/// A plugin defines a function for programs that lack it. The program's own library has the
/// function too, as libpython3.11.so.1.0 of python3.11 has the functions of Python's limited API.
#[test]
fn functions_of_the_host_program() {
    for (library, expected) in [
        ("libengine3.so.1", BTreeSet::new()),
        ("libother.so.1", BTreeSet::from([("function", "libother.so.1")])),
    ] {
        let lab = Lab::new();
        let api = "int api_run(void) { volatile int n = 1; return n + 40; }";
        lab.so(library, api, &[&format!("-Wl,-soname,{library}")]);
        let plugin = "int api_run(void) { return 7; } int go(void) { return api_run(); }";
        lab.so("plugin.so", plugin, &["-Wl,-soname,plugin.so"]);
        let main = "#include <dlfcn.h>\n#include <stdio.h>\nint api_run(void);\n\
                    int main(void) { void *p = dlopen(\"./plugin.so\", RTLD_NOW); \
                    int (*go)(void) = dlsym(p, \"go\"); \
                    printf(\"%d\\n\", go() - api_run()); return 0; }";
        let program = lab.exe("engine3", main, &[library, "-Wl,-rpath,$ORIGIN"]);
        let run = clean(&program).current_dir(lab.root()).output().expect("the program runs");
        assert_eq!(String::from_utf8_lossy(&run.stdout).trim(), "0", "{library}: {run:?}");
        let mut command = support::linkaudit();
        command.current_dir(lab.root()).args(["plugin.so", "--host", "./engine3"]);
        let report = Report::of(&mut command);
        assert_eq!(found(&report), expected, "{library}: {}", report.outline());
    }
}

/// A library whose name begins like that of the program, and which only a plugin loads, is not the
/// program's own. A library with a version after the program's name is.
#[test]
fn a_library_that_only_the_plugin_loads() {
    for (library, expected) in [
        ("libengine-utils.so.1", BTreeSet::from([("function", "libengine-utils.so.1")])),
        ("libengine3.1.so.1", BTreeSet::new()),
    ] {
        let lab = Lab::new();
        let work = "int work(void) { volatile int n = 1; n++; return n; }";
        lab.so("libwork.so", work, &["-Wl,-soname,libwork.so"]);
        let image = "int work(void); int image(void) { return work(); }";
        let flags = ["-Wl,-soname,libimage.so", "libwork.so", "-Wl,-rpath,$ORIGIN"];
        lab.so("libimage.so", image, &flags);
        lab.so(library, "int work(void) { return 1; }", &[&format!("-Wl,-soname,{library}")]);
        let plugin = "int image(void); int go(void) { return image(); }";
        let flags = ["-Wl,--no-as-needed", library, "libimage.so", "-Wl,-rpath,$ORIGIN"];
        lab.so("plugin.so", plugin, &flags);
        let main = "#include <dlfcn.h>\n#include <stdio.h>\n\
                    int main(void) { void *p = dlopen(\"./plugin.so\", RTLD_NOW); \
                    int (*go)(void) = dlsym(p, \"go\"); printf(\"%d\\n\", go()); return 0; }";
        let program = lab.exe("engine", main, &[]);
        let run = clean(&program).current_dir(lab.root()).output().expect("the program runs");
        assert_eq!(String::from_utf8_lossy(&run.stdout).trim(), "1", "{library}: {run:?}");
        let mut command = support::linkaudit();
        command.current_dir(lab.root()).args(["plugin.so", "--host", "./engine"]);
        let report = Report::of(&mut command);
        assert_eq!(found(&report), expected, "{library}: {}", report.outline());
    }
}

/// The evidence names 20 symbols, and has the number of the others. Reports for people say how many
/// of all symbols they show.
#[test]
fn more_symbols_than_the_evidence_names() {
    let lab = Lab::new();
    let app = long_lists(&lab, 1);
    let report = Report::of(support::linkaudit().arg(&app));
    let finding = report.of_rule("interposed-symbol").next().expect("a finding");
    let bound = evidence(finding, "bound");
    let names = bound.iter().filter(|one| one["symbol"].is_string()).count();
    let more: Vec<u64> = bound.iter().filter_map(|one| one["more"].as_u64()).collect();
    assert_eq!((names, more), (20, vec![5]), "{finding}");
    for (options, expected) in [
        (&[][..], "… 8 of 25 symbols are shown (-v shows 20)\n"),
        (&["-v"], "… 20 of 25 symbols are shown\n"),
    ] {
        let output = support::linkaudit().args(options).arg(&app).output().expect("linkaudit runs");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains(expected), "{shown}");
        assert!(!shown.contains("shows all"), "{shown}");
    }
}

/// The names of transaction clones come before most names in byte order. The evidence and the
/// command of a finding name other symbols first.
#[test]
fn transaction_clones_come_last() {
    let lab = Lab::new();
    let names = ["_ZGTtNKSt5first1aEv", "_ZGTnNKSt5first1aEv", "work"];
    let define = |result: usize| {
        let all = names.iter().map(|name| format!("int {name}(void) {{ return {result}; }} "));
        let table = format!("int (*table[])(void) = {{ {} }};", names.join(", "));
        all.collect::<String>() + if result == 1 { &table } else { "" }
    };
    lab.so("liba.so", &define(1), &["-Wl,-soname,liba.so"]);
    lab.so("libb.so", &define(2), &["-Wl,-soname,libb.so"]);
    let flags = ["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", "libb.so", "liba.so"];
    let app = lab.exe("app", "int main(void) { return 0; }", &flags);
    let [a, b] = ["liba.so", "libb.so"].map(|name| real(&lab.path(name).to_string_lossy()));
    let bindings = resolved(&traced(&app));
    for name in names {
        assert!(bindings.contains(&(a.clone(), name.to_owned(), b.clone())), "{name}");
    }
    let report = Report::of(support::linkaudit().arg(&app));
    let finding = report.of_rule("interposed-symbol").next().expect("a finding");
    let bound = evidence(finding, "bound");
    let found: Vec<&str> = bound.iter().map(|one| text(&one["symbol"])).collect();
    assert_eq!(found, ["work", "_ZGTnNKSt5first1aEv", "_ZGTtNKSt5first1aEv"], "{finding}");
    assert!(text(&finding["witness"]).ends_with("grep -w work"), "{finding}");
}

/// All files that refer to the symbols are named, as the loader binds them. Of a long list, the
/// evidence names 20 files and has the number of the others.
#[test]
fn all_users_of_a_pair_are_named() {
    for (users, listed, more, shown) in [
        (2, 3, vec![], [None, None]),
        (22, 20, vec![3], [Some("8 of 23 files are shown (-v shows 20)"), Some("20 of 23 files")]),
    ] {
        let lab = Lab::new();
        let app = long_lists(&lab, users);
        let winner = real(&lab.path("libb.so").to_string_lossy());
        let bound = resolved(&traced(&app)).into_iter().filter(|(_, _, to)| *to == winner);
        let bound: BTreeSet<PathBuf> = bound.map(|(from, ..)| from).collect();
        assert_eq!(bound.len(), users + 1, "{bound:?}");
        let report = Report::of(support::linkaudit().arg(&app));
        let finding = report.of_rule("interposed-symbol").next().expect("a finding");
        let references = evidence(finding, "reference");
        let counts: Vec<u64> = references.iter().filter_map(|one| one["more"].as_u64()).collect();
        let named = references.iter().filter(|one| one["more"].is_null());
        let named: BTreeSet<PathBuf> = named.map(|one| real(text(&one["path"]))).collect();
        assert_eq!((named.len(), counts), (listed, more), "{finding}");
        assert!(named.is_subset(&bound), "{named:?}");
        for (options, expected) in [&[][..], &["-v"]].into_iter().zip(shown) {
            let output = support::linkaudit().args(options).arg(&app).output();
            let output = output.expect("linkaudit runs");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("used in    liba.so, user00.so, user01.so"), "{text}");
            assert!(text.contains(expected.unwrap_or_default()), "{text}");
            assert_eq!(text.contains("files are shown"), expected.is_some(), "{text}");
        }
    }
}

/// A program in which 24 references of `liba.so` are bound to `libb.so`, and one of each of `users`
/// libraries that need `liba.so`.
fn long_lists(lab: &Lab, users: usize) -> PathBuf {
    let names: Vec<String> = (10..34).map(|at| format!("a{at}")).collect();
    let define = |result: usize| {
        let all = names.iter().map(|name| format!("int {name}(void) {{ return {result}; }} "));
        format!("{} int zz(void) {{ return {result}; }} ", all.collect::<String>())
    };
    let table = format!("int (*table[])(void) = {{ {} }};", names.join(", "));
    lab.so("liba.so", &(define(1) + &table), &["-Wl,-soname,liba.so"]);
    lab.so("libb.so", &define(2), &["-Wl,-soname,libb.so"]);
    // Without a soname, the file name is the needed name: each copy is another library.
    let user = "int zz(void); static int (*use)(void) __attribute__((used)) = zz;";
    let user = lab.so("user.so", user, &["liba.so", "-Wl,-rpath,$ORIGIN"]);
    let copies: Vec<String> = (0..users).map(|at| format!("user{at:02}.so")).collect();
    for name in &copies {
        std::fs::copy(&user, lab.path(name)).expect("a copy of the library");
    }
    let mut flags = vec!["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", "libb.so"];
    flags.extend(copies.iter().map(String::as_str));
    flags.push("liba.so");
    lab.exe("app", "int main(void) { return 0; }", &flags)
}

const WORK: &str = "int work(void) { return 1; }";
const OWN_WORK: &str = "int n; int work(void) { n++; return 2; } int use(void) { return work(); }";
const USE: &str = "int work(void), use(void); int main(void) { work(); return use(); }";

/// The command of a finding shows the binding in a process with the variables of the run.
#[test]
fn the_witness_has_the_variables_of_the_run() {
    let lab = Lab::new();
    lab.so("l1/liba.so", WORK, &["-Wl,-soname,liba.so"]);
    lab.so("l2/libb.so", OWN_WORK, &["-Wl,-soname,libb.so"]);
    let app = lab.exe("app", USE, &["l1/liba.so", "l2/libb.so"]);
    let path = format!("{}:{}", lab.path("l1").display(), lab.path("l2").display());
    let report = Report::of(support::linkaudit().arg(&app).args(["--ld-library-path", &path]));
    let finding = report.of_rule("interposed-symbol").next().expect("a finding");
    let command = text(&finding["witness"]);
    let output = clean("sh").args(["-c", command]).output().expect("sh runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("l2/libb.so [0] to "), "{command}: {shown}");
    assert!(shown.contains("l1/liba.so [0]: normal symbol `work'"), "{command}: {shown}");
}

/// musl's loader has no variable that shows bindings.
#[test]
fn no_witness_under_musl() {
    if !musl::is_there("no_witness_under_musl") {
        return;
    }
    let lab = Lab::new();
    musl::so(&lab, "liba.so", WORK, &["-Wl,-soname,liba.so"]);
    musl::so(&lab, "libb.so", OWN_WORK, &["-Wl,-soname,libb.so"]);
    musl::so(&lab, "libc1.so", "int other(void) { return 0; }", &["-Wl,-soname,libc1.so"]);
    let flags = ["liba.so", "libb.so", "libc1.so", "-Wl,-rpath,$ORIGIN"];
    musl::exe(&lab, "app", USE, &flags);
    let args = ["--isolated", "-W", "unused-library", "--format", "json", "app"];
    let report = Report::from(lab.linkaudit(&args));
    for rule in ["interposed-symbol", "unused-library"] {
        let finding = report.of_rule(rule).next().expect("a finding");
        assert!(finding["witness"].is_null(), "{finding}");
    }
}
