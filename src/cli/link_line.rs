//! Collects the arguments of `archive` whose order matters, and replaces response files (`@FILE`)
//! as linkers do. Rewrites linker options to the spelling that clap accepts. Leaves out options
//! without effect on members and undefined names, so that you can paste a line of `gcc -###`.
//! `driver_line` translates a compiler's command.
//! `linker_words` has the tables of linker options.

use super::linker_words::{ELSEWHERE, Effect, LinkerWord, NeededSearch, REPORTED, SYMBOLS};
use super::pasted_line::{runs_linker, words_of_linker};
use super::switches::{SWITCHES, Switches};
use super::versions::ReadVersions;
use super::{Cli, LinkerOption, build_commands, driver_line, named};
use crate::format::script::{self, OutputFormat};
use crate::format::version_script::VersionedName;
use crate::text::{show, show_path};
use crate::tree::{DiskTree, EntryType, Tree as _};
use crate::views::archive::PositionalOption;
use clap::{Arg, ArgMatches, Command, CommandFactory as _, ValueEnum as _};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Upper bound in bytes for a response file.
const MOST: u64 = 16 << 20;

/// Maximum nesting depth of response files. An `@FILE` at this depth is assumed to be a cycle, and
/// is not replaced.
const DEEPEST: usize = 8;

/// Options that take no value and whose position in the line matters, by clap id.
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

/// The option that allows undefined references of shared objects. linkaudit has no option for the
/// opposite.
const ALLOWS_UNDEFINED: &str = "allow-shlib-undefined";

/// A file or an option of `archive` whose position in the link line matters.
#[derive(Clone, Debug)]
pub enum Typed {
    /// An operand: an archive, an object, a shared object or a linker script.
    File(PathBuf),
    /// A file of `--order`.
    Order(PathBuf),
    /// The argument of `-l`.
    Library(OsString),
    /// Another option whose position matters.
    Position(PositionalOption),
    /// `-Bstatic` or `-Bdynamic`: true if `-l` finds only archives.
    Static(bool),
    /// `--push-state`, which saves the modes of `--as-needed`, `--whole-archive` and `-Bstatic`.
    PushState,
    /// `--pop-state`, which restores the modes that the last open `--push-state` saved.
    PopState,
}

/// Files and options of `archive` in the order typed; empty for other commands.
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

/// A command line with expanded response files, without the linker options that `archive` ignores.
#[derive(Default)]
pub(super) struct ExpandedLine {
    pub(super) words: Vec<OsString>,
    /// The response files that were read.
    pub(super) files: Vec<PathBuf>,
    /// The linker options that were removed from the line.
    pub(super) left_out: LeftOut,
}

/// Linker options that were removed from the command line, with their values, by effect.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// Options that change neither members nor undefined names.
    pub(super) ignored: Vec<String>,
    /// Options that hide symbols, which matters for `--gc-sections` and for references of shared
    /// objects.
    pub(super) hiding: Vec<String>,
    /// Options that change which sections `--gc-sections` keeps.
    pub(super) keeping: Vec<String>,
    /// The lists of directories in which GNU ld searches for libraries that shared objects need.
    pub(super) needed_dirs: Vec<(NeededSearch, OsString)>,
    /// True if the link reports undefined references of shared objects for every kind of output.
    pub(super) checks_shared: bool,
    /// The format of `-m`; `None` if it is not known.
    pub(super) emulation: Option<OutputFormat>,
    /// True if mold keeps all calls that find thread-local data (`--no-relax`).
    pub(super) keeps_tls_calls: bool,
    /// True with `--no-dependent-libraries`, for lld.
    pub(super) ignores_dependents: bool,
    /// The error for the first option whose effect `archive` does not follow; `None` if there is
    /// none.
    pub(super) refused: Option<String>,
    /// The names in version scripts of lld.
    pub(super) versioned: Vec<VersionedName>,
    /// True if lld needs no definition of the names in version scripts.
    pub(super) allows_undefined_versions: bool,
    /// What is assumed about version scripts, and about the files that compilers add to their links.
    pub(super) assumed: Vec<String>,
}

const COMMAND: &str = "archive";

/// Replaces each `@FILE` after the command `archive` by the words of the file. If the file cannot
/// be read, `@FILE` stays an argument (`expandargv` of libiberty).
pub(super) fn expand(arguments: impl Iterator<Item = OsString>) -> ExpandedLine {
    let mut out = ExpandedLine { words: arguments.collect(), ..ExpandedLine::default() };
    if !out.words.iter().any(|word| word == COMMAND) {
        return out;
    }
    let with_values = options_with_values();
    let Some(command) = command(&out.words, &with_values).filter(|at| out.words[*at] == COMMAND)
    else {
        return out;
    };
    let first = self::command(&out.words[command..], &with_values);
    let driver = first.filter(|at| build_commands::is_driver(&out.words[command + at]));
    let driver = driver.map(|at| out.words.split_off(command + at));
    let typed = out.words.split_off(command + 1);
    let linker = value_of("--linker", typed.iter());
    let root = value_of("--root", out.words.iter().chain(&typed)).map(PathBuf::from);
    let mut expanded = Expanded { linker, root, ..Expanded::default() };
    for argument in typed {
        expanded.add(argument, 0);
    }
    if let Some(command) = driver {
        expanded.add_driver(command, 0);
    }
    out.files = expanded.files;
    if !expanded.words.is_empty() {
        let (known, left_out) = spelled(expanded.words, &with_values);
        out.words.extend(known);
        out.left_out = left_out;
    }
    out.left_out.assumed.extend(expanded.assumed);
    out.left_out.refused = expanded.refused.or(out.left_out.refused);
    out
}

/// The index of the first word after the program's name that is neither an option nor the value of
/// an option. `None` after `--`.
fn command(words: &[OsString], with_values: &[String]) -> Option<usize> {
    let mut rest = words.iter().enumerate().skip(1);
    while let Some((at, word)) = rest.next() {
        if !word.as_bytes().starts_with(b"-") {
            return Some(at);
        }
        if word == "--" {
            return None;
        }
        if with_values.iter().any(|option| word == &**option) {
            rest.next();
        }
    }
    None
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

/// Where a word comes from.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Origin {
    /// The command line.
    #[default]
    Typed,
    /// A response file.
    File,
    /// The command of a compiler or a linker: an option is one of the linker, never one of
    /// linkaudit.
    Compiler,
}

type Word = (OsString, Origin);

/// The value of the last `option`.
fn value_of<'w>(option: &str, words: impl Iterator<Item = &'w OsString>) -> Option<OsString> {
    let mut words = words;
    let mut found = None;
    while let Some(word) = words.next().filter(|word| *word != "--") {
        match word.as_bytes().strip_prefix(option.as_bytes()) {
            Some(b"") => found = words.next().cloned(),
            Some([b'=', value @ ..]) => found = Some(OsString::from_vec(value.to_vec())),
            Some(_) | None => {}
        }
    }
    found
}

/// The linker of `--linker`, or lld.
fn linker_of(words: &[Word]) -> LinkerOption {
    let name = value_of("--linker", words.iter().map(|(word, _)| word));
    let found = name.and_then(|name| LinkerOption::from_str(&name.to_string_lossy(), false).ok());
    found.unwrap_or(LinkerOption::Lld)
}

/// Rewrites the linker options before `--` to the spelling that clap accepts. Moves the options
/// that clap must not see to [`LeftOut`]. The value of an option in `with_values` stays as it is.
fn spelled(words: Vec<Word>, with_values: &[String]) -> (Vec<OsString>, LeftOut) {
    let (mut out, mut left_out) = (Vec::new(), LeftOut::default());
    let (mut switches, mut warns) = (Switches::default(), None);
    let linker = linker_of(&words);
    let mut words = words.into_iter().peekable();
    while let Some((word, origin)) = words.next() {
        if word == "--" {
            out.push(word);
            out.extend(words.map(|(word, _)| word));
            break;
        }
        let next = words.peek().map(|(next, _)| next.to_string_lossy().into_owned());
        let text = word.to_str().unwrap_or_default().to_owned();
        if let Some(dir) = text.strip_prefix("-L=").filter(|_| linker == LinkerOption::Mold) {
            // mold takes the `=` for a part of the directory, clap does not.
            out.extend(["-L".into(), format!("={dir}").into()]);
            continue;
        }
        let of_output = || match origin {
            Origin::Typed => None,
            Origin::File => of_output(&text, next.as_deref()),
            Origin::Compiler => LinkerWord::of_compiler(&text),
        };
        let Some(found) = LinkerWord::find(&text, linker).or_else(of_output) else {
            out.push(word);
            if with_values.contains(&text) {
                out.extend(words.next().map(|(value, _)| value));
            }
            continue;
        };
        let LinkerWord { attached, takes_next, effect } = found;
        if takes_next && next.is_none() && !matches!(effect, Effect::Means(_)) {
            // Without its value, the option stays in the line, and clap reports the error.
            out.push(word);
            continue;
        }
        let after = words.next_if(|_| takes_next).map(|(value, _)| value);
        let value = attached.or(next.as_deref().filter(|_| takes_next)).unwrap_or_default();
        let option = if takes_next { format!("{text} {value}") } else { text.clone() };
        match effect.with(value) {
            Effect::Means(own) if SWITCHES.contains(&own) => {
                left_out.checks_shared &= own != ALLOWS_UNDEFINED;
                switches.add(own, out.len());
                out.push(format!("--{own}").into());
            }
            Effect::Means(own) => {
                let own = format!("--{own}");
                let has_value = with_values.contains(&own);
                let attached = attached.filter(|_| has_value);
                out.push(attached.map_or(own.clone(), |value| format!("{own}={value}")).into());
                out.extend(after.filter(|_| has_value));
            }
            Effect::Ends(own) => {
                left_out.checks_shared |= own == ALLOWS_UNDEFINED;
                switches.end(own);
            }
            Effect::Warns => warns = Some(option),
            Effect::Errors => warns = None,
            effect => left_out.add(effect, option, (value, linker)),
        }
    }
    if let Some(option) = warns {
        left_out.add(Effect::Refused(REPORTED), option, ("", linker));
    }
    (switches.keep_last(out), left_out)
}

/// Recognises two options of a response file that have no effect: `-o FILE` names the output of the
/// link, and `-h NAME` its soname. `None` for other options. Also `None` for `-o NAME=FILE`, an
/// output of linkaudit.
fn of_output<'t>(text: &str, next: Option<&str>) -> Option<LinkerWord<'t>> {
    let rest = ["--output=", "--output", "-o", "-h"].iter().find_map(|o| text.strip_prefix(o))?;
    let takes_next = rest.is_empty();
    let value = if takes_next { next? } else { rest };
    let is_ours = value.contains('=') || text == "-help" || rest.starts_with('-');
    (!is_ours).then_some(LinkerWord { attached: None, takes_next, effect: Effect::None })
}

impl LeftOut {
    /// Adds an option to the list for its effect, or stores the error if the option is refused.
    /// `option` is the option as typed, with its value.
    fn add(&mut self, effect: Effect, option: String, (value, linker): (&str, LinkerOption)) {
        let path = Path::new(value);
        match effect {
            // The response files of `ld.lld --reproduce` have `--chroot .`.
            Effect::Refused(ELSEWHERE) if value == "." => self.ignored.push(option),
            Effect::Refused(why) => {
                self.refused.get_or_insert(format!("{option}: {why}"));
            }
            Effect::Directory if DiskTree::new().kind(path) == Ok(EntryType::File) => {
                self.refused.get_or_insert(format!("{option}: {SYMBOLS}"));
            }
            Effect::Directory if linker == LinkerOption::Gnu => {
                self.needed_dirs.push((NeededSearch::Run, value.into()));
            }
            Effect::Search(search) if linker == LinkerOption::Gnu => {
                self.needed_dirs.push((search, value.into()));
            }
            Effect::Emulation => {
                self.emulation = script::emulation(value);
                self.ignored.extend(self.emulation.is_none().then_some(option));
            }
            Effect::Relaxes(is_on) if linker == LinkerOption::Mold => {
                self.keeps_tls_calls = !is_on;
            }
            Effect::Dependents(is_on) if linker == LinkerOption::Lld => {
                self.ignores_dependents = !is_on;
            }
            Effect::Hides => self.hiding.push(option),
            Effect::Versions => {
                let read = ReadVersions::of_file(path, &option, linker.linker());
                self.versioned.extend(read.names);
                self.assumed.extend(read.assumed);
                self.refused = self.refused.take().or(read.refused);
                self.hiding.push(option);
            }
            Effect::UndefinedVersions(allowed) => {
                self.allows_undefined_versions = allowed;
                self.ignored.push(option);
            }
            Effect::Keeps => self.keeping.push(option),
            _ => self.ignored.push(option),
        }
    }
}

/// The file system in which a compiler's files are looked up: the sysroot `root` if there is one.
fn system(root: Option<&Path>) -> Result<DiskTree, String> {
    let here = DiskTree::new();
    let Some(root) = root else { return Ok(here) };
    let tree = here.real_path(root).and_then(|real| DiskTree::within(&real));
    tree.map_err(|error| format!("--root {}: {error}", show_path(root)))
}

/// The words of a command line after the replacement of response files.
#[derive(Default)]
struct Expanded {
    words: Vec<Word>,
    /// The response files that were read.
    files: Vec<PathBuf>,
    assumed: Vec<String>,
    /// The error for the first command of a compiler that is not followed.
    refused: Option<String>,
    /// True while the words of a command of a compiler or a linker are added.
    is_of_compiler: bool,
    /// The linker that the user chose.
    linker: Option<OsString>,
    /// The value of `--root`.
    root: Option<PathBuf>,
}

impl Expanded {
    fn add(&mut self, argument: OsString, depth: usize) {
        let Some(text) = self.read(&argument, depth) else {
            let origin = if self.is_of_compiler {
                Origin::Compiler
            } else if depth > 0 {
                Origin::File
            } else {
                Origin::Typed
            };
            return self.words.push((argument, origin));
        };
        let is_of_linker = runs_linker(&text);
        let command =
            if is_of_linker { None } else { build_commands::command(&text, words, is_here) };
        match command {
            Some(Ok(command)) => self.add_driver(command, depth),
            Some(Err(error)) => {
                self.refused.get_or_insert(error);
            }
            None => {
                let is_outer = self.is_of_compiler;
                self.is_of_compiler |= is_of_linker;
                for word in words_of_linker(&text).into_iter().flat_map(words) {
                    self.add(word, depth + 1);
                }
                self.is_of_compiler = is_outer;
            }
        }
    }

    /// Adds the words of the linker for a command of a compiler.
    fn add_driver(&mut self, command: Vec<OsString>, depth: usize) {
        let mut expanded = Vec::new();
        for word in command {
            self.expand_of_driver(word, depth, &mut expanded);
        }
        let prefix = expanded.iter().find(|word| word.as_bytes().starts_with(b"-B"));
        if let Some(prefix) = prefix.filter(|_| self.root.is_some()) {
            let prefix = show(prefix.as_bytes());
            let error = format!("{prefix}: not followed with --root\n{}", build_commands::HELP);
            self.refused.get_or_insert(error);
            return;
        }
        let line = system(self.root.as_deref())
            .and_then(|tree| driver_line::translate(expanded, &tree, self.linker.as_deref()));
        match line {
            Ok(line) => {
                self.assumed.push(line.assumed);
                if self.linker.is_none() {
                    let linker = format!("--linker={}", line.linker);
                    self.words.push((linker.into(), Origin::File));
                }
                self.is_of_compiler = true;
                line.words.into_iter().for_each(|word| self.add(word, depth + 1));
                self.is_of_compiler = false;
            }
            Err(error) => {
                self.refused.get_or_insert(error);
            }
        }
    }

    /// Replaces the response files of a compiler, which have words of the compiler.
    fn expand_of_driver(&mut self, word: OsString, depth: usize, out: &mut Vec<OsString>) {
        match self.read(&word, depth) {
            None => out.push(word),
            Some(text) => {
                for word in words(&text) {
                    self.expand_of_driver(word, depth + 1, out);
                }
            }
        }
    }

    /// The text of a response file; `None` for other words.
    fn read(&mut self, word: &OsStr, depth: usize) -> Option<Vec<u8>> {
        let file = word.as_bytes().strip_prefix(b"@").filter(|_| depth < DEEPEST)?;
        let file = Path::new(OsStr::from_bytes(file));
        let text = named::read(file, MOST).ok()?;
        self.files.push(file.to_path_buf());
        Some(text)
    }
}

/// True for the working directory.
fn is_here(dir: &OsStr) -> bool {
    let tree = DiskTree::new();
    let id = |path: &Path| tree.look(path).ok().map(|(_, stat)| (stat.dev, stat.ino));
    id(Path::new(dir)).is_some_and(|found| id(Path::new(".")) == Some(found))
}

/// The words of a response file, separated by white space. A word in quotes may contain white
/// space. A backslash makes the next byte literal, inside single and double quotes too.
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
    use super::{Origin, options_with_values, script, words};
    use std::ffi::OsString;

    #[test]
    fn words_of_a_response_file() {
        let text = b"a.a  'b c.a'\n\"d \\\" e\" f\\ g ''\n-u\tx\n";
        assert_eq!(words(text), ["a.a", "b c.a", "d \" e", "f g", "", "-u", "x"]);
    }

    #[test]
    fn options_of_linkers() {
        let line = "-plugin p.so --build-id -m elf_x86_64 -pie -o out a.o -( -static -lx -) -z now \
            -zrelro -z nodefs -h x.so -Ttext 0 -hash-style gnu -o json=f";
        let spelled = |line: &str, in_file: bool| {
            let origin = if in_file { Origin::File } else { Origin::Typed };
            let list = line.split_whitespace().map(|word| (OsString::from(word), origin));
            super::spelled(list.collect(), &options_with_values())
        };
        let (found, left_out) = spelled(line, true);
        let known = "--pie a.o --start-group --Bstatic -lx --end-group -o json=f";
        assert!(found.iter().eq(known.split(' ')), "{found:?}");
        assert_eq!(left_out.emulation, script::emulation("elf_x86_64"));
        let expected = "-plugin p.so|--build-id|-o out|-z now|-zrelro|-h x.so|\
            -Ttext 0|-hash-style gnu";
        assert_eq!(left_out.ignored.join("|"), expected);
        assert!(left_out.refused.is_some_and(|error| error.starts_with("-z nodefs: ")));
        for line in [
            "-o json report.json",
            "--root-symbol -m foo.a",
            "-u -s a.o",
            "a.a -- -s -z now",
            "-emain",
        ] {
            let (found, left_out) = spelled(line, false);
            assert!(found.iter().eq(line.split(' ')) && left_out.ignored.is_empty(), "{found:?}");
        }
        for (line, expected) in [
            ("--start-lib -s --whole-archive -m x a.a", "--start-lib --whole-archive a.a"),
            ("-export-dynamic -rdynamic-x", "--export-dynamic -rdynamic-x"),
            ("-entry main -undefined=x -e y", "--entry main --undefined=x -e y"),
            ("-pie a.o -pie --gc-sections -no-pie", "a.o --gc-sections"),
            ("-u -pie a.o -pie b.o -pie", "-u -pie a.o b.o --pie"),
            ("-shared -- -pie", "--shared -- -pie"),
            ("--allow-shlib-undefined --unresolved-symbols=report-all a.o", "a.o"),
            ("-lto-x --lto-O2 -lto=1 --lto=thin a.o", "-lto-x -lto=1 a.o"),
            ("--no-call-graph-profile-sort --call-graph-profile-sort a.o", "a.o"),
            ("--compress-debug-sections none a.o -m", "a.o -m"),
            ("--threads 4 --unique a.o", "a.o"),
            ("--linker gnu --package-metadata --threads a.o", "--linker gnu a.o"),
            ("a.o --unique x --icf all --threads b.o --linker=mold", "a.o b.o --linker=mold"),
            ("--unresolved-symbols=ignore-in-shared-libs a.o", "--allow-shlib-undefined a.o"),
            ("-version-script=v -omagic a.o", "-omagic a.o"),
        ] {
            let (found, _) = spelled(line, false);
            assert!(found.iter().eq(expected.split(' ')), "{found:?}");
        }
        for (line, refuses) in [
            ("--warn-unresolved-symbols", true),
            ("--warn-unresolved-symbols --error-unresolved-symbols", false),
            ("--noinhibit-exec --error-unresolved-symbols", true),
            ("-Y P,.", true),
            ("--task-link f", true),
            ("--rsp-quoting=windows", true),
            ("--rsp-quoting=posix", false),
            ("--sysroot", false),
        ] {
            let (_, left_out) = spelled(line, false);
            assert_eq!(left_out.refused.is_some(), refuses, "{line}");
        }
    }

    /// Repeated switches do not make a long line slow.
    #[test]
    fn repeated_switches() {
        let words =
            (0..100_000).flat_map(|_| ["-pie", "a.o"]).map(|word| (word.into(), Origin::Typed));
        let (found, _) = super::spelled(words.collect(), &options_with_values());
        assert_eq!(found.len(), 100_001);
        let words =
            (0..100_000).flat_map(|_| ["-pie", "-no-pie"]).map(|word| (word.into(), Origin::Typed));
        let (found, _) = super::spelled(words.collect(), &options_with_values());
        assert!(found.is_empty(), "{found:?}");
    }
}
