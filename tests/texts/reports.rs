//! Reports for people in twelve situations, at 80 and 160 columns, must equal
//! `tests/texts/reports/*.txt`. `UPDATE=1 cargo test --test texts reports::` writes the files
//! again; review them.
//!
//! The files are made byte by byte inside a sysroot, so that no report depends on this machine.
//! Each report is rendered from its JSON, because renderers may use only that.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod kit;
mod situations;
use crate::support::tiny;

use kit::{rendered, rendered_of, widest};
use linkaudit::catalogue::Level;
use linkaudit::report::model::{Blocker, BlockerKind, LayerFile, Layers, PlatformResult};
use linkaudit::report::{Paths, Report, Style};
use situations::{SITUATIONS, developer, five_thousand, jdk, one_file, rocm, usr};
use std::path::{Path, PathBuf};

/// The style of a report on a terminal of this width.
fn style(width: usize) -> Style {
    Style {
        color: false,
        verbose: false,
        quiet: false,
        next_step: true,
        warnings_fail: false,
        stale_fails: false,
        gone_fails: false,
        width: Some(width),
    }
}

fn file(name: &str, width: usize) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/texts/reports/{name}.{width}.txt"))
}

#[test]
fn twelve_situations() {
    let mut wrong = Vec::new();
    for (name, build) in SITUATIONS {
        let situation = build();
        let report = situation.report();
        for width in [80, 160] {
            let text = rendered(&report, "human", style(width));
            let path = file(name, width);
            if std::env::var_os("UPDATE").is_some() {
                std::fs::write(&path, &text).expect("the report is written");
            }
            if std::fs::read_to_string(&path).ok().as_deref() != Some(&text) {
                wrong.push(format!("== {name} at {width} columns\n{text}"));
            }
        }
    }
    println!("{} situations at 2 widths, {} differences", SITUATIONS.len(), wrong.len());
    assert!(wrong.is_empty(), "UPDATE=1 writes them\n{}", wrong.join("\n"));
}

/// Lines are as long as the terminal unless a name or a command is longer.
#[test]
fn only_names_and_commands_are_longer_than_a_line() {
    for (name, build) in SITUATIONS {
        let report = build().report();
        for width in [80, 160] {
            let text = rendered(&report, "human", style(width));
            for line in text.lines().filter(|line| line.chars().count() > width) {
                let is_command = ["linkaudit ", "ln -s "]
                    .iter()
                    .any(|command| line.trim_start().starts_with(command));
                let words = line.split_whitespace().count();
                assert!(is_command || words <= 2 || line.contains('['), "{name}: {line}");
            }
        }
    }
}

#[test]
fn nothing_is_cut() {
    for (name, build) in SITUATIONS {
        let report = build().report();
        let all = Style { verbose: true, ..style(80) };
        let text = rendered(&report, "human", all).replace("\n             ", " ");
        for finding in &report.findings {
            let symbol = finding.symbol.as_deref().map(String::from_utf8_lossy);
            let library = finding.library.as_deref().map(String::from_utf8_lossy);
            for key in symbol.iter().chain(&library) {
                assert!(text.contains(&**key), "{name}: {key} is not in\n{text}");
            }
        }
        for evidence in report.findings.iter().flat_map(|finding| &finding.evidence) {
            let Some(path) = evidence.path.as_deref() else { continue };
            let path = path.to_string_lossy();
            let prefix = report.findings[0].file.prefix.as_deref();
            let short = prefix.and_then(|prefix| path.strip_prefix(prefix.to_str()?));
            let short = short.map(|path| path.trim_start_matches('/'));
            assert!(text.contains(short.unwrap_or(&path)), "{name}: {path} is not in\n{text}");
        }
    }
}

/// The line about a platform names files, so it is wrapped.
#[test]
fn a_platform_is_wrapped() {
    let mut report = one_file().report();
    let blocker = |number: usize| Blocker {
        kind: BlockerKind::Version,
        name: format!("GLIBC_2.{number}"),
        library: Some("libc.so.6".to_owned()),
        files: 2,
        path: format!("lib/python3/site-packages/some/module{number}.so"),
    };
    report.platform = vec![PlatformResult {
        arch: "x86_64".to_owned(),
        satisfies: Some("manylinux_2_28".to_owned()),
        next: Some("manylinux_2_24".to_owned()),
        blocked_by: (25..28).map(blocker).collect(),
    }];
    let text = rendered(&report, "human", style(80));
    let lines: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with("platform: ")).take(3).collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(lines[1..].iter().all(|line| line.starts_with("    ")), "{text}");
}

/// Commands act on the files of a sysroot, or of a stage, and not on this machine's. All other text
/// shows paths of the audited system.
#[test]
fn commands_have_paths_of_this_machine() {
    let verbose = Style { verbose: true, ..style(100) };
    let paths = Paths { sysroot: Some("/srv/my root".into()), ..Paths::default() };
    let mut report = developer().report();
    let text = rendered_of(&report, "human", verbose, &paths);
    let file = "/home/dev/draw/build/bin/draw";
    let root = format!("'/srv/my root{file}'");
    let place = "'/srv/my root/home/dev/draw/build' --root '/srv/my root'";
    assert!(text.contains(&format!("linkaudit fix {place} --emit patchelf\n")), "{text}");
    assert!(text.contains(&format!("readelf -d {root} | grep NEEDED\n")), "{text}");
    assert!(text.contains("in /home/dev/draw/build\n"), "{text}");
    let list = rendered_of(&rocm().report(), "human", verbose, &paths);
    assert!(list.contains("/libMIOpen.so --root '/srv/my root' --lib-path "), "{list}");
    // A staged file has its path in the staging directory, a file of the system the one there.
    report.layers = Some(Layers::default());
    let staged = rendered(&report, "human", verbose);
    assert!(staged.contains("RUNPATH of bin/draw, in the staging directory; for a"), "{staged}");
    assert!(staged.contains("linkaudit fix --staged DIR --emit patchelf\n"), "{staged}");
    assert!(staged.contains(&format!("readelf -d {} | grep NEEDED\n", &file[1..])), "{staged}");
    let system = Layers { sysroot: vec![LayerFile(Path::new(file).into())], ..Layers::default() };
    report.layers = Some(system);
    let text = rendered_of(&report, "human", verbose, &paths);
    assert!(text.contains(&format!("readelf -d {root} | grep NEEDED\n")), "{text}");
    let again = "linkaudit fix --root '/srv/my root' --staged DIR --emit patchelf\n";
    assert!(text.contains(again), "{text}");
    // The words that were typed come first.
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let typed_options = words(&["--root r", "--cpu baseline"]);
    let paths = Paths { typed_options, typed_paths: words(&["r/usr", "/opt"]), ..paths };
    let text = rendered_of(&developer().report(), "human", verbose, &paths);
    let again = "linkaudit fix r/usr /opt --root r --cpu baseline --emit patchelf\n";
    assert!(text.contains(again), "{text}");
}

/// The list of causes names its order: a small error precedes a large warning.
#[test]
fn causes_are_listed_by_level_and_size() {
    let mut report = five_thousand().report();
    for finding in report.findings.iter_mut().filter(|f| &*f.rule == "undefined-symbol") {
        finding.level = Level::Warning;
    }
    for cause in report.causes.iter_mut().filter(|cause| &*cause.rule == "undefined-symbol") {
        cause.level = Level::Warning;
    }
    let text = rendered(&report, "human", style(100));
    let mut list = text.lines().skip_while(|line| *line != "causes, by level and size:").skip(1);
    let mut starts = |start: &str| list.next().is_some_and(|line| line.starts_with(start));
    assert!(starts("  1. error[missing-library]"), "{text}");
    assert!(starts("  2. warning[undefined-symbol] collectd:"), "{text}");
}

/// The last lines have the list of causes, the totals and the next step.
#[test]
fn the_end_is_enough() {
    for build in [usr, five_thousand] {
        let report = build().report();
        let text = rendered(&report, "human", style(100));
        let end: Vec<&str> = text.lines().rev().take(20).collect();
        let has = |part: &str| end.iter().any(|line| line.contains(part));
        assert!(has("causes, by level and size:") && has("  1. "), "{text}");
        assert!(has(" findings ("), "{text}");
        assert!(end[0].starts_with("next: linkaudit explain "), "{text}");
        let isolated = Style { next_step: false, ..style(100) };
        assert!(!rendered(&report, "human", isolated).contains("next:"));
    }
}

#[test]
fn sixty_lines_are_enough() {
    for build in [usr, five_thousand, jdk] {
        let text = rendered(&build().report(), "human", style(100));
        let lines = text.lines().count();
        assert!(lines <= 60, "{lines} lines:\n{text}");
    }
}

#[test]
fn quiet_is_the_list_and_the_totals() {
    let report = usr().report();
    let quiet = rendered(&report, "human", Style { quiet: true, ..style(100) });
    assert!(quiet.starts_with("causes, by level and size:"), "{quiet}");
    assert!(!quiet.contains("tried") && !quiet.contains("next:"), "{quiet}");
    let numbered = quiet.lines().filter(|line| line.trim_start().starts_with(char::is_numeric));
    assert!(numbered.count() >= report.causes.len(), "{quiet}");
}

/// The line about causes without an entry names `-q` only for errors: `-q` does not list the
/// others.
#[test]
fn the_titles_of_quiet_are_those_of_errors() {
    let mut report = five_thousand().report();
    // Each cause then has its own entry.
    report.groups.clear();
    let hint = |report: &Report| {
        let text = rendered(report, "human", style(100));
        let line = text.lines().find(|line| line.contains(" more cause")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{text}"))
    };
    assert!(hint(&report).ends_with(" (-q: titles of errors, -v: all details)"));
    for finding in &mut report.findings {
        finding.level = Level::Warning;
    }
    for cause in &mut report.causes {
        cause.level = Level::Warning;
    }
    assert!(hint(&report).ends_with(" (-v: all details)"));
    let quiet = rendered(&report, "human", Style { quiet: true, ..style(100) });
    assert!(!quiet.contains("warning["), "{quiet}");
    let strict = rendered(&report, "human", Style { warnings_fail: true, ..style(100) });
    assert!(strict.contains(" (-q: titles, -v: all details)"), "{strict}");
}

/// A row for each entry that `human` shows.
#[test]
fn a_row_for_each_cause() {
    for build in [jdk, rocm, one_file, five_thousand] {
        let report = build().report();
        let table = rendered(&report, "table", style(100));
        let human = rendered(&report, "human", style(100));
        let rows = table.lines().filter(|line| line.trim_start().starts_with("error ")).count();
        let entries = human.lines().filter(|line| line.starts_with("error[")).count();
        assert_eq!(rows, entries, "{table}");
        assert!(widest(&table) <= 100, "{table}");
    }
}

#[test]
fn groups_hold_all_of_their_causes() {
    let report = five_thousand().report();
    for group in &report.groups {
        let members = report.causes.iter().filter(|cause| cause.group.as_ref() == Some(&group.id));
        let (causes, findings) =
            members.fold((0, 0), |(n, findings), cause| (n + 1, findings + cause.findings));
        assert_eq!((causes, findings), (group.causes, group.findings), "{}", group.id);
    }
    assert!(!report.groups.is_empty());
}
