//! Decides which shared objects are plugins of a `[[host]]` entry: by their path below the prefix,
//! or by a name that they define. `resolve::hosts` calls this module for programs in the audit, and
//! the diagnosis calls it for programs outside of the audit. This module opens no file and follows
//! no loader rule.

use super::{FileFacts, Need};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{EVERY_VERSION, Object, Role, hash};
use crate::id::FileId;
use crate::policy::HostEntry;
use std::path::Path;

/// True if the file is a plugin of `host`; `below` is its path below the prefix. Exported names are
/// checked only if the path matches no pattern. That check reads the object's symbol tables; `Err`
/// is the need for them.
pub fn is_plugin(
    host: &HostEntry,
    file: FileId,
    facts: &FileFacts,
    below: &Path,
) -> Result<bool, Need> {
    let Some(object) = facts.object().filter(|object| can_be_plugin(object)) else {
        return Ok(false);
    };
    let bytes = below.as_os_str().as_encoded_bytes();
    if host.plugins.iter().any(|pattern| pattern.matches(bytes)) {
        return Ok(true);
    }
    if host.exports.is_empty() {
        return Ok(false);
    }
    let tables = object.tables.as_ref().ok_or(Need::Tables(file))?;
    // A pattern without wildcards is looked up in the hash table, as dlsym does, because there may
    // be half a million symbols.
    let (whole, patterns): (Vec<_>, Vec<_>) =
        host.exports.iter().partition(|pattern| pattern.whole().is_some());
    let mut names = whole.iter().filter_map(|pattern| pattern.whole());
    if names.any(|name| object.defines(name, hash::gnu(name), EVERY_VERSION)) {
        return Ok(true);
    }
    let is_named = |symbol: Symbol<'_>| patterns.iter().any(|pattern| pattern.matches(symbol.name));
    Ok(!patterns.is_empty() && tables.exports().any(is_named))
}

/// True if a program could load the object with dlopen: a shared object of this system with a
/// dynamic section.
pub fn can_be_plugin(object: &Object) -> bool {
    object.role == Role::Shared && object.foreign.is_none()
}
