//! CMake's syntax as far as it takes to find `set(NAME …)` and `list(APPEND NAME …)` and to step over
//! everything else (cmake-language(7), section Syntax). `super` is the only caller.

use super::{Entry, Set, Trouble};
use crate::id::FastMap;
use std::ops::Range;

/// Words of `set` that are no values.
pub(super) fn is_keyword(word: &[u8]) -> bool {
    matches!(word, b"PARENT_SCOPE" | b"CACHE")
}

/// All sets of a file.
pub(super) fn sets(text: &[u8]) -> Result<Vec<Set>, Trouble> {
    let mut scan = Scan { text, at: 0 };
    if text.starts_with(b"\xef\xbb\xbf") {
        scan.at = 3;
    }
    let (mut sets, mut lines): (Vec<Set>, FastMap<Vec<u8>, u32>) = Default::default();
    let (mut line, mut counted) = (1, 0);
    while let Some(command) = scan.command()? {
        line += newlines(text, counted..command.name.start);
        counted = command.name.start;
        let Some(mut set) = command.set(&scan, line) else { continue };
        if !set.appends
            && let Some(first) = lines.insert(set.name.clone(), line)
        {
            let reason = format!("the set of line {first} is set a second time");
            set.trouble.get_or_insert(Trouble { line, reason });
        }
        sets.push(set);
    }
    Ok(sets)
}

/// How many lines end in a part of the text.
fn newlines(text: &[u8], part: Range<usize>) -> u32 {
    let part = text.get(part).unwrap_or_default();
    u32::try_from(part.split(|b| *b == b'\n').count() - 1).unwrap_or(0)
}

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
}

/// One command with its arguments.
struct Command {
    name: Range<usize>,
    arguments: Vec<Argument>,
    /// Where its `)` stands.
    end: usize,
}

struct Argument {
    span: Range<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bare,
    Quoted,
    /// `[[…]]`, and parentheses.
    Other,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn trouble(&self, at: usize, reason: &str) -> Trouble {
        Trouble { line: 1 + newlines(self.text, 0..at), reason: reason.to_owned() }
    }

    fn skip(&mut self, is: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&is) {
            self.at += 1;
        }
    }

    /// Blanks, line ends and comments.
    fn space(&mut self) -> Result<(), Trouble> {
        loop {
            self.skip(|b| b.is_ascii_whitespace());
            if self.peek() != Some(b'#') {
                return Ok(());
            }
            let begin = self.at;
            self.at += 1;
            match self.bracket() {
                Some(true) => {}
                Some(false) => return Err(self.trouble(begin, "a bracket comment has no end")),
                None => self.skip(|b| b != b'\n'),
            }
        }
    }

    /// Steps over `[==[ … ]==]`; false if it has no end, nothing if it does not begin here.
    fn bracket(&mut self) -> Option<bool> {
        let rest = self.rest().strip_prefix(b"[")?;
        let equals = rest.iter().take_while(|b| **b == b'=').count();
        if rest.get(equals) != Some(&b'[') {
            return None;
        }
        let close = [b"]".as_slice(), &vec![b'='; equals], b"]"].concat();
        let inside = rest.get(equals + 1..).unwrap_or_default();
        let Some(end) = inside.windows(close.len()).position(|window| window == close) else {
            return Some(false);
        };
        self.at += 2 + equals + end + close.len();
        Some(true)
    }

    fn command(&mut self) -> Result<Option<Command>, Trouble> {
        self.space()?;
        let begin = self.at;
        if begin >= self.text.len() {
            return Ok(None);
        }
        self.skip(|b| b.is_ascii_alphanumeric() || b == b'_');
        let name = begin..self.at;
        self.skip(|b| b == b' ' || b == b'\t');
        if name.is_empty() || self.peek() != Some(b'(') {
            return Err(self.trouble(begin, "no CMake command begins here"));
        }
        self.at += 1;
        let (mut arguments, mut depth) = (Vec::new(), 1);
        loop {
            self.space()?;
            let start = self.at;
            let kind = match self.peek() {
                None => return Err(self.trouble(begin, "a command has no closing parenthesis")),
                Some(b')') => {
                    depth -= 1;
                    self.at += 1;
                    if depth == 0 {
                        return Ok(Some(Command { name, arguments, end: start }));
                    }
                    Kind::Other
                }
                Some(b'(') => {
                    depth += 1;
                    self.at += 1;
                    Kind::Other
                }
                Some(b'"') => {
                    self.quoted()?;
                    Kind::Quoted
                }
                Some(_) => match self.bracket() {
                    Some(true) => Kind::Other,
                    Some(false) => return Err(self.trouble(start, "a bracket has no end")),
                    None => self.bare(),
                },
            };
            arguments.push(Argument { span: start..self.at, kind });
        }
    }

    fn quoted(&mut self) -> Result<(), Trouble> {
        let begin = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.trouble(begin, "a string has no end")),
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        Ok(())
    }

    /// An unquoted argument. Quotes inside one are CMake's legacy syntax, which no list needs.
    fn bare(&mut self) -> Kind {
        let mut kind = Kind::Bare;
        while let Some(b) = self.peek() {
            match b {
                b'\\' => self.at += 1,
                b'"' => kind = Kind::Other,
                b'(' | b')' | b'#' => break,
                b if b.is_ascii_whitespace() => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.at.min(self.text.len());
        kind
    }
}

impl Command {
    /// The set that this command makes, if it makes one.
    fn set(self, scan: &Scan<'_>, line: u32) -> Option<Set> {
        let word = |argument: &Argument| scan.text.get(argument.span.clone()).unwrap_or_default();
        let (name, values, appends) = match &scan.text[self.name.clone()] {
            command if command.eq_ignore_ascii_case(b"set") => {
                let (name, values) = self.arguments.split_first()?;
                (name, values, false)
            }
            command if command.eq_ignore_ascii_case(b"list") => {
                let (action, rest) = self.arguments.split_first()?;
                let (name, values) = rest.split_first()?;
                if word(action) != b"APPEND" {
                    return None;
                }
                (name, values, true)
            }
            _ => return None,
        };
        let mut set = Set {
            name: listed(word(name), name.kind)?.to_vec(),
            entries: Vec::new(),
            trouble: None,
            line,
            appends,
            body: name.span.end..self.end,
        };
        // Lines are counted on from the last one: a list may have many thousand.
        let (mut line, mut counted) = (line, self.name.start);
        for (at, value) in values.iter().enumerate() {
            line += newlines(scan.text, counted..value.span.start);
            counted = value.span.start;
            let text = word(value);
            if text == b"PARENT_SCOPE" && at + 1 == values.len() {
                set.body.end = value.span.start;
                continue;
            }
            match listed(text, value.kind) {
                Some(name) if !is_keyword(name) => {
                    let (name, span) = (name.to_vec(), value.span.clone());
                    set.entries.push(Entry { name, line, span });
                }
                _ => {
                    let reason = format!("`{}` is no bare name", crate::text::show(text));
                    set.trouble.get_or_insert(Trouble { line, reason });
                }
            }
        }
        Some(set)
    }
}

/// The name that an argument is as it stands, if CMake would not change it.
fn listed(text: &[u8], kind: Kind) -> Option<&[u8]> {
    let text = match kind {
        Kind::Bare => text,
        Kind::Quoted => text.strip_prefix(b"\"")?.strip_suffix(b"\"")?,
        Kind::Other => return None,
    };
    let evaluated = |b: &u8| matches!(b, b'$' | b'\\' | b';' | b'@' | b'\n');
    (!text.is_empty() && !text.iter().any(evaluated)).then_some(text)
}
