//! Directories of code objects that a library loads: Tensile's kernel libraries for rocBLAS,
//! hipBLASLt and hipSPARSELt, and others. This module works on the names of files, and on the names
//! in indexes; `audit::gpu` lists the directories and reads the indexes.

use super::compat::TargetCode;
use crate::format::gpu::TargetId;
use crate::id::FileId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A library that loads its kernels from files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tensile {
    /// The start of the library's soname.
    pub soname: &'static str,
    /// Name of the data directory, which is next to the library. The data is in the subdirectory
    /// `library` or `<version>/library`.
    pub directory: &'static str,
    /// The name in reports, such as `rocBLAS`.
    pub name: &'static str,
}

/// The libraries with Tensile data.
pub const TENSILE: &[Tensile] = &[
    Tensile { soname: "librocblas.so", directory: "rocblas", name: "rocBLAS" },
    Tensile { soname: "libhipblaslt.so", directory: "hipblaslt", name: "hipBLASLt" },
    Tensile { soname: "libhipsparselt.so", directory: "hipsparselt", name: "hipSPARSELt" },
];

/// The code objects in one directory, or the kpack files of one program or library.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// The path of the directory. For kpack files, the path of the files themselves, in which
    /// `@GFXARCH@` may stand for the GPU.
    pub dir: Arc<Path>,
    /// The program or library that loads the code objects. `None` if no file of the run is known to
    /// load them.
    pub library: Option<FileId>,
    /// True for Tensile data. `offers` then has the targets that have an index. If the index
    /// `TensileLibrary.dat` exists, it serves all targets, and `offers` has the targets of the code
    /// objects instead.
    pub is_tensile: bool,
    /// The targets for which the data set has code, sorted.
    pub offers: Vec<TargetCode>,
    /// Defects of the directory, such as a missing file. Always empty for kpack files.
    pub faults: Vec<DataDefect>,
}

/// A defect of a data directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DataDefect {
    /// An index names a file that does not exist.
    MissingFile {
        /// File name of the index.
        index: Vec<u8>,
        /// File name of the missing file.
        file: Vec<u8>,
    },
    /// Code objects have a target for which there is no index.
    NoIndex {
        /// The target without an index.
        target: TargetId,
        /// File name of one code object for the target.
        file: Vec<u8>,
    },
    /// An index names a Tensile library (a set of kernels) that has no code object.
    NoCode {
        /// File name of the index.
        index: Vec<u8>,
        /// The library that has no code object, as the index names it.
        library: Vec<u8>,
    },
    /// The indexes do not name some code objects of a target that has an index.
    Unnamed {
        /// The target of the code objects.
        target: TargetId,
        /// File name of the first code object that no index names.
        file: Vec<u8>,
        /// Number of code objects that no index names.
        count: usize,
    },
    /// A file with code for several targets lacks code for a target of the data set. Or a target
    /// has no helper file, although another target has one.
    Fewer {
        /// Name of the file; `Kernels.so-000-*.hsaco` for helper files.
        file: Vec<u8>,
        /// The target for which code is missing.
        target: TargetId,
    },
    /// An index cannot be read.
    BadIndex {
        /// File name of the index.
        index: Vec<u8>,
    },
}

/// The content of a data directory.
#[derive(Default)]
pub struct Listing {
    /// Names of files in the directory, and in its subdirectories that are named after a GPU.
    pub names: BTreeSet<Vec<u8>>,
    /// For each index, the names of libraries or files in it; `None` if the index is damaged or
    /// cannot be read.
    pub indexes: BTreeMap<Vec<u8>, Option<Vec<Vec<u8>>>>,
    /// For each file that was read, the targets of its code objects.
    pub code: BTreeMap<Vec<u8>, Vec<TargetCode>>,
}

/// The target at the end of the name of a data file, such as `TensileLibrary_lazy_gfx90a.dat`,
/// `Kernels.so-000-gfx90a-xnack+.hsaco` or `extop_gfx942.co`. `None` for other names.
pub fn target_of(name: &[u8]) -> Option<TargetId> {
    let text = std::str::from_utf8(name).ok()?;
    let (stem, _) = text.rsplit_once('.')?;
    let at = stem.rfind("gfx")?;
    let word = stem.get(at..)?.replace("-xnack", ":xnack").replace("-sramecc", ":sramecc");
    let is_start = at == 0 || matches!(stem.as_bytes().get(at - 1), Some(b'_' | b'-'));
    TargetId::parse(word.as_bytes()).filter(|_| is_start)
}

/// The kinds of index files, which name other files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexKind {
    /// `TensileLibrary_lazy_<gfx>.dat`: the libraries of one target.
    Lazy,
    /// `TensileLiteLibrary_lazy_Mapping.dat`: libraries by the numbers of their solutions.
    Mapping,
    /// `hipblasltExtOpLibrary.dat`: code objects of other operations, by target.
    Extensions,
}

impl IndexKind {
    /// The kind of the index file `name`; `None` for other files.
    pub fn of(name: &[u8]) -> Option<Self> {
        let stem = name.strip_suffix(b".dat")?;
        if stem.starts_with(b"TensileLibrary_lazy_gfx") {
            Some(Self::Lazy)
        } else if stem.starts_with(b"Tensile") && stem.ends_with(b"_lazy_Mapping") {
            Some(Self::Mapping)
        } else if stem == b"hipblasltExtOpLibrary" {
            Some(Self::Extensions)
        } else {
            None
        }
    }
}

/// True if the file `name` shows that the data set has a target. The file is then the lazy index,
/// or the only Tensile library, of that target.
fn names_target(name: &[u8]) -> bool {
    let is_plain = || {
        let rest = name.strip_prefix(b"TensileLibrary_gfx").and_then(|n| n.strip_suffix(b".dat"));
        rest.is_some_and(|rest| rest.iter().all(u8::is_ascii_alphanumeric))
    };
    IndexKind::of(name) == Some(IndexKind::Lazy) || is_plain()
}

fn is_code(name: &[u8]) -> bool {
    name.ends_with(b".co") || name.ends_with(b".hsaco")
}

/// The data set in a directory. `None` if there is neither device code nor Tensile data.
pub fn data_set(dir: &Path, library: Option<FileId>, listing: &Listing) -> Option<DataSet> {
    let is_tensile = listing.names.iter().any(|name| name.starts_with(b"TensileLibrary"));
    let has_merged = listing.names.contains(&b"TensileLibrary.dat"[..]);
    let mut offers: BTreeSet<TargetCode> = BTreeSet::new();
    let mut faults = BTreeSet::new();
    if is_tensile && !has_merged {
        let known = listing.names.iter().filter(|name| names_target(name));
        let targets = known.filter_map(|name| target_of(name));
        offers.extend(targets.map(|target| TargetCode { target, compressed: false }));
        tensile_faults(listing, &offers, &mut faults);
    } else {
        offers.extend(listing.code.values().flatten().cloned());
    }
    if is_tensile {
        shorter_files(listing, &offers, &mut faults);
    }
    let is_empty = offers.is_empty() && listing.code.is_empty() && !is_tensile;
    let faults = faults.into_iter().collect();
    let dir = dir.to_path_buf().into();
    let offers = super::by_target(offers);
    (!is_empty).then_some(DataSet { dir, library, is_tensile, offers, faults })
}

/// Reports code objects that no index names, targets without helpers, and defects of indexes.
fn tensile_faults(
    listing: &Listing,
    offers: &BTreeSet<TargetCode>,
    out: &mut BTreeSet<DataDefect>,
) {
    let mut named: BTreeSet<&[u8]> = BTreeSet::new();
    for (index, values) in &listing.indexes {
        let Some(values) = values else {
            out.insert(DataDefect::BadIndex { index: index.clone() });
            continue;
        };
        for value in values {
            out.extend(missing(listing, index, value));
            named.insert(value);
        }
    }
    let known: BTreeSet<&str> = offers.iter().map(|offer| &*offer.target.processor).collect();
    let can_name = listing.indexes.keys().any(|name| IndexKind::of(name) == Some(IndexKind::Lazy))
        && listing.indexes.values().all(Option::is_some);
    let mut without: BTreeMap<TargetId, Vec<&Vec<u8>>> = BTreeMap::new();
    for name in listing.names.iter().filter(|name| is_library_code(name)) {
        let Some(target) = target_of(name) else { continue };
        if !known.contains(&*target.processor) || can_name && !is_named(listing, &named, name) {
            without.entry(TargetId::any(&target.processor)).or_default().push(name);
        }
    }
    for (target, files) in without {
        let Some(file) = files.first().map(|name| (*name).clone()) else { continue };
        out.insert(if known.contains(&*target.processor) {
            DataDefect::Unnamed { target, file, count: files.len() }
        } else {
            DataDefect::NoIndex { target, file }
        });
    }
    helpers(listing, offers, out);
}

/// The defect of a name in an index: the file is missing, or the library has no code object. `None`
/// if the name has no defect.
fn missing(listing: &Listing, index: &[u8], value: &[u8]) -> Option<DataDefect> {
    let of_file = |file: Vec<u8>| {
        let is_there = listing.names.contains(&file);
        (!is_there).then(|| DataDefect::MissingFile { index: index.to_vec(), file })
    };
    let kind = IndexKind::of(index)?;
    if kind == IndexKind::Extensions {
        return of_file(value.to_vec());
    }
    of_file([value, b".dat"].concat()).or_else(|| {
        let target = (kind == IndexKind::Lazy).then(|| target_of(index)).flatten();
        let no_code = || DataDefect::NoCode { index: index.to_vec(), library: value.to_vec() };
        (!has_code(listing, value, target.as_ref())).then(no_code)
    })
}

/// True if a library has a code object. The code object has the name of the library, and may add
/// settings (`-xnack+`) or the target of the index (`_gfx90a`). If `target` is `None`, the index is
/// for all targets, and a code object for any target is enough.
fn has_code(listing: &Listing, library: &[u8], target: Option<&TargetId>) -> bool {
    let start = std::ops::Bound::Included(library.to_vec());
    let names = listing.names.range((start, std::ops::Bound::Unbounded));
    let mut rests = names.map_while(|name| name.strip_prefix(library));
    let is_for = |rest: &[u8]| match (rest.strip_prefix(b"_"), target) {
        (None, _) => true,
        (Some(_), None) => rest.starts_with(b"_gfx"),
        (Some(rest), Some(target)) => rest
            .strip_prefix(target.processor.as_bytes())
            .is_some_and(|rest| matches!(rest.first(), Some(b'.' | b'-'))),
    };
    rests.any(|rest| is_code(rest) && is_for(rest))
}

fn is_library_code(name: &[u8]) -> bool {
    is_code(name) && name.starts_with(b"TensileLibrary")
}

/// True if an index names the library of a code object, or if the code object belongs to the only
/// library of a target.
fn is_named(listing: &Listing, named: &BTreeSet<&[u8]>, name: &[u8]) -> bool {
    let stem = memchr::memrchr(b'.', name).and_then(|end| name.get(..end)).unwrap_or(name);
    let cut = |word: &[u8]| {
        memchr::memmem::rfind(stem, word).and_then(|at| stem.get(..at)).unwrap_or(stem)
    };
    let is_only = || {
        let index = [stem, b".dat"].concat();
        names_target(&index) && listing.names.contains(&index)
    };
    [stem, cut(b"-xnack"), cut(b"-sramecc"), cut(b"_gfx")].iter().any(|one| named.contains(one))
        || is_only()
}

/// Prefix of the names of helper files. Helpers hold kernels that all libraries of a target use.
const HELPERS: &[u8] = b"Kernels.so-000";

/// Reports targets that have no helper file, if another target has one.
fn helpers(listing: &Listing, offers: &BTreeSet<TargetCode>, out: &mut BTreeSet<DataDefect>) {
    let files = listing.names.iter().filter(|name| is_code(name) && name.starts_with(HELPERS));
    let has: Vec<TargetId> = files.filter_map(|name| target_of(name)).collect();
    if has.is_empty() {
        return;
    }
    for offer in offers {
        let name = &*offer.target.processor;
        let serves = |own: &TargetId| {
            own.processor == name || super::compat::members(&own.processor).contains(&name)
        };
        if !has.iter().any(serves) {
            let target = TargetId::any(name);
            out.insert(DataDefect::Fewer { file: [HELPERS, b"-*.hsaco"].concat(), target });
        }
    }
}

/// Reports files that have code for several targets, but lack a target of the data set.
fn shorter_files(listing: &Listing, offers: &BTreeSet<TargetCode>, out: &mut BTreeSet<DataDefect>) {
    for (name, code) in &listing.code {
        if target_of(name).is_some() || code.len() < 2 {
            continue;
        }
        for offer in offers {
            let has = |code: &TargetCode| {
                code.target.processor == offer.target.processor
                    || super::compat::members(&code.target.processor)
                        .contains(&&*offer.target.processor)
            };
            if !code.iter().any(has) {
                let target = TargetId::any(&offer.target.processor);
                out.insert(DataDefect::Fewer { file: name.clone(), target });
            }
        }
    }
}

/// The path of the data directory for the Tensile library at the path `library`. The directory need
/// not exist. Upstream installs the data in the subdirectory `library` of the data directory,
/// Debian in `VERSION/library`. `None` if the path `library` has no parent.
pub fn places(library: &Path, kind: Tensile) -> Option<PathBuf> {
    Some(library.parent()?.join(kind.directory))
}

/// The placeholder for the name of the GPU in the path of a kpack file.
const GPU: &[u8] = b"@GFXARCH@";

/// True if the directories in the path of a kpack file have no placeholder.
pub fn has_known_directory(path: &[u8]) -> bool {
    let dir = memchr::memrchr(b'/', path).and_then(|end| path.get(..end));
    dir.is_none_or(|dir| memchr::memmem::find(dir, GPU).is_none())
}

/// The target of a kpack file called `name`. `None` if the name does not have the form of
/// `pattern`. Without a placeholder in the pattern, the target comes from the end of the name.
/// The result is then `Some(None)` if the name has no target.
pub fn kpack_target(pattern: &[u8], name: &[u8]) -> Option<Option<TargetId>> {
    let Some(at) = memchr::memmem::find(pattern, GPU) else {
        return (name == pattern).then(|| target_of(name));
    };
    let (before, after) = (pattern.get(..at)?, pattern.get(at + GPU.len()..)?);
    let middle = name.strip_prefix(before)?.strip_suffix(after)?;
    TargetId::parse(middle).map(Some)
}

#[cfg(test)]
mod tests {
    use super::{DataDefect, DataSet, Listing, data_set, target_of};
    use crate::format::gpu::TargetId;
    use std::path::Path;

    #[test]
    fn names_end_with_targets() {
        for (name, target) in [
            ("TensileLibrary_lazy_gfx90a.dat", Some("gfx90a")),
            ("Kernels.so-000-gfx90a-xnack+.hsaco", Some("gfx90a:xnack+")),
            ("TensileLibrary_Type_HH_fallback_gfx1030.hsaco", Some("gfx1030")),
            ("extop_gfx942.co", Some("gfx942")),
            ("hipblasltTransform.hsaco", None),
            ("TensileLibrary_Type_HH_fallback.dat", None),
        ] {
            let found = target_of(name.as_bytes()).map(|target| target.to_string());
            assert_eq!(found.as_deref(), target, "{name}");
        }
    }

    fn set(names: &[&str], indexes: &[(&str, &[&str])]) -> DataSet {
        let bytes = |text: &&str| text.as_bytes().to_vec();
        let mut listing = Listing::default();
        listing.names.extend(names.iter().map(bytes));
        for (index, named) in indexes {
            listing.names.insert(bytes(index));
            listing.indexes.insert(bytes(index), Some(named.iter().map(bytes).collect()));
        }
        data_set(Path::new("/d"), None, &listing).expect("a set")
    }

    #[test]
    fn indexes_and_files_belong_together() {
        let files = ["T_A_gfx90a.dat", "T_A_gfx90a.co", "T_A_gfx1030.co", "T_C_gfx90a.co"];
        let files = files.map(|name| name.replace("T_", "TensileLibrary_Type_"));
        let names: Vec<&str> = files.iter().map(String::as_str).collect();
        let index = "TensileLibrary_lazy_gfx90a.dat";
        let named = ["TensileLibrary_Type_A_gfx90a", "TensileLibrary_Type_B_gfx90a"];
        let set = set(&names, &[(index, &named)]);
        let targets: Vec<String> = set.offers.iter().map(|o| o.target.to_string()).collect();
        assert_eq!(targets, ["gfx90a"]);
        let (index, file) = (index.into(), b"TensileLibrary_Type_B_gfx90a.dat".to_vec());
        let missing = DataDefect::MissingFile { index, file };
        let target = TargetId::any("gfx1030");
        let without = DataDefect::NoIndex { target, file: names[2].into() };
        let target = TargetId::any("gfx90a");
        let unnamed = DataDefect::Unnamed { target, file: names[3].into(), count: 1 };
        assert_eq!(set.faults, [missing, without, unnamed]);
    }

    /// A library may have its code under several file names, as in rocBLAS 6.4.
    #[test]
    fn libraries_have_code_under_several_names() {
        let index = "TensileLibrary_lazy_gfx90a.dat";
        let names =
            ["TensileLibrary_A_gfx90a", "TensileLibrary_B_gfx90a", "TensileLibrary_A_fallback"];
        let all = [
            "TensileLibrary_A_gfx90a.co",
            "TensileLibrary_B_gfx90a-xnack+.hsaco",
            "TensileLibrary_A_fallback_gfx90a-xnack-.hsaco",
        ];
        let dats = names.map(|name| format!("{name}.dat"));
        for left_out in 0..=all.len() {
            let mut files: Vec<&str> = dats.iter().map(String::as_str).collect();
            files.extend(all.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, f)| *f));
            // Code for another target does not replace the missing code.
            files.push("TensileLibrary_A_fallback_gfx906.hsaco");
            let found = set(&files, &[(index, &names), ("TensileLibrary_lazy_gfx906.dat", &[])]);
            let (index, library) = (index.as_bytes().to_vec(), names.get(left_out));
            let expected =
                library.map(|name| DataDefect::NoCode { index, library: name.as_bytes().to_vec() });
            assert_eq!(found.faults, expected.into_iter().collect::<Vec<_>>(), "{left_out}");
        }
    }

    #[test]
    fn other_indexes_name_files_too() {
        let files =
            ["TensileLibrary_A_gfx90a.dat", "TensileLibrary_A_gfx90a.co", "extop_gfx90a.co"];
        let lazy = ("TensileLibrary_lazy_gfx90a.dat", &["TensileLibrary_A_gfx90a"][..]);
        let mapping = "TensileLiteLibrary_lazy_Mapping.dat";
        let extensions = "hipblasltExtOpLibrary.dat";
        let good = [lazy, (mapping, lazy.1), (extensions, &["extop_gfx90a.co"][..])];
        assert_eq!(set(&files, &good).faults, []);
        let other = ["TensileLibrary_B_gfx90a"];
        let bad = [lazy, (mapping, &other[..]), (extensions, &["extop_gfx942.co"][..])];
        let fault = |index: &str, file: &str| DataDefect::MissingFile {
            index: index.into(),
            file: file.into(),
        };
        let expected =
            [fault(mapping, "TensileLibrary_B_gfx90a.dat"), fault(extensions, "extop_gfx942.co")];
        assert_eq!(set(&files, &bad).faults, expected);
    }

    #[test]
    fn helpers_are_there_for_every_target() {
        let indexes = [
            ("TensileLibrary_lazy_gfx90a.dat", &[][..]),
            ("TensileLibrary_lazy_gfx1030.dat", &[][..]),
        ];
        let one = ["Kernels.so-000-gfx90a-xnack+.hsaco"];
        let target = TargetId::any("gfx1030");
        let fewer = DataDefect::Fewer { file: b"Kernels.so-000-*.hsaco".to_vec(), target };
        assert_eq!(set(&one, &indexes).faults, [fewer]);
        assert_eq!(set(&[one[0], "Kernels.so-000-gfx1030.hsaco"], &indexes).faults, []);
        assert_eq!(set(&[], &indexes).faults, []);
    }
}
