//! Starts the thread pool of a run, with as many of the wanted threads as the system allows. If no
//! thread can be started, the calling thread does all work.

use rayon::{ThreadBuilder, ThreadPoolBuilder};
use rustix::process::{Resource, getrlimit};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Maximum number of threads. In measurements, more threads did not make any run faster.
pub(super) const MOST: usize = 64;
/// Address space, in bytes, that one thread of the pool and one thread of the walk need together.
/// The allocator reserves address space in large pieces.
const SPACE: u64 = 192 << 20;

/// A running thread that waits to become a thread of the pool.
struct Waiting {
    part: Sender<ThreadBuilder>,
}

/// Starts the pool with at most `wanted` threads. Returns the number of its threads.
pub(super) fn start(wanted: usize) -> usize {
    let waiting: Vec<Waiting> = (0..within_space(wanted)).map_while(|_| waiting()).collect();
    let count = waiting.len().max(1);
    let pool = ThreadPoolBuilder::new().num_threads(count);
    let mut waiting = waiting.into_iter();
    // `build_global` fails if the pool exists. This error is ignored, because `diff` starts the
    // pool again for each audited directory.
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

/// The number of threads that fit into the limit of address space: at least one, at most `wanted`.
fn within_space(wanted: usize) -> usize {
    let space = getrlimit(Resource::As).current.unwrap_or(u64::MAX);
    usize::try_from(space / SPACE).map_or(wanted, |fit| wanted.min(fit.max(1)))
}

/// Starts one thread. A pool fails if one of its threads cannot be created, and rayon does not try
/// again. Therefore each thread must run before it joins the pool.
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
