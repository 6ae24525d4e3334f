//! Processes that open plugins. Python and Perl import their modules that are shared objects, one
//! in each process. The loader's bindings at the start, and in each file that is opened later
//! with its libraries, must equal the bindings in the report under that host program.
//!
//! `cargo test` imports a sample; `LINKAUDIT_SWEEP=all` imports every module.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::ld_debug::{Binding, Run, is_fitting, run};
use crate::support::random::is_sweep;
use crate::support::report::{self, Report};
use crate::support::{Lab, clean};

use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Without `LINKAUDIT_SWEEP=all`, one module in this many.
const STEP: usize = 6;

/// Prints the modules of the interpreter that are shared objects.
const PYTHON: &str = "
import importlib.machinery, os, sys
for top in sys.path:
    for dir, _, files in os.walk(top):
        for name in files:
            for end in importlib.machinery.EXTENSION_SUFFIXES:
                if name.endswith(end):
                    path = os.path.relpath(os.path.join(dir, name[:-len(end)]), top)
                    if '-' not in path and '.' not in path:
                        print(path.replace('/', '.'))
                    break
";

#[test]
fn python_modules() {
    let Ok(python) = Path::new("/usr/bin/python3").canonicalize() else {
        return support::skip("plugin_processes: python", "there is no /usr/bin/python3");
    };
    let output = clean(&python).args(["-I", "-c", PYTHON]).output().expect("python runs");
    let modules: BTreeSet<&str> =
        std::str::from_utf8(&output.stdout).expect("text").lines().collect();
    let commands =
        modules.iter().map(|name| vec!["-I".into(), "-c".into(), format!("import {name}")]);
    compare("python", &python, commands.collect());
}

#[test]
fn perl_modules() {
    let perl = Path::new("/usr/bin/perl").canonicalize().expect("Debian's essential perl");
    let output = clean(&perl).args(["-e", "print join \"\\n\", @INC"]).output().expect("perl runs");
    let mut modules = BTreeSet::new();
    for top in std::str::from_utf8(&output.stdout).expect("text").lines() {
        let auto = Path::new(top).join("auto");
        for entry in walkdir::WalkDir::new(&auto).into_iter().filter_map(Result::ok) {
            let path = entry.path();
            // `auto/List/Util/Util.so` is of the module `List::Util`.
            let module = path.parent().and_then(|dir| dir.strip_prefix(&auto).ok());
            if path.extension().is_some_and(|end| end == "so") {
                modules.extend(module.and_then(Path::to_str).map(|name| name.replace('/', "::")));
            }
        }
    }
    let commands = modules.iter().map(|name| vec![format!("-M{name}"), "-e".into(), "1".into()]);
    compare("perl", &perl, commands.collect());
}

/// Real paths, cached.
#[derive(Default)]
struct Paths(BTreeMap<String, PathBuf>);

impl Paths {
    fn real(&mut self, path: &str) -> PathBuf {
        let real = || Path::new(path).canonicalize().unwrap_or_else(|_| path.into());
        self.0.entry(path.to_owned()).or_insert_with(real).clone()
    }

    fn resolved(&mut self, bound: &BTreeSet<Binding>) -> BTreeSet<Bound> {
        let one = |(file, symbol, version, provider): &Binding| {
            (self.real(file), symbol.clone(), version.clone(), self.real(provider))
        };
        bound.iter().map(one).collect()
    }
}

/// A binding with real paths.
type Bound = (PathBuf, String, Option<String>, PathBuf);

/// Runs the program once for each list of arguments, and compares.
fn compare(name: &str, program: &Path, commands: Vec<Vec<String>>) {
    assert!(is_fitting(program), "{}: another loader", program.display());
    let commands: Vec<_> =
        commands.into_iter().step_by(if is_sweep() { 1 } else { STEP }).collect();
    let runs: Vec<(&Vec<String>, Option<Run>)> =
        commands.par_iter().map(|args| (args, run(program, args))).collect();
    let failed = runs.iter().filter(|(_, run)| run.is_none()).count();
    let runs: Vec<(&Vec<String>, Run)> =
        runs.into_iter().filter_map(|(args, run)| Some((args, run?))).collect();
    let mut paths = Paths::default();
    let openings = runs.iter().flat_map(|(_, run)| &run.opened);
    let opened: BTreeSet<PathBuf> =
        openings.filter_map(|opening| Some(paths.real(opening.files.last()?))).collect();
    let said = said(program, &opened, &mut paths);

    let (mut bindings, mut differences) = (0, Vec::new());
    let mut differ = |what: &str, theirs: &BTreeSet<Bound>, ours: &BTreeSet<Bound>| {
        bindings += theirs.len();
        let only =
            theirs.difference(ours).map(|bound| format!("{what}: only the loader: {bound:?}"));
        differences.extend(only);
        let only =
            ours.difference(theirs).map(|bound| format!("{what}: only the report: {bound:?}"));
        differences.extend(only);
    };
    for (args, run) in &runs {
        let start = paths.resolved(&run.start);
        differ(&format!("{args:?} at the start"), &start, &said[program]);
        let mut loaded: BTreeSet<PathBuf> = start.into_iter().map(|(file, ..)| file).collect();
        for opening in &run.opened {
            let files: Vec<PathBuf> = opening.files.iter().map(|file| paths.real(file)).collect();
            let Some(root) = files.last() else { continue };
            loaded.extend(files.iter().cloned());
            // Files that the process has loaded already keep their bindings.
            let is_new = |(file, ..): &&Bound| files.contains(file) || !loaded.contains(file);
            let ours: BTreeSet<Bound> = said[root].iter().filter(is_new).cloned().collect();
            let what = format!("{args:?} {}", root.display());
            differ(&what, &paths.resolved(&opening.bound), &ours);
        }
    }
    println!(
        "plugin processes: {} of {name}, which open {} files, {bindings} bindings, {} differences; \
         {failed} modules cannot be imported",
        runs.len(),
        opened.len(),
        differences.len()
    );
    assert!(failed * 5 <= runs.len(), "{failed} of {} fail", commands.len());
    assert!(opened.len() >= if is_sweep() { 15 } else { 3 }, "{} files", opened.len());
    differences.truncate(50);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The bindings of the program, and under it those of each file.
fn said(
    program: &Path,
    opened: &BTreeSet<PathBuf>,
    paths: &mut Paths,
) -> BTreeMap<PathBuf, BTreeSet<Bound>> {
    let lab = Lab::new();
    let list: Vec<&[u8]> = opened.iter().map(|path| path.as_os_str().as_bytes()).collect();
    let list = lab.write("list", list.join(&b'\n'));
    let host = format!("{}=**", program.display());
    let options = ["--isolated", "--facts", "--host", &host, "--files-from"];
    let report = Report::of(support::linkaudit().args(options).arg(list));
    let mut said: BTreeMap<PathBuf, BTreeSet<Bound>> = BTreeMap::new();
    for root in report::list(&report.value["bindings"]) {
        let bound = report::list(&root["bound"]).map(|bound| {
            let parts: Vec<_> = report::list(bound).collect();
            let [file, symbol, version, provider] = parts[..] else { panic!("{bound}") };
            let text = |value| report::text(value).to_owned();
            let version = version.as_str().map(str::to_owned);
            (paths.real(&text(file)), text(symbol), version, paths.real(&text(provider)))
        });
        let bound = bound.collect();
        said.insert(report::path(&root["root"]), bound);
    }
    said
}
