//! The limits of an evaluation. They bound its time and memory for any content of the files.

use super::eval::Eval;
use super::state::{EvalState, Text};

/// An amount of work: a limit, or the cost of an evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Number of commands that are evaluated.
    pub steps: usize,
    /// Number of bytes of text and state that are copied.
    pub bytes: usize,
}

impl Work {
    /// The limit for one audited package together with all packages that it requests.
    pub const MOST: Self = Self { steps: 10 * MOST_STEPS, bytes: 2 * MOST_WORK };

    /// The limit for all packages of a run.
    pub const MOST_IN_ALL: Self = Self { steps: 100 * MOST_STEPS, bytes: 20 * MOST_WORK };

    /// The smaller of both limits, for steps and for bytes.
    #[must_use]
    pub fn at_most(self, other: Self) -> Self {
        Self { steps: self.steps.min(other.steps), bytes: self.bytes.min(other.bytes) }
    }

    /// The work that is left after `spent`.
    #[must_use]
    pub fn less(self, spent: Self) -> Self {
        let steps = self.steps.saturating_sub(spent.steps);
        Self { steps, bytes: self.bytes.saturating_sub(spent.bytes) }
    }
}

/// Maximum number of commands evaluated for one package.
pub(super) const MOST_STEPS: usize = 300_000;
/// Maximum total size of the texts that are made for one package, in bytes.
pub(super) const MOST_BYTES: usize = 256 << 20;
/// Maximum amount of text and state that is copied for one package, in bytes: about a second of
/// work. This limit ends the evaluation of files that would take quadratic time.
pub(super) const MOST_WORK: usize = 3 << 30;
/// Estimated cost of copying and merging one variable, target or property, in copied bytes.
const ENTRY: usize = 256;
/// Estimated cost of splitting or searching one byte of a text, in copied bytes.
pub(super) const ITEM: usize = 16;

impl Eval<'_> {
    /// True if the package has reached one of its limits.
    pub(super) fn is_spent(&self) -> bool {
        self.steps == 0 || self.bytes == 0 || self.work == 0
    }

    /// Accounts for `bytes` of new text.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Accounts for `bytes` of copied text.
    pub(super) fn copy(&mut self, bytes: usize) {
        self.work = self.work.saturating_sub(bytes);
    }

    /// A copy of the state, for a branch that may not run.
    pub(super) fn copied(&mut self) -> EvalState {
        self.copy(self.state.len() * ENTRY);
        self.state.clone()
    }

    /// Begins a scope with a copy of the variables of the current scope.
    pub(super) fn open_scope(&mut self) {
        let scope = self.state.scope().clone();
        self.copy(scope.len() * ENTRY);
        self.state.scopes.push(scope);
    }

    /// The names of the defined variables that start with `start`. Also accounts for setting each
    /// of these variables, because all callers do that.
    pub(super) fn names_with(&mut self, start: &[u8]) -> Vec<Text> {
        let names = self.state.names_with(start);
        self.copy(self.state.len() * ITEM + names.len() * ENTRY);
        names
    }
}
