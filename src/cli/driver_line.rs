//! Translates a command that links by a compiler, such as `g++ -o x a.o -Wl,--gc-sections -lz`, to
//! the words of the linker. `build_commands` finds the command. The order of words and the libraries
//! are those of GCC's `LINK_COMMAND_SPEC`. `compilers` finds the files.

use super::build_commands::{HELP, Program};
use super::compilers::{LinkKind, Release};
use crate::text::show;
use crate::tree::Tree;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// Options without effect on the link whose value is the next word.
const VALUES: &str = "--param -A -D -I -MF -MQ -MT -U -Xassembler -Xclang -Xpreprocessor -aux-info \
    -dumpbase -dumpbase-ext -dumpdir -idirafter -imacros -include -iprefix -iquote -isystem -h -o \
    -wrapper";

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

fn is_one_of(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

fn begins(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| word.starts_with(known))
}

/// Translates a command, whose first word is the compiler. Its files are looked up in `tree`, the
/// audited system. `linker` is the one that the user chose.
pub(super) fn translate(
    command: Vec<OsString>,
    tree: &dyn Tree,
    linker: Option<&OsStr>,
) -> Result<DriverLine, String> {
    let mut words = command.into_iter();
    let driver = words.next().unwrap_or_default();
    let program = Program::of(&driver);
    if !program.is_followed() {
        let driver = show(driver.as_bytes());
        return Err(format!("{driver}: the files that it adds to each link are not known\n{HELP}"));
    }
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
    if linker.unwrap_or(own_linker.as_ref()) == "gnu" {
        release.add_local_dirs(tree);
    }
    let kind = parts.kind()?;
    parts.write(tree, &release, kind, &mut out)?;
    let (name, what) = (show(driver.as_bytes()), kind.in_words());
    let dir = crate::text::show_path(&release.dir);
    let assumed = format!(
        "assumed: {name} links {what}, and adds the start files and libraries of {dir} to it; \
         LIBRARY_PATH is not set"
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
