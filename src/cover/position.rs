//! The requirements of relocations on the output. These requirements decide if a linker accepts a
//! relocation in a shared object or in a position-independent program. The classes follow lld
//! (`getRelExpr` and `scan` of `lld/ELF/Relocations.cpp`), which rejects some relocations that GNU
//! ld turns into text relocations.

use crate::format::elf::Target;
use object::elf::{self, RelocationType};

/// The value that the linker must know for a relocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// Nothing that depends on the kind of output.
    Nothing,
    /// A part of an absolute address: it is known only in a program at a fixed address.
    Address,
    /// A whole address: the loader can write it if the section is writable.
    Word,
    /// The distance to a definition that no other object may replace.
    Distance,
    /// The offset of thread-local data in the program's block: it is unknown in a shared object.
    ProgramTls,
}

/// The demand of relocation `kind` on the machine of `target`; `None` for a machine without a
/// table.
pub fn demand(target: Target, kind: u32) -> Option<Demand> {
    let of_machine: fn(RelocationType) -> Demand = match elf::Machine(target.machine) {
        elf::EM_X86_64 => x86_64,
        elf::EM_386 => i386,
        elf::EM_AARCH64 => aarch64,
        elf::EM_PPC64 => ppc64,
        elf::EM_RISCV if !target.is_64 => riscv32,
        elf::EM_RISCV => riscv,
        _ => return None,
    };
    Some(of_machine(RelocationType(kind)))
}

/// The name of relocation `kind` on the machine of `target`, as linkers print it: `R_X86_64_PC32`.
/// A type without a name becomes `relocation type 2`.
pub fn relocation_name(target: Target, kind: u32) -> String {
    let names = match elf::Machine(target.machine) {
        elf::EM_X86_64 => &elf::NAMES_R_X86_64,
        elf::EM_386 => &elf::NAMES_R_386,
        elf::EM_AARCH64 => &elf::NAMES_R_AARCH64,
        elf::EM_PPC64 => &elf::NAMES_R_PPC64,
        elf::EM_RISCV => &elf::NAMES_R_RISCV,
        _ => return format!("relocation type {kind}"),
    };
    let name = names.name(RelocationType(kind));
    name.map_or_else(|| format!("relocation type {kind}"), str::to_owned)
}

fn x86_64(kind: RelocationType) -> Demand {
    match kind {
        elf::R_X86_64_32 | elf::R_X86_64_32S | elf::R_X86_64_16 | elf::R_X86_64_8 => {
            Demand::Address
        }
        elf::R_X86_64_64 => Demand::Word,
        elf::R_X86_64_PC32
        | elf::R_X86_64_PC16
        | elf::R_X86_64_PC8
        | elf::R_X86_64_PC64
        | elf::R_X86_64_GOTOFF64 => Demand::Distance,
        elf::R_X86_64_TPOFF64 | elf::R_X86_64_TPOFF32 => Demand::ProgramTls,
        _ => Demand::Nothing,
    }
}

fn i386(kind: RelocationType) -> Demand {
    match kind {
        elf::R_386_16 | elf::R_386_8 => Demand::Address,
        elf::R_386_32 => Demand::Word,
        elf::R_386_PC32 | elf::R_386_GOTOFF | elf::R_386_PC16 | elf::R_386_PC8 => Demand::Distance,
        elf::R_386_TLS_LE | elf::R_386_TLS_LE_32 => Demand::ProgramTls,
        _ => Demand::Nothing,
    }
}

fn aarch64(kind: RelocationType) -> Demand {
    match kind {
        elf::R_AARCH64_ABS32
        | elf::R_AARCH64_ABS16
        | elf::R_AARCH64_MOVW_UABS_G0
        | elf::R_AARCH64_MOVW_UABS_G0_NC
        | elf::R_AARCH64_MOVW_UABS_G1
        | elf::R_AARCH64_MOVW_UABS_G1_NC
        | elf::R_AARCH64_MOVW_UABS_G2
        | elf::R_AARCH64_MOVW_UABS_G2_NC
        | elf::R_AARCH64_MOVW_UABS_G3
        | elf::R_AARCH64_MOVW_SABS_G0
        | elf::R_AARCH64_MOVW_SABS_G1
        | elf::R_AARCH64_MOVW_SABS_G2 => Demand::Address,
        elf::R_AARCH64_ABS64 => Demand::Word,
        elf::R_AARCH64_PREL64
        | elf::R_AARCH64_PREL32
        | elf::R_AARCH64_PREL16
        | elf::R_AARCH64_LD_PREL_LO19
        | elf::R_AARCH64_ADR_PREL_LO21
        | elf::R_AARCH64_ADR_PREL_PG_HI21
        | elf::R_AARCH64_ADR_PREL_PG_HI21_NC => Demand::Distance,
        elf::R_AARCH64_TLSLE_MOVW_TPREL_G2
        | elf::R_AARCH64_TLSLE_MOVW_TPREL_G1
        | elf::R_AARCH64_TLSLE_MOVW_TPREL_G1_NC
        | elf::R_AARCH64_TLSLE_MOVW_TPREL_G0
        | elf::R_AARCH64_TLSLE_MOVW_TPREL_G0_NC
        | elf::R_AARCH64_TLSLE_ADD_TPREL_HI12
        | elf::R_AARCH64_TLSLE_ADD_TPREL_LO12
        | elf::R_AARCH64_TLSLE_ADD_TPREL_LO12_NC
        | elf::R_AARCH64_TLSLE_LDST8_TPREL_LO12
        | elf::R_AARCH64_TLSLE_LDST8_TPREL_LO12_NC
        | elf::R_AARCH64_TLSLE_LDST16_TPREL_LO12
        | elf::R_AARCH64_TLSLE_LDST16_TPREL_LO12_NC
        | elf::R_AARCH64_TLSLE_LDST32_TPREL_LO12
        | elf::R_AARCH64_TLSLE_LDST32_TPREL_LO12_NC
        | elf::R_AARCH64_TLSLE_LDST64_TPREL_LO12
        | elf::R_AARCH64_TLSLE_LDST64_TPREL_LO12_NC
        | elf::R_AARCH64_TLSLE_LDST128_TPREL_LO12
        | elf::R_AARCH64_TLSLE_LDST128_TPREL_LO12_NC => Demand::ProgramTls,
        _ => Demand::Nothing,
    }
}

/// The value is from `include/elf/ppc64.h` of binutils: the crate `object` does not define this
/// type.
const R_PPC64_TPREL34: RelocationType = RelocationType(146);

fn ppc64(kind: RelocationType) -> Demand {
    match kind {
        elf::R_PPC64_ADDR32
        | elf::R_PPC64_ADDR24
        | elf::R_PPC64_ADDR16
        | elf::R_PPC64_ADDR16_LO
        | elf::R_PPC64_ADDR16_HI
        | elf::R_PPC64_ADDR16_HA
        | elf::R_PPC64_ADDR14
        | elf::R_PPC64_ADDR14_BRTAKEN
        | elf::R_PPC64_ADDR14_BRNTAKEN
        | elf::R_PPC64_ADDR16_HIGHER
        | elf::R_PPC64_ADDR16_HIGHERA
        | elf::R_PPC64_ADDR16_HIGHEST
        | elf::R_PPC64_ADDR16_HIGHESTA
        | elf::R_PPC64_ADDR16_DS
        | elf::R_PPC64_ADDR16_LO_DS
        | elf::R_PPC64_ADDR16_HIGH
        | elf::R_PPC64_ADDR16_HIGHA => Demand::Address,
        elf::R_PPC64_ADDR64 => Demand::Word,
        elf::R_PPC64_REL32 | elf::R_PPC64_REL64 => Demand::Distance,
        elf::R_PPC64_TPREL16
        | elf::R_PPC64_TPREL16_LO
        | elf::R_PPC64_TPREL16_HI
        | elf::R_PPC64_TPREL16_HA
        | elf::R_PPC64_TPREL16_DS
        | elf::R_PPC64_TPREL16_LO_DS
        | elf::R_PPC64_TPREL16_HIGHER
        | elf::R_PPC64_TPREL16_HIGHERA
        | elf::R_PPC64_TPREL16_HIGHEST
        | elf::R_PPC64_TPREL16_HIGHESTA
        | elf::R_PPC64_TPREL16_HIGH
        | elf::R_PPC64_TPREL16_HIGHA
        | R_PPC64_TPREL34 => Demand::ProgramTls,
        _ => Demand::Nothing,
    }
}

fn riscv(kind: RelocationType) -> Demand {
    match kind {
        elf::R_RISCV_32 | elf::R_RISCV_HI20 | elf::R_RISCV_LO12_I | elf::R_RISCV_LO12_S => {
            Demand::Address
        }
        elf::R_RISCV_64 => Demand::Word,
        elf::R_RISCV_PCREL_HI20 => Demand::Distance,
        elf::R_RISCV_TPREL_HI20
        | elf::R_RISCV_TPREL_LO12_I
        | elf::R_RISCV_TPREL_LO12_S
        | elf::R_RISCV_TPREL_ADD => Demand::ProgramTls,
        _ => Demand::Nothing,
    }
}

fn riscv32(kind: RelocationType) -> Demand {
    match kind {
        elf::R_RISCV_32 => Demand::Word,
        _ => riscv(kind),
    }
}
