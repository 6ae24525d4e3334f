//! Version scripts (`--version-script`, and VERSION in linker scripts), which assign versions to
//! symbols, as lld reads them (`ScriptParser::readVersionScriptCommand` in
//! `lld/ELF/ScriptParser.cpp`).

use super::script::{Token, tokens};
use crate::text::show;

/// The characters of words, besides letters and digits. Any other character is a word of its own.
const IN_WORDS: &[u8] = b"_.$/\\~=+[]*?-!^:";

/// The end of the text where lld needs more.
const NO_MORE: &str = "the text ends too early";

/// A version script that lld can read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct VersionScript {
    /// The names that are no patterns.
    pub names: Vec<VersionedName>,
    /// The first name in `extern "C++"` that is no pattern. Such names are compared with demangled
    /// names.
    pub demangled: Option<Box<[u8]>>,
}

/// A name in a version script. lld needs a definition of one of the two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionedName {
    /// The name as written.
    pub name: Box<[u8]>,
    /// `NAME@VERSION`, as `.symver` spells it.
    pub with_version: Box<[u8]>,
}

/// Parses a version script. The error says what lld cannot read.
pub fn parse(text: &[u8]) -> Result<VersionScript, String> {
    let tokens = tokens(text).ok_or("a comment or a quoted name has no end")?;
    let mut parser = Parser { rest: &tokens, out: VersionScript::default() };
    parser.script()?;
    Ok(parser.out)
}

struct Parser<'p, 't> {
    rest: &'p [Token<'t>],
    out: VersionScript,
}

impl<'t> Parser<'_, 't> {
    fn script(&mut self) -> Result<(), String> {
        if self.rest.is_empty() {
            return Err(NO_MORE.to_owned());
        }
        if self.takes(&Token::Brace(true)) {
            self.symbols(b"global", b"local")?;
            self.expect(&Token::End)?;
            return match self.rest {
                [] => Ok(()),
                [token, ..] => Err(format!("{} follows the only version", in_words(token))),
            };
        }
        while !self.rest.is_empty() {
            let version = self.name()?;
            self.expect(&Token::Brace(true))?;
            self.symbols(version, version)?;
            if !self.takes(&Token::End) {
                self.name()?;
                self.expect(&Token::End)?;
            }
        }
        Ok(())
    }

    /// Reads the symbols of a version, up to the closing brace. `global` and `local` are the
    /// versions of global and local names.
    fn symbols(&mut self, global: &[u8], local: &[u8]) -> Result<(), String> {
        let mut version = global;
        loop {
            if self.takes(&Token::Brace(false)) {
                return Ok(());
            }
            if self.takes_label(b"local") {
                version = local;
                continue;
            }
            if self.takes_label(b"global") {
                version = global;
                continue;
            }
            if self.takes(&Token::Word(b"extern")) {
                self.names_of_language(version)?;
            } else {
                // Here lld also looks for wildcards in quotes.
                let is_exact = self.rest.first().is_some_and(|token| !has_wildcard(token));
                let name = self.name()?;
                self.add(name, version, is_exact);
            }
            self.expect(&Token::End)?;
        }
    }

    /// Reads the language and the names of `extern`.
    fn names_of_language(&mut self, version: &[u8]) -> Result<(), String> {
        let is_cpp = self.takes(&Token::Quoted(b"C++"));
        if !is_cpp && !self.takes(&Token::Quoted(b"C")) {
            return Err("`extern` without \"C\" or \"C++\"".to_owned());
        }
        self.expect(&Token::Brace(true))?;
        loop {
            if self.takes(&Token::Brace(false)) {
                return Ok(());
            }
            let token = self.rest.first();
            let is_exact = token.is_some_and(|token| match token {
                Token::Quoted(_) => true,
                token => !has_wildcard(token),
            });
            let name = self.name()?;
            if !is_cpp {
                self.add(name, version, is_exact);
            } else if is_exact && self.out.demangled.is_none() {
                self.out.demangled = Some(name.into());
            }
            if self.takes(&Token::Brace(false)) {
                return Ok(());
            }
            self.expect(&Token::End)?;
        }
    }

    fn add(&mut self, name: &[u8], version: &[u8], is_exact: bool) {
        if is_exact {
            let with_version = [name, b"@", version].concat().into();
            self.out.names.push(VersionedName { name: name.into(), with_version });
        }
    }

    /// The next name.
    fn name(&mut self) -> Result<&'t [u8], String> {
        let (token, rest) = self.rest.split_first().ok_or(NO_MORE)?;
        self.rest = rest;
        match token {
            Token::Quoted(name) => Ok(name),
            Token::Word(name) if is_word(name) => Ok(name),
            token => Err(format!("{} is not a name", in_words(token))),
        }
    }

    fn expect(&mut self, token: &Token<'_>) -> Result<(), String> {
        match self.rest.first() {
            _ if self.takes(token) => Ok(()),
            Some(found) => Err(format!("{} precedes {}", in_words(found), in_words(token))),
            None => Err(NO_MORE.to_owned()),
        }
    }

    /// Skips the next token if it is `token`.
    fn takes(&mut self, token: &Token<'_>) -> bool {
        let found = self.rest.split_first().filter(|(first, _)| *first == token);
        found.map(|(_, rest)| self.rest = rest).is_some()
    }

    /// Skips a label: `NAME:` or `NAME :`.
    fn takes_label(&mut self, name: &[u8]) -> bool {
        match self.rest {
            [Token::Word(word), rest @ ..] if word.strip_suffix(b":") == Some(name) => {
                self.rest = rest;
                true
            }
            [Token::Word(word), Token::Word(b":"), rest @ ..] if *word == name => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }
}

/// True if lld and mold take the text for one word.
pub(super) fn is_word(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_alphanumeric() || IN_WORDS.contains(byte))
}

/// True if lld takes the token for a pattern.
fn has_wildcard(token: &Token<'_>) -> bool {
    matches!(token, Token::Word(name) | Token::Quoted(name) if name.iter().any(|b| b"*?[".contains(b)))
}

fn in_words(token: &Token<'_>) -> String {
    let (quote, text) = token.text();
    format!("`{}`", show(&[quote, text, quote].concat()))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn names_that_are_no_patterns() {
        let text = b"V1 { global: a; b*; \"c\"; extern \"C++\" { e*; \"f()\"; }; local: d; };\n\
            V2 { g; extern \"C\" { h; \"*\" }; } V1;";
        let script = parse(text).expect("a version script");
        let names: Vec<_> = script.names.iter().map(|of| (&*of.name, &*of.with_version)).collect();
        let expected: [(&[u8], &[u8]); 6] = [
            (b"a", b"a@V1"),
            (b"c", b"c@V1"),
            (b"d", b"d@V1"),
            (b"g", b"g@V2"),
            (b"h", b"h@V2"),
            (b"*", b"*@V2"),
        ];
        assert_eq!(names, expected);
        assert_eq!(script.demangled.as_deref(), Some(&b"f()"[..]));
    }

    #[test]
    fn scripts_that_lld_refuses() {
        for text in [
            "",
            "{ \"a; };",
            "{ a; }",
            "{ a }",
            "{ a b; };",
            "{ a@V; };",
            "{ f(); };",
            "V { a; ",
            "{ a; }; { b; };",
            "V { a; }; { b; };",
            "V { } U T;",
            "{ extern \"D\" { a; }; };",
            "{ extern \"C\" { a; } };",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
