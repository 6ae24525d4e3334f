//! Patterns of policies: globs over paths and over names. A policy file's text becomes one of these
//! when the file is read; a pattern that is not one is a mistake in the file.

use globset::{GlobBuilder, GlobMatcher};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// A glob: `*`, `?`, `[…]`, `{a,b}` and, in paths, `**`.
#[derive(Clone, Debug)]
pub struct Pattern {
    matcher: GlobMatcher,
    plain: Option<Plain>,
}

/// What most patterns over names are. They are held against every symbol of an object, and a
/// comparison of bytes takes a tenth of the time of an automaton.
#[derive(Clone, Debug)]
enum Plain {
    /// `name`
    Whole(Box<[u8]>),
    /// `name*`
    Prefix(Box<[u8]>),
    /// `*name`
    Suffix(Box<[u8]>),
}

impl Plain {
    fn new(text: &str) -> Option<Self> {
        let plain = |text: &str| {
            let special = |byte| b"*?[]{}\\".contains(byte);
            (!text.as_bytes().iter().any(|byte| special(byte))).then(|| text.as_bytes().into())
        };
        match (text.strip_suffix('*'), text.strip_prefix('*')) {
            (Some(rest), _) => plain(rest).map(Self::Prefix),
            (None, Some(rest)) => plain(rest).map(Self::Suffix),
            (None, None) => plain(text).map(Self::Whole),
        }
    }

    fn matches(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Whole(text) => bytes == &**text,
            Self::Prefix(text) => bytes.starts_with(text),
            Self::Suffix(text) => bytes.ends_with(text),
        }
    }
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
        let plain = Plain::new(text).filter(|_| !separated);
        Ok(Self { matcher: glob.compile_matcher(), plain })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        self.matcher.glob().glob()
    }

    /// True if the whole of `bytes` matches.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        match &self.plain {
            Some(plain) => plain.matches(bytes),
            None => self.matcher.is_match(OsStr::from_bytes(bytes)),
        }
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
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

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

    #[test]
    fn a_plain_pattern_answers_as_its_glob() {
        let texts = ["Py*", "*_Init", "Pg_magic_func", "*", "a*b", "[!_]*", "{a,b}_*", "a\\**", ""];
        let names: [&[u8]; 12] = [
            b"",
            b"Py",
            b"PyInit_x",
            b"aPy",
            b"_Init",
            b"X_Init",
            b"X_Init2",
            b"Pg_magic_func",
            b"Pg_magic_function",
            b"a*x",
            b"a_\xff\n/",
            b"_Py",
        ];
        for text in texts {
            let pattern = Pattern::name(text).expect("a pattern");
            for name in names {
                let glob = pattern.matcher.is_match(OsStr::from_bytes(name));
                assert_eq!(pattern.matches(name), glob, "{text} {name:?}");
            }
        }
    }
}
