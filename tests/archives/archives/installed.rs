//! `linkaudit archive --self`: the archives of a prefix that cannot be linked with the files there.
//! A laboratory has every reason why a name is defined or undefined; archives of this system are
//! tested too. lld links each archive as a whole, followed by all other archives and shared
//! libraries, and prints the undefined names.

use super::kit::{ar, archive, object, run, undefined};
use crate::support::random::step;
use crate::support::{Lab, clean, has, linkaudit, skip};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

const LLD: &str = "ld.lld-19";
/// Every `STEP`th archive of the system is linked with lld, which takes more than a second for
/// each.
const STEP: usize = 12;

type Names = BTreeSet<String>;

fn names(list: &[&str]) -> Names {
    list.iter().map(|name| (*name).to_owned()).collect()
}

fn strings(list: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    list.as_array().expect("a list").iter().map(text).collect()
}

/// The names of each archive that cannot be linked, by its path: undefined ones and unknown ones.
fn broken(answer: &Value) -> BTreeMap<String, (Names, Names)> {
    let list = answer["self"]["archives"].as_array().expect("archives").iter();
    let set = |value: &Value| strings(value).into_iter().collect();
    list.map(|one| {
        let path = one["archive"].as_str().expect("a path").to_owned();
        (path, (set(&one["undefined"]), set(&one["unknown"])))
    })
    .collect()
}

/// The members of `libbad.a`: `use.o` refers to everything.
const USE: &str = ".globl use\nuse:\n.quad gone\n.quad def\n.quad shared_fn\n.quad old\n\
    .quad _ZN1A1fEv\n.quad out_fn\n.quad from_start\n.quad __start_own\n.weak maybe\n.quad maybe\n\
    .quad main\n.quad __dso_handle\n.section own,\"aw\"\n.quad 0\n";
/// No shared library satisfies a hidden reference.
const HID: &str = ".globl hid\n.hidden shared_fn\nhid: .quad shared_fn\n";
/// Linkers discard the reference of this section, or do not report it.
const DEBUG: &str =
    ".globl debug\ndebug: .quad 0\n.section .note1,\"\",@progbits\n.quad only_debug\n";
/// A section of the program decides.
const START: &str = ".globl start\nstart: .quad __start_nosuch\n";

fn lab() -> Lab {
    let lab = Lab::new();
    for dir in ["p/lib", "out", "more", "good", "opaque"] {
        lab.mkdir(dir);
    }
    let sources = [
        ("use.o", USE),
        ("hid.o", HID),
        ("debug.o", DEBUG),
        ("start.o", START),
        ("def.o", ".globl def\ndef: .quad use\n"),
        ("more.o", ".globl gone\ngone: .quad nowhere\n"),
        ("p/lib/crt1.o", ".globl from_start\nfrom_start: .quad main\n"),
        ("p/lib/plain.o", ".globl gone\ngone: .quad 0\n"),
        (
            "shared.o",
            ".globl shared_fn\nshared_fn: .quad 0\n.globl o\no: .quad 0\n.symver o, old@V1\n",
        ),
        ("out.o", ".globl out_fn\nout_fn: .quad 0\n"),
    ];
    for (name, source) in sources {
        object(&lab, name, source);
    }
    lab.write("versions", "V1 { global: old; };\n");
    let link = |out: &str, inputs: &[&str]| {
        run(clean("ld").current_dir(lab.root()).args(["-shared", "-o", out]).args(inputs));
    };
    link("p/lib/libshared.so", &["shared.o", "--version-script=versions"]);
    link("out/libout.so", &["out.o"]);
    let script = format!("/* GNU ld script */\nINPUT({})\n", lab.path("out/libout.so").display());
    lab.write("p/lib/libscript.so", script);
    lab.write("p/lib/notes.so", "no linker script\n");
    ar(&lab, "rc", "p/lib/libbad.a", &["use.o", "hid.o", "debug.o", "start.o"]);
    ar(&lab, "rc", "p/lib/libpart.a", &["hid.o", "use.o"]);
    ar(&lab, "rc", "p/lib/libgood.a", &["def.o"]);
    ar(&lab, "rc", "more/libmore.a", &["more.o"]);
    lab
}

/// The names that lld leaves undefined in `archive` if all of it is linked before `others`.
fn lld(cwd: &Path, archive: &str, others: &[&str]) -> Names {
    let output = clean(LLD)
        .current_dir(cwd)
        .args(["--threads=1", "--no-demangle", "-o", "/dev/null", "--warn-unresolved-symbols"])
        .args(["-z", "muldefs", "--allow-shlib-undefined", "--error-limit=0", "--defsym", "main=0"])
        .args(["--whole-archive", archive, "--no-whole-archive"])
        .args(others)
        .output()
        .expect("lld runs");
    let (mut out, mut name) = (Names::new(), None);
    let inside = format!("in archive {archive}");
    let text = String::from_utf8_lossy(&output.stderr);
    // lld ends before it looks for undefined names.
    assert!(!text.contains("is incompatible with"), "{archive}: {text}");
    for line in text.lines() {
        if let Some((before, symbol)) = line.split_once(" symbol: ") {
            name = before.contains("undefined").then(|| symbol.to_owned());
        } else if line.contains(&inside) {
            out.extend(name.clone());
        }
    }
    out
}

#[test]
fn every_reason_why_a_name_is_defined_or_not() {
    let lab = lab();
    let (answer, status) = archive(&lab.root(), &["--self", "p"]);
    let found = broken(&answer);
    let bad = lab.path("p/lib/libbad.a").display().to_string();
    let expected = names(&["gone", "old", "_ZN1A1fEv", "shared_fn"]);
    assert_eq!(found.keys().collect::<Vec<_>>(), [&bad], "{answer}");
    assert_eq!(found[&bad], (expected.clone(), names(&["__start_nosuch"])), "{answer}");
    assert_eq!((status, undefined(&answer)), (Some(1), expected.clone()));
    assert_eq!(answer["complete"], false);
    let part = lab.path("p/lib/libpart.a").display().to_string();
    assert_eq!(strings(&answer["self"]["archives"][0]["parts"]), [part]);
    assert_eq!(answer["self"]["libraries"], 2);
    let list = answer["undefined"].as_array().expect("undefined").iter();
    let of = |name: &str| list.clone().find(|one| one["symbol"] == name).expect("the name");
    assert_eq!(of("_ZN1A1fEv")["demangled"], "A::f()");
    let members: Vec<&Value> =
        of("shared_fn")["by"].as_array().expect("by").iter().map(|by| &by["member"]).collect();
    assert_eq!(members, ["hid.o"]);
    if !has(LLD) {
        return skip("every_reason_why_a_name_is_defined_or_not", "lld-19 is not installed");
    }
    let others = [
        "p/lib/libgood.a",
        "p/lib/libpart.a",
        "p/lib/crt1.o",
        "p/lib/libshared.so",
        "out/libout.so",
    ];
    let theirs = lld(&lab.root(), "p/lib/libbad.a", &others);
    let both: Names = expected.into_iter().chain(names(&["__start_nosuch"])).collect();
    println!("lld: 1 archive, {} undefined names", theirs.len());
    assert_eq!(theirs, both);
}

/// libc.so.6 can be started, so it has PT_INTERP as programs do.
#[test]
fn a_library_with_an_interpreter_defines_names() {
    let lab = Lab::new();
    lab.mkdir("p");
    object(&lab, "a.o", ".data\n.globl a\na: .quad run\n");
    ar(&lab, "rc", "p/liba.a", &["a.o"]);
    let run_me =
        ".data\n.globl run\nrun: .quad 0\n.section .interp,\"a\"\n.asciz \"/lib64/ld.so\"\n";
    object(&lab, "run.o", run_me);
    let ld = |args: &[&str]| run(clean("ld").current_dir(lab.root()).args(args));
    ld(&["-shared", "-soname=librun.so", "-o", "p/librun.so", "run.o"]);
    ld(&["-shared", "-z", "defs", "-o", "new.so", "--whole-archive", "p/liba.a", "p/librun.so"]);
    let (answer, status) = archive(&lab.root(), &["--self", "p"]);
    assert_eq!((status, undefined(&answer)), (Some(0), Names::new()), "{answer}");
    assert_eq!(answer["self"]["libraries"], 1);
}

/// GCC adds libgcc.a to every link. This archive defines helpers that no header declares.
#[test]
#[cfg(target_arch = "x86_64")]
fn the_archives_of_the_compiler_define_names() {
    let lab = Lab::new();
    lab.mkdir("p");
    lab.mkdir("r/p");
    lab.write("wide.c", "__int128 halve(__int128 a, __int128 b) { return a / b; }\n");
    run(clean("gcc").current_dir(lab.root()).args(["-fPIC", "-c", "wide.c"]));
    for dir in ["p", "r/p"] {
        ar(&lab, "rc", &format!("{dir}/libwide.a"), &["wide.o"]);
    }
    let link = ["-shared", "-Wl,-z,defs", "-Wl,--whole-archive", "p/libwide.a"];
    let link = [&link[..], &["-Wl,--no-whole-archive", "-o", "libwide.so"]].concat();
    run(clean("gcc").current_dir(lab.root()).args(link));
    let (answer, status) = archive(&lab.root(), &["--self", "p"]);
    assert_eq!((status, undefined(&answer)), (Some(0), Names::new()), "{answer}");
    // The sysroot has no compiler.
    let (answer, status) = archive(&lab.root(), &["--root", "r", "--self", "/p"]);
    assert_eq!((status, undefined(&answer)), (Some(1), names(&["__divti3"])), "{answer}");
}

#[test]
fn more_places_sysroots_and_what_cannot_be_read() {
    let lab = lab();
    // An archive of --from defines names, and its own undefined names are not reported.
    let (answer, _) = archive(&lab.root(), &["--self", "p", "--from", "more"]);
    assert_eq!(undefined(&answer), names(&["old", "_ZN1A1fEv", "shared_fn"]));
    let (_, status) =
        archive(&lab.root(), &["--self", "p", "--self", "more", "--fail-on", "never"]);
    assert_eq!(status, Some(3), "a section of the program decides");
    // A path of a script leads nowhere in a sysroot.
    let root = lab.root();
    let (answer, _) = archive(&root, &["--root", ".", "--self", "/p"]);
    assert!(undefined(&answer).contains("out_fn"), "{answer}");
    assert!(broken(&answer).contains_key("/p/lib/libbad.a"), "{answer}");
    // A single archive that has everything.
    ar(&lab, "rc", "good/libboth.a", &["def.o", "debug.o"]);
    object(&lab, "only.o", ".globl use\nuse: .quad def\n");
    ar(&lab, "rc", "good/libonly.a", &["only.o"]);
    let (answer, status) = archive(&root, &["--self", "good"]);
    assert_eq!((status, &answer["complete"]), (Some(0), &Value::Bool(true)), "{answer}");
    assert_eq!(broken(&answer), BTreeMap::new());
    // Bitcode without symbols and without an index may define anything.
    lab.write("code.bc", b"BC\xc0\xde");
    ar(&lab, "rc", "opaque/libcode.a", &["code.bc"]);
    ar(&lab, "rc", "opaque/libbad.a", &["hid.o"]);
    let (answer, status) = archive(&root, &["--self", "opaque"]);
    assert_eq!((status, undefined(&answer)), (Some(3), Names::new()), "{answer}");
    let found: Vec<(Names, Names)> = broken(&answer).into_values().collect();
    assert_eq!(found, [(Names::new(), names(&["shared_fn"]))]);
    for (args, text) in [
        (&["--self", "out"][..], "no static archive"),
        (&["--self", "p", "--all-members"], "cannot be used with"),
    ] {
        let output = linkaudit().current_dir(&root).arg("archive").args(args).output();
        let output = output.expect("linkaudit runs");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(text), "{output:?}");
    }
}

#[test]
fn people_read_names_members_and_copies() {
    let lab = lab();
    let show = |args: &[&str]| {
        let output = linkaudit().current_dir(lab.root()).arg("archive").args(args).output();
        String::from_utf8(output.expect("linkaudit runs").stdout).expect("UTF-8")
    };
    let text = show(&["--self", "p"]);
    for line in [
        "libbad.a: 4 undefined symbols, referenced by 2 of 4 members",
        "libbad.a: 1 unknown symbol, referenced by 1 of 4 members",
        "\n    A::f() [_ZN1A1fEv]  by use.o\n",
        "    members also in ",
        "4 undefined symbols: 2 of 3 archives cannot be linked; 2 shared libraries searched\n",
        "help: no C library was read",
    ] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    let table = show(&["--self", "p", "--format", "table"]);
    assert!(table.contains("2 of 3 archives cannot be linked"), "{table}");
    // Copies are one entry, and their cost does not grow with pairs.
    let copy = std::fs::read(lab.path("p/lib/libbad.a")).expect("an archive");
    for n in 0..500 {
        lab.mkdir("copies");
        lab.write(&format!("copies/lib{n}.a"), &copy);
    }
    let (answer, _) = archive(&lab.root(), &["--self", "copies"]);
    assert_eq!(answer["self"]["archives"].as_array().map(Vec::len), Some(1));
    assert_eq!(strings(&answer["self"]["archives"][0]["parts"]).len(), 499);
}

/// Archives and shared libraries of x86-64 below `dirs`, links resolved.
fn files(dirs: &[&str]) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    let (mut archives, mut shared) = (BTreeSet::new(), BTreeSet::new());
    for entry in dirs.iter().flat_map(walkdir::WalkDir::new).flatten() {
        let Ok(path) = entry.path().canonicalize() else { continue };
        let mut head = [0; 20];
        let read = std::fs::File::open(&path).and_then(|mut file| file.read_exact(&mut head));
        if !path.is_file() || read.is_err() {
            continue;
        }
        // Valgrind and gcc have archives for x86 and x32 too.
        let text = path.to_string_lossy();
        let is_other = ["-x86-linux", "/32/", "/x32/"].iter().any(|part| text.contains(part));
        if head.starts_with(b"!<arch>\n") && !is_other {
            archives.insert(path);
        } else if head.starts_with(b"\x7fELF\x02") && (head[16], head[18]) == (3, 62) {
            let is_library = entry.file_name().to_string_lossy().contains(".so");
            shared.extend(is_library.then_some(path));
        }
    }
    (archives, shared)
}

#[test]
fn archives_of_this_system_as_lld_links_them() {
    const TEST: &str = "archives_of_this_system_as_lld_links_them";
    const DIR: &str = "/usr/lib/x86_64-linux-gnu";
    const GCC: &str = "/usr/lib/gcc/x86_64-linux-gnu/12";
    if !has(LLD) || !Path::new(GCC).is_dir() {
        return skip(TEST, "lld-19 or gcc 12 is not installed");
    }
    let (archives, shared) = files(&[DIR, GCC]);
    let found = broken(&archive(Path::new("/"), &["--self", DIR, "--from", GCC]).0);
    let mut others: Vec<String> =
        ["crt1.o", "crti.o", "crtn.o"].map(|n| format!("{DIR}/{n}")).into();
    others.extend(["crtbegin.o", "crtend.o"].map(|name| format!("{GCC}/{name}")));
    others.extend(archives.iter().chain(&shared).map(|path| path.display().to_string()));
    let is_broken = |path: &Path| found.contains_key(path.to_str().unwrap_or_default());
    let picked = archives
        .iter()
        .enumerate()
        .filter(|(at, path)| at % (STEP * step(4)) == 0 || is_broken(path));
    let (mut cases, mut compared, mut wrong) = (0, 0, Vec::new());
    for (_, path) in picked.filter(|(_, path)| path.starts_with(DIR)) {
        let text = path.display().to_string();
        let others: Vec<&str> =
            others.iter().map(String::as_str).filter(|other| *other != text).collect();
        let theirs = lld(Path::new("/"), &text, &others);
        let ours = found.get(&text).map(|(undefined, _)| undefined.clone()).unwrap_or_default();
        (cases, compared) = (cases + 1, compared + theirs.len());
        wrong.extend(
            (theirs != ours).then(|| format!("{text}: lld {theirs:?}, linkaudit {ours:?}")),
        );
    }
    println!("lld: {cases} archives, {compared} undefined names, {} differences", wrong.len());
    assert!(cases > 0 && wrong.is_empty(), "{}", wrong.join("\n"));
    // libpq.a needs libpgcommon.a and libpgport.a, which Debian's libpq-dev does not install.
    let libpq = format!("{DIR}/libpq.a");
    if Path::new(&libpq).exists() && !Path::new(&format!("{DIR}/libpgcommon.a")).exists() {
        assert!(found[&libpq].0.contains("pg_strong_random"));
    }
}
