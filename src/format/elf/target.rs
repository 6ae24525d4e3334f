//! Which loader an object is for.

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
    /// Debian's loaders pass over a file of another machine before they judge its e_ident.
    pub machine_first: bool,
}
