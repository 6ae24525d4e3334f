//! Baselines: known findings, one per line, `fingerprint rule path name  # reason`. This module
//! parses and formats the lines. `lines` assigns lines to findings, and `cli` opens and writes the
//! files.
//!
//! A line matches findings with its fingerprint and rule, and waives one of these findings. A
//! baseline may therefore have equal lines. Empty fields are `-`. White space, `%`, `#`, control
//! and deceptive characters, and bytes that are not UTF-8 are written as `%` and two hexadecimal
//! digits.
//!
//! The path of a line is the path of the file below its prefix, with the full file name. The
//! fingerprint is computed from the file name cut to the soname. A line therefore still matches if
//! a new version of the library has another file name. If several findings have the fingerprint,
//! the finding with the path of the line gets the line. Matching ignores the name of a line: people
//! read the name, and `scope` uses the name to decide if a line is stale.

use super::fingerprint::DIGITS;
use crate::finding::Finding;
use crate::rules;
use crate::text::{is_deceptive, show};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// A file of known findings.
#[derive(Debug)]
pub struct Baseline {
    /// The name of the file, safe to show.
    pub name: Arc<str>,
    /// The lines with findings, in file order.
    pub entries: Vec<BaselineLine>,
    /// Comments and empty lines after the last finding.
    pub(super) tail: Vec<Vec<u8>>,
}

/// One known finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineLine {
    /// The number of the line in the file, from 1.
    pub line: u32,
    /// The finding's fingerprint: 32 hexadecimal digits in lower case.
    pub fingerprint: String,
    /// The id of the finding's rule. This version of linkaudit may not have the rule.
    pub rule: String,
    /// The path of the finding's file below its prefix; empty for `-`.
    pub path: Vec<u8>,
    /// The subject of the finding: a symbol, library, target, member or detail, with `@` and a
    /// version if it has one. Empty for `-`.
    pub name: Vec<u8>,
    /// The reason why the finding is accepted; `None` if the line states none.
    pub reason: Option<String>,
    /// Comments and empty lines between the previous finding and this one.
    pub(super) above: Vec<Vec<u8>>,
    /// The line as read.
    pub(super) text: Vec<u8>,
}

impl BaselineLine {
    /// The line as read, safe to show.
    pub(super) fn shown(&self) -> String {
        show(self.text.trim_ascii())
    }

    /// True if this version of linkaudit has the rule.
    pub(super) fn has_known_rule(&self) -> bool {
        rules::find(&self.rule).is_some()
    }

    /// The digits of the fingerprint that identify the package.
    pub(super) fn package(&self) -> &str {
        self.fingerprint.get(..super::fingerprint::PACKAGE).unwrap_or_default()
    }
}

/// Maximum number of invalid lines in an error.
const MOST_TOLD: usize = 50;
/// Maximum number of bytes of an invalid line in an error.
const LONGEST_TOLD: usize = 200;

/// The errors in a baseline file.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words())]
pub struct Broken {
    file: Arc<str>,
    /// Line number, error, and the line itself.
    lines: Vec<(u32, String, String)>,
}

impl Broken {
    fn words(&self) -> String {
        let count = self.lines.len();
        let plural = if count == 1 { "line" } else { "lines" };
        let mut out = format!("{}: {count} invalid {plural}", self.file);
        for (line, what, text) in self.lines.iter().take(MOST_TOLD) {
            let _ = write!(out, "\n{}:{line}: {what}\n    {text}", self.file);
        }
        if count > MOST_TOLD {
            let _ = write!(out, "\n{} more are not shown", count - MOST_TOLD);
        }
        out + "\nhelp: a line is `FINGERPRINT RULE PATH NAME  # REASON`; --write-baseline FILE writes them"
    }
}

impl Baseline {
    /// Parses the content of a baseline. `name` is the name of the file in messages. The error has
    /// all invalid lines, and its message shows the first 50.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, Broken> {
        let file: Arc<str> = name.into();
        let mut out = Self { name: Arc::clone(&file), entries: Vec::new(), tail: Vec::new() };
        let mut wrong = Vec::new();
        // Editors on Windows write a byte order mark in UTF-8 before the first line.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let content = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let lines = content.split(|b| *b == b'\n').take_while(|_| !bytes.is_empty());
        for (text, number) in lines.zip(1..) {
            let content = text.trim_ascii();
            if content.is_empty() || content.starts_with(b"#") {
                out.tail.push(text.to_vec());
                continue;
            }
            match BaselineLine::parse(content, number) {
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

impl BaselineLine {
    fn parse(line: &[u8], number: u32) -> Result<Self, String> {
        // Fields escape `#`, so the first `#` of a line begins the reason.
        let comment = line.iter().position(|b| *b == b'#').unwrap_or(line.len());
        let (fields, comment) = line.split_at(comment);
        let fields: Vec<&[u8]> =
            fields.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).collect();
        let [fingerprint, rule, path, name] = fields[..] else {
            return Err(format!("expected 4 fields, found {}", fields.len()));
        };
        if fingerprint.len() != DIGITS || !fingerprint.iter().copied().all(is_digit) {
            return Err(format!(
                "its fingerprint is not {DIGITS} hexadecimal digits in lower case"
            ));
        }
        if !rule.iter().all(|b| b.is_ascii_lowercase() || *b == b'-') || rule == b"-" {
            return Err(format!("`{}` is not a rule id", show(rule)));
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

/// Formats the line that a new finding gets in a baseline, without a reason.
pub(super) fn line(fingerprint: &str, finding: &Finding) -> String {
    let path = finding.file.path.as_os_str().as_bytes();
    let name = encoded(&name(finding));
    format!("{fingerprint} {} {} {name}", finding.rule, encoded(path))
}

/// The subject of a finding: the first of symbol, library, target, member and detail that the
/// finding has, then `@` and its version, if any. Without a subject, the version alone; empty
/// without both.
fn name(finding: &Finding) -> Vec<u8> {
    let Finding { symbol, library, target, member, detail, .. } = finding;
    let key = [symbol, library, target, member, detail].into_iter().flatten().next();
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
            "b.txt: 5 invalid lines\n",
            "b.txt:4: expected 4 fields, found 1\n    x\n",
            "b.txt:5: expected 4 fields, found 5\n",
            "b.txt:6: in `%2` two hexadecimal digits are missing after `%`\n",
            "b.txt:7: its fingerprint is not 32 hexadecimal digits in lower case\n",
            "b.txt:8: `A` is not a rule id\n",
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
        for marked in [format!("\u{feff}{text}"), format!("\u{feff}{PRINT} rule - a")] {
            let marked = Baseline::parse("b", marked.as_bytes()).expect("a mark of UTF-8");
            assert_eq!((marked.entries.len(), &*marked.entries[0].fingerprint), (1, PRINT));
        }
        assert!(Baseline::parse("b", b"").expect("an empty one").entries.is_empty());
        assert!(Baseline::parse("b", b"\xef\xbb\xbf").expect("an empty one").tail.is_empty());
        let twice = text.replacen("# two", &format!("{PRINT} undefined-symbol - a"), 1);
        assert_eq!(Baseline::parse("b", twice.as_bytes()).expect("equal lines").entries.len(), 2);
    }
}
