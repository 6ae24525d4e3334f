//! Relocation types of each machine, grouped by their effect on symbol lookup. The sources are
//! `elf_machine_type_class` and the start of `elf_machine_rela` in `sysdeps/**/dl-machine.h`.
//! `families` and `table` use these constants.

use super::{Effect, LookupClass};
use object::elf;
use object::elf::RelocationType as Type;

/// Relocation types from the first to the last, both included.
type Span = (Type, Type);

/// The relocation types of one machine, by their effect on symbol lookup.
pub(super) struct Kinds {
    /// Types without a symbol lookup.
    nothing: &'static [Span],
    /// Jump slots, which `elf_machine_lazy_rel` defers.
    slots: &'static [Type],
    /// All other types of `ELF_RTYPE_CLASS_PLT`.
    plt: &'static [Span],
    copy: Option<Type>,
    /// The types of the class `rest` that the loader knows. The loader stops at all other types of
    /// this class (`elf/dl-reloc.c`, `_dl_reloc_bad_type`). `None` if no complete list is known.
    known: Option<&'static [Span]>,
    /// The class of all other types.
    rest: LookupClass,
}

const NONE: Kinds =
    Kinds { nothing: &[], slots: &[], plt: &[], copy: None, known: None, rest: LookupClass::Plain };

const fn one(kind: Type) -> Span {
    (kind, kind)
}

fn among(spans: &[Span], kind: u32) -> bool {
    spans.iter().any(|(first, last)| (first.0..=last.0).contains(&kind))
}

impl Kinds {
    pub(super) fn effect(&self, kind: u32) -> Effect {
        if among(self.nothing, kind) {
            return Effect::Nothing;
        }
        Effect::Lookup(if self.slots.contains(&Type(kind)) {
            LookupClass::Plt { slot: true }
        } else if self.copy == Some(Type(kind)) {
            LookupClass::Copy
        } else if among(self.plt, kind) {
            LookupClass::Plt { slot: false }
        } else {
            self.rest
        })
    }

    pub(super) fn is_known(&self, kind: u32) -> bool {
        let plain = self.effect(kind) == Effect::Lookup(self.rest);
        self.known.is_none_or(|known| !plain || among(known, kind))
    }
}

pub(super) static X86_64: Kinds = Kinds {
    nothing: &[
        one(elf::R_X86_64_NONE),
        one(elf::R_X86_64_RELATIVE),
        one(elf::R_X86_64_RELATIVE64),
        one(elf::R_X86_64_IRELATIVE),
    ],
    slots: &[elf::R_X86_64_JUMP_SLOT],
    plt: &[(elf::R_X86_64_DTPMOD64, elf::R_X86_64_TPOFF64), one(elf::R_X86_64_TLSDESC)],
    copy: Some(elf::R_X86_64_COPY),
    known: Some(&[
        (elf::R_X86_64_64, elf::R_X86_64_PC32),
        one(elf::R_X86_64_GLOB_DAT),
        one(elf::R_X86_64_32),
        (elf::R_X86_64_SIZE32, elf::R_X86_64_SIZE64),
    ]),
    ..NONE
};

pub(super) static I386: Kinds = Kinds {
    nothing: &[one(elf::R_386_NONE), one(elf::R_386_RELATIVE), one(elf::R_386_IRELATIVE)],
    slots: &[elf::R_386_JMP_SLOT],
    plt: &[
        one(elf::R_386_TLS_TPOFF),
        (elf::R_386_TLS_DTPMOD32, elf::R_386_TLS_TPOFF32),
        one(elf::R_386_TLS_DESC),
    ],
    copy: Some(elf::R_386_COPY),
    known: Some(&[
        (elf::R_386_32, elf::R_386_PC32),
        one(elf::R_386_GLOB_DAT),
        one(elf::R_386_SIZE32),
    ]),
    ..NONE
};

pub(super) static AARCH64: Kinds = Kinds {
    nothing: &[
        one(elf::R_AARCH64_NONE),
        one(elf::R_AARCH64_RELATIVE),
        one(elf::R_AARCH64_IRELATIVE),
    ],
    slots: &[elf::R_AARCH64_JUMP_SLOT],
    plt: &[(elf::R_AARCH64_TLS_DTPMOD, elf::R_AARCH64_TLSDESC)],
    copy: Some(elf::R_AARCH64_COPY),
    ..NONE
};

pub(super) static ARM: Kinds = Kinds {
    nothing: &[one(elf::R_ARM_NONE), one(elf::R_ARM_RELATIVE), one(elf::R_ARM_IRELATIVE)],
    slots: &[elf::R_ARM_JUMP_SLOT],
    plt: &[one(elf::R_ARM_TLS_DESC), (elf::R_ARM_TLS_DTPMOD32, elf::R_ARM_TLS_TPOFF32)],
    copy: Some(elf::R_ARM_COPY),
    ..NONE
};

/// R_RISCV_NONE is not in `nothing`, because the loader looks up its symbol.
pub(super) static RISCV64: Kinds = Kinds {
    nothing: &[one(elf::R_RISCV_RELATIVE), one(elf::R_RISCV_IRELATIVE)],
    slots: &[elf::R_RISCV_JUMP_SLOT],
    plt: &[
        one(elf::R_RISCV_TLS_DTPMOD64),
        one(elf::R_RISCV_TLS_DTPREL64),
        one(elf::R_RISCV_TLS_TPREL64),
    ],
    copy: Some(elf::R_RISCV_COPY),
    ..NONE
};

pub(super) static RISCV32: Kinds = Kinds {
    plt: &[
        one(elf::R_RISCV_TLS_DTPMOD32),
        one(elf::R_RISCV_TLS_DTPREL32),
        one(elf::R_RISCV_TLS_TPREL32),
    ],
    ..RISCV64
};

pub(super) static PPC32: Kinds = Kinds {
    nothing: &[one(elf::R_PPC_NONE), one(elf::R_PPC_RELATIVE), one(elf::R_PPC_IRELATIVE)],
    slots: &[elf::R_PPC_JMP_SLOT],
    plt: &[
        one(elf::R_PPC_ADDR24),
        one(elf::R_PPC_REL24),
        (elf::R_PPC_DTPMOD32, elf::R_PPC_DTPREL32),
    ],
    copy: Some(elf::R_PPC_COPY),
    ..NONE
};

/// 64-bit PowerPC with the ELFv2 ABI, which has no function descriptors.
pub(super) static PPC64_V2: Kinds = Kinds {
    nothing: &[
        one(elf::R_PPC64_NONE),
        one(elf::R_PPC64_RELATIVE),
        (elf::R_PPC64_JMP_IREL, elf::R_PPC64_IRELATIVE),
    ],
    slots: &[elf::R_PPC64_JMP_SLOT],
    plt: &[
        one(elf::R_PPC64_ADDR24),
        (elf::R_PPC64_TLS, elf::R_PPC64_DTPREL16_HIGHESTA),
        (elf::R_PPC64_TPREL16_HIGH, elf::R_PPC64_DTPREL16_HIGHA),
    ],
    copy: Some(elf::R_PPC64_COPY),
    ..NONE
};

/// ELFv1 has function descriptors. So the address of a PLT slot is never the canonical address of a
/// function.
pub(super) static PPC64_V1: Kinds =
    Kinds { plt: &[], rest: LookupClass::Plt { slot: false }, ..PPC64_V2 };

pub(super) static S390: Kinds = Kinds {
    nothing: &[one(elf::R_390_NONE), one(elf::R_390_RELATIVE), one(elf::R_390_IRELATIVE)],
    slots: &[elf::R_390_JMP_SLOT],
    plt: &[(elf::R_390_TLS_DTPMOD, elf::R_390_TLS_TPOFF)],
    copy: Some(elf::R_390_COPY),
    ..NONE
};

/// R_MIPS_REL32 and R_MIPS_GLOB_DAT cause no lookup of their own. They use the symbol's entry in
/// the global offset table, and the loader looks up the symbol for that entry
/// (`elf_machine_got_rel`).
pub(super) static MIPS: Kinds = Kinds {
    nothing: &[one(elf::R_MIPS_NONE), one(elf::R_MIPS_REL32), one(elf::R_MIPS_GLOB_DAT)],
    slots: &[elf::R_MIPS_JUMP_SLOT],
    copy: Some(elf::R_MIPS_COPY),
    ..NONE
};

/// In the n64 ABI, one relocation has up to three types. If the first type is R_MIPS_REL32 or
/// R_MIPS_GLOB_DAT, the second type is R_MIPS_64.
pub(super) static MIPS64: Kinds = Kinds {
    nothing: &[
        one(elf::R_MIPS_NONE),
        one(Type(elf::R_MIPS_64.0 << 8 | elf::R_MIPS_REL32.0)),
        one(Type(elf::R_MIPS_64.0 << 8 | elf::R_MIPS_GLOB_DAT.0)),
    ],
    ..MIPS
};

/// The R_SPARC_SIZE types use st_size of the symbol in the same object, so they need no lookup.
pub(super) static SPARC: Kinds = Kinds {
    nothing: &[
        one(elf::R_SPARC_NONE),
        one(elf::R_SPARC_RELATIVE),
        (elf::R_SPARC_SIZE32, elf::R_SPARC_SIZE64),
        (elf::R_SPARC_JMP_IREL, elf::R_SPARC_IRELATIVE),
    ],
    slots: &[elf::R_SPARC_JMP_SLOT],
    plt: &[(elf::R_SPARC_TLS_GD_HI22, elf::R_SPARC_TLS_TPOFF64)],
    copy: Some(elf::R_SPARC_COPY),
    ..NONE
};

/// Relocation types for thread-local symbols have the class `Plain`. R_LARCH_NONE is not in
/// `nothing`, because the loader looks up its symbol.
pub(super) static LOONGARCH: Kinds = Kinds {
    nothing: &[one(elf::R_LARCH_RELATIVE), one(elf::R_LARCH_IRELATIVE)],
    slots: &[elf::R_LARCH_JUMP_SLOT],
    copy: Some(elf::R_LARCH_COPY),
    ..NONE
};

pub(super) static ALPHA: Kinds = Kinds {
    nothing: &[one(elf::R_ALPHA_NONE), one(elf::R_ALPHA_RELATIVE)],
    slots: &[elf::R_ALPHA_JMP_SLOT],
    plt: &[one(elf::R_ALPHA_DTPMOD64), one(elf::R_ALPHA_DTPREL64), one(elf::R_ALPHA_TPREL64)],
    ..NONE
};

/// This machine has no relative type: R_PARISC_DIR32 without a symbol has the same effect.
/// `nothing` is empty, because the loader looks up even the symbol of an R_PARISC_NONE.
pub(super) static HPPA: Kinds = Kinds {
    slots: &[elf::R_PARISC_IPLT, elf::R_PARISC_EPLT],
    plt: &[
        one(elf::R_PARISC_TLS_DTPMOD32),
        one(elf::R_PARISC_TLS_DTPOFF32),
        one(elf::R_PARISC_TLS_TPREL32),
    ],
    copy: Some(elf::R_PARISC_COPY),
    ..NONE
};

/// R_68K_NONE is not in `nothing`, because the loader looks up its symbol.
pub(super) static M68K: Kinds = Kinds {
    nothing: &[one(elf::R_68K_RELATIVE)],
    slots: &[elf::R_68K_JMP_SLOT],
    plt: &[(elf::R_68K_TLS_DTPMOD32, elf::R_68K_TLS_TPREL32)],
    copy: Some(elf::R_68K_COPY),
    ..NONE
};

pub(super) static SH: Kinds = Kinds {
    nothing: &[one(elf::R_SH_NONE), one(elf::R_SH_RELATIVE)],
    slots: &[elf::R_SH_JMP_SLOT],
    plt: &[(elf::R_SH_TLS_DTPMOD32, elf::R_SH_TLS_TPOFF32)],
    copy: Some(elf::R_SH_COPY),
    ..NONE
};

/// The upper bits of an ia64 relocation type are its operation, the lower three its format. The
/// relative types are 0x68 to 0x6f.
pub(super) static IA64: Kinds = Kinds {
    nothing: &[one(elf::R_IA64_NONE), (Type(0x68), elf::R_IA64_REL64LSB)],
    slots: &[elf::R_IA64_IPLTLSB],
    plt: &[one(elf::R_IA64_DTPMOD64LSB), one(elf::R_IA64_DTPREL64LSB), one(elf::R_IA64_TPREL64LSB)],
    ..NONE
};

/// `R_ARC_*` of glibc's elf.h, which the object crate lacks.
pub(super) static ARC: Kinds = Kinds {
    nothing: &[one(Type(0)), one(Type(0x38))],
    slots: &[Type(0x37)],
    plt: &[(Type(0x42), Type(0x44))],
    copy: Some(Type(0x35)),
    ..NONE
};
