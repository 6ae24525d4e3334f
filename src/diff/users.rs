//! The files that break when a symbol is gone or changes. A file breaks if it refers to the
//! symbol and loads the changed library. It does not break if it also loads another library of
//! its own report that defines the symbol. For a symbol of a program, the users are its plugins.

use super::sides::{Side, is_library, name, soname};
use super::symbols::Change;
use crate::id::{FastMap, FastSet};
use crate::report::model::File;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files that refer to some symbols. Each report has one `Environment`.
#[derive(Default)]
pub(super) struct Users<'a> {
    environments: Vec<Environment<'a>>,
    /// For each of `environments`, a second one with the same files. It resolves the needs of these
    /// files with the libraries of the new report. Empty unless [`Self::of_dropped`] made this
    /// value.
    after: Vec<Environment<'a>>,
}

impl<'a> Users<'a> {
    /// The files of the new report and of `against` that use `names`. If a report in `against`
    /// lacks a library that its files need, the library of the old report is used.
    pub(super) fn new(
        against: &'a [Side<'_>],
        (old, new): (&'a Side<'_>, &'a Side<'_>),
        names: &FastSet<&[u8]>,
    ) -> Self {
        if names.is_empty() {
            return Self::default();
        }
        let others = Others { files: old, exports: new };
        let outside = against.iter().map(|side| Environment::new(side, Some(others), names));
        let environments = outside.chain([Environment::new(new, None, names)]).collect();
        Self { environments, after: Vec::new() }
    }

    /// The files of `against` that use `names`. Their needs are resolved twice: with the libraries
    /// of the old report, and with the libraries of the new report.
    pub(super) fn of_dropped(
        against: &'a [Side<'_>],
        (old, new): (&'a Side<'_>, &'a Side<'_>),
        names: &FastSet<&[u8]>,
    ) -> Self {
        let [before, after] = [old, new].map(|side| {
            let others = Some(Others { files: side, exports: side });
            against.iter().map(|side| Environment::new(side, others, names)).collect()
        });
        Self { environments: before, after }
    }

    /// The files of `against` that find the symbol in `library` with the old libraries, and do
    /// not find it with the new ones. With the new libraries, these files load neither `library`
    /// nor another library of their own report that defines the symbol.
    pub(super) fn without(&self, change: &Change, library: &[u8]) -> Vec<PathBuf> {
        let pairs = self.environments.iter().zip(&self.after);
        let all = pairs.flat_map(|(before, after)| {
            let broken = before.broken(change, library);
            broken
                .filter(|reference| !after.reaches(change, reference, library))
                .map(|reference| before.files[reference.file].path.to_path_buf())
        });
        let all: BTreeSet<PathBuf> = all.collect();
        all.into_iter().collect()
    }

    /// The files that a change in a library or program breaks, except the library or program
    /// itself. `pair` has the old and the new version of the library or program.
    pub(super) fn of(&self, change: &Change, pair: [&File; 2]) -> Vec<PathBuf> {
        let all: BTreeSet<&Path> = if is_library(pair[0]) {
            let library = soname(pair[0]);
            self.environments.iter().flat_map(|own| own.users(change, library)).collect()
        } else {
            self.plugins(change, pair)
        };
        let is_other = |path: &&Path| pair.iter().all(|file| *path != &*file.path);
        all.into_iter().filter(is_other).map(Path::to_path_buf).collect()
    }

    /// The plugins that use a symbol of a program: shared objects that refer to the symbol. Empty
    /// if another program also defines the symbol, or if a library that any file needs does.
    fn plugins(&self, change: &Change, pair: [&File; 2]) -> BTreeSet<&Path> {
        if self.environments.iter().any(|own| own.is_defined_elsewhere(change, pair)) {
            return BTreeSet::new();
        }
        self.environments.iter().flat_map(|own| own.plugins(change)).collect()
    }
}

/// A reference of a file to a symbol.
struct SymbolReference {
    /// The index of the referring file in the environment.
    file: usize,
    version: Option<Vec<u8>>,
    /// The library that must define the version; `None` for a reference without a version.
    library: Option<Vec<u8>>,
}

/// The libraries that a file loads, directly or not.
#[derive(Default)]
struct LoadedLibraries<'a> {
    names: FastSet<&'a [u8]>,
    files: FastSet<usize>,
    /// True if a file was found for each of `names`.
    is_whole: bool,
}

/// The files of one report, their references to some symbols, and the definitions of these symbols.
struct Environment<'a> {
    /// The files of the report, then the files of another report. A library of the other report is
    /// used only if the first report lacks it.
    files: Vec<&'a File>,
    /// The references of files of the first report, by symbol.
    references: FastMap<Vec<u8>, Vec<SymbolReference>>,
    /// The files of the first report that define each symbol, as indices in `files`.
    definers: FastMap<Vec<u8>, Vec<usize>>,
    /// The libraries that each file with references loads.
    loaded: FastMap<usize, LoadedLibraries<'a>>,
    /// The names of all libraries that any file needs.
    needed: FastSet<&'a [u8]>,
}

/// The references of a file to the changed symbols, and the names of changed symbols that the file
/// defines.
type OfFile = (Vec<(Vec<u8>, SymbolReference)>, Vec<Vec<u8>>);

/// The report whose libraries the files of another report load.
#[derive(Clone, Copy)]
struct Others<'a, 's> {
    files: &'a Side<'s>,
    /// The report whose exports decide which symbols these libraries define: the old or the new
    /// report.
    exports: &'a Side<'s>,
}

impl<'a> Environment<'a> {
    fn new(side: &'a Side<'_>, others: Option<Others<'a, '_>>, names: &FastSet<&[u8]>) -> Self {
        let other_files = others.iter().flat_map(|others| &others.files.report.files);
        let count = side.report.files.len();
        let own: FastSet<&Path> = side.own().map(|file| &*file.path).collect();
        let files: Vec<&File> = side.report.files.iter().chain(other_files).collect();
        let found: Vec<OfFile> = files[..count]
            .par_iter()
            .enumerate()
            .map(|(at, file)| {
                let is_own = own.contains(&*file.path);
                let references = if is_own { references(side, at, names) } else { Vec::new() };
                (references, defined(side, file, names))
            })
            .collect();
        let by_name = [by_name(&files[..count], 0), by_name(&files[count..], count)];
        let mut out = Self {
            files,
            references: FastMap::default(),
            definers: FastMap::default(),
            loaded: FastMap::default(),
            needed: FastSet::default(),
        };
        let needs = out.files.iter().flat_map(|file| &file.needed);
        out.needed = needs.map(|need| &*need.name).collect();
        for (at, (references, defined)) in found.into_iter().enumerate() {
            if !references.is_empty() {
                let loaded = loaded(&out.files, at, &by_name);
                out.loaded.insert(at, loaded);
            }
            for (name, reference) in references {
                out.references.entry(name).or_default().push(reference);
            }
            out.define(at, defined);
        }
        let loaded = out.loaded.values().flat_map(|loaded| &loaded.files);
        let others_loaded: BTreeSet<usize> = loaded.copied().filter(|at| *at >= count).collect();
        for at in others_loaded {
            let library = others.map(|others| others.exports).and_then(|side| {
                let file = side.library(soname(out.files[at]))?;
                Some(defined(side, file, names))
            });
            out.define(at, library.unwrap_or_default());
        }
        out
    }

    /// Adds the file at an index as a definer of these names.
    fn define(&mut self, at: usize, names: Vec<Vec<u8>>) {
        for name in names {
            self.definers.entry(name).or_default().push(at);
        }
    }

    fn users(&self, change: &Change, library: &[u8]) -> impl Iterator<Item = &Path> {
        self.broken(change, library).map(|reference| &*self.files[reference.file].path)
    }

    /// True if a program, or a library that a file needs, defines the symbol. The files of `pair`
    /// are ignored.
    fn is_defined_elsewhere(&self, change: &Change, pair: [&File; 2]) -> bool {
        let mut definers = self.definers.get(&change.name).into_iter().flatten();
        definers.any(|at| {
            let file = self.files[*at];
            let names = [name(file), soname(file)];
            let is_of_pair =
                pair.iter().any(|own| names.contains(&name(own)) || names.contains(&soname(own)));
            let is_loaded = || names.iter().any(|name| self.needed.contains(name));
            !is_of_pair && (file.interpreter.is_some() || is_loaded())
        })
    }

    /// Shared objects with a reference that a change breaks. If a library that the object loads is
    /// unknown, the object is left out, because that library may define the symbol.
    fn plugins(&self, change: &Change) -> impl Iterator<Item = &Path> {
        let all = self.references.get(&change.name).into_iter().flatten();
        let broken = all.filter(|reference| {
            let is_whole = self.loaded.get(&reference.file).is_some_and(|loaded| loaded.is_whole);
            is_whole && reference.library.is_none() && change.breaks(reference.version.as_deref())
        });
        let files = broken.map(|reference| self.files[reference.file]);
        files.filter(|file| file.interpreter.is_none()).map(|file| &*file.path)
    }

    /// True if the file of the reference loads `library`, or another library of its own report that
    /// defines the symbol.
    fn reaches(&self, change: &Change, reference: &SymbolReference, library: &[u8]) -> bool {
        let loads = self.loaded.get(&reference.file);
        loads.is_some_and(|loaded| loaded.names.contains(library))
            || self.is_defined_beside(change, reference, library)
    }

    /// The references that a change in `library` breaks.
    fn broken(&self, change: &Change, library: &[u8]) -> impl Iterator<Item = &SymbolReference> {
        let all = self.references.get(&change.name).into_iter().flatten();
        all.filter(move |reference| {
            let elsewhere = reference.library.as_deref().is_some_and(|of| of != library);
            change.breaks(reference.version.as_deref())
                && !elsewhere
                && (!change.breaks_copies() || self.has_copy(change, reference.file))
                && self.loaded[&reference.file].names.contains(library)
                && !self.is_defined_beside(change, reference, library)
        })
    }

    /// True if a file both refers to the symbol and defines it, like a program with a copy
    /// relocation.
    fn has_copy(&self, change: &Change, file: usize) -> bool {
        self.definers.get(&change.name).is_some_and(|all| all.contains(&file))
    }

    /// True if the file of the reference loads another library of its own report that defines the
    /// symbol. A reference with a version names its library, so no other library can define the
    /// symbol for this reference.
    fn is_defined_beside(
        &self,
        change: &Change,
        reference: &SymbolReference,
        library: &[u8],
    ) -> bool {
        let loaded = &self.loaded[&reference.file].files;
        let definers = self.definers.get(&change.name).into_iter().flatten();
        let is_other = |at: &usize| {
            let file = &self.files[*at];
            soname(file) != library && name(file) != library && loaded.contains(at)
        };
        reference.library.is_none() && { definers }.any(is_other)
    }
}

/// Those of `names` that a file of `side` defines.
fn defined(side: &Side<'_>, file: &File, names: &FastSet<&[u8]>) -> Vec<Vec<u8>> {
    let exports = side.exports(file);
    let defined = exports.iter().filter(|export| names.contains(&*export.name));
    defined.map(|export| export.name.to_vec()).collect()
}

/// The strong references of a file to `names`.
fn references(
    side: &Side<'_>,
    at: usize,
    names: &FastSet<&[u8]>,
) -> Vec<(Vec<u8>, SymbolReference)> {
    let mut out = Vec::new();
    for imports in side.imports(&side.report.files[at]).iter().filter(|imports| !imports.weak) {
        for name in imports.names.iter().filter(|name| names.contains(&*name.0)) {
            let reference = SymbolReference {
                file: at,
                version: imports.version.as_deref().map(<[u8]>::to_vec),
                library: imports.library.as_deref().map(<[u8]>::to_vec),
            };
            out.push((name.0.to_vec(), reference));
        }
    }
    out
}

/// The indices of files, keyed by soname and by file name. The first file has the index `first`.
fn by_name<'a>(files: &[&'a File], first: usize) -> FastMap<&'a [u8], Vec<usize>> {
    let mut out: FastMap<&[u8], Vec<usize>> = FastMap::default();
    for (at, file) in files.iter().enumerate() {
        out.entry(soname(file)).or_default().push(first + at);
        if name(file) != soname(file) {
            out.entry(name(file)).or_default().push(first + at);
        }
    }
    out
}

/// The libraries that a file loads, directly or not. A needed name is looked up in each map of
/// `by_name`, and the first map with the name decides.
fn loaded<'a>(
    files: &[&'a File],
    root: usize,
    by_name: &[FastMap<&'a [u8], Vec<usize>>],
) -> LoadedLibraries<'a> {
    let mut out = LoadedLibraries { is_whole: true, ..LoadedLibraries::default() };
    let mut open = vec![root];
    while let Some(at) = open.pop() {
        let file: &'a File = files[at];
        for need in &file.needed {
            if out.names.insert(&need.name) {
                let found = by_name.iter().find_map(|map| map.get(&*need.name));
                out.is_whole &= found.is_some();
                let found = found.into_iter().flatten();
                open.extend(found.filter(|at| out.files.insert(**at)));
            }
        }
    }
    out
}
