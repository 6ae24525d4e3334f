//! Properties of the source tree that no compiler checks. They are sizes of files, first lines of
//! modules, forbidden words, and tables that must fit the files on disk.

mod imports;
mod prose;
mod source;

use imports::Imports;
use linkaudit::{report, rules};
use source::{Source, sources};
use std::collections::BTreeSet;
use std::path::Path;

/// Longest file under `src` and `tests`, in lines. About 400 is the guide: one idea, one file.
const MOST_LINES: usize = 600;

/// Files that may be longer, each with its reason.
const LONGER: &[(&str, &str)] = &[];

/// The modules of the crate from the ground up: each uses only those on lower floors.
pub(super) const FLOORS: &[&[&str]] = &[
    &["id", "order", "parallel", "sniff", "text", "catalogue", "wants"],
    &["package", "demangle", "symbol_names", "policy", "hooks"],
    &["tree"],
    &["format", "finding"],
    &["plan"],
    &["facts", "cover", "demo", "cmake"],
    &["resolve"],
    &["stage"],
    &["starts", "bind", "gpu"],
    &["diagnosis"],
    &["audit"],
    &["merged"],
    &["fix", "rules"],
    &["triage"],
    &["report"],
    &["views", "emit", "diff"],
    &["cli"],
    &["lib", "main"],
];

/// Fails with one line for each offender.
fn none(what: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{what}:\n{}", offenders.join("\n"));
}

#[test]
fn files_are_short() {
    let lines = |source: &Source| source.text.lines().count();
    let long: Vec<String> = ["src", "tests"]
        .iter()
        .flat_map(|folder| sources(folder))
        .filter(|source| lines(source) > MOST_LINES)
        .filter(|source| !LONGER.iter().any(|(path, _)| *path == source.path))
        .map(|source| format!("{}: {} lines", source.path, lines(&source)))
        .collect();
    none("files of more than 600 lines that are not in LONGER", &long);
}

#[test]
fn modules_say_what_they_are() {
    let mute: Vec<String> = ["src", "tests"]
        .iter()
        .flat_map(|folder| sources(folder))
        .filter(|source| !source.text.starts_with("//! "))
        .map(|source| source.path)
        .collect();
    none("files that do not open with `//!`", &mute);
}

/// Lines that have one of `words` in code, not in a comment or a string.
fn uses(words: &[&str], code: impl Fn(&Source) -> String) -> Vec<String> {
    let mut out = Vec::new();
    for source in sources("src") {
        for (number, line) in code(&source).lines().enumerate() {
            for word in words.iter().filter(|word| source::has_word(line, word)) {
                out.push(format!("{}:{}: {word}", source.path, number + 1));
            }
        }
    }
    out
}

#[test]
fn nothing_else_is_unsafe() {
    let mut found = uses(&["unsafe"], Source::code);
    // The attribute of one static, with its proof beside it.
    let is_proven = |line: &String| line.starts_with("src/main.rs:");
    assert_eq!(found.iter().filter(|line| is_proven(line)).count(), 1);
    found.retain(|line| !is_proven(line));
    none("unsafe code", &found);
}

#[test]
fn nothing_is_left_to_do() {
    let words = ["todo!", "unimplemented!", "dbg!"];
    none("unfinished code", &uses(&words, Source::code));
}

#[test]
fn nothing_is_unwrapped_outside_of_tests() {
    let words = ["unwrap", "unwrap_unchecked"];
    none("what panics where it should answer", &uses(&words, Source::code_without_tests));
}

#[test]
fn arrows_go_one_way() {
    let floor = |module: &str| FLOORS.iter().position(|floor| floor.contains(&module));
    let mut upward = Vec::new();
    for source in sources("src") {
        let below = source.path.trim_start_matches("src/");
        let own = below.split(['/', '.']).next().unwrap_or(below);
        let code = source.code_without_tests();
        for (number, line) in code.lines().enumerate() {
            for used in line.split("crate::").skip(1) {
                let end = used.find(|c: char| !c.is_alphanumeric() && c != '_');
                let used = &used[..end.unwrap_or(used.len())];
                let goes_down = || Some(floor(used)? < floor(own)?);
                if used != own && goes_down() != Some(true) {
                    upward.push(format!("{}:{}: {own} uses {used}", source.path, number + 1));
                }
            }
        }
    }
    none("modules that use what lies above or beside them", &upward);
}

/// Statics that can change, each with the reason why two audits in one process may both use it.
const SHARED: &[(&str, &str)] = &[
    ("src/audit/definitions.rs: INDEX", "memory of one thread, filled anew for each archive"),
    ("src/audit/owners.rs: LIST", "memory of one thread, filled anew for each list"),
    ("src/facts/members.rs: LINK_SCRATCH", "memory of one thread, filled anew for each member"),
    ("src/facts/members.rs: SCRATCH", "memory of one thread, empty between archives"),
    ("src/format/elf/read.rs: SCRATCH", "memory of one thread, empty between files"),
    (
        "src/format/gpu/deep.rs: ROOM",
        "memory that bundles may take: a thread waits, no result changes",
    ),
    ("src/cli/message.rs: COLOR", "set once, when the options are known"),
    ("src/format/cross_check/mod.rs: READING", "set on one thread while it runs one reader"),
    ("src/main.rs: STDOUT_IS_CLOSED", "set once, before the program begins"),
    ("src/resolve/paths.rs: NEXT", "ids of lists, by which nothing is ordered"),
];

#[test]
fn audits_share_no_state() {
    let changing = ["Atomic", "Mutex", "RwLock", "OnceLock", "OnceCell", "RefCell", " Cell<"];
    let mut shared = Vec::new();
    for source in sources("src") {
        for line in source.code_without_tests().lines() {
            let Some((before, named)) = line.split_once("static ") else { continue };
            if !before.ends_with('\'') && changing.iter().any(|word| named.contains(word)) {
                let name = named.split(':').next().unwrap_or(named);
                shared.push(format!("{}: {name}", source.path));
            }
        }
    }
    shared.retain(|found| !SHARED.iter().any(|(known, _)| known == found));
    none("statics that two audits in one process would share", &shared);
}

#[test]
fn no_file_is_in_an_import_circle() {
    let imports = Imports::new(&sources("src"));
    let circles = imports.circles();
    let lines = circles.iter().flat_map(|circle| {
        let head = format!("{} files:", circle.len());
        std::iter::once(head).chain(imports.inside(circle))
    });
    none("files that import each other", &lines.collect::<Vec<String>>());
}

#[test]
fn every_folder_is_in_the_architecture() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    // Until the page is written it can leave nothing out.
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let folders: BTreeSet<String> = sources("src")
        .iter()
        .filter_map(|source| Some(source.path.rsplit_once('/')?.0.to_owned()))
        .filter(|folder| folder != "src")
        .collect();
    // A folder in a folder may be named in the row of that one.
    let names = |folder: &str| {
        let last = folder.rsplit('/').next().unwrap_or(folder);
        text.contains(&format!("`{folder}/`")) || text.contains(&format!("`{last}/`"))
    };
    let absent: Vec<String> = folders.into_iter().filter(|folder| !names(folder)).collect();
    none("folders that ARCHITECTURE.md does not name", &absent);
}

/// Stems of the files of a folder whose code has `mark`.
fn stems(folder: &str, mark: &str) -> BTreeSet<String> {
    sources(folder)
        .iter()
        .filter(|source| source.code().contains(mark))
        .filter_map(|source| {
            let name = source.path.strip_prefix(&format!("{folder}/"))?;
            // A rule or an output that needs a folder has its row in `mod.rs` there.
            let name = name.strip_suffix("/mod.rs").or_else(|| name.strip_suffix(".rs"))?;
            (!name.contains('/') && name != "mod").then(|| name.to_owned())
        })
        .collect()
}

#[test]
fn every_rule_file_is_in_the_table() {
    let table: BTreeSet<String> =
        rules::RULES.iter().map(|rule| rule.id.as_str().replace('-', "_")).collect();
    assert_eq!(stems("src/rules", "static RULE: Rule"), table);
}

#[test]
fn every_output_file_is_in_the_table() {
    let table: BTreeSet<String> =
        report::OUTPUTS.iter().map(|output| output.name.replace('-', "_")).collect();
    assert_eq!(stems("src/report", "pub(super) fn render("), table);
}

#[test]
fn the_program_names_no_path_of_a_builder() {
    let home = env!("CARGO_MANIFEST_DIR");
    let known: Vec<String> = ["src", "tests"]
        .iter()
        .flat_map(|folder| sources(folder))
        .filter(|source| source.text.contains(home))
        .map(|source| source.path)
        .collect();
    none("files that name the directory of this checkout", &known);
}
