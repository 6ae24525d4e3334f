//! Runs the commands of a file: blocks, conditions and loops.

use super::super::spelling::STATIC_LIBRARY;
use super::arguments::Words;
use super::condition::{Truth, is_of_system};
use super::program::Step;
use super::run::{Flow, Run};
use super::state::State;
use super::value::{Value, Word, hash, mixed};
use std::cmp::Reverse;
use std::sync::Arc;

/// Maximum depth of blocks and calls.
const DEEPEST: usize = 60;

impl Run<'_> {
    /// Runs the file, then each function that the file does not call, because other files may call
    /// it.
    pub(super) fn file(&mut self) {
        for (name, value) in STATIC_LIBRARY {
            self.state.set(name, vec![Word::new(value)]);
        }
        self.block(0, self.program.steps.len());
        self.rejoin(0, &[Flow::Return, Flow::Break, Flow::Continue]);
        self.early.clear();
        let functions = self.program.functions.values().filter_map(|at| *at);
        let mut functions: Vec<usize> = functions.collect();
        // Most functions are defined after the functions that they call.
        functions.sort_unstable_by_key(|at| Reverse(*at));
        for at in functions {
            if !self.called.contains(&at) {
                self.uncalled(at);
            }
        }
    }

    /// Runs the commands from `begin` up to `end`.
    pub(super) fn block(&mut self, begin: usize, end: usize) -> Flow {
        if self.depth == DEEPEST {
            self.gave_up = true;
        }
        self.depth += 1;
        let (mut at, mut flow) = (begin, Flow::Next);
        while at < end && flow == Flow::Next {
            if self.left == 0 || self.gave_up {
                self.gave_up = true;
                flow = Flow::Stop;
                break;
            }
            self.left -= 1;
            let program = self.program;
            let Some(step) = program.steps.get(at) else { break };
            self.line = step.call.line;
            (flow, at) = match &*step.name {
                b"if" => self.branches(at),
                b"foreach" => (self.foreach(at, step), step.next + 1),
                b"while" => (self.repeat(at, step), step.next + 1),
                b"block" => (self.scoped(at, step), step.next + 1),
                b"function" | b"macro" => {
                    self.define(at);
                    (Flow::Next, step.next + 1)
                }
                _ => (self.command(step), at + 1),
            };
        }
        self.depth -= 1;
        flow
    }

    /// Runs the `if()` at the index `begin`. Also returns the index of the command after its
    /// `endif()`.
    fn branches(&mut self, begin: usize) -> (Flow, usize) {
        let base = self.state.clone();
        let program = self.program;
        let (mut ways, mut at, mut all): (Vec<(Flow, State)>, usize, u64) = (Vec::new(), begin, 0);
        let (mut is_left, mut by_system) = (true, false);
        while let Some(step) = program.steps.get(at).filter(|step| step.name != b"endif") {
            let (truth, condition) = self.condition(step);
            all = mixed(all, condition);
            let mut words = step.call.arguments.iter();
            by_system |= words.any(|word| is_of_system(self.bytes(word)));
            let is_skipped = !is_left || truth == Truth::False;
            if is_skipped && by_system {
                let inside = program.steps.get(at + 1..step.next).unwrap_or_default();
                let sets = inside.iter().flat_map(|step| &step.sets);
                self.elsewhere.extend(sets.map(|(set, ..)| *set));
            }
            if is_left && truth != Truth::False {
                self.state = base.clone();
                let flow = self.block(at + 1, step.next);
                ways.push((flow, std::mem::take(&mut self.state)));
            }
            is_left &= truth != Truth::True;
            if step.next <= at {
                break;
            }
            at = step.next;
        }
        if is_left {
            ways.push((Flow::Next, base));
        }
        (self.join(ways, all), at + 1)
    }

    /// Joins `ways`: how each arm or round ended, and its final state. Execution continues with the
    /// merged states of the ways that skip the least code. The other states wait in `early` for the
    /// end of the loop or call that they left.
    fn join(&mut self, ways: Vec<(Flow, State)>, condition: u64) -> Flow {
        let nearest = [Flow::Next, Flow::Continue, Flow::Break, Flow::Return, Flow::Stop];
        let next = nearest.into_iter().find(|flow| ways.iter().any(|(way, _)| way == flow));
        let next = next.unwrap_or(Flow::Next);
        let mut state: Option<State> = None;
        for (at, (flow, way)) in ways.into_iter().enumerate() {
            let condition = mixed(condition, at as u64 + 1);
            if flow == next {
                self.left = self.left.saturating_sub(1);
                match &mut state {
                    Some(state) => state.merge(&way, condition),
                    None => state = Some(way),
                }
            } else if flow != Flow::Stop {
                self.early.push((flow, way, condition));
            }
        }
        self.state = state.unwrap_or_default();
        next
    }

    /// Runs the body of a loop once.
    fn round(&mut self, at: usize, step: &Step) -> Flow {
        let from = self.early.len();
        let flow = self.block(at + 1, step.next);
        self.rejoin(from, &[Flow::Continue]);
        if flow == Flow::Continue { Flow::Next } else { flow }
    }

    fn foreach(&mut self, at: usize, step: &Step) -> Flow {
        let arguments = self.arguments(step);
        self.zip(&arguments);
        let (names, items) = self.items(&arguments);
        let before: Vec<Option<Value>> =
            names.iter().map(|name| self.state.get(name).cloned()).collect();
        let (from, mut flow) = (self.early.len(), Flow::Next);
        for words in items {
            // Not 0 for an item that the list may lack, or that may expand to any number of items.
            let condition = words.iter().fold(0, |all, word| {
                mixed(mixed(all, word.doubt), if word.is_any() { hash(&word.text) } else { 0 })
            });
            let base = self.state.clone();
            for name in &names {
                self.state.set(name, words.clone());
            }
            flow = self.round(at, step);
            if condition != 0 {
                let ways = vec![(flow, std::mem::take(&mut self.state)), (Flow::Next, base)];
                flow = self.join(ways, condition);
            }
            if flow != Flow::Next {
                break;
            }
        }
        self.rejoin(from, &[Flow::Break]);
        for (name, value) in names.iter().zip(before) {
            match value {
                Some(value) => self.state.set(name, value.to_vec()),
                None => self.state.unset(name),
            }
        }
        if flow == Flow::Break { Flow::Next } else { flow }
    }

    /// Adds a doubt to the values of `foreach(… IN ZIP_LISTS A B)`: a new name in one list gets a
    /// value of the other list that belongs to another name, or none.
    fn zip(&mut self, arguments: &[Words]) {
        let mut lists =
            arguments.iter().map(Words::keyword).skip_while(|word| *word != b"ZIP_LISTS");
        lists.next();
        for list in lists.map(<[u8]>::to_vec).collect::<Vec<_>>() {
            self.doubt(&list, 8, |_| true);
        }
    }

    /// The variables of a loop, and the values that the variables get one after the other.
    fn items(&self, arguments: &[Words]) -> (Vec<Vec<u8>>, Vec<Vec<Word>>) {
        let keyword = |word: &Words| matches!(word.keyword(), b"IN" | b"RANGE");
        let (names, rest) = match arguments.iter().position(keyword) {
            Some(at) => arguments.split_at(at),
            None => arguments.split_at(arguments.len().min(1)),
        };
        let names: Vec<Vec<u8>> =
            names.iter().filter_map(|name| Some(name.name()?.to_vec())).collect();
        let mut items = Vec::new();
        let mut mode: &[u8] = b"ITEMS";
        for word in rest {
            match word.keyword() {
                b"IN" => {}
                b"RANGE" => {
                    // The numbers are not needed.
                    return (names, vec![vec![Word::new(b"${RANGE}")]]);
                }
                b"ITEMS" | b"LISTS" | b"ZIP_LISTS" => mode = word.keyword(),
                _ if mode == b"ITEMS" => items.push(word.words.clone()),
                name => {
                    let value = self.state.get(name).cloned();
                    let open = || Arc::new(vec![Word::new(&[b"${", name, b"}"].concat())]);
                    let words = value.unwrap_or_else(open);
                    items.extend(words.iter().map(|word| vec![word.clone()]));
                }
            }
        }
        if names.len() > 1 {
            // Each variable gets the words of one list.
            items.iter_mut().flatten().for_each(|word| *word = word.apart(2));
        }
        (names, items)
    }

    /// Runs a `while()` loop for zero, one and two rounds, and merges the results. Two rounds also
    /// stand for any higher number of rounds.
    fn repeat(&mut self, at: usize, step: &Step) -> Flow {
        let (_, condition) = self.condition(step);
        let from = self.early.len();
        let mut flow = Flow::Next;
        for _ in 0..2 {
            let base = self.state.clone();
            flow = self.round(at, step);
            let ways = vec![(flow, std::mem::take(&mut self.state)), (Flow::Next, base)];
            flow = self.join(ways, condition);
        }
        self.rejoin(from, &[Flow::Break]);
        flow
    }

    /// Runs a `block()`, which has variables of its own unless its arguments exclude them.
    fn scoped(&mut self, at: usize, step: &Step) -> Flow {
        let arguments = self.arguments(step);
        let place = |word: &[u8]| arguments.iter().position(|other| other.keyword() == word);
        let end = place(b"PROPAGATE").unwrap_or(arguments.len());
        if place(b"SCOPE_FOR").is_some()
            && !arguments[..end].iter().any(|word| word.keyword() == b"VARIABLES")
        {
            return self.block(at + 1, step.next);
        }
        let handed: Vec<Vec<u8>> = arguments[end..]
            .iter()
            .skip(1)
            .filter_map(|word| Some(word.name()?.to_vec()))
            .collect();
        let level = self.state.scopes.len();
        self.state.scopes.extend(self.state.scopes.last().cloned());
        let from = self.early.len();
        let flow = self.block(at + 1, step.next);
        for state in
            self.early[from..].iter_mut().map(|(_, state, _)| state).chain([&mut self.state])
        {
            state.leave(level, &handed);
        }
        flow
    }
}
