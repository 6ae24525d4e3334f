//! Open files: reads at offsets, the identity at the time of opening, and the limit on files that
//! stay open.
//!
//! Trees create a [`Handle`] from a descriptor or from bytes in memory. The parsers in `format/`
//! read from it.

use super::kind::Stat;
use rustix::io::Errno;
use std::fmt::Debug;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// An open regular file that can be read at any offset, from any thread.
pub trait ReadAt: Send + Sync + Debug {
    /// Fills `buffer` from `offset` up to the end of the file; returns the number of bytes read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Appends the bytes from `offset` on until `buffer` has reached its capacity or the file ends.
    fn append_at(&self, buffer: &mut Vec<u8>, offset: u64) -> io::Result<()>;
    /// Current identity, size and times.
    fn stat(&self) -> Result<Stat, Errno>;
    /// Permission to stay open after the file has been read; `None` if the limit on files that stay
    /// open is reached.
    fn permit(&self) -> Option<Permit>;
}

/// An open regular file, with its `stat` at the time of opening.
#[derive(Debug)]
pub struct Handle {
    file: Arc<dyn ReadAt>,
    stat: Stat,
}

impl Handle {
    /// A handle of a file that was just opened, with its `stat` at that time.
    pub fn new(file: Arc<dyn ReadAt>, stat: Stat) -> Self {
        Self { file, stat }
    }

    /// The same file, kept open beyond the walk; `None` if the limit on files that stay open is
    /// reached.
    pub fn hold(&self) -> Option<KeptOpen> {
        let permit = self.file.permit()?;
        let handle = Self { file: Arc::clone(&self.file), stat: self.stat };
        Some(KeptOpen { handle, _permit: permit })
    }

    /// Identity, size and times at the moment of opening.
    pub fn stat(&self) -> Stat {
        self.stat
    }

    /// Fills `buffer` from `offset` up to the end of the file; returns the number of bytes read.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    /// Fills a new buffer of `len` bytes from `offset`, up to the end of the file. The buffer is
    /// not zeroed first.
    pub fn read_new(&self, len: usize, offset: u64) -> io::Result<Vec<u8>> {
        let mut buffer = Vec::with_capacity(len);
        self.read_on(&mut buffer, offset)?;
        Ok(buffer)
    }

    /// Appends the bytes from `offset` on until `buffer` has reached its capacity or the file ends.
    pub fn read_on(&self, buffer: &mut Vec<u8>, offset: u64) -> io::Result<()> {
        self.file.append_at(buffer, offset)
    }

    /// True if the content was modified since the file was opened, or if this cannot be decided. A
    /// new name, owner or mode is not a modification.
    pub fn rewritten(&self) -> bool {
        let content = |stat: Stat| (stat.len, stat.mtime);
        self.file.stat().map_or(true, |now| content(now) != content(self.stat))
    }

    /// True if the size, times or permission bits have changed since the file was opened, or cannot
    /// be read. The bytes that were read may then mix two versions of the file.
    pub fn changed(&self) -> bool {
        self.file.stat() != Ok(self.stat)
    }
}

/// A file that stays open until this value is dropped.
#[derive(Debug)]
pub struct KeptOpen {
    handle: Handle,
    _permit: Permit,
}

impl Deref for KeptOpen {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

/// Maximum number of files that one tree holds open. If one eighth of the process's descriptor
/// limit is lower, the eighth applies (see [`SHARE_HELD`]).
const MOST_HELD: usize = 32;
/// Divisor of the process's descriptor limit: one tree holds at most one eighth of the limit open.
const SHARE_HELD: u64 = 8;

/// Number of files that one tree holds open. Each tree has its own count, so that two audits in one
/// process do not take descriptors from each other.
#[derive(Debug, Default)]
pub(super) struct Budget {
    held: AtomicUsize,
    most: OnceLock<usize>,
}

impl Budget {
    /// Permission to hold one more file open; `None` if the limit is reached.
    pub(super) fn permit(self: &Arc<Self>) -> Option<Permit> {
        let most = *self.most.get_or_init(most_held);
        let next = |held: usize| (held < most).then_some(held + 1);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        Some(Permit(Some(Arc::clone(self))))
    }
}

fn most_held() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let share = limit.and_then(|limit| usize::try_from(limit / SHARE_HELD).ok());
    share.map_or(MOST_HELD, |share| share.min(MOST_HELD))
}

/// Permission to keep one file open; dropping it returns the permission.
#[derive(Debug)]
pub struct Permit(Option<Arc<Budget>>);

impl Permit {
    /// A permit that does not count, for a file without a descriptor.
    pub fn free() -> Self {
        Self(None)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(budget) = &self.0 {
            budget.held.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, MOST_HELD};
    use std::sync::Arc;

    #[test]
    fn each_budget_has_its_own_limit_and_gets_back_what_is_dropped() {
        let (one, other) = (Arc::new(Budget::default()), Arc::new(Budget::default()));
        let mut held: Vec<_> = std::iter::from_fn(|| one.permit()).collect();
        assert!((1..=MOST_HELD).contains(&held.len()));
        assert!(other.permit().is_some());
        held.pop();
        assert!(one.permit().is_some());
    }
}
