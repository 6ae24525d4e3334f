//! The only folder that opens, lists or probes audited files.
//!
//! A [`Tree`] is a file system as the audit sees it. These are the implementations:
//!
//! - [`DiskTree`]: the file system of this machine, or a sysroot in it
//! - [`OverlayTree`]: one tree laid over another
//! - [`InsideTree`]: the part of a tree that is in the prefixes of a run
//! - [`WithoutTree`]: a tree without some entries
//! - [`FirstErrorTree`]: a tree that records its first error
//! - [`MemTree`]: files in memory, for `stage`, tests and fuzzing
//!
//! A tree resolves paths as `open` in the loader would. It recognises special files before opening
//! them, lists directories, and returns [`Handle`]s for bounded reads at offsets. It caches no
//! content of files.

mod contract;
mod disk;
mod far;
mod file;
mod first_error;
mod follow;
mod inside;
mod kind;
mod link_targets;
mod list;
mod mem;
mod overlay;
mod process;
mod root;
pub mod walk;
mod walked;
mod without;

pub(crate) use contract::is_answer;
pub use contract::{Opened, Tree};
pub use disk::DiskTree;
pub use file::{Handle, KeptOpen, Permit, ReadAt};
pub use first_error::{FirstError, FirstErrorTree};
pub use follow::MOST_LINKS;
pub use inside::{InsideTree, without_dots};
pub use kind::{DirEntryKind, EntryType, FileOrigin, Special, Stat, is_set_id};
pub use link_targets::LinkTargets;
pub use mem::MemTree;
pub use overlay::{MountError, OverlayTree};
pub(crate) use process::is_named as leads_to_process;
pub use without::WithoutTree;

/// The kernel's error number of a failed call, as the loader would see it.
pub use rustix::io::Errno;
