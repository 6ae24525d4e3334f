//! The state of a run through the commands of a file.

use super::program::Program;
use super::state::{State, Variables};
use super::value::Value;
use super::{Losses, Matcher, NewWord};
use crate::id::{FastMap, FastSet};
use std::sync::Arc;

/// The command that ends a piece of code; `Next` if the code runs to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flow {
    Next,
    Continue,
    Break,
    Return,
    /// A fatal error.
    Stop,
}

/// A run through the commands of one file.
pub(super) struct Run<'t> {
    pub(super) text: &'t [u8],
    pub(super) program: &'t Program,
    pub(super) news: &'t FastMap<usize, NewWord>,
    pub(super) matches: &'t Matcher<'t>,
    pub(super) state: State,
    /// For each open call of a macro, its parameters, which are replaced as text. `None` for an
    /// open call of a function.
    pub(super) calls: Vec<Option<Variables>>,
    /// The states of early exits from a loop or call, each with the command that caused the exit
    /// and a hash of its conditions.
    pub(super) early: Vec<(Flow, State, u64)>,
    pub(super) losses: FastMap<usize, Losses>,
    /// The functions and macros whose definitions CMake ran, by name in lower case, each with the
    /// index of its first command. `None` if CMake may have run several definitions of the name.
    pub(super) defined: FastMap<&'t [u8], Option<usize>>,
    /// The functions and macros that a command of the file calls, by the index of their first
    /// command.
    pub(super) called: FastSet<usize>,
    /// The sets in arms that CMake runs on other systems only.
    pub(super) elsewhere: FastSet<usize>,
    /// The sets whose new name a variable gets several times, because the command runs again.
    pub(super) repeated: FastSet<usize>,
    /// Cache variables, whose values users may change.
    pub(super) cached: FastSet<Vec<u8>>,
    /// The line of the current command.
    pub(super) line: u32,
    /// Number of steps that are left.
    pub(super) left: usize,
    pub(super) gave_up: bool,
    /// Number of open blocks and calls.
    pub(super) depth: usize,
}

impl<'t> Run<'t> {
    pub(super) fn new(
        text: &'t [u8],
        program: &'t Program,
        news: &'t FastMap<usize, NewWord>,
        matches: &'t Matcher<'t>,
        most: usize,
    ) -> Self {
        let state = State { scopes: vec![Arc::default()], ..State::default() };
        Self {
            text,
            program,
            news,
            matches,
            state,
            calls: Vec::new(),
            early: Vec::new(),
            losses: FastMap::default(),
            defined: FastMap::default(),
            called: FastSet::default(),
            elsewhere: FastSet::default(),
            repeated: FastSet::default(),
            cached: FastSet::default(),
            line: 0,
            left: most,
            gave_up: false,
            depth: 0,
        }
    }

    /// The value of `${name}`: a parameter of the current macro, or a variable. `None` if neither
    /// is known.
    pub(super) fn value(&self, name: &[u8]) -> Option<&Value> {
        let parameters = self.calls.last().and_then(Option::as_ref);
        parameters.and_then(|known| known.get(name)).or_else(|| self.state.get(name))
    }

    /// True if `text` matches a regular expression as written in an argument, where CMake reads two
    /// backslashes as one. `None` if the search takes too long.
    pub(super) fn is_match(&self, expression: &[u8], text: &[u8]) -> Option<bool> {
        let (mut plain, mut rest) = (Vec::with_capacity(expression.len()), expression);
        while let Some((first, more)) = rest.split_first() {
            plain.push(*first);
            rest = if *first == b'\\' { more.strip_prefix(b"\\").unwrap_or(more) } else { more };
        }
        (self.matches)(&plain, text)
    }

    /// Merges the states that left the current code by one of `flows`. `from` is the length of
    /// `early` when the code began.
    pub(super) fn rejoin(&mut self, from: usize, flows: &[Flow]) {
        for (flow, state, condition) in self.early.split_off(from.min(self.early.len())) {
            if flows.contains(&flow) {
                self.state.merge(&state, condition);
            } else {
                self.early.push((flow, state, condition));
            }
        }
    }
}
