//! `linkaudit why NAME`: who needs a library or refers to a symbol, who provides it, and what was
//! tried. `library` and `symbol` make the answers, `names` finds out which of the two a name is.

mod human;
mod json;
pub mod library;
mod library_page;
mod names;
pub mod symbol;
mod symbol_page;

pub use json::SCHEMA;

use super::Output;
use super::tree::Tree;
use crate::audit::{self, Audit};
use crate::plan::Plan;
use crate::tree;
use library::Library;
use symbol::Symbol;

/// All formats.
pub const OUTPUTS: &[Output<Why>] = &[
    Output { name: "human", render: human::render },
    Output { name: "json", render: json::render },
];

/// The answer.
#[derive(Debug)]
pub struct Why {
    /// The name as typed.
    pub name: Vec<u8>,
    /// What is known of it.
    pub answer: Answer,
}

/// What a name is.
#[derive(Debug)]
pub enum Answer {
    /// Something needs a library of this name, or a file has it.
    Library(Library),
    /// Something refers to a symbol of this name, or defines it.
    Symbol(Symbol),
    /// Nothing knows it; these are alike.
    Unknown(Vec<Vec<u8>>),
}

impl Why {
    /// What an audit knows of `name`, raw or as people read it. `tree` answers what must be read for
    /// it.
    pub fn new(name: &[u8], audit: &mut Audit, plan: &Plan, tree: &dyn tree::Tree) -> Self {
        let graph = Tree::new(audit, plan);
        // A program's file may be called like a symbol, which is meant then.
        let dotted = name.contains(&b'.');
        let answer = Library::new(name, audit, &graph, dotted)
            .map(Answer::Library)
            .or_else(|| Self::symbol(name, audit, plan, tree))
            .or_else(|| Library::new(name, audit, &graph, true).map(Answer::Library))
            .unwrap_or_else(|| Answer::Unknown(names::near(name, audit, &graph)));
        Self { name: name.to_vec(), answer }
    }

    fn symbol(
        name: &[u8],
        audit: &mut Audit,
        plan: &Plan,
        tree: &dyn tree::Tree,
    ) -> Option<Answer> {
        let raw = names::raw(name, audit.view(), &audit.corpus);
        let found = audit::bind_names(plan, tree, audit, &raw);
        Symbol::new(audit, &found).map(Answer::Symbol)
    }

    /// False if nothing knows the name.
    pub fn is_known(&self) -> bool {
        !matches!(self.answer, Answer::Unknown(_))
    }
}
