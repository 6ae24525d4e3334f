//! References of plugins to a host program that is not audited. A `[[host]]` entry of the policy
//! lists the plugins of the program, and the names that the program provides to its plugins. A
//! reference to one of these names is assumed to be defined, and counted. Any other reference
//! stays a finding. [`super::reference_state`] is the caller.

use super::DiagnosisInput;
use crate::facts::plugins::is_plugin;
use crate::format::elf::Role;
use crate::id::{FastMap, FileId};
use crate::policy::{HostEntry, Pattern};
use crate::resolve::Closure;
use crate::text::last_part;
use std::rc::Rc;

/// Finds the host programs of plugins. A file is compared with the plugins of a host only if the
/// host provides an undefined name or a missing library of that file.
pub(super) struct HostFinder<'a> {
    source: DiagnosisInput<'a>,
    /// True if the file is a plugin of the host. The key is the file and the index of the host in
    /// `DiagnosisInput::hosts`.
    known: FastMap<(FileId, usize), bool>,
    /// The hosts that provide a name, memoised: many files lack the same few names.
    provided: FastMap<&'a [u8], Rc<[usize]>>,
    patterns: &'a Patterns<'a>,
}

/// Name patterns by the first byte of the names that they match. Each pattern has the index of
/// its host in the policy, and the patterns are sorted by this index.
pub(super) struct Patterns<'a>(Vec<Vec<(usize, Shape<'a>)>>);

/// A pattern of names: nearly always a whole name or a prefix.
#[derive(Clone, Copy)]
enum Shape<'a> {
    Whole(&'a [u8]),
    Begin(&'a [u8]),
    Other(&'a Pattern),
}

impl<'a> Shape<'a> {
    /// The shapes of a pattern: one, or one for each alternative of `{a,b}*`.
    fn of(pattern: &'a Pattern) -> Vec<Self> {
        let is_plain = |text: &&str| !text.bytes().any(|byte| b"*?[]{}\\".contains(&byte));
        if let Some(name) = pattern.whole() {
            return vec![Self::Whole(name)];
        }
        let begin = pattern.text().strip_suffix('*');
        if let Some(begin) = begin.filter(is_plain) {
            return vec![Self::Begin(begin.as_bytes())];
        }
        let inner = begin.and_then(|begin| begin.strip_prefix('{')?.strip_suffix('}'));
        match inner.filter(is_plain) {
            Some(inner) => inner.split(',').map(|part| Self::Begin(part.as_bytes())).collect(),
            None => vec![Self::Other(pattern)],
        }
    }

    fn may_begin_with(self, byte: u8) -> bool {
        match self {
            Self::Whole(text) | Self::Begin(text) => {
                text.first().is_none_or(|first| *first == byte)
            }
            Self::Other(_) => true,
        }
    }

    fn matches(self, name: &[u8]) -> bool {
        match self {
            Self::Whole(whole) => name == whole,
            Self::Begin(begin) => name.starts_with(begin),
            Self::Other(pattern) => pattern.matches(name),
        }
    }
}

impl<'a> Patterns<'a> {
    pub(super) fn new(hosts: &'a [HostEntry]) -> Self {
        let hosts = hosts.iter().enumerate();
        let all = hosts.flat_map(|(at, host)| host.symbols.iter().map(move |p| (at, p)));
        let all: Vec<(usize, &Pattern)> = all.collect();
        let of = |byte| {
            let may = all.iter().filter(move |(_, pattern)| pattern.may_begin_with(byte));
            let shapes = may.flat_map(|(host, pattern)| {
                Shape::of(pattern).into_iter().map(move |shape| (*host, shape))
            });
            shapes.filter(|(_, shape)| shape.may_begin_with(byte)).collect()
        };
        Self((0..=u8::MAX).map(of).collect())
    }

    /// The hosts whose patterns match `name`, in the order of the policy.
    fn hosts(&self, name: &[u8]) -> Rc<[usize]> {
        let first = usize::from(name.first().copied().unwrap_or_default());
        let mut hosts: Vec<usize> = Vec::new();
        for (host, shape) in &self.0[first] {
            if hosts.last() != Some(host) && shape.matches(name) {
                hosts.push(*host);
            }
        }
        hosts.into()
    }
}

impl<'a> HostFinder<'a> {
    pub(super) fn new(source: DiagnosisInput<'a>, patterns: &'a Patterns<'a>) -> Self {
        let (known, provided) = (FastMap::default(), FastMap::default());
        Self { source, known, provided, patterns }
    }

    /// The index of the host that is assumed to define `name` for `file` under the entry point of
    /// `closure`; `None` if there is no such host. An audited library that a plugin loads finds the
    /// host's names too, because the program comes first in every scope (`elf/dl-open.c`). Under an
    /// entry point that is not a plugin, the reference of the library stays undefined.
    pub(super) fn provider(
        &mut self,
        closure: &Closure,
        file: FileId,
        name: &'a [u8],
    ) -> Option<usize> {
        let root = closure.root.file;
        // A program is not a plugin. If the given host of a plugin is a program, lookups have
        // searched this program already. If the host is a library, it lacks some names of its
        // program, so the policy still applies.
        let by_program = closure.root.host.is_some_and(|host| self.is_program(host));
        let known = by_program || self.is_program(root);
        if self.source.hosts.is_empty() || known {
            return None;
        }
        let hosts = self.providing(name);
        let helps = file != root && self.source.view.file(file).audited;
        let mut hosts = hosts.iter().copied();
        hosts.find(|at| self.loads(*at, file) || (helps && self.loads(*at, root)))
    }

    /// The index of the host whose `loads` lists the missing `library`, if `file` or its entry
    /// point is a plugin of the host. Entries without `symbols` are skipped: they do not say which
    /// names the program provides.
    pub(super) fn lends(
        &mut self,
        closure: &Closure,
        file: FileId,
        library: &[u8],
    ) -> Option<usize> {
        let root = closure.root.file;
        let named = |host: &HostEntry| {
            let mut paths = host.loads.iter().map(|path| last_part(path.as_bytes()));
            !host.symbols.is_empty() && paths.any(|name| name == library)
        };
        let hosts = self.source.hosts;
        let mut lending = (0..hosts.len()).filter(|at| named(&hosts[*at]));
        lending.find(|at| self.loads(*at, file) || self.loads(*at, root))
    }

    fn providing(&mut self, name: &'a [u8]) -> Rc<[usize]> {
        let patterns = self.patterns;
        Rc::clone(self.provided.entry(name).or_insert_with(|| patterns.hosts(name)))
    }

    fn is_program(&self, file: FileId) -> bool {
        self.source.view.object(file).is_some_and(|object| object.role == Role::Program)
    }

    /// True if a file is a plugin of the host, by one of its paths or by a name that it defines.
    fn loads(&mut self, host: usize, file: FileId) -> bool {
        let DiagnosisInput { view, prefixes, hosts, .. } = self.source;
        *self.known.entry((file, host)).or_insert_with(|| {
            let facts = view.file(file);
            let others = facts.names.iter().map(|name| name.path.as_path());
            let mut names = std::iter::once(&*facts.path).chain(others);
            // If an object has undefined symbols, its tables were read, so `is_plugin` does not
            // fail.
            names.any(|name| {
                is_plugin(&hosts[host], file, facts, &prefixes.locate(name).path) == Ok(true)
            })
        })
    }
}
