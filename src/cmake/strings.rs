//! Evaluates the command `string`.

use super::budget::ITEM;
use super::eval::Eval;
use super::pattern::Regex;
use super::value::{ArgumentWord, MaybeText, joined, known};

impl Eval<'_> {
    pub(super) fn string(&mut self, words: &[ArgumentWord]) {
        let Some(operation) = words.first().and_then(ArgumentWord::text).map(<[u8]>::to_vec) else {
            return;
        };
        let text = |at: usize| words.get(at).and_then(ArgumentWord::text);
        // The index of the variable that receives the result.
        let place = match operation.as_slice() {
            b"APPEND" | b"PREPEND" | b"CONCAT" => 1,
            b"JOIN" => 2,
            b"REGEX" | b"REPLACE" if text(1) != Some(b"REPLACE") && operation == b"REGEX" => 3,
            b"REGEX" => 4,
            b"REPLACE" => 3,
            b"TOLOWER" | b"TOUPPER" | b"LENGTH" | b"STRIP" | b"MAKE_C_IDENTIFIER" => 2,
            b"FIND" => 3,
            b"SUBSTRING" => 4,
            b"COMPARE" => 4,
            b"MD5" | b"SHA1" | b"SHA224" | b"SHA256" | b"SHA384" | b"SHA512" | b"SHA3_224"
            | b"SHA3_256" | b"SHA3_384" | b"SHA3_512" | b"TIMESTAMP" | b"UUID" => 1,
            b"HEX" | b"CONFIGURE" | b"GENEX_STRIP" => 2,
            b"REPEAT" => 3,
            b"RANDOM" | b"ASCII" => words.len() - 1,
            // Other operations may write to any variable that they name.
            _ => return self.obscure(&words[1..]),
        };
        let Some(name) = text(place).map(<[u8]>::to_vec) else { return };
        if operation == b"REGEX" {
            for name in self.names_with(b"CMAKE_MATCH_") {
                self.state.set(&name, None);
            }
        }
        let texts: Option<Vec<Vec<u8>>> =
            words.iter().map(|word| word.text().map(<[u8]>::to_vec)).collect();
        self.copy(texts.iter().flatten().map(|text| ITEM * text.len()).sum());
        if matches!(&*operation, b"APPEND" | b"PREPEND") {
            self.copy(self.state.get(&name).map_or(0, |text| text.len()));
        }
        let value = texts.and_then(|texts| self.made(&operation, &name, &texts));
        self.state.set(&name, value);
    }

    fn made(&mut self, operation: &[u8], name: &[u8], words: &[Vec<u8>]) -> MaybeText {
        let rest = |from: usize| words.get(from..).unwrap_or_default().concat();
        let text = |at: usize| words.get(at).map(Vec::as_slice);
        known(match operation {
            b"APPEND" => [&*self.value_of(name)?, &rest(2)].concat(),
            b"PREPEND" => [&rest(2), &*self.value_of(name)?].concat(),
            b"CONCAT" => rest(2),
            b"JOIN" => words.get(3..).unwrap_or_default().join(text(1)?),
            b"REPLACE" => replace_all(&rest(4), text(1)?, text(2)?)?,
            b"TOLOWER" => text(1)?.to_ascii_lowercase(),
            b"TOUPPER" => text(1)?.to_ascii_uppercase(),
            b"LENGTH" => text(1)?.len().to_string().into_bytes(),
            b"STRIP" => text(1)?.trim_ascii().to_vec(),
            b"MAKE_C_IDENTIFIER" => {
                let text = text(1)?;
                let head = text.first().filter(|b| b.is_ascii_digit()).map(|_| b'_');
                let keep = |b: &u8| if b.is_ascii_alphanumeric() { *b } else { b'_' };
                head.into_iter().chain(text.iter().map(keep)).collect()
            }
            b"FIND" => {
                let reverse = words.last().is_some_and(|word| word == b"REVERSE");
                let (text, part) = (text(1)?, text(2)?);
                let at = if reverse {
                    memchr::memmem::rfind(text, part)
                } else {
                    memchr::memmem::find(text, part)
                };
                at.map_or_else(|| "-1".to_owned(), |at| at.to_string()).into_bytes()
            }
            b"SUBSTRING" => {
                let number = |at: usize| -> Option<i64> {
                    std::str::from_utf8(text(at)?).ok()?.parse().ok()
                };
                let begin = usize::try_from(number(2)?).ok()?;
                let tail = text(1)?.get(begin..)?;
                match usize::try_from(number(3)?) {
                    Ok(len) => tail.get(..len.min(tail.len()))?.to_vec(),
                    Err(_) => tail.to_vec(),
                }
            }
            b"COMPARE" => {
                let (left, right) = (text(2)?, text(3)?);
                let holds = match text(1)? {
                    b"EQUAL" => left == right,
                    b"NOTEQUAL" => left != right,
                    b"LESS" => left < right,
                    b"GREATER" => left > right,
                    _ => return None,
                };
                if holds { b"1".to_vec() } else { b"0".to_vec() }
            }
            b"REGEX" => {
                let pattern = Regex::new(text(2)?)?;
                match text(1)? {
                    b"REPLACE" => replaced(&pattern, text(3)?, &rest(5))?,
                    b"MATCH" => {
                        let text = rest(4);
                        let found = pattern.find(&text, 0).ok()?;
                        let whole = found.as_ref().and_then(|found| found.groups[0].clone());
                        self.set_matches(&text, found.as_ref().map_or(&[], |found| &found.groups));
                        whole.map(|range| text[range].to_vec()).unwrap_or_default()
                    }
                    b"MATCHALL" => {
                        let text = rest(4);
                        let (mut out, mut at) = (Vec::new(), 0);
                        while let Some(range) =
                            pattern.find_next(&text, at).ok()?.and_then(|f| f.groups[0].clone())
                        {
                            at = range.end.max(at + 1);
                            out.push(text[range].to_vec());
                            if at > text.len() {
                                break;
                            }
                        }
                        joined(&out)
                    }
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}

/// Maximum length of the result of a replacement, in bytes.
const MOST: usize = 1 << 20;

fn replace_all(text: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    if from.is_empty() {
        return None;
    }
    let (mut out, mut at) = (Vec::new(), 0);
    for found in memchr::memmem::find_iter(text, from) {
        out.extend_from_slice(&text[at..found]);
        out.extend_from_slice(to);
        at = found + from.len();
        if out.len() > MOST {
            return None;
        }
    }
    out.extend_from_slice(&text[at..]);
    Some(out)
}

/// A text with all matches replaced. `\1` in `with` is replaced by the first group. `None` if a
/// search has no answer, the result grows too long, a match is empty, or `with` ends with a
/// backslash.
pub(super) fn replaced(pattern: &Regex, with: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at <= text.len() {
        let Some(found) = pattern.find_next(text, at).ok()? else { break };
        let range = found.groups[0].clone()?;
        // CMake refuses an expression that matches an empty text.
        if range.is_empty() || out.len() > MOST {
            return None;
        }
        out.extend_from_slice(&text[at..range.start]);
        let mut with = with.iter();
        while let Some(byte) = with.next() {
            match byte {
                b'\\' => match with.next() {
                    Some(digit) if digit.is_ascii_digit() => {
                        let group = found.groups.get(usize::from(digit - b'0'));
                        let range = group.and_then(Clone::clone);
                        out.extend(range.map_or(&b""[..], |range| &text[range]));
                    }
                    Some(b'n') => out.push(b'\n'),
                    Some(byte) => out.push(*byte),
                    None => return None,
                },
                byte => out.push(*byte),
            }
        }
        at = range.end;
    }
    out.extend_from_slice(&text[at..]);
    Some(out)
}
