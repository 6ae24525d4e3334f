//! Results of evaluated packages. A result holds for another request if the packages that enclose
//! it define nothing else that the evaluation looked for.

use crate::cmake::{Manner, Outcome, Scope, Sought};
use crate::id::{FastMap, FastSet};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A request: configuration file, name of the package, components, version, options, and true if no
/// other package asked. One file may answer to several spellings of a name: it sets variables that
/// begin with the requested one.
pub(super) type Key = (PathBuf, Vec<u8>, Vec<Vec<u8>>, Option<Vec<u8>>, Manner, bool);

/// A result and what it depends on.
struct Known {
    outcome: Arc<Outcome>,
    /// The index in `open` of the outermost package that it depends on.
    outermost: Option<usize>,
    missed: Missed,
}

/// Names that an evaluation looked for, and that no enclosing package defined.
#[derive(Clone, Default)]
struct Missed {
    /// Variables such as `foo_FOUND`.
    found: FastSet<Vec<u8>>,
    commands: FastSet<String>,
}

impl Missed {
    fn add(&mut self, other: &Self) {
        self.found.extend(other.found.iter().cloned());
        self.commands.extend(other.commands.iter().cloned());
    }
}

/// A package that is being evaluated.
struct Open {
    path: PathBuf,
    /// Its scope, while another package is evaluated for it.
    scope: Option<Scope>,
    /// The index of the outermost package that it depends on, as far as it is evaluated.
    outermost: Cell<Option<usize>>,
    missed: RefCell<Missed>,
}

impl Open {
    fn depends_on(&self, index: usize) {
        self.outermost.set(Some(self.outermost.get().map_or(index, |known| known.min(index))));
    }
}

/// Results, and the packages that are being evaluated.
#[derive(Default)]
pub(super) struct Memo {
    known: FastMap<Key, Known>,
    open: Vec<Open>,
    /// Results that depend on a package in `open`, with its index.
    passing: Vec<(usize, Key)>,
}

impl Memo {
    /// A known result that holds for a request of the package that is being evaluated.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Outcome>> {
        let known = self.known.get(key)?;
        let is_there = |sought: &Sought<'_>| self.scopes().any(|(_, scope)| scope.has(sought));
        let Missed { found, commands } = &known.missed;
        let is_defined = found.iter().any(|name| is_there(&Sought::Variable(name)))
            || commands.iter().any(|name| is_there(&Sought::Command(name)));
        if is_defined {
            return None;
        }
        self.pass_on(known.outermost, &known.missed);
        Some(Arc::clone(&known.outcome))
    }

    /// The number of packages that are being evaluated.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// The configuration file of the package that is being evaluated.
    pub(super) fn innermost(&self) -> Option<&Path> {
        self.open.last().map(|open| open.path.as_path())
    }

    /// Begins the evaluation of a package.
    pub(super) fn begin(&mut self, path: PathBuf) {
        let (outermost, missed) = (Cell::new(None), RefCell::default());
        self.open.push(Open { path, scope: None, outermost, missed });
    }

    /// Ends the evaluation of a package, and keeps its result.
    pub(super) fn end(&mut self, key: Key, outcome: Arc<Outcome>) {
        let Some(Open { outermost, missed, .. }) = self.open.pop() else { return };
        let index = self.open.len();
        // These results hold only inside of this evaluation.
        let known = &mut self.known;
        self.passing.retain(|(at, key)| {
            if *at >= index {
                known.remove(key);
            }
            *at < index
        });
        let outermost = outermost.get().filter(|outermost| *outermost < index);
        let missed = missed.into_inner();
        self.pass_on(outermost, &missed);
        if let Some(outermost) = outermost {
            self.passing.push((outermost, key.clone()));
        }
        self.known.insert(key, Known { outcome, outermost, missed });
    }

    /// True if a package is being evaluated, on which the result of this one then depends.
    pub(super) fn is_open(&self, path: &Path) -> bool {
        let index = self.open.iter().position(|open| open.path == path);
        if let (Some(index), Some(last)) = (index, self.open.last()) {
            last.depends_on(index);
        }
        index.is_some()
    }

    /// Keeps the scope of the innermost package while it requests another one.
    pub(super) fn keep(&mut self, scope: Scope) {
        if let Some(open) = self.open.last_mut() {
            open.scope = Some(scope);
        }
    }

    /// Returns the scope of the innermost package.
    pub(super) fn take(&mut self) -> Scope {
        self.open.last_mut().and_then(|open| open.scope.take()).unwrap_or_default()
    }

    /// The innermost scope that has something.
    pub(super) fn enclosing(&self, sought: &Sought<'_>) -> Option<&Scope> {
        let found = self.scopes().find(|(_, scope)| scope.has(sought));
        let last = self.open.last()?;
        match (&found, sought) {
            (Some((index, _)), _) => last.depends_on(*index),
            (None, Sought::Variable(name)) if name.ends_with(b"_FOUND") => {
                let mut missed = last.missed.borrow_mut();
                if !missed.found.contains(*name) {
                    missed.found.insert(name.to_vec());
                }
            }
            (None, Sought::Command(name)) => {
                last.missed.borrow_mut().commands.insert((*name).to_owned());
            }
            // Each file looks for many of these before it defines them: the result is taken to hold
            // where an enclosing package defines them.
            (None, Sought::Variable(_) | Sought::Target(_) | Sought::ModulePath) => {}
        }
        found.map(|(_, scope)| scope)
    }

    /// Scopes of the enclosing packages, the innermost first.
    fn scopes(&self) -> impl Iterator<Item = (usize, &Scope)> {
        let scopes = self.open.iter().enumerate().rev();
        scopes.filter_map(|(index, open)| Some((index, open.scope.as_ref()?)))
    }

    /// Makes the innermost package depend on what a result depends on.
    fn pass_on(&self, outermost: Option<usize>, missed: &Missed) {
        let Some(last) = self.open.last() else { return };
        if let Some(outermost) = outermost {
            last.depends_on(outermost);
        }
        last.missed.borrow_mut().add(missed);
    }
}
