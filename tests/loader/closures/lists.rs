//! `--nix-closure`: items as Nix lists them, in all layouts, and invalid lists.

use super::report::{Report, text};
use super::store::{LOADER, Store, item};
use crate::support::linkaudit;
use std::time::Instant;

/// The layouts of a closure.
fn layouts(items: &[String]) -> [String; 4] {
    let names: Vec<&str> = items.iter().filter_map(|item| item.rsplit('/').next()).collect();
    let each = |entry: &dyn Fn(&str) -> String| -> String {
        items.iter().map(|item| entry(item)).collect::<Vec<_>>().join(",")
    };
    let info: Vec<String> =
        names.iter().map(|name| format!("\"{name}\":{{\"narSize\":1}}")).collect();
    [
        items.join("\n"),
        format!("[{}]", each(&|item| format!("{{\"path\":\"{item}\",\"valid\":true}}"))),
        format!("{{{}}}", each(&|item| format!("\"{item}\":{{\"references\":[]}}"))),
        format!("{{\"version\":2,\"storeDir\":\"/nix/store\",\"info\":{{{}}}}}", info.join(",")),
    ]
}

#[test]
fn a_closure_in_every_layout() {
    let store = Store::new();
    let app = item("app-1.0");
    store.good(&format!("{app}/bin/app"));
    let items = [app.clone(), item("zlib-1.3"), item("glibc-2.36")];
    let mut outputs = Vec::new();
    for layout in layouts(&items) {
        store.lab.write("closure", layout);
        let report = store.audit(&["--policy", "nix", "--nix-closure", "closure"]);
        assert_eq!(report.findings().count(), 0, "{}", report.outline());
        assert_eq!(report.total("elf"), 4);
        outputs.push(report.value);
    }
    assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]), "the layouts differ");

    // zlib is not in the closure: it is not copied with it.
    store.lab.write("closure", [&items[..1], &items[2..]].concat().join("\n"));
    let report = store.audit(&["--policy", "nix", "--nix-closure", "closure"]);
    let finding = report.of_rule("outside-closure").next().expect("libz.so.1");
    assert_eq!(finding["library"], "libz.so.1");
    assert!(text(&finding["message"]).contains("found outside of the closure"), "{finding}");

    // A missing item makes the answer incomplete.
    store.lab.write("closure", [&items[..], &[item("gone-1")]].concat().join("\n"));
    let report = store.audit(&["--nix-closure", "closure"]);
    assert_eq!((report.status, report.complete()), (3, false), "{}", report.outline());
    assert!(report.rules().contains("unreadable"));
}

#[test]
fn lists_that_are_none() {
    let store = Store::new();
    let one = item("zlib-1.3");
    let cases = [
        (String::new(), "no store items"),
        ("garbage\n".to_owned(), "line 1: `garbage` is not the path of a store item"),
        (format!("{one}\n\n{one}/lib\n"), "line 3: "),
        ("{".to_owned(), "invalid JSON: EOF while parsing an object at line 1"),
        ("[\n {\"path\": 1}]".to_owned(), "entry 1 has no path"),
        ("{\"info\":{\"x\":{}}}".to_owned(), "`/nix/store/x` is not the path of a store item"),
        ("\u{0}\u{1}".to_owned(), "line 1: `"),
    ];
    for (bytes, expected) in &cases {
        store.lab.write("closure", bytes);
        let output =
            store.lab.linkaudit(&["--isolated", "--root", "r", "--nix-closure", "closure"]);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{bytes:?}: {words}");
        assert!(words.contains(expected), "{bytes:?}: {words}");
    }
    let absent = store.lab.linkaudit(&["--nix-closure", "none"]);
    assert_eq!(absent.status.code(), Some(2));
    println!("{} lists that are none, all refused", cases.len() + 1);
}

#[test]
fn a_thousand_items() {
    let store = Store::new();
    let glibc = item("glibc-2.36");
    let path = format!("-Wl,-rpath,{glibc}/lib");
    store.lab.so("build/small.so", "int small(void) { return 1; }", &[&path]);
    let mut items = vec![glibc];
    for n in 0..1000 {
        let item = item(&format!("package{n}-1.0"));
        store.copy("small.so", &format!("{item}/lib/libsmall{n}.so"));
        items.push(item);
    }
    store.lab.write("closure", items.join("\n"));
    let start = Instant::now();
    let report = store.audit(&["--policy", "nix", "--nix-closure", "closure"]);
    println!("a closure of {} items: {} ms", items.len(), start.elapsed().as_millis());
    assert_eq!(report.findings().count(), 0, "{}", report.outline());
    assert_eq!(report.total("elf"), 1002);
}

/// The items come from stdin, after a pipe from `nix-store -qR`.
#[test]
fn from_stdin() {
    let store = Store::new();
    let app = item("app-1.0");
    store.program(&format!("{app}/bin/app"), &format!("/lib64/{LOADER}"), "");
    let mut command = linkaudit();
    let list = store.lab.write("closure", format!("{app}\n"));
    command.current_dir(store.lab.root()).stdin(std::fs::File::open(list).expect("the list"));
    command.args(["--isolated", "--root", "r", "--policy", "nix", "--nix-closure", "-"]);
    let report = Report::of(&mut command);
    assert_eq!(report.status, 1);
    let found: Vec<&str> =
        report.of_rule("outside-closure").map(|finding| text(&finding["library"])).collect();
    assert_eq!(found, [&*format!("/lib64/{LOADER}"), "libc.so.6", "libz.so.1"]);
}
