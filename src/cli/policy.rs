//! Policies of a run: which are read, and how their mistakes are shown. `cli::plan` asks for the merged
//! policy; the commands of `policy` are here too.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for files of options")]

use super::Shared;
use crate::policy::{self, Files, LevelSetting, Mistakes, Origin, Policy};
use crate::rules::catalogue;
use crate::text::show_path;
use anyhow::{Result, bail};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The policy of a directory.
const FOUND: &str = "linkaudit.toml";
/// Larger files are no policies.
const MOST_BYTES: u64 = 16 << 20;

/// Policy files on this machine, whatever `--root` is.
struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("it is larger than any policy"));
        }
        Ok(bytes)
    }

    fn real(&self, path: &Path) -> PathBuf {
        path.canonicalize().unwrap_or_else(|_| Path::new("/").join(path))
    }
}

/// The policy of a run: built-in default, what `--policy` names or what is found, the command line.
pub(super) fn of_run(shared: &Shared, color: bool) -> Result<Arc<Policy>> {
    let found = found(shared)?.then_some(OsStr::new(FOUND));
    let named = shared.policy.iter().map(|name| &**name).chain(found);
    let mut policy = match policy::load(named, &Disk) {
        Ok(policy) => policy,
        Err(mistakes) => return Err(refuse(&mistakes, color)),
    };
    policy.set(levels(shared)?);
    Ok(Arc::new(policy))
}

/// True if there is a policy to be found. What is there and is no file is not passed over.
fn found(shared: &Shared) -> Result<bool> {
    if shared.isolated || !shared.policy.is_empty() {
        return Ok(false);
    }
    let path = Path::new(FOUND);
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        _ if path.is_file() => Ok(true),
        _ => bail!("{} is no file that can be read; --isolated leaves it out", show_path(path)),
    }
}

/// Shows mistakes on stderr; the error is the sentence that ends the run.
fn refuse(mistakes: &Mistakes, color: bool) -> anyhow::Error {
    // Without stderr the status alone must do.
    let _ = writeln!(io::stderr(), "{}", mistakes.render(color));
    match mistakes.count() {
        1 => anyhow::anyhow!("the policy has a mistake: nothing was audited"),
        many => anyhow::anyhow!("the policy has {many} mistakes: nothing was audited"),
    }
}

/// Settings of `-A`, `-W` and `-D`, in the order in which they were typed.
fn levels(shared: &Shared) -> Result<Vec<LevelSetting>> {
    let origin = Origin { source: "command line".into(), line: 0 };
    let setting = |(name, level): &(String, _)| {
        if catalogue::known(name).is_none() && catalogue::group(name).is_none() {
            bail!("`{name}` is no rule and no group; `linkaudit explain` lists them");
        }
        Ok(LevelSetting { name: name.clone(), level: *level, origin: origin.clone() })
    };
    shared.levels.iter().map(setting).collect()
}
