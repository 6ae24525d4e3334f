//! The target of a loader and of the objects that it accepts.

/// The header fields by which a loader accepts or rejects an object, and the order of the loader's
/// checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// True if EI_CLASS is ELFCLASS64.
    pub is_64: bool,
    /// True if EI_DATA is ELFDATA2MSB.
    pub big: bool,
    /// Machine (e_machine), such as EM_X86_64.
    pub machine: u16,
    /// Flags of the machine (e_flags), such as the ABI on ARM.
    pub flags: u32,
    /// True if the loader, like Debian's, skips a file of another machine before it checks e_ident.
    pub machine_first: bool,
}
