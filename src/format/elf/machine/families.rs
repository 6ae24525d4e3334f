//! The rows of each family of machines. `table` uses them directly or with changes. The values are
//! from glibc's `sysdeps/`: `dl-machine.h`, `dl-cache.h`, `shlib-versions` and `configure.ac`
//! (`LIBC_SLIBDIR_RTLDDIR`) of each machine.

use super::kinds;
use super::{Flags, Guard, IdentRules, Info, Machine};
use object::elf;

/// x86, PowerPC, SPARC and RISC-V: their `libc-abis` lists IFUNC besides UNIQUE and ABSOLUTE. The
/// bound for GNU is therefore higher by one than in [`IdentRules::PLAIN`].
const IDENT_IFUNC: IdentRules = IdentRules { osabi: None, below: (1, 4) };
/// MIPS (`sysdeps/unix/sysv/linux/mips`): the ABI versions after 0 are MIPS_PLT, UNIQUE,
/// MIPS_O32_FP64, ABSOLUTE and MIPS_XHASH.
const IDENT_MIPS: IdentRules = IdentRules { osabi: None, below: (6, 6) };
const IDENT_ARM: IdentRules =
    IdentRules { osabi: Some(elf::ELFOSABI_ARM_AEABI), below: IdentRules::PLAIN.below };

/// Defaults for other rows: a 32-bit little-endian machine with the directories `/lib/` and
/// `/usr/lib/`.
const BASE: Machine = Machine {
    name: "",
    numbers: &[],
    is_64: false,
    big: false,
    flags: Flags::ANY,
    guard: Guard::Pass,
    ident: IdentRules::PLAIN,
    kinds: &kinds::X86_64,
    info: Info::Halves,
    wide_hash: false,
    is_mips: false,
    page: 4096,
    cache_flags: &[0x0003, 1],
    loaders: &[],
    dirs: &["/lib/", "/usr/lib/"],
    hwcaps: &[],
    platform: None,
    oldest: "GLIBC_2.0",
};

const BASE64: Machine = Machine { is_64: true, dirs: &["/lib64/", "/usr/lib64/"], ..BASE };

pub(super) const X86_64: Machine = Machine {
    name: "x86_64",
    numbers: &[elf::EM_X86_64.0],
    ident: IDENT_IFUNC,
    kinds: &kinds::X86_64,
    cache_flags: &[0x0303],
    loaders: &["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-x86-64.so.2"],
    hwcaps: &["x86-64-v4", "x86-64-v3", "x86-64-v2"],
    platform: Some("x86_64"),
    oldest: "GLIBC_2.2.5",
    ..BASE64
};

pub(super) const X32: Machine = Machine {
    name: "x32",
    is_64: false,
    cache_flags: &[0x0803],
    loaders: &["/libx32/ld-linux-x32.so.2"],
    dirs: &["/libx32/", "/usr/libx32/"],
    oldest: "GLIBC_2.16",
    ..X86_64
};

pub(super) const I386: Machine = Machine {
    name: "i386",
    numbers: &[elf::EM_386.0],
    ident: IDENT_IFUNC,
    kinds: &kinds::I386,
    loaders: &["/lib/ld-linux.so.2"],
    platform: Some("i686"),
    ..BASE
};

pub(super) const AARCH64: Machine = Machine {
    name: "aarch64",
    numbers: &[elf::EM_AARCH64.0],
    kinds: &kinds::AARCH64,
    cache_flags: &[0x0a03],
    loaders: &["/lib/ld-linux-aarch64.so.1"],
    platform: Some("aarch64"),
    oldest: "GLIBC_2.17",
    ..BASE64
};

/// The e_flags bit of a hard-float object. An object that passes no floats has neither this bit nor
/// [`SOFT`].
const HARD: u32 = elf::EF_ARM_ABI_FLOAT_HARD;
const SOFT: u32 = elf::EF_ARM_ABI_FLOAT_SOFT;

pub(super) const ARMHF: Machine = Machine {
    name: "armhf",
    numbers: &[elf::EM_ARM.0],
    flags: Flags::new(HARD, &[HARD]),
    guard: Guard::StopAt(SOFT),
    ident: IDENT_ARM,
    kinds: &kinds::ARM,
    // The loader also accepts entries of ld.so.cache without a float ABI.
    cache_flags: &[0x0003, 0x0903],
    loaders: &["/lib/ld-linux-armhf.so.3"],
    oldest: "GLIBC_2.4",
    ..BASE
};

pub(super) const ARMEL: Machine = Machine {
    name: "armel",
    flags: Flags::new(HARD, &[0]),
    guard: Guard::StopAt(HARD),
    cache_flags: &[0x0003, 0x0b03],
    loaders: &["/lib/ld-linux.so.3"],
    ..ARMHF
};

/// The bits of e_flags that state the float ABI (EF_RISCV_FLOAT_ABI). glibc has builds only for
/// soft and double floats.
const RISCV_FLOAT: u32 = elf::EF_RISCV_FLOAT_ABI;

pub(super) const RISCV64: Machine = Machine {
    name: "riscv64",
    numbers: &[elf::EM_RISCV.0],
    flags: Flags::new(RISCV_FLOAT, &[elf::EF_RISCV_FLOAT_ABI_DOUBLE.0]),
    ident: IDENT_IFUNC,
    kinds: &kinds::RISCV64,
    cache_flags: &[0x1003],
    loaders: &["/lib/ld-linux-riscv64-lp64d.so.1"],
    dirs: &["/lib64/lp64d/", "/usr/lib64/lp64d/"],
    oldest: "GLIBC_2.27",
    ..BASE64
};

pub(super) const RISCV32: Machine = Machine {
    name: "riscv32",
    is_64: false,
    kinds: &kinds::RISCV32,
    loaders: &["/lib/ld-linux-riscv32-ilp32d.so.1"],
    dirs: &["/lib32/ilp32d/", "/usr/lib32/ilp32d/"],
    oldest: "GLIBC_2.33",
    ..RISCV64
};

pub(super) const RISCV_SOFT: Flags = Flags::new(RISCV_FLOAT, &[elf::EF_RISCV_FLOAT_ABI_SOFT.0]);
pub(super) const RISCV_SINGLE: Flags = Flags::new(RISCV_FLOAT, &[elf::EF_RISCV_FLOAT_ABI_SINGLE.0]);

/// Little-endian 64-bit PowerPC with the ELFv2 ABI. An object that states no ABI in e_flags has the
/// usual ABI of its byte order.
pub(super) const PPC64LE: Machine = Machine {
    name: "ppc64le",
    numbers: &[elf::EM_PPC64.0],
    flags: Flags::new(elf::EF_PPC64_ABI, &[2, 0]),
    ident: IDENT_IFUNC,
    kinds: &kinds::PPC64_V2,
    cache_flags: &[0x0503],
    loaders: &["/lib64/ld64.so.2"],
    hwcaps: &["power10", "power9"],
    oldest: "GLIBC_2.17",
    ..BASE64
};

pub(super) const PPC64: Machine = Machine {
    name: "ppc64",
    big: true,
    flags: Flags::new(elf::EF_PPC64_ABI, &[1, 0]),
    kinds: &kinds::PPC64_V1,
    loaders: &["/lib64/ld64.so.1"],
    hwcaps: &[],
    oldest: "GLIBC_2.3",
    ..PPC64LE
};

pub(super) const PPC: Machine = Machine {
    name: "ppc",
    numbers: &[elf::EM_PPC.0],
    big: true,
    ident: IDENT_IFUNC,
    kinds: &kinds::PPC32,
    loaders: &["/lib/ld.so.1"],
    ..BASE
};

/// `EM_S390_OLD` of glibc's elf.h.
const EM_S390_OLD: u16 = 0xa390;

pub(super) const S390X: Machine = Machine {
    name: "s390x",
    numbers: &[elf::EM_S390.0, EM_S390_OLD],
    big: true,
    kinds: &kinds::S390,
    wide_hash: true,
    cache_flags: &[0x0403],
    loaders: &["/lib/ld64.so.1", "/lib64/ld64.so.1"],
    hwcaps: &["z16", "z15", "z14", "z13"],
    oldest: "GLIBC_2.2",
    ..BASE64
};

/// The loader does not check EF_S390_HIGH_GPRS, the e_flags bit of objects that use the upper
/// halves of the registers.
pub(super) const S390: Machine = Machine {
    name: "s390",
    numbers: S390X.numbers,
    big: true,
    kinds: &kinds::S390,
    loaders: &["/lib/ld.so.1"],
    ..BASE
};

const NAN2008: u32 = elf::EF_MIPS_NAN2008.0;
const ABI2: u32 = elf::EF_MIPS_ABI2.0;
/// The bits of e_flags that select a row for MIPS. The mask includes EF_MIPS_FP64, but no row has
/// this bit: no loader accepts an object with EF_MIPS_FP64.
const MIPS_ABI: u32 = NAN2008 | elf::EF_MIPS_FP64.0;
const MIPS32_ABI: u32 = MIPS_ABI | ABI2;
const N8_LOADER: &[&str] = &["/lib/ld-linux-mipsn8.so.1"];
const N8_LOADER32: &[&str] = &["/lib32/ld-linux-mipsn8.so.1"];
const N8_LOADER64: &[&str] = &["/lib64/ld-linux-mipsn8.so.1"];

/// Little-endian MIPS with the o32 ABI.
pub(super) const MIPSEL: Machine = Machine {
    name: "mipsel",
    numbers: &[elf::EM_MIPS.0, elf::EM_MIPS_RS3_LE.0],
    flags: Flags::new(MIPS32_ABI, &[0]),
    ident: IDENT_MIPS,
    kinds: &kinds::MIPS,
    is_mips: true,
    loaders: &["/lib/ld.so.1"],
    ..BASE
};
pub(super) const MIPSEL_N8: Machine = Machine {
    flags: Flags::new(MIPS32_ABI, &[NAN2008]),
    cache_flags: &[0x0c03],
    loaders: N8_LOADER,
    ..MIPSEL
};
pub(super) const MIPSN32EL: Machine = Machine {
    name: "mipsn32el",
    flags: Flags::new(MIPS32_ABI, &[ABI2]),
    cache_flags: &[0x0603],
    loaders: &["/lib32/ld.so.1"],
    dirs: &["/lib32/", "/usr/lib32/"],
    ..MIPSEL
};
pub(super) const MIPSN32EL_N8: Machine = Machine {
    flags: Flags::new(MIPS32_ABI, &[ABI2 | NAN2008]),
    cache_flags: &[0x0d03],
    loaders: N8_LOADER32,
    ..MIPSN32EL
};
/// Little-endian MIPS with the n64 ABI.
pub(super) const MIPS64EL: Machine = Machine {
    name: "mips64el",
    is_64: true,
    flags: Flags::new(MIPS_ABI, &[0]),
    kinds: &kinds::MIPS64,
    info: Info::Mips,
    cache_flags: &[0x0703],
    loaders: &["/lib64/ld.so.1"],
    dirs: BASE64.dirs,
    ..MIPSEL
};
pub(super) const MIPS64EL_N8: Machine = Machine {
    flags: Flags::new(MIPS_ABI, &[NAN2008]),
    cache_flags: &[0x0e03],
    loaders: N8_LOADER64,
    ..MIPS64EL
};

/// The loader also accepts V8+ objects (EM_SPARC32PLUS), which need a V9 processor.
pub(super) const SPARC: Machine = Machine {
    name: "sparc",
    numbers: &[elf::EM_SPARC.0, elf::EM_SPARC32PLUS.0],
    big: true,
    ident: IDENT_IFUNC,
    kinds: &kinds::SPARC,
    loaders: &["/lib/ld-linux.so.2"],
    ..BASE
};

pub(super) const SPARC64: Machine = Machine {
    name: "sparc64",
    numbers: &[elf::EM_SPARCV9.0],
    big: true,
    ident: IDENT_IFUNC,
    kinds: &kinds::SPARC,
    info: Info::Sparc,
    page: 8192,
    cache_flags: &[0x0103],
    loaders: &["/lib64/ld-linux.so.2"],
    oldest: "GLIBC_2.2",
    ..BASE64
};

/// `shlib-versions` lists only the loader for double floats. That loader ignores EF_LOONGARCH_ABI.
pub(super) const LOONGARCH64: Machine = Machine {
    name: "loongarch64",
    numbers: &[elf::EM_LOONGARCH.0],
    kinds: &kinds::LOONGARCH,
    // ldconfig of glibc 2.36 wrote 0x0003, which names no machine.
    cache_flags: &[0x1203, 0x0003],
    loaders: &["/lib64/ld-linux-loongarch-lp64d.so.1"],
    platform: Some("loongarch"),
    oldest: "GLIBC_2.36",
    ..BASE64
};

pub(super) const ALPHA: Machine = Machine {
    name: "alpha",
    numbers: &[elf::EM_ALPHA.0],
    kinds: &kinds::ALPHA,
    wide_hash: true,
    page: 8192,
    cache_flags: BASE.cache_flags,
    loaders: &["/lib/ld-linux.so.2"],
    dirs: BASE.dirs,
    ..BASE64
};

pub(super) const HPPA: Machine = Machine {
    name: "hppa",
    numbers: &[elf::EM_PARISC.0],
    big: true,
    kinds: &kinds::HPPA,
    loaders: &["/lib/ld.so.1"],
    platform: Some("PARISC"),
    oldest: "GLIBC_2.2",
    ..BASE
};

pub(super) const M68K: Machine = Machine {
    name: "m68k",
    numbers: &[elf::EM_68K.0],
    big: true,
    kinds: &kinds::M68K,
    loaders: &["/lib/ld.so.1"],
    ..BASE
};

pub(super) const SH4: Machine = Machine {
    name: "sh4",
    numbers: &[elf::EM_SH.0],
    kinds: &kinds::SH,
    loaders: &["/lib/ld-linux.so.2"],
    oldest: "GLIBC_2.2",
    ..BASE
};

pub(super) const IA64: Machine = Machine {
    name: "ia64",
    numbers: &[elf::EM_IA_64.0],
    kinds: &kinds::IA64,
    cache_flags: &[0x0203],
    loaders: &["/lib/ld-linux-ia64.so.2"],
    dirs: BASE.dirs,
    oldest: "GLIBC_2.2",
    ..BASE64
};

pub(super) const ARC: Machine = Machine {
    name: "arc",
    numbers: &[elf::EM_ARC_COMPACT2.0, elf::EM_ARC_COMPACT.0],
    kinds: &kinds::ARC,
    loaders: &["/lib/ld-linux-arc.so.2"],
    oldest: "GLIBC_2.32",
    ..BASE
};
