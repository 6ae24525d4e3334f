//! `rebuild-order`: the files that must be rebuilt for other GPU targets. Each line is the path of
//! a library or data directory. A library comes before the files that need it.

use super::gpu_packages::packages;
use super::{Emission, Emitted};
use crate::report::model::File;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Maximum length of a chain of needs that is followed.
const DEEPEST: usize = 1000;

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let wanted: BTreeSet<PathBuf> =
        packages(emission).into_iter().flat_map(|package| package.files).collect();
    let files: BTreeMap<&Path, &File> =
        emission.report.files.iter().map(|file| (&*file.path, file)).collect();
    let mut order = Order { wanted: &wanted, files, done: BTreeSet::new(), out: Vec::new() };
    for file in &wanted {
        order.visit(file, 0);
    }
    let mut out = Emitted::default();
    for path in &order.out {
        let bytes = path.as_os_str().as_bytes();
        if bytes.contains(&b'\n') {
            out.refuse(bytes, "has a newline in its name");
            continue;
        }
        out.bytes.extend(bytes);
        out.bytes.push(b'\n');
    }
    out
}

struct Order<'a> {
    wanted: &'a BTreeSet<PathBuf>,
    files: BTreeMap<&'a Path, &'a File>,
    done: BTreeSet<PathBuf>,
    out: Vec<PathBuf>,
}

impl Order<'_> {
    /// Adds a file after the files that it needs.
    fn visit(&mut self, path: &Path, depth: usize) {
        if depth > DEEPEST || !self.done.insert(path.to_path_buf()) {
            return;
        }
        let needs = self.files.get(path).map(|file| file.needed.as_slice()).unwrap_or_default();
        for need in needs.iter().filter_map(|need| need.path.as_deref()) {
            let need = Path::new(std::ffi::OsStr::from_bytes(need));
            if let Some(real) = self.real(need) {
                self.visit(&real, depth + 1);
            }
        }
        if self.wanted.contains(path) {
            self.out.push(path.to_path_buf());
        }
    }

    /// The file of the report that a loader opens by `path`. If no file has this path, the result
    /// is a file in the same directory whose soname is the file name in `path`.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        if self.files.contains_key(path) {
            return Some(path.to_path_buf());
        }
        let name = path.file_name()?.as_bytes();
        let dir = path.parent()?;
        let answers =
            |file: &&&File| file.soname.as_deref() == Some(name) && file.path.parent() == Some(dir);
        self.files.values().find(answers).map(|file| file.path.to_path_buf())
    }
}
