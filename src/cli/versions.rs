//! What version scripts mean for one linker: the names that need a definition, and whether the
//! linker reads the script at all.

use super::named;
use crate::cover::Linker;

use crate::format::version_script::{self, VersionedName};
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
        match named::read(path, MOST) {
            Ok(text) => Self::new(&text, what, linker),
            Err(_) if linker == Linker::Lld => {
                let assumed =
                    format!("{what}: not readable; all names in it are assumed to be defined");
                Self { assumed: Some(assumed), ..Self::default() }
            }
            Err(_) => Self::default(),
        }
    }

    /// Reads the script `text`, which errors call `what`.
    pub(super) fn new(text: &[u8], what: &str, linker: Linker) -> Self {
        let title = linker.title();
        let refused = |error| Some(format!("{what}: {title} refuses the version script: {error}"));
        match (version_script::parse(text), linker) {
            (Err(error), Linker::Lld) => Self { refused: refused(error), ..Self::default() },
            (Err(error), Linker::Gnu | Linker::Mold) => {
                let assumed = format!("{what}: {error}: {title} is assumed to accept it");
                Self { assumed: Some(assumed), ..Self::default() }
            }
            (Ok(script), Linker::Lld) => {
                let assumed = script.demangled.map(|name| {
                    let name = show(&name);
                    format!("{what}: {name} of extern \"C++\" is assumed to have a definition")
                });
                Self { names: script.names, assumed, refused: None }
            }
            (Ok(script), Linker::Gnu) => {
                Self { refused: script.refused_by_gnu.and_then(refused), ..Self::default() }
            }
            (Ok(_), Linker::Mold) => Self::default(),
        }
    }
}
