//! Directories with code objects of a library: Tensile's kernel libraries of rocBLAS, hipBLASLt and
//! hipSPARSELt, and others. This module works on names, also on those in indexes; `audit::gpu`
//! lists the directories and reads the indexes.

use super::compat::Offer;
use crate::format::gpu::TargetId;
use crate::id::FileId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A library that loads its kernels from files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tensile {
    /// The start of the soname.
    pub soname: &'static str,
    /// The data directory, next to the library. The data is in its `library` or
    /// `<version>/library`.
    pub directory: &'static str,
    /// The name for people.
    pub name: &'static str,
}

/// The libraries with Tensile data.
pub const TENSILE: &[Tensile] = &[
    Tensile { soname: "librocblas.so", directory: "rocblas", name: "rocBLAS" },
    Tensile { soname: "libhipblaslt.so", directory: "hipblaslt", name: "hipBLASLt" },
    Tensile { soname: "libhipsparselt.so", directory: "hipsparselt", name: "hipSPARSELt" },
];

/// A directory of code objects.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// The directory.
    pub dir: Arc<Path>,
    /// The library that loads it, if that was read.
    pub library: Option<FileId>,
    /// True for Tensile data, whose targets are those that have an index.
    pub is_tensile: bool,
    /// Its targets.
    pub offers: Vec<Offer>,
    /// Its defects.
    pub faults: Vec<DataFault>,
}

/// A defect of a data directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DataFault {
    /// An index names a file that does not exist.
    MissingFile {
        /// The index.
        index: Vec<u8>,
        /// The file.
        file: Vec<u8>,
    },
    /// There are code objects for a target that no index names.
    NoIndex {
        /// The target.
        target: TargetId,
        /// One of its code objects.
        file: Vec<u8>,
    },
    /// A file with code for several targets lacks a target of its data set.
    Fewer {
        /// The file.
        file: Vec<u8>,
        /// The target.
        target: TargetId,
    },
    /// An index cannot be read.
    BadIndex {
        /// The index.
        index: Vec<u8>,
    },
}

/// The content of a data directory.
#[derive(Default)]
pub struct Listing {
    /// Names of its files.
    pub names: BTreeSet<Vec<u8>>,
    /// For each index, the names in it; `None` if it is damaged.
    pub indexes: BTreeMap<Vec<u8>, Option<Vec<Vec<u8>>>>,
    /// For each file that was read, the targets of its code objects.
    pub code: BTreeMap<Vec<u8>, Vec<Offer>>,
}

/// The target at the end of the name of a data file: `TensileLibrary_lazy_gfx90a.dat`,
/// `Kernels.so-000-gfx90a-xnack+.hsaco`, `extop_gfx942.co`.
pub fn target_of(name: &[u8]) -> Option<TargetId> {
    let text = std::str::from_utf8(name).ok()?;
    let (stem, _) = text.rsplit_once('.')?;
    let at = stem.rfind("gfx")?;
    let word = stem.get(at..)?.replace("-xnack", ":xnack").replace("-sramecc", ":sramecc");
    let is_start = at == 0 || matches!(stem.as_bytes().get(at - 1), Some(b'_' | b'-'));
    TargetId::parse(word.as_bytes()).filter(|_| is_start)
}

/// True for an index, which lists other files: `TensileLibrary_lazy_<gfx>.dat`.
pub fn is_index(name: &[u8]) -> bool {
    name.starts_with(b"TensileLibrary_lazy_gfx") && name.ends_with(b".dat")
}

/// True for a file that reveals a target of the library: an index, or the only library of a target.
fn names_target(name: &[u8]) -> bool {
    let is_plain = || {
        let rest = name.strip_prefix(b"TensileLibrary_gfx").and_then(|n| n.strip_suffix(b".dat"));
        rest.is_some_and(|rest| rest.iter().all(u8::is_ascii_alphanumeric))
    };
    is_index(name) || is_plain()
}

fn is_code(name: &[u8]) -> bool {
    name.ends_with(b".co") || name.ends_with(b".hsaco")
}

/// The data set in a directory; `None` if it has no device code.
pub fn data_set(dir: &Path, library: Option<FileId>, listing: &Listing) -> Option<DataSet> {
    let is_tensile = listing.names.iter().any(|name| name.starts_with(b"TensileLibrary"));
    let has_merged = listing.names.contains(&b"TensileLibrary.dat"[..]);
    let mut offers: BTreeSet<Offer> = BTreeSet::new();
    let mut faults = BTreeSet::new();
    if is_tensile && !has_merged {
        let known = listing.names.iter().filter(|name| names_target(name));
        let targets = known.filter_map(|name| target_of(name));
        offers.extend(targets.map(|target| Offer { target, compressed: false }));
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

/// Reports indexes without their files, and files without an index.
fn tensile_faults(listing: &Listing, offers: &BTreeSet<Offer>, out: &mut BTreeSet<DataFault>) {
    for (index, values) in &listing.indexes {
        let Some(values) = values else {
            out.insert(DataFault::BadIndex { index: index.clone() });
            continue;
        };
        for value in values {
            let file = [value, &b".dat"[..]].concat();
            if !listing.names.contains(&file) {
                out.insert(DataFault::MissingFile { index: index.clone(), file });
            }
        }
    }
    let known: BTreeSet<&str> = offers.iter().map(|offer| &*offer.target.processor).collect();
    let mut told = BTreeSet::new();
    for name in
        listing.names.iter().filter(|name| is_code(name) && name.starts_with(b"TensileLibrary"))
    {
        let Some(target) = target_of(name).map(|target| TargetId::any(&target.processor)) else {
            continue;
        };
        if !known.contains(&*target.processor) && told.insert(target.clone()) {
            out.insert(DataFault::NoIndex { target, file: name.clone() });
        }
    }
}

/// Reports files with code for several targets that lack some targets of the set.
fn shorter_files(listing: &Listing, offers: &BTreeSet<Offer>, out: &mut BTreeSet<DataFault>) {
    for (name, code) in &listing.code {
        if target_of(name).is_some() || code.len() < 2 {
            continue;
        }
        for offer in offers {
            let has = |code: &Offer| {
                code.target.processor == offer.target.processor
                    || super::compat::members(&code.target.processor)
                        .contains(&&*offer.target.processor)
            };
            if !code.iter().any(has) {
                let target = TargetId::any(&offer.target.processor);
                out.insert(DataFault::Fewer { file: name.clone(), target });
            }
        }
    }
}

/// The data directory of a Tensile library. Upstream installs the data below it, and Debian below a
/// version in it. The caller looks for both.
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

/// The target of a kpack file called `name`, if the name has the form of `pattern`. Without a
/// placeholder in the pattern, the target comes from the end of the name. It is `Some(None)` if the
/// name has none.
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
    use super::{DataFault, Listing, data_set, target_of};
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

    #[test]
    fn indexes_and_files_belong_together() {
        let names = [
            "TensileLibrary_lazy_gfx90a.dat",
            "TensileLibrary_Type_A_gfx90a.dat",
            "TensileLibrary_Type_A_gfx90a.co",
            "TensileLibrary_Type_A_gfx1030.co",
        ];
        let mut listing = Listing::default();
        listing.names.extend(names.map(|name| name.as_bytes().to_vec()));
        let named = ["TensileLibrary_Type_A_gfx90a", "TensileLibrary_Type_B_gfx90a"];
        let named = named.map(|name| name.as_bytes().to_vec()).to_vec();
        listing.indexes.insert(names[0].into(), Some(named));
        let set = data_set(Path::new("/d"), None, &listing).expect("a set");
        let targets: Vec<String> = set.offers.iter().map(|o| o.target.to_string()).collect();
        assert_eq!(targets, ["gfx90a"]);
        let (index, file) = (names[0].into(), b"TensileLibrary_Type_B_gfx90a.dat".to_vec());
        let missing = DataFault::MissingFile { index, file };
        let target = TargetId::any("gfx1030");
        let unnamed = DataFault::NoIndex { target, file: names[3].into() };
        assert_eq!(set.faults, [missing, unnamed]);
    }
}
