//! Plugins of this machine's programs, opened by those programs. The loader's bindings must be
//! those that linkaudit reports with `--host`. The programs must define all symbols that the
//! profile in `policies/default.toml` assumes.

use super::kit::{Binding, binding, bound};
use crate::support::{self, Lab, clean, linkaudit};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

/// A program that opens a plugin.
struct Opening {
    profile: &'static str,
    command: &'static [&'static str],
    plugin: &'static str,
    /// The program opens the plugin only where the kernel traces, so the loader preloads it
    /// instead.
    is_preloaded: bool,
}

const fn opening(
    profile: &'static str,
    command: &'static [&'static str],
    plugin: &'static str,
) -> Opening {
    Opening { profile, command, plugin, is_preloaded: false }
}

const TC: &[&str] = &["/usr/sbin/tc", "action", "add", "action", "xt", "help"];
const PACKAGEKIT: &[&str] = &["/usr/libexec/packagekitd", "--immediate-exit", "--backend", "dummy"];
const GDB: &[&str] = &[
    "/usr/bin/gdb",
    "-nx",
    "-batch",
    "-ex",
    "set debuginfod enabled off",
    "-ex",
    "run",
    "/usr/bin/true",
];

const OPENINGS: &[Opening] = &[
    opening("tc", TC, "/usr/lib/x86_64-linux-gnu/tc/m_xt.so"),
    opening(
        "packagekit",
        PACKAGEKIT,
        "/usr/lib/x86_64-linux-gnu/packagekit-backend/libpk_backend_dummy.so",
    ),
    opening("thread_db", GDB, "/usr/lib/x86_64-linux-gnu/libthread_db.so.1"),
    Opening {
        is_preloaded: true,
        ..opening(
            "traceevent",
            &["/usr/bin/perf", "--version"],
            "/usr/lib/traceevent/plugins/plugin_kvm.so",
        )
    },
    Opening {
        is_preloaded: true,
        ..opening(
            "traceevent",
            &["/usr/bin/perf", "--version"],
            "/usr/lib/traceevent/plugins/plugin_function.so",
        )
    },
];

#[test]
fn plugins_of_programs() {
    let (mut compared, mut bindings, mut assumed) = (0, 0, 0);
    let mut differences = Vec::new();
    for opening in OPENINGS {
        let missing = [opening.command[0], opening.plugin].into_iter();
        if let Some(path) = missing.into_iter().find(|path| !Path::new(path).exists()) {
            support::skip("plugins_of_programs", &format!("{path} is not installed"));
            continue;
        }
        let (theirs, ours) = (real(opening), said(opening));
        for binding in theirs.symmetric_difference(&ours) {
            let who = if theirs.contains(binding) { "the loader" } else { "linkaudit" };
            differences.push(format!("{}: only {who} binds {binding:?}", opening.plugin));
        }
        let undefined = alone(opening);
        let program = opening.command[0];
        let defined = |symbol: &&String| ours.iter().any(|b| b.1 == **symbol && b.3 == program);
        let nobody = undefined.iter().find(|symbol| !defined(symbol));
        assert!(nobody.is_none(), "{}: {nobody:?} is not of {program}", opening.plugin);
        (compared, bindings) = (compared + 1, bindings + ours.len());
        assumed += undefined.len();
    }
    println!(
        "hosts: {compared} plugins of programs, {bindings} bindings, {assumed} names assumed \
         without the program, {} differences",
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The name of a file with its links resolved: programs open plugins by names of their own.
fn real_name(name: &str) -> String {
    let path = Path::new(name).canonicalize();
    path.ok().and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| name.to_owned())
}

/// Bindings of the plugin with all names made alike.
fn of_plugin(opening: &Opening, all: impl Iterator<Item = Binding>) -> BTreeSet<Binding> {
    all.map(|(file, symbol, version, by)| (real_name(&file), symbol, version, real_name(&by)))
        .filter(|(file, ..)| file == opening.plugin)
        .collect()
}

/// The loader's bindings of the plugin while the program has it open.
fn real(opening: &Opening) -> BTreeSet<Binding> {
    let lab = Lab::new();
    let (program, args) = opening.command.split_first().expect("a program");
    let mut command = clean(program);
    command.args(args).env("LD_BIND_NOW", "1").env("LD_DEBUG", "bindings");
    // One file for each process: gdb's child has the same variables.
    command.env("LD_DEBUG_OUTPUT", lab.path("bindings"));
    if opening.is_preloaded {
        command.env("LD_PRELOAD", opening.plugin);
    }
    // Some programs cannot do their work here; it is enough that they open the plugin.
    command.output().expect("the program runs");
    let files = lab.root().read_dir().expect("a directory").flatten();
    let text: String = files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
    let lines = text.lines().filter_map(|line| line.split_once("binding file ")).map(binding);
    let mut out = of_plugin(opening, lines);
    assert!(!out.is_empty(), "{} opens no {}", opening.command.join(" "), opening.plugin);
    // Symbols that the program gets with dlsym are printed as bindings of the plugin to itself.
    let own = |(file, symbol, _, by): &Binding| {
        file == by && opening.asks().iter().any(|start| symbol.starts_with(start))
    };
    out.retain(|binding| !own(binding));
    out
}

impl Opening {
    /// Beginnings of names that the program asks for with dlsym.
    fn asks(&self) -> &[&str] {
        match self.profile {
            "tc" => &["xt_action_util"],
            "packagekit" => &["pk_backend_"],
            "thread_db" => &["td_"],
            _ => &[],
        }
    }
}

/// linkaudit's bindings with the program given.
fn said(opening: &Opening) -> BTreeSet<Binding> {
    let host = format!("{}=*", opening.command[0]);
    let report = report(&["--facts", "--host", &host], opening.plugin);
    let mut out = of_plugin(opening, bound(&report, opening.plugin).into_iter());
    out.retain(|(file, symbol, _, by)| {
        file != by || !opening.asks().iter().any(|start| symbol.starts_with(start))
    });
    out
}

fn report(args: &[&str], plugin: &str) -> Value {
    let mut command = linkaudit();
    command.args(["--isolated", "--format", "json"]).args(args).arg(plugin);
    let output = command.output().expect("linkaudit runs");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The undefined symbols of the plugin alone according to the loader. The profile must assume all
/// of them, and there must be no other finding.
fn alone(opening: &Opening) -> BTreeSet<String> {
    let text = support::ldd_r(Path::new("/"), OsStr::new(opening.plugin));
    let undefined = support::undefined(&text);
    assert!(!undefined.is_empty(), "{} needs no program", opening.plugin);
    let report = report(&[], opening.plugin);
    assert_eq!(report["findings"], json!([]), "{}", opening.plugin);
    let assumed = json!({ opening.profile: undefined.len() });
    assert_eq!(report["totals"]["assumed_by_host"], assumed, "{}", opening.plugin);
    undefined
}
