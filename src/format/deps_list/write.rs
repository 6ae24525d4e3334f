//! Inserts names into a list, or drops them. A new name copies the line breaks and the indentation
//! of the name next to it, and the spelling of the most similar name. The comment after a dropped
//! name is dropped too. Other text does not change.

use super::position::{LinkOrder, Position, common, positions};
use super::{DepsList, ListedArchive, Set, SetValue, Spelling};
use crate::order;
use crate::order::Arrange as _;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The changes of one set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetChange {
    /// Bare names of the archives to add. A name that the set lists already is not added again.
    pub add: BTreeSet<Vec<u8>>,
    /// Bare names of the archives to drop.
    pub drop: BTreeSet<Vec<u8>>,
    /// The link order for the added names, if the set has one.
    pub order: LinkOrder,
}

/// Bytes to insert at one offset.
struct Edit {
    at: usize,
    bytes: Vec<u8>,
}

impl DepsList {
    /// The text of the file after `changes`. Each change comes with the index of its set.
    pub fn regenerated(&self, changes: &[(usize, SetChange)]) -> Vec<u8> {
        let mut edits: Vec<Edit> = Vec::new();
        let mut gone: Vec<(usize, BTreeSet<Vec<u8>>)> = Vec::new();
        for (at, set) in self.sets.iter().enumerate() {
            let mut change = SetChange::default();
            for (_, more) in changes.iter().filter(|(set, _)| *set == at) {
                change.add.extend(more.add.iter().cloned());
                change.drop.extend(more.drop.iter().cloned());
                if !more.order.referrers.is_empty() {
                    change.order = more.order.clone();
                }
            }
            if change.add.is_empty() && change.drop.is_empty() {
                continue;
            }
            for entry in &set.entries {
                change.add.remove(&entry.name);
            }
            if !change.add.is_empty() {
                Writer::new(&self.text, set).insert(&change, &mut edits);
            }
            // The insertion shifts the offsets of dropped names, so `dropped` finds the names by
            // their exact bytes.
            let of = |entry: &ListedArchive| self.text[set.items[entry.item].span.clone()].to_vec();
            let drop = set.entries.iter().filter(|entry| change.drop.contains(&entry.name));
            let drop: BTreeSet<Vec<u8>> = order::set(drop.map(of));
            if !drop.is_empty() {
                gone.push((set.number, drop));
            }
        }
        let text = inserted(&self.text, edits);
        if gone.is_empty() { text } else { dropped(text, &gone) }
    }

    /// The text that an insertion of `name` into the set with index `set` would add. `None` if
    /// there is no such set, or if none of the set's spellings can write the name.
    pub fn spelled(&self, set: usize, name: &[u8]) -> Option<Vec<u8>> {
        SetSpellings::new(self.sets.get(set)?).word(name)
    }
}

/// The spellings of the names in one set.
struct SetSpellings<'s> {
    /// The entries whose spelling a new name can copy: those that [`DepsList::identify`] recognised
    /// as archives, or all entries if it recognised none. In a set of LLVM's components, only
    /// components can be copied. If no entry is left, the models are the set's names in
    /// `$<TARGET_FILE:…>`.
    models: Vec<&'s ListedArchive>,
    /// The number of models with each spelling; empty if all have the same one.
    counts: BTreeMap<&'s Spelling, usize>,
    /// True if a set without models may get a new name as a bare name.
    takes_any: bool,
}

impl<'s> SetSpellings<'s> {
    fn new(set: &'s Set) -> Self {
        let any_known = set.entries.iter().any(|entry| entry.is_known);
        // Other spellings have no meaning among components.
        let fits = |entry: &ListedArchive| !set.is_components || entry.omits_start();
        let models = set.entries.iter().filter(|entry| entry.is_known || !any_known);
        let models = models.filter(|entry| fits(entry));
        let mut models: Vec<&ListedArchive> = models.collect();
        if models.is_empty() {
            models.extend(set.mentions.iter().filter(|entry| entry.spelling.is_target_file()));
        }
        let mut counts: BTreeMap<&Spelling, usize> = BTreeMap::new();
        let is_same = |a: &Spelling, b: &Spelling| a.is_bare() && b.is_bare() || a == b;
        if models.windows(2).any(|two| !is_same(&two[0].spelling, &two[1].spelling)) {
            for entry in &models {
                *counts.entry(&entry.spelling).or_default() += 1;
            }
        }
        Self { models, counts, takes_any: !set.is_components && !set.visits_lists() }
    }

    /// The text for `name`, in the spelling of the entry with the longest common prefix. `None` if
    /// no spelling can write the name.
    fn word(&self, name: &[u8]) -> Option<Vec<u8>> {
        let Some(first) = self.models.first() else {
            return self.takes_any.then(|| name.to_vec());
        };
        if self.counts.is_empty() {
            return first.spelling.write(name);
        }
        let can = self.models.iter().filter(|entry| entry.spelling.write(name).is_some());
        let rank =
            |entry: &&&ListedArchive| (common(&entry.name, name), self.counts[&entry.spelling]);
        can.max_by_key(rank).and_then(|entry| entry.spelling.write(name))
    }
}

/// Applies `edits`, which need not be sorted. Edits at one offset keep their order.
fn inserted(text: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    edits.arrange_by_key(|edit| edit.at);
    let mut out =
        Vec::with_capacity(text.len() + edits.iter().map(|e| e.bytes.len()).sum::<usize>());
    let mut done = 0;
    for edit in edits {
        out.extend_from_slice(text.get(done..edit.at).unwrap_or_default());
        out.extend_from_slice(&edit.bytes);
        done = done.max(edit.at);
    }
    out.extend_from_slice(text.get(done..).unwrap_or_default());
    out
}

/// Removes values from the text. For each set number, `gone` has the exact bytes of the values to
/// remove.
fn dropped(text: Vec<u8>, gone: &[(usize, BTreeSet<Vec<u8>>)]) -> Vec<u8> {
    let Ok(list) = DepsList::parse(text.clone()) else { return text };
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (number, words) in gone {
        let Some(set) = list.sets.get(*number) else { continue };
        let writer = Writer::new(&list.text, set);
        for (at, item) in set.items.iter().enumerate() {
            let word = &list.text[item.span.clone()];
            if words.contains(word) && set.entries.iter().any(|entry| entry.item == at) {
                ranges.push(writer.extent(at, words));
            }
        }
    }
    ranges.arrange_by_key(|range| range.start);
    let mut out = Vec::with_capacity(list.text.len());
    let mut done = 0;
    for range in ranges {
        out.extend_from_slice(list.text.get(done..range.start).unwrap_or_default());
        done = done.max(range.end);
    }
    out.extend_from_slice(list.text.get(done..).unwrap_or_default());
    out
}

/// Writes the changes of one set into the text of the file.
struct Writer<'t> {
    text: &'t [u8],
    set: &'t Set,
    /// Number of values that begin a line.
    lines: usize,
    /// True if most values share their line with another one.
    is_wrapped: bool,
}

impl<'t> Writer<'t> {
    fn new(text: &'t [u8], set: &'t Set) -> Self {
        let writer = Self { text, set, lines: 0, is_wrapped: false };
        let lines = set.items.iter().filter(|item| writer.begins_line(item)).count();
        let shared = (0..set.items.len()).filter(|at| writer.shares_line(*at)).count();
        Self { lines, is_wrapped: 2 * shared > set.items.len(), ..writer }
    }

    fn part(&self, range: Range<usize>) -> &[u8] {
        self.text.get(range).unwrap_or_default()
    }

    /// The line or lines of a value, without the final `\n`.
    fn line(&self, span: &Range<usize>) -> Range<usize> {
        let begin = memchr::memrchr(b'\n', self.part(0..span.start)).map_or(0, |end| end + 1);
        let rest = memchr::memchr(b'\n', self.part(span.end..self.text.len()));
        begin..rest.map_or(self.text.len(), |len| span.end + len)
    }

    /// The line ending of `line`: `\r\n` or `\n`. For the last line of the file: `\r\n` if the file
    /// has one anywhere.
    fn eol(&self, line: &Range<usize>) -> &'static [u8] {
        let crlf = if line.end < self.text.len() {
            self.part(line.clone()).ends_with(b"\r")
        } else {
            memchr::memmem::find(self.text, b"\r\n").is_some()
        };
        if crlf { b"\r\n" } else { b"\n" }
    }

    /// True if only blanks precede the item on its line.
    fn begins_line(&self, item: &SetValue) -> bool {
        let before = self.part(0..item.span.start);
        let blanks = before.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
        matches!(before.get(..before.len() - blanks).and_then(<[u8]>::last), None | Some(b'\n'))
    }

    /// True if another value begins or ends on the item's line.
    fn shares_line(&self, at: usize) -> bool {
        let items = &self.set.items;
        let joined = |before: Option<&SetValue>, behind: Option<&SetValue>| {
            let (Some(before), Some(behind)) = (before, behind) else { return false };
            !self.part(before.span.end..behind.span.start).contains(&b'\n')
        };
        joined(at.checked_sub(1).and_then(|at| items.get(at)), items.get(at))
            || joined(items.get(at), items.get(at + 1))
    }

    /// The blanks at the start of a line.
    fn blanks(&self, line: &Range<usize>) -> Vec<u8> {
        let line = self.part(line.clone());
        line.iter().copied().take_while(|b| matches!(b, b' ' | b'\t')).collect()
    }

    /// The indentation of a value that begins a line: the first such value from item `at` on, or
    /// else the last one before that item. If no value begins a line: the indentation of the
    /// command and two spaces.
    fn indent(&self, at: usize) -> Vec<u8> {
        let items = &self.set.items;
        let near = items[at..].iter().chain(items[..at].iter().rev());
        if let Some(item) = near.into_iter().find(|item| self.begins_line(item)) {
            return self.blanks(&self.line(&item.span));
        }
        let command = self.line(&(self.set.body.start..self.set.body.start));
        [self.blanks(&command), b"  ".to_vec()].concat()
    }

    /// True if a comment or an empty line separates an entry from the next one.
    fn divided(&self, entry: usize) -> bool {
        let item = |entry: &ListedArchive| &self.set.items[entry.item].span;
        let entries = &self.set.entries;
        let (Some(before), Some(behind)) = (entries.get(entry), entries.get(entry + 1)) else {
            return false;
        };
        let gap = self.part(item(before).end..item(behind).start);
        // A comment on the line of a name belongs to that name.
        let rest = memchr::memchr(b'\n', gap).map_or(gap, |end| &gap[end + 1..]);
        let empty = rest.contains(&b'\n');
        rest.contains(&b'#') || (empty && rest.trim_ascii().is_empty())
    }

    /// Inserts the new names of a change.
    fn insert(&self, change: &SetChange, edits: &mut Vec<Edit>) {
        let add: BTreeSet<&[u8]> = order::set(change.add.iter().map(Vec::as_slice));
        if self.set.items.is_empty() {
            return self.fill(&add, edits);
        }
        let quoted = self.is_quoted();
        let words = SetSpellings::new(self.set);
        let word = |name: &[u8]| {
            let word = words.word(name).unwrap_or_else(|| name.to_vec());
            if quoted { [b"\"".as_slice(), &word, b"\""].concat() } else { word }
        };
        if self.set.entries.is_empty() {
            let last = self.set.items.len() - 1;
            return add.iter().for_each(|name| self.after(last, &word(name), edits));
        }
        let divided = |entry: usize| self.divided(entry);
        for (name, position) in positions(self.set, &add, &change.order, &divided) {
            match position {
                Position::Before(entry) => {
                    self.before(self.set.entries[entry].item, &word(name), edits);
                }
                Position::After(entry) => {
                    self.after(self.set.entries[entry].item, &word(name), edits);
                }
            }
        }
    }

    /// True if every entry is a whole argument in quotes.
    fn is_quoted(&self) -> bool {
        let quoted =
            |item: &SetValue| !item.is_inner && self.text.get(item.span.start) == Some(&b'"');
        let mut entries = self.set.entries.iter().map(|entry| &self.set.items[entry.item]);
        !self.set.entries.is_empty() && entries.all(quoted)
    }

    /// Writes names into a set without values, one on each line.
    fn fill(&self, add: &BTreeSet<&[u8]>, edits: &mut Vec<Edit>) {
        let at = self.set.body.start;
        let line = self.line(&(at..at));
        // A comment after the name of the set stays on its line.
        let body = self.part(at..self.set.body.end);
        let comment = body.iter().position(|b| !matches!(b, b' ' | b'\t'));
        let at = if comment.is_some_and(|comment| body[comment] == b'#') { line.end } else { at };
        let (eol, indent) = (self.eol(&line), self.blanks(&line));
        let mut bytes = Vec::new();
        for name in add {
            bytes.extend([eol, &indent, name].concat());
        }
        if !body.contains(&b'\n') {
            bytes.extend([eol, &indent].concat());
        }
        edits.push(Edit { at, bytes });
    }

    fn after(&self, at: usize, word: &[u8], edits: &mut Vec<Edit>) {
        let items = &self.set.items;
        // A new name may not follow a closed item, such as an option for the next value.
        let open = (at..items.len()).find(|at| !items[*at].is_closed);
        let at = open.unwrap_or(items.len() - 1);
        let item = &items[at];
        if item.is_inner {
            return edits.push(Edit { at: item.span.end, bytes: [b";", word].concat() });
        }
        let line = self.line(&item.span);
        let rest = self.part(item.span.end..line.end);
        let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
        let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let comment = rest[blanks..].starts_with(b"#") && !is_bracket(&rest[blanks + 1..]);
        let is_last = blanks == rest.len() || comment;
        let touches =
            |at: usize| self.text.get(at).is_some_and(|b| !b.is_ascii_whitespace() && *b != b')');
        let inline = if self.lines == 0 {
            !comment
        } else {
            self.shares_line(at) || (self.is_wrapped && !comment)
        };
        if inline && let Some(next) = self.next_column(at) {
            return edits.push(Edit { at: next, bytes: [word, b" "].concat() });
        }
        if inline {
            let space: &[u8] = if touches(item.span.end) { b" " } else { b"" };
            return edits.push(Edit { at: item.span.end, bytes: [b" ", word, space].concat() });
        }
        let bytes = [self.eol(&line), &*self.indent(at), word].concat();
        let end = if is_last { item.span.end + rest.len() } else { item.span.end };
        edits.push(Edit { at: end, bytes });
    }

    /// The offset of the value after `at`, if several blanks separate the two values, as in aligned
    /// columns. `None` otherwise.
    fn next_column(&self, at: usize) -> Option<usize> {
        let items = &self.set.items;
        let (item, next) = (items.get(at)?, items.get(at + 1)?);
        let gap = self.part(item.span.end..next.span.start);
        let is_column = gap.len() > 1 && gap.iter().all(|b| *b == b' ');
        (is_column && !next.is_inner).then_some(next.span.start)
    }

    fn before(&self, at: usize, word: &[u8], edits: &mut Vec<Edit>) {
        let item = &self.set.items[at];
        if let Some(before) = at.checked_sub(1).filter(|before| self.set.items[*before].is_closed) {
            return self.after(before, word, edits);
        }
        let begin = item.span.start;
        if item.is_inner {
            return edits.push(Edit { at: begin, bytes: [word, b";"].concat() });
        }
        let line = self.line(&item.span);
        let (eol, indent) = (self.eol(&line), self.indent(at));
        if self.lines == 0 || self.is_wrapped || self.shares_line(at) {
            let touches = !self.part(0..begin).ends_with(b"(")
                && !self.part(0..begin).last().is_some_and(u8::is_ascii_whitespace);
            let space: &[u8] = if touches { b" " } else { b"" };
            edits.push(Edit { at: begin, bytes: [space, word, b" "].concat() });
        } else if self.begins_line(item) {
            edits.push(Edit { at: line.start, bytes: [&*indent, word, eol].concat() });
        } else {
            let space: &[u8] = if self.part(0..begin).ends_with(b"\"") { b" " } else { b"" };
            edits.push(Edit { at: begin, bytes: [space, word, eol, &*indent].concat() });
        }
    }

    /// The byte range to remove for a value: the whole line if the value is alone on it. Otherwise
    /// the value, the blanks or one `;` beside it, and a comment after it.
    fn extent(&self, at: usize, words: &BTreeSet<Vec<u8>>) -> Range<usize> {
        let item = &self.set.items[at];
        let span = item.span.clone();
        if item.is_inner {
            let is_separator =
                |at: Option<usize>| at.and_then(|at| self.text.get(at)) == Some(&b';');
            let (before, behind) = (span.start.checked_sub(1), Some(span.end));
            // If several values at the start are removed, each is removed with the `;` after it.
            let kept = self.set.items[..at]
                .iter()
                .any(|item| item.is_inner && !words.contains(&self.text[item.span.clone()]));
            return match (is_separator(before) && kept, is_separator(behind)) {
                (true, _) => span.start - 1..span.end,
                (_, true) => span.start..span.end + 1,
                _ => span,
            };
        }
        let line = self.line(&span);
        let rest = self.part(span.end..line.end).trim_ascii();
        let comment = rest.starts_with(b"#") && !is_bracket(&rest[1..]);
        let ends = (rest.is_empty() || comment) && line.end < self.text.len();
        let before = self.part(line.start..span.start);
        let blanks = before.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
        if self.begins_line(item) {
            if ends {
                return line.start..line.end + 1;
            }
            // The rest of the line moves to the previous line, unless that line contains a comment.
            let above = self.part(0..line.start);
            let eol = if above.ends_with(b"\r\n") { 2 } else { 1 };
            let above_line =
                self.line(&(line.start.saturating_sub(1)..line.start.saturating_sub(1)));
            if self.part(above_line).contains(&b'#') || line.start == 0 {
                return span;
            }
            return line.start - eol..span.end;
        }
        let end = if comment { span.end + (line.end - span.end) } else { span.end };
        let end = if comment && self.part(0..end).ends_with(b"\r") { end - 1 } else { end };
        span.start - blanks..end
    }
}

/// True if `rest`, the bytes after `#`, begins a bracket comment.
fn is_bracket(rest: &[u8]) -> bool {
    let Some(rest) = rest.strip_prefix(b"[") else { return false };
    rest.iter().find(|b| **b != b'=') == Some(&b'[')
}
