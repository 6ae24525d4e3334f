//! Finds the raw symbols that NAME of the command line means. For an unknown name, finds similar
//! names.

use super::qualified::{Qualified, with_one_spelling};
use crate::audit::Audit;
use crate::demangle::{demangle, demangle_with_hashes};
use crate::facts::{Corpus, View};
use crate::format::archive::RequestedNames;
use crate::format::elf::{Object, Reference, Tables, hash};
use crate::id::{FastSet, FileId};
use crate::order;
use crate::order::Arrange as _;
use crate::parallel;
use crate::views::tree::LoadTree;
use memchr::memmem::Finder;
use object::elf;
use std::collections::BTreeSet;

/// Maximum number of similar names that are shown for an unknown name.
const MOST_NEAR: usize = 5;

/// The answer for a version of symbols.
#[derive(Debug)]
pub struct VersionAnswer {
    /// Up to five symbols to which audited files refer with the version, as `NAME@VERSION`. Empty
    /// if no file of the entry point needs the version.
    pub symbols: Vec<Vec<u8>>,
    /// Number of further symbols to which audited files refer with the version.
    pub more: usize,
}

/// Visits every symbol name of an object, references first.
fn each_name<'o>(object: &'o Object, visit: &mut dyn FnMut(&'o [u8])) {
    for reference in &object.references {
        visit(object.reference_name(reference));
    }
    for symbol in object.tables.iter().flat_map(Tables::symbols) {
        visit(symbol.name);
    }
}

/// The raw names that `name` means. These are `name` itself and, if it reads like a demangled name,
/// the mangled names that fit it (`Qualified::means`).
pub(super) fn raw(name: &[u8], view: View<'_>, corpus: &Corpus) -> RequestedNames {
    let mut names = RequestedNames::default();
    names.insert(name, hash::gnu(name));
    let text = std::str::from_utf8(name).ok().filter(|text| reads_demangled(text));
    add(&mut names, text, view, corpus);
    names
}

/// The symbols to which files refer with the version `version`, as `NAME@VERSION`. If `under` is
/// given, the result has only symbols to which the files in `under` refer. `None` if no audited
/// file needs the version, or if a file defines or refers to a symbol called `version`.
pub(super) fn of_version(
    version: &[u8],
    audit: &Audit,
    under: Option<&FastSet<FileId>>,
) -> Option<VersionAnswer> {
    let mut is_needed = false;
    let mut names: BTreeSet<&[u8]> = BTreeSet::new();
    for (file, facts) in audit.corpus.files.entries().filter(|(_, facts)| facts.audited) {
        let Some(object) = facts.object() else { continue };
        let entries = &object.versions.by_index;
        if !entries.iter().any(|entry| entry.hash != 0 && object.str(entry.name) == version) {
            continue;
        }
        let has_version = |reference: &&Reference| {
            let entry = object.versions.entry(reference.version);
            entry.is_some_and(|entry| object.str(entry.name) == version)
        };
        let with_version = object.references.iter().filter(has_version);
        let mut own = with_version.map(|reference| object.reference_name(reference)).peekable();
        is_needed |= own.peek().is_some();
        if under.is_none_or(|under| under.contains(&file)) {
            names.extend(own);
        }
    }
    if !is_needed || is_symbol(version, audit) {
        return None;
    }
    let more = names.len().saturating_sub(MOST_NEAR);
    let symbols = names.into_iter().take(MOST_NEAR).map(|name| [name, version].join(&b'@'));
    Some(VersionAnswer { symbols: symbols.collect(), more })
}

/// True if a file refers to a symbol `name` or defines it. Symbols that libraries define for their
/// versions are ignored: linkers make these symbols absolute.
fn is_symbol(name: &[u8], audit: &Audit) -> bool {
    let mut objects = audit.corpus.files.iter().filter_map(|facts| facts.object());
    objects.any(|object| {
        let definition = object.link_definition(name);
        definition.is_some_and(|symbol| symbol.section != elf::SHN_ABS.0)
            || object.references.iter().any(|one| object.reference_name(one) == name)
    })
}

/// The raw names of the functions called `name` outside of all classes and namespaces. Empty if
/// `name` reads like a demangled name.
pub(super) fn functions(name: &[u8], view: View<'_>, corpus: &Corpus) -> RequestedNames {
    let mut names = RequestedNames::default();
    let text = std::str::from_utf8(name).ok().filter(|text| !reads_demangled(text));
    add(&mut names, text, view, corpus);
    names
}

fn add(names: &mut RequestedNames, text: Option<&str>, view: View<'_>, corpus: &Corpus) {
    let Some(text) = text else { return };
    let spelled = with_one_spelling(text);
    let typed = Qualified::new(&spelled);
    let is_meant = |raw: &[u8]| {
        let forms = [demangle(raw), demangle_with_hashes(raw)];
        forms.into_iter().flatten().any(|whole| {
            let whole = with_one_spelling(&whole);
            let fits = || typed.as_ref()?.means(&Qualified::new(&whole)?).then_some(());
            whole == spelled || fits().is_some()
        })
    };
    for raw in mangled(&[longest_identifier(text).as_bytes()], view, corpus, is_meant) {
        names.insert(raw, hash::gnu(raw));
    }
}

/// Mangled names that contain a word of `words` and for which `wanted` returns true.
fn mangled<'v>(
    words: &[&[u8]],
    view: View<'v>,
    corpus: &Corpus,
    wanted: impl Fn(&[u8]) -> bool + Sync,
) -> BTreeSet<&'v [u8]> {
    let files: Vec<FileId> = corpus.files.ids().collect();
    let finders: Vec<Finder<'_>> = words.iter().map(Finder::new).collect();
    let found: Vec<BTreeSet<&[u8]>> = parallel::map(&files, |file| {
        let mut found = BTreeSet::new();
        let Some(object) = view.object(*file) else { return found };
        each_name(object, &mut |raw| {
            let may = raw.starts_with(b"_") && finders.iter().any(|f| f.find(raw).is_some());
            if may && !found.contains(raw) && wanted(raw) {
                found.insert(raw);
            }
        });
        found
    });
    found.into_iter().flatten().collect()
}

/// True for text that only a demangled name can have.
fn reads_demangled(text: &str) -> bool {
    text.contains("::") || text.contains(['(', ' ', '<', '~'])
}

/// The longest word of `text` that a mangled name contains literally. Text in `[]` is left out: it
/// is a tag or a hash, which mangled names encode.
fn longest_identifier(text: &str) -> &str {
    let parts = text.split('[').map(|part| part.rsplit(']').next().unwrap_or(part));
    let words = parts.flat_map(|part| part.split(|c: char| !(c.is_alphanumeric() || c == '_')));
    // Mangled names do not spell out keywords and digits.
    let words = words.filter(|word| {
        !WORDS.contains(word) && !word.starts_with(|first: char| first.is_ascii_digit())
    });
    words.max_by_key(|word| word.len()).unwrap_or_default()
}

/// Words of demangled names that mangled names do not contain as text.
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
    "basic_ostream",
    "basic_istream",
    "basic_iostream",
    "char8_t",
    "char16_t",
    "char32_t",
    "nullptr_t",
    "nullptr",
    "decltype",
    "volatile",
    "true",
    "false",
    "lambda",
    "anonymous",
    "namespace",
    "unnamed",
    "type",
    "auto",
    "VTT",
    "construction",
    "reference",
    "temporary",
    "covariant",
    "transaction",
    "clone",
    "return",
    "TLS",
    "init",
    "wrapper",
    "function",
    "override",
    "decimal32",
    "decimal64",
    "decimal128",
    "half",
    "__int128",
    "__float128",
];

/// Names similar to `name`: libraries first, then names of C++ and Rust, then symbols. If `name`
/// reads like a demangled name, only names of C++ and Rust.
pub(super) fn near(name: &[u8], audit: &Audit, graph: &LoadTree) -> Vec<Vec<u8>> {
    let Ok(text) = std::str::from_utf8(name) else { return Vec::new() };
    let text = text.strip_prefix("::").unwrap_or(text);
    let mut text = text.strip_suffix("::").unwrap_or(text).to_owned();
    if reads_demangled(&text) {
        let found = near_qualified(&text, audit);
        // `foo(int)` may be a function of C, whose name has no parameters.
        let plain = Qualified::new(&text).filter(|typed| typed.depth() == 1);
        let plain = plain.and_then(|typed| typed.end(1)).filter(|own| !reads_demangled(own));
        match plain {
            Some(plain) if found.is_empty() => text = plain,
            _ => return found,
        }
    }
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
    let mut out = closest(&text, libraries.into_iter());
    // A member with exactly this name is a better guess than a symbol with a similar name.
    out.extend(near_qualified(&text, audit));
    out.extend(closest(&text, symbols.into_iter()));
    out.truncate(MOST_NEAR);
    out
}

/// Names of C++ and Rust whose last components are similar to `text`. For text without `::`, the
/// result has the members that are named exactly `text`. If there are none, it has the members of a
/// class or namespace `text`.
fn near_qualified(text: &str, audit: &Audit) -> Vec<Vec<u8>> {
    let Some(typed) = Qualified::new(text) else { return Vec::new() };
    let Some(own) = typed.end(typed.depth()) else { return Vec::new() };
    let most = if typed.depth() == 1 { 0 } else { most_edits(&own) };
    let words: Vec<&str> = own.split("::").map(longest_identifier).collect();
    let words = words.into_iter().filter(|word| !word.is_empty());
    let words: Vec<&[u8]> = words.map(str::as_bytes).collect();
    let like = |raw: &[u8]| {
        let whole = demangle(raw)?;
        let other = Qualified::new(&whole)?;
        let edits = distance(&own, &other.end(typed.depth())?, most);
        let is_member = || {
            let member = other.end(typed.depth() + 1);
            member.is_some_and(|name| name.strip_prefix(&*own).is_some_and(|m| m.starts_with("::")))
        };
        let edits = edits.or_else(|| is_member().then_some(most + 1))?;
        Some((edits, other.end(other.depth())?))
    };
    let found = mangled(&words, audit.view(), &audit.corpus, |raw| like(raw).is_some());
    let mut found: BTreeSet<(usize, String)> = order::set(found.into_iter().filter_map(like));
    // Exact matches are enough: they differ from `text` only in parameters or namespaces.
    if found.first().is_some_and(|(edits, _)| *edits == 0) {
        found.retain(|(edits, _)| *edits == 0);
    }
    found.into_iter().take(MOST_NEAR).map(|(_, name)| name.into_bytes()).collect()
}

/// The names that differ from `text` by a typing error, closest first.
fn closest<'n>(text: &str, all: impl Iterator<Item = &'n [u8]>) -> Vec<Vec<u8>> {
    within(text, most_edits(text), all)
}

/// At most [`MOST_NEAR`] names that differ by at most `most` edits, closest first.
pub(super) fn within<'n>(
    text: &str,
    most: usize,
    all: impl Iterator<Item = &'n [u8]>,
) -> Vec<Vec<u8>> {
    let mut found: Vec<(usize, &str)> = all
        .filter_map(|other| std::str::from_utf8(other).ok().filter(|other| !other.is_empty()))
        .filter_map(|other| Some((distance(text, other, most)?, other)))
        .collect();
    found.arrange();
    found.truncate(MOST_NEAR);
    found.into_iter().map(|(_, other)| other.as_bytes().to_vec()).collect()
}

/// Maximum number of edits that are treated as a typing error. It is 0 for short names, because one
/// edit makes another name.
pub(super) fn most_edits(text: &str) -> usize {
    match text.len() {
        0..=3 => 0,
        4..=7 => 1,
        8..=15 => 2,
        _ => 3,
    }
}

/// The number of edits between two names, ignoring case; `None` if it exceeds `most`. It is 1 if
/// `b` starts with `a`, is longer, and `most` is not 0.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    if most > 0 && a.len() < b.len() && b.starts_with(a) {
        return Some(1);
    }
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let edits = strsim::osa_distance(&a.to_ascii_lowercase(), &b.to_ascii_lowercase());
    (edits <= most).then_some(edits)
}

#[cfg(test)]
mod tests {
    use super::{closest, distance, longest_identifier, reads_demangled};

    #[test]
    fn letters_that_differ() {
        assert_eq!(distance("libz.so.1", "libz.so.2", 2), Some(1));
        assert_eq!(distance("malloc", "mallocx", 2), Some(1));
        assert_eq!(distance("mlaloc", "malloc", 1), Some(1));
        assert_eq!(distance("free", "malloc", 2), None);
        assert_eq!(distance("", "ab", 2), Some(1));
        assert_eq!(distance("malloc", "malloc", 2), Some(0));
        let near = closest("libz.so", [&b"libz.so.1"[..], b"libq.so.1", b"libz.so.1x"].into_iter());
        assert_eq!(near, [&b"libz.so.1"[..], b"libz.so.1x"]);
        assert!(closest("foo", [&b"fox"[..], b"food"].into_iter()).is_empty());
    }

    #[test]
    fn what_people_read() {
        assert!(reads_demangled("a::b") && reads_demangled("f(int)") && !reads_demangled("malloc"));
        assert_eq!(longest_identifier("std::foo::quux(unsigned int)"), "quux");
        assert_eq!(longest_identifier("a::f[abi:cxx11](int)"), "f");
        assert_eq!(longest_identifier("operator<<(int)"), "");
    }
}
