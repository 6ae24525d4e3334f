//! Values of CMake: a text, or `None` if the audit cannot know it. Lists are texts with semicolons
//! (cmake-language(7), section Lists).

use std::sync::Arc;

/// A text; `None` if it is not known.
pub(crate) type MaybeText = Option<Arc<[u8]>>;

/// One argument after the references in it were replaced.
#[derive(Clone, Debug)]
pub(super) struct ArgumentWord {
    /// The text of the argument, if known. An unknown unquoted argument may be any number of words.
    pub(super) value: MaybeText,
    /// True if the argument was quoted. `if` does not interpret a quoted argument as the name of a
    /// variable.
    pub(super) quoted: bool,
}

impl ArgumentWord {
    /// The text, if known.
    pub(super) fn text(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }

    /// True if the text is known and is `text`.
    pub(super) fn is(&self, text: &str) -> bool {
        self.text() == Some(text.as_bytes())
    }
}

/// A [`MaybeText`] with a known text.
#[expect(clippy::unnecessary_wraps, reason = "it makes a value, which may be unknown elsewhere")]
pub(super) fn known(text: impl Into<Arc<[u8]>>) -> MaybeText {
    Some(text.into())
}

/// The truth of a question that the audit may not be able to answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Truth {
    /// The answer is yes.
    True,
    /// The answer is no.
    False,
    /// The answer depends on facts that the audit does not know.
    Unknown,
}

impl Truth {
    pub(super) fn of(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }

    pub(super) fn maybe(value: Option<bool>) -> Self {
        value.map_or(Self::Unknown, Self::of)
    }

    pub(super) fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, Self::True) => Self::True,
            _ => Self::Unknown,
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }
}

/// The items of a list. Semicolons separate them, except inside of brackets or after a backslash.
/// `drop_empty` drops empty items, as CMake does for unquoted arguments.
pub(super) fn items(list: &[u8], drop_empty: bool) -> Vec<Vec<u8>> {
    let (mut out, mut item, mut depth) = (Vec::new(), Vec::new(), 0_i64);
    let mut bytes = list.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if bytes.peek() == Some(&b';') => {
                bytes.next();
                item.push(b';');
            }
            b'[' => {
                depth += 1;
                item.push(byte);
            }
            b']' => {
                depth -= 1;
                item.push(byte);
            }
            b';' if depth == 0 => out.push(std::mem::take(&mut item)),
            byte => item.push(byte),
        }
    }
    if !out.is_empty() || !item.is_empty() || !list.is_empty() {
        out.push(item);
    }
    if drop_empty {
        out.retain(|item| !item.is_empty());
    }
    out
}

/// The list that consists of these items.
pub(super) fn joined(items: &[Vec<u8>]) -> Vec<u8> {
    items.join(&b';')
}

/// The truth of a text that `if` treats as a constant; `None` for any other text.
pub(super) fn constant(text: &[u8]) -> Option<bool> {
    let upper = text.to_ascii_uppercase();
    match upper.as_slice() {
        b"1" | b"ON" | b"YES" | b"TRUE" | b"Y" => Some(true),
        b"" | b"0" | b"OFF" | b"NO" | b"FALSE" | b"N" | b"IGNORE" | b"NOTFOUND" => Some(false),
        other if other.ends_with(b"-NOTFOUND") => Some(false),
        _ => number(text).map(|number| number != 0.0),
    }
}

/// A number as `if` compares it; `None` for any other text.
pub(super) fn number(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    if starts { text.parse().ok() } else { None }
}

/// Compares two versions by the numbers between their dots. A missing number is 0.
pub(super) fn versions(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    let parts = |text: &[u8]| -> Vec<u64> {
        let part = |part: &[u8]| {
            let digits = part.iter().take_while(|b| b.is_ascii_digit());
            digits.fold(0_u64, |n, b| n.saturating_mul(10).saturating_add(u64::from(b - b'0')))
        };
        // A component with other characters ends the comparison (`cmSystemTools::VersionCompare`).
        let mut out = Vec::new();
        for one in text.split(|b| *b == b'.') {
            out.push(part(one));
            if !one.iter().all(u8::is_ascii_digit) {
                break;
            }
        }
        out
    };
    let (a, b) = (parts(a), parts(b));
    let at = |list: &[u64], at: usize| list.get(at).copied().unwrap_or(0);
    let len = a.len().max(b.len());
    (0..len)
        .map(|n| at(&a, n).cmp(&at(&b, n)))
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::{constant, items, versions};

    #[test]
    fn lists() {
        let list = |text: &str| -> Vec<String> {
            let texts = items(text.as_bytes(), true);
            texts.into_iter().map(|item| String::from_utf8(item).expect("text")).collect()
        };
        assert_eq!(list("a;b;;c"), ["a", "b", "c"]);
        assert_eq!(list("a\\;b;[c;d]"), ["a;b", "[c;d]"]);
        assert!(list("").is_empty());
    }

    #[test]
    fn constants_and_versions() {
        assert_eq!(constant(b"foo-NOTFOUND"), Some(false));
        assert_eq!(constant(b"Foo"), None);
        assert_eq!(constant(b"2"), Some(true));
        assert!(versions(b"3.25.1", b"3.9").is_gt());
        assert!(versions(b"1.0", b"1").is_eq());
    }
}
