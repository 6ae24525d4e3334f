//! Runs the program in a laboratory and reads findings and evidence from its JSON reports.

use crate::support::{self, Lab};
use serde_json::Value;
use std::process::Output;

/// The result of a run.
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn new(output: &Output) -> Self {
        Self {
            status: output.status.code().expect("an exit status, not a signal"),
            out: String::from_utf8(output.stdout.clone()).expect("stdout in UTF-8"),
            err: String::from_utf8(output.stderr.clone()).expect("stderr in UTF-8"),
        }
    }

    /// Fails unless the run was refused: status 2, no output on stdout, and `parts` in the message.
    pub(crate) fn refused(&self, parts: &[&str]) -> &Self {
        assert_eq!(self.status, 2, "{}{}", self.out, self.err);
        assert_eq!(self.out, "");
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in {:?}", self.err);
        }
        self
    }

    /// Fails unless stderr holds one error and at most one help, each on one line without a full
    /// stop.
    pub(crate) fn in_style(&self) -> &Self {
        let lines: Vec<&str> = self.err.lines().collect();
        let is_plain = |line: &str, kind: &str| line.starts_with(kind) && !line.ends_with('.');
        let fits = match lines[..] {
            [error] => is_plain(error, "error: "),
            [error, help] => is_plain(error, "error: ") && is_plain(help, "help: "),
            _ => false,
        };
        assert!(fits && self.err.ends_with('\n'), "{}", self.err);
        self
    }
}

/// A run in the laboratory.
pub(crate) fn run(lab: &Lab, args: &[&str]) -> Run {
    Run::new(&lab.linkaudit(args))
}

/// The JSON report of a run without output on stderr. Rules about search paths and sonames are off:
/// the libraries of laboratories have few of the links that installed ones have.
pub(crate) fn report(lab: &Lab, args: &[&str]) -> Value {
    let run = run(
        lab,
        &[args, &["--format", "json", "-A", "search-path", "-A", "link-hygiene"]].concat(),
    );
    assert_eq!(run.err, "");
    assert!(matches!(run.status, 0 | 1 | 3), "{}", run.status);
    support::whole(run.out.as_bytes())
}

/// The findings of one rule.
pub(crate) fn of_rule<'a>(report: &'a Value, rule: &str) -> Vec<&'a Value> {
    findings(report).iter().filter(|finding| finding["rule"] == rule).collect()
}

/// The only finding of a report.
#[track_caller]
pub(crate) fn only<'a>(report: &'a Value, rule: &str) -> &'a Value {
    let findings = findings(report);
    assert_eq!(findings.len(), 1, "{:#?}", summary(report));
    assert_eq!(findings[0]["rule"], rule);
    &findings[0]
}

/// `rule path` of every finding.
pub(crate) fn summary(report: &Value) -> Vec<String> {
    findings(report).iter().map(|f| format!("{} {}", text(&f["rule"]), text(&f["path"]))).collect()
}

/// All findings.
pub(crate) fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().expect("findings")
}

/// The absolute path of the file that a finding is about.
pub(crate) fn whole_path(finding: &Value) -> String {
    let path = text(&finding["path"]);
    match finding["prefix"].as_str() {
        Some(prefix) => format!("{prefix}/{path}"),
        None => path.to_owned(),
    }
}

/// The evidence of one kind, in order.
pub(crate) fn evidence<'a>(finding: &'a Value, kind: &str) -> Vec<&'a Value> {
    let evidence = finding["evidence"].as_array().expect("evidence");
    evidence.iter().filter(|piece| piece["kind"] == kind).collect()
}

/// One key of the evidence of one kind.
pub(crate) fn each(finding: &Value, kind: &str, key: &str) -> Vec<String> {
    evidence(finding, kind).iter().map(|piece| text(&piece[key]).to_owned()).collect()
}

/// A string of a report.
#[track_caller]
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not text"))
}

/// The path of a file of the laboratory as text.
pub(crate) fn at(lab: &Lab, name: &str) -> String {
    lab.path(name).into_os_string().into_string().expect("a laboratory path in UTF-8")
}

/// C text of a function that calls an undefined function.
pub(crate) const BROKEN: &str = "void gone(void); void broken(void) { gone(); }";
/// C text of a function without references.
pub(crate) const FOO: &str = "int foo(void) { return 1; }";
/// C text of a program that calls `foo`.
pub(crate) const CALLS_FOO: &str = "int foo(void); int main(void) { return foo(); }";

/// A laboratory with `broken/libbroken.so`, which lacks the function `gone`, `fine/libfine.so`,
/// which is complete, and `odd`, with a file that is not read and the same two libraries.
pub(crate) fn three_trees() -> Lab {
    let lab = Lab::new();
    lab.so("broken/libbroken.so", BROKEN, &[]);
    lab.so("fine/libfine.so", FOO, &[]);
    lab.so("odd/libfine.so", FOO, &[]);
    fifo(&lab, "odd/pipe");
    lab
}

pub(crate) fn fifo(lab: &Lab, name: &str) {
    let status = support::clean("mkfifo").arg(lab.path(name)).status().expect("mkfifo runs");
    assert!(status.success());
}

/// Replaces every `old` in a file by `new`, which must have the same length.
pub(crate) fn replace(lab: &Lab, name: &str, old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    let mut bytes = std::fs::read(lab.path(name)).expect("the file to change");
    let places: Vec<usize> =
        (0..=bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
    assert!(!places.is_empty(), "{name} does not hold {old:?}");
    for at in places {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    std::fs::write(lab.path(name), bytes).expect("the changed file");
}

/// Runs `ar` in the laboratory.
pub(crate) fn run_ar(lab: &Lab, args: &[&str]) {
    let status = support::clean("ar").current_dir(lab.root()).args(args).status().expect("ar runs");
    assert!(status.success(), "ar {args:?}");
}

/// Compiles without linking.
pub(crate) fn object(lab: &Lab, out: &str, source: &str) {
    lab.cc(out, source, &["-c", "-fPIC"], &[]);
}

/// True if the compiler makes 32-bit objects.
pub(crate) fn has_m32(lab: &Lab) -> bool {
    let source = lab.write("m32.c", FOO);
    let output = support::clean("cc")
        .args(["-m32", "-nostdlib", "-shared", "-fPIC", "-o"])
        .arg(lab.path("m32.so"))
        .arg(source)
        .output()
        .expect("a C compiler named cc");
    output.status.success()
}
