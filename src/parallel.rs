//! Runs a function on all items of a list, on all threads, and returns the results in the order of
//! the items. Each parallel iterator of `rayon` costs 10 KB of code. This module has only one,
//! which calls the function through a pointer. Code with millions of small items uses `rayon`
//! directly.

use rayon::prelude::*;
use std::sync::OnceLock;

/// The results of `work` for all items. An idle thread may take over any number of items.
pub(crate) fn map<I: Sync, T: Send + Sync>(items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    collect(items.len(), usize::MAX, |at| work(&items[at]))
}

/// Like [`map`], for items of very different cost: an idle thread takes over one item at a time.
pub(crate) fn map_single<I: Sync, T: Send + Sync>(
    items: &[I],
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    collect(items.len(), 1, |at| work(&items[at]))
}

/// Runs two jobs that both use the pool, and returns their results. If `is_parallel` is set,
/// `beside` runs on a new thread, not on a thread of the pool. A thread of the pool could begin
/// one job while it waits in the other, and deadlock because both jobs may hold locks.
pub(crate) fn both<A: Send, B>(
    is_parallel: bool,
    beside: impl Fn() -> A + Sync,
    here: impl FnOnce() -> B,
) -> (A, B) {
    if !is_parallel {
        return (beside(), here());
    }
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new().spawn_scoped(scope, &beside);
        let here = here();
        let beside = match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => beside(),
        };
        (beside, here)
    })
}

fn collect<T: Send + Sync>(len: usize, most: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results: Vec<OnceLock<T>> = std::iter::repeat_with(OnceLock::new).take(len).collect();
    run(len, most, &|at| {
        results[at].get_or_init(|| work(at));
    });
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}

fn run(len: usize, most: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..len).into_par_iter().with_max_len(most).for_each(work);
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_have_the_order_of_the_items() {
        let items: Vec<u32> = (0..1000).collect();
        let squares: Vec<u32> = items.iter().map(|item| item * item).collect();
        assert_eq!(super::map(&items, |item| item * item), squares);
        assert_eq!(super::map_single(&items, |item| item * item), squares);
    }
}
