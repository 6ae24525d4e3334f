//! Compares how this crate and goblin read an ELF file: soname, search paths, needs, program
//! headers, and dynamic symbols with their versions.

use super::{MOST, ReadingDifference, SecondReading, guard};
use crate::format::elf::{NeedKind, Object, Str, Tables};
use crate::format::read_range;
use crate::id::FastMap;
use crate::tree::Handle;
use goblin::elf::symver::{VerdefSection, VerneedSection};
use goblin::elf::{Elf, dynamic, section_header, sym};

/// Reads the file with goblin, and compares the result with `object`. The object must have its
/// dynamic tables and no defects.
pub fn compare(file: &Handle, object: &Object) -> SecondReading {
    if file.stat().len > MOST {
        return SecondReading::GaveUp("larger than the second reader takes");
    }
    let Ok(mut bytes) = read_range(file, 0, MOST) else {
        return SecondReading::GaveUp("could not be read again");
    };
    guard(|| {
        if let Ok(elf) = Elf::parse(&bytes) {
            return SecondReading::Read(differences(object, &elf));
        }
        // goblin fails on damaged section headers, which loaders ignore. For the second attempt,
        // the section headers are hidden.
        forget_sections(&mut bytes, object.header.is_64);
        match Elf::parse(&bytes) {
            Ok(elf) => SecondReading::Read(differences(object, &elf)),
            Err(_) => SecondReading::GaveUp("the second reader does not take it"),
        }
    })
}

fn forget_sections(bytes: &mut [u8], is_64: bool) {
    let places = if is_64 { [40..48, 60..64] } else { [32..36, 48..52] };
    for place in places {
        bytes.get_mut(place).unwrap_or_default().fill(0);
    }
}

fn differences(object: &Object, elf: &Elf<'_>) -> Vec<ReadingDifference> {
    let mut out = Vec::new();
    let mut hold = |what: &str, ours: &[u8], theirs: &[u8]| {
        if ours != theirs {
            out.push(ReadingDifference::new(what, Some(ours), Some(theirs)));
        }
    };
    let text = |s: Option<Str>| s.map(|s| object.str(s)).unwrap_or_default();
    hold("soname", text(object.soname), elf.soname.unwrap_or_default().as_bytes());
    hold("rpath", text(object.rpath), elf.rpaths.join(":").as_bytes());
    hold("runpath", text(object.runpath), elf.runpaths.join(":").as_bytes());
    let needs: Vec<&[u8]> = object
        .needs
        .iter()
        .filter(|need| need.kind == NeedKind::Needed)
        .map(|need| object.str(need.name))
        .collect();
    if object.needs_left_out == 0 {
        hold("needs", &needs.join(&b' '), elf.libraries.join(" ").as_bytes());
    }
    let ours = object.segments.iter().map(|s| segment(s.kind, s.flags, s.vaddr, s.memsz));
    let theirs = elf.program_headers.iter();
    let theirs = theirs.map(|s| segment(s.p_type, s.p_flags, s.p_vaddr, s.p_memsz));
    hold(
        "program headers",
        ours.collect::<Vec<_>>().join(" ").as_bytes(),
        theirs.collect::<Vec<_>>().join(" ").as_bytes(),
    );
    if let Some(tables) = &object.tables {
        symbols(object, tables, elf, &mut out);
    }
    out
}

/// A program header as text: its type, its flags, its address, and its size in memory.
fn segment(kind: u32, flags: u32, vaddr: u64, memsz: u64) -> String {
    format!("{kind:#x}:{flags:#x}:{vaddr:#x}+{memsz:#x}")
}

/// Compares the dynamic symbols that both readers found. ELF does not store their number, so each
/// reader infers it.
fn symbols(object: &Object, tables: &Tables, elf: &Elf<'_>, out: &mut Vec<ReadingDifference>) {
    let versions = versions(object, elf);
    let count = tables.symbols().last().map_or(0, |last| last.index.position() + 1);
    for (index, theirs) in tables.indices().zip(elf.dynsyms.iter().take(count).skip(1)) {
        let Some(ours) = tables.symbol(index) else { continue };
        let version = versions.as_ref().map(|known| {
            let entry = object.versions.entry(ours.versym & 0x7fff);
            let number = elf.versym.as_ref().and_then(|table| table.get_at(index.position()));
            let theirs = number.and_then(|number| known.get(&number.version()).copied());
            (entry.map(|entry| object.str(entry.name)), theirs.map(str::as_bytes))
        });
        let (our_version, their_version) = version.unwrap_or_default();
        let name = elf.dynstrtab.get_at(theirs.st_name).unwrap_or_default();
        let a = describe(ours.name, our_version, ours.bind, ours.section == 0);
        let (bind, undefined) = (sym::st_bind(theirs.st_info), theirs.st_shndx == 0);
        let b = describe(name.as_bytes(), their_version, bind, undefined);
        if a != b {
            out.push(ReadingDifference::new(
                format!("symbol {}", index.number()),
                Some(&a),
                Some(&b),
            ));
        }
    }
}

fn describe(name: &[u8], version: Option<&[u8]>, bind: u8, undefined: bool) -> Vec<u8> {
    let at = if version.is_some() { &b"@"[..] } else { b"" };
    let place: &[u8] = if undefined { b", undefined" } else { b"" };
    let bind = sym::bind_to_str(bind).as_bytes();
    [name, at, version.unwrap_or_default(), b", ", bind, place].concat()
}

/// The names of the versions that goblin found, by version index, without the base version. A
/// defined version replaces a needed one with the same index. `None` if the versions cannot be
/// compared, for example if section headers and dynamic section name different tables.
fn versions<'e>(object: &Object, elf: &'e Elf<'_>) -> Option<FastMap<u16, &'e str>> {
    let tables = [
        (section_header::SHT_GNU_VERSYM, dynamic::DT_VERSYM),
        (section_header::SHT_GNU_VERDEF, dynamic::DT_VERDEF),
        (section_header::SHT_GNU_VERNEED, dynamic::DT_VERNEED),
    ];
    let same = |(kind, tag): (u32, u64)| {
        let section = elf.section_headers.iter().rfind(|header| header.sh_type == kind);
        let entries = &elf.dynamic.as_ref()?.dyns;
        let entry = entries.iter().rfind(|entry| entry.d_tag == tag);
        Some(section.map(|header| header.sh_addr) == entry.map(|entry| entry.d_val))
    };
    if !object.versions.has_versym || !tables.into_iter().all(|pair| same(pair) == Some(true)) {
        return None;
    }
    let mut out = FastMap::default();
    // The links between records may form a cycle, and record counts may be wrong.
    let most = u16::MAX;
    let mut left = most;
    for need in elf.verneed.iter().flat_map(VerneedSection::iter).take(most.into()) {
        for aux in &need {
            left = left.checked_sub(1)?;
            out.insert(aux.vna_other & 0x7fff, elf.dynstrtab.get_at(aux.vna_name)?);
        }
    }
    for def in elf.verdef.iter().flat_map(VerdefSection::iter).take(most.into()) {
        if def.vd_flags & 1 == 0
            && let Some(aux) = def.iter().next()
        {
            out.insert(def.vd_ndx & 0x7fff, elf.dynstrtab.get_at(aux.vda_name)?);
        }
    }
    Some(out)
}
