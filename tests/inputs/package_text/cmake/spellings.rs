//! One `foo-config.cmake` answers to each spelling of `foo`, with different results: a real CMake
//! shows the result of each request.

use super::{PROJECT, Verdict, ours};
use crate::support::{Lab, clean, has, skip};
use linkaudit::audit;
use linkaudit::plan::Plan;
use linkaudit::tree::DiskTree;
use linkaudit::wants::Wants;
use std::sync::atomic::AtomicUsize;

/// Packages: the name, the configuration file, its text.
const PACKAGES: [(&str, &str, &str); 8] = [
    ("BAR", "bar-config.cmake", "include(\"${CMAKE_CURRENT_LIST_DIR}/gone.cmake\")\n"),
    ("calls", "callsConfig.cmake", "include(CMakeParseArguments)\nnot_defined()\n"),
    (
        "FOO",
        "foo-config.cmake",
        "include(\"${CMAKE_CURRENT_LIST_DIR}/${CMAKE_FIND_PACKAGE_NAME}-targets.cmake\")\n\
        set(${CMAKE_FIND_PACKAGE_NAME}_EXTRA \"${CMAKE_CURRENT_LIST_DIR}/extra.cmake\")\n",
    ),
    ("both", "bothConfig.cmake", "find_package(FOO CONFIG)\nfind_package(foo CONFIG)\n"),
    ("lower", "lowerConfig.cmake", "find_package(foo CONFIG)\n"),
    ("mixed", "mixedConfig.cmake", "find_package(Foo CONFIG)\n"),
    ("upper", "upperConfig.cmake", "find_package(FOO CONFIG)\ninclude(\"${FOO_EXTRA}\")\n"),
    (
        "wrong",
        "wrongConfig.cmake",
        "find_package(FOO CONFIG)\nif(foo_EXTRA)\n set(wrong_FOUND 1)\nelse()\n set(wrong_FOUND 0)\nendif()\n",
    ),
];

/// A version file that refuses all spellings but one.
const BAR_VERSION: &str = "set(PACKAGE_VERSION 1)\n\
    if(NOT PACKAGE_FIND_NAME STREQUAL BAR)\n set(PACKAGE_VERSION_UNSUITABLE TRUE)\nendif()\n";

#[test]
fn spellings_of_a_name_are_apart() {
    if !has("cmake") || !has("ninja") {
        return skip("cmake_spellings", "no cmake or ninja");
    }
    let lab = Lab::new();
    for (name, file, text) in PACKAGES {
        lab.write(&format!("p/lib/cmake/{}/{file}", name.to_ascii_lowercase()), text);
    }
    for file in ["FOO-targets.cmake", "extra.cmake"] {
        lab.write(&format!("p/lib/cmake/foo/{file}"), "");
    }
    lab.write("p/lib/cmake/bar/bar-config-version.cmake", BAR_VERSION);
    lab.write("consumer/CMakeLists.txt", PROJECT);
    lab.write("consumer/main.c", "int main(void){return 0;}\n");
    let plan = Plan {
        has_root: true,
        rule_wants: Wants::CMAKE,
        threads: 2,
        ..Plan::new(vec!["/p".into()], lab.root())
    };
    let tree = DiskTree::within(&lab.root()).expect("a root");
    let input = audit::read(&plan, &tree, &AtomicUsize::new(0));
    let audit = audit::audit(&plan, &tree, audit::collect(&plan, &tree, input));
    let mut differ = Vec::new();
    for (name, file, _) in PACKAGES {
        let packages = &audit.package_text.cmake;
        let package = packages.iter().find(|one| one.path.ends_with(file)).expect("a package");
        let output = clean("cmake")
            .current_dir(lab.root())
            .args(["-G", "Ninja", "-S", "consumer", "-B"])
            .arg(format!("build-{name}"))
            .arg(format!("-DPKG={name}"))
            .arg(format!("-DCMAKE_PREFIX_PATH={}", lab.path("p").display()))
            .output()
            .expect("cmake");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let theirs = match (output.status.success(), printed.contains("FOUND<1>")) {
            (false, _) => Verdict::Fatal,
            (true, true) => Verdict::Found,
            (true, false) => Verdict::NotFound,
        };
        let ours = ours(package.outcome.found);
        if *package.name != *name.as_bytes() || ours != theirs {
            let named = String::from_utf8_lossy(&package.name).into_owned();
            differ.push(format!("{name}: CMake {theirs:?}, linkaudit {ours:?} as {named}"));
        }
    }
    println!("spellings of a name: {} cases, {} differ", PACKAGES.len(), differ.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
