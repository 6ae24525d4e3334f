//! Evaluates the command `list`.

use super::budget::ITEM;
use super::eval::Eval;
use super::pattern::Regex;
use super::value::{ArgumentWord, MaybeText, Truth, items, joined, known};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Maximum number of directories of CMAKE_MODULE_PATH that are kept.
const MOST_MODULE_DIRS: usize = 100;

impl Eval<'_> {
    /// Adds to `module_dirs` the directories in `words`, which a command adds to CMAKE_MODULE_PATH.
    fn add_module_dirs(&mut self, words: &[ArgumentWord]) {
        let free = MOST_MODULE_DIRS.saturating_sub(self.module_dirs.len());
        let dirs = words.iter().filter_map(ArgumentWord::text).take(free);
        self.module_dirs.extend(dirs.map(|dir| Path::new(OsStr::from_bytes(dir)).to_path_buf()));
    }

    pub(super) fn list(&mut self, words: &[ArgumentWord]) {
        let Some(operation) = words.first().and_then(ArgumentWord::text).map(<[u8]>::to_vec) else {
            return;
        };
        let Some(name) = words.get(1).and_then(ArgumentWord::text).map(<[u8]>::to_vec) else {
            return;
        };
        let rest = words.get(2..).unwrap_or_default();
        let text = self.value_of(&name);
        let len = text.as_deref().map_or(0, <[u8]>::len);
        match operation.as_slice() {
            b"APPEND" | b"PREPEND" => {
                self.copy(len);
                if name == b"CMAKE_MODULE_PATH" && self.certain() {
                    self.add_module_dirs(rest);
                }
                return self.extend(&name, text, rest, operation == b"APPEND");
            }
            _ => self.copy(len * ITEM),
        }
        match operation.as_slice() {
            b"POP_BACK" | b"POP_FRONT" => {
                return self.pop(&name, text, rest, operation == b"POP_BACK");
            }
            _ => {}
        }
        // A query writes its result to another variable, which is its last argument.
        let is_question = ["LENGTH", "GET", "JOIN", "SUBLIST", "FIND"]
            .iter()
            .any(|question| question.as_bytes() == operation);
        let is_output =
            |word: &ArgumentWord| operation == b"TRANSFORM" && word.is("OUTPUT_VARIABLE");
        let (rest, target) = match rest.iter().position(is_output) {
            Some(at) => (&rest[..at], rest.get(at + 1).and_then(ArgumentWord::text)),
            None if is_question => (rest, rest.last().and_then(ArgumentWord::text)),
            None => (rest, Some(&*name)),
        };
        let Some(target) = target.map(<[u8]>::to_vec) else { return };
        let texts: Option<Vec<Vec<u8>>> =
            rest.iter().map(|word| word.text().map(<[u8]>::to_vec)).collect();
        let value = text
            .zip(texts)
            .and_then(|(list, texts)| listed(&operation, items(&list, false), &texts));
        // If the list is undefined and the result is empty, the list stays undefined.
        let is_empty = value.as_deref().is_some_and(<[u8]>::is_empty);
        if target == name && is_empty && self.defined(&name) == Truth::False {
            return;
        }
        self.state.set(&target, value);
    }

    /// Evaluates `list(APPEND)` or `list(PREPEND)`. CMake joins the texts without splitting the
    /// list, so the backslashes of the list stay.
    fn extend(&mut self, name: &[u8], text: MaybeText, more: &[ArgumentWord], at_end: bool) {
        if more.is_empty() {
            return;
        }
        let more: Option<Vec<&[u8]>> = more.iter().map(ArgumentWord::text).collect();
        let value = text.zip(more).and_then(|(text, more)| {
            let more = more.join(&b';');
            if text.is_empty() {
                return known(more);
            }
            let parts = if at_end { [&*text, &more] } else { [&*more, &text] };
            known(parts.join(&b';'))
        });
        self.state.set(name, value);
    }

    /// Evaluates `list(POP_BACK)` or `list(POP_FRONT)`: moves one item to each variable in
    /// `outputs`. Without a variable, removes one item.
    fn pop(&mut self, name: &[u8], text: MaybeText, outputs: &[ArgumentWord], at_end: bool) {
        let Some(text) = text.filter(|_| outputs.iter().all(|word| word.value.is_some())) else {
            self.state.set(name, None);
            for output in outputs.iter().filter_map(ArgumentWord::text) {
                self.state.set(output, None);
            }
            return;
        };
        let mut list: VecDeque<Vec<u8>> = items(&text, false).into();
        let mut pop = || if at_end { list.pop_back() } else { list.pop_front() };
        if outputs.is_empty() {
            pop();
        }
        for output in outputs.iter().filter_map(ArgumentWord::text) {
            match pop() {
                Some(item) => self.state.set(output, known(item)),
                None => self.forget_variable(output),
            }
        }
        if !text.is_empty() {
            self.state.set(name, known(joined(list.make_contiguous())));
        }
    }
}

/// The result of an operation: a list, or the answer to a query. `None` if the result is unknown.
fn listed(operation: &[u8], mut list: Vec<Vec<u8>>, rest: &[Vec<u8>]) -> MaybeText {
    let index = |text: &[u8], len: usize| -> Option<usize> {
        let at: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        let at = if at < 0 { i64::try_from(len).ok()? + at } else { at };
        usize::try_from(at).ok()
    };
    let out = match operation {
        b"LENGTH" => return known(list.len().to_string().as_bytes()),
        b"INSERT" => {
            let at = index(rest.first()?, list.len()).filter(|at| *at <= list.len())?;
            list.splice(at..at, rest[1..].iter().cloned());
            list
        }
        b"REMOVE_ITEM" => {
            list.retain(|item| !rest.contains(item));
            list
        }
        b"REMOVE_AT" => {
            let gone: Option<Vec<usize>> =
                rest.iter().map(|text| index(text, list.len())).collect();
            let gone = gone?;
            let kept = list.into_iter().enumerate().filter(|(at, _)| !gone.contains(at));
            kept.map(|(_, item)| item).collect()
        }
        b"REMOVE_DUPLICATES" => {
            let mut out: Vec<Vec<u8>> = Vec::new();
            let mut met = crate::id::FastSet::default();
            for item in list {
                if met.insert(item.clone()) {
                    out.push(item);
                }
            }
            out
        }
        b"REVERSE" => {
            list.reverse();
            list
        }
        b"SORT" if rest.is_empty() => {
            list.sort();
            list
        }
        b"GET" => {
            let (_, places) = rest.split_last()?;
            let found: Option<Vec<Vec<u8>>> =
                places.iter().map(|text| list.get(index(text, list.len())?).cloned()).collect();
            found?
        }
        b"JOIN" => return known(list.join(rest.first()?.as_slice())),
        b"FIND" => {
            let at = list.iter().position(|item| Some(item) == rest.first());
            let text = at.map_or_else(|| "-1".to_owned(), |at| at.to_string());
            return known(text.as_bytes());
        }
        b"SUBLIST" => {
            let (begin, len) = (index(rest.first()?, 0)?, rest.get(1)?);
            let rest = list.get(begin..)?;
            match len.as_slice() {
                b"-1" => rest.to_vec(),
                len => rest.iter().take(index(len, 0)?).cloned().collect(),
            }
        }
        b"FILTER" => {
            let keep = match rest.first()?.as_slice() {
                b"INCLUDE" => true,
                b"EXCLUDE" => false,
                _ => return None,
            };
            let pattern = Regex::new(rest.get(2)?)?;
            let mut out = Vec::new();
            for item in list {
                if pattern.find(&item, 0).ok()?.is_some() == keep {
                    out.push(item);
                }
            }
            out
        }
        b"TRANSFORM" => transformed(list, rest)?,
        _ => return None,
    };
    known(joined(&out))
}

/// All items after `list(TRANSFORM)`; `None` if the action is not modelled, or if a replacement
/// fails.
fn transformed(list: Vec<Vec<u8>>, rest: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let (action, rest) = rest.split_first()?;
    let change = |item: Vec<u8>| -> Option<Vec<u8>> {
        Some(match (action.as_slice(), rest) {
            (b"APPEND", [text]) => [item, text.clone()].concat(),
            (b"PREPEND", [text]) => [text.clone(), item].concat(),
            (b"TOLOWER", []) => item.to_ascii_lowercase(),
            (b"TOUPPER", []) => item.to_ascii_uppercase(),
            (b"STRIP", []) => item.trim_ascii().to_vec(),
            (b"REPLACE", [pattern, with]) => {
                super::strings::replaced(&Regex::new(pattern)?, with, &item)?
            }
            _ => return None,
        })
    };
    let changed: Option<Vec<Vec<u8>>> = list.into_iter().map(change).collect();
    changed
}
