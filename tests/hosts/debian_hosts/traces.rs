//! The sysroot's own loader in a chroot: the undefined symbols of a file, alone and preloaded into
//! a program.

use super::lists::{Fact, facts};
use super::report::Report;
use crate::support::clean;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
const UNDEFINED: &str = "undefined symbol: ";

/// The output of the loader for a file, as for `ldd -r`.
fn trace(root: &Path, preload: Option<&str>, file: &str) -> String {
    let mut command = clean("chroot");
    command.arg(root).args(["/usr/bin/env", "-i"]);
    command.args(["LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes", "LD_BIND_NOW=yes", LOADER]);
    if let Some(plugin) = preload {
        command.args(["--preload", plugin]);
    }
    let output = command.arg(file).output().expect("chroot runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Undefined symbols of a trace, as path below `/usr` and symbol.
fn undefined(text: &str) -> BTreeSet<(String, String)> {
    let line = |line: &str| {
        let (symbol, path) = line.strip_prefix(UNDEFINED)?.split_once("\t(")?;
        let path = path.trim_end_matches(')').trim_start_matches("/usr").trim_start_matches('/');
        let symbol = symbol.split(',').next().unwrap_or(symbol);
        Some((path.to_owned(), symbol.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

/// Total number of undefined symbols that the loader prints for these files.
pub fn undefined_lines(root: &Path, files: &[String]) -> usize {
    let count = |file: &String| trace(root, None, file).matches(UNDEFINED).count();
    files.par_iter().map(count).sum()
}

/// Compares the undefined symbols of linkaudit and the loader, in both directions. The loader gets
/// each plugin with its program, and all other files alone.
pub fn compare(root: &Path, plugins: &BTreeMap<String, Vec<&str>>, named: &Report) {
    let found: BTreeSet<(String, String)> = facts(named)
        .into_iter()
        .filter(|fact: &Fact| fact.rule == "undefined-symbol")
        .map(|fact| (fact.path, fact.name))
        .collect();
    let pairs = plugins.iter().flat_map(|(plugin, programs)| {
        programs
            .iter()
            .map(move |program| (Some(format!("/usr/{plugin}")), format!("/usr/{program}")))
    });
    let alone: BTreeSet<&String> =
        found.iter().map(|(path, _)| path).filter(|path| !plugins.contains_key(*path)).collect();
    let alone = alone.into_iter().map(|path| (None, format!("/usr/{path}")));
    let cases: Vec<(Option<String>, String)> = pairs.chain(alone).collect();
    let theirs: BTreeSet<(String, String)> = cases
        .par_iter()
        .map(|(plugin, file)| undefined(&trace(root, plugin.as_deref(), file)))
        .reduce(BTreeSet::new, |mut all, some| {
            all.extend(some);
            all
        });
    let ours: BTreeSet<(String, String)> = &found | &explained(named);
    let differences: Vec<_> = theirs.difference(&ours).chain(found.difference(&theirs)).collect();
    println!(
        "plugins in their programs: {} cases, {} undefined symbols, {} differences",
        cases.len(),
        theirs.len(),
        differences.len()
    );
    assert!(differences.is_empty(), "{differences:#?}");
}

/// References that a missing library explains; the loader prints them too.
fn explained(report: &Report) -> BTreeSet<(String, String)> {
    let findings = report.value["findings"].as_array().expect("findings").iter();
    let evidence = findings.flat_map(|f| f["evidence"].as_array().expect("evidence"));
    let of = |piece: &serde_json::Value| {
        let path = piece["path"].as_str()?.strip_prefix("/usr/")?;
        Some((path.to_owned(), piece["symbol"].as_str()?.to_owned()))
    };
    evidence.filter(|piece| piece["kind"] == "explained").filter_map(of).collect()
}
