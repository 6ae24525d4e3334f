//! `tree`: every file and every need once, how each was found, its problems, and the exit status.

use super::bare::Bare;
use super::kit::{CALLS_FOO, FOO, at, has_m32, run, text};
use crate::support::{self, Lab};
use serde_json::Value;
use std::time::{Duration, Instant};

const OLD: &str = "-Wl,--disable-new-dtags";
const KEEP: &str = "-Wl,--no-as-needed";

pub(crate) fn tree(lab: &Lab, args: &[&str]) -> Value {
    let run = run(lab, &[&["tree", "--format", "json"], args].concat());
    assert_eq!(run.err, "");
    serde_json::from_str(&run.out).expect("JSON")
}

/// `from name how to [rpath of] [under root]` of every edge but those to libc and the loader.
fn edges(lab: &Lab, tree: &Value) -> Vec<String> {
    let here = at(lab, "");
    let short = |value: &Value| match value.as_str() {
        Some(path) => path.strip_prefix(&here).unwrap_or(path).to_owned(),
        None => "-".to_owned(),
    };
    let list = tree["edges"].as_array().expect("edges");
    let own = list.iter().filter(|edge| text(&edge["from"]).starts_with(&here));
    own.filter(|edge| edge["name"] != "libc.so.6")
        .map(|edge| {
            let (from, to) = (short(&edge["from"]), short(&edge["to"]));
            let mut line = format!("{from} {} {} {to}", text(&edge["name"]), text(&edge["how"]));
            for (word, key) in [("of", "rpath_of"), ("under", "root")] {
                if !edge[key].is_null() {
                    line = format!("{line} {word} {}", short(&edge[key]));
                }
            }
            line
        })
        .collect()
}

/// `bin/app` has a DT_RPATH that its library `libmid.so` inherits; `bin/other` has a DT_RUNPATH.
fn two_programs() -> Lab {
    let lab = Lab::new();
    lab.so("p/lib/m/libfoo.so", FOO, &[]);
    let flags = [KEEP, "-nostdlib", "-Lp/lib/m", "-lfoo"];
    lab.so("p/lib/libmid.so", "int foo(void); int mid(void) { return foo(); }", &flags);
    let source = "int mid(void); int main(void) { return mid(); }";
    let rpath = "-Wl,-rpath,$ORIGIN/../lib:$ORIGIN/../lib/m";
    lab.exe("p/bin/app", source, &[KEEP, "-Lp/lib", "-lmid", OLD, rpath]);
    let runpath = "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib";
    lab.exe("p/bin/other", source, &[KEEP, "-Lp/lib", "-lmid", runpath]);
    lab
}

#[test]
fn how_each_library_was_found() {
    let lab = two_programs();
    let tree = tree(&lab, &["p"]);
    let expected = [
        "p/bin/app libmid.so rpath p/lib/libmid.so of p/bin/app",
        "p/bin/other libmid.so runpath p/lib/libmid.so",
        "p/lib/libmid.so libfoo.so rpath p/lib/m/libfoo.so of p/bin/app",
        "p/lib/libmid.so libfoo.so missing - under p/bin/other",
    ];
    assert_eq!(edges(&lab, &tree), expected);
    // Only a need that finds a file loads one.
    let of_foo = tree["edges"].as_array().expect("edges").iter();
    let of_foo = of_foo.filter(|edge| edge["name"] == "libfoo.so");
    let loads: Vec<_> = of_foo.map(|edge| (edge["to"].is_null(), &edge["loads"])).collect();
    assert_eq!(loads, [(false, &Value::Bool(true)), (true, &Value::Bool(false))]);
    let nodes: Vec<&str> =
        tree["nodes"].as_array().expect("nodes").iter().map(|n| text(&n["path"])).collect();
    assert!(nodes.is_sorted() && nodes.contains(&&*at(&lab, "p/lib/libmid.so")), "{nodes:?}");
}

#[test]
fn the_next_command_repeats_the_options() {
    let lab = two_programs();
    let cases: [&[&str]; 5] = [
        &["--root", ".", "/p"],
        &["--staged", "p"],
        &["--loader", "glibc", "--cpu", "baseline", "p"],
        &["--cwd", "/usr", "--ld-library-path", "/none:/x", "--ld-preload", "/none.so", "p"],
        &["--no-inferred-hosts", "p"],
    ];
    for typed in cases {
        let shown = run(&lab, &[&["tree"], typed].concat()).out.replace(&at(&lab, ""), "");
        let next = shown.lines().last().and_then(|line| line.strip_prefix("next: linkaudit "));
        let words: Vec<&str> = next.unwrap_or_default().split(' ').collect();
        assert!(words.ends_with(typed), "{typed:?}: {shown}");
        assert_ne!(run(&lab, &words).status, 2, "{words:?}");
    }
}

#[test]
fn the_page_for_people() {
    let lab = two_programs();
    let shown = run(&lab, &["tree", "p"]);
    assert_eq!((shown.status, shown.err.as_str()), (1, ""));
    // The name of the laboratory decides where a line wraps.
    let unwrapped = |out: &str| {
        let text = out.replace(&at(&lab, ""), "").replace("\n    under", " under");
        text.replace("under\n    ", "under ")
    };
    let text = unwrapped(&shown.out);
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("libc.so.6")).collect();
    let expected = [
        "p/bin/app  interpreter /lib64/ld-linux-x86-64.so.2",
        "   ├─ libmid.so     rpath    p/bin/../lib/libmid.so",
        "   │  └─ libfoo.so  rpath    p/bin/../lib/m/libfoo.so  by RPATH of p/bin/app",
        "      └─ loaded: ld-linux-x86-64.so.2",
        "",
        "p/bin/other  interpreter /lib64/ld-linux-x86-64.so.2",
        "   ├─ libmid.so     runpath  p/bin/../lib/libmid.so  see above",
        "   │  └─ libfoo.so  missing  NOT FOUND",
        "",
        "missing libfoo.so  needed by p/lib/libmid.so under p/bin/other",
        "1 library not found: 6 files, 6 needs, 2 entry points",
        "next: linkaudit why libfoo.so p",
    ];
    assert_eq!(lines, expected, "{text}");
    let verbose = run(&lab, &["tree", "p", "-v"]).out.replace(&at(&lab, ""), "");
    assert!(
        verbose.contains("tried p/bin/../lib/libfoo.so (RPATH): no such file or directory"),
        "{verbose}"
    );
    let quiet = unwrapped(&run(&lab, &["tree", "p", "-q"]).out);
    assert!(quiet.starts_with("missing libfoo.so") && quiet.lines().count() == 3, "{quiet}");
    assert!(!shown.out.contains('\x1b'));
    let coloured = run(&lab, &["tree", "p", "--color", "always"]).out;
    assert!(coloured.contains("\x1b[1;31mNOT FOUND\x1b[0m"), "{coloured}");
}

#[test]
fn exit_status() {
    let lab = two_programs();
    let status = |args: &[&str]| run(&lab, &[&["tree"], args].concat()).status;
    assert_eq!(status(&["p/bin/app"]), 0);
    assert_eq!(status(&["p/bin/other"]), 1);
    assert_eq!(status(&["p", "--fail-on", "never"]), 0);
    assert_eq!(status(&["p", "-A", "missing-library"]), 0);
    assert_eq!(status(&["nosuch"]), 2);
    assert_eq!(status(&[]), 2);
    lab.mkdir("empty");
    assert_eq!(status(&["empty"]), 0);
    assert_eq!(status(&["empty", "--require-elf"]), 2);
    // `tree` does not report undefined symbols.
    lab.so("q/libbroken.so", super::kit::BROKEN, &[]);
    assert_eq!((status(&["q"]), run(&lab, &["q"]).status), (0, 1));
    // Undecided: a loader with unknown rules.
    lab.exe("r/app", "int main(void) { return 0; }", &["-Wl,--dynamic-linker,/lib/ld-nobody.so.1"]);
    lab.mkdir("s");
    super::kit::fifo(&lab, "s/pipe");
    assert_eq!(status(&["s", "p/bin/app"]), run(&lab, &["s", "p/bin/app"]).status);
    assert_eq!(status(&["r"]), 1, "its interpreter is missing");
    for format in ["table", "ldd", "nosuch", ""] {
        run(&lab, &["tree", "p", "--format", format])
            .refused(&["unknown output", "human, json, dot"]);
    }
    run(&lab, &["tree", "p", "-o", "ldd=x"])
        .refused(&["unknown output `ldd` of `tree`"])
        .in_style();
}

#[test]
fn options_of_check_work() {
    let lab = two_programs();
    lab.write("list", "p/bin/app\np/bin/other\n");
    let listed = tree(&lab, &["--files-from", "list"]);
    assert_eq!(edges(&lab, &listed), edges(&lab, &tree(&lab, &["p"])));
    let whole = tree(&lab, &["p"]).to_string();
    for options in [&["-q"][..], &["-v"], &["-j1"], &["-j7"], &["--color", "always"]] {
        assert_eq!(tree(&lab, &[options, &["p"]].concat()).to_string(), whole, "{options:?}");
    }
    // As ldd would, every file is a root.
    let roots = |tree: &Value| tree["roots"].as_array().expect("roots").len();
    assert_eq!((roots(&listed), roots(&tree(&lab, &["--as-ldd", "p"]))), (2, 4));
    let both = run(&lab, &["tree", "p", "-o", "json=j", "-o", "dot=d"]);
    assert_eq!(both.status, 1);
    let json = std::fs::read_to_string(lab.path("j")).expect("the file");
    assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON").to_string(), whole);
    assert_eq!(
        std::fs::read_to_string(lab.path("d")).expect("dot"),
        run(&lab, &["tree", "p", "--format", "dot"]).out
    );
}

#[test]
fn filters_auxiliaries_and_a_loader_that_stops() {
    let lab = Lab::new();
    lab.so("p/libreal.so", FOO, &["-Wl,-soname,libreal.so"]);
    let here = "-Wl,-rpath,$ORIGIN";
    lab.so("p/libfilter.so", "int foo(void);", &["-nostdlib", "-Wl,-F,libreal.so", here]);
    lab.so("p/libaux.so", "int foo(void);", &["-nostdlib", "-Wl,-f,libnobody.so", here]);
    assert_eq!(
        edges(&lab, &tree(&lab, &["p/libfilter.so"])),
        ["p/libfilter.so libreal.so runpath p/libreal.so"]
    );
    // An auxiliary object may be missing.
    let aux = run(&lab, &["tree", "p/libaux.so"]);
    assert_eq!(aux.status, 0, "{}", aux.out);
    assert!(aux.out.contains("not found, optional"), "{}", aux.out);
    lab.write("p/libreal.so", format!("GROUP ( libother.so ) /* {} */", "-".repeat(64)));
    let stops = run(&lab, &["tree", "p/libfilter.so"]);
    assert_eq!(stops.status, 1, "{}", stops.out);
    assert!(
        stops.out.contains("THE LOADER STOPS at") && stops.out.contains("invalid ELF header"),
        "{}",
        stops.out
    );
    let stopped = &tree(&lab, &["p/libfilter.so"])["roots"][0]["stopped"];
    assert_eq!(stopped["reason"], "invalid ELF header", "{stopped}");
}

#[test]
fn a_library_of_another_class_is_tried_and_missing() {
    let lab = Lab::new();
    if !has_m32(&lab) {
        return support::skip("another_class", "the compiler makes no 32-bit objects");
    }
    lab.so("p/libfoo.so", FOO, &[]);
    lab.exe("p/app", CALLS_FOO, &[KEEP, "-Lp", "-lfoo", "-Wl,-rpath,$ORIGIN"]);
    lab.cc("p/libfoo.so", FOO, &["-m32", "-nostdlib", "-shared", "-fPIC"], &[]);
    let text = run(&lab, &["tree", "p/app", "-v"]).out;
    assert!(text.contains("(RUNPATH): another ELF class"), "{text}");
}

/// Runs `tree` in all formats; returns the sizes of the outputs.
fn sizes(lab: &Lab, args: &[&str], most: Duration) -> [usize; 3] {
    ["human", "json", "dot"].map(|format| {
        let start = Instant::now();
        let run = run(lab, &[&["tree", "--format", format], args].concat());
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{args:?}");
        assert!(start.elapsed() < most, "{args:?} {format}: {:?}", start.elapsed());
        run.out.len()
    })
}

#[test]
fn a_diamond_of_many_paths_is_printed_once() {
    let lab = Lab::new();
    let layers = 40;
    for layer in 0..layers {
        for side in ["a", "b"] {
            let next = |side: &str| format!("{side}{}.so", layer + 1);
            let needs = if layer + 1 < layers { vec![next("a"), next("b")] } else { Vec::new() };
            Bare::new(&format!("{side}{layer}.so"), &needs).runpath("$ORIGIN").write(&lab, "p");
        }
    }
    let size = sizes(&lab, &["p"], Duration::from_secs(5));
    assert!(size.iter().all(|size| *size < 60_000), "{size:?}");
    let tree = tree(&lab, &["p"]);
    let count = |key: &str| tree[key].as_array().expect("a list").len();
    // The two of the first layer are roots.
    assert_eq!((count("roots"), count("nodes"), count("edges")), (2, 80, 4 * 39));
    let text = run(&lab, &["tree", "p"]).out;
    assert!(text.contains("see below") && text.contains("continued") && text.contains("see above"));
    assert!(text.lines().count() < 2 * 80 + 40, "{}", text.lines().count());
}

#[test]
fn a_clique_is_printed_once() {
    let lab = Lab::new();
    let names: Vec<String> = (0..300).map(|i| format!("l{i}.so")).collect();
    for name in &names {
        let others: Vec<String> = names.iter().filter(|other| *other != name).cloned().collect();
        Bare::new(name, &others).runpath("$ORIGIN").write(&lab, "p");
    }
    let tree = tree(&lab, &["p/l0.so"]);
    assert_eq!(tree["edges"].as_array().expect("edges").len(), 300 * 299);
    let [human, ..] = sizes(&lab, &["p/l0.so"], Duration::from_secs(10));
    assert!(human < 300 * 299 * 14, "{human}");
}

#[test]
fn a_long_chain_is_printed_at_once() {
    let lab = Lab::new();
    let length = 5000;
    for i in 0..length {
        let next = (i + 1 < length).then(|| format!("l{}.so", i + 1));
        let library = Bare::new(&format!("l{i}.so"), next.as_slice());
        // The first one's DT_RPATH is inherited all the way.
        if i == 0 { library.rpath("$ORIGIN") } else { library }.write(&lab, "p");
    }
    let [human, json, dot] = sizes(&lab, &["p/l0.so"], Duration::from_secs(20));
    // As many lines as libraries, none of them wide.
    assert!(human < length * 250 && json < length * 500 && dot < length * 300);
    let text = run(&lab, &["tree", "p/l0.so"]).out;
    assert!(text.lines().all(|line| line.chars().count() < 200));
    assert_eq!(text.matches("by RPATH of").count(), length - 2);
}

#[test]
fn names_cannot_leave_a_string_of_graphviz() {
    let lab = Lab::new();
    let odd = ["a\"b.so", "a\\b.so", "a\\", "a\nb.so", "a&lt;b.so", "\\N\\G.so", "a]; x -> y [b"];
    let odd: Vec<String> = odd.iter().map(|name| (*name).to_owned()).collect();
    Bare::new("odd.so", &odd).write(&lab, "p");
    let text = run(&lab, &["tree", "p", "--format", "dot"]).out;
    if !support::has("dot") {
        return support::skip("graphviz", "there is no program `dot`");
    }
    std::fs::write(lab.path("p.dot"), text).expect("the file");
    // What graphviz draws: the text of every box.
    let output =
        support::clean("dot").args(["-Tsvg"]).arg(lab.path("p.dot")).output().expect("dot");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let svg = String::from_utf8(output.stdout).expect("UTF-8");
    let texts = svg.split("<text").skip(1).filter_map(|part| part.split_once('>'));
    let plain = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        text.replace("&#45;", "-").replace("&#160;", " ").replace("&amp;", "&")
    };
    let drawn: std::collections::BTreeSet<String> =
        texts.filter_map(|(_, rest)| Some(plain(rest.split_once("</text>")?.0))).collect();
    for name in &odd {
        let shown = linkaudit::text::show(name.as_bytes());
        assert!(drawn.contains(&shown), "{shown:?} is not among {drawn:?}");
    }
    println!("graphviz: {} names, all drawn as they are", odd.len());
}
