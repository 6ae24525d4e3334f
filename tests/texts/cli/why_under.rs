//! `why --under ENTRY`: the answer for one entry point, and names that are not entry points.

use super::kit::{CALLS_FOO, FOO, at, run, text};
use crate::support::Lab;
use crate::support::tiny::Tiny;
use serde_json::{Value, json};

const KEEP: &str = "-Wl,--no-as-needed";

/// Two programs that load different libraries of one name.
fn two() -> Lab {
    let lab = Lab::new();
    for dir in ["one", "two"] {
        lab.so(&format!("p/{dir}/libfoo.so"), FOO, &["-Wl,-soname,libfoo.so"]);
        let mid = "int foo(void); int mid(void) { return foo(); }";
        let flags = [KEEP, &format!("-Lp/{dir}"), "-lfoo", "-Wl,-rpath,$ORIGIN/gone:$ORIGIN"];
        lab.so(&format!("p/{dir}/libmid.so"), mid, &flags);
        let source = format!("int mid(void); {CALLS_FOO}");
        let flags = [KEEP, &format!("-Lp/{dir}"), "-lmid", "-lfoo", "-Wl,-rpath,$ORIGIN"];
        lab.exe(&format!("p/{dir}/app-{dir}"), &source, &flags);
    }
    lab
}

fn why(lab: &Lab, name: &str, args: &[&str]) -> Value {
    let run = run(lab, &[&["why", name, "--format", "json"], args].concat());
    assert_eq!((run.err.as_str(), run.status), ("", 0));
    serde_json::from_str(&run.out).expect("JSON")
}

fn paths(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|one| text(&one["path"])).collect()
}

#[test]
fn a_library_under_one_entry_point() {
    let lab = two();
    assert_eq!(why(&lab, "libfoo.so", &["p"])["requesters"].as_array().map(Vec::len), Some(4));
    for entry in ["p/two/app-two", "two/app-two", "app-two", &at(&lab, "p/two/app-two")] {
        let found = why(&lab, "libfoo.so", &["p", "--under", entry]);
        let app = at(&lab, "p/two/app-two");
        assert_eq!(found["under"], app, "{entry}");
        assert_eq!(paths(&found["providers"]), [at(&lab, "p/two/libfoo.so")]);
        let roots = json!([{ "root": app, "position": 2, "how": "runpath" }]);
        assert_eq!(found["providers"][0]["roots"], roots);
        assert_eq!(paths(&found["requesters"]), [app.clone(), at(&lab, "p/two/libmid.so")]);
        assert_eq!(found["requesters"][1]["chain"], json!([app, at(&lab, "p/two/libmid.so")]));
        assert_eq!(found["requesters"][1]["roots"], json!([app]));
    }
    let page = run(&lab, &["why", "libfoo.so", "p", "--under", "app-one"]);
    assert_eq!(page.status, 0);
    // The other file of the name is only one that LD_LIBRARY_PATH would bring.
    let of_two = page.out.lines().filter(|line| line.contains("p/two"));
    assert!({ of_two }.all(|line| line.contains("LD_LIBRARY_PATH")), "{}", page.out);
    let end = format!("2 files; 1 file of this name under {}\n", at(&lab, "p/one/app-one"));
    assert!(page.out.ends_with(&end), "{}", page.out);
}

#[test]
fn a_symbol_under_one_entry_point() {
    let lab = two();
    let found = why(&lab, "foo", &["p", "--under", "app-one"]);
    assert_eq!(paths(&found["providers"]), [at(&lab, "p/one/libfoo.so")]);
    let requesters = [at(&lab, "p/one/app-one"), at(&lab, "p/one/libmid.so")];
    assert_eq!(paths(&found["requesters"]), requesters);
    let searched =
        ["p/one/app-one", "p/one/libmid.so", "p/one/libfoo.so"].map(|path| at(&lab, path));
    for requester in found["requesters"].as_array().expect("references") {
        assert_eq!(requester["bound"].as_array().map(Vec::len), Some(1));
        assert_eq!(requester["bound"][0]["searched"], json!(searched));
    }
    let page = run(&lab, &["why", "foo", "p", "--under", "app-one"]).out;
    assert!(page.contains("      searched 3 files: app-one, libmid.so, libfoo.so\n"), "{page}");
    // The symbol is known, but not under this entry point.
    lab.so("q/libbar.so", "int bar(void) { return 1; }", &[]);
    let found = why(&lab, "bar", &["p", "q", "--under", "app-one"]);
    assert_eq!((&found["kind"], &found["providers"]), (&json!("symbol"), &json!([])));
}

#[test]
fn what_is_no_entry_point() {
    let lab = two();
    let refused = |entry: &str, parts: &[&str]| {
        run(&lab, &["why", "foo", "p", "--under", entry]).refused(parts).in_style();
    };
    refused("app-on", &["--under app-on: not an entry point", "did you mean", "p/one/app-one?"]);
    refused("nothing-like-it", &["not an entry point of this audit", "linkaudit tree"]);
    let app = at(&lab, "p/one/app-one");
    let loaded = ["not an entry point", &*format!("use --under {app}"), "as a PATH"];
    refused("p/one/libfoo.so", &loaded);
    refused("one/libmid.so", &loaded);
    // A library that is given by name is an entry point.
    why(&lab, "foo", &["p", "p/one/libmid.so", "--under", "one/libmid.so"]);
    std::fs::copy(lab.path("p/one/app-one"), lab.path("p/two/app-one")).expect("a copy");
    refused("app-one", &["2 entry points have this name\nhelp: write the path: "]);
}

#[test]
fn the_same_bytes_however_it_is_asked() {
    let lab = two();
    for name in ["foo", "libfoo.so", "mid"] {
        let args = ["p", "--under", "app-one"];
        let whole = why(&lab, name, &args).to_string();
        for options in [&["-q"][..], &["-v"], &["-j1"], &["-j7"], &["--color", "always"]] {
            assert_eq!(why(&lab, name, &[options, &args].concat()).to_string(), whole);
        }
    }
}

/// Two versions of a library in one process, compared with the real loader under LD_LIBRARY_PATH.
#[test]
fn other_files_of_a_library_and_of_its_name() {
    let lab = Lab::new();
    for (dir, major) in [("a", 1), ("b", 2), ("c", 1), ("d", 2)] {
        let soname = format!("libf.so.{major}");
        lab.so(&format!("p/{dir}/{soname}"), FOO, &[&format!("-Wl,-soname,{soname}")]);
    }
    let flags = [KEEP, "-Lp/b", "-l:libf.so.2", "-Wl,-soname,libh.so", "-Wl,-rpath,$ORIGIN"];
    lab.so("p/b/libh.so", "int h(void) { return 1; }", &flags);
    let source = "int h(void); int foo(void); int main(void) { return h() + foo(); }";
    let flags = [KEEP, "-Lp/a", "-Lp/b", "-l:libf.so.1", "-lh", "-Wl,-rpath-link,p/b"];
    let (mut cases, mut differences) = (0, Vec::new());
    for tag in ["--enable-new-dtags", "--disable-new-dtags"] {
        let tags = [&format!("-Wl,{tag}"), "-Wl,-rpath,$ORIGIN/../a:$ORIGIN/../b"];
        lab.exe("p/bin/app", source, &[&flags[..], &tags].concat());
        for (name, dir, other) in [("libf.so.1", "a", "c"), ("libf.so.2", "b", "d")] {
            let found = why(&lab, name, &["p", "--under", "p/bin/app"]);
            let copy = if dir == "a" { "p/b/libf.so.2" } else { "p/a/libf.so.1" };
            assert_eq!(paths(&found["copies"]), [at(&lab, copy)], "{found:#}");
            let needed_by = if dir == "a" { "p/b/libh.so" } else { "p/bin/app" };
            assert_eq!(found["copies"][0]["needed_by"], at(&lab, needed_by));
            let instead = &found["requesters"][0]["instead"];
            let file = at(&lab, &format!("p/{other}/{name}"));
            let expected = |is_found: bool| if is_found { json!([file]) } else { Value::Null };
            let shown = lab.sh(&format!("LD_LIBRARY_PATH=$PWD/p/{other} ldd p/bin/app")).stdout;
            let shown = String::from_utf8_lossy(&shown).into_owned();
            let is_found = shown.contains(&format!("/p/{other}/{name}"));
            cases += 1;
            if *instead != expected(is_found) {
                differences.push(format!("{tag} {name}: {instead} {shown}"));
            }
        }
    }
    println!("LD_LIBRARY_PATH: {cases} needs, {} differences", differences.len());
    assert!(differences.is_empty(), "{differences:#?}");
    let page = run(&lab, &["why", "libf.so.2", "p", "--under", "p/bin/app"]).out;
    assert!(page.contains("other files of the library in the process\n"), "{page}");
    assert!(page.contains(&format!(", needed by {}\n", at(&lab, "p/bin/app"))), "{page}");
    assert!(page.contains("LD_LIBRARY_PATH with the directory would find "), "{page}");
    let without = why(&lab, "libf.so.2", &["p"]);
    assert_eq!(
        (&without["copies"], &without["requesters"][0]["instead"]),
        (&json!([]), &Value::Null)
    );
}

/// musl searches LD_LIBRARY_PATH before DT_RPATH, and it lets needs inherit a DT_RUNPATH.
#[test]
fn ld_library_path_comes_first_under_musl() {
    const LOADER: &str = "/lib/ld-musl-x86_64.so.1";
    let library = |name: &str, needs: &[&str]| Tiny::library(name, needs.iter().copied());
    let lab = Lab::new();
    let mut loader = library("libc.so", &[]).bytes();
    loader.extend(b"\0musl libc (x86_64)\nVersion %s\n\x001.2.5\0");
    lab.write(&format!("r{LOADER}"), loader);
    for dir in ["a", "b"] {
        lab.write(&format!("r/p/{dir}/libfoo.so"), library("libfoo.so", &[]).bytes());
    }
    lab.write("r/p/a/libmid.so", library("libmid.so", &["libfoo.so"]).bytes());
    let needs = ["libfoo.so", "libmid.so"].map(str::to_owned).to_vec();
    let app = Tiny { needs, interp: Some(LOADER), ..Tiny::default() };
    let path = "$ORIGIN/../a";
    for (app, tag) in [(app.clone().rpath(path), "rpath"), (app.runpath(path), "runpath")] {
        lab.write("r/p/bin/app", app.bytes());
        let args = ["--root", "r", "/p", "--under", "app"];
        let found = why(&lab, "libfoo.so", &args);
        let [of_app, of_mid] = [1, 0].map(|at| &found["requesters"][at]);
        assert_eq!((&of_app["how"], &of_app["to"]), (&json!(tag), &json!("/p/a/libfoo.so")));
        assert_eq!(of_app["instead"], json!(["/p/b/libfoo.so"]), "{tag}");
        assert_eq!((&of_mid["path"], &of_mid["how"]), (&json!("/p/a/libmid.so"), &json!("loaded")));
        let text = lab.linkaudit(&["why", "libfoo.so", "--root", "r", "/p"]).stdout;
        assert!(!String::from_utf8_lossy(&text).contains("comes after"), "{tag}");
        let mid = why(&lab, "libmid.so", &args);
        assert_eq!((&mid["requesters"][0]["how"], &mid["copies"]), (&json!(tag), &json!([])));
        let args = [&args[..], &["--ld-library-path", "/p/b"]].concat();
        let requester = &why(&lab, "libfoo.so", &args)["requesters"][1];
        let expected = (&json!("ld-library-path"), &json!("/p/b/libfoo.so"));
        assert_eq!((&requester["how"], &requester["to"]), expected);
    }
}
