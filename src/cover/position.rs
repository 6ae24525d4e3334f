//! What a relocation demands of the output: whether a linker takes it in a shared object or in a
//! position-independent program. The classes follow lld (`getRelExpr` and `scan` of
//! `lld/ELF/Relocations.cpp`), which refuses some that GNU ld turns into text relocations.

use object::elf;

/// What the value of a relocation must be at the time of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// Nothing that depends on the kind of output.
    Nothing,
    /// A part of an absolute address: only a program at a fixed address has it.
    Address,
    /// A whole address, which the loader can write where the section is writable.
    Word,
    /// The distance to a definition that no other object may replace.
    Distance,
    /// The place in the thread-local block of the program: no shared object knows it.
    ProgramTls,
}

/// The demand of relocation `kind` on `machine`; nothing for a machine without a table.
pub fn demand(machine: u16, kind: u32) -> Option<Demand> {
    let of_machine: fn(u32) -> Demand = if machine == elf::EM_X86_64.0 {
        x86_64
    } else if machine == elf::EM_386.0 {
        i386
    } else if machine == elf::EM_AARCH64.0 {
        aarch64
    } else if machine == elf::EM_PPC64.0 {
        ppc64
    } else if machine == elf::EM_RISCV.0 {
        riscv
    } else {
        return None;
    };
    Some(of_machine(kind))
}

fn x86_64(kind: u32) -> Demand {
    match kind {
        // R_X86_64_32, 32S, 16, 8
        10..=12 | 14 => Demand::Address,
        // R_X86_64_64
        1 => Demand::Word,
        // R_X86_64_PC32, PC16, PC8, PC64, GOTOFF64
        2 | 13 | 15 | 24 | 25 => Demand::Distance,
        // R_X86_64_TPOFF64, TPOFF32
        18 | 23 => Demand::ProgramTls,
        _ => Demand::Nothing,
    }
}

fn i386(kind: u32) -> Demand {
    match kind {
        // R_386_16, R_386_8
        20 | 22 => Demand::Address,
        // R_386_32
        1 => Demand::Word,
        // R_386_PC32, GOTOFF, PC16, PC8
        2 | 9 | 21 | 23 => Demand::Distance,
        // R_386_TLS_LE, TLS_LE_32
        17 | 34 => Demand::ProgramTls,
        _ => Demand::Nothing,
    }
}

fn aarch64(kind: u32) -> Demand {
    match kind {
        // R_AARCH64_ABS32, ABS16, MOVW_UABS_* and MOVW_SABS_*
        258 | 259 | 263..=272 => Demand::Address,
        // R_AARCH64_ABS64
        257 => Demand::Word,
        // R_AARCH64_PREL*, LD_PREL_LO19, ADR_PREL_LO21, ADR_PREL_PG_HI21 and its NC
        260..=262 | 273..=276 => Demand::Distance,
        // R_AARCH64_TLSLE_*
        544..=559 => Demand::ProgramTls,
        _ => Demand::Nothing,
    }
}

fn ppc64(kind: u32) -> Demand {
    match kind {
        // R_PPC64_ADDR32, ADDR24, ADDR16*, ADDR14*
        1..=9 | 39..=42 | 56 | 57 => Demand::Address,
        // R_PPC64_ADDR64
        38 => Demand::Word,
        // R_PPC64_REL32, REL64
        26 | 44 => Demand::Distance,
        // R_PPC64_TPREL16*, TPREL34
        69..=72 | 95..=100 | 146 => Demand::ProgramTls,
        _ => Demand::Nothing,
    }
}

fn riscv(kind: u32) -> Demand {
    match kind {
        // R_RISCV_HI20, LO12_I, LO12_S
        26..=28 => Demand::Address,
        // R_RISCV_64
        2 => Demand::Word,
        // R_RISCV_PCREL_HI20
        23 => Demand::Distance,
        // R_RISCV_TPREL_HI20, LO12_I, LO12_S, ADD
        29..=32 => Demand::ProgramTls,
        _ => Demand::Nothing,
    }
}
