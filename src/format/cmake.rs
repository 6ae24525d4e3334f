//! CMake's syntax (cmake-language(7), section Syntax). Splits a text into commands and their
//! arguments, each with its byte range and its line. Nothing is evaluated: references, escapes and
//! generator expressions stay as written.
//!
//! The lexer accepts two forms that CMake rejects: two commands on one line, and two arguments
//! without a space between them. The arguments are unambiguous all the same.

use std::ops::Range;

/// A position at which a text is not valid CMake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line of the error, from 1.
    pub line: u32,
    /// The reason, in lower case and without a full stop.
    pub reason: &'static str,
}

/// One command invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandInvocation {
    /// The byte range of the command's name, which CMake compares without regard to case.
    pub name: Range<usize>,
    /// The line of the command's name, from 1.
    pub line: u32,
    /// The arguments, and the parentheses between them, in order.
    pub arguments: Vec<Argument>,
    /// The byte offset of the closing parenthesis.
    pub end: usize,
}

/// One argument, or a parenthesis between the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The byte range of the whole argument, with its quotes or brackets.
    pub span: Range<usize>,
    /// The byte range between the quotes or brackets, without a line end directly after the opening
    /// bracket. Equal to `span` for other arguments.
    pub inside: Range<usize>,
    /// The line on which the argument begins, from 1.
    pub line: u32,
    /// The notation: unquoted, in quotes, in brackets, or a parenthesis.
    pub kind: ArgumentKind,
}

/// The notation of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// `word`. In CMake's legacy syntax, parts may be quoted: `a"b c"`.
    Unquoted,
    /// `"words"`.
    Quoted,
    /// `[==[words]==]`. CMake evaluates nothing inside.
    Bracket,
    /// `(` or `)` inside of a command.
    Parenthesis,
}

/// The commands of a text, in order. The iterator ends after the first error.
pub fn commands(text: &[u8]) -> impl Iterator<Item = Result<CommandInvocation, SyntaxError>> {
    let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut lexer = Lexer { text, at, line: 1, counted: 0 };
    let mut failed = false;
    std::iter::from_fn(move || {
        if failed {
            return None;
        }
        let next = lexer.command().transpose();
        failed = matches!(next, Some(Err(_)));
        next
    })
}

struct Lexer<'t> {
    text: &'t [u8],
    at: usize,
    /// The line number at the offset `counted`, from which the next call of `line` counts on.
    line: u32,
    counted: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The line of the offset `at`. Offsets must not decrease from call to call.
    fn line(&mut self, at: usize) -> u32 {
        let part = self.text.get(self.counted..at).unwrap_or_default();
        let ends = memchr::memchr_iter(b'\n', part).count();
        self.line = self.line.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX));
        self.counted = self.counted.max(at);
        self.line
    }

    fn error(&mut self, at: usize, reason: &'static str) -> SyntaxError {
        SyntaxError { line: self.line(at), reason }
    }

    fn skip(&mut self, is: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&is) {
            self.at += 1;
        }
    }

    /// Skips blanks, line ends and comments.
    fn space(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.skip(|b| b.is_ascii_whitespace());
            if self.peek() != Some(b'#') {
                return Ok(());
            }
            let begin = self.at;
            self.at += 1;
            match self.bracket() {
                Some(Ok(_)) => {}
                Some(Err(())) => return Err(self.error(begin, "a bracket comment has no end")),
                None => self.skip(|b| b != b'\n'),
            }
        }
    }

    /// Skips `[==[…]==]` at the current position, and returns the range inside. `None` if no
    /// bracket begins there; an error if the bracket has no end.
    fn bracket(&mut self) -> Option<Result<Range<usize>, ()>> {
        let rest = self.rest().strip_prefix(b"[")?;
        let equals = rest.iter().take_while(|b| **b == b'=').count();
        if rest.get(equals) != Some(&b'[') {
            return None;
        }
        let close = [b"]".as_slice(), &vec![b'='; equals], b"]"].concat();
        let inside = rest.get(equals + 1..).unwrap_or_default();
        let Some(len) = memchr::memmem::find(inside, &close) else { return Some(Err(())) };
        let begin = self.at + equals + 2;
        // CMake ignores a line end directly after the opening bracket.
        let eol = [&b"\r\n"[..], b"\n"].into_iter().find(|eol| inside[..len].starts_with(eol));
        self.at = begin + len + close.len();
        Some(Ok(begin + eol.map_or(0, <[u8]>::len)..begin + len))
    }

    fn command(&mut self) -> Result<Option<CommandInvocation>, SyntaxError> {
        self.space()?;
        let begin = self.at;
        if begin >= self.text.len() {
            return Ok(None);
        }
        self.skip(|b| b.is_ascii_alphanumeric() || b == b'_');
        let name = begin..self.at;
        self.skip(|b| b == b' ' || b == b'\t');
        let is_digit = self.text.get(begin).is_some_and(u8::is_ascii_digit);
        if name.is_empty() || is_digit || self.peek() != Some(b'(') {
            return Err(self.error(begin, "no CMake command begins here"));
        }
        self.at += 1;
        let line = self.line(begin);
        let (mut arguments, mut depth) = (Vec::new(), 1_usize);
        loop {
            // If the command has no end, the error names its first line.
            self.space()?;
            if self.peek().is_none() {
                return Err(SyntaxError { line, reason: "a command has no closing parenthesis" });
            }
            let argument = self.argument()?;
            match self.text.get(argument.span.start) {
                Some(b'(') if argument.kind == ArgumentKind::Parenthesis => depth += 1,
                Some(_) if argument.kind == ArgumentKind::Parenthesis => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let end = argument.span.start;
                return Ok(Some(CommandInvocation { name, line, arguments, end }));
            }
            arguments.push(argument);
        }
    }

    /// The argument or parenthesis that begins at the current position.
    fn argument(&mut self) -> Result<Argument, SyntaxError> {
        let begin = self.at;
        let line = self.line(begin);
        let error = |reason| SyntaxError { line, reason };
        let (kind, inside) = match self.peek() {
            Some(b'(' | b')') => {
                self.at += 1;
                (ArgumentKind::Parenthesis, None)
            }
            Some(b'"') => {
                self.quoted().ok_or(error("a string has no end"))?;
                (ArgumentKind::Quoted, Some(begin + 1..self.at - 1))
            }
            _ => match self.bracket() {
                Some(Ok(inside)) => (ArgumentKind::Bracket, Some(inside)),
                Some(Err(())) => return Err(error("a bracket has no end")),
                None => {
                    self.unquoted().ok_or(error("a string has no end"))?;
                    (ArgumentKind::Unquoted, None)
                }
            },
        };
        let span = begin..self.at;
        Ok(Argument { inside: inside.unwrap_or_else(|| span.clone()), span, line, kind })
    }

    /// Skips `"…"`; `None` if it has no end. A backslash escapes the next byte, even a line end.
    fn quoted(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }

    /// Skips an unquoted argument with its legacy parts: `a"b c"` and `$(NAME)`.
    fn unquoted(&mut self) -> Option<()> {
        let begin = self.at;
        while let Some(b) = self.peek() {
            match b {
                b'\\' => self.at += 2,
                b'"' => self.quoted()?,
                b'$' if self.make_reference() => {}
                b'(' | b')' | b'#' => break,
                b if b.is_ascii_whitespace() => break,
                _ => self.at += 1,
            }
        }
        // A backslash at the end of the text moves `at` beyond it.
        self.at = self.at.clamp(begin, self.text.len());
        Some(())
    }

    /// Skips `$(NAME)`, which CMake passes on to make. False if no `$(NAME)` begins at the current
    /// position.
    fn make_reference(&mut self) -> bool {
        let Some(rest) = self.rest().strip_prefix(b"$(") else { return false };
        let name = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let is = rest.get(name) == Some(&b')');
        if is {
            self.at += name + 3;
        }
        is
    }
}
