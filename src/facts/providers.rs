//! Finds the files that define requested names, among the audited files and the files of
//! `--lib-path`. One pass over the GNU hash table of a file finds all requested names that the file
//! defines. `collect` searches the archives.

use super::replacing::is_replacement;
use super::{Content, Corpus};
use crate::format::archive::{DefiningMember, RequestedNames};
use crate::format::elf::{SymbolIndex, Tables, Target};
use crate::id::{FastMap, FileId};
use crate::parallel;

/// A file that defines a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The library or archive.
    pub file: FileId,
    /// The member, if the file is an archive.
    pub member: Option<Box<[u8]>>,
    /// The target for which the file or member is built; `None` if unknown.
    pub target: Option<Target>,
    /// True if the definition has a version. The linker gives this version to each reference that
    /// it binds to the definition.
    pub versioned: bool,
}

/// Providers, keyed by the name that they define.
#[derive(Default)]
pub struct Providers {
    by_name: FastMap<Vec<u8>, Vec<Provider>>,
}

impl Providers {
    /// Files that define `name`, for any target.
    pub fn named(&self, name: &[u8]) -> &[Provider] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// Files other than `not` that define `name`, and can be in one process with an object for
    /// `target`. Files of an unknown target are included.
    pub fn of<'p>(
        &'p self,
        name: &[u8],
        not: FileId,
        target: Target,
    ) -> impl Iterator<Item = &'p Provider> {
        let fits = move |provider: &&Provider| {
            provider.file != not && provider.target.is_none_or(|other| other.links_with(target))
        };
        self.named(name).iter().filter(fits)
    }

    /// Searches the tables of the audited files and of the files of `--lib-path` for `names`, and
    /// adds the definitions in `archives`.
    pub fn find(
        corpus: &Corpus,
        names: &RequestedNames,
        archives: Vec<(FileId, Vec<DefiningMember>)>,
    ) -> Self {
        let mut out = Self::default();
        if names.is_empty() {
            return out;
        }
        let files: Vec<FileId> = corpus.files.ids().collect();
        let hits: Vec<Vec<(&[u8], FileId, bool)>> = parallel::map(&files, |file| {
            let facts = &corpus.files[*file];
            let tables = facts.object().and_then(|object| object.tables.as_ref());
            let at_hand = facts.audited || facts.provider;
            match (tables, &facts.content) {
                (Some(tables), Content::Elf(_)) if at_hand => {
                    let library = facts.library_name();
                    let found = defined(tables, names).into_iter();
                    let found = found.filter(|(name, _)| !is_replacement(library, name));
                    found.map(|(name, versioned)| (name, *file, versioned)).collect()
                }
                _ => Vec::new(),
            }
        });
        for (name, file, versioned) in hits.into_iter().flatten() {
            let target = corpus.files[file].object().map(|object| object.header.target());
            let provider = Provider { file, member: None, target, versioned };
            out.by_name.entry_ref(name).or_default().push(provider);
        }
        for (file, definitions) in archives {
            for found in definitions {
                let provider = Provider {
                    file,
                    member: Some(found.member),
                    target: found.target,
                    versioned: false,
                };
                out.by_name.entry(found.symbol.into_vec()).or_default().push(provider);
            }
        }
        out
    }
}

/// The `names` that a library defines. The flag of a name is true if all definitions of this
/// name in the library have versions.
pub fn defined<'t>(tables: &'t Tables, names: &RequestedNames) -> Vec<(&'t [u8], bool)> {
    let mut out: Vec<(&[u8], bool)> = Vec::new();
    let mut visit = |symbol: SymbolIndex| {
        if let Some(symbol) = tables.symbol(symbol)
            && symbol.is_export()
            && names.contains(symbol.name)
        {
            out.push((symbol.name, symbol.versym & 0x7fff > 1));
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
    out.sort_unstable();
    out.dedup_by_key(|(name, _)| *name);
    out
}
