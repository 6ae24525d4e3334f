//! Shared objects with undefined symbols that may be plugins.

use super::super::builder::missing_edges;
use super::super::candidates::{CandidateAnswer, LibraryCandidates};
use super::super::reference_state::{Undefined, UndefinedReference};
use super::super::{Claims, DiagnosisInput, object_of, stem};
use super::place::{dir, is_default, is_private};
use super::programs::Programs;
use crate::format::elf::{Object, Role};
use crate::id::{FastMap, FastSet, FileId, RootId};
use crate::order::Arrange as _;
use crate::resolve::Closure;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// An undefined reference of an object that may be a plugin, or of a library that this object
/// loads.
#[derive(Clone, Copy)]
pub(super) struct PluginReference<'a> {
    pub(super) object: &'a Object,
    pub(super) name: &'a [u8],
    /// The version index of the reference.
    pub(super) version: u16,
    /// True if the reference belongs to a missing library: the version names this library, or a
    /// candidate for the library defines the symbol.
    pub(super) of_missing: bool,
    /// True if a `[[host]]` entry of the policy says that the program defines the symbol.
    pub(super) by_policy: bool,
}

/// A shared object that may be a plugin.
pub(super) struct Plugin<'a> {
    source: DiagnosisInput<'a>,
    claims: Claims<'a>,
    pub(super) root: RootId,
    pub(super) file: FileId,
    /// All undefined references of the object and of the libraries that it loads.
    pub(super) references: Vec<PluginReference<'a>>,
    /// The names of all libraries in the object's closure that were not found.
    pub(super) missing: Vec<&'a [u8]>,
    /// True if the soname has the form of a library's soname, such as `libfoo.so.1`.
    pub(super) is_versioned: bool,
    /// True if the program of a `[[host]]` entry is assumed to define some of the references.
    pub(super) has_profile: bool,
}

/// Shared objects that may be plugins. Each has an undefined reference that no program of a
/// `[[host]]` entry is assumed to define. An object without undefined symbols is skipped: there is
/// no evidence for a program.
pub(super) fn plugins<'a>(
    source: DiagnosisInput<'a>,
    open: &Undefined,
    claims: Claims<'a>,
    libraries: &LibraryCandidates,
) -> Vec<Plugin<'a>> {
    let lists: FastMap<RootId, &[UndefinedReference]> = open.lists().collect();
    let plugin = |(root, closure): (RootId, &'a Closure)| {
        let list = lists.get(&root).copied().unwrap_or_default();
        let file = closure.root.file;
        let object = source.view.object(file).filter(|object| object.role == Role::Shared)?;
        let path = &*source.view.file(file).path;
        let is_versioned = object.soname().is_some_and(is_versioned);
        let may = closure.root.host.is_none()
            && closure.fatal().is_none()
            && closure.failures().iter().all(|failure| failure.file.is_none())
            && !list.is_empty()
            && (!is_versioned || is_private(source, closure, path))
            && !is_default(source, closure, path);
        if !may {
            return None;
        }
        let missing = missing(source, closure);
        let is_explained = list.iter().all(|open| open.host.is_some());
        let reference = |open: &UndefinedReference| {
            let object = object_of(source.view, closure, open.module)?;
            let name = object.symbol_name(open.symbol);
            let of_missing = missing.iter().any(|library| {
                let file = object.versions.entry(open.version).map(|entry| entry.file);
                file.map_or_else(
                    || {
                        libraries.ask(source, library, object.header.target(), name)
                            == CandidateAnswer::Defined
                    },
                    |file| file.is_some_and(|file| object.str(file) == *library),
                )
            });
            let (version, by_policy) = (open.version, open.host.is_some());
            Some(PluginReference { object, name, version, of_missing, by_policy })
        };
        let unmet = list.iter().filter(|_| !is_explained);
        let references: Vec<PluginReference<'_>> = unmet.filter_map(reference).collect();
        let is_claimed = |reference: &PluginReference<'_>| {
            !reference.by_policy && claims.policy_claims(source, file, reference.name)
        };
        let lost = references.is_empty() || references.iter().any(is_claimed);
        let has_profile = list.iter().any(|open| open.host.is_some());
        (!lost).then_some(Plugin {
            source,
            claims,
            root,
            file,
            references,
            missing,
            is_versioned,
            has_profile,
        })
    };
    source.closures.roots.entries().filter_map(plugin).collect()
}

/// Shared objects outside of the default directories, without undefined symbols, missing libraries
/// or a host. Plugins near them may use their symbols.
pub(super) fn complete(
    source: DiagnosisInput<'_>,
    open: &Undefined,
) -> impl Iterator<Item = RootId> {
    let lacking: FastSet<RootId> = open.lists().map(|(root, _)| root).collect();
    source.closures.roots.entries().filter_map(move |(root, closure)| {
        let file = closure.root.file;
        let is_complete = source.view.object(file)?.role == Role::Shared
            && closure.root.host.is_none()
            && !lacking.contains(&root)
            && !closure.lacks_any()
            && !is_default(source, closure, &source.view.file(file).path);
        is_complete.then_some(root)
    })
}

/// Entry points near a plugin with [`Plugin::has_profile`]: in its directory, the parent, a
/// subdirectory or a sibling directory. Programs of `[[host]]` entries are assumed to define all of
/// the undefined references of these entry points.
pub(super) fn with_profile<'s>(
    source: DiagnosisInput<'s>,
    open: &'s Undefined,
    plugins: &[Plugin<'_>],
) -> Vec<RootId> {
    let near = plugins.iter().filter(|plugin| plugin.has_profile);
    let near: FastSet<&Path> =
        near.flat_map(|plugin| dir(plugin.source, plugin.file).ancestors().take(2)).collect();
    let lists = open.lists().filter(|(root, list)| {
        let closure = &source.closures.roots[*root];
        let mut dirs = dir(source, closure.root.file).ancestors().take(2);
        list.iter().all(|open| open.host.is_some())
            && dirs.any(|dir| near.contains(dir))
            && closure.root.host.is_none()
    });
    lists.map(|(root, _)| root).collect()
}

/// The names of libraries that were not found, each once.
fn missing<'a>(source: DiagnosisInput<'a>, closure: &'a Closure) -> Vec<&'a [u8]> {
    let edges = missing_edges(closure);
    let mut out: Vec<&[u8]> = edges.map(|(_, edge)| source.strings.text(edge.name)).collect();
    out.arrange();
    out.dedup();
    out
}

/// True for a name such as `libfoo.so.1`: the linker searches for names that start with `lib`.
fn is_versioned(soname: &[u8]) -> bool {
    let mut ends = memchr::memmem::find_iter(soname, b".so.");
    let is_number = |at: usize| soname.get(at + 4).is_some_and(u8::is_ascii_digit);
    soname.starts_with(b"lib") && ends.any(is_number)
}

impl Plugin<'_> {
    /// False if no program can be the host. Then at least one missing library is loaded by no
    /// program, and all undefined symbols belong to missing libraries.
    pub(super) fn may_fit(&self, programs: &Programs) -> bool {
        let is_loaded = |name: &&[u8]| programs.loading(name).is_some();
        self.missing.iter().all(is_loaded) || self.references.iter().any(|r| !r.of_missing)
    }

    /// True if no archive defines the symbol, or if an archive that defines it is the static
    /// edition of `winner`, the file that defines the symbol. All other archives that define the
    /// symbol then count as further editions of `winner`: `libpython3.11-pic.a` is in the same
    /// directory as `libpython3.11.a`.
    pub(super) fn is_unclaimed(
        &self,
        reference: PluginReference<'_>,
        winner: Option<FileId>,
    ) -> bool {
        let path = |file: FileId| self.source.view.file(file).path.as_os_str().as_bytes();
        let target = reference.object.header.target();
        let mut archives = self.claims.archives(self.file, target, reference.name).peekable();
        let is_edition = |archive| {
            let archive = stem(path(archive));
            winner.is_some_and(|file| {
                // `lisp.a` is linked into `lisp.run`.
                let program = self.source.view.file(file).path.file_stem();
                archive == stem(path(file)) || program.is_some_and(|p| p.as_bytes() == archive)
            })
        };
        archives.peek().is_none() || archives.any(is_edition)
    }
}
