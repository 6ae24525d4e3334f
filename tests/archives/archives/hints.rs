//! Hints of `linkaudit archive`. Packages of added archives are compared with dpkg, pkg-config
//! and CMake. Definitions that nearly fit undefined names are compared with `nm` and `c++filt`.

use super::kit::{ar, archive, object, run, undefined};
use crate::support::random::step;
use crate::support::{Lab, clean, has, linkaudit, skip};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const LIBS: &str = "/usr/lib/x86_64-linux-gnu";
const LLVM: &str = "/usr/lib/llvm-19/lib";

fn stdout(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Static archives in a directory, sorted, without linker scripts.
fn archives(dir: &str) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let paths =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "a"));
    let is_archive = |path: &std::path::PathBuf| {
        use std::io::Read as _;
        let mut magic = [0; 8];
        let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
        read.is_ok() && &magic == b"!<arch>\n"
    };
    let mut out: Vec<String> =
        paths.filter(is_archive).map(|path| path.display().to_string()).collect();
    out.sort();
    out
}

/// For each archive, a symbol that it defines and no earlier archive defines.
fn symbols(archives: &[String]) -> Vec<String> {
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut out = Vec::new();
    for path in archives {
        let text = stdout(clean("nm").args(["--defined-only", "-g", "--format=posix", path]));
        let strong = text.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let (name, kind) = (words.next()?, words.next()?);
            (["T", "D", "R"].contains(&kind) && !name.starts_with("__")).then(|| name.to_owned())
        });
        let strong: Vec<String> = strong.collect();
        out.extend(strong.iter().find(|name| !known.contains(*name)).cloned());
        known.extend(strong);
    }
    out
}

/// The owners of the archives that these symbols lead to, by path.
fn owners(lab: &Lab, dirs: &[&str], symbols: &[String]) -> BTreeMap<String, Value> {
    object(lab, "none.o", ".globl none_of_all\nnone_of_all: .quad 0\n");
    ar(lab, "rc", "libnone.a", &["none.o"]);
    let words: String = symbols.iter().map(|name| format!("--root-symbol {name}\n")).collect();
    lab.write("rsp", words);
    let mut args = vec!["libnone.a", "@rsp"];
    for dir in dirs {
        args.extend(["--from", dir]);
    }
    let (answer, _) = archive(&lab.root(), &args);
    let needed = answer["needed"].as_array().expect("needed").clone();
    needed
        .into_iter()
        .map(|one| (one["archive"].as_str().expect("a path").to_owned(), one["owner"].clone()))
        .collect()
}

/// The path without links.
fn real(path: &str) -> String {
    std::fs::canonicalize(path).expect("the archive").display().to_string()
}

/// The package of each file by its path without links, as dpkg names it. dpkg may have the file
/// below / instead of /usr. One query asks about all files, because each query reads the whole
/// database.
fn packages_of<'a>(paths: impl Iterator<Item = &'a String>) -> BTreeMap<String, String> {
    let real: Vec<String> = paths.map(|path| real(path)).collect();
    let unmerged = real.iter().map(|path| path.replacen("/usr", "", 1));
    let text = stdout(clean("dpkg-query").arg("-S").args(&real).args(unmerged));
    let lines = text.lines().filter_map(|line| line.split_once(": /"));
    let mut out = BTreeMap::new();
    for (package, path) in lines {
        let package = package.split(':').next().unwrap_or(package).to_owned();
        let path = path.strip_prefix("usr/").unwrap_or(path);
        out.entry(format!("/usr/{path}")).or_insert(package);
    }
    out
}

/// Every static archive of this machine: the packages that dpkg names for it, pkg-config packages
/// that link it from its directory, and CMake targets with its path.
#[test]
fn owners_of_the_archives_of_this_machine() {
    let tools = ["dpkg-query", "pkg-config", "cmake", "nm"];
    if tools.iter().any(|tool| !has(tool)) || !Path::new(LIBS).exists() {
        return skip(
            "owners_of_the_archives_of_this_machine",
            "dpkg, pkg-config, cmake or nm lacks",
        );
    }
    let lab = Lab::new();
    let mut all: Vec<_> = archives(LIBS).into_iter().step_by(step(4)).collect();
    all.extend(archives(LLVM).into_iter().step_by(7 * step(4)));
    let found = owners(&lab, &[LIBS, LLVM], &symbols(&all));
    let mut differing = Vec::new();
    let (mut packages, mut configs) = (0, 0);
    let of_dpkg = packages_of(found.keys());
    for (path, owner) in &found {
        let theirs = of_dpkg.get(&real(path)).cloned();
        let ours = owner["package"].as_str().map(str::to_owned);
        packages += usize::from(ours.is_some());
        if ours.as_deref().map(|one| one.split(':').next().unwrap_or(one)) != theirs.as_deref() {
            differing.push(format!("{path}: we {ours:?}, dpkg {theirs:?}"));
        }
        if let Some(package) = owner["pkg_config"].as_str() {
            configs += 1;
            let dir = Path::new(path).parent().expect("a directory").join("pkgconfig");
            let libs =
                stdout(clean("pkg-config").env("PKG_CONFIG_PATH", &dir).args(["--libs", package]));
            let file = Path::new(path).file_stem().expect("a name").to_string_lossy().into_owned();
            let flag = file.replacen("lib", "-l", 1);
            if !libs.split_whitespace().any(|word| word == flag) {
                differing.push(format!("{path}: pkg-config {package} says {libs}"));
            }
        }
    }
    // Packages whose first library is an archive here: one of them must be named.
    let list = stdout(clean("pkg-config").arg("--list-all"));
    let mut expected = 0;
    for package in list.lines().filter_map(|line| line.split(' ').next()) {
        let libs = stdout(clean("pkg-config").args(["--libs-only-l", package]));
        let own = libs.split_whitespace().next().and_then(|flag| flag.strip_prefix("-l"));
        let Some(own) = own else { continue };
        let Some(owner) = found.get(&format!("{LIBS}/lib{own}.a")) else { continue };
        let text =
            std::fs::read_to_string(format!("{LIBS}/pkgconfig/{package}.pc")).unwrap_or_default();
        if text.lines().any(|line| line.starts_with("Libs:") && line.contains(&format!("-l{own}")))
        {
            expected += 1;
            if owner["pkg_config"].is_null() {
                differing.push(format!("lib{own}.a: pkg-config package {package} is not named"));
            }
        }
    }
    let targets = cmake(&lab, &found, &mut differing);
    println!(
        "{} archives, {packages} packages against dpkg -S, {configs} of pkg-config ({expected} must be), \
         {targets} targets of CMake, {} differences",
        found.len(),
        differing.len()
    );
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(found.len() > 20 && packages > 20, "only {} archives", found.len());
}

/// Asks CMake for the file of each target; returns their number.
fn cmake(lab: &Lab, found: &BTreeMap<String, Value>, differing: &mut Vec<String>) -> usize {
    let mut packages: BTreeMap<(&str, &str), Vec<(&str, &str)>> = BTreeMap::new();
    for (path, owner) in found.iter().filter(|(_, owner)| owner["cmake"].is_object()) {
        let word = |key: &str| owner["cmake"][key].as_str().expect("a text");
        let root = if path.starts_with(LLVM) { LLVM } else { LIBS };
        packages.entry((word("package"), root)).or_default().push((path, word("target")));
    }
    let mut targets = 0;
    for (at, ((package, root), all)) in packages.iter().enumerate() {
        let mut text = format!(
            "cmake_minimum_required(VERSION 3.13)\nproject(x C CXX)\nset(CMAKE_PREFIX_PATH {root}/..)\n\
             set(Boost_USE_STATIC_LIBS ON)\nfind_package({package} REQUIRED CONFIG)\n"
        );
        for (path, target) in all {
            targets += 1;
            text += &format!(
                "get_target_property(x {target} LOCATION)\nget_filename_component(x \"${{x}}\" REALPATH)\n\
                 get_filename_component(y {path} REALPATH)\nif(NOT x STREQUAL y)\n\
                 message(\"differs: {path}: {target} is ${{x}}\")\nendif()\n"
            );
        }
        lab.write(&format!("c{at}/CMakeLists.txt"), text);
        let mut command = clean("cmake");
        let dir = lab.path(&format!("c{at}"));
        let output = command.arg("-S").arg(&dir).arg("-B").arg(dir.join("b")).output();
        let output = output.expect("cmake runs");
        let error = String::from_utf8_lossy(&output.stderr);
        differing.extend(error.lines().filter(|line| line.contains("differs:")).map(str::to_owned));
        // Debian splits some packages, and CMake refuses the rest of them.
        let is_split = error.contains("but this file does not exist");
        if !output.status.success() && !is_split {
            differing.push(format!("{package}: {error}"));
        }
    }
    targets
}

/// Each function of an archive with another parameter list: the near miss is the function.
#[test]
fn other_parameter_lists_of_real_functions() {
    let path = format!("{LLVM}/libLLVMObject.a");
    if !Path::new(&path).exists() || !has("c++filt") {
        return skip(
            "other_parameter_lists_of_real_functions",
            "there is no llvm-19-dev or c++filt",
        );
    }
    let lab = Lab::new();
    let text = stdout(clean("nm").args(["--defined-only", "-g", "--format=posix", &path]));
    let defined: BTreeSet<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let functions =
        text.lines().filter(|line| line.contains(" T ")).filter_map(|l| l.split(' ').next());
    // Two more parameters, of types that no substitution abbreviates.
    let changed: Vec<(String, &str)> = functions
        .filter(|name| name.starts_with("_ZN") && !name.contains("C1") && !name.contains("C2"))
        .map(|name| (format!("{}xb", name.strip_suffix('v').unwrap_or(name)), name))
        .filter(|(new, _)| !defined.contains(&**new))
        .step_by(3)
        .take(300)
        .collect();
    let source: String = changed.iter().map(|(new, _)| format!(".quad {new}\n")).collect();
    object(&lab, "use.o", &source);
    let (answer, _) = archive(&lab.root(), &[&path, "--root-object", "use.o"]);
    let plain = |names: &[&str]| -> Vec<String> {
        let text = stdout(clean("c++filt").arg("-p").args(names));
        text.lines().map(str::to_owned).collect()
    };
    let mut differing = Vec::new();
    let mut cases = 0;
    for one in answer["undefined"].as_array().expect("undefined") {
        let name = one["symbol"].as_str().expect("a text");
        let Some((_, old)) = changed.iter().find(|(new, _)| new == name) else { continue };
        cases += 1;
        let first = one["near_misses"][0].clone();
        let near = first["symbol"].as_str().unwrap_or_default();
        let [ours, theirs] = [near, *old].map(|name| plain(&[name]));
        if ours != theirs || first["reason"] != "other parameters" || first["member"].is_null() {
            differing.push(format!("{name}: {first}, expected {old}"));
        }
    }
    println!("{cases} changed functions of {}, {} differences", changed.len(), differing.len());
    assert!(differing.is_empty(), "{}", differing[..differing.len().min(20)].join("\n"));
    assert!(cases > 100, "{answer}");
}

/// The near misses of each undefined name, as text.
fn near(answer: &Value) -> BTreeMap<String, Vec<String>> {
    let list = answer["undefined"].as_array().expect("undefined").iter();
    let word =
        |value: &Value| value.as_str().unwrap_or("-").rsplit('/').next().unwrap_or("-").to_owned();
    let words =
        |one: &Value| ["symbol", "version", "path", "member"].map(|key| word(&one[key])).join(" ");
    list.map(|one| {
        let near = one["near_misses"].as_array().expect("near misses").iter();
        let near =
            near.map(|one| format!("{}: {}", words(one), one["reason"].as_str().unwrap_or("-")));
        (one["symbol"].as_str().expect("a text").to_owned(), near.collect())
    })
    .collect()
}

#[test]
fn every_kind_of_near_miss() {
    let lab = Lab::new();
    let refers = [
        "old",
        "versioned",
        "foreign",
        "_ZN1A1fEi",
        "_ZNK1A1gEv",
        "_ZN1A1hB5cxx11Ev",
        "_ZN1B4lostEv",
        "_ZN1C1xEv",
        "_ZTV1D",
        "_ZTIN1n1EE",
        "nowhere",
    ];
    let source: String = refers.iter().map(|name| format!(".quad {name}\n")).collect();
    object(&lab, "use.o", &source);
    let defined = [
        "_ZN1A1fEl",
        "_ZN1A1gEv",
        "_ZN1A1hEv",
        "_ZN1B4keptEv",
        "_ZN1D4keptEv",
        "_ZNK1n1E4keptEv",
        "unrelated",
    ];
    let source: String =
        defined.iter().map(|name| format!(".globl {name}\n{name}: .quad 0\n")).collect();
    object(&lab, "def.o", &source);
    let source = ".globl v\nv: .quad 0\n.symver v, versioned@OTHER\n";
    object(&lab, "ver.o", source);
    object(&lab, "o.o", ".globl o\no: .quad 0\n.symver o, old@V1\n");
    lab.write("versions", "V1 { global: old; };\n");
    let shared = ["-shared", "-o", "libold.so", "o.o", "--version-script=versions"];
    run(clean("ld").current_dir(lab.root()).args(shared));
    let foreign = lab.write("foreign.s", ".globl foreign\nforeign: .long 0\n");
    run(clean("as").current_dir(lab.root()).args(["--32", "-o", "foreign.o"]).arg(foreign));
    ar(&lab, "rc", "libdef.a", &["def.o", "ver.o", "foreign.o"]);
    let args = ["libdef.a", "--root-object", "use.o", "--root-object", "libold.so"];
    let (answer, status) = archive(&lab.root(), &args);
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let expected = [
        ("old", list(&["old V1 libold.so -: another version"])),
        ("versioned", list(&["versioned OTHER libdef.a ver.o: another version"])),
        ("foreign", list(&["foreign - libdef.a foreign.o: another class or machine"])),
        ("_ZN1A1fEi", list(&["_ZN1A1fEl - libdef.a def.o: other parameters"])),
        ("_ZNK1A1gEv", list(&["_ZN1A1gEv - libdef.a def.o: other qualifiers"])),
        ("_ZN1A1hB5cxx11Ev", list(&["_ZN1A1hEv - libdef.a def.o: another [abi:…] tag"])),
        ("_ZN1B4lostEv", list(&["_ZN1B4keptEv - libdef.a def.o: same class or namespace"])),
        ("_ZN1C1xEv", list(&[])),
        ("_ZTV1D", list(&["_ZN1D4keptEv - libdef.a def.o: same class or namespace"])),
        ("_ZTIN1n1EE", list(&["_ZNK1n1E4keptEv - libdef.a def.o: same class or namespace"])),
        ("nowhere", list(&[])),
    ];
    let expected: BTreeMap<String, Vec<String>> =
        expected.into_iter().map(|(name, near)| (name.to_owned(), near)).collect();
    assert_eq!(near(&answer), expected, "{answer}");
    assert_eq!(status, Some(1));
    // GNU ld reports the same names.
    let mut link = clean("ld");
    let link = link.current_dir(lab.root()).args([
        "-shared",
        "-z",
        "defs",
        "--no-demangle",
        "-o",
        "out.so",
    ]);
    let output = link.args(["use.o", "libdef.a", "libold.so"]).output().expect("ld runs");
    // GNU ld takes the member for another machine, with a warning.
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let theirs: BTreeSet<String> = error
        .lines()
        .filter_map(|line| line.split_once("undefined reference to `"))
        .map(|(_, name)| name.trim_end_matches('\'').to_owned())
        .collect();
    let mut ours = undefined(&answer);
    assert!(
        ours.remove("foreign") && error.contains("libdef.a(foreign.o)' is incompatible"),
        "{error}"
    );
    assert_eq!(ours, theirs, "{error}");
    let output = linkaudit().current_dir(lab.root()).arg("archive").args(args).output();
    let text = String::from_utf8(output.expect("linkaudit runs").stdout).expect("UTF-8");
    assert!(
        text.contains("near miss: A::f(long) [_ZN1A1fEl] in libdef.a(def.o): other parameters"),
        "{text}"
    );
}

/// Near misses are in the order of the archives. An archive of the C++ library comes first only if
/// it is given first.
#[test]
fn near_misses_are_in_the_order_of_the_archives() {
    let lab = Lab::new();
    object(&lab, "use.o", ".quad _ZN1A1fEi\n");
    let of = |name: &str| format!(".globl {name}\n{name}: .quad 0\n");
    object(&lab, "own.o", &of("_ZN1A1fEl"));
    object(&lab, "other.o", &of("_ZN1A1fEc"));
    ar(&lab, "rc", "libown.a", &["own.o"]);
    ar(&lab, "rc", "libstdc++.a", &["other.o"]);
    let own = "_ZN1A1fEl - libown.a own.o: other parameters".to_owned();
    let other = "_ZN1A1fEc - libstdc++.a other.o: other parameters".to_owned();
    for (archives, expected) in [
        (["libown.a", "libstdc++.a"], [own.clone(), other.clone()]),
        (["libstdc++.a", "libown.a"], [other, own]),
    ] {
        let args = [&["--linker", "gnu", "use.o"], &archives[..]].concat();
        let (answer, _) = archive(&lab.root(), &args);
        assert_eq!(near(&answer)["_ZN1A1fEi"], expected, "{answer}");
    }
}

/// The answer names the archive that defines a name before the reference to it.
#[test]
fn a_definition_before_the_reference() {
    let lab = Lab::new();
    object(&lab, "use.o", ".globl main\nmain: .quad before\n");
    object(&lab, "def.o", ".globl before\nbefore: .quad 0\n");
    ar(&lab, "rc", "libdef.a", &["def.o"]);
    let args = ["archive", "libdef.a", "use.o", "--linker", "gnu"];
    let text = String::from_utf8(lab.linkaudit(&args).stdout).expect("UTF-8");
    assert!(text.contains("undefined before: not taken from libdef.a(def.o)"), "{text}");
    let link =
        clean("ld").current_dir(lab.root()).args(["-o", "out", "libdef.a", "use.o"]).output();
    let error = String::from_utf8_lossy(&link.expect("ld runs").stderr).into_owned();
    assert!(error.contains("undefined reference to `before'"), "{error}");
}

/// A `[[provider]]` entry names an archive that is not given, but that a package of the system
/// has.
#[test]
fn an_archive_that_a_policy_names() {
    let lab = Lab::new();
    object(&lab, "use.o", ".quad LLVMInitializeX86TargetInfo\n");
    object(&lab, "none.o", ".globl none\nnone: .quad 0\n");
    lab.mkdir("r/usr/lib/llvm-9/lib");
    lab.link("usr/lib", "r/lib");
    ar(&lab, "rc", "r/libnone.a", &["none.o"]);
    std::fs::copy(lab.path("use.o"), lab.path("r/use.o")).expect("a copy");
    ar(&lab, "rc", "r/usr/lib/llvm-9/lib/libLLVMX86Info.a", &["none.o"]);
    let list = "/usr/lib/llvm-9/lib/libLLVMX86Info.a\n/usr/lib/gone/libLLVMX86Info.a\n";
    lab.write("r/var/lib/dpkg/info/llvm-9-dev.list", list);
    let cmake = "set_target_properties(LLVMX86Info PROPERTIES\n  IMPORTED_LINK_INTERFACE_LANGUAGES_NONE \"CXX\"\n  \
                 IMPORTED_LOCATION_NONE \"${_IMPORT_PREFIX}/lib/libLLVMX86Info.a\"\n  )\n";
    lab.write("r/usr/lib/llvm-9/lib/cmake/llvm/LLVMExports-none.cmake", cmake);
    lab.write("r/usr/lib/llvm-9/lib/cmake/llvm/LLVMConfig.cmake", "set(LLVM_FOUND ON)\n");
    let args = ["--root", "r", "/libnone.a", "--root-object", "/use.o"];
    let (answer, _) = archive(&lab.root(), &args);
    let hint = &answer["undefined"][0]["archives"][0];
    assert_eq!(hint["name"], "LLVMX86Info", "{answer}");
    let installed = hint["installed"].as_array().expect("a list");
    let words: Vec<(&str, bool, &str, &str)> = installed
        .iter()
        .map(|one| {
            let text = |value: &Value| value.as_str().unwrap_or("-").to_owned().leak() as &str;
            (
                text(&one["path"]),
                one["exists"] == true,
                text(&one["package"]),
                text(&one["cmake"]["target"]),
            )
        })
        .collect();
    let expected = [
        ("/usr/lib/gone/libLLVMX86Info.a", false, "llvm-9-dev", "-"),
        ("/usr/lib/llvm-9/lib/libLLVMX86Info.a", true, "llvm-9-dev", "LLVMX86Info"),
    ];
    assert_eq!(words, expected, "{answer}");
    // With the archive among the files nothing else is named.
    let more = [&args[..], &["--from", "/usr/lib/llvm-9/lib"]].concat();
    let (answer, _) = archive(&lab.root(), &more);
    assert!(answer["undefined"][0]["archives"].as_array().expect("a list").is_empty(), "{answer}");
}

/// A merged archive that lacks a function has a near miss in another archive.
#[test]
fn a_near_miss_of_an_uncovered_symbol() {
    let lab = Lab::new();
    object(&lab, "use.o", ".globl use\nuse: .quad _ZN1A1fEi\n");
    object(&lab, "def.o", ".globl _ZN1A1fEl\n_ZN1A1fEl: .quad 0\n");
    lab.mkdir("p");
    ar(&lab, "rc", "p/libfat.a", &["use.o"]);
    ar(&lab, "rc", "p/libother.a", &["def.o"]);
    let policy = "schema = 1\n[[archive]]\nmatch = \"**/libfat.a\"\ncovers = [\"_ZN1A*\"]\n";
    lab.write("policy.toml", policy);
    let args = ["check", "--isolated", "--policy", "policy.toml", "p"];
    let text = String::from_utf8(lab.linkaudit(&args).stdout).expect("UTF-8");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let near = "near miss A::f(long) [_ZN1A1fEl] in libother.a(def.o): other parameters";
    assert!(words.contains(near), "{text}");
}

/// A linker script in a directory of `--from` stands for the archives that it names, wherever
/// these are: GNU ld links the same archives with `-l`.
#[test]
fn scripts_in_directories_name_archives() {
    let lab = Lab::new();
    object(&lab, "a.o", ".globl a\na: .quad b\n.quad c\n");
    object(&lab, "b.o", ".globl b\nb: .quad 0\n");
    object(&lab, "c.o", ".globl c\nc: .quad 0\n");
    for dir in ["p", "far"] {
        lab.mkdir(dir);
    }
    ar(&lab, "rc", "liba.a", &["a.o"]);
    ar(&lab, "rc", "far/libreal.a", &["b.o"]);
    ar(&lab, "rc", "p/libother.a", &["c.o"]);
    let far = lab.path("far/libreal.a");
    let text = format!("/* GNU ld script */\nGROUP ( AS_NEEDED ( {} ) -lother )\n", far.display());
    lab.write("p/libfoo.so", text);
    lab.write("p/notes.a", "no script\n");
    let args = ["liba.a", "--root-symbol", "a", "--from", "p"];
    let (answer, status) = archive(&lab.root(), &args);
    assert!(undefined(&answer).is_empty() && status == Some(0), "{answer}");
    let needed = super::kit::members(&answer);
    assert_eq!(needed, ["liba.a(a.o)", "libother.a(c.o)", "libreal.a(b.o)"]);
    let link = ["-shared", "-z", "defs", "-o", "out.so", "-u", "a", "liba.a", "-Lp", "-lfoo"];
    run(clean("ld").current_dir(lab.root()).args(link));
}
