//! Builds the files of a random graph with `as` and `ld`, called directly because a compiler driver
//! costs more than both. `cc` is run once for the path of libc.
//!
//! Every library is linked twice: as a stub with only its definitions, and as the file itself. The
//! others link against the stub, so order and cycles do not matter.

use std::path::{Path, PathBuf};

use super::elf_file::{self, ElfFile};
use super::emit;
use super::model::{Arch, Extra, Fate, Graph, LIBC, Need, Object, Patch, ROOT, Visibility};
use crate::support::{clean, linkaudit};

/// Facts that all graphs of a run share.
pub struct Tools {
    pub libc: PathBuf,
    /// The 32-bit libc, if 32-bit files can be built and loaded.
    pub libc32: Option<PathBuf>,
    /// True if linkaudit has options for `LD_LIBRARY_PATH` and `LD_PRELOAD`.
    pub environment: bool,
    other_class: PathBuf,
    programs: [PathBuf; 2],
}

impl Tools {
    pub fn new(dir: &Path) -> Self {
        let libc = asked(&["-print-file-name=libc.so.6"]).expect("cc knows where libc.so.6 is");
        let libc32 = asked(&["-m32", "-print-file-name=libc.so.6"])
            .filter(|narrow| *narrow != libc && Path::new("/lib/ld-linux.so.2").exists());
        let source = dir.join("tool.s");
        std::fs::write(&source, ".text\n.globl _start\n_start: ret\n").expect("a source");
        let make = |name: &str, class: &str, emulation: &str, options: &[&str]| {
            let object = dir.join(format!("{name}.o"));
            run("as", &[class, "-o", text(&object), text(&source)], dir);
            let out = dir.join(name);
            let mut words = vec!["-m", emulation, "-o", text(&out), text(&object)];
            words.extend(options);
            run("ld", &words, dir);
            out
        };
        let dynamic = ["-dynamic-linker", "/lib64/ld-linux-x86-64.so.2"];
        let pie = make("pie", "--64", "elf_x86_64", &[&["-pie"], &dynamic[..]].concat());
        let stub = make("any.so", "--64", "elf_x86_64", &["-shared"]);
        let fixed = [&["--no-as-needed", text(&stub)], &dynamic[..]].concat();
        let fixed = make("fixed", "--64", "elf_x86_64", &fixed);
        let other_class = make("other.so", "--32", "elf_i386", &["-shared"]);
        let help = linkaudit().arg("--help").output().expect("linkaudit runs").stdout;
        let help = String::from_utf8_lossy(&help);
        let environment = help.contains("--ld-library-path") && help.contains("--ld-preload");
        Self { libc, libc32, environment, other_class, programs: [fixed, pie] }
    }
}

/// The file that `cc` prints, if it exists.
fn asked(words: &[&str]) -> Option<PathBuf> {
    let output = clean("cc").args(words).output().expect("a C compiler named cc");
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.canonicalize().ok()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn run(program: &str, words: &[&str], cwd: &Path) {
    let output = clean(program).args(words).current_dir(cwd).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "in {}: {program} {}: {}",
        cwd.display(),
        words.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Builds the graph below `root`, an empty directory.
pub fn build(tools: &Tools, graph: &Graph, root: &Path) {
    let build = Build { tools, graph, root, work: root.join(".work") };
    for dir in graph.dirs.iter().map(String::as_str).chain([".work", "empty"]) {
        std::fs::create_dir_all(root.join(dir)).expect("a directory of the graph");
    }
    let mut linked: Vec<String> = Vec::new();
    for object in &graph.objects {
        for need in &object.needs {
            let name = match need {
                Need::Library { alias: Some(name), .. } | Need::Gone(name) => name,
                Need::Library { index, alias: None } => &graph.objects[*index].wanted,
                Need::Libc => continue,
            };
            let stub = build.stub_name(need);
            if !linked.contains(&stub) {
                build.stub(need, &stub, name);
                linked.push(stub);
            }
        }
    }
    for (index, object) in graph.objects.iter().enumerate() {
        build.object(index, object);
    }
    let (last, first): (Vec<_>, Vec<_>) =
        graph.extras.iter().partition(|extra| matches!(extra, Extra::Move { .. }));
    for extra in first.into_iter().chain(last) {
        build.extra(extra);
    }
    for object in &graph.objects {
        build.fate(object);
    }
}

struct Build<'a> {
    tools: &'a Tools,
    graph: &'a Graph,
    root: &'a Path,
    work: PathBuf,
}

impl Build<'_> {
    fn expand(&self, what: &str) -> String {
        let libc = self.libc().parent().expect("a file of a directory");
        what.replace(ROOT, text(self.root)).replace(LIBC, text(libc))
    }

    fn emulation(&self) -> (&'static str, &'static str) {
        match self.graph.arch {
            Arch::Amd64 => ("--64", "elf_x86_64"),
            Arch::I386 => ("--32", "elf_i386"),
        }
    }

    fn libc(&self) -> &Path {
        match (self.graph.arch, &self.tools.libc32) {
            (Arch::I386, Some(libc)) => libc,
            _ => &self.tools.libc,
        }
    }

    fn assemble(&self, name: &str, source: &str) -> PathBuf {
        let file = self.work.join(format!("{name}.s"));
        std::fs::write(&file, source).expect("a source");
        let object = self.work.join(format!("{name}.o"));
        run("as", &[self.emulation().0, "-o", text(&object), text(&file)], &self.work);
        object
    }

    fn script(&self, name: &str, script: Option<String>) -> Option<String> {
        let path = self.work.join(format!("{name}.ver"));
        script.map(|script| {
            std::fs::write(&path, script).expect("a version script");
            format!("--version-script={}", text(&path))
        })
    }

    fn stub_name(&self, need: &Need) -> String {
        match need {
            Need::Library { index, alias: None } => format!("stub{index}"),
            Need::Library { index, alias: Some(_) } => format!("alias{index}"),
            Need::Gone(name) => format!("stub-{name}"),
            Need::Libc => text(self.libc()).to_owned(),
        }
    }

    fn stub(&self, need: &Need, stub: &str, name: &str) {
        let mut words = vec!["-m".into(), self.emulation().1.into(), "-shared".to_owned()];
        words.push(format!("-soname={}", self.expand(name)));
        let object = match need {
            Need::Library { index, .. } => {
                let library = &self.graph.objects[*index];
                let script = emit::version_script(&library.defs, &library.versions);
                words.extend(self.script(stub, script));
                self.assemble(stub, &emit::stub(library))
            }
            Need::Gone(_) | Need::Libc => self.assemble(stub, ".text\n ret\n"),
        };
        words.extend(["-o".into(), format!("{stub}.so"), text(&object).to_owned()]);
        run("ld", &words.iter().map(String::as_str).collect::<Vec<_>>(), &self.work);
    }

    fn object(&self, index: usize, object: &Object) {
        let name = format!("object{index}");
        let source = self.assemble(&name, &emit::whole(self.graph.arch, object));
        let mut words = vec!["-m".into(), self.emulation().1.to_owned()];
        match &object.program {
            None => words.push("-shared".into()),
            Some(program) => {
                words.push(if program.pie { "-pie" } else { "-no-pie" }.into());
                words.extend(["-dynamic-linker".into(), program.interpreter.clone()]);
                words.push("--unresolved-symbols=ignore-all".into());
                words.extend(program.export_all.then(|| "-E".to_owned()));
            }
        }
        let out = self.root.join(object.path());
        words.extend(["-o".into(), text(&out).into(), text(&source).to_owned()]);
        words.push("--no-as-needed".into());
        for need in &object.needs {
            let stub = self.stub_name(need);
            words.push(if matches!(need, Need::Libc) { stub } else { format!("{stub}.so") });
        }
        if let Some(soname) = &object.soname {
            words.push(format!("-soname={}", self.expand(soname)));
        }
        // The linker writes one kind of path; for both, another tag is renamed afterwards.
        words.push(
            if object.runpath.is_some() { "--enable-new-dtags" } else { "--disable-new-dtags" }
                .into(),
        );
        if let Some(path) = object.runpath.as_ref().or(object.rpath.as_ref()) {
            words.push(format!("-rpath={}", self.expand(path)));
        }
        if let (Some(path), Some(_)) = (&object.rpath, &object.runpath) {
            words.extend(["--depaudit".into(), self.expand(path)]);
        }
        words.extend(object.flags.iter().map(|flag| self.expand(flag)));
        let script = emit::version_script(&object.final_defs, &object.final_versions);
        words.extend(self.script(&name, script));
        run("ld", &words.iter().map(String::as_str).collect::<Vec<_>>(), &self.work);
        patch(&out, object);
    }

    fn extra(&self, extra: &Extra) {
        let (Extra::Symlink { path, .. }
        | Extra::Hardlink { path, .. }
        | Extra::Copy { path, .. }
        | Extra::Move { path, .. }
        | Extra::OtherClass { path }
        | Extra::OtherMachine { path, .. }
        | Extra::Text { path }
        | Extra::Empty { path }
        | Extra::Directory { path }
        | Extra::Program { path, .. }) = extra;
        let path = self.root.join(path);
        if path.symlink_metadata().is_ok() {
            return;
        }
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
        let at = |target: &str| self.root.join(target);
        let copy = |from: &Path| std::fs::copy(from, &path).map(|_| ());
        let done = match extra {
            Extra::Symlink { target, .. } => std::os::unix::fs::symlink(self.expand(target), &path),
            Extra::Hardlink { target, .. } => std::fs::hard_link(at(target), &path),
            Extra::Copy { target, .. } => copy(&at(target)),
            Extra::Move { target, .. } => std::fs::rename(at(target), &path),
            Extra::OtherClass { .. } => copy(&self.tools.other_class),
            Extra::OtherMachine { target, .. } => {
                let mut bytes = std::fs::read(at(target)).expect("an object of the graph");
                bytes[18] = 183; // EM_AARCH64
                std::fs::write(&path, bytes)
            }
            Extra::Text { .. } => std::fs::write(&path, "INPUT ( libnothing.so ) \n".repeat(9)),
            Extra::Empty { .. } => std::fs::write(&path, ""),
            Extra::Directory { .. } => std::fs::create_dir(&path),
            Extra::Program { pie, .. } => copy(&self.tools.programs[usize::from(*pie)]),
        };
        done.unwrap_or_else(|error| panic!("{extra:?}: {error}"));
    }

    fn fate(&self, object: &Object) {
        let path = self.root.join(object.path());
        let done = match object.fate {
            Fate::Present => return,
            _ if !path.exists() => return,
            Fate::Removed => std::fs::remove_file(path),
            Fate::OtherClass => std::fs::copy(&self.tools.other_class, path).map(|_| ()),
            Fate::Text => std::fs::write(path, "not a library at all, but text\n".repeat(9)),
        };
        done.expect("an object of the graph");
    }
}

/// The changes that no linker option makes.
fn patch(path: &Path, object: &Object) {
    let mut elf = ElfFile::new(std::fs::read(path).expect("a linked file")).expect("an ELF file");
    let entries = elf.dynamic();
    let rename = |elf: &mut ElfFile, from: u64, to: u64| {
        for entry in entries.iter().filter(|entry| entry.tag == from) {
            let size = elf.word_size();
            elf.put(entry.at, size, to);
        }
    };
    if object.rpath.is_some() && object.runpath.is_some() {
        rename(&mut elf, elf_file::DT_DEPAUDIT, elf_file::DT_RPATH);
    }
    for name in hidden(object) {
        hide(&mut elf, name);
    }
    libc_version_last(&mut elf);
    for patch in &object.patches {
        match patch {
            Patch::WeakVersions => {
                for (_, at) in elf.needed_versions() {
                    elf.put(at + 4, 2, 2);
                }
            }
            Patch::NoHashTable => {
                rename(&mut elf, elf_file::DT_HASH, elf_file::DT_DEBUG);
                rename(&mut elf, elf_file::DT_GNU_HASH, elf_file::DT_DEBUG);
            }
            Patch::NoSections => {
                let (offset, counts) = if elf.wide() { (40, 60) } else { (32, 48) };
                let size = elf.word_size();
                elf.put(offset, size, 0);
                elf.put(counts, 4, 0);
            }
        }
    }
    std::fs::write(path, elf.bytes).expect("the linked file");
}

/// Gives a version of libc the highest index of the version needs.
///
/// The real loader sizes its version table by the needs of the files that it found. For other
/// needs, it reads beyond the end of the table, so its answers depend on its heap.
fn libc_version_last(elf: &mut ElfFile) {
    let needed = elf.needed_versions();
    let index = |elf: &ElfFile, at: usize| elf.get(at + 6, 2).unwrap_or(0);
    let libc = needed.iter().find(|(file, _)| file.starts_with(b"libc.so.")).map(|(_, at)| *at);
    let last = needed.iter().map(|(_, at)| *at).max_by_key(|at| index(elf, *at));
    let (Some(libc), Some(last), Some(table)) = (libc, last, elf.table(elf_file::DT_VERSYM)) else {
        return;
    };
    let (low, high) = (index(elf, libc), index(elf, last));
    elf.put(libc + 6, 2, high);
    if libc != last {
        elf.put(last + 6, 2, low);
    }
    for at in (0..elf.symbols().len()).map(|symbol| table + 2 * symbol) {
        match elf.get(at, 2) {
            Some(found) if found == low => elf.put(at, 2, high),
            Some(found) if found == high => elf.put(at, 2, low),
            _ => true,
        };
    }
}

fn hidden(object: &Object) -> impl Iterator<Item = &str> {
    let hidden = |def: &&super::model::Def| def.visibility == Visibility::HiddenEntry;
    object.final_defs.iter().filter(hidden).map(|def| def.name.as_str())
}

fn hide(elf: &mut ElfFile, name: &str) {
    for at in elf.symbols() {
        let found = elf.get(at, 4).and_then(|offset| elf.string(offset)) == Some(name.as_bytes());
        let other = at + if elf.wide() { 5 } else { 13 };
        let section = elf.get(at + if elf.wide() { 6 } else { 14 }, 2);
        if found && section != Some(0) {
            elf.put(other, 1, 2);
        }
    }
}
