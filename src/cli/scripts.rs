//! Replaces linker scripts among the inputs by the files that they name, and finds the files of
//! `-l`. `expand` skips the ELF files that scripts name, because only archives count.
//! `cli::archive` and `cli::fix` use this module.

use crate::format::script::{MOST, ScriptInput, ScriptName, inputs};
use crate::sniff::{Class, Classes, sniff};
use crate::text::{show, show_path};
use crate::tree::walk::describe;
use crate::tree::{Handle, Opened, Tree};
use anyhow::{Context as _, Result, bail};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Maximum nesting depth of scripts. Deeper scripts are assumed to form a cycle.
const DEEPEST: usize = 8;

/// Number of bytes that an error shows of a file of unknown kind.
const SHOWN: usize = 24;

/// Link inputs in place of scripts, and the scripts that were read for them.
#[derive(Default)]
pub(super) struct ExpandedScripts {
    pub(super) files: Vec<PathBuf>,
    pub(super) scripts: Vec<PathBuf>,
    /// The lists of GROUP, as ranges of `files` that do not overlap.
    groups: Vec<Range<usize>>,
}

impl ExpandedScripts {
    /// All files that were read, or that the run will read.
    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().chain(&self.scripts).map(PathBuf::as_path)
    }

    /// True if a list of GROUP begins with the file at `at`.
    pub(super) fn begins_group(&self, at: usize) -> bool {
        self.groups.iter().any(|group| group.start == at)
    }

    /// True if a list of GROUP ends with the file at `at`.
    pub(super) fn ends_group(&self, at: usize) -> bool {
        self.groups.iter().any(|group| group.end == at + 1)
    }

    /// Ends the list of GROUP whose first file is at `start`. Lists inside of it become part of it.
    fn end_group(&mut self, start: usize) {
        self.groups.retain(|group| group.end <= start);
        if start < self.files.len() {
            self.groups.push(start..self.files.len());
        }
    }
}

/// `paths`, with each linker script replaced by the archives that it names. Files and `-lNAME` in a
/// script are searched for in the directory of the script, then in `dirs`.
pub(super) fn expand(
    tree: &dyn Tree,
    paths: &[PathBuf],
    dirs: &[PathBuf],
) -> Result<ExpandedScripts> {
    let mut out = ExpandedScripts::default();
    let place = ScriptSearch { tree, dirs, shared: false };
    paths.iter().try_for_each(|path| place.expand(path, 0, &mut out))?;
    Ok(out)
}

/// The link inputs for `path`: the files that it names if it is a linker script, else `path`
/// itself. Objects and shared objects are included.
pub(super) fn inputs_of(tree: &dyn Tree, path: &Path, dirs: &[PathBuf]) -> Result<ExpandedScripts> {
    let mut out = ExpandedScripts::default();
    ScriptSearch { tree, dirs, shared: true }.expand(path, 0, &mut out)?;
    Ok(out)
}

/// The file of `-l NAME`, as all linkers find it: the first directory that has `libNAME.so` or
/// `libNAME.a`. `-l :FILE` has the whole name of the file.
pub(super) fn library(tree: &dyn Tree, name: &OsStr, dirs: &[PathBuf]) -> Result<PathBuf> {
    let name = name.as_bytes();
    let files = match name.strip_prefix(b":") {
        Some(file) => vec![file.to_vec()],
        None => vec![of_library(name, ".so"), of_library(name, ".a")],
    };
    let mut paths =
        dirs.iter().flat_map(|dir| files.iter().map(move |file| dir.join(OsStr::from_bytes(file))));
    paths.find(|path| is_file(tree, path)).with_context(|| {
        let name = show(name);
        format!("-l {name}: not found\nhelp: add its directory with -L DIR, or name the file")
    })
}

/// The name of a file of the library `name`.
fn of_library(name: &[u8], end: &str) -> Vec<u8> {
    [b"lib", name, end.as_bytes()].concat()
}

fn is_file(tree: &dyn Tree, path: &Path) -> bool {
    matches!(tree.kind(path), Ok(crate::tree::EntryType::File))
}

/// The files that the linker scripts among `files` name, sorted. A script with an error is skipped.
pub(super) fn named<'p>(
    tree: &dyn Tree,
    files: impl Iterator<Item = &'p Path>,
    dirs: &[PathBuf],
) -> ExpandedScripts {
    let mut out = ExpandedScripts::default();
    for inputs in files.filter_map(|file| inputs_of(tree, file, dirs).ok()) {
        out.files.extend(inputs.files);
        out.scripts.extend(inputs.scripts);
    }
    out.files.sort_unstable();
    out.files.dedup();
    out
}

/// The directories in which the files of scripts are searched for, and the files that count.
#[derive(Clone, Copy)]
struct ScriptSearch<'a> {
    tree: &'a dyn Tree,
    dirs: &'a [PathBuf],
    /// True if objects and shared objects in scripts are inputs too.
    shared: bool,
}

/// Opens the file at `path` and reads its first `MOST` bytes. The error says why the path is not an
/// archive or cannot be read.
fn open(tree: &dyn Tree, path: &Path) -> Result<(Handle, Vec<u8>)> {
    let shown = show_path(path);
    let handle = match tree.open(path) {
        Ok(Opened::File(handle)) => handle,
        Ok(Opened::Directory) => {
            bail!(
                "{shown}: a directory, not a static archive\nhelp: to search a directory for archives, use --from {shown}"
            )
        }
        Ok(Opened::Special(special)) => {
            bail!("{shown}: {}, not a static archive", special.describe())
        }
        Err(errno) => bail!("{shown}: {}", describe(errno)),
    };
    let len = usize::try_from(handle.stat().len.min(MOST)).unwrap_or(0);
    let text = handle.read_new(len, 0).with_context(|| format!("cannot read {shown}"))?;
    Ok((handle, text))
}

/// The error for a file that is neither an archive nor a script.
fn refuse(path: &Path, text: &[u8]) -> Result<()> {
    let (shown, begin) = (show_path(path), show(&text[..text.len().min(SHOWN)]));
    match text {
        [] => bail!("{shown}: empty file, not a static archive"),
        _ => bail!("{shown}: not a static archive: it begins with `{begin}`"),
    }
}

impl ScriptSearch<'_> {
    fn expand(self, path: &Path, depth: usize, out: &mut ExpandedScripts) -> Result<()> {
        let (handle, text) = open(self.tree, path)?;
        let classes = Classes::LINKAGE.with(Class::Bitcode);
        if classes.class_of(path, &text) != Class::Other {
            out.files.push(path.to_path_buf());
            return Ok(());
        }
        let script = if handle.stat().len <= MOST { inputs(&text) } else { None };
        let Some(script) = script else { return refuse(path, &text) };
        if depth == DEEPEST {
            bail!("{}: linker scripts include each other in a cycle", show_path(path));
        }
        out.scripts.push(path.to_path_buf());
        let mut group = 0;
        for input in &script {
            match input {
                ScriptInput::StartGroup => group = out.files.len(),
                ScriptInput::EndGroup => out.end_group(group),
                ScriptInput::Named(name) => self.expand_name(path, name, depth, out)?,
            }
        }
        Ok(())
    }

    /// Expands the file that `script` names.
    fn expand_name(
        self,
        script: &Path,
        name: &ScriptName,
        depth: usize,
        out: &mut ExpandedScripts,
    ) -> Result<()> {
        let (name, found) = find(self.tree, script, self.dirs, name);
        let Some(found) = found else {
            bail!(
                "{}: linker script names {}: not found\nhelp: add its directory: --from DIR",
                show_path(script),
                show(&name)
            );
        };
        let is_library =
            || open(self.tree, &found).is_ok_and(|(_, text)| sniff(&text) == Class::Elf);
        if self.shared || !is_library() {
            self.expand(&found, depth + 1, out)?;
        }
        Ok(())
    }
}

/// Searches for a file that a script names. Returns the name as written, and the path if it was
/// found.
fn find(
    tree: &dyn Tree,
    script: &Path,
    dirs: &[PathBuf],
    name: &ScriptName,
) -> (Vec<u8>, Option<PathBuf>) {
    let beside = script.parent().unwrap_or(Path::new(""));
    let places = || std::iter::once(beside).chain(dirs.iter().map(PathBuf::as_path));
    let is_file = |path: &PathBuf| is_file(tree, path);
    match name {
        ScriptName::File(name) => {
            let path = Path::new(OsStr::from_bytes(name));
            (name.clone(), places().map(|dir| dir.join(path)).find(is_file))
        }
        ScriptName::Library(name) => {
            let file = |dir: &Path, end| dir.join(OsStr::from_bytes(&of_library(name, end)));
            let found = places().flat_map(|dir| [file(dir, ".a"), file(dir, ".so")]).find(is_file);
            ([b"-l", &**name].concat(), found)
        }
    }
}
