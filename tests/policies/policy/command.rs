//! Policies at the command line: the files that are read, their effect on a run, and `policy
//! check`, `show`, `init` and `schema`.

use super::tiny::Tiny;
use crate::support::{Lab, has, skip};
use serde_json::Value;
use std::path::Path;

struct Run {
    status: i32,
    out: String,
    err: String,
}

fn run(lab: &Lab, args: &[&str]) -> Run {
    let output = lab.linkaudit(args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text in UTF-8");
    let status = output.status.code().expect("an exit status, not a signal");
    Run { status, out: text(output.stdout), err: text(output.stderr) }
}

fn report(lab: &Lab, args: &[&str]) -> Value {
    let run = run(lab, &[args, &["--format", "json"]].concat());
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("no report: {}", run.err))
}

/// `p/liba.so`, which needs a library that does not exist and refers to a symbol of it.
fn lab() -> Lab {
    let lab = Lab::new();
    let library = Tiny::library("liba.so", ["libnone.so.1"]).refers("f");
    lab.write("p/liba.so", library.bytes());
    lab
}

fn policies(report: &Value) -> Vec<&str> {
    let names = report["policies"].as_array().expect("policies").iter();
    names.map(|name| name.as_str().expect("a name")).collect()
}

fn level(report: &Value) -> &str {
    let findings = report["findings"].as_array().expect("findings");
    let of_rule = |finding: &&Value| finding["rule"] == "missing-library";
    findings.iter().find(of_rule).map_or("allow", |f| f["level"].as_str().expect("a level"))
}

#[test]
fn a_policy_is_found_unless_another_is_named_or_none_is_wanted() {
    let lab = lab();
    assert_eq!(policies(&report(&lab, &["p"])), ["default"]);
    lab.write("linkaudit.toml", "schema = 1\n[levels]\nlibrary = \"allow\"\n");
    lab.write("own.toml", "schema = 1\n[levels]\nlibrary = \"warn\"\n");
    let cases: [(&[&str], &[&str], &str); 6] = [
        (&[], &["default", "linkaudit.toml"], "allow"),
        (&["--isolated"], &["default"], "error"),
        (&["--policy", "own.toml"], &["default", "own.toml"], "warning"),
        (&["--isolated", "--policy", "own.toml"], &["default", "own.toml"], "warning"),
        (
            &["--policy", "own.toml", "--policy", "./linkaudit.toml"],
            &["default", "own.toml", "linkaudit.toml"],
            "allow",
        ),
        (&["--policy", "own.toml", "-D", "library"], &["default", "own.toml"], "error"),
    ];
    for (args, names, expected) in cases {
        let report = report(&lab, &[&["p"], args].concat());
        assert_eq!(policies(&report), names, "{args:?}");
        assert_eq!(level(&report), expected, "{args:?}");
    }
}

#[test]
fn the_command_line_comes_last_and_a_rule_still_wins_over_its_group() {
    let lab = lab();
    lab.write("linkaudit.toml", "schema = 1\n[levels]\nmissing-library = \"allow\"\n");
    assert_eq!(level(&report(&lab, &["p"])), "allow");
    assert_eq!(level(&report(&lab, &["p", "-D", "missing-library"])), "error");
    assert_eq!(level(&report(&lab, &["p", "-D", "library"])), "allow");
}

#[test]
fn a_bad_policy_audits_nothing() {
    let lab = lab();
    lab.write("linkaudit.toml", "schema = 1\n[levels]\nlibary = \"allow\"\nsymbol = 1\n");
    for command in ["check", "tree"] {
        let run = run(&lab, &[command, "p"]);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{}", run.err);
        assert!(run.err.contains(" --> linkaudit.toml:3:1\n"), "{}", run.err);
        assert!(run.err.contains(" --> linkaudit.toml:4:10\n"), "{}", run.err);
        let last = "error: 2 errors in the policy: nothing was audited\n";
        assert!(run.err.ends_with(last), "{}", run.err);
        assert!(!run.err.contains('\u{1b}'));
    }
    assert_eq!(run(&lab, &["p", "--isolated"]).status, 1);
    assert!(run(&lab, &["p", "--color", "always"]).err.contains('\u{1b}'));
    assert_eq!(run(&lab, &["p", "--policy", "none.toml"]).status, 2);
}

#[test]
fn what_is_in_the_way_of_a_policy_is_not_passed_over() {
    let lab = lab();
    lab.mkdir("linkaudit.toml");
    let first = run(&lab, &["p"]);
    assert_eq!(first.status, 2, "{}", first.err);
    assert!(first.err.contains("linkaudit.toml: not a regular file"), "{}", first.err);
    std::fs::remove_dir(lab.path("linkaudit.toml")).expect("it is empty");
    lab.link("nowhere", "linkaudit.toml");
    assert_eq!(run(&lab, &["p"]).status, 2);
    assert_eq!(run(&lab, &["p", "--isolated"]).status, 1);
}

#[test]
fn a_provided_library_is_neither_opened_nor_missing() {
    let lab = lab();
    lab.write("p/libnone.so.1", "no ELF file, and nobody opens it");
    lab.write("linkaudit.toml", "schema = 1\n[provided]\nlibraries = [\"libnone.so.1\"]\n");
    let found = report(&lab, &["p/liba.so"]);
    assert_eq!(found["findings"].as_array().map(Vec::len), Some(0), "{}", found["findings"]);
    let needed = &found["files"][0]["needed"][0];
    assert_eq!((&needed["name"], &needed["how"]), (&"libnone.so.1".into(), &"provided".into()));
    assert_eq!((&needed["path"], &found["totals"]["assumed"]), (&Value::Null, &1.into()));
    let human = run(&lab, &["p/liba.so"]);
    assert_eq!(human.status, 0, "{}", human.out);
    let line = "assumed to be in libraries that the target system provides: libnone.so.1 (1)\n";
    assert!(human.out.contains(line), "{}", human.out);
    let tree = run(&lab, &["tree", "p/liba.so"]);
    assert!(tree.status == 0 && tree.out.contains("provided"), "{}", tree.out);
    let why = run(&lab, &["why", "libnone.so.1", "p/liba.so"]);
    assert!(why.out.contains("provided"), "{}{}", why.out, why.err);
    // A version that only the provided library could define is not a finding either.
    if !has("cc") {
        return skip("provided", "there is no C compiler");
    }
    lab.write("v.map", "V1 { f; };");
    lab.so(
        "q/libv.so.1",
        "int f(void) { return 1; }",
        &["-Wl,--version-script=v.map", "-Wl,-soname,libv.so.1"],
    );
    lab.so("q/libu.so", "int f(void); int g(void) { return f(); }", &["q/libv.so.1"]);
    lab.write("v.toml", "schema = 1\n[provided]\nlibraries = [\"libv.so.1\"]\n");
    let versioned = report(&lab, &["q/libu.so", "--policy", "v.toml"]);
    assert_eq!(versioned["findings"].as_array().map(Vec::len), Some(0), "{versioned:#}");
    assert_eq!(versioned["totals"]["assumed"], 0);
    assert_eq!(report(&lab, &["q/libu.so"])["findings"][0]["rule"], "missing-library");
}

#[test]
fn check_accepts_good_policies_and_counts_errors() {
    let lab = lab();
    lab.write("linkaudit.toml", "schema = 1\n[gpu]\ntargets = [\"gfx90a\"]\n");
    let found = run(&lab, &["policy", "check"]);
    assert_eq!((found.status, found.err.as_str()), (0, ""));
    assert!(found.out.contains("default, linkaudit.toml: no errors\n"), "{}", found.out);
    lab.write("bad.toml", "schema = 3\n");
    let bad = run(&lab, &["policy", "check", "bad.toml", "none.toml"]);
    assert_eq!((bad.status, bad.out.as_str()), (2, ""));
    assert!(bad.err.ends_with("error: 2 errors in the policy\n"), "{}", bad.err);
    assert_eq!(run(&lab, &["policy", "check", "rocm", "nix"]).status, 0);
}

/// Without any policy file, only the default is checked, and a message says so.
#[test]
fn check_says_that_there_is_no_policy() {
    let lab = lab();
    let none = run(&lab, &["policy", "check"]);
    assert_eq!((none.status, none.out.as_str()), (0, "default: no errors\n"));
    assert!(none.err.starts_with("no linkaudit.toml in the current directory"), "{}", none.err);
    assert!(none.err.ends_with("help: name a policy: linkaudit policy check FILE\n"));
    for args in [&["--isolated"][..], &["nix"], &["--policy", "nix"], &["-q"]] {
        let run = run(&lab, &[&["policy", "check"], args].concat());
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn show_reads_back_and_init_begins() {
    let lab = lab();
    let first = run(&lab, &["policy", "init"]);
    assert_eq!((first.status, first.err.as_str()), (0, ""));
    let again = run(&lab, &["policy", "init"]);
    assert_eq!((again.status, again.out.as_str()), (2, ""));
    assert_eq!(
        again.err,
        "error: linkaudit.toml: already exists\nhelp: name another file: linkaudit policy init FILE\n"
    );
    assert_eq!(run(&lab, &["policy", "check"]).status, 0);
    assert_eq!(run(&lab, &["p"]).status, run(&lab, &["p", "--isolated"]).status);
    let shown = run(&lab, &["policy", "show", "rocm", "-A", "input"]);
    assert!(shown.out.contains("input = \"allow\" # command line\n"), "{}", shown.out);
    lab.write("shown.toml", &shown.out);
    let second = run(&lab, &["policy", "show", "shown.toml"]);
    let bare = |text: &str| {
        let line = |line: &str| line.split(" # ").next().unwrap_or_default().to_owned();
        text.lines().skip(1).map(line).collect::<Vec<_>>()
    };
    assert_eq!(bare(&shown.out), bare(&second.out));
    assert_eq!(run(&lab, &["policy", "show", "--format", "json"]).status, 2);
}

/// The audit of `init --from` applies `linkaudit.toml`, so the new policy extends this file. A
/// finding about a waiver gets no waiver.
#[test]
fn a_first_policy_extends_the_policy_of_its_audit() {
    let lab = lab();
    let waive = |library: &str| {
        format!("[[waive]]\nrule = \"missing-library\"\nlibrary = \"{library}\"\nreason = \"r\"\n")
    };
    let old = ["schema = 1\n", &waive("libnone.so.1"), &waive("libgone.so.2")];
    lab.write("linkaudit.toml", old.concat());
    for file in ["new.toml", "p/new.toml"] {
        let made = run(&lab, &["policy", "init", "--from", "p", file]);
        assert!(made.status == 0 && made.err.contains("findings about waivers"), "{}", made.err);
        let text = std::fs::read_to_string(lab.path(file)).expect("a policy");
        assert!(text.contains("extends = [\"") && text.contains("linkaudit.toml\"]"), "{text}");
        assert!(!text.contains("stale-waiver") && !text.contains("libnone"), "{text}");
        let after = run(&lab, &["p", "--policy", file]);
        assert_eq!(after.status, 0, "{}", after.out);
    }
}

/// The contents of a platform are comments, which say what `--policy` demands of a wheel.
#[test]
fn show_lists_what_a_platform_provides() {
    let lab = lab();
    let shown = run(&lab, &["policy", "show", "manylinux_2_28_x86_64"]).out;
    for part in [
        "\"manylinux_2_28_x86_64\", # built-in manylinux_2_28_x86_64\n",
        "\n# manylinux_2_28_x86_64 provides on x86_64:\n#   lib",
        "libc.so.6,",
        "\n# manylinux_2_28_x86_64 has these newest symbol versions on x86_64:\n#   ",
        "GLIBC_2.28",
        "CXXABI_TM_1",
    ] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    // Names of versions that the platform's list has, or none: a family may have no number.
    let newest = run(&lab, &["policy", "show", "manylinux_2_36"]).out;
    assert!(newest.contains("GLIBC_ABI_DT_RELR"), "{newest}");
    let old = run(&lab, &["policy", "show", "manylinux_2_5"]).out;
    assert!(old.contains("ZLIB: none") && !old.contains("ZLIB_0"), "{old}");
    assert!(old.contains("newest symbol versions on i686, x86_64:"), "{old}");
    // musl has no symbol versions.
    let musl = run(&lab, &["policy", "show", "musllinux_1_2"]).out;
    assert!(musl.contains("provides on x86_64:") && !musl.contains("symbol versions"), "{musl}");
    assert!(shown.lines().all(|line| !line.starts_with("# ") || line.len() <= 100), "{shown}");
    let all = run(&lab, &["policy", "show", "manylinux_2_28"]).out;
    assert!(all.contains("newest symbol versions on aarch64:"), "{all}");
    lab.write("shown.toml", &all);
    let again = run(&lab, &["policy", "show", "shown.toml"]);
    assert!(again.out.contains("newest symbol versions on aarch64:"), "{}", again.err);
}

#[test]
fn schema_is_the_shipped_one() {
    let lab = lab();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policy.schema.json");
    let shipped = std::fs::read_to_string(shipped).expect("docs/policy.schema.json");
    assert_eq!(run(&lab, &["policy", "schema"]).out, shipped);
}
