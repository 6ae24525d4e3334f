//! Runs the commands `list()` and `string()`.

use super::arguments::{Words, joined, touching};
use super::commands::fits;
use super::run::Run;
use super::value::{Word, counted, is_open, number};
use crate::id::FastMap;

impl Run<'_> {
    /// Runs `list(ACTION LIST …)`.
    pub(super) fn list(&mut self, action: &[u8], list: &Words, values: &[Words]) {
        match (action, values) {
            (b"APPEND", _) => self.append(list, joined(values)),
            (b"PREPEND", _) => self.prepend(list, joined(values)),
            (b"INSERT", [index, values @ ..]) if index.text() == Some(b"0") => {
                self.prepend(list, joined(values));
            }
            (b"INSERT", [_, values @ ..]) => self.append(list, joined(values)),
            (b"REMOVE_ITEM", _) => {
                for value in values {
                    self.remove(list, value);
                }
            }
            (b"FILTER", [mode, _, pattern]) => {
                self.filter(list, mode.keyword() == b"INCLUDE", pattern);
            }
            (b"TRANSFORM", [action, rest @ ..]) => self.transform(list, action.keyword(), rest),
            (b"REMOVE_DUPLICATES" | b"SORT" | b"REVERSE", _) => {}
            (b"LENGTH", [.., out]) => {
                let words = list.name().and_then(|name| self.state.get(name));
                match words.and_then(|words| counted(words)) {
                    Some(count) => {
                        self.named(out, |state, name| state.set(name, vec![count.clone()]));
                    }
                    None => self.open(out),
                }
            }
            (b"FIND", [.., out]) => self.open(out),
            _ if self.select(action, list, values).is_some() => {}
            _ => {
                // The other actions select words by position.
                let words = list.name().and_then(|name| self.state.get(name)).cloned();
                let words = words.map(|words| words.to_vec()).unwrap_or_default();
                if !matches!(action, b"GET" | b"JOIN" | b"SUBLIST") {
                    self.doubt_list(list);
                }
                if let Some(out) = values.last() {
                    self.output(out, &words);
                }
            }
        }
    }

    /// Runs an action that selects words by position. `None` if the positions are unknown: a new
    /// name may come before any archive.
    fn select(&mut self, action: &[u8], list: &Words, values: &[Words]) -> Option<()> {
        let name = list.name().filter(|name| !is_open(name))?.to_vec();
        let words = self.state.get(&name)?.to_vec();
        let is_fixed = |word: &&Word| word.is_certain() && word.mark.is_none();
        let fixed = words.iter().take_while(is_fixed).count();
        let at = |index: &Words| usize::try_from(number(index.text()?)?).ok();
        let place = |index: &Words| at(index).filter(|at| *at < fixed);
        let (rest, found) = match (action, values) {
            (b"GET", [index, _]) => (words.clone(), vec![words[place(index)?].clone()]),
            (b"REMOVE_AT", [index]) => {
                let (before, after) = words.split_at(place(index)?);
                ([before, after.get(1..).unwrap_or_default()].concat(), Vec::new())
            }
            (b"POP_FRONT", [] | [_]) if fixed > 0 => (words[1..].to_vec(), words[..1].to_vec()),
            (b"SUBLIST", [begin, len, _]) if len.text() == Some(b"-1") => {
                (words.clone(), words[at(begin).filter(|at| *at <= fixed)?..].to_vec())
            }
            _ => return None,
        };
        self.state.set(&name, rest);
        if let Some(out) = values.last().filter(|_| action != b"REMOVE_AT") {
            self.named(out, move |state, name| state.set(name, found.clone()));
        }
        Some(())
    }

    fn append(&mut self, list: &Words, words: Vec<Word>) {
        self.named(list, move |state, name| {
            let mut all = state.get(name).map(|value| value.to_vec()).unwrap_or_default();
            all.extend(words.iter().cloned());
            state.set(name, all);
        });
    }

    fn prepend(&mut self, list: &Words, words: Vec<Word>) {
        self.named(list, move |state, name| {
            let old = state.get(name).map(|value| value.to_vec()).unwrap_or_default();
            state.set(name, words.iter().cloned().chain(old).collect());
        });
    }

    /// Adds a doubt to each word of a list.
    fn doubt_list(&mut self, list: &Words) {
        self.doubt_named(list, &|_| true);
    }

    fn doubt_named(&mut self, list: &Words, is: &dyn Fn(&Word) -> bool) {
        let scope = self.state.scopes.last();
        let names = scope.into_iter().flat_map(|scope| scope.keys());
        // If a condition decides the name, any variable may have it.
        let may_be = |other: &&Vec<u8>| list.name().is_none_or(|name| fits(name, other));
        let names: Vec<Vec<u8>> = names.filter(may_be).cloned().collect();
        for name in names {
            self.doubt(&name, 3, is);
        }
    }

    /// Runs `list(REMOVE_ITEM …)` for one argument.
    fn remove(&mut self, list: &Words, value: &Words) {
        let [removed] = &*value.words else { return };
        let is_equal = |word: &Word| word.text == removed.text;
        let is_known = list.name().is_some_and(|name| !is_open(name));
        if !is_known || removed.doubt != 0 {
            self.doubt_named(list, &|word| fits(&removed.text, &word.text));
        } else if removed.is_open() {
            self.doubt_named(list, &|word| !is_equal(word) && fits(&removed.text, &word.text));
            self.drop_words(list, &is_equal);
        } else {
            self.drop_words(list, &is_equal);
        }
    }

    /// Removes the words that `is` accepts from a list.
    fn drop_words(&mut self, list: &Words, is: &dyn Fn(&Word) -> bool) {
        let Some(name) = list.name().map(<[u8]>::to_vec) else { return };
        let (line, mut lost) = (self.line, Vec::new());
        self.state.change(&name, |words| {
            words.retain(|word| {
                let is_lost = is(word);
                lost.extend(word.mark.filter(|mark| is_lost && mark.is_new).map(|mark| mark.set));
                !is_lost
            });
        });
        for set in lost {
            self.losses.entry(set).or_default().certain.get_or_insert(line);
        }
    }

    fn filter(&mut self, list: &Words, is_kept: bool, pattern: &Words) {
        let is_known = list.name().is_some_and(|name| !is_open(name));
        let Some(pattern) = pattern.text().filter(|_| is_known) else {
            return self.doubt_list(list);
        };
        let words = list.name().and_then(|name| self.state.get(name)).cloned();
        // Only marked words matter.
        let marked = words.iter().flat_map(|words| words.iter()).filter(|word| word.mark.is_some());
        let (mut gone, mut unknown) = (Vec::new(), Vec::new());
        for word in marked {
            self.left = self.left.saturating_sub(1);
            let found = if word.is_open() { None } else { self.is_match(pattern, &word.text) };
            match found {
                Some(is_match) if is_match != is_kept => gone.push(word.clone()),
                Some(_) => {}
                None => unknown.push(word.clone()),
            }
        }
        self.doubt_named(list, &|word| unknown.contains(word));
        self.drop_words(list, &|word| gone.contains(word));
    }

    fn transform(&mut self, list: &Words, action: &[u8], rest: &[Words]) {
        let is_place = |word: &Words| matches!(word.keyword(), b"AT" | b"FOR" | b"REGEX");
        let out = rest.iter().position(|word| word.keyword() == b"OUTPUT_VARIABLE");
        let words = list.name().and_then(|name| self.state.get(name)).cloned();
        let Some(words) = words else { return };
        let change = |word: &Word| -> Option<Word> {
            let text = |text: Vec<u8>| Some(Word { text: text.into(), ..word.clone() });
            match (action, rest.first()) {
                (b"APPEND", Some(end)) => text([&word.text, end.name()?].concat()),
                (b"PREPEND", Some(start)) => text([start.name()?, &word.text].concat()),
                (b"TOLOWER", _) => text(word.text.to_ascii_lowercase()),
                (b"TOUPPER", _) => text(word.text.to_ascii_uppercase()),
                (b"STRIP", _) => Some(word.clone()),
                _ => None,
            }
        };
        let is_all = !rest.iter().any(is_place);
        let new: Vec<Word> = words
            .iter()
            .map(|word| change(word).filter(|_| is_all).unwrap_or_else(|| word.apart(4)))
            .collect();
        let target = out.and_then(|at| rest.get(at + 1)).unwrap_or(list);
        self.named(target, move |state, name| state.set(name, new.clone()));
    }

    /// Sets a variable to an unknown value.
    pub(super) fn open(&mut self, out: &Words) {
        self.named(out, |state, name| {
            state.set(name, vec![Word::new(&[b"${", name, b"}"].concat())]);
        });
    }

    /// Sets a variable to some of `words`, or to text that is made from them.
    fn output(&mut self, out: &Words, words: &[Word]) {
        if out.words.len() != 1 || out.text().is_none() {
            return;
        }
        let some: Vec<Word> = words.iter().map(|word| word.apart(5)).collect();
        self.named(out, move |state, name| {
            let open = vec![Word::new(&[b"${", name, b"}"].concat())];
            state.set(name, if some.is_empty() { open } else { some.clone() });
        });
    }

    /// Runs `string(REPLACE …)`, which sets `out` to `words` with changed texts. A new name whose
    /// text changes names another archive, unless the archives of its set change in the same way.
    fn replace(&mut self, out: &Words, words: &[Word], (from, to): (&[u8], &[u8])) {
        let mut new: Vec<Word> = words.iter().map(|word| replaced(word, from, to)).collect();
        let changed = changed_sets(words, &new);
        let line = self.line;
        for (old, word) in words.iter().zip(&mut new) {
            let Some(mark) = old.mark.filter(|mark| mark.is_new && old.text != word.text) else {
                continue;
            };
            if word.text.is_empty() {
                word.mark = None;
                let losses = self.losses.entry(mark.set).or_default();
                losses.certain.get_or_insert(line);
            } else if changed.get(&mark.set) != Some(&true) {
                *word = word.apart(7);
                let losses = self.losses.entry(mark.set).or_default();
                losses.possible.get_or_insert(line);
            }
        }
        self.named(out, move |state, name| state.set(name, new.clone()));
    }

    /// Runs `string(ACTION …)`.
    pub(super) fn string(&mut self, action: &[u8], values: &[Words]) {
        match (action, values) {
            (b"APPEND" | b"PREPEND", [name, values @ ..]) => {
                let Some(own) = name.name().and_then(|name| self.state.get(name)).cloned() else {
                    return self.append(name, joined(values));
                };
                let [first, last] = match action {
                    b"APPEND" => [own.to_vec(), joined(values)],
                    _ => [joined(values), own.to_vec()],
                };
                let is_apart = |words: &[Word]| words.len() > 1;
                let new = if is_apart(&first) || is_apart(&last) {
                    // Semicolons at the ends of values are lost, so adjacent words may be one word
                    // or two.
                    first.iter().chain(&last).map(|word| word.apart(6)).collect()
                } else {
                    touching(first, last)
                };
                self.named(name, move |state, name| state.set(name, new.clone()));
            }
            (b"REPLACE", [from, to, out, input @ ..]) => {
                let plain = |word: &Words| {
                    let text = word.text().filter(|_| word.words.len() < 2)?;
                    (memchr::memchr(b';', text).is_none()).then(|| text.to_vec())
                };
                let words = joined(input);
                match (plain(from), plain(to)) {
                    (Some(from), Some(to)) if !from.is_empty() => {
                        self.replace(out, &words, (&from, &to));
                    }
                    _ => self.output(out, &words),
                }
            }
            (b"REGEX", [mode, _, rest @ ..]) => {
                let at = usize::from(mode.keyword() == b"REPLACE");
                if let Some((out, input)) = rest.get(at..).and_then(<[Words]>::split_first) {
                    self.output(out, &joined(input));
                }
            }
            (b"JOIN", [_, out, input @ ..]) | (b"CONCAT", [out, input @ ..]) => {
                self.output(out, &joined(input));
            }
            (_, [first, .., last]) => {
                let (first, last) = (first.clone(), last.clone());
                self.output(&last, &first.words);
            }
            _ => {}
        }
    }
}

/// For each set, true if the replacement changes the text of all its archives among `words`, and
/// leaves no text empty.
fn changed_sets(words: &[Word], new: &[Word]) -> FastMap<usize, bool> {
    let mut out = FastMap::default();
    for (old, new) in words.iter().zip(new) {
        if let Some(mark) = old.mark.filter(|mark| !mark.is_new) {
            let is_changed = !new.text.is_empty() && new.text != old.text;
            *out.entry(mark.set).or_insert(true) &= is_changed;
        }
    }
    out
}

fn replaced(word: &Word, from: &[u8], to: &[u8]) -> Word {
    let (mut out, mut rest) = (Vec::new(), &*word.text);
    while let Some(at) = memchr::memmem::find(rest, from) {
        out.extend([&rest[..at], to].concat());
        rest = &rest[at + from.len()..];
    }
    out.extend(rest);
    Word { text: out.into(), ..word.clone() }
}
