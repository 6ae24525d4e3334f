//! The facts of an object as lines, in the words of `readelf`.

use linkaudit::format::elf::find::{SymbolQuery, WantedVersion};
use linkaudit::format::elf::tables::Symbol;
use linkaudit::format::elf::{NeedKind, Object, hash};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Needs, names, search paths, and every dynamic symbol with its version.
pub(crate) fn of(object: &Object) -> Vec<String> {
    let mut out = Vec::new();
    for need in object.needs.iter().filter(|need| need.kind == NeedKind::Needed) {
        out.push(format!("needed {}", text(object.str(need.name))));
    }
    for (word, value) in
        [("soname", object.soname), ("rpath", object.rpath), ("runpath", object.runpath)]
    {
        out.extend(value.map(|value| format!("{word} {}", text(object.str(value)))));
    }
    let Some(tables) = &object.tables else { return out };
    out.extend(tables.symbols().map(|symbol| line(object, &symbol)));
    out
}

fn line(object: &Object, symbol: &Symbol<'_>) -> String {
    // readelf writes the section's name where a section symbol has none.
    let name = if symbol.kind == 3 { String::new() } else { text(symbol.name) };
    format!(
        "{} {name} {:x} {} bind {} type {} vis {} section {} version {}",
        symbol.index.number(),
        symbol.value,
        symbol.size,
        symbol.bind,
        symbol.kind,
        symbol.visibility,
        symbol.section,
        version(object, symbol.versym)
    )
}

/// As `readelf -V` writes it: the index, `h` if it is hidden, and the name.
fn version(object: &Object, versym: u16) -> String {
    if !object.versions.has_versym {
        return "none".to_owned();
    }
    let index = versym & 0x7fff;
    let hidden = if versym & 0x8000 == 0 { "" } else { "h" };
    let base = object.versions.defs.iter().find(|def| def.base && def.index == index);
    let name = match (index, object.versions.entry(index), base) {
        (0, ..) => "*local*".to_owned(),
        (1, ..) => "*global*".to_owned(),
        (_, Some(entry), _) => text(object.str(entry.name)),
        (_, None, Some(def)) => text(object.str(def.name)),
        (_, None, None) => "?".to_owned(),
    };
    format!("{index:x}{hidden} {name}")
}

/// Exported definitions that a lookup of their own name and version does not lead to; `asked`
/// counts the lookups.
pub(crate) fn not_found(object: &Object, asked: &mut usize) -> Vec<String> {
    let Some(tables) = &object.tables else { return Vec::new() };
    let mut lost = Vec::new();
    for symbol in tables.symbols().filter(Symbol::is_export) {
        *asked += 1;
        let entry = object.versions.entry(symbol.versym & 0x7fff);
        let wanted = entry.map(|entry| WantedVersion {
            hash: entry.hash,
            name: object.str(entry.name),
            hidden: false,
        });
        let query = SymbolQuery::new(symbol.name, hash::gnu(symbol.name), wanted);
        let found = object.find(&query, u16::MAX).and_then(|found| tables.symbol(found.symbol));
        let same = found.is_some_and(|found| {
            found.name == symbol.name && found.versym & 0x7fff == symbol.versym & 0x7fff
        });
        if !same || !tables.bloom().may_hold(query.hash) {
            lost.push(format!("{} is not found through the hash table", text(symbol.name)));
        }
    }
    lost
}
