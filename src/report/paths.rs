//! Paths that other programs can open: relative to a directory, and valid on this machine even if
//! the audited system is a sysroot.

use super::model::Report;
use crate::id::FastMap;
use crate::text::shell_path;
use percent::encoded;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// Maximum number of directories that stand for PATHs in a suggested command.
const MOST_PREFIXES: usize = 4;

/// Translates paths of the audited system to paths on this machine. The current directory, the
/// sysroot and the stages decide where a file is. `base` decides how outputs write the path of the
/// file.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The directory that paths in outputs are relative to: `--relative-to`, or the current
    /// directory. `None` for full paths.
    pub base: Option<PathBuf>,
    /// The current directory. Relative paths start there, such as the paths of policies.
    pub here: PathBuf,
    /// The directory of `--root`, with links resolved; `None` without this option.
    pub sysroot: Option<PathBuf>,
    /// The staging directories, with links resolved.
    pub stages: Vec<PathBuf>,
    /// Paths of policies in findings. Policies are on this machine, even if there is a sysroot.
    pub policies: Vec<PathBuf>,
    /// Staged files whose installed path (key) differs from the path below the staging directory
    /// (value).
    pub staged: FastMap<PathBuf, PathBuf>,
    /// The index in `stages` of each staged file, by its installed path.
    pub stage_of: FastMap<PathBuf, usize>,
    /// The options of the run that select the audited system, as words of a shell command. `None`
    /// if they are not known or cannot be typed.
    pub typed_options: Option<Vec<String>>,
    /// The PATHs of the run, as words of a shell command. `None` if they are not known, cannot be
    /// typed, or are many.
    pub typed_paths: Option<Vec<String>>,
}

impl Paths {
    /// The path on this machine of a file in the audited system.
    fn here(&self, path: &Path) -> PathBuf {
        if path.is_relative() {
            return self.here.join(path);
        }
        match self.sysroot.as_ref().filter(|_| !self.policies.iter().any(|own| own == path)) {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_path_buf(),
        }
    }

    /// The path on this machine of a directory with audited files. With a `stage`, `path` is the
    /// path below this staging directory.
    pub(crate) fn directory(&self, path: &Path, stage: Option<&Path>) -> PathBuf {
        let here = match stage {
            None => self.here(path),
            Some(stage) => stage.join(path.strip_prefix("/").unwrap_or(path)),
        };
        // Removes the slash that `join` adds for the top directory.
        here.components().collect()
    }

    /// The staging directory of a file; `None` for a file of the system below the stages.
    pub(crate) fn stage(&self, file: &Path) -> Option<&Path> {
        self.stages.get(*self.stage_of.get(file)?).map(PathBuf::as_path)
    }

    /// The path of a staged file below its staging directory, with a slash in front. Returns any
    /// other path unchanged.
    pub(crate) fn in_stage<'p>(&'p self, path: &'p Path) -> &'p Path {
        self.staged.get(path).map_or(path, PathBuf::as_path)
    }

    /// The path of an audited file, as a word of a shell command that runs on this machine. The
    /// path of a staged file is relative to the staging directory, which a report does not name.
    pub(super) fn word(&self, report: &Report, path: &Path) -> String {
        let path = match &report.layers {
            Some(layers) if !layers.sysroot.iter().any(|file| &*file.0 == path) => {
                let path = self.in_stage(path);
                path.strip_prefix("/").unwrap_or(path).to_path_buf()
            }
            _ => self.here(path),
        };
        shell_path(&path)
    }

    /// The PATHs and options of a command that audits the same files again, as words of a shell
    /// command. `prefixes` stand for PATHs that are not known. `None` if these are many.
    pub(super) fn input(&self, report: &Report, prefixes: &[&Path]) -> Option<String> {
        let staged = report.layers.is_some();
        if self.typed_paths.is_none() && !staged && prefixes.len() > MOST_PREFIXES {
            return None;
        }
        let prefixes = || {
            let prefixes = prefixes.iter().filter(|_| !staged);
            prefixes.map(|prefix| shell_path(&self.directory(prefix, None))).collect()
        };
        let paths: Vec<String> = self.typed_paths.clone().unwrap_or_else(prefixes);
        let options = self.typed_options.clone().unwrap_or_else(|| {
            let root = self.sysroot.iter().map(|dir| format!("--root {}", shell_path(dir)));
            let mut options: Vec<String> = root.collect();
            options.extend(self.stages.iter().map(|dir| format!("--staged {}", shell_path(dir))));
            if staged && self.stages.is_empty() {
                options.push("--staged DIR".to_owned());
            }
            options
        });
        Some([paths, options].concat().join(" "))
    }

    /// The path of a file relative to `base`. For a file that is not below `base`, the full path on
    /// this machine.
    pub(super) fn relative(&self, path: &Path) -> PathBuf {
        let here = self.here(path);
        match self.base.as_deref().and_then(|base| here.strip_prefix(base).ok()) {
            Some(below) if !below.as_os_str().is_empty() => below.to_path_buf(),
            _ => here,
        }
    }

    /// The path as a URI reference (RFC 3986). Below `base`, the reference is relative. Elsewhere,
    /// it begins with `file://`.
    pub(super) fn uri(&self, path: &Path) -> String {
        let path = self.relative(path);
        let text = encoded(path.as_os_str().as_bytes());
        if path.is_absolute() {
            return format!("file://{text}");
        }
        // A colon in the first segment would make that segment a URI scheme.
        let first = path.components().next();
        match first {
            Some(Component::Normal(name)) if name.as_bytes().contains(&b':') => format!("./{text}"),
            _ => text,
        }
    }

    /// `base` as a URI with a slash at its end; `None` without `base`.
    pub(super) fn base_uri(&self) -> Option<String> {
        let base = self.base.as_deref()?;
        let text = encoded(base.as_os_str().as_bytes());
        Some(if text.ends_with('/') { format!("file://{text}") } else { format!("file://{text}/") })
    }
}

mod percent {
    use std::fmt::Write as _;

    /// Bytes as a path of a URI. Unreserved characters, slashes and a few others stay; all other
    /// bytes are percent-encoded.
    pub(super) fn encoded(bytes: &[u8]) -> String {
        let mut out = String::with_capacity(bytes.len());
        for byte in bytes {
            if byte.is_ascii_alphanumeric() || b"-._~/+:@,=".contains(byte) {
                out.push(char::from(*byte));
            } else {
                // Writing to a String cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Paths;
    use std::path::Path;

    #[test]
    fn a_path_below_the_base_is_relative() {
        let paths = Paths { base: Some("/srv/tree".into()), ..Paths::default() };
        for (path, uri) in [
            ("/srv/tree/lib/a b.so", "lib/a%20b.so"),
            ("/srv/tree/c:d", "./c:d"),
            ("/usr/lib/é.so", "file:///usr/lib/%C3%A9.so"),
            ("/srv/tree", "file:///srv/tree"),
        ] {
            assert_eq!(paths.uri(Path::new(path)), uri);
        }
        let paths = Paths { sysroot: Some("/srv/tree/root".into()), ..paths };
        assert_eq!(paths.uri(Path::new("/usr/lib/x.so")), "root/usr/lib/x.so");
        assert_eq!(paths.base_uri().as_deref(), Some("file:///srv/tree/"));
    }
}
