//! Programs that open the libraries of `dependentlibs.list` one after another: random ones run, and
//! the loader's bindings must be those of the report, symbol for symbol.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::ld_debug::{Binding, ran};
use crate::support::random::{Random, amount, number};
use crate::support::report::{self, Report};
use crate::support::{Lab, linkaudit};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Opens each library of the list beside the program for all later ones, then its arguments.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int opened(char *dir, char *name, int how) {
    char path[PATH_MAX * 2];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) != 0 || dlopen(path, RTLD_NOW | how);
}
int main(int count, char **names) {
    char dir[PATH_MAX], path[PATH_MAX + 40], line[200];
    ssize_t length = readlink("/proc/self/exe", dir, sizeof dir - 1);
    dir[length] = 0;
    *strrchr(dir, '/') = 0;
    snprintf(path, sizeof path, "%s/LIST", dir);
    FILE *list = fopen(path, "r");
    while (list && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] != '#' && line[0] && !opened(dir, line, RTLD_GLOBAL)) return puts(dlerror()), 1;
    }
    for (int at = 1; at < count; at++)
        if (!opened(dir, names[at], 0)) return puts(dlerror()), 1;
    return 0;
}"#;

fn program(lab: &Lab, path: &str, list: &str) {
    lab.exe(path, &PROGRAM.replace("LIST", list), &["-ldl"]);
}

/// A library that needs earlier ones, without a search path. Several define one name.
fn library(lab: &Lab, random: &mut Random, number: usize, earlier: usize) {
    let mut source = format!("int own{number}(void) {{ return {number}; }}\n");
    let (mut calls, mut flags) = (String::new(), vec!["-Wl,--no-as-needed", "-Lapp"]);
    let mut names = Vec::new();
    for other in 0..earlier {
        if random.chance(40) {
            names.push(format!("-l:lib{other}.so"));
            let _ = writeln!(source, "int own{other}(void);");
            let _ = write!(calls, "own{other}() + ");
        }
    }
    for shared in 0..3 {
        let _ = match random.below(3) {
            0 => writeln!(source, "int shared{shared}(void) {{ return {number}; }}"),
            1 => writeln!(source, "__attribute__((weak)) int shared{shared}(void);"),
            _ => continue,
        };
        let _ = write!(calls, "(shared{shared} ? shared{shared}() : 0) + ");
    }
    let _ = writeln!(source, "int sum{number}(void) {{ return {calls}0; }}");
    let soname = format!("-Wl,-soname,lib{number}.so");
    flags.extend(names.iter().chain([&soname]).map(String::as_str));
    lab.so(&format!("app/lib{number}.so"), &source, &flags);
}

/// The bindings of all entry points, and the rule and path of each error.
fn said(lab: &Lab) -> (BTreeSet<Binding>, Vec<String>) {
    let report = Report::of(
        linkaudit().current_dir(lab.root()).args(["--isolated", "--facts"]).arg(lab.path("app")),
    );
    let mut bound = BTreeSet::new();
    for root in report::list(&report.value["bindings"]) {
        for binding in report::list(&root["bound"]) {
            let parts: Vec<_> = report::list(binding).collect();
            let [file, symbol, version, provider] = parts[..] else { panic!("{binding}") };
            let text = |value| report::text(value).to_owned();
            let version = version.as_str().map(str::to_owned);
            bound.insert((text(file), text(symbol), version, text(provider)));
        }
    }
    let errors =
        report::list(&report.value["findings"]).filter(|finding| finding["level"] == "error");
    (bound, errors.map(|finding| format!("{} {}", finding["rule"], finding["path"])).collect())
}

/// Libraries of the system bind alike; their paths may be spelled in two ways.
fn of_app(lab: &Lab, all: BTreeSet<Binding>) -> BTreeSet<Binding> {
    let dir = lab.path("app");
    let dir = dir.to_str().expect("text");
    all.into_iter()
        .filter(|(file, _, _, by)| file.starts_with(dir) && by.starts_with(dir))
        .collect()
}

#[test]
fn the_loader_binds_what_the_report_says() {
    let cases = amount("LINKAUDIT_LISTS", 8);
    let mut random = Random::new(number("LINKAUDIT_SEED", 1));
    let (mut bindings, mut differences) = (0, Vec::new());
    for case in 0..cases {
        let lab = Lab::new();
        program(&lab, "app/tool", "dependentlibs.list");
        let count = random.between(3, 7);
        let mut list = "# in this order\n\nlibabsent.so\n".to_owned();
        for number in 0..count {
            library(&lab, &mut random, number, number);
            let _ = writeln!(list, "lib{number}.so");
        }
        library(&lab, &mut random, count, count);
        lab.write("app/dependentlibs.list", list);
        let plugin = format!("lib{count}.so");
        let theirs = of_app(&lab, ran(&lab.path("app/tool"), &[&plugin]));
        let (ours, errors) = said(&lab);
        let ours = of_app(&lab, ours);
        bindings += theirs.len();
        differences.extend(errors.iter().map(|error| format!("{case}: {error}")));
        for (who, one, other) in [("report", &ours, &theirs), ("loader", &theirs, &ours)] {
            let only = one.difference(other);
            differences.extend(only.map(|binding| format!("{case}: only the {who}: {binding:?}")));
        }
    }
    println!("lists: {cases} programs, {bindings} bindings, {} differences", differences.len());
    assert!(bindings > 0, "nothing is bound");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A symbol that a listed library has lost is undefined.
#[test]
fn a_lost_symbol_is_found() {
    let lab = Lab::new();
    program(&lab, "app/tool", "dependentlibs.list");
    let soname = ["-Wl,-soname,libone.so"];
    lab.so("app/libone.so", "int one(void) { return 1; } int lost(void) { return 1; }", &soname);
    let source = "int one(void), lost(void); int two(void) { return one() + lost(); }";
    lab.so("app/libtwo.so", source, &["-Lapp", "-lone"]);
    lab.so("app/libone.so", "int one(void) { return 1; }", &soname);
    lab.write("app/dependentlibs.list", "libone.so\nlibtwo.so\n");
    let tool = lab.sh("app/tool");
    assert_eq!(tool.status.code(), Some(1), "the loader finds it");
    assert_eq!(said(&lab).1, ["\"undefined-symbol\" \"libtwo.so\""]);
}

/// Libraries are missing without a program that reads the list, in another order, or if the file is
/// absent.
#[test]
fn a_list_excuses_no_more_than_it_opens() {
    let cases = [
        ("dependentlibs.list", "libone.so\nlibtwo.so\n", true),
        ("others.list", "libone.so\nlibtwo.so\n", false),
        ("dependentlibs.list", "libtwo.so\nlibone.so\n", false),
        ("dependentlibs.list", "libtwo.so\n", false),
        ("dependentlibs.list", "../app/libone.so\nlibtwo.so\n", false),
        ("dependentlibs.list", "", false),
    ];
    for (name, list, is_sound) in cases {
        let lab = Lab::new();
        program(&lab, "app/tool", name);
        lab.so("app/libone.so", "int one(void) { return 1; }", &["-Wl,-soname,libone.so"]);
        lab.so(
            "app/libtwo.so",
            "int one(void); int two(void) { return one(); }",
            &["-Lapp", "-lone"],
        );
        lab.write("app/dependentlibs.list", list);
        let (_, errors) = said(&lab);
        let missing = vec!["\"missing-library\" \"libtwo.so\"".to_owned()];
        assert_eq!(errors, if is_sound { Vec::new() } else { missing }, "{name} {list:?}");
    }
}
