//! Matches `[[provider]]` entries. `{T}` in the symbol of an entry stands for the same text as
//! `{T}` in the name of the archive.

use super::ProviderEntry;
use std::path::Path;

/// The placeholder in a symbol and in the name of its archive.
const HOLE: &str = "{T}";

impl ProviderEntry {
    /// True if the entry applies to the file at this path below its prefix.
    pub fn is_about(&self, below: &Path) -> bool {
        let path = below.as_os_str().as_encoded_bytes();
        self.path.as_ref().is_none_or(|pattern| pattern.matches(path))
    }

    /// True if the entry matches the symbol.
    pub fn claims(&self, symbol: &[u8]) -> bool {
        // Most symbols differ in the first byte from most entries.
        let pattern = self.symbol.as_bytes();
        let may_match = matches!(pattern.first(), Some(b'{')) || pattern.first() == symbol.first();
        may_match && {
            let fixed = memchr::memchr(b'{', pattern).unwrap_or(pattern.len());
            symbol.starts_with(&pattern[..fixed]) && self.archive_of(symbol).is_some()
        }
    }

    /// The bare name of the archive that defines `symbol`; `None` if the entry does not match the
    /// symbol.
    pub fn archive_of(&self, symbol: &[u8]) -> Option<String> {
        let part = filling(&self.symbol, std::str::from_utf8(symbol).ok()?)?;
        Some(self.archive.replace(HOLE, part))
    }
}

/// The text with which each `{T}` of `pattern` must be replaced to give `name`. Empty only if the
/// pattern has no `{T}` and equals `name`. `None` if there is no such text.
fn filling<'n>(pattern: &str, name: &'n str) -> Option<&'n str> {
    let Some((before, after)) = pattern.split_once(HOLE) else {
        return (pattern == name).then_some("");
    };
    let rest = name.strip_prefix(before)?;
    let holes = 1 + after.matches(HOLE).count();
    let text = after.len() - (holes - 1) * HOLE.len();
    let len = rest.len().checked_sub(text)? / holes;
    let part = rest.get(..len).filter(|part| !part.is_empty())?;
    (pattern.replace(HOLE, part) == name).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::filling;

    #[test]
    fn holes_are_filled_alike() {
        assert_eq!(filling("LLVMInitialize{T}Target", "LLVMInitializeX86Target"), Some("X86"));
        assert_eq!(filling("LLVMInitialize{T}Target", "LLVMInitializeX86TargetMC"), None);
        assert_eq!(filling("LLVMInitialize{T}Target", "LLVMInitializeTarget"), None);
        assert_eq!(filling("{T}_{T}", "ab_ab"), Some("ab"));
        assert_eq!(filling("{T}_{T}", "ab_ac"), None);
        assert_eq!(filling("exact", "exact"), Some(""));
    }
}
