//! A random library graph: its objects, their definitions, references and needs, their search
//! paths, and changes after linking.
//!
//! Plain data. `choose` and `symbols` fill it in, `emit` and `build` make files of it. In any text,
//! [`ROOT`] stands for the directory of the graph.

use std::collections::BTreeMap;

pub const ROOT: &str = "@ROOT@";

/// Stands for the directory of libc.
pub const LIBC: &str = "@LIBC@";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    Amd64,
    I386,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Function,
    Data,
    Tls,
    Unique,
    Ifunc,
    Absolute,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    Default,
    Protected,
    /// Exported by the linker and made `STV_HIDDEN` afterwards, in the dynamic symbol table.
    HiddenEntry,
}

#[derive(Debug, Clone)]
pub struct Def {
    pub name: String,
    pub kind: Kind,
    pub weak: bool,
    pub visibility: Visibility,
    pub size: usize,
    /// Its default version, an index into the versions of the object.
    pub version: Option<usize>,
    /// Versions under which an older, hidden definition exists as well.
    pub old: Vec<usize>,
}

/// The use of a symbol in machine code or data, which decides the relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Call,
    Got,
    Pointer,
    Copy,
    Address,
    TlsGlobal,
    TlsInitial,
    TlsDescriptor,
}

#[derive(Debug, Clone)]
pub struct Ref {
    pub name: String,
    pub uses: Vec<Use>,
    pub weak: bool,
    /// The requested version; without one the linker uses the default.
    pub version: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Need {
    /// A library of the graph, under the name it wants or under an alias.
    Library {
        index: usize,
        alias: Option<String>,
    },
    /// A library that exists only at link time.
    Gone(String),
    Libc,
}

#[derive(Debug, Clone)]
pub struct Program {
    pub pie: bool,
    pub interpreter: String,
    pub export_all: bool,
}

/// The state of the file when the loader reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Present,
    Removed,
    OtherClass,
    Text,
}

/// A change of the linked file that no linker option makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patch {
    WeakVersions,
    NoHashTable,
    NoSections,
}

#[derive(Debug, Clone)]
pub struct Object {
    pub dir: String,
    pub file: String,
    pub program: Option<Program>,
    /// The name that others record as `DT_NEEDED`.
    pub wanted: String,
    pub soname: Option<String>,
    pub versions: Vec<String>,
    pub defs: Vec<Def>,
    /// The versions and definitions it has in the end, after the links against it.
    pub final_versions: Vec<String>,
    pub final_defs: Vec<Def>,
    pub refs: Vec<Ref>,
    pub needs: Vec<Need>,
    pub rpath: Option<String>,
    pub runpath: Option<String>,
    pub flags: Vec<String>,
    pub fate: Fate,
    pub patches: Vec<Patch>,
}

impl Object {
    pub fn path(&self) -> String {
        if self.dir.is_empty() { self.file.clone() } else { format!("{}/{}", self.dir, self.file) }
    }

    /// The definition that a link against this library sees.
    pub fn defines(&self, name: &str) -> Option<&Def> {
        self.defs.iter().find(|def| def.name == name)
    }
}

/// A further entry of the tree, made after all objects and before their fates.
#[derive(Debug, Clone)]
pub enum Extra {
    Symlink { target: String, path: String },
    Hardlink { target: String, path: String },
    Copy { target: String, path: String },
    Move { target: String, path: String },
    OtherClass { path: String },
    OtherMachine { target: String, path: String },
    Text { path: String },
    Empty { path: String },
    Directory { path: String },
    Program { pie: bool, path: String },
}

#[derive(Debug)]
pub struct Graph {
    pub arch: Arch,
    pub dirs: Vec<String>,
    pub objects: Vec<Object>,
    pub extras: Vec<Extra>,
    /// The files to compare, with their paths as on the command line.
    pub files: Vec<String>,
    pub library_path: Option<String>,
    pub preload: Option<String>,
    pub features: BTreeMap<&'static str, usize>,
}

impl Graph {
    /// Counts one use of a feature, for the coverage that the test asserts.
    pub fn mark(&mut self, feature: &'static str) {
        *self.features.entry(feature).or_default() += 1;
    }

    pub fn libraries(&self) -> impl Iterator<Item = (usize, &Object)> {
        self.objects.iter().enumerate().filter(|(_, object)| object.program.is_none())
    }
}
