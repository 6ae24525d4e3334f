//! Patterns of policies: globs over paths and over names. A policy file's text becomes one of these
//! when the file is read; a pattern that is not one is a mistake in the file.

use globset::{GlobBuilder, GlobMatcher};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// A glob: `*`, `?`, `[…]`, `{a,b}` and, in paths, `**`.
#[derive(Clone, Debug)]
pub struct Pattern {
    matcher: GlobMatcher,
}

impl Pattern {
    /// A pattern over paths below a prefix: `*` does not cross `/`. The error is globset's sentence.
    pub fn path(text: &str) -> Result<Self, String> {
        Self::new(text, true)
    }

    /// A pattern over names (symbols, sonames): `*` crosses everything.
    pub fn name(text: &str) -> Result<Self, String> {
        Self::new(text, false)
    }

    fn new(text: &str, separated: bool) -> Result<Self, String> {
        let glob = GlobBuilder::new(text)
            .literal_separator(separated)
            .backslash_escape(true)
            .build()
            .map_err(|error| error.kind().to_string())?;
        Ok(Self { matcher: glob.compile_matcher() })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        self.matcher.glob().glob()
    }

    /// True if the whole of `bytes` matches.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        self.matcher.is_match(OsStr::from_bytes(bytes))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.matcher.glob() == other.matcher.glob()
    }
}

impl Eq for Pattern {}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn a_star_in_a_path_stays_in_its_directory() {
        let pattern = Pattern::path("lib/python3*/**/*.so").expect("a pattern");
        assert!(pattern.matches(b"lib/python3.11/a/b/c.so"));
        assert!(pattern.matches(b"lib/python3.11/c.so"));
        assert!(!pattern.matches(b"lib/python3.11/a/c.so.1"));
        assert!(!Pattern::path("lib/*.so").expect("a pattern").matches(b"lib/a/b.so"));
        assert!(Pattern::name("Py*").expect("a pattern").matches(b"Py/x\xff"));
        assert!(Pattern::path("a[").is_err());
    }
}
