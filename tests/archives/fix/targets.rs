//! The variable or target that takes an archive: that of the file, at a place where GNU ld finds
//! the archive.

use super::kit::{archive, object, text, tool};
use super::support::{self, Lab};
use crate::deps_list_shapes::value;
use std::ffi::OsStr;

/// A function, and the functions that it calls.
pub(super) type Function = (&'static str, &'static [&'static str]);
/// An archive and its functions, each in a member of its own.
pub(super) type Archive = (&'static str, &'static [Function]);

/// C of a function that calls others.
fn source(own: &str, calls: &[&str]) -> String {
    let declared: String = calls.iter().map(|call| format!("int {call}(void); ")).collect();
    let called: String = calls.iter().map(|call| format!(" + {call}()")).collect();
    format!("{declared}int {own}(void) {{ return 1{called}; }}")
}

/// Archives in `a/`, each with its functions and those that they call, and `libm.so`, which is
/// linked from `top.o` and the archives in `linked`.
pub(super) fn build(archives: &[Archive], top: &[&str], linked: &[&str]) -> Lab {
    let lab = Lab::new();
    for (name, functions) in archives {
        let members: Vec<String> = functions.iter().map(|(own, _)| format!("{own}.o")).collect();
        for (own, calls) in *functions {
            object(&lab, &format!("{own}.o"), &source(own, calls));
        }
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        archive(&lab, OsStr::new(&format!("a/lib{name}.a")), &members);
    }
    object(&lab, "top.o", &source("top", top));
    tool(&lab, &format!("cc -shared -fuse-ld=bfd -o libm.so top.o -La {}", flags(linked)));
    lab
}

fn flags<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| format!("-l{} ", name.as_ref())).collect()
}

/// The exit status of `fix`, the new list, and the summary.
pub(super) fn fixed(lab: &Lab, list: &str) -> (Option<i32>, String, String) {
    lab.write("list.cmake", list);
    let args = ["fix", "libm.so", "--lib-path", "a", "--deps-list", "list.cmake"];
    let run = lab.linkaudit(&[&args[..], &["-o", "cmake-deps=new.cmake"]].concat());
    let new = std::fs::read_to_string(lab.path("new.cmake")).unwrap_or_default();
    (run.status.code(), new, text(&run.stdout) + &text(&run.stderr))
}

/// CMake writes the archives of another target behind those of the target that links it: GNU ld
/// then searches the new archive too early.
#[test]
fn archives_of_another_target_come_later() {
    let archives: &[Archive] =
        &[("FooA", &[("a", &["c"])]), ("FooB", &[("b", &[])]), ("FooC", &[("c", &[])])];
    let lab = build(archives, &["a", "b"], &["FooA", "FooB"]);
    let own = "target_link_libraries(m PRIVATE mid FooB)\n";
    for keyword in ["PUBLIC", "PRIVATE"] {
        let mid =
            format!("add_library(mid STATIC x.c)\ntarget_link_libraries(mid {keyword} FooA)\n");
        let (status, _, says) = fixed(&lab, &(mid + own));
        assert_eq!(status, Some(1), "{says}");
        assert!(says.contains("another target links FooA, which refers to FooC"), "{says}");
    }
    let (status, _, says) = fixed(&lab, "target_link_libraries(m PRIVATE FooA FooB)\n");
    assert_eq!(status, Some(0), "{says}");
}

#[test]
fn the_target_of_the_file_takes_the_name() {
    let one: &[Archive] = &[
        ("FooA", &[("a", &[])]),
        ("FooB", &[("b", &[])]),
        ("FooC", &[("c", &[])]),
        ("FooX", &[("x", &[])]),
    ];
    let lab = build(one, &["a", "b", "x"], &["FooA", "FooB"]);
    let tool = "target_link_libraries(tool PRIVATE FooA FooB FooC)\n";
    let cases = [
        (
            "target_link_libraries(m PRIVATE FooA FooB)\n",
            "target_link_libraries(m PRIVATE FooA FooB FooX)\n",
        ),
        (
            "set_target_properties(core PROPERTIES OUTPUT_NAME m)\ntarget_link_libraries(core FooA)\n",
            "set_target_properties(core PROPERTIES OUTPUT_NAME m)\ntarget_link_libraries(core FooA FooX)\n",
        ),
        (
            "set(CORE FooA FooB)\ntarget_link_libraries(m ${CORE} pthread)\n",
            "set(CORE FooA FooB FooX)\ntarget_link_libraries(m ${CORE} pthread)\n",
        ),
    ];
    for (list, expected) in cases {
        let (status, new, said) = fixed(&lab, &format!("{list}{tool}"));
        assert_eq!((status, new), (Some(0), format!("{expected}{tool}")), "{said}");
    }
    let guesses = [
        "target_link_libraries(core PRIVATE FooA FooB)\n",
        "target_link_libraries(m PRIVATE pthread)\n",
    ];
    for list in guesses {
        let (status, _, said) = fixed(&lab, &format!("{list}{tool}"));
        let why =
            "not verified: no target named like libm.so lists candidate archives; tool is used";
        assert!(status == Some(1) && said.replace("\n    ", " ").contains(why), "{said}");
    }
}

#[test]
fn the_name_goes_where_gnu_ld_finds_it() {
    // `sup1` of FooSupport is extracted for FooCore already, so FooZed may come last.
    let shared: &[Archive] = &[
        ("FooSupport", &[("sup1", &[]), ("sup2", &[])]),
        ("FooCore", &[("core", &["sup1"])]),
        ("FooZed", &[("zed", &["sup1"])]),
        ("FooX86", &[("x86", &["sup2"])]),
    ];
    let chain: &[Archive] = &[
        ("Util", &[("util", &[])]),
        ("Support", &[("sup", &["util"])]),
        ("Core", &[("core", &["sup"])]),
        ("BackA", &[("ba", &["core"])]),
        ("BackB", &[("bb", &["core"])]),
        ("BackC", &[("bc", &["core"])]),
    ];
    let back = ["BackA", "BackB", "BackC", "Core", "Support"];
    let cases = [
        (
            build(shared, &["core", "zed", "x86"], &["FooCore", "FooSupport", "FooZed"]),
            vec!["set(L FooCore FooSupport FooZed)\n"],
        ),
        (
            build(chain, &["ba", "bb", "bc"], &back),
            vec![
                "set(BACK BackA BackB BackC)\nset(BASE Core Support)\nset(L ${BACK} ${BASE})\n",
                "set(BASE Core Support)\nset(BACK BackA BackB BackC)\nset(L ${BACK} ${BASE} m)\n",
                "set(L BackA BackB BackC)\nlist(APPEND L Core Support)\n",
                "set(BACK BackA BackB BackC)\nset(BASE Core Support)\nlink(${BACK})\n\
                 set(L ${BACK})\nlist(APPEND L ${BASE})\n",
            ],
        ),
    ];
    let mut links = 0;
    for (lab, lists) in &cases {
        for list in lists {
            let (status, new, said) = fixed(lab, list);
            assert_eq!(status, Some(0), "{said}");
            lab.write("new.cmake", format!("function(link)\nendfunction()\n{new}"));
            let names = flags(&value(lab, "new.cmake", "L"));
            tool(lab, &format!("cc -shared -fuse-ld=bfd -Wl,-z,defs -o new.so top.o -La {names}"));
            links += 1;
        }
    }
    println!("lists of links: {links} links by GNU ld, 0 undefined");
}

/// Links `libm.so` again by GNU ld and lld with the archives that CMake prints for the target `m`.
fn links(lab: &Lab, list: &str) {
    lab.write("new.cmake", list);
    let words = value(lab, "new.cmake", "m");
    let is_name = |word: &&String| !matches!(&***word, "PRIVATE" | "general" | "m");
    let names: Vec<&String> = words.iter().filter(is_name).collect();
    let names = flags(&names);
    for linker in ["bfd", "lld"].into_iter().filter(|name| support::has(&format!("ld.{name}"))) {
        tool(lab, &format!("cc -shared -fuse-ld={linker} -Wl,-z,defs -o new.so top.o -La {names}"));
    }
}

/// Archives whose functions call each other in the order of their names.
pub(super) const IN_ORDER: &[Archive] = &[
    ("FooA", &[("a", &[])]),
    ("FooB", &[("b", &[])]),
    ("FooX", &[("x", &["y"])]),
    ("FooY", &[("y", &["z"])]),
    ("FooZ", &[("z", &[])]),
];

/// The list must change as given, with a verified fix, and link.
fn becomes(lab: &Lab, before: &str, after: &str) {
    let (status, new, said) = fixed(lab, before);
    assert_eq!((status, &*new), (Some(0), after), "{said}");
    if support::has("cmake") {
        links(lab, &new);
    }
}

/// A variable or target that `m` does not link lists nothing for `m`.
#[test]
fn names_of_other_links_are_not_listed() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let before = "set(LIBS FooA FooB FooZ)\n";
    let after = "set(LIBS FooA FooB FooX FooY FooZ)\n";
    let link = "target_link_libraries(m PRIVATE ${LIBS})\n";
    let rest = [
        format!("set(EXCLUDED FooX)\n{link}"),
        format!("{link}target_link_libraries(other PRIVATE FooX FooY)\n"),
        format!(
            "set(TESTS FooX FooY)\n{link}target_link_libraries(test PRIVATE ${{TESTS}} ${{LIBS}})\n"
        ),
    ];
    for rest in rest {
        becomes(&lab, &format!("{before}{rest}"), &format!("{after}{rest}"));
    }
}

/// A name in a branch for another system gives its archive no place in the link.
#[test]
fn a_name_in_a_branch_has_no_place() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let rest = "if(APPLE)\n  set(MORE FooX)\nendif()\nset(LAST FooZ)\n\
                target_link_libraries(m PRIVATE ${LIBS} ${LAST} ${MORE})\n";
    let (before, after) = ("set(LIBS FooA FooB)\n", "set(LIBS FooA FooB FooX FooY)\n");
    becomes(&lab, &format!("{before}{rest}"), &format!("{after}{rest}"));
}

/// A name that a later command removes is not written: the fix names the line of that command.
#[test]
fn a_name_that_is_removed_again_is_refused() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let link = "target_link_libraries(m PRIVATE ${LIBS})\n";
    let removals = [
        "list(REMOVE_ITEM LIBS FooX)\n",
        "list(FILTER LIBS EXCLUDE REGEX \"X$\")\n",
        "list(FILTER LIBS INCLUDE REGEX \"^Foo[ABYZ]\")\n",
    ];
    for removal in removals {
        let list = format!("set(LIBS FooA FooB FooZ)\n{removal}{link}");
        let (status, new, said) = fixed(&lab, &list);
        assert!(status == Some(1) && !new.contains("FooB FooX"), "{new}{said}");
        let why = "FooX cannot be placed: a later command of the list removes it (list.cmake:2)";
        assert!(said.replace("\n    ", " ").contains(why), "{said}");
        // A command before the set removes nothing from it.
        let list = |names| format!("{removal}set(LIBS {names})\n{link}");
        becomes(&lab, &list("FooA FooB FooZ"), &list("FooA FooB FooX FooY FooZ"));
    }
}

/// A removal matters only on the way of the name to the link.
#[test]
fn a_removal_that_the_link_does_not_see_hides_no_name() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let link = "target_link_libraries(m PRIVATE ${LIBS})\n";
    let rest = [
        format!(
            "{link}list(REMOVE_ITEM LIBS FooX)\ntarget_link_libraries(tool PRIVATE ${{LIBS}})\n"
        ),
        format!("set(OTHERS ${{LIBS}})\nlist(REMOVE_ITEM OTHERS FooX)\n{link}"),
        format!("function(prune)\n  list(REMOVE_ITEM LIBS FooX)\nendfunction()\n{link}"),
        format!("set(START Foo)\nlist(FILTER LIBS INCLUDE REGEX \"^${{START}}\")\n{link}"),
    ];
    for rest in rest {
        let list = |names| format!("set(LIBS {names})\n{rest}");
        becomes(&lab, &list("FooA FooB FooZ"), &list("FooA FooB FooX FooY FooZ"));
    }
    let list = |names| {
        let removal = "list(REMOVE_ITEM LIBS FooX FooY)";
        format!("set(LIBS FooA FooB)\n{removal}\nlist(APPEND LIBS {names})\n{link}")
    };
    becomes(&lab, &list("FooZ"), &list("FooX FooY FooZ"));
}

/// The names that a command removes may come from a variable.
#[test]
fn a_removal_by_a_variable_is_read_or_doubted() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let cases = [
        (
            "set(BAD FooX)\nlist(REMOVE_ITEM LIBS ${BAD})\n",
            "FooX cannot be placed: a later command of the list removes it (list.cmake:3)",
        ),
        (
            "if(APPLE)\nset(BAD FooX)\nendif()\nlist(REMOVE_ITEM LIBS ${BAD})\n",
            "not verified: a later command may remove FooX (list.cmake:5)",
        ),
        (
            "set(BAD X)\nstring(PREPEND BAD Foo)\nlist(REMOVE_ITEM LIBS ${BAD})\n",
            "FooX cannot be placed: a later command of the list removes it (list.cmake:4)",
        ),
        (
            "set(A 1)\nif(A AND (NOT B OR NOT (0)))\nset(BAD FooX)\nendif()\nlist(REMOVE_ITEM LIBS ${BAD})\n",
            "FooX cannot be placed: a later command of the list removes it (list.cmake:6)",
        ),
        // Policy CMP0054 decides if the quoted text is the name of a variable.
        (
            "set(X no)\nset(A X)\nif(\"${A}\" STREQUAL \"no\")\nset(BAD z)\nelse()\nset(BAD FooX)\nendif()\n\
             list(REMOVE_ITEM LIBS ${BAD})\n",
            "not verified: a later command may remove FooX (list.cmake:9)",
        ),
        ("list(REMOVE_ITEM LIBS ${BAD})\n", "not verified: a later command may remove Foo"),
        (
            "list(FILTER LIBS INCLUDE REGEX \"^${START}\")\n",
            "not verified: a later command may remove Foo",
        ),
    ];
    for (removal, why) in cases {
        let link = "target_link_libraries(m PRIVATE ${LIBS})\n";
        let list = format!("set(LIBS FooA FooB FooZ)\n{removal}{link}");
        let (status, _, said) = fixed(&lab, &list);
        assert!(status == Some(1) && said.replace("\n    ", " ").contains(why), "{said}");
    }
}

/// Commands that remove or reverse other values leave a fix verified.
#[test]
fn commands_on_other_values_change_no_fix() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    for (other, link) in [
        ("list(REMOVE_ITEM LIBS \"FooX;FooY\")\n", "${LIBS}"),
        ("set(OPTS -x -y)\nlist(REVERSE OPTS)\n", "${OPTS} ${LIBS}"),
        ("foreach(d u v)\n  list(PREPEND FLAGS -L${d})\nendforeach()\n", "${FLAGS} ${LIBS}"),
        ("foreach(d u v)\n  list(INSERT LIBS 0 -L/x${d})\nendforeach()\n", "${LIBS}"),
        ("set(REST x y)\nlist(REVERSE REST)\n", "${LIBS} ${REST}"),
    ] {
        let list =
            |names| format!("set(LIBS {names})\n{other}target_link_libraries(m PRIVATE {link})\n");
        let (status, new, said) = fixed(&lab, &list("FooA FooB FooZ"));
        assert_eq!((status, new), (Some(0), list("FooA FooB FooX FooY FooZ")), "{said}");
    }
}

/// A link gets the archives of the targets that it links, but not the private ones of a shared
/// library.
#[test]
fn names_of_linked_targets_are_listed() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let listed = [
        "add_library(core core.c)\ntarget_link_libraries(core PRIVATE FooX FooY)\n\
         target_link_libraries(m PRIVATE FooA FooB FooZ core)\n",
        "add_library(core STATIC core.c)\ntarget_link_libraries(core PRIVATE FooX FooY)\n\
         target_link_libraries(m PRIVATE FooA FooB FooZ core)\n",
        "add_library(core SHARED core.c)\nadd_library(ns::engine ALIAS core)\n\
         target_link_libraries(core PUBLIC FooX FooY)\n\
         target_link_libraries(m PRIVATE FooA FooB FooZ ns::engine)\n",
        // A copy of the variable is not a link.
        "set(A FooA FooB FooZ)\nset(EXPORTED ${A} PARENT_SCOPE)\n\
         target_link_libraries(core PRIVATE ${A} FooX FooY)\n",
    ];
    for list in listed {
        let (_, new, said) = fixed(&lab, list);
        assert!(said.replace("\n    ", " ").contains("already lists FooX"), "{said}");
        assert!(new.matches("FooX").count() < 2, "{new}");
    }
    let list = |names| {
        format!(
            "add_library(core SHARED core.c)\ntarget_link_libraries(core PRIVATE FooX FooY)\n\
             target_link_libraries(m PRIVATE {names} core)\n"
        )
    };
    let (status, new, said) = fixed(&lab, &list("FooA FooB FooZ"));
    assert_eq!((status, new), (Some(0), list("FooA FooB FooX FooY FooZ")), "{said}");
}

/// Long chains of variables, and commands with many of them, take little time.
#[test]
fn chains_of_variables_are_followed_once() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let mut rest = String::from("set(W0 y)\n");
    for at in 1..1000 {
        rest += &format!("set(W{at} y ${{W{}}})\n", at - 1);
    }
    let many = "${W999} ".repeat(100);
    rest += &format!("foo({many} ${{LIBS}})\n").repeat(100);
    rest += "target_link_libraries(other PRIVATE ${LIBS})\n";
    let started = std::time::Instant::now();
    let (status, new, said) = fixed(&lab, &format!("set(LIBS FooA FooB FooZ)\n{rest}"));
    assert_eq!(status, Some(0), "{said}");
    assert!(new.starts_with("set(LIBS FooA FooB FooX FooY FooZ)\n"), "{new}");
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

/// `general FooA` lists `FooA`: it is not added a second time.
#[test]
fn names_after_general_are_listed() {
    let lab = build(IN_ORDER, &["a", "b", "x"], &["FooA", "FooB"]);
    let list =
        |more| format!("target_link_libraries(m general FooA general FooB{more} general FooZ)\n");
    becomes(&lab, &list(""), &list(" FooX FooY"));
}

/// Commands may add values in front: the link order is that of the value.
#[test]
fn the_order_is_that_of_the_value() {
    let lab = build(IN_ORDER, &["a", "b", "x"], &["FooA", "FooB"]);
    let link = "target_link_libraries(m PRIVATE FooA FooB ${L})\n";
    let more: &[Archive] = &[("FooZ", &[("z", &["w"])]), ("FooW", &[("w", &[])])];
    for (name, functions) in more {
        for (own, calls) in *functions {
            object(&lab, &format!("{own}.o"), &source(own, calls));
            let member = format!("{own}.o");
            archive(&lab, OsStr::new(&format!("a/lib{name}.a")), &[member.as_str()]);
        }
    }
    for (before, after) in [
        ("set(L FooW)\nlist(PREPEND L FooZ)\n", "set(L FooW)\nlist(PREPEND L FooX FooY FooZ)\n"),
        ("set(L FooW)\nlist(INSERT L 0 FooZ)\n", "set(L FooW)\nlist(INSERT L 0 FooX FooY FooZ)\n"),
    ] {
        becomes(&lab, &format!("{before}{link}"), &format!("{after}{link}"));
    }
    let list = |names| {
        format!(
            "set(L FooW)\nset(F {names})\nset(L ${{F}} ${{L}})\n\
             target_link_libraries(m PRIVATE ${{L}})\n"
        )
    };
    becomes(&lab, &list("FooA FooB FooZ"), &list("FooA FooB FooX FooY FooZ"));
    // The effect of a reversal depends on conditions, copies and the place of the link.
    for before in [
        "set(L FooW FooZ)\nlist(REVERSE L)\n",
        "set(L FooW FooZ)\nif(UNIX)\n  list(REVERSE L)\nendif()\n",
        "set(K FooW FooZ)\nset(L ${K})\nlist(REVERSE L)\n",
        "foreach(l FooW FooZ)\n  list(PREPEND L ${l})\nendforeach()\n",
    ] {
        let (status, _, said) = fixed(&lab, &format!("{before}{link}"));
        let why = "not verified: a command may change the order of the names";
        assert!(status == Some(1) && said.replace("\n    ", " ").contains(why), "{said}");
    }
}

/// The names in the items of a loop are parts: a new part joins them.
#[test]
fn a_name_joins_the_items_of_a_loop() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let rest = "target_link_libraries(m PRIVATE ${L})\n";
    let shapes = [
        ("foreach(c ", "list(APPEND L Foo${c})"),
        ("foreach(c IN ITEMS ", "find_library(F_${c} Foo${c})\n  list(APPEND L Foo${c})"),
    ];
    for (head, body) in shapes {
        let list = |items| format!("{head}{items})\n  {body}\nendforeach()\n{rest}");
        becomes(&lab, &list("A B Z"), &list("A B X Y Z"));
    }
    let list = |items| {
        let body = "target_link_libraries(m PRIVATE ${l})";
        format!("set(L {items})\nforeach(l IN LISTS L)\n  {body}\nendforeach()\n")
    };
    becomes(&lab, &list("FooA FooB FooZ"), &list("FooA FooB FooX FooY FooZ"));
}

/// A target gets the archives of the interface libraries that it links.
#[test]
fn a_name_joins_an_interface_library() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let list = |names| {
        format!(
            "add_library(deps INTERFACE)\ntarget_link_libraries(deps INTERFACE {names})\n\
             target_link_libraries(m PRIVATE deps)\n\
             target_link_libraries(tool PRIVATE FooA FooB FooX FooY FooZ)\n"
        )
    };
    let (status, new, said) = fixed(&lab, &list("FooA FooB FooZ"));
    assert_eq!((status, new), (Some(0), list("FooA FooB FooX FooY FooZ")), "{said}");
}

/// The components in a call of LLVM's function are names, in the case in which they are written.
#[test]
fn a_name_joins_the_components_of_llvm() {
    let core: &[Archive] = &[
        ("LLVMCore", &[("core", &[])]),
        ("LLVMTarget", &[("target", &["core"])]),
        ("LLVMX86Info", &[("info", &["core"])]),
    ];
    let lab = build(core, &["target", "info"], &["LLVMTarget", "LLVMCore"]);
    let list = |names| {
        format!(
            "llvm_map_components_to_libnames(LLVM_LIBS\n  {names}\n)\n\
             target_link_libraries(m PRIVATE ${{LLVM_LIBS}})\n"
        )
    };
    let (status, new, said) = fixed(&lab, &list("target\n  core"));
    assert_eq!(status, Some(0), "{said}");
    assert!(new.contains("  x86info\n") && new.contains("  target\n"), "{new}");
}

/// A replacement that changes the new name alone removes it from the link.
#[test]
fn a_name_that_a_replacement_changes_is_not_verified() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let cases = [
        ("string(REPLACE \"FooX\" \"\" L \"${L}\")\n", "L", "command of the list removes it"),
        ("string(REPLACE \"FooX\" \"\" USE \"${L}\")\n", "USE", "not verified: "),
        ("string(REPLACE \"oX\" \"OX\" L \"${L}\")\n", "L", "a later command may remove FooX"),
        ("string(REPLACE FooX FooQ USE \"${L}\")\n", "USE", "not verified: "),
    ];
    for (command, linked, why) in cases {
        let list = |names| {
            format!("set(L {names})\n{command}target_link_libraries(m PRIVATE ${{{linked}}})\n")
        };
        let (status, _, said) = fixed(&lab, &list("FooA FooB FooZ"));
        assert!(status == Some(1) && said.replace("\n    ", " ").contains(why), "{said}");
        // No target links the value: any of the two variables may be linked.
        let (status, ..) = fixed(&lab, &format!("set(L FooA FooB FooZ)\n{command}"));
        assert_eq!(status, Some(1), "{command}");
        if support::has("cmake") {
            lab.write("with.cmake", list("FooA FooB FooX FooZ"));
            let value = value(&lab, "with.cmake", "m");
            assert!(!value.iter().any(|name| name == "FooX"), "{value:?}");
        }
    }
    // All names change in the same way.
    let list = |names: &str| {
        format!(
            "set(L {names})\nstring(REPLACE lib \"\" L \"${{L}}\")\n\
             target_link_libraries(m PRIVATE ${{L}})\n"
        )
    };
    becomes(
        &lab,
        &list("libFooA libFooB libFooZ"),
        &list("libFooA libFooB libFooX libFooY libFooZ"),
    );
}

/// A value that several commands sort together stays sorted.
#[test]
fn names_of_several_commands_stay_sorted() {
    let archives: &[Archive] = &[
        ("alpha", &[("a", &[])]),
        ("beta", &[("b", &[])]),
        ("delta", &[("d", &[])]),
        ("epsilon", &[("e", &[])]),
        ("gamma", &[("x", &[])]),
        ("zeta", &[("z", &[])]),
    ];
    let linked = ["alpha", "beta", "delta", "epsilon", "zeta"];
    let lab = build(archives, &["a", "b", "d", "e", "z", "x"], &linked);
    let link = "target_link_libraries(m PRIVATE ${L})\n";
    let cases = [
        (
            "set(L alpha beta delta)\nlist(APPEND L epsilon zeta)\n",
            "set(L alpha beta delta)\nlist(APPEND L epsilon gamma zeta)\n",
        ),
        (
            "set(L delta epsilon zeta)\nlist(INSERT L 0 alpha beta)\n",
            "set(L delta epsilon gamma zeta)\nlist(INSERT L 0 alpha beta)\n",
        ),
        (
            "list(APPEND L alpha)\nlist(APPEND L beta)\nlist(APPEND L delta)\n\
             list(APPEND L epsilon)\nlist(APPEND L zeta)\n",
            "list(APPEND L alpha)\nlist(APPEND L beta)\nlist(APPEND L delta)\n\
             list(APPEND L epsilon gamma)\nlist(APPEND L zeta)\n",
        ),
        (
            "set(L beta alpha delta)\nlist(APPEND L epsilon zeta)\n",
            "set(L beta alpha delta gamma)\nlist(APPEND L epsilon zeta)\n",
        ),
    ];
    for (before, after) in cases {
        let (status, new, said) = fixed(&lab, &format!("{before}{link}"));
        assert_eq!((status, new), (Some(0), format!("{after}{link}")), "{said}");
        if support::has("cmake") {
            lab.write("old.cmake", format!("{before}{link}"));
            let mut sorted = value(&lab, "new.cmake", "L");
            assert_eq!(sorted.len(), 6);
            sorted.retain(|name| name != "gamma");
            assert_eq!(sorted, value(&lab, "old.cmake", "L"));
        }
    }
}

/// A list that cannot take a name says why.
#[test]
fn a_list_that_takes_no_name_says_why() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let cases = [
        (
            "set(X y)\nadd(m PRIVATE FooA FooB)\n",
            2,
            "list.cmake: no known command names a candidate archive",
        ),
        (
            "string(APPEND L \"FooA;FooB;\")\nstring(APPEND L \"FooZ\")\n\
             target_link_libraries(m PRIVATE ${L})\n",
            1,
            "string(APPEND) may continue the last name of its variable",
        ),
        ("target_link_libraries(core INTERFACE FooA FooB FooZ)\n", 1, "only after INTERFACE"),
    ];
    for (list, expected, why) in cases {
        let (status, _, said) = fixed(&lab, list);
        assert_eq!(status, Some(expected), "{said}");
        assert!(said.replace("\n    ", " ").contains(why), "{said}");
    }
}
