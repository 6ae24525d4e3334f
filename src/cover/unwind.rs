//! Classifies the references of an unwind table (`.eh_frame`) by the condition under which a linker
//! with `--gc-sections` follows them. A frame description entry (FDE) belongs to a function.
//! Compilers write a common entry (CIE) with its personality routine first, then the FDEs that use
//! it. An FDE with an exception table (LSDA) uses the routine of the preceding CIE.
//!
//! The alignment of a relocation's offset shows what the relocation refers to. The offset is
//! aligned for the address of a function in an FDE. It is not aligned for the address of a
//! personality routine in the CIEs that compilers write (`zPLR`, `zPR`).

use super::Linker;
use crate::format::archive::LinkFacts;
use object::elf;

/// The symbol and section to which a relocation refers, as in
/// [`crate::format::archive::ObjectRelocation`].
pub(super) type RelocationTarget = (Option<usize>, usize);

/// The references of an unwind table, by the condition under which the linker follows them.
#[derive(Default)]
pub(super) struct UnwindTable {
    /// References that the linker follows in every link.
    pub(super) always: Vec<RelocationTarget>,
    /// References to personality routines. The linker follows these references in every link.
    pub(super) routines: Vec<RelocationTarget>,
    /// References that the linker follows if it keeps a function, each with the section of the
    /// function.
    pub(super) of_functions: Vec<(usize, RelocationTarget)>,
    /// The sections of all functions that the table describes. Only filled for GNU ld and mold.
    pub(super) functions: Vec<usize>,
}

impl UnwindTable {
    /// Classifies the relocations of the section at `table`. lld keeps all exception tables and
    /// personality routines. mold keeps the exception tables of kept functions, and all personality
    /// routines. GNU ld keeps both only for kept functions (`_bfd_elf_gc_mark_fdes`). A personality
    /// routine that no exception table uses is kept, because its functions are unknown.
    pub(super) fn new(facts: &LinkFacts, table: usize, linker: Option<Linker>) -> Self {
        let mut out = Self::default();
        let mut function = None;
        let mut personality: Option<(RelocationTarget, bool)> = None;
        let unused = |one: Option<(RelocationTarget, bool)>| {
            one.filter(|(_, is_used)| !is_used).map(|(to, _)| to)
        };
        for relocation in facts.relocations.iter().filter(|one| one.section == table) {
            let to = (relocation.global, relocation.target);
            let is_local_code = relocation.global.is_none() && is_code(facts, relocation.target);
            // On RISC-V and LoongArch, distances inside of the function have relocations too. These
            // refer to the section of the function.
            let is_inside = function == Some(relocation.target);
            let is_code = is_local_code && (relocation.is_aligned || is_inside);
            let is_routine = to.0.is_some() || is_local_code && !is_code;
            if is_code {
                function = Some(relocation.target);
            }
            match (linker, function) {
                (Some(Linker::Gnu | Linker::Mold), _) if is_code => {
                    out.functions.push(relocation.target);
                }
                (Some(Linker::Gnu | Linker::Mold), Some(function)) if !is_routine => {
                    out.of_functions.push((function, to));
                    if let Some((routine, is_used)) = &mut personality {
                        out.of_functions.push((function, *routine));
                        *is_used = true;
                    }
                }
                (Some(Linker::Gnu), _) if is_routine => {
                    out.routines.extend(unused(personality.replace((to, false))));
                }
                _ if is_routine => out.routines.push(to),
                _ => out.always.push(to),
            }
        }
        out.routines.extend(unused(personality));
        out
    }
}

fn is_code(facts: &LinkFacts, section: usize) -> bool {
    facts.sections.get(section).is_some_and(|one| one.flags & elf::SHF_EXECINSTR.0 != 0)
}
