//! `--help`, `--version`, `explain`: they list exactly what works.

use super::kit::{run, three_trees};
use crate::support::{Lab, clean};
use linkaudit::rules::{HEADINGS, RULES};
use std::collections::BTreeMap;

/// A value for each option, so that every option of the help is tried.
const OPTIONS: &[(&str, &[&str])] = &[
    ("as-ldd", &[]),
    ("lib-path", &["fine"]),
    ("host", &["/bin/sh"]),
    ("policy", &["default"]),
    ("isolated", &[]),
    ("sandbox", &["off"]),
    ("no-inferred-hosts", &[]),
    ("allow", &["symbol"]),
    ("warn", &["symbol"]),
    ("deny", &["symbol"]),
    ("fail-on", &["never"]),
    ("baseline", &["known.txt"]),
    ("write-baseline", &["new.txt"]),
    ("fail-on-gone", &["--baseline", "known.txt"]),
    ("fail-on-stale", &["--baseline", "known.txt"]),
    ("format", &["json"]),
    ("output", &["json=report.json"]),
    ("files-from", &["list"]),
    ("null", &["--files-from", "list"]),
    ("loader", &["glibc"]),
    ("root", &["/"]),
    ("cpu", &["x86-64-v3"]),
    ("cwd", &["/"]),
    ("prefix", &["."]),
    ("staged", &["fine"]),
    ("nix-closure", &["closure"]),
    ("replaces", &["list", "--staged", "fine"]),
    ("ld-library-path", &["/none"]),
    ("ld-preload", &["libc.so.6"]),
    ("require-elf", &[]),
    ("cross-check", &[]),
    ("facts", &[]),
    ("relative-to", &["."]),
    ("jobs", &["1"]),
    ("quiet", &[]),
    ("verbose", &[]),
    ("color", &["never"]),
    ("progress", &["never"]),
    ("timings", &[]),
];

/// Long options of a help text, with their short names.
fn listed(help: &str) -> BTreeMap<String, Option<String>> {
    let mut out = BTreeMap::new();
    for line in help.lines().map(str::trim_start).filter(|line| line.starts_with('-')) {
        let mut short = None;
        for word in
            line.split([' ', ',']).take_while(|word| word.is_empty() || word.starts_with('-'))
        {
            if let Some(long) = word.strip_prefix("--") {
                out.insert(long.to_owned(), short.take());
            } else if word.starts_with('-') {
                short = Some(word.to_owned());
            }
        }
    }
    out
}

#[test]
fn every_option_of_the_help_works() {
    let lab = three_trees();
    // Good for both kinds of lists.
    lab.write("list", "fine");
    lab.write("known.txt", "# nothing is known\n");
    let item = lab.path("0123456789abcdfghijklmnpqrsvwxyz-fine");
    std::fs::create_dir_all(&item).expect("a store item");
    lab.write("closure", format!("{}\n", item.display()));
    let help = run(&lab, &["check", "--help"]);
    assert_eq!((help.status, help.err.as_str()), (0, ""));
    let mut listed = listed(&help.out);
    listed.remove("help");
    let tried: BTreeMap<&str, &[&str]> = OPTIONS.iter().copied().collect();
    for (long, short) in &listed {
        let Some(value) = tried.get(long.as_str()) else {
            panic!("--{long}: say in this test how it is tried out");
        };
        for name in short.iter().cloned().chain([format!("--{long}")]) {
            let args = [&["fine", name.as_str()], *value].concat();
            let run = run(&lab, &args);
            assert_eq!(run.status, 0, "{args:?}: {}", run.err);
        }
    }
    for long in tried.keys() {
        assert!(listed.contains_key(*long), "--{long} is not in the help any more");
    }
}

#[test]
fn every_command_of_the_help_works() {
    let lab = Lab::new();
    let help = run(&lab, &["--help"]).out;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        // Long descriptions go on in further lines.
        .filter(|line| line.strip_prefix("  ").is_some_and(|rest| !rest.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        commands,
        [
            "check",
            "tree",
            "why",
            "archive",
            "gpu",
            "fix",
            "diff",
            "policy",
            "demo",
            "explain",
            "hook",
            "man",
            "completions",
            "help"
        ]
    );
    for command in commands {
        let page = run(&lab, &["help", command]);
        assert_eq!(page.status, 0, "{command}: {}", page.err);
        assert!(!page.out.is_empty());
    }
}

/// Commands that audit nothing show no options of audits, and those that audit show them all in
/// sections.
#[test]
fn commands_show_their_own_options() {
    let lab = Lab::new();
    let sections = ["Files to audit:", "Loader:", "Findings:", "Baseline:", "Output:", "Run:"];
    let shown = |command: &[&str]| {
        let help = run(&lab, &[command, &["--help"]].concat()).out;
        let own = sections.map(|section| help.lines().any(|line| line == section));
        (own, listed(&help))
    };
    assert_eq!(shown(&["check"]).0, [true; 6]);
    for command in ["tree", "why", "archive", "fix"] {
        let (own, options) = shown(&[command]);
        assert_eq!(own, [true, true, true, false, true, true], "{command}");
        assert!(options.contains_key("root") && !options.contains_key("facts"), "{command}");
        assert!(!options.contains_key("write-baseline"), "{command}");
    }
    // They read a baseline, and write none.
    for command in ["tree", "why", "archive", "gpu", "fix", "diff"] {
        let (own, options) = shown(&[command]);
        assert_eq!((own[3], options.contains_key("baseline")), (false, true), "{command}");
    }
    for command in [&["explain"][..], &["demo"], &["policy", "show"], &["man"], &["completions"]] {
        let (own, options) = shown(command);
        assert_eq!(own, [false, false, false, false, true, false], "{command:?}");
        assert!(options.len() <= 3, "{command:?}: {options:?}");
    }
}

#[test]
fn manual_pages_and_completions() {
    let lab = Lab::new();
    assert_eq!(run(&lab, &["man", "--install", "share/man"]).status, 0);
    let (mut pages, section) = (0, lab.path("share/man/man1"));
    for entry in std::fs::read_dir(&section).expect("the pages") {
        let page = entry.expect("a page").path();
        let made = clean("man").args(["--warnings", "-E", "UTF-8", "-l"]).arg(&page).output();
        let made = made.expect("man runs");
        let warnings = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success() && warnings.is_empty(), "{}: {warnings}", page.display());
        let text = String::from_utf8_lossy(&made.stdout).into_owned();
        let name = page.file_stem().and_then(|name| name.to_str()).expect("a name");
        assert!(text.contains("NAME") && text.contains(name), "{text}");
        let others = text.split_whitespace().filter_map(|word| word.strip_suffix("(1)"));
        for other in others.filter(|word| word.starts_with("linkaudit-")) {
            assert!(section.join(format!("{other}.1")).exists(), "{name} refers to {other}");
        }
        pages += 1;
    }
    assert_eq!(pages, 18);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&lab, &["completions", shell]);
        assert!(script.status == 0 && script.out.contains("why"), "{shell}");
    }
}

/// The words that the script for bash offers for the last of `words`.
fn offered(lab: &Lab, words: &[&str]) -> String {
    let [.., previous, last] = words else { panic!("{words:?}") };
    let line: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let ask = format!(
        ". ./script; COMP_WORDS=(linkaudit {}); COMP_CWORD={}; \
         _linkaudit linkaudit '{last}' '{previous}'; echo \"${{COMPREPLY[*]}}\"",
        line.join(" "),
        words.len()
    );
    let asked = clean("bash").current_dir(lab.root()).args(["-c", &ask]).output().expect("bash");
    String::from_utf8_lossy(&asked.stdout).trim().to_owned()
}

/// Scripts offer the options that the help of a command shows, with the names that they accept.
#[test]
fn completions_are_what_the_help_shows() {
    let lab = Lab::new();
    lab.write("script", run(&lab, &["completions", "bash"]).out);
    for (words, expected) in [
        (&["check", "--stag"][..], "--staged"),
        (&["check", "--no-reu"], ""),
        (&["tree", "--write-base"], ""),
        (&["tree", "--fact"], ""),
        (&["explain", "--roo"], ""),
        (&["check", "--format", "sar"], "sarif"),
        (&["tree", "--format", ""], "human json dot"),
        (&["why", "--format", ""], "human json"),
        (&["check", "-A", "undefined-"], "undefined-symbol"),
        (&["check", "--deny", "link-h"], "link-hygiene"),
        (&["check", "--fail-on", ""], "error warning never"),
        (&["check", "--cpu", "x86-64-v3"], "x86-64-v3"),
        (&["fix", "--emit", "patch"], "patchelf"),
        (&["explain", "missing-lib"], "missing-library"),
        (&["explain", "link-h"], "link-hygiene"),
        (&["check", "--policy", "manylinux_2_28"], "manylinux_2_28"),
        (&["policy", "show", "manylinux_2_28"], "manylinux_2_28"),
        (&["completions", "zs"], "zsh"),
    ] {
        assert_eq!(offered(&lab, words), expected, "{words:?}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&lab, &["completions", shell]).out;
        assert!(!script.contains("no-reuse"), "{shell}");
        assert!(script.contains("sarif") && script.contains("undefined-symbol"), "{shell}");
    }
}

/// Outputs by command, as the help lists them; `check` has none before its own.
fn outputs(help: &str) -> BTreeMap<String, Vec<String>> {
    let lines = help.lines().map(str::trim);
    let lines = lines.skip_while(|line| !line.starts_with("Output on stdout: "));
    let text = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let line = text.strip_prefix("Output on stdout: ");
    let names = |list: &str| list.split(", ").map(str::to_owned).collect();
    let parts = line.expect("the outputs").split("; ");
    parts
        .map(|part| match part.split_once(": ") {
            Some((command, list)) => (command.to_owned(), names(list)),
            None => ("check".to_owned(), names(part)),
        })
        .collect()
}

#[test]
fn every_output_of_the_help_works() {
    let lab = three_trees();
    lab.write("empty.a", "!<arch>\n");
    let outputs = outputs(&run(&lab, &["--help"]).out);
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let check: Vec<&str> = linkaudit::report::OUTPUTS.iter().map(|output| output.name).collect();
    let tree: Vec<&str> = linkaudit::views::tree::OUTPUTS.iter().map(|o| o.name).collect();
    let why: Vec<&str> = linkaudit::views::why::OUTPUTS.iter().map(|o| o.name).collect();
    let archive: Vec<&str> = linkaudit::views::archive::OUTPUTS.iter().map(|o| o.name).collect();
    let gpu: Vec<&str> = linkaudit::views::gpu::OUTPUTS.iter().map(|o| o.name).collect();
    let diff = ["human", "json", "table", "sarif", "junit", "github", "gitlab", "gcc", "markdown"];
    let known = [("check", check), ("tree", tree), ("why", why), ("archive", archive)];
    let known = known.into_iter().chain([("gpu", gpu), ("diff", diff.to_vec())]);
    let known = known.map(|(command, list)| (command.to_owned(), names(&list)));
    assert_eq!(outputs, known.collect::<BTreeMap<_, _>>());
    for (command, list) in outputs {
        for output in list {
            let args: &[&str] = match &*command {
                "why" => &["why", "foo", "fine"],
                "archive" => &["archive", "empty.a", "--all-members"],
                "diff" => &["diff", "fine", "fine"],
                command => &[command, "fine"],
            };
            let run = run(&lab, &[args, &["--format", &output]].concat());
            assert_eq!(run.status, 0, "{command} {output}: {}", run.err);
        }
    }
}

/// The help of a command lists its own outputs.
#[test]
fn a_command_lists_its_outputs() {
    let lab = Lab::new();
    let of = |command: &str| outputs(&run(&lab, &[command, "--help"]).out);
    let own = |list: &[&str]| {
        let list = list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        BTreeMap::from([("check".to_owned(), list)])
    };
    assert_eq!(of("tree"), own(&["human", "json", "dot"]));
    assert_eq!(of("why"), own(&["human", "json"]));
    assert_eq!(of("gpu"), own(&["human", "json"]));
    assert!(of("check")["check"].iter().any(|name| name == "sarif"));
}

#[test]
fn the_help_says_the_exit_status() {
    let lab = Lab::new();
    let help = run(&lab, &["--help"]).out;
    for part in ["Exit status: 0", "1 findings", "2 usage", "3 incomplete audit", "70"] {
        assert!(help.contains(part), "{part}");
    }
    let short = run(&lab, &["-h"]);
    assert_eq!(short.status, 0);
    assert!(short.out.lines().count() <= help.lines().count());
}

#[test]
fn the_version() {
    let lab = Lab::new();
    for option in ["--version", "-V"] {
        let run = run(&lab, &[option]);
        assert_eq!((run.status, run.err.as_str()), (0, ""));
        assert_eq!(run.out, format!("linkaudit {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn explain_one_rule() {
    let lab = Lab::new();
    for rule in RULES {
        let run = run(&lab, &["explain", rule.id.as_str()]);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", rule.id);
        let headings: Vec<&str> =
            run.out.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, HEADINGS, "{}", rule.id);
        assert!(run.out.contains(&format!("Group: {}", rule.group.name)), "{}", rule.id);
    }
}

#[test]
fn explain_all_rules() {
    let run = run(&Lab::new(), &["explain"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    for rule in RULES {
        let line =
            run.out.lines().find(|line| line.split_whitespace().next() == Some(rule.id.as_str()));
        let line = line.unwrap_or_else(|| panic!("{} is not listed", rule.id));
        assert!(line.contains(rule.group.name) && line.contains(rule.summary), "{line}");
    }
}

#[test]
fn a_report_ends_with_the_next_command_and_that_works() {
    let lab = three_trees();
    let text = run(&lab, &["broken"]).out;
    let next = text.lines().last().and_then(|line| line.strip_prefix("next: linkaudit "));
    let next: Vec<&str> = next.expect("the next command").split(' ').collect();
    assert_eq!(next, ["explain", "undefined-symbol"]);
    assert_eq!(run(&lab, &next).status, 0);
    assert!(!run(&lab, &["fine"]).out.contains("next:"));
}
