//! Version scripts as GNU ld reads them: `ld/ldlex.l` for the tokens, `ld/ldgram.y` for the
//! grammar, and `lang_register_vers_node` in `ld/ldlang.c` for the errors about versions.

use crate::id::FastSet;
use crate::text::show;

/// Upper bound for the depth of nested `extern` blocks.
const DEEPEST: usize = 100;

/// Checks a version script. The error says why GNU ld refuses it. If `is_in_script` is true, it is
/// part of a linker script among the inputs.
pub fn check(text: &[u8], is_in_script: bool) -> Result<(), String> {
    let tokens = tokens(text, is_in_script)?;
    let (nodes, globals, locals) = (Vec::new(), FastSet::default(), FastSet::default());
    Reader { rest: &tokens, nodes, globals, locals }.script()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    /// The name of a version, outside of braces.
    Tag(&'t [u8]),
    /// A name or pattern in braces.
    Word(&'t [u8]),
    /// A name in quotes. Outside of braces, GNU ld skips the quotes.
    Quoted(&'t [u8]),
    /// One of `{};:,`.
    Sign(u8),
}

/// The tokens of a text. GNU ld warns about any other character and skips it, or refuses an input
/// (`lex_warn_invalid`).
fn tokens(text: &[u8], is_in_script: bool) -> Result<Vec<Token<'_>>, String> {
    let (mut out, mut at, mut depth) = (Vec::new(), 0, 0_usize);
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        at += match byte {
            b'/' if rest.starts_with(b"/*") => {
                let end = rest[2..].windows(2).position(|two| two == b"*/");
                2 + end.ok_or("a comment has no end")? + 2
            }
            b'#' => rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()),
            b'"' if depth > 0 => match rest[1..].iter().position(|b| *b == b'"') {
                Some(len) => {
                    out.push(Token::Quoted(&rest[1..=len]));
                    len + 2
                }
                None => skipped(*byte, is_in_script)?,
            },
            b'{' | b'}' | b';' | b':' | b',' => {
                match byte {
                    b'{' => depth += 1,
                    b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                out.push(Token::Sign(*byte));
                1
            }
            _ => {
                let len = if depth == 0 { tag_len(rest) } else { word_len(rest) };
                let token = if depth == 0 { Token::Tag } else { Token::Word };
                if len == 0 {
                    skipped(*byte, is_in_script)?
                } else {
                    out.push(token(&rest[..len]));
                    len
                }
            }
        };
    }
    Ok(out)
}

/// The length of a character outside of all tokens: 1. An error if GNU ld refuses the character.
fn skipped(byte: u8, is_in_script: bool) -> Result<usize, String> {
    if is_in_script && !byte.is_ascii_whitespace() {
        return Err(format!("`{}` is not expected", show(&[byte])));
    }
    Ok(1)
}

/// The length of the name of a version (`V_TAG`) at the start of `text`; 0 if there is none.
fn tag_len(text: &[u8]) -> usize {
    let is_start = |b: &u8| b.is_ascii_alphabetic() || b".$_".contains(b);
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || b"._".contains(b);
    let after = text.split_first().filter(|(first, _)| is_start(first));
    after.map_or(0, |(_, rest)| 1 + rest.iter().take_while(|b| is_part(b)).count())
}

/// The length of the name or pattern (`V_IDENTIFIER`) at the start of `text`; 0 if there is none.
fn word_len(text: &[u8]) -> usize {
    let is_start = |b: &u8| b.is_ascii_alphabetic() || b"*?.$_[]-!^\\".contains(b);
    if !text.first().is_some_and(is_start) {
        return 0;
    }
    let mut len = 1;
    loop {
        let rest = &text[len..];
        len += match rest.first() {
            Some(byte) if is_start(byte) || byte.is_ascii_digit() => 1,
            Some(b':') if rest.get(1) == Some(&b':') => 2,
            _ => return len,
        };
    }
}

/// A name or pattern in a version: its text, its language, and true if it is no pattern.
type Pattern<'t> = (&'t [u8], Language, bool);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Language {
    C,
    Cpp,
    Java,
}

struct Reader<'r, 't> {
    rest: &'r [Token<'t>],
    /// The names of the versions up to now; empty for the anonymous version.
    nodes: Vec<&'t [u8]>,
    /// The global and local patterns of these versions.
    globals: FastSet<Pattern<'t>>,
    locals: FastSet<Pattern<'t>>,
}

impl<'t> Reader<'_, 't> {
    fn script(&mut self) -> Result<(), String> {
        loop {
            self.node()?;
            if self.rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// Reads one version.
    fn node(&mut self) -> Result<(), String> {
        let name = self.tag().unwrap_or_default();
        self.expect(b'{')?;
        let (mut globals, mut locals) = (Vec::new(), Vec::new());
        if self.label(b"global") {
            self.list(&mut globals)?;
        } else if !self.starts_label(b"local") && !self.next_is(b'}') {
            self.list(&mut globals)?;
            // Without its label, a list has no second list after it.
            self.expect(b'}')?;
            return self.end_of_node(name, (globals, locals));
        }
        if self.label(b"local") {
            self.list(&mut locals)?;
        }
        self.expect(b'}')?;
        self.end_of_node(name, (globals, locals))
    }

    /// Reads the versions on which a version depends, and checks the version.
    fn end_of_node(
        &mut self,
        name: &'t [u8],
        (globals, locals): (Vec<Pattern<'t>>, Vec<Pattern<'t>>),
    ) -> Result<(), String> {
        let mut parents = Vec::new();
        while let Some(parent) = self.tag() {
            parents.push(parent);
        }
        if name.is_empty() && !parents.is_empty() {
            return Err("the anonymous version depends on another one".to_owned());
        }
        self.expect(b';')?;
        let is_mixed =
            if name.is_empty() { !self.nodes.is_empty() } else { self.nodes.contains(&&b""[..]) };
        if is_mixed {
            return Err("an anonymous version is not the only version".to_owned());
        }
        if self.nodes.contains(&name) {
            return Err(format!("version {} is defined twice", show(name)));
        }
        let twice = globals.iter().find(|pattern| self.locals.contains(*pattern));
        let twice = twice.or_else(|| locals.iter().find(|pattern| self.globals.contains(*pattern)));
        if let Some((pattern, ..)) = twice {
            return Err(format!("{} is global and local", show(pattern)));
        }
        if let Some(parent) = parents.iter().find(|parent| !self.nodes.contains(*parent)) {
            return Err(format!("version {} is not defined before", show(parent)));
        }
        self.nodes.push(name);
        self.globals.extend(globals);
        self.locals.extend(locals);
        Ok(())
    }

    /// Reads a list of names, which is not empty and ends with a semicolon.
    fn list(&mut self, out: &mut Vec<Pattern<'t>>) -> Result<(), String> {
        loop {
            self.item(Language::C, 0, out)?;
            self.expect(b';')?;
            if self.next_is(b'}') || self.starts_label(b"local") {
                return Ok(());
            }
        }
    }

    /// Reads a name, or `extern` with its names.
    fn item(
        &mut self,
        language: Language,
        depth: usize,
        out: &mut Vec<Pattern<'t>>,
    ) -> Result<(), String> {
        match self.rest {
            [Token::Word(b"extern"), Token::Quoted(name), rest @ ..] => {
                self.rest = rest;
                let language = match name.to_ascii_lowercase().as_slice() {
                    b"c" => Language::C,
                    b"c++" => Language::Cpp,
                    b"java" => Language::Java,
                    _ => return Err(format!("unknown language {}", show(name))),
                };
                if depth == DEEPEST {
                    return Err("`extern` is nested too deeply".to_owned());
                }
                self.expect(b'{')?;
                loop {
                    self.item(language, depth + 1, out)?;
                    let is_separated = self.takes(b';');
                    if self.takes(b'}') {
                        return Ok(());
                    }
                    if !is_separated {
                        return Err(self.unexpected());
                    }
                }
            }
            [Token::Word(name), rest @ ..] => {
                self.rest = rest;
                out.push((*name, language, !name.iter().any(|b| b"*?[".contains(b))));
                Ok(())
            }
            [Token::Quoted(name), rest @ ..] => {
                self.rest = rest;
                out.push((*name, language, true));
                Ok(())
            }
            _ => Err(self.unexpected()),
        }
    }

    fn tag(&mut self) -> Option<&'t [u8]> {
        let (Token::Tag(name), rest) = self.rest.split_first()? else { return None };
        self.rest = rest;
        Some(name)
    }

    fn starts_label(&self, name: &[u8]) -> bool {
        matches!(self.rest, [Token::Word(word), Token::Sign(b':'), ..] if *word == name)
    }

    /// Skips the label `name` and its colon, if they come next.
    fn label(&mut self, name: &[u8]) -> bool {
        let is_next = self.starts_label(name);
        self.rest = if is_next { &self.rest[2..] } else { self.rest };
        is_next
    }

    fn next_is(&self, sign: u8) -> bool {
        self.rest.first() == Some(&Token::Sign(sign))
    }

    fn takes(&mut self, sign: u8) -> bool {
        let is_next = self.next_is(sign);
        self.rest = if is_next { &self.rest[1..] } else { self.rest };
        is_next
    }

    fn expect(&mut self, sign: u8) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The syntax error at the next token.
    fn unexpected(&self) -> String {
        match self.rest.first() {
            None => "the text ends too early".to_owned(),
            Some(Token::Tag(text) | Token::Word(text) | Token::Quoted(text)) => {
                format!("`{}` is not expected", show(text))
            }
            Some(Token::Sign(sign)) => format!("`{}` is not expected", show(&[*sign])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn scripts_that_gnu_ld_refuses() {
        for text in [
            "{ a; };",
            "{ };",
            "{ global: a; local : *; };",
            "{ local: *; };",
            "U { }; V { } U;",
            "V { extern \"C\" { a; b }; };",
            "V { extern \"java\" { a; }; };",
            "V { a&; 1b; };",
            "1.0 { a; };",
            "\"V\" { \"a\"; };",
            "V { global; local; extern; };",
            "V { global:a;local:*; };",
            "V { a::b; };",
            "V { local: \"a*\"; }; W { a*; };",
        ] {
            assert_eq!(check(text.as_bytes(), false), Ok(()), "{text}");
        }
        for text in [
            "",
            "{ a; }",
            "{ a }",
            "{ a; local: *; };",
            "{ local: *; global: a; };",
            "{ global: local: *; };",
            "{ global: };",
            "{ extern \"C++\" { }; };",
            "{ extern C { a; }; };",
            "{ extern \"D\" { a; }; };",
            "V { }; V { };",
            "V { } U;",
            "{ a; }; V { b; };",
            "V { a, b; };",
            "V { a b; };",
            "V { a; /* };",
            "V { a;; };",
            "V { local: a; }; W { a; };",
            "V { a*; }; W { local: a*; };",
            "V { a:b; };",
            "V {{ a; };",
        ] {
            assert!(check(text.as_bytes(), false).is_err(), "{text}");
        }
        let nested = "{ ".to_owned() + &"extern \"C\" { ".repeat(100_000);
        assert!(check(nested.as_bytes(), false).is_err());
        assert!(check(b"V { a&; };", true).is_err());
    }
}
