//! A list of archives in CMake: `set(NAME` with one bare archive name a line, as rocMLIR's
//! `librockcompiler_deps.cmake` is written (reference: its generator `get_fat_library_deps_list.pl`
//! sorts by bytes and drops duplicates). `scan` takes the text apart, `write` puts it together again
//! with names added or dropped; everything that no name was added to stays byte for byte.
//!
//! It is no CMake: nothing is evaluated, so a set that holds a variable is said to be unreadable.
//! `fix` asks it for what is listed and for the new text; the rule `deps-list-drift` for what is listed.

mod scan;
mod write;

pub use write::Change;

use std::ops::Range;

/// Why a file, or one set in it, cannot be read as a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The line, from 1.
    pub line: u32,
    /// A sentence's end: what stands there.
    pub reason: String,
}

/// A file of sets of archive names.
#[derive(Clone, Debug)]
pub struct DepsList {
    text: Vec<u8>,
    sets: Vec<Set>,
}

/// One `set(NAME …)` or `list(APPEND NAME …)`.
#[derive(Clone, Debug)]
pub struct Set {
    /// The variable.
    pub name: Vec<u8>,
    /// What it lists, in the file's order.
    pub entries: Vec<Entry>,
    /// What in it is no name, if something is.
    pub trouble: Option<Trouble>,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// It adds to a variable that may hold more.
    pub appends: bool,
    /// Where names may stand: from the end of the variable's name to `)` or the keyword before it.
    body: Range<usize>,
}

/// One listed archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its bare name, without `lib` and `.a`.
    pub name: Vec<u8>,
    /// The line, from 1.
    pub line: u32,
    /// Where it stands, quotes included.
    span: Range<usize>,
}

impl DepsList {
    /// Takes a file apart; the error says where it is no CMake.
    pub fn parse(text: Vec<u8>) -> Result<Self, Trouble> {
        let sets = scan::sets(&text)?;
        Ok(Self { text, sets })
    }

    /// The sets, in the file's order.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// The file as it was read.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Every listed name, in the file's order.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.sets.iter().flat_map(|set| &set.entries).map(|entry| &*entry.name)
    }

    /// Leaves only the sets for which `keep` says so. The text around them is not theirs any more.
    pub fn retain(&mut self, keep: impl Fn(&Set) -> bool) {
        self.sets.retain(keep);
    }
}

/// True if an archive's name can stand in a list as it is: CMake would change, split or evaluate
/// anything else (cmake-language(7), unquoted arguments), and two words are keywords of `set`.
pub fn can_list(name: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_.+-".contains(b);
    !name.is_empty() && name.iter().all(plain) && !scan::is_keyword(name)
}

/// The bare name of an archive's file: `libNAME.a`.
pub fn bare_name(file_name: &[u8]) -> Option<&[u8]> {
    file_name.strip_prefix(b"lib")?.strip_suffix(b".a").filter(|name| !name.is_empty())
}
