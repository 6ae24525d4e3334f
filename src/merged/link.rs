//! Models links of audited files for `cover`: the file as an input that refers to symbols, and its
//! link by the rules of one linker.

use super::runtime::is_of_compiler;
use crate::audit::{Audit, Libraries, link_references};
use crate::cover::{
    Coverage, CoverageQuestion, Link, LinkInput, LinkOutput, Linker, OutputKind, ReferringFile,
    ShownReferrers, in_order,
};
use crate::format::archive::SymbolKind;
use crate::format::elf::{Object, Role};
use crate::id::{ArchiveId, FileId};
use crate::tree::Tree;
use object::elf;
use std::sync::Arc;

/// Models the link of `file` by the rules of one linker. The file comes first, then `archives`,
/// then the shared libraries in `needed`. The archives may define names for the file and for the
/// libraries in `needed`; `libraries` are the shared libraries that define other names. The result
/// is empty if `file` is not an object.
pub fn link_again(
    (audit, tree): (&Audit, &dyn Tree),
    (file, needed, libraries): (FileId, &[FileId], &Libraries<'_>),
    linker: Linker,
    archives: &[LinkInput],
) -> Coverage {
    let Some(object) = audit.corpus.files[file].object() else { return Coverage::default() };
    // The objects that the file was linked from had references without versions.
    let symbols = link_references(object, false);
    let first = (root(audit, (file, object), symbols), Some(object));
    let inputs = needed.iter().filter_map(|library| {
        Some((audit.cover_root(*library, true)?, audit.corpus.files[*library].object()))
    });
    let (roots, objects): (Vec<ReferringFile>, Vec<Option<&Object>>) =
        std::iter::once(first).chain(inputs).unzip();
    let added = archives.iter().filter_map(|input| match input {
        LinkInput::Archive(archive) => Some(*archive),
        _ => None,
    });
    let added: Vec<ArchiveId> = added.collect();
    let inputs = std::iter::once(LinkInput::Root(0)).chain(archives.iter().cloned());
    let inputs = inputs.chain((1..roots.len()).map(LinkInput::Root)).collect();
    let link = Link { linker, inputs, ..Link::default() };
    let question = CoverageQuestion {
        library: &audit.library,
        roots: &roots,
        symbols: &[],
        all_members: false,
        archives: &added,
        candidates: &[],
        objects: &objects,
        provided: &|name| libraries.define(name) || is_of_compiler(object.header.target(), name),
        output: LinkOutput {
            kind: output_kind(object),
            linker: Some(linker),
            ..LinkOutput::default()
        },
        gc_sections: false,
        link: Some(&link),
    };
    let mut coverage = in_order(&question, &link);
    // `refine` needs only the files of relocatable objects, and all roots are linked files.
    let shown = ShownReferrers { names: 0, of_name: 1 };
    audit.refine(tree, (&question, &[]), shown, &mut coverage);
    coverage
}

/// The object as a root of a [`CoverageQuestion`]: a linked file that refers to `symbols`.
pub(super) fn root(
    audit: &Audit,
    (file, object): (FileId, &Object),
    symbols: Vec<(Box<[u8]>, SymbolKind)>,
) -> ReferringFile {
    ReferringFile {
        path: Arc::clone(&audit.corpus.files[file].path),
        linked: true,
        input: false,
        lto: false,
        opaque: None,
        target: Some(object.header.target()),
        symbols,
        default_versions: Vec::new(),
        unlisted: Vec::new(),
        hidden: Vec::new(),
        unexported: Vec::new(),
        beside_weak: Vec::new(),
    }
}

/// The kind of output of the link that made the object. [`OutputKind::Any`] for a file that is
/// neither a program nor a shared object.
pub fn output_kind(object: &Object) -> OutputKind {
    match object.role {
        Role::Program if object.is_library() => OutputKind::Shared,
        Role::Program if object.header.kind == elf::ET_DYN.0 => OutputKind::Pie,
        Role::Program | Role::Static => OutputKind::Executable,
        // A static program that is position-independent has no PT_INTERP.
        Role::Shared if object.pie => OutputKind::Pie,
        Role::Shared => OutputKind::Shared,
        _ => OutputKind::Any,
    }
}

/// `NAME` for a reference to `NAME@VERSION`: a linked file stores versions in a separate table.
pub fn without_version(name: &[u8]) -> &[u8] {
    let at = memchr::memchr(b'@', name).filter(|at| *at > 0);
    &name[..at.unwrap_or(name.len())]
}
