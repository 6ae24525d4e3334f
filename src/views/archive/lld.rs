//! The tables of `ld.lld --why-extract` and `--print-archive-stats` (lld 19, `ELF/MapFile.cpp`,
//! `writeWhyExtract` and `writeArchiveStats`). Names are those of symbol tables, as with
//! `--no-demangle`: scripts compare them, and demanglers differ.

use super::ArchiveAnswer;
use crate::cover::{ArchiveSet, ReferredBy};
use crate::id::{ArchiveId, FastMap, MemberId};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;

/// `--why-extract`: each extracted member, with the symbol and the referrer that needed it.
pub fn why_extract(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b"reference\textracted\tsymbol\n")?;
    let versions = default_versions(view, library);
    // Members of --whole-archive are linked without extraction.
    for needed in view.coverage.needed.iter().filter(|needed| !needed.symbol.is_empty()) {
        let reference = match needed.by {
            ReferredBy::Asked => b"<internal>".to_vec(),
            ReferredBy::EntryPoint => b"--entry".to_vec(),
            ReferredBy::LibraryCall => b"<libcall>".to_vec(),
            ReferredBy::Root(at) => view.roots[at].path.as_os_str().as_bytes().to_vec(),
            ReferredBy::Member(member) => name(view, library, member),
        };
        let extracted = name(view, library, needed.holder);
        out.write_all(&[&*reference, b"\t", &extracted, b"\t", &needed.symbol].concat())?;
        if let Some(version) = versions.get(&*needed.symbol) {
            out.write_all(&[b"@", *version].concat())?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The default version of each name that has one in some input, as `@VERSION`. lld appends it to
/// the name wherever it shows it, even if another file defines the name (`SymbolTable::insert`).
fn default_versions<'l>(
    view: &'l ArchiveAnswer,
    library: &'l ArchiveSet,
) -> FastMap<&'l [u8], &'l [u8]> {
    let archives = view.archives.iter().chain(&view.candidates);
    let members = archives.flat_map(|(archive, _)| library.members_of(*archive));
    let of_members = members.flat_map(|member| library.default_versions(member));
    let of_roots = view.roots.iter().flat_map(|root| &root.default_versions);
    let names = of_members.map(|(name, _)| name).chain(of_roots.map(|(name, _)| &**name));
    names.filter_map(|name| name.split_at_checked(memchr::memchr(b'@', name)?)).collect()
}

/// `--print-archive-stats`: for each archive, the number of members and of extracted members. lld
/// has no line for an archive under `--whole-archive`.
pub fn archive_stats(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b"members\textracted\tarchive\n")?;
    let mut taken: FastMap<ArchiveId, usize> = FastMap::default();
    for needed in &view.coverage.needed {
        *taken.entry(library.archive_of(needed.member)).or_default() += 1;
    }
    for (archive, path) in &view.typed {
        // If an archive is given twice, the second one has no members left to extract.
        let taken = taken.remove(archive).unwrap_or(0);
        let members = library.entry(*archive).members.list.len();
        out.write_all(format!("{members}\t{taken}\t").as_bytes())?;
        out.write_all(path.as_os_str().as_bytes())?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// `ARCHIVE(MEMBER)`, with the path of the archive as on the command line. For an object between
/// `--start-lib` and `--end-lib`, only its path.
fn name(view: &ArchiveAnswer, library: &ArchiveSet, member: MemberId) -> Vec<u8> {
    let archive = library.archive_of(member);
    let typed = view.archives.iter().chain(&view.candidates);
    let mut typed = typed.filter(|(known, _)| *known == archive).map(|(_, path)| path.as_path());
    let path = typed.next().unwrap_or(&library.entry(archive).path);
    if view.lazy.contains(&archive) {
        return path.as_os_str().as_bytes().to_vec();
    }
    [path.as_os_str().as_bytes(), b"(", library.member_name(member), b")"].concat()
}
