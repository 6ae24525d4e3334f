//! `table`: one row for each file and rule; a fixed width without a terminal.

use super::kit::{BROKEN, FOO, at, run, three_trees};
use crate::support::{Lab, clean, has, skip};

/// Columns of the widest line.
fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// A library with many undefined symbols, one of them with a long C++ name.
fn many(count: usize) -> Lab {
    let lab = Lab::new();
    let long = "_ZN4llvm14TargetRegistry12lookupTargetERKNSt7__cxx1112basic_stringIcSt11char_traits\
                IcESaIcEEERNS_6TripleERS6_";
    let calls: Vec<String> =
        (0..count).map(|i| format!("void gone{i}(void); gone{i}(); ")).collect();
    let source = format!("void {long}(void); void f(void) {{ {long}(); {} }}", calls.concat());
    lab.so("p/lib/some/deep/directory/of/a/package/libbroken.so", &source, &[]);
    lab.so("p/lib/libother.so", BROKEN, &["-Wl,--no-as-needed", "-nostdlib"]);
    lab
}

#[test]
fn a_row_for_each_file_and_rule() {
    let lab = many(2);
    let shown = run(&lab, &["p", "--format", "table"]);
    assert_eq!((shown.status, shown.err.as_str()), (1, ""));
    assert_eq!(shown.out.matches(" error ").count(), 2, "{}", shown.out);
    for part in
        ["gone0", "gone1", "llvm::TargetRegistry::lookupTarget", " level ", "lib/libother.so"]
    {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    // The end is that of `human`.
    let human = run(&lab, &["p"]).out;
    let end = |text: &str| text.lines().rev().take(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(end(&shown.out), end(&human));
    assert!(widest(&shown.out) <= 100, "{}", shown.out);
    assert!(!shown.out.contains('\x1b'));
}

#[test]
fn nothing_wrong_is_no_table() {
    let lab = three_trees();
    let shown = run(&lab, &["fine", "--format", "table"]);
    assert_eq!((shown.status, shown.out), (0, run(&lab, &["fine"]).out));
}

#[test]
fn quiet_and_verbose() {
    let lab = many(30);
    let shown = run(&lab, &["p", "--format", "table"]).out;
    assert!(shown.contains("… and 11 more (-v shows all)"), "{shown}");
    let verbose = run(&lab, &["p", "--format", "table", "-v"]).out;
    assert!(verbose.contains("gone29") && !verbose.contains("more (-v"), "{verbose}");
    let warnings = ["p", "--format", "table", "-W", "undefined-symbol"];
    assert!(run(&lab, &warnings).out.contains(" warning "));
    let quiet = run(&lab, &[&warnings[..], &["-q"]].concat()).out;
    assert!(!quiet.contains(" warning ") && quiet.contains("0 errors"), "{quiet}");
}

#[test]
fn verbose_names_every_file() {
    let lab = Lab::new();
    lab.so("elsewhere/libgone.so", FOO, &[]);
    let needs = ["-Wl,--no-as-needed", "-Lelsewhere", "-lgone"];
    for n in 0..8 {
        lab.so(&format!("p/d{n}/lib{n}.so"), FOO, &needs);
    }
    let shown = run(&lab, &["p", "--format", "table"]).out;
    assert!(shown.contains("1 file in") && !shown.contains("lib7.so"), "{shown}");
    assert!(shown.contains("… and 2 more (-v"), "{shown}");
    let verbose = run(&lab, &["p", "--format", "table", "-v"]).out;
    for n in 0..8 {
        assert!(verbose.contains(&format!("d{n}/lib{n}.so")), "{verbose}");
    }
    assert!(!verbose.contains("more (-v"), "{verbose}");
}

#[test]
fn colours_are_around_the_level_only() {
    let lab = many(1);
    let plain = run(&lab, &["p", "--format", "table"]).out;
    let coloured = run(&lab, &["p", "--format", "table", "--color", "always"]).out;
    assert!(coloured.contains("\x1b[1;31merror\x1b[0m"), "{coloured}");
    let mut without = coloured.replace("\x1b[0m", "");
    for code in ["1", "2", "1;31", "1;32", "1;33", "1;35"] {
        without = without.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(without, plain);
}

#[test]
fn several_prefixes_show_whole_paths() {
    let lab = three_trees();
    lab.so("second/libsecond.so", BROKEN, &[]);
    let shown = run(&lab, &["broken", "second", "--format", "table"]).out;
    // The third column of every line, put together again.
    let place = shown.lines().find_map(|line| line.find(" file ")).expect("the heading");
    let files = shown.lines().map(|line| line.chars().skip(place).collect::<String>());
    let files: String =
        files.filter_map(|line| line.trim_start().split(' ').next().map(str::to_owned)).collect();
    for name in ["broken/libbroken.so", "second/libsecond.so"] {
        assert!(files.contains(&at(&lab, name)), "{name}: {files}\n{shown}");
    }
    assert!(!shown.starts_with("in "), "{shown}");
    lab.so("broken/libfoo.so", FOO, &[]);
    assert!(run(&lab, &["broken", "--format", "table"]).out.starts_with("in "));
}

#[test]
fn the_width_of_a_terminal() {
    if !has("script") {
        return skip("the_width_of_a_terminal", "there is no program `script`");
    }
    let lab = many(3);
    let program = env!("CARGO_BIN_EXE_linkaudit");
    for width in [80, 160] {
        let line = format!("stty cols {width}; '{program}' p --format table --color never");
        let output = clean("script")
            .current_dir(lab.root())
            .args(["-q", "-e", "-c", &line, "typescript"])
            .output()
            .expect("script runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8").replace('\r', "");
        assert!(text.contains("undefined-symbol") && widest(&text) <= width, "{width}: {text}");
        assert!(width == 80 || widest(&text) > 80, "{text}");
    }
}
