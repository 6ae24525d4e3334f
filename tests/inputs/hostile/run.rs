//! Runs the program on many cases at once, each in its own directory, and compares the findings
//! with the labels. If a batch exceeds a bound, its cases run one by one.

use super::case::{Case, Label};
use super::peak;
use super::support;
use crate::support::scratch::scratch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Number of cases in one run.
pub const BATCH: usize = 100;
const MOST_MEMORY_KB: u64 = 256 << 10;
const MOST_TIME: Duration = Duration::from_secs(2);

/// The results of cases; the lists have the failed cases.
#[derive(Default)]
pub struct Tally {
    pub cases: usize,
    pub reported: usize,
    pub clean: usize,
    pub runs: usize,
    pub highest_kb: u64,
    pub silent: Vec<String>,
    pub falsely: Vec<String>,
    pub slow: Vec<String>,
    pub big: Vec<String>,
    pub broken: Vec<String>,
    /// Number of cases of each operation, and of those that failed.
    pub operations: BTreeMap<&'static str, (usize, usize)>,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.reported += other.reported;
        self.clean += other.clean;
        self.runs += other.runs;
        self.highest_kb = self.highest_kb.max(other.highest_kb);
        self.silent.extend(other.silent);
        self.falsely.extend(other.falsely);
        self.slow.extend(other.slow);
        self.big.extend(other.big);
        self.broken.extend(other.broken);
        for (name, (cases, wrong)) in other.operations {
            self.count(name, cases, wrong);
        }
    }

    fn count(&mut self, name: &'static str, cases: usize, wrong: usize) {
        let known = self.operations.entry(name).or_default();
        *known = (known.0 + cases, known.1 + wrong);
    }

    /// Counts a case; `wrong` is the reason if it failed.
    pub fn judge(&mut self, case: &Case, place: &str, wrong: Option<String>) {
        self.cases += 1;
        self.count(case.operation, 1, usize::from(wrong.is_some()));
        let told = wrong.map(|wrong| format!("{place} ({}): {wrong}", case.operation));
        match case.label {
            Label::Reported(_) => {
                self.reported += 1;
                self.silent.extend(told);
            }
            Label::Clean => {
                self.clean += 1;
                self.falsely.extend(told);
            }
        }
    }

    /// Checks the bounds of time and memory for one run.
    pub fn bound(&mut self, place: &str, run: &Run) {
        self.runs += 1;
        self.highest_kb = self.highest_kb.max(run.peak_kb);
        if run.took > MOST_TIME {
            self.slow.push(format!("{place}: {:?}", run.took));
        }
        if run.peak_kb > MOST_MEMORY_KB {
            self.big.push(format!("{place}: {} kB", run.peak_kb));
        }
    }

    pub fn finish(&self, what: &str) {
        for (name, (cases, wrong)) in &self.operations {
            println!("{cases:8} {what} {name}: {wrong} wrong");
        }
        let lists = [
            ("silent", &self.silent),
            ("false", &self.falsely),
            ("slow", &self.slow),
            ("big", &self.big),
            ("broken", &self.broken),
        ];
        for (kind, list) in lists {
            list.iter().take(12).for_each(|one| println!("=== {kind}: {one}"));
        }
        println!(
            "hostile {what}: {} cases ({} to report, {} clean), {} silent, {} false, {} over 2 s, \
             {} over 256 MB, {} broken; {} runs, at most {} kB",
            self.cases,
            self.reported,
            self.clean,
            self.silent.len(),
            self.falsely.len(),
            self.slow.len(),
            self.big.len(),
            self.broken.len(),
            self.runs,
            self.highest_kb,
        );
        assert!(lists.iter().all(|(_, list)| list.is_empty()), "{what}: see above");
    }
}

/// How one run ended.
pub struct Run {
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub took: Duration,
    pub peak_kb: u64,
}

/// Runs the program in `dir`, whose parent gets its output. Memory and time are measured.
pub fn run(dir: &Path, args: &[&str]) -> Run {
    let scratch = support::scratch::tempdir().expect("a temporary directory");
    let (out, err) = (scratch.path().join("out"), scratch.path().join("err"));
    let mut command = support::linkaudit();
    command.current_dir(dir).args(args).stdin(std::process::Stdio::null());
    command.stdout(File::create(&out).expect("a file"));
    command.stderr(File::create(&err).expect("a file"));
    let start = Instant::now();
    let mut child = command.spawn().expect("linkaudit starts");
    let peak_kb = peak::memory(child.id());
    let status = child.wait().expect("linkaudit ends").code();
    let took = start.elapsed();
    let stdout = std::fs::read(&out).expect("the output");
    let stderr = String::from_utf8_lossy(&std::fs::read(&err).expect("the errors")).into_owned();
    Run { status, stdout, stderr, took, peak_kb }
}

/// Findings by the directory of their case, as rule, detail and message.
type Findings = BTreeMap<String, Vec<(String, String)>>;

fn findings(report: &Value) -> Findings {
    let mut out = Findings::new();
    for finding in report["findings"].as_array().into_iter().flatten() {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        // A path that is not UTF-8 does not belong to a case.
        let path = text("path");
        let case = path.split('/').next().unwrap_or_default().to_owned();
        let what = format!("{path}: {} {}", text("detail"), text("message"));
        out.entry(case).or_default().push((text("rule"), what));
    }
    out
}

/// All findings of a report; empty without a report.
pub fn all_findings(report: &[u8]) -> Vec<(String, String)> {
    let report: Value = serde_json::from_slice(report).unwrap_or_default();
    findings(&report).into_values().flatten().collect()
}

/// Rules for files, or parts of files, that are damaged or cannot be read.
const DAMAGE: [&str; 7] = [
    "malformed",
    "unreadable",
    "undecided",
    "bad-library-file",
    "truncated-file",
    "thin-member-missing",
    "stale-archive-index",
];

/// The reason why the findings of a case do not fit its label; `None` if they do.
pub fn wrong(label: &Label, found: &[(String, String)]) -> Option<String> {
    match label {
        Label::Clean => (!found.is_empty()).then(|| format!("{found:?}")),
        Label::Reported(expected) => {
            let fits = |(rule, what): &&(String, String)| {
                expected.rule.map_or(DAMAGE.contains(&&**rule), |wanted| wanted == rule)
                    && expected.at.is_none_or(|at| names(what, at))
            };
            (!found.iter().any(|one| fits(&one))).then(|| format!("{expected:?}, not {found:?}"))
        }
    }
}

/// True if a text has this offset.
fn names(text: &str, at: usize) -> bool {
    let at = format!("{at:#x}");
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == at)
}

/// Runs cases of one label, each in its own directory of one tree.
pub fn batch(cases: &[(String, Case)], args: &[&str]) -> Tally {
    let mut tally = Tally::default();
    if cases.is_empty() {
        return tally;
    }
    let lab =
        tempfile::Builder::new().prefix("hostile-").tempdir_in(scratch()).expect("a directory");
    let root = lab.path().canonicalize().expect("a directory");
    for (place, case) in cases {
        write(&root.join(place), case);
    }
    let all = run(&root, &[args, &["."]].concat());
    let is_fine = matches!(all.status, Some(0 | 1 | 3)) && !all.stderr.contains("panicked");
    let report = serde_json::from_slice::<Value>(&all.stdout).ok().filter(|_| is_fine);
    let Some(report) = report else {
        let alone = |place: &str| run(&root, &[args, &[place]].concat());
        let broke = |place: &str| !matches!(alone(place).status, Some(0 | 1 | 3));
        let culprits: Vec<&str> =
            cases.iter().map(|(place, _)| &**place).filter(|place| broke(place)).collect();
        let status = all.status;
        tally.broken.push(format!(
            "{status:?} {:.500} {culprits:?} in {}",
            all.stderr,
            root.display()
        ));
        println!("kept: {}", lab.keep().display());
        return tally;
    };
    if all.took > MOST_TIME || all.peak_kb > MOST_MEMORY_KB {
        for (place, _) in cases {
            tally.bound(place, &run(&root, &[args, &[place]].concat()));
        }
    } else {
        tally.bound("a batch", &all);
    }
    let found = findings(&report);
    for (place, case) in cases {
        let of_case = found.get(place).map_or(&[][..], Vec::as_slice);
        tally.judge(case, place, wrong(&case.label, of_case));
    }
    // A batch of clean cases without findings must end with status 0.
    let is_clean = cases.iter().all(|(_, case)| matches!(case.label, Label::Clean));
    if is_clean && all.status != Some(0) && tally.falsely.is_empty() {
        tally.falsely.push(format!("a clean batch ends with status {:?}", all.status));
    }
    if !(tally.silent.is_empty() && tally.falsely.is_empty()) && kept() {
        println!("kept: {}", lab.keep().display());
    }
    tally
}

/// `LINKAUDIT_KEEP=1` keeps the directories of batches with failures.
fn kept() -> bool {
    std::env::var_os("LINKAUDIT_KEEP").is_some()
}

fn write(dir: &PathBuf, case: &Case) {
    std::fs::create_dir_all(dir).expect("a directory");
    for (name, bytes) in &case.files {
        std::fs::write(dir.join(name), bytes).expect("a file of a case");
    }
}
