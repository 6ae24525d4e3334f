//! The words of a command's arguments, with the values of the variables in them.

use super::super::properties::is_quoted_list;
use super::program::Step;
use super::run::Run;
use super::value::{Mark, Word, mixed, single};
use crate::format::cmake::{Argument, ArgumentKind};

/// Maximum depth of references in the names of variables: `${A${B}}`.
const DEEPEST: usize = 10;

/// One argument after its references were replaced.
#[derive(Clone)]
pub(super) struct Words {
    pub(super) words: Vec<Word>,
    notation: Notation,
}

/// How an argument was written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// Without quotes and references. The argument may be a keyword.
    Plain,
    /// In quotes or brackets.
    Quoted,
    /// As a list or with references.
    Other,
}

impl Words {
    /// The text of an argument that may be a keyword. Empty for other arguments.
    pub(super) fn keyword(&self) -> &[u8] {
        match &*self.words {
            [word] if self.notation == Notation::Plain => &word.text,
            _ => b"",
        }
    }

    /// The text; `None` if it is unknown or if there are several words.
    pub(super) fn text(&self) -> Option<&[u8]> {
        single(&self.words)
    }

    /// True if the argument was written in quotes or brackets. With policy CMP0054, `if` takes
    /// such an argument as text, even if a variable has this name.
    pub(super) fn is_quoted(&self) -> bool {
        self.notation == Notation::Quoted
    }

    /// The name of a variable or target, also if it has unknown parts. `None` if there is not
    /// exactly one word, or if the word depends on a condition.
    pub(super) fn name(&self) -> Option<&[u8]> {
        match &*self.words {
            [word] if word.doubt == 0 => Some(&word.text),
            _ => None,
        }
    }
}

/// The words of several arguments.
pub(super) fn joined(arguments: &[Words]) -> Vec<Word> {
    arguments.iter().flat_map(|argument| argument.words.iter().cloned()).collect()
}

impl Run<'_> {
    /// The arguments of a command, with their references replaced. The new name of each set in the
    /// command is added after the last value of the set.
    pub(super) fn arguments(&mut self, step: &Step) -> Vec<Words> {
        let mut out: Vec<Words> = Vec::with_capacity(step.call.arguments.len());
        for at in 0..=step.call.arguments.len() {
            for (set, begin, end) in &step.sets {
                let values = step.call.arguments.get(*begin..*end).unwrap_or_default();
                if *end != at || self.lists(*set, values) {
                    continue;
                }
                let new = self.new_word(*set);
                match (values, out.last_mut()) {
                    // A fix writes the name between the quotes.
                    ([only], Some(last)) if is_quoted_list(only, self.bytes(only)) => {
                        last.words.extend(new.into_iter().flat_map(|new| new.words));
                    }
                    _ => out.extend(new),
                }
            }
            let Some(argument) = step.call.arguments.get(at) else { break };
            let mut sets = step.sets.iter();
            let set = sets.find(|(_, begin, end)| (*begin..*end).contains(&at));
            self.argument(argument, set.map(|(set, ..)| *set), &mut out);
        }
        self.left = self.left.saturating_sub(out.len());
        out
    }

    /// True if the set gets no new name: the trace adds none to the set, or one of `values` is this
    /// name already.
    fn lists(&self, set: usize, values: &[Argument]) -> bool {
        let Some(new) = self.news.get(&set).filter(|new| new.is_added) else { return true };
        values.iter().any(|value| elements(self.bytes(value)).any(|text| text == new.text))
    }

    fn new_word(&self, set: usize) -> Option<Words> {
        let text = self.news.get(&set)?.text.clone();
        let mut words = self.expanded(&text, 0);
        let mark = Some(Mark { set, is_new: true });
        for word in &mut words {
            word.mark = mark;
        }
        Some(Words { words, notation: Notation::Other })
    }

    pub(super) fn bytes(&self, argument: &Argument) -> &[u8] {
        self.text.get(argument.inside.clone()).unwrap_or_default()
    }

    /// Expands one written argument, and adds the result to `out`.
    fn argument(&self, argument: &Argument, set: Option<usize>, out: &mut Vec<Words>) {
        let text = self.bytes(argument);
        let notation = match argument.kind {
            ArgumentKind::Unquoted if memchr::memchr2(b'$', b';', text).is_some() => {
                Notation::Other
            }
            ArgumentKind::Unquoted | ArgumentKind::Parenthesis => Notation::Plain,
            ArgumentKind::Quoted | ArgumentKind::Bracket => Notation::Quoted,
        };
        let mut words = Vec::new();
        // A quoted `;` is a text, such as the separator for string(REPLACE).
        let is_separator =
            notation == Notation::Quoted && !text.is_empty() && elements(text).next().is_none();
        if argument.kind == ArgumentKind::Bracket || is_separator {
            words.push(Word::new(text));
        } else {
            for element in elements(text) {
                let mut found = self.expanded(element, 0);
                if let (Some(set), [word]) = (set, &mut *found) {
                    word.mark = word.mark.or_else(|| self.mark(set, element));
                }
                words.extend(found);
            }
        }
        if notation == Notation::Other {
            let each = words.into_iter().map(|word| Words { words: vec![word], notation });
            out.extend(each);
        } else {
            out.push(Words { words, notation });
        }
    }

    fn mark(&self, set: usize, text: &[u8]) -> Option<Mark> {
        let new = self.news.get(&set)?;
        let is_new = new.text == text;
        (is_new || new.siblings.contains(text)).then_some(Mark { set, is_new })
    }

    /// The words of a text, with its references replaced by values.
    pub(super) fn expanded(&self, text: &[u8], depth: usize) -> Vec<Word> {
        let Some(begin) = memchr::memmem::find(text, b"${").filter(|_| depth < DEEPEST) else {
            let is_empty = text.is_empty();
            return if is_empty { Vec::new() } else { vec![Word::new(text)] };
        };
        let Some(end) = closing(&text[begin + 2..]).map(|len| begin + 2 + len) else {
            return vec![Word::new(text)];
        };
        let name = self.expanded(&text[begin + 2..end], depth + 1);
        let value = single(&name).and_then(|name| self.value(name));
        // Unknown values stay as they are written.
        let open = || vec![Word::new(&text[begin..=end])];
        let words = value.map_or_else(open, |value| value.to_vec());
        let start = if begin > 0 { vec![Word::new(&text[..begin])] } else { Vec::new() };
        let rest = self.expanded(&text[end + 1..], depth);
        touching(touching(start, words), rest)
    }
}

/// Joins the words of two adjacent texts: the last word of `first` and the first word of `second`
/// become one.
pub(super) fn touching(mut first: Vec<Word>, mut second: Vec<Word>) -> Vec<Word> {
    if first.is_empty() || second.is_empty() {
        first.append(&mut second);
        return first;
    }
    let next = second.remove(0);
    let is_certain = first.iter().chain([&next]).all(|word| word.doubt == 0);
    if let Some(last) = first.last_mut() {
        let mark = last.mark.or(next.mark);
        last.text = [&*last.text, &*next.text].concat().into();
        (last.mark, last.doubt) = (mark, mixed(last.doubt, next.doubt));
    }
    first.append(&mut second);
    if !is_certain {
        // Conditions decide which words are adjacent.
        for word in &mut first {
            *word = word.apart(1);
        }
    }
    first
}

/// The length of a text up to the `}` that closes a reference; `None` if no `}` closes it. The
/// text begins after the `${`.
fn closing(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, b) in text.iter().enumerate() {
        match b {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The elements of a list: the parts between semicolons.
pub(super) fn elements(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_escaped = false;
    let parts = text.split(move |b| {
        let is_end = *b == b';' && !is_escaped;
        is_escaped = *b == b'\\' && !is_escaped;
        is_end
    });
    parts.filter(|part| !part.is_empty())
}
