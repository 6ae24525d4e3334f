//! Binds one entry point. The steps: check versions, look up the references that objects leave
//! undefined in their own closures, relocate the modules, and collect the loader's messages.
//!
//! A module is skipped if its own closure resolves every reference and all files of that closure
//! are in the scope of the entry point. If all bindings are requested, every module is relocated.
//! `audit` binds all entry points in parallel.

use super::lookup::Scope;
use super::relocation_pass::RelocationPass;
use super::standalone::{LookupRules, ObjectLookup, OpenReferences};
use super::{OwnBindings, RootBinding, Unique};
use crate::facts::{Need, View};
use crate::format::elf::SymbolIndex;
use crate::format::elf::{GlibcVersion, RefKind};
use crate::id::{FastMap, FastSet, FileId, Id as _, ModuleId, Strings};
use crate::resolve::versions::{self, CheckedObjects, NeededFiles, VersionCheck, VersionMemo};
use crate::resolve::{Closure, LOADER, ROOT};

/// The input of [`bind`] besides the closure and the release of its loader.
#[derive(Clone, Copy)]
pub struct BindingInput<'a> {
    /// The facts of all files.
    pub view: View<'a>,
    /// The texts of the names in closures.
    pub strings: &'a Strings,
    /// The files from which objects need versions (DT_VERNEED).
    pub needed: &'a NeededFiles,
    /// By file: the result of binding it in its own closure.
    pub own: &'a OwnBindings,
    /// Ids ([`Closure::links_id`]) of link maps that several entry points share. In each, only the
    /// entry point can have unresolved references.
    pub quiet: &'a FastSet<usize>,
    /// True if all bindings are requested: every module is then relocated.
    pub bindings: bool,
    /// True if the loader starts programs, false if it only traces them as `ldd` does.
    pub started: bool,
    /// For a plugin: the STB_GNU_UNIQUE definitions that lookups of its host program reached.
    pub unique: Option<&'a Unique>,
}

impl BindingInput<'_> {
    fn check(&self, release: GlibcVersion, part: CheckedObjects) -> VersionCheck<'_> {
        VersionCheck { store: &self.view, needed: self.needed, release, part }
    }
}

/// Buffers and results that one worker reuses across entry points.
#[derive(Default)]
pub struct BindingWorker {
    versions: VersionMemo,
    here: FileSet,
}

/// A set of files. It is cleared in constant time: a new stamp makes all earlier members invalid.
#[derive(Default)]
struct FileSet {
    stamp: u32,
    stamps: Vec<u32>,
}

impl FileSet {
    fn fill(&mut self, files: impl Iterator<Item = FileId>) {
        self.stamp += 1;
        for file in files {
            if file.index() >= self.stamps.len() {
                self.stamps.resize((file.index() + 1).next_power_of_two(), 0);
            }
            self.stamps[file.index()] = self.stamp;
        }
    }

    fn contains(&self, file: FileId) -> bool {
        self.stamps.get(file.index()).is_some_and(|stamp| *stamp == self.stamp)
    }
}

/// Binds one entry point, or returns the missing facts.
pub fn bind(
    closure: &Closure,
    shared: BindingInput<'_>,
    release: GlibcVersion,
    worker: &mut BindingWorker,
) -> Result<RootBinding, Vec<Need>> {
    let BindingWorker { versions: memory, here } = worker;
    let quiet = shared.quiet.contains(&closure.links_id());
    let part = if quiet { CheckedObjects::Root } else { CheckedObjects::Whole };
    let mut out = RootBinding {
        checked: versions::check(closure, shared.check(release, part), memory),
        ..RootBinding::default()
    };
    if closure.fatal().is_some() || out.checked.stop.is_some() {
        return Ok(out);
    }
    here.fill(closure.in_scope().map(|(_, file)| file));
    let open = open_modules(closure, shared, release, here, part)?;
    if open.is_empty() && !shared.bindings {
        return Ok(out);
    }
    // A lookup for a copy relocation skips the program. Any other lookup needs the program's symbol
    // table.
    let with_root =
        shared.bindings || open.values().any(|open| !matches!(open, UnboundReferences::Copies(_)));
    let scope = Scope::new(closure, shared.view, with_root)?;
    let mut needs = Vec::new();
    let mut pass = RelocationPass {
        closure,
        scope: &scope,
        strings: shared.strings,
        release,
        unique: shared.unique.cloned().unwrap_or_default(),
    };
    // When a program is started, its loader relocates itself again and uses the program's
    // allocator.
    let started = shared.bindings && shared.started && starts(closure, shared.view);
    let modules = closure.order().iter().copied().filter(|module| *module != LOADER);
    for module in modules.chain(started.then_some(LOADER)) {
        let Some(file) = closure.module(module).file else { continue };
        let only = open.get(&module);
        if only.is_none() && !shared.bindings {
            continue;
        }
        let relocations = match shared.view.relocations(file) {
            Ok(relocations) => relocations,
            Err(need) => {
                needs.push(need);
                continue;
            }
        };
        if !needs.is_empty() {
            continue;
        }
        let only = match only {
            Some(UnboundReferences::Symbols(symbols) | UnboundReferences::Copies(symbols))
                if !shared.bindings =>
            {
                Some(symbols)
            }
            _ => None,
        };
        let bindings = shared.bindings.then_some(&mut out.bindings);
        let (reports, abort) = pass.relocate(module, relocations, only, bindings);
        if reports.left_out() > 0 {
            out.left_out.push((module, reports.left_out()));
        }
        if !reports.list.is_empty() {
            out.reports.push((module, reports.list));
        }
        if let Some(abort) = abort {
            out.abort = Some((module, abort));
            break;
        }
    }
    if started && out.abort.is_none() {
        out.allocator = pass.allocator();
    }
    if shared.bindings && closure.host().is_none() {
        out.unique = pass.unique;
    }
    out.bindings.sort_unstable();
    out.bindings.dedup();
    if needs.is_empty() { Ok(out) } else { Err(needs) }
}

/// True if the entry point is a program whose loader relocates itself again.
pub(super) fn starts(closure: &Closure, view: View<'_>) -> bool {
    let program = view.object(closure.root.file).is_some_and(|object| object.interp.is_some());
    program && closure.host().is_none() && closure.scope().contains(&LOADER)
}

/// True if only the program of this link map can have unresolved references: all other modules find
/// their definitions without the program.
pub fn is_quiet(
    closure: &Closure,
    shared: BindingInput<'_>,
    release: GlibcVersion,
    worker: &mut BindingWorker,
) -> bool {
    let BindingWorker { versions: memory, here } = worker;
    let checked = versions::check(closure, shared.check(release, CheckedObjects::Others), memory);
    let others = || closure.found().filter(|(module, _)| *module != ROOT);
    here.fill(others().map(|(_, file)| file));
    let is_settled = |(module, file): (ModuleId, FileId)| {
        let own = settled(closure, shared, module, file, here);
        match shared.view.object(file) {
            _ if closure.module(module).version_limit == 0 => false,
            Some(_) => own.is_some_and(|own| own.open.is_empty()),
            None => true,
        }
    };
    checked.stop.is_none()
        && checked.issues.is_empty()
        && others().filter(|(module, _)| *module != LOADER).all(is_settled)
}

/// The references of a module that the relocation pass visits one by one.
enum UnboundReferences {
    /// References to these symbols of the module.
    Symbols(FastSet<SymbolIndex>),
    /// Copy relocations of the program against these symbols.
    Copies(FastSet<SymbolIndex>),
    /// All references: the loader has no version table for the module.
    All,
}

/// The modules that may have unbound references under this entry point, each with these references.
/// A module without a version table is listed with all its references.
fn open_modules(
    closure: &Closure,
    shared: BindingInput<'_>,
    release: GlibcVersion,
    here: &FileSet,
    part: CheckedObjects,
) -> Result<FastMap<ModuleId, UnboundReferences>, Vec<Need>> {
    let mut scope: Option<Scope<'_>> = None;
    let mut out = FastMap::default();
    let concerns = |module| module != LOADER && (part == CheckedObjects::Whole || module == ROOT);
    for (module, file) in closure.found().filter(|(module, _)| concerns(*module)) {
        let limit = closure.module(module).version_limit;
        let settled = settled(closure, shared, module, file, here);
        // Most modules need only this check.
        if limit != 0 && settled.is_some_and(|own| own.open.is_empty()) {
            continue;
        }
        let Some(object) = shared.view.object(file) else { continue };
        if limit == 0 && object.versions.has_versym {
            out.insert(module, UnboundReferences::All);
            continue;
        }
        if settled.is_some_and(|own| own.open.is_empty()) {
            continue;
        }
        let open = match settled {
            Some(own) if module == ROOT => own.open.clone(),
            _ => {
                let scope = match &mut scope {
                    Some(scope) => scope,
                    None => scope.insert(Scope::new(closure, shared.view, true)?),
                };
                let indices = settled
                    .map_or_else(|| object.reference_indices().collect(), |own| own.open.clone());
                let rules = LookupRules { release };
                let search = ObjectLookup { scope, object, limit, rules, weak: false };
                search.open(indices.into_iter(), &mut |_, _| {})
            }
        };
        if open.is_empty() {
            continue;
        }
        let references = || open.iter().map(|i| &object.references[*i as usize]);
        let copies = references().all(|r| matches!(r.kind, RefKind::Copy { .. }));
        let symbols = references().map(|r| r.symbol).collect();
        let copies = copies && module == ROOT;
        out.insert(
            module,
            if copies {
                UnboundReferences::Copies(symbols)
            } else {
                UnboundReferences::Symbols(symbols)
            },
        );
    }
    Ok(out)
}

/// The result of binding a module in its own closure. `None` if the module was not bound in its
/// own closure, or if the result may not hold under this entry point.
fn settled<'a>(
    closure: &Closure,
    shared: BindingInput<'a>,
    module: ModuleId,
    file: FileId,
    here: &FileSet,
) -> Option<&'a OpenReferences> {
    let own = shared.own.get(file)?;
    // Two conditions: the loader knows the same versions, and every file of the object's own
    // closure is in scope.
    let same = closure.module(module).version_limit == own.limit
        && own.files.iter().all(|file| here.contains(*file));
    same.then_some(own)
}
