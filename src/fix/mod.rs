//! Fixes: what would make a finding go away, as data, and the files that say it to other tools.
//!
//! `list` reads and writes lists of archives, `merge` finds the archive that is merged from one,
//! `solve` finds out what it lacks, `prove` runs resolving and binding again with the fix applied.
//! `emit` writes; an emitter is one file and one row in [`emit::EMITTERS`]. `cli::fix` strings them
//! together. Nothing here changes a file that is audited, and nothing here opens one.

pub mod emit;
pub mod known;
pub mod list;
pub mod merge;
mod minimal;
mod place;
pub mod propose;
pub mod prove;
mod referrers;
pub mod solve;
pub mod summary;

use std::path::Path;
use std::sync::Arc;

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    /// An archive joins a list of archives that are merged.
    AddToList,
    /// An archive joins the link of a library or program.
    LinkArchive,
}

/// How sure a fix is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Proof {
    /// Resolving and binding ran again with it: what they showed.
    Proven(String),
    /// It is a suggestion: what is not known.
    Unknown(String),
}

/// One thing to do about a finding. Fields that do not apply are empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fix {
    /// What.
    pub intent: Intent,
    /// The list it is about.
    pub list: Option<Arc<Path>>,
    /// The set of that list.
    pub set: Option<Vec<u8>>,
    /// The name on the list, or the archive's path.
    pub entry: Option<Vec<u8>>,
    /// How sure it is.
    pub proof: Proof,
}

impl Fix {
    /// True if it was shown to help.
    pub fn is_proven(&self) -> bool {
        matches!(self.proof, Proof::Proven(_))
    }

    /// The word for how sure it is: `safe` if it was proven.
    pub fn level(&self) -> &'static str {
        if self.is_proven() { "safe" } else { "suggestion" }
    }
}
