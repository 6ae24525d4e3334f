//! Refuses outputs that would overwrite an input, and two outputs to one file.
//! Inputs are:
//! - audited or searched files, and all files below audited or searched directories
//! - policies, baselines, lists of archives, linker scripts and response files
//! - the files of `--files-from`, `--nix-closure` and `--replaces`
//! - libraries that audited files load; these are known only after the audit
//!
//! Two outputs may replace the input that they update: a new baseline and a new list of archives.
//! Files are identified by device and inode, because a file may have several names. All commands
//! that audit call this module.

use super::{SharedOptions, out};
use crate::audit::Audit;
use crate::emit::EMITTERS;
use crate::id::FastMap;
use crate::plan::Plan;
use crate::text::show_path;
use crate::tree::walk::describe;
use crate::tree::{DirEntryKind, DiskTree, EntryType, Errno, Stat, Tree};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// The use of an input file or directory in a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Audited,
    Searched,
    Named,
    Baseline,
    List,
}

/// A file that the run will write.
struct OutputFile<'a> {
    typed: &'a Path,
    /// The path with links resolved. If the file does not exist, only the links of its directory
    /// are resolved.
    real: PathBuf,
    there: Option<(u64, u64)>,
    /// The kind of input that this output may replace; `None` if it may replace no input.
    renews: Option<Use>,
}

/// Refuses outputs that would overwrite inputs. `more` are output files of command-specific
/// options, such as `--why-extract`.
pub(super) fn check(
    plan: &Plan,
    tree: &dyn Tree,
    shared: &SharedOptions,
    more: &[&Path],
) -> Result<()> {
    let typed: Vec<&Path> = shared.written(more).collect();
    typed.iter().try_for_each(|path| no_lost_link(path))?;
    typed.iter().try_for_each(|path| in_directory(path))?;
    let targets = targets(shared, &typed);
    if targets.is_empty() {
        return Ok(());
    }
    let read = what_is_read(plan, tree, shared);
    let here = DiskTree::new();
    for target in &targets {
        for above in target.real.ancestors() {
            let Ok((_, stat)) = here.look(above) else { continue };
            let used = read.get(&identity(stat)).filter(|used| target.renews != Some(**used));
            if let Some(used) = used {
                refuse(target.typed, *used, above == target.real)?;
            }
        }
    }
    let several =
        |target: &&OutputFile<'_>| target.there.is_some() && out::has_other_names(&target.real);
    for target in targets.iter().filter(several) {
        let is_target = |stat| target.there == Some(identity(stat));
        if plan.all_paths().iter().any(|path| holds(tree, path, &is_target)) {
            refuse(target.typed, Use::Audited, true)?;
        }
    }
    no_two_in_one(&targets)
}

/// Refuses outputs that would overwrite a file that the run has read, such as a library outside of
/// the given paths. `more` are output files of command-specific options, as in [`check`].
pub(super) fn after(audit: &Audit, shared: &SharedOptions, more: &[&Path]) -> Result<()> {
    let targets = targets(shared, &shared.written(more).collect::<Vec<_>>());
    for facts in audit.corpus.files.iter().filter(|_| !targets.is_empty()) {
        let own = Some(identity(facts.stat));
        if let Some(target) = targets.iter().find(|target| target.there == own) {
            refuse(target.typed, Use::Named, true)?;
        }
    }
    Ok(())
}

/// Refuses outputs that would overwrite one of the input `files` in `tree`, such as linker scripts
/// and the reports of `diff`. `more` are output files of command-specific options, as in [`check`].
pub(super) fn apart_from<'p>(
    tree: &dyn Tree,
    shared: &SharedOptions,
    more: &[&Path],
    files: impl Iterator<Item = &'p Path>,
) -> Result<()> {
    let targets = targets(shared, &shared.written(more).collect::<Vec<_>>());
    for (kind, stat) in files.filter_map(|file| tree.look(file).ok()) {
        let is_same = |target: &&OutputFile<'_>| target.there == Some(identity(stat));
        if kind == EntryType::File
            && let Some(target) = targets.iter().find(is_same)
        {
            refuse(target.typed, Use::Named, true)?;
        }
    }
    Ok(())
}

/// Refuses an output whose directory does not exist. The check runs before the audit, because the
/// write would fail only after the audit.
fn in_directory(path: &Path) -> Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let why = match dir.map(|dir| DiskTree::new().look(dir)) {
        None | Some(Ok((EntryType::Directory, _))) => return Ok(()),
        Some(Ok(_)) => describe(Errno::NOTDIR),
        Some(Err(errno)) => describe(errno),
    };
    bail!("cannot write {}: {why}", show_path(path))
}

/// Refuses an output that is a dangling symbolic link. The write would fail only after the audit.
fn no_lost_link(path: &Path) -> Result<()> {
    let here = DiskTree::new();
    if here.is_link(path) && here.look(path).is_err() {
        let shown = show_path(path);
        bail!(
            "cannot write {shown}: dangling symbolic link\nhelp: name the target file, or remove the link"
        );
    }
    Ok(())
}

/// True if `is_target` is true for a file below the directory `top`. Links are not followed.
fn holds(tree: &dyn Tree, top: &Path, is_target: &dyn Fn(Stat) -> bool) -> bool {
    let mut todo = vec![top.to_path_buf()];
    while let Some(dir) = todo.pop() {
        let (mut files, mut dirs) = (Vec::new(), Vec::new());
        // The walk reports a directory that cannot be listed.
        let _ = tree.list(&dir, &mut |name, node| match node {
            DirEntryKind::Kind(EntryType::File) => files.push(dir.join(name)),
            DirEntryKind::Kind(EntryType::Directory) => dirs.push(dir.join(name)),
            DirEntryKind::Kind(EntryType::Special(_)) | DirEntryKind::Link => {}
        });
        if files.iter().any(|file| tree.look(file).is_ok_and(|(_, stat)| is_target(stat))) {
            return true;
        }
        todo.extend(dirs);
    }
    false
}

impl<'a> OutputFile<'a> {
    /// `None` if the output is a pipe, a device or a directory, or if its directory does not exist.
    fn new(typed: &'a Path, renews: Option<Use>) -> Option<Self> {
        let here = DiskTree::new();
        let there = match here.look(typed) {
            Ok((EntryType::File, stat)) => Some(identity(stat)),
            Ok(_) => return None,
            Err(_) => None,
        };
        let real = here.real_path(typed).ok().or_else(|| {
            let dir = typed.parent().filter(|dir| !dir.as_os_str().is_empty());
            let dir = here.real_path(dir.unwrap_or(Path::new("."))).ok()?;
            Some(dir.join(typed.file_name()?))
        })?;
        Some(Self { typed, real, there, renews })
    }

    fn is(&self, other: &Self) -> bool {
        self.real == other.real || self.there.is_some_and(|there| other.there == Some(there))
    }
}

/// The files that the run will write to the paths `typed`.
fn targets<'a>(shared: &SharedOptions, typed: &[&'a Path]) -> Vec<OutputFile<'a>> {
    typed.iter().copied().filter_map(|path| OutputFile::new(path, renewed(shared, path))).collect()
}

/// The kind of input that the output at `typed` may replace. The path identifies the output,
/// because [`no_two_in_one`] refuses two outputs with the same path.
fn renewed(shared: &SharedOptions, typed: &Path) -> Option<Use> {
    let is_list = |name: &str| EMITTERS.iter().any(|one| one.needs_list && one.name == name);
    let mut outputs = shared.output.iter().filter_map(|pair| pair.split_once('='));
    if shared.write_baseline.as_deref() == Some(typed) {
        return Some(Use::Baseline);
    }
    outputs.any(|(name, path)| is_list(name) && Path::new(path) == typed).then_some(Use::List)
}

fn identity(stat: Stat) -> (u64, u64) {
    (stat.dev, stat.ino)
}

/// Files and directories that the run reads, by device and inode. They are audited and searched
/// paths, files that options name, policies, and the lists of archives that options or policies
/// name.
fn what_is_read(plan: &Plan, tree: &dyn Tree, shared: &SharedOptions) -> FastMap<(u64, u64), Use> {
    let mut read = FastMap::default();
    let mut add = |tree: &dyn Tree, path: &Path, used: Use| {
        if let Ok((kind, stat)) = tree.look(path)
            && !matches!(kind, EntryType::Special(_))
        {
            read.entry(identity(stat)).or_insert(used);
        }
    };
    let hosts = plan.hosts.iter().map(|host| &host.path);
    plan.all_paths().iter().chain(hosts).for_each(|path| add(tree, path, Use::Audited));
    plan.stages.iter().for_each(|dir| add(&DiskTree::new(), dir, Use::Audited));
    plan.lib_paths.iter().for_each(|path| add(tree, path, Use::Searched));
    // Policies that other policies extend are inputs too.
    let policies = shared.policy.iter().map(Path::new).chain(plan.policy.files());
    let lists = [&shared.files_from, &shared.nix_closure, &shared.replaces];
    let named = lists.into_iter().flatten().map(PathBuf::as_path).chain(policies);
    named.for_each(|path| add(&DiskTree::new(), path, Use::Named));
    shared.baseline.iter().for_each(|path| add(&DiskTree::new(), path, Use::Baseline));
    plan.lists.iter().for_each(|list| add(&DiskTree::new(), &list.path, Use::List));
    // The run has read the lists of policies, even if `--deps-list` replaces them.
    let of_policies = plan.policy.archives.iter().filter_map(|archive| archive.deps_list.as_ref());
    of_policies.for_each(|path| add(&DiskTree::new(), path, Use::Named));
    read
}

fn refuse(target: &Path, used: Use, itself: bool) -> Result<()> {
    let shown = show_path(target);
    match (used, itself) {
        (Use::Audited, true) => {
            bail!("cannot write {shown}: this run audits it\nhelp: write to another file")
        }
        (Use::Audited, false) => {
            bail!(
                "cannot write {shown}: this run audits its directory\nhelp: write to another directory"
            )
        }
        (Use::Searched, true) => {
            bail!(
                "cannot write {shown}: this run searches it for archives\nhelp: write to another file"
            )
        }
        (Use::Searched, false) => {
            bail!(
                "cannot write {shown}: this run searches its directory for archives\nhelp: write to another directory"
            )
        }
        (Use::Named | Use::Baseline | Use::List, true) => {
            bail!("cannot write {shown}: this run reads it\nhelp: write to another file")
        }
        // Lists and policies are files, not directories.
        (Use::Named | Use::Baseline | Use::List, false) => Ok(()),
    }
}

/// Refuses two outputs to one file: only the last would remain.
fn no_two_in_one(targets: &[OutputFile<'_>]) -> Result<()> {
    let stdout = out::stdout_file();
    for (at, target) in targets.iter().enumerate() {
        let shown = show_path(target.typed);
        if let Some(other) = targets[..at].iter().find(|other| other.is(target)) {
            let other = show_path(other.typed);
            let wrong = if other == shown {
                format!("{shown}: two outputs write to this file")
            } else {
                format!("{other} and {shown} are the same file")
            };
            bail!("{wrong}\nhelp: give each output a file of its own");
        }
        if target.there.is_some() && target.there == stdout {
            bail!(
                "{shown}: stdout goes to the same file\nhelp: give each output a file of its own"
            );
        }
    }
    Ok(())
}
