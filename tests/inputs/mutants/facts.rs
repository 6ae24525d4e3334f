//! The facts of a file, as linkaudit and readelf print them.
//!
//! readelf trusts section headers if there are any, and the loader never reads them. So readelf
//! gets a copy without section headers.

use std::collections::BTreeSet;
use std::path::Path;

use super::bounded::run;
use super::elf_file::{DT_STRSZ, ElfFile};

pub type Name = Vec<u8>;
pub type Symbol = (Name, Option<Name>);

#[derive(Clone, PartialEq, Eq, Default)]
pub struct Facts {
    pub needed: Vec<Name>,
    pub soname: Option<Name>,
    pub rpath: Option<Name>,
    pub runpath: Option<Name>,
    /// Defined symbols to which others can bind, with their versions; `None` if unknown.
    pub exports: Option<BTreeSet<Symbol>>,
    /// Names of `DT_AUXILIARY` and `DT_FILTER`, which linkaudit may list among the needs.
    pub filters: Vec<Name>,
}

/// A defined symbol as readelf prints it: control characters as `^X`, and the symbol of a version
/// without that version.
pub fn exported(name: &[u8], version: Option<Name>) -> Symbol {
    let version = version.filter(|version| version != name);
    let mut shown = Vec::new();
    for byte in name {
        if byte.is_ascii_control() {
            shown.push(b'^');
            shown.push(byte + 0x40);
        } else {
            shown.push(*byte);
        }
    }
    (shown, version)
}

/// A symbol as readelf and people write it.
pub fn symbol((name, version): &Symbol) -> String {
    let version = version.as_ref().map(|version| format!("@{}", version.escape_ascii()));
    format!("{}{}", name.escape_ascii(), version.unwrap_or_default())
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |name: &Name| name.escape_ascii().to_string();
        f.debug_struct("Facts")
            .field("needed", &self.needed.iter().map(text).collect::<Vec<_>>())
            .field("soname", &self.soname.as_ref().map(text))
            .field("rpath", &self.rpath.as_ref().map(text))
            .field("runpath", &self.runpath.as_ref().map(text))
            .field("exports", &self.exports.iter().flatten().map(symbol).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Facts {
    /// The first difference in the facts that decide which files are loaded.
    pub fn difference(&self, theirs: &Facts) -> Option<&'static str> {
        let needed = |facts: &Facts| -> Vec<Name> {
            facts.needed.iter().filter(|name| !theirs.filters.contains(name)).cloned().collect()
        };
        if needed(self) != needed(theirs) {
            return Some("needed");
        }
        if self.soname != theirs.soname {
            return Some("soname");
        }
        if self.runpath != theirs.runpath {
            return Some("runpath");
        }
        // With a RUNPATH the loader drops the RPATH.
        (self.runpath.is_none() && self.rpath != theirs.rpath).then_some("rpath")
    }
}

/// The copy for readelf.
fn without_sections(bytes: &[u8]) -> Vec<u8> {
    let Some(mut elf) = ElfFile::new(bytes.to_vec()) else { return bytes.to_vec() };
    let (offset, counts) = if elf.wide() { (40, 60) } else { (32, 48) };
    let size = elf.word_size();
    elf.put(offset, size, 0);
    elf.put(counts, 4, 0);
    elf.bytes
}

/// True if readelf reads a table in another way than the loader. If a table has two entries, the
/// loader takes the last and readelf the first. readelf treats address 0 as no table. The loader
/// does not need the size of the strings.
fn goes_its_own_way(bytes: &[u8]) -> bool {
    let Some(elf) = ElfFile::new(bytes.to_vec()) else { return false };
    let table =
        |tag: u64| matches!(tag, 4..=11 | 0x6fff_fef5 | 0x6fff_fff0 | 0x6fff_fffc..=0x6fff_ffff);
    let mut tables = elf.dynamic();
    tables.retain(|entry| table(entry.tag));
    tables.sort_by_key(|entry| entry.tag);
    tables.windows(2).any(|pair| pair[0].tag == pair[1].tag)
        || tables.iter().any(|entry| entry.value == 0)
        || tables.iter().all(|entry| entry.tag != DT_STRSZ)
}

/// The facts as readelf reads them. `None` if readelf reports a problem, crashes, or reads the file
/// in another way than the loader.
pub fn readelf(dir: &Path, bytes: &[u8]) -> Option<Facts> {
    if goes_its_own_way(bytes) {
        return None;
    }
    let copy = dir.join("without-sections");
    std::fs::write(&copy, without_sections(bytes)).expect("a copy");
    let output = run(dir, 10, &["readelf", "-D", "-dsW", "without-sections"]);
    let doubt = output.stdout.windows(8).any(|word| word == b"<corrupt");
    if output.code() != Some(0) || !output.stderr.is_empty() || doubt {
        return None;
    }
    let mut facts = Facts::default();
    for line in output.stdout.split(|byte| *byte == b'\n') {
        if line.starts_with(b"Symbol table for image") {
            facts.exports = Some(BTreeSet::new());
        } else if let Some(exports) = &mut facts.exports {
            exports.extend(export(line)?);
        } else if let Some((tag, string)) = dynamic(line) {
            match tag {
                1 => facts.needed.push(string),
                14 => facts.soname = Some(string),
                15 => facts.rpath = Some(string),
                29 => facts.runpath = Some(string),
                0x7fff_fffd | 0x7fff_ffff => facts.filters.push(string),
                _ => {}
            }
        }
    }
    Some(facts)
}

/// The tag and the bracketed string of a line of the dynamic section.
fn dynamic(line: &[u8]) -> Option<(u64, Name)> {
    let text = line.trim_ascii_start().strip_prefix(b"0x")?;
    let digits = text.split(|byte| *byte == b' ').next()?;
    let tag = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let start = text.iter().position(|byte| *byte == b'[')? + 1;
    let end = text.iter().rposition(|byte| *byte == b']')?;
    Some((tag, text.get(start..end)?.to_vec()))
}

/// The export in this line of a symbol table, if any; `None` if the line cannot be parsed.
#[allow(clippy::option_option, reason = "no line, a line of no export, an export")]
fn export(line: &[u8]) -> Option<Option<Symbol>> {
    let words: Vec<&[u8]> =
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let number = words.first().is_some_and(|word| word[0].is_ascii_digit());
    if !number {
        return Some(None);
    }
    let [_, value, _, kind, bind, visibility, section, rest @ ..] = words.as_slice() else {
        return None;
    };
    if rest.len() > 1 && !rest[1].starts_with(b"(") || rest.first().is_some_and(|w| w[0] == b'[') {
        return None;
    }
    let types: [&[u8]; 6] = [b"NOTYPE", b"OBJECT", b"FUNC", b"COMMON", b"TLS", b"IFUNC"];
    let zero = value.iter().all(|digit| *digit == b'0');
    let visible = types.contains(kind)
        && matches!(*bind, b"GLOBAL" | b"WEAK" | b"UNIQUE")
        && matches!(*visibility, b"DEFAULT" | b"PROTECTED")
        && *section != b"UND"
        && (!zero || *section == b"ABS" || *kind == b"TLS");
    let Some(name) = rest.first().filter(|_| visible) else { return Some(None) };
    let mut parts = name.splitn(2, |byte| *byte == b'@');
    let name = parts.next()?;
    let version = parts.next().map(|version| version.strip_prefix(b"@").unwrap_or(version));
    Some(Some(exported(name, version.map(<[u8]>::to_vec))))
}
