//! The differences between machines: the objects that a loader accepts, the effect of relocation
//! types, the flags in ld.so.cache, and the usual paths of loaders. `table` has one row for each
//! machine and ABI, and `families` defines most rows. `kinds` has the relocation types of each row.

mod families;
mod kinds;
mod table;

use super::target::Target;
use kinds::Kinds;
use object::elf;

/// The way in which a relocation looks up its symbol (`elf_machine_type_class`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LookupClass {
    /// Any definition matches. An undefined entry matches if its value is the canonical address of
    /// a PLT slot.
    Plain,
    /// `ELF_RTYPE_CLASS_PLT`: an undefined entry does not match.
    Plt {
        /// True for a jump slot. The loader binds the slot at the first call, unless all symbols of
        /// the object are bound at load.
        slot: bool,
    },
    /// `ELF_RTYPE_CLASS_COPY`: the lookup skips the program itself.
    Copy,
}

/// The effect of a relocation type on symbol lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// No symbol lookup (NONE, RELATIVE, IRELATIVE).
    Nothing,
    /// A symbol lookup of this class.
    Lookup(LookupClass),
}

/// The properties of one machine and ABI that matter to its loader.
#[derive(Clone, Copy)]
pub struct Machine {
    /// The name in reports, such as `x86_64`.
    pub name: &'static str,
    /// e_machine values of its objects, the usual one first.
    numbers: &'static [u16],
    is_64: bool,
    big: bool,
    /// The e_flags that select this row.
    flags: Flags,
    /// The loader's reaction to objects with other e_flags.
    guard: Guard,
    /// The values of EI_OSABI and EI_ABIVERSION that the loader accepts.
    pub(super) ident: IdentRules,
    kinds: &'static Kinds,
    info: Info,
    /// True if a word of DT_HASH has 64 bits (`bits/elfclass.h`, `Elf_Symndx`).
    pub(super) wide_hash: bool,
    /// True for MIPS. The loader for MIPS also looks up the symbols of the global offset table, and
    /// reads DT_MIPS_XHASH instead of DT_GNU_HASH. It uses an undefined symbol as a definition only
    /// if st_other has `STO_MIPS_PLT`.
    pub(super) is_mips: bool,
    /// The smallest page size of a kernel for this machine, in bytes.
    pub(super) page: u64,
    /// The values of `flags` that the loader accepts in entries of ld.so.cache
    /// (`sysdeps/**/dl-cache.h`). An entry with the first value takes precedence.
    pub cache_flags: &'static [i32],
    /// Usual paths of the loader for this machine.
    pub loaders: &'static [&'static str],
    /// Default search directories according to glibc's Makefiles. The audit uses them if it finds
    /// no directories in the loader's binary.
    pub dirs: &'static [&'static str],
    /// Names of glibc-hwcaps subdirectories, the newest first (`sysdeps/**/dl-hwcaps-subdirs.c`).
    pub hwcaps: &'static [&'static str],
    /// AT_PLATFORM, if the kernel gives the same value on every processor.
    pub platform: Option<&'static str>,
    /// The oldest symbol version of libc (`shlib-versions`).
    pub oldest: &'static str,
}

/// A test of e_flags: the masked bits must have one of `values`, the usual one first.
#[derive(Clone, Copy)]
struct Flags {
    mask: u32,
    values: &'static [u32],
}

impl Flags {
    const ANY: Self = Self::new(0, &[0]);

    const fn new(mask: u32, values: &'static [u32]) -> Self {
        Self { mask, values }
    }

    fn hold(self, flags: u32) -> bool {
        self.values.contains(&(flags & self.mask))
    }
}

/// The loader's reaction to an object whose e_machine matches the row, and whose e_flags match
/// another row.
#[derive(Clone, Copy)]
enum Guard {
    /// The loader skips objects of other rows (`elf_machine_matches_host`).
    Pass,
    /// The loader stops at an object for version 5 of the ARM EABI if its e_flags have this bit
    /// (`sysdeps/unix/sysv/linux/arm/ldsodefs.h`, `VALID_FLOAT_ABI`).
    StopAt(u32),
}

/// The EI_OSABI and EI_ABIVERSION that a loader accepts: `VALID_ELF_OSABI` and
/// `VALID_ELF_ABIVERSION` (`sysdeps/**/ldsodefs.h`). Every loader accepts GNU and System V.
#[derive(Clone, Copy)]
pub(super) struct IdentRules {
    /// An EI_OSABI that the loader accepts besides System V and GNU.
    pub(super) osabi: Option<elf::OsAbi>,
    /// Exclusive upper bounds of EI_ABIVERSION: for System V, and for GNU (`LIBC_ABI_MAX`, counted
    /// from `libc-abis`).
    pub(super) below: (u8, u8),
}

impl IdentRules {
    /// The rules of a machine without a row.
    pub(super) const PLAIN: Self = Self { osabi: None, below: (1, 3) };
}

/// The layout of symbol and type in the r_info of a 64-bit relocation.
#[derive(Clone, Copy)]
enum Info {
    /// The symbol in the upper half, the type in the lower.
    Halves,
    /// SPARC: the upper 24 bits of the type are a second addend.
    Sparc,
    /// MIPS: the symbol comes first in memory, then four bytes: a second symbol, and the third,
    /// second and first type.
    Mips,
}

impl Machine {
    /// The effect of a relocation type. A type that `kinds` does not list causes a lookup, because
    /// loaders look the symbol up before they reject the type.
    pub fn effect(&self, kind: u32) -> Effect {
        self.kinds.effect(kind)
    }

    /// True for relocation types that the loader knows. If no complete list is known, true for all
    /// types.
    pub fn knows(&self, kind: u32) -> bool {
        self.kinds.is_known(kind)
    }

    /// Symbol and type of a relocation, from its r_info.
    pub(super) fn split(&self, info: u64) -> (u32, u32) {
        if !self.is_64 {
            let info = (info & 0xffff_ffff) as u32;
            return (info >> 8, info & 0xff);
        }
        let (high, low) = ((info >> 32) as u32, (info & 0xffff_ffff) as u32);
        match self.info {
            Info::Halves => (high, low),
            Info::Sparc => (high, low & 0xff),
            Info::Mips if self.big => (high, low),
            Info::Mips => (low, high.swap_bytes()),
        }
    }

    /// `elf_machine_matches_host`: false for an object that the loader skips. [`Self::valid_flags`]
    /// is false for an object at which the loader stops.
    pub(super) fn takes(&self, machine: u16, flags: u32) -> bool {
        let same_abi = match self.guard {
            Guard::Pass => self.flags.hold(flags),
            Guard::StopAt(_) => true,
        };
        self.numbers.contains(&machine) && same_abi
    }

    /// True if objects of this row may have this e_machine. The e_flags are not checked.
    pub(super) fn is_number(&self, machine: u16) -> bool {
        self.numbers.contains(&machine)
    }

    /// False if the loader stops at an object with these e_flags.
    pub(super) fn valid_flags(&self, flags: u32) -> bool {
        match self.guard {
            Guard::Pass => true,
            Guard::StopAt(bit) => {
                flags & elf::EF_ARM_EABIMASK != elf::EF_ARM_EABI_VER5.0 || flags & bit == 0
            }
        }
    }

    /// `target` with the usual e_flags of this row. Targets of the row that differ only in e_flags
    /// become equal.
    pub fn canonical(&self, target: Target) -> Target {
        Target { flags: self.flags.values.first().copied().unwrap_or(0), ..target }
    }
}

/// The row for `target`, if the loader rules of its machine are known.
pub fn of(target: Target) -> Option<&'static Machine> {
    table::MACHINES.iter().find(|m| {
        m.numbers.contains(&target.machine)
            && m.is_64 == target.is_64
            && m.big == target.big
            && m.flags.hold(target.flags)
    })
}

/// Usual paths of loaders, for all machines.
pub fn loaders() -> impl Iterator<Item = &'static str> {
    table::MACHINES.iter().flat_map(|machine| machine.loaders.iter().copied())
}

/// Names of `glibc-hwcaps` directories of all machines.
pub fn hwcaps() -> impl Iterator<Item = &'static str> {
    table::MACHINES.iter().flat_map(|machine| machine.hwcaps.iter().copied())
}

/// The name of a machine for reports: the name of its row, else a known name or the number.
pub fn name(target: Target) -> String {
    match (of(target), elf::Machine(target.machine)) {
        (Some(machine), _) => machine.name.to_owned(),
        (None, elf::EM_RISCV) => "riscv".to_owned(),
        (None, elf::EM_PPC64) => if target.big { "ppc64" } else { "ppc64le" }.to_owned(),
        (None, elf::EM_MIPS) => "mips".to_owned(),
        (None, elf::EM_AMDGPU) => "amdgpu".to_owned(),
        (None, elf::EM_BPF) => "bpf".to_owned(),
        (None, other) => format!("machine {}", other.0),
    }
}

/// True for the e_machine of code that never runs under a loader: code for a GPU, and BPF.
pub fn is_device(machine: u16) -> bool {
    matches!(elf::Machine(machine), elf::EM_AMDGPU | elf::EM_CUDA | elf::EM_BPF)
}

#[cfg(test)]
mod tests {
    use super::Target;
    use super::table::MACHINES;

    #[test]
    fn no_object_has_two_rows() {
        let targets = MACHINES.iter().flat_map(|row| {
            row.flags.values.iter().flat_map(move |flags| {
                row.numbers.iter().map(move |machine| Target {
                    is_64: row.is_64,
                    big: row.big,
                    machine: *machine,
                    flags: *flags,
                    machine_first: false,
                })
            })
        });
        let mut seen = 0;
        for target in targets {
            let holds = |row: &&super::Machine| {
                row.numbers.contains(&target.machine)
                    && (row.is_64, row.big) == (target.is_64, target.big)
                    && row.flags.hold(target.flags)
            };
            assert_eq!(MACHINES.iter().filter(holds).count(), 1, "{target:?}");
            seen += 1;
        }
        assert!(seen > 60, "{seen} of them");
    }
}
