//! Checks the paths in text files that programs read or run. These text files are scripts, systemd
//! units, desktop files, flags of compiler wrappers, specs of GCC and libtool archives. Manifests
//! of Vulkan, EGL and OpenCL drivers, and search paths of Python and ldconfig, are checked too. A
//! missing path is reported only if it is in the prefix or store of the text file, and only if its
//! meaning is certain.

mod places;
mod specs;

use super::{Texts, read_start};
use crate::format::gcc_specs;
use crate::format::ld_so_conf::{self, Line};
use crate::order::Arrange as _;
use crate::package::{Prefixes, is_store};
use crate::sniff::Class;
use crate::tree::walk::UnreadablePath;
use crate::tree::{EntryType, Errno, Tree, without_dots};
use places::{LIB_DIRS, is_for_linux, is_main_specs, is_site, is_system_dir};
use specs::{SpecsName, SpecsNameKind};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A defect in a text file: a missing path, a directory without device bitcode, or a flag that a
/// wrapper or a specs file adds to every link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPath {
    /// The text file.
    pub file: PathBuf,
    /// The number of the line, from 1.
    pub line: u32,
    /// The role of the path in the text file, as the start of a message.
    pub what: &'static str,
    /// The path, or the flag.
    pub path: PathBuf,
    /// The kind of defect, which decides the rule that reports it.
    pub kind: TextPathKind,
}

/// Kinds of defects in text files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextPathKind {
    /// The path does not exist.
    Missing,
    /// The path is in a resource directory of clang and does not exist. The value is another
    /// existing resource directory of the same major version.
    ResourceDir(PathBuf),
    /// The path is a directory for device bitcode that does not exist or has no file `ocml.bc`.
    Bitcode,
    /// The path is a library, or a flag with a directory of libraries, that a wrapper or a specs
    /// file adds to every link.
    Injected,
}

/// Maximum number of bytes that are read from a file. Some scripts have a large payload behind
/// their text.
const MOST: u64 = 4 << 20;
/// Names of files in `nix-support` with flags of Nix's compiler wrappers
/// (`pkgs/build-support/cc-wrapper`).
const WRAPPER: [&str; 9] = [
    "cc-cflags",
    "cc-cflags-before",
    "cc-ldflags",
    "libc-cflags",
    "libc-ldflags",
    "libcxx-cxxflags",
    "libcxx-ldflags",
    "libc-crt1-cflags",
    "cc-wrapper-hook",
];

/// Names of programs that start ROCm's compiler (`clang/tools/amdllvm` of ROCm's LLVM).
const ROCM_COMPILERS: [&str; 5] =
    ["amdclang", "amdclang++", "amdclang-cl", "amdclang-cpp", "amdflang"];
/// Directories of programs in releases of ROCm.
const ROCM_DIRS: [&str; 3] = ["bin", "llvm/bin", "lib/llvm/bin"];

/// Checks executable scripts in program directories, and other text files that programs read. Files
/// in directories of documentation and examples are skipped. Files that cannot be read are added to
/// `problems`.
pub(super) fn find(
    tree: &dyn Tree,
    prefixes: &Prefixes,
    texts: &Texts,
    problems: &mut Vec<UnreadablePath>,
) -> Vec<TextPath> {
    let mut out = Vec::new();
    let loose = texts.judged(Class::Loose, tree, prefixes).into_iter();
    let is_program = |path: &Path| {
        ["bin", "sbin", "libexec"].iter().any(|name| path.iter().any(|part| part == *name))
    };
    let scripts = texts.judged(Class::Script, tree, prefixes).into_iter().filter(|path| {
        // Other scripts are modules, examples or templates, which are not run in place.
        is_program(path) && tree.mode(path).is_some_and(|mode| mode & 0o111 != 0)
    });
    let loose = loose.map(|path| (path, false));
    for (path, is_script) in loose.chain(scripts.map(|path| (path, true))) {
        if ["doc", "examples", "docs"].iter().any(|name| path.iter().any(|part| part == *name)) {
            continue;
        }
        let mut judge = PathCheck { tree, prefixes, file: &path, line: 0, out: &mut out };
        let failed = judge.file(is_script).err();
        problems.extend(failed.map(|reason| UnreadablePath { path: path.clone(), reason }));
    }
    out.arrange();
    out.dedup();
    out
}

/// The format in which a text file is read.
#[derive(Clone, Copy)]
enum TextFormat {
    Flags,
    Script,
    Json,
    Vendor,
    Unit,
    Desktop,
    Libtool,
    LdConf,
    Python,
    Specs,
    /// The specs that GCC reads without an option `-specs`.
    MainSpecs,
}

struct PathCheck<'a> {
    tree: &'a dyn Tree,
    prefixes: &'a Prefixes,
    file: &'a Path,
    line: u32,
    out: &'a mut Vec<TextPath>,
}

impl PathCheck<'_> {
    /// Checks the file if its name shows that a program reads or runs it. The error is a reason for
    /// the report.
    fn file(&mut self, is_script: bool) -> Result<(), String> {
        let Some(reader) = self.reader(is_script) else { return Ok(()) };
        let text = read_start(self.tree, self.file, MOST)?;
        let is_judged = match reader {
            // A condition may prevent the start of the unit, so the paths of such a unit are not
            // checked.
            TextFormat::Unit => !contains(&text, b"\nCondition") && !contains(&text, b"\nAssert"),
            TextFormat::Desktop => !contains(&text, b"\nTryExec"),
            TextFormat::Libtool => text.starts_with(b"# ") && contains(&text, b"libtool"),
            // Python rejects a `.pth` file that is not UTF-8.
            TextFormat::Python => std::str::from_utf8(&text).is_ok(),
            TextFormat::Specs | TextFormat::MainSpecs => {
                self.specs(&text, matches!(reader, TextFormat::MainSpecs));
                false
            }
            _ => true,
        };
        for line in text.split(|b| *b == b'\n').filter(|_| is_judged) {
            self.line = self.line.saturating_add(1);
            match reader {
                TextFormat::Flags => self.flags(line),
                TextFormat::Script => self.script(line),
                TextFormat::Json => self.json(line),
                TextFormat::Vendor => self.vendor(line),
                TextFormat::Unit => self.unit(line),
                TextFormat::Desktop => self.desktop(line),
                TextFormat::Libtool => self.libtool(line),
                TextFormat::LdConf => self.ld_conf(line),
                TextFormat::Python => {
                    line.split(|b| *b == b'\r').for_each(|line| self.python(line));
                }
                TextFormat::Specs | TextFormat::MainSpecs => {}
            }
        }
        Ok(())
    }

    fn reader(&self, is_script: bool) -> Option<TextFormat> {
        const MANIFESTS: [&str; 4] =
            ["icd.d", "implicit_layer.d", "explicit_layer.d", "egl_vendor.d"];
        let name = self.file.file_name().map(OsStr::as_bytes).unwrap_or_default();
        let dir = self.file.parent().and_then(Path::file_name).map(OsStr::as_bytes);
        if dir == Some(b"nix-support") {
            let is_wrapper = WRAPPER.iter().any(|known| known.as_bytes() == name);
            return is_wrapper.then_some(TextFormat::Flags);
        }
        if is_script {
            return Some(TextFormat::Script);
        }
        match name.rsplit(|b| *b == b'.').next()? {
            b"conf" if dir == Some(b"ld.so.conf.d") || name == b"ld.so.conf" => {
                Some(TextFormat::LdConf)
            }
            b"pth" if is_site(dir) && !name.starts_with(b".") => Some(TextFormat::Python),
            b"specs" if is_main_specs(self.file) => Some(TextFormat::MainSpecs),
            b"specs" if name != b"specs" && self.is_below(&LIB_DIRS) => Some(TextFormat::Specs),
            b"cfg" if contains(name, b"clang") => Some(TextFormat::Flags),
            b"json" if self.is_below(&MANIFESTS) => Some(TextFormat::Json),
            b"icd" if dir == Some(b"vendors") => Some(TextFormat::Vendor),
            b"service" if self.is_below(&["systemd"]) => Some(TextFormat::Unit),
            b"desktop" if self.is_below(&["applications"]) => Some(TextFormat::Desktop),
            b"la" => Some(TextFormat::Libtool),
            _ => None,
        }
    }

    fn is_below(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.file.iter().any(|part| part == *name))
    }

    /// True if a path has no variables or patterns, belongs to the package of the text file, and
    /// does not exist.
    fn is_missing(&self, path: &Path) -> bool {
        let is_plain = !path.as_os_str().as_bytes().iter().any(|b| b"$`*?%@{".contains(b));
        is_plain && self.is_absent(path)
    }

    /// True if a path belongs to the package of the text file and does not exist. False for a path
    /// in a directory that a running system fills (`/run`, `/var`), unless the prefix of the text
    /// file is there too.
    fn is_absent(&self, path: &Path) -> bool {
        let own = self.prefixes.locate(self.file).prefix;
        let in_store = |path: &Path| path.ancestors().any(is_store);
        // The items that a store item names are in the same store.
        let is_own = own
            .as_deref()
            .is_some_and(|own| path.starts_with(own) || in_store(own) && in_store(path));
        let volatile = ["/run", "/var", "/tmp", "/etc", "/dev", "/proc", "/sys", "/usr/local"];
        let is_volatile = |dir: &str| {
            path.starts_with(dir) && !own.as_deref().is_some_and(|own| own.starts_with(dir))
        };
        is_own
            && path.is_absolute()
            && !volatile.iter().any(|dir| is_volatile(dir))
            && matches!(self.tree.kind(path), Err(Errno::NOENT | Errno::NOTDIR))
    }

    fn add(&mut self, what: &'static str, path: PathBuf, kind: TextPathKind) {
        let (file, line) = (self.file.to_path_buf(), self.line);
        self.out.push(TextPath { file, line, what, path, kind });
    }

    fn judge(&mut self, what: &'static str, path: &[u8]) {
        let path = Path::new(OsStr::from_bytes(path));
        if self.is_missing(path) {
            let other = resource_dir(path).and_then(|dir| self.other_resource(&dir));
            let kind = other.map_or(TextPathKind::Missing, TextPathKind::ResourceDir);
            self.add(what, path.to_path_buf(), kind);
        }
    }

    /// The first other resource directory of clang beside `dir` that has the same major version,
    /// such as `18` for `18.0.0`. `None` if there is none.
    fn other_resource(&self, dir: &Path) -> Option<PathBuf> {
        let above = dir.parent()?;
        let version = dir.file_name()?.as_bytes();
        let major: Vec<u8> = version.iter().copied().take_while(u8::is_ascii_digit).collect();
        let mut found = Vec::new();
        let listed = self.tree.list(above, &mut |name, _| {
            let digits = name.as_bytes().iter().take_while(|b| b.is_ascii_digit()).count();
            if name.as_bytes()[..digits] == *major && name.as_bytes() != version {
                found.push(above.join(name));
            }
        });
        found.sort();
        listed.ok().and_then(|()| found.into_iter().next())
    }

    /// Checks a line of flags, from a file of a compiler wrapper or from a configuration file of
    /// clang.
    fn flags(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.starts_with(b"#") {
            return;
        }
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            let joined = ["-resource-dir=", "--sysroot=", "--gcc-toolchain=", "-B", "-L", "-I"];
            let joined = joined.iter().find_map(|flag| word.strip_prefix(flag.as_bytes()));
            match word {
                b"-isystem" | b"-idirafter" | b"-cxx-isystem" | b"-iquote" | b"-resource-dir"
                | b"-B" | b"-L" | b"-I" => {
                    let path = words.next().unwrap_or_default();
                    self.judge("flag for", path);
                }
                _ if self.bitcode(word) => {}
                [b'-', b'l', rest @ ..] if !rest.is_empty() => {
                    let path = PathBuf::from(OsStr::from_bytes(word));
                    self.add("adds", path, TextPathKind::Injected);
                }
                _ => {
                    if let Some(path) = joined.filter(|path| path.starts_with(b"/")) {
                        self.judge("flag for", path);
                    }
                }
            }
        }
    }

    /// Checks the directory of device libraries in `--rocm-device-lib-path=DIR` or
    /// `--hip-device-lib-path=DIR`. True if `word` is one of these flags.
    fn bitcode(&mut self, word: &[u8]) -> bool {
        let flags = ["--rocm-device-lib-path=", "--hip-device-lib-path="];
        let Some(dir) = flags.iter().find_map(|flag| word.strip_prefix(flag.as_bytes())) else {
            return false;
        };
        let dir = Path::new(OsStr::from_bytes(dir));
        let is_there = self.tree.kind(&dir.join("ocml.bc")) == Ok(EntryType::File);
        let is_dir = self.tree.kind(dir) == Ok(EntryType::Directory);
        if !is_there && (is_dir || self.is_missing(dir)) && dir.is_absolute() {
            self.add("device libraries in", dir.to_path_buf(), TextPathKind::Bitcode);
        }
        true
    }

    /// Checks a line of a script: the interpreter, the program that a wrapper script starts with
    /// `exec`, and directories of device libraries.
    fn script(&mut self, line: &[u8]) {
        if self.line == 1 {
            let line = line.strip_prefix(b"#!").unwrap_or(line).trim_ascii();
            let interpreter = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
            return self.judge("#!", interpreter);
        }
        if line.starts_with(b"exec ") {
            let mut words = line.split(u8::is_ascii_whitespace).skip(1).filter(|w| !w.is_empty());
            let mut first = words.next().unwrap_or_default();
            if first == b"-a" {
                words.next();
                first = words.next().unwrap_or_default();
            }
            let inside = first.strip_prefix(b"\"").and_then(|word| word.strip_suffix(b"\""));
            let program = inside.unwrap_or(first);
            self.judge("exec", program);
            self.rocm_compiler(program);
        }
        for word in line.split(|b| b.is_ascii_whitespace() || b"\"'".contains(b)) {
            if !line.trim_ascii().starts_with(b"#") {
                self.bitcode(word);
            }
        }
    }

    /// Checks a compiler of ROCm that a script starts by its name, or by a path that begins with a
    /// variable. If one of ROCm's program directories in the prefix has `clang`, one of these
    /// directories must have the compiler.
    fn rocm_compiler(&mut self, program: &[u8]) {
        let (above, name) = match memchr::memrchr(b'/', program) {
            Some(at) => (&program[..at], &program[at + 1..]),
            None => (&b""[..], program),
        };
        let is_known = ROCM_COMPILERS.iter().any(|known| known.as_bytes() == name);
        let is_below_variable = above.is_empty() || above.starts_with(b"$");
        let Some(prefix) = self.prefixes.locate(self.file).prefix else { return };
        if !is_known || !is_below_variable {
            return;
        }
        let has = |name: &OsStr| {
            ROCM_DIRS.iter().any(|dir| {
                let found = self.tree.kind(&prefix.join(dir).join(name));
                !matches!(found, Err(Errno::NOENT | Errno::NOTDIR))
            })
        };
        let name = OsStr::from_bytes(name);
        if has(OsStr::new("clang")) && !has(name) {
            let dir = above.iter().position(|b| *b == b'/').map(|at| &above[at + 1..]);
            let dir = dir.filter(|dir| !dir.contains(&b'$')).unwrap_or(b"bin");
            let path = prefix.join(OsStr::from_bytes(dir)).join(name);
            self.add("exec", path, TextPathKind::Missing);
        }
    }

    /// Checks `"library_path": "…"` in a line of a driver's manifest. A path with a slash is
    /// relative to the manifest's directory; a name without a slash is not checked.
    fn json(&mut self, line: &[u8]) {
        let Some(at) = memchr::memmem::find(line, b"\"library_path\"") else { return };
        let mut quoted = line[at..].split(|b| *b == b'"').skip(3);
        let Some(path) = quoted.next().filter(|path| path.contains(&b'/')) else { return };
        let path = Path::new(OsStr::from_bytes(path));
        let dir = self.file.parent().unwrap_or(self.file);
        let path = without_dots(&dir.join(path));
        self.judge("library_path", path.as_os_str().as_bytes());
    }

    /// Checks the first line of an OpenCL file `vendors/*.icd`: the path of the vendor's library.
    fn vendor(&mut self, line: &[u8]) {
        if self.line == 1 {
            self.judge("OpenCL library", line.trim_ascii());
        }
    }

    fn unit(&mut self, line: &[u8]) {
        let Some(command) = line.strip_prefix(b"ExecStart=") else { return };
        let marks = command.iter().take_while(|b| b"@:+!|-".contains(b)).count();
        // systemd ignores the failure of a command with the mark `-`.
        if !command[..marks].contains(&b'-') {
            let program =
                command[marks..].split(u8::is_ascii_whitespace).next().unwrap_or_default();
            self.judge("ExecStart", program);
        }
    }

    fn desktop(&mut self, line: &[u8]) {
        let Some(command) = line.strip_prefix(b"Exec=") else { return };
        let program = command.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        self.judge("Exec", program);
    }

    /// Checks a line of `ld.so.conf`: a directory, or files to include. Patterns are not
    /// checked, because a pattern may match no file.
    fn ld_conf(&mut self, line: &[u8]) {
        match ld_so_conf::read(line) {
            Some(Line::Directory(dir)) => {
                let path = Path::new(OsStr::from_bytes(dir));
                // Older releases read `DIRECTORY=TYPE`.
                if !dir.contains(&b'=') && !is_system_dir(path) && self.is_absent(path) {
                    self.add("library directory", path.to_path_buf(), TextPathKind::Missing);
                }
            }
            Some(Line::Include(patterns)) => {
                for pattern in patterns.iter().filter(|one| !one.contains(&b'[')) {
                    self.judge("include", pattern);
                }
            }
            None => {}
        }
    }

    /// Checks a line of a `.pth` file: a directory or archive for `sys.path` (`addpackage` in
    /// Python's `site.py`).
    fn python(&mut self, line: &[u8]) {
        let is_code = line.starts_with(b"import ") || line.starts_with(b"import\t");
        // Releases of Python differ in the treatment of a byte order mark.
        let is_skipped = line.starts_with(b"#") || line.starts_with(b"\xef\xbb\xbf");
        let line = line.trim_ascii_end();
        let Some(dir) = self.file.parent().filter(|_| !is_code && !is_skipped) else { return };
        let path = without_dots(&dir.join(OsStr::from_bytes(line)));
        if !line.is_empty() && self.is_absent(&path) {
            self.add("entry of sys.path", path, TextPathKind::Missing);
        }
    }

    /// Checks paths and libraries in a specs file of GCC, outside of conditions.
    fn specs(&mut self, text: &[u8], is_main: bool) {
        let specs = gcc_specs::parse(text, is_main);
        for include in &specs.includes {
            self.line = include.line;
            self.judge("%include", include.text);
        }
        for SpecsName { line, text, kind } in specs::named(&specs) {
            self.line = line;
            match kind {
                SpecsNameKind::File => self.judge("path", text),
                SpecsNameKind::Flag | SpecsNameKind::LinkFlag(_) => self.judge("flag for", text),
                SpecsNameKind::Library => {}
            }
            let flag = match kind {
                SpecsNameKind::Library if is_for_linux(self.file) => "",
                SpecsNameKind::LinkFlag("-rpath") if self.is_foreign(text) => "-rpath=",
                SpecsNameKind::LinkFlag(flag) if self.is_foreign(text) => flag,
                _ => continue,
            };
            if is_main {
                let path = PathBuf::from(OsStr::from_bytes(&[flag.as_bytes(), text].concat()));
                self.add("adds", path, TextPathKind::Injected);
            }
        }
    }

    /// True for an absolute directory that belongs to neither the system, the compiler's prefix,
    /// nor the store of that prefix.
    fn is_foreign(&self, dir: &[u8]) -> bool {
        let dir = Path::new(OsStr::from_bytes(dir));
        let own = self.prefixes.locate(self.file).prefix;
        let in_store = |path: &Path| path.ancestors().any(is_store);
        let is_own = |own: &Path| dir.starts_with(own) || in_store(own) && in_store(dir);
        dir.is_absolute() && !is_system_dir(dir) && own.is_some_and(|own| !is_own(&own))
    }

    fn libtool(&mut self, line: &[u8]) {
        let Some(list) = line.strip_prefix(b"dependency_libs='") else { return };
        for word in list.split(|b| b.is_ascii_whitespace() || *b == b'\'') {
            if word.ends_with(b".la") && word.starts_with(b"/") {
                self.judge("dependency_libs", word);
            }
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// The directory `…/lib/clang/VERSION` in a path; `None` if the path has none.
fn resource_dir(path: &Path) -> Option<PathBuf> {
    let is_it = |dir: &&Path| {
        let above = dir.parent().filter(|above| above.ends_with("lib/clang"));
        let version = dir.file_name().map(OsStr::as_bytes).unwrap_or_default();
        above.is_some() && version.first().is_some_and(u8::is_ascii_digit)
    };
    path.ancestors().find(is_it).map(Path::to_path_buf)
}
