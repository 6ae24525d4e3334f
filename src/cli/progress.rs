//! The progress line on stderr. It appears only if a run takes more than a second, and by default
//! only on a terminal.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The interval between updates of the line.
const TICK: Duration = Duration::from_millis(100);
/// Number of ticks before the first update.
const FIRST: u32 = 10;

/// A line that shows the number of entries read. The line disappears when this value is dropped.
pub(super) struct Progress {
    seen: Arc<AtomicUsize>,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Creates the counter. If `on` is true, a thread shows its value.
    pub(super) fn new(on: bool) -> Self {
        let (seen, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let thread = on.then(|| {
            let (seen, done) = (Arc::clone(&seen), Arc::clone(&done));
            std::thread::Builder::new().spawn(move || show(&seen, &done)).ok()
        });
        // If no thread can be started, there is no progress line.
        let thread = thread.flatten();
        Self { seen, done, thread }
    }

    /// The counter that the walk increments.
    pub(super) fn seen(&self) -> &AtomicUsize {
        &self.seen
    }
}

fn show(seen: &AtomicUsize, done: &AtomicBool) {
    let mut ticks = 0_u32;
    while !done.load(Ordering::Relaxed) {
        std::thread::park_timeout(TICK);
        ticks = ticks.saturating_add(1);
        if ticks > FIRST && !done.load(Ordering::Relaxed) {
            let entries = seen.load(Ordering::Relaxed);
            // A failed write of a progress line is ignored.
            let _ = write!(std::io::stderr(), "\r\x1b[K{entries} entries read");
        }
    }
    if ticks > FIRST {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

impl Progress {
    /// Stops the thread and clears the line, so that other output can follow.
    pub(super) fn end(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
