//! Globs that need little backtracking: they expand to few sequences of bytes, classes and stars.
//! Undefined symbols of all objects are matched against them. A check of the first byte takes a
//! tenth of the time of an automaton. [`super::automaton`] matches all other globs.

use super::glob::{Class, Token, is_nothing};

/// Maximum number of sequences of a pattern.
const MOST: usize = 256;

/// A pattern, expanded to alternative sequences.
#[derive(Clone, Debug)]
pub(super) struct Simple {
    /// The possible first bytes of a match; `None` if any byte may be first or a match may be
    /// empty.
    first: Option<Box<Class>>,
    /// The possible last bytes of a match; `None` if any byte may be last or a match may be empty.
    last: Option<Box<Class>>,
    sequences: Vec<Vec<Part>>,
    /// True if `*` does not match `/`.
    separated: bool,
}

#[derive(Clone, Debug)]
enum Part {
    Byte(u8),
    One(Box<Class>),
    /// `*`
    Many,
    /// `**/`
    Deep,
    /// `**` at the end: anything.
    Rest,
}

impl Part {
    fn is(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::One(class) => class[usize::from(byte)],
            Self::Many | Self::Deep | Self::Rest => false,
        }
    }
}

impl Simple {
    /// `None` if the tokens need an automaton.
    pub(super) fn new(tokens: &[Token], separated: bool) -> Option<Self> {
        let sequences = expanded(tokens, separated)?;
        if !sequences.iter().all(|sequence| is_sound(sequence, separated)) {
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

    /// False only if no match starts with `byte`.
    pub(super) fn may_begin_with(&self, byte: u8) -> bool {
        holds(self.first.as_deref(), byte)
    }
}

/// True if the class has the byte, or if there is no class.
fn holds(class: Option<&Class>, byte: u8) -> bool {
    class.is_none_or(|class| class[usize::from(byte)])
}

/// All sequences that the tokens stand for; `None` if there are too many.
fn expanded(tokens: &[Token], separated: bool) -> Option<Vec<Vec<Part>>> {
    let mut out = vec![Vec::new()];
    for token in tokens {
        let part = match token {
            Token::Byte(byte) => Part::Byte(*byte),
            Token::Any => {
                let mut class = Box::new([true; 256]);
                class[usize::from(b'/')] = !separated;
                Part::One(class)
            }
            Token::Many => Part::Many,
            Token::Deep => Part::Deep,
            Token::Rest => Part::Rest,
            Token::Class(class) => Part::One(class.clone()),
            Token::Either(branches) => {
                let mut choices = Vec::new();
                for branch in branches.iter().filter(|branch| !is_nothing(branch)) {
                    choices.extend(expanded(branch, separated)?);
                }
                if choices.len() * out.len() > MOST {
                    return None;
                }
                if !choices.is_empty() {
                    let longer = |begin: &Vec<Part>| -> Vec<Vec<Part>> {
                        choices.iter().map(|end| [&begin[..], &end[..]].concat()).collect()
                    };
                    out = out.iter().flat_map(longer).collect();
                }
                continue;
            }
        };
        for sequence in &mut out {
            sequence.push(part.clone());
        }
    }
    // Two stars in a row match the same as one.
    let twice = |a: &mut Part, b: &mut Part| matches!((a, b), (Part::Many, Part::Many));
    for sequence in &mut out {
        sequence.dedup_by(twice);
    }
    Some(out)
}

/// True if [`is`] gives correct answers for the sequence. In paths, no class may match a slash, and
/// `**/` must be at the start or after a slash. `**` must be at the end.
fn is_sound(sequence: &[Part], separated: bool) -> bool {
    let sound = |(at, part): (usize, &Part)| match part {
        Part::Byte(_) | Part::Many => true,
        Part::One(class) => !separated || !class[usize::from(b'/')],
        Part::Deep => separated && (at == 0 || matches!(sequence[at - 1], Part::Byte(b'/'))),
        Part::Rest => at + 1 == sequence.len(),
    };
    sequence.iter().enumerate().all(sound)
}

/// The union of the bytes that `parts` match; `None` if one of them is a star or missing.
fn class_of<'p>(parts: impl Iterator<Item = Option<&'p Part>>) -> Option<Box<Class>> {
    let mut out = Box::new([false; 256]);
    for part in parts {
        match part? {
            Part::Many | Part::Deep | Part::Rest => return None,
            Part::Byte(byte) => out[usize::from(*byte)] = true,
            Part::One(class) => out.iter_mut().zip(&**class).for_each(|(own, is)| *own |= is),
        }
    }
    Some(out)
}

/// Matches a sequence. It backtracks only to the last star and to the last `**/`, because earlier
/// ones make no difference. If stars do not match `/`, each component of a path matches separately.
fn is(sequence: &[Part], bytes: &[u8], separated: bool) -> bool {
    let (mut part, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    let mut deep: Option<(usize, usize)> = None;
    loop {
        match (sequence.get(part), bytes.get(at)) {
            (Some(Part::Rest), _) | (None, None) => return true,
            (Some(Part::Deep), _) => {
                part += 1;
                (deep, star) = (Some((part, at)), None);
                continue;
            }
            (Some(Part::Many), _) => {
                part += 1;
                star = Some((part, at));
                continue;
            }
            (Some(own), Some(byte)) if own.is(*byte) => {
                part += 1;
                at += 1;
                continue;
            }
            _ => {}
        }
        if let Some((behind, from)) = star
            && let Some(next) = longer(sequence.get(behind), bytes, from, separated)
        {
            (part, at, star) = (behind, next, Some((behind, next)));
            continue;
        }
        // Continues after the next slash, if there is a `**/`.
        let Some((behind, from)) = deep else { return false };
        let Some(slash) = bytes[from..].iter().position(|byte| *byte == b'/') else { return false };
        (part, at, star) = (behind, from + slash + 1, None);
        deep = Some((behind, at));
    }
}

/// The next position after `from` where the star may end: there `behind`, the part after the star,
/// matches, or the text ends if no part follows. `None` if there is no such position.
fn longer(behind: Option<&Part>, bytes: &[u8], from: usize, separated: bool) -> Option<usize> {
    let rest = bytes.get(from + 1..)?;
    let skip = match behind {
        Some(own) => rest.iter().position(|byte| own.is(*byte))?,
        None => rest.len(),
    };
    let next = from + 1 + skip;
    let crosses = separated && bytes[from..next].contains(&b'/');
    (!crosses).then_some(next)
}
