//! The queries by musl's rules (`ldso/dynlink.c`, `do_relocs` and `find_sym2`). Every relocation is
//! bound, and no answer is reused between entry points.

use super::{Answer, BoundLibrary, Definition, DefinitionKind, DuplicateName, Referrer, Source};
use crate::bind::{Binding, musl};
use crate::facts::Need;
use crate::format::elf::machine::LookupClass;
use crate::format::elf::{MuslVersion, Object};
use crate::id::{FastMap, FastSet, ModuleId};
use crate::order::Arrange as _;
use crate::resolve::{Closure, ROOT};

/// Answers the queries under the entry point of `closure`.
pub(super) fn answer(
    source: Source<'_>,
    closure: &Closure,
    release: MuslVersion,
) -> Result<Answer, Vec<Need>> {
    let bindings = musl::bind(closure, source.view, release, true)?.bindings;
    let mut out = Answer::default();
    if source.asked.bound {
        let others = bindings.iter().filter(|binding| binding.module != binding.provider);
        let bound = others.map(|binding| {
            let Binding { module, provider, .. } = *binding;
            BoundLibrary { module, provider }
        });
        out.bound = bound.collect();
        out.bound.sort_unstable();
        out.bound.dedup();
    }
    if source.asked.duplicates {
        out.duplicates = duplicates(source, closure, &bindings);
    }
    Ok(out)
}

fn duplicates(source: Source<'_>, closure: &Closure, bindings: &[Binding]) -> Vec<DuplicateName> {
    let object = |(module, file)| Some((module, source.view.object(file)?));
    let scope: Vec<(ModuleId, &Object)> = closure.in_scope().filter_map(object).collect();
    let copied = copied(source, closure);
    let mut places: FastMap<&[u8], Option<usize>> = FastMap::default();
    let mut out: Vec<DuplicateName> = Vec::new();
    for Binding { module, symbol, provider } in bindings.iter().copied() {
        let Some((_, object)) = scope.iter().find(|(other, _)| *other == module) else { continue };
        let name = object.symbol_name(symbol);
        let place = *places.entry(name).or_insert_with(|| {
            let definition = |(module, object): &(ModuleId, &Object)| {
                let found = object.find_musl(name, false)?;
                let is_copy = *module == ROOT && copied.contains(&found.symbol);
                let kind = match found.undefined {
                    true => DefinitionKind::Address,
                    false if is_copy => DefinitionKind::Copy,
                    false => DefinitionKind::Own,
                };
                let (module, symbol, size) = (*module, found.symbol, found.size);
                Some(Definition { module, symbol, size, kind })
            };
            let definitions: Box<[Definition]> = scope.iter().filter_map(definition).collect();
            let place = (definitions.len() > 1).then_some(out.len());
            if place.is_some() {
                let (name, version, referrers) = (name.into(), None, Vec::new());
                out.push(DuplicateName { name, version, definitions, referrers });
            }
            place
        });
        if let Some(place) = place {
            out[place].referrers.push(Referrer { module, symbol, winner: provider });
        }
    }
    out.arrange_by(|a, b| a.name.cmp(&b.name));
    out
}

/// The symbols of the program that copy relocations name.
fn copied(source: Source<'_>, closure: &Closure) -> FastSet<u32> {
    let file = closure.module(ROOT).file;
    let relocations = file.and_then(|file| source.view.relocations(file).ok());
    let list = relocations.map_or(&[][..], |relocations| &relocations.list);
    let copies = list.iter().filter(|relocation| relocation.class() == LookupClass::Copy);
    copies.map(|relocation| relocation.symbol()).collect()
}
