//! Reads the sections and relocations of archive members. `cover` uses them to drop undefined names
//! that a linker would not report. The view `archive` and fixes are the callers.

use super::Audit;
use crate::cover::{self, Coverage, CoverageQuestion, ObjectFacts, referring, refine, rivals};
use crate::facts::Content;
use crate::facts::members::LinkFile;
use crate::format::archive::{LinkFacts, RelocationFilter};
use crate::id::{FastMap, FastSet, FileId, MemberId};
use crate::parallel;
use crate::tree::Tree;

/// Maximum number of members of one archive that a thread reads at once.
const TOGETHER: usize = 16;

impl Audit {
    /// The sections and relocations of members; members that cannot be read are omitted.
    pub fn link_facts(
        &self,
        tree: &dyn Tree,
        members: &[MemberId],
        wanted: RelocationFilter<'_>,
    ) -> FastMap<MemberId, LinkFacts> {
        let library = &self.library;
        let mut members = members.to_vec();
        members.sort_unstable();
        let is_of_one =
            |a: &MemberId, b: &MemberId| library.archive_of(*a) == library.archive_of(*b);
        let archives = members.chunk_by(is_of_one);
        let parts: Vec<&[MemberId]> = archives.flat_map(|of| of.chunks(TOGETHER)).collect();
        let found = parallel::map(&parts, |part| self.link_facts_of(tree, part, wanted));
        found.into_iter().flatten().collect()
    }

    /// The sections and relocations of members of one archive. Opens the archive once.
    fn link_facts_of(
        &self,
        tree: &dyn Tree,
        members: &[MemberId],
        wanted: RelocationFilter<'_>,
    ) -> Vec<(MemberId, LinkFacts)> {
        let library = &self.library;
        let Some(first) = members.first() else { return Vec::new() };
        let entry = library.entry(library.archive_of(*first));
        let file = &self.corpus.files[entry.file];
        let Some(open) = LinkFile::open(tree, file) else { return Vec::new() };
        let is_archive = matches!(file.content, Content::Archive(_));
        let one = |member: &MemberId| {
            let found = if is_archive {
                open.member((&entry.members, library.member(*member)), wanted)
            } else {
                open.object(wanted)
            };
            Some((*member, found?))
        };
        members.iter().filter_map(one).collect()
    }

    /// Removes from `coverage` the undefined names that a linker would not report. `files` holds
    /// the file of each of `question.roots`.
    pub fn refine(
        &self,
        tree: &dyn Tree,
        question: &CoverageQuestion<'_>,
        files: &[FileId],
        coverage: &mut Coverage,
    ) {
        if coverage.undefined.is_empty() {
            return;
        }
        let names: FastSet<&[u8]> =
            coverage.undefined.iter().map(|undefined| &*undefined.symbol).collect();
        let nothing = FastSet::default();
        // All relocations decide which sections `--gc-sections` drops.
        let (wanted, of_rivals) = if question.gc_sections {
            (RelocationFilter::All, RelocationFilter::All)
        } else {
            let every_section = cover::counts_every_section(question);
            (
                RelocationFilter::Names(&names, every_section),
                RelocationFilter::Names(&nothing, every_section),
            )
        };
        let root = |(file, root): (&FileId, &cover::ReferringFile)| {
            let file = &self.corpus.files[*file];
            let read = || LinkFile::open(tree, file)?.object(wanted);
            // The references of intermediate language do not appear in its sections.
            (!root.linked && !root.lto).then(read).flatten()
        };
        let mut facts = ObjectFacts {
            roots: files.iter().zip(question.roots).map(root).collect(),
            members: self.link_facts(tree, &referring(question, coverage), wanted),
        };
        let more = rivals(question, coverage, &facts);
        facts.members.extend(self.link_facts(tree, &more, of_rivals));
        drop(names);
        refine(question, coverage, &facts);
    }
}
