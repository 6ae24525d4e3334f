//! Archive members that refer to undefined symbols. Reports and `fix` list the members by archive,
//! and the source directories in the members' names. A user may drop these sources from the build
//! instead of adding an archive.

use super::model::{Causes, ReportFinding};
use crate::finding::{EvidenceKind, FixKind};
use crate::text::{show, show_path};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Maximum number of members of one archive, and of directories, that are listed without `-v`.
const MOST_MEMBERS: usize = 3;
/// Maximum number of archives that are listed without `-v`.
const MOST_ARCHIVES: usize = 3;

/// The members by archive, and the directories of their sources.
#[derive(Default)]
pub(super) struct ReferringMembers {
    archives: BTreeMap<String, BTreeSet<String>>,
    directories: BTreeSet<String>,
    /// True if more members refer to a symbol than the report lists.
    more: bool,
}

impl ReferringMembers {
    /// Collects the referring members for findings whose fix adds an archive.
    pub(super) fn of<'r>(
        causes: &Causes<'r>,
        findings: impl Iterator<Item = &'r ReportFinding>,
    ) -> Self {
        let mut out = Self::default();
        let adds = |intent| matches!(intent, FixKind::AddToList | FixKind::LinkArchive);
        for finding in findings.filter(|finding| finding.fix.iter().any(|fix| adds(fix.intent))) {
            for evidence in causes.evidence(finding, EvidenceKind::Reference) {
                let archive = evidence.archive.as_deref().or(evidence.path.as_deref());
                let (Some(archive), Some(member)) = (archive, &evidence.member) else {
                    out.more |= evidence.reason.is_some();
                    continue;
                };
                let archive = archive.file_name().map_or(archive, Path::new);
                let last = crate::text::last_part(member);
                out.archives.entry(show_path(archive)).or_default().insert(show(last));
                out.directories.extend(source_directory(member).map(|dir| show(&dir)));
            }
        }
        out
    }

    /// The members, their archives and the directories of their sources, as a part of a sentence.
    /// `None` if no member is known.
    pub(super) fn words(&self, verbose: bool) -> Option<String> {
        if self.archives.is_empty() {
            return None;
        }
        let limit = |most| if verbose { usize::MAX } else { most };
        let some = |names: &mut dyn Iterator<Item = String>, most: usize| -> String {
            let names: Vec<String> = names.collect();
            let shown = names[..names.len().min(most)].join(", ");
            match names.len().saturating_sub(most) {
                0 => shown,
                more => format!("{shown} and {more} more"),
            }
        };
        let of = |(archive, members): (&String, &BTreeSet<String>)| {
            let members = some(&mut members.iter().cloned(), limit(MOST_MEMBERS));
            format!("{members} of {archive}")
        };
        let mut text = some(&mut self.archives.iter().map(of), limit(MOST_ARCHIVES));
        if self.more {
            text.push_str(", and others");
        }
        if !self.directories.is_empty() {
            let directories = some(&mut self.directories.iter().cloned(), limit(MOST_MEMBERS));
            text = format!("{text}; sources in {directories}");
        }
        Some(text)
    }
}

/// The directory of a member's source, if its name has one. CMake's objects are below
/// `DIR/CMakeFiles/TARGET.dir/`, Meson's in `DIR/TARGET.p/`, libtool's in `DIR/.libs/`. In most
/// archives, the names of members have no directories.
fn source_directory(member: &[u8]) -> Option<Vec<u8>> {
    let dir = &member[..memchr::memrchr(b'/', member)?];
    let parts: Vec<&[u8]> = dir.split(|byte| *byte == b'/').collect();
    let is_added = |at: usize| {
        let part = parts[at];
        let is_target = at > 0 && parts[at - 1] == b"CMakeFiles" && part.ends_with(b".dir");
        let is_of_tool = part == b"CMakeFiles" || part == b".libs" || part.ends_with(b".p");
        // `__` is CMake's spelling of `..` in paths of objects.
        is_target || is_of_tool || part == b"__" || part == b"." || part.is_empty() && at > 0
    };
    let kept = (0..parts.len()).filter(|at| !is_added(*at)).map(|at| parts[at]);
    let kept = kept.collect::<Vec<_>>().join(&b'/');
    (!kept.is_empty()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::source_directory;

    #[test]
    fn directories_that_names_tell() {
        let cases = [
            ("Driver.cpp.o", None),
            ("CMakeFiles/lldELF.dir/Driver.cpp.o", None),
            ("tools/lld/ELF/CMakeFiles/lldELF.dir/Driver.cpp.o", Some("tools/lld/ELF")),
            ("lib/CMakeFiles/x.dir/Arch/X86.cpp.o", Some("lib/Arch")),
            ("src/libfoo.a.p/a.c.o", Some("src")),
            ("src/.libs/a.o", Some("src")),
            ("/build/src/a.o", Some("/build/src")),
            ("./a.o", None),
        ];
        for (member, expected) in cases {
            let found = source_directory(member.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{member}");
        }
    }
}
