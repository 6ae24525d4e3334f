//! Splits demangled names into parts. NAME of the command line means a symbol if the components of
//! NAME are the last components of the symbol's name. If NAME has parameters, they must equal those
//! of the symbol.

use std::borrow::Cow;

/// Prefixes of the demangled names of tables and helpers that compilers generate.
const SPECIAL: &[&str] = &[
    "vtable for ",
    "VTT for ",
    "construction vtable for ",
    "typeinfo for ",
    "typeinfo name for ",
    "guard variable for ",
    "reference temporary for ",
    "virtual thunk to ",
    "non-virtual thunk to ",
    "covariant return thunk to ",
    "transaction clone for ",
    "non-transaction clone for ",
    "TLS init function for ",
    "TLS wrapper function for ",
];

/// The text of each operator after the word `operator`. The first match counts, so a longer
/// operator comes before its prefixes.
const OPERATORS: &[&str] = &[
    "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "==", "!=", "&&", "||",
    "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<", ">", "+", "-", "*", "/", "%",
    "^", "&", "|", "~", "!", "=", ",",
];

/// The parts of a demangled name, without its return type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Qualified<'t> {
    /// The prefix of the name in [`SPECIAL`]; `None` if the name is not that of a generated table
    /// or helper.
    special: Option<&'static str>,
    /// The namespaces and classes, then the name itself.
    components: Vec<&'t str>,
    /// The parameters, with parentheses; `None` if the name has none.
    parameters: Option<&'t str>,
    /// The text after the parameters, such as `const`.
    qualifiers: &'t str,
}

/// Texts that demanglers spell in two ways, each with the spelling that is kept. The entry of a
/// class comes before the entries of its constructors, which contain the kept spelling of the
/// class.
const SPELLINGS: &[(&str, &str)] = &[
    ("std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"),
    ("std::string::basic_string(", "std::string::string("),
    ("std::string::~basic_string(", "std::string::~string("),
    ("std::basic_ostream<char, std::char_traits<char> >", "std::ostream"),
    ("std::ostream::basic_ostream(", "std::ostream::ostream("),
    ("std::basic_istream<char, std::char_traits<char> >", "std::istream"),
    ("std::istream::basic_istream(", "std::istream::istream("),
    ("std::basic_iostream<char, std::char_traits<char> >", "std::iostream"),
    ("std::iostream::basic_iostream(", "std::iostream::iostream("),
    ("decltype(nullptr)", "std::nullptr_t"),
];

/// Number types in template arguments: one demangler writes a cast, the other a suffix.
const NUMBERS: &[(&str, &str)] = &[
    ("(unsigned int)", "u"),
    ("(long)", "l"),
    ("(unsigned long)", "ul"),
    ("(long long)", "ll"),
    ("(unsigned long long)", "ull"),
];

/// `text` with one spelling for each part that demanglers spell in two ways.
pub(super) fn with_one_spelling(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    for (other, kept) in SPELLINGS {
        if out.contains(other) {
            out = out.replace(other, kept).into();
        }
    }
    for (cast, suffix) in NUMBERS {
        if out.contains(cast) {
            out = suffixed(&out, cast, suffix).into();
        }
    }
    out
}

/// Replaces the cast before each number by a suffix after it: `(long)5` becomes `5l`.
fn suffixed(text: &str, cast: &str, suffix: &str) -> String {
    let mut parts = text.split(cast);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_number = |c: char| c == '-' || c.is_ascii_digit();
        let end = part.find(|c: char| !is_number(c)).unwrap_or(part.len());
        let (number, rest) = part.split_at(end);
        let (before, behind) = if number.is_empty() { (cast, "") } else { ("", suffix) };
        out.extend([before, number, behind, rest]);
    }
    out
}

impl<'t> Qualified<'t> {
    /// The parts of `text`; `None` if it cannot be split.
    pub(super) fn new(text: &'t str) -> Option<Self> {
        let special = SPECIAL.iter().copied().find(|word| text.starts_with(word));
        let text = text[special.map_or(0, str::len)..].trim();
        let mut components = Vec::new();
        let (mut start, mut at) = (0, 0);
        let (end, parameters, qualifiers) = loop {
            let rest = &text[at..];
            if at == start
                && let Some(length) = operator(rest)
            {
                at += length;
                continue;
            }
            match rest.as_bytes() {
                [] => break (at, None, ""),
                [b'<' | b'[' | b'{', ..] => at += bracketed(rest)?,
                [b'(', ..] => {
                    let length = bracketed(rest)?;
                    let (inside, behind) = rest.split_at(length);
                    let is_scope = behind.trim_start_matches(" const").starts_with("::");
                    if !is_scope && inside != "(anonymous namespace)" {
                        break (at, Some(inside), behind.trim());
                    }
                    at += length + behind.len() - behind.trim_start_matches(" const").len();
                }
                [b':', b':', ..] => {
                    components.push(&text[start..at]);
                    at += 2;
                    start = at;
                }
                // The text up to the blank is the return type.
                [b' ', ..] => {
                    components.clear();
                    at += 1;
                    start = at;
                }
                _ => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        };
        components.push(&text[start..end]);
        let is_whole = components.iter().all(|component| !component.is_empty());
        is_whole.then_some(Self { special, components, parameters, qualifiers })
    }

    /// True if this NAME of the command line means the symbol `whole`: `Shape::id` means
    /// `ns::Shape::id(int)`. Parameters, `[abi:…]` tags and template arguments may be omitted. A
    /// NAME with one component means only symbols whose names have one component, except for
    /// generated tables (`vtable for Shape`).
    pub(super) fn means(&self, whole: &Self) -> bool {
        let Some(before) = whole.components.len().checked_sub(self.components.len()) else {
            return false;
        };
        let is_end = before == 0 || self.components.len() > 1 || self.special.is_some();
        let mut pairs = self.components.iter().zip(&whole.components[before..]);
        let qualifiers = self.qualifiers.is_empty() || self.qualifiers == whole.qualifiers;
        self.special == whole.special
            && is_end
            && qualifiers
            && self.parameters.is_none_or(|own| is_same_list(own, whole.parameters))
            && pairs.all(|(own, other)| is_same(own, other))
    }

    /// The last `count` components of the name, without parameters, tags and template arguments.
    /// `None` if there are fewer components, or for a generated table or helper.
    pub(super) fn end(&self, count: usize) -> Option<String> {
        let first = self.components.len().checked_sub(count)?;
        let bare = |component: &&str| without(&without(component, '['), '<');
        let bare: Vec<String> = self.components[first..].iter().map(bare).collect();
        self.special.is_none().then(|| bare.join("::"))
    }

    /// Number of components.
    pub(super) fn depth(&self) -> usize {
        self.components.len()
    }
}

fn is_same_list(own: &str, other: Option<&str>) -> bool {
    let own = if own == "(void)" { "()" } else { own };
    other.is_some_and(|other| tight(own) == tight(other))
}

/// True if the component `own` of NAME means `other`, a component of a symbol's name.
fn is_same(own: &str, other: &str) -> bool {
    let own_end = operator(own).unwrap_or(0);
    let other = if own.contains("[abi:") { other.to_owned() } else { without(other, '[') };
    let has_arguments = own[own_end..].contains('<');
    let other = if has_arguments { other } else { without(&other, '<') };
    tight(own) == tight(&other)
}

/// A component without the brackets of one kind and without the text in them. A component that
/// starts with a bracket of this kind stays as it is.
fn without(component: &str, open: char) -> String {
    let start = operator(component).unwrap_or(0);
    let (mut out, mut rest) = component.split_at(start);
    let mut kept = out.to_owned();
    while let Some(at) = rest.find(open) {
        (out, rest) = rest.split_at(at);
        kept.push_str(out);
        let Some(length) = bracketed(rest).filter(|_| !kept.is_empty()) else { break };
        rest = &rest[length..];
    }
    kept + rest
}

/// Text without blanks, except those between words. Demanglers put the other blanks in different
/// places.
fn tight(text: &str) -> String {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        if c != ' ' || (is_word(out.chars().next_back()) && is_word(chars.peek().copied())) {
            out.push(c);
        }
    }
    out
}

/// The length of an operator's name at the start of `text`, without template arguments; `None` if
/// there is no operator.
fn operator(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("operator")?;
    let word = text.len() - rest.len();
    if let Some(symbol) = OPERATORS.iter().find(|symbol| rest.starts_with(**symbol)) {
        let end = word + symbol.len();
        return Some(if text[end..].starts_with(" <") { end + 1 } else { end });
    }
    // A conversion, `new`, `delete` or a literal: the name reaches up to the parameters.
    if !rest.starts_with([' ', '"']) {
        return None;
    }
    let mut at = word;
    while let Some(c) = text[at..].chars().next().filter(|c| *c != '(') {
        at += if c == '<' { bracketed(&text[at..])? } else { c.len_utf8() };
    }
    Some(at)
}

/// The length of the bracketed text at the start of `text`; `None` if a bracket is not closed. A
/// `>` closes only a `<`, because it may be an operator.
fn bracketed(text: &str) -> Option<usize> {
    let mut open: Vec<u8> = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        let closes = match byte {
            b'(' | b'<' | b'[' | b'{' => {
                open.push(byte);
                continue;
            }
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            b'>' if open.last() == Some(&b'<') && !text[..at].ends_with('-') => b'<',
            _ => continue,
        };
        let place = open.iter().rposition(|byte| *byte == closes)?;
        open.truncate(place);
        if open.is_empty() {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Qualified, with_one_spelling};

    #[test]
    fn spellings_of_two_demanglers() {
        for (ours, theirs) in [
            ("a<(long)1, (unsigned int)-2>(long)", "a<1l, -2u>(long)"),
            (
                "std::string::string()",
                "std::basic_string<char, std::char_traits<char>, std::allocator<char> \
                 >::basic_string()",
            ),
        ] {
            assert_eq!(with_one_spelling(ours), with_one_spelling(theirs));
        }
    }

    fn means(typed: &str, whole: &str) -> bool {
        let [typed, whole] =
            [typed, whole].map(|text| Qualified::new(text).unwrap_or_else(|| panic!("{text}")));
        typed.means(&whole)
    }

    #[test]
    fn ends_of_names() {
        for (typed, whole) in [
            ("Shape::id", "ns::Shape::id(int) const"),
            ("Shape::id", "Shape::id()"),
            ("Shape::id(int)", "ns::Shape::id(int) const"),
            ("Shape::id(void)", "Shape::id()"),
            ("Shape::id", "Shape::id[abi:cxx11](int)"),
            ("ns::max", "int const& ns::max<int>(int const&, int const&)"),
            ("vector::push_back", "std::vector<int, std::allocator<int> >::push_back(int const&)"),
            ("a::b<c<int>>", "x::a::b<c<int> >"),
            ("a::operator<<", "std::ostream& a::operator<< <char>(std::ostream&, char)"),
            ("a::operator()", "a::operator()(int) const"),
            ("a::operator bool", "ns::a::operator bool() const"),
            ("operator delete(void*)", "operator delete(void*)"),
            ("vtable for Shape", "vtable for ns::Shape"),
            ("(anonymous namespace)::f", "ns::(anonymous namespace)::f(int)"),
            ("Vec<T>::push", "alloc::vec::Vec<T>::push"),
            ("f()::counter", "f()::counter"),
        ] {
            assert!(means(typed, whole), "{typed} is {whole}");
        }
    }

    #[test]
    fn other_names() {
        for (typed, whole) in [
            ("id", "Shape::id(int)"),
            ("id(int)", "Shape::id(int)"),
            ("ape::id", "Shape::id(int)"),
            ("Shape::id", "Shape::id2(int)"),
            ("Shape::id", "Shape::id(int)::counter"),
            ("Shape::id(int)", "Shape::id(int, char)"),
            ("Shape::id() const", "Shape::id()"),
            ("ns::Shape", "vtable for ns::Shape"),
            ("vtable for Shape", "typeinfo for Shape"),
            ("operator delete(void*)", "a::operator delete(void*)"),
            ("a::operator<", "a::operator<<(int)"),
            ("ns::Shape::id", "Shape::id()"),
            ("ns::int", "ns::int f()"),
        ] {
            assert!(!means(typed, whole), "{typed} is {whole}");
        }
    }
}
