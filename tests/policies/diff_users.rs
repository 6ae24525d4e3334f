//! `linkaudit diff --against`: for each kind of change to a library, a program that was linked
//! with the old one runs with the new one. The program must fail if and only if an error names
//! it.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::Lab;
use serde_json::Value;

/// One change. The scripts run in the directories of the two sides; `so NAME [FLAG...] <SOURCE`
/// makes a library. The program is linked with `libq.so.1` of the old side.
struct Case {
    name: &'static str,
    old: &'static str,
    new: &'static str,
    /// The source of the program.
    program: &'static str,
    /// True if the loader fails with the new library. Another result means that the case is wrong.
    fails: bool,
}

const CALL: &str = "int f(void); int main(void) { return f() != 1; }";
const DATA: &str = "extern int tab[4]; int main(void) { return tab[0] != 1; }";
const SET: &str =
    "extern int tab[4]; void set(void); int main(void) { set(); return tab[0] != 2; }";
const PLAIN: &str = "echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1";
const V1: &str = "echo 'V1 { global: f; g; local: *; };' >map
    echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1 -Wl,--version-script,map";
/// The library with a library that it needs.
const WITH_R: &str = "echo 'int f(void) { return 1; }' | so libr.so.1
    echo 'int g(void) { return 2; }' | so libq.so.1 -Wl,--no-as-needed ./libr.so.1";

const CASES: &[Case] = &[
    Case { name: "the same", old: PLAIN, new: PLAIN, program: CALL, fails: false },
    Case {
        name: "gone",
        old: PLAIN,
        new: "echo 'int g(void) { return 2; }' | so libq.so.1",
        program: CALL,
        fails: true,
    },
    Case {
        name: "another is gone",
        old: PLAIN,
        new: "echo 'int f(void) { return 1; }' | so libq.so.1",
        program: CALL,
        fails: false,
    },
    Case {
        name: "moved to a library that it loads",
        old: PLAIN,
        new: WITH_R,
        program: CALL,
        fails: false,
    },
    Case {
        name: "moved to a library that this loads",
        old: PLAIN,
        new: "echo 'int f(void) { return 1; }' | so libr.so.1
            echo 'int h(void) { return 3; }' | so libs.so.1 -Wl,--no-as-needed ./libr.so.1
            echo 'int g(void) { return 2; }' | so libq.so.1 -Wl,--no-as-needed ./libs.so.1",
        program: CALL,
        fails: false,
    },
    Case {
        name: "moved to a library that it does not load",
        old: PLAIN,
        new: "echo 'int f(void) { return 1; }' | so libr.so.1
            echo 'int g(void) { return 2; }' | so libq.so.1",
        program: CALL,
        fails: true,
    },
    Case {
        name: "moved without its version",
        old: V1,
        new: "echo 'int f(void) { return 1; }' | so libr.so.1
            echo 'V1 { global: g; local: *; };' >map
            echo 'int g(void) { return 2; }' | so libq.so.1 -Wl,--version-script,map,--no-as-needed ./libr.so.1",
        program: CALL,
        fails: false,
    },
    Case {
        name: "moved with its version, which stays",
        old: V1,
        new: "echo 'V1 { global: f; local: *; };' >map
            echo 'int f(void) { return 1; }' | so libr.so.1 -Wl,--version-script,map
            echo 'V1 { global: g; local: *; };' >map
            echo 'int g(void) { return 2; }' | so libq.so.1 -Wl,--version-script,map,--no-as-needed ./libr.so.1",
        program: CALL,
        fails: false,
    },
    Case {
        name: "moved with its version, which goes",
        old: V1,
        new: "echo 'V1 { global: f; local: *; };' >map
            echo 'int f(void) { return 1; }' | so libr.so.1 -Wl,--version-script,map
            echo 'V2 { global: g; local: *; };' >map
            echo 'int g(void) { return 2; }' | so libq.so.1 -Wl,--version-script,map,--no-as-needed ./libr.so.1",
        program: CALL,
        fails: true,
    },
    Case {
        name: "another version",
        old: V1,
        new: "echo 'V1 { global: g; local: *; }; V2 { global: f; };' >map
            echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1 -Wl,--version-script,map",
        program: CALL,
        fails: true,
    },
    Case {
        name: "no version, and the version stays",
        old: V1,
        new: "echo 'V1 { global: g; };' >map
            echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1 -Wl,--version-script,map",
        program: CALL,
        fails: false,
    },
    Case {
        name: "no version, and the version goes",
        old: V1,
        new: "echo 'V2 { global: g; };' >map
            echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1 -Wl,--version-script,map",
        program: CALL,
        fails: true,
    },
    Case { name: "no versions at all", old: V1, new: PLAIN, program: CALL, fails: true },
    Case { name: "versions from now on", old: PLAIN, new: V1, program: CALL, fails: false },
    Case {
        name: "not the default version any more",
        old: PLAIN,
        new: "echo 'V1 { global: g; }; V2 { global: f; } V1;' >map
            echo '__asm__(\".symver f1, f@V2\"); int f1(void) { return 1; } int g(void) { return 2; }' |
                so libq.so.1 -Wl,--version-script,map",
        program: CALL,
        fails: true,
    },
    Case {
        name: "not the default version any more, but the first",
        old: PLAIN,
        new: "echo 'V1 { global: f; g; };' >map
            echo '__asm__(\".symver f1, f@V1\"); int f1(void) { return 1; } int g(void) { return 2; }' |
                so libq.so.1 -Wl,--version-script,map",
        program: CALL,
        fails: false,
    },
    Case {
        name: "larger data that the program copies",
        old: "echo 'int tab[4] = {1};' | so libq.so.1",
        new: "echo 'int tab[8] = {1};' | so libq.so.1",
        program: DATA,
        // The loader prints a message and goes on.
        fails: true,
    },
    Case {
        name: "protected data that the program copies",
        old: "echo 'int tab[4] = {1}; void set(void) { tab[0] = 2; }' | so libq.so.1",
        new: "echo '__attribute__((visibility(\"protected\"))) int tab[4] = {1};
            void set(void) { tab[0] = 2; }' | so libq.so.1",
        program: SET,
        fails: true,
    },
    Case {
        name: "protected data that the program does not copy",
        old: "echo 'int tab[4] = {1}; void set(void) { tab[0] = 2; } int get(void) { return tab[0]; }' | so libq.so.1",
        new: "echo '__attribute__((visibility(\"protected\"))) int tab[4] = {1};
            void set(void) { tab[0] = 2; } int get(void) { return tab[0]; }' | so libq.so.1",
        program: "void set(void); int get(void); int main(void) { set(); return get() != 2; }",
        fails: false,
    },
    Case {
        name: "a library is not loaded any more",
        old: WITH_R,
        new: "echo 'int f(void) { return 1; }' | so libr.so.1
            echo 'int g(void) { return 2; }' | so libq.so.1",
        program: CALL,
        fails: true,
    },
    Case {
        name: "a library is loaded through another",
        old: WITH_R,
        new: "echo 'int f(void) { return 1; }' | so libr.so.1
            echo 'int h(void) { return 3; }' | so libs.so.1 -Wl,--no-as-needed ./libr.so.1
            echo 'int g(void) { return 2; }' | so libq.so.1 -Wl,--no-as-needed ./libs.so.1",
        program: CALL,
        fails: false,
    },
    Case {
        name: "another library takes the place of a library",
        old: WITH_R,
        new: "echo 'int f(void) { return 1; }' | so libs.so.1
            echo 'int g(void) { return 2; }' | so libq.so.1 -Wl,--no-as-needed ./libs.so.1",
        program: CALL,
        fails: false,
    },
    Case {
        name: "another library without the function takes the place of a library",
        old: WITH_R,
        new: "echo 'int h(void) { return 1; }' | so libs.so.1
            echo 'int g(void) { return 2; }' | so libq.so.1 -Wl,--no-as-needed ./libs.so.1",
        program: CALL,
        fails: true,
    },
    Case {
        name: "weak from now on",
        old: PLAIN,
        new: "echo '__attribute__((weak)) int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1",
        program: CALL,
        fails: false,
    },
    Case {
        name: "protected from now on",
        old: PLAIN,
        new: "echo '__asm__(\".protected f\"); int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1",
        program: CALL,
        fails: false,
    },
    Case {
        name: "another soname",
        old: PLAIN,
        new: "echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.2",
        program: CALL,
        fails: true,
    },
    Case {
        name: "another soname, and the old one too",
        old: PLAIN,
        new: "echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.2
            echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1",
        program: CALL,
        fails: false,
    },
    Case {
        name: "renamed with the same soname",
        old: PLAIN,
        new: "echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1; mv libq.so.1 libq-1.so",
        program: CALL,
        fails: true,
    },
    Case {
        name: "renamed, with a link",
        old: PLAIN,
        new: "echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1
            mv libq.so.1 libq.so.1.2; ln -s libq.so.1.2 libq.so.1",
        program: CALL,
        fails: false,
    },
    Case {
        name: "a link is gone",
        old: "echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1
            mv libq.so.1 libq.so.1.2; ln -s libq.so.1.2 libq.so.1",
        new: "echo 'int f(void) { return 1; } int g(void) { return 2; }' | so libq.so.1; mv libq.so.1 libq.so.1.2",
        program: CALL,
        fails: true,
    },
    Case { name: "no library", old: PLAIN, new: "true", program: CALL, fails: true },
];

const SO: &str = r#"so() { out=$1; shift; gcc -w -shared -fPIC -Wl,-soname,"$out" -o "$out" -x c - -x none "$@" -Wl,-rpath,'$ORIGIN'; }"#;

/// Builds both sides, and the program with the old one.
fn build(lab: &Lab, case: &Case) {
    for (side, script) in [("old", case.old), ("new", case.new)] {
        lab.mkdir(side);
        let built = lab.sh(&format!("cd {side}; {SO}\n{script}\nrm -f map"));
        assert!(built.status.success(), "{}: {built:?}", case.name);
    }
    // The comparison needs something to audit on either side.
    lab.sh(&format!("cd old; {SO}\necho 'int other;' | so libother.so.1; cp libother.so.1 ../new"));
    lab.mkdir("user");
    lab.write("user.c", case.program);
    // Linkers take no symbol from a library behind another: the program is linked with one that has
    // all.
    let dir = if case.old == WITH_R { "stub" } else { "old" };
    lab.mkdir("stub");
    lab.sh(&format!("cd stub; {SO}\n{PLAIN}"));
    let link =
        format!("gcc -fno-pie -no-pie user.c -o user/app -Wl,--no-as-needed {dir}/libq.so.1");
    assert!(lab.sh(&link).status.success(), "{}", case.name);
}

/// True if an error names a file of the directory `user`, and all findings.
fn of_error(lab: &Lab, user: &str) -> (bool, Value) {
    let args = ["diff", "old", "new", "--against", "user", "--isolated", "--format", "json"];
    let output = lab.linkaudit(&args);
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = value["findings"].as_array().expect("findings");
    let names_it = |finding: &Value| {
        let evidence = finding["evidence"].as_array().expect("evidence");
        let is_user = |piece: &Value| piece["path"].as_str().is_some_and(|p| p.ends_with(user));
        finding["level"] == "error" && evidence.iter().any(is_user)
    };
    (findings.iter().any(names_it), value["findings"].clone())
}

#[test]
fn users_fail_as_the_loader_says() {
    let mut wrong = Vec::new();
    for case in CASES {
        let lab = Lab::new();
        build(&lab, case);
        let run =
            |side: &str| lab.sh(&format!("LD_BIND_NOW=1 LD_LIBRARY_PATH={side} user/app 2>&1"));
        let before = run("old");
        assert!(before.status.success(), "{}: {before:?}", case.name);
        let now = run("new");
        // The size of copied data is a message on stderr.
        let theirs = !now.status.success() || !now.stdout.is_empty();
        assert_eq!(theirs, case.fails, "{}: {now:?}", case.name);
        let (found, findings) = of_error(&lab, "/app");
        if found != theirs {
            wrong.push(format!("{}: {theirs}, and {findings:#?}", case.name));
        }
    }
    println!("users of changed libraries: {} cases, {} differences", CASES.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The source of a program before and after. The program opens a plugin, which refers to `api`.
struct Program {
    name: &'static str,
    old: &'static str,
    new: &'static str,
    fails: bool,
}

const API: &str = "int api(void) { return 1; } int other;";
const PROGRAMS: &[Program] = &[
    Program { name: "the same", old: API, new: API, fails: false },
    Program { name: "gone", old: API, new: "int other;", fails: true },
    Program { name: "another is gone", old: API, new: "int api(void) { return 2; }", fails: false },
    Program {
        name: "not exported any more",
        old: API,
        new: "static int api(void) { return 1; }",
        fails: true,
    },
    Program {
        name: "weak",
        old: API,
        new: "__attribute__((weak)) int api(void) { return 1; }",
        fails: false,
    },
    Program {
        name: "gone, and an unrelated library has it",
        old: API,
        new: "int other; /* unrelated */",
        fails: true,
    },
    Program {
        name: "in a library that it loads",
        old: API,
        new: "int lib(void); int x(void) { return lib(); }",
        fails: false,
    },
];

#[test]
fn plugins_fail_as_the_loader_says() {
    const MAIN: &str = "#include <dlfcn.h>
        int main(int n, char **v) { return !dlopen(v[1], RTLD_NOW); }";
    let mut wrong = Vec::new();
    for case in PROGRAMS {
        let lab = Lab::new();
        let built =
            |script: &str| assert!(lab.sh(script).status.success(), "{}: {script}", case.name);
        lab.mkdir("user");
        lab.write("plugin.c", "int api(void); int run(void) { return api(); }");
        built("gcc -shared -fPIC plugin.c -o user/plugin.so");
        lab.write("lib.c", "int api(void) { return 1; } int lib(void) { return 2; }");
        for (side, source) in [("old", case.old), ("new", case.new)] {
            lab.mkdir(side);
            lab.write("host.c", format!("{MAIN}\n{source}"));
            let mut link = format!("gcc -w -rdynamic host.c -o {side}/host '-Wl,-rpath,$ORIGIN'");
            if source.contains("lib()") {
                built(&format!("gcc -shared -fPIC lib.c -o {side}/libl.so -Wl,-soname,libl.so"));
                link += &format!(" {side}/libl.so");
            }
            if source.contains("unrelated") {
                built(&format!("gcc -shared -fPIC lib.c -o {side}/libl.so -Wl,-soname,libl.so"));
            }
            built(&link);
        }
        let loads = |side: &str| lab.sh(&format!("{side}/host user/plugin.so")).status.success();
        assert!(loads("old"), "{}", case.name);
        let theirs = !loads("new");
        assert_eq!(theirs, case.fails, "{}", case.name);
        let (found, _) = of_error(&lab, "/plugin.so");
        if found != theirs {
            wrong.push(format!("{}: {theirs}, and {found}", case.name));
        }
    }
    println!("plugins of changed programs: {} cases, {} differences", PROGRAMS.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
