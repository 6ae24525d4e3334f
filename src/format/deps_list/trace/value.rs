//! The values of variables: words, each with the set that it comes from and its conditions.

use crate::id::FastSet;
use std::hash::{BuildHasher as _, Hash};
use std::sync::Arc;

/// The words of a variable. Their order may differ from CMake's where conditions or sorting
/// decide the order.
pub(super) type Value = Arc<Vec<Word>>;

/// The origin of a word: a listed archive, or the new name, of one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Mark {
    pub(super) set: usize,
    pub(super) is_new: bool,
}

/// One element of a list. References to unknown variables stay in its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Word {
    pub(super) text: Arc<[u8]>,
    pub(super) mark: Option<Mark>,
    /// A hash of the conditions under which the list has the word. 0 if the list always has the
    /// word.
    pub(super) doubt: u64,
}

impl Word {
    pub(super) fn new(text: &[u8]) -> Self {
        Self { text: text.into(), mark: None, doubt: 0 }
    }

    /// True if a part of the text is unknown.
    pub(super) fn is_open(&self) -> bool {
        is_open(&self.text)
    }

    /// True if the list always has the word, and the text of the word is known.
    pub(super) fn is_certain(&self) -> bool {
        self.doubt == 0 && !self.is_open()
    }

    /// True if the word may expand to any number of words.
    pub(super) fn is_any(&self) -> bool {
        memchr::memmem::find(&self.text, b"${").is_some()
    }

    /// The word under a further condition, which other words may share.
    pub(super) fn under(&self, condition: u64) -> Self {
        Self { doubt: mixed(self.doubt, condition), ..self.clone() }
    }

    /// The word under a further condition, which no other word shares.
    pub(super) fn apart(&self, condition: u64) -> Self {
        self.under(hash(&(condition, &self.text, self.mark)))
    }
}

/// The start of a text for the number of words in a list.
const COUNT: &[u8] = b"${COUNT:";

/// A text for the number of `words`, which is unknown: a fix may add several names. The text has
/// the number of different words before a fix. `None` if the list has no archives of a set.
pub(super) fn counted(words: &[Word]) -> Option<Word> {
    words.iter().find(|word| word.mark.is_some())?;
    let is_old = |word: &&Word| word.is_certain() && !word.mark.is_some_and(|mark| mark.is_new);
    // `list(REMOVE_DUPLICATES)` is not followed.
    let old: FastSet<&[u8]> = words.iter().filter(is_old).map(|word| &*word.text).collect();
    Some(Word::new(&[COUNT, old.len().to_string().as_bytes(), b"}"].concat()))
}

/// The smallest number for which a text of [`counted`] stands.
pub(super) fn least(text: &[u8]) -> Option<u64> {
    number(text.strip_prefix(COUNT)?.strip_suffix(b"}")?)
}

/// The value of a decimal number.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// True if a text has references that are unknown.
pub(super) fn is_open(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"${").is_some()
        || memchr::memmem::find(text, b"{").is_some_and(|at| text[..at].ends_with(b"$ENV"))
        || memchr::memchr_iter(b'@', text).count() > 1
}

/// The text of the only word; empty if there is no word. `None` if there are several words, or if
/// the word is not certain.
pub(super) fn single(words: &[Word]) -> Option<&[u8]> {
    match words {
        [] => Some(b""),
        [word] if word.is_certain() => Some(&word.text),
        _ => None,
    }
}

pub(super) fn hash(value: &impl Hash) -> u64 {
    foldhash::fast::FixedState::default().hash_one(value)
}

/// A hash of the conditions `old` and `new`. 0 means no condition.
pub(super) fn mixed(old: u64, new: u64) -> u64 {
    if old == 0 || new == 0 { old | new } else { hash(&(old, new)).max(1) }
}

/// Removes repeated words to keep values short. Marked words stay.
pub(super) fn distinct(words: Vec<Word>) -> Vec<Word> {
    let mut seen: FastSet<Word> = FastSet::default();
    let is_new = |word: &Word| word.mark.is_some() || seen.insert(word.clone());
    if words.len() < 2 { words } else { words.into_iter().filter(is_new).collect() }
}

/// The words of a list after two ways of a condition. Words that the list has after both ways do
/// not change. All other words get a doubt.
pub(super) fn merged(first: &[Word], second: &[Word], condition: u64) -> Vec<Word> {
    let same = first.iter().zip(second).take_while(|(a, b)| a == b).count();
    let (common, first) = first.split_at(same);
    let second = &second[same..];
    let other: FastSet<&Word> = second.iter().collect();
    let mut out = common.to_vec();
    let mut both: FastSet<&Word> = FastSet::default();
    for word in first {
        let is_both = other.contains(word);
        if is_both {
            both.insert(word);
        }
        out.push(if is_both { word.clone() } else { word.under(mixed(condition, 1)) });
    }
    let others = second.iter().filter(|word| !both.contains(*word));
    out.extend(others.map(|word| word.under(mixed(condition, 2))));
    out
}
