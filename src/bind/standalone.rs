//! Binds an object in the scope of its own closure, and lists the references that may cause a
//! message: above all undefined references. The result is reused under every entry point whose
//! scope contains the whole closure, because a larger scope only adds definitions.

use super::lookup::{Pending, Route, Scope, Winner, wanted};
use super::relocation_pass::NO_ASSERT;
use crate::facts::{Need, View};
use crate::format::elf::find::SymbolQuery;
use crate::format::elf::{EVERY_VERSION, GlibcVersion, Object, RefKind};
use crate::id::FileId;
use crate::resolve::{Closure, ROOT};

/// The result of binding one object in the scope of its own closure.
#[derive(Debug, Default)]
pub struct OpenReferences {
    /// Indices into `Object::references`, ascending: references without a definition, and
    /// references whose definition may cause a message (another size, protected).
    pub open: Vec<u32>,
    /// The highest version index that the loader knows for the object in that closure.
    pub limit: u16,
    /// All files of that closure.
    pub files: Box<[FileId]>,
    /// The provider of each reference, if requested and if the loader knows all versions in that
    /// closure.
    pub providers: Option<Providers>,
}

/// The file that each reference of an object binds to in its own closure, by index in
/// `Object::references`; `None` for an undefined reference.
pub type Providers = Box<[Option<FileId>]>;

/// Lookup rules that depend on the release of glibc.
#[derive(Clone, Copy)]
pub struct LookupRules {
    /// The release of glibc whose rules apply.
    pub release: GlibcVersion,
}

/// Binds the references of the entry point of `closure`, or returns the missing facts. If
/// `providers` is set and the loader knows all versions, weak references are looked up too, and the
/// result lists the provider of each reference.
pub fn bind(
    closure: &Closure,
    view: View<'_>,
    rules: LookupRules,
    providers: bool,
) -> Result<OpenReferences, Vec<Need>> {
    let scope = Scope::new(closure, view, false)?;
    let Some(object) = view.object(closure.root.file) else { return Ok(OpenReferences::default()) };
    let limit = closure.module(ROOT).version_limit;
    let files = closure.found().map(|(_, file)| file).collect();
    let all_known = |(module, _)| closure.module(module).version_limit == EVERY_VERSION;
    let weak = providers && closure.in_scope().all(all_known);
    let mut providers: Option<Providers> = weak.then(|| vec![None; object.references.len()].into());
    let mut note = |index: u32, winner: Winner| {
        if let Some(providers) = &mut providers {
            providers[index as usize] = closure.module(winner.module).file;
        }
    };
    let search = ObjectLookup { scope: &scope, object, limit, rules, weak };
    let open = search.open(object.reference_indices(), &mut note);
    Ok(OpenReferences { open, limit, files, providers })
}

/// One object in a scope, and the rules of its lookups.
pub struct ObjectLookup<'s, 'v> {
    /// The scope in which the references are looked up.
    pub scope: &'s Scope<'v>,
    /// The object whose references are looked up.
    pub object: &'v Object,
    /// The highest version index that the loader knows for the object.
    pub limit: u16,
    /// The rules that depend on glibc's release.
    pub rules: LookupRules,
    /// True if weak references are looked up too.
    pub weak: bool,
}

impl ObjectLookup<'_, '_> {
    /// Looks up the references at `indices`, and calls `note` with each definition found. Returns
    /// the indices of references that may cause a message; weak references never do.
    pub fn open(
        &self,
        indices: impl Iterator<Item = u32>,
        note: &mut impl FnMut(u32, Winner),
    ) -> Vec<u32> {
        let kind = |index: u32| self.object.references[index as usize].kind;
        let is_wanted = |index: &u32| self.weak || kind(*index) != RefKind::Weak;
        let mut open = Vec::new();
        let left = self.each(indices.filter(is_wanted), |index, winner| {
            if kind(index) != RefKind::Weak && !settles(winner, kind(index), self.rules) {
                open.push(index);
            }
            note(index, winner);
        });
        let left = left.iter().map(|pending| pending.index);
        open.extend(left.filter(|index| kind(*index) != RefKind::Weak));
        open.sort_unstable();
        open
    }

    /// Looks up the references at `indices`; returns the references without a definition.
    fn each(
        &self,
        indices: impl Iterator<Item = u32>,
        mut found: impl FnMut(u32, Winner),
    ) -> Vec<Pending> {
        let reference = |index: u32| &self.object.references[index as usize];
        let pending = |index| Pending { index, hash: reference(index).hash };
        let mut left: Vec<Pending> = indices.map(pending).collect();
        let question = |pending: &Pending| {
            let reference = reference(pending.index);
            let name = self.object.reference_name(reference);
            let version = wanted(self.object, reference.version, self.limit);
            let mut query = SymbolQuery::new(name, reference.hash, version);
            query.exact_first = self.rules.release >= super::relocation_pass::EXACT_FIRST;
            let is_copy = matches!(reference.kind, RefKind::Copy { .. });
            (query, Route { first: None, skip_root: is_copy })
        };
        self.scope.lookup_all(&mut left, question, |pending, winner| found(pending.index, winner));
        left
    }
}

/// True if no relocation can cause a message for a reference that binds to this definition.
fn settles(winner: Winner, kind: RefKind, rules: LookupRules) -> bool {
    if winner.candidate.versionless && rules.release < NO_ASSERT {
        return false;
    }
    match kind {
        RefKind::Copy { size, .. } => winner.candidate.size == size.get() && !winner.is_protected(),
        RefKind::Canonical => !winner.is_protected(),
        RefKind::Strong | RefKind::Weak | RefKind::Unhashed => true,
    }
}
