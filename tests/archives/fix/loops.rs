//! Lists whose names are items of `foreach()`.

use super::targets::{Archive, IN_ORDER, build, fixed};
use crate::deps_list_shapes::value;
use crate::support::{has, skip};

const LINKED: [&str; 3] = ["FooA", "FooB", "FooZ"];

/// `foreach(… IN LISTS …)` has names of variables: the names of archives join the set in the loop
/// if other commands give the variables their values, and if the set has names of its own.
#[test]
fn names_of_variables_take_no_archives() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &LINKED);
    let list = |names| {
        format!(
            "find_library(LAST NAMES FooZ)\nforeach(l IN LISTS LAST)\n  \
             target_link_libraries(m PRIVATE {names})\nendforeach()\n"
        )
    };
    let (status, new, said) = fixed(&lab, &list("FooA FooB ${l}"));
    assert_eq!((status, new), (Some(0), list("FooA FooB FooX FooY ${l}")), "{said}");
    let (status, new, said) = fixed(&lab, &list("${l}"));
    assert_eq!((status, new), (Some(1), list("${l}")), "{said}");
    assert!(said.contains("a loop makes the names"), "{said}");
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

/// The items of a loop that writes the files of archives, options or targets are bare names.
#[test]
fn items_are_the_names_in_other_spellings() {
    if !has("cmake") {
        return skip("items_are_the_names_in_other_spellings", "needs cmake");
    }
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &LINKED);
    let bodies = [
        ("x", "list(APPEND L lib${x}.a)", "lib@.a"),
        ("x IN ITEMS", "list(APPEND L lib${x}.a)", "lib@.a"),
        ("x", "list(APPEND L \"lib${x}.a\")", "lib@.a"),
        ("x", "list(APPEND L ${D}/lib${x}.a)", "/lib@.a"),
        ("x", "list(APPEND L -l${x})", "-l@"),
        ("x", "list(APPEND L -l:lib${x}.a)", "-l:lib@.a"),
        ("x", "list(APPEND L NS::${x})", "NS::@"),
        ("x", "list(APPEND L $<TARGET_FILE:${x}>)", "$<TARGET_FILE:@>"),
        ("x", "set(L ${L} lib${x}.a)", "lib@.a"),
        ("x", "target_link_libraries(m PRIVATE lib${x}.a)", "lib@.a"),
    ];
    for (head, body, word) in bodies {
        let list = |items| {
            format!(
                "foreach({head} {items})\n  {body}\nendforeach()\n\
                 target_link_libraries(m PRIVATE ${{L}})\n"
            )
        };
        let (status, new, said) = fixed(&lab, &list("FooA FooB FooZ"));
        assert_eq!((status, &*new), (Some(0), &*list("FooA FooB FooX FooY FooZ")), "{said}");
        let names = ["FooA", "FooB", "FooX", "FooY", "FooZ"];
        let mut linked = value(&lab, "new.cmake", "m");
        linked.retain(|one| one != "PRIVATE");
        let expected: Vec<String> = names.iter().map(|name| word.replace('@', name)).collect();
        assert_eq!(linked, expected, "{new}");
    }
    let list = |items| {
        format!(
            "foreach(x {items})\n  list(APPEND L libFoo${{x}}.a)\nendforeach()\n\
             target_link_libraries(m PRIVATE ${{L}})\n"
        )
    };
    let (status, new, said) = fixed(&lab, &list("A B Z"));
    assert_eq!((status, new), (Some(0), list("A B X Y Z")), "{said}");
}

/// A name in a command whose values change from round to round would be added once for each round.
#[test]
fn a_loop_adds_no_name_several_times() {
    if !has("cmake") {
        return skip("a_loop_adds_no_name_several_times", "needs cmake");
    }
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &LINKED);
    let lists = [
        "foreach(x FooA FooB FooZ)\n  set(f lib${x}.a)\n  list(APPEND L ${f})\nendforeach()\n",
        "foreach(x FooA FooB FooZ)\n  string(CONCAT f lib ${x} .a)\n  list(APPEND L ${f})\n\
         endforeach()\n",
        "foreach(x FooA FooB FooZ)\n  list(APPEND L dir/lib${x}.a.a)\nendforeach()\n",
        "foreach(x FooA FooB FooZ)\n  list(APPEND L $<LINK_ONLY:${x}>)\nendforeach()\n",
        "set(N FooA FooB FooZ)\nforeach(d ${N})\n  if(d MATCHES \"^Foo\")\n    \
         list(APPEND L ${d})\n  endif()\nendforeach()\n",
        "set(N FooA FooB FooZ)\nforeach(d ${N})\n  if(d MATCHES \"^Foo[A-C]\")\n    \
         list(APPEND L ${d})\n  endif()\nendforeach()\n",
        "set(N FooA FooB FooZ)\nforeach(i RANGE 2)\n  list(GET N ${i} d)\n  \
         list(APPEND L ${d})\nendforeach()\n",
        "set(N FooA FooB FooZ)\nwhile(N)\n  list(POP_FRONT N d)\n  list(APPEND L ${d})\n\
         endwhile()\n",
    ];
    for list in lists {
        let (status, new, said) = fixed(&lab, &format!("{list}target_link_libraries(m ${{L}})\n"));
        if new.is_empty() {
            assert_eq!(status, Some(1), "{said}");
            continue;
        }
        let linked = value(&lab, "new.cmake", "m");
        let count = linked.iter().filter(|one| one.contains("FooX")).count();
        let is_verified = status == Some(0);
        assert!(count < 2 && (!is_verified || count == 1), "{count} {is_verified} {new}{said}");
        for body in new.split("foreach(").skip(1).filter_map(|rest| rest.split_once(')')) {
            assert!(!body.1.contains("FooX"), "{new}{said}");
        }
    }
}

/// A helper function may change the order of its arguments, and a name may be that of a target's
/// file or of an alias that does not exist: the fix is then not verified.
#[test]
fn names_that_mean_something_else() {
    let archives: &[Archive] =
        &[("FooA", &[("a", &["c"])]), ("FooB", &[("b", &[])]), ("FooC", &[("c", &[])])];
    let lab = build(archives, &["a", "b"], &["FooA", "FooB"]);
    let helper = |command: &str| {
        format!(
            "function(add_plugin name)\ncmake_parse_arguments(ARG \"\" \"\" \"LINK_LIBS\" ${{ARGN}})\n\
             {command}target_link_libraries(${{name}} PRIVATE ${{ARG_LINK_LIBS}})\nendfunction()\n\
             add_plugin(m LINK_LIBS FooB FooA)\n"
        )
    };
    let own = "target_link_libraries(m PRIVATE FooA FooB)\n";
    let output = "set_target_properties(FooC_static PROPERTIES OUTPUT_NAME FooC)\n";
    let aliases = "add_library(X::FooA ALIAS FooA)\nadd_library(X::FooB ALIAS FooB)\n\
                   target_link_libraries(m PRIVATE X::FooA X::FooB)\n";
    let cases = [
        (helper(""), None),
        (helper("list(REVERSE ARG_LINK_LIBS)\n"), Some("may change the order")),
        (own.to_owned(), None),
        (format!("{output}{own}"), Some("FooC is the OUTPUT_NAME of the target FooC_static")),
        (aliases.to_owned(), Some("the list defines no alias X::FooC")),
    ];
    for (list, doubt) in cases {
        let (status, _, says) = fixed(&lab, &list);
        assert_eq!(status, Some(i32::from(doubt.is_some())), "{list}{says}");
        assert!(doubt.is_none_or(|doubt| says.contains(doubt)), "{list}{says}");
    }
}
