//! Fetches and unpacks Debian packages of another release or architecture, with apt's cache below
//! the temporary directory of the tests. Nothing is installed.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::support::clean;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The directories whose package lists this process has updated. The lock is held while apt runs.
/// The tests of one binary share the directories, without apt's own locks. An update could
/// therefore remove the lists that a fetch reads.
static UPDATED: LazyLock<Mutex<BTreeSet<PathBuf>>> = LazyLock::new(Mutex::default);

/// One release for one architecture.
pub struct Debian {
    dir: PathBuf,
    arch: String,
}

impl Debian {
    /// Updates the package lists of `suite` for `arch`. The error is a message for
    /// [`crate::support::skip`].
    pub fn new(suite: &str, arch: &str) -> Result<Self, String> {
        Self::with(suite, arch, "deb")
    }

    /// The lists of source packages.
    pub fn sources(suite: &str) -> Result<Self, String> {
        Self::with(suite, "amd64", "deb-src")
    }

    fn with(suite: &str, arch: &str, kind: &str) -> Result<Self, String> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debian");
        let dir = target.join(if kind == "deb" {
            format!("{suite}-{arch}")
        } else {
            format!("{suite}-source")
        });
        for part in ["state/lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(dir.join(part)).map_err(|error| error.to_string())?;
        }
        let source =
            format!("{kind} [signed-by={KEYRING}] http://deb.debian.org/debian {suite} main\n");
        std::fs::write(dir.join("sources.list"), source).map_err(|error| error.to_string())?;
        std::fs::write(dir.join("status"), "").map_err(|error| error.to_string())?;
        let debian = Self { dir, arch: arch.to_owned() };
        let mut done = UPDATED.lock().unwrap_or_else(PoisonError::into_inner);
        if done.contains(&debian.dir) {
            return Ok(debian);
        }
        // An update fails while the mirror itself is updated. Old lists suffice then.
        let updated = debian.apt(&["update"]);
        let lists = debian.dir.join("state/lists").read_dir().map_err(|error| error.to_string())?;
        if lists.count() < 3 {
            return Err(updated.err().unwrap_or_else(|| "apt-get update left no lists".to_owned()));
        }
        done.insert(debian.dir.clone());
        drop(done);
        Ok(debian)
    }

    /// Fetches and unpacks a source package into an empty directory; returns the directory of its
    /// sources.
    pub fn source(&self, package: &str, into: &Path) -> Result<PathBuf, String> {
        let _apt = UPDATED.lock().unwrap_or_else(PoisonError::into_inner);
        let args = [&*self.options(), &["source".to_owned(), "-qq".to_owned(), package.to_owned()]];
        run(clean("apt-get").current_dir(into).args(args.concat()))?;
        let entries = into.read_dir().map_err(|error| error.to_string())?.flatten();
        let mut dirs = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
        dirs.next().ok_or_else(|| format!("{package}: no sources were unpacked"))
    }

    /// Fetches `packages` and their dependencies; returns the files.
    pub fn fetch(&self, packages: &[&str]) -> Result<Vec<PathBuf>, String> {
        let _apt = UPDATED.lock().unwrap_or_else(PoisonError::into_inner);
        // Each list of packages has a cache of its own.
        let cache = self.cache(packages);
        std::fs::create_dir_all(cache.join("archives/partial")).map_err(|e| e.to_string())?;
        let set = format!("Dir::Cache={}", cache.display());
        let install = ["-o", &set, "-y", "--no-install-recommends", "--download-only", "install"];
        self.apt(&[&install[..], packages].concat())?;
        let archives = cache.join("archives").read_dir();
        let files = archives.map_err(|error| error.to_string())?.flatten().map(|e| e.path());
        let mut files: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|e| e == "deb")).collect();
        files.sort();
        Ok(files)
    }

    /// Fetches `packages` without dependencies; returns the files in the same order.
    pub fn download(&self, packages: &[&str]) -> Result<Vec<PathBuf>, String> {
        let _apt = UPDATED.lock().unwrap_or_else(PoisonError::into_inner);
        let options = self.options();
        packages
            .iter()
            .map(|package| {
                let dir = self.dir.join("single").join(package);
                std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
                let download = ["download".to_owned(), "-qq".to_owned(), (*package).to_owned()];
                // A newer file may lie beside the file of an earlier run.
                let before = newest_deb(&dir);
                let fetched = run(clean("apt-get").current_dir(&dir).args(&options).args(download));
                match (newest_deb(&dir), before, fetched) {
                    (Some(file), _, Ok(())) | (_, Some(file), Err(_)) => Ok(file),
                    (_, _, fetched) => {
                        Err(fetched.err().unwrap_or_else(|| format!("{package}: no file")))
                    }
                }
            })
            .collect()
    }

    fn cache(&self, packages: &[&str]) -> PathBuf {
        let sum = packages
            .concat()
            .bytes()
            .fold(5381_u32, |sum, byte| sum.wrapping_mul(33).wrapping_add(byte.into()));
        self.dir.join(format!("packages-{sum:08x}"))
    }

    fn apt(&self, args: &[&str]) -> Result<(), String> {
        run(clean("apt-get").args(self.options()).args(args))
    }

    fn options(&self) -> Vec<String> {
        let dir = self.dir.display();
        let options = [
            format!("Dir::State={dir}/state"),
            format!("Dir::State::status={dir}/status"),
            format!("Dir::Cache={dir}/cache"),
            format!("Dir::Etc::SourceList={dir}/sources.list"),
            "Dir::Etc::SourceParts=/dev/null".to_owned(),
            format!("APT::Architecture={}", self.arch),
            format!("APT::Architectures={}", self.arch),
            "APT::Sandbox::User=".to_owned(),
            "Debug::NoLocking=1".to_owned(),
            "Acquire::Retries=5".to_owned(),
        ];
        options.into_iter().flat_map(|option| ["-o".to_owned(), option]).collect()
    }
}

/// The newest package file in a directory.
fn newest_deb(dir: &Path) -> Option<PathBuf> {
    let files = dir.read_dir().ok()?.flatten().map(|entry| entry.path());
    let packages = files.filter(|path| path.extension().is_some_and(|e| e == "deb"));
    packages.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}

/// Unpacks as `dpkg -x` does.
pub fn unpack(packages: &[PathBuf], root: &Path) -> Result<(), String> {
    std::fs::create_dir_all(root).map_err(|error| error.to_string())?;
    packages.iter().try_for_each(|package| run(clean("dpkg").arg("-x").arg(package).arg(root)))
}

/// Unpacks into a root that has the links of a merged `/usr`, and keeps them.
pub fn unpack_merged(packages: &[PathBuf], root: &Path) -> Result<(), String> {
    for name in ["bin", "sbin", "lib", "lib64"] {
        let dir = root.join("usr").join(name);
        std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
        std::os::unix::fs::symlink(Path::new("usr").join(name), root.join(name))
            .map_err(|error| error.to_string())?;
    }
    let script = "dpkg --fsys-tarfile \"$1\" | tar -x --keep-directory-symlink -C \"$2\"";
    packages
        .iter()
        .try_for_each(|package| run(clean("sh").args(["-c", script, "sh"]).arg(package).arg(root)))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{command:?}: {text}"))
}
