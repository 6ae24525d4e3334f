//! Version scripts as mold 1.10 reads them (`read_version_script` in `elf/linker-script.cc`).

use super::script::{Token, tokens};
use super::version_script::is_word;
use crate::text::show;

/// Checks a version script. The error says why mold refuses it.
pub fn check(text: &[u8]) -> Result<(), String> {
    let tokens = tokens(text).ok_or("a comment or a quoted name has no end")?;
    Reader { rest: &tokens }.script()
}

struct Reader<'r, 't> {
    rest: &'r [Token<'t>],
}

impl Reader<'_, '_> {
    fn script(&mut self) -> Result<(), String> {
        while !self.rest.is_empty() {
            if !self.next_is(&Token::Brace(true)) {
                self.any()?;
            }
            self.expect(&Token::Brace(true))?;
            self.names()?;
            // The version on which this version depends.
            if !self.next_is(&Token::End) {
                self.any()?;
            }
            self.expect(&Token::End)?;
        }
        Ok(())
    }

    /// Reads the names of a version and its closing brace, with the names in all `extern` blocks.
    fn names(&mut self) -> Result<(), String> {
        let mut depth = 0_usize;
        loop {
            while self.takes_label(b"global:", b"global") || self.takes_label(b"local:", b"local") {
            }
            if self.takes(&Token::Brace(false)) {
                if depth == 0 {
                    return Ok(());
                }
                depth -= 1;
                self.expect(&Token::End)?;
            } else if self.takes(&Token::Word(b"extern")) {
                if !self.takes(&Token::Quoted(b"C")) {
                    self.expect(&Token::Quoted(b"C++"))?;
                }
                self.expect(&Token::Brace(true))?;
                depth += 1;
            } else {
                self.any()?;
                if !self.next_is(&Token::Brace(false)) {
                    self.expect(&Token::End)?;
                }
            }
        }
    }

    /// Reads one token, which may be a name.
    fn any(&mut self) -> Result<(), String> {
        let Some((first, rest)) = self.rest.split_first() else {
            return Err("the text ends too early".to_owned());
        };
        let (_, text) = first.text();
        if matches!(first, Token::Word(_)) && text.len() > 1 && !is_word(text) {
            return Err(format!("`{}` is not a name", show(text)));
        }
        let open = text.iter().position(|byte| *byte == b'[');
        if open.is_some_and(|at| !text[at..].contains(&b']')) {
            return Err(format!("`{}` is not a pattern", show(text)));
        }
        self.rest = rest;
        Ok(())
    }

    fn takes_label(&mut self, label: &[u8], name: &[u8]) -> bool {
        self.takes(&Token::Word(label)) || {
            let is_next = matches!(self.rest, [first, second, ..]
                if *first == Token::Word(name) && *second == Token::Word(b":"));
            self.rest = if is_next { &self.rest[2..] } else { self.rest };
            is_next
        }
    }

    fn next_is(&self, token: &Token<'_>) -> bool {
        self.rest.first() == Some(token)
    }

    fn takes(&mut self, token: &Token<'_>) -> bool {
        let is_next = self.next_is(token);
        self.rest = if is_next { &self.rest[1..] } else { self.rest };
        is_next
    }

    fn expect(&mut self, token: &Token<'_>) -> Result<(), String> {
        if self.takes(token) {
            return Ok(());
        }
        let expected = show(token.text().1);
        Err(match self.rest.first() {
            Some(found) => format!("`{}` precedes `{expected}`", show(found.text().1)),
            None => "the text ends too early".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn scripts_that_mold_refuses() {
        for text in [
            "",
            "{ };",
            "{ a };",
            "{ a; local: *; };",
            "{ local: *; global : a; };",
            "{ a; }; V { b; } U;",
            "V { extern \"C\" { a; b }; c; };",
            "V { a;; };",
            "V { global; };",
        ] {
            assert_eq!(check(text.as_bytes()), Ok(()), "{text}");
        }
        for text in [
            "{ a; }",
            "a",
            ";",
            "V { a b; };",
            "V { a, b; };",
            "V { a&; };",
            "V { a[; };",
            "V { } U T;",
            "V { extern; };",
            "V { extern \"D\" { a; }; };",
            "V { extern \"C\" { a; } };",
            "V { a; };}",
        ] {
            assert!(check(text.as_bytes()).is_err(), "{text}");
        }
    }
}
