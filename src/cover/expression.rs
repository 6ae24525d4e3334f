//! Expressions of `--defsym` and of linker scripts: their words, and the symbols that a linker
//! reads to compute the value.

/// Functions of linker expressions that do not need a definition of their argument.
pub(super) const OF_NAMES: &[&[u8]] = &[
    b"ADDR",
    b"ALIGNOF",
    b"CONSTANT",
    b"DEFINED",
    b"LENGTH",
    b"LOADADDR",
    b"ORIGIN",
    b"SEGMENT_START",
    b"SIZEOF",
];

/// The words of expressions that are not symbols (`ld/ldlex.l`).
pub(super) const KEYWORDS: &[&[u8]] = &[
    b"ABSOLUTE",
    b"ADDR",
    b"ALIGN",
    b"ALIGNOF",
    b"ASSERT",
    b"BLOCK",
    b"CONSTANT",
    b"DATA_SEGMENT_ALIGN",
    b"DATA_SEGMENT_END",
    b"DATA_SEGMENT_RELRO_END",
    b"DEFINED",
    b"LENGTH",
    b"LOADADDR",
    b"LOG2CEIL",
    b"MAX",
    b"MIN",
    b"NEXT",
    b"ORIGIN",
    b"SEGMENT_START",
    b"SIZEOF",
    b"SIZEOF_HEADERS",
];

/// The names, numbers and quoted texts of an expression.
pub(super) fn words(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || b"_.$".contains(b) || !b.is_ascii();
    std::iter::from_fn(move || {
        let start = text.iter().position(|b| is_part(b) || *b == b'"')?;
        let quoted = text[start] == b'"';
        text = &text[start + usize::from(quoted)..];
        let ends = |b: &u8| if quoted { *b == b'"' } else { !is_part(b) };
        let len = text.iter().position(ends).unwrap_or(text.len());
        let word = &text[..len];
        text = text.get(len + usize::from(quoted)..).unwrap_or_default();
        Some(word)
    })
}

/// Upper bound for the depth of nested expressions.
const DEEPEST: usize = 100;

/// Binary operators, from the ones that bind weakest to the ones that bind strongest.
const OPERATORS: [&[&[u8]]; 10] = [
    &[b"||"],
    &[b"&&"],
    &[b"|"],
    &[b"^"],
    &[b"&"],
    &[b"==", b"!="],
    &[b"<=", b">=", b"<", b">"],
    &[b"<<", b">>"],
    &[b"+", b"-"],
    &[b"*", b"/", b"%"],
];

/// The symbols whose values a linker reads to compute an expression. A linker skips the other
/// branch of `?` after a constant condition. lld (`skips_operands`) also skips the second operand
/// of `&&` and `||` if the first one decides. `None` if the expression is not understood.
pub(super) fn read_symbols(expression: &[u8], skips_operands: bool) -> Option<Vec<&[u8]>> {
    let mut reader = ExpressionReader {
        text: expression,
        skips_operands,
        skipped: false,
        depth: 0,
        read: Vec::new(),
    };
    reader.whole()?;
    reader.text.trim_ascii_start().is_empty().then_some(reader.read)
}

/// A value, if it is a constant.
type Constant = Option<i64>;

struct ExpressionReader<'t> {
    /// The part of the expression that is not read yet.
    text: &'t [u8],
    skips_operands: bool,
    /// True in a part that the linker skips.
    skipped: bool,
    depth: usize,
    /// The symbols outside of skipped parts.
    read: Vec<&'t [u8]>,
}

impl<'t> ExpressionReader<'t> {
    /// Reads `operator` if it comes next. `<` is not the start of `<<`, nor `&` that of `&&`.
    fn eat(&mut self, operator: &[u8]) -> bool {
        let text = self.text.trim_ascii_start();
        let Some(rest) = text.strip_prefix(operator) else { return false };
        let is_longer = match operator {
            [one @ (b'<' | b'>' | b'&' | b'|')] => {
                rest.first() == Some(one) || b"<>".contains(one) && rest.first() == Some(&b'=')
            }
            b"!" => rest.first() == Some(&b'='),
            _ => false,
        };
        if !is_longer {
            self.text = rest;
        }
        !is_longer
    }

    /// Reads a part, which the linker skips if `skipped` is true.
    fn part(&mut self, skipped: bool, level: Option<usize>) -> Option<Constant> {
        let outer = self.skipped;
        self.skipped |= skipped;
        let value = match level {
            Some(level) => self.binary(level),
            None => self.whole(),
        };
        self.skipped = outer;
        value
    }

    fn whole(&mut self) -> Option<Constant> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let condition = self.binary(0)?;
        let value = if self.eat(b"?") {
            let first = self.part(condition == Some(0), None)?;
            if !self.eat(b":") {
                return None;
            }
            let second = self.part(condition.is_some_and(|value| value != 0), None)?;
            condition.and_then(|value| if value == 0 { second } else { first })
        } else {
            condition
        };
        self.depth -= 1;
        Some(value)
    }

    fn binary(&mut self, level: usize) -> Option<Constant> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.eat(operator)) {
            let decides = match (*operator, left) {
                (b"&&", Some(left)) => left == 0,
                (b"||", Some(left)) => left != 0,
                _ => false,
            };
            let right = self.part(decides && self.skips_operands, Some(level + 1))?;
            left = match (left, right) {
                (Some(left), _) if decides => Some(i64::from(left != 0)),
                (Some(left), Some(right)) => apply(operator, left, right),
                _ => None,
            };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Constant> {
        let mut operators = Vec::new();
        while let Some(operator) =
            [b'-', b'~', b'!', b'+'].into_iter().find(|one| self.eat(&[*one]))
        {
            operators.push(operator);
        }
        let value = self.primary()?;
        Some(operators.into_iter().rev().fold(value, |value, operator| match operator {
            b'-' => value.map(i64::wrapping_neg),
            b'~' => value.map(|value| !value),
            b'!' => value.map(|value| i64::from(value == 0)),
            _ => value,
        }))
    }

    fn primary(&mut self) -> Option<Constant> {
        if self.eat(b"(") {
            let value = self.whole()?;
            return self.eat(b")").then_some(value);
        }
        let (word, is_quoted) = self.word()?;
        if is_quoted || !(KEYWORDS.contains(&word) || OF_NAMES.contains(&word)) {
            let is_number = !is_quoted && word.first().is_some_and(u8::is_ascii_digit);
            if !is_number && word != b"." && !self.skipped {
                self.read.push(word);
            }
            return Some(if is_number { number(word) } else { None });
        }
        if self.eat(b"(") {
            if OF_NAMES.contains(&word) {
                self.word()?;
            } else {
                self.whole()?;
            }
            while self.eat(b",") {
                self.whole()?;
            }
            return self.eat(b")").then_some(None);
        }
        Some(None)
    }

    /// Reads a name, number or quoted text; true if it is quoted.
    fn word(&mut self) -> Option<(&'t [u8], bool)> {
        let text = self.text.trim_ascii_start();
        let is_quoted = text.starts_with(b"\"");
        let word = words(text).next().filter(|word| is_quoted || text.starts_with(word))?;
        let quotes = if is_quoted { 2 } else { 0 };
        self.text = text.get(word.len() + quotes..)?;
        Some((word, is_quoted))
    }
}

/// The value of a number with an optional suffix; `None` for other forms than the usual ones.
fn number(word: &[u8]) -> Constant {
    let text = std::str::from_utf8(word).ok()?;
    let (digits, scale) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    let hexadecimal = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    let value = match hexadecimal {
        Some(digits) => i64::from_str_radix(digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => i64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    value.ok()?.checked_mul(scale)
}

/// The value of a binary operator; `None` if it is not defined or too large.
fn apply(operator: &[u8], left: i64, right: i64) -> Constant {
    let is_true = |value: bool| Some(i64::from(value));
    match operator {
        b"||" => is_true(left != 0 || right != 0),
        b"&&" => is_true(left != 0 && right != 0),
        b"|" => Some(left | right),
        b"^" => Some(left ^ right),
        b"&" => Some(left & right),
        b"==" => is_true(left == right),
        b"!=" => is_true(left != right),
        b"+" => left.checked_add(right),
        b"-" => left.checked_sub(right),
        b"*" => left.checked_mul(right),
        // Linkers compute with unsigned numbers.
        _ if left < 0 || right < 0 => None,
        b"<=" => is_true(left <= right),
        b">=" => is_true(left >= right),
        b"<" => is_true(left < right),
        b">" => is_true(left > right),
        b"<<" => {
            u32::try_from(right).ok().filter(|by| *by < 32 && left < 1 << 31).map(|by| left << by)
        }
        b">>" => u32::try_from(right).ok().filter(|by| *by < 64).map(|by| left >> by),
        b"/" => left.checked_div(right),
        b"%" => left.checked_rem(right),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{DEEPEST, read_symbols};

    #[test]
    fn symbols_that_linkers_read() {
        for (expression, of_gnu, of_lld) in [
            ("1 ? 3 : f", "", ""),
            ("0x0 ? f : g", "g", "g"),
            ("0 ? 1 : (2 - 1 ? 2 : f)", "", ""),
            ("1 ? DEFINED(f) : f", "", ""),
            ("f ? 1 : g", "f g", "f g"),
            ("0 && f", "f", ""),
            ("1 || f && g", "f g", ""),
            ("0 || f", "f", "f"),
            ("1 == 1 && f != g", "f g", "f g"),
            ("3 & 4 ? f : 1", "", ""),
            ("1K <= 1024 ? 1 : f", "", ""),
            ("0 * f", "f", "f"),
            ("MAX(f, 1) ? \"g\" : h", "f g h", "f g h"),
            ("ALIGN(f, 8) + SIZEOF(.text) + .", "f", "f"),
        ] {
            for (skips, expected) in [(false, of_gnu), (true, of_lld)] {
                let read = read_symbols(expression.as_bytes(), skips).expect("an expression");
                let read: Vec<&str> =
                    read.iter().filter_map(|name| std::str::from_utf8(name).ok()).collect();
                assert_eq!(read.join(" "), expected, "{expression} {skips}");
            }
        }
        for text in ["", "1 ? f", "f g", "(f", "f +", &"(".repeat(DEEPEST * 1000)] {
            assert!(read_symbols(text.as_bytes(), true).is_none(), "{text:.20}");
        }
    }
}
