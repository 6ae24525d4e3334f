//! Binding: which definition every reference of a root gets, and what stays without one.
//!
//! The rules are those of `elf/dl-lookup.c` and `elf/do-rel.h`. `own` answers quickly for each
//! object in the scope of its own closure; `root` puts these answers together for every root and
//! looks again only where they need not hold; `exact` goes through relocations where something is
//! unbound or all bindings are wanted. Nothing here opens a file: missing facts are needs.

mod definers;
pub mod exact;
pub mod lookup;
pub mod musl;
pub mod named;
pub mod own;
pub mod query;
pub mod root;

use crate::id::{FastMap, FileId, Id as _, ModuleId};
use crate::resolve::versions::Checked;

/// What binding one root came to.
#[derive(Debug, Default)]
pub struct RootBinding {
    /// The check of needed versions.
    pub checked: Checked,
    /// What relocating each module reports, in the order of relocation; modules without any are
    /// left out.
    pub reports: Vec<(ModuleId, Vec<Report>)>,
    /// Modules with more messages than [`MOST_REPORTS`], and how many more.
    pub left_out: Vec<(ModuleId, usize)>,
    /// Set if the loader itself ends here.
    pub abort: Option<(ModuleId, Abort)>,
    /// All bindings, if they are wanted.
    pub bindings: Vec<Binding>,
    /// Unique definitions that were reached, if bindings are wanted: plugins of this program get them.
    pub unique: Unique,
    /// Modules whose functions the loader of a running program allocates with, by name; if bindings
    /// are wanted.
    pub allocator: Vec<(&'static str, ModuleId)>,
}

/// Messages about the symbols of one module that are kept under one root; the rest is counted. Each
/// may become a finding of some kilobytes.
pub const MOST_REPORTS: usize = 100_000;

/// One message of relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// No definition for a strong reference.
    Undefined {
        /// Index in the module's dynamic symbol table.
        symbol: u32,
        /// Version index of the reference; 0 or 1 for none.
        version: u16,
        /// The loader knows the name of that version.
        version_known: bool,
        /// The program does not start; else it ends at the first call.
        at_load: bool,
    },
    /// A copy relocation whose definition has another size.
    Size {
        /// Index in the module's dynamic symbol table.
        symbol: u32,
    },
    /// A program copies a protected variable, or fixes the address of a protected function.
    Protected {
        /// Index in the module's dynamic symbol table.
        symbol: u32,
        /// The module that defines it.
        provider: ModuleId,
        /// A copy; else an address.
        copy: bool,
    },
}

/// Ways in which the loader itself ends while it relocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abort {
    /// It follows a null pointer: the object has version indices, and every file that versions are
    /// needed of is missing (up to glibc 2.43).
    NoVersionTable,
    /// It asserts: a versioned reference met its own provider without versions (up to 2.40).
    ProviderLostVersions,
}

/// One binding as LD_DEBUG=bindings prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Binding {
    /// The module that refers.
    pub module: ModuleId,
    /// Index in its dynamic symbol table.
    pub symbol: u32,
    /// The module whose definition it gets.
    pub provider: ModuleId,
}

/// Unique definitions by name: the first that a lookup reaches serves the whole process.
pub type Unique = FastMap<Vec<u8>, lookup::Winner>;

/// Answers of `own`, by file.
#[derive(Debug, Default)]
pub struct OwnBindings(Vec<Option<own::Own>>);

impl OwnBindings {
    /// Keeps the answer for `file`.
    pub fn insert(&mut self, file: FileId, own: own::Own) {
        if file.index() >= self.0.len() {
            self.0.resize_with((file.index() + 1).next_power_of_two(), || None);
        }
        self.0[file.index()] = Some(own);
    }

    /// The answer for `file`.
    pub fn get(&self, file: FileId) -> Option<&own::Own> {
        self.0.get(file.index())?.as_ref()
    }
}
