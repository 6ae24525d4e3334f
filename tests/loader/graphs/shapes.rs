//! The shapes of graphs, and the defects at their ends.

use super::tiny::Tiny;
use crate::support::Lab;

/// The defect of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    /// The last library needs one that does not exist.
    Missing,
    /// Every library needs another one that does not exist.
    MissingEverywhere,
    /// The last library refers to an undefined symbol.
    Undefined,
    /// Every library refers to an undefined symbol.
    UndefinedEverywhere,
}

/// How libraries are found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PathKind {
    Runpath,
    Rpath,
    /// Only the first library has a path, which applies to all libraries below it.
    RpathOfFirst,
}

pub(crate) struct Shape {
    pub(crate) name: String,
    end: End,
    libraries: Vec<Tiny>,
    pub(crate) nodes: usize,
    pub(crate) edges: usize,
    /// Further bytes of JSON that a node may take, for findings about every node.
    pub(crate) bytes_a_node: usize,
}

impl Shape {
    /// Each library needs the next.
    pub(crate) fn chain(count: usize, end: End, path: PathKind) -> Self {
        let library = |i: usize| {
            let next = Some(i + 1).filter(|next| *next < count);
            let library = Tiny::library(&so(i), next.map(so)).defines(&format!("f{i}"));
            let library = match next {
                Some(next) => library.refers(&format!("f{next}")),
                None => library,
            };
            match path {
                PathKind::Runpath => library.runpath("$ORIGIN"),
                PathKind::Rpath => library.rpath("$ORIGIN"),
                PathKind::RpathOfFirst if i == 0 => library.rpath("$ORIGIN"),
                PathKind::RpathOfFirst => library,
            }
        };
        Self::new(&format!("chain {path:?}"), end, (0..count).map(library).collect())
    }

    /// Levels of two libraries, each of which needs both of the next level: 2^levels paths.
    pub(crate) fn diamond(levels: usize, end: End) -> Self {
        let library = |i: usize| {
            let next = i / 2 * 2 + 2;
            let needs = [next, next + 1].into_iter().filter(|need| *need < 2 * levels);
            Tiny::library(&so(i), needs.map(so)).runpath("$ORIGIN").defines(&format!("f{i}"))
        };
        Self::new("diamond", end, (0..2 * levels).map(library).collect())
    }

    /// Each library needs all others and refers to a symbol of each.
    pub(crate) fn clique(count: usize, end: End) -> Self {
        let library = |i: usize| {
            let others = || (0..count).filter(move |other| *other != i);
            let library = Tiny::library(&so(i), others().map(so)).runpath("$ORIGIN");
            let library =
                others().fold(library, |library, other| library.refers(&format!("f{other}")));
            library.defines(&format!("f{i}"))
        };
        Self::new("clique", end, (0..count).map(library).collect())
    }

    /// One library needs all others.
    pub(crate) fn wide(count: usize, end: End) -> Self {
        let first = Tiny::library(&so(0), (1..count).map(so)).runpath("$ORIGIN");
        let rest = (1..count).map(|i| Tiny::library(&so(i), Vec::<String>::new()));
        Self::new("wide", end, std::iter::once(first).chain(rest).collect())
    }

    fn new(name: &str, end: End, mut libraries: Vec<Tiny>) -> Self {
        let last = libraries.len() - 1;
        for (i, library) in libraries.iter_mut().enumerate() {
            match end {
                End::Missing if i == last => library.needs.push("libnone.so".to_owned()),
                End::MissingEverywhere => library.needs.push(format!("libnone{i}.so")),
                End::Undefined if i == last => library.refers.push("none".to_owned()),
                End::UndefinedEverywhere => library.refers.push("none".to_owned()),
                _ => {}
            }
        }
        Self {
            name: format!("{name} {end:?}"),
            end,
            nodes: libraries.len(),
            edges: libraries.iter().map(|library| library.needs.len()).sum(),
            bytes_a_node: match end {
                End::MissingEverywhere | End::UndefinedEverywhere => 12_000,
                _ => 0,
            },
            libraries,
        }
    }

    /// Writes all libraries.
    pub(crate) fn write(&self, lab: &Lab) {
        for library in &self.libraries {
            let name = library.soname.as_deref().expect("every library has a name");
            std::fs::write(lab.path(name), library.bytes()).expect("a library");
        }
    }

    /// The exit status of an audit.
    pub(crate) fn exit(&self) -> i32 {
        i32::from(self.end != End::Complete)
    }
}

/// The library from which all others are reached.
pub(crate) const FIRST: &str = "./lib0.so";

fn so(number: usize) -> String {
    format!("lib{number}.so")
}
