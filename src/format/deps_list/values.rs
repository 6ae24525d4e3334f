//! Names in a list that are not plain values: names inside of generator expressions, after `debug`,
//! and from variables that the file sets. These names count as listed, but a new name does not copy
//! their spelling. As an exception, it copies `$<TARGET_FILE:…>` in a set without plain names.

use super::spelling::{STATIC_LIBRARY, Spelling, TARGET_FILE};
use super::{ListError, ListedArchive, Set};
use crate::id::{FastMap, FastSet};

/// Maximum number of replaced references for one value.
const MOST_FOR_VALUE: usize = 1000;
/// Maximum number of replaced references in one file.
const MOST_IN_FILE: usize = 100_000;
/// Maximum length of a value after the replacement, in bytes.
const MOST_BYTES: usize = 4096;

/// Variables that CMake sets, with their values on Linux.
const PREDEFINED: [(&[u8], &[u8]); 4] = [
    STATIC_LIBRARY[0],
    STATIC_LIBRARY[1],
    (b"CMAKE_DL_LIBS", b"dl"),
    (b"CMAKE_THREAD_LIBS_INIT", b""),
];

/// All values that the commands of a file give to its variables.
pub(super) struct Variables {
    values: FastMap<Vec<u8>, Vec<Vec<u8>>>,
    /// Number of references that may still be replaced.
    left: usize,
}

impl Default for Variables {
    fn default() -> Self {
        let values = PREDEFINED.iter().map(|(name, value)| (name.to_vec(), vec![value.to_vec()]));
        Self { values: values.collect(), left: MOST_IN_FILE }
    }
}

impl Variables {
    /// Adds the values in `text`. A reference to the variable itself adds nothing.
    pub(super) fn add(&mut self, name: &[u8], text: &[u8]) {
        let own = [b"${", name, b"}"].concat();
        let values = self.values.entry(name.to_vec()).or_default();
        let parts = text.split(|b| *b == b';').filter(|part| **part != *own);
        values.extend(parts.map(<[u8]>::to_vec));
    }

    /// The texts to which `text` may expand. `None` if it refers to a variable that the file does
    /// not set, or if there are too many texts.
    pub(super) fn expanded(&mut self, text: &[u8]) -> Option<Vec<Vec<u8>>> {
        let (mut todo, mut out) = (vec![text.to_vec()], Vec::new());
        let mut left = MOST_FOR_VALUE.min(self.left);
        while let Some(text) = todo.pop() {
            // The last reference contains no other one.
            let Some(begin) = memchr::memmem::rfind(&text, b"${") else {
                out.push(text);
                continue;
            };
            let end = begin + memchr::memchr(b'}', &text[begin..])?;
            for value in self.values.get(&text[begin + 2..end])? {
                left = left.checked_sub(1).filter(|_| text.len() + value.len() < MOST_BYTES)?;
                self.left -= 1;
                todo.push([&text[..begin], value, &text[end + 1..]].concat());
            }
        }
        Some(out)
    }

    /// The names in a value, and a flag. The flag is false if the value may have other names too.
    fn names(&mut self, text: &[u8]) -> (Vec<(Vec<u8>, Spelling)>, bool) {
        let Some(texts) = self.expanded(&without_conditions(text)) else {
            return (Vec::new(), false);
        };
        let (mut out, mut is_whole) = (Vec::new(), true);
        for text in texts {
            let (words, whole) = words(&text);
            is_whole &= whole && !may_name(&text);
            let file = text.strip_prefix(TARGET_FILE).and_then(|rest| rest.strip_suffix(b">"));
            if let Some((name, spelling)) = file.and_then(Spelling::read) {
                out.push((name.to_vec(), spelling.as_target_file()));
                continue;
            }
            let read = words.into_iter().filter_map(Spelling::read);
            out.extend(read.map(|(name, spelling)| (name.to_vec(), spelling)));
        }
        (out, is_whole)
    }

    /// Reads the values in [`Set::unknown`], and adds the names in them to [`Set::mentions`]. A
    /// value stays unknown if it may contain other names too. `${NAME}` is dropped if the file
    /// has a set `NAME`.
    pub(super) fn resolve(&mut self, sets: &mut [Set]) {
        let defined: FastSet<Vec<u8>> = sets.iter().map(|set| set.name.clone()).collect();
        for set in sets {
            for value in std::mem::take(&mut set.unknown) {
                let text = value.reason.as_bytes();
                if referred(text).is_some_and(|name| defined.contains(name)) {
                    continue;
                }
                let (names, is_whole) = self.names(text);
                let line = value.line;
                set.mentions.extend(names.into_iter().map(|(name, spelling)| ListedArchive {
                    name,
                    line,
                    is_known: false,
                    is_removed: false,
                    spelling,
                    item: 0,
                }));
                if !is_whole {
                    set.unknown.push(value);
                }
            }
        }
    }
}

/// True for an option that names no archive.
fn is_option(text: &[u8]) -> bool {
    text.starts_with(b"-") && !text.starts_with(b"-l")
}

/// True for a value that may name archives, although it is not a name. Options other than `-l`
/// never name archives.
pub(super) fn may_name(text: &[u8]) -> bool {
    let is_template = text.len() > 2 && text.starts_with(b"@") && text.ends_with(b"@");
    let refers = |to: &[u8]| memchr::memmem::find(text, to).is_some();
    is_template || (!is_option(text) && (refers(b"${") || refers(b"$ENV{")))
}

/// NAME if the text is `${NAME}`.
pub(super) fn referred(text: &[u8]) -> Option<&[u8]> {
    let name = text.strip_prefix(b"${")?.strip_suffix(b"}")?;
    (!name.iter().any(|b| matches!(b, b'$' | b'}'))).then_some(name)
}

/// Expressions whose values are conditions.
const CONDITIONS: [&[u8]; 6] =
    [b"$<BOOL:", b"$<CONFIG:", b"$<STREQUAL:", b"$<EQUAL:", b"$<IN_LIST:", b"$<PLATFORM_ID:"];

/// Replaces each expression of [`CONDITIONS`] by `$<1>`, because the variables in a condition name
/// no archive.
fn without_conditions(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(first) = rest.first() {
        let condition = CONDITIONS.iter().find(|condition| rest.starts_with(condition));
        let inside = condition.map_or(b"".as_slice(), |condition| &rest[condition.len()..]);
        match inside.iter().position(|b| matches!(b, b'<' | b'>')) {
            Some(len) if inside[len] == b'>' => {
                out.extend(b"$<1>");
                rest = &inside[len + 1..];
            }
            _ => {
                out.push(*first);
                rest = &rest[1..];
            }
        }
    }
    out
}

/// Maximum number of rounds in the search for related sets.
const MOST_ROUNDS: usize = 100;

/// The first value with unknown archives in a set that is related to a known archive. A set is
/// related if it names a known archive, is a part of a related set, or has a related set as a
/// part. The parts of a set are the variables to which it refers. If no set names a known
/// archive, all sets are searched.
pub(super) fn first_unknown(sets: &[Set]) -> Option<&ListError> {
    let known = sets.iter().filter(|set| set.known() > 0).map(|set| &*set.name);
    let mut related: FastSet<&[u8]> = known.collect();
    let any = !related.is_empty();
    for _ in 0..MOST_ROUNDS {
        let len = related.len();
        for set in sets {
            let parts = || set.references.iter().map(|(_, name)| &**name);
            if related.contains(&*set.name) || parts().any(|part| related.contains(part)) {
                related.insert(&set.name);
                related.extend(parts());
            }
        }
        if related.len() == len {
            break;
        }
    }
    let sets = sets.iter().filter(|set| !any || related.contains(&*set.name));
    sets.flat_map(|set| &set.unknown).next()
}

/// The words of a value, also those inside of generator expressions, and a flag. The flag is false
/// if an expression makes a part of a name, or if CMake replaces an expression by the libraries of
/// a target.
pub(super) fn words(text: &[u8]) -> (Vec<&[u8]>, bool) {
    let (mut out, mut is_whole) = (Vec::new(), memchr::memmem::find(text, b"LIBRARIES").is_none());
    let is_end = |b: &u8| b"<>;,\"".contains(b) || b.is_ascii_whitespace();
    let (mut begin, mut after_expression) = (0, false);
    while begin <= text.len() {
        let rest = &text[begin..];
        let len = rest.iter().position(is_end).unwrap_or(rest.len());
        let opens = rest.get(len) == Some(&b'<') && rest[..len].ends_with(b"$");
        let parts = at_colons(&rest[..len - usize::from(opens)]);
        // A directory and an option are not parts of a name.
        let is_part = |part: &[u8]| !part.is_empty() && !is_option(part);
        let begins = parts.last().is_some_and(|part| is_part(part) && !part.ends_with(b"/"));
        let ends = parts.first().is_some_and(|part| is_part(part) && !part.starts_with(b"/"));
        if (opens && begins) || (after_expression && ends) {
            is_whole = false;
        }
        out.extend(parts);
        after_expression = rest.get(len) == Some(&b'>');
        begin += len + 1;
    }
    (out, is_whole)
}

/// The parts of a word between single colons. `::` belongs to a name.
fn at_colons(word: &[u8]) -> Vec<&[u8]> {
    let (mut out, mut begin, mut at) = (Vec::new(), 0, 0);
    while at < word.len() {
        if word[at..].starts_with(b"::") {
            at += 2;
            continue;
        }
        if word[at] == b':' {
            out.push(&word[begin..at]);
            begin = at + 1;
        }
        at += 1;
    }
    out.push(&word[begin..]);
    out
}

/// The nesting depth of generator expressions (`$<…>`) at the end of `text`. `depth` is the depth
/// at the start of `text`.
pub(super) fn open_expressions(mut depth: usize, text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(b) = text.get(at) {
        if text[at..].starts_with(b"$<") {
            depth += 1;
            at += 1;
        } else if *b == b'>' {
            depth = depth.saturating_sub(1);
        }
        at += 1;
    }
    depth
}
