//! Linker scripts among the archives that were typed: each stands for the files that it names. A
//! shared library that a script names is no archive and left out. `cli::archive` is the caller.

use crate::format::script::{Input, MOST, inputs};
use crate::sniff::{Sniffed, sniff};
use crate::text::{show, show_path};
use crate::tree::{Handle, Opened, Tree};
use anyhow::{Result, bail};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Scripts that name scripts: more are a circle.
const DEEPEST: usize = 8;

/// The archives that `paths` name; `-lNAME` is looked for beside a script, then in `dirs`.
pub(super) fn expand(tree: &dyn Tree, paths: &[PathBuf], dirs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        one(tree, path, dirs, 0, &mut out)?;
    }
    Ok(out)
}

fn open(tree: &dyn Tree, path: &Path) -> Option<(Handle, Vec<u8>)> {
    let Ok(Opened::File(handle)) = tree.open(path) else { return None };
    let len = handle.stat().len.min(MOST);
    let text = handle.read_new(usize::try_from(len).unwrap_or(0), 0).ok()?;
    Some((handle, text))
}

fn one(
    tree: &dyn Tree,
    path: &Path,
    dirs: &[PathBuf],
    depth: usize,
    out: &mut Vec<PathBuf>,
) -> Result<()> {
    let script = match open(tree, path) {
        Some((handle, text)) if handle.stat().len <= MOST && sniff(&text) == Sniffed::Other => {
            inputs(&text)
        }
        _ => None,
    };
    let Some(script) = script else {
        out.push(path.to_path_buf());
        return Ok(());
    };
    if depth == DEEPEST {
        bail!("{}: linker scripts name each other in a circle", show_path(path));
    }
    for input in script {
        let (name, found) = find(tree, path, dirs, &input);
        let Some(found) = found else {
            bail!(
                "{} is a linker script and names {}, which is not there; \
                 name its directory with --from",
                show_path(path),
                show(&name)
            );
        };
        let is_library = open(tree, &found).is_some_and(|(_, text)| sniff(&text) == Sniffed::Elf);
        if !is_library {
            one(tree, &found, dirs, depth + 1, out)?;
        }
    }
    Ok(())
}

/// What a script names, as typed and as it is found.
fn find(
    tree: &dyn Tree,
    script: &Path,
    dirs: &[PathBuf],
    input: &Input,
) -> (Vec<u8>, Option<PathBuf>) {
    let beside = script.parent().unwrap_or(Path::new(""));
    let places = || std::iter::once(beside).chain(dirs.iter().map(PathBuf::as_path));
    let is_file = |path: &PathBuf| matches!(tree.kind(path), Ok(crate::tree::Kind::File));
    match input {
        Input::File(name) => {
            let path = Path::new(OsStr::from_bytes(name));
            (name.clone(), places().map(|dir| dir.join(path)).find(is_file))
        }
        Input::Library(name) => {
            let named = |end: &str| [b"lib", &**name, end.as_bytes()].concat();
            let file = |dir: &Path, end: &str| dir.join(OsStr::from_bytes(&named(end)));
            let found = places().flat_map(|dir| [file(dir, ".a"), file(dir, ".so")]).find(is_file);
            ([b"-l", &**name].concat(), found)
        }
    }
}
