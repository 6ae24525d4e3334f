//! Libraries that the files of a process may load later: evidence for `library-twice` and
//! `mixed-runtime`. A file may load a library if it refers to dlopen and has the library's name in
//! its dlopen notes or among its strings. The file does not show whether the call happens, so this
//! module makes no findings. It reads files after the rules have run, and only if one of the two
//! rules has a finding.

use super::library_twice::stem;
use crate::audit::Audit;
use crate::facts::FileFacts;
use crate::finding::{Evidence, EvidenceKind, Finding, Findings};
use crate::format::elf::{Object, library_names};
use crate::id::{FastMap, FileId, RootId};
use crate::resolve::LOADER;
use crate::text::last_part;
use crate::tree::{Opened, Tree};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of names that one finding lists.
const MOST: usize = 20;

/// Adds evidence to findings of `library-twice` and `mixed-runtime`: files that may load another
/// copy with dlopen.
pub fn attach(audit: &Audit, tree: &dyn Tree, findings: &mut Findings) {
    let is_about_copies =
        |finding: &Finding| finding.rule == *"library-twice" || finding.rule == *"mixed-runtime";
    if !findings.iter().any(|finding| is_about_copies(finding)) {
        return;
    }
    let mut roots: FastMap<&Path, RootId> = FastMap::default();
    for root in audit.closures.roots.ids() {
        roots.entry(audit.root_path(root)).or_insert(root);
    }
    let mut known: FastMap<FileId, Vec<Vec<u8>>> = FastMap::default();
    for finding in findings.iter_mut().filter(|finding| is_about_copies(finding)) {
        let Some(root) = finding.root.as_deref().and_then(|path| roots.get(path)) else { continue };
        let copies = finding.evidence_of(EvidenceKind::Copy);
        let stems: Vec<Vec<u8>> =
            copies.filter_map(|copy| Some(stem(copy.name.as_deref()?).to_vec())).collect();
        let mut found = Vec::new();
        for (_, file) in audit.closures.roots[*root].in_scope().filter(|(at, _)| *at != LOADER) {
            let facts = &audit.corpus.files[file];
            let Some(object) = facts.object().filter(|object| object.opens_plugins) else {
                continue;
            };
            let names = known.entry(file).or_insert_with(|| names(tree, facts, object));
            let is_copy = |name: &&Vec<u8>| stems.iter().any(|of| of == stem(last_part(name)));
            let of_copies = names.iter().filter(is_copy);
            found.extend(of_copies.map(|name| Evidence {
                name: Some(name.clone()),
                ..Evidence::at(EvidenceKind::MayLoad, Arc::clone(&facts.path))
            }));
        }
        found.sort_by(|a, b| (&a.path, &a.name).cmp(&(&b.path, &b.name)));
        found.dedup();
        found.truncate(MOST);
        finding.evidence.extend(found);
    }
}

/// The libraries that a file's dlopen notes name, and the names of libraries among its strings. The
/// soname, needs and version needs of the file are left out of the strings. The result is empty if
/// the file changed or cannot be opened again.
fn names(tree: &dyn Tree, facts: &FileFacts, object: &Object) -> Vec<Vec<u8>> {
    let Ok(Opened::File(file)) = tree.open(&facts.path) else { return Vec::new() };
    if file.stat() != facts.stat {
        return Vec::new();
    }
    let mut names = library_names(&file).unwrap_or_default();
    let needs = object.needs.iter().map(|need| object.str(need.name));
    let versions = object.versions.needs.iter().map(|need| object.str(need.file));
    for linked in needs.chain(versions).chain(object.soname()) {
        names.remove(linked);
    }
    let noted = object.dlopen_notes.iter().flat_map(|notes| notes.names());
    names.extend(noted.map(|name| name.as_bytes().to_vec()));
    names.into_iter().collect()
}
