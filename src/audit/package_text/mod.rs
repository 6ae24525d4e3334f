//! Checks the text files of packages: whether the files that they name, and the packages that they
//! require, exist. The walk lists the text files. This module reads the text files, up to a size
//! limit, and only for rules that want the results. Text files are not in the corpus, because no
//! loader reads them.

mod cmake;
mod headers;
mod loose;
mod memo;
mod pkg_config;

pub use cmake::{CMakePackage, Undecided, cmake_package_name};
pub use headers::MissingHeader;
pub use loose::{TextPath, TextPathKind};
pub use pkg_config::{MissingFlag, PkgConfigFile, Unmet};

use crate::id::FastSet;
use crate::order::Arrange as _;
use crate::package::Prefixes;
use crate::plan::Plan;
use crate::sniff::Class;
use crate::tree::walk::{GivenPath, UnreadablePath, WalkedText, describe};
use crate::tree::{EntryType, Handle, Opened, Tree};
use crate::wants::Wants;
use std::path::{Path, PathBuf};

/// The text files that the walks listed, and the given paths.
#[derive(Default)]
pub(super) struct Texts {
    /// Text files below the audited paths.
    pub(super) audited: Vec<WalkedText>,
    /// Text files below the `--lib-path` directories.
    pub(super) beside: Vec<WalkedText>,
    /// Files that were given by name. They are checked even if they are outside of the usual
    /// directories.
    pub(super) given: FastSet<PathBuf>,
}

impl Texts {
    pub(super) fn is_empty(&self) -> bool {
        self.audited.is_empty()
    }

    /// The paths in `given` that are files.
    pub(super) fn files(given: &[GivenPath]) -> Vec<PathBuf> {
        let files = given.iter().filter(|given| given.kind == Ok(EntryType::File));
        files.map(|given| given.path.clone()).collect()
    }

    /// Adds the directories of given text files to `prefixes`. Text files are not in the corpus, so
    /// `collected::prefixes` does not see them.
    pub(super) fn add_given(&self, prefixes: &mut Prefixes) {
        for text in self.audited.iter().filter(|text| self.given.contains(&text.path)) {
            prefixes.add_dir_of(&text.path);
        }
    }

    /// The audited files of a class that are checked, sorted. A link to a file in an audited prefix
    /// is skipped: that file is checked by its own path.
    fn judged(&self, class: Class, tree: &dyn Tree, prefixes: &Prefixes) -> Vec<PathBuf> {
        let is_other = |text: &WalkedText| {
            text.is_link && tree.real_path(&text.path).is_ok_and(|real| prefixes.contain(&real))
        };
        let own = self.audited.iter().filter(|text| text.class == class && !is_other(text));
        let mut own: Vec<PathBuf> = own.map(|text| text.path.clone()).collect();
        own.arrange();
        own.dedup();
        own
    }

    /// All walked files of a class, including files of `--lib-path`.
    pub(super) fn all(&self, class: Class) -> impl Iterator<Item = &Path> {
        let all = self.audited.iter().chain(&self.beside);
        all.filter(move |text| text.class == class).map(|text| text.path.as_path())
    }
}

/// The results of the checks of all text files that rules want.
#[derive(Default)]
pub struct PackageText {
    /// The audited package files of pkg-config.
    pub pkg_config: Vec<PkgConfigFile>,
    /// The audited CMake packages.
    pub cmake: Vec<CMakePackage>,
    /// Configuration files of CMake packages that were not fully evaluated, because a limit was
    /// reached or it is unknown which code runs next. Each has the reason.
    pub undecided: Vec<Undecided>,
    /// Defects in other text files: missing paths, and flags that are added to every link.
    pub loose: Vec<TextPath>,
    /// Headers that installed headers include and that do not exist.
    pub headers: Vec<MissingHeader>,
}

/// Checks the text files that rules want. Files that cannot be read are added to `problems`.
pub(super) fn find(
    plan: &Plan,
    tree: &dyn Tree,
    prefixes: &Prefixes,
    texts: &Texts,
    problems: &mut Vec<UnreadablePath>,
) -> PackageText {
    let mut out = PackageText::default();
    let wants = plan.rule_wants;
    let mut dirs = Vec::new();
    if wants.holds(Wants::PKG_CONFIG) || wants.holds(Wants::HEADERS) {
        out.pkg_config = pkg_config::find(tree, prefixes, texts, problems, &mut dirs);
    }
    if wants.holds(Wants::CMAKE) || wants.holds(Wants::HEADERS) {
        (out.cmake, out.undecided) =
            cmake::find(tree, prefixes, texts, &plan.policy, problems, &mut dirs);
    }
    if wants.holds(Wants::HEADERS) {
        dirs.arrange();
        dirs.dedup();
        let interfaces = headers::Interfaces {
            dirs,
            pkg_config: &out.pkg_config,
            cmake: &out.cmake,
            sees_system: plan.stages.is_empty(),
        };
        out.headers = headers::find(tree, prefixes, texts, &interfaces, problems);
    }
    if wants.holds(Wants::LOOSE_TEXT) {
        out.loose = loose::find(tree, prefixes, texts, problems);
    }
    out
}

/// The content of a text file. The error is a reason for the report: the file has more than `most`
/// bytes, or it cannot be read.
fn read(tree: &dyn Tree, path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let handle = open(tree, path)?;
    let len = handle.stat().len;
    if len > most {
        return Err(format!("has {len} bytes: such a file is read up to {most}"));
    }
    bytes(&handle, len)
}

/// The first `most` bytes of a text file, or all bytes of a shorter one. The error is a reason for
/// the report.
fn read_start(tree: &dyn Tree, path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let handle = open(tree, path)?;
    bytes(&handle, handle.stat().len.min(most))
}

fn bytes(handle: &Handle, len: u64) -> Result<Vec<u8>, String> {
    let len = usize::try_from(len).map_err(|error| error.to_string())?;
    handle.read_new(len, 0).map_err(|error| error.to_string())
}

fn open(tree: &dyn Tree, path: &Path) -> Result<Handle, String> {
    match tree.open(path).map_err(describe)? {
        Opened::File(handle) => Ok(handle),
        Opened::Directory => Err("is a directory".to_owned()),
        Opened::Special(special) => Err(format!("it is {}", special.describe())),
    }
}
