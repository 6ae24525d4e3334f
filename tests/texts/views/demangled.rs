//! `why NAME` with names as `c++filt` writes them: each must find the symbol from which it came.

use super::{json, list, support, text};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
const NAMES: usize = 90;

/// True for names that `cpp_demangle` reads differently: it loses a parameter of constructor
/// templates, and misplaces the `&` of a nested name that begins with a substitution.
fn is_misread(raw: &str) -> bool {
    ["C1I", "C2I", "RNS1_15__upcast_result"].iter().any(|part| raw.contains(part))
}

/// Mangled names that the library defines.
fn mangled() -> Vec<String> {
    let output = support::clean("nm").args(["-D", "--defined-only", LIBRARY]).output();
    let output = output.expect("nm runs");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = lines.lines().filter_map(|line| line.split_whitespace().last());
    let names = names.map(|name| name.split('@').next().unwrap_or(name).to_owned());
    let names: BTreeSet<String> = names.filter(|name| name.starts_with("_Z")).collect();
    names.into_iter().collect()
}

fn filtered(names: &[String]) -> Vec<String> {
    let mut child = support::clean("c++filt")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("c++filt runs");
    let input = names.join("\n");
    child.stdin.take().expect("stdin").write_all(input.as_bytes()).expect("c++filt reads");
    let output = child.wait_with_output().expect("c++filt ends");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn names_of_cxxfilt_lead_to_their_symbols() {
    if support::clean("c++filt").arg("--version").output().is_err() {
        return support::skip("names of c++filt", "c++filt is not installed");
    }
    if !Path::new(LIBRARY).exists() {
        return support::skip("names of c++filt", "libstdc++ is not where Debian has it");
    }
    let all = mangled();
    let chosen = all.iter().step_by(all.len() / NAMES + 1).cloned();
    let (misread, names): (Vec<String>, Vec<String>) = chosen.partition(|raw| is_misread(raw));
    let texts = filtered(&names);
    assert_eq!(names.len(), texts.len());
    let mut differences = Vec::new();
    for (raw, text_of) in names.iter().zip(&texts) {
        let why = json(&["why", text_of, LIBRARY]);
        let symbols: BTreeSet<&str> =
            list(&why["providers"]).iter().map(|p| text(&p["symbol"])).collect();
        if !symbols.contains(&**raw) {
            differences.push(format!("{raw}: {text_of}: {} {symbols:?}", why["kind"]));
        }
    }
    println!(
        "c++filt: {} names, {} left out that cpp_demangle reads otherwise, {} differences",
        names.len(),
        misread.len(),
        differences.len()
    );
    assert!(misread.len() * 20 < names.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
