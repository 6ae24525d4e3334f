//! Finds files that occur together in the scope of an entry point.

use super::words::Defined;
use crate::id::{FastSet, FileId, Id as _, IdSet};
use crate::resolve::{Closure, ROOT};
use std::ops::Range;

/// Groups of up to this many files are compared pair by pair.
const FEW: usize = 6;

/// Pairs of files that share a scope: one bit for each pair of a file and a library.
pub(super) struct Together {
    /// By file: its row in `bits`; `None` for files that were not given.
    rows: Vec<Option<usize>>,
    /// Column of each library, by file. Files that are only entry points have no column, because no
    /// scope contains two entry points.
    columns: Vec<Option<usize>>,
    /// Number of 64-bit words in a row.
    width: usize,
    bits: Vec<u64>,
}

impl Together {
    /// Records which of `files` occur together in the scope of one of the entry points `roots`.
    pub(super) fn new(files: &[FileId], roots: &[&Closure]) -> Self {
        let last = files.iter().map(|file| file.index() + 1).max().unwrap_or(0);
        let (mut rows, mut columns) = (vec![None; last], vec![None; last]);
        for (row, file) in files.iter().enumerate() {
            rows[file.index()] = Some(row);
        }
        let mut count = 0_usize;
        let mut seen: IdSet<FileId> = IdSet::default();
        let listed = rows.clone();
        let is_known = |file: &FileId| listed.get(file.index()).is_some_and(Option::is_some);
        for closure in roots {
            for (module, file) in closure.in_scope().filter(|(_, file)| is_known(file)) {
                if module != ROOT && seen.insert(file) {
                    columns[file.index()] = Some(count);
                    count += 1;
                }
            }
        }
        let width = count.div_ceil(64);
        let bits = vec![0; width * files.len()];
        let mut out = Self { rows, columns, width, bits };
        let mut row = Vec::new();
        let mut known: FastSet<usize> = FastSet::default();
        for closure in roots {
            let scope = || closure.in_scope().map(|(_, file)| file).filter(is_known);
            out.set_row(&mut row, scope());
            // The libraries of a shared link map are marked only once.
            let others = known.insert(closure.links_id()).then(scope).into_iter().flatten();
            let root = Some(closure.root.file).filter(is_known);
            for file in root.into_iter().chain(others) {
                let range = out.range(file);
                out.bits[range].iter_mut().zip(&row).for_each(|(bits, scope)| *bits |= scope);
            }
        }
        out
    }

    /// The row of a file in `bits`.
    fn range(&self, file: FileId) -> Range<usize> {
        let row = self.rows[file.index()];
        row.map_or(0..0, |row| row * self.width..(row + 1) * self.width)
    }

    /// True if `file` is a library in the scope of an entry point.
    pub(super) fn is_library(&self, file: FileId) -> bool {
        self.columns[file.index()].is_some()
    }

    fn set_row(&self, row: &mut Vec<u64>, files: impl Iterator<Item = FileId>) {
        row.clear();
        row.resize(self.width, 0);
        for column in files.filter_map(|file| self.columns[file.index()]) {
            row[column / 64] |= 1 << (column % 64);
        }
    }

    /// True if `library` shares a scope with `file`. May be false if `library` is the entry point
    /// of every scope that they share.
    pub(super) fn knows(&self, file: FileId, library: FileId) -> bool {
        self.columns[library.index()].is_some_and(|column| {
            let word = self.bits[self.range(file)].get(column / 64);
            word.is_some_and(|word| word >> (column % 64) & 1 != 0)
        })
    }

    /// True if two of these files share a scope; `row` is scratch space.
    pub(super) fn has_two_of(&self, group: &[Defined], row: &mut Vec<u64>) -> bool {
        if group.len() <= FEW {
            for (place, Defined { file, .. }) in group.iter().enumerate() {
                let knows = |other: &Defined| {
                    self.knows(*file, other.file) || self.knows(other.file, *file)
                };
                if group[..place].iter().any(knows) {
                    return true;
                }
            }
            return false;
        }
        self.set_row(row, group.iter().map(|defined| defined.file));
        group.iter().any(|Defined { file, .. }| {
            let own = self.columns[file.index()];
            let row = self.bits[self.range(*file)].iter().zip(&*row);
            row.enumerate().any(|(at, (bits, group))| {
                let own = own.filter(|own| own / 64 == at).map_or(0, |own| 1 << (own % 64));
                bits & group & !own != 0
            })
        })
    }
}
