//! Patterns of policies: globs over paths and over names. They are checked when a policy is read,
//! and compiled on first use. An invalid pattern is an error in the policy.

use super::automaton::Automaton;
use super::glob;
use super::simple::Simple;
use std::sync::OnceLock;

/// Maximum length of a pattern, in bytes.
const MOST_BYTES: usize = 1000;
/// Maximum number of `{` in a pattern.
const MOST_ALTERNATIVES: usize = 32;

/// A glob: `*`, `?`, `[…]`, `{a,b}` and, in paths, `**`.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: Box<str>,
    /// True if `*` does not match `/`.
    separated: bool,
    /// Built on first use: a run uses few patterns of a policy, and building all patterns takes
    /// longer than a small audit.
    matcher: OnceLock<Matcher>,
}

/// The implementation of a pattern.
#[derive(Clone, Debug)]
enum Matcher {
    Simple(Simple),
    Automaton(Automaton),
    /// The text is not a glob. [`Pattern`] rejects such text earlier.
    Never,
}

impl Matcher {
    fn new(text: &str, separated: bool) -> Self {
        let Ok(tokens) = glob::parse(text) else { return Self::Never };
        match Simple::new(&tokens, separated) {
            Some(simple) => Self::Simple(simple),
            None => Self::Automaton(Automaton::new(&tokens, separated)),
        }
    }

    fn matches(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Simple(simple) => simple.matches(bytes),
            Self::Automaton(automaton) => automaton.matches(bytes),
            Self::Never => false,
        }
    }
}

impl Pattern {
    /// A pattern over paths below a prefix: `*` does not match `/`. The error says why the pattern
    /// is invalid.
    pub fn path(text: &str) -> Result<Self, String> {
        Self::new(text, true)
    }

    /// A pattern over names (symbols, sonames): `*` also matches `/`. The error says why the
    /// pattern is invalid.
    pub fn name(text: &str) -> Result<Self, String> {
        Self::new(text, false)
    }

    fn new(text: &str, separated: bool) -> Result<Self, String> {
        if text.len() > MOST_BYTES || text.matches('{').count() > MOST_ALTERNATIVES {
            return Err("it is too long".to_owned());
        }
        // Text whose only wildcards are stars is always a valid glob.
        if text.contains(['?', '[', ']', '{', '}', '\\']) {
            glob::parse(text)?;
        }
        Ok(Self { text: text.into(), separated, matcher: OnceLock::new() })
    }

    /// The pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The only name that matches. `None` for a pattern over paths, and for a pattern with a
    /// wildcard.
    pub fn whole(&self) -> Option<&[u8]> {
        let special = |byte: &u8| b"*?[]{}\\".contains(byte);
        let name = self.text.as_bytes();
        (!self.separated && !name.iter().any(special)).then_some(name)
    }

    /// The literal prefix and the literal suffix of all matches.
    pub fn ends(&self) -> (&[u8], &[u8]) {
        let text = self.text.as_bytes();
        let special = |byte: &u8| b"*?[]{}\\".contains(byte);
        let Some(first) = text.iter().position(special) else { return (text, text) };
        let last = text.iter().rposition(special).unwrap_or(first);
        let suffix = &text[last + 1..];
        // `**/` may match the empty text, so its slash is not part of the suffix.
        (&text[..first], suffix.strip_prefix(b"/").unwrap_or(suffix))
    }

    /// True if the pattern matches all of `bytes`.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        self.matcher().matches(bytes)
    }

    /// True if a match may start with `byte`. Always true for an automaton.
    pub fn may_begin_with(&self, byte: u8) -> bool {
        match self.matcher() {
            Matcher::Simple(simple) => simple.may_begin_with(byte),
            Matcher::Automaton(_) | Matcher::Never => true,
        }
    }

    fn matcher(&self) -> &Matcher {
        self.matcher.get_or_init(|| Matcher::new(&self.text, self.separated))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.separated) == (&other.text, other.separated)
    }
}

impl Eq for Pattern {}

#[cfg(test)]
mod tests {
    use super::{Automaton, MOST_ALTERNATIVES, MOST_BYTES, Matcher, Pattern};
    use globset::{Glob, GlobBuilder};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    /// The reference implementation, the crate globset.
    fn glob(text: &str, separated: bool) -> Result<Glob, String> {
        GlobBuilder::new(text)
            .literal_separator(separated)
            .backslash_escape(true)
            .build()
            .map_err(|error| error.kind().to_string())
    }

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
        let texts = [
            "Py*",
            "*_Init",
            "Pg_magic_func",
            "*",
            "a*b",
            "[!_]*",
            "{a,b}_*",
            "a\\**",
            "",
            "{Py,_Py}",
            "{sin,cos}[fl]",
            "c{,a}",
            "x{sin,_}",
            "[a-f]",
            "[]a]",
            "{a,{b,c}}d",
            "s?n",
            "**",
            "[a,]",
        ];
        let names: [&[u8]; 21] = [
            b"sin",
            b"sinf",
            b"cosl",
            b"cosfl",
            b"c",
            b"ca",
            b"xsin",
            b"b",
            b"bd",
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
            let glob = glob(text, false).expect("a glob").compile_matcher();
            for name in names {
                let expected = glob.is_match(OsStr::from_bytes(name));
                assert_eq!(pattern.matches(name), expected, "{text} {name:?}");
            }
        }
    }

    /// Compares random short patterns over a small alphabet with globset, on short names. The
    /// automaton must give the same answers and errors.
    #[test]
    fn made_up_patterns_answer_as_their_globs() {
        let parts = [
            "a",
            "b",
            "_",
            "*",
            "**",
            "?",
            "[ab]",
            "[!a]",
            "[a-c]",
            "[^_b]",
            "[]",
            "[a",
            "{a,b}",
            "{a*,[ab]}",
            "{,a}",
            "{a",
            "}",
            ",",
            "-",
            "/",
            "\\\\",
            "\\/",
            "\\,",
            "{",
            ",",
            "}",
            "**/",
            "/**",
            "/**/",
            "a/",
            "é",
            "{ab,c}_",
        ];
        let letters = ["a", "b", "c", "_", "/", "-", ",", "*", "é", "\\"];
        let mut state = 7_u32;
        let mut pick = |count: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % count
        };
        let (mut globs, mut simple, mut names, mut hits) = (0, 0, 0, 0);
        for _ in 0..20_000 {
            let text: String = (0..=pick(5)).map(|_| parts[pick(parts.len())]).collect();
            let separated = pick(2) == 0;
            let new = if separated { Pattern::path } else { Pattern::name };
            let glob = match glob(&text, separated) {
                Ok(glob) => glob.compile_matcher(),
                Err(error) => {
                    assert_eq!(new(&text), Err(error), "{text}");
                    continue;
                }
            };
            let pattern = new(&text).expect("a pattern");
            let tokens = super::glob::parse(&text).expect("a glob");
            let automaton = Automaton::new(&tokens, separated);
            simple += usize::from(matches!(pattern.matcher(), Matcher::Simple(_)));
            let (prefix, suffix) = pattern.ends();
            globs += 1;
            for _ in 0..40 {
                let name: String = (0..pick(7)).map(|_| letters[pick(letters.len())]).collect();
                let first = name.bytes().next().is_none_or(|byte| pattern.may_begin_with(byte));
                assert_eq!(pattern.matches(name.as_bytes()), glob.is_match(&name), "{text} {name}");
                assert_eq!(
                    automaton.matches(name.as_bytes()),
                    glob.is_match(&name),
                    "{text} {name}"
                );
                names += 1;
                assert!(first || !glob.is_match(&name), "{text} {name}");
                let ends = name.as_bytes().starts_with(prefix) && name.as_bytes().ends_with(suffix);
                assert!(ends || !glob.is_match(&name), "{text} {name}");
                hits += usize::from(glob.is_match(&name));
            }
        }
        assert!(globs > 1_000 && simple < globs && hits > 1_000, "{globs} globs, {hits} matches");
        assert_eq!(names, 40 * globs);
    }
}
