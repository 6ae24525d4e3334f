//! Collects the arguments of `archive` whose order matters, and replaces response files (`@FILE`)
//! as linkers do.

use super::named;
use crate::views::archive::PositionalOption;
use clap::ArgMatches;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Upper bound in bytes for a response file.
const MOST: u64 = 16 << 20;

/// Maximum nesting depth of response files. An `@FILE` at this depth is assumed to be a cycle, and
/// is not replaced.
const DEEPEST: usize = 8;

/// Options without a value that affect the inputs after them.
const POSITIONS: &[(&str, PositionalOption)] = &[
    ("start_lib", PositionalOption::StartLib),
    ("end_lib", PositionalOption::EndLib),
    ("whole_archive", PositionalOption::WholeArchive),
    ("no_whole_archive", PositionalOption::NoWholeArchive),
    ("start_group", PositionalOption::StartGroup),
    ("end_group", PositionalOption::EndGroup),
];

/// A file or an option, as typed.
#[derive(Clone, Debug)]
pub enum Typed {
    /// An operand.
    File(PathBuf),
    /// A file of `--order`.
    Order(PathBuf),
    /// The argument of `-l`.
    Library(OsString),
    /// An option.
    Position(PositionalOption),
}

/// Files and options of `archive` in the order typed.
pub(super) fn typed(matches: &ArgMatches) -> Vec<Typed> {
    let Some(matches) = matches.subcommand_matches("archive") else { return Vec::new() };
    let indices = |id: &str| matches.indices_of(id).into_iter().flatten();
    let files = |id: &'static str| {
        let values = matches.get_many::<PathBuf>(id).into_iter().flatten().cloned();
        indices(id).zip(values)
    };
    let mut found: Vec<(usize, Typed)> = Vec::new();
    found.extend(files("archives").map(|(at, path)| (at, Typed::File(path))));
    found.extend(files("order").map(|(at, path)| (at, Typed::Order(path))));
    let libraries = matches.get_many::<OsString>("library").into_iter().flatten().cloned();
    found.extend(indices("library").zip(libraries).map(|(at, name)| (at, Typed::Library(name))));
    for (id, position) in POSITIONS {
        found.extend(indices(id).map(|at| (at, Typed::Position(*position))));
    }
    let defined = indices("defsym").enumerate();
    found.extend(defined.map(|(n, at)| (at, Typed::Position(PositionalOption::Define(n)))));
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, typed)| typed).collect()
}

/// A command line whose response files are replaced.
#[derive(Default)]
pub(super) struct ExpandedLine {
    pub(super) words: Vec<OsString>,
    /// The response files.
    pub(super) files: Vec<PathBuf>,
}

/// Replaces each `@FILE` after the command `archive` by the words of the file. If the file cannot
/// be read, `@FILE` stays an argument (`expandargv` of libiberty).
pub(super) fn expand(arguments: impl Iterator<Item = OsString>) -> ExpandedLine {
    let mut out = ExpandedLine::default();
    let mut is_archive = false;
    for argument in arguments {
        if is_archive {
            expand_one(argument, 0, &mut out);
        } else {
            is_archive = argument == "archive";
            out.words.push(argument);
        }
    }
    out
}

fn expand_one(argument: OsString, depth: usize, out: &mut ExpandedLine) {
    let file = argument.as_bytes().strip_prefix(b"@").filter(|_| depth < DEEPEST);
    let file = file.map(|file| Path::new(OsStr::from_bytes(file)));
    match file.and_then(|file| Some((file, named::read(file, MOST).ok()?))) {
        None => out.words.push(argument),
        Some((file, text)) => {
            out.files.push(file.to_path_buf());
            for word in words(&text) {
                expand_one(word, depth + 1, out);
            }
        }
    }
}

/// The words of a response file, separated by white space. Quotes enclose white space. A backslash
/// makes the next byte literal, inside single and double quotes too.
fn words(text: &[u8]) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (byte, Some(open)) if byte == open => quote = None,
            (byte, None) if byte.is_ascii_whitespace() => out.extend(word.take()),
            (byte, _) => word.get_or_insert_default().push(byte),
        }
    }
    out.extend(word);
    out.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_of_a_response_file() {
        let text = b"a.a  'b c.a'\n\"d \\\" e\" f\\ g ''\n-u\tx\n";
        assert_eq!(words(text), ["a.a", "b c.a", "d \" e", "f g", "", "-u", "x"]);
    }
}
