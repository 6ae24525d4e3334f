//! Names that the linker defines itself when somebody refers to them. No archive is searched for
//! them.

/// Names of GNU ld's and lld's layout (`ld/scripttempl/elf.sc`, `lld/ELF/Writer.cpp`,
/// `addReservedSymbols`), and what the start files of every link define (`crtbegin.o`).
const NAMES: &[&[u8]] = &[
    b"_DYNAMIC",
    b"_GLOBAL_OFFSET_TABLE_",
    b"_PROCEDURE_LINKAGE_TABLE_",
    b"_TLS_MODULE_BASE_",
    b"__GNU_EH_FRAME_HDR",
    b"__TMC_END__",
    b"__bss_start",
    b"__bss_start__",
    b"__bss_end__",
    b"__data_start",
    b"__dso_handle",
    b"__ehdr_start",
    b"__end__",
    b"__executable_start",
    b"__exidx_end",
    b"__exidx_start",
    b"__fini_array_end",
    b"__fini_array_start",
    b"__global_pointer$",
    b"__init_array_end",
    b"__init_array_start",
    b"__preinit_array_end",
    b"__preinit_array_start",
    b"__rel_iplt_end",
    b"__rel_iplt_start",
    b"__rela_iplt_end",
    b"__rela_iplt_start",
    b"_bss_end__",
    b"_edata",
    b"_end",
    b"_etext",
    b"_gp",
    b"_gp_disp",
    b"__gnu_local_gp",
    b".TOC.",
    b"data_start",
    b"edata",
    b"end",
    b"etext",
];

/// True if the linker defines `name`: it is one of a fixed list, or begins or ends a section whose
/// name is a C identifier.
pub fn is_made(name: &[u8]) -> bool {
    let section = name.strip_prefix(b"__start_").or_else(|| name.strip_prefix(b"__stop_"));
    section.is_some_and(is_identifier) || NAMES.contains(&name)
}

fn is_identifier(text: &[u8]) -> bool {
    let first = text.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    first && text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

#[cfg(test)]
mod tests {
    use super::is_made;

    #[test]
    fn sections_by_identifier_only() {
        assert!(is_made(b"__start_my_section") && is_made(b"__dso_handle"));
        assert!(!is_made(b"__start_") && !is_made(b"__stop_9") && !is_made(b"main"));
    }
}
