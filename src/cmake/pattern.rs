//! CMake's regular expressions (`Source/kwsys/RegularExpression.cxx`): `^ $ . [] [^] * + ? | ()`. A
//! search backtracks within a limit of steps, and fails if it needs more.

use std::ops::Range;

/// Maximum number of steps of one search.
const MOST_STEPS: usize = 200_000;
/// Maximum length of an expression, in bytes.
const MOST_LEN: usize = 4096;
/// Maximum nesting depth of parentheses.
const DEEPEST: usize = 32;
/// Maximum number of nested calls in one search. Each piece of an expression nests one call.
const MOST_CALLS: usize = 1500;

/// A parsed regular expression.
pub(super) struct Regex {
    alternatives: Vec<Vec<Piece>>,
    groups: usize,
    /// True if `^` is one of its pieces.
    has_begin: bool,
}

struct Piece {
    atom: Atom,
    least: usize,
    most: usize,
}

enum Atom {
    Begin,
    End,
    Any,
    Byte(u8),
    Set { bytes: Box<[bool; 256]> },
    Group { alternatives: Vec<Vec<Piece>>, number: usize },
}

/// The error of a search that exceeded a limit, or whose answer depends on policy CMP0186.
#[derive(Debug)]
pub(super) struct NoAnswer;

/// The ranges of a match: the whole match, then each group. `None` for a group without a match.
pub(super) struct RegexMatch {
    pub(super) groups: Vec<Option<Range<usize>>>,
}

impl Regex {
    /// Parses an expression; `None` if the expression has an error, is too long, or is nested too
    /// deeply.
    pub(super) fn new(text: &[u8]) -> Option<Self> {
        if text.len() > MOST_LEN {
            return None;
        }
        let mut reader = RegexParser { rest: text, groups: 0, has_begin: false };
        let alternatives = reader.alternatives(0)?;
        let RegexParser { rest, groups, has_begin } = reader;
        rest.is_empty().then_some(Self { alternatives, groups, has_begin })
    }

    /// The first match at or after an offset; an error if the search takes too long.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Result<Option<RegexMatch>, NoAnswer> {
        let mut steps = MOST_STEPS;
        for start in from..=text.len() {
            let mut groups = vec![None; self.groups + 1];
            let mut search = RegexSearch { text, steps: &mut steps, end: 0, depth: 0 };
            let done = search.any(&self.alternatives, start, &mut groups, &mut |search, at, _| {
                search.end = at;
                true
            });
            let end = search.end;
            if steps == 0 {
                return Err(NoAnswer);
            }
            if done {
                groups[0] = Some(start..end);
                return Ok(Some(RegexMatch { groups }));
            }
        }
        Ok(None)
    }

    /// The first match at or after an offset where an earlier match ended. With policy CMP0186
    /// (CMake 4.1), `^` matches only at the beginning of the text. Without the policy, `^` also
    /// matches at the offset. An error if the policy changes the result, or if the search takes
    /// too long.
    pub(super) fn find_next(
        &self,
        text: &[u8],
        from: usize,
    ) -> Result<Option<RegexMatch>, NoAnswer> {
        let new = self.find(text, from)?;
        if from == 0 || !self.has_begin {
            return Ok(new);
        }
        let old = self.find(&text[from..], 0)?;
        let place = |found: &RegexMatch, by: usize| -> Vec<Option<Range<usize>>> {
            let groups = found.groups.iter().cloned();
            groups.map(|group| group.map(|group| group.start + by..group.end + by)).collect()
        };
        let is_same =
            new.as_ref().map(|new| place(new, 0)) == old.as_ref().map(|old| place(old, from));
        if is_same { Ok(new) } else { Err(NoAnswer) }
    }
}

struct RegexParser<'t> {
    rest: &'t [u8],
    groups: usize,
    has_begin: bool,
}

impl RegexParser<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn alternatives(&mut self, depth: usize) -> Option<Vec<Vec<Piece>>> {
        if depth > DEEPEST {
            return None;
        }
        let mut out = vec![Vec::new()];
        while let Some(byte) = self.rest.first() {
            let atom = match byte {
                b'|' => {
                    self.next();
                    out.push(Vec::new());
                    continue;
                }
                b')' if depth > 0 => break,
                b')' | b'*' | b'+' | b'?' => return None,
                _ => self.atom(depth)?,
            };
            let (least, most) = match self.rest.first() {
                Some(b'*') => (0, usize::MAX),
                Some(b'+') => (1, usize::MAX),
                Some(b'?') => (0, 1),
                _ => (1, 1),
            };
            if (least, most) != (1, 1) {
                self.next();
            }
            out.last_mut()?.push(Piece { atom, least, most });
        }
        Some(out)
    }

    fn atom(&mut self, depth: usize) -> Option<Atom> {
        Some(match self.next()? {
            b'^' => {
                self.has_begin = true;
                Atom::Begin
            }
            b'$' => Atom::End,
            b'.' => Atom::Any,
            b'\\' => Atom::Byte(self.next()?),
            b'[' => self.set()?,
            b'(' => {
                self.groups += 1;
                let number = self.groups;
                let alternatives = self.alternatives(depth + 1)?;
                (self.next()? == b')').then_some(Atom::Group { alternatives, number })?
            }
            byte => Atom::Byte(byte),
        })
    }

    fn set(&mut self) -> Option<Atom> {
        let negated = self.rest.first() == Some(&b'^');
        if negated {
            self.next();
        }
        let mut bytes = Box::new([false; 256]);
        let (mut first, mut before) = (true, None);
        loop {
            let byte = self.next()?;
            match byte {
                b']' if !first => break,
                b'-' if before.is_some() && self.rest.first().is_some_and(|next| *next != b']') => {
                    let end = self.next()?;
                    let begin: u8 = before.take()?;
                    for byte in begin..=end {
                        bytes[usize::from(byte)] = true;
                    }
                }
                byte => {
                    bytes[usize::from(byte)] = true;
                    before = Some(byte);
                }
            }
            first = false;
        }
        if negated {
            bytes.iter_mut().for_each(|is| *is = !*is);
        }
        Some(Atom::Set { bytes })
    }
}

type Groups = Vec<Option<Range<usize>>>;
type Next<'n, 't> = &'n mut dyn FnMut(&mut RegexSearch<'t>, usize, &mut Groups) -> bool;

struct RegexSearch<'t> {
    text: &'t [u8],
    steps: &'t mut usize,
    end: usize,
    depth: usize,
}

impl<'t> RegexSearch<'t> {
    fn any(
        &mut self,
        alternatives: &[Vec<Piece>],
        at: usize,
        groups: &mut Groups,
        next: Next<'_, 't>,
    ) -> bool {
        alternatives.iter().any(|pieces| self.all(pieces, at, groups, next))
    }

    fn all(
        &mut self,
        pieces: &[Piece],
        at: usize,
        groups: &mut Groups,
        next: Next<'_, 't>,
    ) -> bool {
        *self.steps = self.steps.saturating_sub(1);
        if self.depth == MOST_CALLS {
            *self.steps = 0;
        }
        if *self.steps == 0 {
            return false;
        }
        self.depth += 1;
        let done = self.from(pieces, at, groups, next);
        self.depth -= 1;
        done
    }

    fn from(
        &mut self,
        pieces: &[Piece],
        at: usize,
        groups: &mut Groups,
        next: Next<'_, 't>,
    ) -> bool {
        let Some((piece, rest)) = pieces.split_first() else { return next(self, at, groups) };
        if let Atom::Group { alternatives, number } = &piece.atom {
            return self.group(piece, (alternatives, *number), (rest, 0), at, groups, next);
        }
        let mut ends = vec![at];
        while ends.len() <= piece.most {
            let Some(end) = self.single(&piece.atom, ends[ends.len() - 1]) else { break };
            if piece.most > 1 && Some(&end) == ends.last() {
                break;
            }
            ends.push(end);
            *self.steps = self.steps.saturating_sub(1);
        }
        while ends.len() > piece.least {
            let Some(end) = ends.pop() else { break };
            if self.all(rest, end, groups, next) {
                return true;
            }
        }
        false
    }

    fn group(
        &mut self,
        piece: &Piece,
        (alternatives, number): (&[Vec<Piece>], usize),
        (rest, count): (&[Piece], usize),
        at: usize,
        groups: &mut Groups,
        next: Next<'_, 't>,
    ) -> bool {
        // Each repetition of a group is a nested call, so a limit on repetitions bounds the stack.
        if count < piece.most.min(64) {
            let again = &mut |search: &mut Self, end: usize, groups: &mut Groups| {
                let before = groups[number].replace(at..end);
                let done = end != at || count + 1 >= piece.least;
                let done = done
                    && if end == at || piece.most == 1 {
                        search.all(rest, end, groups, next)
                    } else {
                        let inner = (alternatives, number);
                        search.group(piece, inner, (rest, count + 1), end, groups, next)
                    };
                if !done {
                    groups[number] = before;
                }
                done
            };
            if self.any(alternatives, at, groups, again) {
                return true;
            }
        } else if piece.most > 64 {
            *self.steps = 0;
            return false;
        }
        count >= piece.least && self.all(rest, at, groups, next)
    }

    fn single(&self, atom: &Atom, at: usize) -> Option<usize> {
        let byte = self.text.get(at);
        let fits = match atom {
            Atom::Begin => return (at == 0).then_some(at),
            Atom::End => return (at == self.text.len()).then_some(at),
            Atom::Any => byte.is_some(),
            Atom::Byte(wanted) => byte == Some(wanted),
            Atom::Set { bytes } => byte.is_some_and(|byte| bytes[usize::from(*byte)]),
            Atom::Group { .. } => false,
        };
        fits.then_some(at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Regex;

    fn groups(pattern: &str, text: &str) -> Option<Vec<String>> {
        let pattern = Regex::new(pattern.as_bytes()).expect("an expression");
        let found = pattern.find(text.as_bytes(), 0).expect("an answer")?;
        let text = |range: &Option<std::ops::Range<usize>>| {
            range.clone().map_or_else(String::new, |range| text[range].to_owned())
        };
        Some(found.groups.iter().map(text).collect())
    }

    #[test]
    fn expressions() {
        assert_eq!(
            groups("^lib([a-z]+)\\.so$", "libfoo.so"),
            Some(vec!["libfoo.so".into(), "foo".into()])
        );
        assert_eq!(groups("(a|b)+c", "xabac").map(|all| all[0].clone()), Some("abac".to_owned()));
        assert_eq!(groups("[^/]*$", "/a/b").map(|all| all[0].clone()), Some("b".to_owned()));
        assert_eq!(groups("^a.?c$", "abbc"), None);
        assert_eq!(groups("", "x"), Some(vec![String::new()]));
        assert!(Regex::new(b"(a").is_none());
        assert!(Regex::new(b"*a").is_none());
    }

    #[test]
    fn a_search_ends() {
        let pattern = Regex::new(b"(a*)*b").expect("an expression");
        assert!(pattern.find(&[b'a'; 5000], 0).is_err());
        let long = [b"(".as_slice(), &[b'a'; 2000], b")*b"].concat();
        assert!(Regex::new(&long).expect("an expression").find(&vec![b'a'; 200_000], 0).is_err());
    }
}
