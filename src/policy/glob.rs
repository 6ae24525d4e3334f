//! Parses globs in the syntax of the crate globset; tests check that both match the same texts.
//! Patterns in policies are globs. [`super::simple`] and [`super::automaton`] match them.

/// One part of a parsed glob. In paths, `?` and `*` do not match `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A literal byte.
    Byte(u8),
    /// `?`: one byte.
    Any,
    /// `*`: any number of bytes.
    Many,
    /// `**/`: the empty text, or any text that ends with `/`.
    Deep,
    /// `**` at the end of a path or of a branch: anything.
    Rest,
    /// `[…]`: one byte of a set.
    Class(Box<ByteSet>),
    /// `{a,b}`: one of several sequences.
    Either(Vec<Vec<Token>>),
}

/// A set of bytes: the element at an index is true if the set has this byte.
pub(super) type ByteSet = [bool; 256];

/// Parses a glob. The error is a message for the author of the policy.
pub(super) fn parse(text: &str) -> Result<Vec<Token>, String> {
    let mut parser = Parser {
        rest: text.chars(),
        previous: None,
        current: None,
        open: Vec::new(),
        branches: vec![Vec::new()],
    };
    while let Some(c) = parser.next() {
        parser.token(c)?;
    }
    if !parser.open.is_empty() {
        return Err("unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)".into());
    }
    let tokens = parser.branches.pop().unwrap_or_default();
    Ok(if tokens == [Token::Deep] { vec![Token::Rest] } else { tokens })
}

/// True if the tokens match only the empty text. The matchers ignore a branch of `{a,b}` for which
/// this is true.
pub(super) fn is_nothing(tokens: &[Token]) -> bool {
    let nothing = |token: &Token| match token {
        Token::Either(branches) => branches.iter().all(|branch| is_nothing(branch)),
        _ => false,
    };
    tokens.iter().all(nothing)
}

struct Parser<'a> {
    rest: std::str::Chars<'a>,
    previous: Option<char>,
    current: Option<char>,
    /// For each open brace, the number of branches before it.
    open: Vec<usize>,
    /// The outermost sequence, and the branches of open braces.
    branches: Vec<Vec<Token>>,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        self.previous = self.current;
        self.current = self.rest.next();
        self.current
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    /// The innermost open sequence, to which the next token is added.
    fn sequence(&mut self) -> &mut Vec<Token> {
        if self.branches.is_empty() {
            self.branches.push(Vec::new());
        }
        let last = self.branches.len() - 1;
        &mut self.branches[last]
    }

    fn literal(&mut self, c: char) {
        let mut room = [0; 4];
        let bytes = c.encode_utf8(&mut room).bytes().map(Token::Byte);
        self.sequence().extend(bytes);
    }

    fn token(&mut self, c: char) -> Result<(), String> {
        match c {
            '?' => self.sequence().push(Token::Any),
            '*' => self.star(),
            '[' => {
                let class = self.class()?;
                self.sequence().push(Token::Class(class));
            }
            '{' => {
                self.open.push(self.branches.len());
                self.branches.push(Vec::new());
            }
            '}' => {
                let Some(first) = self.open.pop() else {
                    let why =
                        "unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)";
                    return Err(why.into());
                };
                let branches = self.branches.drain(first..).collect();
                self.sequence().push(Token::Either(branches));
            }
            ',' if !self.open.is_empty() => self.branches.push(Vec::new()),
            '\\' => match self.next() {
                Some(c) => self.literal(c),
                None => return Err("dangling '\\'".into()),
            },
            c => self.literal(c),
        }
        Ok(())
    }

    /// Parses `*`, or `**`, which is special if it is a whole component of a path.
    fn star(&mut self) {
        let before = self.previous;
        if self.peek() != Some('*') {
            return self.sequence().push(Token::Many);
        }
        self.next();
        let after = self.peek();
        let in_braces = self.branches.len() > 1;
        if self.sequence().is_empty() {
            match after {
                Some('/') => {
                    self.next();
                    self.sequence().push(Token::Deep);
                }
                None => self.sequence().push(Token::Deep),
                Some(_) => self.sequence().push(Token::Many),
            }
            return;
        }
        let ends_branch = in_braces && matches!(after, Some(',' | '}'));
        let begins_branch = in_braces && matches!(before, Some(',' | '{'));
        if !(before == Some('/') || begins_branch)
            || !(after.is_none() || after == Some('/') || ends_branch)
        {
            return self.sequence().push(Token::Many);
        }
        if after == Some('/') {
            self.next();
        }
        self.whole_part(after == Some('/'));
    }

    /// Adds `**` as a whole component, which ends at a slash, at the end of the glob, or at the end
    /// of a branch.
    fn whole_part(&mut self, before_slash: bool) {
        let sequence = self.sequence();
        // At the start, `**/**` is the same as `**/`.
        if sequence.as_slice() == [Token::Deep] {
            return;
        }
        if sequence.pop() != Some(Token::Deep) {
            sequence.push(Token::Byte(b'/'));
        }
        sequence.push(if before_slash { Token::Deep } else { Token::Rest });
    }

    /// Parses the set of bytes in brackets, after the opening bracket. A character outside of ASCII
    /// adds each of its bytes.
    fn class(&mut self) -> Result<Box<ByteSet>, String> {
        let not = matches!(self.peek(), Some('!' | '^'));
        if not {
            self.next();
        }
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut in_range = false;
        loop {
            let Some(c) = self.next() else {
                return Err("unclosed character class; missing ']'".into());
            };
            match (c, ranges.last_mut()) {
                (']', Some(_)) => break,
                ('-', Some(_)) if !in_range => in_range = true,
                (to, Some(last)) if in_range => {
                    if to < last.0 {
                        return Err(format!("invalid range; '{}' > '{to}'", last.0));
                    }
                    last.1 = to;
                    in_range = false;
                }
                (c, _) => ranges.push((c, c)),
            }
        }
        if in_range {
            ranges.push(('-', '-'));
        }
        let mut out = Box::new([not; 256]);
        for (from, to) in ranges {
            let (mut low, mut high) = ([0; 4], [0; 4]);
            let (low, high) = (from.encode_utf8(&mut low), to.encode_utf8(&mut high));
            let (low, high) = (low.as_bytes(), high.as_bytes());
            let mut fill = |from: u8, to: u8| {
                if from <= to {
                    out[usize::from(from)..=usize::from(to)].fill(!not);
                }
            };
            low.iter().chain(high).for_each(|byte| fill(*byte, *byte));
            fill(low[low.len() - 1], high[0]);
        }
        Ok(out)
    }
}
