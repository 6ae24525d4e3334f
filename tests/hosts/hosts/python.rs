//! Imports extension modules of this machine's Python. The loader's bindings of each module and of
//! its libraries must be those that linkaudit reports with `--host /usr/bin/python3`.

use super::kit::{Binding, binding, bound};
use crate::support::{clean, linkaudit};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

const PYTHON: &str = "/usr/bin/python3";
/// Modules that must at least be compared.
const MODULES: usize = 50;
/// Prints the directories of extension modules, and behind a blank line the names of their
/// suffixes.
const DIRS: &str = "\
import sysconfig, importlib.machinery as m
print(sysconfig.get_config_var('DESTSHARED'))
print('/usr/lib/python3/dist-packages')
print()
print('\\n'.join(m.EXTENSION_SUFFIXES))";

#[test]
fn python_modules() {
    let (dirs, modules) = modules();
    let report = report(&dirs);
    let (mut compared, mut bindings, mut libraries) = (0, 0, BTreeSet::new());
    let (mut differences, mut left_out) = (Vec::new(), Vec::new());
    for (name, path) in &modules {
        let file = path.to_str().expect("a path in UTF-8");
        let Some(real) = import(name, file) else {
            left_out.push(name.as_str());
            continue;
        };
        let said = bound(&report, file);
        compared += 1;
        let files = said.iter().map(|binding| &*binding.0).collect();
        let brought = brought(file, &real, &files);
        bindings += said.iter().filter(|binding| brought.contains(&*binding.0)).count();
        libraries.extend(brought.iter().map(|&from| from.to_owned()));
        differences.extend(difference(file, &real, &said));
    }
    println!(
        "hosts: {compared} Python modules, {} libraries, {bindings} bindings, {} differences; \
         not imported: {left_out:?}",
        libraries.len() - compared,
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences[..differences.len().min(50)].join("\n"));
    assert!(compared >= MODULES, "only {compared} modules; install more packages of Python");
}

/// Directories of extension modules, and the modules in them by name.
fn modules() -> (Vec<String>, BTreeMap<String, PathBuf>) {
    let output = clean(PYTHON).args(["-I", "-c", DIRS]).output().expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let (dirs, suffixes) = text.split_once("\n\n").expect("directories and suffixes");
    let dirs: Vec<String> = dirs.lines().map(str::to_owned).collect();
    let suffixes: Vec<&str> = suffixes.lines().collect();
    let mut out = BTreeMap::new();
    for dir in &dirs {
        let mut todo = vec![PathBuf::from(dir)];
        while let Some(here) = todo.pop() {
            let Ok(entries) = here.read_dir() else { continue };
            for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
                if path.is_dir() && !path.is_symlink() {
                    todo.push(path);
                } else if let Some(name) = module(Path::new(dir), &path, &suffixes) {
                    out.insert(name, path);
                }
            }
        }
    }
    (dirs, out)
}

/// The name by which the file is imported, if it is an extension module.
fn module(dir: &Path, file: &Path, suffixes: &[&str]) -> Option<String> {
    let below = file.strip_prefix(dir).ok()?.to_str()?;
    let stem = suffixes.iter().find_map(|suffix| below.strip_suffix(suffix))?;
    let word = |part: &str| part.chars().all(|c| c.is_alphanumeric() || c == '_');
    stem.split('/').all(word).then(|| stem.replace('/', "."))
}

fn report(dirs: &[String]) -> Value {
    let host = format!("{PYTHON}=**/*.so");
    let output = linkaudit()
        .args(["--facts", "--format", "json", "--host", &host])
        .args(dirs)
        .output()
        .expect("linkaudit runs");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The actions of the loader while a module was imported.
struct Real {
    bound: BTreeSet<Binding>,
    /// Needs that were searched for: the name, and who needed it.
    needs: BTreeSet<(String, String)>,
}

/// Imports a module; `None` if the import does not open its file.
fn import(name: &str, file: &str) -> Option<Real> {
    let output = clean(PYTHON)
        .args(["-I", "-c", &format!("import {name}")])
        .envs([("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings,files")])
        .output()
        .expect("python3 runs");
    assert!(output.status.signal().is_none(), "import {name}: {}", output.status);
    let text = String::from_utf8_lossy(&output.stderr);
    // Python itself asks for the function that begins a module, with dlsym.
    let is_asked = |b: &Binding| b.0 == file && b.3 == file && b.1.starts_with("PyInit_");
    let lines = text.lines().filter_map(|line| line.split_once("binding file "));
    let bound: BTreeSet<Binding> = lines.map(binding).filter(|b| !is_asked(b)).collect();
    let searched = text.lines().filter(|line| !line.ends_with("(relocation dependency)"));
    let needs = searched.filter_map(|line| {
        let (name, by) = line.split_once("file=")?.1.split_once(" [0];  needed by ")?;
        Some((name.to_owned(), by.split_once(" [0]")?.0.to_owned()))
    });
    bound.iter().any(|binding| binding.0 == file).then(|| Real { needs: needs.collect(), bound })
}

/// Compares the bindings of the module and of its libraries. Libraries that another module of the
/// process has loaded before were bound in the scope of that module.
fn difference(file: &str, real: &Real, said: &BTreeSet<Binding>) -> Vec<String> {
    let files: BTreeSet<&str> = said.iter().map(|binding| &*binding.0).collect();
    let brought = brought(file, real, &files);
    let of = |all: &BTreeSet<Binding>| -> BTreeSet<Binding> {
        all.iter().filter(|binding| brought.contains(&*binding.0)).cloned().collect()
    };
    let (real_of, said_of) = (of(&real.bound), of(said));
    let mut out = Vec::new();
    for binding in real_of.difference(&said_of) {
        out.push(format!("{file}: only the loader binds {binding:?}"));
    }
    for binding in said_of.difference(&real_of) {
        out.push(format!("{file}: the loader does not bind {binding:?}"));
    }
    for (need, by) in real.needs.iter().filter(|(_, by)| brought.contains(&**by)) {
        if !files.iter().any(|file| is_called(file, need)) {
            out.push(format!("{file}: the loader opens {need} for {by}"));
        }
    }
    for other in files.difference(&brought) {
        if !real.needs.iter().any(|(need, _)| is_called(other, need)) {
            out.push(format!("{file}: the loader opens no {other}"));
        }
    }
    out
}

fn is_called(file: &str, need: &str) -> bool {
    file.rsplit('/').next() == Some(need)
}

/// Those of `files` that the loader opened for `module` or for the libraries that it brings.
fn brought<'f>(module: &'f str, real: &Real, files: &BTreeSet<&'f str>) -> BTreeSet<&'f str> {
    let mut out = BTreeSet::from([module]);
    loop {
        let needs = real.needs.iter().filter(|(_, by)| out.contains(&**by));
        let named = |need: &String| files.iter().copied().find(|file| is_called(file, need));
        let new: Vec<&str> = needs.filter_map(|(need, _)| named(need)).collect();
        let before = out.len();
        out.extend(new);
        if out.len() == before {
            return out;
        }
    }
}
