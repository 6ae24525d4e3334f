//! Compares `why SYMBOL --under PROGRAM` with the real loader: the files that LD_DEBUG prints for
//! the search of each reference, in order, up to the last.

use super::{SYMBOLS, json, list, programs, support, text};
use crate::support::random::step;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const SEARCHED: usize = 52;

/// The referring file (`None` if the search found no definition), the version, and the files
/// searched.
type Search = (Option<PathBuf>, Option<String>, Vec<PathBuf>);

fn real(path: &str) -> PathBuf {
    Path::new(path).canonicalize().expect("a loaded file")
}

/// A line of the loader's trace.
enum Line {
    /// A file is searched for a symbol.
    Search(String, PathBuf),
    /// A reference of a file is bound, with its version.
    Binding(PathBuf, Option<String>),
}

fn line(text: &str) -> Option<Line> {
    // The kernel provides the vdso, which is not a file.
    if text.contains("linux-vdso.so.1") {
        return None;
    }
    if let Some((_, rest)) = text.split_once("symbol=") {
        let (symbol, file) = rest.split_once(";  lookup in file=").expect("a search");
        let file = file.strip_suffix(" [0]").expect("a name space");
        return Some(Line::Search(symbol.to_owned(), real(file)));
    }
    let (_, rest) = text.split_once("binding file ")?;
    let (file, rest) = rest.split_once(" [0] to ").expect("a binding");
    let version = rest.rsplit_once('\'').expect("a symbol").1.trim();
    let version = version.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    Some(Line::Binding(real(file), version.map(str::to_owned)))
}

/// The whole scope: the longest search that begins with the program and has no file twice.
fn scope(lines: &[Line], program: &Path) -> Vec<PathBuf> {
    let program = program.canonicalize().expect("the program");
    let mut longest: Vec<PathBuf> = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Line::Search(symbol, file) = line else { continue };
        let mut files: Vec<PathBuf> = Vec::new();
        if *file == program {
            let more = lines[start..].iter().map_while(|line| match line {
                Line::Search(name, file) if name == symbol => Some(file.clone()),
                _ => None,
            });
            for file in more {
                if files.contains(&file) {
                    break;
                }
                files.push(file);
            }
        }
        if files.len() > longest.len() {
            longest = files;
        }
    }
    longest
}

/// The files that the loader searches in trace mode, by symbol.
fn traced(program: &Path) -> BTreeMap<String, BTreeSet<Search>> {
    let output = support::clean(program)
        .envs([("LD_TRACE_LOADED_OBJECTS", "1"), ("LD_WARN", "yes")])
        .envs([("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings,symbols")])
        .output()
        .expect("the loader runs");
    let lines: Vec<Line> =
        String::from_utf8_lossy(&output.stderr).lines().filter_map(line).collect();
    let scope = scope(&lines, program);
    let mut out: BTreeMap<String, BTreeSet<Search>> = BTreeMap::new();
    let mut add = |symbol: String, search: Search| {
        out.entry(symbol).or_default().insert(search);
    };
    // The symbol that is searched, and the files so far.
    let mut open: Option<(String, Vec<PathBuf>)> = None;
    for line in lines {
        match line {
            Line::Search(symbol, file) => {
                let is_over =
                    |files: &[PathBuf]| files.len() >= scope.len() && files.last() == scope.last();
                match &mut open {
                    Some((name, files)) if *name == symbol && !is_over(files) => files.push(file),
                    // A search without definition does not say who refers.
                    _ => {
                        if let Some((symbol, files)) = open.replace((symbol, vec![file])) {
                            add(symbol, (None, None, files));
                        }
                    }
                }
            }
            Line::Binding(file, version) => {
                if let Some((symbol, files)) = open.take() {
                    add(symbol, (Some(file), version, files));
                }
            }
        }
    }
    if let Some((symbol, files)) = open {
        add(symbol, (None, None, files));
    }
    out
}

/// The answer of `why` about one symbol under a program.
fn said(symbol: &str, program: &str) -> BTreeSet<Search> {
    let why = json(&["why", symbol, "--under", program, program]);
    assert_eq!(why["kind"], "symbol", "{symbol} {program}");
    assert_eq!(real(text(&why["under"])), real(program));
    let mut out = BTreeSet::new();
    for requester in list(&why["requesters"]) {
        for bound in list(&requester["bound"]).iter().filter(|bound| bound["used"] == true) {
            let files = list(&bound["searched"]).iter().map(|file| real(text(file))).collect();
            out.insert(if bound["provider"].is_null() {
                (None, None, files)
            } else {
                let version = requester["version"].as_str().map(str::to_owned);
                (Some(real(text(&requester["path"]))), version, files)
            });
        }
    }
    out
}

#[test]
fn files_are_searched_in_the_loaders_order() {
    let (mut cases, mut searches, mut missed, mut differences) = (0, 0, 0, Vec::new());
    let searched = SEARCHED / step(4);
    for program in programs(searched) {
        let name = program.to_str().expect("a path in UTF-8");
        let traced = traced(&program);
        let mut symbols: Vec<&String> = traced.keys().collect();
        // Long searches, those without end among them, and some of all.
        let longest = |symbol: &String| traced[symbol].iter().map(|s| s.2.len()).max();
        symbols.sort_by_key(|symbol| std::cmp::Reverse(longest(symbol)));
        let spread = symbols.iter().step_by(symbols.len() / (SYMBOLS / 2) + 1);
        let chosen: BTreeSet<&String> =
            symbols.iter().take(SYMBOLS / 3).chain(spread).copied().collect();
        for symbol in chosen {
            let (theirs, ours) = (&traced[symbol], said(symbol, name));
            cases += 1;
            searches += theirs.len();
            missed += theirs.iter().filter(|(file, ..)| file.is_none()).count();
            if ours != *theirs {
                differences.push(format!(
                    "{name} {symbol}\n--- linkaudit {ours:#?}\n--- the loader {theirs:#?}"
                ));
            }
        }
    }
    println!(
        "why --under: {searched} programs, {cases} symbols, {searches} searches, {missed} of them \
         without definition, {} differences",
        differences.len()
    );
    assert!(cases > 4 * searched && missed > 0);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
