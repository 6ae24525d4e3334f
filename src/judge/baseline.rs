//! Baselines: known findings, one per line, `fingerprint rule path name  # reason`. This module
//! reads and writes the format; `lines` assigns lines to findings. `cli` opens and writes the
//! files.
//!
//! A line matches by fingerprint and rule, and waives one finding, so equal lines are legal. The
//! path is the file's own below its prefix, with the whole file name, where the fingerprint has it
//! cut to the soname: it chooses among several findings, and fits no longer than the next version.
//! The name is for people. Empty fields are `-`; in
//! fields white space, `%`, `#`, control and deceptive characters and bytes that are no UTF-8 are
//! `%` and two hexadecimal digits for each byte.

use super::fingerprint::DIGITS;
use crate::finding::Finding;
use crate::text::{is_deceptive, show};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// A file of known findings.
#[derive(Debug)]
pub struct Baseline {
    /// The file as it was named, in safe text.
    pub name: Arc<str>,
    /// Its findings, in their order.
    pub entries: Vec<Entry>,
    /// Lines behind the last finding.
    pub(super) tail: Vec<Vec<u8>>,
}

/// One known finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line it stands in, from 1.
    pub line: u32,
    /// The finding's fingerprint.
    pub fingerprint: String,
    /// Its rule; it may be one that this version does not have.
    pub rule: String,
    /// Its path below the prefix.
    pub path: Vec<u8>,
    /// What it is about.
    pub name: Vec<u8>,
    /// Why it is accepted.
    pub reason: Option<String>,
    /// Lines of comment before it.
    pub(super) above: Vec<Vec<u8>>,
    /// The line as it was read.
    pub(super) text: Vec<u8>,
}

impl Entry {
    /// The line without its comment, for people.
    pub fn words(&self) -> String {
        let name = show(&self.name);
        let name = if name.is_empty() { name } else { format!(" {name}") };
        format!("{} {}{name}", self.rule, show(&self.path))
    }

    /// The digits of the package it is about.
    pub(super) fn package(&self) -> &str {
        self.fingerprint.get(..super::fingerprint::PACKAGE).unwrap_or_default()
    }
}

/// How many wrong lines are shown, and how many bytes of one.
const MOST_TOLD: usize = 50;
const LONGEST_TOLD: usize = 200;

/// Everything that is wrong with a file that was to be a baseline.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words())]
pub struct Broken {
    file: Arc<str>,
    /// Line, what is wrong, and the line itself.
    lines: Vec<(u32, String, String)>,
}

impl Broken {
    fn words(&self) -> String {
        let count = self.lines.len();
        let plural = if count == 1 { "line is" } else { "lines are" };
        let mut out = format!("{}: {count} {plural} no known finding", self.file);
        for (line, what, text) in self.lines.iter().take(MOST_TOLD) {
            let _ = write!(out, "\n{}:{line}: {what}\n    {text}", self.file);
        }
        if count > MOST_TOLD {
            let _ = write!(out, "\n{} more are not shown", count - MOST_TOLD);
        }
        out + "\na line is `FINGERPRINT RULE PATH NAME  # REASON`; --write-baseline writes them"
    }
}

impl Baseline {
    /// Reads a baseline; every line that is wrong is told.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, Broken> {
        let file: Arc<str> = name.into();
        let mut out = Self { name: Arc::clone(&file), entries: Vec::new(), tail: Vec::new() };
        let mut wrong = Vec::new();
        let content = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let lines = content.split(|b| *b == b'\n').take_while(|_| !bytes.is_empty());
        for (text, number) in lines.zip(1..) {
            let content = text.trim_ascii();
            if content.is_empty() || content.starts_with(b"#") {
                out.tail.push(text.to_vec());
                continue;
            }
            match Entry::parse(content, number) {
                Ok(mut entry) => {
                    entry.text = text.to_vec();
                    entry.above = std::mem::take(&mut out.tail);
                    out.entries.push(entry);
                }
                Err(what) => {
                    let told = &content[..content.len().min(LONGEST_TOLD)];
                    wrong.push((number, what, show(told)));
                }
            }
        }
        if wrong.is_empty() { Ok(out) } else { Err(Broken { file, lines: wrong }) }
    }
}

impl Entry {
    fn parse(line: &[u8], number: u32) -> Result<Self, String> {
        // A `#` inside of a field is escaped.
        let comment = line.iter().position(|b| *b == b'#').unwrap_or(line.len());
        let (fields, comment) = line.split_at(comment);
        let fields: Vec<&[u8]> =
            fields.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).collect();
        let [fingerprint, rule, path, name] = fields[..] else {
            return Err(format!("it has {} fields and not 4", fields.len()));
        };
        if fingerprint.len() != DIGITS || !fingerprint.iter().copied().all(is_digit) {
            return Err(format!(
                "its fingerprint is not {DIGITS} hexadecimal digits in lower case"
            ));
        }
        if !rule.iter().all(|b| b.is_ascii_lowercase() || *b == b'-') || rule == b"-" {
            return Err(format!("`{}` is no name of a rule", show(rule)));
        }
        let reason = show(comment.strip_prefix(b"#").unwrap_or_default().trim_ascii());
        Ok(Self {
            line: number,
            fingerprint: show(fingerprint),
            rule: show(rule),
            path: decoded(path)?,
            name: decoded(name)?,
            reason: Some(reason).filter(|reason| !reason.is_empty()),
            above: Vec::new(),
            text: Vec::new(),
        })
    }
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// The line of a finding.
pub(super) fn line(fingerprint: &str, finding: &Finding) -> String {
    let path = finding.file.path.as_os_str().as_bytes();
    let name = encoded(&name(finding));
    format!("{fingerprint} {} {} {name}", finding.rule, encoded(path))
}

/// What a finding is about in one word: the most telling of its keys, and the version.
fn name(finding: &Finding) -> Vec<u8> {
    let keys = [&finding.symbol, &finding.library, &finding.member, &finding.detail];
    let key = keys.into_iter().flatten().next();
    match (key, &finding.version) {
        (Some(key), Some(version)) => [key, &b"@"[..], version].concat(),
        (Some(one), None) | (None, Some(one)) => one.clone(),
        (None, None) => Vec::new(),
    }
}

fn encoded(field: &[u8]) -> String {
    if field.is_empty() {
        return "-".to_owned();
    }
    let mut out = String::new();
    let escape = |bytes: &[u8], out: &mut String| {
        for byte in bytes {
            let _ = write!(out, "%{byte:02X}");
        }
    };
    for chunk in field.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut buffer = [0; 4];
            let text = c.encode_utf8(&mut buffer);
            let special = matches!(c, '%' | '#') || (c == '-' && field == b"-");
            if special || c.is_whitespace() || c.is_control() || is_deceptive(c) {
                escape(text.as_bytes(), &mut out);
            } else {
                out.push_str(text);
            }
        }
        escape(chunk.invalid(), &mut out);
    }
    out
}

fn decoded(field: &[u8]) -> Result<Vec<u8>, String> {
    if field == b"-" {
        return Ok(Vec::new());
    }
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, more @ ..] = rest {
        rest = more;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let digits = more.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let byte = byte.filter(|_| !more.starts_with(b"+"));
        let Some(byte) = byte else {
            let text = show(field);
            return Err(format!("in `{text}` two hexadecimal digits are missing after `%`"));
        };
        out.push(byte);
        rest = more.get(2..).unwrap_or_default();
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{Baseline, decoded, encoded};

    const PRINT: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn fields_come_back_as_they_were() {
        let mut cases: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        cases.extend((0..=255).map(|byte| vec![b'a', byte, b'-', 0xc3]));
        for text in ["", "-", "--", "%", "%20", "a b", "ä\u{a0}\u{202e}\u{3000}", "# x", "a\r\nb"]
        {
            cases.push(text.into());
        }
        for case in &cases {
            let field = encoded(case);
            assert!(!field.is_empty() && !field.contains(char::is_whitespace), "{field:?}");
            assert!(!field.contains(['#', '\u{202e}']) && !field.contains(char::is_control));
            assert_eq!(decoded(field.as_bytes()).as_ref(), Ok(case), "{field}");
        }
        assert_eq!(encoded(b"a b"), "a%20b");
        assert_eq!(cases.len(), 521);
    }

    #[test]
    fn every_broken_line_is_told() {
        let text = format!(
            "# fine\n\n{PRINT} undefined-symbol lib/a.so gone  # why\nx\n{PRINT} a b c d\n\
             {PRINT} undefined-symbol lib/b.so %2\n{} undefined-symbol - -\n{PRINT} A - -\n\
             {PRINT} undefined-symbol lib/a.so gone\n",
            PRINT.to_uppercase()
        );
        let broken = Baseline::parse("b.txt", text.as_bytes()).expect_err("it is broken");
        let words = broken.to_string();
        for expected in [
            "b.txt: 5 lines are no known finding\n",
            "b.txt:4: it has 1 fields and not 4\n    x\n",
            "b.txt:5: it has 5 fields and not 4\n",
            "b.txt:6: in `%2` two hexadecimal digits are missing after `%`\n",
            "b.txt:7: its fingerprint is not 32 hexadecimal digits in lower case\n",
            "b.txt:8: `A` is no name of a rule\n",
        ] {
            assert!(words.contains(expected), "{expected:?} is not in {words}");
        }
    }

    #[test]
    fn lines_are_read() {
        let text = format!("# one\r\n{PRINT}\tundefined-symbol   -  a%20b # so  \r\n# two");
        let baseline = Baseline::parse("b", text.as_bytes()).expect("a baseline");
        let entry = &baseline.entries[0];
        assert_eq!((entry.line, &*entry.path, &*entry.name), (2, &b""[..], &b"a b"[..]));
        assert_eq!(entry.reason.as_deref(), Some("so"));
        assert_eq!((entry.above.len(), baseline.tail.len()), (1, 1));
        assert!(Baseline::parse("b", b"").expect("an empty one").entries.is_empty());
        let twice = text.replacen("# two", &format!("{PRINT} undefined-symbol - a"), 1);
        assert_eq!(Baseline::parse("b", twice.as_bytes()).expect("equal lines").entries.len(), 2);
    }
}
