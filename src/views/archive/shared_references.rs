//! References of the shared objects in a link that the linker reports if no input defines them. For
//! a shared output, no linker reports any, and mold 1.10 never does.

use crate::audit::Audit;
use crate::cover::{Link, Linker, OutputKind, ReferringFile};
use crate::format::archive::SymbolKind;
use crate::format::elf::{NeedKind, Object};
use crate::id::{FastSet, FileId};
use std::os::unix::ffi::OsStrExt as _;

/// The strong references of the shared objects among the inputs that no shared object defines, each
/// with the index of its root.
///
/// lld checks a shared object if all libraries that it needs are inputs
/// (`Writer<ELFT>::finalizeSections`). GNU ld reads the libraries that the inputs need, for the
/// references of shared objects alone (`ldelf_after_open`). If one is missing, nothing is checked:
/// `-rpath-link` may lead to it.
pub(super) fn find(
    audit: &Audit,
    (files, roots, objects): (&[FileId], &[ReferringFile], &[Option<&Object>]),
    output: OutputKind,
    link: &Link,
) -> Vec<(Box<[u8]>, usize)> {
    if output == OutputKind::Shared || link.linker == Linker::Mold {
        return Vec::new();
    }
    let shared = |at: &usize| roots[*at].linked && roots[*at].input;
    let inputs: Vec<(usize, &Object)> =
        (0..roots.len()).filter(shared).filter_map(|at| Some((at, objects[at]?))).collect();
    let own: Vec<FileId> = inputs.iter().map(|(at, _)| files[*at]).collect();
    let is_gnu = link.linker == Linker::Gnu;
    let behind = audit.libraries_of(if is_gnu { &own } else { &[] });
    if is_gnu && !behind.complete {
        return Vec::new();
    }
    // lld names a shared object without DT_SONAME by its path as typed.
    let soname = |(at, object): &(usize, &'_ Object)| -> Vec<u8> {
        object
            .soname()
            .map_or_else(|| roots[*at].path.as_os_str().as_bytes().to_vec(), <[u8]>::to_vec)
    };
    let known: FastSet<Vec<u8>> = inputs.iter().map(soname).collect();
    let is_checked = |object: &Object| {
        let mut needs = object.needs.iter().filter(|need| need.kind == NeedKind::Needed);
        is_gnu || needs.all(|need| known.contains(object.str(need.name)))
    };
    let mut out = Vec::new();
    for (at, _) in inputs.iter().filter(|(_, object)| is_checked(object)) {
        for (name, _) in roots[*at].symbols.iter().filter(|(_, k)| *k == SymbolKind::Undefined) {
            // `--wrap` of lld affects objects only, but `__real_NAME` gets the definition of NAME.
            let name = if is_gnu { link.reference(name) } else { name };
            let real = link.wraps.iter().find(|wrap| !is_gnu && *wrap.real == *name);
            let meant = real.map_or(name, |wrap| &*wrap.name);
            let is_defined = inputs.iter().any(|(_, object)| object.satisfies_link(meant));
            if !is_defined && !behind.define(name) {
                out.push((name.into(), *at));
            }
        }
    }
    out
}
