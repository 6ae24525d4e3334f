//! Fixes: what would make a finding go away, as data, and the files that say it to other tools.
//!
//! `list` reads and writes lists of archives, `merge` finds the archive that is merged from one,
//! `solve` finds out what it lacks, `prove` runs resolving and binding again with the fix applied.
//! `emit` writes; an emitter is one file and one row in [`emit::EMITTERS`]. `cli::fix` strings them
//! together. Nothing here changes a file that is audited, and nothing here opens one.

pub mod emit;
pub mod known;
pub mod merge;
mod minimal;
mod place;
pub mod propose;
pub mod prove;
mod referrers;
pub mod solve;
pub mod summary;
