//! Relocations that refer to symbols of libraries, or to symbols that only a linker defines, in
//! ways that linkers reject. A program reaches a library's data by an absolute address through a
//! copy relocation, and a library's function through an entry of its own PLT. Both ways need a
//! symbol whose type the linker knows, and that other files may replace
//! (`canDefineSymbolInExecutable` and `addCopyRelSymbol` in lld).

use crate::cover::{Demand, OutputKind};
use crate::format::archive::Global;
use crate::format::elf::Target;
use crate::format::elf::tables::Symbol;
use crate::text::show;
use object::elf;

/// True if the member refers to the symbol and does not define it.
pub(super) fn is_reference(global: &Global) -> bool {
    global.section == 0 && !global.absolute && !global.common
}

/// True if a relocation with this demand makes the program hold the address of the symbol.
/// `is_writable` is true if the section of the relocation is writable.
pub(super) fn holds_address(demand: Demand, is_writable: bool) -> bool {
    match demand {
        Demand::Address | Demand::Distance => true,
        // The loader writes the address into writable data.
        Demand::Word => !is_writable,
        Demand::Nothing | Demand::ProgramTls => false,
    }
}

/// True for a distance that GNU ld and lld leave to the loader, and that glibc does not compute.
pub(super) fn is_unloadable(target: Target, (kind, is_writable): (u32, bool)) -> bool {
    target.machine == elf::EM_X86_64.0 && kind == elf::R_X86_64_PC64.0 && is_writable
}

/// The options of the link that bind the name to the definition in the output, in words.
pub(super) fn unless_bound(global: &Global, name: &[u8]) -> String {
    let name = show(name);
    // The type of the definition is not known for a reference.
    let may_be_function = is_reference(global) || elf::SymbolType(global.kind) == elf::STT_FUNC;
    let or = if may_be_function { " or -Bsymbolic-functions binds it" } else { "" };
    format!(" unless a version script hides {name}{or}")
}

/// The reason why a program of this kind cannot hold the address of a library's symbol, in words.
/// `None` if the program can hold the address.
pub(super) fn refusal(
    symbol: &Symbol<'_>,
    (kind, target): (OutputKind, Target),
) -> Option<&'static str> {
    let is_protected = elf::SymbolVisibility(symbol.visibility) == elf::STV_PROTECTED;
    match elf::SymbolType(symbol.kind) {
        elf::STT_FUNC | elf::STT_GNU_IFUNC if is_protected => {
            Some("which is a protected function: lld rejects it")
        }
        elf::STT_FUNC | elf::STT_GNU_IFUNC => {
            // Calls have another relocation type (`elf_x86_64_relocate_section` in GNU ld).
            let is_refused = kind == OutputKind::Pie && target.machine == elf::EM_X86_64.0;
            is_refused.then_some("which is a function: GNU ld rejects it unless it is a call")
        }
        elf::STT_OBJECT | elf::STT_COMMON if is_protected => {
            Some("which is protected data: no linker accepts it")
        }
        elf::STT_OBJECT | elf::STT_COMMON => {
            (symbol.size == 0).then_some("which has no size: lld rejects it")
        }
        elf::STT_TLS => None,
        _ => Some("which has no type: lld rejects it"),
    }
}
