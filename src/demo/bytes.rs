//! Buffers of little-endian numbers, and string tables, for the writers of this folder.

/// The bytes of a file that is being written, in little-endian order.
#[derive(Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn halfs(&mut self, values: &[u16]) {
        for value in values {
            self.put(&value.to_le_bytes());
        }
    }

    pub(super) fn words(&mut self, values: &[u32]) {
        for value in values {
            self.put(&value.to_le_bytes());
        }
    }

    pub(super) fn longs(&mut self, values: &[u64]) {
        for value in values {
            self.put(&value.to_le_bytes());
        }
    }

    /// Appends zeros until the buffer has `to` bytes.
    pub(super) fn fill(&mut self, to: u64) {
        while self.len() < to {
            self.0.push(0);
        }
    }

    pub(super) fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    /// Writes an `Elf64_Sym` with global binding and default visibility: a function, or an
    /// undefined symbol if `section` is 0.
    pub(super) fn symbol(&mut self, name: u32, section: u16, value: u64, size: u64) {
        let kind = if section == 0 { 0 } else { 2 };
        self.words(&[name]);
        self.put(&[1 << 4 | kind, 0]);
        self.halfs(&[section]);
        self.longs(&[value, size]);
    }
}

/// An ELF string table, which starts with an empty string.
pub(super) struct StringTable(pub(super) Vec<u8>);

impl StringTable {
    pub(super) fn new() -> Self {
        Self(vec![0])
    }

    /// Adds a text with a terminating zero, and returns its offset.
    pub(super) fn add(&mut self, text: &str) -> u32 {
        let at = small(self.0.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        at
    }
}

/// Converts a number to `u32`. Panics if it does not fit; all numbers of the demonstration fit.
pub(super) fn small(value: u64) -> u32 {
    u32::try_from(value).expect("a number of a small file")
}
