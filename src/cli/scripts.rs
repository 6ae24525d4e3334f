//! Replaces linker scripts among the inputs by the files that they name, and finds the files of
//! `-l`. `expand` skips the ELF files that scripts name: without a link order, only archives are
//! inputs. `cli::archive` and `cli::fix` call this module.

use crate::cover::Linker;
use crate::format::archive::places;
use crate::format::elf::{Header, Target};
use crate::format::script::{
    MOST, OutputFormat, ScriptCommand, ScriptInput, ScriptName, inputs, output_format,
};
use crate::sniff::{Class, Classes, sniff};
use crate::text::{show, show_path};
use crate::tree::walk::describe;
use crate::tree::{Handle, Opened, Tree};
use anyhow::{Context as _, Result, bail};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Maximum nesting depth of scripts. Deeper scripts are assumed to form a cycle.
const DEEPEST: usize = 8;

/// Number of bytes that an error shows of a file of unknown kind.
const SHOWN: usize = 24;

/// Where the libraries of `-l` are searched for: the directories of `-L`; if given, the target
/// without which a library is skipped; and true if only archives count.
pub(super) type LibrarySearch<'a> = (&'a [PathBuf], Option<Target>, bool);

/// Link inputs in place of scripts, and the scripts that were read for them.
#[derive(Default)]
pub(super) struct ExpandedScripts {
    pub(super) files: Vec<PathBuf>,
    pub(super) scripts: Vec<PathBuf>,
    /// The lists of GROUP, as ranges of `files` that do not overlap.
    groups: Vec<Range<usize>>,
    /// The commands about symbols, each with the index in `files` of the file after it.
    commands: Vec<(usize, ScriptCommand)>,
    /// The files of AS_NEEDED, by index in `files`.
    as_needed: Vec<usize>,
    /// The directories of SEARCH_DIR, which are searched after those of `-L`.
    pub(super) dirs: Vec<PathBuf>,
}

impl ExpandedScripts {
    /// All files that were read, or that the run will read.
    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().chain(&self.scripts).map(PathBuf::as_path)
    }

    /// True if a list of GROUP begins with the file at `at`.
    pub(super) fn begins_group(&self, at: usize) -> bool {
        self.groups.iter().any(|group| group.start == at)
    }

    /// True if a list of GROUP ends with the file at `at`.
    pub(super) fn ends_group(&self, at: usize) -> bool {
        self.groups.iter().any(|group| group.end == at + 1)
    }

    /// True if AS_NEEDED names the file at `at`.
    pub(super) fn is_as_needed(&self, at: usize) -> bool {
        self.as_needed.contains(&at)
    }

    /// The commands between the file before `at` and the file at `at`. After the last file, `at` is
    /// the number of files.
    pub(super) fn commands_before(&self, at: usize) -> impl Iterator<Item = &ScriptCommand> {
        self.commands.iter().filter(move |(place, _)| *place == at).map(|(_, command)| command)
    }

    /// Ends the list of GROUP whose first file is at `start`. Nested lists become part of it.
    fn end_group(&mut self, start: usize) {
        self.groups.retain(|group| group.end <= start);
        if start < self.files.len() {
            self.groups.push(start..self.files.len());
        }
    }
}

/// `paths`, with each linker script replaced by the archives that it names. Files and `-lNAME` in a
/// script are searched for in the directory of the script, then in `dirs`.
pub(super) fn expand(
    tree: &dyn Tree,
    paths: &[PathBuf],
    dirs: &[PathBuf],
) -> Result<ExpandedScripts> {
    let mut out = ExpandedScripts::default();
    let place =
        ScriptSearch { tree, dirs, rules: SearchRules::Archives, target: None, is_static: false };
    paths.iter().try_for_each(|path| place.expand(path, 0, &mut out))?;
    Ok(out)
}

/// The link inputs for `path`: the files that it names if it is a linker script, else `path`
/// itself. Objects and shared objects are included.
pub(super) fn inputs_of(tree: &dyn Tree, path: &Path, dirs: &[PathBuf]) -> Result<ExpandedScripts> {
    let mut out = ExpandedScripts::default();
    let place =
        ScriptSearch { tree, dirs, rules: SearchRules::AllFiles, target: None, is_static: false };
    place.expand(path, 0, &mut out)?;
    Ok(out)
}

/// Like [`inputs_of`], but names in scripts are searched for by the rules of `linker`.
pub(super) fn linked(
    tree: &dyn Tree,
    path: &Path,
    linker: Linker,
    (dirs, target, is_static): LibrarySearch<'_>,
) -> Result<ExpandedScripts> {
    let mut out = ExpandedScripts::default();
    let place = ScriptSearch { tree, dirs, rules: SearchRules::Link(linker), target, is_static };
    place.expand(path, 0, &mut out)?;
    Ok(out)
}

/// The file of `-l NAME`: `libNAME.so` or `libNAME.a` in the first directory that has one of them.
/// In `-l :FILE`, FILE is the whole file name.
pub(super) fn library(tree: &dyn Tree, name: &OsStr, search: LibrarySearch<'_>) -> Result<PathBuf> {
    let name = name.as_bytes();
    library_in(tree, name, search).with_context(|| {
        let why = match library_in(tree, name, (search.0, None, search.2)) {
            Some(path) => format!("{} is for another class or machine", show_path(&path)),
            None => "not found".to_owned(),
        };
        let name = show(name);
        format!("-l {name}: {why}\nhelp: add its directory with -L DIR, or name the file")
    })
}

/// The target of the ELF file at `path`, or of the first ELF file in the archive at `path`. `None`
/// for other files and for thin archives.
pub(super) fn target_of(tree: &dyn Tree, path: &Path) -> Option<Target> {
    /// Size of the longest ELF header, in bytes.
    const HEADER: usize = 64;
    let Ok(Opened::File(file)) = tree.open(path) else { return None };
    let head = |offset: u64| file.read_new(HEADER, offset).ok();
    let of_elf = |head: &[u8]| {
        let header = Header::parse(head).filter(|_| sniff(head) == Class::Elf);
        header.map(|header| header.target())
    };
    let start = head(0)?;
    match sniff(&start) {
        Class::Archive => {
            let members = places(&file).ok()?;
            members.list.iter().find_map(|member| of_elf(&head(member.offset)?))
        }
        _ => of_elf(&start),
    }
}

/// The format of the output that the linker script at `path` names.
fn format_of(tree: &dyn Tree, path: &Path) -> Option<OutputFormat> {
    let (_, text) = open(tree, path).ok()?;
    output_format(&text)
}

fn library_in(
    tree: &dyn Tree,
    name: &[u8],
    (dirs, target, is_static): LibrarySearch<'_>,
) -> Option<PathBuf> {
    let files = match name.strip_prefix(b":") {
        Some(file) => vec![file.to_vec()],
        None if is_static => vec![of_library(name, ".a")],
        None => vec![of_library(name, ".so"), of_library(name, ".a")],
    };
    let mut paths =
        dirs.iter().flat_map(|dir| files.iter().map(move |file| dir.join(OsStr::from_bytes(file))));
    let links = |path: &Path, target: Target| match target_of(tree, path) {
        Some(other) => target.links_with(other),
        None => format_of(tree, path).is_none_or(|format| format.fits(target)),
    };
    paths.find(|path| is_file(tree, path) && target.is_none_or(|target| links(path, target)))
}

/// The name of a file of the library `name`.
fn of_library(name: &[u8], end: &str) -> Vec<u8> {
    [b"lib", name, end.as_bytes()].concat()
}

fn is_file(tree: &dyn Tree, path: &Path) -> bool {
    matches!(tree.kind(path), Ok(crate::tree::EntryType::File))
}

/// The files that the linker scripts among `files` name, sorted. A script with an error is skipped.
pub(super) fn named<'p>(
    tree: &dyn Tree,
    files: impl Iterator<Item = &'p Path>,
    dirs: &[PathBuf],
) -> ExpandedScripts {
    let mut out = ExpandedScripts::default();
    for inputs in files.filter_map(|file| inputs_of(tree, file, dirs).ok()) {
        out.files.extend(inputs.files);
        out.scripts.extend(inputs.scripts);
    }
    out.files.sort_unstable();
    out.files.dedup();
    out
}

/// The directories in which names in scripts are searched for, and the files that become inputs.
#[derive(Clone, Copy)]
struct ScriptSearch<'a> {
    tree: &'a dyn Tree,
    dirs: &'a [PathBuf],
    rules: SearchRules,
    /// If given, libraries for another ELF class or machine are skipped.
    target: Option<Target>,
    /// True if only archives are libraries.
    is_static: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchRules {
    /// Archives are searched for, and only they are inputs.
    Archives,
    /// Archives are searched for. Objects and shared objects are inputs too.
    AllFiles,
    /// The rules of a linker. All files are inputs.
    Link(Linker),
}

/// The directory of SEARCH_DIR. A leading `=` stands for the sysroot, which is the root of the tree.
fn search_dir(input: &ScriptInput) -> Option<PathBuf> {
    let ScriptInput::SearchDir(dir) = input else { return None };
    let dir = dir.strip_prefix(b"=").unwrap_or(dir);
    Some(Path::new(OsStr::from_bytes(dir)).to_path_buf())
}

/// Opens the file at `path` and reads its first `MOST` bytes. The error says why the path is not an
/// archive or cannot be read.
fn open(tree: &dyn Tree, path: &Path) -> Result<(Handle, Vec<u8>)> {
    let shown = show_path(path);
    let handle = match tree.open(path) {
        Ok(Opened::File(handle)) => handle,
        Ok(Opened::Directory) => {
            bail!(
                "{shown}: a directory, not a static archive\nhelp: to search a directory for archives, use --from {shown}"
            )
        }
        Ok(Opened::Special(special)) => {
            bail!("{shown}: {}, not a static archive", special.describe())
        }
        Err(errno) => bail!("{shown}: {}", describe(errno)),
    };
    let len = usize::try_from(handle.stat().len.min(MOST)).unwrap_or(0);
    let text = handle.read_new(len, 0).with_context(|| format!("cannot read {shown}"))?;
    Ok((handle, text))
}

/// The error for a file that is neither an archive nor a script.
fn refuse(path: &Path, text: &[u8]) -> Result<()> {
    let (shown, begin) = (show_path(path), show(&text[..text.len().min(SHOWN)]));
    match text {
        [] => bail!("{shown}: empty file, not a static archive"),
        _ => bail!("{shown}: not a static archive: it begins with `{begin}`"),
    }
}

impl ScriptSearch<'_> {
    fn expand(self, path: &Path, depth: usize, out: &mut ExpandedScripts) -> Result<()> {
        let (handle, text) = open(self.tree, path)?;
        let classes = Classes::LINKAGE.with(Class::Bitcode);
        if classes.class_of(path, &text) != Class::Other {
            out.files.push(path.to_path_buf());
            return Ok(());
        }
        let script = if handle.stat().len <= MOST { inputs(&text) } else { None };
        let Some(script) = script else { return refuse(path, &text) };
        if depth == DEEPEST {
            bail!("{}: linker scripts include each other in a cycle", show_path(path));
        }
        out.scripts.push(path.to_path_buf());
        let (mut group, first) = (0, out.files.len());
        self.check_keywords(path, &script)?;
        // GNU ld reads a whole script before it searches for the files in it.
        let is_gnu = self.rules == SearchRules::Link(Linker::Gnu);
        let dirs = script.iter().filter(|_| is_gnu).filter_map(search_dir);
        out.dirs.extend(dirs);
        for input in &script {
            match input {
                ScriptInput::SearchDir(_) => {
                    out.dirs.extend(search_dir(input).filter(|_| !is_gnu));
                }
                ScriptInput::Include(name) => {
                    let found = self.find_included(name, &out.dirs);
                    let Some(found) = found else { return self.refuse_name(path, &show(name)) };
                    self.expand(&found, depth + 1, out)?;
                }
                ScriptInput::Command(command) => {
                    let SearchRules::Link(_) = self.rules else { continue };
                    // Linkers read a whole script before they open its inputs, so EXTERN precedes
                    // them.
                    let is_extern = matches!(command, ScriptCommand::Extern(_));
                    let place = if is_extern { first } else { out.files.len() };
                    out.commands.push((place, command.clone()));
                }
                ScriptInput::StartGroup => group = out.files.len(),
                ScriptInput::EndGroup => out.end_group(group),
                ScriptInput::Named(name) => self.expand_name(path, name, depth, out)?,
                ScriptInput::AsNeeded(name) => {
                    let first = out.files.len();
                    self.expand_name(path, name, depth, out)?;
                    out.as_needed.extend(first..out.files.len());
                }
            }
        }
        Ok(())
    }

    /// Expands the file that `script` names.
    fn expand_name(
        self,
        script: &Path,
        name: &ScriptName,
        depth: usize,
        out: &mut ExpandedScripts,
    ) -> Result<()> {
        let Some(found) = self.find(script, name, &out.dirs) else {
            let name = match name {
                ScriptName::File(name) => show(name),
                ScriptName::Library(name) => format!("-l{}", show(name)),
            };
            return self.refuse_name(script, &name);
        };
        let is_library =
            || open(self.tree, &found).is_ok_and(|(_, text)| sniff(&text) == Class::Elf);
        if self.rules != SearchRules::Archives || !is_library() {
            self.expand(&found, depth + 1, out)?;
        }
        Ok(())
    }

    /// The error for a name in `script` that stands for no file.
    fn refuse_name(self, script: &Path, name: &str) -> Result<()> {
        let option = if matches!(self.rules, SearchRules::Link(_)) { "-L" } else { "--from" };
        bail!(
            "{}: linker script names {name}: not found\nhelp: add its directory: {option} DIR",
            show_path(script)
        );
    }

    /// Fails if the linker does not know a command of the script at `path`.
    fn check_keywords(self, path: &Path, script: &[ScriptInput]) -> Result<()> {
        if self.rules != SearchRules::Link(Linker::Mold) {
            return Ok(());
        }
        let keyword = |input: &ScriptInput| match input {
            ScriptInput::Command(command) => command.keyword(),
            ScriptInput::Include(_) => "INCLUDE",
            ScriptInput::SearchDir(_) => "SEARCH_DIR",
            _ => "",
        };
        match script.iter().map(keyword).find(|keyword| !keyword.is_empty()) {
            Some(keyword) => bail!("{}: mold does not know {keyword} in a script", show_path(path)),
            None => Ok(()),
        }
    }

    /// The script that INCLUDE names. Linkers search for it in the current directory and in those of
    /// `-L`. `added` are the directories of SEARCH_DIR.
    fn find_included(self, name: &[u8], added: &[PathBuf]) -> Option<PathBuf> {
        let dirs = self.dirs.iter().chain(added).map(PathBuf::as_path);
        let mut paths =
            std::iter::once(Path::new("")).chain(dirs).map(|dir| dir.join(OsStr::from_bytes(name)));
        paths.find(|path| is_file(self.tree, path))
    }

    /// The file that a name in `script` stands for. Linkers search for a library only in the
    /// directories of `-L` and SEARCH_DIR; `added` are the latter. They search for a file also in the directory of the script and in the
    /// current directory; mold 1.10 leaves out the directory of the script (`ldfile_open_file` of
    /// GNU ld, `ScriptParser::addFile` of lld).
    fn find(self, script: &Path, name: &ScriptName, added: &[PathBuf]) -> Option<PathBuf> {
        let beside = script.parent().unwrap_or(Path::new(""));
        let is_file = |path: &PathBuf| is_file(self.tree, path);
        let all = [self.dirs, added].concat();
        let dirs = all.iter().map(PathBuf::as_path);
        match (name, self.rules) {
            (ScriptName::Library(name), SearchRules::Link(_)) => {
                library_in(self.tree, name, (&all, self.target, self.is_static))
            }
            (ScriptName::Library(name), _) => {
                let file = |dir: &Path, end| dir.join(OsStr::from_bytes(&of_library(name, end)));
                let places = std::iter::once(beside).chain(dirs);
                places.flat_map(|dir| [file(dir, ".a"), file(dir, ".so")]).find(is_file)
            }
            (ScriptName::File(name), rules) => {
                // A leading `=` stands for the sysroot, which is the root of the tree.
                let name = name.strip_prefix(b"=").unwrap_or(name);
                let path = Path::new(OsStr::from_bytes(name));
                let beside = Some(beside).filter(|_| rules != SearchRules::Link(Linker::Mold));
                let is_link = matches!(rules, SearchRules::Link(_));
                let here = is_link.then_some(Path::new(""));
                beside.into_iter().chain(here).chain(dirs).map(|dir| dir.join(path)).find(is_file)
            }
        }
    }
}
