//! Broken policies and their exact messages. The cases are in `broken/*.txt`: a title behind `==`,
//! the policy, further files behind `-- file NAME`, and the messages behind `-- says`. `UPDATE=1
//! cargo test --test policies policy::` writes the messages again; review them.

use super::kit::{Memory, file};
use linkaudit::policy::load;
use linkaudit::rules::catalogue;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

const TOPICS: [&str; 7] = ["entries", "files", "keys", "names", "selectors", "toml", "types"];

/// Two platforms in auditwheel's format.
pub(crate) const PLATFORMS: &str = r#"[
  {"name": "small_1", "aliases": ["tiny"], "priority": 2,
   "symbol_versions": {"x86_64": {"GLIBC": ["2.2.5", "2.10", "2.9"], "CXXABI": ["1.3", "TM_1"],
                                  "LIBATOMIC": []},
                       "i686": {"GLIBC": ["2.0", "2.4"]}},
   "lib_whitelist": ["libc.so.6", "libm.so.6"],
   "blacklist": {"libc.so.6": ["__issignaling"]}},
  {"name": "musllinux_9_9", "aliases": [], "priority": 1,
   "symbol_versions": {"i686": {}}, "lib_whitelist": ["libc.so"], "blacklist": {}}
]
"#;

/// One broken policy.
struct Case {
    title: String,
    /// The policy `p.toml`, and further files.
    files: Vec<(String, String)>,
    /// The expected messages.
    says: String,
}

fn cases(topic: &str) -> Vec<Case> {
    let mut out: Vec<Case> = Vec::new();
    let mut says = false;
    for line in file(&format!("broken/{topic}.txt")).split_inclusive('\n') {
        if let Some(title) = line.strip_prefix("== ") {
            let files = vec![("p.toml".to_owned(), String::new())];
            out.push(Case { title: title.trim().to_owned(), files, says: String::new() });
            says = false;
            continue;
        }
        let case = out.last_mut().expect("a file begins with a title");
        if let Some(name) = line.strip_prefix("-- file ") {
            case.files.push((name.trim().to_owned(), String::new()));
        } else if line == "-- says\n" {
            says = true;
        } else if says {
            case.says.push_str(line);
        } else if let Some((_, text)) = case.files.last_mut() {
            text.push_str(line);
        }
    }
    out
}

impl Case {
    fn memory(&self) -> Memory {
        let always =
            Memory::default().with("bad.toml", b"schema = 1\n\xff\n").with("w.json", PLATFORMS);
        self.files.iter().fold(always, |memory, (name, text)| memory.with(name, text))
    }
}

fn write(topic: &str, cases: &[(Case, String)]) {
    let mut text = String::new();
    for (case, said) in cases {
        let _ = writeln!(text, "== {}", case.title);
        for (at, (name, body)) in case.files.iter().enumerate() {
            if at > 0 {
                let _ = writeln!(text, "-- file {name}");
            }
            text.push_str(body);
        }
        let _ = write!(text, "-- says\n{said}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/policies/policy/broken/{topic}.txt"));
    std::fs::write(path, text).expect("the cases are written");
}

#[test]
fn every_broken_policy_says_what_is_wrong_where_and_what_would_be_right() {
    let (mut all, mut mistakes, mut wrong) = (0, 0, Vec::new());
    for topic in TOPICS {
        let mut said = Vec::new();
        for case in cases(topic) {
            let result = load([OsStr::new("p.toml")], &case.memory(), catalogue());
            let found = result.map(|_| ()).expect_err(&case.title);
            let text = format!("{}\n", found.render(false));
            assert_eq!(text.matches("error: ").count(), found.count(), "{}", case.title);
            for part in text.split("error: ").skip(1) {
                placed(&case, part);
            }
            (all, mistakes) = (all + 1, mistakes + found.count());
            if text != case.says {
                wrong.push(format!("{topic}, {}:\n{text}instead of\n{}", case.title, case.says));
            }
            said.push((case, text));
        }
        if std::env::var_os("UPDATE").is_some() {
            write(topic, &said);
        }
    }
    println!(
        "{all} broken policies with {mistakes} mistakes, {} messages that differ",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(all >= 150, "only {all} cases");
}

/// Every error shows its line, with marks below it, and a help.
fn placed(case: &Case, part: &str) {
    let place = part.lines().find_map(|line| line.trim().strip_prefix("--> "));
    let place = place.unwrap_or_else(|| panic!("{}: no place in {part}", case.title));
    let mut numbers = place.rsplitn(3, ':');
    let mut number = || numbers.next().and_then(|n| n.parse::<usize>().ok()).expect("a number");
    let (column, line) = (number(), number());
    let name = numbers.next().expect("a file");
    let memory = case.memory();
    // A platform of a file stands behind its name.
    let name = name.split('#').next().expect("a name");
    let text = memory.0.get(Path::new(name)).unwrap_or_else(|| panic!("{}: {name}", case.title));
    let text = String::from_utf8(text.clone()).expect("text");
    let shown = text.trim_start_matches('\u{feff}').split('\n').nth(line - 1);
    let shown = shown.unwrap_or_else(|| panic!("{}: no line {line}", case.title));
    assert!(column <= shown.chars().count() + 1, "{}: no column {column}", case.title);
    assert!(part.lines().any(|l| l.trim_start().starts_with(&format!("{line} |"))), "{part}");
    let marks = part.lines().find(|l| l.contains(" ^"));
    assert!(marks.is_some_and(|l| l.contains("^ ")), "{}: no help in {part}", case.title);
}

#[test]
fn what_is_in_no_policy_is_said_without_a_place() {
    let memory = Memory::default().with("bad.toml", b"schema = 1\n\xff\n");
    let text = memory
        .load(&["none.toml", "rocn", "rocm-6.5", "manylinux_2_42", "bad.toml"])
        .expect_err("all are wrong");
    for part in [
        "cannot read policy none.toml: no such file",
        "use one of rocm-6.0, rocm-6.4, ",
        "use one of manylinux_2_5, ",
        "`rocn` is neither a built-in policy nor a file",
        "did you mean `rocm`?",
        "bad.toml is not UTF-8: line 2",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert!(!text.contains("-->"), "{text}");
}

#[test]
fn colours_are_there_only_where_they_are_wanted() {
    let memory = Memory::default().with("p.toml", "schema = 2\n");
    let mistakes = load([OsStr::new("p.toml")], &memory, catalogue()).expect_err("it is wrong");
    assert!(!mistakes.render(false).contains('\u{1b}'));
    assert!(mistakes.render(true).contains("\u{1b}["));
}

#[test]
fn a_file_of_another_kind_is_not_shown_line_by_line() {
    let text = "x\n".repeat(5000);
    let memory = Memory::default().with("p.toml", &text);
    let mistakes = load([OsStr::new("p.toml")], &memory, catalogue()).expect_err("it is wrong");
    let shown = mistakes.render(false);
    assert!(mistakes.count() >= 5000 && shown.lines().count() < 2000, "{}", shown.lines().count());
    assert!(shown.ends_with(" more are not shown\n"), "{}", &shown[shown.len() - 60..]);
}
