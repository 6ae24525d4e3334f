//! `--under ENTRY`: selects the entry point. If none matches, the error says why.

use super::names;
use crate::audit::Audit;
use crate::diagnosis::FirstLoader;
use crate::facts::FileFacts;
use crate::id::{FileId, ModuleId, RootId};
use crate::order;
use crate::order::Arrange as _;
use crate::resolve::Closure;
use crate::text::show_path;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum number of entry points that a message names.
const MOST: usize = 3;

/// An entry point to which an answer is restricted.
#[derive(Debug)]
pub struct Under {
    /// The file of the entry point.
    pub file: FileId,
    /// The entry points with this file. A plugin is a separate entry point under each of its host
    /// programs.
    pub roots: Vec<RootId>,
}

impl Under {
    /// The entry point with the path `typed`, or with a path that ends with `typed`. `real` is
    /// `typed` with links resolved. The error is a message that says why no entry point matches.
    pub fn find(typed: &Path, real: Option<&Path>, audit: &Audit) -> Result<Self, String> {
        let known: BTreeSet<FileId> =
            order::set(audit.closures.roots.iter().map(|closure| closure.root.file));
        let meant: Vec<FileId> = named(typed, real, audit).into_iter().collect();
        let found: Vec<FileId> =
            meant.iter().copied().filter(|file| known.contains(file)).collect();
        let path = |file: FileId| show_path(&audit.corpus.files[file].path);
        let shown = show_path(typed);
        match (&found[..], meant.first()) {
            ([file], _) => {
                let roots = audit.closures.roots.entries();
                let roots = roots.filter(|(_, closure)| closure.root.file == *file);
                Ok(Self { file: *file, roots: roots.map(|(root, _)| root).collect() })
            }
            ([], Some(file)) => {
                let loader = FirstLoader::new(&audit.closures).of(*file);
                Err(match loader.map(|root| audit.closures.roots[root].root.file) {
                    Some(root) => format!(
                        "--under {shown}: not an entry point, {} loads it\nhelp: use --under {}, or add \
                         {shown} as a PATH",
                        path(root),
                        path(root)
                    ),
                    None => format!("--under {shown}: not an entry point, no loader accepts it"),
                })
            }
            ([], None) => {
                let near = near(typed, known.iter().map(|file| &audit.corpus.files[*file]));
                Err(if near.is_empty() {
                    format!(
                        "--under {shown}: not an entry point of this audit\nhelp: list them with linkaudit tree"
                    )
                } else {
                    format!(
                        "--under {shown}: not an entry point of this audit\nhelp: did you mean {}?",
                        near.join(", ")
                    )
                })
            }
            (several, _) => {
                let paths: Vec<String> =
                    several.iter().take(MOST).map(|file| path(*file)).collect();
                let more = if several.len() > MOST { ", ..." } else { "" };
                Err(format!(
                    "--under {shown}: {} entry points have this name\nhelp: write the path: {}{more}",
                    several.len(),
                    paths.join(", ")
                ))
            }
        }
    }
}

/// The file at the path `typed`. If there is none, all files whose path ends with `typed`.
fn named(typed: &Path, real: Option<&Path>, audit: &Audit) -> BTreeSet<FileId> {
    let corpus = &audit.corpus;
    if let Some(file) = real.and_then(|real| corpus.file_at(real)) {
        return BTreeSet::from([file]);
    }
    let is_meant = |facts: &FileFacts| {
        let mut names = facts.names.iter().map(|name| &*name.path);
        facts.path.ends_with(typed) || names.any(|name| name.ends_with(typed))
    };
    let files = corpus.files.entries().filter(|(_, facts)| is_meant(facts));
    files.map(|(file, _)| file).collect()
}

/// The paths of entry points whose file names are similar to the file name of `typed`; at most
/// [`MOST`].
fn near<'f>(typed: &Path, entries: impl Iterator<Item = &'f FileFacts>) -> Vec<String> {
    let Some(base) = typed.file_name().and_then(|base| base.to_str()) else { return Vec::new() };
    let paths: Vec<PathBuf> = entries.map(|facts| facts.path.to_path_buf()).collect();
    let bases = paths.iter().filter_map(|path| Some(path.file_name()?.as_bytes()));
    let near = names::within(base, names::most_edits(base).max(1), bases);
    let is_near = |path: &&PathBuf| {
        let base = path.file_name().map(OsStrExt::as_bytes);
        base.is_some_and(|base| near.iter().any(|near| near == base))
    };
    let mut out: Vec<String> = paths.iter().filter(is_near).map(|path| show_path(path)).collect();
    out.arrange();
    out.truncate(MOST);
    out
}

/// The index of a module in the scope; `None` if it is not in the scope.
pub(super) fn position(closure: &Closure, module: ModuleId) -> Option<u32> {
    let place = closure.whole_scope().position(|other| other == module)?;
    u32::try_from(place).ok()
}
