//! The two tables that `ld.lld --why-extract` and `--print-archive-stats` write (lld 19,
//! `ELF/MapFile.cpp`, `writeWhyExtract` and `writeArchiveStats`), names not demangled.

use super::Archive;
use crate::cover::{By, Library};
use crate::id::{ArchiveId, FastMap, MemberId};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// `--why-extract`: what was taken, for which symbol, and for whom.
pub fn why_extract(view: &Archive, library: &Library, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"reference\textracted\tsymbol\n")?;
    for needed in &view.coverage.needed {
        let reference = match needed.by {
            By::Asked => b"<internal>".to_vec(),
            By::Root(at) => view.roots[at].path.as_os_str().as_bytes().to_vec(),
            By::Member(member) => name(view, library, member),
            // lld says nothing of what data in place of a common symbol takes.
            By::Common => continue,
        };
        let extracted = name(view, library, needed.member);
        out.write_all(&[&*reference, b"\t", &extracted, b"\t", &needed.symbol, b"\n"].concat())?;
    }
    Ok(())
}

/// `--print-archive-stats`: how many members every archive has, and how many of them were taken.
pub fn archive_stats(view: &Archive, library: &Library, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"members\textracted\tarchive\n")?;
    let mut taken: FastMap<ArchiveId, usize> = FastMap::default();
    for needed in &view.coverage.needed {
        *taken.entry(library.archive_of(needed.member)).or_default() += 1;
    }
    for (archive, path) in view.archives.iter().chain(&view.candidates) {
        // An archive that is named again has nothing left to take.
        let taken = taken.remove(archive).unwrap_or(0);
        let members = library.shelf(*archive).members.list.len();
        out.write_all(format!("{members}\t{taken}\t").as_bytes())?;
        out.write_all(path.as_os_str().as_bytes())?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// `ARCHIVE(MEMBER)`, the archive as typed and of the member the file name.
fn name(view: &Archive, library: &Library, member: MemberId) -> Vec<u8> {
    let archive = library.archive_of(member);
    let typed = view.archives.iter().chain(&view.candidates);
    let mut typed = typed.filter(|(known, _)| *known == archive).map(|(_, path)| path);
    let path = typed.next().map(|path| path.as_os_str().as_bytes()).unwrap_or_default();
    let name = library.member_name(member);
    let name = Path::new(OsStr::from_bytes(name)).file_name().map_or(name, OsStr::as_bytes);
    [path, b"(", name, b")"].concat()
}
