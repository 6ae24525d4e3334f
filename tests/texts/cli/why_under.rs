//! `why --under ENTRY`: the answer for one entry point, and names of entry points that are none.

use super::kit::{CALLS_FOO, FOO, at, run, text};
use crate::support::Lab;
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
    assert!(!page.out.contains("p/two"), "{}", page.out);
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
    // Known, and not under this entry point.
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
    // Given by name it is one.
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
