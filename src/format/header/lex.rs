//! Finds the preprocessor directives of a header. Comments, strings and joined lines are recognised
//! as in a compiler (`libcpp/lex.cc` of GCC: `_cpp_lex_direct`, `lex_string`, `lex_raw_string`).

/// Upper bound, in bytes, for the text after the keyword of a directive. If a condition is longer,
/// the includes of the file are unknown.
const MOST_TEXT: usize = 16 << 10;

/// A preprocessor directive: a line that begins with `#`, apart from blanks and comments.
pub(super) struct Directive<'a> {
    /// The line of the `#`, from 1.
    pub(super) line: u32,
    /// The word after the `#`.
    pub(super) keyword: &'a [u8],
    /// The rest of the line without comments; at most [`MOST_TEXT`] bytes. Empty for an include.
    pub(super) rest: Vec<u8>,
    /// The name in an include, with true for a name in quotes. `None` for other directives, and for
    /// an include that names a macro.
    pub(super) header: Option<(&'a [u8], bool)>,
    is_cut: bool,
}

impl Directive<'_> {
    /// The rest of the line. `None` if the rest is longer than [`MOST_TEXT`].
    pub(super) fn whole(&self) -> Option<&[u8]> {
        (!self.is_cut).then_some(self.rest.as_slice())
    }
}

/// The name at the start of `text`, `<name>` or `"name"`, with true for quotes. `None` for other
/// text.
pub(super) fn header_name(text: &[u8]) -> Option<(&[u8], bool)> {
    let (end, quoted) = match text.first()? {
        b'<' => (b'>', false),
        b'"' => (b'"', true),
        _ => return None,
    };
    let len = memchr::memchr2(end, b'\n', &text[1..])?;
    (text[len + 1] == end && len > 0).then(|| (&text[1..=len], quoted))
}

/// Iterates over the directives of a text.
pub(super) struct Directives<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
    /// True if only blanks and comments precede this position on the line.
    is_fresh: bool,
}

impl<'a> Directives<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, line: 1, is_fresh: true }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Moves to offset `to`, and counts the lines on the way.
    fn skip_to(&mut self, to: usize) {
        let to = to.min(self.text.len());
        let lines = memchr::memchr_iter(b'\n', &self.text[self.at..to]).count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.at = to;
    }

    /// Length, in bytes, of a line continuation at this position: a backslash and a line end. 0 if
    /// there is none.
    fn joint(&self) -> usize {
        match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'\\', b'\n', _) => 2,
            (b'\\', b'\r', b'\n') => 3,
            _ => 0,
        }
    }

    /// Skips a comment at this position; false if there is none. The line end after a line comment
    /// is not skipped.
    fn comment(&mut self) -> bool {
        match (self.peek(0), self.peek(1)) {
            (b'/', b'*') => {
                let rest = self.text.get(self.at + 2..).unwrap_or_default();
                let end = memchr::memmem::find(rest, b"*/");
                self.skip_to(end.map_or(self.text.len(), |end| self.at + 2 + end + 2));
                true
            }
            (b'/', b'/') => {
                while let Some(end) = memchr::memchr(b'\n', &self.text[self.at..]) {
                    let end = self.at + end;
                    let before = self.text[..end].strip_suffix(b"\r").unwrap_or(&self.text[..end]);
                    if before.last() != Some(&b'\\') {
                        self.skip_to(end);
                        return true;
                    }
                    self.skip_to(end + 1);
                }
                self.skip_to(self.text.len());
                true
            }
            _ => false,
        }
    }

    /// The identifier or number that ends before this position. Of a longer one, only the last 64
    /// bytes.
    fn word_before(&self) -> &'a [u8] {
        let from = self.at.saturating_sub(64);
        let before = &self.text[from..self.at];
        let is_word = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_' || **b == b'\'';
        &before[before.len() - before.iter().rev().take_while(is_word).count()..]
    }

    /// Skips a string or character literal, or a digit separator, at this position. A literal ends
    /// at or before the end of its line, unless the line ends with a backslash. A raw string may
    /// contain line ends.
    fn quoted(&mut self, quote: u8) {
        let word = self.word_before();
        if quote == b'"' && [&b"R"[..], b"LR", b"uR", b"UR", b"u8R"].contains(&word) {
            return self.raw_string();
        }
        if quote == b'\'' && word.first().is_some_and(u8::is_ascii_digit) {
            // A digit separator, as in `1'000`.
            self.at += 1;
            return;
        }
        self.at += 1;
        while self.at < self.text.len() {
            match self.peek(0) {
                b'\\' => self.skip_to(self.at + self.joint().max(2)),
                b'\n' => return,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return;
                    }
                }
            }
        }
    }

    fn raw_string(&mut self) {
        let rest = &self.text[self.at + 1..];
        // A delimiter has at most 16 bytes.
        let Some(len) = rest.iter().take(17).position(|b| *b == b'(') else {
            self.at += 1;
            return;
        };
        let end = [b")", &rest[..len], b"\""].concat();
        let found = memchr::memmem::find(&rest[len..], &end);
        let end = found.map_or(self.text.len(), |at| self.at + 1 + len + at + end.len());
        self.skip_to(end);
    }

    fn blanks(&mut self) {
        while self.at < self.text.len() {
            match (self.peek(0), self.joint()) {
                (b' ' | b'\t', _) => self.at += 1,
                (_, joint @ 1..) => self.skip_to(self.at + joint),
                _ if self.peek(1) == b'*' && self.comment() => {}
                _ => return,
            }
        }
    }

    fn directive(&mut self) -> Directive<'a> {
        let line = self.line;
        self.at += 1;
        self.is_fresh = false;
        self.blanks();
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' {
            self.at += 1;
        }
        let keyword = &self.text[start..self.at];
        let mut out = Directive { line, keyword, rest: Vec::new(), header: None, is_cut: false };
        self.blanks();
        if matches!(keyword, b"include" | b"import" | b"include_next") {
            out.header = header_name(&self.text[self.at..]);
            if let Some((name, _)) = out.header {
                self.at += name.len() + 2;
            }
            return out;
        }
        while self.at < self.text.len() && self.peek(0) != b'\n' {
            let (from, joint) = (self.at, self.joint());
            if joint > 0 {
                self.skip_to(self.at + joint);
                continue;
            }
            match self.peek(0) {
                b'/' if self.comment() => {
                    out.rest.push(b' ');
                    continue;
                }
                quote @ (b'"' | b'\'') => self.quoted(quote),
                _ => self.at += 1,
            }
            let piece = &self.text[from..self.at];
            if out.rest.len() + piece.len() > MOST_TEXT {
                out.is_cut = true;
            } else {
                out.rest.extend_from_slice(piece);
            }
        }
        out
    }
}

impl<'a> Iterator for Directives<'a> {
    type Item = Directive<'a>;

    fn next(&mut self) -> Option<Directive<'a>> {
        while self.at < self.text.len() {
            match self.peek(0) {
                b'\n' => {
                    self.skip_to(self.at + 1);
                    self.is_fresh = true;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'\\' if self.joint() > 0 => self.skip_to(self.at + self.joint()),
                b'/' if self.comment() => {}
                b'#' if self.is_fresh => return Some(self.directive()),
                quote @ (b'"' | b'\'') => {
                    self.is_fresh = false;
                    self.quoted(quote);
                }
                _ => {
                    self.is_fresh = false;
                    self.at += 1;
                }
            }
        }
        None
    }
}
