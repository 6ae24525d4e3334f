//! The second readers of `--cross-check`: goblin reads an ELF file again, the `ar` crate an archive,
//! and what both say is held against what was read first. Nothing is decided here: a difference is
//! the rule `readers-disagree`'s.
//!
//! Off the main path: `facts::collect` calls it, and only with that option.

mod archive;
mod elf;

pub use archive::compare as compare_archive;
pub use elf::compare as compare_elf;

use std::cell::Cell;

/// A file larger than this is not handed to goblin, which wants all of it in memory.
const MOST: u64 = 256 << 20;

/// One fact on which two readers differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// What the fact is about: `soname`, `symbol 12`.
    pub what: String,
    /// What was read first; nothing if there is no such fact.
    pub ours: Option<Vec<u8>>,
    /// What the second reader says.
    pub theirs: Option<Vec<u8>>,
}

impl Difference {
    fn new(what: impl Into<String>, ours: Option<&[u8]>, theirs: Option<&[u8]>) -> Self {
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        Self { what: what.into(), ours: owned(ours), theirs: owned(theirs) }
    }
}

/// What reading a second time came to.
#[derive(Clone, Debug)]
pub enum Second {
    /// It was read; these are the differences.
    Read(Vec<Difference>),
    /// It was not, for this reason.
    GaveUp(&'static str),
}

thread_local! {
    /// A second reader runs on this thread.
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// True while a second reader runs on this thread: a panic is then an answer like any other, and the
/// program's panic hook says nothing of it.
pub fn is_reading() -> bool {
    READING.get()
}

/// Runs a second reader. They are known to panic on damaged input: that is giving up.
fn guard(read: impl FnOnce() -> Second) -> Second {
    READING.set(true);
    let second = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    READING.set(false);
    second.unwrap_or(Second::GaveUp("the second reader panicked"))
}
