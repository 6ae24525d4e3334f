//! Members, objects, shared objects and programs that make a linker reject the link, even if no
//! reference needs them. mold ignores members that are not objects.

use super::ArchiveAnswer;
use crate::cover::{ArchiveSet, Link, LinkInput, Linker, ReferredBy, ReferringFile};
use crate::format::archive::{Member, MemberKind};
use crate::format::elf::Object;
use crate::id::{FastSet, MemberId};
use crate::views::count;
use object::elf;
use std::io::{self, Write};

/// The roots, the ELF object of each root if it has one, and the indices of the roots that are read
/// after `-static`.
pub(super) type RootFiles<'a> = (&'a [ReferringFile], &'a [Option<&'a Object>], &'a FastSet<usize>);

/// A file that a linker rejects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RejectedFile {
    /// A member of an archive.
    Member(MemberId),
    /// A file of [`ArchiveAnswer::roots`], by its index.
    Root(usize),
}

/// The reason why a linker rejects a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rejection {
    /// `--whole-archive` links all members, and this member is not an object.
    NotObject,
    /// A thin archive names the member by its position in another archive, and lld does not read
    /// such names.
    InOtherArchive,
    /// `-static` precedes a shared object.
    StaticLink,
    /// A program is an input.
    Program,
    /// The object refers to a local symbol of its copy of a COMDAT group, which is discarded.
    DiscardedSymbol,
}

impl Rejection {
    const ALL: &[Self] = &[
        Self::NotObject,
        Self::InOtherArchive,
        Self::StaticLink,
        Self::Program,
        Self::DiscardedSymbol,
    ];

    /// The reason in words, in the singular and the plural. Outputs write the number of files
    /// before these words.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::NotObject => (
                "member under --whole-archive is not an object",
                "members under --whole-archive are not objects",
            ),
            Self::InOtherArchive => (
                "member of a thin archive is in another archive",
                "members of thin archives are in other archives",
            ),
            Self::StaticLink => {
                ("shared object is linked with -static", "shared objects are linked with -static")
            }
            Self::Program => ("input is an executable", "inputs are executables"),
            Self::DiscardedSymbol => (
                "object refers to a local symbol of its discarded copy of a COMDAT group",
                "objects refer to local symbols of their discarded copies of COMDAT groups",
            ),
        }
    }

    /// The reason in words, for one file.
    pub(super) fn reason(self) -> &'static str {
        self.words().0
    }

    /// The reason why the linker rejects a member of an archive; `None` if it accepts the member.
    /// `whole` is true if the link has all members of the archive.
    fn of(linker: Linker, member: &Member, whole: bool) -> Option<Self> {
        if linker == Linker::Lld && member.in_other_archive {
            return Some(Self::InOtherArchive);
        }
        let is_other = match member.kind {
            MemberKind::Other | MemberKind::Nested => linker != Linker::Mold,
            // GNU ld links a shared object in an archive.
            MemberKind::NotRelocatable => linker == Linker::Lld,
            _ => false,
        };
        (whole && is_other).then_some(Self::NotObject)
    }

    /// The reason why the linker rejects a shared object or program; `None` if it accepts the file.
    fn of_linked(linker: Linker, object: &Object, is_static: bool) -> Option<Self> {
        // GNU ld rejects position-independent programs too (`ldelf_after_open`).
        let is_program = object.header.kind == elf::ET_EXEC.0;
        if is_program || object.pie && linker == Linker::Gnu {
            return Some(Self::Program);
        }
        // In mold, `-static` affects only `-l`.
        (is_static && linker != Linker::Mold).then_some(Self::StaticLink)
    }
}

/// The inputs that the linker rejects: members in the order of the archives, then roots. `entering`
/// are those that refer to local symbols of discarded copies.
pub(super) fn find(
    library: &ArchiveSet,
    link: &Link,
    (roots, objects, in_static): RootFiles<'_>,
    entering: &[ReferredBy],
) -> Vec<(RejectedFile, Rejection)> {
    let mut out = Vec::new();
    for input in &link.inputs {
        let (LinkInput::Archive(archive) | LinkInput::Whole(archive)) = input else { continue };
        let whole = matches!(input, LinkInput::Whole(_));
        let members = library.members_of(*archive);
        out.extend(members.filter_map(|member| {
            let rejection = Rejection::of(link.linker, library.member(member), whole)?;
            Some((RejectedFile::Member(member), rejection))
        }));
    }
    let linked = roots.iter().zip(objects).enumerate();
    let linked = linked.filter(|(_, (root, _))| root.input && root.linked);
    out.extend(linked.filter_map(|(at, (_, object))| {
        let rejection = Rejection::of_linked(link.linker, (*object)?, in_static.contains(&at))?;
        Some((RejectedFile::Root(at), rejection))
    }));
    out.extend(entering.iter().filter_map(|by| {
        let file = match by {
            ReferredBy::Member(member) => RejectedFile::Member(*member),
            ReferredBy::Root(at) => RejectedFile::Root(*at),
            ReferredBy::Asked | ReferredBy::EntryPoint | ReferredBy::LibraryCall => return None,
        };
        Some((file, Rejection::DiscardedSymbol))
    }));
    out.sort_unstable();
    out.dedup();
    out
}

/// Writes one line for each reason: the number of rejected files, and the first one.
pub(super) fn write(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    out: &mut dyn Write,
) -> io::Result<()> {
    let linker = view.linker.map_or("", Linker::title);
    for rejection in Rejection::ALL {
        let mut found = view.rejected.iter().filter(|(_, of)| of == rejection);
        let total = found.clone().count();
        if let Some((first, _)) = found.next() {
            let (one, many) = rejection.words();
            let by = match first {
                RejectedFile::Member(member) => ReferredBy::Member(*member),
                RejectedFile::Root(at) => ReferredBy::Root(*at),
            };
            let (text, first) = (count(total, one, many), view.who(library, by));
            writeln!(out, "{text}: {linker} refuses the link, {first} first")?;
        }
    }
    Ok(())
}
