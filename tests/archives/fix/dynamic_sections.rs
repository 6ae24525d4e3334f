//! Changes of needs and of the search path tag that `fix` verifies and patchelf writes. Random
//! trees of libraries have unused needs, needs with a path of a build, missing links for sonames,
//! symbols of indirect needs, constructors, and search paths of both kinds under a policy that
//! requires one. After the change the real loader must find more, and the program must print the
//! same.
//!
//! `LINKAUDIT_PATCHES=300` runs more trees; `LINKAUDIT_SEED` picks the first.

use super::kit::{text, tool};
use super::search_paths::{entry_points, patch_copy, problems};
use crate::support::random::{self, Random};
use crate::support::{Lab, has, skip};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PLACES: [&str; 3] = ["lib", "lib64", "lib/private"];
const INTENTS: [&str; 4] = ["drop-need", "rename-need", "set-search-tag", "link-library"];

#[derive(Default)]
struct Compared {
    trees: usize,
    /// Number of verified fixes, by intent.
    verified: BTreeMap<String, usize>,
    /// Programs that ran before and after.
    ran: usize,
    /// Programs that run only with the fixes.
    repaired: usize,
    refused: usize,
    differences: Vec<String>,
}

#[test]
fn verified_needs_and_tags_change_what_they_should() {
    if !has("patchelf") {
        return skip(
            "verified_needs_and_tags_change_what_they_should",
            "patchelf is not installed",
        );
    }
    let first = random::number("LINKAUDIT_SEED", 1);
    let mut compared = Compared::default();
    for seed in first..first + random::amount("LINKAUDIT_PATCHES", 25) {
        compare(seed, &mut compared);
    }
    println!(
        "dynamic sections: {} trees, verified {:?}, {} not verified, {} programs ran before, {} run only with \
         the fixes, {} differences",
        compared.trees,
        compared.verified,
        compared.refused,
        compared.ran,
        compared.repaired,
        compared.differences.len()
    );
    for intent in INTENTS {
        assert!(compared.verified.contains_key(intent), "no case of {intent}");
    }
    assert!(compared.refused > 0 && compared.ran > 0 && compared.repaired > 0);
    assert!(compared.differences.is_empty(), "{}", compared.differences.join("\n"));
}

/// A need whose versions are needed stays, although another library wins its symbols: the loader
/// stops at the versions of a file that is not needed.
#[test]
fn a_need_whose_versions_are_needed_stays() {
    if !has("patchelf") {
        return skip("a_need_whose_versions_are_needed_stays", "patchelf is not installed");
    }
    let lab = Lab::new();
    lab.write("v.map", "V1 { *; };");
    for name in ["libv.so", "libw.so"] {
        let flags = ["-Wl,--version-script=v.map", &format!("-Wl,-soname,{name}")];
        lab.so(&format!("tree/lib/{name}"), "int v(void) { return 0; }", &flags);
    }
    let flags = ["-Ltree/lib", "-lw", "-Wl,-rpath,$ORIGIN/../lib"];
    lab.exe("tree/bin/prog", "int v(void); int main(void) { return v(); }", &flags);
    // The version was taken from libw.so, and libv.so comes first.
    tool(&lab, "patchelf --add-needed libv.so tree/bin/prog");
    let args = ["fix", "tree", "--isolated", "--warn", "unused-library", "--format", "json"];
    let report: Value = serde_json::from_slice(&lab.linkaudit(&args).stdout).expect("JSON");
    let unused = findings(&report, "unused-library");
    let of_w = unused.iter().find(|finding| finding["library"] == "libw.so");
    let fix = &of_w.unwrap_or_else(|| panic!("{report:#}"))["fix"][0];
    assert_eq!((&fix["intent"], &fix["proven"]), (&"drop-need".into(), &false.into()), "{fix}");
    tool(&lab, "tree/bin/prog; cp tree/bin/prog less; patchelf --remove-needed libw.so less");
    let less = lab.sh("LD_LIBRARY_PATH=tree/lib ./less");
    assert!(text(&less.stderr).contains("dl-version.c"), "{}", text(&less.stderr));
}

/// A need whose symbol the program finds by name stays: no reference is bound to the library.
#[test]
fn a_need_whose_symbol_is_found_by_name_stays() {
    for (name, proven) in [("answer", false), ("question", true)] {
        let lab = Lab::new();
        let library = "int answer(void) { return 0; }";
        lab.so("tree/lib/liba.so", library, &["-Wl,-soname,liba.so"]);
        let source = format!(
            "#include <dlfcn.h>\n#include <stddef.h>\n\
             int main(void) {{ int (*call)(void) = (int (*)(void))dlsym(NULL, \"{name}\"); \
             return call == NULL ? 1 : call(); }}"
        );
        let needs = ["-Wl,--no-as-needed", "-Ltree/lib", "-la", "-Wl,-rpath,$ORIGIN/../lib"];
        let with = lab.exe("tree/bin/prog", &source, &needs);
        let without = lab.exe("without", &source, &[]);
        let status = |program| crate::support::clean(program).status().expect("it runs").code();
        assert_eq!(status(with) != status(without), !proven, "{name}");
        let args = ["fix", "tree", "--isolated", "--warn", "unused-library", "--format", "json"];
        let report: Value = serde_json::from_slice(&lab.linkaudit(&args).stdout).expect("JSON");
        let unused = findings(&report, "unused-library");
        let fix = &unused.first().unwrap_or_else(|| panic!("{report:#}"))["fix"][0];
        let expected = (&"drop-need".into(), &proven.into());
        assert_eq!((&fix["intent"], &fix["proven"]), expected, "{name}: {fix}");
    }
}

/// A plugin finds its libraries through the DT_RPATH of its program: with DT_RUNPATH it would not.
/// The change is refused if the plugin is audited under the program.
#[test]
fn plugins_are_bound_again_under_their_changed_program() {
    let lab = Lab::new();
    lab.so("tree/private/libp.so", "int p(void) { return 0; }", &["-Wl,-soname,libp.so"]);
    let flags = ["-Ltree/private", "-lp"];
    lab.so("tree/plugins/plug.so", "int p(void); int plugin(void) { return p(); }", &flags);
    let source =
        "#include <dlfcn.h>\nint main(int n, char **v) { return !dlopen(v[1], RTLD_NOW); }";
    for tag in ["--enable-new-dtags", "--disable-new-dtags"] {
        let flags = ["-Wl,-rpath,$ORIGIN/../private", &*format!("-Wl,{tag}")];
        lab.exe("tree/bin/prog", source, &flags);
        let opened = lab.sh("tree/bin/prog tree/plugins/plug.so").status.success();
        assert_eq!(opened, tag == "--disable-new-dtags", "{tag}");
    }
    lab.write("policy.toml", "schema = 1\n[search-path]\nrequire = \"runpath\"\n");
    for (host, expected) in [(&[][..], true), (&["--host", "tree/bin/prog"], false)] {
        let args = ["fix", "tree", "--isolated", "--policy", "policy.toml", "--format", "json"];
        let run = lab.linkaudit(&[&args, host].concat());
        let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let found = findings(&report, "search-path-policy");
        let fix = &found.first().unwrap_or_else(|| panic!("{report:#}"))["fix"][0];
        assert_eq!(
            (&fix["intent"], &fix["proven"]),
            (&"set-search-tag".into(), &expected.into()),
            "{fix}"
        );
    }
}

/// One tree: fixed, patched as a copy, loaded, run and audited again.
fn compare(seed: u64, out: &mut Compared) {
    let lab = Lab::new();
    let random = &mut Random::new(seed);
    tree(&lab, random);
    let tag = *random.pick(&["rpath", "runpath"]);
    lab.write("policy.toml", format!("schema = 1\n[search-path]\nrequire = \"{tag}\"\n"));
    let fixed = lab.linkaudit(&[
        "fix",
        "--prefix",
        "tree",
        "tree",
        "--isolated",
        "--policy",
        "policy.toml",
        "--warn",
        "unused-library",
        "--warn",
        "indirect-library",
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
    let entry_points = entry_points(&report);
    let before = problems(&lab, "tree", &entry_points);
    patch_copy(&lab, seed);
    out.trees += 1;
    for problem in problems(&lab, "copy", &entry_points).difference(&before) {
        out.differences.push(format!("seed {seed}: new: {problem}"));
    }
    for finding in report["findings"].as_array().expect("findings") {
        let fix = &finding["fix"][0];
        let Some(intent) = fix["intent"].as_str().filter(|intent| INTENTS.contains(intent)) else {
            continue;
        };
        if fix["proven"] == true {
            *out.verified.entry(intent.to_owned()).or_default() += 1;
            out.differences.extend(contradiction(&lab, seed, finding, intent));
        } else {
            out.refused += 1;
        }
    }
    let [old, new] = ["tree", "copy"].map(|tree| {
        let run = lab.sh(&format!("cd {tree}; bin/prog"));
        // Constructors of libraries that do not need each other run in any order.
        let mut constructors = run.stderr;
        constructors.sort_unstable();
        (run.status.code(), text(&run.stdout), constructors)
    });
    match (old.0, new.0) {
        (Some(0), _) => {
            out.ran += 1;
            if old != new {
                out.differences.push(format!("seed {seed}: prog: {old:?} before, {new:?} after"));
            }
        }
        (_, Some(0)) => out.repaired += 1,
        _ => {}
    }
}

/// A difference between a patched file and its fix.
fn contradiction(lab: &Lab, seed: u64, finding: &Value, intent: &str) -> Option<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (path, library) = (word(&finding["path"]), word(&finding["library"]));
    let entry = word(&finding["fix"][0]["entry"]);
    let shown = tool(lab, &format!("readelf -dW 'copy/{path}'"));
    let needs = |name: &str| shown.contains(&format!("Shared library: [{name}]"));
    let holds = match intent {
        "drop-need" => !needs(&library),
        "rename-need" => !needs(&library) && needs(&entry),
        "set-search-tag" => {
            let tags = [("DT_RPATH", "(RPATH)"), ("DT_RUNPATH", "(RUNPATH)")];
            tags.iter().all(|(name, tag)| shown.contains(tag) == (*name == entry))
        }
        // An undefined symbol may need a new link instead of a further need.
        _ if finding["rule"] == "undefined-symbol" => true,
        _ => needs(&library),
    };
    (!holds).then(|| format!("seed {seed}: {path}: {intent} {library} {entry}: {shown}"))
}

fn findings<'r>(report: &'r Value, rule: &str) -> Vec<&'r Value> {
    let all = report["findings"].as_array().expect("findings").iter();
    all.filter(|finding| finding["rule"] == rule).collect()
}

/// Libraries of random needs, moved after their links, and a program that prints what they return.
fn tree(lab: &Lab, random: &mut Random) {
    let count = random.between(3, 7);
    let mut paths: Vec<String> = Vec::new();
    let mut gone: BTreeSet<String> = BTreeSet::new();
    for number in 0..=count {
        let needs: Vec<usize> = (0..number)
            .filter(|need| number == count || *need + 1 == number || random.chance(35))
            .collect();
        // A used function may be in a library that only other libraries need.
        let mut linked: Vec<usize> = needs.clone();
        linked.retain(|_| !random.chance(15));
        let used: Vec<usize> = needs.into_iter().filter(|_| random.chance(65)).collect();
        let calls: String = used.iter().map(|n| format!(" + f{n}()")).collect();
        let declared: String = used.iter().map(|n| format!("int f{n}(void);")).collect();
        let hello = if number < count && random.chance(15) { hello(number) } else { String::new() };
        let place = if number == count { "bin" } else { *random.pick(&PLACES) };
        let up = if place.contains('/') { "../.." } else { ".." };
        let mut flags =
            vec!["-Wl,--no-as-needed".to_owned(), "-Wl,--unresolved-symbols=ignore-all".to_owned()];
        let entries: Vec<String> =
            PLACES.iter().map(|place| format!("$ORIGIN/{up}/{place}")).collect();
        if number == count || random.chance(75) {
            let tag = *random.pick(&["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"]);
            flags.extend([format!("-Wl,-rpath,{}", entries.join(":")), tag.to_owned()]);
        }
        flags.extend(linked.iter().map(|need| lab.path(&paths[*need]).display().to_string()));
        if number == count {
            let main = "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", sum()); return 0; }";
            let source = format!("{declared} static int sum(void) {{ return 0{calls}; }}\n{main}");
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            lab.exe("tree/bin/prog", &source, &flags);
            break;
        }
        let name = format!("lib{number}.so");
        // Without a soname the need is the path of the link line.
        if random.chance(85) {
            flags.push(format!("-Wl,-soname,{name}"));
        }
        let value = 1 << number;
        let source = format!("{hello}{declared} int f{number}(void) {{ return {value}{calls}; }}");
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let path = format!("tree/{place}/{name}");
        std::fs::create_dir_all(lab.path(&path).parent().expect("a directory"))
            .expect("a directory");
        lab.so(&path, &source, &flags);
        if random.chance(30) {
            tool(lab, &format!("cd tree/{place}; mv {name} {name}.1.0; ln -s {name}.1.0 {name}"));
            if random.chance(30) {
                gone.insert(path.clone());
            }
        }
        paths.push(path);
    }
    for link in gone {
        tool(lab, &format!("rm {link}"));
    }
    move_away(lab);
}

/// A constructor that prints that it ran.
fn hello(number: usize) -> String {
    format!(
        "#include <unistd.h>\n__attribute__((constructor)) static void hello(void) {{ \
         if (write(2, \"{number}\", 1) < 0) _exit(9); }}\n"
    )
}

/// Changes needs that are paths, so that they name a missing directory.
fn move_away(lab: &Lab) {
    let root = lab.path("tree").display().to_string();
    let files = tool(lab, "find tree -type f");
    for file in files.lines() {
        for need in tool(lab, &format!("patchelf --print-needed '{file}'")).lines() {
            if let Some(below) = need.strip_prefix(&root) {
                tool(
                    lab,
                    &format!("patchelf --replace-needed '{need}' '/build/x{below}' '{file}'"),
                );
            }
        }
    }
}

/// A program that opens plugins keeps a library that it does not use, because a plugin may use it.
/// A plugin that is audited with its program is bound again.
#[test]
fn a_need_that_plugins_may_use_stays() {
    let lab = Lab::new();
    lab.so("tree/lib/libu.so", "int u(void) { return 0; }", &["-Wl,-soname,libu.so"]);
    let source = "int u(void); int plugin(void) { return u(); }";
    lab.so("tree/plugins/plug.so", source, &[]);
    let opens = "#include <dlfcn.h>\nint main(int n, char **v) { void *p = dlopen(v[1], RTLD_NOW); \
                 int (*f)(void) = p ? (int (*)(void))dlsym(p, \"plugin\") : 0; return f ? f() : 9; }";
    let plain = "int main(void) { return 0; }";
    let library = lab.path("tree/lib/libu.so").display().to_string();
    for (source, args, expected) in
        [(opens, &[][..], false), (opens, &["--host", "tree/bin/prog"], false), (plain, &[], true)]
    {
        let flags = ["-Wl,--no-as-needed", &library, "-Wl,-rpath,$ORIGIN/../lib"];
        lab.exe("tree/bin/prog", source, &flags);
        let args =
            [&["fix", "tree", "--isolated", "--warn", "unused-library", "--format", "json"], args];
        let report: Value =
            serde_json::from_slice(&lab.linkaudit(&args.concat()).stdout).expect("JSON");
        let unused = findings(&report, "unused-library");
        let of_prog = unused.iter().find(|finding| finding["library"] == "libu.so");
        let fix = &of_prog.unwrap_or_else(|| panic!("{report:#}"))["fix"][0];
        assert_eq!(fix["proven"], expected, "{fix}");
        // The reason for the refusal: without the need the plugin cannot be opened.
        tool(
            &lab,
            "cp tree/bin/prog tree/bin/less; patchelf --remove-needed libu.so tree/bin/less",
        );
        let status =
            |program: &str| lab.sh(&format!("{program} tree/plugins/plug.so")).status.code();
        if expected {
            assert_eq!(status("tree/bin/less"), Some(0));
        } else {
            assert_eq!((status("tree/bin/prog"), status("tree/bin/less")), (Some(0), Some(9)));
        }
        tool(&lab, "rm tree/bin/less");
    }
}

/// The audited program defines data that a library would otherwise take from its need. A program
/// without the data requires this need, so the removal is only a suggestion.
#[test]
fn a_need_that_other_programs_use_stays() {
    let lab = Lab::new();
    lab.so("tree/lib/libdata.so", "int level = 3;", &["-Wl,-soname,libdata.so"]);
    let source = "extern int level; int reads(void) { return level; }";
    let flags = ["-Wl,-soname,libreads.so", "-Ltree/lib", "-ldata", "-Wl,-rpath,$ORIGIN"];
    lab.so("tree/lib/libreads.so", source, &flags);
    let flags = ["-rdynamic", "-Ltree/lib", "-lreads", "-Wl,-rpath,$ORIGIN/../lib"];
    let source = "int level = 5; int reads(void); int main(void) { return reads() - 5; }";
    lab.exe("tree/bin/prog", source, &flags);
    let source = "int reads(void); int main(void) { return reads() - 3; }";
    lab.exe("other", source, &["-Ltree/lib", "-lreads", "-Wl,-rpath,$ORIGIN/tree/lib"]);
    let args = ["fix", "tree", "--isolated", "--warn", "unused-library", "--format", "json"];
    let report: Value = serde_json::from_slice(&lab.linkaudit(&args).stdout).expect("JSON");
    let unused = findings(&report, "unused-library");
    let fix = &unused.first().unwrap_or_else(|| panic!("{report:#}"))["fix"][0];
    assert_eq!((&fix["intent"], &fix["proven"]), (&"drop-need".into(), &false.into()), "{fix}");
    if !has("patchelf") {
        return skip("a_need_that_other_programs_use_stays", "patchelf is not installed");
    }
    let status = |program: &str| lab.sh(program).status.code();
    assert_eq!((status("tree/bin/prog"), status("./other")), (Some(0), Some(0)));
    tool(&lab, "patchelf --remove-needed libdata.so tree/lib/libreads.so");
    assert_eq!((status("tree/bin/prog"), status("./other")), (Some(0), Some(127)));
}
