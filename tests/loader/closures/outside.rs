//! `outside-closure` in stores and in prefixes.

use super::report::{Report, evidence, text};
use super::store::{LOADER, Store, item};
use crate::support::linkaudit;

/// Library, detail and level of each finding of the rule.
fn outside(report: &Report) -> Vec<(String, String, String)> {
    let key = |finding: &serde_json::Value, key: &str| text(&finding[key]).to_owned();
    let of = report.of_rule("outside-closure");
    of.map(|f| (key(f, "library"), key(f, "detail"), key(f, "level"))).collect()
}

fn found(library: &str, detail: &str, level: &str) -> (String, String, String) {
    (library.to_owned(), detail.to_owned(), level.to_owned())
}

#[test]
fn store_items_with_files_of_the_machine() {
    let store = Store::new();
    let app = item("app-1.0");
    let glibc = format!("{}/lib", item("glibc-2.36"));
    let zlib = format!("{}/lib", item("zlib-1.3"));
    let own = format!("{glibc}/{LOADER}");
    let host = format!("/lib64/{LOADER}");
    let only = |lib: &str, detail: &str| vec![found(lib, detail, "error")];
    let cases = [
        (own.clone(), format!("{glibc}:{zlib}"), vec![]),
        (own.clone(), glibc.clone(), only("libz.so.1", "/usr/lib")),
        (own.clone(), format!("{glibc}:/usr/lib"), only("libz.so.1", "/usr/lib")),
        (own, zlib.clone(), only("libc.so.6", "/lib/x86_64-linux-gnu")),
        (host.clone(), format!("{glibc}:{zlib}"), only(&host, "PT_INTERP")),
    ];
    for (interp, runpath, expected) in &cases {
        store.program(&format!("{app}/bin/app"), interp, runpath);
        let strict = store.audit(&["--policy", "nix", &app]);
        assert_eq!(&outside(&strict), expected, "{interp} {runpath}: {}", strict.outline());
        let plain = store.audit(&[&app]);
        assert!(outside(&plain).iter().all(|(.., level)| level == "warning"));
        assert_eq!(outside(&plain).len(), expected.len(), "{}", plain.outline());
    }
    println!("store items: {} cases, 0 differences", cases.len());
}

#[test]
fn the_finding_names_the_item_that_has_the_library() {
    let store = Store::new();
    let (app, zlib, glibc) = (item("app-1.0"), item("zlib-1.3"), item("glibc-2.36"));
    store.program(
        &format!("{app}/bin/app"),
        &format!("{glibc}/lib/{LOADER}"),
        &format!("{glibc}/lib"),
    );
    let report = store.audit(&["--policy", "nix", &app, &zlib]);
    let finding = report.of_rule("outside-closure").next().expect("libz.so.1");
    let candidate = evidence(finding, "candidate").next().expect("the item");
    assert_eq!(candidate["path"], format!("{zlib}/lib/libz.so.1"));
    assert_eq!(finding["prefix"], app.as_str());
    let shown = store.lab.linkaudit(&["--isolated", "--root", "r", "--policy", "nix", &app, &zlib]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    // `fix` adds no search path from one store item to another.
    let help = format!("add {zlib}/lib to the RUNPATH of bin/app");
    assert!(
        flat.contains("error[outside-closure] libz.so.1: found outside of /nix/store"),
        "{shown}"
    );
    assert!(flat.contains(&help) && !flat.contains("--emit patchelf"), "{shown}");
}

#[test]
fn a_library_of_the_closure_is_judged_too() {
    let store = Store::new();
    let (app, foo) = (item("app-1.0"), item("foo-2"));
    let glibc = format!("{}/lib", item("glibc-2.36"));
    let path = format!("-Wl,-rpath,{glibc}");
    store.lab.so(
        &format!("r{foo}/lib/libfoo.so"),
        "int z(void); int foo(void) { return z(); }",
        &["-Wl,-soname,libfoo.so", "-Wl,--no-as-needed", "build/libz.so.1", &path],
    );
    let (interp, path) =
        (format!("-Wl,--dynamic-linker,{glibc}/{LOADER}"), format!("-Wl,-rpath,{foo}/lib:{glibc}"));
    let library = format!("r{foo}/lib/libfoo.so");
    let flags = ["-Wl,--no-as-needed", &library, &interp, &path];
    store.lab.exe(&format!("r{app}/bin/app"), "int main(void) { return 0; }", &flags);
    let report = store.audit(&["--policy", "nix", &app]);
    assert_eq!(outside(&report), [found("libz.so.1", "/usr/lib", "error")], "{}", report.outline());
}

/// Optimised stores hard-link identical files of items.
#[test]
fn hard_linked_items_and_allowed_directories() {
    let store = Store::new();
    let app = item("app-1.0");
    store.good(&format!("{app}/bin/app"));
    let zlib = store.lab.path(&format!("r{}/lib/libz.so.1", item("zlib-1.3")));
    for other in
        [format!("{}/lib/libz.so.1", item("azlib-1.3")), "/nix/store/.links/0abc".to_owned()]
    {
        let to = store.lab.path(&format!("r{other}"));
        std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
        std::fs::hard_link(&zlib, to).expect("a link");
    }
    let report = store.audit(&["--policy", "nix", &app, &item("azlib-1.3")]);
    assert_eq!(report.findings().count(), 0, "{}", report.outline());

    store.copy("libz.so.1", "/run/opengl-driver/lib/libz.so.1");
    let glibc = format!("{}/lib", item("glibc-2.36"));
    let runpath = format!("{glibc}:/run/opengl-driver/lib");
    store.program(&format!("{app}/bin/app"), &format!("{glibc}/{LOADER}"), &runpath);
    let report = store.audit(&["--policy", "nix", &app]);
    assert_eq!(report.findings().count(), 0, "{}", report.outline());
}

#[test]
fn a_prefix_whose_own_library_is_not_searched() {
    let store = Store::new();
    let app =
        |runpath: &str| store.program("/opt/app/bin/app", &format!("/lib64/{LOADER}"), runpath);
    app("");
    let without = store.audit(&["/opt/app"]);
    assert_eq!(outside(&without), [], "{}", without.outline());
    store.copy("libz.so.1", "/opt/app/lib/libz.so.1");
    let missed = store.audit(&["/opt/app"]);
    assert_eq!(
        outside(&missed),
        [found("libz.so.1", "/usr/lib", "warning")],
        "{}",
        missed.outline()
    );
    let finding = missed.of_rule("outside-closure").next().expect("it");
    let candidate = evidence(finding, "candidate").next().expect("the prefix's own");
    assert_eq!(candidate["path"], "/opt/app/lib/libz.so.1");
    app("$ORIGIN/../lib");
    let found = store.audit(&["/opt/app"]);
    assert_eq!(found.findings().count(), 0, "{}", found.outline());
}

/// The machine's own directories have no findings.
#[test]
fn the_system_itself() {
    let mut command = linkaudit();
    command.args(["--isolated", "/usr"]);
    let report = Report::of(&mut command);
    let outside = outside(&report);
    println!("/usr: {} files, {} outside of it", report.total("elf"), outside.len());
    assert!(outside.is_empty(), "{outside:?}");
}
