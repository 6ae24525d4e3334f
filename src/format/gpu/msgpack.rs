//! Reads MessagePack (specification: msgpack.org) value by value. Code objects and Tensile's
//! indexes have maps of millions of entries, and the audit needs only a few of these entries.

/// Upper bound for the depth of nested maps and lists.
const DEEPEST: usize = 32;

/// One value, without the content of maps and lists.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum MsgpackValue<'b> {
    Nil,
    Bool(bool),
    Int(u64),
    /// A number with a signed or floating-point type, a negative number, or an extension.
    Other,
    Str(&'b [u8]),
    /// Number of pairs that follow.
    Map(usize),
    /// Number of values that follow.
    List(usize),
}

/// Reads values one after another. Methods that read return `None` if the data is damaged.
pub(super) struct MsgpackReader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> MsgpackReader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let found = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(found)
    }

    /// A big-endian number of `width` bytes.
    fn number(&mut self, width: usize) -> Option<u64> {
        Some(self.take(width)?.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    fn length(&mut self, width: usize) -> Option<usize> {
        usize::try_from(self.number(width)?).ok()
    }

    /// The next value.
    pub(super) fn next(&mut self) -> Option<MsgpackValue<'b>> {
        let [tag] = *self.take(1)? else { return None };
        Some(match tag {
            0x00..=0x7f => MsgpackValue::Int(tag.into()),
            0x80..=0x8f => MsgpackValue::Map((tag & 15).into()),
            0x90..=0x9f => MsgpackValue::List((tag & 15).into()),
            0xa0..=0xbf => MsgpackValue::Str(self.take((tag & 31).into())?),
            0xc0 => MsgpackValue::Nil,
            0xc2 | 0xc3 => MsgpackValue::Bool(tag == 0xc3),
            0xc4..=0xc6 | 0xd9..=0xdb => {
                let first = if tag >= 0xd9 { 0xd9 } else { 0xc4 };
                let len = self.length(1 << (tag - first))?;
                MsgpackValue::Str(self.take(len)?)
            }
            0xc7..=0xc9 => {
                let len = self.length(1 << (tag - 0xc7))?;
                self.take(len.checked_add(1)?)?;
                MsgpackValue::Other
            }
            0xca | 0xcb => {
                self.take(if tag == 0xca { 4 } else { 8 })?;
                MsgpackValue::Other
            }
            0xcc..=0xcf => MsgpackValue::Int(self.number(1 << (tag - 0xcc))?),
            0xd0..=0xd3 => {
                self.take(1 << (tag - 0xd0))?;
                MsgpackValue::Other
            }
            0xd4..=0xd8 => {
                self.take((1 << (tag - 0xd4)) + 1)?;
                MsgpackValue::Other
            }
            0xdc | 0xdd => MsgpackValue::List(self.length(if tag == 0xdc { 2 } else { 4 })?),
            0xde | 0xdf => MsgpackValue::Map(self.length(if tag == 0xde { 2 } else { 4 })?),
            0xe0..=0xff => MsgpackValue::Other,
            0xc1 => return None,
        })
    }

    /// Skips the content of `value`, which was just read.
    pub(super) fn skip(&mut self, value: MsgpackValue<'b>) -> Option<()> {
        self.skip_below(value, 0)
    }

    fn skip_below(&mut self, value: MsgpackValue<'b>, depth: usize) -> Option<()> {
        let count = match value {
            MsgpackValue::Map(pairs) => pairs.checked_mul(2)?,
            MsgpackValue::List(count) => count,
            _ => 0,
        };
        if depth > DEEPEST {
            return None;
        }
        for _ in 0..count {
            let inner = self.next()?;
            self.skip_below(inner, depth + 1)?;
        }
        Some(())
    }

    /// Reads a map. Calls `visit` for each key that is a string; `visit` must read the value of the
    /// key from the reader. Pairs with other keys are skipped.
    pub(super) fn map(
        &mut self,
        mut visit: impl FnMut(&mut Self, &'b [u8]) -> Option<()>,
    ) -> Option<()> {
        let MsgpackValue::Map(pairs) = self.next()? else { return None };
        for _ in 0..pairs {
            match self.next()? {
                MsgpackValue::Str(key) => visit(self, key)?,
                other => {
                    self.skip(other)?;
                    self.skip_next()?;
                }
            }
        }
        Some(())
    }

    /// Skips the next value.
    pub(super) fn skip_next(&mut self) -> Option<()> {
        let value = self.next()?;
        self.skip(value)
    }
}

/// All strings that are values of the key `key`, at any depth. `None` if the data is damaged.
pub(super) fn values_of<'b>(bytes: &'b [u8], key: &[u8]) -> Option<Vec<&'b [u8]>> {
    let mut out = Vec::new();
    let mut reader = MsgpackReader::new(bytes);
    collect(&mut reader, key, &mut out, 0)?;
    Some(out)
}

fn collect<'b>(
    reader: &mut MsgpackReader<'b>,
    wanted: &[u8],
    out: &mut Vec<&'b [u8]>,
    depth: usize,
) -> Option<()> {
    if depth > DEEPEST {
        return None;
    }
    match reader.next()? {
        MsgpackValue::Map(pairs) => {
            for _ in 0..pairs {
                let key = reader.next()?;
                reader.skip(key)?;
                let before = reader.at;
                if key == MsgpackValue::Str(wanted)
                    && let Some(MsgpackValue::Str(value)) = reader.next()
                {
                    out.push(value);
                } else {
                    reader.at = before;
                    collect(reader, wanted, out, depth + 1)?;
                }
            }
        }
        MsgpackValue::List(count) => {
            for _ in 0..count {
                collect(reader, wanted, out, depth + 1)?;
            }
        }
        _ => {}
    }
    Some(())
}

/// The strings among the values of the outermost map. `None` if the data is damaged or is not a
/// map.
pub(super) fn strings(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut reader = MsgpackReader::new(bytes);
    let MsgpackValue::Map(pairs) = reader.next()? else { return None };
    let mut out = Vec::new();
    for _ in 0..pairs {
        reader.skip_next()?;
        match reader.next()? {
            MsgpackValue::Str(text) => out.push(text),
            other => reader.skip(other)?,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{MsgpackReader, MsgpackValue, strings, values_of};

    #[test]
    fn values_of_all_forms() {
        let bytes = [0x82, 0xa1, b'a', 0xcd, 1, 2, 0xd9, 1, b'b', 0x92, 0xc3, 0xca, 0, 0, 0, 0];
        let mut reader = MsgpackReader::new(&bytes);
        assert_eq!(reader.next(), Some(MsgpackValue::Map(2)));
        assert_eq!(reader.next(), Some(MsgpackValue::Str(b"a")));
        assert_eq!(reader.next(), Some(MsgpackValue::Int(0x102)));
        assert_eq!(reader.next(), Some(MsgpackValue::Str(b"b")));
        assert_eq!(reader.next(), Some(MsgpackValue::List(2)));
        assert_eq!(reader.next(), Some(MsgpackValue::Bool(true)));
        assert_eq!(reader.next(), Some(MsgpackValue::Other));
        assert_eq!(reader.next(), None);
    }

    #[test]
    fn damage_ends_and_does_not_allocate() {
        assert_eq!(values_of(&[0xdf, 0xff, 0xff, 0xff, 0xff], b"k"), None);
        assert_eq!(values_of(&[0x91; 100], b"k"), None);
        let nested = [0x81, 0xa1, b'x', 0x91, 0x81, 0xa1, b'k', 0xa1, b'v'];
        assert_eq!(values_of(&nested, b"k"), Some(vec![&b"v"[..]]));
        assert_eq!(strings(&[0x82, 0, 0xa1, b'a', 51, 0xc0]), Some(vec![&b"a"[..]]));
        assert_eq!(strings(&[0x82, 0, 0xa1, b'a', 51]), None);
        assert_eq!(strings(&[0xa1, b'a']), None);
    }
}
