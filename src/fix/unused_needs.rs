//! Drops needs for libraries that an object does not use. `patch` verifies that all bindings stay
//! the same without these needs, and that no constructor is lost.

use super::patch::{Patch, Step, Verified, below};
use super::steps::{self, Cure, Work};
use crate::audit::Audit;
use crate::finding::{EvidenceKind, Finding, Findings, FixKind};
use crate::format::elf::{Object, RefKind, Tables, identifiers};
use crate::id::{FastMap, FastSet, FileId, ModuleId};
use crate::resolve::Closure;
use crate::tree::{Opened, Tree};

/// Attaches fixes to findings about unused libraries. Returns `verified` with the verified changes
/// of these fixes added.
pub(super) fn attach(work: &mut Work<'_>, findings: &mut Findings, verified: Verified) -> Verified {
    let unused = findings.iter().enumerate();
    let mut lookups = NamedLookups { tree: work.tree, identifiers: FastMap::default() };
    let cures = unused
        .filter_map(|(place, finding)| cure(work.audit, &mut lookups, place, finding))
        .collect();
    let said = "resolved and bound again without the library";
    steps::attach(work, findings, verified, cures, said)
}

fn cure(
    audit: &Audit,
    lookups: &mut NamedLookups<'_>,
    place: usize,
    finding: &Finding,
) -> Option<Cure> {
    let library = finding.library.clone().filter(|_| finding.rule == *"unused-library")?;
    let file = audit.corpus.file_at(&finding.full_path())?;
    let object = audit.corpus.files[file].object()?;
    let dropped_needs = [library.clone()].into_iter().collect();
    let patch = Patch { dropped_needs, ..Patch::default() };
    // patchelf leaves the needed versions in the file. The loader then stops, because it expects
    // their library.
    let mut versions = object.versions.needs.iter();
    let doubt = if versions.any(|version| object.str(version.file) == library) {
        Some("the file needs versions of the library: link it again with --as-needed")
    } else if is_only_definer(audit, finding, file, &patch) {
        Some("another program may need the library for its symbols")
    } else if lookups.may_find(audit, finding, file) {
        Some("a loaded file calls dlsym and contains the name of one of the library's symbols")
    } else {
        None
    };
    let ways = vec![patch];
    let step = Step { file, ways, cures: Vec::new() };
    Some(Cure { place, intent: FixKind::DropNeed, entry: Some(library), step, doubt })
}

/// Finds processes that may look up symbols by name, with dlsym.
struct NamedLookups<'t> {
    tree: &'t dyn Tree,
    /// The strings of files that use dlsym. `None` for a file that changed or cannot be read.
    identifiers: FastMap<FileId, Option<FastSet<Box<[u8]>>>>,
}

impl NamedLookups<'_> {
    /// True if a file that is loaded together with `file` may look up a symbol of the unused
    /// library. Such a file uses dlsym, and one of its strings is the name of a symbol that the
    /// library exports. Names that the user of dlsym itself defines or refers to are ignored. Also
    /// true if the strings of a user of dlsym cannot be read.
    fn may_find(&mut self, audit: &Audit, finding: &Finding, file: FileId) -> bool {
        let Some((unused, library)) = unused_library(audit, finding) else { return false };
        let Some((closure, _)) = site(audit, file) else { return false };
        closure.in_scope().any(|(_, user)| {
            let Some(object) = audit.corpus.files[user].object().filter(|_| user != unused) else {
                return false;
            };
            let names = object.references.iter().map(|one| object.reference_name(one));
            if !names.clone().any(|name| [&b"dlsym"[..], b"dlvsym"].contains(&name)) {
                return false;
            }
            let Some(strings) = self.identifiers_of(audit, user) else { return true };
            let exports = library.tables.iter().flat_map(Tables::exports);
            let exports = exports.map(|symbol| symbol.name);
            let mut named = exports
                .filter(|name| strings.contains(*name) && !object.satisfies_link(name))
                .peekable();
            // Most files contain no name of an export. The set of references is not built for them.
            named.peek().is_some() && {
                let referred: FastSet<&[u8]> = names.collect();
                named.any(|name| !referred.contains(name))
            }
        })
    }

    fn identifiers_of(&mut self, audit: &Audit, file: FileId) -> Option<&FastSet<Box<[u8]>>> {
        let facts = &audit.corpus.files[file];
        let tree = self.tree;
        let read = || match tree.open(&facts.path) {
            Ok(Opened::File(file)) if file.stat() == facts.stat => identifiers(&file).ok(),
            _ => None,
        };
        self.identifiers.entry(file).or_insert_with(read).as_ref()
    }
}

/// The library that a finding of `unused-library` is about; `None` if its file was not read.
fn unused_library<'a>(audit: &'a Audit, finding: &Finding) -> Option<(FileId, &'a Object)> {
    finding.evidence_of(EvidenceKind::Provider).find_map(|one| {
        let file = audit.corpus.file_at(one.path.as_deref()?)?;
        Some((file, audit.corpus.files[file].object()?))
    })
}

/// The first closure in which a file is loaded, and the file's module there.
fn site(audit: &Audit, file: FileId) -> Option<(&Closure, ModuleId)> {
    audit.closures.roots.iter().find_map(|closure| {
        let (module, _) = closure.found().find(|(_, found)| *found == file)?;
        Some((closure, module))
    })
}

/// True if the file refers to a symbol that the unused library defines, and no other library that
/// the file loads defines the symbol. The reference binds to another definition now, such as one in
/// the program. Another program may lack the symbol.
fn is_only_definer(audit: &Audit, finding: &Finding, file: FileId, patch: &Patch) -> bool {
    let object_of = |file: FileId| audit.corpus.files[file].object();
    let library = unused_library(audit, finding);
    let Some((object, (_, library))) = object_of(file).zip(library) else { return false };
    let Some((closure, module)) = site(audit, file) else { return false };
    let files: Verified = [(file, patch.clone())].into_iter().collect();
    let others: Vec<&Object> = below(audit, closure, &files, vec![module])
        .into_iter()
        .filter_map(|module| object_of(closure.module(module).file?))
        .collect();
    let is_bound = |kind| matches!(kind, RefKind::Strong | RefKind::Weak);
    let names = object.references.iter().filter(|one| is_bound(one.kind));
    names.map(|one| object.reference_name(one)).any(|name| {
        library.satisfies_link(name) && !others.iter().any(|other| other.satisfies_link(name))
    })
}
