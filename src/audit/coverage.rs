//! One line of coverage for every audited archive, for reports: how many members it has, how many of
//! them are opaque, and how many names they refer to that nothing audited defines.

use super::Audit;
use crate::cover::is_made;
use crate::facts::Content;
use crate::facts::providers::Providers;
use crate::format::archive::{Names, SymbolKind};
use crate::format::elf::hash;
use crate::id::{FastMap, FileId, NameId};
use std::collections::BTreeSet;

/// What is known of one archive.
#[derive(Debug)]
pub struct Line {
    /// The archive.
    pub file: FileId,
    /// Members, opaque members, and references defined nowhere; nothing if they were not read.
    pub counts: Option<(usize, usize, usize)>,
}

impl Audit {
    fn archives(&self) -> impl Iterator<Item = FileId> {
        let files = self.corpus.files.entries();
        files
            .filter(|(_, facts)| facts.audited && matches!(facts.content, Content::Archive(_)))
            .map(|(file, _)| file)
    }

    /// How many audited archives were not read to their members.
    pub fn unread_archives(&self) -> usize {
        self.archives().filter(|file| self.library.archive(*file).is_none()).count()
    }

    /// All audited archives by path.
    pub fn archive_lines(&self) -> Vec<Line> {
        let library = &self.library;
        let mut archives: Vec<FileId> = self.archives().collect();
        archives.sort_by_key(|file| self.corpus.files[*file].path.as_os_str());
        let audited = |file: FileId| self.corpus.files[file].audited;
        let open: FastMap<FileId, BTreeSet<NameId>> = archives
            .iter()
            .filter_map(|file| {
                let members = library.members_of(library.archive(*file)?);
                let symbols = members.flat_map(|member| library.symbols(member));
                let strong = symbols.filter(|(_, s)| s.kind == SymbolKind::Undefined);
                let nowhere = |name: &NameId| {
                    !is_made(library.text(*name))
                        && !library.definitions(*name).any(|definition| {
                            audited(library.shelf(library.archive_of(definition.member)).file)
                        })
                };
                Some((*file, strong.map(|(name, _)| name).filter(nowhere).collect()))
            })
            .collect();
        let mut names = Names::default();
        for name in archives.iter().filter_map(|file| open.get(file)).flatten() {
            let text = library.text(*name);
            names.insert(text, hash::gnu(text));
        }
        let providers = Providers::find(&self.corpus, &names, Vec::new());
        let line = |file: FileId| {
            let archive = library.archive(file)?;
            let members = &library.shelf(archive).members;
            let open = open.get(&file)?;
            let target = members.list.iter().find_map(|member| member.target);
            let defined = |name: &&NameId| {
                let text = library.text(**name);
                target.is_some_and(|target| {
                    providers.of(text, file, target).any(|provider| audited(provider.file))
                })
            };
            let references = open.len() - open.iter().filter(defined).count();
            Some((members.list.len(), members.opaque(), references))
        };
        archives.into_iter().map(|file| Line { file, counts: line(file) }).collect()
    }
}
