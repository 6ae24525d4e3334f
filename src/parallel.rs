//! Work on all items of a list by all threads, with the results in the order of the items. Each
//! parallel iterator of `rayon` is compiled anew, at 10 KB; here there is one, and the work is
//! behind a pointer. Work on millions of small items uses `rayon` itself.

use rayon::prelude::*;
use std::sync::OnceLock;

/// The results of `work` for all items. Threads take over any number of items.
pub(crate) fn map<I: Sync, T: Send + Sync>(items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    collect(items.len(), usize::MAX, |at| work(&items[at]))
}

/// The same for items of very different cost: threads take over single items.
pub(crate) fn map_single<I: Sync, T: Send + Sync>(
    items: &[I],
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    collect(items.len(), 1, |at| work(&items[at]))
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
