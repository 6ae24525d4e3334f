//! The files and archives of a report, and the two lists that are asked for while they are written.

use crate::text::{raw, raw_option};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// An ELF file that was read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct File {
    /// Its path, absolute, links resolved.
    #[serde(with = "raw")]
    pub path: Arc<Path>,
    /// DT_SONAME.
    #[serde(with = "raw_option")]
    pub soname: Option<Vec<u8>>,
    /// The first entry point that loads it.
    #[serde(with = "raw_option")]
    pub root: Option<Arc<Path>>,
    /// Its needs as that entry point meets them, in their order.
    pub needed: Vec<Need>,
    /// DT_RPATH.
    #[serde(with = "raw_option")]
    pub rpath: Option<Vec<u8>>,
    /// DT_RUNPATH.
    #[serde(with = "raw_option")]
    pub runpath: Option<Vec<u8>>,
    /// PT_INTERP.
    #[serde(with = "raw_option")]
    pub interpreter: Option<Vec<u8>>,
    /// Its machine.
    pub machine: String,
    /// What it defines for others, where a report with `--facts` was read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exports: Option<Vec<Export<'static>>>,
}

/// One need of a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Need {
    /// The name that is needed.
    #[serde(with = "raw")]
    pub name: Vec<u8>,
    /// The file as the loader opened it, if it found one.
    #[serde(with = "raw_option")]
    pub path: Option<Vec<u8>>,
    /// How it was found.
    pub how: Cow<'static, str>,
}

/// A name that a file defines for others.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Export<'a> {
    /// The symbol, raw.
    #[serde(with = "raw")]
    pub name: Cow<'a, [u8]>,
    /// Its version.
    #[serde(with = "raw_option")]
    pub version: Option<Cow<'a, [u8]>>,
}

/// The bindings of one entry point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RootBindings<'a> {
    /// Its path.
    #[serde(with = "raw")]
    pub root: Cow<'a, [u8]>,
    /// What is bound, sorted.
    pub bound: Vec<Bound<'a>>,
}

/// One binding: the file that refers, the symbol, its version, and the file that provides it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Bound<'a>(
    #[serde(with = "raw")] pub Cow<'a, [u8]>,
    #[serde(with = "raw")] pub Cow<'a, [u8]>,
    #[serde(with = "raw_option")] pub Option<Cow<'a, [u8]>>,
    #[serde(with = "raw")] pub Cow<'a, [u8]>,
);

/// A static archive that was audited.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Archive {
    /// Its path.
    #[serde(with = "raw")]
    pub path: Arc<Path>,
    /// How many members it has; none where they were not read.
    pub members: Option<usize>,
    /// How many of them hold no object that can be read, such as bitcode.
    pub opaque: Option<usize>,
    /// Names that they refer to and nothing audited defines.
    pub references: Option<usize>,
}

/// What is too much to hold in a model: asked for piece by piece while it is written.
pub trait Facts: Sync {
    /// What the file defines, by its place in [`super::Report::files`].
    fn exports(&self, file: usize) -> Vec<Export<'_>>;
    /// How many entry points there are.
    fn roots(&self) -> usize;
    /// The bindings of one entry point.
    fn bindings(&self, root: usize) -> RootBindings<'_>;
}
