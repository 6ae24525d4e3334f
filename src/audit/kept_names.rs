//! Selects the file names that a walk keeps for rules: files of any content that a policy may
//! require, and the metadata of Python wheels. The rule about required files compares whole paths;
//! this filter compares only the last part.

use crate::package::wheel_directory;
use crate::policy::{Pattern, Policy};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// True if a policy selects files by path. Then every path of a file matters, not only the first.
pub(super) fn names_files(policy: &Policy) -> bool {
    let mut symbols = policy.required_symbols.iter().chain(&policy.forbidden_symbols);
    !policy.required_files.is_empty() || symbols.any(|at| at.path.is_some())
}

/// Last components of the paths that a policy requires.
pub(super) struct KeptNames {
    /// `None` if the last part of the pattern is unknown: any name then matches.
    names: Vec<Option<Pattern>>,
}

impl KeptNames {
    pub(super) fn new(policy: &Policy) -> Self {
        let last = |text: &str| {
            let name = text.rsplit('/').next().unwrap_or(text);
            // Brackets may contain a slash.
            let simple = !text.contains(['{', '[', '\\']);
            if simple { Pattern::name(name).ok() } else { None }
        };
        let files = policy.required_files.iter();
        Self { names: files.map(|required| last(required.path.text())).collect() }
    }

    pub(super) fn may_be(&self, path: &Path) -> bool {
        let mut names = self.names.iter();
        let mut is_required =
            |name: &[u8]| names.any(|p| p.as_ref().is_none_or(|pattern| pattern.matches(name)));
        let name = || path.file_name().map(OsStrExt::as_bytes);
        !self.names.is_empty() && name().is_some_and(&mut is_required)
            || wheel_directory(path).is_some()
    }
}
