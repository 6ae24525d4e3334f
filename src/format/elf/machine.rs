//! What differs between machines: which objects a loader takes, how relocation types look symbols
//! up, which cache entries are its own, and where a system keeps its loader. One row a machine.
//! `header`, `relocs` and `resolve` are the callers.

use super::header::{Header, Target};
use object::elf;

/// How a relocation looks up its symbol (`elf_machine_type_class`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LookupClass {
    /// Any definition, also an undefined entry that has a value (the canonical address of a PLT slot).
    Plain,
    /// `ELF_RTYPE_CLASS_PLT`: an undefined entry does not count.
    Plt {
        /// A jump slot: bound at the first call unless the object is bound at load.
        slot: bool,
    },
    /// `ELF_RTYPE_CLASS_COPY`: the program itself is passed over.
    Copy,
}

/// What a relocation type asks of the symbol tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// No symbol is looked up (NONE, RELATIVE, IRELATIVE).
    Nothing,
    /// The symbol is looked up in this way.
    Lookup(LookupClass),
}

/// One machine as its loader sees it.
pub struct Machine {
    /// The name in reports, as `readelf` and package names have it.
    pub name: &'static str,
    number: elf::Machine,
    is_64: bool,
    /// Relocation type to effect.
    pub effect: fn(u32) -> Effect,
    /// `flags` of the ld.so.cache entries for this machine (`sysdeps/generic/ldconfig.h`).
    pub cache_flags: &'static [i32],
    /// Where systems keep the loader that `ldd` runs for this machine.
    pub loaders: &'static [&'static str],
    /// The newest glibc-hwcaps subdirectories first (`sysdeps/**/dl-hwcaps-subdirs.c`).
    pub hwcaps: &'static [&'static str],
}

const MACHINES: &[Machine] = &[
    Machine {
        name: "x86_64",
        number: elf::EM_X86_64,
        is_64: true,
        effect: x86_64,
        cache_flags: &[0x0303],
        loaders: &["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-x86-64.so.2"],
        hwcaps: &["x86-64-v4", "x86-64-v3", "x86-64-v2"],
    },
    Machine {
        name: "x32",
        number: elf::EM_X86_64,
        is_64: false,
        effect: x86_64,
        cache_flags: &[0x0803],
        loaders: &["/libx32/ld-linux-x32.so.2"],
        hwcaps: &["x86-64-v4", "x86-64-v3", "x86-64-v2"],
    },
    Machine {
        name: "i386",
        number: elf::EM_386,
        is_64: false,
        effect: i386,
        cache_flags: &[0x0003, 1],
        loaders: &["/lib/ld-linux.so.2"],
        hwcaps: &[],
    },
];

/// The row of the machine that `target` names, if its loader rules are known.
pub fn of(target: Target) -> Option<&'static Machine> {
    MACHINES.iter().find(|m| m.number.0 == target.machine && m.is_64 == target.is_64 && !target.big)
}

/// Names of `glibc-hwcaps` directories of all machines.
pub fn hwcaps() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().flat_map(|machine| machine.hwcaps.iter().copied())
}

/// The name of a machine for reports: the row's, else its number.
pub fn name(header: &Header) -> String {
    match (of(header.target()), elf::Machine(header.machine)) {
        (Some(machine), _) => machine.name.to_owned(),
        (None, elf::EM_AARCH64) => "aarch64".to_owned(),
        (None, elf::EM_ARM) => "arm".to_owned(),
        (None, elf::EM_RISCV) => "riscv".to_owned(),
        (None, elf::EM_PPC64) => if header.big { "ppc64" } else { "ppc64le" }.to_owned(),
        (None, elf::EM_PPC) => "ppc".to_owned(),
        (None, elf::EM_S390) => if header.is_64 { "s390x" } else { "s390" }.to_owned(),
        (None, elf::EM_MIPS) => "mips".to_owned(),
        (None, elf::EM_SPARC | elf::EM_SPARCV9) => "sparc".to_owned(),
        (None, elf::EM_LOONGARCH) => "loongarch".to_owned(),
        (None, elf::EM_AMDGPU) => "amdgpu".to_owned(),
        (None, elf::EM_BPF) => "bpf".to_owned(),
        (None, other) => format!("machine {}", other.0),
    }
}

/// True for code that runs on an accelerator or inside another program and never under a loader.
pub fn is_device(machine: u16) -> bool {
    matches!(elf::Machine(machine), elf::EM_AMDGPU | elf::EM_CUDA | elf::EM_BPF)
}

fn x86_64(kind: u32) -> Effect {
    use LookupClass::{Copy, Plain, Plt};
    match elf::RelocationType(kind) {
        elf::R_X86_64_NONE
        | elf::R_X86_64_RELATIVE
        | elf::R_X86_64_RELATIVE64
        | elf::R_X86_64_IRELATIVE => Effect::Nothing,
        elf::R_X86_64_JUMP_SLOT => Effect::Lookup(Plt { slot: true }),
        elf::R_X86_64_DTPMOD64
        | elf::R_X86_64_DTPOFF64
        | elf::R_X86_64_TPOFF64
        | elf::R_X86_64_TLSDESC => Effect::Lookup(Plt { slot: false }),
        elf::R_X86_64_COPY => Effect::Lookup(Copy),
        _ => Effect::Lookup(Plain),
    }
}

fn i386(kind: u32) -> Effect {
    use LookupClass::{Copy, Plain, Plt};
    match elf::RelocationType(kind) {
        elf::R_386_NONE | elf::R_386_RELATIVE | elf::R_386_IRELATIVE => Effect::Nothing,
        elf::R_386_JMP_SLOT => Effect::Lookup(Plt { slot: true }),
        elf::R_386_TLS_DTPMOD32
        | elf::R_386_TLS_DTPOFF32
        | elf::R_386_TLS_TPOFF32
        | elf::R_386_TLS_TPOFF
        | elf::R_386_TLS_DESC => Effect::Lookup(Plt { slot: false }),
        elf::R_386_COPY => Effect::Lookup(Copy),
        _ => Effect::Lookup(Plain),
    }
}
