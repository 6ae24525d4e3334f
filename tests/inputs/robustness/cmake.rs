//! CMake files that would take quadratic time: the evaluation of each ends within a bound, and
//! gives up if it must.

use super::limited;
use crate::support::report::{Report, text};
use crate::support::{Lab, linkaudit};
use std::fmt::Write as _;

/// Limit of processor time for one file, in seconds. Without the bound, appends, pops and calls
/// took longer than 60 s.
const SECONDS: u32 = 30;

/// `count` lines, each made from its number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        writeln!(text, "{}", line(number)).expect("a string");
        text
    })
}

fn variables(count: usize) -> String {
    lines(count, |number| format!("set(v{number} {number})"))
}

fn cases() -> Vec<(&'static str, String)> {
    let always = |line: &'static str| move |_: usize| line.to_owned();
    let unknown = |line: &str| format!("if(EXISTS \"$ENV{{X}}\")\n{line}\nendif()");
    let calls = lines(90_000, always("f()"));
    let property = "set_property(TARGET t APPEND PROPERTY INTERFACE_LINK_LIBRARIES aaaaaaaa)";
    let target = "add_library(t STATIC IMPORTED)\n";
    vec![
        ("calls", format!("function(f)\nendfunction()\n{}{calls}", variables(90_000))),
        ("branches", variables(60_000) + &lines(40_000, |_| unknown("set(x 1)"))),
        (
            "loops",
            variables(60_000) + &lines(30_000, always("foreach(i ${CMAKE_X})\nendforeach()")),
        ),
        ("append", lines(180_000, always("list(APPEND l aaaaaaaa)"))),
        ("string", lines(180_000, always("string(APPEND s aaaaaaaa)"))),
        ("property", target.to_owned() + &lines(180_000, always(property))),
        (
            "pop",
            format!("set(l {})\n", "a ".repeat(100_000))
                + &lines(90_000, always("list(POP_FRONT l x)")),
        ),
        (
            "matches",
            lines(60_000, |number| format!("set(CMAKE_MATCH_{number} x)"))
                + &lines(40_000, always("if(abc MATCHES b)\nendif()")),
        ),
        ("obscure", lines(180_000, |number| format!("string(NEW v{number} x)"))),
        (
            "missing",
            target.to_owned()
                + &lines(90_000, |number| {
                    let property = format!("IMPORTED_LOCATION_C{number} /absent/{number}");
                    format!("set_target_properties(t PROPERTIES {property})")
                }),
        ),
    ]
}

#[test]
fn no_file_takes_quadratic_time() {
    let (mut over, mut named) = (Vec::new(), 0);
    let cases = cases();
    for (name, text) in &cases {
        let lab = Lab::new();
        lab.write("p/lib/cmake/big/bigConfig.cmake", text);
        let limits = format!("ulimit -t {SECONDS};");
        let arguments = ["--isolated", "-W", "package-text", "p", "--format", "json"];
        let output = limited(&lab, &limits, &arguments).output().expect("linkaudit runs");
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(!report.contains("too many commands"), "{name} is not evaluated: {report}");
        named += usize::from(report.contains("not evaluated to its end: it takes too long"));
        if output.status.code().is_none_or(|code| code > 3) {
            over.push(format!("{name}: {}", output.status));
        }
    }
    println!(
        "CMake files of quadratic cost: {} cases, {named} named, {} differ",
        cases.len(),
        over.len()
    );
    assert!(named > 0, "no package is named that was not evaluated");
    assert!(over.is_empty(), "{}", over.join("\n"));
}

/// A package that was not evaluated to its end is in the report once, under its own name, also if
/// others require it. A file that cannot be parsed is named instead of the packages that include
/// it.
#[test]
fn packages_that_end_early_are_named() {
    let lab = Lab::new();
    let depends = "include(CMakeFindDependencyMacro)\nfind_dependency(deep)\n";
    let files = [
        ("deep", "macro(m)\n m()\nendmacro()\nm()\n"),
        ("loop", "while(1)\nendwhile()\n"),
        ("first", depends),
        ("second", depends),
        ("named", "include(\"$ENV{X}/a.cmake\")\n"),
        ("good", "set(good_FOUND 1)\n"),
        ("broken", "include(\"${CMAKE_CURRENT_LIST_DIR}/other.cmake\")\n"),
    ];
    for (name, text) in files {
        lab.write(&format!("p/lib/cmake/{name}/{name}Config.cmake"), text);
    }
    lab.write("p/lib/cmake/broken/other.cmake", "set(a \"b\n");
    let mut command = linkaudit();
    let report =
        Report::of(command.current_dir(lab.root()).args(["--isolated", "-W", "package-text", "p"]));
    let paths = |rule: &str| {
        let found = report.of_rule(rule).map(|one| text(&one["path"]).to_owned());
        let names = found.filter_map(|path| Some(path.rsplit('/').next()?.to_owned()));
        names.collect::<Vec<String>>()
    };
    let given_up = paths("undecided");
    println!("packages that end early: {} cases, {} named", files.len(), given_up.len());
    assert_eq!(given_up, ["deepConfig.cmake", "loopConfig.cmake", "namedConfig.cmake"]);
    assert_eq!(paths("unreadable"), ["other.cmake"]);
    assert_eq!(report.status, 3, "the audit is incomplete");
}
