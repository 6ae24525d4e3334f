//! Views: each answers one question about a finished audit, for the command of the same name. A
//! view is one folder. The `mod.rs` of the folder makes a small result from the [`Audit`]. The
//! files with the name of a format (`human`, `json`) write the result. A view opens no file:
//! `audit` reads missing facts for the view.
//!
//! [`Audit`]: crate::audit::Audit

pub mod archive;
pub mod gpu;
pub mod tree;
pub mod why;

use crate::audit::Audit;
use crate::plan::Plan;
use crate::report::{NamedFormat, Paths, Report, Style};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The input of a view.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The finished audit.
    pub audit: &'a Audit,
    /// The plan of the run, with its options, paths and policy.
    pub plan: &'a Plan,
    /// The report of the run, with its findings and counts.
    pub report: &'a Report,
    /// The sysroot and the stages, for commands that a view prints.
    pub paths: &'a Paths,
}

/// One output format of a view, whose result has the type `T`.
pub struct ViewOutput<T> {
    /// The name of the format on the command line.
    pub name: &'static str,
    /// Writes the result of the view in this format.
    pub render: fn(&Subject<'_>, &T, Style, &mut dyn Write) -> io::Result<()>,
}

impl<T> NamedFormat for ViewOutput<T> {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// The number `n` and its noun, such as `1 file` or `2 files`.
fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The options and paths of a run as text, for a suggested command line. `PATH...` stands for paths
/// that [`typed_paths`] does not return.
fn typed_input(subject: &Subject<'_>) -> String {
    let paths = typed_paths(subject.plan).unwrap_or_else(|| vec!["PATH...".to_owned()]);
    match &subject.plan.typed_options {
        Some(options) => [&options[..], &paths].concat().join(" "),
        None => "[OPTION]... PATH...".to_owned(),
    }
}

/// The paths of a run as words of a shell command. `None` in four cases: a list names them
/// (`--files-from`, `--nix-closure`), there are none, there are more than three, or one of them
/// cannot be typed in a shell.
pub fn typed_paths(plan: &Plan) -> Option<Vec<String>> {
    let Plan { paths, stages, listed, .. } = plan;
    // A staging directory without PATH is audited as a whole.
    let is_whole = !stages.is_empty() && paths.iter().any(|path| path == Path::new("/"));
    let paths: Vec<&PathBuf> = paths.iter().filter(|_| !is_whole).collect();
    let is_short = paths.len() <= 3 && (is_whole || !paths.is_empty()) && listed.is_empty();
    let typeable = |path: &PathBuf| crate::rules::typeable_path(path);
    let words = paths.into_iter().map(typeable).collect::<Option<Vec<String>>>();
    words.filter(|_| is_short)
}
