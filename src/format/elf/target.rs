//! The target of an object: the loaders that can take it.

/// The objects that one loader takes: those of its own class, byte order and machine.
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
    /// True if the loader skips a file of another machine before it checks e_ident, as Debian's do.
    pub machine_first: bool,
}
