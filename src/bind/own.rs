//! What an object leaves unbound in the scope of its own closure. The answer is used again under
//! every root whose scope holds all of that closure: a larger scope cannot unbind a symbol.

use super::lookup::{Pending, Route, Scope, Winner, wanted};
use crate::facts::{Need, View};
use crate::format::elf::find::Query;
use crate::format::elf::{GlibcVersion, Object, RefKind};
use crate::id::FileId;
use crate::resolve::{Closure, ROOT};

/// The references of one object that its own closure does not settle, as indices into
/// `Object::references`.
#[derive(Debug, Default)]
pub struct Own {
    /// Indices, ascending.
    pub open: Vec<u32>,
    /// The highest version index that the loader knows of there.
    pub limit: u16,
    /// All files of that closure.
    pub files: Box<[FileId]>,
}

/// glibc releases below this one assert that a provider has the versions that were linked.
const NO_ASSERT: GlibcVersion = GlibcVersion::new(2, 41);

/// What decides about an object in a scope besides the scope itself.
#[derive(Clone, Copy)]
pub struct Rules {
    /// glibc's release.
    pub release: GlibcVersion,
}

/// Binds the references of the root of `closure`.
pub fn bind(closure: &Closure, view: View<'_>, rules: Rules) -> Result<Own, Vec<Need>> {
    let scope = Scope::new(closure, view, false)?;
    let Some(object) = view.object(closure.root.file) else { return Ok(Own::default()) };
    let limit = closure.module(ROOT).version_limit;
    let all = object.reference_indices();
    let files = closure.found().map(|(_, file)| file).collect();
    Ok(Own { open: open(&scope, object, limit, rules, all), limit, files })
}

/// Of the references named by `indices`, those that may cause a message.
pub fn open(
    scope: &Scope<'_>,
    object: &Object,
    limit: u16,
    rules: Rules,
    indices: impl Iterator<Item = u32>,
) -> Vec<u32> {
    let reference = |index: u32| &object.references[index as usize];
    let strong = indices.filter(|index| reference(*index).kind != RefKind::Weak);
    let pending = |index| Pending { index, hash: reference(index).hash };
    let mut left: Vec<Pending> = strong.map(pending).collect();
    let mut open = Vec::new();
    let question = |pending: &Pending| {
        let reference = reference(pending.index);
        let name = object.reference_name(reference);
        let mut query = Query::new(name, reference.hash, wanted(object, reference.version, limit));
        query.exact_first = rules.release >= super::exact::EXACT_FIRST;
        let is_copy = matches!(reference.kind, RefKind::Copy { .. });
        (query, Route { first: None, skip_root: is_copy })
    };
    scope.lookup_all(&mut left, question, |pending, winner| {
        if !settles(winner, reference(pending.index).kind, rules) {
            open.push(pending.index);
        }
    });
    open.extend(left.iter().map(|pending| pending.index));
    open.sort_unstable();
    open
}

/// True if no relocation that uses a reference with this definition can lead to a message.
fn settles(winner: Winner, kind: RefKind, rules: Rules) -> bool {
    if winner.candidate.versionless && rules.release < NO_ASSERT {
        return false;
    }
    match kind {
        RefKind::Copy { size, .. } => winner.candidate.size == size.get() && !winner.is_protected(),
        RefKind::Canonical => !winner.is_protected(),
        RefKind::Strong | RefKind::Weak | RefKind::Unhashed => true,
    }
}
