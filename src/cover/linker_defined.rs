//! Names that a linker defines itself when no file does. They depend on the linker, the machine,
//! the kind of output, and for some names on a section of the output.

use super::Linker;
use crate::format::elf::Target;
use object::elf;

/// The kind of file that the linker makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutputKind {
    /// Not specified: any kind is possible.
    #[default]
    Any,
    /// A shared object.
    Shared,
    /// A position-independent executable.
    Pie,
    /// An executable at a fixed address.
    Executable,
}

/// The properties of a link that decide which names its linker defines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkOutput {
    /// The kind of file that the link makes.
    pub kind: OutputKind,
    /// The linker; `None` if any linker is possible.
    pub linker: Option<Linker>,
    /// True if all inputs of the link are known, including the compilers' start files.
    pub has_start_files: bool,
}

/// The condition under which a linker defines a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkerDefined<'n> {
    /// The linker never defines the name.
    No,
    /// The linker defines the name in every link.
    Always,
    /// The linker defines the name if the output has this section.
    WithSection(&'n [u8]),
    /// The linker defines the name if the output has thread-local data.
    WithTls,
}

/// The name of the start of a module's thread-local data.
pub const TLS_MODULE_BASE: &[u8] = b"_TLS_MODULE_BASE_";

/// The name of the dynamic section. Only mold defines it in a static program at a fixed address.
pub(super) const DYNAMIC: &[u8] = b"_DYNAMIC";

/// Names that all linkers define for all machines and outputs (`ld/scripttempl/elf.sc`,
/// `lld/ELF/Writer.cpp`). [`DYNAMIC`] has an exception in static programs.
const EVERYWHERE: &[&[u8]] = &[
    DYNAMIC,
    b"__bss_start",
    b"__ehdr_start",
    b"_edata",
    b"_end",
    b"_etext",
    b"edata",
    b"end",
    b"etext",
];

/// The handle of an object for `__cxa_atexit`. The compilers' start files (`crtbegin.o`) define it.
/// In links without these files, lld and mold define it.
const DSO_HANDLE: &[u8] = b"__dso_handle";

/// The bounds of function arrays, and the start of the program. GNU ld does not define them in
/// shared objects.
const ARRAYS: &[&[u8]] = &[
    b"__executable_start",
    b"__fini_array_end",
    b"__fini_array_start",
    b"__init_array_end",
    b"__init_array_start",
    b"__preinit_array_end",
    b"__preinit_array_start",
];

/// Names that mold defines for all machines and outputs (`elf/passes.cc`, `add_synthetic_symbols`).
const MOLD: &[&[u8]] = &[b"_PROCEDURE_LINKAGE_TABLE_", b"__GNU_EH_FRAME_HDR"];

impl LinkOutput {
    /// The condition under which the linker defines `name` for `target`.
    pub fn defines(self, target: Option<Target>, name: &[u8]) -> LinkerDefined<'_> {
        let section = name.strip_prefix(b"__start_").or_else(|| name.strip_prefix(b"__stop_"));
        if let Some(section) = section.filter(|section| is_identifier(section)) {
            return LinkerDefined::WithSection(section);
        }
        let is_gnu = self.linker == Some(Linker::Gnu);
        let of_output = name.strip_prefix(b".sizeof.").or_else(|| name.strip_prefix(b".startof."));
        if let Some(section) = of_output.filter(|_| is_gnu) {
            // The output may have such a section (`.text`) although all input sections have longer
            // names (`.text.f`).
            return if is_identifier(section) {
                LinkerDefined::WithSection(section)
            } else {
                LinkerDefined::Always
            };
        }
        if name == TLS_MODULE_BASE {
            return self.tls_module_base(target);
        }
        let always = EVERYWHERE.contains(&name)
            || name == DSO_HANDLE && !(is_gnu && self.has_start_files)
            || ARRAYS.contains(&name) && (!is_gnu || self.kind != OutputKind::Shared)
            || name == b"__etext" && is_gnu
            || name == b"__tdata_start" && is_gnu && self.kind != OutputKind::Shared
            || MOLD.contains(&name) && self.linker == Some(Linker::Mold)
            || name == b"_GLOBAL_OFFSET_TABLE_" && target.is_none()
            || target.is_some_and(|target| self.is_of_machine(target, name));
        if always { LinkerDefined::Always } else { LinkerDefined::No }
    }

    fn tls_module_base(self, target: Option<Target>) -> LinkerDefined<'static> {
        let machine = target.map(|target| target.machine);
        let is_x86 = machine.is_none_or(|m| [elf::EM_X86_64.0, elf::EM_386.0].contains(&m));
        let is_of_mold =
            is_x86 || machine.is_some_and(|m| [elf::EM_AARCH64.0, elf::EM_ARM.0].contains(&m));
        match self.linker {
            Some(Linker::Mold) if is_of_mold => LinkerDefined::Always,
            Some(Linker::Lld) if is_x86 => LinkerDefined::Always,
            Some(Linker::Lld | Linker::Mold) => LinkerDefined::No,
            _ if is_x86 || machine == Some(elf::EM_AARCH64.0) => LinkerDefined::WithTls,
            _ => LinkerDefined::No,
        }
    }

    /// True for a name that linkers define for the machine of `target`.
    fn is_of_machine(self, target: Target, name: &[u8]) -> bool {
        let machine = target.machine;
        let is_mips = machine == elf::EM_MIPS.0;
        let is_mold = self.linker == Some(Linker::Mold);
        let has_rela = ![elf::EM_386.0, elf::EM_ARM.0, elf::EM_MIPS.0].contains(&machine);
        match name {
            b"_GLOBAL_OFFSET_TABLE_" => machine != elf::EM_PPC64.0 || is_mold,
            // A program applies these relocations itself only if it has no loader. mold defines the
            // names in all outputs.
            b"__rela_iplt_start" | b"__rela_iplt_end" => {
                has_rela && (is_mold || self.may_be_fixed())
            }
            b"__rel_iplt_start" | b"__rel_iplt_end" => {
                !has_rela && (is_mold || self.may_be_fixed())
            }
            b"__exidx_start" | b"__exidx_end" => machine == elf::EM_ARM.0,
            b"__bss_start__" | b"__bss_end__" | b"_bss_end__" | b"__end__" => {
                machine == elf::EM_ARM.0 && self.linker == Some(Linker::Gnu)
            }
            b"__global_pointer$" => machine == elf::EM_RISCV.0 && self.kind != OutputKind::Shared,
            b"_gp" | b"_gp_disp" | b"__gnu_local_gp" => is_mips,
            b".TOC." => machine == elf::EM_PPC64.0,
            _ => {
                machine == elf::EM_PPC64.0
                    && !is_mold
                    && is_save_or_restore(name, self.linker == Some(Linker::Lld))
            }
        }
    }

    fn may_be_fixed(self) -> bool {
        matches!(self.kind, OutputKind::Any | OutputKind::Executable)
    }
}

/// True for a ppc64 function that saves or restores registers. The ABI lets the linker make these
/// functions (`addPPC64SaveRestore` of lld, `sfpr_define` of GNU ld).
fn is_save_or_restore(name: &[u8], is_lld: bool) -> bool {
    const FAMILIES: [(&[u8], u8); 8] = [
        (b"_savegpr0_", 14),
        (b"_savegpr1_", 14),
        (b"_restgpr0_", 14),
        (b"_restgpr1_", 14),
        (b"_savefpr_", 14),
        (b"_restfpr_", 14),
        (b"_savevr_", 20),
        (b"_restvr_", 20),
    ];
    // lld makes the first four only.
    let families = if is_lld { &FAMILIES[..4] } else { &FAMILIES[..] };
    families.iter().any(|(prefix, first)| {
        let number = name.strip_prefix(*prefix).and_then(|text| std::str::from_utf8(text).ok());
        number.and_then(|text| text.parse().ok()).is_some_and(|n: u8| (*first..32).contains(&n))
    })
}

fn is_identifier(text: &[u8]) -> bool {
    let first = text.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    first && text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

#[cfg(test)]
mod tests {
    use super::{LinkOutput, Linker, LinkerDefined, OutputKind};
    use crate::format::elf::Target;
    use object::elf;

    #[test]
    fn sections_by_identifier_only() {
        let defines = |name| LinkOutput::default().defines(None, name);
        assert_eq!(defines(b"__start_my_section"), LinkerDefined::WithSection(b"my_section"));
        assert_eq!(defines(b"__dso_handle"), LinkerDefined::Always);
        for name in [&b"__start_"[..], b"__stop_9", b"main", b"data_start"] {
            assert_eq!(defines(name), LinkerDefined::No);
        }
    }

    /// The expected values are the results of mold 1.10 for each name and machine.
    #[test]
    fn names_of_mold_by_machine() {
        let output = LinkOutput {
            kind: OutputKind::Shared,
            linker: Some(Linker::Mold),
            ..LinkOutput::default()
        };
        let names: [&[u8]; 6] = [
            b"_PROCEDURE_LINKAGE_TABLE_",
            b"_GLOBAL_OFFSET_TABLE_",
            b"__rela_iplt_end",
            b"__rel_iplt_end",
            b"_TLS_MODULE_BASE_",
            b"_restfpr_31",
        ];
        for (machine, is_64, expected) in [
            (elf::EM_X86_64, true, [true, true, true, false, true, false]),
            (elf::EM_386, false, [true, true, false, true, true, false]),
            (elf::EM_AARCH64, true, [true, true, true, false, true, false]),
            (elf::EM_ARM, false, [true, true, false, true, true, false]),
            (elf::EM_RISCV, true, [true, true, true, false, false, false]),
            (elf::EM_PPC64, true, [true, true, true, false, false, false]),
            (elf::EM_S390, true, [true, true, true, false, false, false]),
        ] {
            let big = machine == elf::EM_S390;
            let machine_first = false;
            let target = Target { is_64, big, machine: machine.0, flags: 0, machine_first };
            let found =
                names.map(|name| output.defines(Some(target), name) == LinkerDefined::Always);
            assert_eq!(found, expected, "{machine:?}");
        }
    }
}
