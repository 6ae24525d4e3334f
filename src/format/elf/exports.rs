//! The definitions that an object exports: all of them, or one by its name. [`Object::defines`]
//! looks a name up as the loader does for a reference without a version. [`Object::satisfies_link`]
//! looks a name up as a linker does. Lookups with versions are in `find`.

use super::find::SymbolQuery;
use super::hash_table::HashTable;
use super::header::endian;
use super::tables::{Symbol, Tables, binds_local};
use super::{Object, SymbolIndex, hash};
use object::read::elf::{FileHeader, Sym as _};
use object::{Endianness, elf};

impl Object {
    /// True if the loader can bind an unversioned reference to `name` to a definition in this
    /// object (`do_lookup_x` of `elf/dl-lookup.c`). `hash` is the GNU hash of `name`. `limit` is as
    /// in [`Self::find`].
    pub fn defines(&self, name: &[u8], hash: u32, limit: u16) -> bool {
        let may = self.tables.as_ref().is_some_and(|tables| tables.bloom().may_hold(hash));
        let found = || self.find(&SymbolQuery::new(name, hash, None), limit);
        may && found().is_some_and(|found| {
            let bind = elf::SymbolBind(found.bind);
            let global = matches!(bind, elf::STB_GLOBAL | elf::STB_WEAK | elf::STB_GNU_UNIQUE);
            global && !binds_local(found.visibility) && !found.undefined
        })
    }
}

impl Object {
    /// True if a linker resolves `name` with a definition of this object.
    pub fn satisfies_link(&self, name: &[u8]) -> bool {
        self.link_definition(name).is_some()
    }

    /// The definition with which a linker resolves `name`. The name may end with `@` or `@@` and a
    /// version. A name without a version fits a definition with a default version or with no
    /// version (`SharedFile::parse` of lld, `elf_link_add_object_symbols` of GNU ld).
    pub fn link_definition(&self, name: &[u8]) -> Option<Symbol<'_>> {
        let at = memchr::memchr(b'@', name);
        let plain = &name[..at.unwrap_or(name.len())];
        let version = at.map(|at| strip_at(&name[at..]));
        self.definition(plain, |symbol| {
            let place = symbol.versym & elf::VERSYM_VERSION;
            let known = || self.versions.entry(place).map(|entry| self.str(entry.name));
            match version {
                None => symbol.is_default_version(),
                Some(version) => known() == Some(version),
            }
        })
    }

    /// The definition that GNU ld enters as `NAME@`: a hidden one in the base version of the object
    /// (`elf_link_add_object_symbols`). `None` if `name` does not end with its only `@`.
    pub fn base_definition(&self, name: &[u8]) -> Option<Symbol<'_>> {
        let plain = name.strip_suffix(b"@").filter(|plain| !plain.contains(&b'@'))?;
        self.definition(plain, |symbol| {
            let place = symbol.versym & elf::VERSYM_VERSION;
            place == elf::VER_NDX_GLOBAL.0 && !symbol.is_default_version()
        })
    }

    /// The first definition of `plain` that linkers see and `fits` accepts.
    fn definition<'o>(
        &'o self,
        plain: &[u8],
        fits: impl Fn(&Symbol<'o>) -> bool,
    ) -> Option<Symbol<'o>> {
        let tables = self.tables.as_ref()?;
        let hash = hash::gnu(plain);
        // Linkers need no hash table, and interface stubs have none.
        if tables.has_hash_table() && !tables.bloom().may_hold(hash) {
            return None;
        }
        let mut visit = |index: SymbolIndex| {
            let symbol = tables.symbol(index).filter(|symbol| symbol.name == plain)?;
            let is_global = symbol.versym & elf::VERSYM_VERSION != 0;
            (symbol.is_link_definition() && is_global && fits(&symbol)).then_some(symbol)
        };
        match &tables.hash {
            HashTable::None => tables.indices().find_map(visit),
            _ => tables.walk(hash, || hash::sysv(plain), None, &mut visit),
        }
    }
}

fn strip_at(version: &[u8]) -> &[u8] {
    let version = version.strip_prefix(b"@").unwrap_or(version);
    version.strip_prefix(b"@").unwrap_or(version)
}

impl Tables {
    /// True if the loader can bind other objects to a strong definition of `name`. A definition
    /// whose version is not the default one is ignored, because a link may define the name again
    /// without a conflict.
    pub fn exports_strongly(&self, name: &[u8]) -> bool {
        self.find_strong_export(name).is_some()
    }

    /// The definition for which [`Self::exports_strongly`] is true.
    pub fn find_strong_export(&self, name: &[u8]) -> Option<Symbol<'_>> {
        self.export_as(name, elf::STB_GLOBAL)
    }

    /// True if the loader can bind other objects to a definition of `name` with STB_GNU_UNIQUE. A
    /// definition with a version other than the default is ignored. Compilers put unique
    /// definitions into COMDAT groups.
    pub fn exports_uniquely(&self, name: &[u8]) -> bool {
        self.export_as(name, elf::STB_GNU_UNIQUE).is_some()
    }

    fn export_as(&self, name: &[u8], bind: elf::SymbolBind) -> Option<Symbol<'_>> {
        let mut visit = |index: SymbolIndex| {
            let symbol = self.symbol(index).filter(|symbol| symbol.name == name)?;
            let is_it = elf::SymbolBind(symbol.bind) == bind;
            (symbol.is_export() && is_it && symbol.is_default_version()).then_some(symbol)
        };
        match &self.hash {
            HashTable::None => self.indices().find_map(visit),
            _ => self.walk(hash::gnu(name), || hash::sysv(name), None, &mut visit),
        }
    }

    /// The symbols to which the loader can bind other objects.
    pub fn exports(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.indices().filter_map(|index| self.export(index))
    }

    /// Reads the names of all symbols, for a caller that needs most of them. Without this call, the
    /// names of a large table are read page by page when they are first used.
    pub fn read_names(&self) {
        self.strings.read_whole();
    }

    /// The symbols of [`Self::exports`] that may have one of `names`, in the order of the symbol
    /// table. The GNU hash table selects the symbols by hash, so few names are read. Exports that
    /// this table does not list are always in the result. Without a GNU hash table, and on MIPS,
    /// the result therefore has all exports.
    pub fn exports_of<'n>(&self, names: impl Iterator<Item = &'n [u8]>) -> Vec<Symbol<'_>> {
        self.indices_of(names).into_iter().filter_map(|index| self.export(index)).collect()
    }

    /// The indices of the symbols, defined or not, that may have one of `names`. The symbols are
    /// selected as in [`Self::exports_of`].
    pub fn indices_of<'n>(&self, names: impl Iterator<Item = &'n [u8]>) -> Vec<SymbolIndex> {
        let mut found: Vec<SymbolIndex> = self.unhashed_indices().collect();
        for hash in names.map(hash::gnu).filter(|hash| self.bloom().may_hold(*hash)) {
            self.walk_gnu(hash, None, &mut |index| {
                found.push(index);
                None::<()>
            });
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The thread-local symbols, and all symbols that may have one of `names`, if other files of a
    /// link refer to them or define them by their name alone. No other name is read.
    pub fn linked_symbols(&self, names: &[&[u8]]) -> Vec<Symbol<'_>> {
        let thread_local = self.indices().filter(|index| self.is_thread_local(*index));
        let named = match names {
            [] => Vec::new(),
            _ => self.indices_of(names.iter().copied()),
        };
        let all = thread_local.chain(named).filter_map(|index| self.symbol(index));
        let is_global = |symbol: &Symbol<'_>| elf::SymbolBind(symbol.bind) != elf::STB_LOCAL;
        all.filter(|symbol| is_global(symbol) && symbol.has_plain_name()).collect()
    }

    /// The indices of all symbols, without the reserved index 0.
    pub fn indices(&self) -> impl ExactSizeIterator<Item = SymbolIndex> + use<> {
        (1..self.count).map(SymbolIndex::new)
    }

    /// The indices of the symbols below [`Self::unhashed_end`], without the reserved index 0.
    pub fn unhashed_indices(&self) -> impl Iterator<Item = SymbolIndex> + use<> {
        (1..self.unhashed_end().number()).map(SymbolIndex::new)
    }

    /// The indices of the symbols that a GNU hash table lists. Empty on MIPS.
    pub fn hashed_indices(&self) -> impl ExactSizeIterator<Item = SymbolIndex> + use<> {
        (self.unhashed_end().number()..self.count).map(SymbolIndex::new)
    }

    /// The symbol at `index`, if the loader can bind other objects to it.
    pub fn export(&self, index: SymbolIndex) -> Option<Symbol<'_>> {
        // Most symbols of a plugin are undefined, and this check is cheaper than reading the name.
        let defined = self.has(index, |_| true);
        let symbol = if defined { self.symbol(index) } else { None };
        symbol.filter(Symbol::is_export)
    }

    /// The symbol at `index`, if it is an export with the binding STB_GLOBAL. Most exports of C++
    /// libraries are weak, and the names of weak symbols are not read.
    pub fn strong_export(&self, index: SymbolIndex) -> Option<Symbol<'_>> {
        let strong = self.has(index, |bind| bind == elf::STB_GLOBAL);
        let symbol = if strong { self.symbol(index) } else { None };
        symbol.filter(Symbol::is_export)
    }

    /// True if the symbol at `index` is defined and has a binding that `is_wanted` accepts.
    fn has(&self, index: SymbolIndex, is_wanted: impl Fn(elf::SymbolBind) -> bool) -> bool {
        if self.is_64 {
            self.has_as::<elf::FileHeader64<Endianness>>(index, is_wanted)
        } else {
            self.has_as::<elf::FileHeader32<Endianness>>(index, is_wanted)
        }
    }

    fn has_as<H: FileHeader<Endian = Endianness>>(
        &self,
        index: SymbolIndex,
        is_wanted: impl Fn(elf::SymbolBind) -> bool,
    ) -> bool {
        self.raw::<H>(index).is_some_and(|symbol| {
            symbol.st_shndx(endian(self.big)) != elf::SHN_UNDEF && is_wanted(symbol.st_bind())
        })
    }
}
