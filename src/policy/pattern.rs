//! Patterns of policies: globs over paths and over names. A policy file's text becomes one of these
//! when the file is read; a pattern that is not one is a mistake in the file.

use globset::{Glob, GlobBuilder, GlobMatcher};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

/// Longer patterns, and ones with more alternatives, are nobody's: an automaton that is too large to
/// be built ends globset with a panic.
const MOST_BYTES: usize = 1000;
const MOST_ALTERNATIVES: usize = 32;

/// A glob: `*`, `?`, `[…]`, `{a,b}` and, in paths, `**`.
#[derive(Clone, Debug)]
pub struct Pattern {
    glob: Glob,
    /// Made when it is first asked: most patterns of a policy are not, and all of them together take
    /// longer than a small audit.
    matcher: OnceLock<GlobMatcher>,
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
            let special = |byte: &u8| b"*?[]{}\\".contains(byte);
            (!text.as_bytes().iter().any(special)).then(|| text.as_bytes().into())
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
        if text.len() > MOST_BYTES || text.matches('{').count() > MOST_ALTERNATIVES {
            return Err("it is too long".to_owned());
        }
        let glob = GlobBuilder::new(text)
            .literal_separator(separated)
            .backslash_escape(true)
            .build()
            .map_err(|error| error.kind().to_string())?;
        let plain = Plain::new(text).filter(|_| !separated);
        Ok(Self { glob, matcher: OnceLock::new(), plain })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        self.glob.glob()
    }

    /// The only name that matches, if the pattern is over names and one.
    pub fn whole(&self) -> Option<&[u8]> {
        match &self.plain {
            Some(Plain::Whole(name)) => Some(name),
            _ => None,
        }
    }

    /// True if the whole of `bytes` matches.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        match &self.plain {
            Some(plain) => plain.matches(bytes),
            None => self.glob_matches(bytes),
        }
    }

    fn glob_matches(&self, bytes: &[u8]) -> bool {
        let matcher = self.matcher.get_or_init(|| self.glob.compile_matcher());
        matcher.is_match(OsStr::from_bytes(bytes))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.glob == other.glob
    }
}

impl Eq for Pattern {}

#[cfg(test)]
mod tests {
    use super::{MOST_ALTERNATIVES, MOST_BYTES, Pattern};

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
    fn the_longest_pattern_has_an_automaton() {
        let longest = "{[!a-z]*,**}".repeat(MOST_ALTERNATIVES);
        assert!(Pattern::path(&longest).expect("a pattern").matches(b"A/B"));
        assert!(Pattern::path(&"x".repeat(MOST_BYTES + 1)).is_err());
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
                assert_eq!(pattern.matches(name), pattern.glob_matches(name), "{text} {name:?}");
            }
        }
    }
}
