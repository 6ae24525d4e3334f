//! Collects the arguments of `archive` whose order matters, and replaces response files (`@FILE`)
//! as linkers do. Options of linkers get the spelling that clap knows. Options without effect on
//! members and undefined names are left out, so that a line of `gcc -###` can be used.

use super::{Cli, named};
use crate::views::archive::PositionalOption;
use clap::{Arg, ArgMatches, Command, CommandFactory as _};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Upper bound in bytes for a response file.
const MOST: u64 = 16 << 20;

/// Maximum nesting depth of response files. An `@FILE` at this depth is assumed to be a cycle, and
/// is not replaced.
const DEEPEST: usize = 8;

/// Options without a value that affect the inputs after them.
const POSITIONS: &[(&str, Typed)] = &[
    ("start_lib", Typed::Position(PositionalOption::StartLib)),
    ("end_lib", Typed::Position(PositionalOption::EndLib)),
    ("whole_archive", Typed::Position(PositionalOption::WholeArchive)),
    ("no_whole_archive", Typed::Position(PositionalOption::NoWholeArchive)),
    ("start_group", Typed::Position(PositionalOption::StartGroup)),
    ("end_group", Typed::Position(PositionalOption::EndGroup)),
    ("as_needed", Typed::Position(PositionalOption::AsNeeded)),
    ("no_as_needed", Typed::Position(PositionalOption::NoAsNeeded)),
    ("static_libraries", Typed::Static(true)),
    ("shared_libraries", Typed::Static(false)),
    ("push_state", Typed::PushState),
    ("pop_state", Typed::PopState),
];

/// Other spellings of options.
const SPELLINGS: &[(&str, &str)] = &[
    ("-(", "--start-group"),
    ("-)", "--end-group"),
    ("-Bstatic", "--Bstatic"),
    ("-static", "--Bstatic"),
    ("-dn", "--Bstatic"),
    ("-Bdynamic", "--Bdynamic"),
    ("-dy", "--Bdynamic"),
    ("-start-group", "--start-group"),
    ("-end-group", "--end-group"),
    ("-start-lib", "--start-lib"),
    ("-end-lib", "--end-lib"),
    ("-whole-archive", "--whole-archive"),
    ("-no-whole-archive", "--no-whole-archive"),
    ("-as-needed", "--as-needed"),
    ("-no-as-needed", "--no-as-needed"),
    ("-push-state", "--push-state"),
    ("-pop-state", "--pop-state"),
    ("-shared", "--shared"),
    ("-pie", "--pie"),
    ("-gc-sections", "--gc-sections"),
];

/// Options that change neither the members nor the undefined names.
const IGNORED: &[&str] = &[
    "--build-id",
    "--disable-new-dtags",
    "--eh-frame-hdr",
    "--enable-new-dtags",
    "--no-dynamic-linker",
    "--no-undefined",
    "--strip-all",
    "--strip-debug",
    "-no-pie",
    "-s",
];

/// Beginnings of such options with a value in the same word.
const IGNORED_STARTS: &[&str] = &["--build-id=", "--hash-style=", "-plugin-opt="];

/// Such options whose value is the next word.
const IGNORED_PAIRS: &[&str] =
    &["-dynamic-linker", "--dynamic-linker", "-m", "-plugin", "-rpath", "-soname", "-z"];

/// Values of `-z` that change the undefined names, or the sections that the linker keeps.
const CHANGING: &[&str] = &["undefs", "nodefs", "start-stop-gc", "nostart-stop-gc"];

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
    /// `-Bstatic` or `-Bdynamic`: true if `-l` finds only archives.
    Static(bool),
    /// `--push-state`
    PushState,
    /// `--pop-state`
    PopState,
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
        found.extend(indices(id).map(|at| (at, position.clone())));
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
    /// Options of linkers that were left out, with their values.
    pub(super) ignored: Vec<String>,
}

/// Replaces each `@FILE` after the command `archive` by the words of the file. If the file cannot
/// be read, `@FILE` stays an argument (`expandargv` of libiberty).
pub(super) fn expand(arguments: impl Iterator<Item = OsString>) -> ExpandedLine {
    let mut out = ExpandedLine::default();
    let mut arguments = arguments;
    for argument in arguments.by_ref() {
        let is_archive = argument == "archive";
        out.words.push(argument);
        if is_archive {
            break;
        }
    }
    let mut words = Vec::new();
    for argument in arguments {
        expand_one(argument, 0, (&mut words, &mut out.files));
    }
    if !words.is_empty() {
        let (known, ignored) = spelled(words, &options_with_values());
        out.words.extend(known);
        out.ignored = ignored;
    }
    out
}

/// The options of `archive` whose value is the next word.
fn options_with_values() -> Vec<String> {
    let command = Cli::command();
    let archive = command.find_subcommand("archive");
    let options = archive.into_iter().flat_map(Command::get_opts).chain(command.get_opts());
    let has_value = |option: &&Arg| {
        option.get_action().takes_values()
            && option.get_num_args().is_none_or(|number| number.min_values() > 0)
            && !option.is_require_equals_set()
    };
    let spellings = options.filter(has_value).flat_map(|option| {
        let long = option.get_long().map(|long| format!("--{long}"));
        long.into_iter().chain(option.get_short().map(|short| format!("-{short}")))
    });
    spellings.collect()
}

/// A word, and true if it comes from a response file.
type Word = (OsString, bool);

/// Spells the options of linkers as clap knows them, up to `--`. The second list has the options
/// that are left out. In a response file, `-o FILE` names the output of the link. The words after
/// the options `with_values` stay as they are.
fn spelled(words: Vec<Word>, with_values: &[String]) -> (Vec<OsString>, Vec<String>) {
    let (mut out, mut ignored) = (Vec::new(), Vec::new());
    let mut words = words.into_iter().peekable();
    while let Some((word, in_file)) = words.next() {
        let next = words.peek().and_then(|(next, _)| next.to_str()).map(str::to_owned);
        let Some(text) = word.to_str().map(str::to_owned) else {
            out.push(word);
            continue;
        };
        if text == "--" {
            out.push(word);
            out.extend(words.map(|(word, _)| word));
            break;
        }
        let value = next.filter(|_| IGNORED_PAIRS.contains(&text.as_str()) || text == "-o");
        let has_value = match (text.as_str(), &value) {
            ("-z", Some(value)) => !CHANGING.contains(&value.as_str()),
            ("-o", Some(value)) => in_file && !value.contains('='),
            (_, value) => value.is_some(),
        };
        let attached =
            text.strip_prefix("-z").is_some_and(|z| !z.is_empty() && !CHANGING.contains(&z));
        let starts = IGNORED_STARTS.iter().any(|start| text.starts_with(start));
        if has_value {
            ignored.push(format!("{text} {}", value.unwrap_or_default()));
            words.next();
        } else if attached || starts || IGNORED.contains(&text.as_str()) {
            ignored.push(text);
        } else if with_values.contains(&text) {
            out.push(word);
            out.extend(words.next().map(|(value, _)| value));
        } else {
            let found = SPELLINGS.iter().find(|(other, _)| *other == text);
            out.push(found.map_or(word, |(_, known)| OsString::from(*known)));
        }
    }
    (out, ignored)
}

fn expand_one(argument: OsString, depth: usize, (out, files): (&mut Vec<Word>, &mut Vec<PathBuf>)) {
    let file = argument.as_bytes().strip_prefix(b"@").filter(|_| depth < DEEPEST);
    let file = file.map(|file| Path::new(OsStr::from_bytes(file)));
    match file.and_then(|file| Some((file, named::read(file, MOST).ok()?))) {
        None => out.push((argument, depth > 0)),
        Some((file, text)) => {
            files.push(file.to_path_buf());
            for word in words(&text) {
                expand_one(word, depth + 1, (&mut *out, &mut *files));
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
    use super::{options_with_values, words};
    use std::ffi::OsString;

    #[test]
    fn words_of_a_response_file() {
        let text = b"a.a  'b c.a'\n\"d \\\" e\" f\\ g ''\n-u\tx\n";
        assert_eq!(words(text), ["a.a", "b c.a", "d \" e", "f g", "", "-u", "x"]);
    }

    #[test]
    fn options_of_linkers() {
        let line = "-plugin p.so --build-id -m elf_x86_64 -pie -o out a.o -( -static -lx -) -z now \
            -zrelro -z nodefs -o json=f";
        let spelled = |line: &str, in_file: bool| {
            let list = line.split_whitespace().map(|word| (OsString::from(word), in_file));
            super::spelled(list.collect(), &options_with_values())
        };
        let (found, ignored) = spelled(line, true);
        let known = "--pie a.o --start-group --Bstatic -lx --end-group -z nodefs -o json=f";
        assert!(found.iter().eq(known.split(' ')), "{found:?}");
        let expected =
            ["-plugin p.so", "--build-id", "-m elf_x86_64", "-o out", "-z now", "-zrelro"];
        assert_eq!(ignored, expected);
        for line in
            ["-o json report.json", "--root-symbol -m foo.a", "-u -s a.o", "a.a -- -s -z now"]
        {
            let (found, ignored) = spelled(line, false);
            assert!(found.iter().eq(line.split(' ')) && ignored.is_empty(), "{found:?}");
        }
        let (found, _) = spelled("--start-lib -s --whole-archive -m x a.a", false);
        assert!(found.iter().eq(["--start-lib", "--whole-archive", "a.a"]), "{found:?}");
    }
}
