//! Finds the `foreach()` loops whose variable is a value of a set in the loop, or a part of a value
//! in place of the name (`lib${item}.a`). Also finds the text that a file writes before the names
//! of a list. For example, if a loop has the items `a b` and links `LLVM${item}`, it links `LLVMa`
//! and `LLVMb`.

use super::spelling::TARGET_FILE;
use super::{Block, ListedArchive, Set, SetCommand};
use crate::id::{FastMap, FastSet};
use std::collections::{BTreeMap, BTreeSet};

/// The text that the file writes before each name in a variable: `LLVM` for `LLVM${item}`. `None`
/// if the text differs from use to use.
type Start = Option<Vec<u8>>;

/// A command in a loop that finds the file of an archive, or names it as the file of a target.
pub(super) struct FileUse {
    pub(super) blocks: Vec<Block>,
    /// The text with the archive's name.
    pub(super) text: Vec<u8>,
    /// The target that has the file. `None` for a search.
    pub(super) target: Option<Vec<u8>>,
}

/// The numbers of the `foreach()` blocks in which a set has the loop variable as a value, or as the
/// end of an archive's name: `LLVM${c}`, `libLLVM${c}.a`. The start of the name (`LLVM`) is
/// prepended to the items of the loop, and to the values of the variables that the loop visits.
/// `files` are the commands in loops that read the names of archives.
pub(super) fn used_loops(sets: &mut [Set], files: &[FileUse]) -> FastSet<usize> {
    let mut out = FastSet::default();
    let mut loops: FastMap<usize, (usize, Vec<u8>, bool)> = FastMap::default();
    let mut starts: BTreeMap<usize, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut spelled: BTreeSet<usize> = BTreeSet::new();
    for (at, set) in sets.iter_mut().enumerate() {
        if let Some(block) = set.loop_block {
            let visits = set.entries.is_empty();
            loops.insert(block, (at, set.name.clone(), visits));
            continue;
        }
        for block in &set.blocks {
            let Some((items, name, visits)) = loops.get(&block.number) else { continue };
            // A condition may skip names of the variables that the loop visits.
            let inner = set.blocks.iter().skip_while(|one| one.number != block.number);
            if *visits && inner.skip(1).any(|one| one.is_condition) {
                continue;
            }
            if set.references.iter().any(|(_, other)| other == name) {
                out.insert(block.number);
                starts.entry(*items).or_default().insert(Vec::new());
            }
            let reference = [b"${", &**name, b"}"].concat();
            let unread = set.unknown.iter().map(|value| value.reason.as_bytes());
            let found = unread.filter(|text| *text != reference);
            let found: Vec<Vec<u8>> = found.filter_map(|text| start_of(text, &reference)).collect();
            if !found.is_empty() {
                out.insert(block.number);
                set.references.push((set.entries.len(), name.clone()));
                starts.entry(*items).or_default().extend(found);
                spelled.insert(*items);
            }
        }
    }
    for file in files {
        for (depth, block) in file.blocks.iter().enumerate() {
            let Some((items, name, visits)) = loops.get(&block.number) else { continue };
            let is_partial = file.blocks[depth..].iter().skip(1).any(|one| one.is_condition);
            let reference = [b"${", &**name, b"}"].concat();
            if let Some(start) = start_of(&file.text, &reference)
                && !(*visits && is_partial)
            {
                out.insert(block.number);
                let starts = starts.entry(*items).or_default();
                // A link of the target is no use of the name of an archive.
                let target = file.target.as_ref();
                if let Some(other) = target.and_then(|target| start_of(target, &reference)) {
                    starts.remove(&other);
                }
                starts.insert(start);
                spelled.insert(*items);
            }
        }
    }
    let mut visited: FastMap<Vec<u8>, Start> = FastMap::default();
    for (at, starts) in starts {
        let start = starts.first().filter(|_| starts.len() == 1).cloned();
        for (_, name) in &sets[at].references {
            note(&mut visited, name, &start);
        }
        sets[at].begin(start.as_deref());
        // In `lib${item}.a`, an item such as `liba.a` names another file.
        let is_bare = |entry: &ListedArchive| entry.spelling.is_bare() || entry.omits_start();
        sets[at].is_ambiguous |= spelled.contains(&at) && !sets[at].entries.iter().all(is_bare);
    }
    let is_plain = |start: &Start| start.as_ref().is_some_and(Vec::is_empty);
    if !visited.values().all(is_plain) {
        begin_variables(sets, visited);
    }
    out
}

/// Prepends to the names in variables the text that loops write before these names. `visited` has
/// the variables that loops visit, each with this text. The text is empty for a target that links
/// the variable directly.
fn begin_variables(sets: &mut [Set], mut visited: FastMap<Vec<u8>, Start>) {
    let mut own: FastMap<&[u8], Vec<&Set>> = FastMap::default();
    for set in sets.iter().filter(|set| set.loop_block.is_none()) {
        if set.origin == SetCommand::Link {
            for (_, name) in &set.references {
                note(&mut visited, name, &Some(Vec::new()));
            }
        } else {
            own.entry(&set.name).or_default().push(set);
        }
    }
    let mut todo: Vec<Vec<u8>> = visited.keys().cloned().collect();
    while let Some(name) = todo.pop() {
        let start = visited.get(&name).cloned().flatten();
        for set in own.get(&*name).into_iter().flatten() {
            for (_, part) in set.references.iter().filter(|(_, part)| *part != name) {
                if note(&mut visited, part, &start) {
                    todo.push(part.clone());
                }
            }
        }
    }
    drop(own);
    let is_variable = |set: &&mut Set| set.loop_block.is_none() && set.origin != SetCommand::Link;
    for set in sets.iter_mut().filter(is_variable) {
        if let Some(start) = visited.get(&set.name) {
            set.begin(start.as_deref());
        }
    }
}

/// Records the text before the names in a variable: `None` if another text was recorded earlier.
/// Returns true if the record changes.
fn note(starts: &mut FastMap<Vec<u8>, Start>, name: &[u8], start: &Start) -> bool {
    match starts.get_mut(name) {
        None => {
            starts.insert(name.to_vec(), start.clone());
            true
        }
        Some(old) if old.is_none() || old == start => false,
        Some(old) => {
            *old = None;
            true
        }
    }
}

/// Marks the loops whose items name known archives, directly or through variables.
pub(super) fn note_known_items(sets: &mut [Set]) {
    let mut users: FastMap<&[u8], Vec<&[u8]>> = FastMap::default();
    for set in sets.iter().filter(|set| set.origin != SetCommand::Link) {
        for (_, part) in &set.references {
            users.entry(part).or_default().push(&set.name);
        }
    }
    let is_variable = |set: &Set| matches!(set.origin, SetCommand::Set | SetCommand::Append);
    let is_source = |set: &&Set| set.known() > 0 && is_variable(set);
    let mut todo: Vec<&[u8]> = sets.iter().filter(is_source).map(|set| &*set.name).collect();
    let mut known: FastSet<Vec<u8>> = todo.iter().map(|name| name.to_vec()).collect();
    while let Some(name) = todo.pop() {
        for user in users.get(name).into_iter().flatten() {
            if known.insert(user.to_vec()) {
                todo.push(user);
            }
        }
    }
    drop(users);
    for set in sets.iter_mut().filter(|set| set.loop_block.is_some()) {
        let is_known = |(_, part): &(usize, Vec<u8>)| known.contains(part);
        set.has_known_items = set.known() > 0 || set.references.iter().any(is_known);
    }
}

/// Maximum length of the text before a name. File names have at most 255 bytes.
const MOST_BYTES: usize = 255;

/// The text that `text` writes before the name in the variable of `reference`: `LLVM` for
/// `LLVM${c}`, `-lLLVM${c}`, `NS::LLVM${c}` and `dir/libLLVM${c}.a`. `None` if `text` has none of
/// these forms.
fn start_of(text: &[u8], reference: &[u8]) -> Option<Vec<u8>> {
    let file = text.strip_prefix(TARGET_FILE).and_then(|rest| rest.strip_suffix(b">"));
    let text = file.unwrap_or(text);
    let start = if let Some(head) = text.strip_suffix(reference) {
        let space = memchr::memmem::rfind(head, b"::").map(|at| &head[at + 2..]);
        space.or_else(|| head.strip_prefix(b"-l")).unwrap_or(head)
    } else {
        let head = text.strip_suffix(b".a")?.strip_suffix(reference)?;
        let file = memchr::memrchr(b'/', head).map_or(head, |slash| &head[slash + 1..]);
        file.strip_prefix(b"-l:").unwrap_or(file).strip_prefix(b"lib")?
    };
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    (start.len() <= MOST_BYTES && start.iter().all(is_plain)).then(|| start.to_vec())
}
