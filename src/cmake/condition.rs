//! Evaluates the conditions of `if` and `while` (cmake-commands(7), `if`). The result is true,
//! false or unknown. Precedence: parentheses, unary tests, comparisons, NOT, AND, OR. AND and OR
//! always evaluate both operands.

use super::eval::Eval;
use super::pattern::Regex;
use super::value::{ArgumentWord, MaybeText, Truth, constant, items, number, versions};
use super::{COMPONENT, PathEntry};
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Maximum nesting depth of parentheses.
const DEEPEST: usize = 32;

impl Eval<'_> {
    /// The truth of the condition that the words of a command form.
    pub(super) fn condition(&mut self, words: &[ArgumentWord]) -> Truth {
        // If an unquoted word is unknown, the condition may have any number of words.
        if words.iter().any(|word| word.value.is_none() && !word.quoted) {
            return Truth::Unknown;
        }
        // `if()` without words is false (`cmConditionEvaluator::IsTrue`).
        if words.is_empty() {
            return Truth::False;
        }
        let mut rest = words;
        let truth = self.any(&mut rest, 0);
        // If words are left, CMake ends with an error.
        if rest.is_empty() { truth } else { Truth::Unknown }
    }

    fn any(&mut self, rest: &mut &[ArgumentWord], depth: usize) -> Truth {
        let mut truth = self.all(rest, depth);
        while rest.first().is_some_and(|word| is_key(word, "OR")) {
            *rest = &rest[1..];
            truth = truth.or(self.all(rest, depth));
        }
        truth
    }

    fn all(&mut self, rest: &mut &[ArgumentWord], depth: usize) -> Truth {
        let mut truth = self.not(rest, depth);
        while rest.first().is_some_and(|word| is_key(word, "AND")) {
            *rest = &rest[1..];
            truth = truth.and(self.not(rest, depth));
        }
        truth
    }

    fn not(&mut self, rest: &mut &[ArgumentWord], depth: usize) -> Truth {
        let mut negated = false;
        while rest.first().is_some_and(|word| is_key(word, "NOT")) {
            *rest = &rest[1..];
            negated = !negated;
        }
        let truth = self.one(rest, depth);
        if negated { truth.not() } else { truth }
    }

    fn one(&mut self, rest: &mut &[ArgumentWord], depth: usize) -> Truth {
        let Some((first, after)) = rest.split_first() else { return Truth::Unknown };
        if is_key(first, "(") {
            *rest = after;
            if depth == DEEPEST {
                *rest = &[];
                return Truth::Unknown;
            }
            let truth = self.any(rest, depth + 1);
            if rest.first().is_some_and(|word| is_key(word, ")")) {
                *rest = &rest[1..];
                return truth;
            }
            *rest = &[];
            return Truth::Unknown;
        }
        let unary = [
            "EXISTS",
            "DEFINED",
            "TARGET",
            "COMMAND",
            "POLICY",
            "IS_DIRECTORY",
            "IS_ABSOLUTE",
            "IS_SYMLINK",
            "TEST",
            "IS_READABLE",
            "IS_WRITABLE",
            "IS_EXECUTABLE",
        ];
        let is_binary = after.first().is_some_and(is_comparison) && after.len() > 1;
        let operator = unary.iter().find(|name| is_key(first, name)).filter(|_| !is_binary);
        if let Some((operator, (operand, after))) = operator.zip(after.split_first()) {
            *rest = after;
            return self.unary(operator, operand);
        }
        if is_binary {
            let (operator, right) = (&after[0], &after[1]);
            *rest = &after[2..];
            return self.comparison(first, operator, right);
        }
        *rest = after;
        self.word(first)
    }

    /// The truth of a word that stands alone: a constant, or the name of a variable.
    fn word(&self, word: &ArgumentWord) -> Truth {
        let Some(text) = word.text() else { return Truth::Unknown };
        if let Some(truth) = constant(text) {
            return Truth::of(truth);
        }
        if word.quoted {
            return Truth::False;
        }
        // A variable is true unless its value is a false constant.
        let value = self.value_of(text);
        Truth::maybe(value.map(|value| constant(&value).unwrap_or(true)))
    }

    fn unary(&mut self, operator: &str, operand: &ArgumentWord) -> Truth {
        let Some(text) = operand.text() else { return Truth::Unknown };
        let path = Path::new(OsStr::from_bytes(text));
        match operator {
            "DEFINED" => self.defined(text),
            "TARGET" => self.has_target(text),
            "COMMAND" => self.has_command(text),
            "IS_ABSOLUTE" => Truth::of(path.is_absolute()),
            "EXISTS" | "IS_DIRECTORY" if text.is_empty() => Truth::False,
            "EXISTS" | "IS_DIRECTORY" if !path.is_absolute() => Truth::Unknown,
            "EXISTS" => {
                let entry = self.host.look(path);
                if entry == PathEntry::Absent {
                    self.last_absent.push(path.to_path_buf());
                }
                match entry {
                    PathEntry::File | PathEntry::Directory => Truth::True,
                    PathEntry::Absent => Truth::False,
                    PathEntry::Unknown => Truth::Unknown,
                }
            }
            "IS_DIRECTORY" => match self.host.look(path) {
                PathEntry::Directory => Truth::True,
                PathEntry::File | PathEntry::Absent => Truth::False,
                PathEntry::Unknown => Truth::Unknown,
            },
            "IS_SYMLINK" if path.is_absolute() => Truth::maybe(self.host.is_link(path)),
            // The last policy of CMake 3.25 is CMP0142.
            "POLICY" => {
                let digits =
                    text.strip_prefix(b"CMP").and_then(|text| std::str::from_utf8(text).ok());
                let policy: Option<u32> = digits.and_then(|digits| digits.parse().ok());
                Truth::of(policy.is_some_and(|policy| policy <= 142))
            }
            _ => Truth::Unknown,
        }
    }

    /// The text of an operand. If an unquoted operand is the name of a variable, the result is
    /// the value of the variable.
    fn operand(&self, word: &ArgumentWord) -> MaybeText {
        let text = word.value.clone()?;
        if word.quoted {
            return Some(text);
        }
        match self.defined(&text) {
            Truth::True => self.value_of(&text),
            Truth::False => Some(text),
            Truth::Unknown => None,
        }
    }

    fn comparison(
        &mut self,
        left: &ArgumentWord,
        operator: &ArgumentWord,
        right: &ArgumentWord,
    ) -> Truth {
        let Some(name) = operator.text().and_then(|text| std::str::from_utf8(text).ok()) else {
            return Truth::Unknown;
        };
        if name == "IN_LIST" {
            let list = right.text().map(|name| self.value_of(name));
            let (Some(left), Some(Some(list))) = (self.operand(left), list) else {
                return Truth::Unknown;
            };
            let list = items(&list, false);
            if *left == *COMPONENT {
                self.components.extend(list);
                return Truth::True;
            }
            return Truth::of(list.iter().any(|item| **item == *left));
        }
        let Some(left) = self.operand(left) else { return Truth::Unknown };
        if name == "MATCHES" {
            // The right operand is a pattern, never the name of a variable.
            let Some(pattern) = right.text() else { return Truth::Unknown };
            return self.matches(&left, pattern);
        }
        let Some(right) = self.operand(right) else { return Truth::Unknown };
        if *left == *COMPONENT || *right == *COMPONENT {
            return Truth::Unknown;
        }
        let by = |order: Option<Ordering>, holds: fn(Ordering) -> bool| {
            Truth::of(order.is_some_and(holds))
        };
        let numbers = || number(&left).zip(number(&right)).and_then(|(a, b)| a.partial_cmp(&b));
        let texts = || Some(left.cmp(&right));
        let version = || Some(versions(&left, &right));
        match name {
            "EQUAL" => by(numbers(), Ordering::is_eq),
            "LESS" => by(numbers(), Ordering::is_lt),
            "GREATER" => by(numbers(), Ordering::is_gt),
            "LESS_EQUAL" => by(numbers(), Ordering::is_le),
            "GREATER_EQUAL" => by(numbers(), Ordering::is_ge),
            "STREQUAL" => by(texts(), Ordering::is_eq),
            "STRLESS" => by(texts(), Ordering::is_lt),
            "STRGREATER" => by(texts(), Ordering::is_gt),
            "STRLESS_EQUAL" => by(texts(), Ordering::is_le),
            "STRGREATER_EQUAL" => by(texts(), Ordering::is_ge),
            "VERSION_EQUAL" => by(version(), Ordering::is_eq),
            "VERSION_LESS" => by(version(), Ordering::is_lt),
            "VERSION_GREATER" => by(version(), Ordering::is_gt),
            "VERSION_LESS_EQUAL" => by(version(), Ordering::is_le),
            "VERSION_GREATER_EQUAL" => by(version(), Ordering::is_ge),
            _ => Truth::Unknown,
        }
    }

    /// Evaluates `TEXT MATCHES PATTERN`, which sets CMAKE_MATCH_0 and so on.
    fn matches(&mut self, text: &[u8], pattern: &[u8]) -> Truth {
        let Some(found) = Regex::new(pattern).and_then(|pattern| pattern.find(text, 0).ok()) else {
            return Truth::Unknown;
        };
        self.set_matches(text, found.as_ref().map_or(&[], |found| &found.groups));
        Truth::of(found.is_some())
    }
}

fn is_key(word: &ArgumentWord, key: &str) -> bool {
    !word.quoted && word.is(key)
}

fn is_comparison(word: &ArgumentWord) -> bool {
    const ALL: [&str; 18] = [
        "EQUAL",
        "LESS",
        "GREATER",
        "LESS_EQUAL",
        "GREATER_EQUAL",
        "STREQUAL",
        "STRLESS",
        "STRGREATER",
        "STRLESS_EQUAL",
        "STRGREATER_EQUAL",
        "VERSION_EQUAL",
        "VERSION_LESS",
        "VERSION_GREATER",
        "VERSION_LESS_EQUAL",
        "VERSION_GREATER_EQUAL",
        "MATCHES",
        "IN_LIST",
        "PATH_EQUAL",
    ];
    ALL.iter().any(|name| is_key(word, name))
}
