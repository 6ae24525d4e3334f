//! Finds the programs that belong to the package of a plugin.

use super::super::DiagnosisInput;
use super::place::{is_default, is_named_after, is_named_after_library, is_private, system_dir};
use super::plugin::{Plugin, PluginReference};
use super::programs::{ProgramSet, Programs};
use crate::id::{FastMap, FastSet, FileId};
use crate::order::Arrange as _;
use crate::package::store_item;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The programs of a plugin's own package.
pub(super) struct PackagePrograms {
    pub(super) programs: ProgramSet,
    /// Programs after which a directory of the plugin is named, or that are in a private directory
    /// above the plugin.
    pub(super) named: ProgramSet,
    /// Libraries after which a directory of the plugin is named.
    pub(super) libraries: FastSet<FileId>,
}

/// Programs, indexed by file name, directory and store item. The search for the programs of a
/// package looks up a few keys instead of comparing each program.
pub(super) struct Packages<'a> {
    /// The path of each program.
    paths: Vec<&'a Path>,
    /// Keyed by the whole file name, and by each beginning of the name that ends before a `-`.
    by_name: FastMap<&'a [u8], Vec<usize>>,
    by_dir: FastMap<&'a Path, Vec<usize>>,
    by_store_item: FastMap<PathBuf, Vec<usize>>,
}

impl<'a> Packages<'a> {
    /// Indexes `programs` by their paths, which come from `hosts`.
    pub(super) fn new(hosts: DiagnosisInput<'a>, programs: &Programs) -> Self {
        let mut out = Self {
            paths: Vec::new(),
            by_name: FastMap::default(),
            by_dir: FastMap::default(),
            by_store_item: FastMap::default(),
        };
        for (program, root) in programs.roots().enumerate() {
            let file = hosts.closures.roots[root].root.file;
            let path = &*hosts.view.file(file).path;
            out.paths.push(path);
            let name = path.file_name().unwrap_or_default().as_bytes();
            let ends = memchr::memchr_iter(b'-', name).chain([name.len()]);
            ends.for_each(|end| out.by_name.entry(&name[..end]).or_default().push(program));
            if let Some(dir) = path.parent() {
                out.by_dir.entry(dir).or_default().push(program);
            }
            if let Some(item) = store_item(path) {
                out.by_store_item.entry(item).or_default().push(program);
            }
        }
        out
    }

    /// The programs of the plugin's own package that are in `fitting`. A program is in the package
    /// if one of these is true:
    ///
    /// - it is in the same store item;
    /// - it is in a private directory above the plugin;
    /// - a directory of the plugin is named after it;
    /// - it loads a library that defines one of `references` and is in the package. A library is in
    ///   the package if its directory contains the plugin and is not a default directory. A library
    ///   is also in the package if a directory of the plugin is named after it.
    pub(super) fn own(
        &self,
        source: DiagnosisInput<'_>,
        plugin: &Plugin<'_>,
        programs: &Programs,
        references: &[PluginReference<'_>],
        fitting: &ProgramSet,
    ) -> PackagePrograms {
        let closure = &source.closures.roots[plugin.root];
        let path = &*source.view.file(plugin.file).path;
        let system = system_dir(source, closure, path);
        let none = || programs.none();
        let mut out =
            PackagePrograms { programs: none(), named: none(), libraries: FastSet::default() };
        let names = references.iter().map(|reference| reference.name);
        let mut libraries: Vec<FileId> =
            names.flat_map(|name| programs.definers(name)).copied().collect();
        libraries.arrange();
        libraries.dedup();
        for library in libraries {
            let file = &*source.view.file(library).path;
            let above = file.parent().is_some_and(|dir| path.starts_with(dir));
            if above && !is_default(source, closure, file) {
                out.programs.add(programs.with(library));
            } else if is_named_after_library(path, system, file) {
                out.programs.add(programs.with(library));
                out.libraries.insert(library);
            }
        }
        let dir = path.parent().unwrap_or(path);
        let private = dir.ancestors().flat_map(|dir| at(&self.by_dir, dir));
        let is_private = |program: &&usize| is_private(source, closure, self.paths[**program]);
        private.filter(is_private).for_each(|program| out.named.insert(*program));
        let names = dir.components().skip(system).map(|dir| dir.as_os_str().as_bytes());
        let named = names.flat_map(|name| at(&self.by_name, name));
        let is_named = |program: &&usize| is_named_after(path, system, self.paths[**program]);
        named.filter(is_named).for_each(|program| out.named.insert(*program));
        let item = store_item(path);
        let of_item = item.iter().flat_map(|item| at(&self.by_store_item, item.as_path()));
        of_item.for_each(|program| out.programs.insert(*program));
        out.programs.add(&out.named);
        out.programs.keep(fitting);
        out.named.keep(fitting);
        out
    }
}

/// The programs that `map` has for `key`; empty if it has none.
fn at<'m, K, Q>(map: &'m FastMap<K, Vec<usize>>, key: &Q) -> &'m [usize]
where
    K: std::hash::Hash + Eq + std::borrow::Borrow<Q>,
    Q: std::hash::Hash + Eq + ?Sized,
{
    map.get(key).map(Vec::as_slice).unwrap_or_default()
}
