//! Reads the sections and relocations of archive members and relocatable objects. `cover` uses
//! these facts to remove undefined names that a linker would not report. The view `archive` and
//! fixes call this module.

use super::Audit;
use crate::cover::{
    self, CheckedReferences, Coverage, CoverageQuestion, GroupDefined, ObjectFacts, ReferredBy,
    Refining, ShownReferrers, decides_by_sections, may_share_groups, referring, referring_names,
    rivals,
};
use crate::facts::Content;
use crate::facts::members::LinkFile;
use crate::format::archive::{LinkFacts, RelocationFilter};
use crate::id::{FastMap, FastSet, FileId, MemberId};
use crate::parallel;
use crate::tree::Tree;

/// Maximum number of members of one archive that are one unit of parallel work.
const TOGETHER: usize = 16;

/// Factor by which each round of [`Audit::refine`] increases the number of referrers that it reads
/// for one name.
const GROWTH: usize = 8;

impl Audit {
    /// The sections and relocations of members; `wanted` selects the relocations. Members that
    /// cannot be read are left out.
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
        let mut out = FastMap::default();
        out.reserve(members.len());
        out.extend(found.into_iter().flatten());
        out
    }

    /// The sections and relocations of members, which must belong to one archive. Opens the archive
    /// once.
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

    /// Adds to `coverage` the names that only discarded copies of COMDAT groups define. `files`
    /// holds the file of each of the question's roots. Returns the objects that the linker rejects,
    /// because they refer to local symbols of discarded copies.
    pub fn add_discarded(
        &self,
        tree: &dyn Tree,
        (question, files): (&CoverageQuestion<'_>, &[FileId]),
        coverage: &mut Coverage,
    ) -> Vec<ReferredBy> {
        // Only the groups and the references to them are needed, so no relocation is stored.
        let no_relocation = |_: u64, _: u32, _: bool| false;
        let wanted = RelocationFilter::Loaded(&no_relocation);
        let roots = may_share_groups(question, coverage)
            .then(|| self.root_facts(tree, (question, files), wanted));
        let in_groups =
            GroupDefined::find(question, coverage, roots.as_deref().unwrap_or_default());
        if in_groups.is_empty() {
            return Vec::new();
        }
        let roots = roots.unwrap_or_else(|| self.root_facts(tree, (question, files), wanted));
        let members = self.link_facts(tree, &in_groups.members(), wanted);
        let mut facts = ObjectFacts { roots, members };
        let rivals = in_groups.rivals(question, coverage, &facts);
        facts.members.extend(self.link_facts(tree, &rivals, wanted));
        in_groups.add_lost(question, &facts, coverage)
    }

    /// The sections and relocations of each of the question's roots. `None` for a linked root, and
    /// for a root in an intermediate language, whose sections do not show its references.
    fn root_facts(
        &self,
        tree: &dyn Tree,
        (question, files): (&CoverageQuestion<'_>, &[FileId]),
        wanted: RelocationFilter<'_>,
    ) -> Vec<Option<LinkFacts>> {
        let root = |(file, root): &(&FileId, &cover::ReferringFile)| {
            let file = &self.corpus.files[**file];
            let read = || LinkFile::open(tree, file)?.object(wanted);
            (!root.linked && !root.lto).then(read).flatten()
        };
        let roots: Vec<(&FileId, &cover::ReferringFile)> =
            files.iter().zip(question.roots).collect();
        parallel::map(&roots, root)
    }

    /// Removes from `coverage` the undefined names that a linker would not report. `files` holds
    /// the file of each of the question's roots. The referrers of each remaining name that an
    /// output shows (`shown`) are confirmed; further referrers may be unconfirmed.
    pub fn refine(
        &self,
        tree: &dyn Tree,
        (question, files): (&CoverageQuestion<'_>, &[FileId]),
        shown: ShownReferrers,
        coverage: &mut Coverage,
    ) {
        if coverage.undefined.is_empty() {
            return;
        }
        let undefined = coverage.undefined.iter().map(|undefined| undefined.symbol.clone());
        let undefined: FastSet<Box<[u8]>> = undefined.collect();
        let names = referring_names(question, &undefined);
        let wanted = if question.gc_sections {
            // Any relocation may keep a section that would be dropped otherwise.
            RelocationFilter::All
        } else {
            let is_gnu = question.output.linker == Some(cover::Linker::Gnu);
            RelocationFilter::Names {
                names: &names,
                every_section: cover::counts_every_section(question),
                whole_unwind_tables: is_gnu,
            }
        };
        let mut facts = ObjectFacts {
            roots: self.root_facts(tree, (question, files), wanted),
            members: FastMap::default(),
        };
        let refining = Refining { question, undefined: &undefined };
        let is_whole = shown.of_name == usize::MAX || decides_by_sections(question, coverage);
        let mut checked = if is_whole {
            CheckedReferences::All
        } else {
            CheckedReferences::Of(FastMap::default())
        };
        let (mut read, mut batch, mut is_refined) = (FastSet::default(), shown.of_name, false);
        let (no_names, mut read_in_part) = (FastSet::default(), FastSet::default());
        loop {
            let next = if is_whole {
                referring(question, coverage)
            } else {
                checked.extend(names.iter().copied(), coverage, (shown, batch), &read)
            };
            if is_refined && next.is_empty() {
                return;
            }
            self.read_objects(tree, next, wanted, (&mut facts, &mut read));
            let rivals = rivals(question, coverage, &facts, &checked);
            self.read_objects(tree, rivals.clone(), wanted, (&mut facts, &mut read));
            if !question.gc_sections {
                // The section groups of a rival are needed even if its relocations are damaged.
                let damaged = rivals.into_iter().filter(|one| !facts.members.contains_key(one));
                let (damaged, groups) = (damaged.collect(), RelocationFilter::of(&no_names));
                self.read_objects(tree, damaged, groups, (&mut facts, &mut read_in_part));
            }
            refining.refine(coverage, &facts, &checked);
            if is_whole {
                return;
            }
            is_refined = true;
            batch = batch.saturating_mul(GROWTH);
        }
    }

    /// Reads the sections and relocations of those `members` that are not in `read` yet.
    fn read_objects(
        &self,
        tree: &dyn Tree,
        mut members: Vec<MemberId>,
        wanted: RelocationFilter<'_>,
        (facts, read): (&mut ObjectFacts, &mut FastSet<MemberId>),
    ) {
        members.retain(|member| read.insert(*member));
        facts.members.extend(self.link_facts(tree, &members, wanted));
    }
}
