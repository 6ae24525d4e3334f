//! The options of a run that select the audited system. Reports suggest commands, and these
//! commands repeat the options to audit the same system.

use super::{LoaderOption, SharedOptions};
use crate::rules::typeable;
use clap::ValueEnum as _;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// The options that select the audited system and its loader, as words of a shell command. `None`
/// if a value cannot be typed in a shell.
pub(super) fn options(shared: &SharedOptions) -> Option<Vec<String>> {
    let mut valued: Vec<(&str, &OsStr)> = Vec::new();
    valued.extend(shared.root.iter().map(|dir| ("--root", dir.as_os_str())));
    valued.extend(shared.staged.iter().map(|dir| ("--staged", dir.as_os_str())));
    valued.extend(shared.replaces.iter().map(|file| ("--replaces", file.as_os_str())));
    valued.extend(shared.prefix.iter().map(|dir| ("--prefix", dir.as_os_str())));
    valued.extend(shared.policy.iter().map(|policy| ("--policy", &**policy)));
    let loader = Some(shared.loader).filter(|loader| *loader != LoaderOption::Auto);
    let loader = loader.and_then(|loader| loader.to_possible_value());
    valued.extend(loader.iter().map(|loader| ("--loader", OsStr::new(loader.get_name()))));
    valued.extend(shared.cpu.iter().map(|level| ("--cpu", OsStr::new(level))));
    valued.extend(shared.cwd.iter().map(|dir| ("--cwd", dir.as_os_str())));
    valued.extend(shared.ld_library_path.iter().map(|dirs| ("--ld-library-path", &**dirs)));
    valued.extend(shared.ld_preload.iter().map(|files| ("--ld-preload", &**files)));
    valued.extend(shared.lib_path.iter().map(|dir| ("--lib-path", dir.as_os_str())));
    valued.extend(shared.host.iter().map(|host| ("--host", &**host)));
    let flags = [("--as-ldd", shared.as_ldd), ("--no-inferred-hosts", shared.no_inferred_hosts)];
    let flags = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.to_owned());
    let valued = valued.into_iter().map(|(name, value)| {
        let word = typeable(value.as_bytes())?;
        // A separate word with this start would be another option.
        let between = if value.as_bytes().starts_with(b"-") { '=' } else { ' ' };
        Some(format!("{name}{between}{word}"))
    });
    valued.chain(flags.map(Some)).collect()
}
