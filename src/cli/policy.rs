//! Selects and merges the policies of a run, and shows the errors in policies. Also runs the
//! commands of `policy`.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for files of options")]

use super::exit::Exit;
use super::{PolicyCommand, SharedOptions, message, named, out};
use crate::catalogue::{GROUPS, Level, renamed};
use crate::order::Arrange as _;
use crate::policy::{self, LevelSetting, Origin, Policy, PolicyErrors, PolicyFiles, Renamed};
use crate::rules;
use crate::text::did_you_mean;
use crate::text::show_path;
use anyhow::{Context as _, Result, bail};
use clap::ArgMatches;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the policy file that a run reads in the current directory.
pub(super) const FOUND: &str = "linkaudit.toml";
/// Maximum size of a policy in bytes.
const MOST_BYTES: u64 = 16 << 20;

/// Reads policy files from this machine, even with `--root`.
struct Disk;

impl PolicyFiles for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        // The error for an absent file must be `NotFound`: the user may have misspelled the name of
        // a built-in policy.
        path.metadata()?;
        named::read(path, MOST_BYTES).map_err(io::Error::other)
    }

    fn real(&self, path: &Path) -> PathBuf {
        path.canonicalize().unwrap_or_else(|_| Path::new("/").join(path))
    }
}

/// Runs a command of `policy`. Errors in policies are coloured if `color` is true.
pub(super) fn run(shared: &SharedOptions, command: &PolicyCommand, color: bool) -> Result<Exit> {
    match command {
        PolicyCommand::Check { policies } => {
            let policy = merged(shared, policies, color, "")?;
            if !shared.quiet {
                out::stdout(|w| writeln!(w, "{}: no errors", policy.sources.join(", ")))?;
                let is_named = !policies.is_empty() || !shared.policy.is_empty();
                if !is_named && !shared.isolated && !found(shared)? {
                    message::fact(&format!(
                        "no {FOUND} in the current directory: only the built-in default was checked\n\
                         help: name a policy: linkaudit policy check FILE"
                    ));
                }
            }
        }
        PolicyCommand::Show { policies } => {
            let policy = merged(shared, policies, color, "")?;
            out::stdout(|w| w.write_all(policy.show().as_bytes()))?;
        }
        PolicyCommand::Init { file, .. } => write_new(file, policy::TEMPLATE.as_bytes())?,
        PolicyCommand::Schema => {
            out::stdout(|w| w.write_all(policy::schema(rules::catalogue()).as_bytes()))?;
        }
    }
    Ok(Exit::Clean)
}

/// Writes a policy to a file that must not exist yet.
pub(super) fn write_new(file: &Path, text: &[u8]) -> Result<()> {
    let shown = show_path(file);
    let written = out::new_file(file, |w| w.write_all(text));
    if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
        bail!("{shown}: already exists\nhelp: name another file: linkaudit policy init FILE");
    }
    written.with_context(|| format!("cannot write {shown}"))?;
    out::stdout(|w| writeln!(w, "wrote {shown}; next: linkaudit policy check {shown}"))?;
    Ok(())
}

/// The name by which the policy in `file` can extend the policy `name`. A path below the directory
/// of `file` becomes relative to that directory, and any other path absolute. `None` if the policy
/// `name` does not exist.
pub(super) fn seen_from(name: &str, file: &Path) -> Option<String> {
    if policy::is_built_in(name) {
        return Some(name.to_owned());
    }
    let (path, tag) = policy::split_tag(name);
    let real = Path::new(path).canonicalize().ok()?;
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = dir.canonicalize().ok()?;
    let path = real.strip_prefix(&dir).unwrap_or(&real).to_str()?;
    Some(tag.map_or_else(|| path.to_owned(), |tag| format!("{path}#{tag}")))
}

/// The policy of a run: the built-in default, then `--policy` or the file in the current directory,
/// then options.
pub(super) fn of_run(shared: &SharedOptions, color: bool) -> Result<Arc<Policy>> {
    merged(shared, &[], color, ": nothing was audited").map(Arc::new)
}

/// Merges the policies of the run and `more`. The file in the current directory is read only if
/// neither `--policy` nor `more` names a policy. `after` ends the message about errors.
fn merged(shared: &SharedOptions, more: &[OsString], color: bool, after: &str) -> Result<Policy> {
    let named = || shared.policy.iter().chain(more).map(|name| &**name);
    let found = named().next().is_none() && found(shared)?;
    let named: Vec<OsString> = named().map(plain_name).collect();
    let named = named.iter().map(|name| &**name).chain(found.then_some(OsStr::new(FOUND)));
    let mut policy = match policy::load(named, &Disk, rules::catalogue()) {
        Ok(policy) => policy,
        Err(mistakes) => return Err(refuse(&mistakes, color, after)),
    };
    policy.set(levels(shared)?);
    policy.renamed.extend(renamed_levels(shared));
    for Renamed { old, new, origin } in &policy.renamed {
        message::warning(&format!("{origin}: rule `{old}` was renamed to `{new}`"));
    }
    Ok(policy)
}

/// The path of a policy below the current directory, relative to that directory and without `./`.
/// The path is part of fingerprints, so it must not depend on how it was typed. Names of built-in
/// policies, and of files elsewhere, stay as typed.
fn plain_name(name: &OsStr) -> OsString {
    let is_file = |path: &&Path| {
        let text = path.to_str().unwrap_or_default();
        !path.as_os_str().is_empty() && !policy::is_built_in(text)
    };
    let plain = below_here(Path::new(name));
    plain.as_deref().filter(is_file).map_or_else(|| name.to_owned(), OsString::from)
}

/// The path relative to the current directory. `None` for a path outside of that directory, and for
/// a relative path that does not begin with `./`.
fn below_here(path: &Path) -> Option<PathBuf> {
    if path.is_relative() {
        return path.strip_prefix(".").ok().map(Path::to_path_buf);
    }
    let here = std::env::current_dir().ok()?;
    let real = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    let below = |path: &Path| path.strip_prefix(&here).ok().map(Path::to_path_buf);
    below(path).or_else(|| below(&real()?))
}

/// True if the file [`FOUND`] in the current directory applies: it exists, and `--isolated` is not
/// given. A directory or special file with this name is an error.
fn found(shared: &SharedOptions) -> Result<bool> {
    if shared.isolated {
        return Ok(false);
    }
    let path = Path::new(FOUND);
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        _ if path.is_file() => Ok(true),
        _ => bail!("{}: not a regular file\nhelp: to ignore it, use --isolated", show_path(path)),
    }
}

/// Shows errors in policies on stderr. Returns the error that ends the run, with `after` at the end
/// of its message.
fn refuse(mistakes: &PolicyErrors, color: bool, after: &str) -> anyhow::Error {
    // If stderr is closed, the exit status still reports the errors.
    let _ = writeln!(io::stderr(), "{}", mistakes.render(color));
    match mistakes.count() {
        1 => anyhow::anyhow!("1 error in the policy{after}"),
        many => anyhow::anyhow!("{many} errors in the policy{after}"),
    }
}

/// The rules that `-A`, `-W` and `-D` name by an old id, with their new ids.
fn renamed_levels(shared: &SharedOptions) -> impl Iterator<Item = Renamed> {
    shared.levels.iter().filter_map(|(old, _)| {
        Some(Renamed { old: old.clone(), new: renamed(old)?, origin: command_line() })
    })
}

/// The origin of settings that were typed on the command line.
pub(super) fn command_line() -> Origin {
    Origin { source: "command line".into(), line: 0 }
}

/// The level settings of `-A`, `-W` and `-D`, in the order typed. Old ids of rules are replaced.
/// Fails for an unknown rule or group.
fn levels(shared: &SharedOptions) -> Result<Vec<LevelSetting>> {
    let origin = command_line();
    let setting = |(name, level): &(String, _)| {
        if name == "l" {
            bail!(
                "-Wl,: an option of compilers\nhelp: give the compiler's whole command after all other options: linkaudit archive g++ -o x a.o"
            );
        }
        if !rules::catalogue().names(name) {
            let ids = rules::catalogue().rules().iter().map(|known| known.id);
            let names = ids.chain(GROUPS.iter().map(|group| group.name));
            let right = did_you_mean(name, names, "list the rules and groups: linkaudit explain");
            bail!("unknown rule or group `{name}`\nhelp: {right}");
        }
        let name = renamed(name).map_or_else(|| name.clone(), str::to_owned);
        Ok(LevelSetting { name, level: *level, origin: origin.clone() })
    };
    shared.levels.iter().map(setting).collect()
}

/// The levels that `-A`, `-W` and `-D` set, in the order typed. One value may name several rules or
/// groups, separated by commas.
pub(super) fn typed_levels(matches: &ArgMatches) -> Vec<(String, Level)> {
    let options = [("allow", Level::Allow), ("warn", Level::Warning), ("deny", Level::Error)];
    let mut found: Vec<(usize, &String, Level)> = Vec::new();
    for (id, level) in options {
        let indices = matches.indices_of(id).into_iter().flatten();
        let values = matches.get_many::<String>(id).into_iter().flatten();
        found.extend(indices.zip(values).map(|(index, value)| (index, value, level)));
    }
    found.arrange_by_key(|(index, ..)| *index);
    let names = |(_, value, level): (usize, &String, Level)| {
        value.split(',').map(move |name| (name.to_owned(), level)).collect::<Vec<_>>()
    };
    found.into_iter().flat_map(names).collect()
}
