//! Computes one line of a report for each audited archive. A line counts the members, the members
//! whose references are unknown (opaque), and the referenced names that no audited file defines.

use super::Audit;
use crate::cover::{LinkOutput, LinkerDefined};
use crate::facts::Content;
use crate::facts::providers::Providers;
use crate::format::archive::{RequestedNames, SymbolKind};
use crate::format::elf::hash;
use crate::id::{FastMap, FileId, NameId};
use crate::order::Arrange as _;
use std::collections::BTreeSet;

/// The line of a report about one archive.
#[derive(Debug)]
pub struct CoverageLine {
    /// The archive that the line is about.
    pub file: FileId,
    /// The numbers of members, of opaque members, and of referenced names that no audited file
    /// defines. `None` if the members were not read.
    pub counts: Option<(usize, usize, usize)>,
}

impl Audit {
    /// The audited archives.
    pub fn archives(&self) -> impl Iterator<Item = FileId> {
        let files = self.corpus.files.entries();
        files
            .filter(|(_, facts)| facts.audited && matches!(facts.content, Content::Archive(_)))
            .map(|(file, _)| file)
    }

    /// Number of audited archives whose members were not read.
    pub fn unread_archives(&self) -> usize {
        self.archives().filter(|file| self.library.archive(*file).is_none()).count()
    }

    /// The lines about all audited archives, sorted by path.
    pub fn archive_lines(&self) -> Vec<CoverageLine> {
        let library = &self.library;
        let mut archives: Vec<FileId> = self.archives().collect();
        archives.arrange_by_key(|file| self.corpus.files[*file].path.as_os_str());
        let audited = |file: FileId| self.corpus.files[file].audited;
        let open: FastMap<FileId, BTreeSet<NameId>> = archives
            .iter()
            .filter_map(|file| {
                let members = library.members_of(library.archive(*file)?);
                let symbols = members.flat_map(|member| library.symbols(member));
                let strong = symbols.filter(|(_, s)| s.kind == SymbolKind::Undefined);
                let members = &library.entry(library.archive(*file)?).members.list;
                let target = members.iter().find_map(|member| member.target);
                let output = LinkOutput::default();
                let nowhere = |name: &NameId| {
                    output.defines(target, library.text(*name)) == LinkerDefined::No
                        && !library.definitions(*name).any(|definition| {
                            audited(library.entry(library.archive_of(definition.member)).file)
                        })
                };
                Some((*file, strong.map(|(name, _)| name).filter(nowhere).collect()))
            })
            .collect();
        let mut names = RequestedNames::default();
        for name in archives.iter().filter_map(|file| open.get(file)).flatten() {
            let text = library.text(*name);
            names.insert(text, hash::gnu(text));
        }
        let providers = Providers::find(&self.corpus, &names, Vec::new());
        let line = |file: FileId| {
            let archive = library.archive(file)?;
            let members = &library.entry(archive).members;
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
        archives.into_iter().map(|file| CoverageLine { file, counts: line(file) }).collect()
    }
}
