//! `linkaudit diff`: each of its rules on a case and a counter-case, the lost and changed symbols
//! compared with readelf, and a complete release gate.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;
use crate::support::{device, random};

use random::{Random, amount, number};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use support::Lab;

const SHAPES: &str = "extern \"C\" int area(int x) { return x; } extern \"C\" int scale(int x) { return x; } \
                      extern \"C\" { int origin[2] = {1, 2}; }";

/// A directory `name` with lib/libshapes.so.1 and bin/tool, which calls `area`.
fn prefix(lab: &Lab, name: &str, source: &str, soname: &str) {
    lab.mkdir(&format!("{name}/lib"));
    lab.write("shapes.cc", source);
    let library = format!("{name}/lib/{soname}");
    let shared = format!("g++ -shared -fPIC shapes.cc -o {library} -Wl,-soname,{soname}");
    assert!(lab.sh(&shared).status.success(), "{shared}");
    lab.sh(&format!("ln -s {soname} {name}/lib/libshapes.so"));
    lab.mkdir(&format!("{name}/bin"));
    lab.write("tool.c", "int area(int); int main(void) { return area(1); }");
    let program = format!(
        "gcc tool.c -o {name}/bin/tool {library} -Wl,--allow-shlib-undefined,--enable-new-dtags \
         '-Wl,-rpath,$ORIGIN/../lib'"
    );
    let _ = lab.sh(&program);
}

/// The formats of `diff` besides `json`.
const FORMATS: &[&str] =
    &["human", "table", "sarif", "junit", "github", "gitlab", "gcc", "markdown"];

fn diff(lab: &Lab, args: &[&str]) -> (Value, Option<i32>) {
    let all = [&["diff"], args, &["--format", "json", "--isolated"]].concat();
    let output = lab.linkaudit(&all);
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{args:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)));
    (value, output.status.code())
}

/// `rule level` of each finding, sorted.
fn rules(value: &Value) -> Vec<String> {
    let findings = value["findings"].as_array().expect("findings");
    let word = |f: &Value, key: &str| f[key].as_str().unwrap_or_default().to_owned();
    let mut out: Vec<String> =
        findings.iter().map(|f| format!("{} {}", word(f, "rule"), word(f, "level"))).collect();
    out.sort();
    out
}

#[test]
fn outputs_are_the_same_for_any_number_of_threads() {
    let lab = Lab::new();
    prefix(&lab, "base", SHAPES, "libshapes.so.1");
    prefix(&lab, "next", "extern int wanted; int x = wanted;", "libshapes.so.1");
    let of_check = FORMATS.iter().copied().chain(["json", "dot", "ldd"]);
    let check = of_check.map(|format| vec!["check", "next", "--format", format]);
    let of_diff = FORMATS.iter().copied().chain(["json"]);
    let diff = of_diff.map(|format| vec!["diff", "base", "next", "--format", format]);
    let (mut runs, mut wrong) = (0, Vec::new());
    for args in check.chain(diff) {
        let [one, two, eight] = ["1", "2", "8"].map(|threads| {
            let output = lab.linkaudit(&[&args[..], &["--isolated", "-j", threads]].concat());
            assert!(!output.stdout.is_empty(), "{args:?}: {output:?}");
            output.stdout
        });
        runs += 3;
        if one != two || one != eight {
            wrong.push(format!("{args:?}"));
        }
    }
    println!("threads and outputs: {runs} runs, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_lost_hardening_is_found_if_its_rules_run() {
    let lab = Lab::new();
    for (side, flag) in [("old", "-Wl,-z,relro"), ("new", "-Wl,-z,norelro")] {
        lab.so(&format!("{side}/libf.so.1"), "int f;", &["-Wl,-soname,libf.so.1", flag]);
    }
    assert_eq!(rules(&diff(&lab, &["old", "new"]).0), [""; 0]);
    assert_eq!(rules(&diff(&lab, &["old", "new", "-W", "hardening"]).0), ["missing-relro warning"]);
}

#[test]
fn a_waiver_that_is_needed_no_more_is_not_worse() {
    let lab = Lab::new();
    let lost = "int lost(void); int f(void) { return lost(); }";
    for (side, source) in [("old", lost), ("new", "int f(void) { return 1; }")] {
        lab.so(&format!("{side}/libf.so.1"), source, &["-Wl,-soname,libf.so.1"]);
    }
    let waiver =
        "schema = 1\n[[waive]]\nrule = \"undefined-symbol\"\nsymbol = \"lost\"\nreason = \"r\"\n";
    lab.write("waive.toml", waiver);
    let check = lab.linkaudit(&["check", "new", "--policy", "waive.toml", "--format", "json"]);
    assert!(String::from_utf8_lossy(&check.stdout).contains("\"rule\":\"stale-waiver\""));
    let output =
        lab.linkaudit(&["diff", "old", "new", "--policy", "waive.toml", "--format", "json"]);
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((rules(&value), output.status.code()), (Vec::new(), Some(0)));
}

#[test]
fn a_file_with_a_difference_is_not_the_same() {
    let lab = Lab::new();
    let lost = "int lost(void); int f(void) { return lost(); }";
    let library = |side: &str, dir: &str, source: &str| {
        lab.so(&format!("{side}/{dir}/libf.so.1"), source, &["-Wl,-soname,libf.so.1"]);
    };
    for side in ["linked", "bare"] {
        library(side, "lib", "int f(void) { return 1; }");
    }
    lab.link("libf.so.1", "linked/lib/libf.so");
    library("broken", "lib", lost);
    for dir in ["a", "b"] {
        library("two", dir, "int f(void) { return 1; }");
    }
    library("one", "a", "int f(void) { return 1; }");
    lab.mkdir("one/b");
    lab.link("../a/libf.so.1", "one/b/libf.so.1");
    // A file that loads a removed library differs, too.
    library("both", "lib", "int f(void) { return 1; }");
    let needed = lab.path("both/lib/libf.so.1").display().to_string();
    let flags = [&*needed, "-Wl,-rpath,$ORIGIN"];
    lab.so("both/lib/libg.so.1", "int f(void); int g(void) { return f(); }", &flags);
    lab.mkdir("user/lib");
    std::fs::copy(lab.path("both/lib/libg.so.1"), lab.path("user/lib/libg.so.1")).expect("a copy");
    lab.write(
        "policy.toml",
        "schema = 1\n[[waive]]\nrule = \"removed-library\"\npath = \"**\"\nreason = \"r\"\n",
    );
    // Sides and options, then the numbers of new, waived, fixed and equal things.
    let cases: [(&[&str], [u64; 4]); 6] = [
        (&["bare", "linked"], [0, 0, 0, 1]),
        (&["linked", "bare"], [1, 0, 0, 0]),
        (&["linked", "bare", "--policy", "policy.toml"], [0, 1, 0, 0]),
        (&["broken", "bare"], [0, 0, 1, 0]),
        // A file that takes the place of two is one file.
        (&["two", "one"], [0, 0, 0, 1]),
        (&["both", "user"], [1, 0, 0, 0]),
    ];
    for (args, expected) in cases {
        let value = diff(&lab, &[args, &["-A", "link-hygiene"]].concat()).0;
        let many = |key: &str| value[key].as_array().map_or(0, Vec::len) as u64;
        let number = |key: &str| value[key].as_u64().expect("a number");
        let found = [many("findings"), number("waived"), many("fixed"), number("same_files")];
        assert_eq!(found, expected, "{args:?}: {value:#}");
    }
}

#[test]
fn a_reason_why_json_is_no_report_is_said_once() {
    let lab = Lab::new();
    lab.write("cut.json", "{\"schema\": \"linkaudit.report/1\"");
    let output = lab.linkaudit(&["diff", "cut.json", "cut.json", "--isolated"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.matches("EOF").count()), (Some(2), 1), "{said}");
}

#[test]
fn every_rule_has_a_case_and_a_counter_case() {
    let lab = Lab::new();
    prefix(&lab, "base", SHAPES, "libshapes.so.1");
    let program = std::fs::read(lab.path("base/bin/tool")).expect("the program");
    let variant = |name: &str, source: &str, soname: &str| {
        prefix(&lab, name, source, soname);
        std::fs::write(lab.path(&format!("{name}/bin/tool")), &program).expect("the program");
        lab.sh(&format!("chmod +x {name}/bin/tool"));
    };
    variant("same", SHAPES, "libshapes.so.1");
    let unused = SHAPES.replace("extern \"C\" int scale(int x) { return x; }", "");
    variant("unused", &unused, "libshapes.so.1");
    let used = SHAPES.replace("extern \"C\" int area(int x) { return x; }", "");
    variant("used", &used, "libshapes.so.1");
    variant("bump", SHAPES, "libshapes.so.2");
    variant("larger", &SHAPES.replace("origin[2]", "origin[4]"), "libshapes.so.1");
    variant("gone", SHAPES, "libshapes.so.1");
    lab.sh("rm gone/lib/libshapes.so*");
    variant("more", &format!("{SHAPES} int more;"), "libshapes.so.1");
    variant("weak", &format!("{SHAPES} asm(\".weak area\");"), "libshapes.so.1");
    variant("needs", SHAPES, "libshapes.so.1");
    lab.sh("gcc tool.c -o needs/bin/tool needs/lib/libshapes.so.1 -Wl,--no-as-needed,--enable-new-dtags -lm '-Wl,-rpath,$ORIGIN/../lib'");
    variant("pathless", SHAPES, "libshapes.so.1");
    lab.sh("gcc tool.c -o pathless/bin/tool pathless/lib/libshapes.so.1");
    variant("renamed", SHAPES, "libshapes.so.1");
    lab.sh("mv renamed/lib/libshapes.so.1 renamed/lib/libshapes.so");
    variant("moved", SHAPES, "libshapes.so.1");
    lab.sh("mv moved/lib/libshapes.so.1 moved/lib/libshapes.so.1.0 && ln -s libshapes.so.1.0 moved/lib/libshapes.so.1");
    variant("unlinked", SHAPES, "libshapes.so.1");
    lab.sh("rm unlinked/lib/libshapes.so");
    let cases: &[(&str, &[&str], i32)] = &[
        ("renamed", &["removed-library error", "soname-mismatch warning"], 1),
        ("moved", &[], 0),
        ("unlinked", &["removed-library error"], 1),
        ("same", &[], 0),
        ("more", &[], 0),
        ("unused", &["removed-symbol warning"], 0),
        ("used", &["removed-symbol error"], 1),
        ("bump", &["changed-soname error"], 1),
        ("larger", &["changed-symbol warning"], 0),
        ("gone", &["removed-library error"], 1),
        ("weak", &["changed-symbol warning"], 0),
        ("needs", &["added-need error"], 1),
        ("pathless", &["lost-search-path error", "missing-library error"], 1),
    ];
    let mut wrong = Vec::new();
    for (name, expected, status) in cases {
        let (value, code) = diff(&lab, &["base", name]);
        if rules(&value) != *expected || code != Some(*status) {
            wrong.push(format!("{name}: {:?} {code:?}", rules(&value)));
        }
        // With the option, a lost symbol or file fails the run, used or not.
        let strict = lab.linkaudit(&["diff", "--isolated", "--fail-on-gone", "base", name]);
        let is_gone = ["unused", "used", "bump", "gone", "renamed", "unlinked"].contains(name);
        if strict.status.code() != Some(i32::from(*status == 1 || is_gone)) {
            wrong.push(format!("{name} with --fail-on-gone: {strict:?}"));
        }
        // The output shows an error for each run that fails.
        let args = ["diff", "--isolated", "--fail-on-gone", "--format", "junit", "base", name];
        let junit = lab.linkaudit(&args);
        if String::from_utf8_lossy(&junit.stdout).contains("<failure ") == strict.status.success() {
            wrong.push(format!("{name} as JUnit: {junit:?}"));
        }
        // Reports of the two sides say the same.
        for side in ["base", name] {
            let output = lab.linkaudit(&["--isolated", "--facts", "--format", "json", side]);
            lab.write(&format!("{side}.json"), &output.stdout);
        }
        let (read, code) = diff(&lab, &["base.json", &format!("{name}.json")]);
        if rules(&read) != *expected || code != Some(*status) {
            wrong.push(format!("{name} by reports: {:?} {code:?}", rules(&read)));
        }
    }
    println!("diff: {} cases, {} differences", 3 * cases.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lost_targets_are_found() {
    let lab = Lab::new();
    let sides: [(&str, &[&str], &[&str]); 4] = [
        ("base", &["gfx90a", "gfx1030"], &[]),
        ("fewer", &["gfx90a"], &["lost-target error"]),
        ("family", &["gfx90a", "gfx10-3-generic"], &[]),
        ("other", &["gfx906"], &["lost-target error", "lost-target error"]),
    ];
    for (name, targets, _) in sides {
        let part = lab.write(&format!("{name}.bundle"), device::bundle(targets, 4096));
        let runtime = "void __hipRegisterFatBinary(const void *p) { (void)p; }";
        let flags = ["-Wl,-soname,libamdhip64.so.6"];
        lab.so(&format!("{name}/lib/libamdhip64.so.6"), runtime, &flags);
        let source = device::host_source("work", &[&part.display().to_string()]);
        let path = format!("-L{name}/lib");
        let rest = ["-l:libamdhip64.so.6", "-Wl,-rpath,$ORIGIN", "-Wl,-soname,libwork.so"];
        lab.so(&format!("{name}/lib/libwork.so"), &source, &[&[&*path], &rest[..]].concat());
        let output = lab.linkaudit(&["--isolated", "--facts", "--format", "json", name]);
        lab.write(&format!("{name}.json"), &output.stdout);
    }
    for (name, _, expected) in sides {
        assert_eq!(rules(&diff(&lab, &["base", name]).0), expected, "{name}");
        let reports = ["base.json", &format!("{name}.json")];
        assert_eq!(rules(&diff(&lab, &reports).0), expected, "{name} by reports");
    }
    println!("lost targets: {} cases, 0 differences", 2 * sides.len());
}

#[test]
fn a_prefix_outside_counts_as_user() {
    let lab = Lab::new();
    prefix(&lab, "old", SHAPES, "libshapes.so.1");
    let without = SHAPES.replace("extern \"C\" int scale(int x) { return x; }", "");
    prefix(&lab, "new", &without, "libshapes.so.1");
    lab.mkdir("user");
    lab.write("user.c", "int scale(int); int main(void) { return scale(1); }");
    let link = "gcc user.c -o user/viewer old/lib/libshapes.so.1 -Wl,-rpath,$PWD/old/lib";
    assert!(lab.sh(link).status.success());
    assert_eq!(rules(&diff(&lab, &["old", "new"]).0), ["removed-symbol warning"]);
    let (value, code) = diff(&lab, &["old", "new", "--against", "user"]);
    assert_eq!((rules(&value), code), (vec!["removed-symbol error".to_owned()], Some(1)));
    let user = value["findings"][0]["evidence"][0]["path"].as_str().expect("the user");
    assert!(user.ends_with("user/viewer"), "{user}");
}

/// A library that has lost `one` and `both@V1` in the directory `new`.
fn versioned_library(lab: &Lab, dir: &str) {
    let older = "int one(void) { return 1; } int both1(void) { return 1; } \
                 __asm__(\".symver both1, both@V1\");";
    let newer = "int two(void) { return 2; } int both2(void) { return 2; } \
                 __asm__(\".symver both2, both@@V2\");";
    lab.write("lib.c", format!("{newer} {}", if dir == "new" { "" } else { older }));
    lab.write("map", "V1 { global: one; two; both; local: *; }; V2 { global: both; } V1;");
    lab.mkdir(dir);
    let link = format!(
        "gcc -shared -fPIC lib.c -o {dir}/libx.so.1 -Wl,-soname,libx.so.1,--version-script,map"
    );
    assert!(lab.sh(&link).status.success(), "{link}");
}

#[test]
fn a_file_uses_what_it_loads_and_nothing_else_defines() {
    let lab = Lab::new();
    versioned_library(&lab, "old");
    versioned_library(&lab, "new");
    let library = |path: &str, source: &str, more: &str| {
        lab.mkdir(path.split('/').next().expect("a directory"));
        lab.write("lib.c", source);
        let name = path.rsplit('/').next().expect("a name");
        let link =
            format!("gcc -shared -fPIC lib.c -o {path} -Wl,-soname,{name},-rpath,$PWD/old {more}");
        assert!(lab.sh(&link).status.success(), "{link}");
    };
    library(
        "user/libbetween.so.1",
        "int two(void); int f(void) { return two(); }",
        "old/libx.so.1",
    );
    library("user/libother.so.1", "int one(void) { return 0; }", "");
    // Programs that are linked with it refer to `one` without a version.
    library("stub/libbetween.so.1", "int one(void) { return 0; }", "");
    library("user/apart.so", "int one(void); int g(void) { return one(); }", "");
    let program = |name: &str, symbol: &str, libraries: &str| {
        lab.write(
            "p.c",
            format!("int {symbol}(void); int main(void) {{ return {symbol}() < 0; }}"),
        );
        let link = format!(
            "gcc p.c -o user/{name} -Wl,--no-as-needed {libraries} -Wl,-rpath,$PWD/old:$PWD/user"
        );
        assert!(lab.sh(&link).status.success(), "{link}");
    };
    program("through", "one", "stub/libbetween.so.1");
    program("beside", "one", "user/libother.so.1 user/libbetween.so.1");
    program("second", "both", "old/libx.so.1");
    // A library in which `both@V1` is the only one.
    lab.write("lib.c", "int both(void) { return 1; }");
    lab.write("map", "V1 { global: both; local: *; };");
    lab.sh("gcc -shared -fPIC lib.c -o stub/libx.so.1 -Wl,-soname,libx.so.1,--version-script,map");
    program("first", "both", "stub/libx.so.1");
    let (value, code) = diff(&lab, &["old", "new", "--against", "user"]);
    let mut users = BTreeSet::new();
    for finding in value["findings"].as_array().expect("findings") {
        let rule = finding["rule"].as_str().expect("a rule");
        for evidence in finding["evidence"].as_array().expect("evidence") {
            let path = evidence["path"].as_str().and_then(|path| path.rsplit('/').next());
            users.extend(path.map(|path| format!("{path} {rule}")));
        }
    }
    let expected = ["first changed-symbol", "through removed-symbol"].map(str::to_owned);
    assert_eq!((users, code), (BTreeSet::from(expected), Some(1)), "{value}");
    // The loader says the same.
    for (dir, failing) in [("old", &[][..]), ("new", &["through", "first"])] {
        lab.sh(&format!("cp {dir}/libx.so.1 copy && mv copy old/libx.so.1"));
        for name in ["through", "beside", "second", "first"] {
            let output = lab.sh(&format!("LD_BIND_NOW=1 user/{name}"));
            assert_eq!(output.status.success(), !failing.contains(&name), "{name}: {output:?}");
        }
    }
}

/// Exported symbols with version, type, binding, visibility and, for data, size, as readelf prints
/// them.
fn exports(library: &Path) -> BTreeMap<String, BTreeSet<(String, String)>> {
    let output = support::clean("readelf").args(["-W", "--dyn-syms"]).arg(library).output();
    let text = String::from_utf8(output.expect("readelf runs").stdout).expect("text");
    let mut out: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, size, kind, bind, visibility, section, name, ..] = words[..] else { continue };
        if section == "UND"
            || bind == "LOCAL"
            || visibility == "HIDDEN"
            || section == "Ndx"
            || section == "ABS"
        {
            continue;
        }
        let (name, version) = match name.split_once('@') {
            Some((name, version)) => (name, version.trim_start_matches('@')),
            None => (name, ""),
        };
        let size = if kind == "OBJECT" || kind == "TLS" { size } else { "" };
        let size = format!("{kind} {size} {bind} {visibility}");
        out.entry(name.to_owned()).or_default().insert((version.to_owned(), size));
    }
    out
}

#[test]
fn lost_and_changed_symbols_equal_those_of_readelf() {
    let mut random = Random::new(number("LINKAUDIT_SEED", 1));
    let rounds = amount("LINKAUDIT_DIFFS", 30);
    let (mut symbols, mut wrong) = (0, Vec::new());
    for round in 0..rounds {
        let lab = Lab::new();
        for side in ["old", "new"] {
            lab.mkdir(side);
            let (mut source, mut nodes) = (String::new(), ["", "", ""].map(str::to_owned));
            for symbol in 0..24 {
                // Functions, data of some sizes and thread-local data; one of eight is missing.
                let text = match random.below(8) {
                    0 => continue,
                    1 | 2 => format!("int s{symbol}[{}];\n", 1 + random.below(3)),
                    3 => format!("__thread int s{symbol} = 1;\n"),
                    _ => format!("int s{symbol}(void) {{ return {symbol}; }}\n"),
                };
                source.push_str(&text);
                let name = format!("s{symbol}");
                source.push_str(&match random.below(12) {
                    0 => format!("#pragma weak {name}\n"),
                    1 => format!("__asm__(\".protected {name}\");\n"),
                    2 if text.contains('[') => {
                        format!("__asm__(\".type {name}, @gnu_unique_object\");\n")
                    }
                    _ => String::new(),
                });
                nodes[random.below(nodes.len())].push_str(&format!("s{symbol}; "));
            }
            let [none, one, two] = &nodes;
            lab.write("lib.c", source);
            lab.write(
                "map",
                format!("V1 {{ global: {one} local: nothing; }};\nV2 {{ global: {two} }};\n"),
            );
            let versions =
                if none.is_empty() || round % 2 == 0 { "-Wl,--version-script,map" } else { "" };
            let link = format!(
                "gcc -shared -fPIC lib.c -o {side}/libx.so.1 -Wl,-soname,libx.so.1 {versions}"
            );
            assert!(lab.sh(&link).status.success(), "{link}");
        }
        let [old, new] =
            ["old", "new"].map(|side| exports(&lab.path(&format!("{side}/libx.so.1"))));
        symbols += old.len();
        let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, all) in &old {
            for (version, size) in all {
                let rule = match new.get(name) {
                    None => "removed-symbol",
                    Some(now) if now.iter().any(|(v, s)| v == version && s == size) => continue,
                    Some(_) => "changed-symbol",
                };
                expected.entry(rule.to_owned()).or_default().insert(format!("{name}@{version}"));
            }
        }
        let mut ours: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for finding in diff(&lab, &["old", "new"]).0["findings"].as_array().expect("findings") {
            let rule = finding["rule"].as_str().expect("a rule").to_owned();
            for evidence in finding["evidence"].as_array().expect("evidence") {
                let name = evidence["symbol"].as_str().expect("a symbol");
                let version = evidence["version"].as_str().unwrap_or_default();
                ours.entry(rule.clone()).or_default().insert(format!("{name}@{version}"));
            }
        }
        if ours != expected {
            wrong.push(format!("round {round}: {ours:?} instead of {expected:?}"));
        }
    }
    println!("diff: {rounds} pairs of libraries, {symbols} symbols, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_release_gate_says_three_things() {
    let lab = Lab::new();
    for side in ["old", "new"] {
        prefix(&lab, side, SHAPES, "libshapes.so.1");
        lab.sh(&format!(
            "gcc -shared -fPIC -x c /dev/null -o {side}/lib/libextra.so.1 -Wl,-soname,libextra.so.1"
        ));
    }
    // The old release has an undefined symbol, which the new one fixes.
    lab.write("broken.c", "int nowhere(void); int f(void) { return nowhere(); }");
    lab.sh("gcc -shared -fPIC broken.c -o old/lib/libfixed.so.1 -Wl,-soname,libfixed.so.1");
    lab.write("fixed.c", "int f(void) { return 0; }");
    lab.sh("gcc -shared -fPIC fixed.c -o new/lib/libfixed.so.1 -Wl,-soname,libfixed.so.1");
    std::fs::remove_file(lab.path("new/lib/libextra.so.1")).expect("the library");
    let without = SHAPES.replace("extern \"C\" int scale(int x) { return x; }", "");
    lab.write("shapes.cc", without);
    lab.sh("g++ -shared -fPIC shapes.cc -o new/lib/libshapes.so.1 -Wl,-soname,libshapes.so.1");
    let (value, code) = diff(&lab, &["old", "new"]);
    assert_eq!(code, Some(1));
    assert_eq!(rules(&value), ["removed-library error", "removed-symbol warning"]);
    let fixed = value["fixed"].as_array().expect("a list");
    assert_eq!(fixed.len(), 1, "{fixed:?}");
    assert_eq!(fixed[0]["symbol"], "nowhere");
    let validator = {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/diff.schema.json");
        let schema: Value =
            serde_json::from_str(&std::fs::read_to_string(path).expect("the schema"))
                .expect("JSON");
        jsonschema::meta::validate(&schema).expect("the schema is a schema");
        jsonschema::validator_for(&schema).expect("the schema is a schema")
    };
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut broken = value.clone();
    broken["findings"][0]["level"] = "terrible".into();
    assert!(!validator.is_valid(&broken));
    for format in FORMATS {
        let output = lab.linkaudit(&["diff", "old", "new", "--isolated", "--format", format]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("removed-library"), "{format}: {text}");
    }
    for format in FORMATS.iter().chain(&["json"]) {
        let all: BTreeSet<Vec<u8>> = ["1", "2", "8"]
            .map(|jobs| {
                lab.linkaudit(&["diff", "old", "new", "--isolated", "--format", format, "-j", jobs])
                    .stdout
            })
            .into();
        assert_eq!(all.len(), 1, "{format}");
    }
    let output = lab.linkaudit(&["diff", "old", "new", "--isolated", "--format", "sarif"]);
    let sarif: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert!(!results.is_empty() && results.iter().all(|result| result["baselineState"] == "new"));
}

#[test]
fn a_side_without_exports_is_undecided() {
    let lab = Lab::new();
    prefix(&lab, "old", SHAPES, "libshapes.so.1");
    let output = lab.linkaudit(&["--isolated", "--format", "json", "old"]);
    lab.write("old.json", &output.stdout);
    let (value, code) = diff(&lab, &["old.json", "old"]);
    assert_eq!((value["complete"].as_bool(), code), (Some(false), Some(3)));
    assert_eq!(value["undecided"].as_array().map(Vec::len), Some(1));
    let output = lab.linkaudit(&["diff", "old.json", "old", "--isolated"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("2 unchanged files (symbols were not compared)"), "{text}");
    let other = lab.write("other.json", "{\"schema\":\"linkaudit.report/9\"}");
    let output = lab.linkaudit(&["diff", other.to_str().expect("a path"), "old"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_side_with_only_damaged_files_is_compared() {
    let lab = Lab::new();
    prefix(&lab, "old", SHAPES, "libshapes.so.1");
    lab.sh("cp -r old new; truncate -s 100 new/lib/libshapes.so.1 new/bin/tool");
    let (report, status) = diff(&lab, &["old", "new"]);
    let found = rules(&report);
    assert!(found.contains(&"malformed error".to_owned()), "{found:?}");
    assert!(found.contains(&"undecided error".to_owned()), "{found:?}");
    assert_eq!((status, &report["complete"]), (Some(3), &Value::Bool(false)));
}

#[test]
fn a_first_policy_accepts_what_is_found_today() {
    let lab = Lab::new();
    prefix(&lab, "tree-of-files", SHAPES, "libshapes.so.1");
    lab.mkdir("tree-of-files/plugins");
    for number in 0..40 {
        lab.write(
            "p.c",
            format!("int gone{number}(void); int f(void) {{ return gone{number}(); }}"),
        );
        let link = format!(
            "gcc -shared -fPIC p.c -o tree-of-files/plugins/p{number}.so -Wl,--no-as-needed -Ltree-of-files/lib -l:libshapes.so.1"
        );
        assert!(lab.sh(&link).status.success());
    }
    let check =
        |args: &[&str]| lab.linkaudit(&[&["check", "tree-of-files", "--isolated"], args].concat());
    let before = check(&["--format", "json"]);
    assert_eq!(before.status.code(), Some(1));
    lab.write("report.json", &before.stdout);
    for (file, from) in [("a.toml", "tree-of-files"), ("b.toml", "report.json")] {
        let made = lab.linkaudit(&["policy", "init", "--from", from, file, "--isolated"]);
        assert!(made.status.success(), "{made:?}");
        let after = check(&["--policy", file, "--deny", "stale-waiver"]);
        assert_eq!(after.status.code(), Some(0), "{}", String::from_utf8_lossy(&after.stdout));
    }
    let text = std::fs::read_to_string(lab.path("a.toml")).expect("a policy");
    assert_eq!(text, std::fs::read_to_string(lab.path("b.toml")).expect("a policy"));
    // One soname that 40 files lack is one entry.
    let entries = text.matches("rule = \"missing-library\"").count();
    assert_eq!(entries, 1, "{text}");
}
