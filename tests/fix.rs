//! `linkaudit fix` from outside: what it finds, proves, refuses and writes, and that every emitted file
//! does in its own tool what it says, whatever archives and symbols are called.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::format_push_string,
    clippy::print_stdout,
    unreachable_pub,
    reason = "tests run real tools, and say what they compared"
)]

mod support;
#[path = "support/tiny.rs"]
mod tiny;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Output;
use support::Lab;
use tiny::Tiny;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn sh(lab: &Lab, script: &str) -> Output {
    let output = support::clean("sh").current_dir(lab.root()).args(["-ec", script]).output();
    output.expect("sh runs")
}

/// Runs a script that must succeed.
fn tool(lab: &Lab, script: &str) -> String {
    let output = sh(lab, script);
    assert!(output.status.success(), "{script}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Compiles C into an object.
fn object(lab: &Lab, name: &str, source: &str) {
    lab.cc(name, source, &["-c", "-fPIC", "-ffunction-sections"], &[]);
}

/// Puts an object into an archive of any name.
fn archive(lab: &Lab, name: &OsStr, members: &[&str]) {
    let path = lab.root().join(name);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    let mut ar = support::clean("ar");
    ar.current_dir(lab.root()).arg("rcs").arg(&path).args(members);
    assert!(ar.status().expect("ar runs").success(), "ar {}", name.display());
}

/// Undefined symbols as the real `ldd -r` names them.
fn undefined(lab: &Lab, library: &str) -> BTreeSet<String> {
    let ldd = lab.ldd_r(library);
    let names = ldd.lines().filter_map(|line| line.trim().strip_prefix("undefined symbol: "));
    names.map(|name| name.split('\t').next().unwrap_or(name).to_owned()).collect()
}

/// A library linked from `libfat.a`, which was merged from `user` and `base`; `one` needs `two`, which
/// lies in another archive and needs `base` again.
fn three() -> Lab {
    let lab = Lab::new();
    object(&lab, "user.o", "int one(void), base(void); int user(void) { return one() + base(); }");
    object(&lab, "base.o", "int base(void) { return 1; }");
    object(&lab, "base2.o", "int base2(void) { return 1; }");
    object(&lab, "one.o", "int two(void); int one(void) { return two(); }");
    object(&lab, "two.o", "int base2(void); int two(void) { return base2(); }");
    object(&lab, "other.o", "int other(void) { return 4; }");
    for (name, members) in [
        ("own/libuser.a", &["user.o"][..]),
        ("parts/libbase.a", &["base.o", "base2.o"]),
        ("parts/libone.a", &["one.o"]),
        ("parts/libtwo.a", &["two.o"]),
        ("parts/libother.a", &["other.o"]),
        ("own/libfat.a", &["user.o", "base.o", "base2.o"]),
    ] {
        archive(&lab, OsStr::new(name), members);
    }
    lab.write("deps.cmake", "# the parts\nset(parts\nbase\n)\nset(own\nuser\n)\n");
    tool(&lab, "cc -shared -o own/libuser.so -Wl,-u,user own/libfat.a");
    lab
}

const PLACES: [&str; 4] = ["--lib-path", "own", "--lib-path", "parts"];

fn fix(lab: &Lab, more: &[&str]) -> Output {
    lab.linkaudit(&[&["fix", "own/libuser.so"], &PLACES[..], more].concat())
}

#[test]
fn what_is_needed_however_far_it_reaches_joins_the_right_set() {
    let lab = three();
    assert_eq!(undefined(&lab, "own/libuser.so"), BTreeSet::from(["one".to_owned()]));
    let run = fix(&lab, &["--deps-list", "deps.cmake", "--emit", "cmake-deps"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let new = "# the parts\nset(parts\nbase\none\ntwo\n)\nset(own\nuser\n)\n";
    assert_eq!(text(&run.stdout), new);
    assert!(
        text(&run.stderr)
            .contains("one: in libone.a\n        referenced by libfat.a(user.o, from libuser.a)\n")
    );
    // To a file: stdout has the summary, and the file is whole or not there.
    let to_file =
        ["--deps-list", "deps.cmake", "--emit", "cmake-deps", "-o", "cmake-deps=new.cmake"];
    let run = fix(&lab, &to_file);
    assert_eq!(run.status.code(), Some(0));
    assert!(text(&run.stdout).contains("add two to parts\n"), "{}", text(&run.stdout));
    assert_eq!(std::fs::read_to_string(lab.path("new.cmake")).expect("a list"), new);
    // A list that lacks nothing stays as it is, byte for byte.
    let run = lab.linkaudit(
        &[
            &["fix", "own/libuser.so"],
            &PLACES[..],
            &["--deps-list", "new.cmake", "--emit", "cmake-deps"],
        ]
        .concat(),
    );
    assert_eq!(text(&run.stdout), new);
}

#[test]
fn the_plan_as_data_follows_the_schema() {
    let lab = three();
    let run = fix(&lab, &["--deps-list", "deps.cmake", "--format", "json"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let schema = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report.schema.json"));
    let schema = serde_json::from_slice(&schema.expect("the schema")).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = schema.iter_errors(&report).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let finding = report["findings"].as_array().expect("findings").iter();
    let mut finding = finding.filter(|finding| finding["rule"] == "undefined-symbol");
    let fix = finding.next().expect("a finding")["fix"].clone();
    let entry = |name: &str| {
        serde_json::json!({
            "intent": "add-to-list", "list": "deps.cmake", "set": "parts", "entry": name,
            "level": "safe", "proven": true, "unknown": null,
        })
    };
    assert_eq!(fix, serde_json::json!([entry("one"), entry("two")]));
}

#[test]
fn a_policy_names_the_list_and_where_its_archives_lie() {
    let lab = three();
    let policy = "schema = 1\n[[archive]]\nmatch = \"**/libfat.a\"\ndeps-list = \"deps.cmake\"\n\
                  from = { own = \"parts\", parts = \"own\" }\n";
    lab.write("policy.toml", policy);
    let args = ["fix", "own/libuser.so", "--policy", "policy.toml", "--emit", "cmake-deps"];
    let run = lab.linkaudit(&args);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    // The policy says that archives of `parts` belong to the set `own`, whatever lies there now.
    let new = "# the parts\nset(parts\nbase\n)\nset(own\none\ntwo\nuser\n)\n";
    assert_eq!(text(&run.stdout), new);
    // A list that is not there is a finding of a check, and the end of a fix.
    std::fs::remove_file(lab.path("deps.cmake")).expect("a list");
    assert_eq!(lab.linkaudit(&args).status.code(), Some(2));
    let run = lab.linkaudit(&["own/libuser.so", "--policy", "policy.toml"]);
    assert!(text(&run.stdout).contains("error[deps-list-drift]"), "{}", text(&run.stdout));
}

#[test]
fn what_cannot_be_proven_is_said() {
    let lab = three();
    // No candidate: nothing defines `two` any more, so `one` would not help.
    std::fs::remove_file(lab.path("parts/libtwo.a")).expect("an archive");
    let run = fix(&lab, &["--deps-list", "deps.cmake"]);
    let out = text(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{out}");
    assert!(
        out.contains("not proven: two, referenced by what it adds, would be undefined"),
        "{out}"
    );
    std::fs::remove_file(lab.path("parts/libone.a")).expect("an archive");
    let run = fix(&lab, &["--deps-list", "deps.cmake"]);
    let out = text(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{out}");
    let who = "no candidate defines one\n        referenced by libfat.a(user.o, from libuser.a)\n";
    assert!(out.contains(who), "{out}");
}

#[test]
fn the_merged_archive_is_named_or_found() {
    let lab = three();
    tool(&lab, "cp own/libfat.a own/libsecond.a");
    let list = ["--deps-list", "deps.cmake", "--emit", "cmake-deps"];
    let run = fix(&lab, &list);
    let err = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{err}");
    assert!(err.contains("own/libfat.a") && err.contains("own/libsecond.a"), "{err}");
    let run = fix(&lab, &[&list[..], &["--archive", "own/libfat.a"]].concat());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    tool(&lab, "rm own/libfat.a own/libsecond.a");
    let run = fix(&lab, &list);
    let err = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{err}");
    assert!(err.contains("no archive at hand holds members"), "{err}");
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    let lab = three();
    lab.write("bad.cmake", "set(parts\nbase\n${more}\n)\n");
    lab.write("broken.cmake", "set(parts\n");
    let cases: &[(&[&str], &str)] = &[
        (&["--emit", "nothing"], "there is no emitter `nothing`"),
        (&["--emit", "cmake-deps"], "name it with --deps-list FILE"),
        (&["--emit", "mri", "--emit", "ldflags"], "only one emitter can write to stdout"),
        (&["--emit", "mri", "--format", "json"], "both write to stdout"),
        (&["--deps-list", "none.cmake"], "none.cmake: no such file or directory"),
        (&["--deps-list", "bad.cmake"], "bad.cmake:3: `${more}` is no bare name"),
        (&["--deps-list", "broken.cmake"], "broken.cmake:1: a command has no closing"),
        (&["--emit", "ldflags", "-o", "ldflags=own/libuser.so"], "which is never changed"),
        (&["--emit", "ldflags", "-o", "ldflags=parts/x"], "is searched for archives"),
        (&["--emit", "ldflags", "-o", "ldflags=none/x"], "none/x cannot be written"),
        (&["--archive", "deps.cmake"], "deps.cmake is no static archive"),
        (&["-o", "nothing=x"], "has no output `nothing`"),
    ];
    for (args, words) in cases {
        let run = fix(&lab, args);
        let err = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.to_lowercase().contains(&words.to_lowercase()), "{args:?}: {err}");
    }
    assert!(!lab.path("parts/x").exists());
}

#[test]
fn minimal_drops_what_nothing_needs() {
    let lab = three();
    archive(&lab, OsStr::new("own/libfat.a"), &["other.o"]);
    lab.write("deps.cmake", "set(parts\nbase\nother\n)\nset(own\nuser\n)\n");
    let minimal = ["--deps-list", "deps.cmake", "--emit", "cmake-deps", "--minimal"];
    let run = fix(&lab, &minimal);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert_eq!(text(&run.stdout), "set(parts\nbase\none\ntwo\n)\nset(own\nuser\n)\n");
    // Without a symbol table nobody knows what was taken.
    tool(&lab, "strip own/libuser.so");
    let run = fix(&lab, &minimal);
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("no symbol table"), "{}", text(&run.stderr));
}

/// Names that mean something to a shell, CMake, `ar -M`, TOML or a linker.
const HOSTILE: &[&[u8]] = &[
    b"a b",
    b"semi;colon",
    b"$(touch pwned)",
    b"`touch pwned`",
    b"quo\"te's",
    b"]]brackets[[",
    b"new\nline",
    b"back\\slash",
    b"#hash",
    b"(paren)",
    b"*star?",
    b"${VAR}",
    b"-dash",
    b"@at",
    b"tab\ttab",
    b"\xff\xfe",
    "bidi\u{202e}".as_bytes(),
    b"CACHE",
    b"plain",
];

/// A library that lacks one function from each of so many archives of hostile names.
fn hostile() -> Lab {
    let lab = Lab::new();
    let mut calls = String::from("int user(void) { return 0");
    let mut declared = String::new();
    for (at, name) in HOSTILE.iter().enumerate() {
        object(&lab, &format!("m{at}.o"), &format!("int f{at}(void) {{ return {at}; }}"));
        let file = [b"parts/lib", *name, b".a"].concat();
        archive(&lab, OsStr::from_bytes(&file), &[&format!("m{at}.o")]);
        declared += &format!("int f{at}(void);\n");
        calls += &format!(" + f{at}()");
    }
    object(&lab, "user.o", &format!("{declared}{calls}; }}"));
    object(&lab, "base.o", "int base(void) { return 1; }");
    archive(&lab, OsStr::new("own/libuser.a"), &["user.o"]);
    archive(&lab, OsStr::new("parts/libbase.a"), &["base.o"]);
    archive(&lab, OsStr::new("own/libfat.a"), &["user.o", "base.o"]);
    lab.write("deps.cmake", "set(parts\nbase\n)\nset(own\nuser\n)\n");
    tool(&lab, "cc -shared -o own/libuser.so -Wl,-u,user own/libfat.a");
    assert_eq!(undefined(&lab, "own/libuser.so").len(), HOSTILE.len());
    lab
}

fn not_run(lab: &Lab) {
    assert!(!lab.path("pwned").exists(), "a name was run");
}

#[test]
fn hostile_names_as_flags_of_a_link() {
    let lab = hostile();
    let run = fix(&lab, &["--emit", "ldflags", "-o", "ldflags=flags"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let link = "cc -shared -o %.so -Wl,-u,user own/libfat.a";
    let flags = std::fs::read(lab.path("flags")).expect("flags");
    let script = [link.replace('%', "shell").as_bytes(), b" ", flags.as_slice()].concat();
    std::fs::write(lab.path("script"), script).expect("a script");
    tool(&lab, "sh -e ./script");
    tool(&lab, &format!("{} @flags", link.replace('%', "response")));
    for library in ["shell.so", "response.so"] {
        assert_eq!(undefined(&lab, library), BTreeSet::new(), "{library}");
    }
    not_run(&lab);
    println!("ldflags: {} names, 2 ways, 0 differences", HOSTILE.len());
}

/// Names that the run says it left out.
fn refused(run: &Output, emitter: &str) -> usize {
    let start = format!("linkaudit: {emitter}: ");
    text(&run.stderr).lines().filter(|line| line.starts_with(&start)).count()
}

#[test]
fn hostile_names_in_a_script_for_ar() {
    let lab = hostile();
    let run = fix(&lab, &["--emit", "mri", "-o", "mri=script"]);
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    tool(&lab, "ar -M <script");
    let members = tool(&lab, "ar t libfat.a");
    let count = members.lines().count();
    assert_eq!(count + refused(&run, "mri"), 2 + HOSTILE.len(), "{members}{}", text(&run.stderr));
    assert!(members.contains("m12.o") && members.contains("m18.o"), "{members}");
    not_run(&lab);
    println!("mri: {} names, {} refused by name", HOSTILE.len(), refused(&run, "mri"));
}

#[test]
fn hostile_names_in_a_list() {
    if !support::has("cmake") {
        return support::skip("hostile_names_in_a_list", "needs cmake");
    }
    let lab = hostile();
    let run = fix(
        &lab,
        &["--deps-list", "deps.cmake", "--emit", "cmake-deps", "-o", "cmake-deps=new.cmake"],
    );
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stdout));
    lab.write("print.cmake", "include(new.cmake)\nmessage(\"${parts}\")\n");
    let output = sh(&lab, "cmake -P print.cmake");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).trim(), "-dash;base;plain");
    assert_eq!(refused(&run, "cmake-deps"), HOSTILE.len() - 2, "{}", text(&run.stderr));
    not_run(&lab);
    println!("cmake-deps: {} names, {} refused by name", HOSTILE.len(), HOSTILE.len() - 2);
}

#[test]
fn hostile_symbols_in_waivers() {
    let lab = Lab::new();
    let names = [
        "plain",
        "a b",
        "quo\"te",
        "back\\slash",
        "new\nline",
        "bidi\u{202e}",
        "$(touch pwned)",
        "*[x]?{a,b}",
        "]]",
        "ünï",
        "-dash",
        "#x",
    ];
    let library = names.iter().fold(Tiny::library("odd.so", [""; 0]), |t, name| t.refers(name));
    lab.write("p/li[b]*.so", library.bytes());
    let run = lab.linkaudit(&["fix", "p", "--emit", "policy-waivers"]);
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    let waivers = text(&run.stdout);
    assert_eq!(waivers.matches("[[waive]]\n").count(), names.len(), "{waivers}");
    // As they are they say nothing, which no policy accepts; nothing else is wrong with them.
    lab.write("empty.toml", format!("schema = 1\n{waivers}"));
    lab.write(
        "full.toml",
        format!("schema = 1\n{}", waivers.replace("reason = \"\"", "reason = \"known\"")),
    );
    let check = lab.linkaudit(&["policy", "check", "empty.toml"]);
    assert_eq!(check.status.code(), Some(2), "{}", text(&check.stdout));
    let check = lab.linkaudit(&["policy", "check", "full.toml"]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
    not_run(&lab);
    println!("policy-waivers: {} symbols, 0 differences", names.len());
}
