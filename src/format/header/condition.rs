//! Conditions of `#if`, which are true, false or unknown. The value of `&&` and `||` may be known
//! although one operand is unknown: `0 && X` is false.

use super::macros::{Macro, Macros, Truth, name, number};

/// Upper bound for the nesting of operators. Real conditions are far below this bound.
const DEEPEST: u32 = 64;

pub(super) fn not(a: Truth) -> Truth {
    a.map(|a| !a)
}

pub(super) fn and(a: Truth, b: Truth) -> Truth {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

pub(super) fn or(a: Truth, b: Truth) -> Truth {
    not(and(not(a), not(b)))
}

/// The value of a condition; `None` if it is unknown or cannot be parsed.
pub(super) fn evaluate(text: &[u8], macros: &Macros) -> Truth {
    let mut parser =
        Parser { rest: text, macros, depth: 0, has_unsigned: false, has_negative: false };
    let value = parser.binary(1)?;
    parser.blanks();
    // If one operand is unsigned, C converts a negative other operand to a large number. This
    // evaluation is signed, so the value is unknown.
    if parser.has_unsigned && parser.has_negative {
        return None;
    }
    // Text that is not parsed, such as `? 0 : 1`, would change the value.
    if parser.rest.is_empty() { value.map(|value| value != 0) } else { None }
}

/// The name in `!defined(NAME)` and `!defined NAME`, if that is the whole condition.
pub(super) fn guarded_name(text: &[u8]) -> Option<&[u8]> {
    let rest = text.trim_ascii().strip_prefix(b"!")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"defined")?.trim_ascii();
    let inner = rest.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")"));
    let inner = inner.unwrap_or(rest).trim_ascii();
    (name(inner) == inner && !inner.is_empty()).then_some(inner)
}

/// The value of an expression in a condition; `None` if it is unknown.
type ConditionValue = Option<i64>;

struct Parser<'a> {
    rest: &'a [u8],
    macros: &'a Macros,
    depth: u32,
    /// True after a literal with the suffix `u` or `U`.
    has_unsigned: bool,
    /// True once a value is negative.
    has_negative: bool,
}

/// Operators with their precedences; a higher number binds more tightly. Longer operators come
/// before their prefixes.
const OPERATORS: [(&[u8], u8); 18] = [
    (b"||", 1),
    (b"&&", 2),
    (b"==", 6),
    (b"!=", 6),
    (b"<=", 7),
    (b">=", 7),
    (b"<<", 8),
    (b">>", 8),
    (b"|", 3),
    (b"^", 4),
    (b"&", 5),
    (b"<", 7),
    (b">", 7),
    (b"+", 9),
    (b"-", 9),
    (b"*", 10),
    (b"/", 10),
    (b"%", 10),
];

/// Each parsing method returns `None` if the text cannot be parsed, and `Some(None)` if the value
/// is unknown.
impl Parser<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn take(&mut self, token: &[u8]) -> bool {
        self.blanks();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Parses an operand, and the operators after it whose precedence is at least `least`.
    fn binary(&mut self, least: u8) -> Option<ConditionValue> {
        let mut left = self.unary()?;
        loop {
            self.blanks();
            let found = OPERATORS.iter().find(|(text, _)| self.rest.starts_with(text));
            let Some((text, strength)) = found.filter(|(_, strength)| *strength >= least) else {
                return Some(left);
            };
            self.rest = &self.rest[text.len()..];
            let right = self.deeper(|parser| parser.binary(strength + 1))?;
            left = self.noted(apply(text, left, right));
        }
    }

    fn noted(&mut self, value: ConditionValue) -> ConditionValue {
        self.has_negative |= value.is_some_and(i64::is_negative);
        value
    }

    fn deeper(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<ConditionValue>,
    ) -> Option<ConditionValue> {
        if self.depth >= DEEPEST {
            return None;
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn unary(&mut self) -> Option<ConditionValue> {
        self.blanks();
        let (first, rest) = self.rest.split_first()?;
        match first {
            b'!' | b'~' | b'-' | b'+' => {
                self.rest = rest;
                let value = self.deeper(Self::unary)?;
                let value = match first {
                    b'!' => value.map(|value| i64::from(value == 0)),
                    b'~' => value.map(|value| !value),
                    b'-' => value.and_then(i64::checked_neg),
                    _ => value,
                };
                Some(self.noted(value))
            }
            b'(' => {
                self.rest = rest;
                let value = self.deeper(|parser| parser.binary(1))?;
                self.take(b")").then_some(value)
            }
            b'0'..=b'9' => {
                let digits = name(self.rest);
                self.rest = &self.rest[digits.len()..];
                // Digit separators and fractions are not parsed.
                self.has_unsigned |= digits.iter().any(|byte| byte.eq_ignore_ascii_case(&b'u'));
                let is_end = !matches!(self.rest.first(), Some(b'\'' | b'.'));
                is_end.then(|| number(digits))
            }
            _ => self.word(),
        }
    }

    /// Parses a macro, a macro call, or `defined`.
    fn word(&mut self) -> Option<ConditionValue> {
        let word = name(self.rest);
        if word.is_empty() {
            return None;
        }
        self.rest = &self.rest[word.len()..];
        if word == b"defined" {
            let is_closed = self.take(b"(");
            self.blanks();
            let asked = name(self.rest);
            self.rest = &self.rest[asked.len()..];
            if asked.is_empty() || is_closed && !self.take(b")") {
                return None;
            }
            return Some(self.macros.defined(asked).map(i64::from));
        }
        if self.take(b"(") {
            return self.arguments().then_some(None);
        }
        Some(match (word, self.macros.get(word)) {
            (b"true", _) => Some(1),
            (b"false", _) => Some(0),
            (_, Macro::Number(value)) => Some(value),
            (_, Macro::Undefined) => Some(0),
            (_, Macro::Defined | Macro::Unknown) => None,
        })
    }

    /// Skips the arguments of a call, which are not evaluated. Returns false if the closing
    /// parenthesis is missing.
    fn arguments(&mut self) -> bool {
        let mut open = 1_u32;
        while let Some((byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                return true;
            }
        }
        false
    }
}

fn apply(operator: &[u8], left: ConditionValue, right: ConditionValue) -> ConditionValue {
    let truth = |value: ConditionValue| value.map(|value| value != 0);
    match operator {
        b"||" => return or(truth(left), truth(right)).map(i64::from),
        b"&&" => return and(truth(left), truth(right)).map(i64::from),
        _ => {}
    }
    let (a, b) = (left?, right?);
    match operator {
        b"==" => Some(i64::from(a == b)),
        b"!=" => Some(i64::from(a != b)),
        b"<=" => Some(i64::from(a <= b)),
        b">=" => Some(i64::from(a >= b)),
        b"<" => Some(i64::from(a < b)),
        b">" => Some(i64::from(a > b)),
        b"<<" => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)),
        b">>" => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)),
        b"|" => Some(a | b),
        b"^" => Some(a ^ b),
        b"&" => Some(a & b),
        b"+" => a.checked_add(b),
        b"-" => a.checked_sub(b),
        b"*" => a.checked_mul(b),
        b"/" => a.checked_div(b),
        b"%" => a.checked_rem(b),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{evaluate, guarded_name};
    use crate::format::header::macros::Macros;

    #[test]
    fn conditions_as_a_compiler_evaluates_them() {
        let mut macros = Macros::default();
        macros.set(b"TWO 2", true, Some(true));
        macros.set(b"WORD int", true, Some(true));
        let value = |text: &str| evaluate(text.as_bytes(), &macros);
        for text in [
            "1 + 2 * 3 == 7",
            "(1 + 2) * 3 == 9",
            "10 - 4 - 3 == 3",
            "!0 && ~0 && -1 < 0",
            "TWO == 2 && defined TWO && defined(WORD)",
            "X || 1",
            "0x10UL == 16 && 010 == 8",
            "defined(__linux__) && !defined(_WIN32)",
            "1 << 4 == 16 | 0",
            "X(1, (2)) || __linux__",
        ] {
            assert_eq!(value(text), Some(true), "{text}");
        }
        for text in ["0", "X && 0", "_MSC_VER >= 1900", "!defined __GNUC__", "1 > 2", "TWO - 2"] {
            assert_eq!(value(text), Some(false), "{text}");
        }
        for text in [
            "X",
            "defined X",
            "WORD",
            "1 ? 0 : 1",
            "1 / 0",
            "",
            "(",
            "1 1",
            "f(",
            "1.5",
            "'a'",
            "__has_include(<x.h>)",
            "-1 > 0u",
            "(1 - 2) < 1U",
            "X == 0",
            "0 || X",
            "1 && X",
            "@",
            "defined(",
            "defined()",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn names_of_guards() {
        assert_eq!(guarded_name(b" ! defined ( A_H ) "), Some(&b"A_H"[..]));
        assert_eq!(guarded_name(b"!defined A_H"), Some(&b"A_H"[..]));
        assert_eq!(guarded_name(b"!defined(A_H) && 1"), None);
        assert_eq!(guarded_name(b"defined(A_H)"), None);
    }
}
