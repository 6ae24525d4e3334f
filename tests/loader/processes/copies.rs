//! Libraries of which a process loads two copies, or one more with dlopen.

use super::evidence;
use crate::support::report::{Report, text};
use crate::support::{self, Lab, clean};

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Two libraries that contain one code base, with their symbols visible, hidden or versioned.
#[test]
fn one_code_base_in_two_libraries() {
    let code: String =
        (0..1_200).map(|n| format!("int base_{n}(void) {{ return {n}; }}")).collect();
    let hide = "#pragma GCC visibility push(hidden)\n";
    let cases = [("", false, vec!["symbols"]), (hide, false, vec![]), ("", true, vec![])];
    for (begin, versions, expected) in cases {
        let lab = Lab::new();
        lab.so(
            "libone.so",
            &format!("{code} int one(void) {{ return 1; }}"),
            &["-Wl,-soname,libone.so"],
        );
        lab.write("two.map", "TWO { global: *; };");
        let own = format!(
            "{begin}{code}\n{} int two(void) {{ return 2; }}",
            if begin.is_empty() { "" } else { "#pragma GCC visibility pop\n" }
        );
        let script = if versions { "-Wl,--version-script,two.map" } else { "-Wl,-O1" };
        lab.so("libtwo.so", &own, &["-Wl,-soname,libtwo.so", script]);
        if versions {
            lab.write("one.map", "ONE { global: *; };");
            let flags = ["-Wl,-soname,libone.so", "-Wl,--version-script,one.map"];
            lab.so("libone.so", &format!("{code} int one(void) {{ return 1; }}"), &flags);
        }
        let flags = ["-Wl,--no-as-needed", "-L.", "-lone", "-ltwo", "-Wl,-rpath,$ORIGIN"];
        lab.exe(
            "app",
            "int one(void); int two(void); int main(void) { return one() + two(); }",
            &flags,
        );
        let report = Report::of(support::linkaudit().arg(lab.path("app")));
        let found: Vec<&str> =
            report.of_rule("library-twice").map(|finding| text(&finding["detail"])).collect();
        assert_eq!(found, expected, "{begin} {versions}");
    }
}

/// More libraries with the same functions than samples compare among all files. A process that
/// loads two of them has one pair, and a process that loads all has every pair.
#[test]
fn one_code_base_in_many_libraries() {
    const COPIES: usize = 17;
    let lab = Lab::new();
    let code: String =
        (0..1_200).map(|n| format!("int base_{n}(void) {{ return {n}; }}")).collect();
    lab.cc("base.o", &code, &["-c", "-fPIC"], &[]);
    let names: Vec<String> = (0..COPIES).map(|n| format!("lib/libcopy{n}.so")).collect();
    for (n, name) in names.iter().enumerate() {
        let own = format!("int own_{n}(void) {{ return {n}; }}");
        lab.so(name, &own, &["base.o", &format!("-Wl,-soname,libcopy{n}.so")]);
    }
    let main = "int main(void) { return 0; }";
    for (program, loaded) in [("two", 2), ("all", COPIES)] {
        let libraries = names[..loaded].iter().map(String::as_str);
        let flags = ["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN/lib"].into_iter().chain(libraries);
        lab.exe(program, main, &flags.collect::<Vec<_>>());
        let options = ["--isolated", program, "lib"];
        let report = Report::of(support::linkaudit().current_dir(lab.root()).args(options));
        let found = report.of_rule("library-twice").count();
        assert_eq!(found, loaded * (loaded - 1) / 2, "{program}: {}", report.outline());
    }
}

/// A library that a process loads twice, and that a file of it opens once more. The evidence
/// names the file and the library that the loader then reports; a name in a file without dlopen
/// is not evidence.
#[test]
fn a_third_copy_by_dlopen() {
    let lab = Lab::new();
    let code: String = (0..30).map(|n| format!("int base_{n}(void) {{ return {n}; }}")).collect();
    for version in ["1", "2", "3"] {
        let name = format!("libbase.so.{version}");
        lab.so(&name, &code, &[&format!("-Wl,-soname,{name}")]);
    }
    let origin = "-Wl,-rpath,$ORIGIN";
    let opens = "#include <dlfcn.h>\n#include <stddef.h>\n\
                 const char *other = \"libother.so.3\";\n\
                 int open_it(void) { return dlopen(\"libbase.so.3\", RTLD_NOW) == NULL; }";
    lab.so("libopens.so", opens, &["-Wl,-soname,libopens.so", origin]);
    let names = "const char *name = \"libbase.so.4\"; int named(void) { return 0; }";
    lab.so("libnames.so", names, &["-Wl,-soname,libnames.so"]);
    let main = "int open_it(void); int named(void); int main(void) { return open_it() + named(); }";
    let libraries =
        ["-L.", "-lopens", "-lnames", "-Wl,--no-as-needed", "-l:libbase.so.1", "-l:libbase.so.2"];
    lab.exe("app", main, &[&libraries[..], &[origin]].concat());

    let run = clean(lab.path("app")).env("LD_DEBUG", "files").output().expect("the program");
    assert!(run.status.success(), "{run:?}");
    let said = String::from_utf8_lossy(&run.stderr);
    let opened: BTreeSet<(PathBuf, String)> = said
        .lines()
        .filter_map(|line| line.split_once("file=")?.1.split_once(" [0];  dynamically loaded by "))
        .map(|(name, by)| {
            (PathBuf::from(by.split_once(" [").map_or(by, |(by, _)| by)), name.to_owned())
        })
        .collect();
    let report = Report::of(support::linkaudit().arg(lab.path("app")));
    let found: Vec<&Value> = report.of_rule("library-twice").collect();
    assert_eq!(found.len(), 1);
    let may_load: BTreeSet<(PathBuf, String)> = evidence(found[0], "may-load")
        .into_iter()
        .map(|one| (PathBuf::from(text(&one["path"])), text(&one["name"]).to_owned()))
        .collect();
    println!("may-load: {} by the loader, {} by the report", opened.len(), may_load.len());
    assert_eq!(opened.len(), 1, "{said}");
    assert_eq!(may_load, opened);
    let shown = support::linkaudit().arg(lab.path("app")).output().expect("a report");
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("libbase.so.3 by libopens.so (dlopen)"), "{shown}");
}

/// The names in dlopen notes, of any priority, are evidence too. They are not whole strings of
/// the file.
#[test]
fn more_copies_in_dlopen_notes() {
    let lab = Lab::new();
    let code: String = (0..30).map(|n| format!("int base_{n}(void) {{ return {n}; }}")).collect();
    for version in ["1", "2"] {
        let name = format!("libbase.so.{version}");
        lab.so(&name, &code, &[&format!("-Wl,-soname,{name}")]);
    }
    let json = "[{'soname':['libbase.so.3','libbase.so.4'],'priority':'required'},\
                {'soname':['libbase.so.5'],'priority':'suggested'},\
                {'soname':['$ORIGIN/libbase.so.6','libother.so.1']}]";
    lab.write("note.json", json.replace('\'', "\"") + "\0");
    let main = r#"#include <dlfcn.h>
        __asm__(".pushsection .note.dlopen,\"a\",%note\n.balign 4\n.long 4, 2f - 1f, 0x407c0c0a\n"
                ".asciz \"FDO\"\n1: .incbin \"note.json\"\n2: .balign 4\n.popsection");
        int main(int count, char **words) { return dlopen(words[0], RTLD_NOW) == 0; }"#;
    let libraries = ["-Wl,--no-as-needed", "-L.", "-l:libbase.so.1", "-l:libbase.so.2"];
    lab.exe("app", main, &[&libraries[..], &["-Wl,-rpath,$ORIGIN"]].concat());
    // The rule about the notes does not have to be on.
    for options in [&[][..], &["--allow", "missing-dlopen"]] {
        let report = Report::of(support::linkaudit().args(options).arg(lab.path("app")));
        let found: Vec<&Value> = report.of_rule("library-twice").collect();
        assert_eq!(found.len(), 1, "{}", report.outline());
        let names: Vec<&str> =
            evidence(found[0], "may-load").into_iter().map(|one| text(&one["name"])).collect();
        let expected = ["$ORIGIN/libbase.so.6", "libbase.so.3", "libbase.so.4", "libbase.so.5"];
        assert_eq!(names, expected, "{options:?}");
    }
}

/// Two files of one name without a soname, which a program and its library need by their paths.
/// Files with fewer common symbols may be different libraries.
#[test]
fn one_file_name_without_a_soname() {
    for (functions, expected) in [(30, vec!["soname"]), (10, vec![])] {
        let lab = Lab::new();
        let code: String =
            (0..functions).map(|n| format!("int base_{n}(void) {{ return {n}; }}")).collect();
        let (first, second) =
            (lab.so("a/libbase.so", &code, &[]), lab.so("b/libbase.so", &code, &[]));
        let path = |path: &PathBuf| path.to_str().expect("UTF-8").to_owned();
        let (always, runpath) = ("-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN");
        let user = "int user(void) { return 1; }";
        lab.so("libuser.so", user, &[always, &path(&second), "-Wl,-soname,libuser.so"]);
        let main = "int main(void) { return 0; }";
        lab.exe("app", main, &[always, &path(&first), "libuser.so", runpath]);
        let report = Report::of(support::linkaudit().arg(lab.path("app")));
        let found: Vec<&str> =
            report.of_rule("library-twice").map(|finding| text(&finding["detail"])).collect();
        assert_eq!(found, expected, "{}", report.outline());
    }
}

/// Two libraries whose equal names have different versions. musl's loader ignores versions, and
/// skips a hidden one.
#[test]
fn versions_under_musl() {
    let lab = Lab::new();
    let functions = |prefix: &str| -> String {
        (0..30).map(|n| format!("int {prefix}{n}(void) {{ return {n}; }}")).collect()
    };
    let hidden: String =
        (0..30).map(|n| format!("__asm__(\".symver old{n}, f{n}@BASE_3\");")).collect();
    for version in 1..=3 {
        lab.write(&format!("{version}.map"), format!("BASE_{version} {{ f*; }};"));
        let code = if version == 3 { hidden.clone() + &functions("old") } else { functions("f") };
        let name = format!("libbase.so.{version}");
        let (soname, map) =
            (format!("-Wl,-soname,{name}"), format!("-Wl,--version-script,{version}.map"));
        lab.so(&name, &code, &["-nostdlib", &soname, &map]);
    }
    let main = "int main(void) { return 0; }";
    for (other, under_musl) in [("libbase.so.2", 1), ("libbase.so.3", 0)] {
        let flags = ["-Wl,--no-as-needed", "libbase.so.1", other, "-Wl,-rpath,$ORIGIN"];
        lab.exe("app", main, &flags);
        for (loader, expected) in [("glibc", 0), ("musl", under_musl)] {
            let options = ["--isolated", "--loader", loader, "app"];
            let report = Report::of(support::linkaudit().current_dir(lab.root()).args(options));
            let count = report.of_rule("library-twice").count();
            assert_eq!(count, expected, "{other} under {loader}: {}", report.outline());
        }
    }
}

/// A wheel's libgcc_s, whose name has a hash, beside the one of the system: a warning. A libstdc++
/// of that kind is an error, and `library-twice` does not report it a second time.
#[test]
fn a_runtime_of_a_wheel_beside_that_of_the_system() {
    let lab = Lab::new();
    for (stem, version, level) in [("libgcc_s", "1", "warning"), ("libstdc++", "6", "error")] {
        let (plain, hashed) =
            (format!("{stem}.so.{version}"), format!("{stem}-a1b2c3d4.so.{version}"));
        for name in [&plain, &hashed] {
            let soname = format!("-Wl,-soname,{name}");
            lab.so(
                &format!("{stem}/{name}"),
                "int part(void) { return 1; }",
                &["-nostdlib", &soname],
            );
        }
        let libraries = [format!("{stem}/{plain}"), format!("{stem}/{hashed}")];
        let runpath = format!("-Wl,-rpath,$ORIGIN/{stem}");
        let flags = ["-Wl,--no-as-needed", &libraries[0], &libraries[1], &runpath];
        let program = lab.exe(&format!("{stem}.app"), "int main(void) { return 0; }", &flags);
        let report = Report::of(support::linkaudit().arg(program));
        let found: Vec<(&str, &str)> = ["mixed-runtime", "library-twice"]
            .into_iter()
            .flat_map(|rule| report.of_rule(rule))
            .map(|one| (text(&one["library"]), text(&one["level"])))
            .collect();
        assert_eq!(found, [(plain.as_str(), level)], "{}", report.outline());
    }
}

/// Two wheels and the system each bring a libstdc++: the message counts all three.
#[test]
fn three_files_of_one_runtime() {
    let lab = Lab::new();
    let libraries = ["libstdc++.so.6", "libstdc++-a1b2c3d4.so.6", "libstdc++-d4c3b2a1.so.6"];
    for name in libraries {
        let soname = format!("-Wl,-soname,{name}");
        lab.so(name, "int part(void) { return 1; }", &["-nostdlib", &soname]);
    }
    let flags = [&["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN"], &libraries[..]].concat();
    let program = lab.exe("app", "int main(void) { return 0; }", &flags);
    let report = Report::of(support::linkaudit().arg(program));
    let finding = report.of_rule("mixed-runtime").next().expect("a finding");
    let message = text(&finding["message"]);
    assert!(message.starts_with("libstdc++.so.6 is loaded 3 times, here and from "), "{message}");
}
