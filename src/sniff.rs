//! What a file is, by its first bytes: all that the walk needs to know of formats. Names and modes of
//! files say nothing.

/// What the first bytes of a file say it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sniffed {
    /// `\x7fELF`
    Elf,
    /// `!<arch>\n` or `!<thin>\n`
    Archive,
    /// Anything else.
    Other,
}

/// How many bytes [`sniff`] wants to see.
pub const SNIFF_LEN: usize = 20;

/// Recognises a format by its magic number.
pub fn sniff(head: &[u8]) -> Sniffed {
    if head.starts_with(&object::elf::ELFMAG) {
        Sniffed::Elf
    } else if head.starts_with(&object::archive::MAGIC)
        || head.starts_with(&object::archive::THIN_MAGIC)
    {
        Sniffed::Archive
    } else {
        Sniffed::Other
    }
}
