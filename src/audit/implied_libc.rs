//! Finds the C library that a compiler adds to a new link of a library that does not need it.
//! With `--as-needed`, a library that uses no function of the C library does not need it, although
//! the compiler named it in the link. Members that a fix adds may use its functions.
//!
//! The evidence of a link by a compiler is the weak reference to `__cxa_finalize` in the start file
//! `crtbeginS.o`, which `-nostdlib` leaves out. `-nodefaultlibs` and `-nolibc` keep the start files
//! and leave out the C library. A strong reference to a name of the C library shows such a link.

use super::{Audit, EntryPoints, resolve};
use crate::cover::ArchiveSet;
use crate::diagnosis::Diagnosis;
use crate::facts::collect::Collector;
use crate::facts::{Corpus, Edits, Need};
use crate::format::elf::edit::Relink;
use crate::format::elf::relocs::Relocations;
use crate::format::elf::{Object, RefKind, Reference};
use crate::id::{FastMap, FileId};
use crate::order;
use crate::order::Arrange as _;
use crate::plan::Plan;
use crate::resolve::hosts::HostPrograms;
use crate::resolve::loader::Family;
use crate::resolve::resolver::Resolver;
use crate::resolve::start::Start;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;

/// glibc's C library, by soname.
const LIBC: &[u8] = b"libc.so.6";

impl Audit {
    /// The C library that the compiler adds to a new link of `file`. `None` if `file` already needs
    /// it, and `None` without evidence that a compiler linked `file` with it.
    pub fn implied_libc(&self, file: FileId) -> Option<FileId> {
        self.implied_libc.get(&file).copied()
    }
}

/// For each file with undefined symbols that a compiler linked without a need for the C library:
/// the C library that the file's loader finds.
pub(super) fn find(
    plan: &Plan,
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    (diagnosis, library): (&Diagnosis, &ArchiveSet),
) -> FastMap<FileId, FileId> {
    // Only members that a fix adds may need it.
    if library.members() == 0 {
        return FastMap::default();
    }
    let files: BTreeSet<FileId> = order::set(diagnosis.undefined.iter().map(|u| u.file));
    let with_need = |file: FileId| {
        let object = corpus.files[file].object().filter(|object| is_of_compiler(object))?;
        let relink = Relink { inside: &|_| false, outside: &[], needs: &[LIBC] };
        // The search for libraries uses no relocations.
        Some((file, object.linked_again(&Relocations::default(), &relink)?))
    };
    let edits: Edits = files.into_iter().filter_map(with_need).collect();
    if edits.is_empty() {
        return FastMap::default();
    }
    let start = |file: &FileId| Start {
        file: *file,
        path: corpus.files[*file].path.as_os_str().as_bytes().to_vec(),
    };
    let mut given: Vec<Start> = edits.keys().map(start).collect();
    given.arrange_by_key(|start| start.file);
    let entries = EntryPoints { given, walked: Vec::new(), hosts: HostPrograms::default() };
    let mut resolver = Resolver::default();
    let closures = resolve(plan, corpus, &edits, collector, &mut resolver, entries);
    let is_glibc = |loader| resolver.loaders.get(loader).family == Family::Glibc;
    let mut out = FastMap::default();
    for closure in closures.roots.iter().filter(|closure| is_glibc(closure.root.loader)) {
        let is_libc = |file: &FileId| {
            corpus.files[*file].object().and_then(|object| object.soname()) == Some(LIBC)
        };
        let libc = closure.found().map(|(_, file)| file).find(is_libc);
        out.extend(libc.map(|libc| (closure.root.file, libc)));
    }
    let is_bare = |file: &FileId| corpus.files[*file].object().is_some_and(|o| o.tables.is_none());
    let bare: BTreeSet<FileId> = order::set(out.values().copied().filter(is_bare));
    collector.answer(corpus, bare.into_iter().map(Need::Tables).collect());
    let object = |file: FileId| corpus.files[file].object();
    out.retain(|file, libc| {
        let both = object(*file).zip(object(*libc));
        both.is_some_and(|(object, libc)| !lacks_libc(object, libc))
    });
    out
}

/// True if a compiler linked the object, and the object does not need the C library.
fn is_of_compiler(object: &Object) -> bool {
    let is_mark = |reference: &Reference| {
        matches!(reference.kind, RefKind::Weak)
            && object.reference_name(reference) == b"__cxa_finalize"
    };
    object.is_library()
        && !object.needs.iter().any(|need| object.str(need.name).starts_with(b"libc."))
        && object.references.iter().any(is_mark)
}

/// True if the object refers to a name that the C library defines: it was linked without it.
fn lacks_libc(object: &Object, libc: &Object) -> bool {
    let mut strong = object.references.iter().filter(|r| matches!(r.kind, RefKind::Strong));
    strong.any(|reference| libc.satisfies_link(object.reference_name(reference)))
}
