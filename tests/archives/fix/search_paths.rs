//! Search paths and needs that `fix` verifies and patchelf writes: the real loader must then find
//! the libraries and symbols, and have no new problem. Random trees of libraries lack entries of
//! search paths and needs, and have wrong and dead entries and links for sonames. They also have
//! second files of a name that lack the needed function.
//!
//! `LINKAUDIT_PATCHES=300` runs more trees; `LINKAUDIT_SEED` picks the first.

use super::kit::{text, tool};
use crate::support::random::{self, Random};
use crate::support::{Lab, has, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// A file and a needed name.
type Pair = (String, String);

/// Directories of libraries.
const PLACES: [&str; 5] = ["lib", "lib64", "opt/a b/lib", "plugins", "share/x/y"];

#[derive(Default)]
struct Compared {
    trees: usize,
    verified: usize,
    needs: usize,
    dropped: usize,
    repaired: usize,
    differences: Vec<String>,
}

#[test]
fn verified_search_paths_find_the_libraries() {
    if !has("patchelf") {
        return skip("verified_search_paths_find_the_libraries", "patchelf is not installed");
    }
    let first = random::number("LINKAUDIT_SEED", 1);
    let mut compared = Compared::default();
    for seed in first..first + random::amount("LINKAUDIT_PATCHES", 20) {
        compare(seed, &mut compared);
    }
    println!(
        "patches: {} trees, {} verified entries, {} symbols of new needs, {} dead entries, {} trees \
         repaired whole, {} differences",
        compared.trees,
        compared.verified,
        compared.needs,
        compared.dropped,
        compared.repaired,
        compared.differences.len()
    );
    let all = [compared.verified, compared.needs, compared.dropped, compared.repaired];
    assert!(all.iter().all(|count| *count > 0), "nothing was compared: {all:?}");
    assert!(compared.differences.is_empty(), "{}", compared.differences.join("\n"));
}

#[test]
fn a_link_with_the_needed_name_is_the_candidate() {
    let lab = Lab::new();
    lab.so("tree/lib64/libf.so.1.0", "int f(void) { return 1; }", &["-Wl,-soname,libf.so.1"]);
    tool(&lab, "mkdir tree/lib; ln -s libf.so.1.0 tree/lib64/libf.so.1");
    let library = lab.path("tree/lib64/libf.so.1").display().to_string();
    let source = "int f(void); int main(void) { return f(); }";
    lab.exe("tree/bin/prog", source, &[&library, "-Wl,-rpath,$ORIGIN/../lib"]);
    let said = text(&lab.linkaudit(&["check", "tree", "--isolated"]).stdout);
    assert!(said.contains("/lib64/libf.so.1: its directory is not searched"), "{said}");
    assert!(said.contains("add $ORIGIN/../lib64 to the RUNPATH of bin/prog"), "{said}");
    let fixed = text(&lab.linkaudit(&["fix", "tree", "--isolated"]).stdout);
    assert!(fixed.contains("1 of 1 finding"), "{fixed}");
}

/// A farm of links to versioned directories: the entry names the directory of the link, which stays
/// when the library gets another release.
#[test]
fn a_farm_of_links() {
    if !has("patchelf") {
        return skip("a_farm_of_links", "patchelf is not installed");
    }
    let lab = Lab::new();
    let (real, link) = ("tree/Cellar/foo/1.2.3/lib/libfoo.so.1", "tree/lib/libfoo.so.1");
    lab.so(real, "int f(void) { return 0; }", &["-Wl,-soname,libfoo.so.1"]);
    lab.mkdir("tree/lib");
    lab.link("../Cellar/foo/1.2.3/lib/libfoo.so.1", link);
    lab.exe("tree/bin/app", "int f(void); int main(void) { return f(); }", &[link]);
    let said = text(&lab.linkaudit(&["check", "tree", "--isolated"]).stdout);
    assert!(said.contains("add $ORIGIN/../lib to the RUNPATH of "), "{said}");
    let run = lab.linkaudit(&["fix", "tree", "--isolated", "-o", "patchelf=fix.sh"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stdout));
    tool(&lab, "sh fix.sh tree && tree/bin/app");
    tool(&lab, "mv tree/Cellar/foo/1.2.3 tree/Cellar/foo/1.2.4");
    tool(&lab, "ln -sf ../Cellar/foo/1.2.4/lib/libfoo.so.1 tree/lib/libfoo.so.1 && tree/bin/app");
}

/// `$ORIGIN` depends on the hard link by which a file is started. A verified entry serves all hard
/// links, also if the entry of one of them is there already.
#[test]
fn a_file_with_hard_links() {
    if !has("patchelf") {
        return skip("a_file_with_hard_links", "patchelf is not installed");
    }
    for library in [false, true] {
        let lab = Lab::new();
        let dep = "tree/usr/lib/priv/libd.so";
        lab.so(dep, "int d(void) { return 0; }", &["-Wl,-soname,libd.so"]);
        let source = "int d(void); int main(void) { return d(); }";
        if library {
            lab.so("tree/usr/bin/g", source, &[dep]);
        } else {
            lab.exe("tree/usr/bin/g", source, &[dep]);
        }
        tool(&lab, "mkdir -p tree/usr/libexec/x; ln tree/usr/bin/g tree/usr/libexec/x/g");
        let links = || {
            let found = tool(&lab, "ldd tree/usr/bin/g tree/usr/libexec/x/g");
            found.matches("libd.so => not found").count()
        };
        let fix = || {
            let run = lab.linkaudit(&["fix", "tree", "--isolated", "-o", "patchelf=fix.sh"]);
            assert!(text(&run.stdout).contains("1 of 1 finding"), "{}", text(&run.stdout));
            tool(&lab, "sh fix.sh tree");
        };
        assert_eq!(links(), 2, "{library}");
        fix();
        assert_eq!(links(), 0, "{library}");
        // `patchelf` writes through the hard link.
        tool(&lab, "patchelf --set-rpath '$ORIGIN/../lib/priv' tree/usr/bin/g");
        assert_eq!(links(), 1, "{library}");
        fix();
        assert_eq!(links(), 0, "{library}");
        let said = lab.linkaudit(&["check", "tree", "--isolated", "-A", "search-path"]);
        assert_eq!(said.status.code(), Some(0), "{}", text(&said.stdout));
    }
}

/// `$ORIGIN` of a library is the directory of the link by which it was opened. If another program
/// opens the file itself, only an absolute entry serves both.
#[test]
fn a_library_that_is_opened_through_a_link() {
    if !has("patchelf") {
        return skip("a_library_that_is_opened_through_a_link", "patchelf is not installed");
    }
    let lab = Lab::new();
    lab.so("tree/dep/lib/libdep.so", "void dep(void) {}", &["-Wl,-soname,libdep.so"]);
    tool(&lab, "mkdir tree/farm; ln -s ../own/lib/libown.so tree/farm/libown.so");
    let [dep, own] = ["tree/dep/lib/libdep.so", "tree/own/lib/libown.so"]
        .map(|path| lab.path(path).display().to_string());
    let directory = lab.path("tree/dep/lib").display().to_string();
    let main = "void own(void); int main(void) { own(); return 0; }";
    for (programs, expected) in [
        (&[("linked", "farm")][..], "$ORIGIN/../dep/lib"),
        (&[("linked", "farm"), ("direct", "own/lib")], &directory),
    ] {
        let source = "void dep(void); void own(void) { dep(); }";
        let flags = ["-Wl,-soname,libown.so", "-Wl,-rpath,$ORIGIN", &dep];
        lab.so("tree/own/lib/libown.so", source, &flags);
        for (name, from) in programs {
            let search = format!("-Wl,--allow-shlib-undefined,-rpath,$ORIGIN/../{from}");
            lab.exe(&format!("tree/bin/{name}"), main, &[&own, &search]);
        }
        let fixed = lab.linkaudit(&["fix", "tree", "--isolated", "--format", "json"]);
        let report: Value = serde_json::from_slice(&fixed.stdout).expect("JSON");
        let findings = report["findings"].as_array().expect("findings").iter();
        let missing: Vec<&Value> =
            findings.filter(|one| one["rule"] == "missing-library").collect();
        let [missing] = missing[..] else { panic!("{report:#}") };
        let fix = &missing["fix"][0];
        assert_eq!((&fix["entry"], &fix["proven"]), (&expected.into(), &true.into()), "{fix}");
        tool(&lab, &format!("patchelf --add-rpath '{expected}' {own}"));
        for (name, _) in programs {
            tool(&lab, &format!("tree/bin/{name}"));
        }
    }
}

/// The only candidate is an older release. The refusal names the version, as the loader does.
#[test]
fn a_candidate_without_the_needed_version() {
    let lab = Lab::new();
    lab.write("older", "V1 { global: f; };");
    lab.write("newer", "V1 { global: f; }; V2 { global: g; } V1;");
    let build = |path: &str, source: &str, script: &str| {
        let script = lab.path(script).display().to_string();
        let script = format!("-Wl,--version-script={script}");
        lab.so(path, source, &[&script, "-Wl,-soname,libf.so"]);
    };
    build("new/libf.so", "int f(void) { return 1; } int g(void) { return 1; }", "newer");
    build("tree/lib/libf.so", "int f(void) { return 1; }", "older");
    let main = "int f(void), g(void); int main(void) { return f() - g(); }";
    lab.exe("tree/bin/app", main, &["new/libf.so"]);
    let loader = lab.sh("LD_LIBRARY_PATH=tree/lib tree/bin/app");
    assert!(text(&loader.stderr).contains("version `V2' not found"), "{}", text(&loader.stderr));
    let said = text(&lab.linkaudit(&["fix", "tree", "--isolated"]).stdout);
    assert!(said.contains("not verified: version V2 would be missing with the fix"), "{said}");
}

/// The program and the library are in two PATHs. The hint of `fix` leads to a verified fix.
#[test]
fn a_library_in_another_path() {
    let lab = Lab::new();
    lab.so("tree/lib/libf.so", "int f(void) { return 1; }", &["-Wl,-soname,libf.so"]);
    lab.exe(
        "tree/bin/app",
        "int f(void); int main(void) { return f() - 1; }",
        &["tree/lib/libf.so"],
    );
    let run = |args: &[&str]| {
        let said = text(&lab.linkaudit(&[&["fix", "tree/bin", "tree/lib"], args].concat()).stdout);
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = run(&[]);
    let tree = lab.path("tree").canonicalize().expect("a directory").display().to_string();
    assert!(said.ends_with(&format!("in a common prefix: --prefix {tree}")), "{said}");
    let said = run(&["--prefix", &tree]);
    assert!(said.contains("1 of 1 finding has a verified fix"), "{said}");
    if has("patchelf") {
        let commands = said.split(" verified:").next().unwrap_or_default();
        tool(&lab, &format!("{commands} && tree/bin/app"));
    }
}

/// Entries stay if another package may install the directory, or dlopen may use it.
#[test]
fn entries_that_may_find_something_stay() {
    let lab = Lab::new();
    tool(&lab, "mkdir -p tree/lib; mkdir -m 755 tree/empty");
    let paths = "-Wl,-rpath,$ORIGIN/../nowhere:/opt/vendor-of-nothing/lib:/build/nowhere:";
    lab.so("tree/lib/libf.so", "int f(void) { return 1; }", &[paths]);
    let fixed = lab.linkaudit(&["fix", "tree", "--isolated", "--format", "json"]);
    let report: Value = serde_json::from_slice(&fixed.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").iter();
    let of = |finding: &Value| {
        let fix = &finding["fix"][0];
        let (entry, proven) = (fix["entry"].as_str(), fix["proven"].as_bool());
        let why = fix["unknown"].as_str().unwrap_or_default();
        assert_eq!(fix["intent"], "drop-search-entry", "{finding}");
        (entry.expect("an entry").to_owned(), proven.expect("proven"), why.to_owned())
    };
    let mut found: Vec<(String, bool, String)> = findings.map(of).collect();
    found.sort();
    let expected = [
        ("", false, "dlopen may open a library there"),
        ("$ORIGIN/../nowhere", true, ""),
        ("/build/nowhere", true, ""),
        ("/opt/vendor-of-nothing/lib", false, "another package may install the directory"),
    ];
    let expected = expected.map(|(entry, proven, why)| (entry.to_owned(), proven, why.to_owned()));
    assert_eq!(found, expected);
}

/// One tree: fixed, patched as a copy, loaded and audited again.
fn compare(seed: u64, out: &mut Compared) {
    let lab = Lab::new();
    let objects = tree(&lab, &mut Random::new(seed));
    let fixed = lab.linkaudit(&[
        "fix",
        "--prefix",
        "tree",
        "tree",
        "--emit",
        "patchelf",
        "-o",
        "patchelf=fix.sh",
        "-o",
        "json=fix.json",
    ]);
    let report = std::fs::read(lab.path("fix.json"))
        .unwrap_or_else(|error| panic!("seed {seed}: {error}: {}", text(&fixed.stderr)));
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let (verified, others) = missing(&report);
    out.trees += 1;
    out.verified += verified.len();
    let entry_points = entry_points(&report);
    let before = problems(&lab, "tree", &entry_points);
    let script = patch_copy(&lab, seed);
    let unclear: BTreeSet<&String> = others.iter().map(|(_, name)| name).collect();
    for (file, name) in verified.iter().filter(|(_, name)| !unclear.contains(name)) {
        let shown = crate::support::ldd_r(&lab.root(), Path::new("copy").join(file).as_os_str());
        if shown.contains(&format!("{name} => not found")) {
            out.differences.push(format!("seed {seed}: {file}: ldd does not find {name}"));
        }
    }
    let again = lab.linkaudit(&["--prefix", "copy", "copy", "--format", "json"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    let (_, left) = missing(&again);
    for pair in verified.intersection(&left) {
        out.differences.push(format!("seed {seed}: still missing: {pair:?}"));
    }
    let findings = report["findings"].as_array().expect("findings").len();
    let after = problems(&lab, "copy", &entry_points);
    for problem in after.difference(&before) {
        out.differences.push(format!("seed {seed}: new: {problem}"));
    }
    let patched = patched_symbols(&report, &script);
    out.needs += patched.len();
    for (file, symbol) in &patched {
        let line = format!("undefined symbol: {symbol} ({file})");
        if after.contains(&line) || !before.contains(&line) {
            out.differences.push(format!("seed {seed}: {line}: not cured"));
        }
    }
    let dropped = dead_entries(&report);
    out.dropped += dropped.len();
    for (file, entry) in &dropped {
        let shown = lab.sh(&format!("patchelf --print-rpath 'copy/{file}'")).stdout;
        if text(&shown).trim_end().split(':').any(|one| one == entry) {
            out.differences.push(format!("seed {seed}: {file} still has {entry}"));
        }
    }
    // A new link may be verified where a further need alone is not.
    if fixed.status.code() == Some(0) && findings == verified.len() + patched.len() + dropped.len()
    {
        out.repaired += 1;
        for file in objects {
            let shown =
                crate::support::ldd_r(&lab.root(), Path::new("copy").join(&file).as_os_str());
            if shown.contains("not found") || shown.contains("undefined symbol") {
                out.differences.push(format!("seed {seed}: {file}: {shown}"));
            }
        }
        let run = lab.sh("copy/bin/prog");
        if !run.status.success() {
            out.differences.push(format!("seed {seed}: prog: {}", text(&run.stderr)));
        }
    }
}

/// The files that no other file loads.
pub(super) fn entry_points(report: &Value) -> Vec<String> {
    let files = report["files"].as_array().expect("files").iter();
    let by_itself = files.filter(|file| file["root"] == file["path"] && !file["root"].is_null());
    let path = |file: &Value| file["path"].as_str().expect("a path").to_owned();
    by_itself.map(path).filter(|path| path.contains("/tree/")).collect()
}

/// The problems that the loader has with these files in a tree, with paths below the tree.
pub(super) fn problems(lab: &Lab, tree: &str, entry_points: &[String]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for file in entry_points {
        let (_, below) = file.split_once("/tree/").expect("a file of the tree");
        let shown = crate::support::ldd_r(&lab.root(), Path::new(tree).join(below).as_os_str());
        let lines = shown.lines().map(str::trim);
        let lines = lines.filter(|l| l.contains("not found") || l.contains("undefined symbol"));
        let root = lab.path(tree).display().to_string();
        let relative = |line: &str| {
            let line = line.replace(&format!("({root}/"), "(").replace(&format!("({tree}/"), "(");
            let line = line.replace(&format!("(./{tree}/"), "(").replace('\t', " ");
            match line.split_once('(') {
                // One file may be loaded by its own name and by a link.
                Some((what, path)) => {
                    let path = normal(path.trim_end_matches(')'));
                    let real = lab.path(tree).join(&path).canonicalize();
                    let real = real.ok().and_then(|real| {
                        let below = real.strip_prefix(lab.root().canonicalize().ok()?.join(tree));
                        Some(below.ok()?.display().to_string())
                    });
                    format!("{what}({})", real.unwrap_or(path))
                }
                None => line,
            }
        };
        out.extend(lines.map(relative));
    }
    out
}

/// A path without `dir/..`.
fn normal(path: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    for part in path.split('/') {
        if part != ".." || out.pop().is_none() {
            out.push(part);
        }
    }
    out.join("/")
}

/// The undefined symbols, by file, whose library the script adds to the needs of the file.
fn patched_symbols(report: &Value, script: &str) -> BTreeSet<Pair> {
    let findings = report["findings"].as_array().expect("findings").iter();
    let mut out = BTreeSet::new();
    for finding in findings.filter(|finding| finding["rule"] == "undefined-symbol") {
        let path = finding["path"].as_str().expect("a path");
        let fix = finding["fix"].as_array().and_then(|fixes| fixes.first());
        let library = fix.and_then(|fix| fix["entry"].as_str()).unwrap_or_default();
        // The soname is the name without the version of the file behind the link.
        let name = library.rsplit('/').next().unwrap_or_default().trim_end_matches(".1.0");
        let call = format!("\npatch '{path}' ");
        let change = script.split("\nedit() {").find(|change| change.contains(&call));
        if change.is_some_and(|change| change.contains(&format!("--add-needed '{name}'"))) {
            out.insert((path.to_owned(), finding["symbol"].as_str().expect("a symbol").to_owned()));
        }
    }
    out
}

/// Dead entries with a verified fix, by file.
fn dead_entries(report: &Value) -> BTreeSet<Pair> {
    let findings = report["findings"].as_array().expect("findings").iter();
    let rules = ["dead-search-entry", "unsafe-search-entry"];
    let dead = findings.filter(|finding| rules.iter().any(|rule| finding["rule"] == *rule));
    let verified = dead.filter(|finding| finding["fix"][0]["proven"] == true);
    let word = |value: &Value| value.as_str().expect("a string").to_owned();
    verified.map(|finding| (word(&finding["path"]), word(&finding["detail"]))).collect()
}

/// Runs the script on a copy of the tree twice: the second run changes nothing. On a tree with
/// different files the script must refuse. Returns the script, which is empty without changes.
pub(super) fn patch_copy(lab: &Lab, seed: u64) -> String {
    tool(lab, "cp -a tree copy; cp -a tree other");
    let script = std::fs::read_to_string(lab.path("fix.sh")).unwrap_or_default();
    if !script.is_empty() {
        assert_eq!(patch(lab, "copy"), (Some(0), words(&["changed"])), "seed {seed}");
        assert_eq!(patch(lab, "copy"), (Some(0), words(&["unchanged"])), "seed {seed}");
        tool(lab, "find other -type f -exec sh -c 'printf x >>\"$1\"' - {} ';'");
        assert_eq!(patch(lab, "other"), (Some(1), words(&["refused"])), "seed {seed}");
    }
    script
}

/// Runs the script on a tree; its status, and the first words of its lines.
fn patch(lab: &Lab, tree: &str) -> (Option<i32>, BTreeSet<String>) {
    let run = lab.sh(&format!("sh fix.sh {tree} 2>&1"));
    let lines = text(&run.stdout);
    let first = |line: &str| line.split(':').next().unwrap_or(line).to_owned();
    (run.status.code(), lines.lines().map(first).collect())
}

fn words(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The missing libraries with a verified fix, and the others.
fn missing(report: &Value) -> (BTreeSet<Pair>, BTreeSet<Pair>) {
    let findings = report["findings"].as_array().expect("findings").iter();
    let mut out = (BTreeSet::new(), BTreeSet::new());
    for finding in findings.filter(|finding| finding["rule"] == "missing-library") {
        let word = |key: &str| finding[key].as_str().expect("a string").to_owned();
        let mut fixes = finding["fix"].as_array().expect("fixes").iter();
        let is_verified = fixes.any(|fix| fix["proven"] == true);
        let into = if is_verified { &mut out.0 } else { &mut out.1 };
        into.insert((word("path"), word("library")));
    }
    out
}

/// Libraries of random needs in random places, with random search paths; returns the paths of those
/// that nothing else needs, which are entry points.
fn tree(lab: &Lab, random: &mut Random) -> Vec<String> {
    let count = random.between(3, 7);
    let mut objects: Vec<String> = Vec::new();
    let mut needed: BTreeSet<usize> = BTreeSet::new();
    for number in 0..count {
        let name = format!("lib{number}.so");
        let mut needs: Vec<usize> = (0..number).filter(|_| random.chance(45)).collect();
        needs.truncate(3);
        needed.extend(&needs);
        let place = *random.pick(&PLACES);
        let path = format!("tree/{place}/{name}");
        build(lab, random, &path, Some(number), &objects, &needs);
        // The soname is a link, as packages have it.
        if random.chance(40) {
            tool(lab, &format!("cd 'tree/{place}'; mv {name} {name}.1.0; ln -s {name}.1.0 {name}"));
        }
        // A second file of the name: with the function, or without.
        if random.chance(25) {
            let other = *random.pick(&PLACES);
            if other != place {
                let function = if random.chance(50) { "g" } else { "f" };
                let source = format!("int {function}{number}(void) {{ return 1; }}");
                let soname = format!("-Wl,-soname,{name}");
                lab.so(&format!("tree/{other}/{name}"), &source, &[&soname]);
            }
        }
        objects.push(path);
    }
    let all: Vec<usize> =
        (0..count).filter(|number| *number + 2 >= count || random.chance(30)).collect();
    build(lab, random, "tree/bin/prog", None, &objects, &all);
    needed.extend(all);
    let alone = (0..count).filter(|number| !needed.contains(number));
    let mut objects: Vec<&str> = alone.map(|number| &*objects[number]).collect();
    objects.push("tree/bin/prog");
    objects.iter().map(|path| path["tree/".len()..].to_owned()).collect()
}

fn build(
    lab: &Lab,
    random: &mut Random,
    path: &str,
    library: Option<usize>,
    objects: &[String],
    needs: &[usize],
) {
    std::fs::create_dir_all(lab.path(path).parent().expect("a directory")).expect("a directory");
    let declared: String = needs.iter().map(|n| format!("int f{n}(void);")).collect();
    let sum: String = needs.iter().map(|n| format!(" + f{n}()")).collect();
    let body = format!("{{ return 1{sum}; }}");
    let source = match library {
        Some(number) => format!("{declared} int f{number}(void) {body}"),
        None => format!("{declared} int sum(void) {body} int main(void) {{ return sum() < 1; }}"),
    };
    let up = "../".repeat(path.matches('/').count() - 1);
    let mut entries: Vec<String> = Vec::new();
    for place in needs.iter().map(|need| &objects[*need]) {
        let directory = &place["tree/".len()..place.rfind('/').expect("a directory")];
        if random.chance(40) {
            entries.push(format!("$ORIGIN/{up}{directory}"));
        }
    }
    if random.chance(20) {
        entries.push(format!("$ORIGIN/{up}{}", random.pick(&PLACES)));
    }
    if random.chance(15) {
        let at = random.between(0, entries.len());
        let dead = [format!("$ORIGIN/{up}nowhere"), "/build/nowhere".to_owned()];
        entries.insert(at, random.pick(&dead).clone());
    }
    let rpath = format!("-Wl,-rpath,{}", entries.join(":"));
    let soname = format!("-Wl,-soname,{}", path.rsplit('/').next().unwrap_or(path));
    let mut flags: Vec<&str> = vec!["-Wl,--unresolved-symbols=ignore-all", "-Wl,--no-as-needed"];
    if !entries.is_empty() {
        flags.push(&rpath);
        flags.push(*random.pick(&["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"]));
    }
    // A link that leaves a library out leaves its function undefined. In a program, the linker
    // would turn its relocation into R_X86_64_NONE, at which the loader stops.
    let linked = needs.iter().filter(|_| library.is_none() || !random.chance(15));
    let linked: Vec<String> =
        linked.map(|need| lab.path(&objects[*need]).display().to_string()).collect();
    flags.extend(linked.iter().map(String::as_str));
    if library.is_some() {
        flags.push(&soname);
        lab.so(path, &source, &flags);
    } else {
        lab.exe(path, &source, &flags);
    }
}
