//! Small packages: a real CMake shows the result of each request. One `foo-config.cmake` answers to
//! each spelling of `foo`, with different results; packages see parts of those that request them.

use super::{PROJECT, Verdict, ours};
use crate::support::random::step;
use crate::support::{Lab, clean, has, skip};
use linkaudit::audit;
use linkaudit::plan::Plan;
use linkaudit::tree::DiskTree;
use linkaudit::wants::Wants;
use std::sync::atomic::AtomicUsize;

/// Packages: the name, the configuration file, its text.
const PACKAGES: [(&str, &str, &str); 47] = [
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
    // A package that finds its parts, which need its commands, targets and result.
    (
        "whole",
        "wholeConfig.cmake",
        "macro(whole_part name)\n set(${CMAKE_FIND_PACKAGE_NAME}_FOUND ${${name}_result})\n\
        include(\"${whole_dir}/extra.cmake\")\n return()\nendmacro()\n\
        set(good_result 1)\nset(bad_result 0)\nset(whole_dir \"${CMAKE_CURRENT_LIST_DIR}\")\n\
        add_library(whole::base INTERFACE IMPORTED)\n\
        set(whole_FOUND 1)\nfind_package(part_good CONFIG)\nfind_package(part_bad CONFIG)\n\
        if(NOT part_good_FOUND OR part_bad_FOUND)\n set(whole_FOUND 0)\nendif()\n",
    ),
    (
        "part_good",
        "part_goodConfig.cmake",
        "if(NOT whole_FOUND OR NOT TARGET whole::base)\n set(part_good_FOUND 0)\n return()\nendif()\n\
        whole_part(good)\nmessage(FATAL_ERROR no)\n",
    ),
    (
        "part_bad",
        "part_badConfig.cmake",
        "if(NOT whole_FOUND)\n message(FATAL_ERROR alone)\nendif()\nwhole_part(bad)\n",
    ),
    // `find_package` sets the result after the file.
    (
        "early",
        "earlyConfig.cmake",
        "if(DEFINED early_FOUND)\n message(FATAL_ERROR defined)\nendif()\nfind_package(part_early CONFIG)\n",
    ),
    (
        "part_early",
        "part_earlyConfig.cmake",
        "if(early_FOUND)\n message(FATAL_ERROR found)\nendif()\n",
    ),
    // The result of a part does not hold for the next package that requests it.
    (
        "whole_again",
        "whole_againConfig.cmake",
        "find_package(whole CONFIG)\nfind_package(part_good CONFIG)\nif(NOT part_good_FOUND)\n set(whole_again_FOUND 0)\nendif()\n",
    ),
    (
        "part_user",
        "part_userConfig.cmake",
        "include(CMakeFindDependencyMacro)\nfind_dependency(part_good)\n",
    ),
    // Options of a request.
    (
        "options",
        "optionsConfig.cmake",
        "if(NOT options_FIND_QUIETLY)\n message(SEND_ERROR loud)\nendif()\n\
        if(options_FIND_REQUIRED)\n message(FATAL_ERROR required)\nendif()\n",
    ),
    ("is_quiet", "is_quietConfig.cmake", "find_package(options CONFIG QUIET)\n"),
    ("is_loud", "is_loudConfig.cmake", "find_package(options CONFIG)\n"),
    ("is_required", "is_requiredConfig.cmake", "find_package(options CONFIG QUIET REQUIRED)\n"),
    (
        "passes",
        "passesConfig.cmake",
        "include(CMakeFindDependencyMacro)\nset(passes_FIND_QUIETLY 1)\nfind_dependency(options)\n",
    ),
    // Properties that are not set.
    (
        "properties",
        "propertiesConfig.cmake",
        "add_library(t INTERFACE IMPORTED)\nset_property(TARGET t PROPERTY INTERFACE_a \"\")\n\
        set(x 1)\nset(y 1)\n\
        get_property(x TARGET t PROPERTY INTERFACE_none)\nget_property(y TARGET t PROPERTY INTERFACE_a)\n\
        get_target_property(z t INTERFACE_none)\n\
        if(DEFINED x OR NOT DEFINED y OR z OR NOT z STREQUAL z-NOTFOUND)\n set(properties_FOUND 0)\nendif()\n",
    ),
    (
        "appended",
        "appendedConfig.cmake",
        "add_library(t INTERFACE IMPORTED)\nadd_library(also ALIAS t)\n\
        set_property(TARGET t APPEND PROPERTY INTERFACE_a 1)\nget_property(x TARGET t PROPERTY INTERFACE_a)\n\
        if(NOT x)\n set(appended_FOUND 0)\nendif()\n",
    ),
    (
        "joined",
        "joinedConfig.cmake",
        "add_library(t INTERFACE IMPORTED)\nset_property(TARGET t PROPERTY INTERFACE_a 1)\n\
        set_property(TARGET t APPEND_STRING PROPERTY INTERFACE_a 2)\n\
        set_property(TARGET t APPEND PROPERTY INTERFACE_a 3)\nget_property(x TARGET t PROPERTY INTERFACE_a)\n\
        if(NOT x STREQUAL \"12;3\")\n set(joined_FOUND 0)\nendif()\n",
    ),
    // Globs.
    (
        "globs",
        "globsConfig.cmake",
        "set(d \"${CMAKE_CURRENT_LIST_DIR}\")\n\
        file(GLOB a LIST_DIRECTORIES false RELATIVE \"${d}\" \"${d}/*\")\n\
        file(GLOB b RELATIVE \"${d}/..\" CONFIGURE_DEPENDS \"${d}/s*\" \"${d}/nothing*\")\n\
        if(NOT a STREQUAL globsConfig.cmake OR NOT b STREQUAL globs/sub)\n set(globs_FOUND 0)\nendif()\n",
    ),
    (
        "sorted",
        "sortedConfig.cmake",
        "set(d \"${CMAKE_CURRENT_LIST_DIR}/../globs\")\nfile(GLOB a LIST_DIRECTORIES true \"${d}/*\")\n\
        list(LENGTH a n)\nif(NOT n EQUAL 2)\n set(sorted_FOUND 0)\nendif()\n",
    ),
    (
        "links",
        "linksConfig.cmake",
        "set(d \"${CMAKE_CURRENT_LIST_DIR}\")\n\
        if(IS_SYMLINK \"${CMAKE_CURRENT_LIST_FILE}\" OR IS_SYMLINK \"${d}/gone\" OR NOT IS_SYMLINK \"${d}/link\")\n\
        set(links_FOUND 0)\nendif()\n",
    ),
    // Results of a child depend on what its requesters set.
    ("child", "childConfig.cmake", "if(NOT want)\n set(child_FOUND 0)\nendif()\n"),
    ("a_asks", "a_asksConfig.cmake", "find_package(child CONFIG)\n"),
    (
        "b_wants",
        "b_wantsConfig.cmake",
        "find_package(child CONFIG)\nif(child_FOUND)\n message(FATAL_ERROR early)\nendif()\n\
        set(want 1)\nfind_package(child CONFIG)\nif(NOT child_FOUND)\n set(b_wants_FOUND 0)\nendif()\n",
    ),
    ("echo", "echoConfig.cmake", "set(echo_FOUND ${v})\n"),
    (
        "echoes",
        "echoesConfig.cmake",
        "foreach(v 0 1)\n find_package(echo CONFIG)\nendforeach()\nset(echoes_FOUND ${echo_FOUND})\n",
    ),
    (
        "deep_c",
        "deep_cConfig.cmake",
        "if(deep_t)\nendif()\nif(from_a)\n set(deep_c_FOUND 0)\nendif()\n",
    ),
    (
        "deep_a",
        "deep_aConfig.cmake",
        "function(ask)\n set(from_a 1)\n find_package(deep_c CONFIG)\nendfunction()\nask()\n",
    ),
    (
        "deep_top",
        "deep_topConfig.cmake",
        "set(deep_t 1)\nfind_package(deep_a CONFIG)\nfind_package(deep_c CONFIG)\n\
        set(deep_top_FOUND ${deep_c_FOUND})\n",
    ),
    // Variables that are unset.
    ("leaf", "leafConfig.cmake", "if(DEFINED hide)\n set(leaf_FOUND 0)\nendif()\n"),
    (
        "middle",
        "middleConfig.cmake",
        "unset(hide)\nfind_package(leaf CONFIG)\nset(middle_FOUND ${leaf_FOUND})\n",
    ),
    (
        "top",
        "topConfig.cmake",
        "set(hide 1)\nfind_package(middle CONFIG)\nif(NOT middle_FOUND OR DEFINED hide)\n set(top_FOUND 0)\nendif()\n",
    ),
    (
        "in_function",
        "in_functionConfig.cmake",
        "function(f)\n unset(hide)\nendfunction()\nf()\nif(NOT hide)\n set(in_function_FOUND 0)\nendif()\n",
    ),
    (
        "calls_it",
        "calls_itConfig.cmake",
        "set(hide 1)\nfind_package(in_function CONFIG)\nset(calls_it_FOUND ${in_function_FOUND})\n",
    ),
    // Commands that read what a requester set.
    (
        "reads",
        "readsConfig.cmake",
        "option(o \"\" OFF)\nset(c OFF CACHE BOOL \"\")\nlist(REMOVE_ITEM l a)\n\
        if(NOT o OR NOT c OR l)\n set(reads_FOUND 0)\nendif()\n\
        include(\"${CMAKE_CURRENT_LIST_DIR}/../guarded/once.cmake\")\n",
    ),
    (
        "guarded",
        "guardedConfig.cmake",
        "set(o ON)\nset(c ON)\nset(l a)\ninclude(\"${CMAKE_CURRENT_LIST_DIR}/once.cmake\")\n\
        set(twice 1)\nfind_package(reads CONFIG)\nset(guarded_FOUND ${reads_FOUND})\n",
    ),
    (
        "modules_a",
        "modules_aConfig.cmake",
        "list(APPEND CMAKE_MODULE_PATH \"${CMAKE_CURRENT_LIST_DIR}\")\nfind_package(modules_b CONFIG)\nset(modules_a_FOUND ${modules_b_FOUND})\n",
    ),
    (
        "modules_b",
        "modules_bConfig.cmake",
        "list(APPEND CMAKE_MODULE_PATH \"${CMAKE_CURRENT_LIST_DIR}\")\nfind_package(modules_c CONFIG)\nset(modules_b_FOUND ${modules_c_FOUND})\n",
    ),
    (
        "modules_c",
        "modules_cConfig.cmake",
        "find_package(helper QUIET)\nset(modules_c_FOUND 0)\nif(NOT \"${CMAKE_MODULE_PATH}\" STREQUAL \"\")\n set(modules_c_FOUND 1)\nendif()\n",
    ),
    // One line end after the opening bracket is not part of a bracket argument.
    (
        "bracket_lf",
        "bracket_lfConfig.cmake",
        "set(text [[\n\nx]])\nset(bracket_lf_FOUND 0)\nif(text STREQUAL \"\\nx\")\n set(bracket_lf_FOUND 1)\nendif()\n",
    ),
    (
        "bracket_crlf",
        "bracket_crlfConfig.cmake",
        "set(text [=[\r\nx]=])\nset(bracket_crlf_FOUND 0)\nif(text STREQUAL \"x\")\n set(bracket_crlf_FOUND 1)\nendif()\n",
    ),
    // A request for a missing version, after a request without a version.
    (
        "again",
        "againConfig.cmake",
        "include(CMakeFindDependencyMacro)\nfind_package(leaf CONFIG)\nfind_dependency(leaf 9)\n",
    ),
];

/// A version file that refuses all spellings but one.
const BAR_VERSION: &str = "set(PACKAGE_VERSION 1)\n\
    if(NOT PACKAGE_FIND_NAME STREQUAL BAR)\n set(PACKAGE_VERSION_UNSUITABLE TRUE)\nendif()\n";

#[test]
fn requests_end_as_in_cmake() {
    if !has("cmake") || !has("ninja") {
        return skip("cmake_small", "no cmake or ninja");
    }
    let lab = Lab::new();
    for (name, file, text) in PACKAGES {
        lab.write(&format!("p/lib/cmake/{}/{file}", name.to_ascii_lowercase()), text);
    }
    for file in ["foo/FOO-targets.cmake", "foo/extra.cmake", "whole/extra.cmake", "globs/sub/x"] {
        lab.write(&format!("p/lib/cmake/{file}"), "");
    }
    lab.write("p/lib/cmake/bar/bar-config-version.cmake", BAR_VERSION);
    let once = "include_guard()\nif(twice)\n message(FATAL_ERROR twice)\nendif()\n";
    lab.write("p/lib/cmake/guarded/once.cmake", once);
    lab.write("p/lib/cmake/modules_a/Findhelper.cmake", "set(helper_FOUND 1)\n");
    std::os::unix::fs::symlink("none", lab.path("p/lib/cmake/links/link")).expect("a link");
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
    let count = PACKAGES.len().div_ceil(step(4));
    for (name, file, _) in PACKAGES.into_iter().step_by(step(4)) {
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
    println!("small packages: {count} cases, {} differ", differ.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
