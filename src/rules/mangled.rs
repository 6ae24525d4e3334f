//! The parts of a mangled C++ name (Itanium ABI): enough to recognise members of one class,
//! different parameters, and different `[abi:…]` tags. This is not a demangler: a name with an
//! unsupported construct has no parts.

/// The parts of the name of a function, a variable, a vtable or a typeinfo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Parts<'n> {
    /// The enclosing classes and namespaces, without tags; empty for a global name. The scope of
    /// a vtable or typeinfo includes its class.
    pub(super) scope: Vec<u8>,
    /// The last component, with template arguments and without tags; `TV` for a vtable and `TI` for
    /// a typeinfo.
    pub(super) member: Vec<u8>,
    /// True if there are tags anywhere before the parameters.
    pub(super) is_tagged: bool,
    /// Qualifiers of a member function, such as `K` for const.
    pub(super) qualifiers: &'n [u8],
    /// The mangled text after the name: the types of the parameters. Empty for a variable, vtable
    /// or typeinfo.
    pub(super) parameters: &'n [u8],
}

impl Parts<'_> {
    /// True if the name is in a class or namespace other than `std` itself. Other members of this
    /// scope are then near misses.
    pub(super) fn has_class(&self) -> bool {
        !self.scope.is_empty() && self.scope != b"St"
    }
}

/// The first component of a name, and the text after it. All names of one scope have the same first
/// component, which is cheap to find. `None` for a name that is not mangled or that starts with an
/// unsupported construct.
pub(super) fn first_component(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, _) = nested(name)?;
    rest.split_at_checked(component(rest)?.end)
}

/// The first component of the class of a vtable or typeinfo, and the text after it. `None` for
/// other names.
pub(super) fn class_component(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, rest) = of_class(name)?;
    let rest = rest.strip_prefix(b"N").unwrap_or(rest);
    rest.split_at_checked(component(rest)?.end)
}

/// True for a name in the namespace `std`, and for a vtable or typeinfo of one of its classes. Some
/// classes have an abbreviation, such as `Ss` for `std::string`.
pub(super) fn is_in_std(name: &[u8]) -> bool {
    let first = first_component(name).or_else(|| class_component(name));
    first.is_some_and(|(first, _)| first.first() == Some(&b'S'))
}

/// For the mangled name of a vtable or typeinfo: `TV` or `TI`, and the text after it. `None` for
/// other names.
fn of_class(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let (kind, rest) = name.strip_prefix(b"_Z")?.split_at_checked(2)?;
    [&b"TV"[..], b"TI"].contains(&kind).then_some((kind, rest))
}

/// The component at the start of `text`, with its length in front; `None` if `text` does not start
/// with a length.
pub(super) fn leading_name(text: &[u8]) -> Option<&[u8]> {
    text.get(..source_name(text)?)
}

/// The parts of `name`; `None` if it has an unsupported construct.
pub(super) fn parts(name: &[u8]) -> Option<Parts<'_>> {
    if let Some((kind, rest)) = of_class(name) {
        // If a vtable or typeinfo is undefined, the key function of its class is missing. The scope
        // includes the class, because near misses are other members of the class.
        let (rest, is_nested) = match rest.strip_prefix(b"N") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let path = path(rest, is_nested)?;
        let scope = path.components.concat();
        return Some(Parts {
            scope,
            member: kind.to_vec(),
            is_tagged: path.is_tagged,
            qualifiers: b"",
            parameters: b"",
        });
    }
    let (rest, is_nested) = nested(name)?;
    let qualifiers_end = rest.as_ptr().addr() - name.as_ptr().addr();
    let qualifiers = if is_nested { &name[3..qualifiers_end] } else { b"" };
    let Path { mut components, end, is_tagged } = path(rest, is_nested)?;
    let member = components.pop()?;
    Some(Parts {
        scope: components.concat(),
        member,
        is_tagged,
        qualifiers,
        parameters: &rest[end..],
    })
}

/// The text after `_Z`, and false. For a nested name (`_ZN`), the text after its qualifiers, and
/// true. `None` without `_Z`.
fn nested(name: &[u8]) -> Option<(&[u8], bool)> {
    let rest = name.strip_prefix(b"_Z")?;
    let Some(rest) = rest.strip_prefix(b"N") else { return Some((rest, false)) };
    let qualifiers = rest.iter().take_while(|b| matches!(b, b'r' | b'V' | b'K' | b'R' | b'O'));
    Some((&rest[qualifiers.count()..], true))
}

struct Path {
    /// Components without tags, each with its template arguments.
    components: Vec<Vec<u8>>,
    end: usize,
    is_tagged: bool,
}

/// The components of a name. A nested name ends at its `E`. Any other name has one component, after
/// an optional `St`.
fn path(text: &[u8], is_nested: bool) -> Option<Path> {
    let mut out = Path { components: Vec::new(), end: 0, is_tagged: false };
    loop {
        let rest = &text[out.end..];
        if is_nested && rest.first() == Some(&b'E') {
            out.end += 1;
            return Some(out);
        }
        let found = component(rest)?;
        let mut name = rest[..found.end].to_vec();
        out.end += found.end;
        while text[out.end..].first() == Some(&b'B') {
            let tag = source_name(&text[out.end + 1..])?;
            out.end += 1 + tag;
            out.is_tagged = true;
        }
        if text[out.end..].first() == Some(&b'I') {
            let arguments = balanced(&text[out.end..])?;
            name.extend_from_slice(&text[out.end..out.end + arguments]);
            out.end += arguments;
        }
        out.components.push(name);
        if !is_nested && !found.is_std {
            return Some(out);
        }
    }
}

struct Component {
    end: usize,
    is_std: bool,
}

/// One component: a name preceded by its length, `St`, an abbreviation such as `Ss`, a constructor,
/// destructor or operator.
fn component(text: &[u8]) -> Option<Component> {
    let end = match text {
        [b'S', b't', ..] => return Some(Component { end: 2, is_std: true }),
        [b'L', rest @ ..] => 1 + source_name(rest)?,
        [b'0'..=b'9', ..] => source_name(text)?,
        [b'S', b'a' | b'b' | b's' | b'i' | b'o' | b'd', ..] => 2,
        [b'C', b'1'..=b'5', ..] | [b'D', b'0'..=b'5', ..] => 2,
        [a, b, ..] if a.is_ascii_lowercase() && b.is_ascii_alphabetic() && *a != b'c' => 2,
        _ => return None,
    };
    Some(Component { end, is_std: false })
}

/// The length in bytes of the `<number><name>` at the start of `text`; `None` if `text` has no
/// number or is too short.
fn source_name(text: &[u8]) -> Option<usize> {
    let (mut digits, mut number) = (0, 0usize);
    while let Some(digit) = text.get(digits).filter(|b| b.is_ascii_digit()) {
        number = number.checked_mul(10)?.checked_add(usize::from(digit - b'0'))?;
        digits += 1;
    }
    let end = digits.checked_add(number)?;
    (end <= text.len() && end > digits).then_some(end)
}

/// The number of digits at the start of `text`.
fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The length in bytes of the template arguments (`I … E`) at the start of `text`; `None` if they
/// are cut short.
fn balanced(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(byte) = text.get(at) {
        match byte {
            b'I' | b'N' | b'X' | b'J' | b'F' => depth += 1,
            b'E' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'0'..=b'9' => {
                at += source_name(&text[at..])?;
                continue;
            }
            // The bound of an array or a vector is not the length of a name.
            b'A' => at += digits(&text[at + 1..]),
            b'D' if text.get(at + 1) == Some(&b'v') => at += 1 + digits(&text[at + 2..]),
            // A literal of a builtin type (`Li3E`): the digits are a value, not the length of a
            // name.
            b'L' if text.get(at + 1).is_some_and(u8::is_ascii_lowercase) => {
                at += text[at..].iter().position(|b| *b == b'E')? + 1;
                continue;
            }
            b'L' => depth += 1,
            b'S' | b'T' => match text.get(at + 1)? {
                b'_' | b'a'..=b'z' => at += 1,
                _ => at += text[at..].iter().position(|b| *b == b'_')?,
            },
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{first_component, parts};

    fn split(name: &str) -> Option<(String, String, String)> {
        let parts = parts(name.as_bytes())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some((text(&parts.scope), text(&parts.member), text(parts.parameters)))
    }

    #[test]
    fn classes_members_and_parameters() {
        let is = |name: &str, scope: &str, member: &str, parameters: &str| {
            let expected = Some((scope.into(), member.into(), parameters.into()));
            assert_eq!(split(name), expected, "{name}");
        };
        is("_ZNK5Color3rgbEi", "5Color", "3rgb", "i");
        is("_ZN5Color3rgbB5cxx11Ei", "5Color", "3rgb", "i");
        is("_ZN5ColorC1Ev", "5Color", "C1", "v");
        is("_ZNSt6vectorIiSaIiEE9push_backEOi", "St6vectorIiSaIiEE", "9push_back", "Oi");
        is("_ZN1a1bILi12EE1cIJifEEEvv", "1a1bILi12EE", "1cIJifEE", "vv");
        is("_ZN1SIA40_cE1fEi", "1SIA40_cE", "1f", "i");
        is("_ZN1SIA3_A7_iE1fEi", "1SIA3_A7_iE", "1f", "i");
        is("_ZN1SIDv4_iE1fEi", "1SIDv4_iE", "1f", "i");
        is("_ZN1Q1gIA7_iEEvRT_", "1Q", "1gIA7_iE", "vRT_");
        is("_Z3fooi", "", "3foo", "i");
        is("_ZSt4endlIcEvv", "St", "4endlIcE", "vv");
        is("_ZTVN3geo5ShapeE", "3geo5Shape", "TV", "");
        is("_ZTV5Shape", "5Shape", "TV", "");
        is("_ZTISt9exception", "St9exception", "TI", "");
        assert_eq!(parts(b"_ZNK5Color3rgbEi").map(|parts| parts.qualifiers), Some(&b"K"[..]));
        assert!(parts(b"_ZN5Color3rgbB5cxx11Ei").is_some_and(|parts| parts.is_tagged));
        assert_eq!(first_component(b"_ZNK5Color3rgbEi"), Some((&b"5Color"[..], &b"3rgbEi"[..])));
    }

    #[test]
    fn what_is_not_understood_has_no_parts() {
        for name in
            ["malloc", "_Z", "_ZN", "_ZN9", "_ZN5Col", "_ZN5ColorIiE", "_ZN99999999999999999999a"]
        {
            assert_eq!(split(name), None, "{name}");
        }
        for name in ["_ZT", "_ZTI", "_ZTIPKc", "_ZTS5Shape"] {
            assert_eq!(split(name), None, "{name}");
        }
    }
}
