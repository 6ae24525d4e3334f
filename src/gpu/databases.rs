//! Databases of MIOpen and rocFFT, by their names: precompiled kernels, and tuning results. If no
//! database has a kernel, both libraries compile the kernel at run time, so a database for each GPU
//! is optional. `audit::databases` lists the directories and reads the headers.

use crate::format::gpu::database::DatabaseHeader;
use crate::format::gpu::{TargetId, processors};
use std::path::PathBuf;

/// A database of MIOpen or rocFFT.
#[derive(Clone, Debug)]
pub struct Database {
    /// The path of the database.
    pub path: PathBuf,
    /// The kind, the GPU and the number of its compute units, from the file name.
    pub name: DatabaseName,
    /// The size of the file in bytes.
    pub size: u64,
    /// The SQLite header of the file, or the reason why SQLite refuses the file. `None` for a text
    /// file.
    pub header: Option<Result<DatabaseHeader, &'static str>>,
}

/// The parts of a database's file name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabaseName {
    /// The kind of database: the library that reads it, and its content.
    pub kind: DatabaseKind,
    /// The GPU, if the name has one.
    pub target: Option<TargetId>,
    /// The number of the GPU's compute units, if the name has one.
    pub compute_units: Option<u32>,
}

/// The kind of a database: the library that reads it, and its content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DatabaseKind {
    /// Compiled kernels of MIOpen: `*.kdb`.
    Kernels,
    /// Tuned parameters of MIOpen: `*.db` and `*.db.txt`.
    Performance,
    /// The fastest algorithms that MIOpen found: `*.fdb.txt`.
    Find,
    /// Compiled kernels of rocFFT: `rocfft_kernel_cache*.db`.
    RocFft,
}

impl DatabaseKind {
    /// The name in JSON, such as `miopen-kernels`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernels => "miopen-kernels",
            Self::Performance => "miopen-performance",
            Self::Find => "miopen-find",
            Self::RocFft => "rocfft-kernels",
        }
    }
}

/// Parses the name of a database of MIOpen: `gfx906_60.HIP.fdb.txt`, `gfx90a68.db.txt`,
/// `gfx942.kdb`. `None` for any other file.
pub fn of_miopen(name: &[u8]) -> Option<DatabaseName> {
    let name = std::str::from_utf8(name).ok()?;
    let (stem, ends) = name.split_once('.')?;
    let kind = match ends {
        "kdb" => DatabaseKind::Kernels,
        "db" | "db.txt" => DatabaseKind::Performance,
        "HIP.fdb.txt" | "OpenCL.fdb.txt" | "fdb.txt" => DatabaseKind::Find,
        _ => return None,
    };
    let (target, compute_units) = device(stem)?;
    Some(DatabaseName { kind, target: Some(target), compute_units })
}

/// Parses the part of a name before the first dot: a GPU, and perhaps the number of its compute
/// units. The number is decimal after `_`, else hexadecimal. Only the list of GPUs shows where the
/// name of the GPU ends: `gfx90878` is a gfx908 with 120 compute units.
fn device(stem: &str) -> Option<(TargetId, Option<u32>)> {
    let fits = |name: &&str| stem.starts_with(*name);
    let longest = processors().filter(fits).max_by_key(|name| name.len())?;
    let rest = stem.get(longest.len()..)?;
    let (rest, settings) = match rest.find(['-', ':']) {
        Some(at) if rest.get(at + 1..)?.starts_with(['x', 's']) => {
            (rest.get(..at)?, rest.get(at..)?)
        }
        _ => (rest, ""),
    };
    let settings = settings.replace("-xnack", ":xnack").replace("-sramecc", ":sramecc");
    let target = TargetId::parse(format!("{longest}{settings}").as_bytes())?;
    let units = match rest.strip_prefix('_') {
        Some(decimal) => Some(decimal.parse().ok()?),
        None if rest.is_empty() => None,
        None => Some(u32::from_str_radix(rest, 16).ok()?),
    };
    Some((target, units))
}

/// Parses the name of a database of rocFFT: `rocfft_kernel_cache.db`, or for one GPU
/// `rocfft_kernel_cache_gfx950.db`. `None` for any other file.
pub fn of_rocfft(name: &[u8]) -> Option<DatabaseName> {
    let name = std::str::from_utf8(name).ok()?;
    let rest = name.strip_prefix("rocfft_kernel_cache")?.strip_suffix(".db")?;
    let target = match rest.strip_prefix('_') {
        Some(target) => Some(TargetId::parse(target.as_bytes())?),
        None if rest.is_empty() => None,
        None => return None,
    };
    Some(DatabaseName { kind: DatabaseKind::RocFft, target, compute_units: None })
}

#[cfg(test)]
mod tests {
    use super::{DatabaseKind, DatabaseName, of_miopen, of_rocfft};

    fn words(name: Option<DatabaseName>) -> Option<String> {
        let DatabaseName { kind, target, compute_units } = name?;
        let target = target.map_or("-".to_owned(), |target| target.to_string());
        Some(format!("{} {target} {}", kind.name(), compute_units.unwrap_or(0)))
    }

    #[test]
    fn names_have_targets() {
        for (name, expected) in [
            ("gfx1030_36.HIP.fdb.txt", Some("miopen-find gfx1030 36")),
            ("gfx906_60.OpenCL.fdb.txt", Some("miopen-find gfx906 60")),
            ("gfx90878.db.txt", Some("miopen-performance gfx908 120")),
            ("gfx90a6e.db", Some("miopen-performance gfx90a 110")),
            ("gfx942130.HIP.fdb.txt", Some("miopen-find gfx942 304")),
            ("gfx942e4.db.txt", Some("miopen-performance gfx942 228")),
            ("gfx90a.kdb", Some("miopen-kernels gfx90a 0")),
            ("gfx90a-xnack+.kdb", Some("miopen-kernels gfx90a:xnack+ 0")),
            ("gfx908_ConvAsm1x1U_encoder.ktn.model", None),
            ("gfx90a_metadata.tn.model", None),
            ("passwords.kdb", None),
            ("gfx90a_x.kdb", None),
        ] {
            assert_eq!(words(of_miopen(name.as_bytes())).as_deref(), expected, "{name}");
        }
        let cache = of_rocfft(b"rocfft_kernel_cache.db").map(|name| (name.kind, name.target));
        assert_eq!(cache, Some((DatabaseKind::RocFft, None)));
        let one = words(of_rocfft(b"rocfft_kernel_cache_gfx950.db"));
        assert_eq!(one.as_deref(), Some("rocfft-kernels gfx950 0"));
        assert_eq!(of_rocfft(b"rocfft_kernel_cacheX.db"), None);
    }
}
