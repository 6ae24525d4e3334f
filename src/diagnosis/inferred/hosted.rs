//! The symbols that plugins define for other plugins of the same program or in a nearby directory.

use super::super::DiagnosisInput;
use super::place::dir;
use super::plugin::Plugin;
use crate::facts::View;
use crate::facts::providers::defined;
use crate::format::archive::RequestedNames;
use crate::id::{FastMap, FileId, IdSet, RootId};
use crate::parallel;
use std::path::Path;

/// By symbol: the first file that defines it.
type DefinersByName<'a> = FastMap<&'a [u8], FileId>;

/// The requested symbols that plugins and the libraries that they load define.
pub(super) struct Hosted<'a, 'n> {
    source: DiagnosisInput<'a>,
    /// The symbols that the plugins lack.
    names: &'n RequestedNames,
    /// By file: the requested symbols that it defines, memoised.
    defined: FastMap<FileId, Vec<&'a [u8]>>,
    /// The files in `defined` without symbols: nearly all.
    empty: IdSet<FileId>,
    /// Symbols of plugins and of the libraries that they load. The keys are the directory of the
    /// plugin and the parent of this directory.
    by_dir: FastMap<&'a Path, DefinersByName<'a>>,
    /// Symbols of plugins without the symbols of their libraries. The keys are the plugin's
    /// directory and its parent.
    plugins_by_dir: FastMap<&'a Path, DefinersByName<'a>>,
    /// For each symbol that a plugin defines: the programs that open the plugin.
    programs: FastMap<&'a [u8], Vec<FileId>>,
}

impl<'a, 'n> Hosted<'a, 'n> {
    pub(super) fn new(source: DiagnosisInput<'a>, names: &'n RequestedNames) -> Self {
        Self {
            source,
            names,
            defined: FastMap::default(),
            empty: IdSet::default(),
            by_dir: FastMap::default(),
            plugins_by_dir: FastMap::default(),
            programs: FastMap::default(),
        }
    }

    /// Adds shared objects that may be plugins, each with the libraries that it loads.
    pub(super) fn insert_all(&mut self, roots: &[RootId]) {
        let DiagnosisInput { view, closures, .. } = self.source;
        let found = roots.iter().flat_map(|root| closures.roots[*root].found());
        let mut seen = IdSet::default();
        let files = found.map(|(_, file)| file).filter(|file| seen.insert(*file));
        let files: Vec<FileId> = files.collect();
        let found = parallel::map(&files, |file| names_of(view, *file, self.names));
        let empty = files.iter().zip(&found).filter(|(_, names)| names.is_empty());
        self.empty.extend(empty.map(|(file, _)| *file));
        self.defined.extend(files.into_iter().zip(found));
        for root in roots {
            self.insert_with_libraries(*root);
        }
    }

    /// Adds a plugin of `program`, and the libraries that it loads.
    pub(super) fn insert(&mut self, root: RootId, program: FileId) {
        self.insert_with_libraries(root);
        let file = self.source.closures.roots[root].root.file;
        for name in &self.defined[&file] {
            self.programs.entry(name).or_default().push(program);
        }
        self.insert_plugin(root);
    }

    /// Adds a plugin without the libraries that it loads.
    pub(super) fn insert_plugin(&mut self, root: RootId) {
        let DiagnosisInput { view, closures, .. } = self.source;
        let file = closures.roots[root].root.file;
        let names = self.names;
        let found = self.defined.entry(file).or_insert_with(|| names_of(view, file, names));
        for dir in dir(self.source, file).ancestors().take(2) {
            let here = self.plugins_by_dir.entry(dir).or_default();
            for name in &*found {
                here.entry(name).or_insert(file);
            }
        }
    }

    fn insert_with_libraries(&mut self, root: RootId) {
        let DiagnosisInput { view, closures, .. } = self.source;
        let closure = &closures.roots[root];
        let dir = dir(self.source, closure.root.file);
        for (_, file) in closure.found().filter(|(_, file)| !self.empty.contains(*file)) {
            let names = self.names;
            let found = self.defined.entry(file).or_insert_with(|| names_of(view, file, names));
            for dir in dir.ancestors().take(2) {
                let here = self.by_dir.entry(dir).or_default();
                for name in &*found {
                    here.entry(name).or_insert(file);
                }
            }
        }
    }

    /// A file that defines the symbol: a plugin in a nearby directory, or a library that such a
    /// plugin loads. Nearby directories are the directory of `plugin`, its parent, its
    /// subdirectories and its siblings.
    pub(super) fn serving(&self, plugin: &Plugin<'a>, symbol: &[u8]) -> Option<FileId> {
        let mut dirs = dir(self.source, plugin.file).ancestors().take(2);
        dirs.find_map(|dir| self.by_dir.get(dir)?.get(symbol).copied())
    }

    /// The plugin in a nearby directory that defines the symbol itself.
    pub(super) fn neighbour(&self, plugin: &Plugin<'a>, symbol: &[u8]) -> Option<FileId> {
        let mut dirs = dir(self.source, plugin.file).ancestors().take(2);
        dirs.find_map(|dir| self.plugins_by_dir.get(dir)?.get(symbol).copied())
    }

    /// The programs of all plugins that define the symbol, in any directory.
    pub(super) fn programs(&self, symbol: &[u8]) -> &[FileId] {
        self.programs.get(symbol).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The requested symbols that a file defines.
fn names_of<'a>(view: View<'a>, file: FileId, names: &RequestedNames) -> Vec<&'a [u8]> {
    let tables = view.object(file).and_then(|object| object.tables.as_ref());
    let found = tables.map(|tables| defined(tables, names)).unwrap_or_default();
    found.into_iter().map(|(name, _)| name).collect()
}
