//! Missing files that installed text names: `cmake-install` writes commands that a real CMake runs,
//! after which the package is found and the findings are gone. `checklist` has a box for each
//! cause.

use super::kit::{text, tool};
use crate::support::{self, Lab};
use serde_json::Value;
use std::collections::BTreeSet;

const CONFIG: &str = r#"
include("${CMAKE_CURRENT_LIST_DIR}/fooTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/odd \$name'%.cmake")
"#;

/// A package that lacks files, which a build directory has, and a component that was not built.
fn package() -> Lab {
    let lab = Lab::new();
    let root = lab.root().display().to_string();
    lab.write("stage/lib/cmake/foo/fooConfig.cmake", CONFIG);
    lab.write("stage/include/foo/detail/a.h", "#define FOO_A\n");
    let header = "#include \"detail/a.h\"\n#include \"detail/b.h\"\n";
    lab.write("stage/include/foo/foo.h", header);
    let pc = "prefix=${pcfiledir}/../..\nName: foo\nDescription: foo\nVersion: 1\nLibs: -L${prefix}/lib -lfoo\n";
    lab.write("stage/lib/pkgconfig/foo.pc", pc);
    lab.write("stage/bin/run", format!("#!{root}/stage/bin/interpreter\n"));
    let components = "set(_bar_components one two)\n\
        foreach(_c ${bar_FIND_COMPONENTS})\n\
        if(NOT _c IN_LIST _bar_components)\n set(bar_FOUND False)\n endif()\n\
        include(\"${CMAKE_CURRENT_LIST_DIR}/bar${_c}Targets.cmake\")\nendforeach()\n";
    lab.write("stage/lib/cmake/bar/barConfig.cmake", components);
    lab.write("stage/lib/cmake/bar/baroneTargets.cmake", "set(bar_one 1)\n");
    lab.write("build/cmake/fooTargets.cmake", "set(foo_targets 1)\n");
    lab.write("build/cmake/odd $name'%.cmake", "set(foo_odd 1)\n");
    // Installed in the wrong directory: a header below --lib-path would count as found.
    lab.write("stage/share/foo/b.h", "#define FOO_B 2\n");
    // The path of this file is less similar to the named path.
    lab.write("build/odd/fooTargets.cmake", "set(foo_targets 2)\n");
    lab.write("build/gen/interpreter", "#!/bin/sh\n");
    lab.so("build/lib/libfoo.so", "int foo(void) { return 1; }", &[]);
    tool(&lab, "chmod +x stage/bin/run build/gen/interpreter");
    let user = "cmake_minimum_required(VERSION 3.20)\nproject(user NONE)\n\
        find_package(foo CONFIG REQUIRED)\nfind_package(bar CONFIG REQUIRED COMPONENTS one)\n\
        message(STATUS \"loaded ${foo_targets}${foo_odd}${bar_one}\")\n";
    lab.write("user/CMakeLists.txt", user);
    let install =
        "cmake_minimum_required(VERSION 3.20)\nproject(install NONE)\ninclude(new.cmake)\n";
    lab.write("install/CMakeLists.txt", install);
    lab
}

/// The findings of an audit: rule and detail.
fn findings(lab: &Lab, command: &[&str]) -> BTreeSet<(String, String)> {
    let run = lab
        .linkaudit(&[command, &["--isolated", "-D", "package-text", "--format", "json"]].concat());
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = report["findings"].as_array().expect("findings").iter();
    all.map(|finding| (word(&finding["rule"]), word(&finding["detail"]))).collect()
}

const USER: &str = "rm -rf out; cmake -S user -B out -DCMAKE_PREFIX_PATH=$PWD/stage 2>&1";

#[test]
fn cmake_installs_what_is_missing() {
    if !support::has("cmake") {
        return support::skip("cmake_installs_what_is_missing", "no CMake");
    }
    let lab = package();
    let before = findings(&lab, &["stage"]);
    assert_eq!(before.len(), 6, "{before:?}");
    assert!(!lab.sh(USER).status.success(), "CMake finds the broken package");

    let command = ["fix", "stage", "--isolated", "-D", "package-text", "--lib-path", "build"];
    let outputs = ["--emit", "cmake-install", "-o", "cmake-install=install/new.cmake"];
    let list = ["-o", "checklist=todo.md", "-o", "json=report.json"];
    let run = lab.linkaudit(&[&command[..], &outputs, &list].concat());
    assert_eq!(run.status.code(), Some(1), "{}{}", text(&run.stdout), text(&run.stderr));
    tool(&lab, "cmake -S install -B b -DCMAKE_INSTALL_PREFIX=$PWD/stage && cmake --install b");

    let after = findings(&lab, &["stage"]);
    let left = BTreeSet::from([("cmake-unbuilt-component".to_owned(), "two".to_owned())]);
    let cured = before.len() - after.len();
    println!(
        "cmake-install: {} findings, {cured} cured by CMake, {} left",
        before.len(),
        after.len()
    );
    assert_eq!(after, left);
    assert!(tool(&lab, USER).contains("loaded 111"), "the package is not loaded whole");
    assert!(tool(&lab, "cat stage/include/foo/detail/b.h").contains("FOO_B 2"));
    tool(&lab, "test -x stage/bin/interpreter");

    let todo = std::fs::read_to_string(lab.path("todo.md")).expect("a list");
    assert_eq!(todo.lines().filter(|line| line.starts_with("- [ ] ")).count(), before.len());
    for text in [
        "  - install: lib/cmake/foo/fooTargets.cmake, from ",
        "build/cmake/fooTargets.cmake (not verified)",
        "  - build and install the component: two (not verified)",
    ] {
        assert!(todo.contains(text), "{text}\n{todo}");
    }
}

/// A name that CMake would read differently is refused, and the run reports it.
#[test]
fn names_that_install_cannot_hold_are_refused() {
    let lab = Lab::new();
    lab.write(
        "stage/lib/cmake/foo/fooConfig.cmake",
        "include(\"${CMAKE_CURRENT_LIST_DIR}/a;b.cmake\")\n",
    );
    lab.write("build/a;b.cmake", "");
    let command = ["fix", "stage", "--isolated", "-D", "package-text", "--lib-path", "build"];
    let run = lab.linkaudit(&[&command[..], &["--emit", "cmake-install"]].concat());
    assert!(text(&run.stderr).contains("semicolon"), "{}", text(&run.stderr));
    assert_eq!(text(&run.stdout), "");
}

/// Without a candidate for the file, only `checklist` has an entry for it.
#[test]
fn a_file_that_is_nowhere_is_only_named() {
    let lab = package();
    tool(&lab, "rm -r stage/share");
    let run =
        lab.linkaudit(&["fix", "stage", "--isolated", "-D", "package-text", "--emit", "checklist"]);
    let todo = text(&run.stdout);
    assert!(
        todo.contains("  - install: lib/cmake/foo/fooTargets.cmake (not verified)\n"),
        "{todo}"
    );
    let run = lab.linkaudit(&[
        "fix",
        "stage",
        "--isolated",
        "-D",
        "package-text",
        "--emit",
        "cmake-install",
    ]);
    assert_eq!(text(&run.stdout), "");
}
