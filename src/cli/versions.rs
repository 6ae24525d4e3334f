//! What version scripts mean for one linker: the names that need a definition, and whether the
//! linker reads the script at all.

use super::named;
use crate::cover::Linker;
use crate::format::version_script::{self, VersionScript, VersionedName};
use crate::format::{version_script_gnu, version_script_mold};
use crate::text::show;
use std::path::Path;

/// Upper bound for a version script, in bytes.
const MOST: u64 = 16 << 20;

/// A version script as one linker reads it.
#[derive(Default)]
pub(super) struct ReadVersions {
    /// The names that need a definition; empty if the linker ignores names without one.
    pub(super) names: Vec<VersionedName>,
    /// What is assumed about the script.
    pub(super) assumed: Option<String>,
    /// The error if the linker refuses the script.
    pub(super) refused: Option<String>,
}

impl ReadVersions {
    /// Reads the script at `path`, which errors call `what`.
    pub(super) fn of_file(path: &Path, what: &str, linker: Linker) -> Self {
        if let Ok(text) = named::read(path, MOST) {
            return Self::new(&text, (what, false), linker);
        }
        let assumed = match linker {
            Linker::Lld => "all names in it are assumed to be defined".to_owned(),
            Linker::Gnu | Linker::Mold => format!("{} is assumed to accept it", linker.title()),
        };
        Self { assumed: Some(format!("{what}: not readable; {assumed}")), ..Self::default() }
    }

    /// Reads the script `text`, which errors call `what`. `is_in_script` is true if it is part of a
    /// linker script.
    pub(super) fn new(text: &[u8], (what, is_in_script): (&str, bool), linker: Linker) -> Self {
        let of_lld = |script: VersionScript| {
            let assumed = script.demangled.map(|name| {
                let name = show(&name);
                format!("{what}: {name} of extern \"C++\" is assumed to have a definition")
            });
            Self { names: script.names, assumed, refused: None }
        };
        let read = match linker {
            Linker::Lld => version_script::parse(text).map(of_lld),
            Linker::Gnu => version_script_gnu::check(text, is_in_script).map(|()| Self::default()),
            Linker::Mold => version_script_mold::check(text).map(|()| Self::default()),
        };
        read.unwrap_or_else(|error| {
            let title = linker.title();
            let refused = format!("{what}: {title} refuses the version script: {error}");
            Self { refused: Some(refused), ..Self::default() }
        })
    }
}
