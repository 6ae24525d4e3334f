//! The table of machines. e_machine, class, byte order and e_flags select a row; no two rows match
//! the same object.

use super::families::{
    AARCH64, ALPHA, ARC, ARMEL, ARMHF, HPPA, I386, IA64, LOONGARCH64, M68K, MIPS64EL, MIPS64EL_N8,
    MIPSEL, MIPSEL_N8, MIPSN32EL, MIPSN32EL_N8, PPC, PPC64, PPC64LE, RISCV_SINGLE, RISCV_SOFT,
    RISCV32, RISCV64, S390, S390X, SH4, SPARC, SPARC64, X32, X86_64,
};
use super::{Flags, Machine, kinds};
use object::elf;

/// The most frequent machines come first, because a search begins at the first row.
pub(super) static MACHINES: &[Machine] = &[
    X86_64,
    I386,
    AARCH64,
    X32,
    ARMHF,
    ARMEL,
    RISCV64,
    Machine {
        flags: RISCV_SOFT,
        cache_flags: &[0x0f03],
        loaders: &["/lib/ld-linux-riscv64-lp64.so.1"],
        dirs: &["/lib64/lp64/", "/usr/lib64/lp64/"],
        ..RISCV64
    },
    Machine { flags: RISCV_SINGLE, cache_flags: &[], loaders: &[], ..RISCV64 },
    PPC64LE,
    S390X,
    LOONGARCH64,
    PPC64,
    Machine {
        flags: Flags::new(elf::EF_PPC64_ABI, &[2]),
        kinds: &kinds::PPC64_V2,
        loaders: &["/lib64/ld64.so.2"],
        oldest: "GLIBC_2.17",
        ..PPC64
    },
    PPC,
    S390,
    MIPSEL,
    Machine { name: "mips", big: true, ..MIPSEL },
    MIPSEL_N8,
    Machine { name: "mips", big: true, ..MIPSEL_N8 },
    MIPSN32EL,
    Machine { name: "mipsn32", big: true, ..MIPSN32EL },
    MIPSN32EL_N8,
    Machine { name: "mipsn32", big: true, ..MIPSN32EL_N8 },
    MIPS64EL,
    Machine { name: "mips64", big: true, ..MIPS64EL },
    MIPS64EL_N8,
    Machine { name: "mips64", big: true, ..MIPS64EL_N8 },
    SPARC,
    SPARC64,
    ALPHA,
    HPPA,
    M68K,
    SH4,
    Machine { name: "sh4eb", big: true, ..SH4 },
    IA64,
    ARC,
    Machine { name: "arceb", big: true, loaders: &["/lib/ld-linux-arceb.so.2"], ..ARC },
    RISCV32,
    Machine {
        flags: RISCV_SOFT,
        cache_flags: &[0x0f03],
        loaders: &["/lib/ld-linux-riscv32-ilp32.so.1"],
        dirs: &["/lib32/ilp32/", "/usr/lib32/ilp32/"],
        ..RISCV32
    },
    Machine {
        name: "aarch64_be",
        big: true,
        loaders: &["/lib/ld-linux-aarch64_be.so.1"],
        platform: Some("aarch64_be"),
        ..AARCH64
    },
    Machine { name: "armebhf", big: true, ..ARMHF },
    Machine { name: "armeb", big: true, ..ARMEL },
];
