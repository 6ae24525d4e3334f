//! The queries by musl's rules (`ldso/dynlink.c`, `do_relocs` and `find_sym2`). Every relocation is
//! bound, and no answer is reused between entry points.

use super::alike::are_alike;
use super::{BoundLibrary, Definition, DuplicateName, QueryInput, Referrer, Sources};
use crate::bind::{Binding, musl};
use crate::facts::Need;
use crate::facts::replacing::is_replaceable;
use crate::format::elf::tables::Symbol;
use crate::format::elf::{MuslVersion, Object};
use crate::id::{FastMap, ModuleId};
use crate::order::Arrange as _;
use crate::resolve::{Closure, ROOT};

/// The libraries that each object under the entry point of `closure` binds to.
pub(super) fn bound(
    source: QueryInput<'_>,
    closure: &Closure,
    release: MuslVersion,
) -> Result<Vec<BoundLibrary>, Vec<Need>> {
    let bindings = musl::bind(closure, source.view, release, true)?.bindings;
    let others = bindings.iter().filter(|binding| binding.module != binding.provider);
    let bound = others.map(|binding| {
        let Binding { module, provider, .. } = *binding;
        BoundLibrary { module, provider }
    });
    let mut out: Vec<BoundLibrary> = bound.collect();
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// The names that two libraries under the entry point of `closure` define differently.
pub(super) fn duplicates(
    source: QueryInput<'_>,
    closure: &Closure,
    release: MuslVersion,
) -> Result<Vec<DuplicateName>, Vec<Need>> {
    let bindings = musl::bind(closure, source.view, release, true)?.bindings;
    let object = |(module, file)| Some((module, source.view.object(file)?));
    let scope: Vec<(ModuleId, &Object)> = closure.in_scope().filter_map(object).collect();
    let program = scope.iter().find(|(module, _)| *module == ROOT).map(|(_, object)| *object);
    let sources = Sources::new(&bindings, program);
    let mut places: FastMap<&[u8], Option<usize>> = FastMap::default();
    let mut out: Vec<DuplicateName> = Vec::new();
    for Binding { module, symbol, provider } in bindings.iter().copied() {
        if module == ROOT {
            continue;
        }
        let Some((_, object)) = scope.iter().find(|(other, _)| *other == module) else { continue };
        let name = object.symbol_name(symbol);
        let place = *places.entry(name).or_insert_with(|| {
            let definitions = definitions((&scope, &sources), name)?;
            let (name, version, referrers) = (name.into(), None, Vec::new());
            out.push(DuplicateName { name, version, definitions, referrers });
            Some(out.len() - 1)
        });
        if let Some(place) = place {
            out[place].referrers.push(Referrer { module, symbol, winner: provider });
        }
    }
    out.arrange_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

/// The definitions of `name`; `None` unless those of two libraries differ.
fn definitions<'o>(
    (scope, sources): (&[(ModuleId, &'o Object)], &Sources),
    name: &[u8],
) -> Option<Box<[Definition]>> {
    // For musl, an undefined entry with a value is a definition too (`find_sym2`).
    let symbol =
        |object: &'o Object| object.tables.as_ref()?.symbol(object.find_musl(name, false)?.symbol);
    let all: Vec<(ModuleId, Symbol<'o>)> =
        scope.iter().filter_map(|(module, object)| Some((*module, symbol(object)?))).collect();
    let others = || all.iter().filter(|(module, _)| *module != ROOT);
    if others().count() < 2
        || is_replaceable(name)
        || are_alike(&others().map(|(_, symbol)| symbol))
    {
        return None;
    }
    let definition =
        |(module, symbol): &(ModuleId, Symbol<'_>)| Definition::of(*module, symbol, sources);
    Some(all.iter().map(definition).collect())
}
