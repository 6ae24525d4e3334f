//! Binding ahead: one thread resolves roots, one after the other, and meanwhile the others bind
//! objects in the closures that are made. It decides nothing: `binding` takes an answer only where it
//! was made in the very closure that it asks for, and makes all others itself.

use crate::bind::own::{self, Own, Rules};
use crate::facts::View;
use crate::id::{FastMap, FileId, IdSet};
use crate::plan::Plan;
use crate::resolve::Closure;
use crate::resolve::loader::{Family, Loader};
use std::sync::mpsc;

/// So many closures are handed over at once.
const BATCH: usize = 8;

/// What objects leave open in their own closures, as far as that is known when resolving ends.
#[derive(Default)]
pub(super) struct Ahead {
    begun: IdSet<FileId>,
    /// Closures that nobody has begun with.
    batch: Vec<(Closure, Rules)>,
    answers: FastMap<FileId, (Closure, Own)>,
}

/// True if what an object leaves open in this closure of its own is used under other roots.
pub(super) fn is_reused(closure: &Closure, loader: &Loader) -> bool {
    closure.fatal().is_none() && loader.family == Family::Glibc
}

impl Ahead {
    /// Runs `resolve` on one thread, and on the others binds the closures that it tells of.
    pub(super) fn during<T: Send>(
        &mut self,
        view: View<'_>,
        plan: &Plan,
        resolve: impl FnOnce(&mut dyn FnMut(&Closure, &Loader)) -> T + Send,
    ) -> T {
        if !plan.reuse {
            return resolve(&mut |_, _| {});
        }
        let Self { begun, batch, answers: known } = self;
        let (answer, answers) = mpsc::channel();
        let out = rayon::scope(|scope| {
            let bind = |batch: Vec<(Closure, Rules)>| {
                let answer = answer.clone();
                scope.spawn(move |_| {
                    for (closure, rules) in batch {
                        // What lacks a fact is bound again when all closures are known.
                        if let Ok(own) = own::bind(&closure, view, rules) {
                            let _ = answer.send((closure, own));
                        }
                    }
                });
            };
            resolve(&mut |closure, loader| {
                if is_reused(closure, loader) && begun.insert(closure.root.file) {
                    batch.push((closure.clone(), Rules { release: loader.release }));
                    if batch.len() == BATCH {
                        bind(std::mem::take(batch));
                    }
                }
            })
        });
        drop(answer);
        let by_file = |(closure, own): (Closure, Own)| (closure.root.file, (closure, own));
        known.extend(answers.into_iter().map(by_file));
        out
    }

    /// The answer for the object that `closure` starts from.
    pub(super) fn take(&mut self, closure: &Closure) -> Option<Own> {
        let (bound, own) = self.answers.remove(&closure.root.file)?;
        bound.loads_as(closure).then_some(own)
    }
}
