//! A sysroot of Debian 12 with the programs that load most plugins, unpacked and never configured,
//! under `--root`. Findings that remain if the programs are not given must be on a list, with
//! reasons. Symbols that are assumed must exist in the programs.
//!
//! The oracle is the sysroot's own loader in a chroot: it preloads each plugin into its program and
//! prints the undefined symbols. Debian 12 has had its last point release, so its packages rarely
//! change; `packages.txt` has their versions. Findings in packages with another version are
//! printed, and not compared with the list. `UPDATE=1` writes the versions again.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::debian;
mod hosts;
mod lists;
use crate::support::report;
mod traces;

use hosts::{AFTER, FEW, HOSTS, LINKS, LOADS, LOADS_OF_MANY, MANY};
use linkaudit::policy::Pattern;
use lists::{Fact, Moved};
use report::Report;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use std::path::Path;
use support::{Lab, clean, skip};

const SUITE: &str = "bookworm";

#[test]
fn what_is_found_is_real_and_what_is_assumed_is_there() {
    let chroot = clean("chroot").args(["/", "true"]).status();
    if !chroot.is_ok_and(|status| status.success()) {
        return skip("debian_hosts", "needs root for chroot");
    }
    let many = std::env::var_os("LINKAUDIT_ROOTS").is_some();
    let packages: Vec<&str> = if many { MANY.split_whitespace().collect() } else { FEW.to_vec() };
    let fetched = debian::Debian::new(SUITE, "amd64").and_then(|debian| debian.fetch(&packages));
    let files = match fetched {
        Ok(files) => files,
        Err(reason) => return skip(&format!("debian_hosts: {SUITE}"), &reason),
    };
    let lab = Lab::new();
    let root = lab.path("root");
    debian::unpack_merged(&files, &root).expect("packages that unpack");
    for (link, target) in LINKS {
        let link = root.join(link);
        if link.parent().is_some_and(|dir| dir.join(target).exists()) {
            symlink(target, link).expect("a link");
        }
    }
    // Perl opens /dev/null to run a line of text.
    std::fs::create_dir_all(root.join("dev")).expect("a directory");
    std::fs::write(root.join("dev/null"), "").expect("a file");
    let moved = Moved::new(&files, many);
    println!("{moved}");

    let unnamed = audit(&root, &[]);
    let policy = lab.write("hosts.toml", policy());
    let named = audit(&root, &["--policy", policy.to_str().expect("a path in UTF-8")]);
    let (facts, strict) = (lists::facts(&unnamed), lists::facts(&named));
    let ldd = traces::undefined_lines(&root, &lists::elf_files(&unnamed));
    println!("{SUITE}: {} packages, {} files", files.len(), unnamed.total("elf"));
    println!("ldd -r of every file prints {ldd} lines of undefined symbols");
    println!(
        "linkaudit: {} findings, {} references are assumed: {}",
        facts.len(),
        unnamed.total("assumed"),
        unnamed.value["totals"]["assumed_by_host"]
    );
    println!("with the programs named: {} findings", strict.len());

    let plugins = plugins(&named);
    assert!(plugins.len() > 100, "{} plugins", plugins.len());
    traces::compare(&root, &plugins, &named);
    loads(&root, if many { &[LOADS, LOADS_OF_MANY] } else { &[LOADS] });
    let wrong =
        [lists::held_against_the_list(&root, &facts, &moved, many), not_there(&named, &facts)];
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}\n{moved}", wrong.join("\n"));
}

fn audit(root: &Path, args: &[&str]) -> Report {
    let mut command = support::linkaudit();
    let report =
        Report::of(command.args(["--isolated", "--root"]).arg(root).args(args).arg("/usr"));
    assert!(report.complete(), "something could not be read or decided");
    report
}

/// [`HOSTS`] as a policy.
fn policy() -> String {
    let entry = |(number, (program, plugins)): (usize, &(_, _))| {
        format!(
            "[[host]]\nname = \"host-{number}\"\nplugins = \"{plugins}\"\nexecutable = \"{program}\"\n\
             symbols = [\"nothing\"]\n"
        )
    };
    let entries: Vec<String> = HOSTS.iter().enumerate().map(entry).collect();
    format!("schema = 1\n{}", entries.concat())
}

fn matches(glob: &str, path: &str) -> bool {
    Pattern::path(glob).expect("a glob").matches(path.as_bytes())
}

/// Plugins of installed programs, by path below `/usr`, with the programs.
fn plugins(report: &Report) -> BTreeMap<String, Vec<&'static str>> {
    let files = report.value["files"].as_array().expect("files");
    let below = |file: &Value| lists::below(file).map(str::to_owned);
    let is_program = |file: &&Value| !file["interpreter"].is_null();
    let programs: BTreeSet<String> = files.iter().filter(is_program).filter_map(below).collect();
    let mut out: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for path in files.iter().filter(|file| !is_program(file)).filter_map(below) {
        for (program, _) in HOSTS.iter().filter(|(_, plugins)| matches(plugins, &path)) {
            if programs.contains(*program) {
                out.entry(path.clone()).or_default().push(program);
            }
        }
    }
    out
}

/// Wrong assumptions: symbols that are assumed without the programs, that are findings with them,
/// and that no plugin loaded before defines.
fn not_there(named: &Report, unnamed: &BTreeSet<Fact>) -> Vec<String> {
    let mut assumed = 0;
    let mut wrong = Vec::new();
    for finding in named.value["findings"].as_array().expect("findings") {
        let fact = Fact::new(finding);
        if fact.rule != "undefined-symbol" || unnamed.contains(&fact) {
            continue;
        }
        assumed += 1;
        let before = |provider: &str| {
            let pairs = AFTER.iter().filter(|(plugin, _)| matches(plugin, &fact.path));
            pairs.into_iter().any(|(_, before)| matches(before, provider))
        };
        let evidence = finding["evidence"].as_array().expect("evidence").iter();
        let at_hand = evidence.filter(|piece| piece["kind"] == "candidate");
        let mut providers =
            at_hand.filter_map(|piece| piece["path"].as_str()?.strip_prefix("/usr/"));
        if !providers.any(before) {
            wrong.push(format!("assumed, and nobody defines it: {fact}"));
        }
    }
    println!("assumed, and defined by a plugin that is loaded before: {assumed} findings");
    wrong
}

/// Runs programs that load their plugins.
fn loads(root: &Path, tables: &[&[&[&str]]]) {
    for command in tables.iter().copied().flatten() {
        let mut chroot = clean("chroot");
        chroot.arg(root).arg("/usr/bin/env").args(["-i", "PATH=/usr/bin"]).args(*command);
        let output = chroot.output().expect("chroot runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.is_empty(), "{command:?}: {text}");
    }
    println!("{} programs load their plugins", tables.iter().map(|t| t.len()).sum::<usize>());
}
