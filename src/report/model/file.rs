//! The files and archives of a report, and the data of `--facts`, which are streamed.

use crate::text::{raw, raw_option};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// An ELF file that was read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct File {
    /// The absolute path of the file, with links resolved.
    #[serde(with = "raw")]
    pub path: Arc<Path>,
    /// The other names of the file in the prefix: symbolic and hard links to it, as absolute paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Name<'static>>,
    /// The DT_SONAME of the file; `None` if it has none.
    #[serde(with = "raw_option")]
    pub soname: Option<Vec<u8>>,
    /// The first entry point that loads the file; `None` if none loads it.
    #[serde(with = "raw_option")]
    pub root: Option<Arc<Path>>,
    /// The needs of the file in order, as resolved under `root`. If no entry point loads the file,
    /// all needs are `missing`.
    pub needed: Vec<ReportedNeed>,
    /// The DT_RPATH of the file, as written in it; `None` if it has none.
    #[serde(with = "raw_option")]
    pub rpath: Option<Vec<u8>>,
    /// The DT_RUNPATH of the file, as written in it; `None` if it has none.
    #[serde(with = "raw_option")]
    pub runpath: Option<Vec<u8>>,
    /// The PT_INTERP of the file: the path of its loader. `None` if it has none.
    #[serde(with = "raw_option")]
    pub interpreter: Option<Vec<u8>>,
    /// The machine for which the file was built, such as `x86_64` or `machine 42`.
    pub machine: String,
    /// The kind of the file: `relocatable`, `core` or `debug`. `None` for programs and libraries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Cow<'static, str>>,
    /// The first version that the file defines (index 2); `None` if the file defines no version.
    /// Old releases of linkaudit wrote none of the keys `first_version`, `kind` and
    /// [`Export::first`]. A comparison with a report of an old release does not expect these keys.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub first_version: Option<Vec<u8>>,
    /// The prefix in which the file was audited. `None` for a file outside of all prefixes, and for
    /// a dependency that was not audited.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Arc<Path>>,
    /// The layer that has the file, `stage` or `sysroot`; `None` without stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Cow<'static, str>>,
    /// The GPU targets of the file's device code, roughly oldest first; empty without device code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The symbols that the file exports. `Some` only in a report with `--facts` that was read
    /// back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exports: Option<Vec<Export<'static>>>,
    /// The symbols that the file refers to. `Some` only in a report with `--facts` that was read
    /// back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imports: Option<Vec<Imports<'static>>>,
}

/// One need of a file, as the loader resolved it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReportedNeed {
    /// The needed name.
    #[serde(with = "raw")]
    pub name: Vec<u8>,
    /// The path by which the loader opened the file; `None` if it was not found.
    #[serde(with = "raw_option")]
    pub path: Option<Vec<u8>>,
    /// How the loader found the file, in one word; `missing` if it was not found.
    pub how: Cow<'static, str>,
}

/// An exported symbol.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Export<'a> {
    /// The raw name of the symbol.
    #[serde(with = "raw")]
    pub name: Cow<'a, [u8]>,
    /// The version of the definition; `None` if it has none.
    #[serde(with = "raw_option")]
    pub version: Option<Cow<'a, [u8]>>,
    /// The type of the symbol; JSON omits it for functions.
    #[serde(default, skip_serializing_if = "ExportKind::is_function")]
    pub kind: ExportKind,
    /// The size in bytes of data, thread-local or not; `None` for other types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The ELF binding of the symbol; JSON omits it for global symbols.
    #[serde(default, skip_serializing_if = "ExportBinding::is_global")]
    pub binding: ExportBinding,
    /// True if the library itself always uses its own definition (STV_PROTECTED).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
    /// True if references without a version do not find the symbol. Its version is hidden and is
    /// not the first version of the library.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// True if the symbol's version is hidden and is the first version of the library. The loader
    /// binds references without a version to the symbol, but linkers and dlsym do not find it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first: bool,
}

impl Export<'_> {
    /// The same export with owned names.
    pub fn into_owned(self) -> Export<'static> {
        let Self { name, version, kind, size, binding, protected, hidden, first } = self;
        let version = version.map(|version| Cow::Owned(version.into_owned()));
        let name = Cow::Owned(name.into_owned());
        Export { name, version, kind, size, binding, protected, hidden, first }
    }
}

/// Types of exported symbols.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExportKind {
    /// A function, or an indirect function that is resolved at load (STT_GNU_IFUNC).
    #[default]
    Function,
    /// A variable or constant, or a common symbol (STT_OBJECT, STT_COMMON).
    Data,
    /// Thread-local data (STT_TLS).
    Tls,
    /// A symbol without type, such as a symbol from assembly code or a linker script.
    Other,
}

impl ExportKind {
    /// The type for an STT_* value of a symbol.
    pub(super) fn of(kind: u8) -> Self {
        use object::elf::{STT_COMMON, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT, STT_TLS, SymbolType};
        match SymbolType(kind) {
            STT_FUNC | STT_GNU_IFUNC => Self::Function,
            STT_OBJECT | STT_COMMON => Self::Data,
            STT_TLS => Self::Tls,
            _ => Self::Other,
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    fn is_function(&self) -> bool {
        *self == Self::Function
    }

    /// The type in messages, with its article: `a function`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Function => "a function",
            Self::Data => "data",
            Self::Tls => "thread-local data",
            Self::Other => "a symbol without type",
        }
    }
}

/// ELF bindings of exported symbols.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExportBinding {
    /// STB_GLOBAL, and values that loaders treat as global.
    #[default]
    Global,
    /// STB_WEAK: in a link, another definition may replace it.
    Weak,
    /// STB_GNU_UNIQUE: a process has one definition, regardless of scopes.
    Unique,
}

impl ExportBinding {
    /// The binding for an STB_* value of a symbol.
    pub(super) fn of(bind: u8) -> Self {
        use object::elf::{STB_GNU_UNIQUE, STB_WEAK, SymbolBind};
        match SymbolBind(bind) {
            STB_WEAK => Self::Weak,
            STB_GNU_UNIQUE => Self::Unique,
            _ => Self::Global,
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    fn is_global(&self) -> bool {
        *self == Self::Global
    }

    /// The name of the binding in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Weak => "weak",
            Self::Unique => "unique",
        }
    }
}

/// The symbols to which a file refers with one version. Weak references are separate.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Imports<'a> {
    /// The version; `None` for references without one.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub version: Option<Cow<'a, [u8]>>,
    /// The library that must define the version (vn_file); `None` without a version.
    #[serde(default, with = "raw_option", skip_serializing_if = "Option::is_none")]
    pub library: Option<Cow<'a, [u8]>>,
    /// True if the references are weak, so that the symbols may stay undefined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weak: bool,
    /// The symbols, sorted.
    pub names: Vec<Name<'a>>,
}

/// The raw name of a symbol, or the path of a link to a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name<'a>(#[serde(with = "raw")] pub Cow<'a, [u8]>);

/// The bindings under one entry point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RootBindings<'a> {
    /// The path of the entry point.
    #[serde(with = "raw")]
    pub root: Cow<'a, [u8]>,
    /// The bindings of all objects that the entry point loads, sorted.
    pub bound: Vec<SymbolBinding<'a>>,
}

/// One binding. The fields are the file that has the reference, the symbol, its version (`None`
/// without one), and the file that defines the symbol.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct SymbolBinding<'a>(
    #[serde(with = "raw")] pub Cow<'a, [u8]>,
    #[serde(with = "raw")] pub Cow<'a, [u8]>,
    #[serde(with = "raw_option")] pub Option<Cow<'a, [u8]>>,
    #[serde(with = "raw")] pub Cow<'a, [u8]>,
);

/// An audited static archive.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AuditedArchive {
    /// The path of the archive.
    #[serde(with = "raw")]
    pub path: Arc<Path>,
    /// Number of members; `None` if they were not read.
    pub members: Option<usize>,
    /// Number of members in an intermediate language of a compiler. Their references are unknown.
    /// `None` if the members were not read.
    pub opaque: Option<usize>,
    /// Number of names that the members refer to and that no audited file defines. `None` if the
    /// members were not read.
    pub references: Option<usize>,
}

/// The data of `--facts`, which is too large for the model. An output gets it for one file or entry
/// point at a time.
pub trait StreamedFacts: Sync {
    /// The exports of the file with this index in [`super::Report::files`].
    fn exports(&self, file: usize) -> Vec<Export<'_>>;
    /// The symbols to which the file with this index in [`super::Report::files`] refers, grouped by
    /// version.
    fn imports(&self, file: usize) -> Vec<Imports<'_>>;
    /// Number of entry points.
    fn roots(&self) -> usize;
    /// The bindings under the entry point with this index, which is less than [`Self::roots`].
    fn bindings(&self, root: usize) -> RootBindings<'_>;
}
