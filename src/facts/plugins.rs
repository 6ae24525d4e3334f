//! Which shared objects are plugins of a `[[host]]` entry: by their path below the prefix, or by a
//! name that they define. `resolve::hosts` asks it for programs that are at hand, and what counts as
//! assumed is asked of it where the program is not. It opens nothing and decides no loader question.

use super::{FileFacts, Need};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{EVERY_VERSION, Object, Role, hash};
use crate::id::FileId;
use crate::policy::Host;
use std::path::Path;

/// True if the file is a plugin of `host`; `below` is its path below the prefix. Names are asked for
/// only if the path does not decide, and of an object that was read without its tables they are a
/// need.
pub fn is_plugin(host: &Host, file: FileId, facts: &FileFacts, below: &Path) -> Result<bool, Need> {
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
    // A whole name is looked up as dlsym does it; the table may hold half a million.
    let (whole, patterns): (Vec<_>, Vec<_>) =
        host.exports.iter().partition(|pattern| pattern.whole().is_some());
    let mut names = whole.iter().filter_map(|pattern| pattern.whole());
    if names.any(|name| object.defines(name, hash::gnu(name), EVERY_VERSION)) {
        return Ok(true);
    }
    let is_named = |symbol: Symbol<'_>| patterns.iter().any(|pattern| pattern.matches(symbol.name));
    Ok(!patterns.is_empty() && tables.exports().any(is_named))
}

/// True if a program could load the object with dlopen: it has a dynamic section, it is no program
/// itself, and it is this system's.
pub fn can_be_plugin(object: &Object) -> bool {
    object.role == Role::Shared && object.foreign.is_none()
}
