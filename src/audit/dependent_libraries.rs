//! Reads the dependent libraries of the objects of a link: the libraries that these objects ask lld
//! to link. The view `archive` calls this module.

use super::Audit;
use crate::cover::{CoverageQuestion, ReferredBy};
use crate::facts::Content;
use crate::facts::members::LinkFile;
use crate::format::archive::{DependentLibraries, MemberKind};
use crate::id::{FileId, MemberId};
use crate::parallel;
use crate::tree::Tree;

/// Maximum number of objects of one archive that are one unit of parallel work.
const TOGETHER: usize = 16;

impl Audit {
    /// The objects in `read` that have dependent libraries, in the order of `read`. `files` holds the
    /// file of each of the question's roots. Objects that cannot be read are left out: other parts
    /// of the answer report them.
    pub fn dependent_libraries(
        &self,
        tree: &dyn Tree,
        (question, files): (&CoverageQuestion<'_>, &[FileId]),
        read: &[ReferredBy],
    ) -> Vec<(ReferredBy, DependentLibraries)> {
        // Neighbours are mostly members of one archive, which is then opened once.
        let file_of = |by: &ReferredBy| match by {
            ReferredBy::Member(member) => Some(self.file_of(*member)),
            ReferredBy::Root(at) => files.get(*at).copied(),
            ReferredBy::Asked | ReferredBy::EntryPoint | ReferredBy::LibraryCall => None,
        };
        let is_of_one = |a: &ReferredBy, b: &ReferredBy| file_of(a) == file_of(b);
        let parts: Vec<&[ReferredBy]> =
            read.chunk_by(is_of_one).flat_map(|part| part.chunks(TOGETHER)).collect();
        let of_part = |part: &&[ReferredBy]| {
            let file = part.first().and_then(file_of);
            let open = file.and_then(|file| LinkFile::open(tree, &self.corpus.files[file]));
            let Some(open) = open else { return Vec::new() };
            let one = |by: &ReferredBy| Some((*by, self.libraries_of_one(&open, question, *by)?));
            part.iter().filter_map(one).collect()
        };
        parallel::map(&parts, of_part).into_iter().flatten().collect()
    }

    fn file_of(&self, member: MemberId) -> FileId {
        self.library.entry(self.library.archive_of(member)).file
    }

    /// The dependent libraries of one object in `file`; `None` if it has none.
    fn libraries_of_one(
        &self,
        file: &LinkFile<'_>,
        question: &CoverageQuestion<'_>,
        by: ReferredBy,
    ) -> Option<DependentLibraries> {
        let found = match by {
            ReferredBy::Member(id) => {
                let (entry, member) =
                    (self.library.entry(self.library.archive_of(id)), self.library.member(id));
                let is_read = matches!(member.kind, MemberKind::Object | MemberKind::LlvmLto);
                let is_archive =
                    matches!(self.corpus.files[entry.file].content, Content::Archive(_));
                let of = is_archive.then_some((&*entry.members, member));
                file.dependent_libraries(of).filter(|_| is_read)
            }
            ReferredBy::Root(at) => {
                let is_object = question.roots.get(at).is_some_and(|root| !root.linked);
                is_object.then(|| file.dependent_libraries(None)).flatten()
            }
            ReferredBy::Asked | ReferredBy::EntryPoint | ReferredBy::LibraryCall => None,
        };
        found.filter(|found| *found != DependentLibraries::default())
    }
}
