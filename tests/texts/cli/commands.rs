//! Commands, paths and usage errors: how arguments are read, and the single message about an error.
//! Every error is found before a file is audited or written.

use super::kit::{report, run, summary, three_trees};
use crate::support::{Lab, linkaudit};
use std::os::unix::ffi::OsStrExt as _;

#[test]
fn check_is_the_default_command() {
    let lab = three_trees();
    for tree in ["broken", "fine", "odd"] {
        let (with, without) = (run(&lab, &["check", tree]), run(&lab, &[tree]));
        assert_eq!((with.status, with.out), (without.status, without.out));
    }
}

#[test]
fn options_stand_before_and_after_the_command_and_the_path() {
    let lab = three_trees();
    let options = ["--format", "json", "-W", "symbol", "--fail-on", "warning"];
    let expected = run(&lab, &[&["broken"], &options[..]].concat());
    assert_eq!(expected.status, 1);
    let lines: [&[&[&str]]; 5] = [
        &[&options, &["broken"]],
        &[&options, &["check", "broken"]],
        &[&["check"], &options, &["broken"]],
        &[&["check", "broken"], &options],
        &[&options[..2], &["check"], &options[2..4], &["broken"], &options[4..]],
    ];
    for line in lines {
        let line = line.concat();
        let run = run(&lab, &line);
        assert_eq!((run.status, &run.out), (1, &expected.out), "{line:?}: {}", run.err);
    }
}

#[test]
fn a_directory_named_like_a_command() {
    let lab = Lab::new();
    lab.so("check/libfoo.so", super::kit::BROKEN, &[]);
    lab.so("explain/libfoo.so", super::kit::FOO, &[]);
    run(&lab, &["check"]).refused(&["nothing to audit"]).in_style();
    for path in ["./check", "check/", "check/libfoo.so"] {
        assert_eq!(summary(&report(&lab, &[path])), ["undefined-symbol libfoo.so"], "{path}");
    }
    assert_eq!(summary(&report(&lab, &["check", "check"])), ["undefined-symbol libfoo.so"]);
    assert_eq!(summary(&report(&lab, &["./explain"])), [""; 0]);
    assert_eq!(report(&lab, &["./check", "explain"])["totals"]["elf"], 2);
}

#[test]
fn no_path() {
    let lab = Lab::new();
    for args in [&[][..], &["check"], &["--format", "json"], &["-q", "check", "--facts"]] {
        run(&lab, args).refused(&["nothing to audit"]).in_style();
    }
}

#[test]
fn a_path_that_is_not_there() {
    let lab = three_trees();
    for args in [
        &["nosuch"][..],
        &["check", "nosuch"],
        &["fine", "nosuch"],
        &["nosuch", "fine"],
        &["fine", "--lib-path", "nosuch"],
        &["chekc", "fine", "nosuch"],
    ] {
        let refused = run(&lab, args);
        refused.refused(&["no such file or directory"]).in_style();
    }
    run(&lab, &["fine", "nosuch"]).refused(&["nosuch: no such file or directory"]);
    run(&lab, &["fine/libfine.so/x"]).refused(&["fine/libfine.so/x"]).in_style();
    lab.link("nowhere", "dangling");
    run(&lab, &["dangling"]).refused(&["dangling: no such file or directory"]).in_style();
}

#[test]
fn a_path_that_is_not_there_stops_all_outputs() {
    let lab = three_trees();
    run(&lab, &["broken", "nosuch", "-o", "json=report.json"]).refused(&["nosuch"]);
    run(&lab, &["broken", "-o", "json=report.json", "-o", "nosuch=x"]).refused(&["`nosuch`"]);
    run(&lab, &["broken", "-o", "json=report.json", "-A", "nosuch"]).refused(&["`nosuch`"]);
    assert!(!lab.path("report.json").exists());
    assert!(!lab.path("x").exists());
}

#[test]
fn the_name_of_a_missing_path_is_harmless() {
    let lab = Lab::new();
    let name = std::ffi::OsStr::from_bytes(b"no\x1b[31m\nsuch\xff\xe2\x80\xae");
    let output = linkaudit().current_dir(lab.root()).arg(name).output().expect("linkaudit runs");
    let run = super::kit::Run::new(&output);
    run.refused(&["no\\u{1b}[31m\\u{a}such\\xff\\u{202e}"]).in_style();
}

#[test]
fn unknown_names() {
    let lab = three_trees();
    let outputs = ["human", "table", "json", "ldd"];
    run(&lab, &["fine", "--format", "nosuch"]).refused(&["`nosuch`"]).in_style();
    run(&lab, &["fine", "--format", "nosuch"]).refused(&outputs);
    run(&lab, &["fine", "-o", "nosuch=x"]).refused(&["`nosuch`"]).refused(&outputs).in_style();
    run(&lab, &["fine", "--format", ""]).refused(&outputs).in_style();
    let near: [(&[&str], &str); 8] = [
        (&["fine", "--format", "JSON"], "json"),
        (&["fine", "-o", "jsn=x"], "json"),
        (&["fix", "fine", "--emit", "cmake-dep"], "cmake-deps"),
        (&["fix", "fine", "-o", "patchlf=x"], "patchelf"),
        (&["fine", "-A", "undefined-symbl"], "undefined-symbol"),
        (&["fine", "-D", "symbls"], "symbol"),
        (&["explain", "mising-library"], "missing-library"),
        (&["chek", "fine"], "check"),
    ];
    for (args, name) in near {
        run(&lab, args).refused(&[&format!("did you mean `{name}`?")]).in_style();
    }
    let first = "put the command first: linkaudit tree PATH";
    run(&lab, &["fine", "tree"]).refused(&["tree: no such file", first]).in_style();
    // A file may have the name of a command.
    for args in [["check", "check"], ["tree", "check"], ["check", "chek"]] {
        let err = run(&lab, &args).refused(&[args[1], "no such file"]).in_style().err.clone();
        assert!(!err.contains("help:"), "{err}");
    }
    for option in ["-A", "-W", "-D", "--allow", "--warn", "--deny"] {
        let refused = run(&lab, &["fine", option, "nosuch"]);
        refused.refused(&["`nosuch`", "unknown rule or group", "linkaudit explain"]).in_style();
    }
    run(&lab, &["explain", "nosuch"]).refused(&["`nosuch`", "linkaudit explain"]).in_style();
    // A group has rules, but no page.
    let group = run(&lab, &["explain", "symbol"]);
    assert!(group.status == 0 && group.out.contains(" undefined-symbol "), "{}", group.err);
    assert!(!group.out.contains("missing-library"), "{}", group.out);
}

/// `help COMMAND` suggests names as `policy COMMAND` does.
#[test]
fn help_suggests_a_command() {
    let lab = Lab::new();
    for (args, name) in [
        (&["help", "explian"][..], "explain"),
        (&["help", "policy", "shwo"], "show"),
        (&["policy", "shwo"], "show"),
    ] {
        let message = format!("unrecognized subcommand '{}'", args[args.len() - 1]);
        let help = format!("help: did you mean `{name}`?");
        run(&lab, args).refused(&[&message, &help]).in_style();
    }
    let unknown = run(&lab, &["help", "nosuch"]);
    assert!(!unknown.refused(&["unrecognized"]).in_style().err.contains("did you mean"));
    for (args, help) in [
        (&["help", "nosuch"][..], "linkaudit --help"),
        (&["help", "--nosuch"], "linkaudit --help"),
        (&["help", "policy", "nosuch"], "linkaudit policy --help"),
        (&["policy", "help", "nosuch"], "linkaudit policy --help"),
        (&["policy", "nosuch"], "linkaudit policy --help"),
    ] {
        run(&lab, args).refused(&[&format!("help: list the commands: {help}\n")]);
        let words: Vec<&str> = help.split(' ').skip(1).collect();
        assert_eq!(run(&lab, &words).status, 0, "{help}");
    }
}

#[test]
fn help_has_a_help() {
    let lab = Lab::new();
    let own = run(&lab, &["help", "help"]);
    for option in ["-h", "--help"] {
        let run = run(&lab, &["help", option]);
        assert_eq!((run.status, &run.out), (0, &own.out), "{option}");
    }
}

/// Suggestions of all errors use the same words, and one error has one help.
#[test]
fn suggestions_use_the_same_words() {
    let lab = three_trees();
    let f = "help: did you mean one of `--facts`, `--fail-on`, `--fail-on-gone`, `--fail-on-stale`, \
             `--files-from`, `--format`?\n";
    for (args, help) in [
        (&["fine", "-f", "json"][..], f),
        (&["check", "fine", "-l", "x"], "help: did you mean one of `--ld-library-path`, "),
        (&["archive", "--self", "fine", "-J"], "help: list the options: linkaudit archive --help"),
        (&["fine", "--color", "alway"], "help: did you mean `always`?\n"),
        (&["completions", "bsh"], "help: did you mean `bash`?\n"),
    ] {
        let refused = run(&lab, args);
        let text = &refused.refused(&["error: ", help]).err;
        assert_eq!(text.matches("help: ").count(), 1, "{text}");
    }
    run(&lab, &["fine", "--policy", "nosuch"]).refused(&["error: `nosuch` is neither", "\nhelp: "]);
    assert!(!run(&lab, &["fine", "--policy", "nosuch"]).err.contains('|'));
}

/// An error about the file of an option names the option.
#[test]
fn errors_name_the_option() {
    let lab = three_trees();
    for option in ["--prefix", "--lib-path", "--baseline", "--files-from", "--nix-closure"] {
        let message = format!("error: {option} nosuch: no such file or directory\n");
        run(&lab, &["fine", option, "nosuch"]).refused(&[&message]).in_style();
    }
    for option in ["--fail-on-stale", "--fail-on-gone"] {
        let message = format!("error: {option} needs a baseline\nhelp: add --baseline FILE\n");
        run(&lab, &["fine", option]).refused(&[&message]).in_style();
    }
}

#[test]
fn commands_without_exports_and_bindings_refuse_facts() {
    let lab = three_trees();
    let commands: [&[&str]; 6] = [
        &["tree", "fine"],
        &["why", "foo", "fine"],
        &["archive", "--self", "fine"],
        &["gpu", "fine"],
        &["fix", "fine"],
        &["diff", "fine", "fine"],
    ];
    for command in commands {
        let message = format!("`{}` writes no exports and bindings", command[0]);
        let help = "help: use linkaudit check --facts --format json";
        run(&lab, &[command, &["--facts"]].concat()).refused(&[&message, help]).in_style();
        let page = run(&lab, &[command[0], "--help"]);
        assert!(!page.out.lines().any(|line| line.trim() == "--facts"), "{}", page.out);
    }
}

/// Errors of the command line end with a help that fits.
#[test]
fn errors_of_the_command_line_help() {
    let lab = three_trees();
    lab.mkdir("empty");
    let cases: [(&[&str], &str); 12] = [
        (
            &["fine", "--under", "x"],
            "help: --under is an option of why: linkaudit why NAME PATH --under ENTRY\n",
        ),
        (
            &["fine", "--emit", "patchelf"],
            "help: --emit is an option of fix: linkaudit fix PATH --emit NAME\n",
        ),
        (&["fine", "--fail-o", "never"], "help: did you mean `--fail-on`?\n"),
        (
            &["archive", "--linker", "gnu", "--target-help"],
            "help: archive reads only the linker options that it lists: linkaudit archive --help\n",
        ),
        (&["fine", "--cpu", "hasswell"], "help: did you mean `haswell`?\n"),
        (&["-j", "0", "fine"], "'--jobs <N>': expected a positive number\n"),
        (&["-j", "x", "fine"], "'--jobs <N>': expected a positive number\n"),
        (&["archive", "none.a"], "error: none.a: no such file or directory\n"),
        (&["archive", "@none"], "error: @none: no such file or directory\n"),
        (
            &["demo", "fine"],
            "error: fine: already exists\nhelp: name a new directory: linkaudit demo DIR\n",
        ),
        (&["--root", "none", "fine"], "error: --root none: no such file or directory\n"),
        (&["fine", "-o", "json=none/x"], "error: cannot write none/x: no such file or directory\n"),
    ];
    for (args, part) in cases {
        let refused = run(&lab, args);
        assert!(refused.status == 2 && refused.err.contains(part), "{args:?}: {}", refused.err);
        assert!(!refused.err.contains("tip:") && !refused.err.contains("os error"));
    }
    run(&lab, &["why"]).refused(&["help: list the options: linkaudit why --help\n\nUsage: "]);
    for command in ["check", "tree", "fix"] {
        let empty = run(&lab, &[command, "empty"]);
        assert_eq!((empty.status, &*empty.out), (0, "no ELF files: 0 entries seen\n"), "{command}");
    }
    let nothing = run(&lab, &["fix", "fine", "--emit", "patchelf"]);
    assert_eq!((nothing.status, &*nothing.out), (0, ""), "{}", nothing.err);
    assert!(nothing.err.starts_with("patchelf: nothing to change\n"), "{}", nothing.err);
}

/// Options of all commands are refused where they would have no effect.
#[test]
fn options_without_effect_are_refused() {
    let lab = three_trees();
    let lib_path: &[&[&str]] = &[&["tree", "fine"], &["gpu", "fine"]];
    let relative: &[&[&str]] = &[
        &["tree", "fine"],
        &["gpu", "fine"],
        &["why", "foo", "fine"],
        &["archive", "--self", "fine"],
    ];
    for (option, commands) in [("--lib-path", lib_path), ("--relative-to", relative)] {
        for command in commands.iter().copied() {
            let run_ = run(&lab, &[command, &[option, "fine"]].concat());
            run_.refused(&[&format!("`{}`", command[0]), option]).in_style();
            let page = run(&lab, &[command[0], "--help"]);
            assert!(!page.out.contains(&format!(" {option} ")), "{}", page.out);
        }
    }
}

#[test]
fn unknown_options_and_values() {
    let lab = three_trees();
    for (args, part) in [
        (&["fine", "--nosuch"][..], "--nosuch"),
        (&["fine", "-x"], "-x"),
        (&["fine", "--fail-on", "nosuch"], "error, warning, never"),
        (&["fine", "--color", "nosuch"], "auto, always, never"),
        (&["fine", "--progress", "nosuch"], "auto, always, never"),
        (&["fine", "-j", "0"], "--jobs"),
        (&["fine", "-j", "many"], "--jobs"),
        (&["fine", "--format"], "--format"),
        (&["fine", "-q", "-v"], "--verbose"),
        (&["fine", "-0"], "--files-from"),
        (&["explain", "missing-library", "fine"], "fine"),
        // `archive` is a path here: only the command `archive` ignores options of linkers.
        (&["check", "archive", "--trace"], "--trace"),
    ] {
        run(&lab, args).refused(&["error: ", part, "--help"]);
    }
}

#[test]
fn a_path_may_begin_with_a_dash() {
    let lab = Lab::new();
    lab.so("-x/libfoo.so", super::kit::BROKEN, &[]);
    assert_eq!(summary(&report(&lab, &["./-x"])), ["undefined-symbol libfoo.so"]);
    let run = run(&lab, &["--format", "json", "--", "-x"]);
    assert_eq!(run.status, 1, "{}", run.err);
}

#[test]
fn a_command_refuses_an_output_it_has_not() {
    let lab = Lab::new();
    run(&lab, &["explain", "--format", "nosuch"]).refused(&["`nosuch`"]);
    run(&lab, &["explain", "missing-library", "-o", "nosuch=x"]).refused(&["`nosuch`"]);
}
