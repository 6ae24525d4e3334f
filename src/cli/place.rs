//! Translates typed paths to paths in the audited system: on this machine, inside `--root` or in a
//! stage. Also determines the working directory and the processor of the audited programs.
//! `cli::plan` calls this module.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for what options name")]

use super::SharedOptions;
use crate::plan::Cpu;
use crate::report::Paths;
use crate::stage::{self, Stage, StagedTree};
use crate::text::show_path;
use crate::tree::{DiskTree, EntryType, Errno, Tree as _, without_dots};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};

/// The system that is audited: this machine or a sysroot, with the stages.
pub(super) struct AuditedSystem<'a> {
    /// The current directory of this process.
    here: &'a Path,
    /// `--root` as two absolute paths: as typed, and with links resolved.
    root: Option<(PathBuf, PathBuf)>,
    /// The directories of `--staged`.
    stages: Vec<Stage>,
    /// The directory in which programs start: `--cwd`, else `/` with `--root`, else `here`.
    pub(super) cwd: PathBuf,
    /// True if typed paths may differ from the paths in the audited system.
    elsewhere: bool,
}

impl<'a> AuditedSystem<'a> {
    pub(super) fn new(shared: &SharedOptions, here: &'a Path) -> Result<Self> {
        let root = match &shared.root {
            Some(dir) => {
                let real = dir.canonicalize();
                let real = real.with_context(|| format!("--root {}", show_path(dir)))?;
                Some((here.join(dir), real))
            }
            None => None,
        };
        let cwd = match (&shared.cwd, &root) {
            (Some(dir), _) if dir.is_absolute() => dir.clone(),
            (Some(dir), _) => {
                bail!(
                    "--cwd {}: not an absolute path\nhelp: write an absolute path: --cwd /srv",
                    show_path(dir)
                )
            }
            (None, Some(_)) => "/".into(),
            (None, None) => here.to_path_buf(),
        };
        let elsewhere = root.is_some() || shared.cwd.is_some() || !shared.staged.is_empty();
        let real = root.as_ref().map(|(_, real)| &**real);
        let stages =
            shared.staged.iter().map(|dir| stage(here, dir, real)).collect::<Result<_>>()?;
        Ok(Self { here, root, stages, cwd, elsewhere })
    }

    /// The translation of paths for outputs. The base of relative paths is `--relative-to`, or the
    /// current directory.
    pub(super) fn outputs(&self, shared: &SharedOptions) -> Result<Paths> {
        let base = match &shared.relative_to {
            Some(dir) => {
                let real = dir.canonicalize();
                real.with_context(|| format!("--relative-to {}", show_path(dir)))?
            }
            None => self.here.to_path_buf(),
        };
        let sysroot = self.root.as_ref().map(|(_, real)| real.clone());
        let stages = self.stages.iter().map(|stage| stage.dir.clone()).collect();
        let here = self.here.to_path_buf();
        Ok(Paths { base: Some(base), here, sysroot, stages, ..Paths::default() })
    }

    /// The file system that is audited, without stages.
    pub(super) fn tree(&self) -> Result<DiskTree> {
        let context =
            || self.root.as_ref().map(|(typed, _)| format!("--root {}", show_path(typed)));
        let tree = self.sysroot().with_context(|| context().unwrap_or_default())?;
        Ok(if self.elsewhere { tree.seen_from(self.cwd.clone()) } else { tree })
    }

    fn sysroot(&self) -> Result<DiskTree, Errno> {
        match &self.root {
            Some((_, real)) => DiskTree::within(real),
            None => Ok(DiskTree::new()),
        }
    }

    /// The file system with the files of all stages added; `None` without stages. `replaced` are
    /// the paths that the installation of the stages removes.
    pub(super) fn laid(&self, replaced: &[PathBuf]) -> Result<Option<StagedTree>> {
        if self.stages.is_empty() {
            return Ok(None);
        }
        Ok(Some(stage::lay(&self.stages, || self.sysroot(), replaced, &self.cwd)?))
    }

    /// True for a path below a stage.
    pub(super) fn is_staged(&self, path: &Path) -> bool {
        self.in_stage(path).is_some()
    }

    /// The installed path of a file below a stage; `None` for any other path.
    fn in_stage(&self, path: &Path) -> Option<PathBuf> {
        if self.stages.is_empty() {
            return None;
        }
        let full = without_dots(&self.here.join(path));
        let below = |stage: &Stage| {
            let typed = without_dots(&self.here.join(&stage.typed));
            let rest = full.strip_prefix(typed).or_else(|_| full.strip_prefix(&stage.dir)).ok()?;
            Some(Path::new("/").join(rest))
        };
        self.stages.iter().find_map(below)
    }

    /// Translates a path on the command line to its path in the audited system. With `--root DIR`,
    /// a relative path must lead below DIR.
    pub(super) fn named(&self, path: &Path) -> Result<PathBuf> {
        match (self.inside(path), &self.root) {
            (Some(inside), _) => Ok(inside),
            (None, None) => Ok(path.to_path_buf()),
            (None, Some(_)) if path.is_absolute() => Ok(path.to_path_buf()),
            (None, Some((root, _))) => bail!(
                "{}: not below --root {}\nhelp: write the path as it is inside the sysroot: /usr/lib",
                show_path(path),
                show_path(root)
            ),
        }
    }

    /// Translates an entry of `--files-from` or `--nix-closure` to its path in the audited system.
    /// With `--root DIR`, a path outside of DIR is treated as a path in the sysroot.
    pub(super) fn listed(&self, path: PathBuf) -> PathBuf {
        match self.inside(&path) {
            Some(inside) => inside,
            None if self.root.is_some() => Path::new("/").join(path),
            None => path,
        }
    }

    /// Translates a path below a stage or `--root` to its path in the audited system. For any
    /// other path, returns `None` with `--root`, and the absolute path with only `--cwd` or
    /// `--staged`. Without these three options, returns `None`.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        if let Some(installed) = self.in_stage(path) {
            return Some(installed);
        }
        let full = self.here.join(path);
        match &self.root {
            Some((typed, real)) => {
                let rest = full.strip_prefix(typed).or_else(|_| full.strip_prefix(real)).ok()?;
                Some(Path::new("/").join(rest))
            }
            None if self.elsewhere => Some(full),
            None => None,
        }
    }

    /// The processor of this machine. With `--root`, the vendor is not read, because /proc is
    /// outside of the sysroot.
    pub(super) fn cpu(&self) -> Cpu {
        // glibc checks the CPUID vendor; the kernel shows the same string.
        let intel = self.root.is_none()
            && std::fs::read_to_string("/proc/cpuinfo")
                .is_ok_and(|text| text.contains("GenuineIntel"));
        Cpu::host(intel)
    }
}

/// Checks and describes one `--staged` directory. `root` is `--root` with links resolved. Fails for
/// a directory that contains the sysroot or `/`.
fn stage(here: &Path, typed: &Path, root: Option<&Path>) -> Result<Stage> {
    let tree = DiskTree::new().seen_from(here.to_path_buf());
    let shown = show_path(typed);
    match tree.kind(typed) {
        Ok(EntryType::Directory) => {}
        Ok(_) => bail!("--staged {shown}: not a directory"),
        Err(errno) => bail!("--staged {shown}: {}", crate::tree::walk::describe(errno)),
    }
    let dir = tree.real_path(typed).with_context(|| format!("--staged {shown}"))?;
    if root.unwrap_or(Path::new("/")).starts_with(&dir) {
        bail!("--staged {shown}: contains {}", if root.is_some() { "--root" } else { "/" });
    }
    let in_sysroot = match root {
        None => Some(dir.clone()),
        Some(root) => dir.strip_prefix(root).ok().map(|below| Path::new("/").join(below)),
    };
    Ok(Stage { typed: typed.to_path_buf(), dir, in_sysroot })
}
