//! Runs a table of cases: a small program opens a plugin with dlopen. The real loader's bindings,
//! libraries and errors must be those that linkaudit reports for the plugin with `--host`.
//!
//! `notation` describes how files are linked, as in the loader cases.

pub(crate) use super::notation::{cases, exe, so};
use crate::support::{Lab, clean};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Referring file, symbol, version and defining file, as the loader names them.
pub(crate) type Binding = (String, String, Option<String>, String);
/// Makes the files of a case.
pub(crate) type Build = fn(&Lab) -> Vec<Target>;
pub(crate) type Case = (&'static str, Build);

/// A plugin to open, and all expected findings: the rule and the subject of each.
pub(crate) struct Target {
    plugin: &'static str,
    findings: BTreeSet<(&'static str, &'static str)>,
    options: Vec<(&'static str, &'static str)>,
    must_bind: Vec<(&'static str, &'static str)>,
    /// The argument of `--host`.
    host: &'static str,
}

/// The program of most cases.
pub(crate) const HOST: &str = "./app";
const OPENING: &str = "==== opening";
const OPENED: &str = "==== opened";

/// A plugin that can be opened.
pub(crate) fn opens(plugin: &'static str) -> Target {
    fails(plugin, &[])
}

/// A plugin that cannot be opened, for these reasons.
pub(crate) fn fails(plugin: &'static str, findings: &[(&'static str, &'static str)]) -> Target {
    let findings = findings.iter().copied().collect();
    let (options, must_bind) = (Vec::new(), Vec::new());
    Target { plugin, findings, options, must_bind, host: HOST }
}

impl Target {
    /// With LD_LIBRARY_PATH or LD_PRELOAD.
    pub(crate) fn with(mut self, variable: &'static str, value: &'static str) -> Self {
        self.options.push((variable, value));
        self
    }

    /// Guards the case itself: the loader takes this symbol from a file whose path ends so.
    pub(crate) fn binds(mut self, symbol: &'static str, provider: &'static str) -> Self {
        self.must_bind.push((symbol, provider));
        self
    }

    /// A plugin by a GLOB, even if other objects load it.
    pub(crate) fn by_glob(mut self) -> Self {
        self.host = "./app=*.so*";
        self
    }
}

/// A program that opens its argument. `exports` is more C text, flags are linker options.
pub(crate) fn app(lab: &Lab, exports: &str, flags: &str) {
    let source = format!(
        "#include <dlfcn.h>\n#include <string.h>\n#include <stdio.h>\n#include <unistd.h>\n{exports}\n\
         int main(int n, char **args) {{\n\
         write(2, \"{OPENING}\\n\", strlen(\"{OPENING}\\n\"));\n\
         void *plugin = dlopen(args[1], RTLD_NOW | RTLD_LOCAL);\n\
         write(2, \"{OPENED}\\n\", strlen(\"{OPENED}\\n\"));\n\
         if (!plugin) {{ puts(dlerror()); return 1; }}\n\
         return 0; }}"
    );
    exe(lab, "app", &source, flags);
}

/// The bindings, libraries and errors of the real loader.
struct Real {
    bound: BTreeSet<Binding>,
    mapped: BTreeSet<String>,
    error: Option<String>,
}

/// Opens the plugin and reads what the loader says of it.
fn real(lab: &Lab, target: &Target) -> Real {
    let output = clean(HOST)
        .current_dir(lab.root())
        .arg(target.plugin)
        .envs(target.options.iter().copied())
        .envs([("LD_BIND_NOW", "1"), ("LD_DEBUG", "bindings,files")])
        .output()
        .expect("the host runs");
    let text = String::from_utf8_lossy(&output.stderr);
    let (_, text) = text.split_once(OPENING).unwrap_or_else(|| panic!("no start:\n{text}"));
    let (text, _) = text.split_once(OPENED).unwrap_or_else(|| panic!("no end:\n{text}"));
    let lines = || text.lines();
    let inits = lines().filter_map(|line| line.split_once("calling init: "));
    let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Real {
        bound: lines().filter_map(|line| line.split_once("binding file ")).map(binding).collect(),
        mapped: inits.map(|(_, path)| path.trim().to_owned()).collect(),
        error: (!answer.is_empty()).then_some(answer),
    }
}

/// A line of LD_DEBUG=bindings behind `binding file `.
pub(crate) fn binding((_, line): (&str, &str)) -> Binding {
    let read = || {
        let (file, rest) = line.split_once(" [0] to ")?;
        let (provider, rest) = rest.split_once(" [0]: ")?;
        let (symbol, version) = rest.split_once(" symbol `")?.1.split_once('\'')?;
        let version = version.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        Some((file.to_owned(), symbol.to_owned(), version.map(str::to_owned), provider.to_owned()))
    };
    read().unwrap_or_else(|| panic!("cannot be read: {line}"))
}

/// A policy with only errors: the laboratories have many things that work, but not as intended.
pub(crate) const ONLY_ERRORS: &str = "schema = 1\n\n[levels]\nsearch-path = \"allow\"\n\
    link-hygiene = \"allow\"\ninterposed-symbol = \"allow\"\nlibrary-twice = \"allow\"\n";

/// The bindings, libraries and findings of linkaudit.
struct Said {
    bound: BTreeSet<Binding>,
    mapped: BTreeSet<String>,
    findings: BTreeSet<(String, String)>,
}

fn said(lab: &Lab, target: &Target) -> Said {
    let mut args = vec!["--host", target.host];
    for (variable, value) in &target.options {
        let option = match *variable {
            "LD_LIBRARY_PATH" => "--ld-library-path",
            _ => "--ld-preload",
        };
        args.extend([option, *value]);
    }
    let json = |command: &str| -> Value {
        let mut all = vec![command, "--format", "json"];
        all.extend((command == "check").then_some("--facts"));
        all.extend(&args);
        all.push(target.plugin);
        let output = lab.linkaudit(&all);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&output.stderr)))
    };
    let (report, tree) = (json("check"), json("tree"));
    let plugin = lab.path(target.plugin);
    let plugin = plugin.canonicalize().expect("the plugin");
    let plugin = plugin.to_str().expect("a path in UTF-8");
    let of_plugin = |finding: &&Value| finding["root"] == plugin;
    Said {
        bound: bound(&report, plugin),
        mapped: mapped(&tree, plugin, target.plugin),
        findings: list(&report["findings"]).filter(of_plugin).map(about).collect(),
    }
}

/// All bindings of one root.
pub(crate) fn bound(report: &Value, root: &str) -> BTreeSet<Binding> {
    let text = |value: &Value| value.as_str().expect("a name in UTF-8").to_owned();
    let of_root = list(&report["bindings"]).filter(|bindings| bindings["root"] == root);
    of_root
        .flat_map(|bindings| list(&bindings["bound"]))
        .map(|one| {
            (text(&one[0]), text(&one[1]), one[2].as_str().map(str::to_owned), text(&one[3]))
        })
        .collect()
}

/// The files loaded for the plugin, including itself, by the names under which they were opened.
fn mapped(tree: &Value, plugin: &str, typed: &str) -> BTreeSet<String> {
    let mut by_file: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for edge in list(&tree["edges"]).filter(|edge| edge["loads"] == true) {
        by_file.entry(edge["from"].as_str().expect("a path")).or_default().push(edge);
    }
    let (mut out, mut todo) = (BTreeSet::from([typed.to_owned()]), vec![plugin]);
    // A need of the host has loaded the file itself.
    let is_it = |edge: &&Value| edge["to"] == plugin;
    if by_file.values().flatten().copied().any(|edge| is_it(&edge)) {
        out.clear();
    }
    while let Some(file) = todo.pop() {
        for edge in by_file.remove(file).unwrap_or_default() {
            if let (Some(to), Some(opened)) = (edge["to"].as_str(), edge["opened"].as_str()) {
                out.insert(opened.to_owned());
                todo.push(to);
            }
        }
    }
    out
}

/// A finding in short.
fn about(finding: &Value) -> (String, String) {
    let keys: &[&str] = match finding["rule"].as_str() {
        Some("undefined-symbol") => &["symbol"],
        Some("missing-version") => &["version"],
        Some("missing-library") => &["library"],
        _ => &["detail"],
    };
    let name = keys.iter().find_map(|key| finding[key].as_str()).unwrap_or_default();
    (finding["rule"].as_str().expect("a rule").to_owned(), name.to_owned())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter()
}

/// The rule and the subject for a text of dlerror.
fn error(text: &str) -> (String, String) {
    let own = |rule: &str, name: &str| (rule.to_owned(), name.to_owned());
    if let Some((_, name)) = text.split_once("undefined symbol: ") {
        return own("undefined-symbol", name.split(',').next().unwrap_or(name));
    }
    if let Some((name, _)) = text.split_once(": cannot open shared object file") {
        return own("missing-library", name);
    }
    if let Some((_, rest)) = text.split_once("version `") {
        return own("missing-version", rest.split('\'').next().unwrap_or(rest));
    }
    own("bad-library-file", text.split_once(": ").map_or(text, |(_, text)| text))
}

/// Counts over all themes.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) cases: usize,
    pub(crate) bindings: usize,
    pub(crate) files: usize,
    pub(crate) differences: Vec<String>,
}

/// Builds and compares every case of a theme.
pub(crate) fn run(cases: &[Case], counts: &mut Counts) {
    for (name, build) in cases {
        let lab = Lab::new();
        lab.write("linkaudit.toml", ONLY_ERRORS);
        let targets = build(&lab);
        assert!(!targets.is_empty(), "{name} has no target");
        for target in targets {
            counts.cases += 1;
            compare(name, &lab, &target, counts);
        }
    }
}

fn compare(name: &str, lab: &Lab, target: &Target, counts: &mut Counts) {
    let (real, said) = (real(lab, target), said(lab, target));
    counts.bindings += real.bound.len();
    counts.files += real.mapped.len();
    let place = format!("{name}: {}", target.plugin);
    let mut differs = |text: String| counts.differences.push(format!("=== {place}: {text}"));
    let expected: BTreeSet<(String, String)> =
        target.findings.iter().map(|(rule, name)| ((*rule).into(), (*name).into())).collect();
    if said.findings != expected {
        differs(format!("reported {:?}, expected {expected:?}", said.findings));
    }
    match real.error.as_deref().map(|text| (text, error(text))) {
        None if !expected.is_empty() => differs("the loader has nothing to say".to_owned()),
        Some((text, found)) if !said.findings.contains(&found) => {
            differs(format!("the loader says: {text}"));
        }
        _ => {}
    }
    // A dlopen that fails ends at its first error, so the loader prints only a part of the
    // bindings.
    for binding in real.bound.difference(&said.bound) {
        differs(format!("only the loader binds {binding:?}"));
    }
    if real.error.is_none() {
        for binding in said.bound.difference(&real.bound) {
            differs(format!("the loader does not bind {binding:?}"));
        }
        if real.mapped != said.mapped {
            differs(format!("mapped {:?}, the loader {:?}", said.mapped, real.mapped));
        }
    }
    for (symbol, provider) in &target.must_bind {
        let is = |b: &Binding| b.1 == *symbol && b.3.ends_with(provider);
        if !real.bound.iter().any(is) {
            differs(format!(
                "the case misses its rule: {symbol} is not of {provider}: {:?}",
                real.bound
            ));
        }
    }
}
