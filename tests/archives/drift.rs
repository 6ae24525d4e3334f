//! `deps-list-drift` with complete lists whose names are not plain values: no list raises an alarm.
//! A list with unknown values is undecided.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use crate::support::Lab;

fn lab() -> Lab {
    let lab = Lab::new();
    let script = "set -e; mkdir a b; for x in A B C D X; do \
         echo \"int b$x(void) { return 1; }\" > b$x.c; cc -fPIC -c b$x.c; ar rcs a/libFoo$x.a b$x.o; \
         done; ar rcs b/libfat.a bA.o bB.o bC.o bD.o; \
         cc -shared -o b/libm.so -Wl,--whole-archive b/libfat.a -Wl,--no-whole-archive";
    let output = lab.sh(script);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let policy = "schema = 1\n[[archive]]\nmatch = \"**/libfat.a\"\ndeps-list = \"l.cmake\"\n";
    lab.write("p.toml", policy);
    lab
}

/// The exit status of a check and its report.
fn check(lab: &Lab, list: &str) -> (Option<i32>, String) {
    lab.write("l.cmake", list);
    let run = lab.linkaudit(&["check", "b", "--lib-path", "a", "--policy", "p.toml"]);
    (run.status.code(), String::from_utf8_lossy(&run.stdout).replace("\n    ", " "))
}

#[test]
fn complete_lists_raise_no_alarm() {
    let lab = lab();
    let lists = [
        "set(L FooA FooB $<$<BOOL:ON>:FooC> \"$<LINK_ONLY:FooD>\")\n",
        "target_link_libraries(m PRIVATE FooA FooB $<$<PLATFORM_ID:Linux>:FooC FooD>)\n",
        "set(L $<TARGET_FILE:FooA> $<$<CONFIG:Debug>:> /x/$<CONFIG>/libFooB.a FooC FooD)\n",
        "target_link_libraries(m FooA FooB FooC $<$<BOOL:${UNIX}>:FooD> $<$<BOOL:$<STREQUAL:${X},y>>:dl>)\n",
        "set(L $<IF:$<CONFIG:Debug>,FooX,FooA> FooB FooC FooD)\n",
        "target_link_libraries(m PRIVATE FooA FooB debug FooC optimized FooC general FooD)\n",
        "set(L FooC FooD)\nlist(INSERT L 0 FooA FooB)\n",
        "set(L \"FooA;FooB\")\nstring(APPEND L \";FooC;FooD\")\n",
        "set(L FooA)\nforeach(x IN ITEMS FooB FooC FooD)\n  list(APPEND L ${x})\nendforeach()\n",
        "set(L FooA)\nforeach(x B C D)\n  list(APPEND L Foo${x})\nendforeach()\n",
        "set(P B C D)\nset(L FooA)\nforeach(x IN LISTS P)\n  list(APPEND L Foo${x})\nendforeach()\n",
        "find_library(A FooA)\nfind_library(B NAMES FooB REQUIRED)\nset(L ${A} ${B} FooC FooD)\n",
        "set(P Foo)\nset(L ${P}A ${P}B -l${P}C FooD)\n",
        "set(L FooA FooB FooC FooD FooX)\nlist(REMOVE_ITEM L FooX)\n",
        "set(L -lFooA FooB FooC FooD -lFooX)\nlist(REMOVE_ITEM L -lFooX)\n",
        "set(P FooX)\nset(L FooA FooB FooC FooD ${P})\nlist(REMOVE_ITEM L FooX)\n",
        "set(L FooX)\nset(L FooA FooB FooC FooD)\n",
        "set(L FooA FooB FooC FooD)\nfunction(f t)\n  target_link_libraries(${t} FooC ${ARGN})\nendfunction()\n\
         f(other FooB)\n",
        "set(L FooA FooB FooC)\nfunction(g t)\n  target_link_libraries(${t} FooC ${ARGN})\nendfunction()\n\
         function(f t)\n  g(${t} ${ARGN})\nendfunction()\nf(other FooD)\n",
        "set(L FooA FooB FooC FooD ${CMAKE_DL_LIBS} -L${DIR})\nset(OTHER ${DIR}/x)\n",
    ];
    for list in lists {
        let (status, said) = check(&lab, list);
        assert_eq!(status, Some(0), "{list}{said}");
        let fix = ["fix", "b/libm.so", "--lib-path", "a", "--lib-path", "b", "--deps-list"];
        let run = lab.linkaudit(&[&fix[..], &["l.cmake"]].concat());
        assert_eq!(run.status.code(), Some(0), "{list}{}", String::from_utf8_lossy(&run.stderr));
    }
}

#[test]
fn lists_that_lack_a_name_are_reported() {
    let lab = lab();
    for list in [
        "set(L FooA FooB $<$<BOOL:ON>:FooC>)\n",
        "set(P Foo)\nset(L ${P}A ${P}B FooC)\n",
        "set(L FooD)\nset(L FooA FooB FooC)\n",
        "set(E \"\" CACHE STRING \"Such as FooD\")\nset(L FooA FooB FooC $<1:${E}>)\n",
        "foreach(x FooD)\nendforeach()\nset(L FooA FooB FooC)\n",
    ] {
        let (status, said) = check(&lab, list);
        let why = "comes from FooD, which is not in l.cmake";
        assert!(status == Some(1) && said.contains(why), "{list}{said}");
    }
}

/// Only the variable of the command loses the name.
#[test]
fn names_that_another_list_loses_count() {
    let lab = lab();
    let (status, said) =
        check(&lab, "set(L FooA FooB FooC FooD FooX)\nset(M y)\nlist(REMOVE_ITEM M FooX)\n");
    let why = "FooX is in l.cmake, but none of its members is in the merged archive";
    assert!(status == Some(1) && said.contains(why), "{said}");
}

/// A project may name an archive as glibc does.
#[test]
fn an_archive_with_a_name_of_the_system_is_compared() {
    let lab = lab();
    std::fs::copy(lab.path("a/libFooX.a"), lab.path("a/libutil.a")).expect("a copy");
    let list = "set(L FooA FooB FooC FooD util pthread)\n";
    let (status, said) = check(&lab, list);
    let why = "util is in l.cmake, but none of its members is in the merged archive";
    assert!(status == Some(1) && said.contains(why), "{said}");
    std::fs::copy(lab.path("a/libFooX.a"), lab.path("a/libc.a")).expect("a copy");
    assert_eq!(check(&lab, list).0, Some(0));
}

#[test]
fn unknown_values_are_undecided() {
    let lab = lab();
    for (list, value) in [
        ("set(L FooA FooB ${OTHER})\n", "${OTHER}"),
        ("set(L FooA FooB)\nset(ALL ${L} ${OTHER} pthread)\n", "${OTHER}"),
        (
            "set(L FooA FooB $<TARGET_PROPERTY:x,LINK_LIBRARIES>)\n",
            "$<TARGET_PROPERTY:x,LINK_LIBRARIES>",
        ),
        ("set(L FooA FooB Foo$<IF:1,C,D>)\n", "Foo$<IF:1,C,D>"),
        ("function(f)\n  list(APPEND L FooA ${ARGN})\nendfunction()\nf(FooB)\n", "${ARGN}"),
        ("function(f t)\n  target_link_libraries(${t} FooA ${ARGN})\nendfunction()\n", "${ARGN}"),
        (
            "function(f t)\n  target_link_libraries(${t} FooA ${ARGN})\nendfunction()\n\
             f(m FooB ${OTHER})\n",
            "${OTHER}",
        ),
        (
            "function(f t)\n  target_link_libraries(${t} FooA ${ARGN})\nendfunction()\nf(m FooB)\n\
             cmake_language(CALL f m FooC)\n",
            "${ARGN}",
        ),
    ] {
        let (_, said) = check(&lab, list);
        let why = format!("unknown value of `{value}`");
        assert!(said.contains("incomplete[undecided]") && said.contains(&why), "{list}{said}");
        assert!(!said.contains("[deps-list-drift]"), "{list}{said}");
    }
}
