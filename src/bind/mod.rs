//! Binds references: finds the definition that each reference under an entry point gets, and the
//! references without a definition.
//!
//! The rules come from `elf/dl-lookup.c` and `elf/do-rel.h`. `standalone` binds each object
//! quickly in the scope of its own closure. `entry_point` combines these bindings under every
//! entry point, and repeats only the lookups whose result may differ under that entry point.
//! `relocation_pass` visits relocations where a reference is unbound or all bindings are
//! requested. This module opens no file: it returns missing facts as needs.

mod definers;
pub mod entry_point;
pub mod lookup;
pub mod musl;
pub mod query;
pub mod relocation_pass;
pub mod standalone;
pub mod symbol_query;

use crate::format::elf::SymbolIndex;
use crate::id::{FastMap, FileId, Id as _, ModuleId};
use crate::resolve::versions::Checked;

/// The bindings of one entry point.
#[derive(Debug, Default)]
pub struct RootBinding {
    /// The result of the check of needed versions.
    pub checked: Checked,
    /// Messages from the relocation of each module, in relocation order. Modules without messages
    /// are omitted.
    pub reports: Vec<(ModuleId, Vec<RelocationMessage>)>,
    /// Modules with more messages than [`MOST_REPORTS`], and the number of further messages.
    pub left_out: Vec<(ModuleId, usize)>,
    /// The module during whose relocation the loader crashes or fails an assertion; `None` if
    /// neither happens.
    pub abort: Option<(ModuleId, Abort)>,
    /// The provider of each reference, sorted and without duplicates. Empty if bindings are not
    /// requested.
    pub bindings: Vec<Binding>,
    /// STB_GNU_UNIQUE definitions that lookups reached, if bindings are requested; empty for a
    /// plugin. These definitions also apply to plugins of this program.
    pub unique: Unique,
    /// The functions with which the loader allocates memory once the program runs, such as
    /// `malloc`, each with the defining module. Empty if bindings are not requested, or if the
    /// loader uses its own allocator (before glibc 2.31).
    pub allocator: Vec<(&'static str, ModuleId)>,
}

/// Maximum number of messages that are kept about one module under one entry point. Further
/// messages are only counted. Each message may become a finding of several kilobytes.
pub const MOST_REPORTS: usize = 100_000;

/// One problem that the loader reports while it relocates a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationMessage {
    /// A strong reference has no definition.
    Undefined {
        /// Index of the reference in the module's dynamic symbol table.
        symbol: SymbolIndex,
        /// Version index of the reference; 0 or 1 if it requires no version.
        version: u16,
        /// True if the loader knows the name of that version.
        version_known: bool,
        /// True if loading fails, false if only the first call fails.
        at_load: bool,
    },
    /// A copy relocation of a variable: its size in the referring module and its size in the
    /// provider differ.
    Size {
        /// Index of the variable in the module's dynamic symbol table.
        symbol: SymbolIndex,
        /// The module that defines the variable.
        provider: ModuleId,
        /// Sizes in bytes: in the referring module, then in the provider.
        sizes: (u64, u64),
    },
    /// A program copies a protected variable, or determines the address of a protected function.
    Protected {
        /// Index of the symbol in the program's dynamic symbol table.
        symbol: SymbolIndex,
        /// The module that defines the symbol.
        provider: ModuleId,
        /// True if the program copies a variable, false if it determines the address of a function.
        copy: bool,
        /// True if loading fails, because the provider forbids these copies and addresses
        /// (`Object::indirect_access`). False if the loader prints a warning.
        refused: bool,
    },
}

/// Ways in which the loader itself crashes or fails an assertion while it relocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abort {
    /// The loader follows a null pointer (up to glibc 2.43). The object has version indices, but it
    /// names no versions, or every file from which it needs a version is missing.
    NoVersionTable,
    /// An assertion fails, because the provider of a versioned reference no longer has versions (up
    /// to glibc 2.40).
    ProviderLostVersions,
}

/// One binding as LD_DEBUG=bindings prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Binding {
    /// The module that has the reference.
    pub module: ModuleId,
    /// Index of the referring symbol in the module's dynamic symbol table.
    pub symbol: SymbolIndex,
    /// The module whose definition the reference gets.
    pub provider: ModuleId,
}

/// STB_GNU_UNIQUE definitions by name. The first definition that a lookup reaches applies to the
/// whole process.
pub type Unique = FastMap<Vec<u8>, lookup::Winner>;

/// By file: the result of binding it in its own closure (see [`standalone`]).
#[derive(Debug, Default)]
pub struct OwnBindings(Vec<Option<standalone::OpenReferences>>);

impl OwnBindings {
    /// Stores the result of binding `file` in its own closure.
    pub fn insert(&mut self, file: FileId, own: standalone::OpenReferences) {
        if file.index() >= self.0.len() {
            self.0.resize_with((file.index() + 1).next_power_of_two(), || None);
        }
        self.0[file.index()] = Some(own);
    }

    /// The result for `file`; `None` if it was not bound in its own closure.
    pub fn get(&self, file: FileId) -> Option<&standalone::OpenReferences> {
        self.0.get(file.index())?.as_ref()
    }
}
