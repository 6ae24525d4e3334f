//! Selects the files whose paths the walk keeps for rules, whatever their content: files that a
//! policy may require, and the metadata of Python wheels. This filter compares only file names; the
//! rule about required files compares whole paths.

use crate::package::wheel_directory;
use crate::policy::{Pattern, Policy};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// True if the policy requires files, or requires or forbids symbols of files with certain paths.
/// Every path of a file then matters, not only the first.
pub(super) fn names_files(policy: &Policy) -> bool {
    let mut symbols = policy.required_symbols.iter().chain(&policy.forbidden_symbols);
    !policy.required_files.is_empty() || symbols.any(|at| at.path.is_some())
}

/// Decides by file names which paths the walk keeps: those that a policy may require, and those of
/// wheel metadata.
pub(super) struct KeptNames {
    /// For each required path, the pattern of its file name. `None` if the file name cannot be told
    /// from the pattern of the whole path: any file name then matches.
    names: Vec<Option<Pattern>>,
}

impl KeptNames {
    pub(super) fn new(policy: &Policy) -> Self {
        let last = |text: &str| {
            let name = text.rsplit('/').next().unwrap_or(text);
            // Brackets and braces may contain a slash.
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
