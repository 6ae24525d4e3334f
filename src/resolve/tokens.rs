//! Dynamic string tokens: `$ORIGIN`, `$LIB`, `$PLATFORM` and their `${…}` forms (`elf/dl-load.c`,
//! `is_dst` and `_dl_dst_substitute`). musl knows only `$ORIGIN` (`ldso/dynlink.c`, `fixup_rpath`).

/// The values of the tokens in one object.
#[derive(Clone, Copy)]
pub(super) struct Tokens<'a> {
    /// Directory of the object, without a trailing slash.
    pub origin: &'a [u8],
    /// The value of `$LIB`.
    pub lib: &'a [u8],
    /// The value of `$PLATFORM`; `None` if it depends on the processor.
    pub platform: Option<&'a [u8]>,
}

/// Length in bytes, with braces, of the token `name` at the start of `input`, the text after a `$`.
/// `None` if `input` starts with other text. The name is read greedily, so `$ORIGINX` does not
/// match.
fn token(input: &[u8], name: &[u8]) -> Option<usize> {
    let curly = input.first() == Some(&b'{');
    let rest = if curly { &input[1..] } else { input }.strip_prefix(name)?;
    match rest.first() {
        Some(b'}') if curly => Some(name.len() + 2),
        _ if curly => None,
        Some(c) if c.is_ascii_alphanumeric() || *c == b'_' => None,
        _ => Some(name.len()),
    }
}

/// True if `text` begins with `$ORIGIN` or `${ORIGIN}`.
pub(super) fn begins_with_origin(text: &[u8]) -> bool {
    text.strip_prefix(b"$").is_some_and(|rest| token(rest, b"ORIGIN").is_some())
}

/// Replaces all known tokens of `text`, and leaves unknown tokens as they are. `None` if a known
/// token has no value.
pub(super) fn expand(text: &[u8], tokens: Tokens<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() + tokens.origin.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|b| *b == b'$') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let known = [
            (&b"ORIGIN"[..], Some(tokens.origin)),
            (b"PLATFORM", tokens.platform),
            (b"LIB", Some(tokens.lib)),
        ];
        let found = known.iter().find_map(|(name, value)| Some((token(rest, name)?, value)));
        match found {
            Some((len, value)) => {
                out.extend_from_slice((*value)?);
                rest = &rest[len..];
            }
            None => out.push(b'$'),
        }
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// True if glibc's loader replaces a part of `text`.
pub fn has_token(text: &[u8]) -> bool {
    let tokens = Tokens { origin: b"", lib: b"", platform: None };
    expand(text, tokens).as_deref() != Some(text)
}

/// The spellings of the only token that musl knows. musl also replaces `$ORIGIN` at the start of a
/// longer name, such as `$ORIGINAL`.
const MUSL_ORIGIN: [&[u8]; 2] = [b"$ORIGIN", b"${ORIGIN}"];

/// True if `text` begins with `$ORIGIN` or `${ORIGIN}` as musl matches them.
pub(super) fn begins_with_musl_origin(text: &[u8]) -> bool {
    MUSL_ORIGIN.iter().any(|token| text.starts_with(token))
}

/// Replaces `$ORIGIN` as musl does, in a search path or in one entry; `None` if `text` has another
/// `$`.
pub(super) fn expand_musl(text: &[u8], origin: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.iter().position(|b| *b == b'$') {
        let token = MUSL_ORIGIN.iter().find(|token| rest[at..].starts_with(token))?;
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(origin);
        rest = &rest[at + token.len()..];
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// The value of `$ORIGIN`: the directory of the path by which an object was opened. A relative path
/// starts at `cwd`; links, `.` and `..` stay (`elf/dl-object.c`, `_dl_new_object`).
pub(super) fn origin(path: &[u8], cwd: &[u8]) -> Vec<u8> {
    let mut full = Vec::new();
    if !path.starts_with(b"/") {
        full.extend_from_slice(cwd);
        if !full.ends_with(b"/") {
            full.push(b'/');
        }
    }
    full.extend_from_slice(path);
    let cut = full.iter().rposition(|b| *b == b'/').unwrap_or(0);
    full.truncate(cut.max(1));
    full
}

#[cfg(test)]
mod tests {
    use super::{Tokens, begins_with_origin, expand, origin};

    fn expanded(text: &str) -> Option<String> {
        let tokens = Tokens { origin: b"/o", lib: b"lib64", platform: Some(b"p") };
        expand(text.as_bytes(), tokens).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn names_are_read_greedily() {
        assert_eq!(expanded("$ORIGIN/../$LIB").unwrap(), "/o/../lib64");
        assert_eq!(expanded("${ORIGIN}x/${PLATFORM}").unwrap(), "/ox/p");
        assert_eq!(expanded("$ORIGINX/$FOO/$").unwrap(), "$ORIGINX/$FOO/$");
        assert_eq!(expanded("${ORIGIN/$ORIGIN_").unwrap(), "${ORIGIN/$ORIGIN_");
        assert_eq!(expanded("$ORIGIN$LIB").unwrap(), "/olib64");
    }

    #[test]
    fn longer_names_do_not_begin_with_origin() {
        for text in ["$ORIGIN", "$ORIGIN/lib", "$ORIGIN.d", "${ORIGIN}x"] {
            assert!(begins_with_origin(text.as_bytes()), "{text}");
        }
        for text in ["$ORIGINAL/lib", "$ORIGIN_64", "${ORIGINAL}", "${ORIGIN/lib", "/$ORIGIN"] {
            assert!(!begins_with_origin(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_token_without_value_takes_the_text_with_it() {
        let tokens = Tokens { origin: b"/o", lib: b"lib", platform: None };
        assert_eq!(expand(b"/a/$PLATFORM", tokens), None);
    }

    #[test]
    fn origin_keeps_the_path_as_it_was_opened() {
        assert_eq!(origin(b"./d/liba.so", b"/cwd"), b"/cwd/./d");
        assert_eq!(origin(b"/liba.so", b"/cwd"), b"/");
        assert_eq!(origin(b"prog", b"/"), b"/");
    }
}
