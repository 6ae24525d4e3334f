//! The files and archives of a report, and the two lists that are streamed.

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
    /// Its needs in order, as resolved under that entry point.
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
    /// The layer that it lies in, `stage` or `sysroot`; absent without stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Cow<'static, str>>,
    /// Its exports, if a report with `--facts` was read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exports: Option<Vec<Export<'static>>>,
}

/// One need of a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Need {
    /// The needed name.
    #[serde(with = "raw")]
    pub name: Vec<u8>,
    /// The path by which the loader opened the file, if found.
    #[serde(with = "raw_option")]
    pub path: Option<Vec<u8>>,
    /// How it was found.
    pub how: Cow<'static, str>,
}

/// An exported symbol.
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
    /// The bindings, sorted.
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
    /// Number of members; none if they were not read.
    pub members: Option<usize>,
    /// Number of members without a readable object, such as bitcode.
    pub opaque: Option<usize>,
    /// Names that they refer to and that no audited file defines.
    pub references: Option<usize>,
}

/// Data too large for the model, streamed while a report is written.
pub trait Facts: Sync {
    /// The exports of a file, by index in [`super::Report::files`].
    fn exports(&self, file: usize) -> Vec<Export<'_>>;
    /// Number of entry points.
    fn roots(&self) -> usize;
    /// The bindings of one entry point.
    fn bindings(&self, root: usize) -> RootBindings<'_>;
}
