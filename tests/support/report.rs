//! A JSON report of a run, for tests: findings by rule, totals, names as bytes. Reading a report
//! also checks that its totals add up.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use base64::Engine as _;
use serde_json::Value;

pub struct Report {
    /// The exit status.
    pub status: i32,
    /// The report as written.
    pub bytes: Vec<u8>,
    pub value: Value,
}

impl Report {
    /// Runs `command`, to which `--format json` is added.
    pub fn of(command: &mut Command) -> Self {
        let output = command.args(["--format", "json"]).output().expect("linkaudit runs");
        Self::from(output)
    }

    pub fn from(output: Output) -> Self {
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.stdout.is_empty(), "no report: {error}");
        let value = crate::support::whole(&output.stdout);
        let status = output.status.code().expect("linkaudit was not ended by a signal");
        let report = Self { status, bytes: output.stdout, value };
        report.balances();
        report
    }

    /// Checks that every entry is counted exactly once.
    fn balances(&self) {
        let kinds = ["elf", "archives", "other", "links", "special", "partial"];
        let counted: u64 = kinds.iter().map(|kind| self.total(kind)).sum();
        let totals = &self.value["totals"];
        let sum = |name: &str| -> u64 {
            let counts = totals[name].as_object().expect("counts by reason");
            counts.values().map(|n| n.as_u64().expect("a count")).sum()
        };
        let all = counted + sum("foreign") + sum("skipped");
        assert_eq!(self.total("entries"), all, "{totals}");
    }

    pub fn total(&self, name: &str) -> u64 {
        let totals = &self.value["totals"];
        totals[name].as_u64().unwrap_or_else(|| panic!("no total {name:?} in {totals}"))
    }

    /// Number of entries that were skipped for `reason`.
    pub fn skipped(&self, reason: &str) -> u64 {
        self.value["totals"]["skipped"][reason].as_u64().unwrap_or(0)
    }

    pub fn complete(&self) -> bool {
        self.value["complete"].as_bool().expect("complete is true or false")
    }

    pub fn findings(&self) -> impl Iterator<Item = &Value> {
        list(&self.value["findings"])
    }

    pub fn of_rule<'a>(&'a self, rule: &'a str) -> impl Iterator<Item = &'a Value> {
        self.findings().filter(move |finding| finding["rule"] == rule)
    }

    /// Rules with findings.
    pub fn rules(&self) -> BTreeSet<&str> {
        self.findings().map(|finding| text(&finding["rule"])).collect()
    }

    /// The findings in short, for messages of tests.
    pub fn outline(&self) -> String {
        let mut out = format!("exit {}\n", self.status);
        for finding in self.findings() {
            let name = ["symbol", "library", "version", "detail"].map(|key| &finding[key]);
            let _ = writeln!(out, "{} {} {name:?}", finding["rule"], finding["path"]);
        }
        out
    }
}

/// The whole path of a finding's file.
pub fn whole_path(finding: &Value) -> PathBuf {
    let path = path(&finding["path"]);
    if finding["prefix"].is_null() { path } else { self::path(&finding["prefix"]).join(path) }
}

/// Evidence of one kind.
pub fn evidence<'a>(finding: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    list(&finding["evidence"]).filter(move |evidence| evidence["kind"] == kind)
}

pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}")).iter()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

/// The bytes of a name: it is a string, or `{"bytes": BASE64}` if it is not UTF-8.
pub fn bytes(value: &Value) -> Vec<u8> {
    if let Some(text) = value.as_str() {
        return text.as_bytes().to_vec();
    }
    let object = value.as_object().filter(|object| object.len() == 1);
    let encoded = object.and_then(|object| object.get("bytes")).unwrap_or(&Value::Null);
    let bytes = base64::engine::general_purpose::STANDARD.decode(text(encoded)).expect("base64");
    assert!(std::str::from_utf8(&bytes).is_err(), "bytes that are UTF-8 are written as a string");
    bytes
}

pub fn path(value: &Value) -> PathBuf {
    std::ffi::OsString::from_vec(bytes(value)).into()
}
