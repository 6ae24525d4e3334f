//! What plugins take from programs that are not at hand. A `[[host]]` entry names the programs'
//! plugins and the names that they get from the program; such a reference is assumed to be met, and
//! counted. [`super::maker`] asks; what it does not assume stays a finding.

use super::Source;
use crate::facts::plugins::is_plugin;
use crate::format::elf::Role;
use crate::id::{FastMap, FileId};
use crate::policy::{Host, Pattern};
use crate::resolve::Closure;
use crate::text::last_part;
use std::rc::Rc;

/// Which files are plugins of which hosts, found out when a name is asked for that the host provides.
pub(super) struct Hosts<'a> {
    source: Source<'a>,
    /// By file and index into `Source::hosts`.
    known: FastMap<(FileId, usize), bool>,
    /// The hosts that provide a name: the same few names are open in many files.
    provided: FastMap<&'a [u8], Rc<[usize]>>,
    patterns: &'a Patterns<'a>,
}

/// What hosts provide: patterns of names by the bytes that a match may begin with, each with its
/// host, in the order of the policy.
pub(super) struct Patterns<'a>(Vec<Vec<(usize, Shape<'a>)>>);

/// A pattern of names. Nearly all are a name or the begin of one.
#[derive(Clone, Copy)]
enum Shape<'a> {
    Whole(&'a [u8]),
    Begin(&'a [u8]),
    Other(&'a Pattern),
}

impl<'a> Shape<'a> {
    /// The shapes of a pattern: one, or one for each alternative.
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
    pub(super) fn new(hosts: &'a [Host]) -> Self {
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

    /// The hosts that define `name`, in the order of the policy.
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

impl<'a> Hosts<'a> {
    pub(super) fn new(source: Source<'a>, patterns: &'a Patterns<'a>) -> Self {
        let (known, provided) = (FastMap::default(), FastMap::default());
        Self { source, known, provided, patterns }
    }

    /// The host that is assumed to define `name` for `file`, which was loaded under this root. A
    /// library that only plugins load finds the host's names as they do: the program comes first in
    /// every scope (`elf/dl-open.c`). Where something else loads it too, it is undefined there.
    pub(super) fn provider(
        &mut self,
        closure: &Closure,
        file: FileId,
        name: &'a [u8],
    ) -> Option<usize> {
        let root = closure.root.file;
        // A program is not opened by another one, and the names of a program that is given as host were
        // looked up. A library that is given as host does not have all names of its program.
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

    /// The host whose `loads` name a library that `file` needs and the search does not find.
    pub(super) fn lends(
        &mut self,
        closure: &Closure,
        file: FileId,
        library: &[u8],
    ) -> Option<usize> {
        let root = closure.root.file;
        let named = |host: &Host| {
            let mut paths = host.loads.iter().map(|path| last_part(path.as_bytes()));
            paths.any(|name| name == library)
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

    /// True if a file is a plugin of a host, by any of its names.
    fn loads(&mut self, host: usize, file: FileId) -> bool {
        let Source { view, prefixes, hosts, .. } = self.source;
        *self.known.entry((file, host)).or_insert_with(|| {
            let facts = view.file(file);
            let others = facts.names.iter().map(|name| name.path.as_path());
            let mut names = std::iter::once(&*facts.path).chain(others);
            // An object with something undefined has its tables: it was looked into itself.
            names.any(|name| {
                is_plugin(&hosts[host], file, facts, &prefixes.locate(name).path) == Ok(true)
            })
        })
    }
}
