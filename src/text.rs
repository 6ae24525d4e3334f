//! Turns bytes from audited files into text that is safe to show: valid UTF-8, one line, without
//! control or bidirectional characters. JSON keeps bytes that are not UTF-8 ([`Text`]).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::ser::Formatter;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Write as _};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The part of a path after its last slash.
pub fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// The directory and the last component of a path, as `parent` and `file_name` give them. A plain
/// path is cut at its last slash, without a search for its components.
pub fn directory_and_name(path: &Path) -> Option<(&Path, &OsStr)> {
    let bytes = path.as_os_str().as_bytes();
    if let Some(at) = memchr::memrchr(b'/', bytes).filter(|at| *at > 0) {
        let (dir, name) = (&bytes[..at], &bytes[at + 1..]);
        let is_plain = !matches!(name, b"" | b"." | b"..");
        if is_plain && !dir.ends_with(b"/") && !dir.ends_with(b"/.") {
            return Some((Path::new(OsStr::from_bytes(dir)), OsStr::from_bytes(name)));
        }
    }
    path.parent().zip(path.file_name())
}

/// Number of leading components that both paths share.
pub fn common_parts(a: &Path, b: &Path) -> usize {
    a.components().zip(b.components()).take_while(|(a, b)| a == b).count()
}

/// True for a name as demanglers write it: it contains `::`, or `(` directly after a name. False
/// for raw names of Go and Zig that contain `(`, such as `main.(*T).M` and
/// `list.List(u8,null).append`.
pub(crate) fn is_demangled(name: &str) -> bool {
    if name.contains("::") {
        return true;
    }
    let is_member = name.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with('.'));
    let follows_name = |pair: &[u8]| match pair {
        [before, b'('] => before.is_ascii_alphanumeric() || b"_>~)".contains(before),
        _ => false,
    };
    !is_member && name.as_bytes().windows(2).any(follows_name)
}

/// True for a character that changes the order or visibility of displayed text (Unicode TR 9 and TR
/// 36).
pub(crate) fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{061c}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// `bytes` as text for a terminal or a log. Control and deceptive characters, and bytes that are
/// not UTF-8, are escaped.
pub fn show(bytes: &[u8]) -> String {
    // Nearly every name is plain ASCII.
    if let Ok(text) = std::str::from_utf8(bytes)
        && text.bytes().all(|b| matches!(b, b' '..=b'~'))
    {
        return text.to_owned();
    }
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() || is_deceptive(c) {
                let _ = write!(out, "{}", c.escape_unicode());
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// A path as text for a terminal or a log, see [`show`].
pub fn show_path(path: &Path) -> String {
    show(path.as_os_str().as_bytes())
}

/// Serialises bytes: as a string if they are UTF-8, else as `{"bytes": "<base64>"}`.
pub struct Text<'a>(pub &'a [u8]);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = std::str::from_utf8(self.0) {
            serializer.serialize_str(text)
        } else {
            let mut map = serializer.serialize_map(Some(1))?;
            let encoded = BASE64.encode(self.0);
            map.serialize_entry("bytes", &encoded)?;
            map.end()
        }
    }
}

/// A type that holds bytes of the audited system, such as a path. In JSON, it has the form of
/// [`Text`].
pub(crate) trait Raw {
    /// The bytes.
    fn bytes(&self) -> &[u8];
    /// The value with these bytes.
    fn of(bytes: Vec<u8>) -> Self;
}

impl Raw for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
    fn of(bytes: Vec<u8>) -> Self {
        bytes
    }
}

impl Raw for Cow<'_, [u8]> {
    fn bytes(&self) -> &[u8] {
        self
    }
    fn of(bytes: Vec<u8>) -> Self {
        Cow::Owned(bytes)
    }
}

impl Raw for PathBuf {
    fn bytes(&self) -> &[u8] {
        self.as_os_str().as_bytes()
    }
    fn of(bytes: Vec<u8>) -> Self {
        OsString::from_vec(bytes).into()
    }
}

impl Raw for Arc<Path> {
    fn bytes(&self) -> &[u8] {
        self.as_os_str().as_bytes()
    }
    fn of(bytes: Vec<u8>) -> Self {
        PathBuf::of(bytes).into()
    }
}

/// For `#[serde(with)]`: bytes as [`Text`].
pub(crate) mod raw {
    use super::{Raw, RawBytes, Text};
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(crate) fn serialize<T: Raw, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        Text(value.bytes()).serialize(to)
    }

    pub(crate) fn deserialize<'de, T: Raw, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        Ok(T::of(RawBytes::deserialize(from)?.0))
    }
}

/// For `#[serde(with)]`: bytes as [`Text`], or null.
pub(crate) mod raw_option {
    use super::{Raw, RawBytes, Text};
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes fields by reference")]
    pub(crate) fn serialize<T: Raw, S: Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(|value| Text(value.bytes())).serialize(to)
    }

    pub(crate) fn deserialize<'de, T: Raw, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<RawBytes>::deserialize(from)?.map(|found| T::of(found.0)))
    }
}

/// The bytes of a [`Text`] in JSON. A report may have hundreds of thousands of names, and each is
/// copied only once.
struct RawBytes(Vec<u8>);

impl<'de> Deserialize<'de> for RawBytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = RawBytes;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a string or {\"bytes\": base64}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RawBytes, E> {
        Ok(RawBytes(text.as_bytes().to_vec()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<RawBytes, E> {
        Ok(RawBytes(text.into_bytes()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawBytes, A::Error> {
        #[derive(Deserialize)]
        struct Encoded {
            bytes: String,
        }
        let Encoded { bytes } = Encoded::deserialize(MapAccessDeserializer::new(map))?;
        BASE64.decode(bytes).map(RawBytes).map_err(de::Error::custom)
    }
}

impl<'a> Text<'a> {
    /// The bytes of a path, for JSON.
    pub fn path(path: &'a Path) -> Self {
        Self(path.as_os_str().as_bytes())
    }
}

/// Writes `value` as JSON that is safe on a terminal: characters that [`show`] escapes become
/// `\u…`, which does not change any value. JSON itself requires `\u…` only for C0 control
/// characters (RFC 8259, section 7).
pub(crate) fn json(out: &mut dyn io::Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Plain))
}

/// Formats compact JSON. Control characters and deceptive characters are escaped.
struct Plain;

impl Formatter for Plain {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // Nearly every name is plain ASCII.
        if fragment.bytes().all(|b| b < 0x7f) {
            return out.write_all(fragment.as_bytes());
        }
        let mut units = [0; 2];
        for c in fragment.chars() {
            if c.is_control() || is_deceptive(c) {
                for unit in c.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}")?;
                }
            } else {
                out.write_all(c.encode_utf8(&mut [0; 4]).as_bytes())?;
            }
        }
        Ok(())
    }
}

/// `word` for a POSIX shell, quoted if necessary. A word that [`show`] would change is put in
/// dollar-single-quotes, with unprintable bytes as octal escapes (POSIX.1-2024, 2.2.4). bash, zsh
/// and ksh support these quotes; older POSIX shells do not.
pub fn shell(word: &[u8]) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"-_./+=:,@%".contains(b);
    let text = show(word);
    if text.as_bytes() != word {
        return dollar_quoted(word);
    }
    if !word.is_empty() && word.iter().all(plain) && !word.starts_with(b"-") {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A path as a word for a POSIX shell, see [`shell`].
pub fn shell_path(path: &Path) -> String {
    let path = path.as_os_str().as_bytes();
    if path.starts_with(b"-") { shell(&[b"./", path].concat()) } else { shell(path) }
}

/// A word in dollar-single-quotes. Every octal escape has three digits: a digit of the word that
/// follows then cannot become part of the escape.
fn dollar_quoted(word: &[u8]) -> String {
    let mut out = "$'".to_owned();
    for byte in word {
        match byte {
            b'\'' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => out.push(char::from(*byte)),
            byte => drop(write!(out, "\\{byte:03o}")),
        }
    }
    out.push('\'');
    out
}

/// The name in `known` that is most similar to the typed text, if one is similar enough.
pub(crate) fn nearest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let typed = plain(typed);
    let near = |name: &'a str| {
        let known = plain(name);
        let score = strsim::damerau_levenshtein(&typed, &known);
        // Among names at the same distance, one that only swaps letters is the likelier intention.
        (score <= 1 + name.len() / 4).then(|| (score, letters(&typed) != letters(&known), name))
    };
    // A comparison takes time proportional to the product of the lengths, and a long text is not a
    // mistyped name.
    let sane = typed.len() <= 64;
    known.into_iter().filter(|_| sane).filter_map(near).min().map(|(.., name)| name)
}

/// The second half of a message about an unknown word. This text asks about the most similar name
/// in `known`; if no name is similar enough, the text is `otherwise`.
pub(crate) fn did_you_mean<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    match nearest(typed, known) {
        Some(name) => format!("did you mean `{name}`?"),
        None => otherwise.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_demangled, json, shell, show};
    use std::ffi::OsStr;
    use std::path::Path;

    #[test]
    fn names_that_demanglers_write() {
        for name in ["Shape::area(double) const", "foo(int)", "llvm::*", "operator()(int)"] {
            assert!(is_demangled(name), "{name}");
        }
        let zig = "array_list.ArrayListAligned(u8,null).append";
        for name in ["_ZNK5Shape4areaEd", "main.(*T).M", zig, "Py*", "gfx90a:xnack+", "{a,b}_*"] {
            assert!(!is_demangled(name), "{name}");
        }
    }

    #[test]
    fn nothing_acts_on_the_terminal() {
        assert_eq!(show(b"a\x1b[31mb\nc"), "a\\u{1b}[31mb\\u{a}c");
        assert_eq!(show("x\u{202e}y".as_bytes()), "x\\u{202e}y");
        assert_eq!(show(b"\xff\xfe"), "\\xff\\xfe");
    }

    #[test]
    fn json_keeps_every_value_and_no_control() {
        let all: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        let mut out = Vec::new();
        json(&mut out, &all).expect("a string is JSON");
        let text = String::from_utf8(out).expect("JSON is UTF-8");
        let acts = |c: char| c.is_control() || super::is_deceptive(c);
        assert_eq!(text.chars().filter(|c| acts(*c)).count(), 0);
        assert_eq!(serde_json::from_str::<String>(&text).expect("JSON"), all);
    }

    #[test]
    fn the_parts_of_a_path_are_those_of_the_standard_library() {
        let parts = ["", "/", "//", "a", ".", "..", "b.so"];
        let mut compared = 0;
        for text in parts.iter().flat_map(|a| parts.map(|b| [*a, b].concat())) {
            for text in parts.map(|end| [&text, "/", end].concat()) {
                let path = Path::new(&text);
                let expected = path.parent().zip(path.file_name());
                let found = super::directory_and_name(path);
                let bytes =
                    |(dir, name): (&Path, &OsStr)| (dir.as_os_str().to_owned(), name.to_owned());
                assert_eq!(found.map(bytes), expected.map(bytes), "{text}");
                compared += 1;
            }
        }
        assert_eq!(compared, 343);
    }

    #[test]
    fn the_nearest_name() {
        let known = ["manylinux_2_12", "manylinux_2_28", "patchelf"];
        for (typed, expected) in [
            ("manylinux_2_82", Some("manylinux_2_28")),
            ("manylinux-2-12", Some("manylinux_2_12")),
            ("Patchlf", Some("patchelf")),
            ("json", None),
        ] {
            assert_eq!(super::nearest(typed, known), expected, "{typed}");
        }
    }

    #[test]
    fn quoting() {
        assert_eq!(shell(b"lib/a.so"), "lib/a.so");
        assert_eq!(shell(b"it's $(x)"), "'it'\\''s $(x)'");
        assert_eq!(shell(b"-rf"), "'-rf'");
        assert_eq!(shell("é".as_bytes()), "'é'");
    }

    #[test]
    fn quoting_of_bytes_that_cannot_be_shown() {
        assert_eq!(shell(b"a\nb"), "$'a\\012b'");
        assert_eq!(shell(b"it's\\1\x01\x31 \xff7"), "$'it\\'s\\\\1\\0011 \\3777'");
        assert_eq!(shell("x\u{202e}y".as_bytes()), "$'x\\342\\200\\256y'");
    }
}
