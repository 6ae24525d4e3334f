//! The target of a loader and of the objects that it accepts.

/// The header fields by which a loader accepts or rejects an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// ELFCLASS64
    pub is_64: bool,
    /// ELFDATA2MSB
    pub big: bool,
    /// e_machine
    pub machine: u16,
    /// e_flags
    pub flags: u32,
    /// True if the loader, like Debian's, skips a file of another machine before it checks e_ident.
    pub machine_first: bool,
}
