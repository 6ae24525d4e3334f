//! Threads of a run: how many there may be, and a pool of as many as the system grants. With none,
//! the calling thread does all work.

use rayon::{ThreadBuilder, ThreadPoolBuilder};
use rustix::process::{Resource, getrlimit};
use std::sync::mpsc::{Receiver, Sender, channel};

/// More threads than this gain nothing on any file system.
pub(super) const MOST: usize = 64;
/// Address space in bytes that each thread may need: the allocator reserves it in large pieces, for
/// one thread of the pool and one of the walk.
const SPACE: u64 = 192 << 20;

/// A thread that waits for its part in the pool.
struct Waiting {
    part: Sender<ThreadBuilder>,
}

/// Starts the pool with at most `wanted` threads, and returns how many work in it.
pub(super) fn start(wanted: usize) -> usize {
    let waiting: Vec<Waiting> = (0..within_space(wanted)).map_while(|_| waiting()).collect();
    let count = waiting.len().max(1);
    let pool = ThreadPoolBuilder::new().num_threads(count);
    let mut waiting = waiting.into_iter();
    // An error means that there is a pool already, which is as good: `diff` prepares one for each side.
    let _ = if waiting.len() == 0 {
        pool.use_current_thread().build_global()
    } else {
        let gone = || std::io::Error::other("a thread ended early");
        pool.spawn_handler(|part| {
            let waiting = waiting.next().ok_or_else(gone)?;
            waiting.part.send(part).map_err(|_| gone())
        })
        .build_global()
    };
    count
}

/// As many threads as fit into the limit of address space, of at most `wanted`.
fn within_space(wanted: usize) -> usize {
    let space = getrlimit(Resource::As).current.unwrap_or(u64::MAX);
    usize::try_from(space / SPACE).map_or(wanted, |fit| wanted.min(fit.max(1)))
}

/// Starts one thread. A pool whose threads cannot all be created does not start at all, and rayon
/// makes no second attempt; therefore each thread must run before it gets its part.
fn waiting() -> Option<Waiting> {
    let (part, parts): (_, Receiver<ThreadBuilder>) = channel();
    let (runs, running) = channel();
    let work = move || {
        if runs.send(()).is_ok()
            && let Ok(part) = parts.recv()
        {
            part.run();
        }
    };
    std::thread::Builder::new().spawn(work).ok()?;
    running.recv().ok()?;
    Some(Waiting { part })
}
