//! Matches globs that [`super::simple`] rejects: many nested alternatives, or classes that match
//! `/`. For each byte, the automaton visits each state at most once. The time is at most
//! proportional to the length of the text times the length of the pattern.

use super::glob::{ByteSet, Token, is_nothing};

/// A pattern as a nondeterministic automaton, which reads one byte at a time. A match begins in
/// `start` and ends in state 0, [`AutomatonState::End`].
#[derive(Clone, Debug)]
pub(super) struct Automaton {
    states: Vec<AutomatonState>,
    start: usize,
    /// True if `*` and `?` do not match `/`.
    separated: bool,
}

#[derive(Clone, Debug)]
enum AutomatonState {
    End,
    Byte(u8, usize),
    One(Box<ByteSet>, usize),
    /// Any byte if true; any byte but `/` if false. The number is the next state.
    Any(bool, usize),
    Either(Vec<usize>),
}

impl Automaton {
    pub(super) fn new(tokens: &[Token], separated: bool) -> Self {
        let mut out = Self { states: vec![AutomatonState::End], start: 0, separated };
        out.start = out.before(tokens, 0);
        out
    }

    fn add(&mut self, state: AutomatonState) -> usize {
        self.states.push(state);
        self.states.len() - 1
    }

    /// Adds states that match any number of bytes, and then continue with `next`. Returns the state
    /// in which the match starts.
    fn repeated(&mut self, with_slash: bool, next: usize) -> usize {
        let any = self.add(AutomatonState::Any(with_slash, 0));
        let both = self.add(AutomatonState::Either(vec![any, next]));
        self.states[any] = AutomatonState::Any(with_slash, both);
        both
    }

    /// Adds states that match `tokens`, and then continue with `next`. Returns the state in which
    /// the match starts.
    fn before(&mut self, tokens: &[Token], mut next: usize) -> usize {
        for token in tokens.iter().rev() {
            next = match token {
                Token::Byte(byte) => self.add(AutomatonState::Byte(*byte, next)),
                Token::Class(class) => self.add(AutomatonState::One(class.clone(), next)),
                Token::Any => self.add(AutomatonState::Any(!self.separated, next)),
                Token::Many => self.repeated(!self.separated, next),
                Token::Rest => self.repeated(true, next),
                Token::Deep => {
                    let slash = self.add(AutomatonState::Byte(b'/', next));
                    let below = self.repeated(true, slash);
                    self.add(AutomatonState::Either(vec![next, below]))
                }
                Token::Either(branches) => {
                    let some = branches.iter().filter(|branch| !is_nothing(branch));
                    let starts: Vec<usize> = some.map(|branch| self.before(branch, next)).collect();
                    if starts.is_empty() { next } else { self.add(AutomatonState::Either(starts)) }
                }
            };
        }
        next
    }

    /// True if the pattern matches all of `bytes`.
    pub(super) fn matches(&self, bytes: &[u8]) -> bool {
        let mut seen = vec![usize::MAX; self.states.len()];
        let (mut now, mut then) = (Vec::new(), Vec::new());
        self.enter(self.start, 0, &mut seen, &mut now);
        for (at, byte) in bytes.iter().enumerate() {
            for state in now.drain(..) {
                let next = match &self.states[state] {
                    AutomatonState::Byte(own, next) if own == byte => *next,
                    AutomatonState::One(class, next) if class[usize::from(*byte)] => *next,
                    AutomatonState::Any(with_slash, next) if *with_slash || *byte != b'/' => *next,
                    _ => continue,
                };
                self.enter(next, at + 1, &mut seen, &mut then);
            }
            std::mem::swap(&mut now, &mut then);
        }
        now.contains(&0)
    }

    /// Adds `state` to `out`, and the states reachable from it without consuming a byte. States
    /// that were already added at this position are skipped.
    fn enter(&self, state: usize, at: usize, seen: &mut [usize], out: &mut Vec<usize>) {
        let mut open = vec![state];
        while let Some(state) = open.pop() {
            if std::mem::replace(&mut seen[state], at) == at {
                continue;
            }
            match &self.states[state] {
                AutomatonState::Either(next) => open.extend(next),
                _ => out.push(state),
            }
        }
    }
}
