//! The command `list`.

use super::eval::Eval;
use super::pattern::Pattern;
use super::value::{Value, Word, items, joined, known};

impl Eval<'_> {
    pub(super) fn list(&mut self, words: &[Word]) {
        let Some(operation) = words.first().and_then(Word::text).map(<[u8]>::to_vec) else {
            return;
        };
        let Some(name) = words.get(1).and_then(Word::text).map(<[u8]>::to_vec) else { return };
        let rest = words.get(2..).unwrap_or_default();
        let list = self.value_of(&name).map(|list| items(&list, false));
        let texts: Option<Vec<Vec<u8>>> =
            rest.iter().map(|word| word.text().map(<[u8]>::to_vec)).collect();
        // Queries write to another variable, which they name last.
        let is_question = ["LENGTH", "GET", "JOIN", "SUBLIST", "FIND"]
            .iter()
            .any(|question| question.as_bytes() == operation);
        let target = if is_question {
            match rest.last().and_then(Word::text) {
                Some(target) => target.to_vec(),
                None => return,
            }
        } else {
            name.clone()
        };
        let value = match (list, texts) {
            (Some(list), Some(texts)) => listed(&operation, list, &texts),
            _ => None,
        };
        if matches!(operation.as_slice(), b"POP_BACK" | b"POP_FRONT") && !rest.is_empty() {
            self.obscure(rest);
        }
        self.state.set(&target, value);
    }
}

/// The result of an operation: a list, or the answer to a query.
fn listed(operation: &[u8], mut list: Vec<Vec<u8>>, rest: &[Vec<u8>]) -> Value {
    let index = |text: &[u8], len: usize| -> Option<usize> {
        let at: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        let at = if at < 0 { i64::try_from(len).ok()? + at } else { at };
        usize::try_from(at).ok()
    };
    let out = match operation {
        b"LENGTH" => return known(list.len().to_string().as_bytes()),
        b"APPEND" => {
            list.extend_from_slice(rest);
            list
        }
        b"PREPEND" => [rest, &list].concat(),
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
        b"POP_BACK" => {
            list.pop();
            list
        }
        b"POP_FRONT" => list.into_iter().skip(1).collect(),
        b"FILTER" => {
            let keep = match rest.first()?.as_slice() {
                b"INCLUDE" => true,
                b"EXCLUDE" => false,
                _ => return None,
            };
            let pattern = Pattern::new(rest.get(2)?)?;
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

/// `list(TRANSFORM)` of all items.
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
                super::strings::replaced(&Pattern::new(pattern)?, with, &item)?
            }
            _ => return None,
        })
    };
    let changed: Option<Vec<Vec<u8>>> = list.into_iter().map(change).collect();
    changed
}
