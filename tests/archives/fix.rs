//! `linkaudit fix` as a user runs it: the fixes that it finds, verifies, refuses and writes. Every
//! emitted file must have its stated effect in its own tool, for any names of archives and symbols.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
use crate::support;
use crate::support::tiny;

mod choice;
mod dynamic_sections;
mod files;
mod flows;
mod groups;
mod hostile;
mod kit;
mod libraries;
mod linkable;
mod links;
mod llvm;
mod loaded_elsewhere;
mod local_names;
mod loops;
mod merged;
mod mri;
mod owners;
mod patched_files;
mod proofs;
mod random;
mod relinked;
mod search_paths;
mod targets;
mod variants;

use kit::{PLACES, archive, fix, text, three, tool};
use std::collections::BTreeSet;
use std::ffi::OsStr;

#[test]
fn what_is_needed_however_far_it_reaches_joins_the_right_set() {
    let lab = three();
    assert_eq!(lab.undefined("own/libuser.so"), BTreeSet::from(["one".to_owned()]));
    let run = fix(&lab, &["--deps-list", "deps.cmake", "--emit", "cmake-deps"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let new = "# the parts\nset(parts\nbase\none\ntwo\n)\nset(own\nuser\n)\n";
    assert_eq!(text(&run.stdout), new);
    assert!(
        text(&run.stderr)
            .contains("one: in libone.a\n        referenced by libfat.a(user.o, from libuser.a)\n")
    );
    // To a file: stdout has the summary, and the file is complete or absent.
    let to_file =
        ["--deps-list", "deps.cmake", "--emit", "cmake-deps", "-o", "cmake-deps=new.cmake"];
    let run = fix(&lab, &to_file);
    assert_eq!(run.status.code(), Some(0));
    assert!(text(&run.stdout).contains("add two to parts\n"), "{}", text(&run.stdout));
    assert_eq!(std::fs::read_to_string(lab.path("new.cmake")).expect("a list"), new);
    // The new list may take the place of the old one; another output may not.
    std::fs::copy(lab.path("deps.cmake"), lab.path("old.cmake")).expect("a list");
    let run = fix(&lab, &["--deps-list", "old.cmake", "-o", "cmake-deps=old.cmake"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert_eq!(std::fs::read_to_string(lab.path("old.cmake")).expect("a list"), new);
    // A list that lacks nothing stays as it is, byte for byte.
    let run = lab.linkaudit(
        &[
            &["fix", "own/libuser.so"],
            &PLACES[..],
            &["--deps-list", "new.cmake", "--emit", "cmake-deps"],
        ]
        .concat(),
    );
    assert_eq!(text(&run.stdout), new);
}

#[test]
fn the_plan_as_data_follows_the_schema() {
    let lab = three();
    let run = fix(&lab, &["--deps-list", "deps.cmake", "--format", "json"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let schema = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report.schema.json"));
    let schema = serde_json::from_slice(&schema.expect("the schema")).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = schema.iter_errors(&report).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let finding = report["findings"].as_array().expect("findings").iter();
    let mut finding = finding.filter(|finding| finding["rule"] == "undefined-symbol");
    let fix = finding.next().expect("a finding")["fix"].clone();
    let entry = |name: &str| {
        serde_json::json!({
            "intent": "add-to-list", "list": "deps.cmake", "set": "parts", "entry": name,
            "from": null, "level": "safe", "proven": true, "unknown": null,
        })
    };
    assert_eq!(fix, serde_json::json!([entry("one"), entry("two")]));
}

#[test]
fn a_policy_names_the_list_and_where_its_archives_lie() {
    let lab = three();
    let policy = "schema = 1\n[[archive]]\nmatch = \"**/libfat.a\"\ndeps-list = \"deps.cmake\"\n\
                  from = { own = \"parts\", parts = \"own\" }\n";
    lab.write("policy.toml", policy);
    let args = ["fix", "own/libuser.so", "--policy", "policy.toml", "--emit", "cmake-deps"];
    let run = lab.linkaudit(&args);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    // By the policy, archives of `parts` belong to the set `own`, whatever the set has now.
    let new = "# the parts\nset(parts\nbase\n)\nset(own\none\ntwo\nuser\n)\n";
    assert_eq!(text(&run.stdout), new);
    // A variable of another file may list more.
    lab.write(
        "deps.cmake",
        "set(own\nuser\none\ntwo\nbase\n)\nset(parts\nbase ${own} ${more}\n)\n",
    );
    let run = lab.linkaudit(&["own/libuser.so", "--policy", "policy.toml"]);
    let out = text(&run.stdout);
    assert!(out.contains("deps.cmake:8: unknown value of `${more}`"), "{out}");
    // A missing list is a finding of `check`, and ends `fix` with an error.
    std::fs::remove_file(lab.path("deps.cmake")).expect("a list");
    assert_eq!(lab.linkaudit(&args).status.code(), Some(2));
    let run = lab.linkaudit(&["own/libuser.so", "--policy", "policy.toml"]);
    assert!(text(&run.stdout).contains("error[deps-list-drift]"), "{}", text(&run.stdout));
}

/// Below --root, the directories of a policy are paths of the sysroot, as those of --lib-path are.
#[test]
fn the_directories_of_a_policy_lie_in_the_sysroot() {
    let lab = three();
    tool(&lab, "cc -shared -nostdlib -o own/libuser.so -Wl,-u,user own/libfat.a");
    let new = "# the parts\nset(parts\nbase\n)\nset(own\none\ntwo\nuser\n)\n";
    for from in ["own = \"parts\", parts = \"own\"", "own = \"/parts\", parts = \"/own\""] {
        let entry = "[[archive]]\nmatch = \"**/libfat.a\"\ndeps-list = \"deps.cmake\"";
        lab.write("policy.toml", format!("schema = 1\n{entry}\nfrom = {{ {from} }}\n"));
        let args = ["fix", "own/libuser.so", "--policy", "policy.toml", "--emit", "cmake-deps"];
        for list in [&[][..], &["--deps-list", "deps.cmake"]] {
            let run = lab.linkaudit(&[&args[..], &["--root", "."], list].concat());
            assert_eq!(run.status.code(), Some(0), "{from}: {}", text(&run.stderr));
            assert_eq!(text(&run.stdout), new, "{from} {list:?}");
        }
    }
}

#[test]
fn what_cannot_be_proven_is_said() {
    let lab = three();
    // No candidate: nothing defines `two` any more, so `one` would not help.
    std::fs::remove_file(lab.path("parts/libtwo.a")).expect("an archive");
    let run = fix(&lab, &["--deps-list", "deps.cmake"]);
    let out = text(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{out}");
    assert!(
        out.contains("not verified: two, referenced by the added members, would be undefined"),
        "{out}"
    );
    std::fs::remove_file(lab.path("parts/libone.a")).expect("an archive");
    let run = fix(&lab, &["--deps-list", "deps.cmake"]);
    let out = text(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{out}");
    let who = "no candidate defines one\n        referenced by libfat.a(user.o, from libuser.a)\n";
    assert!(out.contains(who), "{out}");
}

#[test]
fn the_merged_archive_is_named_or_found() {
    let lab = three();
    tool(&lab, "cp own/libfat.a own/libsecond.a");
    let list = ["--deps-list", "deps.cmake", "--emit", "cmake-deps"];
    let run = fix(&lab, &list);
    let err = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{err}");
    assert!(err.contains("own/libfat.a") && err.contains("own/libsecond.a"), "{err}");
    let run = fix(&lab, &[&list[..], &["--archive", "own/libfat.a"]].concat());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    // Without one the list is that of the link, if it names a candidate.
    tool(&lab, "rm own/libfat.a own/libsecond.a");
    let run = fix(&lab, &list);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    lab.write("deps.cmake", "foreach(part base one)\nendforeach()\n");
    let err = text(&fix(&lab, &list).stderr);
    assert!(err.contains("deps.cmake: not a list of archive names"), "{err}");
    lab.write("deps.cmake", "set(parts\nnothing\n)\n");
    for (emitter, why) in [
        ("cmake-deps", "deps.cmake: no known command names a candidate archive"),
        ("mri", "no candidate archive holds members"),
    ] {
        let run = fix(&lab, &["--deps-list", "deps.cmake", "--emit", emitter]);
        let err = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{err}");
        assert!(err.contains(why), "{err}");
    }
}

/// The library was linked without a name that its list has. The list may be newer than the merged
/// archive, or the name may have no effect.
#[test]
fn a_listed_name_is_not_added_again() {
    let lab = three();
    for (list, why) in [
        (
            "set(parts\nbase\n)\nset(own\nuser\n)\nset(unused one two)\n",
            "deps.cmake:7 already lists one: merge the archive again",
        ),
        (
            "set(parts\nbase\none\ntwo\n)\nset(own\nuser\n)\nlist(REMOVE_ITEM parts one two)\n",
            "one cannot be placed: a later command of the list removes it (deps.cmake:9)",
        ),
    ] {
        lab.write("deps.cmake", list);
        let run = fix(&lab, &["--deps-list", "deps.cmake", "-o", "cmake-deps=new.cmake"]);
        let out = text(&run.stdout);
        assert_eq!(run.status.code(), Some(1), "{out}");
        assert!(out.replace("\n    ", " ").contains(&format!("not verified: {why}")), "{out}");
        assert!(!out.contains("add one to"), "{out}");
        assert_eq!(std::fs::read_to_string(lab.path("new.cmake")).expect("a list"), list);
    }
}

/// A linker script in a directory of `--lib-path` stands for the archives that it names.
#[test]
fn scripts_in_directories_name_archives() {
    let lab = three();
    lab.mkdir("far");
    tool(&lab, "mv parts/libone.a far/librealone.a");
    let far = lab.path("far/librealone.a");
    lab.write("parts/libone.so", format!("/* GNU ld script */\nGROUP ( {} )\n", far.display()));
    let run = fix(&lab, &["--deps-list", "deps.cmake", "--emit", "cmake-deps"]);
    let (out, err) = (text(&run.stdout), text(&run.stderr));
    assert!(err.contains("one: in librealone.a\n"), "{err}");
    // The set for an archive of another directory is uncertain.
    assert_eq!(run.status.code(), Some(1), "{err}");
    assert!(out.contains("set(parts\nbase\nrealone\ntwo\n)"), "{out}");
    let link = "cc -shared -Wl,-z,defs -o linked.so -Wl,-u,user own/libfat.a -Lparts -lone -ltwo own/libfat.a";
    tool(&lab, link);
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    let lab = three();
    lab.write("bad.cmake", "set(parts\nbase\n)\nuse(${parts})\nset(parts\nbase\n)\n");
    lab.write("broken.cmake", "set(parts\n");
    let cases: &[(&[&str], &str)] = &[
        (&["--emit", "nothing"], "unknown emitter `nothing`"),
        (&["--emit", "cmake-deps"], "add --deps-list FILE"),
        (&["--emit", "mri", "--emit", "ldflags"], "only one emitter can write to stdout"),
        (&["--emit", "mri", "--format", "json"], "both write to stdout"),
        (&["--deps-list", "none.cmake"], "none.cmake: no such file or directory"),
        (&["--deps-list", "bad.cmake"], "bad.cmake:5: the set of line 1 is set a second time"),
        (&["--deps-list", "broken.cmake"], "broken.cmake:1: a command has no closing"),
        (&["--emit", "ldflags", "-o", "ldflags=own/libuser.so"], "this run audits"),
        (&["--emit", "ldflags", "-o", "ldflags=parts/x"], "directory for archives"),
        (&["--emit", "ldflags", "-o", "ldflags=none/x"], "cannot write none/x"),
        (&["--archive", "deps.cmake"], "deps.cmake: not a static archive"),
        (&["-o", "nothing=x"], "unknown output `nothing`"),
        (&["-o", "mri="], "not of the form NAME=FILE"),
    ];
    for (args, words) in cases {
        let run = fix(&lab, args);
        let err = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.to_lowercase().contains(&words.to_lowercase()), "{args:?}: {err}");
    }
    assert!(!lab.path("parts/x").exists());
}

#[test]
fn minimal_drops_what_nothing_needs() {
    let lab = three();
    archive(&lab, OsStr::new("own/libfat.a"), &["other.o"]);
    lab.write("deps.cmake", "set(parts\nbase\nother\n)\nset(own\nuser\n)\n");
    let minimal = ["--deps-list", "deps.cmake", "--emit", "cmake-deps", "--minimal"];
    let run = fix(&lab, &minimal);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert_eq!(text(&run.stdout), "set(parts\nbase\none\ntwo\n)\nset(own\nuser\n)\n");
    // Another platform may need the name, and `list(INSERT)` is not valid without values.
    let kept = "if(WIN32)\nlist(APPEND parts other)\nendif()\nlist(INSERT parts 0 other)\n";
    lab.write("kept.cmake", format!("set(parts\nbase\n)\nset(own\nuser\n)\n{kept}"));
    let run = fix(&lab, &[&["--deps-list", "kept.cmake"], &minimal[2..]].concat());
    assert!(text(&run.stdout).ends_with(kept), "{}{}", text(&run.stdout), text(&run.stderr));
    // Only the list of a merged archive can have names that nothing needs.
    lab.write("link.cmake", "target_link_libraries(user PRIVATE base)\n");
    let run = lab.linkaudit(&[
        "fix",
        "own/libuser.so",
        "--lib-path",
        "parts",
        "--minimal",
        "--deps-list",
        "link.cmake",
    ]);
    assert!(text(&run.stderr).contains("drops names from the list of a merged archive, but no"));
    // Without a symbol table the extracted members are unknown.
    tool(&lab, "strip own/libuser.so");
    let run = fix(&lab, &minimal);
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("no readable symbol table"), "{}", text(&run.stderr));
}

/// The names of a variable that no command of the file uses may be for other files.
#[test]
fn minimal_keeps_the_names_for_other_files() {
    let lab = three();
    archive(&lab, OsStr::new("own/libfat.a"), &["other.o"]);
    let minimal = ["--deps-list", "list.cmake", "--emit", "cmake-deps", "--minimal"];
    for more in [
        "set(more base other)\n",
        "set(more base other CACHE INTERNAL \"\")\n",
        "function(x_more)\n  set(more base other PARENT_SCOPE)\nendfunction()\n",
    ] {
        lab.write("list.cmake", format!("set(parts\nbase\nother\n)\nset(own\nuser\n)\n{more}"));
        let new = text(&fix(&lab, &minimal).stdout);
        assert_eq!(new, format!("set(parts\nbase\none\ntwo\n)\nset(own\nuser\n)\n{more}"));
    }
}

/// Other targets may need names that the audited files do not need: CMake builds them as before.
#[test]
fn minimal_keeps_the_names_of_other_targets() {
    if !["cmake", "make"].iter().all(|tool| support::has(tool)) {
        return support::skip("minimal_keeps_the_names_of_other_targets", "needs cmake and make");
    }
    let lab = three();
    lab.write("main.c", "int other(void); int main(void) { return other() - 4; }");
    let project = "cmake_minimum_required(VERSION 3.16)\nproject(top C)\n\
                   link_directories(${CMAKE_CURRENT_SOURCE_DIR}/parts)\n\
                   add_executable(tool main.c)\ninclude(${LIST})\n";
    lab.write("CMakeLists.txt", project);
    let links = [
        ("set(more base other)\n", "target_link_libraries(tool PRIVATE ${more})\n"),
        (
            "set(more ${last})\nset(last other)\n",
            "set(all ${last})\ntarget_link_libraries(tool ${all})\n",
        ),
        ("", "target_link_libraries(tool PRIVATE base other)\n"),
        ("", "link_libraries(other)\ntarget_link_libraries(tool PRIVATE other)\n"),
        (
            "set(X_LIBS base other)\n",
            "function(x_link t c)\n  target_link_libraries(${t} PRIVATE ${${c}_LIBS})\n\
             endfunction()\nx_link(tool X)\n",
        ),
        (
            "set(more base other)\n",
            "set_target_properties(tool PROPERTIES LINK_LIBRARIES \"${more}\")\n",
        ),
        (
            "set(more base other)\n",
            "set_property(GLOBAL PROPERTY libs ${more})\nget_property(found GLOBAL PROPERTY libs)\n\
             target_link_libraries(tool PRIVATE ${found})\n",
        ),
        (
            "set(more base other)\n",
            "foreach(l base other)\n  if(l IN_LIST more)\n\
             target_link_libraries(tool PRIVATE ${l})\n  endif()\nendforeach()\n",
        ),
        (
            "",
            "function(merge_archives out)\n  message(STATUS \"${ARGN}\")\nendfunction()\n\
             merge_archives(fat ${parts})\ntarget_link_libraries(tool PRIVATE base other)\n",
        ),
    ];
    for (sets, link) in links {
        let list = |parts| format!("set(parts\n{parts}\n)\nset(own\nuser\n)\n{sets}{link}");
        lab.write("list.cmake", list("base\nother"));
        let minimal = ["--deps-list", "list.cmake", "--emit", "cmake-deps", "--minimal"];
        let run = fix(&lab, &minimal);
        let new = text(&run.stdout);
        assert_eq!(new, list("base\none\ntwo"), "{}", text(&run.stderr));
        lab.write("new.cmake", &new);
        tool(&lab, "rm -rf out; cmake -S . -B out -DLIST=$PWD/new.cmake && cmake --build out");
    }
}
