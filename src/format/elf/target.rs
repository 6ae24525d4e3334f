//! The target of a loader and of the objects that it can take.

/// The properties by which a loader takes an object: class, byte order, machine and e_flags.
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
