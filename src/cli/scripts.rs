//! Replaces linker scripts among the inputs by the files that they name, and finds the files of
//! `-l`. `expand` skips the ELF files that scripts name: without a link order, only archives are
//! inputs. `cli::archive` and `cli::fix` call this module.

use crate::cover::{DefsymOption, Linker};
use crate::format::archive::places;
use crate::format::elf::{Header, Target};
use crate::format::script::{
    MOST, OutputFormat, ScriptCommand, ScriptInput, ScriptName, discards, has_insert, included,
    includes_in_braces, inputs, output_format, unknown_format,
};
use crate::format::script_layout::layout_expressions;
use crate::format::script_syntax::{unknown_to_gnu, unknown_to_lld, unknown_to_mold};
use crate::id::FastSet;
use crate::sniff::{Class, Classes, SNIFF_LEN, sniff};
use crate::text::{show, show_path};
use crate::tree::walk::describe;
use crate::tree::{Handle, Opened, Tree};
use anyhow::{Context as _, Result, anyhow, bail};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Maximum nesting depth of scripts. Deeper scripts are assumed to form a cycle.
const DEEPEST: usize = 8;

/// Upper bound for the steps of one walk over scripts. Without a bound, scripts that name each
/// other many times would take forever. One step is a name, [`BLOCK`] bytes of text, or [`DIRS`]
/// directories of SEARCH_DIR that are searched for a name.
const MOST_STEPS: usize = 10_000;

const BLOCK: usize = 256;

const DIRS: usize = 8;

/// The rules of a search for the libraries of `-l`: the directories of `-L`, the target, and a
/// flag that is true if only archives match. A library for another target is skipped. If the
/// target is `None`, libraries for all targets match.
pub(super) type LibrarySearch<'a> = (&'a [PathBuf], Option<Target>, bool);

/// The link inputs that replace scripts, and the scripts that were read for them.
#[derive(Default)]
pub(super) struct ExpandedScripts {
    pub(super) files: Vec<PathBuf>,
    pub(super) scripts: Vec<PathBuf>,
    /// The lists of GROUP, as ranges of `files` that do not overlap.
    groups: Vec<Range<usize>>,
    /// The script commands about symbols, each with the index in `files` of the file after it.
    commands: Vec<(usize, ScriptCommand)>,
    /// True for the files of AS_NEEDED, by index in `files`. Missing values at the end are false.
    as_needed: Vec<bool>,
    /// The directories of SEARCH_DIR, which are searched after the `-L` directories.
    pub(super) dirs: Vec<PathBuf>,
    /// The format in the last OUTPUT_FORMAT of a link of lld: all objects must have this format.
    pub(super) format: Option<OutputFormat>,
    /// The files whose inputs are already in `files`. Without a link order, each file is expanded
    /// once.
    done: FastSet<PathBuf>,
    /// Number of steps of the walk up to now, see [`MOST_STEPS`].
    steps: usize,
}

impl ExpandedScripts {
    /// The paths of all link inputs, then of all scripts that were read.
    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().chain(&self.scripts).map(PathBuf::as_path)
    }

    /// True if a list of GROUP begins with the file at `at`.
    pub(super) fn begins_group(&self, at: usize) -> bool {
        self.groups.binary_search_by_key(&at, |group| group.start).is_ok()
    }

    /// True if a list of GROUP ends with the file at `at`.
    pub(super) fn ends_group(&self, at: usize) -> bool {
        self.groups.binary_search_by_key(&(at + 1), |group| group.end).is_ok()
    }

    /// True if AS_NEEDED names the file at `at`.
    pub(super) fn is_as_needed(&self, at: usize) -> bool {
        self.as_needed.get(at).is_some_and(|is_as_needed| *is_as_needed)
    }

    /// The commands between the file before `at` and the file at `at`. For the commands after the
    /// last file, `at` is the number of files.
    pub(super) fn commands_before(&self, at: usize) -> impl Iterator<Item = &ScriptCommand> {
        let first = self.commands.partition_point(|(place, _)| *place < at);
        let rest = self.commands[first..].iter();
        rest.take_while(move |(place, _)| *place == at).map(|(_, command)| command)
    }

    /// Ends the list of GROUP whose first file is at `start`. Nested lists become part of this
    /// list.
    fn end_group(&mut self, start: usize) {
        while self.groups.pop_if(|group| group.end > start).is_some() {}
        if start < self.files.len() {
            self.groups.push(start..self.files.len());
        }
    }

    /// Adds `steps` to the number of steps. Fails if the sum exceeds [`MOST_STEPS`].
    fn count(&mut self, steps: usize, script: &Path) -> Result<()> {
        self.steps += steps;
        if self.steps > MOST_STEPS {
            bail!("{}: linker scripts name too many files", show_path(script));
        }
        Ok(())
    }
}

/// Replaces each linker script in `paths` by the archives that it names. Files and `-lNAME` in a
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
/// itself. Names in scripts are searched for by the rules of `linker`.
pub(super) fn linked(
    tree: &dyn Tree,
    path: &Path,
    linker: Linker,
    (dirs, target, is_static): LibrarySearch<'_>,
) -> Result<ExpandedScripts> {
    let mut out = ExpandedScripts::default();
    let place = ScriptSearch { tree, dirs, rules: SearchRules::Link(linker), target, is_static };
    place.expand(path, 0, &mut out)?;
    out.commands.sort_by_key(|(place, _)| *place);
    Ok(out)
}

/// The file of `-l NAME`: `libNAME.so` or `libNAME.a` in the first directory that has one of the
/// two. In `-l :FILE`, FILE is the whole file name.
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

/// The OUTPUT_FORMAT of the linker script at `path`; `None` if the script has none or cannot be
/// read.
fn format_of(tree: &dyn Tree, path: &Path) -> Option<OutputFormat> {
    let text = read(&open(tree, path).ok()?, path).ok()?;
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
    paths.find(|path| fits(tree, path, target))
}

/// True if the file at `path` exists and may be linked for `target`. Without a target, all files
/// may.
fn fits(tree: &dyn Tree, path: &Path, target: Option<Target>) -> bool {
    let links = |target: Target| match target_of(tree, path) {
        Some(other) => target.is_linkable(other),
        None => format_of(tree, path).is_none_or(|format| format.fits(target)),
    };
    is_file(tree, path) && target.is_none_or(links)
}

/// The file name of the library `name`, which ends with `end`.
fn of_library(name: &[u8], end: &str) -> Vec<u8> {
    [b"lib", name, end.as_bytes()].concat()
}

fn is_file(tree: &dyn Tree, path: &Path) -> bool {
    matches!(tree.kind(path), Ok(crate::tree::EntryType::File))
}

/// The files that the linker scripts among `files` name, sorted. A script with an error is skipped,
/// and so are all scripts beyond [`MOST_STEPS`].
pub(super) fn named<'p>(
    tree: &dyn Tree,
    files: impl Iterator<Item = &'p Path>,
    dirs: &[PathBuf],
) -> ExpandedScripts {
    let mut out = ExpandedScripts::default();
    let place =
        ScriptSearch { tree, dirs, rules: SearchRules::AllFiles, target: None, is_static: false };
    for file in files {
        let mut inputs = ExpandedScripts { steps: out.steps, ..ExpandedScripts::default() };
        let result = place.expand(file, 0, &mut inputs);
        out.steps = inputs.steps;
        if result.is_ok() {
            out.files.extend(inputs.files);
            out.scripts.extend(inputs.scripts);
        }
    }
    out.files.sort_unstable();
    out.files.dedup();
    out
}

/// The rules by which scripts are replaced: the directories to search for the names in scripts, and
/// the kinds of files that become inputs.
#[derive(Clone, Copy)]
struct ScriptSearch<'a> {
    tree: &'a dyn Tree,
    dirs: &'a [PathBuf],
    rules: SearchRules,
    /// If given, libraries for another ELF class or machine are skipped.
    target: Option<Target>,
    /// True if only archives match `-l`.
    is_static: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchRules {
    /// Prefers archives, and skips the ELF files that scripts name.
    Archives,
    /// Prefers archives. Objects and shared objects are inputs too.
    AllFiles,
    /// The rules of a linker. All files are inputs.
    Link(Linker),
}

/// The directory of SEARCH_DIR; `None` for other parts of a script. A leading `=` means the
/// sysroot, which is the top of the audited tree.
fn search_dir(input: &ScriptInput) -> Option<PathBuf> {
    let ScriptInput::SearchDir(dir) = input else { return None };
    let dir = dir.strip_prefix(b"=").unwrap_or(dir);
    Some(Path::new(OsStr::from_bytes(dir)).to_path_buf())
}

/// Opens the file at `path`. The error says why the path is not an archive.
fn open(tree: &dyn Tree, path: &Path) -> Result<Handle> {
    let shown = show_path(path);
    match tree.open(path) {
        Ok(Opened::File(handle)) => Ok(handle),
        Ok(Opened::Directory) => {
            bail!(
                "{shown}: a directory, not a static archive\nhelp: to search a directory for archives, use --from {shown}"
            )
        }
        Ok(Opened::Special(special)) => {
            bail!("{shown}: {}, not a static archive", special.describe())
        }
        Err(errno) => bail!("{shown}: {}", describe(errno)),
    }
}

/// The class of a file by its path and first bytes, and these bytes.
fn class_of(handle: &Handle, path: &Path) -> Result<(Class, Vec<u8>)> {
    let len = usize::try_from(handle.stat().len).map_or(SNIFF_LEN, |len| len.min(SNIFF_LEN));
    let head = handle.read_new(len, 0).with_context(|| format!("cannot read {}", show_path(path)));
    let head = head?;
    Ok((Classes::LINKAGE.with(Class::Bitcode).class_of(path, &head), head))
}

/// The content of a file, up to [`MOST`] bytes.
fn read(handle: &Handle, path: &Path) -> Result<Vec<u8>> {
    let len = usize::try_from(handle.stat().len.min(MOST)).unwrap_or(0);
    handle.read_new(len, 0).with_context(|| format!("cannot read {}", show_path(path)))
}

/// The error for a file that is neither an archive nor a script; `begin` are its first bytes.
fn refuse(path: &Path, begin: &[u8]) -> anyhow::Error {
    let shown = show_path(path);
    match begin {
        [] => anyhow!("{shown}: empty file, not a static archive"),
        _ => anyhow!("{shown}: not a static archive: it begins with `{}`", show(begin)),
    }
}

/// Fails if the linker refuses a command of the script at `path`, which is an input, or if the effect
/// of a command is not followed.
fn refuse_command(linker: Linker, path: &Path, text: &[u8]) -> Result<()> {
    let shown = show_path(path);
    if linker != Linker::Mold && discards(text) {
        bail!("{shown}: the effect of /DISCARD/ is not followed");
    }
    if let Some(name) = unknown_format(text).filter(|_| linker == Linker::Lld) {
        bail!("{shown}: OUTPUT_FORMAT({}) is not followed", show(&name));
    }
    if linker != Linker::Mold && includes_in_braces(text) {
        bail!("{shown}: the effect of INCLUDE in braces is not followed");
    }
    let has_symbol = |text: &&Vec<u8>| {
        DefsymOption::nameless(text, linker).is_some_and(|of| !of.refers.is_empty())
    };
    if let Some(text) = layout_expressions(text).iter().find(has_symbol) {
        bail!("{shown}: the symbols of `{}` are not followed", show(text));
    }
    let unknown = match linker {
        Linker::Gnu if has_insert(text) => {
            bail!("{shown}: GNU ld accepts INSERT only in a script of -T")
        }
        Linker::Gnu => unknown_to_gnu(text),
        Linker::Lld => unknown_to_lld(text),
        Linker::Mold => unknown_to_mold(text),
    };
    match unknown {
        Some(word) => {
            bail!("{shown}: {} does not know {} in a script", linker.title(), show(&word))
        }
        None => Ok(()),
    }
}

/// A script that is being read.
struct ScriptText {
    /// The parts, each with the index of its script in [`ExpandedScripts::scripts`]. The parts of
    /// an included script replace the INCLUDE that names it.
    parts: Vec<(usize, ScriptInput)>,
    /// The directories of SEARCH_DIR in the parts read up to now. These directories are searched
    /// for the script of an INCLUDE.
    dirs: Vec<PathBuf>,
}

impl ScriptSearch<'_> {
    fn is_link(self) -> bool {
        matches!(self.rules, SearchRules::Link(_))
    }

    fn expand(self, path: &Path, depth: usize, out: &mut ExpandedScripts) -> Result<()> {
        if depth > 0 && out.done.contains(path) {
            return Ok(());
        }
        let handle = open(self.tree, path)?;
        let (class, head) = class_of(&handle, path)?;
        let is_library = depth > 0 && class == Class::Elf;
        if class == Class::Other {
            let text = read(&handle, path)?;
            // lld and GNU ld read an empty file as a linker script without commands.
            let may_be_empty = matches!(self.rules, SearchRules::Link(Linker::Lld | Linker::Gnu));
            let script =
                if text.is_empty() && may_be_empty { Some(Vec::new()) } else { inputs(&text) };
            let script = script.filter(|_| handle.stat().len <= MOST);
            let script = script.ok_or_else(|| refuse(path, &head))?;
            if let SearchRules::Link(linker) = self.rules {
                refuse_command(linker, path, &text)?;
                if linker == Linker::Lld {
                    out.format = output_format(&text).or(out.format);
                }
            }
            out.count(text.len() / BLOCK, path)?;
            self.expand_script(path, script, depth, out)?;
        } else if self.rules != SearchRules::Archives || !is_library {
            out.files.push(path.to_path_buf());
        }
        if !self.is_link() {
            out.done.insert(path.to_path_buf());
        }
        Ok(())
    }

    /// Adds the inputs and commands of the script at `path`.
    fn expand_script(
        self,
        path: &Path,
        script: Vec<ScriptInput>,
        depth: usize,
        out: &mut ExpandedScripts,
    ) -> Result<()> {
        let mut text = ScriptText { parts: Vec::new(), dirs: out.dirs.clone() };
        self.add_text(path, script, depth, (&mut text, out))?;
        let (mut group, first) = (0, out.files.len());
        // GNU ld reads a whole script before it searches for the files in it.
        let is_gnu = self.rules == SearchRules::Link(Linker::Gnu);
        if is_gnu {
            out.dirs = text.dirs;
        }
        for (at, input) in &text.parts {
            match input {
                ScriptInput::SearchDir(_) => {
                    out.dirs.extend(search_dir(input).filter(|_| !is_gnu));
                }
                ScriptInput::Include(_) | ScriptInput::Comma => {}
                ScriptInput::Command(command) => {
                    if !self.is_link() {
                        continue;
                    }
                    // Linkers read a whole script before they open its inputs, so EXTERN precedes
                    // all inputs of its script.
                    let is_extern = matches!(command, ScriptCommand::Extern(_));
                    let place = if is_extern { first } else { out.files.len() };
                    out.commands.push((place, command.clone()));
                }
                ScriptInput::StartGroup => group = out.files.len(),
                ScriptInput::EndGroup => out.end_group(group),
                ScriptInput::Named(name) => self.expand_name((path, *at), name, depth, out)?,
                ScriptInput::AsNeeded(name) => {
                    let first = out.files.len();
                    self.expand_name((path, *at), name, depth, out)?;
                    out.as_needed.resize(first, false);
                    out.as_needed.resize(out.files.len(), true);
                }
            }
        }
        Ok(())
    }

    /// Adds the parts of `script`, which is at `path`, to a text. The parts of an included script
    /// replace the INCLUDE that names it.
    fn add_text(
        self,
        path: &Path,
        script: Vec<ScriptInput>,
        depth: usize,
        (text, out): (&mut ScriptText, &mut ExpandedScripts),
    ) -> Result<()> {
        if depth == DEEPEST {
            bail!("{}: linker scripts include each other in a cycle", show_path(path));
        }
        self.refuse_commas(path, &script)?;
        let at = out.scripts.len();
        out.scripts.push(path.to_path_buf());
        for input in script {
            let ScriptInput::Include(name) = input else {
                text.dirs.extend(search_dir(&input));
                text.parts.push((at, input));
                continue;
            };
            out.count(1 + text.dirs.len() / DIRS, path)?;
            let found = self.find_included(path, &name, &text.dirs);
            if !self.is_link()
                && found.as_ref().is_some_and(|found| !out.done.insert(found.clone()))
            {
                continue;
            }
            let found = found.ok_or_else(|| self.refuse_name(path, &show(&name)));
            match found.and_then(|found| self.read_included(found)) {
                Ok((found, script, len)) => {
                    out.count(len / BLOCK, &found)?;
                    self.add_text(&found, script, depth + 1, (&mut *text, &mut *out))?;
                }
                // A link with other directories may find the script.
                Err(_) if self.rules == SearchRules::AllFiles => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads an included script. Returns its path, its parts and the length of its text in bytes.
    /// The list of parts may be empty.
    fn read_included(self, found: PathBuf) -> Result<(PathBuf, Vec<ScriptInput>, usize)> {
        let handle = open(self.tree, &found)?;
        let text = read(&handle, &found)?;
        let is_text = class_of(&handle, &found)?.0 == Class::Other && handle.stat().len <= MOST;
        match included(&text).filter(|_| is_text) {
            Some(script) => Ok((found, script, text.len())),
            None => bail!("{}: not a linker script", show_path(&found)),
        }
    }

    /// Expands the file that a script names. `at` is the index of the script, which is `outer` or a
    /// script that `outer` includes.
    fn expand_name(
        self,
        (outer, at): (&Path, usize),
        name: &ScriptName,
        depth: usize,
        out: &mut ExpandedScripts,
    ) -> Result<()> {
        let script = out.scripts[at].clone();
        out.count(1 + out.dirs.len() / DIRS, &script)?;
        // GNU ld searches only the directory of the outer script.
        let is_gnu = self.rules == SearchRules::Link(Linker::Gnu);
        let Some(found) = self.find(if is_gnu { outer } else { &script }, name, &out.dirs) else {
            let name = match name {
                ScriptName::File(name) => show(name),
                ScriptName::Library(name) => format!("-l{}", show(name)),
            };
            return Err(self.refuse_name(&script, &name));
        };
        self.expand(&found, depth + 1, out)
    }

    /// The error for a name in `script` whose file is not found.
    fn refuse_name(self, script: &Path, name: &str) -> anyhow::Error {
        let option = if self.is_link() { "-L" } else { "--from" };
        anyhow!(
            "{}: linker script names {name}: not found\nhelp: add its directory: {option} DIR",
            show_path(script)
        )
    }

    /// Fails if the script at `path` has a comma between files: lld and mold treat it as the name of
    /// a file.
    fn refuse_commas(self, path: &Path, script: &[ScriptInput]) -> Result<()> {
        if let SearchRules::Link(linker @ (Linker::Lld | Linker::Mold)) = self.rules
            && script.contains(&ScriptInput::Comma)
        {
            bail!("{}: {} accepts no comma between files", show_path(path), linker.title());
        }
        Ok(())
    }

    /// The script that INCLUDE in `script` names. Linkers search for it in the current directory,
    /// in the directories of `-L`, and in `added`, the directories of SEARCH_DIR. If no linker is
    /// modelled ([`SearchRules::Link`]), the directory of `script` is searched instead of the
    /// current directory.
    fn find_included(self, script: &Path, name: &[u8], added: &[PathBuf]) -> Option<PathBuf> {
        let beside = script.parent().filter(|_| !self.is_link());
        let here = beside.unwrap_or(Path::new(""));
        let dirs = self.dirs.iter().chain(added).map(PathBuf::as_path);
        let mut paths =
            std::iter::once(here).chain(dirs).map(|dir| dir.join(OsStr::from_bytes(name)));
        paths.find(|path| is_file(self.tree, path))
    }

    /// Finds the file for a name in `script`. `added` are the directories of SEARCH_DIR. Linkers
    /// search for a library only in `added` and in the directories of `-L`. They search for a file
    /// also in the directory of the script and in the current directory. mold 1.10 leaves out the
    /// directory of the script (`ldfile_open_file` of GNU ld, `ScriptParser::addFile` of lld).
    /// GNU ld and mold skip files for another target.
    fn find(self, script: &Path, name: &ScriptName, added: &[PathBuf]) -> Option<PathBuf> {
        let beside = script.parent().unwrap_or(Path::new(""));
        let is_file = |path: &PathBuf| is_file(self.tree, path);
        let dirs = self.dirs.iter().chain(added).map(PathBuf::as_path);
        match (name, self.rules) {
            (ScriptName::Library(name), SearchRules::Link(_)) => {
                let all = [self.dirs, added].concat();
                library_in(self.tree, name, (&all, self.target, self.is_static))
            }
            (ScriptName::Library(name), _) => {
                let file = |dir: &Path, end| dir.join(OsStr::from_bytes(&of_library(name, end)));
                let places = std::iter::once(beside).chain(dirs);
                places.flat_map(|dir| [file(dir, ".a"), file(dir, ".so")]).find(is_file)
            }
            (ScriptName::File(name), rules) => {
                // A leading `=` means the sysroot, which is the root of the tree.
                let name = name.strip_prefix(b"=").unwrap_or(name);
                let path = Path::new(OsStr::from_bytes(name));
                let beside = Some(beside).filter(|_| rules != SearchRules::Link(Linker::Mold));
                let here = self.is_link().then_some(Path::new(""));
                let mut paths =
                    beside.into_iter().chain(here).chain(dirs).map(|dir| dir.join(path));
                paths.find(|path| fits(self.tree, path, self.target))
            }
        }
    }
}
