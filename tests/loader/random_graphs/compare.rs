//! Compares one graph: builds it, runs the loader on each file and linkaudit once, and compares the
//! answers.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use linkaudit::plan::Plan;

use super::build::{Tools, build};
use super::choose::choose;
use super::model::{Graph, ROOT};
use super::oracle::{Answer, Environment, ask, bindings};
use super::queries;
use super::{ANSWERS, support};
use crate::support::scratch::scratch;
use crate::support::{LddText, difference, linkaudit, normalise};

pub struct Compared {
    pub files: usize,
    pub features: BTreeMap<&'static str, usize>,
    pub differences: Vec<String>,
    /// The binding queries against all bindings.
    pub queries: queries::Compared,
    /// Number of bindings that were compared with the loader's list.
    pub traced: usize,
    /// The crashes of the real loader, each with the file and the seed.
    pub crashes: Vec<String>,
}

pub fn compare(tools: &Tools, seed: u64) -> Compared {
    let mut graph = choose(seed, tools.libc32.is_some());
    if !tools.environment {
        (graph.library_path, graph.preload) = (None, None);
    }
    let lab = tempfile::Builder::new().prefix(&format!("graph-{seed}-")).tempdir_in(scratch());
    let mut lab = lab.expect("a temporary directory");
    lab.disable_cleanup(std::env::var_os("LINKAUDIT_KEEP").is_some());
    let root = lab.path().canonicalize().expect("the directory exists");
    std::fs::create_dir(root.join(".work")).expect("an empty directory");
    std::fs::write(root.join(".work/graph.txt"), format!("seed {seed}\n{graph:#?}\n"))
        .expect("a description of the graph");
    build(tools, &graph, &root);

    let expand = |text: &String| text.replace(ROOT, root.to_str().expect("a path in UTF-8"));
    let files: Vec<String> = graph.files.iter().map(expand).collect();
    let (library_path, preload) =
        (graph.library_path.as_ref().map(expand), graph.preload.as_ref().map(expand));
    let environment =
        Environment { library_path: library_path.as_deref(), preload: preload.as_deref() };

    let mut compared = Compared {
        files: files.len(),
        features: BTreeMap::new(),
        differences: Vec::new(),
        queries: queries::Compared::default(),
        traced: 0,
        crashes: Vec::new(),
    };
    compare_bindings(&root, &files, environment, &mut compared);
    let ours = match linkaudit_says(&root, &files, environment) {
        Ok(ours) => ours,
        Err(problem) => {
            compared.differences.push(format!("seed {seed}: {problem}"));
            vec![None; files.len()]
        }
    };
    for (index, (file, ours)) in files.iter().zip(ours).enumerate() {
        let theirs = ask(&root, file, environment);
        if index == 0 && seed.is_multiple_of(8) && theirs.crash.is_none() {
            check_against_script(&root, file, environment, &theirs);
        }
        note_answer(&mut graph, &theirs.text);
        if let Some(crash) = &theirs.crash {
            compared.crashes.push(format!("seed {seed}, {file}: {crash}"));
        }
        if let Some(text) = ours.and_then(|ours| judge(&ours, &theirs)) {
            compared.differences.push(format!("=== seed {seed}, {file}\n{text}"));
        }
    }
    if !compared.differences.is_empty() || !compared.queries.differences.is_empty() {
        lab.disable_cleanup(true);
        let asked = command_line(&files, environment);
        for difference in &mut compared.differences {
            let _ = writeln!(difference, "(cd {}; {asked})", root.display());
        }
    }
    compared.features = graph.features;
    compared
}

/// Compares the bindings of all files with the loader's, and the binding queries with the bindings.
fn compare_bindings(
    root: &Path,
    files: &[String],
    environment: Environment<'_>,
    compared: &mut Compared,
) {
    let text = |value: Option<&str>| value.unwrap_or_default().as_bytes().to_vec();
    let plan = Plan {
        ld_library_path: text(environment.library_path),
        ld_preload: text(environment.preload),
        ..queries::plan(files.iter().map(|file| root.join(file)).collect(), root)
    };
    let all = queries::bound(&plan);
    compared.queries = queries::compare_with(&all, &plan);
    for entry in all.closures.roots.ids() {
        let start = all.text(all.closures.roots[entry].root.path);
        let file = String::from_utf8_lossy(start).into_owned();
        let Some(theirs) = bindings(root, &file, environment) else { continue };
        let ours = queries::bindings(&all, entry);
        compared.traced += theirs.len();
        for binding in theirs.symmetric_difference(&ours) {
            let who = if ours.contains(binding) { "linkaudit" } else { "the loader" };
            let text = format!("{}: {file}: only {who} binds {binding:?}", root.display());
            compared.queries.differences.push(text);
        }
    }
}

/// The difference of two answers. If the loader crashed, only its library lines count, if any.
fn judge(ours: &str, theirs: &Answer) -> Option<String> {
    if theirs.crash.is_none() {
        return difference(ours, &theirs.text);
    }
    let lines = |text: &str| LddText::parse(text).libraries.join("\n");
    let printed = lines(&theirs.text);
    if printed.is_empty() { None } else { difference(&lines(ours), &printed) }
}

fn words<'a>(files: &'a [String], environment: Environment<'a>) -> Vec<&'a str> {
    let mut words = vec!["--as-ldd", "--format", "ldd"];
    for (option, value) in
        [("--ld-library-path", environment.library_path), ("--ld-preload", environment.preload)]
    {
        if let Some(value) = value {
            words.extend([option, value]);
        }
    }
    words.extend(files.iter().map(String::as_str));
    words
}

fn command_line(files: &[String], environment: Environment<'_>) -> String {
    let words: Vec<String> =
        words(files, environment).iter().map(|word| format!("'{word}'")).collect();
    format!("linkaudit {}", words.join(" "))
}

/// The answers of one call, a text for each file.
fn linkaudit_says(
    root: &Path,
    files: &[String],
    environment: Environment<'_>,
) -> Result<Vec<Option<String>>, String> {
    let output = linkaudit().current_dir(root).args(words(files, environment)).output();
    let output = output.map_err(|error| error.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !matches!(output.status.code(), Some(0 | 1 | 3)) || stderr.contains("panicked") {
        return Err(format!("linkaudit: {}\n{stderr}", output.status));
    }
    let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    if files.len() == 1 {
        return Ok(vec![Some(normalise(&text))]);
    }
    let mut answers: Vec<Option<String>> = Vec::new();
    for line in text.lines() {
        let expected = files.get(answers.len()).is_some_and(|file| line == format!("{file}:"));
        if expected {
            answers.push(Some(String::new()));
        } else if let Some(Some(answer)) = answers.last_mut() {
            let _ = writeln!(answer, "{line}");
        } else {
            return Err(format!("linkaudit printed no heading for {}:\n{text}", files[0]));
        }
    }
    if answers.len() != files.len() {
        return Err(format!("linkaudit: no heading {}:\n{text}", files[answers.len()]));
    }
    Ok(answers.into_iter().map(|answer| answer.map(|text| normalise(&text))).collect())
}

fn check_against_script(root: &Path, file: &str, environment: Environment<'_>, direct: &Answer) {
    let mut command = support::clean("sh");
    command.current_dir(root).args(["-c", "exec ldd -r \"$1\" 2>&1", "sh", file]);
    environment.set(&mut command);
    let output = command.output().expect("ldd runs");
    let script = normalise(&String::from_utf8_lossy(&output.stdout));
    // The shell itself would load a preloaded object of the graph.
    if environment.preload.is_none() {
        assert_eq!(difference(&direct.text, &script), None, "the loader against ldd -r {file}");
    }
}

fn note_answer(graph: &mut Graph, text: &str) {
    for (name, sign) in ANSWERS {
        if text.contains(sign) {
            graph.mark(name);
        }
    }
}
