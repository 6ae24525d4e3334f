//! Lists whose names are items of `foreach()`.

use super::targets::{IN_ORDER, build, fixed};

const LINKED: [&str; 3] = ["FooA", "FooB", "FooZ"];

/// `foreach(… IN LISTS …)` has names of variables: the names of archives join the set in the loop if
/// other commands give the variables their values.
#[test]
fn names_of_variables_take_no_archives() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &LINKED);
    for (before, after) in
        [("FooA FooB ${l}", "FooA FooB FooX FooY ${l}"), ("${l}", "${l} FooX FooY")]
    {
        let list = |names| {
            format!(
                "find_library(LAST NAMES FooZ)\nforeach(l IN LISTS LAST)\n  \
                 target_link_libraries(m PRIVATE {names})\nendforeach()\n"
            )
        };
        let (status, new, said) = fixed(&lab, &list(before));
        assert_eq!((status, new), (Some(0), list(after)), "{said}");
    }
}

/// The items of a loop that links `lib${item}` have no `lib`.
#[test]
fn items_omit_the_start_of_libname() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &LINKED);
    for (start, before, after) in
        [("lib", "FooA FooB FooZ", "FooA FooB FooX FooY FooZ"), ("libFoo", "A B Z", "A B X Y Z")]
    {
        let list = |items| {
            format!(
                "foreach(x {items})\n  list(APPEND L {start}${{x}})\nendforeach()\n\
                 target_link_libraries(m PRIVATE ${{L}})\n"
            )
        };
        let (status, new, said) = fixed(&lab, &list(before));
        assert_eq!((status, new), (Some(0), list(after)), "{said}");
    }
}

/// The values of a variable get the text that a loop over it writes before them.
#[test]
fn visited_values_omit_the_start_of_names() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &LINKED);
    for head in ["x IN LISTS COMP", "x ${COMP}", "x IN LISTS ALL"] {
        let list = |items| {
            format!(
                "set(COMP {items})\nset(ALL ${{COMP}})\nforeach({head})\n  \
                 target_link_libraries(m PRIVATE Foo${{x}})\nendforeach()\n"
            )
        };
        let (status, new, said) = fixed(&lab, &list("A B Z"));
        assert_eq!((status, new), (Some(0), list("A B X Y Z")), "{said}");
        // `FooFooA` is not an archive.
        let (status, new, said) = fixed(&lab, &list("FooA FooB FooZ"));
        assert!(status != Some(0) && !new.contains("FooX"), "{status:?} {new}{said}");
    }
}

/// A variable that is linked with and without a prefix takes no verified name.
#[test]
fn different_prefixes_are_a_doubt() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &LINKED);
    let lists = [
        "set(L FooA FooB FooZ)\nforeach(x IN LISTS L)\n  list(APPEND OTHER Foo${x})\nendforeach()\n\
         target_link_libraries(m PRIVATE ${L})\n",
        "foreach(L FooA FooB FooZ)\n  target_link_libraries(m PRIVATE ${L})\n  \
         target_link_libraries(other PRIVATE Foo${L})\nendforeach()\n",
    ];
    for list in lists {
        let (status, _, said) = fixed(&lab, list);
        let why = "not verified: the list uses the names of L with different prefixes";
        assert!(status == Some(1) && said.replace("\n    ", " ").contains(why), "{said}");
    }
}

/// A condition in a loop may leave out the names of a variable: a new one joins those behind it.
#[test]
fn conditions_of_loops_are_not_followed() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &LINKED);
    let list = |names| {
        format!(
            "set(LIBS FooA FooB)\nforeach(l IN LISTS LIBS)\n  if(l MATCHES \"^Foo[AB]\")\n    \
             list(APPEND OUT ${{l}})\n  endif()\nendforeach()\n\
             target_link_libraries(m PRIVATE ${{OUT}} {names})\n"
        )
    };
    let (_, new, said) = fixed(&lab, &list("FooZ"));
    assert!(new.contains("set(LIBS FooA FooB)\n"), "{new}{said}");
}
