//! The progress line: on stderr, on a terminal, and only when a run passes one second.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the line is written again.
const TICK: Duration = Duration::from_millis(100);
/// Ticks before it is written first.
const FIRST: u32 = 10;

/// A line that counts entries until it is dropped.
pub(super) struct Progress {
    seen: Arc<AtomicUsize>,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts counting; shows the count only if `on`.
    pub(super) fn new(on: bool) -> Self {
        let (seen, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let thread = on.then(|| {
            let (seen, done) = (Arc::clone(&seen), Arc::clone(&done));
            std::thread::Builder::new().spawn(move || show(&seen, &done)).ok()
        });
        // A run without threads to spare shows no progress.
        let thread = thread.flatten();
        Self { seen, done, thread }
    }

    /// The counter that the walk raises.
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
            // A progress line that cannot be written is not missed.
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
    /// Clears the line before other output.
    pub(super) fn end(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
