//! Objects and archives for these tests, made by the assembler and `ar`, and the answers of linkers
//! and of the program under test as sets of members.

use crate::support::{Lab, clean, has, linkaudit, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Runs a command, which must succeed.
#[track_caller]
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// True if a linker is installed. A comparison that lacks it counts as skipped.
pub fn has_linker(program: &str) -> bool {
    let is_there = has(program);
    if !is_there {
        skip(program, "this linker is not installed");
    }
    is_there
}

/// Assembles `source` into `name`.
#[track_caller]
pub fn object(lab: &Lab, name: &str, source: &str) {
    let file = lab.write(&format!("{name}.s"), source);
    run(clean("as").current_dir(lab.root()).arg("-o").arg(name).arg(&file));
}

/// Makes an archive with `ar` and its letters.
#[track_caller]
pub fn ar(lab: &Lab, letters: &str, archive: &str, members: &[&str]) {
    run(clean("ar").current_dir(lab.root()).arg(letters).arg(archive).args(members));
}

/// The JSON answer of `linkaudit archive` and the exit status.
#[track_caller]
pub fn archive(cwd: &Path, args: &[&str]) -> (Value, Option<i32>) {
    let output = linkaudit()
        .current_dir(cwd)
        .arg("archive")
        .args(args)
        .args(["--format", "json"])
        .output()
        .expect("linkaudit runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.is_empty(), "archive {args:?}: {error}");
    let value = serde_json::from_slice(&output.stdout);
    (value.unwrap_or_else(|e| panic!("archive {args:?}: {e}")), output.status.code())
}

/// `ARCHIVE(MEMBER)` of everything that is needed, by file names, sorted; repeated names repeat.
pub fn members(answer: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for archive in answer["needed"].as_array().expect("needed") {
        let path = archive["archive"].as_str().expect("a path");
        let file = path.rsplit('/').next().unwrap_or(path);
        for member in archive["members"].as_array().expect("members") {
            out.push(format!("{file}({})", member["name"].as_str().expect("a name")));
        }
    }
    out.sort();
    out
}

/// The names that stay undefined.
pub fn undefined(answer: &Value) -> BTreeSet<String> {
    let list = answer["undefined"].as_array().expect("undefined").iter();
    list.map(|entry| entry["symbol"].as_str().expect("a symbol").to_owned()).collect()
}

/// The names that may stay undefined.
pub fn unknown(answer: &Value) -> BTreeSet<String> {
    let list = answer["unknown"].as_array().expect("unknown").iter();
    list.map(|entry| entry["symbol"].as_str().expect("a symbol").to_owned()).collect()
}

/// The members of a `--why-extract` table, as `members` has them.
pub fn extracted(table: &str) -> Vec<String> {
    let mut out: Vec<String> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').nth(1))
        .map(|name| {
            let (archive, member) = name.split_once('(').expect("a member");
            format!("{}({member}", archive.rsplit('/').next().unwrap_or(archive))
        })
        .collect();
    out.sort();
    out
}

/// The members that GNU ld's map says were included, as `members` has them.
pub fn included(map: &str) -> Vec<String> {
    let from = map.find("Archive member included").map_or("", |at| &map[at..]);
    let end = from.find("\n\n\n").or_else(|| from.find("\nDiscarded")).unwrap_or(from.len());
    let mut out: Vec<String> = from[..end.min(from.find("\nMemory Conf").unwrap_or(end))]
        .lines()
        .filter(|line| !line.starts_with([' ', '\t']) && line.contains(".a("))
        .filter_map(|line| line.split_whitespace().next())
        .map(|name| name.rsplit('/').next().unwrap_or(name).to_owned())
        .collect();
    out.sort();
    out
}
