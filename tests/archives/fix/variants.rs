//! Search paths for which a new entry in the DT_RUNPATH of the file is the wrong change:
//! inherited DT_RPATHs, files for another machine, and libraries in build directories. Also the
//! default prefix of the script, and commands about odd file names. The real loader runs the
//! programs.

use super::kit::{text, tool};
use crate::support::{Lab, has, skip};
use serde_json::Value;

const MAIN: &str = "int f(void); int main(void) { return f() - 1; }";

/// Runs `fix`, which writes the script `fix.sh` in the laboratory. Returns the fixes of a rule.
fn fixes(lab: &Lab, rule: &str, args: &[&str]) -> Vec<Value> {
    let all = [&["fix"], args, &["--isolated", "-o", "patchelf=fix.sh", "--format", "json"]];
    let run = lab.linkaudit(&all.concat());
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").iter();
    let of_rule: Vec<&Value> = findings.filter(|finding| finding["rule"] == rule).collect();
    let [finding] = of_rule[..] else { panic!("{report:#}") };
    finding["fix"].as_array().expect("fixes").clone()
}

/// Kind, entry and result of each fix.
fn words(fixes: &[Value]) -> Vec<(&str, &str, bool)> {
    let fixes = fixes.iter();
    fixes.map(|fix| (word(fix, "intent"), word(fix, "entry"), fix["proven"] == true)).collect()
}

fn word<'f>(fix: &'f Value, key: &str) -> &'f str {
    fix[key].as_str().unwrap_or_default()
}

/// A library in `tree/lib` without a search path, which needs `libb.so` in `lib/x` and `libc1.so`
/// in `lib/y`. The program has a DT_RPATH with `lib` and `lib/y`.
fn inherited() -> Lab {
    let lab = Lab::new();
    lab.so("tree/lib/y/libc1.so", "int c(void) { return 0; }", &["-Wl,-soname,libc1.so"]);
    lab.so("tree/lib/x/libb.so", "int b(void) { return 1; }", &["-Wl,-soname,libb.so"]);
    let source = "int b(void), c(void); int f(void) { return b() + c(); }";
    let flags = ["-Wl,-soname,liba.so", "tree/lib/x/libb.so", "tree/lib/y/libc1.so"];
    lab.so("tree/lib/liba.so", source, &flags);
    let path = "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib:$ORIGIN/../lib/y";
    lab.exe("tree/bin/app", MAIN, &["tree/lib/liba.so", path]);
    lab
}

/// A new DT_RUNPATH turns off the DT_RPATH of the program.
#[test]
fn an_inherited_rpath_stays_in_effect() {
    if !has("patchelf") {
        return skip("an_inherited_rpath_stays_in_effect", "patchelf is not installed");
    }
    let lab = inherited();
    let said = text(&lab.linkaudit(&["check", "tree", "--isolated"]).stdout);
    let advice = "add $ORIGIN/x to the RPATH of lib/liba.so; for a verified script:";
    assert!(said.contains(advice), "{said}");
    let command = "patchelf --force-rpath --add-rpath '$ORIGIN/x' ";
    let broken = "cp -a tree plain && patchelf --add-rpath '$ORIGIN/x' plain/lib/liba.so";
    tool(&lab, broken);
    assert!(!lab.sh("plain/bin/app").status.success());
    tool(&lab, &format!("cp -a tree help && {command} help/lib/liba.so && help/bin/app"));
    let fixes = fixes(&lab, "missing-library", &["tree"]);
    let expected = [("add-search-path", "$ORIGIN/x", true), ("set-search-tag", "DT_RPATH", true)];
    assert_eq!(words(&fixes), expected);
    tool(&lab, "sh fix.sh tree && tree/bin/app");
}

/// `lib/x` also has another `libc1.so`. A DT_RPATH of the library would find it first.
#[test]
fn an_entry_at_the_end_of_the_rpath_of_the_program() {
    if !has("patchelf") {
        let name = "an_entry_at_the_end_of_the_rpath_of_the_program";
        return skip(name, "patchelf is not installed");
    }
    let lab = inherited();
    lab.so("tree/lib/x/libc1.so", "int c(void) { return 7; }", &["-Wl,-soname,libc1.so"]);
    let fixes = fixes(&lab, "missing-library", &["tree"]);
    assert_eq!(words(&fixes), [("add-search-path", "$ORIGIN/../lib/x", true)]);
    assert_eq!(fixes[0]["file"], lab.path("tree/bin/app").display().to_string());
    tool(&lab, "sh fix.sh tree && tree/bin/app");
    // Without a DT_RPATH in one of two programs, each change would leave a library missing.
    let lab = inherited();
    lab.so("tree/lib/x/libc1.so", "int c(void) { return 7; }", &["-Wl,-soname,libc1.so"]);
    lab.exe("tree/bin/other", MAIN, &["tree/lib/liba.so", "-Wl,-rpath,$ORIGIN/../lib"]);
    let args = ["fix", "tree", "--isolated", "--emit", "patchelf"];
    let said = lab.linkaudit(&args);
    assert!(!text(&said.stdout).contains("patch 'bin/app'"), "{}", text(&said.stdout));
}

/// The loader skips a file for another machine and goes on to the next directory.
#[test]
fn a_file_for_another_machine_is_found_first() {
    if !has("patchelf") {
        return skip("a_file_for_another_machine_is_found_first", "patchelf is not installed");
    }
    let lab = Lab::new();
    lab.so("tree/lib64/libf.so", "int f(void) { return 1; }", &["-Wl,-soname,libf.so"]);
    lab.exe("tree/bin/app", MAIN, &["tree/lib64/libf.so", "-Wl,-rpath,$ORIGIN/../lib"]);
    // EM_AARCH64.
    let other = "mkdir tree/lib; cp tree/lib64/libf.so tree/lib; \
        printf '\\267' | dd of=tree/lib/libf.so bs=1 seek=18 conv=notrunc 2>/dev/null";
    tool(&lab, other);
    let help = "help: add $ORIGIN/../lib64 to the RUNPATH of bin/app";
    // The directory of the candidate may be audited or not.
    for paths in [&["tree"][..], &["--prefix", "tree", "tree/bin/app"]] {
        let check = lab.linkaudit(&[&["check", "--isolated"], paths].concat());
        let said = text(&check.stdout);
        assert!(said.contains("error[wrong-architecture]") && said.contains(help), "{said}");
        let fixes = fixes(&lab, "wrong-architecture", paths);
        assert_eq!(words(&fixes), [("add-search-path", "$ORIGIN/../lib64", true)]);
    }
    assert!(!lab.sh("tree/bin/app").status.success());
    tool(&lab, "sh fix.sh && tree/bin/app");
}

/// The build directory still exists when the package is audited, and is gone later.
#[test]
fn an_entry_of_a_build_directory_is_replaced() {
    if !has("patchelf") {
        return skip("an_entry_of_a_build_directory_is_replaced", "patchelf is not installed");
    }
    let source = "int f(void) { return 1; }";
    for (more, expected) in [
        ("", &["drop-search-entry", "add-search-path"][..]),
        (":$ORIGIN/../lib", &["drop-search-entry"]),
    ] {
        let lab = Lab::new();
        for place in ["build", "tree/lib"] {
            lab.so(&format!("{place}/libf.so"), source, &["-Wl,-soname,libf.so"]);
        }
        let build = lab.path("build").display().to_string();
        let path = format!("-Wl,-rpath,{build}{more}");
        lab.exe("tree/bin/app", MAIN, &["build/libf.so", &path]);
        let fixes = fixes(&lab, "unsafe-search-entry", &["tree"]);
        let all =
            [("drop-search-entry", &*build, true), ("add-search-path", "$ORIGIN/../lib", true)];
        assert_eq!(words(&fixes), all[..expected.len()]);
        tool(&lab, "mv build gone; sh fix.sh && tree/bin/app");
    }
}

/// A plugin may lie in the build directory, or the prefix may lack a symbol: the entry stays.
#[test]
fn an_entry_of_a_build_directory_that_may_be_needed() {
    let build = |installed: &str, main: &str| {
        let lab = Lab::new();
        lab.so("build/libf.so", "int f(void) { return 1; }", &["-Wl,-soname,libf.so"]);
        lab.so("tree/lib/libf.so", installed, &["-Wl,-soname,libf.so"]);
        let path = format!("-Wl,-rpath,{}", lab.path("build").display());
        lab.exe("tree/bin/app", main, &["build/libf.so", &path]);
        let fixes = fixes(&lab, "unsafe-search-entry", &["tree"]);
        assert_eq!(fixes[0]["proven"], false, "{fixes:?}");
        fixes[0]["unknown"].as_str().expect("a reason").to_owned()
    };
    assert_eq!(build("int g(void) { return 1; }", MAIN), "f would fail with the fix");
    let opens = "#include <dlfcn.h>\nint f(void); int main(int n, char **names)\n\
        { return dlopen(names[0], RTLD_NOW) == 0 && f(); }";
    let why = build("int f(void) { return 1; }", opens);
    assert_eq!(why, "dlopen may open a library there");
}

/// Without an argument, the script changes the files that were audited, and no installed ones.
#[test]
fn the_default_prefix_is_the_audited_one() {
    let lab = Lab::new();
    lab.so("r/opt/x/lib/libf.so", "int f(void) { return 1; }", &["-Wl,-soname,libf.so"]);
    lab.exe("r/opt/x/bin/app", MAIN, &["r/opt/x/lib/libf.so"]);
    tool(&lab, "mkdir -p r/lib64 r/lib empty; cp -L /lib64/ld-linux-x86-64.so.2 r/lib64 || true");
    tool(&lab, "cp -L \"$(cc -print-file-name=libc.so.6)\" r/lib; mkdir s; cp -a r/opt s");
    let root = lab.root().display().to_string();
    let default = |place: &str| format!("\nprefix=${{1-'{root}/{place}'}}\n");
    for (args, line) in [
        (&["r/opt/x"][..], default("r/opt/x")),
        (&["--root", "r", "r/opt/x"], default("r/opt/x")),
        (&["--root", "r", "/opt/x"], default("r/opt/x")),
        (&["--staged", "s"], default("s")),
        (&["--root", "r", "--staged", "s", "s/opt/x"], default("s")),
        (&["--staged", "s", "--staged", "empty"], default("s")),
    ] {
        let emitted = lab.linkaudit(&[&["fix", "--isolated", "--emit", "patchelf"], args].concat());
        let script = text(&emitted.stdout);
        assert!(script.contains(&line), "{args:?}: {script}{}", text(&emitted.stderr));
    }
}

/// Two packages with files to patch. The script runs in both staging directories, in the directory of
/// one package, and where both packages are installed.
#[test]
fn each_stage_is_patched_by_itself() {
    if !has("patchelf") {
        return skip("each_stage_is_patched_by_itself", "patchelf is not installed");
    }
    let lab = Lab::new();
    for (stage, package) in [("s0", "one"), ("s1", "two")] {
        let library = format!("{stage}/usr/lib/{package}/lib{package}.so");
        let soname = format!("-Wl,-soname,lib{package}.so");
        lab.so(&library, "int f(void) { return 1; }", &[&soname]);
        lab.exe(&format!("{stage}/usr/bin/{package}"), MAIN, &[&library]);
    }
    let args = ["fix", "--isolated", "--staged", "s0", "--staged", "s1", "-o", "patchelf=fix.sh"];
    let said = lab.linkaudit(&args);
    assert!(text(&said.stdout).contains("2 of 2 findings"), "{}", text(&said.stdout));
    tool(&lab, "mkdir both empty; cp -a s0 c0; cp -a s1 c1; cp -a s0/usr s1/usr both");
    for (prefix, programs) in [
        ("c0", &["c0/usr/bin/one"][..]),
        ("c1", &["c1/usr/bin/two"]),
        ("both", &["both/usr/bin/one", "both/usr/bin/two"]),
        ("", &["s0/usr/bin/one", "s1/usr/bin/two"]),
    ] {
        let runs = || programs.iter().filter(|one| lab.sh(one).status.success()).count();
        assert_eq!(runs(), 0, "{prefix}");
        let run = lab.sh(&format!("sh fix.sh {prefix}"));
        assert!(run.status.success(), "{prefix}: {}", text(&run.stderr));
        assert_eq!(text(&run.stdout).matches("changed: ").count(), programs.len(), "{prefix}");
        assert_eq!(runs(), programs.len(), "{prefix}");
    }
    let none = lab.sh("sh fix.sh empty");
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none.stderr).starts_with("not found: "), "{}", text(&none.stderr));
    // A stage without one of its files fails.
    tool(&lab, "rm s1/usr/bin/two");
    assert_eq!(lab.sh("sh fix.sh").status.code(), Some(1));
}

/// A user pastes the commands of `check` and `fix` into a shell.
#[test]
fn commands_about_odd_names() {
    if !has("patchelf") || !has("bash") {
        return skip("commands_about_odd_names", "patchelf or bash is not installed");
    }
    for name in ["a\nb", "it's\n1", "a b", "x\u{202e}y", "-a\u{1b}[1m"] {
        let lab = Lab::new();
        lab.so("tree/lib/libf.so", "int f(void) { return 1; }", &["-Wl,-soname,libf.so"]);
        lab.exe("tree/bin/app", MAIN, &["tree/lib/libf.so"]);
        let program = lab.path("tree/bin").join(name);
        std::fs::rename(lab.path("tree/bin/app"), &program).expect("a name");
        tool(&lab, "cp -a tree saved");
        let bash = |line: &str| {
            let mut bash = std::process::Command::new("bash");
            let status = bash.current_dir(lab.root()).args(["-ec", line]).status();
            assert!(status.expect("bash runs").success(), "{line}");
        };
        let path = program.to_str().expect("UTF-8");
        for (command, start) in [("check", "linkaudit fix "), ("fix", "patchelf ")] {
            // A script of patchelf commands does not name such a file.
            if command == "check" && name.contains('\n') {
                continue;
            }
            let args = [command, "--isolated", "--prefix", "tree", path];
            let said = text(&lab.linkaudit(&args).stdout);
            let line = said.lines().map(str::trim).find(|line| line.starts_with(start));
            let line = line.unwrap_or_else(|| panic!("{command}: {said}"));
            match line.strip_prefix("linkaudit ") {
                Some(args) => {
                    let program = env!("CARGO_BIN_EXE_linkaudit");
                    bash(&format!("{program} {args} >fix.sh; cd tree; sh ../fix.sh"));
                }
                None => bash(line),
            }
            let app = std::process::Command::new(&program).status().expect("the program runs");
            assert!(app.success(), "{line}");
            tool(&lab, "rm -r tree; cp -a saved tree");
        }
    }
}
