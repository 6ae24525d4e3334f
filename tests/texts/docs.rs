//! Documentation that is generated from the program: the pages of `docs/rules` and the rule table
//! of the README come from the rules themselves. Console blocks show real output (`console`), and
//! the picture of the modules is drawn from their order (`architecture`). `UPDATE=1 cargo test
//! --test texts docs::` rewrites them.
#![cfg(target_os = "linux")]

mod architecture;
mod console;

use crate::support;

use linkaudit::rules::RULES;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Held while a test reads and rewrites a page that another test rewrites too.
static WRITING: Mutex<()> = Mutex::new(());

const BEGIN: &str = "<!-- rules -->\n";
const END: &str = "<!-- /rules -->";

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// The output of `linkaudit explain`.
fn explain(rule: Option<&str>) -> String {
    let output = support::linkaudit().arg("explain").args(rule).output().expect("linkaudit runs");
    assert!(output.status.success() && output.stderr.is_empty(), "explain {rule:?}");
    String::from_utf8(output.stdout).expect("text in UTF-8")
}

#[test]
fn pages_are_what_explain_prints() {
    let mut wrong = Vec::new();
    for rule in RULES {
        let path = repository(&format!("docs/rules/{}.md", rule.id));
        let page = explain(Some(rule.id.as_str()));
        if update() {
            std::fs::write(&path, &page).expect("the page is written");
        }
        if std::fs::read_to_string(&path).ok().as_deref() != Some(&page) {
            wrong.push(rule.id);
        }
    }
    assert!(wrong.is_empty(), "pages that differ; UPDATE=1 writes them: {wrong:?}");
}

#[test]
fn there_is_no_page_without_rule() {
    let known: BTreeSet<String> = RULES.iter().map(|rule| format!("{}.md", rule.id)).collect();
    let pages = std::fs::read_dir(repository("docs/rules")).expect("docs/rules");
    let pages: BTreeSet<String> = pages
        .map(|entry| entry.expect("a page").file_name().into_string().expect("a name in UTF-8"))
        .collect();
    let strange: Vec<&String> = pages.difference(&known).collect();
    assert!(strange.is_empty(), "pages of no rule: {strange:?}");
}

#[test]
fn pages_are_markdown_that_renders_everywhere() {
    for rule in RULES {
        let page = explain(Some(rule.id.as_str()));
        assert!(page.starts_with(&format!("# {}\n\n", rule.id)), "{}", rule.id);
        assert!(page.ends_with('\n') && !page.ends_with("\n\n"), "{}: its end", rule.id);
        assert_eq!(page.matches("```").count() % 2, 0, "{}: an open code block", rule.id);
        for line in page.lines() {
            assert!(line.chars().count() <= 120, "{}: a long line: {line}", rule.id);
            assert_eq!(line.trim_end(), line, "{}: blanks at the end of a line", rule.id);
        }
        // The example is what a user sees, so it names the rule.
        assert!(page.contains(&format!("[{}]", rule.id)), "{}: its example", rule.id);
    }
}

/// The table of the README: one row per rule, in the order of `explain`.
fn table() -> String {
    let row = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    let mut out = row(&["rule", "group", "default", "what it reports"]) + "|---|---|---|---|\n";
    for rule in RULES {
        let default = rule.default_name();
        let page = format!("[`{0}`](docs/rules/{0}.md)", rule.id);
        out += &row(&[&page, rule.group.name, default, &rule.summary.replace('|', "\\|")]);
    }
    out
}

#[test]
fn the_table_of_the_readme_is_the_rule_table() {
    let path = repository("README.md");
    let _lock = WRITING.lock();
    let text = std::fs::read_to_string(&path).expect("README.md");
    let begin = text.find(BEGIN).map(|at| at + BEGIN.len());
    let end = text.find(END);
    let (Some(begin), Some(end)) = (begin, end) else {
        panic!("README.md has no lines `{}` and `{END}` for the rule table", BEGIN.trim_end());
    };
    assert!(begin <= end, "README.md: the marks of the rule table are in the wrong order");
    if update() {
        let new = format!("{}{}{}", &text[..begin], table(), &text[end..]);
        return std::fs::write(&path, new).expect("README.md is written");
    }
    assert_eq!(&text[begin..end], table(), "UPDATE=1 writes the table");
}

#[test]
fn explain_without_rule_has_the_same_rows() {
    let text = explain(None);
    let mut lines = text.lines();
    let heading: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(heading, ["rule", "group", "default", "what", "it", "reports"]);
    for (line, rule) in lines.by_ref().zip(RULES) {
        let default = rule.default_name();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[..3], [rule.id.as_str(), rule.group.name, default]);
        assert!(line.ends_with(rule.summary), "{line}");
    }
    assert_eq!(text.lines().count(), RULES.len() + 1);
}
