//! Standalone bindings: [`bind`] binds each object once, in its own closure. The result lists the
//! providers that are the same under every entry point whose scope contains that closure. It also
//! lists the relocations that may bind differently under such an entry point.
//!
//! If only one object of a scope defines a name, every lookup finds that definition. Therefore only
//! undefined references are looked up in the object's own closure. A reference to a definition in
//! the object itself matters only if another object defines the name too.

use super::QueryInput;
use super::names::{VaryingName, VaryingNames, WordSets};
use super::words::{HashWord, Salt};
use crate::bind::standalone::Providers;
use crate::facts::Need;
use crate::format::elf::machine::LookupClass;
use crate::format::elf::relocs::{Relocation, Relocations};
use crate::format::elf::{EVERY_VERSION, Object, RefKind, SymbolIndex, Tables, hash};
use crate::id::{FileId, IdSet};
use crate::resolve::Closure;

/// The standalone bindings of one object.
#[derive(Debug, Default)]
pub(super) struct Standalone<'a> {
    /// The files to which references of the object bind under every entry point whose scope
    /// contains the object's own closure.
    pub(super) sure: Vec<FileId>,
    /// The relocations whose binding may depend on the entry point, in the loader's order, each
    /// once.
    pub(super) varying: Vec<Varying>,
    /// The files of the object's own closure; `None` if the object was not bound in that closure.
    pub(super) files: Option<&'a [FileId]>,
}

/// A relocation whose binding may depend on the entry point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Varying {
    pub(super) relocation: Relocation,
    pub(super) alone: StandaloneBinding,
    word: HashWord,
    /// The number of `word`, set by [`Standalone::settle`]; `None` if the word has no number.
    pub(super) name: Option<VaryingName>,
}

/// The binding of a relocation in the object's own closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StandaloneBinding {
    /// Bound to the object itself, or to one of [`Standalone::sure`].
    Known,
    /// Bound to this file. [`Standalone::settle`] makes it `Known` if [`Standalone::sure`] has the
    /// file.
    Bound(FileId),
    /// Undefined in the object's own closure.
    Open,
    /// Not looked up: the binding is unknown.
    Unknown,
}

/// Buffers that a thread reuses across objects.
#[derive(Default)]
pub(super) struct StandaloneBuffers {
    /// For each symbol, the classes of its relocations, as bits.
    met: Vec<u8>,
    uses: Vec<Use>,
}

/// A relocation with the symbol that it looks up.
#[derive(Clone, Copy)]
struct Use {
    relocation: Relocation,
    symbol: SymbolOrigin,
}

/// Facts about a symbol that are known without reading its table entry.
#[derive(Clone, Copy)]
enum SymbolOrigin {
    /// The object defines the symbol, and its name has this hash word.
    Own(u32),
    /// The object refers to the symbol. The value is an index in `Object::references`.
    Reference(u32),
    /// Anything else.
    Other,
}

/// Binds the object in `file` in its own closure.
pub(super) fn bind<'a>(
    source: QueryInput<'a>,
    file: FileId,
    words: &WordSets,
    room: &mut StandaloneBuffers,
) -> Result<Standalone<'a>, Vec<Need>> {
    let view = source.view;
    let Some(object) = view.object(file) else { return Ok(Standalone::default()) };
    let relocations = view.relocations(file).map_err(|need| vec![need])?;
    let Some(tables) = &object.tables else { return Err(vec![Need::Tables(file)]) };
    let StandaloneBuffers { met, uses } = room;
    take_uses(object, tables, relocations, met, uses);
    let own = source.own.get(file).filter(|_| has_version_table(object));
    let own = own.and_then(|own| Some((&*own.files, own.providers.as_ref()?)));
    let providers = own.map(|(_, providers)| providers);
    let mut out = Standalone { files: own.map(|(files, _)| files), ..Standalone::default() };
    let mut sure = IdSet::default();
    let salt = Salt::of(object);
    for one in uses.drain(..) {
        let (hash, alone) = one.alone(object, providers);
        let word = salt.word(hash);
        let is_twice = words.note_used(word);
        match alone {
            // Without standalone bindings, `scope` looks up all relocations.
            _ if own.is_none() => continue,
            StandaloneBinding::Known if !is_twice => continue,
            StandaloneBinding::Bound(provider) if !is_twice => {
                out.sure.extend(sure.insert(provider).then_some(provider));
                continue;
            }
            StandaloneBinding::Open => words.note_open(word),
            StandaloneBinding::Known | StandaloneBinding::Bound(_) | StandaloneBinding::Unknown => {
            }
        }
        let relocation = one.relocation;
        out.varying.push(Varying { relocation, alone, word, name: None });
    }
    Ok(out)
}

/// False if the object has version indices but no version table. The loader then follows a null
/// pointer at the first version index (`Abort::NoVersionTable`).
fn has_version_table(object: &Object) -> bool {
    !object.versions.has_versym || object.versions.highest_index() != 0
}

/// True if the loader knows all versions of all objects. If a library is missing, the loader may
/// know fewer versions.
pub(super) fn knows_all_versions(closure: &Closure) -> bool {
    closure.in_scope().all(|(module, _)| closure.module(module).version_limit == EVERY_VERSION)
}

impl Use {
    /// The hash word of the symbol, and its binding in the object's own closure, if known.
    fn alone(self, object: &Object, providers: Option<&Providers>) -> (u32, StandaloneBinding) {
        match self.symbol {
            SymbolOrigin::Own(word) => (word, StandaloneBinding::Known),
            SymbolOrigin::Reference(index) => {
                let provider = providers.map(|providers| providers[index as usize]);
                let alone = match provider {
                    Some(Some(provider)) => StandaloneBinding::Bound(provider),
                    Some(None) => StandaloneBinding::Open,
                    None => StandaloneBinding::Unknown,
                };
                (object.references[index as usize].hash & !1, alone)
            }
            SymbolOrigin::Other => {
                let name = object.symbol_name(self.relocation.symbol());
                (hash::gnu(name) & !1, StandaloneBinding::Unknown)
            }
        }
    }
}

/// Lists the relocations of `object`, one for each symbol and relocation class.
fn take_uses(
    object: &Object,
    tables: &Tables,
    relocations: &Relocations,
    met: &mut Vec<u8>,
    uses: &mut Vec<Use>,
) {
    uses.clear();
    met.clear();
    met.resize(tables.indices().len() + 1, 0);
    let first_hashed = tables.unhashed_end();
    let last_reference = object.references.last().map(|reference| reference.symbol);
    for relocation in &relocations.list {
        let index = relocation.symbol();
        let class = match relocation.class() {
            LookupClass::Plain => 1,
            LookupClass::Plt { slot: false } => 2,
            LookupClass::Plt { slot: true } => 4,
            LookupClass::Copy => 8,
        };
        if let Some(met) = met.get_mut(index.position()) {
            if *met & class != 0 {
                continue;
            }
            *met |= class;
        }
        let is_hashed = index >= first_hashed;
        let symbol = if is_hashed && Some(index) > last_reference {
            tables.word(index).map_or(SymbolOrigin::Other, SymbolOrigin::Own)
        } else {
            match place(object, index) {
                Ok(at) if !is_hashed && is_plain(object.references[at].kind) => {
                    u32::try_from(at).map_or(SymbolOrigin::Other, SymbolOrigin::Reference)
                }
                Ok(_) => SymbolOrigin::Other,
                Err(_) if is_hashed => {
                    tables.word(index).map_or(SymbolOrigin::Other, SymbolOrigin::Own)
                }
                Err(_) => SymbolOrigin::Other,
            }
        };
        uses.push(Use { relocation: *relocation, symbol });
    }
}

/// The index of a symbol in `Object::references`; an error if the object does not refer to it.
pub(super) fn place(object: &Object, symbol: SymbolIndex) -> Result<usize, usize> {
    // Undefined symbols come first in most tables, after the null symbol.
    let guess = symbol.position().wrapping_sub(1);
    if object.references.get(guess).is_some_and(|reference| reference.symbol == symbol) {
        return Ok(guess);
    }
    object.references.binary_search_by_key(&symbol, |reference| reference.symbol)
}

/// True for an undefined reference that all relocation classes look up alike.
fn is_plain(kind: RefKind) -> bool {
    matches!(kind, RefKind::Strong | RefKind::Weak)
}

impl Standalone<'_> {
    /// Drops each relocation whose binding no other object can change, and adds the provider of
    /// the relocation to [`Self::sure`].
    pub(super) fn settle(&mut self, names: &VaryingNames) {
        let Self { sure, varying, .. } = self;
        varying.retain_mut(|varying| {
            varying.name = names.of_word(varying.word);
            match varying.alone {
                StandaloneBinding::Known | StandaloneBinding::Open => varying.name.is_some(),
                StandaloneBinding::Bound(provider) if varying.name.is_none() => {
                    if !sure.contains(&provider) {
                        sure.push(provider);
                    }
                    false
                }
                StandaloneBinding::Bound(_) | StandaloneBinding::Unknown => true,
            }
        });
        for varying in varying {
            if let StandaloneBinding::Bound(provider) = varying.alone
                && sure.contains(&provider)
            {
                varying.alone = StandaloneBinding::Known;
            }
        }
    }
}
