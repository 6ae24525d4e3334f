//! Lists of archives in CMake: `set(NAME …)`, `list(APPEND NAME …)`, `target_link_libraries(…)` and the
//! `LINK_LIBS` of LLVM's commands. `scan` finds the lists, `spelling` reads the names in them, `position`
//! says where a new name goes, and `write` inserts it: all bytes that are there stay, in their order.
//!
//! Nothing is evaluated. References (`${NAME}`), generator expressions and flags are values that are
//! kept; they name no archive. `fix` asks for the names and for the new text, the rule
//! `deps-list-drift` for the names.

mod position;
mod scan;
mod spelling;
mod write;

pub use position::LinkOrder;
pub use spelling::Spelling;
pub use write::Change;

use crate::format::cmake::SyntaxError;
use std::collections::BTreeSet;
use std::ops::Range;

/// Why a file, or one set in it, cannot be read as a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError {
    /// The line, from 1.
    pub line: u32,
    /// The end of a sentence.
    pub reason: String,
}

impl From<SyntaxError> for ListError {
    fn from(error: SyntaxError) -> Self {
        Self { line: error.line, reason: error.reason.to_owned() }
    }
}

/// A file of sets of archive names.
#[derive(Clone, Debug)]
pub struct DepsList {
    text: Vec<u8>,
    sets: Vec<Set>,
}

/// The command that makes a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `set(NAME …)`.
    Set,
    /// `list(APPEND NAME …)`: the variable may hold more.
    Append,
    /// `target_link_libraries(NAME …)`, or `LINK_LIBS` of another command: a link takes the names in
    /// this order.
    Link,
}

/// One block of commands around a set, such as an arm of `if()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// The block, by the order in which blocks begin.
    pub number: usize,
    /// Its arm: 0 behind `if()`, one more behind each `elseif()` and `else()`.
    pub arm: usize,
    /// It is an `if()`.
    pub is_condition: bool,
}

/// The values of one command.
#[derive(Clone, Debug)]
pub struct Set {
    /// The variable or the target.
    pub name: Vec<u8>,
    /// The names of archives in it, in the file's order.
    pub entries: Vec<ListedArchive>,
    /// Why it cannot be used.
    pub trouble: Option<ListError>,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// Its command.
    pub origin: Origin,
    /// The blocks around it, the outermost first.
    pub blocks: Vec<Block>,
    /// Values that refer to variables which the file does not set: what they list is unknown.
    pub unknown: Vec<ListError>,
    /// All values, in the file's order.
    items: Vec<Item>,
    /// Where values may stand: from the end of the name or keyword before them to `)` or the keyword
    /// behind them.
    body: Range<usize>,
    /// Its number among all sets of the file.
    number: usize,
}

/// One listed archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedArchive {
    /// The archive's bare name, without `lib` and `.a`.
    pub name: Vec<u8>,
    /// The line, from 1.
    pub line: u32,
    /// An archive of this name is a candidate, as far as [`DepsList::identify`] was told.
    pub is_known: bool,
    /// How the name is written.
    spelling: Spelling,
    /// Its value, by index.
    item: usize,
}

/// One value of a set.
#[derive(Clone, Debug)]
struct Item {
    /// All its bytes; those of a whole argument with its quotes.
    span: Range<usize>,
    /// It is part of an argument such as `"a;b"`.
    is_inner: bool,
    /// No value may follow it, such as behind `--whole-archive`.
    is_closed: bool,
}

impl DepsList {
    /// Takes a file apart; the error says where it is no CMake.
    pub fn parse(text: Vec<u8>) -> Result<Self, ListError> {
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

    /// Keeps only the sets for which `keep` is true. The text of the file stays.
    pub fn retain(&mut self, keep: impl Fn(&Set) -> bool) {
        self.sets.retain(keep);
    }

    /// Finds out which entries name which of these archives (bare names), however they are spelled.
    pub fn identify(&mut self, archives: &BTreeSet<&[u8]>) {
        spelling::identify(&mut self.sets, archives);
    }
}

impl Set {
    /// True if an `if()` decides about it.
    pub fn is_conditional(&self) -> bool {
        self.blocks.iter().any(|block| block.is_condition)
    }

    /// The number of its entries that name candidates.
    pub fn known(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_known).count()
    }

    /// True if `name` is in it.
    pub fn holds(&self, name: &[u8]) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    /// True if its values are in effect wherever those of `other` are.
    pub fn covers(&self, other: &Self) -> bool {
        let conditions = self.blocks.iter().filter(|block| block.is_condition);
        conditions.into_iter().all(|block| other.blocks.contains(block))
    }
}

/// True if an archive's name can stand in a list as it is: CMake would change, split or evaluate
/// anything else (cmake-language(7), unquoted arguments), and it has words of its own.
pub fn can_list(name: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_.+-".contains(b);
    let is_word = scan::is_keyword(name) || scan::is_qualifier(name);
    !name.is_empty() && name.iter().all(plain) && !is_word
}

/// The bare name of an archive's file: `libNAME.a`.
pub fn bare_name(file_name: &[u8]) -> Option<&[u8]> {
    file_name.strip_prefix(b"lib")?.strip_suffix(b".a").filter(|name| !name.is_empty())
}
