//! Files that a compiler adds to every link. `archive --self` reads the archives in addition to the
//! named directories. References to their symbols are therefore not reported as undefined.
//! `driver_line` adds the files to the link of a compiler's command.

use crate::order::Arrange as _;
use crate::tree::{DirEntryKind, EntryType, Tree};
use std::path::{Path, PathBuf};

/// The directory of GCC's own files. The files of one release are below it in `TARGET/RELEASE`.
const GCC: &str = "/usr/lib/gcc";

/// The archives that GCC's `LIBGCC_SPEC` links.
const ARCHIVES: &[&str] = &["libgcc.a", "libgcc_eh.a"];

/// The archives of all releases of GCC that are installed in `tree`.
pub(super) fn archives(tree: &dyn Tree) -> Vec<PathBuf> {
    let releases = below(tree, Path::new(GCC)).into_iter().flat_map(|target| below(tree, &target));
    let files = releases.flat_map(|release| ARCHIVES.iter().map(move |name| release.join(name)));
    files.filter(|file| tree.look(file).is_ok()).collect()
}

/// The output of a link by a compiler.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkKind {
    /// A shared object.
    Shared,
    /// A program without shared libraries, at a fixed address.
    Static,
    /// A position-independent program without shared libraries.
    StaticPie,
    /// A program at a fixed address.
    Program,
    /// A position-independent program.
    Pie,
}

impl LinkKind {
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Shared => "a shared object",
            Self::Static => "a static program",
            Self::StaticPie => "a static position-independent program",
            Self::Program => "a program at a fixed address",
            Self::Pie => "a position-independent program",
        }
    }

    /// The options of the linker for this output.
    pub(super) fn options(self) -> &'static [&'static str] {
        match self {
            Self::Shared => &["-shared"],
            Self::Static => &["-static"],
            Self::StaticPie => &["-static", "-pie"],
            Self::Program => &[],
            Self::Pie => &["-pie"],
        }
    }

    /// The files before the inputs, and the files after the libraries (`STARTFILE_SPEC` and
    /// `ENDFILE_SPEC` of GCC for GNU/Linux).
    pub(super) fn start_files(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Shared => (&["crti.o", "crtbeginS.o"], &["crtendS.o", "crtn.o"]),
            Self::Static => (&["crt1.o", "crti.o", "crtbeginT.o"], &["crtend.o", "crtn.o"]),
            Self::StaticPie => (&["rcrt1.o", "crti.o", "crtbeginS.o"], &["crtendS.o", "crtn.o"]),
            Self::Program => (&["crt1.o", "crti.o", "crtbegin.o"], &["crtend.o", "crtn.o"]),
            Self::Pie => (&["Scrt1.o", "crti.o", "crtbeginS.o"], &["crtendS.o", "crtn.o"]),
        }
    }
}

/// An installed release of GCC for one target.
pub(super) struct Release {
    /// The directory of its own files.
    pub(super) dir: PathBuf,
    /// The directories in which its linker searches for files, in order. The first one is `dir`.
    pub(super) dirs: Vec<PathBuf>,
    target: String,
}

impl Release {
    /// Finds the release for `target`, or for the machine of this program. If `version` is empty,
    /// the newest release is taken.
    pub(super) fn find(tree: &dyn Tree, target: Option<&[u8]>, version: &[u8]) -> Option<Self> {
        let name = |dir: &Path| dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let machine = format!("{}-", std::env::consts::ARCH);
        let is_wanted = |found: &str| match target {
            Some(target) => found.as_bytes() == target,
            None => found.starts_with(&machine),
        };
        let mut targets: Vec<PathBuf> = below(tree, Path::new(GCC));
        targets.retain(|dir| is_wanted(&name(dir)));
        let [of_target] = &*targets else { return None };
        let numbers = |dir: &Path| -> Vec<u32> {
            name(dir).split('.').map(|part| part.parse().unwrap_or(0)).collect()
        };
        let releases = below(tree, of_target).into_iter();
        let releases = releases.filter(|dir| version.is_empty() || name(dir).as_bytes() == version);
        let dir = releases.max_by_key(|dir| numbers(dir))?;
        let target = name(of_target);
        let multiarch = ["/usr/lib", "/lib"].map(|lib| Path::new(lib).join(&target));
        let [usr, root] = multiarch;
        let others = ["/usr/lib64", "/lib64", "/usr/lib", "/lib"].map(PathBuf::from);
        let dirs = [dir.clone(), usr, root].into_iter().chain(others);
        let dirs = dirs.filter(|dir| tree.look(dir).is_ok()).collect();
        Some(Self { dir, dirs, target })
    }

    /// Adds the directories below `/usr/local` in which GNU ld searches by default.
    pub(super) fn add_local_dirs(&mut self, tree: &dyn Tree) {
        let target = Path::new("/usr/local/lib").join(&self.target);
        let local = [target, "/usr/local/lib64".into(), "/usr/local/lib".into()];
        self.dirs.extend(local.into_iter().filter(|dir| tree.look(dir).is_ok()));
    }

    /// The path of a file of this release or of its C library.
    pub(super) fn file(&self, tree: &dyn Tree, name: &str) -> Option<PathBuf> {
        self.dirs.iter().map(|dir| dir.join(name)).find(|file| tree.look(file).is_ok())
    }

    /// True for a release of Debian or Ubuntu, whose targets have no vendor.
    pub(super) fn is_of_debian(&self) -> bool {
        self.target.ends_with("-linux-gnu") && self.target.matches('-').count() == 2
    }
}

/// The subdirectories of `dir`, sorted. Symbolic links are left out, because a link may be a second
/// name of a release. On Debian, this second name is the full version number.
fn below(tree: &dyn Tree, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // An error is ignored: without the directory, GCC is not installed.
    let _ = tree.list(dir, &mut |name, kind| {
        if kind == DirEntryKind::Kind(EntryType::Directory) {
            found.push(dir.join(name));
        }
    });
    found.arrange();
    found
}
