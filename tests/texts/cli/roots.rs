//! Entry points: which objects they are, their order, and files with several names.

use super::kit::{BROKEN, FOO, at, each, of_rule, only, report, summary, text};
use crate::support::Lab;
use serde_json::{Value, json};

/// The entry point of every file in the laboratory, by `path`.
fn roots(lab: &Lab, report: &Value) -> Vec<(String, String)> {
    let here = at(lab, "");
    let below = |value: &Value| text(value).strip_prefix(&here).map(str::to_owned);
    let files = report["files"].as_array().expect("files");
    let pair = |file: &Value| Some((below(&file["path"])?, below(&file["root"])?));
    let mut pairs: Vec<_> = files.iter().filter_map(pair).collect();
    pairs.sort();
    pairs
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(file, root)| ((*file).to_owned(), (*root).to_owned())).collect()
}

/// A library that needs others beside it.
fn needing(lab: &Lab, name: &str, needs: &[&str]) {
    let folder = name.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let mut flags = vec!["-Wl,--no-as-needed".to_owned(), "-Wl,-rpath,$ORIGIN".to_owned()];
    flags.push(format!("-L{folder}"));
    flags.extend(needs.iter().map(|need| format!("-l:{need}")));
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    lab.so(name, "int nothing_of_note;", &flags);
}

#[test]
fn a_plugin_that_nothing_loads_is_a_root() {
    let lab = Lab::new();
    lab.so("p/lib/libfoo.so", FOO, &[]);
    lab.so("p/lib/plugins/plugin.so", BROKEN, &[]);
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lfoo", "-Wl,-rpath,$ORIGIN/../lib"];
    lab.exe("p/bin/app", "int main(void) { return 0; }", &flags);
    let report = report(&lab, &["p"]);
    assert_eq!(report["totals"]["roots"], 2);
    let expected = [
        ("p/bin/app", "p/bin/app"),
        ("p/lib/libfoo.so", "p/bin/app"),
        ("p/lib/plugins/plugin.so", "p/lib/plugins/plugin.so"),
    ];
    assert_eq!(roots(&lab, &report), pairs(&expected));
    let finding = only(&report, "undefined-symbol");
    assert_eq!(finding["root"], at(&lab, "p/lib/plugins/plugin.so"));
    assert_eq!(each(finding, "chain", "path"), [""; 0]);
}

#[test]
fn of_two_libraries_that_only_need_each_other_the_first_is_the_root() {
    let lab = Lab::new();
    for (first, second) in [("liba.so", "libb.so"), ("lib/x.so", "lib-y.so")] {
        let lab_dir = format!("p-{}", first.len());
        let (one, two) = (format!("{lab_dir}/{first}"), format!("{lab_dir}/{second}"));
        lab.so(&one, "int one;", &[]);
        // Each library finds the other in any directory.
        let flags = |other: &str| {
            let path = format!(
                "-Wl,-rpath,{}:{}",
                at(&lab, &lab_dir),
                at(&lab, &format!("{lab_dir}/lib"))
            );
            let folder =
                other.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned());
            let name = other.rsplit('/').next().unwrap_or(other).to_owned();
            [format!("-L{folder}"), format!("-l:{name}"), path, "-Wl,--no-as-needed".to_owned()]
        };
        let build = |out: &str, other: &str| {
            let flags = flags(other);
            let flags = [flags[3].as_str(), &flags[0], &flags[1], &flags[2]];
            lab.so(out, "int nothing_of_note;", &flags);
        };
        build(&two, &one);
        build(&one, &two);
        let report = report(&lab, &[&lab_dir]);
        assert_eq!(report["totals"]["roots"], 1);
        let mut files = [one, two];
        files.sort();
        let expected = pairs(&[(&files[0], &files[0]), (&files[1], &files[0])]);
        assert_eq!(roots(&lab, &report), expected);
    }
}

#[test]
fn what_loads_the_circle_comes_before_it() {
    let lab = Lab::new();
    lab.so("p/liba.so", "int a;", &[]);
    needing(&lab, "p/libb.so", &["liba.so"]);
    needing(&lab, "p/liba.so", &["libb.so"]);
    needing(&lab, "p/libz.so", &["libb.so"]);
    let report = report(&lab, &["p"]);
    let expected =
        [("p/liba.so", "p/libz.so"), ("p/libb.so", "p/libz.so"), ("p/libz.so", "p/libz.so")];
    assert_eq!(roots(&lab, &report), pairs(&expected));
}

#[test]
fn a_given_file_is_a_root() {
    let lab = Lab::new();
    lab.so("p/libb.so", BROKEN, &[]);
    needing(&lab, "p/liba.so", &["libb.so"]);
    assert_eq!(report(&lab, &["p"])["totals"]["roots"], 1);
    let given = report(&lab, &["p/libb.so", "p"]);
    assert_eq!(given["totals"]["roots"], 2);
    let roots = each(only(&given, "undefined-symbol"), "root", "path");
    assert_eq!(roots, [at(&lab, "p/liba.so"), at(&lab, "p/libb.so")]);
}

#[test]
fn as_ldd_every_file_is_a_root() {
    let lab = Lab::new();
    lab.so("p/libb.so", BROKEN, &[]);
    needing(&lab, "p/liba.so", &["libb.so"]);
    assert_eq!(report(&lab, &["p", "--as-ldd"])["totals"]["roots"], 2);
}

#[test]
fn objects_archives_and_static_programs_are_none() {
    let lab = Lab::new();
    super::kit::object(&lab, "p/a.o", BROKEN);
    super::kit::run_ar(&lab, &["rc", "p/a.a", "p/a.o"]);
    lab.cc("p/static", "void _start(void) {}", &["-nostdlib", "-static", "-no-pie"], &[]);
    let report = report(&lab, &["p"]);
    assert_eq!(report["totals"]["roots"], 0);
    assert_eq!(report["totals"]["elf"], 2);
    assert_eq!(report["findings"], json!([]));
}

#[test]
fn the_first_root_is_first_by_bytes_and_all_are_evidence() {
    let lab = Lab::new();
    lab.so("p/lib/libb.so", BROKEN, &[]);
    // `-` comes before `/`, and capitals before small letters.
    let programs = ["p/bin/a", "p/bin-x", "p/bin/B", "p/bin/a.out"];
    let flags = ["-Wl,--no-as-needed", "-Lp/lib", "-lb", "-Wl,-rpath,$ORIGIN/../lib:$ORIGIN/lib"];
    for program in programs {
        lab.exe(program, "int main(void) { return 0; }", &flags);
    }
    let report = report(&lab, &["p"]);
    let finding = only(&report, "undefined-symbol");
    assert_eq!(finding["root"], at(&lab, "p/bin-x"));
    let expected = ["p/bin-x", "p/bin/B", "p/bin/a", "p/bin/a.out"].map(|name| at(&lab, name));
    assert_eq!(each(finding, "root", "path"), expected);
}

#[test]
fn the_first_root_does_not_depend_on_how_paths_were_typed() {
    let lab = Lab::new();
    lab.so("lib/libb.so", BROKEN, &[]);
    let flags = ["-Wl,--no-as-needed", "-Llib", "-lb", "-Wl,-rpath,$ORIGIN/../lib"];
    for program in ["a/app", "b/app"] {
        lab.exe(program, "int main(void) { return 0; }", &flags);
    }
    // `.` comes before `/`: as typed, the relative path comes first.
    for typed in [[at(&lab, "a"), "./b".to_owned()], ["./a".to_owned(), at(&lab, "b")]] {
        let report = report(&lab, &[&typed[0], &typed[1], "lib"]);
        let finding = only(&report, "undefined-symbol");
        assert_eq!(finding["root"], at(&lab, "a/app"), "{typed:?}");
        assert_eq!(each(finding, "root", "path"), [at(&lab, "a/app"), at(&lab, "b/app")]);
    }
}

#[test]
fn the_order_of_paths_does_not_matter() {
    let lab = Lab::new();
    for name in ["a/liba.so", "b/libb.so", "c/libc.so"] {
        lab.so(name, BROKEN, &[]);
    }
    let (one, two) = (report(&lab, &["a", "b", "c"]), report(&lab, &["c", "a", "b"]));
    assert_eq!(one, two);
    assert_eq!(summary(&one).len(), 3);
}

#[test]
fn a_file_with_several_names_is_reported_once() {
    let lab = Lab::new();
    lab.so("p/libm.so", BROKEN, &[]);
    for name in ["p/libz.so", "p/liba.so"] {
        std::fs::hard_link(lab.path("p/libm.so"), lab.path(name)).expect("a hard link");
    }
    let report = report(&lab, &["p"]);
    let finding = only(&report, "undefined-symbol");
    assert_eq!(finding["path"], "liba.so");
    assert_eq!(report["totals"]["roots"], 1);
    assert_eq!(report["totals"]["elf"], 3);
    // The other names are evidence.
    let named: Vec<&str> = finding["evidence"]
        .as_array()
        .expect("evidence")
        .iter()
        .filter_map(|piece| piece["path"].as_str().or_else(|| piece["name"].as_str()))
        .collect();
    for name in ["libm.so", "libz.so"] {
        assert!(named.iter().any(|path| path.ends_with(name)), "{name} is not in {named:?}");
    }
}

#[test]
fn links_are_no_files_of_their_own() {
    let lab = Lab::new();
    lab.so("p/libm.so.1.0", BROKEN, &["-Wl,-soname,libm.so.1"]);
    lab.link("libm.so.1.0", "p/libm.so.1");
    lab.link("libm.so.1", "p/liba.so");
    let report = report(&lab, &["p"]);
    assert_eq!(only(&report, "undefined-symbol")["path"], "libm.so.1.0");
    assert_eq!(report["totals"]["elf"], 1);
    assert_eq!(report["totals"]["links"], 2);
}

#[test]
fn overlapping_paths_are_read_once() {
    let lab = Lab::new();
    lab.so("p/lib/liba.so", BROKEN, &[]);
    let report = report(&lab, &["p", "p/lib", "./p", "p/lib/liba.so"]);
    // The longest directory that was given is the prefix.
    let finding = only(&report, "undefined-symbol");
    assert_eq!(finding["prefix"], at(&lab, "p/lib"));
    assert_eq!(finding["path"], "liba.so");
    assert_eq!(of_rule(&report, "undefined-symbol").len(), 1);
}
