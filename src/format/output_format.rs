//! Formats of output files, as linker scripts (OUTPUT_FORMAT) and the option `-m` of linkers name
//! them.

use crate::format::elf::Target;
use object::elf;

/// The format of an output file, by its name in BFD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFormat {
    pub(super) name: &'static str,
    is_64: bool,
    big: bool,
    machine: elf::Machine,
}

const fn format(name: &'static str, is_64: bool, big: bool, machine: elf::Machine) -> OutputFormat {
    OutputFormat { name, is_64, big, machine }
}

/// The formats that lld 19 knows (`parseBfdName` in `lld/ELF/ScriptParser.cpp`), and more formats
/// of machines for which distributions build packages.
const FORMATS: &[OutputFormat] = &[
    format("elf64-x86-64", true, false, elf::EM_X86_64),
    format("elf32-x86-64", false, false, elf::EM_X86_64),
    format("elf32-i386", false, false, elf::EM_386),
    format("elf32-iamcu", false, false, elf::EM_IAMCU),
    format("elf64-aarch64", true, false, elf::EM_AARCH64),
    format("elf64-littleaarch64", true, false, elf::EM_AARCH64),
    format("elf64-bigaarch64", true, true, elf::EM_AARCH64),
    format("elf32-littlearm", false, false, elf::EM_ARM),
    format("elf32-bigarm", false, true, elf::EM_ARM),
    format("elf64-littleriscv", true, false, elf::EM_RISCV),
    format("elf32-littleriscv", false, false, elf::EM_RISCV),
    format("elf32-loongarch", false, false, elf::EM_LOONGARCH),
    format("elf64-loongarch", true, false, elf::EM_LOONGARCH),
    format("elf32-bigmips", false, true, elf::EM_MIPS),
    format("elf32-tradbigmips", false, true, elf::EM_MIPS),
    format("elf32-ntradbigmips", false, true, elf::EM_MIPS),
    format("elf64-tradbigmips", true, true, elf::EM_MIPS),
    format("elf32-tradlittlemips", false, false, elf::EM_MIPS),
    format("elf32-ntradlittlemips", false, false, elf::EM_MIPS),
    format("elf64-tradlittlemips", true, false, elf::EM_MIPS),
    format("elf32-avr", false, false, elf::EM_AVR),
    format("elf32-hexagon", false, false, elf::EM_HEXAGON),
    format("elf32-msp430", false, false, elf::EM_MSP430),
    format("elf64-powerpcle", true, false, elf::EM_PPC64),
    format("elf64-powerpc", true, true, elf::EM_PPC64),
    format("elf32-powerpc", false, true, elf::EM_PPC),
    format("elf32-powerpcle", false, false, elf::EM_PPC),
    format("elf64-s390", true, true, elf::EM_S390),
    format("elf32-s390", false, true, elf::EM_S390),
    format("elf64-sparc", true, true, elf::EM_SPARCV9),
];

impl OutputFormat {
    /// The format with this name; `None` if it is not in the table. The formats of FreeBSD are those
    /// of other systems with `-freebsd` behind the name.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let name = name.strip_suffix(b"-freebsd").unwrap_or(name);
        FORMATS.iter().find(|format| format.name.as_bytes() == name).copied()
    }

    /// True if objects for `target` have this format.
    pub fn fits(&self, target: Target) -> bool {
        (self.is_64, self.big, self.machine.0) == (target.is_64, target.big, target.machine)
    }
}

/// Emulations, as the option `-m` of linkers names them, with their formats.
const EMULATIONS: &[(&str, &str)] = &[
    ("elf_x86_64", "elf64-x86-64"),
    ("elf32_x86_64", "elf32-x86-64"),
    ("elf_i386", "elf32-i386"),
    ("aarch64elf", "elf64-littleaarch64"),
    ("aarch64linux", "elf64-littleaarch64"),
    ("aarch64elfb", "elf64-bigaarch64"),
    ("aarch64linuxb", "elf64-bigaarch64"),
    ("armelf", "elf32-littlearm"),
    ("armelf_linux_eabi", "elf32-littlearm"),
    ("elf64lriscv", "elf64-littleriscv"),
    ("elf32lriscv", "elf32-littleriscv"),
    ("elf64loongarch", "elf64-loongarch"),
    ("elf64lppc", "elf64-powerpcle"),
    ("elf64ppc", "elf64-powerpc"),
    ("elf32ppc", "elf32-powerpc"),
    ("elf32ppclinux", "elf32-powerpc"),
    ("elf64_s390", "elf64-s390"),
    ("elf_s390", "elf32-s390"),
    ("elf64_sparc", "elf64-sparc"),
];

/// The format of an emulation (`-m NAME` of linkers); `None` for an unknown name.
pub fn emulation(name: &str) -> Option<OutputFormat> {
    let (_, format) = EMULATIONS.iter().find(|(known, _)| *known == name)?;
    OutputFormat::named(format.as_bytes())
}
