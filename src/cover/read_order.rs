//! The order in which a linker reads the objects of a link. The linker keeps the first copy of a
//! COMDAT group and discards the others.

use super::{Coverage, CoverageQuestion, Link, LinkInput, Linker, ReferredBy};
use crate::id::{ArchiveId, FastMap, Id as _, MemberId};
use std::ops::RangeInclusive;

/// All roots and needed members, in the order in which the linker reads them. Without a link order,
/// roots come first.
pub(super) fn read_order(question: &CoverageQuestion<'_>, coverage: &Coverage) -> Vec<ReferredBy> {
    let roots = (0..question.roots.len()).map(ReferredBy::Root);
    let members = coverage.order.iter().map(|member| ReferredBy::Member(*member));
    let Some(link) = question.link else { return roots.chain(members).collect() };
    let order = ReadOrder::new(question, link);
    // A root comes before the members that its references extract.
    let mut out: Vec<(usize, usize, ReferredBy)> =
        roots.map(|root| (order.root_place(root), 0, root)).collect();
    let places = order.member_places(coverage);
    out.extend(coverage.order.iter().zip(places).enumerate().map(|(at, (member, place))| {
        // mold gives all members their positions before it extracts any.
        let next = if link.linker == Linker::Mold { member.index() } else { at };
        (place, 1 + next, ReferredBy::Member(*member))
    }));
    out.sort_unstable();
    out.into_iter().map(|(_, _, by)| by).collect()
}

struct ReadOrder<'q> {
    question: &'q CoverageQuestion<'q>,
    link: &'q Link,
    /// The input of each root, as indices in `Link::inputs`.
    roots: FastMap<usize, usize>,
    /// The inputs of each archive, which may be given several times.
    archives: FastMap<ArchiveId, Vec<usize>>,
}

impl<'q> ReadOrder<'q> {
    fn new(question: &'q CoverageQuestion<'q>, link: &'q Link) -> Self {
        let (roots, archives) = (FastMap::default(), FastMap::default());
        let mut out = Self { question, link, roots, archives };
        for (at, input) in link.inputs.iter().enumerate() {
            match input {
                LinkInput::Root(root) => {
                    out.roots.entry(*root).or_insert(at);
                }
                LinkInput::Archive(archive) | LinkInput::Whole(archive) => {
                    out.archives.entry(*archive).or_default().push(at);
                }
                LinkInput::StartGroup
                | LinkInput::EndGroup
                | LinkInput::Define(_)
                | LinkInput::Request(_) => {}
            }
        }
        out
    }

    /// The index of the input at which the references of a root or an option are read. lld looks up
    /// the entry point after all inputs.
    fn root_place(&self, by: ReferredBy) -> usize {
        match by {
            ReferredBy::Root(root) => self.roots.get(&root).copied().unwrap_or(0),
            ReferredBy::EntryPoint if self.link.linker == Linker::Lld => self.link.inputs.len(),
            // Only lld has these references, and follows them after all inputs.
            ReferredBy::LibraryCall => self.link.inputs.len(),
            ReferredBy::EntryPoint | ReferredBy::Asked | ReferredBy::Member(_) => 0,
        }
    }

    /// The index of the input at which each needed member is read, in the order of the members.
    fn member_places(&self, coverage: &Coverage) -> Vec<usize> {
        let reasons: FastMap<MemberId, ReferredBy> =
            coverage.needed.iter().map(|needed| (needed.member, needed.by)).collect();
        let mut known: FastMap<MemberId, usize> = FastMap::default();
        let mut last = 0;
        let mut out = Vec::new();
        for member in &coverage.order {
            let by = reasons.get(member).copied().unwrap_or(ReferredBy::Asked);
            let referred = match by {
                ReferredBy::Member(by) => known.get(&by).copied().unwrap_or(0),
                by => self.root_place(by),
            };
            let own = self.archives.get(&self.question.library.archive_of(*member));
            let place = self.place(own.map_or(&[], Vec::as_slice), referred);
            // lld and GNU ld extract members in the order of `coverage.order`, so that the index
            // never decreases.
            last = if self.link.linker == Linker::Mold { place } else { last.max(place) };
            known.insert(*member, last);
            out.push(last);
        }
        out
    }

    /// The index of the input at which a member is read. `own` has the inputs that name the
    /// member's archive. `referred` is the input with the first reference to the member.
    fn place(&self, own: &[usize], referred: usize) -> usize {
        let first = own.first().copied().unwrap_or(referred);
        match self.link.linker {
            Linker::Mold => first,
            // lld remembers the definitions of an earlier archive.
            Linker::Lld => first.max(referred),
            Linker::Gnu => {
                // GNU ld searches a group again after its last input.
                let group = self.group(referred);
                let later = own.iter().copied().find(|at| *at >= referred);
                match later {
                    Some(at) if group.contains(&at) => at,
                    _ if own.iter().any(|at| group.contains(at)) => *group.end(),
                    _ => later.unwrap_or(referred),
                }
            }
        }
    }

    /// The inputs from `--start-group` to `--end-group` around the input at `at`; only this input
    /// if it is not in a group.
    fn group(&self, at: usize) -> RangeInclusive<usize> {
        let inputs = self.link.inputs.get(..=at).unwrap_or(&self.link.inputs);
        let is_bound =
            |input: &LinkInput| matches!(input, LinkInput::StartGroup | LinkInput::EndGroup);
        let before = inputs.iter().rposition(is_bound);
        let start = before.filter(|at| matches!(self.link.inputs[*at], LinkInput::StartGroup));
        let Some(start) = start else { return at..=at };
        let is_end = |input: &LinkInput| matches!(input, LinkInput::EndGroup);
        let len = self.link.inputs[start..].iter().position(is_end);
        start..=len.map_or(self.link.inputs.len(), |len| start + len)
    }
}
