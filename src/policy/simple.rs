//! Globs that expand to few sequences of bytes, classes and stars, and so need little backtracking.
//! The undefined symbols of all objects are matched against globs. Comparing first bytes takes a
//! tenth of the time of an automaton. [`super::automaton`] matches all other globs.

use super::glob::{ByteSet, Token, is_nothing};

/// Maximum number of sequences of a pattern.
const MOST: usize = 256;

/// A pattern, expanded to alternative sequences.
#[derive(Clone, Debug)]
pub(super) struct Simple {
    /// The possible first bytes of a match; `None` if any byte may be first or a match may be
    /// empty.
    first: Option<Box<ByteSet>>,
    /// The possible last bytes of a match; `None` if any byte may be last or a match may be empty.
    last: Option<Box<ByteSet>>,
    sequences: Vec<Vec<GlobPart>>,
    /// True if `*` does not match `/`.
    separated: bool,
}

#[derive(Clone, Debug)]
enum GlobPart {
    Byte(u8),
    One(Box<ByteSet>),
    /// `*`: any number of bytes.
    Many,
    /// `**/`: the empty text, or any text that ends with `/`.
    Deep,
    /// `**` at the end: anything.
    Rest,
}

impl GlobPart {
    fn is(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::One(class) => class[usize::from(byte)],
            Self::Many | Self::Deep | Self::Rest => false,
        }
    }
}

impl Simple {
    /// Expands `tokens` to sequences; `None` if the tokens need an automaton.
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
fn holds(class: Option<&ByteSet>, byte: u8) -> bool {
    class.is_none_or(|class| class[usize::from(byte)])
}

/// The sequences to which the tokens expand; `None` if there are too many.
fn expanded(tokens: &[Token], separated: bool) -> Option<Vec<Vec<GlobPart>>> {
    let mut out = vec![Vec::new()];
    for token in tokens {
        let part = match token {
            Token::Byte(byte) => GlobPart::Byte(*byte),
            Token::Any => {
                let mut class = Box::new([true; 256]);
                class[usize::from(b'/')] = !separated;
                GlobPart::One(class)
            }
            Token::Many => GlobPart::Many,
            Token::Deep => GlobPart::Deep,
            Token::Rest => GlobPart::Rest,
            Token::Class(class) => GlobPart::One(class.clone()),
            Token::Either(branches) => {
                let mut choices = Vec::new();
                for branch in branches.iter().filter(|branch| !is_nothing(branch)) {
                    choices.extend(expanded(branch, separated)?);
                }
                if choices.len() * out.len() > MOST {
                    return None;
                }
                if !choices.is_empty() {
                    let longer = |begin: &Vec<GlobPart>| -> Vec<Vec<GlobPart>> {
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
    let twice =
        |a: &mut GlobPart, b: &mut GlobPart| matches!((a, b), (GlobPart::Many, GlobPart::Many));
    for sequence in &mut out {
        sequence.dedup_by(twice);
    }
    Some(out)
}

/// True if [`is`] gives correct answers for the sequence. In paths, no class may match a slash, and
/// `**/` must be at the start or after a slash. In names, `**/` is not supported. `**` must be at
/// the end.
fn is_sound(sequence: &[GlobPart], separated: bool) -> bool {
    let sound = |(at, part): (usize, &GlobPart)| match part {
        GlobPart::Byte(_) | GlobPart::Many => true,
        GlobPart::One(class) => !separated || !class[usize::from(b'/')],
        GlobPart::Deep => {
            separated && (at == 0 || matches!(sequence[at - 1], GlobPart::Byte(b'/')))
        }
        GlobPart::Rest => at + 1 == sequence.len(),
    };
    sequence.iter().enumerate().all(sound)
}

/// The union of the bytes that `parts` match; `None` if a part is a star or missing.
fn class_of<'p>(parts: impl Iterator<Item = Option<&'p GlobPart>>) -> Option<Box<ByteSet>> {
    let mut out = Box::new([false; 256]);
    for part in parts {
        match part? {
            GlobPart::Many | GlobPart::Deep | GlobPart::Rest => return None,
            GlobPart::Byte(byte) => out[usize::from(*byte)] = true,
            GlobPart::One(class) => out.iter_mut().zip(&**class).for_each(|(own, is)| *own |= is),
        }
    }
    Some(out)
}

/// True if the sequence matches all of `bytes`. The matcher backtracks only to the last star and
/// to the last `**/`, because earlier stars make no difference. If stars do not match `/`, each
/// component of a path matches separately.
fn is(sequence: &[GlobPart], bytes: &[u8], separated: bool) -> bool {
    let (mut part, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    let mut deep: Option<(usize, usize)> = None;
    loop {
        match (sequence.get(part), bytes.get(at)) {
            (Some(GlobPart::Rest), _) | (None, None) => return true,
            (Some(GlobPart::Deep), _) => {
                part += 1;
                (deep, star) = (Some((part, at)), None);
                continue;
            }
            (Some(GlobPart::Many), _) => {
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

/// The next position after `from` at which the star may end. `behind`, the part after the star,
/// matches there. Without `behind`, the position is the end of the text. `None` if there is no such
/// position.
fn longer(behind: Option<&GlobPart>, bytes: &[u8], from: usize, separated: bool) -> Option<usize> {
    let rest = bytes.get(from + 1..)?;
    let skip = match behind {
        Some(own) => rest.iter().position(|byte| own.is(*byte))?,
        None => rest.len(),
    };
    let next = from + 1 + skip;
    let crosses = separated && bytes[from..next].contains(&b'/');
    (!crosses).then_some(next)
}
