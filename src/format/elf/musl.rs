//! The lookup of one name in one object, as in musl (`ldso/dynlink.c`, `find_sym2`, `gnu_lookup`,
//! `sysv_lookup`). The lookup ignores version names, skips hidden versions, and checks only the
//! first match of a chain.

use super::find::FoundSymbol;
use super::tables::{Bloom, Symbol};
use super::{Object, hash};
use object::elf;

impl Object {
    /// The definition of `name` that musl finds in this object. With `need_def`, an undefined entry
    /// with a value is not a definition.
    pub fn find_musl(&self, name: &[u8], need_def: bool) -> Option<FoundSymbol> {
        let tables = self.tables.as_ref()?;
        let gnu = hash::gnu(name);
        if !Bloom::may_hold(tables.bloom(), gnu) {
            return None;
        }
        let mut visit = |index| match tables.symbol(index) {
            Some(symbol) if symbol.name == name && visible(&symbol, self) => {
                Some(candidate(&symbol))
            }
            _ => None,
        };
        let found = tables.walk(gnu, || hash::sysv(name), None, &mut visit)?;
        let symbol = tables.symbol(found.symbol)?;
        let tls = symbol.kind == elf::STT_TLS.0;
        let usable = (symbol.value != 0 || tls)
            && !(found.undefined && (need_def || tls))
            && matches!(
                elf::SymbolType(symbol.kind),
                elf::STT_NOTYPE | elf::STT_OBJECT | elf::STT_FUNC | elf::STT_COMMON | elf::STT_TLS
            )
            && matches!(
                elf::SymbolBind(symbol.bind),
                elf::STB_GLOBAL | elf::STB_WEAK | elf::STB_GNU_UNIQUE
            );
        usable.then_some(found)
    }
}

fn visible(symbol: &Symbol<'_>, object: &Object) -> bool {
    !object.versions.has_versym || symbol.is_default_version()
}

fn candidate(symbol: &Symbol<'_>) -> FoundSymbol {
    FoundSymbol {
        symbol: symbol.index,
        bind: symbol.bind,
        visibility: symbol.visibility,
        undefined: symbol.section == elf::SHN_UNDEF.0,
        size: symbol.size,
        versionless: false,
    }
}
