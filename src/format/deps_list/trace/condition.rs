//! Evaluates conditions. The result is unknown if the file does not determine the words of a
//! condition.

use super::arguments::Words;
use super::program::Step;
use super::run::Run;
use super::value::{Word, hash, least, mixed, number, single};

/// The result of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Truth {
    True,
    False,
    Unknown,
}

/// Variables that CMake sets only on systems whose programs are not ELF files.
const OTHER_SYSTEMS: [&[u8]; 10] = [
    b"WIN32",
    b"MSVC",
    b"MINGW",
    b"MSYS",
    b"CYGWIN",
    b"WINCE",
    b"WINDOWS_PHONE",
    b"WINDOWS_STORE",
    b"APPLE",
    b"IOS",
];
/// Values of `CMAKE_SYSTEM_NAME` on such systems.
const OTHER_NAMES: [&[u8]; 6] =
    [b"Windows", b"WindowsStore", b"Darwin", b"iOS", b"CYGWIN", b"MSYS"];
/// The variable that CMake sets on systems with ELF files.
const UNIX: &[u8] = b"UNIX";

/// True if a variable of CMake that depends on the system decides `name` or `${name}`.
pub(super) fn is_of_system(text: &[u8]) -> bool {
    let inside = text.strip_prefix(b"${").and_then(|rest| rest.strip_suffix(b"}"));
    let name = inside.unwrap_or(text);
    name == UNIX || name == b"CMAKE_SYSTEM_NAME" || OTHER_SYSTEMS.contains(&name)
}

impl From<bool> for Truth {
    fn from(is: bool) -> Self {
        if is { Self::True } else { Self::False }
    }
}

impl Truth {
    fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, Self::True) => Self::True,
            _ => Self::Unknown,
        }
    }
}

/// Maximum number of parenthesised groups in a condition. The evaluation is recursive and may go
/// one level deeper for each group.
const MOST_GROUPS: usize = 100;

/// The words of a condition that are left to read.
type Rest<'a> = std::iter::Peekable<std::slice::Iter<'a, Words>>;

impl Run<'_> {
    /// The result of an arm's condition, and a hash of the condition's words and of the variables
    /// that they name.
    pub(super) fn condition(&mut self, step: &Step) -> (Truth, u64) {
        if step.name == b"else" {
            return (Truth::True, 0);
        }
        let words = self.arguments(step);
        let mut all = 1;
        for word in &words {
            let text = word.words.iter().map(|word| (&word.text, word.doubt));
            all = mixed(all, hash(&text.collect::<Vec<_>>()) | 1);
            let value = word.name().and_then(|name| self.value(name));
            // Values of several words are not hashed, because a list is the same for all words that
            // the condition controls.
            if let Some([word]) = value.map(|value| value.as_slice()) {
                all = mixed(all, hash(&(&word.text, word.doubt)) | 1);
            }
        }
        if words.iter().filter(|word| word.keyword() == b"(").count() > MOST_GROUPS {
            return (Truth::Unknown, all);
        }
        let mut rest = words.iter().peekable();
        let truth = self.either(&mut rest);
        let truth = if rest.peek().is_some() { Truth::Unknown } else { truth };
        // The number of new names decides the condition, but only one of them is followed.
        let is_counted = words.iter().any(|word| self.least(word).is_some());
        self.gave_up |= truth == Truth::Unknown && is_counted;
        (truth, all)
    }

    /// The smallest value of a word that stands for the number of words in a list with archives.
    /// `None` for other words.
    fn least(&self, word: &Words) -> Option<u64> {
        let [only] = &word.words[..] else { return None };
        let of_variable = || match self.state.get(word.text()?).filter(|_| !word.is_quoted())?[..] {
            [ref value] => least(&value.text),
            _ => None,
        };
        least(&only.text).or_else(of_variable)
    }

    fn either(&self, rest: &mut Rest<'_>) -> Truth {
        let mut truth = self.both(rest);
        while rest.next_if(|word| word.keyword() == b"OR").is_some() {
            truth = truth.not().and(self.both(rest).not()).not();
        }
        truth
    }

    fn both(&self, rest: &mut Rest<'_>) -> Truth {
        let mut truth = self.negated(rest);
        while rest.next_if(|word| word.keyword() == b"AND").is_some() {
            truth = truth.and(self.negated(rest));
        }
        truth
    }

    fn negated(&self, rest: &mut Rest<'_>) -> Truth {
        let mut is_not = false;
        while rest.next_if(|word| word.keyword() == b"NOT").is_some() {
            is_not = !is_not;
        }
        let truth = self.test(rest);
        if is_not { truth.not() } else { truth }
    }

    fn test(&self, rest: &mut Rest<'_>) -> Truth {
        let Some(first) = rest.next() else { return Truth::Unknown };
        if first.keyword() == b"(" {
            let truth = self.either(rest);
            rest.next_if(|word| word.keyword() == b")");
            return truth;
        }
        let unary = [
            &b"DEFINED"[..],
            b"TARGET",
            b"COMMAND",
            b"POLICY",
            b"TEST",
            b"EXISTS",
            b"IS_DIRECTORY",
            b"IS_SYMLINK",
            b"IS_ABSOLUTE",
        ];
        if unary.contains(&first.keyword()) {
            rest.next();
            return Truth::Unknown;
        }
        let is_end = |word: &Words| matches!(word.keyword(), b"AND" | b"OR" | b")");
        let Some(operator) = rest.next_if(|word| !is_end(word)) else {
            return self.constant(first);
        };
        let Some(second) = rest.next() else { return Truth::Unknown };
        self.compare(first, operator.keyword(), second).unwrap_or(Truth::Unknown)
    }

    /// The value of the variable that `word` names, or the text of `word` if no variable has that
    /// name. `None` if the value is unknown or depends on policy CMP0054.
    fn operand(&self, word: &Words) -> Option<Vec<u8>> {
        let text = word.text()?;
        match self.state.get(text) {
            Some(_) if self.cached.contains(text) || word.is_quoted() => None,
            Some(value) => single(value).map(<[u8]>::to_vec),
            // CMake or another file may set this variable.
            None if text.starts_with(b"CMAKE_") && !word.is_quoted() => None,
            None => Some(text.to_vec()),
        }
    }

    /// The value of the first operand of a comparison. If the file sets no variable of this name,
    /// another file may set it, so the value is unknown. Quoted texts and values of references are
    /// their own values.
    fn first_operand(&self, word: &Words) -> Option<Vec<u8>> {
        let is_set = self.state.get(word.text()?).is_some();
        self.operand(word).filter(|_| is_set || word.keyword().is_empty())
    }

    /// True for a word in the style of variables, such as `FLAVOR` or `my_FLAVOR`, if the file sets
    /// no variable of this name.
    fn may_be_variable(&self, word: &Words) -> bool {
        let text = word.keyword();
        let end = text.rsplit(|b| *b == b'_').next().unwrap_or_default();
        let is_upper = end.iter().any(u8::is_ascii_uppercase);
        is_upper && !end.iter().any(u8::is_ascii_lowercase) && self.state.get(text).is_none()
    }

    fn compare(&self, first: &Words, operator: &[u8], second: &Words) -> Option<Truth> {
        let is_system =
            |name: &[u8]| matches!(name, b"CMAKE_SYSTEM_NAME" | b"${CMAKE_SYSTEM_NAME}");
        if matches!(operator, b"STREQUAL" | b"MATCHES")
            && first.name().is_some_and(is_system)
            && self.state.get(b"CMAKE_SYSTEM_NAME").is_none()
            && let Some(name) = second.text()
            && OTHER_NAMES.contains(&name)
        {
            return Some(Truth::False);
        }
        if let (Some(least), Some(other)) = (self.least(first), second.text().and_then(number)) {
            return match operator {
                b"GREATER" if least > other => Some(Truth::True),
                b"GREATER_EQUAL" if least >= other => Some(Truth::True),
                b"EQUAL" | b"LESS_EQUAL" if least > other => Some(Truth::False),
                b"LESS" if least >= other => Some(Truth::False),
                _ => None,
            };
        }
        match operator {
            b"STREQUAL" => {
                let is_equal = self.first_operand(first)? == self.operand(second)?;
                // Another file may set a variable with the name of the second operand.
                let is_text = is_equal || !self.may_be_variable(second);
                is_text.then_some(Truth::from(is_equal))
            }
            b"MATCHES" => {
                let text = self.first_operand(first)?;
                self.is_match(second.text()?, &text).map(Truth::from)
            }
            b"IN_LIST" => {
                let text = self.operand(first)?;
                let list = self.state.get(second.name()?)?;
                let is_text = self.first_operand(first).is_some();
                let mut found = if is_text { Truth::False } else { Truth::Unknown };
                for word in list.iter() {
                    let is_certain = word.is_certain();
                    match (is_certain, *word.text == *text) {
                        (true, true) => return Some(Truth::True),
                        (true, false) => {}
                        (false, is_equal) if is_equal || word.is_open() => found = Truth::Unknown,
                        (false, _) => {}
                    }
                }
                Some(found)
            }
            _ => None,
        }
    }

    /// The truth of a word in `if()`. It is known for a constant of CMake, such as `ON`, and for a
    /// variable whose value is known.
    fn constant(&self, word: &Words) -> Truth {
        if self.least(word).is_some_and(|least| least > 0) {
            return Truth::True;
        }
        let Some(text) = word.text() else { return Truth::Unknown };
        let upper = text.to_ascii_uppercase();
        if let Some(truth) = constant(&upper) {
            return truth;
        }
        match self.state.get(text) {
            Some(value) if !self.cached.contains(text) && !word.is_quoted() => {
                match single(value) {
                    Some(value) => constant(&value.to_ascii_uppercase()).unwrap_or(Truth::True),
                    None if value.len() > 1 && value.iter().any(Word::is_certain) => Truth::True,
                    None => Truth::Unknown,
                }
            }
            None if !word.is_quoted() && !self.cached.contains(text) => match text {
                UNIX => Truth::True,
                text if OTHER_SYSTEMS.contains(&text) => Truth::False,
                _ => Truth::Unknown,
            },
            _ => Truth::Unknown,
        }
    }
}

fn constant(upper: &[u8]) -> Option<Truth> {
    match upper {
        b"1" | b"ON" | b"YES" | b"TRUE" | b"Y" => Some(Truth::True),
        b"" | b"0" | b"OFF" | b"NO" | b"FALSE" | b"N" | b"IGNORE" | b"NOTFOUND" => {
            Some(Truth::False)
        }
        upper if upper.ends_with(b"-NOTFOUND") => Some(Truth::False),
        _ => None,
    }
}
