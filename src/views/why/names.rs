//! Names as they are typed: which raw symbols a name stands for, and which known names are like one
//! that nothing knows.

use crate::audit::Audit;
use crate::demangle::demangle;
use crate::facts::{Corpus, View};
use crate::format::archive::Names;
use crate::format::elf::{Object, Tables, hash};
use crate::id::{FastSet, FileId};
use crate::text::show;
use crate::views::tree::Tree;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Names shown for one that is not known.
const MOST_NEAR: usize = 5;

/// Every name of a symbol of an object, its references first.
fn each_name<'o>(object: &'o Object, visit: &mut dyn FnMut(&'o [u8])) {
    for reference in &object.references {
        visit(object.reference_name(reference));
    }
    for symbol in object.tables.iter().flat_map(Tables::symbols) {
        visit(symbol.name);
    }
}

/// The raw names that `name` stands for: itself, and what is demangled to it, with or without the
/// parameters of a function.
pub(super) fn raw(name: &[u8], view: View<'_>, corpus: &Corpus) -> Names {
    let mut names = Names::default();
    names.insert(name, hash::gnu(name));
    let Some(text) = std::str::from_utf8(name).ok().filter(|text| reads_demangled(text)) else {
        return names;
    };
    let part = longest_identifier(text);
    let files: Vec<FileId> = corpus.files.ids().collect();
    let found: Vec<BTreeSet<&[u8]>> = files
        .par_iter()
        .filter_map(|file| view.object(*file))
        .map(|object| {
            let mut found = BTreeSet::new();
            each_name(object, &mut |raw| {
                let may = raw.starts_with(b"_") && holds(raw, part.as_bytes());
                if may && !found.contains(raw) && is_called(raw, text) {
                    found.insert(raw);
                }
            });
            found
        })
        .collect();
    for raw in found.into_iter().flatten() {
        names.insert(raw, hash::gnu(raw));
    }
    names
}

/// True for text that no compiler makes a raw name of.
fn reads_demangled(text: &str) -> bool {
    text.contains("::") || text.contains(['(', ' ', '<', '~'])
}

/// The longest word of `text`: a mangled name holds it as it is.
fn longest_identifier(text: &str) -> &str {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    // Words of the language are not written out.
    let words = words.filter(|word| !WORDS.contains(word));
    words.max_by_key(|word| word.len()).unwrap_or_default()
}

/// Words that mangled names abbreviate.
const WORDS: &[&str] = &[
    "operator",
    "unsigned",
    "const",
    "char",
    "int",
    "long",
    "short",
    "bool",
    "float",
    "double",
    "void",
    "std",
    "string",
    "vtable",
    "typeinfo",
    "for",
    "guard",
    "variable",
    "thunk",
    "virtual",
    "basic_string",
    "allocator",
    "char_traits",
    "ostream",
    "istream",
    "iostream",
    "name",
    "signed",
    "new",
    "delete",
    "__cxx11",
    "wchar_t",
    "to",
    "non",
];

fn holds(raw: &[u8], part: &[u8]) -> bool {
    part.is_empty() || raw.windows(part.len()).any(|window| window == part)
}

fn is_called(raw: &[u8], text: &str) -> bool {
    demangle(raw).is_some_and(|whole| {
        let rest = whole.strip_prefix(text);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
    })
}

/// Known names that are like `name`: libraries first, then symbols.
pub(super) fn near(name: &[u8], audit: &Audit, graph: &Tree) -> Vec<Vec<u8>> {
    let mut libraries: BTreeSet<&[u8]> = BTreeSet::new();
    for edge in &graph.edges {
        libraries.insert(audit.text(edge.name));
    }
    let objects = || audit.corpus.files.iter().filter_map(|facts| facts.object());
    libraries.extend(objects().filter_map(Object::soname));
    let mut symbols: FastSet<&[u8]> = FastSet::default();
    for object in objects() {
        each_name(object, &mut |raw| {
            symbols.insert(raw);
        });
    }
    let mut symbols: Vec<&[u8]> = symbols.into_iter().collect();
    symbols.sort_unstable();
    let mut out = closest(name, libraries.into_iter());
    out.extend(closest(name, symbols.into_iter()));
    out.truncate(MOST_NEAR);
    out
}

/// Of sorted names the closest, closest first.
fn closest<'n>(name: &[u8], all: impl Iterator<Item = &'n [u8]>) -> Vec<Vec<u8>> {
    let most = (show(name).len() / 4).clamp(1, 3);
    let mut found: Vec<(usize, &[u8])> = all
        .filter(|other| !other.is_empty())
        .filter_map(|other| Some((distance(name, other, most)?, other)))
        .collect();
    found.sort_unstable();
    found.truncate(MOST_NEAR);
    found.into_iter().map(|(_, other)| other.to_vec()).collect()
}

/// How many letters must be changed, added or left out; nothing if they are more than `most`. A name
/// that begins with the other is as near as can be.
fn distance(a: &[u8], b: &[u8], most: usize) -> Option<usize> {
    if a.len() > 3 && b.starts_with(a) {
        return Some(1);
    }
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = before + usize::from(!x.eq_ignore_ascii_case(y));
            before = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(before + 1);
        }
        if row.iter().all(|cost| *cost > most) {
            return None;
        }
    }
    row.last().copied().filter(|cost| *cost <= most)
}

#[cfg(test)]
mod tests {
    use super::{closest, distance, longest_identifier, reads_demangled};

    #[test]
    fn letters_that_differ() {
        assert_eq!(distance(b"libz.so.1", b"libz.so.2", 2), Some(1));
        assert_eq!(distance(b"malloc", b"mallocx", 2), Some(1));
        assert_eq!(distance(b"free", b"malloc", 2), None);
        assert_eq!(distance(b"", b"ab", 2), Some(2));
        let near =
            closest(b"libz.so", [&b"libz.so.1"[..], b"libq.so.1", b"libz.so.1x"].into_iter());
        assert_eq!(near, [&b"libz.so.1"[..], b"libz.so.1x"]);
    }

    #[test]
    fn what_people_read() {
        assert!(reads_demangled("a::b") && reads_demangled("f(int)") && !reads_demangled("malloc"));
        assert_eq!(longest_identifier("std::foo::quux(unsigned int)"), "quux");
        assert_eq!(longest_identifier("operator<<(int)"), "");
    }
}
