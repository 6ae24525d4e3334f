//! Translates a command that links by a compiler, such as `g++ -o x a.o -Wl,--gc-sections -lz`, to
//! the words of the linker. Build systems record such commands in `link.txt` of CMake and in the
//! output of `ninja -t commands` and `rustc --print link-args`. The order of words and the
//! libraries are those of GCC's `LINK_COMMAND_SPEC`. `compilers` finds the files.

use super::compilers::{LinkKind, Release};
use super::pasted_line::without_version;
use crate::text::show;
use crate::tree::Tree;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// Names of compilers, without the target before the name and the version after it.
const DRIVERS: &[&[u8]] = &[b"c++", b"cc", b"clang", b"clang++", b"g++", b"gcc"];

/// Programs that run the compiler that the next word names.
const LAUNCHERS: &[&[u8]] = &[b":", b"ccache", b"distcc", b"libtool:", b"link:", b"sccache"];

/// Options that compile without a link.
const COMPILES: &str = "-c -S -E -M -MM -fsyntax-only";

/// Options without effect on the link whose value is the next word.
const VALUES: &str = "--param -A -D -I -MF -MQ -MT -U -Xassembler -Xclang -Xpreprocessor -aux-info \
    -dumpbase -dumpbase-ext -dumpdir -idirafter -imacros -include -iprefix -iquote -isystem -h -o";

/// Beginnings of options with an effect that is not followed: they add libraries, or choose other
/// files.
const REFUSED: &str = "-fsanitize -fprofile-arcs -fprofile-generate -fprofile-instr-generate \
    -fcoverage -ftest-coverage -fopenacc -fgnu-tm -fsplit-stack -fvtable-verify -fuse-ld= \
    -m16 -m32 -mabi= -mandroid -mbig-endian -mlittle-endian -mmusl -mprofile -muclibc -mx32";

/// Beginnings of options without effect on the link.
const IGNORED: &str = "--verbose -### -C -D -I -MD -MG -MMD -MP -O -P -Qunused-arguments -U -W \
    -ansi -f -g -idirafter -imacros -include -iquote -isystem -m -no-canonical-prefixes -pedantic \
    -pipe -save-temps -std= --std= -symbolic -time -v -w";

/// Options that the linker gets before all files. Their value is in the same word or the next one.
const FIRST: &[&str] = &["-L", "-T", "-e", "-u", "-z"];

/// Suffixes of files that a compiler translates.
const SOURCES: &str = "C S c cc cp cpp cxx c++ f f90 i ii m mm s";

const HELP: &str =
    "help: add -### to the compiler's command, and give the linker's line that it prints";

/// The option of GCC that runs loops in as many threads as its value says.
const PARALLEL_LOOPS: &str = "-ftree-parallelize-loops=";

/// The words of the linker for a command of a compiler.
pub(super) struct DriverLine {
    pub(super) words: Vec<OsString>,
    /// The linker that the compiler runs.
    pub(super) linker: &'static str,
    /// What is assumed about the files that the compiler adds.
    pub(super) assumed: String,
}

/// The command in `text` that links by a compiler; `None` if there is none. Other commands in
/// `text` are ignored. `words` splits a line.
pub(super) fn command(
    text: &[u8],
    words: impl Fn(&[u8]) -> Vec<OsString>,
) -> Option<Result<Vec<OsString>, String>> {
    let has_name = |line: &[u8]| {
        let has = |name: &[u8]| memchr::memmem::find(line, name).is_some();
        has(b"cc") || has(b"++") || has(b"clang")
    };
    let mut found = Vec::new();
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
        if !has_name(&line) {
            continue;
        }
        let words = words(&line);
        let mut dir = None;
        for part in words.split(|word| word == "&&" || word == ";") {
            if let [change, to] = part {
                dir = (change == "cd").then_some(to).or(dir);
            }
            found.extend(link(part).map(|command| (command.to_vec(), dir.cloned())));
        }
    }
    let (command, dir) = found.pop()?;
    Some(match dir {
        _ if !found.is_empty() => {
            Err(format!("{} commands link\nhelp: give one of them", found.len() + 1))
        }
        Some(dir) => Err(format!(
            "cd {}: the compiler reads its files below another directory\n\
             help: start linkaudit there, and leave it out",
            show(dir.as_bytes())
        )),
        None => Ok(command),
    })
}

/// The words of a command from the compiler on; `None` if it is not a compiler that links.
fn link(command: &[OsString]) -> Option<&[OsString]> {
    let is_before = |word: &OsString| {
        let name = word.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        is_assignment(word.as_bytes()) || LAUNCHERS.contains(&name)
    };
    let first = command.iter().position(|word| !is_before(word))?;
    let command = &command[first..];
    let compiles = |word: &OsString| is_one_of(COMPILES, &word.to_string_lossy());
    let links = command.len() > 1 && !command.iter().any(compiles);
    (links && is_driver(&command[0])).then_some(command)
}

/// True for `NAME=VALUE`, which sets a variable of the environment.
fn is_assignment(word: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let name = word.iter().position(|byte| *byte == b'=').map(|end| &word[..end]);
    name.is_some_and(|name| !name.is_empty() && name.iter().all(is_of_name))
}

/// True for the path of a compiler, such as `/usr/bin/x86_64-linux-gnu-g++-12`.
pub(super) fn is_driver(program: &OsStr) -> bool {
    DRIVERS.contains(&Program::of(program).name)
}

/// The parts of a compiler's path.
struct Program<'p> {
    target: Option<&'p [u8]>,
    name: &'p [u8],
    version: &'p [u8],
}

impl<'p> Program<'p> {
    fn of(program: &'p OsStr) -> Self {
        let (plain, version) = without_version(program.as_bytes());
        match plain.iter().rposition(|byte| *byte == b'-') {
            Some(dash) => Self { target: Some(&plain[..dash]), name: &plain[dash + 1..], version },
            None => Self { target: None, name: plain, version },
        }
    }
}

fn is_one_of(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

fn begins(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| word.starts_with(known))
}

/// Translates a command, whose first word is the compiler. `linker` is the one that the user
/// chose.
pub(super) fn translate(
    command: Vec<OsString>,
    tree: &dyn Tree,
    linker: Option<&str>,
) -> Result<DriverLine, String> {
    let mut words = command.into_iter();
    let driver = words.next().unwrap_or_default();
    let program = Program::of(&driver);
    let mut parts = Parts {
        is_cxx: program.name.ends_with(b"++"),
        is_gcc: !program.name.starts_with(b"clang"),
        ..Parts::default()
    };
    while let Some(word) = words.next() {
        parts.add(word, &mut words)?;
    }
    let release = Release::find(tree, program.target, program.version);
    let mut release = release.ok_or_else(|| {
        format!(
            "{}: the files that it adds to each link are not found\n{HELP}",
            show(driver.as_bytes())
        )
    })?;
    release.dirs.splice(..0, std::mem::take(&mut parts.prefixes));
    let mut out = Vec::new();
    let own_linker = parts.linker.unwrap_or("gnu");
    if linker.unwrap_or(own_linker) == "gnu" {
        release.add_local_dirs(tree);
    }
    let kind = parts.kind()?;
    parts.write(tree, &release, kind, &mut out)?;
    let (name, what) = (show(driver.as_bytes()), kind.in_words());
    let dir = crate::text::show_path(&release.dir);
    let assumed = format!(
        "assumed: {name} links {what}, and adds the start files and libraries of {dir} to it"
    );
    Ok(DriverLine { words: out, linker: own_linker, assumed })
}

/// The error for an option whose effect is not followed.
fn not_followed(word: &OsStr) -> String {
    format!("{}: its effect on the link is not followed\n{HELP}", show(word.as_bytes()))
}

/// The words of a command by their place in the linker's line.
#[derive(Default)]
struct Parts {
    first: Vec<OsString>,
    inputs: Vec<OsString>,
    /// The places of the first `-lm` and the first `-lc` in `inputs`.
    own_math: Option<usize>,
    own_libc: Option<usize>,
    /// The directories of `-B`, in which the compiler also looks for its own files.
    prefixes: Vec<PathBuf>,
    linker: Option<&'static str>,
    is_cxx: bool,
    is_gcc: bool,
    /// `-shared`, `-static-pie`, `-pie` and `-no-pie`, in the order of the command.
    outputs: Vec<&'static str>,
    is_static: bool,
    has_threads: bool,
    has_openmp: bool,
    has_parallel_loops: bool,
    without_start: bool,
    without_libraries: bool,
    without_libc: bool,
    without_cxx: bool,
    static_libgcc: bool,
    shared_libgcc: bool,
    static_cxx: bool,
}

impl Parts {
    /// Adds a word of the command. Takes its value from `rest` if the value is the next word.
    fn add(
        &mut self,
        word: OsString,
        rest: &mut impl Iterator<Item = OsString>,
    ) -> Result<(), String> {
        let text = word.to_string_lossy().into_owned();
        if !text.starts_with('-') {
            let is_source = text.rsplit_once('.').is_some_and(|(_, end)| is_one_of(SOURCES, end));
            if is_source {
                return Err(format!("{}: a source file\n{HELP}", show(word.as_bytes())));
            }
            self.inputs.push(word);
            return Ok(());
        }
        if let Some(list) = word.as_bytes().strip_prefix(b"-Wl,") {
            let words = list.split(|byte| *byte == b',');
            self.inputs.extend(words.map(|word| OsString::from_vec(word.to_vec())));
            return Ok(());
        }
        match &*text {
            "-shared" => self.outputs.push("-shared"),
            "-static" => self.is_static = true,
            "-pie" => self.outputs.push("-pie"),
            "-no-pie" | "-nopie" => self.outputs.push("-no-pie"),
            "-static-pie" => self.outputs.push("-static-pie"),
            "-pthread" => self.has_threads = true,
            "-fopenmp" if self.is_gcc => self.has_openmp = true,
            "-fno-openmp" => self.has_openmp = false,
            "-nostdlib" => (self.without_start, self.without_libraries) = (true, true),
            "-nostartfiles" => self.without_start = true,
            "-nodefaultlibs" => self.without_libraries = true,
            "-nolibc" => self.without_libc = true,
            "-nostdlib++" => self.without_cxx = true,
            "-static-libgcc" => self.static_libgcc = true,
            "-shared-libgcc" => self.shared_libgcc = true,
            "-static-libstdc++" => self.static_cxx = true,
            "-fuse-ld=bfd" => self.linker = Some("gnu"),
            "-fuse-ld=lld" => self.linker = Some("lld"),
            "-fuse-ld=mold" => self.linker = Some("mold"),
            "-rdynamic" => self.first.push("-export-dynamic".into()),
            "-r" | "-s" | "-t" => self.first.push(word),
            "-Xlinker" => self.inputs.extend(rest.next()),
            "-l" => {
                let mut library = word;
                library.push(rest.next().unwrap_or_default());
                self.add_library(library);
            }
            _ if text.starts_with("-l") => self.add_library(word),
            "-B" => self.prefixes.extend(rest.next().map(PathBuf::from)),
            _ if text.starts_with("-B") => {
                self.prefixes.push(OsStr::from_bytes(&word.as_bytes()[2..]).into());
            }
            _ if is_one_of(VALUES, &text) => drop(rest.next()),
            // `-o` may have its value in the same word.
            _ if text.starts_with("-o") => {}
            _ if FIRST.contains(&&*text) => {
                self.first.extend([Some(word), rest.next()].into_iter().flatten());
            }
            _ if FIRST.iter().any(|option| text.starts_with(option)) => self.first.push(word),
            // Clang links another library by default.
            _ if !self.is_gcc && text.starts_with("-fopenmp") && text != "-fopenmp-simd" => {
                return Err(not_followed(&word));
            }
            _ if text.starts_with(PARALLEL_LOOPS) => {
                let number = text[PARALLEL_LOOPS.len()..].parse::<u32>();
                self.has_parallel_loops = number.map_err(|_| not_followed(&word))? > 1;
            }
            _ if !begins(REFUSED, &text) && begins(IGNORED, &text) => {}
            _ => return Err(not_followed(&word)),
        }
        Ok(())
    }

    fn add_library(&mut self, library: OsString) {
        let place = self.inputs.len();
        match library.as_bytes() {
            b"-lm" => _ = self.own_math.get_or_insert(place),
            b"-lc" => _ = self.own_libc.get_or_insert(place),
            _ => {}
        }
        self.inputs.push(library);
    }

    /// True if the compiler adds the C++ library.
    fn has_cxx(&self) -> bool {
        self.is_cxx && !self.without_cxx && !self.without_libraries
    }

    /// The files and options of the command. `g++` moves the first `-lm` and the first `-lc` behind
    /// the C++ library.
    fn moved_inputs(&mut self) -> Vec<OsString> {
        let moves = self.is_gcc && self.has_cxx();
        let moved = [self.own_math, self.own_libc].map(|place| place.filter(|_| moves));
        let inputs = std::mem::take(&mut self.inputs).into_iter().enumerate();
        inputs.filter(|(at, _)| !moved.contains(&Some(*at))).map(|(_, word)| word).collect()
    }

    fn kind(&self) -> Result<LinkKind, String> {
        // Each of these options of GCC ends the effect of the earlier ones.
        let earlier = ["-shared", "-static-pie"].into_iter();
        let earlier = earlier.filter(|option| !self.is_gcc && self.outputs.contains(option));
        let output = earlier.chain(self.outputs.last().copied()).next();
        Ok(match (output, self.is_static) {
            (Some(output @ ("-shared" | "-static-pie")), true) => {
                return Err(format!("{output} -static: not followed\n{HELP}"));
            }
            (Some("-shared"), false) => LinkKind::Shared,
            (Some("-static-pie"), false) => LinkKind::StaticPie,
            (_, true) => LinkKind::Static,
            (Some("-no-pie"), false) => LinkKind::Program,
            (_, false) => LinkKind::Pie,
        })
    }

    /// Writes the linker's line.
    fn write(
        mut self,
        tree: &dyn Tree,
        release: &Release,
        kind: LinkKind,
        out: &mut Vec<OsString>,
    ) -> Result<(), String> {
        // Debian and Ubuntu change this default of GCC.
        out.extend((self.is_gcc && release.is_of_debian()).then(|| "--as-needed".into()));
        out.extend(kind.options().iter().map(OsString::from));
        let (start, end) = kind.start_files();
        let find = |names: &[&str]| -> Result<Vec<OsString>, String> {
            let found = names.iter().filter(|_| !self.without_start).map(|name| {
                let file = release.file(tree, name).map(PathBuf::into_os_string);
                file.ok_or_else(|| format!("{name}, which the compiler adds, is not found\n{HELP}"))
            });
            found.collect()
        };
        let (start, end) = (find(start)?, find(end)?);
        let libraries = self.libraries(kind);
        let inputs = self.moved_inputs();
        out.extend(self.first);
        out.extend(start);
        for dir in &release.dirs {
            out.extend(["-L".into(), dir.clone().into_os_string()]);
        }
        out.extend(inputs);
        out.extend(libraries.into_iter().map(OsString::from));
        out.extend(end);
        Ok(())
    }

    /// The libraries that the compiler adds.
    fn libraries(&self, kind: LinkKind) -> Vec<&'static str> {
        let mut out = Vec::new();
        let is_static = matches!(kind, LinkKind::Static | LinkKind::StaticPie);
        if self.has_cxx() {
            let is_mixed = self.static_cxx && !is_static;
            let cxx: &[&str] =
                if is_mixed { &["-Bstatic", "-lstdc++", "-Bdynamic"] } else { &["-lstdc++"] };
            out.extend(cxx);
            out.push("-lm");
            out.extend(self.own_libc.filter(|_| self.is_gcc).map(|_| "-lc"));
        }
        let has_gomp = self.has_openmp || self.has_parallel_loops;
        out.extend(has_gomp.then_some("-lgomp"));
        if self.without_libraries {
            return out;
        }
        // These options imply -pthread.
        let threads = self.has_threads || has_gomp;
        let threads = (threads && !self.without_libc).then_some("-lpthread");
        let libc = (!self.without_libc).then_some("-lc");
        let of_c = threads.into_iter().chain(libc);
        if is_static {
            out.extend(["--start-group", "-lgcc", "-lgcc_eh"]);
            out.extend(of_c);
            out.push("--end-group");
            return out;
        }
        let libgcc: &[&str] = match (self.static_libgcc, self.is_cxx || self.shared_libgcc) {
            (true, _) => &["-lgcc", "-lgcc_eh"],
            (false, true) if self.is_gcc && kind == LinkKind::Shared => &["-lgcc_s"],
            (false, true) => &["-lgcc_s", "-lgcc"],
            (false, false) => &["-lgcc", "--push-state", "--as-needed", "-lgcc_s", "--pop-state"],
        };
        out.extend(libgcc);
        out.extend(of_c);
        out.extend(libgcc);
        out
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
            let found = command(text.as_bytes(), words)?;
            Some(found.map(|command| command.join(OsStr::new(" ")).into_string()))
        };
        let link = Some(Ok(Ok("g++ -o x a.o".to_owned())));
        for text in [
            "g++ -o x a.o\n",
            ": && g++ -o x a.o && :\n",
            "gcc -c a.c -o a.o\n/usr/bin/ar qc b.a b.o\nccache g++ -o x a.o\n",
            "LC_ALL=C PATH=/bin g++ -o \\\n x a.o\n",
            "libtool: link: g++ -o x a.o",
        ] {
            assert_eq!(found(text), link, "{text}");
        }
        for text in ["a.o gcc b.o", "gcc\n", "a.o\nb.o", "gcc -c x.c", "ar qc gcc.a a.o"] {
            assert_eq!(found(text), None, "{text}");
        }
        for text in ["cd /x && g++ -o x a.o", "gcc -o x a.o\ngcc -o y b.o\n"] {
            assert!(found(text).is_some_and(|found| found.is_err()), "{text}");
        }
    }

    #[test]
    fn names_of_compilers() {
        for name in ["cc", "/usr/bin/c++", "x86_64-linux-gnu-g++-12", "clang-19", "clang++"] {
            assert!(is_driver(OsStr::new(name)), "{name}");
        }
        for name in ["a.o", "libgcc.a", "ld", "gcc.o", "clang-cpp", "gcc/a"] {
            assert!(!is_driver(OsStr::new(name)), "{name}");
        }
    }
}
