//! Programs that can open plugins, with the symbols and libraries that each has at startup. One
//! pass over the symbol hashes of each loaded file serves all plugins.

use super::super::DiagnosisInput;
use crate::facts::Need;
use crate::facts::providers::defined;
use crate::format::archive::RequestedNames;
use crate::format::elf::Role;
use crate::id::{FastMap, FastSet, FileId, RootId, StrId};
use crate::order::Arrange as _;
use crate::parallel;
use crate::resolve::Closure;

/// A set of programs, by index in [`Programs`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramSet(Vec<u64>);

impl ProgramSet {
    pub(super) fn insert(&mut self, program: usize) {
        self.0[program / 64] |= 1 << (program % 64);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    pub(super) fn keep(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }

    pub(super) fn holds(&self, program: usize) -> bool {
        self.0[program / 64] & 1 << (program % 64) != 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn members(&self) -> Vec<usize> {
        let words = self.0.iter().enumerate().filter(|(_, word)| **word != 0);
        let all = words.flat_map(|(at, _)| at * 64..at * 64 + 64);
        all.filter(|program| self.holds(*program)).collect()
    }
}

/// The programs that can open plugins, with the symbols and libraries that each has at startup.
pub(super) struct Programs {
    /// The entry points of the programs.
    roots: Vec<RootId>,
    by_file: FastMap<FileId, usize>,
    /// For each file that defines a requested name: the programs that load it.
    loading_file: FastMap<FileId, ProgramSet>,
    /// For each requested name: the files that define it.
    definers: FastMap<Vec<u8>, Vec<FileId>>,
    /// For each requested name: the programs that load at least one file that defines it.
    defining: FastMap<Vec<u8>, ProgramSet>,
    /// For each requested soname: the programs that load a library by this name.
    by_soname: FastMap<Vec<u8>, ProgramSet>,
    /// All files that programs load at startup, other than the programs themselves.
    loaded: FastSet<FileId>,
    none: ProgramSet,
}

impl Programs {
    /// Finds the programs that can open plugins. Among these, finds the programs that load a
    /// library by one of `sonames`.
    pub(super) fn new(source: DiagnosisInput<'_>, sonames: &FastSet<&[u8]>) -> Self {
        let is_program = |closure: &Closure| {
            let object = source.view.object(closure.root.file);
            object.is_some_and(|object| object.role == Role::Program)
        };
        let closures = source.closures.roots.entries();
        let programs: Vec<(RootId, &Closure)> =
            closures.filter(|(_, closure)| is_program(closure)).collect();
        let files = programs.iter().flat_map(|(_, closure)| closure.found());
        let loaded: FastSet<FileId> =
            files.filter(|(module, _)| *module != crate::resolve::ROOT).map(|(_, f)| f).collect();
        let started = programs.iter().map(|(_, closure)| closure.root.file);
        let mut files: Vec<FileId> = loaded.iter().copied().chain(started).collect();
        files.arrange();
        files.dedup();
        let opens_plugins =
            |file: &FileId| source.view.object(*file).is_some_and(|object| object.opens_plugins);
        let openers: FastSet<FileId> = files.into_iter().filter(opens_plugins).collect();
        let can_open = |closure: &Closure| closure.found().any(|(_, file)| openers.contains(&file));
        let programs: Vec<(RootId, &Closure)> = programs
            .into_iter()
            .filter(|(_, closure)| closure.fatal().is_none() && can_open(closure))
            .collect();
        let files = programs.iter().enumerate().map(|(at, (_, closure))| (closure.root.file, at));
        let none = ProgramSet(vec![0; programs.len().div_ceil(64)]);
        let mut out = Self {
            roots: programs.iter().map(|(root, _)| *root).collect(),
            by_file: files.collect(),
            loading_file: FastMap::default(),
            definers: FastMap::default(),
            defining: FastMap::default(),
            by_soname: FastMap::default(),
            loaded,
            none,
        };
        let known = sonames.iter().filter_map(|name| Some((source.strings.find(name)?, *name)));
        out.take_sonames(&known.collect(), &programs);
        out
    }

    /// Finds the files that define `names`, or returns the facts that must be read first.
    pub(super) fn define(
        &mut self,
        source: DiagnosisInput<'_>,
        names: &RequestedNames,
    ) -> Result<(), Vec<Need>> {
        let roots = self.roots.iter();
        let programs: Vec<(RootId, &Closure)> =
            roots.map(|root| (*root, &source.closures.roots[*root])).collect();
        let all = programs.iter().flat_map(|(_, closure)| closure.found());
        let mut files: Vec<FileId> = all.map(|(_, file)| file).collect();
        files.arrange();
        files.dedup();
        let tables = |file: &FileId| {
            let object = source.view.object(*file)?;
            Some((*file, object.tables.as_ref()))
        };
        let bare = files.iter().filter_map(tables).filter(|(_, tables)| tables.is_none());
        let needs: Vec<Need> = bare.map(|(file, _)| Need::Tables(file)).collect();
        if !needs.is_empty() {
            return Err(needs);
        }
        let found = parallel::map(&files, |file| {
            let (file, tables) = tables(file)?;
            let names = defined(tables?, names);
            (!names.is_empty()).then_some((file, names))
        });
        let found: Vec<_> = found.into_iter().flatten().collect();
        for (file, names) in &found {
            self.loading_file.insert(*file, self.none.clone());
            for (name, _) in names {
                self.definers.entry_ref(*name).or_default().push(*file);
            }
        }
        for (program, (_, closure)) in programs.iter().enumerate() {
            for (_, file) in closure.found() {
                if let Some(set) = self.loading_file.get_mut(&file) {
                    set.insert(program);
                }
            }
        }
        for (name, files) in &self.definers {
            let mut set = self.none.clone();
            for file in files {
                set.add(&self.loading_file[file]);
            }
            self.defining.insert(name.clone(), set);
        }
        Ok(())
    }

    fn take_sonames(&mut self, sonames: &FastMap<StrId, &[u8]>, programs: &[(RootId, &Closure)]) {
        for (program, (_, closure)) in programs.iter().enumerate() {
            for (_, module) in closure.modules().filter(|(_, module)| !module.is_stub()) {
                let names = [module.name, module.path].into_iter().chain(module.aliases.clone());
                for name in names.filter_map(|name| sonames.get(&name)) {
                    let none = || self.none.clone();
                    let set = self.by_soname.entry_ref(*name).or_insert_with(none);
                    set.insert(program);
                }
            }
        }
    }

    /// True if some program loads the file at startup.
    pub(super) fn load_at_start(&self, file: FileId) -> bool {
        self.loaded.contains(&file)
    }

    /// All files that programs load at startup, other than the programs themselves.
    pub(super) fn loaded(&self) -> impl Iterator<Item = FileId> {
        self.loaded.iter().copied()
    }

    /// The entry points of all programs.
    pub(super) fn roots(&self) -> impl Iterator<Item = RootId> {
        self.roots.iter().copied()
    }

    /// The entry point of a program.
    pub(super) fn root(&self, program: usize) -> RootId {
        self.roots[program]
    }

    /// The programs among `files`.
    pub(super) fn those(&self, files: &[FileId]) -> ProgramSet {
        let mut out = self.none.clone();
        let found = files.iter().filter_map(|file| self.by_file.get(file));
        found.for_each(|program| out.insert(*program));
        out
    }

    pub(super) fn none(&self) -> ProgramSet {
        self.none.clone()
    }

    pub(super) fn all(&self) -> ProgramSet {
        let mut out = self.none.clone();
        for program in 0..self.roots.len() {
            out.insert(program);
        }
        out
    }

    /// The programs that load a definer of the name; `None` if no program does.
    pub(super) fn defining(&self, name: &[u8]) -> Option<&ProgramSet> {
        self.defining.get(name)
    }

    /// The files that define the name.
    pub(super) fn definers(&self, name: &[u8]) -> &[FileId] {
        self.definers.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The programs that load a library by this name; `None` if there is none.
    pub(super) fn loading(&self, name: &[u8]) -> Option<&ProgramSet> {
        self.by_soname.get(name)
    }

    /// The programs that load a file; empty if the file does not define any requested name.
    pub(super) fn with(&self, file: FileId) -> &ProgramSet {
        self.loading_file.get(&file).unwrap_or(&self.none)
    }
}
