//! Texts for people: phrases that must not come back, in pages and in the help of every command,
//! and the spelling of the pages. The sources have a shorter list, because a phrase may be right in
//! code.

use super::none;
use super::source::sources;
use crate::support;
use std::path::{Path, PathBuf};

/// Phrases in small letters, each with the words to use instead. Only whole words count.
const PHRASES: &[(&str, &str)] = &[
    ("a fault of linkaudit", "internal error, bug in linkaudit"),
    ("anew", "again, or the verb alone"),
    ("at hand", "candidate"),
    ("found out", "reported, computed"),
    ("is no archive", "not an archive"),
    ("is no file", "not a regular file"),
    ("is no rule", "unknown rule"),
    ("is said", "name the actor"),
    ("is told", "name the actor"),
    ("is there already", "already exists"),
    ("leads nowhere", "dangling link, does not exist"),
    ("looked at", "read, checked"),
    ("mistake", "error"),
    ("mistakes", "errors"),
    ("nobody", "name the actor"),
    ("nothing defines", "undefined"),
    ("passed over", "skipped"),
    ("passes over", "skips"),
    ("put aside", "suspended"),
    ("somebody", "name the actor"),
    ("that which", "name the thing"),
    ("what is asked", "the query"),
    ("whatever", "any"),
    ("whoever", "name the actor"),
];

/// Phrases that no source may have, in messages or comments.
const IN_SOURCES: &[(&str, &str)] = &[
    ("\"linkaudit: ", "error: …, warning: …, help: … (cli/message.rs)"),
    ("found out about", "reported"),
    ("found out once", "computed once, cached"),
    ("is no rule", "unknown rule"),
    ("is no static archive", "not a static archive"),
    ("taken up again", "resumed"),
    ("which the loader does not find", "not found by the loader"),
];

/// Names that `codespell` takes for misspelt words.
const KNOWN_WORDS: &str = "crate,ser";

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The pages that a user reads, with their paths.
fn pages() -> Vec<(String, String)> {
    let mut out = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/rules"] {
        for entry in std::fs::read_dir(repository(folder)).expect("a folder of pages") {
            let name = entry.expect("a page").file_name().into_string().expect("a name in UTF-8");
            out.extend(name.ends_with(".md").then(|| format!("{folder}/{name}")));
        }
    }
    out.sort();
    let text = |path: &str| std::fs::read_to_string(repository(path)).expect("a page in UTF-8");
    out.into_iter().map(|path| (path.clone(), text(&path))).collect()
}

/// The help of every command.
fn helps() -> Vec<(String, String)> {
    let help = |words: &[&str]| {
        let output = support::linkaudit().arg("help").args(words).output().expect("linkaudit runs");
        assert!(output.status.success(), "help {words:?}");
        String::from_utf8(output.stdout).expect("a help in UTF-8")
    };
    let program = help(&[]);
    let commands = program.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(names.contains(&"check") && names.contains(&"why"), "{names:?}");
    let own = names.iter().map(|name| (format!("linkaudit help {name}"), help(&[name])));
    let policy = ["check", "show", "init", "schema"]
        .map(|name| (format!("linkaudit help policy {name}"), help(&["policy", name])));
    std::iter::once(("linkaudit help".to_owned(), program.clone()))
        .chain(own)
        .chain(policy)
        .collect()
}

/// The text without code blocks, in small letters, with all whitespace as one blank.
fn plain(text: &str) -> String {
    let prose = text.split("\n```").step_by(2).collect::<Vec<_>>().join(" ");
    prose.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True if `text` holds `phrase` between word boundaries.
fn holds(text: &str, phrase: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + phrase.len()..]);
        !is_word(before.chars().next_back()) && !is_word(after.chars().next())
    })
}

#[test]
fn phrases_do_not_come_back() {
    let texts: Vec<(String, String)> = pages().into_iter().chain(helps()).collect();
    let mut found = Vec::new();
    for (path, text) in &texts {
        let text = plain(text);
        let hits = PHRASES.iter().filter(|(phrase, _)| holds(&text, phrase));
        found.extend(hits.map(|(phrase, instead)| format!("{path}: `{phrase}`: {instead}")));
    }
    none("phrases to replace", &found);
    println!("{} pages and helps, {} phrases, 0 hits", texts.len(), PHRASES.len());
}

#[test]
fn phrases_do_not_come_back_in_sources() {
    let mut found = Vec::new();
    for source in sources("src") {
        let hits = IN_SOURCES.iter().filter(|(phrase, _)| source.text.contains(phrase));
        found.extend(
            hits.map(|(phrase, instead)| format!("{}: `{phrase}`: {instead}", source.path)),
        );
    }
    none("phrases to replace", &found);
}

#[test]
fn pages_are_spelt_right() {
    if !support::has("codespell") {
        return support::skip("pages_are_spelt_right", "needs codespell");
    }
    let output = support::clean("codespell")
        .current_dir(repository(""))
        .args(["--ignore-words-list", KNOWN_WORDS])
        .args(pages().into_iter().map(|(path, _)| path))
        .output()
        .expect("codespell runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
}
