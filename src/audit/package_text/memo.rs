//! Memoises the results of evaluated CMake packages. The evaluation of a package looks up
//! variables, targets and commands in its enclosing packages: the packages that request it,
//! directly or through other packages. A result is reused for an equal request if the enclosing
//! packages give the same answers to all of these lookups.

use crate::cmake::{Manner, PackageOutcome, PackageScope, ScopeAnswer, ScopeLookup};
use crate::id::FastMap;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of answers that are stored with one result. A result with more answers is not
/// stored.
const MOST_ANSWERS: usize = 20_000;
/// Maximum number of answers that are stored in all.
const MOST_KEPT: usize = 2_000_000;
/// Maximum number of results that are stored for one request.
const MOST_RESULTS: usize = 8;

/// The key of a request: configuration file, name of the package, components, version and
/// options. The last field is true if a consumer made the request, and false if another package
/// did. The name is part of the key, because variables begin with the name as the request spells
/// it.
pub(super) type RequestKey = (PathBuf, Vec<u8>, Vec<Vec<u8>>, Option<Vec<u8>>, Manner, bool);

/// The answers that an evaluation got from its enclosing packages.
#[derive(Default)]
struct SeenAnswers {
    answers: FastMap<ScopeLookup, ScopeAnswer>,
    /// Configuration files that the evaluation requested, each with true if the package of that
    /// file was being evaluated when the evaluation requested the file.
    requested: FastMap<PathBuf, bool>,
    /// True if the evaluation got more answers than can be stored. The stored answers are then
    /// incomplete.
    is_full: bool,
}

impl SeenAnswers {
    fn len(&self) -> usize {
        self.answers.len() + self.requested.len()
    }

    fn add(&mut self, sought: &ScopeLookup, answer: &ScopeAnswer) {
        if self.is_full || self.answers.contains_key(sought) {
            return;
        }
        self.is_full = self.len() >= MOST_ANSWERS;
        self.answers.insert(sought.clone(), answer.clone());
    }
}

/// A package that is being evaluated.
struct OpenPackage {
    path: PathBuf,
    /// The scope of this package while a package that it requested is evaluated; `None` otherwise.
    scope: Option<PackageScope>,
    seen: RefCell<SeenAnswers>,
}

impl OpenPackage {
    /// Adds the answers that a requested package got from the packages that enclose this package.
    /// The result of this package depends on these answers too.
    fn take(&self, seen: &SeenAnswers) {
        let mut own = self.seen.borrow_mut();
        own.is_full |= seen.is_full;
        let answered = |sought| self.scope.as_ref().is_some_and(|s| s.answer(sought).is_some());
        for (sought, answer) in seen.answers.iter().filter(|(sought, _)| !answered(sought)) {
            own.add(sought, answer);
        }
        for (path, is_open) in seen.requested.iter().filter(|(path, _)| **path != self.path) {
            own.requested.entry(path.clone()).or_insert(*is_open);
        }
    }
}

/// The stored results, and the packages that are being evaluated.
#[derive(Default)]
pub(super) struct Memo {
    known: FastMap<RequestKey, Vec<(SeenAnswers, Arc<PackageOutcome>)>>,
    open: Vec<OpenPackage>,
    /// Number of answers in `known`.
    kept: usize,
}

impl Memo {
    /// Finds a stored result for the request `key` that holds in the present enclosing packages.
    /// Also returns the number of answers that were compared, as a measure of work.
    pub(super) fn get(&self, key: &RequestKey) -> (Option<Arc<PackageOutcome>>, usize) {
        let mut compared = 0;
        for (seen, outcome) in self.known.get(key).into_iter().flatten() {
            compared += seen.len();
            let holds = seen.answers.iter().all(|(sought, answer)| self.answer(sought) == *answer)
                && seen.requested.iter().all(|(path, is_open)| self.has(path) == *is_open);
            if holds {
                if let Some(last) = self.open.last() {
                    last.take(seen);
                }
                return (Some(Arc::clone(outcome)), compared);
            }
        }
        (None, compared)
    }

    /// The number of packages that are being evaluated, each requested by the one before.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// The configuration file of the innermost package that is being evaluated; `None` if there is
    /// none.
    pub(super) fn innermost(&self) -> Option<&Path> {
        self.open.last().map(|open| open.path.as_path())
    }

    /// Records that the package with the configuration file `path` is now the innermost one.
    pub(super) fn begin(&mut self, path: PathBuf) {
        self.open.push(OpenPackage { path, scope: None, seen: RefCell::default() });
    }

    /// Ends the evaluation of the innermost package. Its result is stored if `is_whole` is true and
    /// no limit of this module is reached.
    pub(super) fn end(&mut self, key: RequestKey, outcome: Arc<PackageOutcome>, is_whole: bool) {
        let Some(OpenPackage { seen, .. }) = self.open.pop() else { return };
        let seen = seen.into_inner();
        if let Some(last) = self.open.last() {
            last.take(&seen);
        }
        let results = self.known.entry(key).or_default();
        let is_kept = is_whole && !seen.is_full && self.kept + seen.len() <= MOST_KEPT;
        if is_kept && results.len() < MOST_RESULTS {
            self.kept += seen.len();
            results.push((seen, outcome));
        }
    }

    /// True if the package of this configuration file is being evaluated. Records that the result
    /// of the innermost package depends on this answer.
    pub(super) fn is_open(&self, path: &Path) -> bool {
        let is_open = self.has(path);
        if let Some(last) = self.open.last() {
            last.seen.borrow_mut().requested.insert(path.to_path_buf(), is_open);
        }
        is_open
    }

    fn has(&self, path: &Path) -> bool {
        self.open.iter().any(|open| open.path == path)
    }

    /// Stores the scope of the innermost package, which is about to request another package.
    /// [`Self::take`] returns the scope.
    pub(super) fn keep(&mut self, scope: PackageScope) {
        if let Some(open) = self.open.last_mut() {
            open.scope = Some(scope);
        }
    }

    /// Returns the scope that [`Self::keep`] stored for the innermost package.
    pub(super) fn take(&mut self) -> PackageScope {
        self.open.last_mut().and_then(|open| open.scope.take()).unwrap_or_default()
    }

    /// The answer of the packages that enclose the innermost one. Records that the result of the
    /// innermost package depends on this answer.
    pub(super) fn enclosing(&self, sought: &ScopeLookup) -> ScopeAnswer {
        let answer = self.answer(sought);
        if let Some(last) = self.open.last() {
            last.seen.borrow_mut().add(sought, &answer);
        }
        answer
    }

    /// The answer of the innermost stored scope that has an answer; `Absent` if no scope has one.
    fn answer(&self, sought: &ScopeLookup) -> ScopeAnswer {
        let scopes = self.open.iter().rev().filter_map(|open| open.scope.as_ref());
        let mut answers = scopes.filter_map(|scope| scope.answer(sought));
        answers.next().unwrap_or(ScopeAnswer::Absent)
    }
}
