//! What plugins take from programs that are not at hand. A `[[host]]` entry names the programs'
//! plugins and the names that they get from the program; such a reference is assumed to be met, and
//! counted. [`super::maker`] asks; what it does not assume stays a finding.

use super::Source;
use crate::facts::plugins::is_plugin;
use crate::format::elf::Role;
use crate::id::{FastMap, FileId};
use crate::resolve::Closure;

/// Hosts by file, found out when a file has something undefined.
pub(super) struct Hosts<'a> {
    source: Source<'a>,
    /// Indices into `Source::hosts`.
    known: FastMap<FileId, Vec<usize>>,
}

impl<'a> Hosts<'a> {
    pub(super) fn new(source: Source<'a>) -> Self {
        Self { source, known: FastMap::default() }
    }

    /// The host that is assumed to define `name` for `file`, which was loaded under this root. A
    /// library that only plugins load finds the host's names as they do: the program comes first in
    /// every scope (`elf/dl-open.c`). Where something else loads it too, it is undefined there.
    pub(super) fn provider(
        &mut self,
        closure: &Closure,
        file: FileId,
        name: &[u8],
    ) -> Option<usize> {
        let root = closure.root.file;
        // Nobody opens a program; and with the host at hand its names were looked up.
        let known = closure.root.host.is_some() || self.is_program(root);
        if self.source.hosts.is_empty() || known {
            return None;
        }
        let hosts = self.source.hosts;
        let provides = |host: &&usize| hosts[**host].symbols.iter().any(|p| p.matches(name));
        if let Some(host) = self.of(file).iter().find(provides) {
            return Some(*host);
        }
        let helps = file != root && self.source.view.file(file).audited;
        helps.then(|| self.of(root).iter().find(provides).copied()).flatten()
    }

    fn is_program(&self, file: FileId) -> bool {
        self.source.view.object(file).is_some_and(|object| object.role == Role::Program)
    }

    /// The hosts whose plugin a file is, by any of its names.
    fn of(&mut self, file: FileId) -> &[usize] {
        let Source { view, prefixes, hosts, .. } = self.source;
        self.known.entry(file).or_insert_with(|| {
            let facts = view.file(file);
            let others = facts.names.iter().map(|name| name.path.as_path());
            let names = std::iter::once(&*facts.path).chain(others);
            let below: Vec<_> = names.map(|name| prefixes.locate(name).path).collect();
            // An object with something undefined has its tables: it was looked into itself.
            let takes = |at: &usize| {
                below.iter().any(|path| is_plugin(&hosts[*at], file, facts, path) == Ok(true))
            };
            (0..hosts.len()).filter(takes).collect()
        })
    }
}
