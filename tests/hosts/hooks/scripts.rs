//! The files themselves: tables and disk are in step, all gates pass `--isolated`, and shellcheck
//! and the parsers of the languages accept every file.

use linkaudit::hooks::SYSTEMS;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::{clean, has, skip};

/// Files that build linkaudit itself, or are generated from other files here.
const NOT_INSTALLED: &[&str] = &["package.nix", "flake.nix", "page.md"];

fn integrations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations")
}

#[test]
fn every_file_is_in_the_table() {
    let mut on_disk = BTreeSet::new();
    for entry in
        walkdir::WalkDir::new(integrations()).into_iter().map(|entry| entry.expect("an entry"))
    {
        let path = entry.path().strip_prefix(integrations()).expect("below it");
        let name = entry.file_name().to_str().expect("a name in UTF-8");
        if entry.file_type().is_file()
            && !path.starts_with("packaging")
            && !NOT_INSTALLED.contains(&name)
        {
            on_disk.insert(path.to_str().expect("a name in UTF-8").to_owned());
        }
    }
    let files = SYSTEMS.iter().flat_map(|system| {
        system.files.iter().map(move |file| format!("{}/{}", system.name, file.path))
    });
    assert_eq!(files.collect::<BTreeSet<_>>(), on_disk);
}

/// Lines that call linkaudit, comments aside.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    let is_call = |line: &&str| {
        let line = line.trim_start();
        let is_comment =
            ["#", "//", ";", "name:", "\"\"\""].iter().any(|mark| line.starts_with(mark));
        let words = [
            "linkaudit --",
            "@linkaudit@ ",
            "LINKAUDIT_PROGRAM}",
            "\"linkaudit\", \"--",
            "\"linkaudit\" \"--",
        ];
        !is_comment
            && words.iter().any(|word| line.contains(word))
            && !line.contains("find_program")
    };
    text.lines().filter(is_call)
}

#[test]
fn no_package_waives_itself() {
    let mut count = 0;
    for file in SYSTEMS.iter().flat_map(|system| system.files) {
        for call in calls(file.text) {
            count += 1;
            assert!(call.contains("--isolated"), "{}: {call}", file.path);
        }
        let whole = file.text.matches("--isolated").count();
        let is_part = ["setup-hook.nix", "linkaudit.pm", "80linkaudit", "macros.linkaudit"];
        let mentions = is_part.iter().any(|end| file.path.ends_with(end));
        let others = [".hook", "control", "matcher.json", "meson.build"]
            .iter()
            .any(|end| file.path.ends_with(end));
        assert!(whole > 0 || mentions || others, "{}: no call with --isolated", file.path);
    }
    assert!(count >= 18, "{count} calls were found");
    println!("calls of linkaudit: {count} cases, 0 without --isolated");
}

/// Shell scripts by their first line, or by what sources them.
fn is_shell(path: &str, text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let is_sourced = first == "# shellcheck shell=bash";
    is_sourced
        || first.starts_with("#!/bin/")
        || Path::new(path).extension().is_some_and(|end| end == "sh")
}

#[test]
fn scripts_pass_shellcheck() {
    if !has("shellcheck") {
        return skip("scripts_pass_shellcheck", "there is no shellcheck");
    }
    let mut count = 0;
    for system in SYSTEMS {
        for file in system.files.iter().filter(|file| is_shell(file.path, file.text)) {
            count += 1;
            let run = clean("shellcheck")
                .arg(integrations().join(system.name).join(file.path))
                .output()
                .expect("shellcheck runs");
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
        }
    }
    assert!(count >= 11, "{count} scripts");
    println!("shellcheck: {count} cases, 0 differ");
}

/// Fails with its output unless a program accepts a file.
fn accepts(program: &str, args: &[&str], file: &Path) {
    if program != "perl" && !has(program) {
        return skip(&format!("parser_{program}"), "it is not installed");
    }
    let run = clean(program).args(args).arg(file).env("PYTHONDONTWRITEBYTECODE", "1").output();
    let run = run.expect("the parser runs");
    let said =
        String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{program} {}: {said}", file.display());
}

const PARSE_PYTHON: &str = "import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])";
const PARSE_YAML: &str = "import sys, yaml; assert yaml.safe_load(open(sys.argv[1]))";
const PARSE_JSON: &str = "import json, re, sys
for p in json.load(open(sys.argv[1]))['problemMatcher'][0]['pattern']: re.compile(p['regexp'])";
/// A class of BitBake: Python tasks are parsed as functions, shell functions by sh.
const PARSE_BBCLASS: &str = r"
import ast, re, subprocess, sys
text = open(sys.argv[1]).read()
parts = re.findall(r'^(python )?(\w+)\(?\)? ?\(?\)? ?\{\n(.*?)^\}', text, re.M | re.S)
assert parts
for python, name, body in parts:
    if python:
        ast.parse(f'def {name}(d):\n{body}')
    else:
        subprocess.run(['sh', '-n'], input=body, text=True, check=True)
rest = re.sub(r'^(python )?\w+\(\) \{\n.*?^\}', '', text, flags=re.M | re.S)
for line in rest.splitlines():
    assert not line or re.match(r'#|addtask |inherit |[\w:\[\]-]+ (\?|\+|:)?= ', line), line
";

#[test]
fn parsers_accept_the_other_files() {
    let mut count = 0;
    for system in SYSTEMS {
        for file in system.files {
            let path = integrations().join(system.name).join(file.path);
            let python = |program: &str| accepts("python3", &["-c", program], &path);
            match path.extension().and_then(|end| end.to_str()) {
                Some("py") => python(PARSE_PYTHON),
                Some("yml" | "yaml") => python(PARSE_YAML),
                Some("json") => python(PARSE_JSON),
                Some("bbclass") => python(PARSE_BBCLASS),
                Some("nix") => accepts("nix-instantiate", &["--parse"], &path),
                _ if file.text.starts_with("#!/usr/bin/env python3") => python(PARSE_PYTHON),
                _ => continue,
            }
            count += 1;
        }
    }
    for name in ["nix/package.nix", "nix/flake.nix"] {
        accepts("nix-instantiate", &["--parse"], &integrations().join(name));
        count += 1;
    }
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join(".pre-commit-hooks.yaml");
    accepts("python3", &["-c", PARSE_YAML], &hooks);
    println!("parsers: {} cases, 0 differ", count + 1);
}
