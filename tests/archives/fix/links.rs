//! Fixes as words and lists for a linker that reads archives once: GNU ld accepts them as written.

use super::kit::{archive, object, text, tool};
use super::support::{self, Lab};
use std::ffi::OsStr;

/// `user.so` lacks `za`, which needs `yb`, which needs a circle of `p` and `q`, which needs `xc`.
/// Sorted by name, the archives would be in the wrong order.
fn chain() -> Lab {
    let lab = Lab::new();
    object(&lab, "user.o", "int za(void); int user(void) { return za(); }");
    for (name, members) in [
        ("za", &[("za", "yb")][..]),
        ("yb", &[("yb", "p1")]),
        ("p", &[("p1", "q1"), ("p2", "xc")]),
        ("q", &[("q1", "p2")]),
    ] {
        let objects: Vec<String> = members.iter().map(|(own, _)| format!("{own}.o")).collect();
        for (own, other) in members {
            let source = format!("int {other}(void); int {own}(void) {{ return {other}(); }}");
            object(&lab, &format!("{own}.o"), &source);
        }
        let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
        archive(&lab, OsStr::new(&format!("parts/lib{name}.a")), &objects);
    }
    object(&lab, "xc.o", "int xc(void) { return 1; }");
    archive(&lab, OsStr::new("parts/libxc.a"), &["xc.o"]);
    tool(&lab, "cc -shared -o user.so user.o");
    lab
}

fn emitted(lab: &Lab, emitter: &str, more: &[&str]) -> String {
    let args = ["fix", "user.so", "--lib-path", "parts", "--emit", emitter];
    let run = lab.linkaudit(&[&args, more].concat());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    text(&run.stdout)
}

#[test]
fn a_link_line_is_in_link_order() {
    let lab = chain();
    let line = emitted(&lab, "link-line", &[]);
    let root = lab.root().canonicalize().expect("a path");
    let short = line.replace(&format!("{}/parts/", root.display()), "");
    let expected = "libza.a libyb.a -Wl,--start-group libp.a libq.a -Wl,--end-group libxc.a\n";
    assert_eq!(short, expected, "{line}");
    tool(&lab, &format!("cc -shared -fuse-ld=bfd -Wl,-z,defs -o new.so user.o {line}"));
    assert!(lab.undefined("new.so").is_empty());
    println!("link-line: 1 link of 5 archives by GNU ld, 0 undefined");
}

#[test]
fn pkg_config_hands_its_line_on() {
    let lab = chain();
    let line = emitted(&lab, "pkg-config", &[]);
    assert!(line.starts_with("Libs.private: -L") && line.ends_with("-lxc\n"), "{line}");
    lab.write("user.pc", format!("Name: user\nDescription: a library\nVersion: 1\nLibs:\n{line}"));
    let mut links = 0;
    for program in ["pkg-config", "pkgconf"] {
        if !support::has(program) {
            support::skip("pkg_config_hands_its_line_on", "needs pkg-config and pkgconf");
            continue;
        }
        let words = tool(&lab, &format!("{program} --static --libs ./user.pc"));
        let link = "cc -shared -fuse-ld=bfd -Wl,-z,defs -o new.so user.o";
        tool(&lab, &format!("rm -f new.so; {link} {words}"));
        assert!(lab.undefined("new.so").is_empty(), "{words}");
        links += 1;
    }
    // With `-lxc`, a linker would take the shared library, which lacks the function.
    tool(&lab, "echo 'int other;' | cc -shared -o parts/libxc.so -x c -");
    let line = emitted(&lab, "pkg-config", &[]);
    assert!(line.contains("-lza -lyb") && line.ends_with("-l:libxc.a\n"), "{line}");
    let words = line.trim_start_matches("Libs.private:").trim_end();
    tool(&lab, &format!("cc -shared -fuse-ld=bfd -Wl,-z,defs -o new.so user.o {words}"));
    assert!(lab.undefined("new.so").is_empty(), "{words}");
    println!("pkg-config: {} links of 5 archives by GNU ld, 0 undefined", links + 1);
}

/// Linkers take the file of the first directory that has the name, for `-l:FILE` too.
#[test]
fn pkg_config_names_files_that_an_earlier_directory_hides() {
    let lab = Lab::new();
    object(&lab, "user.o", "int za(void); int user(void) { return za(); }");
    object(&lab, "za.o", "int same(void); int za(void) { return same(); }");
    object(&lab, "other.o", "int other(void) { return 1; }");
    object(&lab, "same.o", "int same(void) { return 2; }");
    archive(&lab, OsStr::new("parts/a/libza.a"), &["za.o"]);
    archive(&lab, OsStr::new("parts/a/libsame.a"), &["other.o"]);
    archive(&lab, OsStr::new("parts/b/libsame.a"), &["same.o"]);
    tool(&lab, "cc -shared -o user.so user.o");
    let line = emitted(&lab, "pkg-config", &[]);
    assert!(
        line.ends_with("/parts/a -lza PARTS/b/libsame.a\n".replace("PARTS", &parts(&lab)).as_str())
    );
    lab.write("user.pc", format!("Name: user\nDescription: a library\nVersion: 1\nLibs:\n{line}"));
    let mut links = 0;
    for program in ["pkg-config", "pkgconf"] {
        if !support::has(program) {
            let name = "pkg_config_names_files_that_an_earlier_directory_hides";
            support::skip(name, "needs pkg-config and pkgconf");
            continue;
        }
        let words = tool(&lab, &format!("{program} --static --libs ./user.pc"));
        for linker in ["bfd", "lld"] {
            let link = format!("cc -shared -fuse-ld={linker} -Wl,-z,defs -o new.so user.o");
            tool(&lab, &format!("rm -f new.so; {link} {words}"));
            assert!(lab.undefined("new.so").is_empty(), "{words}");
            links += 1;
        }
    }
    println!("pkg-config: {links} links with archives of one name, 0 undefined");
}

fn parts(lab: &Lab) -> String {
    lab.root().canonicalize().expect("a path").join("parts").display().to_string()
}

/// Without a merged archive the list is that of the link, and its order is GNU ld's.
#[test]
fn a_list_of_a_link_stays_in_link_order() {
    let lab = chain();
    let lists = [
        ("target_link_libraries(user PRIVATE za xc)\n", &["za", "yb", "p", "q", "xc"]),
        ("set(LIBS za xc)\n", &["za", "yb", "p", "q", "xc"]),
        ("target_link_libraries(user\n  za\n  xc\n)\n", &["za", "yb", "p", "q", "xc"]),
    ];
    for (list, names) in lists {
        lab.write("list.cmake", list);
        let new = emitted(&lab, "cmake-deps", &["--deps-list", "list.cmake"]);
        let words = new.replace(['(', ')', '\n'], " ");
        let place = |name: &str| words.split_whitespace().position(|word| word == name);
        let places: Vec<Option<usize>> = names.iter().map(|name| place(name)).collect();
        assert!(places.iter().all(Option::is_some), "{new}");
        let (za, yb, xc) = (places[0], places[1], places[4]);
        assert!(za < yb && yb < places[2].min(places[3]), "{new}");
        assert!(places[2].max(places[3]) < xc, "{new}");
    }
    println!("lists of links: {} lists in link order", lists.len());
}

/// `f` has a weak and a strong definition in one archive, and a weak one in another.
#[test]
fn a_strong_definition_counts_after_a_weak_one() {
    let lab = Lab::new();
    let weak = "__attribute__((weak))";
    object(&lab, "user.o", "int za(void); int user(void) { return za(); }");
    object(&lab, "z.o", "int f(void); int za(void) { return f(); }");
    object(
        &lab,
        "a1.o",
        &format!("int x(void) {{ return 1; }} {weak} int f(void) {{ return 1; }}"),
    );
    object(&lab, "a2.o", "int f(void) { return 2; }");
    object(&lab, "b.o", &format!("int y(void) {{ return 1; }} {weak} int f(void) {{ return 3; }}"));
    archive(&lab, OsStr::new("parts/libz.a"), &["z.o"]);
    archive(&lab, OsStr::new("parts/libb.a"), &["b.o"]);
    tool(&lab, "cc -shared -o user.so user.o");
    lab.write("list.cmake", "target_link_libraries(user PRIVATE a b)\n");
    for members in [["a1.o", "a2.o"], ["a2.o", "a1.o"]] {
        tool(&lab, "rm -f parts/liba.a");
        archive(&lab, OsStr::new("parts/liba.a"), &members);
        let new = emitted(&lab, "cmake-deps", &["--deps-list", "list.cmake"]);
        assert_eq!(new, "target_link_libraries(user PRIVATE z a b)\n", "{members:?}");
    }
    let words = "-Lparts -lz -la -lb";
    tool(&lab, &format!("cc -shared -fuse-ld=bfd -Wl,-z,defs -o new.so user.o {words}"));
    assert!(lab.undefined("new.so").is_empty());
}

#[test]
fn a_set_without_a_candidate_takes_no_name() {
    let lab = chain();
    let list =
        "set(MLIR_FOUND OFF)\nset(CMAKE_BUILD_TYPE Release)\nif(TESTS)\n  set(T x)\nendif()\n";
    lab.write("list.cmake", list);
    archive(&lab, OsStr::new("merged.a"), &["user.o"]);
    let args = ["--deps-list", "list.cmake", "--emit", "cmake-deps", "--archive", "merged.a"];
    let run = lab.linkaudit(&[&["fix", "user.so", "--lib-path", "parts"][..], &args].concat());
    let err = text(&run.stderr);
    assert_eq!((run.status.code(), text(&run.stdout).as_str()), (Some(1), list), "{err}");
    for name in ["za", "yb", "p", "q", "xc"] {
        let line = format!(
            "/lib{name}.a cannot be placed: no variable or target of the list names a candidate \
             archive\n"
        );
        assert!(err.contains(&line), "{err}");
    }
    // Beside a list of archives none of these takes one.
    lab.write("list.cmake", format!("{list}set(LIBS\n  za\n)\n"));
    let run = lab.linkaudit(&[&["fix", "user.so", "--lib-path", "parts"][..], &args].concat());
    let out = text(&run.stdout);
    assert!(out.starts_with(list) && out.contains("  yb\n"), "{out}{}", text(&run.stderr));
}
