//! Compares `tree` and `why` over programs of this machine with the real loader: the libraries that
//! `ldd` lists, the bindings that LD_DEBUG prints and the files that it searches. The loader runs
//! in trace mode: no program starts.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;
use crate::support::random::step;

mod demangled;
mod under;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The interpreter whose trace mode is used. A program with another interpreter is never started.
const LOADER: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";
const SET_ID: u32 = 0o6000;
const TREES: usize = 80;
const PROGRAMS: usize = 24;
const SYMBOLS: usize = 12;

/// `count` programs spread over /usr/bin that this machine's loader would start.
fn programs(count: usize) -> Vec<PathBuf> {
    let entries = Path::new("/usr/bin").read_dir().expect("/usr/bin can be listed");
    let mut all: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| fits(path)).collect();
    all.sort_unstable();
    assert!(all.len() >= count, "/usr/bin has only {} fitting programs", all.len());
    (0..count).map(|n| all[n * all.len() / count].clone()).collect()
}

fn fits(path: &Path) -> bool {
    let plain = path.symlink_metadata().is_ok_and(|data| data.is_file());
    let set_id = path.metadata().map_or(true, |data| data.mode() & SET_ID != 0);
    plain
        && !set_id
        && path.to_str().is_some()
        && std::fs::read(path).is_ok_and(|bytes| {
            let head = &bytes[..bytes.len().min(4096)];
            bytes.starts_with(b"\x7fELF") && head.windows(LOADER.len()).any(|part| part == LOADER)
        })
}

fn json(args: &[&str]) -> Value {
    let output = support::linkaudit()
        .args(args)
        .args(["--as-ldd", "--format", "json"])
        .output()
        .expect("linkaudit runs");
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}"))
}

/// `NAME => PATH` for every library, as `ldd` prints it.
fn libraries(tree: &Value) -> BTreeSet<String> {
    let loader = text(&tree["roots"][0]["loader"]);
    let mut out = BTreeSet::new();
    for edge in list(&tree["edges"]) {
        let name = text(&edge["name"]);
        match (edge["opened"].as_str(), edge["how"].as_str()) {
            (None, _) => out.insert(format!("{name} => not found")),
            (Some(path), _) if path == loader => out.insert(loader.to_owned()),
            (Some(path), _) if edge["loads"] == true => out.insert(format!("{name} => {path}")),
            _ => false,
        };
    }
    out
}

#[test]
fn trees_are_what_ldd_lists() {
    let (mut libraries_compared, mut differences) = (0, Vec::new());
    for program in programs(TREES) {
        let name = program.to_str().expect("a path in UTF-8");
        let output = support::clean("ldd").arg(name).output().expect("ldd runs");
        let theirs = support::normalise(&String::from_utf8_lossy(&output.stdout));
        let theirs: BTreeSet<String> = theirs.lines().map(|line| line.trim().to_owned()).collect();
        let ours = libraries(&json(&["tree", name]));
        libraries_compared += theirs.len();
        if ours != theirs {
            differences.push(format!("{name}\n--- linkaudit {ours:#?}\n--- ldd {theirs:#?}"));
        }
    }
    println!(
        "tree: {TREES} programs, {libraries_compared} libraries, {} differences",
        differences.len()
    );
    assert!(libraries_compared > 2 * TREES);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Referring file, requested version, defining file: paths with links resolved.
type Binding = (PathBuf, Option<String>, PathBuf);

/// The loader's bindings in trace mode, by symbol.
fn traced(program: &Path) -> BTreeMap<String, BTreeSet<Binding>> {
    let output = support::clean(program)
        .envs([("LD_TRACE_LOADED_OBJECTS", "1"), ("LD_WARN", "yes")])
        .envs([("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings")])
        .output()
        .expect("the loader runs");
    let mut out: BTreeMap<String, BTreeSet<Binding>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let Some((_, line)) = line.split_once("binding file ") else { continue };
        let (file, rest) = line.split_once(" [0] to ").expect("a binding");
        let (provider, rest) = rest.split_once(" [0]: ").expect("a provider");
        let (symbol, version) = rest
            .split_once(" symbol `")
            .and_then(|(_, rest)| rest.split_once('\''))
            .expect("a symbol");
        let version = version.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        // The kernel provides the vdso, which is not a file.
        if file != "linux-vdso.so.1" {
            let real = |path: &str| Path::new(path).canonicalize().expect("a loaded file");
            let binding = (real(file), version.map(str::to_owned), real(provider));
            out.entry(symbol.to_owned()).or_default().insert(binding);
        }
    }
    out
}

/// The bindings of a symbol according to `why`.
fn said(symbol: &str, program: &str) -> BTreeSet<Binding> {
    let why = json(&["why", symbol, program]);
    assert_eq!(why["kind"], "symbol", "{symbol} {program}");
    let mut out = BTreeSet::new();
    for requester in list(&why["requesters"]) {
        assert_eq!(requester["symbol"], symbol);
        for bound in list(&requester["bound"]).iter().filter(|bound| !bound["provider"].is_null()) {
            let real = |value: &Value| Path::new(text(value)).canonicalize().expect("a file");
            let version = requester["version"].as_str().map(str::to_owned);
            out.insert((real(&requester["path"]), version, real(&bound["provider"])));
        }
    }
    out
}

#[test]
fn symbols_bind_to_what_the_loader_binds() {
    let (mut cases, mut bindings, mut shared, mut differences) = (0, 0, 0, Vec::new());
    let count = PROGRAMS / step(3);
    for program in programs(count) {
        let name = program.to_str().expect("a path in UTF-8");
        let traced = traced(&program);
        assert!(!traced.is_empty(), "{name}: nothing is bound");
        // Symbols that several files take, or that several define, come first.
        let mut symbols: Vec<&String> = traced.keys().collect();
        symbols.sort_by_key(|symbol| std::cmp::Reverse(traced[*symbol].len()));
        let many = symbols.iter().take(SYMBOLS / 2);
        let spread = symbols.iter().step_by(symbols.len() / (SYMBOLS / 2) + 1);
        let chosen: BTreeSet<&String> = many.chain(spread).copied().collect();
        for symbol in chosen {
            let (theirs, ours) = (&traced[symbol], said(symbol, name));
            cases += 1;
            bindings += theirs.len();
            shared += usize::from(theirs.len() > 1);
            if ours != *theirs {
                differences.push(format!(
                    "{name} {symbol}\n--- linkaudit {ours:#?}\n--- the loader {theirs:#?}"
                ));
            }
        }
    }
    println!(
        "why: {count} programs, {cases} symbols, {bindings} bindings, {shared} symbols of several \
         files, {} differences",
        differences.len()
    );
    assert!(cases > 5 * count && shared > count);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Without filters the loader's list is its scope: the place of a library is that of its line.
#[test]
fn places_in_the_scope_are_those_of_the_list() {
    let (mut cases, mut differences) = (0, Vec::new());
    for program in programs(PROGRAMS) {
        let name = program.to_str().expect("a path in UTF-8");
        let output = support::clean("ldd").arg(name).output().expect("ldd runs");
        let theirs = support::normalise(&String::from_utf8_lossy(&output.stdout));
        let lines = theirs.lines().enumerate();
        // The line of the loader has no arrow and does not show if an object needs it: it is
        // skipped.
        for (place, line) in lines.filter(|(_, line)| line.contains(" => /")) {
            let soname = line.trim().split(" => ").next().expect("a name");
            let why = json(&["why", soname, name]);
            let places = list(&why["providers"]).iter().flat_map(|p| list(&p["roots"]));
            let ours: Vec<u64> = places.filter_map(|root| root["position"].as_u64()).collect();
            cases += 1;
            if ours != [place as u64 + 1] {
                differences.push(format!("{name} {soname}: place {}, not {ours:?}", place + 1));
            }
        }
    }
    println!("scopes: {PROGRAMS} programs, {cases} places, {} differences", differences.len());
    assert!(cases > PROGRAMS, "{cases}");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A library lost its versions: before 2.41 the loader aborts while it relocates the library that
/// asks for them, and binds nothing of the program.
#[test]
fn references_after_an_abort_are_not_bound() {
    let lab = support::Lab::new();
    let provider = "int f(void) { return 1; }";
    lab.write("versions", "V1 { f; };");
    lab.so("libv.so", provider, &["-Wl,-soname,libv.so,--version-script,versions"]);
    let origin = "-Wl,-z,now,-rpath,$ORIGIN";
    let asks = "int f(void); int z(void) { return f(); }";
    lab.so("libz.so", asks, &["-Wl,-soname,libz.so", "libv.so", origin]);
    lab.so("libo.so", "int other(void) { return 1; }", &["-Wl,-soname,libo.so"]);
    let main = "int z(void), other(void); int main(void) { return z() + other(); }";
    lab.exe("prog", main, &["libz.so", "libo.so", origin]);
    lab.so("libv.so", provider, &["-Wl,-soname,libv.so"]);

    let program = lab.path("prog");
    let name = program.to_str().expect("a path in UTF-8");
    let traced = traced(&program);
    for symbol in ["f", "z", "other"] {
        let theirs = traced.get(symbol).cloned().unwrap_or_default();
        assert_eq!(said(symbol, name), theirs, "{symbol}");
        let why = json(&["why", symbol, name]);
        let stopped = list(&why["requesters"]).iter().flat_map(|r| list(&r["bound"]));
        let stopped: Vec<bool> = stopped.map(|bound| bound["stopped"] == true).collect();
        assert_eq!(stopped, [theirs.is_empty()], "{symbol}");
    }
}
