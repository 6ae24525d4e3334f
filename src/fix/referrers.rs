//! The members of a merged archive that refer to a symbol, in words, each with the archive that it
//! was copied from. `propose` calls this module.

use crate::audit::Audit;
use crate::cover::{self, ArchiveSet, Origins};
use crate::id::{ArchiveId, FastMap, MemberId};
use crate::text::{show, show_path};
use std::path::Path;

/// Maximum number of members that are listed for one symbol.
const MOST: usize = 3;

/// Finds the members of the merged archive that refer to a symbol.
pub(super) struct MergedReferrers<'a> {
    library: &'a ArchiveSet,
    known: cover::Referrers<'a>,
    words: FastMap<MemberId, String>,
    origins: Origins,
}

impl<'a> MergedReferrers<'a> {
    pub(super) fn new(audit: &'a Audit, fat: Option<ArchiveId>) -> Self {
        let library = &audit.library;
        let undefined = audit.diagnosis.undefined.iter().map(|undefined| &*undefined.symbol);
        let known = cover::Referrers::new(library, fat.into_iter(), undefined);
        Self { library, known, words: FastMap::default(), origins: Origins::default() }
    }

    /// The first members that refer to `symbol`, and the number of others.
    pub(super) fn of(&mut self, symbol: &[u8]) -> Vec<String> {
        let found = self.known.of(symbol).to_vec();
        let mut out: Vec<String> = found.iter().take(MOST).map(|m| self.word(*m)).collect();
        if let Some(more) = found.len().checked_sub(MOST).filter(|more| *more > 0) {
            out.push(format!("{more} more"));
        }
        out
    }

    fn word(&mut self, member: MemberId) -> String {
        let library = self.library;
        let file_name = |archive: ArchiveId| {
            let path = &library.entry(archive).path;
            show_path(path.file_name().map_or(path, Path::new))
        };
        let origins = &mut self.origins;
        let make = || {
            let from = origins.of(library, member, |_| true);
            let from = from.map(|from| format!(", from {}", file_name(library.archive_of(from))));
            let own = show(library.member_name(member));
            let archive = file_name(library.archive_of(member));
            format!("{archive}({own}{})", from.unwrap_or_default())
        };
        self.words.entry(member).or_insert_with(make).clone()
    }
}
