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
