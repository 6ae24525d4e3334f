//! Reads NAME of the command line. NAME may contain the version of a symbol, as `nm`, `readelf` and
//! loaders write it.

/// NAME of the command line, split into name and version. With a version, the answer is only about
/// that version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TypedName<'n> {
    /// The name of a library or symbol, without version.
    pub(super) name: &'n [u8],
    /// The version of the symbol; `None` if NAME has none.
    pub(super) version: Option<&'n [u8]>,
}

impl<'n> TypedName<'n> {
    /// The possible readings of `typed`: first all of it as a name, then, if it has a version, a
    /// name with that version. The forms with a version are `NAME@VERSION`, `NAME@@VERSION` and
    /// `NAME, version VERSION`.
    pub(super) fn readings(typed: &'n [u8]) -> impl Iterator<Item = Self> {
        let whole = Self { name: typed, version: None };
        let is_split = |(name, version): &(&[u8], &[u8])| !name.is_empty() && !version.is_empty();
        let split = split(typed).filter(is_split);
        let split = split.map(|(name, version)| Self { name, version: Some(version) });
        std::iter::once(whole).chain(split)
    }
}

fn split(typed: &[u8]) -> Option<(&[u8], &[u8])> {
    const WORDS: &[u8] = b", version ";
    if let Some(at) = memchr::memmem::find(typed, WORDS) {
        return Some((&typed[..at], typed[at + WORDS.len()..].trim_ascii()));
    }
    let at = memchr::memchr(b'@', typed)?;
    let version = &typed[at + 1..];
    Some((&typed[..at], version.strip_prefix(b"@").unwrap_or(version)))
}

#[cfg(test)]
mod tests {
    use super::TypedName;

    #[test]
    fn versions_as_they_are_written() {
        for typed in ["foo@V_1", "foo@@V_1", "foo, version V_1"] {
            let readings: Vec<TypedName<'_>> = TypedName::readings(typed.as_bytes()).collect();
            let whole = TypedName { name: typed.as_bytes(), version: None };
            assert_eq!(readings, [whole, TypedName { name: b"foo", version: Some(b"V_1") }]);
        }
        for typed in ["foo", "foo@", "@V_1", "f(int)"] {
            assert_eq!(TypedName::readings(typed.as_bytes()).count(), 1, "{typed}");
        }
    }
}
