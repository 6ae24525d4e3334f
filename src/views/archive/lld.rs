//! The tables of `ld.lld --why-extract` and `--print-archive-stats` (lld 19, `ELF/MapFile.cpp`,
//! `writeWhyExtract` and `writeArchiveStats`). Names are not demangled, and lack the suffix
//! of a default version (`@@VERSION`).

use super::ArchiveAnswer;
use crate::cover::{ArchiveSet, ReferredBy};
use crate::id::{ArchiveId, FastMap, MemberId};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// `--why-extract`: each extracted member, with the symbol and the referrer that needed it.
pub fn why_extract(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b"reference\textracted\tsymbol\n")?;
    // Members of --whole-archive are linked without extraction.
    for needed in view.coverage.needed.iter().filter(|needed| !needed.symbol.is_empty()) {
        let reference = match needed.by {
            ReferredBy::Asked => b"<internal>".to_vec(),
            ReferredBy::EntryPoint => b"--entry".to_vec(),
            ReferredBy::Root(at) => view.roots[at].path.as_os_str().as_bytes().to_vec(),
            ReferredBy::Member(member) => name(view, library, member),
        };
        let extracted = name(view, library, needed.holder);
        out.write_all(&[&*reference, b"\t", &extracted, b"\t", &needed.symbol, b"\n"].concat())?;
    }
    Ok(())
}

/// `--print-archive-stats`: for each archive, the number of members and of extracted members.
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
    let name = library.member_name(member);
    // A member of a thin archive is shown as the path of its file.
    let dir = typed_dir(path).filter(|_| library.entry(archive).members.thin);
    let name = dir.map_or_else(|| name.to_vec(), |dir| join(dir, name));
    [path.as_os_str().as_bytes(), b"(", &name, b")"].concat()
}

fn typed_dir(path: &Path) -> Option<&Path> {
    path.parent().filter(|dir| !dir.as_os_str().is_empty())
}

fn join(dir: &Path, name: &[u8]) -> Vec<u8> {
    dir.join(OsStr::from_bytes(name)).into_os_string().into_encoded_bytes()
}
