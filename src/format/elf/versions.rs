//! Needed and defined versions (DT_VERNEED, DT_VERDEF). From both, the loader builds one table,
//! indexed by version index (`elf/dl-version.c`, `l_versions`).

use super::header::Header;
use super::header::endian;
use super::{Str, TextBuilder, strings};
use crate::format::{Defect, Table};
use object::{Endianness, elf};

/// A file whose versions are needed: a `Verneed` record.
#[derive(Clone, Debug)]
pub struct NeedFile {
    /// Name of the file (vn_file), such as `libc.so.6`.
    pub file: Str,
    /// The `Vernaux` records of the file, in order.
    pub versions: Box<[VersionNeed]>,
}

/// One needed version: a `Vernaux` record.
#[derive(Clone, Debug)]
pub struct VersionNeed {
    /// Name of the version (vna_name), such as `GLIBC_2.34`.
    pub name: Str,
    /// vna_hash: SysV hash of the name.
    pub hash: u32,
    /// True for VER_FLG_WEAK: the version may be missing.
    pub weak: bool,
    /// vna_other without its top bit: the index by which DT_VERSYM refers to the version.
    pub index: u16,
    /// True if vna_other has its top bit set: a definition without a version does not satisfy the
    /// need.
    pub hidden: bool,
}

/// One defined version: a `Verdef` record with its first name.
#[derive(Clone, Debug)]
pub struct VersionDef {
    /// Name of the version: vda_name of the first auxiliary record.
    pub name: Str,
    /// SysV hash of the name, as the file states it (vd_hash).
    pub hash: u32,
    /// The index by which DT_VERSYM refers to the version: vd_ndx without its top bit.
    pub index: u16,
    /// True for VER_FLG_BASE: `name` is the name of the file, which is not a version of symbols.
    pub base: bool,
}

/// The versions that one object needs and defines.
#[derive(Clone, Debug, Default)]
pub struct Versions {
    /// Needed versions (DT_VERNEED), in file order.
    pub needs: Box<[NeedFile]>,
    /// Defined versions (DT_VERDEF), in file order.
    pub defs: Box<[VersionDef]>,
    /// True if DT_VERNEED is present.
    pub has_verneed: bool,
    /// True if DT_VERDEF is present.
    pub has_verdef: bool,
    /// True if DT_VERSYM is present.
    pub has_versym: bool,
    /// The versions by index. The loader's `l_versions` has the same entries if every needed file
    /// is found.
    pub by_index: Box<[VersionEntry]>,
    /// The last index of `by_index`, or 0 if the list is empty.
    pub(super) highest: u16,
}

/// One entry of [`Versions::by_index`]. An empty entry has the hash 0, which is not the hash of any
/// version.
#[derive(Debug, Clone, Copy)]
pub struct VersionEntry {
    /// SysV hash of the name; 0 means no version.
    pub hash: u32,
    /// The name, if `hash` is not 0.
    pub name: Str,
    /// True if the needed version at this index has the top bit of vna_other set.
    pub hidden: bool,
    /// The file that must define a needed version (vn_file). `None` for a defined version.
    pub file: Option<Str>,
}

const EMPTY: VersionEntry =
    VersionEntry { hash: 0, name: Str { start: 0, len: 0 }, hidden: false, file: None };

/// The index of the first version that a library defines. Index 1 is the library itself.
pub const FIRST_VERSION: u16 = 2;

/// An upper limit for version indices that excludes no index.
pub const EVERY_VERSION: u16 = u16::MAX;

/// Upper bound for the `Vernaux` records of DT_VERNEED, and for the `Verdef` records of DT_VERDEF.
/// Offsets link the records. Without the bound, a cycle of records would never end.
const MOST_RECORDS: usize = 1 << 16;

impl Versions {
    /// The highest index in the loader's table; 0 if the loader makes no table.
    pub fn highest_index(&self) -> u16 {
        self.highest
    }

    /// The entry of a version index. `None` if no version has this index.
    pub fn entry(&self, index: u16) -> Option<&VersionEntry> {
        self.by_index.get(usize::from(index)).filter(|entry| entry.hash != 0)
    }

    /// Builds `by_index`: first from needed versions, then from defined versions, which replace
    /// needed versions of the same index. The base version, which is the name of the file, is left
    /// out.
    pub(super) fn index(&mut self) {
        let needs = || self.needs.iter().flat_map(|file| &*file.versions);
        let highest = needs()
            .map(|need| need.index)
            .chain(self.defs.iter().map(|def| def.index))
            .max()
            .unwrap_or(0);
        if highest == 0 {
            return;
        }
        let mut table = vec![EMPTY; usize::from(highest) + 1];
        for file in &self.needs {
            for need in &file.versions {
                table[usize::from(need.index)] = VersionEntry {
                    hash: need.hash,
                    name: need.name,
                    hidden: need.hidden,
                    file: Some(file.file),
                };
            }
        }
        for def in self.defs.iter().filter(|def| !def.base) {
            let entry = &mut table[usize::from(def.index)];
            *entry = VersionEntry { hash: def.hash, name: def.name, file: None, ..*entry };
        }
        (self.by_index, self.highest) = (table.into(), highest);
    }
}

/// The bytes of one version table, its file offset for defects, and the string table.
pub(super) struct VersionTable<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: u64,
    pub(super) strings: strings::StringSource<'a>,
}

impl VersionTable<'_> {
    fn record<T: object::pod::Pod + Copy>(&self, at: usize, table: Table) -> Result<T, Defect> {
        self.bytes
            .get(at..)
            .and_then(|rest| object::pod::from_bytes::<T>(rest).ok())
            .map(|(record, _)| *record)
            .ok_or(Defect::new(table, self.offset + at as u64, "a record lies outside the table"))
    }

    /// The string at offset `name` of the string table. The record at `at` refers to this string.
    fn name(
        &self,
        (name, at): (u32, usize),
        table: Table,
        text: &mut TextBuilder,
    ) -> Result<Str, Defect> {
        let what = "a record's name lies outside the string table";
        let defect = || Defect::new(table, self.offset + at as u64, what);
        self.strings.at(name as usize).map(|bytes| text.add(bytes)).ok_or_else(defect)
    }
}

/// The position of the next record, `next` bytes after `at`; `None` at the end.
fn step(at: usize, next: u32) -> Option<usize> {
    (next != 0).then(|| at.checked_add(next as usize)).flatten()
}

/// Reads DT_VERNEED. Records before a defect are kept.
pub(super) fn needs(
    header: &Header,
    source: &VersionTable<'_>,
    text: &mut TextBuilder,
    defects: &mut Vec<Defect>,
) -> Box<[NeedFile]> {
    let e = endian(header.big);
    let mut files = Vec::new();
    let mut budget = MOST_RECORDS;
    let mut at = Some(0);
    while let Some(here) = at {
        let result = need_file(e, source, here, text, &mut budget);
        match result {
            Ok((file, next)) => {
                files.push(file);
                at = step(here, next);
            }
            Err(defect) => {
                defects.push(defect);
                break;
            }
        }
    }
    files.into()
}

fn need_file(
    e: Endianness,
    source: &VersionTable<'_>,
    here: usize,
    text: &mut TextBuilder,
    budget: &mut usize,
) -> Result<(NeedFile, u32), Defect> {
    let record: elf::Verneed<Endianness> = source.record(here, Table::Verneed)?;
    if record.vn_version.get(e) != 1 {
        let what = "a record has another version than 1: the loader stops";
        return Err(Defect::new(Table::Verneed, source.offset + here as u64, what));
    }
    let file = source.name((record.vn_file.get(e), here), Table::Verneed, text)?;
    let mut versions = Vec::new();
    let mut at = here.checked_add(record.vn_aux.get(e) as usize);
    while let Some(aux) = at {
        spend(budget, Table::Verneed, source.offset)?;
        let record: elf::Vernaux<Endianness> = source.record(aux, Table::Verneed)?;
        let other = record.vna_other.get(e).0;
        versions.push(VersionNeed {
            name: source.name((record.vna_name.get(e), aux), Table::Verneed, text)?,
            hash: record.vna_hash.get(e),
            weak: record.vna_flags.get(e).0 & elf::VER_FLG_WEAK.0 != 0,
            index: other & 0x7fff,
            hidden: other & 0x8000 != 0,
        });
        at = step(aux, record.vna_next.get(e));
    }
    Ok((NeedFile { file, versions: versions.into() }, record.vn_next.get(e)))
}

fn spend(budget: &mut usize, table: Table, offset: u64) -> Result<(), Defect> {
    *budget = budget.checked_sub(1).ok_or(Defect::new(
        table,
        offset,
        "its records are linked without an end",
    ))?;
    Ok(())
}

/// Reads DT_VERDEF. Records before a defect are kept.
pub(super) fn defs(
    header: &Header,
    source: &VersionTable<'_>,
    text: &mut TextBuilder,
    defects: &mut Vec<Defect>,
) -> Box<[VersionDef]> {
    let e = endian(header.big);
    let mut out = Vec::new();
    let mut budget = MOST_RECORDS;
    let mut at = Some(0);
    while let Some(here) = at {
        let mut read = || -> Result<u32, Defect> {
            spend(&mut budget, Table::Verdef, source.offset)?;
            let record: elf::Verdef<Endianness> = source.record(here, Table::Verdef)?;
            if record.vd_version.get(e) != 1 {
                let what = "a record has another version than 1: the loader stops";
                return Err(Defect::new(Table::Verdef, source.offset + here as u64, what));
            }
            let aux_at = here.saturating_add(record.vd_aux.get(e) as usize);
            let aux: elf::Verdaux<Endianness> = source.record(aux_at, Table::Verdef)?;
            out.push(VersionDef {
                name: source.name((aux.vda_name.get(e), aux_at), Table::Verdef, text)?,
                hash: record.vd_hash.get(e),
                index: record.vd_ndx.get(e).0 & 0x7fff,
                base: record.vd_flags.get(e).0 & elf::VER_FLG_BASE.0 != 0,
            });
            Ok(record.vd_next.get(e))
        };
        match read() {
            Ok(next) => at = step(here, next),
            Err(defect) => {
                defects.push(defect);
                break;
            }
        }
    }
    out.into()
}
