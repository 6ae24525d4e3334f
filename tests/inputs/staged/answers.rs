//! Named cases: the layouts of distributions, upgrades, links, and a stage that brings its own C
//! library. The loader runs after the real installation.

use super::installed::Case;
use super::report::{Report, list, text};
use super::system::{bare, has_chroot, ldconfig, sh};
use crate::support::random::step;
use crate::support::{Lab, Tally, has, linkaudit, skip};
use serde_json::Value;

const OLD: &str = "int parse(void) { return 1; } int emit(void) { return 1; }";
const NEW: &str = "int parse(void) { return 1; }";
const APP: &str = "int parse(void); int emit(void); int main(void) { return parse() + emit(); }";

/// A system with a complete library at `dir`, if its file name is given, and a stage with a program
/// and a library that lost `emit`.
fn system(dir: &str, host: Option<&str>, runpath: Option<&str>) -> Lab {
    let lab = Lab::new();
    let root = bare(&lab, "c/root");
    let soname = "-Wl,-soname,libyaml-0.so.2";
    if let Some(name) = host {
        lab.so(&format!("c/root/{dir}/{name}"), OLD, &[soname]);
        lab.link(name, &format!("c/root/{dir}/libyaml-0.so.2"));
    }
    lab.so("build/libyaml.so", OLD, &[soname]);
    let path = runpath.map(|path| format!("-Wl,-rpath,{path}"));
    let mut flags = vec!["-Wl,--no-as-needed", "-Lbuild", "-lyaml"];
    flags.extend(path.as_deref());
    lab.exe("c/stage0/usr/bin/app", APP, &flags);
    lab.so(&format!("c/stage0/{dir}/libyaml-0.so.2.0.9"), NEW, &[soname]);
    lab.link("libyaml-0.so.2.0.9", &format!("c/stage0/{dir}/libyaml-0.so.2"));
    ldconfig(&root);
    lab
}

fn case(stages: usize, files: &[&str]) -> Case {
    let files = files.iter().map(|file| (*file).to_owned()).collect();
    Case { dir: "c".to_owned(), stages, caches: true, files }
}

fn report(lab: &Lab, args: &[&str]) -> Report {
    let mut command = linkaudit();
    command.current_dir(lab.path("c")).args(["--isolated", "--root", "root"]).args(args);
    Report::of(&mut command)
}

/// Undefined symbols with their files.
fn undefined(report: &Report) -> Vec<(String, String)> {
    let of = report.of_rule("undefined-symbol");
    of.map(|f| (text(&f["path"]).to_owned(), text(&f["symbol"]).to_owned())).collect()
}

#[test]
fn a_library_that_lost_a_symbol() {
    if !has_chroot() {
        return skip("staged", "needs root for chroot");
    }
    let mut tally = Tally::default();
    let layouts = [
        ("usr/lib/x86_64-linux-gnu", None),
        ("usr/lib", None),
        ("opt/yaml/lib", Some("/opt/yaml/lib")),
        ("opt/yaml/lib", Some("$ORIGIN/../../opt/yaml/lib")),
    ];
    for (dir, runpath) in layouts.into_iter().step_by(step(3)) {
        // The host's file has the same name, is newer, is older, or is missing.
        let hosts = [
            Some("libyaml-0.so.2.0.9"),
            Some("libyaml-0.so.2.0.10"),
            Some("libyaml-0.so.2.0.1"),
            None,
        ];
        for host in hosts {
            for replaces in ["", "/opt/none\n", &format!("/{dir}/libyaml-0.so.2.0.10\n")] {
                let lab = system(dir, host, runpath);
                lab.write("c/replaces", replaces);
                let case = case(1, &["/usr/bin/app", &format!("/{dir}/libyaml-0.so.2.0.9")]);
                case.compare(&lab, &mut tally);
                let report = report(&lab, &["--staged", "stage0", "--replaces", "replaces"]);
                // ldconfig gives the soname to the newest file that is left. ldconfig changes
                // nothing in directories that it does not read.
                let keeps = dir.starts_with("usr") && host == Some("libyaml-0.so.2.0.10");
                let mut expected = vec![("usr/bin/app".to_owned(), "emit".to_owned())];
                if keeps && !replaces.contains("0.10") {
                    expected.clear();
                }
                assert_eq!(undefined(&report), expected, "{dir} {host:?} {replaces}");
            }
        }
    }
    tally.finish("a library that lost a symbol");
}

#[test]
fn files_tell_their_layer() {
    let lab = system("usr/lib", Some("libyaml-0.so.2.0.1"), None);
    let report = report(&lab, &["--staged", "stage0"]);
    let origin = |path: &str| {
        let mut files = list(&report.value["files"]);
        files.find(|file| file["path"] == path).map(|file| file["origin"].clone())
    };
    assert_eq!(origin("/usr/bin/app"), Some("stage".into()));
    assert_eq!(origin("/usr/lib/libyaml-0.so.2.0.9"), Some("stage".into()));
    assert_eq!(origin("/usr/lib/x86_64-linux-gnu/libc.so.6"), Some("sysroot".into()));
    let layers = &report.value["layers"];
    assert_eq!(layers["stage"], Value::from(vec!["/usr/lib/libyaml-0.so.2.0.9"]));
    assert!(list(&layers["sysroot"]).any(|path| path == "/usr/lib/x86_64-linux-gnu/libc.so.6"));
    assert_eq!(report.total("elf"), 2, "only files of the stage are audited");
    let finding = report.of_rule("undefined-symbol").next().expect("emit");
    assert_eq!((&finding["prefix"], &finding["path"]), (&"/".into(), &"usr/bin/app".into()));
}

#[test]
fn a_stage_behind_links() {
    if !has_chroot() {
        return skip("staged", "needs root for chroot");
    }
    let lab = system("usr/lib", Some("libyaml-0.so.2.0.1"), None);
    // The stage is a link; it names `/usr/lib` as `/lib`, and `/usr/lib64` by a link of its own.
    sh(&lab, "cd c && mv stage0 real && ln -s real stage0 && mv real/usr/lib real/lib");
    let mut tally = Tally::default();
    case(1, &["/usr/bin/app", "/usr/lib/libyaml-0.so.2.0.9"]).compare(&lab, &mut tally);
    tally.finish("a stage behind links");
    let whole = report(&lab, &["--staged", "stage0"]);
    assert_eq!(whole.total("elf"), 2, "{}", whole.outline());
    assert_eq!(undefined(&whole).len(), 1);
}

/// dpkg keeps a directory where a package brings a link.
#[test]
fn a_link_over_a_directory() {
    let lab = system("usr/lib", Some("libyaml-0.so.2.0.1"), None);
    lab.mkdir("c/root/opt/real");
    sh(
        &lab,
        "cd c && mkdir -p stage0/opt && ln -s nothing stage0/opt/real && cp stage0/usr/bin/app root/opt/real/",
    );
    let report = report(&lab, &["--staged", "stage0", "/opt/real"]);
    assert_eq!(report.total("elf"), 1, "{}", report.outline());
}

#[test]
fn a_stage_with_its_own_c_library() {
    if !has_chroot() {
        return skip("staged", "needs root for chroot");
    }
    let lab = system("usr/lib", None, None);
    let dir = "usr/lib/x86_64-linux-gnu";
    sh(
        &lab,
        &format!(
            "cd c && mkdir -p stage1/{dir} && mv root/{dir}/libc.so.6 stage1/{dir}/ && \
             mv root/{dir}/ld-linux-x86-64.so.2 stage1/{dir}/"
        ),
    );
    // The answers of a system without a C library need a stage that brings it.
    let without = report(&lab, &["--staged", "stage0"]);
    assert!(!without.complete(), "{}", without.outline());
    let mut tally = Tally::default();
    case(2, &["/usr/bin/app", "/usr/lib/libyaml-0.so.2.0.9"]).compare(&lab, &mut tally);
    tally.finish("a stage with its own C library");
}

/// The build directory in a RUNPATH does not exist where the package is installed.
#[test]
fn the_stage_itself_is_not_on_the_system() {
    let lab = Lab::new();
    bare(&lab, "c/root");
    lab.so("build/libyaml.so", OLD, &["-Wl,-soname,libyaml-0.so.2"]);
    let flags = ["-Wl,--no-as-needed", "-Lbuild", "-lyaml", "-Wl,-rpath,/build/stage/opt/lib"];
    lab.exe("c/root/build/stage/usr/bin/app", APP, &flags);
    lab.so("c/root/build/stage/opt/lib/libyaml-0.so.2", OLD, &["-Wl,-soname,libyaml-0.so.2"]);
    let plain = report(&lab, &["/build/stage/usr/bin", "-A", "search-path"]);
    assert_eq!(plain.findings().count(), 0, "{}", plain.outline());
    let staged = report(&lab, &["--staged", "root/build/stage", "-A", "search-path"]);
    assert_eq!(staged.rules().into_iter().collect::<Vec<_>>(), ["missing-library"]);
}

/// A stage with files in `/lib`, over a merged `/usr`: repairs name files by their paths in the
/// stage.
#[test]
fn repairs_name_files_of_the_stage() {
    if !has("patchelf") {
        return skip("repairs_name_files_of_the_stage", "patchelf is not installed");
    }
    let lab = Lab::new();
    bare(&lab, "c/root");
    let mesh = "c/stage0/lib/private/libmesh.so.2";
    lab.so(mesh, "int m(void) { return 1; }", &["-Wl,-soname,libmesh.so.2"]);
    let render = "int m(void); int r(void) { return m(); }";
    lab.so("c/stage0/lib/librender.so.1", render, &["-Wl,-soname,librender.so.1", mesh]);
    let run = |args: &[&str]| {
        let mut command = linkaudit();
        command.current_dir(lab.path("c")).args(args);
        command.args(["--isolated", "--root", "root", "--staged", "stage0"]);
        let output = command.output().expect("linkaudit runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let check = run(&["check"]);
    assert!(check.contains("add $ORIGIN/private to the RUNPATH of "), "{check}");
    let command = "linkaudit fix --root root --staged stage0 --emit patchelf\n";
    assert!(check.contains(command), "{check}");
    let fix = run(&["fix", "-o", "patchelf=fix.sh"]);
    assert!(fix.contains("patchelf --set-rpath '$ORIGIN/private' lib/librender.so.1\n"), "{fix}");
    // Without an argument, the script changes the audited files.
    let script = std::fs::read_to_string(lab.path("c/fix.sh")).expect("a script");
    let stage = lab.path("c/stage0").canonicalize().expect("a directory");
    assert!(script.contains(&format!("\nprefix=${{1-'{}'}}\n", stage.display())), "{script}");
    let copy = lab.sh("cd c && cp -a stage0 copy && sh fix.sh copy");
    assert_eq!(String::from_utf8_lossy(&copy.stdout), "changed: lib/librender.so.1\n");
    let patched = lab.sh("cd / && sh \"$OLDPWD/c/fix.sh\"");
    let said = String::from_utf8_lossy(&patched.stdout);
    assert_eq!(said, "changed: lib/librender.so.1\n");
    assert_eq!(run(&["check", "-A", "search-path"]).matches("missing-library").count(), 0);
    let absent = lab.sh("cd c && rm stage0/lib/librender.so.1 && sh fix.sh stage0");
    let said = String::from_utf8_lossy(&absent.stderr);
    assert_eq!(said, "not found: ./stage0/lib/librender.so.1\n");
    assert_eq!(absent.status.code(), Some(1));
}

/// A plugin of a program that is installed already. A symbol that the program does not have stays a
/// finding.
#[test]
fn plugins_of_programs_of_the_system() {
    let lab = Lab::new();
    bare(&lab, "c/root");
    let source = "#include <dlfcn.h>\nint host_register(void) { return 1; }\n\
        int main(int n, char **names) { return dlopen(names[n - 1], RTLD_NOW) == 0; }";
    lab.exe("c/root/usr/bin/host", source, &["-rdynamic"]);
    let plugin = |name: &str| {
        let source = format!("int {name}(void); int start(void) {{ return {name}(); }}");
        lab.so("c/stage0/usr/lib/host/plugin.so", &source, &[]);
        report(&lab, &["--staged", "stage0"])
    };
    let good = plugin("host_register");
    assert_eq!(good.findings().count(), 0, "{}", good.outline());
    let assumed = list(&good.value["assumptions"]).next().expect("the program");
    assert_eq!(
        (&assumed["by"], &assumed["name"]),
        (&"inferred-host".into(), &"/usr/bin/host".into())
    );
    assert_eq!(good.total("elf"), 1, "the program is not audited");
    let strict = report(&lab, &["--staged", "stage0", "--no-inferred-hosts"]);
    assert_eq!(undefined(&strict).len(), 1);
    let bad = plugin("host_registex");
    assert_eq!(undefined(&bad), [("usr/lib/host/plugin.so".into(), "host_registex".into())]);
    // An ordinary library has no host.
    sh(&lab, "rm -r c/stage0/usr/lib/host");
    let source = "int host_register(void); int start(void) { return host_register(); }";
    lab.so("c/stage0/usr/lib/libplain.so.1", source, &["-Wl,-soname,libplain.so.1"]);
    let plain = report(&lab, &["--staged", "stage0"]);
    assert_eq!(undefined(&plain).len(), 1, "{}", plain.outline());
}

/// ldconfig stores the level of a library's x86 ISA note in the cache, and the loader passes over a
/// library of a `glibc-hwcaps` directory whose level exceeds the one of the processor.
#[test]
fn levels_of_libraries_in_hwcaps_directories() {
    if !has_chroot() {
        return skip("staged", "needs root for chroot");
    }
    let dir = "usr/lib/x86_64-linux-gnu";
    let soname = "-Wl,-soname,libyaml-0.so.2";
    for (older, newer) in [(None, Some("v3")), (Some("v3"), None), (Some("v4"), Some("v3"))] {
        let lab = Lab::new();
        let root = bare(&lab, "c/root");
        lab.so(&format!("c/root/{dir}/libyaml-0.so.2"), OLD, &[soname]);
        ldconfig(&root);
        lab.so("build/libyaml.so", OLD, &[soname]);
        lab.exe("c/stage0/usr/bin/app", APP, &["-Wl,--no-as-needed", "-Lbuild", "-lyaml"]);
        for (file, level) in [("2.0.8", older), ("2.0.9", newer)] {
            let level = level.map(|level| format!("-Wl,-z,x86-64-{level}"));
            let flags: Vec<&str> = [soname].into_iter().chain(level.as_deref()).collect();
            let file = format!("c/stage0/{dir}/glibc-hwcaps/x86-64-v2/libyaml-0.so.{file}");
            lab.so(&file, NEW, &flags);
        }
        let cpus = ["baseline", "x86-64-v2", "x86-64-v3", "x86-64-v4"];
        let names = |args: &[&str]| -> Vec<String> {
            undefined(&report(&lab, args)).into_iter().map(|(_, symbol)| symbol).collect()
        };
        let staged = cpus.map(|cpu| names(&["--staged", "stage0", "--cpu", cpu]));
        sh(&lab, "cp -a c/stage0/. c/root/");
        ldconfig(&root);
        let installed = cpus.map(|cpu| names(&["--cpu", cpu, "/usr/bin/app"]));
        assert_eq!(staged, installed, "{older:?} {newer:?}");
        assert_eq!(staged[1].is_empty(), newer.is_some(), "{older:?} {newer:?}");
    }
}
