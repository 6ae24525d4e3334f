//! Globs without a regex engine: text, `*`, alternatives without nesting and, over names, classes
//! of letters and digits. Every undefined symbol of every object is matched against them, and
//! checking the first bytes takes a tenth of an automaton's time. [`super::Pattern`] uses globset
//! for all other globs; the rules here are globset's.

/// Most sequences that one pattern expands to.
const MOST: usize = 256;

/// A pattern, expanded to alternative sequences.
#[derive(Clone, Debug)]
pub(super) struct Simple {
    /// The possible first bytes of a match; `None` if any byte may be first or a match may be
    /// empty.
    first: Option<Box<Class>>,
    /// The possible last bytes.
    last: Option<Box<Class>>,
    sequences: Vec<Vec<Part>>,
    /// True if `*` does not match `/`.
    separated: bool,
}

/// A set of bytes.
type Class = [bool; 256];

#[derive(Clone, Debug)]
enum Part {
    Byte(u8),
    One(Box<Class>),
    /// `*`
    Many,
}

impl Part {
    fn is(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::One(class) => class[usize::from(byte)],
            Self::Many => false,
        }
    }
}

impl Simple {
    /// Parses `text`; `None` if it needs an automaton or is not a glob.
    pub(super) fn new(text: &str, separated: bool) -> Option<Self> {
        if separated && text.contains('[') {
            return None;
        }
        let mut sequences = vec![Vec::new()];
        let mut rest = text.as_bytes();
        while let Some((byte, behind)) = rest.split_first() {
            if *byte == b'{' {
                let end = behind.iter().position(|byte| *byte == b'}')?;
                let choices: Option<Vec<_>> =
                    behind[..end].split(|byte| *byte == b',').map(sequence).collect();
                let choices = choices.filter(|choices| choices.len() * sequences.len() <= MOST)?;
                let longer = |begin: &Vec<Part>| -> Vec<Vec<Part>> {
                    choices.iter().map(|choice| [&begin[..], &choice[..]].concat()).collect()
                };
                sequences = sequences.iter().flat_map(longer).collect();
                rest = &behind[end + 1..];
            } else {
                let end = rest.iter().position(|byte| *byte == b'{').unwrap_or(rest.len());
                let common = sequence(&rest[..end])?;
                for sequence in &mut sequences {
                    sequence.extend_from_slice(&common);
                }
                rest = &rest[end..];
            }
        }
        let twice = |pair: &[Part]| matches!(pair, [Part::Many, Part::Many]);
        if sequences.iter().any(|sequence| sequence.windows(2).any(twice)) {
            return None;
        }
        let first = class_of(sequences.iter().map(|sequence| sequence.first()));
        let last = class_of(sequences.iter().map(|sequence| sequence.last()));
        Some(Self { first, last, sequences, separated })
    }

    /// True if one of the sequences matches all of `bytes`.
    pub(super) fn matches(&self, bytes: &[u8]) -> bool {
        let ends = match bytes {
            [first, .., last] => self.may_begin_with(*first) && holds(self.last.as_deref(), *last),
            [one] => self.may_begin_with(*one),
            [] => true,
        };
        ends && self.sequences.iter().any(|sequence| is(sequence, bytes, self.separated))
    }

    /// False if no match starts with `byte`.
    pub(super) fn may_begin_with(&self, byte: u8) -> bool {
        holds(self.first.as_deref(), byte)
    }
}

/// True if the class has the byte, or if there is no class.
fn holds(class: Option<&Class>, byte: u8) -> bool {
    class.is_none_or(|class| class[usize::from(byte)])
}

/// Parses text without alternatives.
fn sequence(text: &[u8]) -> Option<Vec<Part>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, mut behind)) = rest.split_first() {
        out.push(match byte {
            b'*' => Part::Many,
            b'[' => {
                let end = behind.iter().position(|byte| *byte == b']')?;
                let class = class(&behind[..end])?;
                behind = &behind[end + 1..];
                Part::One(Box::new(class))
            }
            b'?' | b']' | b'{' | b'}' | b'\\' => return None,
            byte => Part::Byte(*byte),
        });
        rest = behind;
    }
    // globset ignores an empty alternative, so it must handle the pattern.
    (!out.is_empty()).then_some(out)
}

/// The set of bytes in brackets.
fn class(text: &[u8]) -> Option<Class> {
    let (not, mut rest) = match text {
        [b'!' | b'^', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut out = [not; 256];
    while let Some((from, behind)) = rest.split_first() {
        let (to, behind) = match behind {
            [b'-', to, behind @ ..] => (to, behind),
            _ => (from, behind),
        };
        if !plain(*from) || !plain(*to) || from > to {
            return None;
        }
        out[usize::from(*from)..=usize::from(*to)].fill(!not);
        rest = behind;
    }
    (!text.is_empty() && text != b"!" && text != b"^").then_some(out)
}

/// The union of the bytes that `parts` match. `None` if one of them is a star, or is missing.
fn class_of<'p>(parts: impl Iterator<Item = Option<&'p Part>>) -> Option<Box<Class>> {
    let mut out = Box::new([false; 256]);
    for part in parts {
        match part? {
            Part::Many => return None,
            Part::Byte(byte) => out[usize::from(*byte)] = true,
            Part::One(class) => out.iter_mut().zip(&**class).for_each(|(own, is)| *own |= is),
        }
    }
    Some(out)
}

/// Backtracks only to the last star: an earlier one cannot make a difference. If stars do not match
/// `/`, each part between slashes matches by itself.
fn is(sequence: &[Part], bytes: &[u8], separated: bool) -> bool {
    let crosses = |skipped: &[u8]| separated && skipped.contains(&b'/');
    let (mut part, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        match (sequence.get(part), bytes.get(at)) {
            (Some(Part::Many), _) => {
                part += 1;
                star = Some((part, at));
                if part == sequence.len() {
                    return !crosses(&bytes[at..]);
                }
                continue;
            }
            (Some(own), Some(byte)) if own.is(*byte) => {
                part += 1;
                at += 1;
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        match star {
            Some((behind, from)) if from < bytes.len() => {
                // The next attempt starts at the next byte that can follow the star.
                let rest = &bytes[from + 1..];
                let skip = match sequence.get(behind) {
                    Some(own) => rest.iter().position(|byte| own.is(*byte)),
                    None => None,
                };
                let Some(skip) = skip else { return false };
                if crosses(&bytes[from..=from + skip]) {
                    return false;
                }
                (part, at) = (behind, from + 1 + skip);
                star = Some((behind, at));
            }
            _ => return false,
        }
    }
}
