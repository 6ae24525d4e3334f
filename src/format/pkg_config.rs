//! Package files of pkg-config (`*.pc`), as `libpkgconf` of pkgconf 1.8 reads them:
//!
//! - variables and keywords, in the order of the file (`parser.c`, `pkg.c`)
//! - references to variables (`tuple.c`)
//! - words of flags (`argvsplit.c`)
//! - lists of requirements (`dependency.c`)
//! - the order of versions (`pkgconf_compare_version`)
//!
//! This module reads one file. `package_text` follows requirements and checks other files.

use crate::id::FastMap;
use std::cmp::Ordering;

/// Upper bound, in bytes, for a package file. pkgconf has no limit; real files have a few
/// kilobytes.
pub const MOST: u64 = 1 << 20;
/// Upper bound, in bytes, for a variable's value after its references are replaced
/// (`PKGCONF_BUFSIZE`).
const MOST_VALUE: usize = 65_535;
/// Upper bound, in bytes, for all values of one file together. A variable may refer twice to the
/// variable before it. In a chain of such variables, each value is twice as long as the one before.
const MOST_VALUES: usize = 8 << 20;

/// The fields of one package file that the audit uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PkgConfig {
    /// The value of `Version`; empty if the file has none.
    pub version: Vec<u8>,
    /// The value of the variable `prefix`; `None` if the file does not set it.
    pub prefix: Option<Vec<u8>>,
    /// `Requires` and `Requires.private`, in the order of the file.
    pub requires: Vec<Requirement>,
    /// `Provides`: other names under which this package can be required.
    pub provides: Vec<Requirement>,
    /// The flags of `Cflags`, in the order of the file.
    pub cflags: Vec<Flag>,
    /// The flags of `Libs`, in the order of the file.
    pub libs: Vec<Flag>,
    /// The reason why a value of the file could not be computed; `None` if all values are known.
    pub defect: Option<&'static str>,
}

/// A package that another one requires, or a name that a package provides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The name of the package.
    pub name: Vec<u8>,
    /// The comparison and the version, if the requirement has one.
    pub version: Option<(VersionComparison, Vec<u8>)>,
    /// True for `Requires.private`.
    pub private: bool,
    /// The line, from 1.
    pub line: u32,
}

/// The operator between a package and a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionComparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `=`
    Equal,
    /// `!=`
    Not,
    /// `>=`
    AtLeast,
    /// `>`
    Greater,
}

impl VersionComparison {
    const ALL: [(&'static [u8], Self); 6] = [
        (b"<", Self::Less),
        (b"<=", Self::AtMost),
        (b"=", Self::Equal),
        (b"!=", Self::Not),
        (b">=", Self::AtLeast),
        (b">", Self::Greater),
    ];

    /// The operator as package files write it, such as `>=`.
    pub fn text(self) -> &'static [u8] {
        Self::ALL.iter().find(|(_, one)| *one == self).map_or(b"", |(text, _)| text)
    }

    /// True if the comparison of `version` with `wanted` holds, such as `version >= wanted`.
    pub fn holds(self, version: &[u8], wanted: &[u8]) -> bool {
        let order = compare(version, wanted);
        match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::Not => order.is_ne(),
            Self::AtLeast => order.is_ge(),
            Self::Greater => order.is_gt(),
        }
    }
}

/// One flag of the compiler or linker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The kind of the flag, with its value.
    pub kind: FlagKind,
    /// The line, from 1.
    pub line: u32,
}

/// The kind of a flag, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlagKind {
    /// `-I`, `-isystem` and `-idirafter`: a directory.
    Include(Vec<u8>),
    /// `-L`: a directory.
    LibDir(Vec<u8>),
    /// `-lNAME`, or `-l:FILE` with the file name of a library.
    Lib(Vec<u8>),
    /// A word that is an absolute path, such as the path of a library.
    File(Vec<u8>),
    /// Any other word.
    Other(Vec<u8>),
}

/// Parses the text of a package file in the directory `dir`.
pub fn parse(text: &[u8], dir: &[u8]) -> PkgConfig {
    let mut reader = Reader { out: PkgConfig::default(), vars: FastMap::default(), size: 0 };
    reader.vars.insert(b"pcfiledir".to_vec(), dir.to_vec());
    reader.vars.insert(b"pc_sysrootdir".to_vec(), b"/".to_vec());
    reader.vars.insert(b"pc_top_builddir".to_vec(), b"$(top_builddir)".to_vec());
    for (line, number) in lines(text) {
        reader.line(&line, number);
    }
    reader.out
}

/// Lines with comments removed and continuations joined (`fileio.c`), each with the number of its
/// first line in the file.
fn lines(text: &[u8]) -> Vec<(Vec<u8>, u32)> {
    let (mut out, mut line, mut number, mut first) = (Vec::new(), Vec::new(), 1_u32, 1_u32);
    let mut bytes = text.iter().copied().peekable();
    let mut quoted = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if quoted => {
                line.push(b'\\');
                line.push(b'\\');
                quoted = false;
                continue;
            }
            b'\\' => {
                quoted = true;
                continue;
            }
            b'#' if quoted => line.push(b'#'),
            b'#' => while bytes.next_if(|b| *b != b'\n' && *b != b'\r').is_some() {},
            b'\n' | b'\r' => {
                let other = if byte == b'\n' { b'\r' } else { b'\n' };
                let _ = bytes.next_if_eq(&other);
                number = number.saturating_add(1);
                if !quoted {
                    out.push((std::mem::take(&mut line), first));
                    first = number;
                }
            }
            byte => {
                if quoted {
                    line.push(b'\\');
                }
                line.push(byte);
            }
        }
        quoted = false;
    }
    out.push((line, first));
    out
}

struct Reader {
    out: PkgConfig,
    vars: FastMap<Vec<u8>, Vec<u8>>,
    size: usize,
}

impl Reader {
    /// Handles `KEY = VALUE` or `KEYWORD: VALUE`; other lines are ignored (`pkgconf_parser_parse`).
    fn line(&mut self, line: &[u8], number: u32) {
        let line = line.trim_ascii();
        let is_key = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.';
        let len = line.iter().take_while(|b| is_key(b)).count();
        let (key, rest) = line.split_at(len);
        let rest = rest.trim_ascii_start();
        let Some((operator, value)) = rest.split_first() else { return };
        let value = value.trim_ascii();
        match operator {
            b'=' => self.variable(key, value),
            b':' => self.keyword(key, value, number),
            _ => {}
        }
    }

    fn variable(&mut self, key: &[u8], value: &[u8]) {
        let value = self.expand(dequoted(value));
        if key == b"prefix" {
            self.out.prefix = Some(value.clone());
        }
        self.vars.insert(key.to_vec(), value);
    }

    fn keyword(&mut self, key: &[u8], value: &[u8], line: u32) {
        match key.to_ascii_lowercase().as_slice() {
            b"version" => self.out.version = self.expand(value),
            b"requires" => self.requirements(value, line, false),
            b"requires.private" => self.requirements(value, line, true),
            b"provides" => {
                let list = requirements(&self.expand(value), line, false);
                self.out.provides.extend(list);
            }
            b"cflags" => {
                let flags = self.flags(value, line);
                self.out.cflags.extend(flags);
            }
            b"libs" => {
                let flags = self.flags(value, line);
                self.out.libs.extend(flags);
            }
            _ => {}
        }
    }

    fn requirements(&mut self, value: &[u8], line: u32, private: bool) {
        let list = requirements(&self.expand(value), line, private);
        self.out.requires.extend(list);
    }

    fn flags(&mut self, value: &[u8], line: u32) -> Vec<Flag> {
        let value = self.expand(value);
        let Some(words) = words(&value) else {
            self.out.defect = Some("a quote in a list of flags has no end");
            return Vec::new();
        };
        flags(words).into_iter().map(|kind| Flag { kind, line }).collect()
    }

    /// `value` with each `${NAME}` replaced by the current value of the variable, or removed if no
    /// earlier line sets the variable. If the result is longer than [`MOST_VALUE`], or if all
    /// results together are longer than [`MOST_VALUES`], a defect is reported and the result is
    /// empty.
    fn expand(&mut self, value: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(value.len());
        let mut rest = value;
        while let Some(at) = memchr::memmem::find(rest, b"${") {
            out.extend_from_slice(&rest[..at]);
            let inside = &rest[at + 2..];
            let len = memchr::memchr(b'}', inside).unwrap_or(inside.len());
            let known = self.vars.get(&inside[..len]).map(Vec::as_slice).unwrap_or_default();
            out.extend_from_slice(known);
            rest = inside.get(len + 1..).unwrap_or_default();
            if out.len() > MOST_VALUE {
                break;
            }
        }
        out.extend_from_slice(rest);
        self.size = self.size.saturating_add(out.len());
        if out.len() > MOST_VALUE || self.size > MOST_VALUES {
            self.out.defect = Some("its values are too long");
            out.clear();
        }
        out
    }
}

/// A value without the quotes around it.
fn dequoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inside @ .., b'"'] | [b'\'', inside @ .., b'\''] => inside,
        _ => value,
    }
}

/// The requirements in a list: names with or without a comparison, separated by commas and blanks.
fn requirements(value: &[u8], line: u32, private: bool) -> Vec<Requirement> {
    let mut out: Vec<Requirement> = Vec::new();
    let is_space = |b: u8| b.is_ascii_whitespace() || b == b',';
    let is_operator = |b: u8| b"<>=!".contains(&b);
    let mut rest = value;
    let take = |rest: &mut &[u8], is: &dyn Fn(u8) -> bool| {
        let len = rest.iter().take_while(|b| is(**b)).count();
        let (word, after) = rest.split_at(len);
        *rest = after;
        word.to_vec()
    };
    loop {
        take(&mut rest, &is_space);
        let name = take(&mut rest, &|b| !is_space(b) && !is_operator(b));
        let before = rest;
        take(&mut rest, &|b| b.is_ascii_whitespace());
        let operator = take(&mut rest, &is_operator);
        let known = VersionComparison::ALL.iter().find(|(text, _)| *text == operator);
        let version = known.map(|(_, comparison)| {
            take(&mut rest, &|b| b.is_ascii_whitespace());
            (*comparison, take(&mut rest, &|b| !is_space(b)))
        });
        if operator.is_empty() {
            rest = before;
        }
        if name.is_empty() && operator.is_empty() {
            return out;
        }
        if !name.is_empty() {
            out.push(Requirement { name, version, private, line });
        }
    }
}

/// The words of a list of flags. `None` if a quote or an escape has no end.
fn words(value: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (mut out, mut word) = (Vec::new(), None::<Vec<u8>>);
    let (mut quote, mut escaped) = (None, false);
    for &byte in value {
        match (escaped, quote) {
            (true, quote) => {
                let text = word.get_or_insert_with(Vec::new);
                if quote == Some(b'"') && !b"$`\"\\".contains(&byte) {
                    text.push(b'\\');
                }
                text.push(byte);
                escaped = false;
            }
            (_, Some(end)) if byte == end => quote = None,
            (_, Some(b'"') | None) if byte == b'\\' => escaped = true,
            (_, Some(_)) => word.get_or_insert_with(Vec::new).push(byte),
            (_, None) if byte.is_ascii_whitespace() => out.extend(word.take()),
            (_, None) if byte == b'"' || byte == b'\'' => {
                quote = Some(byte);
                word.get_or_insert_with(Vec::new);
            }
            (_, None) => word.get_or_insert_with(Vec::new).push(byte),
        }
    }
    out.extend(word);
    (quote.is_none() && !escaped).then_some(out)
}

/// The flags in `words`. The value of a flag may be in the next word.
fn flags(words: Vec<Vec<u8>>) -> Vec<FlagKind> {
    let mut out = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let value = |at: usize, words: &mut std::vec::IntoIter<Vec<u8>>| match &word[at..] {
            [] => words.next().unwrap_or_default(),
            value => value.to_vec(),
        };
        out.push(match word.as_slice() {
            [b'-', b'I', ..] => FlagKind::Include(value(2, &mut words)),
            [b'-', b'L', ..] => FlagKind::LibDir(value(2, &mut words)),
            [b'-', b'l', ..] => FlagKind::Lib(value(2, &mut words)),
            b"-isystem" | b"-idirafter" => FlagKind::Include(words.next().unwrap_or_default()),
            b"-framework" | b"-include" | b"-Xlinker" | b"-arch" | b"-isysroot" | b"-u" => {
                words.next();
                FlagKind::Other(word)
            }
            [b'/', ..] => FlagKind::File(word),
            _ => FlagKind::Other(word),
        });
    }
    out
}

/// Compares two versions as RPM does. Runs of digits are numbers and runs of letters are text. `~`
/// sorts before everything, even before the end of a version.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    if a.eq_ignore_ascii_case(b) {
        return Ordering::Equal;
    }
    let is_part = |c: &u8| c.is_ascii_alphanumeric() || *c == b'~';
    let skip = |text: &mut &[u8]| {
        let len = text.iter().take_while(|c| !is_part(c)).count();
        *text = &text[len..];
    };
    let (mut one, mut two) = (a, b);
    while !one.is_empty() || !two.is_empty() {
        skip(&mut one);
        skip(&mut two);
        match (one.first() == Some(&b'~'), two.first() == Some(&b'~')) {
            (true, true) => {
                (one, two) = (&one[1..], &two[1..]);
                continue;
            }
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let (Some(first), Some(_)) = (one.first(), two.first()) else { break };
        let is_number = first.is_ascii_digit();
        let run = |text: &mut &[u8]| {
            let is = |c: &&u8| {
                if is_number { c.is_ascii_digit() } else { c.is_ascii_alphabetic() }
            };
            let len = text.iter().take_while(is).count();
            let (head, rest) = text.split_at(len);
            *text = rest;
            head.to_vec()
        };
        let (left, right) = (run(&mut one), run(&mut two));
        if right.is_empty() {
            // A run of digits sorts after a run of letters.
            return if is_number { Ordering::Greater } else { Ordering::Less };
        }
        let order = if is_number {
            let bare = |digits: Vec<u8>| {
                let zeros = digits.iter().take_while(|c| **c == b'0').count();
                digits[zeros..].to_vec()
            };
            let (left, right) = (bare(left), bare(right));
            left.len().cmp(&right.len()).then(left.cmp(&right))
        } else {
            left.cmp(&right)
        };
        if order.is_ne() {
            return order;
        }
    }
    one.len().cmp(&two.len())
}

#[cfg(test)]
mod tests {
    use super::{FlagKind, VersionComparison, compare, parse};
    use std::cmp::Ordering;

    #[test]
    fn a_file_with_everything() {
        let text = b"prefix=/usr\n libdir = \"${prefix}/lib\"\nversion=9\nx=${y}\ny=1\n\
            Version: 1.\\\n2 # comment\nRequires: b>=2, c  d != 3\nRequires.private: e\n\
            Libs: -L${libdir} -la \"-L/b c\" -L /sep -framework F /x/l.a -DA=\\\"q\\\" ${x}\n\
            CFLAGS: -I${pcfiledir}/i -isystem /s\n";
        let read = parse(text, b"/p");
        assert_eq!(read.version, b"1.2");
        assert_eq!(read.prefix.as_deref(), Some(b"/usr".as_slice()));
        let names: Vec<_> = read.requires.iter().map(|one| (&one.name[..], one.line)).collect();
        assert_eq!(names, [(&b"b"[..], 8), (b"c", 8), (b"d", 8), (b"e", 9)]);
        assert_eq!(read.requires[0].version, Some((VersionComparison::AtLeast, b"2".to_vec())));
        assert!(read.requires[3].private);
        let kinds: Vec<FlagKind> = read.libs.into_iter().map(|flag| flag.kind).collect();
        let dir = |text: &str| FlagKind::LibDir(text.into());
        assert_eq!(kinds[..2], [dir("/usr/lib"), FlagKind::Lib(b"a".to_vec())]);
        assert_eq!(kinds[2..4], [dir("/b c"), dir("/sep")]);
        assert_eq!(
            kinds[5..7],
            [FlagKind::File(b"/x/l.a".to_vec()), FlagKind::Other(b"-DA=\"q\"".to_vec())]
        );
        let includes: Vec<FlagKind> = read.cflags.into_iter().map(|flag| flag.kind).collect();
        let include = |text: &str| FlagKind::Include(text.into());
        assert_eq!(includes, [include("/p/i"), include("/s")]);
    }

    #[test]
    fn growing_values_end() {
        let mut text = b"a0=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n".to_vec();
        for n in 0..64 {
            text.extend(format!("a{}=${{a{n}}}${{a{n}}}\n", n + 1).bytes());
        }
        assert!(parse(&text, b"/").defect.is_some());
        assert!(parse(b"Libs: \"-la", b"/").defect.is_some());
    }

    #[test]
    fn versions_have_rpms_order() {
        for (a, b, order) in [
            ("1.0", "1.0", Ordering::Equal),
            ("1.10", "1.9", Ordering::Greater),
            ("1.0", "1.0.1", Ordering::Less),
            ("1.0~rc1", "1.0", Ordering::Less),
            ("1.0a", "1.0", Ordering::Greater),
            ("1.a", "1.1", Ordering::Less),
            ("010", "9", Ordering::Greater),
        ] {
            assert_eq!(compare(a.as_bytes(), b.as_bytes()), order, "{a} {b}");
        }
    }
}
