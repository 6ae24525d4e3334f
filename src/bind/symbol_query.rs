//! Binds a few names, by the rules that `entry_point` uses for all symbols. `audit` calls this
//! module for a view about a symbol.

use super::entry_point::starts;
use super::lookup::{Route, Scope};
use super::relocation_pass::RelocationPass;
use super::{Binding, RootBinding, Unique, relocation_pass};
use crate::facts::{Need, View};
use crate::format::archive::RequestedNames;
use crate::format::elf::find::SymbolQuery;
use crate::format::elf::machine::LookupClass;
use crate::format::elf::{GlibcVersion, Object, SymbolIndex, hash};
use crate::id::{FastMap, FastSet, FileId, ModuleId, Strings};
use crate::parallel;
use crate::resolve::{Closure, LOADER, ROOT};

/// Symbols with the requested names, by file.
pub type RequestedSymbols = FastMap<FileId, FastSet<SymbolIndex>>;

/// Finds the symbols with these names in `files`. If the symbol table of an object was not read,
/// only the object's references are checked.
pub fn symbols(view: View<'_>, files: &[FileId], names: &RequestedNames) -> RequestedSymbols {
    let of_file = |file: &FileId| Some((*file, symbols_of(view.object(*file)?, names)));
    let found = parallel::map(files, of_file);
    found.into_iter().flatten().filter(|(_, symbols)| !symbols.is_empty()).collect()
}

fn symbols_of(object: &Object, names: &RequestedNames) -> FastSet<SymbolIndex> {
    let asked = |hash: u32, name: &[u8]| names.may_contain(hash & !1) && names.contains(name);
    let mut out: FastSet<SymbolIndex> = object
        .references
        .iter()
        .filter(|reference| asked(reference.hash, object.reference_name(reference)))
        .map(|reference| reference.symbol)
        .collect();
    if let Some(tables) = &object.tables {
        let mut visit = |index: SymbolIndex| {
            if tables.symbol(index).is_some_and(|symbol| names.contains(symbol.name)) {
                out.insert(index);
            }
        };
        let hashed = tables.each_gnu_hash(|hash, symbol| {
            if names.may_contain(hash) {
                visit(symbol);
            }
        });
        if !hashed {
            tables.symbols().for_each(|symbol| visit(symbol.index));
        }
    }
    out
}

/// The rules for binding one entry point.
#[derive(Clone, Copy)]
pub struct BindingRules<'a> {
    /// The release of glibc whose rules apply.
    pub release: GlibcVersion,
    /// True if the loader starts programs, false if it only traces them as `ldd` does.
    pub started: bool,
    /// The binding of the entry point in the audit. This binding says where the loader stops.
    pub known: &'a RootBinding,
}

/// Bindings of `symbols` under one entry point, or the missing facts.
pub fn bind(
    closure: &Closure,
    view: View<'_>,
    strings: &Strings,
    symbols: &RequestedSymbols,
    rules: BindingRules<'_>,
) -> Result<Vec<Binding>, Vec<Need>> {
    let mut out = Vec::new();
    let concerns = |(_, file): (ModuleId, FileId)| symbols.contains_key(&file);
    let stops = closure.fatal().is_some() || rules.known.checked.stop.is_some();
    if stops || !closure.found().any(concerns) {
        return Ok(out);
    }
    let scope = Scope::new(closure, view, true)?;
    let release = rules.release;
    let unique = Unique::default();
    let mut pass = RelocationPass { closure, scope: &scope, strings, release, unique };
    // As in `entry_point`, the loader of a started program is relocated again.
    let started = rules.started && starts(closure, view);
    let mut needs = Vec::new();
    // Unique definitions that the host program reached exist before the plugin is loaded.
    for module in closure.host().map_or(&[][..], |host| host.order()) {
        let Some(file) = closure.module(*module).file else { continue };
        let Some(only) = symbols.get(&file) else { continue };
        match view.relocations(file) {
            Ok(relocations) => {
                pass.relocate(*module, relocations, Some(only), None);
            }
            Err(need) => needs.push(need),
        }
    }
    let modules = closure.order().iter().copied().filter(|module| *module != LOADER);
    for module in modules.chain(started.then_some(LOADER)) {
        let is_last = rules.known.abort.is_some_and(|(last, _)| last == module);
        let mut stops = is_last;
        if let Some(file) = closure.module(module).file
            && let Some(only) = symbols.get(&file)
        {
            match view.relocations(file) {
                Ok(relocations) => {
                    // The relocation at which the loader aborts may be against another symbol.
                    let asked = (!is_last).then_some(only);
                    let (_, abort) = pass.relocate(module, relocations, asked, Some(&mut out));
                    stops |= abort.is_some();
                }
                Err(need) => needs.push(need),
            }
            if is_last {
                out.retain(|one| one.module != module || only.contains(&one.symbol));
            }
        }
        if stops {
            break;
        }
    }
    out.sort_unstable();
    out.dedup();
    if needs.is_empty() { Ok(out) } else { Err(needs) }
}

/// The definition to which a reference is bound, as an index in the provider's symbol table. `None`
/// if a lookup in the provider finds no definition.
pub fn definition(
    closure: &Closure,
    view: View<'_>,
    binding: Binding,
    release: GlibcVersion,
) -> Option<SymbolIndex> {
    let Binding { module, symbol, provider } = binding;
    if module == provider {
        return Some(symbol);
    }
    let mut query = query(closure, view, module, symbol, release)?;
    query.plt = false;
    let provider = closure.module(provider);
    let found = view.object(provider.file?)?.find(&query, provider.version_limit)?;
    Some(found.symbol)
}

/// The query that a reference of `module` makes.
fn query<'v>(
    closure: &Closure,
    view: View<'v>,
    module: ModuleId,
    symbol: SymbolIndex,
    release: GlibcVersion,
) -> Option<SymbolQuery<'v>> {
    let object = view.object(closure.module(module).file?)?;
    let name = object.symbol_name(symbol);
    let version = reference_version(object, symbol);
    let limit = closure.module(module).version_limit;
    let wanted = super::lookup::wanted(object, version, limit);
    let mut query = SymbolQuery::new(name, hash::gnu(name), wanted);
    query.exact_first = release >= relocation_pass::EXACT_FIRST;
    Some(query)
}

/// The modules that the loader searches for a reference of `module`, in order and up to the
/// definition. There is one list for each relocation class of the reference; equal lists appear
/// once. Empty if the tables or the relocations have not been read.
pub fn searched(
    closure: &Closure,
    view: View<'_>,
    module: ModuleId,
    symbol: SymbolIndex,
    release: GlibcVersion,
) -> Vec<Vec<ModuleId>> {
    let file = closure.module(module).file;
    let relocations = file.and_then(|file| view.relocations(file).ok());
    let object = file.and_then(|file| view.object(file));
    let query = query(closure, view, module, symbol, release);
    let (Some(relocations), Some(object), Some(mut query), Ok(scope)) =
        (relocations, object, query, Scope::new(closure, view, true))
    else {
        return Vec::new();
    };
    let mut out: Vec<Vec<ModuleId>> = Vec::new();
    for relocation in relocations.list.iter().filter(|one| one.symbol() == symbol) {
        let class = relocation.class();
        query.plt = matches!(class, LookupClass::Plt { .. });
        let first = (object.symbolic && module != ROOT).then_some(module);
        let route = Route { first, skip_root: class == LookupClass::Copy };
        let modules = scope.asked(&query, route);
        if !out.contains(&modules) {
            out.push(modules);
        }
    }
    out
}

/// The version index of a reference; 0 if the object has no versions.
pub fn reference_version(object: &Object, symbol: SymbolIndex) -> u16 {
    if !object.versions.has_versym {
        return 0;
    }
    if let Ok(at) = object.references.binary_search_by_key(&symbol, |r| r.symbol) {
        return object.references[at].version;
    }
    let tables = object.tables.as_ref();
    tables.and_then(|tables| tables.symbol(symbol)).map_or(0, |symbol| symbol.versym & 0x7fff)
}
