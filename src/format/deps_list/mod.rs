//! Lists of archives in CMake: `set(NAME …)`, `list(APPEND NAME …)`, `target_link_libraries(…)` and
//! the `LINK_LIBS` of LLVM's commands. `scan` finds the lists, `calls` those in calls of functions,
//! `properties` those in properties, and `spelling` reads the names in them. `position` decides
//! where a new name goes, and `write` inserts and drops names.
//!
//! `trace` follows a new name to the links of targets. Only `trace` evaluates conditions. The other
//! modules leave references (`${NAME}`) and generator expressions as written. `values` reads the
//! names in references and expressions, and these names count as listed. A flag such as `-pthread`
//! is read as a name, but no archive has that name.

mod assign;
mod calls;
mod flow;
mod helpers;
mod life;
mod loops;
mod position;
mod properties;
mod rank;
mod removed;
mod repeats;
mod scan;
mod spelling;
mod trace;
mod unread;
mod used;
mod values;
mod whole_archive;
mod write;

pub use flow::LinkParts;
pub use position::{LinkOrder, sorted_sets};
pub use spelling::Spelling;
pub use trace::{Fate, Joins, Links, Matcher, Trace};
pub use write::SetChange;

use crate::format::cmake::SyntaxError;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The reason why a CMake file, a set in the file, or a value of a set cannot be read as archives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError {
    /// The line, from 1.
    pub line: u32,
    /// The reason, in lower case and without a full stop. For a value whose archives are unknown,
    /// `reason` is the text of the value.
    pub reason: String,
}

impl From<SyntaxError> for ListError {
    fn from(error: SyntaxError) -> Self {
        Self { line: error.line, reason: error.reason.to_owned() }
    }
}

/// A CMake file, with its sets of archive names.
#[derive(Clone, Debug)]
pub struct DepsList {
    text: Vec<u8>,
    sets: Vec<Set>,
    /// The result of [`DepsList::first_unknown`].
    unknown: Option<ListError>,
    /// Targets with the names of their files (`OUTPUT_NAME`).
    outputs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Targets whose names refer to variables (`${PROJECT_NAME}`), with the names that they get.
    target_names: Vec<(Vec<u8>, Vec<u8>)>,
    /// The targets of `add_library(NAME INTERFACE)`, and imported targets.
    interfaces: BTreeSet<Vec<u8>>,
    /// For each command that refers to several variables and makes no set: the variables to which
    /// it refers.
    uses: Vec<Vec<Vec<u8>>>,
    /// Shared libraries and modules. A target that links a shared library or module does not get
    /// the private archives of that library or module.
    shared: BTreeSet<Vec<u8>>,
    /// For each alias NAME, the TARGET of `add_library(NAME ALIAS TARGET)`.
    aliases: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The variables whose values a command may put into another order.
    reordered: BTreeSet<Vec<u8>>,
    /// The variables of `list(REMOVE_DUPLICATES)`.
    deduplicated: BTreeSet<Vec<u8>>,
    /// The variables in which functions and macros have their arguments.
    arguments: BTreeSet<Vec<u8>>,
    /// The sets of each variable or target; computed on first use.
    flow: OnceLock<flow::Flow>,
    /// The commands; parsed on first use.
    program: OnceLock<Arc<trace::Program>>,
}

/// The command that makes a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetCommand {
    /// `set(NAME …)`, which replaces earlier values. Also `llvm_map_components_to_libnames(NAME
    /// …)`, whose values are components of LLVM.
    Set,
    /// `list(APPEND NAME …)`, `PREPEND` or `INSERT`, or `set(NAME ${NAME} …)`: the variable may
    /// have other values too. Also `foreach(NAME …)` if a set in the loop uses `${NAME}` as a
    /// value, or as the end of an archive's name.
    Append,
    /// `string(APPEND NAME …)`: the values may continue the text of earlier values.
    Text,
    /// `target_link_libraries(NAME …)`, `link_libraries(…)`, or the arguments after `LINK_LIBS`
    /// or `LINK_COMPONENTS` in another command. The linker gets the names in the order of the
    /// list.
    Link,
}

/// One block of commands around a set, such as an arm of `if()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// The number of the block, in the order in which blocks begin.
    pub number: usize,
    /// The arm of an `if()`: 0 after `if()`, one more after each `elseif()` and `else()`. Always 0
    /// for other blocks.
    pub arm: usize,
    /// True for the arms of an `if()`.
    pub is_condition: bool,
    /// True for the body of a `function()`.
    pub is_function: bool,
    /// True for the body of a `macro()`.
    pub is_macro: bool,
}

/// A set of archives: the values of one command.
#[derive(Clone, Debug)]
pub struct Set {
    /// The variable or the target that gets the values; `link_libraries` for the command
    /// `link_libraries()`.
    pub name: Vec<u8>,
    /// The names among the plain values, in the file's order. Some may name no archive, such as
    /// `-pthread`.
    pub entries: Vec<ListedArchive>,
    /// Names that the command lists in another way: inside of a generator expression, after
    /// `debug`, or by a variable of the file. These names may depend on a condition.
    pub mentions: Vec<ListedArchive>,
    /// The variables that are values of the set (`${NAME}`), each with the number of entries before
    /// it.
    pub references: Vec<(usize, Vec<u8>)>,
    /// The reason why the set cannot be used, such as a second `set()` of the same variable; `None`
    /// if the set can be used.
    pub trouble: Option<ListError>,
    /// The line on which the command begins, from 1.
    pub line: u32,
    /// The kind of command that makes the set.
    pub origin: SetCommand,
    /// The blocks around the command, the outermost first.
    pub blocks: Vec<Block>,
    /// Values whose archives are unknown: they refer to variables that the file does not set, or
    /// they are generator expressions that make parts of names.
    pub unknown: Vec<ListError>,
    /// The position of the set's values in the value of the variable: values of sets with lower
    /// ranks come first.
    pub rank: i64,
    /// True if it is unclear which archive a new name would stand for, because commands write text
    /// before the names, such as `LLVM` in `LLVM${item}`. This is so if commands write different
    /// texts. If they write a single text, this is so if the set has no names, or a word that is
    /// not a bare name.
    pub is_ambiguous: bool,
    /// True if the values are components of LLVM: `Core` for the archive `LLVMCore`.
    is_components: bool,
    /// True for a `foreach()` whose items name known archives, directly or through variables. Set
    /// by [`DepsList::identify`].
    has_known_items: bool,
    /// True if the values follow `PRIVATE` or `LINK_PRIVATE`.
    pub is_private: bool,
    /// True for values after `INTERFACE`, which the target itself does not link.
    pub is_interface: bool,
    /// True if values of the set change from round to round of a loop around the set. A new name
    /// in the set would be added once for each round.
    pub is_repeated: bool,
    /// The block number of the loop, if the command is `foreach()`.
    loop_block: Option<usize>,
    /// All values, in the file's order.
    items: Vec<SetValue>,
    /// The byte range that may hold values. It begins after the name or keyword, and ends at `)` or
    /// at the next keyword.
    body: Range<usize>,
    /// The index of this set among all sets of the file.
    number: usize,
}

/// The name of an archive in a list, with its position and its spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedArchive {
    /// The archive's bare name, without `lib` and `.a`.
    pub name: Vec<u8>,
    /// The line, from 1.
    pub line: u32,
    /// True if the name is one of the archives passed to [`DepsList::identify`].
    pub is_known: bool,
    /// True if `list(REMOVE_ITEM …)` removes the name again.
    is_removed: bool,
    /// The form in which the list writes the name.
    spelling: Spelling,
    /// The index in [`Set::items`] of the value that contains the name.
    item: usize,
}

/// One value of a set.
#[derive(Clone, Debug)]
struct SetValue {
    /// Its byte range, with the quotes of a quoted argument.
    span: Range<usize>,
    /// True if the value is a part of an argument such as `"a;b"`.
    is_inner: bool,
    /// True if a value inserted directly after this one would get another meaning, for example
    /// after `--whole-archive` or `-L`.
    is_closed: bool,
}

impl DepsList {
    /// Parses a file. An error if it is not valid CMake, or if its blocks do not match.
    pub fn parse(text: Vec<u8>) -> Result<Self, ListError> {
        let found = scan::sets(&text)?;
        Ok(Self {
            text,
            sets: found.sets,
            unknown: None,
            outputs: found.outputs,
            target_names: found.target_names,
            interfaces: found.interfaces,
            uses: found.uses,
            shared: found.shared,
            aliases: found.aliases,
            reordered: found.reordered,
            deduplicated: found.deduplicated,
            arguments: found.arguments,
            flow: OnceLock::new(),
            program: OnceLock::new(),
        })
    }

    fn program(&self) -> &trace::Program {
        self.program.get_or_init(|| Arc::new(trace::Program::new(&self.text, &self.sets)))
    }

    /// The sets, in the file's order.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// The file as it was read.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The names in all sets, also those that may depend on a condition.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.sets.iter().flat_map(Set::names)
    }

    /// The listed names that are plain values and that the file does not remove again.
    pub fn plain_names(&self) -> impl Iterator<Item = &[u8]> {
        let entries = self.sets.iter().flat_map(|set| &set.entries);
        entries.filter(|entry| !entry.is_removed).map(|entry| &*entry.name)
    }

    /// The names that `OUTPUT_NAME` properties give to the file of `target`, and the names that
    /// `target` gets if it is spelled with variables.
    pub fn outputs(&self, target: &[u8]) -> impl Iterator<Item = &[u8]> {
        let all = self.outputs.iter().chain(&self.target_names);
        all.filter(move |(name, _)| name == target).map(|(_, output)| &**output)
    }

    /// Another target whose `OUTPUT_NAME` is `name`: a link of `name` may miss the target's file.
    pub fn target_of_output(&self, name: &[u8]) -> Option<&[u8]> {
        let mut of =
            self.outputs.iter().filter(|(target, output)| output == name && target != name);
        of.next().map(|(target, _)| &**target)
    }

    /// True for a name `NS::NAME` if the file defines aliases in the namespace `NS`, but not this
    /// one.
    pub fn lacks_alias(&self, name: &[u8]) -> bool {
        let Some(at) = memchr::memmem::rfind(name, b"::") else { return false };
        let mut aliases = self.aliases.keys();
        !self.aliases.contains_key(name) && aliases.any(|alias| alias.starts_with(&name[..at + 2]))
    }

    /// The variables whose values a command may put into another order.
    pub fn reordered(&self) -> impl Iterator<Item = &[u8]> {
        self.reordered.iter().map(Vec::as_slice)
    }

    /// True for a variable in which a function or macro has arguments.
    pub fn is_argument(&self, name: &[u8]) -> bool {
        self.arguments.contains(name)
    }

    /// The variables from whose values a command removes duplicates.
    pub fn deduplicated(&self) -> impl Iterator<Item = &[u8]> {
        self.deduplicated.iter().map(Vec::as_slice)
    }

    /// For each command that refers to several variables and makes no set: the variables to which
    /// it refers.
    pub fn uses(&self) -> impl Iterator<Item = &[Vec<u8>]> {
        self.uses.iter().map(Vec::as_slice)
    }

    /// The first value whose archives are unknown. The search covers the sets that name a known
    /// archive, and the sets that variables connect with these sets. If no set names a known
    /// archive, the search covers all sets. `None` if it finds no such value, or before
    /// [`Self::identify`] is called.
    pub fn first_unknown(&self) -> Option<&ListError> {
        self.unknown.as_ref()
    }

    /// True for `list(INSERT …)`, which is not valid without values.
    pub fn needs_values(&self, set: &Set) -> bool {
        let before = self.text.get(..set.body.start).unwrap_or_default();
        let start = memchr::memrchr(b'(', before).map_or(0, |at| at + 1);
        before[start..].trim_ascii_start().starts_with(b"INSERT")
    }

    /// Keeps only the sets for which `keep` is true. The text of the file does not change.
    pub fn retain(&mut self, keep: impl Fn(&Set) -> bool) {
        self.sets.retain(keep);
        (self.flow, self.program) = (OnceLock::new(), OnceLock::new());
    }

    /// Marks the entries that name one of `archives` (bare names) in any spelling, and sets their
    /// names to the archive's bare name.
    pub fn identify(&mut self, archives: &BTreeSet<&[u8]>) {
        spelling::identify(&mut self.sets, archives);
        loops::note_known_items(&mut self.sets);
        self.unknown = values::first_unknown(&self.sets).cloned();
    }
}

impl Set {
    /// True if the command of the set is inside of an `if()`.
    pub fn is_conditional(&self) -> bool {
        self.blocks.iter().any(|block| block.is_condition)
    }

    /// All names in the set: the entries, then the mentions.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().chain(&self.mentions).map(|entry| &*entry.name)
    }

    /// Number of names that [`DepsList::identify`] marked.
    pub fn known(&self) -> usize {
        self.entries.iter().chain(&self.mentions).filter(|entry| entry.is_known).count()
    }

    /// True for `foreach(NAME IN LISTS …)`: the items are the values of other variables.
    fn visits_lists(&self) -> bool {
        self.loop_block.is_some() && self.items.is_empty() && !self.references.is_empty()
    }

    /// True if this set has the items of a `foreach()` around the command of `other`, and some of
    /// the items are known archives.
    pub fn is_known_loop_of(&self, other: &Self) -> bool {
        let numbers = |number| other.blocks.iter().any(|block| block.number == number);
        let is_around = self.loop_block.is_some_and(numbers);
        self.has_known_items && is_around && other.loop_block != self.loop_block
    }

    /// True if `name` is one of the entries. Mentions do not count.
    pub fn holds(&self, name: &[u8]) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    /// True if the command of this set replaces the values of `other` when it runs later.
    pub fn replaces(&self, other: &Self) -> bool {
        self.origin == SetCommand::Set && self.name == other.name
    }

    /// True if every `if()` arm around this set also surrounds `other`. Wherever CMake runs the
    /// command of `other`, it then also runs the command of this set.
    pub fn covers(&self, other: &Self) -> bool {
        let conditions = self.blocks.iter().filter(|block| block.is_condition);
        conditions.into_iter().all(|block| other.blocks.contains(block))
    }
}

/// True if an archive's name can be written into a list without quotes. False for a name with
/// characters that CMake may change, split or evaluate (cmake-language(7), unquoted arguments),
/// and for keywords such as `debug`.
pub fn can_list(name: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_.+-".contains(b);
    let is_word = scan::is_keyword(name) || scan::is_qualifier(name);
    !name.is_empty() && name.iter().all(plain) && !is_word
}

/// NAME in the file name `libNAME.a`. `None` for other file names.
pub fn bare_name(file_name: &[u8]) -> Option<&[u8]> {
    file_name.strip_prefix(b"lib")?.strip_suffix(b".a").filter(|name| !name.is_empty())
}
