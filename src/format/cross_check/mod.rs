//! The second readers of `--cross-check`: goblin reads an ELF file again, and the `ar` crate an
//! archive. Each result is compared with that of the first reader, which is the parser of this
//! crate. The rule `readers-disagree` reports the differences.

mod archive;
mod elf;

pub use archive::compare as compare_archive;
pub use elf::compare as compare_elf;

use std::cell::Cell;

/// Upper bound, in bytes, for a file that goblin reads, because goblin needs the whole file in
/// memory.
const MOST: u64 = 256 << 20;

/// One fact on which two readers differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadingDifference {
    /// The subject of the fact: `soname`, `symbol 12`.
    pub what: String,
    /// The result of the first reader; `None` if it has no such fact.
    pub ours: Option<Vec<u8>>,
    /// The result of the second reader; `None` if it has no such fact.
    pub theirs: Option<Vec<u8>>,
}

impl ReadingDifference {
    fn new(what: impl Into<String>, ours: Option<&[u8]>, theirs: Option<&[u8]>) -> Self {
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        Self { what: what.into(), ours: owned(ours), theirs: owned(theirs) }
    }
}

/// The result of a second reader for one file.
#[derive(Clone, Debug)]
pub enum SecondReading {
    /// The second reader read the file. The differences are empty if both readers agree.
    Read(Vec<ReadingDifference>),
    /// The second reader did not read the file, for this reason.
    GaveUp(&'static str),
}

thread_local! {
    /// True while a second reader runs on this thread.
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// True while a second reader runs on this thread. The program's panic hook then prints nothing,
/// because `guard` catches the panic.
pub fn is_reading() -> bool {
    READING.get()
}

/// Runs a second reader. Damaged input can make it panic; the result is then
/// [`SecondReading::GaveUp`].
fn guard(read: impl FnOnce() -> SecondReading) -> SecondReading {
    READING.set(true);
    let second = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    READING.set(false);
    second.unwrap_or(SecondReading::GaveUp("the second reader panicked"))
}
