//! Libraries of the system that define undefined symbols or have the name of a missing library,
//! and their Debian packages. They are evidence only. The packages equal those of `dpkg -S`. If
//! nothing is undefined, these libraries and lists are not read.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::report::{self, Report, evidence, text};
use crate::support::tiny::Tiny;
use crate::support::{self, Lab, clean, linkaudit, skip, strace};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LIBS: &str = "/usr/lib/x86_64-linux-gnu";
const INFO: &str = "r/var/lib/dpkg/info";
/// Words of evidence that depends on the system.
const OF_SYSTEM: [&str; 4] = ["installed", "shadowed", "removed", "installed-program"];

/// A merged `/usr` with a real loader and nothing else.
fn system() -> Lab {
    let lab = Lab::new();
    lab.mkdir("r/usr/lib/x86_64-linux-gnu");
    lab.mkdir("r/usr/lib64");
    lab.link("usr/lib", "r/lib");
    lab.link("usr/lib64", "r/lib64");
    let loader = std::fs::read("/lib64/ld-linux-x86-64.so.2").expect("this system's loader");
    lab.write("r/usr/lib64/ld-linux-x86-64.so.2", loader);
    lab
}

fn library(soname: &str, needs: &[&str]) -> Tiny {
    Tiny::library(soname, needs.iter().copied())
}

fn audit(lab: &Lab, path: &str, more: &[&str]) -> Report {
    let mut command = linkaudit();
    command.current_dir(lab.root()).args(["--isolated", "--root", "r", path]).args(more);
    Report::of(&mut command)
}

/// The candidates of the system in a finding: how, path, package, reason.
fn found(finding: &Value) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let line =
        |one: &Value| ["how", "path", "package", "reason"].map(|key| word(&one[key])).join(" | ");
    let of_system = |one: &&Value| OF_SYSTEM.contains(&one["how"].as_str().unwrap_or_default());
    evidence(finding, "candidate").filter(of_system).map(line).collect()
}

fn one<'r>(report: &'r Report, rule: &'r str) -> &'r Value {
    let mut all = report.of_rule(rule);
    let first = all.next().unwrap_or_else(|| panic!("no {rule}: {}", report.outline()));
    assert!(all.next().is_none(), "{}", report.outline());
    first
}

#[test]
fn a_library_that_nothing_needs() {
    let lab = system();
    let foo = library("libfoo.so.1", &[]).defines("foo").defines("bar");
    lab.write("r/usr/lib/x86_64-linux-gnu/libfoo.so.1.2", foo.bytes());
    lab.link("libfoo.so.1.2", "r/usr/lib/x86_64-linux-gnu/libfoo.so.1");
    // musl's loader is its C library: nothing that glibc loads is linked with it.
    let musl = library("libc.so", &[]).defines("foo");
    lab.write("r/usr/lib/ld-musl-x86_64.so.1", musl.bytes());
    lab.write("r/opt/app/lib/libapp.so", library("libapp.so", &[]).refers("foo").bytes());
    let report = audit(&lab, "/opt/app", &[]);
    let expected = format!("installed | {LIBS}/libfoo.so.1 | - | not needed by libapp.so");
    assert_eq!(found(one(&report, "undefined-symbol")), [expected]);
    // Debian's lists may name the directory through the link.
    let list = "/.\n/lib/x86_64-linux-gnu/libfoo.so.1.2\n/lib/x86_64-linux-gnu/libfoo.so.1\n";
    lab.write(&format!("{INFO}/libfoo1:amd64.list"), list);
    let report = audit(&lab, "/opt/app", &[]);
    let expected = format!("installed | {LIBS}/libfoo.so.1 | libfoo1 | not needed by libapp.so");
    assert_eq!(found(one(&report, "undefined-symbol")), [expected]);
    lab.write("r/var/lib/dpkg/arch", "amd64\ni386\n");
    let report = audit(&lab, "/opt/app", &[]);
    let evidence = found(one(&report, "undefined-symbol"));
    assert!(evidence[0].contains("| libfoo1:amd64 |"), "{evidence:?}");

    let human = lab.linkaudit(&["--isolated", "--root", "r", "/opt/app"]).stdout;
    let human = String::from_utf8(human).expect("UTF-8");
    let words: Vec<&str> = human.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("(package libfoo1:amd64): defines it, not needed by"), "{human}");
    assert!(!human.contains("--host PROGRAM"), "{human}");
    let why = lab.linkaudit(&["why", "foo", "--isolated", "--root", "r", "/opt/app"]).stdout;
    let why = String::from_utf8(why).expect("UTF-8");
    assert!(why.contains("libfoo.so.1 (package libfoo1:amd64)"), "{why}");
    let args = ["why", "foo", "--isolated", "--root", "r", "/opt/app", "--format", "json"];
    let why: Value = serde_json::from_slice(&lab.linkaudit(&args).stdout).expect("JSON");
    let installed = &why["requesters"][0]["installed"][0];
    assert_eq!(installed["package"], "libfoo1:amd64", "{why}");
    assert_eq!(installed["shadowed"], false);
}

/// A process of musl cannot load a library that needs glibc.
#[test]
fn a_library_for_another_libc_is_left_out() {
    const MUSL: &str = "/lib/ld-musl-x86_64.so.1";
    let lab = system();
    let mut loader = library("libc.so", &[]).bytes();
    loader.extend(b"\0musl libc (x86_64)\nVersion %s\n\x001.2.5\0");
    lab.write(&format!("r/usr{MUSL}"), loader);
    let needs = vec!["libfoo.so.1".to_owned()];
    let app = Tiny { needs, interp: Some(MUSL), ..Tiny::default() };
    lab.write("r/opt/app/app", app.bytes());
    lab.write(&format!("{INFO}/libfoo1.list"), format!("/.\n{LIBS}/libfoo.so.1\n"));
    for (need, named) in [("libc.so.6", 0), ("libc.musl-x86_64.so.1", 1)] {
        lab.write(&format!("r{LIBS}/libfoo.so.1"), library("libfoo.so.1", &[need]).bytes());
        let report = audit(&lab, "/opt/app", &[]);
        assert_eq!(found(one(&report, "missing-library")).len(), named, "{need}");
    }
}

/// A program of the system, which may be linked to.
fn program(defines: &[&str]) -> Vec<u8> {
    let interp = Some("/lib64/ld-linux-x86-64.so.2");
    let defines = defines.iter().copied().map(str::to_owned).collect();
    Tiny { defines, interp, ..Tiny::default() }.bytes()
}

#[test]
fn a_program_that_defines_all() {
    let lab = system();
    let plugin = library("plugin.so", &[]).refers("host_log").refers("host_add");
    lab.write("r/usr/lib/daemon/plugin.so", plugin.bytes());
    lab.write("r/usr/sbin/daemon", program(&["host_log", "host_add", "main"]));
    lab.write("r/usr/bin/other", program(&["host_log"]));
    lab.write(&format!("{INFO}/daemon.list"), "/.\n/usr/sbin/daemon\n");
    let report = audit(&lab, "/usr/lib/daemon/plugin.so", &[]);
    let expected = "installed-program | /usr/sbin/daemon | daemon | -";
    let all: Vec<String> = report.of_rule("undefined-symbol").flat_map(found).collect();
    assert_eq!(all, [expected; 2]);
    let args = ["--isolated", "--root", "r", "/usr/lib/daemon/plugin.so"];
    let human = String::from_utf8(lab.linkaudit(&args).stdout).expect("UTF-8");
    let words: Vec<&str> = human.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("/usr/sbin/daemon (package daemon): defines all 2"), "{human}");
    assert!(words.contains("--host /usr/sbin/daemon"), "{human}");
    // With that option the plugin has all its symbols.
    let report = audit(&lab, "/usr/lib/daemon/plugin.so", &["--host", "/usr/sbin/daemon"]);
    assert_eq!(report.of_rule("undefined-symbol").count(), 0, "{}", report.outline());
    let args = [&["why", "host_log", "--format", "json"], &args[..]].concat();
    let why: Value = serde_json::from_slice(&lab.linkaudit(&args).stdout).expect("JSON");
    let installed = &why["requesters"][0]["installed"][0];
    assert_eq!(installed["path"], "/usr/sbin/daemon", "{why}");
    assert_eq!(installed["program"], true, "{why}");
    // A second one: the reader must choose.
    lab.write("r/usr/sbin/fork", program(&["host_log", "host_add"]));
    let human = String::from_utf8(lab.linkaudit(&args[4..]).stdout).expect("UTF-8");
    assert!(human.contains("--host PROGRAM"), "{human}");
    let closed = ["--policy", "manylinux_2_17"];
    let report = audit(&lab, "/usr/lib/daemon/plugin.so", &closed);
    assert!(report.of_rule("undefined-symbol").flat_map(found).next().is_none());
}

#[test]
fn other_files_of_a_loaded_soname_and_candidates_at_hand() {
    let lab = system();
    let newer = library("libfoo.so.1", &[]).defines("foo").defines("added");
    lab.write("r/usr/lib/x86_64-linux-gnu/libfoo.so.1", newer.bytes());
    lab.write("r/opt/app/lib/libfoo.so.1", library("libfoo.so.1", &[]).defines("foo").bytes());
    let app = library("libapp.so", &["libfoo.so.1"]).refers("foo").refers("added");
    lab.write("r/opt/app/lib/libapp.so", app.rpath("$ORIGIN").bytes());
    let report = audit(&lab, "/opt/app", &[]);
    let reason = "libapp.so loads another file of this soname";
    let expected = format!("shadowed | {LIBS}/libfoo.so.1 | - | {reason}");
    assert_eq!(found(one(&report, "undefined-symbol")), [expected]);
    // If a candidate is known, the system is not searched.
    lab.write("r/opt/app/lib/libmore.so", library("libmore.so", &[]).defines("added").bytes());
    let report = audit(&lab, "/opt/app", &[]);
    assert!(found(one(&report, "undefined-symbol")).is_empty());
}

#[test]
fn a_missing_library_that_a_package_has() {
    let lab = system();
    let private = "usr/lib/x86_64-linux-gnu/private";
    lab.write(&format!("r/{private}/libown.so"), library("libown.so", &[]).bytes());
    lab.write(&format!("r/{private}/libtext.so"), "INPUT(libown.so)");
    let needs = ["libown.so", "libgone.so.2", "libtext.so", "libnever.so"];
    lab.write("r/opt/app/lib/libapp.so", library("libapp.so", &needs).bytes());
    let list = format!("/{private}/libown.so\n/{private}/libtext.so\n/usr/lib/libgone.so.2\n");
    lab.write(&format!("{INFO}/own.list"), list);
    let report = audit(&lab, "/opt/app", &[]);
    let all: BTreeMap<&str, Vec<String>> = report
        .of_rule("missing-library")
        .map(|finding| (text(&finding["library"]), found(finding)))
        .collect();
    let own = format!("installed | {LIBS}/private/libown.so | own | its directory is not searched");
    assert_eq!(all["libown.so"], [own]);
    let gone =
        "removed | /usr/lib/libgone.so.2 | own | the package lists it, and no such file exists";
    assert_eq!(all["libgone.so.2"], [gone]);
    assert!(all["libtext.so"].is_empty() && all["libnever.so"].is_empty(), "{all:?}");
    let human = lab.linkaudit(&["--isolated", "--root", "r", "/opt/app"]).stdout;
    let human = String::from_utf8(human).expect("UTF-8");
    // apt-get would install into the system on which the audit runs.
    let sysroot = lab.root().join("r").display().to_string();
    let human: String = human.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(human.contains(&format!("install the package own again in {sysroot}")), "{human}");
    assert!(!human.contains("apt-get"), "{human}");
}

/// `value` without evidence that depends on the system.
fn without_system(mut value: Value) -> Value {
    for list in ["findings", "causes", "waived"] {
        for one in value[list].as_array_mut().into_iter().flatten() {
            if let Some(evidence) = one["evidence"].as_array_mut() {
                evidence
                    .retain(|one| !OF_SYSTEM.contains(&one["how"].as_str().unwrap_or_default()));
            }
        }
    }
    value
}

#[test]
fn only_evidence_depends_on_the_system() {
    let lab = system();
    let app = library("libapp.so", &["libgone.so.2"]).refers("far");
    lab.write("r/opt/app/lib/libapp.so", app.bytes());
    let open = library("libopen.so", &[]).refers("foo").refers("bar").refers("nowhere");
    lab.write("r/opt/app/lib/libopen.so", open.bytes());
    let bare = audit(&lab, "/opt/app", &[]);
    let foo = library("libfoo.so.1", &[]).defines("foo").defines("bar").defines("far");
    lab.write("r/usr/lib/x86_64-linux-gnu/libfoo.so.1", foo.bytes());
    let list = format!("{LIBS}/libfoo.so.1\n/usr/lib/private/libgone.so.2\n");
    lab.write(&format!("{INFO}/libfoo1.list"), list);
    let full = audit(&lab, "/opt/app", &[]);
    assert_ne!(bare.value, full.value, "the system adds evidence");
    assert_eq!(without_system(bare.value), without_system(full.value.clone()));
    assert_eq!(bare.status, full.status);
    // A library that defines more of the symbols comes first, and most are left out.
    for n in 0..5 {
        let one = library(&format!("liba{n}.so"), &[]).defines("foo");
        lab.write(&format!("r/usr/lib/x86_64-linux-gnu/liba{n}.so"), one.bytes());
    }
    let many = audit(&lab, "/opt/app", &[]);
    let of_foo = many.of_rule("undefined-symbol").find(|finding| finding["symbol"] == "foo");
    let names: Vec<String> = found(of_foo.expect("a finding"));
    let names = names.iter().map(|line| {
        line.split(['/', ' '])
            .find(|w| w.starts_with("lib") && w.contains(".so"))
            .unwrap_or_default()
    });
    assert_eq!(names.collect::<Vec<_>>(), ["libfoo.so.1", "liba0.so", "liba1.so"]);
}

/// An audit without undefined symbols and missing libraries lists no directory of the loader and
/// reads no list of dpkg.
#[test]
fn nothing_is_read_without_a_question() {
    if !support::has("strace") {
        return skip("nothing_is_read_without_a_question", "there is no strace");
    }
    let lab = system();
    lab.write("r/opt/app/lib/libapp.so", library("libapp.so", &[]).defines("foo").bytes());
    let list = format!("{LIBS}/libapp.so\n");
    lab.write(&format!("{INFO}/own.list"), list);
    let opened = || {
        let args = ["--isolated", "--root", "r", "/opt/app"];
        let (_, calls) = strace::linkaudit(&lab.root(), &args, "open,openat,openat2,getdents64");
        // The program under test loads its own libraries by absolute paths.
        let is_of_system = |call: &&String| {
            let in_sysroot = !call.contains("\"/lib/") && !call.contains("\"/usr/lib/");
            in_sysroot && (call.contains("x86_64-linux-gnu") || call.contains("dpkg"))
        };
        calls.iter().filter(is_of_system).count()
    };
    assert_eq!(opened(), 0, "a clean run");
    lab.write("r/opt/app/lib/libmore.so", library("libmore.so", &[]).refers("foo").bytes());
    assert_eq!(opened(), 0, "an audited file defines it");
    lab.write("r/opt/app/lib/libopen.so", library("libopen.so", &[]).refers("far").bytes());
    assert!(opened() > 0, "a symbol is undefined");
}

/// The packages that dpkg names for paths, by path; `database` replaces that of the system.
fn dpkg(paths: &BTreeSet<String>, database: Option<&Path>) -> BTreeMap<String, BTreeSet<String>> {
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let paths: Vec<&String> = paths.iter().collect();
    for some in paths.chunks(100) {
        let mut command = clean("dpkg-query");
        if let Some(database) = database {
            command.arg("--admindir").arg(database);
        }
        let output = command.arg("-S").args(some).output().expect("dpkg-query runs");
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((packages, path)) = line.split_once(": /") else { continue };
            let path = format!("/{path}");
            if packages.starts_with("diversion by ") || packages.starts_with("local diversion") {
                continue;
            }
            let bare = |package: &str| package.split(':').next().unwrap_or(package).to_owned();
            out.entry(path).or_default().extend(packages.split(", ").map(bare));
        }
    }
    out
}

/// The packages that own a path by dpkg's database: it knows the path as its lists spell it.
fn owners(known: &BTreeMap<String, BTreeSet<String>>, path: &str) -> BTreeSet<String> {
    let unmerged = path.strip_prefix("/usr").unwrap_or(path);
    [path, unmerged].iter().filter_map(|path| known.get(*path)).flatten().cloned().collect()
}

/// Shared paths, diverted ones, packages of two architectures and a merged `/usr`, with dpkg's
/// answers.
#[test]
fn packages_as_dpkg_names_them() {
    if !support::has("dpkg-query") {
        return skip("packages_as_dpkg_names_them", "there is no dpkg-query");
    }
    let lab = system();
    let lists = [
        ("libfoo1:amd64", "/lib/x86_64-linux-gnu/priv/libfoo.so.1\n"),
        ("libfoo1:i386", "/lib/i386-linux-gnu/priv/libfoo.so.1\n"),
        ("shared-a", "/usr/lib/shared/libshared.so\n"),
        ("shared-b", "/usr/lib/shared/libshared.so\n/usr/lib/b/libb.so\n"),
        ("orig", "/usr/lib/div/libdiv.so\n"),
        ("diverter", "/usr/lib/div/libdiv.so\n"),
        ("local", "/usr/lib/div/liblocal.so\n"),
    ];
    let mut status = String::new();
    for (package, list) in lists {
        lab.write(&format!("{INFO}/{package}.list"), list);
        let (name, arch) = package.split_once(':').unwrap_or((package, "amd64"));
        let same = if package.contains(':') { "Multi-Arch: same\n" } else { "" };
        status += &format!(
            "Package: {name}\nStatus: install ok installed\nMaintainer: none <none@localhost>\n\
             Architecture: {arch}\n{same}Version: 1\nDescription: none\n\n"
        );
    }
    lab.write("r/var/lib/dpkg/status", status);
    lab.write(&format!("{INFO}/format"), "1\n");
    let diversions = "/usr/lib/div/libdiv.so\n/usr/lib/div/libdiv.so.orig\ndiverter\n\
                      /usr/lib/div/liblocal.so\n/usr/lib/div/liblocal.so.real\n:\n";
    lab.write("r/var/lib/dpkg/diversions", diversions);
    let files = [
        "/usr/lib/x86_64-linux-gnu/priv/libfoo.so.1",
        "/usr/lib/i386-linux-gnu/priv/libfoo.so.1",
        "/usr/lib/shared/libshared.so",
        "/usr/lib/b/libb.so",
        "/usr/lib/div/libdiv.so",
        "/usr/lib/div/libdiv.so.orig",
        "/usr/lib/div/liblocal.so",
        "/usr/lib/div/liblocal.so.real",
    ];
    let mut needs: Vec<&str> = Vec::new();
    for path in files {
        let name = path.rsplit('/').next().expect("a name");
        lab.write(&format!("r{path}"), library(name, &[]).bytes());
        needs.push(name);
    }
    lab.write("r/opt/app/lib/libapp.so", library("libapp.so", &needs).bytes());
    let report = audit(&lab, "/opt/app", &[]);
    let mut ours: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in report.of_rule("missing-library").flat_map(|one| evidence(one, "candidate")) {
        ours.entry(text(&one["path"]).to_owned())
            .or_default()
            .insert(text(&one["package"]).to_owned());
    }
    let asked = files.iter().flat_map(|path| [(*path).to_owned(), path.replacen("/usr", "", 1)]);
    let known = dpkg(&asked.collect(), Some(&lab.path("r/var/lib/dpkg")));
    let mut differing = Vec::new();
    for path in files {
        let own = ours.get(path).cloned().unwrap_or_default();
        // dpkg names all packages whose lists have a diverted path, and the diversion beside them.
        let theirs = match path {
            "/usr/lib/div/libdiv.so" => BTreeSet::from(["diverter".to_owned()]),
            "/usr/lib/div/libdiv.so.orig" => {
                let mut all = owners(&known, "/usr/lib/div/libdiv.so");
                all.remove("diverter");
                all
            }
            "/usr/lib/div/liblocal.so" => BTreeSet::new(),
            "/usr/lib/div/liblocal.so.real" => owners(&known, "/usr/lib/div/liblocal.so"),
            path => owners(&known, path),
        };
        if own != theirs {
            differing.push(format!("{path}: we {own:?}, dpkg {theirs:?}"));
        }
    }
    println!("{} paths against dpkg-query -S, {} differences", files.len(), differing.len());
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Shared objects below `dir`, links included, sorted.
fn objects(dir: &Path, below: bool) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && below {
            out.extend(objects(&path, true));
        } else if !is_dir && path.to_string_lossy().contains(".so") {
            out.push(path);
        }
    }
    out.sort();
    out
}

/// Every library of this machine in evidence has the package that `dpkg -S` names.
#[test]
fn libraries_of_this_machine_as_dpkg_names_them() {
    if !support::has("dpkg-query") || !support::has("nm") || !Path::new(LIBS).exists() {
        return skip("libraries_of_this_machine", "this is no Debian with dpkg-query and nm");
    }
    let lab = Lab::new();
    // Names of private libraries, as needs.
    let searched: BTreeSet<String> = objects(Path::new(LIBS), false).iter().map(name).collect();
    let all = objects(Path::new("/usr/lib"), true);
    let private: BTreeSet<String> = all.iter().map(name).collect();
    let private: Vec<String> = private.difference(&searched).take(2_000).cloned().collect();
    let needs: Vec<&str> = private.iter().map(String::as_str).collect();
    lab.write("p/libneeds.so", library("libneeds.so", &needs).bytes());
    // A symbol of every fifth library of the default directory, as a reference.
    let mut symbols = 0;
    for path in objects(Path::new(LIBS), false).iter().step_by(5) {
        let output =
            clean("nm").args(["-D", "--defined-only", "--format=posix"]).arg(path).output();
        let output = output.expect("nm runs").stdout;
        let lines = String::from_utf8_lossy(&output).into_owned();
        let functions = lines.lines().filter(|line| line.contains(" T "));
        let symbol = functions.filter_map(|line| line.split([' ', '@']).next()).next_back();
        if let Some(symbol) = symbol {
            let own = format!("libuser{symbols}.so");
            lab.write(&format!("p/{own}"), library(&own, &[]).refers(symbol).bytes());
            symbols += 1;
        }
    }
    let mut command = linkaudit();
    let report = Report::of(command.args(["--isolated", "--no-inferred-hosts"]).arg(lab.path("p")));
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut unnamed = BTreeSet::new();
    for finding in report.findings() {
        for one in evidence(finding, "candidate") {
            if OF_SYSTEM.contains(&one["how"].as_str().unwrap_or_default()) {
                let path = report::path(&one["path"]);
                let dir = path.parent().and_then(|dir| std::fs::canonicalize(dir).ok());
                let Some(dir) = dir else { continue };
                let path = dir.join(name(&path)).display().to_string();
                match one["package"].as_str() {
                    Some(packages) => {
                        let packages = packages.split(", ").map(str::to_owned);
                        named.entry(path).or_default().extend(packages);
                    }
                    None => drop(unnamed.insert(path)),
                }
            }
        }
    }
    let paths: BTreeSet<String> = named.keys().chain(&unnamed).cloned().collect();
    let spelled = paths.iter().flat_map(|path| [path.clone(), path.replacen("/usr", "", 1)]);
    let known = dpkg(&spelled.collect(), None);
    let mut differing = Vec::new();
    for path in &paths {
        let (own, theirs) = (named.get(path).cloned().unwrap_or_default(), owners(&known, path));
        if own != theirs {
            differing.push(format!("{path}: we {own:?}, dpkg {theirs:?}"));
        }
    }
    println!(
        "{} needs and {symbols} symbols: {} libraries against dpkg -S, {} without package, {} differences",
        private.len(),
        paths.len(),
        unnamed.len(),
        differing.len()
    );
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(paths.len() > 50, "only {} libraries", paths.len());
}

fn name(path: impl AsRef<Path>) -> String {
    path.as_ref().file_name().expect("a name").to_string_lossy().into_owned()
}
