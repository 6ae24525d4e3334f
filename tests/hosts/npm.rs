//! Packages of npm with binaries: findings about each `.node` file, with node as its host program,
//! are compared with `process.dlopen`. Without the host, no file that node loads has a finding.
//!
//! `LINKAUDIT_NPM=N` takes more packages.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::random;
use crate::support::report;

use random::number;
use report::{Report, text};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use support::{Lab, clean, linkaudit, skip};

/// Packages of napi-rs, prebuildify and other ways to publish binaries. The first are small, and
/// one of them has files that node does not load.
const PACKAGES: &[&str] = &[
    "bufferutil",
    "@node-rs/crc32-linux-x64-gnu",
    "node-hid",
    "deasync",
    "@ast-grep/lang-python",
    "@ast-grep/napi-linux-x64-gnu",
    "@cbor-extract/cbor-extract-linux-x64",
    "@css-inline/css-inline-linux-x64-gnu",
    "@datadog/native-metrics",
    "@datadog/pprof",
    "@duckdb/node-bindings-linux-x64",
    "@img/sharp-linux-x64",
    "@lancedb/lancedb-linux-x64-gnu",
    "@libsql/linux-x64-gnu",
    "@lmdb/lmdb-linux-x64",
    "@minify-html/node-linux-x64",
    "@msgpackr-extract/msgpackr-extract-linux-x64",
    "@napi-rs/blake-hash-linux-x64-gnu",
    "@napi-rs/canvas-linux-x64-gnu",
    "@napi-rs/image-linux-x64-gnu",
    "@napi-rs/keyring-linux-x64-gnu",
    "@napi-rs/simple-git-linux-x64-gnu",
    "@napi-rs/snappy-linux-x64-gnu",
    "@next/swc-linux-x64-gnu",
    "@node-rs/argon2-linux-x64-gnu",
    "@node-rs/bcrypt-linux-x64-gnu",
    "@node-rs/jieba-linux-x64-gnu",
    "@node-rs/jsonwebtoken-linux-x64-gnu",
    "@node-rs/xxhash-linux-x64-gnu",
    "@oxc-minify/binding-linux-x64-gnu",
    "@oxc-parser/binding-linux-x64-gnu",
    "@oxc-resolver/binding-linux-x64-gnu",
    "@oxc-transform/binding-linux-x64-gnu",
    "@parcel/rust-linux-x64-gnu",
    "@parcel/watcher-linux-x64-glibc",
    "@prisma/engines",
    "@resvg/resvg-js-linux-x64-gnu",
    "@rolldown/binding-linux-x64-gnu",
    "@rollup/rollup-linux-x64-gnu",
    "@rspack/binding-linux-x64-gnu",
    "@sentry-internal/node-cpu-profiler",
    "@serialport/bindings-cpp",
    "@swc/core-linux-x64-gnu",
    "@swc/css-linux-x64-gnu",
    "@swc/html-linux-x64-gnu",
    "@tailwindcss/oxide-linux-x64-gnu",
    "@temporalio/core-bridge",
    "@unrs/resolver-binding-linux-x64-gnu",
    "argon2",
    "bcrypt",
    "classic-level",
    "fs-native-extensions",
    "keccak",
    "leveldown",
    "lightningcss-linux-x64-gnu",
    "nodejs-polars-linux-x64-gnu",
    "onnxruntime-node",
    "rocksdb-native",
    "secp256k1",
    "sodium-native",
    "tree-sitter",
    "tree-sitter-javascript",
    "tree-sitter-python",
    "udx-native",
    "uiohook-napi",
    "usb",
    "utf-8-validate",
    "zeromq",
];

/// Rules about files that cannot be loaded; a file of another system is `undecided`.
const REFUSALS: [&str; 6] = [
    "undefined-symbol",
    "missing-library",
    "missing-version",
    "bad-library-file",
    "wrong-architecture",
    "undecided",
];

/// The words of errors of the loader.
const OF_LOADER: [&str; 6] = [
    "undefined symbol",
    "cannot open shared object",
    "version `",
    "invalid ELF header",
    "ELF file OS ABI invalid",
    "wrong ELF class",
];

/// The path of the program that `node` runs.
fn node() -> Option<PathBuf> {
    let output = clean("node").args(["-p", "process.execPath"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(path.trim()))
}

/// Fetches and unpacks a package; `None` if the registry does not have it.
fn fetch(lab: &Lab, package: &str) -> Option<PathBuf> {
    let dir = lab.mkdir("unpacked");
    let script =
        format!("npm pack --silent '{package}' && tar -xzf ./*.tgz -C unpacked && rm ./*.tgz");
    lab.sh(&script).status.success().then_some(dir)
}

/// Files for node on this kind of machine.
fn addons(dir: &Path) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(dir).sort_by_file_name();
    let files = walk.into_iter().flatten().filter(|entry| entry.file_type().is_file());
    let is_addon = |path: &PathBuf| {
        let mut head = [0; 20];
        path.extension().is_some_and(|end| end == "node")
            && std::fs::File::open(path).is_ok_and(|mut f| f.read_exact(&mut head).is_ok())
            && head.starts_with(b"\x7fELF\x02")
            && head[18] == 62
    };
    files.map(walkdir::DirEntry::into_path).filter(is_addon).collect()
}

/// The loader's error, if it does not load the file. Other errors are node's own.
fn refused(node: &Path, file: &Path) -> Option<String> {
    let script =
        "process.dlopen({exports: {}}, process.argv[1], require('os').constants.dlopen.RTLD_NOW)";
    let output = clean(node).args(["-e", script]).arg(file).output().expect("node runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut lines = text.lines().filter(|line| OF_LOADER.iter().any(|words| line.contains(words)));
    lines.next().map(str::to_owned)
}

/// Rules of the findings that keep the file from being loaded.
fn ours(node: Option<&Path>, file: &Path) -> Vec<String> {
    let mut command = linkaudit();
    command.arg("--isolated").arg(file);
    if let Some(node) = node {
        command.arg("--host").arg(node);
    }
    let report = Report::of(&mut command);
    let rules = report.findings().map(|finding| text(&finding["rule"]).to_owned());
    rules.filter(|rule| REFUSALS.contains(&rule.as_str())).collect()
}

#[test]
fn node_loads_what_is_called_good() {
    let Some(node) = node() else { return skip("npm", "there is no node") };
    let count = usize::try_from(number("LINKAUDIT_NPM", 4)).expect("a count");
    let (mut packages, mut files, mut bad, mut differences) = (0, 0, 0, Vec::new());
    for package in PACKAGES.iter().take(count) {
        let lab = Lab::new();
        let Some(dir) = fetch(&lab, package) else {
            println!("{package}: the registry does not have it");
            continue;
        };
        packages += 1;
        for file in addons(&dir) {
            files += 1;
            let theirs = refused(&node, &file);
            let own = ours(Some(&node), &file);
            let alone = ours(None, &file);
            bad += usize::from(theirs.is_some());
            if theirs.is_some() == own.is_empty() || theirs.is_none() && !alone.is_empty() {
                differences.push(format!("{}: {theirs:?}, we {own:?}, {alone:?}", file.display()));
            }
        }
    }
    println!(
        "npm: {packages} packages, {files} files, {bad} that node does not load, {} differences",
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(packages * 2 > count.min(PACKAGES.len()), "{packages} packages");
    assert!(files > packages && bad > 0, "hardly anything was compared");
}
