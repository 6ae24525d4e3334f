//! Lists whose names take a long way to the link: each is built by a real CMake and GNU ld, as
//! `fix` wrote it. The first line of a list tells what the fix must be, and `@` marks the place of
//! the new names.

use super::targets::{Archive, IN_ORDER, build, fixed};
use crate::support::random::step;
use crate::support::{self, Lab};
use std::collections::BTreeSet;
use std::path::Path;

const PROJECT: &str = "cmake_minimum_required(VERSION 3.16)\nproject(top C)\nlink_directories(../a)\n\
     if(NOT OWN)\n  add_library(m SHARED top.c)\nendif()\nset(FLAVOR big)\ninclude(../list.cmake)\n";

/// The source of the library that lacks `x`.
const TOP: &str = "int a(void), b(void), x(void), z(void);\n\
     int top(void) { return a() + b() + x() + z(); }\n";

/// True if the link of `m` has the new names.
fn configured(lab: &Lab, list: &str) -> bool {
    lab.write("list.cmake", list);
    let own = usize::from(list.lines().next().is_some_and(|line| line.ends_with(" own")));
    let output = lab.sh(&format!(
        "rm -rf out/CMakeFiles/m.dir out/libm.so; cmake -S p -B out -DOWN={own} -DCMAKE_C_COMPILER_WORKS=1 \
         -DCMAKE_SHARED_LINKER_FLAGS='-Wl,-z,defs -fuse-ld=bfd' && cat out/CMakeFiles/m.dir/link.txt"
    ));
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{list}{said}");
    ["FooX", "FooY"].iter().all(|name| said.contains(name))
}

#[test]
fn lists_are_followed_to_the_link() {
    follow("lists_are_followed_to_the_link", IN_ORDER, "list_flows", 4);
}

/// The new archive `FooY` needs another member of `FooZ`, which must come after it.
#[test]
fn names_have_the_order_of_the_link() {
    let archives: &[Archive] = &[
        ("FooA", &[("a", &[])]),
        ("FooB", &[("b", &[])]),
        ("FooX", &[("x", &["y"])]),
        ("FooY", &[("y", &["z2"])]),
        ("FooZ", &[("z", &[]), ("z2", &[])]),
    ];
    follow("names_have_the_order_of_the_link", archives, "list_orders", 1);
}

/// Fixes each list in `dir`, and builds it. All but one of `part` lists may be left out.
fn follow(test: &str, archives: &[Archive], dir: &str, part: usize) {
    if !["cmake", "ld.bfd", "make"].iter().all(|tool| support::has(tool)) {
        return support::skip(test, "needs cmake, make and GNU ld");
    }
    let lab = build(archives, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    lab.write("p/top.c", TOP);
    lab.write("p/CMakeLists.txt", PROJECT);
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archives").join(dir);
    let files = std::fs::read_dir(dir).expect("the lists");
    let files: BTreeSet<_> = files.map(|entry| entry.expect("a file").path()).collect();
    let (mut wrong, mut verified, mut lists) = (Vec::new(), 0, 0);
    for path in files.iter().step_by(step(part)) {
        lists += 1;
        let text = std::fs::read_to_string(path).expect("a list");
        let expected = text.split(' ').nth(1).map(str::trim_end).unwrap_or_default();
        let (status, new, said) = fixed(&lab, &text.replace('@', ""));
        let kind = match status {
            Some(0) => "verified",
            _ if said.contains("cannot be placed") => "refused",
            _ => "unsure",
        };
        verified += usize::from(kind == "verified");
        let is_right = match kind {
            "verified" => {
                configured(&lab, &new) && lab.sh("cmake --build out --target m").status.success()
            }
            "refused" => !configured(&lab, &text.replace('@', " FooX FooY")),
            _ => true,
        };
        if expected.split('\n').next() != Some(kind) || !is_right {
            wrong.push(format!("{}: {kind}, right {is_right}\n{new}{said}", path.display()));
        }
    }
    println!("{test}: {lists} lists, {verified} verified and built");
    assert!(wrong.is_empty() && files.len() > 10, "{}", wrong.join("\n"));
}

/// The message for a file without lists names the command that is not read.
#[test]
fn commands_that_are_not_read_are_named() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let cases = [
        ("set(S \"FooA FooB\")\nseparate_arguments(S)\n", "separate_arguments() on line 2"),
        ("file(GLOB S *.a)\nset(T x)\n", "file(GLOB) on line 1 is not followed"),
        (
            "function(f t)\n  list(GET ARGN ${i} l)\nendfunction()\nset(T x)\nf(m FooA FooB)\n",
            "f() on line 5 names FooA: list(GET) on line 2 is not followed",
        ),
        (
            "function(f)\n  f(${ARGN})\nendfunction()\nset(T x)\nf(FooA FooB)\n",
            "f() on line 5 names FooA: f() on line 2 is not followed",
        ),
        (
            "set_property(TARGET m n PROPERTY LINK_LIBRARIES FooA FooB)\n",
            "set_property() on line 1 names FooA, but is not read as a list of names",
        ),
    ];
    for (list, why) in cases {
        let (status, _, said) = fixed(&lab, list);
        assert!(status == Some(2) && said.contains(why), "{list}{said}");
    }
}

/// In a subdirectory, `CMAKE_PROJECT_NAME` is the name of another project.
#[test]
fn the_top_project_may_be_another() {
    if !["cmake", "ld.bfd", "make"].iter().all(|tool| support::has(tool)) {
        return support::skip("the_top_project_may_be_another", "needs cmake, make and GNU ld");
    }
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    lab.write("p/sub/top.c", TOP);
    lab.write("p/sub/e.c", "int e;");
    let top = "cmake_minimum_required(VERSION 3.16)\nproject(top C)\nlink_directories(../a)\n\
         add_subdirectory(sub)\n";
    lab.write("p/CMakeLists.txt", top);
    let list = "project(m C)\nadd_library(${CMAKE_PROJECT_NAME} SHARED e.c)\n\
         target_link_libraries(${CMAKE_PROJECT_NAME} PRIVATE FooA FooB FooB FooZ)\n\
         add_library(m SHARED top.c)\ntarget_link_libraries(m PRIVATE FooA FooB FooZ)\n";
    let (status, new, said) = fixed(&lab, list);
    assert_eq!(status, Some(0), "{said}");
    lab.write("p/sub/CMakeLists.txt", &new);
    let output = lab.sh("cmake -S p -B sub -DCMAKE_C_COMPILER_WORKS=1 \
         -DCMAKE_SHARED_LINKER_FLAGS='-Wl,-z,defs -fuse-ld=bfd' && cmake --build sub --target m");
    assert!(output.status.success(), "{new}{}", String::from_utf8_lossy(&output.stderr));
}

/// Many variables, interface libraries, loops and conditions take little time, or give no verified
/// fix.
#[test]
fn large_lists_take_little_time() {
    let lab = build(IN_ORDER, &["a", "b", "z", "x"], &["FooA", "FooB", "FooZ"]);
    let many = |part: &dyn Fn(usize) -> String| (0..1600).map(part).collect::<String>();
    let link = "target_link_libraries(m PRIVATE ${LIBS})\n";
    let set = "set(LIBS FooA FooB FooZ)\n";
    let lists = [
        (
            1,
            many(&|n| {
                format!(
                    "add_library(i{n} INTERFACE)\n\
                     target_link_libraries(i{n} INTERFACE FooA FooB FooZ i{})\n",
                    n + 1
                )
            }) + "target_link_libraries(m PRIVATE i0 FooA FooB FooZ)\n",
        ),
        (
            1,
            many(&|n| format!("set(V{n} FooA FooB FooZ)\n"))
                + "foreach(n RANGE 1599)\n  list(APPEND LIBS ${V${n}})\nendforeach()\n"
                + link,
        ),
        (
            0,
            many(&|n| {
                format!("foreach(l{n} FooA FooB)\n  list(APPEND L${{l{n}}} x)\nendforeach()\n")
            }) + set
                + link,
        ),
        (0, many(&|n| format!("if(A{n})\n  list(APPEND LIBS x{n})\nendif()\n")) + set + link),
        (
            0,
            set.to_owned()
                + &many(&|n| format!("if(A{n})\n  list(APPEND LIBS x{n})\nendif()\n"))
                + link,
        ),
        (
            1,
            set.to_owned()
                + &(0..30).map(|n| format!("foreach(l{n} a b)\n")).collect::<String>()
                + "list(REMOVE_ITEM LIBS FooX)\n"
                + &"endforeach()\n".repeat(30)
                + link,
        ),
        (
            2,
            many(&|n| format!("foreach(l{n} a b)\n")) + set + &"endforeach()\n".repeat(1600) + link,
        ),
    ];
    for (at, (expected, list)) in lists.iter().enumerate() {
        let started = std::time::Instant::now();
        let (status, _, said) = fixed(&lab, list);
        println!(
            "list {at}: {status:?} in {:?}: {}",
            started.elapsed(),
            &said[..said.len().min(400)]
        );
        assert_eq!(status, Some(*expected), "list {at}: {said}");
        assert!(started.elapsed().as_secs() < 40, "list {at}: {:?}", started.elapsed());
    }
}
