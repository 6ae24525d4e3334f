//! `linkaudit why NAME`: the objects that need a library or refer to a symbol, and the files that
//! are the library or define the symbol. For a library, the answer also has the paths that the
//! loader tried. `library` and `symbol` make the answers. `names` finds the symbols that NAME
//! means, and `under` selects the entry point.

mod asked;
mod elsewhere;
mod human;
mod json;
pub mod library;
mod library_page;
mod names;
mod qualified;
pub mod symbol;
mod symbol_page;
mod undefined;
mod undefined_page;
mod under;

pub use json::SCHEMA;
pub use names::VersionAnswer;
pub use under::Under;

use super::ViewOutput;
use super::tree::LoadTree;
use crate::audit::{self, Audit};
use crate::format::archive::RequestedNames;
use crate::id::{FastSet, FileId, RootId};
use crate::plan::Plan;
use crate::tree;
use asked::TypedName;
use library::LibraryAnswer;
use symbol::{AnswerScope, SymbolAnswer};

/// The output formats of `why`.
pub const OUTPUTS: &[ViewOutput<Why>] = &[
    ViewOutput { name: "human", render: human::render },
    ViewOutput { name: "json", render: json::render },
];

/// The answer of `why`, with its question.
#[derive(Debug)]
pub struct Why {
    /// NAME of the command line.
    pub name: Vec<u8>,
    /// The entry point that the answer is restricted to; `None` for all.
    pub under: Option<Under>,
    /// The answer about the name.
    pub answer: Answer,
}

/// The answer: NAME is a library, a symbol, a version, or unknown.
#[derive(Debug)]
pub enum Answer {
    /// A library: an object needs it by this name, or a file has the name.
    Library(LibraryAnswer),
    /// A symbol: an object refers to it or defines it.
    Symbol(SymbolAnswer),
    /// A version of symbols, such as `GLIBC_2.34`.
    Version(VersionAnswer),
    /// NAME is not a library, symbol or version. The value has similar names of libraries and
    /// symbols.
    Unknown(Vec<Vec<u8>>),
}

impl Why {
    /// The answer about `name`, which is raw or demangled. Missing facts are read from `tree`.
    pub fn new(
        name: &[u8],
        under: Option<Under>,
        audit: &mut Audit,
        plan: &Plan,
        tree: &dyn tree::Tree,
    ) -> Self {
        let roots = under.as_ref().map(|under| &*under.roots);
        let graph = LoadTree::under(audit, plan, roots);
        // A program and a symbol may have the same name. Then a name without a dot means the
        // symbol.
        let dotted = name.contains(&b'.');
        let library = |by_file: bool, audit: &Audit| {
            LibraryAnswer::new(name, audit, &graph, by_file, roots).map(Answer::Library)
        };
        // A version is looked up before a symbol, because libraries define a symbol for each of
        // their versions. No file refers to these symbols.
        let files = |_: &Under| -> FastSet<FileId> { graph.nodes.iter().copied().collect() };
        let loaded = under.as_ref().map(files);
        let version =
            |audit: &Audit| names::of_version(name, audit, loaded.as_ref()).map(Answer::Version);
        let answer = library(dotted, audit)
            .or_else(|| version(audit))
            .or_else(|| Self::symbol(name, audit, plan, tree, roots))
            .or_else(|| library(true, audit))
            .unwrap_or_else(|| Answer::Unknown(Self::near(name, audit, plan, tree, &graph)));
        Self { name: name.to_vec(), under, answer }
    }

    fn symbol(
        name: &[u8],
        audit: &mut Audit,
        plan: &Plan,
        tree: &dyn tree::Tree,
        under: Option<&[RootId]>,
    ) -> Option<Answer> {
        // NAME means C++ functions of this name only if no symbol has NAME as its raw name.
        let readings = [names::raw, names::functions]
            .into_iter()
            .flat_map(|names| TypedName::readings(name).map(move |asked| (names, asked)));
        for (names, TypedName { name, version }) in readings {
            let names: RequestedNames = names(name, audit.view(), &audit.corpus);
            if names.is_empty() {
                continue;
            }
            let part = AnswerScope { version, under };
            if let Some(symbol) = Self::look_up(&names, part, audit, plan, tree) {
                return Some(Answer::Symbol(symbol));
            }
        }
        None
    }

    fn look_up(
        names: &RequestedNames,
        part: AnswerScope<'_>,
        audit: &mut Audit,
        plan: &Plan,
        tree: &dyn tree::Tree,
    ) -> Option<SymbolAnswer> {
        let found = audit::bind_names(plan, tree, audit, names);
        let mut symbol =
            SymbolAnswer::new(audit, &found, part, &undefined::reference_states(audit, plan))?;
        undefined::look_into(&mut symbol, audit);
        Some(symbol)
    }

    /// Similar names of libraries and symbols. If only the version in NAME is unknown, the result
    /// has the versions of the symbol, as `NAME@VERSION`.
    fn near(
        name: &[u8],
        audit: &mut Audit,
        plan: &Plan,
        tree: &dyn tree::Tree,
        graph: &LoadTree,
    ) -> Vec<Vec<u8>> {
        if let Some(asked) = TypedName::readings(name).find(|asked| asked.version.is_some()) {
            let names = names::raw(asked.name, audit.view(), &audit.corpus);
            let part = AnswerScope { version: None, under: None };
            if let Some(symbol) = Self::look_up(&names, part, audit, plan, tree) {
                return symbol.versions();
            }
        }
        names::near(name, audit, graph)
    }

    /// True if the answer is about a library or symbol.
    pub fn is_known(&self) -> bool {
        !matches!(self.answer, Answer::Unknown(_) | Answer::Version(_))
    }
}
