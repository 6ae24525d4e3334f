//! Members for which a linker rejects the link even if no reference needs them. mold ignores them.

use super::ArchiveAnswer;
use crate::cover::{ArchiveSet, Link, LinkInput, Linker};
use crate::format::archive::{Member, MemberKind};
use crate::id::MemberId;
use crate::views::count;
use std::io::{self, Write};

/// The reason why a linker rejects a member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rejection {
    /// `--whole-archive` links all members, and this one is not an object.
    NotObject,
    /// A thin archive names the member by its position in another archive, and lld does not read
    /// such names.
    InOtherArchive,
}

impl Rejection {
    const ALL: &[Self] = &[Self::NotObject, Self::InOtherArchive];

    /// The reason in words, after a number of members.
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
        }
    }

    /// The reason for one member.
    pub(super) fn reason(self) -> &'static str {
        self.words().0
    }

    /// The reason why the linker rejects a member of an archive; `whole` is true if the link has
    /// all members of the archive.
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
}

/// The members of the inputs that the linker rejects, in the order of the archives.
pub(super) fn find(library: &ArchiveSet, link: &Link) -> Vec<(MemberId, Rejection)> {
    let mut out = Vec::new();
    for input in &link.inputs {
        let (LinkInput::Archive(archive) | LinkInput::Whole(archive)) = input else { continue };
        let whole = matches!(input, LinkInput::Whole(_));
        let members = library.members_of(*archive);
        out.extend(members.filter_map(|member| {
            Some((member, Rejection::of(link.linker, library.member(member), whole)?))
        }));
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Writes a line for each reason.
pub(super) fn write(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    out: &mut dyn Write,
) -> io::Result<()> {
    let linker = view.linker.map_or("", Linker::name);
    for rejection in Rejection::ALL {
        let mut found = view.rejected.iter().filter(|(_, of)| of == rejection);
        let total = found.clone().count();
        if let Some((first, _)) = found.next() {
            let (one, many) = rejection.words();
            let (text, first) = (count(total, one, many), view.member(library, *first));
            writeln!(out, "{text}: {linker} refuses the link, {first} first")?;
        }
    }
    Ok(())
}
