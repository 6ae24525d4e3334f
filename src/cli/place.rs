//! Where paths that were typed lie: on this machine or inside `--root`, and in which directory and
//! on which processor programs will run. `cli::plan` is the only caller.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for what options name")]

use super::Shared;
use crate::plan::Cpu;
use crate::text::show_path;
use crate::tree::DiskTree;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};

/// The system that is audited.
pub(super) struct Place<'a> {
    /// This process's directory.
    here: &'a Path,
    /// `--root`, as it was typed made absolute, and with links resolved.
    root: Option<(PathBuf, PathBuf)>,
    /// The directory programs are started in.
    pub(super) cwd: PathBuf,
    /// The names that were typed are not those by which files are known there.
    elsewhere: bool,
}

impl<'a> Place<'a> {
    pub(super) fn new(shared: &Shared, here: &'a Path) -> Result<Self> {
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
                bail!("--cwd {}: write an absolute path, as in --cwd /srv", show_path(dir))
            }
            (None, Some(_)) => "/".into(),
            (None, None) => here.to_path_buf(),
        };
        let elsewhere = root.is_some() || shared.cwd.is_some();
        Ok(Self { here, root, cwd, elsewhere })
    }

    /// The file system that is audited.
    pub(super) fn tree(&self) -> Result<DiskTree> {
        let tree = match &self.root {
            Some((typed, real)) => {
                DiskTree::within(real).with_context(|| format!("--root {}", show_path(typed)))?
            }
            None => DiskTree::new(),
        };
        Ok(if self.elsewhere { tree.seen_from(self.cwd.clone()) } else { tree })
    }

    /// A path of the command line.
    pub(super) fn named(&self, path: &Path) -> Result<PathBuf> {
        match (self.inside(path), &self.root) {
            (Some(inside), _) => Ok(inside),
            (None, None) => Ok(path.to_path_buf()),
            (None, Some(_)) if path.is_absolute() => Ok(path.to_path_buf()),
            (None, Some((root, _))) => bail!(
                "{} is not below --root {}; an absolute path is taken inside it",
                show_path(path),
                show_path(root)
            ),
        }
    }

    /// A path of `--files-from`.
    pub(super) fn listed(&self, path: PathBuf) -> PathBuf {
        match self.inside(&path) {
            Some(inside) => inside,
            None if self.root.is_some() => Path::new("/").join(path),
            None => path,
        }
    }

    /// What a path is known as in another root, or to programs that are started elsewhere.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
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

    /// The processor of this machine. Nothing outside another root is read to learn its vendor.
    pub(super) fn cpu(&self) -> Cpu {
        // glibc looks at the CPUID vendor; the kernel shows the same string.
        let intel = self.root.is_none()
            && std::fs::read_to_string("/proc/cpuinfo")
                .is_ok_and(|text| text.contains("GenuineIntel"));
        Cpu::host(intel)
    }
}
