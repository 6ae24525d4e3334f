//! Finds the command that links by a compiler in the output of build systems and shells: `link.txt`
//! of CMake, `ninja -v`, `ninja -t commands`, `rustc --print link-args` and `sh -x`. `driver_line`
//! translates the command.

use super::pasted_line::without_version;
use crate::text::show;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// Names of compilers, without the target before the name and the version after it.
const DRIVERS: &[&[u8]] = &[b"c++", b"cc", b"clang", b"clang++", b"g++", b"gcc"];

/// Names of compilers that add other files to their links.
const OTHER_DRIVERS: &[&[u8]] = &[
    b"amdclang",
    b"amdclang++",
    b"amdflang",
    b"c89",
    b"c99",
    b"flang",
    b"gccgo",
    b"gdc",
    b"gfortran",
    b"hipcc",
    b"icpx",
    b"icx",
    b"ifx",
    b"mpiCC",
    b"mpic++",
    b"mpicc",
    b"mpicxx",
    b"mpif77",
    b"mpif90",
    b"mpifort",
];

/// Programs and marks before the compiler that runs.
const LAUNCHERS: &[&[u8]] = &[
    b"+",
    b"++",
    b":",
    b"ccache",
    b"cmake",
    b"command",
    b"distcc",
    b"env",
    b"exec",
    b"libtool:",
    b"link:",
    b"nice",
    b"nohup",
    b"sccache",
    b"time",
];

/// Options of launchers whose value is the next word.
const LAUNCHER_VALUES: &[&[u8]] = &[b"-n", b"-u"];

/// Words that end a command.
const ENDS: &[&[u8]] = &[b"&", b"&&", b";", b"|", b"|&", b"||"];

/// Options that compile without a link.
const COMPILES: &[&str] = &["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"];

/// Variables of the environment with directories in which GCC looks for libraries and start files.
const SEARCH_VARIABLES: &[&str] = &["LIBRARY_PATH", "GCC_EXEC_PREFIX"];

/// The letters of `ar` that add members to an archive, and all its letters.
const AR: (&[u8], &[u8]) = (b"qr", b"DNPSTUVabcdfilmopqrstuvx");

/// Upper bound for the outputs that an error names.
const MOST_NAMED: usize = 4;

pub(super) const HELP: &str =
    "help: add -### to the compiler's command, and give the linker's line that it prints";

/// The command in `text` that links by a compiler; `None` if there is none. Other commands in
/// `text` are ignored. `words` splits a line. `is_here` is true for the working directory.
pub(super) fn command(
    text: &[u8],
    words: impl Fn(&[u8]) -> Vec<OsString>,
    is_here: impl Fn(&OsStr) -> bool,
) -> Option<Result<Vec<OsString>, String>> {
    let mut found = Vec::new();
    let (mut archiver, mut variable) = (None, None);
    let mut lines = text.split(|byte| *byte == b'\n');
    while let Some(line) = lines.next() {
        let mut line = line.trim_ascii().to_vec();
        // A backslash at the end of a line continues the command.
        while line.ends_with(b"\\") {
            line.pop();
            let Some(next) = lines.next() else { break };
            line.push(b' ');
            line.extend(next.trim_ascii());
        }
        let mut elsewhere = None;
        for part in parts(words(&line)) {
            let command = after_launchers(&part);
            variable = variable.or_else(|| part.iter().find(|word| changes_search(word)).cloned());
            match command {
                [change, to] if change == "cd" && !is_here(to) => {
                    elsewhere.get_or_insert(to.clone());
                }
                [program, letters, _, ..] if makes_archive(program, letters) => {
                    archiver.get_or_insert(program.clone());
                }
                _ if links(command) => found.push((command.to_vec(), elsewhere.clone())),
                _ => {}
            }
        }
    }
    if found.len() > 1 {
        let commands: Vec<_> = found.iter().map(|(command, _)| output(command)).collect();
        return Some(Err(several(&commands)));
    }
    if let (Some(variable), false) = (variable, found.is_empty()) {
        return Some(Err(format!(
            "{}: its effect on the search for libraries is not followed\n{HELP}",
            show(variable.as_bytes())
        )));
    }
    Some(match (found.pop(), archiver) {
        (Some((command, None)), _) => Ok(command),
        (Some((_, Some(dir))), _) => Err(format!(
            "cd {}: the compiler reads its files below another directory\n\
             help: start linkaudit there, and leave it out",
            show(dir.as_bytes())
        )),
        (None, Some(program)) => Err(format!(
            "{}: this command makes an archive and links nothing\nhelp: name the archive itself",
            show(program.as_bytes())
        )),
        (None, None) => return None,
    })
}

/// The error for more than one command, by their outputs.
fn several(outputs: &[OsString]) -> String {
    let names: Vec<_> = outputs.iter().take(MOST_NAMED).map(|name| show(name.as_bytes())).collect();
    let more = match outputs.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{} commands link: they make {}{more}\nhelp: give one of them",
        outputs.len(),
        names.join(", ")
    )
}

/// The output of a compiler's command.
fn output(command: &[OsString]) -> OsString {
    let mut words = command.iter();
    let mut found = OsString::from("a.out");
    while let Some(word) = words.next() {
        match word.as_bytes().strip_prefix(b"-o") {
            Some(b"") => found = words.next().cloned().unwrap_or(found),
            Some(name) => found = OsString::from_vec(name.to_vec()),
            None => {}
        }
    }
    found
}

/// The commands of a line of a shell, without redirections and comments.
fn parts(words: Vec<OsString>) -> Vec<Vec<OsString>> {
    let (mut out, mut part) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.as_bytes();
        if text.starts_with(b"#") {
            break;
        }
        if let Some(target) = redirection(text) {
            if target.is_empty() {
                words.next();
            }
            continue;
        }
        let own = text.strip_suffix(b";").unwrap_or(text);
        if ENDS.contains(&text) {
            out.push(std::mem::take(&mut part));
        } else if own.len() < text.len() {
            part.push(OsString::from_vec(own.to_vec()));
            out.push(std::mem::take(&mut part));
        } else {
            part.push(word);
        }
    }
    out.push(part);
    out
}

/// The target in the word of a redirection, such as `2>&1`; empty if it is the next word. `None`
/// for other words.
fn redirection(word: &[u8]) -> Option<&[u8]> {
    let is_before = |byte: &u8| byte.is_ascii_digit() || *byte == b'&';
    let operator = word.iter().position(|byte| !is_before(byte))?;
    let is_operator = |byte: &u8| matches!(byte, b'<' | b'>');
    let rest = word.get(operator..).filter(|rest| rest.first().is_some_and(is_operator))?;
    let target = rest.iter().position(|byte| !is_operator(byte)).unwrap_or(rest.len());
    rest.get(target..)
}

/// The words of a command without the programs that run it, their options, variables of the
/// environment, and the progress that a build system prints.
fn after_launchers(words: &[OsString]) -> &[OsString] {
    let mut rest = words;
    if rest.first().is_some_and(|word| word.as_bytes().starts_with(b"[")) {
        let end = rest.iter().position(|word| word.as_bytes().ends_with(b"]"));
        rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or(rest);
    }
    let mut is_launched = false;
    while let [word, after @ ..] = rest {
        let text = word.as_bytes();
        let name = text.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if LAUNCHERS.contains(&name) {
            is_launched = true;
            rest = after;
        } else if is_assignment(text) {
            rest = after;
        } else if is_launched && text.starts_with(b"-") {
            let values = usize::from(LAUNCHER_VALUES.contains(&text));
            rest = after.get(values..).unwrap_or_default();
        } else {
            break;
        }
    }
    rest
}

/// True for the command of a compiler that links.
fn links(command: &[OsString]) -> bool {
    let compiles = |word: &OsString| COMPILES.iter().any(|option| word == option);
    let is_compiler = command.first().is_some_and(|program| is_driver(program));
    is_compiler && command.len() > 1 && !command.iter().any(compiles)
}

/// True for `ar` with letters that add members.
fn makes_archive(program: &OsStr, letters: &OsStr) -> bool {
    let (adding, all) = AR;
    let letters = letters.as_bytes();
    let letters = letters.strip_prefix(b"-").unwrap_or(letters);
    Program::of(program).name == b"ar"
        && letters.iter().all(|letter| all.contains(letter))
        && letters.iter().any(|letter| adding.contains(letter))
}

/// True for `NAME=VALUE`, which sets a variable of the environment.
fn is_assignment(word: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let name = word.iter().position(|byte| *byte == b'=').map(|end| &word[..end]);
    name.is_some_and(|name| !name.is_empty() && name.iter().all(is_of_name))
}

/// True for a word that sets a variable from which GCC takes directories of libraries. An empty
/// LIBRARY_PATH stands for the working directory.
fn changes_search(word: &OsStr) -> bool {
    SEARCH_VARIABLES.iter().any(|variable| {
        let value = word.as_bytes().strip_prefix(variable.as_bytes());
        value.is_some_and(|value| value.starts_with(b"="))
    })
}

/// True for the path of a compiler, such as `/usr/bin/x86_64-linux-gnu-g++-12`.
pub(super) fn is_driver(program: &OsStr) -> bool {
    let program = Program::of(program);
    program.is_followed() || OTHER_DRIVERS.contains(&program.name)
}

/// The parts of a compiler's path.
pub(super) struct Program<'p> {
    pub(super) target: Option<&'p [u8]>,
    pub(super) name: &'p [u8],
    pub(super) version: &'p [u8],
}

impl<'p> Program<'p> {
    pub(super) fn of(program: &'p OsStr) -> Self {
        let (plain, version) = without_version(program.as_bytes());
        match plain.iter().rposition(|byte| *byte == b'-') {
            Some(dash) => Self { target: Some(&plain[..dash]), name: &plain[dash + 1..], version },
            None => Self { target: None, name: plain, version },
        }
    }

    /// True if the files that the compiler adds to its links are known.
    pub(super) fn is_followed(&self) -> bool {
        DRIVERS.contains(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::{command, is_driver};
    use std::ffi::{OsStr, OsString};

    #[test]
    fn commands_of_build_systems() {
        let words = |line: &[u8]| -> Vec<OsString> {
            let text = String::from_utf8_lossy(line).into_owned();
            text.split_whitespace().map(OsString::from).collect()
        };
        let found = |text: &str| {
            let found = command(text.as_bytes(), words, |dir| dir == "/here")?;
            Some(found.map(|command| command.join(OsStr::new(" ")).into_string()))
        };
        let link = Some(Ok(Ok("g++ -o x a.o".to_owned())));
        for text in [
            "g++ -o x a.o\n",
            ": && g++ -o x a.o && :\n",
            "gcc -c a.c -o a.o\n/usr/bin/ar qc b.a b.o\nccache g++ -o x a.o\n",
            "LC_ALL=C PATH=/bin g++ -o \\\n x a.o\n",
            "libtool: link: g++ -o x a.o",
            "[2/2] : && g++ -o x a.o && :",
            "[ 50%] g++ -o x a.o",
            "+ g++ -o x a.o",
            "cd /here && g++ -o x a.o",
            "g++ -o x a.o 2>&1 | tee log",
            "g++ -o x 2> log a.o >/dev/null </dev/null",
            "g++ -o x a.o; echo done",
            "g++ -o x a.o || exit 1 # g++ b.o",
            "env -u A B=1 nice -n 5 time -p exec g++ -o x a.o",
            "/usr/bin/cmake -E env A=1 g++ -o x a.o",
            "/usr/bin/cmake -E time g++ -o x a.o",
        ] {
            assert_eq!(found(text), link, "{text}");
        }
        for text in ["a.o gcc b.o", "gcc\n", "a.o\nb.o", "gcc -c x.c", "ar t gcc.a a.o"] {
            assert_eq!(found(text), None, "{text}");
        }
        for (text, begin) in [
            ("cd /x && g++ -o x a.o", "cd /x: the compiler"),
            ("gcc -o x a.o\ngcc b.o\n", "2 commands link: they make x, a.out\n"),
            ("/usr/bin/ar qc a.a a.o\n/usr/bin/ranlib a.a\n", "/usr/bin/ar: this command makes"),
        ] {
            let error = found(text).and_then(Result::err).unwrap_or_default();
            assert!(error.starts_with(begin), "{text}: {error}");
        }
    }

    #[test]
    fn names_of_compilers() {
        for name in
            ["cc", "/usr/bin/c++", "x86_64-linux-gnu-g++-12", "clang-19", "clang++", "mpicc"]
        {
            assert!(is_driver(OsStr::new(name)), "{name}");
        }
        for name in ["a.o", "libgcc.a", "ld", "gcc.o", "clang-cpp", "gcc/a"] {
            assert!(!is_driver(OsStr::new(name)), "{name}");
        }
    }
}
