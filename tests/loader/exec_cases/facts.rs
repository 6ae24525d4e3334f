//! The libraries and bindings of a program, according to the loader and to linkaudit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{self, Lab};

/// One binding: referring file, symbol, version, defining file.
type Binding = (PathBuf, String, Option<String>, PathBuf);

/// The loaded files and the bindings, with all links resolved.
#[derive(Default)]
struct Facts {
    /// Files of the laboratory that the program loads.
    loaded: BTreeSet<PathBuf>,
    /// Names that were searched for and the file of the laboratory that was found.
    found: BTreeSet<(String, PathBuf)>,
    bindings: BTreeSet<Binding>,
}

/// Symbols that the loader looks up for itself in the program's scope.
const OWN_LOOKUPS: &[&str] = &["malloc", "calloc", "realloc", "free"];

/// The loader's facts from a run of `program` in the laboratory, with the path as given.
fn real(lab: &Lab, program: &str) -> Facts {
    let output = support::clean(lab.path(program))
        .current_dir(lab.root())
        .env("LD_DEBUG", "bindings,files,libs")
        .env("LD_BIND_NOW", "1")
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{program}: {}", output.status);
    let text = String::from_utf8_lossy(&output.stderr);
    let mut facts = Facts::default();
    let mut searched: Option<(String, String)> = None;
    for line in text.lines() {
        let line = line.split_once(":\t").map_or(line, |(_, line)| line).trim();
        if let Some(rest) = line.strip_prefix("find library=") {
            found(lab, &mut facts, searched.take());
            let name = rest.split(" [0]").next().unwrap_or_default();
            searched = Some((name.to_owned(), String::new()));
        } else if let Some(path) = line.strip_prefix("trying file=") {
            if let Some((_, last)) = &mut searched {
                path.clone_into(last);
            }
        } else if let Some(path) = line.strip_prefix("calling init: ") {
            facts.loaded.extend(inside(lab, path));
        } else if let Some(rest) = line.strip_prefix("binding file ") {
            facts.bindings.extend(binding(lab, rest));
        }
    }
    found(lab, &mut facts, searched);
    facts
}

fn found(lab: &Lab, facts: &mut Facts, searched: Option<(String, String)>) {
    if let Some((name, path)) = searched
        && let Some(path) = inside(lab, &path)
    {
        facts.found.insert((name, path));
    }
}

/// Reads `A [0] to B [0]: normal symbol ...`, with symbol and version, if A lies in the laboratory.
fn binding(lab: &Lab, text: &str) -> Option<Binding> {
    let (from, rest) = text.split_once(" [0] to ")?;
    let (to, rest) = rest.split_once(" [0]: ")?;
    let (_, rest) = rest.split_once(" symbol `")?;
    let (symbol, version) = rest.split_once('\'')?;
    let version = version.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let own = OWN_LOOKUPS.contains(&symbol);
    let from = inside(lab, from).filter(|_| !own)?;
    Some((from, symbol.to_owned(), version.map(str::to_owned), resolve(lab, to)))
}

/// The path as seen from the laboratory, with links resolved; unchanged if it does not exist.
fn resolve(lab: &Lab, path: &str) -> PathBuf {
    let path = lab.root().join(path);
    path.canonicalize().unwrap_or(path)
}

fn inside(lab: &Lab, path: &str) -> Option<PathBuf> {
    Some(resolve(lab, path)).filter(|path| path.starts_with(lab.root()) && path.is_file())
}

/// linkaudit's facts about `program`.
fn said(lab: &Lab, program: &str) -> Facts {
    let output = lab.linkaudit(&["--facts", "--format", "json", program]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{program}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    });
    // Names in bindings are those of the loader, relative to the working directory. Other paths
    // may be relative to the prefix, which is the directory of a given file.
    let main = resolve(lab, program);
    let here = main.parent().expect("a program lies in a directory").to_owned();
    let place = |path: &str| {
        let path = [lab.root().join(path), here.join(path)].into_iter().find(|path| path.exists());
        path.and_then(|path| path.canonicalize().ok()).unwrap_or_default()
    };
    let ours = |path: &Path| path.starts_with(lab.root());
    let mut facts = Facts::default();
    for file in list(&report, "files") {
        if !ours(&place(text(&file["path"]))) {
            continue;
        }
        for need in list(file, "needed") {
            let Some(path) = need["path"].as_str().map(place).filter(|path| ours(path)) else {
                continue;
            };
            facts.found.insert((text(&need["name"]).to_owned(), path.clone()));
            facts.loaded.insert(path);
        }
    }
    for root in list(&report, "bindings") {
        assert_eq!(place(text(&root["root"])), main, "the only root is the program");
        for bound in list(root, "bound") {
            let [file, symbol, version, provider] = bound.as_array().expect("a binding").as_slice()
            else {
                panic!("a binding of other than four parts: {bound}");
            };
            let file = place(text(file));
            if ours(&file) && !OWN_LOOKUPS.contains(&text(symbol)) {
                let version = version.as_str().map(str::to_owned);
                let provider = place(text(provider));
                facts.bindings.insert((file, text(symbol).to_owned(), version, provider));
            }
        }
    }
    facts
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key:?} in {value}")).iter()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

/// Runs `program` and compares the facts. `shows` are bindings (symbol, file name of the provider)
/// that the real run must have; otherwise the case does not test its rule.
pub(crate) fn same(lab: &Lab, program: &str, shows: &[(&str, &str)]) {
    let (real, said) = (real(lab, program), said(lab, program));
    for (symbol, provider) in shows {
        let meant = |bound: &&Binding| bound.1 == *symbol && bound.3.ends_with(provider);
        assert!(
            real.bindings.iter().any(|bound| meant(&bound)),
            "{program} binds {symbol} not to {provider}: {:#?}",
            real.bindings
        );
    }
    println!(
        "exec cases: {program}: {} bindings, {} files",
        real.bindings.len(),
        real.loaded.len()
    );
    differ(program, "loaded", &real.loaded, &said.loaded);
    differ(program, "bindings", &real.bindings, &said.bindings);
    // The loader does not search for needs that a loaded object already satisfies.
    let unsaid: Vec<_> = real.found.difference(&said.found).collect();
    assert!(unsaid.is_empty(), "{program}: found by the loader only: {unsaid:#?}");
}

fn differ<T: Ord + std::fmt::Debug>(
    program: &str,
    what: &str,
    real: &BTreeSet<T>,
    said: &BTreeSet<T>,
) {
    assert!(!real.is_empty(), "{program}: nothing {what}");
    let missing: Vec<_> = real.difference(said).collect();
    let invented: Vec<_> = said.difference(real).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "{program}: {what}: in the run only {missing:#?}, in the report only {invented:#?}"
    );
}
