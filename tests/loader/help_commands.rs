//! The commands in the help for missing libraries, run as they are printed. The loader is the
//! oracle: each program fails before them and runs after them.

use crate::support::{Lab, clean, has, skip};
use std::path::Path;

/// A program that does not run, and the files around it.
struct Case {
    name: &'static str,
    /// A script that builds it below `p`, with the program `p/bin/m`.
    script: &'static str,
}

const CASES: [Case; 8] = [
    Case {
        name: "in another directory",
        script: "$CC -shared f.c -Wl,-soname,libf.so.1 -o p/lib/libf.so.1; $CC m.c p/lib/libf.so.1 -o p/bin/m",
    },
    Case {
        name: "needed by an absolute path",
        script: "$CC -shared f.c -Wl,-soname,/opt/none/libf.so.1 -o p/lib/libf.so.1; \
                 $CC m.c p/lib/libf.so.1 -o p/bin/m",
    },
    Case {
        name: "needed by a relative path, in a directory that is searched",
        script: "mkdir build; $CC -shared f.c -o build/libf.so; \
                 $CC m.c build/libf.so -Wl,-rpath,'$ORIGIN/../lib' -o p/bin/m; mv build/libf.so p/lib",
    },
    Case {
        name: "needed by a library that is found through a link",
        script: "$CC -shared f.c -Wl,-soname,libf.so.1 -o p/store/libf.so.1; \
                 $CC -shared b.c p/store/libf.so.1 -Wl,-soname,libb.so.1 -o p/store/libb.so.1; \
                 ln -s ../store/libb.so.1 p/lib; \
                 $CC mb.c p/lib/libb.so.1 -Wl,--allow-shlib-undefined,-rpath,'$ORIGIN/../lib' -o p/bin/m",
    },
    Case {
        name: "with another file name, in a directory that is not searched",
        script: "$CC -shared f.c -Wl,-soname,libf.so.1 -o p/lib/libf-1.2.so; \
                 $CC m.c p/lib/libf-1.2.so -o p/bin/m",
    },
    Case {
        name: "with another file name, in a directory that is searched",
        script: "$CC -shared f.c -Wl,-soname,libf.so.1 -o p/lib/libf-1.2.so; \
                 $CC m.c p/lib/libf-1.2.so -Wl,-rpath,'$ORIGIN/../lib' -o p/bin/m",
    },
    Case {
        name: "the nearest file lacks the version",
        script: "$CC -shared f.c -Wl,--version-script=v.map,-soname,libf.so.1 -o p/lib/libf.so.1; \
                 $CC -shared f.c -Wl,-soname,libf.so.1 -o p/bin/libf.so.1; \
                 $CC m.c p/lib/libf.so.1 -o p/bin/m",
    },
    Case {
        name: "a set-ID program",
        script: "$CC -shared f.c -Wl,-soname,libf.so.1 -o p/lib/libf.so.1; \
                 $CC m.c p/lib/libf.so.1 -o p/bin/m; chmod 4755 p/bin/m",
    },
];

#[test]
fn commands_of_the_help_repair_the_program() {
    if !has("patchelf") {
        return skip("commands_of_the_help_repair_the_program", "patchelf is not installed");
    }
    let mut wrong = Vec::new();
    for Case { name, script } in CASES {
        let lab = Lab::new();
        lab.write("f.c", "int foo(void) { return 0; }");
        lab.write("b.c", "int foo(void); int bar(void) { return foo(); }");
        lab.write("m.c", "int foo(void); int main(void) { return foo(); }");
        lab.write("mb.c", "int bar(void); int main(void) { return bar(); }");
        lab.write("v.map", "V2 { global: *; };");
        for dir in ["p/bin", "p/lib", "p/store"] {
            lab.mkdir(dir);
        }
        let sh = |script: &str| {
            let run = clean("sh").current_dir(lab.root()).args(["-ec", script]).output();
            run.expect("sh runs").status.success()
        };
        assert!(sh(&format!("CC='cc -fPIC'; {script}")), "{name}: not built");
        let runs = || clean(lab.path("p/bin/m")).output().expect("it starts").status.success();
        assert!(!runs(), "{name}: runs before");
        let report = lab.linkaudit(&["p"]);
        let text = String::from_utf8_lossy(&report.stdout).into_owned();
        let commands = commands(&text);
        let done = !commands.is_empty() && commands.iter().all(|command| sh(command));
        if !done || !runs() {
            wrong.push(format!("{name}: {commands:?}\n{text}"));
        }
        // patchelf damages some files, and a report does not know which.
        if text.contains("patchelf -") {
            wrong.push(format!("{name}: a command of patchelf\n{text}"));
        }
        if name.contains("set-ID") && text.contains("$ORIGIN/") {
            wrong.push(format!("{name}: the loader ignores $ORIGIN for other users\n{text}"));
        }
    }
    println!("help commands: {} programs, {} do not run after them", CASES.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The commands that a report proposes. The script that a command writes is run, also if the audit
/// is incomplete.
fn commands(report: &str) -> Vec<String> {
    let starts = ["linkaudit fix ", "ln -s "];
    let of_line = |line: &str| {
        let at = starts.iter().find_map(|start| line.find(start))?;
        let fix = line[at..].strip_prefix("linkaudit ");
        let run = |fix| {
            format!("{} {fix} > script || test $? = 3; sh script", env!("CARGO_BIN_EXE_linkaudit"))
        };
        Some(fix.map_or_else(|| line[at..].to_owned(), run))
    };
    report.lines().filter_map(of_line).collect()
}

/// Files in different directories get the entry that each of them needs.
#[test]
fn each_file_gets_its_own_entry() {
    let lab = Lab::new();
    let library =
        lab.so("p/lib/libf.so.1", "int foo(void) { return 0; }", &["-Wl,-soname,libf.so.1"]);
    let library = library.to_str().expect("UTF-8");
    for program in ["p/bin/m1", "p/libexec/x/m2"] {
        lab.mkdir(Path::new(program).parent().and_then(Path::to_str).expect("a directory"));
        lab.exe(program, "int foo(void); int main(void) { return foo(); }", &[library]);
    }
    let report = lab.linkaudit(&["p"]);
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = "give each of these files a RUNPATH: $ORIGIN/../lib for bin/m1, $ORIGIN/../../lib for libexec/x/m2";
    assert!(text.contains(help), "{text}");
}
